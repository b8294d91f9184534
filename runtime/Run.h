// One run of an executable: checks the arguments, walks the steps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_RUN_H
#define TESSERA_RUNTIME_RUN_H

#include "runtime/Constants.h"
#include "runtime/Executable.h"

namespace tessera::runtime {

/// Functions that return a status return null for success.
class Run {
public:
  /// `cuda` and `module` are null on the CPU.
  Run(const Executable &executable, const tsr_call &call, Frame &frame,
      CudaDevice *cuda, const CudaModule *module)
      : executable(executable), plan(*executable.plan), call(call),
        frame(frame), device(cuda ? static_cast<Device &>(*cuda) : cpuDevice()),
        cuda(cuda), module(module), stream(cuda ? call.stream : nullptr) {}

  tsr_status bindArguments();
  /// Shows a simulated GPU the caller's arrays, exactly as large as they are.
  tsr_status exposeArguments();
  tsr_status runSteps();
  /// Gives back the temporaries that an early end left.
  void cleanUp();

private:
  // Arguments (Arguments.cpp).
  tsr_status bindScalars();
  tsr_status bindTensor(int32_t index);
  tsr_status checkAxes(int32_t index);
  tsr_status checkOverlap();
  tsr_status axisError(int32_t index, int32_t axis, int64_t expected) const;
  tsr_status overlapError(int32_t written, int32_t other, bool certain) const;
  tsr_status obtainResult(int32_t index);
  tsr_status argumentError(int32_t index, const std::string &what) const;
  std::string nameAndSizes(int32_t index) const;

  // Steps (Run.cpp).
  tsr_status load(const Step &step);
  tsr_status expect(const Step &step);
  tsr_status checkError(const Step &step) const;
  tsr_status allocate(const Step &step);
  KeptKey keptKey(int32_t tensor) const;
  tsr_status allocateResult(const Step &step);
  tsr_status view(const Step &step);
  tsr_status launch(const Step &step);
  tsr_status launchOnCpu(const Step &step, const Launch &launch);
  int64_t operandBytes(const Launch &launch) const;
  tsr_status launchOnCuda(const Step &step, const Launch &launch);
  void expose(int32_t tensor);
  tsr_status kernelError(const Step &step, int32_t kernel, int32_t code) const;
  void swap(int32_t a, int32_t b);
  void free(int32_t tensor, bool isDone = true);
  tsr_status stepError(const Step &step, int32_t code,
                       const std::string &what) const;
  tsr_status arithmeticError(const Step &step, ExprError error) const;

  /// Sets row-major strides and counts bytes; false if they don't fit.
  bool makeContiguous(const Tensor &tensor, int64_t &bytes);
  bool isAbsent(int32_t tensor) const {
    return call.tensors[tensor].rank == TSR_ABSENT;
  }
  const Tensor &tensorAt(int32_t index) const {
    return plan.tensors[static_cast<size_t>(index)];
  }
  int64_t *sizesOf(const Tensor &tensor) const {
    return frame.slots + tensor.sizes;
  }
  int64_t *stridesOf(const Tensor &tensor) const {
    return frame.slots + tensor.strides();
  }
  ExprInputs inputs() const {
    return {frame.slots, frame.pointers, isConstant};
  }
  ExprError eval(const Expression &expr, int64_t &result) const {
    return evaluate(expr, plan.code.data(), inputs(), result);
  }
  const Expression &listed(int32_t index) const {
    return plan.expressions[static_cast<size_t>(index)];
  }

  const Executable &executable;
  const Plan &plan;
  const tsr_call &call;
  Frame &frame;
  Device &device;
  CudaDevice *cuda;
  const CudaModule *module;
  void *stream;
};

} // namespace tessera::runtime

#endif
