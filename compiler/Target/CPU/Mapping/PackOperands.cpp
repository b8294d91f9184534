//===- PackOperands.cpp - Operands packed once for all programs -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the loads that feed matrix products, and for each view among them
//
//   @f_pack_b(%b, %packed)     copies the whole view into panels
//   @f_packed(..., %packed)    @f, reading the panels
//
// and a branch in the plan: where several programs would pack the same piece,
// it is packed once before, and once for all calls if it is a constant; else @f
// runs as it is. Left operands are read where they lie
// (ElidePacking.cpp), but for @f_packed_both: AMX has it for rows
// that are not contiguous or not whole lines of the cache, vectors for columns
// of 4 bytes, which are made rows.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Architectures/X86.h"
#include "compiler/Target/CPU/Mapping/LaunchSizes.h"
#include "compiler/Target/CPU/Mapping/PadRows.h"
#include "compiler/Target/CPU/Mapping/Passes.h"
#include "compiler/Tile/IR/CpuBuffer.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_PACKOPERANDSPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using namespace tessera::tile;
using plan::IntegerBuilder;

namespace {

/// A load of a whole matrix operand, as [.., deep, wide] (rhs) or [.., wide,
/// deep] (lhs): `deep` is the summed axis.
struct Operand {
  MmaOp mma;
  LoadOp load;
  bool isLhs = false;
  int64_t axes[2]; // of the view: that of the matrix' rows, of its columns
  CpuPacking packing;
  Type element; // as it is packed
  llvm::SmallSetVector<unsigned, 4>
      shared; // programs along these read the same

  unsigned argument() {
    return cast<BlockArgument>(load.getView()).getArgNumber();
  }
  bool samePanels(Operand &other) {
    return argument() == other.argument() && axes[0] == other.axes[0] &&
           axes[1] == other.axes[1] && packing == other.packing &&
           element == other.element;
  }
};

/// Axes of the grid that `index` depends on.
void collectProgramAxes(Value index, llvm::SmallSetVector<unsigned, 4> &axes,
                        unsigned depth = 0) {
  Operation *op = index.getDefiningOp();
  if (!op || depth > 16)
    return; // the range of a loop walks over everything
  if (isa<ProgramOp>(op)) {
    axes.insert(cast<OpResult>(index).getResultNumber());
    return;
  }
  for (Value operand : op->getOperands())
    collectProgramAxes(operand, axes, depth + 1);
}

/// Does the range always begin at a multiple of `unit`?
bool beginsAtMultiple(Value range, int64_t unit) {
  int64_t size = cast<RangeType>(range.getType()).getSize();
  if (range.getDefiningOp<ProgramOp>())
    return size % unit == 0;
  auto multiple = [&](Value start) {
    APInt number;
    if (matchPattern(start, m_ConstantInt(&number)))
      return number.getSExtValue() % unit == 0;
    if (auto product = start.getDefiningOp<arith::MulIOp>())
      for (Value factor : product->getOperands())
        if (matchPattern(factor, m_ConstantInt(&number)) &&
            number.getSExtValue() % unit == 0)
          return true;
    return false;
  };
  if (auto made = range.getDefiningOp<RangeAtOp>())
    return multiple(made.getStart());
  auto argument = dyn_cast<BlockArgument>(range);
  auto loop =
      argument ? dyn_cast<ForOp>(argument.getOwner()->getParentOp()) : ForOp();
  return loop && size % unit == 0 && multiple(loop.getStart());
}

class Packer {
public:
  Packer(FuncOp func, bool amx, int64_t vectorBytes)
      : func(func), amx(amx), vectorBytes(vectorBytes),
        onlyConstant(func.getAsIs()) {}

