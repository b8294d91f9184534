// What the simulator knows about every PTX instruction, as data.
//
// Modifiers are a set and types are a sequence: producers order modifiers
// differently (`atom.add.acquire.cta.s32`, `atom.global.gpu.acq_rel.add.u32`),
// so a row is found by its base name and the modifiers it requires, and lists
// which further ones may appear. The support table of docs/simulator.md and
// the texts of decoding errors are made from these rows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/ptx/Module.h"
#include <span>

namespace tessera::sim::ptx {

enum class Status : uint8_t {
  Executed,
  Hint,    // checked and counted, otherwise without effect
  Refused, // known by name, refused when a kernel that holds it is launched
};

struct Spec {
  std::string_view base;
  std::string_view required; // modifiers, separated by blanks
  std::string_view allowed;
  std::string_view types; // types that may appear
  uint8_t minOperands, maxOperands;
  unsigned minArch;
  Status status;
  std::string_view family;
  std::string_view note; // reason of a refusal, or what is modelled
};

std::span<const Spec> allSpecs();

/// The row for an instruction. Throws Error for an unknown instruction, a
/// modifier or type the row does not list, or a wrong number of operands.
const Spec &findSpec(const Instruction &instruction);

/// The support table as Markdown.
std::string supportTable();

} // namespace tessera::sim::ptx
