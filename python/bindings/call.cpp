//===- call.cpp - The class that functions and kernels are calls of -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tessera.function.Function derives from `Callable`. Calling it runs the
// remembered way that fits (guards.h); otherwise it calls `_call_slowly`, which
// binds, compiles, runs and, if it can, notes the way by `_remember`.

#include "python/bindings/guards.h"
#include <chrono>
#include <cstddef>
#include <structmember.h>
#include <utility>

using namespace tessera;
using namespace tessera::python;
namespace nb = nanobind;

namespace {

struct Callable {
  PyObject_HEAD vectorcallfunc vectorcall;
  Ways *ways;       // null: none
  Entry *lastEntry; // of the last call, if it was direct; with a reference
};

/// Runs an entry; knows how to make the results.
class Execution {
public:
  /// Takes over a reference to the entry.
  Execution(Entry &entry, CallFrame &frame) : entry(entry), frame(frame) {}
  ~Execution() {
    for (int i = 0; i < numMade; ++i)
      Py_XDECREF(made[i].array);
    drop(&entry);
  }

  PyObject *run(PyObject *function);

private:
  static void *allocate(void *self, int32_t index, int32_t dtype, int32_t rank,
                        const int64_t *sizes, size_t bytes);
  bool isWorthReleasing() const;
  tsr_status runTimed(const tsr_call &call);
  void noteWrittenTensors() const;
  PyObject *takeResults();

  struct Made {
    int32_t index;
    PyObject *array;
  };
  Entry &entry;
  CallFrame &frame;
  Made made[maxTensors];
  int numMade = 0;
  PyThreadState *released = nullptr;
};

} // namespace

void *Execution::allocate(void *context, int32_t index, int32_t, int32_t rank,
                          const int64_t *sizes, size_t bytes) {
  auto &self = *static_cast<Execution *>(context);
  if (self.released)
    PyEval_RestoreThread(self.released);
  void *data = nullptr;
  PyObject *array =
      makeArray(self.entry.results[size_t(index)], rank, sizes, bytes, data);
  if (array)
    self.made[self.numMade++] = {index, array};
  if (self.released)
    self.released = PyEval_SaveThread();
  // Of an array without elements no kernel reads the address.
  static char nothing;
  return array && !data ? &nothing : data;
}

/// Letting other threads run costs some 100 ns; a kernel that is done in a few
/// microseconds is better run at once.
static constexpr int64_t elementsWorthReleasing = 16384;
static constexpr int64_t nanosecondsWorthReleasing = 10000;

bool Execution::isWorthReleasing() const {
  if (entry.releasesGil)
    return true;
  int64_t elements = 0;
  for (size_t i = 0; i < entry.results.size(); ++i) {
    const tsr_tensor &tensor = frame.tensors[i];
    int64_t count = tensor.rank < 0 ? 0 : 1;
    for (int32_t axis = 0; axis < tensor.rank; ++axis)
      count *= tensor.sizes[axis];
    elements += count;
  }
  return elements > elementsWorthReleasing;
}

/// Small calls may still compute for long: now and then one is timed.
tsr_status Execution::runTimed(const tsr_call &call) {
  constexpr uint32_t period = 32;
  tsr_executable *executable = entry.executable->executable;
  if (entry.calls++ % period)
    return tsr_executable_run(executable, &call);
  auto start = std::chrono::steady_clock::now();
  tsr_status status = tsr_executable_run(executable, &call);
  entry.releasesGil = std::chrono::steady_clock::now() - start >
                      std::chrono::nanoseconds(nanosecondsWorthReleasing);
  return status;
}

void Execution::noteWrittenTensors() const {
  for (size_t i = 0; i < entry.roles.size(); ++i) {
    const Role &role = entry.roles[i];
    if (role.isWritten && role.slot >= 0 &&
        frame.views[frame.viewOf[i]].library == Library::Torch)
      noteWritten(frame.given[role.slot]);
  }
}

