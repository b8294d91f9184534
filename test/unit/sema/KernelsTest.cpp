//===- KernelsTest.cpp - Kernels that must compile, and to what -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SemaTesting.h"
#include <gtest/gtest.h>

using namespace tessera::frontend;

namespace {

// docs/language.md, section 10, letter by letter.
const char *const gemm = R"(
@tsr.kernel
def gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], BLOCK_M: const = 128, BLOCK_N: const = 128, BLOCK_K: const = 64):
    for m, n in tsr.grid(tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N), group=8):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BLOCK_K):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc
)";

const char *const flashAttention = R"(
@tsr.kernel
def flash_attention(Q: Tensor["B", "H", "S", "D"], K: Tensor["B", "HK", "T", "D"], V: Tensor["B", "HK", "T", "D"],
                    O: Out["B", "H", "S", "D"], causal: const = False, BLOCK_M: const = 128, BLOCK_N: const = 64):
    scale = math.log2(math.e) / math.sqrt(D)
    for b, h, m in tsr.grid(B, H, tsr.tile(S, BLOCK_M)):
        hk = h // (H // HK)                                   # grouped heads share a key/value head
        q = Q[b, h, m, :]                                     # [m, D]
        top, den, acc = tsr.full(tsr.lowest, m), tsr.zeros(m), tsr.zeros(m, D)
        for n in tsr.tile(T, BLOCK_N, stop=m.stop + T - S if causal else T):
            s = q @ K[b, hk, n, :].T * scale                  # fp32 [m, n]
            if causal:                                        # the compiler splits off the tiles where this is all true
                s = tsr.where(m.index + (T - S) >= n.index, s, -tsr.inf)
            new = tsr.maximum(top, tsr.max(s, n))
            p, fix = tsr.exp2(s - new), tsr.exp2(top - new)
            den = den * fix + tsr.sum(p, n)
            acc = acc * fix + p.to(V.dtype) @ V[b, hk, n, :]
            top = new
        O[b, h, m, :] = tsr.where(den > 0, acc / den, 0)      # a row without keys is 0
)";

#define EXPECT_HAS(text, part)                                                 \
  EXPECT_NE((text).find(part), std::string::npos)                              \
      << "missing: " << (part) << "\n"                                         \
      << (text)
#define EXPECT_HAS_NOT(text, part)                                             \
  EXPECT_EQ((text).find(part), std::string::npos)                              \
      << "unexpected: " << (part) << "\n"                                      \
      << (text)

/// Wraps lines of a body over x[m] (X: M, K; Y: M; k over K) into a kernel.
std::string inKernel(const std::string &lines) {
  std::string text = R"(
@tsr.kernel
def k(X: Tensor["M", "K"], Z: Tensor["M"], Y: Out["M"], BM: const = 16, BK: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        for k in tsr.tile(K, BK, stop=BK):
            x = X[m, k]
            z = Z[m]
)";
  size_t begin = 0;
  while (begin < lines.size()) {
    size_t end = lines.find('\n', begin);
    if (end == std::string::npos)
      end = lines.size();
    text += "            " + lines.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return text;
}

std::string analyzeBody(const std::string &lines, DType dtype = DType::FP32) {
  Program program(inKernel(lines));
  program.dtype(dtype);
  std::string text = program.run();
  EXPECT_TRUE(program.ok) << text;
  return text;
}

} // namespace

TEST(Kernels, GemmFusesTheAccumulator) {
  Program program(gemm);
  std::string text = program.dtype(DType::FP16).run();
  ASSERT_TRUE(program.ok) << text;
  EXPECT_HAS(text, "gir.kernel @gemm");
  EXPECT_HAS(text, "tiles = [128, 128] {group = 8 : i64}");
  EXPECT_EQ(countOf(text, "tile.mma"), 1u) << text;
  // The sum is the accumulator of the loop, not an addition after it.
  EXPECT_HAS_NOT(text, "arith.addf");
  EXPECT_HAS(text, "tile.yield %acc");
  EXPECT_HAS(text, "arith.truncf");
  EXPECT_HAS(text, "gir.mode = \"out\"");
  EXPECT_HAS(text, "gir.dims = [\"M\", \"K\"]");
}

