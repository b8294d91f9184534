// The C interface.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/api/Device.h"
#include "sim/api/tessera_sim.h"
#include "sim/exec/Limits.h"
#include "sim/exec/TensorMap.h"
#include "sim/report/Json.h"
#include <cstring>

using namespace tessera::sim;

struct tessera_sim_device : Device {};
struct tessera_sim_module {
  tessera_sim_device *device;
  std::unique_ptr<LinkedModule> linked;
};

namespace {
char *copyText(const std::string &text) {
  char *copy = static_cast<char *>(std::malloc(text.size() + 1));
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}
} // namespace

tessera_sim_device *tessera_sim_create(void) {
  return new tessera_sim_device();
}
void tessera_sim_destroy(tessera_sim_device *device) { delete device; }
tessera_sim_device *tessera_sim_shared_device(void) {
  static auto *device = new tessera_sim_device();
  return device;
}

uint64_t tessera_sim_allocate(tessera_sim_device *device, uint64_t size,
                              const char *name) {
  return device->memory.allocate(size, Allocation::Device,
                                 name ? name : "buffer");
}
int tessera_sim_free(tessera_sim_device *device, uint64_t address) {
  return device->memory.release(address);
}
void tessera_sim_expose(tessera_sim_device *device, uint64_t address,
                        uint64_t size, const char *name) {
  device->memory.expose(address, size, name ? name : "host memory");
}
void tessera_sim_unexpose(tessera_sim_device *device, uint64_t address) {
  device->memory.unexpose(address);
}
int tessera_sim_set_written(tessera_sim_device *device, uint64_t address,
                            const uint8_t *written, uint64_t size) {
  return device->memory.setWritten(address, written, size);
}
int tessera_sim_get_written(tessera_sim_device *device, uint64_t address,
                            uint8_t *written, uint64_t size) {
  return device->memory.getWritten(address, written, size);
}
void tessera_sim_set_resolver(tessera_sim_device *device,
                              int (*resolver)(uint64_t)) {
  if (resolver)
    device->memory.resolver = [resolver](uint64_t a) {
      return resolver(a) != 0;
    };
  else
    device->memory.resolver = nullptr;
}
void tessera_sim_set_print(tessera_sim_device *device,
                           void (*print)(const char *)) {
  if (print)
    device->print = [print](const std::string &text) { print(text.c_str()); };
  else
    device->print = nullptr;
}

tessera_sim_module *tessera_sim_load(tessera_sim_device *device,
                                     const char *const *texts, size_t count,
                                     char *error, size_t errorSize) {
  try {
    std::vector<std::string> copies(texts, texts + count);
    auto linked = LinkedModule::load(std::move(copies), device->memory);
    return new tessera_sim_module{device, std::move(linked)};
  } catch (const std::exception &e) {
    if (errorSize)
      std::snprintf(error, errorSize, "%s", e.what());
    return nullptr;
  }
}
void tessera_sim_unload(tessera_sim_module *module) {
  if (module)
    module->device->lastGrid.reset();
  delete module;
}

char *tessera_sim_kernels(tessera_sim_module *module) {
  std::string names;
  for (const std::string &n : module->linked->kernels())
    names += n + "\n";
  return copyText(names);
}

int tessera_sim_parameters(tessera_sim_module *module, const char *kernel,
                           uint32_t *offsets, uint32_t *sizes, int capacity) {
  const ptx::Function *f = module->linked->findFunction(kernel);
  if (!f || !f->isEntry)
    return -1;
  uint32_t offset = 0;
  int n = 0;
  for (const ptx::Variable *p : f->params) {
    offset = (offset + p->align - 1) / p->align * p->align;
    if (n < capacity) {
      offsets[n] = offset;
      sizes[n] = p->bytes;
    }
    offset += p->bytes;
    ++n;
  }
  return n;
}

uint64_t tessera_sim_variable(tessera_sim_module *module, const char *name,
                              uint64_t *size) {
  const ptx::Variable *v = module->linked->findVariable(name);
  if (!v)
    return 0;
  *size = v->bytes;
  return module->linked->addressOf(v);
}

char *tessera_sim_launch(tessera_sim_module *module, const char *kernel,
                         const tessera_sim_launch_options *o,
                         const void *params, size_t paramsSize) {
  LaunchResult result;
  const Program *program = nullptr;
  std::string error;
  try {
    LaunchOptions options;
    for (int d = 0; d < 3; ++d) {
      options.grid[d] = o->grid[d];
      options.block[d] = o->block[d];
      options.cluster[d] = o->cluster[d];
    }
    options.dynamicShared = o->dynamic_shared;
    options.arch = o->arch;
    options.check = o->check;
    options.count = o->count;
    options.adversarial = o->adversarial;
    options.cooperative = o->cooperative;
    options.threads = o->threads;
    options.seed = o->seed;
    options.maxInstructions = o->max_instructions;
    options.maxSeconds = o->max_seconds;
    options.registers = o->registers;
    options.ring = o->ring;
    options.electBySeed = o->elect_by_seed;
    options.programmatic = o->programmatic;
    options.tensorMode = o->ieee ? TensorMode::Ieee : TensorMode::Hardware;
    result = launchKernel(*module->device, *module->linked, kernel, options,
                          params, paramsSize);
    program = &module->linked->program(kernel, options.ring);
  } catch (const std::exception &e) {
    error = e.what();
  }
  return copyText(report::toJson(result, program, error));
}
void tessera_sim_release_text(char *text) { std::free(text); }
char *tessera_sim_encode_tiled(void *out, unsigned type, unsigned rank,
                               uint64_t base, const uint64_t *dims,
                               const uint64_t *strides, const uint32_t *box,
                               const uint32_t *steps, unsigned interleave,
                               unsigned swizzle, unsigned fill) {
  TensorMap map;
  std::string why = encodeTiled({type, rank, base, dims, strides, box, steps,
                                 interleave, swizzle, 0, fill},
                                map);
  if (!why.empty())
    return copyText(why);
  std::memcpy(out, &map, sizeof map);
  return nullptr;
}
char *tessera_sim_encode_im2col(void *out, unsigned type, unsigned rank,
                                uint64_t base, const uint64_t *dims,
                                const uint64_t *strides, const int *lower,
                                const int *upper, uint32_t channels,
                                uint32_t pixels, const uint32_t *steps,
                                unsigned swizzle, unsigned fill) {
  TensorMap map;
  std::string why = encodeIm2col(
      {type, rank, base, dims, strides, nullptr, steps, 0, swizzle, 0, fill},
      {lower, upper, channels, pixels}, map);
  if (!why.empty())
    return copyText(why);
  std::memcpy(out, &map, sizeof map);
  return nullptr;
}
char *tessera_sim_architectures(void) { return copyText(machinesJson()); }
char *tessera_sim_support_table(void) { return copyText(ptx::supportTable()); }
