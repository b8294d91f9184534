// Modules, libraries, functions, launches, occupancy.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/driver/Api.h"
#include "sim/exec/Limits.h"
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

Module *moduleOf(void *handle) {
  auto *m = static_cast<Module *>(handle);
  return state().modules.count(m) ? m : nullptr;
}

struct LaunchAttribute {
  int id;
  int pad;
  union {
    int value;
    unsigned dims[3];
    char bytes[64];
  };
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared;
  void *stream;
  LaunchAttribute *attributes;
  unsigned count;
};

/// Fills in what the attributes of a launch ask for. Those that are left out
/// change no result: grids run one after the other and see all that was before
/// them (priorities, domains; programmatic serialization counts for the
/// checker), blocks run in the
/// smaller clusters too (preferred size), and there are no caches and SMs to
/// share out (access policy, carve-out, scheduling).
int applyAttributes(const LaunchConfig &c, LaunchRequest &r) {
  for (unsigned k = 0; k < c.count; ++k) {
    const LaunchAttribute &a = c.attributes[k];
    const char *what = nullptr;
    switch (a.id) {
    case 2:
      r.cooperative = a.value;
      break;
    case 4:
      if (!a.dims[0] || !a.dims[1] || !a.dims[2])
        return problem(InvalidValue, "kernel '" + r.function->name +
                                         "': a size of the cluster is zero");
      std::copy_n(a.dims, 3, r.cluster);
      break;
    case 6:
      r.programmatic = a.value;
      break;
    case 7:
      what = "PROGRAMMATIC_EVENT";
      break;
    case 12:
      what = "LAUNCH_COMPLETION_EVENT";
      break;
    case 13:
      what = "DEVICE_UPDATABLE_KERNEL_NODE";
      break;
    default:
      break;
    }
    if (what)
      return problem(NotSupported, "kernel '" + r.function->name +
                                       "': the attribute " + what +
                                       " of a launch is not supported");
  }
  return Success;
}

} // namespace

CU cuDeviceGetAttribute(int *value, int attribute, int device);

CU cuModuleLoadData(void **out, const void *image) {
  LOCKED;
  return loadModule(image, reinterpret_cast<Module **>(out));
}
CU cuModuleLoadDataEx(void **out, const void *image, unsigned count,
                      int *options, void **values) {
  // Messages go into the caller's buffer, if there is one.
  char *log = nullptr;
  size_t size = 0;
  for (unsigned k = 0; k < count; ++k)
    if (options[k] == 5) // CU_JIT_ERROR_LOG_BUFFER
      log = static_cast<char *>(values[k]);
    else if (options[k] == 6)
      size = reinterpret_cast<size_t>(values[k]);
  bool before = std::exchange(isQuiet(), log && size ? true : isQuiet());
  int code = cuModuleLoadData(out, image);
  isQuiet() = before;
  if (code && log && size) {
    std::snprintf(log, size, "%s", lastMessage().c_str());
    lastMessage().clear();
  }
  return code;
}
CU cuModuleLoadFatBinary(void **out, const void *image) {
  LOCKED;
  return cuModuleLoadData(out, image);
}
CU cuModuleLoad(void **out, const char *path) {
  LOCKED;
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return 301; // CUDA_ERROR_FILE_NOT_FOUND
  std::stringstream text;
  text << in.rdbuf();
  return cuModuleLoadData(out, text.str().c_str());
}
CU cuModuleUnload(void *handle) {
  LOCKED;
  Module *m = moduleOf(handle);
  if (!m)
    return InvalidHandle;
  state().modules.erase(m);
  state().device.lastGrid.reset(); // it names the code
  if (Session *s = session().get())
    s->device.lastGrid.reset();
  delete m;
  return Success;
}
CU cuModuleGetFunction(void **out, void *handle, const char *name) {
  LOCKED;
  Module *m = moduleOf(handle);
  if (!m)
    return InvalidHandle;
  *out = m->function(name);
  return *out ? Success : NotFound;
}
CU cuModuleGetFunctionCount(unsigned *count, void *handle) {
  LOCKED;
  Module *m = moduleOf(handle);
  if (!m)
    return InvalidHandle;
  *count = m->linked->kernels().size();
  return Success;
}
CU cuModuleGetGlobal_v2(DevicePtr *address, size_t *bytes, void *handle,
                        const char *name) {
  LOCKED;
  Module *m = moduleOf(handle);
  if (!m)
    return InvalidHandle;
  const ptx::Variable *v = m->linked->findVariable(name);
  if (!v || !m->linked->addressOf(v))
    return NotFound;
  if (address)
    *address = m->linked->addressOf(v);
  if (bytes)
    *bytes = m->linked->define(v)->bytes;
  return Success;
}
CU cuModuleGetLoadingMode(int *mode) {
  LOCKED;
  *mode = 1;
  return Success;
}

