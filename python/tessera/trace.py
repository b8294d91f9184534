"""`fn.trace(*args, stage=...)`: every value a stage computes, with the user's name and line.

    t = attention.trace(q, k, v)          # at graph
    t["s"].array                          # by the user's name: the last value it had
    t.save("before.npz")
    print(t.compare(attention.trace(q, k, v, stage="sched")))

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses

import numpy as np

from . import comparison, oracle, source
from .errors import ArgumentError, UnknownNameError
from .wording import entry


@dataclasses.dataclass
class Value:
    op: str  # gir.exp
    place: str  # attention.py:7:9
    name: str  # the user's
    array: np.ndarray

    def __repr__(self) -> str:
        return f"{self.place}: {self.name} = {self.op}, {self.array.dtype}{list(self.array.shape)}"


def _verb(op: str) -> str:
    """What an op does, whatever its level calls it: add for gir.add and arith.addf."""
    name = op.rpartition(".")[2]
    return name[:-1] if op.startswith("arith.") and name[-1] in "fi" else name


class Trace:
    """The values in the order they were computed."""

    def __init__(self, function: str, stage: str, domain: str, values: list[Value]):
        self.function, self.stage, self.domain, self.values = function, stage, domain, values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self):
        return iter(self.values)

    @entry
    def named(self, name: str) -> list[Value]:
        """All values of a name: one per op, and per turn of a loop."""
        found = [value for value in self.values if value.name == name]
        if not found:
            known = list(dict.fromkeys(value.name for value in self.values if value.name))
            near = source.nearest(name, known, known[0] if len(known) == 1 else "")
            raise UnknownNameError(source.at_user(f"nothing at stage {self.stage} of {self.function} is called {name!r}; there are {', '.join(known)}",
                                                  f'"{near}"' if near else "", str(name)))
        return found

    @entry
    def assigned(self, name: str) -> list[Value]:
        """What a name was each time a line gave it a value: of the ops of one statement, the last."""
        self.named(name)
        found, line = [], ""
        for value in self.values:
            if value.place.rpartition(":")[0] != line:
                line, fresh = value.place.rpartition(":")[0], True
            if value.name == name and not value.op.endswith((".for", ".while", ".if", ".constant")):
                if not fresh:
                    found.pop()
                found.append(value)
                fresh = False
        return found

    @entry
    def __getitem__(self, name: str) -> Value:
        return self.named(name)[-1]

    def compare(self, other: "Trace") -> str:
        """Which values of the same name and place differ between two stages, targets or versions."""
        theirs: dict = {}
        for value in other.values:
            theirs.setdefault((value.name, value.place), []).append(value)
        rows, seen = [], {}
        for value in self.values:
            key = (value.name, value.place)
            index = seen.get(key, 0)
            seen[key] = index + 1
            if index >= len(theirs.get(key, ())) or not value.name:
                continue
            match = theirs[key][index]
            if value.array.shape != match.array.shape or _verb(value.op) != _verb(match.op):
                continue
            wrong = comparison.equal(value.name, match.array, value.array)
            rows.append(f"{value.place}: {value.name}: " + ("equal" if wrong is None else f"{self.stage} and {other.stage} differ: {wrong}"))
        return "\n".join(rows) or "no value has the same name, place and shape in both"

    def save(self, path) -> None:
        """As a .npz file: one array per value, called by its number and name."""
        np.savez(path, **{f"{i:04}-{value.name or value.op}": value.array for i, value in enumerate(self.values)})

    def __repr__(self) -> str:
        return f"trace of {self.function} at stage {self.stage} ({self.domain}), {len(self)} values\n" + "\n".join(map(repr, self.values))


def trace(fn, args: tuple, kwargs: dict, stage: str, domain: str, target: str) -> Trace:
    if stage not in oracle.INTERPRETED:
        near = source.nearest(str(stage), oracle.INTERPRETED, "tile")
        raise ArgumentError(source.at_user(f"stage {stage!r} has no values to show; there are {', '.join(oracle.INTERPRETED)}",
                                           f'stage="{near}"', str(stage)))
    oracle.check_domain(domain)
    program, given = oracle.prepare(fn, args, kwargs, stage, target)
    outcome = program.run(given, domain, trace=True)
    values = [Value(op, place, result.name, result.of(domain)) for op, place, results in outcome.trace for result in results]
    return Trace(fn.__name__, stage, domain, values)
