//===- stage-fuzz.cpp - Resumes compilation from damaged stage texts ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   stage-fuzz --count 10000 --seed 1 corpus/*.mlir
//   stage-fuzz --show --seed 1 --only 17 corpus/*.mlir     the text of one
//   stage-fuzz --replay mutant.mlir                        one text as it is
//
// A file of the corpus is a stage as `inspect_ir` prints it; its first line is
// a comment that names the machine, "// target sm_80" (stage-corpus.py writes
// them). Each mutant goes down to machine code in a process of its own, so that
// a crash is one finding. It must be refused at a line or be compiled, within
// limits of time and memory. The exit code is 1 if one was not.
//
//===----------------------------------------------------------------------===//

#include "compiler/Compiler.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include "tools/fuzz/MutateText.h"
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace tessera;

static cl::OptionCategory category("stage-fuzz options");
static cl::list<std::string> files(cl::Positional, cl::OneOrMore,
                                   cl::desc("<texts of stages>"),
                                   cl::cat(category));
static cl::opt<uint64_t> mutants("count", cl::init(1000), cl::cat(category),
                                 cl::desc("mutants"));
static cl::opt<uint64_t> seed("seed", cl::init(1), cl::cat(category));
static cl::opt<int64_t> only("only", cl::init(-1), cl::cat(category),
                             cl::desc("this mutant alone, in this process"));
static cl::opt<bool> show("show", cl::cat(category),
                          cl::desc("print the mutant of --only instead"));
static cl::opt<bool> replay("replay", cl::cat(category),
                            cl::desc("the files themselves, not mutants"));
static cl::opt<unsigned> seconds("seconds", cl::init(10), cl::cat(category),
                                 cl::desc("of the processor, for each"));
static cl::opt<int64_t> megabytes("megabytes", cl::init(1024),
                                  cl::cat(category),
                                  cl::desc("of memory, for each"));
static cl::opt<unsigned> jobs("jobs", cl::init(2), cl::cat(category));
static cl::opt<std::string> keep("keep", cl::cat(category),
                                 cl::desc("a folder for texts that failed"));

// LLVM is not instrumented: as in tools/sanitize.sh. What is freed is not kept
// for long, or every mutant would seem to need much memory.
extern "C" const char *__asan_default_options() {
  return "detect_leaks=0:detect_container_overflow=0:allow_user_poisoning=0:"
         "allocator_may_return_null=1:quarantine_size_mb=8:exitcode=77";
}

namespace {

struct Seed {
  std::string path, target, text;
};

enum class Outcome {
  Compiled,
  Refused,
  NoLine, ///< refused, but nowhere
  Crashed,
  Hung,
  OverMemory,
};
constexpr const char *names[] = {
    "compiled", "refused", "refused without a line",
    "crashed",  "hung",    "over memory"};

struct Running {
  pid_t process;
  int output;
  uint64_t number;
  std::chrono::steady_clock::time_point start;
  std::string said;
  bool overMemory = false, hung = false;
};

} // namespace

static Seed readSeed(const std::string &path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer) {
    errs() << path << ": " << buffer.getError().message() << "\n";
    exit(2);
  }
  auto [first, rest] = (*buffer)->getBuffer().split('\n');
  if (!first.consume_front("// target ")) {
    errs() << path << ": the first line is \"// target NAME\"\n";
    exit(2);
  }
  return {path, first.trim().str(), rest.str()};
}

/// The mutant of that number; it does not depend on how many there are.
static std::string mutantOf(const Seed &seedText, uint64_t number) {
  return replay ? seedText.text
                : fuzz::mutateText(seedText.text,
                                   seed * 0x9E3779B97F4A7C15ull + number);
}

/// Whether an error begins with "name:line:column: error: ".
static bool hasLine(StringRef error) {
  StringRef place = error.split(": error: ").first;
  if (place.size() == error.size() || place.contains('\n'))
    return false;
  auto [head, column] = place.rsplit(':');
  auto [name, line] = head.rsplit(':');
  unsigned row, position;
  return !name.empty() && !line.getAsInteger(10, row) &&
         !column.getAsInteger(10, position) && row > 0;
}

