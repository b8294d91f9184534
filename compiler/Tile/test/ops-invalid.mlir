// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// One program per numbered constraint of TileOps.td: @<op>_c<n> breaks it.

tile.func @program_c1(%M: index) {
  // expected-error @+1 {{has 1 extents, 2 tiles and 1 results}}
  %m = tile.program extents(%M) tiles = [128, 0] : !tile.range<128>
  tile.return
}

// -----

tile.func @program_c2(%M: index) {
  // expected-error @+1 {{a tile of 128 gives '!tile.range<64>'}}
  %m = tile.program extents(%M) tiles = [128] : !tile.range<64>
  tile.return
}

// -----

tile.func @for_c1(%zero: index, %K: index, %x0: f32, %y: f16) {
  // expected-error @+1 {{carried values change their type}}
  %r = tile.for %k = %zero to %K carry(%x = %x0) : !tile.range<64>, (f32) {
    tile.yield %y : f16
  }
  tile.return
}

// -----

tile.func @load_c1(%A: memref<?x?xf16, strided<[?, ?]>>, %m: !tile.range<64>) {
  // expected-error @+1 {{1 indices into a view of rank 2}}
  %a = tile.load %A[%m] : memref<?x?xf16, strided<[?, ?]>>, !tile.range<64> -> tensor<64xf16>
  tile.return
}

// -----

tile.func @load_c2(%A: memref<?xf16, strided<[?]>>, %m: !tile.range<64>) {
  // expected-error @+1 {{the indices span [64], but the tile is [32]}}
  %a = tile.load %A[%m] : memref<?xf16, strided<[?]>>, !tile.range<64> -> tensor<32xf16>
  tile.return
}

// -----

tile.func @store_c1(%c: tensor<64xf16>, %A: memref<?x?xf16, strided<[?, ?]>>, %m: !tile.range<64>) {
  // expected-error @+1 {{1 indices into a view of rank 2}}
  tile.store %c, %A[%m] : tensor<64xf16>, memref<?x?xf16, strided<[?, ?]>>, !tile.range<64>
  tile.return
}

// -----

tile.func @broadcast_c1(%x: tensor<64xf32>, %n: !tile.range<32>) {
  // expected-error @+1 {{do not map}}
  %y = tile.broadcast %x axes = [1] [%n] : tensor<64xf32>, !tile.range<32> -> tensor<64x32xf32>
  tile.return
}

// -----

tile.func @broadcast_c2(%x: tensor<64xf32>, %n: !tile.range<16>) {
  // expected-error @+1 {{new axis 1 needs a range of 32}}
  %y = tile.broadcast %x axes = [0] [%n] : tensor<64xf32>, !tile.range<16> -> tensor<64x32xf32>
  tile.return
}

// -----

tile.func @reduce_c1(%x: tensor<64x32xf32>) {
  // expected-error @+1 {{axis 2 of a tile of rank 2}}
  %s = tile.reduce sum %x axis = 2 : tensor<64x32xf32> -> tensor<64xf32>
  tile.return
}

// -----

tile.func @mma_c1(%a: tensor<64x32xf16>, %b: tensor<16x16xf16>, %acc: tensor<64x16xf32>) {
  // expected-error @+1 {{does not chain: 'tensor<64x32xf16>' times 'tensor<16x16xf16>' into 'tensor<64x16xf32>'}}
  %c = tile.mma %a, %b, %acc : tensor<64x32xf16>, tensor<16x16xf16>, tensor<64x16xf32>
  tile.return
}

// -----

tile.func @mma_c2(%a: tensor<64x32xf16>, %b: tensor<32x16xbf16>, %acc: tensor<64x16xf32>) {
  // expected-error @+1 {{multiplies 'f16' by 'bf16'}}
  %c = tile.mma %a, %b, %acc : tensor<64x32xf16>, tensor<32x16xbf16>, tensor<64x16xf32>
  tile.return
}

// -----

