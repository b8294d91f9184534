// RUN: tessera-opt %s --tile-stream-stores="threshold=1024" | FileCheck %s

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
tile.func @never(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "x"}, %y: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "y"}) attributes {tile.config = {stream = 0 : i64}} {
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
tile.func @always(%x: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "x"}, %y: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "y"}) attributes {tile.config = {stream = 2 : i64}} {
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

// CHECK-LABEL: tile.plan @f
// CHECK:         "  if size(%Y, 0) * size(%Y, 1) >= 256 and address(%Y) mod 64 == 0 and stride(%Y, 0) mod 16 == 0"
// CHECK-NEXT:    "    launch @rows_stream(%X, %Y) grid $M work 5"
// CHECK-NEXT:    "  else"
// CHECK-NEXT:    "    launch @rows(%X, %Y) grid $M work 5"
// CHECK-NEXT:    "  end"
// CHECK-NEXT:    "  launch @never(%X, %Y) grid $M"
// CHECK-NEXT:    "  if address(%Y) mod 64 == 0 and stride(%Y, 0) mod 16 == 0"
// CHECK-NEXT:    "    launch @always_stream(%X, %Y) grid $M"
// CHECK-NEXT:    "  else"
// CHECK-NEXT:    "    launch @always(%X, %Y) grid $M"
// CHECK-NEXT:    "  end"
// CHECK-NEXT:    "  launch @again(%Y, %Z) grid $M"
tile.plan @f {
  "body"
  "  launch @rows(%X, %Y) grid $M work 5"
  "  launch @never(%X, %Y) grid $M"
  "  launch @always(%X, %Y) grid $M"
  "  launch @again(%Y, %Z) grid $M"
  "end"
}
