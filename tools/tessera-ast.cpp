//===- tessera-ast.cpp - Prints the syntax tree of a text -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   tessera-ast [options] file      prints the tree, or the errors
//     --function      the text is one function, indented or not
//     --expression    the text is one expression
//     --line N        number of the first line of the text
//     --column N      blanks that were removed from every line
//     --no-ranges     leaves positions out
//     --colour        colours the errors
//
//   tessera-ast --batch             answers many requests, for tests
//     request   KIND LINE COLUMN BYTES\n, then the text; KIND is module,
//               function or expression
//     answer    ok BYTES\n                   and the tree in one line,
//               refused BYTES CONSTRUCT\n    and the rendered errors, or
//               error BYTES\n                and the rendered errors
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ASTPrinter.h"
#include "compiler/Frontend/Parser.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

using namespace tessera::frontend;

static const Node *parse(const std::string &kind, ASTContext &context,
                         const SourceManager &sources, FileId file,
                         DiagnosticEngine &diags) {
  if (kind == "module")
    return parseModule(context, sources, file, diags);
  if (kind == "function")
    return parseFunction(context, sources, file, diags);
  return parseExpression(context, sources, file, diags);
}

static int runBatch() {
  std::ios::sync_with_stdio(false);
  std::string kind;
  unsigned long line, column, size;
  std::string text;
  while (std::cin >> kind >> line >> column >> size) {
    std::cin.get();
    text.resize(size);
    if (!std::cin.read(text.data(), size)) {
      std::cerr << "error: the input ends inside a text\n";
      return 1;
    }
    SourceManager sources;
    FileId file = sources.add("<batch>", text, line, column);
    DiagnosticEngine diags(sources);
    ASTContext context;
    const Node *node = parse(kind, context, sources, file, diags);
    if (node) {
      std::string tree = printTree(node);
      std::cout << "ok " << tree.size() << '\n' << tree << '\n';
      continue;
    }
    std::string message = diags.render();
    const std::string &construct = diags.getDiagnostics().front().construct;
    if (construct.empty())
      std::cout << "error " << message.size() << '\n';
    else
      std::cout << "refused " << message.size() << ' ' << construct << '\n';
    std::cout << message << '\n';
  }
  return 0;
}

int main(int argc, char **argv) {
  std::string kind = "module";
  std::string path;
  unsigned long line = 1, column = 0;
  PrintOptions options;
  options.lines = true;
  bool colour = false;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--batch")
      return runBatch();
    if (arg == "--function" || arg == "--expression")
      kind = arg.substr(2);
    else if ((arg == "--line" || arg == "--column") && i + 1 < argc)
      (arg == "--line" ? line : column) = std::strtoul(argv[++i], nullptr, 10);
    else if (arg == "--no-ranges")
      options.ranges = false;
    else if (arg == "--colour")
      colour = true;
    else if (path.empty() && !arg.starts_with("--"))
      path = arg;
    else {
      std::cerr << "error: unknown option " << arg << '\n';
      return 2;
    }
  }
  std::ifstream stream(path, std::ios::binary);
  if (path.empty() || !stream) {
    std::cerr << "error: cannot read '" << path << "'\n";
    return 2;
  }
  std::string text((std::istreambuf_iterator<char>(stream)), {});

  SourceManager sources;
  FileId file = sources.add(path, text, line, column);
  DiagnosticEngine diags(sources);
  ASTContext context;
  const Node *node = parse(kind, context, sources, file, diags);
  std::cerr << diags.render(colour);
  if (!node)
    return 1;
  std::cout << printTree(node, options) << '\n';
  return 0;
}
