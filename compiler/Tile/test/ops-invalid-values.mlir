// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// One program per numbered constraint of ops on tiles: @<op>_c<n> breaks it.

// expected-error @+1 {{a range has at most 1048576 positions, not 2147483648}}
tile.func @range(%m: !tile.range<2147483648>) {
  tile.return
}

// -----

tile.func @tile(%s: f32, %m: !tile.range<65536>) {
  // expected-error @+1 {{must be tile (tensor of static shape, of at most 2^24 numbers)}}
  %t = tile.fill %s [%m, %m] : f32, !tile.range<65536>, !tile.range<65536> -> tensor<65536x65536xf32>
  tile.return
}

// -----

// expected-error @+1 {{is one block without results}}
tile.func @func_c1() -> f32 {
  tile.return
}

// -----

// expected-error @+1 {{tile.packed has deep_last, group, step, wide_step and width of a matrix, 1 to 1024}}
tile.func @func_c2(%b: memref<?x?xf32, strided<[?, 1]>> {tile.packed = {width = 16 : i64}}) {
  tile.return
}

// -----

tile.func @program_c3(%M: index) {
  // expected-error @+1 {{group is 1 to 65536, not 0}}
  %m = tile.program extents(%M) tiles = [128] {group = 0 : i64} : !tile.range<128>
  tile.return
}

// -----

tile.func @for_c2(%zero: index, %K: index) {
  // expected-error @+1 {{stages is 0 to 64, not 1000000}}
  tile.for %k = %zero to %K : !tile.range<64> {
  } {stages = 1000000 : i64}
  tile.return
}

// -----

tile.func @index_c1(%m: !tile.range<64>) {
  // expected-error @+1 {{the positions of '!tile.range<64>' are no 'tensor<32xi64>'}}
  %i = tile.index %m : !tile.range<64> -> tensor<32xi64>
  tile.return
}

// -----

tile.func @fill_c1(%s: f32, %m: !tile.range<64>) {
  // expected-error @+1 {{a tile of 'f32' over [64] is no 'tensor<64xf16>'}}
  %t = tile.fill %s [%m] : f32, !tile.range<64> -> tensor<64xf16>
  tile.return
}

// -----

tile.func @transpose_c1(%x: tensor<64x32xf32>) {
  // expected-error @+1 {{[1, 1] does not make 'tensor<32x64xf32>' of 'tensor<64x32xf32>'}}
  %t = tile.transpose %x [1, 1] : tensor<64x32xf32> -> tensor<32x64xf32>
  tile.return
}

// -----

tile.func @reshape_c1(%x: tensor<64x32xf32>) {
  // expected-error @+1 {{does not make 'tensor<64xf32>' of 'tensor<64x32xf32>'}}
  %y = tile.reshape %x : tensor<64x32xf32> -> tensor<64xf32>
  tile.return
}

// -----

tile.func @cat_c1(%x: tensor<4xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{joins 12 positions into 'tensor<16xf32>'}}
  %z = tile.cat %x, %y axis = 0 : (tensor<4xf32>, tensor<8xf32>) -> tensor<16xf32>
  tile.return
}

// -----

tile.func @filled_c1(%x: tensor<64xf32>, %zero: f16) {
  // expected-error @+1 {{fills 'tensor<64xf32>' with 'f16'}}
  %y = tile.filled %x, %zero : tensor<64xf32>, f16
  tile.return
}

// -----

tile.func @reduce_c2(%x: tensor<64x32xf32>) {
  // expected-error @+1 {{makes no 'tensor<32xf32>' of 'tensor<64x32xf32>'}}
  %s = tile.reduce sum %x axis = 1 : tensor<64x32xf32> -> tensor<32xf32>
  tile.return
}

// -----

tile.func @scan_c1(%x: tensor<64x32xf32>) {
  // expected-error @+1 {{axis 2 of a tile of rank 2}}
  %s = tile.scan sum %x axis = 2 : tensor<64x32xf32>
  tile.return
}

// -----

tile.func @mma_c4(%a: tensor<64x32xf16>, %b: tensor<32x16xf16>, %c: tensor<64x16xi32>) {
  // expected-error @+1 {{adds products of 'f16' to 'i32'}}
  %d = tile.mma %a, %b, %c : tensor<64x32xf16>, tensor<32x16xf16>, tensor<64x16xi32>
  tile.return
}

// -----

tile.func @rand_c1(%seed: i64, %i: tensor<64xi64>) {
  // expected-error @+1 {{makes f32 of an i64 seed and i64 indices}}
  %r = tile.rand %seed, %i : i64, tensor<64xi64> -> tensor<32xf32>
  tile.return
}

// -----

tile.func @convert_layout_c1(%x: tensor<128x64xf16>) {
  // expected-error @+1 {{makes 'tensor<64x128xf16>' of 'tensor<128x64xf16>'}}
  %y = tile.convert_layout %x : tensor<128x64xf16> -> tensor<64x128xf16>
  tile.return
}

// -----

// Marks of passes, with a dialect's prefix, anywhere.

// expected-error @+1 {{attribute 'scratch_bytes' failed to satisfy constraint: bytes, 0 to 4294967296}}
tile.func @scratch() attributes {scratch_bytes = -1 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{attribute 'config' failed to satisfy constraint: decisions, 0 to 65536}}
tile.func @config() attributes {config = {vector = 2147483648 : i64}} {
  tile.return
}

// -----

// expected-error @+1 {{a block has whole warps, of 8 threads at least, not 33}}
tile.func @block() attributes {block_size = 33 : i64} {
  tile.return
}


// -----

tile.func @assert_c1(%x: f32) {
  %zero = arith.constant 0.0 : f32
  %positive = arith.cmpf ogt, %x, %zero : f32
  // expected-error @+1 {{what is checked at the call is computed from sizes and integer arguments alone}}
  tile.assert %positive, "negative" {at_call} : i1
  tile.return
}

// -----

tile.func @chunk_c1(%M: i64) {
  %m = arith.index_cast %M : i64 to index
  // expected-error @+1 {{has 1 extents and 2 tiles}}
  %begin, %end = tile.chunk extents(%m) tiles = [0, 0]
  tile.return
}

// -----

tile.func @load_c5(%A: memref<?xf32, strided<[?]>>) {
  %none = arith.constant 0 : index
  %N = tile.dim %A, 0 : memref<?xf32, strided<[?]>>
  %n = tile.range_at %none of %N : <64>
  // expected-error @+1 {{prefetches 1 to 64 programs ahead, not 0}}
  %a = tile.load %A[%n] {prefetch = 0 : i64} : memref<?xf32, strided<[?]>>, !tile.range<64> -> tensor<64xf32>
  tile.return
}
