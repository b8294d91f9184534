// tensormap.replace and tensormap.cp_fenceproxy: maps made by a kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/check/Semantics.h"
#include "sim/exec/Access.h"
#include "sim/exec/Decode.h"
#include "sim/exec/TensorMap.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

enum Field : uint8_t {
  GlobalAddress,
  Rank,
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElementType,
  Interleave,
  SwizzleMode,
  SwizzleAtomicity,
  FillMode
};
constexpr std::pair<const char *, Field> fields[] = {
    {"global_address", GlobalAddress},
    {"rank", Rank},
    {"box_dim", BoxDim},
    {"global_dim", GlobalDim},
    {"global_stride", GlobalStride},
    {"element_stride", ElementStride},
    {"elemtype", ElementType},
    {"interleave_layout", Interleave},
    {"swizzle_mode", SwizzleMode},
    {"swizzle_atomicity", SwizzleAtomicity},
    {"fill_mode", FillMode}};

/// The numbers of .elemtype are not those of CUtensorMapDataType.
TensorType elementType(uint64_t code) {
  switch (code) {
  case 8:
    return TensorType::F32Ftz;
  case 9:
    return TensorType::F64;
  case 10:
    return TensorType::BF16;
  default:
    return TensorType(code);
  }
}

/// Reports accesses to 128 bytes and returns where they are. A map that another
/// compiler's host code made is in the first 64, and only those are copied by
/// what it calls; an edit writes the others.
uint8_t *mapBytes(Warp &w, const Inst &i, unsigned l, Space space,
                  uint64_t address, AccessKind kind) {
  uint8_t *start = nullptr;
  for (unsigned part = 0; part < 128; part += 16) {
    Access at;
    at.address[l] = address + part;
    if (part == foreignBytes && hasForeignBits(start))
      kind = AccessKind::Write;
    translate(w, i, 1u << l, space, 16, 16, kind, at);
    if (!part)
      start = at.pointer[l];
  }
  return start;
}

void set(TensorMap &map, Field field, unsigned ordinal, uint64_t value) {
  switch (field) {
  case GlobalAddress:
    map.base = value;
    break;
  case Rank:
    map.rank = uint8_t(std::min<uint64_t>(value, 255));
    break;
  case BoxDim:
    map.box[ordinal] = uint8_t(value - 1);
    break;
  case GlobalDim:
    map.dim[ordinal] = uint32_t(value - 1);
    break;
  case GlobalStride:
    map.stride[ordinal] = value;
    break;
  case ElementStride:
    map.step[ordinal] = uint8_t(value - 1);
    break;
  case ElementType:
    map.type = elementType(value);
    break;
  case Interleave:
    map.interleave = uint8_t(value);
    break;
  case SwizzleMode:
    map.swizzle = Swizzle(value);
    break;
  case SwizzleAtomicity:
    map.atom = SwizzleAtom(value);
    break;
  case FillMode:
    map.fillNaN = uint8_t(value);
    break;
  }
}

// flags: field; aux: ordinal; ops[0] the value; round: shift of the value
void replace(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t address[32];
  computeAddresses(w, i, mask, i.ops[8], address);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    uint64_t value = i.width == 8 ? w.reg<uint64_t>(i.ops[0])[l]
                                  : w.reg<uint32_t>(i.ops[0])[l];
    if (address[l] & 63)
      throw Fault{Fault::MisalignedAddress,
                  "the tensor map edited by " + threadName(w, l) +
                      " is not aligned to 64 bytes",
                  address[l], int(l)};
    uint8_t *p = mapBytes(w, i, l, i.space, address[l], AccessKind::Atomic);
    TensorMap map;
    std::memcpy(&map, p, sizeof map);
    if (std::string problem = readForeignBits(map); !problem.empty())
      throw Fault{Fault::IllegalInstruction, problem, address[l], int(l)};
    set(map, Field(i.flags), i.aux, value << i.round);
    std::memcpy(p, &map, sizeof map);
  }
}

