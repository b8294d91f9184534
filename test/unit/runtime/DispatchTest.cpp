// Guards, and the choice among versions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Dispatch.h"

#include <gtest/gtest.h>
#include <random>

using namespace tessera::runtime;

namespace {

struct Matrix {
  int64_t sizes[2], strides[2];
  Argument argument;

  Matrix(int64_t rows, int64_t columns, int64_t type = TSR_F32)
      : sizes{rows, columns}, strides{columns, 1} {
    argument = {type, 0, sizes, strides, 2};
  }
};

tsr_guard guard(int16_t field, int64_t mask, int64_t value, int16_t axis = 0,
                int32_t argument = 0) {
  return {argument, field, axis, mask, value};
}

TEST(Dispatch, FieldsOfAGuard) {
  Matrix matrix(1, 5, TSR_F16 | int64_t(7) << 32);
  const Argument &one = matrix.argument;
  EXPECT_TRUE(holds(guard(TSR_FIELD_TYPE, 0xffffffff, TSR_F16), one));
  EXPECT_FALSE(holds(guard(TSR_FIELD_TYPE, -1, TSR_F16), one));
  EXPECT_TRUE(holds(guard(TSR_FIELD_SIZE, -1, 5, 1), one));
  EXPECT_FALSE(holds(guard(TSR_FIELD_SIZE, -1, 4, 1), one));
  EXPECT_TRUE(holds(guard(TSR_FIELD_SIZE, 7, 5, 1), one));
  EXPECT_TRUE(holds(guard(TSR_FIELD_UNIT_SIZES, 3, 1), one));
  EXPECT_FALSE(holds(guard(TSR_FIELD_UNIT_SIZES, 3, 0), one));
  EXPECT_TRUE(holds(guard(TSR_FIELD_UNIT_SIZES, 2, 0), one));
  // Axis 0 has one element, so its stride of 5 is never used.
  EXPECT_TRUE(holds(guard(TSR_FIELD_UNIT_STRIDES, 3, 3), one));
  matrix.sizes[0] = 2;
  EXPECT_FALSE(holds(guard(TSR_FIELD_UNIT_STRIDES, 3, 3), one));
  EXPECT_TRUE(holds(guard(TSR_FIELD_UNIT_STRIDES, 3, 2), one));
  Argument number{};
  number.value = -3;
  EXPECT_TRUE(holds(guard(TSR_FIELD_VALUE, -1, -3), number));
  EXPECT_FALSE(holds(guard(TSR_FIELD_VALUE, -1, 3), number));
}

TEST(Dispatch, RowMajorWithoutStrides) {
  Matrix matrix(3, 5);
  matrix.argument.strides = nullptr;
  EXPECT_EQ(strideOf(matrix.argument, 0), 5);
  EXPECT_TRUE(holds(guard(TSR_FIELD_UNIT_STRIDES, 2, 2, 1), matrix.argument));
  EXPECT_FALSE(holds(guard(TSR_FIELD_UNIT_STRIDES, 1, 1), matrix.argument));
}

TEST(Dispatch, ThePlanJudgesWhatIsLeftOutOrHasNoSuchAxis) {
  Argument absent{};
  absent.rank = TSR_ABSENT;
  EXPECT_TRUE(holds(guard(TSR_FIELD_TYPE, -1, TSR_F64), absent));
  Matrix matrix(3, 5);
  EXPECT_TRUE(holds(guard(TSR_FIELD_SIZE, -1, 9, 2), matrix.argument));
  EXPECT_TRUE(holds(guard(TSR_FIELD_UNIT_STRIDES, 4, 4, 2), matrix.argument));
}

TEST(Dispatch, TheNewestVersionThatFits) {
  int plain = 0, special = 0;
  Dispatch dispatch;
  Matrix small(4, 4), large(4, 1024);
  EXPECT_EQ(dispatch.find(&small.argument, 1), nullptr);
  dispatch.add({guard(TSR_FIELD_TYPE, -1, TSR_F32)}, &plain);
  dispatch.add(
      {guard(TSR_FIELD_TYPE, -1, TSR_F32), guard(TSR_FIELD_SIZE, -1, 1024, 1)},
      &special);
  EXPECT_EQ(dispatch.find(&small.argument, 1), &plain);
  // The one that was found last fits, and is asked first.
  EXPECT_EQ(dispatch.find(&large.argument, 1), &plain);
  Matrix half(4, 4, TSR_F16);
  EXPECT_EQ(dispatch.find(&half.argument, 1), nullptr);
  dispatch.remove(&plain);
  EXPECT_EQ(dispatch.find(&small.argument, 1), nullptr);
  EXPECT_EQ(dispatch.find(&large.argument, 1), &special);
  // A guard of an argument that the call does not have.
  dispatch.add({guard(TSR_FIELD_VALUE, -1, 0, 0, 1)}, &plain);
  EXPECT_EQ(dispatch.find(&small.argument, 1), nullptr);
  dispatch.clear();
  EXPECT_EQ(dispatch.find(&large.argument, 1), nullptr);
}

/// With and without a hash, after additions and removals: if versions exclude
/// each other, the one that fits is found.
TEST(Dispatch, FindsWhatAskingEachVersionFinds) {
  std::mt19937_64 random(7);
  for (int table = 0; table < 200; ++table) {
    Dispatch dispatch;
    struct Version {
      int64_t type, value, size;
    };
    std::vector<std::unique_ptr<Version>> versions;
    bool asksForSizes = table % 2;
    for (int step = 0; step < 60; ++step) {
      Version wanted{int64_t(random() % 4), int64_t(random() % 5),
                     2 + int64_t(random() % 3)};
      auto same = [&](const std::unique_ptr<Version> &one) {
        return one->type == wanted.type && one->value == wanted.value &&
               (!asksForSizes || one->size == wanted.size);
      };
      auto known = std::find_if(versions.begin(), versions.end(), same);
      Matrix matrix(1, wanted.size, wanted.type);
      Argument arguments[2] = {matrix.argument, {}};
      arguments[1].value = wanted.value;
      ASSERT_EQ(dispatch.find(arguments, 2),
                known == versions.end() ? nullptr : known->get());
      if (known != versions.end() && random() % 3 == 0) {
        dispatch.remove(known->get());
        versions.erase(known);
      } else if (known == versions.end()) {
        std::vector<tsr_guard> guards = {
            guard(TSR_FIELD_VALUE, -1, wanted.value, 0, 1),
            guard(TSR_FIELD_TYPE, 0xff, wanted.type)};
        if (asksForSizes)
          guards.push_back(guard(TSR_FIELD_SIZE, -1, wanted.size, 1));
        versions.push_back(std::make_unique<Version>(wanted));
        dispatch.add(guards, versions.back().get());
      }
      ASSERT_EQ(dispatch.size(), versions.size());
    }
  }
}

} // namespace
