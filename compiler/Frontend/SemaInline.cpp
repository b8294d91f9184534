//===- SemaInline.cpp - Calls of tessera functions ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function is inlined where it is called; a kernel called in a function is a
// call of its own, made by the library.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/SemaImpl.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;

namespace tessera::frontend {

ValueResult Analyzer::callFunction(const SemaValue &callee,
                                   const CallArguments &args,
                                   const OpSite &site) {
  const CapturedFunction &function = *callee.function;
  bool annotated = false;
  for (const Parameter &parameter : function.definition->parameters) {
    const Expr *base = parameter.annotation;
    if (auto *subscript = dynCast<Subscript>(base))
      base = subscript->value;
    if (!base)
      continue;
    std::string name = resolveBuiltin(base, function.captured);
    annotated |= name == "Tensor" || name == "Out" || name == "InOut" ||
                 name == "Region";
  }
  if (function.kind == ProgramKind::Kernel ||
      (annotated && request.kind == ProgramKind::Kernel))
    return library->callProgram(function, args, site);
  return inlineFunction(function, args, site);
}

/// What `x: Tensor["M", "N", fp16]` of an inlined function says of its
/// argument: a rank, a dtype, names for its sizes, which are equal where names
/// are.
LogicalResult
Analyzer::bindAnnotation(const ParameterDescription &parameter,
                         const SemaValue &value, const SourceRange &where,
                         const Signature &signature,
                         std::map<std::string, SemaValue, std::less<>> &dims) {
  auto refuse = [&](std::string message, std::string fix = {}) {
    error(where, std::move(message))
        .addNote(parameter.where, "the parameter")
        .setFix(std::move(fix));
    return failure();
  };
  if (!value.isTensor())
    return refuse(parameter.name + " is a tensor, but " + quote(where) +
                  " is " + describe(value));
  if (parameter.dtype && *parameter.dtype != value.dtype)
    return refuse(parameter.name + " is " + getDTypeName(*parameter.dtype) +
                      ", but " + quote(where) + " is " + describe(value),
                  asObject(quote(where)) + ".to(" +
                      getDTypeName(*parameter.dtype) + ")");
  if (!parameter.hasDims)
    return success();
  size_t rank = cast<RankedTensorType>(value.ssa.getType()).getRank();
  if (parameter.dims.size() != rank)
    return refuse(parameter.name + " has " +
                  std::to_string(parameter.dims.size()) +
                  (parameter.dims.size() == 1 ? " axis" : " axes") + ", but " +
                  quote(where) + " is " + describe(value));
  OpSite site{where, where, {}};
  ValueResult shape = library->attribute(value, "shape", site);
  if (failed(shape))
    return failure();
  for (auto [axis, name] : llvm::enumerate(parameter.dims)) {
    SemaValue size = shape->elements[axis];
    bool isNumber = !name.empty() && std::isdigit(uint8_t(name[0]));
    bool isName = llvm::any_of(
        signature.dims, [&](const auto &dim) { return dim.name == name; });
    if (!isNumber && !isName)
      continue; // no name, or an expression
    SemaValue known = SemaValue::makeConstant(
        isNumber ? int64_t(std::stoll(name)) : int64_t(0));
    if (!isNumber) {
      auto [place, isNew] = dims.try_emplace(name, size);
      if (isNew)
        continue;
      known = place->second;
    }
    if (known.kind == ValueKind::Dim && size.kind == ValueKind::Dim &&
        known.dim == size.dim)
      continue;
    ValueResult a = decay(known, where), b = decay(size, where);
    if (failed(a) || failed(b))
      return failure();
    std::string message = "axis " + std::to_string(axis) + " of " +
                          quote(where) + " is not " + name + " of " +
                          parameter.name;
    if (a->isConstant() && b->isConstant()) {
      if (a->constant == b->constant)
        continue;
      return refuse(message + ", which is " + a->constant.str() + ", but " +
                    b->constant.str());
    }
    OpSite compared{where, where, {nullptr, nullptr}};
    ValueResult same = library->compare(CompareOperator::Eq, *a, *b, compared);
    if (failed(same) || failed(library->assertTrue(*same, message, site)))
      return failure();
  }
  return success();
}

ValueResult Analyzer::inlineFunction(const CapturedFunction &callee,
                                     const CallArguments &args,
                                     const OpSite &site) {
  const FunctionDef &definition = *callee.definition;
  for (const std::unique_ptr<Scope> &outer : scopes)
    if (outer->definition == &definition) {
      error(site.range, "'" + definition.name +
                            "' calls itself; recursion is not part of the "
                            "language")
          .setFix("a loop: for i in range(n)");
      return failure();
    }
  if (!callee.policy.empty() && callee.policy != request.policy) {
    error(site.range, "'" + definition.name + "' has the policy \"" +
                          callee.policy + "\", but it becomes part of '" +
                          scope().definition->name + "', which has \"" +
                          request.policy + "\"")
        .setFix("@tsr.policy(\"" + callee.policy + "\") above def " +
                scopes.front()->definition->name);
    return failure();
  }
  FailureOr<Signature> description =
      describeSignature(definition, callee.captured, diags);
  if (failed(description))
    return failure();
  llvm::SmallVector<llvm::StringRef> names;
  std::vector<std::string> starred;
  starred.reserve(definition.parameters.size());
  for (const Parameter &parameter : definition.parameters) {
    if (parameter.kind == ParameterKind::KeywordOnly) {
      starred.push_back("*" + parameter.name);
      names.push_back(starred.back());
    } else {
      names.push_back(parameter.name);
    }
  }
  FailureOr<BoundArguments> bound =
      bindArguments(*this, definition.name, args, names, 0, site);
  if (failed(bound))
    return failure();
  auto inner = std::make_unique<Scope>();
  inner->definition = &definition;
  inner->captured = &callee.captured;
  inner->constants = &callee.constants;
  std::map<std::string, SemaValue, std::less<>> dims;
  for (auto [i, parameter] : llvm::enumerate(description->parameters)) {
    SemaValue value;
    SourceRange where = site.range;
    if (const CallArgument *argument = (*bound)[i]) {
      value = argument->value;
      where = argument->where;
    } else if (auto constant = callee.constants.find(parameter.name);
               constant != callee.constants.end()) {
      value = SemaValue::makeConstant(constant->second);
    } else if (parameter.hasDefault) {
      value = SemaValue::makeConstant(parameter.defaultValue);
    } else {
      std::vector<std::string> texts = quoteArguments(*this, args, site);
      texts.push_back(parameter.name + "=...");
      error(site.range, definition.name + " needs '" + parameter.name + "'")
          .addNote(parameter.where, parameter.name + " of " + definition.name)
          .setFix(rewriteCall(*this, site, texts));
      return failure();
    }
    if (parameter.kind == ParameterDescription::Kind::Const &&
        !value.isConstant() && value.kind != ValueKind::Tuple) {
      if (auto size = value.getConstantInt()) {
        value = SemaValue::makeConstant(*size);
      } else {
        error(where, parameter.name + " of " + definition.name +
                         " is a compile-time parameter, but " + quote(where) +
                         " is " + describe(value))
            .addNote(parameter.where, parameter.name + ": const")
            .setFix("def " + definition.name + "(..., " + parameter.name +
                    "), without const");
        return failure();
      }
    }
    if (parameter.kind == ParameterDescription::Kind::Scalar) {
      if (!value.isNumber()) {
        error(where, parameter.name + " is a scalar " +
                         getDTypeName(*parameter.dtype) + ", but " +
                         quote(where) + " is " + describe(value))
            .addNote(parameter.where, quote(parameter.where))
            .setFix("def " + definition.name + "(..., " + parameter.name +
                    "), without a dtype");
        return failure();
      }
      ValueResult number = decay(value, where);
      if (failed(number))
        return failure();
      value = SemaValue::makeScalar(
          library->makeScalar(*number, *parameter.dtype, loc(where)),
          *parameter.dtype);
    }
    if (parameter.kind == ParameterDescription::Kind::Tensor &&
        failed(bindAnnotation(parameter, value, where, *description, dims)))
      return failure();
    value.name = parameter.name;
    value.origin = where;
    inner->variables[parameter.name] = std::move(value);
  }
  // A dim is a name in the body; a parameter of the same name wins.
  for (const auto &[name, size] : dims)
    inner->variables.try_emplace(name, size);
  inlineFrames.push_back({definition.name, site.range});
  scopes.push_back(std::move(inner));
  unsigned outerDepth = std::exchange(controlDepth, 0);
  unsigned outerLoops = std::exchange(loopDepth, 0);
  std::string hint = nameHint;
  ConstantData outerAccum = accum;
  std::string outerPrecision = precision;
  if (callee.accum.isDType())
    accum = callee.accum;
  if (callee.precision != "ieee")
    precision = callee.precision;
  Flow flow = execute(definition.body);
  accum = outerAccum;
  precision = outerPrecision;
  nameHint = hint;
  controlDepth = outerDepth;
  loopDepth = outerLoops;
  std::unique_ptr<Scope> done = std::move(scopes.back());
  scopes.pop_back();
  inlineFrames.pop_back();
  if (flow == Flow::Failed)
    return failure();
  SemaValue result =
      done->returned ? *done->returned : SemaValue::makeConstant({});
  result.name.clear();
  return result;
}

} // namespace tessera::frontend
