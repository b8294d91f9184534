//===- TileOpsMemory.cpp - Loads, stores, atomics -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/LoopUses.h"
#include "compiler/Frontend/TileOpsFixes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tessera::frontend {

//===----------------------------------------------------------------------===//
// Privileges
//===----------------------------------------------------------------------===//

LogicalResult TileOps::checkInsideGrid(const OpSite &site,
                                       llvm::StringRef what) {
  if (insideGrid)
    return success();
  context.error(site.range, what.str() + " belongs inside tsr.grid")
      .setFix("move " + context.quote(site.range) +
              " into the loop: " + context.suggestGrid());
  return failure();
}

/// "C: InOut["M"]": the parameter with another annotation around its dims.
std::string TileOps::getAnnotationFix(int parameter, llvm::StringRef open,
                                      llvm::StringRef close) const {
  llvm::StringRef text = parameterTexts[parameter];
  size_t begin = text.find('['), end = text.rfind(']');
  bool plain = begin != llvm::StringRef::npos && end != llvm::StringRef::npos &&
               !text.contains("Region");
  std::string dims = plain ? text.slice(begin + 1, end).str() : "...";
  return parameterNames[parameter] + ": " + open.str() + dims + close.str();
}

/// "(m, n), x": what a store has as arguments of its full form.
static std::string getIndexTuple(SemaContext &context, const OpSite &site) {
  std::string text = "(";
  for (const Expr *index : llvm::ArrayRef(site.operands).drop_back())
    text += (text.size() > 1 ? ", " : "") +
            (index ? context.quote(index->range) : std::string("..."));
  text += site.operands.size() == 2 ? ",), " : "), ";
  const Expr *value = site.operands.back();
  return text + (value ? context.quote(value->range) : std::string("x"));
}

LogicalResult TileOps::checkRead(const SemaValue &view, const OpSite &site) {
  if (failed(checkInsideGrid(site, "a load")))
    return failure();
  const std::string &mode = modes[view.parameter];
  const std::string &name = parameterNames[view.parameter];
  if (mode == "out") {
    context.error(site.range, name + " is only written (Out), not read")
        .addNote(parameterRanges[view.parameter],
                 parameterTexts[view.parameter])
        .setFix(getUpdateFix(view, site));
    return failure();
  }
  if (llvm::StringRef(mode).starts_with("reduce_")) {
    context
        .error(site.range,
               name + " is a Region[" + mode + "], which only atomics touch")
        .addNote(parameterRanges[view.parameter],
                 parameterTexts[view.parameter])
        .setFix(getAtomicFix(context, name, mode, site));
    return failure();
  }
  ViewUse &use = uses[view.parameter];
  if (!use.firstRead.isValid())
    use.firstRead = site.range;
  return success();
}

/// The privilege that the atomic of this call needs.
static std::string getPrivilege(const SemaContext &context,
                                const OpSite &site) {
  std::string call = context.quote(site.range);
  for (const char *op : {"max", "min"})
    if (llvm::StringRef(call).contains(std::string("atomic_") + op))
      return std::string("reduce_") + op;
  return "reduce_sum";
}

