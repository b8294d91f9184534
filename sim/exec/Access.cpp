// Address translation with bounds and alignment checks; always on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Access.h"

#include "sim/check/Checker.h"
#include "sim/exec/Cluster.h"
#include "sim/report/Counters.h"
#include <cinttypes>

namespace tessera::sim {

using ptx::Space;

std::string threadName(const Warp &w, unsigned lane) {
  return threadName(w.block->launch->options, w.block->linear,
                    w.index * 32 + lane);
}

std::string threadName(const LaunchOptions &o, uint64_t block, uint32_t t) {
  char text[96];
  std::snprintf(text, sizeof text, " thread (%u,%u,%u)", t % o.block[0],
                t / o.block[0] % o.block[1], t / o.block[0] / o.block[1]);
  return blockName(o, block) + text;
}

void computeAddresses(Warp &w, const Inst &i, uint32_t mask, Ref base,
                      uint64_t *address) {
  if (i.addressWidth == 4) {
    const auto *a = w.reg<uint32_t>(base);
    uint32_t offset = uint32_t(i.imm);
    forLanes(mask, [&](unsigned l) { address[l] = uint32_t(a[l] + offset); });
  } else {
    const auto *a = w.reg<uint64_t>(base);
    uint64_t offset = uint64_t(i.imm);
    forLanes(mask, [&](unsigned l) { address[l] = a[l] + offset; });
  }
}

static std::string hex(uint64_t v) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%" PRIx64, v);
  return text;
}

uint8_t *globalPointer(Warp &w, uint64_t address, unsigned bytes, bool write,
                       unsigned lane) {
  Memory &memory = *w.block->launch->memory;
  uint64_t generation = memory.generation.load(std::memory_order_relaxed);
  if (w.cachedGeneration != generation) {
    w.cachedGeneration = generation;
    w.cachedLow = 1;
    w.cachedHigh = 0;
  }
  if (address >= w.cachedLow && address + bytes <= w.cachedHigh &&
      address + bytes >= address)
    return reinterpret_cast<uint8_t *>(address);
  Allocation *a = memory.find(address);
  if (!a && memory.resolver && memory.resolver(address))
    a = memory.find(address);
  auto fail = [&](const std::string &what) {
    throw Fault{Fault::IllegalAddress,
                std::string(write ? "write" : "read") + " of " +
                    std::to_string(bytes) + " bytes at global address " +
                    hex(address) + " by " + threadName(w, lane) + ": " + what,
                address, int(lane)};
  };
  if (!a)
    fail("the address is " + memory.describe(address));
  if (a->freed)
    fail("'" + a->name + "' was freed (use after free)");
  if (address - a->base + bytes > a->size)
    fail(std::to_string(address - a->base + bytes - a->size) +
         " bytes past the end of '" + a->name + "' of " +
         std::to_string(a->size) + " bytes");
  w.cachedLow = a->base;
  w.cachedHigh = a->base + a->size;
  return reinterpret_cast<uint8_t *>(address);
}

std::string describeShared(const Block &block, uint64_t address) {
  const Program &program = *block.launch->program;
  uint64_t dynamic = block.launch->options.dynamicShared;
  std::string where = "the block has " +
                      std::to_string(program.staticShared + dynamic) +
                      " bytes of shared memory";
  auto past = [&](uint64_t end, const std::string &name, uint64_t bytes) {
    if (address >= end && address < end + (1u << 20))
      where = std::to_string(address - end) + " bytes past the end of " + name +
              " of " + std::to_string(bytes) + " bytes";
  };
  for (const auto &v : program.sharedVariables)
    past(v.offset + v.bytes, "'" + v.name + "'", v.bytes);
  if (dynamic)
    past(dynamicSharedOffset(program) + dynamic, "the dynamic shared memory",
         dynamic);
  return where;
}