  /// Finds what to pack; false if there is nothing.
  bool find();
  bool collectPanels();
  void build();
  /// Lets the plan choose between the variants instead of a launch of the
  /// function. `lefts`: tensors read as left operands.
  void rewrite(plan::LaunchOp launch, SetVector<Value> &lefts);

private:
  std::optional<Operand> operandOf(MmaOp mma, bool isLhs);
  FuncOp buildPacking(Operand &operand, StringRef symbol);
  FuncOp buildVariant(StringRef suffix, ArrayRef<unsigned> taken);
  void rewriteOperand(IRMapping &map, Operand &operand, Value from);
  Value isShared(ArrayRef<unsigned> taken, plan::LaunchOp launch,
                 IntegerBuilder &make);
  static bool hasContiguousRows(Operand &operand);
  static bool hasContiguousColumns(Operand &operand);
  Value isFar(Operand &operand, plan::LaunchOp launch, IntegerBuilder &make);
  Value isAwkward(Operand &operand, plan::LaunchOp launch,
                  IntegerBuilder &make);
  Value pack(unsigned number, plan::LaunchOp launch, OpBuilder &builder);
  static int64_t tileAlong(Operand &operand, int64_t axis, MemRefType view);
  std::string nameOf(Operand &operand);
  SmallVector<int64_t> leading(Operand &operand);

  FuncOp func, packed, packedBoth;
  bool amx;
  int64_t vectorBytes;
  bool onlyConstant; // packs nothing but constants
  ProgramOp program;
  SmallVector<Operand> operands;
  SmallVector<unsigned> panels;            // operand -> number of its panels
  SmallVector<Operand> made;               // one per packed argument
  SmallVector<unsigned> right, left, both; // numbers of `made`
  SmallVector<FuncOp> copies;
  unsigned firstNew = 0;
};

std::optional<Operand> Packer::operandOf(MmaOp mma, bool isLhs) {
  Value tile = isLhs ? mma.getLhs() : mma.getRhs();
  bool turned = false;
  if (auto transpose = tile.getDefiningOp<TransposeOp>()) {
    turned = transpose.getPermutation()[0] == 1;
    tile = transpose.getInput();
  }
  auto load = tile.getDefiningOp<LoadOp>();
  if (!load || load.getMask() || load.getIndexAxes())
    return std::nullopt;
  auto view = dyn_cast<BlockArgument>(load.getView());
  if (!view || view.getOwner() != &func.getBody().front())
    return std::nullopt;
  if (func.getArgMode(view.getArgNumber()) != "in")
    return std::nullopt;

  Operand operand{mma, load, isLhs, {-1, -1}, {}, {}, {}};
  llvm::SmallSetVector<unsigned, 4> used;
  SmallVector<Value> ranges;
  for (auto [axis, index] : llvm::enumerate(load.getIndices())) {
    if (isa<RankedTensorType>(index.getType()))
      return std::nullopt;
    collectProgramAxes(index, used);
    if (!isa<RangeType>(index.getType()))
      continue;
    if (ranges.size() == 2)
      return std::nullopt;
    operand.axes[ranges.size()] = axis;
    ranges.push_back(index);
  }
  if (ranges.size() != 2 || used.size() == program.getIds().size())
    return std::nullopt; // no program reads what another has read
  if (turned) {
    std::swap(ranges[0], ranges[1]);
    std::swap(operand.axes[0], operand.axes[1]);
  }
  auto lhs = mma.getLhs().getType(), rhs = mma.getRhs().getType();
  auto acc = cast<RankedTensorType>(mma.getAcc().getType());
  Type element = lhs.getElementType(), accumulate = acc.getElementType();
  if (lhs.getRank() != 2 || rhs.getRank() != 2 ||
      rhs.getElementType() != element)
    return std::nullopt;
  bool tiles = amx && isAmxProduct(element, accumulate);
  if (tiles)
    operand.packing =
        isLhs ? CpuPacking::amxLhs(element) : CpuPacking::amxRhs(element);
  else
    operand.packing =
        CpuPacking::panels(registerTileFor(lhs.getDimSize(0), rhs.getDimSize(1),
                                           accumulate, vectorBytes)
                               .nr());
  // Rows of A are read where they lie; columns are made rows.
  if (isLhs && !tiles) {
    if (element != accumulate || scratchBytesOf(element) != 4 ||
        !hasContiguousColumns(operand))
      return std::nullopt;
    operand.packing = CpuPacking::plain();
  }
  operand.element = tiles ? element : accumulate;
  if (element != operand.element && !isa<FloatType>(element) &&
      !element.isInteger(8))
    return std::nullopt;
  Value deep = ranges[isLhs ? 1 : 0], wide = ranges[isLhs ? 0 : 1];
  if (!beginsAtMultiple(deep, operand.packing.step) ||
      !beginsAtMultiple(wide, operand.packing.wideStep))
    return std::nullopt;
  for (unsigned axis = 0; axis < program.getIds().size(); ++axis)
    if (!used.contains(axis))
      operand.shared.insert(axis);
  return operand;
}

bool Packer::find() {
  auto programs = func.getBody().front().getOps<ProgramOp>();
  if (programs.empty())
    return false;
  program = *programs.begin();
  SmallVector<MmaOp> products;
  func.walk([&](MmaOp mma) {
    if (mma.getLhs().getType().getRank() == 2 &&
        mma.getRhs().getType().getRank() == 2)
      products.push_back(mma);
  });
  for (MmaOp mma : products)
    if (std::optional<Operand> rhs = operandOf(mma, false))
      operands.push_back(*rhs);
  if (operands.empty())
    return false;
  // Vectors read few rows' operands where they lie as fast.
  if (onlyConstant)
    return llvm::all_of(
               operands,
               [](Operand &operand) { return operand.packing.group > 1; }) &&
           collectPanels();
  for (MmaOp mma : products)
    if (std::optional<Operand> lhs = operandOf(mma, true))
      operands.push_back(*lhs);
  return collectPanels();
}

bool Packer::collectPanels() {
  for (Operand &operand : operands) {
    auto *known = llvm::find_if(
        made, [&](Operand &other) { return operand.samePanels(other); });
    panels.push_back(known - made.begin());
    if (known == made.end())
      made.push_back(operand);
  }
  return true;
}

std::string Packer::nameOf(Operand &operand) {
  StringRef name = func.getArgName(operand.argument());
  return name.empty() ? "arg" + std::to_string(operand.argument()) : name.str();
}

SmallVector<int64_t> Packer::leading(Operand &operand) {
  SmallVector<int64_t> axes;
  for (size_t axis = 0; axis < operand.load.getIndices().size(); ++axis)
    if (int64_t(axis) != operand.axes[0] && int64_t(axis) != operand.axes[1])
      axes.push_back(axis);
  return axes;
}

static Value widened(OpBuilder &builder, Location loc, Value tile,
                     Type element) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getElementType() == element)
    return tile;
  if (isa<FloatType>(element))
    return arith::ExtFOp::create(builder, loc, type.clone(element), tile);
  return arith::ExtSIOp::create(builder, loc, type.clone(element), tile);
}

