// RUN: tessera-opt %s --tile-prove-barriers --split-input-file --verify-diagnostics | FileCheck %s

// A ring of two slots: each turn waits for its copy, and the barrier lets all
// threads finish with the slot that is filled next. Any number of turns.
// CHECK-LABEL: tile.func @ring
// CHECK-SAME:    proved
tile.func @ring(%A: memref<?x?xf16, strided<[?, 1]>>, %m: !tile.range<16>, %K: index) attributes {block_size = 32 : i64, shared_bytes = 1024 : i64} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %step = arith.constant 16 : index
  %x = tile.alloc {offset = 0 : i64} : !tile.buffer<2x16x16xf16, shared>
  %k0 = tile.range_at %zero of %K : !tile.range<16>
  %s = tile.cp_async %A[%m, %k0] -> %x slot %zero {commit} : memref<?x?xf16, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> !tile.buffer<2x16x16xf16, shared>
  %r:2 = tile.for %k = %zero to %K carry(%reading = %zero, %filling = %one) : !tile.range<16>, (index, index) {
    tile.wait pending = 0
    tile.barrier
    %start = tile.range_start %k : !tile.range<16>
    %next = arith.addi %start, %step : index
    %ahead = tile.range_at %next of %K : !tile.range<16>
    %t = tile.cp_async %A[%m, %ahead] -> %x slot %filling {commit} : memref<?x?xf16, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> !tile.buffer<2x16x16xf16, shared>
    %a = tile.local_load %x slot %reading : !tile.buffer<2x16x16xf16, shared> -> tensor<16x16xf16>
    tile.yield %filling, %reading : index, index
  }
  tile.wait pending = 0
  tile.return
}

// -----

// The same without its barrier.
tile.func @no_barrier(%A: memref<?x?xf16, strided<[?, 1]>>, %m: !tile.range<16>, %K: index) attributes {block_size = 32 : i64, shared_bytes = 1024 : i64} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %step = arith.constant 16 : index
  %x = tile.alloc {offset = 0 : i64} : !tile.buffer<2x16x16xf16, shared>
  %k0 = tile.range_at %zero of %K : !tile.range<16>
  // expected-note @+1 {{written here}}
  %s = tile.cp_async %A[%m, %k0] -> %x slot %zero {commit} : memref<?x?xf16, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> !tile.buffer<2x16x16xf16, shared>
  %r:2 = tile.for %k = %zero to %K carry(%reading = %zero, %filling = %one) : !tile.range<16>, (index, index) {
    tile.wait pending = 0
    %start = tile.range_start %k : !tile.range<16>
    %next = arith.addi %start, %step : index
    %ahead = tile.range_at %next of %K : !tile.range<16>
    %t = tile.cp_async %A[%m, %ahead] -> %x slot %filling {commit} : memref<?x?xf16, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> !tile.buffer<2x16x16xf16, shared>
    // expected-error @+2 {{slot 0, which other threads have written: there was no barrier since}}
    // expected-note @+1 {{the schedule that shows it}}
    %a = tile.local_load %x slot %reading : !tile.buffer<2x16x16xf16, shared> -> tensor<16x16xf16>
    tile.yield %filling, %reading : index, index
  }
  tile.wait pending = 0
  tile.return
}

// -----

// The copy that runs ahead goes into the slot that is being read: the second
// turn shows it.
tile.func @wrong_slot(%A: memref<?x?xf16, strided<[?, 1]>>, %m: !tile.range<16>, %K: index) attributes {block_size = 32 : i64, shared_bytes = 1024 : i64} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %x = tile.alloc {offset = 0 : i64} : !tile.buffer<2x16x16xf16, shared>
  %k0 = tile.range_at %zero of %K : !tile.range<16>
  %s = tile.cp_async %A[%m, %k0] -> %x slot %zero {commit} : memref<?x?xf16, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> !tile.buffer<2x16x16xf16, shared>
  %r = tile.for %k = %zero to %K carry(%reading = %zero) : !tile.range<16>, (index) {
    tile.wait pending = 0
    tile.barrier
    // expected-note @+1 {{read here}}
    %a = tile.local_load %x slot %reading : !tile.buffer<2x16x16xf16, shared> -> tensor<16x16xf16>
    // expected-error @+2 {{slot 0, which other threads may still be reading: there was no barrier since}}
    // expected-note @+1 {{the schedule that shows it}}
    %t = tile.cp_async %A[%m, %k] -> %x slot %reading {commit} : memref<?x?xf16, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> !tile.buffer<2x16x16xf16, shared>
    tile.yield %reading : index
  }
  tile.wait pending = 0
  tile.return
}

