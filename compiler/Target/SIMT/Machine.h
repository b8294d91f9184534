//===- Machine.h - What SIMT code asks of a machine -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machines that run a tile by the threads of a block share nearly everything:
// which thread holds which element, how tiles change threads through shared
// memory, masks, loops, addresses. What differs stands here, as numbers and as
// a few pieces of code; Mapping/ and Lowering/ are written over it and know no
// machine. A machine's folder derives from `Machine` and names its family in
// its row (Target/Machine.h, `simt`).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_SIMT_MACHINE_H
#define TESSERA_COMPILER_TARGET_SIMT_MACHINE_H

#include "compiler/Support/Layout/GpuTiles.h"
#include "compiler/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectRegistry.h"

#include <string>

namespace tessera::simt {

class KernelLowering;

/// A tile of a matrix product, as its instruction holds it.
enum class ProductPart { Lhs, Rhs, Result, Meta, LhsScale, RhsScale };

/// How copies into shared memory end that run beside the threads.
enum class CopyCompletion {
  None,   ///< there are none: a copy is over when it is begun
  ByGroup ///< a thread waits for all but its last groups of copies (cp.async)
};

class Machine {
public:
  virtual ~Machine();

  //===--------------------------------------------------------------------===//
  // Numbers
  //===--------------------------------------------------------------------===//

  /// As kernels have it (`arch`): the target's name.
  std::string name;
  /// Threads of a warp (wave, subgroup), a power of 2 from 8 to 64.
  int64_t lanes = 32;
  /// Shared memory of a block, in bytes; and on every machine that runs the
  /// same code.
  int64_t sharedPerBlock = 48 << 10, sharedPortable = 48 << 10;
  /// 0: not known.
  int64_t multiprocessors = 0;
  CopyCompletion copies = CopyCompletion::None;
  /// LLVM's numbers of address spaces.
  unsigned globalSpace = 1, sharedSpace = 3;

  //===--------------------------------------------------------------------===//
  // Products (Mapping/)
  //===--------------------------------------------------------------------===//

  /// Marks the product with the machine's instruction for its types, or `fma`
  /// where it has none.
  virtual llvm::LogicalResult chooseInstruction(tile::MmaOp mma) const = 0;
  /// Has it an instruction for this sparse or scaled product? Others are made
  /// plain ones before (`tile-expand-products`).
  virtual bool hasExtendedProduct(tile::MmaOp) const { return false; }
  /// The sizes of the instruction that stands on the product; nullopt if it
  /// cannot be read.
  virtual std::optional<layout::MmaShape> shapeOf(tile::MmaOp mma) const;
  /// How the threads of `warps` hold a part of a product with an instruction.
  virtual layout::Layout fragmentOf(tile::MmaOp mma, ProductPart part,
                                    layout::WarpGrid warps) const = 0;

  //===--------------------------------------------------------------------===//
  // Code of one thread (Lowering/)
  //===--------------------------------------------------------------------===//

  /// Numbers of the thread in its block, of the block in its grid; i32.
  virtual mlir::Value threadId(mlir::OpBuilder &, mlir::Location) const = 0;
  virtual mlir::Value blockId(mlir::OpBuilder &, mlir::Location) const = 0;
  /// Of all threads of a block, for shared memory too.
  virtual void barrier(mlir::OpBuilder &, mlir::Location) const = 0;
  /// `word` (i32 or f32) of the lane whose number differs in the bits of
  /// `other` (i32), or (`isMask` not set) of lane `other`.
  virtual mlir::Value shuffle(mlir::OpBuilder &, mlir::Location,
                              mlir::Value word, mlir::Value other,
                              bool isMask) const = 0;

  /// Accesses of one thread where `predicate` holds: a load of what does not
  /// exist gives zeros, and touches nothing. An address is an i64 of global
  /// memory, or an i32 of shared memory. Words are integers of 32 or 64 bits,
  /// of up to 16 bytes together, aligned. Here by branches; a machine that has
  /// predicated instructions overrides them.
  virtual mlir::Value load(KernelLowering &, mlir::Type type,
                           mlir::Value address, mlir::Value predicate) const;
  virtual void store(KernelLowering &, mlir::Value value, mlir::Value address,
                     mlir::Value predicate) const;
  virtual llvm::SmallVector<mlir::Value>
  loadWords(KernelLowering &, int64_t count, int64_t wordBits,
            mlir::Value address, mlir::Value predicate) const;
  virtual void storeWords(KernelLowering &, mlir::ValueRange words,
                          mlir::Value address, mlir::Value predicate) const;
  /// Combines into global memory: here by a loop that compares and swaps until
  /// nobody came between,
  ///     old = load; do { seen = old; old = cas(seen, seen op value) }
  ///                 while (old != seen)
  virtual void atomic(KernelLowering &, tile::ReduceKind kind,
                      mlir::Value value, mlir::Value address,
                      mlir::Value predicate) const;

  /// What that loop is made of; `whole` is an integer as wide as the element.
  virtual mlir::Value loadRelaxed(KernelLowering &, mlir::Type whole,
                                  mlir::Value address) const;
  /// What was there.
  virtual mlir::Value compareAndSwap(KernelLowering &, mlir::Value address,
                                     mlir::Value seen,
                                     mlir::Value wanted) const;

  /// For CopyCompletion::ByGroup. 16 bytes from global memory (i64) to a
  /// pointer; the last `16 - bytes` of them are zeros (null: all are there).
  virtual void copy(KernelLowering &, mlir::Value from, mlir::Value to,
                    mlir::Value bytes) const;
  virtual void commitCopies(KernelLowering &) const;
  virtual void waitForCopies(KernelLowering &, int64_t pending) const;

  /// Reads a fragment by an instruction of its own; false: there is none for
  /// it, and the elements are loaded one by one.
  virtual bool lowerFragment(KernelLowering &, tile::LocalLoadOp) const {
    return false;
  }
  /// A product with an instruction.
  virtual void lowerProduct(KernelLowering &, tile::MmaOp mma) const = 0;
};

/// The machines of one folder.
struct Family {
  /// Null if it has none of this name. They live as long as the process.
  const Machine *(*find)(llvm::StringRef name);
  /// "sm_70, sm_75 ...", for messages.
  std::string (*names)();
  /// Those of all its machines' code.
  void (*registerDialects)(mlir::DialectRegistry &);
};

/// Done for every row of the list of machines.
void addFamily(const Family &family);
/// Null if no machine is called so.
const Machine *findMachine(llvm::StringRef name);
/// The same, after an error at `op`.
const Machine *requireMachine(mlir::Operation *op, llvm::StringRef name);
std::string machineNames();
void registerDialectsOfMachines(mlir::DialectRegistry &registry);

/// The machine a mapped kernel is for (`arch`); null, after an error, if it
/// does not say, or there is none.
const Machine *machineOf(tile::FuncOp func);

} // namespace tessera::simt

#endif // TESSERA_COMPILER_TARGET_SIMT_MACHINE_H
