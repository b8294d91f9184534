//===- KernelLowering.h - One kernel on its way to threads ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile becomes one value per register of its layout: register r of thread t
// holds the element at offset(r) + base(t). Everything below follows from that:
// element-wise ops go register by register, a reduction combines registers,
// then lanes, then warps, and addresses are base(t) once plus constants.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_SIMT_LOWERING_KERNELLOWERING_H
#define TESSERA_COMPILER_TARGET_SIMT_LOWERING_KERNELLOWERING_H

#include "compiler/Support/Layout/Exchange.h"
#include "compiler/Target/SIMT/Machine.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/IRMapping.h"

#include <map>

namespace tessera::simt {

/// A view argument: address of element 0, sizes and strides (index values).
struct View {
  mlir::Value address; // i64
  llvm::SmallVector<mlir::Value> sizes, strides;
  llvm::SmallVector<int64_t> staticStrides;
  int64_t elementBytes;
};

/// A range: first position, one past the last existing one, how many exist.
struct PositionRange {
  mlir::Value start, stop; // index
  mlir::Value length;      // i32
};

/// A layout taken apart into what threads compute and what is constant.
class ThreadLayout {
public:
  explicit ThreadLayout(mlir::Value tile);
  explicit ThreadLayout(const layout::Layout &given);

  const layout::Layout &get() const { return layout; }
  int64_t registers() const { return int64_t(offsets.size()); }
  llvm::ArrayRef<int64_t> offset(int64_t r) const { return offsets[r]; }
  /// The register at an offset, or -1.
  int64_t find(llvm::ArrayRef<int64_t> offset) const;
  /// Images of the bits of "lane" or "warp".
  std::vector<layout::Index> bits(llvm::StringRef in) const;
  /// Bits of `in` that hold the same elements again.
  int64_t redundant(llvm::StringRef in) const;

private:
  layout::Layout layout;
  std::vector<layout::Index> offsets;
  std::map<layout::Index, int64_t> registerAt;
};

struct AccessGather;

/// A number that depends on the thread: bits of `input` and their images.
struct ThreadInput {
  mlir::Value input; // i32
  std::vector<layout::Index> bits;
};

class KernelLowering {
public:
  using Registers = llvm::SmallVector<mlir::Value>;

  KernelLowering(mlir::OpBuilder &builder, tile::FuncOp func,
                 const Machine &machine)
      : machine(machine), builder(builder), func(func), loc(func.getLoc()) {
    findMasks();
  }

  mlir::LogicalResult lowerBlock(mlir::Block &block);

  /// The machine the kernel is for.
  const Machine &machine;
  mlir::OpBuilder &builder;
  tile::FuncOp func;
  mlir::Location loc; ///< of the op that is being lowered
  // Set up by the pass.
  mlir::Value tid, lane, warp, block; // i32, the last one i64
  mlir::Value shared;                 // pointer to shared memory
  int64_t threads = 32;
  llvm::DenseMap<mlir::Value, View> views;
  mlir::IRMapping scalars;
  llvm::DenseMap<mlir::Value, Registers> tiles;
  llvm::DenseMap<mlir::Value, Registers> packed; ///< fragments, as words

  // What machines' own code is made with, too.
  /// Elements in groups of 32 bits (single ones of 64).
  Registers words(llvm::ArrayRef<mlir::Value> values, int64_t perWord);
  /// Elements of `type` that words hold.
  Registers elementsOf(mlir::ValueRange words, mlir::Type type);
  /// What a reduction or an atomic makes of two.
  mlir::Value combine(tile::ReduceKind kind, mlir::Value a, mlir::Value b);
  /// The part of a memory offset (bytes) that threads compute: XORed, added.
  std::pair<mlir::Value, mlir::Value>
  memoryOffset(const layout::Layout &memory, llvm::ArrayRef<ThreadInput> inputs,
               int64_t elementBytes);
  /// An offset's parts in the layout's atom, which are XORed, and in its grid.
  static std::pair<int64_t, int64_t> splitOffset(const layout::Layout &memory,
                                                 llvm::ArrayRef<int64_t> at);
  /// Where a slot of a ring begins (bytes); null without a slot.
  mlir::Value slotOffset(mlir::Value slot, tile::BufferType type);
  mlir::Value sharedPointer(tile::AllocOp buffer,
                            std::pair<mlir::Value, mlir::Value> dynamic,
                            const layout::Layout &memory,
                            llvm::ArrayRef<int64_t> constant,
                            int64_t elementBytes,
                            mlir::Value slot = mlir::Value());
  mlir::LLVM::LLVMPointerType getSharedPointerType();

