// The plan parser: what it accepts, and the message for each kind of mistake.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RunPlan.h"
#include <gtest/gtest.h>

using namespace tessera::test;

static std::string body(const std::string &steps) {
  return head +
         "arg %A in f32 [$M, $K]\narg %I in i32 []\narg $n i64\n"
         "arg $x f64\nbody\n" +
         steps + "end\n";
}

TEST(PlanParser, AcceptsTheDocumentedPlans) {
  EXPECT_EQ(parseError(documentedPlan(0)), "");
  EXPECT_EQ(parseError(documentedPlan(1)), "");
}

TEST(PlanParser, TellsWhatThePlanNeeds) {
  std::string text = documentedPlan(1);
  tsr_plan *plan;
  ASSERT_EQ(tsr_plan_parse(text.data(), text.size(), &plan), nullptr);
  EXPECT_STREQ(tsr_plan_function(plan), "every_statement");
  ASSERT_EQ(tsr_plan_num_tensors(plan), 4);
  tsr_tensor_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(tsr_plan_tensor(plan, 0, &info), nullptr);
  EXPECT_STREQ(info.name, "X");
  EXPECT_EQ(info.dtype, TSR_F32);
  EXPECT_EQ(info.rank, 2);
  EXPECT_EQ(info.mode, TSR_INOUT);
  EXPECT_FALSE(info.may_be_absent);
  ASSERT_EQ(tsr_plan_tensor(plan, 3, &info), nullptr);
  EXPECT_STREQ(info.name, "found");
  EXPECT_EQ(info.mode, TSR_RESULT);
  EXPECT_TRUE(info.may_be_absent);
  tessera::Status wrong(tsr_plan_tensor(plan, 4, &info));
  EXPECT_STREQ(wrong.message(), "there is no tensor 4");
  const char *name;
  int32_t dtype;
  ASSERT_EQ(tsr_plan_num_scalars(plan), 1);
  ASSERT_EQ(tsr_plan_scalar(plan, 0, &name, &dtype), nullptr);
  EXPECT_STREQ(name, "steps");
  EXPECT_EQ(dtype, TSR_I64);
  ASSERT_EQ(tsr_plan_num_kernels(plan), 5);
  EXPECT_STREQ(tsr_plan_kernel(plan, 0), "step_fast");
  EXPECT_STREQ(tsr_plan_kernel(plan, 4), "scale");
  EXPECT_EQ(tsr_plan_kernel(plan, 5), nullptr);
  EXPECT_EQ(tsr_plan_scratch(plan), 0);
  tsr_plan_free(plan);
}

TEST(PlanParser, TellsTheMostScratchMemory) {
  std::string text = body("launch @a(%A) grid 1 scratch 64\n"
                          "launch @b(%A) grid 1 scratch 4096\n");
  tsr_plan *plan;
  ASSERT_EQ(tsr_plan_parse(text.data(), text.size(), &plan), nullptr);
  EXPECT_EQ(tsr_plan_scratch(plan), 4096);
  tsr_plan_free(plan);
}

TEST(PlanParser, ResultsComeAfterArgumentsWhereverTheyAreWritten) {
  std::string text = head + "result %R f32 []\narg %A in f32 []\nbody\nend\n";
  tsr_plan *plan;
  ASSERT_EQ(tsr_plan_parse(text.data(), text.size(), &plan), nullptr);
  tsr_tensor_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(tsr_plan_tensor(plan, 0, &info), nullptr);
  EXPECT_STREQ(info.name, "A");
  tsr_plan_free(plan);
}

TEST(PlanParser, AnotherVersionIsRefusedByName) {
  tsr_plan *plan;
  std::string text = "tessera.plan 2\n";
  tessera::Status status(tsr_plan_parse(text.data(), text.size(), &plan));
  EXPECT_EQ(status.code(), TSR_UNSUPPORTED);
  EXPECT_STREQ(status.message(),
               "plan line 1: the plan has format version 2, this runtime reads "
               "version 1; compile the program again or use the runtime it was "
               "compiled for");
  EXPECT_EQ(parseError("tessera.plan 1\nfunction f\ntarget cpu 7\nbody\nend\n"),
            "plan line 3: the kernels have CPU ABI version 7, this runtime "
            "calls version 1");
}