// A library is a module here, and a kernel is its function.
CU cuLibraryLoadData(void **out, const void *image, int *, void **, unsigned,
                     int *, void **, unsigned) {
  LOCKED;
  return cuModuleLoadData(out, image);
}
CU cuLibraryLoadFromFile(void **out, const char *path, int *, void **, unsigned,
                         int *, void **, unsigned) {
  LOCKED;
  return cuModuleLoad(out, path);
}
CU cuLibraryUnload(void *handle) { return cuModuleUnload(handle); }
CU cuLibraryGetKernel(void **out, void *handle, const char *name) {
  LOCKED;
  return cuModuleGetFunction(out, handle, name);
}
CU cuLibraryGetModule(void **out, void *handle) {
  LOCKED;
  *out = handle;
  return Success;
}
CU cuLibraryGetGlobal(DevicePtr *address, size_t *bytes, void *handle,
                      const char *name) {
  LOCKED;
  return cuModuleGetGlobal_v2(address, bytes, handle, name);
}
CU cuLibraryGetManaged(DevicePtr *address, size_t *bytes, void *handle,
                       const char *name) {
  LOCKED;
  return cuModuleGetGlobal_v2(address, bytes, handle, name);
}
CU cuKernelGetFunction(void **out, void *kernel) {
  LOCKED;
  *out = kernel;
  return Success;
}
CU cuFuncGetModule(void **out, void *f) {
  LOCKED;
  *out = static_cast<Function *>(f)->module;
  return Success;
}
CU cuFuncGetName(const char **name, void *f) {
  LOCKED;
  *name = static_cast<Function *>(f)->name.c_str();
  return Success;
}
CU cuKernelGetName(const char **name, void *f) {
  LOCKED;
  return cuFuncGetName(name, f);
}
CU cuFuncGetParamInfo(void *handle, size_t index, size_t *offset,
                      size_t *size) {
  LOCKED;
  auto *f = static_cast<Function *>(handle);
  const ptx::Function *entry = f->module->linked->findFunction(f->name);
  if (index >= entry->params.size())
    return InvalidValue;
  size_t at = 0;
  for (size_t k = 0; k <= index; ++k) {
    const ptx::Variable *p = entry->params[k];
    at = (at + p->align - 1) / p->align * p->align;
    *offset = at;
    if (size)
      *size = p->bytes;
    at += p->bytes;
  }
  return Success;
}

