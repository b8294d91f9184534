//===- LowerShared.cpp - Shared memory: places, fragments, products -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Offsets in swizzled memory: a coordinate is a constant plus bits of the
// thread. In the layout's atom they are XORed, across its grid they add:
//
//     offset = (xor(thread) ^ xor(constant)) + sum(thread) + sum(constant)
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Layout/GpuTiles.h"
#include "compiler/Target/SIMT/Lowering/GlobalAccess.h"
#include "compiler/Target/SIMT/Mapping/BlockLayouts.h"
#include "compiler/Target/SIMT/Mapping/Scratch.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;
using layout::Index;
using layout::Layout;

/// The parts of a coordinate inside the atom and in the grid.
std::pair<int64_t, int64_t> KernelLowering::splitOffset(const Layout &memory,
                                                        ArrayRef<int64_t> at) {
  Index low(2), high(2);
  for (int d : {0, 1}) {
    std::optional<int> in = memory.findIn(d ? "dim1" : "dim0");
    int64_t size = in ? memory.ins()[*in].size() : 1;
    low[*in] = at[d] % size;
    high[*in] = at[d] - at[d] % size;
  }
  return {(*memory.apply(low))[0], (*memory.apply(high))[0]};
}

std::pair<Value, Value>
KernelLowering::memoryOffset(const Layout &memory, ArrayRef<ThreadInput> inputs,
                             int64_t elementBytes) {
  Value mixed, sum;
  for (const ThreadInput &input : inputs) {
    SmallVector<int64_t> xors, sums;
    for (const Index &image : input.bits) {
      auto [low, high] = splitOffset(memory, image);
      xors.push_back(low * elementBytes);
      sums.push_back(high * elementBytes);
    }
    Value part = xorOf(input.input, xors);
    mixed =
        mixed ? Value(arith::XOrIOp::create(builder, loc, mixed, part)) : part;
    Value more = sumOf(input.input, sums);
    sum = sum ? add(sum, more) : more;
  }
  return {mixed, sum};
}

/// Bytes of one slot. A buffer with three axes is a ring.
static int64_t slotBytes(tile::BufferType type) {
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  for (int64_t size : type.getShape().take_back(2))
    bytes *= size;
  return bytes;
}

Value KernelLowering::slotOffset(Value slot, tile::BufferType type) {
  if (!slot)
    return Value();
  Value number = arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                            scalars.lookup(slot));
  return mul(number, i32(slotBytes(type)));
}

Value KernelLowering::sharedPointer(tile::AllocOp buffer,
                                    std::pair<Value, Value> dynamic,
                                    const Layout &memory,
                                    ArrayRef<int64_t> constant,
                                    int64_t elementBytes, Value slot) {
  auto [low, high] = splitOffset(memory, constant);
  auto pointer = getSharedPointerType();
  Value mixed = dynamic.first;
  if (low)
    mixed = arith::XOrIOp::create(builder, loc, mixed, i32(low * elementBytes));
  Value at =
      LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), shared,
                          ValueRange(add(mixed, dynamic.second)));
  // Last what changes with the turn: all before it is computed once.
  if (slot)
    at = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), at,
                             ValueRange(slot));
  int64_t offset = *buffer.getOffset() + high * elementBytes;
  return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), at,
                             ArrayRef<LLVM::GEPArg>{int32_t(offset)});
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// Is it read where it is multiplied, by a loop of fused multiply-adds?
static bool isReadByFma(Value tile) {
  return llvm::any_of(tile.getUsers(), [](Operation *user) {
    if (auto mma = dyn_cast<tile::MmaOp>(user))
      return usesFma(mma);
    return isa<tile::TransposeOp>(user) && isReadByFma(user->getResult(0));
  });
}

