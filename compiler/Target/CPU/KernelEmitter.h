//===- KernelEmitter.h - One kernel for the CPU -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A `tile.func` becomes a `tessera_target.kernel` that runs programs `begin` to
// `end`: ABI, scalars and control flow. Nests are CpuLowering's.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_CPU_KERNELEMITTER_H
#define TESSERA_COMPILER_TARGET_CPU_KERNELEMITTER_H

#include "compiler/Target/CPU/CpuLowering.h"

namespace tessera::target {

class KernelEmitter {
public:
  KernelEmitter(tile::FuncOp func, int64_t vectorBytes, bool bf16,
                llvm::SmallVector<std::string> &messages)
      : func(func), builder(func.getContext()),
        lower(builder, func.getLoc(), vectorBytes) {
    lower.messages = &messages;
    lower.bf16 = bf16;
  }

  mlir::LogicalResult run();

private:
  void readArguments(mlir::Value pointers, mlir::Value integers);
  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emitOp(mlir::Operation *op);
  void emitProgram(tile::ProgramOp op);
  mlir::Value groupOf(tile::ProgramOp op);
  void defineRange(mlir::Value range, mlir::Value start, mlir::Value extent,
                   int64_t size);
  mlir::LogicalResult emitFor(tile::ForOp loop);
  void emitPrefetch(tile::PrefetchOp op);
  mlir::LogicalResult emitScfFor(mlir::scf::ForOp loop);
  mlir::LogicalResult emitIf(mlir::scf::IfOp branch);
  mlir::LogicalResult emitWhile(mlir::scf::WhileOp loop);
  mlir::Value loadScalar(tile::LoadOp load);
  void storeScalar(tile::StoreOp store);
  void atomicScalar(tile::AtomicOp op);
  /// Offset in elements of an all-scalar access, and whether it is inside.
  std::pair<mlir::Value, mlir::Value> addressOf(const CpuView &view,
                                                mlir::OperandRange indices);
  llvm::SmallVector<mlir::Value> lookup(mlir::ValueRange values);

  tile::FuncOp func;
  mlir::OpBuilder builder;
  CpuLowering lower;
  mlir::Value program;                       // this program's number
  std::pair<mlir::Value, mlir::Value> chunk; // of a `tile.chunk`
};

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_CPU_KERNELEMITTER_H
