"""`tessera.profile(fn, *args)`: how long a call takes, what limits it, and what could help.

    found = tessera.profile(attention, q, k, v)
    print(found); found.json(); found.html(); found.trace()      # Chrome's and Perfetto's form
    found.save("attention.html")

5 warm-ups and 100 timed runs on private copies of the arguments, then a few with a trace of every kernel on every thread, and some with the
processor's counters, where the machine allows. Operations are counted from the IR (tessera/work.py), roofs are measured (tessera/roofline.py).

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import dataclasses
import json
import math
import re
import pathlib
import statistics
import time
import warnings

from . import _runtime, arguments, arrays, source, work
from .candidates import Race
from .dtypes import by_storage
from .errors import ArgumentError, RunError, TesseraError
from .function import Function
from .roofline import Roofline, measure

UNKNOWN = "not measured"
_TRACED = 5  # runs of the timeline
_MOST = 200_000  # its events
_SHORT = 2e-5  # seconds of a call whose beginning and end matter
_NEAR = 0.7  # of a roof: nothing but less work helps


@dataclasses.dataclass
class KernelProfile:
    """One kernel of a run; times are medians over the traced runs, in seconds."""

    name: str
    launches: int  # per run
    seconds: float
    share: float  # of all kernels
    threads: int
    programs: int  # per launch
    busy: float  # of the threads' time, in which they ran programs
    bytes: int  # of its operands
    flops: float | None
    dtype: str  # of its products; "" if they are not most of it


@dataclasses.dataclass
class Span:
    """Something on the timeline: of run `run`, in nanoseconds from its begin. A launch spans its ranges."""

    run: int
    kind: str
    thread: int
    kernel: str
    begin: int
    end: int
    start_ns: int
    end_ns: int
    team: int = 0
    bytes: int = 0  # of a launch's operands


@dataclasses.dataclass
class Profile:
    """Everything is in seconds, bytes and operations per second; None was not measured."""

    name: str
    place: str
    times: list
    bytes: int | None
    flops: float | None
    dtype: str
    why_no_flops: str
    threads: int
    kernels: list
    spans: list
    dropped: int
    counters: dict  # name -> per run, or why there is none
    roof: Roofline
    kind: str = ""  # memory_bound, compute_bound, synchronization_bound, overhead_bound
    evidence: list = dataclasses.field(default_factory=list)
    advice: list = dataclasses.field(default_factory=list)

    # ---- time ------------------------------------------------------------------------------------

    @property
    def mean(self) -> float:
        return statistics.fmean(self.times)

    @property
    def deviation(self) -> float:
        return statistics.stdev(self.times) if len(self.times) > 1 else 0.0

    @property
    def least(self) -> float:
        return min(self.times)

    @property
    def most(self) -> float:
        return max(self.times)

    def percentile(self, percent: float) -> float:
        """By rank, without interpolation: a time that was measured."""
        ordered = sorted(self.times)
        return ordered[min(max(math.ceil(percent / 100 * len(ordered)) - 1, 0), len(ordered) - 1)]

    @property
    def median(self) -> float:
        return self.percentile(50)

    # ---- rates and roofs --------------------------------------------------------------------------

    @property
    def bandwidth(self) -> float | None:
        return None if self.bytes is None else self.bytes / self.median

    @property
    def rate(self) -> float | None:
        return None if self.flops is None else self.flops / self.median

    @property
    def intensity(self) -> float | None:
        return None if self.flops is None or not self.bytes else self.flops / self.bytes

    @property
    def level(self) -> str:
        """The roof over its bytes: the cache that holds them, or streaming copies through memory."""
        found = self.roof.level(self.bytes or 0, self.threads)
        return "copy_stream" if found == "read_dram" and self.roof.bandwidth("copy_stream", self.threads) else found

    @property
    def peak_name(self) -> str:
        return self.roof.peak_name(_peak_dtype(self.dtype), self.threads)

    @property
    def memory_seconds(self) -> float | None:
        """No run that moves its bytes at this roof is faster."""
        top = self.roof.bandwidth(self.level, self.threads)
        return None if self.bytes is None or not top else self.bytes / top

    @property
    def compute_seconds(self) -> float | None:
        top = self.roof.rate(self.peak_name, self.threads)
        return None if self.flops is None or not top else self.flops / top

    @property
    def roof_seconds(self) -> float | None:
        return max((s for s in (self.memory_seconds, self.compute_seconds) if s is not None), default=None)

    @property
    def fraction(self) -> float | None:
        """Of the nearer roof, by the median."""
        return None if self.roof_seconds is None else self.roof_seconds / self.median

    @property
    def kernel_seconds(self) -> float | None:
        """In kernels, of a run; the rest is the call."""
        return sum(k.seconds for k in self.kernels) if self.kernels else None

    @property
    def busy(self) -> float | None:
        """Of the threads' time in launches, how much they ran programs."""
        total = self.kernel_seconds
        return sum(k.busy * k.seconds for k in self.kernels) / total if total else None

    # ---- forms ------------------------------------------------------------------------------------

    def as_dict(self) -> dict:
        known = {name: getattr(self, name) for name in (
            "name", "place", "threads", "mean", "deviation", "least", "most", "median", "bytes", "flops", "bandwidth", "rate", "intensity", "fraction",
            "memory_seconds", "compute_seconds", "roof_seconds", "kernel_seconds", "busy", "kind", "evidence", "advice", "counters", "times")}
        known["percentiles"] = {str(p): self.percentile(p) for p in (5, 25, 50, 75, 95, 99)}
        known["kernels"] = [dataclasses.asdict(k) for k in self.kernels]
        known["memory_roof"], known["compute_roof"] = self.level, self.peak_name
        known["roofs"] = {r.name: r.best for r in self.roof.roofs if r.threads == self.threads and r.best}
        return {key: UNKNOWN if value is None else value for key, value in known.items()}

    def json(self) -> str:
        return json.dumps(self.as_dict(), indent=1)

    def trace(self) -> str:
        """The timeline as Chrome's trace events (chrome://tracing, ui.perfetto.dev): a track per thread, and one for launches."""
        events: list = [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": f"{self.name} (tessera)"}}]
        tracks = sorted({span.thread for span in self.spans if span.kind == "range"})
        launches = max(tracks, default=0) + 1
        for thread in tracks:
            events.append({"ph": "M", "pid": 1, "tid": thread, "name": "thread_name", "args": {"name": f"thread {thread}"}})
        events.append({"ph": "M", "pid": 1, "tid": launches, "name": "thread_name", "args": {"name": "launches"}})
        offset, offsets = 0, {}
        for run in sorted({span.run for span in self.spans}):  # one run behind the other
            offsets[run] = offset
            offset += max(span.end_ns for span in self.spans if span.run == run) + 100_000
        for span in self.spans:
            events.append({"ph": "X", "pid": 1, "tid": launches if span.kind == "launch" else span.thread, "name": span.kernel, "cat": span.kind,
                           "ts": (offsets[span.run] + span.start_ns) / 1e3, "dur": (span.end_ns - span.start_ns) / 1e3,
                           "args": {"run": span.run, "programs": f"{span.begin} to {span.end}", **({"threads": span.team} if span.team else {})}})
        return json.dumps({"displayTimeUnit": "ns", "traceEvents": events})

    def html(self) -> str:
        from . import profile_page

        return profile_page.render(self)

    def save(self, path) -> None:
        """As what the name ends with: .html, .json, .trace.json (Chrome, Perfetto), else text."""
        name = str(path)
        text = self.html() if name.endswith(".html") else self.trace() if name.endswith(".trace.json") else self.json() if name.endswith(".json") else str(self) + "\n"
        pathlib.Path(path).write_text(text, encoding="utf-8")

    def __str__(self) -> str:
        missing = self.why_no_flops or "operations or bytes are not known"

        def shown(value, scale, unit):
            return f"{UNKNOWN}: {missing}" if value is None else f"{value * scale:.4g} {unit}"

        lines = [f"{self.name} on {self.threads} thread{'s' if self.threads > 1 else ''}, {len(self.times)} runs",
                 f"  time        median {self.median * 1e3:.4g} ms, mean {self.mean * 1e3:.4g} +- {self.deviation * 1e3:.2g}, least {self.least * 1e3:.4g}, most {self.most * 1e3:.4g}; "
                 f"5 % {self.percentile(5) * 1e3:.4g}, 95 % {self.percentile(95) * 1e3:.4g}, 99 % {self.percentile(99) * 1e3:.4g}",
                 f"  bytes       {UNKNOWN + ': nothing says which arrays it reads and writes' if self.bytes is None else f'{self.bytes:,}'} of arguments and results, {shown(self.bandwidth, 1e-9, 'GB/s')}",
                 f"  operations  {UNKNOWN + ': ' + self.why_no_flops if self.flops is None else f'{self.flops:,.0f}'}" + (
                     "" if self.flops is None else f", {shown(self.rate, 1e-9, 'GFLOP/s')}, {self.intensity:.3g} per byte" if self.intensity is not None else ""),
                 f"  roofs       memory ({self.level}) {shown(self.memory_seconds, 1e3, 'ms')}, compute ({self.peak_name}) {shown(self.compute_seconds, 1e3, 'ms')}",
                 f"  of the roof {f'{UNKNOWN}: {missing}' if self.fraction is None else f'{100 * self.fraction:.0f} %'}",
                 f"  bottleneck  {self.kind}"]
        lines += [f"              {text}" for text in self.evidence]
        lines += [f"  advice      {text}" for text in self.advice]
        if self.kernels:
            lines += ["", f"  {'kernel':24} {'ms':>9} {'share':>6} {'launches':>8} {'programs':>8} {'threads':>7} {'busy':>5} {'GB/s':>7} {'GFLOP/s':>9}"]
            for k in self.kernels:
                rate = "-" if k.flops is None or not k.seconds else f"{k.flops / k.seconds * 1e-9:.1f}"
                lines.append(f"  {k.name:24} {k.seconds * 1e3:9.4f} {100 * k.share:5.0f}% {k.launches:8} {k.programs:8} {k.threads:7} {100 * k.busy:4.0f}% "
                             f"{k.bytes / max(k.seconds, 1e-12) * 1e-9:7.1f} {rate:>9}")
        lines += ["", "  counters per run: " + ", ".join(f"{name} {value:,.0f}" for name, value in self.counters.items() if not isinstance(value, str))]
        missing: dict = {}
        for name, value in self.counters.items():
            if isinstance(value, str):
                missing.setdefault(value, []).append(name)
        lines += [f"  {UNKNOWN}: {', '.join(names)} ({why})" for why, names in missing.items()]
        return "\n".join(lines)

    __repr__ = __str__


def _peak_dtype(dtype: str) -> str:
    """The roof over products of this dtype; vector instructions compute in fp32."""
    return {"bf16": "bf16", "f16": "fp16", "i8": "i8"}.get(dtype, "fp32")


# ---- measuring ----------------------------------------------------------------------------------


def _timed(call, restore, warmups: int, runs: int, seconds: float) -> list:
    for _ in range(warmups):
        restore()
        call()
    times: list = []
    end = time.perf_counter() + seconds
    while len(times) < runs and (len(times) < 5 or time.perf_counter() < end):
        restore()
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def _traced(call, restore) -> tuple[list, int]:
    """The spans of some runs."""
    spans, dropped = [], 0
    for run in range(_TRACED):
        restore()
        events, lost = _runtime.traced(call, _MOST // _TRACED)
        dropped += lost
        first = min((event[5] for event in events), default=0)
        for kind, thread, kernel, begin, end, start, stop, team, size in events:
            spans.append(Span(run, kind, thread, kernel, begin, end, start - first, stop - first, team, size))
    return spans, dropped


def _kernels(spans: list, known: dict) -> list:
    """Spans by kernel; `known`: what each launch of it computes."""
    order = list(dict.fromkeys(span.kernel for span in spans if span.kind == "launch"))
    found = []
    runs = sorted({span.run for span in spans})
    for name in order:
        launches = [span for span in spans if span.kind == "launch" and span.kernel == name]
        per_run = {run: [s for s in launches if s.run == run] for run in runs}
        count = max(len(each) for each in per_run.values())
        seconds = statistics.median(sum(s.end_ns - s.start_ns for s in each) for each in per_run.values()) * 1e-9
        ran = sum(s.end_ns - s.start_ns for s in spans if s.kind == "range" and s.kernel == name)
        could = sum((s.end_ns - s.start_ns) * s.team for s in launches)
        # Variants of a kernel compute what it computes; a copy into panels, or the sum of its parts, nothing.
        works = known.get(name) or known.get(re.sub(r"(_parts)?(_packed(_both)?)?(_dense)?(_stream)?$", "", name)) or []
        counted = bool(works) and not any(w.unknown for w in works)
        flops = sum(works[k % len(works)].flops for k in range(count)) if counted else None
        if not works and (name.partition("_pack_")[0] in known or name.removesuffix("_sum") in known):
            flops = 0.0
        dtype = works[0].dtype if works else ""
        first = per_run[runs[0]]
        found.append(KernelProfile(name, count, seconds, 0.0, max(s.team for s in launches), max((s.end for s in first), default=0), min(ran / could, 1.0) if could else 0.0,
                                   sum(s.bytes for s in first), flops, dtype))
    total = sum(k.seconds for k in found)
    for k in found:
        k.share = k.seconds / total if total else 0.0
    return found


def _size(values) -> int:
    """Bytes of arrays, each once; an axis of stride 0 has one element."""
    total, seen = 0, set()
    for value in values:
        if not arrays.is_array(value):
            continue
        array = arrays.describe(value, True)
        key = (array.address, tuple(array.sizes), tuple(array.strides))
        if key in seen:
            continue
        seen.add(key)
        elements = math.prod(size for size, stride in zip(array.sizes, array.strides) if stride != 0)
        total += elements * max(by_storage(array.dtype.storage).bits, 8) // 8
    return total


def _subject(fn, args: tuple, kwargs: dict):
    """(call, restore, arguments by name) of a function of ours, or of any other."""
    if isinstance(fn, Function):
        out = {name: kwargs[name] for name in ("out",) if name in kwargs}
        bound = arguments.bind(fn, args, {name: value for name, value in kwargs.items() if name not in out})
        race = Race(fn, bound)
        return (lambda: fn(**race.given, **out)), race.restore, race.given
    if not callable(fn):
        call = source.call_of_user()
        given = call.args[0] if call and call.args else None
        fix = ""
        if isinstance(given, ast.Call):  # profile(f(x))
            fix = call.written(map(call.text, (given.func, *given.args, *call.args[1:], *given.keywords, *call.keywords)))
        raise ArgumentError(source.at_user(f"tessera.profile takes a function or kernel, not {type(fn).__name__}", fix, call.text(given) if given else ""))
    return (lambda: fn(*args, **kwargs)), (lambda: None), {str(k): v for k, v in enumerate((*args, *kwargs.values()))}


def _known_work(fn, given: dict) -> tuple[dict, str]:
    """What each kernel computes, or why it is not known."""
    if not isinstance(fn, Function):
        return {}, "a Python function; profile(..., flops=) says it"
    sizes = {name: tuple(value.shape) for name, value in given.items() if arrays.is_array(value)}
    try:
        spec = fn.last_spec
        owner = fn
        if spec.tuned and fn.options.tuning is not None:
            from .candidates import trial

            owner = trial(fn, spec.tuned)
        return work.of_version(owner, spec, sizes), ""
    except (TesseraError, RunError) as error:
        return {}, str(error).partition("\n")[0]


def profile(fn, *args, runs: int = 100, warmups: int = 5, seconds: float = 30.0, flops: float | None = None, bytes: int | None = None, **kwargs) -> Profile:
    """Measures calls of `fn` on copies of these arguments. `flops` and `bytes`: per call, if what is counted here is not what is meant."""
    if runs < 1 or warmups < 0:
        raise ArgumentError(source.at_user(f"profile takes at least one run, not runs={runs}, warmups={warmups}", "runs=1" if runs < 1 else "warmups=0", "runs" if runs < 1 else "warmups"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call, restore, given = _subject(fn, args, kwargs)
        restore()
        results = call()
        moved = _size([*given.values(), *(results if isinstance(results, tuple) else (results,))])
        del results
        times = _timed(call, restore, warmups, runs, seconds)
        spans, dropped = _traced(call, restore)
        restore()
        repeats = max(1, min(20, int(0.2 / max(min(times), 1e-6))))

        def several():
            for _ in range(repeats):
                call()

        counters = {name: value if isinstance(value, str) else value / repeats for name, value in _runtime.counted(several).items()}
    known, why = _known_work(fn, given)
    kernels = _kernels(spans, known)
    if flops is None and not why and kernels and all(k.flops is not None for k in kernels):
        flops = sum(k.flops for k in kernels)
    elif flops is None and not why:
        unknown = next((f"{w.name}: {w.unknown}" for works in known.values() for w in works if w.unknown), "no kernel was traced")
        why = f"{unknown}; profile(..., flops=) says it"
    dtype = max(kernels, key=lambda k: k.flops or 0.0).dtype if kernels else ""
    threads = max((k.threads for k in kernels), default=1)
    found = Profile(getattr(fn, "__name__", str(fn)), f"{fn.source.file}:{fn.source.first_line}" if isinstance(fn, Function) else "", times,
                    moved if bytes is None else bytes, flops, dtype, why, threads, kernels, spans, dropped, counters, measure(threads=tuple(sorted({1, threads}))))
    _diagnose(found)
    return found


# ---- what limits --------------------------------------------------------------------------------


def _diagnose(p: Profile) -> None:
    """The bottleneck with its evidence, and what could help, largest first."""
    say, help_ = p.evidence.append, p.advice.append
    outside = None if p.kernel_seconds is None else max(p.median - p.kernel_seconds, 0.0)
    short = p.median < _SHORT and (p.fraction is None or p.fraction < 0.2)
    if not p.kernels and p.flops is None:
        p.kind = UNKNOWN
        say("no kernel of tessera ran, and nothing says how many operations it takes")
    elif outside is not None and (outside > 0.5 * p.median or short):
        p.kind = "overhead_bound"
        say(f"{100 * outside / p.median:.0f} % of the median ({outside * 1e6:.3g} us) is outside of kernels: the call itself" if outside > 0.5 * p.median else
            f"a call of {p.median * 1e6:.3g} us is mostly its beginning and its end")
        help_("calls this short are mostly Python: give it more rows per call, or call one function that does all the steps")
    elif p.busy is not None and p.threads > 1 and p.busy < 0.7:
        p.kind = "synchronization_bound"
        worst = min(p.kernels, key=lambda k: k.busy)
        say(f"{p.threads} threads ran programs in {100 * p.busy:.0f} % of their time in launches; least in {worst.name}: {100 * worst.busy:.0f} %, {worst.programs} programs")
        help_(f"{worst.programs} programs for {worst.threads} threads: smaller tiles divide evenly ({p.name}.tune(...)); other processes on this machine have the same effect")
    elif p.memory_seconds is not None and (p.compute_seconds is None or p.memory_seconds >= p.compute_seconds):
        p.kind = "memory_bound"
    elif p.compute_seconds is not None:
        p.kind = "compute_bound"
    else:
        p.kind = UNKNOWN
    if p.memory_seconds is not None:
        top = p.roof.bandwidth(p.level, p.threads)
        say(f"memory: {p.bandwidth * 1e-9:.4g} of {top * 1e-9:.4g} GB/s ({p.level}, {p.threads} thread{'s' if p.threads > 1 else ''}), {100 * p.memory_seconds / p.median:.0f} %")
    if p.compute_seconds is not None:
        say(f"compute: {p.rate * 1e-9:.4g} of {p.roof.rate(p.peak_name, p.threads) * 1e-9:.4g} GFLOP/s ({p.peak_name}), {100 * p.compute_seconds / p.median:.0f} %")
    ran = p.counters.get("task_clock")
    if isinstance(ran, float) and p.median > 1e-4 and ran * 1e-9 < 0.75 * p.median * p.threads:
        say(f"the process ran {100 * ran * 1e-9 / (p.median * p.threads):.0f} % of the time on its {p.threads} threads: they waited, or others had the cores")
    faults = p.counters.get("page_faults")
    if isinstance(faults, float) and faults > 16 and p.bytes and faults * 4096 > 0.05 * p.bytes:
        say(f"{faults:.0f} page faults per run")
        help_("memory is touched for the first time in every call: pass out=, or let the pool keep more (tsr.set_memory_cache_limit)")
    _advise(p, help_)
    if p.dropped:
        say(f"the timeline left {p.dropped} events out")


def _advise(p: Profile, help_) -> None:
    between = sum(k.bytes for k in p.kernels) - (p.bytes or 0)
    if p.kind == "memory_bound" and len(p.kernels) > 1 and p.bytes and between > 0.5 * p.bytes:
        help_(f"{len(p.kernels)} kernels move {between:,} bytes between them beside the {p.bytes:,} of arguments and results: one kernel for neighbouring steps saves them")
    if p.fraction is not None and p.fraction >= _NEAR:
        if p.kind == "memory_bound":
            help_("this is near what the memory gives: only fewer bytes help (fp16 or bf16 arrays, or one function for what comes before and after)")
        elif p.kind == "compute_bound":
            help_("this is near what the cores give: only fewer or cheaper operations help")
    elif p.fraction is not None and p.kind in ("memory_bound", "compute_bound"):
        slowest = max(p.kernels, key=lambda k: k.seconds) if p.kernels else None
        place = f"; {slowest.name} takes {100 * slowest.share:.0f} %" if slowest and len(p.kernels) > 1 else ""
        help_(f"{100 * p.fraction:.0f} % of the roof{place}: {p.name}.tune(...) looks for better tiles, {p.name}.explain() shows who decided" if p.place else
              f"{100 * p.fraction:.0f} % of the roof{place}")
    if p.kind == "compute_bound" and p.dtype == "f32":
        other, here = p.roof.peak("bf16", p.threads), p.roof.peak("fp32", p.threads)
        if other > 2 * here:
            help_(f"products of bf16 have a roof of {other * 1e-9:.0f} GFLOP/s here, {other / here:.0f} times fp32's, if the accuracy allows")
    if p.deviation > 0.2 * p.mean:
        help_(f"times vary by {100 * p.deviation / p.mean:.0f} %: other work on this machine; the least, {p.least * 1e3:.4g} ms, says what is possible")


# ---- the command --------------------------------------------------------------------------------


def main(words: list[str]) -> int:
    """`tessera profile file.py[:fn]`."""
    import argparse
    import sys

    from . import inputs

    parser = argparse.ArgumentParser("tessera profile", description="Times each function of a file on made inputs, and says what limits it.")
    parser.add_argument("file", help="file.py, file.tessera, or file.py:name")
    inputs.add_arguments(parser)
    parser.add_argument("--size", type=int, default=512, help="of dims that --dims leaves out")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--html", help="a page with plots; {} stands for the function's name")
    parser.add_argument("--trace", help="the timeline for chrome://tracing and ui.perfetto.dev")
    parser.add_argument("--json", action="store_true")
    given = inputs.parsed(parser, words)
    try:
        functions = inputs.load(given.file)
        inputs.check_dims(given.dims, functions)
        for fn in functions:
            dims = inputs.fill_dims(fn, given.dims, given.size)
            found = profile(fn, runs=given.runs, **inputs.make(fn, dims, given.seed, given.dtype))
            print(found.json() if given.json else found)
            for path, text in ((given.html, found.html), (given.trace, found.trace)):
                if path:
                    pathlib.Path(path.replace("{}", fn.__name__)).write_text(text(), encoding="utf-8")
    except (TesseraError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0
