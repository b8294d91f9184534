//===- TileAttributes.cpp - Tile IR: marks that passes leave --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes leave marks on ops for later passes: where a buffer lies, which
// instruction a product uses. They stand in the text of a stage, so anybody may
// have edited them; this table says what each may be.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Architectures/Nvidia.h"
#include "compiler/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace {

enum class MarkKind { Unit, Number, Numbers, Text, Config };

struct Mark {
  StringLiteral name;
  MarkKind kind;
  int64_t least = 0, most = 0;
  StringLiteral what;
};

/// Bytes of memory: no block or thread has more.
constexpr int64_t maxBytes = int64_t(1) << 32;
constexpr int64_t maxShared = 1 << 20;

constexpr Mark marks[] = {
    // Of kernels.
    {"tile.arch", MarkKind::Text, 0, 0, "an architecture"},
    {"tile.as_is", MarkKind::Unit, 0, 0, "a flag"},
    {"tile.block", MarkKind::Number, 32, 1024, "threads of a block"},
    {"tile.config", MarkKind::Config, 0, 1 << 16, "decisions"},
    {"tile.numerics", MarkKind::Text, 0, 0, "a numerics class"},
    {"tile.order", MarkKind::Numbers, 0, 1 << 16, "positions"},
    {"tile.proved", MarkKind::Number, 0, 1 << 30, "states of the proof"},
    {"tile.rest", MarkKind::Unit, 0, 0, "a flag"},
    {"tile.scratch", MarkKind::Number, 0, maxBytes, "bytes"},
    // Of a variant that no machine can launch, too.
    {"tile.shared", MarkKind::Number, 0, int64_t(1) << 30, "bytes"},
    {"tile.twice", MarkKind::Unit, 0, 0, "a flag"},
    // Of other ops.
    {"conflicts", MarkKind::Number, -1, 1 << 20, "passes over the banks"},
    {"instruction", MarkKind::Text, 0, 0, "an instruction"},
    {"keep_rest", MarkKind::Unit, 0, 0, "a flag"},
    {"near", MarkKind::Unit, 0, 0, "a flag"},
    {"offset", MarkKind::Number, 0, maxBytes, "bytes"},
    {"part", MarkKind::Text, 0, 0, "a part of a line"},
    {"register_tile", MarkKind::Numbers, 1, 1024, "a register tile"},
    {"scratch", MarkKind::Number, 0, maxShared, "bytes"},
    {"scratch_bytes", MarkKind::Number, 1, maxShared, "bytes"},
    {"start_axis", MarkKind::Number, 0, maxRank - 1, "an axis"},
    {"unguarded", MarkKind::Unit, 0, 0, "a flag"},
    {"unit", MarkKind::Text, 0, 0, "a unit of the processor"},
    {"way", MarkKind::Text, 0, 0, "a way through memory"},
    {"zero_padding", MarkKind::Number, 0, maxRank - 1, "an axis"},
};

bool isWithin(Attribute value, const Mark &mark) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getType().isSignlessInteger(64) &&
         number.getInt() >= mark.least && number.getInt() <= mark.most;
}

bool fits(Attribute value, const Mark &mark) {
  switch (mark.kind) {
  case MarkKind::Unit:
    return isa<UnitAttr>(value);
  case MarkKind::Number:
    return isWithin(value, mark);
  case MarkKind::Numbers: {
    auto numbers = dyn_cast<DenseI64ArrayAttr>(value);
    return numbers && llvm::all_of(numbers.asArrayRef(), [&](int64_t number) {
             return number >= mark.least && number <= mark.most;
           });
  }
  case MarkKind::Text:
    return isa<StringAttr>(value);
  case MarkKind::Config: {
    auto entries = dyn_cast<DictionaryAttr>(value);
    return entries && llvm::all_of(entries, [&](NamedAttribute entry) {
             return isWithin(entry.getValue(), mark);
           });
  }
  }
  llvm_unreachable("a kind of mark");
}

LogicalResult verifyMark(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  const Mark *mark =
      llvm::find_if(marks, [&](const Mark &m) { return m.name == name; });
  if (mark == std::end(marks))
    return success();
  Attribute value = attribute.getValue();
  if (!fits(value, *mark)) {
    InFlightDiagnostic error = op->emitOpError();
    error << name << " is " << mark->what;
    if (mark->kind == MarkKind::Number || mark->kind == MarkKind::Numbers ||
        mark->kind == MarkKind::Config)
      error << ", " << mark->least << " to " << mark->most;
    return error << ", not " << value;
  }
  if (name == "tile.arch" &&
      !nvidia::parseArch(cast<StringAttr>(value).getValue()))
    return op->emitOpError() << "no architecture is called " << value;
  if (name == "tile.block" && cast<IntegerAttr>(value).getInt() % 32)
    return op->emitOpError() << "a block has whole warps of 32 threads, not "
                             << cast<IntegerAttr>(value).getInt();
  return success();
}

} // namespace

LogicalResult TileDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  return verifyMark(op, attribute);
}

LogicalResult tessera::tile::verifyMarks(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (failed(verifyMark(op, attribute)))
      return failure();
  return success();
}

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
  if (isa<RangeType, BufferType, TokenType>(type))
    return op->emitError() << "'" << op->getName() << "' gives no " << type;
  return op->emitError() << "a kernel computes with numbers and tiles, not "
                         << type;
}

static LogicalResult verifyInKernel(Operation *op) {
  if (failed(verifyMarks(op)))
    return failure();
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
                (isa<TokenType>(type) && isa<CpAsyncOp>(op)))))
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
  // Where in the grid this is.
  SmallVector<ProgramOp> programs;
  func.walk([&](ProgramOp program) { programs.push_back(program); });
  if (programs.size() > 1)
    return programs[1].emitError() << "a kernel has one tile.program";
  if (!programs.empty() && programs[0]->getParentOp() != func)
    return programs[0].emitError() << "tile.program stands at a kernel's top";
  return success();
}
