// Mutates PTX files and fat binaries; the reader may refuse, never crash.
//
// usage: tessera_sim_fuzz SECONDS FILE...   (build with -DTESSERA_SIM_FUZZ=ON,
// which turns on the address and undefined-behaviour sanitizers)
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/driver/FatBinary.h"
#include "sim/exec/Link.h"
#include "sim/ptx/Spec.h"
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <unistd.h>

using namespace tessera::sim;

namespace {

std::string current;

void timeout(int) {
  std::ofstream("/tmp/tessera-sim-fuzz-hang.ptx") << current;
  const char text[] = "HANG: input kept in /tmp/tessera-sim-fuzz-hang.ptx\n";
  (void)!write(2, text, sizeof text - 1);
  _exit(3);
}

void onePtx(const std::string &text) {
  try {
    Memory memory;
    auto module = LinkedModule::load({text}, memory);
    for (const std::string &kernel : module->kernels()) {
      try {
        module->program(kernel); // decode, without running it
      } catch (const std::exception &) {
      }
      try {
        module->program(kernel, true); // for ring mode
      } catch (const std::exception &) {
      }
    }
  } catch (const std::exception &) {
  }
}

void oneFat(const std::string &data) {
  try {
    auto entries = readFatContainer(data.data(), data.size());
    choosePtx(entries, 80);
  } catch (const std::exception &) {
  }
}

std::string mutate(const std::vector<std::string> &corpus,
                   std::mt19937_64 &random) {
  std::string text = corpus[random() % corpus.size()];
  if (text.size() > 20000) { // keep the head and one window: faster
    size_t at = random() % (text.size() - 8000);
    text = text.substr(0, 600) + text.substr(at, 8000);
  }
  static const char *tokens[] = {
      "{",          "}",    "[",        "]",
      "(",          ")",    ",",        ";",
      ":",          "@",    "!",        "|",
      "<",          ">",    "%r1",      "%p1",
      ".reg",       ".b32", ".entry",   ".func",
      ".param",     "-1",   "0x",       "0f",
      "4294967296", ".v4",  "::",       "_",
      "/*",         "\"",   ".section", "bra",
      "call",       "mma",  ".align 3", "18446744073709551615"};
  unsigned edits = 1 + random() % 6;
  for (unsigned k = 0; k < edits && !text.empty(); ++k) {
    size_t at = random() % text.size();
    switch (random() % 6) {
    case 0:
      text[at] = char(random());
      break;
    case 1:
      text.erase(at, 1 + random() % 40);
      break;
    case 2:
      text.insert(at, tokens[random() % std::size(tokens)]);
      break;
    case 3: {
      const std::string &other = corpus[random() % corpus.size()];
      size_t from = random() % other.size();
      text.insert(at, other.substr(from, random() % 200));
      break;
    }
    case 4:
      text.insert(at, text.substr(at, random() % 100));
      break;
    case 5:
      text.resize(at);
      break;
    }
  }
  return text;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s SECONDS FILE...\n", argv[0]);
    return 2;
  }
  double seconds = std::atof(argv[1]);
  std::vector<std::string> texts, binaries;
  for (int k = 2; k < argc; ++k) {
    std::ifstream in(argv[k], std::ios::binary);
    std::stringstream buffer;
    buffer << in.rdbuf();
    std::string data = buffer.str();
    if (data.empty())
      continue;
    uint32_t magic = 0;
    std::memcpy(&magic, data.data(), std::min<size_t>(4, data.size()));
    (magic == 0xBA55ED50 ? binaries : texts).push_back(std::move(data));
  }
  std::signal(SIGALRM, timeout);
  std::mt19937_64 random(std::random_device{}());
  auto start = std::chrono::steady_clock::now();
  uint64_t runs = 0;
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
             .count() < seconds) {
    alarm(20);
    bool fat = !binaries.empty() && (texts.empty() || random() % 4 == 0);
    current = mutate(fat ? binaries : texts, random);
    if (fat)
      oneFat(current);
    else
      onePtx(current);
    ++runs;
  }
  std::printf("%llu inputs in %.0f s, no crash, no hang\n",
              (unsigned long long)runs, seconds);
}
