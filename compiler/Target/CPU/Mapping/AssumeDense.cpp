//===- AssumeDense.cpp - Strides that are numbers -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the sizes of inner axes are numbers, so are the strides of an array
// without gaps. @f_dense is @f for such arrays, and the plan takes it where
// they are: rows of memory that a program works in then lie at one pointer and
// a number each, instead of a pointer each.
//
//===----------------------------------------------------------------------===//

#include "compiler/Plan/IR/IntegerBuilder.h"
#include "compiler/Target/CPU/Mapping/Passes.h"
#include "compiler/Tile/IR/CpuBuffer.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_ASSUMEDENSEPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using namespace tessera::tile;

namespace {

/// The type with the strides it has if there are no gaps, as far as sizes are
/// numbers. An axis of one element may have any. Rows of memory to work in
/// begin at lines, if they are longer than one.
MemRefType withoutGaps(MemRefType type, bool isWork) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (type.getRank() == 0 ||
      failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return type;
  int64_t product = 1;
  for (int64_t axis = type.getRank() - 1; axis-- > 0;) {
    if (type.isDynamicDim(axis + 1) ||
        __builtin_mul_overflow(product, type.getDimSize(axis + 1), &product))
      break;
    int64_t line = 64 / scratchBytesOf(type.getElementType());
    if (isWork && axis + 2 == type.getRank() && product > line)
      product = llvm::alignTo(product, line);
    if (!type.isDynamicDim(axis) && type.getDimSize(axis) != 1)
      strides[axis] = product;
  }
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), offset, strides),
      type.getMemorySpace());
}

struct AssumeDensePass
    : tessera::cpu::impl::AssumeDensePassBase<AssumeDensePass> {
  using AssumeDensePassBase::AssumeDensePassBase;

  /// What is new in the types.
  static Value condition(FuncOp func, FuncOp dense, plan::LaunchOp launch) {
    OpBuilder builder(launch);
    plan::IntegerBuilder make(builder, launch.getLoc());
    SmallVector<Value> all;
    for (auto [before, after] :
         llvm::zip(func.getArguments(), dense.getArguments())) {
      if (before.getType() == after.getType())
        continue;
      SmallVector<int64_t> unknown, known;
      int64_t offset;
      (void)cast<MemRefType>(before.getType())
          .getStridesAndOffset(unknown, offset);
      (void)cast<MemRefType>(after.getType())
          .getStridesAndOffset(known, offset);
      Value tensor = launch.getTensors()[before.getArgNumber()];
      for (auto [axis, stride] : llvm::enumerate(known))
        if (stride != unknown[axis])
          all.push_back(make.eq(make.stride(tensor, axis), stride));
    }
    return make.all(all);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (FuncOp func : llvm::to_vector(module.getOps<FuncOp>())) {
      // Memory to work in is read and written.
      auto isWork = [&](BlockArgument view) {
        return func.getArgMode(view.getArgNumber()) == "inout" &&
               isa<MemRefType>(view.getType());
      };
      bool works = llvm::any_of(func.getArguments(), [&](BlockArgument view) {
        return isWork(view) && withoutGaps(cast<MemRefType>(view.getType()),
                                           true) != view.getType();
      });
      if (!works || func.getAsIs())
        continue;
      OpBuilder builder(func);
      auto dense = cast<FuncOp>(builder.clone(*func));
      dense.setName((func.getName() + "_dense").str());
      for (BlockArgument view : dense.getArguments())
        if (auto type = dyn_cast<MemRefType>(view.getType()))
          view.setType(
              withoutGaps(type, isWork(func.getArgument(view.getArgNumber()))));
      dense.setType(
          builder.getFunctionType(dense.getBody().getArgumentTypes(), {}));
      plan::forEachLaunch(module, func.getName(), [&](plan::LaunchOp launch) {
        launch.chooseIf(condition(func, dense, launch), dense.getName());
      });
    }
  }
};

} // namespace
