//===- CpuLowering.h - Mapped tile program to loops and vectors -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State and small tools shared by the emitters of one kernel: KernelEmitter
// (ABI, scalars, control flow), NestEmitter (element-wise nests and
// reductions), MatrixEmitter (matrix steps and packing).
//
// In the target kernel every index is an i64, a view is a pointer with sizes
// and strides, a range is its start and its end.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_CPU_CPULOWERING_H
#define TESSERA_COMPILER_TARGET_CPU_CPULOWERING_H

#include "compiler/Target/CPU/Mapping/MatrixSteps.h"
#include "compiler/Tile/IR/CpuBuffer.h"
#include "compiler/Tile/IR/IndexBounds.h"
#include "compiler/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace tessera::target {

struct CpuView {
  mlir::Value argument; // of the tile.func
  mlir::Value base;
  llvm::SmallVector<mlir::Value> sizes, strides;
  llvm::SmallVector<int64_t> staticSizes, staticStrides; // or kDynamic
  mlir::Type element;
  std::optional<tile::CpuPacking> packing; // the last two axes, in panels

  int64_t wideAxis() const {
    return sizes.size() - (packing->deepLast ? 2 : 1);
  }
  int64_t deepAxis() const {
    return sizes.size() - (packing->deepLast ? 1 : 2);
  }
};

/// An operand of a matrix step, in panels of some width: position k of panel j
/// at base + j * stride + k * along elements; in AMX tiles, rows are `row`
/// bytes apart. Positions from `rest` on, if that is not null, are in tiles of
/// their own: those of panel j at restBase + j * restStride.
struct CpuPanels {
  mlir::Value base, stride, along, row, rest, restBase, restStride;
};

struct CpuRange {
  mlir::Value start, stop, length;
};

/// Where a step writes its result at once, if this is the `last` step of its
/// sum: rows are `row` elements apart.
struct CpuDirect {
  mlir::Value base, row, last;
  bool streams = false;
};
class NestEmitter;

class CpuLowering {
public:
  CpuLowering(mlir::OpBuilder &builder, mlir::Location loc, int64_t vectorBytes)
      : builder(builder), loc(loc), vectorBytes(vectorBytes) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t vectorBytes;
  bool bf16 = false;   // has an instruction that rounds to it
  bool paired = false; // 32 lanes of f32 are those of even, then of odd places
  llvm::ArrayRef<int64_t> partSizes; // of a nest that is emitted in part
  mlir::Value scratch;
  mlir::Value status; // pointer to the kernel's i32 result, or null
  llvm::SmallVector<std::string> *messages = nullptr;
  llvm::DenseMap<mlir::Value, CpuView> views;
  llvm::DenseMap<mlir::Value, CpuRange> ranges;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers; // buffer -> pointer
  mlir::IRMapping values;

  // Integers.
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value minimum(mlir::Value a, mlir::Value b);
  mlir::Value ceilDiv(mlir::Value a, mlir::Value b);
  mlir::Value less(mlir::Value a, mlir::Value b);
  mlir::Value addConstant(mlir::Value a, int64_t b) {
    return b ? add(a, constant(b)) : a;
  }

  // Printing: docs/abi.md, section 2.
  void call(llvm::StringRef function, mlir::ValueRange arguments,
            std::optional<llvm::StringRef> text = {});
  /// A scalar, as a value of this element type.
  void printElement(mlir::Value value, mlir::Type element);
  void printView(const CpuView &view);
  /// One piece of a line; `program` is the number of the program.
  void print(tile::PrintOp op, mlir::Value program);