/// Tiles of a copy are long where the view is contiguous, so that whole lines
/// stream in, and a few steps of the product in the other direction.
int64_t Packer::tileAlong(Operand &operand, int64_t axis, MemRefType view) {
  SmallVector<int64_t> strides;
  int64_t offset;
  bool contiguous = succeeded(view.getStridesAndOffset(strides, offset)) &&
                    strides[axis] == 1;
  bool deep = axis == operand.axes[operand.isLhs ? 1 : 0];
  int64_t unit = deep ? operand.packing.step : operand.packing.wideStep;
  int64_t size = std::max<int64_t>(contiguous ? 512 : 64, unit);
  return llvm::alignTo(size, unit);
}

/// %packed[.., i, j] = %view[.., i, .., j]: one program per tile.
FuncOp Packer::buildPacking(Operand &operand, StringRef symbol) {
  OpBuilder builder(func);
  Location loc = operand.load.getLoc();
  auto view = cast<MemRefType>(operand.load.getView().getType());
  SmallVector<int64_t> from = leading(operand), shape;
  from.append({operand.axes[0], operand.axes[1]});
  for (int64_t axis : from)
    shape.push_back(view.getDimSize(axis));
  SmallVector<int64_t> strides(shape.size(), ShapedType::kDynamic);
  strides.back() = 1;
  auto target =
      MemRefType::get(shape, operand.element,
                      StridedLayoutAttr::get(builder.getContext(), 0, strides));
  FuncOp copy = FuncOp::create(builder, loc, symbol,
                               builder.getFunctionType({view, target}, {}));
  copy.setNumericsAttr(
      NumericsAttr::get(builder.getContext(), NumericsKind::Copy, 0, 1));
  std::string name = nameOf(operand);
  copy.setArgAttr(0, "gir.name", builder.getStringAttr(name));
  copy.setArgAttr(0, "gir.mode", builder.getStringAttr("in"));
  copy.setArgAttr(1, "gir.name", builder.getStringAttr(name + "_packed"));
  copy.setArgAttr(1, "gir.mode", builder.getStringAttr("out"));
  if (!operand.packing.isPlain())
    copy.setArgAttr(1, "tile.packed", operand.packing.attribute(builder));

  Block &body = copy.getBody().emplaceBlock();
  Value source = body.addArgument(view, loc);
  Value panels = body.addArgument(target, loc);
  builder.setInsertionPointToStart(&body);
  SmallVector<Value> extents;
  SmallVector<int64_t> tiles;
  SmallVector<Type> types;
  for (auto [i, axis] : llvm::enumerate(from)) {
    extents.push_back(DimOp::create(builder, loc, source, axis));
    int64_t size = 0;
    if (i + 2 >= from.size())
      size = tileAlong(operand, axis, view);
    tiles.push_back(size);
    types.push_back(size ? RangeType::get(builder.getContext(), size)
                         : Type(builder.getIndexType()));
  }
  auto place = ProgramOp::create(builder, loc, types, extents,
                                 builder.getDenseI64ArrayAttr(tiles),
                                 builder.getI64IntegerAttr(1), UnitAttr());
  SmallVector<Value> indices(from.size());
  for (auto [i, axis] : llvm::enumerate(from))
    indices[axis] = place.getIds()[i];
  SmallVector<int64_t> sizes(tiles.end() - 2, tiles.end());
  bool turned = operand.axes[0] > operand.axes[1];
  if (turned)
    std::swap(sizes[0], sizes[1]);
  auto loaded = RankedTensorType::get(sizes, view.getElementType());
  Value tile = LoadOp::create(builder, loc, loaded, source, indices, Value(),
                              ArrayAttr(), TypedAttr(), DictionaryAttr());
  if (operand.axes[0] > operand.axes[1]) {
    auto type = cast<RankedTensorType>(tile.getType());
    tile = TransposeOp::create(
        builder, loc,
        RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)},
                              type.getElementType()),
        tile, ArrayRef<int64_t>{1, 0});
  }
  tile = widened(builder, loc, tile, operand.element);
  auto store = StoreOp::create(builder, loc, tile, panels, place.getIds(),
                               Value(), ArrayAttr(), DictionaryAttr());
  if (operand.packing.group > 1)
    store.setZeroPadding(operand.isLhs ? 1 : 0);
  ReturnOp::create(builder, loc);
  return copy;
}

