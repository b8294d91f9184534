// RUN: tessera-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{ends with plan.return}}
plan.func @func_c1 target "cpu" {
  %c0 = arith.constant 0 : index
}

// -----

plan.func @func_c2 target "cpu" {
  %n = plan.dim "n"
  %x = plan.arg "x" in [%n] : !plan.tensor<f32, 1>
  %size = plan.size %x, 0 : !plan.tensor<f32, 1>
  // expected-error@+1 {{has an axis that is not made of dims, scalars and constants}}
  %y = plan.result "y" [%size] : !plan.tensor<f32, 1>
  plan.return
}

// -----

plan.func @func_c3 target "cpu" {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error@+1 {{is not an op of a plan}}
  scf.for %i = %c0 to %c1 step %c1 {
  }
  plan.return
}

// -----

plan.func @func_c3_bits target "cpu" {
  %n = plan.scalar "n" : index
  // expected-error@+1 {{cannot be computed by a plan}}
  %bits = arith.xori %n, %n : index
  plan.return
}

// -----

plan.func @func_c3_signs target "cpu" {
  %n = plan.scalar "n" : index
  // expected-error@+1 {{cannot be computed by a plan}}
  %less = arith.cmpi ult, %n, %n : index
  plan.return
}

// -----

plan.func @func_c3_tensors target "cpu" {
  %n = plan.dim "n"
  %c = arith.constant true
  %x = plan.arg "x" in [%n] : !plan.tensor<f32, 1>
  // expected-error@+1 {{cannot be computed by a plan}}
  %y = arith.select %c, %x, %x : !plan.tensor<f32, 1>
  plan.return
}

// -----

plan.func @func_c5 target "cpu" {
  %n = plan.scalar "n" : index
  %last = scf.while (%i = %n) : (index) -> index {
    %more = arith.cmpi slt, %i, %n : index
    %twice = arith.addi %i, %i : index
    // expected-error@+1 {{hands on what is not carried}}
    scf.condition(%more) %twice : index
  } do {
  ^bb0(%i: index):
    scf.yield %i : index
  }
  plan.return
}

// -----

plan.func @func_c3_numbers target "cpu" {
  %x = plan.scalar "x" : f64
  %c = arith.constant true
  %y = scf.if %c -> (f64) {
    // expected-error@+1 {{carries integers and conditions}}
    scf.yield %x : f64
  } else {
    scf.yield %x : f64
  }
  plan.return
}

// -----

// expected-error@+1 {{has a brace alone in its message}}
plan.func @func_c4 target "cpu" messages ["n is {n}"] {
  plan.return
}

// -----

plan.func @dim_c1 target "cpu" {
  // expected-error@+1 {{is an axis of no argument}}
  %n = plan.dim "n"
  plan.return
}

// -----

plan.func @arg_c1 target "cpu" {
  %n = plan.dim "n"
  // expected-error@+1 {{has 1 sizes, but 2 axes}}
  %x = plan.arg "x" in [%n] : !plan.tensor<f32, 2>
  plan.return
}

// -----

plan.func @result_c1 target "cpu" {
  // expected-error@+1 {{has 0 sizes, but 1 axes}}
  %x = plan.result "x" [] : !plan.tensor<f32, 1>
  plan.return
}

// -----

plan.func @result_c2 target "cpu" {
  // expected-error@+1 {{is late, and allocated once}}
  %x = plan.result "x" late [] : !plan.tensor<f32, 1>
  plan.return
}

// -----

plan.func @result_c2_early target "cpu" {
  %n = plan.scalar "n" : index
  // expected-error@+1 {{is used before it is allocated}}
  %x = plan.result "x" late [] : !plan.tensor<f32, 1>
  plan.launch @f(%x) grid %n : !plan.tensor<f32, 1>
  plan.alloc_result %x [%n] : !plan.tensor<f32, 1>
  plan.return
}

// -----

plan.func @size_c1 target "cpu" {
  %x = plan.alloc "x" [] -> !plan.tensor<f32, 0>
  // expected-error@+1 {{asks for axis 0 of 0}}
  %n = plan.size %x, 0 : !plan.tensor<f32, 0>
  plan.return
}

// -----

plan.func @stride_c1 target "cpu" {
  %x = plan.alloc "x" [] -> !plan.tensor<f32, 0>
  // expected-error@+1 {{asks for axis -1 of 0}}
  %n = plan.stride %x, -1 : !plan.tensor<f32, 0>
  plan.return
}

// -----

plan.func @load_c1 target "cpu" {
  %c0 = arith.constant 0 : index
  %x = plan.alloc "x" [] -> !plan.tensor<i64, 0>
  // expected-error@+1 {{has 1 indices, but 0 axes}}
  %n = plan.load %x[%c0] : !plan.tensor<i64, 0> -> index
  plan.return
}

