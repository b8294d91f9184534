// The driver's state, module loading and launching.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/driver/State.h"

#include "sim/api/tessera_sim.h"
#include "sim/driver/Boards.h"
#include "sim/driver/FatBinary.h"
#include "sim/exec/Limits.h"
#include "sim/exec/Warp.h"
#include "sim/report/Json.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace tessera::sim::driver {

static Device &sharedDevice() {
  static auto *device = new Device();
  return *device;
}

State::State() : device(sharedDevice()) {
  auto option = [](const char *name) -> const char * {
    const char *value = std::getenv(name);
    return value && *value ? value : nullptr;
  };
  const char *text = option("TESSERA_SIM_ARCH"), *what = "TESSERA_SIM_BOARD";
  try {
    if (const Board *board = chosenBoard()) {
      archs[0] = board->arch;
      totalMemory = board->memory;
    }
    what = "TESSERA_SIM_ARCH";
    if (unsigned chosen = archs[0]; text) {
      archs[0] = parseArch(text);
      if (chosenBoard() && archs[0] != chosen)
        throw std::runtime_error(std::string(chosenBoard()->name) +
                                 " is a GPU of sm_" + std::to_string(chosen) +
                                 ", not of " + text);
    }
  } catch (const std::exception &e) {
    // Whatever is asked of this GPU fails.
    std::fprintf(stderr, "tessera-sim: %s: %s\n", what, e.what());
    stickyError = NoDevice;
  }
  check = option("TESSERA_SIM_CHECK") && *option("TESSERA_SIM_CHECK") != '0';
  count = option("TESSERA_SIM_COUNT") != nullptr;
  if ((text = option("TESSERA_SIM_SEED"))) {
    // "3", or "3,elect": the seed picks the lanes of elect.sync too.
    char *rest = nullptr;
    seed = std::strtoull(text, &rest, 0);
    electBySeed = std::string_view(rest) == ",elect";
    adversarial = true;
  }
  if ((text = option("TESSERA_SIM_THREADS")))
    threads = unsigned(std::atoi(text));
  if ((text = option("TESSERA_SIM_REPORT")))
    reportPath = text;
}

State &state() {
  static auto *s = new State();
  return *s;
}

std::string &lastMessage() {
  thread_local std::string message;
  return message;
}

bool &isQuiet() {
  thread_local bool quiet = false;
  return quiet;
}

int problem(int code, const std::string &message) {
  lastMessage() = message;
  if (!isQuiet() && !session())
    std::fprintf(stderr, "tessera-sim: %s\n", message.c_str());
  return code;
}

Stream *streamOf(void *handle) {
  // 0, 1 and 2 are the default streams.
  if (reinterpret_cast<uintptr_t>(handle) <= 2)
    return &state().defaultStream;
  std::lock_guard lock(state().mutex);
  auto *stream = static_cast<Stream *>(handle);
  return state().streams.count(stream) ? stream : nullptr;
}

int enqueue(Stream *stream, int kind, Work work) {
  if (!stream)
    return InvalidHandle;
  std::lock_guard lock(state().mutex);
  if (!stream->capturing) {
    if (int code = pendingError())
      return code;
    return work();
  }
  auto node = std::make_unique<GraphNode>();
  node->kind = kind;
  node->work = std::move(work);
  if (stream->lastNode)
    node->after.push_back(stream->lastNode);
  stream->lastNode = node.get();
  stream->capturing->nodes.push_back(std::move(node));
  return Success;
}

Function *Module::function(const std::string &name) {
  auto it = functions.find(name);
  if (it != functions.end())
    return it->second.get();
  const ptx::Function *f = linked->findFunction(name);
  if (!f || !f->isEntry)
    return nullptr;
  auto &slot = functions[name];
  slot = std::make_unique<Function>();
  slot->module = this;
  slot->name = name;
  return slot.get();
}

int loadTexts(std::vector<std::string> texts, Module **out) {
  State &s = state();
  std::lock_guard lock(s.mutex);
  try {
    auto module = std::make_unique<Module>();
    module->linked = LinkedModule::load(std::move(texts), s.device.memory);
    *out = module.get();
    s.modules.insert(module.release());
    return Success;
  } catch (const std::exception &e) {
    return problem(InvalidPtx, std::string("PTX line ") + e.what());
  }
}

int loadModule(const void *image, Module **out) {
  const auto *p = static_cast<const char *>(image);
  uint32_t magic;
  std::memcpy(&magic, p, 4);
  if (magic == 0x466243B1) { // the wrapper nvcc makes
    const void *data;
    std::memcpy(&data, p + 8, sizeof data);
    return loadModule(data, out);
  }
  if (magic == 0xBA55ED50) {
    try {
      auto entries = readFatContainer(image, 1ull << 40);
      return loadTexts({choosePtx(entries, currentArch()).text}, out);
    } catch (const std::exception &e) {
      return problem(NoBinaryForGpu, e.what());
    }
  }
  if (!std::memcmp(p,
                   "\x7f"
                   "ELF",
                   4))
    return problem(NoBinaryForGpu,
                   "the image is a cubin (SASS); the simulator executes PTX, "
                   "so pass PTX or a fat binary that holds it");
  return loadTexts({std::string(p)}, out);
}

