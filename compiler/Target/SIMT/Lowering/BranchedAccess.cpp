//===- BranchedAccess.cpp - Accesses without predicated instructions ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `Machine` does unless a machine overrides it: a thread whose predicate
// does not hold takes another way.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/SIMT/Lowering/KernelLowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;

// Here, because the class's table names what follows.
Machine::~Machine() = default;

/// A number of global memory is an i64, of shared memory an i32.
static Value getPointer(const Machine &machine, KernelLowering &lowering,
                        Value address) {
  unsigned space = address.getType().isInteger(64) ? machine.globalSpace
                                                   : machine.sharedSpace;
  auto type = LLVM::LLVMPointerType::get(lowering.builder.getContext(), space);
  return LLVM::IntToPtrOp::create(lowering.builder, lowering.loc, type,
                                  address);
}

/// What lies in memory: a truth is a byte, types that LLVM does not have are
/// their bits.
static Type getStoredType(OpBuilder &builder, Type type) {
  int64_t bits = type.getIntOrFloatBitWidth();
  return bits <= 8 ? Type(builder.getIntegerType(8)) : type;
}

static bool isTrue(Value predicate) { return matchPattern(predicate, m_One()); }

/// The value where `predicate` holds, else zero.
static Value loadWhere(KernelLowering &lowering, Value pointer, Type type,
                       Value predicate, unsigned alignment) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  if (isTrue(predicate))
    return LLVM::LoadOp::create(builder, loc, type, pointer, alignment);
  auto branch = scf::IfOp::create(builder, loc, type, predicate, true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(
      builder, loc,
      LLVM::LoadOp::create(builder, loc, type, pointer, alignment).getResult());
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(
      builder, loc,
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type))
          .getResult());
  return branch.getResult(0);
}

static void storeWhere(KernelLowering &lowering, Value value, Value pointer,
                       Value predicate, unsigned alignment) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  if (isTrue(predicate)) {
    LLVM::StoreOp::create(builder, loc, value, pointer, alignment);
    return;
  }
  auto branch = scf::IfOp::create(builder, loc, predicate, false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  LLVM::StoreOp::create(builder, loc, value, pointer, alignment);
}

Value Machine::load(KernelLowering &lowering, Type type, Value address,
                    Value predicate) const {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Type stored = getStoredType(builder, type);
  Value value = loadWhere(lowering, getPointer(*this, lowering, address),
                          stored, predicate, /*alignment=*/0);
  if (type.isInteger(1))
    return arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ne, value,
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(stored)));
  if (stored != type)
    value = arith::BitcastOp::create(builder, loc, type, value);
  return value;
}

void Machine::store(KernelLowering &lowering, Value value, Value address,
                    Value predicate) const {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Type stored = getStoredType(builder, value.getType());
  if (value.getType().isInteger(1))
    value = arith::ExtUIOp::create(builder, loc, stored, value);
  else if (stored != value.getType())
    value = arith::BitcastOp::create(builder, loc, stored, value);
  storeWhere(lowering, value, getPointer(*this, lowering, address), predicate,
             /*alignment=*/0);
}

SmallVector<Value> Machine::loadWords(KernelLowering &lowering, int64_t count,
                                      int64_t wordBits, Value address,
                                      Value predicate) const {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Type word = builder.getIntegerType(wordBits);
  Value loaded =
      loadWhere(lowering, getPointer(*this, lowering, address),
                count > 1 ? Type(VectorType::get(count, word)) : word,
                predicate, unsigned(count * wordBits / 8));
  if (count == 1)
    return {loaded};
  SmallVector<Value> words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(LLVM::ExtractElementOp::create(builder, loc, word, loaded,
                                                   lowering.i32(i)));
  return words;
}

void Machine::storeWords(KernelLowering &lowering, ValueRange words,
                         Value address, Value predicate) const {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  int64_t count = int64_t(words.size());
  Type word = words.front().getType();
  Value all = words.front();
  if (count > 1) {
    all = LLVM::PoisonOp::create(builder, loc, VectorType::get(count, word));
    for (int64_t i = 0; i < count; ++i)
      all = LLVM::InsertElementOp::create(builder, loc, all, words[i],
                                          lowering.i32(i));
  }
  storeWhere(lowering, all, getPointer(*this, lowering, address), predicate,
             unsigned(count * word.getIntOrFloatBitWidth() / 8));
}

void Machine::atomic(KernelLowering &lowering, tile::ReduceKind kind,
                     Value value, Value address, Value predicate) const {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Type type = value.getType(),
       whole = builder.getIntegerType(type.getIntOrFloatBitWidth());
  auto as = [&](Value given, Type wanted) -> Value {
    if (given.getType() == wanted)
      return given;
    return arith::BitcastOp::create(builder, loc, wanted, given);
  };
  auto guard = scf::IfOp::create(builder, loc, predicate, false);
  OpBuilder::InsertionGuard inner(builder);
  builder.setInsertionPointToStart(guard.thenBlock());
  Value first = loadRelaxed(lowering, whole, address);
  auto loop = scf::WhileOp::create(builder, loc, whole, first);
  Block *before = builder.createBlock(&loop.getBefore(), {}, whole, loc);
  Value seen = before->getArgument(0);
  Value wanted = as(lowering.combine(kind, as(seen, type), value), whole);
  Value found = compareAndSwap(lowering, address, seen, wanted);
  Value again = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                      found, seen);
  scf::ConditionOp::create(builder, loc, again, found);
  Block *after = builder.createBlock(&loop.getAfter(), {}, whole, loc);
  scf::YieldOp::create(builder, loc, after->getArguments());
}

Value Machine::loadRelaxed(KernelLowering &lowering, Type whole,
                           Value address) const {
  return LLVM::LoadOp::create(lowering.builder, lowering.loc, whole,
                              getPointer(*this, lowering, address));
}

Value Machine::compareAndSwap(KernelLowering &lowering, Value address,
                              Value seen, Value wanted) const {
  auto swap = LLVM::AtomicCmpXchgOp::create(
      lowering.builder, lowering.loc, getPointer(*this, lowering, address),
      seen, wanted, LLVM::AtomicOrdering::monotonic,
      LLVM::AtomicOrdering::monotonic);
  return LLVM::ExtractValueOp::create(lowering.builder, lowering.loc,
                                      swap.getRes(), 0);
}

void Machine::copy(KernelLowering &, Value, Value, Value) const {
  llvm_unreachable("the machine's copies are over when they are begun");
}

void Machine::commitCopies(KernelLowering &) const {
  llvm_unreachable("the machine's copies are over when they are begun");
}

void Machine::waitForCopies(KernelLowering &, int64_t) const {
  llvm_unreachable("the machine's copies are over when they are begun");
}
