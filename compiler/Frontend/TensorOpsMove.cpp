//===- TensorOpsMove.cpp - Transpose, reshape, cat, creation --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TensorOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using tessera::graph::Extent;

namespace tessera::frontend {

//===----------------------------------------------------------------------===//
// Permutations
//===----------------------------------------------------------------------===//

ValueResult TensorOps::permute(const SemaValue &input,
                               ArrayRef<int64_t> permutation,
                               const OpSite &site) {
  TensorShape from = shapeOf(input), to;
  for (int64_t axis : permutation)
    to.append(from, axis);
  mlir::Value value = emit(
      "gir.transpose", loc(site), typeOf(to, input.dtype), input.ssa,
      attr("permutation", context.builder.getDenseI64ArrayAttr(permutation)));
  return makeResult(value, input.dtype, to);
}

ValueResult TensorOps::callTranspose(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"input", "dim0", "dim1"}, 1);
  if (failed(args))
    return failure();
  FailureOr<SemaValue> input = tensorOperand(*(*args)[0], call.name);
  if (failed(input))
    return failure();
  int64_t rank = rankOf(*input);
  std::string name = nameOf(*input, (*args)[0]->expr);
  if (!(*args)[1] || !(*args)[2])
    return fail(call.site.range, call.name + " needs the two axes to swap",
                name + (rank == 2 ? ".T" : ".transpose(-2, -1)"));
  FailureOr<int64_t> a = axis(*(*args)[1], *input);
  FailureOr<int64_t> b = axis(*(*args)[2], *input);
  if (failed(a) || failed(b))
    return failure();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(permutation[*a], permutation[*b]);
  return permute(*input, permutation, call.site);
}

