// Which ops make one kernel. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --schedule-pipeline | FileCheck %s

// Element-wise ops with their broadcast inputs are one kernel.
// CHECK-LABEL: func.func @elementwise
// CHECK:         sched.fuse @elementwise_0
// CHECK-SAME:      numerics = <elementwise>
// CHECK:           sched.tile 0 by <1, [1], default>
// CHECK:           sched.tile 1 by <1024,
// CHECK:           gir.broadcast
// CHECK:           gir.add
// CHECK:           gir.relu
// CHECK-NOT:     sched.fuse
// CHECK:         return
func.func @elementwise(%x: tensor<?x?xf32> {gir.dims = ["M", "N"]}, %b: tensor<?xf32> {gir.dims = ["N"]}) -> tensor<?x?xf32> {
  %m = gir.dim %x, 0 : tensor<?x?xf32>
  %n = gir.dim %x, 1 : tensor<?x?xf32>
  %w = gir.broadcast %b axes = [1] sizes(%m, %n) : tensor<?xf32> -> tensor<?x?xf32>
  %s = gir.add %x, %w : tensor<?x?xf32>
  %r = gir.relu %s : tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// A row softmax is one kernel: programs along rows, loops along columns.
// CHECK-LABEL: func.func @softmax
// CHECK:         sched.fuse @softmax_0
// CHECK-SAME:      numerics = <rows step = 1024>
// CHECK:           sched.tile 1 by <1024, {{.*}}> as loop
// CHECK:           gir.reduce max
// CHECK:           gir.reduce sum
// CHECK-NOT:     sched.fuse
// CHECK:         return
func.func @softmax(%x: tensor<?x?xbf16> {gir.dims = ["M", "N"]}) -> tensor<?x?xbf16> {
  %y = gir.softmax %x axis = 1 : tensor<?x?xbf16>
  return %y : tensor<?x?xbf16>
}

// The epilogue belongs to the product, even if a norm reads it three times; the
// transposed weight is a view.
// CHECK-LABEL: func.func @linear_norm
// CHECK:         gir.transpose
// CHECK:         sched.fuse @linear_norm_0
// CHECK:           gir.gemm
// CHECK:           gir.gelu
// CHECK:           sched.yield
// CHECK:         sched.fuse @linear_norm_1
// CHECK-NOT:       gir.gelu
// CHECK:           gir.rsqrt
// CHECK-NOT:     sched.fuse
// CHECK:         return
func.func @linear_norm(%x: tensor<?x?xf32> {gir.dims = ["M", "K"]}, %w: tensor<?x?xf32> {gir.dims = ["N", "K"]}) -> tensor<?x?xf32> {
  %g = gir.gemm %x, %w transpose_rhs : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %r = gir.gelu %g : tensor<?x?xf32>
  %l = gir.layer_norm %r axes = 1 eps = 1.0e-05 : tensor<?x?xf32> -> tensor<?x?xf32>
  return %l : tensor<?x?xf32>
}

// A column sum does not join a kernel over rows: it would be computed per row.
// CHECK-LABEL: func.func @columns_and_rows
// CHECK:         sched.fuse
// CHECK:           gir.reduce
// CHECK:         sched.fuse
// CHECK:           gir.reduce
// CHECK:         return
func.func @columns_and_rows(%x: tensor<?x?xf32> {gir.dims = ["M", "N"]}) -> tensor<?x?xf32> {
  %m = gir.dim %x, 0 : tensor<?x?xf32>
  %n = gir.dim %x, 1 : tensor<?x?xf32>
  %c = gir.reduce sum %x axes = [0] : tensor<?x?xf32> -> tensor<?xf32>
  %r = gir.reduce sum %x axes = [1] : tensor<?x?xf32> -> tensor<?xf32>
  %cw = gir.broadcast %c axes = [1] sizes(%m, %n) : tensor<?xf32> -> tensor<?x?xf32>
  %rw = gir.broadcast %r axes = [0] sizes(%m, %n) : tensor<?xf32> -> tensor<?x?xf32>
  %y = gir.add %cw, %rw : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// A full reduction is two kernels: chunks, then their results.
// CHECK-LABEL: func.func @total
// CHECK:         sched.fuse @total_0
// CHECK-SAME:      numerics = <partial step = 16384>
// CHECK:           sched.partial sum
// CHECK:         sched.fuse @total_1
// CHECK:           gir.reduce sum
// CHECK-NOT:     sched.fuse
// CHECK:         return
func.func @total(%x: tensor<?xf32> {gir.dims = ["N"]}) -> tensor<f32> {
  %y = gir.reduce sum %x axes = [0] : tensor<?xf32> -> tensor<f32>
  return %y : tensor<f32>
}

// Two kernels read a dear value: it is stored. A cheap one is computed twice.
// CHECK-LABEL: func.func @shared
// CHECK:         %[[E:.*]] = sched.fuse @shared_0
// CHECK:           gir.exp
// CHECK:         sched.fuse @shared_1 (%[[E]]
// CHECK-NOT:       gir.exp
// CHECK:         sched.fuse @shared_2 (%[[E]]
// CHECK-NOT:       gir.exp
// CHECK:         return
func.func @shared(%x: tensor<?xf32> {gir.dims = ["N"]}) -> (tensor<?xf32>, tensor<?xf32>) {
  %e = gir.exp %x : tensor<?xf32>
  %f = gir.exp %e : tensor<?xf32>
  %a = gir.neg %f : tensor<?xf32>
  %b = gir.abs %f : tensor<?xf32>
  return %a, %b : tensor<?xf32>, tensor<?xf32>
}

// A user's tile size is recorded as the user's; a known size as the model's.
// CHECK-LABEL: func.func @decided
// CHECK:           sched.tile 0 by <64, {{.*}}, user> {name = "M"}
// CHECK:           sched.tile 1 by <48, {{.*}}, model>
// CHECK:           sched.place threads <2, [0, 1, 2, 4, 8, 16], user>
// CHECK:           sched.place vector <0, [0, 4, 8, 16], default>
// CHECK:           sched.place unroll <0, [0, 1, 2, 4, 8], default>
// CHECK:           sched.place group <4, [1, 2, 4, 8, 16], default>
// CHECK:           sched.place pack <1, [0, 1], default>
// CHECK:           sched.place stream <1, [0, 1, 2], default>
// CHECK-NOT:       sched.place fuse
// CHECK:           gir.gemm
func.func @decided(%x: tensor<?x?xf32> {gir.dims = ["M", "K"]}, %w: tensor<?x40xf32> {gir.dims = ["K", ""]}) -> tensor<?x40xf32>
    attributes {gir.schedule = {tile.M = 64 : i64, threads = 2 : i64}} {
  %g = gir.gemm %x, %w : tensor<?x?xf32>, tensor<?x40xf32> -> tensor<?x40xf32>
  return %g : tensor<?x40xf32>
}

// Fused unless the user says no; then each op that computes is a kernel.
// CHECK-LABEL: func.func @fused
// CHECK:         sched.fuse @fused_0
// CHECK:           sched.place fuse <1, [0, 1], default>
// CHECK-NOT:     sched.fuse
// CHECK:         return
func.func @fused(%x: tensor<?x?xf32> {gir.dims = ["M", "N"]}) -> tensor<?x?xf32> {
  %e = gir.exp %x : tensor<?x?xf32>
  %y = gir.neg %e : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
// CHECK-LABEL: func.func @unfused
// CHECK:         %[[E:.*]] = sched.fuse @unfused_0
// CHECK:           sched.place fuse <0, [0, 1], user>
// CHECK:           gir.exp
// CHECK:         sched.fuse @unfused_1 (%[[E]])
// CHECK:           gir.neg
func.func @unfused(%x: tensor<?x?xf32> {gir.dims = ["M", "N"]}) -> tensor<?x?xf32> attributes {gir.schedule = {fuse = 0 : i64}} {
  %e = gir.exp %x : tensor<?x?xf32>
  %y = gir.neg %e : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// The space that a user opened stands beside the decisions.
// CHECK-LABEL: func.func @tuned
// CHECK:           sched.autotune {tile.M = [32, 64]} key ["M"] budget = 20 numerics = "fixed"
// CHECK-NOT:       gir.autotune
func.func @tuned(%x: tensor<?x?xf32> {gir.dims = ["M", "K"]}, %w: tensor<?x40xf32> {gir.dims = ["K", ""]}) -> tensor<?x40xf32>
    attributes {gir.autotune = {space = {tile.M = [32, 64]}, key = ["M"], budget = 20 : i64, numerics = "fixed"}} {
  %g = gir.gemm %x, %w : tensor<?x?xf32>, tensor<?x40xf32> -> tensor<?x40xf32>
  return %g : tensor<?x40xf32>
}

// Blocks of keys: of 4 bytes half as many as of 2.
// CHECK-LABEL: func.func @attend
// CHECK:         sched.fuse @attend_0
// CHECK-SAME:      numerics = <attention step = 512>
// CHECK:           sched.tile 3 by <512, {{.*}}> as loop
func.func @attend(%q: tensor<?x?x64xf32> {gir.dims = ["H", "S", ""]}, %k: tensor<?x?x64xf32> {gir.dims = ["H", "T", ""]}, %v: tensor<?x?x64xf32> {gir.dims = ["H", "T", ""]}) -> tensor<?x?x64xf32> {
  %o = gir.attention %q, %k, %v : tensor<?x?x64xf32>, tensor<?x?x64xf32>, tensor<?x?x64xf32> -> tensor<?x?x64xf32>
  return %o : tensor<?x?x64xf32>
}

// CHECK-LABEL: func.func @attend_halves
// CHECK:         sched.tile 3 by <1024, {{.*}}> as loop
func.func @attend_halves(%q: tensor<?x?x64xbf16> {gir.dims = ["H", "S", ""]}, %k: tensor<?x?x64xbf16> {gir.dims = ["H", "T", ""]}, %v: tensor<?x?x64xbf16> {gir.dims = ["H", "T", ""]}) -> tensor<?x?x64xbf16> {
  %o = gir.attention %q, %k, %v : tensor<?x?x64xbf16>, tensor<?x?x64xbf16>, tensor<?x?x64xbf16> -> tensor<?x?x64xbf16>
  return %o : tensor<?x?x64xbf16>
}
