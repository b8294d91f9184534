//===- SemaValue.cpp - What an expression of the program is ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/SemaValue.h"

#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tessera::frontend {

//===----------------------------------------------------------------------===//
// SemaValue
//===----------------------------------------------------------------------===//

SemaValue SemaValue::makeConstant(ConstantData data) {
  SemaValue value;
  if (data.isTuple()) {
    value.kind = ValueKind::Tuple;
    for (const ConstantData &element : data.asTuple())
      value.elements.push_back(makeConstant(element));
    return value;
  }
  value.constant = std::move(data);
  return value;
}

SemaValue SemaValue::makeScalar(mlir::Value ssa, DType dtype, bool weak) {
  SemaValue value;
  value.kind = ValueKind::Scalar;
  value.ssa = ssa;
  value.dtype = dtype;
  value.weak = weak;
  return value;
}

SemaValue SemaValue::makeTile(mlir::Value ssa, DType dtype,
                              llvm::ArrayRef<Axis *> axes,
                              llvm::ArrayRef<bool> complete) {
  if (axes.empty())
    return makeScalar(ssa, dtype);
  SemaValue value;
  value.kind = ValueKind::Tile;
  value.ssa = ssa;
  value.dtype = dtype;
  value.axes.assign(axes.begin(), axes.end());
  if (complete.empty())
    for (Axis *axis : axes)
      value.complete.push_back(axis->complete);
  else
    value.complete.assign(complete.begin(), complete.end());
  return value;
}

SemaValue SemaValue::makeTensor(mlir::Value ssa, DType dtype,
                                llvm::ArrayRef<Dim *> dims) {
  SemaValue value;
  value.kind = ValueKind::Tensor;
  value.ssa = ssa;
  value.dtype = dtype;
  value.dims.assign(dims.begin(), dims.end());
  return value;
}

SemaValue SemaValue::makeTuple(std::vector<SemaValue> elements) {
  SemaValue value;
  value.kind = ValueKind::Tuple;
  value.elements = std::move(elements);
  return value;
}

SemaValue SemaValue::makeBuiltin(std::string name) {
  SemaValue value;
  value.kind = ValueKind::Builtin;
  value.text = std::move(name);
  return value;
}

bool SemaValue::isNumber() const {
  return isScalar() || kind == ValueKind::Dim ||
         (isConstant() && constant.isNumber());
}

std::optional<int64_t> SemaValue::getConstantInt() const {
  if (isConstant() && (constant.isInt() || constant.isBool()))
    return constant.asInt();
  if (kind == ValueKind::Dim && dim->size >= 0)
    return dim->size;
  return std::nullopt;
}

PromotionOperand SemaValue::getPromotionOperand() const {
  switch (kind) {
  case ValueKind::Constant:
    if (constant.isBool())
      return {DType::Bool, true};
    if (constant.isInt())
      return {DType::I64, true};
    return {DType::FP64, true};
  case ValueKind::Dim:
    return {DType::I64, true};
  default:
    return {dtype, weak};
  }
}

std::string describeAxes(llvm::ArrayRef<Axis *> axes) {
  std::string text = "[";
  for (Axis *axis : axes) {
    if (text.size() > 1)
      text += ", ";
    text += axis->name;
  }
  return text + "]";
}

std::string asObject(llvm::StringRef text) {
  int depth = 0;
  for (char c : text) {
    depth += llvm::StringRef("([{").contains(c);
    depth -= llvm::StringRef(")]}").contains(c);
    if (depth == 0 && llvm::StringRef(" +-*/%@<>=&|^~").contains(c))
      return "(" + text.str() + ")";
  }
  return text.str();
}

