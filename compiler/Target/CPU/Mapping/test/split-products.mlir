// RUN: tessera-opt %s --cpu-split-products | FileCheck %s
// RUN: tessera-opt %s --cpu-split-products --plan-print-text -o /dev/null | FileCheck %s --check-prefix=PLAN

// A program for each part, of whole turns of the loop; then their sum, in order, and what follows it.
// CHECK-LABEL: tile.func @plain_parts(%arg0: {{.*}}gir.name = "a"{{.*}}, %arg1: {{.*}}gir.name = "b"{{.*}}, %arg2: memref<?x?x?xf32, strided<[?, ?, 1]>> {gir.mode = "out", gir.name = "parts"}) attributes {as_is
// CHECK:         %[[COUNT:.*]] = tile.dim %arg2, 0
// CHECK:         %[[ID:.*]]:3 = tile.program extents(%[[COUNT]], {{.*}}) tiles = [0, 64, 64]
// CHECK:         %[[EACH:.*]] = arith.ceildivsi %{{.*}}, %[[COUNT]]
// CHECK:         %[[TURNS:.*]] = arith.ceildivsi %[[EACH]], %[[SIZE:.*]] : index
// CHECK:         %[[BEFORE:.*]] = arith.muli %[[ID]]#0, %[[TURNS]]
// CHECK:         %[[START:.*]] = arith.muli %[[BEFORE]], %[[SIZE]]
// CHECK:         %[[STOP:.*]] = arith.minsi
// CHECK:         %[[SUM:.*]] = tile.for {{.*}} = %[[START]] to %[[STOP]]
// CHECK:         tile.store %[[SUM]], %arg2[%[[ID]]#0, %[[ID]]#1, %[[ID]]#2]
// CHECK-NEXT:    tile.return
// CHECK-LABEL: tile.func @plain_sum(%arg0: {{.*}}gir.name = "c"}, %arg1: {{.*}}gir.mode = "in", gir.name = "parts"}
// CHECK-NOT:     tile.mma
// CHECK:         scf.for
// CHECK:           tile.load %arg1
// CHECK:           arith.addf
// CHECK:         math.exp
// CHECK:         tile.store {{.*}}, %arg0
// CHECK-LABEL: tile.func @plain(
tile.func @plain(%a: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "a"}, %b: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "b"},
                %c: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "c"}) attributes {numerics = #tile.numerics<gemm step = 32>} {
  %zero = arith.constant 0 : index
  %M = tile.dim %c, 0 : memref<?x?xf32, strided<[?, 1]>>
  %K = tile.dim %a, 1 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %c, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %z = arith.constant 0.0 : f32
  %acc0 = tile.fill %z [%m, %n] : f32, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %r = tile.for %k = %zero to %K carry(%acc = %acc0) : !tile.range<32>, (tensor<64x64xf32>) {
    %x = tile.load %a[%m, %k] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<32> -> tensor<64x32xf32>
    %y = tile.load %b[%k, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<32>, !tile.range<64> -> tensor<32x64xf32>
    %d = tile.mma %x, %y, %acc : tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x64xf32>
    tile.yield %d : tensor<64x64xf32>
  }
  %e = math.exp %r : tensor<64x64xf32>
  tile.store %e, %c[%m, %n] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// What a kernel says is what it does.
// CHECK-NOT: @own_parts
tile.func @own(%a: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "a"}, %c: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "c"}) attributes {numerics = #tile.numerics<as_written>} {
  %zero = arith.constant 0 : index
  %M = tile.dim %c, 0 : memref<?x?xf32, strided<[?, 1]>>
  %K = tile.dim %a, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %M) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %z = arith.constant 0.0 : f32
  %acc0 = tile.fill %z [%m, %n] : f32, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %r = tile.for %k = %zero to %K carry(%acc = %acc0) : !tile.range<64>, (tensor<64x64xf32>) {
    %x = tile.load %a[%m, %k] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
    %d = tile.mma %x, %x, %acc : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    tile.yield %d : tensor<64x64xf32>
  }
  tile.store %r, %c[%m, %n] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// PLAN-LABEL: function f
// PLAN:           if size(%x, 1) >= 4096 and $M ceildiv 64 <= 8
// PLAN:             alloc %plain.parts f32 [size(%x, 1) floordiv 2048, size(%z, 0), size(%z, 1)]
// PLAN:             launch @plain_parts(%x, %y, %plain.parts) grid size(%x, 1) floordiv 2048 * ($M ceildiv 64) threads 2 work $M
// PLAN:             launch @plain_sum(%z, %plain.parts) grid $M ceildiv 64 work size(%z, 0) * size(%z, 1)
// PLAN:           else
// PLAN:             launch @plain(%x, %y, %z) grid $M ceildiv 64 threads 2 work $M
plan.func @f target "cpu" {
  %M = plan.dim "M"
  %K = plan.dim "K"
  %N = plan.dim "N"
  %x = plan.arg "x" in [%M, %K] : !plan.tensor<f32, 2>
  %y = plan.arg "y" in [%K, %N] : !plan.tensor<f32, 2>
  %z = plan.result "z" [%M, %N] : !plan.tensor<f32, 2>
  %c64 = arith.constant 64 : index
  %programs = arith.ceildivsi %M, %c64 : index
  plan.launch @plain(%x, %y, %z) grid %programs work %M threads 2 : !plan.tensor<f32, 2>, !plan.tensor<f32, 2>, !plan.tensor<f32, 2>
  plan.return
}