TEST(Kernels, FlashAttentionBothWays) {
  for (bool causal : {false, true}) {
    Program program(flashAttention);
    std::string text = program.dtype(DType::FP16)
                           .arg("causal", ArgumentSpec::value(causal))
                           .run();
    ASSERT_TRUE(program.ok) << text;
    EXPECT_EQ(countOf(text, "tile.mma"), 2u) << text;
    EXPECT_EQ(countOf(text, "tile.index"), causal ? 2u : 0u) << text;
    EXPECT_EQ(countOf(text, "arith.minsi"), causal ? 1u : 0u) << text;
    EXPECT_HAS(text, "arith.floordivsi");
    // Three values are carried, `s`, `new`, `p` and `fix` are not.
    EXPECT_HAS(text, "(tensor<128xf32>, tensor<128x8xf32>, tensor<128xf32>)");
  }
}

TEST(Kernels, WholeRows) {
  const char *const source = R"(
@tsr.kernel
def layer_norm(X: Tensor["M", "N"], g: Tensor["N"], b: Tensor["N"], Y: Out["M", "N"], BLOCK: const = 4):
    for m in tsr.grid(tsr.tile(M, BLOCK)):
        x = X[m, :].to(fp32)
        x = x - tsr.mean(x, N)
        Y[m, :] = x * tsr.rsqrt(tsr.mean(x * x, N) + 1e-5) * g[:] + b[:]
)";
  Program program(source);
  std::string text = program.dtype(DType::BF16).run();
  ASSERT_TRUE(program.ok) << text;
  EXPECT_HAS(text, "memref<?x8xbf16, strided<[?, 1]>>");
  EXPECT_EQ(countOf(text, "tile.reduce sum"), 2u) << text;
  EXPECT_HAS(text, "math.rsqrt");
}

TEST(Kernels, LinearWithTransposeAndBias) {
  const char *const source = R"(
@tsr.kernel
def linear(X: Tensor["M", "K"], W: Tensor["N", "K"], bias: Tensor["N"], Y: Out["M", "N"], BM: const = 16, BN: const = 24, BK: const = 20):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BK):
            acc += X[m, k] @ W[n, k].T
        Y[m, n] = tsr.tanh(acc + bias[n])
)";
  Program program(source);
  std::string text = program.run();
  ASSERT_TRUE(program.ok) << text;
  EXPECT_HAS(text, "tile.transpose");
  EXPECT_HAS(text, "tile.broadcast");
  EXPECT_HAS(text, "axes = [1]");
}

TEST(Kernels, EveryValueHasTheUsersNameAndLine) {
  for (const char *source : {gemm, flashAttention}) {
    Program program(source);
    std::string text = program.run();
    ASSERT_TRUE(program.ok) << text;
    bool sum = false;
    program.result->walk([&](mlir::Operation *op) {
      if (!op->getNumResults())
        return;
      auto name = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
      if (!name) {
        ADD_FAILURE() << "no name on " << op->getName().getStringRef().str();
        return;
      }
      auto place = llvm::dyn_cast<mlir::FileLineColLoc>(name.getChildLoc());
      ASSERT_TRUE(place) << op->getName().getStringRef().str();
      EXPECT_EQ(place.getFilename().str(), "k.py");
      if (op->getName().getStringRef() == "tile.mma" && source == gemm)
        sum = name.getName() == "acc" && place.getLine() == 7 &&
              place.getColumn() == 20;
    });
    // acc += A[m, k] @ B[k, n]
    EXPECT_EQ(sum, source == gemm);
  }
}

