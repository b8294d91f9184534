// Runs one PTX instruction on arrays, for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/api/Device.h"
#include "sim/report/Counters.h"
#include <cstring>
#include <gtest/gtest.h>

namespace tessera::sim::test {

/// A kernel that loads up to three operands of `bits` per thread, executes
/// `op` (registers %d, %a, %b, %c of the given widths) and stores %d.
inline std::string elementwise(const std::string &op, unsigned dBits,
                               unsigned aBits, unsigned sources) {
  auto b = [](unsigned bits) { return std::to_string(bits); };
  std::string text = ".version 8.8\n.target sm_120a\n.address_size 64\n"
                     ".visible .entry k(.param .u64 pa, .param .u64 pb, "
                     ".param .u64 pc, .param .u64 pd, .param .u32 n) {\n"
                     ".reg .pred %p, %q; .reg .b32 %i, %t, %n; "
                     ".reg .b64 %x, %o, %od;\n.reg .b" +
                     b(dBits) + " %d; .reg .b" + b(aBits) +
                     " %a, %b, %c;\n"
                     "mov.u32 %i, %ctaid.x; mov.u32 %t, %ntid.x;\n"
                     "mad.lo.s32 %i, %i, %t, 0; mov.u32 %t, %tid.x;\n"
                     "add.s32 %i, %i, %t; ld.param.u32 %n, [n];\n"
                     "setp.ge.u32 %p, %i, %n; @%p bra DONE;\n"
                     "mul.wide.u32 %o, %i, " +
                     b(aBits / 8) + "; mul.wide.u32 %od, %i, " + b(dBits / 8) +
                     ";\n";
  const char *names[] = {"a", "b", "c"};
  for (unsigned k = 0; k < sources; ++k)
    text += std::string("ld.param.u64 %x, [p") + names[k] +
            "]; add.s64 %x, %x, %o; ld.global.b" + b(aBits) + " %" + names[k] +
            ", [%x];\n";
  return text + op +
         "\nld.param.u64 %x, [pd]; add.s64 %x, %x, %od; st.global.b" +
         b(dBits) + " [%x], %d;\nDONE: ret;\n}\n";
}

struct Harness {
  Device device;

  LaunchResult launch(const std::string &ptx, const std::string &kernel,
                      LaunchOptions options,
                      const std::vector<uint64_t> &params) {
    auto module = LinkedModule::load({ptx}, device.memory);
    Program &program = module->program(kernel);
    std::vector<uint8_t> packed(program.paramSize);
    for (size_t k = 0; k < params.size(); ++k)
      std::memcpy(packed.data() + program.paramOffsets[k], &params[k],
                  program.paramBytes[k]);
    LaunchResult r = launchKernel(device, *module, kernel, options,
                                  packed.data(), packed.size());
    kept.push_back(std::move(module)); // counters point into it
    return r;
  }
  std::vector<std::unique_ptr<LinkedModule>> kept;

  template <class D, class A>
  std::vector<D> map(const std::string &op, unsigned sources,
                     const std::vector<A> &a, const std::vector<A> &b = {},
                     const std::vector<A> &c = {}) {
    std::vector<D> d(a.size());
    auto address = [&](const void *p, size_t bytes) {
      device.memory.expose(uint64_t(p), bytes, "operand");
      return uint64_t(p);
    };
    LaunchOptions o;
    o.arch = 120;
    o.block[0] = 256;
    o.grid[0] = uint32_t((a.size() + 255) / 256);
    std::vector<uint64_t> params = {
        address(a.data(), a.size() * sizeof(A)),
        sources > 1 ? address(b.data(), b.size() * sizeof(A)) : 0,
        sources > 2 ? address(c.data(), c.size() * sizeof(A)) : 0,
        address(d.data(), d.size() * sizeof(D)), a.size()};
    LaunchResult r = launch(
        elementwise(op, sizeof(D) * 8, sizeof(A) * 8, sources), "k", o, params);
    EXPECT_TRUE(r.ok) << op << (r.reports.empty() ? "" : r.reports[0].message);
    for (uint64_t p : {params[0], params[1], params[2], params[3]})
      device.memory.unexpose(p);
    return d;
  }
};

/// Samples per instruction: TESSERA_SIM_SAMPLES, 4096 in CI.
inline size_t samples() {
  const char *text = std::getenv("TESSERA_SIM_SAMPLES");
  return text ? std::strtoull(text, nullptr, 0) : 4096;
}

} // namespace tessera::sim::test
