// Recording events and writing them as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/report/Timeline.h"

#include "sim/report/Json.h"
#include <set>

namespace tessera::sim::report {

const char *kindName(TimelineEvent::Kind kind) {
  static const char *names[] = {
      "copy",  "store",   "arrive",      "commit",     "wait",
      "stuck", "product", "tensor_move", "group_wait", "finding"};
  return names[kind];
}

static bool isAlike(const TimelineEvent &a, const TimelineEvent &b) {
  if (a.kind != b.kind)
    return false;
  if (a.kind == TimelineEvent::Product || a.kind == TimelineEvent::TensorMove)
    return a.what == b.what && a.group == b.group;
  return (a.kind == TimelineEvent::Arrive || a.kind == TimelineEvent::Copy) &&
         a.line == b.line && a.bytes == b.bytes && a.owner == b.owner &&
         a.mbarrier == b.mbarrier && a.phase == b.phase;
}

int Timeline::add(TimelineEvent event) {
  std::pair<int, int> warp{event.block, event.warp};
  if (auto it = last.find(warp);
      it != last.end() && isAlike(events[it->second], event)) {
    ++events[it->second].count;
    return int(it->second);
  }
  if (events.size() >= mostEvents) {
    ++leftOut;
    return -1;
  }
  last[warp] = events.size();
  events.push_back(std::move(event));
  return int(events.size()) - 1;
}

void Timeline::phaseEnded(int owner, uint32_t mbarrier, int64_t phase) {
  ends[{owner, mbarrier, phase}] = signals;
}

int Timeline::endOf(int owner, uint32_t mbarrier, int64_t phase) const {
  auto it = ends.find({owner, mbarrier, phase});
  return it == ends.end() ? -1 : it->second;
}

static std::string nameOf(uint32_t offset, const Program &program) {
  for (const auto &v : program.sharedVariables)
    if (offset - v.offset < v.bytes)
      return v.name +
             (offset > v.offset ? "+" + std::to_string(offset - v.offset) : "");
  return "shared " + std::to_string(offset);
}

std::string toJson(const Timeline &timeline, const Program &program) {
  auto field = [](const char *name, int64_t value) {
    return quote(name) + ": " + std::to_string(value);
  };
  std::string text =
      "{" + field("left_out", int64_t(timeline.leftOut)) + ", \"mbarriers\": {";
  std::set<uint32_t> mbarriers;
  for (const TimelineEvent &e : timeline.events)
    if (e.owner >= 0 && mbarriers.insert(e.mbarrier).second)
      text += (mbarriers.size() > 1 ? ", " : "") +
              quote(std::to_string(e.mbarrier)) + ": " +
              quote(nameOf(e.mbarrier, program));
  text += "},\n  \"events\": [";
  for (const TimelineEvent &e : timeline.events) {
    text += (&e == timeline.events.data() ? "{" : ",\n   {") +
            std::string("\"kind\": ") + quote(kindName(e.kind)) + ", " +
            field("block", e.block) + ", " + field("warp", e.warp) + ", " +
            field("ptx_line", e.line);
    if (e.count > 1)
      text += ", " + field("count", e.count);
    if (e.bytes)
      text += ", " + field("bytes", int64_t(e.bytes)) + ", " +
              field("place", e.place);
    if (e.owner >= 0)
      text += ", " + field("owner", e.owner) + ", " +
              field("mbarrier", e.mbarrier) + ", " + field("phase", e.phase);
    if (e.group)
      text += ", " + field("group", e.group);
    if (e.by >= 0)
      text += ", " + field("by", e.by);
    if (!e.what.empty())
      text += ", \"what\": " + quote(e.what);
    text += "}";
  }
  return text + "]}";
}

} // namespace tessera::sim::report
