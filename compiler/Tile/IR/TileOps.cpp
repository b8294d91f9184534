//===- TileOps.cpp - Tile IR: verifiers, effects, text --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/IR/CpuBuffer.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace tessera::tile;

#define GET_OP_CLASSES
#include "compiler/Tile/IR/TileOps.cpp.inc"

//===----------------------------------------------------------------------===//
// FuncOp
//===----------------------------------------------------------------------===//

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  auto build = [](Builder &builder, ArrayRef<Type> inputs,
                  ArrayRef<Type> results, function_interface_impl::VariadicFlag,
                  std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), build,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void FuncOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

//===----------------------------------------------------------------------===//
// PlanOp
//===----------------------------------------------------------------------===//

// tile.plan @f { "line" "line" ... }
ParseResult PlanOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parser.parseLBrace())
    return failure();
  SmallVector<Attribute> lines;
  std::string line;
  while (succeeded(parser.parseOptionalString(&line)))
    lines.push_back(parser.getBuilder().getStringAttr(line));
  result.addAttribute(getLinesAttrName(result.name),
                      parser.getBuilder().getArrayAttr(lines));
  return failure(parser.parseRBrace() ||
                 parser.parseOptionalAttrDict(result.attributes));
}

void PlanOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << " {";
  printer.increaseIndent();
  for (Attribute line : getLines()) {
    printer.printNewline();
    printer << line;
  }
  printer.decreaseIndent();
  printer.printNewline();
  printer << "}";
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getSymNameAttrName(), getLinesAttrName()});
}

//===----------------------------------------------------------------------===//
// Grid and ranges
//===----------------------------------------------------------------------===//

LogicalResult ProgramOp::verify() {
  // (C1)
  size_t count = getExtents().size();
  if (getTiles().size() != count || getIds().size() != count)
    return emitOpError() << "has " << count << " extents, " << getTiles().size()
                         << " tiles and " << getIds().size() << " results";
  // (C2)
  for (auto [id, tile] : llvm::zip(getIds(), getTiles())) {
    auto range = dyn_cast<RangeType>(id.getType());
    if (range ? range.getSize() != tile : tile != 0)
      return emitOpError() << "a tile of " << tile << " gives " << id.getType();
  }
  return success();
}

void ForOp::build(OpBuilder &builder, OperationState &state, Value start,
                  Value stop, int64_t size, ValueRange inits) {
  state.addOperands({start, stop});
  state.addOperands(inits);
  state.addTypes(inits.getTypes());
  Block &block = state.addRegion()->emplaceBlock();
  block.addArgument(RangeType::get(builder.getContext(), size), state.location);
  for (Value init : inits)
    block.addArgument(init.getType(), init.getLoc());
}

int64_t ForOp::getSize() {
  return cast<RangeType>(getRange().getType()).getSize();
}

LogicalResult ForOp::verify() {
  // (C1)
  Block &body = getBody().front();
  if (body.getNumArguments() != getInits().size() + 1 ||
      !isa<RangeType>(body.getArgument(0).getType()))
    return emitOpError() << "the region takes a range and " << getInits().size()
                         << " carried values";
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getValues().getTypes() != getInits().getTypes() ||
      getResultTypes() != getInits().getTypes() ||
      TypeRange(getCarried()) != TypeRange(getInits()))
    return emitOpError() << "carried values change their type";
  return success();
}

OperandRange ForOp::getEntrySuccessorOperands(RegionSuccessor) {
  return getInits();
}

void ForOp::getSuccessorRegions(RegionBranchPoint,
                                SmallVectorImpl<RegionSuccessor> &regions) {
  regions.push_back(RegionSuccessor(&getBody(), getCarried()));
  regions.push_back(RegionSuccessor(getOperation(), getResults()));
}

