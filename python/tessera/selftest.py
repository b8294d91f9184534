"""`tessera gpu-selftest`: the shipped kernels on this machine's GPU, against what they may compute; one JSON to attach to an issue.

    tessera gpu-selftest [--device 0] [--seconds 600] [--output file.json] [--only name] [--no-times]

Every kernel runs at aligned and at odd extents. Data movement and small integers must be right to the bit (against the compiled
CPU), all else within the bound that the interpreter derives for each element. Then the kernels are timed, by the GPU's events. A
worker process does the work: a kernel that hangs or ends the CUDA context takes nothing with it.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import queue
import re
import subprocess
import sys
import threading
import time

from .knobs import colour

FORMAT = "tessera.gpu-selftest 1"
RUN_SECONDS = 120  # for one kernel at one size, compiling included


# ---- the worker ------------------------------------------------------------------------------


def _flat(results) -> list:
    return list(results) if isinstance(results, tuple) else [results]


def _simulated(case, args, got: list, target: str) -> str:
    """What the simulator says of the same run: it models tensor cores to the bit, as far as their behaviour is published."""
    import numpy as np

    other = _flat(case.fn(*args, target=f"sim:{target}", **case.constants))
    differ = sum(int((g.view(np.uint8) != o.view(np.uint8)).reshape(g.size, -1).any(axis=1).sum()) for g, o in zip(got, other) if g.size)
    return "equal bits" if not differ else f"{differ} of {sum(g.size for g in got)} elements have other bits"


def check(case, dtype: str, extents: tuple, gpu, simulate: bool | None = None) -> dict:
    """One run, compared; on a GPU with the simulator too, which is for information."""
    import numpy as np

    from . import comparison, cuda, oracle
    from .selftest_cases import Inputs

    args = case.make(Inputs(dtype, extents), *extents)
    there = [cuda.array(a, gpu) if isinstance(a, np.ndarray) else a for a in args]
    got = [result.numpy() for result in _flat(case.fn(*there, **case.constants))]
    found = {}
    if simulate if simulate is not None else not gpu.name.startswith("Tessera simulator"):
        try:
            found["simulator"] = _simulated(case, args, got, cuda.target_of(gpu))
        except Exception as error:  # no simulator, or not this architecture: the GPU was tested all the same
            found["simulator"] = f"not run: {str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__}"
    if case.exact:
        expected = _flat(case.fn(*args, **case.constants))
        wrong = [comparison.equal(f"result {i}", g, e) for i, (g, e) in enumerate(zip(got, expected, strict=True))]
        return {**found, "compared": "bits", "wrong": next((str(w) for w in wrong if w), None)}
    known = oracle.bounds(case.fn, *args, **case.constants)
    wrong, worst = None, 0.0
    for i, (g, (value, bound)) in enumerate(zip(got, known, strict=True)):
        wrong = wrong or comparison.within(f"result {i}", g, value, bound)
        with np.errstate(all="ignore"):
            ratio = np.abs(g.astype(np.float64) - np.asarray(value, np.float64)) / np.asarray(bound, np.float64)
        worst = max(worst, float(np.nan_to_num(ratio, nan=0.0, posinf=0.0).max(initial=0.0)))
    return {**found, "compared": "bounds", "error_over_bound": worst, "wrong": wrong and str(wrong)}


def _launcher(fn, given: list, out, gpu):
    """Runs the version of the last call again, past everything that Python does for a call: short kernels shall not wait for it."""
    from . import arrays

    version = fn._versions[fn.last_spec.key]
    if version.scalars:
        raise NotImplementedError(f"{fn.__name__} takes scalars")
    named = dict(zip((parameter.name for parameter in fn.parameters), given))
    results = iter(_flat(out))
    tensors = [arrays.describe(named[name] if name in named else next(results), True).for_runtime() for name, *_ in version.tensors]
    # The arrays live as long as what launches on them.
    return lambda keep=(given, out): version.executable.run(tensors, [], _no_allocation, gpu, 0)


def _no_allocation(*_):
    raise AssertionError("every result is given")


def measure(case, dtype: str, extents: tuple, gpu) -> dict:
    """The least time of a call, by events around several of them."""
    import numpy as np

    from . import cuda
    from .selftest_cases import Inputs

    args = case.make(Inputs(dtype, extents), *extents)
    there = [cuda.array(a, gpu) if isinstance(a, np.ndarray) else a for a in args]
    launch = _launcher(case.fn, there, case.fn(*there, **case.constants), gpu)
    calls, best = 1, float("inf")
    for _ in range(6):
        with cuda.Timer(gpu) as timer:
            for _ in range(calls):
                launch()
        each = timer.milliseconds / calls
        best = min(best, each)
        if each > 200:
            break
        calls = max(1, min(200, int(20 / max(each, 0.01))))
    found = {"milliseconds": best}
    if case.work:
        found["tflops"] = case.work(*extents) / best / 1e9
    return found


def _answer(run: tuple, gpu) -> dict:
    from .errors import CompileError, TesseraError

    case, dtype, extents, kind = run
    begin = time.perf_counter()
    try:
        found = (check if kind == "check" else measure)(case, dtype, extents, gpu)
        found["status"] = "wrong" if found.get("wrong") else "ok"
    except CompileError as error:
        text = str(error).strip()
        found = {"status": "not done" if "not yet" in text else "error", "message": text.splitlines()[0] if text else ""}
    except (TesseraError, MemoryError) as error:
        found = {"status": "error", "message": f"{type(error).__name__}: {str(error).strip()}"}
    return {**found, "seconds": round(time.perf_counter() - begin, 3)}


def worker(ordinal: int) -> int:
    """Reads numbers of runs, writes one line of JSON for each."""
    from . import cuda
    from .selftest_cases import runs

    answers, sys.stdout = sys.stdout, sys.stderr  # what kernels print is no answer
    gpu, known = cuda.device(ordinal), runs()
    for line in sys.stdin:
        print(json.dumps(_answer(known[int(line)], gpu)), file=answers, flush=True)
    return 0


class _Worker:
    """The process; a new one after a fault or a hang."""

    def __init__(self, ordinal: int):
        self.ordinal, self.process = ordinal, None

    def start(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "tessera", "gpu-selftest", "--worker", "--device", str(self.ordinal)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines: queue.Queue = queue.Queue()
        self.said: list[str] = []
        threading.Thread(target=self._read, args=(self.process, self.lines), daemon=True).start()
        threading.Thread(target=self.said.extend, args=(self.process.stderr,), daemon=True).start()

    @staticmethod
    def _read(process, lines) -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    def ask(self, number: int, seconds: float) -> dict:
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(f"{number}\n")
            self.process.stdin.flush()
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            self.stop()
            return {"status": "error", "message": f"no answer after {seconds:.0f} s; the process was ended", "seconds": round(seconds, 3)}
        except OSError:
            line = ""
        if not line:
            self.process.wait()
            code, said = self.process.returncode, "".join(self.said[-5:]).strip()
            self.stop()
            return {"status": "error", "message": f"the process ended with {code}: {said}"}
        answer = json.loads(line)
        if "CUDA_ERROR" in answer.get("message", "") and "OUT_OF_MEMORY" not in answer["message"]:
            self.stop()  # after a fault a context is of no use
        return answer

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


# ---- the command -----------------------------------------------------------------------------


class Progress:
    """One line on a terminal that is written again and again; nothing elsewhere."""

    def __init__(self, total: int, stream=None):
        self.total, self.stream = total, stream or sys.stderr
        self.shown = hasattr(self.stream, "isatty") and self.stream.isatty()

    def show(self, done: int, text: str) -> None:
        if not self.shown:
            return
        width = 24
        full = done * width // max(self.total, 1)
        bar = "#" * full + "." * (width - full)
        if colour(self.stream):
            bar = f"\033[32m{bar[:full]}\033[0m{bar[full:]}"
        self.stream.write(f"\r\033[K[{bar}] {done}/{self.total} {text}")
        self.stream.flush()

    def end(self) -> None:
        if self.shown:
            self.stream.write("\r\033[K")
            self.stream.flush()


def machine(gpu) -> dict:
    """The device, the driver and the versions of everything that takes part."""
    import numpy

    from . import __version__, _runtime, cuda, doctor

    path = doctor.find_tool("ptxas")
    version = gpu.driver_version
    return {
        "device": gpu.name, "target": cuda.target_of(gpu), "capability": list(gpu.capability), "multiprocessors": gpu.multiprocessors,
        "shared_per_block": gpu.shared_per_block, "memory_bytes": gpu.total_memory, "driver": gpu.driver,
        "driver_version": f"{version // 1000}.{version % 1000 // 10}", "is_simulator": gpu.name.startswith("Tessera simulator"),
        "tessera": __version__, "llvm": _runtime.LLVM_VERSION, "ptxas": doctor._version_of(path) if path else None,
        "python": platform.python_version(), "numpy": numpy.__version__, "system": platform.platform(),
    }


_COLOURS = {"ok": "32", "wrong": "31", "error": "31", "not done": "33", "skipped": "33"}


def _row(entry: dict) -> list[str]:
    compared = entry.get("compared", "")
    if compared == "bounds":
        compared = f"{entry['error_over_bound']:.2f} of the bound"
    elif compared == "bits":
        compared = "equal bits" if entry["status"] == "ok" else "bits differ"
    spent = f"{entry['milliseconds']:.3f} ms" if "milliseconds" in entry else ""
    if "tflops" in entry:
        spent += f", {entry['tflops']:.1f} TFLOP/s"
    return [entry["kernel"], entry["dtype"], " x ".join(map(str, entry["extents"])), entry["status"], compared or spent or entry.get("message", "")[:90]]


def table(results: list[dict], paint: bool) -> str:
    rows = [["kernel", "dtype", "extents", "result", ""], *(_row(entry) for entry in results)]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        if paint and row[3] in _COLOURS:
            cells[3] = f"\033[{_COLOURS[row[3]]}m{cells[3]}\033[0m"
        lines.append("  ".join([*cells, row[4]]).rstrip())
    return "\n".join(lines)


def selftest(ordinal: int, seconds: float, only: str = "", times: bool = True) -> dict:
    """Everything, as the JSON has it."""
    from . import cuda
    from .selftest_cases import runs

    begin = time.monotonic()
    about = machine(cuda.device(ordinal))
    why = "" if times else "--no-times"
    if about["is_simulator"]:
        why, times = "the driver is the simulator", False  # event times of the simulator say nothing about a GPU
    chosen = [(number, run) for number, run in enumerate(runs()) if only in run[0].name and (times or run[3] == "check")]
    progress, process, results = Progress(len(chosen)), _Worker(ordinal), []
    try:
        for done, (number, (case, dtype, extents, kind)) in enumerate(chosen):
            progress.show(done, f"{case.name} {dtype} {' x '.join(map(str, extents))}")
            left = seconds - (time.monotonic() - begin)
            answer = process.ask(number, min(RUN_SECONDS, left)) if left > 1 else {"status": "skipped", "message": f"the {seconds:.0f} s were over"}
            results.append({"kernel": case.name, "dtype": dtype, "extents": list(extents), "kind": kind, **answer})
    finally:
        progress.end()
        process.stop()
    counts = {status: sum(entry["status"] == status for entry in results) for status in _COLOURS}
    return {"format": FORMAT, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), **about,
            "times": "by CUDA events" if times else f"not measured: {why}", "seconds": round(time.monotonic() - begin, 1), "summary": counts, "results": results}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tessera gpu-selftest", description="Runs the shipped kernels on this machine's NVIDIA GPU and compares.")
    parser.add_argument("--device", type=int, default=0, help="the GPU's number")
    parser.add_argument("--seconds", type=float, default=600, help="at most that long")
    parser.add_argument("--output", default="", help="the JSON file; else gpu-selftest-<device>-<date>.json")
    parser.add_argument("--only", default="", help="kernels with this in their name")
    parser.add_argument("--no-times", action="store_true", help="compare only")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    from .errors import DeviceError

    if given.worker:
        return worker(given.device)
    try:
        found = selftest(given.device, given.seconds, given.only, not given.no_times)
    except DeviceError as error:
        print(f"error: {error}\n fix:  install NVIDIA's driver, or TESSERA_CUDA_DRIVER=.../libtessera_cuda.so for the simulator's", file=sys.stderr)
        return 2
    print(f"{found['device']} ({found['target']}), driver {found['driver_version']}, tessera {found['tessera']}, ptxas {found['ptxas'] or 'missing'}")
    print(table(found["results"], colour(sys.stdout)))
    counts = found["summary"]
    print(", ".join(f"{counts[status]} {status}" for status in counts if counts[status]) + f"; {found['seconds']} s; times: {found['times']}")
    name = re.sub(r"[^A-Za-z0-9]+", "-", found["device"]).strip("-").lower()
    path = given.output or f"gpu-selftest-{name}-{found['date'][:10]}.json"
    with open(path, "w") as file:
        json.dump(found, file, indent=1)
        file.write("\n")
    print(f"written: {os.path.abspath(path)}; please attach it to an issue")
    return 1 if counts["wrong"] or counts["error"] else 0
