# Clusters of several blocks: results, reports of planted bugs, launches.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import re
import shutil
import subprocess

import numpy as np
import pytest

import tessera.sim as sim
from cluster_kernels import EXCHANGE, EXCHANGE_BUGS, PIPELINE_BUGS, SEND, SEND_BUGS, pipeline
from hopper_kernels import HEAD, broken, line_of

LIMIT = 300000


def modes(seeds):
    """Without checking, with it, and with schedules and moments of copies that a seed picks."""
    for seed in range(seeds):
        for check in (False, True):
            yield {"check": check, "seed": seed, "adversarial": seed > 0, "max_instructions": LIMIT, "arch": "sm_90a"}


def exchange(text, cluster, blocks=8, **options):
    o = np.zeros(64 * blocks, np.uint32)
    return sim.launch(text, "k", blocks, 64, [o], cluster=cluster, **options), o.reshape(blocks, 64)


@pytest.mark.parametrize("cluster", [1, 2, 4, 8])
def test_exchange(cluster):
    for options in modes(10):
        report, o = exchange(EXCHANGE, cluster, **options)
        assert report.ok, report.text()
        assert [e["kind"] for e in report.errors] in ([], ["remark"])
        block = np.arange(8)
        # The block before reads what the one before that wrote.
        writer = block // cluster * cluster + (block % cluster - 2) % cluster
        np.testing.assert_array_equal(o, writer[:, None] * 1000 + np.arange(64) + 501)


def fetch(text, cluster, blocks=4, tiles=5, **options):
    g = np.random.default_rng(1).integers(-50, 50, tiles * cluster * 64).astype(np.float32)
    o = np.zeros((blocks, tiles, 64), np.float32)
    report = sim.launch(text, "k", blocks, 96, [g, o, tiles], cluster=cluster, **options)
    return report, o, np.broadcast_to(g.reshape(tiles, cluster, 64).sum(1), o.shape)


@pytest.mark.parametrize("cluster", [1, 2, 4])
def test_multicast_pipeline(cluster):
    for options in modes(12):
        report, o, want = fetch(pipeline(cluster), cluster, **options)
        assert report.ok, report.text()
        np.testing.assert_array_equal(o, want)


def send(text, cluster, **options):
    o = np.zeros((8, 32), np.uint32)
    return sim.launch(text, "k", 8, 32, [o], cluster=cluster, **options), o


@pytest.mark.parametrize("cluster", [2, 4])
def test_copies_between_blocks(cluster):
    for options in modes(12):
        report, o = send(SEND, cluster, **options)
        assert report.ok, report.text()
        block = np.arange(8)
        sender = block // cluster * cluster + (block % cluster - 1) % cluster
        np.testing.assert_array_equal(o[:, :16], sender[:, None] * 100 + np.arange(16))
        np.testing.assert_array_equal(o[:, 16:24], np.stack(
            [sender, sender % cluster, 0 * block + 3, 0 * block + 4, 0 * block + 6, 0 * block + 5, sender + 7, 0 * block + 9], 1))
        assert (o[:, 24:] == 7).all()


CASES = [(EXCHANGE, exchange, name, *bug) for name, bug in EXCHANGE_BUGS.items()] + \
        [(pipeline(2), fetch, name, *bug) for name, bug in PIPELINE_BUGS.items()] + \
        [(SEND, send, name, *bug) for name, bug in SEND_BUGS.items()]


@pytest.mark.parametrize("text, run, name, changes, kinds, places", CASES,
                         ids=[f"{case[1].__name__}-{case[2]}" for case in CASES])
def test_planted_bug(text, run, name, changes, kinds, places):
    text = broken(text, changes)
    lines = {line_of(text, place) for place in places}
    for seed in range(8):
        cluster = 4 if run is exchange else 2
        report = run(text, cluster, seed=seed, adversarial=seed > 0, arch="sm_90a", max_instructions=LIMIT)[0]
        named = {int(n) for e in report.errors if e["kind"] in kinds.split()
                 for n in re.findall(r"PTX line (\d+)", e["message"])}
        assert not report.ok and named & lines, f"seed {seed}: expected {kinds} at {lines}: {report.text()}"


