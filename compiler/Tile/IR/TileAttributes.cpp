//===- TileAttributes.cpp - Tile IR: attributes, what a kernel may hold ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// The text of Layout::print, of which MLIR has found the end already.
Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  StringRef text = static_cast<DialectAsmParser &>(parser).getFullSymbolSpec();
  std::string problem;
  std::optional<layout::Layout> found =
      layout::Layout::parse("#" + text.str(), &problem);
  if (found)
    return LayoutAttr::get(parser.getContext(), *found);
  parser.emitError(parser.getNameLoc()) << problem;
  return {};
}

void LayoutAttr::print(AsmPrinter &printer) const {
  std::string text = getValue().print();
  printer << StringRef(text).drop_front(StringRef("#layout").size());
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                           function_ref<InFlightDiagnostic()> emitError) const {
  // (C1)
  const layout::Layout &layout = getValue();
  bool good = layout.outs().size() == shape.size() && layout.outBits() <= 40;
  for (const layout::Axis &axis : layout.axes())
    good &= axis.extent <= maxTileElements &&
            axis.outStride <= maxTileElements &&
            axis.inStride <= maxTileElements;
  for (size_t axis = 0; good && axis < shape.size(); ++axis) {
    std::string name = "dim" + std::to_string(axis);
    good = layout.outs()[axis].name == name &&
           layout.outSize(name) >= shape[axis] &&
           layout.outSize(name) <= maxTileElements;
  }
  if (good)
    return success();
  return emitError() << "the layout " << layout.print()
                     << " does not lead to the axes of the tile";
}

LayoutAttr tessera::tile::findLayout(Type tile) {
  auto type = dyn_cast<RankedTensorType>(tile);
  return type ? dyn_cast_or_null<LayoutAttr>(type.getEncoding()) : LayoutAttr();
}

//===----------------------------------------------------------------------===//
// Other attributes
//===----------------------------------------------------------------------===//

LogicalResult
InstructionAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        MmaForm form, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t most = 1024;
  if (form == MmaForm::Fma
          ? m || n || k
          : std::min({m, n, k}) < 1 || std::max({m, n, k}) > most)
    return emitError() << "a matrix instruction has three sizes of 1 to "
                       << most << ", fma none";
  return success();
}

// #tile.instruction<sync 16 x 8 x 16>, #tile.instruction<fma>
Attribute InstructionAttr::parse(AsmParser &parser, Type) {
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  FailureOr<MmaForm> form = FieldParser<MmaForm>::parse(parser);
  if (failed(form))
    return {};
  int64_t m = 0, n = 0, k = 0;
  OptionalParseResult hasSizes = parser.parseOptionalInteger(m);
  if (hasSizes.has_value() &&
      (failed(*hasSizes) || parser.parseKeyword("x") ||
       parser.parseInteger(n) || parser.parseKeyword("x") ||
       parser.parseInteger(k)))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<InstructionAttr>(where, parser.getContext(), *form,
                                            m, n, k);
}

void InstructionAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyMmaForm(getForm());
  if (getForm() != MmaForm::Fma)
    printer << " " << getM() << " x " << getN() << " x " << getK();
  printer << ">";
}

LogicalResult NumericsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   NumericsKind, int64_t step, int64_t parts) {
  if (step < 0 || parts < 0)
    return emitError() << "steps and parts are not negative";
  return success();
}

LogicalResult ExchangeAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t bytes, std::optional<int64_t> offset,
                                   bool) {
  constexpr int64_t most = 1 << 20;
  if (bytes < 1 || bytes > most || offset.value_or(0) < 0 ||
      offset.value_or(0) > most)
    return emitError() << "an exchange has 1 to " << most
                       << " bytes of shared memory, not " << bytes << " at "
                       << offset.value_or(0);
  return success();
}

// #tile.exchange<512 at 1024, unguarded>
Attribute ExchangeAttr::parse(AsmParser &parser, Type) {
  int64_t bytes, offset;
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseInteger(bytes))
    return {};
  bool placed = succeeded(parser.parseOptionalKeyword("at"));
  if (placed && parser.parseInteger(offset))
    return {};
  bool unguarded = succeeded(parser.parseOptionalComma());
  if ((unguarded && parser.parseKeyword("unguarded")) || parser.parseGreater())
    return {};
  return parser.getChecked<ExchangeAttr>(
      where, parser.getContext(), bytes,
      placed ? std::optional(offset) : std::nullopt, unguarded);
}

void ExchangeAttr::print(AsmPrinter &printer) const {
  printer << "<" << getBytes();
  if (getOffset())
    printer << " at " << *getOffset();
  printer << (getUnguarded() ? ", unguarded>" : ">");
}

/// Any op of tiles may have it, those of arith as well.
static constexpr StringLiteral exchangeName = "tile.exchange";

ExchangeAttr tessera::tile::getExchange(Operation *op) {
  return op->getAttrOfType<ExchangeAttr>(exchangeName);
}

void tessera::tile::setExchange(Operation *op, ExchangeAttr exchange) {
  op->setAttr(exchangeName, exchange);
}

