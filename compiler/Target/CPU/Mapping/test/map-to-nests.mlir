// RUN: tessera-opt %s --cpu-map-to-nests --cpu-place-buffers | FileCheck %s

// Loads and arithmetic go into the nest of their store; no buffer is made.
// CHECK-LABEL: tile.func @add
// CHECK-SAME:    scratch_bytes = 0
// CHECK-NOT:     tile.alloc
// CHECK:         tile.nest[%[[I:.*]]] {unroll = 4 : i64, vector_axis = 0 : i64}
// CHECK-NEXT:      tile.load
// CHECK-NEXT:      tile.load
// CHECK-NEXT:      arith.addf
// CHECK-NEXT:      tile.store
// CHECK-NOT:     tile.nest
tile.func @add(%x: memref<?xf32, strided<[1]>>, %z: memref<?xf32, strided<[1]>>) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %i = tile.program extents(%n) tiles = [64] : !tile.range<64>
  %j = tile.range_start %i : !tile.range<64>
  %k = tile.range_at %j of %n : !tile.range<64>
  %a = tile.load %x[%i] : memref<?xf32, strided<[1]>>, !tile.range<64> -> tensor<64xf32>
  %b = tile.load %x[%i] : memref<?xf32, strided<[1]>>, !tile.range<64> -> tensor<64xf32>
  %c = arith.addf %a, %b : tensor<64xf32>
  tile.store %c, %z[%i] : tensor<64xf32>, memref<?xf32, strided<[1]>>, !tile.range<64>
  tile.return
}

// An exponential that one nest reads twice is computed there, once.
// CHECK-LABEL: tile.func @silu
// CHECK-NOT:     tile.alloc
// CHECK:         tile.nest
// CHECK:           math.exp
// CHECK-NOT:       math.exp
// CHECK:           tile.store
// CHECK-NOT:     tile.nest
tile.func @silu(%x: memref<?xf32, strided<[1]>>, %z: memref<?xf32, strided<[1]>>) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %i = tile.program extents(%n) tiles = [64] : !tile.range<64>
  %a = tile.load %x[%i] : memref<?xf32, strided<[1]>>, !tile.range<64> -> tensor<64xf32>
  %e = math.exp %a : tensor<64xf32>
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %d = arith.addf %e, %one : tensor<64xf32>
  %s = arith.divf %e, %d : tensor<64xf32>
  tile.store %s, %z[%i] : tensor<64xf32>, memref<?xf32, strided<[1]>>, !tile.range<64>
  tile.return
}

// An exponential with two readers is computed once: stored, and summed in the
// same pass.
// CHECK-LABEL: tile.func @exp_and_sum
// CHECK:         %[[P:.*]] = tile.alloc
// CHECK:         %[[S:.*]] = tile.nest
// CHECK:           %[[E:.*]] = math.exp
// CHECK-NEXT:      tile.local_store %[[E]], %[[P]]
// CHECK-NEXT:      %[[R:.*]] = tile.reduce sum %[[E]]
// CHECK-NEXT:      tile.nest_yield %[[R]]
// CHECK:         tile.nest
// CHECK-NOT:       math.exp
// CHECK:           tile.local_load %[[P]]
// CHECK:           arith.divf
tile.func @exp_and_sum(%x: memref<?xf32, strided<[1]>>, %z: memref<?xf32, strided<[1]>>) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %i = tile.program extents(%n) tiles = [64] : !tile.range<64>
  %a = tile.load %x[%i] : memref<?xf32, strided<[1]>>, !tile.range<64> -> tensor<64xf32>
  %e = math.exp %a : tensor<64xf32>
  %s = tile.reduce sum %e axis = 0 : tensor<64xf32> -> f32
  %t = tile.fill %s [%i] : f32, !tile.range<64> -> tensor<64xf32>
  %q = arith.divf %e, %t : tensor<64xf32>
  tile.store %q, %z[%i] : tensor<64xf32>, memref<?xf32, strided<[1]>>, !tile.range<64>
  tile.return
}

