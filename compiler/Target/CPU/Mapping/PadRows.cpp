//===- PadRows.cpp - Temporaries of a plan with padded rows ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/PadRows.h"

#include "compiler/Plan/IR/IntegerBuilder.h"

using namespace mlir;
using namespace tessera;

/// Launches and conditions ask for the strides of a tensor; what else there is
/// may rely on them.
static bool reliesOnStrides(OpOperand &use) {
  Operation *user = use.getOwner();
  return !isa<plan::LaunchOp, plan::AllocOp, plan::FreeOp, plan::SizeOp,
              plan::StrideOp, plan::AddressOp, plan::IsConstantOp,
              plan::CheckOp>(user);
}

void tessera::cpu::padRows(Value tensor) {
  auto alloc = tensor.getDefiningOp<plan::AllocOp>();
  plan::PlanTensorType type = cast<plan::PlanTensorType>(tensor.getType());
  Type element = type.getElement();
  int64_t bytes = element.isBF16() ? 2 : element.isInteger(8) ? 1 : 0;
  if (!alloc || alloc.getSource() || !bytes || type.getRank() < 2 ||
      llvm::any_of(tensor.getUses(), reliesOnStrides))
    return;
  OpBuilder builder(alloc);
  Location loc = alloc.getLoc();
  plan::IntegerBuilder make(builder, loc);
  SmallVector<Value> sizes(alloc.getSizes()), padded = sizes, strides;
  padded.back() = make.add(make.roundUp(sizes.back(), 128 / bytes), 64 / bytes);
  auto whole = plan::AllocOp::create(
      builder, loc, type, alloc.getName().str() + ".rows", padded, Value());
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    strides.push_back(make.stride(whole, axis));
  Value rows = plan::ViewOp::create(builder, loc, type, alloc.getName(), whole,
                                    make.number(0), sizes, strides);
  for (Operation *user : llvm::make_early_inc_range(tensor.getUsers()))
    if (auto free = dyn_cast<plan::FreeOp>(user))
      free.getTensorMutable().assign(whole);
  tensor.replaceAllUsesWith(rows);
  alloc.erase();
}
