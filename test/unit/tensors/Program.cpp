//===- Program.cpp - Analyses one small function for a test ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/tensors/Program.h"

#include "compiler/Frontend/Parser.h"
#include "compiler/Frontend/Sema.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Verifier.h"

using namespace tessera::frontend;

size_t Outcome::count(const std::string &text) const {
  size_t result = 0;
  for (size_t at = ir.find(text); at != std::string::npos;
       at = ir.find(text, at + 1))
    ++result;
  return result;
}

static DType parseType(llvm::StringRef text) {
  return parseDType(text.starts_with("f") ? "fp" + text.drop_front().str()
                                          : text.str())
      .value_or(DType::FP32);
}

static ArgumentSpec parseSpec(llvm::StringRef text) {
  if (text.consume_front("=")) {
    int64_t number;
    if (!text.getAsInteger(10, number))
      return ArgumentSpec::value(number);
    return ArgumentSpec::value(text == "True");
  }
  size_t bracket = text.find('[');
  if (bracket == llvm::StringRef::npos)
    return ArgumentSpec::scalar(parseType(text));
  std::vector<int64_t> sizes;
  llvm::SmallVector<llvm::StringRef> parts;
  text.drop_front(bracket + 1).drop_back().split(parts, ',', -1, false);
  for (llvm::StringRef part : parts) {
    int64_t size = -1;
    if (part.trim().getAsInteger(10, size))
      size = -1;
    sizes.push_back(size);
  }
  int unit = int(sizes.size()) - 1;
  return ArgumentSpec::tensor(parseType(text.take_front(bracket)), sizes, unit);
}

/// Makes a function known by its name.
static void capture(SemaRequest &request, const FunctionDef &definition) {
  auto function = std::make_shared<CapturedFunction>();
  function->definition = &definition;
  for (const Expr *decorator : definition.decorators)
    if (auto *attribute = dynCast<Attribute>(decorator))
      if (attribute->attr == "kernel")
        function->kind = ProgramKind::Kernel;
  CapturedValue value;
  value.kind = CapturedValue::Kind::Function;
  value.function = function;
  request.captured[definition.name] = value;
}

Outcome analyzeText(const std::string &source,
                    const std::vector<std::string> &arguments) {
  Outcome outcome;
  SourceManager sources;
  ASTContext trees;
  DiagnosticEngine diags(sources);
  FileId file = sources.add("f.py", source);
  mlir::MLIRContext context;
  SemaRequest request;
  request.kind = ProgramKind::Function;
  // The last function is the program, the earlier ones it may call.
  if (Module *module = parseModule(trees, sources, file, diags))
    for (const Stmt *stmt : module->body)
      if (auto *definition = dynCast<FunctionDef>(stmt)) {
        if (request.definition)
          capture(request, *request.definition);
        request.definition = definition;
      }
  if (request.definition) {
    for (const std::string &argument : arguments)
      request.arguments.push_back(parseSpec(argument));
    auto module = analyze(context, request, diags);
    if (succeeded(module)) {
      if (failed(mlir::verify(**module)))
        outcome.errors += "the IR does not verify\n";
      llvm::raw_string_ostream(outcome.ir) << **module;
    } else if (!diags.hasErrors()) {
      outcome.errors += "failed without an error\n";
    }
  }
  outcome.errors += diags.render();
  return outcome;
}

Outcome analyzeBody(const std::string &parameters,
                    const std::vector<std::string> &statements) {
  std::string source = "def f(";
  std::vector<std::string> arguments;
  llvm::StringRef rest = parameters;
  while (!rest.trim().empty()) {
    auto [name, after] = rest.split(':');
    name = name.trim();
    after = after.ltrim();
    if (!arguments.empty())
      source += ", ";
    source += name.str();
    if (after.consume_front("[")) {
      auto [dims, tail] = after.split(']');
      auto [dtype, next] = tail.split(',');
      std::string annotation, sizes;
      bool named = false;
      llvm::SmallVector<llvm::StringRef> parts;
      dims.split(parts, ',', -1, false);
      for (llvm::StringRef part : parts) {
        // M, 4, ?, or M=4: a named dim whose size is in the key.
        auto [label, size] = part.trim().split('=');
        bool isName = llvm::isAlpha(label[0]);
        named |= isName;
        annotation += (annotation.empty() ? "" : ", ") +
                      (isName ? "\"" + label.str() + "\"" : label.str());
        sizes += (sizes.empty() ? "" : ",") + (!size.empty() ? size.str()
                                               : isName      ? "?"
                                                             : label.str());
      }
      if (named)
        source += ": Tensor[" + annotation + "]";
      llvm::StringRef type = dtype.trim();
      arguments.push_back((type.empty() ? "f32" : type.str()) + "[" + sizes +
                          "]");
      rest = next;
    } else {
      auto [type, next] = after.split(',');
      arguments.push_back(type.trim().str());
      rest = next;
    }
  }
  source += "):\n";
  for (const std::string &statement : statements)
    source += "    " + statement + "\n";
  return analyzeText(source, arguments);
}

Outcome analyzeExpression(const std::string &parameters,
                          const std::string &expression) {
  return analyzeBody(parameters, {"return " + expression});
}
