// RUN: tessera-opt %s --graph-check-contract --split-input-file --verify-diagnostics

// Functions of gir ops and kernels of tile ops pass.
func.func @good(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = gir.relu %a : tensor<4xf32>
  return %r : tensor<4xf32>
}

gir.kernel @fill(%y: memref<?xf32, strided<[?]>>) {
  %n = tile.dim %y, 0 : memref<?xf32, strided<[?]>>
  %i = tile.program extents(%n) tiles = [64] : !tile.range<64>
  %one = arith.constant 1.0 : f32
  %t = tile.fill %one [%i] : f32, !tile.range<64> -> tensor<64xf32>
  tile.store %t, %y[%i] : tensor<64xf32>, memref<?xf32, strided<[?]>>, !tile.range<64>
  tile.return
}

// -----

// The payload of later stages does not stand in a function; every such op is
// named.
func.func @arith_in_function(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'arith.addf' may not stand in Graph IR}}
  %r = arith.addf %a, %a : tensor<4xf32>
  // expected-error @+1 {{'math.exp' may not stand in Graph IR}}
  %s = math.exp %r : tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

// A kernel is at the value level: no buffers yet.
gir.kernel @buffer_in_kernel(%y: memref<?xf32, strided<[?]>>) {
  // expected-error @+1 {{'tile.alloc' may not stand in a gir.kernel}}
  %b = tile.alloc : !tile.buffer<3x128x64xf16, shared>
  tile.return
}

// -----

// expected-error @+1 {{'plan.func' may not stand in Graph IR}}
plan.func @late target "cpu" {
  plan.return
}

// -----

// A plan has no such numbers.
func.func @odd_type(%a: tensor<4xf32>) {
  // expected-error @+1 {{a program computes with tensors of numbers, of up to 16 axes, not 'tensor<4xi7>'}}
  %r = gir.cast %a : tensor<4xf32> -> tensor<4xi7>
  return
}

// -----

// expected-error @+1 {{a function of Graph IR has a body}}
func.func private @declared(tensor<4xf32>)

// -----

func.func @no_kernel(%x: tensor<?xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{there is no gir.kernel @copy}}
  %y = gir.call_kernel @copy(%x) sizes(%n) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

gir.kernel @copy(%x: memref<?xf32, strided<[?]>> {gir.mode = "in"}, %y: memref<?xf32, strided<[?]>> {gir.mode = "out"}) {
  tile.return
}
func.func @other_types(%x: tensor<?xf16>, %n: tensor<i64>) {
  // expected-error @+1 {{the call does not give @copy what it takes}}
  %y = gir.call_kernel @copy(%x) sizes(%n) : (tensor<?xf16>) -> tensor<?xf32>
  return
}
