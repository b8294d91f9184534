//===- arrays.cpp - NumPy arrays and torch tensors in C++ -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "python/bindings/arrays.h"

#include "runtime/Memory.h"

#include "python/bindings/dlpack.h"
#include "tessera-c/runtime.h"
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#include <cstring>
#include <numpy/ndarrayobject.h>

using namespace tessera;
using namespace tessera::python;

static_assert(sizeof(npy_intp) == sizeof(int64_t));

namespace {

/// A class of torch whose objects can be read through its exchange API.
struct TorchType {
  PyTypeObject *type = nullptr; // owned: classes of torch never die
  const dlpack::ExchangeApi *api = nullptr;
  PyObject *isNegated = nullptr;     // the method `is_neg`
  PyObject *isGradEnabled = nullptr; // the function `torch.is_grad_enabled`
  PyObject *noteWritten = nullptr;   // `torch.autograd.graph.increment_version`
};

} // namespace

/// torch.Tensor and torch.nn.Parameter. Read and written under the GIL.
static TorchType torchTypes[2];

bool python::importNumPy() { return PyArray_ImportNumPyAPI() == 0; }

static const dlpack::ExchangeApi *exchangeApiOf(PyTypeObject *type) {
  PyObject *capsule = PyObject_GetAttrString(reinterpret_cast<PyObject *>(type),
                                             "__dlpack_c_exchange_api__");
  if (!capsule) {
    PyErr_Clear(); // an older torch
    return nullptr;
  }
  auto *header = static_cast<const dlpack::ExchangeHeader *>(
      PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  Py_DECREF(capsule);
  PyErr_Clear();
  while (header && header->version.major != 1)
    header = header->previous;
  auto *api = reinterpret_cast<const dlpack::ExchangeApi *>(header);
  return api && api->view ? api : nullptr;
}

void python::learnArrayType(PyTypeObject *type) {
  const char *name = type->tp_name;
  if (std::strcmp(name, "Tensor") != 0 && std::strcmp(name, "Parameter") != 0)
    return;
  for (TorchType &known : torchTypes)
    if (known.type == type)
      return;
  PyObject *module =
      PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "__module__");
  bool isTorch =
      module && PyUnicode_Check(module) &&
      (PyUnicode_CompareWithASCIIString(module, "torch") == 0 ||
       PyUnicode_CompareWithASCIIString(module, "torch.nn.parameter") == 0);
  Py_XDECREF(module);
  PyErr_Clear();
  const dlpack::ExchangeApi *api = isTorch ? exchangeApiOf(type) : nullptr;
  if (!api)
    return;
  auto *isNegated =
      PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "is_neg");
  PyObject *torch = PyImport_ImportModule("torch");
  PyObject *isGradEnabled =
      torch ? PyObject_GetAttrString(torch, "is_grad_enabled") : nullptr;
  Py_XDECREF(torch);
  PyObject *graph = PyImport_ImportModule("torch.autograd.graph");
  PyObject *noteWritten =
      graph ? PyObject_GetAttrString(graph, "increment_version") : nullptr;
  Py_XDECREF(graph);
  PyErr_Clear();
  for (TorchType &free : torchTypes) {
    if (free.type || !isNegated || !isGradEnabled || !noteWritten)
      continue;
    Py_INCREF(type);
    free = {type, api, isNegated, isGradEnabled, noteWritten};
    return;
  }
  Py_XDECREF(isNegated);
  Py_XDECREF(isGradEnabled);
  Py_XDECREF(noteWritten);
}

static bool viewNumPy(PyObject *object, ArrayView &view) {
  auto *array = reinterpret_cast<PyArrayObject *>(object);
  PyArray_Descr *dtype = PyArray_DESCR(array);
  view.rank = PyArray_NDIM(array);
  if (view.rank > maxRank || dtype->byteorder == '>')
    return false;
  view.data = PyArray_DATA(array);
  view.sizes = reinterpret_cast<const int64_t *>(PyArray_DIMS(array));
  view.element = dtype->type_num;
  view.library = Library::NumPy;
  view.isWritable = PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE;
  const npy_intp *strides = PyArray_STRIDES(array);
  npy_intp size = PyArray_ITEMSIZE(array);
  if (size <= 0 || (size & (size - 1)) != 0)
    return false; // no dtype of ours
  int shift = __builtin_ctzll(static_cast<unsigned long long>(size));
  npy_intp rest = 0;
  for (int axis = 0; axis < view.rank; ++axis) {
    rest |= strides[axis];
    view.buffer[axis] = strides[axis] >> shift;
  }
  view.strides = view.buffer;
  return (rest & (size - 1)) == 0;
}

