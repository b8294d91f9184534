// cp.async.bulk.tensor, cp.reduce.async.bulk.tensor and their prefetches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/Checker.h"
#include "sim/exec/BulkCopy.h"
#include "sim/exec/TensorMap.h"
#include "sim/report/Recorder.h"

namespace tessera::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

struct TensorPlan : BulkPlan {
  Address map;
  std::vector<Ref> at; // coordinates, innermost first
  unsigned rank = 0;
  bool isFourRows = false, isIm2col = false;
  std::vector<Ref> offsets; // of im2col, W first
};

/// The map behind a generic address.
TensorMap readMap(Warp &w, const Inst &i, unsigned l, uint64_t address) {
  TensorMap map;
  if ((address & ~windowMask) % 64)
    throw Fault{Fault::MisalignedAddress,
                "the tensor map used by " + threadName(w, l) +
                    " is not aligned to 64 bytes",
                address, int(l)};
  switch (address & windowMask) {
  case paramWindow: {
    const auto &params = w.block->launch->params;
    uint64_t offset = address & ~windowMask;
    if (offset + sizeof map > params.size())
      throw Fault{Fault::IllegalAddress,
                  "the tensor map lies beyond the kernel parameters", address,
                  int(l)};
    std::memcpy(&map, params.data() + offset, sizeof map);
    return map;
  }
  case sharedWindow:
  case localWindow:
    throw Fault{Fault::IllegalAddress,
                "a tensor map lies in global, constant or parameter memory",
                address, int(l)};
  default:
    std::memcpy(&map, globalPointer(w, address, sizeof map, false, l),
                sizeof map);
    if (w.block->checker)
      w.block->checker->tensorMapRead(w, i, l, address);
    return map;
  }
}

/// Map and place of one lane's copy, checked.
TensorMap tensorBox(Warp &w, const Inst &i, unsigned l, const TensorPlan &plan,
                    TensorBox &box) {
  TensorMap map = readMap(w, i, l, plan.map.of(w, l));
  auto refuse = [&](const std::string &what) {
    throw Fault{Fault::IllegalInstruction, what, 0, int(l)};
  };
  if (std::string problem = readForeignBits(map); !problem.empty())
    refuse(problem);
  if (std::string problem = checkTensorMap(map); !problem.empty())
    refuse("the tensor map is not valid: " + problem);
  if (map.ranks() != plan.rank)
    refuse("the tensor map has rank " + std::to_string(map.ranks()) +
           ", the instruction " + std::to_string(plan.rank));
  if (map.isIm2col != plan.isIm2col)
    refuse(std::string("the tensor map is ") +
           (map.isIm2col ? "for im2col" : "tiled") + ", the instruction " +
           (plan.isIm2col ? "for im2col" : "is tiled"));
  box.isIm2col = plan.isIm2col;
  for (size_t k = 0; k < plan.offsets.size(); ++k)
    box.offsets[k] = w.reg<uint16_t>(plan.offsets[k])[l];
  auto coordinate = [&](size_t k) {
    return int64_t(w.reg<int32_t>(plan.at[k])[l]);
  };
  box.isStore = plan.to == AsyncOp::Global;
  box.isFourRows = plan.isFourRows;
  if (plan.isFourRows) {
    if (map.count(1) != 1 || map.interleave)
      refuse("gather4 and scatter4 need a box of one row");
    box.at[0] = coordinate(0);
    for (unsigned k = 0; k < 4; ++k)
      box.rows[k] = coordinate(k + 1);
  } else {
    for (unsigned d = 0; d < plan.rank; ++d) {
      box.at[d] = coordinate(d);
      if (box.isStore && box.at[d] < 0 && !plan.isIm2col)
        refuse("coordinate " + std::to_string(d) + " of a tensor store is " +
               std::to_string(box.at[d]) + ", it must not be negative");
    }
  }
  if ((isPadded(map.type) && box.at[0] % 128) ||
      (map.type == TensorType::B4x16 && box.at[0] % 2))
    refuse("coordinate 0 is " + std::to_string(box.at[0]) +
           ", which this element type does not allow");
  if (box.isStore && isPadded(map.type))
    refuse("not supported: stores of padded element types");
  return map;
}

