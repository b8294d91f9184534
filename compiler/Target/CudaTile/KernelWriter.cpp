//===- KernelWriter.cpp - One kernel on its way to bytecode ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CudaTile/KernelWriter.h"

#include "compiler/Tile/Transforms/MaskAbsent.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;
using namespace tessera::target::cudatile;

LogicalResult KernelWriter::refuse(Operation *op, const Twine &what) {
  return tile::refuseOn(op, what, "in CUDA Tile IR");
}

//===----------------------------------------------------------------------===//
// Types and scalars
//===----------------------------------------------------------------------===//

Scalar tessera::target::scalarOf(Type type) {
  type = getElementTypeOrSelf(type);
  if (type.isIndex() || type.isInteger(64))
    return I64;
  if (type.isInteger(1))
    return I1;
  if (type.isInteger(8))
    return I8;
  if (type.isInteger(16))
    return I16;
  if (type.isInteger(32))
    return I32;
  if (type.isF16())
    return F16;
  if (type.isBF16())
    return BF16;
  return type.isF64() ? F64 : F32;
}

cudatile::Shape tessera::target::paddedShape(Type type) {
  Shape shape;
  if (auto tile = dyn_cast<RankedTensorType>(type))
    for (int64_t size : tile.getShape())
      shape.push_back(int64_t(llvm::PowerOf2Ceil(uint64_t(size))));
  return shape;
}

TypeId KernelWriter::typeOf(Scalar element, const Shape &shape) {
  return out.tile(out.scalar(element), shape);
}

TypeId KernelWriter::typeOf(Type type) {
  return typeOf(scalarOf(type), paddedShape(type));
}

ValueId KernelWriter::i64(int64_t value) {
  Bytes bytes;
  for (int i = 0; i < 8; ++i)
    bytes += char(uint64_t(value) >> (8 * i));
  return out.constant(typeOf(I64, {}), bytes);
}

ValueId KernelWriter::integerOp(Opcode code, ValueId a, ValueId b,
                                std::vector<uint8_t> attributes) {
  return out.op(code, typeOf(I64, {}), attributes, {a, b});
}
ValueId KernelWriter::add(ValueId a, ValueId b) {
  return integerOp(AddI, a, b, {0});
}
ValueId KernelWriter::sub(ValueId a, ValueId b) {
  return integerOp(SubI, a, b, {0});
}
ValueId KernelWriter::mul(ValueId a, ValueId b) {
  return integerOp(MulI, a, b, {0});
}
ValueId KernelWriter::minimum(ValueId a, ValueId b) {
  return integerOp(MinI, a, b, {1});
}
ValueId KernelWriter::divide(ValueId a, ValueId b, bool up) {
  // Signed; towards zero or towards plus infinity.
  return integerOp(DivI, a, b, {1, uint8_t(up ? 3 : 1)});
}
ValueId KernelWriter::remainder(ValueId a, ValueId b) {
  return integerOp(RemI, a, b, {1});
}

ValueId KernelWriter::spread(ValueId value, Scalar element, const Shape &ones,
                             const Shape &shape) {
  if (shape.empty())
    return value;
  ValueId reshaped = out.op(Reshape, typeOf(element, ones), {}, {value});
  if (ones == shape)
    return reshaped;
  return out.op(Broadcast, typeOf(element, shape), {}, {reshaped});
}

//===----------------------------------------------------------------------===//
// Programs, ranges, control
//===----------------------------------------------------------------------===//

KernelWriter::Range KernelWriter::makeRange(ValueId start, ValueId extent,
                                            int64_t size) {
  Range range;
  range.start = start;
  range.size = size;
  range.stop = minimum(add(start, i64(size)), extent);
  return range;
}