TEST(PlanParser, WordsOfLaterVersionsAreNamed) {
  auto refused = [](const std::string &text, const std::string &why) {
    tsr_plan *plan;
    tessera::Status status(tsr_plan_parse(text.data(), text.size(), &plan));
    EXPECT_EQ(status.code(), TSR_UNSUPPORTED) << text;
    EXPECT_NE(std::string(status.message()).find(why), std::string::npos)
        << status.message();
    EXPECT_NE(std::string(status.message())
                  .find(", which this runtime does not have yet"),
              std::string::npos)
        << status.message();
  };
  for (auto [line, why] :
       {std::pair<const char *, const char *>(
            "constant %w f32 [64]", "constants that stay on a device"),
        {"status $s", "a status word"},
        {"arg %x in f32 [$n] on 1", "the device of a value"}})
    refused(head + line + "\nbody\nend\n", why);
  for (auto [line, why] :
       {std::pair<const char *, const char *>("map %m = %A box [64, 64]",
                                              "reserved for tensor maps"),
        {"copy !t = %A %A", "copies between devices"},
        {"collective !t = all_reduce %A", "collectives"},
        {"await !t", "tokens of asynchronous steps"},
        {"alloc %t f32 [4] on 1", "the device of a value"},
        {"launch @k(%A) grid 1 on 1", "the device of a value"},
        {"launch @k(%A) grid 1 after !t", "tokens of asynchronous steps"},
        {"launch @k(%A) grid 1 cluster 2 1 1", "clusters of blocks"},
        {"launch @k(%A) grid 1 dependent", "launches that begin"}})
    refused(body(std::string(line) + "\n"), why);
  // Elsewhere they are nothing special.
  EXPECT_NE(parseError(body("on 1\n")).find("expected a step, found 'on'"),
            std::string::npos);
}

struct Mistake {
  const char *name;
  std::string text;
  const char *message;

  friend void PrintTo(const Mistake &mistake, std::ostream *os) {
    *os << mistake.name;
  }
};

class PlanMistake : public testing::TestWithParam<Mistake> {};

TEST_P(PlanMistake, IsNamed) {
  EXPECT_EQ(parseError(GetParam().text), GetParam().message);
}

