//===- LowerAtomics.cpp - Combining into memory ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `red` where the machine has the op for the type; else a loop that compares
// and swaps until nobody came between:
//
//     old = ld; do { seen = old; old = cas(seen, seen op value) } while
//     (old != seen)
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/NVIDIA/GlobalAccess.h"
#include "compiler/Target/NVIDIA/InlinePtx.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;
using tile::ReduceKind;

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

void NvidiaLowering::atomicElement(ReduceKind kind, Value value, Value address,
                                   Value predicate) {
  Type type = value.getType();
  int64_t bits = type.getIntOrFloatBitWidth();
  Type whole = builder.getIntegerType(bits);
  StringRef letter = bits == 16 ? "h" : bits == 32 ? "r" : "l";
  auto asBits = [&](Value given) -> Value {
    if (given.getType() == whole)
      return given;
    return arith::BitcastOp::create(builder, loc, whole, given);
  };
  auto assembly = [&](TypeRange results, ValueRange operands, std::string text,
                      std::string constraints) {
    return createInlinePtx(builder, loc, results, operands, text, constraints,
                           /*hasSideEffects=*/true);
  };
  if (StringRef form = reductionForm(kind, type); !form.empty()) {
    assembly({}, {address, asBits(value), predicate},
             ("@$2 red.relaxed.gpu.global." + form + " [$0], $1;").str(),
             ("l," + letter + ",b").str());
    return;
  }
  auto guard = scf::IfOp::create(builder, loc, predicate, false);
  OpBuilder::InsertionGuard inner(builder);
  builder.setInsertionPointToStart(guard.thenBlock());
  std::string size = "b" + std::to_string(bits);
  Value first =
      assembly(whole, {address}, "ld.relaxed.gpu.global." + size + " $0, [$1];",
               ("=" + letter + ",l").str())
          .getRes();
  auto loop = scf::WhileOp::create(builder, loc, whole, first);
  Block *before = builder.createBlock(&loop.getBefore(), {}, whole, loc);
  Value seen = before->getArgument(0);
  Value old = type == whole
                  ? seen
                  : Value(arith::BitcastOp::create(builder, loc, type, seen));
  Value swapped =
      assembly(whole, {address, seen, asBits(combine(kind, old, value))},
               "atom.relaxed.gpu.global.cas." + size + " $0, [$1], $2, $3;",
               ("=" + letter + ",l," + letter + "," + letter).str())
          .getRes();
  Value again = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                      swapped, seen);
  scf::ConditionOp::create(builder, loc, again, swapped);
  Block *after = builder.createBlock(&loop.getAfter(), {}, whole, loc);
  scf::YieldOp::create(builder, loc, after->getArguments());
}

void NvidiaLowering::lowerAtomic(tile::AtomicOp op) {
  if (!isa<RankedTensorType>(op.getValue().getType())) {
    Access to = access(op.getView(), op.getIndices(), nullptr);
    Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        tid, i32(0));
    atomicElement(op.getKind(), scalars.lookup(op.getValue()), to.base,
                  both(first, insideAt(to, {})));
    return;
  }
  ThreadLayout layout(op.getValue());
  Access to = access(op.getView(), op.getIndices(), &layout, op.getIndexAxes());
  to.inside = both(to.inside, firstHolder(layout));
  for (int64_t r = 0; r < layout.registers(); ++r) {
    Value inside = insideAt(to, layout.offset(r));
    if (op.getMask())
      inside = both(inside, tiles[op.getMask()][r]);
    atomicElement(op.getKind(), tiles[op.getValue()][r],
                  addressAt(to, layout.offset(r)), inside);
  }
}