ValueResult TensorOps::callPermute(const NamedCall &call) {
  const std::vector<CallArgument> &all = call.arguments.arguments;
  if (all.empty())
    return fail(call.site.range, "permute needs a tensor and its axes",
                "x.permute(1, 0)");
  FailureOr<SemaValue> input = tensorOperand(all[0], "permute");
  if (failed(input))
    return failure();
  SmallVector<int64_t> permutation;
  for (const CallArgument &argument :
       flattenTuple(ArrayRef<CallArgument>(all).drop_front())) {
    FailureOr<int64_t> one = axis(argument, *input);
    if (failed(one))
      return failure();
    if (llvm::is_contained(permutation, *one))
      return fail(argument.where,
                  "permute names axis " + std::to_string(*one) + " twice",
                  "x.permute(1, 0), each axis once");
    permutation.push_back(*one);
  }
  if (int64_t(permutation.size()) != rankOf(*input)) {
    // The axes that are not named stay behind those that are.
    std::string fix = nameOf(*input, all[0].expr) + ".permute(";
    SmallVector<int64_t> every = permutation;
    for (int64_t i = 0; i < rankOf(*input); ++i)
      if (!llvm::is_contained(permutation, i))
        every.push_back(i);
    for (auto [i, one] : llvm::enumerate(every))
      fix += (i ? ", " : "") + std::to_string(one);
    fix += ")";
    return fail(call.site.range,
                "permute needs every axis of " + describeShape(*input) +
                    " once, but has " + std::to_string(permutation.size()),
                fix);
  }
  return permute(*input, permutation, call.site);
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

ValueResult TensorOps::callReshape(const NamedCall &call) {
  const std::vector<CallArgument> &all = call.arguments.arguments;
  if (all.empty())
    return fail(call.site.range, call.name + " needs a tensor and sizes",
                "x." + call.name + "(M, -1)");
  for (const CallArgument &argument : all)
    if (!argument.keyword.empty() && argument.keyword != "shape")
      return fail(argument.where,
                  call.name + " has no argument '" + argument.keyword +
                      "'; it takes sizes",
                  "x." + call.name + "(M, -1)");
  FailureOr<SemaValue> input = tensorOperand(all[0], call.name);
  if (failed(input))
    return failure();
  std::string name = nameOf(*input, all[0].expr);
  FailureOr<SmallVector<SizeArgument>> sizes =
      sizeArguments(ArrayRef<CallArgument>(all).drop_front(), call.name);
  if (failed(sizes))
    return failure();

  // What is left of both products once equal factors are gone.
  Location location = loc(call.site);
  TensorShape from = shapeOf(*input), to;
  SmallVector<Extent> have, want;
  SmallVector<Dim *> haveDims;
  int64_t haveFactor = 1, wantFactor = 1;
  for (size_t i = 0; i < from.rank(); ++i) {
    if (from.extents[i].isConstant()) {
      haveFactor *= from.extents[i].constant;
      continue;
    }
    have.push_back(from.extents[i]);
    haveDims.push_back(from.dims[i]);
  }
  int inferred = -1;
  for (auto [i, size] : llvm::enumerate(*sizes)) {
    to.push_back(size.extent, size.dim);
    if (size.inferred) {
      inferred = i;
      continue;
    }
    if (size.extent.isConstant()) {
      wantFactor *= size.extent.constant;
      continue;
    }
    bool found = false;
    for (size_t k = 0; k < have.size() && !found; ++k)
      if (isProvedEqual(have[k], haveDims[k], size.extent, size.dim)) {
        have.erase(have.begin() + k);
        haveDims.erase(haveDims.begin() + k);
        found = true;
      }
    if (!found)
      want.push_back(size.extent);
  }
  auto elements = [&](ArrayRef<Extent> extents, int64_t factor) {
    SmallVector<Extent> all(extents);
    all.push_back(Extent::get(factor));
    return productExtent(all, location);
  };
  auto refuse = [&](const std::string &why) -> ValueResult {
    Diagnostic &diagnostic = context.error(
        call.site.range,
        call.name + " of " + name + " " + shapeText(from) + " to " +
            [&] {
              TensorShape shown = to;
              std::string text = "[";
              for (size_t i = 0; i < shown.rank(); ++i)
                text += (i ? ", " : "") +
                        (int(i) == inferred
                             ? std::string("-1")
                             : axisText(shown.extents[i], shown.dims[i]));
              return text + "]";
            }() +
            ": " + why);
    if (input->origin.isValid())
      noteOrigin(diagnostic, *input, name);
    std::string first =
        to.rank() > 1 && to.dims[0] ? to.dims[0]->name + ", " : "";
    std::string fix = first + "-1";
    // The last of the given sizes that may be another one, so that all fit.
    for (size_t i = to.rank(); i-- > 0 && have.empty() && want.empty();) {
      int64_t size = to.extents[i].isConstant() ? to.extents[i].constant : 0;
      if (int(i) == inferred || size == 0 ||
          haveFactor % (wantFactor / size) != 0 || inferred >= 0)
        continue;
      fix.clear();
      for (size_t k = 0; k < to.rank(); ++k)
        fix += (k ? ", " : "") + (k == i ? std::string("-1")
                                  : all.size() == to.rank() + 1
                                      ? context.quote(all[k + 1].where)
                                      : axisText(to.extents[k], to.dims[k]));
      break;
    }
    diagnostic.setFix(name + ".reshape(" + fix + ")");
    return failure();
  };
  std::string counts = std::to_string(haveFactor) + " elements do not fill " +
                       (inferred < 0 ? std::to_string(wantFactor)
                                     : "rows of " + std::to_string(wantFactor));
  if (inferred >= 0) {
    if (have.empty() && want.empty()) {
      if (wantFactor == 0 || haveFactor % wantFactor != 0)
        return refuse(counts);
      to.extents[inferred] = Extent::get(haveFactor / wantFactor);
    } else if (want.empty() && wantFactor != 0 &&
               haveFactor % wantFactor == 0) {
      to.extents[inferred] = elements(have, haveFactor / wantFactor);
      if (have.size() == 1 && haveFactor == wantFactor)
        to.dims[inferred] = haveDims[0];
    } else {
      mlir::Value total = graph::materialize(context.builder, location,
                                             elements(have, haveFactor));
      mlir::Value others = graph::materialize(context.builder, location,
                                              elements(want, wantFactor));
      mlir::Value size =
          emit("gir.floordiv", location, total.getType(), {total, others});
      mlir::Value product =
          emit("gir.mul", location, total.getType(), {size, others});
      checkEqual(total, product,
                 call.name + " of " + name +
                     ": {lhs} elements do not fill the given sizes",
                 location);
      to.extents[inferred] = graph::getExtent(size);
    }
  } else if (have.empty() && want.empty()) {
    if (haveFactor != wantFactor)
      return refuse(counts);
  } else {
    mlir::Value total = graph::materialize(context.builder, location,
                                           elements(have, haveFactor));
    mlir::Value product = graph::materialize(context.builder, location,
                                             elements(want, wantFactor));
    checkEqual(total, product,
               call.name + " of " + name + ": {lhs} elements do not fill {rhs}",
               location);
  }
  return makeResult(reshapeTo(input->ssa, to, location), input->dtype, to);
}

ValueResult TensorOps::callFlatten(const NamedCall &call) {
  FailureOr<BoundArguments> args =
      bind(call, {"input", "start_dim", "end_dim"}, 1);
  if (failed(args))
    return failure();
  FailureOr<SemaValue> input = tensorOperand(*(*args)[0], call.name);
  if (failed(input))
    return failure();
  int64_t first = 0, last = rankOf(*input) - 1;
  for (size_t i : {1, 2}) {
    if (!(*args)[i])
      continue;
    FailureOr<int64_t> given = axis(*(*args)[i], *input);
    if (failed(given))
      return failure();
    (i == 1 ? first : last) = *given;
  }
  if (first > last && rankOf(*input) > 0)
    return fail(call.site.range,
                "flatten from axis " + std::to_string(first) + " to axis " +
                    std::to_string(last),
                "start_dim=0, end_dim=-1");
  TensorShape from = shapeOf(*input), to;
  for (int64_t i = 0; i < first; ++i)
    to.append(from, i);
  if (last >= first)
    to.push_back(productExtent(
        ArrayRef<Extent>(from.extents).slice(first, last - first + 1),
        loc(call.site)));
  else
    to.push_back(Extent::get(1));
  for (size_t i = last + 1; i < from.rank(); ++i)
    to.append(from, i);
  return makeResult(reshapeTo(input->ssa, to, loc(call.site)), input->dtype,
                    to);
}

ValueResult TensorOps::callUnsqueeze(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"input", "dim"}, 2);
  if (failed(args))
    return failure();
  ValueResult input = operand(*(*args)[0], call.name);
  if (failed(input))
    return failure();
  FailureOr<int64_t> where = axis(*(*args)[1], *input, /*extra=*/1);
  if (failed(where))
    return failure();
  TensorShape from = shapeOf(*input), to;
  for (int64_t i = 0; i <= int64_t(from.rank()); ++i) {
    if (i == *where)
      to.push_back(Extent::get(1));
    if (i < int64_t(from.rank()))
      to.append(from, i);
  }
  mlir::Value value =
      input->ssa ? input->ssa : convert(*input, DType::FP32, loc(call.site));
  DType dtype = input->ssa ? input->dtype : DType::FP32;
  return makeResult(reshapeTo(value, to, loc(call.site)), dtype, to);
}

