//===- compile.cpp - Compiling, for Python --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Aot/Aot.h"
#include "compiler/Compiler.h"
#include "jit/Engine.h"

#include "llvm/Support/Error.h"

#include "python/bindings/bindings.h"
#include <chrono>
#include <map>
#include <mutex>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

using namespace tessera;
using namespace tessera::frontend;
using tessera::python::Program;
namespace nb = nanobind;

/// ("tensor", dtype, sizes, unit axis), ("scalar", dtype), ("const", value) or
/// ("omitted",).
static ArgumentSpec toArgument(nb::handle item) {
  auto parts = nb::cast<nb::tuple>(item);
  auto kind = nb::cast<std::string>(parts[0]);
  if (kind == "omitted")
    return ArgumentSpec::omitted();
  if (kind == "const")
    return ArgumentSpec::value(python::toConstant(parts[1]));
  auto dtype = parseDType(nb::cast<std::string>(parts[1]));
  if (!dtype)
    python::raise("InternalError", "no such dtype");
  if (kind == "scalar")
    return ArgumentSpec::scalar(*dtype);
  return ArgumentSpec::tensor(*dtype, nb::cast<std::vector<int64_t>>(parts[2]),
                              nb::cast<int>(parts[3]));
}

static std::map<std::string, ConstantData, std::less<>>
toConstants(nb::dict values) {
  std::map<std::string, ConstantData, std::less<>> constants;
  for (auto [name, value] : values)
    constants[nb::cast<std::string>(name)] = python::toConstant(value);
  return constants;
}

static CompileOptions toOptions(nb::dict values) {
  CompileOptions options;
  options.target = nb::cast<std::string>(values["target"]);
  options.optLevel = nb::cast<int>(values["opt_level"]);
  options.verifyEach = nb::cast<bool>(values["verify"]);
  options.dumpDirectory = nb::cast<std::string>(values["dump"]);
  if (values.contains("symbol_prefix"))
    options.symbolPrefix = nb::cast<std::string>(values["symbol_prefix"]);
  if (values.contains("mistake"))
    options.mistake = nb::cast<std::string>(values["mistake"]);
  return options;
}

/// Raises what the compilation has to say.
static void check(const Compilation &compilation, bool good) {
  if (!good)
    python::raise(compilation.failedInternally() ? "InternalError"
                                                 : "CompileError",
                  compilation.error());
}

namespace {

/// A loop is (trips, name, body), a run of a nest what tessera/nests.py takes.
static nb::list toPython(const tile::LoopTree &tree) {
  nb::list body;
  for (const auto &inner : tree.body) {
    if (!inner->run) {
      body.append(nb::make_tuple(inner->trips, inner->name, toPython(*inner)));
      continue;
    }
    const tile::NestRun &run = *inner->run;
    nb::object matrix = nb::none();
    if (const auto &block = run.matrix)
      matrix = nb::make_tuple(block->unit, block->rows, block->columns,
                              block->depth, block->vectors, block->lanes,
                              block->reloads, block->thin, block->step);
    nb::list touches;
    for (const tile::Touch &touch : run.touches)
      touches.append(nb::make_tuple(touch.array, touch.bytes, touch.along,
                                    touch.write, touch.streams, touch.scratch));
    body.append(nb::make_tuple(run.rows, run.turns, run.vectors, run.ops,
                               run.chained, run.sums, run.wide, matrix,
                               touches));
  }
  return body;
}

/// What `finish` returns. A plan may have kernels that no call ever launches,
/// one per head size for instance, so each is compiled when it is asked for.
class Kernels {
public:
  explicit Kernels(nb::object owner)
      : owner(std::move(owner)),
        compilation(nb::cast<Compilation &>(this->owner)) {
    auto known = nb::module_::import_("tessera._runtime").attr("SYMBOLS");
    for (auto [name, address] : nb::cast<nb::dict>(known))
      symbols.emplace_back(nb::cast<std::string>(name),
                           nb::cast<uint64_t>(address));
  }

  uintptr_t lookup(const std::string &name);
  nb::bytes emit(const std::string &name);
  nb::bytes object();
  void shrink();
  std::vector<std::string> names();

  Artifact artifact;

private:
  /// The GIL is not held by who waits for this, since who has it may want the
  /// GIL next.
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<jit::LoadedObject>> loaded;
  nb::object owner;
  Compilation &compilation;
  jit::Symbols symbols; // functions that kernels call
};

} // namespace

