// The table of architectures, for Python.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_PYTHON_BINDINGS_ARCHITECTURES_H
#define TESSERA_PYTHON_BINDINGS_ARCHITECTURES_H

#include <nanobind/nanobind.h>

namespace tessera::python {

void bindArchitectures(nanobind::module_ &module);

} // namespace tessera::python

#endif // TESSERA_PYTHON_BINDINGS_ARCHITECTURES_H
