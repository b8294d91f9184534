//===- tessera-sema.cpp - Analyse one function or kernel of a file --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   tessera-sema gemm.py gemm --arg A=f32[?,?] --arg B=f32[?,?] \
//                             --arg n=i64 --arg BLOCK_M=16
//
// Prints the module, or the errors. A tensor is dtype[sizes] (`?`: not known;
// `A=f32[?,64]/1` says that axis 1 has stride 1; without it the last has, `/-`
// none), a scalar a dtype, anything else a constant. Tensors without --arg are
// fp32 and dynamic; dims that must be constants are 64 (--whole=N), Outs are
// omitted (--outs passes them).
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/Parser.h"
#include "compiler/Frontend/Sema.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/AsmState.h"

#include <set>

using namespace tessera::frontend;
namespace cl = llvm::cl;

static cl::opt<std::string> inputFile(cl::Positional, cl::Required,
                                      cl::desc("<file>"));
static cl::opt<std::string> programName(cl::Positional, cl::Required,
                                        cl::desc("<function>"));
static cl::list<std::string> argumentTexts("arg", cl::desc("name=spec"));
static cl::list<std::string> constantTexts("const", cl::desc("name=value"));
static cl::opt<int64_t> wholeSize("whole", cl::init(64),
                                  cl::desc("size of dims that are constants"));
static cl::opt<std::string> defaultDType("dtype", cl::init("fp32"),
                                         cl::desc("dtype of tensors"));
static cl::opt<bool> passOuts("outs", cl::desc("pass Out parameters"));
static cl::opt<bool> plain("plain", cl::desc("SSA names %0, no user names"));
static cl::opt<bool> showLocations("locations", cl::desc("print locations"));
static cl::opt<bool> describeOnly("describe",
                                  cl::desc("print signature and names"));

static std::optional<DType> parseType(llvm::StringRef text) {
  if (text.starts_with("f") && !text.starts_with("fp") &&
      !text.starts_with("float"))
    return parseDType(("fp" + text.drop_front()).str());
  if (text == "i1")
    return DType::Bool;
  return parseDType(text.str());
}

static ConstantData parseConstant(llvm::StringRef text) {
  if (text == "True" || text == "true")
    return true;
  if (text == "False" || text == "false")
    return false;
  if (text == "None")
    return {};
  int64_t integer;
  if (!text.getAsInteger(10, integer))
    return integer;
  double number;
  if (!text.getAsDouble(number))
    return number;
  if (auto dtype = parseType(text))
    return *dtype;
  return text.str();
}

/// f32[?,64]/1, i64, 128
static ArgumentSpec parseSpec(llvm::StringRef text) {
  size_t bracket = text.find('[');
  if (bracket == llvm::StringRef::npos) {
    if (auto dtype = parseType(text))
      return ArgumentSpec::scalar(*dtype);
    return ArgumentSpec::value(parseConstant(text));
  }
  std::vector<int64_t> sizes;
  auto [inside, unit] = text.drop_front(bracket + 1).split(']');
  llvm::SmallVector<llvm::StringRef> parts;
  inside.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    int64_t size = -1;
    part.trim().getAsInteger(10, size);
    sizes.push_back(size);
  }
  int unitAxis = int(sizes.size()) - 1;
  if (unit.consume_front("/") && unit.getAsInteger(10, unitAxis))
    unitAxis = -1;
  auto dtype = parseType(text.take_front(bracket));
  return ArgumentSpec::tensor(dtype.value_or(DType::FP32), sizes, unitAxis);
}

static ProgramKind getKind(const FunctionDef &definition) {
  for (const Expr *decorator : definition.decorators) {
    const Expr *part = decorator;
    while (part) {
      if (auto *call = dynCast<Call>(part)) {
        part = call->func;
      } else if (auto *attribute = dynCast<Attribute>(part)) {
        if (attribute->attr == "function")
          return ProgramKind::Function;
        part = attribute->value;
      } else {
        break;
      }
    }
  }
  return ProgramKind::Kernel;
}

/// Functions are known by their names, simple assignments by their constants.
static CapturedNames captureModule(const Module &module) {
  CapturedNames names;
  for (const Stmt *stmt : module.body) {
    if (auto *assign = dynCast<Assign>(stmt)) {
      auto *name = dynCast<Name>(assign->targets[0]);
      auto *constant = dynCast<Constant>(assign->value);
      if (name && constant && constant->intValue)
        names[name->id] = CapturedValue::value(*constant->intValue);
      else if (name && constant && constant->type == ConstantKind::Float)
        names[name->id] = CapturedValue::value(constant->floatValue);
      else if (name && constant && constant->type == ConstantKind::String)
        names[name->id] = CapturedValue::value(constant->text);
      // M, K = tsr.dims("M K")
      auto *call = dynCast<Call>(assign->value);
      auto *callee = call ? dynCast<Attribute>(call->func) : nullptr;
      auto *targets = dynCast<Tuple>(assign->targets[0]);
      if (callee && callee->attr == "dims" && targets)
        for (const Expr *target : targets->elts)
          if (auto *dim = dynCast<Name>(target))
            names[dim->id] = CapturedValue::dimName(dim->id);
      continue;
    }
    auto *definition = dynCast<FunctionDef>(stmt);
    if (!definition)
      continue;
    auto function = std::make_shared<CapturedFunction>();
    function->kind = getKind(*definition);
    function->definition = definition;
    function->captured = names;
    CapturedValue value;
    value.kind = CapturedValue::Kind::Function;
    value.function = function;
    names[definition->name] = value;
  }
  return names;
}

