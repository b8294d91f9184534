//===- LowerCopies.cpp - From the user's arrays into shared memory --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile is dealt out in groups of 16 bytes: along a row first, then rows. One
// thread's groups lie a constant number of rows apart. Where the array's rows
// are aligned a group is one copy that runs beside the threads and fills what
// is absent with zeros itself (one predicated load and a store on machines that
// have none); otherwise its elements are loaded one by one.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Layout/GpuTiles.h"
#include "compiler/Target/SIMT/Lowering/GlobalAccess.h"

#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;
using layout::Index;
using layout::Layout;

namespace {
/// What is known to divide an index, or the start of a range; 0 for zero.
struct Divisors {
  llvm::DenseMap<Value, int64_t> known; // paths to a value may double

  int64_t of(Value value) {
    auto found = known.find(value);
    return found != known.end() ? found->second : known[value] = compute(value);
  }

private:
  int64_t compute(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<tile::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || argument != loop.getRange())
        return 1;
      return std::gcd(of(loop.getStart()), loop.getSize());
    }
    Operation *op = value.getDefiningOp();
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto number = dyn_cast<IntegerAttr>(constant.getValue());
      return number && number.getInt() != INT64_MIN ? std::abs(number.getInt())
                                                    : 1;
    }
    if (isa<arith::AddIOp, arith::SubIOp>(op))
      return std::gcd(of(op->getOperand(0)), of(op->getOperand(1)));
    if (isa<arith::MulIOp>(op)) {
      int64_t a = of(op->getOperand(0)), b = of(op->getOperand(1)), product;
      return llvm::MulOverflow(a, b, product) ? a : product;
    }
    if (isa<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp>(op)) {
      auto by = op->getOperand(1).getDefiningOp<arith::ConstantOp>();
      auto number = by ? dyn_cast<IntegerAttr>(by.getValue()) : IntegerAttr();
      int64_t whole = of(op->getOperand(0));
      bool divides =
          number && number.getInt() > 0 && whole % number.getInt() == 0;
      return divides ? whole / number.getInt() : 1;
    }
    // A start below 0 is moved to the end: either.
    if (isa<arith::SelectOp>(op))
      return std::gcd(of(op->getOperand(1)), of(op->getOperand(2)));
    if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
      return of(op->getOperand(0));
    if (auto range = dyn_cast<tile::RangeAtOp>(op))
      return of(range.getStart());
    if (auto start = dyn_cast<tile::RangeStartOp>(op))
      return of(start.getRange());
    if (auto program = dyn_cast<tile::ProgramOp>(op)) {
      int64_t tile =
          program.getTiles()[cast<OpResult>(value).getResultNumber()];
      return tile ? tile : 1;
    }
    return 1;
  }
};
} // namespace

/// Only of what a loop does not change, where that suffices: computed once.
Value KernelLowering::groupsAligned(Value given, OperandRange indices,
                                    int64_t bytes) {
  const View &view = views[given];
  Value low = view.address;
  auto include = [&](Value bytes) {
    low = arith::OrIOp::create(builder, loc, low, bytes);
  };
  Divisors divisors;
  for (auto [number, index] : llvm::enumerate(indices)) {
    if (int64_t stride = view.staticStrides[number]; stride != 1) {
      if (ShapedType::isDynamic(stride) ||
          stride * view.elementBytes % bytes != 0)
        include(mul(toI64(view.strides[number]), i64(view.elementBytes)));
      continue;
    }
    if (divisors.of(index) % bytes * view.elementBytes % bytes == 0)
      continue;
    Value start = isa<tile::RangeType>(index.getType()) ? ranges[index].start
                                                        : scalars.lookup(index);
    include(mul(toI64(start), i64(view.elementBytes)));
  }
  return arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::eq,
      arith::AndIOp::create(builder, loc, low, i64(bytes - 1)), i64(0));
}

