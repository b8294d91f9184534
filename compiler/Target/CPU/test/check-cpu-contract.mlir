// RUN: tessera-opt %s --target-check-cpu-contract --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A tile op that no pass lowered.
tessera_target.kernel @left_over(%n: index) {
  // expected-error @+1 {{'tile.range_at' may not stand in a kernel of the CPU}}
  %r = tile.range_at %n of %n : !tile.range<16>
  tessera_target.return
}

// -----

// LLVM would make code of any type, for as long as that takes.
tessera_target.kernel @wide_vector(%p: !llvm.ptr) {
  // expected-error @+1 {{a machine has registers, vectors of up to 1024 numbers and pointers, not 'vector<1048576xf32>'}}
  %v = llvm.load %p : !llvm.ptr -> vector<1048576xf32>
  tessera_target.return
}

// -----

tessera_target.kernel @odd_integer(%p: !llvm.ptr) {
  // expected-error @+1 {{a machine has registers, vectors of up to 1024 numbers and pointers, not 'i999'}}
  %v = llvm.load %p : !llvm.ptr -> i999
  tessera_target.return
}

// -----

tessera_target.kernel @alignment(%p: !llvm.ptr) {
  // expected-error @+1 {{an alignment is a power of two up to 4096, not 3 : i64}}
  %v = llvm.load %p {alignment = 3 : i64} : !llvm.ptr -> f32
  tessera_target.return
}

// -----

tessera_target.kernel @prefetch(%p: !llvm.ptr) {
  // expected-error @+1 {{a prefetch has rw 0 or 1, a hint of 0 to 3 and cache 0 or 1}}
  "llvm.intr.prefetch"(%p) {rw = 0 : i32, hint = 2 : i32, cache = 2 : i32} : (!llvm.ptr) -> ()
  tessera_target.return
}

// -----

tessera_target.kernel @stack(%n: i64) {
  // expected-error @+1 {{memory on the stack has 1 to 65536 elements, a constant}}
  %v = llvm.alloca %n x f32 : (i64) -> !llvm.ptr
  tessera_target.return
}

// -----

// expected-error @+1 {{takes numbers and pointers, not 'tensor<4xf32>'}}
tessera_target.kernel @argument(%x: tensor<4xf32>) {
  tessera_target.return
}
