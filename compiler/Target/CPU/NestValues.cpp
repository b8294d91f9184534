//===- NestValues.cpp - What each tile of a nest is at one element --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Architectures/X86.h"
#include "compiler/Target/CPU/NestEmitter.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

//===----------------------------------------------------------------------===//
// Depth
//===----------------------------------------------------------------------===//

/// Bit i: the tile's elements differ along axis i.
uint64_t NestEmitter::dependencies(Value tile) {
  auto found = depends.find(tile);
  if (found != depends.end())
    return found->second;
  int64_t rank = cast<RankedTensorType>(tile.getType()).getRank();
  uint64_t all = (uint64_t(1) << rank) - 1, bits = 0;
  Operation *op = tile.getDefiningOp();
  llvm::TypeSwitch<Operation *>(op)
      .Case<tile::FillOp, arith::ConstantOp>([&](auto) {})
      .Case([&](tile::BroadcastOp broadcast) {
        uint64_t inner = dependencies(broadcast.getInput());
        for (auto [i, axis] : llvm::enumerate(broadcast.getAxes()))
          if (inner >> i & 1)
            bits |= uint64_t(1) << axis;
      })
      .Case([&](tile::TransposeOp transpose) {
        uint64_t inner = dependencies(transpose.getInput());
        for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
          if (inner >> axis & 1)
            bits |= uint64_t(1) << i;
      })
      .Case<tile::LoadOp, tile::LocalLoadOp, tile::IndexOp, tile::CatOp,
            tile::ReshapeOp>([&](auto) { bits = all; })
      .Default([&](Operation *other) {
        for (Value operand : other->getOperands())
          if (tile::isTile(operand))
            bits |= dependencies(operand);
      });
  return depends[tile] = bits;
}

size_t NestEmitter::depthOf(Value tile, const Positions &at) {
  uint64_t bits = dependencies(tile);
  size_t depth = 0;
  for (auto [i, position] : llvm::enumerate(at))
    if (bits >> i & 1)
      depth =
          std::max(depth, position.axis >= 0 ? depths[position.axis] : current);
  return depth;
}

Value NestEmitter::positionValue(const Position &at, int64_t copy) {
  if (at.axis < 0)
    return at.value;
  Value counter = counters[at.axis];
  if (at.axis == blockAxis) {
    // Rows past the end repeat the last; what they give is not used.
    Value length = lower.ranges[nest.getAxes()[blockAxis]].length;
    return lower.minimum(lower.addConstant(counter, copy),
                         lower.sub(length, lower.constant(1)));
  }
  if (isVector(at) && blockAxis < 0)
    return lower.addConstant(counter, copy * lanes);
  return counter;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// A scalar if the tile does not change along the vector, else a vector.
Value NestEmitter::eval(Value tile, const Positions &at, int64_t copy) {
  size_t depth = depthOf(tile, at);
  uint64_t bits = dependencies(tile);
  bool wide = false;
  for (auto [i, position] : llvm::enumerate(at))
    wide |= (bits >> i & 1) && (isVector(position) ||
                                (blockAxis >= 0 && position.axis == blockAxis));
  Key key{tile.getAsOpaquePointer(), wide ? copy : 0,
          std::vector<Position>(at.begin(), at.end())};
  auto found = memo[depth].find(key);
  if (found != memo[depth].end())
    return found->second;
  OpBuilder::InsertionGuard guard(lower.builder);
  if (depth < current)
    lower.builder.setInsertionPoint(openLoops[depth + 1]);
  size_t before = current;
  current = depth;
  Value value = compute(tile.getDefiningOp(), at, wide ? copy : 0);
  current = before;
  memo[depth][key] = value;
  return value;
}

Value NestEmitter::compute(Operation *op, const Positions &at, int64_t copy) {
  if (auto fill = dyn_cast<tile::FillOp>(op))
    return lower.values.lookup(fill.getValue());
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return evalLoad(load, at, copy);
  if (auto load = dyn_cast<tile::LocalLoadOp>(op))
    return evalLocalLoad(load, at, copy);
  if (auto reshape = dyn_cast<tile::ReshapeOp>(op))
    return evalReshape(reshape, at, copy);
  if (auto cat = dyn_cast<tile::CatOp>(op))
    return evalCat(cat, at, copy);
  if (auto index = dyn_cast<tile::IndexOp>(op)) {
    Value first = lower.add(lower.ranges[index.getRange()].start,
                            positionValue(at[0], copy));
    if (!isVector(at[0]))
      return first;
    return arith::AddIOp::create(lower.builder, lower.loc,
                                 lower.splat(first, lanes), lower.step(lanes));
  }
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
    Positions inner;
    for (int64_t axis : broadcast.getAxes())
      inner.push_back(at[axis]);
    return eval(broadcast.getInput(), inner, copy);
  }
  if (auto transpose = dyn_cast<tile::TransposeOp>(op)) {
    Positions inner(at.size());
    for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
      inner[axis] = at[i];
    return eval(transpose.getInput(), inner, copy);
  }
  // Element-wise.
  SmallVector<Value> operands;
  bool wide = false;
  for (Value operand : op->getOperands()) {
    operands.push_back(tile::isTile(operand) ? eval(operand, at, copy)
                                             : lower.values.lookup(operand));
    wide |= isa<VectorType>(operands.back().getType());
  }
  if (isa<tile::RandOp>(op))
    return lower.random(operands[0], operands[1], wide ? lanes : 0);
  return lower.elementwise(op, operands, wide ? lanes : 0);
}

