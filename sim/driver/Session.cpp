// Sessions: options, reports and exposed host memory of one thread's launches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/driver/State.h"
#include "sim/driver/tessera_sim_driver.h"
#include "sim/exec/Limits.h"
#include "sim/report/Json.h"
#include <cstdlib>
#include <cstring>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace tessera::sim::driver {

std::unique_ptr<Session> &session() {
  thread_local std::unique_ptr<Session> current;
  return current;
}

int pendingError() {
  if (Session *s = session().get())
    return s->fault;
  return state().stickyError;
}

void Session::apply(LaunchOptions &o) const {
  o.check = options.check;
  o.count = options.count;
  o.adversarial = options.adversarial;
  o.threads = options.threads;
  o.tensorMode = options.ieee ? TensorMode::Ieee : TensorMode::Hardware;
  o.ring = options.ring;
  o.seed = options.seed;
  o.electBySeed = options.electBySeed;
  o.maxInstructions = options.maxInstructions;
  o.maxSeconds = options.maxSeconds;
}

} // namespace tessera::sim::driver

int tessera_sim_device_of(unsigned arch) {
  State &s = state();
  std::lock_guard lock(s.mutex);
  unsigned count = s.deviceCount;
  for (unsigned k = 0; k < count; ++k)
    if (s.archs[k] == arch)
      return int(k);
  if (!findMachine(arch))
    return problem(-1, "no architecture is called 'sm_" + std::to_string(arch) +
                           "'; the simulator has " + archNames());
  if (count == maxDevices)
    return problem(-1, "there are " + std::to_string(maxDevices) +
                           " simulated GPUs, and that is all there can be");
  s.archs[count] = arch;
  s.deviceCount = count + 1;
  return int(count);
}

int tessera_sim_session_begin(const tessera_sim_session_options *given) {
  if (session())
    return 1;
  tessera_sim_session_options o{};
  std::memcpy(&o, given, std::min(given->struct_size, sizeof o));
  auto made = std::make_unique<Session>();
  made->options = {o.check != 0,
                   o.count != 0,
                   o.adversarial != 0,
                   o.ieee != 0,
                   o.ring != 0,
                   o.threads,
                   o.seed,
                   o.max_instructions,
                   o.max_seconds,
                   o.elect_by_seed != 0};
  made->device.memory.parent = &state().device.memory;
  session() = std::move(made);
  return 0;
}

char *tessera_sim_session_end(void) {
  std::unique_ptr<Session> ended = std::move(session());
  if (!ended)
    return nullptr;
  std::string text = "[";
  for (const std::string &report : ended->reports)
    text += (text.size() > 1 ? ",\n" : "") + report;
  text += "]";
  return strdup(text.c_str());
}

void tessera_sim_session_release_text(char *text) { std::free(text); }

int tessera_sim_expose_here(uint64_t address, uint64_t size, const char *name) {
  Session *s = session().get();
  if (!s)
    return 0;
  Memory &memory = s->device.memory;
  // Of two views that begin at one address, the larger is what may be touched.
  Allocation *known = memory.findOwn(address);
  if (!known || known->base != address || known->size < size)
    memory.expose(address, size, name);
  s->exposed.push_back(address);
  return 0;
}

void tessera_sim_conceal(void) {
  Session *s = session().get();
  if (!s)
    return;
  for (uint64_t address : s->exposed)
    s->device.memory.unexpose(address);
  s->exposed.clear();
}

const char *tessera_sim_message(void) {
  thread_local std::string taken;
  taken = std::move(lastMessage());
  lastMessage().clear();
  return taken.c_str();
}
