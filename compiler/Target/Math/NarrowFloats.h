//===- NarrowFloats.h - fp8 and bf16 by integer arithmetic ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No LLVM target of ours converts fp8 on every machine, so the bits are moved
// by hand. E bits of exponent and M of mantissa of an fp8 number, shifted to
// the places of an f32's, read as an f32 that is too small by a power of two:
//
//     e4m3  0.1111.110  ->  0.00001111.110000...  =  448 x 2^-120
//
// which one exact multiplication mends, subnormals too.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_MATH_NARROWFLOATS_H
#define TESSERA_COMPILER_TARGET_MATH_NARROWFLOATS_H

#include "mlir/IR/Builders.h"

namespace tessera::target {

/// fp8_e4m3 (no infinity) or fp8_e5m2.
bool isFp8(mlir::Type element);

/// A scalar or vector of fp8 as f32: exact.
mlir::Value extendFp8(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value);

/// A scalar or vector of f32 as fp8: nearest even. What is out of range is the
/// largest number; NaN stays NaN.
mlir::Value truncateToFp8(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, mlir::Type element);

/// A scalar or vector of f64 as f32 whose last bit says that something was cut
/// off: what is made of it is then rounded once. (Boldo and Melquiond, 2005)
mlir::Value roundToOdd(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value value);

/// A scalar or vector of integers as f32 that rounds to the bf16 nearest
/// to the integer. Straight to f32 and then to bf16 would round twice.
mlir::Value convertForBf16(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value integer);

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_MATH_NARROWFLOATS_H
