//===- LaunchesTest.cpp - What a call of known sizes launches -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/Launches.h"

#include "compiler/Plan/Evaluate.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;

namespace {

class Launches : public testing::Test {
protected:
  plan::Launches of(const std::string &body, const plan::CallSizes &call) {
    context.loadDialect<plan::PlanDialect>();
    module = parseSourceString<ModuleOp>("plan.func @f target \"cpu\" {\n" +
                                             body + "\nplan.return\n}\n",
                                         &context);
    if (!module)
      return {};
    func = *module->getOps<plan::FuncOp>().begin();
    return plan::launchesOf(func, call);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  plan::FuncOp func;
};

// A branch on a size, a temporary, a view of it.
const char *program = R"mlir(
  %s = plan.scalar "s" : index
  %alpha = plan.scalar "alpha" : f64
  %b = plan.dim "B"
  %m = plan.dim "M"
  %n = plan.dim "N"
  %x = plan.arg "x" in [%b, %m, %n] : !plan.tensor<f32, 3>
  %y = plan.result "y" [%m] : !plan.tensor<bf16, 1>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %mn = arith.muli %m, %n : index
  %t = plan.alloc "x" [%m, %n] -> !plan.tensor<f32, 2>
  %v = plan.view "v" %t offset %c0 sizes [%n] strides [%c1] : !plan.tensor<f32, 2> -> !plan.tensor<f32, 1>
  %stride = plan.stride %x, 0 : !plan.tensor<f32, 3>
  %dense = arith.cmpi eq, %stride, %mn : index
  %large = arith.cmpi sgt, %m, %c64 : index
  %both = arith.andi %dense, %large : i1
  %programs = scf.if %both -> (index) {
    %tiles = arith.ceildivsi %m, %c64 : index
    plan.launch @large(%x, %t) with (%m, %s, %alpha : index, index, f64) grid %tiles work %mn threads 2 : !plan.tensor<f32, 3>, !plan.tensor<f32, 2>
    scf.yield %tiles : index
  } else {
    plan.launch @small(%x, %t) grid %m : !plan.tensor<f32, 3>, !plan.tensor<f32, 2>
    scf.yield %c1 : index
  }
  plan.launch @last(%v, %y) grid %programs : !plan.tensor<f32, 1>, !plan.tensor<bf16, 1>
)mlir";

} // namespace

TEST_F(Launches, FollowTheBranchThatTheSizesChoose) {
  plan::Launches found = of(program, {.shapes = {{"x", {2, 100, 8}}}});
  ASSERT_EQ(found.unknown, "");
  ASSERT_EQ(found.all.size(), 2u);
  const plan::Launched &first = found.all[0], &last = found.all[1];
  EXPECT_EQ(first.kernel, "large");
  EXPECT_EQ(first.programs, 2);
  EXPECT_EQ(first.work, 800);
  EXPECT_EQ(first.threads, 2);
  ASSERT_EQ(first.tensors.size(), 2u);
  EXPECT_EQ(first.tensors[0].bytes, 2 * 100 * 8 * 4);
  EXPECT_NE(first.tensors[0].name, first.tensors[1].name); // both are "x"
  ASSERT_EQ(first.scalars.size(), 3u);
  EXPECT_EQ(first.scalars[0], 100);
  EXPECT_FALSE(first.scalars[1] || first.scalars[2]); // s and alpha
  EXPECT_EQ(last.programs, 2); // carried out of the branch
  EXPECT_EQ(last.tensors[0].shape, std::vector<int64_t>({8}));
  EXPECT_EQ(last.tensors[0].bytes, 100 * 8 * 4); // of what it shows
  EXPECT_EQ(last.tensors[1].bytes, 100 * 2);

  found = of(program, {.shapes = {{"x", {2, 10, 8}}}});
  ASSERT_EQ(found.all.size(), 2u);
  EXPECT_EQ(found.all[0].kernel, "small");
}

TEST_F(Launches, SayWhatIsNotKnown) {
  EXPECT_EQ(of(program, {}).unknown, "the size B");
  plan::Launches named = of(program, {.dims = {{"B", 1}, {"M", 3}, {"N", 5}}});
  EXPECT_EQ(named.unknown, "");
  EXPECT_EQ(named.all.size(), 2u);
  plan::Launches assumed = of(program, {.dims = {{"M", 3}}, .assume = true});
  EXPECT_EQ(assumed.unknown, "");
  EXPECT_EQ(assumed.assumed, (std::vector<std::pair<std::string, int64_t>>{
                                 {"B", 4}, {"N", 1024}}));
  EXPECT_EQ(of(R"mlir(
    %n = plan.scalar "n" : index
    plan.launch @k() grid %n
  )mlir",
               {})
                .unknown,
            "the argument n");
}

TEST_F(Launches, OfEveryArm) {
  plan::Launches found = of(program, {.everyArm = true});
  EXPECT_EQ(found.unknown, "");
  std::vector<std::string> kernels;
  for (const plan::Launched &one : found.all)
    kernels.push_back(one.kernel);
  EXPECT_EQ(kernels, std::vector<std::string>({"large", "small", "last"}));
  EXPECT_TRUE(found.all[0].tensors[0].shape.empty());
}

TEST_F(Launches, AnErrorCountsWhereItIsNeeded) {
  of(R"mlir(
    %n = plan.scalar "n" : index
    %c0 = arith.constant 0 : index
    %c7 = arith.constant 7 : index
    %quotient = arith.floordivsi %c7, %n : index
    %zero = arith.cmpi eq, %n, %c0 : index
    %safe = arith.select %zero, %c7, %quotient : index
    %true = arith.constant true
    %less = arith.cmpi slt, %quotient, %c7 : index
    %either = arith.ori %zero, %less : i1
    plan.launch @k() with (%quotient, %safe, %either : index, index, i1) grid %n
  )mlir",
     {});
  Value n = *func.getBody().front().getOps<plan::ScalarOp>().begin();
  auto with = [&](Value value, int64_t number) {
    return plan::evaluate(value, [&](Value one) -> std::optional<int64_t> {
      return one == n ? std::optional(number) : std::nullopt;
    });
  };
  auto launch = *func.getBody().front().getOps<plan::LaunchOp>().begin();
  OperandRange values = launch.getScalars();
  EXPECT_STREQ(with(values[0], 0).error, "division by zero");
  EXPECT_EQ(with(values[1], 0).error, nullptr);
  EXPECT_EQ(with(values[1], 0).value, 7);
  EXPECT_EQ(with(values[1], -2).value, -4);
  EXPECT_EQ(with(values[2], 0).error, nullptr);
  EXPECT_EQ(with(values[2], 0).value, 1);
  EXPECT_EQ(with(values[2], 1).value, 0);
}
