// The closed list of the value level. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --split-input-file --verify-diagnostics --tile-check-value-contract

tile.func @buffer() {
  // expected-error@+1 {{'tile.alloc' may not stand in a kernel of Tile IR's value level}}
  %b = tile.alloc : !tile.buffer<4xf32, scratch>
  tile.return
}

// -----

// expected-error@+1 {{'func.func' may not stand in a module of Tile IR}}
func.func @left_over(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
