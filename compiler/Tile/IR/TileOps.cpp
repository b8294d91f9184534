//===- TileOps.cpp - Tile IR: verifiers, effects, text --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/IR/CpuBuffer.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

bool tessera::tile::isOfPlan(Operation *op) {
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return op->getResult(0).getType().isInteger(1);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compare.getPredicate() <= arith::CmpIPredicate::sge;
  return isa<arith::ConstantOp, arith::IndexCastOp, arith::IndexCastUIOp,
             arith::ExtSIOp, arith::ExtUIOp, arith::AddIOp, arith::SubIOp,
             arith::MulIOp, arith::FloorDivSIOp, arith::DivUIOp,
             arith::CeilDivSIOp, arith::CeilDivUIOp, arith::RemUIOp,
             arith::MinSIOp, arith::MinUIOp, arith::MaxSIOp, arith::MaxUIOp,
             arith::SelectOp>(op);
}

bool tessera::tile::isMadeOfSizes(Value root) {
  SmallVector<Value> worklist = {root};
  llvm::SmallPtrSet<void *, 16> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!value.getType().isIntOrIndex())
      return false;
    Operation *op = value.getDefiningOp();
    if (!seen.insert(value.getAsOpaquePointer()).second ||
        isa_and_present<DimOp>(op))
      continue;
    if (op ? !isOfPlan(op)
           : !isa<FunctionOpInterface>(value.getParentBlock()->getParentOp()))
      return false;
    if (op)
      llvm::append_range(worklist, op->getOperands());
  }
  return true;
}

LogicalResult AssertOp::verify() {
  // (C1)
  if (getAtCall() && !isMadeOfSizes(getCondition()))
    return emitOpError() << "what is checked at the call is computed from "
                            "sizes and integer arguments alone";
  return success();
}

// An issuer is a word: `issuer = warp_group`.
static ParseResult parseIssuer(OpAsmParser &parser, IssuerAttr &issuer) {
  SMLoc where = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<Issuer> found = symbolizeIssuer(word);
  if (!found)
    return parser.emitError(where)
           << "there are thread, warp, warp_group and block_pair, not '" << word
           << "'";
  issuer = IssuerAttr::get(parser.getContext(), *found);
  return success();
}
static void printIssuer(OpAsmPrinter &printer, Operation *, IssuerAttr issuer) {
  printer << stringifyIssuer(issuer.getValue());
}

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

LogicalResult FuncOp::verify() {
  // (C1)
  if (!llvm::hasSingleElement(getBody()) || !getResultTypes().empty())
    return emitOpError() << "is one block without results";
  Block &body = getBody().front();
  if (body.empty() || !isa<ReturnOp>(body.back()))
    return emitOpError() << "ends with tile.return";
  // (C2)
  for (auto [number, type] : llvm::enumerate(getArgumentTypes())) {
    Attribute given = getArgAttr(number, "tile.packed");
    if (!given)
      continue;
    auto view = dyn_cast<MemRefType>(type);
    auto packed = dyn_cast<DictionaryAttr>(given);
    bool good = view && view.getRank() >= 2 && packed && packed.size() == 5;
    for (StringRef name : {"deep_last", "group", "step", "wide_step", "width"})
      if (good) {
        auto value = packed.getAs<IntegerAttr>(name);
        int64_t least = name == "deep_last" ? 0 : 1;
        good = value && value.getType().isInteger(64) &&
               value.getInt() >= least && value.getInt() <= 1024;
      }
    if (!good)
      return emitOpError() << "argument " << number
                           << ": tile.packed has deep_last, group, step, "
                              "wide_step and width of a matrix, 1 to 1024";
  }
  // (C3)
  if (getBlockSize().value_or(0) % 8)
    return emitOpError() << "a block has whole warps, of 8 threads at least, "
                            "not "
                         << *getBlockSize();
  return success();
}

std::optional<int64_t> FuncOp::getDecision(StringRef name) {
  auto given = getConfig() ? getConfig()->getAs<IntegerAttr>(name) : nullptr;
  return given ? std::optional(given.getInt()) : std::nullopt;
}

StringRef FuncOp::getArgMode(unsigned number) {
  auto mode = getArgAttrOfType<StringAttr>(number, "gir.mode");
  return mode ? mode.getValue() : StringRef();
}

StringRef FuncOp::getArgName(unsigned number) {
  auto name = getArgAttrOfType<StringAttr>(number, "gir.name");
  return name ? name.getValue() : StringRef();
}

