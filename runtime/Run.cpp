// The steps of a run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Run.h"

#include "runtime/Status.h"

#include "tessera-c/device.h"
#include <algorithm>
#include <cstring>

namespace tessera::runtime {

tsr_status Run::stepError(const Step &step, int32_t code,
                          const std::string &what) const {
  return makeError(code, plan.function + ", plan line " +
                             std::to_string(step.line) + ": " + what);
}

tsr_status Run::arithmeticError(const Step &step, ExprError error) const {
  return stepError(step, TSR_ARITHMETIC, describe(error));
}

/// What a temporary of a constant is kept under.
KeptKey Run::keptKey(int32_t temporary) const {
  const Tensor &tensor = tensorAt(temporary), &source = tensorAt(tensor.source);
  KeptKey key{&executable, temporary, frame.pointers[tensor.source], {}};
  key.numbers.assign(sizesOf(source), sizesOf(source) + 2 * source.rank);
  key.numbers.insert(key.numbers.end(), sizesOf(tensor),
                     sizesOf(tensor) + tensor.rank);
  return key;
}

/// `isDone`: the steps of its block have run.
void Run::free(int32_t index, bool isDone) {
  const Tensor &tensor = tensorAt(index);
  bool isPlain = tensor.source < 0 || cuda;
  if (!isPlain && !frame.slots[tensor.fresh])
    endUse(static_cast<Kept *>(frame.owners[index]));
  else if (!isPlain && isDone && isConstant(frame.pointers[tensor.source]))
    keep(keptKey(index), frame.owners[index]);
  else
    device.deallocate(frame.owners[index], stream);
  frame.owners[index] = nullptr;
  frame.pointers[index] = nullptr;
  --frame.liveTemporaries;
}

void Run::cleanUp() {
  if (cuda && cuda->driver->simConceal)
    cuda->driver->simConceal();
  if (frame.liveTemporaries == 0)
    return;
  for (int32_t tensor : plan.temporaries)
    if (frame.owners[tensor])
      free(tensor, false);
  frame.liveTemporaries = 0;
}

void Run::swap(int32_t a, int32_t b) {
  std::swap(frame.pointers[a], frame.pointers[b]);
  std::swap(frame.owners[a], frame.owners[b]);
  const Tensor &first = tensorAt(a);
  std::swap_ranges(frame.slots + first.sizes,
                   frame.slots + first.sizes + 2 * first.rank,
                   frame.slots + tensorAt(b).sizes);
}

tsr_status Run::allocate(const Step &step) {
  const Tensor &tensor = tensorAt(step.a);
  int64_t *sizes = sizesOf(tensor);
  for (int32_t axis = 0; axis < tensor.rank; ++axis) {
    ExprError error = eval(listed(step.b + axis), sizes[axis]);
    if (error != ExprError::None)
      return arithmeticError(step, error);
    if (sizes[axis] < 0)
      return stepError(step, TSR_INTERNAL,
                       tensor.name + " would have the negative size " +
                           std::to_string(sizes[axis]));
  }
  int64_t bytes;
  bool fits = makeContiguous(tensor, bytes);
  void *memory = nullptr;
  tsr_status status = nullptr;
  if (tensor.source >= 0) {
    frame.slots[tensor.fresh] = 1;
    if (fits && !cuda && isConstant(frame.pointers[tensor.source]))
      if (Kept *kept = useKept(keptKey(step.a))) {
        frame.slots[tensor.fresh] = 0;
        frame.owners[step.a] = kept;
        frame.pointers[step.a] = kept->memory;
        ++frame.liveTemporaries;
        return nullptr;
      }
  }
  if (fits)
    status = device.allocate(static_cast<size_t>(bytes), stream, memory);
  if (!memory) {
    int32_t code = status ? tsr_status_code(status) : TSR_OUT_OF_MEMORY;
    std::string why = status ? tsr_status_message(status) : "";
    tsr_status_free(status);
    return stepError(step, code,
                     "no memory for the temporary " + tensor.name + " (" +
                         sizesToString(sizes, tensor.rank) + ")" +
                         (why.empty() ? "" : ": " + why));
  }
  frame.owners[step.a] = frame.pointers[step.a] = memory;
  ++frame.liveTemporaries;
  return nullptr;
}

tsr_status Run::allocateResult(const Step &step) {
  const Tensor &tensor = tensorAt(step.a);
  int64_t sizes[TSR_MAX_RANK];
  for (int32_t axis = 0; axis < tensor.rank; ++axis) {
    ExprError error = eval(listed(step.b + axis), sizes[axis]);
    if (error != ExprError::None)
      return arithmeticError(step, error);
    if (sizes[axis] < 0)
      return stepError(step, TSR_INTERNAL,
                       tensor.name + " would have the negative size " +
                           std::to_string(sizes[axis]));
  }
  if (isAbsent(step.a)) {
    std::copy_n(sizes, tensor.rank, sizesOf(tensor));
    if (tsr_status status = obtainResult(step.a))
      return status;
    if (cuda)
      expose(step.a);
    return nullptr;
  }
  if (!std::equal(sizes, sizes + tensor.rank, sizesOf(tensor)))
    return makeError(TSR_INVALID_ARGUMENT,
                     nameAndSizes(step.a) + " must be (" +
                         sizesToString(sizes, tensor.rank) + ")");
  return nullptr;
}

tsr_status Run::view(const Step &step) {
  const Tensor &tensor = tensorAt(step.a), &source = tensorAt(step.b);
  int64_t *sizes = sizesOf(tensor);
  int64_t offset;
  ExprError error = eval(listed(step.c), offset);
  for (int32_t i = 0; i < 2 * tensor.rank && error == ExprError::None; ++i)
    error = eval(listed(step.c + 1 + i), sizes[i]); // the strides follow
  if (error != ExprError::None)
    return arithmeticError(step, error);
  for (int32_t axis = 0; axis < tensor.rank; ++axis)
    if (sizes[axis] < 0)
      return stepError(step, TSR_INTERNAL,
                       "the view " + tensor.name + " has the negative size " +
                           std::to_string(sizes[axis]));
  int64_t low, high, sourceLow, sourceHigh;
  bool isEmpty, sourceIsEmpty;
  bool fits =
      spanOf(tensor.rank, sizes, stridesOf(tensor), low, high, isEmpty) &&
      spanOf(source.rank, sizesOf(source), stridesOf(source), sourceLow,
             sourceHigh, sourceIsEmpty);
  if (isEmpty) {
    frame.pointers[step.a] = frame.pointers[step.b];
    return nullptr;
  }
  // Both spans are below 2^56, so these differences don't overflow.
  if (!fits || sourceIsEmpty || offset < sourceLow - low ||
      offset > sourceHigh - high)
    return stepError(step, TSR_INTERNAL,
                     "the view " + tensor.name + " (" +
                         sizesToString(sizes, tensor.rank) +
                         ") leaves the memory of " + source.name + " (" +
                         sizesToString(sizesOf(source), source.rank) + ")");
  int64_t bits = offset * dtypeInfo(tensor.dtype).bits;
  if (bits % 8 != 0)
    return stepError(step, TSR_INTERNAL,
                     "the view " + tensor.name + " doesn't start on a byte");
  frame.pointers[step.a] =
      static_cast<char *>(frame.pointers[step.b]) + bits / 8;
  return nullptr;
}

template <typename T> static int64_t readAs(const void *address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return static_cast<int64_t>(value);
}

/// Integers as they are, floats as the bits of a double.
static int64_t readElement(Dtype dtype, const void *address) {
  switch (dtype) {
  case TSR_I8:
    return readAs<int8_t>(address);
  case TSR_I16:
    return readAs<int16_t>(address);
  case TSR_I32:
    return readAs<int32_t>(address);
  case TSR_U16:
    return readAs<uint16_t>(address);
  case TSR_U32:
    return readAs<uint32_t>(address);
  case TSR_F32: {
    float narrow;
    std::memcpy(&narrow, address, sizeof narrow);
    double wide = narrow;
    return readAs<int64_t>(&wide);
  }
  case TSR_U8:
  case TSR_BOOL:
    return readAs<uint8_t>(address);
  default: // i64, u64 and f64, by the parser's check
    return readAs<int64_t>(address);
  }
}

tsr_status Run::load(const Step &step) {
  const Tensor &tensor = tensorAt(step.b);
  const int64_t *sizes = sizesOf(tensor), *strides = stridesOf(tensor);
  int64_t offset = 0;
  for (int32_t axis = 0; axis < tensor.rank; ++axis) {
    int64_t index;
    ExprError error = eval(listed(step.c + axis), index);
    if (error != ExprError::None)
      return arithmeticError(step, error);
    if (index < 0 || index >= sizes[axis])
      return stepError(step, TSR_INTERNAL,
                       "index " + std::to_string(index) + " is outside axis " +
                           std::to_string(axis) + " of " +
                           nameAndSizes(step.b));
    offset += index * strides[axis];
  }
  int64_t bytes = dtypeInfo(tensor.dtype).bits / 8;
  const void *element =
      static_cast<const char *>(frame.pointers[step.b]) + offset * bytes;
  char copy[8];
  if (cuda) {
    if (tsr_status status =
            device.read(copy, element, static_cast<size_t>(bytes), stream))
      return status;
    element = copy;
  }
  int64_t value = readElement(tensor.dtype, element);
  if (tensor.dtype == TSR_U64 && value < 0)
    return arithmeticError(step, ExprError::Overflow);
  frame.slots[step.a] = value;
  return nullptr;
}

/// On a GPU nobody waits for the value (runtime/Expectations.h).
tsr_status Run::expect(const Step &step) {
  void *from = frame.pointers[step.b];
  if (cuda) {
    tsr_status status =
        cuda->expected.add(*cuda, executable.plan, step, frame.slots,
                           frame.pointers, from, stream);
    if (!status && (call.flags & TSR_CALL_SYNCHRONIZE))
      status = tsr_stream_synchronize(call.device, stream);
    return status;
  }
  std::memcpy(&frame.slots[step.c], from, sizeof(int64_t));
  int64_t holds;
  if (ExprError error = eval(step.expr, holds); error != ExprError::None)
    return arithmeticError(step, error);
  return holds ? nullptr : checkError(step);
}

tsr_status Run::checkError(const Step &step) const {
  return makeError(
      TSR_CHECK_FAILED,
      renderMessage(plan, plan.checks[static_cast<size_t>(step.a)], inputs()));
}

tsr_status Run::runSteps() {
  const Step *steps = plan.steps.data();
  int64_t value, passes = 0;
  for (int32_t pc = 0;; ++pc) {
    const Step &step = steps[pc];
    tsr_status status = nullptr;
    switch (step.kind) {
    case Step::Kind::Set:
    case Step::Kind::Check:
    case Step::Kind::JumpIfZero:
    case Step::Kind::JumpIfNonzero: {
      ExprError error = eval(step.expr, value);
      if (error != ExprError::None)
        return arithmeticError(step, error);
      if (step.kind == Step::Kind::Set)
        frame.slots[step.a] = value;
      else if (step.kind == Step::Kind::Check && !value)
        return checkError(step);
      else if ((step.kind == Step::Kind::JumpIfZero && !value) ||
               (step.kind == Step::Kind::JumpIfNonzero && value))
        pc = step.a - 1;
      break;
    }
    case Step::Kind::Load:
      status = load(step);
      break;
    case Step::Kind::Expect:
      status = expect(step);
      break;
    case Step::Kind::Alloc:
      status = allocate(step);
      break;
    case Step::Kind::AllocResult:
      status = allocateResult(step);
      break;
    case Step::Kind::View:
      status = view(step);
      break;
    case Step::Kind::Launch:
      status = launch(step);
      break;
    case Step::Kind::Swap:
      swap(step.a, step.b);
      break;
    case Step::Kind::Free:
      free(step.a);
      break;
    case Step::Kind::Jump:
      if (step.a <= pc && executable.loopLimit &&
          ++passes > executable.loopLimit)
        return stepError(step, TSR_INTERNAL, "the limit of passes is reached");
      pc = step.a - 1;
      break;
    case Step::Kind::Return:
      return nullptr;
    }
    if (status)
      return status;
  }
}

} // namespace tessera::runtime
