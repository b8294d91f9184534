// RUN: tessera-opt %s --cpu-place-buffers | FileCheck %s

// Buffers that are never alive together share bytes; those that are do not.
// CHECK-LABEL: tile.func @share
// CHECK-SAME:    scratch_bytes = 512
// CHECK:         tile.alloc {offset = [[A:[0-9]+]] : i64}
// CHECK:         tile.alloc {offset = [[B:[0-9]+]] : i64}
// CHECK:         tile.alloc {offset = [[A]] : i64}
tile.func @share(%N: index, %y: memref<?xf32, strided<[1]>>) {
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc : !tile.buffer<64xf32, scratch>
  tile.nest [%n] : (!tile.range<64>) -> () {
    %x = tile.fill %zero [%n] : f32, !tile.range<64> -> tensor<64xf32>
    tile.local_store %x, %a : tensor<64xf32>, !tile.buffer<64xf32, scratch>
  }
  %b = tile.alloc : !tile.buffer<64xf32, scratch>
  tile.nest [%n] : (!tile.range<64>) -> () {
    %x = tile.local_load %a : !tile.buffer<64xf32, scratch> -> tensor<64xf32>
    tile.local_store %x, %b : tensor<64xf32>, !tile.buffer<64xf32, scratch>
  }
  %c = tile.alloc : !tile.buffer<64xf32, scratch>
  tile.nest [%n] : (!tile.range<64>) -> () {
    %x = tile.local_load %b : !tile.buffer<64xf32, scratch> -> tensor<64xf32>
    tile.local_store %x, %c : tensor<64xf32>, !tile.buffer<64xf32, scratch>
  }
  tile.nest [%n] : (!tile.range<64>) -> () {
    %x = tile.local_load %c : !tile.buffer<64xf32, scratch> -> tensor<64xf32>
    tile.store %x, %y[%n] : tensor<64xf32>, memref<?xf32, strided<[1]>>, !tile.range<64>
  }
  tile.return
}

// What a loop reads from outside stays alive for all its turns.
// CHECK-LABEL: tile.func @loop
// CHECK-SAME:    scratch_bytes = 512
// CHECK:         tile.alloc {offset = [[A:[0-9]+]] : i64}
// CHECK:         tile.for
// CHECK-NOT:       offset = [[A]] : i64
// CHECK:         tile.return
tile.func @loop(%N: index) {
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  %start = arith.constant 0 : index
  %a = tile.alloc : !tile.buffer<64xf32, scratch>
  tile.for %k = %start to %N : !tile.range<64> {
    tile.nest [%n] : (!tile.range<64>) -> () {
      %x = tile.local_load %a : !tile.buffer<64xf32, scratch> -> tensor<64xf32>
      tile.local_store %x, %a : tensor<64xf32>, !tile.buffer<64xf32, scratch>
    }
    %b = tile.alloc : !tile.buffer<64xf32, scratch>
    tile.nest [%n] : (!tile.range<64>) -> () {
      %zero = arith.constant dense<0.0> : tensor<64xf32>
      tile.local_store %zero, %b : tensor<64xf32>, !tile.buffer<64xf32, scratch>
      %again = tile.local_load %b : !tile.buffer<64xf32, scratch> -> tensor<64xf32>
    }
  }
  tile.return
}

// A buffer that nobody reads is not there.
// CHECK-LABEL: tile.func @unread
// CHECK-SAME:    scratch_bytes = 0
// CHECK-NOT:     tile.alloc
// CHECK-NOT:     tile.local_store
// CHECK:         tile.return
tile.func @unread(%N: index) {
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  %a = tile.alloc : !tile.buffer<64xf32, scratch>
  tile.nest [%n] : (!tile.range<64>) -> () {
    %zero = arith.constant dense<0.0> : tensor<64xf32>
    tile.local_store %zero, %a : tensor<64xf32>, !tile.buffer<64xf32, scratch>
  }
  tile.return
}
