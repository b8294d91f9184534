//===- Compiler.cpp - From a program to an artifact -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Compiler.h"

#include "compiler/CrashSafety.h"
#include "compiler/Dialects.h"
#include "compiler/Schedule/IR/Schedule.h"
#include "compiler/StageText.h"
#include "compiler/Target/IR/LaunchNeeds.h"
#include "compiler/Testing/Mutate.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace tessera;

struct Compilation::Impl {
  explicit Impl(CompileOptions options) : options(std::move(options)) {
    DialectRegistry registry;
    registerDialects(registry);
    const Machine *machine = findMachine(this->options.target);
    if (machine && machine->registerDialects)
      machine->registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.printOpOnDiagnostic(false); // The stage's line is shown instead.
  }

  CompileOptions options;
  // One thread: a context per compilation would otherwise own a pool each.
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  OwningOpRef<ModuleOp> original; // as the front end left it
  std::vector<PassTime> times;
  std::string error;
  bool internal = false, crashed = false;
  std::vector<std::string> remarks;
  const frontend::SourceManager *sources = nullptr;
  frontend::FileId file;
  bool colour = false;

  // For text: the text itself, and the files its remarks name.
  frontend::SourceManager found;
  std::string textName, textStage;
  frontend::FileId textFile;
  llvm::StringMap<frontend::FileId> onDisk;

  /// The file a remark names, if it can be read.
  frontend::FileId readFile(StringRef name);
  /// Turns an MLIR diagnostic into the user's form.
  std::string render(Diagnostic &diagnostic);
  /// Runs `body` with diagnostics collected into `error` and `remarks`.
  template <typename Body> bool guarded(Body body) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        error += render(diagnostic);
      else if (diagnostic.getSeverity() != DiagnosticSeverity::Note)
        remarks.push_back(render(diagnostic));
      return success();
    });
    bool good = false;
    std::string crash = runSafely([&] { good = succeeded(body()); });
    if (!crash.empty()) {
      crashed = true;
      noteMistake(crash);
    } else if (!good && error.empty()) {
      noteMistake("it failed without saying why");
    } else if (!good && StringRef(error).contains("error: LLVM: ")) {
      noteMistake(
          StringRef(error).split("error: ").second.split('\n').first.str());
    } else if (!good && brokeTheIR()) {
      noteMistake("it made wrong IR: " +
                  StringRef(error).split('\n').first.str());
    }
    return good && crash.empty();
  }

  /// Whether the error is the verifier's, after a pass. What the ops of
  /// decisions refuse is a value of the user's.
  bool brokeTheIR() {
    if (!options.verifyEach || !module)
      return false;
    bool isBroken = false, isDecision = false;
    ScopedDiagnosticHandler quiet(&context,
                                  [](Diagnostic &) { return success(); });
    std::string crash = runSafely([&] {
      isBroken = failed(verify(*module));
      module->walk([&](Operation *op) {
        isDecision |= isBroken &&
                      isa<schedule::PlaceOp, schedule::TileOp>(op) &&
                      failed(verify(op));
      });
    });
    return (isBroken && !isDecision) || !crash.empty();
  }
  /// Replaces `error` by one line, and the file that repeats it.
  void noteMistake(const std::string &what);
  std::string writeReproducer(StringRef title);
};

static frontend::SourceRange toRange(frontend::FileId file,
                                     FileLineColLoc place) {
  frontend::SourceRange range;
  uint32_t column = std::max(place.getColumn(), 1u);
  range.file = file;
  range.begin = {place.getLine(), column};
  range.end = {place.getLine(), column + 1};
  return range;
}

/// "tsr.mean(x, dim=0)" at the start of a line's rest, or one character.
static size_t getCallLength(StringRef text) {
  size_t length = 0, depth = 0;
  while (length < text.size() && (llvm::isAlnum(text[length]) ||
                                  text[length] == '_' || text[length] == '.'))
    ++length;
  if (length == 0 || length == text.size() || text[length] != '(')
    return 1;
  for (; length < text.size(); ++length) {
    depth += StringRef("([{").contains(text[length]);
    depth -= StringRef(")]}").contains(text[length]);
    if (depth == 0)
      return length + 1;
  }
  return 1;
}

