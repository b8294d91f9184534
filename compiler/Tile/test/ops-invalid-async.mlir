// What the verifiers of products in flight, roles and layouts refuse.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --split-input-file --verify-diagnostics

tile.func @left() {
  %a = tile.alloc : !tile.buffer<64x64xf16, scratch>
  %b = tile.alloc : !tile.buffer<64x64xf16, shared>
  %s = tile.alloc : !tile.buffer<64x64xf32, tmem>
  // expected-error @below {{reads shared memory, on the left also tiles and tensor memory}}
  %t = tile.mma_async %a, %b, %s issuer = thread : !tile.buffer<64x64xf16, scratch>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, tmem>
  tile.return
}

// -----

tile.func @chain() {
  %a = tile.alloc : !tile.buffer<64x32xf16, shared>
  %s = tile.alloc : !tile.buffer<64x64xf32, tmem>
  // expected-error @below {{does not chain}}
  %t = tile.mma_async %a, %a, %s issuer = thread : !tile.buffer<64x32xf16, shared>, !tile.buffer<64x32xf16, shared>, !tile.buffer<64x64xf32, tmem>
  tile.return
}

// -----

tile.func @memory() {
  %a = tile.alloc : !tile.buffer<64x64xf16, shared>
  %s = tile.alloc : !tile.buffer<64x64xf32, shared>
  // expected-error @below {{sums in registers or in tensor memory, not in shared}}
  %t = tile.mma_async %a, %a, %s issuer = thread : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, shared>
  tile.return
}

// -----

tile.func @result() {
  %a = tile.alloc : !tile.buffer<64x64xf16, shared>
  %c = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-error @below {{leaves a result in flight, unless it sums in tensor memory}}
  %t = tile.mma_async %a, %a, %c issuer = warp_group : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf16, shared>, tensor<64x64xf32>
  tile.return
}

// -----

tile.func @issuer() {
  %a = tile.alloc : !tile.buffer<64x64xf16, shared>
  %s = tile.alloc : !tile.buffer<64x64xf32, tmem>
  // expected-error @below {{of a warp_group does not sum in tensor memory}}
  %t = tile.mma_async %a, %a, %s issuer = warp_group : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, tmem>
  tile.return
}

// -----

tile.func @word() {
  %a = tile.alloc : !tile.buffer<64x64xf16, shared>
  %s = tile.alloc : !tile.buffer<64x64xf32, tmem>
  // expected-error @below {{there are thread, warp, warp_group and block_pair, not 'grid'}}
  %t = tile.mma_async %a, %a, %s issuer = grid : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, tmem>
  tile.return
}

// -----

tile.func @wait(%x: !tile.in_flight<tensor<64x64xf32>>) {
  // expected-error @below {{gives 'tensor<64x64xf32>', not 'tensor<32x64xf32>'}}
  %t = tile.mma_wait %x pending = 0 : !tile.in_flight<tensor<64x64xf32>> -> tensor<32x64xf32>
  tile.return
}

// -----

// expected-error @below {{a product leaves a matrix, not 'tensor<64xf32>'}}
tile.func @vector(%x: !tile.in_flight<tensor<64xf32>>) {
  tile.return
}

// -----

tile.func @one() {
  // expected-error @below {{has two roles or more, each with a name, warps and registers}}
  tile.roles ["load"] warps = [4] registers = [0] {
    tile.barrier
  }
  tile.return
}

// -----

tile.func @warps() attributes {block_size = 64 : i64} {
  // expected-error @below {{has 5 warps, but the block 2}}
  tile.roles ["load", "multiply"] warps = [1, 4] registers = [0, 0] {
    tile.barrier
  }, {
    tile.barrier
  }
  tile.return
}

// -----

tile.func @registers() {
  // expected-error @below {{registers are 24 to 256 in steps of 8, of whole groups of four warps, not 40 of 1}}
  tile.roles ["load", "multiply"] warps = [1, 4] registers = [40, 0] {
    tile.barrier
  }, {
    tile.barrier
  }
  tile.return
}

// -----

tile.func @inner() {
  tile.roles ["load", "multiply"] warps = [1, 4] registers = [0, 0] {
    // expected-error @below {{stands at the kernel's top or in a loop, not in another role}}
    tile.roles ["a", "b"] warps = [1, 4] registers = [0, 0] {
      tile.barrier
    }, {
      tile.barrier
    }
  }, {
    tile.barrier
  }
  tile.return
}

// -----

// expected-error @below {{does not lead to the axes of the tile}}
tile.func @layout(%x: tensor<16x16xf32, #tile.layout<register:[1,2], lane:[4] -> (8)>>) {
  tile.return
}

// -----

// expected-error @below {{layout, column 42: expected 'repeat' or 'pad'}}
tile.func @text(%x: tensor<8xf32, #tile.layout<register:[1,2], lane:[4] -> (8), twice>>) {
  tile.return
}

// -----

// expected-error @below {{a matrix instruction has three sizes of 1 to 1024, fma none}}
tile.func @sizes() attributes {discarded = #tile.instruction<fma 16 x 8 x 16>} {
  tile.return
}
