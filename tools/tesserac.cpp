//===- tesserac.cpp - The compiler on the command line --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   tesserac x.tessera --compile-to tile            one stage, as text
//   tesserac x.tessera --dims D=64 -o x.o           an object file and x.plan
//   tesserac x.tessera --target sm_80 --compile-to ptx
//   tesserac x.tessera --target cudatile:sm_90 --compile-to cudatile
//   tesserac tile.mlir --compile-to target          go on from an edited stage
//   tesserac aot x.tessera --dims D=64 -o folder    a library for C++ programs
//   tesserac architectures                          the table of GPUs
//
//===----------------------------------------------------------------------===//

#include "compiler/Aot/Aot.h"
#include "compiler/Frontend/Decorators.h"
#include "compiler/Frontend/Parser.h"
#include "compiler/Support/Architectures/Nvidia.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tessera;
using namespace tessera::frontend;

static cl::OptionCategory category("tesserac options");
static cl::opt<std::string> input(cl::Positional, cl::Required,
                                  cl::desc("<.tessera, .tss or .mlir file>"),
                                  cl::cat(category));
static cl::opt<std::string>
    compileTo("compile-to", cl::init("object"), cl::cat(category),
              cl::desc("graph, sched, tile-value, tile, target, llvm, ptx, "
                       "cudatile, "
                       "object"));
static cl::opt<std::string>
    compileFrom("compile-from", cl::cat(category),
                cl::desc("the stage an .mlir file must be at"));
static cl::opt<std::string> functionName("function", cl::cat(category),
                                         cl::desc("default: the last one"));
static cl::list<std::string> types(
    "types", cl::CommaSeparated, cl::cat(category),
    cl::desc("element types of parameters: Q=fp16,K=fp16 (default fp32)"));
static cl::list<std::string>
    dims("dims", cl::CommaSeparated, cl::cat(category),
         cl::desc("sizes of dims that are whole in a tile: D=64"));
static cl::list<std::string> constants("constants", cl::CommaSeparated,
                                       cl::cat(category),
                                       cl::desc("const parameters: causal=1"));
static cl::opt<std::string> targetName("target", cl::init("cpu"),
                                       cl::cat(category));
static cl::opt<int> optLevel("opt-level", cl::init(3), cl::cat(category));
static cl::opt<std::string> output("o", cl::init("-"), cl::cat(category),
                                   cl::desc("output file"));
static cl::opt<std::string>
    dumpDirectory("dump-stages-to", cl::cat(category),
                  cl::desc("folder that gets every stage as a numbered file"));
static cl::opt<bool> verifyEach("verify-each", cl::cat(category),
                                cl::desc("verify after every pass"));

static cl::opt<std::string> mistake("mistake", cl::Hidden, cl::cat(category),
                                    cl::desc("for tests: segv@tile"));

static int fail(const Twine &message) {
  errs() << message;
  return 1;
}

/// "A=fp16" pairs as a map.
static StringMap<std::string> toMap(const cl::list<std::string> &items) {
  StringMap<std::string> map;
  for (const std::string &item : items) {
    auto [name, value] = StringRef(item).split('=');
    map[name] = value.str();
  }
  return map;
}

static ConstantData toConstant(StringRef text) {
  int64_t integer;
  double number;
  if (text == "True" || text == "False")
    return ConstantData(text == "True");
  if (!text.getAsInteger(0, integer))
    return ConstantData(integer);
  if (!text.getAsDouble(number))
    return ConstantData(number);
  if (auto dtype = parseDType(text.str()))
    return ConstantData(*dtype);
  return ConstantData(text.str());
}

/// How the arguments of a version are passed.
struct Passing {
  /// Outs are given by the caller, with the first tensor's dtype if they have
  /// none of their own; else the runtime allocates them.
  bool withOutputs = false;
  /// The last axis is contiguous.
  bool unitStrides = true;
};

