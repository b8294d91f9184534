// RUN: tessera-opt %s | tessera-opt | FileCheck %s

// Every op of Graph IR, printed and read again.

// CHECK-LABEL: func @unary
// CHECK: %{{.*}} = gir.neg %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.abs %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.exp %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.exp2 %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.log %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.log2 %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.log1p %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.sqrt %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.rsqrt %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.sin %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.cos %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.tanh %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.erf %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.sigmoid %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.floor %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.ceil %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.round %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.silu %{{.*}} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.relu %{{.*}} : tensor<?x8xf32>
func.func @unary(%x: tensor<?x8xf32>) {
  %neg = gir.neg %x : tensor<?x8xf32>
  %abs = gir.abs %x : tensor<?x8xf32>
  %exp = gir.exp %x : tensor<?x8xf32>
  %exp2 = gir.exp2 %x : tensor<?x8xf32>
  %log = gir.log %x : tensor<?x8xf32>
  %log2 = gir.log2 %x : tensor<?x8xf32>
  %log1p = gir.log1p %x : tensor<?x8xf32>
  %sqrt = gir.sqrt %x : tensor<?x8xf32>
  %rsqrt = gir.rsqrt %x : tensor<?x8xf32>
  %sin = gir.sin %x : tensor<?x8xf32>
  %cos = gir.cos %x : tensor<?x8xf32>
  %tanh = gir.tanh %x : tensor<?x8xf32>
  %erf = gir.erf %x : tensor<?x8xf32>
  %sigmoid = gir.sigmoid %x : tensor<?x8xf32>
  %floor = gir.floor %x : tensor<?x8xf32>
  %ceil = gir.ceil %x : tensor<?x8xf32>
  %round = gir.round %x : tensor<?x8xf32>
  %silu = gir.silu %x : tensor<?x8xf32>
  %relu = gir.relu %x : tensor<?x8xf32>
  return
}

// CHECK-LABEL: func @gelu
// CHECK: %{{.*}} = gir.gelu %{{.*}} {tanh} : tensor<?x8xf32>
// CHECK: %{{.*}} = gir.gelu %{{.*}} : tensor<?x8xf32>
func.func @gelu(%x: tensor<?x8xf32>) {
  %y = gir.gelu %x {tanh} : tensor<?x8xf32>
  %z = gir.gelu %x : tensor<?x8xf32>
  return
}

// CHECK-LABEL: func @not
// CHECK: %{{.*}} = gir.not %{{.*}} : tensor<?xi1>
func.func @not(%x: tensor<?xi1>) {
  %y = gir.not %x : tensor<?xi1>
  return
}

// CHECK-LABEL: func @binary
// CHECK: %{{.*}} = gir.add %{{.*}}, %{{.*}} : tensor<?xf32>
// CHECK: %{{.*}} = gir.sub %{{.*}}, %{{.*}} : tensor<?xf32>
// CHECK: %{{.*}} = gir.mul %{{.*}}, %{{.*}} : tensor<?xf32>
// CHECK: %{{.*}} = gir.div %{{.*}}, %{{.*}} : tensor<?xf32>
// CHECK: %{{.*}} = gir.floordiv %{{.*}}, %{{.*}} : tensor<?xf32>
// CHECK: %{{.*}} = gir.mod %{{.*}}, %{{.*}} : tensor<?xf32>
// CHECK: %{{.*}} = gir.pow %{{.*}}, %{{.*}} : tensor<?xf32>
// CHECK: %{{.*}} = gir.maximum %{{.*}}, %{{.*}} : tensor<?xf32>
// CHECK: %{{.*}} = gir.minimum %{{.*}}, %{{.*}} : tensor<?xf32>
func.func @binary(%a: tensor<?xf32>, %b: tensor<?xf32>) {
  %add = gir.add %a, %b : tensor<?xf32>
  %sub = gir.sub %a, %b : tensor<?xf32>
  %mul = gir.mul %a, %b : tensor<?xf32>
  %div = gir.div %a, %b : tensor<?xf32>
  %floordiv = gir.floordiv %a, %b : tensor<?xf32>
  %mod = gir.mod %a, %b : tensor<?xf32>
  %pow = gir.pow %a, %b : tensor<?xf32>
  %maximum = gir.maximum %a, %b : tensor<?xf32>
  %minimum = gir.minimum %a, %b : tensor<?xf32>
  return
}

