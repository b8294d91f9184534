// tcgen05.cp and tcgen05.shift.
//
// The ISA shows decompression in figures only: 16 elements in the first 8 or 12
// of 16 bytes become 16 bytes, 4 bits in bits 2 to 5, 6 bits in bits 0 to 5, as
// the registers of mma.sync have them. Nor does it say which way "down" is:
// lane i gets what lane i + 1 has, and the last of the 32 lanes stays, because
// .4x256b is made to refresh the last lane of each quarter after a shift (CuTe,
// copy_traits_sm100.hpp).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/exec/Cluster.h"
#include "sim/exec/Decode.h"
#include "sim/exec/MatrixDescriptor.h"
#include "sim/exec/Tcgen05.h"

namespace tessera::sim {

using ptx::Type;

namespace {

constexpr unsigned shiftedColumns = 8; // 32 bytes

const CopyPlan &planOf(const TensorOp &op) {
  return *static_cast<const CopyPlan *>(op.inst->extra.get());
}

/// Calls f(address, row, j) for 16-byte chunks of the source.
template <class F> void forChunks(const TensorOp &op, F f) {
  const CopyPlan &p = planOf(op);
  std::string problem;
  MatrixDescriptor m = MatrixDescriptor::ofTensorCore(op.a, problem);
  for (unsigned row = 0; row < p.rows; ++row)
    for (unsigned j = 0; j < p.bytes / 16; ++j)
      f(m.chunk(true, row, j, 1), row, j);
}

/// Calls f(lane) for the lanes that get a row.
template <class F> void forTargets(const TensorOp &op, unsigned row, F f) {
  const CopyPlan &p = planOf(op);
  unsigned first = op.address >> 16;
  switch (p.spread) {
  case CopyPlan::Once: // four rows: one for each quarter
    return f(first + (p.rows == 4 ? 32 * row : row));
  case CopyPlan::FirstAndThird:
    f(row);
    return f(row + 64);
  case CopyPlan::Pairs:
    f(row % 32 + row / 32 * 64);
    return f(row % 32 + row / 32 * 64 + 32);
  case CopyPlan::All:
    for (unsigned quarter = 0; quarter < 4; ++quarter)
      f(row + 32 * quarter);
  }
}

void decompress(unsigned bits, const uint8_t *from, uint8_t *to) {
  for (unsigned n = 0; n < 16; ++n) {
    unsigned bit = n * bits;
    unsigned two = from[bit / 8] | from[bit / 8 + 1] << 8;
    unsigned value = two >> bit % 8 & ((1u << bits) - 1);
    to[n] = uint8_t(bits == 4 ? value << 2 : value);
  }
}

void issueOne(Warp &w, const Inst &i, uint32_t mask) {
  requireTensorUnit(w);
  const auto &p = *static_cast<const CopyPlan *>(i.extra.get());
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(std::countr_zero(m));
    TensorOp op;
    op.kind = p.from == noRef ? TensorOp::Shift : TensorOp::Copy;
    op.inst = &i;
    op.isPair = p.isPair;
    op.thread = w.index * 32 + l;
    op.address = p.to.of(w, l);
    if (p.from != noRef)
      op.a = w.reg<uint64_t>(p.from)[l];
    tensorUnit(*w.block).issue(w, l, std::move(op));
  }
}

} // namespace

void copyToTensorMemory(Block &block, const TensorOp &op) {
  const CopyPlan &p = planOf(op);
  TensorMemory &memory = tensorUnit(block).memory;
  forChunks(op, [&](uint32_t address, unsigned row, unsigned j) {
    uint8_t bytes[16];
    if (p.packedBits)
      decompress(p.packedBits, block.shared + address, bytes);
    else
      std::memcpy(bytes, block.shared + address, 16);
    forTargets(op, row, [&](unsigned lane) {
      std::memcpy(&memory.at(lane, (op.address & 0xffff) + 4 * j), bytes, 16);
    });
  });
}

void shiftRows(Block &block, const TensorOp &op) {
  TensorMemory &memory = tensorUnit(block).memory;
  uint32_t lane = op.address >> 16, column = op.address & 0xffff;
  for (unsigned row = 0; row < 31; ++row)
    for (unsigned c = 0; c < shiftedColumns; ++c)
      memory.at(lane + row, column + c) = memory.at(lane + row + 1, column + c);
}

