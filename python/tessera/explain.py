"""`fn.explain()`: the decisions of a schedule as a table, with what the model predicts of each alternative (tessera/cost.py).

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import re
import textwrap

from . import _runtime, cost, machines
from .errors import TesseraError

# Decisions a GPU does not take.
_OF_CPUS = ("threads", "vector", "unroll", "pack", "split_k", "stream")


def _shown(what: str, value) -> str:
    """0 leaves the choice to the machine."""
    return {"threads": "all", "vector": "auto", "unroll": "auto", "split_k": "auto"}.get(what, "0") if value == 0 else str(value)


def _key_rows(fn, spec) -> list[str]:
    rows = []
    for parameter, argument in zip(fn.parameters, spec.arguments):
        if argument[0] == "tensor":
            _, dtype, sizes, unit = argument
            axes = ", ".join(str(s) if s >= 0 else "any" for s in sizes)
            stride = f"axis {unit} has stride 1" if unit >= 0 else "any strides"
            rows.append(f"  {parameter.name}: {dtype} [{axes}], {stride}")
        elif argument[0] == "scalar":
            rows.append(f"  {parameter.name}: {argument[1]} at run time")
        elif argument[0] == "const":
            rows.append(f"  {parameter.name} = {argument[1]!r}")
        else:
            rows.append(f"  {parameter.name}: allocated for the caller")
    for name, entry in spec.captured.items():
        if entry[0] == "const":
            rows.append(f"  {name} = {entry[1]!r} (captured)")
    return rows


def _tile_constants(fn) -> set:
    """The const parameters that are a size of `tsr.tile`: not part of what is computed."""
    found = set()
    for node in ast.walk(ast.parse(textwrap.dedent(fn.source.text))):
        if isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(node.args[1], ast.Name):
            if getattr(node.func, "attr", getattr(node.func, "id", "")) == "tile":
                found.add(node.args[1].id)
    return found


def _constants(fn, spec) -> list[tuple]:
    """Block sizes, which the author of a kernel leaves open: value, alternatives, who decided."""
    tuning = fn.options.tuning
    space = tuning.space if tuning else {}
    given = {name for schedule in fn.options.schedules for name in schedule.values}
    tiles = _tile_constants(fn) if fn.kind == "kernel" else set()
    rows = []
    for parameter, argument in zip(fn.parameters, spec.arguments):
        if argument[0] != "const" or not (parameter.name in tiles or parameter.name in space):
            continue
        value = argument[1]
        if parameter.name in spec.tuned:
            by = spec.tuned_by
        elif parameter.name in given or value != parameter.default:
            by = "user"
        else:
            by = "default"
        others = list(space.get(parameter.name) or (16, 32, 64, 128, 256))
        rows.append((fn.__name__, parameter.name, value, sorted(others) if all(isinstance(o, int) for o in others) else others, by))
    return rows


def schedule_key(decision: str) -> str:
    """The schedule key that decides on it: "tile M (grid)" is tile.M."""
    found = re.match(r"tile (\S+)", decision)
    return f"tile.{found[1]}" if found else decision


class Costs:
    """What the model predicts of a version and of every alternative to its decisions."""

    def __init__(self, fn, spec, shapes: dict, dims: dict):
        self.fn, self.spec, self.shapes, self.dims = fn, spec, shapes, dims
        self.machine, self.assumed = cost.machine(), {}
        self.unknown = ""
        self._known: dict = {}
        try:
            self.now = cost.predict(fn, spec, shapes, self.machine, dims, self.assumed)
        except (cost.Unknown, TesseraError) as error:
            self.now, self.unknown = None, str(error).partition("\n")[0]

    def of_kernel(self, name: str) -> float | None:
        """Seconds of the launches that a kernel became: as it is, packing its operands, storing past the caches."""
        mine = [kernel.seconds for kernel in self.now.kernels if kernel.name == name or kernel.name.startswith(name + "_")]
        return sum(mine) if mine else None

    def of_alternative(self, key: str, value) -> float | None:
        """Seconds of the call with this decision instead."""
        if (key, value) not in self._known:
            try:
                other = cost.forced(self.fn, self.spec, key, value)
                self._known[key, value] = cost.predict(self.fn, other, self.shapes, self.machine, self.dims, {}).seconds
            except (cost.Unknown, TesseraError):
                self._known[key, value] = None
        return self._known[key, value]

    def ratio(self, key: str, value) -> float | None:
        seconds = self.of_alternative(key, value)
        return None if seconds is None else seconds / self.now.seconds

    def lines(self) -> list[str]:
        sizes = [f"{name} [{', '.join(map(str, shape))}]" for name, shape in self.shapes.items()] + [f"{name}={size}" for name, size in self.dims.items()]
        if self.assumed:
            sizes.append(", ".join(f"{name}={size}" for name, size in self.assumed.items()) + " (assumed)")
        if self.now is None:
            return [f"no cost is predicted: {self.unknown}"]
        threads = max((kernel.threads for kernel in self.now.kernels), default=1)
        rows = [f"predicted {time_of(self.now.seconds)} a call for {', '.join(sizes) or 'its sizes'}, {threads} thread{'s' * (threads > 1)}; {self.machine.source}:"]
        width = max((len(kernel.name) for kernel in self.now.kernels), default=0)
        for kernel in self.now.kernels:
            parts = " ".join(f"{'-' if seconds < 0 else '+'} {name} {time_of(abs(seconds))}" for name, seconds in kernel.terms.items()
                             if abs(seconds) >= 0.005 * kernel.seconds)
            rows.append(f"  {kernel.name:{width}}  {time_of(kernel.seconds):>8} = {parts.removeprefix('+ ')}")
        return rows


def time_of(seconds: float) -> str:
    """Three digits: "7.68 ms"."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1 or unit == "us":
            return f"{seconds * scale:.{max(2 - len(str(int(seconds * scale))) + 1, 0)}f} {unit}"
    raise AssertionError