/// Are the lanes of a vector along `axis` neighbours in a packed view? Its
/// ranges begin at whole panels and groups.
bool NestEmitter::contiguousIn(const CpuView &view, int64_t axis) const {
  if (axis == view.deepAxis())
    return view.packing->group > 1 && view.packing->group % lanes == 0;
  return axis == view.wideAxis() && view.packing->group == 1 &&
         view.packing->width % lanes == 0;
}

NestEmitter::Address NestEmitter::addressOf(const CpuView &view,
                                            OperandRange indices,
                                            std::optional<ArrayAttr> indexAxes,
                                            const Positions &at, int64_t copy) {
  OpBuilder &builder = lower.builder;
  Address address{view.base, lower.constant(0), {}, {}, false};
  auto addOffsets = [&](Value more) {
    address.vector = true;
    if (address.offsets)
      address.stride = {};
    address.offsets = address.offsets
                          ? Value(arith::AddIOp::create(builder, lower.loc,
                                                        address.offsets, more))
                          : more;
  };
  auto require = [&](Value inside) {
    if (address.inBounds) {
      bool wide = isa<VectorType>(inside.getType()) ||
                  isa<VectorType>(address.inBounds.getType());
      inside = arith::AndIOp::create(
          builder, lower.loc, lower.splat(address.inBounds, wide ? lanes : 0),
          lower.splat(inside, wide ? lanes : 0));
    }
    address.inBounds = inside;
  };
  bool contiguous = false;
  auto spans = tile::axesOfIndices(indices, indexAxes);
  for (auto [axis, index] : llvm::enumerate(indices)) {
    Value stride = view.strides[axis];
    if (isa<tile::RangeType>(index.getType())) {
      const Position &position = at[spans[axis][0]];
      Value here =
          lower.add(lower.ranges[index].start, positionValue(position, copy));
      bool wide = isVector(position);
      if (wide && view.packing && !contiguousIn(view, axis)) {
        here = arith::AddIOp::create(
            builder, lower.loc, lower.splat(here, lanes), lower.step(lanes));
        addOffsets(lower.offsetAlong(view, axis, here));
        continue;
      }
      address.offset =
          lower.add(address.offset, lower.offsetAlong(view, axis, here));
      if (!wide)
        continue;
      address.vector = true;
      if (view.packing ? contiguousIn(view, axis)
                       : view.staticStrides[axis] == 1)
        contiguous = true;
      else {
        // Alone, until another index moves along the vector, too.
        address.stride = address.offsets || contiguous ? Value() : stride;
        addOffsets(arith::MulIOp::create(builder, lower.loc, lower.step(lanes),
                                         lower.splat(stride, lanes)));
      }
      continue;
    }
    Value number;
    if (tile::isTile(index)) {
      Positions inner;
      for (int64_t span : spans[axis])
        inner.push_back(at[span]);
      number = eval(index, inner, copy);
      int64_t wide = isa<VectorType>(number.getType()) ? lanes : 0;
      if (getElementTypeOrSelf(number).getIntOrFloatBitWidth() < 64)
        number = arith::ExtSIOp::create(
            builder, lower.loc, lower.typeOf(builder.getI64Type(), wide),
            number);
      require(arith::CmpIOp::create(builder, lower.loc,
                                    arith::CmpIPredicate::ult, number,
                                    lower.splat(view.sizes[axis], wide)));
      if (wide) {
        addOffsets(arith::MulIOp::create(builder, lower.loc, number,
                                         lower.splat(stride, lanes)));
        continue;
      }
    } else {
      number = lower.values.lookup(index);
      // Other scalars may point anywhere, and out of bounds is as for a
      // gather.
      if (!tile::isInside(index, view.argument, axis))
        require(arith::CmpIOp::create(builder, lower.loc,
                                      arith::CmpIPredicate::ult, number,
                                      view.sizes[axis]));
    }
    // Of a pair, both are there.
    APInt part;
    if (view.staticSizes[axis] == 2 && view.staticStrides[axis] == 1 &&
        !view.packing && matchPattern(index, m_ConstantInt(&part)) &&
        part.ult(2)) {
      address.part = part.getZExtValue();
      continue;
    }
    // Numbers by themselves, so that neighbours share what varies.
    if (tile::IndexSum sum(index); !tile::isTile(index) && !view.packing &&
                                   sum.constant && !sum.terms.empty()) {
      Value varying = lower.constant(0);
      for (auto [value, times] : sum.terms)
        varying = lower.add(varying, lower.mul(lower.values.lookup(value),
                                               lower.constant(times)));
      for (Value part : {varying, lower.constant(sum.constant)})
        address.base = lower.pointerTo(address.base, lower.mul(part, stride),
                                       view.element);
      continue;
    }
    address.offset =
        lower.add(address.offset, lower.offsetAlong(view, axis, number));
  }
  // Read with the other one where lanes are pairs apart (`loadLanes`).
  Value first = address.offset;
  if (address.part)
    address.offset = lower.addConstant(address.offset, *address.part);
  if (address.offsets) {
    if (contiguous)
      addOffsets(lower.step(lanes)); // and no stride any more
    address.offsets = arith::AddIOp::create(builder, lower.loc, address.offsets,
                                            lower.splat(address.offset, lanes));
    address.offset = first;
  }
  return address;
}

