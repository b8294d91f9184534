//===- module.cpp - The Python extension tessera._core --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "python/bindings/bindings.h"

NB_MODULE(_core, module) {
  nanobind::set_leak_warnings(false);
  tessera::python::bindProgram(module);
  tessera::python::bindCompile(module);
  tessera::python::bindInterpret(module);
}
