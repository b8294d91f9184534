// The text of a plan: what is written, and that the runtime reads it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Plan/Export.h"

#include "compiler/Plan/IR/IntegerBuilder.h"
#include "runtime/Plan.h"
#include "runtime/Status.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;

namespace {

/// The body of a plan.func as text, without its first line. Empty if it cannot
/// be read, verified or read by the runtime; `error` says why.
class Exported {
public:
  explicit Exported(const std::string &body, plan::LaunchNeeds needs = {},
                    const std::string &words = "target \"cpu\"",
                    llvm::function_ref<void(ModuleOp)> edit = nullptr) {
    MLIRContext context;
    context.loadDialect<plan::PlanDialect>();
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      error += diagnostic.str();
      return success();
    });
    auto module = parseSourceString<ModuleOp>("plan.func @f " + words + " {\n" +
                                                  body + "\nplan.return\n}\n",
                                              &context);
    if (!module)
      return;
    if (edit)
      edit(*module);
    std::string made = plan::exportText(*module->getOps<plan::FuncOp>().begin(),
                                        [&](Operation *) { return needs; });
    runtime::Plan read;
    if (tsr_status status = runtime::parsePlan(made, read)) {
      error = made + tsr_status_message(status);
      tsr_status_free(status);
      return;
    }
    text = made;
  }

  std::string text, error;
};

std::string lines(std::initializer_list<const char *> all) {
  std::string text = "tessera.plan 1\nfunction f\n";
  for (const char *line : all)
    text += std::string(line) + "\n";
  return text;
}

const char *const twoMatrices = R"mlir(
  %m = plan.dim "M"
  %k = plan.dim "K"
  %a = plan.arg "A" in [%m, %k] : !plan.tensor<f32, 2>
  %b = plan.arg "B" in [%k, %m] : !plan.tensor<f32, 2>
)mlir";

TEST(PlanExport, Gemm) {
  Exported made(std::string(twoMatrices) + R"mlir(
    %alpha = plan.scalar "alpha" : f64
    %c = plan.result "C" [%m, %m] : !plan.tensor<f32, 2>
    %c32 = arith.constant 32 : index
    %rows = arith.ceildivsi %m, %c32 : index
    %programs = arith.muli %rows, %rows : index
    %work = arith.muli %programs, %k : index
    plan.launch @f_0(%a, %b, %c) with (%alpha : f64) grid %programs work %work threads 2 : !plan.tensor<f32, 2>, !plan.tensor<f32, 2>, !plan.tensor<f32, 2>
  )mlir",
                {.scratch = 4096});
  EXPECT_EQ(
      made.text,
      lines({"target cpu 1", "arg %A in f32 [$M, $K]", "arg %B in f32 [$K, $M]",
             "arg $alpha f64", "result %C f32 [$M, $M]", "body",
             "  launch @f_0(%A, %B, %C; $alpha) grid $M ceildiv 32 * "
             "($M ceildiv 32) scratch 4096 threads 2 work $M ceildiv 32 "
             "* ($M ceildiv 32) * $K",
             "end"}))
      << made.error;
}

TEST(PlanExport, ALaunchOnAGpuHasItsBlock) {
  Exported made(R"mlir(
    %n = plan.dim "n"
    %x = plan.arg "x" inout [%n] : !plan.tensor<bf16, 1>
    plan.launch @f_0(%x) grid %n : !plan.tensor<bf16, 1>
  )mlir",
                {.block = 128, .shared = 0}, "target \"sm_80\"");
  EXPECT_EQ(made.text,
            lines({"target sm_80 1", "arg %x inout bf16 [$n]", "body",
                   "  launch @f_0(%x) grid $n block 128 shared 0", "end"}))
      << made.error;
}

