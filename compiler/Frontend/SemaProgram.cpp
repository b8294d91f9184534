//===- SemaProgram.cpp - One program: arguments, dims, body, module -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/NarrowTypes.h"
#include "compiler/Frontend/Parser.h"
#include "compiler/Frontend/SemaImpl.h"
#include "compiler/Frontend/TensorOps.h"
#include "compiler/Graph/IR/Graph.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace tessera::frontend {

using Kind = ParameterDescription::Kind;

Analyzer::Analyzer(ModuleOp module, const SemaRequest &request,
                   DiagnosticEngine &diags)
    : SemaContext(*module.getContext(), request, diags), module(module) {}

static bool isTensorKind(Kind kind) {
  return kind == Kind::Tensor || kind == Kind::Out || kind == Kind::InOut ||
         kind == Kind::Region;
}

//===----------------------------------------------------------------------===//
// Arguments and dims
//===----------------------------------------------------------------------===//

LogicalResult Analyzer::checkDType(SourceRange where, DType dtype) {
  if (isSupportedDType(dtype))
    return success();
  return notYet(
      where,
      std::string("the dtype ") + getDTypeName(dtype) +
          "; there are fp64, fp32, fp16, bf16, i64, i32, bool and, in "
          "kernels, fp8_e4m3, fp8_e5m2 and i8",
      getSupportedInstead(dtype));
}