/// f16 and f32 NaN; the ISA does not give the bits of OOB-NaN.
uint64_t fillPattern(const TensorMap &map) {
  if (!map.fillNaN)
    return 0;
  switch (elementBits(map.type)) {
  case 16:
    return 0x7fff7fff7fff7fffull;
  case 32:
    return 0x7fffffff7fffffffull;
  default:
    return 0x7fffffffffffffffull;
  }
}

void tensorCopy(Warp &w, const Inst &i, uint32_t mask) {
  const auto &plan = *static_cast<const TensorPlan *>(i.extra.get());
  std::vector<AsyncOp::Piece> stored; // by a lane before
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    TensorBox box;
    TensorMap map = tensorBox(w, i, l, plan, box);
    auto op = beginCopy(w, i, l, plan, boxBytes(map, plan.isFourRows));
    const Address &shared = box.isStore ? plan.source : plan.destination;
    uint64_t address = shared.of(w, l);
    if (address & 127)
      throw Fault{Fault::MisalignedAddress,
                  "shared address of a tensor copy by " + threadName(w, l) +
                      " is not aligned to 128 bytes",
                  address, int(l)};
    SharedPlace place =
        sharedPlace(w, address, op->bytes, l, shared.reachesCluster);
    box.shared = place.offset;
    op->pieces = boxPieces(map, box);
    op->fillPattern = fillPattern(map);
    // The transaction of a padded type is without the padding, as CUTLASS
    // (bits of the element) and Triton expect it.
    op->isPadded = isPadded(map.type);
    if (op->isPadded)
      op->bytes = op->bytes / 8 * elementBits(map.type);
    for (const AsyncOp::Piece &piece : op->pieces) {
      // A swizzle uses the whole of the last 128 bytes.
      uint64_t last = (box.isStore ? piece.from : piece.to) + piece.bytes;
      if (last > w.block->sharedBytes)
        throw Fault{Fault::IllegalAddress,
                    "the swizzle of a tensor copy by " + threadName(w, l) +
                        " reaches shared address " + std::to_string(last) +
                        ": " + describeShared(*w.block, last),
                    address, int(l)};
      uint64_t global = box.isStore ? piece.to : piece.from;
      if (global != AsyncOp::fill)
        globalPointer(w, global, piece.bytes, box.isStore, l);
    }
    // All lanes of a warp may ask for the same store (CUTLASS): it is one.
    if (box.isStore && !plan.reduces) {
      if (op->pieces == stored)
        continue;
      stored = op->pieces;
    }
    if (plan.reduces) {
      op->reduces = true;
      op->op = plan.op;
      op->type = scalarType(map.type);
      op->ring = plan.ring && ptx::isFloat(op->type);
      if (op->type == Type::None ||
          !isReductionDefined(plan.op, op->type, true))
        throw Fault{Fault::IllegalInstruction,
                    "the reduction is not defined for the element type of the "
                    "tensor map",
                    0, int(l)};
    }
    issueTo(w, i, l, plan, destinations(w, l, plan, place), std::move(op));
  }
}

void tensorPrefetch(Warp &w, const Inst &i, uint32_t mask) {
  const auto &plan = *static_cast<const TensorPlan *>(i.extra.get());
  for (uint32_t m = mask; m; m &= m - 1) {
    TensorBox box;
    TensorMap map = tensorBox(w, i, unsigned(std::countr_zero(m)), plan, box);
    if (w.block->recorder)
      w.block->recorder->prefetched(i, boxBytes(map, plan.isFourRows));
  }
}

} // namespace