TEST(PlanExport, ExpressionsHaveTheParenthesesTheyNeed) {
  Exported made(R"mlir(
    %n = plan.dim "n"
    %x = plan.arg "x" in [%n] : !plan.tensor<f32, 1>
    %two = arith.constant 2 : index
    %less = arith.constant -3 : index
    %true = arith.constant true
    %sum = arith.addi %n, %two : index
    %difference = arith.subi %n, %sum : index
    %product = arith.muli %difference, %less : index
    %rest = plan.mod %product, %sum
    %half = arith.floordivsi %rest, %two : index
    %most = arith.maxsi %sum, %n : index
    %small = arith.cmpi slt, %most, %n : index
    %other = arith.cmpi ne, %n, %two : index
    %either = arith.ori %small, %other : i1
    %both = arith.andi %either, %small : i1
    %neither = arith.xori %both, %true : i1
    plan.check %neither, "{{n}} is {}, x ({})" (%half, %x) : index, !plan.tensor<f32, 1>
    %differ = arith.xori %small, %other : i1
    %all = arith.andi %other, %differ : i1
    plan.check %all, "{}" (%neither) : i1
  )mlir");
  EXPECT_EQ(
      made.text,
      lines({"target cpu 1", "arg %x in f32 [$n]", "body",
             "  check not ((max($n + 2, $n) < $n or $n != 2) and max($n + 2, "
             "$n) < $n) : \"{{n}} is {($n - ($n + 2)) * -3 mod ($n + 2) "
             "floordiv 2}, x ({%x})\"",
             "  check $n != 2 and (max($n + 2, $n) < $n) != ($n != 2) : "
             "\"{not ((max($n + 2, $n) < $n or $n != 2) and max($n + 2, $n) < "
             "$n)}\"",
             "end"}))
      << made.error;
}

TEST(PlanExport, ALongExpressionIsComputedOnce) {
  std::string body = R"mlir(
    %n = plan.dim "n"
    %x = plan.arg "x" in [%n] : !plan.tensor<f32, 1>
    %v0 = arith.addi %n, %n : index
  )mlir";
  for (int i = 0; i < 40; ++i)
    body += "%v" + std::to_string(i + 1) + " = arith.addi %v" +
            std::to_string(i) + ", %v" + std::to_string(i) + " : index\n";
  Exported made(body + "plan.launch @f_0(%x) grid %v40 : !plan.tensor<f32, 1>");
  EXPECT_EQ(made.error, "");
  EXPECT_NE(made.text.find("let $s"), std::string::npos);
  EXPECT_LT(made.text.size(), 4000u);
}

