# Ring mode: schedules of one computation agree bit for bit.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
import pytest

import tessera.sim as sim
from tessera.sim import ring

HEAD = ".version 8.5\n.target sm_80\n.address_size 64\n"


def one_thread(body, sources, dtype="f4"):
    """Runs `body` with %a<k> loaded and %d stored, one thread per element."""
    bits = 8 * np.dtype(dtype).itemsize
    text = HEAD + f".visible .entry k({', '.join(f'.param .u64 p{k}' for k in range(len(sources) + 1))}) {{\n" \
        f".reg .b{bits} %a<9>, %t<9>, %d; .reg .b64 %x, %o; .reg .b32 %i; .reg .pred %p;\n" \
        f"mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, {bits // 8};\n"
    for k in range(len(sources)):
        text += f"ld.param.u64 %x, [p{k}]; add.s64 %x, %x, %o; ld.global.b{bits} %a{k}, [%x];\n"
    text += body + f"\nld.param.u64 %x, [p{len(sources)}]; add.s64 %x, %x, %o; st.global.b{bits} [%x], %d;\nret;\n}}"
    out = np.zeros(len(sources[0]), dtype)
    report = sim.launch(text, "k", 1, len(out), [*sources, out], ring=True)
    assert report.ok, report.text()
    return out


def inputs(count, n=256, dtype="f4"):
    return [ring.random(n, dtype, seed=k) for k in range(count)]


@pytest.mark.parametrize("dtype,t", [("f4", "f32"), ("f8", "f64"), ("f2", "f16")])
def test_any_order_of_sums_agrees(dtype, t):
    x = inputs(4, dtype=dtype)
    left = one_thread(f"add.{t} %t1, %a0, %a1; add.{t} %t1, %t1, %a2; add.{t} %d, %t1, %a3;", x, dtype)
    tree = one_thread(f"add.{t} %t1, %a3, %a1; add.{t} %t2, %a0, %a2; add.{t} %d, %t1, %t2;", x, dtype)
    fused = one_thread(f"fma.rn.{t} %t1, %a0, %a1, %a2; mul.{t} %t2, %a1, %a0; add.{t} %t2, %a2, %t2;"
                       f"sub.{t} %t1, %t1, %t2; add.{t} %d, %t1, %a3;", x, dtype)
    assert ring.same(left, tree) and ring.same(fused, x[3])
    wrong = one_thread(f"add.{t} %t1, %a0, %a1; add.{t} %d, %t1, %a3;", x, dtype)
    assert not ring.same(left, wrong)
    if dtype == "f4":  # as integers modulo 2^31
        total = sum(ring.elements(v).astype(object) for v in x) % 2**31
        assert (ring.elements(left) == total.astype(np.uint32)).all()


def test_exp2_turns_sums_into_products():
    x = inputs(2)
    one = one_thread("add.f32 %t1, %a0, %a1; ex2.approx.f32 %d, %t1;", x)
    two = one_thread("ex2.approx.f32 %t1, %a0; ex2.approx.f32 %t2, %a1; mul.f32 %d, %t1, %t2;", x)
    assert ring.same(one, two)
    nothing = one_thread("mov.f32 %t1, 0fFF800000; add.f32 %t1, %t1, %a0; ex2.approx.f32 %d, %t1;", x[:1])
    assert not ring.elements(nothing).any()


def test_max_has_minus_infinity_as_identity():
    x = inputs(2)
    one = one_thread("mov.f32 %t1, 0fFF800000; max.f32 %t1, %t1, %a1; max.f32 %d, %t1, %a0;", x)
    two = one_thread("max.f32 %d, %a0, %a1;", x)
    assert ring.same(one, two)
    assert (ring.elements(two) == np.maximum(ring.elements(x[0]), ring.elements(x[1]))).all()


def test_division_is_a_product_and_conversions_are_tags():
    x = inputs(2)
    assert ring.same(one_thread("div.full.f32 %d, %a0, %a1;", x),
                     one_thread("rcp.approx.f32 %t1, %a1; mul.f32 %d, %t1, %a0;", x))
    halves = ("{{ .reg .b16 h; cvt.rn.f16.f32 h, {}; cvt.f32.f16 %d, h; }}")
    assert ring.same(one_thread(halves.format("%a0"), x[:1]), one_thread(halves.format("%a0"), x[:1]))
    assert not ring.same(one_thread(halves.format("%a0"), x[:1]), x[0])
    ones = one_thread("mov.f32 %t1, 0f3F800000; { .reg .b16 h; cvt.rn.f16.f32 h, %t1; cvt.f32.f16 %d, h; }", x[:1])
    assert (ring.elements(ones) == 1).all()


