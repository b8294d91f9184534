// Everything that is checked before the first step of a run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Constants.h"
#include "runtime/Run.h"
#include "runtime/Status.h"

#include <cstring>

namespace tessera::runtime {

std::string Run::nameAndSizes(int32_t index) const {
  const Tensor &tensor = tensorAt(index);
  return tensor.name + " (" + sizesToString(sizesOf(tensor), tensor.rank) + ")";
}

tsr_status Run::argumentError(int32_t index, const std::string &what) const {
  return makeError(TSR_INVALID_ARGUMENT, tensorAt(index).name + what);
}

tsr_status Run::bindScalars() {
  for (size_t i = 0; i < plan.scalars.size(); ++i) {
    int64_t value = call.scalars[i];
    if (plan.scalars[i].type == ScalarType::Bool)
      value = value != 0;
    frame.slots[i] = value;
  }
  return nullptr;
}

tsr_status Run::bindTensor(int32_t index) {
  const tsr_tensor &given = call.tensors[index];
  const Tensor &tensor = tensorAt(index);
  frame.intervals[index] = {};
  frame.pointers[index] = given.data;
  if (given.rank == TSR_ABSENT) {
    frame.pointers[index] = nullptr;
    if (!tensor.mayBeAbsent)
      return argumentError(index, " must be given");
    return nullptr;
  }
  if (given.dtype != tensor.dtype) {
    const char *name = tsr_dtype_name(given.dtype);
    return argumentError(index, std::string(" must be ") +
                                    dtypeInfo(tensor.dtype).name + ", but is " +
                                    (name ? name : "of an unknown dtype"));
  }
  if (given.rank != tensor.rank)
    return argumentError(index,
                         " must have rank " + std::to_string(tensor.rank) +
                             ", but has rank " + std::to_string(given.rank));
  if (tensor.rank > 0 && !given.sizes)
    return argumentError(index, " has rank " + std::to_string(tensor.rank) +
                                    ", but its sizes are NULL");
  int64_t *sizes = sizesOf(tensor), *strides = stridesOf(tensor);
  for (int32_t axis = 0; axis < tensor.rank; ++axis) {
    sizes[axis] = given.sizes[axis];
    if (sizes[axis] < 0)
      return argumentError(index, " has the negative size " +
                                      std::to_string(sizes[axis]) +
                                      " on axis " + std::to_string(axis));
  }
  if (given.strides) {
    for (int32_t axis = 0; axis < tensor.rank; ++axis)
      strides[axis] = given.strides[axis];
  } else if (int64_t bytes; !makeContiguous(tensor, bytes)) {
    return argumentError(index, " is larger than any memory");
  }
  BitInterval &interval = frame.intervals[index];
  if (!bitInterval({given.data, tensor.dtype, tensor.rank, sizes, strides},
                   interval))
    return argumentError(index, " spans more than any memory");
  if (interval.isEmpty())
    return nullptr;
  if (!given.data)
    return argumentError(index, " has elements but no data pointer");
  auto alignment = static_cast<uintptr_t>(dtypeInfo(tensor.dtype).alignment);
  if (reinterpret_cast<uintptr_t>(given.data) & (alignment - 1))
    return argumentError(index, " is not aligned to its element type");
  return nullptr;
}

tsr_status Run::axisError(int32_t index, int32_t axis, int64_t expected) const {
  const Tensor &tensor = tensorAt(index);
  const Axis &info = plan.axes[static_cast<size_t>(tensor.firstAxis + axis)];
  std::string size = std::to_string(sizesOf(tensor)[axis]);
  std::string wanted = std::to_string(expected);
  // A result's sizes are all known.
  std::string whole;
  for (int32_t i = 0; tensor.kind == Tensor::Kind::Result && i < tensor.rank;
       ++i) {
    int64_t one;
    const Axis &other = plan.axes[static_cast<size_t>(tensor.firstAxis + i)];
    if (other.kind == Axis::Kind::Any || other.kind == Axis::Kind::Binds ||
        eval(other.expr, one) != ExprError::None) {
      whole.clear();
      break;
    }
    whole +=
        (i ? " x " : "; " + tensor.name + " must be ") + std::to_string(one);
  }
  if (info.kind == Axis::Kind::SameDim && info.originTensor == index)
    return makeError(TSR_INVALID_ARGUMENT,
                     nameAndSizes(index) + " disagrees with itself on " +
                         info.text + ": " + wanted + " and " + size);
  if (info.kind == Axis::Kind::SameDim) {
    const std::string &origin = tensorAt(info.originTensor).name;
    return makeError(TSR_INVALID_ARGUMENT,
                     nameAndSizes(info.originTensor) + " and " +
                         nameAndSizes(index) + " disagree on " + info.text +
                         ": " + wanted + " from " + origin + ", " + size +
                         " from " + tensor.name + whole);
  }
  std::string formula = info.expr.kind == Expression::Kind::Constant
                            ? wanted
                            : info.text + " = " + wanted;
  return makeError(TSR_INVALID_ARGUMENT,
                   nameAndSizes(index) + ": axis " + std::to_string(axis) +
                       " must be " + formula + ", but is " + size + whole);
}

/// Checks the sizes of a tensor that was given, computes those of one that was
/// left out.
tsr_status Run::checkAxes(int32_t index) {
  const Tensor &tensor = tensorAt(index);
  if (tensor.sizedInBody && isAbsent(index))
    return nullptr;
  int64_t *sizes = sizesOf(tensor);
  for (int32_t axis = 0; axis < tensor.rank; ++axis) {
    const Axis &info = plan.axes[static_cast<size_t>(tensor.firstAxis + axis)];
    if (info.kind == Axis::Kind::Any || info.kind == Axis::Kind::Binds)
      continue;
    int64_t expected;
    if (ExprError error = eval(info.expr, expected); error != ExprError::None)
      return makeError(TSR_ARITHMETIC, "the size " + info.text + " of " +
                                           tensor.name + ": " +
                                           describe(error));
    if (isAbsent(index)) {
      if (expected < 0)
        return argumentError(index, " would have the negative size " +
                                        info.text + " = " +
                                        std::to_string(expected));
      sizes[axis] = expected;
    } else if (sizes[axis] != expected) {
      return axisError(index, axis, expected);
    }
  }
  return nullptr;
}

tsr_status Run::overlapError(int32_t written, int32_t other,
                             bool certain) const {
  const std::string &name = tensorAt(written).name;
  const char *verb = certain ? " overlaps " : " may overlap ";
  if (written == other)
    return makeError(TSR_INVALID_ARGUMENT, nameAndSizes(written) +
                                               " is written, but" + verb +
                                               "itself in memory; pass a copy");
  return makeError(TSR_INVALID_ARGUMENT,
                   name + " is written, but" + verb + tensorAt(other).name +
                       " in memory; pass a copy of one of them");
}

tsr_status Run::checkOverlap() {
  auto viewOf = [&](int32_t index) {
    const Tensor &tensor = tensorAt(index);
    return MemoryView{frame.pointers[index], tensor.dtype, tensor.rank,
                      sizesOf(tensor), stridesOf(tensor)};
  };
  for (int32_t written : plan.written) {
    const BitInterval &interval = frame.intervals[written];
    if (interval.isEmpty())
      continue;
    if (isConstant(frame.pointers[written]))
      return argumentError(written, " is a constant, which is not written");
    if (Overlap self = selfOverlapOf(viewOf(written)); self != Overlap::None)
      return overlapError(written, written, self == Overlap::Certain);
    for (int32_t other = 0; other < plan.numArguments; ++other) {
      // Two written ones are compared once.
      if (other == written || !interval.meets(frame.intervals[other]) ||
          frame.intervals[other].isEmpty())
        continue;
      Overlap overlap = overlapOf(viewOf(written), viewOf(other));
      if (overlap != Overlap::None)
        return overlapError(written, other, overlap == Overlap::Certain);
    }
  }
  return nullptr;
}

/// The sizes are known; asks the caller's allocator for the memory.
tsr_status Run::obtainResult(int32_t index) {
  const Tensor &tensor = tensorAt(index);
  if (!call.allocate)
    return argumentError(index,
                         " was not given, and the call has no allocator");
  int64_t bytes;
  if (!makeContiguous(tensor, bytes))
    return makeError(TSR_OUT_OF_MEMORY,
                     nameAndSizes(index) + " is larger than any memory");
  void *data =
      call.allocate(call.allocate_context, index, tensor.dtype, tensor.rank,
                    sizesOf(tensor), static_cast<size_t>(bytes));
  if (!data && bytes)
    return makeError(TSR_OUT_OF_MEMORY, "no memory for " + nameAndSizes(index) +
                                            ", " + std::to_string(bytes) +
                                            " bytes");
  frame.pointers[index] = data;
  return nullptr;
}

bool Run::makeContiguous(const Tensor &tensor, int64_t &bytes) {
  const int64_t *sizes = sizesOf(tensor);
  int64_t *strides = stridesOf(tensor);
  int64_t elements = 1;
  bool isEmpty = false;
  for (int32_t axis = tensor.rank - 1; axis >= 0; --axis) {
    strides[axis] = elements;
    isEmpty |= sizes[axis] == 0;
    int64_t size = sizes[axis] ? sizes[axis] : 1;
    if (__builtin_mul_overflow(elements, size, &elements))
      return false;
  }
  return bytesOfElements(tensor.dtype, isEmpty ? 0 : elements, bytes);
}

static std::string countError(const std::string &function, const char *what,
                              size_t wanted, int32_t given) {
  return function + " takes " + std::to_string(wanted) + " " + what + ", but " +
         std::to_string(given) + " were given";
}

tsr_status Run::bindArguments() {
  if (call.num_tensors != plan.numArguments)
    return makeError(TSR_INVALID_ARGUMENT,
                     countError(plan.function, "tensors",
                                static_cast<size_t>(plan.numArguments),
                                call.num_tensors));
  if (static_cast<size_t>(call.num_scalars) != plan.scalars.size())
    return makeError(TSR_INVALID_ARGUMENT,
                     countError(plan.function, "scalars", plan.scalars.size(),
                                call.num_scalars));
  if (call.num_tensors && !call.tensors)
    return refuseNull(plan.function.c_str(), {{"call->tensors", call.tensors}});
  if (call.num_scalars && !call.scalars)
    return refuseNull(plan.function.c_str(), {{"call->scalars", call.scalars}});
  bindScalars();
  bool anyAbsent = false;
  for (int32_t i = 0; i < plan.numArguments; ++i) {
    anyAbsent |= isAbsent(i);
    if (tsr_status status = bindTensor(i))
      return status;
  }
  for (int32_t i = 0; i < plan.numArguments; ++i)
    if (tsr_status status = checkAxes(i))
      return status;
  if (tsr_status status = checkOverlap())
    return status;
  if (anyAbsent)
    for (int32_t i = 0; i < plan.numArguments; ++i)
      if (isAbsent(i) && !tensorAt(i).sizedInBody)
        if (tsr_status status = obtainResult(i))
          return status;
  return nullptr;
}

} // namespace tessera::runtime
