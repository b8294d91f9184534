//===- ErrorsTest.cpp - What a user reads who got a tensor wrong ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole texts: the message, the line with its caret, where both sides come
// from, the fix.
//
//===----------------------------------------------------------------------===//

#include "test/unit/tensors/Program.h"
#include <gtest/gtest.h>

namespace {

struct Mistake {
  const char *name;
  const char *parameters;
  std::vector<std::string> body;
  const char *text;
};

void PrintTo(const Mistake &mistake, std::ostream *out) {
  *out << mistake.name;
}

class Errors : public testing::TestWithParam<Mistake> {};

TEST_P(Errors, AreExplained) {
  const Mistake &mistake = GetParam();
  Outcome outcome = analyzeBody(mistake.parameters, mistake.body);
  EXPECT_EQ(outcome.ir, "");
  EXPECT_EQ(outcome.errors, mistake.text);
}

const Mistake mistakes[] = {
    {"add_names_differ",
     "x: [M], y: [N]",
     {"return x + y"},
     R"(f.py:2:12: error: + joins axis 0 of x (M) with axis 0 of y (N); they must be equal
    2 |     return x + y
      |            ^~~~~
 note: f.py:1:7: x is [M] fp32
 note: f.py:1:23: y is [N] fp32
 fix:  one name for both dims, if they are one size
)"},
    {"add_sizes_differ",
     "x: [4, 8], y: [4, 6]",
     {"return x + y"},
     R"(f.py:2:12: error: + joins axis 1 of x (8) with axis 1 of y (6); they must be equal
    2 |     return x + y
      |            ^~~~~
 note: f.py:1:7: x is [4, 8] fp32
 note: f.py:1:10: y is [4, 6] fp32
)"},
    {"add_column_fix",
     "x: [M, N], v: [M]",
     {"return x + v"},
     R"(f.py:2:12: error: + joins axis 1 of x (N) with axis 0 of v (M); they must be equal
    2 |     return x + v
      |            ^~~~~
 note: f.py:1:7: x is [M, N] fp32
 note: f.py:1:28: v is [M] fp32
 fix:  x + v[:, None]
)"},
    {"named_dim_does_not_broadcast",
     "x: [M=1, N], y: [5, N]",
     {"return x + y"},
     R"(f.py:2:12: error: + joins axis 0 of x (M=1) with axis 0 of y (5); they must be equal, because a named dim does not broadcast
    2 |     return x + y
      |            ^~~~~
 note: f.py:1:7: x is [M=1, N] fp32
 note: f.py:1:28: y is [5, N] fp32
 fix:  1 in the annotation instead of M, if it is to be repeated
)"},
    {"dtype_conflict",
     "x: [4] f16, y: [4] bf16",
     {"return x + y"},
     R"(f.py:2:12: error: + mixes fp16 with bf16: x is [4] fp16, y is [4] bf16
    2 |     return x + y
      |            ^~~~~
 note: f.py:1:7: x is [4] fp16
 note: f.py:1:10: y is [4] bf16
 fix:  x.to(fp32) + y
)"},
    {"int_with_float",
     "x: [4] i32",
     {"return x * 0.5"},
     R"(f.py:2:12: error: * mixes i32 with a float: x is [4] i32, 0.5 is the float 0.5
    2 |     return x * 0.5
      |            ^~~~~~~
 note: f.py:1:7: x is [4] i32
 fix:  x.to(fp32) * 0.5
)"},
    {"true_division_of_ints",
     "x: [4] i32, y: [4] i32",
     {"return x / y"},
     R"(f.py:2:12: error: / of ints: x is [4] i32, y is [4] i32
    2 |     return x / y
      |            ^~~~~
 note: f.py:1:7: x is [x.shape[0]] i32
 fix:  x.to(fp32) / y.to(fp32), or x // y to round down
)"},
    {"add_bools",
     "x: [4] bool, y: [4] bool",
     {"return x + y"},
     R"(f.py:2:12: error: + of bool: x is [4] bool
    2 |     return x + y
      |            ^~~~~
 note: f.py:1:7: x is [x.shape[0]] bool
 fix:  x.to(i32)
)"},
    {"exp_of_int",
     "x: [4] i64",
     {"return tsr.exp(x)"},
     R"(f.py:2:20: error: exp needs a float, but x is [4] i64
    2 |     return tsr.exp(x)
      |                    ^
 note: f.py:1:7: x is [4] i64
 fix:  x.to(fp32)
)"},
    {"matmul_sizes",
     "q: [S, D], k: [T, D]",
     {"return q @ k"},
     R"(f.py:2:12: error: @ joins axis 1 of q (D) with axis 0 of k (T); they must be equal
    2 |     return q @ k
      |            ^~~~~
 note: f.py:1:7: q is [S, D] fp32
 note: f.py:1:28: k is [T, D] fp32
 fix:  q @ k.T
)"},
    {"matmul_transposed_twice",
     "a: [M, K], b: [K, N]",
     {"return a @ b.T"},
     R"(f.py:2:12: error: @ joins axis 1 of a (K) with axis 0 of b.T (N); they must be equal
    2 |     return a @ b.T
      |            ^~~~~~~
 note: f.py:1:7: a is [M, K] fp32
 note: b.T is [N, K] fp32
 fix:  a @ b
)"},
    {"matmul_of_a_transposed_sum",
     "a: [M, K], b: [K, N]",
     {"return (a - 1.0) @ (b + 1.0).T"},
     R"(f.py:2:12: error: @ joins axis 1 of a - 1.0 (K) with axis 0 of (b + 1.0).T (N); they must be equal
    2 |     return (a - 1.0) @ (b + 1.0).T
      |            ^~~~~~~~~~~~~~~~~~~~~~~
 note: a - 1.0 is [M, K] fp32
 note: (b + 1.0).T is [N, K] fp32
 note: f.py:1:7: a is [M, K] fp32
 fix:  (a - 1.0) @ (b + 1.0)
)"},
    {"matmul_of_a_sum",
     "a: [M, K], b: [N, K]",
     {"return a @ (b + 1.0)"},
     R"(f.py:2:12: error: @ joins axis 1 of a (K) with axis 0 of b + 1.0 (N); they must be equal
    2 |     return a @ (b + 1.0)
      |            ^~~~~~~~~~~~~
 note: f.py:1:7: a is [M, K] fp32
 note: b + 1.0 is [N, K] fp32
 fix:  a @ (b + 1.0).T
)"},
    {"matmul_dtypes",
     "p: [M, K], v: [K, N] f16",
     {"q = p + 1.0", "return q @ v"},
     R"(f.py:3:12: error: @ needs equal dtypes: q is fp32 (line 2), v is fp16 (line 1)
    3 |     return q @ v
      |            ^~~~~
 note: f.py:2:5: q is [M, K] fp32
 note: f.py:1:28: v is [K, N] fp16
 fix:  q.to(v.dtype) @ v
)"},
    {"matmul_of_number",
     "x: [4, 4]",
     {"return x @ 2.0"},
     R"(f.py:2:16: error: @ needs tensors, but 2.0 is the float 2.0
    2 |     return x @ 2.0
      |                ^~~
 fix:  x * 2.0
)"},
    {"batch_sizes",
     "a: [2, 4, 8], b: [3, 8, 4]",
     {"return a @ b"},
     R"(f.py:2:12: error: @ joins axis 0 of a (2) with axis 0 of b (3); they must be equal
    2 |     return a @ b
      |            ^~~~~
 note: f.py:1:7: a is [2, 4, 8] fp32
 note: f.py:1:10: b is [3, 8, 4] fp32
)"},
    {"axis_out_of_range",
     "x: [M, N]",
     {"return tsr.softmax(x, dim=2)"},
     R"(f.py:2:31: error: there is no axis 2 in x: [M, N] fp32, which has 2 axes
    2 |     return tsr.softmax(x, dim=2)
      |                               ^
 note: f.py:1:7: x is [M, N] fp32
 fix:  dim=-1
)"},
    {"axis_of_other_dim",
     "x: [M, N], y: [K]",
     {"return tsr.sum(x, K)"},
     R"(f.py:2:23: error: no axis of [M, N] fp32 is K
    2 |     return tsr.sum(x, K)
      |                       ^
 note: f.py:1:28: dim K
 fix:  dim=-1
)"},
    {"reshape_count",
     "x: [4, 6]",
     {"return x.reshape(5, 5)"},
     R"(f.py:2:12: error: reshape of x [4, 6] to [5, 5]: 24 elements do not fill 25
    2 |     return x.reshape(5, 5)
      |            ^~~~~~~~~~~~~~~
 note: f.py:1:7: x is [4, 6] fp32
 fix:  x.reshape(-1)
)"},
    {"reshape_two_unknown",
     "x: [4, 6]",
     {"return x.reshape(-1, -1)"},
     R"(f.py:2:26: error: reshape: -1 stands for one size, not two
    2 |     return x.reshape(-1, -1)
      |                          ^~
 fix:  -1 once, the other sizes as numbers or dims
)"},
    {"cat_sizes",
     "x: [4, 6], y: [5, 7]",
     {"return tsr.cat([x, y], dim=0)"},
     R"(f.py:2:12: error: cat along axis 0 needs the other axes equal: axis 1 of x is 6, of y 7
    2 |     return tsr.cat([x, y], dim=0)
      |            ^~~~~~~~~~~~~~~~~~~~~~
 note: f.py:1:7: x is [4, 6] fp32
 note: f.py:1:10: y is [5, 7] fp32
 fix:  dim=1
)"},
    {"index_out_of_range",
     "x: [4]",
     {"return x[7]"},
     R"(f.py:2:14: error: index 7 is out of range: axis 0 of x has size 4
    2 |     return x[7]
      |              ^
 note: f.py:1:7: x is [4] fp32
 fix:  x[-1]
)"},
    {"too_many_indices",
     "x: [M, N]",
     {"return x[0, 0, 0]"},
     R"(f.py:2:14: error: 3 indices into x, which is [M, N] fp32
    2 |     return x[0, 0, 0]
      |              ^~~~~~~
 note: f.py:1:7: x is [M, N] fp32
 fix:  x[0, 0]
)"},
    {"bool_mask",
     "x: [4]",
     {"return x[x > 0.0]"},
     R"(f.py:2:14: error: a bool tensor as an index makes a size that depends on the values
    2 |     return x[x > 0.0]
      |              ^~~~~~~
 note: f.py:1:7: x is [x.shape[0]] fp32
 fix:  tsr.where(x > 0.0, x, 0)
)"},
    {"squeeze_named",
     "x: [M, N]",
     {"return x.squeeze(0)"},
     R"(f.py:2:22: error: squeeze drops axes of size 1, but axis 0 of x is M
    2 |     return x.squeeze(0)
      |                      ^
 fix:  x, or [..., 0] for one position of the axis
)"},
    {"T_of_rank_3",
     "x: [2, 3, 4]",
     {"return x.T"},
     R"(f.py:2:14: error: .T needs 2 axes, but x is [2, 3, 4] fp32
    2 |     return x.T
      |              ^
 fix:  x.mT
)"},
    {"permute_count",
     "x: [2, 3, 4]",
     {"return x.permute(1, 0)"},
     R"(f.py:2:12: error: permute needs every axis of [2, 3, 4] fp32 once, but has 2
    2 |     return x.permute(1, 0)
      |            ^~~~~~~~~~~~~~~
 note: f.py:1:7: x is [x.shape[0], x.shape[1], x.shape[2]] fp32
 fix:  x.permute(1, 0, 2)
)"},
    {"not_yet",
     "x: [4, 4]",
     {"return tsr.einsum(\"ij->ji\", x)"},
     R"(f.py:2:16: error: not yet: tsr.einsum in a function
    2 |     return tsr.einsum("ij->ji", x)
      |                ^~~~~~
 fix:  tsr.sum(a * b, dim=-1), a @ b, or x.permute
)"},
    {"unknown_function",
     "x: [4]",
     {"return tsr.sofmax(x)"},
     R"(f.py:2:16: error: tessera has no 'sofmax'
    2 |     return tsr.sofmax(x)
      |                ^~~~~~
 fix:  tsr.softmax(x)
)"},
    {"unknown_method",
     "x: [4]",
     {"return x.sotfmax()"},
     R"(f.py:2:14: error: a tensor has no method 'sotfmax'; x is [x.shape[0]] fp32
    2 |     return x.sotfmax()
      |              ^~~~~~~
 fix:  x.softmax()
)"},
    {"unknown_keyword",
     "x: [4, 4]",
     {"return tsr.sum(x, dims=1)"},
     R"(f.py:2:23: error: sum has no argument 'dims'; it takes input, dim=, keepdim=
    2 |     return tsr.sum(x, dims=1)
      |                       ^~~~~~
 fix:  tsr.sum(x, dim=1)
)"},
    {"kernel_only",
     "x: [4]",
     {"return tsr.load(x, (0,))"},
     R"(f.py:2:16: error: tsr.load is for kernels, not for functions
    2 |     return tsr.load(x, (0,))
      |                ^~~~
 fix:  x
)"},
    {"where_condition",
     "x: [4]",
     {"return tsr.where(x, x, 0.0)"},
     R"(f.py:2:22: error: the condition of where is bool, but x is [4] fp32
    2 |     return tsr.where(x, x, 0.0)
      |                      ^
 note: f.py:1:7: x is [x.shape[0]] fp32
 fix:  x != 0
)"},
    {"norm_weight_size",
     "x: [M, N], w: [M]",
     {"return tsr.layer_norm(x, w, w)"},
     R"(f.py:2:30: error: layer_norm joins axis 1 of x (N) with axis 0 of w (M); they must be equal
    2 |     return tsr.layer_norm(x, w, w)
      |                              ^
 note: f.py:1:7: x is [M, N] fp32
 note: f.py:1:28: w is [M] fp32
 fix:  w: Tensor["N"]
)"},
    {"attention_heads",
     "q: [1, 6, 8, 4], k: [1, 4, 8, 4]",
     {"return tsr.attention(q, k, k)"},
     R"(f.py:2:12: error: attention: the 6 heads of q cannot share the 4 of k
    2 |     return tsr.attention(q, k, k)
      |            ^~~~~~~~~~~~~~~~~~~~~~
 note: f.py:1:7: q is [1, 6, 8, 4] fp32
 note: f.py:1:10: k is [1, 4, 8, 4] fp32
 fix:  a number of heads of q that is a multiple of 4
)"},
    {"cross_entropy_targets",
     "x: [N, C], t: [N]",
     {"return tsr.cross_entropy(x, t)"},
     R"(f.py:2:33: error: cross_entropy takes class numbers as targets, but t is [N] fp32
    2 |     return tsr.cross_entropy(x, t)
      |                                 ^
 note: f.py:1:28: t is [N] fp32
 fix:  t.to(i64)
)"},
    {"store",
     "x: [4]",
     {"x[0] = 1.0", "return x"},
     R"(f.py:2:5: error: a function does not write into x; it makes new tensors
    2 |     x[0] = 1.0
      |     ^~~~
 note: f.py:1:7: x is [x.shape[0]] fp32
 fix:  x = tsr.where(tsr.arange(x.shape[0]) == 0, 1.0, x)
)"},
};
INSTANTIATE_TEST_SUITE_P(All, Errors, testing::ValuesIn(mistakes),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

} // namespace
