//===- TileAsync.cpp - Tile IR: products in flight, roles of warps --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera::tile;

namespace {

/// A matrix, whatever holds it.
struct Matrix {
  ArrayRef<int64_t> shape;
  Type element;
  std::optional<Space> space; ///< of a buffer

  explicit Matrix(Type type) {
    if (auto flight = dyn_cast<InFlightType>(type))
      type = flight.getTile();
    if (auto buffer = dyn_cast<BufferType>(type)) {
      shape = buffer.getShape();
      element = buffer.getElementType();
      space = buffer.getSpace();
    } else {
      auto tile = cast<RankedTensorType>(type);
      shape = tile.getShape();
      element = tile.getElementType();
    }
  }
};

} // namespace

LogicalResult MmaAsyncOp::verify() {
  Matrix lhs(getLhs().getType()), rhs(getRhs().getType()),
      acc(getAcc().getType());
  // (C1)
  auto isShared = [](const Matrix &matrix) {
    return !matrix.space || *matrix.space == Space::Shared;
  };
  if (!isShared(rhs) || !(isShared(lhs) || *lhs.space == Space::Tensor))
    return emitOpError() << "reads shared memory, on the left also tiles and "
                            "tensor memory";
  bool chains =
      lhs.shape.size() == 2 && rhs.shape.size() == 2 && acc.shape.size() == 2;
  if (chains) {
    int64_t k = rhs.shape[0];
    chains = lhs.shape[1] * (getMeta() ? 2 : 1) == k &&
             acc.shape == ArrayRef<int64_t>({lhs.shape[0], rhs.shape[1]});
  }
  if (!chains || lhs.element != rhs.element)
    return emitOpError() << "does not chain: " << getLhs().getType()
                         << " times " << getRhs().getType() << " into "
                         << getAcc().getType();
  // (C2)
  bool isTensor = acc.space && *acc.space == Space::Tensor;
  if (acc.space && !isTensor)
    return emitOpError() << "sums in registers or in tensor memory, not in "
                         << stringifySpace(*acc.space);
  if (isTensor == bool(getResult()))
    return emitOpError() << "leaves a result in flight, unless it sums in "
                            "tensor memory";
  if (Value result = getResult()) {
    Type sum = getAcc().getType();
    RankedTensorType tile = cast<InFlightType>(result.getType()).getTile();
    if (sum != tile && sum != result.getType())
      return emitOpError() << "adds to " << sum << " and leaves "
                           << result.getType();
  }
  // (C3)
  if (getMeta() && getLhsScale())
    return emitOpError() << "is sparse or scaled, not both";
  if (bool(getLhsScale()) != bool(getRhsScale()))
    return emitOpError() << "is scaled on both sides";
  // (C4)
  if ((getIssuer() == Issuer::WarpGroup || getIssuer() == Issuer::Warp) ==
      isTensor)
    return emitOpError() << "of a " << stringifyIssuer(getIssuer())
                         << " does not sum "
                         << (isTensor ? "in tensor memory" : "in registers");
  return success();
}

void MmaAsyncOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands())
    if (isa<BufferType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  if (isa<BufferType>(getAcc().getType()))
    effects.emplace_back(MemoryEffects::Write::get(), &getAccMutable());
}

LogicalResult MmaWaitOp::verify() {
  // (C1)
  if (getInput().getType().getTile() != getResult().getType())
    return emitOpError() << "gives " << getInput().getType().getTile()
                         << ", not " << getResult().getType();
  if (int64_t(getPending()) < 0 || int64_t(getPending()) > maxStages)
    return emitOpError() << "pending is 0 to " << maxStages << ", not "
                         << int64_t(getPending());
  return success();
}

LogicalResult RolesOp::verify() {
  // (C1)
  size_t roles = getBodies().size();
  if (roles < 2 || getNames().size() != roles || getWarps().size() != roles ||
      getRegisters().size() != roles)
    return emitOpError() << "has two roles or more, each with a name, warps "
                            "and registers";
  // (C2)
  constexpr int64_t maxWarps = 32;
  int64_t all = 0;
  for (int64_t warps : getWarps()) {
    if (warps < 1 || warps > maxWarps)
      return emitOpError() << "a role has 1 to " << maxWarps << " warps, not "
                           << warps;
    all += warps;
  }
  auto kernel = (*this)->getParentOfType<FuncOp>();
  std::optional<int64_t> threads =
      kernel ? kernel.getBlockSize() : std::optional<uint64_t>();
  if (all > maxWarps || (threads && *threads != all * 32))
    return emitOpError() << "has " << all << " warps, but the block "
                         << (threads ? *threads / 32 : maxWarps);
  // (C3)
  for (auto [warps, registers] : llvm::zip(getWarps(), getRegisters()))
    if (registers &&
        (registers < 24 || registers > 256 || registers % 8 || warps % 4))
      return emitOpError() << "registers are 24 to 256 in steps of 8, of whole "
                              "groups of four warps, not "
                           << registers << " of " << warps;
  // (C4)
  if (!isa<FuncOp, ForOp>((*this)->getParentOp()) ||
      (*this)->getParentOfType<RolesOp>())
    return emitOpError() << "stands at the kernel's top or in a loop, not in "
                            "another role";
  return success();
}
