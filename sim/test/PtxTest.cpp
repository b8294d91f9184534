// The front end: what it accepts, and how it refuses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Limits.h"
#include "sim/ptx/Spec.h"
#include "sim/test/Run.h"

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

const char *head = ".version 9.4\n.target sm_80\n.address_size 64\n";

std::string parseError(const std::string &text) {
  try {
    auto m = ptx::parse(text);
    for (auto &f : m->functions)
      for (auto &i : f.body)
        ptx::findSpec(i);
  } catch (const ptx::Error &e) {
    return e.what();
  }
  return "";
}

std::string body(const std::string &text) {
  return std::string(head) +
         ".visible .entry k() {\n.reg .b32 %r<9>; .reg .pred %p<3>;\n" + text +
         "\n}\n";
}

TEST(Ptx, ErrorsNameLineAndColumn) {
  EXPECT_EQ(parseError(body("frobnicate.b32 %r1, %r2;")),
            "6:1: unknown instruction 'frobnicate.b32'");
  EXPECT_EQ(parseError(body("  add.s32 %r1, %r2, %x;")),
            "6:21: unknown register '%x'");
  EXPECT_EQ(parseError(body("bra NOWHERE;")), "6:5: unknown name 'NOWHERE'");
  EXPECT_NE(parseError(body("add.quick.s32 %r1, %r2, %r3;"))
                .find("6:1: modifier '.quick' is not known for "
                      "'add.quick.s32'"),
            std::string::npos);
  EXPECT_NE(
      parseError(body("add.s32 %r1, %r2;")).find("has 2 operands, expected 3"),
      std::string::npos);
  EXPECT_EQ(parseError(body("add.s32 %r1, %r2, 1")),
            "7:1: expected ';' after 'add.s32', found '}'");
  EXPECT_NE(parseError(std::string(head) + "/* open").find("4:1: comment"),
            std::string::npos);
}

TEST(Ptx, ModifiersAreASet) {
  for (const char *spelling :
       {"atom.global.gpu.acq_rel.add.u32", "atom.add.acq_rel.gpu.global.u32",
        "atom.acq_rel.add.global.u32.gpu"})
    EXPECT_EQ(parseError(std::string(head) +
                         ".visible .entry k() {.reg .b32 %r<3>; .reg .b64 "
                         "%d;\n" +
                         spelling + " %r1, [%d], %r2;\n}"),
              "");
}

TEST(Ptx, ScopesHideNamesAndLabels) {
  EXPECT_EQ(parseError(body("{ .reg .b32 t; mov.u32 t, 1; W: bra W; }\n"
                            "{ .reg .b64 t; mov.u64 t, 1; W: bra W; }")),
            "");
  EXPECT_NE(parseError(body("{ .reg .b32 t; }\nmov.u32 t, 1;")), "");
}

TEST(Ptx, VectorRegisters) {
  EXPECT_EQ(parseError(body("{ .reg .v4 .b32 r; mov.b32 r.x, %r1; "
                            "mov.b32 %r2, r.w; mov.b32 r.a, 1; }")),
            "");
  EXPECT_EQ(parseError(body(".reg .v2 .b32 r; mov.b32 r.z, 1;")),
            "6:26: unknown name 'r.z'");
  EXPECT_EQ(parseError(body(".reg .v2 .b32 r; .reg .b32 r;")),
            "6:28: register 'r' is declared twice");
  EXPECT_EQ(parseError(body(".reg .v2 .b32 r<4>;")),
            "6:16: ranges of vector registers are not supported, found '<'");
  EXPECT_NE(parseError(body("{ .reg .v2 .b32 r; }\nmov.b32 r.x, 1;")), "");
}

TEST(Ptx, RefusalsSayWhatIsSupported) {
  Harness h;
  LaunchOptions o;
  std::string text = std::string(head) + ".visible .entry k() {\n"
                                         "fence.proxy.alias;\nret;\n}";
  try {
    h.launch(text, "k", o, {});
    FAIL();
  } catch (const ptx::Error &e) {
    EXPECT_EQ(std::string(e.what()),
              "5:1: 'fence.proxy.alias': not supported: alias proxies are not "
              "modelled; the simulator is one of " +
                  archNames() + " and executes what `tessera-sim table` lists");
  }
}

TEST(Limits, AreOnByDefault) {
  LaunchOptions o;
  fillLimits(o);
  EXPECT_GT(o.maxInstructions, 10000000u);
  EXPECT_LT(o.maxInstructions, 1000000000u);
  EXPECT_GT(o.maxSeconds, 60);
  EXPECT_LT(o.maxSeconds, 300);
}

TEST(Ptx, EveryRowOfTheTableHasADecoderOrAReason) {
  for (const ptx::Spec &s : ptx::allSpecs())
    if (s.status == ptx::Status::Refused)
      EXPECT_FALSE(s.note.empty()) << s.base;
}

} // namespace
