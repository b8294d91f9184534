// RUN: tessera-opt %s --simt-choose-instructions=target=sm_80 --tile-expand-products | FileCheck %s --check-prefix=SM80
// RUN: tessera-opt %s --simt-choose-instructions=target=sm_120a --tile-expand-products | FileCheck %s --check-prefix=SM120

// SM80-LABEL: tile.func @sparse
// SM80: tile.mma %{{.*}}, %{{.*}}, %{{.*}} sparse(%{{.*}} : tensor<16x2xi32>) {instruction = #tile.instruction<sparse 16 x 8 x 32>}
tile.func @sparse(%a: tensor<16x32xf16>, %e: tensor<16x2xi32>, %b: tensor<64x8xf16>, %c: tensor<16x8xf32>) {
  %d = tile.mma %a, %b, %c sparse(%e : tensor<16x2xi32>) : tensor<16x32xf16>, tensor<64x8xf16>, tensor<16x8xf32>
  tile.print "d" %d : tensor<16x8xf32>
  tile.return
}

// sm_80 has no such product.
// SM80-LABEL: tile.func @scaled
// SM80: tile.mma {{.*}} : tensor<16x64xf32>, tensor<64x8xf32>, tensor<16x8xf32>
// SM120-LABEL: tile.func @scaled
// SM120: tile.mma %{{.*}}, %{{.*}}, %{{.*}} scaled(%{{.*}}, %{{.*}} : tensor<16x2xi8>, tensor<2x8xi8>) {instruction = #tile.instruction<scaled 16 x 8 x 32>}
tile.func @scaled(%a: tensor<16x64xf8E4M3FN>, %s: tensor<16x2xi8>, %b: tensor<64x8xf8E4M3FN>, %t: tensor<2x8xi8>, %c: tensor<16x8xf32>) {
  %d = tile.mma %a, %b, %c scaled(%s, %t : tensor<16x2xi8>, tensor<2x8xi8>) : tensor<16x64xf8E4M3FN>, tensor<64x8xf8E4M3FN>, tensor<16x8xf32>
  tile.print "d" %d : tensor<16x8xf32>
  tile.return
}

// 8 rows are no whole fragment.
// SM80-LABEL: tile.func @few_rows
// SM80-NOT: sparse(
tile.func @few_rows(%a: tensor<8x32xf16>, %e: tensor<8x2xi32>, %b: tensor<64x8xf16>, %c: tensor<8x8xf32>) {
  %d = tile.mma %a, %b, %c sparse(%e : tensor<8x2xi32>) : tensor<8x32xf16>, tensor<64x8xf16>, tensor<8x8xf32>
  tile.print "d" %d : tensor<8x8xf32>
  tile.return
}