// CHECK-LABEL: func @bits
// CHECK: %{{.*}} = gir.and %{{.*}}, %{{.*}} : tensor<?xi32>
// CHECK: %{{.*}} = gir.or %{{.*}}, %{{.*}} : tensor<?xi32>
// CHECK: %{{.*}} = gir.xor %{{.*}}, %{{.*}} : tensor<?xi32>
// CHECK: %{{.*}} = gir.shl %{{.*}}, %{{.*}} : tensor<?xi32>
// CHECK: %{{.*}} = gir.shr %{{.*}}, %{{.*}} : tensor<?xi32>
func.func @bits(%a: tensor<?xi32>, %b: tensor<?xi32>) {
  %and = gir.and %a, %b : tensor<?xi32>
  %or = gir.or %a, %b : tensor<?xi32>
  %xor = gir.xor %a, %b : tensor<?xi32>
  %shl = gir.shl %a, %b : tensor<?xi32>
  %shr = gir.shr %a, %b : tensor<?xi32>
  return
}

// CHECK-LABEL: func @fma
// CHECK: %{{.*}} = gir.fma %{{.*}}, %{{.*}}, %{{.*}} : tensor<?xf32>
func.func @fma(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>) {
  %y = gir.fma %a, %b, %c : tensor<?xf32>
  return
}

// CHECK-LABEL: func @compare
// CHECK: %{{.*}} = gir.compare lt %{{.*}}, %{{.*}} : tensor<?xf32> -> tensor<?xi1>
func.func @compare(%a: tensor<?xf32>, %b: tensor<?xf32>) {
  %y = gir.compare lt %a, %b : tensor<?xf32> -> tensor<?xi1>
  return
}

// CHECK-LABEL: func @predicates
// CHECK: %{{.*}} = gir.isnan %{{.*}} : tensor<?xf32> -> tensor<?xi1>
// CHECK: %{{.*}} = gir.isfinite %{{.*}} : tensor<?xf32> -> tensor<?xi1>
func.func @predicates(%x: tensor<?xf32>) {
  %y = gir.isnan %x : tensor<?xf32> -> tensor<?xi1>
  %z = gir.isfinite %x : tensor<?xf32> -> tensor<?xi1>
  return
}

// CHECK-LABEL: func @select
// CHECK: %{{.*}} = gir.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<?xi1>, tensor<?xf32>
func.func @select(%cond: tensor<?xi1>, %a: tensor<?xf32>, %b: tensor<?xf32>) {
  %y = gir.select %cond, %a, %b : tensor<?xi1>, tensor<?xf32>
  return
}

// CHECK-LABEL: func @cast
// CHECK: %{{.*}} = gir.cast %{{.*}} : tensor<?xf32> -> tensor<?xbf16>
// CHECK: %{{.*}} = gir.cast %{{.*}} {rounding = "rz"} : tensor<?xf32> -> tensor<?xbf16>
func.func @cast(%x: tensor<?xf32>) {
  %y = gir.cast %x : tensor<?xf32> -> tensor<?xbf16>
  %z = gir.cast %x {rounding = "rz"} : tensor<?xf32> -> tensor<?xbf16>
  return
}

// CHECK-LABEL: func @constant
// CHECK: gir.constant dense<1.000000e+00> : tensor<f32>
func.func @constant() {
  %one = gir.constant dense<1.0> : tensor<f32>
  return
}

// CHECK-LABEL: func @dim
// CHECK: %{{.*}} = gir.dim %{{.*}}, 1 : tensor<?x?xf32>
func.func @dim(%x: tensor<?x?xf32>) {
  %n = gir.dim %x, 1 : tensor<?x?xf32>
  return
}

// CHECK-LABEL: func @bind_dims
// CHECK: gir.bind_dims %{{.*}} ["M", "K"] : tensor<?x?xf32>
func.func @bind_dims(%x: tensor<?x?xf32>) {
  gir.bind_dims %x ["M", "K"] : tensor<?x?xf32>
  return
}

