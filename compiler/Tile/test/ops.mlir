// RUN: tessera-opt %s | tessera-opt | FileCheck %s

// Every op of Tile IR, at both levels, printed and read again.

// CHECK-LABEL: tile.func @fill
// CHECK: tile.dim %{{.*}}, 0 : memref<?xf32, strided<[?]>>
// CHECK: tile.program extents(%{{.*}}) tiles = [64] : {{(!tile.range)?}}<64>
// CHECK: tile.fill %{{.*}}{{ ?}}[%{{.*}}] : f32, {{(!tile.range)?}}<64> -> tensor<64xf32>
// CHECK: tile.store
// CHECK: tile.return
tile.func @fill(%y: memref<?xf32, strided<[?]>>) {
  %n = tile.dim %y, 0 : memref<?xf32, strided<[?]>>
  %i = tile.program extents(%n) tiles = [64] : !tile.range<64>
  %one = arith.constant 1.0 : f32
  %t = tile.fill %one [%i] : f32, !tile.range<64> -> tensor<64xf32>
  tile.store %t, %y[%i] : tensor<64xf32>, memref<?xf32, strided<[?]>>, !tile.range<64>
  tile.return
}

// CHECK-LABEL: tile.func @program
// CHECK: tile.program extents(%{{.*}}, %{{.*}}) tiles = [128, 0] : {{(!tile.range)?}}<128>, index
tile.func @program(%M: index, %B: index) {
  %m, %b = tile.program extents(%M, %B) tiles = [128, 0] : !tile.range<128>, index
  tile.return
}

// CHECK-LABEL: tile.func @range_at
// CHECK: %{{.*}} = tile.range_at %{{.*}} of %{{.*}} : {{(!tile.range)?}}<64>
tile.func @range_at(%zero: index, %D: index) {
  %d = tile.range_at %zero of %D : !tile.range<64>
  tile.return
}

// CHECK-LABEL: tile.func @range_bounds
// CHECK: %{{.*}} = tile.range_start %{{.*}} : {{(!tile.range)?}}<64>
// CHECK: %{{.*}} = tile.range_stop %{{.*}} : {{(!tile.range)?}}<64>
tile.func @range_bounds(%m: !tile.range<64>) {
  %a = tile.range_start %m : !tile.range<64>
  %b = tile.range_stop %m : !tile.range<64>
  tile.return
}

// CHECK-LABEL: tile.func @index
// CHECK: %{{.*}} = tile.index %{{.*}} : {{(!tile.range)?}}<64> -> tensor<64xi64>
tile.func @index(%m: !tile.range<64>) {
  %i = tile.index %m : !tile.range<64> -> tensor<64xi64>
  tile.return
}

// CHECK-LABEL: tile.func @dim
// CHECK: %{{.*}} = tile.dim %{{.*}}, 0 : memref<?xf32, strided<[?]>>
tile.func @dim(%x: memref<?xf32, strided<[?]>>) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[?]>>
  tile.return
}

// CHECK-LABEL: tile.func @stride
// CHECK: %{{.*}} = tile.stride %{{.*}}, 0 : memref<?xf32, strided<[?]>>
tile.func @stride(%x: memref<?xf32, strided<[?]>>) {
  %s = tile.stride %x, 0 : memref<?xf32, strided<[?]>>
  tile.return
}

// CHECK-LABEL: tile.func @prefetch
// CHECK: tile.prefetch %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<32>
tile.func @prefetch(%r: memref<?x?xf32, strided<[?, 1]>>, %m: !tile.range<64>, %n: !tile.range<32>) {
  tile.prefetch %r[%m, %n] : memref<?x?xf32, strided<[?, 1]>>, !tile.range<64>, !tile.range<32>
  tile.return
}

// CHECK-LABEL: tile.func @splice
// CHECK: %{{.*}} = tile.splice %{{.*}}, %{{.*}} at %{{.*}} : tensor<64x32xbf16>
tile.func @splice(%x: tensor<64x32xbf16>, %y: tensor<64x32xbf16>, %whole: index) {
  %a = tile.splice %x, %y at %whole : tensor<64x32xbf16>
  tile.return
}

// CHECK-LABEL: tile.func @for
// CHECK: tile.for %{{.*}} = %{{.*}} to %{{.*}} carry(%{{.*}} = %{{.*}}) : {{(!tile.range)?}}<64>, (tensor<16xf32>) {
// CHECK: tile.yield %{{.*}} : tensor<16xf32>
// CHECK: } {stages = 3 : i64}
tile.func @for(%zero: index, %K: index, %acc0: tensor<16xf32>) {
  %r = tile.for %k = %zero to %K carry(%acc = %acc0) : !tile.range<64>, (tensor<16xf32>) {
    tile.yield %acc : tensor<16xf32>
  } {stages = 3}
  tile.return
}

