//===- TileDialect.cpp - Tile IR: registration and types ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace tessera::tile;

#include "compiler/Tile/IR/TileDialect.cpp.inc"
#include "compiler/Tile/IR/TileEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/Tile/IR/TileTypes.cpp.inc"

void TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/Tile/IR/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/Tile/IR/TileOps.cpp.inc"
      >();
}

LogicalResult RangeType::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t size) {
  if (size < 1)
    return emitError() << "a range has at least one position, not " << size;
  return success();
}

// !tile.buffer<3x128x64xf16, "layout", "space">
Type BufferType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  std::string layout, space;
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseComma() ||
      parser.parseString(&layout) || parser.parseComma() ||
      parser.parseString(&space) || parser.parseGreater())
    return {};
  Builder builder(parser.getContext());
  return BufferType::get(parser.getContext(), shape, elementType,
                         builder.getStringAttr(layout),
                         builder.getStringAttr(space));
}

void BufferType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printDimensionList(getShape());
  printer << "x" << getElementType() << ", " << getLayout() << ", "
          << getSpace() << ">";
}
