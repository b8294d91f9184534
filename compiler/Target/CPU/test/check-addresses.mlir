// RUN: tessera-opt %s --target-check-addresses --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What is left of a loop, at most 16, fits 32 bits.
tessera_target.kernel @tail(%p: !llvm.ptr, %s: !llvm.ptr, %b: i64, %e: i64, %x: !llvm.ptr) {
  %zero = arith.constant 0 : i64
  %lanes = arith.constant 16 : i64
  %n = llvm.load %s : !llvm.ptr -> i64
  %lane = arith.constant dense<[0, 1]> : vector<2xi32>
  scf.for %i = %zero to %n step %lanes : i64 {
    %left = arith.subi %n, %i : i64
    %most = arith.minsi %left, %lanes : i64
    %narrow = arith.trunci %most : i64 to i32
    %all = vector.broadcast %narrow : i32 to vector<2xi32>
    %mask = arith.cmpi slt, %lane, %all : vector<2xi32>
    %at = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %none = arith.constant dense<0.0> : vector<2xf32>
    %v = llvm.intr.masked.load %at, %mask, %none {alignment = 4 : i32} : (!llvm.ptr, vector<2xi1>, vector<2xf32>) -> vector<2xf32>
  }
  tessera_target.return
}

// Without the minimum it does not.
tessera_target.kernel @long_tail(%p: !llvm.ptr, %s: !llvm.ptr, %b: i64, %e: i64, %x: !llvm.ptr) {
  %zero = arith.constant 0 : i64
  %lanes = arith.constant 16 : i64
  %n = llvm.load %s : !llvm.ptr -> i64
  %lane = arith.constant dense<[0, 1]> : vector<2xi32>
  scf.for %i = %zero to %n step %lanes : i64 {
    %left = arith.subi %n, %i : i64
    // expected-error @+1 {{an address or mask is cut to 32 bits, and nothing shows that its value fits}}
    %narrow = arith.trunci %left : i64 to i32
    %all = vector.broadcast %narrow : i32 to vector<2xi32>
    %mask = arith.cmpi slt, %lane, %all : vector<2xi32>
    %at = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %none = arith.constant dense<0.0> : vector<2xf32>
    %v = llvm.intr.masked.load %at, %mask, %none {alignment = 4 : i32} : (!llvm.ptr, vector<2xi1>, vector<2xf32>) -> vector<2xf32>
  }
  tessera_target.return
}

// A row's offset in 32 bits is wrong from 2^31 elements on.
tessera_target.kernel @row(%p: !llvm.ptr, %s: !llvm.ptr, %b: i64, %e: i64, %x: !llvm.ptr) {
  %one = arith.constant 1 : i64
  %stride = llvm.load %s : !llvm.ptr -> i64
  scf.for %i = %b to %e step %one : i64 {
    %offset = arith.muli %i, %stride : i64
    // expected-error @+1 {{cut to 32 bits}}
    %cut = arith.trunci %offset : i64 to i32
    %again = arith.extsi %cut : i32 to i64
    %at = llvm.getelementptr %x[%again] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v = llvm.load %at : !llvm.ptr -> f32
  }
  tessera_target.return
}

// An index that is an element of a tensor of i32 has the user's width.
tessera_target.kernel @gather(%p: !llvm.ptr, %s: !llvm.ptr, %b: i64, %e: i64, %x: !llvm.ptr) {
  %tensor = llvm.load %p : !llvm.ptr -> !llvm.ptr
  %index = llvm.load %tensor : !llvm.ptr -> i64
  %small = arith.trunci %index : i64 to i32
  %wide = arith.extsi %small : i32 to i64
  %at = llvm.getelementptr %x[%wide] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %v = llvm.load %at : !llvm.ptr -> f32
  tessera_target.return
}
