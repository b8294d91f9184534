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
// (Target/CPU/MatrixShortcuts.cpp), but for @f_packed_both: AMX has it for rows
// that are not contiguous or not whole lines of the cache, vectors for columns
// of 4 bytes, which are made rows.
//
//===----------------------------------------------------------------------===//

#include "compiler/Tile/IR/CpuBuffer.h"
#include "compiler/Tile/Transforms/PadRows.h"
#include "compiler/Tile/Transforms/Passes.h"
#include "compiler/Tile/Transforms/PlanLaunch.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace tessera::tile {
#define GEN_PASS_DEF_PACKOPERANDSPASS
#include "compiler/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

using namespace mlir;
using namespace tessera::tile;

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
        onlyConstant(func->hasAttr("tile.as_is")) {}

  /// Finds what to pack; false if there is nothing.
  bool find();
  bool collectPanels();
  void build();
  /// The plan's lines instead of a launch of the function.
  /// `leftNames`: tensors read as left operands.
  void rewrite(const PlanLaunch &launch, StringRef line,
               SmallVectorImpl<std::string> &lines,
               llvm::StringSet<> &leftNames);

private:
  std::optional<Operand> operandOf(MmaOp mma, bool isLhs);
  FuncOp buildPacking(Operand &operand, StringRef symbol);
  FuncOp buildVariant(StringRef suffix, ArrayRef<unsigned> taken);
  void rewriteOperand(IRMapping &map, Operand &operand, Value from);
  std::string sharedText(ArrayRef<unsigned> taken, const PlanLaunch &launch);
  static bool hasContiguousRows(Operand &operand);
  static bool hasContiguousColumns(Operand &operand);
  std::string farText(Operand &operand, const PlanLaunch &launch);
  std::string awkwardText(Operand &operand, const PlanLaunch &launch);
  std::string packingLines(unsigned number, const PlanLaunch &launch,
                           StringRef indent,
                           SmallVectorImpl<std::string> &lines);
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
  auto mode =
      func.getArgAttrOfType<StringAttr>(view.getArgNumber(), "gir.mode");
  if (!mode || mode.getValue() != "in")
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
  auto name = func.getArgAttrOfType<StringAttr>(operand.argument(), "gir.name");
  std::string text =
      name ? name.getValue().str() : "arg" + std::to_string(operand.argument());
  return text;
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
                               builder.getFunctionType({view, target}, {}),
                               nullptr, nullptr);
  copy->setAttr("tile.numerics", builder.getStringAttr("copy"));
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
    store->setAttr("zero_padding",
                   builder.getI64IntegerAttr(operand.isLhs ? 1 : 0));
  ReturnOp::create(builder, loc);
  return copy;
}

