// Memory for temporaries: a pool of 64-byte aligned blocks, and scratch memory
// per thread.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_MEMORY_H
#define TESSERA_RUNTIME_MEMORY_H

#include <cstddef>

namespace tessera::runtime {

/// At least `bytes` bytes, 64-byte aligned; null if there is no memory.
void *poolAllocate(size_t bytes);
void poolDeallocate(void *memory);
/// The same bytes in a block of another size; null, and `memory` as it was, if
/// there is no memory.
void *poolReallocate(void *memory, size_t bytes);
/// What a request of `bytes` is rounded up to.
size_t poolCapacity(size_t bytes);

/// Memory private to this thread until the next call on this thread. Grows
/// only. Null if `bytes` is 0 or there is no memory.
void *threadScratch(size_t bytes);

/// Called around fork, so that the child doesn't inherit a locked pool.
void lockPoolForFork();
void unlockPoolAfterFork();

} // namespace tessera::runtime

#endif