// CHECK-LABEL: tile.func @load
// CHECK: %{{.*}} = tile.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x?xf16, strided<[?, ?]>>, {{(!tile.range)?}}<64>, {{(!tile.range)?}}<32> -> tensor<64x32xf16>
tile.func @load(%A: memref<?x?xf16, strided<[?, ?]>>, %m: !tile.range<64>, %k: !tile.range<32>) {
  %a = tile.load %A[%m, %k] : memref<?x?xf16, strided<[?, ?]>>, !tile.range<64>, !tile.range<32> -> tensor<64x32xf16>
  tile.return
}

// CHECK-LABEL: tile.func @store
// CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : tensor<64x32xf16>, memref<?x?xf16, strided<[?, ?]>>, {{(!tile.range)?}}<64>, {{(!tile.range)?}}<32>
tile.func @store(%c: tensor<64x32xf16>, %C: memref<?x?xf16, strided<[?, ?]>>, %m: !tile.range<64>, %n: !tile.range<32>) {
  tile.store %c, %C[%m, %n] : tensor<64x32xf16>, memref<?x?xf16, strided<[?, ?]>>, !tile.range<64>, !tile.range<32>
  tile.return
}

// CHECK-LABEL: tile.func @atomic
// CHECK: tile.atomic sum %{{.*}}, %{{.*}}[%{{.*}}] : tensor<64xf32>, memref<?xf32, strided<[?]>>, {{(!tile.range)?}}<64>
tile.func @atomic(%c: tensor<64xf32>, %C: memref<?xf32, strided<[?]>>, %m: !tile.range<64>) {
  tile.atomic sum %c, %C[%m] : tensor<64xf32>, memref<?xf32, strided<[?]>>, !tile.range<64>
  tile.return
}

// CHECK-LABEL: tile.func @broadcast
// CHECK: %{{.*}} = tile.broadcast %{{.*}} axes = [0]{{ ?}}[%{{.*}}] : tensor<64xf32>, {{(!tile.range)?}}<32> -> tensor<64x32xf32>
tile.func @broadcast(%x: tensor<64xf32>, %n: !tile.range<32>) {
  %y = tile.broadcast %x axes = [0] [%n] : tensor<64xf32>, !tile.range<32> -> tensor<64x32xf32>
  tile.return
}

// CHECK-LABEL: tile.func @transpose
// CHECK: %{{.*}} = tile.transpose %{{.*}} [1, 0] : tensor<64x32xf32> -> tensor<32x64xf32>
tile.func @transpose(%x: tensor<64x32xf32>) {
  %t = tile.transpose %x [1, 0] : tensor<64x32xf32> -> tensor<32x64xf32>
  tile.return
}

// CHECK-LABEL: tile.func @reshape
// CHECK: %{{.*}} = tile.reshape %{{.*}} : tensor<64x32xf32> -> tensor<2048xf32>
tile.func @reshape(%x: tensor<64x32xf32>) {
  %y = tile.reshape %x : tensor<64x32xf32> -> tensor<2048xf32>
  tile.return
}

// CHECK-LABEL: tile.func @cat
// CHECK: %{{.*}} = tile.cat %{{.*}}, %{{.*}} axis = 0 : (tensor<4xf32>, tensor<8xf32>) -> tensor<12xf32>
tile.func @cat(%x: tensor<4xf32>, %y: tensor<8xf32>) {
  %z = tile.cat %x, %y axis = 0 : (tensor<4xf32>, tensor<8xf32>) -> tensor<12xf32>
  tile.return
}

// CHECK-LABEL: tile.func @filled
// CHECK: %{{.*}} = tile.filled %{{.*}}, %{{.*}} : tensor<64xf32>, f32
tile.func @filled(%x: tensor<64xf32>, %zero: f32) {
  %y = tile.filled %x, %zero : tensor<64xf32>, f32
  tile.return
}

// CHECK-LABEL: tile.func @reduce
// CHECK: %{{.*}} = tile.reduce sum %{{.*}} axis = 1 : tensor<64x32xf32> -> tensor<64xf32>
tile.func @reduce(%x: tensor<64x32xf32>) {
  %s = tile.reduce sum %x axis = 1 : tensor<64x32xf32> -> tensor<64xf32>
  tile.return
}

// CHECK-LABEL: tile.func @scan
// CHECK: %{{.*}} = tile.scan sum %{{.*}} axis = 1 : tensor<64x32xf32>
tile.func @scan(%x: tensor<64x32xf32>) {
  %s = tile.scan sum %x axis = 1 : tensor<64x32xf32>
  tile.return
}

