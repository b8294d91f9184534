//===- SemaCall.cpp - Calls: Python's, math's, tessera's, the user's ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/SemaImpl.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;

namespace tessera::frontend {

FailureOr<CallArguments> Analyzer::evaluateArguments(const Call &call) {
  CallArguments result;
  for (const Expr *arg : call.args) {
    const Expr *inner = arg;
    if (auto *starred = dynCast<Starred>(arg))
      inner = starred->value;
    ValueResult value = evaluate(inner);
    if (failed(value))
      return failure();
    if (inner == arg) {
      result.arguments.push_back({"", *value, arg, arg->range});
      continue;
    }
    if (value->kind != ValueKind::Tuple) {
      error(arg->range, "* unpacks a tuple, but " + quote(inner->range) +
                            " is " + describe(*value))
          .setFix(quote(inner->range) + ", without the *");
      return failure();
    }
    for (const SemaValue &element : value->elements)
      result.arguments.push_back({"", element, inner, arg->range});
  }
  for (const Keyword &keyword : call.keywords) {
    if (keyword.name.empty()) {
      error(keyword.range, "** is not part of the language")
          .setFix("write the keywords out: name=value");
      return failure();
    }
    ValueResult value = evaluate(keyword.value);
    if (failed(value))
      return failure();
    result.arguments.push_back(
        {keyword.name, *value, keyword.value, keyword.range});
  }
  return result;
}

ValueResult Analyzer::evaluateCall(const Call &call) {
  OpSite site{call.range, call.func->range, {}};
  SemaValue callee;
  if (auto *attribute = dynCast<Attribute>(call.func)) {
    site.nameRange = attribute->attrRange;
    std::string dotted = getDottedName(attribute);
    std::string root = dotted.substr(0, dotted.find('.'));
    auto outside = scope().captured->find(dotted);
    bool captured = !dotted.empty() && !scope().variables.count(root) &&
                    outside != scope().captured->end();
    if (captured && outside->second.kind == CapturedValue::Kind::Other) {
      reportForeign(outside->second, dotted, call.func->range, &call);
      return failure();
    }
    // np.exp where the file has no np.
    if (!captured && isForeignModule(root) && !scope().variables.count(root) &&
        !scope().captured->count(root)) {
      reportForeign(CapturedValue::other("module"), dotted, call.func->range,
                    &call);
      return failure();
    }
    if (!captured && reportCopyInto(*attribute, call))
      return failure();
    if (attribute->attr == "format" &&
        reportFormat(attribute->value, call.args, call.range))
      return failure();
    if (!captured && reportMissingAttribute(*attribute, dotted))
      return failure();
    ValueResult base =
        captured ? evaluate(attribute) : evaluate(attribute->value);
    if (failed(base))
      return failure();
    if (captured) {
      callee = *base;
    } else if (base->kind == ValueKind::Builtin &&
               is<Attribute>(attribute->value)) {
      return reportNamespace(*attribute);
    } else if (base->kind == ValueKind::Module) {
      ValueResult value = evaluateModuleAttribute(*base, *attribute);
      if (failed(value))
        return failure();
      callee = *value;
    } else {
      FailureOr<CallArguments> arguments = evaluateArguments(call);
      if (failed(arguments))
        return failure();
      site.operands.push_back(attribute->value);
      for (const CallArgument &argument : arguments->arguments)
        site.operands.push_back(argument.expr);
      return library->method(*base, attribute->attr, *arguments, site);
    }
  } else {
    if (auto *name = dynCast<Name>(call.func);
        name && !scope().variables.count(name->id))
      if (auto outside = scope().captured->find(name->id);
          outside != scope().captured->end() &&
          outside->second.kind == CapturedValue::Kind::Other) {
        reportForeign(outside->second, name->id, call.func->range, &call);
        return failure();
      }
    if (auto *name = dynCast<Name>(call.func);
        name && reportUnknownCall(*name, call))
      return failure();
    ValueResult value = evaluate(call.func);
    if (failed(value))
      return failure();
    callee = *value;
  }
  if (callee.kind == ValueKind::Builtin &&
      reportElementArgument(call, callee.text))
    return failure();
  FailureOr<CallArguments> arguments = evaluateArguments(call);
  if (failed(arguments))
    return failure();
  for (const CallArgument &argument : arguments->arguments)
    site.operands.push_back(argument.expr);
  switch (callee.kind) {
  case ValueKind::Builtin: {
    llvm::StringRef name = callee.text;
    if (name.consume_front("python."))
      return callPython(name.str(), *arguments, site);
    if (name.consume_front("math."))
      return callMath(name.str(), *arguments, site);
    if (name == "tile" || name == "grid" || name == "unroll")
      return makeIterable(name.str(), *arguments, site);
    return library->call(name, *arguments, site);
  }
  case ValueKind::Function:
    return callFunction(callee, *arguments, site);
  case ValueKind::Constant:
    if (callee.constant.isDType()) {
      std::string written = quote(call.func->range);
      std::string dtype = getDTypeName(callee.constant.asDType());
      Diagnostic &diagnostic =
          error(call.range,
                (written == dtype ? dtype : written + ", " + dtype + ",") +
                    " is a dtype, which cannot be called");
      if (arguments->arguments.size() == 1 &&
          arguments->arguments[0].value.isConstant())
        diagnostic.setFix(quote(arguments->arguments[0].where) +
                          ", which takes the dtype of what it meets");
      else if (arguments->arguments.size() == 1)
        diagnostic.setFix(parenthesize(arguments->arguments[0].expr) + ".to(" +
                          getDTypeName(callee.constant.asDType()) + ")");
      return failure();
    }
    [[fallthrough]];
  default:
    reportNotCallable(call, callee);
    return failure();
  }
}

//===----------------------------------------------------------------------===//
// Python and math
//===----------------------------------------------------------------------===//

/// int(x), float(x), bool(x), round(x), abs(x) of a constant.
static FoldResult foldPython(const std::string &name, const ConstantData &x) {
  if (name == "bool")
    return {x.isTrue(), {}};
  if (name == "float" && x.isString()) {
    std::string text = llvm::StringRef(x.asString()).trim().lower();
    llvm::StringRef number = text;
    bool negative = number.consume_front("-");
    if (!negative)
      number.consume_front("+");
    double value = 0;
    if (number == "inf" || number == "infinity")
      value = std::numeric_limits<double>::infinity();
    else if (number == "nan")
      value = std::numeric_limits<double>::quiet_NaN();
    else if (number.getAsDouble(value))
      return {{},
              "float() needs a number, not the text \"" + x.asString() + "\""};
    return {negative ? -value : value, {}};
  }
  if (!x.isNumber())
    return {{}, name + "() needs a number, not " + x.getTypeName()};
  if (name == "float")
    return {x.asFloat(), {}};
  if (name == "abs") {
    if (x.isFloat())
      return {std::fabs(x.asFloat()), {}};
    return x.asInt() < 0 ? foldUnary(UnaryOperator::USub, x)
                         : FoldResult{x.asInt(), {}};
  }
  if (!x.isFloat())
    return {x.asInt(), {}};
  double number =
      name == "int" ? std::trunc(x.asFloat()) : std::nearbyint(x.asFloat());
  if (!(std::fabs(number) < 9.2e18))
    return {{}, name + "(" + x.str() + ") does not fit in 64 bits"};
  return {int64_t(number), {}};
}

ValueResult Analyzer::callPython(const std::string &name,
                                 const CallArguments &args,
                                 const OpSite &site) {
  if (name == "range")
    return makeIterable(name, args, site);
  if (name == "print") {
    error(site.range, "print stands alone on its line; it has no value")
        .setFix(quote(site.range) + ", on a line of its own");
    return failure();
  }
  for (const CallArgument &argument : args.arguments)
    if (!argument.keyword.empty()) {
      std::vector<std::string> texts;
      for (const CallArgument &other : args.arguments)
        if (other.keyword.empty())
          texts.push_back(quote(other.where));
      bool reduces = name == "min" || name == "max";
      error(argument.where, name +
                                "() of Python takes no keywords here, but '" +
                                argument.keyword + "' is given")
          .setFix(reduces ? "tsr." + quote(site.range)
                          : rewriteCall(*this, site, texts));
      return failure();
    }
  size_t count = args.arguments.size();
  if (name == "len") {
    if (count != 1) {
      error(site.range, "len() takes one argument, but " +
                            std::to_string(count) + " are given")
          .setFix("len(shape)");
      return failure();
    }
    const SemaValue &value = args.arguments[0].value;
    if (value.kind == ValueKind::Tuple)
      return SemaValue::makeConstant(int64_t(value.elements.size()));
    if (value.isConstant() && value.constant.isString())
      return SemaValue::makeConstant(int64_t(value.constant.asString().size()));
    std::string text = quote(args.arguments[0].where);
    bool named = value.kind == ValueKind::View && !value.dims.empty() &&
                 std::isalpha(uint8_t(value.dims[0]->name[0])) &&
                 value.dims[0]->name.find('.') == std::string::npos;
    error(site.range, "len() of " + text + ", which is " + describe(value))
        .setFix(named                            ? value.dims[0]->name
                : value.kind == ValueKind::Range ? text + ".size"
                                                 : text + ".shape[0]");
    return failure();
  }
  if (name == "min" || name == "max") {
    std::vector<CallArgument> parts = args.arguments;
    if (count == 1 && parts[0].value.kind == ValueKind::Tuple) {
      CallArgument whole = parts[0];
      parts.clear();
      for (const SemaValue &element : whole.value.elements)
        parts.push_back({"", element, whole.expr, whole.where});
    }
    if (parts.size() < 2) {
      Diagnostic &diagnostic = error(
          site.range, name + "() of Python needs two numbers or more, but " +
                          (count ? quote(args.arguments[0].where) + " is " +
                                       describe(args.arguments[0].value)
                                 : std::string("none is given")));
      bool tile = count == 1 && !args.arguments[0].value.isNumber();
      diagnostic.setFix(tile ? "tsr." + name + "(" +
                                   quote(args.arguments[0].where) + ")"
                             : name + "(" +
                                   (count ? quote(args.arguments[0].where)
                                          : std::string("a")) +
                                   ", b)");
      return failure();
    }
    CallArgument best = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) {
      const CallArgument &next = parts[i];
      for (const CallArgument *part :
           {static_cast<const CallArgument *>(&best), &next})
        if (!part->value.isNumber()) {
          std::string listed;
          for (const CallArgument &other : args.arguments)
            listed += (listed.empty() ? "" : ", ") + quote(other.where);
          Diagnostic &diagnostic =
              error(site.nameRange,
                    name + "() of Python compares numbers, but " +
                        quote(part->where) + " is " + describe(part->value));
          diagnostic.setFix("tsr." + name + "imum(" + listed + ")");
          diagnostic.origins = findOrigins(part->where);
          return failure();
        }
      std::optional<int64_t> a = best.value.getConstantInt(),
                             b = next.value.getConstantInt();
      if (best.value.isConstant() && next.value.isConstant()) {
        auto op = name == "min" ? CompareOperator::Lt : CompareOperator::Gt;
        if (foldCompare(op, next.value.constant, best.value.constant)
                .value.isTrue())
          best = next;
        continue;
      }
      if (a && b) {
        if (name == "min" ? *b < *a : *b > *a)
          best = next;
        continue;
      }
      CallArguments both;
      both.arguments = {best, next};
      ValueResult value = library->call(name + "imum", both, site);
      if (failed(value))
        return failure();
      best.value = *value;
    }
    return best.value;
  }
  if (count != 1) {
    error(site.range, name + "() takes one argument here, but " +
                          std::to_string(count) + " are given")
        .setFix(name + "(" +
                (count ? quote(args.arguments[0].where) : std::string("x")) +
                ")");
    return failure();
  }
  const CallArgument &argument = args.arguments[0];
  ConstantData data;
  if (argument.value.isConstant()) {
    data = argument.value.constant;
  } else if (auto size = argument.value.getConstantInt()) {
    data = *size;
  } else {
    if (name == "abs" || name == "round")
      return library->call(name, args, site);
    if (name == "int" && argument.value.isNumber() &&
        argument.value.getPromotionOperand().dtype == DType::I64)
      return decay(argument.value, argument.where);
    error(site.range, name + "() needs a constant, but " +
                          quote(argument.where) + " is " +
                          describe(argument.value))
        .setFix(asObject(quote(argument.where)) + ".to(" +
                (name == "int"     ? "i64"
                 : name == "float" ? "fp32"
                                   : "bool") +
                ")");
    return failure();
  }
  FoldResult folded = foldPython(name, data);
  if (folded)
    return SemaValue::makeConstant(folded.value);
  Diagnostic &diagnostic = error(site.range, folded.error);
  if (data.isString()) {
    // float("inf"), float("-inf"), float("nan"), int("3").
    llvm::StringRef text = llvm::StringRef(data.asString()).trim();
    bool negative = text.consume_front("-");
    text.consume_front("+");
    std::string sign = negative ? "-" : "";
    if (text.equals_insensitive("inf") || text.equals_insensitive("infinity"))
      diagnostic.setFix(sign + "tsr.inf");
    else if (text.equals_insensitive("nan"))
      diagnostic.setFix("tsr.nan");
    else
      diagnostic.setFix(sign + (text.empty() ? "0" : text.str()));
  } else if (data.isFloat()) {
    diagnostic.setFix(quote(args.arguments[0].where));
  } else {
    diagnostic.setFix(name + "(0)");
  }
  return failure();
}

