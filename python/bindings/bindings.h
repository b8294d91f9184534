//===- bindings.h - What the parts of the Python module share ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_PYTHON_BINDINGS_BINDINGS_H
#define TESSERA_PYTHON_BINDINGS_BINDINGS_H

#include "compiler/Frontend/Sema.h"

#include <nanobind/nanobind.h>

namespace tessera::python {

namespace nb = nanobind;

/// The text of every function of the process: diagnostics of one function may
/// point into another, so they share one.
frontend::SourceManager &sources();

/// A parsed function, kept for as long as Python holds it.
struct Program {
  frontend::ASTContext context;
  const frontend::FunctionDef *definition = nullptr;
  frontend::ProgramKind kind;
};

/// None, bool, int, float, str, dtype (by its `name`), tuple.
frontend::ConstantData toConstant(nb::handle value);

/// A tuple (kind, ...) as tessera/capture.py makes it.
frontend::CapturedNames toCaptured(nb::dict names);

/// Raises tessera.errors.<type>(text).
[[noreturn]] void raise(const char *type, const std::string &text);

void bindProgram(nb::module_ &module);
void bindCompile(nb::module_ &module);
void bindInterpret(nb::module_ &module);

} // namespace tessera::python

#endif // TESSERA_PYTHON_BINDINGS_BINDINGS_H
