//===- parser-fuzz.cpp - Fuzz target of lexer, parser and renderer --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any bytes are either parsed or refused with a message: no crash, no endless
// loop, and a tree whose ranges lie in the text. The first byte chooses the
// kind of text and where it stands in its file. See README.md for the command.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ASTPrinter.h"
#include "compiler/Frontend/Parser.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

using namespace tessera::frontend;

static void require(bool condition, const char *what) {
  if (condition)
    return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

static void checkRange(const SourceFile &file, const SourceRange &range) {
  require(range.isValid(), "a range is set");
  require(range.begin <= range.end, "a range begins before it ends");
  require(file.hasLine(range.begin.line) && file.hasLine(range.end.line),
          "a range lies in the text");
  file.getSnippet(range);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  unsigned mode = size ? *data : 0;
  std::string_view text(reinterpret_cast<const char *>(data), size);
  if (size)
    text.remove_prefix(1);

  SourceManager sources;
  FileId id = sources.add("fuzz.py", text, mode & 4 ? 1000 : 1, mode & 8);
  const SourceFile &file = *sources.get(id);
  DiagnosticEngine diags(sources);
  ASTContext context;
  const Node *node = nullptr;
  switch (mode & 3) {
  case 0:
    node = parseExpression(context, sources, id, diags);
    break;
  case 1:
    node = parseModule(context, sources, id, diags);
    break;
  default:
    node = parseFunction(context, sources, id, diags);
  }

  require((node != nullptr) == !diags.hasErrors(),
          "there is a tree or an error");
  require(diags.getErrorCount() <= 1, "the parser stops at the first error");
  for (const Diagnostic &diagnostic : diags.getDiagnostics()) {
    checkRange(file, diagnostic.where);
    require(!diagnostic.message.empty(), "an error has a message");
    std::string plain = renderDiagnostic(sources, diagnostic);
    require(plain.find('\033') == std::string::npos,
            "no escape sequence of the text reaches the terminal");
    renderDiagnostic(sources, diagnostic, /*colour=*/true);
  }
  if (node) {
    checkRange(file, node->range);
    printTree(node);
  }
  return 0;
}
