// The command line of the simulator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/api/Device.h"
#include "sim/exec/Limits.h"
#include "sim/report/Counters.h"
#include "sim/report/Json.h"
#include "sim/tools/Arguments.h"
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace tessera::sim;

namespace {

std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw std::runtime_error(path + ": cannot be read");
  std::stringstream buffer;
  buffer << in.rdbuf();
  return buffer.str();
}

/// Parses each file and looks every instruction up in the table.
int checkFiles(int count, char **paths) {
  int failures = 0;
  size_t instructions = 0;
  for (int i = 0; i < count; ++i) {
    try {
      auto module = ptx::parse(readFile(paths[i]));
      for (const std::string &remark : module->remarks)
        std::printf("%s: remark: %s\n", paths[i], remark.c_str());
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

int run(int argc, char **argv) {
  if (argc < 1)
    throw std::runtime_error("run needs a PTX file");
  std::string path = argv[0], kernel;
  LaunchOptions o;
  o.check = true;
  bool json = false;
  std::vector<Argument> arguments;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    auto value = [&]() -> std::string {
      if (i + 1 >= argc)
        throw std::runtime_error(name + " needs a value");
      return argv[++i];
    };
    if (name == "--kernel")
      kernel = value();
    else if (name == "--grid")
      parseDims(name, value(), o.grid);
    else if (name == "--block")
      parseDims(name, value(), o.block);
    else if (name == "--shared")
      o.dynamicShared = uint32_t(parseNumber(name, value(), ~0u));
    else if (name == "--arch")
      o.arch = parseArch(value());
    else if (name == "--arg")
      arguments.push_back(parseArgument(value()));
    else if (name == "--seed") {
      o.seed = parseNumber(name, value());
      o.adversarial = true;
    } else if (name == "--no-check")
      o.check = false;
    else if (name == "--count")
      o.count = true;
    else if (name == "--ring")
      o.ring = true;
    else if (name == "--elect-by-seed")
      o.electBySeed = true;
    else if (name == "--cluster") {
      std::fill_n(o.cluster, 3, 1);
      parseDims(name, value(), o.cluster);
    } else if (name == "--registers")
      o.registers = unsigned(parseNumber(name, value(), 255));
    else if (name == "--ieee")
      o.tensorMode = TensorMode::Ieee;
    else if (name == "--max-instructions")
      o.maxInstructions = parseNumber(name, value());
    else if (name == "--max-seconds")
      o.maxSeconds = double(parseNumber(name, value()));
    else if (name == "--json")
      json = true;
    else
      throw std::runtime_error("unknown option " + name);
  }
  Device device;
  auto module = LinkedModule::load({readFile(path)}, device.memory);
  if (kernel.empty()) {
    auto names = module->kernels();
    if (names.size() != 1) {
      std::string all;
      for (auto &n : names)
        all += " " + n;
      throw std::runtime_error("name one kernel with --kernel:" + all);
    }
    kernel = names[0];
  }
  Program &program = module->program(kernel, o.ring);
  std::vector<uint8_t> params = packArguments(program, arguments, device);
  LaunchResult r =
      launchKernel(device, *module, kernel, o, params.data(), params.size());
  if (json) {
    std::printf("%s\n", report::toJson(r, &program, "").c_str());
  } else {
    for (const Report &report : r.reports)
      std::printf("%s: %s\n", report.kind.c_str(), report.message.c_str());
    std::printf("%s: %llu warp instructions in %.3f s of simulation; time on "
                "a GPU: not measured: this was a simulation\n",
                r.ok ? "ok" : "FAILED", (unsigned long long)r.warpInstructions,
                r.seconds);
    std::printf("occupancy: %s\n", report::describe(r.occupancy).c_str());
    if (r.counters)
      std::fputs(report::toText(*r.counters).c_str(), stdout);
  }
  for (const Argument &a : arguments)
    if (!json)
      printArgument(a);
  return r.ok ? 0 : 1;
}

/// Environment options shared by exec and triton.
int takeOptions(int argc, char **argv) {
  int i = 0;
  bool elects = false;
  for (; i < argc && argv[i][0] == '-'; ++i) {
    std::string name = argv[i];
    if (name == "--arch" && i + 1 < argc) {
      parseArch(argv[++i]);
      setenv("TESSERA_SIM_ARCH", argv[i], 1);
    } else if (name == "--board" && i + 1 < argc)
      setenv("TESSERA_SIM_BOARD", argv[++i], 1);
    else if (name == "--max-instructions" && i + 1 < argc)
      setenv("TESSERA_SIM_MAX_INSTRUCTIONS", argv[++i], 1);
    else if (name == "--max-seconds" && i + 1 < argc)
      setenv("TESSERA_SIM_MAX_SECONDS", argv[++i], 1);
    else if (name == "--check")
      setenv("TESSERA_SIM_CHECK", "1", 1);
    else if (name == "--elect-by-seed")
      elects = true;
    else if (name == "--count")
      setenv("TESSERA_SIM_COUNT", "1", 1);
    else if (name == "--seed" && i + 1 < argc)
      setenv("TESSERA_SIM_SEED", argv[++i], 1);
    else if (name == "--report" && i + 1 < argc)
      setenv("TESSERA_SIM_REPORT", argv[++i], 1);
    else
      throw std::runtime_error("unknown option " + name);
  }
  if (elects) {
    const char *seed = std::getenv("TESSERA_SIM_SEED");
    if (!seed || !*seed)
      throw std::runtime_error("--elect-by-seed needs --seed");
    setenv("TESSERA_SIM_SEED", (std::string(seed) + ",elect").c_str(), 1);
  }
  return i;
}

int exec(int argc, char **argv) {
  int first = takeOptions(argc, argv);
  if (first == argc)
    throw std::runtime_error("exec needs a program");
  std::string text = readFile(argv[first]);
  if (text.find("libcudart.so") == std::string::npos &&
      text.find("__cudaRegisterFatBinary") != std::string::npos)
    throw std::runtime_error(
        std::string(argv[first]) +
        " carries NVIDIA's runtime in itself; build it with nvcc -cudart "
        "shared");
  // The libraries lie beside the tool, or in sim/ of the project's build.
  auto tool = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::string path;
  for (auto folder : {tool / "cuda", tool.parent_path() / "sim" / "cuda",
                      tool.parent_path() / "lib" / "tessera-sim"})
    if (path.empty() && std::filesystem::exists(folder / "libcudart.so.13"))
      path = folder.string();
  if (path.empty())
    throw std::runtime_error("libcudart.so.13 was not built beside " +
                             tool.string());
  if (const char *old = std::getenv("LD_LIBRARY_PATH"))
    path += std::string(":") + old;
  setenv("LD_LIBRARY_PATH", path.c_str(), 1);
  execvp(argv[first], argv + first);
  throw std::runtime_error(std::string(argv[first]) + ": cannot be started");
}

/// Runs the Python of the path, which must have tessera and triton. What the
/// user has set in $TESSERA_SIM_LIBRARY comes before the library beside this
/// tool. The working folder is not looked into for packages: whoever can write
/// there would decide what runs.
int triton(int argc, char **argv) {
  namespace fs = std::filesystem;
  auto tool = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path &folder : {tool, tool.parent_path() / "sim"})
    if (fs::exists(folder / "libtessera_sim.so"))
      setenv("TESSERA_SIM_LIBRARY", (folder / "libtessera_sim.so").c_str(), 0);
  const char *start = R"(
import importlib.util, sys
sys.path = [p for p in sys.path if p]
if importlib.util.find_spec("tessera") is None:
    sys.exit(f"tessera-sim: {sys.executable} has no package tessera; install the "
             "wheel, or set PYTHONPATH to python/ of the source tree")
from tessera.sim.run import main
sys.exit(main(sys.argv[1:]))
)";
  std::vector<char *> arguments = {const_cast<char *>("python3"),
                                   const_cast<char *>("-c"),
                                   const_cast<char *>(start)};
  arguments.insert(arguments.end(), argv, argv + argc);
  arguments.push_back(nullptr);
  execvp("python3", arguments.data());
  throw std::runtime_error("python3 cannot be started");
}