// CHECK-LABEL: tile.func @mma
// CHECK: %{{.*}} = tile.mma %{{.*}}, %{{.*}}, %{{.*}} : tensor<64x32xf16>, tensor<32x16xf16>, tensor<64x16xf32>
// CHECK: %{{.*}} = tile.mma %{{.*}}, %{{.*}}, %{{.*}} sparse(%{{.*}} : tensor<64x1xi32>) : tensor<64x16xf16>, tensor<32x16xf16>, tensor<64x16xf32>
// CHECK: %{{.*}} = tile.mma %{{.*}}, %{{.*}}, %{{.*}} scaled(%{{.*}}, %{{.*}} : tensor<64x1xi8>, tensor<1x16xi8>) : tensor<64x32xf8E4M3FN>, tensor<32x16xf8E4M3FN>, tensor<64x16xf32>
// CHECK: %{{.*}} = tile.mma %{{.*}}, %{{.*}}, %{{.*}} {instruction = #tile.instruction<fma>} : tensor<64x32xf16>
// CHECK: %{{.*}} = tile.mma %{{.*}}, %{{.*}}, %{{.*}} {instruction = #tile.instruction<sync 16 x 8 x 16>} : tensor<64x32xf16>
tile.func @mma(%a: tensor<64x32xf16>, %b: tensor<32x16xf16>, %acc: tensor<64x16xf32>, %h: tensor<64x16xf16>, %e: tensor<64x1xi32>,
               %x: tensor<64x32xf8E4M3FN>, %y: tensor<32x16xf8E4M3FN>, %s: tensor<64x1xi8>, %t: tensor<1x16xi8>) {
  %c = tile.mma %a, %b, %acc : tensor<64x32xf16>, tensor<32x16xf16>, tensor<64x16xf32>
  %d = tile.mma %h, %b, %acc sparse(%e : tensor<64x1xi32>) : tensor<64x16xf16>, tensor<32x16xf16>, tensor<64x16xf32>
  %f = tile.mma %x, %y, %acc scaled(%s, %t : tensor<64x1xi8>, tensor<1x16xi8>)
       : tensor<64x32xf8E4M3FN>, tensor<32x16xf8E4M3FN>, tensor<64x16xf32>
  %loop = tile.mma %a, %b, %acc {instruction = #tile.instruction<fma>} : tensor<64x32xf16>, tensor<32x16xf16>, tensor<64x16xf32>
  %unit = tile.mma %a, %b, %acc {instruction = #tile.instruction<sync 16 x 8 x 16>} : tensor<64x32xf16>, tensor<32x16xf16>, tensor<64x16xf32>
  tile.return
}

// CHECK-LABEL: tile.func @rand
// CHECK: %{{.*}} = tile.rand %{{.*}}, %{{.*}} : i64, tensor<64xi64> -> tensor<64xf32>
tile.func @rand(%seed: i64, %i: tensor<64xi64>) {
  %r = tile.rand %seed, %i : i64, tensor<64xi64> -> tensor<64xf32>
  tile.return
}

// CHECK-LABEL: tile.func @print
// CHECK: tile.print "x =" %{{.*}} : f32
tile.func @print(%x: f32) {
  tile.print "x =" %x : f32
  tile.return
}

// CHECK-LABEL: tile.func @assert
// CHECK: tile.assert %{{.*}}, "negative" : i1
tile.func @assert(%c: i1) {
  tile.assert %c, "negative" : i1
  tile.return
}

// CHECK-LABEL: tile.func @assert_at_call
// CHECK: tile.assert %{{.*}}, "n does not fit in i32" {at_call} : i1
tile.func @assert_at_call(%n: i64) {
  %most = arith.constant 2147483647 : i64
  %fits = arith.cmpi sle, %n, %most : i64
  tile.assert %fits, "n does not fit in i32" {at_call} : i1
  tile.return
}

// CHECK-LABEL: tile.func @alloc
// CHECK: %{{.*}} = tile.alloc {offset = 128 : i64} : {{(!tile.buffer)?}}<3x128x64xf16, shared>
tile.func @alloc() {
  %b = tile.alloc {offset = 128 : i64} : !tile.buffer<3x128x64xf16, shared>
  tile.return
}

// CHECK-LABEL: tile.func @cp_async
// CHECK: %{{.*}} = tile.cp_async %{{.*}}[%{{.*}}, %{{.*}}] -> %{{.*}} slot %{{.*}} {commit, vector = 8 : i64} : memref<?x?xf16, strided<[?, 1]>>, {{(!tile.range)?}}<128>, {{(!tile.range)?}}<64> -> {{(!tile.buffer)?}}<3x128x64xf16, shared>
// CHECK: tile.wait %{{.*}} pending = 0
tile.func @cp_async(%A: memref<?x?xf16, strided<[?, 1]>>, %m: !tile.range<128>, %k: !tile.range<64>, %b: !tile.buffer<3x128x64xf16, shared>, %s: index) {
  %t = tile.cp_async %A[%m, %k] -> %b slot %s {vector = 8 : i64, commit}
       : memref<?x?xf16, strided<[?, 1]>>, !tile.range<128>, !tile.range<64> -> !tile.buffer<3x128x64xf16, shared>
  tile.wait %t pending = 0
  tile.return
}

// CHECK-LABEL: tile.func @wait
// CHECK: tile.wait %{{.*}} pending = 1
tile.func @wait(%token: !tile.token) {
  tile.wait %token pending = 1
  tile.return
}

// CHECK-LABEL: tile.func @barrier
// CHECK: tile.barrier
tile.func @barrier() {
  tile.barrier
  tile.return
}

// CHECK-LABEL: tile.func @local
// CHECK: %{{.*}} = tile.local_load %{{.*}} slot %{{.*}} : {{(!tile.buffer)?}}<3x128x64xf16, shared> -> tensor<128x64xf16>
// CHECK: tile.local_store %{{.*}}, %{{.*}} slot %{{.*}} : tensor<128x64xf16>, {{(!tile.buffer)?}}<3x128x64xf16, shared>
tile.func @local(%b: !tile.buffer<3x128x64xf16, shared>, %s: index) {
  %x = tile.local_load %b slot %s : !tile.buffer<3x128x64xf16, shared> -> tensor<128x64xf16>
  tile.local_store %x, %b slot %s : tensor<128x64xf16>, !tile.buffer<3x128x64xf16, shared>
  tile.return
}

// CHECK-LABEL: tile.func @convert_layout
// CHECK: %{{.*}} = tile.convert_layout %{{.*}} : tensor<128x64xf16> -> tensor<128x64xf16>
tile.func @convert_layout(%x: tensor<128x64xf16>) {
  %y = tile.convert_layout %x : tensor<128x64xf16> -> tensor<128x64xf16>
  tile.return
}

// CHECK-LABEL: tile.func @nest
// CHECK: tile.nest{{ ?}}[%{{.*}}, %{{.*}}] {vector_axis = 1 : i64} : ({{(!tile.range)?}}<64>, {{(!tile.range)?}}<32>) -> () {
// CHECK: tile.local_load
// CHECK: math.exp
// CHECK: tile.local_store
tile.func @nest(%m: !tile.range<64>, %n: !tile.range<32>, %b: !tile.buffer<64x32xf32, scratch>) {
  tile.nest [%m, %n] {vector_axis = 1 : i64} : (!tile.range<64>, !tile.range<32>) -> () {
    %x = tile.local_load %b : !tile.buffer<64x32xf32, scratch> -> tensor<64x32xf32>
    %y = math.exp %x : tensor<64x32xf32>
    tile.local_store %y, %b : tensor<64x32xf32>, !tile.buffer<64x32xf32, scratch>
  }
  tile.return
}

// CHECK-LABEL: tile.func @nest_yield
// CHECK: tile.nest{{ ?}}[%{{.*}}] : ({{(!tile.range)?}}<64>) -> f32 {
// CHECK: tile.nest_yield %{{.*}} : f32
tile.func @nest_yield(%m: !tile.range<64>, %b: !tile.buffer<64xf32, scratch>) {
  %s = tile.nest [%m] : (!tile.range<64>) -> (f32) {
    %x = tile.local_load %b : !tile.buffer<64xf32, scratch> -> tensor<64xf32>
    %r = tile.reduce sum %x axis = 0 : tensor<64xf32> -> f32
    tile.nest_yield %r : f32
  }
  tile.return
}

// A call's programs, one by one.
// CHECK-LABEL: tile.func @chunk
// CHECK:         %[[BEGIN:.*]], %[[END:.*]] = tile.chunk extents(%{{.*}}) tiles = [0]
// CHECK:         scf.for %[[P:.*]] = %[[BEGIN]] to %[[END]]
// CHECK:           tile.program extents(%{{.*}}) tiles = [0] at %[[P]] : index
// CHECK:           tile.load {{.*}} {prefetch = 1 : i64}
tile.func @chunk(%X: memref<?x?xf32, strided<[?, 1]>>) {
  %one = arith.constant 1 : index
  %none = arith.constant 0 : index
  %M = tile.dim %X, 0 : memref<?x?xf32, strided<[?, 1]>>
  %N = tile.dim %X, 1 : memref<?x?xf32, strided<[?, 1]>>
  %n = tile.range_at %none of %N : <64>
  %begin, %end = tile.chunk extents(%M) tiles = [0]
  scf.for %p = %begin to %end step %one {
    %m = tile.program extents(%M) tiles = [0] at %p : index
    %x = tile.load %X[%m, %n] {prefetch = 1 : i64} : memref<?x?xf32, strided<[?, 1]>>, index, !tile.range<64> -> tensor<64xf32>
  }
  tile.return
}
