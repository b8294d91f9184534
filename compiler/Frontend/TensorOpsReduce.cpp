//===- TensorOpsReduce.cpp - Reductions, scans, softmax, norms, losses ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TensorOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using tessera::graph::Extent;

namespace tessera::frontend {

/// The accumulate dtype of @tsr.accum, if the program has one.
static std::optional<DType> getAccumulate(const SemaContext &context) {
  if (context.accum.isDType())
    return context.accum.asDType();
  return std::nullopt;
}

void TensorOps::addAccumulate(SmallVectorImpl<NamedAttribute> &attributes,
                              DType input) {
  std::optional<DType> accumulate = getAccumulate(context);
  if (accumulate && isFloat(input))
    attributes.push_back(
        attr("accumulate", TypeAttr::get(elementType(*accumulate))));
}

ValueResult TensorOps::reduce(llvm::StringRef kind, const SemaValue &input,
                              ArrayRef<int64_t> axes, bool keep, DType result,
                              int64_t correction, const OpSite &site) {
  Location location = loc(site);
  TensorShape from = shapeOf(input), left, kept;
  for (size_t i = 0; i < from.rank(); ++i) {
    if (llvm::is_contained(axes, int64_t(i))) {
      kept.push_back(Extent::get(1));
      continue;
    }
    left.append(from, i);
    kept.append(from, i);
  }
  SmallVector<NamedAttribute> attributes;
  attributes.push_back(attr(
      "kind", graph::ReduceKindAttr::get(context.getContext(),
                                         *graph::symbolizeReduceKind(kind))));
  attributes.push_back(
      attr("axes", context.builder.getDenseI64ArrayAttr(axes)));
  if (kind == "var")
    attributes.push_back(attr("correction", correction));
  addAccumulate(attributes, input.dtype);
  mlir::Value value =
      emit("gir.reduce", location, typeOf(left, result), input.ssa, attributes);
  if (!keep)
    return makeResult(value, result, left);
  return makeResult(reshapeTo(value, kept, location), result, kept);
}

/// tsr.max(x, 0).mean(): what is reduced to one number has no mean of its own.
void TensorOps::remarkOneNumber(const NamedCall &call, const Expr *expr) {
  auto *inner = dynCast<Call>(expr);
  auto *callee = inner ? dynCast<Attribute>(inner->func) : nullptr;
  bool isPair = callee && inner->args.size() == 2 &&
                is<Constant>(inner->args[1]) &&
                (callee->attr == "max" || callee->attr == "min") &&
                context.quote(callee->value->range) == "tsr";
  if (!isPair)
    return;
  InFlightDiagnostic remark = emitRemark(context.loc(expr->range));
  remark << context.quote(expr->range) << " is along axis "
         << context.quote(inner->args[1]->range)
         << ", so it is one number, and its " << call.name << " is that number";
  remark.attachNote() << "fix: tsr." << callee->attr << "imum("
                      << context.quote(inner->args[0]->range) << ", "
                      << context.quote(inner->args[1]->range) << ")";
}

ValueResult TensorOps::callReduce(const NamedCall &call) {
  llvm::StringRef kind = call.name;
  bool isArg = kind.starts_with("arg");
  // max(a, b) of numbers is the larger; tsr.max(x, n) is by axis.
  const std::vector<CallArgument> &given = call.arguments.arguments;
  if ((kind == "max" || kind == "min") && given.size() == 2 &&
      given[1].keyword.empty() &&
      (given[1].value.isTensor() || given[0].value.isNumber())) {
    NamedCall pair = call;
    pair.name = kind == "max" ? "maximum" : "minimum";
    return callBinary(pair);
  }
  SmallVector<llvm::StringRef> parameters = {"input", "dim", "keepdim"};
  if (kind == "var")
    parameters.push_back("*correction");
  FailureOr<BoundArguments> args = bind(call, parameters, 1);
  if (failed(args))
    return failure();
  FailureOr<SemaValue> input = tensorOperand(*(*args)[0], kind);
  if (failed(input))
    return failure();
  std::string name = nameOf(*input, (*args)[0]->expr);
  if (input->isTensor() && rankOf(*input) == 0 &&
      (kind == "mean" || kind == "sum"))
    remarkOneNumber(call, (*args)[0]->expr);
  // max(x, 0.0) of two values is maximum.
  if (const CallArgument *over = (*args)[1];
      over && (kind == "max" || kind == "min")) {
    const SemaValue &value = over->value;
    bool beside =
        value.isTensor() || (value.isConstant() && value.constant.isFloat());
    if (beside)
      return fail(getValueRange(*over),
                  call.name + " is over an axis, an int or a dim, but " +
                      quoteValue(context, *over) + " is " + describe(value) +
                      "; tsr." + kind.str() + "imum is of two values",
                  "tsr." + kind.str() + "imum(" +
                      context.quote((*args)[0]->where) + ", " +
                      quoteValue(context, *over) + ")");
  }
  FailureOr<SmallVector<int64_t>> which = axes((*args)[1], *input);
  FailureOr<bool> keep = flag((*args)[2], false, "keepdim");
  if (failed(which) || failed(keep))
    return failure();
  if (const CallArgument *over = (*args)[1];
      over && which->empty() && rankOf(*input) > 0)
    return fail(getValueRange(*over),
                call.name + " over no axis: torch takes dim=() for all of "
                            "them, NumPy axis=() for none",
                "dim=None");
  int64_t correction = 1;
  if (kind == "var" && (*args)[3]) {
    FailureOr<int64_t> value =
        getConstantInt(context, *(*args)[3], "correction");
    if (failed(value))
      return failure();
    correction = *value;
  }

  Location location = loc(call.site);
  DType result = input->dtype;
  if (kind == "mean" || kind == "var" || kind == "logsumexp") {
    ValueResult checked = requireFloat(*input, name, kind, call.site);
    if (failed(checked))
      return failure();
  } else if (kind == "any" || kind == "all") {
    if (input->dtype != DType::Bool) {
      ValueResult truth =
          compare(CompareOperator::NotEq, *input,
                  SemaValue::makeConstant(int64_t(0)), call.site);
      if (failed(truth))
        return failure();
      input = *truth;
    }
    result = DType::Bool;
  } else if (input->dtype == DType::Bool) {
    // Counting needs numbers.
    if (kind == "sum" || kind == "prod") {
      ValueResult count = cast(*input, DType::I64, "rn", call.site);
      if (failed(count))
        return failure();
      input = *count;
      result = DType::I64;
    } else if (!isArg) {
      return fail(call.site.range,
                  kind.str() + " of bool: " + name + " is " +
                      describeShape(*input),
                  name + (kind == "max" ? ".any()" : ".all()"));
    }
  }
  if (isArg) {
    result = DType::I64;
    bool whole = !(*args)[1] || (*args)[1]->value.isNone();
    if (which->size() != 1 && !whole)
      return fail((*args)[1]->where, kind.str() + " takes one axis", "dim=-1");
    if (which->size() != 1) {
      // Of the whole tensor: a position in row-major order.
      TensorShape flat;
      flat.push_back(productExtent(shapeOf(*input).extents, location));
      input =
          makeResult(reshapeTo(input->ssa, flat, location), input->dtype, flat);
      which = SmallVector<int64_t>{0};
      if (*keep)
        return fail((*args)[2]->where, "keepdim needs an axis", "dim=-1");
    }
    // No position is the right one, as in torch.
    Extent extent = graph::getExtent(input->ssa, which->front());
    std::string nothing = kind.str() + " of " + name + ": axis " +
                          std::to_string(which->front()) + " has no elements";
    if (extent.isConstant() && extent.constant == 0)
      return fail(call.site.range, nothing, "an axis of size 1 or more");
    if (!extent.isConstant()) {
      mlir::Value size = graph::materialize(context.builder, location, extent);
      checkEqual(emit("gir.maximum", location, size.getType(),
                      {size, constant(location, int64_t(1))}),
                 size, escapeBraces(nothing), location);
    }
  }
  return reduce(kind, *input, *which, *keep, result, correction, call.site);
}

ValueResult TensorOps::callScan(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"input", "dim"}, 2);
  if (failed(args))
    return failure();
  FailureOr<SemaValue> input = tensorOperand(*(*args)[0], call.name);
  if (failed(input))
    return failure();
  FailureOr<int64_t> along = axis(*(*args)[1], *input);
  if (failed(along))
    return failure();
  DType dtype = input->dtype;
  if (dtype == DType::Bool) {
    ValueResult count = cast(*input, DType::I64, "rn", call.site);
    if (failed(count))
      return failure();
    input = *count;
    dtype = DType::I64;
  }
  graph::ReduceKind kind = call.name == "cumsum"    ? graph::ReduceKind::Sum
                           : call.name == "cumprod" ? graph::ReduceKind::Prod
                                                    : graph::ReduceKind::Max;
  TensorShape shape = shapeOf(*input);
  SmallVector<NamedAttribute> attributes = {
      attr("kind", graph::ReduceKindAttr::get(context.getContext(), kind)),
      attr("axis", *along)};
  addAccumulate(attributes, dtype);
  mlir::Value result = emit("gir.scan", loc(call.site), input->ssa.getType(),
                            input->ssa, attributes);
  return makeResult(result, dtype, shape);
}