// %r = tile.for %k = %a to %b carry(%x = %x0) : !tile.range<64>, (T) { ... }
ParseResult ForOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  OpAsmParser::Argument range;
  OpAsmParser::UnresolvedOperand start, stop;
  if (parser.parseArgument(range) || parser.parseEqual() ||
      parser.parseOperand(start) || parser.parseKeyword("to") ||
      parser.parseOperand(stop))
    return failure();
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> inits;
  arguments.push_back(range);
  bool carries = succeeded(parser.parseOptionalKeyword("carry"));
  if (carries) {
    SmallVector<OpAsmParser::Argument> carried;
    if (parser.parseAssignmentList(carried, inits))
      return failure();
    llvm::append_range(arguments, carried);
  }
  SmallVector<Type> types;
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseColonType(arguments[0].type))
    return failure();
  if (carries && (parser.parseComma() || parser.parseLParen() ||
                  parser.parseTypeList(types) || parser.parseRParen()))
    return failure();
  if (types.size() != inits.size())
    return parser.emitError(where)
           << inits.size() << " values are carried, but " << types.size()
           << " types given";
  for (auto [argument, type] : llvm::zip(llvm::drop_begin(arguments), types))
    argument.type = type;
  Type index = builder.getIndexType();
  if (parser.resolveOperand(start, index, result.operands) ||
      parser.resolveOperand(stop, index, result.operands) ||
      parser.resolveOperands(inits, types, where, result.operands) ||
      parser.parseRegion(*result.addRegion(), arguments) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  ensureTerminator(*result.regions[0], builder, result.location);
  result.addTypes(types);
  return success();
}

void ForOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getRange() << " = " << getStart() << " to " << getStop();
  if (!getInits().empty()) {
    printer << " carry(";
    llvm::interleaveComma(
        llvm::zip(getCarried(), getInits()), printer, [&](auto pair) {
          printer << std::get<0>(pair) << " = " << std::get<1>(pair);
        });
    printer << ")";
  }
  printer << " : " << getRange().getType();
  if (!getInits().empty()) {
    printer << ", (";
    llvm::interleaveComma(getInits().getTypes(), printer);
    printer << ")";
  }
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!getInits().empty());
  printer.printOptionalAttrDict((*this)->getAttrs());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

SmallVector<SmallVector<int64_t, 2>>
tessera::tile::axesOfIndices(OperandRange indices,
                             std::optional<ArrayAttr> indexAxes) {
  SmallVector<SmallVector<int64_t, 2>> result;
  int64_t next = 0;
  for (auto [i, index] : llvm::enumerate(indices)) {
    SmallVector<int64_t, 2> axes;
    if (indexAxes) {
      for (Attribute axis : cast<ArrayAttr>((*indexAxes)[i]))
        axes.push_back(cast<IntegerAttr>(axis).getInt());
    } else if (isa<RangeType>(index.getType())) {
      axes.push_back(next++);
    } else if (auto tile = dyn_cast<RankedTensorType>(index.getType())) {
      for (int64_t axis = 0; axis < tile.getRank(); ++axis)
        axes.push_back(next++);
    }
    result.push_back(std::move(axes));
  }
  return result;
}

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

void LoadOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getViewMutable());
}

void StoreOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), &getViewMutable());
}

void AtomicOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getViewMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getViewMutable());
}