/// First axis slowest; `group` programs of the first axis run before the second
/// moves on. As on the other machines, the grid has one axis.
void KernelWriter::writeProgram(tile::ProgramOp op) {
  TypeId id = typeOf(I32, {});
  out.begin(GetTileBlockId);
  for (int i = 0; i < 3; ++i)
    out.number(id);
  ValueId block = out.result();
  out.result();
  out.result();
  ValueId rest = out.op(ExtI, typeOf(I64, {}), {0}, {block});
  SmallVector<ValueId> counts, ids(op.getIds().size());
  for (auto [extent, tile] : llvm::zip(op.getExtents(), op.getTiles()))
    counts.push_back(tile ? divide(values[extent], i64(tile), /*up=*/true)
                          : values[extent]);
  int64_t grouped = op.getGroup() > 1 && counts.size() >= 2 ? 2 : 0;
  for (int64_t axis = int64_t(counts.size()) - 1; axis >= grouped; --axis) {
    if (axis == 0) {
      ids[0] = rest;
      break;
    }
    ids[axis] = remainder(rest, counts[axis]);
    rest = divide(rest, counts[axis]);
  }
  if (grouped) {
    ValueId group = i64(op.getGroup());
    ValueId width = mul(group, counts[1]);
    ValueId first = mul(divide(rest, width), group);
    ValueId rows = minimum(sub(counts[0], first), group);
    ValueId inside = remainder(rest, width);
    ids[0] = add(first, remainder(inside, rows));
    ids[1] = divide(inside, rows);
  }
  for (auto [number, result, extent, tile] :
       llvm::zip(ids, op.getIds(), op.getExtents(), op.getTiles())) {
    values[result] = number;
    if (!tile)
      continue;
    Range range = makeRange(mul(number, i64(tile)), values[extent], tile);
    range.number = number;
    range.isTile = true;
    ranges[result] = range;
  }
}

LogicalResult KernelWriter::writeFor(tile::ForOp op) {
  std::vector<TypeId> types;
  for (Type type : op.getResultTypes())
    types.push_back(typeOf(type));
  int64_t size = op.getSize();
  ValueId start = values[op.getStart()], stop = values[op.getStop()];
  // Counted in tiles where they start at 0, so that the number is at hand.
  bool isTile = getConstantIntValue(op.getStart()) == 0 &&
                (op.getStop().getDefiningOp<tile::DimOp>() ||
                 getConstantIntValue(op.getStop()));
  ValueId lower = isTile ? i64(0) : start;
  ValueId upper = isTile ? divide(stop, i64(size), /*up=*/true) : stop;
  ValueId step = i64(isTile ? 1 : size);
  out.begin(For);
  out.number(types.size());
  for (TypeId type : types)
    out.number(type);
  out.number(3 + op.getInits().size());
  for (ValueId operand : {lower, upper, step})
    out.number(operand);
  for (Value init : op.getInits())
    out.number(values[init]);
  out.number(1); // regions
  std::vector<TypeId> arguments = types;
  arguments.insert(arguments.begin(), typeOf(I64, {}));
  bool good = true;
  out.region(arguments, [&](ValueId first) {
    ValueId at = isTile ? mul(first, i64(size)) : first;
    Range range = makeRange(at, stop, size);
    range.number = first;
    range.isTile = isTile;
    ranges[op.getRange()] = range;
    for (auto [i, argument] : llvm::enumerate(op.getCarried()))
      values[argument] = first + 1 + ValueId(i);
    good = succeeded(writeBlock(op.getBody().front()));
    auto yield = cast<tile::YieldOp>(op.getBody().front().getTerminator());
    out.begin(Continue);
    out.number(0);
    out.number(yield.getValues().size());
    for (Value value : yield.getValues())
      out.number(values[value]);
  });
  for (Value result : op.getResults())
    values[result] = out.result();
  return success(good);
}