/// The text of one function, with decorators, in a Python file that holds more
/// than our grammar: from its first decorator to the next line that is not
/// indented.
static std::pair<std::string, uint32_t> findFunction(llvm::StringRef text,
                                                     llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  size_t decorators = lines.size();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("@")) {
      decorators = std::min(decorators, i);
      continue;
    }
    llvm::StringRef rest = lines[i];
    bool found = rest.consume_front("def ") && rest.consume_front(name) &&
                 rest.ltrim().starts_with("(");
    if (!found) {
      if (!lines[i].starts_with(" ") && !lines[i].empty())
        decorators = lines.size();
      continue;
    }
    size_t first = std::min(decorators, i);
    std::string result;
    for (size_t j = first; j < lines.size(); ++j)
      result += lines[j].str() + "\n";
    return {result, uint32_t(first + 1)};
  }
  return {"", 0};
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "tessera's semantic analyser\n");
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(inputFile);
  if (!buffer) {
    llvm::errs() << "cannot read " << inputFile << "\n";
    return 2;
  }
  SourceManager sources;
  ASTContext trees;
  DiagnosticEngine diags(sources);
  llvm::StringRef text = (*buffer)->getBuffer();
  SemaRequest request;

  // The whole file if it is Tessera; else the one function.
  FileId file = sources.add(inputFile, std::string_view(text));
  DiagnosticEngine quiet(sources);
  if (Module *module = parseModule(trees, sources, file, quiet)) {
    request.captured = captureModule(*module);
    for (const Stmt *stmt : module->body)
      if (auto *definition = dynCast<FunctionDef>(stmt);
          definition && definition->name == programName)
        request.definition = definition;
    request.captured.erase(programName);
  } else {
    auto [part, line] = findFunction(text, programName);
    if (!part.empty()) {
      FileId only = sources.add(inputFile, part, line);
      request.definition = parseFunction(trees, sources, only, diags);
      if (!request.definition) {
        llvm::errs() << diags.render();
        return 1;
      }
    }
  }
  if (!request.definition) {
    llvm::errs() << quiet.render() << inputFile << ": no function '"
                 << programName << "'\n";
    return 2;
  }
  request.kind = getKind(*request.definition);

  auto signature =
      describeSignature(*request.definition, request.captured, diags);
  if (failed(signature)) {
    llvm::errs() << diags.render();
    return 1;
  }
  if (describeOnly) {
    for (const ParameterDescription &parameter : signature->parameters) {
      llvm::outs() << parameter.name << ": kind " << int(parameter.kind)
                   << " mode '" << parameter.mode << "' dims";
      for (const std::string &dim : parameter.dims)
        llvm::outs() << ' ' << dim;
      if (parameter.dtype)
        llvm::outs() << " dtype " << getDTypeName(*parameter.dtype);
      if (parameter.hasDefault)
        llvm::outs() << " default " << parameter.defaultValue.str();
      llvm::outs() << "\n";
    }
    for (const WholeDim &whole : wholeDims(*request.definition, *signature))
      llvm::outs() << "whole: " << signature->parameters[whole.parameter].name
                   << " axis " << whole.axis << "\n";
    for (const FreeName &name : collectFreeNames(*request.definition))
      llvm::outs() << "free: " << name.name << " at " << name.where.begin.line
                   << ":" << name.where.begin.column << "\n";
    return 0;
  }
  std::map<std::string, ArgumentSpec> given;
  for (const std::string &argument : argumentTexts) {
    auto [name, spec] = llvm::StringRef(argument).split('=');
    given[name.str()] = parseSpec(spec);
  }
  for (const std::string &constant : constantTexts) {
    auto [name, value] = llvm::StringRef(constant).split('=');
    request.constants[name.str()] = parseConstant(value);
  }
  std::set<WholeDim> whole;
  if (request.kind == ProgramKind::Kernel)
    for (const WholeDim &dim : wholeDims(*request.definition, *signature))
      whole.insert(dim);
  for (size_t i = 0; i < signature->parameters.size(); ++i) {
    const ParameterDescription &parameter = signature->parameters[i];
    using Kind = ParameterDescription::Kind;
    ArgumentSpec spec;
    bool isOut = parameter.kind == Kind::Out;
    if (auto found = given.find(parameter.name); found != given.end()) {
      spec = found->second;
    } else if (parameter.hasDims && (!isOut || passOuts)) {
      spec = ArgumentSpec::tensor(
          parameter.dtype ? *parameter.dtype
                          : parseType(defaultDType).value_or(DType::FP32),
          std::vector<int64_t>(parameter.dims.size(), -1),
          int(parameter.dims.size()) - 1);
    } else if (parameter.kind == Kind::Scalar) {
      spec = ArgumentSpec::scalar(*parameter.dtype);
    }
    if (spec.kind == ArgumentSpec::Kind::Tensor)
      for (size_t axis = 0; axis < spec.sizes.size(); ++axis)
        if (spec.sizes[axis] < 0 && whole.count({int(i), int(axis)}))
          spec.sizes[axis] = wholeSize;
    request.arguments.push_back(spec);
  }
  mlir::MLIRContext context;
  auto module = analyze(context, request, diags);
  llvm::errs() << diags.render();
  if (failed(module))
    return 1;
  mlir::OpPrintingFlags flags;
  flags.useLocalScope();
  if (!plain)
    flags.printNameLocAsPrefix();
  if (showLocations)
    flags.enableDebugInfo(true, /*prettyForm=*/true);
  (*module)->print(llvm::outs(), flags);
  llvm::outs() << "\n";
  return 0;
}
