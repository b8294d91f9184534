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
