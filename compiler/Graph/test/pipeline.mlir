// RUN: tessera-opt %s --graph-pipeline | FileCheck %s

// The attention of the first document, as the front end writes it: one op is
// left, and a constant.
// CHECK-LABEL: func @flash_attention
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<?x?x?x80xf16> {{.*}}, %[[K:[^:]*]]: tensor<?x?x?x80xf16> {{.*}}, %[[V:[^:]*]]: tensor<?x?x?x80xf16>
// CHECK-NEXT:    %[[SCALE:.*]] = gir.constant dense<0.111803398> : tensor<f32>
// CHECK-NEXT:    %[[O:.*]] = gir.attention %[[Q]], %[[K]], %[[V]] scale(%[[SCALE]] : tensor<f32>) :
// CHECK-NEXT:    return %[[O]]
func.func @flash_attention(%q: tensor<?x?x?x80xf16> {gir.dims = ["B", "H", "S", "D"]},
                           %k: tensor<?x?x?x80xf16> {gir.dims = ["B", "H", "S", "D"]},
                           %v: tensor<?x?x?x80xf16> {gir.dims = ["B", "H", "S", "D"]}) -> tensor<?x?x?x80xf16> {
  %B = gir.dim %q, 0 : tensor<?x?x?x80xf16>
  %H = gir.dim %q, 1 : tensor<?x?x?x80xf16>
  %S = gir.dim %q, 2 : tensor<?x?x?x80xf16>
  %t = gir.transpose %k [0, 1, 3, 2] : tensor<?x?x?x80xf16> -> tensor<?x?x80x?xf16>
  %scores = gir.gemm %q, %t : tensor<?x?x?x80xf16>, tensor<?x?x80x?xf16> -> tensor<?x?x?x?xf16>
  %wide = gir.constant dense<0.11180339887498948> : tensor<f64>
  %half = gir.cast %wide : tensor<f64> -> tensor<f16>
  %scale = gir.broadcast %half axes = [] sizes(%B, %H, %S, %S) : tensor<f16> -> tensor<?x?x?x?xf16>
  %scaled = gir.mul %scores, %scale : tensor<?x?x?x?xf16>
  %p = gir.softmax %scaled axis = 3 : tensor<?x?x?x?xf16>
  %o = gir.gemm %p, %v : tensor<?x?x?x?xf16>, tensor<?x?x?x80xf16> -> tensor<?x?x?x80xf16>
  return %o : tensor<?x?x?x80xf16>
}
