//===- guards.cpp - When a call may take a remembered way -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "python/bindings/guards.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <nanobind/stl/string_view.h>
#include <string_view>

using namespace tessera;
using namespace tessera::python;
namespace nb = nanobind;

bool TensorGuard::matches(const ArrayView &view) const {
  if (view.library != library || view.element != element || view.rank != rank ||
      (isWritten && !view.isWritable))
    return false;
  for (int axis = 0; axis < rank; ++axis) {
    int64_t wanted = sizes[axis], size = view.sizes[axis];
    if (wanted == any)
      continue;
    if (wanted == notOne ? size == 1 : size != wanted)
      return false;
  }
  if (unitAxis == lastAxis)
    return rank == 0 || view.strides[rank - 1] == 1 ||
           view.sizes[rank - 1] == 1;
  return unitAxis == python::unitAxis(view);
}

/// Equal for the language: 1, 1.0 and True are not.
static bool sameConstant(PyObject *a, PyObject *b) {
  if (a == b)
    return true;
  PyTypeObject *type = Py_TYPE(a);
  if (type != Py_TYPE(b))
    return false;
  if (type == &PyFloat_Type) {
    double left = PyFloat_AS_DOUBLE(a), right = PyFloat_AS_DOUBLE(b);
    return std::memcmp(&left, &right, sizeof left) == 0;
  }
  if (type != &PyLong_Type && type != &PyUnicode_Type)
    return false;
  int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0)
    PyErr_Clear();
  return equal == 1;
}

/// The runtime's view of an array; true if there is one.
static bool fill(CallFrame &frame, const TensorGuard &guard, ArrayView &view,
                 const Executable &executable) {
  if (!guard.matches(view))
    return false;
  if (guard.slot >= 0)
    frame.tensors[guard.slot] = {view.data, view.sizes, view.strides,
                                 executable.tensors[size_t(guard.slot)].dtype,
                                 view.rank};
  return true;
}

/// The bits of a scalar for the runtime; false if it has none.
static bool scalarBits(PyObject *value, ArgumentGuard::Kind kind, int32_t dtype,
                       int64_t &bits) {
  if (dtype == TSR_F64) {
    double number;
    if (kind == ArgumentGuard::Kind::Float)
      number = PyFloat_AS_DOUBLE(value);
    else
      number = PyLong_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    std::memcpy(&bits, &number, sizeof bits);
    return true;
  }
  if (kind == ArgumentGuard::Kind::Float)
    return false;
  int overflow;
  bits = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (dtype == TSR_BOOL)
    bits = overflow || bits != 0;
  return !overflow || dtype == TSR_BOOL;
}

/// A number near its dtype's end is for the slow way, which can refuse it.
static bool isWithin(PyObject *value, const ArgumentGuard &guard) {
  double number = guard.kind == ArgumentGuard::Kind::Float
                      ? PyFloat_AS_DOUBLE(value)
                      : PyLong_AsDouble(value);
  if (number == -1.0 && PyErr_Occurred())
    PyErr_Clear();
  return !(std::fabs(number) >= guard.limit) || std::isinf(number);
}

static bool matchesName(const NameGuard &guard, CallFrame &frame, int &numViews,
                        const Executable &executable) {
  using Place = NameGuard::Place;
  PyObject *value;
  if (guard.place == Place::Cell) {
    value = PyCell_GET(guard.holder);
  } else {
    value = PyDict_GetItemWithError(guard.holder, guard.name);
    if (guard.place != Place::Globals && !value && guard.builtins)
      value = PyDict_GetItemWithError(guard.builtins, guard.name);
    else if (guard.place == Place::Builtins && value)
      return false; // a module's name hides the builtin now
  }
  if (guard.values.empty())
    return !value;
  if (!value)
    return false;
  Py_INCREF(value);
  size_t last = guard.attributes.size();
  for (size_t step = 0; step < last; ++step) {
    PyObject *next = value == guard.values[step]
                         ? PyObject_GetAttr(value, guard.attributes[step])
                         : nullptr;
    Py_DECREF(value);
    if (!next) {
      PyErr_Clear();
      return false;
    }
    value = next;
  }
  bool good;
  if (guard.isTensor) {
    ArrayView &view = frame.views[numViews++];
    good =
        viewArray(value, view) && fill(frame, guard.tensor, view, executable);
    if (good) {
      frame.held[frame.numHeld++] = value; // somebody may rebind the name
      return true;
    }
  } else {
    good = value == guard.values[last] ||
           (guard.isConstant && sameConstant(value, guard.values[last]));
  }
  Py_DECREF(value);
  return good;
}