PyObject *Execution::takeResults() {
  PyObject *values[maxTensors];
  Py_ssize_t count = 0;
  int next = 0;
  for (size_t i = 0; i < entry.results.size(); ++i) {
    if (int(i) == entry.outSlot) {
      Py_INCREF(frame.given[i]);
      values[count++] = frame.given[i];
      continue;
    }
    if (entry.results[i].library == Library::None)
      continue;
    // Results sized in the body are made after the others.
    for (int k = next; k < numMade; ++k) {
      if (made[k].index != int32_t(i))
        continue;
      std::swap(made[k], made[next]);
      values[count++] = made[next].array;
      made[next++].array = nullptr;
      break;
    }
  }
  if (count == 0)
    Py_RETURN_NONE;
  if (count == 1)
    return values[0];
  PyObject *tuple = PyTuple_New(count);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (tuple)
      PyTuple_SET_ITEM(tuple, i, values[i]);
    else
      Py_DECREF(values[i]);
  return tuple;
}

PyObject *Execution::run(PyObject *function) {
  const Executable &executable = *entry.executable;
  for (size_t i = 0; i < entry.results.size(); ++i)
    if (entry.results[i].library != Library::None)
      frame.tensors[i] = {nullptr, nullptr, nullptr,
                          executable.tensors[i].dtype, TSR_ABSENT};
  tsr_call call{};
  call.struct_size = sizeof call;
  call.tensors = frame.tensors;
  call.num_tensors = int32_t(entry.results.size());
  call.scalars = frame.scalars;
  call.num_scalars = int32_t(executable.scalars.size());
  call.allocate = allocate;
  call.allocate_context = this;
  tsr_status status;
  if (isWorthReleasing()) {
    // Entries change under the GIL only; another thread may time this one.
    auto start = std::chrono::steady_clock::now();
    released = PyEval_SaveThread();
    status = tsr_executable_run(executable.executable, &call);
    PyEval_RestoreThread(released);
    released = nullptr;
    entry.releasesGil = std::chrono::steady_clock::now() - start >
                        std::chrono::nanoseconds(nanosecondsWorthReleasing);
  } else {
    status = runTimed(call);
  }
  if (!PyErr_Occurred())
    noteWrittenTensors();
  if (!status)
    return takeResults();
  if (PyErr_Occurred()) { // an allocation, or a kernel
    tsr_status_free(status);
    return nullptr;
  }
  PyObject *ignored = PyObject_CallMethod(function, "_run_failed", "ss",
                                          errorFor(tsr_status_code(status)),
                                          tsr_status_message(status));
  tsr_status_free(status);
  Py_XDECREF(ignored);
  if (!PyErr_Occurred())
    PyErr_SetString(PyExc_SystemError, "a failed run was not reported");
  return nullptr;
}

static void setLast(Callable *self, Entry *entry) {
  if (Entry *before = std::exchange(self->lastEntry, entry))
    drop(before);
}

/// The traceback of an error about the call ends at the call: frames of ours
/// say nothing about it.
static void dropOwnFrames() {
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  if (error && PyObject_HasAttrString(error, "ends_at_call")) {
    Py_CLEAR(traceback);
    PyException_SetTraceback(error, Py_None);
  }
  PyErr_Restore(type, error, traceback);
}

static PyObject *callSlowly(PyObject *self, PyObject *const *args,
                            Py_ssize_t count, PyObject *keywords) {
  static PyObject *name = PyUnicode_InternFromString("_call_slowly");
  size_t total = size_t(count) + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
  std::vector<PyObject *> all(total + 1);
  all[0] = self;
  std::copy(args, args + total, all.begin() + 1);
  PyObject *result =
      PyObject_VectorcallMethod(name, all.data(), size_t(count) + 1, keywords);
  if (!result)
    dropOwnFrames();
  return result;
}

static PyObject *call(PyObject *object, PyObject *const *args, size_t flags,
                      PyObject *keywords) {
  auto *self = reinterpret_cast<Callable *>(object);
  Py_ssize_t count = PyVectorcall_NARGS(flags);
  if (keywords && PyTuple_GET_SIZE(keywords) == 0)
    keywords = nullptr;
  if (self->ways) {
    CallFrame frame;
    if (Entry *entry = self->ways->find(args, count, keywords, frame)) {
      if (self->lastEntry != entry) {
        ++entry->references;
        setLast(self, entry);
      }
      return Execution(*entry, frame).run(object);
    }
  }
  setLast(self, nullptr);
  return callSlowly(object, args, count, keywords);
}

static void forget(Callable *self) {
  setLast(self, nullptr);
  if (self->ways)
    self->ways->forget();
}

