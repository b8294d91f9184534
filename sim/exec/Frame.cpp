// What a frame starts with: special registers, addresses of local variables.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Cluster.h"
#include "sim/ptx/SpecialRegisters.h"

namespace tessera::sim {

void Warp::initFrame(Frame &f) {
  uint32_t bytes = f.code->registerBytes + 64;
  if (!f.storage) {
    f.storage.reset(new uint8_t[bytes + 64]());
    f.registers = reinterpret_cast<uint8_t *>(
        (reinterpret_cast<uintptr_t>(f.storage.get()) + 63) & ~uintptr_t(63));
  }
  const Launch &launch = *block->launch;
  const LaunchOptions &o = launch.options;
  for (const FrameValue &v : f.code->frameValues) {
    if (v.kind == FrameValue::LocalAddress) {
      auto *p = reinterpret_cast<uint64_t *>(f.registers + v.ref);
      for (unsigned l = 0; l < 32; ++l)
        p[l] = f.localBase + v.offset;
      continue;
    }
    using ptx::Special;
    auto *p = reinterpret_cast<uint32_t *>(f.registers + v.ref);
    Special special = Special(v.special);
    if (special == Special::IsExplicitCluster) {
      *p = o.explicitCluster ? ~0u : 0;
      continue;
    }
    if (special == Special::GridId) {
      auto *q = reinterpret_cast<uint64_t *>(f.registers + v.ref);
      for (unsigned l = 0; l < 32; ++l)
        q[l] = launch.gridId;
      continue;
    }
    auto workspace = reinterpret_cast<uint64_t>(launch.workspace.data());
    uint32_t total = block->userShared;
    uint32_t reserved = (total + 15) & ~15u;
    for (unsigned l = 0; l < 32; ++l) {
      uint32_t tid = index * 32 + l, value = 0;
      switch (special) {
      case Special::TidX:
        value = tid % o.block[0];
        break;
      case Special::TidY:
        value = tid / o.block[0] % o.block[1];
        break;
      case Special::TidZ:
        value = tid / o.block[0] / o.block[1];
        break;
      case Special::NtidX:
      case Special::NtidY:
      case Special::NtidZ:
        value = o.block[v.special - unsigned(Special::NtidX)];
        break;
      case Special::CtaidX:
      case Special::CtaidY:
      case Special::CtaidZ:
        value = block->index[v.special - unsigned(Special::CtaidX)];
        break;
      case Special::NctaidX:
      case Special::NctaidY:
      case Special::NctaidZ:
        value = o.grid[v.special - unsigned(Special::NctaidX)];
        break;
      case Special::LaneId:
        value = l;
        break;
      case Special::WarpId:
        value = index;
        break;
      case Special::NwarpId:
        value = (block->threads + 31) / 32;
        break;
      case Special::SmId:
        value = block->linear % 4;
        break;
      case Special::NsmId:
        value = 4;
        break;
      case Special::LaneMaskEq:
        value = 1u << l;
        break;
      case Special::LaneMaskLe:
        value = (2u << l) - 1;
        break;
      case Special::LaneMaskLt:
        value = (1u << l) - 1;
        break;
      case Special::LaneMaskGe:
        value = ~((1u << l) - 1);
        break;
      case Special::LaneMaskGt:
        value = ~((2u << l) - 1);
        break;
      case Special::ClusterNctaidX:
      case Special::ClusterNctaidY:
      case Special::ClusterNctaidZ:
        value = o.cluster[v.special - unsigned(Special::ClusterNctaidX)];
        break;
      case Special::ClusterCtaidX:
      case Special::ClusterCtaidY:
      case Special::ClusterCtaidZ: {
        unsigned d = v.special - unsigned(Special::ClusterCtaidX);
        value = block->index[d] % o.cluster[d];
        break;
      }
      case Special::ClusterIdX:
      case Special::ClusterIdY:
      case Special::ClusterIdZ: {
        unsigned d = v.special - unsigned(Special::ClusterIdX);
        value = block->index[d] / o.cluster[d];
        break;
      }
      case Special::NclusterIdX:
      case Special::NclusterIdY:
      case Special::NclusterIdZ: {
        unsigned d = v.special - unsigned(Special::NclusterIdX);
        value = o.grid[d] / o.cluster[d];
        break;
      }
      case Special::ClusterCtaRank:
        value = block->clusterRank;
        break;
      case Special::ClusterNctaRank:
        value = uint32_t(o.clusterBlocks());
        break;
      case Special::EnvReg1:
        value = uint32_t(workspace >> 32);
        break;
      case Special::EnvReg2:
        value = uint32_t(workspace);
        break;
      case Special::DynamicSmemSize:
        value = o.dynamicShared;
        break;
      case Special::TotalSmemSize:
        value = total;
        break;
      case Special::AggrSmemSize:
        value = block->sharedBytes;
        break;
      case Special::ReservedSmemBegin:
      case Special::ReservedSmem0:
      case Special::ReservedSmem1:
        value = reserved;
        break;
      case Special::ReservedSmemEnd:
      case Special::ReservedSmemCap:
        value = block->sharedBytes;
        break;
      default:
        break;
      }
      p[l] = value;
    }
  }
  // Every call starts with its locals where the caller's end.
  if (f.code->localBytes)
    localAt(0, f.localBase + f.code->localBytes, 0);
}

Frame *Warp::childFrame(Frame *parent, const Code &code) {
  for (auto &child : parent->children)
    if (child->code == &code)
      return child.get();
  if (parent->depth > 4000)
    throw Fault{Fault::IllegalAddress, "call stack is too deep"};
  auto child = std::make_unique<Frame>();
  child->code = &code;
  child->parent = parent;
  child->depth = parent->depth + 1;
  child->localBase = (parent->localBase + parent->code->localBytes + 15) & ~15u;
  for (uint32_t top : stackTop)
    child->localBase = std::max(child->localBase, (top + 15) & ~15u);
  initFrame(*child);
  parent->children.push_back(std::move(child));
  return parent->children.back().get();
}

void Warp::enterFrame(Frame *to) {
  frame = to;
  base[0] = to->registers;
  unsigned rank = block->clusterRank;
  base[1] = const_cast<uint8_t *>(rank ? to->code->rankConstants[rank]->data()
                                       : to->code->constants.data());
}

} // namespace tessera::sim