std::string describe(const SemaValue &value) {
  switch (value.kind) {
  case ValueKind::Constant:
    if (value.constant.isNone())
      return "None";
    return std::string("the ") + value.constant.getTypeName() + " " +
           value.constant.str();
  case ValueKind::Dim:
    return "dim " + value.dim->name;
  case ValueKind::Scalar:
    return value.weak ? std::string("a run-time ") +
                            (value.dtype == DType::Bool ? "bool"
                             : isFloat(value.dtype)     ? "float"
                                                        : "int")
                      : std::string("a scalar ") + getDTypeName(value.dtype);
  case ValueKind::Range:
    return "a range over " +
           (value.axis->dim ? value.axis->dim->name : std::string("a number"));
  case ValueKind::Tile:
    return describeAxes(value.axes) + " " + getDTypeName(value.dtype);
  case ValueKind::View:
    return "a tensor in memory";
  case ValueKind::Tensor: {
    std::string text = "[";
    for (auto [i, dim] : llvm::enumerate(value.dims)) {
      if (i)
        text += ", ";
      auto type = cast<RankedTensorType>(value.ssa.getType());
      if (dim)
        text += dim->name;
      else if (!type.isDynamicDim(i))
        text += std::to_string(type.getDimSize(i));
      else
        text += "?";
    }
    return text + "] " + getDTypeName(value.dtype);
  }
  case ValueKind::Tuple:
    return "a tuple of " + std::to_string(value.elements.size());
  case ValueKind::Function:
    return (value.function->kind == ProgramKind::Kernel ? "the kernel "
                                                        : "the function ") +
           value.function->definition->name;
  case ValueKind::Module:
    return "the module " + value.text;
  case ValueKind::Builtin:
    return "'" + value.text + "'";
  case ValueKind::Method:
    return "the method " + value.text;
  case ValueKind::Slice:
    return "a slice";
  case ValueKind::Iterable:
    return value.text + "(...)";
  }
  return "";
}

std::string describeOperand(const SemaContext &context, const Expr *expr) {
  const Expr *base = expr;
  if (auto *subscript = dynCast<Subscript>(base))
    base = subscript->value;
  if (auto *name = dynCast<Name>(base))
    return name->id;
  return expr ? context.quote(expr->range) : std::string("it");
}

//===----------------------------------------------------------------------===//
// SemaContext
//===----------------------------------------------------------------------===//

SemaContext::SemaContext(MLIRContext &context, const SemaRequest &request,
                         DiagnosticEngine &diags)
    : builder(&context), request(request), diags(diags), accum(request.accum),
      precision(request.precision) {}

SemaContext::~SemaContext() = default;

Diagnostic &SemaContext::error(SourceRange where, std::string message) {
  Diagnostic &diagnostic = diags.error(where, std::move(message));
  for (const InlineFrame &frame : llvm::reverse(inlineFrames))
    diagnostic.addNote(frame.call, "in " + frame.callee + ", called here");
  diagnostic.origins = findOrigins(where);
  return diagnostic;
}

LogicalResult SemaContext::notYet(SourceRange where, const std::string &what,
                                  std::string fix) {
  error(where, "not yet: " + what).setFix(std::move(fix));
  return failure();
}

std::string SemaContext::quote(const SourceRange &range) const {
  return getSources().getSnippet(range);
}

std::string SemaContext::parenthesize(const Expr *expr) const {
  std::string text = quote(expr->range);
  bool binds = is<Name>(expr) || is<Attribute>(expr) || is<Subscript>(expr) ||
               is<Call>(expr) || is<Constant>(expr) || is<Tuple>(expr);
  return binds ? text : "(" + text + ")";
}

Location SemaContext::loc(const SourceRange &where, llvm::StringRef name) {
  const SourceFile *file = getSources().get(where.file);
  Location place =
      file ? Location(FileLineColLoc::get(getContext(), file->getName(),
                                          where.begin.line, where.begin.column))
           : Location(UnknownLoc::get(getContext()));
  llvm::StringRef label = name.empty() ? llvm::StringRef(nameHint) : name;
  if (label.empty())
    return place;
  return NameLoc::get(StringAttr::get(getContext(), label), place);
}

Dim *SemaContext::findDim(llvm::StringRef name) const {
  for (const std::unique_ptr<Dim> &dim : dims)
    if (dim->name == name)
      return dim.get();
  return nullptr;
}

