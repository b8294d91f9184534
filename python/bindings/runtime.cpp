//===- runtime.cpp - The Python extension tessera._runtime ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a call needs once its function is compiled: no LLVM in here, so that it
// is loaded in a millisecond.

#include "tessera-c/runtime.h"

#include "python/bindings/architectures.h"
#include "python/bindings/arrays.h"
#include "python/bindings/executable.h"
#include "tessera-c/profile.h"
#include <algorithm>
#include <mutex>
#include <nanobind/ndarray.h>
#include <new>

/// What kernels print goes where Python's print does.
static void printInPython(void *, const char *text, size_t length) {
  nanobind::gil_scoped_acquire acquire;
  try {
    nanobind::module_::import_("sys").attr("stdout").attr("write")(
        nanobind::str(text, length));
  } catch (nanobind::python_error &error) {
    error.discard_as_unraisable("the output of a kernel");
  }
}

const std::vector<tessera::python::Symbol> &tessera::python::symbols() {
  auto symbol = [](std::string_view name, auto *function) {
    return Symbol{name, reinterpret_cast<void *>(function)};
  };
  static const std::vector<Symbol> all = {
      symbol("tsr_print_begin", tsr_print_begin),
      symbol("tsr_print_value", tsr_print_value),
      symbol("tsr_print_axis", tsr_print_axis),
      symbol("tsr_print_int", tsr_print_int),
      symbol("tsr_print_float", tsr_print_float),
      symbol("tsr_print_end", tsr_print_end),
  };
  return all;
}

/// A result of a call that is not direct: `like` is NumPy's dtype, or torch's
/// class. None if torch can't make such a tensor from outside.
static nanobind::object makeArray(int32_t dtype, nanobind::tuple shape,
                                  nanobind::handle like) {
  using namespace tessera::python;
  ResultType type;
  if (PyType_Check(like.ptr())) {
    learnArrayType(reinterpret_cast<PyTypeObject *>(like.ptr()));
    type.library = Library::Torch;
    type.element = torchElement(dtype);
    if (!type.element || !canMakeTorch())
      return nanobind::none();
  } else {
    type.library = Library::NumPy;
    type.dtype = like.ptr();
  }
  std::vector<int64_t> sizes;
  auto bytes = static_cast<size_t>(tsr_dtype_bits(dtype) + 7) / 8;
  for (nanobind::handle size : shape) {
    sizes.push_back(nanobind::cast<int64_t>(size));
    bytes *= static_cast<size_t>(sizes.back());
  }
  void *data = nullptr;
  PyObject *made = tessera::python::makeArray(type, int(sizes.size()),
                                              sizes.data(), bytes, data);
  if (!made)
    throw nanobind::python_error();
  return nanobind::make_tuple(nanobind::steal(made),
                              reinterpret_cast<uintptr_t>(data));
}

/// Read-only bytes that live in the runtime's constants.
static nanobind::object makeConstant(uintptr_t address, size_t bytes) {
  void *memory = nullptr;
  tessera::python::checkStatus(tsr_constant_create(
      reinterpret_cast<const void *>(address), bytes, &memory));
  nanobind::capsule owner(memory,
                          [](void *kept) noexcept { tsr_constant_free(kept); });
  return nanobind::cast(nanobind::ndarray<nanobind::numpy, const uint8_t>(
      memory, {bytes}, owner));
}

static nanobind::dict memoryStats() {
  tsr_memory_stats stats{};
  stats.struct_size = sizeof stats;
  tsr_get_memory_stats(&stats);
  nanobind::dict all;
  all["bytes_in_use"] = stats.bytes_in_use;
  all["peak_bytes_in_use"] = stats.peak_bytes_in_use;
  all["bytes_cached"] = stats.bytes_cached;
  all["allocations"] = stats.allocations;
  all["pool_hits"] = stats.pool_hits;
  return all;
}