static PyObject *remember(PyObject *object, PyObject *const *args,
                          Py_ssize_t count) {
  auto *self = reinterpret_cast<Callable *>(object);
  if (count != 2 || !PyTuple_Check(args[0]) || !PyDict_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "_remember(arguments, note)");
    return nullptr;
  }
  try {
    if (!self->ways)
      self->ways = new Ways();
    return PyBool_FromLong(self->ways->remember(nb::borrow<nb::tuple>(args[0]),
                                                nb::borrow<nb::dict>(args[1])));
  } catch (nb::python_error &error) {
    error.restore();
    return nullptr;
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_TypeError, error.what());
    return nullptr;
  }
}

static PyObject *forgetAll(PyObject *self, PyObject *) {
  forget(reinterpret_cast<Callable *>(self));
  Py_RETURN_NONE;
}

static PyObject *numRemembered(PyObject *self, void *) {
  Ways *ways = reinterpret_cast<Callable *>(self)->ways;
  return PyLong_FromSize_t(ways ? ways->size() : 0);
}

static PyObject *lastDirect(PyObject *object, void *) {
  auto *self = reinterpret_cast<Callable *>(object);
  if (!self->lastEntry)
    Py_RETURN_NONE;
  return Py_NewRef(self->lastEntry->owner);
}

/// `fn._last_direct = None`: somebody called it otherwise.
static int forgetLastDirect(PyObject *object, PyObject *, void *) {
  setLast(reinterpret_cast<Callable *>(object), nullptr);
  return 0;
}

static PyObject *newCallable(PyTypeObject *type, PyObject *, PyObject *) {
  PyObject *object = type->tp_alloc(type, 0);
  if (object)
    reinterpret_cast<Callable *>(object)->vectorcall = call;
  return object;
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
  auto *self = reinterpret_cast<Callable *>(object);
  if (self->ways)
    if (int result = self->ways->visitObjects(visit, arg, self->lastEntry))
      return result;
  Py_VISIT(Py_TYPE(object));
  return 0;
}

static int clear(PyObject *object) {
  forget(reinterpret_cast<Callable *>(object));
  return 0;
}

static void deallocate(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  clear(object);
  delete reinterpret_cast<Callable *>(object)->ways;
  type->tp_free(object);
  Py_DECREF(type);
}

/// CPython 3.10 and 3.11 don't hand the calling convention down to classes
/// that are written in Python.
static PyObject *inheritVectorcall(PyObject *, PyObject *type) {
  auto *derived = reinterpret_cast<PyTypeObject *>(type);
  if (!PyType_Check(type) ||
      derived->tp_vectorcall_offset != offsetof(Callable, vectorcall) ||
      derived->tp_call != PyVectorcall_Call) {
    PyErr_SetString(PyExc_TypeError, "not a class of callables");
    return nullptr;
  }
  derived->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(derived);
  Py_INCREF(type);
  return type;
}

static PyMethodDef methods[] = {
    {"_remember",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(remember)),
     METH_FASTCALL,
     "_remember(arguments, note): the next call like this one is direct."},
    {"_forget", forgetAll, METH_NOARGS, "Every next call goes the long way."},
    {}};

static PyGetSetDef attributes[] = {
    {"_remembered", numRemembered, nullptr, "How many ways are remembered.",
     nullptr},
    {"_last_direct", lastDirect, forgetLastDirect,
     "What the last call ran, if it was direct.", nullptr},
    {}};

static PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET,
                                 offsetof(Callable, vectorcall), READONLY,
                                 nullptr},
                                {}};

static PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char *>("What functions and kernels are calls of.")},
    {Py_tp_new, reinterpret_cast<void *>(newCallable)},
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, attributes},
    {0, nullptr}};

static PyType_Spec spec = {"tessera._runtime.Callable", sizeof(Callable), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                               Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
                           slots};

static PyMethodDef inheritMethod = {"inherit_vectorcall", inheritVectorcall,
                                    METH_O, nullptr};

void python::bindCallable(nb::module_ &module) {
  PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    throw nb::python_error();
  module.attr("Callable") = nb::steal(type);
  PyObject *inherit = PyCFunction_New(&inheritMethod, nullptr);
  if (!inherit)
    throw nb::python_error();
  module.attr("inherit_vectorcall") = nb::steal(inherit);
}
