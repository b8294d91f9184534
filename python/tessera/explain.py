"""`fn.explain()`: the decisions of a schedule as a table.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations


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


def render(fn, spec, decisions) -> str:
    policy = fn.options.policy or "deterministic"
    lines = [f"{fn.kind} {fn.__name__} for {spec.target}, policy {policy}", "", "key of this version:"]
    lines += _key_rows(fn, spec)
    widths = [max([len("kernel")] + [len(d[0]) for d in decisions]), max([len("decision")] + [len(d[1]) for d in decisions])]
    lines += ["", f"{'kernel':{widths[0]}}  {'decision':{widths[1]}}  value  decided by  alternatives"]
    for kernel, what, value, alternatives, by in decisions:
        others = ", ".join(str(a) for a in alternatives if a != value) or "-"
        lines.append(f"{kernel:{widths[0]}}  {what:{widths[1]}}  {value:5}  {by:10}  {others}")
    if not decisions:
        lines.append("(no open decisions)")
    return "\n".join(lines)