tile.func @mma_c3_sparse(%a: tensor<64x16xf16>, %e: tensor<64x2xi32>, %b: tensor<32x16xf16>, %acc: tensor<64x16xf32>) {
  // expected-error @+1 {{sparse of this product is 'tensor<64x1xi32>', not 'tensor<64x2xi32>'}}
  %c = tile.mma %a, %b, %acc sparse(%e : tensor<64x2xi32>) : tensor<64x16xf16>, tensor<32x16xf16>, tensor<64x16xf32>
  tile.return
}

// -----

tile.func @mma_c3_steps(%a: tensor<64x8xf16>, %e: tensor<64x1xi32>, %b: tensor<16x16xf16>, %acc: tensor<64x16xf32>) {
  // expected-error @+1 {{is sparse in steps of 32, not 16}}
  %c = tile.mma %a, %b, %acc sparse(%e : tensor<64x1xi32>) : tensor<64x8xf16>, tensor<16x16xf16>, tensor<64x16xf32>
  tile.return
}

// -----

tile.func @mma_c3_scaled(%a: tensor<64x32xf8E4M3FN>, %s: tensor<64x1xi8>, %b: tensor<32x16xf8E4M3FN>, %t: tensor<16x1xi8>, %acc: tensor<64x16xf32>) {
  // expected-error @+1 {{scaled, right of this product is 'tensor<1x16xi8>', not 'tensor<16x1xi8>'}}
  %c = tile.mma %a, %b, %acc scaled(%s, %t : tensor<64x1xi8>, tensor<16x1xi8>) : tensor<64x32xf8E4M3FN>, tensor<32x16xf8E4M3FN>, tensor<64x16xf32>
  tile.return
}

// -----

tile.func @nest_c2_axis(%N: index) {
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  // expected-error @+1 {{has 1 axes, but vector_axis = 1}}
  tile.nest [%n] {vector_axis = 1 : i64} : (!tile.range<64>) -> () {
  }
  tile.return
}

// -----

tile.func @nest_c2_lanes(%N: index) {
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  // expected-error @+1 {{lanes is 0 or a power of two up to 4096, not 6}}
  tile.nest [%n] {lanes = 6 : i64, vector_axis = 0 : i64} : (!tile.range<64>) -> () {
  }
  tile.return
}

// -----

tile.func @stride_c1(%x: memref<?xf32, strided<[?]>>) {
  // expected-error @+1 {{axis 1 of a view of rank 1}}
  %s = tile.stride %x, 1 : memref<?xf32, strided<[?]>>
  tile.return
}

// -----

tile.func @prefetch_c1(%x: memref<?x?xf32, strided<[?, ?]>>, %m: !tile.range<64>) {
  // expected-error @+1 {{asks for rows of a view}}
  tile.prefetch %x[%m, %m] : memref<?x?xf32, strided<[?, ?]>>, !tile.range<64>, !tile.range<64>
  tile.return
}

// -----

tile.func @splice_c1(%x: tensor<64x32xbf16>, %y: tensor<64x64xbf16>, %at: index) {
  // expected-error @+1 {{failed to verify that all of {head, tail, result} have same type}}
  %a = "tile.splice"(%x, %y, %at) : (tensor<64x32xbf16>, tensor<64x64xbf16>, index) -> tensor<64x32xbf16>
  tile.return
}

// -----

tile.func @for_c3(%a: index, %b: index) {
  // expected-error @+1 {{without a matrix step runs at_least_once}}
  tile.for %k = %a to %b : !tile.range<64> {
  } {at_least_once}
  tile.return
}

// -----

tile.func @nest_c4_axes(%N: index) {
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  // expected-error @+1 {{with transposes has two axes and a vector_axis}}
  tile.nest [%n] {transposes, vector_axis = 0 : i64} : (!tile.range<64>) -> () {
  }
  tile.return
}

// -----

