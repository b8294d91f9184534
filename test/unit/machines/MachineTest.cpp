//===- MachineTest.cpp - Rows of machines, one of them from outside -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Compiler.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;

namespace {

/// Lists the kernels of stage tile-value, in capitals for "list:loud".
FailureOr<std::string> listKernels(ModuleOp module,
                                   const EmitRequest &request) {
  std::string text;
  for (auto kernel : module.getOps<tile::FuncOp>())
    text += kernel.getSymName().str() + "\n";
  if (text.empty())
    return module.emitError() << "there are no kernels to list";
  return request.options.target == "list:loud" ? StringRef(text).upper() : text;
}

constexpr Emission emissions[] = {
    {"listing", "listing", "tile-value", ".txt", /*isText=*/true, listKernels}};

Machine makeRow() {
  Machine row = {
      .name = "list",
      .platform = "list",
      .example = "list",
      .schedules = schedule::Model::SharedMemory,
      .versionPerHead = false,
      .has = [](StringRef t) { return t == "list" || t == "list:loud"; },
      .targetNames = [] { return std::string("list, list:loud"); },
      .targetOf = [](StringRef) { return std::string("list"); },
      .portable = nullptr,
      .registerDialects = nullptr,
      .registerPasses = nullptr,
      .buildMapped = nullptr,
      .buildTarget = nullptr,
      .checkMapped = nullptr,
      .checkTarget = nullptr,
      .checkMappedFor = nullptr,
      .remark = nullptr,
      .simt = nullptr,
      .features = nullptr,
      .imageArch = nullptr,
      .emissions = emissions};
  return row;
}

/// Registered before the first test; it stays for all of them.
struct FromOutside : testing::Test {
  static void SetUpTestSuite() {
    static const Machine row = makeRow();
    if (!findMachine("list"))
      registerMachine(row);
  }
};

constexpr const char *product = R"(
module attributes {tessera.stage = "graph", tessera.format = 2 : i64} {
  func.func @product(%a: tensor<?x?xbf16> {gir.dims = ["M", "K"], gir.name = "a"}, %b: tensor<?x?xbf16> {gir.dims = ["K", "N"], gir.name = "b"}) -> (tensor<?x?xbf16> {gir.name = "result"}) {
    %r = gir.gemm %a, %b : tensor<?x?xbf16>, tensor<?x?xbf16> -> tensor<?x?xbf16>
    return %r : tensor<?x?xbf16>
  }
}
)";

std::unique_ptr<Compilation> compile(const std::string &target,
                                     const std::string &dumps = "") {
  CompileOptions options;
  options.target = target;
  options.verifyEach = true;
  options.dumpDirectory = dumps;
  auto compilation = std::make_unique<Compilation>(options);
  EXPECT_TRUE(compilation->fromText(product, "product.mlir"))
      << compilation->error();
  return compilation;
}

TEST_F(FromOutside, EmitsFromTheStageItSays) {
  auto compilation = compile("list");
  std::string text;
  ASSERT_TRUE(compilation->emit("listing", text)) << compilation->error();
  EXPECT_EQ(text, "product_0\n");
  EXPECT_EQ(compilation->stage(), "tile-value");
  ASSERT_TRUE(compile("list:loud")->emit("listing", text));
  EXPECT_EQ(text, "PRODUCT_0\n");
}

TEST_F(FromOutside, DecidesTheModelOfItsSchedules) {
  // Of a block's shared memory: sums 32 deep, nothing packed. Of caches: deep.
  auto ours = compile("list"), cpu = compile("cpu:avx2");
  ASSERT_TRUE(ours->lower("sched")) << ours->error();
  ASSERT_TRUE(cpu->lower("sched")) << cpu->error();
  auto depthOf = [](const Compilation &compilation) {
    int64_t depth = 0;
    for (const Decision &decision : compilation.decisions())
      if (StringRef(decision.what).ends_with("(loop)"))
        depth = decision.value;
    return depth;
  };
  auto packs = [](const Compilation &compilation) {
    return llvm::any_of(compilation.decisions(),
                        [](const Decision &d) { return d.what == "pack"; });
  };
  EXPECT_EQ(depthOf(*ours), 32);
  EXPECT_EQ(depthOf(*cpu), 2048);
  EXPECT_FALSE(packs(*ours));
  EXPECT_TRUE(packs(*cpu));
}

TEST_F(FromOutside, RefusesWhatIsAnotherMachines) {
  std::string text;
  auto compilation = compile("list");
  EXPECT_FALSE(compilation->emit("ptx", text));
  EXPECT_NE(compilation->error().find("target list has no PTX; it is made for "
                                      "targets like sm_80"),
            std::string::npos)
      << compilation->error();
  compilation = compile("cpu");
  EXPECT_FALSE(compilation->emit("listing", text));
  EXPECT_NE(compilation->error().find("target cpu has no listing; it "
                                      "is made for targets like list"),
            std::string::npos)
      << compilation->error();
  compilation = compile("list");
  EXPECT_FALSE(compilation->lower("tile"));
  EXPECT_NE(compilation->error().find("target list leaves after stage "
                                      "tile-value, as listing"),
            std::string::npos)
      << compilation->error();
  compilation = compile("list");
  EXPECT_FALSE(compilation->emit("sass", text));
  EXPECT_NE(compilation->error().find("nothing is called 'sass'"),
            std::string::npos);
  EXPECT_NE(compilation->error().find("listing"), std::string::npos);
}

TEST_F(FromOutside, IsNamedWithTheOthers) {
  EXPECT_TRUE(
      StringRef(targetNames()).starts_with("cpu, cpu:avx2, cpu:avx512"));
  EXPECT_TRUE(StringRef(targetNames()).ends_with(", and list, list:loud"));
  EXPECT_EQ(findMachine("sm_85"), nullptr);
  CompileOptions options;
  options.target = "sm_85";
  Compilation compilation(options);
  ASSERT_TRUE(compilation.fromText(product, "product.mlir"));
  EXPECT_FALSE(compilation.lower("target"));
  EXPECT_NE(compilation.error().find("no target is called 'sm_85'"),
            std::string::npos);
}

/// All emissions of all machines: made, and dumped as what was returned.
TEST_F(FromOutside, EmissionsAreDumpedLikeStages) {
  SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tessera-dump", folder));
  for (auto [target, name, file] :
       {std::tuple("cpu:avx2", "llvm", "05-llvm.ll"),
        std::tuple("cpu:avx2", "object", "05-object.o"),
        std::tuple("sm_80", "llvm", "05-llvm.ll"),
        std::tuple("sm_80", "ptx", "05-ptx.ptx"),
        std::tuple("cudatile:sm_90", "cudatile", "03-cudatile.tilebc"),
        std::tuple("list", "listing", "03-listing.txt")}) {
    auto compilation = compile(target, folder.str().str());
    std::string bytes;
    ASSERT_TRUE(compilation->emit(name, bytes)) << compilation->error();
    EXPECT_FALSE(bytes.empty());
    auto dumped = llvm::MemoryBuffer::getFile(folder + "/" + file);
    ASSERT_TRUE(bool(dumped)) << file;
    EXPECT_EQ((*dumped)->getBuffer(), bytes) << target << " " << name;
  }
  llvm::sys::fs::remove_directories(folder);
}

} // namespace