void Packer::build() {
  OpBuilder builder(func);
  for (auto [i, operand] : llvm::enumerate(made)) {
    std::string name = (func.getName() + "_pack_" + nameOf(operand)).str();
    // The same view may be packed in several ways, and views of one name.
    if (SymbolTable::lookupNearestSymbolFrom(
            func, StringAttr::get(func.getContext(), name)))
      name += "_" + std::to_string(i);
    copies.push_back(buildPacking(operand, name));
  }
  for (auto [i, operand] : llvm::enumerate(made))
    (operand.isLhs ? left : right).push_back(i);
  both = llvm::to_vector(llvm::seq<unsigned>(0, made.size()));
  // Views stand before scalars.
  while (firstNew < func.getNumArguments() &&
         isa<MemRefType>(func.getArgumentTypes()[firstNew]))
    ++firstNew;
  packed = buildVariant("_packed", right);
  if (!left.empty())
    packedBoth = buildVariant("_packed_both", both);
}

/// The function, with operands `taken` read from panels.
FuncOp Packer::buildVariant(StringRef suffix, ArrayRef<unsigned> taken) {
  OpBuilder builder(func);
  IRMapping map;
  auto variant = cast<FuncOp>(builder.clone(*func, map));
  variant.setName((func.getName() + suffix).str());
  DenseMap<unsigned, Value> arguments;
  for (auto [i, number] : llvm::enumerate(taken)) {
    FuncOp copy = copies[number];
    (void)variant.insertArgument(firstNew + i, copy.getArgumentTypes()[1],
                                 copy.getArgAttrDict(1),
                                 made[number].load.getLoc());
    variant.setArgAttr(firstNew + i, "gir.mode", builder.getStringAttr("in"));
    arguments[number] = variant.getBody().getArgument(firstNew + i);
  }
  for (auto [operand, number] : llvm::zip(operands, panels))
    if (Value from = arguments.lookup(number))
      rewriteOperand(map, operand, from);
  return variant;
}