// -----

// Nobody waits for the last copy.
tile.func @still_flying(%A: memref<?x?xf16, strided<[?, 1]>>, %m: !tile.range<16>, %k: !tile.range<16>) attributes {block_size = 32 : i64, shared_bytes = 512 : i64} {
  %x = tile.alloc {offset = 0 : i64} : !tile.buffer<16x16xf16, shared>
  // expected-note @+1 {{began here}}
  %s = tile.cp_async %A[%m, %k] -> %x : memref<?x?xf16, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> !tile.buffer<16x16xf16, shared>
  // It is in no group, so this wait does not cover it.
  tile.wait pending = 0
  // expected-error @+2 {{the kernel ends while a copy}}
  // expected-note @+1 {{the schedule that shows it}}
  tile.return
}

// -----

// A slot that comes from memory could be any: refused, not waved through.
tile.func @slot_from_memory(%A: memref<?x?xf16, strided<[?, 1]>>, %m: !tile.range<16>, %k: !tile.range<16>, %S: memref<?xindex>) attributes {block_size = 32 : i64, shared_bytes = 1024 : i64} {
  %zero = arith.constant 0 : index
  %x = tile.alloc {offset = 0 : i64} : !tile.buffer<2x16x16xf16, shared>
  %slot = tile.load %S[%zero] : memref<?xindex>, index -> index
  // expected-error @+1 {{the barrier proof has no model of this, so it is refused: a slot that does not follow from constants}}
  %s = tile.cp_async %A[%m, %k] -> %x slot %slot {commit} : memref<?x?xf16, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> !tile.buffer<2x16x16xf16, shared>
  tile.wait pending = 0
  tile.return
}

// -----

// Two buffers in the same bytes: the second copy may come before the first is
// read everywhere.
tile.func @overlap(%A: memref<?x?xf16, strided<[?, 1]>>, %m: !tile.range<16>, %k: !tile.range<16>) attributes {block_size = 32 : i64, shared_bytes = 512 : i64} {
  %x = tile.alloc {offset = 0 : i64} : !tile.buffer<16x16xf16, shared>
  %y = tile.alloc {offset = 0 : i64} : !tile.buffer<16x16xf16, shared>
  %s = tile.cp_async %A[%m, %k] -> %x {commit} : memref<?x?xf16, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> !tile.buffer<16x16xf16, shared>
  tile.wait pending = 0
  tile.barrier
  // expected-note @+1 {{read here}}
  %a = tile.local_load %x : !tile.buffer<16x16xf16, shared> -> tensor<16x16xf16>
  // expected-error @+2 {{which other threads may still be reading}}
  // expected-note @+1 {{the schedule that shows it}}
  %t = tile.cp_async %A[%m, %k] -> %y {commit} : memref<?x?xf16, strided<[?, 1]>>, !tile.range<16>, !tile.range<16> -> !tile.buffer<16x16xf16, shared>
  tile.wait pending = 0
  tile.return
}

// -----

// A reduction's scratch memory: the op waits for all before it writes there.
// CHECK-LABEL: tile.func @scratch
// CHECK-SAME:    proved
tile.func @scratch(%x: tensor<4x64xf32>) attributes {block_size = 64 : i64, shared_bytes = 128 : i64} {
  %a = tile.reduce max %x axis = 1 {tile.exchange = #tile.exchange<128 at 0>} : tensor<4x64xf32> -> tensor<4xf32>
  %b = tile.reduce sum %x axis = 1 {tile.exchange = #tile.exchange<128 at 0>} : tensor<4x64xf32> -> tensor<4xf32>
  tile.return
}

// -----

// ... unless it says that it does not.
tile.func @unguarded(%x: tensor<4x64xf32>) attributes {block_size = 64 : i64, shared_bytes = 128 : i64} {
  // expected-note @+1 {{read here}}
  %a = tile.reduce max %x axis = 1 {tile.exchange = #tile.exchange<128 at 0>} : tensor<4x64xf32> -> tensor<4xf32>
  // expected-error @+2 {{which other threads may still be reading}}
  // expected-note @+1 {{the schedule that shows it}}
  %b = tile.reduce sum %x axis = 1 {tile.exchange = #tile.exchange<128 at 0, unguarded>} : tensor<4x64xf32> -> tensor<4xf32>
  tile.return
}
