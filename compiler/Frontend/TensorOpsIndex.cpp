//===- TensorOpsIndex.cpp - x[...], take and gather on tensors ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TensorOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using tessera::graph::Extent;

namespace tessera::frontend {

/// Leaves a check behind that every index lies within the axis, or the call
/// fails at the user's line.
void TensorOps::checkIndices(const SemaValue &object, llvm::StringRef name,
                             const SemaValue &indices,
                             llvm::StringRef indexName, int64_t axis,
                             SourceRange where, IndexRules rules) {
  Location location = context.loc(where);
  OpBuilder &builder = context.builder;
  Extent extent = graph::getExtent(object.ssa, axis);
  std::string text = placeText(location) +
                     (rules.ignored ? "target" : "index") + " {index} in " +
                     escapeBraces(indexName) + ", but axis " +
                     std::to_string(axis) + " of " + escapeBraces(name) + " (" +
                     axisText(extent, object.dims[axis]) + ") has size {size}";
  graph::CheckIndicesOp::create(
      builder, location, indices.ssa,
      graph::materialize(builder, location, extent),
      builder.getStringAttr(text),
      rules.wraps ? builder.getUnitAttr() : UnitAttr(),
      rules.ignored ? builder.getI64IntegerAttr(*rules.ignored)
                    : IntegerAttr());
}

/// Leaves a check behind that says at the user's line which index is wrong: a
/// constant one by the size of its axis, another by the nearest that is right.
void TensorOps::checkIndex(const SemaValue &object, mlir::Value index,
                           std::optional<int64_t> number, mlir::Value size,
                           int64_t axis, SourceRange where) {
  Location location = context.loc(where);
  std::string name = object.name.empty() ? "it" : object.name;
  Extent extent = graph::getExtent(object.ssa, axis);
  std::string text = "index " +
                     (number ? std::to_string(*number) : std::string("{lhs}")) +
                     ", but axis " + std::to_string(axis) + " of " + name +
                     " (" + axisText(extent, object.dims[axis]) + ") " +
                     (number ? "is" : "ends at") + " {rhs}";
  Type type = size.getType();
  if (number) {
    // max(size, what the index needs) is the size.
    int64_t beyond = *number < 0 ? -(*number + 1) : *number;
    int64_t needed = beyond == INT64_MAX ? beyond : beyond + 1;
    mlir::Value enough =
        emit("gir.maximum", location, type, {size, constant(location, needed)});
    checkEqual(enough, size, text, location);
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
  checkEqual(index, nearest, text, location);
}

/// Positions counted from the start: negative ones, of axes `shape`, were
/// counted from the end.
mlir::Value TensorOps::fromStart(mlir::Value index, mlir::Value size,
                                 const TensorShape &shape, Location location) {
  Type type = index.getType();
  auto spread = [&](mlir::Value value) {
    return broadcastTo(value, {}, shape, location);
  };
  mlir::Value negative =
      emit("gir.compare", location, typeOf(shape, DType::Bool),
           {index, spread(constant(location, int64_t(0)))},
           attr("kind", graph::CompareKindAttr::get(context.getContext(),
                                                    graph::CompareKind::Lt)));
  mlir::Value fromEnd = emit("gir.add", location, type, {index, spread(size)});
  return emit("gir.select", location, type, {negative, fromEnd, index});
}

/// The same with another number; of a loop's variable, the loop's end.
static std::string getIndexFix(const SemaContext &context,
                               const SemaValue &index, int64_t size,
                               SourceRange where, const OpSite &site) {
  std::string whole = context.quote(site.range), part = context.quote(where);
  if (!part.empty() && llvm::all_of(part, llvm::isDigit))
    if (size_t at = whole.rfind(part); at != std::string::npos)
      return whole.substr(0, at) + "-1" + whole.substr(at + part.size());
  std::string limit = std::to_string(size);
  SmallVector<llvm::StringRef, 4> found;
  std::string behind =
      index.origin.isValid() ? context.quoteBehind(index.origin) : "";
  if (context.quote(index.origin) == part &&
      llvm::Regex("^ in range\\(([^(),]*,)? *[^(),]*(,[^()]*)?\\):")
          .match(behind, &found))
    return "for " + part + " in range(" +
           (found[1].empty() ? "" : found[1].str() + " ") + limit +
           found[2].str() + "):";
  return "an index below " + limit + " instead of " + part;
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
        diagnostic.setFix(
            getIndexFix(context, index, size.constant, where, site));
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
  result.start = graph::getExtent(fromStart(value, whole, {}, location));
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
    value =
        fromStart(convert(bound, DType::I64, location), whole, {}, location);
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

/// ": N // 2" for ": N / 2", or the same of the line that says a bound, and
/// where.
static std::pair<std::string, SourceRange>
getIntegerFix(const SemaContext &context, const SemaValue &bound,
              SourceRange where) {
  std::string text = context.quote(where);
  size_t at = text.find('/');
  if (at != std::string::npos)
    return {text.insert(at, "/"), where};
  SourceRange line = bound.origin;
  line.end = {line.begin.line, line.begin.column + 200};
  std::string made = line.begin.line ? context.quote(line) : "";
  at = made.find(" / ");
  if (at == std::string::npos)
    return {"", where};
  return {made.insert(at + 1, "/"), bound.origin};
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
    if (!bound->isNone() && (!bound->isNumber() ||
                             !isInteger(bound->getPromotionOperand().dtype))) {
      Diagnostic &diagnostic =
          context.error(where, "the bounds of a slice are ints, but here is " +
                                   describe(*bound));
      if (!isFloat(bound->getPromotionOperand().dtype)) {
        diagnostic.setFix("tsr.where(mask, x, 0), or tsr.take(x, index)");
        return failure();
      }
      auto [fix, place] = getIntegerFix(context, *bound, where);
      if (!fix.empty())
        diagnostic.setFix(fix, place);
      return failure();
    }
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
    // No axis has so many elements: the first alone is taken either way.
    result.step = std::clamp(*step, -graph::maxStep, graph::maxStep);
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
                    asObject(context.quote(where)) + ".to(i64)");
      if (gathered >= 0) {
        // a[i, j] of rows i and a place j in each.
        std::string fix = "tsr.gather(x, dim, index)";
        std::string first = context.quote(site.operands[0]->range);
        if (gathered == 0 && axis == 1 && rankOf(object) == 2)
          fix = "tsr.gather(" + name + "[" + first + "], 1, " +
                asObject(context.quote(where)) + "[:, None])[:, 0]";
        (void)context.notYet(where, "two tensors as indices", fix);
        return failure();
      }
      gathered = axis;
      gatheredAt = kept.size();
      checkIndices(object, name, index, context.quote(where), axis, where,
                   {/*wraps=*/true, std::nullopt});
      picks = makeResult(
          fromStart(convert(index, DType::I64, loc(site)),
                    graph::materialize(context.builder, loc(site),
                                       graph::getExtent(object.ssa, axis)),
                    shapeOf(index), loc(site)),
          DType::I64, shapeOf(index));
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
                  index.isNumber()
                      ? (index.isConstant()
                             ? "int(" + context.quote(where) + ")"
                             : asObject(context.quote(where)) + ".to(i64)")
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

//===----------------------------------------------------------------------===//
// Look-ups by name
//===----------------------------------------------------------------------===//

ValueResult TensorOps::take(const SemaValue &input, const SemaValue &indices,
                            int64_t axis, const OpSite &site) {
  TensorShape from = shapeOf(input), picks = shapeOf(indices), to;
  for (int64_t i = 0; i < int64_t(from.rank()); ++i) {
    if (i != axis) {
      to.append(from, i);
      continue;
    }
    for (size_t k = 0; k < picks.rank(); ++k)
      to.append(picks, k);
  }
  mlir::Value value = emit("gir.take", loc(site), typeOf(to, input.dtype),
                           {input.ssa, indices.ssa}, attr("axis", axis));
  return makeResult(value, input.dtype, to);
}

ValueResult TensorOps::callTake(const NamedCall &call) {
  // embedding(ids, table), index_select(x, dim, ids), take(x, ids, dim=0).
  SmallVector<llvm::StringRef> parameters = {"input", "index", "dim"};
  size_t at[] = {0, 1, 2};
  if (call.name == "embedding") {
    parameters = {"input", "weight"};
    at[0] = 1;
    at[1] = 0;
  } else if (call.name == "index_select") {
    parameters = {"input", "dim", "index"};
    at[1] = 2;
    at[2] = 1;
  }
  FailureOr<BoundArguments> args =
      bind(call, parameters, call.name == "index_select" ? 3 : 2);
  if (failed(args))
    return failure();
  FailureOr<SemaValue> input = tensorOperand(*(*args)[at[0]], call.name);
  FailureOr<SemaValue> indices = tensorOperand(*(*args)[at[1]], call.name);
  if (failed(input) || failed(indices))
    return failure();
  if (!isInteger(indices->dtype)) {
    std::string name = nameOf(*indices, (*args)[at[1]]->expr),
                other = nameOf(*input, (*args)[at[0]]->expr);
    bool isSwapped = call.name == "embedding" && isInteger(input->dtype);
    return fail((*args)[at[1]]->where,
                call.name + " needs ints as indices, but " + name + " is " +
                    describeShape(*indices),
                isSwapped ? "tsr.embedding(" + other + ", " + name + ")"
                          : asObject(name) + ".to(i64)");
  }
  int64_t along = 0;
  if (at[2] < args->size() && (*args)[at[2]]) {
    FailureOr<int64_t> given = axis(*(*args)[at[2]], *input);
    if (failed(given))
      return failure();
    along = *given;
  }
  if (rankOf(*input) == 0)
    return fail((*args)[at[0]]->where,
                call.name + " needs an axis, but " +
                    nameOf(*input, (*args)[at[0]]->expr) + " has none",
                nameOf(*input, (*args)[at[0]]->expr));
  const CallArgument &index = *(*args)[at[1]];
  checkIndices(*input, nameOf(*input, (*args)[at[0]]->expr), *indices,
               nameOf(*indices, index.expr), along, index.where);
  return take(*input, *indices, along, call.site);
}

ValueResult TensorOps::callGather(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"input", "dim", "index"}, 3);
  if (failed(args))
    return failure();
  FailureOr<SemaValue> input = tensorOperand(*(*args)[0], "gather");
  FailureOr<SemaValue> indices = tensorOperand(*(*args)[2], "gather");
  if (failed(input) || failed(indices))
    return failure();
  FailureOr<int64_t> along = axis(*(*args)[1], *input);
  if (failed(along))
    return failure();
  std::string name = nameOf(*indices, (*args)[2]->expr);
  if (!isInteger(indices->dtype))
    return fail((*args)[2]->where,
                "gather needs ints as indices, but " + name + " is " +
                    describeShape(*indices),
                asObject(name) + ".to(i64)");
  if (rankOf(*indices) != rankOf(*input)) {
    // labels[:, None] for one label per row.
    std::string index;
    for (int64_t i = 0; i < rankOf(*input); ++i)
      index += (i ? ", " : "") + std::string(i == *along ? "None" : ":");
    bool isOne = rankOf(*indices) + 1 == rankOf(*input);
    return fail(
        (*args)[2]->where,
        "gather needs equal ranks: " + nameOf(*input, (*args)[0]->expr) +
            " is " + describeShape(*input) + ", " + name + " is " +
            describeShape(*indices),
        isOne ? asObject(name) + "[" + index + "]"
              : "indices of " + std::to_string(rankOf(*input)) + " axes");
  }
  std::string from = nameOf(*input, (*args)[0]->expr);
  TensorShape shape = shapeOf(*indices), whole = shapeOf(*input);
  // Along the other axes the indices may be fewer, as torch has it.
  Location location = loc(call.site);
  for (int64_t i = 0; i < int64_t(shape.rank()); ++i) {
    const Extent &mine = shape.extents[i], &its = whole.extents[i];
    if (i == *along || mine == its)
      continue;
    if (mine.isConstant() && its.isConstant()) {
      if (mine.constant <= its.constant)
        continue;
      Diagnostic &diagnostic = context.error(
          (*args)[2]->where, "gather: axis " + std::to_string(i) + " of " +
                                 name + " is " + std::to_string(mine.constant) +
                                 ", but that of " + from + " is " +
                                 std::to_string(its.constant));
      noteOrigin(diagnostic, *input, from);
      noteOrigin(diagnostic, *indices, name);
      std::string colons;
      for (int64_t k = 0; k < i; ++k)
        colons += ":, ";
      diagnostic.setFix(name + "[" + colons + ":" +
                        std::to_string(its.constant) + "]");
      return failure();
    }
    mlir::Value size = graph::materialize(context.builder, location, its);
    mlir::Value enough =
        emit("gir.maximum", location, size.getType(),
             {size, graph::materialize(context.builder, location, mine)});
    checkEqual(enough, size,
               "gather: axis " + std::to_string(i) + " of " + name +
                   " is {lhs}, but that of " + from + " is {rhs}",
               context.loc((*args)[2]->where));
  }
  checkIndices(*input, from, *indices, name, *along, (*args)[2]->where);
  mlir::Value value =
      emit("gir.gather", loc(call.site), typeOf(shape, input->dtype),
           {input->ssa, indices->ssa}, attr("axis", *along));
  return makeResult(value, input->dtype, shape);
}

} // namespace tessera::frontend
