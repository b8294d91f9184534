// libFuzzer target: any bytes as a plan; what is accepted is run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   cmake -S runtime -B b -DTESSERA_RUNTIME_FUZZ=ON \
//     -DTESSERA_RUNTIME_SANITIZE=address,undefined -DCMAKE_CXX_COMPILER=clang++
//   b/plan-fuzz -max_total_time=600 corpus tools/fuzz/plan-corpus
#include "runtime/Executable.h"

#include <algorithm>
#include <cstring>

using namespace tessera::runtime;

// A plan may ask for more memory than there is: that must give an error value.
extern "C" const char *__asan_default_options() {
  return "allocator_may_return_null=1";
}

static int32_t nothing(void *const *, const int64_t *, int64_t, int64_t,
                       void *) {
  return 0;
}

static void *allocate(void *, int32_t, int32_t, int32_t, const int64_t *,
                      size_t bytes) {
  alignas(64) static char memory[4096];
  return bytes <= sizeof memory ? memory : nullptr;
}

static void run(const std::shared_ptr<const Plan> &plan) {
  constexpr int32_t most = 8;
  alignas(64) static char memory[most][4096];
  static const int64_t sizes[TSR_MAX_RANK] = {2, 3, 4, 5};
  if (plan->numArguments > most)
    return;
  tsr_tensor tensors[most];
  for (int32_t i = 0; i < plan->numArguments; ++i) {
    const Tensor &tensor = plan->tensors[static_cast<size_t>(i)];
    bool isAbsent = tensor.mayBeAbsent && i % 2;
    tensors[i] = {memory[i], sizes, nullptr, tensor.dtype,
                  isAbsent ? TSR_ABSENT : tensor.rank};
  }
  std::vector<int64_t> scalars(plan->scalars.size(), 3);
  Executable executable(
      plan, std::vector<tsr_kernel_fn>(plan->kernels.size(), nothing));
  executable.loopLimit = 50;
  tsr_call call{};
  call.struct_size = sizeof call;
  call.tensors = tensors;
  call.num_tensors = plan->numArguments;
  call.scalars = scalars.data();
  call.num_scalars = static_cast<int32_t>(scalars.size());
  call.allocate = allocate;
  tsr_status_free(executable.run(call));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tsr_set_num_threads(1);
  // The first line never changes; the fuzzer should not have to find it.
  std::string text = "tessera.plan 1\n";
  text.append(reinterpret_cast<const char *>(data), size);
  auto plan = std::make_shared<Plan>();
  tsr_status status = parsePlan(text, *plan);
  if (!status)
    run(plan);
  tsr_status_free(status);
  return 0;
}
