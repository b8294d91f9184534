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

struct ForeignName {
  ForeignKind kind;
  std::string_view name;
  /// Ours, with $0 $1 $* $x $v; empty if there is none.
  std::string_view ours;
  /// A clause for the message; may be empty.
  std::string_view why;
};

/// The entry of a name, or null.
const ForeignName *findForeign(ForeignKind kind, std::string_view name);

/// `ours` with the user's own texts filled in; `object` is that of a method,
/// `value` that of a keyword. An argument that was not given becomes "...".
std::string fillForeign(std::string_view ours,
                        const std::vector<std::string> &arguments,
                        const std::string &object = {},
                        const std::string &value = {});

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_FOREIGNNAMES_H
