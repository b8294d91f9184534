// The command line of the simulator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/api/Device.h"
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
      parseDims(value(), o.grid);
    else if (name == "--block")
      parseDims(value(), o.block);
    else if (name == "--shared")
      o.dynamicShared = uint32_t(std::stoul(value()));
    else if (name == "--arch")
      o.arch = parseArch(value());
    else if (name == "--arg")
      arguments.push_back(parseArgument(value()));
    else if (name == "--seed") {
      o.seed = std::stoull(value());
      o.adversarial = true;
    } else if (name == "--no-check")
      o.check = false;
    else if (name == "--count")
      o.count = true;
    else if (name == "--ring")
      o.ring = true;
    else if (name == "--registers")
      o.registers = unsigned(std::stoul(value()));
    else if (name == "--ieee")
      o.tensorMode = TensorMode::Ieee;
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
                "a GPU: not measured\n",
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
  for (; i < argc && argv[i][0] == '-'; ++i) {
    std::string name = argv[i];
    if (name == "--arch" && i + 1 < argc)
      setenv("TESSERA_SIM_ARCH", argv[++i], 1);
    else if (name == "--check")
      setenv("TESSERA_SIM_CHECK", "1", 1);
    else if (name == "--count")
      setenv("TESSERA_SIM_COUNT", "1", 1);
    else if (name == "--seed" && i + 1 < argc)
      setenv("TESSERA_SIM_SEED", argv[++i], 1);
    else if (name == "--report" && i + 1 < argc)
      setenv("TESSERA_SIM_REPORT", argv[++i], 1);
    else
      throw std::runtime_error("unknown option " + name);
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

/// Python finds our package in the source tree, and the package the library
/// beside this tool; what the user has set comes first.
void showPackage() {
  namespace fs = std::filesystem;
  auto tool = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path &folder : {tool, tool.parent_path() / "sim"})
    if (fs::exists(folder / "libtessera_sim.so"))
      setenv("TESSERA_SIM_LIBRARY", (folder / "libtessera_sim.so").c_str(), 0);
#ifdef TESSERA_SIM_PYTHON_PATH
  if (fs::exists(TESSERA_SIM_PYTHON_PATH "/tessera/sim/run.py")) {
    const char *old = std::getenv("PYTHONPATH");
    std::string path = old && *old ? std::string(old) + ":" : "";
    setenv("PYTHONPATH", (path + TESSERA_SIM_PYTHON_PATH).c_str(), 1);
  }
#endif
}

int triton(int argc, char **argv) {
  showPackage();
  std::vector<char *> arguments = {const_cast<char *>("python3"),
                                   const_cast<char *>("-m"),
                                   const_cast<char *>("tessera.sim.run")};
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
      "           [--shared BYTES] [--arch sm_80] [--arg VALUE]... [--seed N]\n"
      "           [--no-check] [--count] [--ieee] [--ring] [--registers N] "
      "[--json]\n"
      "         VALUE: i32:7  f32:1.5  u64:0  zeros:f32:1024  range:i32:100\n"
      "                random:f32:1024  file:data.bin\n"
      "       tessera-sim exec [--arch sm_80] [--check] [--count] [--seed N] "
      "[--report FILE] PROGRAM ARGS...\n"
      "       tessera-sim triton SCRIPT.py [--arch sm_80] [--check] ARGS...\n"
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
