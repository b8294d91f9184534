//===- Decisions.cpp - The first decisions for a kernel -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedule/Transforms/Decisions.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::schedule;
using tile::NumericsAttr;
using tile::NumericsKind;

namespace {

/// Writes decisions; a user's word goes before the model's and the default.
struct Writer {
  OpBuilder &builder;
  Location loc;
  DictionaryAttr schedule;
  Model model = Model::Caches;
  int64_t group = 0; ///< programs of the first axis before the second moves on

  bool hasCaches() const { return model == Model::Caches; }
  ParamAttr param(int64_t value, ArrayRef<int64_t> range, Decider by) {
    return ParamAttr::get(builder.getContext(), value, range, by);
  }
  NumericsAttr numerics(NumericsKind kind, int64_t step = 0,
                        int64_t parts = 1) {
    return NumericsAttr::get(builder.getContext(), kind, step, parts);
  }

  std::optional<int64_t> user(StringRef key) const {
    if (schedule)
      if (auto value = schedule.getAs<IntegerAttr>(key))
        return value.getInt();
    return std::nullopt;
  }
  std::optional<int64_t> userTile(StringRef dim) const {
    return dim.empty() ? std::nullopt : user(("tile." + dim).str());
  }

  /// Loop `loop` runs over axis `axis` of `value`. Returns the chosen size.
  int64_t tile(int64_t loop, Value value, int64_t axis, int64_t size,
               ArrayRef<int64_t> range, LoopKind kind = LoopKind::Grid) {
    Extent extent = getOuterExtent(value, axis);
    StringRef name = extent.kind == Extent::Kind::Axis
                         ? getDimName(extent.value, extent.axis)
                         : "";
    Decider by = Decider::Default;
    if (std::optional<int64_t> chosen = userTile(name)) {
      size = *chosen;
      by = Decider::User;
    } else if (extent.isConstant() && extent.constant < size) {
      size = std::max<int64_t>(
          1, std::min<int64_t>(size, llvm::alignTo(extent.constant, 16)));
      by = Decider::Model;
    }
    TileOp::create(builder, loc, builder.getI64IntegerAttr(loop),
                   param(size, range, by),
                   LoopKindAttr::get(builder.getContext(), kind),
                   name.empty() ? StringAttr() : builder.getStringAttr(name));
    return size;
  }
  /// One program, or one turn, per element of the axis.
  void single(int64_t loop, Value value, int64_t axis,
              LoopKind kind = LoopKind::Grid) {
    tile(loop, value, axis, 1, {1}, kind);
  }

  void place(Placement what, ArrayRef<int64_t> range, int64_t otherwise = 0) {
    std::optional<int64_t> value = user(stringifyPlacement(what));
    PlaceOp::create(builder, loc, what,
                    param(value.value_or(otherwise), range,
                          value ? Decider::User : Decider::Default));
  }
  /// `sums`: of one product, which is not written as a loop.
  void places(bool products = false, bool fused = false, bool sums = false) {
    // 0: all threads, a whole register, what the loop's size suggests.
    place(Placement::Threads, {0, 1, 2, 4, 8, 16});
    place(Placement::Vector, {0, 4, 8, 16});
    place(Placement::Unroll, {0, 1, 2, 4, 8});
    if (group || user("group"))
      place(Placement::Group, {1, 2, 4, 8, 16}, group);
    // 1: where it pays, which the plan knows.
    if (hasCaches() && products)
      place(Placement::Pack, {0, 1}, 1);
    // 1: never.
    if (hasCaches() && sums)
      place(Placement::SplitK, {0, 1, 2, 4, 8});
    if (hasCaches())
      place(Placement::Stream, {0, 1, 2}, 1);
    if (fused || user("fuse"))
      place(Placement::Fuse, {0, 1}, 1);
    if (std::optional<int64_t> warps = user("num_warps"))
      PlaceOp::create(builder, loc, Placement::NumWarps,
                      param(*warps, {1, 2, 4, 8, 16}, Decider::User));
    if (std::optional<int64_t> stages = user("num_stages"))
      PipelineOp::create(builder, loc,
                         param(*stages, {*stages}, Decider::User));
  }
};

constexpr int64_t rowTiles[] = {256, 512, 1024, 2048, 4096};

/// Element-wise: programs along all axes, vectors along the last.
void writeMap(Writer &writer, Value value) {
  int64_t rank = rankOf(value);
  for (int64_t axis = 0; axis + 1 < rank; ++axis)
    writer.single(axis, value, axis);
  if (rank > 0)
    writer.tile(rank - 1, value, rank - 1, 1024, rowTiles);
}

/// What a kernel computes, from its result to its inputs.
struct Work {
  explicit Work(FuseOp fuse)
      : value(cast<schedule::YieldOp>(fuse.getBody().front().getTerminator())
                  .getValues()[0]),
        root(value.getDefiningOp()), rank(rankOf(value)),
        gridAxes(getGridAxes(fuse)) {
    for (Operation &op : llvm::reverse(fuse.getBody().front()))
      if (auto reduce = dyn_cast<ReduceOp>(op))
        reductions.push_back(reduce);
  }