  // Memory. Offsets are in elements of `element`.
  mlir::Value pointerTo(mlir::Value base, mlir::Value offset,
                        mlir::Type element);
  /// What position `at` along `dim` adds to the offset in a buffer.
  mlir::Value offsetAlong(const tile::CpuBuffer &layout, int64_t dim,
                          mlir::Value at);
  /// What position `at` (or a vector of them) along `axis` adds to the offset
  /// in a view.
  mlir::Value offsetAlong(const CpuView &view, int64_t axis, mlir::Value at);
  /// Elements from one panel of a packed view to the next.
  mlir::Value panelStride(const CpuView &view);
  /// Where the tile at `indices` of a view begins; `inside` becomes whether
  /// the scalars among them are within the view (null: they are).
  mlir::Value tileStart(mlir::Value view, mlir::OperandRange indices,
                        mlir::Value &inside);
  /// The panels an operand of a matrix step is read from: a buffer's, a packed
  /// view's, or the rows of a view as they lie.
  CpuPanels panelsOf(mlir::Value operand, int64_t wideAxis, int64_t width,
                     mlir::Value &inside);
  /// While `rows` rows after row `at` of a nest are multiplied by a panel, the
  /// next one comes nearer: each block of rows fetches its part. Of `lines`
  /// lines per step of a loop over `steps`, which this block fetches each
  /// time, and where it begins (in bytes).
  struct Ahead {
    int64_t lines = 0;
    mlir::Value offset;
  };
  Ahead fetchAhead(tile::NestOp nest, int64_t rows, mlir::Value at,
                   int64_t lines, mlir::Value steps);
  mlir::Value nextPanels(tile::NestOp nest, tile::LoadOp load,
                         const CpuPanels &panels, mlir::Value pair,
                         mlir::Value j);
  void prefetch(mlir::Value base, mlir::Value bytes);
  mlir::Type memoryType(mlir::Type element); // i1 -> i8, index -> i64
  mlir::Value load(mlir::Value pointer, mlir::Type element, int64_t lanes);
  void store(mlir::Value value, mlir::Value pointer);
  /// Past the caches; the address is aligned to the vector.
  void streamingStore(mlir::Value value, mlir::Value pointer);
  mlir::Value maskedLoad(mlir::Value pointer, mlir::Type element, int64_t lanes,
                         mlir::Value mask);
  void maskedStore(mlir::Value value, mlir::Value pointer, mlir::Value mask);
  mlir::Value gather(mlir::Value base, mlir::Value offsets, mlir::Type element,
                     mlir::Value mask);
  void scatter(mlir::Value value, mlir::Value base, mlir::Value offsets,
               mlir::Type element, mlir::Value mask);
  /// From memory's type to the value's and back.
  mlir::Value fromMemory(mlir::Value value, mlir::Type element);
  mlir::Value toMemory(mlir::Value value);

  // Vectors. `lanes` 0 means a scalar.
  mlir::Type typeOf(mlir::Type element, int64_t lanes);
  mlir::Value splat(mlir::Value scalar, int64_t lanes);
  mlir::Value splatConstant(mlir::TypedAttr value, int64_t lanes);
  mlir::Value step(int64_t lanes); // 0, 1, 2, ... as i64
  mlir::Value firstLanes(mlir::Value count, int64_t lanes); // mask

  // Arithmetic on scalars or vectors.
  /// `op`, an element-wise op of tiles or scalars, on operands of `lanes`.
  mlir::Value elementwise(mlir::Operation *op, mlir::ValueRange operands,
                          int64_t lanes);
  mlir::Value truncate(mlir::Value value, mlir::Type element,
                       bool near = false);
  /// f32 to the bits of bf16, by integer arithmetic or by the instruction.
  mlir::Value bf16BitsByHand(mlir::Value bits, mlir::Value isNan);
  /// `near`: what is subnormal may be 0.
  mlir::Value bf16BitsByMachine(mlir::Value value, bool near);
  mlir::Value extendPairs(mlir::Value value);
  mlir::Value truncatePairs(mlir::Value value);
  mlir::Value extend(mlir::Value value, mlir::Type element);
  mlir::Value combine(tile::ReduceKind kind, mlir::Value a, mlir::Value b);
  /// Is any lane of this mask set?
  mlir::Value anyLane(mlir::Value mask);
  mlir::Value neutral(tile::ReduceKind kind, mlir::Type element, int64_t lanes);
  /// All lanes combined, halves first: the same order always.
  mlir::Value horizontal(tile::ReduceKind kind, mlir::Value vector);
  mlir::Value
  across(mlir::Value vector,
         llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> both);
  mlir::Value random(mlir::Value seed, mlir::Value index, int64_t lanes);

  // What the passes let a matrix step do (Mapping/MatrixSteps.h).
  /// Whether (i1) its sum starts from zero.
  mlir::Value startsFromZero(tile::NestOp step);
  std::optional<CpuDirect> directOf(tile::NestOp step);

  // Emitters.
  void emitNest(tile::NestOp nest);
  /// The part of a nest whose axes begin at `at` and are at most `sizes` long;
  /// its buffers begin there, too.
  void emitPart(tile::NestOp nest, llvm::ArrayRef<mlir::Value> at,
                llvm::ArrayRef<int64_t> sizes);
  void emitWhole(tile::NestOp nest);
  void emitMatrixStep(tile::NestOp nest);
  void emitAmxStep(tile::NestOp nest);
  void exchangeBf16(tile::ReduceKind how, mlir::Value value,
                    mlir::Value pointer);
  void atomic(tile::ReduceKind kind, mlir::Value value, mlir::Value pointer);
  void emitAssert(mlir::Value condition, mlir::StringRef message);
};

inline bool isHalf(mlir::Type element) {
  return element.isF16() || element.isBF16();
}

inline mlir::Type withElement(mlir::Type type, mlir::Type element) {
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
    return vector.clone(element);
  return element;
}

/// i1 and index as they are computed with: index is i64.
inline mlir::Type computeType(mlir::Type type) {
  return type.isIndex() ? mlir::IntegerType::get(type.getContext(), 64) : type;
}

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_CPU_CPULOWERING_H