TEST(Kernels, AxesLineUpByIdentity) {
  std::string text = analyzeBody("y = z + x\nt = x.T * z\n"
                                 "Y[m] = tsr.sum(y + t, k)");
  // z is repeated along k, and the transposed tile is turned back.
  EXPECT_HAS(text, "axes = [0][");
  EXPECT_EQ(countOf(text, "tile.transpose"), 2u) << text;
}

TEST(Kernels, NoneInSubscriptsIsAllowed) {
  std::string text = analyzeBody("Y[m] = tsr.sum(x * z[:, None], k)");
  EXPECT_HAS(text, "tile.broadcast");
}

TEST(Kernels, MathFunctions) {
  std::string text = analyzeBody(
      "y = tsr.exp(z) + tsr.exp2(z) + tsr.log(z) + tsr.log2(z) + tsr.log1p(z)\n"
      "y = y + tsr.sqrt(z) + tsr.rsqrt(z) + tsr.sin(z) + tsr.cos(z)\n"
      "y = y + tsr.tanh(z) + tsr.erf(z) + tsr.sigmoid(z) + tsr.floor(z)\n"
      "y = y + tsr.ceil(z) + tsr.round(z) + tsr.abs(z) + tsr.gelu(z)\n"
      "y = y + tsr.silu(z) + tsr.relu(z) + z ** 2 + z % 3 + z // 2\n"
      "y = tsr.where(tsr.isnan(z) | ~tsr.isfinite(z), 0, y)\n"
      "y = tsr.clamp(tsr.fma(y, z, 1), -1, 1)\n"
      "Y[m] = tsr.minimum(y, z.max())");
  for (const char *op :
       {"math.exp ",   "math.exp2",      "math.log ",      "math.log2",
        "math.log1p",  "math.sqrt",      "math.rsqrt",     "math.sin",
        "math.cos",    "math.tanh",      "math.erf",       "math.floor",
        "math.ceil",   "math.roundeven", "math.absf",      "math.powf",
        "arith.remf",  "arith.maximumf", "arith.minimumf", "math.fma",
        "arith.select"})
    EXPECT_HAS(text, op);
}

TEST(Kernels, Reductions) {
  std::string text = analyzeBody(
      "a = tsr.sum(x, k) + tsr.prod(x, dim=-1) + tsr.max(x, axis=1)\n"
      "a = a + tsr.min(x, 1) + tsr.mean(x, k) + tsr.var(x, k)\n"
      "a = a + tsr.logsumexp(x, k) + x.sum(k)\n"
      "i = tsr.argmax(x, k) - tsr.argmin(x, k)\n"
      "b = tsr.any(x > 0, k) & tsr.all(x > 0, k)\n"
      "c = tsr.cumsum(x, k) + tsr.cumprod(x, k) + tsr.cummax(x, k)\n"
      "a = tsr.where(b, a, i.to(fp32)) + tsr.sum(c, k)\n"
      "Y[m] = a + tsr.sum(x)");
  for (const char *kind :
       {"reduce sum", "reduce prod", "reduce max", "reduce min",
        "reduce argmax", "reduce argmin", "reduce or", "reduce and", "scan sum",
        "scan prod", "scan max"})
    EXPECT_HAS(text, kind);
  // The mean divides by the elements that exist.
  EXPECT_HAS(text, "tile.range_stop");
}

TEST(Kernels, HalfPrecisionSumsInSinglePrecision) {
  std::string text = analyzeBody("Y[m] = tsr.sum(x, k)", DType::FP16);
  EXPECT_HAS(text, "arith.extf");
  EXPECT_HAS(text, "tensor<16x32xf32> -> tensor<16xf32>");
  EXPECT_HAS(text, "arith.truncf");
}

TEST(Kernels, FloatsBecomeIntsSaturating) {
  std::string text = analyzeBody("i = z.to(i32)\nY[m] = i.to(fp32)");
  EXPECT_HAS(text, "arith.fptosi");
  EXPECT_HAS(text, "arith.constant dense<2147483647> : tensor<16xi32>");
  EXPECT_HAS(text, "arith.constant dense<-2147483648> : tensor<16xi32>");
  EXPECT_EQ(countOf(text, "arith.select"), 3u) << text;
}

