//===- tessera-run.cpp - Executes a stage on the command line -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   tessera-run x.mlir --dims M=7,N=9                  random inputs
//   tessera-run x.mlir --stage sched --input x=x.npy   lower first, then run
//   tessera-run x.mlir --domain reference --output y   writes y0.npy, y1.npy
//   tessera-run --list ops|ring|scalars                what can be executed
//
//===----------------------------------------------------------------------===//

#include "compiler/Compiler.h"
#include "compiler/Interpreter/Run.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <random>

using namespace llvm;
using namespace tessera;
using namespace tessera::interpreter;

static cl::OptionCategory category("tessera-run options");
static cl::opt<std::string> input(cl::Positional, cl::cat(category),
                                  cl::desc("<.mlir file of any stage>"));
static cl::opt<std::string> stage("stage", cl::cat(category),
                                  cl::desc("lower to this stage first"));
static cl::opt<std::string> functionName("function", cl::cat(category),
                                         cl::desc("default: the only one"));
static cl::opt<std::string>
    domainName("domain", cl::init("exact"), cl::cat(category),
               cl::desc("exact, reference, ring, bound"));
static cl::opt<uint64_t> seed("seed", cl::init(0), cl::cat(category),
                              cl::desc("of random inputs and legal orders"));
static cl::list<std::string> dims("dims", cl::CommaSeparated, cl::cat(category),
                                  cl::desc("sizes of dims: M=7,N=9"));
static cl::list<std::string> inputs("input", cl::cat(category),
                                    cl::desc("an argument: x=x.npy or n=3"));
static cl::opt<std::string> output("output", cl::cat(category),
                                   cl::desc("write results as NAME0.npy ..."));
static cl::opt<bool> trace("trace", cl::cat(category),
                           cl::desc("print the results of every op"));
static cl::opt<bool> unchecked("unchecked", cl::cat(category),
                               cl::desc("the text is between two stages"));
static cl::opt<std::string> list("list", cl::cat(category),
                                 cl::desc("ops, ring or scalars"));

static int fail(const Twine &message) {
  errs() << message << "\n";
  return 1;
}

//===----------------------------------------------------------------------===//
// .npy files, version 1, little-endian
//===----------------------------------------------------------------------===//

static constexpr struct {
  StringLiteral dtype, descr;
} formats[] = {{"f64", "<f8"},    {"f32", "<f4"},   {"f16", "<f2"},
               {"i64", "<i8"},    {"i32", "<i4"},   {"i16", "<i2"},
               {"i8", "|i1"},     {"bool", "|b1"},  {"bf16", "<u2"},
               {"f8e4m3", "|u1"}, {"f8e5m2", "|u1"}};

static bool readNpy(StringRef path, const std::string &dtype, HostArray &array,
                    std::string &error) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false);
  if (!buffer) {
    error = (path + ": " + buffer.getError().message()).str();
    return false;
  }
  StringRef data = (*buffer)->getBuffer();
  error = (path + " is no .npy file of " + dtype).str();
  if (data.size() < 10 || !data.starts_with("\x93NUMPY"))
    return false;
  size_t length = uint8_t(data[8]) | size_t(uint8_t(data[9])) << 8;
  StringRef header = data.substr(10, length);
  auto format = find_if(formats, [&](auto &f) { return f.dtype == dtype; });
  if (format == std::end(formats) || !header.contains(format->descr) ||
      header.contains("'fortran_order': True"))
    return false;
  array.dtype = dtype;
  SmallVector<StringRef> sizes;
  header.split("'shape': (")
      .second.split(')')
      .first.split(sizes, ',', -1, false);
  for (StringRef text : sizes) {
    int64_t size;
    if (text.trim().empty())
      continue;
    if (text.trim().getAsInteger(10, size))
      return false;
    array.shape.push_back(size);
  }
  array.bytes = data.substr(10 + length).str();
  error.clear();
  return true;
}

