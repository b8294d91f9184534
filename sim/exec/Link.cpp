// Placing module variables and resolving names across modules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/Link.h"

#include "sim/exec/Decode.h"
#include <algorithm>
#include <cstring>

namespace tessera::sim {

LinkedModule::~LinkedModule() {
  for (auto &[variable, address] : addresses)
    memory->release(address);
}

std::unique_ptr<LinkedModule> LinkedModule::load(std::vector<std::string> texts,
                                                 Memory &memory) {
  auto linked = std::make_unique<LinkedModule>();
  linked->memory = &memory;
  for (std::string &text : texts)
    linked->modules.push_back(ptx::parse(std::move(text)));
  for (auto &module : linked->modules)
    for (ptx::Variable &v : module->variables) {
      if ((v.space != ptx::Space::Global && v.space != ptx::Space::Const) ||
          v.isExtern || linked->addresses.count(&v))
        continue;
      if (linked->define(&v) != &v)
        continue; // a weak copy
      uint64_t at = memory.allocate(v.bytes, Allocation::Module, v.name);
      if (!at)
        throw ptx::Error(v.line, 1, "no memory for variable '" + v.name + "'");
      linked->addresses[&v] = at;
      if (!v.init.empty())
        std::memcpy(reinterpret_cast<void *>(at), v.init.data(), v.init.size());
    }
  for (auto &module : linked->modules)
    for (ptx::Variable &v : module->variables) {
      auto place = linked->addresses.find(&v);
      if (place == linked->addresses.end())
        continue;
      for (const auto &r : v.relocations) {
        uint64_t value = 0;
        if (const ptx::Variable *target = linked->findVariable(r.symbol))
          value = linked->addressOf(target);
        else if (const ptx::Function *f = linked->findFunction(r.symbol))
          value = linked->addressOf(f);
        else
          throw ptx::Error(v.line, 1, "unknown symbol '" + r.symbol + "'");
        value += r.addend;
        if (r.mask != ~0ull && r.mask)
          value = (value & r.mask) >> __builtin_ctzll(r.mask);
        std::memcpy(reinterpret_cast<uint8_t *>(place->second) + r.at, &value,
                    std::min(r.width, 8u));
      }
    }
  return linked;
}

const ptx::Function *LinkedModule::findFunction(std::string_view name) const {
  const ptx::Function *found = nullptr;
  for (auto &module : modules) {
    std::string resolved(name);
    if (auto alias = module->aliases.find(resolved);
        alias != module->aliases.end())
      resolved = alias->second;
    auto it = module->functionByName.find(resolved);
    if (it != module->functionByName.end() && it->second->hasBody &&
        (!found || found->isWeak))
      found = it->second;
  }
  return found;
}

const ptx::Function *LinkedModule::define(const ptx::Function *f) const {
  for (auto &module : modules)
    if (auto alias = module->aliases.find(f->name);
        alias != module->aliases.end())
      return findFunction(f->name);
  return f->hasBody && !f->isWeak ? f : findFunction(f->name);
}

const ptx::Variable *LinkedModule::findVariable(std::string_view name) const {
  const ptx::Variable *found = nullptr;
  for (auto &module : modules) {
    auto it = module->variableByName.find(name);
    if (it != module->variableByName.end() &&
        (!found || found->isExtern ||
         (found->isWeak && !it->second->isWeak && !it->second->isExtern)))
      found = it->second;
  }
  return found;
}

const ptx::Variable *LinkedModule::define(const ptx::Variable *v) const {
  if (!v->isExtern && !v->isWeak)
    return v;
  const ptx::Variable *found = findVariable(v->name);
  return found ? found : v;
}

uint64_t LinkedModule::addressOf(const ptx::Variable *v) const {
  auto it = addresses.find(define(v));
  return it == addresses.end() ? 0 : it->second;
}

uint64_t LinkedModule::addressOf(const ptx::Function *f) {
  size_t at = std::find(functionTable.begin(), functionTable.end(), f) -
              functionTable.begin();
  if (at == functionTable.size())
    functionTable.push_back(f);
  return functionWindow + 16 * (at + 1);
}

const std::map<unsigned, std::string> &
LinkedModule::filesOf(const ptx::Function *f) const {
  for (auto &module : modules)
    for (const ptx::Function &candidate : module->functions)
      if (&candidate == f)
        return module->files;
  static const std::map<unsigned, std::string> none;
  return none;
}

Program &LinkedModule::program(const std::string &kernel, bool ring) {
  std::lock_guard lock(mutex);
  auto &slot = programs[{kernel, ring}];
  if (!slot)
    slot = decodeKernel(*this, kernel, ring);
  return *slot;
}

std::vector<std::string> LinkedModule::kernels() const {
  std::vector<std::string> names;
  for (auto &module : modules)
    for (const ptx::Function &f : module->functions)
      if (f.isEntry && f.hasBody)
        names.push_back(f.name);
  return names;
}

} // namespace tessera::sim
