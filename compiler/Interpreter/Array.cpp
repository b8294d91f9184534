//===- Array.cpp - What values are while a program is interpreted ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Interpreter/Array.h"

using namespace tessera;
using namespace tessera::interpreter;

Datum::~Datum() = default;

Array::Array(llvm::ArrayRef<int64_t> shape, Element element, Cell fill)
    : Datum(Kind::Array), shape(shape.begin(), shape.end()), element(element),
      cells(size_t(elementCount(shape).value_or(0)), fill) {}

llvm::SmallVector<int64_t> Array::strides() const {
  llvm::SmallVector<int64_t> result(rank());
  int64_t stride = 1;
  for (size_t axis = rank(); axis-- > 0;) {
    result[axis] = stride;
    stride *= shape[axis];
  }
  return result;
}

int64_t Array::offset(llvm::ArrayRef<int64_t> index) const {
  int64_t offset = 0;
  for (size_t axis = 0; axis < rank(); ++axis)
    offset = offset * shape[axis] + index[axis];
  return offset;
}

const Array &interpreter::cropped(const Array &array,
                                  llvm::ArrayRef<int64_t> shape,
                                  Array &storage) {
  if (llvm::ArrayRef<int64_t>(array.shape) == shape)
    return array;
  storage = Array(shape, array.element);
  size_t next = 0;
  forEachIndex(shape, [&](llvm::ArrayRef<int64_t> index) {
    storage.cells[next++] = array.at(index);
  });
  return storage;
}

std::optional<int64_t>
interpreter::elementCount(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    if (extent == 0)
      return 0;
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count) ||
        count > (int64_t(1) << 48))
      return std::nullopt;
  return count;
}
