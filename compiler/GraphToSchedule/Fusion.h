//===- Fusion.h - Which ops make one kernel ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A *group* is one kernel: a root, whose result reaches memory, and members,
// which are computed where the root needs them and never stored. Ops are
// visited from the last to the first, so that all readers of a value are known:
// it joins the group of its readers, or becomes the root of a group of its own.
//
// Whether a member is cheap depends on how often it is computed. That follows
// from its axes, traced to the root's (Schedule/IR/Axes.h).
//
// All reductions of a group must have the same axes, the *grid axes*: a program
// computes each of them once. Of a softmax's rows they are [0].
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_GRAPHTOSCHEDULE_FUSION_H
#define TESSERA_COMPILER_GRAPHTOSCHEDULE_FUSION_H

#include "compiler/Schedule/IR/Axes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <memory>

namespace tessera::schedule {

struct Group {
  enum class Kind {
    Map,  ///< element-wise
    Rows, ///< with reductions; grid axes are fixed
    Gemm, ///< with one matrix product, its epilogue around it
    Attention,
    Scan,
    Concat,
    Partial,
  };
  Kind kind = Kind::Map;
  mlir::Operation *root = nullptr;
  int64_t rank = 0; ///< of the root's result
  AxisMap gridAxes; ///< of Rows
  /// Rows: reductions are over the last axis of their input, which is then the
  /// vector axis of the kernel.
  bool reducesLast = false;
  bool gathers = false;
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<AxisMap, 2>> members;
};

/// How a block of a function (its body, a region of control flow) is cut into
/// kernels. What a nested region reads is in memory.
class Fusion {
public:
  /// Without `fuses`, every op that computes is a kernel of its own.
  Fusion(mlir::Block &block, bool fuses);

  /// The group `op` is the root of, if any.
  Group *groupOf(mlir::Operation *op) const { return roots.lookup(op); }
  /// Ops that stay outside kernels: views of memory, calls, control flow.
  bool isOutside(mlir::Operation *op) const { return outside.contains(op); }

private:
  void visit(mlir::Operation *op);
  void makeRoot(mlir::Operation *op);
  bool join(mlir::Operation *op, Group &group);
  void hoistTransposes();
  /// The maps of `op` from all its readers in the group; nothing if a reader
  /// wants it in memory.
  llvm::SmallVector<AxisMap, 2> mapsIn(mlir::Operation *op, Group &group);

  mlir::Block &block;
  bool fuses;
  std::vector<std::unique_ptr<Group>> groups;
  llvm::DenseMap<mlir::Operation *, Group *> roots;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Group *, 2>> memberOf;
  llvm::DenseSet<mlir::Operation *> outside;
  llvm::DenseSet<mlir::Operation *> afterGemm; ///< element-wise on a product
  llvm::DenseMap<mlir::Operation *, int64_t> cost, number;
};

} // namespace tessera::schedule

#endif // TESSERA_COMPILER_GRAPHTOSCHEDULE_FUSION_H
