// RUN: tessera-opt %s | tessera-opt | FileCheck %s

// Every op of a plan, printed and read again.

// CHECK-LABEL: plan.func @copy target "cpu"
// CHECK: %[[N:.*]] = plan.dim "n"
// CHECK: %[[X:.*]] = plan.arg "x" in[%[[N]]] : <f32, 1>
// CHECK: %[[Y:.*]] = plan.result "y"[%[[N]]] : <f32, 1>
// CHECK: plan.launch @copy_0(%[[X]], %[[Y]]) grid %{{.*}} : !plan.tensor<f32, 1>, !plan.tensor<f32, 1>
plan.func @copy target "cpu" {
  %n = plan.dim "n"
  %x = plan.arg "x" in [%n] : !plan.tensor<f32, 1>
  %y = plan.result "y" [%n] : !plan.tensor<f32, 1>
  %c64 = arith.constant 64 : index
  %programs = arith.ceildivsi %n, %c64 : index
  plan.launch @copy_0(%x, %y) grid %programs : !plan.tensor<f32, 1>, !plan.tensor<f32, 1>
  plan.return
}

// CHECK-LABEL: plan.func @header target "sm_80" features ["avx2"] messages ["n is odd"] attributes {note = "kept"}
plan.func @header target "sm_80" features ["avx2"] messages ["n is odd"] attributes {note = "kept"} {
  plan.return
}

// CHECK-LABEL: plan.func @arguments
// CHECK: plan.scalar "alpha" : f64
// CHECK: plan.scalar "causal" : i1
// CHECK: plan.arg "A" inout
// CHECK: plan.arg "B" out
// CHECK: plan.arg "H" reduce
// CHECK: plan.result "found" late[] : <i64, 1>
plan.func @arguments target "cpu" {
  %alpha = plan.scalar "alpha" : f64
  %causal = plan.scalar "causal" : i1
  %m = plan.dim "M"
  %k = plan.dim "K"
  %both = arith.muli %m, %k : index
  %a = plan.arg "A" inout [%m, %k] : !plan.tensor<f32, 2>
  %b = plan.arg "B" out [%both] : !plan.tensor<bf16, 1>
  %h = plan.arg "H" reduce [%k] : !plan.tensor<i32, 1>
  %found = plan.result "found" late [] : !plan.tensor<i64, 1>
  // CHECK: plan.alloc_result %{{.*}}[%{{.*}}] : <i64, 1>
  plan.alloc_result %found [%m] : !plan.tensor<i64, 1>
  plan.return
}

// CHECK-LABEL: plan.func @steps
plan.func @steps target "cpu" {
  %alpha = plan.scalar "alpha" : f64
  %n = plan.dim "n"
  %m = plan.dim "m"
  %x = plan.arg "x" in [%m, %n] : !plan.tensor<f32, 2>
  %y = plan.arg "y" out [%m] : !plan.tensor<f32, 1>
  %zero = arith.constant 0 : index
  // CHECK: plan.size %{{.*}}, 0 : <f32, 2>
  %size = plan.size %x, 0 : !plan.tensor<f32, 2>
  // CHECK: plan.stride %{{.*}}, 1 : <f32, 2>
  %s1 = plan.stride %x, 1 : !plan.tensor<f32, 2>
  %s0 = plan.stride %x, 0 : !plan.tensor<f32, 2>
  // CHECK: plan.mod
  %rest = plan.mod %size, %n
  // CHECK: plan.address
  %where = plan.address %x : !plan.tensor<f32, 2>
  // CHECK: plan.is_constant
  %kept = plan.is_constant %x : !plan.tensor<f32, 2>
  %even = arith.cmpi eq, %rest, %zero : index
  // CHECK: plan.check %{{.*}}, "n is {}, but must be even"(%{{.*}}) : index
  plan.check %even, "n is {}, but must be even" (%n) : index
  // CHECK: plan.check %{{.*}}, "no"
  plan.check %even, "no"
  // CHECK: plan.view "t" %{{.*}} offset %{{.*}} sizes[%{{.*}}, %{{.*}}] strides[%{{.*}}, %{{.*}}] : <f32, 2> -> <f32, 2>
  %t = plan.view "t" %x offset %zero sizes [%n, %m] strides [%s1, %s0] : !plan.tensor<f32, 2> -> !plan.tensor<f32, 2>
  // CHECK: plan.alloc "new"[%{{.*}}] -> <f32, 1>
  %new = plan.alloc "new" [%n] -> !plan.tensor<f32, 1>
  %old = plan.alloc "old" [%n] -> !plan.tensor<f32, 1>
  // CHECK: plan.alloc "panels"[%{{.*}}] of %{{.*}} : !plan.tensor<f32, 2> -> <f32, 1>
  %panels = plan.alloc "panels" [%n] of %x : !plan.tensor<f32, 2> -> !plan.tensor<f32, 1>
  // CHECK: plan.fresh
  %fill = plan.fresh %panels : !plan.tensor<f32, 1>
  %ns = arith.muli %n, %m : index
  %programs = arith.addi %n, %m : index
  // CHECK: plan.launch @scale_0(%{{.*}}, %{{.*}}) with(%{{.*}} : f64) grid %{{.*}} work %{{.*}} threads 2
  plan.launch @scale_0(%new, %y) with (%alpha : f64) grid %programs work %ns threads 2 : !plan.tensor<f32, 1>, !plan.tensor<f32, 1>
  // CHECK: plan.swap %{{.*}}, %{{.*}} : <f32, 1>
  plan.swap %new, %old : !plan.tensor<f32, 1>
  // CHECK: plan.free
  plan.free %old : !plan.tensor<f32, 1>
  %worst = plan.alloc "worst" [] -> !plan.tensor<i64, 0>
  // CHECK: plan.load %{{.*}}[] : <i64, 0> -> index
  %count = plan.load %worst[] : !plan.tensor<i64, 0> -> index
  // CHECK: plan.expect %{{.*}} : <i64, 0> {
  // CHECK: plan.holds %{{.*}}, "index {} is outside of {} elements"(%{{.*}}, %{{.*}}) : index, index
  plan.expect %worst : !plan.tensor<i64, 0> {
  ^bb0(%index: index):
    %holds = arith.cmpi slt, %index, %n : index
    plan.holds %holds, "index {} is outside of {} elements" (%index, %n) : index, index
  }
  plan.return
}