/// `address` without its window.
static SharedPlace placeOf(Warp &w, uint64_t address, unsigned bytes,
                           unsigned lane, bool reachesCluster) {
  Block *block = w.block;
  constexpr uint64_t offsetMask = (1u << clusterRankShift) - 1;
  uint64_t rank = address >> clusterRankShift;
  if (rank == block->clusterRank) {
    address &= offsetMask;
  } else if (rank || reachesCluster) {
    auto &blocks = block->cluster->blocks;
    auto refuse = [&](Fault::Kind kind, const std::string &why) {
      throw Fault{kind,
                  "access of " + std::to_string(bytes) +
                      " bytes at shared address " + hex(address) + " by " +
                      threadName(w, lane) + ": " + why,
                  address, int(lane)};
    };
    if (rank < blocks.size()) {
      if (!reachesCluster)
        refuse(Fault::IllegalAddress,
               "the address lies in block " + std::to_string(rank) +
                   " of the cluster, and only instructions on "
                   "shared::cluster reach other blocks");
      block = blocks[rank].get();
      if (!block->liveThreads)
        refuse(Fault::ExitedBlock,
               blockName(block->launch->options, block->linear) +
                   " has exited, and its shared memory is gone: a block "
                   "waits before it exits until the others are done with its "
                   "memory (barrier.cluster)");
      address &= offsetMask;
    } else if (blocks.size() > 1) {
      refuse(Fault::IllegalAddress,
             "the cluster has " + std::to_string(blocks.size()) +
                 " blocks, the address is in number " + std::to_string(rank));
    }
  }
  if (address + bytes > block->sharedBytes || address + bytes < address)
    throw Fault{Fault::IllegalAddress,
                "access of " + std::to_string(bytes) +
                    " bytes at shared address " + hex(address) +
                    ofBlock(*block) + " by " + threadName(w, lane) + ": " +
                    describeShared(*block, address),
                address, int(lane)};
  return {block, uint32_t(address)};
}

uint8_t *sharedPointer(Warp &w, uint64_t address, unsigned bytes,
                       unsigned lane) {
  return w.block->shared + placeOf(w, address, bytes, lane, false).offset;
}

SharedPlace sharedPlace(Warp &w, uint64_t address, unsigned bytes,
                        unsigned lane, bool reachesCluster) {
  if ((address & windowMask) == sharedWindow)
    address &= ~windowMask;
  return placeOf(w, address, bytes, lane, reachesCluster);
}

void translate(Warp &w, const Inst &i, uint32_t mask, Space space,
               unsigned bytes, unsigned align, AccessKind kind, Access &out,
               bool check) {
  Block &block = *w.block;
  bool write = kind != AccessKind::Read;
  uint64_t misaligned = 0;
  for (uint32_t m = mask; m; m &= m - 1)
    misaligned |= out.address[std::countr_zero(m)];
  if (misaligned & (align - 1))
    for (uint32_t m = mask; m; m &= m - 1) {
      unsigned l = std::countr_zero(m);
      if (out.address[l] & (align - 1))
        throw Fault{Fault::MisalignedAddress,
                    "address " + hex(out.address[l]) + " used by " +
                        threadName(w, l) + " is not aligned to " +
                        std::to_string(align) + " bytes",
                    out.address[l], int(l)};
    }
  // Bytes nobody looks at may lie outside (pragma used_bytes_mask).
  unsigned needed = bytes;
  if (i.usedBytes)
    needed = std::min<unsigned>(bytes, 32 - std::countl_zero(i.usedBytes));
  Space only = space;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = std::countr_zero(m);
    uint64_t a = out.address[l];
    Space s = space;
    if (s == Space::Generic) {
      switch (a & windowMask) {
      case sharedWindow:
        s = Space::Shared;
        break;
      case localWindow:
        s = Space::Local;
        break;
      case paramWindow:
        s = Space::Param;
        break;
      default:
        s = Space::Global;
      }
      if (s != Space::Global)
        a &= ~windowMask;
      out.address[l] = a;
    }
    out.space[l] = s;
    only = s;
    switch (s) {
    case Space::Shared: {
      SharedPlace place = placeOf(w, a, needed, l, i.reachesCluster);
      out.owner[l] = place.block;
      out.pointer[l] = place.block->shared + place.offset;
      out.address[l] = place.offset;
      break;
    }
    case Space::Local:
      if (a >> 32)
        throw Fault{Fault::IllegalAddress,
                    "local address " + hex(a) + " is out of range"};
      w.localAt(l, uint32_t(a), bytes);
      break;
    case Space::Param: {
      const auto &params = block.launch->params;
      if (write || a + needed > params.size())
        throw Fault{Fault::IllegalAddress,
                    std::string(write ? "write to" : "read beyond") +
                        " the kernel parameters at offset " +
                        std::to_string(a)};
      out.pointer[l] = const_cast<uint8_t *>(params.data()) + a;
      break;
    }
    default:
      out.pointer[l] = globalPointer(w, a, needed, write, l);
    }
  }
  // Growing local memory moves it: take the pointers last.
  if (only == Space::Local || space == Space::Generic)
    for (uint32_t m = mask; m; m &= m - 1) {
      unsigned l = std::countr_zero(m);
      if (out.space[l] == Space::Local)
        out.pointer[l] = w.localAt(l, uint32_t(out.address[l]), bytes);
    }
  if (__builtin_expect(w.tracing, 0)) {
    if (block.worker->counters)
      block.worker->counters->access(i, mask, out, bytes, kind);
    if (block.checker && check)
      block.checker->access(w, i, mask, out, bytes, kind);
  }
}

} // namespace tessera::sim
