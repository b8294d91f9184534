# mbarriers and bulk copies: results, reports of planted bugs, deadlocks.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import re
import shutil
import subprocess

import numpy as np
import pytest

import tessera.sim as sim
from hopper_kernels import HEAD, PIPELINE, PIPELINE_BUGS, STORE, STORE_BUGS, broken, line_of

TILES = 5


def run(text, block, **options):
    g = np.arange(TILES * 64, dtype=np.float32)
    o = np.zeros(TILES * 64, np.float32)
    report = sim.launch(text, "k", 1, block, [g, o, TILES], arch="sm_90a", max_instructions=300000, **options)
    return report, g, o


@pytest.mark.parametrize("text, block", [(PIPELINE, 96), (STORE, 64)], ids=["pipeline", "store"])
@pytest.mark.parametrize("seed", range(25))
def test_correct(text, block, seed):
    for check in (False, True):
        report, g, o = run(text, block, check=check, seed=seed, adversarial=seed > 0)
        assert report.ok, report.text()
        np.testing.assert_array_equal(o, 2 * g)
        assert not [e for e in report.errors if e["kind"] != "remark"]


CASES = [(PIPELINE, 96, name, *bug) for name, bug in PIPELINE_BUGS.items()] + \
        [(STORE, 64, name, *bug) for name, bug in STORE_BUGS.items()]


@pytest.mark.parametrize("text, block, name, changes, kinds, places", CASES, ids=[c[2] for c in CASES])
def test_planted_bug(text, block, name, changes, kinds, places):
    text = broken(text, changes)
    lines = {line_of(text, place) for place in places}
    for seed in range(8):
        report, _, _ = run(text, block, seed=seed, adversarial=seed > 0)
        named = {int(n) for e in report.errors if e["kind"] in kinds.split()
                 for n in re.findall(r"PTX line (\d+)", e["message"])}
        assert not report.ok and named & lines, f"seed {seed}: expected {kinds} at {lines}: {report.text()}"


@pytest.mark.skipif(not shutil.which("ptxas"), reason="ptxas is not on PATH")
def test_ptxas_accepts_the_kernels(tmp_path):
    texts = {"pipeline": PIPELINE, "store": STORE}
    texts.update({f"{op}_{t}": REDUCE.replace("OP", f"{op}{'.noftz' if t == 'f16' and op == 'add' else ''}.{t}")
                  for op, t in REDUCTIONS})
    texts.update({case[2]: broken(case[0], case[3]) for case in CASES})
    for name, text in texts.items():
        path = tmp_path / f"{name}.ptx"
        path.write_text(text)
        done = subprocess.run(["ptxas", "-arch=sm_90a", path, "-o", tmp_path / "out.cubin"], capture_output=True,
                              text=True)
        assert done.returncode == 0, name + done.stderr


def test_results_of_a_broken_kernel_depend_on_the_seed():
    """Without checking, a missing wait shows in the results: copies are in flight for a while."""
    results = set()
    for seed in range(1, 20):
        _, _, o = run(broken(PIPELINE, PIPELINE_BUGS["no_wait_full"][0]), 96, check=False, seed=seed, adversarial=True)
        results.add(o.tobytes())
    assert len(results) > 3


FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
INTEGERS = {"u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64, "b32": np.uint32, "b64": np.uint64}
REDUCTIONS = [(op, t) for op, types in {
    "add": "u32 s32 u64 f32 f64 f16", "min": "u32 s32 u64 s64 f16", "max": "u32 s32 u64 s64 f16", "inc": "u32",
    "dec": "u32", "and": "b32 b64", "or": "b32 b64", "xor": "b32 b64"}.items() for t in types.split()]
REDUCE = HEAD + """.visible .entry k(.param .u64 g, .param .u64 o)
{
.reg .b32 %a; .reg .b64 %g, %o; .reg .pred %p;
.shared .align 16 .b8 s[512]; .shared .align 8 .b64 b;
ld.param.u64 %g, [g]; ld.param.u64 %o, [o]; mov.u32 %a, s;
mbarrier.init.shared.b64 [b], 1;
mbarrier.arrive.expect_tx.shared.b64 _, [b], 512;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [%a], [%g], 512, [b], 0;
W: mbarrier.try_wait.parity.shared.b64 %p, [b], 0; @!%p bra W;
cp.reduce.async.bulk.global.shared::cta.bulk_group.OP [%o], [%a], 512;
cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.OP [%o], [%a], 256, 0;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
ret;
}
"""


def reduced(op, o, g):
    if op == "inc":
        return np.where(o >= g, 0, o + 1).astype(o.dtype)
    if op == "dec":
        return np.where((o == 0) | (o > g), g, o - 1).astype(o.dtype)
    return {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
            "xor": np.bitwise_xor}[op](o, g)


@pytest.mark.parametrize("op, t", REDUCTIONS)
def test_reductions(op, t):
    rng = np.random.default_rng(1)
    dtype = {**FLOATS, **INTEGERS}[t]
    n = 512 // np.dtype(dtype).itemsize
    if t in FLOATS:
        g, o = (rng.standard_normal(n).astype(dtype) for _ in range(2))
    else:
        small = op in ("inc", "dec")
        low, high = (0, 9) if small else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        g, o = (rng.integers(low, high, n, dtype, endpoint=True) for _ in range(2))
    text = REDUCE.replace("OP", f"{op}{'.noftz' if t == 'f16' and op == 'add' else ''}.{t}")
    expected = reduced(op, o, g)
    expected[:n // 2] = reduced(op, expected[:n // 2], g[:n // 2])
    for seed in range(3):
        result = o.copy()
        report = sim.launch(text, "k", 1, 1, [g, result], arch="sm_90a", seed=seed, adversarial=seed > 0)
        assert report.ok, report.text()
        np.testing.assert_array_equal(result, expected)


def test_undefined_reductions_are_refused():
    for form in ("add.s64", "min.f32", "inc.s32", "and.f32"):
        with pytest.raises(sim.SimError, match="not defined for the type|is not known"):
            sim.launch(REDUCE.replace("OP", form), "k", 1, 1, [np.zeros(64), np.zeros(64)], arch="sm_90a")


FORMS = HEAD.replace("sm_90a", "sm_100a") + """.visible .entry k(.param .u64 g, .param .u64 o)
{
.reg .b32 %a; .reg .b64 %g, %o; .reg .pred %p; .reg .b16 %m;
.shared .align 16 .b8 s[256]; .shared .align 16 .b8 r[256]; .shared .align 8 .b64 b;
ld.param.u64 %g, [g]; ld.param.u64 %o, [o]; mov.u32 %a, s;
mbarrier.init.shared.b64 [b], 1; mov.b16 %m, 1;
cp.async.bulk.prefetch.L2.global [%g], 256;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [%g], 256, [b], %m;
mbarrier.arrive.expect_tx.shared.b64 _, [b], 256;
W: mbarrier.try_wait.parity.shared.b64 %p, [b], 0; @!%p bra W;
mbarrier.arrive.expect_tx.shared.b64 _, [b], 128;
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [r], [%a], 64, [b];
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [r+64], [s+128], 64, [b];
V: mbarrier.try_wait.parity.shared.b64 %p, [b], 1; @!%p bra V;
mov.b16 %m, 0x8421;
cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%o], [r], 128, %m;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
cp.async.bulk.wait_group 0;
mbarrier.arrive.expect_tx.shared.b64 _, [b], 16;
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [r], [s], 16, [b];
U: mbarrier.try_wait.parity.shared.b64 %p, [b], 0; @!%p bra U;
cp.async.bulk.global.shared::cta.bulk_group [%o+128], [r], 16;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
ret;
}
"""


def test_other_forms():
    """A copy before its expect_tx, multicast to the own block, shared to shared, byte masks, prefetch."""
    g = np.arange(256, dtype=np.uint8)
    expected = np.full(256, 255, np.uint8)
    copied = np.concatenate([g[:64], g[128:192]])
    kept = np.array([0x8421 >> (i % 16) & 1 for i in range(128)], bool)
    expected[:128][kept] = copied[kept]
    expected[128:144] = (2 * g[:16].view(np.uint32)).view(np.uint8)
    for seed in range(10):
        for check in (False, True):
            o = np.full(256, 255, np.uint8)
            report = sim.launch(FORMS, "k", 1, 1, [g, o], arch="sm_100a", seed=seed, adversarial=seed > 0, check=check)
            assert report.ok, report.text()
            np.testing.assert_array_equal(o, expected)
    with pytest.raises(sim.SimError, match="no copy in this direction"):
        sim.launch(FORMS.replace("cp.async.bulk.shared::cluster.shared::cta", "cp.async.bulk.shared::cta.shared::cta"),
                   "k", 1, 1, [g, o], arch="sm_100a")
    report = sim.launch(FORMS.replace("mov.b16 %m, 1;", "mov.b16 %m, 3;"), "k", 1, 1, [g, o], arch="sm_100a")
    assert "names blocks that are not in the cluster of 1" in report.text()


def test_bytes_are_counted():
    report, _, _ = run(PIPELINE, 96, count=True)
    (line,) = [c for c in report.counts["lines"] if c["ptx_line"] == line_of(PIPELINE, "copy")]
    assert line["bytes"] == TILES * 256