struct CopyPlan {
  Inst to, from; // only their addresses
};
void copyMap(Warp &w, const Inst &i, uint32_t mask) {
  const auto &plan = *static_cast<const CopyPlan *>(i.extra.get());
  uint64_t to[32], from[32];
  computeAddresses(w, plan.to, mask, plan.to.ops[8], to);
  computeAddresses(w, plan.from, mask, plan.from.ops[8], from);
  unsigned first = std::countr_zero(mask);
  if (to[first] & 63 || from[first] & 63)
    throw Fault{Fault::MisalignedAddress,
                "a tensor map to be copied is not aligned to 64 bytes",
                to[first], int(first)};
  // Which lane copies what is open: they take words in turn.
  uint32_t left = mask;
  const uint8_t *start = nullptr;
  for (unsigned word = 0; word < sizeof(TensorMap); word += 4) {
    if (!left)
      left = mask;
    unsigned l = std::countr_zero(left);
    left &= left - 1;
    Access source, target;
    source.address[l] = from[first] + word;
    target.address[l] = to[first] + word;
    translate(w, i, 1u << l, Space::Global, 4, 4, AccessKind::Write, target);
    if (word >= foreignBytes && hasForeignBits(start)) {
      std::memset(target.pointer[l], 0, 4);
      continue;
    }
    translate(w, i, 1u << l, Space::Shared, 4, 4, AccessKind::Read, source);
    std::memcpy(target.pointer[l], source.pointer[l], 4);
    if (!word)
      start = source.pointer[l];
  }
  if (w.block->checker) {
    w.block->checker->warpSync(w, mask);
    w.block->checker->fence(w, i, mask);
  }
}

} // namespace

void decodeTensorMap(Decoder &d, Inst &inst) {
  inst.opClass = OpClass::Other;
  if (d.has("cp_fenceproxy")) {
    auto plan = std::make_shared<CopyPlan>();
    d.address(d.operand(0), plan->to, Space::Global, 8);
    d.address(d.operand(1), plan->from, Space::Shared, 8);
    if (d.immediate(d.operand(2)) != 128)
      d.fail(d.operand(2), "the size must be 128");
    inst.flow = Flow::WarpSync; // .sync.aligned
    inst.target = 0;
    inst.extra = plan;
    inst.fn = copyMap;
    return;
  }
  bool found = false;
  for (auto [name, field] : fields)
    if (d.has(name)) {
      inst.flags = field;
      found = true;
    }
  if (!found)
    d.fail("needs a field");
  bool hasOrdinal = inst.flags >= BoxDim && inst.flags <= ElementStride;
  if (d.operandCount() != (hasOrdinal ? 3 : 2))
    d.fail("has a wrong number of operands");
  bool wide = inst.flags == GlobalAddress || inst.flags == GlobalStride;
  if (d.type(1) != (wide ? Type::B64 : Type::B32))
    d.fail("needs the type b64 for addresses and strides, b32 for the rest");
  inst.width = wide ? 8 : 4;
  d.address(d.operand(0), inst, d.spaceModifier(), 8);
  if (hasOrdinal) {
    int64_t ordinal = d.immediate(d.operand(1));
    if (ordinal < 0 || ordinal > (inst.flags == GlobalStride ? 3 : 4))
      d.fail(d.operand(1), "there is no such dimension");
    inst.aux = uint16_t(ordinal);
  }
  const Operand &value = d.operand(hasOrdinal ? 2 : 1);
  if (inst.flags >= ElementType) {
    constexpr int64_t most[] = {15, 2, 4, 3, 1};
    int64_t v = d.immediate(value);
    if (v < 0 || v > most[inst.flags - ElementType])
      d.fail(value, "there is no such value");
  }
  inst.ops[0] = d.src(value, wide ? Type::B64 : Type::B32);
  // Before PTX 8.5 strides were given in units of 16 bytes.
  if (inst.flags == GlobalStride && d.moduleVersion < 805)
    inst.round = 4;
  inst.fn = replace;
}

} // namespace tessera::sim