/// The functions of `math` that tessera has under the same name.
static bool isRunTimeMath(llvm::StringRef name) {
  static constexpr llvm::StringLiteral names[] = {
      "sqrt", "exp", "exp2", "log", "log2",  "log1p",
      "sin",  "cos", "tanh", "erf", "floor", "ceil"};
  return llvm::is_contained(names, name);
}

ValueResult Analyzer::callMath(const std::string &name,
                               const CallArguments &args, const OpSite &site) {
  std::vector<ConstantData> constants;
  for (const CallArgument &argument : args.arguments) {
    if (!argument.keyword.empty()) {
      error(argument.where, "math." + name + " takes no keywords, but '" +
                                argument.keyword + "' is given")
          .setFix("math." + name + "(" + quoteValue(*this, argument) + ")");
      return failure();
    }
    if (argument.value.isConstant()) {
      constants.push_back(argument.value.constant);
    } else if (auto size = argument.value.getConstantInt()) {
      constants.push_back(*size);
    } else if (argument.value.isNumber() && isRunTimeMath(name) &&
               args.arguments.size() == 1) {
      // A size or a scalar known only at run time: computed there, in fp64.
      mlir::Value number = library->makeScalar(argument.value, DType::FP64,
                                               loc(argument.where, name));
      if (!number)
        return failure();
      CallArguments one = args;
      one.arguments[0].value =
          SemaValue::makeScalar(number, DType::FP64, /*weak=*/true);
      return library->call(name, one, site);
    } else {
      Diagnostic &diagnostic =
          error({site.range.file, site.range.begin, site.nameRange.end},
                "math." + name + " needs a constant, but " +
                    quote(argument.where) + " is " + describe(argument.value));
      if (argument.value.kind == ValueKind::Dim)
        diagnostic.addNote(argument.value.dim->where,
                           "dim " + argument.value.dim->name +
                               " is known only at run time");
      diagnostic.setFix("tsr." + name + "(" + quote(argument.where) + ")");
      diagnostic.origins = findOrigins(argument.where);
      return failure();
    }
  }
  FoldResult folded = foldMath(name, constants);
  if (folded)
    return SemaValue::makeConstant(folded.value);
  error(site.range, folded.error)
      .setFix("math." + name + "(" +
              (constants.empty() ? std::string("x") : std::string("1.0")) +
              ")");
  return failure();
}

