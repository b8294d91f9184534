// RUN: tessera-opt %s --tile-drop-redundant-barriers --tile-prove-barriers --split-input-file | FileCheck %s

// The first barrier orders nothing, the second makes the copy visible.
// CHECK-LABEL: tile.func @first
// CHECK-NOT:     tile.barrier
// CHECK:         tile.cp_async
// CHECK:         tile.wait
// CHECK-NEXT:    tile.barrier
// CHECK-NEXT:    tile.local_load
// CHECK-NOT:     tile.barrier
tile.func @first(%A: memref<?x?xf16, strided<[?, 1]>>, %m: !tile.range<16>, %k: !tile.range<16>) attributes {block_size = 32 : i64, shared_bytes = 512 : i64} {
  %x = tile.alloc {offset = 0 : i64} : !tile.buffer<16x16xf16, shared>
  tile.barrier
  %s = tile.cp_async %A[%m, %k] -> %x {commit} : memref<?x?xf16, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> !tile.buffer<16x16xf16, shared>
  tile.wait %s pending = 0
  tile.barrier
  %a = tile.local_load %x : !tile.buffer<16x16xf16, shared> -> tensor<16x16xf16>
  tile.barrier
  tile.return
}

// -----

// Nobody reads the scratch memory before the first reduction; the second one
// has to wait for the readers of the first.
// CHECK-LABEL: tile.func @reductions
// CHECK:         tile.reduce max {{.*}} {tile.exchange = #tile.exchange<128 at 0, unguarded>}
// CHECK:         tile.reduce sum {{.*}} {tile.exchange = #tile.exchange<128 at 0>}
tile.func @reductions(%x: tensor<4x64xf32>) attributes {block_size = 64 : i64, shared_bytes = 128 : i64} {
  %a = tile.reduce max %x axis = 1 {tile.exchange = #tile.exchange<128 at 0>} : tensor<4x64xf32> -> tensor<4xf32>
  %b = tile.reduce sum %x axis = 1 {tile.exchange = #tile.exchange<128 at 0>} : tensor<4x64xf32> -> tensor<4xf32>
  tile.return
}
