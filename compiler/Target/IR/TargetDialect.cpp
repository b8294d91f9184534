//===- TargetDialect.cpp - Target IR: registration ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/IR/Target.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace tessera::target;

#include "compiler/Target/IR/TargetDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/Target/IR/TargetAttrs.cpp.inc"

void TargetDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/Target/IR/TargetAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/Target/IR/TargetOps.cpp.inc"
      >();
}

// <grid = [128, 64], block = [256, 1], shared = 49152, regs = 128>
Attribute KernelConfigAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> grid, block;
  int64_t shared, regs;
  auto list = [&](StringRef name,
                  SmallVectorImpl<int64_t> &values) -> ParseResult {
    auto one = [&] { return parser.parseInteger(values.emplace_back()); };
    return failure(
        parser.parseKeyword(name) || parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, one) ||
        parser.parseComma());
  };
  if (parser.parseLess() || list("grid", grid) || list("block", block) ||
      parser.parseKeyword("shared") || parser.parseEqual() ||
      parser.parseInteger(shared) || parser.parseComma() ||
      parser.parseKeyword("regs") || parser.parseEqual() ||
      parser.parseInteger(regs) || parser.parseGreater())
    return {};
  return KernelConfigAttr::get(parser.getContext(), grid, block, shared, regs);
}

void KernelConfigAttr::print(AsmPrinter &printer) const {
  printer << "<grid = [";
  llvm::interleaveComma(getGrid(), printer);
  printer << "], block = [";
  llvm::interleaveComma(getBlock(), printer);
  printer << "], shared = " << getShared() << ", regs = " << getRegs() << ">";
}