ValueResult TensorOps::callSqueeze(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"input", "dim"}, 1);
  if (failed(args))
    return failure();
  FailureOr<SemaValue> input = tensorOperand(*(*args)[0], call.name);
  if (failed(input))
    return failure();
  TensorShape from = shapeOf(*input), to;
  SmallVector<int64_t> gone;
  if ((*args)[1]) {
    FailureOr<SmallVector<int64_t>> given = axes((*args)[1], *input);
    if (failed(given))
      return failure();
    gone = *given;
    for (int64_t i : gone)
      if (!from.extents[i].isConstant(1))
        return fail((*args)[1]->where,
                    "squeeze drops axes of size 1, but axis " +
                        std::to_string(i) + " of " +
                        nameOf(*input, (*args)[0]->expr) + " is " +
                        axisText(from.extents[i], from.dims[i]),
                    nameOf(*input, (*args)[0]->expr) +
                        ", or [..., 0] for one position of the axis");
  } else {
    for (size_t i = 0; i < from.rank(); ++i)
      if (from.extents[i].isConstant(1))
        gone.push_back(i);
  }
  for (size_t i = 0; i < from.rank(); ++i)
    if (!llvm::is_contained(gone, int64_t(i)))
      to.append(from, i);
  return makeResult(reshapeTo(input->ssa, to, loc(call.site)), input->dtype,
                    to);
}

