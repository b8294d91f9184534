"""A benchmark case: what is computed, ours, the peers, the roof; and how a family of them is run.

A family's script has `cases(options)`, which yields `Case`s, and ends in `harness.main(__doc__, "gemm", cases)`. Every call is checked
against the first peer's result before it is timed. Ratios are peer's time / ours: above 1 ours is faster.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import fcntl
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import interleaved  # noqa: E402
from peers import Missing  # noqa: E402

RESULTS = pathlib.Path(__file__).resolve().parent.parent / "results"
ALONE = "one thread"  # ours again, for the speed-up of several
FAST = 0.72  # of the AMX register peak: what an L1-fed probe gives when the unit is not in its slow state


@dataclasses.dataclass
class Case:
    """`ours` and `peers` map names to functions that make a call (or raise Missing); `ours` has its headline first."""

    name: str
    dtype: str
    flops: float
    bytes: float
    ours: dict
    peers: dict
    shape: dict = dataclasses.field(default_factory=dict)
    amx: bool = False
    tolerance: float = 0.0  # of the largest magnitude; 0: results are not compared
    group: str = ""  # of the summary


DTYPES = ("float32", "bfloat16", "float16", "int8")


@dataclasses.dataclass
class Options:
    threads: int = 1
    quick: bool = False
    seconds: float = 1.0
    rounds: int = 11
    only: str = ""
    lock: str = ""
    wait: float = 2.0
    peers: tuple = ()  # names; empty: all
    jax: object = None

    def wants(self, name: str, dtype, quick: bool) -> bool:
        """Whether a case is run; asked before its arrays are made."""
        kind = str(dtype).removeprefix("torch.")
        found = self.only == kind if self.only in DTYPES else self.only in f"{name} {kind}"
        return (quick or not self.quick) and found


class Lock:
    """A lock file that serialises measurements on a machine that is shared; held for at most about `_HOLD` seconds at a time."""

    _HOLD = 60.0

    def __init__(self, path: str):
        self.file, self.since = open(path, "a") if path else None, None

    def take(self) -> None:
        if self.file and self.since is None:
            fcntl.flock(self.file, fcntl.LOCK_EX)
            self.since = time.monotonic()

    def offer(self) -> None:
        """Between two cases: lets others in if it is their turn."""
        if self.since is not None and time.monotonic() - self.since > self._HOLD:
            self.release()
            time.sleep(0.2)

    def release(self) -> None:
        if self.since is not None:
            fcntl.flock(self.file, fcntl.LOCK_UN)
            self.since = None


def set_threads(count: int) -> None:
    """Ours, torch and OpenBLAS alike; oneDNN uses torch's."""
    import torch

    import tessera as tsr
    from peers import openblas

    torch.set_num_threads(count)
    tsr.set_num_threads(count)
    with contextlib.suppress(Missing):
        openblas.set_threads(count)


def roof_of(case: Case, roofline, threads: int) -> dict:
    """Seconds below which nothing that does this can be: by arithmetic, and by moving the bytes once."""
    level = roofline.level(int(case.bytes), threads)
    level = level if level in ("read_l1", "read_l2") else "copy_stream"
    compute = case.flops / roofline.peak(case.dtype, threads) if case.flops else 0.0
    memory = case.bytes / roofline.bandwidth(level, threads)
    name = roofline.peak_name(case.dtype, threads) if compute >= memory else level
    return {"seconds": max(compute, memory), "by": name}


def _values(result):
    import numpy as np
    import torch

    if isinstance(result, (tuple, list)):
        result = result[0]
    if isinstance(result, np.ndarray):
        result = torch.from_numpy(result)
    return result.to(torch.complex128) if result.is_complex() else result.double()


def wrong(case: Case, name: str, result, expected) -> str:
    """Why a result is not the expected one, or ""."""
    if result is None or expected is None or not case.tolerance:
        return ""
    found, wanted = _values(result), _values(expected)
    if tuple(found.shape) != tuple(wanted.shape):
        return f"{name}: shape {tuple(found.shape)}, not {tuple(wanted.shape)}"
    error = (found - wanted).abs().max().item() / max(wanted.abs().max().item(), 1e-30)
    return "" if error <= case.tolerance else f"{name}: off by {error:.2g} of the largest value, {case.tolerance:.2g} is allowed"


def alone(call, threads: int):
    """The call by one thread."""
    import tessera as tsr

    def run():
        tsr.set_num_threads(1)
        try:
            return call()
        finally:
            tsr.set_num_threads(threads)

    return run


