// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// One program per numbered constraint of TargetOps.td: @<op>_c<n> breaks it.

tessera_target.kernel @allocate_c1(%size: i64) {
  // expected-error @+1 {{no pool is called 'heap': device, managed, pinned, shared or scratch}}
  %p = tessera_target.allocate %size pool = "heap" align = 64 zero_initialize = false : i64 -> !llvm.ptr
  tessera_target.return
}

// -----

tessera_target.kernel @allocate_c1_align(%size: i64) {
  // expected-error @+1 {{alignment 48 is no power of two up to 4096}}
  %p = tessera_target.allocate %size pool = "device" align = 48 zero_initialize = false : i64 -> !llvm.ptr
  tessera_target.return
}

// -----

// expected-error @+1 {{no architecture is called 'sm_91'; there are sm_70, sm_75, sm_80,}}
tessera_target.kernel @kernel_c1() attributes {arch = "sm_91"} {
  tessera_target.return
}

// -----

// 48 KB is no limit of sm_90, which has 227 KiB; sm_86 has 99.
tessera_target.kernel @kernel_c2_good() attributes {arch = "sm_90", config = #tessera_target.kernel_config<grid = [128], block = [256, 1], shared = 232448, regs = 128>} {
  tessera_target.return
}

// -----

// expected-error @+1 {{a block of sm_86 has 101376 bytes of shared memory, not 232448}}
tessera_target.kernel @kernel_c2() attributes {arch = "sm_86", config = #tessera_target.kernel_config<grid = [128], block = [256, 1], shared = 232448, regs = 128>} {
  tessera_target.return
}

// -----

// The documents' largest cluster, {8, 4, 1}.
// expected-error @+1 {{a cluster of sm_90a has at most 8 blocks (16 where the launch allows what is not portable), not 32}}
tessera_target.kernel @kernel_c3() attributes {arch = "sm_90", cluster = array<i64: 8, 4, 1>} {
  tessera_target.return
}

// -----

// expected-error @+1 {{clusters need sm_90 and newer, but the kernel is for sm_80}}
tessera_target.kernel @kernel_c3_old() attributes {arch = "sm_80", cluster = array<i64: 2, 1, 1>} {
  tessera_target.return
}

// -----

// expected-error @+1 {{'lines' is none of them}}
tessera_target.kernel @kernel_c4() attributes {tessera.debug_info = {lines = 3 : i64}} {
  tessera_target.return
}

// -----

// expected-error @+1 {{a block has 1 to 1024 threads, this grid 2048}}
tessera_target.kernel @thread_config_c1() attributes {threads = #tessera_target.thread_config<[64, 32], 4>} {
  tessera_target.return
}

// -----

tessera_target.kernel @memcpy_c1(%s: !llvm.ptr<3>, %g: !llvm.ptr<1>, %n: i64) {
  // expected-error @+1 {{no kind of copy is called 'up'}}
  tessera_target.memcpy %s, %g, %n kind = "up" async = false : !llvm.ptr<3>, !llvm.ptr<1>, i64
  tessera_target.return
}

// -----

tessera_target.kernel @memcpy_c2(%s: !llvm.ptr<3>, %g: !llvm.ptr<1>, %n: i64) {
  // expected-error @+1 {{global_to_shared copies from !llvm.ptr<1> to !llvm.ptr<3>, but is given}}
  tessera_target.memcpy %g, %s, %n kind = "global_to_shared" async = false : !llvm.ptr<1>, !llvm.ptr<3>, i64
  tessera_target.return
}

// -----

tessera_target.kernel @memcpy_c3(%s: !llvm.ptr<3>, %g: !llvm.ptr<1>, %n: i64) attributes {arch = "sm_75"} {
  // expected-error @+1 {{sm_75 has no cp.async, which needs sm_80 and newer; async = false copies through registers}}
  tessera_target.memcpy %s, %g, %n kind = "global_to_shared" async = true : !llvm.ptr<3>, !llvm.ptr<1>, i64
  tessera_target.return
}

// -----

tessera_target.kernel @memcpy_c4(%s: !llvm.ptr<3>, %g: !llvm.ptr<1>, %n: i64) {
  // expected-error @+1 {{a stream orders copies on the host}}
  tessera_target.memcpy %s, %g, %n kind = "global_to_shared" async = true stream = %n : !llvm.ptr<3>, !llvm.ptr<1>, i64
  tessera_target.return
}

// -----

// The documents' wgmma of tf32: K is 8 (mission map X4).
tessera_target.kernel @tensor_core_c2(%a: i64, %b: i64, %c: vector<8xf32>) attributes {arch = "sm_90"} {
  // expected-error @+1 {{wgmma of tf32 has shape [64, N, 8], not [64, 256, 32]; K = 32 is 4 steps of 8}}
  %d = tessera_target.tensor_core "wgmma" (%a, %b, %c) shape = [64, 256, 32] layout = "nt" precision = "tf32" : (i64, i64, vector<8xf32>) -> vector<8xf32>
  tessera_target.return
}

