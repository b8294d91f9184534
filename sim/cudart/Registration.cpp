// The entry points that nvcc's generated host code calls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/cudart/Runtime.h"
#include "sim/driver/FatBinary.h"
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace {

using namespace tessera::sim;

struct Binary {
  const uint8_t *wrapper = nullptr;
  void *module = nullptr;
  int error = 0;
  bool loaded = false;
};
struct Kernel {
  Binary *binary;
  std::string name;
  void *function = nullptr;
};
struct Variable {
  Binary *binary;
  std::string name;
  size_t size;
  void **managed = nullptr; // host pointer to fill in
};

struct Registry {
  std::recursive_mutex mutex;
  std::map<const void *, Kernel> kernels;
  std::map<const void *, Variable> variables;
  std::vector<Binary *> binaries;
};
Registry &registry() {
  static auto *r = new Registry();
  return *r;
}

unsigned deviceArch() {
  int major = 0, minor = 0;
  cuDeviceGetAttribute(&major, 75, 0);
  cuDeviceGetAttribute(&minor, 76, 0);
  return unsigned(major * 10 + minor);
}

void load(Binary &b) {
  if (b.loaded)
    return;
  b.loaded = true;
  uint32_t version;
  std::memcpy(&version, b.wrapper + 4, 4);
  const void *data;
  std::memcpy(&data, b.wrapper + 8, sizeof data);
  if (version != 2) {
    b.error = cuModuleLoadData(&b.module, data);
    return;
  }
  // -rdc: the PTX is in the containers from before the device link.
  const void *const *list;
  std::memcpy(&list, b.wrapper + 16, sizeof list);
  std::vector<std::string> texts;
  try {
    for (; list && *list; ++list) {
      const void *container = *list;
      uint32_t magic;
      std::memcpy(&magic, container, 4);
      if (magic == 0x466243B1)
        std::memcpy(&container, static_cast<const uint8_t *>(container) + 8,
                    sizeof container);
      auto entries = readFatContainer(container, 1ull << 40);
      if (!entries.empty())
        texts.push_back(choosePtx(entries, deviceArch()).text);
    }
  } catch (const std::exception &e) {
    std::fprintf(stderr, "tessera-sim: %s\n", e.what());
    b.error = 209;
    return;
  }
  std::vector<const char *> pointers;
  for (const std::string &t : texts)
    pointers.push_back(t.c_str());
  b.error = tessera_sim_load_texts(pointers.data(), pointers.size(), &b.module);
}

struct Configuration {
  dim3 grid, block;
  size_t shared;
  void *stream;
};
thread_local std::vector<Configuration> configurations;

} // namespace

namespace tessera::sim::cudart {

void *kernelOf(const void *host, int *error) {
  Registry &r = registry();
  std::lock_guard lock(r.mutex);
  auto it = r.kernels.find(host);
  if (it == r.kernels.end()) {
    *error = 98; // cudaErrorInvalidDeviceFunction
    return nullptr;
  }
  Kernel &k = it->second;
  if (!k.function) {
    load(*k.binary);
    *error = k.binary->error;
    if (!*error)
      *error =
          cuModuleGetFunction(&k.function, k.binary->module, k.name.c_str());
    if (*error == 500)
      *error = 98;
  }
  return k.function;
}

int symbolOf(const void *host, DevicePtr *address, size_t *size) {
  Registry &r = registry();
  std::lock_guard lock(r.mutex);
  auto it = r.variables.find(host);
  if (it == r.variables.end())
    return 13; // cudaErrorInvalidSymbol
  Variable &v = it->second;
  load(*v.binary);
  if (v.binary->error)
    return v.binary->error;
  int code =
      cuModuleGetGlobal_v2(address, size, v.binary->module, v.name.c_str());
  return code ? 13 : 0;
}

} // namespace tessera::sim::cudart

using namespace tessera::sim::cudart;

RT void **__cudaRegisterFatBinary(void *wrapper) {
  Registry &r = registry();
  std::lock_guard lock(r.mutex);
  auto *b = new Binary();
  b->wrapper = static_cast<const uint8_t *>(wrapper);
  r.binaries.push_back(b);
  return reinterpret_cast<void **>(b);
}
RT void __cudaRegisterFatBinaryEnd(void **) {}
RT void __cudaUnregisterFatBinary(void **) {}
RT void __cudaRegisterFunction(void **handle, const char *host, char *,
                               const char *name, int, void *, void *, void *,
                               void *, int *) {
  Registry &r = registry();
  std::lock_guard lock(r.mutex);
  r.kernels[host] = {reinterpret_cast<Binary *>(handle), name, nullptr};
}
RT void __cudaRegisterVar(void **handle, char *host, char *, const char *name,
                          int, size_t size, int, int) {
  Registry &r = registry();
  std::lock_guard lock(r.mutex);
  r.variables[host] = {reinterpret_cast<Binary *>(handle), name, size, nullptr};
}
RT void __cudaRegisterManagedVar(void **handle, void **host, char *,
                                 const char *name, int, size_t size, int, int) {
  Registry &r = registry();
  std::lock_guard lock(r.mutex);
  r.variables[host] = {reinterpret_cast<Binary *>(handle), name, size, host};
}
RT char __cudaInitModule(void **handle) {
  // Managed variables: the host reads them through a pointer.
  Registry &r = registry();
  std::lock_guard lock(r.mutex);
  auto *binary = reinterpret_cast<Binary *>(handle);
  for (auto &[host, v] : r.variables) {
    if (v.binary != binary || !v.managed)
      continue;
    DevicePtr address = 0;
    size_t size = 0;
    if (!symbolOf(host, &address, &size))
      *v.managed = reinterpret_cast<void *>(address);
  }
  return 1;
}
RT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                        void *stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
RT int __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
                                  void **stream) {
  if (configurations.empty())
    return 1;
  Configuration c = configurations.back();
  configurations.pop_back();
  *grid = c.grid;
  *block = c.block;
  *shared = c.shared;
  *stream = c.stream;
  return 0;
}
RT int __cudaGetKernel(void **kernel, const void *host) {
  int error = 0;
  *kernel = kernelOf(host, &error);
  return record(error);
}
RT int __cudaLaunchKernel(void *kernel, dim3 g, dim3 b, void **arguments,
                          size_t shared, void *stream) {
  return launch(kernel, g, b, arguments, shared, stream);
}
RT int __cudaLaunchKernel_ptsz(void *kernel, dim3 g, dim3 b, void **arguments,
                               size_t shared, void *stream) {
  return __cudaLaunchKernel(kernel, g, b, arguments, shared, stream);
}
