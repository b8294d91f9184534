// RUN: tessera-opt %s --simt-make-persistent="blocks=108" | FileCheck %s

// 108 blocks; each takes every 108th program.
// CHECK-LABEL: tile.func @rows
// CHECK: %[[COUNT:.*]] = arith.ceildivsi %{{.*}}, %c64
// CHECK: %[[TOTAL:.*]] = arith.muli %[[COUNT]], %{{.*}} : index
// CHECK: %[[BLOCKS:.*]] = arith.minsi %[[TOTAL]], %c108 : index
// CHECK: %[[BLOCK:.*]] = tile.program extents(%[[BLOCKS]]) tiles = [0] : index
// CHECK: scf.for %[[P:.*]] = %[[BLOCK]] to %[[TOTAL]] step %[[BLOCKS]] {
// CHECK:   %[[B:.*]] = arith.remui %[[P]], %{{.*}} : index
// CHECK:   %[[M:.*]] = arith.divui %[[P]], %{{.*}} : index
// CHECK:   %[[START:.*]] = arith.muli %[[M]], %{{.*}} : index
// CHECK:   %[[R:.*]] = tile.range_at %[[START]] of %{{.*}} : <64>
// CHECK:   tile.load %{{.*}}[%[[B]], %[[R]]]
// CHECK: tile.return
// CHECK: %[[ALL:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK: %[[GRID:.*]] = arith.minsi %[[ALL]], %c108{{.*}} : index
// CHECK: plan.launch @rows(%{{.*}}) grid %[[GRID]]
module {
  tile.func @rows(%X: memref<?x?xf32, strided<[?, 1]>>) {
    %B = tile.dim %X, 0 : memref<?x?xf32, strided<[?, 1]>>
    %M = tile.dim %X, 1 : memref<?x?xf32, strided<[?, 1]>>
    %m, %b = tile.program extents(%M, %B) tiles = [64, 0] {persistent} : !tile.range<64>, index
    %x = tile.load %X[%b, %m] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<64> -> tensor<64xf32>
    tile.print "x" %x : tensor<64xf32>
    tile.return
  }
  plan.func @main target "sm_80" {
    %B = plan.dim "B"
    %M = plan.dim "M"
    %X = plan.arg "X" in [%B, %M] : !plan.tensor<f32, 2>
    %c64 = arith.constant 64 : index
    %tiles = arith.ceildivsi %M, %c64 : index
    %programs = arith.muli %tiles, %B : index
    plan.launch @rows(%X) grid %programs : !plan.tensor<f32, 2>
    plan.return
  }
}
