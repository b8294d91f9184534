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

// CHECK-LABEL: tessera_target.kernel @memcpy
// CHECK: tessera_target.memcpy %{{.*}}, %{{.*}}, %{{.*}} kind = "global_to_shared" async = true : !llvm.ptr<3>, !llvm.ptr<1>, i64
tessera_target.kernel @memcpy(%shared: !llvm.ptr<3>, %global: !llvm.ptr<1>, %bytes: i64) {
  tessera_target.memcpy %shared, %global, %bytes kind = "global_to_shared" async = true : !llvm.ptr<3>, !llvm.ptr<1>, i64
  tessera_target.return
}

// CHECK-LABEL: tessera_target.kernel @tensor_core
// CHECK: tessera_target.tensor_core "mma"(%{{.*}}) shape = [16, 8, 16] layout = "nt" precision = "fp16" {arch = "sm_80"}
tessera_target.kernel @tensor_core(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>) {
  %d = tessera_target.tensor_core "mma" (%a, %b, %c) shape = [16, 8, 16] layout = "nt" precision = "fp16" {arch = "sm_80"} : (vector<4xi32>, vector<2xi32>, vector<4xf32>) -> vector<4xf32>
  tessera_target.return
}

// CHECK-LABEL: tessera_target.kernel @ptx_instr
// CHECK: tessera_target.ptx_instr "brev.b32"(%{{.*}}) {constraints = {operand0 = "r"}, latency = 4 : i64} : (i32) -> i32
tessera_target.kernel @ptx_instr(%x: i32) {
  %r = tessera_target.ptx_instr "brev.b32" (%x) {constraints = {operand0 = "r"}, latency = 4 : i64} : (i32) -> i32
  tessera_target.return
}

// The documents' attribute of a search space, and their debug information.
// CHECK-LABEL: tessera_target.kernel @attributes
// CHECK: #tessera_target.thread_config<[16, 16], 4>
tessera_target.kernel @attributes() attributes {threads = #tessera_target.thread_config<[16, 16], 4>, tessera.debug_info = {source_location = "FlashAttention.tessera:42", variable_names = ["Q_tile", "K_tile"], optimization_level = 0 : i64}} {
  tessera_target.return
}

// As the usage guide writes them: clauses in any order, types that follow left
// out, the configuration before the body, no return.
// CHECK-LABEL: tessera_target.kernel @guide
// CHECK-SAME: attributes {arch = "sm_80", config = #tessera_target.kernel_config<grid = [128, 64], block = [256, 1], shared = 49152, regs = 128>}
// CHECK: tessera_target.allocate %{{.*}} pool = "shared" align = 128 zero_initialize = false : i64 -> !llvm.ptr<3>
// CHECK: tessera_target.memcpy %{{.*}}, %{{.*}}, %{{.*}} kind = "global_to_shared" async = true : !llvm.ptr<3>, !llvm.ptr<1>, i64
// CHECK: tessera_target.tensor_core "mma"(%{{.*}}) shape = [16, 8, 16] layout = "nt" precision = "fp16"
// CHECK: tessera_target.return
tessera_target.kernel @guide(%Q_global: !llvm.ptr<1>, %a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>)
config = #tessera_target.kernel_config<
  grid = [128, 64], block = [256, 1],
  shared = 49152,     // 48KB shared memory
  regs = 128
> attributes {arch = "sm_80"} {
  %c16384 = arith.constant 16384 : i64
  %Q_shmem = tessera_target.allocate %c16384
    pool = "shared" align = 128
    : !llvm.ptr<3>
  tessera_target.memcpy %Q_shmem, %Q_global, %c16384
    kind = "global_to_shared"
    async = true
    : !llvm.ptr<3>, !llvm.ptr<1>
  %scores = tessera_target.tensor_core "mma"
    (%a, %b, %c)
    precision = "fp16"
    shape = [16, 8, 16]
    : (vector<4xi32>, vector<2xi32>, vector<4xf32>) -> vector<4xf32>
}

// Copies of the host, with a stream.
// CHECK-LABEL: func @host
// CHECK: tessera_target.allocate %{{.*}} pool = "device" align = 128 zero_initialize = false : i64 -> !llvm.ptr<1>
// CHECK: tessera_target.memcpy %{{.*}}, %{{.*}}, %{{.*}} kind = "device_to_device" async = true stream = %{{.*}} : !llvm.ptr<1>, !llvm.ptr<1>, i64
func.func @host(%size: i64, %src: !llvm.ptr<1>, %stream_id: i64) {
  %device_ptr = tessera_target.allocate %size
    pool = "device"
    align = 128
    zero_initialize = false
    : !llvm.ptr<1>
  tessera_target.memcpy %device_ptr, %src, %size
    kind = "device_to_device"
    async = true
    stream = %stream_id
    : !llvm.ptr<1>, !llvm.ptr<1>
  return
}

// CHECK-LABEL: func @autotuned_operation
// CHECK: thread_mappings = [#tessera_target.thread_config<[16, 16], 4>, #tessera_target.thread_config<[32, 8], 4>, #tessera_target.thread_config<[32, 16], 8>]
func.func @autotuned_operation() attributes {
  tessera.autotuning = {
    tile_sizes = [[64, 64], [128, 64], [128, 128], [256, 64]],
    thread_mappings = [
      #tessera_target.thread_config<[16, 16], 4>,
      #tessera_target.thread_config<[32, 8], 4>,
      #tessera_target.thread_config<[32, 16], 8>
    ],
    memory_layouts = ["row_major", "column_major", "swizzled"],
    pipeline_stages = [2, 3, 4],
    objectives = {
      minimize = "latency",
      maximize = "occupancy",
      constraint = "memory < 48KB"
    },
    search_strategy = "bayesian_optimization",
    evaluation_budget = 100,
    parallel_evaluations = 4
  }
} {
  return
}
