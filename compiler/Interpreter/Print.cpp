//===- Print.cpp - Lines that a program prints ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As runtime/Print.cpp writes them, without shortening long arrays.
//
//===----------------------------------------------------------------------===//

#include "compiler/Interpreter/Interpreter.h"

#include <charconv>
#include <cmath>

using namespace tessera;
using namespace tessera::interpreter;

template <typename T> static std::string shortest(T value) {
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  (void)error;
  return std::string(buffer, end);
}

static std::string formatCell(Element element, const Cell &cell,
                              Domain &domain) {
  if (!cell.present())
    return cell.state == State::Absent ? "--" : "??";
  if (element == Element::I1)
    return cell.integer ? "True" : "False";
  if (!isFloat(element))
    return std::to_string(cell.integer);
  if (domain.name() == "ring")
    return "ring " + std::to_string(uint64_t(cell.integer));
  if (std::isnan(cell.real))
    return "nan";
  if (std::isinf(cell.real))
    return cell.real < 0 ? "-inf" : "inf";
  if (element == Element::F64)
    return shortest(double(cell.real));
  if (element == Element::F32)
    return shortest(float(cell.real));
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.5g", double(cell.real));
  return buffer;
}

static std::string formatArray(const Array &array, size_t axis, int64_t offset,
                               Domain &domain) {
  if (axis == array.rank())
    return formatCell(array.element, array.cells[offset], domain);
  int64_t stride = array.strides()[axis];
  std::string text = "[";
  for (int64_t i = 0; i < array.shape[axis]; ++i)
    text += (i ? ", " : "") +
            formatArray(array, axis + 1, offset + i * stride, domain);
  return text + "]";
}

std::string interpreter::formatPrint(llvm::StringRef text,
                                     llvm::ArrayRef<DatumRef> values,
                                     Domain &domain) {
  std::string result;
  for (const DatumRef &value : values) {
    auto [before, after] = text.split("{}");
    result += before;
    if (auto *array = llvm::dyn_cast<Array>(value.get()))
      result += formatArray(*array, 0, 0, domain);
    text = after;
  }
  return result + text.str();
}
