//===- SemaFixesValues.cpp - Starts, stores and updates to write ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ParseText.h"
#include "compiler/Frontend/SemaImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace tessera::frontend {

std::pair<std::string, std::string> getBlocks(llvm::StringRef extent) {
  // tsr.cdiv(M // 2, BM), or M // BM.
  llvm::StringRef dim, size, inner = extent.split("cdiv(").second;
  if (!inner.empty() && inner.consume_back(")"))
    std::tie(dim, size) = inner.rsplit(',');
  else
    std::tie(dim, size) = extent.rsplit("//");
  return {dim.trim().str(), size.trim().str()};
}

LogicalResult checkAccumulate(SemaContext &context, DType operand,
                              const OpSite &site) {
  if (!context.accum.isDType() || !isFloat(operand) ||
      getDTypeBits(context.accum.asDType()) >= getDTypeBits(operand))
    return success();
  std::string wide = getDTypeName(operand);
  context
      .error(site.range, std::string("@tsr.accum(") +
                             getDTypeName(context.accum.asDType()) +
                             ") is narrower than the operands, " + wide)
      .setFix("@tsr.accum(" + wide + ")");
  return failure();
}

std::string getPlaceMask(const std::string &name, size_t rank, size_t axis,
                         int64_t place) {
  std::string size = name + ".shape[" + std::to_string(axis) + "]";
  std::string mask = "tsr.arange(" + size + ") == " +
                     (place < 0 ? size + " - " + std::to_string(-place)
                                : std::to_string(place));
  if (axis + 1 >= rank)
    return mask;
  mask = "(" + mask + ")[:";
  for (size_t i = axis + 1; i < rank; ++i)
    mask += ", None";
  return mask + "]";
}

/// The axis that has the only constant among indices that are else `:`.
static std::optional<size_t> findPlace(llvm::ArrayRef<SemaValue> indices) {
  std::optional<size_t> found;
  for (auto [i, index] : llvm::enumerate(indices)) {
    auto isNone = [](const SemaValue &part) { return part.isNone(); };
    bool isWhole =
        index.kind == ValueKind::Slice && llvm::all_of(index.elements, isNone);
    if (!isWhole && (found || !index.getConstantInt()))
      return std::nullopt;
    if (!isWhole)
      found = i;
  }
  return found;
}

llvm::SmallVector<std::string> SemaContext::dimNamesOf(llvm::StringRef name) {
  llvm::SmallVector<std::string> dims;
  std::optional<SemaValue> array = tryFix(name.str());
  if (array && array->kind == ValueKind::View)
    for (Dim *dim : array->dims)
      dims.push_back(dim->name);
  return dims;
}

/// `x` for an expression `x.to(fp16)` whose x has the dtype; else empty.
static std::string findUnconverted(SemaContext &context, const Expr *expr,
                                   DType wanted) {
  auto *call = dynCast<Call>(expr);
  auto *method = call ? dynCast<Attribute>(call->func) : nullptr;
  if (!method || method->attr != "to")
    return {};
  std::string text = context.quote(method->value->range);
  std::optional<SemaValue> value = context.tryFix(text);
  bool isIt =
      value && (value->isTile() || value->isTensor()) && value->dtype == wanted;
  return isIt ? text : std::string();
}

void leaveOutConversion(SemaContext &context, Diagnostic &diagnostic,
                        const Expr *const exprs[2], const DType dtypes[2]) {
  for (int i : {0, 1})
    if (std::string plain = findUnconverted(context, exprs[i], dtypes[1 - i]);
        !plain.empty())
      diagnostic.setFix(plain, exprs[i]->range);
}

