//===- guards.cpp - When a call may take a remembered way -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "python/bindings/guards.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nanobind/stl/string_view.h>
#include <string_view>

using namespace tessera;
using namespace tessera::python;
namespace nb = nanobind;

//===----------------------------------------------------------------------===//
// Arguments as numbers
//===----------------------------------------------------------------------===//

namespace {
/// Bits of TSR_FIELD_TYPE above the dtype's, which is the library's own number.
constexpr int rankShift = 32, libraryShift = 40, writableShift = 44,
              unitAxisShift = 48, kindShift = 56;
enum Kind : int64_t {
  Array = 1,
  Int = 2,
  Bool = 3,
  Text = 4,     // TSR_FIELD_VALUE is a hash
  LargeInt = 5, // likewise
  Object = 6,   // TSR_FIELD_VALUE is its address
  Float = 0x10,
  FloatLike = 0x11, // of a class derived from float: the address
};
constexpr int64_t ofKind = int64_t(0x7f) << kindShift;
constexpr int64_t ofFloats = int64_t(0x7e) << kindShift;
} // namespace

static int64_t addressOf(PyObject *object) {
  return int64_t(reinterpret_cast<intptr_t>(object));
}

static int64_t typeOf(const ArrayView &view) {
  return int64_t(uint32_t(view.element)) | int64_t(view.rank) << rankShift |
         int64_t(view.library) << libraryShift |
         int64_t(view.isWritable) << writableShift |
         int64_t(unitAxis(view) + 1) << unitAxisShift |
         int64_t(Array) << kindShift;
}

bool CallFrame::addArray(PyObject *value) {
  if (numViews == maxTensors || numArguments == maxArguments)
    return false;
  ArrayView &view = views[numViews];
  if (!viewArray(value, view))
    return false;
  viewOf[numArguments] = int8_t(numViews++);
  arguments[numArguments++] = {typeOf(view), addressOf(value), view.sizes,
                               view.strides, view.rank};
  return true;
}

