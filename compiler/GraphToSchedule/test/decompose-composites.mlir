// Composites as primitives. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --graph-to-schedule-decompose-composites | FileCheck %s

// f32 inside, one rounding at the end.
// CHECK-LABEL: func.func @gelu
// CHECK:         %[[X:.*]] = gir.cast %{{.*}} : tensor<?xbf16> -> tensor<?xf32>
// CHECK-NOT:     -> tensor<?xbf16>
// CHECK:         %[[B:.*]] = gir.maximum %[[X]], %{{.*}} : tensor<?xf32>
// CHECK:         %[[H:.*]] = gir.mul %{{.*}}, %[[B]] : tensor<?xf32>
// CHECK:         %[[Y:.*]] = gir.mul %[[H]], %{{.*}} : tensor<?xf32>
// CHECK-NEXT:    gir.cast %[[Y]] : tensor<?xf32> -> tensor<?xbf16>
// CHECK-NEXT:    return
func.func @gelu(%x: tensor<?xbf16>) -> tensor<?xbf16> {
  %y = gir.gelu %x {tanh} : tensor<?xbf16>
  return %y : tensor<?xbf16>
}

// f64 stays f64.
// CHECK-LABEL: func.func @wide
// CHECK-NOT:     f32
// CHECK:         return
func.func @wide(%x: tensor<?x?xf64>) -> tensor<?x?xf64> {
  %y = gir.softmax %x axis = 1 : tensor<?x?xf64>
  return %y : tensor<?x?xf64>
}

// Cross entropy looks the target's logit up and never makes one-hot rows.
// CHECK-LABEL: func.func @loss
// CHECK:         gir.reduce max
// CHECK:         gir.reduce sum
// CHECK:         gir.gather %{{.*}}, %{{.*}} axis = 1
// CHECK:         gir.sub
func.func @loss(%x: tensor<?x?xf32>, %t: tensor<?xi64>) -> tensor<?xf32> {
  %y = gir.cross_entropy %x, %t : tensor<?x?xf32>, tensor<?xi64> -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// A full reduction has one partial result per chunk, whatever the threads.
// CHECK-LABEL: func.func @mean
// CHECK:         %[[P:.*]] = sched.partial sum %{{.*}} chunk = 16384
// CHECK:         gir.reduce sum %[[P]] axes = [0]
// CHECK:         gir.div
func.func @mean(%x: tensor<?xf32>) -> tensor<f32> {
  %y = gir.reduce mean %x axes = [0] : tensor<?xf32> -> tensor<f32>
  return %y : tensor<f32>
}

// A matrix by a vector is a sum along rows; of one row, in chunks. Of 16-bit
// floats, or of several columns, it is a product.
// CHECK-LABEL: func.func @by_vector
// CHECK:         %[[V:.*]] = gir.reshape %{{.*}} -> tensor<?xf32>
// CHECK:         %[[W:.*]] = gir.broadcast %[[V]]
// CHECK:         %[[P:.*]] = gir.mul %{{.*}}, %[[W]]
// CHECK:         gir.reduce sum %[[P]] axes = [1]
// CHECK:         sched.partial sum
// CHECK-COUNT-2: gir.gemm
func.func @by_vector(%a: tensor<?x?xf32>, %v: tensor<?x1xf32>, %row: tensor<1x?xf32>, %b: tensor<?x2xf32>, %c: tensor<?x?xbf16>, %w: tensor<?x1xbf16>) -> (tensor<?x1xf32>, tensor<1x1xf32>, tensor<?x2xf32>, tensor<?x1xbf16>) {
  %0 = gir.gemm %a, %v : tensor<?x?xf32>, tensor<?x1xf32> -> tensor<?x1xf32>
  %1 = gir.gemm %row, %row transpose_rhs : tensor<1x?xf32>, tensor<1x?xf32> -> tensor<1x1xf32>
  %2 = gir.gemm %a, %b : tensor<?x?xf32>, tensor<?x2xf32> -> tensor<?x2xf32>
  %3 = gir.gemm %c, %w : tensor<?x?xbf16>, tensor<?x1xbf16> -> tensor<?x1xbf16>
  return %0, %1, %2, %3 : tensor<?x1xf32>, tensor<1x1xf32>, tensor<?x2xf32>, tensor<?x1xbf16>
}
