//===- Emitter.cpp - Values of a kernel as tiles --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/ScheduleToTile/Emitter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
using schedule::rankOf;
using schedule::tensorType;

static bool isRange(Value index) { return isa<RangeType>(index.getType()); }

static SmallVector<int64_t> shapeOf(ArrayRef<Value> indices) {
  SmallVector<int64_t> shape;
  for (Value index : indices)
    if (auto range = dyn_cast<RangeType>(index.getType()))
      shape.push_back(range.getSize());
  return shape;
}

static SmallVector<Value> rangesOf(ArrayRef<Value> indices) {
  SmallVector<Value> ranges;
  llvm::copy_if(indices, std::back_inserter(ranges), isRange);
  return ranges;
}

/// The type of a value over these indices: a tile, or a scalar.
static Type typeOver(Type element, ArrayRef<Value> indices) {
  SmallVector<int64_t> shape = shapeOf(indices);
  return shape.empty() ? element : RankedTensorType::get(shape, element);
}

static ReduceKind tileKind(graph::ReduceKind kind) {
  switch (kind) {
  case graph::ReduceKind::Sum:
    return ReduceKind::Sum;
  case graph::ReduceKind::Prod:
    return ReduceKind::Prod;
  case graph::ReduceKind::Max:
    return ReduceKind::Max;
  case graph::ReduceKind::Min:
    return ReduceKind::Min;
  case graph::ReduceKind::Any:
    return ReduceKind::Or;
  case graph::ReduceKind::All:
    return ReduceKind::And;
  case graph::ReduceKind::Argmax:
    return ReduceKind::Argmax;
  case graph::ReduceKind::Argmin:
    return ReduceKind::Argmin;
  default:
    llvm_unreachable("decomposed before");
  }
}

Emitter::Emitter(Block *body, Location loc, DenseMap<Value, Value> arguments)
    : builder(body, body->end()), loc(loc), arguments(std::move(arguments)) {
  scopes.push_back({body, nullptr, nullptr, {}});
}

OpBuilder &Emitter::at() {
  Scope &scope = scopes.back();
  if (scope.before)
    builder.setInsertionPoint(scope.before);
  else
    builder.setInsertionPointToEnd(scope.block);
  return builder;
}

void Emitter::outwards(size_t target, function_ref<void()> body) {
  if (target + 1 == scopes.size())
    return body();
  std::vector<Scope> aside(std::make_move_iterator(scopes.begin() + target + 1),
                           std::make_move_iterator(scopes.end()));
  scopes.resize(target + 1, Scope{nullptr, nullptr, nullptr, {}});
  Operation *before = scopes.back().before;
  scopes.back().before = aside.front().loop;
  body();
  scopes.back().before = before;
  for (Scope &scope : aside)
    scopes.push_back(std::move(scope));
}

Indices Emitter::makeProgram(ValueRange extents, ArrayRef<int64_t> tiles) {
  SmallVector<Type> types;
  for (int64_t tile : tiles)
    types.push_back(tile ? Type(RangeType::get(builder.getContext(), tile))
                         : Type(builder.getIndexType()));
  auto op = ProgramOp::create(at(), loc, types, extents, tiles);
  program = op;
  return Indices(op.getIds());
}

Value Emitter::position(int64_t value) {
  // Constants stand where they can be used from anywhere.
  Value &known = extents[{nullptr, value}];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(scopes.front().block);
    known = arith::ConstantIndexOp::create(builder, loc, value);
  }
  return known;
}

Value Emitter::number(Type type, double value) {
  TypedAttr attribute;
  if (isa<FloatType>(type))
    attribute = builder.getFloatAttr(type, value);
  else
    attribute = builder.getIntegerAttr(type, int64_t(value));
  return arith::ConstantOp::create(at(), loc, attribute);
}

Value Emitter::extent(Value value, int64_t axis) {
  graph::Extent extent = graph::getExtent(value, axis);
  if (extent.isConstant())
    return position(extent.constant);
  bool scalar = extent.kind == graph::Extent::Kind::Scalar;
  auto key = std::pair(extent.value.getAsOpaquePointer(),
                       scalar ? int64_t(-1) : extent.axis);
  if (auto known = extents.find(key); known != extents.end())
    return known->second;
  Value result;
  auto concat = extent.value.getDefiningOp<graph::ConcatOp>();
  if (!scalar && concat) {
    for (Value input : concat.getInputs()) {
      Value part = this->extent(input, axis);
      OpBuilder::InsertionGuard guard(builder);
      program ? builder.setInsertionPoint(program)
              : builder.setInsertionPointToEnd(scopes.front().block);
      result = result ? Value(arith::AddIOp::create(builder, loc, result, part))
                      : part;
    }
    return extents[key] = result;
  }
  OpBuilder::InsertionGuard guard(builder);
  program ? builder.setInsertionPoint(program)
          : builder.setInsertionPointToEnd(scopes.front().block);
  Value argument = arguments.lookup(extent.value);
  if (scalar)
    result = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        argument ? argument
                                                 : emit(extent.value, {}));
  else
    result = DimOp::create(builder, loc, argument, extent.axis);
  return extents[key] = result;
}

