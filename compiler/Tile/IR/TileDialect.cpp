//===- TileDialect.cpp - Tile IR: registration and types ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Layout/Layout.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace tessera;
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
  if (size > maxPositions)
    return emitError() << "a range has at most " << maxPositions
                       << " positions, not " << size;
  return success();
}

bool tessera::tile::isNumber(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() &&
           llvm::is_contained({1, 4, 8, 16, 32, 64}, integer.getWidth());
  return type.isIndex() ||
         (isa<FloatType>(type) && type.getIntOrFloatBitWidth() <= 64 &&
          !isa<FloatTF32Type>(type));
}

/// Whether the shape is within the limits; `emitError` says why not, if given.
static LogicalResult checkShape(ArrayRef<int64_t> shape,
                                function_ref<InFlightDiagnostic()> emitError) {
  int64_t elements = 1;
  bool good = int64_t(shape.size()) <= maxRank;
  for (int64_t size : shape) {
    good = good && size >= 1 && size <= maxTileElements;
    elements *= good ? size : 1;
    good = good && elements <= maxTileElements;
  }
  if (good)
    return success();
  return emitError() << "a buffer has up to " << maxRank << " axes and 1 to "
                     << maxTileElements << " elements";
}

bool tessera::tile::isTileType(RankedTensorType type) {
  int64_t elements = 1;
  if (type.getRank() > maxRank || !isNumber(type.getElementType()))
    return false;
  if (type.getEncoding() && !isa<StringAttr>(type.getEncoding()))
    return false;
  for (int64_t size : type.getShape()) {
    if (size < 1 || size > maxTileElements ||
        (elements *= size) > maxTileElements)
      return false;
  }
  return true;
}

/// A layout from positions to one offset, which covers the shape.
static LogicalResult checkLayout(ArrayRef<int64_t> shape, StringRef text,
                                 function_ref<InFlightDiagnostic()> emitError) {
  std::string reason;
  std::optional<layout::Layout> found =
      layout::Layout::parse(text.str(), &reason);
  if (!found)
    return emitError() << reason;
  if (found->outs().size() != 1 || found->outs()[0].name != "offset")
    return emitError() << "a buffer's layout leads to an offset";
  // Before anything is multiplied.
  for (const layout::Axis &axis : found->axes())
    if (axis.extent > maxTileElements || axis.inStride > maxTileElements ||
        axis.outStride > maxTileElements)
      return emitError() << "the layout has steps over " << maxTileElements;
  for (const layout::Padding &padding : found->paddings())
    if (padding.interval > maxTileElements || padding.amount > maxTileElements)
      return emitError() << "the layout has padding over " << maxTileElements;
  for (const layout::Dim &in : found->ins()) {
    bool known = false;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      known |= in.name == "dim" + std::to_string(axis);
    if (!known)
      return emitError() << "the layout has '" << in.name
                         << "', but the buffer no such axis";
  }
  if (found->inBits() > 24 || found->outBits() > 24 ||
      found->outSize("offset") > 2 * maxTileElements)
    return emitError() << "the layout spans more than " << maxTileElements
                       << " elements";
  // A ring's layout is that of a slot.
  return success();
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type elementType,
                                 StringAttr layout, StringAttr space) {
  static constexpr llvm::StringLiteral spaces[] = {"shared", "register", "l1",
                                                   "l2", "scratch"};
  if (!isNumber(elementType))
    return emitError() << "a buffer holds numbers, not " << elementType;
  if (!llvm::is_contained(spaces, space.getValue()))
    return emitError() << "there are shared, register, l1, l2 and scratch, not "
                       << space;
  if (failed(checkShape(shape, emitError)))
    return failure();
  return layout.empty() ? success()
                        : checkLayout(shape, layout.getValue(), emitError);
}

// !tile.buffer<3x128x64xf16, "layout", "space">
Type BufferType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  std::string layout, space;
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseComma() ||
      parser.parseString(&layout) || parser.parseComma() ||
      parser.parseString(&space) || parser.parseGreater())
    return {};
  Builder builder(parser.getContext());
  return parser.getChecked<BufferType>(
      where, parser.getContext(), ArrayRef<int64_t>(shape), elementType,
      builder.getStringAttr(layout), builder.getStringAttr(space));
}

void BufferType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printDimensionList(getShape());
  printer << "x" << getElementType() << ", " << getLayout() << ", "
          << getSpace() << ">";
}