//===----------------------------------------------------------------------===//
// What `for` runs over
//===----------------------------------------------------------------------===//

Dim *Analyzer::dimOf(const CallArgument &extent) {
  if (extent.value.kind == ValueKind::Dim)
    return extent.value.dim;
  // The expression names the dim where it is one: H * D, 128.
  if (extent.expr && scopes.size() == 1)
    if (auto found = dimByText.find(getCanonicalDim(extent.expr));
        found != dimByText.end())
      return found->second;
  if (auto size = extent.value.getConstantInt())
    if (auto found = dimByText.find(std::to_string(*size));
        found != dimByText.end())
      return found->second;
  return nullptr;
}

ValueResult Analyzer::makeIterable(const std::string &name,
                                   const CallArguments &args,
                                   const OpSite &site) {
  SemaValue result;
  result.kind = ValueKind::Iterable;
  result.text = name;
  result.origin = site.range;
  auto checkInteger = [&](const CallArgument &argument) {
    PromotionOperand operand = argument.value.getPromotionOperand();
    if (argument.value.isNumber() && isInteger(operand.dtype))
      return true;
    std::string text = quoteValue(*this, argument);
    std::string callee = (name == "range" ? "" : "tsr.") + name;
    Diagnostic &diagnostic =
        error(getValueRange(argument),
              (argument.keyword.empty()
                   ? callee + " counts ints"
                   : argument.keyword + " of " + callee + " is an int") +
                  ", but " + text + " is " + describe(argument.value));
    const SemaValue &value = argument.value;
    auto *division = dynCast<BinOp>(argument.expr);
    if (value.kind == ValueKind::View && !value.dims.empty())
      diagnostic.setFix(value.dims[0]->name.find('.') == std::string::npos
                            ? value.dims[0]->name
                            : text + ".shape[0]");
    else if (value.kind == ValueKind::Range)
      diagnostic.setFix(value.axis->dim ? value.axis->dim->name
                                        : text + ".size");
    else if (value.kind == ValueKind::Tuple)
      diagnostic.setFix(value.elements.empty() ? "0" : "*" + text);
    else if (value.isConstant() && value.constant.isString())
      diagnostic.setFix(value.constant.asString());
    else if (division && division->op == BinaryOperator::Div)
      diagnostic.setFix(parenthesize(division->left) + " // " +
                        parenthesize(division->right));
    else if (value.isConstant() && value.constant.isFloat())
      diagnostic.setFix("int(" + text + ")");
    else if (value.isTile() && llvm::StringRef(text).ends_with(".index"))
      diagnostic.setFix(text.substr(0, text.size() - 6) +
                        (argument.keyword == "stop" ? ".stop" : ".start"));
    else if (value.isNumber() || value.isTile() || value.isTensor())
      diagnostic.setFix(parenthesize(argument.expr) + ".to(i64)");
    else if (auto *counts = dynCast<Call>(argument.expr);
             value.kind == ValueKind::Iterable && name == "grid" && counts &&
             counts->args.size() == 1)
      diagnostic.setFix(quote(counts->args[0]->range));
    else if (value.kind == ValueKind::Iterable)
      diagnostic.setFix("for n in " + text + ":");
    else
      diagnostic.setFix("an int or a dim: N");
    return false;
  };
  if (name == "range" || name == "unroll") {
    for (const CallArgument &argument : args.arguments) {
      if (!argument.keyword.empty()) {
        error(argument.where, (name == "range" ? "" : "tsr.") + name +
                                  " takes start, stop and step by position, "
                                  "but '" +
                                  argument.keyword + "' is given")
            .setFix((name == "range" ? "range(" : "tsr.unroll(") +
                    quoteValue(*this, argument) + ")");
        return failure();
      }
      if (!checkInteger(argument))
        return failure();
      if (name == "unroll" && !argument.value.getConstantInt()) {
        error(argument.where, "tsr.unroll needs constants, but " +
                                  quote(argument.where) + " is " +
                                  describe(argument.value))
            .setFix(argument.value.isScalar() && is<Name>(argument.expr) &&
                            argument.value.parameter >= 0
                        ? "for i in range(" + quote(argument.where) + "), or " +
                              quote(argument.where) + ": const in the signature"
                        : "range(" + quote(argument.where) + ")");
        return failure();
      }
      result.elements.push_back(argument.value);
    }
    if (args.arguments.empty() || args.arguments.size() > 3) {
      std::string first = args.arguments.empty()
                              ? std::string("n")
                              : quote(args.arguments[0].where);
      error(site.range, (name == "range" ? "" : "tsr.") + name +
                            " takes one to three arguments (start, stop, "
                            "step), but " +
                            std::to_string(args.arguments.size()) +
                            " are given")
          .setFix((name == "range" ? "range(" : "tsr.unroll(") + first + ")");
      return failure();
    }
    return result;
  }
  if (name == "tile") {
    if (failed(checkTileDim(args, site)))
      return failure();
    FailureOr<BoundArguments> bound =
        bindArguments(*this, "tsr.tile", args,
                      {"dim", "size", "*start", "*stop", "*stages"}, 2, site);
    if (failed(bound))
      return failure();
    const CallArgument &dim = *(*bound)[0];
    if (!checkInteger(dim))
      return failure();
    result.dim = dimOf(dim);
    if (!result.dim && dim.value.isConstant() &&
        (*bound)[1]->value.kind == ValueKind::Dim) {
      std::string first = quoteValue(*this, dim),
                  second = quoteValue(*this, *(*bound)[1]);
      error(site.range, "tsr.tile takes the dim first, then the size of a "
                        "tile, but " +
                            first + " is " + describe(dim.value) + " and " +
                            second + " a dim")
          .setFix("tsr.tile(" + second + ", " + first + ")");
      return failure();
    }
    FailureOr<int64_t> size =
        getConstantInt(*this, *(*bound)[1], "the size of a tile");
    if (failed(size))
      return failure();
    if (*size < 1) {
      std::string given = quoteValue(*this, *(*bound)[1]);
      error(getValueRange(*(*bound)[1]),
            "a tile has at least one element, but its size " +
                (given == std::to_string(*size) ? "" : given + " ") + "is " +
                std::to_string(*size))
          .setFix("tsr.tile(" + quoteValue(*this, dim) + ", " +
                  (*size < -1 ? std::to_string(-*size) : std::string("64")) +
                  ")");
      return failure();
    }
    if (*size > maxAxisSize) {
      error(getValueRange(*(*bound)[1]),
            "a tile has at most " + std::to_string(maxAxisSize) +
                " elements along an axis, not " + std::to_string(*size))
          .setFix("tsr.tile(" + quoteValue(*this, dim) + ", 64)");
      return failure();
    }
    result.elements = {dim.value, SemaValue::makeConstant(*size)};
    const char *options[] = {"start", "stop", "stages"};
    for (int i = 0; i < 3; ++i)
      if (const CallArgument *option = (*bound)[2 + i]) {
        if (!checkInteger(*option))
          return failure();
        if (i == 2) {
          FailureOr<int64_t> stages = getConstantInt(*this, *option, "stages");
          if (failed(stages))
            return failure();
          if (*stages < 0 || *stages > tile::maxStages) {
            error(option->where, "stages is 0 to " +
                                     std::to_string(tile::maxStages) +
                                     ", not " + std::to_string(*stages))
                .setFix("stages=2");
            return failure();
          }
        }
        result.options[options[i]] = option->value;
      }
    return result;
  }
  // grid
  for (const CallArgument &argument : args.arguments) {
    if (argument.keyword.empty()) {
      bool tile = argument.value.kind == ValueKind::Iterable &&
                  argument.value.text == "tile";
      if (!tile && !checkInteger(argument))
        return failure();
      if (tile)
        for (const auto &[option, value] : argument.value.options) {
          std::string dim;
          if (auto *call = dynCast<Call>(argument.expr);
              call && call->args.size() > 1)
            dim = "tsr.tile(" + quote(call->args[0]->range) + ", " +
                  quote(call->args[1]->range) + ")";
          (void)notYet(argument.where, option + "= in a tile of tsr.grid", dim);
          return failure();
        }
      result.elements.push_back(argument.value);
      result.elements.back().origin = argument.where;
      continue;
    }
    if (argument.keyword == "group") {
      FailureOr<int64_t> group = getConstantInt(*this, argument, "group");
      if (failed(group))
        return failure();
      if (*group < 1) {
        error(argument.where,
              "group is at least 1, not " + std::to_string(*group))
            .setFix("group=8");
        return failure();
      }
    } else if (argument.keyword == "persistent") {
      if (!argument.value.isConstant()) {
        error(argument.where, "persistent is True or False, but " +
                                  quoteValue(*this, argument) + " is " +
                                  describe(argument.value))
            .setFix("persistent=True");
        return failure();
      }
    } else {
      Diagnostic &diagnostic =
          error(argument.where, "tsr.grid has no option '" + argument.keyword +
                                    "'; it has group= and persistent=");
      std::vector<std::string> near =
          nearestNames(argument.keyword, {"group", "persistent"});
      const ForeignName *foreign =
          findForeign(ForeignKind::Keyword, argument.keyword);
      std::string value = quoteValue(*this, argument);
      std::vector<std::string> texts;
      for (const CallArgument &other : args.arguments)
        if (&other != &argument)
          texts.push_back(quote(other.where));
      if (!near.empty())
        texts.push_back(near.front() + "=" + value);
      else if (foreign && foreign->ours.starts_with("group="))
        texts.push_back(fillForeign(foreign->ours, {}, {}, value));
      diagnostic.setFix(rewriteCall(*this, site, texts));
      return failure();
    }
    result.options[argument.keyword] = argument.value;
  }
  if (result.elements.empty()) {
    error(site.range, "tsr.grid needs at least one axis")
        .setFix("tsr.grid(tsr.tile(M, 64))");
    return failure();
  }
  return result;
}

} // namespace tessera::frontend
