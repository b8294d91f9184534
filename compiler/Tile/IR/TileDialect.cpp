//===- TileDialect.cpp - Tile IR: registration and types ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

#include "compiler/Tile/IR/TileDialect.cpp.inc"
#include "compiler/Tile/IR/TileEnums.cpp.inc"

/// A layout is its own key.
struct tessera::tile::detail::LayoutAttrStorage : AttributeStorage {
  using KeyTy = layout::Layout;

  explicit LayoutAttrStorage(const layout::Layout &value) : value(value) {}
  bool operator==(const layout::Layout &other) const { return value == other; }
  static llvm::hash_code hashKey(const layout::Layout &key) {
    llvm::hash_code hash = llvm::hash_combine_range(key.matrix());
    for (const layout::Axis &axis : key.axes())
      hash =
          llvm::hash_combine(hash, axis.extent, axis.inStride, axis.outStride);
    return llvm::hash_combine(hash, key.ins().size(), key.outBits());
  }
  static LayoutAttrStorage *construct(AttributeStorageAllocator &allocator,
                                      const layout::Layout &key) {
    return new (allocator.allocate<LayoutAttrStorage>()) LayoutAttrStorage(key);
  }

  layout::Layout value;
};

#define GET_ATTRDEF_CLASSES
#include "compiler/Tile/IR/TileAttrs.cpp.inc"

const layout::Layout &LayoutAttr::getValue() const { return getImpl()->value; }

#define GET_TYPEDEF_CLASSES
#include "compiler/Tile/IR/TileTypes.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/Tile/IR/TileAttrs.cpp.inc"
      >();
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
  if (type.getEncoding() && !isa<LayoutAttr>(type.getEncoding()))
    return false;
  for (int64_t size : type.getShape()) {
    if (size < 1 || size > maxTileElements ||
        (elements *= size) > maxTileElements)
      return false;
  }
  return true;
}

/// A layout from positions to one offset, which covers the shape.
static LogicalResult checkMemory(ArrayRef<int64_t> shape,
                                 const layout::Layout &memory,
                                 function_ref<InFlightDiagnostic()> emitError) {
  if (memory.outs().size() != 1 || memory.outs()[0].name != "offset")
    return emitError() << "a buffer's layout leads to an offset";
  // Before anything is multiplied.
  for (const layout::Axis &axis : memory.axes())
    if (axis.extent > maxTileElements || axis.inStride > maxTileElements ||
        axis.outStride > maxTileElements)
      return emitError() << "the layout has steps over " << maxTileElements;
  for (const layout::Padding &padding : memory.paddings())
    if (padding.interval > maxTileElements || padding.amount > maxTileElements)
      return emitError() << "the layout has padding over " << maxTileElements;
  for (const layout::Dim &in : memory.ins()) {
    bool known = false;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      known |= in.name == "dim" + std::to_string(axis);
    if (!known)
      return emitError() << "the layout has '" << in.name
                         << "', but the buffer no such axis";
  }
  if (memory.inBits() > 24 || memory.outBits() > 24 ||
      memory.outSize("offset") > 2 * maxTileElements)
    return emitError() << "the layout spans more than " << maxTileElements
                       << " elements";
  // A ring's layout is that of a slot.
  return success();
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type elementType,
                                 LayoutAttr layout, Space) {
  if (!isNumber(elementType))
    return emitError() << "a buffer holds numbers, not " << elementType;
  if (failed(checkShape(shape, emitError)))
    return failure();
  return layout ? checkMemory(shape, layout.getValue(), emitError) : success();
}

// !tile.buffer<3x128x64xf16, #tile.layout<...>, shared>
Type BufferType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  Attribute layout;
  SMLoc where = parser.getCurrentLocation(), at;
  StringRef word;
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseComma())
    return {};
  if (parser.getCurrentLocation(&at))
    return {};
  OptionalParseResult given = parser.parseOptionalAttribute(layout);
  if (given.has_value() && (failed(*given) || parser.parseComma()))
    return {};
  if (layout && !isa<LayoutAttr>(layout)) {
    parser.emitError(at) << "a buffer has a #tile.layout, not " << layout;
    return {};
  }
  if (parser.getCurrentLocation(&at) || parser.parseKeyword(&word) ||
      parser.parseGreater())
    return {};
  std::optional<Space> space = symbolizeSpace(word);
  if (!space) {
    parser.emitError(at) << "there are shared, register, l1, l2, scratch and "
                            "tmem, not '"
                         << word << "'";
    return {};
  }
  return parser.getChecked<BufferType>(
      where, parser.getContext(), ArrayRef<int64_t>(shape), elementType,
      cast_or_null<LayoutAttr>(layout), *space);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printDimensionList(getShape());
  printer << "x" << getElementType() << ", ";
  if (getLayout())
    printer << getLayout() << ", ";
  printer << stringifySpace(getSpace()) << ">";
}

LogicalResult InFlightType::verify(function_ref<InFlightDiagnostic()> emitError,
                                   RankedTensorType tile) {
  if (tile.getRank() != 2 || !isTileType(tile))
    return emitError() << "a product leaves a matrix, not " << tile;
  return success();
}