static const Mistake mistakes[] = {
    {"Empty", "",
     "plan line 0: not a plan: the first line is not 'tessera.plan 1'"},
    {"NotAPlan", "hello\n",
     "plan line 1: not a plan: the first line is not 'tessera.plan 1'"},
    {"BadFirstLine", "tessera.plan 1 \n",
     "plan line 1: the first line must be exactly 'tessera.plan 1'"},
    {"CutOff", head + "body\n",
     "plan line 4: the plan is cut off: its last 'end' is missing"},
    {"TextBehind", head + "body\nend\nend\n",
     "plan line 6: unexpected 'end' behind the end of the plan"},
    {"NoFunction", "tessera.plan 1\ntarget cpu 1\n",
     "plan line 2: expected 'function', found 'target'"},
    {"OtherTarget", "tessera.plan 1\nfunction f\ntarget cuda 1\n",
     "plan line 3: expected cpu or a GPU such as sm_80, found 'cuda'"},
    {"OtherGpuVersion", "tessera.plan 1\nfunction f\ntarget sm_80 2\n",
     "plan line 3: the kernels have GPU ABI version 2, this runtime calls "
     "version 1"},
    {"GpuLaunchWithoutBlock",
     "tessera.plan 1\nfunction f\ntarget sm_80 1\nbody\nlaunch @k() grid 1\n",
     "plan line 5: expected 'block', found the end of the line"},
    {"GpuBlockTooLarge",
     "tessera.plan 1\nfunction f\ntarget sm_80 1\nbody\n"
     "launch @k() grid 1 block 2048 shared 0\n",
     "plan line 5: block takes a number from 1 to 1024, found '2048'"},
    {"CpuLaunchWithBlock",
     head + "body\nlaunch @k() grid 1 block 32 shared 0\n",
     "plan line 5: unexpected 'block' behind a complete statement"},
    {"HeaderWord", head + "argument\n",
     "plan line 4: expected arg, result, message, requires or body, found "
     "'argument'"},
    {"Mode", head + "arg %A f32 []\n",
     "plan line 4: expected in, out, inout or reduce, found 'f32'"},
    {"Dtype", head + "arg %A in tf32 []\n",
     "plan line 4: expected a dtype such as f32, found 'tf32'"},
    {"ScalarType", head + "arg $a i32\n",
     "plan line 4: expected i64, f64 or bool, found 'i32'"},
    {"TensorTwice", head + "arg %A in f32 []\nresult %A f32 []\n",
     "plan line 5: '%A' is defined twice"},
    {"ScalarTwice", head + "arg $a i64\narg $a i64\n",
     "plan line 5: '$a' is defined twice"},
    {"Rank17", head + "arg %A in f32 [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]\n",
     "plan line 4: '%A' has rank 17, at most 16 is allowed"},
    {"OpenBracket", head + "arg %A in f32 [$M\n",
     "plan line 4: expected ']', found the end of the line"},
    {"UnboundDim",
     head + "arg %A in f32 [$M, $H*$D]\narg %B in f32 "
            "[$D]\nbody\nend\n",
     "plan line 4: '$H' is not defined here"},
    {"ResultBindsNothing", head + "result %A f32 [$M]\nbody\nend\n",
     "plan line 4: '$M' is not defined here"},
    {"AxisOfTensor",
     head + "arg %A in f32 [$M]\nresult %B f32 [size(%A, 0)]\nbody\nend\n",
     "plan line 5: '%A' is not defined here"},
    {"EmptyAxis", head + "arg %A in f32 [$M,]\nbody\nend\n",
     "plan line 4: expected an expression, found the end of the line"},
    {"AnyAndMore", head + "arg %A in f32 [? 1]\nbody\nend\n",
     "plan line 4: unexpected '1' behind a complete statement"},
    {"FloatAxis", head + "arg $x f64\nresult %A f32 [$x]\nbody\nend\n",
     "plan line 5: '$x' is an f64, which can't be used in an integer "
     "expression"},
    {"MessageName", head + "message \"{$N}\"\nbody\nend\n",
     "plan line 4: '$N' is not defined here"},
    {"Step", body("jump 3\n"), "plan line 9: expected a step, found 'jump'"},
    {"MoreOnTheLine", body("let $a = 1 2\n"),
     "plan line 9: unexpected '2' behind a complete statement"},
    {"LetOfItself", body("let $a = $a\n"),
     "plan line 9: '$a' is not defined here"},
    {"LetTwice", body("let $a = 1\nlet $a = 2\n"),
     "plan line 10: '$a' is defined twice"},
    {"LetOfADim", body("let $M = 1\n"), "plan line 9: '$M' is defined twice"},
    {"SetOfADim", body("set $M = 1\n"),
     "plan line 9: '$M' is not an integer made by let or load"},
    {"SetUnknown", body("set $q = 1\n"),
     "plan line 9: expected a '$' name that is defined here, found '$q'"},
    {"OutOfScope", body("if 1\nlet $a = 1\nend\nlet $b = $a\n"),
     "plan line 12: '$a' is not defined here"},
    {"OtherArm", body("if 1\nlet $a = 1\nelse\nset $a = 1\nend\n"),
     "plan line 12: expected a '$' name that is defined here, found '$a'"},
    {"TensorOutOfScope",
     body("if 1\nalloc %t f32 []\nend\nlaunch @k(%t) grid 1\n"),
     "plan line 12: '%t' is not defined here"},
    {"LoadRank", body("load $a = %I [0]\n"),
     "plan line 9: '%I' has rank 0, but there are 1 indices"},
    {"LoadDtype", body("alloc %h bf16 []\nload $a = %h []\n"),
     "plan line 10: load doesn't read bf16"},
    {"CheckWithoutText", body("check 1\n"),
     "plan line 9: expected ':', found the end of the line"},
    {"OpenBrace", body("check 1 : \"{$n\"\n"),
     "plan line 9: a '{' in a message is not closed; write '{{' for a brace"},
    {"LoneBrace", body("check 1 : \"}\"\n"),
     "plan line 9: a single '}' in a message; write '}}'"},
    {"OpenString", body("check 1 : \"abc\n"),
     "plan line 9: expected a string, found a string without its closing "
     "quote"},
    {"Escape", body("check 1 : \"\\q\"\n"),
     "plan line 9: expected a string, found an unknown escape in a string"},
    {"ViewStrides", body("view %v = %A offset 0 sizes [1, 1] strides [1]\n"),
     "plan line 9: a view with 2 sizes and 1 strides"},
    {"LaunchUnknown", body("launch @k(%B) grid 1\n"),
     "plan line 9: '%B' is not defined here"},
    {"LaunchWithoutGrid", body("launch @k(%A)\n"),
     "plan line 9: expected 'grid', found the end of the line"},
    {"LaunchOtherwise", body("launch @k(%A) grid 1\nlaunch @k(%I) grid 1\n"),
     "plan line 10: '@k' was launched with other operand types before"},
    {"LaunchOtherScalars",
     body("launch @k(%A; 1) grid 1\nlaunch @k(%A) grid 1\n"),
     "plan line 10: '@k' was launched with other operand types before"},
    {"FloatInExpression", body("launch @k(; $x + 1) grid 1\n"),
     "plan line 9: expected ')', found '+'"},
    {"FreeArgument", body("free %A\n"),
     "plan line 9: '%A' is not a temporary made by alloc"},
    {"FreeKept", body("alloc %t f32 [1] of %A\nfree %t\n"),
     "plan line 10: '%t' may be kept: it can't be swapped or freed"},
    {"FreshOfPlain", body("alloc %t f32 [1]\nlet $a = fresh(%t)\n"),
     "plan line 10: '%t' was not made by an alloc with 'of'"},
    {"KeptOfNothing", body("alloc %t f32 [1] of %U\n"),
     "plan line 9: '%U' is not defined here"},
    {"FreeTwice", body("alloc %t f32 []\nfree %t\nfree %t\n"),
     "plan line 11: '%t' is not defined here"},
    {"FreeOutside", body("alloc %t f32 []\nif 1\nfree %t\nend\n"),
     "plan line 11: '%t' was made in an enclosing block and can't be freed "
     "here"},
    {"ViewOfFreed",
     body("alloc %t f32 [4]\nview %v = %t offset 0 sizes [1] strides [1]\n"
          "view %w = %v offset 0 sizes [1] strides [1]\nfree %t\n"
          "launch @k(%w) grid 1\n"),
     "plan line 13: '%w' is not defined here"},
    {"SwapArguments", body("alloc %t f32 [1, 1]\nswap %t %A\n"),
     "plan line 10: '%A' is not a temporary made by alloc"},
    {"SwapRanks", body("alloc %t f32 [1]\nalloc %u f32 []\nswap %t %u\n"),
     "plan line 11: '%t' and '%u' can't be swapped: dtype or rank differ"},
    {"SwapUnderView",
     body("alloc %t f32 [1]\nalloc %u f32 [1]\nview %v = %t offset 0 sizes [] "
          "strides []\nif 1\nswap %u %t\nend\n"),
     "plan line 13: '%v' is a view of '%t' from an enclosing block, so that "
     "can't be swapped here"},
    {"SwapEndsViews",
     body("alloc %t f32 [1]\nalloc %u f32 [1]\nview %v = %t offset 0 sizes [] "
          "strides []\nswap %u %t\nlaunch @k(%v) grid 1\n"),
     "plan line 13: '%v' is not defined here"},
    {"ElseAlone", body("else\n"), "plan line 9: else without if"},
    {"ElseTwice", body("if 1\nelse\nelse\nend\n"),
     "plan line 11: else without if"},
    {"WhileAlone", body("while 1\n"),
     "plan line 9: while stands directly inside loop only"},
    {"WhileInIf", body("loop\nif 1\nwhile 1\nend\nend\n"),
     "plan line 11: while stands directly inside loop only"},
    {"EndlessLoop", body("loop\nend\n"),
     "plan line 10: the loop of line 9 has no while and would never end"},
    {"OpenIf", body("if 1\n"),
     "plan line 10: the plan is cut off: its last 'end' is missing"},
    {"ResultNeverSized", head + "result %R i64 [?]\nbody\nend\n",
     "plan line 6: return before the alloc of result '%R'"},
    {"ResultUsedEarly",
     head + "result %R i64 [?]\nbody\nlaunch @k(%R) grid 1\nend\n",
     "plan line 6: '%R' is not defined here"},
    {"ResultInIf",
     head + "result %R i64 [?]\nbody\nif 1\nalloc %R i64 [1]\nend\nend\n",
     "plan line 7: the alloc of result '%R' can't stand inside if or loop"},
    {"ResultOtherType",
     head + "result %R i64 [?]\nbody\nalloc %R i32 [1]\nend\n",
     "plan line 6: the alloc of result '%R' has another dtype or rank than its "
     "declaration"},
    {"KnownResultSizedAgain",
     head + "result %R i64 [1]\nbody\nalloc %R i64 [1]\nend\n",
     "plan line 6: '%R' is defined twice"},
    {"Function", body("let $a = foo(1)\n"),
     "plan line 9: there is no function 'foo'"},
    {"AxisNumber", body("let $a = size(%A, 2)\n"),
     "plan line 9: '%A' has rank 2, there is no axis 2"},
    {"MinOfOne", body("let $a = min(1)\n"),
     "plan line 9: expected ',', found ')'"},
    {"CompareChain", body("let $a = 1 < 2 < 3\n"),
     "plan line 9: unexpected '<' behind a complete statement"},
    {"LargeNumber", body("let $a = 9223372036854775808\n"),
     "plan line 9: expected an expression, found a number that doesn't fit 64 "
     "bits"},
    {"OddNumber", body("let $a = 12ab\n"),
     "plan line 9: expected an expression, found a malformed number"},
    {"EmptyHex", body("let $a = 0x\n"),
     "plan line 9: expected an expression, found a malformed number"},
    {"Sigil", body("let $ = 1\n"),
     "plan line 9: expected a '$' name, found a sigil without a name"},
    {"Character", body("let $a = 1 & 2\n"),
     "plan line 9: unexpected a character that has no meaning here behind a "
     "complete statement"},
    {"LongName", body("let $" + std::string(256, 'a') + " = 1\n"),
     "plan line 9: expected a '$' name, found a name of more than 255 bytes"},
    {"Deep", body("let $a = " + std::string(1000, '(') + "\n"),
     "plan line 9: an expression is nested more than 100 deep"},
    {"DeepMinus", body("let $a = " + std::string(100000, '-') + "1\n"),
     "plan line 9: an expression is nested more than 100 deep"},
};

