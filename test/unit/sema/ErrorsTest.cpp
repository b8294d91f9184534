//===- ErrorsTest.cpp - Every message as the user reads it ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SemaTesting.h"
#include <gtest/gtest.h>

using namespace tessera::frontend;

namespace {

struct ErrorCase {
  const char *name;
  const char *source;
  const char *message;
  std::vector<std::pair<const char *, ArgumentSpec>> arguments = {};
};

void PrintTo(const ErrorCase &test, std::ostream *os) { *os << test.name; }

class Errors : public testing::TestWithParam<ErrorCase> {};

TEST_P(Errors, AreRenderedAsWritten) {
  Program program(GetParam().source);
  for (const auto &[name, spec] : GetParam().arguments)
    program.arg(name, spec);
  EXPECT_EQ(program.run(), GetParam().message);
  EXPECT_FALSE(program.ok);
}

const ErrorCase cases[] = {
    {"WrongAxis", R"py(@tsr.kernel
def k(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        for k in tsr.tile(K, 32):
            C[m, n] = A[k, m] @ B[k, n]
)py",
     R"(k.py:5:25: error: k covers dim K, but axis 0 of A is M
    5 |             C[m, n] = A[k, m] @ B[k, n]
      |                         ^
 note: k.py:2:7: A: Tensor["M", "K"]
 note: k.py:4:9: for k in tsr.tile(K, 32)
 fix:  A[m, k]
)"},
    {"MatmulAxes", R"py(@tsr.kernel
def k(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        for k in tsr.tile(K, 32):
            C[m, n] = A[m, k] @ B[k, n].T
)py",
     R"(k.py:5:31: error: @ joins axis k of A with axis n of B[k, n].T; they must be the same axis
    5 |             C[m, n] = A[m, k] @ B[k, n].T
      |                               ^
 note: k.py:2:7: A: Tensor["M", "K"]
 fix:  A[m, k] @ B[k, n]
)"},
    {"MatmulNeedsTranspose", R"py(@tsr.kernel
def attn(Q: Tensor["S", "D"], K: Tensor["T", "D"], O: Out["S", "T"]):
    for m, n in tsr.grid(tsr.tile(S, 16), tsr.tile(T, 16)):
        q = Q[m, :]
        k = K[n, :]
        O[m, n] = q @ k
)py",
     R"(k.py:6:21: error: @ joins axis D of q with axis n of k; they must be the same axis
    6 |         O[m, n] = q @ k
      |                     ^
 note: k.py:4:9: q is [m, D] fp32
 note: k.py:5:9: k is [n, D] fp32
 fix:  q @ k.T
)"},
    {"MatmulDTypes",
     R"py(@tsr.kernel
def k(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        for k in tsr.tile(K, 32):
            p = A[m, k] * 2.0
            C[m, n] = p @ B[k, n]
)py",
     R"(k.py:6:23: error: @ needs equal dtypes: p is fp32 (line 5), B is fp16
    6 |             C[m, n] = p @ B[k, n]
      |                       ^~~~~~~~~~~
 note: k.py:5:13: p is [m, k] fp32
 note: k.py:2:28: B: Tensor["K", "N"]
 fix:  p.to(B.dtype) @ B[k, n]
)",
     {{"B", ArgumentSpec::tensor(DType::FP16, {-1, -1})}}},
    {"LoopChangesDType", R"py(@tsr.kernel
def k(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, 32):
            acc = (acc + A[m, k] @ B[k, n]).to(fp16)
        C[m, n] = acc
)py",
     R"(k.py:6:13: error: acc is [m, n] fp32 before the loop (line 4) but [m, n] fp16 after one turn
    6 |             acc = (acc + A[m, k] @ B[k, n]).to(fp16)
      |             ^~~
 note: k.py:4:9: acc before the loop
 fix:  keep it fp32, round at the store
)"},
    {"LoopNumberBecomesTile", R"py(@tsr.kernel
def k(X: Tensor["M", "K"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        acc = 0.0
        for k in tsr.tile(K, 32):
            acc = acc + tsr.sum(X[m, k], k)
        Y[m] = acc
)py",
     R"(k.py:6:13: error: acc is the float 0.0 before the loop (line 4) but [m] fp32 after one turn
    6 |             acc = acc + tsr.sum(X[m, k], k)
      |             ^~~
 note: k.py:4:9: acc before the loop
 fix:  acc = tsr.zeros(m)  # line 4
)"},
    {"IfOnTile", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        if x > 0:
            x = -x
        Y[m] = x
)py",
     R"(k.py:5:12: error: 'if' on a tile of 128 elements
    5 |         if x > 0:
      |            ^~~~~
 note: x > 0 is [m] bool
 note: k.py:4:9: x is [m] fp32
 fix:  x = tsr.where(x > 0, -x, x)
)"},
    {"AndOnTiles", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = tsr.where(x > 0 and x < 1, x, 0)
)py",
     R"(k.py:5:26: error: 'and' on a tile of 128 elements
    5 |         Y[m] = tsr.where(x > 0 and x < 1, x, 0)
      |                          ^~~~~
 note: x > 0 is [m] bool
 note: k.py:4:9: x is [m] fp32
 fix:  (x > 0) & (x < 1)
)"},
    {"UnknownName", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = z + x
)py",
     R"(k.py:5:16: error: 'z' is not defined
    5 |         Y[m] = z + x
      |                ^
 fix:  Z
)"},
    {"UnknownFunction", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = tsr.maxmum(x, 0)
)py",
     R"(k.py:5:20: error: tsr has no 'maxmum'
    5 |         Y[m] = tsr.maxmum(x, 0)
      |                    ^~~~~~
 fix:  tsr.maximum(x, 0)
)"},
    {"UnknownKeyword", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = tsr.sum(x, dims=0)
)py",
     R"(k.py:5:27: error: tsr.sum has no argument 'dims'; it takes x, over=, dim=, axis=
    5 |         Y[m] = tsr.sum(x, dims=0)
      |                           ^~~~~~
 fix:  tsr.sum(x, dim=0)
)"},
    {"UnknownAttribute", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = x + m.indx.to(fp32)
)py",
     R"(k.py:5:22: error: m is a range, which has no attribute 'indx'; it has index, start, stop, size, id, dim, copy
    5 |         Y[m] = x + m.indx.to(fp32)
      |                      ^~~~
 note: k.py:3:23: the range m
 fix:  m.index
)"},
    {"IntWithFloat", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = x + m.index
)py",
     R"(k.py:5:16: error: + mixes fp32 with i64: x is [m] fp32 (line 4), m.index is [m] i64
    5 |         Y[m] = x + m.index
      |                ^~~~~~~~~~~
 note: k.py:4:9: x is [m] fp32
 fix:  x + m.index.to(fp32)
)"},
    {"HalfWithBFloat",
     R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = x + Z[m]
)py",
     R"(k.py:5:16: error: + mixes fp16 with bf16: x is [m] fp16 (line 4), Z is [m] bf16
    5 |         Y[m] = x + Z[m]
      |                ^~~~~~~~
 note: k.py:4:9: x is [m] fp16
 note: k.py:2:23: Z: Tensor["M"]
 fix:  x.to(fp32) + Z[m]
)",
     {{"X", ArgumentSpec::tensor(DType::FP16, {-1})},
      {"Z", ArgumentSpec::tensor(DType::BF16, {-1})}}},
    {"IntTileWithFloatNumber", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        i = m.index * 0.5
        Y[m] = x
)py",
     R"(k.py:5:13: error: * mixes i64 with a float: m.index is [m] i64, 0.5 is the float 0.5
    5 |         i = m.index * 0.5
      |             ^~~~~~~~~~~~~
 fix:  m.index.to(fp32) * 0.5
)"},
    {"StoreFloatIntoInt",
     R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = x
)py",
     R"(k.py:5:16: error: a store rounds, it does not turn fp32 into i32
    5 |         Y[m] = x
      |                ^
 note: k.py:2:39: Y: Out["M"] is i32
 note: k.py:4:9: x is [m] fp32
 fix:  x.to(i32)
)",
     {{"Y", ArgumentSpec::tensor(DType::I32, {-1})}}},
    {"StoreAxisMissing", R"py(@tsr.kernel
def k(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        for k in tsr.tile(K, 32):
            C[m, n] = A[m, k]
)py",
     R"(k.py:5:23: error: the value is [m, k], but C[m, n] has no axis k; it is [m, n]
    5 |             C[m, n] = A[m, k]
      |                       ^~~~~~~
 note: k.py:4:9: the axis k
 note: k.py:2:7: A: Tensor["M", "K"]
 fix:  tsr.sum(A[m, k], k)
)"},
    {"OutIsRead", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = Y[m] + x
)py",
     R"(k.py:5:16: error: Y is only written (Out), not read
    5 |         Y[m] = Y[m] + x
      |                ^~~~
 note: k.py:2:39: Y: Out["M"]
 fix:  Y: InOut["M"]
)"},
    {"AtomicOnTensor", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        tsr.atomic_add(Z, (m,), x)
)py",
     R"(k.py:5:9: error: an atomic on Z, which is not a Region[reduce_*]
    5 |         tsr.atomic_add(Z, (m,), x)
      |         ^~~~~~~~~~~~~~~~~~~~~~~~~~
 note: k.py:2:23: Z: Tensor["M"]
 note: k.py:4:9: x is [m] fp32
 fix:  Z: Region[reduce_sum, Tensor["M"]]
)"},
    {"RegionIsStored", R"py(@tsr.kernel
def k(X: Tensor["M"], S: Region[reduce_sum, Tensor["M"]]):
    for m in tsr.grid(tsr.tile(M, 16)):
        S[m] = X[m]
)py",
     R"(k.py:4:9: error: S is a Region[reduce_sum], which only atomics touch
    4 |         S[m] = X[m]
      |         ^~~~
 note: k.py:2:23: S: Region[reduce_sum, Tensor["M"]]
 fix:  tsr.atomic_add(S, (m,), X[m])
)"},
    {"WrongNumberOfIndices", R"py(@tsr.kernel
def k(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        for k in tsr.tile(K, 32):
            C[m, n] = A[m]
)py",
     R"(k.py:5:23: error: A has 2 axes [M, K], but 1 index is given
    5 |             C[m, n] = A[m]
      |                       ^~~~
 note: k.py:2:7: A: Tensor["M", "K"]
 fix:  A[m, k]
)"},
    {"RangeInArithmetic", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = x * m
)py",
     R"(k.py:5:20: error: * needs tiles or numbers, but m is a range over M; x is [m] fp32
    5 |         Y[m] = x * m
      |                    ^
 note: k.py:3:23: the range m
 fix:  x * m.index
)"},
    {"TensorInArithmetic", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = X * 2
)py",
     R"(k.py:5:16: error: * needs tiles or numbers, but X is a tensor in memory
    5 |         Y[m] = X * 2
      |                ^~~~~
 note: k.py:2:7: X: Tensor["M"]
 fix:  X[m] * 2
)"},
    {"ReduceOverMissingAxis", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = tsr.sum(X[m], M)
)py",
     R"(k.py:5:30: error: X is [m]: it has m, a range over M, not all of it
    5 |         Y[m] = tsr.sum(X[m], M)
      |                              ^
 note: k.py:3:23: the range m
 fix:  m
)"},
    {"ReshapeAbsent", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = tsr.sum(x.reshape(2, 64))
)py",
     R"(k.py:5:24: error: reshape needs tiles without absent elements, but the axis m of x may have some
    5 |         Y[m] = tsr.sum(x.reshape(2, 64))
      |                        ^~~~~~~~~~~~~~~~
 note: k.py:3:23: the axis m
 note: k.py:4:9: x is [m] fp32
 fix:  x.filled(0)
)"},
    {"TwoGrids", R"py(@tsr.kernel
def k(X: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        Y[m] = X[m]
    for m in tsr.grid(tsr.tile(M, 16)):
        Y[m] = X[m]
)py",
     R"(k.py:5:14: error: a second tsr.grid; a kernel has one and nothing after it: its lines belong at the end of the first one, which has the same ranges
    5 |     for m in tsr.grid(tsr.tile(M, 16)):
      |              ^~~~~~~~~~~~~~~~~~~~~~~~~
 note: k.py:3:14: the first one
 fix:  for m in tsr.grid(tsr.tile(M, 16)):
           Y[m] = X[m]
)"},
    {"NoGrid", R"py(@tsr.kernel
def k(X: Tensor["M"], Y: Out["M"]):
    for m in tsr.tile(M, 16):
        pass
)py",
     R"(k.py:3:14: error: the outermost loop of a kernel runs over tsr.grid, not tsr.tile; each turn of the grid is one program
    3 |     for m in tsr.tile(M, 16):
      |              ^~~~~~~~~~~~~~~
 note: k.py:2:5: k is a kernel without a grid
 fix:  for m in tsr.grid(tsr.tile(M, 16)):
)"},
    {"StoreOutsideGrid", R"py(@tsr.kernel
def k(X: Tensor["M"], Y: Out["M"]):
    for m in tsr.tile(M, 16):
        Y[m] = X[m]
)py",
     R"(k.py:3:14: error: the outermost loop of a kernel runs over tsr.grid, not tsr.tile; each turn of the grid is one program
    3 |     for m in tsr.tile(M, 16):
      |              ^~~~~~~~~~~~~~~
 note: k.py:2:5: k is a kernel without a grid
 fix:  for m in tsr.grid(tsr.tile(M, 16)):
)"},
    {"KernelReturns", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        return x
)py",
     R"(k.py:5:9: error: 'return' in a kernel; its results are stored into Out parameters
    5 |         return x
      |         ^~~~~~~~
 note: k.py:2:5: k is a kernel
 note: k.py:4:9: x is [m] fp32
 fix:  Y[m] = x
)"},
    {"Break", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        for i in range(100):
            break
        Y[m] = x
)py",
     R"(k.py:6:13: error: 'break' is not part of the language
    6 |             break
      |             ^~~~~
 fix:  stop= of tsr.tile, or a 'while' with the condition in its test
)"},
    {"OnlyInLoop", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        for i in range(m.stop):
            t = x + 1
        Y[m] = t
)py",
     R"(k.py:7:16: error: 't' has no value here: it is assigned only inside the loop of line 5, which may run zero times
    7 |         Y[m] = t
      |                ^
 note: k.py:6:13: assigned here
 fix:  t = tsr.zeros(m) before the loop
)"},
    {"OnlyInOneArm", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        if m.start > 0:
            t = x + 1
        Y[m] = t
)py",
     R"(k.py:7:16: error: 't' has no value here: it is assigned only in one arm of the 'if' of line 5
    7 |         Y[m] = t
      |                ^
 note: k.py:6:13: assigned here
 fix:  t = tsr.zeros(m) before it
)"},
    {"ArmsDiffer", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        if m.start > 0:
            t = x + 1
        else:
            t = x.to(fp16)
        Y[m] = t
)py",
     R"(k.py:8:13: error: t is [m] fp32 in one arm of the 'if' (line 6) but [m] fp16 in the other (line 8)
    8 |             t = x.to(fp16)
      |             ^
 note: k.py:6:13: the other assignment
 fix:  t = x.to(fp32)
)"},
    {"NotYetDType", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = x.to(fp6_e2m3).to(fp32)
)py",
     R"(k.py:5:21: error: not yet: the dtype fp6_e2m3; there are fp64, fp32, fp16, bf16, i64, i32, bool and, in kernels, fp8_e4m3, fp8_e5m2 and i8
    5 |         Y[m] = x.to(fp6_e2m3).to(fp32)
      |                     ^~~~~~~~
 fix:  fp16
)"},
    {"NotYetDTypeInSignature", R"py(@tsr.kernel
def k(X: Tensor["M", fp6_e2m3], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        Y[m] = X[m]
)py",
     R"(k.py:2:22: error: not yet: the dtype fp6_e2m3; there are fp64, fp32, fp16, bf16, i64, i32, bool and, in kernels, fp8_e4m3, fp8_e5m2 and i8
    2 | def k(X: Tensor["M", fp6_e2m3], Y: Out["M"]):
      |                      ^~~~~~~~
 fix:  fp16
)"},
    {"NotYetMarked", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = tsr.sort(x)
)py",
     R"(k.py:5:16: error: not yet: tsr.sort and tsr.topk on tiles
    5 |         Y[m] = tsr.sort(x)
      |                ^~~~~~~~~~~
 note: k.py:4:9: x is [m] fp32
 fix:  sort in the calling code; the largest of an axis n is tsr.max(x, n), at tsr.argmax(x, n)
)"},
    {"MathOnTile", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = x / math.sqrt(x)
)py",
     R"(k.py:5:20: error: math.sqrt needs a constant, but x is [m] fp32
    5 |         Y[m] = x / math.sqrt(x)
      |                    ^~~~~~~~~
 note: k.py:4:9: x is [m] fp32
 fix:  tsr.sqrt(x)
)"},
    {"AssertFails", R"py(@tsr.kernel
def k(X: Tensor["M"], Y: Out["M"], B: const = 12):
    assert B % 8 == 0, "B must be a multiple of 8"
    for m in tsr.grid(tsr.tile(M, B)):
        Y[m] = X[m]
)py",
     R"(k.py:3:12: error: assert: B must be a multiple of 8
    3 |     assert B % 8 == 0, "B must be a multiple of 8"
      |            ^~~~~~~~~~
 note: k.py:2:36: B: const
)"},
    {"OuterProductOfOneAxis", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = tsr.sum(x[:, None] - x[None, :], m)
)py",
     R"(k.py:5:24: error: both sides have the axis m, so this is element by element, not every one with every other
    5 |         Y[m] = tsr.sum(x[:, None] - x[None, :], m)
      |                        ^~~~~~~~~~~~~~~~~~~~~~~
 note: k.py:3:23: the axis m
 note: k.py:4:9: x is [m] fp32
 fix:  m2 = m.copy(), and load one side with m2
)"},
    {"Recursion", R"py(@tsr.function
def f(x):
    return f(x) + 1

@tsr.kernel
def k(X: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        Y[m] = f(X[m])
)py",
     R"(k.py:3:12: error: 'f' calls itself; recursion is not part of the language
    3 |     return f(x) + 1
      |            ^
 note: k.py:8:16: in f, called here
 note: k.py:2:5: defined here
 fix:  a loop: for i in range(n)
)"},
    {"ErrorInsideInlinedFunction", R"py(@tsr.function
def half(x):
    return x * tsr.sqr(x)

@tsr.kernel
def k(X: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        Y[m] = half(X[m])
)py",
     R"(k.py:3:20: error: tsr has no 'sqr'
    3 |     return x * tsr.sqr(x)
      |                    ^~~
 note: k.py:8:16: in half, called here
 fix:  tsr.sqrt(x)
)"},
    {"DimsDisagree",
     R"py(@tsr.kernel
def k(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        C[m, 0] = tsr.sum(A[m, :], K)
)py",
     R"(k.py:2:1: error: A (16 x 64) and B (32 x 8) disagree on K: 64 from A, 32 from B
    2 | def k(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"]):
      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
 note: k.py:2:7: A: Tensor[M, K]
 note: k.py:2:28: B: Tensor[K, N]
)",
     {{"A", ArgumentSpec::tensor(DType::FP32, {16, 64})},
      {"B", ArgumentSpec::tensor(DType::FP32, {32, 8})}}},
    {"RankDiffers",
     R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = x
)py",
     R"(k.py:2:7: error: X has 2 axes, but is annotated Tensor[M]
    2 | def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
      |       ^~~~~~~~~~~~~~
 fix:  X: Tensor[...] with 2 dims
)",
     {{"X", ArgumentSpec::tensor(DType::FP32, {-1, -1})}}},
    {"BadAnnotation", R"py(@tsr.kernel
def k(X: Tensr["M"], Y: Out["M"]):
    pass
)py",
     R"(k.py:2:10: error: the annotation of X, Tensr["M"], is none of Tensor[...], Out[...], InOut[...], Region[...], const or a dtype
    2 | def k(X: Tensr["M"], Y: Out["M"]):
      |          ^~~~~~~~~~
 fix:  X: Tensor["M"]
)"},
    {"DimWithoutQuotes", R"py(@tsr.kernel
def k(X: Tensor[M], Y: Out["M"]):
    pass
)py",
     R"(k.py:2:17: error: a dim is a name in quotes, an int or an expression of them, not M
    2 | def k(X: Tensor[M], Y: Out["M"]):
      |                 ^
 fix:  "M"
)"},
    {"NegativeIndex", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = x + X[-1]
)py",
     R"(k.py:5:22: error: index -1 is outside axis 0 of X, M
    5 |         Y[m] = x + X[-1]
      |                      ^~
 note: k.py:2:7: X: Tensor["M"]
 fix:  M - 1
)"},
    {"TupleCount", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        a, b = x, x, x
)py",
     R"(k.py:5:9: error: 2 names (a, b) for 3 values: x, x, x is (x, x, x)
    5 |         a, b = x, x, x
      |         ^~~~
 fix:  _1, a, b = x, x, x
)"},
    {"BigInteger", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = x * 99999999999999999999
)py",
     R"(k.py:5:20: error: 99999999999999999999 does not fit in 64 bits
    5 |         Y[m] = x * 99999999999999999999
      |                    ^~~~~~~~~~~~~~~~~~~~
 fix:  99999999999999999999.0, a float
)"},
    {"DivisionByZero", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = x * (1 // 0)
)py",
     R"(k.py:5:21: error: division by zero: 1 // 0
    5 |         Y[m] = x * (1 // 0)
      |                     ^~~~~~
 fix:  1 // max(0, 1)
)"},
    {"CallsATensorOp", R"py(@tsr.kernel
def k(X: Tensor["M"], Z: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        x = X[m]
        Y[m] = tsr.matmul(x, x)
)py",
     R"(k.py:5:16: error: tsr.matmul is an operation of functions, on whole tensors; inside a kernel there are tiles
    5 |         Y[m] = tsr.matmul(x, x)
      |                ^~~~~~~~~~~~~~~~
 note: k.py:4:9: x is [m] fp32
 fix:  x @ x
)"},
    {"TooManyNames", R"py(@tsr.kernel
def k(X: Tensor["M"], Y: Out["M"]):
    for m, n in tsr.grid(tsr.tile(M, 16)):
        Y[m] = X[m]
)py",
     R"(k.py:3:9: error: 2 names for 1 axis of the grid
    3 |     for m, n in tsr.grid(tsr.tile(M, 16)):
      |         ^~~~
 note: k.py:3:17: the grid
 fix:  for m in tsr.grid(tsr.tile(M, 16)):
)"},
    {"TileSizeNotConstant",
     R"py(@tsr.kernel
def k(X: Tensor["M"], Y: Out["M"], b):
    for m in tsr.grid(tsr.tile(M, b)):
        Y[m] = X[m]
)py",
     R"(k.py:3:35: error: the size of a tile must be a constant int, but b is a run-time int
    3 |     for m in tsr.grid(tsr.tile(M, b)):
      |                                   ^
 note: k.py:2:36: b
 fix:  b: const in the signature
)",
     {{"b", ArgumentSpec::scalar(DType::I64)}}},
};

INSTANTIATE_TEST_SUITE_P(Sema, Errors, testing::ValuesIn(cases),
                         [](const testing::TestParamInfo<ErrorCase> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