namespace {
/// The events of one profile. Kernels report from many threads.
struct Trace {
  struct Event {
    tsr_trace_event event;
    std::string kernel;
  };
  std::mutex mutex;
  std::vector<Event> events;
  size_t most = 0, dropped = 0;

  static void take(void *data, const tsr_trace_event *event) {
    auto &self = *static_cast<Trace *>(data);
    std::lock_guard lock(self.mutex);
    if (self.events.size() < self.most)
      self.events.push_back({*event, event->kernel});
    else
      ++self.dropped;
  }
};
} // namespace

/// (events of `run()`, how many were too many); an event: (kind, thread,
/// kernel, begin, end, start, end in ns, team, bytes).
static nanobind::tuple traced(nanobind::callable run, size_t most) {
  Trace trace;
  trace.most = most;
  trace.events.reserve(std::min(most, size_t{1} << 16));
  tsr_set_trace(Trace::take, &trace);
  PyObject *done = PyObject_CallNoArgs(run.ptr());
  tsr_set_trace(nullptr, nullptr);
  if (!done)
    throw nanobind::python_error();
  Py_DECREF(done);
  nanobind::list rows;
  for (const Trace::Event &entry : trace.events) {
    const tsr_trace_event &event = entry.event;
    rows.append(nanobind::make_tuple(
        event.kind == TSR_TRACE_LAUNCH ? "launch" : "range", event.thread,
        entry.kernel.c_str(), event.begin, event.end, event.start_ns,
        event.end_ns, event.team, event.bytes));
  }
  return nanobind::make_tuple(rows, trace.dropped);
}

/// {name: count during `run()`, or why there is none}.
static nanobind::dict counted(nanobind::callable run) {
  tsr_counters *counters = tsr_counters_open();
  if (!counters)
    throw std::bad_alloc();
  PyObject *done = PyObject_CallNoArgs(run.ptr());
  nanobind::dict all;
  for (int32_t i = 0; done && i < TSR_NUM_COUNTERS; ++i) {
    double value;
    if (tsr_counters_read(counters, i, &value))
      all[tsr_counter_name(i)] = value;
    else
      all[tsr_counter_name(i)] = tsr_counters_missing(counters, i);
  }
  tsr_counters_close(counters);
  if (!done)
    throw nanobind::python_error();
  Py_DECREF(done);
  return all;
}

NB_MODULE(_runtime, module) {
  nanobind::set_leak_warnings(false);
  if (!tessera::python::importNumPy())
    throw nanobind::python_error();
  tsr_set_print(printInPython, nullptr);
  // Functions that kernels call, for who links them.
  nanobind::dict symbols;
  for (const tessera::python::Symbol &symbol : tessera::python::symbols())
    symbols[symbol.name.data()] = reinterpret_cast<uintptr_t>(symbol.address);
  module.attr("SYMBOLS") = symbols;
  // What was linked, for keys of caches: LLVM's version, and its libraries if
  // they are not inside.
  module.attr("LLVM_VERSION") = TESSERA_LLVM_VERSION;
  module.attr("LLVM_LIBRARIES") = TESSERA_LLVM_LIBRARIES;
  module.def("traced", &traced);
  module.def("counted", &counted);
  module.def("make_array", &makeArray);
  module.def("make_constant", &makeConstant,
             "A copy of the bytes at an address, in pages that nobody can "
             "write to; calls keep what they prepare of it.");
  module.def("memory_stats", &memoryStats,
             "Bytes in use and cached by the pool of the CPU: temporaries and "
             "large results; how many requests there were, and how many found "
             "a block.");
  module.def("release_cached_memory", &tsr_release_cached_memory,
             "Gives the pool's free blocks back to the system. Arrays stay as "
             "they are.");
  module.def("set_memory_cache_limit", &tsr_set_memory_cache_limit,
             "How many bytes of free blocks the pool may keep; 0: none.");
  tessera::python::bindArchitectures(module);
  tessera::python::bindDevices(module);
  tessera::python::bindRoofline(module);
  tessera::python::bindExecute(module);
  tessera::python::bindCallable(module);
}
