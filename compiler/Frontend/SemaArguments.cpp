//===- SemaArguments.cpp - Arguments of calls, and what they should be ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/SemaValue.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tessera::frontend {

//===----------------------------------------------------------------------===//
// The call in the user's words
//===----------------------------------------------------------------------===//

SourceRange getValueRange(const CallArgument &argument) {
  return argument.expr && !argument.keyword.empty() ? argument.expr->range
                                                    : argument.where;
}

std::string quoteValue(const SemaContext &context,
                       const CallArgument &argument) {
  return context.quote(getValueRange(argument));
}

std::vector<std::string> quoteArguments(const SemaContext &context,
                                        const CallArguments &arguments,
                                        const OpSite &site) {
  std::vector<std::string> texts;
  SourcePosition name = site.nameRange.end;
  for (const CallArgument &argument : arguments.arguments) {
    SourcePosition begin = argument.where.begin;
    bool isObject = begin.line < name.line ||
                    (begin.line == name.line && begin.column < name.column);
    if (!isObject)
      texts.push_back(context.quote(argument.where));
  }
  return texts;
}

std::string rewriteCall(const SemaContext &context, const OpSite &site,
                        llvm::ArrayRef<std::string> arguments) {
  SourceRange callee = site.range;
  callee.end = site.nameRange.end;
  std::string text = context.quote(callee) + "(";
  for (auto [i, argument] : llvm::enumerate(arguments))
    text += (i ? ", " : "") + argument;
  return text + ")";
}

/// $a, $a0, $a1: the axes of the tile that the first text (or the object) is.
static std::string fillAxes(SemaContext &context, std::string ours,
                            const std::string &tile) {
  if (ours.find("$a") == std::string::npos)
    return ours;
  std::optional<SemaValue> value = context.tryFix(tile);
  if (!value || !value->isTile())
    return {};
  for (size_t at; (at = ours.find("$a")) != std::string::npos;) {
    std::string names;
    if (at + 2 < ours.size() && llvm::isDigit(ours[at + 2])) {
      size_t axis = size_t(ours[at + 2] - '0');
      if (axis >= value->axes.size())
        return {};
      ours.erase(at + 2, 1);
      names = value->axes[axis]->name;
    } else {
      for (Axis *axis : value->axes)
        names += (names.empty() ? "" : ", ") + axis->name;
    }
    ours.replace(at, 2, names);
  }
  return ours;
}

std::string findInstead(SemaContext &context, const ForeignName &entry,
                        const std::vector<std::string> &arguments,
                        const std::string &object) {
  for (std::string_view alternative : splitForeign(entry.ours)) {
    if (alternative.starts_with("#"))
      return fillForeign(alternative.substr(1), arguments, object);
    std::string ours = fillAxes(context, std::string(alternative),
                                !object.empty()      ? object
                                : !arguments.empty() ? arguments[0]
                                                     : "");
    // $?(x.ndim == 2): only where that holds.
    if (llvm::StringRef rest = ours; rest.consume_front("$?")) {
      size_t end = rest.find(')') + 1;
      std::optional<SemaValue> holds = context.tryFix(
          fillForeign(rest.take_front(end).str(), arguments, object));
      if (!holds || !holds->isConstant() || !holds->constant.isTrue())
        continue;
      ours = rest.drop_front(end).str();
    }
    bool exact = false;
    std::string text = fillForeign(ours, arguments, object, {}, &exact);
    if (exact && !text.empty() && context.tryFix(text))
      return text;
  }
  return {};
}

ForeignLevel getLevel(const SemaContext &context) {
  return context.request.kind == ProgramKind::Kernel ? ForeignLevel::Tiles
                                                     : ForeignLevel::Tensors;
}

void useCorrection(llvm::StringRef name, std::vector<std::string> &texts,
                   bool isNumPy) {
  if (name != "var" && name != "std")
    return;
  bool isSaid = false;
  for (std::string &text : texts) {
    llvm::StringRef value = text;
    if (value.consume_front("ddof="))
      text = "correction=" + value.str();
    else if (value == "unbiased=True" || value == "unbiased=False")
      text = value.ends_with("True") ? "correction=1" : "correction=0";
    isSaid |= llvm::StringRef(text).starts_with("correction=");
  }
  if (isNumPy && !isSaid)
    texts.push_back("correction=0");
}