// A quotient for each row has a buffer, so that the rows less it are cheap to
// compute again: they have none.
// CHECK-LABEL: tile.func @less_the_mean
// CHECK-NOT:     tile.alloc {{.*}}<4x256xf32
// CHECK:         tile.nest
// CHECK:           arith.divf %{{.*}} : tensor<4xf32>
// CHECK-NOT:     tile.alloc {{.*}}<4x256xf32
// CHECK:         tile.nest
// CHECK:           arith.subf
// CHECK:           tile.reduce sum
// CHECK:         tile.nest
// CHECK:           arith.subf
// CHECK:           tile.store
tile.func @less_the_mean(%X: memref<?x256xf32>, %Y: memref<?x256xf32>) {
  %zero = arith.constant 0 : index
  %M = tile.dim %X, 0 : memref<?x256xf32>
  %N = arith.constant 256 : index
  %m = tile.program extents(%M) tiles = [4] : !tile.range<4>
  %n = tile.range_at %zero of %N : <256>
  %size = arith.constant dense<2.560000e+02> : tensor<4xf32>
  %x = tile.load %X[%m, %n] : memref<?x256xf32>, !tile.range<4>, !tile.range<256> -> tensor<4x256xf32>
  %sum = tile.reduce sum %x axis = 1 : tensor<4x256xf32> -> tensor<4xf32>
  %mean = arith.divf %sum, %size : tensor<4xf32>
  %means = tile.broadcast %mean axes = [0][%n] : tensor<4xf32>, !tile.range<256> -> tensor<4x256xf32>
  %less = arith.subf %x, %means : tensor<4x256xf32>
  %square = arith.mulf %less, %less : tensor<4x256xf32>
  %squares = tile.reduce sum %square axis = 1 : tensor<4x256xf32> -> tensor<4xf32>
  %all = tile.broadcast %squares axes = [0][%n] : tensor<4xf32>, !tile.range<256> -> tensor<4x256xf32>
  %y = arith.mulf %less, %all : tensor<4x256xf32>
  tile.store %y, %Y[%m, %n] : tensor<4x256xf32>, memref<?x256xf32>, !tile.range<4>, !tile.range<256>
  tile.return
}

// A load does not move past a store to its own view: what it read before is
// stored, element by element.
// CHECK-LABEL: tile.func @load_before_store
// CHECK:         tile.nest
// CHECK:           %[[A:.*]] = tile.load %[[X:[a-z0-9]+]][
// CHECK:           tile.store {{.*}}, %[[X]]
// CHECK-NOT:       tile.load
// CHECK:           tile.store %[[A]]
tile.func @load_before_store(%x: memref<?xf32, strided<[1]>>, %z: memref<?xf32, strided<[1]>>) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %i = tile.program extents(%n) tiles = [64] : !tile.range<64>
  %a = tile.load %x[%i] : memref<?xf32, strided<[1]>>, !tile.range<64> -> tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  tile.store %zero, %x[%i] : tensor<64xf32>, memref<?xf32, strided<[1]>>, !tile.range<64>
  tile.store %a, %z[%i] : tensor<64xf32>, memref<?xf32, strided<[1]>>, !tile.range<64>
  tile.return
}

