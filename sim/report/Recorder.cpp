// Counting and recording asynchronous work; see AsyncCounts.h and Timeline.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/report/Recorder.h"

#include "sim/exec/Cluster.h"
#include "sim/exec/Tcgen05.h"
#include "sim/exec/Wgmma.h"
#include <algorithm>

namespace tessera::sim::report {

Recorder::Recorder(const Block &block, Counters &counters)
    : block(block), counts(counters.asyncWork) {
  if (block.linear >= block.launch->options.clusterBlocks())
    return;
  if (!counters.timeline)
    counters.timeline = std::make_shared<Timeline>();
  timeline = counters.timeline.get();
}

TimelineEvent Recorder::event(TimelineEvent::Kind kind, const Warp &w,
                              const Inst &inst) const {
  TimelineEvent e;
  e.kind = kind;
  e.block = uint16_t(block.clusterRank);
  e.warp = uint16_t(w.index);
  e.line = inst.line;
  return e;
}

static const char *placeName(AsyncOp::Place place) {
  return place == AsyncOp::Global ? "global" : "shared";
}

void Recorder::requested(const AsyncOp &op, size_t blocks, bool isMulticast) {
  if (op.from == AsyncOp::Nothing)
    return; // tcgen05.commit
  if (op.from == AsyncOp::Value) {
    ++counts.asyncStores;
    counts.asyncStoreBytes += op.bytes;
    return;
  }
  TmaKind kind;
  kind.operation = op.reduces                   ? "reduction"
                   : op.from == AsyncOp::Global ? "load"
                   : op.to == AsyncOp::Global   ? "store"
                                                : "copy";
  kind.from = placeName(op.from);
  kind.to = placeName(op.to);
  kind.isTensor = op.inst->source->has("tensor");
  kind.isMulticast = isMulticast;
  TmaCount &c = counts.tma[kind];
  ++c.requests;
  c.bytes += op.bytes;
  c.delivered += op.bytes * blocks;
}

void Recorder::prefetched(const Inst &inst, uint64_t bytes) {
  TmaCount &c =
      counts.tma[{"prefetch", "global", "", inst.source->has("tensor"), false}];
  ++c.requests;
  c.bytes += bytes;
}

void Recorder::started(InFlight one) {
  bool isNew = true;
  for (InFlight &f : inFlight)
    if (f.isGroup == one.isGroup && f.of == one.of && f.phase == one.phase) {
      f.copies += one.copies;
      f.bytes += one.bytes;
      isNew = false;
    }
  if (isNew)
    inFlight.push_back(one);
  PipelineDepth now;
  for (const InFlight &f : inFlight) {
    now.copies += f.copies;
    now.bytes += f.bytes;
    ++(f.isGroup ? now.groups : now.phases);
  }
  PipelineDepth &most = counts.depth;
  most.copies = std::max(most.copies, now.copies);
  most.bytes = std::max(most.bytes, now.bytes);
  most.phases = std::max(most.phases, now.phases);
  most.groups = std::max(most.groups, now.groups);
}

void Recorder::ended(bool isGroup, uint32_t of, uint32_t upTo) {
  std::erase_if(inFlight, [&](const InFlight &f) {
    return f.isGroup == isGroup && f.of == of && f.phase <= upTo;
  });
}

void Recorder::issued(AsyncOp &op) {
  bool isGroup = op.signal == AsyncOp::BulkGroup;
  uint32_t phase = 0;
  if (!isGroup)
    if (auto it = op.target->mbarriers.find(op.mbarrier);
        it != op.target->mbarriers.end())
      phase = it->second.phase;
  if (op.from != AsyncOp::Nothing) {
    Recorder &waiter = isGroup ? *this : *op.target->recorder;
    waiter.started({isGroup, isGroup ? op.thread : op.mbarrier,
                    isGroup ? op.group : phase, 1, op.bytes});
  }
  if (!timeline)
    return;
  const Warp &w = *block.warps[op.thread / 32];
  TimelineEvent e =
      event(isGroup                          ? TimelineEvent::Store
            : op.isCommit                    ? TimelineEvent::Commit
            : op.signal == AsyncOp::ArriveOn ? TimelineEvent::Arrive
                                             : TimelineEvent::Copy,
            w, *op.inst);
  e.bytes = op.bytes;
  if (!op.pieces.empty()) {
    const AsyncOp::Piece &first = op.pieces.front();
    e.place = uint32_t(isGroup ? first.from : first.to);
  }
  if (!isGroup) {
    e.owner = int(op.target->clusterRank);
    e.mbarrier = op.mbarrier;
    e.phase = phase;
  }
  op.event = timeline->add(std::move(e));
}

void Recorder::groupsWaited(const Warp &w, const Inst &inst, uint32_t thread,
                            uint32_t group) {
  ended(true, thread, group);
  if (!timeline)
    return;
  TimelineEvent e = event(TimelineEvent::GroupWait, w, inst);
  e.what = "bulk groups";
  timeline->add(std::move(e));
}

void Recorder::waited(const Warp &w, const Inst &inst, uint32_t mbarrier,
                      bool hadToWait) {
  ++counts.waits;
  counts.hadToWait += hadToWait;
  auto it = block.mbarriers.find(mbarrier);
  int64_t phase =
      it == block.mbarriers.end() ? -1 : int64_t(it->second.phase) - 1;
  if (phase >= 0)
    ended(false, mbarrier, uint32_t(phase));
  if (!timeline)
    return;
  TimelineEvent e = event(TimelineEvent::Wait, w, inst);
  e.owner = int(block.clusterRank);
  e.mbarrier = mbarrier;
  e.phase = phase;
  e.by = timeline->endOf(e.owner, mbarrier, phase);
  timeline->add(std::move(e));
}

/// An event at an mbarrier of a block, in the phase that it is in.
TimelineEvent Recorder::eventAt(TimelineEvent::Kind kind, const Warp &w,
                                const Inst &inst, const Block &owner,
                                uint32_t mbarrier) const {
  TimelineEvent e = event(kind, w, inst);
  e.owner = int(owner.clusterRank);
  e.mbarrier = mbarrier;
  if (auto it = owner.mbarriers.find(mbarrier); it != owner.mbarriers.end())
    e.phase = it->second.phase;
  return e;
}

void Recorder::stuck(const Warp &w, const Inst &inst, uint32_t mbarrier) {
  if (timeline)
    timeline->add(eventAt(TimelineEvent::Stuck, w, inst, block, mbarrier));
}

void Recorder::arrived(const Warp &w, const Inst &inst, const Block &owner,
                       uint32_t mbarrier) {
  if (timeline)
    timeline->signals =
        timeline->add(eventAt(TimelineEvent::Arrive, w, inst, owner, mbarrier));
}

void Recorder::signals(int event) {
  if (timeline)
    timeline->signals = event;
}

void Recorder::phaseEnded(uint32_t mbarrier, uint32_t phase) {
  if (timeline)
    timeline->phaseEnded(int(block.clusterRank), mbarrier, phase);
}

void Recorder::product(const Warp &w, const Inst &inst, const WgmmaPlan &plan) {
  std::string types;
  for (ptx::Type type : inst.source->types)
    types += "." + std::string(ptx::typeName(type));
  unsigned k = plan.bits ? 256 : plan.k;
  std::string shape = "m64n" + std::to_string(plan.n) + "k" + std::to_string(k);
  // The four warps of a warp group execute one product.
  if (w.index % 4 == 0)
    ++counts.tensorInstructions[(plan.sparse ? "wgmma.sp." : "wgmma.") + shape +
                                types];
  if (!timeline)
    return;
  TimelineEvent e = event(TimelineEvent::Product, w, inst);
  e.what = "wgmma " + shape;
  e.group = w.wgmmaGroups + 1;
  timeline->add(std::move(e));
}

void Recorder::waitedForProducts(const Warp &w, const Inst &inst,
                                 uint32_t group) {
  if (!timeline)
    return;
  TimelineEvent e = event(TimelineEvent::GroupWait, w, inst);
  e.group = group;
  e.what = "wgmma";
  timeline->add(std::move(e));
}

void Recorder::tensorOp(const Warp &w, const TensorOp &op) {
  const ptx::Instruction &source = *op.inst->source;
  bool isProduct = op.kind == TensorOp::Product;
  TimelineEvent e =
      event(isProduct ? TimelineEvent::Product : TimelineEvent::TensorMove, w,
            *op.inst);
  if (isProduct) {
    const InstructionDescriptor &s = op.shape;
    std::string shape = "m" + std::to_string(s.m) + "n" + std::to_string(s.n) +
                        "k" + std::to_string(s.k);
    std::string name = "tcgen05.mma";
    for (const char *part : {"ws", "sp"})
      if (source.has(part))
        name += std::string(".") + part;
    ++counts.tensorInstructions
          [name + (op.isPair ? ".cta_group::2" : ".cta_group::1") +
           ".kind::" + std::string(source.after("kind::")) + "." + shape];
    e.what = name + " " + shape;
  } else {
    e.what = op.kind == TensorOp::Copy ? "tcgen05.cp" : "tcgen05.shift";
  }
  if (timeline)
    timeline->add(std::move(e));
}

void Recorder::tensorMove(const Warp &w, const Inst &inst) {
  if (!timeline)
    return;
  TimelineEvent e = event(TimelineEvent::TensorMove, w, inst);
  e.what = inst.source->has("st") ? "tcgen05.st" : "tcgen05.ld";
  timeline->add(std::move(e));
}

void Recorder::allocated(const TensorMemory &memory) {
  uint64_t columns = 0;
  for (const TensorMemory::Allocation &a : memory.allocations)
    columns += a.freed ? 0 : a.columns;
  counts.tensorColumns = std::max(counts.tensorColumns, columns);
}

void Recorder::finding(const Warp &w, unsigned line, const std::string &kind) {
  if (!timeline)
    return;
  TimelineEvent e;
  e.kind = TimelineEvent::Finding;
  e.block = uint16_t(block.clusterRank);
  e.warp = uint16_t(w.index);
  e.line = line;
  e.what = kind;
  timeline->add(std::move(e));
}

} // namespace tessera::sim::report