bool explainForeign(SemaContext &context, Diagnostic &diagnostic,
                    ForeignKind kind, llvm::StringRef name,
                    const CallArguments &arguments, const OpSite &site,
                    const Expr *object) {
  std::vector<std::string> texts = quoteArguments(context, arguments, site);
  useCorrection(name, texts, /*isNumPy=*/false);
  std::string text = object ? context.parenthesize(object) : std::string();
  const ForeignName *found = findForeign(kind, name.str(), getLevel(context));
  // x.amax(dim=1) is tsr.amax(x, dim=1).
  if (!found && kind == ForeignKind::Method && object) {
    found = findForeign(ForeignKind::Function, name.str(), getLevel(context));
    texts.insert(texts.begin(), context.quote(object->range));
    text.clear();
  }
  if (!found)
    return false;
  if (!found->why.empty())
    diagnostic.message += "; " + std::string(found->why);
  diagnostic.setFix(findInstead(context, *found, texts, text));
  return true;
}

void explainUnknown(SemaContext &context, Diagnostic &diagnostic,
                    ForeignKind kind, llvm::StringRef name,
                    const CallArguments &arguments, const OpSite &site,
                    const std::vector<std::string> &known, const Expr *object) {
  bool isMethod = kind == ForeignKind::Method;
  if (explainForeign(context, diagnostic, kind, name, arguments, site,
                     object) ||
      (isMethod && !object))
    return;
  // tsr.atomicAdd, tsr.expf
  for (const std::string &spelling : getSpellings(name.str()))
    if (!isMethod && llvm::is_contained(known, spelling)) {
      std::vector<std::string> given = quoteArguments(context, arguments, site);
      std::string fix = "tsr." + spelling + "(" + llvm::join(given, ", ") + ")";
      if (!context.tryFix(fix))
        fix = getAtomicCall(context, spelling, given);
      if (!fix.empty())
        return void(diagnostic.setFix(fix));
    }
  diagnostic.setFix(findNearest(
      context, isMethod ? context.parenthesize(object) + "." : "tsr.", name,
      quoteArguments(context, arguments, site), known));
}

std::string findNearest(SemaContext &context, llvm::StringRef prefix,
                        llvm::StringRef name, llvm::ArrayRef<std::string> given,
                        const std::vector<std::string> &known) {
  if (isForeignWord(name.str()))
    return {};
  std::vector<std::string> near = nearestNames(name.str(), known);
  for (const std::string &candidate : near) {
    std::string text =
        prefix.str() + candidate + "(" + llvm::join(given, ", ") + ")";
    if (context.tryFix(text))
      return text;
  }
  // The name alone: the arguments are another matter.
  return near.empty() ? std::string() : prefix.str() + near.front();
}

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

/// "x, index, mask=, pad=": what a call takes.
static std::string describeParameters(llvm::ArrayRef<llvm::StringRef> names,
                                      unsigned required) {
  std::string text;
  for (auto [i, given] : llvm::enumerate(names)) {
    llvm::StringRef name = given;
    bool keyword = name.consume_front("*");
    text +=
        (i ? ", " : "") + name.str() + (keyword || i >= required ? "=" : "");
  }
  return text.empty() ? "no arguments" : text;
}

/// Something that can stand for a parameter that was left out.
static std::string getPlaceholder(llvm::StringRef callee,
                                  llvm::StringRef parameter) {
  if (callee.contains("mma") || callee.contains("matmul"))
    return parameter.str();
  return llvm::StringSwitch<std::string>(parameter)
      .Case("size", "64")
      .Cases({"b", "y", "value", "pad", "seed", "start"}, "0")
      .Case("other", "0.0")
      .Case("dtype", "fp32")
      .Cases({"index", "indices"}, "(m, n)")
      .Case("n", "64")
      .Case("dim", "-1")
      .Default(parameter.str());
}