INSTANTIATE_TEST_SUITE_P(All, PlanMistake, testing::ValuesIn(mistakes),
                         [](const testing::TestParamInfo<Mistake> &info) {
                           return std::string(info.param.name);
                         });

TEST(PlanParser, NamesMayBeUsedAgainInAnotherBlock) {
  EXPECT_EQ(parseError(body("if 1\nlet $a = 1\nalloc %t f32 []\nelse\n"
                            "let $a = 2\nalloc %t i8 [1]\nend\nlet $a = 3\n")),
            "");
  EXPECT_EQ(parseError(body("alloc %t f32 []\nfree %t\nalloc %t i8 [1]\n")),
            "");
}

TEST(PlanParser, TensorsAndIntegersHaveSeparateNames) {
  EXPECT_EQ(parseError(head + "arg %K in f32 [$K]\narg %end in f32 [$min]\n"
                              "body\nlet $let = $K + $min\nend\n"),
            "");
}

TEST(PlanParser, CommentsBlanksAndUnicode) {
  EXPECT_EQ(parseError(head + "# c\n\narg %größe in f32 [ ] # \"\nbody #\n\t\n"
                              "check 1:\"# no comment\" # comment\nend\n\n# x"),
            "");
}

TEST(PlanParser, ManyStepsInLinearTime) {
  // 100,000 temporaries in one block, each with a view, freed one by one.
  std::string steps;
  for (int i = 0; i < 100000; ++i) {
    std::string t = "%t" + std::to_string(i);
    steps += "alloc " + t + " f32 [1]\nview %v" + std::to_string(i) + " = " +
             t + " offset 0 sizes [] strides []\n";
  }
  for (int i = 0; i < 100000; ++i)
    steps += "free %t" + std::to_string(i) + "\n";
  EXPECT_EQ(parseError(body(steps)), "");
}

TEST(PlanParser, TooManyStepsAreRefused) {
  // Each `while` leaves a loop that holds 2,000 temporaries.
  std::string steps = "loop\n";
  for (int i = 0; i < 2000; ++i)
    steps += "alloc %t" + std::to_string(i) + " f32 []\n";
  for (int i = 0; i < 2000; ++i)
    steps += "while 1\n";
  EXPECT_NE(parseError(body(steps + "end\n")).find("more than a million steps"),
            std::string::npos);
}
