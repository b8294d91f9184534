// Math functions of f32 become plain arithmetic; f64 and sqrt stay.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --target-expand-math --split-input-file | FileCheck %s
// RUN: tessera-opt %s --target-expand-math=branch-on-large-arguments=true \
// RUN:   --split-input-file | FileCheck %s --check-prefix=BRANCH
// RUN: tessera-opt %s --target-expand-math=avx512=true --split-input-file \
// RUN:   | FileCheck %s --check-prefix=AVX512

// Round to an integer k, a polynomial, and 2^k in two exact factors, so that
// subnormal results are rounded once. No conversion: NaN would be poison.
// CHECK-LABEL: func @exp(
// CHECK-SAME:    %[[X:.*]]: vector<16xf32>)
// CHECK-NOT:     math.exp
// CHECK-NOT:     arith.fptosi
// CHECK:         %[[SUM:.*]] = math.fma
// CHECK:         %[[BITS:.*]] = arith.bitcast %[[SUM]] : vector<16xf32> to vector<16xi32>
// CHECK:         %[[HALF:.*]] = arith.shrui %[[BITS]],
// CHECK:         arith.mulf
// CHECK:         %[[RESULT:.*]] = arith.mulf
// CHECK:         return %[[RESULT]]
func.func @exp(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.exp %x : vector<16xf32>
  return %y : vector<16xf32>
}

// -----

// Every function of the list is expanded, on scalars as well.
// CHECK-LABEL: func @scalars(
// CHECK-NOT:     math.{{exp|log|rsqrt|sin|cos|tanh|erf|pow}}
// CHECK:         return
func.func @scalars(%x: f32, %y: f32) -> f32 {
  %0 = math.exp %x : f32
  %1 = math.exp2 %0 : f32
  %2 = math.expm1 %1 : f32
  %3 = math.log %2 : f32
  %4 = math.log2 %3 : f32
  %5 = math.log1p %4 : f32
  %6 = math.rsqrt %5 : f32
  %7 = math.sin %6 : f32
  %8 = math.cos %7 : f32
  %9 = math.tanh %8 : f32
  %10 = math.erf %9 : f32
  %11 = math.powf %10, %y : f32
  %12, %13 = math.sincos %11 : f32
  %14 = arith.addf %12, %13 : f32
  return %14 : f32
}

// -----

// Weights that are rounded to 16 bits: what x is above an integer, four steps,
// and x itself as the exponent.
// CHECK-LABEL: func @weights(
// CHECK-NOT:     math.exp2
// CHECK-COUNT-6: math.fma
// CHECK:         return
// AVX512-LABEL: func @weights(
// AVX512-SAME:    %[[X:.*]]: vector<16xf32>)
// AVX512:         %[[FLOOR:.*]] = arith.constant 9 : i32
// AVX512:         llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%[[X]], %[[FLOOR]],
// AVX512-COUNT-4: math.fma
// AVX512-NOT:     arith
// AVX512:         llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%{{.*}}, %[[X]],
func.func @weights(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.exp2 %x fastmath<afn> : vector<16xf32>
  return %y : vector<16xf32>
}

// -----

// The hardware has these.
// CHECK-LABEL: func @stays(
// CHECK:         math.sqrt
// CHECK:         math.floor
// CHECK:         math.ceil
// CHECK:         math.roundeven
func.func @stays(%x: f32) -> f32 {
  %0 = math.sqrt %x : f32
  %1 = math.floor %0 : f32
  %2 = math.ceil %1 : f32
  %3 = math.roundeven %2 : f32
  return %3 : f32
}

// -----

// CHECK-LABEL: func @double_stays(
// CHECK:         math.exp %{{.*}} : f64
// CHECK:         math.tanh %{{.*}} : vector<4xf64>
func.func @double_stays(%x: f64, %v: vector<4xf64>) -> (f64, vector<4xf64>) {
  %0 = math.exp %x : f64
  %1 = math.tanh %v : vector<4xf64>
  return %0, %1 : f64, vector<4xf64>
}

// -----

// Half precision is computed in f32 and rounded once at the end.
// CHECK-LABEL: func @half(
// CHECK-SAME:    %[[X:.*]]: vector<8xf16>, %[[Y:.*]]: bf16)
// CHECK:         arith.extf %[[X]] : vector<8xf16> to vector<8xf32>
// CHECK-NOT:     math.tanh
// CHECK:         arith.truncf %{{.*}} : vector<8xf32> to vector<8xf16>
// CHECK:         arith.extf %[[Y]] : bf16 to f32
// CHECK:         arith.truncf %{{.*}} : f32 to bf16
func.func @half(%x: vector<8xf16>, %y: bf16) -> (vector<8xf16>, bf16) {
  %0 = math.tanh %x : vector<8xf16>
  %1 = math.rsqrt %y : bf16
  return %0, %1 : vector<8xf16>, bf16
}

// -----

// Any rank, element by element.
// CHECK-LABEL: func @rank_2(
// CHECK:         %[[S:.*]] = math.sqrt %{{.*}} : vector<4x8xf32>
// CHECK:         arith.divf %{{.*}}, %[[S]] : vector<4x8xf32>
func.func @rank_2(%x: vector<4x8xf32>) -> vector<4x8xf32> {
  %0 = math.rsqrt %x : vector<4x8xf32>
  return %0 : vector<4x8xf32>
}

// -----

// The reduction of large arguments is straight-line code by default; with the
// option it is behind a branch that asks for any large element.
// CHECK-LABEL:  func @sin(
// CHECK-NOT:      scf.if
// CHECK:          arith.muli %{{.*}} : vector<2x4xi64>
// CHECK-NOT:      scf.if
// CHECK:          return
// BRANCH-LABEL: func @sin(
// BRANCH-NOT:     arith.muli
// BRANCH:         %[[FLAT:.*]] = vector.shape_cast %{{.*}} : vector<2x4xi1> to vector<8xi1>
// BRANCH:         %[[ANY:.*]] = vector.reduction <or>, %[[FLAT]]
// BRANCH:         scf.if %[[ANY]]
// BRANCH:           arith.muli %{{.*}} : vector<2x4xi64>
// BRANCH:         } else {
// BRANCH-NOT:       arith.muli
// BRANCH:         return
func.func @sin(%x: vector<2x4xf32>) -> vector<2x4xf32> {
  %0 = math.sin %x : vector<2x4xf32>
  return %0 : vector<2x4xf32>
}

// -----

// Third powers are products.
// CHECK-LABEL: func @third_powers(
// CHECK-SAME:    %[[X:.*]]: vector<16xf32>
// CHECK:         %[[S:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK-NEXT:    %[[C:.*]] = arith.mulf %[[S]], %[[X]]
// CHECK:         %[[T:.*]] = arith.mulf %[[C]], %[[C]]
// CHECK-NEXT:    arith.mulf %[[T]], %[[C]]
func.func @third_powers(%x: vector<16xf32>) -> vector<16xf32> {
  %three = arith.constant dense<3.0> : vector<16xf32>
  %one = arith.constant 3.0 : f32
  %threes = vector.broadcast %one : f32 to vector<16xf32>
  %0 = math.powf %x, %three : vector<16xf32>
  %1 = math.powf %0, %threes : vector<16xf32>
  return %1 : vector<16xf32>
}