/// Settles what each parameter is in this version.
LogicalResult Analyzer::settleArguments() {
  const FunctionDef &definition = *request.definition;
  FailureOr<Signature> described =
      describeSignature(definition, request.captured, diags);
  if (failed(described))
    return failure();
  signature = *described;
  auto checkName = [&](const SourceRange &where, const std::string &name) {
    std::string message = findLongName(name);
    if (message.empty())
      return success();
    error(where, message).setFix(name.substr(0, 20));
    return failure();
  };
  if (failed(checkName(definition.nameRange, definition.name)))
    return failure();
  for (const ParameterDescription &parameter : signature.parameters) {
    if (failed(checkName(parameter.where, parameter.name)))
      return failure();
    for (const std::string &dim : parameter.dims)
      if (failed(checkName(parameter.where, dim)))
        return failure();
  }
  arguments = request.arguments;
  arguments.resize(signature.parameters.size());
  std::optional<DType> firstDType;
  for (const ArgumentSpec &spec : arguments)
    if (spec.kind == ArgumentSpec::Kind::Tensor && !firstDType)
      firstDType = spec.dtype;
  for (auto [i, parameter] : llvm::enumerate(signature.parameters)) {
    ArgumentSpec &spec = arguments[i];
    if (spec.kind == ArgumentSpec::Kind::Omitted) {
      if (parameter.kind == Kind::Out) {
        if (!parameter.hasDims) {
          error(parameter.where, parameter.name +
                                     " was left out of the call, but its "
                                     "annotation gives no dims to allocate it")
              .setFix(parameter.name + ": Out[\"M\", \"N\"]");
          return failure();
        }
        spec.sizes.assign(parameter.dims.size(), -1);
        spec.unitAxis = int(parameter.dims.size()) - 1;
        if (!parameter.dtype && !firstDType) {
          error(parameter.where, "nothing gives the dtype of " +
                                     parameter.name +
                                     ", which was left out of the call")
              .setFix(parameter.name + ": Out[\"" +
                      llvm::join(parameter.dims, "\", \"") + "\", fp32]");
          return failure();
        }
        spec.dtype = parameter.dtype ? *parameter.dtype : *firstDType;
        if (!parameter.dtype)
          impliedDTypes.insert(parameter.name);
      } else if (auto constant = request.constants.find(parameter.name);
                 constant != request.constants.end()) {
        spec = ArgumentSpec::value(constant->second);
      } else if (parameter.hasDefault) {
        spec = ArgumentSpec::value(parameter.defaultValue);
      } else {
        error(parameter.where,
              "'" + parameter.name + "' has no value and no default")
            .setFix(definition.name + "(..., " + parameter.name + "=...)");
        return failure();
      }
    }
    if (parameter.kind == Kind::Const &&
        spec.kind != ArgumentSpec::Kind::Constant) {
      error(parameter.where, parameter.name +
                                 " is a compile-time parameter and needs a "
                                 "constant, but got " +
                                 (spec.kind == ArgumentSpec::Kind::Scalar
                                      ? std::string("a run-time scalar")
                                      : std::string("an array")))
          .setFix(definition.name + "(..., " + parameter.name + "=64)");
      return failure();
    }
    if (isTensorKind(parameter.kind) &&
        spec.kind != ArgumentSpec::Kind::Tensor &&
        spec.kind != ArgumentSpec::Kind::Omitted) {
      error(parameter.where,
            parameter.name + " is a tensor, but was given " +
                (spec.kind == ArgumentSpec::Kind::Constant
                     ? spec.constant.str()
                     : std::string("a scalar")) +
                (parameter.hasDefault ? "; a tensor has no default" : ""))
          .setFix(parameter.hasDefault
                      ? quote(parameter.where) + ", without a default, and "
                                                 "an array in the call"
                      : parameter.name + ", without Tensor[...], for a number");
      return failure();
    }
    if (parameter.kind == Kind::Scalar &&
        spec.kind == ArgumentSpec::Kind::Tensor) {
      error(parameter.where, parameter.name + " is a scalar, but was given a "
                                              "tensor")
          .setFix(parameter.name + ": Tensor[\"M\"" +
                  (parameter.dtype
                       ? std::string(", ") + getDTypeName(*parameter.dtype)
                       : std::string()) +
                  "]");
      return failure();
    }
    bool tensor = spec.kind == ArgumentSpec::Kind::Tensor ||
                  spec.kind == ArgumentSpec::Kind::Omitted;
    if (spec.kind != ArgumentSpec::Kind::Constant &&
        failed(checkDType(parameter.where, spec.dtype)))
      return failure();
    if (!tensor)
      continue;
    if (parameter.hasDims && parameter.dims.size() != spec.sizes.size()) {
      error(parameter.where,
            parameter.name + " has " + std::to_string(spec.sizes.size()) +
                " axes, but is annotated " + getAnnotationText(parameter))
          .setFix(parameter.name + ": Tensor[...] with " +
                  std::to_string(spec.sizes.size()) + " dims");
      return failure();
    }
    if (parameter.dtype && *parameter.dtype != spec.dtype) {
      error(parameter.where,
            parameter.name + " is " + getDTypeName(spec.dtype) +
                ", but is annotated " + getDTypeName(*parameter.dtype))
          .setFix(parameter.name + ".to(" + getDTypeName(*parameter.dtype) +
                  ")");
      return failure();
    }
  }
  // Captured arrays are arguments behind the written ones.
  for (const auto &[name, captured] : request.captured) {
    if (captured.kind != CapturedValue::Kind::Array)
      continue;
    ParameterDescription hidden;
    hidden.name = name;
    hidden.mode = "in";
    hidden.where = definition.nameRange;
    hiddenParameters[name] = signature.parameters.size();
    signature.parameters.push_back(hidden);
    arguments.push_back(captured.array);
    if (failed(checkDType(hidden.where, captured.array.dtype)))
      return failure();
  }
  return success();
}

/// The dtype in which a scalar is passed: i64, fp64 or bool.
static DType getPassedDType(DType dtype) {
  return isFloat(dtype)     ? DType::FP64
         : isInteger(dtype) ? DType::I64
                            : DType::Bool;
}

