// Our own threads, for processes without OpenMP and for forked children.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/ThreadPool.h"

#include <pthread.h>
#include <signal.h>

namespace tessera::runtime {

// About 10 us: a waiting thread catches the next launch of the same plan
// without going to sleep, and doesn't burn a core for longer.
static constexpr int spinIterations = 300;

static void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void *ThreadPool::threadMain(void *self) {
  static_cast<ThreadPool *>(self)->work();
  return nullptr;
}

void ThreadPool::work() {
  uint64_t lastTeam = 0;
  for (;;) {
    for (int i = 0; i < spinIterations; ++i) {
      if (team.load(std::memory_order_relaxed) != lastTeam)
        break;
      pause();
    }
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return team.load() != lastTeam; });
    lastTeam = team.load();
    if (freeSeats == 0)
      continue; // too late or not needed
    --freeSeats;
    ++active;
    Function currentFunction = function;
    void *currentData = data;
    lock.unlock();
    currentFunction(currentData);
    lock.lock();
    if (--active == 0)
      done.notify_one();
  }
}

/// Precondition: `mutex` is held.
void ThreadPool::startThreads(int32_t count) {
  if (numThreads >= count)
    return;
  // Signals are the application's business: its threads should get them.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  while (numThreads < count) {
    pthread_t thread;
    // Without std::thread, which can report failure only by throwing.
    if (pthread_create(&thread, &attributes, threadMain, this) != 0)
      break;
    ++numThreads;
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

bool ThreadPool::runTeam(Function teamFunction, void *teamData,
                         int32_t threads) {
  std::unique_lock teamLock(teamMutex, std::try_to_lock);
  if (!teamLock.owns_lock())
    return false;
  {
    std::lock_guard lock(mutex);
    startThreads(threads - 1);
    function = teamFunction;
    data = teamData;
    freeSeats = threads - 1;
    team.fetch_add(1);
  }
  if (threads == 2)
    wake.notify_one();
  else
    wake.notify_all();
  teamFunction(teamData);
  std::unique_lock lock(mutex);
  freeSeats = 0; // who comes now finds no work anyway
  done.wait(lock, [&] { return active == 0; });
  return true;
}

} // namespace tessera::runtime