ValueResult TensorOps::callSoftmax(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"input", "dim"}, 1);
  if (failed(args))
    return failure();
  FailureOr<SemaValue> input = tensorOperand(*(*args)[0], call.name);
  if (failed(input))
    return failure();
  ValueResult checked = requireFloat(*input, nameOf(*input, (*args)[0]->expr),
                                     call.name, call.site);
  if (failed(checked))
    return failure();
  int64_t along = rankOf(*input) - 1;
  if ((*args)[1]) {
    FailureOr<int64_t> given = axis(*(*args)[1], *input);
    if (failed(given))
      return failure();
    along = *given;
  }
  if (along < 0)
    return fail(call.site.range,
                call.name + " needs an axis, but " +
                    nameOf(*input, (*args)[0]->expr) + " has none",
                "a tensor of one axis or more, and dim=-1");
  SmallVector<NamedAttribute> attributes = {attr("axis", along)};
  if (call.name == "log_softmax")
    attributes.push_back(unit("log"));
  addAccumulate(attributes, input->dtype);
  mlir::Value result = emit("gir.softmax", loc(call.site), input->ssa.getType(),
                            input->ssa, attributes);
  return makeResult(result, input->dtype, shapeOf(*input));
}

/// torch's default of rms_norm: the distance from 1 to the next number.
static double machineEpsilon(DType dtype) {
  switch (dtype) {
  case DType::FP64:
    return 0x1p-52;
  default:
    return 0x1p-23;
  }
}

