# Planted bugs must be reported, at their line and by their name.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import re
import shutil
import struct
import subprocess

import numpy as np
import pytest

import tessera.sim as sim

HERE = pathlib.Path(__file__).resolve().parent
pytestmark = pytest.mark.skipif(not shutil.which("nvcc"), reason="nvcc is not on PATH")

# kernel: (kind of the report, blocks, threads, words of g)
BUGS = {
    "race_missing_sync": ("race", 1, 64, 256),
    "race_write_after_read": ("race", 1, 64, 256),
    "race_write_write": ("race", 1, 64, 256),
    "race_in_warp": ("race", 1, 32, 256),
    "race_named_barrier": ("race", 1, 64, 256),
    "race_double_buffer": ("race", 1, 64, 256),
    "race_global_in_block": ("race", 1, 64, 256),
    "race_between_blocks": ("race", 2, 64, 256),
    "race_plain_and_atomic": ("race", 1, 64, 256),
    "race_flag_without_fence": ("race", 2, 32, 256),
    "race_scope_too_narrow": ("race", 2, 32, 256),
    "race_after_partial_arrive": ("race", 1, 64, 256),
    "oob_read": ("out-of-bounds", 1, 64, 128),
    "oob_write_before": ("out-of-bounds", 1, 64, 128),
    "oob_last_thread": ("out-of-bounds", 1, 64, 128),
    "oob_shared": ("out-of-bounds", 1, 64, 256),
    "null_pointer": ("out-of-bounds", 1, 32, 256),
    "misaligned_vector": ("misaligned", 1, 1, 256),
    "misaligned_scalar": ("misaligned", 1, 32, 256),
    "use_after_free": ("out-of-bounds", 1, 32, 256),
    "uninitialised_global": ("uninitialised", 1, 32, 256),
    "uninitialised_shared": ("uninitialised", 1, 64, 256),
    "uninitialised_padding": ("uninitialised", 1, 64, 256),
    "divergent_barrier": ("divergent-barrier", 1, 32, 256),
    "barrier_counts_differ": ("barrier-misuse", 1, 64, 256),
    "barrier_count_not_of_warps": ("barrier-misuse", 1, 64, 256),
    "barrier_left_open": ("barrier-misuse", 1, 64, 256),
    "deadlock_barrier": ("deadlock", 1, 64, 256),
    "deadlock_spin": ("limit", 1, 32, 256),
    "deadlock_shuffle": ("deadlock", 1, 32, 256),
    "shuffle_from_missing_lane": ("barrier-misuse", 1, 32, 256),
    "mbarrier_not_initialised": ("illegal-instruction", 1, 32, 256),
    "mbarrier_too_many": ("illegal-instruction", 1, 32, 256),
    "copy_read_before_wait": ("async-copy", 1, 64, 256),
    "copy_waits_for_too_little": ("async-copy", 1, 64, 256),
    "copy_without_barrier": ("race", 1, 64, 256),
    "copy_never_waited": ("async-copy", 1, 64, 256),
    "copy_overwritten": ("async-copy", 1, 64, 256),
    "trap_reached": ("trap", 1, 32, 256),
}


@pytest.fixture(scope="module")
def ptx(tmp_path_factory):
    out = tmp_path_factory.mktemp("bugs") / "bugs.ptx"
    subprocess.run(["nvcc", "-ptx", "-lineinfo", "-arch=sm_80", str(HERE / "bugs.cu"), "-o",
                    str(out)], check=True)
    return out.read_text()


def bug_lines(kernel):
    lines = (HERE / "bugs.cu").read_text().splitlines()
    start = next(i for i, l in enumerate(lines) if l.startswith(f"K {kernel}("))
    found = set()
    for i in range(start, len(lines)):
        if lines[i].rstrip().endswith("// BUG"):
            found.add(i + 1)
        if lines[i] == "}":
            return found


def run(ptx, kernel, blocks, threads, words, **options):
    device = sim.Device()
    module = device.load(ptx)
    g = np.zeros(words, np.int32)
    device.expose(g.ctypes.data, g.nbytes, "g")
    params = struct.pack("<Q", g.ctypes.data)
    if kernel == "null_pointer":
        params += struct.pack("<Q", 0)
    elif kernel in ("use_after_free", "uninitialised_global"):
        p = device.allocate(1024, "p")
        params += struct.pack("<Q", p)
        if kernel == "use_after_free":
            assert device.free(p)
    return module.launch(kernel, blocks, threads, params, shared=256 if kernel == "oob_shared" else 0,
                         max_instructions=300000, **options)


@pytest.mark.parametrize("kernel", BUGS)
def test_reported(ptx, kernel):
    kind, blocks, threads, words = BUGS[kernel]
    report = run(ptx, kernel, blocks, threads, words)
    assert not report.ok
    kinds = {e["kind"] for e in report.errors}
    assert kind in kinds, report.text()
    lines = set()
    for e in report.errors:
        if e["kind"] != kind:
            continue
        lines.update(int(n) for n in re.findall(r"bugs\.cu:(\d+)", e["message"]))
    assert lines & bug_lines(kernel), f"expected {bug_lines(kernel)}: {report.text()}"


@pytest.mark.parametrize("seed", range(5))
def test_correct_kernel_is_quiet(ptx, seed):
    report = run(ptx, "correct", 1, 64, 256, adversarial=seed > 0, seed=seed)
    assert report.ok, report.text()


def test_seed_chooses_when_a_copy_arrives(ptx):
    """Read before its wait, a copy has arrived or not, as the seed says."""
    results = set()
    for seed in range(8):
        device = sim.Device()
        module = device.load(ptx)
        g = np.arange(1, 257, dtype=np.int32)
        device.expose(g.ctypes.data, g.nbytes, "g")
        report = module.launch("copy_read_before_wait", 1, 64, struct.pack("<Q", g.ctypes.data), check=False,
                               adversarial=True, seed=seed)
        assert report.ok, report.text()
        results.add(g.tobytes())
    assert len(results) > 1


VARIABLES = """.version 8.5
.target sm_80
.address_size 64
.visible .entry k(.param .u32 at) {
.reg .b32 %i, %a, %at; .shared .align 4 .b8 first[64]; .shared .align 4 .b8 second[64];
mov.u32 %a, FIRST_MET; st.shared.u32 [%a], 0;
mov.u32 %a, second; ld.param.u32 %at, [at]; mov.u32 %a, first; add.u32 %a, %a, %at;
st.shared.u32 [%a], 7;
ret;
}"""


@pytest.mark.parametrize("last", ["first", "second"])
@pytest.mark.parametrize("at", [0, 60, 64, 100])
def test_out_of_a_shared_variable(at, last):
    """Shared variables do not touch: what leaves one is not in the next."""
    text = VARIABLES.replace("FIRST_MET", "second" if last == "first" else "first")
    report = sim.launch(text, "k", 1, 1, [at])
    assert report.ok == (at < 64)
    if at >= 64:
        finding = report.errors[0]
        assert finding["kind"] == "out-of-bounds" and finding["ptx_line"] == 8
        assert f"{at - 64} bytes past the end of 'first' of 64 bytes" in finding["message"]

