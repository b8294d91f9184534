// RUN: tessera-opt %s --tile-check-mapped-contract --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Graph IR is two stages up.
// expected-error @+1 {{'func.func' may not stand in a module of Tile IR}}
func.func @leftover(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
