//===- guards.h - When a call may take a remembered way ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After a call went the long way (tessera/function.py), an Entry notes what was
// true of it: how it was written, the class, dtype, rank, key sizes and unit
// axis of each array, the value of each constant, and what each outside name of
// the function stood for. A later call of which all that is true as well runs
// the same version.
//
// Here a call is described as a row of arguments with numbers; which entry
// fits them is the runtime's business (runtime/Dispatch.h): guards are rows
// that are compared, and nothing is assumed that has no row. What only Python
// can compare is made a number first: the way a call is written (`Form`), and
// what outside names stand for (`Environment`).

#ifndef TESSERA_PYTHON_BINDINGS_GUARDS_H
#define TESSERA_PYTHON_BINDINGS_GUARDS_H

#include "runtime/Dispatch.h"

#include "python/bindings/arrays.h"
#include "python/bindings/executable.h"
#include <memory>
#include <vector>

namespace tessera::python {

constexpr int maxTensors = 24, maxScalars = 24, maxArguments = 64;

/// How a call is written: positional arguments, and names of the others.
struct Form {
  Py_ssize_t numPositional = 0;
  PyObject *keywords = nullptr; // tuple of names, or null

  bool matches(Py_ssize_t count, PyObject *words) const;
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

  bool operator==(const NameGuard &) const = default;
};

/// What the runtime is called with, and results so far.
struct CallFrame {
  /// The form and the environment, what is given, arrays of outside names.
  runtime::Argument arguments[maxArguments];
  int numArguments = 0;
  int8_t viewOf[maxArguments]; // of an array
  ArrayView views[maxTensors];
  int numViews = 0;
  tsr_tensor tensors[maxTensors];
  int64_t scalars[maxScalars];
  PyObject *given[maxTensors]; // by tensor of the plan: `out`; borrowed
  PyObject *held[maxTensors];  // arrays found under outside names; owned
  int numHeld = 0;

  CallFrame() {} // leaves the arrays uninitialised: each call fills its part
  ~CallFrame() { release(); }

  void release() {
    while (numHeld)
      Py_DECREF(held[--numHeld]);
  }
  /// Appends an array; false if there is no room, or Python must look at it.
  bool addArray(PyObject *value);
  /// Appends whatever a call gives.
  bool add(PyObject *value);
};

/// What the outside names of a function stand for.
struct Environment {
  std::vector<NameGuard> names;
  int64_t number = 0;
  int references = 1; // counted under the GIL

  /// True if the names stand for that now; then their arrays are in the frame.
  bool matches(CallFrame &frame) const;
};

/// What an entry does with an argument of the call.
struct Role {
  enum class Kind : uint8_t { None, Tensor, Scalar, Constant };
  Kind kind = Kind::None;
  bool isWritten = false;
  bool isOutside = false; // of Tensor: it stands under an outside name
  int16_t slot = -1; // among the tensors or scalars of the plan; -1: not used
  double limit = 0;  // of a scalar: its annotation holds less; 0: none
  PyObject *value = nullptr; // of Constant: its number is only a hash
};

/// A remembered way. Lives while somebody holds it; counted under the GIL.
struct Entry {
  std::vector<Role> roles; // by argument of the frame
  Environment *environment = nullptr;
  std::vector<PyObject *> values;  // objects whose addresses guards compare
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

  /// Makes the frame ready to run. False without an error set if a number does
  /// not fit, which the long way says.
  bool fill(PyObject *const *args, CallFrame &frame) const;

  /// Calls `visit` on every object that the entry alone owns.
  int visitObjects(visitproc visit, void *context);
};

/// The remembered ways of a function.
class Ways {
public:
  Ways() = default;
  Ways(const Ways &) = delete;
  Ways &operator=(const Ways &) = delete;
  ~Ways() { forget(); }

  /// The way of a call, with a reference to it, or null without an error set;
  /// then `frame` is ready.
  Entry *find(PyObject *const *args, Py_ssize_t count, PyObject *keywords,
              CallFrame &frame);
  /// Reads what tessera/direct.py noted of a call; false if it can't be
  /// remembered.
  bool remember(nanobind::tuple args, nanobind::dict note);
  void forget();
  size_t size() const { return entries.size(); }
  /// `mine`: an entry to which the caller has a reference, too.
  int visitObjects(visitproc visit, void *context, const Entry *mine);

private:
  Environment *share(std::vector<NameGuard> names);

  std::vector<Form> forms;
  std::vector<Environment *> environments; // of the entries; those own them
  std::vector<Entry *> entries;            // newest first
  int64_t numEnvironments = 0;
  runtime::Dispatch dispatch;
};

/// Gives up an entry, or an environment.
void drop(Entry *entry);
void drop(Environment *environment);

} // namespace tessera::python

#endif // TESSERA_PYTHON_BINDINGS_GUARDS_H