uintptr_t Kernels::lookup(const std::string &name) {
  std::string error;
  bool isOurs = true;
  void *found = nullptr;
  {
    nb::gil_scoped_release release;
    std::lock_guard lock(mutex);
    std::unique_ptr<jit::LoadedObject> &place = loaded[name];
    std::vector<char> object;
    auto start = std::chrono::steady_clock::now();
    if (!place && !compilation.emitObject(name, object)) {
      error = compilation.error();
      isOurs = !compilation.failedInternally();
    } else {
      isOurs = false;
      if (!place) {
        auto made = jit::LoadedObject::load(object, symbols);
        if (made)
          place = std::move(*made);
        else
          error = llvm::toString(made.takeError());
        std::chrono::duration<double, std::milli> elapsed =
            std::chrono::steady_clock::now() - start;
        artifact.times.push_back({"llvm @" + name, elapsed.count()});
      }
      if (place) {
        auto address = place->lookup(name);
        if (address)
          found = *address;
        else
          error = llvm::toString(address.takeError());
      }
    }
    if (!place)
      loaded.erase(name);
  }
  if (!found)
    python::raise(isOurs ? "CompileError" : "InternalError", error);
  return reinterpret_cast<uintptr_t>(found);
}

nb::bytes Kernels::emit(const std::string &name) {
  std::vector<char> object;
  bool good;
  {
    nb::gil_scoped_release release;
    std::lock_guard lock(mutex);
    auto start = std::chrono::steady_clock::now();
    good = compilation.emitObject(name, object);
    std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    if (good)
      artifact.times.push_back({"llvm @" + name, elapsed.count()});
  }
  check(compilation, good);
  return nb::bytes(object.data(), object.size());
}

nb::bytes Kernels::object() {
  bool good = true;
  {
    nb::gil_scoped_release release;
    std::lock_guard lock(mutex);
    if (artifact.object.empty())
      good = compilation.emitObject("", artifact.object);
  }
  check(compilation, good);
  return nb::bytes(artifact.object.data(), artifact.object.size());
}

void Kernels::shrink() {
  nb::gil_scoped_release release;
  std::lock_guard lock(mutex);
  compilation.shrink();
}

std::vector<std::string> Kernels::names() {
  nb::gil_scoped_release release;
  std::lock_guard lock(mutex);
  std::vector<std::string> names;
  for (auto &[name, object] : loaded)
    names.push_back(name);
  return names;
}