/// One spec per parameter from --types, --dims and --constants.
static bool makeArguments(const Signature &signature,
                          std::vector<WholeDim> whole, Passing passing,
                          SemaRequest &request) {
  std::optional<DType> first;
  StringMap<std::string> typeOf = toMap(types), sizeOf = toMap(dims),
                         valueOf = toMap(constants);
  for (const auto &[option, map] :
       {std::pair("types", &typeOf), std::pair("constants", &valueOf)})
    for (const auto &entry : *map)
      if (none_of(signature.parameters, [&](const ParameterDescription &p) {
            return p.name == entry.getKey();
          }))
        return fail("error: --" + Twine(option) + " " + entry.getKey() +
                    ": there is no such parameter\n"),
               false;
  for (auto [index, p] : enumerate(signature.parameters)) {
    using Kind = ParameterDescription::Kind;
    DType dtype = p.dtype.value_or(DType::FP32);
    if (auto it = typeOf.find(p.name); it != typeOf.end()) {
      auto parsed = parseDType(it->second);
      if (!parsed)
        return fail("error: no dtype is called '" + it->second + "'\n"), false;
      dtype = *parsed;
    }
    if (auto it = valueOf.find(p.name); it != valueOf.end()) {
      request.arguments.push_back(ArgumentSpec::value(toConstant(it->second)));
    } else if (p.kind == Kind::Const) {
      auto scheduled = request.constants.find(p.name);
      request.arguments.push_back(ArgumentSpec::value(
          scheduled == request.constants.end() ? p.defaultValue
                                               : scheduled->second));
    } else if (p.kind == Kind::Scalar) {
      request.arguments.push_back(ArgumentSpec::scalar(dtype));
    } else if (p.kind == Kind::Out && !p.dtype && !typeOf.contains(p.name) &&
               !passing.withOutputs) {
      request.arguments.push_back(ArgumentSpec::omitted());
    } else if (!p.hasDims) {
      return fail("error: parameter " + p.name +
                  " has no annotation, so its rank is not known\n fix:  " +
                  p.name + ": Tensor[\"M\", \"N\"]\n"),
             false;
    } else {
      std::vector<int64_t> sizes(p.dims.size(), -1);
      for (auto [axis, dim] : enumerate(p.dims)) {
        if (!llvm::is_contained(whole, WholeDim{int(index), int(axis)}))
          continue;
        auto size = sizeOf.find(dim);
        int64_t number;
        StringRef text = size == sizeOf.end() ? StringRef(dim) : size->second;
        if (text.getAsInteger(10, number))
          return fail("error: " + dim +
                      " is a constant of each version\n"
                      " fix:  --dims " +
                      dim + "=64\n"),
                 false;
        sizes[axis] = number;
      }
      if (p.kind == Kind::Out && !p.dtype && !typeOf.contains(p.name))
        dtype = first.value_or(dtype);
      else if (!first)
        first = dtype;
      int unit = passing.unitStrides ? int(sizes.size()) - 1 : -1;
      request.arguments.push_back(ArgumentSpec::tensor(dtype, sizes, unit));
    }
  }
  return true;
}

/// The dtype of the first array, by --types or the annotation; fp32 as for the
/// arguments. Nothing for a function that is none of ours.
static std::optional<DType> firstDType(const FunctionDef &definition,
                                       const CapturedNames &captured) {
  static SourceManager sources;
  DiagnosticEngine unheard(sources);
  auto signature = describeSignature(definition, captured, unheard);
  if (failed(signature))
    return std::nullopt;
  StringMap<std::string> typeOf = toMap(types);
  for (const ParameterDescription &p : signature->parameters)
    if (p.hasDims)
      return typeOf.contains(p.name) ? parseDType(typeOf[p.name])
                                     : p.dtype.value_or(DType::FP32);
  return std::nullopt;
}

/// Parses `text` and hands the chosen function to the front end.
static bool startFromSource(StringRef text, Compilation &compilation,
                            bool colour, Passing passing = {},
                            SemaRequest *used = nullptr) {
  static SourceManager sources;
  static ASTContext tree;
  DiagnosticEngine diags(sources);
  FileId file = sources.add(input, text);
  Module *module = parseModule(tree, sources, file, diags);
  if (!module)
    return fail(diags.render(colour)), false;
  SemaRequest request;
  for (const Stmt *statement : module->body) {
    auto *definition = dynCast<FunctionDef>(statement);
    if (!definition)
      continue;
    auto options =
        readDecorators(*definition, request.captured, targetName,
                       firstDType(*definition, request.captured), diags);
    if (failed(options))
      return fail(diags.render(colour)), false;
    if (request.definition) {
      // Functions further up can be called from those below.
      auto callee = std::make_shared<CapturedFunction>();
      callee->kind = request.kind;
      callee->definition = request.definition;
      callee->captured = request.captured;
      callee->accum = request.accum;
      callee->precision = request.precision;
      callee->policy = request.policy;
      callee->constants = request.constants;
      callee->schedule = request.schedule;
      CapturedValue value;
      value.kind = CapturedValue::Kind::Function;
      value.function = std::move(callee);
      request.captured[request.definition->name] = std::move(value);
    }
    request.definition = definition;
    request.kind = options->kind;
    request.policy =
        options->policy.empty() ? "deterministic" : options->policy;
    request.accum = options->accum;
    request.precision = options->precision;
    request.constants = options->constants;
    request.schedule = options->schedule;
    request.tuning = options->tuning;
    if (definition->name == functionName)
      break;
  }
  if (!request.definition ||
      (!functionName.empty() && request.definition->name != functionName))
    return fail("error: " + input + " has no function " + functionName + "\n"),
           false;
  auto signature =
      describeSignature(*request.definition, request.captured, diags);
  if (failed(signature))
    return fail(diags.render(colour)), false;
  if (!makeArguments(*signature, wholeDims(*request.definition, *signature),
                     passing, request))
    return false;
  if (used)
    *used = request;
  const Machine *machine = findMachine(targetName);
  request.versionPerHead = machine && machine->versionPerHead;
  if (!compilation.fromSource(request, sources, colour))
    return fail(compilation.error()), false;
  return true;
}

