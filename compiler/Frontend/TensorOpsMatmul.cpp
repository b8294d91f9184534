//===- TensorOpsMatmul.cpp - Matrix products and attention ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/SemaImpl.h"
#include "compiler/Frontend/TensorOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using tessera::graph::Extent;

namespace tessera::frontend {

/// The product of queries and transposed keys that scores are made of, or null.
static graph::GemmOp findScores(mlir::Value value, int depth = 6) {
  Operation *op = value.getDefiningOp();
  if (auto gemm = dyn_cast_if_present<graph::GemmOp>(op))
    return gemm.getTransposeRhs() ||
                   gemm.getRhs().getDefiningOp<graph::TransposeOp>()
               ? gemm
               : graph::GemmOp();
  if (depth > 0 &&
      isa_and_present<graph::CastOp, graph::SelectOp, graph::AddOp,
                      graph::SubOp, graph::MulOp, graph::DivOp>(op))
    for (mlir::Value operand : op->getOperands())
      if (graph::GemmOp found = findScores(operand, depth - 1))
        return found;
  return {};
}

/// softmax(q @ k.T) @ v becomes one attention (RaiseAttention), which keeps a
/// head whole in a tile. On a GPU its size belongs to the version, as that of
/// `tsr.attention` does: variants for all sizes would include those that spill.
bool TensorOps::askForHeads(mlir::Value probabilities, mlir::Value values) {
  if (!context.request.versionPerHead || context.request.policy == "strict")
    return false;
  while (auto narrowed = probabilities.getDefiningOp<graph::CastOp>())
    probabilities = narrowed.getInput();
  auto softmax = probabilities.getDefiningOp<graph::SoftmaxOp>();
  auto scores = softmax ? findScores(softmax.getInput()) : graph::GemmOp();
  if (!scores)
    return false;
  auto last = [](mlir::Value value) {
    return llvm::cast<RankedTensorType>(value.getType()).getRank() - 1;
  };
  bool asked = askForSize(scores.getLhs(), last(scores.getLhs()));
  asked |= askForSize(values, last(values));
  return asked;
}

FailureOr<mlir::Value> TensorOps::gemm(mlir::Value lhs, mlir::Value rhs,
                                       const TensorShape &shape, DType dtype,
                                       const OpSite &site) {
  if (askForHeads(lhs, rhs))
    return failure();
  SmallVector<NamedAttribute> attributes;
  if (failed(checkAccumulate(context, dtype, site)))
    return failure();
  if (context.accum.isDType() && isFloat(dtype))
    attributes.push_back(attr(
        "accumulate", TypeAttr::get(elementType(context.accum.asDType()))));
  if (dtype == DType::FP32 && context.precision != "ieee")
    attributes.push_back(attr(
        "precision", StringAttr::get(context.getContext(), context.precision)));
  return emit("gir.gemm", loc(site), typeOf(shape, dtype), {lhs, rhs},
              attributes);
}

ValueResult TensorOps::matmul(const SemaValue &left, const SemaValue &right,
                              const SemaValue *, const OpSite &site) {
  const SemaValue *values[] = {&left, &right};
  const Expr *exprs[2];
  std::string names[2];
  for (size_t i : {0, 1}) {
    exprs[i] = i < site.operands.size() ? site.operands[i] : nullptr;
    names[i] = nameOf(*values[i], exprs[i]);
    if (!values[i]->isTensor() || rankOf(*values[i]) == 0)
      return fail(exprs[i] ? exprs[i]->range : site.range,
                  "@ needs tensors, but " + names[i] + " is " +
                      describe(*values[i]),
                  values[i]->isNumber() ? names[0] + " * " + names[1] : "");
  }
  if (left.dtype != right.dtype) {
    // Towards the narrower, as the operand of a matrix unit.
    bool convertLeft = getDTypeBits(left.dtype) > getDTypeBits(right.dtype);
    std::string lines[2];
    for (size_t i : {0, 1})
      if (values[i]->origin.isValid())
        lines[i] =
            " (line " + std::to_string(values[i]->origin.begin.line) + ")";
    size_t wide = convertLeft ? 0 : 1;
    std::string text = exprs[wide] ? context.parenthesize(exprs[wide])
                                   : names[wide],
                narrow = exprs[1 - wide] ? context.parenthesize(exprs[1 - wide])
                                         : names[1 - wide];
    Diagnostic &diagnostic = context.error(
        site.range, "@ needs equal dtypes: " + names[0] + " is " +
                        getDTypeName(left.dtype) + lines[0] + ", " + names[1] +
                        " is " + getDTypeName(right.dtype) + lines[1]);
    diagnostic.setFix(text + ".to(" + narrow + ".dtype)",
                      exprs[wide] ? exprs[wide]->range : SourceRange());
    const DType dtypes[2] = {left.dtype, right.dtype};
    leaveOutConversion(context, diagnostic, exprs, dtypes);
    return failure();
  }
  if (left.dtype == DType::Bool)
    return fail(
        site.range, "@ of bools: " + names[0] + " is " + describeShape(left),
        asObject(names[0]) + ".to(fp32) @ " + asObject(names[1]) + ".to(fp32)");

  Location location = loc(site);
  TensorShape a = shapeOf(left), b = shapeOf(right);
  size_t aK = a.rank() - 1, bK = b.rank() == 1 ? 0 : b.rank() - 2;
  std::string message = "@: axis " + std::to_string(aK) + " of " + names[0] +
                        " is {lhs}, axis " + std::to_string(bK) + " of " +
                        names[1] + " is {rhs}";
  if (agree(a.extents[aK], a.dims[aK], b.extents[bK], b.dims[bK], message,
            location) == Agreement::Differ) {
    Diagnostic &diagnostic = context.error(
        site.range, "@ joins axis " + std::to_string(aK) + " of " + names[0] +
                        " (" + axisText(a.extents[aK], a.dims[aK]) +
                        ") with axis " + std::to_string(bK) + " of " +
                        names[1] + " (" + axisText(b.extents[bK], b.dims[bK]) +
                        "); they must be equal");
    noteOrigin(diagnostic, left, names[0]);
    noteOrigin(diagnostic, right, names[1]);
    // A transpose that would make them fit, or none.
    auto operand = [&](const Expr *expr, const std::string &text) {
      bool binds = !expr || is<Name>(expr) || is<Attribute>(expr) ||
                   is<Subscript>(expr) || is<Call>(expr);
      return binds ? text : "(" + text + ")";
    };
    auto plain = [&](size_t i) { return operand(exprs[i], names[i]); };
    auto turned = [&](size_t i, size_t rank) {
      auto *of = exprs[i] && is<Attribute>(exprs[i])
                     ? checkedCast<Attribute>(exprs[i])
                     : nullptr;
      if (of && (of->attr == "T" || of->attr == "mT"))
        return operand(of->value, context.quote(of->value->range));
      return plain(i) + (rank == 2 ? ".T" : ".mT");
    };
    size_t last = b.rank() - 1;
    bool isSwapped = a.rank() >= 2 && b.rank() >= 2 &&
                     isProvedEqual(b.extents[last], b.dims[last],
                                   a.extents[aK - 1], a.dims[aK - 1]);
    bool isCall =
        exprs[0] && exprs[1] && site.range.begin < exprs[0]->range.begin;
    if (isSwapped && isCall)
      diagnostic.setFix(
          llvm::StringRef(context.quote(site.range)).split('(').first.str() +
          "(" + names[1] + ", " + names[0] + ")");
    else if (isSwapped)
      diagnostic.setFix(plain(1) + " @ " + plain(0));
    else if (b.rank() >= 2 && isProvedEqual(a.extents[aK], a.dims[aK],
                                            b.extents[last], b.dims[last]))
      diagnostic.setFix(plain(0) + " @ " + turned(1, b.rank()));
    else if (a.rank() >= 2 && isProvedEqual(a.extents[aK - 1], a.dims[aK - 1],
                                            b.extents[bK], b.dims[bK]))
      diagnostic.setFix(turned(0, a.rank()) + " @ " + plain(1));
    return failure();
  }

  // A vector is a matrix of one row (left) or one column (right); that axis is
  // dropped again at the end.
  mlir::Value lhs = left.ssa, rhs = right.ssa;
  bool leftVector = a.rank() == 1, rightVector = b.rank() == 1;
  if (leftVector) {
    TensorShape row;
    row.push_back(Extent::get(1));
    row.append(a, 0);
    lhs = reshapeTo(lhs, row, location);
    a = row;
  }
  if (rightVector) {
    TensorShape column;
    column.append(b, 0);
    column.push_back(Extent::get(1));
    rhs = reshapeTo(rhs, column, location);
    b = column;
  }
  size_t aRank = a.rank(), bRank = b.rank();
  TensorShape result, dropped;
  mlir::Value product;
  if (aRank > 2 && bRank == 2) {
    // x[..., K] @ w[K, N]: all rows of x at once, w is not repeated.
    TensorShape rows, flat;
    rows.push_back(
        productExtent(ArrayRef<Extent>(a.extents).drop_back(), location));
    rows.append(a, aRank - 1);
    flat.append(rows, 0);
    flat.append(b, 1);
    FailureOr<mlir::Value> value =
        gemm(reshapeTo(lhs, rows, location), rhs, flat, left.dtype, site);
    if (failed(value))
      return failure();
    for (size_t i = 0; i + 1 < aRank; ++i)
      result.append(a, i);
    result.append(b, 1);
    product = reshapeTo(*value, result, location);
  } else {
    // Batch axes broadcast as in any element-wise operation.
    TensorShape batchA, batchB;
    for (size_t i = 0; i + 2 < aRank; ++i)
      batchA.append(a, i);
    for (size_t i = 0; i + 2 < bRank; ++i)
      batchB.append(b, i);
    FailureOr<TensorShape> batch =
        broadcastShape({batchA, batchB}, {left, right}, names, "@", site);
    if (failed(batch))
      return failure();
    TensorShape wideA = *batch, wideB = *batch;
    wideA.append(a, aRank - 2);
    wideA.append(a, aRank - 1);
    wideB.append(b, bRank - 2);
    wideB.append(b, bRank - 1);
    result = *batch;
    result.append(a, aRank - 2);
    result.append(b, bRank - 1);
    FailureOr<mlir::Value> value =
        gemm(broadcastTo(lhs, wideA, location),
             broadcastTo(rhs, wideB, location), result, left.dtype, site);
    if (failed(value))
      return failure();
    product = *value;
  }
  if (!leftVector && !rightVector)
    return makeResult(product, left.dtype, result);
  for (size_t i = 0; i < result.rank(); ++i) {
    bool isRow = i + 2 == result.rank(), isColumn = i + 1 == result.rank();
    if (!(leftVector && isRow) && !(rightVector && isColumn))
      dropped.append(result, i);
  }
  return makeResult(reshapeTo(product, dropped, location), left.dtype, dropped);
}

ValueResult TensorOps::callMatmul(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"input", "other"}, 2);
  if (failed(args))
    return failure();
  OpSite site{call.site.range,
              call.site.nameRange,
              {(*args)[0]->expr, (*args)[1]->expr}};
  return matmul((*args)[0]->value, (*args)[1]->value, nullptr, site);
}

