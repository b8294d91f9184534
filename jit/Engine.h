//===- Engine.h - Object code into this process -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_JIT_ENGINE_H
#define TESSERA_JIT_ENGINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::jit {

/// Names and addresses.
using Symbols = std::vector<std::pair<std::string, uint64_t>>;

/// Object code that was linked into this process. Its symbols live as long as
/// it does.
class LoadedObject {
public:
  /// `object` is a relocatable object file for this machine.
  /// `symbols`: functions it may call besides those of the process.
  static llvm::Expected<std::unique_ptr<LoadedObject>>
  load(llvm::ArrayRef<char> object, const Symbols &symbols);

  ~LoadedObject();

  /// The address of a symbol.
  llvm::Expected<void *> lookup(llvm::StringRef name);

private:
  struct Impl;
  explicit LoadedObject(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace tessera::jit

#endif // TESSERA_JIT_ENGINE_H
