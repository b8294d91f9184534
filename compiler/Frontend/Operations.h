//===- Operations.h - The operations there are, for documents ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What programs can call, from the tables that the analyser itself uses, so
// that the list in docs/reference/ops.md is complete.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_OPERATIONS_H
#define TESSERA_COMPILER_FRONTEND_OPERATIONS_H

#include <string>
#include <vector>

namespace tessera::frontend {

struct Callable {
  std::string name;
  bool isFunction = true; // tsr.name(x)
  bool isMethod = true;   // x.name()
};

/// On tensors, in functions.
std::vector<Callable> listTensorOperations();
/// On tiles, in kernels.
std::vector<Callable> listTileOperations();

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_OPERATIONS_H