tile.func @nest_c4_both(%N: index) {
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  // expected-error @+1 {{with transposes has two axes and a vector_axis, and nothing two apart}}
  tile.nest [%n, %n] {transposes, two_apart, vector_axis = 0 : i64} : (!tile.range<64>, !tile.range<64>) -> () {
  }
  tile.return
}

// -----

tile.func @nest_c4_two_apart(%N: index) {
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  // expected-error @+1 {{with two_apart has a vector_axis}}
  tile.nest [%n] {two_apart} : (!tile.range<64>) -> () {
  }
  tile.return
}

// -----

tile.func @nest_c4_narrow(%N: index) {
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  // expected-error @+1 {{with unit fma has narrow_vectors of 0 to 2, or pairs_of_k}}
  tile.nest [%n] {narrow_vectors = 2 : i64, vector_axis = 0 : i64} : (!tile.range<64>) -> () {
  }
  tile.return
}

// -----

tile.func @nest_c4_pairs(%N: index) {
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  // expected-error @+1 {{another has neither}}
  tile.nest [%n] {pairs_of_k, vector_axis = 0 : i64} : (!tile.range<64>) -> () {
  }
  tile.return
}

// -----

tile.func @nest_c3_axes(%N: index) {
  %n = tile.program extents(%N) tiles = [64] : !tile.range<64>
  // expected-error @+1 {{with a unit has three axes and a register_tile of three}}
  tile.nest [%n] {unit = #tile.unit<fma>} : (!tile.range<64>) -> () {
  }
  tile.return
}

// -----

tile.func @nest_c3_product(%N: index) {
  %m, %n, %k = tile.program extents(%N, %N, %N) tiles = [64, 64, 64] : !tile.range<64>, !tile.range<64>, !tile.range<64>
  // expected-error @+1 {{with a unit has one tile.mma}}
  tile.nest [%m, %n, %k] {register_tile = array<i64: 4, 4, 16>, unit = #tile.unit<fma>} : (!tile.range<64>, !tile.range<64>, !tile.range<64>) -> () {
  }
  tile.return
}

// -----

tile.func @nest_c3_store(%N: index) {
  %m, %n, %k = tile.program extents(%N, %N, %N) tiles = [64, 64, 64] : !tile.range<64>, !tile.range<64>, !tile.range<64>
  %a = tile.alloc : !tile.buffer<64x64xf32, scratch>
  // expected-error @+1 {{with a unit stores the product to one buffer and at most one view}}
  tile.nest [%m, %n, %k] {register_tile = array<i64: 4, 4, 16>, unit = #tile.unit<fma>} : (!tile.range<64>, !tile.range<64>, !tile.range<64>) -> () {
    %x = tile.local_load %a : !tile.buffer<64x64xf32, scratch> -> tensor<64x64xf32>
    %y = tile.mma %x, %x, %x : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
  tile.return
}

// -----

tile.func @unfilled(%x: memref<?x?xbf16, strided<[?, 1]>>, %p: memref<?x?xbf16, strided<[?, 1]>> {tile.packed = {deep_last = 0 : i64, group = 2 : i64, step = 32 : i64, wide_step = 32 : i64, width = 16 : i64}}) {
  %K = tile.dim %x, 0 : memref<?x?xbf16, strided<[?, 1]>>
  %N = tile.dim %x, 1 : memref<?x?xbf16, strided<[?, 1]>>
  %k, %n = tile.program extents(%K, %N) tiles = [32, 32] : !tile.range<32>, !tile.range<32>
  %t = tile.load %x[%k, %n] : memref<?x?xbf16, strided<[?, 1]>>, !tile.range<32>, !tile.range<32> -> tensor<32x32xbf16>
  // expected-error @+1 {{into groups of a packed view has zero_padding}}
  tile.store %t, %p[%k, %n] : tensor<32x32xbf16>, memref<?x?xbf16, strided<[?, 1]>>, !tile.range<32>, !tile.range<32>
  tile.return
}