TEST(Kernels, ShapesOfTiles) {
  std::string text = analyzeBody(
      "f = x.filled(0)\n"
      "g = f.reshape(8, 64)\n"
      "h = tsr.cat((f, f), axis=1)\n"
      "p = x.permute(k, m).expand(m)\n"
      "i = tsr.arange(4)\n"
      "w = z.expand(i) * i.to(fp32)\n"
      "Y[m] = tsr.sum(p, k) + tsr.sum(g) + tsr.sum(h) + tsr.sum(w, i)");
  for (const char *op : {"tile.filled", "tile.reshape", "tile.cat",
                         "tile.transpose", "tensor<16x64xf32>"})
    EXPECT_HAS(text, op);
}

TEST(Kernels, RangesAndPrograms) {
  std::string text = analyzeBody(
      "j = k.copy()\n"
      "d = X[m, j]\n"
      "g = x.T @ d\n"
      "q = tsr.range_at(K, k.start, 8)\n"
      "s = k.index.sum() + k.start + k.stop + k.size + k.id\n"
      "t = tsr.program_id(0) + tsr.num_programs(0) + tsr.cdiv(k.dim, 4)\n"
      "Y[m] = tsr.sum(d, j) + tsr.sum(g) if s > t else tsr.sum(X[m, q], q)");
  // A copy is another axis: x.T @ x would have k twice.
  EXPECT_HAS(text, "tensor<32x16xf32>, tensor<16x32xf32>, tensor<32x32xf32>");
  for (const char *op : {"tile.range_at", "tile.range_start", "tile.range_stop",
                         "tile.index", "arith.ceildivsi"})
    EXPECT_HAS(text, op);
}

TEST(Kernels, ControlFlow) {
  std::string text = analyzeBody("acc = z\n"
                                 "i = 0\n"
                                 "while i < k.stop:\n"
                                 "    acc = acc + z\n"
                                 "    i += 1\n"
                                 "for j in range(k.stop):\n"
                                 "    acc = acc * 2\n"
                                 "if k.start > 3:\n"
                                 "    acc = acc + 1\n"
                                 "elif k.start > 1:\n"
                                 "    acc = acc - 1\n"
                                 "else:\n"
                                 "    pass\n"
                                 "for u in range(3):\n"
                                 "    acc = acc + u\n"
                                 "for u in tsr.unroll(2):\n"
                                 "    acc = acc - u\n"
                                 "assert i >= 0, \"positive\"\n"
                                 "Y[m] = acc");
  EXPECT_EQ(countOf(text, "scf.while"), 1u) << text;
  EXPECT_EQ(countOf(text, "scf.for"), 1u) << text;
  EXPECT_EQ(countOf(text, "scf.if"), 2u) << text;
  EXPECT_HAS(text, "tile.assert");
}

TEST(Kernels, OnlyWhatChangesIsCarried) {
  std::string text = analyzeBody("a = z\n"
                                 "flag = False\n"
                                 "for i in range(k.stop):\n"
                                 "    t = a\n"
                                 "    if flag:\n"
                                 "        z = t + 1\n"
                                 "    a = t\n"
                                 "Y[m] = a");
  EXPECT_HAS(text, "scf.for");
  EXPECT_HAS_NOT(text, "iter_args");
}

TEST(Kernels, GatherAndScatter) {
  const char *const source = R"(
@tsr.kernel
def k(W: Tensor["V", "D"], I: Tensor["N", i32], P: Tensor["N", "D"], Y: Out["N", "D"], BN: const = 8):
    for n in tsr.grid(tsr.tile(N, BN)):
        i = I[n]
        rows = W[i, :]
        tsr.store(Y, (n, D), rows + P[n, :], mask=rows > 0)
        first = tsr.load(P, (n, 0), mask=i > 0, pad=-1, cache="stream")
        Y[n, 0] = first
)";
  Program program(source);
  std::string text = program.run();
  ASSERT_TRUE(program.ok) << text;
  EXPECT_HAS(text, "tensor<8xi64>, !tile.range<8> -> tensor<8x8xf32>");
  EXPECT_HAS(text, "pad = -1.000000e+00 : f32");
  EXPECT_HAS(text, "hints = {cache = \"stream\"}");
  EXPECT_EQ(countOf(text, " mask("), 2u) << text;
}