/// Whether calling `function` gives False.
static bool isFalse(PyObject *function, PyObject *const *args, size_t count) {
  PyObject *answer = PyObject_Vectorcall(function, args, count, nullptr);
  if (!answer)
    PyErr_Clear();
  Py_XDECREF(answer);
  return answer == Py_False;
}

/// Whether the tensor's memory holds what it stands for (no negation pending,
/// as in `z.conj().imag`) and no gradient is expected of its results.
static bool isPlain(const TorchType &known, PyObject *object) {
  static PyObject *const requiresGrad =
      PyUnicode_InternFromString("requires_grad");
  if (!isFalse(known.isNegated, &object, 1))
    return false;
  PyObject *required = PyObject_GetAttr(object, requiresGrad);
  if (!required)
    PyErr_Clear();
  Py_XDECREF(required);
  return required == Py_False || isFalse(known.isGradEnabled, nullptr, 0);
}

static bool viewTorch(const TorchType &known, PyObject *object,
                      ArrayView &view) {
  dlpack::Tensor tensor;
  if (known.api->view(object, &tensor) != 0) {
    PyErr_Clear(); // sparse, quantised, ...: arrays.py says what is wrong
    return false;
  }
  if (tensor.device.type != dlpack::cpu || tensor.rank > maxRank ||
      tensor.dtype.lanes != 1 || (tensor.rank && !tensor.strides))
    return false;
  if (!isPlain(known, object))
    return false;
  view.data = static_cast<char *>(tensor.data) + tensor.byteOffset;
  view.sizes = tensor.sizes;
  view.strides = tensor.strides;
  view.rank = tensor.rank;
  view.element = tensor.dtype.code << 8 | tensor.dtype.bits;
  view.library = Library::Torch;
  view.isWritable = true;
  return true;
}

bool python::viewArray(PyObject *object, ArrayView &view) {
  if (PyArray_CheckExact(object))
    return viewNumPy(object, view);
  PyTypeObject *type = Py_TYPE(object);
  for (const TorchType &known : torchTypes)
    if (known.type == type)
      return viewTorch(known, object, view);
  return false;
}

void python::noteWritten(PyObject *tensor) {
  Py_XDECREF(PyObject_CallOneArg(torchTypes[0].noteWritten, tensor));
  PyErr_Clear();
}

static void raiseFromTorch(void *, const char *kind, const char *text) {
  PyErr_SetString(std::strcmp(kind, "MemoryError") == 0 ? PyExc_MemoryError
                                                        : PyExc_RuntimeError,
                  text);
}

static PyObject *makeTorch(int32_t element, int rank, const int64_t *sizes,
                           void *&data) {
  dlpack::Tensor prototype{};
  prototype.device = {dlpack::cpu, 0};
  prototype.rank = rank;
  prototype.dtype = {static_cast<uint8_t>(element >> 8),
                     static_cast<uint8_t>(element), 1};
  prototype.sizes = const_cast<int64_t *>(sizes);
  const dlpack::ExchangeApi *api = torchTypes[0].api;
  dlpack::ManagedTensor *managed = nullptr;
  if (api->allocate(&prototype, &managed, nullptr, raiseFromTorch) != 0) {
    if (!PyErr_Occurred())
      PyErr_SetNone(PyExc_MemoryError);
    return nullptr;
  }
  data = static_cast<char *>(managed->tensor.data) + managed->tensor.byteOffset;
  void *object = nullptr;
  if (api->import(managed, &object) != 0)
    return nullptr;
  return static_cast<PyObject *>(object);
}

//===----------------------------------------------------------------------===//
// Results in the runtime's pool. Their memory goes back to it when the array
// dies, whatever thread that happens on, so that a steady call touches no new
// page. Small ones are left to the libraries, whose own caches are quicker.
//===----------------------------------------------------------------------===//

static constexpr size_t pooledBytes = size_t{64} << 10;

static void *poolNew(void *, size_t bytes) { return tsr_allocate(bytes); }

static void *poolZeros(void *, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes))
    return nullptr;
  void *memory = tsr_allocate(bytes);
  return memory ? std::memset(memory, 0, bytes) : nullptr;
}

/// For `array.resize`.
static void *poolResize(void *, void *old, size_t bytes) {
  return runtime::poolReallocate(old, bytes);
}

static void poolDelete(void *, void *memory, size_t) { tsr_deallocate(memory); }

