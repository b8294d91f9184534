#!/usr/bin/env python3
"""The disk cache under stress: kill -9, bit flips, many processes, forks. `test/python/test_disk_cache.py` runs short versions.

    tools/cache_stress.py [kills] [flips] [processes] [forks] [--seconds 900] [--seed 1]

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import signal
import sys
import tempfile
import time

import numpy as np

import tessera as tsr
from tessera import disk, keys

TEMPLATE = """
@tsr.function
def f{i}(x):
    y = x * {i}.0 + {i}.5
    return tsr.exp(y - {i}.0)
"""


class Progress:
    """A bar on stderr, if that is a terminal, and a deadline."""

    def __init__(self, name: str, total: int, seconds: float):
        self.name, self.total, self.end, self.last = name, total, time.monotonic() + seconds, 0.0

    def step(self, done: int) -> bool:
        """Whether there is time for more."""
        now = time.monotonic()
        if sys.stderr.isatty() and (now - self.last > 0.1 or done == self.total):
            self.last = now
            filled = 30 * done // self.total
            print(f"\r{self.name} [{'#' * filled}{'.' * (30 - filled)}] {done}/{self.total}", end="\n" if done == self.total else "", file=sys.stderr)
        return now < self.end


def functions(count: int, first: int = 0):
    """New Function objects, as a new process would have them."""
    made = tsr.compile_source("".join(TEMPLATE.format(i=i) for i in range(first, first + count)), "stress.tessera")
    return [getattr(made, f"f{i}") for i in range(first, first + count)]


def is_right(fn, i: int) -> bool:
    x = np.linspace(-1, 1, 33, dtype=np.float32)
    got = fn(x)
    want = np.exp(x.astype(np.float64) * i + i + 0.5 - i)
    # Two roundings and an exp of 2 ULP, times the slope of exp over the range.
    return bool(np.all(np.abs(got - want) <= want * 2.0**-23 * (4 + 4 * i)))


def kills(count: int, folder: str, seconds: float, seed: int, write=disk.Store.write) -> dict:
    """A writer is killed while it publishes; a reader finds whole entries or none."""
    rng, store = random.Random(seed), disk.Store(folder)
    names = [disk.sha256(b"%d" % i).hexdigest() for i in range(8)]
    progress, done, whole, torn = Progress("kill -9", count, seconds), 0, 0, 0
    for done in range(1, count + 1):
        ready, told = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                body, started = os.urandom(1 << 16), False
                while True:
                    i = rng.randrange(8)
                    write(store, names[i], b"%d" % i, {"object": body})
                    if not started:
                        started = os.write(told, b"x")
            finally:
                os._exit(1)
        os.read(ready, 1)
        time.sleep(rng.random() * 0.004)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(told)
        for i, name in enumerate(names):
            before = store.stats["damaged"]
            whole += store.read(name, b"%d" % i) is not None
            torn += store.stats["damaged"] - before
        if not progress.step(done):
            break
    orphans = sum(name.endswith(".tmp") for name in os.listdir(store.folder))
    return {"kills": done, "whole reads": whole, "torn reads": torn, "orphans": orphans}


def flips(count: int, folder: str, seconds: float, seed: int) -> dict:
    """One bit of one entry is flipped; the next process finds out, compiles again and replaces the entry."""
    tsr.knobs.cache, rng = folder, random.Random(seed)
    (fn,) = functions(1, 3)
    wrong = 0 if is_right(fn, 3) else 1
    store = disk.store()
    entries = {name: pathlib.Path(store.folder, name).read_bytes() for _, _, name in store.entries()}
    progress, done, undetected, stale = Progress("bit flips", count, seconds), 0, 0, 0
    for done in range(1, count + 1):
        name = rng.choice(sorted(entries))
        path, bit = pathlib.Path(store.folder, name), rng.randrange(8 * len(entries[name]))
        damaged = bytearray(entries[name])
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        before = store.stats["damaged"]
        (fn,) = functions(1, 3)
        wrong += not is_right(fn, 3)
        undetected += store.stats["damaged"] == before
        stale += path.read_bytes() == damaged
        if not progress.step(done):
            break
    return {"flips": done, "undetected": undetected, "not replaced": stale, "wrong results": wrong}


def _in_children(count: int, work, seconds: float, name: str) -> list:
    """`work(i)` in forked children, all at once: what each returned; None of one that failed or did not end in time."""
    pipes = {}
    for i in range(count):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(read)
                os.write(write, repr(work(i)).encode())
                code = 0
            finally:
                os._exit(code)
        os.close(write)
        pipes[child] = read
    progress, results, end = Progress(name, count, seconds), {}, time.monotonic() + seconds
    while len(results) < count and time.monotonic() < end:
        for child in [c for c in pipes if c not in results]:
            if os.waitpid(child, os.WNOHANG)[0]:
                text = os.read(pipes[child], 1 << 16).decode()
                results[child] = eval(text, {"__builtins__": {}}) if text else None
                progress.step(len(results))
        time.sleep(0.005)
    for child in pipes:
        if child not in results:  # it hangs
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        os.close(pipes[child])
    return [results.get(child) for child in pipes]


def processes(count: int, num_keys: int, folder: str, seconds: float, seed: int) -> dict:
    """Many processes want the same keys at once."""
    tsr.knobs.cache = folder

    def work(i):
        order = list(enumerate(functions(num_keys)))
        random.Random(seed + i).shuffle(order)
        right = all(is_right(fn, number) for number, fn in order)
        return right, disk.store().stats["compiles"]

    results = _in_children(count, work, seconds, "processes")
    # A key of ours has two entries that are compiled: the plan and the kernel.
    compiles = sum(result[1] for result in results if result) / 2
    return {"processes": count, "keys": num_keys, "failed": sum(result is None or not result[0] for result in results),
            "compiles per key": compiles / num_keys}


def forks(count: int, folder: str, seconds: float, seed: int) -> dict:
    """The parent compiles, then its forked children compile and run."""
    tsr.knobs.cache = folder
    (first,) = functions(1, 0)
    assert is_right(first, 0)

    def work(i):
        (fn,) = functions(1, i % 16 + 1)
        big = np.ones((64, 4096), np.float32)  # more than one thread's work
        (other,) = functions(1, 20 + i % 3)
        return is_right(fn, i % 16 + 1) and is_right(first, 0) and other(big).shape == big.shape

    results = _in_children(count, work, seconds, "forks")
    return {"children": count, "failed or hung": sum(result is not True for result in results)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="*", default=[], help="kills, flips, processes, forks; all if none is named")
    parser.add_argument("--seconds", type=float, default=900)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for name in ("verify", "dump"):
        setattr(tsr.knobs, name, False if name == "verify" else "")
    assert keys.usable()
    runs = {
        "kills": lambda folder: kills(1000, folder, options.seconds, options.seed),
        "flips": lambda folder: flips(10000, folder, options.seconds, options.seed),
        "processes": lambda folder: processes(64, 8, folder, options.seconds, options.seed),
        "forks": lambda folder: forks(100, folder, 60, options.seed),
    }
    good = True
    for name in options.what or runs:
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            found = runs[name](os.path.join(folder, "cache"))
            tsr.knobs.cache = "off"
        bad = any(found.get(key, 0) for key in ("torn reads", "undetected", "not replaced", "wrong results", "failed", "failed or hung"))
        bad |= found.get("compiles per key", 0) > 1.1
        good &= not bad
        print(f"{name}: {', '.join(f'{value} {key}' for key, value in found.items())}; {time.monotonic() - begin:.0f} s{': FAILED' if bad else ''}")
    return not good


if __name__ == "__main__":
    sys.exit(main())
