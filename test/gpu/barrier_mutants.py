#!/usr/bin/env python3
# Breaks the synchronisation of mapped kernels in one place and asks the barrier proof and the simulator.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutants of waits, barriers, groups and slots: does the barrier proof refute each, and does the simulator agree?

    python test/gpu/barrier_mutants.py                 # every mutant of every subject
    python test/gpu/barrier_mutants.py --sample 12 --seed 3 --json out.json

A subject is a kernel at the mapped level (stage "tile", sm_80) as our passes leave it: gemm, attention, softmax and reductions, the
pipelined ones with 2, 3 and 4 stages. A mutant is one place of it changed: a wait, a barrier or the closing of a group left out, a
wait or a barrier moved past what it orders, one more group left pending, another slot, a ring that starts or turns elsewhere.
For each: the proof's verdict; then the kernel is lowered without the proof and run on the simulator with its checks.

    refuted      the proof refuses it with a schedule, and the simulator reports an error or wrong numbers
    unconfirmed  the proof refuses it, and these inputs showed nothing
    equivalent   the proof accepts it, and the simulator finds nothing: not a weaker protocol (a move that orders the same)
    redundant    the proof accepts a kernel that has one synchronisation less: ours had one too many
    WRONG        the proof accepts what the simulator shows to be wrong