// -----

plan.func @load_c2 target "cpu" {
  %x = plan.alloc "x" [] -> !plan.tensor<f32, 0>
  // expected-error@+1 {{reads 'f32' as 'index'}}
  %n = plan.load %x[] : !plan.tensor<f32, 0> -> index
  plan.return
}

// -----

plan.func @load_c2_half target "cpu" {
  %x = plan.alloc "x" [] -> !plan.tensor<f16, 0>
  // expected-error@+1 {{cannot read 'f16'}}
  %n = plan.load %x[] : !plan.tensor<f16, 0> -> f64
  plan.return
}

// -----

plan.func @check_c1 target "cpu" {
  %c = arith.constant true
  // expected-error@+1 {{shows 0 values in 1 places}}
  plan.check %c, "{} of {{{{"
  plan.return
}

// -----

plan.func @check_c1_brace target "cpu" {
  %c = arith.constant true
  // expected-error@+1 {{has a brace alone in its message}}
  plan.check %c, "{n}"
  plan.return
}

// -----

plan.func @expect_c1 target "cpu" {
  %c = arith.constant true
  %x = plan.alloc "x" [] -> !plan.tensor<f32, 0>
  // expected-error@+1 {{reads an i64 without axes}}
  plan.expect %x : !plan.tensor<f32, 0> {
  ^bb0(%v: index):
    plan.holds %c, "no"
  }
  plan.return
}

// -----

plan.func @expect_c2 target "cpu" {
  %c = arith.constant true
  %x = plan.alloc "x" [] -> !plan.tensor<i64, 0>
  plan.expect %x : !plan.tensor<i64, 0> {
  ^bb0(%v: index):
    // expected-error@+1 {{is no integer of plan.expect}}
    %y = plan.alloc "y" [] -> !plan.tensor<i64, 0>
    plan.holds %c, "no"
  }
  plan.return
}

// -----

plan.func @alloc_c1 target "cpu" {
  // expected-error@+1 {{has 0 sizes, but 1 axes}}
  %x = plan.alloc "x" [] -> !plan.tensor<f32, 1>
  plan.return
}

// -----

plan.func @alloc_result_c1 target "cpu" {
  %x = plan.result "x" [] : !plan.tensor<f32, 0>
  // expected-error@+1 {{gives sizes to something else than a late result}}
  plan.alloc_result %x [] : !plan.tensor<f32, 0>
  plan.return
}

// -----

plan.func @fresh_c1 target "cpu" {
  %x = plan.alloc "x" [] -> !plan.tensor<f32, 0>
  // expected-error@+1 {{asks for memory that is never kept}}
  %c = plan.fresh %x : !plan.tensor<f32, 0>
  plan.return
}

// -----

plan.func @view_c1 target "cpu" {
  %c0 = arith.constant 0 : index
  %x = plan.alloc "x" [] -> !plan.tensor<f32, 0>
  // expected-error@+1 {{has 0 strides, but 1 axes}}
  %y = plan.view "y" %x offset %c0 sizes [%c0] strides [] : !plan.tensor<f32, 0> -> !plan.tensor<f32, 1>
  plan.return
}

// -----

plan.func @view_c2 target "cpu" {
  %c0 = arith.constant 0 : index
  %x = plan.alloc "x" [] -> !plan.tensor<f32, 0>
  // expected-error@+1 {{shows 'f32' as 'i32'}}
  %y = plan.view "y" %x offset %c0 sizes [] strides [] : !plan.tensor<f32, 0> -> !plan.tensor<i32, 0>
  plan.return
}

// -----

plan.func @launch_c1 target "cpu" {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{threads is at least 1, not 0}}
  plan.launch @f() grid %c0 threads 0
  plan.return
}

// -----

plan.func @swap_c1 target "cpu" {
  %x = plan.alloc "x" [] -> !plan.tensor<f32, 0>
  %y = plan.result "y" [] : !plan.tensor<f32, 0>
  // expected-error@+1 {{exchanges what plan.alloc makes}}
  plan.swap %x, %y : !plan.tensor<f32, 0>
  plan.return
}

// -----

plan.func @free_c1 target "cpu" {
  %y = plan.result "y" [] : !plan.tensor<f32, 0>
  // expected-error@+1 {{gives back what plan.alloc made in this block}}
  plan.free %y : !plan.tensor<f32, 0>
  plan.return
}

// -----

// expected-error@+2 {{is no type of elements in memory}}
plan.func @tensor_element target "cpu" {
  %y = plan.result "y" [] : !plan.tensor<i7, 0>
  plan.return
}

// -----

plan.func @tensor_rank target "cpu" {
  // expected-error@+1 {{a tensor has 0 to 16 axes, not 17}}
  %y = plan.result "y" [] : !plan.tensor<f32, 17>
  plan.return
}