//===----------------------------------------------------------------------===//
// Grid and ranges
//===----------------------------------------------------------------------===//

/// More programs of one axis in a group, or copies under way, are a mistake.
static constexpr int64_t maxGroup = 1 << 16;

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
  // (C3)
  if (int64_t(getGroup()) < 1 || int64_t(getGroup()) > maxGroup)
    return emitOpError() << "group is 1 to " << maxGroup << ", not "
                         << int64_t(getGroup());
  return success(); // (C4): verifyKernel
}

LogicalResult ChunkOp::verify() {
  // (C1)
  if (getTiles().size() != getExtents().size())
    return emitOpError() << "has " << getExtents().size() << " extents and "
                         << getTiles().size() << " tiles";
  return success(); // (C2): verifyKernel
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
  // (C2) An attribute of another kind is no number at all.
  if (!getStagesAttr())
    return emitOpError() << "stages is 0 to " << maxStages;
  if (int64_t(getStages()) < 0 || int64_t(getStages()) > maxStages)
    return emitOpError() << "stages is 0 to " << maxStages << ", not "
                         << int64_t(getStages());
  // (C3)
  if (getAtLeastOnce() && llvm::none_of(body.getOps<NestOp>(), [](NestOp nest) {
        return nest.getUnit().has_value();
      }))
    return emitOpError() << "without a matrix step runs at_least_once";
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

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// More vectors per turn, lanes of a vector, or rows and columns of a register
/// tile than any machine has.
static constexpr int64_t maxUnroll = 64, maxLanes = 4096, maxRegisterTile = 64,
                         maxRegisters = 256;

// (C3)
static LogicalResult verifyMatrixStep(NestOp nest) {
  std::optional<ArrayRef<int64_t>> registers = nest.getRegisterTile();
  // AMX has tiles of one size.
  bool tiled =
      registers && registers->size() == 3 &&
      llvm::all_of(*registers,
                   [](int64_t n) { return n >= 1 && n <= maxRegisterTile; }) &&
      (*registers)[0] * (*registers)[1] <= maxRegisters;
  if (nest.getAxes().size() != 3 ||
      (!tiled && nest.getUnit() != MatrixUnit::Amx))
    return nest.emitOpError()
           << "with a unit has three axes and a register_tile of three";
  auto steps = nest.getBody().getOps<MmaOp>();
  if (!llvm::hasSingleElement(steps))
    return nest.emitOpError() << "with a unit has one tile.mma";
  int64_t kept = 0, stored = 0;
  for (Operation *user : (*steps.begin()).getResult().getUsers()) {
    kept += isa<LocalStoreOp>(user);
    stored += isa<StoreOp>(user);
    if (!isa<LocalStoreOp, StoreOp>(user))
      kept = 2;
  }
  if (kept != 1 || stored > 1)
    return nest.emitOpError() << "with a unit stores the product to one buffer "
                                 "and at most one view";
  return success();
}

LogicalResult NestOp::verify() {
  // (C2)
  int64_t axis = getVectorAxis(), unroll = getUnroll(), lanes = getLanes();
  if (axis < -1 || axis >= int64_t(getAxes().size()))
    return emitOpError() << "has " << getAxes().size()
                         << " axes, but vector_axis = " << axis;
  if (unroll < 1 || unroll > maxUnroll)
    return emitOpError() << "unroll is 1 to " << maxUnroll << ", not "
                         << unroll;
  if (lanes < 0 || lanes > maxLanes || (lanes & (lanes - 1)))
    return emitOpError() << "lanes is 0 or a power of two up to " << maxLanes
                         << ", not " << lanes;
  // (C4)
  if (getTransposes() && (getAxes().size() != 2 || axis < 0 || getTwoApart()))
    return emitOpError() << "with transposes has two axes and a vector_axis, "
                            "and nothing two apart";
  if (getTwoApart() && axis < 0)
    return emitOpError() << "with two_apart has a vector_axis";
  bool fma = getUnit() == MatrixUnit::Fma;
  if (getNarrowVectors() > 2 || (!fma && (getNarrowVectors() || getPairsOfK())))
    return emitOpError() << "with unit fma has narrow_vectors of 0 to 2, or "
                            "pairs_of_k; another has neither";
  return getUnit() ? verifyMatrixStep(*this) : success();
}