CU cuFuncGetAttribute(int *value, int attribute, void *handle) {
  LOCKED;
  auto *f = static_cast<Function *>(handle);
  const ptx::Function *entry = f->module->linked->findFunction(f->name);
  switch (attribute) {
  case 0: { // max threads per block
    const unsigned *m =
        entry->requiredThreads[0] ? entry->requiredThreads : entry->maxThreads;
    *value = m[0] ? int(m[0] * m[1] * m[2]) : 1024;
    return Success;
  }
  case 1: // static shared memory
    try {
      *value = int(f->module->linked->program(f->name).staticShared);
    } catch (const std::exception &e) {
      return problem(InvalidPtx,
                     "kernel '" + f->name + "': PTX line " + e.what());
    }
    return Success;
  case 4: // registers: not known without the assembler
    *value = int(entry->maxRegisters ? entry->maxRegisters : 32);
    return Success;
  case 5:
  case 6:
    *value = int(currentArch());
    return Success;
  case 8: {
    int staticShared = 0;
    if (int code = cuFuncGetAttribute(&staticShared, 1, handle))
      return code;
    *value = int(maxDynamicShared(*f, uint32_t(staticShared)));
    return Success;
  }
  case 10:
    *value = entry->explicitCluster || f->mustGiveCluster;
    return Success;
  case 11:
  case 12:
  case 13:
    *value =
        int(entry->requiredCluster[0] ? entry->requiredCluster[attribute - 11]
                                      : f->cluster[attribute - 11]);
    return Success;
  case 14:
    *value = f->allowsLargeClusters;
    return Success;
  default:
    *value = 0;
    return Success;
  }
}
CU cuFuncSetAttribute(void *handle, int attribute, int value) {
  LOCKED;
  auto *f = static_cast<Function *>(handle);
  if (attribute == 8) {
    int staticShared = 0;
    if (int code = cuFuncGetAttribute(&staticShared, 1, handle))
      return code;
    unsigned most = machine(currentArch()).sharedPerBlock;
    if (value < 0 || unsigned(value) + unsigned(staticShared) > most)
      return problem(
          InvalidValue,
          "kernel '" + f->name + "' cannot have " + std::to_string(value) +
              " bytes of dynamic shared memory beside " +
              std::to_string(staticShared) + " static ones; a block of sm_" +
              std::to_string(currentArch()) + " has at most " +
              std::to_string(most));
    f->maxDynamicShared = unsigned(value);
  }
  const ptx::Function *entry = f->module->linked->findFunction(f->name);
  switch (attribute) {
  case 10:
    f->mustGiveCluster = value;
    break;
  case 11:
  case 12:
  case 13:
    if (entry->requiredCluster[0])
      return problem(NotPermitted, "kernel '" + f->name +
                                       "' has its size of a cluster from "
                                       ".reqnctapercluster");
    f->cluster[attribute - 11] = unsigned(value);
    break;
  case 14:
    f->allowsLargeClusters = value;
    break;
  default:
    break;
  }
  return Success;
}
CU cuKernelGetAttribute(int *value, int attribute, void *kernel, int) {
  LOCKED;
  return cuFuncGetAttribute(value, attribute, kernel);
}
CU cuKernelSetAttribute(int attribute, int value, void *kernel, int) {
  LOCKED;
  return cuFuncSetAttribute(kernel, attribute, value);
}
CU cuFuncSetCacheConfig(void *, int) { return Success; }
CU cuFuncLoad(void *) { return Success; }

CU cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                  unsigned bx, unsigned by, unsigned bz, unsigned shared,
                  void *stream, void **params, void **extra) {
  LOCKED;
  if (!function)
    return InvalidHandle;
  LaunchRequest r{
      static_cast<Function *>(function), {gx, gy, gz}, {bx, by, bz}};
  r.shared = shared;
  if (int code = packParams(r.function, params, extra, r.params))
    return code;
  return launch(streamOf(stream), std::move(r));
}
CU cuLaunchKernelEx(const void *configuration, void *function, void **params,
                    void **extra) {
  LOCKED;
  const auto *c = static_cast<const LaunchConfig *>(configuration);
  LaunchRequest r{static_cast<Function *>(function),
                  {c->grid[0], c->grid[1], c->grid[2]},
                  {c->block[0], c->block[1], c->block[2]}};
  r.shared = c->shared;
  if (int code = applyAttributes(*c, r))
    return code;
  if (int code = packParams(r.function, params, extra, r.params))
    return code;
  return launch(streamOf(c->stream), std::move(r));
}
CU cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy,
                             unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared, void *stream, void **params) {
  LOCKED;
  LaunchRequest r{
      static_cast<Function *>(function), {gx, gy, gz}, {bx, by, bz}};
  r.shared = shared;
  r.cooperative = true;
  if (int code = packParams(r.function, params, nullptr, r.params))
    return code;
  return launch(streamOf(stream), std::move(r));
}
CU cuLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
  LOCKED;
  return enqueue(streamOf(stream), 3, [=] {
    function(data);
    return int(Success);
  });
}