  Value value;     ///< what it stores
  Operation *root; ///< what makes that; null of a copy
  int64_t rank;    ///< of what it stores
  AxisMap gridAxes;
  SmallVector<ReduceOp> reductions;
};

/// What the loop of a row kernel runs over: the result's last axis, or that of
/// a reduction's input if the result keeps only one element of it.
Value rowOf(const Work &work) {
  if (!getOuterExtent(work.value, work.rank - 1).isConstant())
    return work.value;
  Value row = work.value;
  auto size = [](Value tensor) {
    Extent extent = getOuterExtent(tensor, rankOf(tensor) - 1);
    return extent.isConstant() ? extent.constant
                               : std::numeric_limits<int64_t>::max();
  };
  for (ReduceOp reduce : work.reductions)
    if (Value input = reduce.getInput(); size(input) > size(row))
      row = input;
  return row;
}

/// `reducesLast`: reductions are over the last axis of their input, which is
/// then the vector axis of the kernel.
NumericsAttr writeRows(Writer &writer, const Work &work, bool reducesLast) {
  bool whole = int64_t(work.gridAxes.size()) < work.rank;
  int64_t size = 1;
  for (int64_t axis = 0; axis < work.rank; ++axis) {
    bool grid = llvm::is_contained(work.gridAxes, axis);
    bool last = axis == work.rank - 1;
    LoopKind kind = grid ? LoopKind::Grid : LoopKind::Loop;
    // Vectors: along the last axis if the kernel iterates it at all.
    if (last && grid && !reducesLast) {
      size = writer.tile(axis, work.value, axis, 256, rowTiles, kind);
    } else if (last && !grid) {
      Value row = reducesLast ? rowOf(work) : work.value;
      size = writer.tile(axis, row, rankOf(row) - 1, 1024, rowTiles, kind);
    } else {
      writer.single(axis, work.value, axis, kind);
    }
  }
  if (!reducesLast)
    return writer.numerics(NumericsKind::Columns);
  if (!whole) {
    // The root has no axis for the loop: loop number `rank` is that of the
    // reductions. The last one names its extent.
    ReduceOp last = work.reductions.front();
    Value input = last.getInput();
    size = writer.tile(work.rank, input, rankOf(input) - 1, 1024, rowTiles,
                       LoopKind::Loop);
  }
  return writer.numerics(NumericsKind::Rows, size);
}

NumericsAttr writeGemm(Writer &writer, Value value, GemmOp gemm) {
  int64_t rank = rankOf(value);
  for (int64_t axis = 0; axis + 2 < rank; ++axis)
    writer.single(axis, value, axis);
  // A core reads panels of B, as long as its cache holds them, for few rows at
  // a time: many programs, in an order that finds the panel again. A GPU's
  // shared memory holds a small block. AMX multiplies faster than a cache
  // brings new panels, and wants more rows, and sums that stay in its registers
  // for as long as the second-level cache holds the operands. Vectors of fp32
  // take six rows at a time.
  bool shared = !writer.hasCaches();
  Type element = tensorType(gemm.getLhs()).getElementType();
  bool tiles = element.isBF16(), vectors = element.isF32();
  writer.tile(rank - 2, value, rank - 2,
              shared    ? 64
              : tiles   ? 128
              : vectors ? 144
                        : 96,
              {16, 32, 48, 64, 96, 128, 144, 192, 256});
  writer.tile(rank - 1, value, rank - 1, 64, {64, 128, 256, 512});
  SmallVector<int64_t> depths = {64, 128, 256, 512, 1024, 2048};
  if (shared)
    depths.insert(depths.begin(), 32);
  int64_t depth = writer.tile(rank, gemm.getLhs(), rank - 1,
                              shared             ? 32
                              : tiles || vectors ? 2048
                                                 : 1024,
                              depths, LoopKind::Loop);
  if (!shared && rank == 2)
    writer.group = tiles ? 2 : 4;
  return writer.numerics(NumericsKind::Gemm, depth,
                         shared ? 1 : writer.user("split_k").value_or(0));
}

/// The head size stays whole in a tile: the smallest of these that holds it.
constexpr int64_t headSizes[] = {16, 32, 64, 80, 96, 128, 256, 384, 512};

NumericsAttr writeAttention(Writer &writer, AttentionOp op) {
  int64_t rank = rankOf(op.getResult());
  for (int64_t axis = 0; axis + 2 < rank; ++axis)
    writer.single(axis, op.getResult(), axis);
  // Not known: the widest, with variants for others.
  int64_t bucket = 512;
  int64_t size = std::max(tensorType(op.getQ()).getDimSize(rank - 1),
                          tensorType(op.getV()).getDimSize(rank - 1));
  bool known = !hasOpenHead(op);
  if (known) {
    const int64_t *found = llvm::lower_bound(headSizes, size);
    bucket = found == std::end(headSizes) ? llvm::alignTo(size, 64) : *found;
  }
  // Vectors multiply 6 rows at a time; causal blocks end at whole panels.
  bool vectors =
      writer.hasCaches() && tensorType(op.getQ()).getElementType().isF32();
  // A wide head leaves a thread's registers less room for rows and keys.
  bool wide = !writer.hasCaches() && known && bucket >= 256;
  writer.tile(rank - 2, op.getResult(), rank - 2,
              wide                         ? 32
              : vectors && !op.getCausal() ? 48
                                           : 64,
              {16, 32, 48, 64, 128});
  // Smaller ones do not hold it.
  const int64_t *first = known ? llvm::lower_bound(headSizes, size) : headSizes;
  TileOp::create(
      writer.builder, writer.loc, writer.builder.getI64IntegerAttr(rank - 1),
      writer.param(bucket, {first, std::end(headSizes)},
                   known ? Decider::Model : Decider::Default),
      LoopKindAttr::get(writer.builder.getContext(), LoopKind::Whole),
      StringAttr());
  SmallVector<int64_t> blocks = {32, 64, 128, 256, 512};
  if (wide)
    blocks.insert(blocks.begin(), 16);
  int64_t block = !wide ? 64 : bucket < 512 ? 32 : 16;
  if (writer.hasCaches()) {
    // A row of scores is long: its maximum and its sum are taken once. Keys of
    // 4 bytes and their scores fill the cache twice as soon.
    blocks.push_back(1024);
    block = vectors ? 512 : 1024;
  }
  int64_t keys =
      writer.tile(rank, op.getK(), rank - 2, block, blocks, LoopKind::Loop);
  return writer.numerics(NumericsKind::Attention, keys);
}

/// Programs along all axes but `axis`, which is a loop.
void writeAlong(Writer &writer, Value value, int64_t axis) {
  int64_t rank = rankOf(value);
  for (int64_t i = 0; i < rank; ++i) {
    LoopKind kind = i == axis ? LoopKind::Loop : LoopKind::Grid;
    if (i == rank - 1)
      writer.tile(i, value, i, i == axis ? 1024 : 256, rowTiles, kind);
    else
      writer.single(i, value, i, kind);
  }
}

} // namespace