ValueResult TensorOps::callNorm(const NamedCall &call) {
  bool rms = call.name == "rms_norm";
  // layer_norm(x, weight, bias) or torch's layer_norm(x, shape, weight, bias).
  const std::vector<CallArgument> &given = call.arguments.arguments;
  bool hasShape = given.size() > 1 && given[1].keyword.empty() &&
                  !given[1].value.isTensor();
  for (const CallArgument &argument : given)
    hasShape |= argument.keyword == "normalized_shape";
  SmallVector<llvm::StringRef> parameters = {"input"};
  if (hasShape)
    parameters.push_back("normalized_shape");
  parameters.push_back("weight");
  if (!rms)
    parameters.push_back("bias");
  parameters.push_back("eps");
  FailureOr<BoundArguments> args = bind(call, parameters, 1);
  if (failed(args))
    return failure();
  auto get = [&](llvm::StringRef name) -> const CallArgument * {
    auto *found = llvm::find(parameters, name);
    if (found == parameters.end())
      return nullptr;
    const CallArgument *argument = (*args)[found - parameters.begin()];
    return argument && !argument->value.isNone() ? argument : nullptr;
  };
  FailureOr<SemaValue> input = tensorOperand(*(*args)[0], call.name);
  if (failed(input))
    return failure();
  std::string name = nameOf(*input, (*args)[0]->expr);
  if (failed(requireFloat(*input, name, call.name, call.site)))
    return failure();
  TensorShape shape = shapeOf(*input);
  FailureOr<double> eps =
      number(get("eps"), rms ? machineEpsilon(input->dtype) : 1e-5, "eps");
  if (failed(eps))
    return failure();

  Location location = loc(call.site);
  size_t count = 1;
  if (const CallArgument *normalized = get("normalized_shape")) {
    FailureOr<SmallVector<SizeArgument>> sizes =
        sizeArguments(*normalized, call.name);
    if (failed(sizes))
      return failure();
    count = sizes->size();
    for (auto [i, size] : llvm::enumerate(*sizes)) {
      if (count > shape.rank())
        break;
      size_t axis = shape.rank() - count + i;
      if (agree(shape.extents[axis], shape.dims[axis], size.extent, size.dim,
                call.name + ": axis " + std::to_string(axis) + " of " + name +
                    " is {lhs}, normalized_shape says {rhs}",
                location) == Agreement::Differ)
        return fail(
            normalized->where,
            call.name + " normalises " + axisText(size.extent, size.dim) +
                ", but axis " + std::to_string(axis) + " of " + name + " is " +
                axisText(shape.extents[axis], shape.dims[axis]),
            "(" + axisText(shape.extents[axis], shape.dims[axis]) + ",)");
    }
  } else if (const CallArgument *weight = get("weight")) {
    count = std::max<int64_t>(rankOf(weight->value), 1);
  }
  if (count == 0 || count > shape.rank())
    return fail(call.site.range,
                call.name + " over " + std::to_string(count) + " axes, but " +
                    name + " is " + describeShape(*input),
                "normalized_shape=(N,), the last axes");

  SmallVector<mlir::Value> values = {input->ssa};
  for (llvm::StringRef which : {"weight", "bias"}) {
    const CallArgument *argument = get(which);
    if (!argument) {
      if (which == "bias" || rms || !get("bias"))
        continue;
      return fail(get("bias")->where,
                  "layer_norm takes a bias only with a weight",
                  "weight=tsr.ones_like(bias), bias=...");
    }
    FailureOr<SemaValue> parameter = tensorOperand(*argument, call.name);
    if (failed(parameter))
      return failure();
    std::string own = nameOf(*parameter, argument->expr);
    TensorShape ownShape = shapeOf(*parameter);
    if (ownShape.rank() != count)
      return fail(argument->where,
                  call.name + " normalises " + std::to_string(count) +
                      (count == 1 ? " axis" : " axes") + " of " + name +
                      ", but its " + which.str() + " is " +
                      describeShape(*parameter),
                  which.str() + ": Tensor[...] with the normalised axes");
    if (parameter->dtype != input->dtype)
      return fail(argument->where,
                  call.name + " needs equal dtypes: " + name + " is " +
                      getDTypeName(input->dtype) + ", " + own + " is " +
                      getDTypeName(parameter->dtype),
                  asObject(own) + ".to(" + name + ".dtype)");
    for (size_t i = 0; i < count; ++i) {
      size_t axis = shape.rank() - count + i;
      if (agree(shape.extents[axis], shape.dims[axis], ownShape.extents[i],
                ownShape.dims[i],
                call.name + ": axis " + std::to_string(axis) + " of " + name +
                    " is {lhs}, axis " + std::to_string(i) + " of " + own +
                    " is {rhs}",
                location) == Agreement::Differ) {
        Diagnostic &diagnostic = context.error(
            argument->where,
            call.name + " joins axis " + std::to_string(axis) + " of " + name +
                " (" + axisText(shape.extents[axis], shape.dims[axis]) +
                ") with axis " + std::to_string(i) + " of " + own + " (" +
                axisText(ownShape.extents[i], ownShape.dims[i]) +
                "); they must be equal");
        noteOrigin(diagnostic, *input, name);
        noteOrigin(diagnostic, *parameter, own);
        if (shape.dims[axis])
          diagnostic.setFix(own + ": Tensor[\"" + shape.dims[axis]->name +
                            "\"]");
        return failure();
      }
    }
    values.push_back(parameter->ssa);
  }
  SmallVector<NamedAttribute> attributes = {
      attr("axes", int64_t(count)),
      attr("eps", context.builder.getF64FloatAttr(*eps))};
  if (rms)
    attributes.push_back(unit("rms"));
  addAccumulate(attributes, input->dtype);
  mlir::Value result = emit("gir.layer_norm", location, input->ssa.getType(),
                            values, attributes);
  return makeResult(result, input->dtype, shape);
}

