"""What this machine's cores and memory can do, measured: the roof over every kernel.

    roof = tessera.roofline.measure()          # about two seconds, once per machine; then from the cache
    roof.rate("amx_bf16", threads=2)           # operations or bytes per second
    roof.peak("bf16"), roof.bandwidth("copy_stream")
    roof.time(flops=2 * n**3, bytes=12 * n * n, dtype="fp32")   # no kernel is faster than this, in seconds

    python -m tessera roofline [--threads 1,2] [--seconds 4] [--fresh] [--json]

Register peaks are of random data: matrix units are faster on zeros. Copies count bytes read and written. `best` is the roof, since
a shared machine only ever takes away; `median` says how much it took.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import os
import platform
import sys
import threading

from . import _runtime, disk
from .errors import ArgumentError

FORMAT = 1
_MAX_AGE = 30 * 86400.0  # seconds: virtual machines move
_MAX_FILE = 1 << 20
_NAMES = tuple(name for name, _ in _runtime.ROOFS)
_UNITS = dict(_runtime.ROOFS)
# What multiplies a dtype fastest, best first; None: no roof of ours is one of it.
_PEAKS = {
    "fp32": ("fma_f32_avx512", "fma_f32_avx2"),
    "bf16": ("amx_bf16", "fma_f32_avx512", "fma_f32_avx2"),
    "fp16": ("fma_f16_avx512", "fma_f32_avx512", "fma_f32_avx2"),
    "i8": ("amx_i8", "fma_f32_avx512", "fma_f32_avx2"),
}
_SAME = {"float32": "fp32", "f32": "fp32", "bfloat16": "bf16", "float16": "fp16", "f16": "fp16", "int8": "i8", "uint8": "i8", "u8": "i8"}


@dataclasses.dataclass(frozen=True)
class Roof:
    """One measured rate, in operations or bytes per second of all threads together; `missing` says why there is none."""

    name: str
    unit: str
    threads: int
    best: float = 0.0
    median: float = 0.0
    runs: int = 0
    bytes: int = 0  # working set of one thread
    missing: str = ""


@dataclasses.dataclass(frozen=True)
class Roofline:
    """All roofs of a machine."""

    machine: str
    date: str
    roofs: tuple[Roof, ...]

    @property
    def threads(self) -> tuple[int, ...]:
        return tuple(sorted({roof.threads for roof in self.roofs}))

    def find(self, name: str, threads: int | None = None) -> Roof:
        """The roof; without `threads` that of the most threads measured."""
        if name not in _NAMES:
            raise ArgumentError(f"no roof is called {name!r}; there are {', '.join(_NAMES)}")
        wanted = self.threads[-1] if threads is None else threads
        for roof in self.roofs:
            if roof.name == name and roof.threads == wanted:
                return roof
        raise ArgumentError(f"{name} was not measured with {wanted} threads, only with {', '.join(map(str, self.threads))}")

    def rate(self, name: str, threads: int | None = None) -> float:
        """Per second; 0 if this machine has not what it needs."""
        return self.find(name, threads).best

    def peak_name(self, dtype, threads: int | None = None) -> str:
        """Which roof bounds products of this dtype here."""
        key = str(dtype).rpartition(".")[2]
        key = _SAME.get(key, key)
        if key not in _PEAKS:
            raise ArgumentError(f"there is no register peak for {dtype}; there are {', '.join(_PEAKS)}")
        for name in _PEAKS[key]:
            if self.rate(name, threads):
                return name
        return _PEAKS[key][-1]

    def peak(self, dtype, threads: int | None = None) -> float:
        """Operations per second of the fastest instruction for this dtype, a multiply-add is two."""
        return self.rate(self.peak_name(dtype, threads), threads)

    def bandwidth(self, level: str, threads: int | None = None) -> float:
        """Bytes per second: l1, l2, l3, dram (reads), copy or copy_stream (reads and writes)."""
        return self.rate(level if level in _NAMES else f"read_{level}", threads)

    def level(self, bytes: int, threads: int | None = None) -> str:
        """The fastest roof of reading whose working set holds this many bytes."""
        for name in ("read_l1", "read_l2", "read_l3"):
            roof = self.find(name, threads)
            if roof.best and bytes <= 2 * roof.bytes * roof.threads:  # sets are half a cache
                return name
        return "read_dram"

    def time(self, flops: float = 0.0, bytes: float = 0.0, dtype="fp32", threads: int | None = None, level: str = "copy_stream") -> float:
        """Seconds below which nothing with so many operations and bytes can be done."""
        peak, bandwidth = (self.peak(dtype, threads) if flops else 0.0), self.bandwidth(level, threads)
        return max(flops / peak if peak else 0.0, bytes / bandwidth if bandwidth else 0.0)

    def better(self, other: Roofline) -> Roofline:
        """The best of two measurements of one machine: others can only have taken away from a roof."""
        theirs = {(roof.name, roof.threads): roof for roof in other.roofs}
        return dataclasses.replace(self, roofs=tuple(max(roof, theirs.get((roof.name, roof.threads), roof), key=lambda one: one.best) for roof in self.roofs))

    def json(self) -> str:
        return json.dumps({"format": FORMAT, **dataclasses.asdict(self)}, indent=1)

    def __str__(self) -> str:
        lines = [f"{self.machine}, {self.date}", f"{'':16}" + "".join(f"{f'{n} threads' if n > 1 else '1 thread':>26}" for n in self.threads)]
        for name in _NAMES:
            line = f"{name:16}"
            for count in self.threads:
                roof = self.find(name, count)
                unit = "GFLOP/s" if roof.unit == "flop/s" else "GB/s"
                line += f"{roof.best / 1e9:9.1f} ({roof.median / 1e9:7.1f}) {unit:7}" if roof.best else f"{'not measured':>26}"
            missing = self.find(name, self.threads[0]).missing
            lines.append(line.rstrip() + (f"  ({missing})" if missing else ""))
        return "\n".join([*lines, "best (median); peaks with random data, copies of 64 MiB count bytes read and written"])


def amx_probe() -> float:
    """Operations per second of a core's matrix unit at this moment, the slowest among the threads that kernels use; 0 without one. Takes half
    a millisecond. A healthy one gives nine tenths of the register peak, one in the slow state of shared hosts a third."""
    return _runtime.amx_probe()


def _machine() -> str:
    model = platform.machine()
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), model)
    return f"{model}, {os.cpu_count()} processors"


_lock = threading.Lock()
_measured: dict[tuple, Roofline] = {}


def measure(seconds: float = 2.0, threads: tuple[int, ...] | None = None, fresh: bool = False) -> Roofline:
    """Measures for about `seconds`; once per process and, if the disk cache is on, once per machine in 30 days, unless `fresh`. `threads`
    are the counts to measure with: 1 and those that kernels use, if not given."""
    if not 0 <= seconds <= 3600:
        raise ArgumentError(f"seconds must be 0 to 3600, not {seconds}")
    most = _runtime.num_threads()
    counts = tuple(sorted({1, most} if threads is None else set(threads)))
    if not counts or counts[0] < 1 or counts[-1] > most:
        raise ArgumentError(f"threads must be 1 to {most}, not {threads}; tsr.set_num_threads sets how many there are")
    key = (counts, _runtime.cpu_signature())
    with _lock:
        found = None if fresh else _measured.get(key) or _read(key)
        if found is None:
            found = _measure(seconds, counts)
            _write(key, found)
        _measured[key] = found
    return found


def known() -> Roofline | None:
    """What was measured before, without measuring: for this number of threads, or else for as many as there are processors."""
    for most in dict.fromkeys((_runtime.num_threads(), os.cpu_count() or 1)):
        key = (tuple(sorted({1, most})), _runtime.cpu_signature())
        with _lock:
            found = _measured.get(key) or _read(key)
            if found is not None:
                _measured[key] = found
                return found
    return None


def remember(roofline: Roofline) -> None:
    """Makes `measure` answer with this one from now on, here and in other processes."""
    key = (roofline.threads, _runtime.cpu_signature())
    with _lock:
        _measured[key] = roofline
        _write(key, roofline)


def _measure(seconds: float, counts: tuple[int, ...]) -> Roofline:
    each = seconds / (2 * len(_NAMES) * len(counts))
    pairs = [(name, count) for count in counts for name in _NAMES]
    # Twice, apart: the slow state of a shared host lasts seconds.
    rounds = [[_one(name, count, each) for name, count in pairs] for _ in range(2)]
    roofs = [_better(first, second) for first, second in zip(*rounds)]
    return Roofline(_machine(), datetime.date.today().isoformat(), tuple(roofs))


def _one(name: str, threads: int, seconds: float) -> Roof:
    return Roof(name, _UNITS[name], threads, **_runtime.roof_measure(_NAMES.index(name), threads, seconds))


def _better(first: Roof, second: Roof) -> Roof:
    return dataclasses.replace(max(first, second, key=lambda roof: roof.best), runs=first.runs + second.runs)


# ---- on disk: JSON in the cache's folder, ours alone ----------------------------------------------


def _name(key: tuple) -> str:
    machine = ""
    with contextlib.suppress(OSError), open("/etc/machine-id") as file:
        machine = file.read(64)
    text = repr((FORMAT, key, _machine(), machine or platform.node()))
    return f"roofline-{disk.sha256(text.encode()).hexdigest()[:32]}.json"


def _folder():
    """An open folder that is ours alone, or None."""
    place = disk.folder()
    if not place:
        return None
    try:
        os.makedirs(os.path.dirname(place) or ".", mode=0o700, exist_ok=True)
        return disk._open_own(place)
    except (disk.Refused, OSError):
        return None  # the cache of compiled code says so


def _read(key: tuple) -> Roofline | None:
    folder = _folder()
    if folder is None:
        return None
    try:
        opened = os.open(_name(key), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
        with os.fdopen(opened, "rb") as file:
            info = os.fstat(file.fileno())
            if info.st_uid != os.geteuid() or not 0 <= _now() - info.st_mtime < _MAX_AGE:
                return None
            return _parse(file.read(_MAX_FILE), key[0])
    except OSError:
        return None
    finally:
        os.close(folder)


def _now() -> float:
    import time

    return time.time()


def _parse(data: bytes, counts: tuple[int, ...]) -> Roofline | None:
    """What `json()` wrote; None for anything else."""
    try:
        tree = json.loads(data)
        if tree["format"] != FORMAT:
            return None
        roofs = tuple(Roof(**roof) for roof in tree["roofs"])
        found = Roofline(str(tree["machine"]), str(tree["date"]), roofs)
        for roof in roofs:
            numbers = (roof.best, roof.median, roof.runs, roof.bytes, roof.threads)
            if not all(isinstance(number, (int, float)) and 0 <= number < 1e18 for number in numbers) or _UNITS[roof.name] != roof.unit:
                return None
        if found.threads != counts or sorted((roof.name, roof.threads) for roof in roofs) != sorted((name, n) for name in _NAMES for n in counts):
            return None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return found


def _write(key: tuple, roofline: Roofline) -> None:
    folder = _folder()
    if folder is None:
        return
    name = _name(key)
    temporary = f".{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    try:
        opened = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            with os.fdopen(opened, "w") as file:
                file.write(roofline.json())
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(temporary, dir_fd=folder)
    except OSError:
        pass  # a full or read-only disk costs measuring again
    finally:
        os.close(folder)


def main(arguments: list[str]) -> int:
    """`tessera roofline`."""
    import argparse

    parser = argparse.ArgumentParser(prog="tessera roofline", description="What this machine's cores and memory can do, measured.")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--threads", default="", help="counts, e.g. 1,2; default 1 and as many as kernels use")
    parser.add_argument("--fresh", action="store_true", help="measure again")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        counts = tuple(int(count) for count in options.threads.split(",")) if options.threads else None
        found = measure(options.seconds, counts, options.fresh)
    except (ArgumentError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(found.json() if options.json else found)
    return 0
