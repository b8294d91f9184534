//===- Compiler.cpp - From a program to an artifact -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Compiler.h"

#include "compiler/Dialects.h"
#include "compiler/Schedule/IR/Schedule.h"
#include "compiler/StageText.h"
#include "compiler/Tile/IR/Tile.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace tessera;

struct Compilation::Impl {
  explicit Impl(CompileOptions options) : options(std::move(options)) {
    DialectRegistry registry;
    registerDialects(registry);
    target::registerCpuTranslations(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  CompileOptions options;
  // One thread: a context per compilation would otherwise own a pool each.
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  std::vector<PassTime> times;
  std::string error;
  const frontend::SourceManager *sources = nullptr;
  frontend::FileId file;
  bool colour = false;

  /// Turns an MLIR diagnostic into the user's form.
  std::string render(Diagnostic &diagnostic);
  /// Runs `body` with diagnostics collected into `error`.
  template <typename Body> bool guarded(Body body) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        error += render(diagnostic);
      return success();
    });
    bool good = succeeded(body());
    if (!good && error.empty())
      error = "error: the compiler failed without saying why\n";
    return good;
  }
};

/// The place in the user's source; a null location if there is none.
static FileLineColLoc findPlace(Location loc) {
  FileLineColLoc found;
  loc->walk([&](Location part) {
    auto place = dyn_cast<FileLineColLoc>(part);
    if (!place || place.getLine() == 0)
      return WalkResult::advance();
    found = place;
    return WalkResult::interrupt();
  });
  return found;
}

std::string Compilation::Impl::render(Diagnostic &diagnostic) {
  frontend::Diagnostic ours;
  ours.message = diagnostic.str();
  FileLineColLoc place = findPlace(diagnostic.getLocation());
  if (place && sources && file.isValid() &&
      sources->get(file)->getName() == place.getFilename().getValue()) {
    ours.where.file = file;
    ours.where.begin = {place.getLine(), std::max(place.getColumn(), 1u)};
    ours.where.end = {place.getLine(), std::max(place.getColumn(), 1u) + 1};
    return frontend::renderDiagnostic(*sources, ours, colour);
  }
  std::string where;
  if (place)
    where = (place.getFilename().getValue() + ":" + Twine(place.getLine()) +
             ":" + Twine(place.getColumn()) + ": ")
                .str();
  std::string text = where + "error: " + ours.message + "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    text += " note: " + note.str() + "\n";
  return text;
}

Compilation::Compilation(CompileOptions options)
    : impl(std::make_unique<Impl>(std::move(options))) {}
Compilation::~Compilation() = default;

const std::string &Compilation::error() const { return impl->error; }

bool Compilation::fromSource(const frontend::SemaRequest &request,
                             const frontend::SourceManager &sources,
                             bool colour) {
  frontend::DiagnosticEngine diags(sources);
  impl->sources = &sources;
  impl->file = request.definition->range.file;
  impl->colour = colour;
  auto module = frontend::analyze(impl->context, request, diags);
  if (failed(module)) {
    impl->error = diags.render(colour);
    if (impl->error.empty())
      impl->error = "error: the front end failed without saying why\n";
    return false;
  }
  impl->module = std::move(*module);
  return true;
}

bool Compilation::fromText(const std::string &text, const std::string &name) {
  return impl->guarded([&] {
    impl->module = parseStage(&impl->context, text, name);
    return success(bool(impl->module));
  });
}

bool Compilation::lower(const std::string &stage) {
  return impl->guarded([&] {
    return lowerTo(*impl->module, stage, impl->options, &impl->times);
  });
}

std::string Compilation::print() const { return printStage(*impl->module); }

std::string Compilation::stage() const { return getStage(*impl->module).str(); }

std::vector<Decision> Compilation::decisions() const {
  std::vector<Decision> all;
  (*impl->module)->walk([&](Operation *op) {
    Operation *kernel = op->getParentOp();
    auto add = [&](StringRef what, schedule::ParamAttr param) {
      auto name = kernel->getAttrOfType<StringAttr>("sym_name");
      all.push_back({name ? name.str() : "",
                     what.str(),
                     param.getBy().str(),
                     param.getValue(),
                     {param.getRange().begin(), param.getRange().end()}});
    };
    if (auto tile = dyn_cast<schedule::TileOp>(op))
      add(("tile " +
           (tile.getName() ? *tile.getName() : std::to_string(tile.getLoop())) +
           " (" + tile.getKind() + ")")
              .str(),
          tile.getSize());
    else if (auto place = dyn_cast<schedule::PlaceOp>(op))
      add(place.getWhat(), place.getValue());
    else if (auto pipeline = dyn_cast<schedule::PipelineOp>(op))
      add("stages", pipeline.getStages());
  });
  return all;
}

/// The plan's `requires` line: what the kernels use without asking. The runtime
/// checks it, and asks the kernel of the system for AMX.
static std::string requirements(ModuleOp module,
                                const target::CpuOptions &options) {
  bool amx = false;
  module->walk([&](Operation *op) {
    amx |= llvm::any_of(op->getResultTypes(), [](Type type) {
      return isa<LLVM::LLVMX86AMXType>(type);
    });
  });
  std::string line = options.resolved().vectorBytes() == 64
                         ? "requires \"avx512f\" \"avx512bw\" \"avx512vl\""
                         : "requires \"avx2\" \"fma\"";
  return line + (amx ? " \"amx-tile\" \"amx-bf16\"\n" : "\n");
}

bool Compilation::finish(Artifact &artifact) {
  if (!lower("target"))
    return false;
  return impl->guarded([&]() -> LogicalResult {
    artifact.plan = "tessera.plan 1\n";
    size_t plans = 0;
    for (auto plan : impl->module->getOps<tile::PlanOp>()) {
      ++plans;
      for (Attribute line : plan.getLines()) {
        StringRef text = cast<StringAttr>(line).getValue();
        if (text == "body")
          artifact.plan +=
              requirements(*impl->module, cpuOptions(impl->options));
        artifact.plan += text.str() + "\n";
      }
    }
    if (plans != 1)
      return impl->module->emitError()
             << "a program has one tile.plan, this module has " << plans;
    auto object =
        target::emitCpuObject(*impl->module, cpuOptions(impl->options));
    if (failed(object))
      return failure();
    artifact.object.assign(object->begin(), object->end());
    artifact.times = impl->times;
    return success();
  });
}

bool Compilation::emitLLVM(std::string &text) {
  if (!lower("target"))
    return false;
  return impl->guarded([&]() -> LogicalResult {
    auto ir = target::emitLLVMIR(*impl->module, cpuOptions(impl->options));
    if (failed(ir))
      return failure();
    text = *ir;
    return success();
  });
}
