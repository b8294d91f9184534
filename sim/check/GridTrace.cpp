// Grids that may overlap; see GridTrace.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/check/GridTrace.h"

#include "sim/exec/Cluster.h"

namespace tessera::sim::check {

std::shared_ptr<GridTrace> Checker::takeTrace() {
  auto trace = std::make_shared<GridTrace>();
  trace->kernel = launch.program->entry->name;
  trace->pages = std::move(pages);
  pages.clear();
  lastPage = ~0ull;
  return trace;
}

/// All accesses become those of the grid.
void Checker::follow(GridTrace &before) {
  pages = std::move(before.pages);
  auto ofGrid = [](Mark &mark) {
    if (mark.inst)
      mark = {gridAgent, noBlock, 1, 0, mark.inst};
  };
  for (auto &[number, bytes] : pages)
    for (ByteState &byte : *bytes) {
      ofGrid(byte.write);
      if (!byte.read.inst && byte.readers && !byte.readers->empty())
        byte.read = byte.readers->front();
      byte.readers.reset();
      ofGrid(byte.read);
    }
  gridBefore = before.kernel;
}

void BlockChecker::gridWaited(Warp &w, uint32_t mask) {
  for (uint32_t m = mask; m; m &= m - 1) {
    ThreadState &s = threads[w.index * 32 + unsigned(std::countr_zero(m))];
    auto clock = std::make_shared<Clock>(*s.known);
    clock->blocks[noBlock].know(gridAgent, 1);
    s.known = clock;
  }
}

void BlockChecker::reportOverlap(Warp &w, const Inst &i, unsigned lane,
                                 const Mark &before, uint64_t address,
                                 bool wasWrite) {
  if (owner.launch.isReported("grid-overlap", i.line, before.inst->line))
    return;
  report("grid-overlap", w, i, lane, address, before.inst,
         threadName(w, lane) + " touches " + where(address, nullptr) + " at " +
             describePlace(i, owner.launch) + ", which the grid before, '" +
             owner.gridBefore + "', " + (wasWrite ? "writes" : "reads") +
             " at its PTX line " + std::to_string(before.inst->line) +
             ": it may still run, because the launch lets grids overlap "
             "(programmatic serialization), and there was no "
             "griddepcontrol.wait before");
}

} // namespace tessera::sim::check
