//===- runtime.cpp - The Python extension tessera._runtime ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a call needs once its function is compiled: no LLVM in here, so that it
// is loaded in a millisecond.

#include "python/bindings/arrays.h"
#include "python/bindings/executable.h"

NB_MODULE(_runtime, module) {
  nanobind::set_leak_warnings(false);
  if (!tessera::python::importNumPy())
    throw nanobind::python_error();
  tessera::python::bindExecute(module);
  tessera::python::bindCallable(module);
}
