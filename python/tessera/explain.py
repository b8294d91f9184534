"""`fn.explain()`: the decisions of a schedule as a table.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import re
import textwrap


# Decisions a GPU does not take.
_OF_CPUS = ("threads", "vector", "unroll")


def _shown(what: str, value) -> str:
    """0 leaves the choice to the machine."""
    return {"threads": "all", "vector": "auto", "unroll": "auto"}.get(what, "0") if value == 0 else str(value)


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


def render(fn, spec, decisions) -> str:
    decisions = _constants(fn, spec) + [(*d[:4], spec.tuned_by if schedule_key(d[1]) in spec.tuned else d[4]) for d in decisions]
    if not spec.target.startswith("cpu"):
        decisions = [d for d in decisions if d[1] not in _OF_CPUS]
    policy = fn.options.policy or "deterministic"
    lines = [f"{fn.kind} {fn.__name__} for {spec.target}, policy {policy}", "", "key of this version:"]
    lines += _key_rows(fn, spec)
    widths = [max([len("kernel")] + [len(d[0]) for d in decisions]), max([len("decision")] + [len(d[1]) for d in decisions])]
    lines += ["", f"{'kernel':{widths[0]}}  {'decision':{widths[1]}}  value  decided by  alternatives"]
    for kernel, what, value, alternatives, by in decisions:
        others = ", ".join(_shown(what, a) for a in alternatives if a != value) or "-"
        lines.append(f"{kernel:{widths[0]}}  {what:{widths[1]}}  {_shown(what, value):>5}  {by:10}  {others}")
    if not decisions:
        lines.append("(no open decisions)")
    return "\n".join(lines)