static bool writeNpy(StringRef path, const HostArray &array, bool asReals) {
  StringRef descr = "<f8";
  std::string bytes = array.bytes;
  if (asReals)
    bytes.assign(reinterpret_cast<const char *>(array.values.data()),
                 array.values.size() * sizeof(double));
  else
    descr = find_if(formats, [&](auto &f) {
              return f.dtype == array.dtype;
            })->descr;
  std::string header =
      ("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (").str();
  for (int64_t size : array.shape)
    header += std::to_string(size) + ",";
  header += "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::error_code error;
  raw_fd_ostream file(path, error);
  if (error)
    return false;
  file << "\x93NUMPY" << char(1) << char(0) << char(header.size() & 255)
       << char(header.size() >> 8) << header << bytes;
  return true;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Numbers that are values of the type: floats about 1, small integers.
static void fillRandom(HostArray &array, Element element,
                       std::mt19937_64 &random) {
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> small(-4, 4);
  size_t size = std::max(1u, bitsOf(element) / 8);
  int64_t count = elementCount(array.shape).value_or(0);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits =
        isFloat(element)
            ? domainName == "ring"
                  ? random() & (~uint64_t(0) >> 1 >> (64 - bitsOf(element)))
                  : encode(element, normal(random))
        : element == Element::I1 ? random() & 1
                                 : uint64_t(int64_t(small(random)));
    array.bytes.append(reinterpret_cast<const char *>(&bits), size);
  }
}