def test_memory_of_an_exited_block_is_gone():
    """Also without checking; what was written there is not seen any more."""
    text = broken(EXCHANGE, EXCHANGE_BUGS["no_barrier_at_the_end"][0])
    for seed in range(8):
        report, _ = exchange(text, 4, check=False, seed=seed, adversarial=seed > 0, arch="sm_90a", max_instructions=LIMIT)
        (error,) = report.errors
        assert error["kind"] == "exited-block" and "has exited, and its shared memory is gone" in error["message"]


def test_a_phase_that_was_waited_for_is_enough_to_exit():
    """Whoever saw the phase knows that stores, reductions and arrivals of other blocks, relaxed ones too, were before it."""
    stores = " ".join(f"st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%b+{at}], {{%i, %r, 3, 4}}, [%y];" for at in (0, 16, 32, 48))
    text = broken(SEND, {"copy": stores, "arrive": "", "wait_2": ""})
    for options in modes(10):
        report, o = send(text, 4, **options)
        assert report.ok, report.text()
        assert (o[:, 2] == 3).all() and (o[:, 15] == 4).all()


def test_reports_name_the_block_in_its_cluster():
    text = broken(EXCHANGE, EXCHANGE_BUGS["two_writers"][0])
    report, _ = exchange(text, 4, arch="sm_90a", max_instructions=LIMIT)
    race = next(e for e in report.errors if e["kind"] == "race")
    who = r"block \((\d),0,0\) \(rank (\d) of its cluster\)"
    assert re.search(f"shared address 0x[0-9a-f]+ of {who}: {who} thread", race["message"])
    for block, rank in re.findall(who, race["message"] + race["thread"] + race["other_thread"]):
        assert int(block) % 4 == int(rank)
    assert race["other_thread"].startswith("block (")
    # A deadlock says where each block is.
    report, _ = exchange(broken(EXCHANGE, EXCHANGE_BUGS["one_thread_does_not_arrive"][0]), 4, arch="sm_90a", max_instructions=LIMIT)
    message = next(e["message"] for e in report.errors if e["kind"] == "deadlock")
    assert "no thread of the cluster can go on: block (0,0,0) (rank 0 of its cluster): warps 0 to 1 lanes 0xffffffff wait " \
           "at the cluster barrier (1 threads have not arrived) at PTX line" in message
    assert all(f"(rank {rank} of its cluster): warp" in message for rank in range(4))
    report, *_ = fetch(broken(pipeline(2), PIPELINE_BUGS["a_block_gets_nothing"][0]), 2, 4, arch="sm_90a", max_instructions=LIMIT)
    assert re.search(r"of the mbarrier 'full' at shared address \d+ of block \(1,0,0\) \(rank 1 of its cluster\), which has its 1 "
                     r"arrivals and misses \d+ bytes of copies", report.text())


REGISTERS = ["%cluster_ctarank", "%cluster_nctarank", "%is_explicit_cluster"] + [
    f"%{name}.{d}" for name in ("ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid") for d in "xyz"]


def registers_kernel(directives=""):
    lines = []
    for k, name in enumerate(REGISTERS):
        lines.append("mov.pred %p, %is_explicit_cluster; selp.u32 %v, 1, 0, %p;" if "explicit" in name else f"mov.u32 %v, {name};")
        lines.append(f"st.global.u32 [%o+{4 * k}], %v;")
    return HEAD + f""".visible .entry k(.param .u64 o) {directives}
{{
.reg .pred %p; .reg .b32 %v, %x, %y, %z; .reg .b64 %o, %w;
ld.param.u64 %o, [o]; mov.u32 %x, %nctaid.x; mov.u32 %y, %nctaid.y; mov.u32 %z, %ctaid.z; mul.lo.u32 %z, %z, %y;
mov.u32 %y, %ctaid.y; add.u32 %z, %z, %y; mul.lo.u32 %z, %z, %x; mov.u32 %x, %ctaid.x; add.u32 %z, %z, %x;
mul.wide.u32 %w, %z, {4 * len(REGISTERS)}; add.s64 %o, %o, %w;
""" + "\n".join(lines) + "\nret;\n}\n"