void Packer::rewriteOperand(IRMapping &map, Operand &operand, Value from) {
  auto mma = cast<MmaOp>(map.lookup(operand.mma.getOperation()));
  auto load = cast<LoadOp>(map.lookup(operand.load.getOperation()));
  OpBuilder builder(load->getContext());
  builder.setInsertionPointAfter(load);
  SmallVector<Value> indices;
  for (int64_t axis : leading(operand))
    indices.push_back(load.getIndices()[axis]);
  indices.push_back(load.getIndices()[operand.axes[0]]);
  indices.push_back(load.getIndices()[operand.axes[1]]);
  Value old = operand.isLhs ? mma.getLhs() : mma.getRhs();
  auto type = cast<RankedTensorType>(old.getType()).clone(operand.element);
  Value read =
      LoadOp::create(builder, load.getLoc(), type, from, indices, Value(),
                     ArrayAttr(), TypedAttr(), DictionaryAttr());
  builder.setInsertionPoint(mma);
  MutableOperandRange side =
      operand.isLhs ? mma.getLhsMutable() : mma.getRhsMutable();
  side.assign(read);
  if (!operand.isLhs &&
      mma.getLhs().getType().getElementType() != operand.element)
    mma.getLhsMutable().assign(
        widened(builder, mma.getLoc(), mma.getLhs(), operand.element));
  if (auto transpose = old.getDefiningOp<TransposeOp>())
    if (transpose->use_empty())
      transpose.erase();
  if (load->use_empty())
    load.erase();
}

/// More than one program reads each piece that is packed; null if the plan
/// cannot know.
Value Packer::isShared(ArrayRef<unsigned> taken, plan::LaunchOp launch,
                       IntegerBuilder &make) {
  SmallVector<Value> all;
  SmallVector<ArrayRef<unsigned>> done;
  for (unsigned number : taken) {
    ArrayRef<unsigned> axes = made[number].shared.getArrayRef();
    if (llvm::is_contained(done, axes))
      continue;
    done.push_back(axes);
    SmallVector<Value> any;
    for (unsigned axis : axes) {
      Value size = extentOf(launch, func, program.getExtents()[axis], make);
      if (!size)
        return {};
      any.push_back(
          make.gt(size, std::max<int64_t>(program.getTiles()[axis], 1)));
    }
    if (any.empty())
      return {};
    all.push_back(make.any(any));
  }
  return make.all(all);
}

