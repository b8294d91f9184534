//===- CpuPrint.cpp - Calls of the runtime that print a line --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The protocol stands in docs/abi.md, section 2.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/CpuLowering.h"
#include "compiler/Target/IR/Target.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

void CpuLowering::call(StringRef function, ValueRange arguments,
                       std::optional<StringRef> text) {
  CallOp::create(builder, loc, builder.getStringAttr(function),
                 text ? builder.getStringAttr(*text) : StringAttr(), arguments);
}

void CpuLowering::printElement(Value value, Type element) {
  bool isFloat = isa<FloatType>(element);
  int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  Type have = value.getType();
  if (isFloat) {
    if (!have.isF64())
      value = extend(value, builder.getF64Type());
    call("tsr_print_float", {value, constant(bits)});
    return;
  }
  Type i64 = builder.getI64Type();
  if (have.isInteger(1))
    value = arith::ExtUIOp::create(builder, loc, i64, value);
  else if (have != i64)
    value = arith::ExtSIOp::create(builder, loc, i64, value);
  call("tsr_print_int", {value, constant(bits)});
}

void CpuLowering::printView(const CpuView &view) {
  call("tsr_print_value", {});
  for (Value size : view.sizes)
    call("tsr_print_axis", {size, size});
  OpBuilder::InsertionGuard guard(builder);
  Value offset = constant(0);
  for (auto [size, stride] : llvm::zip(view.sizes, view.strides)) {
    auto loop =
        scf::ForOp::create(builder, loc, constant(0), size, constant(1));
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    offset = add(offset, mul(loop.getInductionVar(), stride));
  }
  printElement(
      load(pointerTo(view.base, offset, view.element), view.element, 0),
      view.element);
}

void CpuLowering::print(tile::PrintOp op, Value program) {
  using tile::PrintPart;
  PrintPart part = op.getPart().value_or(PrintPart::Begin);
  if (part == PrintPart::Begin)
    return call("tsr_print_begin", program, op.getText());
  if (part == PrintPart::End)
    return call("tsr_print_end", {});
  if (part == PrintPart::Axes) {
    call("tsr_print_value", {});
    for (Value range : op.getValues())
      call("tsr_print_axis",
           {constant(cast<tile::RangeType>(range.getType()).getSize()),
            ranges[range].length});
    return;
  }
  for (Value value : op.getValues()) {
    if (isa<MemRefType>(value.getType())) {
      printView(views[value]);
      continue;
    }
    call("tsr_print_value", {});
    printElement(values.lookup(value), value.getType());
  }
}
