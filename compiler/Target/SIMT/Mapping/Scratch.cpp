//===- Scratch.cpp - Memory for tiles that change threads -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/SIMT/Mapping/Scratch.h"

#include "compiler/Target/SIMT/Mapping/BlockLayouts.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;
using namespace tessera::tile;
using layout::Layout;

static int64_t bytesOf(Type element) {
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

int64_t tessera::simt::boardBytes(const layout::Board &board, Type element) {
  return llvm::alignTo(board.elements * bytesOf(element), 16);
}

/// A reduction whose axis is spread over warps needs memory to join them.
static int64_t bytesOfReduction(ReduceOp reduce) {
  RankedTensorType type = reduce.getInput().getType();
  const Layout &input = layoutOf(reduce.getInput());
  std::optional<int> warp = input.findIn("warp");
  int64_t parts = 1;
  for (int b = 0; warp && b < input.ins()[*warp].bits; ++b)
    if (input.basis(*warp, b)[reduce.getAxis()])
      parts *= 2;
  if (parts == 1)
    return 0;
  int64_t results = 1;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (axis != int64_t(reduce.getAxis()))
      results *= input.outSize("dim" + std::to_string(axis));
  return results * parts * std::max<int64_t>(4, bytesOf(type.getElementType()));
}

static int64_t bytesOfConversion(ConvertLayoutOp convert) {
  auto type = cast<RankedTensorType>(convert.getType());
  layout::Exchange plan = layout::planExchange(
      layoutOf(convert.getInput()), layoutOf(convert.getResult()),
      type.getShape().vec(), bytesOf(type.getElementType()));
  return plan.needsMemory() ? boardBytes(plan.board, type.getElementType()) : 0;
}

/// For people: how the tile gets there.
static void describe(ConvertLayoutOp convert) {
  auto type = cast<RankedTensorType>(convert.getType());
  layout::Exchange plan = layout::planExchange(
      layoutOf(convert.getInput()), layoutOf(convert.getResult()),
      type.getShape().vec(), bytesOf(type.getElementType()));
  using Way = layout::Exchange::Way;
  convert.setWay(plan.way == Way::Shared     ? ExchangeWay::Shared
                 : plan.way == Way::Shuffles ? ExchangeWay::Shuffles
                                             : ExchangeWay::Registers);
  if (plan.needsMemory())
    convert.setConflicts(plan.board.conflicts);
}

/// Operands that were not loaded into buffers.
static int64_t bytesOfProduct(MmaOp mma) {
  if (!tessera::simt::usesFma(mma))
    return 0;
  int64_t bytes = 0;
  for (Value operand : {mma.getLhs(), mma.getRhs()}) {
    auto type = cast<RankedTensorType>(operand.getType());
    while (auto transpose = operand.getDefiningOp<TransposeOp>())
      operand = transpose.getInput();
    if (!operand.getDefiningOp<LocalLoadOp>())
      bytes += boardBytes(
          layout::rowMajorBoard(type.getShape().vec(), /*oddRows=*/true),
          type.getElementType());
  }
  return bytes;
}

/// Does everything that uses a buffer come before the op, in any run?
static bool isAfterBuffers(Operation *op) {
  auto func = dyn_cast<FuncOp>(op->getParentOp());
  if (!func)
    return false;
  WalkResult found = func.walk([&](Operation *other) {
    if (!isa<CpAsyncOp, LocalLoadOp, LocalStoreOp, WaitOp, MmaOp>(other))
      return WalkResult::advance();
    Operation *outer = op->getBlock()->findAncestorOpInBlock(*other);
    return outer->isBeforeInBlock(op) ? WalkResult::advance()
                                      : WalkResult::interrupt();
  });
  return !found.wasInterrupted();
}

int64_t tessera::simt::exchangeBytes(Operation *op) {
  auto plain = [](Value tile) {
    auto type = cast<RankedTensorType>(tile.getType());
    return boardBytes(layout::rowMajorBoard(type.getShape().vec(), false),
                      type.getElementType());
  };
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([](ReduceOp reduce) { return bytesOfReduction(reduce); })
      .Case([](ConvertLayoutOp convert) { return bytesOfConversion(convert); })
      .Case([](MmaOp mma) { return bytesOfProduct(mma); })
      .Case<ReshapeOp, CatOp>(
          [&](auto other) { return plain(other.getResult()); })
      .Default([](Operation *) { return 0; });
}

void tessera::simt::measureScratch(FuncOp func) {
  func.walk([&](Operation *op) {
    if (auto convert = dyn_cast<ConvertLayoutOp>(op))
      describe(convert);
    if (int64_t bytes = exchangeBytes(op))
      setExchange(op, ExchangeAttr::get(op->getContext(), bytes, std::nullopt,
                                        /*unguarded=*/false));
  });
}

int64_t tessera::simt::bytesBesideBuffers(FuncOp func) {
  int64_t most = 0;
  func.walk([&](Operation *op) {
    ExchangeAttr exchange = getExchange(op);
    if (exchange && !isAfterBuffers(op))
      most = std::max(most, exchange.getBytes());
  });
  return llvm::alignTo(most, 128);
}

int64_t tessera::simt::placeScratch(FuncOp func, int64_t end) {
  int64_t total = end;
  func.walk([&](Operation *op) {
    ExchangeAttr exchange = getExchange(op);
    if (!exchange)
      return;
    int64_t first = isAfterBuffers(op) ? 0 : end;
    setExchange(op, ExchangeAttr::get(op->getContext(), exchange.getBytes(),
                                      first, exchange.getUnguarded()));
    total = std::max(total, first + exchange.getBytes());
  });
  return llvm::alignTo(total, 16);
}