void KernelLowering::lowerCopy(tile::CpAsyncOp op) {
  auto buffer = op.getBuffer().getDefiningOp<tile::AllocOp>();
  tile::BufferType type = op.getBuffer().getType();
  const Layout &memory = type.getLayout().getValue();
  Type element = type.getElementType();
  int64_t elementBytes = element.getIntOrFloatBitWidth() / 8;
  int unit = layout::contiguousAxis(memory), across = 1 - unit;
  int64_t vector = op.getVector();
  ArrayRef<int64_t> shape = type.getShape().take_back(2);
  int64_t rows = shape[across], columns = shape[unit];
  Value slot = slotOffset(op.getSlot(), type);
  std::optional<int> in = memory.findIn(unit ? "dim1" : "dim0");
  int64_t width = memory.ins()[*in].size();

  // Bits of the thread's number: groups of a row first, then rows.
  ThreadInput input;
  input.input = tid;
  int64_t row = 1;
  SmallVector<int64_t> rowImages, columnImages;
  for (int64_t t = 1, group = vector; t < threads; t *= 2) {
    Index image = {0, 0};
    if (group < width) {
      image[unit] = group;
      group *= 2;
    } else {
      // Beyond the tile: those threads have nothing to copy.
      image[across] = row < rows ? row : 0;
      row *= 2;
    }
    rowImages.push_back(image[across]);
    columnImages.push_back(image[unit]);
    input.bits.push_back(image);
  }
  int64_t rowsPerPass = row;
  Value busy; // threads that have a row
  if (rowsPerPass > rows) {
    int64_t groups = width / vector;
    busy =
        less(arith::DivUIOp::create(builder, loc, tid, i32(groups)), i32(rows));
    rowsPerPass = rows;
  }
  std::pair<Value, Value> dynamic = memoryOffset(memory, input, elementBytes);
  Value myRow = sumOf(tid, rowImages), myColumn = sumOf(tid, columnImages);

  Access from = access(op.getView(), op.getIndices(), nullptr);
  AccessAxis &rowAxis = from.axes[across], &columnAxis = from.axes[unit];
  Value rowRoom = arith::SubIOp::create(builder, loc, rowAxis.room, myRow);
  Value columnRoom =
      arith::SubIOp::create(builder, loc, columnAxis.room, myColumn);
  Value base = add(from.origin, add(mul(toI64(myRow), rowAxis.bytes),
                                    mul(toI64(myColumn), columnAxis.bytes)));
  auto pointerTo = [&](int64_t r, int64_t c) {
    Index at(2);
    at[across] = r;
    at[unit] = c;
    return sharedPointer(buffer, dynamic, memory, at, elementBytes, slot);
  };
  auto addressOf = [&](int64_t r, int64_t c) {
    Value address = base;
    if (r)
      address = add(address, mul(rowAxis.bytes, i64(r)));
    if (c)
      address = add(address, mul(columnAxis.bytes, i64(c)));
    return address;
  };
  /// One group, by a thread that has one: its address, its place, whether its
  /// row exists.
  using CopyGroup = llvm::function_ref<void(Value, Value, Value, int64_t)>;
  auto guarded = [&](Value active, llvm::function_ref<void()> body) {
    if (!active)
      return body();
    auto guard = scf::IfOp::create(builder, loc, active, false);
    OpBuilder::InsertionGuard inner(builder);
    builder.setInsertionPointToStart(guard.thenBlock());
    body();
  };
  auto forEach = [&](CopyGroup copy) {
    for (int64_t c = 0; c < columns; c += width)
      for (int64_t r = 0; r < rows; r += rowsPerPass) {
        Value active = busy;
        if (r + rowsPerPass > rows)
          active = both(active, less(myRow, i32(rows - r)));
        guarded(active, [&] {
          copy(addressOf(r, c), pointerTo(r, c), less(i32(r), rowRoom), c);
        });
      }
  };

  auto copySingly = [&](Value address, Value to, Value rowInside, int64_t c) {
    auto words =
        VectorType::get(vector, builder.getIntegerType(elementBytes * 8));
    Value group = LLVM::PoisonOp::create(builder, loc, words);
    for (int64_t e = 0; e < vector; ++e) {
      Value inside =
          both(both(rowInside, from.inside), less(i32(c + e), columnRoom));
      Value value =
          machine.load(*this, words.getElementType(), address, inside);
      group = LLVM::InsertElementOp::create(builder, loc, group, value, i32(e));
      address = add(address, columnAxis.bytes);
    }
    LLVM::StoreOp::create(builder, loc, group, to, 16);
  };
  // The same, as a loop over the passes: it is the way that is seldom taken,
  // and long.
  auto allSingly = [&] {
    auto placeOf = [&](int64_t r) {
      Index at(2);
      at[across] = r;
      return splitOffset(memory, at);
    };
    bool even = rows > rowsPerPass;
    int64_t step = even ? placeOf(rowsPerPass).second : 0;
    for (int64_t r = 0; even && r < rows; r += rowsPerPass)
      even =
          placeOf(r) == std::pair<int64_t, int64_t>(0, r / rowsPerPass * step);
    if (!even)
      return forEach(copySingly);
    for (int64_t c = 0; c < columns; c += width) {
      Value first = pointerTo(0, c);
      auto loop =
          scf::ForOp::create(builder, loc, i32(0), i32(rows), i32(rowsPerPass),
                             ValueRange{addressOf(0, c), i32(0)});
      OpBuilder::InsertionGuard inner(builder);
      builder.setInsertionPointToStart(loop.getBody());
      Value r = loop.getInductionVar(), address = loop.getRegionIterArg(0),
            shift = loop.getRegionIterArg(1);
      Value active = busy;
      if (rows % rowsPerPass)
        active = both(active, less(add(myRow, r), i32(rows)));
      guarded(active, [&] {
        Value to =
            LLVM::GEPOp::create(builder, loc, first.getType(),
                                builder.getI8Type(), first, ValueRange(shift));
        copySingly(address, to, less(r, rowRoom), c);
      });
      scf::YieldOp::create(
          builder, loc,
          ValueRange{add(address, mul(rowAxis.bytes, i64(rowsPerPass))),
                     add(shift, i32(step * elementBytes))});
    }
  };

  auto copyWhole = [&](Value address, Value to, Value, int64_t) {
    machine.copy(*this, address, to, Value());
  };
  auto copyAsync = [&](Value address, Value to, Value rowInside, int64_t c) {
    Value room = arith::SubIOp::create(builder, loc, columnRoom, i32(c));
    room = arith::MinSIOp::create(
        builder, loc, arith::MaxSIOp::create(builder, loc, room, i32(0)),
        i32(vector));
    Value inside = both(rowInside, from.inside);
    Value bytes = arith::SelectOp::create(builder, loc, inside,
                                          mul(room, i32(elementBytes)), i32(0));
    machine.copy(*this, address, to, bytes);
  };
  // A whole group into registers, then to shared memory. What does not exist is
  // zeros.
  auto copyByRegisters = [&](Value address, Value to, Value rowInside,
                             int64_t c) {
    Value inside = both(both(rowInside, from.inside), less(i32(c), columnRoom));
    Value group = LLVM::PoisonOp::create(
        builder, loc, VectorType::get(4, builder.getI32Type()));
    for (auto [i, word] :
         llvm::enumerate(machine.loadWords(*this, 4, 32, address, inside)))
      group = LLVM::InsertElementOp::create(builder, loc, group, word,
                                            i32(int64_t(i)));
    LLVM::StoreOp::create(builder, loc, group, to, 16);
  };
  if (columnAxis.constantBytes < 0)
    return allSingly();
  Value whole = groupsAligned(op.getView(), op.getIndices(), 16);
  if (!asyncCopies()) { // no group may be cut
    Value rest =
        arith::AndIOp::create(builder, loc, columnAxis.room, i32(vector - 1));
    whole =
        both(whole, arith::CmpIOp::create(
                        builder, loc, arith::CmpIPredicate::eq, rest, i32(0)));
  }
  auto branch = scf::IfOp::create(builder, loc, whole, true);
  OpBuilder::InsertionGuard inner(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  if (asyncCopies() && elementBytes == 1) {
    // Fragments of bytes are read one by one and need the registers.
    forEach(copyAsync);
  } else if (asyncCopies()) {
    // Most tiles lie inside the array: no group has to know its length.
    auto isWhole = [&](AccessAxis &along, int64_t size) -> Value {
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                   along.room, i32(size));
    };
    Value full = both(from.inside, both(isWhole(rowAxis, rows),
                                        isWhole(columnAxis, columns)));
    auto most = scf::IfOp::create(builder, loc, full, true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(most.thenBlock());
    forEach(copyWhole);
    builder.setInsertionPointToStart(most.elseBlock());
    forEach(copyAsync);
  } else {
    forEach(copyByRegisters);
  }
  builder.setInsertionPointToStart(branch.elseBlock());
  allSingly();
}