/// Checks `indices` against the view and, unless `index_axes` ties axes
/// together, the value's shape against the indices.
static LogicalResult verifyAccess(Operation *op, Type view,
                                  OperandRange indices,
                                  std::optional<ArrayAttr> indexAxes,
                                  Type value) {
  auto type = cast<MemRefType>(view);
  // (C1)
  if (int64_t(indices.size()) != type.getRank())
    return op->emitOpError()
           << indices.size() << " indices into a view of rank "
           << type.getRank();
  // (C2)
  if (indexAxes) {
    for (Attribute axes : *indexAxes)
      if (!isa<ArrayAttr>(axes))
        return op->emitOpError() << "index_axes holds a list of axes for each "
                                    "index, not "
                                 << axes;
    if (indexAxes->size() != indices.size())
      return op->emitOpError()
             << "index_axes has " << indexAxes->size() << " entries for "
             << indices.size() << " indices";
    return success();
  }
  SmallVector<int64_t> shape;
  for (Value index : indices) {
    if (auto range = dyn_cast<RangeType>(index.getType()))
      shape.push_back(range.getSize());
    else if (auto tile = dyn_cast<RankedTensorType>(index.getType()))
      llvm::append_range(shape, tile.getShape());
  }
  auto tile = dyn_cast<RankedTensorType>(value);
  ArrayRef<int64_t> have = tile ? tile.getShape() : ArrayRef<int64_t>();
  if (have != ArrayRef(shape))
    return op->emitOpError() << "the indices span [" << shape
                             << "], but the tile is [" << have << "]";
  if (getElementTypeOrSelf(value) != type.getElementType())
    return op->emitOpError() << "view holds " << type.getElementType()
                             << ", tile " << getElementTypeOrSelf(value);
  return success();
}

LogicalResult LoadOp::verify() {
  return verifyAccess(*this, getView().getType(), getIndices(), getIndexAxes(),
                      getResult().getType());
}

LogicalResult StoreOp::verify() {
  // (C2)
  if (std::optional<CpuPacking> packing = CpuPacking::of(getView());
      packing && packing->group > 1 && !(*this)->hasAttr("zero_padding"))
    return emitOpError() << "into groups of a packed view has zero_padding: "
                            "what is missing of a group is multiplied";
  return verifyAccess(*this, getView().getType(), getIndices(), getIndexAxes(),
                      getValue().getType());
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  RankedTensorType input = getInput().getType(), result = getType();
  // (C1)
  int64_t last = -1;
  if (int64_t(getAxes().size()) != input.getRank())
    return emitOpError() << getAxes().size() << " axes for a tile of rank "
                         << input.getRank();
  for (auto [i, axis] : llvm::enumerate(getAxes())) {
    if (axis <= last || axis >= result.getRank() ||
        result.getDimSize(axis) != input.getDimSize(i))
      return emitOpError() << "axes [" << getAxes() << "] do not map " << input
                           << " into " << result;
    last = axis;
  }
  // (C2)
  size_t next = 0;
  for (int64_t axis = 0; axis < result.getRank(); ++axis) {
    if (llvm::is_contained(getAxes(), axis))
      continue;
    if (next == getRanges().size() ||
        cast<RangeType>(getRanges()[next++].getType()).getSize() !=
            result.getDimSize(axis))
      return emitOpError() << "new axis " << axis << " needs a range of "
                           << result.getDimSize(axis);
  }
  if (next != getRanges().size())
    return emitOpError() << getRanges().size() << " ranges for " << next
                         << " new axes";
  return success();
}

LogicalResult ReduceOp::verify() {
  // (C1)
  if (int64_t(getAxis()) < 0 ||
      int64_t(getAxis()) >= getInput().getType().getRank())
    return emitOpError() << "axis " << getAxis() << " of a tile of rank "
                         << getInput().getType().getRank();
  return success();
}

