// RUN: tessera-opt %s --tile-pack-operands="amx=true" | FileCheck %s
// RUN: tessera-opt %s --tile-pack-operands="amx=true" --tile-map-to-cpu="amx=true" | FileCheck %s --check-prefix=MAPPED

// B is packed once, before all programs; A is read where it lies.
// CHECK-LABEL: tile.func @plain_pack_b(%arg0: {{.*}}gir.name = "b"{{.*}}, %arg1: {{.*}}gir.name = "b_packed", tile.packed = {deep_last = 0 : i64, group = 1 : i64, step = 1 : i64, wide_step = 64 : i64, width = 64 : i64}
// CHECK:         tile.program extents({{.*}}) tiles = [64, 512]
// CHECK:         tile.store {{.*}}, %arg1
// CHECK-LABEL: tile.func @plain_packed(
// CHECK-SAME:    %arg3: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "b_packed", tile.packed
// CHECK:           tile.load %arg0
// CHECK:           tile.load %arg3
// CHECK-LABEL: tile.func @plain(
tile.func @plain(%a: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "a"}, %b: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "b"},
                %c: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "c"}) {
  %zero = arith.constant 0 : index
  %M = tile.dim %a, 0 : memref<?x?xf32, strided<[?, 1]>>
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
  tile.store %r, %c[%m, %n] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// Columns of A are made rows, and those read where they lie.
// CHECK-LABEL: tile.func @columns_pack_a(%arg0: {{.*}}strided<[1, ?]>{{.*}}, %arg1: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "a_packed"})
// CHECK-LABEL: tile.func @columns_packed_both(
// CHECK:           tile.load %arg4
// CHECK:           tile.load %arg3
tile.func @columns(%a: memref<?x?xf32, strided<[1, ?]>> {gir.mode = "in", gir.name = "a"}, %b: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "b"},
                %c: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "c"}) {
  %zero = arith.constant 0 : index
  %M = tile.dim %a, 0 : memref<?x?xf32, strided<[1, ?]>>
  %K = tile.dim %a, 1 : memref<?x?xf32, strided<[1, ?]>>
  %N = tile.dim %c, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %z = arith.constant 0.0 : f32
  %acc0 = tile.fill %z [%m, %n] : f32, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %r = tile.for %k = %zero to %K carry(%acc = %acc0) : !tile.range<32>, (tensor<64x64xf32>) {
    %x = tile.load %a[%m, %k] : memref<?x?xf32, strided<[1, ?]>>, !tile.range<64>, !tile.range<32> -> tensor<64x32xf32>
    %y = tile.load %b[%k, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<32>, !tile.range<64> -> tensor<32x64xf32>
    %d = tile.mma %x, %y, %acc : tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x64xf32>
    tile.yield %d : tensor<64x64xf32>
  }
  tile.store %r, %c[%m, %n] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// The schedule says never.
// CHECK-NOT: @never_pack
tile.func @never(%a: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "a"}, %b: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "b"},
                %c: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "c"}) attributes {tile.config = {pack = 0 : i64}} {
  %zero = arith.constant 0 : index
  %M = tile.dim %a, 0 : memref<?x?xf32, strided<[?, 1]>>
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
  tile.store %r, %c[%m, %n] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// Stored as linear layers store their weights: turned while it is packed. AMX
// reads A where it lies, or from panels.
// CHECK-LABEL: tile.func @turned_pack_b(
// CHECK:         tile.transpose
// CHECK:         tile.store {{.*}}zero_padding = 0
// It is read along its rows.
// MAPPED-LABEL: tile.func @turned_pack_b(
// MAPPED:         tile.nest{{.*}}vector_axis = 0
// MAPPED:           tile.transpose
// MAPPED-LABEL: tile.func @turned_pack_a(
// CHECK-LABEL: tile.func @turned_pack_a(
// CHECK-SAME:    tile.packed = {deep_last = 1 : i64, group = 32 : i64, step = 32 : i64, wide_step = 32 : i64, width = 16 : i64}
// CHECK-LABEL: tile.func @turned_packed(
// CHECK:           tile.load %arg0
// CHECK:           tile.load %arg3
// CHECK-NOT:       tile.transpose
// CHECK:           tile.mma
// CHECK-LABEL: tile.func @turned_packed_both(
// CHECK:           tile.load %arg4
// CHECK:           tile.load %arg3
// CHECK-NOT:       tile.transpose
// CHECK:           tile.mma
tile.func @turned(%a: memref<?x?xbf16, strided<[?, 1]>> {gir.mode = "in", gir.name = "a"}, %b: memref<?x?xbf16, strided<[?, 1]>> {gir.mode = "in", gir.name = "b"},
                %c: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "c"}) {
  %zero = arith.constant 0 : index
  %M = tile.dim %a, 0 : memref<?x?xbf16, strided<[?, 1]>>
  %K = tile.dim %a, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %N = tile.dim %c, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m, %n = tile.program extents(%M, %N) tiles = [64, 64] : !tile.range<64>, !tile.range<64>
  %z = arith.constant 0.0 : f32
  %acc0 = tile.fill %z [%m, %n] : f32, !tile.range<64>, !tile.range<64> -> tensor<64x64xf32>
  %r = tile.for %k = %zero to %K carry(%acc = %acc0) : !tile.range<32>, (tensor<64x64xf32>) {
    %x = tile.load %a[%m, %k] : memref<?x?xbf16, strided<[?, 1]>>, !tile.range<64>, !tile.range<32> -> tensor<64x32xbf16>
    %w = tile.load %b[%n, %k] : memref<?x?xbf16, strided<[?, 1]>>, !tile.range<64>, !tile.range<32> -> tensor<64x32xbf16>
    %y = tile.transpose %w [1, 0] : tensor<64x32xbf16> -> tensor<32x64xbf16>
    %d = tile.mma %x, %y, %acc : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32>
    tile.yield %d : tensor<64x64xf32>
  }
  tile.store %r, %c[%m, %n] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// What is updated in place may not be read from a copy.
// CHECK-NOT: @inplace_packed
tile.func @inplace(%a: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "in", gir.name = "a"}, %b: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "inout", gir.name = "b"},
                %c: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "c"}) {
  %zero = arith.constant 0 : index
  %M = tile.dim %a, 0 : memref<?x?xf32, strided<[?, 1]>>
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
  tile.store %r, %c[%m, %n] : tensor<64x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// CHECK-LABEL: tile.plan @f
// CHECK:         "  if constant(%B) or (size(%A, 0) > 64) and (size(%B, 0) * stride(%B, 0) > 196608 or stride(%B, 0) mod 512 == 0 or size(%B, 1) mod 64 != 0 and size(%B, 1) > 32)"
// CHECK-NEXT:    "    alloc %B.plain.0.all f32 [size(%B, 0), size(%B, 1) ceildiv 64 * 64] of %B"
// CHECK-NEXT:    "    view %B.plain.0 = %B.plain.0.all offset 0 sizes [size(%B, 0), size(%B, 1)] strides [stride(%B.plain.0.all, 0), stride(%B.plain.0.all, 1)]"
// CHECK-NEXT:    "    if fresh(%B.plain.0.all)"
// CHECK-NEXT:    "      launch @plain_pack_b(%B, %B.plain.0) grid
// CHECK-NEXT:    "    end"
// CHECK-NEXT:    "    launch @plain_packed(%A, %B, %C, %B.plain.0) grid $t work 5"
// CHECK-NEXT:    "  else"
// CHECK-NEXT:    "    launch @plain(%A, %B, %C) grid $t work 5"
// CHECK-NEXT:    "  end"
// CHECK:         "    if (size(%C, 1) > 64) and (address(%A) mod 64 != 0 or stride(%A, 0) mod 32 != 0 or size(%W, 0) >= 1024 and stride(%A, 0) mod 1024 == 0)"
// CHECK:         "      launch @turned_packed_both(%A, %W, %C, %W.turned.0, %A.turned.1) grid $t"
// CHECK-NEXT:    "    else"
// CHECK-NEXT:    "      launch @turned_packed(%A, %W, %C, %W.turned.0) grid $t"
// CHECK:         "  launch @inplace(%A, %B, %C) grid $t"
tile.plan @f {
  "body"
  "  launch @plain(%A, %B, %C) grid $t work 5"
  "  launch @turned(%A, %W, %C) grid $t"
  "  launch @inplace(%A, %B, %C) grid $t"
  "end"
}

// Rows of a temporary are an odd number of lines apart, unless something relies
// on where they are.
// CHECK-LABEL: tile.plan @g
// CHECK-NEXT:    "body"
// CHECK-NEXT:    "  alloc %T.rows bf16 [$M, ($N) ceildiv 64 * 64 + 32]"
// CHECK-NEXT:    "  view %T = %T.rows offset 0 sizes [$M, $N] strides [stride(%T.rows, 0), stride(%T.rows, 1)]"
// CHECK-NEXT:    "  alloc %U bf16 [$M, $N]"
// CHECK-NEXT:    "  view %V = %U offset 0 sizes [$M * $N] strides [1]"
// CHECK:         launch @turned_packed_both(%T, %W, %C
// CHECK:         launch @turned_packed_both(%U, %W, %C
// CHECK:         "  free %T.rows"
// CHECK-NEXT:    "  free %U"
tile.plan @g {
  "body"
  "  alloc %T bf16 [$M, $N]"
  "  alloc %U bf16 [$M, $N]"
  "  view %V = %U offset 0 sizes [$M * $N] strides [1]"
  "  launch @turned(%T, %W, %C) grid $t"
  "  launch @turned(%U, %W, %C) grid $t"
  "  free %T"
  "  free %U"
  "end"
}