/// linear(x, weight, bias): x @ weight.T + bias, weight [out, in] as in torch.
ValueResult TensorOps::callLinear(const NamedCall &call) {
  FailureOr<BoundArguments> args = bind(call, {"input", "weight", "bias"}, 2);
  if (failed(args))
    return failure();
  FailureOr<SemaValue> weight = tensorOperand(*(*args)[1], "linear");
  if (failed(weight))
    return failure();
  if (rankOf(*weight) != 2)
    return fail((*args)[1]->where,
                "the weight of linear has axes [out, in], "
                "but " +
                    nameOf(*weight, (*args)[1]->expr) + " is " +
                    describeShape(*weight),
                "weight: Tensor[\"O\", \"I\"]");
  // JAX keeps weights as [in, out].
  FailureOr<SemaValue> rows = tensorOperand(*(*args)[0], "linear");
  if (failed(rows))
    return failure();
  TensorShape x = shapeOf(*rows), w = shapeOf(*weight);
  auto isK = [&](size_t axis) {
    return isProvedEqual(x.extents.back(), x.dims.back(), w.extents[axis],
                         w.dims[axis]);
  };
  if (x.rank() > 0 && !isK(1) && isK(0)) {
    std::string name = nameOf(*weight, (*args)[1]->expr);
    Diagnostic &diagnostic = context.error(
        (*args)[1]->where,
        "the weight of linear has axes [out, in], but " + name + " is " +
            describeShape(*weight) + ": the last axis of " +
            nameOf(*rows, (*args)[0]->expr) + " is its first");
    if (weight->origin.isValid())
      noteOrigin(diagnostic, *weight, name);
    diagnostic.setFix(asObject(name) + ".T");
    return failure();
  }
  ValueResult transposed = permute(*weight, {1, 0}, call.site);
  if (failed(transposed))
    return failure();
  transposed->origin = weight->origin;
  OpSite site{call.site.range,
              call.site.nameRange,
              {(*args)[0]->expr, (*args)[1]->expr}};
  ValueResult product = matmul((*args)[0]->value, *transposed, nullptr, site);
  if (failed(product) || !(*args)[2] || (*args)[2]->value.isNone())
    return product;
  OpSite sum{call.site.range, call.site.nameRange, {nullptr, (*args)[2]->expr}};
  product->name = "the product";
  return binary(BinaryOperator::Add, *product, (*args)[2]->value, sum);
}

