//===- ThreadCode.cpp - What one thread of NVIDIA's does ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/NVIDIA/InlinePtx.h"
#include "compiler/Target/NVIDIA/SimtMachine.h"
#include "compiler/Target/SIMT/Lowering/KernelLowering.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;
using simt::KernelLowering;
using tile::ReduceKind;

Value NvidiaSimt::threadId(OpBuilder &builder, Location loc) const {
  return NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
}

Value NvidiaSimt::blockId(OpBuilder &builder, Location loc) const {
  return NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
}

void NvidiaSimt::barrier(OpBuilder &builder, Location loc) const {
  NVVM::Barrier0Op::create(builder, loc);
}

Value NvidiaSimt::shuffle(OpBuilder &builder, Location loc, Value word,
                          Value other, bool isMask) const {
  auto allLanes =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(-1));
  auto lastLane =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(31));
  return NVVM::ShflOp::create(
      builder, loc, word.getType(), allLanes, word, other, lastLane,
      isMask ? NVVM::ShflKind::bfly : NVVM::ShflKind::idx, UnitAttr());
}

//===----------------------------------------------------------------------===//
// Predicated accesses
//===----------------------------------------------------------------------===//

/// PTX's name and the constraint letter for accesses of `bytes`.
static std::pair<StringRef, StringRef> accessForm(int64_t bytes) {
  switch (bytes) {
  case 1:
    return {"u8", "h"};
  case 2:
    return {"b16", "h"};
  case 4:
    return {"b32", "r"};
  default:
    return {"b64", "l"};
  }
}

Value NvidiaSimt::load(KernelLowering &lowering, Type type, Value address,
                       Value predicate) const {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  int64_t bits = type.getIntOrFloatBitWidth();
  int64_t bytes = bits == 1 ? 1 : bits / 8;
  auto [form, letter] = accessForm(bytes);
  Type container = builder.getIntegerType(std::max<int64_t>(bytes, 2) * 8);
  StringRef move = bytes <= 2 ? "b16" : form;
  std::string text =
      ("mov." + move + " $0, 0;\n\t@$2 ld.global." + form + " $0, [$1];").str();
  Value value =
      createInlinePtx(builder, loc, container, {address, predicate}, text,
                      ("=&" + letter + ",l,b").str(), /*hasSideEffects=*/true)
          .getRes();
  if (bits == 1)
    return arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ne, value,
        arith::ConstantOp::create(builder, loc,
                                  builder.getIntegerAttr(container, 0)));
  if (bits < int64_t(container.getIntOrFloatBitWidth()))
    value = arith::TruncIOp::create(builder, loc, builder.getIntegerType(bits),
                                    value);
  if (isa<FloatType>(type))
    value = arith::BitcastOp::create(builder, loc, type, value);
  return value;
}

static bool isTrue(Value predicate) { return matchPattern(predicate, m_One()); }

/// ".v4.b32", ".b64": one access of several words.
static std::string groupForm(int64_t words, int64_t wordBits) {
  std::string form = words > 1 ? ".v" + std::to_string(words) : "";
  return form + ".b" + std::to_string(wordBits);
}

/// "{$1, $2}", or "$1".
static std::string listOf(int64_t first, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return count > 1 ? "{" + text + "}" : text;
}

SmallVector<Value> NvidiaSimt::loadWords(KernelLowering &lowering,
                                         int64_t count, int64_t wordBits,
                                         Value address, Value predicate) const {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Type word = builder.getIntegerType(wordBits), type = word;
  if (count > 1)
    type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                            SmallVector<Type>(count, word));
  bool global = address.getType().isInteger(64), always = isTrue(predicate);
  StringRef letter = wordBits == 64 ? "l" : "r";
  std::string text, letters, number = std::to_string(count);
  for (int64_t i = 0; i < count; ++i) {
    if (!always)
      text += "mov.b" + std::to_string(wordBits) + " $" + std::to_string(i) +
              ", 0;\n\t";
    letters += ((always ? "=" : "=&") + letter + ",").str();
  }
  if (!always)
    text += "@$" + std::to_string(count + 1) + " ";
  text += (global ? "ld.global" : "ld.shared") + groupForm(count, wordBits) +
          " " + listOf(0, count) + ", [$" + number + "];";
  letters += global ? "l" : "r";
  SmallVector<Value> operands = {address};
  if (!always) {
    letters += ",b";
    operands.push_back(predicate);
  }
  Value loaded = createInlinePtx(builder, loc, type, operands, text, letters,
                                 /*hasSideEffects=*/true)
                     .getRes();
  SmallVector<Value> words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(
        count == 1 ? loaded
                   : LLVM::ExtractValueOp::create(builder, loc, loaded, i));
  return words;
}

void NvidiaSimt::storeWords(KernelLowering &lowering, ValueRange words,
                            Value address, Value predicate) const {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  int64_t count = int64_t(words.size());
  int64_t wordBits = words.front().getType().getIntOrFloatBitWidth();
  SmallVector<Value> operands = {address};
  std::string letters = "l";
  for (Value word : words) {
    operands.push_back(word);
    letters += wordBits == 64 ? ",l" : ",r";
  }
  std::string text = "st.global" + groupForm(count, wordBits) + " [$0], " +
                     listOf(1, count) + ";";
  if (!isTrue(predicate)) {
    operands.push_back(predicate);
    text = "@$" + std::to_string(count + 1) + " " + text;
    letters += ",b";
  }
  createInlinePtx(builder, loc, {}, operands, text, letters,
                  /*hasSideEffects=*/true);
}

