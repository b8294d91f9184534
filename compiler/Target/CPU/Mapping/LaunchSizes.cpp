//===- LaunchSizes.cpp - What a kernel asks for, in a plan's words --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Mapping/LaunchSizes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using namespace tessera::tile;

Value tessera::cpu::extentOf(plan::LaunchOp launch, FuncOp kernel, Value value,
                             plan::IntegerBuilder &make) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return make.number(number.getSExtValue());
  if (auto dim = value.getDefiningOp<DimOp>())
    if (auto view = dyn_cast<BlockArgument>(dim.getView()))
      return make.size(launch.getTensors()[view.getArgNumber()], dim.getAxis());
  auto scalar = dyn_cast<BlockArgument>(value);
  if (!scalar || scalar.getOwner() != &kernel.getBody().front())
    return {};
  return launch
      .getScalars()[scalar.getArgNumber() - launch.getTensors().size()];
}