/// tsr.tile(0, K, 32), as range() would have it: tsr.tile(K, 32, start=0).
static std::string getTooManyFix(SemaContext &context, llvm::StringRef callee,
                                 const CallArguments &arguments,
                                 llvm::ArrayRef<llvm::StringRef> parameters,
                                 size_t most, const OpSite &site) {
  std::vector<std::string> kept, given;
  size_t position = 0;
  for (const CallArgument &argument : arguments.arguments) {
    std::string text = context.quote(argument.where);
    bool positional = argument.keyword.empty();
    if (!positional || position < most)
      kept.push_back(text);
    if (positional)
      given.push_back(text);
    position += positional;
  }
  if (callee == "tsr.tile" && given.size() == 3) {
    bool fromRange = arguments.arguments[1].value.kind == ValueKind::Dim;
    return fromRange ? "tsr.tile(" + given[1] + ", " + given[2] +
                           ", start=" + given[0] + ")"
                     : "tsr.tile(" + given[0] + ", " + given[1] +
                           ", stop=" + given[2] + ")";
  }
  // tsr.load(X, m, n): the indices are one tuple.
  bool memory = callee == "tsr.load" || callee == "tsr.store" ||
                callee.starts_with("tsr.atomic_");
  size_t last = callee == "tsr.load" ? given.size() : given.size() - 1;
  auto isIndex = [&](size_t i) {
    const SemaValue &value = arguments.arguments[i].value;
    return value.kind == ValueKind::Range || value.kind == ValueKind::Dim ||
           value.getConstantInt().has_value() ||
           (value.isScalar() && isInteger(value.dtype));
  };
  if (memory && last > 2 && isIndex(1) && isIndex(2)) {
    std::string indices;
    for (size_t i = 1; i < last; ++i)
      indices += (i > 1 ? ", " : "") + given[i];
    std::string text = callee.str() + "(" + given[0] + ", (" + indices + ")";
    if (last < given.size())
      text += ", " + given.back();
    return text + ")";
  }
  if (callee == "tsr.arange" && given.size() == 2)
    return given[0] == "0" ? "tsr.arange(" + given[1] + ")"
                           : given[0] + " + tsr.arange(" + given[1] + " - " +
                                 given[0] + ")";
  // All axes, as NumPy's.
  if (callee == "transpose" && given.size() > 3 && kept.size() == most) {
    std::string axes;
    for (const std::string &axis : llvm::ArrayRef(given).drop_front())
      axes += (axes.empty() ? "" : ", ") + axis;
    return given[0] + ".permute(" + axes + ")";
  }
  // What is too much goes to the keywords that follow, if they are as many.
  size_t extra = given.size() - most;
  if (most + extra <= parameters.size() && kept.size() == most) {
    for (size_t i = 0; i < extra; ++i)
      kept.push_back(parameters[most + i].drop_front().str() + "=" +
                     given[most + i]);
  }
  std::vector<std::string> object = quoteArguments(context, arguments, site);
  if (object.size() < arguments.arguments.size() && !kept.empty())
    kept.erase(kept.begin());
  // As many of them as are accepted: a kernel's constants are no arrays.
  std::string fix = rewriteCall(context, site, kept);
  for (size_t count = kept.size(); count > 0; --count) {
    kept.resize(count);
    if (std::string fewer = rewriteCall(context, site, kept);
        context.tryFix(fewer))
      return fewer;
  }
  return fix;
}

/// What a keyword that ours has not changes in the result: the call that does
/// the same, or "" if there is none. Nothing for a keyword that changes
/// nothing.
static std::optional<std::string> getMeaning(SemaContext &context,
                                             const CallArgument &wrong,
                                             const CallArguments &arguments,
                                             const OpSite &site,
                                             const std::string &value) {
  bool isOff = value == "False" || value == "None";
  if (isOff || !llvm::is_contained({"reverse", "descending", "exclusive",
                                    "initial", "where", "dtype", "largest",
                                    "negative_slope", "weights"},
                                   wrong.keyword))
    return std::nullopt;
  std::vector<std::string> texts;
  std::string first, dim;
  for (const CallArgument &argument : arguments.arguments) {
    if (argument.keyword == "dim" || argument.keyword == "axis" ||
        (argument.keyword.empty() && texts.size() == 1))
      dim = quoteValue(context, argument);
    if (&argument != &wrong)
      texts.push_back(context.quote(argument.where));
  }
  if (texts.empty() ||
      quoteArguments(context, arguments, site).size() != texts.size() + 1)
    return ""; // a method
  first = texts.front();
  // Sums are of the converted; others are converted after.
  std::string callee = context.quote(site.nameRange);
  if (wrong.keyword == "dtype") {
    texts.front() = context.parenthesize(arguments.arguments[0].expr) + ".to(" +
                    value + ")";
    return rewriteCall(context, site, texts);
  }
  if (wrong.keyword != "reverse" || !callee.starts_with("cum"))
    return "";
  int64_t axis;
  if (!llvm::StringRef(dim).getAsInteger(10, axis) && axis >= -1 && axis < 8) {
    std::string index = axis < 0 ? "[..., ::-1]" : "[";
    for (int64_t i = 0; i < axis; ++i)
      index += ":, ";
    index += axis < 0 ? "" : "::-1]";
    texts.front() = context.parenthesize(arguments.arguments[0].expr) + index;
    std::string fix = rewriteCall(context, site, texts) + index;
    return context.tryFix(fix) ? fix : "";
  }
  // Of a tile: the whole less what comes before.
  std::string fix = "tsr.sum(" + first + ", " + dim + ") - tsr.cumsum(" +
                    first + ", " + dim + ") + " + first;
  return callee == "cumsum" && context.tryFix(fix) ? fix : "";
}

