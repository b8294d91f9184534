//===- Activations.h - gelu, sigmoid, silu as ops of arith ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_TILE_IR_ACTIVATIONS_H
#define TESSERA_TILE_IR_ACTIVATIONS_H

#include "mlir/IR/Builders.h"

namespace tessera::tile {

// Of a tile or scalar of f32 or f64. `isNear`: to 12 bits or more, for a result
// that is rounded to 16-bit floats.

/// x Phi(x), by erf. Full relative accuracy in the negative tail, where
/// x (1 + erf(x / sqrt 2)) / 2 has none.
mlir::Value createGelu(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value x, bool isNear);

/// 1 / (1 + exp(-x)), with full relative accuracy at both ends.
mlir::Value createSigmoid(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value x, bool isNear);

/// x sigmoid(x), and -0 for minus infinity.
mlir::Value createSilu(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value x, bool isNear);

} // namespace tessera::tile

#endif // TESSERA_TILE_IR_ACTIVATIONS_H