/// A sum over rows divided by how many of them have a target that counts.
ValueResult TensorOps::perCounted(const SemaValue &sum,
                                  const SemaValue &targets, int64_t ignored,
                                  ArrayRef<int64_t> axes, const OpSite &site) {
  ValueResult counts = compare(CompareOperator::NotEq, targets,
                               SemaValue::makeConstant(ignored), site);
  if (succeeded(counts))
    counts = cast(*counts, DType::I64, "rn", site);
  if (succeeded(counts) && !axes.empty())
    counts = reduce("sum", *counts, axes, false, DType::I64, 1, site);
  if (succeeded(counts))
    counts = cast(*counts, sum.dtype, "rn", site);
  if (failed(counts))
    return failure();
  return binary(BinaryOperator::Div, sum, *counts, site);
}

ValueResult TensorOps::callCrossEntropy(const NamedCall &call) {
  FailureOr<BoundArguments> args =
      bind(call, {"input", "target", "*ignore_index", "*reduction"}, 2);
  if (failed(args))
    return failure();
  FailureOr<SemaValue> logits = tensorOperand(*(*args)[0], call.name);
  FailureOr<SemaValue> targets = tensorOperand(*(*args)[1], call.name);
  if (failed(logits) || failed(targets))
    return failure();
  std::string name = nameOf(*logits, (*args)[0]->expr);
  std::string targetName = nameOf(*targets, (*args)[1]->expr);
  if (isInteger(logits->dtype) && isFloat(targets->dtype) &&
      rankOf(*targets) == rankOf(*logits) + 1) {
    context
        .error(call.site.range,
               "cross_entropy takes the logits, then the targets: " + name +
                   " is " + describeShape(*logits) + ", " + targetName +
                   " is " + describeShape(*targets))
        .setFix("tsr.cross_entropy(" + targetName + ", " + name + ")");
    return failure();
  }
  if (failed(requireFloat(*logits, name, call.name, call.site)))
    return failure();
  // Floats of the logits' shape are probabilities, as torch has them.
  bool isSoft = isFloat(targets->dtype) && rankOf(*targets) == rankOf(*logits);
  if (!isInteger(targets->dtype))
    return fail(isSoft ? call.site.range : (*args)[1]->where,
                "cross_entropy takes class numbers as targets, but " +
                    targetName + " is " + describeShape(*targets),
                isSoft ? "-(" + targetName + " * tsr.log_softmax(" + name +
                             ", dim=1)).sum(dim=1).mean()"
                       : asObject(targetName) + ".to(i64)");
  std::string reduction = "mean";
  int64_t ignored = -100;
  if ((*args)[2]) {
    FailureOr<int64_t> given =
        getConstantInt(context, *(*args)[2], "ignore_index");
    if (failed(given))
      return failure();
    ignored = *given;
  }
  if ((*args)[3]) {
    FailureOr<std::string> given =
        getChoice(context, *(*args)[3], "reduction", {"mean", "sum", "none"});
    if (failed(given))
      return failure();
    reduction = *given;
  }
  // torch keeps the classes in axis 1; ours are last.
  int64_t rank = rankOf(*logits);
  if (rank == 0 || rankOf(*targets) != rank - 1)
    return fail(call.site.range,
                "cross_entropy needs one target per row of logits: " + name +
                    " is " + describeShape(*logits) + ", " + targetName +
                    " is " + describeShape(*targets),
                targetName + ": one class number per row, [M] for logits "
                             "[M, N]");
  if (rank > 2) {
    SmallVector<int64_t> permutation = {0};
    for (int64_t i = 2; i < rank; ++i)
      permutation.push_back(i);
    permutation.push_back(1);
    ValueResult moved = permute(*logits, permutation, call.site);
    if (failed(moved))
      return failure();
    logits = *moved;
  }
  TensorShape rows = shapeOf(*targets), all = shapeOf(*logits);
  for (size_t i = 0; i < rows.rank(); ++i)
    if (agree(all.extents[i], all.dims[i], rows.extents[i], rows.dims[i],
              "cross_entropy: axis " + std::to_string(i) + " of " + name +
                  " is {lhs}, of " + targetName + " {rhs}",
              loc(call.site)) == Agreement::Differ) {
      Diagnostic &diagnostic = context.error(
          call.site.range,
          "cross_entropy needs one target per row of logits: " + name + " is " +
              describeShape(*logits) + ", " + targetName + " is " +
              describeShape(*targets));
      noteOrigin(diagnostic, *logits, name);
      noteOrigin(diagnostic, *targets, targetName);
      diagnostic.setFix(targetName + " with the dim of the rows of " + name);
      return failure();
    }
  // The known one says more.
  for (size_t i = 0; i < rows.rank(); ++i)
    if (!rows.extents[i].isConstant() && all.extents[i].isConstant())
      rows.extents[i] = all.extents[i];
  DType wide =
      getAccumulate(context).value_or(getAccumulateDType(logits->dtype));
  checkIndices(*logits, name, *targets, targetName, all.rank() - 1,
               (*args)[1]->where, {/*wraps=*/false, ignored});
  SmallVector<NamedAttribute> attributes = {attr("ignored", ignored)};
  addAccumulate(attributes, logits->dtype);
  mlir::Value value =
      emit("gir.cross_entropy", loc(call.site), typeOf(rows, wide),
           {logits->ssa, targets->ssa}, attributes);
  ValueResult result = makeResult(value, wide, rows);
  if (reduction != "none") {
    SmallVector<int64_t> every;
    for (size_t i = 0; i < rows.rank(); ++i)
      every.push_back(i);
    if (!every.empty())
      result = reduce("sum", *result, every, false, wide, 1, call.site);
    if (succeeded(result) && reduction == "mean")
      result = perCounted(*result, *targets, ignored, every, call.site);
  }
  if (failed(result) || wide == logits->dtype)
    return result;
  return cast(*result, logits->dtype, "rn", call.site);
}

} // namespace tessera::frontend
