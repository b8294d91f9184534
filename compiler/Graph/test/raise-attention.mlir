// RUN: tessera-opt %s --graph-raise-attention --canonicalize --cse | FileCheck %s

// The scale is multiplied in f16 as written, but attention takes it in f32.
// CHECK-LABEL: func @scaled
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<?x?x64xf16>, %[[K:[^:]*]]: tensor<?x?x64xf16>, %[[V:[^:]*]]: tensor<?x?x64xf16>, %[[S:[^:]*]]: tensor<f64>
// CHECK:         %[[SCALE:.*]] = gir.cast %[[S]] : tensor<f64> -> tensor<f32>
// CHECK-NOT:     gir.softmax
// CHECK:         gir.attention %[[Q]], %[[K]], %[[V]] scale(%[[SCALE]] : tensor<f32>) :
func.func @scaled(%q: tensor<?x?x64xf16>, %k: tensor<?x?x64xf16>, %v: tensor<?x?x64xf16>, %s: tensor<f64>,
                  %m: tensor<i64>, %n: tensor<i64>, %b: tensor<i64>) -> tensor<?x?x64xf16> {
  %scores = gir.gemm %q, %k transpose_rhs : tensor<?x?x64xf16>, tensor<?x?x64xf16> -> tensor<?x?x?xf16>
  %half = gir.cast %s : tensor<f64> -> tensor<f16>
  %scale = gir.broadcast %half axes = [] sizes(%b, %m, %n) : tensor<f16> -> tensor<?x?x?xf16>
  %scaled = gir.mul %scores, %scale : tensor<?x?x?xf16>
  %p = gir.softmax %scaled axis = 2 : tensor<?x?x?xf16>
  %o = gir.gemm %p, %v : tensor<?x?x?xf16>, tensor<?x?x64xf16> -> tensor<?x?x64xf16>
  return %o : tensor<?x?x64xf16>
}

// A constant scale too: 1 / sqrt(80) is not rounded to f16 on its way.
// CHECK-LABEL: func @constant_scale
// CHECK:         %[[SCALE:.*]] = gir.constant dense<0.111803398> : tensor<f32>
// CHECK:         gir.attention %{{.*}} scale(%[[SCALE]] : tensor<f32>) :
func.func @constant_scale(%q: tensor<8x80xf16>, %k: tensor<8x80xf16>, %v: tensor<8x80xf16>) -> tensor<8x80xf16> {
  %scores = gir.gemm %q, %k transpose_rhs : tensor<8x80xf16>, tensor<8x80xf16> -> tensor<8x8xf16>
  %wide = gir.constant dense<0.11180339887498948> : tensor<f64>
  %half = gir.cast %wide : tensor<f64> -> tensor<f16>
  %scale = gir.broadcast %half axes = [] : tensor<f16> -> tensor<8x8xf16>
  %scaled = gir.mul %scores, %scale : tensor<8x8xf16>
  %p = gir.softmax %scaled axis = 1 : tensor<8x8xf16>
  %o = gir.gemm %p, %v : tensor<8x8xf16>, tensor<8x80xf16> -> tensor<8x80xf16>
  return %o : tensor<8x80xf16>
}

// Softmax in f32 between casts, the scale as a divisor.
// CHECK-LABEL: func @divided_in_f32
// CHECK-DAG:     %[[SCALE:.*]] = gir.constant dense<1.250000e-01> : tensor<f32>
// CHECK:         gir.attention %{{.*}} scale(%[[SCALE]] : tensor<f32>) :
func.func @divided_in_f32(%q: tensor<8x64xf16>, %k: tensor<8x64xf16>, %v: tensor<8x64xf16>) -> tensor<8x64xf16> {
  %scores = gir.gemm %q, %k transpose_rhs : tensor<8x64xf16>, tensor<8x64xf16> -> tensor<8x8xf16>
  %wide = gir.cast %scores : tensor<8x8xf16> -> tensor<8x8xf32>
  %eight = gir.constant dense<8.0> : tensor<f32>
  %scale = gir.broadcast %eight axes = [] : tensor<f32> -> tensor<8x8xf32>
  %scaled = gir.div %wide, %scale : tensor<8x8xf32>
  %p = gir.softmax %scaled axis = 1 : tensor<8x8xf32>
  %narrow = gir.cast %p : tensor<8x8xf32> -> tensor<8x8xf16>
  %o = gir.gemm %narrow, %v : tensor<8x8xf16>, tensor<8x64xf16> -> tensor<8x64xf16>
  return %o : tensor<8x64xf16>
}

// Without a scale it is 1, not the op's default.
// CHECK-LABEL: func @unscaled
// CHECK-DAG:     %[[ONE:.*]] = gir.constant dense<1.000000e+00> : tensor<f32>
// CHECK:         gir.attention %{{.*}} scale(%[[ONE]] : tensor<f32>) :
func.func @unscaled(%q: tensor<8x64xf32>, %k: tensor<8x64xf32>, %v: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %scores = gir.gemm %q, %k transpose_rhs : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<8x8xf32>
  %p = gir.softmax %scores axis = 1 : tensor<8x8xf32>
  %o = gir.gemm %p, %v : tensor<8x8xf32>, tensor<8x64xf32> -> tensor<8x64xf32>
  return %o : tensor<8x64xf32>
}

