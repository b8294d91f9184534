// RUN: tessera-opt %s --graph-fold-transpose-into-gemm --canonicalize | FileCheck %s

// The transpose disappears; the gemm reads the operand as it is stored.
// CHECK-LABEL: func @lhs
// CHECK-SAME:    %[[A:.*]]: tensor<64x128xf32>, %[[B:.*]]: tensor<64x32xf32>
// CHECK-NEXT:    gir.gemm %[[A]], %[[B]] transpose_lhs
// CHECK-NOT:     gir.transpose
func.func @lhs(%a: tensor<64x128xf32>, %b: tensor<64x32xf32>) -> tensor<128x32xf32> {
  %t = gir.transpose %a [1, 0] : tensor<64x128xf32> -> tensor<128x64xf32>
  %c = gir.gemm %t, %b : tensor<128x64xf32>, tensor<64x32xf32> -> tensor<128x32xf32>
  return %c : tensor<128x32xf32>
}

// A batched right operand whose last two axes are swapped.
// CHECK-LABEL: func @rhs_batched
// CHECK-SAME:    %[[A:.*]]: tensor<2x?x8xf32>, %[[B:.*]]: tensor<2x?x8xf32>
// CHECK-NEXT:    gir.gemm %[[A]], %[[B]] transpose_rhs
// CHECK-NOT:     gir.transpose
func.func @rhs_batched(%a: tensor<2x?x8xf32>, %b: tensor<2x?x8xf32>) -> tensor<2x?x?xf32> {
  %t = gir.transpose %b [0, 2, 1] : tensor<2x?x8xf32> -> tensor<2x8x?xf32>
  %c = gir.gemm %a, %t : tensor<2x?x8xf32>, tensor<2x8x?xf32> -> tensor<2x?x?xf32>
  return %c : tensor<2x?x?xf32>
}

// Two transposes cancel out.
// CHECK-LABEL: func @lhs_twice
// CHECK-NOT:     transpose_lhs
// CHECK:         return
func.func @lhs_twice(%a: tensor<128x64xf32>, %b: tensor<64x32xf32>) -> tensor<128x32xf32> {
  %t = gir.transpose %a [1, 0] : tensor<128x64xf32> -> tensor<64x128xf32>
  %c = gir.gemm %t, %b transpose_lhs : tensor<64x128xf32>, tensor<64x32xf32> -> tensor<128x32xf32>
  return %c : tensor<128x32xf32>
}

// A transpose that also moves a batch axis stays: no flag says that.
// CHECK-LABEL: func @moves_batch
// CHECK:         %[[T:.*]] = gir.transpose
// CHECK:         gir.gemm %[[T]], %{{.*}} : tensor<4x2x8xf32>
func.func @moves_batch(%a: tensor<2x4x8xf32>, %b: tensor<4x8x3xf32>) -> tensor<4x2x3xf32> {
  %t = gir.transpose %a [1, 0, 2] : tensor<2x4x8xf32> -> tensor<4x2x8xf32>
  %c = gir.gemm %t, %b : tensor<4x2x8xf32>, tensor<4x8x3xf32> -> tensor<4x2x3xf32>
  return %c : tensor<4x2x3xf32>
}