static bool isContiguousAlong(Operand &operand, int64_t axis) {
  auto view = cast<MemRefType>(operand.load.getView().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(view.getStridesAndOffset(strides, offset)) &&
         strides[axis] == 1;
}

/// Are the rows of the matrix, as the product takes it, contiguous?
bool Packer::hasContiguousRows(Operand &operand) {
  return operand.axes[0] < operand.axes[1] &&
         isContiguousAlong(operand, operand.axes[1]);
}

bool Packer::hasContiguousColumns(Operand &operand) {
  return isContiguousAlong(operand, operand.axes[0]) &&
         !isContiguousAlong(operand, operand.axes[1]);
}

/// A right operand is not read well where it lies: it is large, its rows fall
/// on the same lines of the first-level cache, or it has no whole panels
/// (ElidePacking.cpp). Null if it never is read well.
Value Packer::isFar(Operand &operand, plan::LaunchOp launch,
                    IntegerBuilder &make) {
  auto view = cast<MemRefType>(operand.load.getView().getType());
  if (!hasContiguousRows(operand) || operand.packing.group > 1 ||
      view.getElementType() != operand.element)
    return {};
  Value tensor = launch.getTensors()[operand.argument()];
  int64_t bytes = scratchBytesOf(operand.element);
  Value columns = make.size(tensor, operand.axes[1]);
  Value uneven = make.ne(make.mod(columns, operand.packing.width), 0);
  int64_t lanes = vectorBytes / bytes;
  if (operand.packing.width > 2 * lanes)
    uneven = make.all({uneven, make.gt(columns, 2 * lanes)});
  Value stride = make.stride(tensor, operand.axes[0]);
  Value large = make.gt(make.mul(make.size(tensor, operand.axes[0]), stride),
                        x86::nearOperand / bytes);
  return make.any({large,
                   make.eq(make.mod(stride, x86::aliasedStride / bytes), 0),
                   uneven});
}

/// Rows of a left operand are not whole lines of the cache, each of which AMX
/// would read twice, or fall on the same lines of the first-level cache; null
/// if they are not contiguous at all. Of vectors: columns are read often
/// enough.
Value Packer::isAwkward(Operand &operand, plan::LaunchOp launch,
                        IntegerBuilder &make) {
  if (!operand.packing.isPlain() && !hasContiguousRows(operand))
    return {};
  Value tensor = launch.getTensors()[operand.argument()];
  Value stride = make.stride(tensor, operand.axes[0]);
  int64_t halfPage = x86::aliasedStride / scratchBytesOf(operand.element);
  // Where they are read often enough to pay for the copy.
  Operand &rhs = made[right[0]];
  Value columns = make.size(launch.getTensors()[rhs.argument()], rhs.axes[1]);
  if (operand.packing.isPlain())
    return make.ge(columns, x86::packColumns);
  Value clash = make.all({make.ge(columns, x86::packAliasedColumns),
                          make.eq(make.mod(stride, halfPage), 0)});
  return make.any({make.ne(make.mod(make.address(tensor), 64), 0),
                   make.ne(make.mod(stride, operand.packing.step), 0), clash});
}

/// Allocates and fills the panels.
Value Packer::pack(unsigned number, plan::LaunchOp launch, OpBuilder &builder) {
  Operand &operand = made[number];
  Location loc = launch.getLoc();
  IntegerBuilder make(builder, loc);
  Value source = launch.getTensors()[operand.argument()];
  const CpuPacking &packing = operand.packing;
  int64_t rows = operand.isLhs ? packing.wideStep : packing.step;
  int64_t columns = operand.isLhs ? packing.step : packing.wideStep;
  SmallVector<Value> sizes, padded, strides;
  for (int64_t axis : leading(operand)) {
    sizes.push_back(make.size(source, axis));
    padded.push_back(sizes.back());
  }
  for (auto [axis, unit] : {std::pair(operand.axes[0], rows),
                            std::pair(operand.axes[1], columns)}) {
    sizes.push_back(make.size(source, axis));
    padded.push_back(make.roundUp(sizes.back(), unit));
  }
  std::string name = nameOf(operand) + "." + std::to_string(number);
  auto type = plan::PlanTensorType::get(launch.getContext(), operand.element,
                                        int64_t(sizes.size()));
  Value whole = plan::AllocOp::create(builder, loc, type, name + ".all", padded,
                                      operand.isLhs ? Value() : source);
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    strides.push_back(make.stride(whole, axis));
  Value panels = plan::ViewOp::create(builder, loc, type, name, whole,
                                      make.number(0), sizes, strides);
  FuncOp copy = copies[number];
  auto place = *copy.getBody().front().getOps<ProgramOp>().begin();
  SmallVector<Value> grid;
  for (auto [size, tile] : llvm::zip(sizes, place.getTiles()))
    grid.push_back(tile ? make.ceildiv(size, tile) : size);
  Value programs = make.product(grid);
  Value work = make.floordiv(make.product(sizes), 2);
  OpBuilder::InsertionGuard guard(builder);
  if (!operand.isLhs) {
    Value fresh =
        plan::FreshOp::create(builder, loc, builder.getI1Type(), whole);
    auto fill = scf::IfOp::create(builder, loc, fresh, /*withElse=*/false);
    builder.setInsertionPointToStart(fill.thenBlock());
  }
  plan::LaunchOp::create(builder, loc, copy.getName(),
                         ValueRange{source, panels}, ValueRange(), programs,
                         work, IntegerAttr());
  return panels;
}

void Packer::rewrite(plan::LaunchOp launch, SetVector<Value> &lefts) {
  OpBuilder builder(launch);
  Location loc = launch.getLoc();
  IntegerBuilder make(builder, loc);
  Value shared = isShared(right, launch, make);
  if (!shared)
    return;
  Value far = right.size() == 1 ? isFar(made[right[0]], launch, make) : Value();
  SmallVector<Value> constants;
  for (unsigned number : right)
    constants.push_back(plan::IsConstantOp::create(
        builder, loc, builder.getI1Type(),
        launch.getTensors()[made[number].argument()]));
  Value constant = make.all(constants);
  Value pays = onlyConstant ? constant
               : far        ? make.any({constant, make.all({shared, far})})
                            : make.any({constant, shared});
  auto choice = scf::IfOp::create(builder, loc, pays, /*withElseRegion=*/true);
  auto run = [&](FuncOp variant, ArrayRef<Value> panels) {
    auto copy = cast<plan::LaunchOp>(builder.clone(*launch));
    copy.setKernel(variant.getName());
    copy.getTensorsMutable().append(panels);
  };
  builder.setInsertionPointToStart(choice.thenBlock());
  SmallVector<Value> panels;
  for (unsigned number : right)
    panels.push_back(pack(number, launch, builder));
  Value sharedLeft =
      left.empty() || onlyConstant ? Value() : isShared(left, launch, make);
  if (!sharedLeft) {
    run(packed, panels);
  } else {
    Value awkward =
        left.size() == 1 ? isAwkward(made[left[0]], launch, make) : Value();
    if (awkward && !made[left[0]].packing.isPlain())
      lefts.insert(launch.getTensors()[made[left[0]].argument()]);
    auto both = scf::IfOp::create(
        builder, loc, awkward ? make.all({sharedLeft, awkward}) : sharedLeft,
        /*withElseRegion=*/true);
    builder.setInsertionPointToStart(both.thenBlock());
    SmallVector<Value> all = panels;
    for (unsigned number : left)
      all.push_back(pack(number, launch, builder));
    run(packedBoth, all);
    builder.setInsertionPointToStart(both.elseBlock());
    run(packed, panels);
  }
  launch->moveBefore(choice.elseBlock(), choice.elseBlock()->begin());
}

struct PackOperandsPass
    : tessera::cpu::impl::PackOperandsPassBase<PackOperandsPass> {
  using PackOperandsPassBase::PackOperandsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SetVector<Value> lefts;
    for (FuncOp func : llvm::to_vector(module.getOps<FuncOp>())) {
      if (func.getDecision("pack")) // the schedule says never
        continue;
      Packer packer(func, amx, vectorBytes);
      if (!packer.find())
        continue;
      packer.build();
      plan::forEachLaunch(module, func.getName(), [&](plan::LaunchOp launch) {
        packer.rewrite(launch, lefts);
      });
    }
    for (Value tensor : lefts)
      padRows(tensor);
  }
};

} // namespace
