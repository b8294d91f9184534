//===- TensorOpsProgram.cpp - Calls of kernels; annotated results ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel called in a function is a `gir.call_kernel`: what it writes are the
// results. The kernel is analysed for the types of this call.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TensorOps.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/SymbolTable.h"

#include <list>

using namespace mlir;
using tessera::graph::Extent;

namespace tessera::frontend {

/// The axis of a value that has stride 1 wherever it is stored: an argument's
/// from the key, else the last of what an op computes. An op that may become a
/// view promises nothing.
static int getUnitAxis(mlir::Value value, const SemaRequest &request) {
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && graph::getInit(argument))
    return int(cast<RankedTensorType>(value.getType()).getRank()) - 1;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned number = 0;
    for (const ArgumentSpec &spec : request.arguments) {
      bool isTensor = spec.kind == ArgumentSpec::Kind::Tensor;
      if (!isTensor && spec.kind != ArgumentSpec::Kind::Scalar)
        continue;
      if (number++ == argument.getArgNumber())
        return isTensor ? spec.unitAxis : -1;
    }
    return -1;
  }
  if (isa<graph::TransposeOp, graph::SliceOp, graph::BroadcastOp,
          graph::ReshapeOp>(value.getDefiningOp()))
    return -1;
  return int(cast<RankedTensorType>(value.getType()).getRank()) - 1;
}

LogicalResult TensorOps::askForWhole(const CapturedFunction &callee,
                                     const Signature &signature,
                                     const BoundArguments &bound) {
  bool asked = false;
  for (const WholeDim &whole : wholeDims(*callee.definition, signature)) {
    const CallArgument *argument = bound[whole.parameter];
    if (argument && argument->value.isTensor() &&
        whole.axis < rankOf(argument->value))
      asked |= askForSize(argument->value.ssa, whole.axis);
  }
  return failure(asked);
}

bool TensorOps::askForSize(mlir::Value tensor, int64_t axis) {
  std::vector<WholeDim> *wanted = context.request.wanted;
  Extent extent = graph::getExtent(tensor, axis);
  auto giver = dyn_cast_if_present<BlockArgument>(extent.value);
  if (!wanted || extent.kind != Extent::Kind::Axis || !giver ||
      giver.getOwner() != context.entryBlock)
    return false;
  unsigned number = 0;
  for (auto [parameter, spec] : llvm::enumerate(context.request.arguments)) {
    if (spec.kind != ArgumentSpec::Kind::Tensor &&
        spec.kind != ArgumentSpec::Kind::Scalar)
      continue;
    if (number++ == giver.getArgNumber()) {
      wanted->push_back({int(parameter), int(extent.axis)});
      return true;
    }
  }
  return false;
}

/// A scalar that its annotation narrowed, before that: the kernel's does it.
static std::optional<SemaValue>
undoNarrowing(const SemaValue &value, const ParameterDescription &parameter) {
  auto cast =
      value.ssa ? value.ssa.getDefiningOp<graph::CastOp>() : graph::CastOp();
  if (!cast || !isa<BlockArgument>(cast.getInput()) ||
      parameter.dtype != value.dtype)
    return std::nullopt;
  SemaValue wide = value;
  wide.ssa = cast.getInput();
  wide.dtype = *getDType(getElementTypeOrSelf(wide.ssa.getType()));
  return wide;
}

/// "gather(X: Tensor["M", "N"], I: Tensor["K", i64], Y: Out["K", "N"])".
static std::string describeKernel(const SemaContext &context,
                                  const std::string &name,
                                  const Signature &signature) {
  std::string text;
  for (const ParameterDescription &parameter : signature.parameters)
    text += (text.empty() ? "" : ", ") + context.quote(parameter.where);
  return name + "(" + text + ")";
}

