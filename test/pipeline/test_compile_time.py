"""Compile time is linear in the number of ops.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import resource
import subprocess

TESSERAC = os.path.join(os.environ.get("TESSERA_BIN") or "build/release/bin", "tesserac")


def seconds(path) -> float:
    """The least processor time of three runs up to the front end's exit and the passes of stage graph."""
    found = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([TESSERAC, str(path), "--compile-to", "graph", "-o", os.devnull], check=True)
        found.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return min(found)


def test_a_chain_four_times_as_long_takes_about_four_times_as_long(tmp_path):
    """It took eight times as long: each op walked to the chain's beginning for its size."""
    times = []
    for count in (1000, 4000):
        path = tmp_path / f"chain{count}.tessera"
        lines = [f"    y = y {'+' if i % 2 else '*'} {1 + i / 1000}" for i in range(count)]
        path.write_text("\n".join(["@tsr.function", 'def chain(x: Tensor["N", fp32]):', "    y = x", *lines, "    return y", ""]))
        times.append(seconds(path))
    assert times[1] <= 5.5 * times[0], times
