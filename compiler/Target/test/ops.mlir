// RUN: tessera-opt %s | tessera-opt | FileCheck %s

// Every op of Target IR, printed and read again.

// CHECK-LABEL: tessera_target.kernel @k
// CHECK: #tessera_target.kernel_config<grid = [], block = [1, 1], shared = 0, regs = 0>
// CHECK: tessera_target.return
tessera_target.kernel @k(%p: !llvm.ptr) attributes {config = #tessera_target.kernel_config<grid = [], block = [1, 1], shared = 0, regs = 0>} {
  tessera_target.return
}

// CHECK-LABEL: tessera_target.kernel @allocate
// CHECK: tessera_target.allocate %{{.*}} pool = "device" align = 128 zero_initialize = false : i64 ->
tessera_target.kernel @allocate(%size: i64) {
  %p = tessera_target.allocate %size pool = "device" align = 128 zero_initialize = false : i64 -> !llvm.ptr<1>
  tessera_target.return
}

// CHECK-LABEL: tessera_target.kernel @assert
// CHECK: tessera_target.assert %{{.*}} message = "an index is out of range"
tessera_target.kernel @assert(%c: i1) {
  tessera_target.assert %c message = "an index is out of range"
  tessera_target.return
}

// CHECK-LABEL: tessera_target.kernel @breakpoint
// CHECK: tessera_target.breakpoint label = "after the loop"
tessera_target.kernel @breakpoint() {
  tessera_target.breakpoint label = "after the loop"
  tessera_target.return
}

// CHECK-LABEL: func @call
// CHECK: tessera_target.call "tsr_print_begin" text "x is {}"(%{{.*}}) : i64
// CHECK: tessera_target.call "tsr_print_end"()
func.func @call(%program: i64) {
  tessera_target.call "tsr_print_begin" text "x is {}" (%program) : i64
  tessera_target.call "tsr_print_end"()
  return
}
