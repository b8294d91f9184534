// Kernels get their decisions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --split-input-file --schedule-decide | FileCheck %s
// RUN: tessera-opt %s --split-input-file --schedule-decide=model=shared-memory | FileCheck %s --check-prefix=SHARED

// A row is summed piece by piece: the size of a piece orders the sum.
// CHECK-LABEL: func.func @rows
// CHECK:         sched.fuse @rows_0 {{.*}} numerics = <rows step = 1024>
// CHECK:           sched.tile 0 by <1, [1], default> {name = "M"}
// CHECK-NEXT:      sched.tile 1 by <1024, [256, 512, 1024, 2048, 4096], default> as loop {name = "N"}
// CHECK-NEXT:      sched.place threads <0, {{.*}}, default>
// CHECK:           gir.reduce
func.func @rows(%x: tensor<?x?xf32> {gir.dims = ["M", "N"]}) -> tensor<?xf32> {
  %r = sched.fuse @rows_0 (%x) numerics = <rows> : (tensor<?x?xf32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<?x?xf32>):
    %s = gir.reduce sum %a axes = [1] : tensor<?x?xf32> -> tensor<?xf32>
    sched.yield %s : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// -----

// Programs along what the sums keep, here the last axis.
// CHECK-LABEL: func.func @columns
// CHECK:         numerics = <columns>
// CHECK:           sched.tile 0 by <1, [1], default> as loop {name = "M"}
// CHECK-NEXT:      sched.tile 1 by <256, [256, 512, 1024, 2048, 4096], default> {name = "N"}
func.func @columns(%x: tensor<?x?xf32> {gir.dims = ["M", "N"]}) -> tensor<?x?xf32> {
  %m = gir.dim %x, 0 : tensor<?x?xf32>
  %n = gir.dim %x, 1 : tensor<?x?xf32>
  %r = sched.fuse @columns_0 (%x, %m, %n) numerics = <columns> : (tensor<?x?xf32>, tensor<i64>, tensor<i64>) -> tensor<?x?xf32> {
  ^bb0(%a: tensor<?x?xf32>, %b: tensor<i64>, %c: tensor<i64>):
    %s = gir.reduce sum %a axes = [0] : tensor<?x?xf32> -> tensor<?xf32>
    %t = gir.broadcast %s axes = [1] sizes(%b, %c) : tensor<?xf32> -> tensor<?x?xf32>
    %d = gir.div %a, %t : tensor<?x?xf32>
    sched.yield %d : tensor<?x?xf32>
  }
  return %r : tensor<?x?xf32>
}

// -----

// What keeps the operands says how large a tile is; products on cores get
// variants.
// CHECK-LABEL: func.func @product
// CHECK:         numerics = <gemm step = 2048 parts = 0>
// CHECK-SAME:    variants
// CHECK:           sched.tile 0 by <144,
// CHECK:           sched.place pack <1, [0, 1], default>
// SHARED-LABEL: func.func @product
// SHARED:         numerics = <gemm step = 32>
// SHARED-NOT:     variants
// SHARED:           sched.tile 0 by <64,
// SHARED-NOT:       sched.place pack
func.func @product(%x: tensor<?x?xf32> {gir.dims = ["M", "K"]}, %w: tensor<?x?xf32> {gir.dims = ["K", "N"]}) -> tensor<?x?xf32> {
  %r = sched.fuse @product_0 (%x, %w) numerics = <gemm> : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32> {
  ^bb0(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>):
    %p = gir.gemm %a, %b : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
    sched.yield %p : tensor<?x?xf32>
  }
  return %r : tensor<?x?xf32>
}

// -----

// A copy is one whatever it copies.
// CHECK-LABEL: func.func @copied
// CHECK:         numerics = <copy>
// CHECK:           sched.tile 0 by <1024,
// CHECK-NOT:       sched.place fuse
// CHECK:           sched.yield
func.func @copied(%x: tensor<?xf32> {gir.dims = ["N"]}) -> tensor<?xf32> {
  %r = sched.fuse @copied_0 (%x) numerics = <copy> : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<?xf32>):
    sched.yield %a : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// -----

// The user's word goes first, of a kernel in a loop, too: its operand is what
// the turn before has made.
// CHECK-LABEL: func.func @turns
// CHECK-NOT:     gir.schedule
// CHECK:         gir.for
// CHECK:           sched.tile 0 by <512, [256, 512, 1024, 2048, 4096], user> {name = "N"}
// CHECK:           sched.place threads <2, {{.*}}, user>
func.func @turns(%x: tensor<?xf32> {gir.dims = ["N"]}, %k: tensor<i64> {gir.scalar = "i64"}) -> tensor<?xf32> attributes {gir.schedule = {threads = 2 : i64, tile.N = 512 : i64}} {
  %zero = gir.constant dense<0> : tensor<i64>
  %start = sched.fuse @turns_0 (%x) numerics = <copy> : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<?xf32>):
    sched.yield %a : tensor<?xf32>
  }
  %r = gir.for %zero to %k step 1 init(%start) : tensor<?xf32> -> tensor<?xf32> {
  ^bb0(%i: tensor<i64>, %y: tensor<?xf32>):
    %next = sched.fuse @turns_1 (%y) numerics = <elementwise> : (tensor<?xf32>) -> tensor<?xf32> {
    ^bb0(%a: tensor<?xf32>):
      %e = gir.exp %a : tensor<?xf32>
      sched.yield %e : tensor<?xf32>
    }
    gir.yield %next : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}
