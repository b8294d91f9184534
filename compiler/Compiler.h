//===- Compiler.h - From a program to an artifact ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the Python package and the command-line tools call.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_COMPILER_H
#define TESSERA_COMPILER_COMPILER_H

#include "compiler/Frontend/Sema.h"
#include "compiler/Pipeline.h"
#include "compiler/Plan/Export.h"
#include "compiler/Plan/Launches.h"
#include "compiler/ProgramFacts.h"
#include "compiler/Tile/Analysis/KernelWork.h"
#include "compiler/Tile/Analysis/LoopTree.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera {

/// Machine code and the plan that launches it (docs/abi.md).
struct Artifact {
  std::string plan;
  std::vector<char> object;
  std::vector<PassTime> times;
};

/// The plan of a module at stage target, as docs/abi.md has it.
llvm::FailureOr<std::string> writePlan(mlir::ModuleOp module,
                                       const CompileOptions &options);

/// One decision of the schedule, for `explain`.
struct Decision {
  std::string kernel, what, by;
  int64_t value;
  std::vector<int64_t> alternatives;
};

/// The module after a pass.
struct PassStep {
  int64_t number;    // of the passes that ran, from 0
  std::string stage; // that the pass leads to
  std::string pass;
  std::string text;
  std::string planted; // what was made wrong
};

/// A miscompile on purpose, after the pass of that number; `made`: only in what
/// that pass made.
struct Plant {
  int64_t pass;
  uint64_t seed;
  bool made = false;
};

/// One program on its way down: a context and a module in it. Errors are kept
/// as text, ready for the user.
class Compilation {
public:
  explicit Compilation(CompileOptions options);
  ~Compilation();

  /// Starts from the front end's output.
  bool fromSource(const frontend::SemaRequest &request,
                  const frontend::SourceManager &sources, bool colour);
  /// Starts from the text of any stage.
  bool fromText(const std::string &text, const std::string &name);

  /// The same, without checking that stage's contract: between two passes.
  bool fromUncheckedText(const std::string &text, const std::string &name);
  /// Runs `body` on the module; what it says becomes `error()`.
  bool with(llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp)> body);

  /// Goes down to `stage`.
  bool lower(const std::string &stage);
  /// The same, keeping the module's text after each pass that changed it. For
  /// tests, `plant` makes the output of one pass wrong
  /// (Testing/Mutate.h).
  bool lowerByPass(const std::string &stage, std::vector<PassStep> &steps,
                   const Plant *plant = nullptr);

  /// The module as text, with the user's names and lines.
  std::string print() const;
  std::string stage() const;
  /// The decisions in the module, which must be at stage sched.
  std::vector<Decision> decisions() const;

  /// Goes down to the end.
  bool finish(Artifact &artifact);
  /// Goes down to Target IR and writes the plan; the object stays empty.
  bool finishPlan(Artifact &artifact);
  /// The object of one kernel of the plan, or of all of them if `name` is
  /// empty, after finishPlan. From one thread at a time.
  bool emitObject(const std::string &name, std::vector<char> &object);
  /// Keeps, after finishPlan, only what emitObject needs: some kilobytes in the
  /// place of a context with its module.
  void shrink();
  /// What the target's machine calls `format`: "ptx", "llvm", "cudatile".
  bool emit(const std::string &format, std::string &bytes);
  /// The plan of a module that is at stage tile-value or below.
  std::string plan() const;
  /// What a call of it launches.
  plan::Launches launches(const plan::CallSizes &call) const;
  ProgramFacts facts() const;
  /// How many operations the launches of a call take, of a program at stage
  /// tile-value.
  std::vector<std::pair<std::string, tile::KernelWork>>
  work(const plan::CallSizes &call) const;
  /// The launches of a call as loops over nests, of a program at stage tile; in
  /// the order of `launches`. `unknown` of one says what cannot be followed.
  std::vector<tile::LaunchLoops> loops(const plan::Launches &launches) const;
  /// Its kernels in the order of their first launches, each with what a launch
  /// gives it.
  std::vector<std::pair<std::string, plan::LaunchNeeds>> kernels() const;

  const std::string &error() const;
  /// Whether the error is a mistake of ours and not of the program; the text
  /// then names a file that repeats it.
  bool failedInternally() const;
  /// What the user should know though it compiled, rendered like errors.
  const std::vector<std::string> &remarks() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl; // null once shrunk
  std::string shrunk, shrunkError;
  bool shrunkInternal = false;
  CompileOptions shrunkOptions;
};

} // namespace tessera

#endif // TESSERA_COMPILER_COMPILER_H