void NestEmitter::fetchNextProgram(tile::LoadOp load, const CpuView &view,
                                   const Address &address) {
  Value stride;
  for (auto [axis, index] : llvm::enumerate(load.getIndices())) {
    auto program = index.getDefiningOp<tile::ProgramOp>();
    auto range = dyn_cast<tile::RangeType>(index.getType());
    if (program && !range)
      stride = view.strides[axis];
    // Rows of a block: those of the next one.
    if (program && range && index == program->getResults().back() &&
        index != nest.getAxes()[vectorAxis])
      stride = lower.mul(view.strides[axis], lower.constant(range.getSize()));
  }
  if (!stride)
    return;
  stride = lower.mul(stride, lower.constant(int64_t(*load.getPrefetch())));
  Value bytes = lower.constant(tile::scratchBytesOf(view.element));
  lower.prefetch(address.base,
                 lower.mul(lower.add(address.offset, stride), bytes));
}

/// A block of a wide matrix: its rows may be pages apart, and no hardware knows
/// which one is next. The last ones bring the rows of the next block.
void NestEmitter::fetchRowsAhead(tile::LoadOp load, const CpuView &view,
                                 const Address &address) {
  for (auto [axis, index] : llvm::enumerate(load.getIndices()))
    if (index == nest.getAxes()[0])
      lower.prefetch(
          address.base,
          lower.mul(lower.add(address.offset,
                              lower.mul(view.strides[axis],
                                        lower.constant(x86::prefetchedRows))),
                    lower.constant(tile::scratchBytesOf(view.element))));
}

/// A half of what two vectors are in turns: 0 of both, 1 of both, ...
Value NestEmitter::interleave(Value even, Value odd, int64_t half) {
  SmallVector<int64_t> chosen(lanes);
  for (int64_t lane = 0; lane < lanes; ++lane)
    chosen[lane] = (half * lanes + lane) / 2 + (lane % 2 ? lanes : 0);
  return vector::ShuffleOp::create(lower.builder, lower.loc, even, odd, chosen);
}

