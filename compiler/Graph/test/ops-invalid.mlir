// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// One program per numbered constraint of GraphOps.td: @<op>_c<n> breaks it.

func.func @select_c1(%c: tensor<4xi1>, %a: tensor<5xf32>) {
  // expected-error @+1 {{condition has type 'tensor<4xi1>', result 'tensor<5xf32>'}}
  %y = gir.select %c, %a, %a : tensor<4xi1>, tensor<5xf32>
  return
}

// -----

func.func @constant_c1() {
  // expected-error @+1 {{holds its elements as dense<...>}}
  %c = gir.constant dense_resource<elsewhere> : tensor<1xf32>
  return
}
{-#
  dialect_resources: { builtin: { elsewhere: "0x0400000000000000" } }
#-}

// -----

func.func @dim_c1(%x: tensor<?xf32>) {
  // expected-error @+1 {{axis 1 of a tensor of rank 1}}
  %n = gir.dim %x, 1 : tensor<?xf32>
  return
}

// -----

func.func @bind_dims_c1(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{1 names for a tensor of rank 2}}
  gir.bind_dims %x ["M"] : tensor<?x?xf32>
  return
}

// -----

func.func @broadcast_c1(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axes must increase strictly within the result's rank 3}}
  %y = gir.broadcast %x axes = [1, 0] : tensor<2x3xf32> -> tensor<3x2x4xf32>
  return
}

// -----

func.func @broadcast_c2(%x: tensor<8xf32>) {
  // expected-error @+1 {{result has 1 dynamic extents, but there are 0 sizes}}
  %y = gir.broadcast %x axes = [1] : tensor<8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @broadcast_c3(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis 1 has extent 3, the result's axis 2 has 4}}
  %y = gir.broadcast %x axes = [0, 2] : tensor<2x3xf32> -> tensor<2x5x4xf32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{[0, 0] is no permutation of 2 axes}}
  %y = gir.transpose %x [0, 0] : tensor<2x3xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @reshape_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{result has 1 dynamic extents, but there are 0 sizes}}
  %y = gir.reshape %x : tensor<?x8xf32> -> tensor<?xf32>
  return
}

// -----

func.func @slice_c1(%x: tensor<8xf32>, %s: tensor<i64>) {
  // expected-error @+1 {{a step of 0}}
  %y = gir.slice %x starts(%s) steps = [0] : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<8xf32>, %s: tensor<i64>) {
  // expected-error @+1 {{result has 1 dynamic extents, but there are 0 sizes}}
  %y = gir.slice %x starts(%s) steps = [1] : tensor<8xf32> -> tensor<?xf32>
  return
}

// -----

func.func @concat_c1(%a: tensor<4xf32>, %b: tensor<4xf16>) {
  // expected-error @+1 {{joins 'tensor<4xf16>' into 'tensor<8xf32>'}}
  %y = gir.concat %a, %b axis = 0 : (tensor<4xf32>, tensor<4xf16>) -> tensor<8xf32>
  return
}

// -----

func.func @gather_c1(%x: tensor<4x5xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{input has rank 2, indices 1, result 1}}
  %y = gir.gather %x, %i axis = 1 : tensor<4x5xf32>, tensor<4xi64> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c1(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{axes [1, 1] of a tensor of rank 2}}
  %y = gir.reduce sum %x axes = [1, 1] : tensor<4x5xf32> -> tensor<f32>
  return
}

// -----

func.func @reduce_c2(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{reduces 1 of 2 axes, but the result has rank 2}}
  %y = gir.reduce sum %x axes = [1] : tensor<4x5xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @scan_c1(%x: tensor<4xf32>) {
  // expected-error @+1 {{cannot scan with mean}}
  %y = gir.scan mean %x axis = 0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @gemm_c1(%a: tensor<64xf32>, %b: tensor<64x32xf32>) {
  // expected-error @+1 {{'gir.gemm' op lhs must have rank 2, but has type 'tensor<64xf32>'}}
  %c = gir.gemm %a, %b : tensor<64xf32>, tensor<64x32xf32> -> tensor<64x32xf32>
  return
}

// -----

func.func @gemm_c2(%a: tensor<128x64xf32>, %b: tensor<32x64xf32>) {
  // expected-error @+1 {{reduction sizes differ: lhs has 64, rhs has 32}}
  %c = gir.gemm %a, %b : tensor<128x64xf32>, tensor<32x64xf32> -> tensor<128x64xf32>
  return
}

// -----

func.func @attention_c1(%q: tensor<2x8x4xf32>, %k: tensor<8x4xf32>) {
  // expected-error @+1 {{q, k, v and the result need one rank of at least 2}}
  %o = gir.attention %q, %k, %k : tensor<2x8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32> -> tensor<2x8x4xf32>
  return
}

// -----

func.func @if_c1(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf16>) {
  // expected-error @+1 {{'gir.if' op yields}}
  %z = gir.if %c -> (tensor<4xf32>) {
    gir.yield %x : tensor<4xf32>
  } else {
    gir.yield %y : tensor<4xf16>
  }
  return
}

// -----

func.func @if_c2(%c: tensor<i1>, %x: tensor<?xf32>) {
  // expected-error @+1 {{has 0 sizes for 1 dynamic extents}}
  %z = gir.if %c -> (tensor<?xf32>) {
    gir.yield %x : tensor<?xf32>
  } else {
    gir.yield %x : tensor<?xf32>
  }
  return
}

// -----

func.func @for_c1(%n: tensor<i64>, %x: tensor<4xf32>) {
  // expected-error @+1 {{needs a counter as the first argument}}
  %y = gir.for %n to %n step 1 init(%x) : tensor<4xf32> -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    gir.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @for_c2(%n: tensor<i64>) {
  // expected-error @+1 {{has step 0}}
  gir.for %n to %n step 0 {
  ^bb0(%i: tensor<i64>):
    gir.yield
  }
  return
}

// -----

func.func @while_c1(%x: tensor<4xf32>) {
  // expected-error @+1 {{needs a test that ends with gir.condition}}
  %y = gir.while init(%x) : tensor<4xf32> -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    gir.yield %a : tensor<4xf32>
  } do {
  ^bb0(%a: tensor<4xf32>):
    gir.yield %a : tensor<4xf32>
  }
  return
}
