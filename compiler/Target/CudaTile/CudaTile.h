//===- CudaTile.h - From Tile IR to CUDA Tile IR bytecode -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVIDIA's tile compiler takes tiles without layouts, so kernels leave the
// pipeline at the value level. `tileiras` makes a cubin of the bytecode.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_CUDATILE_CUDATILE_H
#define TESSERA_COMPILER_TARGET_CUDATILE_CUDATILE_H

#include "compiler/Target/Machine.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tessera::target {

/// `module` is at stage "tile-value"; it is not changed. Entries have the
/// parameters of docs/abi.md section 7.
llvm::FailureOr<std::string> emitCudaTile(mlir::ModuleOp module,
                                          PreparePasses prepare = {});

/// The row of the list of machines.
const Machine &cudaTileMachine();

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_CUDATILE_CUDATILE_H
