// Distribution of index ranges over threads; see docs/abi.md section 4.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_PARALLEL_H
#define TESSERA_RUNTIME_PARALLEL_H

#include "tessera-c/runtime.h"

namespace tessera::runtime {

/// How many threads a grid of n programs may use: 1 means the caller runs it
/// all. `limit` is an upper bound; `workNs` the guessed time on one core, or
/// negative if unknown.
int32_t threadsFor(int64_t n, int32_t limit, int64_t workNs);

/// Precondition: n > 0, threads > 1.
void parallelFor(int64_t n, int32_t threads, tsr_range_fn body, void *data);

} // namespace tessera::runtime

#endif