TEST(Kernels, ZippedAxesOfAGather) {
  const char *const source = R"(
@tsr.kernel
def k(X: Tensor["N", "C"], T: Tensor["N", i64], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 8)):
        Y[n] = X[n, T[n]]
)";
  Program program(source);
  std::string text = program.run();
  ASSERT_TRUE(program.ok) << text;
  EXPECT_HAS(text, "index_axes = [[0], [0]]");
  EXPECT_HAS(text, "-> tensor<8xf32>");
}

TEST(Kernels, AtomicsOnReductionRegions) {
  const char *const source = R"(
@tsr.kernel
def k(X: Tensor["M", "N"], S: Region[reduce_sum, Tensor["N"]], T: Region[reduce_max]):
    for m, n in tsr.grid(tsr.tile(M, 8), tsr.tile(N, 16)):
        x = X[m, n]
        tsr.atomic_add(S, (n,), tsr.sum(x, m))
        tsr.atomic_max(T, (0,), tsr.max(x))
)";
  Program program(source);
  std::string text =
      program.arg("T", ArgumentSpec::tensor(DType::FP32, {-1}, 0)).run();
  ASSERT_TRUE(program.ok) << text;
  EXPECT_HAS(text, "tile.atomic sum");
  EXPECT_HAS(text, "tile.atomic max");
  EXPECT_HAS(text, "gir.mode = \"reduce_sum\"");
}

TEST(Kernels, PrivilegesFollowTheBody) {
  const char *const source = R"(
@tsr.kernel
def k(A: Tensor["M"], B: Tensor["M"], C: Tensor["M"], D: InOut["M"]):
    for m in tsr.grid(tsr.tile(M, 8)):
        B[m] = A[m]
        C[m] += A[m]
        D[m] *= 2
)";
  Program program(source);
  std::string text = program.run();
  ASSERT_TRUE(program.ok) << text;
  EXPECT_HAS(text, "gir.mode = \"in\", gir.name = \"A\"");
  EXPECT_HAS(text, "gir.mode = \"out\", gir.name = \"B\"");
  EXPECT_HAS(text, "gir.mode = \"inout\", gir.name = \"C\"");
  EXPECT_HAS(text, "gir.mode = \"inout\", gir.name = \"D\"");
}

TEST(Kernels, DimExpressions) {
  const char *const source = R"(
@tsr.kernel
def k(X: Tensor["H", "D"], Y: Tensor["D*H"], Z: Out["S//2"], W: Tensor["S", 128]):
    for i, j in tsr.grid(tsr.tile(H * D, 8), tsr.tile(S // 2, 8)):
        y = Y[i]
        acc: fp32 = 0.0
        for c in tsr.tile(128, 32):
            acc += tsr.sum(W[0, c])
        Z[j] = acc
)";
  Program program(source);
  std::string text = program.run();
  ASSERT_TRUE(program.ok) << text;
  EXPECT_HAS(text, "arith.muli");
  EXPECT_HAS(text, "arith.floordivsi");
}

TEST(Kernels, ScalarsAndCapturedConstants) {
  const char *const source = R"(
LIMIT = 7
@tsr.kernel
def k(X: Tensor["M"], Y: Out["M"], alpha, n, flag, beta: fp32, c: const = 3):
    for m in tsr.grid(tsr.tile(M, 16)):
        x = X[m] * alpha + n * beta + LIMIT * c + self.bias
        if flag and n > 2:
            x = -x
        Y[m] = x
)";
  Program program(source);
  program.capture("self.bias", CapturedValue::value(0.5));
  std::string text = program.dtype(DType::BF16)
                         .arg("alpha", ArgumentSpec::scalar(DType::FP64))
                         .arg("n", ArgumentSpec::scalar(DType::I64))
                         .arg("flag", ArgumentSpec::scalar(DType::Bool))
                         .run();
  // beta is fp32, so the sum is: the store rounds it.
  ASSERT_TRUE(program.ok) << text;
  EXPECT_HAS(text, "%alpha: f64");
  EXPECT_HAS(text, "%n: i64");
  EXPECT_HAS(text, "%flag: i1");
  EXPECT_HAS(text, "%beta: f64");
}

