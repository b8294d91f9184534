// Reading the fat binaries that nvcc embeds in programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::sim {

struct FatEntry {
  bool isPtx = false; // otherwise a cubin
  unsigned arch = 0;
  char suffix = 0;  // 'a', 'f' or 0
  std::string text; // PTX only
};

/// Bytes of the container that starts at `data`, 0 if it is none.
uint64_t fatContainerBytes(const void *data, uint64_t available);
/// The entries of a container; throws std::runtime_error for damaged data.
std::vector<FatEntry> readFatContainer(const void *data, uint64_t available);
/// The PTX for a device: the highest architecture that is not newer; `a` only
/// on the same one, `f` on the same family. Throws with advice if there is
/// none.
const FatEntry &choosePtx(const std::vector<FatEntry> &entries, unsigned arch);

} // namespace tessera::sim
