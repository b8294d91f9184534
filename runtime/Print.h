// Lines that kernels print, in an order that threads don't change.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_PRINT_H
#define TESSERA_RUNTIME_PRINT_H

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace tessera::runtime {

/// The lines of one launch. Programs run in any order; the lines come out in
/// the order of programs, those of one program as it printed them.
class PrintQueue {
public:
  void add(int64_t program, std::string line);
  /// Hands all lines to the process's sink. Not while programs run.
  void flush();

private:
  std::mutex mutex; // guards `lines`
  std::vector<std::pair<int64_t, std::string>> lines;
};

/// While it lives, lines of this thread go to the queue.
class PrintScope {
public:
  explicit PrintScope(PrintQueue &queue);
  ~PrintScope();
  PrintScope(const PrintScope &) = delete;
  PrintScope &operator=(const PrintScope &) = delete;

private:
  PrintQueue *outer;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PRINT_H
