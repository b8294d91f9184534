// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// One program per numbered constraint of ScheduleOps.td: @<op>_c<n> breaks it.

func.func @fuse_c1(%x: tensor<?xf32>) {
  // expected-error @+1 {{the region's arguments differ from the inputs}}
  %y = sched.fuse @relu_0 (%x) numerics = <elementwise> : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<?xf16>):
    %r = gir.cast %a : tensor<?xf16> -> tensor<?xf32>
    sched.yield %r : tensor<?xf32>
  }
  return
}

// -----

func.func @fuse_c1_results(%x: tensor<?xf32>) {
  // expected-error @+1 {{yields other types than its results}}
  %y = sched.fuse @relu_0 (%x) numerics = <elementwise> : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<?xf32>):
    %r = gir.cast %a : tensor<?xf32> -> tensor<?xf16>
    sched.yield %r : tensor<?xf16>
  }
  return
}

// -----

func.func @partial_c1(%x: tensor<?x4xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{reduces chunks of 'tensor<?x4xf32>' into 'tensor<?xf32>'}}
  %p = sched.partial sum %x chunk = 16 size(%n : tensor<i64>) : tensor<?x4xf32> -> tensor<?xf32>
  return
}

// -----

func.func @tile_c1() {
  // expected-error @+1 {{attribute 'kind' [grid, loop, whole]}}
  sched.tile 0 by #sched.param<64, [], user> as warp
  return
}

// -----

func.func @tile_c1_size() {
  // expected-error @+1 {{a tile has 1 to 65536 elements, not 0}}
  sched.tile 0 by #sched.param<0, [], user>
  return
}

// -----

func.func @place_c1() {
  // expected-error @+1 {{attribute 'what' [threads, vector, unroll, group, num_warps, pack, split_k, stream, fuse]}}
  sched.place thread #sched.param<1, [], user>
  return
}

// -----

func.func @place_c1_value() {
  // expected-error @+1 {{vector is 0 (a register) or a power of two, not 6}}
  sched.place vector #sched.param<6, [], user>
  return
}

// -----

func.func @place_c1_pack() {
  // expected-error @+1 {{pack is 0 or 1, not 2}}
  sched.place pack #sched.param<2, [], user>
  return
}

// -----

func.func @place_c1_stream() {
  // expected-error @+1 {{stream is 0, 1 or 2, not 3}}
  sched.place stream #sched.param<3, [], user>
  return
}

// -----

func.func @fuse_c3(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{variants are of one product or attention}}
  %y = sched.fuse @relu_0 (%x) numerics = <elementwise> {variants = [#sched.variant<few, product, [4, 64, 64], <rows = [0, 4]>>]} : (tensor<?x?xf32>) -> tensor<?x?xf32> {
  ^bb0(%a: tensor<?x?xf32>):
    %r = gir.relu %a : tensor<?x?xf32>
    sched.yield %r : tensor<?x?xf32>
  }
  return
}

// -----

func.func @fuse_c3_names(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{two variants are called 'few'}}
  %y = sched.fuse @f_0 (%x) numerics = <gemm> {variants = [#sched.variant<few, product, [4, 64, 64], <rows = [0, 4]>>, #sched.variant<few, product, [8, 64, 64], <rows = [0, 8]>>]} : (tensor<?x?xf32>) -> tensor<?x?xf32> {
  ^bb0(%a: tensor<?x?xf32>):
    %r = gir.gemm %a, %a : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
    sched.yield %r : tensor<?x?xf32>
  }
  return
}

// -----

func.func @fuse_c3_form(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{the product has no form 'turned'}}
  %y = sched.fuse @f_0 (%x) numerics = <gemm> {variants = [#sched.variant<turned16, turned, [16, 64, 64], <rows = [0, 16], right = column_major>>]} : (tensor<?x?xf32>) -> tensor<?x?xf32> {
  ^bb0(%a: tensor<?x?xf32>):
    %w = gir.relu %a : tensor<?x?xf32>
    %r = gir.gemm %a, %w : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
    sched.yield %r : tensor<?x?xf32>
  }
  return
}

// -----

// expected-error @+1 {{a variant of this form has 3 sizes of tiles, each 1 to 65536, and tiles of at most 2^24 elements}}
func.func private @variant_tiles() attributes {test.v = #sched.variant<few, product, [2147483648, 1, 1], <rows = [0, 4]>>}

// -----

// expected-error @+1 {{bounds are the least and the most, each 0 (any) to 2^40}}
func.func private @when_bounds() attributes {test.v = #sched.when<rows = [8, 4]>}

// -----

func.func @versions_c1(%x: tensor<?xf32>) {
  // expected-error @+1 {{has 1 regions and 1 conditions; all but the last region have one}}
  %y = sched.versions [#sched.when<rows = [0, 4]>] : tensor<?xf32> {
    sched.yield %x : tensor<?xf32>
  }
  return
}

// -----

func.func @versions_c2(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{the last region yields a kernel's result}}
  %y = sched.versions [#sched.when<rows = [0, 4]>] : tensor<?x?xf32> {
    sched.yield %x : tensor<?x?xf32>
  }, {
    sched.yield %x : tensor<?x?xf32>
  }
  return
}

// -----

func.func @partial_c2(%x: tensor<?xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{a chunk has 1 to 1073741824 elements, not 0}}
  %p = sched.partial sum %x chunk = 0 size(%n : tensor<i64>) : tensor<?xf32> -> tensor<?xf32>
  return
}

// -----

func.func @partial_c3(%x: tensor<?xf32>, %n: tensor<i64>) {
  sched.tile 0 by #sched.param<1000, [1], user>
  // expected-error @+1 {{a program has one chunk: loop 0 is tiled by 1, not by 1000}}
  %p = sched.partial sum %x chunk = 16 size(%n : tensor<i64>) : tensor<?xf32> -> tensor<?xf32>
  return
}

// -----

func.func @tile_c2() {
  // expected-error @+1 {{loops are 0 to 31, not -1}}
  sched.tile -1 by #sched.param<64, [], user>
  return
}

// -----

func.func @pipeline_c1() {
  // expected-error @+1 {{there are 0 to 64 stages, not 2147483648}}
  sched.pipeline #sched.param<2147483648, [], user>
  return
}