// -----

tessera_target.kernel @tensor_core_c2_rows(%a: i64, %b: i64, %c: vector<8xf32>) attributes {arch = "sm_90a"} {
  // expected-error @+1 {{wgmma of bf16 has shape [64, N, 16], not [128, 256, 32]; K = 32 is 2 steps of 16}}
  %d = tessera_target.tensor_core "wgmma" (%a, %b, %c) shape = [128, 256, 32] layout = "nt" precision = "bf16" : (i64, i64, vector<8xf32>) -> vector<8xf32>
  tessera_target.return
}

// -----

tessera_target.kernel @tensor_core_c1(%a: i64, %b: i64, %c: vector<8xf32>) attributes {arch = "sm_100a"} {
  // expected-error @+1 {{wgmma of bf16 needs sm_90a only, but the kernel is for sm_100a; it has mma m16n8k16.f32.bf16.bf16.f32}}
  %d = tessera_target.tensor_core "wgmma" (%a, %b, %c) shape = [64, 256, 16] layout = "nt" precision = "bf16" : (i64, i64, vector<8xf32>) -> vector<8xf32>
  tessera_target.return
}

// -----

// FP8 needs sm_89, FP4 sm_120a (mission map X23).
tessera_target.kernel @tensor_core_c1_fp8(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>) attributes {arch = "sm_86"} {
  // expected-error @+1 {{mma of fp8_e4m3 needs sm_89 and newer, but the kernel is for sm_86}}
  %d = tessera_target.tensor_core "mma" (%a, %b, %c) shape = [16, 8, 32] layout = "nt" precision = "fp8_e4m3" : (vector<4xi32>, vector<2xi32>, vector<4xf32>) -> vector<4xf32>
  tessera_target.return
}

// -----

tessera_target.kernel @tensor_core_c1_fp4(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>) attributes {arch = "sm_90"} {
  // expected-error @+1 {{mma of fp4_e2m1 needs sm_120f and their families, but the kernel is for sm_90a}}
  %d = tessera_target.tensor_core "mma" (%a, %b, %c) shape = [16, 8, 32] layout = "nt" precision = "fp4_e2m1" : (vector<4xi32>, vector<2xi32>, vector<4xf32>) -> vector<4xf32>
  tessera_target.return
}

// -----

tessera_target.kernel @tensor_core_c3(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>) {
  // expected-error @+1 {{mma takes the two operands and the accumulator, and returns a value of the accumulator's type}}
  %d = tessera_target.tensor_core "mma" (%a, %b, %c) shape = [16, 8, 16] layout = "nt" precision = "fp16" : (vector<4xi32>, vector<2xi32>, vector<4xf32>) -> vector<2xf32>
  tessera_target.return
}

// -----

tessera_target.kernel @ptx_instr_c1(%x: i32) {
  // expected-error @+1 {{'brev32' is no instruction of PTX}}
  %r = tessera_target.ptx_instr "brev32.b32" (%x) : (i32) -> i32
  tessera_target.return
}

// -----

tessera_target.kernel @ptx_instr_c1_arch(%x: i32) attributes {arch = "sm_75"} {
  // expected-error @+1 {{'cp.async.commit_group' needs sm_80 and newer, but the kernel is for sm_75}}
  tessera_target.ptx_instr "cp.async.commit_group" () : () -> ()
  tessera_target.return
}

// -----

// Four instructions of the documents that PTX does not have (mission map X5).
tessera_target.kernel @ptx_instr_c2_copy(%s: !llvm.ptr<3>, %g: !llvm.ptr<1>, %d: i64) attributes {arch = "sm_90"} {
  // expected-error @+1 {{PTX has no 'cp.async.bulk.tensor.2d.shared.global'; it is spelt 'cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes'}}
  tessera_target.ptx_instr "cp.async.bulk.tensor.2d.shared.global" (%s, %g, %d) {constraints = {operand0 = "r", operand1 = "l", operand2 = "r"}, latency = 150 : i64} : (!llvm.ptr<3>, !llvm.ptr<1>, i64) -> ()
  tessera_target.return
}

// -----

tessera_target.kernel @ptx_instr_c2_alloc(%n: i32) attributes {arch = "sm_100a"} {
  // expected-error @+1 {{it is spelt 'tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32'}}
  %p = tessera_target.ptx_instr "tcgen05.alloc.tmem" (%n) : (i32) -> i32
  tessera_target.return
}

// -----