static bool sameKeywords(PyObject *given, PyObject *expected) {
  if (given == expected)
    return true;
  if (!given || !expected)
    return false;
  Py_ssize_t count = PyTuple_GET_SIZE(given);
  if (count != PyTuple_GET_SIZE(expected))
    return false;
  // Names in calls are interned, so the same name is the same object.
  for (Py_ssize_t i = 0; i < count; ++i)
    if (PyTuple_GET_ITEM(given, i) != PyTuple_GET_ITEM(expected, i))
      return false;
  return true;
}

bool Entry::matches(PyObject *const *args, Py_ssize_t count, PyObject *words,
                    CallFrame &frame) const {
  if (count != numPositional || !sameKeywords(words, keywords))
    return false;
  int numViews = 0;
  const Executable &code = *executable;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ArgumentGuard &guard = arguments[i];
    PyObject *value = args[i];
    switch (guard.kind) {
    case ArgumentGuard::Kind::Tensor: {
      ArrayView &view = frame.views[numViews++];
      if (!viewArray(value, view) || !fill(frame, guard.tensor, view, code))
        return false;
      if (guard.tensor.slot >= 0)
        frame.given[guard.tensor.slot] = value;
      continue;
    }
    case ArgumentGuard::Kind::Int:
      if (!PyLong_CheckExact(value))
        return false;
      break;
    case ArgumentGuard::Kind::Bool:
      if (!PyBool_Check(value))
        return false;
      break;
    case ArgumentGuard::Kind::Float:
      if (!PyFloat_Check(value))
        return false;
      break;
    case ArgumentGuard::Kind::Constant:
      if (!sameConstant(value, guard.value))
        return false;
      continue;
    case ArgumentGuard::Kind::Same:
      if (value != guard.value)
        return false;
      continue;
    }
    if (guard.slot >= 0 &&
        !scalarBits(value, guard.kind, code.scalars[size_t(guard.slot)],
                    frame.scalars[guard.slot]))
      return false;
    if (guard.limit != 0 && !isWithin(value, guard))
      return false;
  }
  for (const NameGuard &guard : names)
    if (!matchesName(guard, frame, numViews, code))
      return false;
  return true;
}

Entry::~Entry() {
  auto drop = [](PyObject *object, void *) {
    Py_DECREF(object);
    return 0;
  };
  visitObjects(drop, nullptr);
}

int Entry::visitObjects(visitproc visit, void *arg) {
  Py_VISIT(keywords);
  Py_VISIT(owner);
  for (ArgumentGuard &guard : arguments)
    Py_VISIT(guard.value);
  for (NameGuard &guard : names) {
    Py_VISIT(guard.holder);
    Py_VISIT(guard.builtins);
    Py_VISIT(guard.name);
    for (PyObject *attribute : guard.attributes)
      Py_VISIT(attribute);
    for (PyObject *value : guard.values)
      Py_VISIT(value);
  }
  for (ResultType &result : results)
    Py_VISIT(result.dtype);
  return 0;
}

//===----------------------------------------------------------------------===//
// Making an entry. tessera/function.py (`_remember`) writes the note.
//===----------------------------------------------------------------------===//

static PyObject *own(nb::handle object) { return object.inc_ref().ptr(); }

/// (sizes, unit axis, slot, is written), of an array that is at hand.
static bool readTensor(nb::handle array, nb::tuple note, TensorGuard &guard) {
  learnArrayType(Py_TYPE(array.ptr()));
  ArrayView view;
  if (!viewArray(array.ptr(), view))
    return false;
  guard.library = view.library;
  guard.element = view.element;
  guard.rank = view.rank;
  nb::tuple sizes(note[0]);
  if (int(sizes.size()) != view.rank)
    return false;
  for (int axis = 0; axis < view.rank; ++axis)
    guard.sizes[axis] = nb::cast<int64_t>(sizes[size_t(axis)]);
  guard.unitAxis = nb::cast<int>(note[1]);
  guard.slot = nb::cast<int16_t>(note[2]);
  guard.isWritten = nb::cast<bool>(note[3]);
  return guard.matches(view);
}