/// "y = gather(x, I=i)" for gather(x, i, y) of a kernel gather(X, Y, I), Y
/// being an Out: what is written is not passed, and what follows it goes by
/// name.
static std::string callWithout(SemaContext &context, const std::string &name,
                               const CallArguments &arguments,
                               const Signature &signature, size_t out,
                               const CallArgument &given, const OpSite &site) {
  using Kind = ParameterDescription::Kind;
  std::vector<std::string> followers;
  for (const ParameterDescription &parameter :
       llvm::ArrayRef(signature.parameters).drop_front(out + 1))
    if (parameter.kind != Kind::Out)
      followers.push_back(parameter.name);
  // As many as there are inputs: none of them was meant for the Out.
  size_t count = 0, needed = 0;
  for (const CallArgument &argument : arguments.arguments)
    count += argument.keyword.empty();
  for (const ParameterDescription &parameter : signature.parameters)
    needed += parameter.kind != Kind::Out && parameter.kind != Kind::Const &&
              !parameter.hasDefault;
  bool isMeant = count > needed || followers.empty();
  std::string rest;
  size_t next = 0, position = 0;
  for (const CallArgument &argument : arguments.arguments) {
    bool isBehind = argument.keyword.empty() && position++ >= out;
    if (isMeant && argument.where == given.where)
      continue;
    rest += rest.empty() ? "" : ", ";
    if (!argument.keyword.empty())
      rest += argument.keyword + "=";
    else if (isBehind && next < followers.size())
      rest += followers[next++] + "=";
    rest += context.quote(getValueRange(argument));
  }
  std::string call = name + "(" + rest + ")",
              before = context.quoteBefore(site.range);
  bool isStatement = llvm::StringRef(before).trim().empty();
  return isStatement && isMeant
             ? context.quote(getValueRange(given)) + " = " + call
             : call;
}

/// The call with what it lacks: variables of the function that have the
/// parameters' names, or else the parameters with dots.
static std::string callWith(SemaContext &context,
                            const CallArguments &arguments,
                            const Signature &signature,
                            const BoundArguments &bound, const OpSite &site) {
  using Kind = ParameterDescription::Kind;
  std::vector<std::string> texts = quoteArguments(context, arguments, site);
  for (auto [parameter, argument] : llvm::zip(signature.parameters, bound)) {
    if (argument || parameter.kind == Kind::Out || parameter.hasDefault)
      continue;
    bool isScalar =
        parameter.kind == Kind::Scalar || parameter.kind == Kind::Const;
    std::string found;
    for (const std::string &name :
         {parameter.name, llvm::StringRef(parameter.name).lower(),
          llvm::StringRef(parameter.name).upper()}) {
      std::optional<SemaValue> value = context.tryFix(name);
      bool isFit = value && ((value->isTensor() && !isScalar) ||
                             (value->isNumber() && parameter.dims.empty()));
      if (found.empty() && isFit)
        found = name;
    }
    if (parameter.kind == Kind::Const && found.empty())
      found = "64";
    texts.push_back(parameter.name + "=" + (found.empty() ? "..." : found));
  }
  return rewriteCall(context, site, texts);
}

