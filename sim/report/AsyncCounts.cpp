// Adding up and writing the counts of asynchronous work.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/report/AsyncCounts.h"

#include "sim/report/Json.h"
#include <algorithm>

namespace tessera::sim::report {

void AsyncCounts::add(const AsyncCounts &other) {
  for (const auto &[kind, c] : other.tma) {
    TmaCount &sum = tma[kind];
    sum.requests += c.requests;
    sum.bytes += c.bytes;
    sum.delivered += c.delivered;
  }
  asyncStores += other.asyncStores;
  asyncStoreBytes += other.asyncStoreBytes;
  waits += other.waits;
  hadToWait += other.hadToWait;
  for (const auto &[name, n] : other.tensorInstructions)
    tensorInstructions[name] += n;
  auto raise = [](uint64_t &most, uint64_t value) {
    most = std::max(most, value);
  };
  raise(tensorColumns, other.tensorColumns);
  raise(depth.copies, other.depth.copies);
  raise(depth.bytes, other.depth.bytes);
  raise(depth.phases, other.depth.phases);
  raise(depth.groups, other.depth.groups);
}

uint64_t AsyncCounts::savedByMulticast() const {
  uint64_t saved = 0;
  for (const auto &[kind, c] : tma)
    if (kind.isMulticast)
      saved += c.delivered - c.bytes;
  return saved;
}

std::string toText(const AsyncCounts &counts) {
  auto number = [](uint64_t n) { return std::to_string(n); };
  std::string text;
  for (const auto &[kind, c] : counts.tma) {
    text += "TMA " + kind.operation + ", " + kind.from;
    if (!kind.to.empty())
      text += " to " + kind.to;
    text += std::string(kind.isTensor ? ", tensor" : "") +
            (kind.isMulticast ? ", multicast" : "") + ": " +
            number(c.requests) + " requests, " + number(c.bytes) + " bytes";
    if (kind.isMulticast)
      text += ", " + number(c.delivered) + " delivered";
    text += "\n";
  }
  if (uint64_t saved = counts.savedByMulticast())
    text += "bytes saved by multicast: " + number(saved) + "\n";
  if (counts.asyncStores)
    text += "st.async and red.async: " + number(counts.asyncStores) + ", " +
            number(counts.asyncStoreBytes) + " bytes\n";
  if (counts.waits)
    text += "mbarrier waits: " + number(counts.waits) + ", of which " +
            number(counts.hadToWait) + " had to wait\n";
  for (const auto &[name, n] : counts.tensorInstructions)
    text += "tensor instructions: " + name + ": " + number(n) + "\n";
  if (counts.tensorColumns)
    text +=
        "tensor memory of a block, at most: " + number(counts.tensorColumns) +
        " columns\n";
  const PipelineDepth &d = counts.depth;
  if (d.copies)
    text += "pipeline of a block, at most: " + number(d.copies) +
            " copies in flight, " + number(d.bytes) + " bytes, " +
            number(d.phases) + " phases ahead, " + number(d.groups) +
            " bulk groups\n";
  return text;
}

std::string toJson(const AsyncCounts &counts) {
  auto field = [](const char *name, uint64_t value) {
    return quote(name) + ": " + std::to_string(value);
  };
  auto flag = [](const char *name, bool value) {
    return quote(name) + (value ? ": true" : ": false");
  };
  std::string tma, products;
  for (const auto &[kind, c] : counts.tma)
    tma += (tma.empty() ? "{" : ", {") + quote("operation") + ": " +
           quote(kind.operation) + ", " + quote("from") + ": " +
           quote(kind.from) + ", " + quote("to") + ": " + quote(kind.to) +
           ", " + flag("tensor", kind.isTensor) + ", " +
           flag("multicast", kind.isMulticast) + ", " +
           field("requests", c.requests) + ", " + field("bytes", c.bytes) +
           ", " + field("delivered", c.delivered) + "}";
  for (const auto &[name, n] : counts.tensorInstructions)
    products += (products.empty() ? "" : ", ") + field(name.c_str(), n);
  const PipelineDepth &d = counts.depth;
  return "\"tma\": [" + tma + "],\n " +
         field("multicast_saved_bytes", counts.savedByMulticast()) +
         ", \"async_stores\": {" + field("requests", counts.asyncStores) +
         ", " + field("bytes", counts.asyncStoreBytes) +
         "},\n \"mbarrier_waits\": {" + field("waits", counts.waits) + ", " +
         field("had_to_wait", counts.hadToWait) +
         "},\n \"tensor_instructions\": {" + products + "}, " +
         field("tensor_memory_columns", counts.tensorColumns) +
         ",\n \"pipeline_depth\": {" + field("copies", d.copies) + ", " +
         field("bytes", d.bytes) + ", " + field("phases", d.phases) + ", " +
         field("groups", d.groups) + "},\n ";
}

} // namespace tessera::sim::report