int packParams(Function *f, void **kernelParams, void **extra,
               std::vector<uint8_t> &out) {
  std::lock_guard lock(state().mutex);
  try {
    Program &program = f->module->linked->program(f->name);
    out.assign(program.paramSize, 0);
    if (kernelParams) {
      for (size_t k = 0; k < program.paramBytes.size(); ++k)
        std::memcpy(out.data() + program.paramOffsets[k], kernelParams[k],
                    program.paramBytes[k]);
      return Success;
    }
    if (!extra)
      return program.paramBytes.empty() ? Success : InvalidValue;
    const void *buffer = nullptr;
    size_t size = 0;
    for (int k = 0; extra[k]; k += 2) {
      auto tag = reinterpret_cast<uintptr_t>(extra[k]);
      if (tag == 1)
        buffer = extra[k + 1];
      else if (tag == 2)
        size = *static_cast<size_t *>(extra[k + 1]);
    }
    if (!buffer)
      return InvalidValue;
    std::memcpy(out.data(), buffer, std::min(size, out.size()));
    return Success;
  } catch (const std::exception &e) {
    return problem(InvalidPtx,
                   "kernel '" + f->name + "': PTX line " + e.what());
  }
}

static int resultOf(int fault) {
  switch (fault) {
  case Fault::IllegalAddress:
    return IllegalAddress;
  case Fault::MisalignedAddress:
    return MisalignedAddress;
  case Fault::Assert:
    return AssertFailed;
  case Fault::IllegalInstruction:
    return IllegalInstruction;
  case Fault::Deadlock:
  case Fault::Limit:
    return LaunchTimeout;
  default:
    return LaunchFailed;
  }
}

uint32_t maxDynamicShared(const Function &f, uint32_t staticShared) {
  if (f.maxDynamicShared)
    return f.maxDynamicShared;
  return staticSharedLimit - std::min(staticShared, staticSharedLimit);
}

void checkCluster(const Function &f, LaunchOptions &o) {
  if (!o.cluster[0] && f.mustGiveCluster)
    throw ClusterError("kernel '" + f.name +
                       "' needs a launch that gives the size of the cluster "
                       "(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET)");
  if (f.cluster[0]) {
    if (o.cluster[0] && !std::equal(o.cluster, o.cluster + 3, f.cluster))
      throw ClusterError("kernel '" + f.name +
                         "' has another CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_* "
                         "than the launch asks for");
    std::copy_n(f.cluster, 3, o.cluster);
  }
  LaunchOptions filled = o;
  const Program &program = f.module->linked->program(f.name);
  fillCluster(program, filled);
  checkLaunch(program, filled);
  if (filled.clusterBlocks() > portableCluster && !f.allowsLargeClusters)
    throw ClusterError("kernel '" + f.name + "': cluster of " +
                       std::to_string(filled.clusterBlocks()) +
                       " blocks; more than " + std::to_string(portableCluster) +
                       " are only there after "
                       "cuFuncSetAttribute(NON_PORTABLE_CLUSTER_SIZE_ALLOWED)");
}

int launch(Stream *stream, LaunchRequest request) {
  State &s = state();
  Function *f = request.function;
  LaunchOptions o;
  std::copy_n(request.grid, 3, o.grid);
  std::copy_n(request.block, 3, o.block);
  std::copy_n(request.cluster, 3, o.cluster);
  o.dynamicShared = request.shared;
  o.arch = currentArch();
  o.cooperative = request.cooperative;
  o.programmatic = request.programmatic;
  // What cannot run is refused here, also while a stream is captured.
  try {
    const Program &program = f->module->linked->program(f->name);
    checkCluster(*f, o);
    uint32_t allowed = maxDynamicShared(*f, program.staticShared);
    if (o.dynamicShared > allowed)
      return problem(InvalidValue,
                     "kernel '" + f->name + "' asks for " +
                         std::to_string(o.dynamicShared) +
                         " bytes of dynamic shared memory, allowed are " +
                         std::to_string(allowed) +
                         "; cuFuncSetAttribute raises "
                         "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES");
  } catch (const ClusterError &e) {
    return problem(InvalidClusterSize, e.what());
  } catch (const std::exception &e) {
    return problem(InvalidValue, e.what());
  }
  return enqueue(stream, 0, [request, f, given = o, &s] {
    Session *reported = session().get();
    LaunchOptions o = given;
    o.check = s.check;
    o.count = s.count;
    o.adversarial = s.adversarial;
    o.seed = s.seed;
    o.electBySeed = s.electBySeed;
    o.threads = s.threads;
    if (reported)
      reported->apply(o);
    try {
      LaunchResult r = launchKernel(
          reported ? reported->device : s.device, *f->module->linked, f->name,
          o, request.params.data(), request.params.size());
      auto text = [&] {
        return "{\"kernel\": " + report::quote(f->name) + ", \"result\": " +
               report::toJson(r, &f->module->linked->program(f->name, o.ring),
                              "") +
               "}";
      };
      if (!s.reportPath.empty())
        std::ofstream(s.reportPath, std::ios::app) << text() << "\n";
      if (r.fault >= 0 && !r.reports.empty())
        lastMessage() = r.reports.back().kind + ": " + r.reports.back().message;
      if (reported) {
        reported->reports.push_back(text());
        if (r.fault >= 0)
          reported->fault = resultOf(r.fault);
        return int(Success);
      }
      for (const Report &report : r.reports)
        std::fprintf(
            stderr, "tessera-sim: %s: %s: %s%s\n", f->name.c_str(),
            report.kind.c_str(), report.message.c_str(),
            report.count > 1
                ? (" (" + std::to_string(report.count) + " times)").c_str()
                : "");
      std::fflush(stdout);
      if (r.fault >= 0)
        s.stickyError = resultOf(r.fault);
      return int(Success);
    } catch (const ptx::Error &e) {
      return problem(InvalidPtx,
                     "kernel '" + f->name + "': PTX line " + e.what());
    } catch (const std::exception &e) {
      return problem(InvalidValue, e.what());
    }
  });
}

} // namespace tessera::sim::driver