/// The call with this keyword as ours, or without it.
static void explainKeyword(SemaContext &context, Diagnostic &diagnostic,
                           const CallArgument &wrong,
                           const CallArguments &arguments,
                           llvm::ArrayRef<llvm::StringRef> parameters,
                           unsigned required, const OpSite &site) {
  std::vector<std::string> known;
  for (llvm::StringRef name : parameters) {
    name.consume_front("*");
    known.push_back(name.str());
  }
  std::string value = quoteValue(context, wrong), ours;
  const ForeignName *foreign = findForeign(ForeignKind::Keyword, wrong.keyword);
  if (foreign) {
    ours = fillForeign(foreign->ours, {}, {}, value);
    if (value.find("evict_first") != std::string::npos)
      ours = "cache=\"stream\"";
    if (wrong.keyword == "unbiased" && (value == "True" || value == "False"))
      ours = value == "True" ? "correction=1" : "correction=0";
    // Only a keyword that this call has helps.
    std::string name = ours.substr(0, ours.find('='));
    if (!llvm::is_contained(known, name))
      ours.clear();
    if (ours.empty() && !foreign->why.empty())
      diagnostic.message += "; " + std::string(foreign->why);
  }
  std::vector<std::string> near = nearestNames(wrong.keyword, known);
  for (const std::string &name : known) // epsilon for eps
    if (name.size() >= 3 && llvm::StringRef(wrong.keyword).starts_with(name))
      near.insert(near.begin(), name);
  if (ours.empty() && !foreign && !near.empty())
    ours = near.front() + "=" + value;
  // One required argument is missing: this is it.
  size_t positional =
      llvm::count_if(arguments.arguments, [](const CallArgument &argument) {
        return argument.keyword.empty();
      });
  bool isGiven = positional < known.size() &&
                 llvm::any_of(
                     arguments.arguments,
                     [&](const auto &argument) {
                       return argument.keyword == known[positional];
                     });
  if (ours.empty() && positional + 1 == required && !isGiven)
    ours = known[positional] + "=" + value;
  if (ours.empty()) {
    std::optional<std::string> fix =
        getMeaning(context, wrong, arguments, site, value);
    if (fix) {
      diagnostic.setFix(*fix);
      return;
    }
  }
  std::vector<std::string> texts;
  std::vector<std::string> written = quoteArguments(context, arguments, site);
  size_t skip = arguments.arguments.size() - written.size();
  for (auto [i, argument] : llvm::enumerate(arguments.arguments)) {
    if (i < skip)
      continue;
    if (&argument != &wrong)
      texts.push_back(written[i - skip]);
    else if (!ours.empty())
      texts.push_back(ours);
  }
  diagnostic.setFix(rewriteCall(context, site, texts));
}

