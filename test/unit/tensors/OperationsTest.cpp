//===- OperationsTest.cpp - Which ops the operations of a function become -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/tensors/Program.h"
#include <gtest/gtest.h>

namespace {

/// An expression and what its IR must and must not have; every IR is verified.
struct Case {
  const char *name;
  const char *parameters;
  const char *expression;
  std::vector<std::string> has;
  std::vector<std::string> hasNot = {};
};

void PrintTo(const Case &test, std::ostream *out) { *out << test.name; }

class Operations : public testing::TestWithParam<Case> {};

TEST_P(Operations, BecomeOps) {
  const Case &test = GetParam();
  Outcome outcome = analyzeExpression(test.parameters, test.expression);
  ASSERT_EQ(outcome.errors, "") << test.expression;
  for (const std::string &text : test.has)
    EXPECT_TRUE(outcome.has(text)) << "missing " << text << "\n" << outcome.ir;
  for (const std::string &text : test.hasNot)
    EXPECT_FALSE(outcome.has(text)) << "has " << text << "\n" << outcome.ir;
}

const Case elementwise[] = {
    {"add_named",
     "x: [M, N], y: [M, N]",
     "x + y",
     {"gir.add", "tensor<?x?xf32>"},
     {"check_equal", "gir.broadcast"}},
    {"add_unnamed_checks",
     "x: [?], y: [?]",
     "x + y",
     {"gir.add", "gir.check_equal",
      "axis 0 of x is {lhs}, axis 0 of y is {rhs}"}},
    {"add_bias",
     "x: [M, N], b: [N]",
     "x + b",
     {"gir.broadcast", "axes = [1]", "gir.add"},
     {"check_equal"}},
    {"size_one_repeats",
     "x: [4, 8], y: [4, 1]",
     "x * y",
     {"axes = [0, 1]", "tensor<4x1xf32> -> tensor<4x8xf32>", "gir.mul"}},
    {"new_axis_broadcast",
     "x: [M], y: [N]",
     "x[:, None] * y",
     {"gir.reshape", "tensor<?x1xf32>", "gir.mul", "tensor<?x?xf32>"},
     {"check_equal"}},
    {"weak_constant",
     "x: [?] f16",
     "x * 0.5",
     {"dense<5.000000e-01> : tensor<f16>", "gir.mul", "tensor<?xf16>"},
     {"gir.cast"}},
    {"weak_runtime_scalar",
     "x: [?], s: f64",
     "x * s",
     {"gir.cast", "tensor<f64> -> tensor<f32>", "gir.broadcast"}},
    {"wider_wins",
     "x: [4] f16, y: [4] f32",
     "x + y",
     {"tensor<4xf16> -> tensor<4xf32>", "gir.add"}},
    {"reflected", "x: [4]", "1.0 / x", {"gir.div"}},
    {"floor_division",
     "x: [4] i32",
     "x // 2 + x % 3",
     {"gir.floordiv", "gir.mod"}},
    {"bits",
     "x: [4] i32, y: [4] i32",
     "(x & y) | (x ^ y) << 1",
     {"gir.and", "gir.or", "gir.xor", "gir.shl"}},
    {"invert_bool", "x: [4] bool", "~x", {"gir.not", "tensor<4xi1>"}},
    {"negate", "x: [4]", "-x", {"gir.neg"}},
    {"square_is_a_product", "x: [4]", "x ** 2", {"gir.mul"}, {"gir.pow"}},
    {"root", "x: [4]", "x ** 0.5", {"gir.sqrt"}, {"gir.pow"}},
    {"power", "x: [4]", "x ** 3", {"gir.pow"}},
    {"comparison",
     "x: [4], y: [4]",
     "x < y",
     {"gir.compare lt", "tensor<4xi1>"}},
    {"chained_bool",
     "x: [4], y: [4]",
     "(x >= y) & (y != 0.0)",
     {"gir.compare ge", "gir.compare ne", "gir.and"}},
    {"where",
     "c: [4] bool, x: [4]",
     "tsr.where(c, x, -tsr.inf)",
     {"gir.select", "0xFF800000"}},
    {"where_broadcasts",
     "x: [M, N], v: [N]",
     "tsr.where(x > v, x, 0)",
     {"gir.select", "axes = [1]"}},
    {"clamp",
     "x: [4]",
     "tsr.clamp(x, min=0.0, max=6.0)",
     {"gir.maximum", "gir.minimum"}},
    {"clamp_one_side",
     "x: [4]",
     "x.clamp(max=1.0)",
     {"gir.minimum"},
     {"gir.maximum"}},
    {"maximum", "x: [4], y: [4]", "tsr.maximum(x, y)", {"gir.maximum"}},
    {"fma", "x: [4], y: [4]", "tsr.fma(x, y, 1.0)", {"gir.fma"}},
    {"math_functions",
     "x: [4]",
     "tsr.exp(x) + tsr.log1p(x) + x.rsqrt() + tsr.erf(x) + x.tanh()",
     {"gir.exp", "gir.log1p", "gir.rsqrt", "gir.erf", "gir.tanh"}},
    {"activations",
     "x: [4]",
     "tsr.gelu(x, approximate=\"tanh\") + x.silu() + tsr.relu(x) + "
     "tsr.sigmoid(x)",
     {"gir.gelu", "{tanh}", "gir.silu", "gir.relu", "gir.sigmoid"}},
    {"floor_of_int", "x: [4] i32", "tsr.floor(x)", {}, {"gir.floor"}},
    {"predicates",
     "x: [4]",
     "tsr.isnan(x) | tsr.isfinite(x)",
     {"gir.isnan", "gir.isfinite", "gir.or"}},
    {"cast_to",
     "x: [4]",
     "x.to(fp16).to(\"bfloat16\")",
     {"tensor<4xf32> -> tensor<4xf16>", "tensor<4xf16> -> tensor<4xbf16>"}},
    {"cast_names",
     "x: [4] i64",
     "x.float() + x.to(fp16).float()",
     {"tensor<4xi64> -> tensor<4xf32>"}},
    {"cast_of_dtype",
     "x: [4], y: [4] f16",
     "x.to(y.dtype) + y",
     {"tensor<4xf32> -> tensor<4xf16>"}},
};
INSTANTIATE_TEST_SUITE_P(Elementwise, Operations,
                         testing::ValuesIn(elementwise), [](const auto &info) {
                           return std::string(info.param.name);
                         });

const Case reductions[] = {
    {"sum_all",
     "x: [M, N]",
     "x.sum()",
     {"gir.reduce sum", "axes = [0, 1]", "-> tensor<f32>"}},
    {"sum_last", "x: [M, N]", "tsr.sum(x, dim=-1)", {"axes = [1]"}},
    {"sum_by_dim", "x: [M, N]", "tsr.sum(x, M)", {"axes = [0]"}},
    {"sum_keep",
     "x: [M, N]",
     "x - x.sum(axis=1, keepdim=True)",
     {"gir.reshape", "tensor<?x1xf32>", "gir.broadcast", "gir.sub"},
     {"check_equal"}},
    {"mean_two_axes",
     "x: [2, 3, 4]",
     "x.mean(dim=(0, 2))",
     {"gir.reduce mean", "axes = [0, 2]", "-> tensor<3xf32>"}},
    {"var",
     "x: [2, 3]",
     "tsr.var(x, dim=1, correction=0)",
     {"gir.reduce var", "correction = 0"}},
    {"any_of_floats",
     "x: [2, 3]",
     "tsr.any(x, dim=0)",
     {"gir.compare ne", "gir.reduce any", "tensor<3xi1>"}},
    {"count_bools",
     "x: [4] bool",
     "x.sum()",
     {"tensor<4xi1> -> tensor<4xi64>", "gir.reduce sum"}},
    {"argmax",
     "x: [2, 3]",
     "x.argmax(dim=1)",
     {"gir.reduce argmax", "tensor<2xi64>"}},
    {"argmin_of_all",
     "x: [2, 3]",
     "tsr.argmin(x)",
     {"tensor<2x3xf32> -> tensor<6xf32>", "gir.reduce argmin"}},
    {"logsumexp",
     "x: [2, 3] f16",
     "tsr.logsumexp(x, dim=-1)",
     {"gir.reduce logsumexp", "tensor<2xf16>"}},
    {"scans",
     "x: [2, 3]",
     "tsr.cumsum(x, dim=1) + x.cumprod(0) + tsr.cummax(x, dim=1)",
     {"gir.scan sum", "gir.scan prod", "gir.scan max"}},
    {"softmax",
     "x: [M, N]",
     "tsr.softmax(x, dim=-1)",
     {"gir.softmax", "axis = 1"}},
    {"log_softmax",
     "x: [M, N]",
     "x.log_softmax(0)",
     {"gir.softmax", "axis = 0", "{log}"}},
    {"layer_norm",
     "x: [M, N], w: [N], b: [N]",
     "tsr.layer_norm(x, w, b)",
     {"gir.layer_norm", "axes = 1", "eps = 1.000000e-05"},
     {"check_equal"}},
    {"layer_norm_torch",
     "x: [M, N], w: [N], b: [N]",
     "tsr.layer_norm(x, (N,), w, b, eps=1e-6)",
     {"gir.layer_norm", "axes = 1"}},
    {"rms_norm",
     "x: [M, N], w: [N]",
     "tsr.rms_norm(x, w, eps=1e-6)",
     {"gir.layer_norm", " rms"}},
    {"cross_entropy",
     "x: [N, C] f16, t: [N] i64",
     "tsr.cross_entropy(x, t)",
     {"gir.check_indices", "ignoring -100", "gir.cross_entropy",
      "-> tensor<?xf32>", "gir.reduce sum", "gir.div",
      "tensor<f32> -> tensor<f16>"}},
    {"cross_entropy_none",
     "x: [N, C], t: [N] i64",
     "tsr.cross_entropy(x, t, reduction=\"none\")",
     {"gir.cross_entropy"},
     {"gir.reduce"}},
};
INSTANTIATE_TEST_SUITE_P(Reductions, Operations, testing::ValuesIn(reductions),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

const Case products[] = {
    {"matmul_named",
     "a: [M, K], b: [K, N]",
     "a @ b",
     {"gir.gemm", "tensor<?x?xf32>"},
     {"check_equal", "gir.reshape"}},
    {"matmul_checks",
     "a: [?, ?], b: [?, ?]",
     "tsr.matmul(a, b)",
     {"gir.check_equal", "gir.gemm"}},
    {"matmul_f16_stays",
     "a: [4, 8] f16, b: [8, 2] f16",
     "a @ b",
     {"-> tensor<4x2xf16>"},
     {"gir.cast"}},
    {"dot",
     "a: [K], b: [K]",
     "a @ b",
     {"tensor<1x?xf32>", "tensor<?x1xf32>", "tensor<1x1xf32> -> tensor<f32>"}},
    {"matrix_vector", "a: [4, 8], b: [8]", "a @ b", {"-> tensor<4xf32>"}},
    {"vector_matrix", "a: [8], b: [8, 4]", "a @ b", {"-> tensor<4xf32>"}},
    {"batched",
     "a: [B, M, K], b: [B, K, N]",
     "a @ b",
     {"tensor<?x?x?xf32>"},
     {"check_equal", "gir.broadcast"}},
    {"linear_layer_flattens",
     "a: [B, S, K], w: [K, N]",
     "a @ w",
     {"gir.reshape", "gir.gemm", "tensor<?x?xf32>, tensor<?x?xf32>"},
     {"gir.broadcast"}},
    {"batch_broadcast",
     "a: [1, 4, 8], b: [3, 8, 2]",
     "a @ b",
     {"tensor<1x4x8xf32> -> tensor<3x4x8xf32>", "-> tensor<3x4x2xf32>"}},
    {"linear",
     "x: [4, 8], w: [2, 8], b: [2]",
     "tsr.linear(x, w, b)",
     {"gir.transpose", "gir.gemm", "gir.add"}},
    {"attention",
     "q: [B, H, S, D], k: [B, H, T, D], v: [B, H, T, D]",
     "tsr.attention(q, k, v, is_causal=True)",
     {"gir.attention", "causal"},
     {"check_equal"}},
    {"attention_grouped",
     "q: [B, H, S, D], k: [B, HK, T, D], v: [B, HK, T, D]",
     "tsr.scaled_dot_product_attention(q, k, v, scale=0.5)",
     {"gir.mod", "gir.check_equal", "scale("}},
};
INSTANTIATE_TEST_SUITE_P(Products, Operations, testing::ValuesIn(products),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

const Case movement[] = {
    {"transpose",
     "x: [2, 3, 4]",
     "x.transpose(-2, -1)",
     {"[0, 2, 1]", "-> tensor<2x4x3xf32>"}},
    {"permute",
     "x: [2, 3, 4]",
     "x.permute(2, 0, 1)",
     {"[2, 0, 1]", "-> tensor<4x2x3xf32>"}},
    {"T", "x: [M, N]", "x.T", {"[1, 0]"}},
    {"mT", "x: [2, 3, 4]", "x.mT", {"[0, 2, 1]"}},
    {"reshape", "x: [4, 6]", "x.reshape(3, 8)", {"-> tensor<3x8xf32>"}},
    {"reshape_inferred",
     "x: [4, 6]",
     "tsr.reshape(x, (2, -1))",
     {"-> tensor<2x12xf32>"},
     {"check_equal"}},
    {"reshape_split",
     "x: [?, 8]",
     "x.reshape(-1, 2, 4)",
     {"-> tensor<?x2x4xf32>"},
     {"check_equal"}},
    {"reshape_by_names",
     "x: [B, S, 8]",
     "x.reshape(B, S, 2, 4)",
     {"-> tensor<?x?x2x4xf32>"},
     {"check_equal"}},
    {"reshape_checks",
     "x: [?, ?]",
     "x.reshape(4, -1)",
     {"gir.floordiv", "gir.check_equal"}},
    {"flatten", "x: [2, 3, 4]", "x.flatten(1)", {"-> tensor<2x12xf32>"}},
    {"unsqueeze", "x: [2, 3]", "x.unsqueeze(-1)", {"-> tensor<2x3x1xf32>"}},
    {"squeeze", "x: [2, 1, 3]", "x.squeeze(1)", {"-> tensor<2x3xf32>"}},
    {"expand", "x: [1, 3]", "x.expand(4, -1)", {"-> tensor<4x3xf32>"}},
    {"cat",
     "x: [M, 4], y: [M, 5]",
     "tsr.cat([x, y], dim=1)",
     {"gir.concat", "-> tensor<?x9xf32>"},
     {"check_equal"}},
    {"cat_dynamic",
     "x: [?, 4], y: [?, 4]",
     "tsr.concat((x, y))",
     {"gir.add", "axis = 0", "-> tensor<?x4xf32>"}},
    {"stack",
     "x: [4], y: [4]",
     "tsr.stack([x, y], dim=-1)",
     {"tensor<4x1xf32>", "-> tensor<4x2xf32>"}},
    {"index", "x: [4, 8]", "x[1]", {"gir.slice", "-> tensor<8xf32>"}},
    {"index_negative", "x: [4, 8]", "x[-1, 2]", {"-> tensor<f32>"}},
    {"index_scalar", "x: [M, N], i: i64", "x[i]", {"gir.select", "gir.slice"}},
    {"slice_static", "x: [8, 8]", "x[1:5, ::2]", {"-> tensor<4x4xf32>"}},
    {"slice_reverse",
     "x: [8]",
     "x[::-1]",
     {"steps = [-1]", "-> tensor<8xf32>"}},
    {"slice_clips", "x: [8]", "x[2:100]", {"-> tensor<6xf32>"}},
    {"slice_whole", "x: [M, N]", "x[:, :]", {}, {"gir.slice"}},
    {"slice_dynamic", "x: [N]", "x[:16]", {"gir.minimum", "gir.slice"}},
    {"new_axis", "x: [2, 3]", "x[:, None]", {"-> tensor<2x1x3xf32>"}},
    {"take_by_index",
     "x: [M, 4], i: [7] i64",
     "x[i]",
     {"gir.take", "axis = 0", "-> tensor<7x4xf32>"}},
    {"take", "x: [M, 4], i: [7] i64", "tsr.take(x, i, dim=0)", {"gir.take"}},
    {"index_select",
     "x: [3, M], i: [7] i64",
     "x.index_select(1, i)",
     {"gir.take", "axis = 1"}},
    {"embedding",
     "ids: [B, S] i64, table: [V, 64]",
     "tsr.embedding(ids, table)",
     {"-> tensor<?x?x64xf32>"}},
    {"gather",
     "x: [M, N], i: [M, 4] i64",
     "tsr.gather(x, 1, i)",
     {"gir.gather", "-> tensor<?x4xf32>"}},
};
INSTANTIATE_TEST_SUITE_P(Movement, Operations, testing::ValuesIn(movement),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

const Case creation[] = {
    {"zeros",
     "x: [M, N]",
     "x + tsr.zeros(M, N)",
     {"gir.broadcast", "gir.add"},
     {"check_equal"}},
    {"full_both_orders",
     "x: [M]",
     "x + tsr.full(2.0, M) + tsr.full((M,), 3.0)",
     {"gir.add"},
     {"check_equal"}},
    {"ones_dtype",
     "x: [4] i32",
     "x + tsr.ones(4, dtype=i32)",
     {"dense<1> : tensor<i32>"}},
    {"arange",
     "x: [N]",
     "x + tsr.arange(N).to(fp32)",
     {"gir.arange"},
     {"check_equal"}},
    {"arange_steps",
     "x: [4]",
     "x + tsr.arange(2, 10, 2, dtype=fp32)",
     {"-> tensor<4xf32>", "gir.mul"},
     {"check_equal"}},
    {"zeros_like",
     "x: [M, N] f16",
     "tsr.zeros_like(x)",
     {"tensor<f16> -> tensor<?x?xf16>"}},
    {"shape_arithmetic",
     "x: [M, N]",
     "x / x.shape[-1]",
     {"gir.dim", "gir.cast", "gir.div"}},
    {"shape_static",
     "x: [4, 8]",
     "x * x.shape[1]",
     {"dense<8.000000e+00> : tensor<f32>"},
     {"gir.dim %"}},
    {"size_and_ndim",
     "x: [4, 8]",
     "x * x.size(0) * x.ndim",
     {"dense<4.000000e+00>", "dense<2.000000e+00>"}},
    {"runtime_root",
     "x: [M, N]",
     "x * (1.0 / tsr.sqrt(N))",
     {"gir.sqrt", "gir.div", "tensor<f64> -> tensor<f32>"}},
    {"tuple_result", "x: [4]", "(x + 1.0, x.sum())", {"-> (tensor<4xf32>"}},
};
INSTANTIATE_TEST_SUITE_P(Creation, Operations, testing::ValuesIn(creation),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

// The attention of the first document, word for word.
TEST(Programs, AttentionOfTheDocument) {
  Outcome outcome = analyzeText(
      "@tsr.function\n"
      "def flash_attention(q: Tensor[\"B\", \"H\", \"S\", \"D\"], \n"
      "                   k: Tensor[\"B\", \"H\", \"S\", \"D\"],\n"
      "                   v: Tensor[\"B\", \"H\", \"S\", \"D\"]) -> "
      "Tensor[\"B\", \"H\", \"S\", \"D\"]:\n"
      "    scale = 1.0 / math.sqrt(q.shape[-1])\n"
      "    scores = tsr.matmul(q, k.transpose(-2, -1)) * scale\n"
      "    probs = tsr.softmax(scores, dim=-1)\n"
      "    return tsr.matmul(probs, v)\n",
      {"f16[?,?,?,64]", "f16[?,?,?,64]", "f16[?,?,?,64]"});
  ASSERT_EQ(outcome.errors, "");
  EXPECT_EQ(outcome.count("gir.gemm"), 2u);
  EXPECT_TRUE(outcome.has("dense<1.250000e-01> : tensor<f16>"));
  EXPECT_TRUE(outcome.has("gir.softmax"));
  EXPECT_FALSE(outcome.has("gir.check_equal"));
}

// The evaluator must hand '...' of an index on; until it does, nothing is seen.
TEST(Programs, Ellipsis) {
  Outcome outcome = analyzeExpression("x: [2, 3, 4]", "x[..., 0]");
  if (outcome.errors.find("'...' is not a value here") != std::string::npos)
    GTEST_SKIP() << "the evaluator refuses '...' in an index";
  ASSERT_EQ(outcome.errors, "");
  EXPECT_TRUE(outcome.has("-> tensor<2x3xf32>"));
}

// A scale that f16 cannot hold is still there in full for attention.
TEST(Programs, ScaleIsNotRoundedYet) {
  Outcome outcome = analyzeExpression("x: [M, N] f16", "x * 0.1");
  ASSERT_EQ(outcome.errors, "");
  EXPECT_TRUE(outcome.has("dense<1.000000e-01> : tensor<f64>")) << outcome.ir;
  EXPECT_TRUE(outcome.has("tensor<f64> -> tensor<f16>"));
}

// The size of a named dim is read once, however often it is used.
TEST(Programs, SizesAreReadOnce) {
  Outcome outcome = analyzeBody(
      "x: [M, N]", {"y = x * 2.0 + 1.0", "return y - y.sum(N, keepdim=True)"});
  ASSERT_EQ(outcome.errors, "");
  EXPECT_EQ(outcome.count("gir.dim %"), 2u) << outcome.ir;
}

const std::string doubling =
    "@tsr.kernel\n"
    "def double(A: Tensor[\"M\"], B: Tensor[\"M\"], C: Out[\"M\"]):\n"
    "    for m in tsr.grid(tsr.tile(M, 64)):\n"
    "        C[m] = A[m] + B[m]\n";

// What a kernel writes is the result of its call; its size comes from the
// kernel's dims, its strides are known as far as the operands' are.
TEST(Programs, CallsKernel) {
  Outcome outcome = analyzeText(doubling + "def f(x: Tensor[\"N\"], y):\n"
                                           "    return double(x, x) + 1.0\n",
                                {"f32[?]", "f32[4]"});
  ASSERT_EQ(outcome.errors, "");
  EXPECT_TRUE(outcome.has("gir.kernel @double")) << outcome.ir;
  EXPECT_TRUE(outcome.has("gir.call_kernel @double")) << outcome.ir;
  EXPECT_TRUE(outcome.has("-> tensor<?xf32>"));
  EXPECT_TRUE(outcome.has("memref<?xf32, strided<[1]>>")) << outcome.ir;
  EXPECT_FALSE(outcome.has("gir.check_equal"));
}

TEST(Programs, CallsKernelOnOtherSizes) {
  Outcome outcome =
      analyzeText(doubling + "def f(x: Tensor[\"N\"], y: Tensor[\"L\"]):\n"
                             "    return double(x, y)\n",
                  {"f32[?]", "f32[?]"});
  EXPECT_NE(outcome.errors.find("f.py:6:12: error: x [N] and y [L] disagree on "
                                "M of double: N from x, L from y"),
            std::string::npos)
      << outcome.errors;
}

// Results are checked against their annotation once the evaluator asks for it
// (checkResultAnnotation).
TEST(Programs, ResultAnnotation) {
  Outcome wrong = analyzeText("def f(x: Tensor[\"M\", \"N\"]) -> "
                              "Tensor[\"N\", \"M\"]:\n"
                              "    return x + 1.0\n",
                              {"f32[?,?]"});
  if (wrong.errors.empty())
    GTEST_SKIP() << "the evaluator does not check result annotations";
  EXPECT_EQ(
      wrong.errors,
      R"(f.py:2:5: error: axis 0 of the result is M, but Tensor["N", "M"] says N
    2 |     return x + 1.0
      |     ^~~~~~~~~~~~~~
 note: f.py:1:31: the result is [M, N] fp32
 fix:  -> Tensor["M", "N"]
)");
  Outcome checked = analyzeText("def f(x: Tensor[\"M\"], y) -> Tensor[\"M\"]:\n"
                                "    return y * 2.0\n",
                                {"f32[?]", "f32[?]"});
  EXPECT_EQ(checked.errors, "");
  EXPECT_TRUE(checked.has("gir.check_equal")) << checked.ir;
}

TEST(Programs, Variables) {
  Outcome outcome = analyzeBody(
      "x: [M, K], w: [K, N], b: [N]",
      {"y = x @ w + b", "y = tsr.gelu(y)", "y *= 2.0", "return y, y.shape[0]"});
  ASSERT_EQ(outcome.errors, "");
  EXPECT_TRUE(outcome.has("gir.gemm"));
  EXPECT_TRUE(outcome.has("gir.gelu"));
  EXPECT_TRUE(outcome.has("gir.dim"));
}

} // namespace
