//===- SimtMachine.h - NVIDIA's machines, as SIMT code asks -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_NVIDIA_SIMTMACHINE_H
#define TESSERA_COMPILER_TARGET_NVIDIA_SIMTMACHINE_H

#include "compiler/Support/Architectures/Nvidia.h"
#include "compiler/Target/SIMT/Machine.h"

namespace tessera::target {

class NvidiaSimt final : public simt::Machine {
public:
  explicit NvidiaSimt(const nvidia::Arch &arch);

  const nvidia::Arch arch;

  // Products.cpp, Instructions.cpp
  llvm::LogicalResult chooseInstruction(tile::MmaOp mma) const override;
  bool hasExtendedProduct(tile::MmaOp mma) const override;
  std::optional<layout::MmaShape> shapeOf(tile::MmaOp mma) const override;
  layout::Layout fragmentOf(tile::MmaOp mma, simt::ProductPart part,
                            layout::WarpGrid warps) const override;
  bool lowerFragment(simt::KernelLowering &, tile::LocalLoadOp) const override;
  void lowerProduct(simt::KernelLowering &, tile::MmaOp mma) const override;

  // ThreadCode.cpp
  mlir::Value threadId(mlir::OpBuilder &, mlir::Location) const override;
  mlir::Value blockId(mlir::OpBuilder &, mlir::Location) const override;
  void barrier(mlir::OpBuilder &, mlir::Location) const override;
  mlir::Value shuffle(mlir::OpBuilder &, mlir::Location, mlir::Value word,
                      mlir::Value other, bool isMask) const override;
  mlir::Value load(simt::KernelLowering &, mlir::Type type, mlir::Value address,
                   mlir::Value predicate) const override;
  void store(simt::KernelLowering &, mlir::Value value, mlir::Value address,
             mlir::Value predicate) const override;
  llvm::SmallVector<mlir::Value>
  loadWords(simt::KernelLowering &, int64_t count, int64_t wordBits,
            mlir::Value address, mlir::Value predicate) const override;
  void storeWords(simt::KernelLowering &, mlir::ValueRange words,
                  mlir::Value address, mlir::Value predicate) const override;
  void atomic(simt::KernelLowering &, tile::ReduceKind kind, mlir::Value value,
              mlir::Value address, mlir::Value predicate) const override;
  mlir::Value loadRelaxed(simt::KernelLowering &, mlir::Type whole,
                          mlir::Value address) const override;
  mlir::Value compareAndSwap(simt::KernelLowering &, mlir::Value address,
                             mlir::Value seen,
                             mlir::Value wanted) const override;
  void copy(simt::KernelLowering &, mlir::Value from, mlir::Value to,
            mlir::Value bytes) const override;
  void commitCopies(simt::KernelLowering &) const override;
  void waitForCopies(simt::KernelLowering &, int64_t pending) const override;
};

/// All architectures of the table, by name.
const simt::Family &nvidiaFamily();

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_NVIDIA_SIMTMACHINE_H
