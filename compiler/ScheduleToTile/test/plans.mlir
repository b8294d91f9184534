// Functions as plans. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --split-input-file --schedule-pipeline --schedule-to-tile-pipeline | FileCheck %s
// RUN: tessera-opt %s --split-input-file --schedule-pipeline --schedule-to-tile-pipeline --plan-print-text -o /dev/null | FileCheck %s --check-prefix=PLAN

// A transposed weight is a view; the value between two kernels is allocated and
// freed after its last use.
// PLAN-LABEL: function norm
// PLAN:         arg %x in f32 [$M, $K]
// PLAN:         arg %w in f32 [$N, $K]
// PLAN:         result %y f32 [$M, $N]
// PLAN:           view %[[V:.*]] = %w offset 0 sizes [$K, $N] strides [stride(%w, 1), stride(%w, 0)]
// PLAN:           alloc %[[T:.*]] f32 [$M, $N]
// PLAN:           launch @norm_0(%x, %[[V]], %[[T]]) grid $M ceildiv 144 * ($N ceildiv 64) work
// PLAN:           launch @norm_1(%[[T]], %y; $N) grid $M work
// PLAN:           free %[[T]]
// PLAN:         end
func.func @norm(%x: tensor<?x?xf32> {gir.name = "x", gir.dims = ["M", "K"], gir.unit_axis = 1 : i64},
                %w: tensor<?x?xf32> {gir.name = "w", gir.dims = ["N", "K"], gir.unit_axis = 1 : i64}) -> (tensor<?x?xf32> {gir.name = "y"}) {
  %g = gir.gemm %x, %w transpose_rhs : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %y = gir.layer_norm %g axes = 1 eps = 1.0e-05 : tensor<?x?xf32> -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

// Equal kernels are made once.
// CHECK-COUNT-1: tile.func @twice
// CHECK-NOT:     tile.func
// CHECK:         plan.func @twice
// PLAN:           launch @twice_0(%x, %[[T:.*]]) grid
// PLAN:           launch @twice_0(%[[T]], %y) grid
func.func @twice(%x: tensor<?x?xf32> {gir.name = "x", gir.dims = ["M", "N"], gir.unit_axis = 1 : i64}) -> (tensor<?x?xf32> {gir.name = "y"}) {
  %t = gir.softmax %x axis = 1 : tensor<?x?xf32>
  %y = gir.softmax %t axis = 1 : tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

// Slices are views; a merging reshape of a view copies first; sizes are
// expressions of dims and scalar arguments.
// PLAN-LABEL: function movement
// PLAN:         arg $a i64
// PLAN:         result %y f32 [$N * $M]
// PLAN:         result %z f32 [$M - $a, $N]
// PLAN-DAG:       view %[[T:.*]] = %x offset 0 sizes [$N, $M] strides [stride(%x, 1), stride(%x, 0)]
// PLAN-DAG:       alloc %[[C:.*]] f32 [$N, $M]
// PLAN-DAG:       launch @movement_{{.}}(%[[T]], %[[C]])
// PLAN-DAG:       view %[[F:.*]] = %[[C]] offset 0 sizes [$N * $M] strides [stride(%[[C]], 1)]
// PLAN-DAG:       view %[[S:.*]] = %x offset $a * stride(%x, 0) sizes [$M - $a, $N]
// PLAN:         end
func.func @movement(%x: tensor<?x?xf32> {gir.name = "x", gir.dims = ["M", "N"], gir.unit_axis = 1 : i64},
                    %a: tensor<i64> {gir.name = "a", gir.scalar = "i64"}) -> (tensor<?xf32> {gir.name = "y"}, tensor<?x?xf32> {gir.name = "z"}) {
  %m = gir.dim %x, 0 : tensor<?x?xf32>
  %n = gir.dim %x, 1 : tensor<?x?xf32>
  %0 = gir.constant dense<0> : tensor<i64>
  %nm = gir.mul %n, %m : tensor<i64>
  %t = gir.transpose %x [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>
  %f = gir.reshape %t sizes(%nm) : tensor<?x?xf32> -> tensor<?xf32>
  %y = gir.neg %f : tensor<?xf32>
  %rest = gir.sub %m, %a : tensor<i64>
  %s = gir.slice %x starts(%a, %0) steps = [1, 1] sizes(%rest, %n) : tensor<?x?xf32> -> tensor<?x?xf32>
  %z = gir.exp %s : tensor<?x?xf32>
  return %y, %z : tensor<?xf32>, tensor<?x?xf32>
}

// -----

// A kernel of the user: views before scalars, dims bound by the arguments, its
// decisions on it.
// CHECK-LABEL: tile.func @copy_0
// CHECK-SAME:    memref<?xf32, strided<[1]>>
// CHECK-SAME:    memref<?xf32, strided<[1]>>
// CHECK-SAME:    i64
// CHECK-NOT:     config
// PLAN:       function copy
// PLAN:         arg $s i64
// PLAN:         arg %x in f32 [$n]
// PLAN:         arg %y out f32 [$n]
// PLAN:           launch @copy_0(%x, %y; $s) grid size(%x, 0) ceildiv 64 threads 2
gir.kernel @copy(%s: i64 {gir.name = "s"}, %x: memref<?xf32, strided<[1]>> {gir.name = "x", gir.dims = ["n"], gir.mode = "in"},
                 %y: memref<?xf32, strided<[1]>> {gir.name = "y", gir.dims = ["n"], gir.mode = "out"}) attributes {gir.schedule = {threads = 2 : i64}} {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %i = tile.program extents(%n) tiles = [64] : !tile.range<64>
  %t = tile.load %x[%i] : memref<?xf32, strided<[1]>>, !tile.range<64> -> tensor<64xf32>
  tile.store %t, %y[%i] : tensor<64xf32>, memref<?xf32, strided<[1]>>, !tile.range<64>
  tile.return
}

// -----

// A function calls a kernel: an updated argument is copied first, a written one
// is the result itself.
// CHECK-LABEL: tile.func @add_0
// PLAN-LABEL: function calls
// PLAN:           alloc %[[T:.*]] f32 [$N]
// PLAN:           launch @calls_0(%x, %[[T]])
// PLAN:           launch @add_0(%[[T]], %w) grid size(%[[T]], 0) ceildiv 64
// PLAN-NEXT:      launch @calls_0(%[[T]], %u)
// PLAN-NEXT:      free %[[T]]
gir.kernel @add(%x: memref<?xf32, strided<[1]>> {gir.name = "x", gir.dims = ["n"], gir.mode = "inout"},
                %y: memref<?xf32, strided<[1]>> {gir.name = "y", gir.dims = ["n"], gir.mode = "out"}) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[1]>>
  %i = tile.program extents(%n) tiles = [64] : !tile.range<64>
  %t = tile.load %x[%i] : memref<?xf32, strided<[1]>>, !tile.range<64> -> tensor<64xf32>
  tile.store %t, %y[%i] : tensor<64xf32>, memref<?xf32, strided<[1]>>, !tile.range<64>
  %d = arith.addf %t, %t : tensor<64xf32>
  tile.store %d, %x[%i] : tensor<64xf32>, memref<?xf32, strided<[1]>>, !tile.range<64>
  tile.return
}
func.func @calls(%x: tensor<?xf32> {gir.name = "x", gir.dims = ["N"], gir.unit_axis = 0 : i64}) -> (tensor<?xf32> {gir.name = "u"}, tensor<?xf32> {gir.name = "w"}) {
  %n = gir.dim %x, 0 : tensor<?xf32>
  %u, %w = gir.call_kernel @add(%x) sizes(%n, %n) : (tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>)
  return %u, %w : tensor<?xf32>, tensor<?xf32>
}

// -----

// A carried tensor is swapped with what the turn computed; a carried integer is
// set; the value before the loop is copied, because the caller owns it.
// PLAN-LABEL: function loop
// PLAN:           alloc %[[X:.*]] f32 [$N]
// PLAN:           launch @{{.*}}(%x, %[[X]]
// PLAN:           let $[[I:.*]] = 0
// PLAN:           let $[[C:.*]] = 0
// PLAN:           loop
// PLAN:           while $[[I]] < $n
// PLAN:           alloc %[[Y:.*]] f32 [$N]
// PLAN:           launch @{{.*}}(%[[X]], %[[Y]]
// PLAN:           swap %[[X]] %[[Y]]
// PLAN:           let $[[NEXT:.*]] = $[[I]] + 1
// PLAN:           let $[[SUM:.*]] = $[[C]] + $[[I]]
// PLAN:           set $[[I]] = $[[NEXT]]
// PLAN:           set $[[C]] = $[[SUM]]
// PLAN:           end
// PLAN:           launch @{{.*}}(%[[X]], %y)
func.func @loop(%x: tensor<?xf32> {gir.name = "x", gir.dims = ["N"], gir.unit_axis = 0 : i64},
                %n: tensor<i64> {gir.name = "n", gir.scalar = "i64"}) -> (tensor<?xf32> {gir.name = "y"}, tensor<i64> {gir.name = "c"}) {
  %zero = gir.constant dense<0> : tensor<i64>
  %y, %c = gir.for %zero to %n step 1 init(%x, %zero) : tensor<?xf32>, tensor<i64> -> tensor<?xf32>, tensor<i64> {
  ^bb0(%i: tensor<i64>, %a: tensor<?xf32>, %k: tensor<i64>):
    %b = gir.exp %a : tensor<?xf32>
    %l = gir.add %k, %i : tensor<i64>
    gir.yield %b, %l : tensor<?xf32>, tensor<i64>
  }
  return %y, %c : tensor<?xf32>, tensor<i64>
}

// -----

// Both arms write where the caller wants the result.
// PLAN-LABEL: function branch
// PLAN:           if $n > 3
// PLAN-NEXT:      launch @{{.*}}(%x, %y)
// PLAN-NEXT:      else
// PLAN-NEXT:      launch @{{.*}}(%x, %y)
// PLAN-NEXT:      end
// PLAN-NEXT:    end
func.func @branch(%x: tensor<?xf32> {gir.name = "x", gir.dims = ["N"], gir.unit_axis = 0 : i64},
                  %n: tensor<i64> {gir.name = "n", gir.scalar = "i64"}) -> (tensor<?xf32> {gir.name = "y"}) {
  %three = gir.constant dense<3> : tensor<i64>
  %c = gir.compare gt %n, %three : tensor<i64> -> tensor<i1>
  %size = gir.dim %x, 0 : tensor<?xf32>
  %y = gir.if %c sizes(%size) -> (tensor<?xf32>) {
    %a = gir.exp %x : tensor<?xf32>
    gir.yield %a : tensor<?xf32>
  } else {
    gir.yield %x : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}