def run_case(case: Case, roofline, options: Options) -> dict:
    from tessera import roofline as probes

    calls, missing, expected = {}, {}, None
    for kind, table in (("peer", case.peers), ("ours", case.ours)):
        for name, make in table.items():
            if kind == "peer" and options.peers and name not in options.peers:
                continue
            try:
                call = make()
                if not hasattr(call, "seconds"):
                    result = call()
                    if kind == "peer" and expected is None and case.tolerance:
                        expected = _values(result).clone() if result is not None else None
                    elif problem := wrong(case, name, result, expected):
                        raise RuntimeError(problem)
                calls[name] = call
            except Missing as reason:
                missing[name] = str(reason)
            except Exception as error:  # noqa: BLE001  a row that says so, never a gap
                text = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
                missing[name] = f"not there yet: {text}" if kind == "ours" else f"{type(error).__name__}: {text}"
    row = {"case": case.name, "dtype": case.dtype, "threads": options.threads, "group": case.group, **case.shape, "flops": case.flops, "bytes": case.bytes,
           "amx": case.amx, "ours": {}, "peers": {}, "missing": missing}
    headline = next(iter(case.ours))
    if headline in missing:
        return row
    if options.threads > 1:
        calls[ALONE] = alone(calls[headline], options.threads)
    probe = probes.amx_probe if case.amx and roofline.rate("amx_bf16", options.threads) else None
    above = FAST * roofline.rate("amx_bf16", 1) if probe else 0.0
    best = None
    for attempt in range(2):  # once more if others were busy meanwhile and are not now
        used = interleaved.wait_for_quiet(options.wait)
        if attempt and used > 0.15:
            break
        race = interleaved.race(calls, options.seconds, options.rounds, probe, above)
        if best is None or race.foreign < best.foreign:
            best = race
        if best.foreign < 0.25 or options.wait == 0:
            break
    race, roof = best, roof_of(case, roofline, options.threads)
    row["roof"], row["foreign"], row["rounds"] = roof, round(race.foreign, 3), race.rounds

    def rate(seconds):
        return {"seconds": seconds, "of_roof": roof["seconds"] / seconds, **({"gflops": case.flops / seconds / 1e9} if case.flops else {}),
                **({"gbytes": case.bytes / seconds / 1e9} if case.bytes else {})}

    if ALONE in calls:  # above 1: how much faster than one thread, in the same rounds
        row["scaling"] = {"all": race.ratio(ALONE, headline), **({"fast": race.ratio(ALONE, headline, fast=True)} if probe else {})}
    for name in calls:
        if name == ALONE:
            continue
        entry = {**rate(race.median(name)), "best": race.best(name)}
        if probe:
            entry["fast_rounds"] = sum(race.fast[name])
            fast = race.median(name, fast=True)
            entry["fast"] = rate(fast) if fast else None
        if name in case.ours:
            row["ours"][name] = entry
        else:
            entry["versus"] = {mine: {"all": race.ratio(name, mine), **({"fast": race.ratio(name, mine, fast=True)} if probe else {})}
                               for mine in case.ours if mine in calls}
            row["peers"][name] = entry
    for call in calls.values():
        if hasattr(call, "free"):
            with contextlib.suppress(Missing):
                call.free()
    return row


# ---- rows as people read them ------------------------------------------------------------------------


def headline(row: dict) -> str | None:
    return next(iter(row["ours"]), None)


def pick(pair: dict | None) -> dict | None:
    """Fast samples if there are at least three, else all."""
    if not pair:
        return None
    fast = pair.get("fast")
    return fast if fast and fast["n"] >= 3 else pair["all"]


def versus(row: dict, peer: str, mine: str | None = None) -> dict | None:
    mine = mine or headline(row)
    entry = row["peers"].get(peer)
    return pick(entry["versus"].get(mine)) if entry and mine else None


def best_peer(row: dict, among: tuple = ()) -> str | None:
    named = {name: entry["seconds"] for name, entry in row["peers"].items() if not among or name in among}
    return min(named, key=named.get) if named else None