/// Lanes that are no neighbours are gathered. Two apart, as the parts of
/// complex numbers are, they take two loads and a shuffle; what lies between
/// may be no memory of ours at the very end.
Value NestEmitter::loadLanes(const CpuView &view, const Address &address,
                             Value keep) {
  OpBuilder &builder = lower.builder;
  Type element = view.element;
  if (!isTwoApart(address))
    return lower.gather(address.base, address.offsets, element, keep);
  SmallVector<bool> even(lanes);
  SmallVector<int64_t> chosen(lanes);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    even[lane] = lane % 2 == 0;
    chosen[lane] = 2 * lane + address.part.value_or(0);
  }
  SmallVector<Value> halves;
  for (int64_t half : {0, 1}) {
    Value wanted = keep ? interleave(keep, keep, half) : Value();
    if (!address.part) {
      Value first = arith::ConstantOp::create(
          builder, lower.loc,
          DenseElementsAttr::get(VectorType::get({lanes}, builder.getI1Type()),
                                 ArrayRef<bool>(even)));
      wanted =
          wanted
              ? Value(arith::AndIOp::create(builder, lower.loc, wanted, first))
              : first;
    }
    halves.push_back(lower.maskedLoad(
        lower.pointerTo(address.base,
                        lower.addConstant(address.offset, half * lanes),
                        element),
        element, lanes, wanted));
  }
  return vector::ShuffleOp::create(builder, lower.loc, halves[0], halves[1],
                                   chosen);
}

bool NestEmitter::isTwoApart(const Address &address) const {
  return address.stride && llvm::is_contained(twoApart, address.stride);
}

