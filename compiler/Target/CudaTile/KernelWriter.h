//===- KernelWriter.h - One kernel on its way to bytecode -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of tiles are powers of two there, so ours are padded: positions past a
// range's end are read as 0, not written, and masked in reductions and products
// (`maskAbsent`). A scalar is a tile without axes; index is i64.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_CUDATILE_KERNELWRITER_H
#define TESSERA_COMPILER_TARGET_CUDATILE_KERNELWRITER_H

#include "compiler/Target/CudaTile/Bytecode.h"
#include "compiler/Tile/IR/Tile.h"

namespace tessera::target {

class KernelWriter {
public:
  KernelWriter(cudatile::Module &module, tile::FuncOp func)
      : out(module), func(func) {}
  mlir::LogicalResult run();

private:
  using ValueId = cudatile::ValueId;
  using TypeId = cudatile::TypeId;

  struct View {
    ValueId tensor = 0;
    TypeId type = 0;
    llvm::SmallVector<ValueId> sizes;
  };
  struct Range {
    ValueId start = 0, stop = 0; // i64
    int64_t size = 0;
    ValueId number = 0;  // of the tile along its dim, i64
    bool isTile = false; // starts at a multiple of its size, ends with the dim
  };

  mlir::LogicalResult writeBlock(mlir::Block &block);
  mlir::LogicalResult writeOp(mlir::Operation *op);
  mlir::LogicalResult writeElementwise(mlir::Operation *op);
  void writeParameters();
  void writeProgram(tile::ProgramOp op);
  mlir::LogicalResult writeFor(tile::ForOp op);
  mlir::LogicalResult writeIf(mlir::scf::IfOp op);
  mlir::LogicalResult writeLoad(tile::LoadOp op);
  mlir::LogicalResult writeStore(tile::StoreOp op);
  void writeReduce(tile::ReduceOp op);
  /// The partition of a view that an access uses, and the tile's index in it.
  llvm::FailureOr<ValueId> partition(mlir::Operation *op, mlir::Value view,
                                     mlir::OperandRange indices,
                                     cudatile::Shape &shape,
                                     llvm::SmallVector<ValueId> &index);
  Range makeRange(ValueId start, ValueId extent, int64_t size);

  TypeId typeOf(mlir::Type type);
  TypeId typeOf(cudatile::Scalar element, const cudatile::Shape &shape);
  ValueId i64(int64_t value);
  ValueId integerOp(cudatile::Opcode code, ValueId a, ValueId b,
                    std::vector<uint8_t> attributes);
  ValueId add(ValueId a, ValueId b);
  ValueId sub(ValueId a, ValueId b);
  ValueId mul(ValueId a, ValueId b);
  ValueId minimum(ValueId a, ValueId b);
  ValueId divide(ValueId a, ValueId b, bool up = false);
  ValueId remainder(ValueId a, ValueId b);
  /// A scalar (or a tile of fewer axes, reshaped) repeated to a type's shape.
  ValueId spread(ValueId value, cudatile::Scalar element,
                 const cudatile::Shape &ones, const cudatile::Shape &shape);
  mlir::LogicalResult refuse(mlir::Operation *op, const llvm::Twine &what);

  cudatile::Module &out;
  tile::FuncOp func;
  ValueId token = 0;
  llvm::DenseMap<mlir::Value, ValueId> values;
  llvm::DenseMap<mlir::Value, View> views;
  llvm::DenseMap<mlir::Value, Range> ranges;
};

/// The element type's tag; index is i64.
cudatile::Scalar scalarOf(mlir::Type type);
/// The shape with each size rounded up to a power of two.
cudatile::Shape paddedShape(mlir::Type type);

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_CUDATILE_KERNELWRITER_H