frontend::FileId Compilation::Impl::readFile(StringRef name) {
  auto [entry, isNew] = onDisk.try_emplace(name);
  // A text may name anything: no pipes or devices, nothing huge.
  uint64_t size = 0;
  if (isNew && llvm::sys::fs::is_regular_file(name) &&
      !llvm::sys::fs::file_size(name, size) && size < (16u << 20))
    if (auto buffer = llvm::MemoryBuffer::getFile(name, /*IsText=*/true))
      entry->second = found.add(name.str(), (*buffer)->getBuffer().str());
  return entry->second;
}

/// What MLIR's parser says, in words of the page on stages.
static std::string inPlainWords(std::string message) {
  if (StringRef(message).starts_with("use of undeclared SSA value name"))
    return "the text uses a value that nothing before it defines";
  StringRef rest = message;
  // 'sched.place' op there are ...: the line that is shown names the op.
  if (rest.starts_with("'") && rest.contains("' op "))
    return rest.split("' op ").second.str();
  if (!rest.consume_front("custom op '"))
    return message;
  auto [name, said] = rest.split("' ");
  if (said.starts_with("is unknown"))
    return ("there is no operation '" + name + "'").str();
  return said.empty() ? message : said.str();
}

/// The user's line, and for text also the line of the stage:
///
///   layer.py:4:15: error: ...
///       4 |     shifted = product + 3.0
///         |               ^
///    note: <layer, edited>:8:5: stage graph: %shifted = gir.add ...
std::string Compilation::Impl::render(Diagnostic &diagnostic) {
  frontend::Diagnostic ours;
  ours.message = inPlainWords(diagnostic.str());
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
    ours.severity = frontend::Severity::Remark;
  FileLineColLoc user, text;
  diagnostic.getLocation()->walk([&](Location part) {
    auto place = dyn_cast<FileLineColLoc>(part);
    if (!place || place.getLine() == 0)
      return WalkResult::advance();
    bool isText = textFile.isValid() && place.getFilename() == textName;
    FileLineColLoc &which = isText ? text : user;
    if (!which)
      which = place;
    return WalkResult::advance();
  });
  const frontend::SourceFile *stage = found.get(textFile);
  if (stage && !user && text) {
    // The parser's own errors know the text only; its line knows the rest.
    StringRef name;
    unsigned row, column;
    std::string line = stage->getLine(text.getLine());
    if (splitRemark(line, name, row, column) && row > 0)
      user = FileLineColLoc::get(&context, name, row, column);
  }
  const frontend::SourceManager *manager = sources ? sources : &found;
  std::string head;
  if (user) {
    frontend::FileId id = sources ? file : readFile(user.getFilename());
    // A text may name a line that the file does not have.
    if (id.isValid() && manager->get(id)->getName() == user.getFilename() &&
        !manager->get(id)->getLine(user.getLine()).empty())
      ours.where = toRange(id, user);
    if (ours.where.isValid() && ours.severity == frontend::Severity::Remark) {
      std::string line = manager->get(id)->getLine(user.getLine());
      StringRef rest = StringRef(line).drop_front(
          std::min<size_t>(ours.where.begin.column - 1, line.size()));
      ours.where.end.column = ours.where.begin.column + getCallLength(rest);
    } else if (!ours.where.isValid())
      head = (user.getFilename().getValue() + ":" + Twine(user.getLine()) +
              ":" + Twine(user.getColumn()) + ": ")
                 .str();
  } else if (stage && text) {
    ours.where = toRange(textFile, text);
  }
  if (stage) {
    std::string note = "stage " + textStage;
    if (text) {
      std::string whole = stage->getLine(text.getLine());
      StringRef line = StringRef(whole).take_front(1 << 13);
      line = line.take_front(line.rfind("  // ")).trim();
      note += (": " + line.take_front(100) + (line.size() > 100 ? "..." : ""))
                  .str();
    }
    ours.addNote(text ? toRange(textFile, text) : frontend::SourceRange(),
                 note);
  }
  for (Diagnostic &note : diagnostic.getNotes()) {
    std::string text = note.str();
    StringRef fix = text;
    if (fix.consume_front("fix: "))
      ours.fix = fix.str();
    else
      ours.addNote({}, text);
  }
  return head + frontend::renderDiagnostic(*manager, ours, colour);
}

void Compilation::Impl::noteMistake(const std::string &what) {
  internal = true;
  std::string title =
      "internal error" +
      (runningPass().empty() ? "" : " in pass " + runningPass()) + ": " + what;
  std::string path = writeReproducer(title);
  error = title + "\n reproducer: " + path + "\n fix:  tessera report " + path +
          ", and send us what it writes\n";
}