def registers(grid, directives="", text_grid=None, **options):
    o = np.zeros((*grid[::-1], len(REGISTERS)), np.uint32)
    report = sim.launch(registers_kernel(directives), "k", text_grid or grid, 1, [o], arch="sm_90a", **options)
    assert report.ok, report.text()
    return {name: o[..., k] for k, name in enumerate(REGISTERS)}


def expect_registers(got, grid, cluster, explicit=1):
    index = np.meshgrid(*(np.arange(n) for n in grid[::-1]), indexing="ij")[::-1]
    rank = 0 * index[0]
    for d in (2, 1, 0):
        c = cluster[d]
        rank = rank * c + index[d] % c
        for name, want in {"ctaid": index[d], "nctaid": grid[d], "clusterid": index[d] // c, "nclusterid": grid[d] // c,
                           "cluster_ctaid": index[d] % c, "cluster_nctaid": c}.items():
            assert (got[f"%{name}.{'xyz'[d]}"] == want).all(), name
    assert (got["%cluster_ctarank"] == rank).all() and (got["%cluster_nctarank"] == np.prod(cluster)).all()
    assert (got["%is_explicit_cluster"] == explicit).all()


@pytest.mark.parametrize("grid, cluster", [((4, 1, 1), (2, 1, 1)), ((4, 6, 2), (2, 3, 1)), ((2, 4, 6), (1, 2, 3)),
                                           ((8, 4, 2), (2, 2, 2)), ((16, 1, 1), (16, 1, 1))])
def test_special_registers(grid, cluster):
    for seed in range(3):
        expect_registers(registers(grid, cluster=cluster, seed=seed, adversarial=seed > 0), grid, cluster)


def test_directives():
    expect_registers(registers((4, 2, 1)), (4, 2, 1), (1, 1, 1), explicit=0)
    expect_registers(registers((4, 2, 1), cluster=1), (4, 2, 1), (1, 1, 1))
    required = ".reqnctapercluster 2, 2, 1"
    expect_registers(registers((4, 2, 1), required), (4, 2, 1), (2, 2, 1))
    expect_registers(registers((4, 2, 1), required, cluster=(2, 2)), (4, 2, 1), (2, 2, 1))
    # The grid is given in clusters.
    expect_registers(registers((4, 2, 1), ".reqntid 1 .reqnctapercluster 2, 2, 1 .blocksareclusters", text_grid=(2, 1, 1)),
                     (4, 2, 1), (2, 2, 1))
    for grid, directives, cluster, message in [
            ((4, 2, 1), required, (4, 1, 1), "needs clusters of 2x2x1 blocks (.reqnctapercluster), given 4x1x1"),
            ((3, 2, 1), required, None, "grid of 3x2x1 is not a multiple of the cluster of 2x2x1"),
            ((4, 1, 1), "", 3, "grid of 4x1x1 is not a multiple of the cluster of 3x1x1"),
            ((4, 1, 1), ".maxclusterrank 2", 4, "cluster of 4 blocks is larger than its .maxclusterrank of 2"),
            ((4, 1, 1), ".explicitcluster", None, "needs a launch that gives the size of the cluster"),
            ((32, 1, 1), "", 32, "cluster of 32 blocks; sm_90 has at most 16"),
            ((4, 1, 1), ".blocksareclusters", None, ".blocksareclusters needs .reqntid and .reqnctapercluster")]:
        with pytest.raises(sim.SimError, match=re.escape(message)):
            registers(grid, directives, cluster=cluster)
    registers((4, 1, 1), ".maxclusterrank 4 .explicitcluster", cluster=4)