LogicalResult MmaOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  // (C1)
  SmallVector<int64_t> shape(lhs.getShape().drop_back());
  llvm::append_range(shape, rhs.getShape().drop_front());
  auto acc = dyn_cast<RankedTensorType>(getAcc().getType());
  ArrayRef<int64_t> have = acc ? acc.getShape() : ArrayRef<int64_t>();
  int64_t k = rhs.getShape().front(), kept = getMeta() ? k / 2 : k;
  if (lhs.getShape().back() != kept || (getMeta() && k % 2) ||
      have != ArrayRef(shape))
    return emitOpError() << "does not chain: " << lhs << " times " << rhs
                         << " into " << getAcc().getType();
  // (C2)
  if (lhs.getElementType() != rhs.getElementType())
    return emitOpError() << "multiplies " << lhs.getElementType() << " by "
                         << rhs.getElementType();
  // (C3)
  if (!getMeta() && !getLhsScale())
    return success();
  if (lhs.getRank() != 2 || rhs.getRank() != 2)
    return emitOpError() << "of vectors is neither sparse nor scaled";
  auto needs = [&](Value value, StringRef name, ArrayRef<int64_t> shape,
                   unsigned bits) -> LogicalResult {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getShape() == shape && type.getElementType().isInteger(bits))
      return success();
    return emitOpError() << name << " of this product is "
                         << RankedTensorType::get(
                                shape, IntegerType::get(getContext(), bits))
                         << ", not " << type;
  };
  int64_t m = lhs.getDimSize(0), n = rhs.getDimSize(1);
  if (getMeta() && getLhsScale())
    return emitOpError() << "is sparse or scaled, not both";
  if (getMeta())
    return k % 32 ? emitOpError() << "is sparse in steps of 32, not " << k
                  : needs(getMeta(), "sparse", {m, k / 32}, 32);
  if (!getRhsScale() || k % 32)
    return emitOpError() << "is scaled in steps of 32 on both sides, not " << k;
  if (failed(needs(getLhsScale(), "scaled, left", {m, k / 32}, 8)))
    return failure();
  return needs(getRhsScale(), "scaled, right", {k / 32, n}, 8);
}

// (C3)
static LogicalResult verifyMatrixStep(NestOp nest) {
  auto registers = nest->getAttrOfType<DenseI64ArrayAttr>("register_tile");
  auto unit = nest->getAttrOfType<StringAttr>("unit");
  // AMX has tiles of one size.
  bool tiled =
      registers && registers.size() == 3 &&
      llvm::all_of(registers.asArrayRef(), [](int64_t n) { return n >= 1; });
  if (nest.getAxes().size() != 3 || !unit ||
      (!tiled && unit.getValue() != "amx"))
    return nest.emitOpError()
           << "with a unit has three axes and a register_tile of three";
  auto steps = nest.getBody().getOps<MmaOp>();
  if (!llvm::hasSingleElement(steps))
    return nest.emitOpError() << "with a unit has one tile.mma";
  MmaOp mma = *steps.begin();
  auto load = mma.getRhs().getDefiningOp<LoadOp>();
  bool panels = mma.getRhs().getDefiningOp<LocalLoadOp>() ||
                (load && CpuPacking::of(load.getView()));
  if (!panels || !mma.getResult().hasOneUse() ||
      !isa<LocalStoreOp>(*mma.getResult().user_begin()))
    return nest.emitOpError() << "with a unit multiplies by a buffer and "
                                 "stores the product to a buffer";
  return success();
}

LogicalResult NestOp::verify() {
  // (C2)
  int64_t axis = getVectorAxis(), unroll = getUnroll(), lanes = getLanes();
  if (axis < -1 || axis >= int64_t(getAxes().size()))
    return emitOpError() << "has " << getAxes().size()
                         << " axes, but vector_axis = " << axis;
  if (unroll < 1)
    return emitOpError() << "unroll is positive, not " << unroll;
  if (lanes < 0 || (lanes & (lanes - 1)))
    return emitOpError() << "lanes is 0 or a power of two, not " << lanes;
  return (*this)->hasAttr("unit") ? verifyMatrixStep(*this) : success();
}

StringRef tessera::tile::planType(Type element) {
  if (element.isF64())
    return "f64";
  if (element.isF32())
    return "f32";
  if (element.isF16())
    return "f16";
  if (element.isBF16())
    return "bf16";
  if (isa<Float8E4M3FNType>(element))
    return "f8e4m3";
  if (isa<Float8E5M2Type>(element))
    return "f8e5m2";
  if (element.isInteger(64))
    return "i64";
  if (element.isInteger(32))
    return "i32";
  if (element.isInteger(16))
    return "i16";
  if (element.isInteger(8))
    return "i8";
  if (element.isInteger(1))
    return "bool";
  return "";
}