TEST(PlanExport, EveryStep) {
  Exported made(
      R"mlir(
    %h = plan.dim "H"
    %d = plan.dim "D"
    %n = plan.dim "N"
    %steps = plan.scalar "steps" : index
    %fast = plan.scalar "fast" : i1
    %hd = arith.muli %h, %d : index
    %x = plan.arg "X" inout [%n, %hd] : !plan.tensor<f32, 2>
    %heads = plan.arg "heads" in [%h, %d] : !plan.tensor<bf16, 2>
    %y = plan.result "Y" [%n] : !plan.tensor<f32, 1>
    %found = plan.result "found" late [] : !plan.tensor<i64, 1>
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %new = plan.alloc "new" [%n, %d] -> !plan.tensor<f32, 2>
    %old = plan.alloc "old" [%n, %d] -> !plan.tensor<f32, 2>
    %flag = plan.alloc "flag" [] -> !plan.tensor<i64, 0>
    %kept = plan.alloc "kept" [%d] of %heads : !plan.tensor<bf16, 2> -> !plan.tensor<bf16, 1>
    %fill = plan.fresh %kept : !plan.tensor<bf16, 1>
    %constant = plan.is_constant %heads : !plan.tensor<bf16, 2>
    %both = arith.andi %fill, %constant : i1
    scf.if %both {
      plan.launch @fill(%heads, %kept) grid %one : !plan.tensor<bf16, 2>, !plan.tensor<bf16, 1>
    }
    %last, %before = scf.while (%i = %zero, %j = %one) : (index, index) -> (index, index) {
      %more = arith.cmpi slt, %i, %steps : index
      scf.condition(%more) %i, %j : index, index
    } do {
    ^bb0(%i: index, %j: index):
      %stride = plan.stride %old, 0 : !plan.tensor<f32, 2>
      %offset = arith.muli %stride, %i : index
      %row = plan.view "row" %old offset %offset sizes [%d] strides [%one] : !plan.tensor<f32, 2> -> !plan.tensor<f32, 1>
      %turn = scf.if %fast -> (index) {
        plan.launch @fast(%x, %row, %new) with (%i, %fast : index, i1) grid %n : !plan.tensor<f32, 2>, !plan.tensor<f32, 1>, !plan.tensor<f32, 2>
        scf.yield %one : index
      } else {
        scf.yield %zero : index
      }
      plan.swap %new, %old : !plan.tensor<f32, 2>
      %next = arith.addi %j, %turn : index
      scf.yield %j, %next : index, index
    }
    plan.launch @count(%old, %flag) with (%last : index) grid %one : !plan.tensor<f32, 2>, !plan.tensor<i64, 0>
    plan.expect %flag : !plan.tensor<i64, 0> {
    ^bb0(%count: index):
      %good = arith.cmpi sge, %count, %zero : index
      plan.holds %good, "{} were found" (%count) : index
    }
    %many = plan.load %flag[] : !plan.tensor<i64, 0> -> index
    plan.free %flag : !plan.tensor<i64, 0>
    plan.alloc_result %found [%many] : !plan.tensor<i64, 1>
    %address = plan.address %x : !plan.tensor<f32, 2>
    %size = plan.size %x, 1 : !plan.tensor<f32, 2>
    %rest = plan.mod %address, %size
    plan.launch @last(%found, %y) with (%rest : index) grid %many : !plan.tensor<i64, 1>, !plan.tensor<f32, 1>
  )mlir",
      {},
      "target \"cpu\" features [\"avx2\", \"fma\"] messages [\"an {{index}} is "
      "\\22out\\22\"]");
  EXPECT_EQ(
      made.text,
      lines({"target cpu 1",
             "arg $steps i64",
             "arg $fast bool",
             "arg %X inout f32 [$N, $H * $D]",
             "arg %heads in bf16 [$H, $D]",
             "result %Y f32 [$N]",
             "result %found i64 [?]",
             "requires \"avx2\" \"fma\"",
             "message \"an {{index}} is \\\"out\\\"\"",
             "body",
             "  alloc %new f32 [$N, $D]",
             "  alloc %old f32 [$N, $D]",
             "  alloc %flag i64 []",
             "  alloc %kept bf16 [$D] of %heads",
             "  if fresh(%kept) and constant(%heads)",
             "    launch @fill(%heads, %kept) grid 1",
             "  end",
             "  let $n = 0",
             "  let $n.1 = 1",
             "  loop",
             "    while $n < $steps",
             "    view %row = %old offset stride(%old, 0) * $n sizes [$D] "
             "strides [1]",
             "    let $n.2 = 0",
             "    if $fast",
             "      launch @fast(%X, %row, %new; $n, $fast) grid $N",
             "      set $n.2 = 1",
             "    else",
             "      set $n.2 = 0",
             "    end",
             "    swap %new %old",
             "    let $n.next = $n.1",
             "    let $n.1.next = $n.1 + $n.2",
             "    set $n = $n.next",
             "    set $n.1 = $n.1.next",
             "  end",
             "  launch @count(%old, %flag; $n) grid 1",
             "  expect $v = %flag : $v >= 0 : \"{$v} were found\"",
             "  load $v.1 = %flag []",
             "  free %flag",
             "  alloc %found i64 [$v.1]",
             "  launch @last(%found, %Y; address(%X) mod size(%X, 1)) grid "
             "$v.1",
             "end"}))
      << made.error;
}

TEST(PlanExport, APassChoosesAnotherKernel) {
  auto edit = [](ModuleOp module) {
    plan::forEachLaunch(module, "f_0", [](plan::LaunchOp launch) {
      OpBuilder builder(launch);
      plan::IntegerBuilder make(builder, launch.getLoc());
      Value x = launch.getTensors()[0];
      Value large = make.ge(make.mul(make.size(x, 0), make.number(4)), 4096);
      Value even = make.eq(make.mod(make.address(x), 64), 0);
      launch.chooseIf(make.all({large, even}), "f_0_stream");
    });
  };
  Exported made(R"mlir(
    %n = plan.dim "n"
    %x = plan.arg "x" inout [%n] : !plan.tensor<f32, 1>
    plan.launch @f_0(%x) grid %n threads 2 : !plan.tensor<f32, 1>
    plan.launch @f_1(%x) grid %n : !plan.tensor<f32, 1>
  )mlir",
                {}, "target \"cpu\"", edit);
  EXPECT_EQ(made.text,
            lines({"target cpu 1", "arg %x inout f32 [$n]", "body",
                   "  if size(%x, 0) * 4 >= 4096 and address(%x) mod 64 == 0",
                   "    launch @f_0_stream(%x) grid $n threads 2", "  else",
                   "    launch @f_0(%x) grid $n threads 2", "  end",
                   "  launch @f_1(%x) grid $n", "end"}))
      << made.error;
}

} // namespace
