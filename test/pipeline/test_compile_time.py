"""Compile time is linear in the number of ops.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import re
import resource
import subprocess
import sys
import textwrap

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


# Two values that are computed from each other, line by line: the paths to the first one double with each line.
SIGNATURE = 'def f(A: Tensor["M", "N", fp32], B: Tensor["M", "N", fp32]'
PROGRAMS = [
    f"""@tsr.function
{SIGNATURE}):
    a, b = A, B
    {{mix}}
    return tsr.softmax(a + b, dim=1)
""",
    f"""@tsr.function
{SIGNATURE}):
    a, b = A @ B.T, A @ B.T
    {{mix}}
    return a + b
""",
    f"""@tsr.function
{SIGNATURE}):
    a, b = A, B
    {{mix}}
    return (a + b) @ B.T
""",
    f"""@tsr.function
{SIGNATURE}):
    a, b = A > B, A < B
    {{masks}}
    return tsr.where(a, A, B)
""",
    f"""@tsr.kernel
{SIGNATURE}, C: Out["M", "N", fp32]):
    for m, n in tsr.grid(tsr.tile(M, 4), tsr.tile(N, 32)):
        a, b = A[m, n], B[m, n]
        {{mix}}
        C[m, n] = a + b
""".replace("fp32", "bf16"),
    f"""@tsr.kernel
{SIGNATURE}, C: Out["M", "N", fp32]):
    for m in tsr.grid(tsr.tile(M, 4)):
        s = tsr.zeros(m)
        for n in tsr.tile(N, 16):
            a, b = A[m, n], B[m, n]
            {{mix}}
            s += tsr.sum(tsr.exp(a) * b, n)
        for n in tsr.tile(N, 16):
            a, b = A[m, n], B[m, n]
            {{mix}}
            C[m, n] = tsr.exp(a) * b / s
""",
    f"""@tsr.kernel
{SIGNATURE}, C: Out["M", "N", fp32]):
    for m, n in tsr.grid(tsr.tile(M, 4), tsr.tile(N, 16)):
        a, b = m.start, n.start
        {{numbers}}
        r = tsr.range_at(M, m.start + 0 * a, 4)
        C[r, n] = A[r, n] + B[r, n]
""",
]
LINES = {
    "mix": "a = tsr.maximum(a, b)\nb = tsr.minimum(b, a)\n",
    "masks": "a = a & b\nb = b | a\n",
    "numbers": "a = a + b\nb = b - a\n",
}
RUN = """
x = np.random.default_rng(0).standard_normal((2, 9, 33))
for f, dtype in FOUND:
    f.check(*x.astype(dtype))
    f.compile(target="sm_80")
"""


def test_paths_that_double_with_each_line(tmp_path):
    """CPU, oracle and sm_80; most of them did not end."""
    text = "import ml_dtypes\nimport numpy as np\nimport tessera as tsr\nfrom tessera import Out, Tensor, bf16, fp32\n\nFOUND = []\n"
    for program in PROGRAMS:
        for name, lines in LINES.items():
            program = re.sub(rf"^( *)\{{{name}\}}\n", lambda found: textwrap.indent(lines * 40, found[1]), program, flags=re.M)
        text += f"\n\n{program}\n\nFOUND.append((f, {'ml_dtypes.bfloat16' if 'bf16' in program else 'np.float32'}))\n"
    path = tmp_path / "programs.py"
    path.write_text(text + RUN)
    done = subprocess.run([sys.executable, path], timeout=100, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
