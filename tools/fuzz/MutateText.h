//===- MutateText.h - Damages the text of a stage ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_TOOLS_FUZZ_MUTATETEXT_H
#define TESSERA_TOOLS_FUZZ_MUTATETEXT_H

#include <cstdint>
#include <string>

namespace tessera::fuzz {

/// `text` with one to three changes chosen by `seed`: numbers become zero,
/// negative or huge, a token becomes another of its kind, types change, tokens,
/// attributes and lines are dropped, doubled or swapped. Also inside strings,
/// where plans and layouts stand.
std::string mutateText(const std::string &text, uint64_t seed);

} // namespace tessera::fuzz

#endif // TESSERA_TOOLS_FUZZ_MUTATETEXT_H