/// From threads and shared memory; registers are not known from PTX.
CU cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *f,
                                                        int threads,
                                                        size_t dynamic,
                                                        unsigned) {
  LOCKED;
  if (threads <= 0)
    return InvalidValue;
  int staticShared = 0;
  if (int code = cuFuncGetAttribute(&staticShared, 1, f))
    return code;
  *blocks =
      int(tessera::sim::report::occupancy(currentArch(), unsigned(threads),
                                          uint32_t(staticShared + dynamic), 0)
              .blocks);
  return Success;
}
CU cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *f,
                                               int threads, size_t dynamic) {
  LOCKED;
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, f, threads, dynamic, 0);
}
/// The most clusters that the GPU holds at a time; a block of a cluster can be
/// on any multiprocessor.
CU cuOccupancyMaxActiveClusters(int *clusters, void *handle,
                                const void *configuration) {
  LOCKED;
  const auto *c = static_cast<const LaunchConfig *>(configuration);
  auto *f = static_cast<Function *>(handle);
  LaunchRequest r{f, {1, 1, 1}, {c->block[0], c->block[1], c->block[2]}};
  *clusters = 0;
  if (int code = applyAttributes(*c, r))
    return code;
  LaunchOptions o;
  o.arch = currentArch();
  std::copy_n(r.block, 3, o.block);
  std::copy_n(r.cluster, 3, o.cluster);
  try {
    fillCluster(f->module->linked->program(f->name), o);
    std::copy_n(o.cluster, 3, o.grid); // that of the launch may be anything
    checkCluster(*f, o);
  } catch (const ClusterError &e) {
    return problem(InvalidClusterSize, e.what());
  } catch (const std::exception &e) {
    return problem(InvalidValue, e.what());
  }
  int perSm = 0, sms = 0;
  if (int code = cuOccupancyMaxActiveBlocksPerMultiprocessor(
          &perSm, f, int(o.block[0] * o.block[1] * o.block[2]), c->shared))
    return code;
  if (int code = cuDeviceGetAttribute(&sms, 16, currentDevice()))
    return code;
  *clusters = perSm * sms / int(o.clusterBlocks());
  // There are fewer multiprocessors than a real GPU has, but one cluster runs.
  if (perSm && !*clusters)
    *clusters = 1;
  return Success;
}
CU cuOccupancyMaxPotentialClusterSize(int *size, void *handle,
                                      const void *configuration) {
  LOCKED;
  auto *f = static_cast<Function *>(handle);
  const ptx::Function *entry = f->module->linked->findFunction(f->name);
  const unsigned *own =
      entry->requiredCluster[0] ? entry->requiredCluster : f->cluster;
  unsigned most = machine(currentArch()).cluster;
  if (!f->allowsLargeClusters)
    most = std::min(most, portableCluster);
  *size = int(own[0] ? own[0] * own[1] * own[2] : std::max(1u, most));
  return Success;
}
CU cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *f,
                                    size_t (*dynamic)(int), size_t fixed,
                                    int limit) {
  LOCKED;
  int best = 0, bestThreads = 0, most = 0;
  cuFuncGetAttribute(&most, 0, f);
  if (limit > 0)
    most = std::min(most, limit);
  for (int threads = most / 32 * 32; threads > 0; threads -= 32) {
    int blocks = 0;
    cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, f, threads, dynamic ? dynamic(threads) : fixed);
    if (blocks * threads > best) {
      best = blocks * threads;
      bestThreads = threads;
    }
  }
  *block = bestThreads;
  *grid = bestThreads ? 4 * best / bestThreads : 0;
  return Success;
}
CU cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, void *f, int blocks,
                                           int) {
  LOCKED;
  int staticShared = 0;
  cuFuncGetAttribute(&staticShared, 1, f);
  size_t each = (machine(currentArch()).sharedPerBlock + 1024) /
                size_t(std::max(1, blocks));
  *bytes = each > size_t(staticShared) + 1024 ? each - staticShared - 1024 : 0;
  return Success;
}
