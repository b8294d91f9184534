// Loaded modules: variables get addresses, names are found across modules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Code.h"
#include "sim/exec/Memory.h"
#include <mutex>
#include <unordered_map>

namespace tessera::sim {

/// One or more PTX modules that see each other's visible names.
struct LinkedModule {
  Memory *memory = nullptr;
  std::vector<std::unique_ptr<ptx::Module>> modules;
  std::unordered_map<const ptx::Variable *, uint64_t> addresses;
  std::map<std::pair<std::string, bool>, std::unique_ptr<Program>> programs;
  std::mutex mutex;

  ~LinkedModule();
  /// Parses the texts and places their variables; throws ptx::Error.
  static std::unique_ptr<LinkedModule> load(std::vector<std::string> texts,
                                            Memory &memory);
  /// The definition behind a declaration, or null.
  const ptx::Function *define(const ptx::Function *f) const;
  const ptx::Function *findFunction(std::string_view name) const;
  const ptx::Variable *findVariable(std::string_view name) const;
  const ptx::Variable *define(const ptx::Variable *v) const;
  uint64_t addressOf(const ptx::Variable *v) const;
  /// Functions whose address was taken; their place in the function window.
  std::vector<const ptx::Function *> functionTable;
  uint64_t addressOf(const ptx::Function *f);
  const std::map<unsigned, std::string> &filesOf(const ptx::Function *f) const;
  /// The decoded kernel; throws ptx::Error. Kept for the next launch.
  Program &program(const std::string &kernel, bool ring = false);
  std::vector<std::string> kernels() const;
};

} // namespace tessera::sim
