// RUN: tessera-opt %s --cpu-nontemporal-stores="threshold=1024" | FileCheck %s
// RUN: tessera-opt %s --cpu-nontemporal-stores="threshold=1024" --plan-print-text -o /dev/null | FileCheck %s --check-prefix=PLAN

// A result that is written tile after tile along its contiguous axis.
// CHECK-LABEL: tile.func @rows_stream(
// CHECK:         tile.store {{.*}} {hints = {nontemporal}}
// CHECK-LABEL: tile.func @rows(
// CHECK-NOT:     nontemporal
// CHECK:         tile.return
tile.func @rows(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "x"}, %y: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "y"}) {
  %zero = arith.constant 0 : index
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [0] : index
  tile.for %n = %zero to %N : !tile.range<256> {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<256> -> tensor<256xf32>
    tile.store %t, %y[%m, %n] : tensor<256xf32>, memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<256>
  }
  tile.return
}

// A whole axis, by blocks of rows.
// CHECK-LABEL: tile.func @whole_stream(
// CHECK:         tile.store {{.*}} {hints = {nontemporal}}
tile.func @whole(%x: memref<?x256xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "x"}, %y: memref<?x256xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "y"}) {
  %zero = arith.constant 0 : index
  %M = tile.dim %x, 0 : memref<?x256xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x256xf32, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [4] : !tile.range<4>
  %n = tile.range_at %zero of %N : <256>
  %t = tile.load %x[%m, %n] : memref<?x256xf32, strided<[?, 1]>>, !tile.range<4>, !tile.range<256> -> tensor<4x256xf32>
  tile.store %t, %y[%m, %n] : tensor<4x256xf32>, memref<?x256xf32, strided<[?, 1]>>, !tile.range<4>, !tile.range<256>
  tile.return
}

// The schedule may say never, or always.
// CHECK-NOT: @never_stream
tile.func @never(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "x"}, %y: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "y"}) attributes {config = {stream = 0 : i64}} {
  %zero = arith.constant 0 : index
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [0] : index
  tile.for %n = %zero to %N : !tile.range<256> {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<256> -> tensor<256xf32>
    tile.store %t, %y[%m, %n] : tensor<256xf32>, memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<256>
  }
  tile.return
}

// CHECK-LABEL: tile.func @always_stream(
// CHECK:         tile.store {{.*}} {hints = {nontemporal}}
tile.func @always(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "x"}, %y: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "y"}) attributes {config = {stream = 2 : i64}} {
  %zero = arith.constant 0 : index
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [0] : index
  tile.for %n = %zero to %N : !tile.range<256> {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<256> -> tensor<256xf32>
    tile.store %t, %y[%m, %n] : tensor<256xf32>, memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<256>
  }
  tile.return
}

// What is read again is kept near; so is what has other strides.
// CHECK-NOT: @again_stream
tile.func @again(%y: memref<?xf32, strided<[1]>> {gir.mode = "out", gir.name = "y"}, %z: memref<?xf32, strided<[?]>> {gir.mode = "out", gir.name = "z"}) {
  %N = tile.dim %y, 0 : memref<?xf32, strided<[1]>>
  %n = tile.program extents(%N) tiles = [256] : !tile.range<256>
  %zero = arith.constant dense<0.0> : tensor<256xf32>
  tile.store %zero, %y[%n] : tensor<256xf32>, memref<?xf32, strided<[1]>>, !tile.range<256>
  %t = tile.load %y[%n] : memref<?xf32, strided<[1]>>, !tile.range<256> -> tensor<256xf32>
  tile.store %t, %z[%n] : tensor<256xf32>, memref<?xf32, strided<[?]>>, !tile.range<256>
  tile.return
}

// A product of a product computes for long: one kernel is enough.
// CHECK-NOT: @twice_stream
tile.func @twice(%a: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "a"}, %y: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "y"}) {
  %M = tile.dim %y, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %y, 1 : memref<?x?xf32, strided<[?, 1]>>
  %i:2 = tile.program extents(%M, %N) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %t = tile.load %a[%i#0, %i#1] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %p = tile.mma %t, %t, %zero : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  %q = tile.mma %p, %t, %zero : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  tile.store %q, %y[%i#0, %i#1] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// PLAN-LABEL: function f
// PLAN:           if size(%Y, 0) * size(%Y, 1) >= 256 and address(%Y) mod 64 == 0 and stride(%Y, 0) mod 16 == 0
// PLAN-NEXT:        launch @rows_stream(%X, %Y) grid $M work 5
// PLAN-NEXT:      else
// PLAN-NEXT:        launch @rows(%X, %Y) grid $M work 5
// PLAN-NEXT:      end
// PLAN-NEXT:      launch @never(%X, %Y) grid $M
// PLAN-NEXT:      if address(%Y) mod 64 == 0 and stride(%Y, 0) mod 16 == 0
// PLAN-NEXT:        launch @always_stream(%X, %Y) grid $M
// PLAN-NEXT:      else
// PLAN-NEXT:        launch @always(%X, %Y) grid $M
// PLAN-NEXT:      end
// PLAN-NEXT:      launch @again(%V, %Z) grid $M
plan.func @f target "cpu" {
  %M = plan.dim "M"
  %N = plan.dim "N"
  %X = plan.arg "X" in [%M, %N] : !plan.tensor<f32, 2>
  %Y = plan.result "Y" [%M, %N] : !plan.tensor<f32, 2>
  %V = plan.result "V" [%M] : !plan.tensor<f32, 1>
  %Z = plan.result "Z" [%M] : !plan.tensor<f32, 1>
  %five = arith.constant 5 : index
  plan.launch @rows(%X, %Y) grid %M work %five : !plan.tensor<f32, 2>, !plan.tensor<f32, 2>
  plan.launch @never(%X, %Y) grid %M : !plan.tensor<f32, 2>, !plan.tensor<f32, 2>
  plan.launch @always(%X, %Y) grid %M : !plan.tensor<f32, 2>, !plan.tensor<f32, 2>
  plan.launch @again(%V, %Z) grid %M : !plan.tensor<f32, 1>, !plan.tensor<f32, 1>
  plan.return
}
