"""Random `@tsr.kernel`s: grids, views, tiles whose axes line up by identity, loops over tiles, products, reductions, masks, atomics.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .elementwise import Elementwise
from .generate import SUMS, Refused, extents
from .program import FLOATS, INTS, Dim, Input, Line, Program, Value

RULES = {
    "load": 10, "unary": 6, "math": 8, "binary": 14, "number": 5, "choose": 5, "logic": 2, "cast": 4, "clamp": 3, "fma": 2, "power": 1, "divide_ints": 2, "shift": 1,
    "predicate": 1, "index": 3, "reduce": 9, "scan": 2, "softmax": 2, "product": 6, "sum_loop": 5, "tile_loop": 3, "count_loop": 2, "while_loop": 1, "branch": 2, "gather": 2,
    "masked_load": 2, "filled": 1, "transpose": 2, "fill": 2, "helper": 1,
}
BLOCKS = {1: 1, 3: 2, 4: 3, 5: 2, 7: 3, 8: 4, 16: 5, 17: 2, 32: 3, 33: 1}


class KernelGenerator(Elementwise):
    def __init__(self, seed: int):
        super().__init__(seed, "kernel")
        pick = self.random
        self.depth = 0
        self.extent = {}
        empty = pick.below(12)
        for index, name in enumerate("MNK"):
            self.extent[name] = 0 if index == empty and pick.chance(50) else extents(pick)
        # N is loaded whole in some kernels: tiles fit a core's registers and caches.
        self.extent["N"] = max(1, min(self.extent["N"], 65))
        self.program.dims = dict(self.extent)
        self.scalars: dict = {}
        self.form = pick.weighted({"tiles": 5, "rows": 5, "batched": 2})
        self.block = {name: pick.weighted(BLOCKS) for name in "MNK"}
        self.axes: list[Dim] = []  # in scope: ranges (key in lower case), whole dims (upper case)
        self.grid_axes: list[Dim] = []
        self.dim_of = {"m": "M", "n": "N", "k": "K", "b": "B"}

    # ---- axes --------------------------------------------------------------------------------

    def range_axis(self, name: str) -> Dim:
        return Dim(name, self.block[self.dim_of[name]], name)

    def whole_axis(self, dim: str) -> Dim:
        return Dim(dim, self.extent[dim], dim)

    @staticmethod
    def lines_up(a: tuple, b: tuple):
        """By identity: the axes of the one with more, then the other's new ones."""
        if len(b) > len(a):
            a, b = b, a
        return tuple(a) + tuple(d for d in b if all(d.key != e.key for e in a))

    def emit(self, text, dtype, dims, low, high, exact, uses, ops):
        self.need(len({d.key for d in dims}) == len(dims) and len(dims) <= 2)
        value = super().emit(text, dtype, dims, low, high, exact, uses, ops)
        return value

    def annotation(self, dtype, dims) -> str:
        return "Tensor[" + ", ".join([f'"{self.dim_name(d)}"' for d in dims] + ([dtype if dtype != "bool" else "tsr.bool"] if self.random.chance(70) else [])) + "]"

    def dim_name(self, d: Dim) -> str:
        return self.dim_of.get(d.key, d.key)

    def memory(self, dtype, dims, low=None, high=None) -> Value:
        """A parameter with these axes; its extents are the dims'."""
        whole = [Dim(self.dim_name(d), self.extent[self.dim_name(d)], d.key) for d in dims]
        self.need(len({d.key for d in whole}) == len(whole))
        return self.parameter(dtype, whole, low, high)

    def scalar(self, kind: str) -> str:
        if kind not in self.scalars:
            name = {"int": "count", "float": "alpha", "bool": "flag"}[kind]
            value = self.random.pick({"int": (0, 1, 2, 3), "float": (2.0, -1.0, 3.0) if self.exact else (0.5, 0.1, -0.7), "bool": (True, False)}[kind])
            annotation = {"int": "i64", "float": "", "bool": "bool"}[kind]
            self.program.inputs.append(Input(name, kind, (), annotation, scalar=value))
            self.scalars[kind] = (name, value)
        return self.scalars[kind][0]

    # ---- the whole ---------------------------------------------------------------------------

    def run(self) -> Program:
        pick = self.random
        if self.form == "tiles":
            self.grid_axes = [self.range_axis("m"), self.range_axis("n")]
            head = f"for m, n in tsr.grid(tsr.tile(M, {self.size_of('M')}), tsr.tile(N, {self.size_of('N')}){', group=4' if pick.chance(10) else ''}):"
        elif self.form == "rows":
            self.grid_axes = [self.range_axis("m")]
            head = f"for m in tsr.grid(tsr.tile(M, {self.size_of('M')})):"
        else:
            self.extent["B"] = pick.pick((1, 2, 3))
            self.program.dims["B"] = self.extent["B"]
            self.grid_axes = [self.range_axis("m")]
            head = f"for b, m in tsr.grid(B, tsr.tile(M, {self.size_of('M')})):"
        self.axes = list(self.grid_axes) + ([self.whole_axis("N")] if self.form != "tiles" else [])
        outer, self.lines = self.lines, []
        for _ in range(1 if pick.chance(50) else 2):
            self.step("load")
        forced = []
        if pick.chance(45):
            forced += ["product", "reduce" if self.form != "tiles" and pick.chance(50) else "sum_loop"]
        if pick.chance(20):
            forced.append(pick.pick(("sum_loop", "tile_loop", "count_loop")))
        for rule in forced:
            self.step(rule, tries=12)
            if pick.chance(50):
                self.step(None)
        for _ in range(pick.between(3, 9)):
            self.step(None)
        results = self.store()
        lines, self.lines = self.lines, outer
        self.lines.append(Line(head, (), (), ("program",), lines))
        self.program.results = results
        self.tidy()
        self.tag()
        return self.program

    def size_of(self, dim: str) -> str:
        if not self.random.chance(20):
            return str(self.block[dim])
        self.program.inputs.append(Input(f"B{dim}", "const", (), "const", scalar=self.block[dim], default=str(self.block[dim])))
        return f"B{dim}"

    def step(self, rule, tries=8) -> None:
        for _ in range(tries):
            name = rule or self.random.weighted(RULES)
            lines, values, prelude = len(self.lines), list(self.values), len(self.program.prelude)
            try:
                getattr(self, "rule_" + name)()
                return
            except Refused:
                del self.lines[lines:]
                del self.program.prelude[prelude:]
                self.values[:] = [v for v in self.values if any(v is old for old in values)]

    def store(self) -> list:
        """Stores what nothing used, and a few more; returns the written parameters' names."""
        grid = {d.key for d in self.grid_axes}
        full = [v for v in self.values if grid <= {d.key for d in v.dims}]
        if not full:
            keys = {d.key for d in self.grid_axes}
            full = [self.emit(f"tsr.zeros({', '.join(sorted(keys))})", "fp32", sorted(self.grid_axes, key=lambda d: d.key), 0, 0, True, [], ["fill"])]
        leaves = [v for v in full if not v.used][-3:] or full[-1:]
        partial = [v for v in self.values if v not in full and not v.used and v.dtype != "bool"]
        results = []
        for v in partial[:1]:
            # Everything that is computed should reach memory: joined with a full tile of its dtype.
            mates = [f for f in full if f.dtype == v.dtype and self.lines_up(f.dims, v.dims) and len(self.lines_up(f.dims, v.dims)) <= 2]
            if mates:
                mate = mates[-1]
                dims = self.lines_up(mate.dims, v.dims)
                try:
                    leaves.append(self.emit(f"tsr.maximum({mate.name}, {v.name})", v.dtype, dims, min(mate.low, v.low), max(mate.high, v.high), mate.exact and v.exact, [mate, v], ["maximum"]))
                except Refused:
                    pass
        for v in leaves:
            name = self.fresh("Y")
            dtype = v.dtype
            if dtype in FLOATS and self.random.chance(20):
                other = self.random.pick(FLOATS)
                if v.size <= self.limit(other):
                    dtype = other
            names = [self.dim_name(d) for d in v.dims]
            index = [d.key if d.key.islower() else ":" for d in v.dims]
            if self.form == "batched":
                names, index = ["B"] + names, ["b"] + index
            shape = tuple(self.extent[n] for n in names)
            inside = ", ".join([f'"{n}"' for n in names] + ["tsr.bool" if dtype == "bool" else dtype])
            at = ", ".join(index)
            kind = self.random.weighted({"out": 10, "inout": 2, "atomic": 1})
            if dtype != v.dtype or dtype == "bool" or (kind != "out" and (v.size + 4 > self.limit(dtype) or not self.exact)):
                kind = "out"
            if kind == "atomic" and (dtype not in ("fp32", "i32", "i64", "fp64") or ":" in at):
                kind = "out"
            v.used += 1
            if kind == "out":
                self.program.inputs.append(Input(name, dtype, shape, f"Out[{inside}]", mode="out", keys=tuple(names)))
                text = f"{name}[{at}] = {v.name}" if self.random.chance(80) else f"tsr.store({name}, ({at},), {v.name})"
                if ":" in at and text.startswith("tsr.store"):
                    text = f"{name}[{at}] = {v.name}"
                self.lines.append(Line(text, (name,), (v.name,), ("store",)))
            elif kind == "inout":
                self.program.inputs.append(Input(name, dtype, shape, f"InOut[{inside}]", -2, 2, seed=self.random.bits(), mode="inout", keys=tuple(names)))
                self.lines.append(Line(f"{name}[{at}] += {v.name}", (name,), (v.name,), ("load", "add", "store")))
            else:
                op = self.random.pick(("add", "max", "min"))
                region = {"add": "reduce_sum", "max": "reduce_max", "min": "reduce_min"}[op]
                self.program.inputs.append(Input(name, dtype, shape, f"Region[{region}, Tensor[{inside}]]", -2, 2, seed=self.random.bits(), mode="inout", keys=tuple(names)))
                self.lines.append(Line(f"tsr.atomic_{op}({name}, ({at},), {v.name})", (name,), (v.name,), (f"atomic_{op}",)))
            results.append(name)
        return results

    def tidy(self) -> None:
        """Parameters nobody reads go; a dim needs a parameter that has it."""
        import re

        words = set(re.findall(r"[A-Za-z_]\w*", " ".join(line.text for line in self.program.walk())))
        kept = [i for i in self.program.inputs if i.name in words]
        have = {key for i in kept if i.mode != "out" for key in i.keys}
        for dim in "MNKB":
            if dim in words and dim not in have:
                kept.insert(0, Input(f"D{dim}", "fp32", (self.extent[dim],), f'Tensor["{dim}"]', 0, 1, keys=(dim,)))
        self.program.inputs = sorted(kept, key=lambda i: (bool(i.default), i.mode != "in" and i.mode != "inout", i.mode == "inout", i.scalar is not None))

    def tag(self) -> None:
        ops = set(self.program.ops)
        tags = sorted({f"dtype:{i.dtype}" for i in self.program.inputs if i.scalar is None} | {f"op:{op}" for op in ops})
        tags += sorted({f"view:{i.view}" for i in self.program.inputs if i.scalar is None and i.mode != "out"})
        if "mma" in ops:
            tags.append("contraction")
        if ops & {"sum", "max", "min", "prod", "mean", "var", "any", "all", "argmax", "argmin", "logsumexp", "softmax"}:
            tags.append("reduction")
        if ops & {"for", "while"}:
            tags.append("loop")
        self.program.tags = tags + [f"style:kernel {self.form}"]

    # ---- memory ------------------------------------------------------------------------------

    def indices(self, dims) -> str:
        return ", ".join((["b"] if self.form == "batched" else []) + [d.key if d.key.islower() else ":" for d in dims])

    def view(self, dims, dtype) -> tuple:
        """(parameter, index text) for a tile with these axes; in batched kernels each view has the batch in front."""
        if self.form == "batched" and self.random.chance(60):
            whole = [Dim("B", self.extent["B"], "b")] + list(dims)
            return self.memory(dtype, whole), ", ".join(["b"] + [d.key if d.key.islower() else ":" for d in dims])
        return self.memory(dtype, dims), ", ".join(d.key if d.key.islower() else ":" for d in dims)

    def load(self, dims, dtype) -> Value:
        swap = len(dims) == 2 and self.random.chance(20)
        view, at = self.view(tuple(reversed(dims)) if swap else dims, dtype)
        text = f"{view.name}[{at}]" + (".T" if swap else "")
        if not swap and ":" not in at and self.random.chance(10):
            text = f"tsr.load({view.name}, ({at},))"
        return self.emit(text, dtype, dims, view.low, view.high, True, [], ["load"] + (["transpose"] if swap else []))

    def rule_load(self):
        count = 1 if self.random.chance(35) else min(2, len(self.axes))
        dims = self.random.sample(self.axes, count)
        near = [v.dtype for v in self.values]
        self.load(tuple(dims), self.random.pick(near) if near and self.random.chance(70) else self.dtype())

    def rule_masked_load(self):
        ranges = [d for d in self.axes if d.key.islower()]
        self.need(len(ranges) == 2 and self.form != "batched")
        dtype = self.dtype()
        view = self.memory(dtype, tuple(ranges))
        a, b = ranges
        pad = self.random.pick((0, 1, 2))
        self.emit(f"tsr.load({view.name}, ({a.key}, {b.key}), mask={a.key}.index >= {b.key}.index, pad={pad})", dtype, tuple(ranges), min(view.low, 0), max(view.high, pad), True, [],
                  ["load", "index", "compare"])

    def rule_gather(self):
        """Rows of a table by an integer tile."""
        self.need(self.form != "batched" and self.extent["K"] > 0)
        row = self.random.pick([d for d in self.axes if d.key.islower()])
        others = [d for d in self.axes if d.key != row.key]
        index = self.memory("i64", (row,), 0, self.extent["K"] - 1) if self.random.chance(80) else self.memory("i64", (row,), -1, self.extent["K"])
        dtype = self.dtype()
        if others and self.random.chance(70):
            other = self.random.pick(others)
            table = self.memory(dtype, (Dim("K", self.extent["K"], "K"), other))
            at = other.key if other.key.islower() else ":"
            self.emit(f"{table.name}[{index.name}[{row.key}], {at}]", dtype, (row, other), min(table.low, 0), max(table.high, 0), True, [], ["load", "gather"])
        else:
            table = self.memory(dtype, (Dim("K", self.extent["K"], "K"),))
            self.emit(f"{table.name}[{index.name}[{row.key}]]", dtype, (row,), min(table.low, 0), max(table.high, 0), True, [], ["load", "gather"])

    def rule_index(self):
        axis = self.random.pick([d for d in self.axes if d.key.islower()])
        extent = self.extent[self.dim_name(axis)]
        self.emit(f"{axis.key}.index", "i64", (axis,), 0, max(extent - 1, 0) + axis.extent, True, [], ["index"])

    def rule_fill(self):
        dims = tuple(self.random.sample(self.axes, self.random.between(1, min(2, len(self.axes)))))
        names = ", ".join(d.key for d in dims)
        dtype = self.random.pick(("fp32", "fp32", "fp16", "i64"))
        extra = "" if dtype == "fp32" else f", dtype={dtype}"
        if self.random.chance(50):
            self.emit(f"tsr.zeros({names}{extra})", dtype, dims, 0, 0, True, [], ["fill"])
        else:
            x = self.random.pick((1, 2, -1))
            self.emit(f"tsr.full({x}{'.0' if dtype in FLOATS else ''}, {names}{extra})", dtype, dims, x, x, True, [], ["fill"])

    def rule_filled(self):
        """Absent elements made real, and counted."""
        v = self.value(lambda v: v.dtype in FLOATS + INTS and any(d not in self.grid_axes and d.key.islower() for d in v.dims))
        axis = self.random.pick([i for i, d in enumerate(v.dims) if d not in self.grid_axes and d.key.islower()])
        x = self.random.pick((0, 1, 2))
        size = v.dims[axis].extent * max(v.size, x)
        self.need(not self.exact or size <= SUMS[v.dtype])
        self.emit(f"tsr.sum({v.name}.filled({x}), {v.dims[axis].key})", v.dtype, v.dims[:axis] + v.dims[axis + 1 :], -size, size, v.exact and (self.exact or v.dtype in INTS), [v],
                  ["filled", "sum"])

    def rule_transpose(self):
        v = self.value(lambda v: len(v.dims) == 2)
        a, b = v.dims
        text = f"{v.name}.T" if not (a.key.islower() and b.key.islower()) or self.random.chance(60) else f"{v.name}.permute({b.key}, {a.key})"
        self.emit(text, v.dtype, (b, a), v.low, v.high, v.exact, [v], ["transpose"])

    def rule_helper(self):
        """An un-annotated function, inlined into the kernel."""
        v = self.value(lambda v: v.dtype in FLOATS and v.size < 100)
        name = f"g{len(self.program.prelude)}"
        scale = "2.0" if self.exact else "0.5"
        self.program.prelude.append(f"@tsr.function\ndef {name}(a):\n    b = a * {scale}\n    return tsr.maximum(a, b) - b\n")
        self.emit(f"{name}({v.name})", v.dtype, v.dims, -4 * v.size, 4 * v.size, v.exact and self.exact, [v], ["mul", "maximum", "sub"])

    # ---- reductions and products -------------------------------------------------------------

    def reduced(self, v: Value, axis: int, op: str) -> str:
        d = v.dims[axis]
        if d.key.islower() and self.random.chance(60):
            return f"tsr.{op}({v.name}, {d.key})"
        return f"tsr.{op}({v.name}, dim={axis if self.random.chance(50) else axis - len(v.dims)})"

    def rule_reduce(self):
        # Sums over a grid's axis leave something that is not stored; loops' and whole axes are the common case.
        v = self.value(lambda v: v.dims and any(d not in self.grid_axes for d in v.dims))
        axis = self.random.pick([i for i, d in enumerate(v.dims) if d not in self.grid_axes])
        self.reduce(v, axis)

    def reduce(self, v: Value, axis: int) -> Value:
        d = v.dims[axis]
        count = d.extent
        names = ["sum", "any", "all"] if v.dtype == "bool" else ["sum", "sum", "sum", "max", "max", "min", "prod", "any", "all", "argmax", "argmin", "mean", "var", "logsumexp"]
        op = self.random.pick(names)
        self.need(not (op in ("mean", "var", "logsumexp") and (self.exact or v.dtype not in FLOATS)))
        present = self.extent[self.dim_name(d)]
        self.need(present or op in ("sum", "prod", "any", "all"))
        dtype, low, high, exact = v.dtype, v.low, v.high, v.exact
        if op == "sum":
            dtype = "i64" if v.dtype == "bool" else v.dtype
            low, high = min(0, count * v.low), max(0, count * v.high)
            self.need(not self.exact or count * v.size <= SUMS[v.dtype])
            exact = exact and (self.exact or v.dtype not in FLOATS)
        elif op == "prod":
            self.need(v.size <= 1)
            low, high = -1, 1
            exact = exact and (self.exact or v.dtype not in FLOATS)
        elif op in ("any", "all"):
            self.need(v.exact)
            dtype, low, high = "bool", 0, 1
        elif op in ("argmax", "argmin"):
            self.need(v.exact)
            dtype, low, high = "i64", 0, max(present - 1, 0) + count
        elif op == "mean":
            exact = False
        elif op == "var":
            self.need(present % count != 1 and count > 1 and present > 1)
            low, high, exact = 0, 4 * v.size**2, False
        elif op == "logsumexp":
            self.need(v.size < 80)
            low, high, exact = v.low, v.high + 12, False
        self.reduces(count)
        return self.emit(self.reduced(v, axis, op), dtype, v.dims[:axis] + v.dims[axis + 1 :], low, high, exact, [v], [op])

    def rule_scan(self):
        v = self.value(lambda v: v.dims and v.dtype != "bool")
        axis = self.random.below(len(v.dims))
        count = v.dims[axis].extent
        op = self.random.pick(("cumsum", "cummax"))
        low, high, exact = v.low, v.high, v.exact
        if op == "cumsum":
            low, high = min(v.low, count * v.low), max(v.high, count * v.high)
            self.need(not self.exact or count * v.size <= SUMS[v.dtype])
            exact = exact and (self.exact or v.dtype not in FLOATS)
        self.emit(f"tsr.{op}({v.name}, dim={axis})", v.dtype, v.dims, low, high, exact, [v], [op])

    def rule_softmax(self):
        self.need(not self.exact)
        v = self.float_value(lambda v: len(v.dims) == 2 and v.dims[1].key.isupper() and v.dims[1].extent and v.size < 100)
        self.emit(f"tsr.softmax({v.name}, dim=-1)", v.dtype, v.dims, 0, 1, False, [v], ["softmax"])

    def rule_product(self):
        """acc[m, n] over tiles of k, or of whole axes at once."""
        self.need(not self.depth)
        m, n = self.axes[0], self.axes[1]
        dtype = self.random.weighted({"fp32": 5, "fp16": 3, "bf16": 3, "fp64": 1})
        result = "fp64" if dtype == "fp64" else "fp32"
        k = self.range_axis("k")
        total = self.extent["K"]
        self.reduces(total)
        self.need(self.extent["M"] * self.extent["N"] * total * self.extent.get("B", 1) <= 400_000)
        if self.random.chance(25):
            k = self.whole_axis("K")
            a, b = self.load((m, k), dtype), self.load((k, n), dtype)
            bound = total * a.size * b.size
            self.need(not self.exact or bound <= SUMS[dtype])
            self.emit(f"{a.name} @ {b.name}", result, (m, n), -bound, bound, self.exact, [a, b], ["mma"])
            return
        acc = self.fresh()
        visible = len(self.values)
        zeros = f"tsr.zeros({m.key}, {n.key}{', dtype=fp64' if result == 'fp64' else ''})"
        outer, self.lines = self.lines, []
        self.axes.append(k)
        try:
            a, b = self.load((m, k), dtype), self.load((k, n), dtype)
            form = self.random.pick((f"{acc} += {a.name} @ {b.name}", f"{acc} = {acc} + {a.name} @ {b.name}", f"{acc} = tsr.mma({a.name}, {b.name}, {acc})"))
            self.lines.append(Line(form, (acc,), (a.name, b.name, acc), ("mma",)))
        finally:
            lines, self.lines = self.lines, outer
            self.axes.remove(k)
        del self.values[visible:]
        bound = total * a.size * b.size
        self.need(not self.exact or bound <= SUMS[dtype])
        self.lines.append(Line(f"{acc} = {zeros}", (acc,), (), ("fill",)))
        self.lines.append(Line(f"for k in tsr.tile(K, {self.size_of('K') if 'BK' not in [i.name for i in self.program.inputs] else 'BK'}{', stages=2' if self.random.chance(20) else ''}):",
                               (acc,), (acc,), ("for",), lines))
        self.values.append(Value(acc, result, (m, n), -bound, bound, self.exact))

    def rule_sum_loop(self):
        """A running sum or maximum over tiles of k (or n), from lines of its own."""
        self.need(not self.depth)
        m = self.axes[0]
        name = self.random.pick([r for r in ("k", "n") if all(d.key != r for d in self.axes)] or ["k"])
        self.need(all(d.key != name for d in self.axes))
        k = self.range_axis(name)
        dim = self.dim_of[name]
        dtype = self.dtype()
        self.reduces(self.extent[dim])
        outer, self.lines = self.lines, []
        visible = len(self.values)
        self.axes.append(k)
        self.depth += 1
        try:
            x = self.load((m, k), dtype)
            for _ in range(self.random.between(0, 3)):
                self.step(None, tries=4)
            fits = [v for v in self.values[visible:] if {d.key for d in v.dims} == {m.key, name} and v.dtype in ("fp32", "fp64", "i32", "i64")]
            if not fits:
                self.need(dtype in FLOATS)
                fits = [self.emit(f"{x.name}.to(fp32)", "fp32", x.dims, x.low, x.high, True, [x], ["cast"])] if dtype != "fp32" else [x]
            v = fits[-1]
            axis = [d.key for d in v.dims].index(name)
            op = self.random.pick(("sum", "sum", "max", "min"))
            acc = self.fresh()
            turns = -(-self.extent[dim] // k.extent)
            number = ".0" if v.dtype in FLOATS else ""
            if op == "sum":
                bound = max(self.extent[dim], turns * k.extent) * v.size
                self.need(not self.exact or bound <= SUMS[v.dtype])
                self.need(bound <= self.limit(v.dtype))
                low, high, first = -bound, bound, f"0{number}"
                self.lines.append(Line(f"{acc} += {self.reduced(v, axis, 'sum')}", (acc,), (v.name, acc), ("sum", "add")))
            else:
                edge = int(v.low if op == "max" else v.high)
                low, high, first = min(v.low, edge), max(v.high, edge), f"{edge}{number}"
                self.lines.append(Line(f"{acc} = tsr.{op}imum({acc}, {self.reduced(v, axis, op)})", (acc,), (v.name, acc), (op, f"{op}imum")))
            exact = v.exact and (op != "sum" or self.exact or v.dtype not in FLOATS)
        finally:
            lines, self.lines = self.lines, outer
            self.axes.remove(k)
            self.depth -= 1
        del self.values[visible:]
        start = f"tsr.full({first}, {m.key}{'' if v.dtype == 'fp32' else ', dtype=' + v.dtype})"
        self.lines.append(Line(f"{acc} = {start}", (acc,), (), ("fill",)))
        self.lines.append(Line(f"for {name} in tsr.tile({dim}, {k.extent}):", (acc,), (acc,), ("for",), lines))
        self.values.append(Value(acc, v.dtype, (m,), low, high, exact))

    def carried_loop(self, before, head, after, op):
        """A loop that carries a tile; it stays inside an interval."""
        self.need(self.depth < 1)
        start = self.value(lambda v: v.dims and v.dtype != "bool" and v.size <= 1e4)
        bound = float(int(max(start.size, 4)) + 1)
        self.need(bound <= self.limit(start.dtype))
        start.used += 1
        c = self.fresh()
        visible = len(self.values)
        value = Value(c, start.dtype, start.dims, -bound, bound, start.exact and (self.exact or start.dtype not in FLOATS))
        outer, self.lines = self.lines, []
        self.depth += 1
        try:
            self.values.append(value)
            for _ in range(self.random.between(1, 2)):
                self.step(None, tries=4)
            others = [v for v in self.values if v.dtype == start.dtype and v.dims == start.dims and v is not value]
            other = others[-1] if others else value
            number = str(int(bound)) if start.dtype in INTS else str(bound)
            if other.size + bound <= self.limit(start.dtype) and self.random.chance(60):
                self.lines.append(Line(f"{c} = tsr.clamp({c} + {other.name}, -{number}, {number})", (c,), (c, other.name), ("add", "clamp")))
            else:
                self.lines.append(Line(f"{c} = tsr.clamp({other.name}, -{number}, {number})", (c,), (other.name,), ("clamp",)))
            value.exact = value.exact and other.exact
        finally:
            lines, self.lines = self.lines, outer
            self.depth -= 1
        del self.values[visible:]
        self.lines += before + [Line(f"{c} = {start.name}", (c,), (start.name,), ())]
        self.lines.append(Line(head, (c,), (c,), (op,), lines + after))
        value.used = 0
        self.values.append(value)

    def rule_count_loop(self):
        i = self.fresh("i")
        self.carried_loop([], f"for {i} in range({self.scalar('int') if self.random.chance(60) else 2}):", [], "for")

    def rule_while_loop(self):
        k = self.fresh("c")
        self.carried_loop([Line(f"{k} = 0", (k,), (), ())], f"while {k} < {self.scalar('int')}:", [Line(f"{k} += 1", (k,), (k,), ())], "while")

    def rule_tile_loop(self):
        """Carries a tile over tiles of another dim."""
        names = [r for r in ("k",) if all(d.key != r for d in self.axes)]
        self.need(names and self.extent["K"] <= 65)
        self.carried_loop([], f"for k in tsr.tile(K, {self.block['K']}):", [], "for")

    def rule_branch(self):
        self.need(self.depth < 1)
        m = self.axes[0].key
        condition = self.random.pick((f"{m}.start >= {self.block[self.dim_of[m]]}", f"{self.scalar('int')} > 1", self.scalar("bool"), f"{m}.id % 2 == 0"))
        a = self.value(lambda v: v.dims and v.dtype != "bool" and not any(d.key == "k" for d in v.dims))
        target = self.fresh()
        b = self.random.pick([v for v in self.values if v.dtype == a.dtype and v.dims == a.dims])
        a.used += 1
        b.used += 1
        form = self.random.pick(("if", "expression"))
        value = Value(target, a.dtype, a.dims, min(a.low, -b.high), max(a.high, -b.low), a.exact and b.exact)
        self.need(value.size <= self.limit(a.dtype))
        if form == "if":
            self.lines.append(Line(f"if {condition}:", (target,), (a.name, b.name), ("if", "neg"), [Line(f"{target} = {a.name}", (target,), (a.name,), ())],
                                   [Line(f"{target} = -{b.name}", (target,), (b.name,), ())]))
        else:
            self.lines.append(Line(f"{target} = {a.name} if {condition} else -{b.name}", (target,), (a.name, b.name), ("if", "neg")))
        self.values.append(value)