ValueResult TensorOps::callExpand(const NamedCall &call) {
  const std::vector<CallArgument> &all = call.arguments.arguments;
  if (all.empty())
    return fail(call.site.range, call.name + " needs a tensor and sizes",
                "x." + call.name + "(M, -1)");
  for (const CallArgument &argument : all)
    if (!argument.keyword.empty() && argument.keyword != "input" &&
        argument.keyword != "shape" && argument.keyword != "size")
      return fail(argument.where,
                  call.name + " has no argument '" + argument.keyword +
                      "'; it takes sizes",
                  "x." + call.name + "(M, -1)");
  ValueResult input = operand(all[0], call.name);
  if (failed(input))
    return failure();
  std::string name = nameOf(*input, all[0].expr);
  // -1 keeps an axis, and may stand more than once.
  std::vector<CallArgument> given =
      flattenTuple(ArrayRef<CallArgument>(all).drop_front());
  TensorShape from = shapeOf(*input), to;
  if (given.size() < from.rank())
    return fail(call.site.range,
                call.name + " of " + name + " " + shapeText(from) +
                    " needs at least " + std::to_string(from.rank()) +
                    " sizes, but has " + std::to_string(given.size()),
                name + "." + call.name + "(" +
                    std::string(from.rank() > 1 ? "-1, " : "") + "-1)");
  size_t added = given.size() - from.rank();
  Location location = loc(call.site);
  for (auto [i, argument] : llvm::enumerate(given)) {
    FailureOr<SmallVector<SizeArgument>> size =
        sizeArguments(argument, call.name);
    if (failed(size))
      return failure();
    SizeArgument &one = size->front();
    if (i < added) {
      if (one.inferred)
        return fail(argument.where,
                    call.name + ": -1 keeps an axis, but axis " +
                        std::to_string(i) + " is new",
                    "1, or the size of the new axis");
      to.push_back(one.extent, one.dim);
      continue;
    }
    size_t own = i - added;
    if (one.inferred) {
      to.append(from, own);
      continue;
    }
    if (!from.extents[own].isConstant(1) &&
        agree(from.extents[own], from.dims[own], one.extent, one.dim,
              call.name + ": axis " + std::to_string(own) + " of " + name +
                  " is {lhs}, not {rhs}",
              location) == Agreement::Differ)
      return fail(argument.where,
                  call.name + ": axis " + std::to_string(own) + " of " + name +
                      " is " + axisText(from.extents[own], from.dims[own]) +
                      ", so it cannot become " + axisText(one.extent, one.dim),
                  "-1");
    to.push_back(one.extent, one.dim);
  }
  mlir::Value value =
      input->ssa ? input->ssa : convert(*input, DType::FP32, location);
  DType dtype = input->ssa ? input->dtype : DType::FP32;
  return makeResult(broadcastTo(value, to, location), dtype, to);
}

//===----------------------------------------------------------------------===//
// Joining and picking
//===----------------------------------------------------------------------===//