void decodeTensorCopy(Decoder &d, Inst &inst) {
  auto plan = std::make_shared<TensorPlan>();
  inst.extra = plan;
  for (std::string_view m : d.source->modifiers) {
    if (m.starts_with("im2col::w"))
      d.fail("not supported: im2col::w modes are not modelled");
    plan->isIm2col |= m == "im2col" || m == "im2col_no_offs";
    if (m.size() == 2 && m[0] >= '1' && m[0] <= '5' && m[1] == 'd')
      plan->rank = unsigned(m[0] - '0');
  }
  plan->isPair = d.has("cta_group::2");
  if (!plan->rank)
    d.fail("needs a dimension");
  if (plan->isIm2col && plan->rank < 3)
    d.fail("im2col needs three to five dimensions");
  plan->isFourRows = d.has("tile::gather4") || d.has("tile::scatter4");
  bool prefetch = d.has("prefetch"), group = d.has("bulk_group");
  if (plan->isFourRows && (plan->rank != 2 || group == d.has("tile::gather4")))
    if (!prefetch)
      d.fail("gather4 loads and scatter4 stores two dimensions");
  if (!prefetch && group == d.has("mbarrier::complete_tx::bytes"))
    d.fail("needs .bulk_group or .mbarrier::complete_tx::bytes");
  size_t next = 0;
  auto more = [&](const char *what) -> const Operand & {
    if (next >= d.operandCount())
      d.fail(std::string("needs ") + what);
    return d.operand(next++);
  };
  auto tensor = [&](const Operand &o) {
    if (o.kind != Operand::Address || o.elements.size() != 2)
      d.fail(o, "expected a tensor map and coordinates in brackets");
    Operand base = o;
    base.elements.resize(1);
    plan->map = decodeAddress(d, base, Space::Generic);
    const Operand &at = o.elements[1];
    std::vector<const Operand *> parts;
    if (at.kind == Operand::Vector)
      for (const Operand &e : at.elements)
        parts.push_back(&e);
    else
      parts.push_back(&at);
    if (parts.size() != (plan->isFourRows ? 5 : plan->rank))
      d.fail(o, "has " + std::to_string(parts.size()) + " coordinates");
    for (const Operand *p : parts)
      plan->at.push_back(d.src(*p, Type::B32));
  };
  auto offsets = [&] {
    if (!plan->isIm2col)
      return;
    const Operand &o = more("offsets of im2col");
    if (o.kind != Operand::Vector || o.elements.size() != plan->rank - 2)
      d.fail(o, "expected a vector of " + std::to_string(plan->rank - 2) +
                    " offsets");
    for (const Operand &e : o.elements)
      plan->offsets.push_back(d.src(e, Type::U16));
  };
  if (group) {
    plan->from = AsyncOp::Shared;
    plan->to = AsyncOp::Global;
    plan->signal = AsyncOp::BulkGroup;
    tensor(more("a tensor"));
    plan->source = decodeAddress(d, more("a source"), Space::Shared);
  } else if (prefetch) {
    tensor(more("a tensor"));
    offsets();
  } else {
    plan->from = AsyncOp::Global;
    plan->to = AsyncOp::Shared;
    Space space =
        d.has("shared::cluster") ? Space::SharedCluster : Space::Shared;
    plan->destination = decodeAddress(d, more("a destination"), space);
    tensor(more("a tensor"));
    plan->mbarrier = decodeAddress(d, more("an mbarrier"), space);
    offsets();
    if (d.has("multicast::cluster"))
      plan->blocks = d.src(more("a mask of blocks"), Type::U16);
  }
  if (d.has("L2::cache_hint"))
    d.src(more("a cache policy"), Type::U64);
  if (next != d.operandCount())
    d.fail("has too many operands");
  if (d.has("reduce")) {
    plan->reduces = true;
    plan->op = decodeAtomicOp(d);
    plan->ring = d.program.ring;
    inst.semantics = check::relaxed | check::scopeDevice;
  }
  inst.fn = prefetch ? tensorPrefetch : tensorCopy;
}

} // namespace tessera::sim
