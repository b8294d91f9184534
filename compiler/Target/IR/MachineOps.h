//===- MachineOps.h - Instructions of one machine in Target IR --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops that a person writes: memcpy, tensor_core, ptx_instr. Their verifiers
// ask the table of architectures; which machine an op is for stands on it or on
// its kernel:
//
//     tessera_target.kernel @k(...) attributes {arch = "sm_90"} { ... }
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_IR_MACHINEOPS_H
#define TESSERA_COMPILER_TARGET_IR_MACHINEOPS_H

#include "compiler/Support/Architectures/Nvidia.h"
#include "compiler/Target/IR/Target.h"

namespace tessera::target {

/// The architecture that `op` is for, as written and as compiled; nullopt if
/// nobody says, or if what they say is no architecture.
std::optional<nvidia::Arch> archOf(mlir::Operation *op);

/// As PTX spells the type that users call fp16, tf32, fp8_e4m3; empty if it is
/// none.
llvm::StringRef ptxType(llvm::StringRef precision);

/// The right spelling of an instruction that the documents spell otherwise; "".
llvm::StringRef rightSpelling(llvm::StringRef instruction);

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_IR_MACHINEOPS_H
