//===- compile.cpp - Compiling, for Python --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Compiler.h"
#include "jit/Engine.h"

#include "llvm/Support/Error.h"

#include "python/bindings/bindings.h"
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
  return options;
}

/// Raises what the compilation has to say.
static void check(const Compilation &compilation, bool good) {
  if (!good)
    python::raise("CompileError", compilation.error());
}

void python::bindCompile(nb::module_ &module) {
  nb::class_<jit::LoadedObject>(module, "LoadedObject",
                                "Object code, linked into this process.")
      .def_static("load",
                  [](nb::bytes object) {
                    auto loaded = jit::LoadedObject::load(
                        llvm::ArrayRef<char>(object.c_str(), object.size()));
                    if (!loaded)
                      python::raise("InternalError",
                                    llvm::toString(loaded.takeError()));
                    return std::move(*loaded);
                  })
      .def("lookup", [](jit::LoadedObject &object, const std::string &name) {
        auto address = object.lookup(name);
        if (!address)
          python::raise("InternalError", llvm::toString(address.takeError()));
        return reinterpret_cast<uintptr_t>(*address);
      });

  nb::class_<Artifact>(module, "Artifact", "Machine code and its plan.")
      .def_ro("plan", &Artifact::plan)
      .def_prop_ro("object",
                   [](const Artifact &a) {
                     return nb::bytes(a.object.data(), a.object.size());
                   })
      .def_prop_ro("times", [](const Artifact &a) {
        nb::list times;
        for (const PassTime &time : a.times)
          times.append(nb::make_tuple(time.pass, time.milliseconds));
        return times;
      });

  nb::class_<Compilation>(module, "Compilation",
                          "One program on its way down the stages.")
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
           [](Compilation &c) {
             auto artifact = std::make_unique<Artifact>();
             bool good;
             {
               nb::gil_scoped_release release;
               good = c.finish(*artifact);
             }
             check(c, good);
             return artifact;
           })
      .def("llvm", [](Compilation &c) {
        std::string text;
        check(c, c.emitLLVM(text));
        return text;
      });

  module.def(
      "compile_program",
      [](const Program &program, nb::list arguments, nb::dict captured,
         nb::dict constants, nb::dict schedule, const std::string &policy,
         nb::handle accum, nb::dict options, bool colour) {
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
        CompileOptions compileOptions = toOptions(options);
        request.target = compileOptions.target;
        auto compilation = std::make_unique<Compilation>(compileOptions);
        check(*compilation,
              compilation->fromSource(request, sources(), colour));
        return compilation;
      },
      nb::arg("program"), nb::arg("arguments"), nb::arg("captured"),
      nb::arg("constants"), nb::arg("schedule"), nb::arg("policy"),
      nb::arg("accum").none(), nb::arg("options"), nb::arg("colour"));
  module.def(
      "compile_text",
      [](const std::string &text, const std::string &name, nb::dict options) {
        auto compilation = std::make_unique<Compilation>(toOptions(options));
        check(*compilation, compilation->fromText(text, name));
        return compilation;
      },
      nb::arg("text"), nb::arg("name"), nb::arg("options"));
  module.def("stages", [] {
    std::vector<std::string> names;
    for (const Stage &stage : stages())
      names.push_back(stage.name.str());
    return names;
  });
}