/// Attention with a mask, written out.
static std::string getMaskedAttention(SemaContext &context,
                                      const BoundArguments &args,
                                      ArrayRef<std::string> names) {
  std::string mask = quoteValue(context, *args[3]);
  std::string scale =
      args[6] ? quoteValue(context, *args[6]) : names[0] + ".shape[-1] ** -0.5";
  std::string scores = names[0] + " @ " + names[1] + ".mT * " + scale;
  bool isBool =
      args[3]->value.isTensor() && args[3]->value.dtype == DType::Bool;
  return "tsr.softmax(" +
         (isBool ? "tsr.where(" + mask + ", " + scores + ", -tsr.inf)"
                 : scores + " + " + mask) +
         ", dim=-1) @ " + names[2];
}

ValueResult TensorOps::callAttention(const NamedCall &call) {
  FailureOr<BoundArguments> args =
      bind(call,
           {"query", "key", "value", "attn_mask", "dropout_p", "is_causal",
            "*scale", "*causal", "*enable_gqa"},
           3);
  if (failed(args))
    return failure();
  std::vector<SemaValue> tensors;
  SmallVector<std::string> names;
  for (size_t i : {0, 1, 2}) {
    FailureOr<SemaValue> tensor = tensorOperand(*(*args)[i], call.name);
    if (failed(tensor))
      return failure();
    tensors.push_back(*tensor);
    names.push_back(nameOf(*tensor, (*args)[i]->expr));
    if (failed(requireFloat(*tensor, names[i], call.name, call.site)))
      return failure();
    if (tensor->dtype != tensors[0].dtype)
      return fail((*args)[i]->where,
                  call.name + " needs equal dtypes: " + names[0] + " is " +
                      getDTypeName(tensors[0].dtype) + ", " + names[i] +
                      " is " + getDTypeName(tensor->dtype),
                  asObject(names[i]) + ".to(" + names[0] + ".dtype)");
    if (rankOf(*tensor) != rankOf(tensors[0]) || rankOf(*tensor) < 2)
      return fail((*args)[i]->where,
                  call.name + " needs equal ranks of at least 2: " + names[0] +
                      " is " + describeShape(tensors[0]) + ", " + names[i] +
                      " is " + describeShape(*tensor),
                  names[i] + "[None, :, :], or q, k and v of the same rank");
  }
  if (context.accum.isDType() &&
      getDTypeBits(context.accum.asDType()) !=
          getDTypeBits(getAccumulateDType(tensors[0].dtype))) {
    (void)context.notYet(call.site.range,
                         call.name + " with @tsr.accum(" +
                             getDTypeName(context.accum.asDType()) + ")",
                         "tsr.softmax(" + names[0] + " @ " + names[1] +
                             ".mT / " + names[0] +
                             ".shape[-1] ** 0.5, dim=-1) @ " + names[2]);
    return failure();
  }
  if ((*args)[3] && (*args)[3]->value.isNumber() &&
      (*args)[3]->keyword.empty()) {
    context
        .error((*args)[3]->where,
               "the fourth argument of " + call.name +
                   " is attn_mask, a tensor; a number is the scale")
        .setFix("scale=" + context.quote((*args)[3]->where));
    return failure();
  }
  if ((*args)[3] && !(*args)[3]->value.isNone()) {
    (void)context.notYet((*args)[3]->where, "attn_mask of " + call.name,
                         getMaskedAttention(context, *args, names));
    return failure();
  }
  FailureOr<double> dropout = number((*args)[4], 0.0, "dropout_p");
  if (failed(dropout))
    return failure();
  if (*dropout != 0.0) {
    (void)context.notYet((*args)[4]->where, "dropout", "dropout_p=0.0");
    return failure();
  }
  FailureOr<bool> causal =
      flag((*args)[5] ? (*args)[5] : (*args)[7], false, "is_causal");
  if (failed(causal) || failed(flag((*args)[8], false, "enable_gqa")))
    return failure();

  Location location = loc(call.site);
  TensorShape shapes[] = {shapeOf(tensors[0]), shapeOf(tensors[1]),
                          shapeOf(tensors[2])};
  size_t rank = shapes[0].rank();
  auto mustAgree = [&](size_t i, size_t iAxis, size_t k,
                       size_t kAxis) -> LogicalResult {
    const Extent &a = shapes[i].extents[iAxis], &b = shapes[k].extents[kAxis];
    Dim *aDim = shapes[i].dims[iAxis], *bDim = shapes[k].dims[kAxis];
    std::string text = call.name + ": axis " + std::to_string(iAxis) + " of " +
                       names[i] + " is {lhs}, axis " + std::to_string(kAxis) +
                       " of " + names[k] + " is {rhs}";
    if (agree(a, aDim, b, bDim, text, location) != Agreement::Differ)
      return success();
    Diagnostic &diagnostic = context.error(
        call.site.range, call.name + " joins axis " + std::to_string(iAxis) +
                             " of " + names[i] + " (" + axisText(a, aDim) +
                             ") with axis " + std::to_string(kAxis) + " of " +
                             names[k] + " (" + axisText(b, bDim) +
                             "); they must be equal");
    noteOrigin(diagnostic, tensors[i], names[i]);
    noteOrigin(diagnostic, tensors[k], names[k]);
    diagnostic.setFix(names[k] + ".transpose(-2, -1), or axes in the order "
                                 "[B, H, T, D]");
    return failure();
  };
  // torch's mask begins at the first key, ours ends at the last one.
  if (*causal && call.name == "scaled_dot_product_attention") {
    const Extent &queries = shapes[0].extents[rank - 2],
                 &keys = shapes[1].extents[rank - 2];
    std::string instead = "tsr.attention, whose last query sees every key";
    if (queries.isConstant() && keys.isConstant() &&
        queries.constant != keys.constant)
      return fail(call.site.range,
                  call.name + "(is_causal=True) of " +
                      std::to_string(queries.constant) + " queries and " +
                      std::to_string(keys.constant) +
                      " keys: torch's first query sees one key",
                  instead);
    if (!isProvedEqual(queries, shapes[0].dims[rank - 2], keys,
                       shapes[1].dims[rank - 2]))
      checkEqual(graph::materialize(context.builder, location, queries),
                 graph::materialize(context.builder, location, keys),
                 call.name +
                     "(is_causal=True) of {lhs} queries and {rhs} keys: "
                     "torch's first query sees one key; write " +
                     instead,
                 location);
  }
  // D of q and k; T of k and v; the batch axes of all; heads of k and v.
  if (failed(mustAgree(0, rank - 1, 1, rank - 1)) ||
      failed(mustAgree(1, rank - 2, 2, rank - 2)))
    return failure();
  for (size_t axis = 0; axis + 2 < rank; ++axis) {
    if (failed(mustAgree(1, axis, 2, axis)))
      return failure();
    bool isHead = axis + 3 == rank;
    const Extent &own = shapes[0].extents[axis];
    const Extent &other = shapes[1].extents[axis];
    if (!isHead) {
      if (failed(mustAgree(0, axis, 1, axis)))
        return failure();
      continue;
    }
    // Grouped heads: H is a multiple of HK.
    if (isProvedEqual(own, shapes[0].dims[axis], other, shapes[1].dims[axis]))
      continue;
    if (own.isConstant() && other.isConstant()) {
      if (other.constant != 0 && own.constant % other.constant == 0)
        continue;
      Diagnostic &diagnostic =
          context.error(call.site.range,
                        call.name + ": the " + std::to_string(own.constant) +
                            " heads of " + names[0] + " cannot share the " +
                            std::to_string(other.constant) + " of " + names[1]);
      noteOrigin(diagnostic, tensors[0], names[0]);
      noteOrigin(diagnostic, tensors[1], names[1]);
      diagnostic.setFix("a number of heads of " + names[0] +
                        " that is a multiple of " +
                        std::to_string(other.constant));
      return failure();
    }
    mlir::Value heads = graph::materialize(context.builder, location, own);
    mlir::Value groups = graph::materialize(context.builder, location, other);
    mlir::Value rest =
        emit("gir.mod", location, heads.getType(), {heads, groups});
    checkEqual(rest, constant(location, int64_t(0)),
               call.name + ": the heads of " + names[0] +
                   " are no multiple of those of " + names[1],
               location);
  }

  // A head stays whole in a tile: its size belongs to the version.
  bool asked = askForSize(tensors[0].ssa, rank - 1);
  asked |= askForSize(tensors[1].ssa, rank - 1);
  asked |= askForSize(tensors[2].ssa, rank - 1);
  if (asked)
    return failure();

  TensorShape result = shapes[0];
  result.extents[rank - 1] = shapes[2].extents[rank - 1];
  result.dims[rank - 1] = shapes[2].dims[rank - 1];
  SmallVector<mlir::Value> values;
  for (const SemaValue &tensor : tensors)
    values.push_back(tensor.ssa);
  if ((*args)[6] && !(*args)[6]->value.isNone()) {
    ValueResult scale = operand(*(*args)[6], call.name);
    if (failed(scale))
      return failure();
    if (rankOf(*scale) != 0)
      return fail((*args)[6]->where,
                  "scale is one number, but " +
                      nameOf(*scale, (*args)[6]->expr) + " is " +
                      describeShape(*scale),
                  "scale=1.0");
    values.push_back(
        convert(*scale, getAccumulateDType(tensors[0].dtype), location));
  }
  SmallVector<NamedAttribute> attributes;
  if (*causal)
    attributes.push_back(unit("causal"));
  mlir::Value value =
      emit("gir.attention", location, typeOf(result, tensors[0].dtype), values,
           attributes);
  return makeResult(value, tensors[0].dtype, result);
}

} // namespace tessera::frontend
