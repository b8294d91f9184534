//===- Run.cpp - Interpreting a module, for tools and Python --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Interpreter/Run.h"

#include "compiler/Interpreter/TileData.h"
#include "compiler/Plan/IR/Plan.h"

#include "llvm/ADT/StringExtras.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

static size_t bytesOf(Element element) {
  return std::max(1u, bitsOf(element) / 8);
}

FailureOr<Array> interpreter::toArray(const HostArray &host, Domain &domain) {
  std::optional<Element> element = elementNamed(host.dtype);
  std::optional<int64_t> count = elementCount(host.shape);
  if (!element || !count)
    return failure();
  size_t size = bytesOf(*element);
  if (host.bytes.size() != size_t(*count) * size)
    return failure();
  Array array(host.shape, *element);
  for (int64_t i = 0; i < *count; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, host.bytes.data() + size_t(i) * size, size);
    array.cells[i] = domain.fromBits(*element, bits);
  }
  return array;
}

HostArray interpreter::fromArray(const Array &array, Domain &domain) {
  HostArray host;
  host.dtype = nameOf(array.element).str();
  host.shape = array.shape;
  size_t size = bytesOf(array.element);
  host.bytes.resize(size * array.cells.size());
  bool reals = isFloat(array.element) && domain.name() != "ring";
  bool bounds = reals || domain.name() == "bound";
  constexpr double unknown = std::numeric_limits<double>::infinity();
  for (auto [i, cell] : llvm::enumerate(array.cells)) {
    if (!cell.present()) {
      host.poison.push_back(int64_t(i));
      if (reals)
        host.values.push_back(std::numeric_limits<double>::quiet_NaN());
      if (bounds)
        host.errors.push_back(0);
      continue;
    }
    uint64_t bits = domain.toBits(array.element, cell);
    std::memcpy(host.bytes.data() + i * size, &bits, size);
    if (reals)
      host.values.push_back(double(cell.real));
    // Double has fewer bits than the reference.
    if (bounds)
      host.errors.push_back(domain.isLost() ? unknown
                            : reals && cell.error != 0
                                ? cell.error +
                                      std::fabs(double(cell.real)) * 0x1p-53
                                : cell.error);
  }
  return host;
}

/// "gemm.py:6:20", and the user's name of a value if it has one.
static std::string placeOf(Location location) {
  std::string place;
  location->walk([&](Location part) {
    auto file = dyn_cast<FileLineColLoc>(part);
    if (!file || file.getLine() == 0)
      return WalkResult::advance();
    place = (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
             Twine(file.getColumn()))
                .str();
    return WalkResult::interrupt();
  });
  return place;
}

static std::string nameOfValue(Location location) {
  std::string name;
  location->walk([&](Location part) {
    auto named = dyn_cast<NameLoc>(part);
    if (!named)
      return WalkResult::advance();
    name = named.getName().str();
    return WalkResult::interrupt();
  });
  return name;
}

static Operation *findFunction(ModuleOp module, StringRef name) {
  if (Operation *found = SymbolTable::lookupSymbolIn(module, name))
    return found;
  module.emitError() << "there is no function called '" << name << "'";
  return nullptr;
}

/// An argument of a plan; nothing for its other ops.
static std::optional<RunParameter> readPlanArgument(Operation &op) {
  RunParameter parameter;
  parameter.mode = "in";
  if (auto scalar = dyn_cast<plan::ScalarOp>(op)) {
    parameter.name = scalar.getName().str();
    Type type = scalar.getType();
    parameter.dtype = type.isF64() ? "f64" : type.isInteger(1) ? "bool" : "i64";
    return parameter;
  }
  auto argument = dyn_cast<plan::ArgOp>(op);
  if (!argument)
    return std::nullopt;
  parameter.name = argument.getName().str();
  parameter.mode = plan::stringifyMode(argument.getMode()).str();
  parameter.dtype = plan::nameOf(argument.getType().getElement()).str();
  for (Value axis : argument.getAxes()) {
    APInt number;
    auto dim = axis.getDefiningOp<plan::DimOp>();
    parameter.dims.push_back(dim ? dim.getName().str()
                             : matchPattern(axis, m_ConstantInt(&number))
                                 ? std::to_string(number.getSExtValue())
                                 : "");
  }
  return parameter;
}

