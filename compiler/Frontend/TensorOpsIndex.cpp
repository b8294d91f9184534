//===- TensorOpsIndex.cpp - x[...] on tensors -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TensorOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using tessera::graph::Extent;

namespace tessera::frontend {

/// Leaves a check behind that says at the user's line which index is wrong: a
/// constant one by the size of its axis, another by the nearest that is right.
void TensorOps::checkIndex(const SemaValue &object, mlir::Value index,
                           std::optional<int64_t> number, mlir::Value size,
                           int64_t axis, SourceRange where) {
  Location location = context.loc(where);
  std::string name = object.name.empty() ? "it" : object.name;
  Extent extent = graph::getExtent(object.ssa, axis);
  std::string text; // braces hold sizes there
  if (const SourceFile *file = context.getSources().get(where.file)) {
    for (char c : file->getName())
      text.append(c == '{' || c == '}' ? 2 : 1, c);
    text += ":" + std::to_string(where.begin.line) + ":" +
            std::to_string(where.begin.column) + ": ";
  }
  text += "index " + (number ? std::to_string(*number) : std::string("{lhs}")) +
          ", but axis " + std::to_string(axis) + " of " + name + " (" +
          axisText(extent, object.dims[axis]) + ") " +
          (number ? "is" : "ends at") + " {rhs}";
  Type type = size.getType();
  if (number) {
    // max(size, what the index needs) is the size.
    int64_t beyond = *number < 0 ? -(*number + 1) : *number;
    int64_t needed = beyond == INT64_MAX ? beyond : beyond + 1;
    mlir::Value enough =
        emit("gir.maximum", location, type, {size, constant(location, needed)});
    graph::CheckEqualOp::create(context.builder, location, enough, size, text);
    return;
  }
  // The nearest index is the index; -1 and 0 are none of an empty axis.
  mlir::Value last =
      emit("gir.add", location, type, {size, constant(location, int64_t(-1))});
  mlir::Value first = emit("gir.neg", location, type, size);
  mlir::Value below =
      emit("gir.compare", location,
           RankedTensorType::get({}, elementType(DType::Bool)), {index, size},
           attr("kind", graph::CompareKindAttr::get(context.getContext(),
                                                    graph::CompareKind::Lt)));
  mlir::Value notBefore = emit("gir.maximum", location, type, {index, first});
  mlir::Value nearest =
      emit("gir.select", location, type, {below, notBefore, last});
  graph::CheckEqualOp::create(context.builder, location, index, nearest, text);
}

/// x[i]: one position of an axis, counted from the end if negative.
FailureOr<TensorOps::SliceAxis>
TensorOps::indexAxis(const SemaValue &object, const SemaValue &index,
                     int64_t axis, SourceRange where, const OpSite &site) {
  Location location = loc(site);
  Extent size = graph::getExtent(object.ssa, axis);
  SliceAxis result;
  result.size = Extent::get(1);
  result.dropped = true;
  if (std::optional<int64_t> number = index.getConstantInt()) {
    if (size.isConstant()) {
      if (*number < -size.constant || *number >= size.constant) {
        std::string name = object.name.empty() ? "it" : object.name;
        Diagnostic &diagnostic = context.error(
            where, "index " + std::to_string(*number) +
                       " is out of range: axis " + std::to_string(axis) +
                       " of " + name + " has size " +
                       std::to_string(size.constant));
        if (object.origin.isValid())
          noteOrigin(diagnostic, object, name);
        diagnostic.setFix(name + "[" + (axis ? "..., " : "") + "-1]");
        return failure();
      }
      result.start =
          Extent::get(*number < 0 ? *number + size.constant : *number);
      return result;
    }
    mlir::Value whole = graph::materialize(context.builder, location, size);
    checkIndex(object, nullptr, number, whole, axis, where);
    if (*number >= 0) {
      result.start = Extent::get(*number);
      return result;
    }
    result.start = graph::getExtent(emit("gir.add", location, whole.getType(),
                                         {whole, constant(location, *number)}));
    return result;
  }
  // A run-time index: negative ones count from the end.
  mlir::Value value = convert(index, DType::I64, location);
  mlir::Value whole = graph::materialize(context.builder, location, size);
  checkIndex(object, value, std::nullopt, whole, axis, where);
  Type type = value.getType();
  mlir::Value negative =
      emit("gir.compare", location,
           RankedTensorType::get({}, elementType(DType::Bool)),
           {value, constant(location, int64_t(0))},
           attr("kind", graph::CompareKindAttr::get(context.getContext(),
                                                    graph::CompareKind::Lt)));
  mlir::Value fromEnd = emit("gir.add", location, type, {value, whole});
  result.start = graph::getExtent(
      emit("gir.select", location, type, {negative, fromEnd, value}));
  return result;
}

/// A bound of a slice as Python clips it: counted from the end if negative,
/// then clipped to [low, size + highOffset].
Extent TensorOps::clampBound(const SemaValue &bound, const Extent &size,
                             int64_t low, int64_t highOffset,
                             Location location) {
  std::optional<int64_t> number = bound.getConstantInt();
  if (number && size.isConstant()) {
    int64_t value = *number < 0 ? *number + size.constant : *number;
    return Extent::get(
        std::clamp(value, low, std::max(low, size.constant + highOffset)));
  }
  mlir::Value whole = graph::materialize(context.builder, location, size);
  Type type = whole.getType();
  mlir::Value value;
  if (number) {
    value = constant(location, *number);
    if (*number < 0)
      value = emit("gir.add", location, type, {whole, value});
  } else {
    value = convert(bound, DType::I64, location);
    mlir::Value negative =
        emit("gir.compare", location,
             RankedTensorType::get({}, elementType(DType::Bool)),
             {value, constant(location, int64_t(0))},
             attr("kind", graph::CompareKindAttr::get(context.getContext(),
                                                      graph::CompareKind::Lt)));
    mlir::Value fromEnd = emit("gir.add", location, type, {value, whole});
    value = emit("gir.select", location, type, {negative, fromEnd, value});
  }
  mlir::Value high = whole;
  if (highOffset)
    high = emit("gir.add", location, type,
                {whole, constant(location, highOffset)});
  // A constant that is not negative is above `low` already.
  if (!(number && *number >= 0))
    value =
        emit("gir.maximum", location, type, {value, constant(location, low)});
  value = emit("gir.minimum", location, type, {value, high});
  return graph::getExtent(value);
}

FailureOr<TensorOps::SliceAxis>
TensorOps::sliceAxis(const SemaValue &object, const SemaValue &index,
                     int64_t axis, SourceRange where, const OpSite &site) {
  Location location = loc(site);
  Extent size = graph::getExtent(object.ssa, axis);
  SliceAxis result;
  result.size = size;
  result.start = Extent::get(0);
  SemaValue bounds[3];
  for (size_t i = 0; i < index.elements.size() && i < 3; ++i) {
    ValueResult bound = context.decay(index.elements[i], where);
    if (failed(bound))
      return failure();
    if (!bound->isNone() &&
        (!bound->isNumber() || !isInteger(bound->getPromotionOperand().dtype)))
      return fail(where,
                  "the bounds of a slice are ints, but here is " +
                      describe(*bound),
                  bound->isConstant() && bound->constant.isFloat()
                      ? "a // b, or int(...): " + context.quote(where)
                      : "tsr.where(mask, x, 0), or tsr.take(x, index)");
    bounds[i] = *bound;
  }
  if (!bounds[2].isNone()) {
    std::optional<int64_t> step = bounds[2].getConstantInt();
    if (!step)
      return fail(where,
                  "the step of a slice is a constant int, but here is " +
                      describe(bounds[2]),
                  "a parameter step: const");
    if (*step == 0)
      return fail(where,
                  "the step of a slice is 0, but must be 1 or another "
                  "number",
                  "::1");
    result.step = *step;
  }
  if (bounds[0].isNone() && bounds[1].isNone() && result.step == 1) {
    result.dim = object.dims[axis];
    return result;
  }
  bool forward = result.step > 0;
  int64_t low = forward ? 0 : -1, high = forward ? 0 : -1;
  Extent start = Extent::get(0), stop = size;
  if (!forward) {
    start = clampBound(SemaValue::makeConstant(int64_t(-1)), size, -1, -1,
                       location);
    stop = Extent::get(-1);
  }
  if (!bounds[0].isNone())
    start = clampBound(bounds[0], size, low, high, location);
  if (!bounds[1].isNone())
    stop = clampBound(bounds[1], size, low, high, location);
  result.start = start;
  // ceil((stop - start) / step), at least 0
  int64_t step = result.step;
  if (start.isConstant() && stop.isConstant()) {
    int64_t length = stop.constant - start.constant;
    int64_t count =
        forward ? (length + step - 1) / step : (-length + -step - 1) / -step;
    bool empty = forward ? length <= 0 : length >= 0;
    result.size = Extent::get(empty ? 0 : count);
    return result;
  }
  // x[:stop] has as many elements as the clipped bound says.
  if (start.isConstant(0) && step == 1) {
    result.size = stop;
    return result;
  }
  mlir::Value first = graph::materialize(context.builder, location, start);
  mlir::Value last = graph::materialize(context.builder, location, stop);
  Type type = first.getType();
  mlir::Value length = emit("gir.sub", location, type, {last, first});
  if (step != 1) {
    length = emit("gir.neg", location, type, length);
    length = emit("gir.floordiv", location, type,
                  {length, constant(location, step)});
    length = emit("gir.neg", location, type, length);
  }
  length = emit("gir.maximum", location, type,
                {length, constant(location, int64_t(0))});
  result.size = graph::getExtent(length);
  return result;
}

ValueResult TensorOps::subscript(const SemaValue &object,
                                 ArrayRef<SemaValue> indices,
                                 const OpSite &site) {
  if (!object.isTensor())
    return fail(site.range,
                context.quote(site.range)
                        .substr(0, context.quote(site.range).find('[')) +
                    " is " + describe(object) + ", which cannot be indexed",
                object.kind == ValueKind::Function ||
                        object.kind == ValueKind::Builtin
                    ? context.quote(site.range)
                              .substr(0, context.quote(site.range).find('[')) +
                          "(...)"
                    : context.quote(site.range)
                          .substr(0, context.quote(site.range).find('[')));
  int64_t rank = rankOf(object);
  std::string name = object.name.empty() ? "it" : object.name;
  auto isEllipsis = [&](size_t i) {
    auto *constant = i < site.operands.size()
                         ? dynCast<Constant>(site.operands[i])
                         : nullptr;
    return constant && constant->type == ConstantKind::Ellipsis;
  };
  int64_t used = 0;
  int ellipses = 0;
  for (auto [i, index] : llvm::enumerate(indices)) {
    if (isEllipsis(i))
      ++ellipses;
    else if (!index.isNone())
      ++used;
  }
  if (ellipses > 1)
    return fail(site.nameRange,
                "an index has one '...', but here are " +
                    std::to_string(ellipses),
                name + "[..., 0]");
  if (used > rank) {
    Diagnostic &diagnostic = context.error(
        site.nameRange, std::to_string(used) + " indices into " + name +
                            ", which is " + describeShape(object));
    if (object.origin.isValid())
      noteOrigin(diagnostic, object, name);
    std::string fix;
    for (int64_t i = 0; i < rank && size_t(i) < site.operands.size(); ++i)
      fix += (i ? ", " : "") + context.quote(site.operands[i]->range);
    diagnostic.setFix(rank ? name + "[" + fix + "]" : name);
    return failure();
  }

  // What happens to each axis of the object, and the axes of the result.
  SmallVector<SliceAxis> slices;
  struct ResultAxis {
    int64_t from = -1; // axis of the object; -1: new, of size 1
  };
  SmallVector<ResultAxis> kept;
  int64_t gathered = -1, gatheredAt = -1;
  SemaValue picks;
  bool moves = false;
  auto whole = [&] {
    int64_t axis = slices.size();
    SliceAxis all;
    all.start = Extent::get(0);
    all.size = graph::getExtent(object.ssa, axis);
    all.dim = object.dims[axis];
    slices.push_back(all);
    kept.push_back({axis});
  };
  for (auto [i, index] : llvm::enumerate(indices)) {
    SourceRange where = i < site.operands.size() && site.operands[i]
                            ? site.operands[i]->range
                            : site.nameRange;
    if (isEllipsis(i)) {
      for (int64_t k = used; k < rank; ++k)
        whole();
      continue;
    }
    if (index.isNone()) {
      kept.push_back({-1});
      continue;
    }
    int64_t axis = slices.size();
    if (index.kind == ValueKind::Slice) {
      FailureOr<SliceAxis> slice = sliceAxis(object, index, axis, where, site);
      if (failed(slice))
        return failure();
      moves |= !slice->start.isConstant(0) || slice->step != 1 ||
               slice->size != graph::getExtent(object.ssa, axis);
      slices.push_back(*slice);
      kept.push_back({axis});
      continue;
    }
    if (index.isTensor() && rankOf(index) > 0) {
      if (index.dtype == DType::Bool)
        return fail(where,
                    "a bool tensor as an index makes a size that depends on "
                    "the values",
                    "tsr.where(" + context.quote(where) + ", " + name + ", 0)");
      if (!isInteger(index.dtype))
        return fail(where,
                    "an index is an int, but " + context.quote(where) + " is " +
                        describeShape(index),
                    context.quote(where) + ".to(i64)");
      if (gathered >= 0) {
        (void)context.notYet(where, "two tensors as indices",
                             "tsr.gather(x, dim, index)");
        return failure();
      }
      gathered = axis;
      gatheredAt = kept.size();
      picks = index;
      whole();
      continue;
    }
    if (!(index.isNumber() || index.isTensor()) ||
        !isInteger(index.isTensor() ? index.dtype
                                    : index.getPromotionOperand().dtype))
      return fail(where,
                  "an index is an int, a slice, None or a tensor of ints, "
                  "but " +
                      context.quote(where) + " is " + describe(index),
                  index.isNumber() ? (index.isConstant()
                                          ? "int(" + context.quote(where) + ")"
                                          : context.quote(where) + ".to(i64)")
                                   : ":");
    ValueResult position = context.decay(index, where);
    if (failed(position))
      return failure();
    FailureOr<SliceAxis> slice =
        indexAxis(object, *position, axis, where, site);
    if (failed(slice))
      return failure();
    slices.push_back(*slice);
    moves = true;
  }
  while (int64_t(slices.size()) < rank)
    whole();

  Location location = loc(site);
  mlir::Value value = object.ssa;
  TensorShape sliced;
  for (const SliceAxis &slice : slices)
    sliced.push_back(slice.size, slice.dim);
  if (moves) {
    SmallVector<mlir::Value> starts;
    SmallVector<int64_t> steps;
    for (const SliceAxis &slice : slices) {
      starts.push_back(
          graph::materialize(context.builder, location, slice.start));
      steps.push_back(slice.step);
    }
    value = graph::SliceOp::create(
        context.builder, location, typeOf(sliced, object.dtype), value, starts,
        context.builder.getDenseI64ArrayAttr(steps), sizesOf(sliced, location));
  }
  TensorShape result;
  for (const ResultAxis &axis : kept) {
    if (axis.from < 0)
      result.push_back(Extent::get(1));
    else
      result.append(sliced, axis.from);
  }
  bool reshapes = result.rank() != sliced.rank() ||
                  llvm::any_of(kept, [](auto axis) { return axis.from < 0; });
  if (reshapes)
    value = reshapeTo(value, result, location);
  SemaValue moved = makeResult(value, object.dtype, result);
  if (gathered < 0)
    return moved;
  return take(moved, picks, gatheredAt, site);
}

} // namespace tessera::frontend
