// Values of tensor memory that nobody has written, on their way through
// registers and shared memory.
//
// Compilers load an accumulator before they know that a loop has no turn, and
// throw the value away (Triton's pipelined loops). So a tcgen05.ld of unwritten
// columns is no error: its registers hold unknown values. What is computed of
// them is unknown too, selp takes only the value that it selects, and shared
// memory keeps what is stored. Reported is what lets them out: stores to
// global memory, atomics, addresses, branches, and copies and products that
// read them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Code.h"
#include <unordered_map>

namespace tessera::sim {
struct Warp;

namespace check {

class UnwrittenValues {
public:
  struct Value {
    uint32_t lanes = 0;
    const Inst *load = nullptr; // the tcgen05.ld, or a load of shared memory
    uint32_t column = 0;
  };

  /// Lanes of these registers of the running frame hold unknown values now.
  void loaded(const Code &code, const std::vector<unsigned> &registers,
              Value value);
  /// The same for all that a load writes.
  void loaded(Warp &w, const Inst &i, uint32_t lanes);
  /// An instruction is about to run. Returns the lanes in which it stores an
  /// unknown value to shared or to tensor memory.
  uint32_t step(Warp &w, const Inst &i, const Code &code, uint32_t active);

private:
  void tell(Warp &w, const Inst &i, const Code &code, unsigned number,
            const Value &value, const char *verb);

  /// By function and register.
  struct Key {
    const Code *code;
    unsigned number;
    bool operator==(const Key &) const = default;
  };
  struct Hash {
    size_t operator()(const Key &k) const {
      return std::hash<const void *>()(k.code) * 31 + k.number;
    }
  };
  std::unordered_map<Key, Value, Hash> values;
};

} // namespace check
} // namespace tessera::sim