/// Goes down to the end; the first letter says how it ended.
static std::string compile(const Seed &start, const std::string &text) {
  CompileOptions options;
  options.target = start.target;
  options.verifyEach = true;
  Compilation compilation(options);
  bool good = compilation.fromText(text, "mutant.mlir");
  if (good) {
    (void)compilation.print();
    std::string written;
    const Machine *machine = findMachine(start.target);
    Artifact artifact;
    good = machine && !machine->findEmission("object")
               ? compilation.emit(machine->emissions.back().name.str(), written)
               : compilation.finish(artifact);
  }
  if (good)
    return "C";
  if (compilation.failedInternally())
    return "I" + compilation.error();
  return (hasLine(compilation.error()) ? "R" : "N") + compilation.error();
}

static Running launch(const Seed &start, uint64_t number) {
  int ends[2];
  if (pipe(ends) != 0) {
    perror("pipe");
    exit(2);
  }
  pid_t process = fork();
  if (process < 0) {
    perror("fork");
    exit(2);
  }
  if (process == 0) {
    close(ends[0]);
    if (keep.empty()) {
      int nothing = open("/dev/null", O_WRONLY);
      dup2(nothing, 2);
    } else {
      dup2(ends[1], 2); // a sanitizer's report
    }
    rlimit limit{seconds, seconds + 1};
    setrlimit(RLIMIT_CPU, &limit);
    rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    std::string said = compile(start, mutantOf(start, number));
    said = "\n@" + said.substr(0, 2000);
    (void)!write(ends[1], said.data(), said.size());
    _exit(0);
  }
  close(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {process, ends[0], number, std::chrono::steady_clock::now(), {}};
}

static int64_t residentBytes(pid_t process) {
  std::string path = "/proc/" + std::to_string(process) + "/statm";
  int file = open(path.c_str(), O_RDONLY);
  char text[128] = {};
  if (file < 0 || read(file, text, sizeof text - 1) <= 0) {
    if (file >= 0)
      close(file);
    return 0;
  }
  close(file);
  int64_t pages = 0;
  StringRef(text).split(' ').second.split(' ').first.getAsInteger(10, pages);
  return pages * sysconf(_SC_PAGESIZE);
}

static void drain(Running &one) {
  char part[4096];
  for (ssize_t n; (n = read(one.output, part, sizeof part)) > 0;)
    if (one.said.size() < (1 << 16))
      one.said.append(part, size_t(n));
}

static Outcome classify(const Running &one, int status, int64_t peakBytes,
                        std::string &error) {
  auto [before, after] = StringRef(one.said).rsplit("\n@");
  error = after.empty() ? one.said : after.drop_front().str();
  if (one.overMemory || peakBytes > int64_t(megabytes) << 20)
    return Outcome::OverMemory;
  if (one.hung || (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU ||
                                           WTERMSIG(status) == SIGKILL)))
    return Outcome::Hung;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || after.empty())
    return Outcome::Crashed;
  switch (after.front()) {
  case 'C':
    return Outcome::Compiled;
  case 'R':
    return Outcome::Refused;
  case 'N':
    return Outcome::NoLine;
  default:
    return Outcome::Crashed;
  }
}

/// Findings with one of these are one finding.
static std::string digest(StringRef error) {
  StringRef first;
  SmallVector<StringRef> lines;
  error.split(lines, '\n');
  // A sanitizer's frames in our code, else the first line.
  std::string frames;
  int found = 0;
  for (StringRef line : lines) {
    size_t at = line.find("tessera::");
    if (line.trim().starts_with("#") && at != StringRef::npos && found < 2) {
      frames += line.substr(at).take_until([](char c) { return c == '('; });
      frames += " < ";
      ++found;
    }
    if (line.contains("runtime error: ") || line.contains("ERROR: Address"))
      first = line.take_front(160);
  }
  if (first.empty())
    for (StringRef line : lines)
      if (!line.trim().empty() && first.empty())
        first = line.take_front(200);
  return (first + (frames.empty() ? "" : " | ") + frames).str();
}

