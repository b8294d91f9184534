// RUN: tessera-opt %s | tessera-opt | FileCheck %s

// Every op of Schedule IR, printed and read again.

// CHECK-LABEL: func @fuse
// CHECK: sched.fuse @relu_0 (%{{.*}}) numerics = <elementwise> : (tensor<?xf32>) -> tensor<?xf32> {
// CHECK: sched.tile 0 by <1024, [256, 1024, 4096], default>
// CHECK: sched.yield %{{.*}} : tensor<?xf32>
func.func @fuse(%x: tensor<?xf32>) {
  %y = sched.fuse @relu_0 (%x) numerics = <elementwise> : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<?xf32>):
    sched.tile 0 by #sched.param<1024, [256, 1024, 4096], default>
    %r = gir.relu %a : tensor<?xf32>
    sched.yield %r : tensor<?xf32>
  }
  return
}

// CHECK-LABEL: func @yield
// CHECK: sched.yield %{{.*}} : tensor<?xf32>
func.func @yield(%x: tensor<?xf32>) {
  %y = sched.fuse @copy_0 (%x) numerics = <elementwise> : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<?xf32>):
    sched.yield %a : tensor<?xf32>
  }
  return
}

// CHECK-LABEL: func @tile
// CHECK: sched.tile 1 by <1024, [256, 1024], default> as loop {name = "N"}
func.func @tile() {
  sched.tile 1 by #sched.param<1024, [256, 1024], default> as loop {name = "N"}
  return
}

// CHECK-LABEL: func @pipeline
// CHECK: sched.pipeline <3, [2, 3, 4], user>
func.func @pipeline() {
  sched.pipeline #sched.param<3, [2, 3, 4], user>
  return
}

// CHECK-LABEL: func @place
// CHECK: sched.place threads <0, [0, 1, 2, 4], default>
func.func @place() {
  sched.place threads #sched.param<0, [0, 1, 2, 4], default>
  return
}

// CHECK-LABEL: func @autotune
// CHECK: sched.autotune {BLOCK_M = [64, 128]} key ["M", "N"] budget = 100 numerics = "fixed"
func.func @autotune() {
  sched.autotune {BLOCK_M = [64, 128]} key ["M", "N"] budget = 100 numerics = "fixed"
  return
}

// CHECK-LABEL: func @partial
// CHECK: %{{.*}} = sched.partial sum %{{.*}} chunk = 16384 size(%{{.*}} : tensor<i64>) : tensor<?xf32> -> tensor<?xf32>
func.func @partial(%x: tensor<?xf32>, %n: tensor<i64>) {
  %p = sched.partial sum %x chunk = 16384 size(%n : tensor<i64>) : tensor<?xf32> -> tensor<?xf32>
  return
}

// CHECK-LABEL: func @versions
// CHECK: sched.versions [#sched.when<rows = [0, 4]>] : tensor<?x?xf32> {
// CHECK: sched.fuse @product_0_thin4 (%{{.*}}, %{{.*}}) numerics = <gemm step = 64> {as_is}
// CHECK: }, {
// CHECK: sched.fuse @product_0 (%{{.*}}, %{{.*}}) numerics = <gemm step = 2048> :
func.func @versions(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) {
  %y = sched.versions [#sched.when<rows = [0, 4]>] : tensor<?x?xf32> {
    %few = sched.fuse @product_0_thin4 (%a, %b) numerics = <gemm step = 64> {as_is} : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32> {
    ^bb0(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>):
      %p = gir.gemm %x, %w : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
      sched.yield %p : tensor<?x?xf32>
    }
    sched.yield %few : tensor<?x?xf32>
  }, {
    %all = sched.fuse @product_0 (%a, %b) numerics = <gemm step = 2048> : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32> {
    ^bb0(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>):
      %p = gir.gemm %x, %w : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
      sched.yield %p : tensor<?x?xf32>
    }
    sched.yield %all : tensor<?x?xf32>
  }
  return
}

// CHECK-LABEL: func @variants
// CHECK: variants = [#sched.variant<row, row, [1, 1, 1024], <rows = [1, 1], right = column_major>>, #sched.variant<narrow16, product, [8, 16, 4096], <rows = [128, 0], columns = [16, 16], right = near_row_major>>]
func.func @variants(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) {
  %y = sched.fuse @product_1 (%a, %b) numerics = <gemm step = 2048> {variants = [#sched.variant<row, row, [1, 1, 1024], <rows = [1, 1], right = column_major>>, #sched.variant<narrow16, product, [8, 16, 4096], <rows = [128, 0], columns = [16, 16], right = near_row_major>>]} : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32> {
  ^bb0(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>):
    %p = gir.gemm %x, %w : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
    sched.yield %p : tensor<?x?xf32>
  }
  return
}

// CHECK-LABEL: func @overlap
// CHECK: sched.overlap "relu_0" with "gemm_1"
func.func @overlap() {
  sched.overlap "relu_0" with "gemm_1"
  return
}

// CHECK-LABEL: sched.kernel @fill
// CHECK: sched.place threads <4, [], user>
// CHECK: gir.kernel @fill
sched.kernel @fill numerics = <elementwise> {
  sched.place threads #sched.param<4, [], user>
  gir.kernel @fill(%y: memref<?xf32, strided<[?]>>) {
    tile.return
  }
}