static int write(StringRef path, StringRef text) {
  std::error_code error;
  raw_fd_ostream file(path, error);
  if (error)
    return fail("error: cannot write " + path + ": " + error.message() + "\n");
  file << text;
  return 0;
}

/// `tesserac aot`: versions for AVX-512 and AVX2 and for contiguous and any
/// strides, in one library named like the function.
static int writeAheadOfTime(StringRef text, const char *program, bool colour) {
  if (output == "-")
    return fail("error: a library needs a folder\n fix:  -o folder\n");
  aot::Library library;
  library.functions.emplace_back();
  std::vector<std::string> levels = {targetName};
  if (const Machine *machine = findMachine(targetName);
      machine && machine->portable)
    levels = machine->portable(targetName);
  for (const std::string &level : levels)
    for (bool unitStrides : {true, false}) {
      aot::Function &function = library.functions.front();
      CompileOptions options;
      options.target = level;
      options.optLevel = optLevel;
      options.verifyEach = verifyEach;
      options.symbolPrefix = "tsr_aot_" + sys::path::stem(input).str() + "_v" +
                             std::to_string(function.versions.size()) + "_";
      for (char &c : options.symbolPrefix)
        c = isAlnum(c) ? c : '_';
      Compilation compilation(options);
      SemaRequest request;
      aot::Version version;
      if (!startFromSource(text, compilation, colour,
                           {/*withOutputs=*/true, unitStrides}, &request))
        return 1;
      if (!compilation.finish(version.artifact))
        return fail(compilation.error());
      auto guards = aot::guardsFor(version.artifact.plan, request.arguments);
      if (!guards)
        return fail("error: " + toString(guards.takeError()) + "\n");
      version.guards = std::move(*guards);
      version.symbolPrefix = options.symbolPrefix;
      function.name = library.name = request.definition->name;
      function.versions.push_back(std::move(version));
    }
  static int anchor;
  SmallString<128> here(sys::fs::getMainExecutable(program, &anchor));
  sys::path::remove_filename(here);
  for (StringRef folder : {"/../runtime", "/../lib"})
    if (sys::fs::exists(here + folder + "/libTesseraRuntime.a"))
      library.runtimeDirectory = (here + folder).str();
  auto files = aot::writeLibrary(library, output);
  if (!files)
    return fail("error: " + toString(files.takeError()) + "\n");
  for (const std::string &file : *files)
    outs() << file << "\n";
  return 0;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  if (argc == 2 && StringRef(argv[1]) == "architectures") {
    outs() << nvidia::archPage();
    return 0;
  }
  bool ahead = argc > 1 && StringRef(argv[1]) == "aot";
  if (ahead) {
    std::copy(argv + 2, argv + argc, argv + 1);
    --argc;
  }
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "The Tessera compiler\n");
  bool colour =
      sys::Process::StandardErrHasColors() && !sys::Process::GetEnv("NO_COLOR");

  auto buffer = MemoryBuffer::getFileOrSTDIN(input, /*IsText=*/true);
  if (!buffer)
    return fail("error: cannot read " + input + ": " +
                buffer.getError().message() + "\n");
  StringRef text = (*buffer)->getBuffer();
  if (ahead)
    return writeAheadOfTime(text, argv[0], colour);

  CompileOptions options;
  options.target = targetName;
  options.optLevel = optLevel;
  options.verifyEach = verifyEach;
  options.mistake = mistake;
  options.dumpDirectory = dumpDirectory;
  Compilation compilation(options);
  scope_exit remarks([&] {
    for (const std::string &remark : compilation.remarks())
      errs() << remark;
  });
  if (StringRef(input).ends_with(".mlir") || !compileFrom.empty()) {
    if (!compilation.fromText(text.str(), input))
      return fail(compilation.error());
    if (!compileFrom.empty() && compilation.stage() != compileFrom)
      return fail("error: " + input + " is at stage '" + compilation.stage() +
                  "', not " + compileFrom + "\n");
  } else if (!startFromSource(text, compilation, colour)) {
    return 1;
  }

  if (is_contained(emissionNames(), compileTo) && compileTo != "object") {
    std::string bytes;
    return compilation.emit(compileTo, bytes) ? write(output, bytes)
                                              : fail(compilation.error());
  }
  if (compileTo != "object")
    return compilation.lower(compileTo) ? write(output, compilation.print())
                                        : fail(compilation.error());
  if (output == "-")
    return fail("error: an object file needs a name\n fix:  -o kernel.o\n");
  Artifact artifact;
  if (!compilation.finish(artifact))
    return fail(compilation.error());
  std::string plan = StringRef(output).rsplit('.').first.str() + ".plan";
  return write(output,
               StringRef(artifact.object.data(), artifact.object.size())) ||
         write(plan, artifact.plan);
}