ValueResult TensorOps::callCat(const NamedCall &call) {
  bool stacks = call.name == "stack";
  if (failed(checkOneTuple(call)))
    return failure();
  FailureOr<BoundArguments> args = bind(call, {"tensors", "dim"}, 1);
  if (failed(args))
    return failure();
  if ((*args)[0]->value.kind != ValueKind::Tuple ||
      (*args)[0]->value.elements.empty())
    return fail((*args)[0]->where, call.name + " needs a list of tensors",
                "tsr." + call.name + "([a, b], dim=0)");
  std::vector<SemaValue> inputs;
  SmallVector<std::string> names;
  auto *list = dynCast<List>((*args)[0]->expr);
  auto *tuple = dynCast<Tuple>((*args)[0]->expr);
  for (const CallArgument &argument : flattenTuple(*(*args)[0])) {
    FailureOr<SemaValue> tensor = tensorOperand(argument, call.name);
    if (failed(tensor))
      return failure();
    size_t i = inputs.size();
    const Expr *expr = list && i < list->elts.size()     ? list->elts[i]
                       : tuple && i < tuple->elts.size() ? tuple->elts[i]
                                                         : nullptr;
    inputs.push_back(*tensor);
    names.push_back(nameOf(*tensor, expr));
  }
  FailureOr<Promotion> common = promoteAll(inputs, names, call.name, call.site);
  if (failed(common))
    return failure();
  int64_t along = 0;
  if ((*args)[1]) {
    FailureOr<int64_t> given = axis(*(*args)[1], inputs[0], stacks);
    if (failed(given))
      return failure();
    along = *given;
  }
  Location location = loc(call.site);
  TensorShape first = shapeOf(inputs[0]);
  SmallVector<mlir::Value> values;
  SmallVector<Extent> joined;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    TensorShape shape = shapeOf(input);
    if (shape.rank() != first.rank())
      return fail(call.site.range,
                  call.name + " needs equal ranks: " + names[0] + " is " +
                      describeShape(inputs[0]) + ", " + names[i] + " is " +
                      describeShape(input),
                  shape.rank() < first.rank() ? names[i] + ".unsqueeze(0)"
                                              : names[0] + ".unsqueeze(0)");
    for (size_t k = 0; k < shape.rank(); ++k) {
      if (!stacks && int64_t(k) == along)
        continue;
      if (agree(first.extents[k], first.dims[k], shape.extents[k],
                shape.dims[k],
                call.name + ": axis " + std::to_string(k) + " of " + names[0] +
                    " is {lhs}, of " + names[i] + " {rhs}",
                location) == Agreement::Differ) {
        Diagnostic &diagnostic = context.error(
            call.site.range,
            call.name + " along axis " + std::to_string(along) +
                " needs the other axes equal: axis " + std::to_string(k) +
                " of " + names[0] + " is " +
                axisText(first.extents[k], first.dims[k]) + ", of " + names[i] +
                " " + axisText(shape.extents[k], shape.dims[k]));
        noteOrigin(diagnostic, inputs[0], names[0]);
        diagnostic.setFix("dim=" + std::to_string(k));
        noteOrigin(diagnostic, input, names[i]);
        return failure();
      }
    }
    if (!stacks && shape.rank() == 0)
      return fail(call.site.range,
                  call.name + " needs an axis, but " + names[i] + " has none",
                  "tsr.stack");
    mlir::Value value = convert(input, common->dtype, location);
    if (stacks) {
      TensorShape wider;
      for (int64_t k = 0; k <= int64_t(shape.rank()); ++k) {
        if (k == along)
          wider.push_back(Extent::get(1));
        if (k < int64_t(shape.rank()))
          wider.append(shape, k);
      }
      value = reshapeTo(value, wider, location);
      joined.push_back(Extent::get(1));
    } else {
      joined.push_back(shape.extents[along]);
    }
    values.push_back(value);
  }
  // The sum of the joined extents.
  int64_t sum = 0;
  mlir::Value dynamic;
  for (const Extent &extent : joined) {
    if (extent.isConstant()) {
      sum += extent.constant;
      continue;
    }
    mlir::Value size = graph::materialize(context.builder, location, extent);
    dynamic = dynamic
                  ? emit("gir.add", location, size.getType(), {dynamic, size})
                  : size;
  }
  if (dynamic && sum)
    dynamic = emit("gir.add", location, dynamic.getType(),
                   {dynamic, constant(location, sum)});
  TensorShape result;
  for (int64_t k = 0, e = first.rank() + stacks; k < e; ++k) {
    if (k == along)
      result.push_back(dynamic ? graph::getExtent(dynamic) : Extent::get(sum));
    else
      result.append(first, stacks && k > along ? k - 1 : k);
  }
  mlir::Value value =
      emit("gir.concat", location, typeOf(result, common->dtype), values,
           attr("axis", along));
  return makeResult(value, common->dtype, result);
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

