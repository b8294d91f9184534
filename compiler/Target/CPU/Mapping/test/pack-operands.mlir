// RUN: tessera-opt %s --cpu-pack-operands="amx=true" | FileCheck %s
// RUN: tessera-opt %s --cpu-pack-operands="amx=true" --plan-print-text -o /dev/null | FileCheck %s --check-prefix=PLAN
// RUN: tessera-opt %s --cpu-pack-operands="amx=true" --cpu-map-to-nests="amx=true" | FileCheck %s --check-prefix=MAPPED

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
                %c: memref<?x?xf32, strided<[?, 1]>> {gir.mode = "out", gir.name = "c"}) attributes {config = {pack = 0 : i64}} {
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

// PLAN-LABEL: function f
// PLAN:           if constant(%B) or size(%A, 0) > 64 and (size(%B, 0) * stride(%B, 0) > 196608 or stride(%B, 0) mod 512 == 0 or size(%B, 1) mod 64 != 0 and size(%B, 1) > 32)
// PLAN-NEXT:        alloc %b.0.all f32 [size(%B, 0), size(%B, 1) ceildiv 64 * 64] of %B
// PLAN-NEXT:        view %b.0 = %b.0.all offset 0 sizes [size(%B, 0), size(%B, 1)] strides [stride(%b.0.all, 0), stride(%b.0.all, 1)]
// PLAN-NEXT:        if fresh(%b.0.all)
// PLAN-NEXT:          launch @plain_pack_b(%B, %b.0) grid
// PLAN-NEXT:        end
// PLAN-NEXT:        launch @plain_packed(%A, %B, %C, %b.0) grid $t work 5
// PLAN-NEXT:      else
// PLAN-NEXT:        launch @plain(%A, %B, %C) grid $t work 5
// PLAN-NEXT:      end
// PLAN:             if size(%C, 1) > 64 and (address(%A16) mod 64 != 0 or stride(%A16, 0) mod 32 != 0 or size(%W, 0) >= 1024 and stride(%A16, 0) mod 1024 == 0)
// PLAN:               launch @turned_packed_both(%A16, %W, %C, %b.0.1, %a.1) grid $t
// PLAN-NEXT:        else
// PLAN-NEXT:          launch @turned_packed(%A16, %W, %C, %b.0.1) grid $t
// PLAN:           launch @inplace(%A, %B, %C) grid $t
plan.func @f target "cpu" {
  %t = plan.scalar "t" : index
  %M = plan.dim "M"
  %N = plan.dim "N"
  %K = plan.dim "K"
  %A = plan.arg "A" in [%M, %K] : !plan.tensor<f32, 2>
  %B = plan.arg "B" in [%K, %N] : !plan.tensor<f32, 2>
  %C = plan.arg "C" out [%M, %N] : !plan.tensor<f32, 2>
  %A16 = plan.arg "A16" in [%M, %K] : !plan.tensor<bf16, 2>
  %W = plan.arg "W" in [%N, %K] : !plan.tensor<bf16, 2>
  %five = arith.constant 5 : index
  plan.launch @plain(%A, %B, %C) grid %t work %five : !plan.tensor<f32, 2>, !plan.tensor<f32, 2>, !plan.tensor<f32, 2>
  plan.launch @turned(%A16, %W, %C) grid %t : !plan.tensor<bf16, 2>, !plan.tensor<bf16, 2>, !plan.tensor<f32, 2>
  plan.launch @inplace(%A, %B, %C) grid %t : !plan.tensor<f32, 2>, !plan.tensor<f32, 2>, !plan.tensor<f32, 2>
  plan.return
}

// Rows of a temporary are an odd number of lines apart, unless something relies
// on where they are.
// PLAN-LABEL: function g
// PLAN:         body
// PLAN-NEXT:      alloc %T.rows bf16 [$M, $N ceildiv 64 * 64 + 32]
// PLAN-NEXT:      view %T = %T.rows offset 0 sizes [$M, $N] strides [stride(%T.rows, 0), stride(%T.rows, 1)]
// PLAN-NEXT:      alloc %U bf16 [$M, $N]
// PLAN-NEXT:      view %V = %U offset 0 sizes [$M * $N] strides [1]
// PLAN:         launch @turned_packed_both(%T, %W, %C
// PLAN:         launch @turned_packed_both(%U, %W, %C
// PLAN:           free %T.rows
// PLAN-NEXT:      free %U
plan.func @g target "cpu" {
  %t = plan.scalar "t" : index
  %M = plan.dim "M"
  %N = plan.dim "N"
  %K = plan.dim "K"
  %W = plan.arg "W" in [%K, %N] : !plan.tensor<bf16, 2>
  %C = plan.arg "C" out [%M, %K] : !plan.tensor<f32, 2>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %all = arith.muli %M, %N : index
  %T = plan.alloc "T" [%M, %N] -> !plan.tensor<bf16, 2>
  %U = plan.alloc "U" [%M, %N] -> !plan.tensor<bf16, 2>
  %V = plan.view "V" %U offset %zero sizes [%all] strides [%one] : !plan.tensor<bf16, 2> -> !plan.tensor<bf16, 1>
  plan.launch @turned(%T, %W, %C) grid %t : !plan.tensor<bf16, 2>, !plan.tensor<bf16, 2>, !plan.tensor<f32, 2>
  plan.launch @turned(%U, %W, %C) grid %t : !plan.tensor<bf16, 2>, !plan.tensor<bf16, 2>, !plan.tensor<f32, 2>
  plan.free %T : !plan.tensor<bf16, 2>
  plan.free %U : !plan.tensor<bf16, 2>
  plan.return
}
