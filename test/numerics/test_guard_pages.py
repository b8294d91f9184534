"""No read and no write beyond an array: each stands between pages that nobody may touch.

A program that goes outside dies by a signal, so all of this runs in a child process.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import subprocess
import sys

import pytest

CHILD = r'''
import ctypes, mmap, sys
import ml_dtypes, numpy as np
sys.path[:0] = [HERE]
import bounds
import tessera as tsr
from programs import function, kernel, row_kernel
from tessera import kernels

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
PAGE = mmap.PAGESIZE


def guarded(shape, dtype, at_end):
    """An array that begins right after, or ends right before, a page without access."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    pages = -(-max(size, 1) // PAGE)
    base = libc.mmap(None, (pages + 2) * PAGE, 3, 0x22, -1, 0)
    assert base not in (None, ctypes.c_void_p(-1).value)
    assert libc.mprotect(base, PAGE, 0) == 0
    assert libc.mprotect(base + (pages + 1) * PAGE, PAGE, 0) == 0
    start = base + PAGE + (pages * PAGE - size if at_end else 0)
    memory = (ctypes.c_char * size).from_address(start) if size else b""
    return np.frombuffer(memory, dtype=dtype).reshape(shape) if size else np.zeros(shape, dtype)


def copies(array):
    """The same values with guards on either side, plain, transposed and backwards."""
    for at_end in (True, False):
        plain = guarded(array.shape, array.dtype, at_end)
        plain[...] = array
        yield plain
        if array.ndim == 2:
            flipped = guarded(array.shape[::-1], array.dtype, at_end)
            flipped[...] = array.T
            yield flipped.T
            back = guarded(array.shape, array.dtype, at_end)
            back[...] = array[::-1, ::-1]
            yield back[::-1, ::-1]


def run(what, fn, expected, *arrays, out=None):
    options = [list(copies(a)) for a in arrays]
    for i in range(max(map(len, options))):
        chosen = [o[i % len(o)] for o in options]
        for at_end in (True, False):
            if out is None:
                got = fn(*chosen)
            else:
                got = guarded(expected.shape, out, at_end)
                fn(*chosen, out=got)
            np.testing.assert_array_equal(got, expected, err_msg=what)


r = np.random.default_rng(0)
whole = lambda *shape, dtype=np.float32: r.integers(-3, 4, shape).astype(dtype)
for dtype in (np.float32, np.float16, ml_dtypes.bfloat16, np.int64, np.bool_):
    for n in (1, 7, 63, 65, 127, 1000):
        x, y = whole(n, dtype=dtype), whole(n, dtype=dtype)
        add, name = ("x ^ y", "bool") if dtype == np.bool_ else ("x + y", None)
        want = x ^ y if dtype == np.bool_ else x + y
        run(f"{add} {n}", function(add), want, x, y, out=dtype)
        known = {np.float32: "fp32", np.float16: "fp16", ml_dtypes.bfloat16: "bf16", np.int64: "i64", np.bool_: "bool"}[dtype]
        run(f"tiles {add} {n}", kernel(add, result=known), want, x, y)
for m, n in ((1, 1), (7, 63), (65, 7), (3, 127), (2, 1000)):
    x = whole(m, n)
    run(f"sum {m} {n}", function("tsr.sum(x, dim=-1)", "x"), x.sum(-1), x, out=np.float32)
    run(f"sum of columns {m} {n}", function("tsr.sum(x, dim=0)", "x"), x.sum(0), x, out=np.float32)
    run(f"argmax {m} {n}", function("tsr.argmax(x, dim=-1)", "x"), x.argmax(-1), x)
    run(f"cumsum {m} {n}", function("tsr.cumsum(x, dim=-1)", "x"), np.cumsum(x, -1), x, out=np.float32)
    run(f"transpose {m} {n}", function("x.transpose(0, 1)", "x"), x.T, x, out=np.float32)
    run(f"cat {m} {n}", function("tsr.cat([x, x[:, 1:]], dim=1)", "x"), np.concatenate([x, x[:, 1:]], 1), x, out=np.float32)
    run(f"row kernel {m} {n}", row_kernel("tsr.sum(x, dim=-1)"), x.sum(-1), x)
    i = r.integers(-m, m, 9)
    run(f"take {m} {n}", function("x[i]", "x i"), x[i], x, i, out=np.float32)
    soft = function("tsr.softmax(x, dim=-1)", "x")
    for given in copies(x):
        got = guarded((m, n), np.float32, True)
        soft(given, out=got)
        bounds.check(got, bounds.softmax(bounds.exact(x, "fp32")), f"softmax {m} {n}")
