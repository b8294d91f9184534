//===- arrays.h - NumPy arrays and torch tensors in C++ ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two kinds of arrays that a call reads without asking Python: NumPy's own
// class through its C structure, torch's through the DLPack C exchange API that
// its class carries (`__dlpack_c_exchange_api__`). Everything else (subclasses,
// other libraries) goes through tessera/arrays.py, which takes microseconds.

#ifndef TESSERA_PYTHON_BINDINGS_ARRAYS_H
#define TESSERA_PYTHON_BINDINGS_ARRAYS_H

#include <Python.h>
#include <cstdint>

namespace tessera::python {

constexpr int maxRank = 16; // TSR_MAX_RANK

enum class Library : uint8_t { None, NumPy, Torch };

/// An array for the duration of a call: `sizes` and perhaps `strides` point
/// into the array itself, so it must stay in one place and its owner alive.
struct ArrayView {
  void *data;
  const int64_t *sizes;
  const int64_t *strides; // in elements
  int32_t rank;
  int32_t element; // the library's own number of the dtype
  Library library;
  bool isWritable;
  int64_t buffer[maxRank]; // NumPy counts strides in bytes

  ArrayView() = default;
  ArrayView(const ArrayView &) = delete;
  ArrayView &operator=(const ArrayView &) = delete;
};

/// Describes `object`. False, without an error set, if tessera/arrays.py must
/// look at it.
bool viewArray(PyObject *object, ArrayView &view);

/// Prepares viewArray for objects of this class, if it is one that it can read.
void learnArrayType(PyTypeObject *type);

/// Tells torch that a tensor was written, as its own operations in place do:
/// autograd then refuses to use what it had saved of it.
void noteWritten(PyObject *tensor);

/// The innermost axis with stride 1, or -1; as tessera/arrays.py defines it.
inline int unitAxis(const ArrayView &view) {
  for (int axis = view.rank - 1; axis >= 0; --axis)
    if (view.strides[axis] == 1 && view.sizes[axis] != 1)
      return axis;
  return view.rank && view.strides[view.rank - 1] == 1 ? view.rank - 1 : -1;
}

/// How to make a result: the library's dtype, and for torch its number.
struct ResultType {
  Library library = Library::None;
  PyObject *dtype = nullptr; // NumPy's descriptor; owned by the call's entry
  int32_t element = 0;       // torch's
};

/// A new row-major array of `bytes` bytes and its memory, which is the pool's
/// if it is large; null with an error set on failure.
PyObject *makeArray(const ResultType &type, int rank, const int64_t *sizes,
                    size_t bytes, void *&data);

/// DLPack's code and bits of a dtype of the runtime; 0 if torch has none.
int32_t torchElement(int32_t dtype);

/// Whether a class of torch is known that makes tensors.
bool canMakeTorch();

/// Loads NumPy's C interface; false with an error set on failure.
bool importNumPy();

} // namespace tessera::python

#endif // TESSERA_PYTHON_BINDINGS_ARRAYS_H
