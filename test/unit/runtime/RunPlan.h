// Runs the text of a plan in a test: one call, errors as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_TEST_UNIT_RUNTIME_RUNPLAN_H
#define TESSERA_TEST_UNIT_RUNTIME_RUNPLAN_H

#include "tessera/runtime.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

namespace tessera::test {

/// The three lines every plan begins with.
inline const std::string head = "tessera.plan 1\nfunction f\ntarget cpu 1\n";

/// "" for a plan that is accepted.
inline std::string parseError(const std::string &text) {
  tsr_plan *plan;
  Status status(tsr_plan_parse(text.data(), text.size(), &plan));
  EXPECT_EQ(plan != nullptr, status.ok());
  tsr_plan_free(plan);
  return status.message();
}

/// Results that the runtime allocates, by index of the tensor.
struct Results {
  std::vector<std::vector<int64_t>> sizes =
      std::vector<std::vector<int64_t>>(16);
  std::vector<std::vector<char>> bytes = std::vector<std::vector<char>>(16);

  template <typename T> const T *data(size_t index) const {
    return reinterpret_cast<const T *>(bytes[index].data());
  }

  static void *allocate(void *self, int32_t index, int32_t, int32_t rank,
                        const int64_t *sizes, size_t bytes) {
    auto &results = *static_cast<Results *>(self);
    auto place = static_cast<size_t>(index);
    results.sizes[place].assign(sizes, sizes + rank);
    results.bytes[place].resize(bytes + 1);
    return results.bytes[place].data();
  }
};

/// "" or the error of reading, binding or running the plan.
inline std::string runPlan(const std::string &text,
                           std::initializer_list<tsr_symbol> symbols,
                           std::initializer_list<View> tensors,
                           std::initializer_list<Scalar> scalars = {},
                           Results *results = nullptr) {
  Executable executable;
  Status status = Executable::create(text, symbols, executable);
  if (status)
    status = executable.run(tensors, scalars,
                            results ? Results::allocate : nullptr, results);
  return status.message();
}

/// The n-th ```plan block of docs/abi.md.
inline std::string documentedPlan(int n) {
  std::ifstream file(ABI_DOCUMENT);
  std::stringstream stream;
  stream << file.rdbuf();
  std::string text = stream.str();
  const std::string fence = "\n```plan\n";
  size_t begin = 0;
  for (int i = 0; i <= n; ++i)
    begin = text.find(fence, begin + 1);
  begin += fence.size();
  return text.substr(begin, text.find("```", begin) - begin);
}

} // namespace tessera::test

#endif