  // ThreadCode.cpp: small pieces of code.
  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  mlir::Value index(int64_t value);
  mlir::Value toI64(mlir::Value value);
  mlir::Value truth(bool value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value both(mlir::Value a, mlir::Value b); ///< and; null is true
  mlir::Value less(mlir::Value a, mlir::Value b);
  mlir::Value equal(mlir::Value a, mlir::Value b);
  /// The XOR (or the sum) of the images of the bits of x that are set.
  mlir::Value xorOf(mlir::Value x, llvm::ArrayRef<int64_t> images);
  mlir::Value sumOf(mlir::Value x, llvm::ArrayRef<int64_t> images);
  /// This thread's part of a coordinate, i32.
  mlir::Value base(const ThreadLayout &layout, int64_t axis);

private:
  mlir::LogicalResult lowerOp(mlir::Operation *op);
  // LowerTiles.cpp
  /// Element-wise ops, and stores of their results, on tiles of one layout.
  struct Group {
    tile::LayoutAttr layout;
    llvm::SmallVector<mlir::Operation *> ops;
    llvm::SmallPtrSet<mlir::Operation *, 8> members;
  };
  bool joins(mlir::Operation *op, Group &group);
  void lowerGroup(Group &group);
  mlir::Value elementOf(mlir::Operation *op, int64_t r);
  mlir::Value scalarOp(mlir::Operation *like, mlir::ValueRange operands);
  mlir::LogicalResult lowerReduce(tile::ReduceOp op);
  mlir::Value shuffle(mlir::Value value, int64_t laneMask);
  mlir::Value shuffle(mlir::Value value, mlir::Value other, bool isMask);
  /// Selects that only replace what does not exist, and ops that are made for
  /// them alone.
  void findMasks();
  void lowerMasked(mlir::arith::SelectOp op);
  void lowerBroadcast(tile::BroadcastOp op);
  void lowerIndex(tile::IndexOp op);
  /// Without an instruction: a loop over k, operands straight from shared
  /// memory.
  void lowerFma(tile::MmaOp op);
  /// An operand in shared memory, and this thread's place in it at a step
  /// along k.
  struct SharedOperand;
  SharedOperand sharedOperand(mlir::Value operand, int64_t kAxis,
                              mlir::Value step);
  /// The element at a constant distance from there, in the operand's axes.
  mlir::Value loadShared(SharedOperand &operand, llvm::ArrayRef<int64_t> at);
  void lowerLocalLoad(tile::LocalLoadOp op);
  // LowerExchange.cpp
  /// This thread's place on a board, in elements.
  mlir::Value threadPlace(const ThreadLayout &layout,
                          const layout::Board &board);
  /// Does the element of register `r` exist? Null: for all threads.
  mlir::Value insideShape(const ThreadLayout &layout, int64_t r,
                          llvm::ArrayRef<int64_t> shape);
  /// Writes a tile to shared memory from byte `first` on, `shift` elements in.
  void put(mlir::ValueRange values, const ThreadLayout &layout,
           llvm::ArrayRef<int64_t> shape, const layout::Board &board,
           int64_t first, int64_t shift = 0);
  void putGroups(mlir::ValueRange values, const ThreadLayout &layout,
                 llvm::ArrayRef<int64_t> shape, const layout::Board &board,
                 mlir::Value mine, int64_t first, int64_t vector);
  Registers take(mlir::Type element, const ThreadLayout &layout,
                 llvm::ArrayRef<int64_t> shape, const layout::Board &board,
                 int64_t first);
  mlir::Value loadWords(mlir::Type element, mlir::Value place,
                        const layout::Board &board, int64_t first);
  void lowerConvert(tile::ConvertLayoutOp op);
  void lowerReshape(tile::ReshapeOp op);
  void lowerCat(tile::CatOp op);
  void lowerScan(tile::ScanOp op);
  void lowerRand(tile::RandOp op);
  mlir::Value random(mlir::Value seed, mlir::Value index);
  // LowerAtomics.cpp
  void lowerAtomic(tile::AtomicOp op);
  // LowerControl.cpp
  void lowerProgram(tile::ProgramOp op);
  void defineRange(mlir::Value range, mlir::Value start, mlir::Value extent,
                   int64_t size);
  mlir::LogicalResult lowerFor(tile::ForOp op);
  mlir::LogicalResult lowerScfFor(mlir::scf::ForOp op);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp op);
  mlir::LogicalResult lowerWhile(mlir::scf::WhileOp op);
  llvm::SmallVector<mlir::Type> flatTypes(mlir::ValueRange values);
  void lowerAssert(tile::AssertOp op);
  Registers flatten(mlir::ValueRange values);
  void unflatten(mlir::ValueRange values, mlir::ValueRange flat);
  // LowerMemory.cpp
  struct Access;
  Access access(mlir::Value view, mlir::OperandRange indices,
                const ThreadLayout *layout,
                std::optional<mlir::ArrayAttr> indexAxes = std::nullopt);
  mlir::Value positionAt(AccessGather &gather, llvm::ArrayRef<int64_t> offset);
  mlir::Value addressAt(Access &access, llvm::ArrayRef<int64_t> offset);
  mlir::Value insideAt(Access &access, llvm::ArrayRef<int64_t> offset);
  /// Neighbours in memory that a thread moves at once, if they are aligned and
  /// all exist or none; 1: single elements.
  template <typename AccessOp>
  int64_t groupSize(AccessOp op, const ThreadLayout &layout,
                    mlir::Type element);
  /// Are they, for the whole tile?
  template <typename AccessOp>
  mlir::Value groupsWhole(AccessOp op, int64_t group, mlir::Type element);
  mlir::LogicalResult lowerLoad(tile::LoadOp op);
  void lowerScalarStore(tile::StoreOp op);
  /// Of the threads that hold the same element, the first. Null: all differ.
  mlir::Value firstHolder(const ThreadLayout &layout);
  Access storeAccess(tile::StoreOp op, const ThreadLayout &layout);
  void storeElement(tile::StoreOp op, Access &to, const ThreadLayout &layout,
                    int64_t r);
  int64_t storeGroup(tile::StoreOp op, const ThreadLayout &layout);
  void storeGroups(tile::StoreOp op, Access &to, const ThreadLayout &layout,
                   int64_t group);
  // LowerCopies.cpp
  void lowerCopy(tile::CpAsyncOp op);
  /// Beside the threads; else through registers.
  bool asyncCopies() const { return machine.copies != CopyCompletion::None; }
  /// Whether every group of `bytes` (a power of 2) of every tile of the view is
  /// aligned.
  mlir::Value groupsAligned(mlir::Value view, mlir::OperandRange indices,
                            int64_t bytes);
  llvm::DenseMap<mlir::Value, PositionRange> ranges;
  /// Per select: axes and the ranges along them.
  using Ends = llvm::SmallVector<std::pair<int64_t, mlir::Value>, 2>;
  llvm::DenseMap<mlir::Operation *, Ends> maskedBy;
  llvm::SmallPtrSet<mlir::Operation *, 16> onlyMasks;
};

} // namespace tessera::simt

#endif // TESSERA_COMPILER_TARGET_SIMT_LOWERING_KERNELLOWERING_H
