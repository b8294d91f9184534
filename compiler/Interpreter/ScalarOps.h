//===- ScalarOps.h - Every operation on single elements ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table (ScalarOps.def) and one reference per entry: the only place that
// says what exp is. gir's element-wise ops, arith and math map to it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_INTERPRETER_SCALAROPS_H
#define TESSERA_COMPILER_INTERPRETER_SCALAROPS_H

#include "compiler/Interpreter/Element.h"

#include "mlir/IR/Operation.h"

namespace tessera::interpreter {

enum class ScalarOp : uint8_t {
#define SCALAR_OP(NAME, TEXT, ARITY, PRECISION, RING) NAME,
#include "compiler/Interpreter/ScalarOps.def"
};

enum class Precision : uint8_t { Exact, Rounded, TwoUlps, Composed };
enum class RingClass : uint8_t { Exact, Opaque, Composed, Excluded };

struct ScalarOpInfo {
  ScalarOp op;
  llvm::StringLiteral name;
  unsigned operands;
  Precision precision; // of the float form
  RingClass ring;      // of the float form; integers are always exact
};
llvm::ArrayRef<ScalarOpInfo> scalarOps();
inline const ScalarOpInfo &infoOf(ScalarOp op) {
  return scalarOps()[unsigned(op)];
}
constexpr bool isComparison(ScalarOp op) {
  return op >= ScalarOp::Eq && op <= ScalarOp::GeUnsigned;
}
/// Whether the result is I1 whatever the operands are.
constexpr bool isPredicate(ScalarOp op) {
  return isComparison(op) || op == ScalarOp::IsNan || op == ScalarOp::IsFinite;
}

/// The reference on reals; 80-bit, with the C library's functions. Comparisons
/// and predicates give 0 or 1.
long double referenceReal(ScalarOp op, const long double *x);
/// The reference on integers of the given type (operands and result wrapped);
/// none where the op is undefined (arith's division by 0, shifts too far).
std::optional<int64_t> referenceInteger(ScalarOp op, Element type,
                                        const int64_t *x);

/// Sigmoid, Silu, Gelu, GeluTanh: also computed as what they decompose into.
constexpr bool isComposed(ScalarOp op) {
  return op >= ScalarOp::Sigmoid && op <= ScalarOp::GeluTanh;
}

/// The entry an element-wise op of gir, arith or math is; none for casts.
std::optional<ScalarOp> scalarOpOf(mlir::Operation *op);

} // namespace tessera::interpreter

#endif // TESSERA_COMPILER_INTERPRETER_SCALAROPS_H
