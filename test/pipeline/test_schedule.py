"""Schedules: honoured, shown with who decided, never part of the result; and `explain()`'s alternatives can be forced.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re
import warnings

import numpy as np
import pytest
import tessera as tsr
from tessera import oracle
from tessera import Out, Tensor, const


def gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], BLOCK_M: const = 128, BLOCK_N: const = 128, BLOCK_K: const = 64):
    for m, n in tsr.grid(tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N), group=8):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BLOCK_K):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


def product(A: Tensor["M", "K"], B: Tensor["K", "N"]):
    return A @ B + 1.0


def softmax(A: Tensor["M", "N"]):
    return tsr.softmax(A, axis=-1)


def integers(*shape, seed=0):
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


A, B = integers(90, 300), integers(300, 130, seed=1)
EXACT = A.astype(np.float64) @ B


def machine_code(fn):
    """Machine code and plan of the version for fp32."""
    names = [p.name for p in fn.parameters if p.kind == "tensor"]
    version = fn.compile(**{name: tsr.fp32 for name in names})
    return version.artifact.object, version.plan


# ---- honoured -------------------------------------------------------------------------------


def test_kernel_schedule():
    plain = tsr.kernel(gemm)
    scheduled = tsr.kernel.schedule(target="cpu", BLOCK_M=32, threads=1, unroll=2, vector=8)(gemm)
    np.testing.assert_array_equal(scheduled(A, B), EXACT)
    text = scheduled.inspect_ir("sched", A=tsr.fp32, B=tsr.fp32)
    for what, value in (("threads", 1), ("unroll", 2), ("vector", 8)):
        assert re.search(rf'sched\.place {what} <{value}, \[[\d, ]+\], user>', text), text
    assert "!tile.range<32>" in text
    assert "!tile.range<32>" not in plain.inspect_ir("sched", A=tsr.fp32, B=tsr.fp32)
    explained = scheduled.explain(A=tsr.fp32, B=tsr.fp32)
    for what, value in (("BLOCK_M", 32), ("threads", 1), ("unroll", 2), ("vector", 8)):
        assert re.search(rf"{what} +{value} +user", explained), explained
    assert re.search(r"BLOCK_N +128 +default", explained), explained
    code, plan = machine_code(scheduled)
    assert code != machine_code(plain)[0]
    assert " threads 1" in plan and "ceildiv 32" in plan


def test_function_schedule():
    plain = tsr.function(product)
    scheduled = tsr.function.schedule(tile=dict(M=64), threads=1)(product)
    np.testing.assert_array_equal(scheduled(A, B), EXACT + 1)
    text = scheduled.inspect_ir("sched", A=tsr.fp32, B=tsr.fp32)
    assert re.search(r'sched\.tile 0 by <64, \[[\d, ]+\], user> \{name = "M"\}', text), text
    assert re.search(r'sched\.place threads <1, \[[\d, ]+\], user>', text), text
    explained = scheduled.explain(A=tsr.fp32, B=tsr.fp32)
    assert re.search(r"tile M \(grid\) +64 +user", explained), explained
    assert re.search(r"threads +1 +user", explained), explained
    code, plan = machine_code(scheduled)
    assert code != machine_code(plain)[0]
    assert "ceildiv 64" in plan and " threads 1" in plan


def relu_scaled(X: Tensor["M", "N"]):
    return tsr.maximum(X * 2.0 + 1.0, 0.0)


@pytest.mark.parametrize("key, values", [("unroll", (1, 2, 3, 8)), ("vector", (1, 2, 4, 8, 16))])
def test_each_value_changes_code_not_result(key, values):
    codes = []
    X = integers(33, 517)
    for value in values:
        fn = tsr.function.schedule(**{key: value})(relu_scaled)
        np.testing.assert_array_equal(fn(X), np.maximum(X * 2 + 1, 0))
        version = fn.compile(X=tsr.fp32)
        text = fn.inspect_ir("tile", X=tsr.fp32)
        assert f"{'lanes' if key == 'vector' else 'unroll'} = {value}" in text, text
        codes.append(version.artifact.object)
    assert len(set(codes)) == len(codes)


def test_sums_keep_their_bits():
    """Unrolling and vector width never reorder a sum: floats that round show it."""
    X = np.random.default_rng(3).standard_normal((5, 3001)).astype(np.float32)
    wanted = tsr.function(softmax)(X)
    for schedule in (dict(unroll=1), dict(unroll=8), dict(vector=4), dict(vector=8, unroll=2), dict(threads=1)):
        np.testing.assert_array_equal(tsr.function.schedule(**schedule)(softmax)(X), wanted, err_msg=str(schedule))


def test_the_most_specific_target_wins():
    fn = tsr.function.schedule(threads=4)(tsr.function.schedule(target="cpu:avx2", threads=1)(product))
    assert " threads 4" in fn.compile(A=tsr.fp32, B=tsr.fp32).plan
    assert " threads 1" in fn.compile(target="cpu:avx2", A=tsr.fp32, B=tsr.fp32).plan


def test_pack_stream_and_fuse():
    """What a kernel packs, where its result goes and what one kernel is: said by the user, the same bits."""
    X, W = np.random.default_rng(4).standard_normal((2, 300, 300)).astype(np.float32)
    launches = {}
    for schedule in (dict(), dict(pack=0), dict(pack=False), dict(pack=1), dict(stream=0), dict(stream=2), dict(fuse=0), dict(fuse=True)):
        fn = tsr.function.schedule(**schedule)(product) if schedule else tsr.function(product)
        result = fn(X, W)
        wanted = result if not schedule else wanted
        np.testing.assert_array_equal(result, wanted, err_msg=str(schedule))
        launches[str(schedule)] = re.findall(r"launch @(\w+)", fn.compile(A=tsr.fp32, B=tsr.fp32).plan)
        for what, value in schedule.items():
            assert re.search(rf"{what} +{int(value)} +user", fn.explain()), fn.explain()
    plain = launches["{}"]
    assert [name for name in plain if "pack_B" in name] and [name for name in plain if name.endswith("_stream")]
    assert launches["{'pack': 0}"] == launches["{'pack': False}"] and not [name for name in launches["{'pack': 0}"] if "pack" in name]
    assert launches["{'pack': 1}"] == launches["{'fuse': True}"] == launches["{'stream': 2}"] == plain
    assert not [name for name in launches["{'stream': 0}"] if name.endswith("_stream")]
    assert not [name for name in plain if "product_1" in name] and [name for name in launches["{'fuse': 0}"] if "product_1" in name]
    stored = tsr.function.schedule(stream=2, split_k=1)(product).compile(A=tsr.fp32, B=tsr.fp32).plan
    sizes = re.compile(r">= (\d+)")  # few rows ask for columns, too, and few columns for rows
    assert sizes.findall(stored) == ["4096", "128", "128"] and "nontemporal" not in stored
    assert set(sizes.findall(tsr.function(product).compile(A=tsr.fp32, B=tsr.fp32).plan)) > {"4096", "128"}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_unfused_chains_have_the_same_bits(dtype):
    X = np.random.default_rng(5).standard_normal((7, 333)).astype(dtype)
    fused, unfused = tsr.function(softmax)(X), tsr.function.schedule(fuse=0)(softmax)(X)
    np.testing.assert_array_equal(fused, unfused)


# ---- refused or remarked --------------------------------------------------------------------


def test_unknown_keys_are_errors():
    with pytest.raises(tsr.CompileError, match=r"(?s)no schedule key 'thread'.*\n fix:  threads=1"):
        tsr.kernel.schedule(thread=1)(gemm)(A, B)
    with pytest.raises(tsr.CompileError, match="tile size for Z, but the named dims are M, K, N"):
        tsr.function.schedule(tile=dict(Z=64))(product)(A, B)


@pytest.mark.parametrize("schedule, message", [
    (dict(vector=6), "vector of .* is 0 .a register. or a power of two, not 6"),
    (dict(threads=-1), "threads of .* is 0 to 65536, not -1"),
    (dict(pack=2), "pack of .* is 0 or 1, not 2"),
    (dict(stream=3), "stream of .* is 0, 1 or 2, not 3"),
    (dict(tile=dict(M=0)), "a tile has 1 to"),
    (dict(tile=dict(M=1 << 40)), "a tile has 1 to"),
])
def test_values_out_of_range_are_errors_at_the_users_line(schedule, message):
    fn = tsr.function.schedule(**schedule)(product)
    with pytest.raises(tsr.CompileError, match=message) as caught:
        fn(A, B)
    assert fn.source.file in str(caught.value)


def test_keys_of_other_targets_are_remarks():
    fn = tsr.kernel.schedule(num_warps=8)(gemm)
    with pytest.warns(tsr.ScheduleWarning, match="kernel 'gemm': target cpu does not use the schedule key 'num_warps'") as caught:
        np.testing.assert_array_equal(fn(A, B), EXACT)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fn(A[:50], B)  # once is enough


def test_kernels_are_told_what_only_functions_follow():
    with pytest.warns(tsr.ScheduleWarning, match="kernel 'gemm' does what its text says: the schedule key 'split_k' is for functions"):
        tsr.kernel.schedule(split_k=2)(gemm)(A, B)


def test_too_wide_vectors_are_remarks():
    fn = tsr.function.schedule(vector=1024)(relu_scaled)
    with pytest.warns(tsr.ScheduleWarning, match="vector=1024 is more than this target's registers hold"):
        X = integers(3, 100)
        np.testing.assert_array_equal(fn(X), np.maximum(X * 2 + 1, 0))


# ---- explain --------------------------------------------------------------------------------


def number(text: str) -> int:
    return 0 if text in ("all", "auto") else int(text)


def decisions(fn, **words):
    """[(kernel, what, value, by, [alternatives])] as `explain()` prints them; each alternative has its cost."""
    rows = []
    for line in fn.explain(**words).splitlines():
        found = re.fullmatch(r"(\w+) +(\w[\w ()]*?) +(\d+|all|auto) +(user|default|model|tuner) +[\d.]+ [mu]?s  ((?:(?:\d+|all|auto) \(\d+\.\d\dx\)(?:, )?)+|-)", line)
        if found:
            others = [] if found[5] == "-" else [number(x.split(" ")[0]) for x in found[5].split(", ")]
            rows.append((found[1], found[2], number(found[3]), found[4], others))
    return rows


def forced(make, fn, what: str, value: int):
    tile = re.fullmatch(r"tile (\w+) \(\w+\)", what)
    return make.schedule(**({"tile": {tile[1]: value}} if tile else {what: value}))(fn)


@pytest.mark.parametrize("name", ["product", "softmax", "gemm"])
def test_every_alternative_can_be_forced(name):
    make, source, inputs = {
        "product": (tsr.function, product, (A, B)),
        "softmax": (tsr.function, softmax, (A,)),
        "gemm": (tsr.kernel, gemm, (A, B)),
    }[name]
    plain = make(source)
    words = {p: tsr.fp32 for p, _ in zip("AB", inputs)}
    wanted = plain(*inputs)
    found = decisions(plain, **words)
    kinds = {what.split()[0] for _, what, *_ in found}
    assert {"threads", "vector", "unroll"} <= kinds
    assert ("BLOCK_M" if name == "gemm" else "tile") in kinds
    assert sum(len(others) for *_, others in found) >= 12
    for _, what, value, by, others in found:
        assert by in ("default", "model")
        assert value not in others
        for other in others:
            fn = forced(make, source, what, other)
            now = {w: (v, b) for _, w, v, b, _ in decisions(fn, **words)}
            assert now[what] == (other, "user"), (what, other)
            result = fn(*inputs)
            if name == "softmax":  # sums of exponentials round; the class is the tile's
                for each in (result, wanted):
                    oracle.assert_within(each, oracle.bounds(plain, *inputs)[0])
            else:
                np.testing.assert_array_equal(result, wanted, err_msg=f"{what} {other}")


def test_explain_says_who_decided_a_tuned_value(tmp_path):
    fn = tsr.kernel.autotune(space=dict(BLOCK_M=[32, 64]), key=["M"], cache=str(tmp_path / "tuned"))(gemm)
    fn(A, B)
    assert re.search(r"BLOCK_M +(32 +tuner +[\d.]+ us  64|64 +tuner +[\d.]+ us  32) \(", fn.explain()), fn.explain()
