// The allocation map of the simulated device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Memory.h"

#include "sim/check/Shadow.h"
#include <cinttypes>
#include <cstring>

namespace tessera::sim {

Memory::Memory() = default;
Memory::~Memory() = default;

uint64_t Memory::allocate(uint64_t size, Allocation::Kind kind,
                          std::string name) {
  auto a = std::make_unique<Allocation>();
  uint64_t padded = std::max<uint64_t>(size, 1);
  if (padded > (1ull << 40))
    return 0;
  a->data.reset(new (std::nothrow) uint8_t[padded + 512]());
  if (!a->data)
    return 0;
  a->base = (reinterpret_cast<uint64_t>(a->data.get()) + 255) & ~255ull;
  a->size = size;
  a->kind = kind;
  a->name = std::move(name);
  a->initialised = kind == Allocation::Host || kind == Allocation::Managed ||
                   kind == Allocation::Module;
  uint64_t base = a->base;
  std::lock_guard lock(mutex);
  inUse += size;
  live[base] = std::move(a);
  ++generation;
  return base;
}

bool Memory::release(uint64_t base) {
  std::lock_guard lock(mutex);
  auto it = live.find(base);
  if (it == live.end() || it->second->kind == Allocation::External)
    return false;
  std::unique_ptr<Allocation> a = std::move(it->second);
  live.erase(it);
  inUse -= a->size;
  a->freed = true;
  // Keep a bounded amount of freed memory, so that its address is not handed
  // out again at once and a use after free can be named.
  freedBytes += a->size;
  freedOrder.push_back(base);
  freed[base] = std::move(a);
  while (freedBytes > (64u << 20) && !freedOrder.empty()) {
    auto oldest = freed.find(freedOrder.front());
    freedOrder.erase(freedOrder.begin());
    if (oldest == freed.end())
      continue;
    freedBytes -= oldest->second->size;
    freed.erase(oldest);
  }
  ++generation;
  return true;
}

void Memory::expose(uint64_t base, uint64_t size, std::string name) {
  std::lock_guard lock(mutex);
  auto &slot = live[base];
  if (slot && slot->kind != Allocation::External)
    return;
  if (slot && slot->size == size) {
    slot->name = std::move(name);
    return;
  }
  slot = std::make_unique<Allocation>();
  slot->base = base;
  slot->size = size;
  slot->kind = Allocation::External;
  slot->name = std::move(name);
  slot->initialised = true;
  ++generation;
}

void Memory::unexpose(uint64_t base) {
  std::lock_guard lock(mutex);
  auto it = live.find(base);
  if (it == live.end() || it->second->kind != Allocation::External)
    return;
  live.erase(it);
  ++generation;
}

Allocation *Memory::find(uint64_t address) {
  Allocation *own = findOwn(address);
  return own || !parent ? own : parent->find(address);
}

Allocation *Memory::findOwn(uint64_t address) {
  std::lock_guard lock(mutex);
  for (auto *map : {&live, &freed}) {
    auto it = map->upper_bound(address);
    // Exposed buffers may overlap (views of one storage): look a few back.
    for (int i = 0; i < 4 && it != map->begin(); ++i) {
      --it;
      if (address - it->first < it->second->size)
        return it->second.get();
    }
  }
  return nullptr;
}

std::string Memory::describe(uint64_t address) {
  char text[256];
  std::lock_guard lock(mutex);
  auto it = live.upper_bound(address);
  if (it != live.begin()) {
    Allocation &a = *std::prev(it)->second;
    uint64_t past = address - a.base;
    if (past < a.size + (1u << 20)) {
      std::snprintf(
          text, sizeof text, "%s%" PRIu64 " bytes %s '%s' of %" PRIu64 " bytes",
          past < a.size ? "" : "", past < a.size ? past : past - a.size,
          past < a.size ? "into" : "past the end of", a.name.c_str(), a.size);
      return text;
    }
  }
  if (it != live.end() && it->first - address < (1u << 20)) {
    Allocation &a = *it->second;
    std::snprintf(text, sizeof text,
                  "%" PRIu64 " bytes before '%s' of %" PRIu64 " bytes",
                  a.base - address, a.name.c_str(), a.size);
    return text;
  }
  return parent ? parent->describe(address) : "near no allocation";
}

void Memory::markInitialised(uint64_t base, uint64_t size) {
  Allocation *a = find(base);
  if (!a || a->initialised)
    return;
  if (base == a->base && size >= a->size) {
    a->initialised = true;
    a->shadow.reset();
    return;
  }
  if (!a->shadow)
    a->shadow = std::make_shared<check::GlobalShadow>(a->size);
  a->shadow->markInitialised(base - a->base, size);
}

void Memory::copyInitialised(uint64_t to, uint64_t from, uint64_t size) {
  Allocation *source = find(from), *target = find(to);
  if (!target || (target->initialised && target->kind != Allocation::Device))
    return; // the host may write there, unseen
  if (!source || source->initialised)
    return markInitialised(to, size);
  std::vector<uint8_t> written(size, 0);
  if (source->shadow)
    std::copy_n(source->shadow->written.begin() + (from - source->base), size,
                written.begin());
  if (!target->shadow) {
    target->shadow = std::make_shared<check::GlobalShadow>(target->size);
    if (target->initialised)
      target->shadow->markInitialised(0, target->size);
    target->initialised = false;
  }
  std::copy(written.begin(), written.end(),
            target->shadow->written.begin() + (to - target->base));
}

void Memory::markAllInitialised() {
  {
    std::lock_guard lock(mutex);
    for (auto &[base, a] : live) {
      a->initialised = true;
      a->shadow.reset();
    }
  }
  if (parent)
    parent->markAllInitialised();
}

bool Memory::setWritten(uint64_t base, const uint8_t *written, uint64_t size) {
  Allocation *a = findOwn(base);
  if (!a || a->base != base || a->size != size)
    return false;
  a->initialised = false;
  a->shadow = std::make_shared<check::GlobalShadow>(size);
  std::copy_n(written, size, a->shadow->written.begin());
  return true;
}

bool Memory::getWritten(uint64_t base, uint8_t *written, uint64_t size) {
  Allocation *a = findOwn(base);
  if (!a || a->base != base || a->size != size)
    return false;
  if (a->initialised || !a->shadow)
    std::fill_n(written, size, a->initialised);
  else
    std::copy(a->shadow->written.begin(), a->shadow->written.end(), written);
  return true;
}

} // namespace tessera::sim