/// A text that tesserac reads: what was compiled, how, and with what.
std::string Compilation::Impl::writeReproducer(StringRef title) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "// tessera reproducer 1\n// " << title
         << "\n// tesserac THIS_FILE -o out.o --target " << options.target
         << " --opt-level " << options.optLevel
         << (options.verifyEach ? " --verify-each" : "") << "\n// LLVM "
         << LLVM_VERSION_STRING << "\n";
  if (const frontend::SourceFile *source =
          sources ? sources->get(file) : nullptr) {
    SmallVector<StringRef> lines;
    StringRef(source->getText()).split(lines, '\n');
    stream << "// source " << source->getName() << "\n";
    for (StringRef line : lines)
      stream << "//   " << line << "\n";
  }
  ScopedDiagnosticHandler quiet(&context,
                                [](Diagnostic &) { return success(); });
  std::string ir;
  std::string crash = runSafely([&] {
    if (!original)
      return;
    CompileOptions plain = options;
    plain.mistake.clear();
    plain.dumpDirectory.clear();
    OwningOpRef<ModuleOp> copy = original->clone();
    ir = succeeded(lowerTo(*copy, "graph", plain))
             ? printStage(*copy)
             : "// before stage graph, for tessera-opt\n" +
                   printStage(*original);
  });
  if (!crash.empty())
    ir = "// stage graph cannot be made: " + crash + "\n";
  if (const frontend::SourceFile *given = found.get(textFile))
    ir = given->getText();
  stream << ir;
  SmallString<128> path;
  int descriptor;
  llvm::sys::path::system_temp_directory(/*erasedOnReboot=*/true, path);
  llvm::sys::path::append(path, "tessera-%%%%%%.mlir");
  SmallString<128> model = path;
  if (llvm::sys::fs::createUniqueFile(
          model, descriptor, path, llvm::sys::fs::OF_None,
          llvm::sys::fs::owner_read | llvm::sys::fs::owner_write))
    return "none, the folder for temporary files cannot be written";
  llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
  out << stream.str();
  return path.str().str();
}

Compilation::Compilation(CompileOptions options)
    : impl(std::make_unique<Impl>(std::move(options))) {}
Compilation::~Compilation() {
  if (impl && impl->crashed)
    (void)impl.release(); // Half-made IR is not safe to take apart.
}

const std::string &Compilation::error() const {
  return impl ? impl->error : shrunkError;
}
bool Compilation::failedInternally() const {
  return impl ? impl->internal : shrunkInternal;
}
const std::vector<std::string> &Compilation::remarks() const {
  return impl->remarks;
}

bool Compilation::fromSource(const frontend::SemaRequest &request,
                             const frontend::SourceManager &sources,
                             bool colour) {
  frontend::DiagnosticEngine diags(sources);
  impl->sources = &sources;
  impl->file = request.definition->range.file;
  impl->colour = colour;
  bool wantsMore = false;
  bool good = impl->guarded([&]() -> LogicalResult {
    auto module = frontend::analyze(impl->context, request, diags);
    if (succeeded(module)) {
      impl->module = std::move(*module);
      impl->original = impl->module->clone();
      return success();
    }
    impl->error = diags.render(colour);
    wantsMore = request.wanted && !request.wanted->empty();
    if (impl->error.empty() && wantsMore)
      impl->error = "sizes are missing"; // The caller asks again with them.
    return failure();
  });
  if (!good && !impl->internal &&
      StringRef(impl->error).contains("(a mistake in tessera)"))
    impl->noteMistake(StringRef(impl->error).split('\n').first.str());
  return good;
}

/// What a text says about its stage, before it is parsed.
static std::string stageIn(StringRef text) {
  auto [before, after] = text.split("tessera.stage = \"");
  return after.empty() ? "unknown" : after.split('"').first.str();
}

bool Compilation::fromText(const std::string &text, const std::string &name) {
  impl->textName = name;
  impl->textFile = impl->found.add(name, text);
  impl->textStage = stageIn(text);
  return impl->guarded([&]() -> LogicalResult {
    impl->module = parseStage(&impl->context, text, name);
    return impl->module ? checkStage(*impl->module) : failure();
  });
}

