//===- CarryBf16AsBits.cpp - target-carry-bf16-as-bits --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace tessera::target {
#define GEN_PASS_DEF_CARRYBF16ASBITSPASS
#include "compiler/Target/CPU/Passes.h.inc"
} // namespace tessera::target

using namespace mlir;

/// A constant of bf16 as one of i16; null for others.
static TypedAttr bitsOf(TypedAttr value) {
  auto bits = IntegerType::get(value.getContext(), 16);
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getType().isBF16()
               ? IntegerAttr::get(bits, number.getValue().bitcastToAPInt())
               : TypedAttr();
  auto dense = dyn_cast<DenseFPElementsAttr>(value);
  if (!dense || !dense.getElementType().isBF16())
    return {};
  return cast<TypedAttr>(Attribute(dense.bitcast(bits)));
}

namespace {
struct CarryBf16AsBitsPass
    : tessera::target::impl::CarryBf16AsBitsPassBase<CarryBf16AsBitsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    module.walk([](Operation *op) {
      for (NamedAttribute attribute : op->getAttrs())
        if (auto value = dyn_cast<TypedAttr>(attribute.getValue()))
          if (TypedAttr bits = bitsOf(value))
            op->setAttr(attribute.getName(), bits);
    });
    AttrTypeReplacer replacer;
    replacer.addReplacement([](BFloat16Type type) -> Type {
      return IntegerType::get(type.getContext(), 16);
    });
    replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    // A bit cast between the two is nothing now.
    module.walk([](arith::BitcastOp op) {
      if (op.getIn().getType() != op.getType())
        return;
      op.getOut().replaceAllUsesWith(op.getIn());
      op.erase();
    });
  }
};
} // namespace
