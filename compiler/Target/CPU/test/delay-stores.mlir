// RUN: tessera-opt %s --cpu-map-to-nests --cpu-pair-bf16 --cpu-place-buffers --target-lower-to-cpu | FileCheck %s

// Results that go past the caches are written while the next row is computed:
// in one loop with its exponentials, from the other half of the buffer. The
// first row has none before it, the last row's come after all programs.
// CHECK-LABEL: tessera_target.kernel @delayed
// CHECK-SAME:    262144
// CHECK:         %[[SUMS:.*]] = scf.for %[[P:.*]] = %[[BEGIN:.*]] to %[[END:.*]] step %{{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (f32)
// CHECK:           %[[STARTED:.*]] = arith.cmpi slt, %[[BEGIN]], %[[P]]
// CHECK:           scf.if
// CHECK:             scf.for
// CHECK:               scf.for
// CHECK-COUNT-4:         math.exp
// CHECK:                 vector.broadcast %[[BEFORE]]
// CHECK-COUNT-4:         llvm.store {{.*}} nontemporal
// CHECK:                 scf.yield
// CHECK:           } else {
// CHECK-NEXT:        scf.if %[[STARTED]] {
// CHECK:               nontemporal
// CHECK:             math.exp
// CHECK:         vector.broadcast %[[SUMS]] : f32
// CHECK:         nontemporal
// CHECK:         tessera_target.return
tile.func @delayed(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
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
    tile.store %r, %y[%m, %n] {hints = {nontemporal}} : tensor<1024xf32>, memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024>
  }
  tile.return
}

// Nothing is kept where it is cheap to compute again: the row before is read
// once more, beside the first pass over the next one. Only what belongs to this
// row fetches the row after it.
// CHECK-LABEL: tessera_target.kernel @of_the_row
// CHECK:         scf.for %{{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (f32)
// CHECK:           scf.if
// CHECK:             scf.for
// CHECK:               scf.for
// CHECK:                 vector.broadcast %[[BEFORE]]
// CHECK-COUNT-4:         llvm.store {{.*}} nontemporal
// CHECK:                 scf.yield
// CHECK-NOT:       llvm.intr.prefetch
// CHECK:           } else {
// CHECK-NOT:     llvm.intr.prefetch
// CHECK:         tessera_target.return
tile.func @of_the_row(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [0] : index
  %sum = tile.for %n = %zero to %N carry(%s = %none) : !tile.range<1024>, (f32) {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %p = tile.reduce sum %t axis = 0 : tensor<1024xf32> -> f32
    %q = arith.addf %s, %p : f32
    tile.yield %q : f32
  }
  tile.for %n = %zero to %N : !tile.range<1024> {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %d = tile.fill %sum[%n] : f32, !tile.range<1024> -> tensor<1024xf32>
    %r = arith.mulf %t, %d : tensor<1024xf32>
    tile.store %r, %y[%m, %n] {hints = {nontemporal}} : tensor<1024xf32>, memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024>
  }
  tile.return
}

// After several passes four programs have computed their sums, the last one's at the end, and then write together: what all of
// them read is read once, and each row fetches the one four further on. The
// programs that are left, or whose rows are too long to stay near, run alone.
// CHECK-LABEL: tessera_target.kernel @together
// CHECK-SAME:    %[[BEGIN:[a-z0-9]+]]: i64, %[[END:[a-z0-9]+]]: i64
// CHECK:         %[[BYTES:.*]] = arith.muli %{{.*}}, %c16_i64
// CHECK:         %[[LONG:.*]] = arith.cmpi slt, %c1048576_i64{{.*}}, %[[BYTES]]
// CHECK:         %[[WHOLE:.*]] = arith.select %[[LONG]], %[[BEGIN]], %{{.*}}
// CHECK:         scf.for %{{.*}} = %[[BEGIN]] to %[[WHOLE]] step %c4_i64
// CHECK:           %[[SUMS:.*]]:4 = scf.for {{.*}} iter_args(%{{[a-z0-9]+}} = %{{[a-z0-9_]+}}, %[[B:[a-z0-9]+]] = %{{[a-z0-9_]+}}, %[[C:[a-z0-9]+]] = %{{[a-z0-9_]+}}, %[[D:[a-z0-9]+]] = %{{[a-z0-9_]+}})
// CHECK-NOT:         nontemporal
// CHECK:             scf.yield %[[B]], %[[C]], %[[D]], %{{.*}} : f32, f32, f32, f32
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               arith.muli %{{.*}}, %c4_i64
// CHECK:               llvm.intr.prefetch
// CHECK:               vector.broadcast %[[SUMS]]#0
// CHECK:               %[[W:.*]] = llvm.load
// CHECK:               arith.mulf %{{.*}}, %[[W]]
// CHECK-COUNT-4:       nontemporal
// CHECK:               vector.broadcast %[[SUMS]]#1
// CHECK:               arith.mulf %{{.*}}, %[[W]]
// CHECK-COUNT-4:       nontemporal
// CHECK:               vector.broadcast %[[SUMS]]#2
// CHECK-COUNT-4:       nontemporal
// CHECK:               vector.broadcast %[[SUMS]]#3
// CHECK:               arith.mulf %{{.*}}, %[[W]]
// CHECK-COUNT-4:       nontemporal
// CHECK:         scf.for %{{.*}} = %[[WHOLE]] to %[[END]]
// CHECK:           nontemporal
// CHECK:         tessera_target.return
tile.func @together(%x: memref<?x?xf32, strided<[?, 1]>>, %w: memref<?xf32, strided<[1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %M = tile.dim %x, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xf32, strided<[?, 1]>>
  %m = tile.program extents(%M) tiles = [0] : index
  %sum = tile.for %n = %zero to %N carry(%s = %none) : !tile.range<1024>, (f32) {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %p = tile.reduce sum %t axis = 0 : tensor<1024xf32> -> f32
    %q = arith.addf %s, %p : f32
    tile.yield %q : f32
  }
  %squares = tile.for %n = %zero to %N carry(%s = %sum) : !tile.range<1024>, (f32) {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %r = arith.mulf %t, %t : tensor<1024xf32>
    %p = tile.reduce sum %r axis = 0 : tensor<1024xf32> -> f32
    %q = arith.addf %s, %p : f32
    tile.yield %q : f32
  }
  tile.for %n = %zero to %N : !tile.range<1024> {
    %t = tile.load %x[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024> -> tensor<1024xf32>
    %d = tile.fill %squares[%n] : f32, !tile.range<1024> -> tensor<1024xf32>
    %u = tile.load %w[%n] : memref<?xf32, strided<[1]>>, !tile.range<1024> -> tensor<1024xf32>
    %v = arith.mulf %t, %d : tensor<1024xf32>
    %r = arith.mulf %v, %u : tensor<1024xf32>
    tile.store %r, %y[%m, %n] {hints = {nontemporal}} : tensor<1024xf32>, memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<1024>
  }
  tile.return
}

// Results that stay near are written at once: one half is enough.
// CHECK-LABEL: tessera_target.kernel @at_once
// CHECK-SAME:    131072
// CHECK-NOT:     iter_args
// CHECK:         scf.for %{{[a-z0-9]+}} = %{{[a-z0-9]+}} to %{{[a-z0-9]+}} step %{{[a-z0-9_]+}} : i64 {
// CHECK:         tessera_target.return
tile.func @at_once(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<?x?xf32, strided<[?, 1]>>) {
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
