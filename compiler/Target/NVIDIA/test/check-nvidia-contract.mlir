// RUN: tessera-opt %s --target-check-nvidia-contract --split-input-file --verify-diagnostics

// A kernel of one thread is the CPU's: not looked at here.
tessera_target.kernel @cpu(%p: !llvm.ptr) attributes {config = #tessera_target.kernel_config<grid = [], block = [1, 1], shared = 0, regs = 0>} {
  %x = vector.constant_mask [1] : vector<4xi1>
  tessera_target.return
}

// -----

tessera_target.kernel @vectors(%p: !llvm.ptr<1>) attributes {config = #tessera_target.kernel_config<grid = [], block = [32, 1], shared = 0, regs = 0>} {
  // expected-error @below {{'vector.constant_mask' may not stand in a kernel of an NVIDIA GPU}}
  %x = vector.constant_mask [1] : vector<4xi1>
  tessera_target.return
}

// -----

// There is no expansion for it, and no library on the GPU.
tessera_target.kernel @wide(%x: f64, %y: f32) attributes {config = #tessera_target.kernel_config<grid = [], block = [32, 1], shared = 0, regs = 0>} {
  // expected-error @below {{not yet: erfc of fp64 on a GPU}}
  // expected-note @below {{fix: target="cpu", which has it}}
  %a = math.erfc %x : f64
  %d = math.exp %x : f64
  %b = math.exp %y : f32
  %c = math.sqrt %x : f64
  tessera_target.return
}

// -----

// LLVM ends the process where inline PTX does not fit its registers.
tessera_target.kernel @ptx(%p: i64, %x: i32, %y: f32) attributes {config = #tessera_target.kernel_config<grid = [], block = [32, 1], shared = 0, regs = 0>} {
  %good = llvm.inline_asm asm_dialect = att "add.u32 $0, $1, $1; // $$", "=&r,r" %x : (i32) -> i32
  // expected-error @below {{inline PTX with 1 constraints has 2 results and operands}}
  %a = llvm.inline_asm asm_dialect = att "add.u32 $0, $1, $1;", "=r" %x : (i32) -> i32
  // expected-error @below {{'=q' is no constraint of a result of PTX; there are = and b, h, r, l, f and d}}
  %b = llvm.inline_asm asm_dialect = att "add.u32 $0, $1, $1;", "=q,r" %x : (i32) -> i32
  // expected-error @below {{'=r' is no constraint of an operand of PTX; there are b, h, r, l, f and d}}
  %c = llvm.inline_asm asm_dialect = att "add.u32 $0, $1, $1;", "=r,=r" %x : (i32) -> i32
  // expected-error @below {{a register 'r' does not hold 'f32'}}
  %d = llvm.inline_asm asm_dialect = att "add.u32 $0, $1, $1;", "=r,r" %y : (f32) -> i32
  // expected-error @below {{the text names '$2', but its registers are numbered from 0 to 1}}
  %e = llvm.inline_asm asm_dialect = att "add.u32 $0, $1, $2;", "=r,r" %x : (i32) -> i32
  // expected-error @below {{the text names '$c', but its registers are numbered from 0 to 1}}
  %f = llvm.inline_asm asm_dialect = att "add.u32 $0, $1, $c;", "=r,r" %x : (i32) -> i32
  // expected-error @below {{inline PTX has a text, constraints and has_side_effects, nothing else}}
  %g = llvm.inline_asm asm_dialect = intel "add.u32 $0, $1, $1;", "=r,r" %x : (i32) -> i32
  tessera_target.return
}

// -----

tessera_target.kernel @instructions(%x: i32, %pair: vector<2xf16>) attributes {config = #tessera_target.kernel_config<grid = [], block = [32, 1], shared = 0, regs = 0>} {
  // expected-error @below {{'nvvm.read.ptx.sreg.clock' may not stand in a kernel of an NVIDIA GPU}}
  %a = nvvm.read.ptx.sreg.clock : i32
  // expected-error @below {{a number of a thread is an i32 without a range}}
  %b = nvvm.read.ptx.sreg.tid.x : i64
  // expected-error @below {{lanes exchange i32 or f32}}
  %c = nvvm.shfl.sync bfly %x, %x, %x, %x {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
  tessera_target.return
}

// -----

tessera_target.kernel @bits(%pair: vector<2xf16>) attributes {config = #tessera_target.kernel_config<grid = [], block = [32, 1], shared = 0, regs = 0>} {
  %a = llvm.bitcast %pair : vector<2xf16> to i32
  // expected-error @below {{the bits of 'vector<2xf16>' are not those of 'i64'}}
  %b = llvm.bitcast %pair : vector<2xf16> to i64
  tessera_target.return
}
