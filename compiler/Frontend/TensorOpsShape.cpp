//===- TensorOpsShape.cpp - Extents, broadcasting and their checks --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/LoopUses.h"
#include "compiler/Frontend/TensorOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using tessera::graph::Extent;

namespace tessera::frontend {

/// "N // 2" for N / 2, which is no size.
static std::string getSizeFix(llvm::StringRef text) {
  auto [left, right] = text.split('/');
  if (right.empty() || right.starts_with("/"))
    return "ints or dims: M, 64, -1";
  return (left + "//" + right).str();
}

int64_t TensorOps::rankOf(const SemaValue &value) {
  if (!value.ssa)
    return 0;
  return cast<RankedTensorType>(value.ssa.getType()).getRank();
}

TensorShape TensorOps::shapeOf(const SemaValue &value) {
  TensorShape shape;
  for (int64_t i = 0, rank = rankOf(value); i < rank; ++i)
    shape.push_back(graph::getExtent(value.ssa, i),
                    size_t(i) < value.dims.size() ? value.dims[i] : nullptr);
  return shape;
}

/// A name the user gave, rather than a number, an expression or one of ours
/// ("X.shape[0]").
static bool isNamed(const Dim *dim) {
  if (!dim || dim->name.empty() ||
      !(llvm::isAlpha(dim->name[0]) || dim->name[0] == '_'))
    return false;
  return llvm::all_of(dim->name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

std::string TensorOps::axisText(const Extent &extent, const Dim *dim) {
  if (isNamed(dim))
    return extent.isConstant()
               ? dim->name + "=" + std::to_string(extent.constant)
               : dim->name;
  if (extent.isConstant())
    return std::to_string(extent.constant);
  if (extent.kind == Extent::Kind::Axis) {
    llvm::StringRef name = graph::getDimName(extent.value, extent.axis);
    if (!name.empty())
      return name.str();
  }
  return dim ? dim->name : "?";
}

std::string TensorOps::shapeText(const TensorShape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (i)
      text += ", ";
    text += axisText(shape.extents[i], shape.dims[i]);
  }
  return text + "]";
}

std::string TensorOps::describeShape(const SemaValue &value) {
  if (value.kind != ValueKind::Tensor)
    return describe(value);
  return shapeText(shapeOf(value)) + " " + getDTypeName(value.dtype);
}

RankedTensorType TensorOps::typeOf(const TensorShape &shape, DType dtype) {
  SmallVector<int64_t> sizes;
  for (const Extent &extent : shape.extents)
    sizes.push_back(extent.isConstant() ? extent.constant
                                        : ShapedType::kDynamic);
  return RankedTensorType::get(sizes, elementType(dtype));
}

SmallVector<mlir::Value> TensorOps::sizesOf(const TensorShape &shape,
                                            Location location) {
  SmallVector<mlir::Value> sizes;
  for (auto [extent, dim] : llvm::zip(shape.extents, shape.dims)) {
    if (extent.isConstant())
      continue;
    // The size of a dim of the signature is made once.
    ValueResult size = failure();
    if (dim && dim->source && dim->size < 0)
      size = context.getSize(*dim, dim->where);
    if (succeeded(size) && size->ssa)
      sizes.push_back(size->ssa);
    else
      sizes.push_back(graph::materialize(context.builder, location, extent));
  }
  return sizes;
}

bool TensorOps::isProvedEqual(const Extent &a, const Dim *aDim, const Extent &b,
                              const Dim *bDim) {
  return a == b || (aDim && aDim == bDim);
}

void TensorOps::checkEqual(mlir::Value lhs, mlir::Value rhs,
                           const std::string &message, Location location) {
  graph::CheckEqualOp::create(context.builder, location, lhs, rhs,
                              placeText(location) + message);
}

TensorOps::Agreement TensorOps::agree(const Extent &a, const Dim *aDim,
                                      const Extent &b, const Dim *bDim,
                                      const std::string &message,
                                      Location location) {
  if (isProvedEqual(a, aDim, b, bDim))
    return Agreement::Equal;
  if (a.isConstant() && b.isConstant())
    return Agreement::Differ;
  // Two names are two dims: who means one size writes one name.
  if (isNamed(aDim) && isNamed(bDim))
    return Agreement::Differ;
  mlir::Value lhs = graph::materialize(context.builder, location, a);
  mlir::Value rhs = graph::materialize(context.builder, location, b);
  checkEqual(lhs, rhs, message, location);
  return Agreement::Checked;
}

/// x.mean(dim=-1, keepdim=True), or x[:, None].
static std::string columnOf(const Expr *expr, const std::string &name) {
  auto *call = expr ? dynCast<Call>(expr) : nullptr;
  static constexpr llvm::StringLiteral reductions[] = {
      "sum", "mean", "max", "min", "prod", "var", "logsumexp"};
  std::string callee;
  if (call && is<Attribute>(call->func))
    callee = checkedCast<Attribute>(call->func)->attr;
  bool keeps = call && llvm::is_contained(reductions, callee) &&
               llvm::none_of(call->keywords, [](const Keyword &keyword) {
                 return keyword.name == "keepdim";
               });
  if (keeps && llvm::StringRef(name).ends_with(")"))
    return name.substr(0, name.size() - 1) + ", keepdim=True)";
  return asObject(name) + "[:, None]";
}

/// g of g[:, None], g.unsqueeze(1) and g.reshape(-1, 1): what the axes of size
/// 1 were put into.
static const Expr *withoutNewAxes(const Expr *expr) {
  if (auto *call = dynCast<Call>(expr)) {
    auto *callee = dynCast<Attribute>(call->func);
    bool isNew =
        callee && (callee->attr == "unsqueeze" || callee->attr == "reshape" ||
                   callee->attr == "view");
    return isNew ? callee->value : expr;
  }
  auto *access = dynCast<Subscript>(expr);
  if (!access)
    return expr;
  ArrayRef<Expr *> indices = access->slice;
  if (auto *tuple = dynCast<Tuple>(access->slice))
    indices = tuple->elts;
  bool isNew = llvm::all_of(indices, [](const Expr *index) {
    auto *slice = dynCast<Slice>(index);
    auto *constant = dynCast<Constant>(index);
    return (slice && !slice->lower && !slice->upper && !slice->step) ||
           (constant && constant->type == ConstantKind::None);
  });
  return isNew ? access->value : expr;
}

/// "g[:, None]" for a g [M] that meets an x [M, N]: its axes in the places
/// where x has these dims. Empty if x lacks one, or if it is written like that.
/// "u[:-2]" as its name and the elements that it leaves out on both sides;
/// nothing for another expression.
static std::optional<std::tuple<std::string, int64_t, int64_t>>
readSlice(const SemaContext &context, const Expr *expr) {
  auto *access = dynCast<Subscript>(expr);
  auto *slice = access ? dynCast<Slice>(access->slice) : nullptr;
  auto *array = access ? dynCast<Name>(access->value) : nullptr;
  if (!slice || !array || slice->step)
    return std::nullopt;
  int64_t before = 0, behind = 0;
  auto read = [&](const Expr *bound, int64_t &number) {
    return !bound || !llvm::StringRef(context.quote(bound->range))
                          .getAsInteger(10, number);
  };
  if (!read(slice->lower, before) || !read(slice->upper, behind) ||
      before < 0 || behind > 0)
    return std::nullopt;
  return std::tuple(array->id, before, -behind);
}

/// What the one assignment of a name gives it; null if there are several.
static const Expr *findOnlyValue(const Body &body, const std::string &name) {
  const Expr *found = nullptr;
  unsigned count = 0;
  walkStatements(body, [&](const Stmt *stmt) {
    auto *assign = dynCast<Assign>(stmt);
    for (const Expr *target :
         assign ? assign->targets : std::vector<Expr *>()) {
      if (auto *one = dynCast<Name>(target); one && one->id == name) {
        found = assign->value;
        ++count;
      }
      auto *names = dynCast<Tuple>(target);
      auto *values = dynCast<Tuple>(assign->value);
      for (size_t i = 0; names && i < names->elts.size(); ++i)
        if (auto *one = dynCast<Name>(names->elts[i]); one && one->id == name) {
          found = values && values->elts.size() == names->elts.size()
                      ? values->elts[i]
                      : nullptr;
          ++count;
        }
    }
  });
  return count == 1 ? found : nullptr;
}

/// cos[:, None, :] for cos[None, :, :], where only that fits the other operand.
void TensorOps::suggestOtherNone(Diagnostic &diagnostic,
                                 const std::string &what, const OpSite &site) {
  for (size_t own : {1, 0}) {
    const Expr *expr = site.operands[own], *other = site.operands[1 - own];
    auto *name = dynCast<Name>(expr);
    auto *access = dynCast<Subscript>(
        name ? findOnlyValue(context.getBody(), name->id) : expr);
    auto *indices = access ? dynCast<Tuple>(access->slice) : nullptr;
    if (!indices || !other)
      continue;
    std::vector<std::string> rest;
    size_t at = indices->elts.size();
    for (auto [i, index] : llvm::enumerate(indices->elts))
      if (std::string text = context.quote(index->range); text == "None")
        at = i;
      else
        rest.push_back(text);
    if (rest.size() + 1 != indices->elts.size())
      continue;
    std::string base = context.quote(access->value->range), fix;
    unsigned count = 0;
    for (size_t place = 0; place <= rest.size(); ++place) {
      std::vector<std::string> moved = rest;
      moved.insert(moved.begin() + place, "None");
      std::string text = base + "[" + llvm::join(moved, ", ") + "]";
      std::string left = "(" + context.quote(other->range) + ")";
      if (place == at || !context.tryFix(own ? left + " " + what + " " + text
                                             : text + " " + what + " " + left))
        continue;
      fix = text;
      ++count;
    }
    if (count == 1) {
      diagnostic.setFix(fix, access->range);
      return;
    }
  }
}

/// What two tensors of one axis, whose sizes differ, may be meant to be:
/// `tsr.arange(C) == labels[:, None]`, or u[1:-1] beside u[:-2].
void TensorOps::suggestColumnOrSlice(Diagnostic &diagnostic,
                                     ArrayRef<TensorShape> shapes,
                                     const OpSite &site) {
  if (shapes[0].rank() != 1 || shapes[1].rank() != 1)
    return;
  for (size_t own : {0, 1}) {
    const Expr *other = site.operands[1 - own], *expr = site.operands[own];
    auto *call = dynCast<Call>(other);
    if (call && context.quote(call->func->range) == "tsr.arange" &&
        isNamed(shapes[own].dims[0])) {
      diagnostic.setFix(asObject(context.quote(expr->range)) + "[:, None]",
                        expr->range);
      return;
    }
    auto slice = readSlice(context, other);
    if (!slice)
      continue;
    auto [name, before, behind] = *slice;
    int64_t left = before + behind;
    // The elements in the middle of as many, or those at the other end.
    std::string middle = left % 2 == 0 ? std::to_string(left / 2) + ":-" +
                                             std::to_string(left / 2)
                         : before      ? ":-" + std::to_string(left)
                                       : std::to_string(left) + ":";
    const Name *found = nullptr;
    auto visit = [&](const Expr *each) {
      auto *use = dynCast<Name>(each);
      if (use && use->id == name && isWithin(each->range, expr->range))
        found = use;
      return !is<Subscript>(each);
    };
    walkExpressions(context.getBody(), visit);
    if (found && left > 0) {
      diagnostic.setFix(name + "[" + middle + "]", found->range);
      diagnostic.where = found->range;
      return;
    }
  }
}

std::string TensorOps::findBroadcast(const TensorShape &whole,
                                     const Expr *expr) {
  const Expr *inner = expr ? withoutNewAxes(expr) : nullptr;
  std::optional<SemaValue> value =
      inner ? context.tryFix(context.quote(inner->range)) : std::nullopt;
  if (!value || !value->isTensor())
    return {};
  TensorShape own = shapeOf(*value);
  std::string indices;
  size_t next = 0;
  bool isPlain = true;
  for (size_t axis = 0; axis < whole.rank(); ++axis) {
    bool isHere = next < own.rank() &&
                  isProvedEqual(whole.extents[axis], whole.dims[axis],
                                own.extents[next], own.dims[next]);
    if (!isHere && next == 0)
      continue;
    indices +=
        (indices.empty() ? "" : ", ") + std::string(isHere ? ":" : "None");
    isPlain &= isHere;
    next += isHere;
  }
  if (next == 0 || next != own.rank())
    return {};
  std::string fix = context.quote(inner->range);
  if (indices == ":, None" && inner == expr)
    fix = columnOf(inner, fix);
  else if (!isPlain)
    fix = context.parenthesize(inner) + "[" + indices + "]";
  return fix == context.quote(expr->range) ? std::string() : fix;
}

FailureOr<TensorShape> TensorOps::broadcastShape(ArrayRef<TensorShape> shapes,
                                                 ArrayRef<SemaValue> operands,
                                                 ArrayRef<std::string> names,
                                                 llvm::StringRef what,
                                                 const OpSite &site) {
  TensorShape result;
  size_t rank = 0;
  for (const TensorShape &shape : shapes)
    rank = std::max(rank, shape.rank());
  result.extents.resize(rank);
  result.dims.resize(rank);
  for (size_t back = 0; back < rank; ++back) {
    int from = -1;
    size_t fromAxis = 0;
    Extent extent = Extent::get(1);
    Dim *dim = nullptr;
    for (auto [i, shape] : llvm::enumerate(shapes)) {
      if (back >= shape.rank())
        continue;
      size_t axis = shape.rank() - 1 - back;
      const Extent &next = shape.extents[axis];
      Dim *nextDim = shape.dims[axis];
      bool nextRepeats = next.isConstant(1) && !isNamed(nextDim);
      bool repeats = extent.isConstant(1) && !isNamed(dim);
      if (from < 0 || (repeats && !nextRepeats)) {
        from = i;
        fromAxis = axis;
        extent = next;
        dim = nextDim;
        continue;
      }
      if (nextRepeats)
        continue;
      std::string message =
          (what + ": axis " + llvm::Twine(fromAxis) + " of " + names[from] +
           " is {lhs}, axis " + llvm::Twine(axis) + " of " + names[i] +
           " is {rhs}")
              .str();
      if (agree(extent, dim, next, nextDim, message, loc(site)) ==
          Agreement::Differ) {
        std::string text =
            (what + " joins axis " + llvm::Twine(fromAxis) + " of " +
             names[from] + " (" + axisText(extent, dim) + ") with axis " +
             llvm::Twine(axis) + " of " + names[i] + " (" +
             axisText(next, nextDim) + "); they must be equal" +
             (extent.isConstant(1) || next.isConstant(1)
                  ? ", because a named dim does not broadcast"
                  : ""))
                .str();
        Diagnostic &diagnostic = context.error(site.range, text);
        noteOrigin(diagnostic, operands[from], names[from]);
        noteOrigin(diagnostic, operands[i], names[i]);
        if (shapes.size() == 2 && site.operands.size() == 2)
          for (size_t own : {i, size_t(from)})
            if (std::string fix =
                    findBroadcast(shapes[1 - own], site.operands[own]);
                diagnostic.fix.empty() && !fix.empty())
              diagnostic.setFix(fix, site.operands[own]->range);
        if (shapes.size() == 2 && site.operands.size() == 2 &&
            diagnostic.fix.empty())
          suggestColumnOrSlice(diagnostic, shapes, site);
        if (diagnostic.fix.empty() && site.operands.size() == 2)
          suggestOtherNone(diagnostic, what.str(), site);
        if (!diagnostic.fix.empty())
          return failure();
        // b.unsqueeze(1) where the dim of b is the other one's last.
        size_t same = i == size_t(from) ? 0 : i;
        auto hasDim = [&](const TensorShape &one, Dim *wanted) {
          return llvm::is_contained(one.dims, wanted);
        };
        const Expr *column =
            same < site.operands.size() ? site.operands[same] : nullptr;
        auto *call = column ? dynCast<Call>(column) : nullptr;
        auto *callee = call ? dynCast<Attribute>(call->func) : nullptr;
        if (callee && callee->attr == "unsqueeze" && shape.rank() == 2 &&
            isNamed(nextDim) && hasDim(shapes[from], nextDim) &&
            shapes[from].dims.back() == nextDim)
          diagnostic.setFix(context.quote(callee->value->range), column->range);
        else if (shape.rank() == 1 && shapes[from].rank() == 2 &&
                 isProvedEqual(shapes[from].extents[0], shapes[from].dims[0],
                               next, nextDim))
          diagnostic.setFix(
              columnOf(i < site.operands.size() ? site.operands[i] : nullptr,
                       names[i]),
              i < site.operands.size() && site.operands[i]
                  ? site.operands[i]->range
                  : SourceRange());
        else if (extent.isConstant(1) || next.isConstant(1))
          diagnostic.setFix("1 in the annotation instead of " +
                            (extent.isConstant(1) ? dim : nextDim)->name +
                            ", if it is to be repeated");
        else if (isNamed(dim) && isNamed(nextDim) &&
                 !(extent.isConstant() && next.isConstant()))
          diagnostic.setFix("one name for both dims, if they are one size");
        return failure();
      }
      // The known one says more.
      if (!extent.isConstant() && next.isConstant())
        extent = next;
      if (!isNamed(dim) && isNamed(nextDim))
        dim = nextDim;
    }
    result.extents[rank - 1 - back] = extent;
    result.dims[rank - 1 - back] = dim;
  }
  return result;
}

mlir::Value TensorOps::broadcastTo(mlir::Value value, ArrayRef<int64_t> axes,
                                   const TensorShape &shape,
                                   Location location) {
  auto from = cast<RankedTensorType>(value.getType());
  auto dtype = getDType(from.getElementType());
  RankedTensorType to = typeOf(shape, *dtype);
  // Of one type, nothing is repeated: an extent of 1 is static.
  if (from == to)
    return value;
  return graph::BroadcastOp::create(context.builder, location, to, value,
                                    context.builder.getDenseI64ArrayAttr(axes),
                                    sizesOf(shape, location));
}

mlir::Value TensorOps::broadcastTo(mlir::Value value, const TensorShape &shape,
                                   Location location) {
  int64_t rank = shape.rank();
  int64_t own = cast<RankedTensorType>(value.getType()).getRank();
  return broadcastTo(value, llvm::to_vector(llvm::seq(rank - own, rank)), shape,
                     location);
}

mlir::Value TensorOps::reshapeTo(mlir::Value value, const TensorShape &shape,
                                 Location location) {
  auto from = cast<RankedTensorType>(value.getType());
  RankedTensorType to = typeOf(shape, *getDType(from.getElementType()));
  if (from == to && to.hasStaticShape())
    return value;
  return graph::ReshapeOp::create(context.builder, location, to, value,
                                  sizesOf(shape, location));
}

mlir::Value TensorOps::product(ArrayRef<Extent> extents, Location location) {
  mlir::Value result;
  int64_t factor = 1;
  for (const Extent &extent : extents) {
    if (extent.isConstant()) {
      factor *= extent.constant;
      continue;
    }
    mlir::Value size = graph::materialize(context.builder, location, extent);
    result = result ? emit("gir.mul", location, size.getType(), {result, size})
                    : size;
  }
  if (!result)
    return constant(location, factor);
  if (factor != 1)
    result = emit("gir.mul", location, result.getType(),
                  {result, constant(location, factor)});
  return result;
}

Extent TensorOps::productExtent(ArrayRef<Extent> extents, Location location) {
  SmallVector<Extent> dynamic;
  int64_t factor = 1;
  for (const Extent &extent : extents) {
    if (extent.isConstant())
      factor *= extent.constant;
    else
      dynamic.push_back(extent);
  }
  if (dynamic.empty() || factor == 0)
    return Extent::get(factor);
  if (dynamic.size() == 1 && factor == 1)
    return dynamic.front();
  return graph::getExtent(product(extents, location));
}

std::vector<CallArgument>
TensorOps::flattenTuple(ArrayRef<CallArgument> arguments) {
  std::vector<CallArgument> flat;
  for (const CallArgument &argument : arguments) {
    if (argument.value.kind != ValueKind::Tuple) {
      flat.push_back(argument);
      continue;
    }
    for (const SemaValue &element : argument.value.elements)
      flat.push_back({"", element, argument.expr, argument.where});
  }
  return flat;
}

FailureOr<SmallVector<TensorOps::SizeArgument>>
TensorOps::sizeArguments(ArrayRef<CallArgument> arguments,
                         llvm::StringRef callee) {
  SmallVector<SizeArgument> result;
  bool inferred = false;
  for (const CallArgument &argument : flattenTuple(arguments)) {
    SizeArgument size;
    size.where = argument.where;
    const SemaValue &value = argument.value;
    if (value.kind == ValueKind::Dim)
      size.dim = value.dim;
    std::optional<int64_t> number = value.getConstantInt();
    ValueResult decayed = context.decay(value, argument.where);
    if (failed(decayed))
      return failure();
    if (number && *number == -1) {
      if (inferred)
        return fail(argument.where,
                    callee.str() + ": -1 stands for one size, not two",
                    "-1 once, the other sizes as numbers or dims");
      inferred = size.inferred = true;
    } else if (number && *number >= 0) {
      size.extent = Extent::get(*number);
    } else if (number) {
      return fail(argument.where,
                  callee.str() + ": a size cannot be " +
                      std::to_string(*number),
                  "-1, or the size");
    } else if (decayed->isScalar() && isInteger(decayed->dtype)) {
      size.extent = graph::getExtent(
          convert(*decayed, DType::I64, context.loc(argument.where)));
    } else {
      Diagnostic &diagnostic =
          context.error(argument.where, callee.str() + " needs sizes, but " +
                                            context.quote(argument.where) +
                                            " is " + describe(value));
      // D = E / H is a float, as in Python.
      std::string line;
      if (value.origin.isValid())
        line = context.quoteBefore(value.origin) + context.quote(value.origin) +
               context.quoteBehind(value.origin);
      size_t slash = line.find(" / ");
      if (slash != std::string::npos && argument.expr &&
          is<Name>(argument.expr))
        diagnostic
            .addNote(value.origin, context.quote(argument.where) +
                                       " is a float: / divides exactly")
            .setFix(
                llvm::StringRef(line.replace(slash, 3, " // ")).trim().str(),
                value.origin);
      else
        diagnostic.setFix(getSizeFix(context.quote(argument.where)));
      return failure();
    }
    result.push_back(size);
  }
  return result;
}

LogicalResult TensorOps::checkOneTuple(const NamedCall &call) {
  // tsr.cat(a, b): the tensors are one tuple.
  std::string tensors, others;
  size_t count = 0;
  for (const CallArgument &argument : call.arguments.arguments) {
    bool tensor = argument.keyword.empty() && argument.value.isTensor();
    std::string &list = tensor ? tensors : others;
    list += (list.empty() ? "" : ", ") + context.quote(argument.where);
    count += tensor;
  }
  if (!count)
    return success();
  return fail(call.arguments.arguments[0].where,
              call.name + " takes one tuple of tensors, then dim=, but " +
                  std::to_string(count) +
                  (count == 1 ? " tensor is" : " tensors are") + " given",
              "tsr." + call.name + "((" + tensors + (count == 1 ? ",)" : ")") +
                  (others.empty() ? "" : ", " + others) + ")");
}

} // namespace tessera::frontend