static bool makeArguments(ArrayRef<RunParameter> parameters,
                          std::vector<HostArray> &arguments,
                          std::string &error) {
  StringMap<int64_t> sizes;
  for (const std::string &item : dims) {
    auto [name, value] = StringRef(item).split('=');
    int64_t size;
    if (value.getAsInteger(10, size)) {
      error = "--dims " + item + ": no size";
      return false;
    }
    sizes[name] = size;
  }
  StringMap<std::string> given;
  for (const std::string &item : inputs) {
    auto [name, value] = StringRef(item).split('=');
    given[name] = value.str();
    if (none_of(parameters,
                [&](const RunParameter &p) { return p.name == name; })) {
      error = "--input " + item + ": there is no parameter " + name.str() +
              "; there are";
      for (const RunParameter &parameter : parameters)
        error += " " + parameter.name;
      return false;
    }
  }
  for (const std::string &item : dims) {
    StringRef name = StringRef(item).split('=').first;
    if (none_of(parameters, [&](const RunParameter &p) {
          return is_contained(p.dims, name);
        })) {
      error = "--dims " + item + ": no parameter has the dim " + name.str();
      return false;
    }
  }
  std::mt19937_64 random(seed);
  for (const RunParameter &parameter : parameters) {
    HostArray array;
    array.name = parameter.name;
    array.dtype = parameter.dtype;
    std::optional<Element> element = elementNamed(parameter.dtype);
    if (!element) {
      error = "parameter " + parameter.name + " has an unknown dtype";
      return false;
    }
    auto found = given.find(parameter.name);
    if (found != given.end() && StringRef(found->second).ends_with(".npy")) {
      if (!readNpy(found->second, parameter.dtype, array, error))
        return false;
    } else if (found != given.end()) {
      double value;
      if (StringRef(found->second).getAsDouble(value)) {
        error = "--input " + found->second + " is neither .npy nor a number";
        return false;
      }
      uint64_t bits = isFloat(*element) ? encode(*element, value)
                                        : uint64_t(int64_t(value));
      array.bytes.assign(reinterpret_cast<const char *>(&bits),
                         std::max(1u, bitsOf(*element) / 8));
    } else if (parameter.mode == "out") {
      continue;
    } else {
      for (const std::string &dim : parameter.dims) {
        int64_t size;
        if (StringRef(dim).getAsInteger(10, size)) {
          auto known = sizes.find(dim);
          if (dim.empty() || known == sizes.end()) {
            error = "the size of an axis of " + parameter.name +
                    " is not known; give --dims " +
                    (dim.empty() ? "" : dim + "=7") + " or --input " +
                    parameter.name + "=file.npy";
            return false;
          }
          size = known->second;
        }
        array.shape.push_back(size);
      }
      fillRandom(array, *element, random);
    }
    arguments.push_back(std::move(array));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static void print(const HostArray &array, StringRef domain) {
  outs() << array.dtype << " (";
  interleaveComma(array.shape, outs());
  outs() << ") [";
  std::unique_ptr<Domain> plain = createDomain(domain);
  Element element = *elementNamed(array.dtype);
  size_t size = std::max(1u, bitsOf(element) / 8);
  size_t count = array.bytes.size() / size;
  for (size_t i = 0; i < count; ++i) {
    if (i)
      outs() << ", ";
    if (count > 64 && i == 32) {
      i = count - 32;
      outs() << "..., ";
    }
    if (is_contained(array.poison, int64_t(i))) {
      outs() << "poison";
    } else if (!array.values.empty()) {
      outs() << format("%.17g", array.values[i]);
    } else {
      uint64_t bits = 0;
      std::memcpy(&bits, array.bytes.data() + i * size, size);
      outs() << (isFloat(element) ? int64_t(bits)
                                  : wrapTo(element, int64_t(bits)));
    }
  }
  outs() << "]\n";
}

static int printList(StringRef what) {
  if (what == "ops") {
    for (const std::string &name : allHandlers().names())
      outs() << name << "\n";
    return 0;
  }
  static constexpr StringLiteral precision[] = {"exact", "rounded", "2 ulp",
                                                "composed"};
  static constexpr StringLiteral ring[] = {"exact", "opaque", "composed",
                                           "excluded"};
  if (what != "ring" && what != "scalars")
    return fail("error: --list takes ops, ring or scalars");
  for (const ScalarOpInfo &info : scalarOps())
    if (what == "scalars")
      outs() << "| `" << info.name << "` | " << info.operands << " | "
             << precision[unsigned(info.precision)] << " | "
             << ring[unsigned(info.ring)] << " |\n";
  if (what == "scalars")
    return 0;
  for (unsigned kind = 0; kind < std::size(ring); ++kind) {
    outs() << ring[kind] << ":";
    for (const ScalarOpInfo &info : scalarOps())
      if (unsigned(info.ring) == kind)
        outs() << " " << info.name;
    outs() << "\n";
  }
  return 0;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Executes a stage on plain arrays\n");
  if (!list.empty())
    return printList(list);
  if (input.empty())
    return fail("error: no file given");
  auto buffer = MemoryBuffer::getFileOrSTDIN(input, /*IsText=*/true);
  if (!buffer)
    return fail(input + ": error: " + buffer.getError().message());
  if (StringRef(input).ends_with(".tessera") ||
      StringRef(input).ends_with(".py"))
    return fail(input +
                ": error: a source; tessera-run takes IR\n fix:  tesserac " +
                input + " --compile-to graph | tessera-run -");
  std::string text = (*buffer)->getBuffer().str();
  Compilation compilation{CompileOptions()};
  if (!(unchecked ? compilation.fromUncheckedText(text, input)
                  : compilation.fromText(text, input)) ||
      (!stage.empty() && compilation.stage() != stage &&
       !compilation.lower(stage)))
    return fail(compilation.error());
  RunRequest request;
  RunOutcome outcome;
  request.domain = domainName;
  request.seed = seed;
  request.trace = trace;
  std::string error;
  bool good = compilation.with([&](mlir::ModuleOp module) -> LogicalResult {
    std::unique_ptr<Domain> domain = createExactDomain();
    request.function = functionName.empty()
                           ? Interpreter(module, *domain).findEntry()
                           : functionName;
    if (request.function.empty())
      return module.emitError() << "several functions; choose by --function";
    FailureOr<std::vector<RunParameter>> parameters =
        runParameters(module, request.function);
    if (failed(parameters))
      return failure();
    if (!makeArguments(*parameters, request.arguments, error))
      return module.emitError() << error;
    return runModule(module, request, outcome);
  });
  if (!good)
    return fail(error.empty() ? compilation.error() : "error: " + error);
  for (const std::string &line : outcome.printed)
    outs() << line << "\n";
  for (const TraceEntry &entry : outcome.trace)
    for (const HostArray &array : entry.results) {
      outs() << entry.location << " " << entry.op << " " << array.name << " = ";
      print(array, domainName);
    }
  for (auto [i, result] : enumerate(outcome.results)) {
    if (output.empty())
      print(result, domainName);
    else if (!writeNpy(output + std::to_string(i) + ".npy", result,
                       domainName == "reference" && !result.values.empty()))
      return fail("error: cannot write " + output);
  }
  return 0;
}
