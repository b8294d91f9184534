// Products in flight and roles of warps: defined and verified, not lowered yet.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --split-input-file | tessera-opt --split-input-file | FileCheck %s
// RUN: not tessera-opt %s --split-input-file --tile-check-mapped-contract 2>&1 | FileCheck %s --check-prefix=YET

// YET: no machine is lowered to with 'tile.mma_async' yet
// YET: no machine is lowered to with 'tile.mma_wait' yet
// YET: no machine is lowered to with 'tile.roles' yet

// CHECK-LABEL: tile.func @products
// CHECK: %[[D:.*]], %[[T:.*]] = tile.mma_async %{{.*}}, %{{.*}}, %{{.*}} issuer = warp_group {instruction = #tile.instruction<wgmma 64 x 128 x 16>} : !tile.buffer<64x64xf16, shared>, <64x128xf16, shared>, tensor<64x128xf32> -> !tile.in_flight<tensor<64x128xf32>>
// CHECK: tile.mma_async %{{.*}}, %{{.*}}, %{{.*}} issuer = thread : !tile.buffer<128x64xf16, shared>, <64x256xf16, shared>, !tile.buffer<128x256xf32, tmem>
// CHECK: tile.mma_wait %[[D]] pending = 0 : <tensor<64x128xf32>> -> tensor<64x128xf32>
// CHECK: tile.wait %{{.*}} pending = 0
tile.func @products() {
  %c0 = arith.constant dense<0.0> : tensor<64x128xf32>
  %a = tile.alloc : !tile.buffer<64x64xf16, shared>
  %b = tile.alloc : !tile.buffer<64x128xf16, shared>
  %x = tile.alloc : !tile.buffer<128x64xf16, shared>
  %y = tile.alloc : !tile.buffer<64x256xf16, shared>
  %s = tile.alloc : !tile.buffer<128x256xf32, tmem>
  %d, %t = tile.mma_async %a, %b, %c0 issuer = warp_group {instruction = #tile.instruction<wgmma 64 x 128 x 16>}
           : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x128xf16, shared>, tensor<64x128xf32>
           -> !tile.in_flight<tensor<64x128xf32>>
  %u = tile.mma_async %x, %y, %s issuer = thread
       : !tile.buffer<128x64xf16, shared>, !tile.buffer<64x256xf16, shared>, !tile.buffer<128x256xf32, tmem>
  %c = tile.mma_wait %d pending = 0 : !tile.in_flight<tensor<64x128xf32>> -> tensor<64x128xf32>
  tile.wait %u pending = 0
  tile.return
}

// -----

// CHECK-LABEL: tile.func @roles
tile.func @roles() attributes {block_size = 384 : i64} {
  // CHECK: tile.roles ["load", "multiply"] warps = [4, 8] registers = [40, 232]
  tile.roles ["load", "multiply"] warps = [4, 8] registers = [40, 232] {
    tile.barrier
  }, {
    tile.barrier
  }
  tile.return
}