FailureOr<BoundArguments>
bindArguments(SemaContext &context, llvm::StringRef callee,
              const CallArguments &arguments,
              llvm::ArrayRef<llvm::StringRef> parameters, unsigned required,
              const OpSite &site) {
  BoundArguments bound(parameters.size(), nullptr);
  std::string takes =
      callee.str() + " takes " + describeParameters(parameters, required);
  size_t next = 0;
  for (const CallArgument &argument : arguments.arguments) {
    if (argument.keyword.empty()) {
      if (next == parameters.size() || parameters[next].starts_with("*")) {
        size_t given = llvm::count_if(arguments.arguments,
                                      [](const CallArgument &argument) {
                                        return argument.keyword.empty();
                                      });
        // The object of a method is not counted.
        size_t object = arguments.arguments.size() -
                        quoteArguments(context, arguments, site).size();
        Diagnostic &diagnostic = context.error(
            argument.where,
            callee.str() + " takes at most " + std::to_string(next - object) +
                (next - object == 1 ? " argument" : " arguments") +
                " by position (" +
                describeParameters(
                    parameters.drop_front(object),
                    required - std::min<unsigned>(required, unsigned(object))) +
                "), but " + std::to_string(given - object) + " are given");
        diagnostic.setFix(
            getTooManyFix(context, callee, arguments, parameters, next, site));
        return failure();
      }
      bound[next++] = &argument;
      continue;
    }
    auto *found = llvm::find_if(parameters, [&](llvm::StringRef name) {
      name.consume_front("*");
      return name == argument.keyword;
    });
    if (found == parameters.end()) {
      Diagnostic &diagnostic = context.error(
          argument.where, callee.str() + " has no argument '" +
                              argument.keyword + "'; it takes " +
                              describeParameters(parameters, required));
      explainKeyword(context, diagnostic, argument, arguments, parameters,
                     required, site);
      return failure();
    }
    const CallArgument *&slot = bound[found - parameters.begin()];
    if (slot) {
      Diagnostic &diagnostic = context.error(
          argument.where, callee.str() + " got '" + argument.keyword +
                              "' twice: " + context.quote(slot->where) +
                              " by position and " +
                              context.quote(argument.where));
      diagnostic.addNote({}, takes);
      std::vector<std::string> texts;
      for (const CallArgument &other : arguments.arguments)
        if (&other != slot)
          texts.push_back(context.quote(other.where));
      diagnostic.setFix(rewriteCall(context, site, texts));
      return failure();
    }
    slot = &argument;
  }
  for (unsigned i = 0; i < required; ++i) {
    if (bound[i])
      continue;
    Diagnostic &diagnostic =
        context.error(site.range, callee.str() + " needs '" +
                                      parameters[i].str() + "'; it takes " +
                                      describeParameters(parameters, required));
    std::vector<std::string> texts = quoteArguments(context, arguments, site);
    size_t positional = 0;
    while (
        positional < texts.size() &&
        arguments
            .arguments[arguments.arguments.size() - texts.size() + positional]
            .keyword.empty())
      ++positional;
    for (unsigned j = i; j < required; ++j)
      if (!bound[j])
        texts.insert(texts.begin() + positional++,
                     getPlaceholder(callee, parameters[j]));
    diagnostic.setFix(rewriteCall(context, site, texts));
    return failure();
  }
  return bound;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

FailureOr<int64_t> getConstantInt(SemaContext &context,
                                  const CallArgument &argument,
                                  llvm::StringRef what) {
  const SemaValue &value = argument.value;
  if (std::optional<int64_t> number = value.getConstantInt())
    return *number;
  std::string name = quoteValue(context, argument);
  Diagnostic &diagnostic = context.error(
      getValueRange(argument), what.str() + " must be a constant int, but " +
                                   name + " is " + describe(value));
  if (value.parameter >= 0 || value.isScalar())
    if (auto *variable = dynCast<Name>(argument.expr)) {
      diagnostic.setFix(variable->id + ": const in the signature");
      if (!value.isScalar() || value.parameter < 0)
        diagnostic.setFix("a constant: 64, or a parameter " + variable->id +
                          ": const");
    }
  if (value.isConstant() && value.constant.isFloat()) {
    // N / 4 is a float in Python, too.
    auto *division = dynCast<BinOp>(argument.expr);
    diagnostic.setFix(division && division->op == BinaryOperator::Div
                          ? context.parenthesize(division->left) + " // " +
                                context.parenthesize(division->right)
                          : "int(" + name + ")");
  } else if (value.isConstant() && value.constant.isString()) {
    diagnostic.setFix(value.constant.asString());
  } else if (value.kind == ValueKind::Dim) {
    diagnostic.addNote(value.dim->where,
                       "dim " + value.dim->name + " is known only at run time");
    diagnostic.setFix("64, or a parameter BLOCK: const = 64");
  } else if (diagnostic.fix.empty()) {
    diagnostic.setFix("a constant: 64, or a parameter BLOCK: const = 64");
  }
  return failure();
}

FailureOr<std::string> getConstantString(SemaContext &context,
                                         const CallArgument &argument,
                                         llvm::StringRef what) {
  if (argument.value.isConstant() && argument.value.constant.isString())
    return argument.value.constant.asString();
  std::string text = quoteValue(context, argument);
  context
      .error(getValueRange(argument), what.str() + " must be a string, but " +
                                          text + " is " +
                                          describe(argument.value))
      .setFix(what.str() + "=\"" +
              (is<Name>(argument.expr) ? text : std::string("...")) + "\"");
  return failure();
}

FailureOr<std::string> getChoice(SemaContext &context,
                                 const CallArgument &argument,
                                 llvm::StringRef what,
                                 llvm::ArrayRef<llvm::StringRef> choices,
                                 llvm::ArrayRef<llvm::StringRef> later) {
  std::vector<std::string> all;
  std::string listed;
  for (llvm::StringRef choice : choices)
    all.push_back(choice.str());
  for (llvm::StringRef choice : later)
    all.push_back(choice.str());
  for (auto [i, choice] : llvm::enumerate(all))
    listed += (i == 0                ? "\""
               : i + 1 == all.size() ? " or \""
                                     : ", \"") +
              choice + "\"";
  auto write = [&](llvm::StringRef choice) {
    return what.str() + "=\"" + choice.str() + "\"";
  };
  if (!argument.value.isConstant() || !argument.value.constant.isString()) {
    context
        .error(getValueRange(argument), what.str() + " is " + listed +
                                            ", not " + describe(argument.value))
        .setFix(write(choices.front()));
    return failure();
  }
  std::string given = argument.value.constant.asString();
  if (llvm::is_contained(choices, given))
    return given;
  if (llvm::is_contained(later, given)) {
    (void)context.notYet(getValueRange(argument), write(given),
                         write(choices.front()));
    return failure();
  }
  std::vector<std::string> near = nearestNames(given, all);
  context
      .error(getValueRange(argument),
             what.str() + " is " + listed + ", not \"" + given + "\"")
      .setFix(write(near.empty() ? choices.front()
                                 : llvm::StringRef(near.front())));
  return failure();
}

FailureOr<DType> getDTypeArgument(SemaContext &context,
                                  const CallArgument &argument) {
  std::optional<DType> dtype;
  if (argument.value.isConstant()) {
    const ConstantData &constant = argument.value.constant;
    if (constant.isDType())
      dtype = constant.asDType();
    else if (constant.isString())
      dtype = parseDType(constant.asString());
  } else if (argument.value.kind == ValueKind::Builtin) {
    dtype = parseDType(argument.value.text);
  }
  std::string keyword = argument.keyword.empty() ? "" : argument.keyword + "=";
  if (!dtype) {
    std::string given =
        argument.value.isConstant() && argument.value.constant.isString()
            ? argument.value.constant.asString()
            : quoteValue(context, argument);
    std::vector<std::string> near = nearestNames(
        given, {"fp32", "fp16", "bf16", "fp64", "i32", "i64", "bool", "float32",
                "float16", "bfloat16", "float64", "int32", "int64"});
    std::optional<DType> meant =
        near.empty() ? std::nullopt : parseDType(near.front());
    Diagnostic &diagnostic = context.error(
        getValueRange(argument),
        quoteValue(context, argument) + " is " + describe(argument.value) +
            ", not a dtype; there are fp64, fp32, fp16, bf16, i64, i32, bool");
    bool value = argument.value.isTile() || argument.value.isTensor() ||
                 argument.value.kind == ValueKind::View;
    diagnostic.setFix(keyword + (value   ? given + ".dtype"
                                 : meant ? getDTypeName(*meant)
                                         : "fp32"));
    return failure();
  }
  if (!isSupportedDType(*dtype)) {
    (void)context.notYet(getValueRange(argument),
                         std::string("the dtype ") + getDTypeName(*dtype) +
                             "; there are fp64, fp32, fp16, bf16, i64, i32, "
                             "bool and, in kernels, fp8_e4m3, fp8_e5m2 and i8",
                         keyword + getSupportedInstead(*dtype));
    return failure();
  }
  return *dtype;
}

} // namespace tessera::frontend
