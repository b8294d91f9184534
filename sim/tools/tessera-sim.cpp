// The command line of the simulator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/ptx/Spec.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace tessera::sim;

namespace {

std::string readFile(const char *path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw std::runtime_error(std::string(path) + ": cannot be read");
  std::stringstream buffer;
  buffer << in.rdbuf();
  return buffer.str();
}

/// Parses each file and looks every instruction up in the table.
int check(int count, char **paths) {
  int failures = 0;
  size_t instructions = 0;
  for (int i = 0; i < count; ++i) {
    try {
      auto module = ptx::parse(readFile(paths[i]));
      for (const ptx::Function &f : module->functions)
        for (const ptx::Instruction &inst : f.body) {
          ++instructions;
          ptx::findSpec(inst);
        }
    } catch (const std::exception &e) {
      ++failures;
      std::printf("%s:%s\n", paths[i], e.what());
    }
  }
  std::printf("%d files, %zu instructions, %d failures\n", count, instructions,
              failures);
  return failures != 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc >= 2 && !std::strcmp(argv[1], "check"))
    return check(argc - 2, argv + 2);
  if (argc == 2 && !std::strcmp(argv[1], "table")) {
    std::fputs(ptx::supportTable().c_str(), stdout);
    return 0;
  }
  std::fprintf(stderr, "usage: tessera-sim check FILE.ptx ...\n"
                       "       tessera-sim table\n");
  return 2;
}