"""

import argparse
import collections
import functools
import json
import random
import re
import sys

import numpy as np

import tessera as tsr
from tessera import Out, Tensor, const, kernels
from tessera.errors import CompileError, RunError, TesseraError

CHIP = "sm_80"


@tsr.kernel
def gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], STAGES: const = 3):
    for m, n in tsr.grid(tsr.tile(M, 32), tsr.tile(N, 32)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, 16, stages=STAGES):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


@tsr.kernel
def two_loops(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], STAGES: const = 2):
    """The second loop's ring takes the memory of the first one's."""
    for m, n in tsr.grid(tsr.tile(M, 32), tsr.tile(N, 32)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, 16, stages=STAGES):
            acc += A[m, k] @ B[k, n]
        for k in tsr.tile(K, 32, stages=STAGES):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


@tsr.kernel
def attention(Q: Tensor["S", "D"], K: Tensor["T", "D"], V: Tensor["T", "D"], O: Out["S", "D"], STAGES: const = 2):
    for m in tsr.grid(tsr.tile(S, 32)):
        q = Q[m, :]
        top, den, acc = tsr.full(tsr.lowest, m), tsr.zeros(m), tsr.zeros(m, D)
        for n in tsr.tile(T, 16, stages=STAGES):
            s = q @ K[n, :].T
            new = tsr.maximum(top, tsr.max(s, n))
            p, fix = tsr.exp2(s - new), tsr.exp2(top - new)
            den = den * fix + tsr.sum(p, n)
            acc = acc * fix + p.to(V.dtype) @ V[n, :]
            top = new
        O[m, :] = acc / den


def _gemm_result(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def _attention_result(q, k, v):
    s = q.astype(np.float64) @ k.astype(np.float64).T
    p = np.exp2(s - s.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True) @ v.astype(np.float64)


def _softmax_result(x):
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _norm_result(x, weight, bias):
    x, weight, bias = (each.astype(np.float64) for each in (x, weight, bias))
    x = x - x.mean(1, keepdims=True)
    return x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * weight + bias


class Subject:
    """A kernel, its mapped text, arguments for which its loops turn more often than its rings, and what it should give."""

    def __init__(self, name, fn, args, expected, **consts):
        self.name, self.fn, self.args, self.expected, self.consts = name, fn, args, expected, consts
        dtypes = dict(zip([p.name for p in fn.parameters if not p.is_written], [tsr.fp16 if a.dtype == np.float16 else tsr.fp32 for a in args]))
        dims = {"D": 32} if fn is attention else {"N": args[0].shape[1]} if fn in (kernels.softmax, kernels.layer_norm) else {}
        self.text = fn.inspect_ir("tile", target=CHIP, **dtypes, **consts, **dims)


def subjects(only: str = ""):
    """Those whose name contains `only`."""
    return [make() for name, make in _subjects() if only in name]


def _subjects():
    rng = np.random.default_rng(7)
    normal = lambda *shape: rng.standard_normal(shape).astype(np.float16)
    # Rows are multiples of 16 bytes, so that copies are asynchronous; the last turn of the loops is not full.
    a, b = normal(40, 152), normal(152, 40)
    q, k, v = normal(40, 32), normal(152, 32), normal(152, 32)
    wide = normal(3, 3000)
    for stages in (2, 3, 4):
        yield f"gemm, {stages} stages", functools.partial(Subject, f"gemm, {stages} stages", gemm, (a, b), _gemm_result(a, b), STAGES=stages)
        yield f"attention, {stages} stages", functools.partial(Subject, f"attention, {stages} stages", attention, (q, k, v), _attention_result(q, k, v), STAGES=stages)
        yield f"fp32 gemm, {stages} stages", functools.partial(Subject, f"fp32 gemm, {stages} stages", gemm, (a.astype(np.float32), b.astype(np.float32)), _gemm_result(a, b), STAGES=stages)
        yield f"two loops, {stages} stages", functools.partial(Subject, f"two loops, {stages} stages", two_loops, (a, b), 2 * _gemm_result(a, b), STAGES=stages)
    yield "gemm, block-synchronous", functools.partial(Subject, "gemm, block-synchronous", gemm, (a, b), _gemm_result(a, b), STAGES=1)
    yield "attention, block-synchronous", functools.partial(Subject, "attention, block-synchronous", attention, (q, k, v), _attention_result(q, k, v), STAGES=1)
    yield "softmax", functools.partial(Subject, "softmax", kernels.softmax, (wide,), _softmax_result(wide))
    row = normal(3000), normal(3000)
    yield "layer_norm", functools.partial(Subject, "layer_norm", kernels.layer_norm, (wide, *row), _norm_result(wide, *row))


# ---- mutants ----------------------------------------------------------------------------------------------------------

_SYNC = re.compile(r"^ *tile\.(wait|barrier)\b")
_EVENT = re.compile(r"tile\.(wait|barrier|cp_async|local_load|local_store|reduce|for|yield|return)\b|^ *}")


def _line(text: str) -> str:
    return re.search(r"// (\S+)$", text)[1] if "// " in text else ""


def mutants(text: str):
    """(what, whether it is a move, text), in the order of the text."""
    lines = re.sub(r"tile\.wait .*pending", "tile.wait pending", text).split("\n")  # the tokens say nothing more

    def made(what, new, move=False):
        return what, move, "\n".join(new)

    def moved(at, to):
        new = lines[:at] + lines[at + 1 :]
        new.insert(to, lines[at])
        return new

    for at, line in enumerate(lines):
        where = f"line {at + 1} ({_line(line)})"
        found = _SYNC.match(line)
        if found:
            yield made(f"{found[1]} left out, {where}", lines[:at] + lines[at + 1 :])
            # Past the next event in either direction; not out of its block.
            for step in (-1, 1):
                to = at + step
                while 0 <= to < len(lines) and not _EVENT.search(lines[to]):
                    to += step
                if not 0 <= to < len(lines) or re.search(r"tile\.(for|yield|return)\b|^ *}", lines[to]):
                    continue
                if re.search(rf"tile\.{found[1]}\b", lines[to]):
                    continue
                yield made(f"{found[1]} moved {'up' if step < 0 else 'down'}, {where}", moved(at, to), move=True)
        if pending := re.search(r"tile\.wait pending = (\d+)", line):
            number = int(pending[1])
            yield made(f"{number + 1} groups pending instead of {number}, {where}",
                       lines[:at] + [line.replace(f"pending = {number}", f"pending = {number + 1}")] + lines[at + 1 :])
        if "tile.cp_async" in line and re.search(r"\{commit[,}]", line):
            without = re.sub(r"\{commit\}|(?<=\{)commit, ", "", line)
            yield made(f"group not closed, {where}", lines[:at] + [without] + lines[at + 1 :])
            previous = next((i for i in range(at - 1, -1, -1) if _EVENT.search(lines[i])), None)
            if previous is not None and "tile.cp_async" in lines[previous] and "commit" not in lines[previous]:
                early = lines[previous].replace(" {", " {commit, ", 1)
                yield made(f"group closed one copy early, {where}", lines[:previous] + [early] + lines[previous + 1 : at] + [without] + lines[at + 1 :])
        if slot := re.search(r"tile\.(cp_async|local_load) .*? slot (%[\w#]+)", line):
            for other in sorted(set(re.findall(r" slot (%[\w#]+)", text)) - {slot[2]}):
                if other.startswith(("%reading", "%filling")) and _in_scope(lines, at, other):
                    yield made(f"slot {other} instead of {slot[2]} of {slot[1]}, {where}",
                               lines[:at] + [line.replace(f" slot {slot[2]}", f" slot {other}")] + lines[at + 1 :])
        # Where the ring starts and where it turns.
        if "tile.for" in line and "%filling" in line:
            for word in ("reading", "filling"):
                start = re.search(rf"(%{word}[\w]*) = (%[\w#]+)", line)
                other = re.search(rf"(%{'filling' if word == 'reading' else 'reading'}[\w]*) = (%[\w#]+)", line)
                if start and other and start[2] != other[2]:
                    yield made(f"the ring's {word} starts at {other[2]}, {where}",
                               lines[:at] + [line.replace(start[0], f"{start[1]} = {other[2]}")] + lines[at + 1 :])
        if turn := re.search(r"(%(?:reading|filling)\w*) = arith\.select (%\w+), (%\w+), (%\w+)", line):
            yield made(f"{turn[1]} does not turn around, {where}",
                       lines[:at] + [line.replace(f"{turn[2]}, {turn[3]}, {turn[4]}", f"{turn[2]}, {turn[4]}, {turn[3]}")] + lines[at + 1 :])
        if "tile.reduce" in line and (exchange := re.search(r"#tile\.exchange<[^>,]*(?=>)", line)):
            yield made(f"no wait before the scratch memory is used again, {where}",
                       lines[:at] + [line.replace(exchange[0], f"{exchange[0]}, unguarded")] + lines[at + 1 :])


def _in_scope(lines, at, name):
    """Whether a value is defined before the line, in a block around it."""
    depth = 0
    for i in range(at - 1, -1, -1):
        if lines[i].lstrip().startswith("}"):
            depth += 1
        opens = lines[i].rstrip().split("  //")[0].endswith("{")
        if depth == 0 and re.search(rf"{re.escape(name)}(:\d+)? = |{re.escape(name)} = ", lines[i]):
            return True
        if opens and depth:
            depth -= 1
    return False


# ---- judges -----------------------------------------------------------------------------------------------------------

def proved(subject: Subject, text: str) -> str:
    """Empty if the proof accepts it, else what it says."""
    try:
        subject.fn.resume(text, target=CHIP)
    except CompileError as error:
        return str(error)
    return ""


def shown(subject: Subject, text: str) -> str:
    """What the simulator finds wrong, or nothing."""
    from tessera import _core as compiler
    from tessera.gpu import SimVersion

    options = {**subject.fn._options(CHIP), "mistake": "unproved"}
    version = SimVersion(subject.fn, f"sim:{CHIP}", compiler.compile_text(text, "mutant", options), None)
    try:
        got = version(*subject.args)
    except RunError as error:
        return str(error)
    worst = np.max(np.abs(np.asarray(got, np.float64) - subject.expected))
    return "" if worst <= 0.02 * np.abs(subject.expected).max() else f"wrong numbers: off by {worst:.3g}"


def judge(subject: Subject, what: str, move: bool, text: str) -> dict:
    said = proved(subject, text)
    if said and "the schedule that shows it" not in said and "has no model of this" not in said:
        raise SystemExit(f"{subject.name}: {what}: not the proof's words:\n{said}")
    seen = shown(subject, text)
    verdict = ("refuted" if seen else "unconfirmed") if said else "WRONG" if seen else "equivalent" if move else "redundant"
    return {"subject": subject.name, "mutant": what, "verdict": verdict, "proof": said, "simulator": seen}


def run(sample: int | None = None, seed: int = 0, only: str = "", progress=None) -> list[dict]:
    found = [(s, *m) for s in subjects(only) for m in mutants(s.text)]
    if sample is not None:
        found = random.Random(seed).sample(found, min(sample, len(found)))
    rows = []
    for subject, what, move, text in found:
        rows.append(judge(subject, what, move, text))
        if progress:
            progress(rows[-1])
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="subjects whose name contains this")
    parser.add_argument("--json")
    options = parser.parse_args()

    for subject in subjects(options.only):
        wrong = proved(subject, subject.text) or shown(subject, subject.text)
        if wrong:
            print(f"{subject.name}: not right to begin with:\n{wrong}")
            return 1
    rows = run(options.sample, options.seed, options.only,
               lambda row: row["verdict"] != "refuted" and print(f"{row['verdict']}: {row['subject']}: {row['mutant']}\n  {row['proof'] or row['simulator']}", flush=True))
    counts = collections.Counter(row["verdict"] for row in rows)
    by_subject = collections.defaultdict(collections.Counter)
    for row in rows:
        by_subject[row["subject"]][row["verdict"]] += 1
    for name, each in by_subject.items():
        print(f"{name}: " + ", ".join(f"{n} {verdict}" for verdict, n in each.items()))
    print(f"{len(rows)} mutants: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    return 1 if counts["WRONG"] or counts["redundant"] else 0


if __name__ == "__main__":
    sys.exit(main())
