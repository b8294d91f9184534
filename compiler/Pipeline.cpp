//===- Pipeline.cpp - The whole compiler, stage by stage ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Read this first: to add a stage is to add a line to `all`. `inspect_ir`,
// `--compile-to` and the dumps follow from it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipeline.h"

#include "compiler/CrashSafety.h"
#include "compiler/Graph/Transforms/Passes.h"
#include "compiler/Schedule/Transforms/Passes.h"
#include "compiler/ScheduleToTile/Passes.h"
#include "compiler/StageText.h"
#include "compiler/Target/CPU/CPU.h"
#include "compiler/Target/CPU/Passes.h"
#include "compiler/Target/NVIDIA/Passes.h"
#include "compiler/Tile/Transforms/GpuInstructions.h"
#include "compiler/Tile/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <chrono>

using namespace mlir;
using namespace tessera;

Machine tessera::machineOf(StringRef target) {
  if (succeeded(target::parseCpuTarget(target)))
    return Machine::Cpu;
  if (succeeded(target::parseNvidiaTarget(target)))
    return Machine::Nvidia;
  if (target.consume_front("cudatile:"))
    if (auto arch = nvidia::parseArch(target);
        arch && *arch >= nvidia::Arch{8, 0, 0}) // as tileiras
      return Machine::CudaTile;
  return Machine::None;
}

std::string tessera::targetNames() {
  return "cpu, cpu:avx2, cpu:avx512, " + nvidia::archNames() +
         ", and cudatile: with those from sm_80 on";
}

target::NvidiaOptions tessera::nvidiaOptions(const CompileOptions &options) {
  auto found = target::parseNvidiaTarget(options.target);
  target::NvidiaOptions result =
      succeeded(found) ? *found : target::NvidiaOptions();
  result.optLevel = options.optLevel;
  // Mutants are run without it, to see whether it was right to refuse them.
  result.proveBarriers = options.mistake != "unproved";
  return result;
}

target::CpuOptions tessera::cpuOptions(const CompileOptions &options) {
  FailureOr<target::CpuOptions> cpu = target::parseCpuTarget(options.target);
  target::CpuOptions found = succeeded(cpu) ? *cpu : target::CpuOptions();
  found.optLevel = options.optLevel;
  found.symbolPrefix = options.symbolPrefix;
  return found;
}

static void buildGraph(OpPassManager &pm, const CompileOptions &) {
  graph::buildGraphPipeline(pm);
}

static void buildSchedule(OpPassManager &pm, const CompileOptions &options) {
  schedule::buildSchedulePipeline(pm,
                                  machineOf(options.target) == Machine::Nvidia);
}

static void buildTileValue(OpPassManager &pm, const CompileOptions &) {
  tile::buildScheduleToTilePipeline(pm);
}

static void buildTileMapped(OpPassManager &pm, const CompileOptions &options) {
  if (machineOf(options.target) == Machine::Nvidia)
    target::buildNvidiaMappedPipeline(pm, nvidiaOptions(options));
  else
    target::buildCpuMappedPipeline(pm, cpuOptions(options));
}

static void buildTarget(OpPassManager &pm, const CompileOptions &options) {
  if (machineOf(options.target) == Machine::Nvidia)
    target::buildNvidiaTargetPipeline(pm, nvidiaOptions(options));
  else
    target::buildCpuTargetPipeline(pm, cpuOptions(options));
}

/// Each of the two looks at its own machine's kernels.
static void checkTarget(OpPassManager &pm) {
  pm.addPass(target::createCheckContractPass());
  pm.addPass(target::createCheckNvidiaContractPass());
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
      {"tile", buildTileMapped, check<tile::createCheckMappedContractPass>},
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
    // Adaptors only hold other passes; their time would count twice.
    if (!pass->getArgument().empty())
      times.push_back({pass->getArgument().str(), taken.count()});
  }
  void runAfterPassFailed(Pass *, Operation *) override { starts.pop_back(); }

  std::vector<PassTime> &times;
  SmallVector<std::chrono::steady_clock::time_point> starts;
};

/// Shows the module after each pass.
struct ObservePasses : PassInstrumentation {
  ObservePasses(const PassObserver &observer, StringRef stage)
      : observer(observer), stage(stage) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    auto module = dyn_cast<ModuleOp>(op);
    if (!pass->getArgument().empty())
      observer(stage, pass->getArgument(),
               module ? module : op->getParentOfType<ModuleOp>());
  }

  const PassObserver &observer;
  StringRef stage;
};

} // namespace

static LogicalResult dump(ModuleOp module, StringRef directory, size_t number,
                          StringRef stage) {
  std::string path =
      llvm::formatv("{0}/{1:d2}-{2}.mlir", directory, number, stage).str();
  std::error_code error = llvm::sys::fs::create_directories(directory);
  if (!error) {
    llvm::raw_fd_ostream file(path, error);
    if (!error)
      file << printStage(module);
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

/// Mapped Tile IR may have been edited, or be another machine's.
static LogicalResult checkMappedFor(ModuleOp module, const nvidia::Arch &arch) {
  bool good = true;
  for (auto func : module.getOps<tile::FuncOp>()) {
    if (func->hasAttr("tile.arch") && tile::archOf(func) != arch)
      return func.emitError()
             << "this Tile IR was mapped for " << tile::archOf(func).name()
             << ", not for " << arch.name()
             << ": its copies and instructions are that machine's";
    func.walk([&](tile::MmaOp mma) {
      auto given = mma->getAttrOfType<StringAttr>("instruction");
      if (!given || given.getValue() == "fma")
        return;
      good &= succeeded(tile::chooseInstruction(mma, arch));
      auto known = mma->getAttrOfType<StringAttr>("instruction");
      if (good && known != given) {
        mma.emitError() << "instruction = " << given << " is not the product "
                        << "of these types on " << arch.name() << "; that is "
                        << known;
        good = false;
      }
    });
  }
  return success(good);
}

LogicalResult tessera::lowerTo(ModuleOp module, StringRef last,
                               const CompileOptions &options,
                               std::vector<PassTime> *times,
                               PassObserver observer) {
  Machine machine = machineOf(options.target);
  if (machine == Machine::None)
    return module.emitError() << "no target is called '" << options.target
                              << "'; there are " << targetNames();
  const Stage *end = find(last), *now = stages().begin();
  if (machine == Machine::CudaTile && end > find("tile-value") &&
      end != stages().end())
    return module.emitError()
           << "target " << options.target
           << " leaves after stage tile-value; layouts are NVIDIA's there";
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
  auto given = nvidia::parseArch(options.target);
  if (given && now <= find("tile") && end >= find("tile"))
    if (nvidia::Arch used = nvidia::promoted(*given); used != *given) {
      Operation *first = module.getBody()->empty() ? module.getOperation()
                                                   : &module.getBody()->front();
      first->emitRemark() << "target " << given->name() << " is compiled as "
                          << used.name() << ": wgmma exists only there";
    }
  for (; now <= end; ++now) {
    if (given && now == find("target") &&
        failed(checkMappedFor(module, nvidia::promoted(*given))))
      return failure();
    PassManager pm(module.getContext(), ModuleOp::getOperationName());
    pm.enableVerifier(options.verifyEach);
    if (times)
      pm.addInstrumentation(std::make_unique<TimePasses>(*times));
    if (observer)
      pm.addInstrumentation(
          std::make_unique<ObservePasses>(observer, now->name));
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
                    now->name)))
      return failure();
  }
  return success();
}
