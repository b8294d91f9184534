// Kernels as tile programs. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --schedule-pipeline --schedule-to-tile-pipeline | FileCheck %s
// RUN: tessera-opt %s --schedule-pipeline --schedule-to-tile-pipeline --plan-print-text -o /dev/null | FileCheck %s --check-prefix=PLAN

// One program per row and tile; the bias is loaded once per tile, not per row.
// CHECK-LABEL: tile.func @bias_0
// CHECK:         %[[I:.*]]:2 = tile.program extents(%{{.*}}, %{{.*}}) tiles = [0, 1024]
// CHECK-DAG:     tile.load %{{.*}}[%[[I]]#0, %[[I]]#1]
// CHECK-DAG:     tile.load %{{.*}}[%[[I]]#1]
// CHECK:         arith.addf
// CHECK:         tile.store %{{.*}}, %{{.*}}[%[[I]]#0, %[[I]]#1]
func.func @bias(%x: tensor<?x?xf32> {gir.name = "x", gir.dims = ["M", "N"], gir.unit_axis = 1 : i64},
                %b: tensor<?xf32> {gir.name = "b", gir.dims = ["N"], gir.unit_axis = 0 : i64}) -> (tensor<?x?xf32> {gir.name = "y"}) {
  %m = gir.dim %x, 0 : tensor<?x?xf32>
  %n = gir.dim %x, 1 : tensor<?x?xf32>
  %w = gir.broadcast %b axes = [1] sizes(%m, %n) : tensor<?xf32> -> tensor<?x?xf32>
  %y = gir.add %x, %w : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// Three passes over a row: maximum, sum, result. Loops stand one after the other.
// CHECK-LABEL: tile.func @softmax_0
// CHECK:         tile.program extents(%{{.*}}) tiles = [0] : index
// CHECK:         %[[MAX:.*]] = tile.for
// CHECK:           tile.reduce max
// CHECK:         %[[SUM:.*]] = tile.for
// CHECK:           math.exp
// CHECK:           tile.reduce sum
// CHECK:         tile.for
// CHECK-NOT:       tile.for
// CHECK:           math.exp
// CHECK:           tile.store
// CHECK:         tile.return
func.func @softmax(%x: tensor<?x?xf32> {gir.name = "x", gir.dims = ["M", "N"], gir.unit_axis = 1 : i64}) -> (tensor<?x?xf32> {gir.name = "y"}) {
  %y = gir.softmax %x axis = 1 : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// The epilogue works on the accumulator; 16-bit results are rounded once.
// CHECK-LABEL: tile.func @gemm_relu_0
// CHECK:         tile.program extents(%{{.*}}, %{{.*}}) tiles = [128, 64] {group = 2 : i64}
// CHECK:         %[[ACC:.*]] = tile.for
// CHECK:           tile.mma {{.*}} tensor<128x2048xbf16>, tensor<2048x64xbf16>, tensor<128x64xf32>
// CHECK:         arith.truncf %[[ACC]] : tensor<128x64xf32> to tensor<128x64xbf16>
// CHECK:         arith.maximumf
// CHECK:         tile.store
func.func @gemm_relu(%a: tensor<?x?xbf16> {gir.name = "a", gir.dims = ["M", "K"], gir.unit_axis = 1 : i64},
                     %b: tensor<?x?xbf16> {gir.name = "b", gir.dims = ["K", "N"], gir.unit_axis = 1 : i64}) -> (tensor<?x?xbf16> {gir.name = "y"}) {
  %c = gir.gemm %a, %b : tensor<?x?xbf16>, tensor<?x?xbf16> -> tensor<?x?xbf16>
  %y = gir.relu %c : tensor<?x?xbf16>
  return %y : tensor<?x?xbf16>
}

// A column sum runs down the rows with vectors along the columns.
// CHECK-LABEL: tile.func @columns_0
// CHECK:         tile.program extents(%{{.*}}) tiles = [256]
// CHECK:         scf.for
// CHECK-NOT:       tile.reduce
// CHECK:           arith.addf {{.*}} : tensor<256xf32>
// CHECK:         tile.store
func.func @columns(%x: tensor<?x?xf32> {gir.name = "x", gir.dims = ["M", "N"], gir.unit_axis = 1 : i64}) -> (tensor<?xf32> {gir.name = "y"}) {
  %y = gir.reduce sum %x axes = [0] : tensor<?x?xf32> -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// Causal attention never looks at keys after its rows, and rounds P to V's type.
// CHECK-LABEL: tile.func @attention_0
// CHECK:         %[[P:.*]]:2 = tile.program extents(%{{.*}}, %{{.*}}) tiles = [0, 64]
// CHECK:         tile.range_at %{{.*}} of %{{.*}} : <80>
// CHECK:         %[[END:.*]] = tile.range_stop %[[P]]#1
// CHECK:         %[[BEGIN:.*]] = tile.range_start %[[P]]#1
// CHECK:         %[[SIZE:.*]] = arith.divui
// CHECK:         %[[SEEN:.*]] = arith.muli %[[SIZE]]
// CHECK:         tile.for %{{.*}} = %{{.*}} to %[[SEEN]] {{.*}}<1024>
// CHECK:           tile.mma {{.*}} tensor<64x80xf16>, tensor<80x1024xf16>, tensor<64x1024xf32>
// CHECK-NOT:       arith.select
// CHECK:           math.exp2 %{{[^ ]*}} : tensor<64xf32>
// CHECK:           %[[X:.*]] = math.fma
// CHECK:           math.exp2 %[[X]] fastmath<afn> : tensor<64x1024xf32>
// CHECK:           %[[W:.*]] = arith.truncf {{.*}} to tensor<64x1024xf16>
// CHECK:           tile.mma %[[W]]
// CHECK:         tile.for %{{.*}} = %[[SEEN]] to {{.*}}<64>
// CHECK:           tile.mma {{.*}} tensor<64x80xf16>, tensor<80x64xf16>, tensor<64x64xf32>
// CHECK:           arith.select
// CHECK:         tile.store
func.func @attention(%q: tensor<?x?x72xf16> {gir.name = "q", gir.dims = ["H", "S", ""], gir.unit_axis = 2 : i64},
                     %k: tensor<?x?x72xf16> {gir.name = "k", gir.dims = ["H", "T", ""], gir.unit_axis = 2 : i64},
                     %v: tensor<?x?x72xf16> {gir.name = "v", gir.dims = ["H", "T", ""], gir.unit_axis = 2 : i64}) -> (tensor<?x?x72xf16> {gir.name = "o"}) {
  %o = gir.attention %q, %k, %v causal : tensor<?x?x72xf16>, tensor<?x?x72xf16>, tensor<?x?x72xf16> -> tensor<?x?x72xf16>
  return %o : tensor<?x?x72xf16>
}

// Few rows by weights that lie in columns: the product is turned, so that they
// are read as they lie; one row is a sum for each. Few columns read A along its
// rows.
// CHECK-LABEL: tile.func @linear_0_row
// CHECK:         tile.program extents(%{{.*}}, %{{.*}}) tiles = [0, 0]
// CHECK:         tile.for
// CHECK:           arith.mulf %{{.*}} : tensor<1024xf32>
// CHECK:           tile.reduce sum
// CHECK-LABEL: tile.func @linear_0_turned16
// CHECK:         %[[I:.*]]:2 = tile.program extents(%{{.*}}, %{{.*}}) tiles = [16, 64]
// CHECK:         %[[W:.*]] = tile.load %{{.*}}[%[[I]]#1, %{{.*}}] {{.*}} -> tensor<64x4096xf32>
// CHECK:         %[[X:.*]] = tile.transpose %{{.*}} [1, 0] : tensor<16x4096xf32> -> tensor<4096x16xf32>
// CHECK:         tile.mma %[[W]], %[[X]]
// CHECK:         tile.transpose %{{.*}} [1, 0] : tensor<64x16xf32> -> tensor<16x64xf32>
// CHECK:         arith.addf %{{.*}} : tensor<16x64xf32>
// CHECK:         tile.store
// PLAN:       function linear
// PLAN:         view %[[C:.*]] = %w offset 0
// PLAN:         if $M == 1
// PLAN:         launch @linear_0_row(%b, %{{.*}}, %{{.*}}, %y) grid $M * $N
// PLAN:         if $M <= 16 and $K >= 256
// PLAN-NEXT:    view %[[R:.*]] = %[[C]] offset 0 sizes [$N, $K]
// PLAN-NEXT:    launch @linear_0_turned16(%x, %b, %[[R]], %y)
// PLAN:         else
// PLAN-NEXT:    if $M <= 16
// PLAN:         launch @linear_0(%x, %[[C]], %b, %y)
func.func @linear(%x: tensor<?x?xf32> {gir.name = "x", gir.dims = ["M", "K"], gir.unit_axis = 1 : i64},
                  %w: tensor<?x?xf32> {gir.name = "w", gir.dims = ["N", "K"], gir.unit_axis = 1 : i64},
                  %b: tensor<?x?xf32> {gir.name = "b", gir.dims = ["M", "N"], gir.unit_axis = 1 : i64}) -> (tensor<?x?xf32> {gir.name = "y"}) {
  %c = gir.gemm %x, %w transpose_rhs : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %y = gir.add %c, %b : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// CHECK-LABEL: tile.func @narrow_0_narrow16
// CHECK:         tile.program extents(%{{.*}}, %{{.*}}) tiles = [8, 16]
// CHECK:         tile.mma {{.*}} tensor<8x4096xf32>, tensor<4096x16xf32>
// PLAN:       function narrow
// PLAN:         if $M >= 128 and $N == 16 and stride(%b, 1) == 1 and size(%b, 0) * stride(%b, 0) <= 196608
func.func @narrow(%a: tensor<?x?xf32> {gir.name = "a", gir.dims = ["M", "K"], gir.unit_axis = 1 : i64},
                  %b: tensor<?x?xf32> {gir.name = "b", gir.dims = ["K", "N"], gir.unit_axis = 1 : i64}) -> (tensor<?x?xf32> {gir.name = "y"}) {
  %c = gir.gemm %a, %b : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  return %c : tensor<?x?xf32>
}