TensorUse transferUses(Warp &w, unsigned lane, const TensorOp &op,
                       Block &block) {
  TensorUse use;
  bool isShift = op.kind == TensorOp::Shift;
  const char *name = isShift ? "tcgen05.shift" : "tcgen05.cp";
  const CopyPlan &p = planOf(op);
  uint32_t first = op.address >> 16;
  bool fits = isShift       ? first % 32 == 0 && first < 128
              : p.rows == 4 ? first < 32
                            : first == 0;
  if (!fits)
    throw Fault{Fault::TensorMemory,
                std::string("the address of ") + name + " of " +
                    threadName(w, lane) + " is in lane " +
                    std::to_string(first) +
                    (isShift ? ": it is a multiple of 32"
                             : ": it is 0, and below 32 for .4x256b"),
                op.address, int(lane)};
  uint8_t groups = isShift       ? uint8_t(3 << first / 16)
                   : p.rows == 4 ? uint8_t(0x55 << first / 16)
                                 : uint8_t(0xff);
  TensorRegion region{op.address & 0xffff,
                      isShift ? shiftedColumns : p.bytes / 4, groups};
  requireAllocated(w, lane, block, region, name);
  use.writes.push_back(region);
  if (isShift) {
    use.reads.push_back(region);
    return use;
  }
  std::string problem;
  MatrixDescriptor m = MatrixDescriptor::ofTensorCore(op.a, problem);
  if (problem.empty() && m.keeps32)
    problem = "128-byte swizzling of 32-byte atoms is for transposed matrices";
  if (!problem.empty())
    throw Fault{Fault::IllegalInstruction,
                "the descriptor of tcgen05.cp used by " + threadName(w, lane) +
                    ": " + problem,
                0, int(lane)};
  forChunks(op, [&](uint32_t address, unsigned, unsigned) {
    if (address + 16 > w.block->sharedBytes)
      throw Fault{
          Fault::IllegalAddress,
          "tcgen05.cp of " + threadName(w, lane) +
              " reads 16 bytes at shared address " + std::to_string(address) +
              " as its descriptor says: the block has " +
              std::to_string(w.block->sharedBytes) + " bytes of shared memory",
          address, int(lane)};
    use.chunks.push_back(address);
  });
  return use;
}

void decodeTensorTransfer(Decoder &d, Inst &inst) {
  auto plan = std::make_shared<CopyPlan>();
  CopyPlan &p = *plan;
  inst.extra = plan;
  inst.opClass = OpClass::AsyncCopy;
  inst.fn = issueOne;
  p.to = decodeTensorAddress(d, d.operand(0));
  p.isPair = d.has("cta_group::2");
  if (d.has("shift")) {
    if (!d.has("down") || d.operandCount() != 1)
      d.fail("needs .down and an address");
    return;
  }
  struct Shape {
    const char *name;
    unsigned rows, bytes;
  };
  constexpr Shape shapes[] = {{"128x256b", 128, 32},
                              {"4x256b", 4, 32},
                              {"128x128b", 128, 16},
                              {"64x128b", 64, 16},
                              {"32x128b", 32, 16}};
  for (const Shape &shape : shapes)
    if (d.has(shape.name)) {
      p.rows = shape.rows;
      p.bytes = shape.bytes;
    }
  p.spread = d.has("warpx2::02_13")   ? CopyPlan::FirstAndThird
             : d.has("warpx2::01_23") ? CopyPlan::Pairs
             : d.has("warpx4")        ? CopyPlan::All
                                      : CopyPlan::Once;
  bool fits = p.rows == 64   ? p.spread == CopyPlan::FirstAndThird ||
                                   p.spread == CopyPlan::Pairs
              : p.rows == 32 ? p.spread == CopyPlan::All
                             : p.rows && p.spread == CopyPlan::Once;
  if (!fits || d.operandCount() != 2)
    d.fail("needs a shape, .warpx2 exactly for .64x128b and .warpx4 exactly "
           "for .32x128b, and a descriptor");
  Type to = d.type(0), from = d.type(1);
  p.packedBits = from == Type::B4x16p64 ? 4 : from == Type::B6x16p32 ? 6 : 0;
  if ((to == Type::None) != (from == Type::None) ||
      (to != Type::None && (to != Type::B8x16 || !p.packedBits)))
    d.fail("decompresses from .b6x16_p32 or .b4x16_p64 to .b8x16");
  p.from = d.src(d.operand(1), Type::B64);
}

} // namespace tessera::sim
