//===- CrashSafety.cpp - Mistakes of ours, caught -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/CrashSafety.h"

#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstring>
#include <mutex>

using namespace mlir;
using namespace tessera;

/// What LLVM said last on this thread.
static thread_local std::string fatalReason;

/// LLVM aborts if this returns.
static void onFatalError(void *, const char *reason, bool) {
  if (llvm::CrashRecoveryContext *context =
          llvm::CrashRecoveryContext::GetCurrent()) {
    fatalReason = reason;
    context->HandleExit(1);
  }
  llvm::errs() << "LLVM ERROR: " << reason << "\n";
}

namespace {
/// LLVM's handlers are there only while something compiles: before and after,
/// signals are the application's.
class Handlers {
public:
  Handlers() {
    std::lock_guard lock(mutex);
    if (users++ > 0)
      return;
    llvm::install_fatal_error_handler(onFatalError);
    llvm::CrashRecoveryContext::Enable();
  }
  ~Handlers() {
    std::lock_guard lock(mutex);
    if (--users > 0)
      return;
    llvm::CrashRecoveryContext::Disable();
    llvm::remove_fatal_error_handler();
  }

private:
  static inline std::mutex mutex;
  static inline int users = 0;
};
} // namespace

std::string tessera::runSafely(llvm::function_ref<void()> body) {
  // Inside another one: that one catches it.
  if (llvm::CrashRecoveryContext::GetCurrent()) {
    body();
    return {};
  }
  Handlers handlers;
  fatalReason.clear();
  llvm::CrashRecoveryContext context;
  if (context.RunSafely(body))
    return {};
  if (!fatalReason.empty())
    return "LLVM: " + fatalReason;
  int signal = context.RetCode - 128;
  if (signal <= 0)
    return "it exited";
  return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

namespace {
struct MistakePass : PassWrapper<MistakePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MistakePass)
  explicit MistakePass(std::string kind) : kind(std::move(kind)) {}

  StringRef getArgument() const override { return "mistake"; }
  void runOnOperation() override {
    if (kind == "segv")
      std::raise(SIGSEGV);
    if (kind == "abort")
      std::abort();
    if (kind == "fatal")
      llvm::report_fatal_error("a mistake was asked for");
    if (kind == "silent")
      return signalPassFailure();
    // A block without its end.
    getOperation()->walk([](Operation *op) {
      for (Region &region : op->getRegions())
        if (!region.empty() && region.back().mightHaveTerminator() &&
            op->getNumRegions() && !isa<ModuleOp>(op)) {
          region.back().getTerminator()->erase();
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
  }
  std::string kind;
};
} // namespace

std::unique_ptr<Pass> tessera::createMistakePass(StringRef kind) {
  return std::make_unique<MistakePass>(kind.str());
}
