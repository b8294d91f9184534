// RUN: tessera-opt %s --canonicalize | FileCheck %s

// 1 / sqrt(64) as the front end writes it is one constant.
// CHECK-LABEL: func @scale
// CHECK-NEXT:    %[[S:.*]] = gir.constant dense<1.250000e-01> : tensor<f32>
// CHECK-NEXT:    return %[[S]]
func.func @scale(%q: tensor<?x64xf32>) -> tensor<f32> {
  %d = gir.dim %q, 1 : tensor<?x64xf32>
  %f = gir.cast %d : tensor<i64> -> tensor<f64>
  %r = gir.sqrt %f : tensor<f64>
  %one = gir.constant dense<1.0> : tensor<f64>
  %s = gir.div %one, %r : tensor<f64>
  %n = gir.cast %s : tensor<f64> -> tensor<f32>
  return %n : tensor<f32>
}

// Python's floor division and modulo round down.
// CHECK-LABEL: func @floor
// CHECK-DAG:     %[[Q:.*]] = gir.constant dense<-4> : tensor<i64>
// CHECK-DAG:     %[[R:.*]] = gir.constant dense<1> : tensor<i64>
// CHECK:         return %[[Q]], %[[R]]
func.func @floor() -> (tensor<i64>, tensor<i64>) {
  %a = gir.constant dense<-7> : tensor<i64>
  %b = gir.constant dense<2> : tensor<i64>
  %q = gir.floordiv %a, %b : tensor<i64>
  %r = gir.mod %a, %b : tensor<i64>
  return %q, %r : tensor<i64>, tensor<i64>
}

// Division by zero is the machine's business, not the folder's.
// CHECK-LABEL: func @by_zero
// CHECK:         gir.floordiv
func.func @by_zero() -> tensor<i64> {
  %a = gir.constant dense<7> : tensor<i64>
  %b = gir.constant dense<0> : tensor<i64>
  %q = gir.floordiv %a, %b : tensor<i64>
  return %q : tensor<i64>
}

// NaN wins in maximum, and compares unequal.
// CHECK-LABEL: func @nan
// CHECK-DAG:     %[[NAN:.*]] = gir.constant dense<0x7FC00000> : tensor<f32>
// CHECK-DAG:     %[[TRUE:.*]] = gir.constant dense<true> : tensor<i1>
// CHECK-DAG:     %[[FALSE:.*]] = gir.constant dense<false> : tensor<i1>
// CHECK:         return %[[NAN]], %[[TRUE]], %[[FALSE]]
func.func @nan() -> (tensor<f32>, tensor<i1>, tensor<i1>) {
  %n = gir.constant dense<0x7FC00000> : tensor<f32>
  %one = gir.constant dense<1.0> : tensor<f32>
  %m = gir.maximum %n, %one : tensor<f32>
  %ne = gir.compare ne %n, %one : tensor<f32> -> tensor<i1>
  %le = gir.compare le %n, %one : tensor<f32> -> tensor<i1>
  return %m, %ne, %le : tensor<f32>, tensor<i1>, tensor<i1>
}

// x * 1 and x / 1 are x; x + 0.0 is not (-0 becomes +0).
// CHECK-LABEL: func @identities
// CHECK-SAME:    %[[X:.*]]: tensor<?xf32>, %[[N:.*]]: tensor<i64>
// CHECK:         %[[SUM:.*]] = gir.add %[[X]]
// CHECK:         return %[[SUM]]
func.func @identities(%x: tensor<?xf32>, %n: tensor<i64>) -> tensor<?xf32> {
  %one = gir.constant dense<1.0> : tensor<f32>
  %zero = gir.constant dense<0.0> : tensor<f32>
  %ones = gir.broadcast %one axes = [] sizes(%n) : tensor<f32> -> tensor<?xf32>
  %zeros = gir.broadcast %zero axes = [] sizes(%n) : tensor<f32> -> tensor<?xf32>
  %a = gir.mul %ones, %x : tensor<?xf32>
  %b = gir.div %a, %ones : tensor<?xf32>
  %c = gir.sub %b, %zeros : tensor<?xf32>
  %d = gir.add %c, %zeros : tensor<?xf32>
  return %d : tensor<?xf32>
}

// A float becomes an integer toward zero, saturating; NaN becomes 0.
// CHECK-LABEL: func @casts
// CHECK-DAG:     %[[A:.*]] = gir.constant dense<-2> : tensor<i32>
// CHECK-DAG:     %[[B:.*]] = gir.constant dense<2147483647> : tensor<i32>
// CHECK-DAG:     %[[C:.*]] = gir.constant dense<0> : tensor<i32>
// CHECK-DAG:     %[[D:.*]] = gir.constant dense<1.000000e+00> : tensor<f32>
// CHECK:         return %[[A]], %[[B]], %[[C]], %[[D]]
func.func @casts() -> (tensor<i32>, tensor<i32>, tensor<i32>, tensor<f32>) {
  %a = gir.constant dense<-2.9> : tensor<f32>
  %b = gir.constant dense<1.0e20> : tensor<f32>
  %c = gir.constant dense<0x7FC00000> : tensor<f32>
  %d = gir.constant dense<true> : tensor<i1>
  %ia = gir.cast %a : tensor<f32> -> tensor<i32>
  %ib = gir.cast %b : tensor<f32> -> tensor<i32>
  %ic = gir.cast %c : tensor<f32> -> tensor<i32>
  %fd = gir.cast %d : tensor<i1> -> tensor<f32>
  return %ia, %ib, %ic, %fd : tensor<i32>, tensor<i32>, tensor<i32>, tensor<f32>
}

// A transcendental function keeps the bits of the target's implementation.
// CHECK-LABEL: func @exp
// CHECK:         gir.exp
func.func @exp() -> tensor<f32> {
  %a = gir.constant dense<1.0> : tensor<f32>
  %e = gir.exp %a : tensor<f32>
  return %e : tensor<f32>
}

// -----

// An index that cannot lie outside is not checked, nor is one twice.
// CHECK-LABEL: func @check_indices
// CHECK-COUNT-1: gir.check_indices
// CHECK-NOT: gir.check_indices
func.func @check_indices(%x: tensor<?x8xf32>, %i: tensor<?xi64>, %n: tensor<i64>) {
  %eight = gir.constant dense<8> : tensor<i64>
  %best = gir.reduce argmax %x axes = [1] : tensor<?x8xf32> -> tensor<?xi64>
  gir.check_indices %best within %eight, "index {index}" : tensor<?xi64>
  %r = gir.arange %n : tensor<?xi64>
  gir.check_indices %r within %n, "index {index}" : tensor<?xi64>
  gir.check_indices %i within %n, "first" : tensor<?xi64>
  gir.check_indices %i within %n, "second" : tensor<?xi64>
  return
}
