//===- guards.h - When a call may take a remembered way ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After a call went the long way (tessera/function.py), an Entry notes what was
// true of it: the class, dtype, rank, key sizes and unit axis of each array,
// the value of each constant, and what each outside name of the function stood
// for. A later call of which all that is true as well runs the same version.
// Guards are data: each is a row that is compared, and nothing is assumed that
// has no row.

#ifndef TESSERA_PYTHON_BINDINGS_GUARDS_H
#define TESSERA_PYTHON_BINDINGS_GUARDS_H

#include "python/bindings/arrays.h"
#include "python/bindings/executable.h"
#include <vector>

namespace tessera::python {

constexpr int maxTensors = 24, maxScalars = 24;

/// What a version asks of an array.
struct TensorGuard {
  /// Sizes that are not part of the key: any, or any but 1.
  static constexpr int64_t any = -1, notOne = -2;
  /// As unit axis: the last axis has stride 1 or size 1.
  static constexpr int lastAxis = -2;

  Library library = Library::None;
  bool isWritten = false;
  int16_t slot = -1; // among the tensors of the plan; -1: not used
  int32_t element = 0;
  int32_t rank = 0;
  int32_t unitAxis = -1;
  int64_t sizes[maxRank];

  bool matches(const ArrayView &view) const;
};

/// One argument of the call.
struct ArgumentGuard {
  enum class Kind : uint8_t { Tensor, Int, Float, Bool, Constant, Same };
  Kind kind = Kind::Same;
  int16_t slot = -1;         // of a scalar, among the scalars of the plan
  double limit = 0;          // of a scalar: its annotation holds less; 0: none
  PyObject *value = nullptr; // of Constant (compared by value) and Same
  TensorGuard tensor;
};

/// One outside name: `name`, or `name.attribute...`, in a closure or module.
struct NameGuard {
  enum class Place : uint8_t { Cell, Globals, Builtins, Nowhere };
  Place place = Place::Globals;
  PyObject *holder = nullptr;   // the cell, or the module's dict
  PyObject *builtins = nullptr; // searched if the module has no such name
  PyObject *name = nullptr;
  std::vector<PyObject *> attributes;
  /// The object found at each step; one more than attributes, or none.
  std::vector<PyObject *> values;
  bool isConstant = false; // the last value may be another object if equal
  bool isTensor = false;   // the last value is an argument of the kernels
  TensorGuard tensor;
};

/// What the runtime is called with, and results so far.
struct CallFrame {
  ArrayView views[maxTensors];
  tsr_tensor tensors[maxTensors];
  int64_t scalars[maxScalars];
  PyObject *given[maxTensors]; // by tensor of the plan: `out`; borrowed
  PyObject *held[maxTensors];  // arrays found under outside names; owned
  int numHeld = 0;

  CallFrame() {} // leaves the arrays uninitialised: each call fills its part
  ~CallFrame() {
    while (numHeld)
      Py_DECREF(held[--numHeld]);
  }
};

/// A remembered way. Lives while somebody holds it; counted under the GIL.
struct Entry {
  Py_ssize_t numPositional = 0;
  PyObject *keywords = nullptr; // tuple of names, or null
  std::vector<ArgumentGuard> arguments;
  std::vector<NameGuard> names;
  std::vector<ResultType> results; // by tensor of the plan; None: given
  int16_t outSlot = -1;            // the tensor that `out=` is
  PyObject *owner = nullptr;       // the Executable's Python object
  Executable *executable = nullptr;
  int references = 1;
  uint32_t calls = 0;
  bool releasesGil = true; // until a run shows that it isn't worth it

  Entry() = default;
  Entry(const Entry &) = delete;
  Entry &operator=(const Entry &) = delete;
  ~Entry();

  /// True if the call is like the one that is remembered; then `frame` is
  /// ready. False without an error set otherwise.
  bool matches(PyObject *const *args, Py_ssize_t count, PyObject *keywords,
               CallFrame &frame) const;

  /// Calls `visit` on every object that the entry owns.
  int visitObjects(visitproc visit, void *context);
};

/// Reads what tessera/function.py noted of a call; null if it can't be
/// remembered.
Entry *makeEntry(nanobind::tuple args, nanobind::dict note);

} // namespace tessera::python

#endif // TESSERA_PYTHON_BINDINGS_GUARDS_H
