//===- Machine.h - What the compiler asks of a machine ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A machine is a folder of Target/ and one row, which the folder fills and
// Machines.cpp lists. The pipeline, the tools and the bindings go through the
// rows; none of them knows a machine by name. docs/new-machine.md adds one.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_MACHINE_H
#define TESSERA_COMPILER_TARGET_MACHINE_H

#include "compiler/CompileOptions.h"
#include "compiler/Schedule/IR/Model.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace tessera {

namespace simt {
struct Family;
}
namespace tile {
class FuncOp;
struct LaunchArguments;
struct LaunchLoops;
} // namespace tile

/// Called with each pass manager that an emission is about to run: to verify,
/// to take times, to observe.
using PreparePasses = llvm::function_ref<void(mlir::PassManager &)>;

/// What an emission is asked for.
struct EmitRequest {
  const CompileOptions &options;
  /// Only this kernel; all of them if empty.
  llvm::StringRef kernel;
  PreparePasses prepare;
};

/// What a machine makes of a stage: the rows after the stages' own. It runs on
/// a copy: `module` is not changed.
struct Emission {
  llvm::StringLiteral name;      ///< as `--compile-to` and `inspect_ir` take it
  llvm::StringLiteral what;      ///< "PTX", for messages
  llvm::StringLiteral from;      ///< the stage it is made of
  llvm::StringLiteral extension; ///< of a dump's file
  bool isText;
  llvm::FailureOr<std::string> (*emit)(mlir::ModuleOp module,
                                       const EmitRequest &request);
};

struct Machine {
  /// "cpu", "nvidia": the family, not a target.
  llvm::StringLiteral name;
  /// The platform of the C++ API, "cuda".
  llvm::StringLiteral platform;
  /// A target of it, for messages.
  llvm::StringLiteral example;
  schedule::Model schedules;

  /// Whether the head size of attention is a constant of each version: kernels
  /// for all sizes would include those that spill.
  bool versionPerHead;

  /// Whether `target`, as users write it, is one of its targets.
  bool (*has)(llvm::StringRef target);
  /// All of them, for messages: "cpu, cpu:avx2, cpu:avx512".
  std::string (*targetNames)();
  /// The target of an architecture: "cpu:avx2" for "avx2".
  std::string (*targetOf)(llvm::StringRef architecture);
  /// The targets whose code a library for `target` has, so that it runs on
  /// other machines too; null: that one.
  std::vector<std::string> (*portable)(llvm::StringRef target);
  /// Dialects and translations that it alone needs; loading them costs time.
  void (*registerDialects)(mlir::DialectRegistry &registry);
  /// For command-line tools; null if it has none.
  void (*registerPasses)();

  /// From stage tile-value to tile, and on to target. Null if the program
  /// leaves our stages before.
  void (*buildMapped)(mlir::OpPassManager &manager, const CompileOptions &);
  void (*buildTarget)(mlir::OpPassManager &manager, const CompileOptions &);
  /// Adds the check of its mapped Tile IR, and of its Target IR; they look at
  /// its own kernels only.
  void (*checkMapped)(mlir::OpPassManager &manager);
  void (*checkTarget)(mlir::OpPassManager &manager);
  /// Whether mapped Tile IR, which may be an edited text, is for this very
  /// target; null: it is portable within the machine.
  llvm::LogicalResult (*checkMappedFor)(mlir::ModuleOp, const CompileOptions &);
  /// What a user should know of the target, "": nothing; null: never.
  std::string (*remark)(llvm::StringRef target);

  /// Its machines, if their kernels are run by the threads of a block
  /// (Target/SIMT/Machine.h); else null.
  const simt::Family &(*simt)();

  /// What the runtime has to check of the processor, for the plan; null: none.
  mlir::ArrayAttr (*features)(mlir::ModuleOp, const CompileOptions &);
  /// The architecture that stands beside an image of kernels; null if kernels
  /// are functions of the process.
  std::string (*imageArch)(llvm::StringRef target);
  /// A launch of a mapped kernel as loops over nests
  /// (Tile/Analysis/LoopTree.h), for models of speed; null: there is no model.
  tile::LaunchLoops (*loops)(tile::FuncOp,
                             const tile::LaunchArguments &) = nullptr;

  /// The last one is what ships: object code, PTX, bytecode.
  llvm::ArrayRef<Emission> emissions;

  /// Null if it makes no such thing.
  const Emission *findEmission(llvm::StringRef name) const;
};

/// All machines, in the order messages name them.
llvm::ArrayRef<const Machine *> machines();
/// The machine of a target; null if no target is called so.
const Machine *findMachine(llvm::StringRef target);
/// "cpu, cpu:avx2, cpu:avx512, sm_70 ...", for messages.
std::string targetNames();
/// The names of all emissions, each once, in order.
llvm::SmallVector<llvm::StringRef> emissionNames();

/// Adds a machine from outside; before the first compilation.
void registerMachine(const Machine &machine);

} // namespace tessera

#endif // TESSERA_COMPILER_TARGET_MACHINE_H