TEST(Kernels, UnannotatedFunctionsAreInlined) {
  const char *const source = R"(
@tsr.function
def square(x):
    return x * x

@tsr.function
def norm(x, axis, eps=1e-5):
    """Root mean square."""
    y = square(x)
    return x * tsr.rsqrt(tsr.mean(y, axis) + eps)

@tsr.kernel
def k(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 4)):
        Y[m, :] = norm(X[m, :], N)
)";
  Program program(source);
  std::string text = program.run();
  ASSERT_TRUE(program.ok) << text;
  EXPECT_HAS(text, "math.rsqrt");
  EXPECT_HAS(text, "tile.reduce sum");
}

TEST(Kernels, CapturedArraysAreHiddenArguments) {
  const char *const source = R"(
@tsr.kernel
def k(X: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        Y[m] = X[m] + table[0]
)";
  Program program(source);
  CapturedValue array;
  array.kind = CapturedValue::Kind::Array;
  array.array = ArgumentSpec::tensor(DType::FP32, {-1}, 0);
  program.capture("table", array);
  std::string text = program.run();
  ASSERT_TRUE(program.ok) << text;
  EXPECT_HAS(text, "gir.hidden");
  EXPECT_HAS(text, "gir.name = \"table\"");
}

TEST(Signature, WholeDimsOfFlashAttention) {
  Program program(flashAttention);
  std::string text = program.run();
  DiagnosticEngine &diags = program.getDiagnostics();
  auto signature = describeSignature(*program.request.definition, {}, diags);
  ASSERT_TRUE(succeeded(signature));
  std::vector<WholeDim> whole =
      wholeDims(*program.request.definition, *signature);
  std::vector<WholeDim> expected = {{0, 3}, {1, 3}, {2, 3}, {3, 3}};
  EXPECT_EQ(whole, expected);
}

TEST(Signature, WholeDimsByNameOnly) {
  Program program(R"(
@tsr.kernel
def k(X: Tensor["M", "N"], g: Tensor["N"], w: Tensor["N*C", "C"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 4)):
        Y[m] = tsr.sum(X[m, :], N) * g[0] + w[0, 0] / math.sqrt(C)
)");
  program.run();
  auto signature = describeSignature(*program.request.definition, {},
                                     program.getDiagnostics());
  ASSERT_TRUE(succeeded(signature));
  std::vector<WholeDim> expected = {{0, 1}, {1, 0}, {2, 0}, {2, 1}};
  EXPECT_EQ(wholeDims(*program.request.definition, *signature), expected);
}

TEST(Signature, FreeNames) {
  Program program(R"(
@tsr.kernel
def k(X: Tensor["M", N, fp16], Y: Out["M"], B: const = DEFAULT):
    local = self.cfg.block * B
    for m in tsr.grid(tsr.tile(M, local)):
        Y[m] = X[m, 0] * math.pi
)");
  program.run();
  std::vector<std::string> names;
  for (const FreeName &name : collectFreeNames(*program.request.definition))
    names.push_back(name.name);
  std::vector<std::string> expected = {
      "Tensor",         "N",        "fp16",     "Out",    "const", "DEFAULT",
      "self.cfg.block", "tsr.grid", "tsr.tile", "math.pi"};
  EXPECT_EQ(names, expected);
}