int usage() {
  std::fprintf(
      stderr,
      "usage: tessera-sim run FILE.ptx [--kernel K] [--grid X,Y,Z] "
      "[--block X,Y,Z]\n"
      "           [--cluster X,Y,Z] [--shared BYTES] [--arch sm_80] [--arg "
      "VALUE]...\n"
      "           [--seed N] [--elect-by-seed] [--no-check] [--count] [--ieee] "
      "[--ring]\n"
      "           [--registers N] [--json]\n"
      "           [--max-instructions N] [--max-seconds N]\n"
      "         VALUE: i32:7  f32:1.5  u64:0  zeros:f32:1024  range:i32:100\n"
      "                random:f32:1024  file:data.bin\n"
      "       tessera-sim exec [--arch sm_80] [--board H100] [--check] "
      "[--count] "
      "[--seed N]\n"
      "           [--report FILE] "
      "[--elect-by-seed] [--max-instructions N] [--max-seconds N]\n"
      "           PROGRAM ARGS...\n"
      "       tessera-sim triton SCRIPT.py [--arch sm_80] [--check]\n"
      "           [--max-instructions N] [--max-seconds N] ARGS...\n"
      "       tessera-sim check FILE.ptx...   parse and look up only\n"
      "       tessera-sim table               what is modelled, as Markdown\n");
  return 2;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2)
    return usage();
  std::string command = argv[1];
  try {
    if (command == "check")
      return checkFiles(argc - 2, argv + 2);
    if (command == "run")
      return run(argc - 2, argv + 2);
    if (command == "exec")
      return exec(argc - 2, argv + 2);
    if (command == "triton")
      return triton(argc - 2, argv + 2);
    if (command == "table") {
      std::fputs(ptx::supportTable().c_str(), stdout);
      return 0;
    }
  } catch (const std::exception &e) {
    std::fprintf(stderr, "tessera-sim: %s\n", e.what());
    return 1;
  }
  return usage();
}