ValueResult TensorOps::callProgram(const CapturedFunction &callee,
                                   const CallArguments &arguments,
                                   const OpSite &site) {
  const std::string &name = callee.definition->name;
  if (callee.kind == ProgramKind::Function) {
    (void)context.notYet(site.range,
                         "a call of a function with annotations (" + name + ")",
                         "@tsr.function\ndef " + name +
                             "(...):  # without Tensor[...] in its signature");
    return failure();
  }
  FailureOr<Signature> signature =
      describeSignature(*callee.definition, callee.captured, context.diags);
  if (failed(signature))
    return failure();
  SmallVector<llvm::StringRef> names;
  for (const ParameterDescription &parameter : signature->parameters)
    names.push_back(parameter.name);
  FailureOr<BoundArguments> bound =
      bindArguments(context, name, arguments, names, 0, site);
  if (failed(bound))
    return failure();

  using Kind = ParameterDescription::Kind;
  Location location = loc(site);
  std::vector<ArgumentSpec> specs;
  // What each parameter that stays at run time gets; null for an Out.
  SmallVector<const CallArgument *> passed;
  std::list<CallArgument> narrowed;
  for (auto [parameter, argument] : llvm::zip(signature->parameters, *bound)) {
    if (parameter.kind == Kind::Out) {
      if (argument)
        return fail(site.range,
                    "in a function, what " + name + " writes is its result: " +
                        parameter.name + " is not passed; it is " +
                        describeKernel(context, name, *signature),
                    callWithout(context, name, arguments, *signature,
                                specs.size(), *argument, site));
      specs.push_back(ArgumentSpec::omitted());
      passed.push_back(nullptr);
      continue;
    }
    if (!argument) {
      auto given = callee.constants.find(parameter.name);
      if (given != callee.constants.end())
        specs.push_back(ArgumentSpec::value(given->second));
      else if (parameter.hasDefault)
        specs.push_back(ArgumentSpec::value(parameter.defaultValue));
      else {
        Diagnostic &diagnostic = context.error(
            site.range, name + " needs '" + parameter.name + "'; it is " +
                            describeKernel(context, name, *signature));
        diagnostic.addNote(parameter.where, parameter.name + " of " + name);
        diagnostic.setFix(
            callWith(context, arguments, *signature, *bound, site));
        return failure();
      }
      continue;
    }
    const SemaValue &value = argument->value;
    if (parameter.kind == Kind::Const) {
      if (std::optional<int64_t> size = value.getConstantInt();
          size && value.kind == ValueKind::Dim)
        specs.push_back(ArgumentSpec::value(*size));
      else if (value.isConstant())
        specs.push_back(ArgumentSpec::value(value.constant));
      else
        return fail(argument->where,
                    parameter.name + " of " + name + " is const, but " +
                        context.quote(argument->where) + " is " +
                        describe(value),
                    parameter.name + "=64, or a const parameter of this "
                                     "function");
      continue;
    }
    if (value.isTensor()) {
      auto type = cast<RankedTensorType>(value.ssa.getType());
      std::vector<int64_t> sizes;
      for (int64_t size : type.getShape())
        sizes.push_back(ShapedType::isDynamic(size) ? -1 : size);
      specs.push_back(ArgumentSpec::tensor(
          value.dtype, sizes, getUnitAxis(value.ssa, context.request)));
    } else if (value.isNumber()) {
      if (std::optional<SemaValue> wide = undoNarrowing(value, parameter)) {
        narrowed.push_back({"", *wide, argument->expr, argument->where});
        argument = &narrowed.back();
      }
      DType dtype = argument->value.getPromotionOperand().dtype;
      specs.push_back(ArgumentSpec::scalar(dtype));
    } else {
      return fail(argument->where,
                  name + " needs tensors and numbers, but " +
                      context.quote(argument->where) + " is " + describe(value),
                  "a tensor or a number");
    }
    passed.push_back(argument);
  }
  if (failed(askForWhole(callee, *signature, *bound)))
    return failure();
  FailureOr<std::string> symbol =
      context.analyzeKernel(callee, specs, site.range);
  if (failed(symbol))
    return failure();
  auto module = context.entryBlock->getParentOp()->getParentOfType<ModuleOp>();
  auto kernel = module.lookupSymbol<graph::KernelOp>(*symbol);
  if (!kernel || kernel.getNumArguments() != passed.size())
    return fail(site.range,
                "the arguments of " + name + " do not match the kernel's",
                name + "(...) with the dims and dtypes of its signature");

  // The sizes of its dims, from the tensors it reads.
  std::map<std::string, std::pair<Extent, Dim *>> sizes;
  std::map<std::string, const CallArgument *> givers;
  auto dimsOf = [&](unsigned i) {
    SmallVector<std::string> result;
    if (auto dims = kernel.getArgAttrOfType<ArrayAttr>(i, "gir.dims"))
      for (auto dim : dims.getAsRange<StringAttr>())
        result.push_back(dim.str());
    return result;
  };
  for (auto [i, argument] : llvm::enumerate(passed)) {
    if (!argument || !argument->value.isTensor())
      continue;
    TensorShape shape = shapeOf(argument->value);
    for (auto [axis, dim] : llvm::enumerate(dimsOf(i))) {
      if (dim.empty() || axis >= shape.rank())
        continue;
      auto [known, isNew] =
          sizes.try_emplace(dim, shape.extents[axis], shape.dims[axis]);
      if (isNew) {
        givers[dim] = argument;
        continue;
      }
      std::string first = context.quote(givers[dim]->where);
      std::string second = context.quote(argument->where);
      if (agree(known->second.first, known->second.second, shape.extents[axis],
                shape.dims[axis],
                name + ": " + first + " and " + second + " disagree on " + dim +
                    ": {lhs} and {rhs}",
                location) == Agreement::Differ) {
        Diagnostic &diagnostic = context.error(
            site.range,
            first + " " + shapeText(shapeOf(givers[dim]->value)) + " and " +
                second + " " + shapeText(shape) + " disagree on " + dim +
                " of " + name + ": " +
                axisText(known->second.first, known->second.second) + " from " +
                first + ", " + axisText(shape.extents[axis], shape.dims[axis]) +
                " from " + second);
        diagnostic.addNote(callee.definition->nameRange, name);
        diagnostic.setFix(second + ".T, or tensors with equal " + dim);
        return failure();
      }
    }
  }

  SmallVector<mlir::Value> inputs, outSizes;
  SmallVector<Type> types;
  std::vector<std::pair<DType, TensorShape>> results;
  for (auto [i, argument] : llvm::enumerate(passed)) {
    auto mode = kernel.getArgAttrOfType<StringAttr>(i, "gir.mode");
    llvm::StringRef how = mode ? mode.getValue() : "in";
    if (argument && how == "out")
      return fail(argument->where,
                  name + " only writes " + context.quote(argument->where) +
                      "; in a function that is its result",
                  "annotate the parameter with Out[...] and leave it out");
    if (argument && !argument->value.isTensor()) {
      // As the kernel takes it: an i64, an fp64 or a bool.
      std::optional<DType> taken = getDType(kernel.getArgumentTypes()[i]);
      PromotionOperand operand = argument->value.getPromotionOperand();
      DType dtype = taken.value_or(operand.dtype);
      if (getDTypeKind(operand.dtype) != getDTypeKind(dtype) &&
          !(isFloat(dtype) && isInteger(operand.dtype)))
        return fail(argument->where,
                    name + " takes " + getDTypeName(dtype) + " here, but " +
                        context.quote(argument->where) + " is " +
                        describe(argument->value),
                    asObject(context.quote(argument->where)) + ".to(" +
                        getDTypeName(dtype) + ")");
      mlir::Value scalar = convert(argument->value, dtype, location);
      // Plans pass floats on and do not compute with them.
      Operation *made = scalar.getDefiningOp();
      if (isFloat(dtype) && made && !isa<graph::ConstantOp>(made)) {
        (void)context.notYet(
            argument->where,
            "a float that a function computes as an argument of a kernel",
            "the arithmetic in " + name +
                ", or before the call of this function");
        return failure();
      }
      inputs.push_back(scalar);
      continue;
    }
    if (argument)
      inputs.push_back(argument->value.ssa);
    if (how == "in")
      continue;
    TensorShape shape;
    DType dtype = DType::FP32;
    if (argument) {
      shape = shapeOf(argument->value);
      dtype = argument->value.dtype;
    } else {
      auto view = cast<MemRefType>(kernel.getArgumentTypes()[i]);
      dtype = *getDType(view.getElementType());
      SmallVector<std::string> dims = dimsOf(i);
      for (int64_t axis = 0; axis < view.getRank(); ++axis) {
        auto known = sizes.find(dims[axis]);
        if (known != sizes.end())
          shape.push_back(known->second.first, known->second.second);
        else if (!view.isDynamicDim(axis))
          shape.push_back(Extent::get(view.getDimSize(axis)));
        else {
          (void)context.notYet(site.range,
                               "the size " + dims[axis] + " of a result of " +
                                   name + " called in a function",
                               "a dim of an input of " + name +
                                   " in place of " + dims[axis]);
          return failure();
        }
      }
      llvm::append_range(outSizes, sizesOf(shape, location));
    }
    types.push_back(typeOf(shape, dtype));
    results.emplace_back(dtype, shape);
  }
  if (results.empty())
    return fail(site.range, name + " writes nothing",
                name + " with a parameter Y: Out[...]");
  auto op = graph::CallKernelOp::create(context.builder, location, types,
                                        *symbol, inputs, outSizes);
  std::vector<SemaValue> values;
  for (auto [result, made] : llvm::zip(op.getResults(), results))
    values.push_back(makeResult(result, made.first, made.second));
  if (values.size() == 1)
    return values.front();
  return SemaValue::makeTuple(std::move(values));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult TensorOps::checkResult(SemaValue &result, const Expr *annotation,
                                     SourceRange where) {
  auto *subscript = dynCast<Subscript>(annotation);
  if (!subscript || !result.isTensor())
    return success();
  std::string base = context.quote(subscript->value->range);
  if (base != "Tensor" && !llvm::StringRef(base).ends_with(".Tensor"))
    return success();
  std::vector<const Expr *> parts;
  if (auto *tuple = dynCast<Tuple>(subscript->slice))
    parts.assign(tuple->elts.begin(), tuple->elts.end());
  else
    parts.push_back(subscript->slice);

  // A dtype, if there is one, comes last.
  std::string last = context.quote(parts.back()->range);
  std::string_view short_ = last;
  if (size_t dot = last.rfind('.'); dot != std::string::npos)
    short_.remove_prefix(dot + 1);
  std::optional<DType> dtype;
  if (is<Name>(parts.back()) || is<Attribute>(parts.back()))
    dtype = parseDType(short_);
  if (dtype)
    parts.pop_back();
  std::string text = context.quote(annotation->range);
  if (dtype && *dtype != result.dtype) {
    Diagnostic &diagnostic = context.error(
        where, "the result is " + describeShape(result) + ", but " + text +
                   " says " + getDTypeName(*dtype));
    diagnostic.addNote(annotation->range, "the annotation");
    diagnostic.setFix(std::string(".to(") + getDTypeName(*dtype) + ")");
    return failure();
  }
  TensorShape shape = shapeOf(result);
  if (parts.size() != shape.rank()) {
    Diagnostic &diagnostic = context.error(
        where, "the result is " + describeShape(result) + ", but " + text +
                   " has " + std::to_string(parts.size()) +
                   (parts.size() == 1 ? " axis" : " axes"));
    diagnostic.addNote(annotation->range, "the annotation");
    std::string dims;
    for (size_t i = 0; i < shape.rank(); ++i)
      dims += (i ? ", \"" : "\"") +
              (shape.dims[i] ? shape.dims[i]->name : "D" + std::to_string(i)) +
              "\"";
    diagnostic.setFix("-> Tensor[" + dims + "]");
    return failure();
  }
  for (auto [axis, part] : llvm::enumerate(parts)) {
    Extent want;
    Dim *dim = nullptr;
    auto *constant = dynCast<Constant>(part);
    auto *name = dynCast<Name>(part);
    if (constant && constant->intValue) {
      want = Extent::get(*constant->intValue);
    } else if (name || (constant && constant->type == ConstantKind::String)) {
      dim = context.findDim(name ? name->id : constant->text);
      // A new name, or an expression: says nothing that can be checked.
      if (!dim)
        continue;
      ValueResult size = context.getSize(*dim, part->range);
      if (failed(size))
        return failure();
      want = graph::getExtent(convert(*size, DType::I64, context.loc(where)));
    } else {
      continue;
    }
    std::string index = std::to_string(axis);
    if (agree(shape.extents[axis], shape.dims[axis], want, dim,
              "axis " + index + " of the result is {lhs}, but " +
                  axisText(want, dim) + " is {rhs}",
              context.loc(where)) == Agreement::Differ) {
      Diagnostic &diagnostic = context.error(
          where, "axis " + index + " of the result is " +
                     axisText(shape.extents[axis], shape.dims[axis]) +
                     ", but " + text + " says " + axisText(want, dim));
      diagnostic.addNote(annotation->range,
                         "the result is " + describeShape(result));
      std::string fix;
      for (auto [extent, own] : llvm::zip(shape.extents, shape.dims))
        fix += (fix.empty() ? "" : ", ") +
               (own ? "\"" + own->name + "\"" : axisText(extent, own));
      diagnostic.setFix("-> Tensor[" + fix + "]");
      return failure();
    }
    if (dim)
      result.dims[axis] = dim;
  }
  return success();
}

LogicalResult checkResultAnnotation(OpLibrary &library, SemaValue &result,
                                    const Expr *annotation, SourceRange where) {
  return static_cast<TensorOps &>(library).checkResult(result, annotation,
                                                       where);
}

} // namespace tessera::frontend