def line(row: dict) -> str:
    start = f"{row['case']:34} {row['dtype']:9} {row['threads']}t"
    mine = headline(row)
    if mine is None:
        return f"{start}  {next(iter(row['missing'].items()), ('', 'nothing'))[1]}"
    entry = row["ours"][mine]
    speed = f"{entry['gflops']:7.0f} GF/s" if row["flops"] else f"{entry['gbytes']:7.1f} GB/s"
    text = f"{start} {entry['seconds'] * 1e3:9.3f} ms {speed} {entry['of_roof'] * 100:4.0f} % of {row['roof']['by']:15}"
    for name, peer in row["peers"].items():
        pair = peer["versus"][mine]
        text += f" | {name} {pair['all']['ratio']:.2f}"
        if pair.get("fast"):
            text += f" (fast {pair['fast']['ratio']:.2f}, {pair['fast']['n']})"
    others = [f"{name} {row['ours'][name]['seconds'] * 1e3:.3f} ms" for name in row["ours"] if name != mine]
    return text + (f" | also {', '.join(others)}" if others else "") + (f"  others used {row['foreign']:.1f} processors" if row["foreign"] > 0.25 else "")


# ---- a family --------------------------------------------------------------------------------------


def versions() -> dict:
    import torch

    import tessera as tsr
    from peers import onednn, openblas

    commit = subprocess.run(["git", "-C", str(RESULTS), "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    found = {"tessera": f"{tsr.__version__}{f' ({commit})' if commit else ''}", "torch": torch.__version__}
    for name, module in (("onednn", onednn), ("openblas", openblas)):
        try:
            found[name] = module.version()
        except Missing as reason:
            found[name] = f"not measured: {reason}"
    return found


def run_family(family: str, cases, options: Options, out=print, save=None) -> dict:
    """All cases with one number of threads, in this process. `save` gets what there is after every case: who stops a run keeps it."""
    import tessera as tsr
    from peers import jax

    options.jax = jax.Process(options.threads)
    tsr.set_num_threads(options.threads)
    counts = tuple(sorted({1, options.threads}))
    known, lock = tsr.roofline.measure(threads=counts), Lock(options.lock)
    lock.take()
    interleaved.wait_for_quiet(options.wait)
    roofline = tsr.roofline.measure(seconds=1.0 if options.quick else 2.0, threads=counts, fresh=True)
    roofline = roofline.better(known)
    tsr.roofline.remember(roofline)
    out(str(roofline))
    set_threads(options.threads)
    rows: list = []
    found = {"threads": options.threads, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="minutes"),
             "roofline": json.loads(roofline.json()), "versions": versions(), "rows": rows}
    said = set()
    for case in cases(options):
        started = time.perf_counter()
        lock.take()  # for compiling, too: it would disturb who measures
        row = run_case(case, roofline, options)
        lock.offer()
        row["family"], row["took"] = family, round(time.perf_counter() - started, 2)
        rows.append(row)
        out(line(row))
        for name, reason in row["missing"].items():
            if (name, reason) not in said:
                said.add((name, reason))
                out(f"    {name} not measured: {reason}")
        if save:
            save(found)
    lock.release()
    options.jax.close()
    return found


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", default="1,2", help="numbers of threads, each in a process of its own")
    parser.add_argument("--quick", action="store_true", help="a few cases, for CI")
    parser.add_argument("--seconds", type=float, default=0.0, help="per case, over all participants (default 1.5; quick 0.4)")
    parser.add_argument("--rounds", type=int, default=0, help="samples of each participant (default 11; quick 7)")
    parser.add_argument("--only", default="", help="cases with this text in their name")
    parser.add_argument("--peers", default="", help="only these, e.g. torch,onednn_packed")
    parser.add_argument("--lock", default="", help="a file to lock while something is measured, for a minute at a time")
    parser.add_argument("--wait", type=float, default=2.0, help="seconds to wait for a quiet machine before a case")


def options_of(parsed, threads: int) -> Options:
    return Options(threads=threads, quick=parsed.quick, seconds=parsed.seconds or (0.4 if parsed.quick else 1.5),
                   rounds=parsed.rounds or (7 if parsed.quick else 11), only=parsed.only, lock=parsed.lock, wait=parsed.wait,
                   peers=tuple(filter(None, parsed.peers.split(","))))


def main(doc: str, family: str, cases) -> None:
    """A family's script by itself: one number of threads per process, so several are several runs of it."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments(parser)
    parser.add_argument("--json", default="", help="where the rows go")
    parsed = parser.parse_args()
    counts = [int(count) for count in parsed.threads.split(",")]
    if len(counts) > 1:
        import run

        return run.run_families([family], counts, parsed, parsed.json)

    def save(found):
        whole = pathlib.Path(parsed.json).with_suffix(".tmp")
        whole.write_text(json.dumps(found, indent=1) + "\n")
        whole.replace(parsed.json)

    run_family(family, cases, options_of(parsed, counts[0]), lambda text: print(text, flush=True), save if parsed.json else None)
