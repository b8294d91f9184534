"""Makes a bad program small: fewer results, lines and blocks, smaller extents, plainer inputs, as long as it stays bad in the same way.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import tempfile
import time

from .generate import generate
from .program import Input, Program
from .runner import STAGES, check_program

LATE = 60


def outcome_of(program: Program, stages=STAGES, targets=()) -> dict:
    """In a process of its own: a crash is an outcome."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        signal.alarm(LATE)
        null = os.open(os.devnull, os.O_WRONLY)
        error = tempfile.TemporaryFile()
        os.dup2(null, 1)
        os.dup2(error.fileno(), 2)
        try:
            with tempfile.TemporaryDirectory(prefix="tessera-fuzz-") as folder:
                outcome = check_program(program, folder, stages, targets)
            os.write(write, json.dumps({"status": outcome.status, "where": outcome.where, "detail": outcome.detail[:3000]}).encode())
        finally:
            os._exit(0)
    os.close(write)
    text = b""
    while part := os.read(read, 65536):
        text += part
    os.close(read)
    code = os.waitpid(child, 0)[1]
    if text:
        return json.loads(text)
    return {"status": "crashed", "where": f"signal {os.WTERMSIG(code)}" if os.WIFSIGNALED(code) else f"exit {code}", "detail": ""}


def likeness(outcome: dict) -> tuple:
    """What must stay the same."""
    if outcome["status"] == "mismatch":
        return "mismatch", outcome["where"]
    first = re.search(r"error: (.*)", outcome["detail"])
    words = first.group(1) if first else outcome["detail"].partition("\n")[0]
    return outcome["status"], outcome["where"], re.sub(r"[a-z]?\d+|\[[^]]*\]|\b[MNK]\b", "#", words)[:60]


def renamed(program: Program, old: str, new: str) -> None:
    word = re.compile(rf"\b{old}\b")
    for line in program.walk():
        line.text = word.sub(new, line.text)
        line.uses = tuple(new if u == old else u for u in line.uses)
    program.results = list(dict.fromkeys(new if r == old else r for r in program.results))


def remove(lines: list, target) -> bool:
    for index, line in enumerate(lines):
        if line is target:
            del lines[index]
            return True
        if remove(line.body or [], target) or remove(line.tail or [], target):
            return True
    return False


def replace(lines: list, target, by: list) -> bool:
    for index, line in enumerate(lines):
        if line is target:
            lines[index : index + 1] = by
            return True
        if replace(line.body or [], target, by) or replace(line.tail or [], target, by):
            return True
    return False


def nth(program: Program, index: int):
    for at, line in enumerate(program.walk()):
        if at == index:
            return line
    return None


def candidates(program: Program):
    """Smaller programs, the boldest first. Some are wrong: those fail differently."""
    for result in program.results if len(program.results) > 1 else ():
        p = program.copy()
        p.results = [result]
        p.prune()
        yield p
    count = sum(1 for _ in program.walk())
    for index in range(count - 1, -1, -1):
        line = nth(program, index)
        # A block by its body, or by nothing.
        if line.body is not None:
            for body in (line.body, line.tail):
                if body is not None:
                    p = program.copy()
                    target = nth(p, index)
                    replace(p.lines, target, target.body if body is line.body else target.tail)
                    p.prune()
                    yield p
        p = program.copy()
        if remove(p.lines, nth(p, index)):
            p.prune()
            yield p
        if len(line.names) == 1 and line.names[0] in program.types:
            name = line.names[0]
            kind = program.types[name]
            # By something of its type, or a new argument.
            for other in [u for u in line.uses if program.types.get(u) == kind and u != name][:2]:
                p = program.copy()
                remove(p.lines, nth(p, index))
                renamed(p, name, other)
                p.prune()
                yield p
            if program.kind == "function":
                p = program.copy()
                remove(p.lines, nth(p, index))
                dtype, keys, shape = kind
                if not any(i.name == name for i in p.inputs):
                    p.inputs.append(Input(name, dtype, tuple(shape), "", 0 if dtype == "bool" else -2, 1 if dtype == "bool" else 2, dtype.startswith(("fp", "bf")) and not p.exact, keys=tuple(keys)))
                    p.prune()
                    yield p
    for decorator in program.decorators:
        p = program.copy()
        p.decorators.remove(decorator)
        yield p
    for index in range(len(program.prelude)):
        p = program.copy()
        del p.prelude[index]
        yield p
    for dim, extent in program.dims.items():
        for smaller in [n for n in (1, 2, 3, 5, 7, 9, 17, 33) if n < extent]:
            p = program.copy()
            p.dims[dim] = smaller
            for i in p.inputs:
                i.shape = tuple(smaller if key == dim else n for key, n in zip(i.keys, i.shape))
            yield p
    for index, given in enumerate(program.inputs):
        changes = []
        if given.view != "contiguous":
            changes.append({"view": "contiguous"})
        if given.scalar is None and given.shape and (given.low, given.high) not in ((1, 1), (0, 1), (-1, 1)) and given.dtype != "bool":
            changes += [{"low": 1, "high": 1}, {"low": 0, "high": 1}, {"low": -1, "high": 1}]
        if isinstance(given.scalar, int) and not isinstance(given.scalar, bool) and given.scalar > 1:
            changes += [{"scalar": 1}, {"scalar": given.scalar - 1}]
        for change in changes:
            p = program.copy()
            for key, value in change.items():
                setattr(p.inputs[index], key, value)
            yield p
        if not any(re.search(rf"\b{given.name}\b", line.text) for line in program.walk()) and len(program.inputs) > 1 and given.name not in program.results:
            p = program.copy()
            del p.inputs[index]
            yield p


def shrink(program: Program, stages=STAGES, seconds: float = 300.0, show=True, targets=()):
    """(the smallest bad program found, its outcome)."""
    outcome = outcome_of(program, stages, targets)
    if outcome["status"] == "ok":
        return program, outcome
    wanted, end = likeness(outcome), time.monotonic() + seconds
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for candidate in candidates(program):
            if time.monotonic() > end:
                break
            try:
                found = outcome_of(candidate, stages, targets)
            except OSError:
                continue
            if likeness(found) == wanted:
                program, outcome, progress = candidate, found, True
                if show:
                    print(f"\r{sum(1 for _ in program.walk())} lines, {len(program.inputs)} inputs ", end="", file=sys.stderr, flush=True)
                break
    return program, outcome


def shrink_seed(seed: int, path: str, targets=(), stages=STAGES) -> int:
    program, outcome = shrink(generate(seed), stages, show=sys.stderr.isatty(), targets=targets)
    if outcome["status"] == "ok":
        print(f"seed {seed} is fine: nothing to shrink")
        return 0
    folder, name = os.path.split(path)
    program.reproducer(folder or ".", name, f"{outcome['status']} at {outcome['where']}: {outcome['detail']}")
    print(f"seed {seed}: {outcome['status']} at {outcome['where']}; {sum(1 for _ in program.walk())} lines in {path}")
    return 1
