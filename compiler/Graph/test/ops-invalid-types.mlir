// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// Axes, types and attributes: @<op>_c<n> breaks that constraint of GraphOps.td.

func.func @arange_c1(%n: tensor<i64>) {
  // expected-error @+1 {{gives one axis, not 'tensor<?x?xi64>'}}
  %i = gir.arange %n : tensor<?x?xi64>
  return
}

// -----

func.func @broadcast_c4(%b: tensor<8xf32>, %m: tensor<i64>) {
  // expected-error @+1 {{makes 'tensor<?x8xf16>' of 'tensor<8xf32>'}}
  %y = gir.broadcast %b axes = [1] sizes(%m) : tensor<8xf32> -> tensor<?x8xf16>
  return
}

// -----

func.func @transpose_c2(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{[1, 0] does not make 'tensor<4x8xf32>' of 'tensor<4x8xf32>'}}
  %t = gir.transpose %a [1, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @reshape_c2(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{makes 'tensor<31xf32>' of 'tensor<4x8xf32>'}}
  %t = gir.reshape %a : tensor<4x8xf32> -> tensor<31xf32>
  return
}

// -----

func.func @slice_c3(%x: tensor<?xf32>, %s: tensor<i64>, %n: tensor<i64>) {
  // expected-error @+1 {{makes 'tensor<?xf16>' of 'tensor<?xf32>'}}
  %y = gir.slice %x starts(%s) steps = [1] sizes(%n) : tensor<?xf32> -> tensor<?xf16>
  return
}

// -----

func.func @concat_c2(%a: tensor<?x4xf32>) {
  // expected-error @+1 {{axis 2 of a tensor of rank 2}}
  %y = gir.concat %a, %a axis = 2 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @take_c1(%table: tensor<?x64xf32>, %ids: tensor<?xi64>) {
  // expected-error @+1 {{axis -1 of a tensor of rank 2}}
  %y = gir.take %table, %ids axis = -1 : tensor<?x64xf32>, tensor<?xi64> -> tensor<?x64xf32>
  return
}

// -----

func.func @take_c2(%table: tensor<?x64xf32>, %ids: tensor<?xi64>) {
  // expected-error @+1 {{takes 'tensor<?xf32>' of 'tensor<?x64xf32>' by 'tensor<?xi64>'}}
  %y = gir.take %table, %ids axis = 0 : tensor<?x64xf32>, tensor<?xi64> -> tensor<?xf32>
  return
}

// -----

func.func @gather_c2(%x: tensor<?x?xf32>, %ids: tensor<?x4xi64>) {
  // expected-error @+1 {{axis 2 of a tensor of rank 2}}
  %y = gir.gather %x, %ids axis = 2 : tensor<?x?xf32>, tensor<?x4xi64> -> tensor<?x4xf32>
  return
}

// -----

func.func @reduce_c3(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{accumulates in 'tensor<f32>'}}
  %y = gir.reduce sum %x axes = [1] {accumulate = tensor<f32>} : tensor<?x?xf32> -> tensor<?xf32>
  return
}

// -----

func.func @scan_c2(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{axis 2 of a tensor of rank 2}}
  %y = gir.scan sum %x axis = 2 : tensor<?x?xf32> -> tensor<?x?xf32>
  return
}

// -----

func.func @gemm_c3(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @+1 {{makes no 'tensor<4x17xf32>' of 'tensor<4x8xf32>' and 'tensor<8x16xf32>'}}
  %c = gir.gemm %a, %b : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x17xf32>
  return
}

// -----

func.func @gemm_c4(%a: tensor<4x8xf32>, %b: tensor<8x16xf16>) {
  // expected-error @+1 {{multiplies 'f32' by 'f16'}}
  %c = gir.gemm %a, %b : tensor<4x8xf32>, tensor<8x16xf16> -> tensor<4x16xf32>
  return
}

// -----

func.func @softmax_c1(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{axis 2 of a tensor of rank 2}}
  %y = gir.softmax %x axis = 2 : tensor<?x?xf32>
  return
}

// -----

func.func @layer_norm_c1(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{normalises 3 of 2 axes}}
  %y = gir.layer_norm %x axes = 3 eps = 1.0e-05 : tensor<?x?xf32> -> tensor<?x?xf32>
  return
}

// -----

func.func @layer_norm_c2(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{has a parameter of 'tensor<?x?xf32>' for 1 axes}}
  %y = gir.layer_norm %x, %x axes = 1 eps = 1.0e-05 : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  return
}

// -----

func.func @cross_entropy_c1(%x: tensor<?x?xf32>, %t: tensor<?x?xi64>) {
  // expected-error @+1 {{of 'tensor<?x?xf32>' and 'tensor<?x?xi64>' is no 'tensor<?xf32>'}}
  %y = gir.cross_entropy %x, %t : tensor<?x?xf32>, tensor<?x?xi64> -> tensor<?xf32>
  return
}

// -----

func.func @attention_c2(%q: tensor<?x?x?xf16>, %k: tensor<?x?x?xf32>) {
  // expected-error @+1 {{of 'tensor<?x?x?xf32>' gives 'tensor<?x?x?xf16>'}}
  %o = gir.attention %q, %k, %k : tensor<?x?x?xf16>, tensor<?x?x?xf32>, tensor<?x?x?xf32> -> tensor<?x?x?xf16>
  return
}

// -----

// expected-error @+1 {{is one block without results}}
gir.kernel @kernel_c1() -> f32 {
  tile.return
}

// -----

// expected-error @+1 {{argument 0: a kernel takes views with strides, of up to 8 axes, and numbers, not 'tensor<4xf32>'}}
gir.kernel @kernel_c2(%x: tensor<4xf32>) {
  tile.return
}

// -----

// Attributes of arguments and programs.

// expected-error @+1 {{gir.dims of 'tensor<?x?xf32>' cannot be ["M"]}}
func.func @dims(%x: tensor<?x?xf32> {gir.dims = ["M"]}) {
  return
}

// -----

// expected-error @+1 {{gir.unit_axis of 'tensor<?x?xf32>' cannot be 7 : i64}}
func.func @unit_axis(%x: tensor<?x?xf32> {gir.unit_axis = 7 : i64}) {
  return
}

// -----

// expected-error @+1 {{gir.mode of 'memref<?xf32, strided<[?]>>' cannot be "over"}}
gir.kernel @mode(%x: memref<?xf32, strided<[?]>> {gir.mode = "over"}) {
  tile.return
}

// -----

// expected-error @+1 {{gir.autotune cannot be {space = {}}}}
func.func @autotune() attributes {gir.autotune = {space = {}}} {
  return
}