void Packer::build() {
  OpBuilder builder(func);
  for (auto [i, operand] : llvm::enumerate(made)) {
    std::string name = (func.getName() + "_pack_" + nameOf(operand)).str();
    // The same view may be packed in several ways.
    if (llvm::any_of(ArrayRef(made).take_front(i), [&](Operand other) {
          return other.argument() == operand.argument();
        }))
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

/// More than one program reads each piece that is packed; nothing if the plan
/// cannot know.
std::string Packer::sharedText(ArrayRef<unsigned> taken,
                               const PlanLaunch &launch) {
  SmallVector<std::string> texts;
  for (unsigned number : taken) {
    std::string any;
    for (unsigned axis : made[number].shared) {
      std::string size = launch.extent(func, program.getExtents()[axis]);
      if (size.empty())
        return "";
      any += (any.empty() ? "" : " or ") + size + " > " +
             std::to_string(std::max<int64_t>(program.getTiles()[axis], 1));
    }
    if (!llvm::is_contained(texts, any))
      texts.push_back(any);
  }
  if (texts.size() == 1)
    return texts[0];
  return "(" + llvm::join(texts, ") and (") + ")";
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

/// " and" that a right operand is not read well where it lies: it is large, its
/// rows fall on the same lines of the first-level cache, or it has no whole
/// panels (MatrixShortcuts.cpp). Nothing if it never is.
std::string Packer::farText(Operand &operand, const PlanLaunch &launch) {
  auto view = cast<MemRefType>(operand.load.getView().getType());
  if (!hasContiguousRows(operand) || operand.packing.group > 1 ||
      view.getElementType() != operand.element)
    return "";
  StringRef name = launch.views[operand.argument()];
  auto of = [&](StringRef what, int64_t axis) {
    return (what + "(" + name + ", " + Twine(axis) + ")").str();
  };
  std::string columns = of("size", operand.axes[1]);
  std::string uneven =
      columns + " mod " + std::to_string(operand.packing.width) + " != 0";
  int64_t lanes = vectorBytes / scratchBytesOf(operand.element);
  if (operand.packing.width > 2 * lanes)
    uneven += " and " + columns + " > " + std::to_string(2 * lanes);
  return " and (" + of("size", operand.axes[0]) + " * " +
         of("stride", operand.axes[0]) + " > " +
         std::to_string(nearOperandBytes / scratchBytesOf(operand.element)) +
         " or " + of("stride", operand.axes[0]) + " mod " +
         std::to_string(halfPageBytes / scratchBytesOf(operand.element)) +
         " == 0 or " + uneven + ")";
}

/// " and" that rows of a left operand are not whole lines of the cache, each of
/// which AMX would read twice, or fall on the same lines of the first-level
/// cache; nothing if they are not contiguous at all. Of vectors, that columns
/// are read often enough.
std::string Packer::awkwardText(Operand &operand, const PlanLaunch &launch) {
  if (!operand.packing.isPlain() && !hasContiguousRows(operand))
    return "";
  StringRef name = launch.views[operand.argument()];
  std::string stride =
      ("stride(" + name + ", " + Twine(operand.axes[0]) + ")").str();
  int64_t halfPage = halfPageBytes / scratchBytesOf(operand.element);
  // Where they are read often enough to pay for the copy.
  Operand &rhs = made[right[0]];
  std::string columns =
      ("size(" + launch.views[rhs.argument()] + ", " + Twine(rhs.axes[1]) + ")")
          .str();
  if (operand.packing.isPlain())
    return " and " + columns + " >= 256";
  return (" and (address(" + name + ") mod 64 != 0 or " + stride + " mod " +
          Twine(operand.packing.step) + " != 0 or " + columns +
          " >= 1024 and " + stride + " mod " + Twine(halfPage) + " == 0)")
      .str();
}

/// Allocates and fills the panels; their name.
std::string Packer::packingLines(unsigned number, const PlanLaunch &launch,
                                 StringRef indent,
                                 SmallVectorImpl<std::string> &lines) {
  Operand &operand = made[number];
  auto emit = [&](const Twine &text) {
    lines.push_back((launch.indent + indent + text).str());
  };
  StringRef source = launch.views[operand.argument()];
  std::string name =
      (source + "." + func.getName() + "." + Twine(number)).str();
  const CpuPacking &packing = operand.packing;
  auto size = [&](int64_t axis) {
    return ("size(" + source + ", " + Twine(axis) + ")").str();
  };
  auto rounded = [](const std::string &text, int64_t unit) {
    return unit == 1 ? text
                     : text + " ceildiv " + std::to_string(unit) + " * " +
                           std::to_string(unit);
  };
  int64_t rows = operand.isLhs ? packing.wideStep : packing.step;
  int64_t columns = operand.isLhs ? packing.step : packing.wideStep;
  SmallVector<std::string> sizes, padded, strides;
  for (int64_t axis : leading(operand)) {
    sizes.push_back(size(axis));
    padded.push_back(size(axis));
  }
  sizes.append({size(operand.axes[0]), size(operand.axes[1])});
  padded.append({rounded(size(operand.axes[0]), rows),
                 rounded(size(operand.axes[1]), columns)});
  std::string whole = name + ".all";
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    strides.push_back("stride(" + whole + ", " + std::to_string(axis) + ")");
  emit("alloc " + whole + " " + planType(operand.element).str() + " [" +
       llvm::join(padded, ", ") + "]" +
       (operand.isLhs ? "" : " of " + source.str()));
  emit("view " + name + " = " + whole + " offset 0 sizes [" +
       llvm::join(sizes, ", ") + "] strides [" + llvm::join(strides, ", ") +
       "]");
  std::string grid, elements;
  FuncOp copy = copies[number];
  auto place = *copy.getBody().front().getOps<ProgramOp>().begin();
  for (auto [at, text] : llvm::enumerate(sizes)) {
    int64_t tile = place.getTiles()[at];
    grid +=
        (at ? " * " : "") +
        (tile ? "(" + text + " ceildiv " + std::to_string(tile) + ")" : text);
    elements += (at ? " * " : "") + text;
  }
  std::string line = ("launch @" + copy.getName() + "(" + source + ", " + name +
                      ") grid " + grid + " work " + elements + " floordiv 2")
                         .str();
  if (operand.isLhs) {
    emit(line);
    return name;
  }
  emit("if fresh(" + whole + ")");
  emit("  " + line);
  emit("end");
  return name;
}

void Packer::rewrite(const PlanLaunch &launch, StringRef line,
                     SmallVectorImpl<std::string> &lines,
                     llvm::StringSet<> &leftNames) {
  std::string shared = sharedText(right, launch);
  std::string sharedLeft = left.empty() ? "" : sharedText(left, launch);
  if (shared.empty()) {
    lines.push_back(line.str());
    return;
  }
  auto emit = [&](const Twine &text) {
    lines.push_back((launch.indent + text).str());
  };
  auto run = [&](FuncOp variant, const Twine &indent, StringRef more) {
    emit(indent + "launch @" + variant.getName() + "(" +
         llvm::join(launch.views, ", ") + more +
         (launch.scalars.empty() ? "" : "; ") +
         llvm::join(launch.scalars, ", ") + ")" + launch.rest);
  };
  std::string far = right.size() == 1 ? farText(made[right[0]], launch) : "";
  SmallVector<std::string> constants;
  for (unsigned number : right)
    constants.push_back(
        ("constant(" + launch.views[made[number].argument()] + ")").str());
  std::string constant = llvm::join(constants, " and ");
  emit("if " + (onlyConstant  ? constant
                : far.empty() ? constant + " or " + shared
                              : constant + " or (" + shared + ")" + far));
  std::string views;
  for (unsigned number : right)
    views += ", " + packingLines(number, launch, "  ", lines);
  if (sharedLeft.empty() || onlyConstant) {
    run(packed, "  ", views);
  } else {
    std::string awkward;
    if (left.size() == 1)
      awkward = awkwardText(made[left[0]], launch);
    if (!awkward.empty() && !made[left[0]].packing.isPlain())
      leftNames.insert(launch.views[made[left[0]].argument()]);
    emit("  if (" + sharedLeft + ")" + awkward);
    std::string all = views;
    for (unsigned number : left)
      all += ", " + packingLines(number, launch, "    ", lines);
    run(packedBoth, "    ", all);
    emit("  else");
    run(packed, "    ", views);
    emit("  end");
  }
  emit("else");
  lines.push_back(("  " + line).str());
  emit("end");
}

struct PackOperandsPass
    : tessera::tile::impl::PackOperandsPassBase<PackOperandsPass> {
  using PackOperandsPassBase::PackOperandsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::StringSet<> leftNames;
    for (FuncOp func : llvm::to_vector(module.getOps<FuncOp>())) {
      auto config = func->getAttrOfType<DictionaryAttr>("tile.config");
      if (config && config.contains("pack")) // the schedule says never
        continue;
      Packer packer(func, amx, vectorBytes);
      if (!packer.find())
        continue;
      packer.build();
      replaceLaunches(module, func.getName(),
                      [&](const PlanLaunch &launch, StringRef line,
                          SmallVectorImpl<std::string> &lines) {
                        packer.rewrite(launch, line, lines, leftNames);
                      });
    }
    if (!leftNames.empty())
      for (PlanOp plan : module.getOps<PlanOp>())
        padRows(plan, leftNames);
  }
};

} // namespace
