//===- Dialects.h - Everything a context of ours must know ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_DIALECTS_H
#define TESSERA_COMPILER_DIALECTS_H

#include "mlir/IR/DialectRegistry.h"

namespace tessera {

/// The four dialects of ours and the upstream ones that carry payload.
void registerDialects(mlir::DialectRegistry &registry);
/// What the machines need beside them, for tools that read any of them; a
/// compilation loads its own machine's only, since that costs time.
void registerMachineDialects(mlir::DialectRegistry &registry);

/// All passes of all stages, for command-line drivers.
void registerPasses();

} // namespace tessera

#endif // TESSERA_COMPILER_DIALECTS_H
