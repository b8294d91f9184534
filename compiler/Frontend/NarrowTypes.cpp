//===- NarrowTypes.cpp - What may be done with i8 and fp8 -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Frontend/NarrowTypes.h"

#include "compiler/Graph/IR/Graph.h"
#include "compiler/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tessera::frontend {

bool isStorageOnly(DType dtype) {
  return dtype == DType::I8 || dtype == DType::FP8_E4M3 ||
         dtype == DType::FP8_E5M2;
}

/// A tile or number of a type that is only stored and multiplied.
static std::optional<DType> narrowOf(Type type) {
  if (isa<MemRefType>(type))
    return std::nullopt;
  std::optional<DType> dtype = getDType(getElementTypeOrSelf(type));
  return dtype && isStorageOnly(*dtype) ? dtype : std::nullopt;
}

LogicalResult checkNarrowTypes(ModuleOp module, const SourceRange &whole,
                               DiagnosticEngine &diags) {
  Operation *bad = nullptr;
  DType which = DType::I8;
  module.walk([&](Operation *op) {
    if (bad || op->getNumRegions() || op->hasTrait<OpTrait::IsTerminator>() ||
        isa<tile::LoadOp, tile::StoreOp, tile::MmaOp, tile::TransposeOp,
            graph::CallKernelOp, arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp,
            arith::TruncIOp, arith::SIToFPOp, arith::FPToSIOp, arith::SelectOp,
            arith::ConstantOp>(op))
      return;
    for (auto types :
         {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
      for (Type type : types)
        if (std::optional<DType> dtype = narrowOf(type)) {
          bad = op;
          which = *dtype;
          return;
        }
  });
  if (!bad)
    return success();
  SourceRange where = whole;
  if (auto place = bad->getLoc()->findInstanceOf<FileLineColLoc>()) {
    where.begin = {place.getLine(), place.getColumn()};
    where.end = {place.getLine(), place.getColumn() + 1};
  }
  std::string name = getDTypeName(which);
  if (isa_and_present<graph::GraphDialect>(bad->getDialect())) {
    diags.error(where, "not yet: " + name + " in a tsr.function")
        .setFix("a tsr.kernel that loads it");
    return failure();
  }
  diags
      .error(where, isFloat(which)
                        ? name + " only loads, converts, multiplies (@) and "
                                 "stores"
                        : "not yet: " + name +
                              " does more than load, convert, multiply (@) "
                              "and store")
      .setFix(std::string(".to(") + (isFloat(which) ? "fp32" : "i32") +
              ") first");
  return failure();
}

void markWeights(ModuleOp module) {
  module.walk([](math::Exp2Op op) {
    bool rounds = false;
    for (Operation *user : op->getUsers()) {
      if (auto sum = dyn_cast<tile::ReduceOp>(user);
          sum && sum.getKind() == tile::ReduceKind::Sum)
        continue;
      auto narrow = dyn_cast<arith::TruncFOp>(user);
      if (!narrow ||
          getElementTypeOrSelf(narrow.getType()).getIntOrFloatBitWidth() !=
              16 ||
          !llvm::all_of(narrow->getUsers(), llvm::IsaPred<tile::MmaOp>))
        return;
      rounds |= !narrow->use_empty();
    }
    if (rounds && getElementTypeOrSelf(op.getType()).isF32())
      op.setFastmath(arith::FastMathFlags::afn);
  });
}

} // namespace tessera::frontend