LogicalResult TileOps::checkWrite(const SemaValue &view, bool atomic,
                                  const OpSite &site) {
  if (failed(checkInsideGrid(site, atomic ? "an atomic" : "a store")))
    return failure();
  const std::string &mode = modes[view.parameter];
  const std::string &name = parameterNames[view.parameter];
  bool reduces = llvm::StringRef(mode).starts_with("reduce_");
  if (reduces && !atomic) {
    std::string op = mode == "reduce_sum" ? "add" : mode.substr(7);
    context
        .error(site.range,
               name + " is a Region[" + mode + "], which only atomics touch")
        .addNote(parameterRanges[view.parameter],
                 parameterTexts[view.parameter])
        .setFix("tsr.atomic_" + op + "(" + name + ", " +
                getIndexTuple(context, site) + ")");
    return failure();
  }
  if (atomic && !reduces) {
    context
        .error(site.range,
               "an atomic on " + name + ", which is not a Region[reduce_*]")
        .addNote(parameterRanges[view.parameter],
                 parameterTexts[view.parameter])
        .setFix(getAnnotationFix(
            view.parameter,
            "Region[" + getPrivilege(context, site) + ", Tensor[", "]]"));
    return failure();
  }
  if (mode == "in") {
    context.error(site.range, name + " is only read, not written")
        .addNote(parameterRanges[view.parameter],
                 parameterTexts[view.parameter])
        .setFix(getAnnotationFix(view.parameter, "InOut[", "]"));
    return failure();
  }
  ViewUse &use = uses[view.parameter];
  SourceRange &first = atomic ? use.firstAtomic : use.firstWrite;
  if (!first.isValid())
    first = site.range;
  return success();
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

FailureOr<TileOps::Access> TileOps::getAccess(const SemaValue &view,
                                              llvm::ArrayRef<SemaValue> indices,
                                              const OpSite &site) {
  const std::string &name = parameterNames[view.parameter];
  if (indices.size() != view.dims.size()) {
    reportIndexCount(view, indices, site);
    return failure();
  }
  Access access;
  auto span = [&](Axis *axis, bool complete,
                  llvm::SmallVector<int64_t, 2> &spans) {
    auto *found = llvm::find(access.alignment.axes, axis);
    spans.push_back(found - access.alignment.axes.begin());
    if (found != access.alignment.axes.end()) {
      access.zipped = true;
      access.alignment.complete[spans.back()] &= complete;
      return;
    }
    access.alignment.axes.push_back(axis);
    access.alignment.complete.push_back(complete);
  };
  // A scalar index: a position, no axis.
  auto addPosition = [&](const SemaValue &index, size_t i,
                         const SourceRange &where,
                         Location location) -> LogicalResult {
    ValueResult number = context.decay(index, where);
    if (failed(number))
      return failure();
    bool integral =
        number->isNumber() && isInteger(number->getPromotionOperand().dtype);
    if (!integral) {
      reportIndex(view, indices, i, where);
      return failure();
    }
    if (number->isConstant()) {
      int64_t position = number->constant.asInt();
      int64_t size = view.dims[i]->size;
      if (position < 0 || (size >= 0 && position >= size)) {
        Diagnostic &diagnostic = context.error(
            where,
            "index " + std::to_string(position) + " is outside axis " +
                std::to_string(i) + " of " + name + ", " + view.dims[i]->name +
                (size >= 0 ? " = " + std::to_string(size) : std::string()));
        diagnostic.addNote(parameterRanges[view.parameter],
                           parameterTexts[view.parameter]);
        diagnostic.setFix(view.dims[i]->name + " - " +
                          std::to_string(position < 0 ? -position : 1));
        return failure();
      }
    }
    access.indices.push_back(makeScalar(*number, DType::I64, location));
    return success();
  };
  for (auto [i, index] : llvm::enumerate(indices)) {
    const Expr *expr = i < site.operands.size() ? site.operands[i] : nullptr;
    SourceRange where = expr ? expr->range : site.range;
    Location location = context.loc(where, name);
    access.spans.emplace_back();
    switch (index.kind) {
    case ValueKind::Range:
      if (index.axis->dim != view.dims[i])
        return reportWrongDim(view, indices, i, site);
      for (size_t before = 0; before < i; ++before)
        if (indices[before].kind == ValueKind::Range &&
            indices[before].axis == index.axis) {
          context
              .error(where, index.axis->name + " indexes axis " +
                                std::to_string(before) + " and axis " +
                                std::to_string(i) + " of " + name +
                                "; an axis stands once in a tile")
              .addNote(index.axis->where, "the range " + index.axis->name)
              .setFix(index.axis->name + ".copy() for one of them");
          return failure();
        }
      access.indices.push_back(index.axis->range);
      span(index.axis, index.axis->complete, access.spans.back());
      break;
    case ValueKind::Dim:
      // tsr.load(A, (m, K)): the full form cannot say `:`, and position K of
      // dim K is never inside it, so the dim means the whole axis.
      if (index.dim == view.dims[i] && view.dims[i]->size < 0) {
        // Where a range over the dim is there, a second axis over it is not
        // what was meant: the last element is.
        bool isLast = !context.findRange(*index.dim).empty();
        context
            .error(where, index.dim->name + " is a size, one past the end; " +
                              (isLast ? "the last element is at " +
                                            index.dim->name + " - 1"
                                      : "the whole of an axis is ':'"))
            .addNote(parameterRanges[view.parameter],
                     parameterTexts[view.parameter])
            .setFix(isLast ? index.dim->name + " - 1" : ":");
        return failure();
      }
      if (index.dim != view.dims[i]) {
        if (failed(addPosition(index, i, where, location)))
          return failure();
        break;
      }
      [[fallthrough]];
    case ValueKind::Slice: {
      if (!index.elements.empty()) {
        return reportSlice(view, indices, i, site);
      }
      FailureOr<Axis *> whole = context.getWholeAxis(*view.dims[i], where);
      if (failed(whole))
        return failure();
      if (auto *same = llvm::find(access.indices, (*whole)->range);
          same != access.indices.end())
        return reportSameDim(view, same - access.indices.begin(), i, where);
      access.indices.push_back((*whole)->range);
      span(*whole, true, access.spans.back());
      break;
    }
    case ValueKind::Tile:
      if (!isInteger(index.dtype)) {
        // A mask picks positions: behind the dim is no element.
        std::string given =
            expr ? context.parenthesize(expr) : nameOf(index, expr);
        std::string range = context.findRange(*view.dims[i]);
        bool isMask = index.dtype == DType::Bool && !range.empty();
        context
            .error(where, "a gather needs an integer tile, but " +
                              nameOf(index, expr) + " is " + describe(index))
            .setFix(isMask ? "tsr.where(" + nameOf(index, expr) + ", " + range +
                                 ".index, " + view.dims[i]->name + ")"
                           : given + ".to(i64)");
        return failure();
      }
      access.indices.push_back(
          castElements(index.ssa, index.dtype, DType::I64, location));
      for (auto [axis, complete] : llvm::zip(index.axes, index.complete))
        span(axis, complete, access.spans.back());
      break;
    case ValueKind::Constant:
    case ValueKind::Scalar:
      if (failed(addPosition(index, i, where, location)))
        return failure();
      break;
    default:
      reportIndex(view, indices, i, where);
      return failure();
    }
  }
  return access;
}

ArrayAttr TileOps::getIndexAxes(const Access &access) {
  if (!access.zipped)
    return nullptr;
  SmallVector<mlir::Attribute> spans;
  for (const llvm::SmallVector<int64_t, 2> &span : access.spans)
    spans.push_back(builder().getI64ArrayAttr(span));
  return builder().getArrayAttr(spans);
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

ValueResult TileOps::loadTile(const SemaValue &view,
                              llvm::ArrayRef<SemaValue> indices,
                              const SemaValue *mask, const ConstantData *pad,
                              DictionaryAttr hints, const OpSite &site) {
  if (failed(checkRead(view, site)))
    return failure();
  FailureOr<Access> access = getAccess(view, indices, site);
  if (failed(access) ||
      failed(checkTileSize(access->alignment.axes, site.range)))
    return failure();
  OpBuilder &b = builder();
  const std::string &name = parameterNames[view.parameter];
  Location location = context.loc(site.range, name);
  Type element = getStorageType(b.getContext(), view.dtype);
  Type type = access->alignment.axes.empty()
                  ? element
                  : getType(view.dtype, access->alignment.axes);
  mlir::Value maskValue;
  if (mask) {
    for (Axis *axis : mask->axes)
      if (!llvm::is_contained(access->alignment.axes, axis)) {
        context
            .error(site.range, "the mask has axis " + axis->name +
                                   ", the loaded tile of " + name + " is " +
                                   describeAxes(access->alignment.axes))
            .addNote(axis->where, "the axis " + axis->name)
            .setFix("tsr.load(" + name + ", (" + axis->name + ",), mask=mask)");
        return failure();
      }
    maskValue = spread(*mask, DType::Bool, access->alignment, location);
  }
  TypedAttr padAttr;
  if (pad)
    padAttr = cast<TypedAttr>(makeConstant(*pad, view.dtype, element, location)
                                  .getDefiningOp<arith::ConstantOp>()
                                  .getValue());
  auto load =
      tile::LoadOp::create(b, location, type, view.ssa, access->indices,
                           maskValue, getIndexAxes(*access), padAttr, hints);
  mlir::Value result = load;
  if (context.quote(site.range).find(".start") != std::string::npos)
    elementReads[location] = site.range;
  if (access->alignment.axes.empty()) {
    if (view.dtype == DType::I64)
      result =
          arith::IndexCastOp::create(b, location, b.getIndexType(), result);
    return SemaValue::makeScalar(result, view.dtype);
  }
  return SemaValue::makeTile(result, view.dtype, access->alignment.axes,
                             access->alignment.complete);
}

/// An axis that cat, reshape or arange made can be stored along `:` if the size
/// is the same: it has no other name that could disagree.
static SemaValue adoptWholeAxes(const SemaValue &value,
                                llvm::ArrayRef<Axis *> stored) {
  SemaValue result = value;
  for (Axis *&axis : result.axes) {
    if (axis->kind != Axis::Kind::Own || llvm::is_contained(stored, axis))
      continue;
    Axis *match = nullptr;
    for (Axis *candidate : stored)
      if (candidate->kind == Axis::Kind::Whole &&
          candidate->size == axis->size &&
          !llvm::is_contained(result.axes, candidate)) {
        if (match)
          return value; // which one is meant?
        match = candidate;
      }
    if (match)
      axis = match;
  }
  return result;
}

LogicalResult TileOps::storeTile(const SemaValue &view,
                                 llvm::ArrayRef<SemaValue> indices,
                                 const SemaValue &given, const Expr *valueExpr,
                                 const SemaValue *mask, DictionaryAttr hints,
                                 std::optional<tile::ReduceKind> atomic,
                                 const OpSite &site) {
  if (failed(checkWrite(view, atomic.has_value(), site)))
    return failure();
  FailureOr<Access> access = getAccess(view, indices, site);
  if (failed(access))
    return failure();
  OpBuilder &b = builder();
  const std::string &name = parameterNames[view.parameter];
  Location location = context.loc(site.range, name);
  SemaValue value = adoptWholeAxes(given, access->alignment.axes);
  if (failed(checkOperand(value, valueExpr, site.range, "a store")))
    return failure();
  for (Axis *axis : value.axes)
    if (!llvm::is_contained(access->alignment.axes, axis))
      return reportExtraAxis(value, valueExpr, *axis, access->alignment.axes,
                             site);
  // The one implicit conversion: rounding to the dtype in memory. A float does
  // not become an int, nor a number a bool, without being asked.
  PromotionOperand operand = value.getPromotionOperand();
  DTypeKind from = getDTypeKind(operand.dtype), to = getDTypeKind(view.dtype);
  bool converts = from == to || (operand.weak && from == DTypeKind::Int &&
                                 to == DTypeKind::Float);
  if (!converts)
    return reportStoredKind(view, operand.dtype, valueExpr, site);
  // Sums of i8 are i32: what an Out without a dtype of its own would lose.
  if (view.dtype == DType::I8 && isInteger(operand.dtype) &&
      operand.dtype != DType::I8 && !operand.weak) {
    llvm::StringRef parameter = parameterTexts[view.parameter];
    const char *name = getDTypeName(operand.dtype);
    bool own = parameter.contains("i8");
    context
        .error(valueExpr ? valueExpr->range : site.range,
               "a store rounds, it does not cut " + std::string(name) +
                   " down to i8")
        .addNote(parameterRanges[view.parameter], parameter.str() + " is i8")
        .setFix(!own && parameter.consume_back("]")
                    ? parameter.str() + ", " + name + "]"
                    : asObject(context.quote(valueExpr ? valueExpr->range
                                                       : site.range)) +
                          ".to(i8)");
    return failure();
  }
  mlir::Value stored = spread(value, view.dtype, access->alignment, location);
  if (stored.getType().isIndex())
    stored = arith::IndexCastOp::create(b, location, b.getI64Type(), stored);
  mlir::Value maskValue;
  if (mask) {
    for (Axis *axis : mask->axes)
      if (!llvm::is_contained(access->alignment.axes, axis)) {
        context
            .error(site.range, "the mask has axis " + axis->name +
                                   ", the stored tile is " +
                                   describeAxes(access->alignment.axes))
            .addNote(axis->where, "the axis " + axis->name)
            .setFix("tsr.store(" + name + ", (" + axis->name +
                    ",), x, mask=mask)");
        return failure();
      }
    maskValue = spread(*mask, DType::Bool, access->alignment, location);
  }
  if (atomic)
    tile::AtomicOp::create(b, location, *atomic, stored, view.ssa,
                           access->indices, maskValue, getIndexAxes(*access));
  else
    tile::StoreOp::create(b, location, stored, view.ssa, access->indices,
                          maskValue, getIndexAxes(*access), hints);
  SmallVector<Axis *> repeated;
  for (Axis *axis : access->alignment.axes)
    if (!llvm::is_contained(value.axes, axis))
      repeated.push_back(axis);
  writes.try_emplace(location, WriteSite{view.parameter, site.range,
                                         getIndexTuple(context, site),
                                         value.ssa, repeated});
  return success();
}

//===----------------------------------------------------------------------===//
// Subscripts
//===----------------------------------------------------------------------===//

/// x[:, None]: allowed, never needed. The axes stay; where they were written is
/// kept to catch what would be an outer op in NumPy.
ValueResult TileOps::subscriptTile(const SemaValue &tile,
                                   llvm::ArrayRef<SemaValue> indices,
                                   const OpSite &site) {
  std::string pattern;
  for (auto [i, index] : llvm::enumerate(indices)) {
    if (index.isNone()) {
      pattern += '1';
    } else if (index.kind == ValueKind::Slice && index.elements.empty()) {
      pattern += 'x';
    } else {
      reportTileIndex(tile, index, site.operands[i], site);
      return failure();
    }
  }
  size_t axes = llvm::count(pattern, 'x');
  if (axes != tile.axes.size()) {
    std::string colons;
    for (size_t i = 0; i < tile.axes.size(); ++i)
      colons += i ? ", :" : ":";
    context
        .error(site.range, "the tile is " + describeAxes(tile.axes) + ", but " +
                               std::to_string(axes) + " ':' are given")
        .setFix((tile.name.empty() ? std::string("x") : tile.name) + "[" +
                colons + "]");
    return failure();
  }
  SemaValue result = tile;
  result.text = pattern.find('1') == std::string::npos ? "" : pattern;
  return result;
}

ValueResult TileOps::subscript(const SemaValue &object,
                               llvm::ArrayRef<SemaValue> indices,
                               const OpSite &site) {
  if (object.kind == ValueKind::View)
    return loadTile(object, indices, nullptr, nullptr, nullptr, site);
  if (object.isTile())
    return subscriptTile(object, indices, site);
  if (object.isScalar() && llvm::all_of(indices, [](const SemaValue &index) {
        return index.isNone();
      }))
    return object;
  return reportNotIndexable(object, site);
}

LogicalResult TileOps::store(const SemaValue &object,
                             llvm::ArrayRef<SemaValue> indices,
                             const SemaValue &value, const OpSite &site) {
  if (object.kind == ValueKind::View)
    return storeTile(object, indices, value, site.operands.back(), nullptr,
                     nullptr, std::nullopt, site);
  if (object.isTile()) {
    std::string name = object.name.empty() ? "x" : object.name;
    context
        .error(site.range, "a tile is a value; the elements of " + name +
                               " cannot be assigned")
        .setFix(getStoreFix(context, object, name, value, indices, site));
    return failure();
  }
  return reportNotIndexable(object, site);
}

//===----------------------------------------------------------------------===//
// Full forms
//===----------------------------------------------------------------------===//

FailureOr<DictionaryAttr> TileOps::getHints(
    llvm::ArrayRef<std::pair<const char *, const CallArgument *>> options) {
  SmallVector<NamedAttribute> hints;
  for (auto [name, argument] : options) {
    if (!argument)
      continue;
    if (llvm::StringRef(name) == "vector") {
      FailureOr<int64_t> value =
          frontend::getConstantInt(context, *argument, name);
      if (failed(value))
        return failure();
      hints.push_back(
          builder().getNamedAttr(name, builder().getI64IntegerAttr(*value)));
      continue;
    }
    static const std::map<std::string, std::vector<llvm::StringRef>> known = {
        {"cache", {"keep", "stream"}},
        {"via", {"auto", "shared", "direct", "tma"}},
        {"swizzle", {"auto", "none", "xor"}}};
    FailureOr<std::string> value =
        getChoice(context, *argument, name, known.at(name));
    if (failed(value))
      return failure();
    hints.push_back(
        builder().getNamedAttr(name, builder().getStringAttr(*value)));
  }
  if (hints.empty())
    return DictionaryAttr();
  return builder().getDictionaryAttr(hints);
}

/// The indices of the full forms: a tuple, or one index.
static std::vector<SemaValue> getIndexList(const SemaValue &value) {
  if (value.kind == ValueKind::Tuple)
    return value.elements;
  return {value};
}

/// The site of a full form: operands are the expressions of the indices.
static OpSite getIndexSite(const OpSite &site, const CallArgument &indices,
                           const Expr *value) {
  OpSite result = site;
  result.operands.clear();
  if (auto *tuple = dynCast<Tuple>(indices.expr))
    result.operands.append(tuple->elts.begin(), tuple->elts.end());
  else
    result.operands.push_back(indices.expr);
  if (value)
    result.operands.push_back(value);
  return result;
}

/// The first argument of a full form. `arguments` are all of them, for the call
/// as it should be.
static LogicalResult checkView(SemaContext &context,
                               const BoundArguments &bound,
                               llvm::StringRef callee) {
  const CallArgument &argument = *bound[0];
  if (argument.value.kind == ValueKind::View)
    return success();
  std::string text = context.quote(argument.where);
  Diagnostic &diagnostic = context.error(
      argument.where, callee.str() + " needs a tensor parameter, but " + text +
                          " is " + describe(argument.value));
  // X[m] instead of X, (m,).
  if (auto *element = dynCast<Subscript>(argument.expr)) {
    std::string indices = context.quote(element->slice->range);
    bool one = !is<Tuple>(element->slice);
    std::string fix = callee.str() + "(" +
                      context.quote(element->value->range) + ", (" + indices +
                      (one ? ",)" : ")");
    for (size_t i = 1; i < bound.size(); ++i)
      if (bound[i])
        fix += ", " + context.quote(bound[i]->where);
    diagnostic.setFix(fix + ")");
  } else {
    diagnostic.setFix(callee.str() + "(X, (m,)" +
                      (bound.size() > 2 && bound[2]
                           ? ", " + context.quote(bound[2]->where)
                           : std::string()) +
                      ")");
  }
  return failure();
}

/// The index and the value of a full form in each other's place.
static LogicalResult checkOrder(SemaContext &context,
                                const BoundArguments &bound,
                                llvm::StringRef callee) {
  auto isIndex = [](const SemaValue &value) {
    return value.kind == ValueKind::Range || value.kind == ValueKind::Tuple;
  };
  const CallArgument &index = *bound[1], &value = *bound[2];
  bool swapped = isIndex(value.value) && !isIndex(index.value);
  if (!swapped)
    return success();
  context
      .error(index.where, callee.str() +
                              " takes the tensor, the index, then "
                              "the value, but " +
                              context.quote(index.where) + " is " +
                              describe(index.value))
      .setFix(callee.str() + "(" + context.quote(bound[0]->where) + ", " +
              context.quote(value.where) + ", " + context.quote(index.where) +
              ")");
  return failure();
}

static LogicalResult checkMask(SemaContext &context,
                               const CallArgument &argument) {
  const SemaValue &mask = argument.value;
  bool boolean = mask.getPromotionOperand().dtype == DType::Bool;
  if ((mask.isTile() || mask.isScalar() || mask.isConstant()) && boolean)
    return success();
  std::string text = quoteValue(context, argument);
  context
      .error(getValueRange(argument),
             "a mask is a tile of bool, but " + text + " is " + describe(mask))
      .setFix("mask=" + (mask.isTile() ? text + " != 0"
                         : mask.kind == ValueKind::Range
                             ? text + ".index < " +
                                   (mask.axis->dim ? mask.axis->dim->name
                                                   : std::string("N"))
                             : std::string("x > 0")));
  return failure();
}

ValueResult TileOps::callLoad(const CallArguments &arguments,
                              const OpSite &site) {
  FailureOr<BoundArguments> bound = bindArguments(
      context, "tsr.load", arguments,
      {"x", "index", "*mask", "*pad", "*cache", "*via", "*vector", "*swizzle"},
      2, site);
  if (failed(bound) || failed(checkView(context, *bound, "tsr.load")))
    return failure();
  const CallArgument *mask = (*bound)[2], *pad = (*bound)[3];
  if (mask && mask->value.isNone())
    mask = nullptr;
  if (mask && failed(checkMask(context, *mask)))
    return failure();
  if (pad && (!pad->value.isConstant() || !pad->value.constant.isNumber())) {
    context
        .error(getValueRange(*pad), "pad is a constant number, but " +
                                        quoteValue(context, *pad) + " is " +
                                        describe(pad->value))
        .setFix("pad=0, and tsr.where(mask, x, " + quoteValue(context, *pad) +
                ")");
    return failure();
  }
  FailureOr<DictionaryAttr> hints = getHints({{"cache", (*bound)[4]},
                                              {"via", (*bound)[5]},
                                              {"vector", (*bound)[6]},
                                              {"swizzle", (*bound)[7]}});
  if (failed(hints))
    return failure();
  return loadTile((*bound)[0]->value, getIndexList((*bound)[1]->value),
                  mask ? &mask->value : nullptr,
                  pad ? &pad->value.constant : nullptr, *hints,
                  getIndexSite(site, *(*bound)[1], nullptr));
}

ValueResult TileOps::callStore(const CallArguments &arguments,
                               const OpSite &site) {
  if (failed(checkStoreIndex(arguments, site)))
    return failure();
  FailureOr<BoundArguments> bound =
      bindArguments(context, "tsr.store", arguments,
                    {"x", "index", "value", "*mask", "*cache"}, 3, site);
  if (failed(bound) || failed(checkView(context, *bound, "tsr.store")) ||
      failed(checkOrder(context, *bound, "tsr.store")))
    return failure();
  const CallArgument *mask = (*bound)[3];
  if (mask && mask->value.isNone())
    mask = nullptr;
  if (mask && failed(checkMask(context, *mask)))
    return failure();
  FailureOr<DictionaryAttr> hints = getHints({{"cache", (*bound)[4]}});
  if (failed(hints))
    return failure();
  const CallArgument &value = *(*bound)[2];
  ValueResult stored = context.decay(value.value, value.where);
  if (failed(stored) ||
      failed(storeTile((*bound)[0]->value, getIndexList((*bound)[1]->value),
                       *stored, value.expr, mask ? &mask->value : nullptr,
                       *hints, std::nullopt,
                       getIndexSite(site, *(*bound)[1], value.expr))))
    return failure();
  return SemaValue::makeConstant({});
}

ValueResult TileOps::callAtomic(llvm::StringRef name,
                                const CallArguments &arguments,
                                const OpSite &site) {
  FailureOr<BoundArguments> bound =
      bindArguments(context, ("tsr." + name).str(), arguments,
                    {"x", "index", "value", "*mask"}, 3, site);
  if (failed(bound) ||
      failed(checkView(context, *bound, ("tsr." + name).str())) ||
      failed(checkOrder(context, *bound, ("tsr." + name).str())))
    return failure();
  const SemaValue &view = (*bound)[0]->value;
  const std::string &mode = modes[view.parameter];
  std::string op = name.drop_front(strlen("atomic_")).str();
  std::string needed = "reduce_" + (op == "add" ? std::string("sum") : op);
  if (llvm::StringRef(mode).starts_with("reduce_") && mode != needed) {
    std::string right = parameterTexts[view.parameter];
    if (size_t at = right.find(mode); at != std::string::npos)
      right.replace(at, mode.size(), needed);
    context
        .error(site.range, "tsr." + name.str() + " on " +
                               parameterNames[view.parameter] +
                               ", which is a Region[" + mode + "]")
        .addNote(parameterRanges[view.parameter],
                 parameterTexts[view.parameter])
        .setFix(right);
    return failure();
  }
  const CallArgument *mask = (*bound)[3];
  if (mask && failed(checkMask(context, *mask)))
    return failure();
  tile::ReduceKind kind = op == "add"   ? tile::ReduceKind::Sum
                          : op == "max" ? tile::ReduceKind::Max
                                        : tile::ReduceKind::Min;
  const CallArgument &value = *(*bound)[2];
  ValueResult stored = context.decay(value.value, value.where);
  if (failed(stored) ||
      failed(storeTile(view, getIndexList((*bound)[1]->value), *stored,
                       value.expr, mask ? &mask->value : nullptr, nullptr, kind,
                       getIndexSite(site, *(*bound)[1], value.expr))))
    return failure();
  return SemaValue::makeConstant({});
}

} // namespace tessera::frontend
