// An object file of ours in memory, ready to run: what a cached kernel needs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No linker: a kernel is one object file of our own code generator, with code,
// constants and a handful of calls out. It is put in place here without LLVM,
// which alone takes longer to load than a cached call may. Whatever else an
// object file may contain is refused by name, and LLVM's linker (jit/) takes
// over. The reader trusts no number of the file.
#ifndef TESSERA_RUNTIME_OBJECTCODE_H
#define TESSERA_RUNTIME_OBJECTCODE_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tessera::runtime {

class ObjectCode {
public:
  /// The address of a function that code calls, or null.
  using Resolver = void *(*)(const char *name);

  ObjectCode() = default;
  ~ObjectCode();
  ObjectCode(const ObjectCode &) = delete;
  ObjectCode &operator=(const ObjectCode &) = delete;

  /// Empty if the object (ELF, relocatable, x86-64) is in memory now, else why
  /// not. Once per instance.
  std::string load(std::string_view object, Resolver resolve);

  /// The address of a global symbol of the object, or null.
  void *find(std::string_view name) const;

private:
  uint8_t *base = nullptr;
  size_t size = 0;
  std::map<std::string, void *, std::less<>> symbols;
};

} // namespace tessera::runtime

#endif