SmallVector<Value>
Emitter::loop(Value start, Value stop, int64_t size, ValueRange inits,
              function_ref<SmallVector<Value>(Value, ValueRange)> turn) {
  Operation *op;
  Block *body;
  if (size > 0) {
    auto made = ForOp::create(at(), loc, start, stop, size, inits);
    if (stages > 0)
      made.setStages(stages);
    op = made;
    body = &made.getBody().front();
  } else {
    auto made = scf::ForOp::create(at(), loc, start, stop, position(1), inits);
    if (inits.empty())
      made.getBody()->getTerminator()->erase();
    op = made;
    body = made.getBody();
  }
  scopes.push_back({body, op, nullptr, {}});
  Value index = body->getArgument(0);
  existsHere(index);
  SmallVector<Value> next =
      turn(index, ValueRange(body->getArguments()).drop_front());
  if (size > 0)
    YieldOp::create(at(), loc, next);
  else
    scf::YieldOp::create(at(), loc, next);
  scopes.pop_back();
  return SmallVector<Value>(op->getResults());
}

Value Emitter::emit(Value value, ArrayRef<Value> indices) {
  size_t target = 0;
  std::vector<void *> key{value.getAsOpaquePointer()};
  for (Value index : indices) {
    target = std::max(target, depth.lookup(index));
    key.push_back(index.getAsOpaquePointer());
  }
  auto found = scopes[target].known.find(key);
  if (found != scopes[target].known.end())
    return found->second;
  Value result;
  Location outer = loc;
  loc = value.getLoc();
  outwards(target, [&] { result = evaluate(value, indices); });
  if (!result) {
    // Reported; the kernel is thrown away.
    failed = true;
    outwards(target, [&] {
      result = splat(number(tensorType(value).getElementType(), 0), indices);
    });
  }
  loc = outer;
  scopes[target].known[key] = result;
  return result;
}

Value Emitter::splat(Value scalar, ArrayRef<Value> indices) {
  SmallVector<Value> ranges = rangesOf(indices);
  if (ranges.empty())
    return scalar;
  return FillOp::create(at(), loc, typeOver(scalar.getType(), indices), scalar,
                        ranges);
}

/// A tile (or scalar) whose axes are those ranges of `indices` that stand at
/// `axes`, over all ranges of `indices`.
Value Emitter::spread(Value tile, ArrayRef<int64_t> axes,
                      ArrayRef<Value> indices) {
  if (!isa<RankedTensorType>(tile.getType()))
    return splat(tile, indices);
  SmallVector<int64_t> positions;
  SmallVector<Value> added;
  int64_t next = 0;
  for (auto [i, index] : llvm::enumerate(indices)) {
    if (!isRange(index))
      continue;
    if (llvm::is_contained(axes, int64_t(i)))
      positions.push_back(next);
    else
      added.push_back(index);
    ++next;
  }
  if (added.empty())
    return tile;
  Type type = typeOver(getElementTypeOrSelf(tile), indices);
  return BroadcastOp::create(at(), loc, type, tile, positions, added);
}