std::string getStoreFix(const SemaContext &context, const SemaValue &object,
                        const std::string &name, const SemaValue &given,
                        llvm::ArrayRef<SemaValue> indices, const OpSite &site) {
  std::string value = site.operands.empty() || !site.operands.back()
                          ? "new"
                          : context.quote(site.operands.back()->range);
  std::string mask;
  std::optional<size_t> axis =
      object.isTensor() ? findPlace(indices) : std::nullopt;
  const Expr *expr = site.operands.size() >= 2
                         ? site.operands[site.operands.size() - 2]
                         : nullptr;
  // What is stored lacks the axis: x[:, 0] = y[:, 0].
  std::string spread = value;
  if (axis && *axis > 0 && given.isTensor() &&
      given.dims.size() + 1 == object.dims.size()) {
    if (!site.operands.empty() && site.operands.back())
      spread = context.parenthesize(site.operands.back());
    spread += "[";
    for (size_t i = 0; i < *axis; ++i)
      spread += ":, ";
    spread += "None]";
  }
  if (axis)
    mask = getPlaceMask(name, object.dims.size(), *axis,
                        *indices[*axis].getConstantInt());
  else if (indices.size() == 1 && expr &&
           (indices[0].isTensor() || indices[0].isTile()) &&
           indices[0].getPromotionOperand().dtype == DType::Bool)
    mask = context.quote(expr->range);
  // x[:] = y is all of x.
  bool isWhole = llvm::all_of(indices, [](const SemaValue &index) {
    return index.kind == ValueKind::Slice && index.elements.empty();
  });
  if (isWhole && (given.isTensor() || given.isTile()) &&
      given.dims.size() == object.dims.size() &&
      given.axes.size() == object.axes.size())
    return name + " = " + value;
  if (mask.empty())
    return name + " = tsr.where(mask, " + value + ", " + name +
           (object.isTile() ? ")" : "), or a @tsr.kernel, which stores");
  return name + " = tsr.where(" + mask + ", " + spread + ", " + name + ")";
}

/// "best = tsr.full(tsr.lowest, m)"
static std::string getFull(const std::string &name, llvm::StringRef value,
                           llvm::ArrayRef<Axis *> axes) {
  std::string text = name + " = tsr.full(" + value.str();
  for (Axis *axis : axes)
    text += ", " + axis->name;
  return text + ")";
}

std::string Analyzer::getNeutralStart(const std::string &name,
                                      const SemaValue &like, BinaryOperator op,
                                      llvm::StringRef where,
                                      SourceRange loop) const {
  if (like.kind == ValueKind::Range) {
    // "for k in tsr.tile(K, BK):" once more, around the line.
    std::string head = quoteBefore(like.axis->where) + quote(like.axis->where) +
                       quoteBehind(like.axis->where);
    llvm::StringRef text = llvm::StringRef(head).trim();
    return text.starts_with("for ") && text.ends_with(":")
               ? text.str()
               : "the use of " + name + " inside that loop";
  }
  // A tile over a range that only a loop has is made again where it is used.
  auto isInside = [&](Axis *axis) {
    return loop.isValid() && axis->where.begin >= loop.begin;
  };
  if (like.isTile() && llvm::any_of(like.axes, isInside))
    return name + " = ... once more in this loop";
  bool isOne = op == BinaryOperator::Mult || op == BinaryOperator::Div;
  PromotionOperand operand = like.getPromotionOperand();
  std::string dtype = getDTypeName(operand.dtype);
  std::string number = isOne ? "1" : "0";
  if (isFloat(operand.dtype))
    number += ".0";
  if (operand.dtype == DType::Bool)
    number = "False";
  if (like.isTensor() && !like.dims.empty())
    return name + " = tsr." + (isOne ? "ones" : "zeros") + "(...) of its shape";
  if (!like.isTile() || like.axes.empty())
    return name + (operand.weak ? "" : ": " + dtype) + " = " + number + " " +
           where.str();
  std::string text =
      name + " = tsr." + (isOne ? "full(" + number : std::string("zeros("));
  for (auto [i, axis] : llvm::enumerate(like.axes))
    text += (i || isOne ? ", " : "") + axis->name;
  if (operand.dtype != DType::FP32)
    text += ", dtype=tsr." + dtype;
  return text + ") " + where.str();
}