tessera_target.kernel @ptx_instr_c2_mma(%a: i32) attributes {arch = "sm_100a"} {
  // expected-error @+1 {{it is spelt 'tcgen05.mma.cta_group::2.kind::f16'}}
  %r = tessera_target.ptx_instr "tcgen05.mma.cta_group::2.async.m128n256k32.f16.f16.f32" (%a, %a, %a, %a) {constraints = {operand0 = "+r", operand1 = "r", operand2 = "r", operand3 = "r"}, latency = 200 : i64} : (i32, i32, i32, i32) -> i32
  tessera_target.return
}

// -----

tessera_target.kernel @ptx_instr_c2_bar() attributes {arch = "sm_100a"} {
  // expected-error @+1 {{it is spelt 'tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64'}}
  tessera_target.ptx_instr "tcgen05.bar.cta_group::2" () : () -> ()
  tessera_target.return
}

// -----

tessera_target.kernel @ptx_instr_c3(%x: i32) {
  // expected-error @+1 {{no constraint is called 'q'}}
  %r = tessera_target.ptx_instr "brev.b32" (%x) {constraints = {operand0 = "q"}} : (i32) -> i32
  tessera_target.return
}

// -----

tessera_target.kernel @tensor_core_c4(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>) {
  // expected-error @+1 {{mma of fp16 takes its right operand by columns: layout = "nt"}}
  %d = tessera_target.tensor_core "mma" (%a, %b, %c) shape = [16, 8, 16] layout = "nn" precision = "fp16" : (vector<4xi32>, vector<2xi32>, vector<4xf32>) -> vector<4xf32>
  tessera_target.return
}

// -----

// bf16 has no mma before sm_80 (mission map X23).
tessera_target.kernel @tensor_core_c1_bf16(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>) attributes {arch = "sm_75"} {
  // expected-error @+1 {{mma of bf16 needs sm_80 and newer, but the kernel is for sm_75}}
  %d = tessera_target.tensor_core "mma" (%a, %b, %c) shape = [16, 8, 16] precision = "bf16" : (vector<4xi32>, vector<2xi32>, vector<4xf32>) -> vector<4xf32>
}

// -----

// The guide's pooled 256 KB: a block has its own memory, and less of it (mission map X13).
// expected-error @+1 {{a block of sm_90a has 232448 bytes of shared memory, not 262144}}
tessera_target.kernel @kernel_c2_pool() config = #tessera_target.kernel_config<grid = [], block = [128, 1], shared = 262144, regs = 0> attributes {arch = "sm_90", cluster = array<i64: 4, 2, 1>} {
  tessera_target.return
}

// -----

// expected-error @+1 {{its config has a block of 128 threads, its thread_config a grid of 256}}
tessera_target.kernel @kernel_c5() config = #tessera_target.kernel_config<grid = [], block = [128, 1], shared = 0, regs = 0> attributes {threads = #tessera_target.thread_config<[16, 16], 4>} {
  tessera_target.return
}

// -----

// expected-error @+1 {{a source_location is "file:line", not "FlashAttention.tessera"}}
tessera_target.kernel @kernel_c4_line() attributes {tessera.debug_info = {source_location = "FlashAttention.tessera"}} {
  tessera_target.return
}

// -----

tessera_target.kernel @memcpy_without_kind(%s: !llvm.ptr<3>, %g: !llvm.ptr<1>, %n: i64) {
  // expected-error @+1 {{'kind = ' is missing}}
  tessera_target.memcpy %s, %g, %n async = false : !llvm.ptr<3>, !llvm.ptr<1>
}

// -----

tessera_target.kernel @allocate_twice(%n: i64) {
  // expected-error @+1 {{'align' is there twice}}
  %p = tessera_target.allocate %n align = 64 pool = "shared" align = 128 : !llvm.ptr<3>
}

// -----

tessera_target.kernel @ptx_instr_c1_suffix(%x: i32) {
  // expected-error @+1 {{PTX's 'brev' has no '.u32'; there is .b32 .b64}}
  %r = tessera_target.ptx_instr "brev.u32" (%x) : (i32) -> i32
}

// -----

tessera_target.kernel @ptx_instr_c1_suffix_long(%p: !llvm.ptr<1>) {
  // expected-error @+1 {{PTX's 'ld' has no '.globl'; there is .global}}
  %r = tessera_target.ptx_instr "ld.globl.u32" (%p) : (!llvm.ptr<1>) -> i32
}

// -----

// expected-error @+1 {{a block has 1 to 1024 threads, not -1}}
tessera_target.kernel @kernel_c6() config = #tessera_target.kernel_config<grid = [], block = [2147483648, 2147483648], shared = 0, regs = 0> {
  tessera_target.return
}

// -----

// expected-error @+1 {{shared = -1, regs = 0 is what no machine has}}
tessera_target.kernel @kernel_c6_shared() config = #tessera_target.kernel_config<grid = [], block = [1, 1], shared = -1, regs = 0> {
  tessera_target.return
}