ValueResult TensorOps::callFull(const NamedCall &call) {
  std::vector<CallArgument> sizes;
  DType dtype = DType::FP32;
  bool hasDType = false;
  SemaValue fill = SemaValue::makeConstant(call.name == "ones" ? 1.0 : 0.0);
  for (const CallArgument &argument : call.arguments.arguments) {
    if (argument.keyword == "dtype") {
      FailureOr<DType> given = getDTypeArgument(context, argument);
      if (failed(given))
        return failure();
      dtype = *given;
      hasDType = true;
    } else if (argument.keyword.empty() || argument.keyword == "size") {
      sizes.push_back(argument);
    } else {
      return fail(argument.where,
                  call.name + " has no argument '" + argument.keyword +
                      "'; it takes sizes and dtype=",
                  "tsr." + call.name + "(M, N, dtype=fp32)");
    }
  }
  if (call.name == "full") {
    // full(v, m, n), or torch's full((m, n), v).
    if (sizes.size() < 1)
      return fail(call.site.range, "full needs a value and sizes",
                  "tsr.full(0.0, M, N)");
    size_t at = sizes[0].value.kind == ValueKind::Tuple ? 1 : 0;
    if (at >= sizes.size() || !sizes[at].value.isNumber())
      return fail(call.site.range, "full needs a number to fill with",
                  "tsr.full(0.0, M, N)");
    ValueResult value = operand(sizes[at], "full");
    if (failed(value))
      return failure();
    fill = *value;
    sizes.erase(sizes.begin() + at);
    if (!hasDType && !fill.weak && fill.isScalar())
      dtype = fill.dtype;
  }
  FailureOr<SmallVector<SizeArgument>> given = sizeArguments(sizes, call.name);
  if (failed(given))
    return failure();
  TensorShape shape;
  for (const SizeArgument &size : *given) {
    if (size.inferred)
      return fail(size.where, call.name + ": a size cannot be -1",
                  "M, or a number");
    shape.push_back(size.extent, size.dim);
  }
  if (failed(checkFill(fill, dtype, call)))
    return failure();
  Location location = loc(call.site);
  mlir::Value value = convert(fill, dtype, location);
  return makeResult(broadcastTo(value, shape, location), dtype, shape);
}

LogicalResult TensorOps::checkFill(const SemaValue &fill, DType dtype,
                                   const NamedCall &call) {
  std::string misfit =
      fill.isConstant() ? findMisfit(fill.constant, dtype) : std::string();
  checkFits(fill, nameOf(fill, nullptr), dtype, loc(call.site));
  if (misfit.empty())
    return success();
  return fail(call.site.range, call.name + ": " + misfit,
              std::string("dtype=") + getDTypeName(getWiderDType(dtype)));
}

ValueResult TensorOps::callFullLike(const NamedCall &call) {
  bool isFull = call.name == "full_like";
  SmallVector<llvm::StringRef> parameters = {"input"};
  if (isFull)
    parameters.push_back("fill_value");
  parameters.push_back("*dtype");
  FailureOr<BoundArguments> args = bind(call, parameters, isFull ? 2 : 1);
  if (failed(args))
    return failure();
  FailureOr<SemaValue> input = tensorOperand(*(*args)[0], call.name);
  if (failed(input))
    return failure();
  DType dtype = input->dtype;
  if (const CallArgument *given = args->back()) {
    FailureOr<DType> other = getDTypeArgument(context, *given);
    if (failed(other))
      return failure();
    dtype = *other;
  }
  SemaValue fill =
      SemaValue::makeConstant(call.name == "ones_like" ? 1.0 : 0.0);
  if (isFull) {
    ValueResult value = operand(*(*args)[1], call.name);
    if (failed(value))
      return failure();
    fill = *value;
  }
  if (failed(checkFill(fill, dtype, call)))
    return failure();
  Location location = loc(call.site);
  TensorShape shape = shapeOf(*input);
  return makeResult(
      broadcastTo(convert(fill, dtype, location), shape, location), dtype,
      shape);
}