for m, n, k in ((1, 1, 1), (7, 63, 65), (16, 64, 70), (48, 7, 127), (48, 80, 64), (130, 70, 64)):
    a, b = r.integers(-128, 128, (m, k)).astype(np.int8), r.integers(-128, 128, (k, n)).astype(np.int8)
    into = lambda a, b, out: kernels.gemm(a, b, out, ACC=tsr.i32)
    run(f"gemm i8 {m} {n} {k}", into, a.astype(np.int32) @ b.astype(np.int32), a, b, out=np.int32)
for dtype in (np.float32, ml_dtypes.bfloat16, np.float16):
    # Rows in place, what is left of k, few rows, columns that are no whole panel: docs/decisions/2026-11-15-matrix-shortcuts.md.
    for m, n, k in ((1, 1, 1), (7, 63, 65), (65, 7, 127), (33, 130, 1), (1, 600, 40), (4, 513, 9), (16, 64, 70), (48, 65, 33), (112, 96, 64), (200, 100, 40),
                    (65, 17, 33), (40, 8, 9), (129, 16, 71), (40, 23, 41), (40, 31, 2)):
        a, b = r.integers(-1, 2, (m, k)).astype(dtype), r.integers(-1, 2, (k, n)).astype(dtype)
        want = (a.astype(np.float64) @ b.astype(np.float64)).astype(dtype)
        run(f"matmul {m} {n} {k}", function("a @ b", "a b"), want, a, b, out=dtype)
        run(f"gemm {m} {n} {k}", kernels.gemm, want, a, b)
    q = r.standard_normal((1, 2, 33, 40)).astype(dtype)
    plain = function("tsr.attention(q, k, v, causal=True)", "q k v")(q, q, q)
    for at_end in (True, False):
        arrays = [guarded(q.shape, dtype, at_end) for _ in range(4)]
        for array in arrays[:3]:
            array[...] = q
        function("tsr.attention(q, k, v, causal=True)", "q k v")(*arrays[:3], out=arrays[3])
        np.testing.assert_array_equal(arrays[3], plain)
for n in (7, 16, 37, 64):
    z = (r.standard_normal((n, n)) + 1j * r.standard_normal((n, n))).astype(np.complex64)
    for at_end in (True, False):
        given, got = guarded(z.shape, np.complex64, at_end), guarded(z.shape, np.float32, at_end)
        given[...] = z
        function("a + b", "a b")(given.real, given.imag, out=got)
        np.testing.assert_array_equal(got, z.real + z.imag)
        assert np.abs(kernels.fft2(given) - np.fft.fft2(z)).max() < 1e-4 * n
print("inside")
if "outside" in sys.argv:
    ctypes.c_float.from_address(guarded((4,), np.float32, True).ctypes.data + 16).value
    print("not caught")
'''


def child(*arguments):
    code = CHILD.replace("HERE", repr(str(pathlib.Path(__file__).parent)))
    environment = dict(os.environ, OMP_NUM_THREADS="2")
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=170, env=environment)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs mprotect")
def test_nothing_beyond_the_arrays_is_touched():
    done = child("outside")
    assert "inside" in done.stdout, done.stderr[-3000:]
    # The pages do guard: the child ends itself by a read beyond an array (a sanitizer says so and exits).
    assert (done.returncode < 0 or "SEGV" in done.stderr) and "not caught" not in done.stdout
