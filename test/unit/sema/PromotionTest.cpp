//===- PromotionTest.cpp - What two dtypes give ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/Promotion.h"

#include <gtest/gtest.h>

using namespace tessera::frontend;

TEST(Promotion, WiderOfOneKindWins) {
  EXPECT_EQ(promote({DType::FP16}, {DType::FP32}).dtype, DType::FP32);
  EXPECT_EQ(promote({DType::FP64}, {DType::BF16}).dtype, DType::FP64);
  EXPECT_EQ(promote({DType::I32}, {DType::I64}).dtype, DType::I64);
}

TEST(Promotion, WeakNumbersTakeTheOtherDType) {
  Promotion result = promote({DType::FP64, true}, {DType::FP16});
  EXPECT_TRUE(bool(result));
  EXPECT_EQ(result.dtype, DType::FP16);
  EXPECT_FALSE(result.weak);
  EXPECT_EQ(promote({DType::I64, true}, {DType::BF16}).dtype, DType::BF16);
  Promotion weak = promote({DType::I64, true}, {DType::FP64, true});
  EXPECT_TRUE(weak.weak);
  EXPECT_EQ(weak.dtype, DType::FP64);
}

TEST(Promotion, ConflictsNameTheConversion) {
  Promotion halves = promote({DType::FP16}, {DType::BF16});
  EXPECT_EQ(halves.conflict, "fp16 with bf16");
  EXPECT_EQ(halves.convertTo, DType::FP32);
  Promotion mixed = promote({DType::FP32}, {DType::I32});
  EXPECT_EQ(mixed.conflict, "fp32 with i32");
  EXPECT_EQ(mixed.convertSide, 1);
  EXPECT_EQ(mixed.convertTo, DType::FP32);
  Promotion weak = promote({DType::I32}, {DType::FP64, true});
  EXPECT_EQ(weak.conflict, "i32 with a float");
  EXPECT_EQ(weak.convertSide, 0);
  EXPECT_FALSE(bool(promote({DType::Bool}, {DType::I64, true})));
}
