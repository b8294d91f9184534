// The closed list of Schedule IR. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --split-input-file --verify-diagnostics --schedule-check-contract

func.func @outside(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error@+1 {{'gir.neg' may not stand in a function of Schedule IR}}
  %y = gir.neg %x : tensor<?xf32>
  // expected-error@+1 {{returns what no kernel writes}}
  return %y : tensor<?xf32>
}

// -----

func.func @composite(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = sched.fuse @k (%x) numerics = <rows> : (tensor<?x?xf32>) -> tensor<?x?xf32> {
  ^bb0(%a: tensor<?x?xf32>):
    sched.tile 0 by <1, [1], "default">
    sched.tile 1 by <1024, [1024], "default">
    // expected-error@+1 {{'gir.softmax' may not stand in a sched.fuse}}
    %r = gir.softmax %a axis = 1 : tensor<?x?xf32>
    sched.yield %r : tensor<?x?xf32>
  }
  return %y : tensor<?x?xf32>
}

// -----

func.func @twice(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{there is another kernel or function called 'twice'}}
  %y = sched.fuse @twice (%x) numerics = <elementwise> : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<?xf32>):
    sched.tile 0 by <1024, [1024], "default">
    %0 = gir.relu %a : tensor<?xf32>
    sched.yield %0 : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

func.func @undecided(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{there is no sched.tile of loop 0}}
  %y = sched.fuse @k (%x) numerics = <elementwise> : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<?xf32>):
    %0 = gir.relu %a : tensor<?xf32>
    sched.yield %0 : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

func.func @far(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = sched.fuse @k (%x) numerics = <elementwise> : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<?xf32>):
    // expected-error @+1 {{there is no loop 7: the result has 1 axes, and loop 1 is that of reductions}}
    sched.tile 7 by <1024, [1024], "default">
    %0 = gir.relu %a : tensor<?xf32>
    sched.yield %0 : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

func.func @again(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = sched.fuse @k (%x) numerics = <elementwise> : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<?xf32>):
    sched.tile 0 by <1024, [1024], "default">
    // expected-error @+1 {{loop 0 is tiled twice}}
    sched.tile 0 by <1024, [1024], "default">
    %0 = gir.relu %a : tensor<?xf32>
    sched.yield %0 : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

func.func @reduced(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = sched.fuse @k (%x) numerics = <elementwise> : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<?xf32>):
    sched.tile 0 by <1024, [1024], "default">
    // expected-error @+1 {{the loop of reductions is no grid}}
    sched.tile 1 by <1024, [1024], "default">
    %0 = gir.relu %a : tensor<?xf32>
    sched.yield %0 : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

func.func @scanned(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = sched.fuse @k (%x) numerics = <elementwise> : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<?xf32>):
    // expected-error @+1 {{loop 0 runs in order in a program and is no grid}}
    sched.tile 0 by <1024, [1024], "default">
    %0 = gir.scan sum %a axis = 0 : tensor<?xf32> -> tensor<?xf32>
    sched.yield %0 : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

func.func @unwritten(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{returns what no kernel writes}}
  return %x : tensor<?xf32>
}

// -----

func.func @one_for_two(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %y = sched.fuse @k (%x) numerics = <elementwise> : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<?xf32>):
    sched.tile 0 by <1024, [1024], "default">
    %0 = gir.relu %a : tensor<?xf32>
    sched.yield %0 : tensor<?xf32>
  }
  // expected-error @+1 {{returns one value twice}}
  return %y, %y : tensor<?xf32>, tensor<?xf32>
}

// -----

func.func @large(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = sched.fuse @k (%x) numerics = <elementwise> : (tensor<?x?xf32>) -> tensor<?x?xf32> {
  ^bb0(%a: tensor<?x?xf32>):
    sched.tile 0 by <8192, [8192], "default">
    // expected-error @+1 {{a tile of 8192 x 4096 elements; it has at most 2^24}}
    sched.tile 1 by <4096, [4096], "default">
    %0 = gir.relu %a : tensor<?x?xf32>
    sched.yield %0 : tensor<?x?xf32>
  }
  return %y : tensor<?x?xf32>
}

// -----

func.func @rounded(%x: tensor<?xf32>) -> tensor<?xbf16> {
  %y = sched.fuse @k (%x) numerics = <elementwise> : (tensor<?xf32>) -> tensor<?xbf16> {
  ^bb0(%a: tensor<?xf32>):
    sched.tile 0 by <1024, [1024], "default">
    // expected-error @+1 {{kernels round to nearest, not by 'rz'}}
    %0 = gir.cast %a {rounding = "rz"} : tensor<?xf32> -> tensor<?xbf16>
    sched.yield %0 : tensor<?xbf16>
  }
  return %y : tensor<?xbf16>
}
