// Mutates PTX files and fat binaries; the reader may refuse, never crash. With
// --run the kernels that decode are launched too, on a small buffer and on
// tensor maps with some bytes changed.
//
// usage: tessera_sim_fuzz SECONDS [--run] FILE...   (build with
// -DTESSERA_SIM_FUZZ=ON, which turns on the address and undefined-behaviour
// sanitizers)
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/api/Device.h"
#include "sim/driver/FatBinary.h"
#include "sim/exec/Link.h"
#include "sim/exec/TensorMap.h"
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

/// A map of 64 x 16 floats at `base`, with up to two bytes changed.
TensorMap someMap(uint64_t base, unsigned rank, std::mt19937_64 &random) {
  TensorMap map;
  map.base = base;
  map.type = TensorType::F32;
  map.rank = uint8_t(rank - 1);
  map.dim[0] = 15;
  map.box[0] = 7;
  map.swizzle = Swizzle(random() % 5);
  for (unsigned d = 1; d < 5; ++d) {
    map.dim[d] = d == 1 ? 63 : 0;
    map.box[d] = d == 1 ? 3 : 0;
    map.stride[d - 1] = 64;
  }
  for (unsigned k = random() % 3; k; --k)
    reinterpret_cast<uint8_t *>(&map)[random() % sizeof map] =
        uint8_t(random());
  return map;
}

unsigned launchAll(const std::string &text, std::mt19937_64 &random) {
  alignas(128) static uint8_t buffer[4096];
  unsigned launched = 0;
  try {
    Device device;
    auto base = reinterpret_cast<uint64_t>(buffer);
    device.memory.expose(base, sizeof buffer, "buffer");
    device.print = [](const std::string &) {};
    auto module = LinkedModule::load({text}, device.memory);
    for (const std::string &kernel : module->kernels()) {
      try {
        Program &program = module->program(kernel);
        std::vector<uint8_t> params(program.paramSize);
        for (size_t k = 0; k < program.paramBytes.size(); ++k) {
          uint8_t *p = params.data() + program.paramOffsets[k];
          uint32_t bytes = program.paramBytes[k];
          uint64_t value = bytes == 8 ? base : random() % 512;
          TensorMap map = someMap(base, 1 + random() % 5, random);
          if (bytes == sizeof map)
            std::memcpy(p, &map, sizeof map);
          else
            std::memcpy(p, &value, std::min(bytes, 8u));
        }
        LaunchOptions o;
        o.arch = 100;
        o.grid[0] = o.cluster[0] = 1 + random() % 4;
        o.cluster[1] = o.cluster[2] = 1;
        o.block[0] = 64;
        o.dynamicShared = 4096;
        o.check = random() % 2;
        o.adversarial = random() % 2;
        o.seed = random();
        o.threads = 1;
        o.maxInstructions = 3000;
        o.maxSeconds = 3;
        launchKernel(device, *module, kernel, o, params.data(), params.size());
        ++launched;
      } catch (const std::exception &) {
      }
    }
  } catch (const std::exception &) {
  }
  return launched;
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

/// For kernels that are to run: whole lines are dropped, doubled or swapped,
/// numbers changed.
std::string mutateLines(const std::string &text, std::mt19937_64 &random) {
  std::vector<std::string> lines;
  std::stringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  for (unsigned k = 1 + random() % 3; k; --k) {
    size_t at = random() % lines.size(), other = random() % lines.size();
    switch (random() % 5) {
    case 0:
      lines[at].clear();
      break;
    case 1:
      lines.insert(lines.begin() + long(other), lines[at]);
      break;
    case 2:
      std::swap(lines[at], lines[other]);
      break;
    default:
      for (char &c : lines[at])
        if (c >= '0' && c <= '9' && random() % 4 == 0)
          c = char('0' + random() % 10);
    }
  }
  std::string out;
  for (const std::string &line : lines)
    out += line + "\n";
  return out;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s SECONDS [--run] FILE...\n", argv[0]);
    return 2;
  }
  double seconds = std::atof(argv[1]);
  bool runs = !std::strcmp(argv[2], "--run");
  std::vector<std::string> texts, binaries;
  for (int k = runs ? 3 : 2; k < argc; ++k) {
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
  uint64_t inputs = 0, launched = 0;
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
             .count() < seconds) {
    alarm(20);
    bool fat = !binaries.empty() && (texts.empty() || random() % 4 == 0);
    if (runs && !fat) {
      current = mutateLines(texts[random() % texts.size()], random);
      launched += launchAll(current, random);
    } else {
      current = mutate(fat ? binaries : texts, random);
      if (fat)
        oneFat(current);
      else
        onePtx(current);
    }
    ++inputs;
  }
  std::printf("%llu inputs, %llu launches in %.0f s, no crash, no hang\n",
              (unsigned long long)inputs, (unsigned long long)launched,
              seconds);
}
