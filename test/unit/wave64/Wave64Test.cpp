//===- Wave64Test.cpp - A SIMT machine from outside, executed -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers the machine of Wave64.cpp, for which nothing in compiler/ was
// changed, and lowers a product, softmax and attention with it. Of its mapped
// stage the interpreter computes what it does of Graph IR, bit for bit in the
// ring, at sizes that are multiples of nothing.
//
//===----------------------------------------------------------------------===//

#include "Wave64.h"

#include "compiler/Compiler.h"
#include "compiler/Interpreter/Run.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;

namespace {

struct Program {
  const char *name, *text;
  /// Sizes of dims, of two runs.
  std::map<std::string, int64_t> sizes[2];
  /// What the machine's text must have.
  std::vector<const char *> instructions;
};

const Program programs[] = {
    {"gemm",
     R"(
module attributes {tessera.stage = "graph", tessera.format = 2 : i64} {
  func.func @gemm(%a: tensor<?x?xf16> {gir.dims = ["M", "K"], gir.name = "a"}, %b: tensor<?x?xf16> {gir.dims = ["K", "N"], gir.name = "b"}) -> (tensor<?x?xf16> {gir.dims = ["M", "N"], gir.name = "result"}) {
    %r = gir.gemm %a, %b : tensor<?x?xf16>, tensor<?x?xf16> -> tensor<?x?xf16>
    return %r : tensor<?x?xf16>
  }
})",
     {{{"M", 67}, {"K", 45}, {"N", 131}}, {{"M", 1}, {"K", 3}, {"N", 7}}},
     {"wave_mma_16x16x16", "wave_barrier", "scf.if"}},
    {"softmax",
     R"(
module attributes {tessera.stage = "graph", tessera.format = 2 : i64} {
  func.func @softmax(%x: tensor<?x?xf32> {gir.dims = ["M", "N"], gir.name = "x"}) -> (tensor<?x?xf32> {gir.dims = ["M", "N"], gir.name = "result"}) {
    %r = gir.softmax %x axis = 1 : tensor<?x?xf32>
    return %r : tensor<?x?xf32>
  }
})",
     {{{"M", 5}, {"N", 1031}}, {{"M", 3}, {"N", 1}}},
     {"wave_swap", "math.exp"}},
    {"attention",
     R"(
module attributes {tessera.stage = "graph", tessera.format = 2 : i64} {
  func.func @attention(%q: tensor<?x?x32xf32> {gir.dims = ["H", "M", "D"], gir.name = "q"}, %k: tensor<?x?x32xf32> {gir.dims = ["H", "N", "D"], gir.name = "k"}, %v: tensor<?x?x32xf32> {gir.dims = ["H", "N", "D"], gir.name = "v"}) -> (tensor<?x?x32xf32> {gir.dims = ["H", "M", "D"], gir.name = "result"}) {
    %r = gir.attention %q, %k, %v : tensor<?x?x32xf32>, tensor<?x?x32xf32>, tensor<?x?x32xf32> -> tensor<?x?x32xf32>
    return %r : tensor<?x?x32xf32>
  }
})",
     {{{"H", 2}, {"M", 19}, {"N", 75}, {"D", 32}},
      {{"H", 1}, {"M", 1}, {"N", 1}, {"D", 32}}},
     {"wave_mma_16x16x16", "wave_swap"}},
};

/// By the first layout of the text: two to the number of images of the lane's
/// bits, `lane:[1,2,4,8,16,32]` or `lane:[(0,1),(0,2)]`.
int64_t lanesOf(StringRef text) {
  StringRef images = text.split("lane:[").second.split(']').first;
  size_t pairs = images.count('(');
  return int64_t(1) << (pairs ? pairs : images.count(',') + 1);
}

void PrintTo(const Program &program, std::ostream *os) { *os << program.name; }

struct Wave64 : testing::TestWithParam<Program> {
  static void SetUpTestSuite() {
    if (!findMachine("wave64"))
      registerMachine(wave64::wave64Machine());
  }

