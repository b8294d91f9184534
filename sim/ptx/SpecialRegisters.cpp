// Lookup of special registers by name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/ptx/SpecialRegisters.h"

#include <unordered_map>

namespace tessera::sim::ptx {

namespace {
struct Info {
  std::string_view text;
  Type type;
};
constexpr Info infos[] = {
#define X(name, text, type) {text, Type::type},
    TESSERA_SIM_SPECIALS(X)
#undef X
};
} // namespace

std::optional<unsigned> findSpecialRegister(std::string_view name) {
  static const auto table = [] {
    std::unordered_map<std::string_view, unsigned> map;
    for (unsigned i = 0; i < std::size(infos); ++i)
      map.emplace(infos[i].text, i);
    return map;
  }();
  auto it = table.find(name);
  if (it == table.end())
    return std::nullopt;
  return it->second;
}
std::string_view specialName(unsigned special) { return infos[special].text; }
Type specialType(unsigned special) { return infos[special].type; }

} // namespace tessera::sim::ptx