/// Element by element, where the machine has no instruction for it.
void KernelLowering::lowerLocalLoad(tile::LocalLoadOp op) {
  if (isReadByFma(op.getResult()) || machine.lowerFragment(*this, op))
    return;
  auto buffer = op.getBuffer().getDefiningOp<tile::AllocOp>();
  tile::BufferType type = op.getBuffer().getType();
  const Layout &memory = type.getLayout().getValue();
  ThreadLayout fragment(op.getResult());
  Type element = type.getElementType();
  int64_t elementBytes = element.getIntOrFloatBitWidth() / 8;
  Value slot = slotOffset(op.getSlot(), type);
  ThreadInput inputs[] = {{lane, fragment.bits("lane")},
                          {warp, fragment.bits("warp")}};
  std::pair<Value, Value> dynamic = memoryOffset(memory, inputs, elementBytes);
  Type stored = elementBytes == 1 ? Type(builder.getIntegerType(8)) : element;
  Registers result;
  for (int64_t r = 0; r < fragment.registers(); ++r) {
    Value value = LLVM::LoadOp::create(builder, loc, stored,
                                       sharedPointer(buffer, dynamic, memory,
                                                     fragment.offset(r),
                                                     elementBytes, slot));
    if (stored != element)
      value = arith::BitcastOp::create(builder, loc, element, value);
    result.push_back(value);
  }
  tiles[op.getResult()] = result;
}

//===----------------------------------------------------------------------===//
// Products without tensor cores
//===----------------------------------------------------------------------===//

/// Steps along k that are written out in one turn of the loop.
static constexpr int64_t stepsPerTurn = 2;

struct KernelLowering::SharedOperand {
  tile::AllocOp buffer; // null: computed, on a board in scratch memory
  Value slot;           // bytes, or null
  Layout memory;
  std::pair<Value, Value> dynamic;
  bool swapped = false; // the buffer has the operand's axes the other way round
  Type element;
  // Computed operands.
  layout::Board board;
  int64_t first = 0;
  std::optional<ThreadLayout> layout; // of the result
  int64_t kAxis = 0, size = 0;        // of the other axis
  Value step;
};

KernelLowering::SharedOperand
KernelLowering::sharedOperand(Value operand, int64_t kAxis, Value step) {
  SharedOperand result;
  ThreadLayout layout(operand);
  int64_t k = cast<RankedTensorType>(operand.getType()).getDimSize(kAxis);
  while (auto transpose = operand.getDefiningOp<tile::TransposeOp>()) {
    result.swapped = !result.swapped;
    operand = transpose.getInput();
  }
  auto load = operand.getDefiningOp<tile::LocalLoadOp>();
  result.buffer = load.getBuffer().getDefiningOp<tile::AllocOp>();
  tile::BufferType type = load.getBuffer().getType();
  result.memory = type.getLayout().getValue();
  result.element = type.getElementType();
  result.slot = slotOffset(load.getSlot(), type);
  // The thread's rows or columns, and the bits of the step along k.
  SmallVector<ThreadInput> inputs = {
      {lane, layout.bits("lane")}, {warp, layout.bits("warp")}, {step, {}}};
  for (int64_t b = 1; b < k; b *= 2) {
    Index image = {0, 0};
    image[kAxis] = b < stepsPerTurn && k % stepsPerTurn == 0 ? 0 : b;
    inputs.back().bits.push_back(image);
  }
  if (result.swapped)
    for (ThreadInput &input : inputs)
      for (Index &image : input.bits)
        std::swap(image[0], image[1]);
  result.dynamic = memoryOffset(result.memory, inputs,
                                result.element.getIntOrFloatBitWidth() / 8);
  return result;
}