// CHECK-LABEL: func @check_equal
// CHECK: gir.check_equal %{{.*}}, %{{.*}}, "x has {lhs} rows, but y has {rhs}"
func.func @check_equal(%m: tensor<i64>, %n: tensor<i64>) {
  gir.check_equal %m, %n, "x has {lhs} rows, but y has {rhs}"
  return
}

// CHECK-LABEL: func @arange
// CHECK: %{{.*}} = gir.arange %{{.*}} : tensor<?xi64>
func.func @arange(%n: tensor<i64>) {
  %i = gir.arange %n : tensor<?xi64>
  return
}

// CHECK-LABEL: func @broadcast
// CHECK: %{{.*}} = gir.broadcast %{{.*}} axes = [1] sizes(%{{.*}}) : tensor<8xf32> -> tensor<?x8xf32>
func.func @broadcast(%b: tensor<8xf32>, %m: tensor<i64>) {
  %y = gir.broadcast %b axes = [1] sizes(%m) : tensor<8xf32> -> tensor<?x8xf32>
  return
}

// CHECK-LABEL: func @transpose
// CHECK: %{{.*}} = gir.transpose %{{.*}} [1, 0] : tensor<?x8xf32> -> tensor<8x?xf32>
func.func @transpose(%a: tensor<?x8xf32>) {
  %t = gir.transpose %a [1, 0] : tensor<?x8xf32> -> tensor<8x?xf32>
  return
}

// CHECK-LABEL: func @reshape
// CHECK: %{{.*}} = gir.reshape %{{.*}} sizes(%{{.*}}) : tensor<?x8xf32> -> tensor<?xf32>
func.func @reshape(%x: tensor<?x8xf32>, %n: tensor<i64>) {
  %y = gir.reshape %x sizes(%n) : tensor<?x8xf32> -> tensor<?xf32>
  return
}

// CHECK-LABEL: func @slice
// CHECK: %{{.*}} = gir.slice %{{.*}} starts(%{{.*}}, %{{.*}}) steps = [1, 2] sizes(%{{.*}}, %{{.*}}) : tensor<?x?xf32> -> tensor<?x?xf32>
func.func @slice(%x: tensor<?x?xf32>, %z: tensor<i64>, %s: tensor<i64>, %m: tensor<i64>, %n: tensor<i64>) {
  %y = gir.slice %x starts(%z, %s) steps = [1, 2] sizes(%m, %n) : tensor<?x?xf32> -> tensor<?x?xf32>
  return
}

// CHECK-LABEL: func @concat
// CHECK: %{{.*}} = gir.concat %{{.*}}, %{{.*}} axis = 1 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
func.func @concat(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>) {
  %y = gir.concat %a, %b axis = 1 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
  return
}

// CHECK-LABEL: func @take
// CHECK: %{{.*}} = gir.take %{{.*}}, %{{.*}} axis = 0 : tensor<?x64xf32>, tensor<?xi64> -> tensor<?x64xf32>
func.func @take(%table: tensor<?x64xf32>, %ids: tensor<?xi64>) {
  %y = gir.take %table, %ids axis = 0 : tensor<?x64xf32>, tensor<?xi64> -> tensor<?x64xf32>
  return
}

// CHECK-LABEL: func @gather
// CHECK: %{{.*}} = gir.gather %{{.*}}, %{{.*}} axis = 1 : tensor<?x?xf32>, tensor<?x4xi64> -> tensor<?x4xf32>
func.func @gather(%x: tensor<?x?xf32>, %ids: tensor<?x4xi64>) {
  %y = gir.gather %x, %ids axis = 1 : tensor<?x?xf32>, tensor<?x4xi64> -> tensor<?x4xf32>
  return
}

// CHECK-LABEL: func @reduce
// CHECK: %{{.*}} = gir.reduce sum %{{.*}} axes = [1] : tensor<?x?xbf16> -> tensor<?xbf16>
// CHECK: %{{.*}} = gir.reduce var %{{.*}} axes = [0] {accumulate = f64, correction = 0 : i64} : tensor<?x?xbf16> -> tensor<?xbf16>
func.func @reduce(%x: tensor<?x?xbf16>) {
  %y = gir.reduce sum %x axes = [1] : tensor<?x?xbf16> -> tensor<?xbf16>
  %z = gir.reduce var %x axes = [0] {accumulate = f64, correction = 0 : i64} : tensor<?x?xbf16> -> tensor<?xbf16>
  return
}