FailureOr<std::vector<RunParameter>>
interpreter::runParameters(ModuleOp module, StringRef name) {
  Operation *op = findFunction(module, name);
  if (!op)
    return failure();
  std::vector<RunParameter> all;
  if (auto plan = dyn_cast<plan::FuncOp>(op)) {
    for (Operation &one : plan.getBody().front())
      if (std::optional<RunParameter> parameter = readPlanArgument(one))
        all.push_back(std::move(*parameter));
    return all;
  }
  auto function = dyn_cast<FunctionOpInterface>(innerKernel(op));
  if (!function)
    return op->emitError() << "'" << name << "' is no function";
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    RunParameter parameter;
    if (std::optional<Element> element = elementOf(type))
      parameter.dtype = nameOf(*element).str();
    if (auto shaped = dyn_cast<ShapedType>(type))
      for (int64_t extent : shaped.getShape())
        parameter.dims.push_back(
            ShapedType::isDynamic(extent) ? "" : std::to_string(extent));
    if (auto given = function.getArgAttrOfType<StringAttr>(i, "gir.name"))
      parameter.name = given.str();
    else
      parameter.name = "arg" + std::to_string(i);
    auto mode = function.getArgAttrOfType<StringAttr>(i, "gir.mode");
    parameter.mode = mode ? mode.str() : "in";
    if (auto dims = function.getArgAttrOfType<ArrayAttr>(i, "gir.dims"))
      for (auto [axis, dim] : llvm::zip(parameter.dims, dims))
        if (auto text = dyn_cast<StringAttr>(dim); text && axis.empty())
          axis = text.str();
    all.push_back(std::move(parameter));
  }
  return all;
}

LogicalResult interpreter::runModule(ModuleOp module, const RunRequest &request,
                                     RunOutcome &outcome) {
  std::unique_ptr<Domain> domain = createDomain(request.domain);
  if (!domain)
    return module.emitError()
           << "no domain is called '" << request.domain
           << "'; there are exact, reference, ring and bound";
  RunOptions options;
  options.maxWork = request.maxWork;
  options.seed = request.seed;
  options.print = [&](StringRef line) {
    outcome.printed.push_back(line.str());
  };
  for (const HostArray &argument : request.arguments)
    if (!argument.strides.empty())
      options.strides[argument.name].assign(argument.strides.begin(),
                                            argument.strides.end());
  if (request.trace)
    options.observer = [&](Operation *op, Interpreter &in) {
      TraceEntry entry{
          op->getName().getStringRef().str(), placeOf(op->getLoc()), {}};
      for (Value result : op->getResults())
        if (auto *array = dyn_cast<Array>(in.get(result).get())) {
          HostArray host = fromArray(*array, *domain);
          host.name = nameOfValue(op->getLoc());
          entry.results.push_back(std::move(host));
        }
      if (!entry.results.empty())
        outcome.trace.push_back(std::move(entry));
    };
  Interpreter interpreter(module, *domain, std::move(options));
  std::string name =
      request.function.empty() ? interpreter.findEntry() : request.function;
  if (name.empty())
    return module.emitError()
           << "the module has several functions; say which one to run";
  FailureOr<std::vector<RunParameter>> parameters = runParameters(module, name);
  if (failed(parameters))
    return failure();
  Data arguments, results;
  for (const RunParameter &parameter : *parameters) {
    auto given = llvm::find_if(request.arguments, [&](const HostArray &host) {
      return host.name == parameter.name;
    });
    if (given == request.arguments.end()) {
      if (parameter.mode != "out")
        return module.emitError()
               << "argument " << parameter.name << " is missing";
      arguments.push_back(nullptr);
      continue;
    }
    FailureOr<Array> array = toArray(*given, *domain);
    if (failed(array))
      return module.emitError()
             << "argument " << given->name << ": " << given->bytes.size()
             << " bytes are no array of " << given->dtype << " of that shape";
    arguments.push_back(share(std::move(*array)));
  }
  if (failed(interpreter.call(name, arguments, results)))
    return failure();
  for (const DatumRef &result : results)
    outcome.results.push_back(fromArray(cast<Array>(*result), *domain));
  outcome.launched.assign(interpreter.launched.begin(),
                          interpreter.launched.end());
  for (const Interpreter::Remark &remark : interpreter.remarks)
    outcome.remarks.push_back(
        {remark.kind.str(), placeOf(remark.where), remark.text, remark.count});
  return success();
}
