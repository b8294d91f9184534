//===- KernelBuilder.h - A sched.fuse becomes a tile.func -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_SCHEDULETOTILE_KERNELBUILDER_H
#define TESSERA_COMPILER_SCHEDULETOTILE_KERNELBUILDER_H

#include "compiler/ScheduleToTile/Passes.h"

namespace tessera::tile {

/// The decisions at the head of a `sched.fuse` or `sched.kernel`.
struct Decisions {
  struct Loop {
    int64_t size = 1;
    schedule::LoopKind kind = schedule::LoopKind::Grid;
  };
  llvm::DenseMap<int64_t, Loop> loops;
  int64_t stages = 0;
  mlir::DictionaryAttr config; ///< for the tile.func

  explicit Decisions(mlir::Block &body);
  /// The order of programs.
  void applyGroup(FuncOp function) const;
};

/// A tile program and how it is launched.
struct Kernel {
  FuncOp function;
  /// Which inputs of the fuse it takes, in the order of its arguments: first
  /// views, then (after the output) scalars.
  llvm::SmallVector<unsigned> views, scalars;
  /// Axes of the result and their tiles (0: one program per position), whose
  /// product is the grid.
  llvm::SmallVector<std::pair<int64_t, int64_t>> grid;
};

/// How the inputs and the output of a fuse reach the kernel: a memref type for
/// memory, a scalar type otherwise.
struct Interface {
  llvm::SmallVector<mlir::Type> inputs;
  llvm::SmallVector<std::string> names;
  mlir::MemRefType output;
  std::string outputName;
};

/// Builds the kernel of `fuse` at the builder's position. Fails with an error
/// on the op that cannot be emitted.
mlir::FailureOr<Kernel> buildKernel(mlir::OpBuilder &builder,
                                    schedule::FuseOp fuse,
                                    const Interface &interface);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_SCHEDULETOTILE_KERNELBUILDER_H
