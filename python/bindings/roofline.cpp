//===- roofline.cpp - The measured roofline, for Python -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tessera-c/roofline.h"

#include "python/bindings/executable.h"
#include <nanobind/stl/string.h>

using namespace tessera;
namespace nb = nanobind;

/// A status as a reason: "" for success; other errors than a missing feature
/// are raised.
static std::string reason(tsr_status status) {
  if (tsr_status_code(status) != TSR_UNSUPPORTED)
    python::checkStatus(status);
  std::string text = tsr_status_message(status);
  tsr_status_free(status);
  return text;
}

static nb::dict measure(int32_t roof, int32_t threads, double seconds) {
  tsr_roof_sample sample{};
  sample.struct_size = sizeof sample;
  tsr_status status;
  {
    nb::gil_scoped_release release;
    status = tsr_roof_measure(roof, threads, seconds, &sample);
  }
  nb::dict found;
  found["missing"] = reason(status);
  found["best"] = sample.best;
  found["median"] = sample.median;
  found["bytes"] = sample.bytes;
  found["runs"] = sample.runs;
  return found;
}

static double probe() {
  double rate = 0;
  tsr_status status;
  {
    nb::gil_scoped_release release;
    status = tsr_amx_probe(&rate);
  }
  reason(status);
  return rate;
}

void python::bindRoofline(nb::module_ &module) {
  nb::list roofs;
  for (int32_t i = 0; i < TSR_NUM_ROOFS; ++i)
    roofs.append(nb::make_tuple(tsr_roof_name(i), tsr_roof_unit(i)));
  module.attr("ROOFS") = roofs;
  module.def("roof_measure", &measure, nb::arg("roof"), nb::arg("threads"),
             nb::arg("seconds"), "Best and median rate of ROOFS[roof].");
  module.def("amx_probe", &probe,
             "Operations per second of the slowest core's AMX now; 0 without.");
}