Value NestEmitter::evalLoad(tile::LoadOp load, const Positions &at,
                            int64_t copy) {
  OpBuilder &builder = lower.builder;
  const CpuView &view = lower.views[load.getView()];
  Address address =
      addressOf(view, load.getIndices(), load.getIndexAxes(), at, copy);
  Type element = view.element;
  Value value;
  if (address.vector) {
    Value keep = address.inBounds;
    bool maskWanted =
        llvm::any_of(at, [&](auto &one) { return isVector(one); });
    if (mask && maskWanted)
      keep = keep ? Value(arith::AndIOp::create(builder, lower.loc,
                                                lower.splat(keep, lanes), mask))
                  : mask;
    else if (keep)
      keep = lower.splat(keep, lanes);
    if (address.offsets) {
      value = loadLanes(view, address, keep);
    } else {
      value = lower.maskedLoad(
          lower.pointerTo(address.base, address.offset, element), element,
          lanes, keep);
      int64_t bytes = lanes * tile::scratchBytesOf(element);
      bool begins = !keep && copy * bytes % 64 == 0 && blockAxis < 0; // a line
      if (begins && packsRows)
        fetchRowsAhead(load, view, address);
      else if (begins && load.getPrefetch())
        fetchNextProgram(load, view, address);
    }
  } else if (address.inBounds) {
    auto guard = scf::IfOp::create(builder, lower.loc,
                                   TypeRange(lower.typeOf(element, 0)),
                                   address.inBounds, true);
    OpBuilder::InsertionGuard inside(builder);
    builder.setInsertionPointToStart(guard.thenBlock());
    scf::YieldOp::create(
        builder, lower.loc,
        lower.load(lower.pointerTo(address.base, address.offset, element),
                   element, 0));
    builder.setInsertionPointToStart(guard.elseBlock());
    scf::YieldOp::create(
        builder, lower.loc,
        lower.splatConstant(builder.getZeroAttr(computeType(element)), 0));
    value = guard.getResult(0);
  } else {
    value = lower.load(lower.pointerTo(address.base, address.offset, element),
                       element, 0);
  }
  if (!load.getMask())
    return value;
  Value asked = eval(load.getMask(), at, copy);
  int64_t wide =
      isa<VectorType>(asked.getType()) || isa<VectorType>(value.getType())
          ? lanes
          : 0;
  TypedAttr pad = builder.getZeroAttr(computeType(element));
  if (auto given = load.getPadAttr())
    pad = given;
  if (auto dense = dyn_cast<DenseElementsAttr>(Attribute(pad)))
    pad = cast<TypedAttr>(dense.getSplatValue<Attribute>());
  return arith::SelectOp::create(builder, lower.loc, lower.splat(asked, wide),
                                 lower.splat(value, wide),
                                 lower.splatConstant(pad, wide));
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

NestEmitter::Address NestEmitter::addressIn(Value buffer, Value slot,
                                            const Positions &inSlot,
                                            int64_t copy) {
  OpBuilder &builder = lower.builder;
  tile::CpuBuffer layout(cast<tile::BufferType>(buffer.getType()));
  Address address{lower.buffers[buffer], lower.constant(0), {}, {}, false};
  Positions at(inSlot);
  if (slot)
    at.insert(at.begin(), Position{-1, lower.values.lookup(slot)});
  for (auto [dim, position] : llvm::enumerate(at)) {
    Value here = positionValue(position, copy);
    address.offset =
        lower.add(address.offset, lower.offsetAlong(layout, dim, here));
    if (!isVector(position))
      continue;
    address.vector = true;
    int64_t stride = layout.stride(dim), run = layout.run(dim);
    if (stride == 1 && (run % lanes == 0 || layout.terms[dim].size() == 1))
      continue;
    // Lanes are `stride` apart; vectors never straddle a run.
    address.offsets =
        arith::MulIOp::create(builder, lower.loc, lower.step(lanes),
                              lower.splat(lower.constant(stride), lanes));
  }
  if (address.offsets)
    address.offsets = arith::AddIOp::create(builder, lower.loc, address.offsets,
                                            lower.splat(address.offset, lanes));
  return address;
}

Value NestEmitter::evalLocalLoad(tile::LocalLoadOp load, const Positions &at,
                                 int64_t copy) {
  Value buffer = load.getBuffer();
  Type element = cast<tile::BufferType>(buffer.getType()).getElementType();
  Address address = addressIn(buffer, load.getSlot(), at, copy);
  Value base = address.base;
  // Buffers are padded: reading past the range's end is harmless.
  if (address.offsets)
    return lower.gather(base, address.offsets, element, mask);
  return lower.load(lower.pointerTo(base, address.offset, element), element,
                    address.vector ? lanes : 0);
}

//===----------------------------------------------------------------------===//
// Reshape and cat: scalar nests over real elements
//===----------------------------------------------------------------------===//

Value NestEmitter::evalReshape(tile::ReshapeOp op, const Positions &at,
                               int64_t copy) {
  OpBuilder &builder = lower.builder;
  auto to = op.getResult().getType(), from = op.getInput().getType();
  Value linear = lower.constant(0);
  for (auto [axis, position] : llvm::enumerate(at))
    linear = lower.add(lower.mul(linear, lower.constant(to.getDimSize(axis))),
                       positionValue(position, copy));
  Positions inner(from.getRank());
  for (int64_t axis = from.getRank() - 1; axis >= 0; --axis) {
    Value size = lower.constant(from.getDimSize(axis));
    inner[axis].value =
        arith::RemUIOp::create(builder, lower.loc, linear, size);
    linear = arith::DivUIOp::create(builder, lower.loc, linear, size);
  }
  return eval(op.getInput(), inner, copy);
}

Value NestEmitter::evalCat(tile::CatOp op, const Positions &at, int64_t copy) {
  OpBuilder &builder = lower.builder;
  int64_t axis = op.getAxis(), offset = 0;
  Value here = positionValue(at[axis], copy), result;
  for (Value input : op.getInputs()) {
    int64_t size = cast<RankedTensorType>(input.getType()).getDimSize(axis);
    // Clamped into the input; chosen only where it applies.
    Positions inner = at;
    Value local = lower.sub(here, lower.constant(offset));
    local =
        arith::MaxSIOp::create(builder, lower.loc, local, lower.constant(0));
    inner[axis] = {-1, lower.minimum(local, lower.constant(size - 1))};
    Value value = eval(input, inner, copy);
    if (!result) {
      result = value;
    } else {
      Value before = lower.less(here, lower.constant(offset));
      result =
          arith::SelectOp::create(builder, lower.loc, before, result, value);
    }
    offset += size;
  }
  return result;
}

void NestEmitter::emitPrint(tile::PrintOp op) {
  lower.printElement(
      eval(op.getValues()[0], identity(), 0),
      cast<RankedTensorType>(op.getValues()[0].getType()).getElementType());
}
