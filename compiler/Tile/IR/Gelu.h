//===- Gelu.h - gelu as arith and math ops ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_TILE_IR_GELU_H
#define TESSERA_TILE_IR_GELU_H

#include "mlir/IR/Builders.h"

namespace tessera::tile {

/// x Phi(x), by erf, of a tile or scalar of f32 or f64. Full relative accuracy
/// in the negative tail, where x (1 + erf(x / sqrt 2)) / 2 has none. `isNear`:
/// to 13 bits, for a result that is rounded to 16-bit floats.
mlir::Value createGelu(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value x, bool isNear);

} // namespace tessera::tile

#endif // TESSERA_TILE_IR_GELU_H
