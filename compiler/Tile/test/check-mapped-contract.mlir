// RUN: tessera-opt %s --tile-check-mapped-contract --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Graph IR is two stages up.
// expected-error @+1 {{'func.func' may not stand in a module of Tile IR}}
func.func @leftover(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

tile.func @program_c4(%M: i64) {
  %m = arith.index_cast %M : i64 to index
  // expected-error @+1 {{a number is one of a tile.chunk}}
  %i = tile.program extents(%m) tiles = [0] at %m : index
  tile.return
}

// -----

tile.func @program_c4_without(%M: i64) {
  %m = arith.index_cast %M : i64 to index
  %begin, %end = tile.chunk extents(%m) tiles = [0]
  // expected-error @+1 {{a program of a tile.chunk has a number}}
  %i = tile.program extents(%m) tiles = [0] : index
  tile.return
}

// -----

tile.func @chunk_c2(%M: i64) {
  %m = arith.index_cast %M : i64 to index
  %begin, %end = tile.chunk extents(%m) tiles = [0]
  // expected-error @+1 {{a kernel has one tile.chunk}}
  %first, %last = tile.chunk extents(%m) tiles = [0]
  tile.return
}

// -----

tile.func @chunk_c2_inside(%M: i64) {
  %m = arith.index_cast %M : i64 to index
  %one = arith.constant 1 : index
  scf.for %i = %one to %m step %one {
    // expected-error @+1 {{tile.chunk stands at a kernel's top}}
    %begin, %end = tile.chunk extents(%m) tiles = [0]
  }
  tile.return
}
