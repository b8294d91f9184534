// RUN: tessera-opt %s --graph-simplify-shapes --cse --split-input-file --verify-diagnostics | FileCheck %s

// A size is followed through transpose, element-wise ops, reductions and
// products to the arguments.
// CHECK-LABEL: func @dims
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x?xf32>, %[[W:[^:]*]]: tensor<?x?xf32>
// CHECK-DAG:     %[[M:.*]] = gir.dim %[[X]], 0
// CHECK-DAG:     %[[K:.*]] = gir.dim %[[X]], 1
// CHECK-DAG:     %[[N:.*]] = gir.dim %[[W]], 1
// CHECK-NOT:     gir.transpose
// CHECK:         return %[[K]], %[[M]], %[[M]], %[[N]]
func.func @dims(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>)
    -> (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) {
  %t = gir.transpose %x [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>
  %e = gir.exp %t : tensor<?x?xf32>
  %k = gir.dim %e, 0 : tensor<?x?xf32>
  %r = gir.reduce sum %e axes = [0] : tensor<?x?xf32> -> tensor<?xf32>
  %m = gir.dim %r, 0 : tensor<?xf32>
  %g = gir.gemm %x, %w : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %gm = gir.dim %g, 0 : tensor<?x?xf32>
  %gn = gir.dim %g, 1 : tensor<?x?xf32>
  return %k, %m, %gm, %gn : tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>
}

// -----

// A static extent is a constant, the joined axis of a concat a sum.
// CHECK-LABEL: func @constant_and_concat
// CHECK-SAME:    %[[A:[^:]*]]: tensor<?x4xf32>, %[[B:[^:]*]]: tensor<?x4xf32>
// CHECK-DAG:     %[[FOUR:.*]] = gir.constant dense<4>
// CHECK-DAG:     %[[DA:.*]] = gir.dim %[[A]], 0
// CHECK-DAG:     %[[DB:.*]] = gir.dim %[[B]], 0
// CHECK:         %[[SUM:.*]] = gir.add %[[DA]], %[[DB]]
// CHECK:         return %[[SUM]], %[[FOUR]]
func.func @constant_and_concat(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>) -> (tensor<i64>, tensor<i64>) {
  %c = gir.concat %a, %b axis = 0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %m = gir.dim %c, 0 : tensor<?x4xf32>
  %n = gir.dim %c, 1 : tensor<?x4xf32>
  return %m, %n : tensor<i64>, tensor<i64>
}

// -----

// Axes of one name have one extent, that of the first; a broadcast to it moves
// nothing, a check of it is proved.
// CHECK-LABEL: func @named
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?xf32>
// CHECK-NOT:     gir.broadcast
// CHECK-NOT:     gir.check_equal
// CHECK:         gir.add %[[X]]
func.func @named(%x: tensor<?xf32> {gir.dims = ["N"]}, %y: tensor<?xf32> {gir.dims = ["N"]}) -> tensor<?xf32> {
  %m = gir.dim %x, 0 : tensor<?xf32>
  %n = gir.dim %y, 0 : tensor<?xf32>
  gir.check_equal %m, %n, "x has {lhs}, y {rhs}"
  %b = gir.broadcast %x axes = [0] sizes(%n) : tensor<?xf32> -> tensor<?xf32>
  %r = gir.add %b, %y : tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// Without a name nothing is proved: the check stays, and so does a broadcast.
// CHECK-LABEL: func @unnamed
// CHECK:         gir.check_equal
// CHECK:         gir.broadcast
func.func @unnamed(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %m = gir.dim %x, 0 : tensor<?xf32>
  %n = gir.dim %y, 0 : tensor<?xf32>
  gir.check_equal %m, %n, "x has {lhs}, y {rhs}"
  %b = gir.broadcast %x axes = [0] sizes(%n) : tensor<?xf32> -> tensor<?xf32>
  return %b : tensor<?xf32>
}

// -----

// Data movement that cancels out or moves nothing.
// CHECK-LABEL: func @movement
// CHECK-SAME:    %[[X:.*]]: tensor<2x?xf32>
// CHECK-NEXT:    return %[[X]], %[[X]], %[[X]], %[[X]]
func.func @movement(%x: tensor<2x?xf32>)
    -> (tensor<2x?xf32>, tensor<2x?xf32>, tensor<2x?xf32>, tensor<2x?xf32>) {
  %zero = gir.constant dense<0> : tensor<i64>
  %two = gir.constant dense<2> : tensor<i64>
  %n = gir.dim %x, 1 : tensor<2x?xf32>
  %t = gir.transpose %x [1, 0] : tensor<2x?xf32> -> tensor<?x2xf32>
  %tt = gir.transpose %t [1, 0] : tensor<?x2xf32> -> tensor<2x?xf32>
  %flat = gir.mul %n, %two : tensor<i64>
  %r = gir.reshape %x sizes(%flat) : tensor<2x?xf32> -> tensor<?xf32>
  %rr = gir.reshape %r sizes(%n) : tensor<?xf32> -> tensor<2x?xf32>
  %s = gir.slice %x starts(%zero, %zero) steps = [1, 1] sizes(%n) : tensor<2x?xf32> -> tensor<2x?xf32>
  %c = gir.concat %x axis = 0 : (tensor<2x?xf32>) -> tensor<2x?xf32>
  return %tt, %rr, %s, %c : tensor<2x?xf32>, tensor<2x?xf32>, tensor<2x?xf32>, tensor<2x?xf32>
}

// -----

// Two broadcasts become one; a slice that reverses stays.
// CHECK-LABEL: func @kept
// CHECK-SAME:    %[[X:[^:]*]]: tensor<4xf32>
// CHECK:         gir.broadcast %[[X]] axes = [2] : tensor<4xf32> -> tensor<2x3x4xf32>
// CHECK-NOT:     gir.broadcast
// CHECK:         gir.slice
func.func @kept(%x: tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>) {
  %a = gir.broadcast %x axes = [1] : tensor<4xf32> -> tensor<3x4xf32>
  %b = gir.broadcast %a axes = [1, 2] : tensor<3x4xf32> -> tensor<2x3x4xf32>
  %three = gir.constant dense<3> : tensor<i64>
  %s = gir.slice %x starts(%three) steps = [-1] : tensor<4xf32> -> tensor<4xf32>
  return %b, %s : tensor<2x3x4xf32>, tensor<4xf32>
}

// -----

// Sizes that can only differ are an error, with the message of the check.
func.func @must_fail(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  %m = gir.dim %x, 0 : tensor<4xf32>
  %n = gir.dim %y, 0 : tensor<5xf32>
  // expected-error @+1 {{sizes 4 and 5 differ: x has {lhs}, y {rhs}}}
  gir.check_equal %m, %n, "x has {lhs}, y {rhs}"
  return
}
