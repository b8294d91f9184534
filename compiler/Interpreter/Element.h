//===- Element.h - The element types the interpreter knows ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An enum instead of MLIR's types: it is asked once per element.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_INTERPRETER_ELEMENT_H
#define TESSERA_COMPILER_INTERPRETER_ELEMENT_H

#include "llvm/ADT/StringRef.h"
#include "mlir/IR/Types.h"

#include <cstdint>
#include <optional>

namespace tessera::interpreter {

/// The storage types of docs/abi.md (tf32: computed in only). `index` of the
/// tile level is I64.
enum class Element : uint8_t {
  I1,
  I8,
  I16,
  I32,
  I64,
  F8E4M3,
  F8E5M2,
  F16,
  BF16,
  TF32,
  F32,
  F64,
};

constexpr bool isFloat(Element e) { return e >= Element::F8E4M3; }
/// Floats that compute in f32.
constexpr bool isNarrow(Element e) {
  return e >= Element::F8E4M3 && e < Element::F32;
}
/// The type an op on `e` computes and accumulates in, unless it says otherwise.
constexpr Element computeType(Element e) {
  return isNarrow(e) ? Element::F32 : e;
}
/// Bits in memory; 1 for I1.
unsigned bitsOf(Element e);
/// The abi's token: "f32", "i64", "bool" ...
llvm::StringRef nameOf(Element e);
std::optional<Element> elementNamed(llvm::StringRef name);
/// The element of a scalar, tensor, memref or tile.buffer type.
std::optional<Element> elementOf(mlir::Type type);

/// The nearest value of a float type (ties to even; f8e4m3 beyond its largest
/// becomes NaN, the others infinity), as every conversion but a store has it.
long double roundTo(Element e, long double value);
/// The same toward zero.
long double roundTowardZero(Element e, long double value);
/// As a store has it: f8 saturates.
long double saturateTo(Element e, long double value);
/// The value of `bits` cut to the type's width, and sign-extended (I1: 0 or 1).
int64_t wrapTo(Element e, int64_t bits);

/// The bits of a value of the type, in the low bits, and back.
uint64_t encode(Element e, long double value);
long double decode(Element e, uint64_t bits);

} // namespace tessera::interpreter

#endif // TESSERA_COMPILER_INTERPRETER_ELEMENT_H