  static std::unique_ptr<Compilation> start() {
    CompileOptions options;
    options.target = "wave64";
    options.verifyEach = true;
    auto compilation = std::make_unique<Compilation>(options);
    EXPECT_TRUE(compilation->fromText(GetParam().text, GetParam().name))
        << compilation->error();
    return compilation;
  }

  /// The results in the ring, of numbers that sizes and a seed decide.
  static std::vector<HostArray>
  run(Compilation &compilation, const std::map<std::string, int64_t> &sizes) {
    RunOutcome outcome;
    bool good = compilation.with([&](ModuleOp module) -> LogicalResult {
      std::unique_ptr<Domain> exact = createExactDomain();
      RunRequest request;
      request.domain = "ring";
      request.function = Interpreter(module, *exact).findEntry();
      FailureOr<std::vector<RunParameter>> parameters =
          runParameters(module, request.function);
      if (failed(parameters))
        return failure();
      std::mt19937_64 random(7);
      for (const RunParameter &parameter : *parameters) {
        HostArray array;
        array.name = parameter.name;
        array.dtype = parameter.dtype;
        int64_t count = 1, bytes = parameter.dtype == "f16" ? 2 : 4;
        for (size_t axis = 0; axis < parameter.dims.size(); ++axis) {
          const std::string &dim = parameter.dims[axis];
          array.shape.push_back(sizes.count(dim) ? sizes.at(dim)
                                                 : std::stoll(dim));
          count *= array.shape.back();
        }
        if (parameter.mode == "out")
          continue;
        for (int64_t i = 0; i < count; ++i) {
          uint64_t bits = random() & (bytes == 2 ? 0x7fffu : 0x7fffffffu);
          array.bytes.append(reinterpret_cast<const char *>(&bits), bytes);
        }
        request.arguments.push_back(array);
      }
      return runModule(module, request, outcome);
    });
    EXPECT_TRUE(good) << compilation.error();
    return outcome.results;
  }
};

TEST_P(Wave64, MappedStageComputesWhatWasWritten) {
  for (const auto &sizes : GetParam().sizes) {
    auto graph = start(), mapped = start();
    ASSERT_TRUE(mapped->lower("tile")) << mapped->error();
    std::vector<HostArray> wanted = run(*graph, sizes),
                           found = run(*mapped, sizes);
    ASSERT_EQ(wanted.size(), 1u);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].shape, wanted[0].shape);
    EXPECT_EQ(found[0].bytes, wanted[0].bytes);
    EXPECT_FALSE(wanted[0].bytes.empty());
  }
}

TEST_P(Wave64, HasWavesOf64AndItsOwnInstructions) {
  auto compilation = start();
  ASSERT_TRUE(compilation->lower("tile")) << compilation->error();
  std::string text = compilation->print();
  EXPECT_NE(text.find("arch = \"wave64\""), std::string::npos);
  EXPECT_EQ(lanesOf(text), 64);
  std::string code;
  ASSERT_TRUE(compilation->emit("wave", code)) << compilation->error();
  for (const char *instruction : GetParam().instructions)
    EXPECT_NE(code.find(instruction), std::string::npos)
        << instruction << " in\n"
        << code;
  EXPECT_EQ(code.find("nvvm"), std::string::npos);
}

/// An edited text is checked against this machine's numbers.
TEST_P(Wave64, RefusesBlocksThatAreNoWaves) {
  auto compilation = start();
  ASSERT_TRUE(compilation->lower("tile")) << compilation->error();
  std::string text = compilation->print();
  size_t at = text.find("block_size = ");
  ASSERT_NE(at, std::string::npos);
  size_t end = text.find(" :", at);
  text.replace(at, end - at, "block_size = 32");
  Compilation edited{CompileOptions()};
  EXPECT_FALSE(edited.fromText(text, "edited.mlir"));
  EXPECT_NE(edited.error().find("a warp of wave64 has 64 threads"),
            std::string::npos)
      << edited.error();
}

INSTANTIATE_TEST_SUITE_P(Programs, Wave64, testing::ValuesIn(programs),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

} // namespace
