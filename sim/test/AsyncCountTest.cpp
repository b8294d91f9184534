// Counts of TMA, mbarriers and tensor instructions against values by hand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/test/Run.h"

using namespace tessera::sim;
using namespace tessera::sim::test;
using report::TmaCount;

namespace {

struct Launched {
  LaunchResult result;
  report::AsyncCounts counts;
};

/// Runs `body` in every thread: %t is its number, %g 4096 bytes of global
/// memory, %s shared memory, %b two mbarriers for one arrival each.
Launched count(const std::string &body, LaunchOptions o) {
  Harness h;
  std::string text =
      ".version 8.8\n.target sm_" + std::to_string(o.arch) +
      "a\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
      ".reg .b32 %t, %s, %b, %r<9>; .reg .b64 %g, %d<9>; .reg .pred %q, %w;\n"
      ".reg .f32 %f<8>;\n"
      ".shared .align 1024 .b8 s[8192]; .shared .align 8 .b64 b[4];\n"
      "mov.u32 %t, %tid.x; ld.param.u64 %g, [p]; mov.u32 %s, s;\n"
      "mov.u32 %b, b; setp.ne.u32 %q, %t, 0;\n"
      "@!%q mbarrier.init.shared::cta.b64 [%b], 1;\n"
      "@!%q mbarrier.init.shared::cta.b64 [%b+8], 1;\n"
      "bar.sync 0;\n" +
      body + "\nret;\n}\n";
  uint64_t g = h.device.memory.allocate(4096, Allocation::Managed, "g");
  o.count = true;
  Launched run;
  run.result = h.launch(text, "k", o, {g});
  EXPECT_TRUE(run.result.ok)
      << (run.result.reports.empty() ? "" : run.result.reports[0].message);
  run.counts = run.result.counters->asyncWork;
  return run;
}
LaunchOptions options(unsigned arch, unsigned threads) {
  LaunchOptions o;
  o.arch = arch;
  o.block[0] = threads;
  return o;
}

std::string expect(unsigned slot, unsigned bytes) {
  return "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b+" +
         std::to_string(8 * slot) + "], " + std::to_string(bytes) + ";\n";
}
std::string load(unsigned slot, unsigned at, unsigned bytes) {
  return "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
         "[%s+" +
         std::to_string(at) + "], [%g], " + std::to_string(bytes) + ", [%b+" +
         std::to_string(8 * slot) + "];\n";
}
std::string wait(unsigned slot, unsigned parity) {
  static unsigned labels = 0;
  std::string label = "W" + std::to_string(++labels);
  return label + ": mbarrier.try_wait.parity.shared::cta.b64 %w, [%b+" +
         std::to_string(8 * slot) + "], " + std::to_string(parity) +
         "; @!%w bra " + label + ";\n";
}
const TmaCount *find(const report::AsyncCounts &c, const char *operation) {
  const TmaCount *found = nullptr;
  for (const auto &[kind, n] : c.tma)
    if (kind.operation == operation) {
      EXPECT_EQ(found, nullptr) << "two kinds of " << operation;
      found = &n;
    }
  EXPECT_NE(found, nullptr) << operation;
  return found;
}

TEST(AsyncCount, RequestsAndBytes) {
  std::string body = expect(0, 768) + load(0, 0, 256) + load(0, 256, 512) +
                     wait(0, 0) +
                     "cp.async.bulk.global.shared::cta.bulk_group [%g], [%s], "
                     "128;\ncp.async.bulk.commit_group;\n"
                     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add."
                     "u32 [%g+1024], [%s], 64;\ncp.async.bulk.commit_group;\n"
                     "cp.async.bulk.wait_group 0;\n"
                     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add."
                     "u32 [%g+1024], [%s], 32;\ncp.async.bulk.commit_group;\n"
                     "cp.async.bulk.wait_group 0;\n"
                     "cp.async.bulk.prefetch.L2.global [%g], 32;\n";
  for (bool check : {false, true}) {
    LaunchOptions o = options(90, 1);
    o.check = check;
    report::AsyncCounts c = count(body, o).counts;
    EXPECT_EQ(c.tma.size(), 4u);
    const TmaCount *loads = find(c, "load"), *stores = find(c, "store"),
                   *sums = find(c, "reduction"), *early = find(c, "prefetch");
    ASSERT_TRUE(loads && stores && sums && early);
    EXPECT_EQ(loads->requests, 2u);
    EXPECT_EQ(loads->bytes, 256u + 512);
    EXPECT_EQ(stores->requests, 1u);
    EXPECT_EQ(stores->bytes, 128u);
    EXPECT_EQ(sums->requests, 2u);
    EXPECT_EQ(sums->bytes, 64u + 32);
    EXPECT_EQ(early->bytes, 32u);
    EXPECT_EQ(c.savedByMulticast(), 0u);
    // Two copies on one phase, later two groups of one copy each, then one.
    EXPECT_EQ(c.depth.copies, 2u);
    EXPECT_EQ(c.depth.bytes, 768u);
    EXPECT_EQ(c.depth.phases, 1u);
    EXPECT_EQ(c.depth.groups, 2u);
  }
}

TEST(AsyncCount, Multicast) {
  // One block of a cluster of four sends 512 bytes to blocks 0, 1 and 3.
  std::string body =
      "mov.u32 %r1, %cluster_ctarank; setp.ne.u32 %q, %r1, 0;\n"
      "setp.eq.u32 %w, %r1, 2;\n@!%w " +
      expect(0, 512) +
      "barrier.cluster.arrive; barrier.cluster.wait;\n"
      "@!%q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
      "multicast::cluster [%s], [%g], 512, [%b], 11;\n@%w bra DONE;\n" +
      wait(0, 0) + "DONE: barrier.cluster.arrive; barrier.cluster.wait;";
  LaunchOptions o = options(90, 1);
  o.grid[0] = 8; // two clusters
  o.cluster[0] = 4;
  o.cluster[1] = o.cluster[2] = 1;
  report::AsyncCounts c = count(body, o).counts;
  ASSERT_EQ(c.tma.size(), 1u);
  EXPECT_TRUE(c.tma.begin()->first.isMulticast);
  const TmaCount &n = c.tma.begin()->second;
  EXPECT_EQ(n.requests, 2u);
  EXPECT_EQ(n.bytes, 2u * 512);
  EXPECT_EQ(n.delivered, 2u * 3 * 512);
  EXPECT_EQ(c.savedByMulticast(), 2u * 2 * 512);
  EXPECT_EQ(c.depth.copies, 1u); // of one block
}

TEST(AsyncCount, Waits) {
  // Warp 1 is the last at the barrier and goes on first: it has to wait for the
  // arrival of warp 0, which itself comes after that. The phase before the
  // first one is complete.
  std::string body = "setp.lt.u32 %q, %t, 32; @%q bra LATE;\n" + wait(0, 0) +
                     wait(1, 1) +
                     "bra END;\nLATE: setp.ne.u32 %q, %t, 0;\n"
                     "@!%q mbarrier.arrive.shared::cta.b64 _, "
                     "[%b];\n" +
                     wait(0, 0) + "END:";
  report::AsyncCounts c = count(body, options(90, 64)).counts;
  EXPECT_EQ(c.waits, 3u);
  EXPECT_EQ(c.hadToWait, 1u);
  // A test that fails and is made again later is one wait.
  std::string twice =
      "mbarrier.test_wait.parity.shared::cta.b64 %w, [%b], 0;\n"
      "mbarrier.arrive.shared::cta.b64 _, [%b+8];\n" +
      wait(1, 0) + "mbarrier.arrive.shared::cta.b64 _, [%b];\n" + wait(0, 0) +
      "mbarrier.arrive.shared::cta.b64 _, [%b];\n" + wait(0, 1);
  c = count(twice, options(90, 1)).counts;
  EXPECT_EQ(c.waits, 3u);
  EXPECT_EQ(c.hadToWait, 1u);
}

TEST(AsyncCount, PipelineDepth) {
  auto slot = [](unsigned s) {
    return expect(s, 192) + load(s, 1024 * s, 128) +
           load(s, 1024 * s + 512, 64);
  };
  // Two slots of two copies each, then one after the other.
  report::AsyncCounts two =
      count(slot(0) + slot(1) + wait(0, 0) + slot(0) + wait(1, 0) + wait(0, 1),
            options(90, 1))
          .counts;
  EXPECT_EQ(two.depth.copies, 4u);
  EXPECT_EQ(two.depth.bytes, 4u * 96);
  EXPECT_EQ(two.depth.phases, 2u);
  EXPECT_EQ(two.depth.groups, 0u);
  // Waiting for one slot says nothing of the other: two copies and three.
  report::AsyncCounts five =
      count(slot(0) + slot(1) + wait(0, 0) + expect(0, 192 + 64) +
                load(0, 0, 128) + load(0, 512, 64) + load(0, 768, 64) +
                wait(1, 0) + wait(0, 1),
            options(90, 1))
          .counts;
  EXPECT_EQ(five.depth.copies, 5u);
  EXPECT_EQ(five.depth.bytes, 192u + 192 + 64);
  report::AsyncCounts one =
      count(slot(0) + wait(0, 0) + slot(0) + wait(0, 1), options(90, 1)).counts;
  EXPECT_EQ(one.depth.copies, 2u);
  EXPECT_EQ(one.depth.phases, 1u);
}

TEST(AsyncCount, Wgmma) {
  auto product = [](const char *shape, const char *tail) {
    return std::string("wgmma.mma_async.sync.aligned.") + shape +
           " {%f0,%f1,%f2,%f3}, %d1, %d1, %w, 1, 1" + tail + ";\n";
  };
  std::string body =
      "shr.u32 %r1, %s, 4; cvt.u64.u32 %d1, %r1; setp.ne.u32 %w, %t, %t;\n"
      "wgmma.fence.sync.aligned;\n" +
      product("m64n8k16.f32.f16.f16", ", 0, 0") +
      product("m64n8k16.f32.f16.f16", ", 0, 0") +
      product("m64n8k8.f32.tf32.tf32", "") +
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";
  // Two warp groups; a product is one instruction of its four warps.
  report::AsyncCounts c = count(body, options(90, 256)).counts;
  std::map<std::string, uint64_t> expected = {
      {"wgmma.m64n8k16.f32.f16.f16", 2 * 2},
      {"wgmma.m64n8k8.f32.tf32.tf32", 2}};
  EXPECT_EQ(c.tensorInstructions, expected);
}

TEST(AsyncCount, Tcgen05) {
  auto alloc = [](unsigned columns) {
    return "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%s], " +
           std::to_string(columns) + "; ld.shared.b32 %r1, [%s];\n";
  };
  // f32 += f16 x f16 of 128 x 32 x 16, and tf32 of 64 x 16 x 8.
  unsigned wide = 1 << 4 | 32 / 8 << 17 | 128 / 16 << 24;
  unsigned narrow = 1 << 4 | 2 << 7 | 2 << 10 | 16 / 8 << 17 | 64 / 16 << 24;
  auto product = [](const char *kind, unsigned word) {
    return "mov.u32 %r2, " + std::to_string(word) +
           "; @!%q tcgen05.mma.cta_group::1.kind::" + kind +
           " [%r1], %d1, %d1, %r2, %w;\n";
  };
  std::string body =
      alloc(128) + "mov.u32 %r3, %r1;\n" + alloc(64) +
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 128;\n" + alloc(32) +
      "shr.u32 %r2, %s, 4; cvt.u64.u32 %d1, %r2; or.b64 %d1, %d1, " +
      std::to_string(1ull << 46 | 8 << 16 | 16ull << 32) +
      ";\nsetp.ne.u32 %w, %t, %t;\n" + product("f16", wide) +
      product("f16", wide) + product("f16", wide) + product("tf32", narrow);
  report::AsyncCounts c = count(body, options(100, 32)).counts;
  EXPECT_EQ(c.tensorColumns, 128u + 64);
  std::map<std::string, uint64_t> expected = {
      {"tcgen05.mma.cta_group::1.kind::f16.m128n32k16", 3},
      {"tcgen05.mma.cta_group::1.kind::tf32.m64n16k8", 1}};
  EXPECT_EQ(c.tensorInstructions, expected);
}

TEST(AsyncCount, TimelineSaysWhoEndedAPhase) {
  std::string body = expect(0, 128) + load(0, 0, 128) + wait(0, 0) +
                     "mbarrier.arrive.shared::cta.b64 _, [%b+8];\n" +
                     wait(1, 0);
  for (bool check : {false, true}) {
    LaunchOptions o = options(90, 1);
    o.check = check;
    o.grid[0] = 3; // only the first block is recorded
    Launched run = count(body, o);
    const auto &events = run.result.counters->timeline->events;
    using Kind = report::TimelineEvent;
    std::vector<int> kinds, by;
    for (const auto &e : events) {
      kinds.push_back(e.kind);
      by.push_back(e.by);
    }
    EXPECT_EQ(kinds, (std::vector<int>{Kind::Arrive, Kind::Copy, Kind::Wait,
                                       Kind::Arrive, Kind::Wait}));
    EXPECT_EQ(by, (std::vector<int>{-1, -1, 1, -1, 3}));
  }
}

TEST(AsyncCount, NothingIsRecordedUnlessCounting) {
  Harness h;
  LaunchOptions o = options(90, 1);
  LaunchResult r = h.launch(".version 8.8\n.target sm_90a\n.address_size 64\n"
                            ".visible .entry k() { ret; }\n",
                            "k", o, {});
  EXPECT_EQ(r.counters, nullptr);
}

} // namespace
