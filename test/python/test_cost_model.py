"""The cost model: what it counts, which of two schedules it prefers where the answer is clear, and what `explain()` prints of it.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import dataclasses
import re

import numpy as np
import pytest
import tessera as tsr
from tessera import Out, Tensor, arguments, bf16, const, cost, explain, fp32, i64, kernels, nests, roofline

MACHINE = dataclasses.replace(cost._ASSUMED, threads=2)  # the same on every machine
ALONE = dataclasses.replace(MACHINE, threads=1)


@tsr.function
def product(x: Tensor["M", "K"], w: Tensor["K", "N"]):
    return x @ w


@tsr.function
def chain(x: Tensor["M", "N"], y: Tensor["M", "N"]):
    return tsr.maximum(x * y + 1.0, x) - y


@tsr.function
def softmax(x: Tensor["M", "N"]):
    return tsr.softmax(x, dim=-1)


@tsr.kernel
def gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], BLOCK_M: const = 96, BLOCK_N: const = 64, BLOCK_K: const = 256):
    for m, n in tsr.grid(tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BLOCK_K):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


def spec_of(fn, **words):
    return arguments.spec_from_words(fn, "cpu:avx512", words)


def predicted(fn, shapes, machine=MACHINE, forced=(), **words):
    spec = spec_of(fn, **words)
    for key, value in dict(forced).items():
        spec = cost.forced(fn, spec, key, value)
    return cost.predict(fn, spec, shapes, machine)


def squares(n, names="xw"):
    return {name: (n, n) for name in names}


# ---- what is counted ------------------------------------------------------------------------------


def leaves(body, times=1.0):
    for item in body:
        if isinstance(item, nests.Loop):
            yield from leaves(item.body, times * item.trips)
        else:
            yield times, item


def launches(fn, shapes, **words):
    compilation = fn._with_key(lambda: fn._start(spec_of(fn, **words)))
    compilation.lower("tile")
    return nests.read(compilation, shapes)


def test_products_are_counted_with_their_padding():
    """148 rows in register tiles of 6 are 144 + 6; 70 columns are 64 and one vector of 16."""
    *_, launch = launches(product, {"x": (148, 50), "w": (50, 70)}, x=fp32, w=fp32)
    blocks = [(times, work.matrix) for times, work in leaves(launch.tree) if work.matrix]
    [(_, block)] = blocks
    assert (block.rows, block.unit) == (6, "fma")
    assert round(sum(times * b.rows * b.columns * b.depth for times, b in blocks)) == 150 * (64 + 16) * 50
    assert launch.programs == 2 * 2


def test_elements_are_counted_once():
    [launch] = launches(chain, {"x": (5, 3000), "y": (5, 3000)}, x=fp32, y=fp32)
    touched = {}
    for times, work in leaves(launch.tree):
        for touch in work.touches:
            touched[touch.array] = touched.get(touch.array, 0.0) + times * touch.bytes
    assert touched == {"x": 60000.0, "y": 60000.0, "result": 60000.0}
    assert sum(times * work.vectors for times, work in leaves(launch.tree)) == 5 * (1024 * 2 / 16 + 60)  # 952 are 59.5 vectors


def test_what_a_matrix_step_does_without_is_not_counted():
    """The sum is neither cleared nor copied; four rows read B where it lies; an epilogue has its nest."""
    *_, plain = launches(product, squares(512), x=fp32, w=fp32)
    works = [work for _, work in leaves(plain.tree)]
    assert [bool(work.matrix) for work in works] == [True, False]
    assert works[1].vectors == 0 and [touch.array for touch in works[1].touches] == ["result"]
    *_, thin = launches(product, {"x": (4, 512), "w": (512, 1024)}, x=fp32, w=fp32)
    [step] = [work for _, work in leaves(thin.tree) if work.matrix]
    assert step.matrix.thin and {touch.array for touch in step.touches} >= {"x", "w"}
    assert not [work for _, work in leaves(thin.tree) if not work.matrix and any(touch.scratch and touch.write for touch in work.touches)]  # nothing is packed

    @tsr.function
    def shifted(x: Tensor["M", "K"], w: Tensor["K", "N"]):
        return x @ w + 1.0

    *_, last = launches(shifted, squares(512), x=fp32, w=fp32)
    assert [work.vectors > 0 for _, work in leaves(last.tree)] == [False, True]


def test_branches_of_the_plan_are_taken_by_size():
    small, large = (launches(product, squares(n), x=fp32, w=fp32) for n in (64, 512))
    assert [launch.kernel for launch in small] == ["product_0"]
    assert [launch.kernel for launch in large] == ["product_0_pack_w", "product_0_packed"]


def test_a_causal_loop_is_half_as_long():
    words = dict(Q=fp32, K=fp32, V=fp32, D=64)
    shapes = {name: (1, 4, 2048, 64) for name in "QKV"}
    whole, half = (predicted(kernels.flash_attention, shapes, causal=causal, **words).seconds for causal in (False, True))
    assert 0.45 < half / whole < 0.6  # keys are hidden in the blocks of the diagonal only


# ---- which is quicker -----------------------------------------------------------------------------


def test_tiny_tiles_cost_more():
    shapes = squares(512, "AB")
    good = predicted(gemm, shapes, A=fp32, B=fp32).seconds
    assert predicted(gemm, shapes, forced=dict(BLOCK_M=8, BLOCK_N=8), A=fp32, B=fp32).seconds > 1.5 * good
    assert predicted(gemm, shapes, forced=dict(BLOCK_K=8), A=fp32, B=fp32).seconds > 1.3 * good


@pytest.mark.parametrize("dtype", [fp32, bf16])
@pytest.mark.parametrize("machine", [MACHINE, ALONE])
def test_more_work_is_never_cheaper(dtype, machine):
    for m, k, n in ((64, 64, 64), (100, 300, 70), (1024, 512, 256)):
        base = predicted(product, {"x": (m, k), "w": (k, n)}, machine, x=dtype, w=dtype).seconds
        for larger in ((2 * m, k, n), (m, 2 * k, n), (m, k, 2 * n)):
            more = predicted(product, {"x": larger[:2], "w": larger[1:]}, machine, x=dtype, w=dtype).seconds
            assert more > base, (larger, more, base)


def test_fusing_saves_bytes():
    shapes = squares(4096, "xy")
    fused, unfused = predicted(chain, shapes, x=fp32, y=fp32), predicted(chain, shapes, forced=dict(fuse=0), x=fp32, y=fp32)
    assert len(fused.kernels) == 1 and len(unfused.kernels) == 4
    assert round(fused.bytes) == 3 * 4 * 4096 ** 2
    assert unfused.bytes >= 2.5 * fused.bytes and unfused.seconds > 2 * fused.seconds


def test_packing_pays_where_many_programs_read_the_same():
    many = squares(1024)
    assert predicted(product, many, forced=dict(pack=0), x=fp32, w=fp32).seconds > predicted(product, many, x=fp32, w=fp32).seconds


def test_large_results_go_past_the_caches():
    large, small = squares(8192, "x"), squares(256, "x")
    assert predicted(softmax, large, forced=dict(stream=0), x=fp32).seconds > predicted(softmax, large, x=fp32).seconds
    assert predicted(softmax, small, ALONE, forced=dict(stream=2), x=fp32).seconds > predicted(softmax, small, ALONE, x=fp32).seconds


def test_threads_help_what_is_large():
    assert predicted(product, squares(1024), forced=dict(threads=1), x=fp32, w=fp32).seconds > 1.8 * predicted(product, squares(1024), x=fp32, w=fp32).seconds
    [tiny] = launches(chain, {"x": (8, 64), "y": (8, 64)}, x=fp32, y=fp32)
    assert tiny.programs == 8 and cost.of_launches([tiny], MACHINE).kernels[0].threads == 1


def test_uneven_programs_leave_threads_idle():
    assert cost._spread(3, 2) == 4 / 3 and cost._spread(1, 2) == 2 and cost._spread(64, 2) == 1
    uneven = predicted(gemm, {"A": (96, 512), "B": (512, 64 * 3)}, A=fp32, B=fp32).kernels[-1]
    assert uneven.terms["idle"] > 0.2 * uneven.seconds


def made(*body, arrays=None):
    """The cost of a launch of one program."""
    return cost.of_launches([nests.Launch("made", 1, None, None, list(body), arrays or {})], ALONE).kernels[0]


def test_bytes_are_found_where_they_still_are():
    """Ten turns over the same bytes; then over others each."""
    for size, level in ((16 << 10, "L1"), (512 << 10, "L2"), (8 << 20, "L3"), (512 << 20, "memory")):
        same = made(nests.Loop(10, "i", [nests.Work(touches=[nests.Touch("a", size, frozenset())])]), arrays={"a": size})
        assert same.bytes[level] == 10 * size, (level, same.bytes)
        others = made(nests.Loop(10, "i", [nests.Work(touches=[nests.Touch("a", size, frozenset("i"))])]), arrays={"a": 10 * size})
        assert sum(others.bytes.values()) == 10 * size and others.bytes["L1"] == 0, (level, others.bytes)
    # What lies between two looks at the same counts as well.
    def looks(between):
        return made(nests.Loop(10, "i", [nests.Work(touches=[nests.Touch("a", 1 << 10, frozenset()), nests.Touch("b", between, frozenset("i"))])]),
                    arrays={"a": 1 << 10, "b": 10 * between})

    assert looks(8 << 10).bytes["L1"] == 9 << 10
    assert looks(1 << 20).bytes["L1"] == 0


def test_small_register_tiles_wait_for_their_latency():
    def seconds(rows, vectors):
        return made(nests.Work(matrix=nests.Matrix("fma", rows, 16 * vectors, 10000, vectors, 16, False))).terms["compute"] / (rows * vectors)

    assert seconds(1, 1) > 7 * seconds(6, 4) and seconds(8, 1) > 1.05 * seconds(6, 4)


def test_terms_add_up_and_slower_machines_take_longer():
    now = predicted(softmax, squares(2048, "x"), x=fp32)
    for kernel in now.kernels:
        assert sum(kernel.terms.values()) == kernel.seconds
    slow = dataclasses.replace(MACHINE, reads={n: [r / 2 for r in rates] for n, rates in MACHINE.reads.items()})
    assert predicted(softmax, squares(2048, "x"), slow, x=fp32).seconds > now.seconds
    assert predicted(softmax, squares(2048, "x"), dataclasses.replace(MACHINE, clock=MACHINE.clock / 2), x=fp32).seconds > now.seconds


def test_the_machine_is_the_roofline():
    def rate(name, threads):
        return {"fma_f32_avx512": 192e9, "read_l1": 400e9, "read_l2": 200e9, "read_l3": 40e9, "read_dram": 20e9, "copy": 20e9, "copy_stream": 40e9, "amx_bf16": 2e12}.get(name, 1e9) * threads

    roofs = tuple(roofline.Roof(name, roofline._UNITS[name], n, rate(name, n), rate(name, n), 3, 1 << 20) for name in roofline._NAMES for n in (1, 2))
    made = cost.of_roofline(roofline.Roofline("test", "2026-01-01", roofs), "test")
    assert made.clock == 3e9 and made.reads[2][1] == 400e9 and made.amx[1] == 2e12
    assert round(made.writes[1][3]) == round(1 / (2 / 20e9 - 1 / 40e9)) and round(made.streams[1]) == 40 * 10 ** 9


# ---- explain --------------------------------------------------------------------------------------


def rows(text):
    """decision -> (predicted, {alternative: times})."""
    found = {}
    for line in text.splitlines():
        row = re.match(r"(\w+) +(\w[\w ()]*?) +(\d+|all|auto) +(?:user|default|model|tuner) +([\d.]+ [mu]?s)  (.*)", line)
        if row:
            found[explain.schedule_key(row[2])] = (row[4], {a: float(b) for a, b in re.findall(r"(\w+) \((\d+\.\d\d)x\)", row[5])})
    return found


def test_explain_predicts_for_the_sizes_of_the_last_call():
    fn = tsr.function(product.__wrapped__)
    fn(np.ones((200, 64), np.float32), np.ones((64, 128), np.float32))
    text = fn.explain()
    assert "a call for x [200, 64], w [64, 128], " in text
    fn(np.ones((20, 64), np.float32), np.ones((64, 128), np.float32))
    assert "x [200, 64]" in text


def test_explain_predicts_for_arrays_and_for_dims():
    fn = tsr.function(product.__wrapped__)
    by_array = fn.explain(np.ones((512, 256), np.float32), np.ones((256, 128), np.float32))
    by_dim = fn.explain(M=512, K=256, N=128)
    assert "for x [512, 256], w [256, 128]" in by_array and "for M=512, K=256, N=128" in by_dim
    assert rows(by_array) == rows(by_dim)
    assert "M=1024, K=1024, N=1024 (assumed)" in fn.explain()
    small, large = (float(re.search(r"predicted ([\d.]+) ms a call", fn.explain(M=n, N=n, K=n))[1]) for n in (1024, 2048))
    assert 6 < large / small < 11


def test_every_alternative_has_its_cost(monkeypatch):
    monkeypatch.setattr(roofline, "known", lambda: None)  # a busy machine may measure that streaming stores are slower
    found = rows(product.explain(M=512, K=512, N=512))
    assert set(found) >= {"tile.M", "tile.N", "tile.K", "vector", "unroll", "group", "pack", "stream"}
    assert set(found["tile.M"][1]) == {"16", "32", "48", "64", "96", "128", "192", "256"}
    assert all(0.3 < ratio < 10 for _, others in found.values() for ratio in others.values())
    chained = rows(chain.explain(M=4096, N=4096))
    assert chained["fuse"][1]["0"] > 2 and chained["stream"][1]["0"] > 1


@pytest.mark.parametrize("m", [1, 3, 17])
@pytest.mark.parametrize("dtype", [fp32, bf16])
def test_few_rows_are_predicted_too(m, dtype):
    text = product.explain(x=dtype, w=dtype, M=m, K=1000, N=130)
    assert re.search(r"predicted [\d.]+ us a call for M=\d+, K=1000, N=130", text) and len(rows(text)) >= 8


def test_no_rows_cost_a_launch():
    assert predicted(product, {"x": (0, 64), "w": (64, 64)}, x=fp32, w=fp32).seconds < 5e-6


def test_without_costs_nothing_is_predicted():
    text = product.explain(costs=False)
    assert "predicted" not in text and re.search(r"tile M \(grid\) +144 +default +16, 32, 48", text)


def test_a_machine_that_was_never_measured_is_said_to_be_assumed(monkeypatch):
    monkeypatch.setattr(roofline, "known", lambda: None)
    assert "no roofline was measured here (python -m tessera roofline does): assumed rates" in product.explain()


def test_what_the_model_cannot_follow_is_said():
    @tsr.kernel
    def sums(X: Tensor["M", "N"], stop: Tensor["M", i64], Y: Out["M"]):
        for m in tsr.grid(M):
            acc: fp32 = 0.0
            for n in tsr.tile(N, 64, stop=stop[m]):
                acc += tsr.sum(X[m, n], n)
            Y[m] = acc

    text = sums.explain()
    assert "no cost is predicted: a loop whose end is computed from data" in text
    assert re.search(r"sums +unroll +auto +default +1, 2, 4, 8", text)


def test_the_head_size_of_attention_is_no_choice():
    @tsr.function
    def attend(q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "T", "D"], v: Tensor["B", "H", "T", "D"]):
        return tsr.attention(q, k, v)

    row = next(line for line in attend.explain(B=1, H=2, S=256, T=256, D=64).splitlines() if "tile 3" in line)
    assert row.endswith("  -")