void python::bindCompile(nb::module_ &module) {
  nb::class_<Kernels>(module, "Artifact",
                      "A plan, and kernels that become machine code when they "
                      "are first asked for.")
      .def_prop_ro("plan", [](const Kernels &k) { return k.artifact.plan; })
      .def("lookup", &Kernels::lookup,
           "The address of a kernel, linked by LLVM.")
      .def("emit", &Kernels::emit, "The object file of a kernel.")
      .def("shrink", &Kernels::shrink,
           "Frees the compiler's memory; kernels can still be asked for.")
      .def_prop_ro("loaded", &Kernels::names, "The kernels asked for so far.")
      .def_prop_ro("object", &Kernels::object,
                   "All kernels, as one object file.")
      .def_prop_ro("times", [](const Kernels &k) {
        nb::list times;
        for (const PassTime &time : k.artifact.times)
          times.append(nb::make_tuple(time.pass, time.milliseconds));
        return times;
      });

  nb::class_<Compilation>(module, "Compilation",
                          "One program on its way down the stages.")
      .def(
          "lower_by_pass",
          [](Compilation &c, const std::string &stage, int64_t plantAfter,
             uint64_t seed, bool made) {
            std::vector<PassStep> steps;
            Plant plant{plantAfter, seed, made};
            check(c, c.lowerByPass(stage, steps,
                                   plantAfter < 0 ? nullptr : &plant));
            nb::list result;
            for (const PassStep &step : steps)
              result.append(nb::make_tuple(step.number, step.stage, step.pass,
                                           step.text, step.planted));
            return result;
          },
          nb::arg("stage"), nb::arg("plant_after") = -1, nb::arg("seed") = 0,
          nb::arg("made") = false)
      .def("lower", [](Compilation &c,
                       const std::string &stage) { check(c, c.lower(stage)); })
      .def("print", &Compilation::print)
      .def_prop_ro("stage", &Compilation::stage)
      .def_prop_ro("remarks", &Compilation::remarks)
      .def("decisions",
           [](const Compilation &c) {
             nb::list rows;
             for (const Decision &d : c.decisions())
               rows.append(nb::make_tuple(d.kernel, d.what, d.value,
                                          d.alternatives, d.by));
             return rows;
           })
      .def("finish",
           [](nb::object self) {
             auto &compilation = nb::cast<Compilation &>(self);
             auto kernels = std::make_unique<Kernels>(std::move(self));
             bool good;
             {
               nb::gil_scoped_release release;
               good = compilation.finishPlan(kernels->artifact);
             }
             check(compilation, good);
             return kernels;
           })
      .def(
          "emit",
          [](Compilation &c, const std::string &format) -> nb::object {
            std::string made;
            check(c, c.emit(format, made));
            for (const Machine *machine : machines())
              if (const Emission *e = machine->findEmission(format);
                  e && e->isText)
                return nb::str(made.data(), made.size());
            return nb::bytes(made.data(), made.size());
          },
          nb::arg("format"),
          "What the target's machine calls so: text, or bytes.")
      .def_prop_ro("plan", &Compilation::plan)
      .def_prop_ro("kernels",
                   [](const Compilation &c) {
                     nb::list all;
                     for (const auto &[name, needs] : c.kernels())
                       all.append(nb::make_tuple(name, needs.scratch,
                                                 needs.block, needs.shared));
                     return all;
                   })
      .def(
          "facts",
          [](const Compilation &c) {
            ProgramFacts facts = c.facts();
            nb::list conflicts;
            for (const BankConflicts &one : facts.bankConflicts)
              conflicts.append(nb::make_tuple(one.op, one.count, one.place));
            nb::dict made;
            made["tiles"] = facts.hasTiles;
            made["fusions"] = facts.hasFusions;
            made["attention"] = facts.hasAttention;
            made["tensor_cores"] = facts.hasTensorCores;
            made["fast"] = facts.hasFastPolicy;
            made["exact"] = facts.isExact;
            made["numerics"] = facts.numerics;
            made["result_dims"] = facts.resultDims;
            made["bank_conflicts"] = conflicts;
            return made;
          },
          "compiler/ProgramFacts.h")
      .def(
          "work",
          [](const Compilation &c,
             const std::map<std::string, std::vector<int64_t>> &shapes) {
            nb::list all;
            for (auto &[kernel, work] :
                 c.work({.shapes = shapes, .everyArm = true}))
              all.append(nb::make_tuple(kernel, work.flops, work.products,
                                        work.unknown));
            return all;
          },
          nb::arg("shapes"),
          "Per launch of a call: operations, those of products by dtype, and "
          "what could not be counted.")
      .def(
          "loops",
          [](const Compilation &c,
             const std::map<std::string, std::vector<int64_t>> &shapes,
             const std::map<std::string, int64_t> &dims, bool assume) {
            plan::Launches found =
                c.launches({.shapes = shapes, .dims = dims, .assume = assume});
            std::string unknown = found.unknown;
            nb::list all;
            std::vector<tile::LaunchLoops> loops = c.loops(found);
            for (size_t i = 0; i < loops.size(); ++i) {
              const plan::Launched &one = found.all[i];
              if (unknown.empty())
                unknown = loops[i].unknown;
              nb::dict arrays;
              for (const plan::LaunchedTensor &tensor : one.tensors)
                arrays[nb::str(tensor.name.c_str())] = tensor.bytes;
              all.append(nb::make_tuple(one.kernel, one.programs, one.work,
                                        one.threads, toPython(loops[i].tree),
                                        arrays));
            }
            return nb::make_tuple(all, found.assumed, unknown);
          },
          nb::arg("shapes"), nb::arg("dims"), nb::arg("assume") = false,
          "The launches of a call as loops over nests; the sizes that were "
          "assumed; what cannot be followed.");

  module.def(
      "compile_program",
      [](const Program &program, nb::list arguments, nb::dict captured,
         nb::dict constants, nb::dict schedule, const std::string &policy,
         nb::handle accum, const std::string &precision, nb::dict options,
         bool colour) {
        SemaRequest request;
        request.kind = program.kind;
        request.definition = program.definition;
        for (nb::handle argument : arguments)
          request.arguments.push_back(toArgument(argument));
        request.captured = toCaptured(captured);
        request.constants = toConstants(constants);
        request.schedule = toConstants(schedule);
        request.policy = policy;
        request.accum = toConstant(accum);
        request.precision = precision;
        CompileOptions compileOptions = toOptions(options);
        const Machine *machine = findMachine(compileOptions.target);
        request.versionPerHead = machine && machine->versionPerHead;
        request.debug = nb::cast<bool>(options["debug"]);
        if (options.contains("tuning")) {
          auto parts = nb::cast<nb::tuple>(options["tuning"]);
          request.tuning = TuningSpace{
              toConstants(nb::cast<nb::dict>(parts[0])),
              nb::cast<std::vector<std::string>>(parts[1]),
              nb::cast<int64_t>(parts[2]), nb::cast<std::string>(parts[3])};
        }
        std::vector<WholeDim> wanted;
        request.wanted = &wanted;
        auto compilation = std::make_unique<Compilation>(compileOptions);
        bool good = compilation->fromSource(request, sources(), colour);
        // Sizes that a called kernel needs: the caller asks again with them.
        if (!good && !wanted.empty()) {
          nb::list axes;
          for (const WholeDim &dim : wanted)
            axes.append(nb::make_tuple(dim.parameter, dim.axis));
          return nb::object(axes);
        }
        check(*compilation, good);
        return nb::cast(std::move(compilation));
      },
      nb::arg("program"), nb::arg("arguments"), nb::arg("captured"),
      nb::arg("constants"), nb::arg("schedule"), nb::arg("policy"),
      nb::arg("accum").none(), nb::arg("precision"), nb::arg("options"),
      nb::arg("colour"));
  module.def(
      "compile_text",
      [](const std::string &text, const std::string &name, nb::dict options,
         bool checked) {
        auto compilation = std::make_unique<Compilation>(toOptions(options));
        check(*compilation, checked
                                ? compilation->fromText(text, name)
                                : compilation->fromUncheckedText(text, name));
        return compilation;
      },
      nb::arg("text"), nb::arg("name"), nb::arg("options"),
      nb::arg("checked") = true);
  module.def("stages", [] {
    std::vector<std::string> names;
    for (const Stage &stage : stages())
      names.push_back(stage.name.str());
    return names;
  });
  module.def(
      "machine_of",
      [](const std::string &target) -> nb::object {
        const Machine *machine = findMachine(target);
        if (!machine)
          return nb::none();
        nb::dict row;
        row["leaves_early"] = machine->buildMapped == nullptr;
        nb::list emissions;
        for (const Emission &emission : machine->emissions)
          emissions.append(
              nb::make_tuple(emission.name.str(), emission.isText));
        row["emissions"] = emissions;
        return row;
      },
      nb::arg("target"),
      "The row of a target's machine (compiler/Target/Machine.h), or None.");

  module.def(
      "write_library",
      [](const std::string &name, nb::list functions,
         const std::string &directory, const std::string &runtimeDirectory) {
        aot::Library library{name, {}, runtimeDirectory};
        auto unwrap = [](auto result) {
          if (!result) {
            // What has a code of the system is about a file: the user's folder.
            std::string text;
            bool isFile = false;
            llvm::handleAllErrors(
                result.takeError(), [&](const llvm::ErrorInfoBase &info) {
                  std::error_code code = info.convertToErrorCode();
                  isFile = code != llvm::inconvertibleErrorCode();
                  text = info.message() + (isFile ? ": " + code.message() : "");
                });
            python::raise(isFile ? "FileError" : "InternalError", text);
          }
          return std::move(*result);
        };
        for (nb::handle item : functions) {
          auto [title, versions] =
              nb::cast<std::pair<std::string, nb::list>>(item);
          aot::Function function{title, {}};
          for (nb::handle entry : versions) {
            auto parts = nb::cast<nb::tuple>(entry);
            aot::Version version;
            version.artifact.plan = nb::cast<std::string>(parts[0]);
            auto object = nb::cast<nb::bytes>(parts[1]);
            version.artifact.object.assign(object.c_str(),
                                           object.c_str() + object.size());
            version.symbolPrefix = nb::cast<std::string>(parts[2]);
            std::vector<ArgumentSpec> arguments;
            for (nb::handle argument : nb::cast<nb::list>(parts[3]))
              arguments.push_back(toArgument(argument));
            for (nb::handle image : nb::cast<nb::list>(parts[4])) {
              auto [arch, data] =
                  nb::cast<std::pair<std::string, nb::bytes>>(image);
              version.images.push_back(
                  {arch, std::string(data.c_str(), data.size())});
            }
            version.guards =
                unwrap(aot::guardsFor(version.artifact.plan, arguments));
            function.versions.push_back(std::move(version));
          }
          library.functions.push_back(std::move(function));
        }
        return unwrap(aot::writeLibrary(library, directory));
      },
      "Writes header, archive, shared library and CMake file; the files.");
}