bool Compilation::fromUncheckedText(const std::string &text,
                                    const std::string &name) {
  impl->textName = name;
  impl->textFile = impl->found.add(name, text);
  impl->textStage = stageIn(text);
  return impl->guarded([&]() -> LogicalResult {
    impl->module = parseStage(&impl->context, text, name);
    return success(bool(impl->module));
  });
}

bool Compilation::with(
    llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp)> body) {
  impl->error.clear();
  return impl->guarded([&] { return body(*impl->module); });
}

bool Compilation::lower(const std::string &stage) {
  return impl->guarded([&] {
    return lowerTo(*impl->module, stage, impl->options, &impl->times);
  });
}

/// A module that has just left the front end is printed as stage graph, so
/// that the text can be read again.
static std::string printBetween(ModuleOp module) {
  if (!getStage(module).empty())
    return printStage(module);
  NamedAttrList before = module->getAttrs();
  setStage(module, "graph");
  std::string text = printStage(module);
  module->setAttrs(before.getDictionary(module.getContext()));
  return text;
}

bool Compilation::lowerByPass(const std::string &stage,
                              std::vector<PassStep> &steps,
                              const Plant *plant) {
  std::string last = printBetween(*impl->module);
  int64_t number = 0;
  auto markBefore = [&] {
    if (plant && plant->made && plant->pass == number)
      testing::markBefore(*impl->module);
  };
  markBefore();
  auto observe = [&](StringRef toward, StringRef pass, ModuleOp module) {
    std::string planted;
    if (plant && plant->pass == number)
      planted = testing::mutate(module, plant->seed, plant->made);
    std::string text = printBetween(module);
    if (text != last)
      steps.push_back({number, toward.str(), pass.str(), text, planted});
    last = std::move(text);
    ++number;
    markBefore();
  };
  return impl->guarded([&] {
    return lowerTo(*impl->module, stage, impl->options, &impl->times, observe);
  });
}

std::string Compilation::print() const { return printStage(*impl->module); }

std::string Compilation::stage() const { return getStage(*impl->module).str(); }

std::vector<Decision> Compilation::decisions() const {
  std::vector<Decision> all;
  (*impl->module)->walk([&](Operation *op) {
    Operation *kernel = op->getParentOp();
    auto add = [&](StringRef what, schedule::ParamAttr param) {
      StringAttr name = SymbolTable::getSymbolName(kernel);
      all.push_back({name ? name.str() : "",
                     what.str(),
                     schedule::stringifyDecider(param.getBy()).str(),
                     param.getValue(),
                     {param.getRange().begin(), param.getRange().end()}});
    };
    if (auto tile = dyn_cast<schedule::TileOp>(op))
      add(("tile " +
           (tile.getName() ? *tile.getName() : std::to_string(tile.getLoop())) +
           " (" + schedule::stringifyLoopKind(tile.getKind()) + ")")
              .str(),
          tile.getSize());
    else if (auto place = dyn_cast<schedule::PlaceOp>(op))
      add(schedule::stringifyPlacement(place.getWhat()), place.getValue());
    else if (auto pipeline = dyn_cast<schedule::PipelineOp>(op))
      add("stages", pipeline.getStages());
  });
  return all;
}

FailureOr<std::string> tessera::writePlan(ModuleOp module,
                                          const CompileOptions &options) {
  auto plans = llvm::to_vector(module.getOps<plan::FuncOp>());
  if (plans.size() != 1)
    return module.emitError()
           << "a program has one plan.func, this module has " << plans.size();
  // Written, not kept: a text that is resumed is compiled for its own machine.
  plan::FuncOp plan = plans[0];
  const Machine *machine = findMachine(options.target);
  if (machine && machine->features)
    plan.setFeaturesAttr(machine->features(module, options));
  std::string text = plan::exportText(plan, target::launchNeeds);
  plan.removeFeaturesAttr();
  return text;
}

bool Compilation::emit(const std::string &format, std::string &bytes) {
  return impl->guarded([&]() -> LogicalResult {
    auto made =
        tessera::emit(*impl->module, format, impl->options, &impl->times);
    if (failed(made))
      return failure();
    bytes = *made;
    return success();
  });
}

std::string Compilation::plan() const {
  for (auto plan : impl->module->getOps<plan::FuncOp>())
    return plan::exportText(plan, target::launchNeeds);
  return "";
}