// where(i[:, None] + (T - S) >= j, scores, -inf) is the causal mask.
// CHECK-LABEL: func @causal
// CHECK:         gir.attention %{{.*}} causal
// CHECK-NOT:     gir.select
func.func @causal(%q: tensor<?x64xf32>, %k: tensor<?x64xf32>, %v: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %S = gir.dim %q, 0 : tensor<?x64xf32>
  %T = gir.dim %k, 0 : tensor<?x64xf32>
  %scores = gir.gemm %q, %k transpose_rhs : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x?xf32>
  %i = gir.arange %S : tensor<?xi64>
  %j = gir.arange %T : tensor<?xi64>
  %rows = gir.reshape %i sizes(%S) : tensor<?xi64> -> tensor<?x1xi64>
  %offset = gir.sub %T, %S : tensor<i64>
  %offsets = gir.broadcast %offset axes = [] sizes(%S) : tensor<i64> -> tensor<?x1xi64>
  %shifted = gir.add %rows, %offsets : tensor<?x1xi64>
  %a = gir.broadcast %shifted axes = [0, 1] sizes(%S, %T) : tensor<?x1xi64> -> tensor<?x?xi64>
  %b = gir.broadcast %j axes = [1] sizes(%S, %T) : tensor<?xi64> -> tensor<?x?xi64>
  %visible = gir.compare ge %a, %b : tensor<?x?xi64> -> tensor<?x?xi1>
  %inf = gir.constant dense<0xFF800000> : tensor<f32>
  %infs = gir.broadcast %inf axes = [] sizes(%S, %T) : tensor<f32> -> tensor<?x?xf32>
  %masked = gir.select %visible, %scores, %infs : tensor<?x?xi1>, tensor<?x?xf32>
  %p = gir.softmax %masked axis = 1 : tensor<?x?xf32>
  %o = gir.gemm %p, %v : tensor<?x?xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  return %o : tensor<?x64xf32>
}

// The complement, j > i, with the arms exchanged; S and T are one dim, and the
// mask is repeated over a batch axis.
// CHECK-LABEL: func @causal_complement
// CHECK:         gir.attention %{{.*}} causal
func.func @causal_complement(%q: tensor<2x?x64xf32> {gir.dims = ["B", "S", "D"]}, %k: tensor<2x?x64xf32> {gir.dims = ["B", "S", "D"]},
                             %v: tensor<2x?x64xf32> {gir.dims = ["B", "S", "D"]}) -> tensor<2x?x64xf32> {
  %S = gir.dim %q, 1 : tensor<2x?x64xf32>
  %scores = gir.gemm %q, %k transpose_rhs : tensor<2x?x64xf32>, tensor<2x?x64xf32> -> tensor<2x?x?xf32>
  %i = gir.arange %S : tensor<?xi64>
  %a = gir.broadcast %i axes = [0] sizes(%S, %S) : tensor<?xi64> -> tensor<?x?xi64>
  %b = gir.broadcast %i axes = [1] sizes(%S, %S) : tensor<?xi64> -> tensor<?x?xi64>
  %hidden = gir.compare gt %b, %a : tensor<?x?xi64> -> tensor<?x?xi1>
  %all = gir.broadcast %hidden axes = [1, 2] sizes(%S, %S) : tensor<?x?xi1> -> tensor<2x?x?xi1>
  %inf = gir.constant dense<0xFF800000> : tensor<f32>
  %infs = gir.broadcast %inf axes = [] sizes(%S, %S) : tensor<f32> -> tensor<2x?x?xf32>
  %masked = gir.select %all, %infs, %scores : tensor<2x?x?xi1>, tensor<2x?x?xf32>
  %p = gir.softmax %masked axis = 2 : tensor<2x?x?xf32>
  %o = gir.gemm %p, %v : tensor<2x?x?xf32>, tensor<2x?x64xf32> -> tensor<2x?x64xf32>
  return %o : tensor<2x?x64xf32>
}