Dim *SemaContext::addDim(std::string name, SourceRange where) {
  dims.push_back(std::make_unique<Dim>());
  dims.back()->name = std::move(name);
  dims.back()->where = where;
  return dims.back().get();
}

void SemaContext::setInsertionPointToEntry() {
  if (lastEntryOp)
    builder.setInsertionPointAfter(lastEntryOp);
  else
    builder.setInsertionPointToStart(entryBlock);
}

ValueResult SemaContext::getSize(Dim &dim, SourceRange where) {
  if (dim.size >= 0)
    return SemaValue::makeConstant(dim.size);
  if (!dim.value) {
    OpBuilder::InsertionGuard guard(builder);
    setInsertionPointToEntry();
    if (dim.source) {
      dim.value = library->makeDimSize(dim, loc(dim.where, dim.name));
    } else if (dim.expression) {
      // What the expression emits also goes to the entry block.
      std::string hint = std::exchange(nameHint, dim.name);
      ValueResult value = evaluateDimExpression(dim.expression);
      nameHint = hint;
      if (failed(value))
        return failure();
      dim.value = library->makeScalar(*value, DType::I64, loc(dim.where));
    } else {
      error(where,
            "nothing in the signature gives the size of dim " + dim.name);
      return failure();
    }
    // Everything made so far in the entry block stays in front.
    if (Operation *op = dim.value.getDefiningOp();
        op && op->getBlock() == entryBlock &&
        (!lastEntryOp || lastEntryOp->isBeforeInBlock(op)))
      lastEntryOp = op;
  }
  return SemaValue::makeScalar(dim.value, DType::I64, /*weak=*/true);
}

ValueResult SemaContext::decay(const SemaValue &value, SourceRange where) {
  if (value.kind != ValueKind::Dim)
    return value;
  ValueResult size = getSize(*value.dim, where);
  if (failed(size))
    return failure();
  size->name = value.dim->name;
  return size;
}

Axis *SemaContext::addAxis(Axis axis) {
  axisStorage.push_back(std::make_unique<Axis>(std::move(axis)));
  return axisStorage.back().get();
}

FailureOr<Axis *> SemaContext::getWholeAxis(Dim &dim, SourceRange where) {
  if (Axis *axis = wholeAxes[&dim])
    return axis;
  if (dim.size < 0) {
    error(where, "the size of dim " + dim.name +
                     " is not a constant of this version, but a whole axis "
                     "needs one")
        .addNote(dim.where, "dim " + dim.name)
        .setFix("for k in tsr.tile(" + dim.name + ", 64)");
    return failure();
  }
  // Of an empty dim: one element, which is absent.
  int64_t size = std::max<int64_t>(dim.size, 1);
  OpBuilder::InsertionGuard guard(builder);
  setInsertionPointToEntry();
  Location location = loc(dim.where, dim.name);
  mlir::Value start = arith::ConstantIndexOp::create(builder, location, 0);
  mlir::Value extent =
      arith::ConstantIndexOp::create(builder, location, dim.size);
  auto range = tile::RangeAtOp::create(builder, location,
                                       tile::RangeType::get(getContext(), size),
                                       start, extent);
  lastEntryOp = range;
  Axis axis;
  axis.kind = Axis::Kind::Whole;
  axis.name = dim.name;
  axis.size = size;
  axis.dim = &dim;
  axis.range = range;
  axis.extent = extent;
  axis.complete = dim.size > 0;
  axis.where = dim.where;
  return wholeAxes[&dim] = addAxis(std::move(axis));
}

ValueResult callBreakpoint(SemaContext &context, OpLibrary &library,
                           const CallArguments &arguments, const OpSite &site) {
  FailureOr<BoundArguments> bound =
      bindArguments(context, "breakpoint", arguments, {"label"}, 0, site);
  if (failed(bound))
    return failure();
  std::string label;
  if (bound->front()) {
    FailureOr<std::string> text =
        getConstantString(context, *bound->front(), "the label");
    if (failed(text))
      return failure();
    label = *text;
  }
  if (failed(library.breakpoint(label, site)))
    return failure();
  return SemaValue::makeConstant({});
}

} // namespace tessera::frontend