LogicalResult KernelWriter::writeIf(scf::IfOp op) {
  out.begin(If);
  out.number(op.getNumResults());
  for (Type type : op.getResultTypes())
    out.number(typeOf(type));
  out.number(values[op.getCondition()]);
  out.number(2); // regions
  bool good = true;
  for (Region *region : {&op.getThenRegion(), &op.getElseRegion()})
    out.region({}, [&](ValueId) {
      ValueRange yielded;
      if (!region->empty()) {
        good &= succeeded(writeBlock(region->front()));
        yielded = region->front().getTerminator()->getOperands();
      }
      out.begin(Yield);
      out.number(0);
      out.number(yielded.size());
      for (Value value : yielded)
        out.number(values[value]);
    });
  for (Value result : op.getResults())
    values[result] = out.result();
  return success(good);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

FailureOr<ValueId> KernelWriter::partition(Operation *op, Value view,
                                           OperandRange indices, Shape &shape,
                                           SmallVector<ValueId> &index) {
  ValueId zero = i64(0);
  for (Value at : indices) {
    if (isa<RankedTensorType>(at.getType())) {
      (void)refuse(op, "a gather or scatter");
      return failure();
    }
    if (!isa<tile::RangeType>(at.getType())) {
      shape.push_back(1);
      index.push_back(values[at]);
      continue;
    }
    const Range &range = ranges[at];
    // (C1)
    if (range.isTile && llvm::isPowerOf2_64(uint64_t(range.size))) {
      shape.push_back(range.size);
      index.push_back(range.number);
      continue;
    }
    // The whole of a small dim.
    auto whole = at.getDefiningOp<tile::RangeAtOp>();
    if (!whole || getConstantIntValue(whole.getStart()) != 0) {
      (void)refuse(op, "a range that does not start at a multiple of a power "
                       "of two, or ends before its dim,");
      return failure();
    }
    shape.push_back(int64_t(llvm::PowerOf2Ceil(uint64_t(range.size))));
    index.push_back(zero);
  }
  View &memory = views[view];
  return out.op(MakePartitionView, out.partitionView(shape, memory.type), {},
                {memory.tensor});
}

LogicalResult KernelWriter::writeLoad(tile::LoadOp op) {
  if (op.getMask())
    return refuse(op, "a masked load");
  Shape shape;
  SmallVector<ValueId> index;
  FailureOr<ValueId> view =
      partition(op, op.getView(), op.getIndices(), shape, index);
  if (failed(view))
    return failure();
  Scalar element = scalarOf(op.getResult().getType());
  out.begin(LoadViewTko);
  out.number(2);
  out.number(typeOf(element, shape));
  out.number(out.scalar(Token));
  out.number(4); // flags: there is a token
  out.byte(0);   // weak
  out.number(*view);
  out.number(index.size());
  for (ValueId at : index)
    out.number(at);
  out.number(token);
  ValueId loaded = out.result();
  out.result(); // its token
  Shape wanted = paddedShape(op.getResult().getType());
  if (wanted != shape)
    loaded = out.op(Reshape, typeOf(element, wanted), {}, {loaded});
  values[op.getResult()] = loaded;
  return success();
}

LogicalResult KernelWriter::writeStore(tile::StoreOp op) {
  if (op.getMask())
    return refuse(op, "a masked store");
  Shape shape;
  SmallVector<ValueId> index;
  FailureOr<ValueId> view =
      partition(op, op.getView(), op.getIndices(), shape, index);
  if (failed(view))
    return failure();
  Type type = op.getValue().getType();
  ValueId value = values[op.getValue()];
  if (paddedShape(type) != shape)
    value = out.op(Reshape, typeOf(scalarOf(type), shape), {}, {value});
  out.begin(StoreViewTko);
  out.number(1);
  out.number(out.scalar(Token));
  out.number(4); // flags: there is a token
  out.byte(0);   // weak
  out.number(value);
  out.number(*view);
  out.number(index.size());
  for (ValueId at : index)
    out.number(at);
  out.number(token);
  out.result();
  return success();
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The neutral element as a tagged attribute.
static Bytes identity(cudatile::Module &out, tile::ReduceKind kind, Type type) {
  using tile::ReduceKind;
  Bytes bytes;
  TypeId id = out.scalar(scalarOf(type));
  if (auto floats = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &form = floats.getFloatSemantics();
    APFloat value = APFloat::getZero(form);
    if (kind == ReduceKind::Prod)
      value = APFloat(form, 1);
    else if (kind == ReduceKind::Max || kind == ReduceKind::Min)
      value = APFloat::getInf(form, kind == ReduceKind::Max);
    bytes += char(2);
    writeVarint(bytes, id);
    // Zigzag, of a number that is never negative.
    writeVarint(bytes, value.bitcastToAPInt().getZExtValue() << 1);
    return bytes;
  }
  unsigned width = type.getIntOrFloatBitWidth();
  APInt value = APInt::getZero(width);
  if (kind == ReduceKind::Prod)
    value = APInt(width, 1);
  else if (kind == ReduceKind::And || (kind == ReduceKind::Min && width == 1))
    value = APInt::getAllOnes(width);
  else if (kind == ReduceKind::Max && width > 1)
    value = APInt::getSignedMinValue(width);
  else if (kind == ReduceKind::Min)
    value = APInt::getSignedMaxValue(width);
  bytes += char(1);
  writeVarint(bytes, id);
  writeVarint(bytes, value.getZExtValue());
  return bytes;
}

void KernelWriter::writeReduce(tile::ReduceOp op) {
  using tile::ReduceKind;
  Type element = op.getInput().getType().getElementType();
  bool isFloat = isa<FloatType>(element);
  TypeId scalar = typeOf(scalarOf(element), {});
  out.begin(Reduce);
  out.number(1);
  out.number(typeOf(op.getResult().getType()));
  out.number(op.getAxis());
  out.number(1); // identities
  out.attribute(identity(out, op.getKind(), element));
  out.number(1); // operands
  out.number(values[op.getInput()]);
  out.number(1); // regions
  out.region({scalar, scalar}, [&](ValueId first) {
    Opcode code = AddI;
    std::vector<uint8_t> attributes;
    switch (op.getKind()) {
    case ReduceKind::Sum:
      code = isFloat ? AddF : AddI;
      attributes =
          isFloat ? std::vector<uint8_t>{0, 0} : std::vector<uint8_t>{0};
      break;
    case ReduceKind::Prod:
      code = isFloat ? MulF : MulI;
      attributes =
          isFloat ? std::vector<uint8_t>{0, 0} : std::vector<uint8_t>{0};
      break;
    case ReduceKind::Max: // NaN propagates; signed
      code = isFloat ? MaxF : MaxI;
      attributes = {1};
      break;
    case ReduceKind::Min:
      code = isFloat ? MinF : MinI;
      attributes = {1};
      break;
    case ReduceKind::And:
      code = AndI;
      break;
    case ReduceKind::Or:
      code = OrI;
      break;
    default:
      code = XOrI;
    }
    if (element.isInteger(1) && (code == MaxI || code == MinI)) {
      code = code == MaxI ? OrI : AndI;
      attributes.clear();
    }
    ValueId both = out.op(code, scalar, attributes, {first, first + 1});
    out.begin(Yield);
    out.number(0);
    out.number(1);
    out.number(both);
  });
  values[op.getResult()] = out.result();
}

LogicalResult KernelWriter::writeOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<tile::ReturnOp, tile::YieldOp, scf::YieldOp>(
          [](auto) { return success(); })
      .Case([&](tile::ProgramOp program) {
        return writeProgram(program), success();
      })
      .Case([&](tile::RangeAtOp range) {
        ranges[range] =
            makeRange(values[range.getStart()], values[range.getExtent()],
                      range.getType().getSize());
        return success();
      })
      .Case([&](tile::RangeStartOp start) {
        values[start] = ranges[start.getRange()].start;
        return success();
      })
      .Case([&](tile::RangeStopOp stop) {
        values[stop] = ranges[stop.getRange()].stop;
        return success();
      })
      .Case([&](tile::DimOp dim) {
        values[dim] = views[dim.getView()].sizes[dim.getAxis()];
        return success();
      })
      .Case([&](tile::IndexOp index) {
        Shape shape = paddedShape(index.getType());
        TypeId type = typeOf(I64, shape);
        ValueId count = out.op(Iota, type, {}, {});
        ValueId start =
            spread(ranges[index.getRange()].start, I64, Shape{1}, shape);
        values[index] = out.op(AddI, type, {0}, {count, start});
        return success();
      })
      .Case([&](tile::FillOp fill) {
        Shape shape = paddedShape(fill.getType());
        values[fill] = spread(values[fill.getValue()], scalarOf(fill.getType()),
                              Shape(shape.size(), 1), shape);
        return success();
      })
      .Case([&](tile::BroadcastOp broadcast) {
        Shape shape = paddedShape(broadcast.getType()), ones(shape.size(), 1);
        for (int64_t axis : broadcast.getAxes())
          ones[axis] = shape[axis];
        values[broadcast] = spread(values[broadcast.getInput()],
                                   scalarOf(broadcast.getType()), ones, shape);
        return success();
      })
      .Case([&](tile::TransposeOp transpose) {
        out.begin(Permute);
        out.number(typeOf(transpose.getType()));
        out.integers(Shape(transpose.getPermutation().begin(),
                           transpose.getPermutation().end()),
                     4);
        out.number(values[transpose.getInput()]);
        values[transpose] = out.result();
        return success();
      })
      .Case([&](tile::ReduceOp reduce) -> LogicalResult {
        if (reduce.getKind() == tile::ReduceKind::Argmax ||
            reduce.getKind() == tile::ReduceKind::Argmin)
          return refuse(reduce, tile::wordFor(reduce));
        return writeReduce(reduce), success();
      })
      .Case([&](tile::MmaOp mma) -> LogicalResult {
        auto type = dyn_cast<RankedTensorType>(mma.getResult().getType());
        Type element = mma.getLhs().getType().getElementType();
        if (!type || type.getRank() != 2 || !type.getElementType().isF32() ||
            !(element.isF16() || element.isBF16())) // (C2)
          return mma.emitError() << "not yet: @ of " << tile::nameOf(element)
                                 << " in CUDA Tile IR; use fp16 or bf16 tiles "
                                    "with two axes";
        values[mma.getResult()] = out.op(
            MmaF, typeOf(type), {},
            {values[mma.getLhs()], values[mma.getRhs()], values[mma.getAcc()]});
        return success();
      })
      .Case([&](tile::LoadOp load) { return writeLoad(load); })
      .Case([&](tile::StoreOp store) { return writeStore(store); })
      .Case([&](tile::ForOp loop) { return writeFor(loop); })
      .Case([&](scf::IfOp branch) { return writeIf(branch); })
      .Default([&](Operation *other) -> LogicalResult {
        if (isa_and_present<arith::ArithDialect, math::MathDialect>(
                other->getDialect()))
          return writeElementwise(other);
        return refuse(other, tile::wordFor(other));
      });
}

LogicalResult KernelWriter::writeBlock(Block &block) {
  for (Operation &op : block)
    if (failed(writeOp(&op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

/// Views become tensor views; sizes and strides that are known are constants
/// of their type.
void KernelWriter::writeParameters() {
  ValueId next = 0;
  for (BlockArgument argument : func.getBody().getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type) {
      values[argument] = next++;
      continue;
    }
    SmallVector<int64_t> strides;
    int64_t offset;
    (void)type.getStridesAndOffset(strides, offset);
    ValueId pointer = next++;
    View view;
    Shape sizes, steps;
    SmallVector<ValueId> dynamicSizes, dynamicStrides;
    auto known = [](int64_t value) { return !ShapedType::isDynamic(value); };
    for (int64_t size : type.getShape()) {
      sizes.push_back(known(size) ? size : cudatile::Module::dynamic);
      if (!known(size))
        dynamicSizes.push_back(next);
      view.sizes.push_back(next++);
    }
    for (int64_t stride : strides) {
      steps.push_back(known(stride) ? stride : cudatile::Module::dynamic);
      if (!known(stride))
        dynamicStrides.push_back(next);
      ++next;
    }
    view.type = out.tensorView(scalarOf(type.getElementType()), sizes, steps);
    out.begin(MakeTensorView);
    out.number(1);
    out.number(view.type);
    out.number(pointer);
    for (auto *operands : {&dynamicSizes, &dynamicStrides}) {
      out.number(operands->size());
      for (ValueId operand : *operands)
        out.number(operand);
    }
    view.tensor = out.result();
    views[argument] = view;
  }
  out.begin(MakeToken);
  out.number(out.scalar(Token));
  token = out.result();
}

LogicalResult KernelWriter::run() {
  // (C3) Loads and stores are not ordered, so nothing may be both.
  llvm::SmallPtrSet<Value, 4> written;
  func.walk([&](tile::StoreOp store) { written.insert(store.getView()); });
  WalkResult both = func.walk([&](tile::LoadOp load) -> WalkResult {
    if (written.contains(load.getView()))
      return refuse(load, "an array that is read and written");
    return WalkResult::advance();
  });
  if (both.wasInterrupted())
    return failure();
  std::vector<TypeId> parameters;
  for (Type type : func.getArgumentTypes()) {
    auto view = dyn_cast<MemRefType>(type);
    if (!view) {
      parameters.push_back(typeOf(type));
      continue;
    }
    parameters.push_back(out.tile(out.pointer(scalarOf(view)), {}));
    parameters.insert(parameters.end(), 2 * view.getRank(), typeOf(I64, {}));
  }
  bool good = true;
  out.entry(func.getSymName().str(), parameters, [&] {
    writeParameters();
    good = succeeded(writeBlock(func.getBody().front()));
    out.begin(Return);
    out.number(0);
    out.number(0);
  });
  return success(good);
}