std::string Analyzer::getFirstValueFix(const std::string &name, std::string fix,
                                       const SourceRange &where) const {
  std::string front = quoteBefore(where), back = quoteBehind(where);
  // A loop once more, around a line that stores at its positions.
  if (llvm::StringRef(fix).ends_with(":")) {
    std::string line = llvm::StringRef(front).ltrim().str() + name +
                       llvm::StringRef(back).rtrim().str();
    std::string target = llvm::StringRef(line).split(" = ").first.str();
    bool isStored =
        line != target && (llvm::StringRef(target).contains("[" + name) ||
                           llvm::StringRef(target).contains(", " + name));
    // total / n: the number of elements.
    llvm::StringRef head = front;
    bool isIndex = head.count('[') > head.count(']') ||
                   llvm::StringRef(back).starts_with(".");
    llvm::StringRef extent =
        llvm::StringRef(fix).split("tile(").second.split(',').first;
    fix = isStored ? fix + "\n    " + line
          : isIndex || extent.empty()
              ? "the use of " + name + " inside that loop"
              : extent.str();
  }
  // A factor is 1 where nothing is said.
  llvm::StringRef before = llvm::StringRef(front).rtrim();
  bool isFactor = before.ends_with("*") || before.ends_with("/") ||
                  llvm::StringRef(back).ltrim().starts_with("*");
  if (size_t at = fix.find(" = 0"); isFactor && at != std::string::npos)
    fix[at + 3] = '1';
  return fix;
}

std::string Analyzer::suggestFirst(const std::string &name,
                                   const SemaValue &later) const {
  auto source = scopes.back()->sources.find(name);
  std::string text =
      source != scopes.back()->sources.end() && source->second.value
          ? quote(source->second.value->range)
          : std::string();
  llvm::StringRef used = text;
  llvm::StringRef value = used.contains("max")   ? "tsr.lowest"
                          : used.contains("min") ? "tsr.inf"
                                                 : "0.0";
  return getFull(name, value, later.axes) + " before the loop";
}

std::string Analyzer::suggestStart(const std::string &name,
                                   const SourceRange &where) {
  std::string before = quoteBefore(where), behind = quoteBehind(where);
  llvm::StringRef call = llvm::StringRef(before).rtrim();
  // tsr.mma(a, b, acc): zeros, with the axes of the product.
  if (size_t at = call.rfind("tsr.mma("); at != llvm::StringRef::npos) {
    std::vector<std::string> given =
        splitAtCommas(call.drop_front(at + strlen("tsr.mma(")));
    std::optional<SemaValue> product;
    if (given.size() == 2)
      product = tryFix(given[0] + " @ " + given[1]);
    if (product && product->isTile()) {
      std::string zeros = name + " = tsr.zeros(";
      for (auto [i, axis] : llvm::enumerate(product->axes))
        zeros += (i ? ", " : "") + axis->name;
      if (product->dtype != DType::FP32)
        zeros += std::string(", dtype=tsr.") + getDTypeName(product->dtype);
      return zeros + ") before the loop";
    }
  }
  // tsr.maximum(top, x) in a loop: the least there is, with the axes of x.
  bool isMaximum = call.ends_with("tsr.maximum("),
       isMinimum = call.ends_with("tsr.minimum(");
  if (isMaximum || isMinimum) {
    std::vector<std::string> given = splitAtCommas(name + behind);
    std::optional<SemaValue> value;
    if (given.size() == 2)
      value = tryFix(given[1]);
    if (value && value->isTile())
      return getFull(name, isMaximum ? "tsr.lowest" : "tsr.inf", value->axes) +
             (loopDepth ? " before the loop" : " before this line");
  }
  // acc = acc * f + x: zeros, with the axes that the value has then; they are
  // no start of a maximum.
  llvm::StringRef target = llvm::StringRef(before).ltrim();
  bool isExtreme = llvm::any_of(
      llvm::ArrayRef{"tsr.maximum(", "tsr.minimum(", "tsr.max(", "tsr.min("},
      [&](llvm::StringRef word) { return target.contains(word); });
  if (!isExtreme && target.consume_front(name + " = ")) {
    std::string value =
        changeWords((target + name + behind).str(),
                    [&](llvm::StringRef word, char dot, char) -> std::string {
                      return word == name && dot != '.' ? "0.0" : word.str();
                    });
    std::optional<SemaValue> later = tryFix(value);
    std::string place = loopDepth ? " before the loop" : " before this line";
    if (later && later->isTile() && isFloat(later->dtype)) {
      std::string zeros = name + " = tsr.zeros(";
      for (auto [i, axis] : llvm::enumerate(later->axes))
        zeros += (i ? ", " : "") + axis->name;
      return zeros + ")" + place;
    }
    if (later && later->isTensor() && isFloat(later->dtype) &&
        !later->dims.empty()) {
      std::string sizes;
      for (const Dim *dim : later->dims)
        sizes += (sizes.empty() ? "" : ", ") +
                 (dim->size >= 0 ? std::to_string(dim->size) : dim->name);
      return name + " = tsr.zeros((" + sizes +
             (later->dims.size() == 1 ? ",))" : "))") + place;
    }
  }
  return name + " = ... before " + (loopDepth ? "the loop" : "this line") +
         ", or a parameter " + name;
}