bool CallFrame::add(PyObject *value) {
  if (numArguments == maxArguments)
    return false;
  PyTypeObject *type = Py_TYPE(value);
  int64_t kind, number = addressOf(value);
  if (type == &PyLong_Type) {
    int overflow;
    number = PyLong_AsLongLongAndOverflow(value, &overflow);
    kind = overflow ? LargeInt : Int;
    if (overflow)
      number = PyObject_Hash(value);
  } else if (type == &PyBool_Type) {
    kind = Bool;
    number = value == Py_True;
  } else if (type == &PyFloat_Type) {
    kind = Float;
    double real = PyFloat_AS_DOUBLE(value);
    std::memcpy(&number, &real, sizeof number);
  } else if (type == &PyUnicode_Type) {
    kind = Text;
    number = PyObject_Hash(value);
  } else if (numViews < maxTensors && addArray(value)) {
    return true;
  } else {
    kind = PyFloat_Check(value) ? FloatLike : Object;
  }
  arguments[numArguments++] = {kind << kindShift, number, nullptr, nullptr, 0};
  return true;
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

bool Form::matches(Py_ssize_t count, PyObject *words) const {
  return count == numPositional && sameKeywords(words, keywords);
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

//===----------------------------------------------------------------------===//
// Outside names
//===----------------------------------------------------------------------===//

static bool matchesName(const NameGuard &guard, CallFrame &frame) {
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
    good = frame.addArray(value);
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

bool Environment::matches(CallFrame &frame) const {
  return std::all_of(names.begin(), names.end(), [&](const NameGuard &name) {
    return matchesName(name, frame);
  });
}

template <typename Visit>
static int visitObjects(const NameGuard &guard, Visit visit) {
  for (PyObject *object : {guard.holder, guard.builtins, guard.name})
    if (int result = object ? visit(object) : 0)
      return result;
  for (const auto *objects : {&guard.attributes, &guard.values})
    for (PyObject *object : *objects)
      if (int result = visit(object))
        return result;
  return 0;
}

static void release(const std::vector<NameGuard> &names) {
  for (const NameGuard &name : names)
    visitObjects(name, [](PyObject *object) {
      Py_DECREF(object);
      return 0;
    });
}

void python::drop(Environment *environment) {
  if (--environment->references)
    return;
  release(environment->names);
  delete environment;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// The bits of a scalar for the runtime; false if it has none.
static bool scalarBits(PyObject *value, int32_t dtype, int64_t &bits) {
  bool isFloat = PyFloat_Check(value);
  if (dtype == TSR_F64) {
    double number = isFloat ? PyFloat_AS_DOUBLE(value) : PyLong_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    std::memcpy(&bits, &number, sizeof bits);
    return true;
  }
  if (isFloat)
    return false;
  int overflow;
  bits = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (dtype == TSR_BOOL)
    bits = overflow || bits != 0;
  return !overflow || dtype == TSR_BOOL;
}

/// A number near its dtype's end is for the slow way, which can refuse it.
static bool isWithin(PyObject *value, double limit) {
  double number =
      PyFloat_Check(value) ? PyFloat_AS_DOUBLE(value) : PyLong_AsDouble(value);
  if (number == -1.0 && PyErr_Occurred())
    PyErr_Clear();
  return !(std::fabs(number) >= limit) || std::isinf(number);
}

/// The form and the environment are an argument, too; then comes what is given.
static constexpr size_t firstGiven = 1;
static constexpr int maxForms = 16;

static int64_t numberOf(const Environment &environment, int64_t form) {
  return environment.number * maxForms + form;
}

bool Entry::fill(PyObject *const *args, CallFrame &frame) const {
  for (size_t i = firstGiven; i < roles.size(); ++i) {
    const Role &role = roles[i];
    switch (role.kind) {
    case Role::Kind::None:
      break;
    case Role::Kind::Tensor:
      if (role.slot >= 0) {
        ArrayView &view = frame.views[frame.viewOf[i]];
        frame.tensors[role.slot] = {
            view.data, view.sizes, view.strides,
            executable->tensors[size_t(role.slot)].dtype, view.rank};
        if (!role.isOutside)
          frame.given[role.slot] = args[i - firstGiven];
      }
      break;
    case Role::Kind::Scalar: {
      PyObject *value = args[i - firstGiven];
      if (role.slot >= 0 &&
          !scalarBits(value, executable->scalars[size_t(role.slot)],
                      frame.scalars[role.slot]))
        return false;
      if (role.limit != 0 && !isWithin(value, role.limit))
        return false;
      break;
    }
    case Role::Kind::Constant:
      if (!sameConstant(args[i - firstGiven], role.value))
        return false;
      break;
    }
  }
  return true;
}

Entry::~Entry() {
  auto release = [](PyObject *object, void *) {
    Py_DECREF(object);
    return 0;
  };
  visitObjects(release, nullptr);
}

int Entry::visitObjects(visitproc visit, void *arg) {
  Py_VISIT(owner);
  for (PyObject *value : values)
    Py_VISIT(value);
  for (ResultType &result : results)
    Py_VISIT(result.dtype);
  return 0;
}

void python::drop(Entry *entry) {
  if (--entry->references == 0)
    delete entry;
}

//===----------------------------------------------------------------------===//
// Finding the way of a call
//===----------------------------------------------------------------------===//

Entry *Ways::find(PyObject *const *args, Py_ssize_t count, PyObject *keywords,
                  CallFrame &frame) {
  auto form = std::find_if(forms.begin(), forms.end(), [&](const Form &one) {
    return one.matches(count, keywords);
  });
  if (form == forms.end())
    return nullptr;
  frame.numArguments = int(firstGiven);
  Py_ssize_t total = count + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
  for (Py_ssize_t i = 0; i < total; ++i)
    if (!frame.add(args[i]))
      return nullptr;
  int numArguments = frame.numArguments, numViews = frame.numViews;
  for (size_t i = 0; i < environments.size(); ++i) {
    // A property that is read for a name may run Python, and that may change
    // the list.
    Environment *environment = environments[i];
    ++environment->references;
    bool fits = environment->matches(frame);
    frame.arguments[0] = {0, numberOf(*environment, form - forms.begin()),
                          nullptr, nullptr, 0};
    drop(environment);
    auto *entry = fits ? static_cast<Entry *>(dispatch.find(
                             frame.arguments, size_t(frame.numArguments)))
                       : nullptr;
    if (entry) {
      if (i > 0 && i < environments.size())
        std::swap(environments[0], environments[i]);
      if (!entry->fill(args, frame))
        return nullptr;
      ++entry->references;
      return entry;
    }
    frame.numArguments = numArguments;
    frame.numViews = numViews;
    frame.release();
  }
  return nullptr;
}

void Ways::forget() {
  dispatch.clear();
  // Whatever runs when an object goes sees a function without ways.
  auto oldEntries = std::move(entries);
  auto oldEnvironments = std::move(environments);
  auto oldForms = std::move(forms);
  entries.clear();
  environments.clear();
  forms.clear();
  for (Entry *entry : oldEntries)
    drop(entry);
  for (Environment *environment : oldEnvironments)
    drop(environment);
  for (Form &form : oldForms)
    Py_XDECREF(form.keywords);
}

int Ways::visitObjects(visitproc visit, void *arg, const Entry *mine) {
  for (Form &form : forms)
    Py_VISIT(form.keywords);
  for (Environment *environment : environments)
    if (environment->references == 1)
      for (NameGuard &name : environment->names)
        if (int result = ::visitObjects(
                name, [&](PyObject *object) { return visit(object, arg); }))
          return result;
  for (Entry *entry : entries)
    // What a running call shares is not ours alone to account for.
    if (entry->references == (entry == mine ? 2 : 1))
      if (int result = entry->visitObjects(visit, arg))
        return result;
  return 0;
}

//===----------------------------------------------------------------------===//
// Making an entry. tessera/direct.py writes the note.
//===----------------------------------------------------------------------===//

static PyObject *own(nb::handle object) { return object.inc_ref().ptr(); }

namespace {
/// Guards of a call that is at hand, and what an entry does with it.
struct EntryReader {
  CallFrame frame; // the call
  std::vector<tsr_guard> guards;
  std::unique_ptr<Entry> entry = std::make_unique<Entry>();

  bool read(nb::tuple args, nb::dict note);
  bool readTensor(nb::handle array, nb::tuple note, bool isOutside);
  bool readArgument(nb::handle value, nb::tuple note);
  bool readResults(nb::dict note);
  void ask(int32_t argument, int16_t field, int64_t mask, int64_t value,
           int64_t axis = 0) {
    guards.push_back({argument, field, int16_t(axis), mask, value});
  }
};
} // namespace

/// (sizes, unit axis, slot, is written), of an array that is at hand.
bool EntryReader::readTensor(nb::handle array, nb::tuple note, bool isOutside) {
  /// Sizes that are not part of the key: any, or any but 1. As unit axis: the
  /// last axis has stride 1 or size 1.
  constexpr int64_t any = -1, notOne = -2, lastAxis = -2;
  learnArrayType(Py_TYPE(array.ptr()));
  int32_t argument = frame.numArguments;
  if (!frame.addArray(array.ptr()))
    return false;
  const ArrayView &view = frame.views[frame.viewOf[argument]];
  Role role{Role::Kind::Tensor};
  role.slot = nb::cast<int16_t>(note[2]);
  role.isWritten = nb::cast<bool>(note[3]);
  role.isOutside = isOutside;
  entry->roles.push_back(role);

  int64_t unit = nb::cast<int64_t>(note[1]);
  int64_t mask = 0xffffffff | int64_t(0xff) << rankShift |
                 int64_t(0xf) << libraryShift | ofKind;
  if (role.isWritten)
    mask |= int64_t(1) << writableShift;
  if (unit != lastAxis)
    mask |= int64_t(0xff) << unitAxisShift;
  ask(argument, TSR_FIELD_TYPE, mask, frame.arguments[argument].type & mask);
  if (role.isWritten && !view.isWritable)
    return false;
  if (unit == lastAxis && view.rank > 0) {
    int64_t last = int64_t(1) << (view.rank - 1);
    ask(argument, TSR_FIELD_UNIT_STRIDES, last, last, view.rank - 1);
  } else if (unit != lastAxis && unit != unitAxis(view)) {
    return false;
  }
  nb::tuple sizes(note[0]);
  if (int(sizes.size()) != view.rank)
    return false;
  int64_t asked = 0, ones = 0;
  for (int axis = 0; axis < view.rank; ++axis) {
    int64_t size = nb::cast<int64_t>(sizes[size_t(axis)]);
    if (size == any)
      continue;
    if (size == 1 || size == notOne) {
      asked |= int64_t(1) << axis;
      ones |= int64_t(size == 1) << axis;
    } else {
      ask(argument, TSR_FIELD_SIZE, -1, size, axis);
    }
  }
  if (asked)
    ask(argument, TSR_FIELD_UNIT_SIZES, asked, ones);
  return true;
}

bool EntryReader::readArgument(nb::handle value, nb::tuple note) {
  auto kind = nb::cast<std::string_view>(note[0]);
  if (kind == "tensor")
    return readTensor(value, nb::tuple(note[1]), /*isOutside=*/false);
  int32_t argument = frame.numArguments;
  if (!frame.add(value.ptr()))
    return false;
  const runtime::Argument &given = frame.arguments[argument];
  int64_t type = given.type >> kindShift;
  Role role;
  if (kind == "scalar") {
    role.kind = Role::Kind::Scalar;
    role.slot = nb::cast<int16_t>(note[1]);
    role.limit = nb::cast<double>(note[2]);
    bool isFloat = type == Float || type == FloatLike;
    if (!isFloat && type != Int && type != Bool)
      return false;
    int64_t mask = isFloat ? ofFloats : ofKind;
    ask(argument, TSR_FIELD_TYPE, mask, given.type & mask);
  } else {
    ask(argument, TSR_FIELD_TYPE, ofKind, given.type & ofKind);
    ask(argument, TSR_FIELD_VALUE, -1, given.value);
    entry->values.push_back(own(value)); // its address is nobody else's
    if (type == Text || type == LargeInt) {
      role.kind = Role::Kind::Constant;
      role.value = value.ptr();
    }
  }
  entry->roles.push_back(role);
  return true;
}

/// {place, holder, name, attributes, values, constant, tensor}
static NameGuard readName(nb::dict note) {
  NameGuard guard;
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
  guard.isTensor = !note["tensor"].is_none();
  return guard;
}

/// Per tensor of the plan: None if it is given, else the dtype to make.
bool EntryReader::readResults(nb::dict note) {
  auto results = nb::cast<nb::list>(note["results"]);
  bool isTorch = nb::cast<bool>(note["torch"]);
  entry->results.resize(entry->executable->tensors.size());
  for (size_t i = 0; i < entry->results.size(); ++i) {
    if (results[i].is_none())
      continue;
    ResultType &result = entry->results[i];
    result.library = isTorch ? Library::Torch : Library::NumPy;
    result.element = torchElement(entry->executable->tensors[i].dtype);
    result.dtype = own(results[i]);
    if (isTorch && !(result.element & 0xff))
      return false;
  }
  return true;
}

bool EntryReader::read(nb::tuple args, nb::dict note) {
  entry->owner = own(note["executable"]);
  entry->executable = nb::cast<Executable *>(note["executable"]);
  entry->outSlot = nb::cast<int16_t>(note["out"]);
  if (entry->executable->tensors.size() > maxTensors ||
      entry->executable->scalars.size() > maxScalars)
    return false;
  frame.numArguments = int(firstGiven);
  entry->roles.resize(firstGiven);
  auto given = nb::cast<nb::list>(note["arguments"]);
  for (size_t i = 0; i < given.size(); ++i)
    if (!readArgument(args[i], nb::tuple(given[i])))
      return false;
  for (nb::handle name : nb::cast<nb::list>(note["names"])) {
    auto one = nb::cast<nb::dict>(name);
    nb::tuple values(one["values"]);
    if (!one["tensor"].is_none() &&
        !readTensor(values[values.size() - 1], nb::tuple(one["tensor"]),
                    /*isOutside=*/true))
      return false;
  }
  return readResults(note) &&
         std::all_of(guards.begin(), guards.end(), [&](const tsr_guard &guard) {
           return runtime::holds(guard, frame.arguments[guard.argument]);
         });
}

/// The environment of these names, which it owns then.
Environment *Ways::share(std::vector<NameGuard> names) {
  for (Environment *environment : environments)
    if (environment->names == names) {
      release(names);
      return environment;
    }
  environments.insert(environments.begin(), new Environment());
  environments[0]->names = std::move(names);
  environments[0]->number = ++numEnvironments;
  return environments[0];
}

bool Ways::remember(nb::tuple args, nb::dict note) {
  constexpr size_t maxEntries = 32;
  EntryReader reader;
  if (!reader.read(args, note))
    return false;
  PyObject *keywords =
      note["keywords"].is_none() ? nullptr : nb::handle(note["keywords"]).ptr();
  auto positional = nb::cast<Py_ssize_t>(note["positional"]);
  auto form = std::find_if(forms.begin(), forms.end(), [&](const Form &one) {
    return one.matches(positional, keywords);
  });
  if (form == forms.end()) {
    if (forms.size() == size_t(maxForms))
      forget();
    forms.push_back({positional, Py_XNewRef(keywords)});
    form = forms.end() - 1;
  }
  std::vector<NameGuard> names;
  for (nb::handle name : nb::cast<nb::list>(note["names"]))
    names.push_back(readName(nb::cast<nb::dict>(name)));
  reader.entry->environment = share(std::move(names));
  reader.guards.insert(
      reader.guards.begin(),
      {0, TSR_FIELD_VALUE, 0, -1,
       numberOf(*reader.entry->environment, form - forms.begin())});
  Entry *entry = reader.entry.release();
  dispatch.add(std::move(reader.guards), entry);
  entries.insert(entries.begin(), entry);
  if (entries.size() <= maxEntries)
    return true;
  Entry *oldest = entries.back();
  entries.pop_back();
  dispatch.remove(oldest);
  Environment *environment = oldest->environment;
  drop(oldest);
  if (std::none_of(entries.begin(), entries.end(), [&](Entry *one) {
        return one->environment == environment;
      })) {
    environments.erase(
        std::find(environments.begin(), environments.end(), environment));
    drop(environment);
  }
  return true;
}