static bool readArgument(nb::handle value, nb::tuple note,
                         ArgumentGuard &guard) {
  auto kind = nb::cast<std::string_view>(note[0]);
  PyObject *object = value.ptr();
  if (kind == "tensor") {
    guard.kind = ArgumentGuard::Kind::Tensor;
    return readTensor(value, nb::tuple(note[1]), guard.tensor);
  }
  if (kind == "scalar") {
    guard.slot = nb::cast<int16_t>(note[1]);
    guard.limit = nb::cast<double>(note[2]);
    if (PyBool_Check(object))
      guard.kind = ArgumentGuard::Kind::Bool;
    else if (PyLong_CheckExact(object))
      guard.kind = ArgumentGuard::Kind::Int;
    else if (PyFloat_Check(object))
      guard.kind = ArgumentGuard::Kind::Float;
    else
      return false;
    return true;
  }
  guard.kind = kind == "const" ? ArgumentGuard::Kind::Constant
                               : ArgumentGuard::Kind::Same;
  guard.value = own(value);
  return true;
}

/// {place, holder, name, attributes, values, kind, tensor}
static bool readName(nb::dict note, NameGuard &guard) {
  auto place = nb::cast<std::string_view>(note["place"]);
  guard.holder = own(note["holder"]);
  guard.name = own(note["name"]);
  PyUnicode_InternInPlace(&guard.name);
  if (!note["builtins"].is_none())
    guard.builtins = own(note["builtins"]);
  guard.place = place == "cell"       ? NameGuard::Place::Cell
                : place == "globals"  ? NameGuard::Place::Globals
                : place == "builtins" ? NameGuard::Place::Builtins
                                      : NameGuard::Place::Nowhere;
  for (nb::handle attribute : nb::tuple(note["attributes"]))
    guard.attributes.push_back(own(attribute));
  for (nb::handle value : nb::tuple(note["values"]))
    guard.values.push_back(own(value));
  guard.isConstant = nb::cast<bool>(note["constant"]);
  if (note["tensor"].is_none())
    return true;
  guard.isTensor = true;
  return readTensor(guard.values.back(), nb::tuple(note["tensor"]),
                    guard.tensor);
}

static bool readEntry(nb::tuple args, nb::dict note, Entry &entry) {
  entry.owner = own(note["executable"]);
  entry.executable = nb::cast<Executable *>(note["executable"]);
  entry.numPositional = nb::cast<Py_ssize_t>(note["positional"]);
  if (!note["keywords"].is_none())
    entry.keywords = own(note["keywords"]);
  entry.outSlot = nb::cast<int16_t>(note["out"]);
  auto guards = nb::cast<nb::list>(note["arguments"]);
  auto names = nb::cast<nb::list>(note["names"]);
  size_t numTensors = entry.executable->tensors.size();
  if (numTensors > maxTensors || entry.executable->scalars.size() > maxScalars)
    return false;
  size_t numViews = 0;
  entry.arguments.resize(guards.size());
  for (size_t i = 0; i < guards.size(); ++i) {
    if (!readArgument(args[i], nb::tuple(guards[i]), entry.arguments[i]))
      return false;
    numViews += entry.arguments[i].kind == ArgumentGuard::Kind::Tensor;
  }
  entry.names.resize(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (!readName(nb::cast<nb::dict>(names[i]), entry.names[i]))
      return false;
    numViews += entry.names[i].isTensor;
  }
  if (numViews > maxTensors)
    return false;
  // Per tensor of the plan: None if it is given, else the dtype to make.
  auto results = nb::cast<nb::list>(note["results"]);
  bool isTorch = nb::cast<bool>(note["torch"]);
  entry.results.resize(numTensors);
  for (size_t i = 0; i < numTensors; ++i) {
    if (results[i].is_none())
      continue;
    ResultType &result = entry.results[i];
    result.library = isTorch ? Library::Torch : Library::NumPy;
    result.element = torchElement(entry.executable->tensors[i].dtype);
    result.dtype = own(results[i]);
    if (isTorch && !(result.element & 0xff))
      return false;
  }
  return true;
}

Entry *python::makeEntry(nb::tuple args, nb::dict note) {
  auto entry = std::make_unique<Entry>();
  return readEntry(args, note, *entry) ? entry.release() : nullptr;
}
