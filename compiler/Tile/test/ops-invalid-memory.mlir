// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// One program per numbered constraint of views and buffers.

tile.func @dim_c1(%x: memref<?x?xf32, strided<[?, ?]>>) {
  // expected-error @+1 {{axis 7 of a view of rank 2}}
  %n = tile.dim %x, 7 : memref<?x?xf32, strided<[?, ?]>>
  tile.return
}

// -----

tile.func @load_c3(%A: memref<?x?xf16, strided<[?, ?]>>, %m: !tile.range<64>) {
  // expected-error @+1 {{index_axes gives an index of sizes [64] the axes [5] of a tile of [64]}}
  %a = tile.load %A[%m, %m] {index_axes = [[0], [5]]} : memref<?x?xf16, strided<[?, ?]>>, !tile.range<64>, !tile.range<64> -> tensor<64xf16>
  tile.return
}

// -----

tile.func @load_c4(%A: memref<?xf16, strided<[?]>>, %m: !tile.range<64>, %w: tensor<32xi1>) {
  // expected-error @+1 {{a mask of 'tensor<32xi1>' for 'tensor<64xf16>'}}
  %a = tile.load %A[%m] mask(%w : tensor<32xi1>) : memref<?xf16, strided<[?]>>, !tile.range<64> -> tensor<64xf16>
  tile.return
}

// -----

tile.func @load_c4_index(%A: memref<?xf16, strided<[?]>>, %i: tensor<64xf32>) {
  // expected-error @+1 {{a tile that is an index holds integers, not 'tensor<64xf32>'}}
  %a = tile.load %A[%i] : memref<?xf16, strided<[?]>>, tensor<64xf32> -> tensor<64xf16>
  tile.return
}

// -----

tile.func @load_c4_pad(%A: memref<?xf16, strided<[?]>>, %m: !tile.range<64>) {
  // expected-error @+1 {{pads a tile of 'f16' with 1 : i64}}
  %a = tile.load %A[%m] {pad = 1 : i64} : memref<?xf16, strided<[?]>>, !tile.range<64> -> tensor<64xf16>
  tile.return
}

// -----

tile.func @store_c3(%c: tensor<64xf16>, %A: memref<?xf16, strided<[?]>>, %m: !tile.range<64>) {
  // expected-error @+1 {{index_axes has 2 entries for 1 indices}}
  tile.store %c, %A[%m] {index_axes = [[0], [0]]} : tensor<64xf16>, memref<?xf16, strided<[?]>>, !tile.range<64>
  tile.return
}

// -----

tile.func @atomic_c1(%c: tensor<64xf32>, %C: memref<?x?xf32, strided<[?, ?]>>, %m: !tile.range<64>) {
  // expected-error @+1 {{1 indices into a view of rank 2}}
  tile.atomic sum %c, %C[%m] : tensor<64xf32>, memref<?x?xf32, strided<[?, ?]>>, !tile.range<64>
  tile.return
}

// -----

// expected-error @+1 {{a buffer has up to 8 axes and 1 to 16777216 elements}}
tile.func @buffer(%b: !tile.buffer<4294967296xf32, scratch>) {
  tile.return
}

// -----

// expected-error @+1 {{there are shared, register, l1, l2, scratch and tmem, not 'moon'}}
tile.func @buffer_space(%b: !tile.buffer<64xf32, moon>) {
  tile.return
}

// -----

// expected-error @+1 {{a buffer has a #tile.layout, not "rows"}}
tile.func @buffer_layout(%b: !tile.buffer<64xf32, "rows", scratch>) {
  tile.return
}

// -----

// expected-error @+1 {{the layout has steps over 16777216}}
tile.func @buffer_steps(%b: !tile.buffer<64xf32, #tile.layout<dim0:[] -> offset:1, repeat [64: dim0*1 -> offset*100000000000]>, scratch>) {
  tile.return
}

// -----

tile.func @local_load_c1(%b: !tile.buffer<64x32xf32, scratch>) {
  // expected-error @+1 {{a tile of [128, 32] x 'f32' and '!tile.buffer<64x32xf32, scratch>'}}
  %x = tile.local_load %b : !tile.buffer<64x32xf32, scratch> -> tensor<128x32xf32>
  tile.return
}

// -----

tile.func @local_store_c1(%x: tensor<64x32xf16>, %b: !tile.buffer<64x32xf32, scratch>) {
  // expected-error @+1 {{a tile of [64, 32] x 'f16' and}}
  tile.local_store %x, %b : tensor<64x32xf16>, !tile.buffer<64x32xf32, scratch>
  tile.return
}

// -----

tile.func @cp_async_c1(%A: memref<?xf16, strided<[?]>>, %m: !tile.range<128>, %b: !tile.buffer<128x64xf16, shared>) {
  // expected-error @+1 {{copies matrices, not [128]}}
  %token = tile.cp_async %A[%m] -> %b : memref<?xf16, strided<[?]>>, !tile.range<128> -> !tile.buffer<128x64xf16, shared>
  tile.return
}

// -----

tile.func @cp_async_c2(%A: memref<?x?xf16, strided<[?, ?]>>, %m: !tile.range<128>, %b: !tile.buffer<3x128x128xf16, shared>) {
  // expected-error @+1 {{a tile of [128, 128] x 'f16' and '!tile.buffer<3x128x128xf16}}
  %token = tile.cp_async %A[%m, %m] -> %b : memref<?x?xf16, strided<[?, ?]>>, !tile.range<128>, !tile.range<128> -> !tile.buffer<3x128x128xf16, shared>
  tile.return
}

// -----

tile.func @cp_async_c3(%A: memref<?x?xf16, strided<[?, ?]>>, %m: !tile.range<128>, %b: !tile.buffer<128x128xf16, shared>) {
  // expected-error @+1 {{copies up to 16 bytes at once, not 2147483648 elements of 2}}
  %token = tile.cp_async %A[%m, %m] -> %b {vector = 2147483648 : i64} : memref<?x?xf16, strided<[?, ?]>>, !tile.range<128>, !tile.range<128> -> !tile.buffer<128x128xf16, shared>
  tile.return
}

// -----

tile.func @wait_c1(%token: !tile.token) {
  // expected-error @+1 {{pending is 0 to 64, not -1}}
  tile.wait %token pending = -1
  tile.return
}

// -----

tile.func @nest_c2_unroll(%m: !tile.range<64>) {
  // expected-error @+1 {{unroll is 1 to 64, not 1000}}
  tile.nest [%m] {unroll = 1000 : i64} : (!tile.range<64>) -> () {
  }
  tile.return
}

// -----

tile.func @nest_c2_lanes(%m: !tile.range<64>) {
  // expected-error @+1 {{lanes is 0 or a power of two up to 4096, not 2147483648}}
  tile.nest [%m] {lanes = 2147483648 : i64} : (!tile.range<64>) -> () {
  }
  tile.return
}