def open_decisions(fn, spec, decisions) -> list[tuple]:
    """(kernel, decision, value, all values, who decided) of constants and of the schedule, as far as there is a choice: on this machine,
    and by name (the head size of attention has none: the plan takes the smallest that holds it)."""
    rows = _constants(fn, spec)
    for kernel, what, value, others, by in decisions:
        key = schedule_key(what)
        nameless = key.startswith("tile.") and not key[5:].isidentifier()
        rows.append((kernel, what, value, [] if nameless else others, spec.tuned_by if key in spec.tuned else by))
    if not machines.of(spec.target).in_process:
        return [row for row in rows if row[1] not in _OF_CPUS]
    most = _runtime.num_threads()  # which is "all"
    return [(*row[:3], [n for n in row[3] if n < most], row[4]) if row[1] == "threads" else row for row in rows]


def render(fn, spec, decisions, costs: Costs | None = None) -> str:
    decisions = open_decisions(fn, spec, decisions)
    policy = fn.options.policy or "deterministic"
    lines = [f"{fn.kind} {fn.__name__} for {spec.target}, policy {policy}", "", "key of this version:"]
    lines += _key_rows(fn, spec)
    if costs is not None:
        lines += ["", *costs.lines()]
        costs = costs if costs.now is not None else None
    widths = [max([len("kernel")] + [len(d[0]) for d in decisions]), max([len("decision")] + [len(d[1]) for d in decisions])]
    head = f"{'kernel':{widths[0]}}  {'decision':{widths[1]}}  value  decided by  "
    lines += ["", head + ("predicted  alternatives (the call's time over this one's)" if costs else "alternatives")]
    for kernel, what, value, alternatives, by in decisions:
        others = []
        for other in alternatives:
            if other != value:
                ratio = costs.ratio(schedule_key(what), other) if costs else None
                others.append(_shown(what, other) + (f" ({ratio:.2f}x)" if ratio is not None else ""))
        seconds = costs.of_kernel(kernel) if costs else None
        predicted = f"{'-' if seconds is None else time_of(seconds):>9}  " if costs else ""
        lines.append(f"{kernel:{widths[0]}}  {what:{widths[1]}}  {_shown(what, value):>5}  {by:10}  {predicted}{', '.join(others) or '-'}")
    if not decisions:
        lines.append("(no open decisions)")
    return "\n".join(lines)