static void keepText(const Seed &start, const Running &one, Outcome outcome,
                     StringRef error) {
  std::string path = keep + "/" + std::to_string(one.number) + ".mlir";
  std::error_code code;
  raw_fd_ostream file(path, code);
  if (code)
    return;
  file << "// target " << start.target << "\n" << mutantOf(start, one.number);
  file << "\n// " << names[int(outcome)] << ", from " << start.path << "\n";
  SmallVector<StringRef> lines;
  error.split(lines, '\n');
  for (StringRef line : ArrayRef(lines).take_front(40))
    file << "// " << line << "\n";
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "fuzzes texts of stages\n");
  std::vector<Seed> seeds;
  for (const std::string &path : files)
    seeds.push_back(readSeed(path));
  auto seedOf = [&](uint64_t number) -> const Seed & {
    return seeds[number % seeds.size()];
  };
  if (only >= 0) {
    std::string text = mutantOf(seedOf(uint64_t(only)), uint64_t(only));
    if (show)
      outs() << "// target " << seedOf(uint64_t(only)).target << "\n" << text;
    else
      outs() << compile(seedOf(uint64_t(only)), text) << "\n";
    return 0;
  }

  uint64_t total = replay ? seeds.size() : uint64_t(mutants), next = 0;
  uint64_t counts[std::size(names)] = {};
  std::map<std::string, std::pair<uint64_t, uint64_t>> findings;
  double slowest = 0;
  int64_t largest = 0;
  std::vector<Running> running;
  // Reproducers of internal errors go where they can be removed.
  char folder[] = "/tmp/stage-fuzz-XXXXXX";
  if (!mkdtemp(folder)) {
    perror("mkdtemp");
    return 2;
  }
  setenv("TMPDIR", folder, 1);
  compile(seedOf(0), seedOf(0).text); // what every process needs, once
  while (next < total || !running.empty()) {
    while (running.size() < jobs && next < total) {
      running.push_back(launch(seedOf(next), next));
      ++next;
    }
    std::vector<pollfd> waits;
    for (const Running &one : running)
      waits.push_back({one.output, POLLIN, 0});
    poll(waits.data(), waits.size(), 20);
    for (size_t i = 0; i < running.size();) {
      Running &one = running[i];
      drain(one);
      std::chrono::duration<double> taken =
          std::chrono::steady_clock::now() - one.start;
      if (residentBytes(one.process) > int64_t(megabytes) << 20) {
        one.overMemory = true;
        kill(one.process, SIGKILL);
      } else if (taken.count() > 6 * seconds) { // waits for something
        one.hung = true;
        kill(one.process, SIGKILL);
      }
      int status;
      rusage used;
      if (wait4(one.process, &status, WNOHANG, &used) != one.process) {
        ++i;
        continue;
      }
      drain(one);
      close(one.output);
      std::string error;
      int64_t peak = used.ru_maxrss * 1024;
      Outcome outcome = classify(one, status, peak, error);
      ++counts[int(outcome)];
      double processor = double(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                         1e-6 * double(used.ru_utime.tv_usec);
      slowest = std::max(slowest, processor);
      largest = std::max(largest, peak);
      if (outcome != Outcome::Compiled && outcome != Outcome::Refused) {
        auto &[times, example] =
            findings[(Twine(names[int(outcome)]) + ": " + digest(error)).str()];
        if (times++ == 0) {
          example = one.number;
          if (!keep.empty())
            keepText(seedOf(one.number), one, outcome, error);
        }
      }
      running.erase(running.begin() + ptrdiff_t(i));
    }
  }
  for (const auto &[what, where] : findings)
    outs() << where.first << " x " << what << "\n     mutant " << where.second
           << " of " << seedOf(where.second).path << "\n";
  outs() << total << " mutants of " << seeds.size() << " texts, seed " << seed
         << ":";
  for (auto [name, number] : zip(names, counts))
    outs() << " " << number << " " << name << ",";
  outs() << " longest " << format("%.1f", slowest) << " s, largest "
         << (largest >> 20) << " MB\n";
  std::string remove = std::string("rm -rf ") + folder;
  (void)!std::system(remove.c_str());
  return findings.empty() ? 0 : 1;
}
