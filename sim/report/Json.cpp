// Writing results as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/report/Json.h"

#include "sim/exec/Link.h"
#include "sim/report/Counters.h"
#include <map>

namespace tessera::sim::report {

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 32) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

static std::string field(const char *name, uint64_t value) {
  return quote(name) + ": " + std::to_string(value);
}

static std::string countsJson(const Counters &counters,
                              const Program &program) {
  uint64_t perClass[int(OpClass::Count)] = {};
  InstructionCount total;
  std::string lines;
  // Source places per instruction come from its function's locations.
  std::map<const ptx::Instruction *, std::string> places;
  for (const auto &code : program.codes) {
    const auto &files = program.module->filesOf(code->function);
    for (const ptx::Instruction &i : code->function->body) {
      if (i.location < 0)
        continue;
      const ptx::Location &loc = code->function->locations[i.location];
      auto file = files.find(loc.file);
      places[&i] =
          (file == files.end() ? std::to_string(loc.file) : file->second) +
          ":" + std::to_string(loc.line);
    }
  }
  for (size_t k = 0; k < counters.perInstruction.size(); ++k) {
    const InstructionCount &c = counters.perInstruction[k];
    const Inst *inst = counters.instructions[k];
    if (!c.warps || !inst)
      continue;
    perClass[int(inst->opClass)] += c.warps;
    total.warps += c.warps;
    total.lanes += c.lanes;
    total.present += c.present;
    total.divergent += c.divergent;
    total.bytes += c.bytes;
    total.sectors += c.sectors;
    total.idealSectors += c.idealSectors;
    total.wavefronts += c.wavefronts;
    total.conflicts += c.conflicts;
    lines +=
        (lines.empty() ? "" : ",\n  ") + std::string("{") +
        field("ptx_line", inst->line) + ", " + "\"source\": " +
        quote(inst->source && places.count(inst->source) ? places[inst->source]
                                                         : "") +
        ", \"opcode\": " +
        quote(inst->source ? inst->source->spelling : "ret") + ", " +
        field("warps", c.warps) + ", " + field("threads", c.lanes) + ", " +
        field("divergent", c.divergent) + ", " + field("bytes", c.bytes) +
        ", " + field("sectors", c.sectors) + ", " +
        field("ideal_sectors", c.idealSectors) + ", " +
        field("wavefronts", c.wavefronts) + ", " +
        field("bank_conflicts", c.conflicts);
    if (c.lowest <= c.highest)
      lines += ", " + field("lowest_address", c.lowest) + ", " +
               field("highest_address", c.highest);
    lines += "}";
  }
  std::string classes;
  for (int c = 0; c < int(OpClass::Count); ++c)
    if (perClass[c])
      classes += (classes.empty() ? "" : ", ") +
                 field(opClassName(OpClass(c)), perClass[c]);
  std::string timeline;
  if (counters.timeline && !counters.timeline->events.empty())
    timeline = "\"timeline\": " + toJson(*counters.timeline, program) + ",\n ";
  return "{" + field("warp_instructions", total.warps) + ", " +
         field("thread_instructions", total.lanes) + ", " +
         field("lane_slots", total.warps * 32) + ", " +
         field("divergent_branches", total.divergent) + ", " +
         field("bytes", total.bytes) + ", " + field("sectors", total.sectors) +
         ", " + field("ideal_sectors", total.idealSectors) + ", " +
         field("wavefronts", total.wavefronts) + ", " +
         field("bank_conflicts", total.conflicts) + ",\n \"async_depth\": {" +
         field("groups", counters.async.groups) + ", " +
         field("bytes_per_block", counters.async.bytes) + "}" + ",\n " +
         toJson(counters.asyncWork) + timeline +
         "\"time\": \"not measured\",\n \"classes\": {" + classes +
         "},\n \"lines\": [" + lines + "]}";
}

std::string toJson(const LaunchResult &result, const Program *program,
                   const std::string &error) {
  std::string out = "{\"ok\": ";
  out += result.ok && error.empty() ? "true" : "false";
  out += ", \"error\": " + quote(error);
  out += ", \"fault\": " + std::to_string(result.fault);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.6f", result.seconds);
  out += ", \"simulation_seconds\": " + std::string(seconds);
  out += ", " + field("warp_instructions", result.warpInstructions);
  out += ",\n\"reports\": [";
  for (size_t k = 0; k < result.reports.size(); ++k) {
    const Report &r = result.reports[k];
    out += (k ? ",\n " : "") + std::string("{\"kind\": ") + quote(r.kind) +
           ", \"message\": " + quote(r.message) + ", " +
           field("ptx_line", r.ptxLine) + ", \"source\": " + quote(r.source) +
           ", \"thread\": " + quote(r.thread) +
           ", \"other_thread\": " + quote(r.otherThread) + ", " +
           field("other_ptx_line", r.otherPtxLine) +
           ", \"other_source\": " + quote(r.otherSource) + ", " +
           field("address", r.address) + ", " + field("count", r.count) + "}";
  }
  out += "]";
  if (program) {
    out += ",\n\"static_shared\": " + std::to_string(program->staticShared);
    out += ",\n\"shared_variables\": [";
    for (const auto &v : program->sharedVariables)
      out += (&v == program->sharedVariables.data() ? "{\"name\": "
                                                    : ", {\"name\": ") +
             quote(v.name) + ", " + field("offset", v.offset) + ", " +
             field("bytes", v.bytes) + "}";
    out += "],\n\"occupancy\": " + toJson(result.occupancy);
  }
  if (result.counters && program)
    out += ",\n\"counts\": " + countsJson(*result.counters, *program);
  return out + "}";
}

} // namespace tessera::sim::report
