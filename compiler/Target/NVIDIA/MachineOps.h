//===- MachineOps.h - Instructions that a person wrote, as PTX --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_NVIDIA_MACHINEOPS_H
#define TESSERA_COMPILER_TARGET_NVIDIA_MACHINEOPS_H

#include "compiler/Support/Architectures/Nvidia.h"

#include "mlir/IR/BuiltinOps.h"

namespace tessera::target {

/// Replaces the machine's ops of Target IR in every kernel of `module`.
mlir::LogicalResult lowerMachineOps(mlir::ModuleOp module,
                                    const nvidia::Arch &arch);

/// The least optimization_level of the kernels' tessera.debug_info.
int debugLevel(mlir::ModuleOp module, int otherwise);

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_NVIDIA_MACHINEOPS_H