void NvidiaSimt::store(KernelLowering &lowering, Value value, Value address,
                       Value predicate) const {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Type type = value.getType();
  int64_t bits = type.getIntOrFloatBitWidth();
  int64_t bytes = bits == 1 ? 1 : bits / 8;
  auto [form, letter] = accessForm(bytes);
  if (isa<FloatType>(type))
    value = arith::BitcastOp::create(builder, loc, builder.getIntegerType(bits),
                                     value);
  if (bytes == 1)
    value =
        arith::ExtUIOp::create(builder, loc, builder.getIntegerType(16), value);
  bool global = address.getType().isInteger(64);
  std::string space = global ? "@$2 st.global." : "@$2 st.shared.";
  createInlinePtx(builder, loc, {}, {address, value, predicate},
                  space + form.str() + " [$0], $1;",
                  ((global ? "l," : "r,") + letter + ",b").str(),
                  /*hasSideEffects=*/true);
}

//===----------------------------------------------------------------------===//
// Atomics: `red` where the machine has the op for the type; else Machine's loop
//===----------------------------------------------------------------------===//

/// `add.f32`, or nothing if `red` has no such form on sm_70 and newer.
static StringRef reductionForm(ReduceKind kind, Type type) {
  bool is32 = type.isInteger(32), is64 = type.isInteger(64);
  switch (kind) {
  case ReduceKind::Sum:
    return type.isF32()   ? "add.f32"
           : type.isF64() ? "add.f64"
           : is32         ? "add.u32"
           : is64         ? "add.u64"
                          : "";
  case ReduceKind::Max:
    return is32 ? "max.s32" : is64 ? "max.s64" : "";
  case ReduceKind::Min:
    return is32 ? "min.s32" : is64 ? "min.s64" : "";
  case ReduceKind::And:
    return is32 ? "and.b32" : is64 ? "and.b64" : "";
  case ReduceKind::Or:
    return is32 ? "or.b32" : is64 ? "or.b64" : "";
  case ReduceKind::Xor:
    return is32 ? "xor.b32" : is64 ? "xor.b64" : "";
  default:
    return "";
  }
}

/// The letter of a constraint for a number of so many bits.
static StringRef letterOf(Type whole) {
  int64_t bits = whole.getIntOrFloatBitWidth();
  return bits == 16 ? "h" : bits == 32 ? "r" : "l";
}

void NvidiaSimt::atomic(KernelLowering &lowering, ReduceKind kind, Value value,
                        Value address, Value predicate) const {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  StringRef form = reductionForm(kind, value.getType());
  if (form.empty())
    return Machine::atomic(lowering, kind, value, address, predicate);
  Type whole = builder.getIntegerType(value.getType().getIntOrFloatBitWidth());
  if (value.getType() != whole)
    value = arith::BitcastOp::create(builder, loc, whole, value);
  createInlinePtx(builder, loc, {}, {address, value, predicate},
                  ("@$2 red.relaxed.gpu.global." + form + " [$0], $1;").str(),
                  ("l," + letterOf(whole) + ",b").str(),
                  /*hasSideEffects=*/true);
}

Value NvidiaSimt::loadRelaxed(KernelLowering &lowering, Type whole,
                              Value address) const {
  std::string size = "b" + std::to_string(whole.getIntOrFloatBitWidth());
  return createInlinePtx(lowering.builder, lowering.loc, whole, address,
                         "ld.relaxed.gpu.global." + size + " $0, [$1];",
                         ("=" + letterOf(whole) + ",l").str(),
                         /*hasSideEffects=*/true)
      .getRes();
}

Value NvidiaSimt::compareAndSwap(KernelLowering &lowering, Value address,
                                 Value seen, Value wanted) const {
  Type whole = seen.getType();
  std::string size = "b" + std::to_string(whole.getIntOrFloatBitWidth());
  StringRef letter = letterOf(whole);
  return createInlinePtx(
             lowering.builder, lowering.loc, whole, {address, seen, wanted},
             "atom.relaxed.gpu.global.cas." + size + " $0, [$1], $2, $3;",
             ("=" + letter + ",l," + letter + "," + letter).str(),
             /*hasSideEffects=*/true)
      .getRes();
}

//===----------------------------------------------------------------------===//
// Copies into shared memory: cp.async
//===----------------------------------------------------------------------===//

void NvidiaSimt::copy(KernelLowering &lowering, Value from, Value to,
                      Value bytes) const {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  auto global = LLVM::LLVMPointerType::get(builder.getContext(), globalSpace);
  NVVM::CpAsyncOp::create(builder, loc, to,
                          LLVM::IntToPtrOp::create(builder, loc, global, from),
                          16, NVVM::LoadCacheModifierKind::CG, bytes);
}

void NvidiaSimt::commitCopies(KernelLowering &lowering) const {
  NVVM::CpAsyncCommitGroupOp::create(lowering.builder, lowering.loc);
}

void NvidiaSimt::waitForCopies(KernelLowering &lowering,
                               int64_t pending) const {
  NVVM::CpAsyncWaitGroupOp::create(lowering.builder, lowering.loc, pending);
}