ValueResult TensorOps::callArange(const NamedCall &call) {
  FailureOr<BoundArguments> args =
      bind(call, {"start", "end", "step", "*dtype"}, 1);
  if (failed(args))
    return failure();
  DType dtype = DType::I64;
  if ((*args)[3]) {
    FailureOr<DType> given = getDTypeArgument(context, *(*args)[3]);
    if (failed(given))
      return failure();
    dtype = *given;
  }
  Location location = loc(call.site);
  std::vector<SemaValue> bounds;
  for (size_t i : {0, 1, 2}) {
    if (!(*args)[i])
      continue;
    const CallArgument &argument = *(*args)[i];
    ValueResult value = operand(argument, "arange");
    if (failed(value))
      return failure();
    if (!value->isNumber() || !isInteger(value->getPromotionOperand().dtype))
      return fail(argument.where,
                  "arange needs ints, but " + context.quote(argument.where) +
                      " is " + describe(argument.value),
                  "tsr.arange(n)");
    bounds.push_back(*value);
  }
  auto sizeOf = [&](const SemaValue &value) {
    return graph::getExtent(convert(value, DType::I64, location));
  };
  TensorShape shape;
  Dim *dim = nullptr;
  Extent size;
  SemaValue start = SemaValue::makeConstant(int64_t(0));
  int64_t step = 1;
  if (bounds.size() == 1) {
    size = sizeOf(bounds[0]);
    if ((*args)[0]->value.kind == ValueKind::Dim)
      dim = (*args)[0]->value.dim;
    if (size.isConstant() && size.constant < 0)
      size = Extent::get(0);
  } else {
    if (bounds.size() == 3) {
      std::optional<int64_t> given = bounds[2].getConstantInt();
      if (!given || *given == 0)
        return fail((*args)[2]->where,
                    "the step of arange is a constant int other than 0",
                    "tsr.arange(0, n, 1)");
      step = *given;
    }
    start = bounds[0];
    // ceil((end - start) / step), at least 0
    mlir::Value first = convert(start, DType::I64, location);
    mlir::Value last = convert(bounds[1], DType::I64, location);
    Type type = first.getType();
    mlir::Value length = emit("gir.sub", location, type, {first, last});
    length = emit("gir.floordiv", location, type,
                  {length, constant(location, step)});
    length = emit("gir.neg", location, type, length);
    length = emit("gir.maximum", location, type,
                  {length, constant(location, int64_t(0))});
    size = graph::getExtent(length);
  }
  shape.push_back(size, dim);
  mlir::Value value = emit("gir.arange", location, typeOf(shape, DType::I64),
                           graph::materialize(context.builder, location, size));
  SemaValue result = makeResult(value, DType::I64, shape);
  for (auto [op, number] :
       {std::pair(BinaryOperator::Mult, SemaValue::makeConstant(step)),
        std::pair(BinaryOperator::Add, start)}) {
    bool isIdentity =
        number.getConstantInt() == (op == BinaryOperator::Mult ? 1 : 0);
    if (isIdentity)
      continue;
    ValueResult next = binary(op, result, number, call.site);
    if (failed(next))
      return failure();
    result = *next;
  }
  if (dtype == DType::I64)
    return result;
  return cast(result, dtype, "rn", call.site);
}

ValueResult TensorOps::callSize(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"input", "dim"}, 1);
  if (failed(args))
    return failure();
  FailureOr<SemaValue> input = tensorOperand(*(*args)[0], call.name);
  if (failed(input))
    return failure();
  if (call.name == "dim" && (*args)[1])
    return fail(call.site.range,
                "dim() is the number of axes and takes no axis",
                context.quote((*args)[0]->where) + ".shape[" +
                    context.quote((*args)[1]->where) + "]");
  if (call.name == "dim")
    return SemaValue::makeConstant(rankOf(*input));
  Location location = loc(call.site);
  if (call.name == "numel") {
    Extent all = productExtent(shapeOf(*input).extents, location);
    if (all.isConstant())
      return SemaValue::makeConstant(all.constant);
    return SemaValue::makeScalar(
        graph::materialize(context.builder, location, all), DType::I64, true);
  }
  if (!(*args)[1])
    return attribute(*input, "shape", call.site);
  FailureOr<int64_t> which = axis(*(*args)[1], *input);
  if (failed(which))
    return failure();
  return sizeValue(*input, *which, location);
}

} // namespace tessera::frontend
