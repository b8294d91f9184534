// RUN: tessera-opt %s --tile-expand-products | FileCheck %s

// Two of four go to where the metadata says, between zeros.
// CHECK-LABEL: tile.func @sparse
// CHECK: %[[E:.*]] = tile.filled %{{.*}} : tensor<16x2xi32>, i32
// CHECK: %[[W:.*]] = tile.broadcast %[[E]] axes = [0, 1][%{{.*}}] : tensor<16x2xi32>, !tile.range<16> -> tensor<16x2x16xi32>
// CHECK: arith.shrui %[[W]], %{{.*}} : tensor<16x2x16xi32>
// CHECK: arith.select %{{.*}} : tensor<16x16x2x4xi1>, tensor<16x16x2x4xf16>
// CHECK: tile.reduce sum %{{.*}} axis = 2 : tensor<16x16x2x4xf16> -> tensor<16x16x4xf16>
// CHECK: %[[A:.*]] = tile.reshape %{{.*}} : tensor<16x16x4xf16> -> tensor<16x64xf16>
// CHECK: tile.mma %[[A]], %{{.*}}, %{{.*}} : tensor<16x64xf16>, tensor<64x8xf16>, tensor<16x8xf32>
tile.func @sparse(%a: tensor<16x32xf16>, %e: tensor<16x2xi32>, %b: tensor<64x8xf16>, %c: tensor<16x8xf32>) {
  %d = tile.mma %a, %b, %c sparse(%e : tensor<16x2xi32>) : tensor<16x32xf16>, tensor<64x8xf16>, tensor<16x8xf32>
  tile.print "d" %d : tensor<16x8xf32>
  tile.return
}

// Factors are made of their exponents' bits.
// CHECK-LABEL: tile.func @scaled
// CHECK: arith.shli %{{.*}}, %{{.*}} : tensor<16x2xi32>
// CHECK: %[[F:.*]] = arith.bitcast %{{.*}} : tensor<16x2xi32> to tensor<16x2xf32>
// CHECK: tile.broadcast %[[F]] axes = [0, 1][%{{.*}}] : tensor<16x2xf32>, !tile.range<32> -> tensor<16x2x32xf32>
// CHECK: arith.mulf %{{.*}} : tensor<16x64xf32>
// CHECK: arith.mulf %{{.*}} : tensor<64x8xf32>
// CHECK: tile.mma {{.*}} : tensor<16x64xf32>, tensor<64x8xf32>, tensor<16x8xf32>
tile.func @scaled(%a: tensor<16x64xf8E4M3FN>, %s: tensor<16x2xi8>, %b: tensor<64x8xf8E4M3FN>, %t: tensor<2x8xi8>, %c: tensor<16x8xf32>) {
  %d = tile.mma %a, %b, %c scaled(%s, %t : tensor<16x2xi8>, tensor<2x8xi8>) : tensor<16x64xf8E4M3FN>, tensor<64x8xf8E4M3FN>, tensor<16x8xf32>
  tile.print "d" %d : tensor<16x8xf32>
  tile.return
}

// The machine has an instruction for it.
// CHECK-LABEL: tile.func @chosen
// CHECK: tile.mma %{{.*}}, %{{.*}}, %{{.*}} sparse(%{{.*}} : tensor<16x2xi32>)
tile.func @chosen(%a: tensor<16x32xf16>, %e: tensor<16x2xi32>, %b: tensor<64x8xf16>, %c: tensor<16x8xf32>) {
  %d = tile.mma %a, %b, %c sparse(%e : tensor<16x2xi32>) {instruction = #tile.instruction<sparse 16 x 8 x 32>} : tensor<16x32xf16>, tensor<64x8xf16>, tensor<16x8xf32>
  tile.print "d" %d : tensor<16x8xf32>
  tile.return
}
