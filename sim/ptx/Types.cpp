// Names and widths of PTX types, from the one table in Types.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/ptx/Types.h"

#include <unordered_map>

namespace tessera::sim::ptx {

namespace {
struct Info {
  std::string_view text;
  unsigned bits;
  char cls;
};
constexpr Info infos[] = {
#define X(name, text, bits, cls) {text, bits, cls},
    TESSERA_SIM_TYPES(X)
#undef X
};
} // namespace

std::string_view typeName(Type type) { return infos[int(type)].text; }
unsigned typeBits(Type type) { return infos[int(type)].bits; }
char typeClass(Type type) { return infos[int(type)].cls; }

std::optional<Type> parseType(std::string_view text) {
  static const auto table = [] {
    std::unordered_map<std::string_view, Type> map;
    for (unsigned i = 1; i < std::size(infos); ++i)
      map.emplace(infos[i].text, Type(i));
    return map;
  }();
  auto it = table.find(text);
  if (it == table.end())
    return std::nullopt;
  return it->second;
}

std::string_view spaceName(Space space) {
  switch (space) {
  case Space::Generic:
    return "generic";
  case Space::Reg:
    return "reg";
  case Space::Global:
    return "global";
  case Space::Shared:
    return "shared";
  case Space::SharedCluster:
    return "shared::cluster";
  case Space::Local:
    return "local";
  case Space::Const:
    return "const";
  case Space::Param:
    return "param";
  case Space::Tensor:
    return "tensor";
  }
  return "?";
}

} // namespace tessera::sim::ptx