// The accumulator of a matrix loop is updated in place, in one buffer; B is
// packed into panels, A is read where it lies. The kernel says how much
// scratch memory that takes.
// CHECK-LABEL: tile.func @gemm
// CHECK-SAME:    scratch_bytes = {{[1-9][0-9]*}}
// CHECK:         %[[C:.*]] = tile.alloc
// CHECK:         tile.for %[[K:.*]] = {{.*}} : !tile.range<32> {
// CHECK:           %[[B:.*]] = tile.alloc {{.*}}64: dim1*1 -> offset*1
// CHECK:           tile.nest{{.*}}register_tile = array<i64: {{.*}}unit = #tile.unit<fma>
// CHECK:             tile.load
// CHECK:             tile.local_load %[[B]]
// CHECK:             %[[ACC:.*]] = tile.local_load %[[C]]
// CHECK:             %[[D:.*]] = tile.mma {{.*}}, %[[ACC]]
// CHECK:             tile.local_store %[[D]], %[[C]]
// CHECK:         }
// CHECK:         tile.nest
// CHECK:           tile.local_load %[[C]]
// CHECK:           tile.store
tile.func @gemm(%a: memref<?x?xf32, strided<[?, 1]>>, %b: memref<?x?xf32, strided<[?, 1]>>, %c: memref<?x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %M = tile.dim %a, 0 : memref<?x?xf32, strided<[?, 1]>>
  %K = tile.dim %a, 1 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %b, 1 : memref<?x?xf32, strided<[?, 1]>>
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


// What a second loop over the row would compute again is kept, a slot per turn,
// as far as the buffer reaches; the rest is computed again. The sum adds as
// many vectors at a time in both parts.
// CHECK-LABEL: tile.func @kept_row
// CHECK-SAME:    scratch_bytes = 131072
// CHECK:         %[[ROW:.*]] = tile.alloc {{.*}} <32x1024xf32,
// CHECK:         %[[N:.*]] = tile.dim %{{[a-z0-9]+}}, 1 :
// CHECK:         %[[LIMIT:.*]] = arith.minsi %[[N]], %c32768
// CHECK:         tile.for %{{.*}} = %c0 to %[[LIMIT]] carry
// CHECK:           %[[SLOT:.*]] = arith.divui
// CHECK:           tile.nest{{.*}} {unroll = 4
// CHECK:             %[[E:.*]] = math.exp
// CHECK-NEXT:        tile.local_store %[[E]], %[[ROW]] slot %[[SLOT]]
// CHECK-NEXT:        tile.reduce sum %[[E]]
// CHECK:         tile.for %{{.*}} = %[[LIMIT]] to %[[N]] carry
// CHECK:           tile.nest{{.*}} {unroll = 4
// CHECK-NOT:         tile.local_store
// CHECK:             math.exp
// CHECK:         {rest, stages = 0 : i64}
// CHECK:         tile.for %{{.*}} = %c0 to %[[LIMIT]] :
// CHECK:           %[[AGAIN:.*]] = arith.divui
// CHECK-NOT:       math.exp
// CHECK:           tile.local_load %[[ROW]] slot %[[AGAIN]]
// CHECK:         tile.for %{{.*}} = %[[LIMIT]] to %[[N]] :
// CHECK-NOT:       tile.local_load
// CHECK:           math.exp
tile.func @kept_row(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [0] : index
  %sum = tile.for %n = %zero to %N carry(%s = %none) : !tile.range<1024>, (f32) {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %e = math.exp %t : tensor<1024xf32>
    %p = tile.reduce sum %e axis = 0 : tensor<1024xf32> -> f32
    %q = arith.addf %s, %p : f32
    tile.yield %q : f32
  }
  tile.for %n = %zero to %N : !tile.range<1024> {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %e = math.exp %t : tensor<1024xf32>
    %d = tile.fill %sum[%n] : f32, !tile.range<1024> -> tensor<1024xf32>
    %r = arith.mulf %e, %d : tensor<1024xf32>
    tile.store %r, %y[%m, %n] : tensor<1024xf32>, memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024>
  }
  tile.return
}

// A loop over another dim reads no farther than the row was kept.
// CHECK-LABEL: tile.func @kept_row_of_another_dim
// CHECK:         %[[KEPT:.*]] = arith.minsi
// CHECK:         %[[WANTED:.*]] = arith.minsi
// CHECK:         %[[COVERED:.*]] = arith.cmpi sge, %[[KEPT]], %[[WANTED]]
// CHECK:         %[[LIMIT:.*]] = arith.select %[[COVERED]], %[[WANTED]], %c0
// CHECK:         tile.for %{{.*}} = %c0 to %[[LIMIT]] :
tile.func @kept_row_of_another_dim(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %O = tile.dim %y, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [0] : index
  %sum = tile.for %n = %zero to %N carry(%s = %none) : !tile.range<1024>, (f32) {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %e = math.exp %t : tensor<1024xf32>
    %p = tile.reduce sum %e axis = 0 : tensor<1024xf32> -> f32
    %q = arith.addf %s, %p : f32
    tile.yield %q : f32
  }
  tile.for %n = %zero to %O : !tile.range<1024> {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %e = math.exp %t : tensor<1024xf32>
    tile.store %e, %y[%m, %n] : tensor<1024xf32>, memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024>
  }
  tile.return
}

// What the kernel writes may have changed between the loops; what is cheap is
// not worth a buffer.
// CHECK-LABEL: tile.func @no_kept_row
// CHECK-NOT:     tile.alloc
// CHECK-NOT:     tile.rest
// CHECK:         tile.return
tile.func @no_kept_row(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [0] : index
  %sum = tile.for %n = %zero to %N carry(%s = %none) : !tile.range<1024>, (f32) {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %a = tile.load %y[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %e = math.exp %a : tensor<1024xf32>
    %c = arith.addf %t, %t : tensor<1024xf32>
    %f = arith.addf %e, %c : tensor<1024xf32>
    %p = tile.reduce sum %f axis = 0 : tensor<1024xf32> -> f32
    %q = arith.addf %s, %p : f32
    tile.yield %q : f32
  }
  tile.for %n = %zero to %N : !tile.range<1024> {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %a = tile.load %y[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %e = math.exp %a : tensor<1024xf32>
    %c = arith.addf %t, %t : tensor<1024xf32>
    %f = arith.addf %e, %c : tensor<1024xf32>
    %d = tile.fill %sum[%n] : f32, !tile.range<1024> -> tensor<1024xf32>
    %r = arith.addf %f, %d : tensor<1024xf32>
    tile.store %r, %y[%m, %n] : tensor<1024xf32>, memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024>
  }
  tile.return
}

// Stores to one view are one nest where an index keeps them apart, whatever
// number is read between them; where none does, they are two.
// CHECK-LABEL: tile.func @stores_apart
// CHECK:         tile.nest
// CHECK:           tile.store
// CHECK:           tile.store
// CHECK-NOT:       tile.store
// CHECK:         tile.nest
// CHECK:           tile.store
// CHECK:         tile.return
tile.func @stores_apart(%x: memref<?xf32, strided<[1]>>, %t: memref<?xf32, strided<[1]>>, %y: memref<2x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %N = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %n = tile.program extents(%N) tiles = [256] : !tile.range<256>
  %a = tile.load %x[%n] : memref<?xf32, strided<[1]>>, !tile.range<256> -> tensor<256xf32>
  tile.store %a, %y[%zero, %n] : tensor<256xf32>, memref<2x?xf32, strided<[?, 1]>>, index, !tile.range<256>
  %f = tile.load %t[%zero] : memref<?xf32, strided<[1]>>, index -> f32
  %g = tile.fill %f[%n] : f32, !tile.range<256> -> tensor<256xf32>
  %b = arith.mulf %a, %g : tensor<256xf32>
  tile.store %b, %y[%one, %n] : tensor<256xf32>, memref<2x?xf32, strided<[?, 1]>>, index, !tile.range<256>
  tile.store %a, %y[%one, %n] : tensor<256xf32>, memref<2x?xf32, strided<[?, 1]>>, index, !tile.range<256>
  tile.return
}

// A transposed operand is packed along its own rows, without a gather.
// CHECK-LABEL: tile.func @pack_turned
// CHECK:         tile.nest[%{{.*}}, %{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64}
tile.func @pack_turned(%k: memref<?x?xf32, strided<[?, 1]>>, %p: memref<?x?xf32, strided<[?, 1]>> {tile.packed = {deep_last = 0 : i64, group = 1 : i64, step = 1 : i64, wide_step = 64 : i64, width = 64 : i64}}) {
  %d = tile.dim %k, 1 : memref<?x?xf32, strided<[?, 1]>>
  %s = tile.dim %k, 0 : memref<?x?xf32, strided<[?, 1]>>
  %i:2 = tile.program extents(%d, %s) tiles = [512, 64] : !tile.range<512>, !tile.range<64>
  %a = tile.load %k[%i#1, %i#0] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<512> -> tensor<64x512xf32>
  %t = tile.transpose %a [1, 0] : tensor<64x512xf32> -> tensor<512x64xf32>
  tile.store %t, %p[%i#0, %i#1] : tensor<512x64xf32>, memref<?x?xf32, strided<[?, 1]>>, !tile.range<512>, !tile.range<64>
  tile.return
}

// How every nest is done.
// RUN: tessera-opt %s --cpu-map-to-nests | FileCheck %s --check-prefix=NEST
// NEST-LABEL: tile.func @add(
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<64>) ->
// NEST-NOT:     tile.nest[
// NEST-LABEL: tile.func @silu(
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<64>) ->
// NEST-NOT:     tile.nest[
// NEST-LABEL: tile.func @exp_and_sum(
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<64>) ->
// NEST-NOT:     tile.nest[
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<64>) ->
// NEST-NOT:     tile.nest[
// NEST-LABEL: tile.func @less_the_mean(
// NEST:         tile.nest[%{{.*}}, %{{.*}}] {unroll = 4 : i64, vector_axis = 1 : i64} : (!tile.range<4>, !tile.range<256>) ->
// NEST-NOT:     tile.nest[
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<4>) ->
// NEST-NOT:     tile.nest[
// NEST:         tile.nest[%{{.*}}, %{{.*}}] {unroll = 2 : i64, vector_axis = 1 : i64} : (!tile.range<4>, !tile.range<256>) ->
// NEST-NOT:     tile.nest[
// NEST:         tile.nest[%{{.*}}, %{{.*}}] {unroll = 4 : i64, vector_axis = 1 : i64} : (!tile.range<4>, !tile.range<256>) ->
// NEST-NOT:     tile.nest[
// NEST-LABEL: tile.func @load_before_store(
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<64>) ->
// NEST-NOT:     tile.nest[
// NEST-LABEL: tile.func @gemm(
// NEST:         tile.nest[%{{.*}}, %{{.*}}] {unroll = 4 : i64, vector_axis = 1 : i64} : (!tile.range<64>, !tile.range<64>) ->
// NEST-NOT:     tile.nest[
// NEST:         tile.nest[%{{.*}}, %{{.*}}] {unroll = 4 : i64, vector_axis = 1 : i64} : (!tile.range<32>, !tile.range<64>) ->
// NEST-NOT:     tile.nest[
// NEST:         tile.nest[%{{.*}}, %{{.*}}, %{{.*}}] {register_tile = array<i64: 4, 4, 16>, unit = #tile.unit<fma>} : (!tile.range<64>, !tile.range<64>, !tile.range<32>) ->
// NEST-NOT:     tile.nest[
// NEST:         tile.nest[%{{.*}}, %{{.*}}] {unroll = 4 : i64, vector_axis = 1 : i64} : (!tile.range<64>, !tile.range<64>) ->
// NEST-NOT:     tile.nest[
// NEST-LABEL: tile.func @kept_row(
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<1024>) ->
// NEST-NOT:     tile.nest[
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<1024>) ->
// NEST-NOT:     tile.nest[
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<1024>) ->
// NEST-NOT:     tile.nest[
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<1024>) ->
// NEST-NOT:     tile.nest[
// NEST-LABEL: tile.func @kept_row_of_another_dim(
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<1024>) ->
// NEST-NOT:     tile.nest[
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<1024>) ->
// NEST-NOT:     tile.nest[
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<1024>) ->
// NEST-NOT:     tile.nest[
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<1024>) ->
// NEST-NOT:     tile.nest[
// NEST-LABEL: tile.func @no_kept_row(
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<1024>) ->
// NEST-NOT:     tile.nest[
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<1024>) ->
// NEST-NOT:     tile.nest[
// NEST-LABEL: tile.func @stores_apart(
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<256>) ->
// NEST-NOT:     tile.nest[
// NEST:         tile.nest[%{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<256>) ->
// NEST-NOT:     tile.nest[
// NEST-LABEL: tile.func @pack_turned(
// NEST:         tile.nest[%{{.*}}, %{{.*}}] {unroll = 4 : i64, vector_axis = 0 : i64} : (!tile.range<512>, !tile.range<64>) ->
// NEST-NOT:     tile.nest[