// CHECK-LABEL: func @scan
// CHECK: %{{.*}} = gir.scan sum %{{.*}} axis = 1 : tensor<?x?xf32> -> tensor<?x?xf32>
func.func @scan(%x: tensor<?x?xf32>) {
  %y = gir.scan sum %x axis = 1 : tensor<?x?xf32> -> tensor<?x?xf32>
  return
}

// CHECK-LABEL: func @gemm
// CHECK: %{{.*}} = gir.gemm %{{.*}}, %{{.*}} transpose_lhs : tensor<64x128xbf16>, tensor<64x32xbf16> -> tensor<128x32xbf16>
func.func @gemm(%a: tensor<64x128xbf16>, %b: tensor<64x32xbf16>) {
  %c = gir.gemm %a, %b transpose_lhs : tensor<64x128xbf16>, tensor<64x32xbf16> -> tensor<128x32xbf16>
  return
}

// CHECK-LABEL: func @softmax
// CHECK: %{{.*}} = gir.softmax %{{.*}} axis = 1 : tensor<?x?xf32>
// CHECK: %{{.*}} = gir.softmax %{{.*}} axis = 1 {log} : tensor<?x?xf32>
func.func @softmax(%x: tensor<?x?xf32>) {
  %y = gir.softmax %x axis = 1 : tensor<?x?xf32>
  %z = gir.softmax %x axis = 1 {log} : tensor<?x?xf32>
  return
}

// CHECK-LABEL: func @layer_norm
// CHECK: gir.layer_norm %{{.*}}, %{{.*}}, %{{.*}} axes = 1 eps = 1.000000e-05 :
// CHECK: gir.layer_norm %{{.*}} axes = 1 eps = 9.9999999999999995E-7 rms :
func.func @layer_norm(%x: tensor<?x?xf32>, %w: tensor<?xf32>, %b: tensor<?xf32>) {
  %y = gir.layer_norm %x, %w, %b axes = 1 eps = 1.0e-05 : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32> -> tensor<?x?xf32>
  %z = gir.layer_norm %x axes = 1 eps = 1.0e-06 rms : tensor<?x?xf32> -> tensor<?x?xf32>
  return
}

// CHECK-LABEL: func @cross_entropy
// CHECK: %{{.*}} = gir.cross_entropy %{{.*}}, %{{.*}} : tensor<?x?xbf16>, tensor<?xi64> -> tensor<?xf32>
func.func @cross_entropy(%x: tensor<?x?xbf16>, %t: tensor<?xi64>) {
  %y = gir.cross_entropy %x, %t : tensor<?x?xbf16>, tensor<?xi64> -> tensor<?xf32>
  return
}

// CHECK-LABEL: func @attention
// CHECK: %{{.*}} = gir.attention %{{.*}}, %{{.*}}, %{{.*}} causal : tensor<?x?x?x?xf16>, tensor<?x?x?x?xf16>, tensor<?x?x?x?xf16> -> tensor<?x?x?x?xf16>
func.func @attention(%q: tensor<?x?x?x?xf16>, %k: tensor<?x?x?x?xf16>, %v: tensor<?x?x?x?xf16>) {
  %o = gir.attention %q, %k, %v causal : tensor<?x?x?x?xf16>, tensor<?x?x?x?xf16>, tensor<?x?x?x?xf16> -> tensor<?x?x?x?xf16>
  return
}

// CHECK-LABEL: func @if
// CHECK: %{{.*}} = gir.if %{{.*}} sizes(%{{.*}}) -> (tensor<?xf32>) {
// CHECK:   gir.yield %{{.*}} : tensor<?xf32>
// CHECK: } else {
// CHECK:   gir.yield %{{.*}} : tensor<?xf32>
func.func @if(%c: tensor<i1>, %n: tensor<i64>, %x: tensor<?xf32>) {
  %y = gir.if %c sizes(%n) -> (tensor<?xf32>) {
    %a = gir.exp %x : tensor<?xf32>
    gir.yield %a : tensor<?xf32>
  } else {
    gir.yield %x : tensor<?xf32>
  }
  return
}

