// Damaged plans give an error or run; they never crash. Worth most under asan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Executable.h"

#include "RunPlan.h"
#include <gtest/gtest.h>
#include <random>

using namespace tessera;
using namespace tessera::test;

static int32_t nothing(void *const *, const int64_t *, int64_t, int64_t,
                       void *) {
  return 0;
}

/// Runs a valid plan, whatever it is, on small tensors.
static void runAnything(std::shared_ptr<const runtime::Plan> plan) {
  alignas(64) static char memory[16][4096];
  static const int64_t sizes[TSR_MAX_RANK] = {2, 3, 4, 5};
  std::vector<tsr_tensor> tensors;
  for (int32_t i = 0; i < plan->numArguments && i < 16; ++i) {
    const runtime::Tensor &tensor = plan->tensors[static_cast<size_t>(i)];
    tensors.push_back({memory[i], sizes, nullptr, tensor.dtype, tensor.rank});
    if (tensor.mayBeAbsent && i % 2)
      tensors.back().rank = TSR_ABSENT;
  }
  std::vector<int64_t> scalars(plan->scalars.size(), 3);
  runtime::Executable executable(
      plan, std::vector<tsr_kernel_fn>(plan->kernels.size(), nothing));
  executable.loopLimit = 100;
  tsr_call call{};
  call.struct_size = sizeof call;
  call.tensors = tensors.data();
  call.num_tensors = static_cast<int32_t>(tensors.size());
  call.scalars = scalars.data();
  call.num_scalars = static_cast<int32_t>(scalars.size());
  tsr_status_free(executable.run(call));
}

static bool parseAndRun(const std::string &text) {
  auto plan = std::make_shared<runtime::Plan>();
  tsr_status status = runtime::parsePlan(text, *plan);
  if (!status)
    runAnything(plan);
  else
    EXPECT_STRNE(tsr_status_message(status), "");
  tsr_status_free(status);
  return !status;
}

static std::string mutate(std::string text, std::mt19937 &random) {
  auto below = [&](size_t n) { return random() % std::max<size_t>(n, 1); };
  for (size_t edits = 1 + below(3); edits > 0; --edits) {
    size_t at = below(text.size()), other = below(text.size());
    size_t length = below(12);
    switch (below(6)) {
    case 0:
      text[at] = static_cast<char>(random());
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, text.substr(other, length));
      break;
    case 3:
      text[at] = "%$@[](),;:?+-*=<>\"{}#\n 0123456789"[below(34)];
      break;
    case 4: { // a whole line elsewhere
      size_t begin = text.rfind('\n', at), end = text.find('\n', at);
      if (begin == std::string::npos || end == std::string::npos)
        break;
      std::string line = text.substr(begin, end - begin);
      size_t place = text.find('\n', other);
      text.insert(place == std::string::npos ? 0 : place, line);
      break;
    }
    default: // cut off
      text.resize(at + 1);
      break;
    }
    if (text.empty())
      text = "t";
  }
  return text;
}

TEST(PlanMutation, NeverCrashes) {
  std::mt19937 random(20260101);
  const std::string seeds[] = {documentedPlan(0), documentedPlan(1)};
  int accepted = 0;
  for (int i = 0; i < 20000; ++i)
    accepted += parseAndRun(mutate(seeds[i % 2], random));
  // Both outcomes must happen, or the test tests nothing.
  EXPECT_GT(accepted, 500);
  EXPECT_LT(accepted, 19500);
}

TEST(PlanMutation, EveryPrefixIsRefused) {
  std::string text = documentedPlan(1);
  size_t last = text.rfind("end") + 3;
  for (size_t length = 0; length < last; ++length)
    EXPECT_NE(parseError(text.substr(0, length)), "") << length;
}
