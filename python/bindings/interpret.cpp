//===- interpret.cpp - Interpreting a stage, for Python -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Compiler.h"
#include "compiler/Interpreter/Certificate.h"
#include "compiler/Interpreter/Run.h"

#include "python/bindings/bindings.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

using namespace tessera;
using namespace tessera::interpreter;
namespace nb = nanobind;

static HostArray toHost(nb::handle item) {
  auto parts = nb::cast<nb::tuple>(item);
  HostArray array;
  array.name = nb::cast<std::string>(parts[0]);
  array.dtype = nb::cast<std::string>(parts[1]);
  array.shape = nb::cast<std::vector<int64_t>>(parts[2]);
  auto bytes = nb::cast<nb::bytes>(parts[3]);
  array.bytes.assign(bytes.c_str(), bytes.size());
  if (parts.size() > 4)
    array.strides = nb::cast<std::vector<int64_t>>(parts[4]);
  return array;
}

static nb::bytes toBytes(const std::vector<double> &values) {
  return nb::bytes(reinterpret_cast<const char *>(values.data()),
                   values.size() * sizeof(double));
}

/// (name, dtype, shape, bytes, values, errors, poison)
static nb::tuple fromHost(const HostArray &array) {
  return nb::make_tuple(array.name, array.dtype, array.shape,
                        nb::bytes(array.bytes.data(), array.bytes.size()),
                        toBytes(array.values), toBytes(array.errors),
                        array.poison);
}

static nb::list fromHosts(const std::vector<HostArray> &arrays) {
  nb::list result;
  for (const HostArray &array : arrays)
    result.append(fromHost(array));
  return result;
}

static nb::dict run(Compilation &compilation, const std::string &function,
                    const std::string &domain, nb::list arguments,
                    uint64_t seed, uint64_t maxWork, bool trace) {
  RunRequest request;
  request.function = function;
  request.domain = domain;
  request.seed = seed;
  request.trace = trace;
  if (maxWork)
    request.maxWork = maxWork;
  for (nb::handle argument : arguments)
    request.arguments.push_back(toHost(argument));
  RunOutcome outcome;
  bool good;
  {
    nb::gil_scoped_release release;
    good = compilation.with([&](mlir::ModuleOp module) {
      return runModule(module, request, outcome);
    });
  }
  if (!good)
    python::raise("RunError", compilation.error());
  nb::dict result;
  result["results"] = fromHosts(outcome.results);
  result["printed"] = outcome.printed;
  result["launched"] = outcome.launched;
  nb::list remarks;
  for (const RunRemark &remark : outcome.remarks)
    remarks.append(nb::make_tuple(remark.kind, remark.location, remark.text,
                                  remark.count));
  result["remarks"] = remarks;
  nb::list entries;
  for (const TraceEntry &entry : outcome.trace)
    entries.append(
        nb::make_tuple(entry.op, entry.location, fromHosts(entry.results)));
  result["trace"] = entries;
  return result;
}

/// (name, mode, dtype, dims) of each parameter; and the function's name.
static nb::tuple parameters(Compilation &compilation, std::string function) {
  nb::list rows;
  bool good = compilation.with([&](mlir::ModuleOp module) {
    std::unique_ptr<Domain> domain = createExactDomain();
    if (function.empty())
      function = Interpreter(module, *domain).findEntry();
    if (function.empty())
      return llvm::LogicalResult(
          module.emitError()
          << "the module has no function, or several: say which one");
    auto found = runParameters(module, function);
    if (failed(found))
      return llvm::failure();
    for (const RunParameter &p : *found)
      rows.append(nb::make_tuple(p.name, p.mode, p.dtype, p.dims));
    return llvm::success();
  });
  if (!good)
    python::raise("RunError", compilation.error());
  return nb::make_tuple(function, rows);
}

void python::bindInterpret(nb::module_ &module) {
  module.def("interpret", run, nb::arg("compilation"), nb::arg("function"),
             nb::arg("domain"), nb::arg("arguments"), nb::arg("seed") = 0,
             nb::arg("max_work") = 0, nb::arg("trace") = false,
             "Runs the module; a dict of results, printed, remarks and trace.");
  module.def("interpret_parameters", parameters, nb::arg("compilation"),
             nb::arg("function") = "");
  module.def(
      "certificate",
      [](Compilation &compilation) {
        Certificate found;
        bool good = compilation.with([&](mlir::ModuleOp module) {
          auto certificate = certify(module);
          if (failed(certificate))
            return llvm::failure();
          found = std::move(*certificate);
          return llvm::success();
        });
        if (!good)
          python::raise("RunError", compilation.error());
        nb::list steps;
        for (const auto &[name, formula] : found.steps)
          steps.append(nb::make_tuple(name, formula));
        return nb::make_tuple(steps, found.results, found.missing);
      },
      "(steps, errors of the results, why one has none) as formulas.");
  module.def("interpreted_ops", [] { return allHandlers().names(); });
  module.def(
      "scalar_ops",
      [] {
        static constexpr const char *precision[] = {"exact", "rounded", "2 ulp",
                                                    "composed"};
        static constexpr const char *ring[] = {"exact", "opaque", "composed",
                                               "excluded"};
        nb::list rows;
        for (const ScalarOpInfo &info : scalarOps())
          rows.append(nb::make_tuple(info.name.str(), info.operands,
                                     precision[unsigned(info.precision)],
                                     ring[unsigned(info.ring)]));
        return rows;
      },
      "(name, operands, precision, ring class) of each scalar op.");
}
