//===- Promotion.h - dtypes and how they combine ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dtypes of the language and section 5's rule of what two of them give:
//   * Python numbers, dims, unannotated scalars and expressions of them are
//     weak: they take the dtype of the other operand, if it can hold their kind
//     (an int fits an int or a float, a float only a float);
//   * same kind: the wider dtype wins;
//   * int with float, fp16 with bf16, bool with a number: an error that names
//     the `.to(...)` to write.
//
// Tiles and tensors use this one place.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_PROMOTION_H
#define TESSERA_COMPILER_FRONTEND_PROMOTION_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mlir {
class MLIRContext;
class Type;
} // namespace mlir

namespace tessera::frontend {

enum class DType : uint8_t {
  Bool,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  FP4_E2M1,
  FP6_E2M3,
  FP6_E3M2,
  FP8_E4M3,
  FP8_E4M3FNUZ,
  FP8_E5M2,
  FP16,
  BF16,
  TF32,
  FP32,
  FP64,
  Complex64,
};

enum class DTypeKind : uint8_t { Bool, Int, Float, Complex };

/// "fp32", "i64", "bool".
const char *getDTypeName(DType dtype);

/// The dtype of this name: ours, or NumPy's and torch's ("float32", "half").
std::optional<DType> parseDType(std::string_view name);

DTypeKind getDTypeKind(DType dtype);
unsigned getDTypeBits(DType dtype);
inline bool isFloat(DType dtype) {
  return getDTypeKind(dtype) == DTypeKind::Float;
}
inline bool isInteger(DType dtype) {
  return getDTypeKind(dtype) == DTypeKind::Int;
}

/// fp64 fp32 fp16 bf16 i32 i64 bool; all others are refused with "not yet".
bool isSupportedDType(DType dtype);
/// The nearest dtype that is supported, for fixes: fp16 for fp8_e4m3.
const char *getSupportedInstead(DType dtype);

/// The storage type in Graph and Tile IR; null for a dtype not supported yet.
mlir::Type getStorageType(mlir::MLIRContext *context, DType dtype);

/// The dtype stored as this type (index counts as i64), if there is one.
std::optional<DType> getDType(mlir::Type type);

/// The dtype in which a reduction or a matrix product over `dtype` sums.
DType getAccumulateDType(DType dtype);

struct PromotionOperand {
  DType dtype = DType::FP32;
  bool weak = false;
};

/// The common dtype, or why there is none.
struct Promotion {
  DType dtype = DType::FP32;
  /// All operands are weak, and so is the result.
  bool weak = false;
  /// Set if there is no common dtype: "int with float", "fp16 with bf16".
  std::string conflict;
  /// With a conflict: the side to convert (0 left, 1 right) and to what.
  int convertSide = 0;
  DType convertTo = DType::FP32;

  explicit operator bool() const { return conflict.empty(); }
};

Promotion promote(PromotionOperand left, PromotionOperand right);

/// The dtype of the same kind that holds what `dtype` does not: fp32 for fp16.
DType getWiderDType(DType dtype);
/// Numbers from here on, and their negatives, become infinite as `dtype`.
double getOverflow(DType dtype);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_PROMOTION_H