// scores + where(visible, 0, -inf), the additive form.
// CHECK-LABEL: func @causal_added
// CHECK:         gir.attention %{{.*}} causal
func.func @causal_added(%q: tensor<8x64xf32>, %k: tensor<8x64xf32>, %v: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %S = gir.constant dense<8> : tensor<i64>
  %scores = gir.gemm %q, %k transpose_rhs : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<8x8xf32>
  %i = gir.arange %S : tensor<8xi64>
  %a = gir.broadcast %i axes = [0] : tensor<8xi64> -> tensor<8x8xi64>
  %b = gir.broadcast %i axes = [1] : tensor<8xi64> -> tensor<8x8xi64>
  %visible = gir.compare le %b, %a : tensor<8x8xi64> -> tensor<8x8xi1>
  %inf = gir.constant dense<0xFF800000> : tensor<8x8xf32>
  %zero = gir.constant dense<0.0> : tensor<8x8xf32>
  %mask = gir.select %visible, %zero, %inf : tensor<8x8xi1>, tensor<8x8xf32>
  %masked = gir.add %scores, %mask : tensor<8x8xf32>
  %p = gir.softmax %masked axis = 1 : tensor<8x8xf32>
  %o = gir.gemm %p, %v : tensor<8x8xf32>, tensor<8x64xf32> -> tensor<8x64xf32>
  return %o : tensor<8x64xf32>
}

// i > j hides the diagonal: not the causal mask.
// CHECK-LABEL: func @not_causal
// CHECK-NOT:     gir.attention
// CHECK:         gir.softmax
func.func @not_causal(%q: tensor<8x64xf32>, %k: tensor<8x64xf32>, %v: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %S = gir.constant dense<8> : tensor<i64>
  %scores = gir.gemm %q, %k transpose_rhs : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<8x8xf32>
  %i = gir.arange %S : tensor<8xi64>
  %a = gir.broadcast %i axes = [0] : tensor<8xi64> -> tensor<8x8xi64>
  %b = gir.broadcast %i axes = [1] : tensor<8xi64> -> tensor<8x8xi64>
  %visible = gir.compare gt %a, %b : tensor<8x8xi64> -> tensor<8x8xi1>
  %inf = gir.constant dense<0xFF800000> : tensor<8x8xf32>
  %masked = gir.select %visible, %scores, %inf : tensor<8x8xi1>, tensor<8x8xf32>
  %p = gir.softmax %masked axis = 1 : tensor<8x8xf32>
  %o = gir.gemm %p, %v : tensor<8x8xf32>, tensor<8x64xf32> -> tensor<8x64xf32>
  return %o : tensor<8x64xf32>
}

// i >= j with more keys than queries is not the mask that ends at i + T - S.
// CHECK-LABEL: func @wrong_corner
// CHECK-NOT:     gir.attention
// CHECK:         gir.softmax
func.func @wrong_corner(%q: tensor<8x64xf32>, %k: tensor<9x64xf32>, %v: tensor<9x64xf32>) -> tensor<8x64xf32> {
  %S = gir.constant dense<8> : tensor<i64>
  %T = gir.constant dense<9> : tensor<i64>
  %scores = gir.gemm %q, %k transpose_rhs : tensor<8x64xf32>, tensor<9x64xf32> -> tensor<8x9xf32>
  %i = gir.arange %S : tensor<8xi64>
  %j = gir.arange %T : tensor<9xi64>
  %a = gir.broadcast %i axes = [0] : tensor<8xi64> -> tensor<8x9xi64>
  %b = gir.broadcast %j axes = [1] : tensor<9xi64> -> tensor<8x9xi64>
  %visible = gir.compare ge %a, %b : tensor<8x9xi64> -> tensor<8x9xi1>
  %inf = gir.constant dense<0xFF800000> : tensor<8x9xf32>
  %masked = gir.select %visible, %scores, %inf : tensor<8x9xi1>, tensor<8x9xf32>
  %p = gir.softmax %masked axis = 1 : tensor<8x9xf32>
  %o = gir.gemm %p, %v : tensor<8x9xf32>, tensor<9x64xf32> -> tensor<8x64xf32>
  return %o : tensor<8x64xf32>
}

// Probabilities that are also returned are computed anyway: nothing is raised.
// CHECK-LABEL: func @other_use
// CHECK-NOT:     gir.attention
// CHECK:         return
func.func @other_use(%q: tensor<8x64xf32>, %k: tensor<8x64xf32>, %v: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x8xf32>) {
  %scores = gir.gemm %q, %k transpose_rhs : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<8x8xf32>
  %p = gir.softmax %scores axis = 1 : tensor<8x8xf32>
  %o = gir.gemm %p, %v : tensor<8x8xf32>, tensor<8x64xf32> -> tensor<8x64xf32>
  return %o, %p : tensor<8x64xf32>, tensor<8x8xf32>
}

// `strict` keeps every rounding point as written.
// CHECK-LABEL: func @strict
// CHECK-NOT:     gir.attention
// CHECK:         gir.softmax
func.func @strict(%q: tensor<8x64xf32>, %k: tensor<8x64xf32>, %v: tensor<8x64xf32>) -> tensor<8x64xf32>
    attributes {gir.policy = "strict"} {
  %scores = gir.gemm %q, %k transpose_rhs : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<8x8xf32>
  %p = gir.softmax %scores axis = 1 : tensor<8x8xf32>
  %o = gir.gemm %p, %v : tensor<8x8xf32>, tensor<8x64xf32> -> tensor<8x64xf32>
  return %o : tensor<8x64xf32>
}