# Every block looks at an address of block 1 in all the ways there are.
ADDRESSES = HEAD + """.visible .entry k(.param .u64 o)
{
.reg .pred %p; .reg .b32 %a, %b, %v, %r; .reg .b64 %o, %w, %g, %h;
.shared .align 4 .b32 before[3];
.shared .align 4 .b32 s;
ld.param.u64 %o, [o]; mov.u32 %r, %ctaid.x; mul.wide.u32 %w, %r, 64; add.s64 %o, %o, %w;
st.shared.u32 [s], %r;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
mov.u32 %a, s; mapa.shared::cluster.u32 %b, %a, 1; getctarank.shared::cluster.u32 %v, %b; st.global.u32 [%o], %v;
mapa.shared::cluster.u32 %a, s, 1; sub.u32 %v, %a, %b; st.global.u32 [%o+4], %v;
mov.u64 %w, s; cvta.shared.u64 %g, %w; mapa.u64 %h, %g, 1; getctarank.u64 %v, %h; st.global.u32 [%o+8], %v;
ld.u32 %v, [%h]; st.global.u32 [%o+12], %v;
cvta.to.shared::cluster.u64 %w, %h; cvt.u32.u64 %v, %w; sub.u32 %v, %v, %b; st.global.u32 [%o+16], %v;
isspacep.shared::cluster %p, %h; selp.u32 %v, 1, 0, %p; st.global.u32 [%o+20], %v;
isspacep.shared::cta %p, %h; selp.u32 %v, 1, 0, %p; st.global.u32 [%o+24], %v;
isspacep.shared %p, %g; selp.u32 %v, 1, 0, %p; st.global.u32 [%o+28], %v;
isspacep.shared::cluster %p, %o; selp.u32 %v, 1, 0, %p; st.global.u32 [%o+32], %v;
getctarank.u64 %v, %g; st.global.u32 [%o+36], %v;
ld.shared::cluster.u32 %v, [%b]; st.global.u32 [%o+40], %v;
ld.shared::cluster.u32 %v, [s]; st.global.u32 [%o+44], %v;
mov.u32 %a, s; and.b32 %a, %a, 0xfeffffff; ld.shared::cluster.u32 %v, [%a]; st.global.u32 [%o+48], %v;
mov.u32 %a, s; and.b32 %a, %a, 0xffffff; ld.shared.u32 %v, [%a]; st.global.u32 [%o+52], %v;
ld.shared::cta.u32 %v, [s]; st.global.u32 [%o+56], %v;
ld.u32 %v, [%g]; st.global.u32 [%o+60], %v;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
ret;
}
"""


def test_addresses():
    for options in modes(3):
        o = np.zeros((4, 16), np.uint32)
        report = sim.launch(ADDRESSES, "k", 4, 1, [o], cluster=2, **options)
        assert report.ok, report.text()
        for block in range(4):
            rank, other = block % 2, block // 2 * 2 + 1
            even = block // 2 * 2  # bit 24 cleared, as CUTLASS reaches the even block of a pair
            assert list(o[block]) == [1, 0, 1, other, 0, 1, rank == 1, 1, 0, rank, other, block, even, block, block, block]