/// How many ops of a kernel compute, rather than move or repeat; numbers that
/// it makes for itself of numbers it is given do not count.
static int64_t countComputed(FuseOp fuse, const Work &work) {
  Block &body = fuse.getBody().front();
  llvm::DenseSet<Value> numbers;
  for (auto [argument, input] :
       llvm::zip_equal(body.getArguments(), fuse.getInputs()))
    if (rankOf(argument) == 0 && isScalar(input))
      numbers.insert(argument);
  int64_t count = 0;
  for (Operation &op : body.without_terminator()) {
    if (isa<TileOp, PlaceOp, PipelineOp>(op))
      continue;
    Value result = op.getResult(0);
    auto isKnown = [&](Value part) { return numbers.contains(part); };
    if (rankOf(result) == 0 &&
        (isa<ConstantOp>(op) ||
         (isElementwise(&op) && llvm::all_of(op.getOperands(), isKnown))))
      numbers.insert(result);
    count += !isa<BroadcastOp, TransposeOp, ReshapeOp, ConstantOp>(op) &&
             (&op == work.root || !numbers.contains(result));
  }
  return count;
}

void schedule::writeDecisions(FuseOp fuse, DictionaryAttr schedule,
                              Model model) {
  Work work(fuse);
  auto gemms = fuse.getBody().getOps<GemmOp>();
  NumericsKind kind = fuse.getNumerics().getKind();
  int64_t computed = countComputed(fuse, work);
  bool isCopy =
      kind == NumericsKind::Copy && !isa_and_present<ConcatOp>(work.root);
  OpBuilder builder = OpBuilder::atBlockBegin(&fuse.getBody().front());
  Writer writer{builder,
                isCopy || !work.root ? fuse.getLoc() : work.root->getLoc(),
                schedule, model};
  NumericsAttr numerics = writer.numerics(kind);
  switch (kind) {
  case NumericsKind::Rows:
  case NumericsKind::Columns:
    numerics = writeRows(writer, work, kind == NumericsKind::Rows);
    break;
  case NumericsKind::Gemm:
    numerics = writeGemm(writer, work.value, *gemms.begin());
    break;
  case NumericsKind::Attention:
    numerics = writeAttention(writer, cast<AttentionOp>(work.root));
    break;
  case NumericsKind::Scan:
    writeAlong(writer, work.value, cast<ScanOp>(work.root).getAxis());
    break;
  case NumericsKind::Partial: {
    auto partial = cast<PartialOp>(work.root);
    writer.single(0, work.value, 0);
    writer.tile(1, partial.getInput(), 0, 1024, rowTiles, LoopKind::Loop);
    numerics = writer.numerics(NumericsKind::Partial, partial.getChunk());
    break;
  }
  default:
    if (auto concat = dyn_cast_or_null<ConcatOp>(work.root))
      writeAlong(writer, work.value, concat.getAxis());
    else
      writeMap(writer, work.value);
  }
  bool isGemm = kind == NumericsKind::Gemm;
  writer.places(isGemm || kind == NumericsKind::Attention,
                computed > 1 && !isCopy, isGemm);
  fuse.setNumericsAttr(numerics);
}

void schedule::writeKernelDecisions(OpBuilder &builder, Location loc,
                                    DictionaryAttr schedule, bool products,
                                    Model model) {
  Writer{builder, loc, schedule, model}.places(products);
}