bool Analyzer::isKnown(const std::string &name) {
  const Scope &scope = this->scope();
  return scope.variables.count(name) || scope.gone.count(name) ||
         scope.captured->count(name) ||
         (scope.constants && scope.constants->count(name)) ||
         llvm::any_of(getDims(), [&](const std::unique_ptr<Dim> &dim) {
           return dim->name == name;
         });
}

void Analyzer::reportUndefinedSum(const Name &name, const AugAssign &stmt) {
  ValueResult value = evaluate(stmt.value);
  if (failed(value))
    return;
  error(name.range, "'" + name.id + "' is not defined before " +
                        getOperatorSpelling(stmt.op) + "= changes it")
      .setFix(
          getNeutralStart(name.id, *value, stmt.op,
                          loopDepth ? "before the loop" : "before this line"));
}

std::string Analyzer::suggestReduction(const Carried &carried,
                                       const SemaValue &after) const {
  SmallVector<Axis *> more;
  for (Axis *axis : after.axes)
    if (!llvm::is_contained(carried.before.axes, axis))
      more.push_back(axis);
  auto source = scopes.back()->sources.find(carried.name);
  // An axis of the loop itself is not there before it.
  if (more.size() != 1 || source == scopes.back()->sources.end() ||
      !source->second.value ||
      more[0]->where.begin.line <= carried.before.origin.begin.line)
    return "";
  // acc = acc + x, top = tsr.maximum(top, x): x is reduced first.
  auto isName = [&](const Expr *expr) {
    auto *name = dynCast<Name>(expr);
    return name && name->id == carried.name;
  };
  // tsr.sum(x, dim=0), where another axis was meant: along the loop.
  auto along = [&](const Expr *value, const std::string &reduction) {
    auto *call = dynCast<Call>(value);
    bool isAlong =
        call && call->args.size() == 1 && call->keywords.size() == 1 &&
        (call->keywords[0].name == "dim" || call->keywords[0].name == "axis") &&
        quote(call->func->range) == reduction;
    return reduction + "(" + quote((isAlong ? call->args[0] : value)->range) +
           ", " + more[0]->name + ")";
  };
  if (auto *sum = dynCast<BinOp>(source->second.value);
      sum && source->second.op.empty() && sum->op == BinaryOperator::Add &&
      isName(sum->left))
    return carried.name + " = " + carried.name + " + " +
           along(sum->right, "tsr.sum");
  if (auto *call = dynCast<Call>(source->second.value);
      call && source->second.op.empty() && call->args.size() == 2 &&
      isName(call->args[0]))
    for (llvm::StringRef op : {"max", "min"})
      if (quote(call->func->range) == ("tsr." + op + "imum").str())
        return carried.name + " = tsr." + op.str() + "imum(" + carried.name +
               ", " + along(call->args[1], ("tsr." + op).str()) + ")";
  if (source->second.op != "+")
    return "";
  const Expr *value = source->second.value;
  std::string text = quote(value->range), start = carried.name + " += ";
  // tsr.sum(x, n), where n is what stays: the other axis was meant.
  if (auto *call = dynCast<Call>(value); call && call->args.size() == 2)
    if (auto *over = dynCast<Name>(call->args[1]))
      for (Axis *axis : carried.before.axes)
        if (axis->name == over->id)
          return start + quote(call->func->range) + "(" +
                 quote(call->args[0]->range) + ", " + more[0]->name + ")";
  return start + along(value, "tsr.sum");
}