Value Emitter::evaluate(Value value, ArrayRef<Value> indices) {
  if (Value argument = arguments.lookup(value)) {
    if (!isa<MemRefType>(argument.getType()))
      return argument;
    Type element = cast<MemRefType>(argument.getType()).getElementType();
    return LoadOp::create(at(), loc, typeOver(element, indices), argument,
                          indices, Value(), ArrayAttr(), TypedAttr(),
                          DictionaryAttr());
  }
  Operation *op = value.getDefiningOp();
  if (schedule::isElementwise(op)) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(emit(operand, indices));
    return evaluateElementwise(op, operands,
                               tensorType(value).getElementType());
  }
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](graph::ConstantOp constant) -> Value {
        auto elements = cast<DenseElementsAttr>(constant.getValue());
        auto scalar = arith::ConstantOp::create(
            at(), loc, cast<TypedAttr>(elements.getSplatValue<Attribute>()));
        return splat(scalar, indices);
      })
      .Case([&](graph::ArangeOp arange) -> Value {
        Type element = arange.getType().getElementType();
        Value positions =
            isRange(indices[0])
                ? Value(IndexOp::create(at(), loc,
                                        typeOver(builder.getI64Type(), indices),
                                        indices[0]))
                : Value(arith::IndexCastOp::create(
                      at(), loc, builder.getI64Type(), indices[0]));
        return convert(positions, element);
      })
      .Case([&](graph::BroadcastOp broadcast) -> Value {
        SmallVector<Value> inner;
        SmallVector<int64_t> axes;
        for (auto [i, axis] : llvm::enumerate(broadcast.getAxes())) {
          bool repeated = tensorType(broadcast.getInput()).getDimSize(i) == 1 &&
                          broadcast.getType().getDimSize(axis) != 1;
          inner.push_back(repeated ? position(0) : indices[axis]);
          if (!repeated)
            axes.push_back(axis);
        }
        return spread(emit(broadcast.getInput(), inner), axes, indices);
      })
      .Case([&](graph::TransposeOp transpose) -> Value {
        ArrayRef<int64_t> permutation = transpose.getPermutation();
        SmallVector<Value> inner(indices.size());
        for (auto [i, axis] : llvm::enumerate(permutation))
          inner[axis] = indices[i];
        Value tile = emit(transpose.getInput(), inner);
        // The same among ranges only.
        SmallVector<int64_t> order;
        for (auto [i, axis] : llvm::enumerate(permutation))
          if (isRange(indices[i]))
            order.push_back(llvm::count_if(
                ArrayRef<Value>(inner).take_front(axis), isRange));
        if (llvm::is_sorted(order))
          return tile;
        return TransposeOp::create(
            at(), loc, typeOver(getElementTypeOrSelf(tile), indices), tile,
            order);
      })
      .Case([&](graph::ReshapeOp reshape) -> Value {
        SmallVector<Value> inner(rankOf(reshape.getInput()), position(0));
        SmallVector<int64_t> axes;
        auto unit = schedule::getUnitReshape(reshape);
        if (!unit) {
          reshape.emitOpError() << "moves elements inside a kernel";
          return {};
        }
        for (auto [i, axis] : llvm::enumerate(*unit))
          if (axis >= 0) {
            inner[axis] = indices[i];
            axes.push_back(i);
          }
        return spread(emit(reshape.getInput(), inner), axes, indices);
      })
      .Case([&](graph::TakeOp take) -> Value {
        int64_t axis = take.getAxis(), count = rankOf(take.getIndices());
        Value lookup = emit(take.getIndices(), indices.slice(axis, count));
        SmallVector<Value> inner(indices.take_front(axis));
        inner.push_back(Value());
        llvm::append_range(inner, indices.drop_front(axis + count));
        return evaluateLookup(take.getInput(), lookup, axis, inner,
                              /*tied=*/false);
      })
      .Case([&](graph::GatherOp gather) -> Value {
        return evaluateLookup(gather.getInput(),
                              emit(gather.getIndices(), indices),
                              gather.getAxis(), SmallVector<Value>(indices),
                              /*tied=*/true);
      })
      .Case([&](graph::ReduceOp reduce) -> Value {
        return reduce.getKind() >= graph::ReduceKind::Argmax
                   ? evaluateArg(reduce, indices)
                   : evaluateReduce(reduce, indices);
      })
      .Case([&](graph::GemmOp gemm) { return evaluateGemm(gemm, indices); })
      .Default([&](Operation *other) -> Value {
        other->emitOpError() << "cannot be computed inside a kernel";
        return {};
      });
}

