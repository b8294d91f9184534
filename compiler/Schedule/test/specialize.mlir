// Variants of a product become kernels of their own. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --schedule-specialize | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK:       %[[Y:.*]] = sched.versions [#sched.when<rows = [1, 1], right = column_major>, #sched.when<rows = [0, 16], depth = [256, 0], right = column_major>, #sched.when<rows = [0, 4]>] : tensor<?x?xf32> {
// The row: a sum along each row of the transposed view.
// CHECK:         %[[ROWS:.*]] = gir.transpose %[[B:.*]] [1, 0]
// CHECK:         %[[ROW:.*]] = gir.slice %[[A:.*]] starts{{.*}} -> tensor<1x?xf32>
// CHECK:         sched.fuse @f_0_row (%[[A]], %[[B]], %[[ROWS]], %[[ROW]]) numerics = <rows step = 1024> {as_is}
// CHECK:           sched.tile 0 by <1,
// CHECK:           gir.broadcast
// CHECK:           gir.mul
// CHECK:           gir.reduce sum
// CHECK-NOT:       gir.gemm
// CHECK:           gir.relu
// CHECK:         sched.yield
// CHECK:       }, {
// CHECK:         %[[COLUMNS:.*]] = gir.transpose %[[B]] [1, 0]
// CHECK:         sched.fuse @f_0_turned16 (%[[A]], %[[B]], %[[COLUMNS]]) numerics = <gemm step = 4096> {as_is}
// CHECK:         ^bb0(%[[X:.*]]: tensor<?x?xf32>, %{{.*}}: tensor<?x?xf32>, %[[W:.*]]: tensor<?x?xf32>):
// CHECK:           sched.tile 0 by <16,
// CHECK:           sched.tile 1 by <64,
// CHECK:           sched.tile 2 by <4096,
// CHECK:           %[[XT:.*]] = gir.transpose %[[X]]
// CHECK:           %[[P:.*]] = gir.gemm %[[W]], %[[XT]]
// CHECK:           gir.transpose %[[P]]
// CHECK:       }, {
// CHECK:         sched.fuse @f_0_thin4 (%[[A]], %[[B]]) numerics = <gemm step = 64> {as_is}
// CHECK:           sched.tile 0 by <4,
// CHECK:           gir.gemm
// The product as it was written, without its variants.
// CHECK:       }, {
// CHECK:         sched.fuse @f_0 (%[[A]], %[[B]]) numerics = <gemm step = 2048> :
// CHECK:           sched.tile 0 by <144,
// CHECK:         sched.yield
// CHECK:       return %[[Y]]
func.func @f(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = sched.fuse @f_0 (%a, %b) numerics = <gemm step = 2048> {variants = [
      #sched.variant<row, row, [1, 1, 1024], <rows = [1, 1], right = column_major>>,
      #sched.variant<turned16, turned, [16, 64, 4096], <rows = [0, 16], depth = [256, 0], right = column_major>>,
      #sched.variant<thin4, product, [4, 512, 64], <rows = [0, 4]>>]} : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32> {
  ^bb0(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>):
    sched.tile 0 by <144, [144], "default">
    sched.tile 1 by <64, [64], "default">
    sched.tile 2 by <2048, [2048], "default"> as loop
    %p = gir.gemm %x, %w : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
    %r = gir.relu %p : tensor<?x?xf32>
    sched.yield %r : tensor<?x?xf32>
  }
  return %y : tensor<?x?xf32>
}

// Another kernel is left alone.
// CHECK-LABEL: func.func @g
// CHECK-NOT:   sched.versions
func.func @g(%a: tensor<?xf32>) -> tensor<?xf32> {
  %y = sched.fuse @g_0 (%a) numerics = <elementwise> : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%x: tensor<?xf32>):
    sched.tile 0 by <1024, [1024], "default">
    %r = gir.relu %x : tensor<?xf32>
    sched.yield %r : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}
