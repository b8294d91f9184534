// ldmatrix, stmatrix, movmatrix.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/exec/Access.h"
#include "sim/exec/Decode.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

// flags: bit 0 trans; elements: number of matrices; ops[0..3] registers.
void ldmatrix(Warp &w, const Inst &i, uint32_t) {
  Access at;
  unsigned rows = 8 * i.elements;
  uint32_t mask = rows == 32 ? ~0u : (1u << rows) - 1;
  computeAddresses(w, i, mask, i.ops[8], at.address);
  translate(w, i, mask, i.space, 16, 16, AccessKind::Read, at);
  for (unsigned n = 0; n < i.elements; ++n) {
    uint32_t out[32];
    for (unsigned l = 0; l < 32; ++l) {
      unsigned g = l >> 2, t = l & 3;
      if (i.flags & 1) {
        uint16_t low, high;
        std::memcpy(&low, at.pointer[8 * n + 2 * t] + 2 * g, 2);
        std::memcpy(&high, at.pointer[8 * n + 2 * t + 1] + 2 * g, 2);
        out[l] = low | uint32_t(high) << 16;
      } else {
        std::memcpy(&out[l], at.pointer[8 * n + g] + 4 * t, 4);
      }
    }
    std::memcpy(w.reg<uint32_t>(i.ops[n]), out, sizeof out);
  }
}

/// Rows of 16 packed 4- or 6-bit values; each becomes a byte.
void ldmatrixPacked(Warp &w, const Inst &i, uint32_t) {
  Access at;
  unsigned rows = 8 * i.elements, bits = i.aux;
  uint32_t mask = rows == 32 ? ~0u : (1u << rows) - 1;
  computeAddresses(w, i, mask, i.ops[8], at.address);
  translate(w, i, mask, i.space, 16, 16, AccessKind::Read, at);
  for (unsigned n = 0; n < i.elements; ++n)
    for (unsigned l = 0; l < 32; ++l) {
      const uint8_t *row = at.pointer[8 * n + (l >> 2)];
      uint32_t out = 0;
      for (unsigned j = 0; j < 4; ++j) {
        unsigned bit = (4 * (l & 3) + j) * bits;
        uint32_t two = row[bit / 8] | uint32_t(row[bit / 8 + 1]) << 8;
        out |= (two >> bit % 8 & ((1u << bits) - 1)) << 8 * j;
      }
      w.reg<uint32_t>(i.ops[n])[l] = out;
    }
}

void stmatrix(Warp &w, const Inst &i, uint32_t) {
  Access at;
  unsigned rows = 8 * i.elements;
  uint32_t mask = rows == 32 ? ~0u : (1u << rows) - 1;
  computeAddresses(w, i, mask, i.ops[8], at.address);
  translate(w, i, mask, i.space, 16, 16, AccessKind::Write, at, false);
  uint8_t data[32][16];
  for (unsigned n = 0; n < i.elements; ++n) {
    const auto *a = w.reg<uint32_t>(i.ops[n]);
    for (unsigned l = 0; l < 32; ++l) {
      unsigned g = l >> 2, t = l & 3;
      if (i.flags & 1) {
        uint16_t low = uint16_t(a[l]), high = uint16_t(a[l] >> 16);
        std::memcpy(data[8 * n + 2 * t] + 2 * g, &low, 2);
        std::memcpy(data[8 * n + 2 * t + 1] + 2 * g, &high, 2);
      } else {
        std::memcpy(data[8 * n + g] + 4 * t, &a[l], 4);
      }
    }
  }
  // Row by row, as stores do: copies of one value may go to one place.
  for (unsigned row = 0; row < rows; ++row) {
    if (w.block->checker)
      w.block->checker->access(w, i, 1u << row, at, 16, AccessKind::Write,
                               data[row]);
    std::memcpy(at.pointer[row], data[row], 16);
  }
}

void movmatrix(Warp &w, const Inst &i, uint32_t) {
  const auto *a = w.reg<uint32_t>(i.ops[1]);
  uint16_t m[8][8];
  for (unsigned l = 0; l < 32; ++l) {
    m[l >> 2][2 * (l & 3)] = uint16_t(a[l]);
    m[l >> 2][2 * (l & 3) + 1] = uint16_t(a[l] >> 16);
  }
  auto *d = w.reg<uint32_t>(i.ops[0]);
  for (unsigned l = 0; l < 32; ++l)
    d[l] = m[2 * (l & 3)][l >> 2] | uint32_t(m[2 * (l & 3) + 1][l >> 2]) << 16;
}

} // namespace

void decodeMatrixMove(Decoder &d, Inst &inst) {
  inst.flow = Flow::WarpSync;
  inst.opClass = OpClass::Matrix;
  if (d.source->base == "movmatrix") {
    inst.ops[0] = d.dst(d.operand(0), 32);
    inst.ops[1] = d.src(d.operand(1), Type::B32);
    inst.fn = movmatrix;
    return;
  }
  bool isLoad = d.source->base == "ldmatrix";
  inst.opClass = isLoad ? OpClass::Load : OpClass::Store;
  inst.elements = d.has("x4") ? 4 : d.has("x2") ? 2 : 1;
  inst.width = 16;
  inst.flags = d.has("trans");
  const Operand &data = d.operand(isLoad ? 0 : 1);
  std::vector<const Operand *> parts;
  if (data.kind == Operand::Vector)
    for (const Operand &e : data.elements)
      parts.push_back(&e);
  else
    parts.push_back(&data);
  if (parts.size() != inst.elements)
    d.fail(data, "expected " + std::to_string(inst.elements) + " registers");
  for (unsigned k = 0; k < parts.size(); ++k)
    inst.ops[k] = isLoad ? d.dst(*parts[k], 32) : d.src(*parts[k], Type::B32);
  Space space = d.spaceModifier();
  d.address(d.operand(isLoad ? 1 : 0), inst,
            space == Space::Generic ? Space::Generic : Space::Shared, 8);
  if (isLoad && d.has("m8n16")) {
    inst.aux = d.type(1) == Type::B6x16p32 ? 6 : 4;
    if (d.source->types.size() != 2)
      d.fail("needs a destination and a source format");
    inst.fn = ldmatrixPacked;
  } else {
    inst.fn = isLoad ? ldmatrix : stmatrix;
  }
}

} // namespace tessera::sim
