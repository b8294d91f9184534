//===- ASTPrinter.h - The tree as text --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A canonical S-expression of a tree: `(Kind@range field ...)`, fields in the
// order of Python's `ast`, lists in brackets, absent parts `-`, floats as the
// bits of the double, strings in JSON's escapes. test/frontend computes the
// same text from Python's `ast` and compares.
//
//   (BinOp@2:12-2:17 (Name@2:12-2:13 "x") Add (Constant@2:16-2:17 int 1))
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_ASTPRINTER_H
#define TESSERA_COMPILER_FRONTEND_ASTPRINTER_H

#include "compiler/Frontend/AST.h"

#include <string>

namespace tessera::frontend {

struct PrintOptions {
  /// `@line:column-line:column` behind every node, keyword and parameter.
  bool ranges = true;
  /// One statement per line, indented; otherwise the text is a single line.
  bool lines = false;
};

std::string printTree(const Node *node, const PrintOptions &options = {});

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_ASTPRINTER_H
