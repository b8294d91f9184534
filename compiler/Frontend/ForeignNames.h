//===- ForeignNames.h - What other libraries' names are here ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A newcomer writes tl.dot, x.view, keepdim= or @tsr.jit. One table
// (ForeignNames.inc) knows these names; every place that looks a name up and
// does not find it asks here before it looks for a misspelling.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_FOREIGNNAMES_H
#define TESSERA_COMPILER_FRONTEND_FOREIGNNAMES_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::frontend {

enum class ForeignKind : uint8_t {
  Function,
  Method,
  Attribute,
  Keyword,
  Decorator
};

/// Where an entry holds: what a name is may differ between tiles and tensors.
enum class ForeignLevel : uint8_t { Any, Tiles, Tensors };

struct ForeignName {
  ForeignKind kind;
  ForeignLevel level;
  std::string_view name;
  /// Ours (the head of ForeignNames.inc says how); empty if there is none.
  std::string_view ours;
  /// A clause for the message; may be empty.
  std::string_view why;
};

/// The entry of a name, that of the level before one for any; or null.
const ForeignName *findForeign(ForeignKind kind, std::string_view name,
                               ForeignLevel level = ForeignLevel::Any);

/// The alternatives of an entry, best first.
std::vector<std::string_view> splitForeign(std::string_view ours);

/// An alternative with the user's own texts filled in; `object` is that of a
/// method, `value` that of a keyword. An argument that was not given becomes
/// "...", and `exact` is false then, and if one was given that has no place.
std::string fillForeign(std::string_view ours,
                        const std::vector<std::string> &arguments,
                        const std::string &object = {},
                        const std::string &value = {}, bool *exact = nullptr);

/// How Python would spell a name of C, the name itself first: "exp" of
/// "__expf", "atomic_add" of "atomicAdd".
std::vector<std::string> getSpellings(std::string_view name);

/// Whether torch, NumPy, JAX or Triton have a function of this name that is
/// spelled nearly as one of ours: it is then no misspelling of ours.
bool isForeignWord(std::string_view name);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_FOREIGNNAMES_H
