//===- runtime.cpp - The Python extension tessera._runtime ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a call needs once its function is compiled: no LLVM in here, so that it
// is loaded in a millisecond.

#include "tessera-c/runtime.h"

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

NB_MODULE(_runtime, module) {
  nanobind::set_leak_warnings(false);
  if (!tessera::python::importNumPy())
    throw nanobind::python_error();
  tsr_set_print(printInPython, nullptr);
  // Functions that kernels call, for who links them.
  nanobind::dict symbols;
  auto add = [&](const char *name, auto *function) {
    symbols[name] = reinterpret_cast<uintptr_t>(function);
  };
  add("tsr_print_begin", tsr_print_begin);
  add("tsr_print_value", tsr_print_value);
  add("tsr_print_axis", tsr_print_axis);
  add("tsr_print_int", tsr_print_int);
  add("tsr_print_float", tsr_print_float);
  add("tsr_print_end", tsr_print_end);
  module.attr("SYMBOLS") = symbols;
  tessera::python::bindExecute(module);
  tessera::python::bindCallable(module);
}