bool tessera::tile::isConfig(Attribute attribute) {
  auto entries = dyn_cast<DictionaryAttr>(attribute);
  return entries && llvm::all_of(entries, [](NamedAttribute entry) {
           auto number = dyn_cast<IntegerAttr>(entry.getValue());
           return number && number.getType().isSignlessInteger(64) &&
                  number.getInt() >= 0 && number.getInt() <= 1 << 16;
         });
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == exchangeName &&
      !isa<ExchangeAttr>(attribute.getValue()))
    return op->emitOpError() << exchangeName << " is a #tile.exchange, not "
                             << attribute.getValue();
  return success();
}

//===----------------------------------------------------------------------===//
// What a kernel may hold
//===----------------------------------------------------------------------===//

/// Whether a value may be `type`: numbers and tiles anywhere; the others only
/// where they come from, so that a use of one finds its op.
static LogicalResult verifyType(Operation *op, Type type, bool isSource) {
  if (auto tile = dyn_cast<RankedTensorType>(type)) {
    if (isTileType(tile))
      return success();
    return op->emitError() << "a tile has a static shape of up to "
                           << maxTileElements << " numbers, not " << tile;
  }
  if (isNumber(type) || isSource)
    return success();
  if (isa<RangeType, BufferType, TokenType, InFlightType>(type))
    return op->emitError() << "'" << op->getName() << "' gives no " << type;
  return op->emitError() << "a kernel computes with numbers and tiles, not "
                         << type;
}

static LogicalResult verifyInKernel(Operation *op) {
  if (isa<scf::SCFDialect>(op->getDialect()) &&
      !isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::ConditionOp, scf::YieldOp>(
          op))
    return op->emitError() << "'" << op->getName()
                           << "' may not stand in a kernel of Tile IR";
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (auto dense = dyn_cast<ElementsAttr>(constant.getValue());
        dense && !dense.isSplat())
      return op->emitError() << "a constant tile is one number everywhere";
  for (Type type : op->getResultTypes())
    if (failed(verifyType(
            op, type,
            (isa<RangeType>(type) && isa<ProgramOp, RangeAtOp>(op)) ||
                (isa<BufferType>(type) && isa<AllocOp>(op)) ||
                (isa<TokenType>(type) && isa<CpAsyncOp, MmaAsyncOp>(op)) ||
                (isa<InFlightType>(type) && isa<MmaAsyncOp>(op)))))
      return failure();
  for (Region &region : op->getRegions()) {
    if (!region.empty() && !llvm::hasSingleElement(region))
      return op->emitError() << "a region of a kernel is one block";
    for (BlockArgument argument : region.getArguments())
      if (failed(verifyType(op, argument.getType(),
                            isa<ForOp>(op) && argument.getArgNumber() == 0)))
        return failure();
  }
  return success();
}

/// One program, or a chunk of them that are told apart by their numbers.
static LogicalResult verifyPlaceInGrid(FuncOp func) {
  SmallVector<ProgramOp> programs;
  SmallVector<ChunkOp> chunks;
  func.walk([&](Operation *op) {
    if (auto program = dyn_cast<ProgramOp>(op))
      programs.push_back(program);
    else if (auto chunk = dyn_cast<ChunkOp>(op))
      chunks.push_back(chunk);
  });
  if (chunks.size() > 1)
    return chunks[1].emitError() << "a kernel has one tile.chunk";
  if (!chunks.empty() && chunks[0]->getParentOp() != func)
    return chunks[0].emitError() << "tile.chunk stands at a kernel's top";
  for (ProgramOp program : programs)
    if (bool(program.getNumber()) != !chunks.empty())
      return program.emitError()
             << (chunks.empty() ? "a number is one of a tile.chunk"
                                : "a program of a tile.chunk has a number");
  if (!chunks.empty())
    return success();
  if (programs.size() > 1)
    return programs[1].emitError() << "a kernel has one tile.program";
  if (!programs.empty() && programs[0]->getParentOp() != func)
    return programs[0].emitError() << "tile.program stands at a kernel's top";
  return success();
}

LogicalResult tessera::tile::verifyKernel(FuncOp func) {
  bool scalars = false;
  for (auto [number, type] : llvm::enumerate(func.getArgumentTypes())) {
    auto view = dyn_cast<MemRefType>(type);
    scalars |= !view;
    SmallVector<int64_t> strides;
    int64_t offset;
    bool good = view ? !scalars && view.getRank() <= maxRank &&
                           isNumber(view.getElementType()) &&
                           !view.getMemorySpace() &&
                           succeeded(view.getStridesAndOffset(strides, offset))
                     : isNumber(type) && !type.isIndex();
    if (!good)
      return func.emitOpError()
             << "argument " << number
             << ": a kernel takes views with strides, of up to " << maxRank
             << " axes, then scalars, not " << type;
  }
  WalkResult result = func.walk([&](Operation *op) -> WalkResult {
    return op == func ? success() : verifyInKernel(op);
  });
  if (result.wasInterrupted())
    return failure();
  return verifyPlaceInGrid(func);
}
