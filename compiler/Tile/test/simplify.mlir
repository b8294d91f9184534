// Scalars and loops are simplified; tiles keep the elements they have.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --tile-simplify | FileCheck %s

// Upstream would make a constant of all ones of the comparison, and the sum
// would count elements that do not exist.
// CHECK-LABEL: tile.func @count
tile.func @count(%x: memref<?xi64, strided<[1]>>, %out: memref<?xi64, strided<[1]>>) {
  %n = arith.constant 0 : index
  %N = tile.dim %x, 0 : memref<?xi64, strided<[1]>>
  %p = tile.program extents(%N) tiles = [16] : !tile.range<16>
  %v = tile.load %x[%p] : memref<?xi64, strided<[1]>>, !tile.range<16> -> tensor<16xi64>
  // CHECK: %[[SAME:.*]] = arith.cmpi sge, %[[V:.*]], %[[V]] : tensor<16xi64>
  %same = arith.cmpi sge, %v, %v : tensor<16xi64>
  %ones = arith.extui %same : tensor<16xi1> to tensor<16xi64>
  // CHECK: tile.reduce sum
  %sum = tile.reduce sum %ones axis = 0 : tensor<16xi64> -> i64
  // CHECK-NOT: arith.addi
  %zero = arith.constant 0 : i64
  %total = arith.addi %sum, %zero : i64
  // CHECK-NOT: math.absi
  %dead = math.absi %v : tensor<16xi64>
  tile.store %total, %out[%n] : i64, memref<?xi64, strided<[1]>>, index
  tile.return
}

// The ring orders and rounds otherwise: what floats are is not decided here.
// CHECK-LABEL: tile.func @floats
tile.func @floats(%x: memref<?xi1, strided<[1]>>, %out: memref<?xf32, strided<[1]>>) {
  %n = arith.constant 0 : index
  %some = tile.load %x[%n] : memref<?xi1, strided<[1]>>, index -> i1
  %a = arith.uitofp %some : i1 to f32
  %low = arith.constant -2.0 : f32
  // CHECK: arith.cmpf oge
  %above = arith.cmpf oge, %a, %low : f32
  // CHECK: math.absf
  %two = math.absf %low : f32
  // CHECK: arith.select
  %value = arith.select %above, %a, %two : f32
  tile.store %value, %out[%n] : f32, memref<?xf32, strided<[1]>>, index
  tile.return
}
