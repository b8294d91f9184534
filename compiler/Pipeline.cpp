//===- Pipeline.cpp - The whole compiler, stage by stage ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Read this first: to add a stage is to add a line to `all`. `inspect_ir`,
// `--compile-to` and the dumps follow from it. From stage tile on the passes
// are the machine's (Target/Machine.h), as is what it emits at the end.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipeline.h"

#include "compiler/CrashSafety.h"
#include "compiler/Graph/Transforms/Passes.h"
#include "compiler/Schedule/Transforms/Passes.h"
#include "compiler/ScheduleToTile/Passes.h"
#include "compiler/StageText.h"
#include "compiler/Tile/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <chrono>

using namespace mlir;
using namespace tessera;

/// The machine of a compilation that has got past `lowerTo`'s own checks.
static const Machine &machineOf(const CompileOptions &options) {
  return *findMachine(options.target);
}

static void buildGraph(OpPassManager &pm, const CompileOptions &) {
  graph::buildGraphPipeline(pm);
}

static void buildSchedule(OpPassManager &pm, const CompileOptions &options) {
  schedule::buildSchedulePipeline(pm, machineOf(options).schedules);
}

static void buildTileValue(OpPassManager &pm, const CompileOptions &) {
  tile::buildScheduleToTilePipeline(pm);
}

static void buildTileMapped(OpPassManager &pm, const CompileOptions &options) {
  machineOf(options).buildMapped(pm, options);
}

static void buildTarget(OpPassManager &pm, const CompileOptions &options) {
  machineOf(options).buildTarget(pm, options);
}

/// What holds on all machines, and what each asks of its own kernels.
static void checkTileMapped(OpPassManager &pm) {
  pm.addPass(tile::createCheckMappedContractPass());
  for (const Machine *machine : machines())
    if (machine->checkMapped)
      machine->checkMapped(pm);
}

static void checkTarget(OpPassManager &pm) {
  for (const Machine *machine : machines())
    if (machine->checkTarget)
      machine->checkTarget(pm);
}

template <std::unique_ptr<Pass> (*create)()>
static void check(OpPassManager &pm) {
  pm.addPass(create());
}

llvm::ArrayRef<Stage> tessera::stages() {
  static constexpr Stage all[] = {
      {"graph", buildGraph, check<graph::createCheckContractPass>},
      {"sched", buildSchedule, check<schedule::createCheckContractPass>},
      {"tile-value", buildTileValue, check<tile::createCheckValueContractPass>},
      {"tile", buildTileMapped, checkTileMapped},
      {"target", buildTarget, checkTarget},
  };
  return all;
}

std::string tessera::stageNames() {
  return llvm::join(
      llvm::map_range(stages(), [](const Stage &s) { return s.name.str(); }),
      ", ");
}

static thread_local std::string running;

const std::string &tessera::runningPass() { return running; }

namespace {

/// Notes which pass runs, and how long each takes.
struct TimePasses : PassInstrumentation {
  explicit TimePasses(std::vector<PassTime> &times) : times(times) {}

  void runBeforePass(Pass *pass, Operation *) override {
    starts.push_back(std::chrono::steady_clock::now());
    if (!pass->getArgument().empty())
      running = pass->getArgument().str();
  }
  void runAfterPass(Pass *pass, Operation *) override {
    std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - starts.pop_back_val();
    // Adaptors only hold other passes; their time would count twice. A pass on
    // kernels runs once for each.
    if (pass->getArgument().empty())
      return;
    if (times.empty() || times.back().pass != pass->getArgument())
      times.push_back({pass->getArgument().str(), 0});
    times.back().milliseconds += taken.count();
  }
  void runAfterPassFailed(Pass *, Operation *) override { starts.pop_back(); }

  std::vector<PassTime> &times;
  SmallVector<std::chrono::steady_clock::time_point> starts;
};

/// Whether no op of this kind stands behind it.
bool isLastOfItsKind(Operation *op) {
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
    if (next->getName() == op->getName())
      return false;
  return true;
}

/// Shows the module after each pass: one on kernels, after the last of them.
struct ObservePasses : PassInstrumentation {
  ObservePasses(const PassObserver &observer, StringRef stage)
      : observer(observer), stage(stage) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    auto module = dyn_cast<ModuleOp>(op);
    if (!pass->getArgument().empty() && (module || isLastOfItsKind(op)))
      observer(stage, pass->getArgument(),
               module ? module : op->getParentOfType<ModuleOp>());
  }

  const PassObserver &observer;
  StringRef stage;
};

} // namespace

static LogicalResult dump(ModuleOp module, StringRef directory, size_t number,
                          StringRef name, StringRef extension, StringRef what) {
  std::string path =
      llvm::formatv("{0}/{1:d2}-{2}{3}", directory, number, name, extension)
          .str();
  std::error_code error = llvm::sys::fs::create_directories(directory);
  if (!error) {
    llvm::raw_fd_ostream file(path, error);
    if (!error)
      file << what;
  }
  if (error)
    return module.emitError()
           << "cannot write " << path << ": " << error.message();
  return success();
}

