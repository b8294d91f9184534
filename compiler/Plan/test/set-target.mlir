// The plan names the machine that its kernels are for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: tessera-opt %s --plan-set-target=target=sm_80 | FileCheck %s

// CHECK: plan.func @copy target "sm_80"
plan.func @copy target "cpu" {
  %n = plan.dim "n"
  %x = plan.arg "x" in [%n] : !plan.tensor<f32, 1>
  %y = plan.result "y" [%n] : !plan.tensor<f32, 1>
  plan.launch @copy_0(%x, %y) grid %n : !plan.tensor<f32, 1>, !plan.tensor<f32, 1>
  plan.return
}
