// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// One program per numbered constraint of TargetOps.td: @<op>_c<n> breaks it.

tessera_target.kernel @allocate_c1(%size: i64) {
  // expected-error @+1 {{no pool is called 'heap': device, managed, pinned, shared or scratch}}
  %p = tessera_target.allocate %size pool = "heap" align = 64 zero_initialize = false : i64 -> !llvm.ptr
  tessera_target.return
}

// -----

tessera_target.kernel @allocate_c1_align(%size: i64) {
  // expected-error @+1 {{alignment 48 is no power of two}}
  %p = tessera_target.allocate %size pool = "device" align = 48 zero_initialize = false : i64 -> !llvm.ptr
  tessera_target.return
}
