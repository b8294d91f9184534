//===- MutatePasses.cpp - The mutator between two passes ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Testing/Mutate.h"

#include "llvm/Support/raw_ostream.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace tessera;

namespace {

struct TestMark : PassWrapper<TestMark, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestMark)
  StringRef getArgument() const final { return "test-mark"; }
  StringRef getDescription() const final {
    return "What is there now is not mutated by test-mutate";
  }
  void runOnOperation() override { testing::markBefore(getOperation()); }
};

struct TestMutate : PassWrapper<TestMutate, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestMutate)
  TestMutate() = default;
  TestMutate(const TestMutate &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "test-mutate"; }
  StringRef getDescription() const final {
    return "Changes one place that passes since test-mark made";
  }
  void runOnOperation() override {
    std::string what = testing::mutate(getOperation(), seed, /*made=*/true);
    llvm::errs() << "mutated: " << what << "\n";
  }
  Option<uint64_t> seed{*this, "seed", llvm::cl::desc("chooses the place"),
                        llvm::cl::init(0)};
};

} // namespace

void testing::registerPasses() {
  PassRegistration<TestMark>();
  PassRegistration<TestMutate>();
}
