// Our own threads, for processes without OpenMP and for forked children.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_THREADPOOL_H
#define TESSERA_RUNTIME_THREADPOOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace tessera::runtime {

/// Runs one team at a time. Threads start when first needed and stay; a pool is
/// never destroyed, so no thread is joined while the process ends.
class ThreadPool {
public:
  using Function = void (*)(void *data);

  /// Calls `function(data)` on this thread and on up to `threads - 1` others;
  /// returns when all calls have returned. Fewer threads may take part: the
  /// function must do all the work if it is called only once. Returns false
  /// without calling it if the pool is busy.
  bool runTeam(Function function, void *data, int32_t threads);

private:
  static void *threadMain(void *self);
  void work();
  void startThreads(int32_t count);

  std::mutex teamMutex; // held by the caller of a team
  std::mutex mutex;     // guards what follows
  std::condition_variable wake, done;
  Function function = nullptr;
  void *data = nullptr;
  int32_t numThreads = 0;
  int32_t freeSeats = 0; // of the current team
  int32_t active = 0;
  std::atomic<uint64_t> team{0};
};

} // namespace tessera::runtime

#endif