// CHECK-LABEL: func @for
// CHECK: %{{.*}} = gir.for %{{.*}} to %{{.*}} step 1 init(%{{.*}}) : tensor<?xf32> -> tensor<?xf32> {
// CHECK: ^bb0(%{{.*}}: tensor<i64>, %{{.*}}: tensor<?xf32>):
func.func @for(%zero: tensor<i64>, %n: tensor<i64>, %x: tensor<?xf32>) {
  %y = gir.for %zero to %n step 1 init(%x) : tensor<?xf32> -> tensor<?xf32> {
  ^bb0(%i: tensor<i64>, %a: tensor<?xf32>):
    %b = gir.exp %a : tensor<?xf32>
    gir.yield %b : tensor<?xf32>
  }
  return
}

// CHECK-LABEL: func @while
// CHECK: %{{.*}} = gir.while init(%{{.*}}) : tensor<f32> -> tensor<f32> {
// CHECK:   gir.condition %{{.*}}
// CHECK: } do {
// CHECK:   gir.yield %{{.*}} : tensor<f32>
func.func @while(%x: tensor<f32>, %one: tensor<f32>) {
  %y = gir.while init(%x) : tensor<f32> -> tensor<f32> {
  ^bb0(%a: tensor<f32>):
    %more = gir.compare gt %a, %one : tensor<f32> -> tensor<i1>
    gir.condition %more
  } do {
  ^bb0(%a: tensor<f32>):
    %b = gir.sqrt %a : tensor<f32>
    gir.yield %b : tensor<f32>
  }
  return
}

// CHECK-LABEL: func @statements
// CHECK: gir.check %{{.*}}, "x must be positive"
// CHECK: gir.print "x is {}", %{{.*}} : tensor<?xf32>
func.func @statements(%c: tensor<i1>, %x: tensor<?xf32>) {
  gir.check %c, "x must be positive"
  gir.print "x is {}", %x : tensor<?xf32>
  return
}

// CHECK-LABEL: gir.kernel @copy
// CHECK: tile.dim
// CHECK: tile.program extents(%{{.*}}) tiles = [64]
// CHECK: tile.load
// CHECK: tile.store
// CHECK: tile.return
gir.kernel @copy(%x: memref<?xf32, strided<[?]>>, %y: memref<?xf32, strided<[?]>>) {
  %n = tile.dim %x, 0 : memref<?xf32, strided<[?]>>
  %i = tile.program extents(%n) tiles = [64] : !tile.range<64>
  %t = tile.load %x[%i] : memref<?xf32, strided<[?]>>, !tile.range<64> -> tensor<64xf32>
  tile.store %t, %y[%i] : tensor<64xf32>, memref<?xf32, strided<[?]>>, !tile.range<64>
  tile.return
}

// CHECK-LABEL: func @call_kernel
// CHECK: %{{.*}} = gir.call_kernel @copy(%{{.*}}) sizes(%{{.*}}) : (tensor<?xf32>) -> tensor<?xf32>
func.func @call_kernel(%x: tensor<?xf32>, %n: tensor<i64>) {
  %y = gir.call_kernel @copy(%x) sizes(%n) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// CHECK-LABEL: func @check_indices
// CHECK: gir.check_indices %{{.*}} within %{{.*}}, "index {index}, but the table has {size} rows" : tensor<?xi64>
// CHECK: gir.check_indices %{{.*}} within %{{.*}} wraps, "index {index} of {size}" : tensor<?xi64>
// CHECK: gir.check_indices %{{.*}} within %{{.*}} ignoring -100, "target {index}" : tensor<?xi32>
// CHECK: gir.report_index %{{.*}}, %{{.*}}, "index {index}, but the table has {size} rows"
func.func @check_indices(%ids: tensor<?xi64>, %t: tensor<?xi32>, %n: tensor<i64>, %worst: tensor<i64>) {
  gir.check_indices %ids within %n, "index {index}, but the table has {size} rows" : tensor<?xi64>
  gir.check_indices %ids within %n wraps, "index {index} of {size}" : tensor<?xi64>
  gir.check_indices %t within %n ignoring -100, "target {index}" : tensor<?xi32>
  gir.report_index %worst, %n, "index {index}, but the table has {size} rows"
  return
}
