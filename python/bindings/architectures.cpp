//===- architectures.cpp - The table of architectures, for Python ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "python/bindings/architectures.h"

#include "compiler/Support/Architectures/Nvidia.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace tessera::nvidia;

static Arch archOrThrow(const std::string &name) {
  std::optional<Arch> arch = parseArch(name);
  if (!arch)
    throw nb::value_error(
        ("no architecture is called '" + name + "'; there are " + archNames())
            .c_str());
  return *arch;
}

/// One machine with everything the table says of it.
static nb::dict describe(const std::string &name) {
  Arch arch = archOrThrow(name);
  const Machine &row = machine(arch);
  nb::dict result;
  result["name"] = arch.name();
  result["major"] = arch.major;
  result["minor"] = arch.minor;
  result["suffix"] = arch.suffix ? std::string(1, arch.suffix) : "";
  result["family"] = row.family;
  result["ptx"] = ptxVersion(arch);
  result["ptx_emitted"] = ptxEmitted(arch);
  result["assembles"] = row.assembles;
  result["shared_per_block"] = row.sharedPerBlock;
  result["shared_per_sm"] = row.sharedPerSm;
  result["registers_per_sm"] = row.registersPerSm;
  result["registers_per_thread"] = row.registersPerThread;
  result["warps_per_sm"] = row.warpsPerSm;
  result["blocks_per_sm"] = row.blocksPerSm;
  result["cluster"] = row.cluster;
  result["cluster_non_portable"] = row.clusterNonPortable;
  result["tensor_memory_columns"] = row.tensorMemoryColumns;
  result["multiprocessors"] = row.multiprocessors;
  nb::list instructions, products;
  for (const FeatureRow &feature : features())
    if (feature.where.on(arch))
      instructions.append(feature.name);
  for (const MmaRow &form : mmaRows())
    if (form.where.on(arch))
      products.append(nb::make_tuple(int(form.instruction), form.a, form.b,
                                     form.d, form.m, form.n, form.k));
  result["instructions"] = instructions;
  result["products"] = products;
  const Peak &p = row.peak;
  nb::dict peak;
  peak["product"] = p.product;
  for (auto [key, rate] : {std::pair("fp64", p.f64), std::pair("fp32", p.f32),
                           std::pair("tf32", p.tf32), std::pair("fp16", p.f16),
                           std::pair("bf16", p.bf16), std::pair("fp8", p.fp8),
                           std::pair("i8", p.int8), std::pair("fp4", p.fp4),
                           std::pair("bandwidth", p.bandwidth)})
    peak[key] =
        rate < 0 ? nb::object(nb::none()) : nb::object(nb::float_(rate));
  peak["source"] = p.source;
  result["peak"] = peak;
  return result;
}

void tessera::python::bindArchitectures(nb::module_ &module) {
  module.def("arch_is_known",
             [](const std::string &name) { return bool(parseArch(name)); });
  module.def("arch_names", [] {
    std::vector<std::string> names;
    for (const Machine &row : machines()) {
      Arch arch{row.number / 10, row.number % 10, 0};
      names.push_back(arch.name());
      for (const char *suffix = row.suffixes; *suffix; ++suffix)
        names.push_back(arch.name() + *suffix);
    }
    return names;
  });
  module.def("arch_promoted", [](const std::string &name) {
    return promoted(archOrThrow(name)).name();
  });
  module.def("arch", describe);
  module.def("arch_features", [] {
    nb::list rows;
    for (const FeatureRow &row : features())
      rows.append(nb::make_tuple(row.name, row.where.text()));
    return rows;
  });
  module.def("arch_mma", [](const std::string &name, const std::string &a,
                            const std::string &b, const std::string &d) {
    const MmaRow *row = findMma(archOrThrow(name), a, b, d);
    return row ? std::optional(row->text()) : std::nullopt;
  });
  module.def("arch_mma_where", [](const std::string &a, const std::string &b,
                                  const std::string &d) {
    const MmaRow *row = findMmaAnywhere(a, b, d);
    return row ? row->where.text() : std::string("no machine");
  });
  module.def("arch_occupancy", [](const std::string &name, int threads,
                                  int registers, int shared) {
    Occupancy o = occupancy(archOrThrow(name), threads, registers, shared);
    nb::dict result;
    result["blocks"] = o.blocks;
    result["warps"] = o.warps;
    result["fraction"] = o.fraction;
    result["limiter"] = o.limiter;
    return result;
  });
}
