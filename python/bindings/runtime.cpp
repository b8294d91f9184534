//===- runtime.cpp - The Python extension tessera._runtime ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a call needs once its function is compiled: no LLVM in here, so that it
// is loaded in a millisecond.

#include "tessera-c/runtime.h"

#include "python/bindings/architectures.h"
#include "python/bindings/arrays.h"
#include "python/bindings/executable.h"

/// What kernels print goes where Python's print does.
static void printInPython(void *, const char *text, size_t length) {
  nanobind::gil_scoped_acquire acquire;
  try {
    nanobind::module_::import_("sys").attr("stdout").attr("write")(
        nanobind::str(text, length));
  } catch (nanobind::python_error &error) {
    error.discard_as_unraisable("the output of a kernel");
  }
}

const std::vector<tessera::python::Symbol> &tessera::python::symbols() {
  auto symbol = [](std::string_view name, auto *function) {
    return Symbol{name, reinterpret_cast<void *>(function)};
  };
  static const std::vector<Symbol> all = {
      symbol("tsr_print_begin", tsr_print_begin),
      symbol("tsr_print_value", tsr_print_value),
      symbol("tsr_print_axis", tsr_print_axis),
      symbol("tsr_print_int", tsr_print_int),
      symbol("tsr_print_float", tsr_print_float),
      symbol("tsr_print_end", tsr_print_end),
  };
  return all;
}

NB_MODULE(_runtime, module) {
  nanobind::set_leak_warnings(false);
  if (!tessera::python::importNumPy())
    throw nanobind::python_error();
  tsr_set_print(printInPython, nullptr);
  // Functions that kernels call, for who links them.
  nanobind::dict symbols;
  for (const tessera::python::Symbol &symbol : tessera::python::symbols())
    symbols[symbol.name.data()] = reinterpret_cast<uintptr_t>(symbol.address);
  module.attr("SYMBOLS") = symbols;
  // What was linked, for keys of caches: LLVM's version, and its libraries if
  // they are not inside.
  module.attr("LLVM_VERSION") = TESSERA_LLVM_VERSION;
  module.attr("LLVM_LIBRARIES") = TESSERA_LLVM_LIBRARIES;
  tessera::python::bindArchitectures(module);
  tessera::python::bindDevices(module);
  tessera::python::bindExecute(module);
  tessera::python::bindCallable(module);
}