@pytest.mark.parametrize("op", ["cvt.rzi.s32.f32 %d, %a0;", "add.sat.f32 %d, %a0, %a0;",
                                "copysign.f32 %d, %a0, %a0;", "testp.finite.f32 %p, %a0;"])
def test_what_has_no_meaning_is_refused_by_name(op):
    with pytest.raises(sim.SimError, match=op.split()[0] + ".*excluded from ring mode"):
        one_thread(op, inputs(1))


def test_atomics_agree_under_every_schedule():
    text = HEAD + """.visible .entry k(.param .u64 x, .param .u64 y) {
.reg .b32 %i, %t, %a; .reg .b64 %p, %o;
mov.u32 %i, %ctaid.x; mov.u32 %t, %tid.x; mad.lo.u32 %i, %i, 128, %t; mul.wide.u32 %o, %i, 4;
ld.param.u64 %p, [x]; add.s64 %p, %p, %o; ld.global.f32 %a, [%p];
ld.param.u64 %p, [y]; red.global.add.f32 [%p], %a; ret;
}"""
    for seeds, exact in ((range(5), True), (range(5), False)):
        results = set()
        for seed in seeds:
            x = ring.random(1024) if exact else \
                np.random.default_rng(2).standard_normal(1024).astype("f4")
            y = np.zeros(1, "f4")
            report = sim.launch(text, "k", 8, 128, [x, y], ring=exact, adversarial=True, seed=seed)
            assert report.ok, report.text()
            results.add(ring.elements(y)[0])
        assert (len(results) == 1) == exact  # floats depend on the order, the ring does not


@pytest.fixture
def kernels():
    pytest.importorskip("triton", reason="triton is not installed")
    import triton_kernels
    return triton_kernels


def tensor(shape, dtype, seed):
    import torch
    return torch.from_numpy(ring.random(shape, dtype, seed))


def matmul(k, block, warps, stages, skip=0):
    import torch
    import triton.language as tl

    import tessera.sim.triton as sim_triton
    sim_triton.activate("sm_80", ring=True)
    n = 128
    a, b = tensor((n, n), "f2", 1), tensor((n, n), "f2", 2)
    c = torch.zeros(n, n)
    BM, BN, BK = block
    k.matmul[(n // BM * (n // BN),)](a, b, c, n, n, n - skip, n, 1, n, 1, n, 1, BM=BM, BN=BN, BK=BK, GM=8,
                                     ACC=tl.float32, PREC="tf32", num_warps=warps, num_stages=stages)
    return c.numpy()


def test_triton_schedules_of_a_matmul_agree(kernels):
    schedules = [((64, 64, 32), 4, 3), ((32, 64, 64), 2, 2), ((128, 32, 16), 4, 1)]
    first, *rest = [matmul(kernels, *s) for s in schedules]
    assert all(ring.same(first, r) for r in rest)
    assert not ring.same(first, matmul(kernels, *schedules[0], skip=1))  # one product less


def test_triton_schedules_of_attention_agree(kernels):
    import torch

    import tessera.sim.triton as sim_triton
    sim_triton.activate("sm_80", ring=True)
    S, D = 128, 64
    q, kk, v = (tensor((1, S, D), "f2", s) for s in (3, 4, 5))
    results = []
    # P is rounded to f16 against the running maximum: BN must be the same.
    for BM, warps, stages in ((128, 4, 2), (64, 4, 3), (64, 2, 1)):
        o, lse = torch.zeros_like(q), torch.zeros(1, S)
        kernels.attn_fwd[(S // BM, 1)](q, kk, v, o, lse, S, 0.125, S * D, D=D, BM=BM, BN=64, CAUSAL=False,
                                       num_warps=warps, num_stages=stages)
        results.append((o.numpy().copy(), lse.numpy().copy()))
    assert all(ring.same(results[0][k], r[k]) for r in results for k in (0, 1))