static const Stage *find(StringRef name) {
  return llvm::find_if(stages(),
                       [&](const Stage &s) { return s.name == name; });
}

static LogicalResult findStageOf(ModuleOp module, const Stage *&stage) {
  stage = find(getStage(module));
  if (stage != stages().end())
    return success();
  return module.emitError()
         << "the module says it is at stage '" << getStage(module)
         << "'; there are " << stageNames();
}

LogicalResult tessera::checkStage(ModuleOp module) {
  const Stage *stage;
  if (failed(findStageOf(module, stage)))
    return failure();
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  stage->check(pm);
  return pm.run(module);
}

/// Whoever runs passes asks for the same: verifier, times, observer.
static void prepare(PassManager &pm, StringRef stage,
                    const CompileOptions &options, std::vector<PassTime> *times,
                    const PassObserver &observer) {
  pm.enableVerifier(options.verifyEach);
  if (times)
    pm.addInstrumentation(std::make_unique<TimePasses>(*times));
  if (observer)
    pm.addInstrumentation(std::make_unique<ObservePasses>(observer, stage));
}

static LogicalResult requireMachine(ModuleOp module,
                                    const CompileOptions &options,
                                    const Machine *&machine) {
  machine = findMachine(options.target);
  if (machine)
    return success();
  return module.emitError() << "no target is called '" << options.target
                            << "'; there are " << targetNames();
}

LogicalResult tessera::lowerTo(ModuleOp module, StringRef last,
                               const CompileOptions &options,
                               std::vector<PassTime> *times,
                               PassObserver observer) {
  const Machine *machine;
  if (failed(requireMachine(module, options, machine)))
    return failure();
  const Stage *end = find(last), *now = stages().begin();
  if (!machine->buildMapped && end > find("tile-value") &&
      end != stages().end())
    return module.emitError()
           << "target " << options.target
           << " leaves after stage tile-value, as "
           << machine->emissions.front().what << "; layouts are chosen there";
  if (end == stages().end())
    return module.emitError()
           << "no stage is called '" << last << "'; there are " << stageNames();
  if (StringRef at = getStage(module); !at.empty()) {
    if (failed(findStageOf(module, now)))
      return failure();
    if (now > end)
      return module.emitError()
             << "the module is already at stage " << at << ", past " << last;
    ++now;
  }
  if (machine->remark && now <= find("tile") && end >= find("tile"))
    if (std::string remark = machine->remark(options.target); !remark.empty()) {
      Operation *first = module.getBody()->empty() ? module.getOperation()
                                                   : &module.getBody()->front();
      first->emitRemark() << remark;
    }
  for (; now <= end; ++now) {
    // Mapped Tile IR may have been edited, or be another target's.
    if (now == find("target") && machine->checkMappedFor &&
        failed(machine->checkMappedFor(module, options)))
      return failure();
    PassManager pm(module.getContext(), ModuleOp::getOperationName());
    prepare(pm, now->name, options, times, observer);
    now->build(pm, options);
    if (auto [kind, stage] = StringRef(options.mistake).split('@');
        stage == now->name)
      pm.addPass(createMistakePass(kind));
    running.clear();
    if (failed(pm.run(module)))
      return failure();
    running.clear();
    setStage(module, now->name);
    if (!options.dumpDirectory.empty() &&
        failed(dump(module, options.dumpDirectory, now - stages().begin(),
                    now->name, ".mlir", printStage(module))))
      return failure();
  }
  return success();
}

/// An example of a target that emits `name`.
static const Machine *findEmitter(StringRef name) {
  for (const Machine *machine : machines())
    if (machine->findEmission(name))
      return machine;
  return nullptr;
}

FailureOr<std::string> tessera::emit(ModuleOp module, StringRef name,
                                     const CompileOptions &options,
                                     std::vector<PassTime> *times,
                                     StringRef kernel) {
  const Machine *machine;
  if (failed(requireMachine(module, options, machine)))
    return failure();
  const Emission *emission = machine->findEmission(name);
  if (!emission) {
    if (const Machine *other = findEmitter(name))
      return module.emitError()
             << "target " << options.target << " has no "
             << other->findEmission(name)->what
             << "; it is made for targets like " << other->example;
    return module.emitError()
           << "nothing is called '" << name << "'; there are " << stageNames()
           << ", " << llvm::join(emissionNames(), ", ");
  }
  if (getStage(module) != emission->from &&
      failed(lowerTo(module, emission->from, options, times)))
    return failure();
  auto prepareEach = [&](PassManager &pm) {
    prepare(pm, emission->name, options, times, nullptr);
  };
  running.clear();
  FailureOr<std::string> made =
      emission->emit(module, {options, kernel, prepareEach});
  if (failed(made))
    return failure();
  running.clear();
  if (!options.dumpDirectory.empty() &&
      failed(dump(module, options.dumpDirectory,
                  find(emission->from) - stages().begin() + 1,
                  (emission->name + (kernel.empty() ? "" : "-") + kernel).str(),
                  emission->extension, *made)))
    return failure();
  return made;
}
