//===- executable.h - A plan with its kernels, for Python -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_PYTHON_BINDINGS_EXECUTABLE_H
#define TESSERA_PYTHON_BINDINGS_EXECUTABLE_H

#include "tessera-c/runtime.h"
#include <nanobind/nanobind.h>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::python {

/// A plan with its kernels in this process.
class Executable {
public:
  /// `code.lookup(name)` gives the address of a kernel; `code` is kept alive.
  Executable(const std::string &plan, nanobind::object code);
  /// For GPUs: (architecture, image) of each image.
  Executable(const std::string &plan, nanobind::list images);
  ~Executable();
  Executable(const Executable &) = delete;
  Executable &operator=(const Executable &) = delete;

  /// `tensors`: (address, sizes, strides, dtype) or None, for each argument and
  /// result; `allocate(index, dtype, sizes)` returns (array, address).
  nanobind::list run(nanobind::list tensors, nanobind::list scalars,
                     nanobind::callable allocate, nanobind::object device,
                     uintptr_t stream, bool synchronize);

  nanobind::list tensorInfo() const;
  nanobind::list scalarInfo() const;

  nanobind::object code;
  tsr_plan *plan = nullptr;
  tsr_executable *executable = nullptr;
  std::vector<tsr_tensor_info> tensors;
  std::vector<int32_t> scalars; // their dtypes

private:
  void describe();
};

/// Raises tessera.errors.<type>(text).
/// The class of tessera.errors for a status of the runtime.
const char *errorFor(int32_t code);
[[noreturn]] void raiseError(const char *type, const std::string &text);

/// Raises what the status says, if it is an error.
void checkStatus(tsr_status status);

/// The device of a Python object; null for None.
tsr_device *deviceOf(nanobind::handle device);

/// A function that kernels call.
struct Symbol {
  std::string_view name;
  void *address;
};
/// Those of the runtime.
const std::vector<Symbol> &symbols();

/// Adds the class `Callable` to the module; see call.cpp.
void bindCallable(nanobind::module_ &module);
void bindExecute(nanobind::module_ &module);
void bindDevices(nanobind::module_ &module);
void bindRoofline(nanobind::module_ &module);

} // namespace tessera::python

#endif // TESSERA_PYTHON_BINDINGS_EXECUTABLE_H