TENSOR = HEAD + """.visible .entry k(.param .b8 map[128], .param .u64 o)
{
.reg .pred %p; .reg .b16 %m; .reg .b32 %t, %a, %v, %r, %x; .reg .b64 %o, %w, %map;
.shared .align 1024 .b8 tile[2048]; .shared .align 8 .b64 full;
ld.param.u64 %o, [o]; mov.u32 %t, %tid.x; mov.u32 %r, %cluster_ctarank; mov.b64 %map, map; cvta.param.u64 %map, %map;
setp.ne.u32 %p, %t, 0; @%p bra READY;
mbarrier.init.shared.b64 [full], 1; fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared.b64 _, [full], 2048;
READY:
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
setp.ne.u32 %p, %t, 0; @%p bra WAIT;
mov.u32 %a, tile; shl.b32 %x, %r, 9; add.u32 %a, %a, %x; shl.b32 %x, %r, 3; mov.b16 %m, 15;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%a], [%map, {0, %x}], [full], %m;
WAIT: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra WAIT;
mov.u32 %x, %ctaid.x; mul.wide.u32 %w, %x, 2048; add.s64 %o, %o, %w; shl.b32 %x, %t, 2; mov.u32 %a, tile; add.u32 %a, %a, %x;
cvt.u64.u32 %w, %x; add.s64 %o, %o, %w; mov.u32 %x, 0;
MORE: ld.shared.u32 %v, [%a]; st.global.u32 [%o], %v; add.u32 %a, %a, 128; add.s64 %o, %o, 128; add.u32 %x, %x, 1;
setp.lt.u32 %p, %x, 16; @%p bra MORE;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
ret;
}
"""


def test_tensor_multicast():
    """Four blocks bring eight rows each and send them to all four; swizzled, which is seen in every one of them."""
    from tessera.sim.tensor_map import encode_tiled
    g = np.arange(32 * 32, dtype=np.uint16).reshape(32, 32)
    encoded = encode_tiled(1, g.ctypes.data, [32, 32], [64], [32, 8], swizzle=2)
    for options in modes(8):
        o = np.zeros((8, 32, 32), np.uint16)
        device = sim.Device()
        for array in (g, o):
            device.expose(array.ctypes.data, array.nbytes, "array")
        report = device.load(TENSOR).launch("k", 8, 32, bytes(encoded) + int(o.ctypes.data).to_bytes(8, "little"), cluster=4, **options)
        assert report.ok, report.text()
        at = np.arange(2048)
        swizzled = at ^ ((at >> 7 & 3) << 4)
        np.testing.assert_array_equal(o.view(np.uint8).reshape(8, 2048)[:, swizzled], np.broadcast_to(g.view(np.uint8).ravel(), (8, 2048)))


def test_cooperative_launch():
    """All clusters are there at a time, and a block may wait for any other."""
    text = HEAD + """.visible .entry k(.param .u64 o)
{
.reg .pred %p; .reg .b32 %v, %i, %n; .reg .b64 %o;
ld.param.u64 %o, [o]; mov.u32 %i, %ctaid.x; mov.u32 %n, %nctaid.x;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
sub.u32 %n, %n, %i; sub.u32 %n, %n, 1; // the last one first
W: ld.acquire.gpu.global.u32 %v, [%o]; setp.ne.u32 %p, %v, %n; @%p bra W;
add.u32 %v, %v, 1; st.release.gpu.global.u32 [%o], %v;
ret;
}
"""
    for options in modes(4):
        o = np.zeros(1, np.uint32)
        report = sim.launch(text, "k", 24, 1, [o], cluster=4, cooperative=True, **{**options, "max_instructions": 0})
        assert report.ok and o[0] == 24, report.text()


@pytest.mark.skipif(not shutil.which("ptxas"), reason="ptxas is not on PATH")
def test_ptxas_accepts_the_kernels(tmp_path):
    texts = [EXCHANGE, SEND, ADDRESSES, TENSOR, registers_kernel(), *(pipeline(n) for n in (1, 2, 4))]
    texts += [broken(case[0], case[3]) for case in CASES]
    for text in texts:
        (tmp_path / "k.ptx").write_text(text)
        done = subprocess.run(["ptxas", "-arch=sm_90a", tmp_path / "k.ptx", "-o", tmp_path / "k.cubin"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr + text