std::string Analyzer::suggestUpdate(const Call &call) {
  std::string text = quote(call.range), targets;
  // The last line of a function that returns nothing.
  bool returns = false;
  for (const Stmt *stmt : getBody())
    returns |= is<Return>(stmt) || is<If>(stmt);
  if (scopes.size() == 1 && !returns && !getBody().empty() &&
      getBody().back()->range == call.range)
    return "return " + text;
  auto found = scope().captured->find(quote(call.func->range));
  if (found == scope().captured->end() || !found->second.function)
    return "y = " + text;
  const CapturedFunction &callee = *found->second.function;
  size_t before = diags.getDiagnostics().size();
  FailureOr<Signature> signature =
      describeSignature(*callee.definition, callee.captured, diags);
  diags.truncate(before);
  if (failed(signature))
    return "y = " + text;
  // What is updated in place outside of a function gets the new value here.
  for (auto [i, parameter] : llvm::enumerate(signature->parameters)) {
    using Kind = ParameterDescription::Kind;
    if (parameter.kind != Kind::InOut && parameter.kind != Kind::Region)
      continue;
    const Expr *given = i < call.args.size() ? call.args[i] : nullptr;
    for (const Keyword &keyword : call.keywords)
      if (keyword.name == parameter.name)
        given = keyword.value;
    targets += (targets.empty() ? "" : ", ") +
               (given && is<Name>(given) ? quote(given->range) : "y");
  }
  return (targets.empty() ? "y" : targets) + " = " + text;
}

/// The ranges of loops over single dims, by the text of the dim, and the last
/// name that is assigned in the innermost of them.
static void findRanges(const Analyzer &sema, const Body &body,
                       llvm::StringMap<std::string> &ranges,
                       std::string &last) {
  for (const Stmt *stmt : body) {
    if (auto *assign = dynCast<Assign>(stmt)) {
      if (auto *name = dynCast<Name>(assign->targets.front()))
        last = name->id;
      continue;
    }
    auto *loop = dynCast<For>(stmt);
    if (!loop)
      continue;
    // tsr.grid(tsr.tile(M, 64), N): one target for each.
    std::vector<const Expr *> targets = {loop->target}, extents = {loop->iter};
    if (auto *tuple = dynCast<Tuple>(loop->target))
      targets.assign(tuple->elts.begin(), tuple->elts.end());
    if (auto *call = dynCast<Call>(loop->iter);
        call && sema.quote(call->func->range) == "tsr.grid")
      extents.assign(call->args.begin(), call->args.end());
    for (auto [target, extent] : llvm::zip(targets, extents)) {
      if (auto *call = dynCast<Call>(extent); call && !call->args.empty())
        extent = call->args.front();
      ranges[sema.quote(extent->range)] = sema.quote(target->range);
    }
    findRanges(sema, loop->body, ranges, last);
  }
}

std::string
Analyzer::suggestStore(const ParameterDescription &parameter) const {
  llvm::StringMap<std::string> ranges;
  std::string last, indices;
  findRanges(*this, request.definition->body, ranges, last);
  for (const std::string &dim : parameter.dims) {
    std::string name = ranges.lookup(dim);
    if (name.empty())
      name = ":";
    indices += (indices.empty() ? "" : ", ") + name;
  }
  // The last variable with its axes, or the one that has its name.
  std::vector<std::pair<std::string, SourceRange>> names;
  collectAssigned(request.definition->body, names);
  auto fits = [&](const std::string &name) {
    auto found = scopes.back()->variables.find(name);
    if (found == scopes.back()->variables.end() || !found->second.isTile())
      return false;
    std::vector<std::string> dims;
    for (Axis *axis : found->second.axes)
      dims.push_back(axis->dim ? axis->dim->name : "");
    return dims == parameter.dims;
  };
  if (!fits(last))
    for (const auto &[name, where] : names)
      if (fits(name))
        last = name;
  for (const auto &[name, where] : names)
    if (llvm::StringRef(name).equals_insensitive(parameter.name))
      last = name;
  return parameter.name + "[" + indices +
         "] = " + (last.empty() ? "..." : last);
}

} // namespace tessera::frontend