plan::Launches Compilation::launches(const plan::CallSizes &call) const {
  for (auto plan : impl->module->getOps<plan::FuncOp>())
    return plan::launchesOf(plan, call);
  plan::Launches none;
  none.unknown = "a program without a plan";
  return none;
}

ProgramFacts Compilation::facts() const { return factsOf(*impl->module); }

std::vector<std::pair<std::string, tile::KernelWork>>
Compilation::work(const plan::CallSizes &call) const {
  std::vector<std::pair<std::string, tile::KernelWork>> all;
  for (const plan::Launched &one : launches(call).all) {
    auto func = impl->module->lookupSymbol<tile::FuncOp>(one.kernel);
    if (!func)
      continue;
    std::vector<std::vector<int64_t>> shapes;
    for (const plan::LaunchedTensor &tensor : one.tensors)
      shapes.push_back(tensor.shape);
    all.emplace_back(one.kernel, tile::workOf(func, shapes));
  }
  return all;
}

std::vector<tile::LaunchLoops>
Compilation::loops(const plan::Launches &launches) const {
  const Machine *machine = findMachine(impl->options.target);
  std::vector<tile::LaunchLoops> all;
  for (const plan::Launched &one : launches.all) {
    auto func = impl->module->lookupSymbol<tile::FuncOp>(one.kernel);
    if (!func || !machine || !machine->loops) {
      all.emplace_back().unknown = "what " + impl->options.target + " runs";
      continue;
    }
    tile::LaunchArguments given;
    for (const plan::LaunchedTensor &tensor : one.tensors) {
      given.shapes.push_back(tensor.shape);
      given.arrays.push_back(tensor.name);
    }
    given.scalars = one.scalars;
    all.push_back(machine->loops(func, given));
  }
  return all;
}

std::vector<std::pair<std::string, plan::LaunchNeeds>>
Compilation::kernels() const {
  llvm::MapVector<StringRef, plan::LaunchNeeds> all;
  impl->module->walk([&](plan::LaunchOp launch) {
    all.insert({launch.getKernel(),
                target::launchNeeds(SymbolTable::lookupNearestSymbolFrom(
                    launch, launch.getKernelAttr()))});
  });
  std::vector<std::pair<std::string, plan::LaunchNeeds>> result;
  for (auto &[name, needs] : all)
    result.push_back({name.str(), needs});
  return result;
}

bool Compilation::finish(Artifact &artifact) {
  return finishPlan(artifact) && emitObject("", artifact.object);
}

void Compilation::shrink() {
  if (!shrunk.empty())
    return;
  llvm::raw_string_ostream stream(shrunk);
  // A module that was just checked can be written; if not, nothing is gained.
  if (failed(writeBytecodeToFile(*impl->module, stream))) {
    shrunk.clear();
    return;
  }
  CompileOptions options = impl->options;
  impl.reset();
  shrunkOptions = std::move(options);
}

bool Compilation::emitObject(const std::string &name,
                             std::vector<char> &object) {
  if (!impl) {
    // Back to a full compilation for as long as it takes.
    Compilation whole(shrunkOptions);
    bool good = whole.impl->guarded([&]() -> LogicalResult {
      whole.impl->module = parseSourceString<ModuleOp>(
          StringRef(shrunk.data(), shrunk.size()),
          ParserConfig(&whole.impl->context, /*verifyAfterParse=*/false));
      return success(bool(whole.impl->module));
    });
    good = good && whole.emitObject(name, object);
    shrunkError = whole.impl->error;
    shrunkInternal = whole.impl->internal;
    return good;
  }
  return impl->guarded([&]() -> LogicalResult {
    auto bytes =
        tessera::emit(*impl->module, "object", impl->options, nullptr, name);
    if (failed(bytes))
      return failure();
    object.assign(bytes->begin(), bytes->end());
    return success();
  });
}

bool Compilation::finishPlan(Artifact &artifact) {
  const Machine *machine = findMachine(impl->options.target);
  if (machine && !machine->findEmission("object")) {
    std::string none;
    return emit("object", none); // says for which targets there is one
  }
  if (!lower("target"))
    return false;
  return impl->guarded([&]() -> LogicalResult {
    auto plan = writePlan(*impl->module, impl->options);
    if (failed(plan))
      return failure();
    artifact.plan = *plan;
    artifact.times = impl->times;
    return success();
  });
}