/// NumPy's name for the pool (NEP 49); arrays made with it own their memory.
static PyObject *poolHandler() {
  static PyDataMem_Handler handler = {
      "tessera_pool", 1, {nullptr, poolNew, poolZeros, poolResize, poolDelete}};
  static PyObject *capsule = PyCapsule_New(&handler, "mem_handler", nullptr);
  return capsule;
}

static PyObject *makeNumPy(PyObject *dtype, int rank, const int64_t *sizes,
                           void *&data) {
  Py_INCREF(dtype); // stolen
  PyObject *array = PyArray_NewFromDescr(
      &PyArray_Type, reinterpret_cast<PyArray_Descr *>(dtype), rank,
      reinterpret_cast<const npy_intp *>(sizes), nullptr, nullptr, 0, nullptr);
  if (array)
    data = PyArray_DATA(reinterpret_cast<PyArrayObject *>(array));
  return array;
}

static PyObject *makePooledNumPy(PyObject *dtype, int rank,
                                 const int64_t *sizes, void *&data) {
  PyObject *ours = poolHandler();
  PyObject *before = ours ? PyDataMem_SetHandler(ours) : nullptr;
  if (!before)
    return nullptr;
  PyObject *array = makeNumPy(dtype, rank, sizes, data);
  // The error of the array must survive the call.
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *restored = PyDataMem_SetHandler(before);
  Py_DECREF(before);
  PyErr_Restore(type, value, trace);
  if (!restored) {
    Py_XDECREF(array);
    return nullptr;
  }
  Py_DECREF(restored);
  return array;
}

namespace {
/// What torch holds of a result: it calls `deleter` when the last view is gone.
struct PooledTensor {
  dlpack::ManagedTensor managed{};
  int64_t shape[2 * maxRank]; // sizes, then strides

  static void free(dlpack::ManagedTensor *managed) {
    auto *self = static_cast<PooledTensor *>(managed->context);
    tsr_deallocate(self->managed.tensor.data);
    delete self;
  }
};
} // namespace

static PyObject *makePooledTorch(int32_t element, int rank,
                                 const int64_t *sizes, size_t bytes,
                                 void *&data) {
  void *memory = tsr_allocate(bytes);
  if (!memory)
    return PyErr_NoMemory();
  auto *made = new PooledTensor;
  int64_t *strides = made->shape + maxRank, step = 1;
  for (int axis = rank; axis-- > 0;) {
    made->shape[axis] = sizes[axis];
    strides[axis] = step;
    step *= sizes[axis];
  }
  made->managed.version = {1, 0};
  made->managed.context = made;
  made->managed.deleter = PooledTensor::free;
  made->managed.tensor = {
      memory,
      {dlpack::cpu, 0},
      rank,
      {static_cast<uint8_t>(element >> 8), static_cast<uint8_t>(element), 1},
      made->shape,
      strides,
      0};
  void *object = nullptr;
  if (torchTypes[0].api->import(&made->managed, &object) != 0) {
    PooledTensor::free(&made->managed);
    return nullptr;
  }
  data = memory;
  return static_cast<PyObject *>(object);
}

PyObject *python::makeArray(const ResultType &type, int rank,
                            const int64_t *sizes, size_t bytes, void *&data) {
  bool isPooled = bytes >= pooledBytes && rank <= maxRank;
  if (type.library == Library::Torch)
    return isPooled ? makePooledTorch(type.element, rank, sizes, bytes, data)
                    : makeTorch(type.element, rank, sizes, data);
  return isPooled ? makePooledNumPy(type.dtype, rank, sizes, data)
                  : makeNumPy(type.dtype, rank, sizes, data);
}

int32_t python::torchElement(int32_t dtype) {
  int32_t bits = tsr_dtype_bits(dtype);
  switch (dtype) {
  case TSR_F64:
  case TSR_F32:
  case TSR_F16:
    return 2 << 8 | bits;
  case TSR_BF16:
    return 4 << 8 | bits;
  case TSR_I8:
  case TSR_I16:
  case TSR_I32:
  case TSR_I64:
    return 0 << 8 | bits;
  case TSR_U8:
  case TSR_U16:
  case TSR_U32:
  case TSR_U64:
    return 1 << 8 | bits;
  case TSR_BOOL:
    return 6 << 8 | bits;
  case TSR_C64:
    return 5 << 8 | bits;
  default:
    return 0;
  }
}

bool python::canMakeTorch() { return torchTypes[0].api != nullptr; }