/// Data at `indices`, with those of axis `axis` looked up. With `tied` the
/// lookup spans all ranges of `indices` (gather), else axes of its own (take).
Value Emitter::evaluateLookup(Value data, Value lookup, int64_t axis,
                              SmallVector<Value> indices, bool tied) {
  Value view = arguments.lookup(data);
  Type element = cast<MemRefType>(view.getType()).getElementType();
  lookup = convert(lookup, builder.getI64Type());
  auto tile = dyn_cast<RankedTensorType>(lookup.getType());
  if (!tile) {
    // A single position: checked by hand.
    indices[axis] =
        arith::IndexCastOp::create(at(), loc, builder.getIndexType(), lookup);
    Value limit = arith::IndexCastOp::create(at(), loc, builder.getI64Type(),
                                             extent(data, axis));
    // As unsigned, negative positions are too large.
    Value good = arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::ult,
                                       lookup, limit);
    Type type = typeOver(element, indices);
    auto branch = scf::IfOp::create(at(), loc, type, good, true);
    OpBuilder then = branch.getThenBodyBuilder();
    Value loaded = LoadOp::create(then, loc, type, view, indices, Value(),
                                  ArrayAttr(), TypedAttr(), DictionaryAttr());
    scf::YieldOp::create(then, loc, loaded);
    scopes.push_back({&branch.getElseRegion().front(), branch, nullptr, {}});
    Value zero = splat(number(element, 0), indices);
    scf::YieldOp::create(at(), loc, zero);
    scopes.pop_back();
    return branch.getResult(0);
  }
  Type type;
  ArrayAttr spans;
  SmallVector<int64_t> shape;
  if (tied) {
    // Which axes of the result each index spans.
    type = RankedTensorType::get(tile.getShape(), element);
    SmallVector<Attribute> each;
    int64_t next = 0;
    for (auto [i, index] : llvm::enumerate(indices)) {
      SmallVector<int64_t> mine;
      if (isRange(index))
        mine.push_back(next++);
      if (int64_t(i) == axis)
        mine = llvm::to_vector(llvm::seq<int64_t>(0, tile.getRank()));
      each.push_back(builder.getI64ArrayAttr(mine));
    }
    bool alone = tile.getRank() == 1 && isRange(indices[axis]);
    if (!alone)
      spans = builder.getArrayAttr(each);
  } else {
    for (auto [i, index] : llvm::enumerate(indices)) {
      if (int64_t(i) == axis)
        llvm::append_range(shape, tile.getShape());
      else if (isRange(index))
        shape.push_back(cast<RangeType>(index.getType()).getSize());
    }
    type = RankedTensorType::get(shape, element);
  }
  indices[axis] = lookup;
  return LoadOp::create(at(), loc, type, view, indices, Value(), spans,
                        TypedAttr(), DictionaryAttr());
}

Value Emitter::evaluateReduce(graph::ReduceOp op, ArrayRef<Value> indices) {
  Value input = op.getInput();
  int64_t rank = rankOf(input);
  ReduceKind kind = tileKind(op.getKind());
  Type element = tensorType(input).getElementType();
  SmallVector<Value> inner(rank);
  SmallVector<int64_t> loops;
  size_t next = 0;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (llvm::is_contained(op.getAxes(), axis))
      loops.push_back(axis);
    else
      inner[axis] = indices[next++];
  }
  Value start = splat(neutral(kind, element), indices);
  std::function<Value(size_t, Value)> nest = [&](size_t level, Value acc) {
    if (level == loops.size()) {
      Value tile = emit(input, inner);
      if (loops.empty() || !isRange(inner[loops.back()]))
        return combine(kind, acc, tile);
      int64_t position = llvm::count_if(
          ArrayRef<Value>(inner).take_front(loops.back()), isRange);
      Value part =
          ReduceOp::create(at(), loc, acc.getType(), kind, tile, position);
      return combine(kind, acc, part);
    }
    int64_t axis = loops[level];
    // Vectors run along the last axis; loops over others take single steps.
    int64_t size = axis == rank - 1 && reductionTile > 1 ? reductionTile : 0;
    return loop(position(0), extent(input, axis), size, acc,
                [&](Value index, ValueRange carried) -> SmallVector<Value> {
                  inner[axis] = index;
                  return {nest(level + 1, carried[0])};
                })[0];
  };
  return nest(0, start);
}

/// Where `tile` has `value`, its extreme along `axis`, or NaN: the first
/// position. A least position is a vector's work, unlike an extreme with its
/// position.
Value Emitter::firstOf(Value tile, Value value, ArrayRef<Value> indices,
                       int64_t axis) {
  Type i64 = builder.getI64Type();
  SmallVector<int64_t> others;
  for (int64_t other = 0; other < int64_t(indices.size()); ++other)
    if (other != axis)
      others.push_back(other);
  Value same = spread(value, others, indices), hit;
  if (isa<FloatType>(getElementTypeOrSelf(tile))) {
    using P = arith::CmpFPredicate;
    hit = arith::OrIOp::create(
        at(), loc, arith::CmpFOp::create(at(), loc, P::OEQ, tile, same),
        arith::CmpFOp::create(at(), loc, P::UNO, tile, tile));
  } else {
    hit =
        arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::eq, tile, same);
  }
  Value place =
      IndexOp::create(at(), loc, typeOver(i64, indices[axis]), indices[axis]);
  Value none = splat(neutral(ReduceKind::Min, i64), indices);
  Value places = arith::SelectOp::create(at(), loc, hit,
                                         spread(place, {axis}, indices), none);
  SmallVector<Value> kept(indices);
  kept.erase(kept.begin() + axis);
  return ReduceOp::create(
      at(), loc, llvm::any_of(kept, isRange) ? typeOver(i64, kept) : i64,
      ReduceKind::Min, places,
      llvm::count_if(indices.take_front(axis), isRange));
}

