//===- SemaTesting.h - One program through parser and analyser --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_SEMA_SEMATESTING_H
#define TESSERA_TEST_UNIT_SEMA_SEMATESTING_H

#include "compiler/Frontend/Parser.h"
#include "compiler/Frontend/Sema.h"

#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/AsmState.h"

#include <set>

namespace tessera::frontend {

/// The last function of a text, with arguments: tensors without a spec are fp32
/// of unknown sizes, dims that must be constants 8, Outs are left out, `const`
/// parameters have their defaults. Earlier functions and int assignments of
/// the text are captured.
class Program {
public:
  explicit Program(std::string text, std::string name = {})
      : diags(sources), program(std::move(name)) {
    file = sources.add("k.py", text);
    tree = parseModule(trees, sources, file, diags);
  }

  Program &arg(const std::string &name, ArgumentSpec spec) {
    specs[name] = std::move(spec);
    return *this;
  }
  Program &capture(const std::string &name, CapturedValue value) {
    request.captured[name] = std::move(value);
    return *this;
  }
  Program &dtype(DType dtype) {
    tensorDType = dtype;
    return *this;
  }

  /// The module's text, or the rendered errors.
  std::string run() {
    if (!tree)
      return diags.render();
    captureModule();
    request.debug = true;
    if (!request.definition)
      return "no such function";
    auto signature =
        describeSignature(*request.definition, request.captured, diags);
    if (failed(signature))
      return diags.render();
    std::set<WholeDim> whole;
    if (request.kind == ProgramKind::Kernel)
      for (WholeDim dim : wholeDims(*request.definition, *signature))
        whole.insert(dim);
    for (size_t i = 0; i < signature->parameters.size(); ++i) {
      const ParameterDescription &parameter = signature->parameters[i];
      using Kind = ParameterDescription::Kind;
      ArgumentSpec spec;
      if (auto found = specs.find(parameter.name); found != specs.end())
        spec = found->second;
      else if (parameter.hasDims && parameter.kind != Kind::Out)
        spec = ArgumentSpec::tensor(
            parameter.dtype.value_or(tensorDType),
            std::vector<int64_t>(parameter.dims.size(), -1),
            int(parameter.dims.size()) - 1);
      else if (parameter.kind == Kind::Scalar)
        spec = ArgumentSpec::scalar(*parameter.dtype);
      if (spec.kind == ArgumentSpec::Kind::Tensor)
        for (size_t axis = 0; axis < spec.sizes.size(); ++axis)
          if (spec.sizes[axis] < 0 && whole.count({int(i), int(axis)}))
            spec.sizes[axis] = 8;
      request.arguments.push_back(spec);
    }
    auto module = analyze(context, request, diags);
    if (failed(module))
      return diags.render();
    ok = true;
    std::string text;
    llvm::raw_string_ostream stream(text);
    mlir::OpPrintingFlags flags;
    flags.printNameLocAsPrefix();
    if (locations)
      flags.enableDebugInfo(true, true);
    (*module)->print(stream, flags);
    result = std::move(*module);
    return text;
  }

  SemaRequest request;
  DiagnosticEngine &getDiagnostics() { return diags; }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> result;
  bool ok = false;
  bool locations = false;

private:
  static ProgramKind getKind(const FunctionDef &definition) {
    for (const Expr *decorator : definition.decorators)
      if (auto *attribute = dynCast<Attribute>(decorator))
        if (attribute->attr == "function")
          return ProgramKind::Function;
    return ProgramKind::Kernel;
  }

  void captureModule() {
    for (const Stmt *stmt : tree->body) {
      if (auto *assign = dynCast<Assign>(stmt)) {
        auto *name = dynCast<Name>(assign->targets[0]);
        auto *constant = dynCast<Constant>(assign->value);
        if (name && constant && constant->intValue)
          request.captured[name->id] =
              CapturedValue::value(*constant->intValue);
      }
      auto *definition = dynCast<FunctionDef>(stmt);
      if (!definition)
        continue;
      if (request.definition &&
          (program.empty() || request.definition->name != program)) {
        auto function = std::make_shared<CapturedFunction>();
        function->kind = request.kind;
        function->definition = request.definition;
        function->captured = request.captured;
        CapturedValue value;
        value.kind = CapturedValue::Kind::Function;
        value.function = function;
        request.captured[request.definition->name] = value;
      }
      request.definition = definition;
      request.kind = getKind(*definition);
      if (definition->name == program)
        break;
    }
  }

  SourceManager sources;
  ASTContext trees;
  DiagnosticEngine diags;
  FileId file;
  Module *tree = nullptr;
  std::string program;
  std::map<std::string, ArgumentSpec> specs;
  DType tensorDType = DType::FP32;
};

/// How often `part` stands in `text`.
inline size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size()))
    ++count;
  return count;
}

} // namespace tessera::frontend

#endif // TESSERA_TEST_UNIT_SEMA_SEMATESTING_H