Value KernelLowering::loadShared(SharedOperand &operand, ArrayRef<int64_t> at) {
  if (operand.buffer) {
    Index place = {at[0], at[1]};
    if (operand.swapped)
      std::swap(place[0], place[1]);
    Value pointer = sharedPointer(
        operand.buffer, operand.dynamic, operand.memory, place,
        operand.element.getIntOrFloatBitWidth() / 8, operand.slot);
    return LLVM::LoadOp::create(builder, loc, operand.element, pointer);
  }
  // Plain rows: this thread's row (or column) times the row's length, plus k.
  int64_t bits = operand.element.getIntOrFloatBitWidth();
  int64_t bytes = std::clamp<int64_t>(bits / 8, 1, 4),
          other = 1 - operand.kAxis;
  Value mine = add(base(*operand.layout, other), i32(at[other]));
  Value step = add(operand.step, i32(at[operand.kAxis]));
  // The result may be held beyond the operand; what is there does not matter.
  if (operand.layout->get().outSize(other ? "dim1" : "dim0") > operand.size)
    mine = arith::SelectOp::create(builder, loc, less(mine, i32(operand.size)),
                                   mine, i32(0));
  Value place = add(mul(mine, i32(operand.board.weights[other][0])),
                    mul(step, i32(operand.board.weights[operand.kAxis][0])));
  return loadWords(operand.element, mul(place, i32(bytes)), operand.board,
                   operand.first);
}

void KernelLowering::lowerFma(tile::MmaOp op) {
  ThreadLayout layout(op.getResult());
  Type type = getElementTypeOrSelf(op.getResult());
  int64_t k = op.getLhs().getType().getDimSize(1);
  int64_t turn = k % stepsPerTurn == 0 ? stepsPerTurn : 1;
  // Computed operands go to shared memory first.
  std::optional<SharedOperand> computed[2];
  int64_t first = 0;
  if (tile::ExchangeAttr exchange = tile::getExchange(op)) {
    first = *exchange.getOffset();
    if (!exchange.getUnguarded())
      machine.barrier(builder, loc);
    for (int number : {0, 1}) {
      Value operand = op->getOperand(number);
      auto found = tiles.find(operand);
      if (found == tiles.end() || found->second.empty())
        continue;
      auto tile = cast<RankedTensorType>(operand.getType());
      SharedOperand on;
      on.board = layout::rowMajorBoard(tile.getShape().vec(), /*oddRows=*/true);
      on.first = first;
      on.element = tile.getElementType();
      on.layout = layout;
      on.kAxis = 1 - number;
      on.size = tile.getDimSize(number);
      put(found->second, ThreadLayout(operand), tile.getShape(), on.board,
          first);
      first += boardBytes(on.board, on.element);
      computed[number] = on;
    }
    machine.barrier(builder, loc);
  }
  auto loop = scf::ForOp::create(builder, loc, i32(0), i32(k), i32(turn),
                                 tiles[op.getAcc()]);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value step = loop.getInductionVar();
    auto side = [&](int number) {
      if (!computed[number])
        return sharedOperand(op->getOperand(number), 1 - number, step);
      SharedOperand operand = *computed[number];
      operand.step = step;
      return operand;
    };
    SharedOperand lhs = side(0), rhs = side(1);
    auto widened = [&](Value value) -> Value {
      if (value.getType() == type)
        return value;
      if (isa<FloatType>(type))
        return arith::ExtFOp::create(builder, loc, type, value);
      if (value.getType().isInteger(1))
        return arith::ExtUIOp::create(builder, loc, type, value);
      return arith::ExtSIOp::create(builder, loc, type, value);
    };
    Registers sums(loop.getRegionIterArgs().begin(),
                   loop.getRegionIterArgs().end());
    for (int64_t s = 0; s < turn; ++s) {
      std::map<int64_t, Value> rows, columns;
      for (int64_t r = 0; r < layout.registers(); ++r) {
        Value &a = rows[layout.offset(r)[0]], &b = columns[layout.offset(r)[1]];
        if (!a)
          a = widened(loadShared(lhs, {layout.offset(r)[0], s}));
        if (!b)
          b = widened(loadShared(rhs, {s, layout.offset(r)[1]}));
        sums[r] = isa<FloatType>(type)
                      ? Value(math::FmaOp::create(builder, loc, a, b, sums[r]))
                      : add(mul(a, b), sums[r]);
      }
    }
    scf::YieldOp::create(builder, loc, sums);
  }
  tiles[op.getResult()] = Registers(loop.getResults());
}