/// The position of the first largest (or smallest) element; NaN is beyond both.
Value Emitter::evaluateArg(graph::ReduceOp op, ArrayRef<Value> indices) {
  Value input = op.getInput();
  int64_t rank = rankOf(input), axis = op.getAxes()[0];
  bool largest = op.getKind() == graph::ReduceKind::Argmax;
  ReduceKind kind = largest ? ReduceKind::Max : ReduceKind::Min;
  Type element = tensorType(input).getElementType(), i64 = builder.getI64Type();
  if (isa<FloatType>(element) && !element.isF64())
    element = builder.getF32Type(); // 16 bits are compared so
  SmallVector<Value> inner(indices);
  inner.insert(inner.begin() + axis, Value());
  Value best = splat(neutral(kind, element), indices);
  // -1: none yet, so that the first element wins even against itself.
  Value where = splat(number(i64, -1), indices);
  int64_t size = axis == rank - 1 && reductionTile > 1 ? reductionTile : 0;
  SmallVector<Value> result = loop(
      position(0), extent(input, axis), size, {best, where},
      [&](Value index, ValueRange carried) -> SmallVector<Value> {
        inner[axis] = index;
        Value tile = convert(emit(input, inner), element), value = tile, found;
        if (size > 0) {
          int64_t at_ =
              llvm::count_if(ArrayRef<Value>(inner).take_front(axis), isRange);
          value = ReduceOp::create(at(), loc, carried[0].getType(), kind, tile,
                                   at_);
          found = firstOf(tile, value, inner, axis);
        } else {
          found =
              splat(arith::IndexCastOp::create(at(), loc, i64, index), indices);
        }
        Value better;
        if (isa<FloatType>(element)) {
          using P = arith::CmpFPredicate;
          // Unordered wins over a number, nothing wins over NaN.
          better = arith::CmpFOp::create(at(), loc, largest ? P::UGT : P::ULT,
                                         value, carried[0]);
          Value number =
              arith::CmpFOp::create(at(), loc, P::ORD, carried[0], carried[0]);
          better = arith::AndIOp::create(at(), loc, better, number);
        } else {
          using P = arith::CmpIPredicate;
          bool boolean = element.isInteger(1);
          better = arith::CmpIOp::create(at(), loc,
                                         largest ? (boolean ? P::ugt : P::sgt)
                                                 : (boolean ? P::ult : P::slt),
                                         value, carried[0]);
        }
        Value none =
            arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::slt,
                                  carried[1], splat(number(i64, 0), indices));
        better = arith::OrIOp::create(at(), loc, better, none);
        return {arith::SelectOp::create(at(), loc, better, value, carried[0]),
                arith::SelectOp::create(at(), loc, better, found, carried[1])};
      });
  Value first = arith::MaxSIOp::create(at(), loc, result[1],
                                       splat(number(i64, 0), indices));
  return convert(first, tensorType(op.getResult()).getElementType());
}

Value Emitter::evaluateGemm(graph::GemmOp op, ArrayRef<Value> indices) {
  int64_t rank = rankOf(op.getResult());
  Type element = tensorType(op.getLhs()).getElementType();
  Type accumulate = element;
  if (op.getAccumulate())
    accumulate = *op.getAccumulate();
  else if (isa<FloatType>(element) && !element.isF64())
    accumulate = builder.getF32Type();
  Value start = splat(number(accumulate, 0), indices);
  Value total =
      loop(position(0), extent(op.getLhs(), rank - 1), reductionTile, start,
           [&](Value k, ValueRange carried) -> SmallVector<Value> {
             SmallVector<Value> lhs(indices), rhs(indices);
             lhs[rank - 1] = k;
             rhs[rank - 2] = k;
             Value a = emit(op.getLhs(), lhs), b = emit(op.getRhs(), rhs);
             return {MmaOp::create(at(), loc, carried[0].getType(), a, b,
                                   carried[0], op.getPrecision())};
           })[0];
  return convert(total, tensorType(op.getResult()).getElementType());
}

void Emitter::store(Value tile, Value view, ArrayRef<Value> indices) {
  StoreOp::create(at(), loc, tile, view, indices, Value(), ArrayAttr(),
                  DictionaryAttr());
}