FailureOr<Type> Analyzer::getArgumentType(size_t index, bool kernel) {
  const ArgumentSpec &spec = arguments[index];
  const ParameterDescription &parameter = signature.parameters[index];
  if (spec.kind == ArgumentSpec::Kind::Constant)
    return Type();
  if (spec.kind == ArgumentSpec::Kind::Scalar) {
    DType dtype =
        getPassedDType(parameter.dtype ? *parameter.dtype : spec.dtype);
    Type type = getStorageType(getContext(), dtype);
    return kernel ? type : Type(RankedTensorType::get({}, type));
  }
  Type element = getStorageType(getContext(), spec.dtype);
  FailureOr<SmallVector<int64_t>> shape = getShape(index);
  if (failed(shape))
    return failure();
  if (!kernel)
    return Type(RankedTensorType::get(*shape, element));
  SmallVector<int64_t> strides(shape->size(), ShapedType::kDynamic);
  if (spec.unitAxis >= 0 && size_t(spec.unitAxis) < strides.size())
    strides[spec.unitAxis] = 1;
  if (strides.empty())
    return Type(MemRefType::get({}, element));
  return Type(MemRefType::get(
      *shape, element, StridedLayoutAttr::get(getContext(), 0, strides)));
}

LogicalResult Analyzer::bindParameters(Block &entry, bool kernel) {
  unsigned next = 0;
  for (auto [i, parameter] : llvm::enumerate(signature.parameters)) {
    const ArgumentSpec &spec = arguments[i];
    SemaValue value;
    switch (spec.kind) {
    case ArgumentSpec::Kind::Constant:
      value = SemaValue::makeConstant(spec.constant);
      break;
    case ArgumentSpec::Kind::Scalar: {
      BlockArgument argument = entry.getArgument(next++);
      DType passed =
          getPassedDType(parameter.dtype ? *parameter.dtype : spec.dtype);
      value = SemaValue::makeScalar(argument, passed, !parameter.dtype);
      Location location = loc(parameter.where, parameter.name);
      // i64 scalars are index inside kernels; annotated ones are narrowed.
      value.ssa = library->makeScalar(
          value, parameter.dtype ? *parameter.dtype : passed, location);
      if (parameter.dtype)
        value.dtype = *parameter.dtype;
      if (Operation *op = value.ssa.getDefiningOp())
        lastEntryOp = op;
      break;
    }
    case ArgumentSpec::Kind::Tensor:
    case ArgumentSpec::Kind::Omitted: {
      BlockArgument argument = entry.getArgument(next++);
      if (kernel) {
        value.kind = ValueKind::View;
        value.ssa = argument;
        value.dtype = spec.dtype;
        value.dims = axisDims[i];
      } else {
        value = SemaValue::makeTensor(argument, spec.dtype, axisDims[i]);
      }
      for (auto [axis, dim] : llvm::enumerate(axisDims[i])) {
        bool better = !dim->source && !dim->expression && dim->size < 0;
        if (better && spec.kind == ArgumentSpec::Kind::Tensor) {
          dim->source = argument;
          dim->axis = int(axis);
        }
      }
      break;
    }
    }
    value.parameter = int(i);
    value.name = parameter.name;
    value.origin = parameter.where;
    if (parameter.name.find('.') == std::string::npos &&
        !hiddenParameters.count(parameter.name))
      scope().variables[parameter.name] = value;
    else
      hiddenValues[i] = value;
  }
  for (const std::unique_ptr<Dim> &dim : getDims())
    if (!dim->source && !dim->expression && dim->size < 0) {
      if (reportBare(*dim))
        return failure();
      error(dim->where, "nothing gives the size of dim " + dim->name)
          .setFix("an array for it in the call, or \"" + dim->name +
                  "\" by the dims of the others");
      return failure();
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static mlir::Attribute toAttribute(Builder &builder, const ConstantData &data) {
  if (data.isBool())
    return builder.getBoolAttr(data.isTrue());
  if (data.isInt())
    return builder.getI64IntegerAttr(data.asInt());
  if (data.isFloat())
    return builder.getF64FloatAttr(data.asFloat());
  if (data.isString())
    return builder.getStringAttr(data.asString());
  if (data.isTuple()) {
    SmallVector<mlir::Attribute> elements;
    for (const ConstantData &element : data.asTuple())
      elements.push_back(toAttribute(builder, element));
    return builder.getArrayAttr(elements);
  }
  return builder.getStringAttr(data.str());
}

DictionaryAttr Analyzer::getArgumentAttributes(size_t index, bool kernel) {
  const ParameterDescription &parameter = signature.parameters[index];
  const ArgumentSpec &spec = arguments[index];
  SmallVector<NamedAttribute> attributes;
  auto add = [&](const char *name, mlir::Attribute value) {
    attributes.push_back(builder.getNamedAttr(name, value));
  };
  add("gir.name", builder.getStringAttr(parameter.name));
  if (spec.kind == ArgumentSpec::Kind::Scalar) {
    DType dtype = parameter.dtype ? *parameter.dtype : spec.dtype;
    Type type = getStorageType(getContext(), getPassedDType(dtype));
    std::string text;
    llvm::raw_string_ostream(text) << type;
    if (!kernel)
      add("gir.scalar", builder.getStringAttr(text));
  } else {
    SmallVector<mlir::Attribute> names;
    for (Dim *dim : axisDims[index])
      names.push_back(builder.getStringAttr(getDimAttribute(*dim)));
    add("gir.dims", builder.getArrayAttr(names));
    if (kernel) {
      std::string mode = parameter.mode;
      if (mode.empty()) {
        const ViewUse &use = getKernelState(*library).uses[int(index)];
        bool writes = use.firstWrite.isValid();
        mode = !writes ? "in" : use.firstRead.isValid() ? "inout" : "out";
      }
      add("gir.mode", builder.getStringAttr(mode));
    }
    if (spec.unitAxis >= 0)
      add("gir.unit_axis", builder.getI64IntegerAttr(spec.unitAxis));
    if (spec.kind == ArgumentSpec::Kind::Omitted)
      add("gir.omitted", builder.getUnitAttr());
    if (hiddenParameters.count(parameter.name))
      add("gir.hidden", builder.getUnitAttr());
  }
  return builder.getDictionaryAttr(attributes);
}

void Analyzer::addProgramAttributes(Operation *op) {
  op->setAttr("gir.policy", builder.getStringAttr(request.policy));
  if (request.accum.isDType())
    if (Type type = getStorageType(getContext(), request.accum.asDType()))
      op->setAttr("gir.accum", TypeAttr::get(type));
  if (!request.schedule.empty()) {
    SmallVector<NamedAttribute> keys;
    for (const auto &[key, value] : request.schedule)
      keys.push_back(builder.getNamedAttr(key, toAttribute(builder, value)));
    op->setAttr("gir.schedule", builder.getDictionaryAttr(keys));
  }
  if (const std::optional<TuningSpace> &tuning = request.tuning) {
    SmallVector<NamedAttribute> space;
    for (const auto &[name, values] : tuning->space)
      space.push_back(builder.getNamedAttr(name, toAttribute(builder, values)));
    SmallVector<llvm::StringRef> key(tuning->key.begin(), tuning->key.end());
    NamedAttribute entries[] = {
        builder.getNamedAttr("space", builder.getDictionaryAttr(space)),
        builder.getNamedAttr("key", builder.getStrArrayAttr(key)),
        builder.getNamedAttr("budget",
                             builder.getI64IntegerAttr(tuning->budget)),
        builder.getNamedAttr("numerics",
                             builder.getStringAttr(tuning->numerics))};
    op->setAttr("gir.autotune", builder.getDictionaryAttr(entries));
  }
  const SourceRange &where = request.definition->range;
  if (const SourceFile *file = getSources().get(where.file))
    op->setAttr("gir.where",
                builder.getStringAttr(file->getName() + ":" +
                                      std::to_string(where.begin.line)));
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

ValueResult Analyzer::evaluateDimExpression(const Expr *expr) {
  static const CapturedNames nothing;
  auto inner = std::make_unique<Scope>();
  inner->definition = request.definition;
  inner->captured = &nothing;
  inner->hasDims = true;
  scopes.push_back(std::move(inner));
  ValueResult value = evaluate(expr);
  scopes.pop_back();
  if (failed(value))
    return failure();
  return decay(*value, request.definition->nameRange);
}

/// A name for the symbol that the module does not have yet.
static std::string getUniqueSymbol(ModuleOp module, const std::string &name) {
  std::string symbol = name;
  for (int i = 1; module.lookupSymbol(symbol); ++i)
    symbol = name + "_v" + std::to_string(i);
  return symbol;
}

LogicalResult Analyzer::run() {
  if (failed(settleArguments()) || failed(declareDims()))
    return failure();
  auto outer = std::make_unique<Scope>();
  outer->definition = request.definition;
  outer->captured = &request.captured;
  outer->constants = &request.constants;
  outer->hasDims = true;
  scopes.push_back(std::move(outer));
  symbol = getUniqueSymbol(module, request.definition->name);
  return request.kind == ProgramKind::Kernel ? runKernel() : runFunction();
}

/// A body that returns and has no grid is one of tensors.
LogicalResult Analyzer::checkIsKernel() {
  const FunctionDef &definition = *scope().definition;
  auto *last = definition.body.empty()
                   ? nullptr
                   : dynCast<Return>(definition.body.back());
  bool isLowLevel = false;
  walkExpressions(definition.body, [&](const Expr *expr) {
    if (auto *call = dynCast<Call>(expr)) {
      std::string callee = resolveBuiltin(call->func, *scope().captured);
      isLowLevel |= callee == "grid" || callee == "program_id";
    }
    return !isLowLevel;
  });
  if (!last || !last->value || isLowLevel)
    return success();
  error(definition.nameRange,
        definition.name + " is a kernel, but it has no tsr.grid and returns a "
                          "value, as functions do")
      .addNote(last->range, "returned here")
      .setFix("@tsr.function in place of @tsr.kernel");
  return failure();
}

LogicalResult Analyzer::runKernel() {
  const FunctionDef &definition = *request.definition;
  ownedLibrary = createTileOps(*this);
  library = ownedLibrary.get();
  KernelState &state = getKernelState(*library);
  SmallVector<Type> types;
  SmallVector<size_t> passed;
  for (auto [i, parameter] : llvm::enumerate(signature.parameters)) {
    state.modes.push_back(parameter.mode);
    state.parameterNames.push_back(parameter.name);
    state.parameterRanges.push_back(parameter.where);
    state.impliedDTypes.push_back(impliedDTypes.count(parameter.name));
    state.parameterTexts.push_back(hiddenParameters.count(parameter.name)
                                       ? parameter.name
                                       : quote(parameter.where));
    FailureOr<Type> type = getArgumentType(i, /*kernel=*/true);
    if (failed(type))
      return failure();
    if (!*type)
      continue;
    types.push_back(*type);
    passed.push_back(i);
  }
  builder.setInsertionPointToEnd(module.getBody());
  Location location = loc(definition.nameRange, definition.name);
  auto kernel =
      graph::KernelOp::create(builder, location, builder.getStringAttr(symbol),
                              TypeAttr::get(builder.getFunctionType(types, {})),
                              ArrayAttr(), ArrayAttr());
  Block &entry = kernel.getBody().emplaceBlock();
  for (auto [type, index] : llvm::zip(types, passed)) {
    const ParameterDescription &parameter = signature.parameters[index];
    entry.addArgument(type, loc(parameter.where, parameter.name));
  }
  entryBlock = &entry;
  builder.setInsertionPointToStart(&entry);
  if (failed(bindParameters(entry, /*kernel=*/true)) || failed(checkIsKernel()))
    return failure();
  if (execute(definition.body) == Flow::Failed)
    return failure();
  if (!grid) {
    error(definition.nameRange,
          "the kernel " + definition.name + " has no tsr.grid")
        .setFix("for m in tsr.grid(tsr.tile(M, 64)):");
    return failure();
  }
  for (size_t index : passed) {
    const ParameterDescription &parameter = signature.parameters[index];
    if (parameter.mode != "out" || state.uses[int(index)].firstWrite.isValid())
      continue;
    Diagnostic &diagnostic =
        error(parameter.where, parameter.name + " is Out, but the kernel " +
                                   definition.name + " never writes it");
    diagnostic.setFix(suggestStore(parameter));
    // What an annotation does not say is written may be meant.
    for (size_t other : passed) {
      SourceRange store = state.uses[int(other)].firstWrite;
      const ParameterDescription &written = signature.parameters[other];
      if (!store.isValid() || !written.mode.empty() ||
          written.dims != parameter.dims)
        continue;
      // The store is the line that is wrong.
      diagnostic.message = written.name +
                           ", which no annotation calls Out or "
                           "InOut, is written, and " +
                           parameter.name + ", which is Out, never";
      diagnostic.where = store;
      diagnostic.addNote(parameter.where, quote(parameter.where));
      std::string text = quote(store);
      if (llvm::StringRef(text).starts_with(written.name + "["))
        diagnostic.setFix(parameter.name + text.substr(written.name.size()));
      break;
    }
    return failure();
  }
  auto says = [](Operation *op) {
    return isa<tile::PrintOp, tile::AssertOp>(op) ? WalkResult::interrupt()
                                                  : WalkResult::advance();
  };
  if (!state.writes() && !kernel->walk(says).wasInterrupted()) {
    std::string dims, indices;
    for (const KernelState::GridAxis &axis : state.gridAxes) {
      dims += dims.empty() ? "" : ", ";
      dims += axis.axis && axis.axis->dim ? "\"" + axis.axis->dim->name + "\""
                                          : quote(axis.where);
      indices += (indices.empty() ? "" : ", ") + axis.name;
    }
    error(definition.nameRange, "the kernel " + definition.name +
                                    " writes nothing: it has no Out, InOut or "
                                    "Region")
        .setFix("a parameter Y: Out[" + dims + "], and in the loop Y[" +
                indices + "] = ...");
    return failure();
  }
  builder.setInsertionPointToEnd(&entry);
  tile::ReturnOp::create(builder, location);
  SmallVector<mlir::Attribute> attributes;
  for (size_t index : passed)
    attributes.push_back(getArgumentAttributes(index, /*kernel=*/true));
  kernel.setArgAttrsAttr(builder.getArrayAttr(attributes));
  addProgramAttributes(kernel);
  return success();
}

LogicalResult Analyzer::runFunction() {
#ifdef TESSERA_HAS_TENSOR_OPS
  const FunctionDef &definition = *request.definition;
  ownedLibrary = createTensorOps(*this);
  library = ownedLibrary.get();
  SmallVector<Type> types;
  SmallVector<size_t> passed;
  for (auto [i, parameter] : llvm::enumerate(signature.parameters)) {
    if (parameter.kind == Kind::Out || parameter.kind == Kind::InOut ||
        parameter.kind == Kind::Region) {
      if (llvm::any_of(definition.body,
                       [](const Stmt *stmt) { return is<For>(stmt); }) &&
          !definition.decorators.empty()) {
        const Expr *decorator = definition.decorators.front();
        error(decorator->range, definition.name + " writes " + parameter.name +
                                    ", as kernels do; a function returns what "
                                    "it makes")
            .addNote(parameter.where, quote(parameter.where))
            .setFix("@tsr.kernel");
        return failure();
      }
      return notYet(parameter.where, "a written parameter of a function",
                    "return the tensor");
    }
    FailureOr<Type> type = getArgumentType(i, /*kernel=*/false);
    if (failed(type))
      return failure();
    if (!*type)
      continue;
    types.push_back(*type);
    passed.push_back(i);
  }
  builder.setInsertionPointToEnd(module.getBody());
  Location location = loc(definition.nameRange, definition.name);
  auto function = func::FuncOp::create(builder, location, symbol,
                                       builder.getFunctionType(types, {}));
  program = function;
  Block &entry = function.getBody().emplaceBlock();
  for (auto [type, index] : llvm::zip(types, passed)) {
    const ParameterDescription &parameter = signature.parameters[index];
    entry.addArgument(type, loc(parameter.where, parameter.name));
  }
  entryBlock = &entry;
  builder.setInsertionPointToStart(&entry);
  if (failed(bindParameters(entry, /*kernel=*/false)))
    return failure();
  if (execute(definition.body) == Flow::Failed)
    return failure();
  if (!scope().returned || scope().returned->isNone()) {
    // The last thing it computed is what it should return.
    std::string last;
    if (!definition.body.empty())
      last = getUnreturned();
    error(definition.nameRange, "the function " + definition.name +
                                    " returns nothing; it has no 'return'")
        .setFix(last.empty() ? "return the tensor it computes"
                             : "return " + last);
    return failure();
  }
  std::vector<SemaValue> results = {*scope().returned};
  if (results[0].kind == ValueKind::Tuple)
    results = std::vector<SemaValue>(results[0].elements);
  SmallVector<mlir::Value> values;
  SmallVector<Type> resultTypes;
  SmallVector<mlir::Attribute> resultAttributes;
  builder.setInsertionPointToEnd(&entry);
  for (const SemaValue &result : results) {
    ValueResult value = decay(result, scope().returnRange);
    if (failed(value))
      return failure();
    const Expr *annotation = definition.returns;
    if (auto *tuple = dynCast<Tuple>(annotation))
      annotation = values.size() < tuple->elts.size()
                       ? tuple->elts[values.size()]
                       : nullptr;
    if (annotation && failed(checkResultAnnotation(*library, *value, annotation,
                                                   scope().returnRange)))
      return failure();
    mlir::Value ssa;
    if (value->isTensor() || value->isScalar())
      ssa = value->ssa;
    else if (value->isConstant() && value->constant.isNumber())
      ssa = library->makeScalar(*value, value->getPromotionOperand().dtype,
                                loc(scope().returnRange, "result"));
    if (!ssa) {
      error(scope().returnRange,
            "a function returns tensors, not " + describe(*value))
          .setFix("return y, with y a tensor or a tuple of tensors");
      return failure();
    }
    values.push_back(ssa);
    resultTypes.push_back(ssa.getType());
    SmallVector<NamedAttribute> attributes;
    attributes.push_back(builder.getNamedAttr(
        "gir.name",
        builder.getStringAttr(result.name.empty() ? "result" : result.name)));
    if (value->isTensor()) {
      SmallVector<llvm::StringRef> names;
      for (Dim *dim : value->dims)
        names.push_back(dim && !isUnnamed(*dim) ? llvm::StringRef(dim->name)
                                                : llvm::StringRef());
      attributes.push_back(
          builder.getNamedAttr("gir.dims", builder.getStrArrayAttr(names)));
    }
    resultAttributes.push_back(builder.getDictionaryAttr(attributes));
  }
  func::ReturnOp::create(builder, loc(scope().returnRange), values);
  function.setFunctionType(builder.getFunctionType(types, resultTypes));
  SmallVector<mlir::Attribute> attributes;
  for (size_t index : passed)
    attributes.push_back(getArgumentAttributes(index, /*kernel=*/false));
  function.setArgAttrsAttr(builder.getArrayAttr(attributes));
  function.setResAttrsAttr(builder.getArrayAttr(resultAttributes));
  addProgramAttributes(function);
  return success();
#else
  return notYet(request.definition->nameRange, "@tsr.function");
#endif
}

FailureOr<std::string>
Analyzer::analyzeKernel(const CapturedFunction &callee,
                        const std::vector<ArgumentSpec> &arguments,
                        SourceRange site) {
  std::string key = std::to_string(uintptr_t(callee.definition));
  for (const ArgumentSpec &spec : arguments) {
    key += ";" + std::to_string(int(spec.kind)) + getDTypeName(spec.dtype) +
           std::to_string(spec.unitAxis) + spec.constant.str();
    for (int64_t size : spec.sizes)
      key += "," + std::to_string(size);
  }
  if (auto found = calledKernels.find(key); found != calledKernels.end())
    return found->second;
  SemaRequest inner;
  inner.kind = ProgramKind::Kernel;
  inner.definition = callee.definition;
  inner.arguments = arguments;
  inner.captured = callee.captured;
  inner.constants = callee.constants;
  inner.schedule = callee.schedule;
  inner.policy = callee.policy.empty() ? request.policy : callee.policy;
  inner.accum = callee.accum;
  inner.precision = callee.precision;
  inner.versionPerHead = request.versionPerHead;
  inner.debug = request.debug;
  Merges known;
  size_t before = diags.getDiagnostics().size();
  while (true) {
    diags.truncate(before);
    Analyzer analyzer(module, inner, diags);
    analyzer.merges = known;
    analyzer.inlineFrames = inlineFrames;
    analyzer.inlineFrames.push_back({callee.definition->name, site});
    if (succeeded(analyzer.run()))
      return calledKernels[key] = analyzer.symbol;
    if (!analyzer.addAsked(known))
      return failure();
    if (Operation *begun = module.lookupSymbol(analyzer.symbol))
      begun->erase();
  }
}

//===----------------------------------------------------------------------===//
// The entry point
//===----------------------------------------------------------------------===//

FailureOr<OwningOpRef<ModuleOp>> analyze(MLIRContext &context,
                                         const SemaRequest &request,
                                         DiagnosticEngine &diags) {
  context
      .loadDialect<graph::GraphDialect, tile::TileDialect, arith::ArithDialect,
                   math::MathDialect, scf::SCFDialect, func::FuncDialect,
                   memref::MemRefDialect, tensor::TensorDialect>();
  const SourceRange &where = request.definition->range;
  const SourceFile *file = diags.getSources().get(where.file);
  Location location =
      file ? Location(FileLineColLoc::get(&context, file->getName(),
                                          where.begin.line, where.begin.column))
           : Location(UnknownLoc::get(&context));
  OwningOpRef<ModuleOp> module;
  Analyzer::Merges merges;
  size_t before = diags.getDiagnostics().size();
  while (true) {
    diags.truncate(before);
    module = ModuleOp::create(location);
    Analyzer analyzer(*module, request, diags);
    analyzer.merges = merges;
    if (succeeded(analyzer.run()))
      break;
    if (!analyzer.addAsked(merges)) {
      // A failure without a message would leave the user with nothing.
      bool again = request.wanted && !request.wanted->empty();
      if (!diags.hasErrors() && !again)
        diags.error(request.definition->nameRange,
                    "this program cannot be analysed (a mistake in tessera)");
      return failure();
    }
  }
  if (failed(checkNarrowTypes(*module, where, diags)))
    return failure();
  markWeights(*module);
  std::string problem;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (problem.empty())
      problem = diagnostic.str();
    return success();
  });
  if (failed(verify(*module))) {
    diags.error(request.definition->nameRange,
                "tessera made wrong IR of this program (a mistake in "
                "tessera): " +
                    problem);
    return failure();
  }
  return module;
}

} // namespace tessera::frontend
