"""Random `@tsr.function`s: the graph ops, their composites, run-time control flow, calls.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import re

from .elementwise import Elementwise
from .generate import DTYPES, MAX_PRODUCTS, SUMS, WHOLE, Refused, extents
from .movement import Movement
from .program import FLOATS, INTS, Dim, Input, Line, Program, Value

RULES = {
    "unary": 8, "math": 9, "binary": 14, "number": 5, "choose": 5, "logic": 3, "cast": 5, "clamp": 3, "fma": 3, "power": 2, "divide_ints": 3, "shift": 1,
    "predicate": 1, "reduce": 10, "scan": 3, "softmax": 3, "norm": 3, "cross_entropy": 1, "matmul": 7, "linear": 1, "attention": 2, "composed_attention": 1,
    "transpose": 3, "permute": 1, "reshape": 3, "unsqueeze": 1, "expand": 2, "slice": 3, "index": 1, "cat": 3, "stack": 1, "take": 2, "gather": 2, "fill": 2,
    "arange": 1, "branch": 3, "for_loop": 4, "while_loop": 2, "rows_loop": 2, "call": 1,
}
LOOPS = ("for_loop", "while_loop", "rows_loop")
ROUNDING_REDUCTIONS = ("mean", "var", "logsumexp")


class FunctionGenerator(Elementwise, Movement):
    def __init__(self, seed: int):
        super().__init__(seed, "function")
        pick = self.random
        self.style = pick.weighted({"named": 6, "bare": 3, "sized": 2})
        self.depth = 0
        self.dims_pool = []
        empty = pick.below(3) if pick.chance(6) else -1
        for index, name in enumerate("MNK"):
            extent = 0 if index == empty else extents(pick)
            text = str(extent) if self.style == "sized" and pick.chance(60) else name
            self.dims_pool.append(Dim(text, extent, text))
        self.program.dims = {d.key: d.extent for d in self.dims_pool if d.key.isidentifier()}
        self.scalars: dict = {}
        self.bare: dict = {}

    # ---- parameters -------------------------------------------------------------------------

    def annotation(self, dtype: str, dims) -> str:
        if self.style == "bare":
            return ""
        inside = [f'"{d.key}"' if d.key.isidentifier() else d.key for d in dims]
        if dtype == "bool":
            return f"Tensor[{', '.join(inside)}, tsr.bool]" if inside else ""
        return f"Tensor[{', '.join(inside + [dtype])}]"

    def parameter(self, dtype, dims, low=None, high=None, name=None):
        self.need(all(d.key.isidentifier() or d.key.isdigit() for d in dims))
        value = super().parameter(dtype, dims, low, high, name)
        if self.style == "bare":
            # How a body writes a dim without a name: by the first parameter that has it.
            for axis, d in enumerate(dims):
                self.bare.setdefault(d.key, f"{value.name}.shape[{axis}]")
        return value

    def size(self, dim: Dim) -> str:
        """The text of an extent; refused if the body has no way to write it."""
        self.need(not any(c in dim.text for c in "[:"))

        def written(found):
            name = found.group()
            if self.style == "bare":
                self.need(name in self.bare)
                return self.bare[name]
            self.need(any(f'"{name}"' in i.annotation for i in self.program.inputs))
            return name

        return re.sub(r"[A-Z]", written, dim.text)

    def scalar(self, kind: str) -> str:
        """A run-time scalar parameter."""
        if kind not in self.scalars:
            name = {"int": "n", "float": "alpha", "bool": "flag"}[kind]
            values = {"int": (0, 1, 2, 3, 5), "float": (0.5, -1.0, 2.0, 1.5) if self.exact else (0.5, 0.1, -0.7, 1.3), "bool": (True, False)}[kind]
            if kind == "float" and self.exact:
                values = (2.0, -1.0, 3.0)
            value = self.random.pick(values)
            # An annotated float is no weak number any more: it would widen what it meets.
            annotation = {"int": "i64", "float": "", "bool": "bool"}[kind] if self.style != "bare" and self.random.chance(40) else ""
            self.program.inputs.append(Input(name, kind, (), annotation, scalar=value))
            self.scalars[kind] = (name, value)
        return self.scalars[kind][0]

    def shape(self) -> tuple:
        """Dims for a new parameter."""
        rank = self.random.weighted({1: 3, 2: 8, 3: 2})
        dims = self.random.sample(self.dims_pool, rank)
        if rank >= 2 and self.random.chance(10):
            dims[0] = Dim("2", 2, "2")
        return tuple(dims)

    def want(self, dtype: str, dims, test=lambda v: True) -> Value:
        """A value of this type: one there is, or a new parameter."""
        fits = [v for v in self.values if v.dtype == dtype and v.dims == tuple(dims) and test(v)]
        if fits and self.random.chance(60):
            return self.random.pick(fits)
        try:
            value = self.parameter(dtype, dims)
        except Refused:
            self.need(fits)
            return self.random.pick(fits)
        self.values.insert(0, value)
        return value

    # ---- the whole ---------------------------------------------------------------------------

    def run(self) -> Program:
        pick = self.random
        dtype = self.dtype()
        first = tuple(pick.sample(self.dims_pool, 2))
        self.values.append(self.parameter(dtype, first))
        if pick.chance(70):
            try:
                self.values.append(self.parameter(dtype if pick.chance(70) else self.dtype(), self.shape()))
            except Refused:
                pass
        forced = []
        if pick.chance(50):
            forced += ["matmul" if pick.chance(75) else "attention", "reduce"]
        if pick.chance(25):
            forced.append(pick.pick(LOOPS))
        steps = pick.between(4, 11)
        places = sorted(pick.between(0, steps - 1) for _ in forced)
        for step in range(steps):
            while places and places[0] <= step:
                places.pop(0)
                self.step(forced.pop(0), tries=12)
            self.step(None)
        if pick.chance(12):
            self.program.decorators.append(f'@tsr.policy("{pick.pick(("strict", "fast"))}")')
        if pick.chance(5) and not any("tsr.attention(" in str(line) for line in self.lines):  # which has its own
            self.program.decorators.append("@tsr.accum(fp64)")
        self.finish()
        return self.program

    def step(self, rule, tries=8) -> None:
        """One more line (or block); a rule that finds nothing to do leaves nothing behind."""
        for _ in range(tries):
            name = rule or self.random.weighted(RULES)
            lines, values, prelude = len(self.lines), list(self.values), len(self.program.prelude)
            try:
                getattr(self, "rule_" + name)()
                return
            except Refused:
                del self.lines[lines:]
                del self.program.prelude[prelude:]
                # Parameters asked for stay: others may use them.
                self.values[:] = [v for v in self.values if v.name.startswith("x") or any(v is old for old in values)]

    def finish(self) -> None:
        made = [v for v in self.values if v.name.startswith("v") and v.dtype != "none"]
        leaves = [v for v in made if not v.used] or made or self.values[:1]
        results = leaves[-4:]
        rest = [v for v in made if v not in results]
        results += self.random.sample(rest, self.random.weighted({0: 5, 1: 3, 2: 1}))
        self.program.results = [v.name for v in dict.fromkeys(map(_Identity, results))]
        self.program.prune()
        self.tag(results)

    def tag(self, results) -> None:
        ops = set(self.program.ops)
        tags = sorted({f"dtype:{i.dtype}" for i in self.program.inputs if i.scalar is None} | {f"op:{op}" for op in ops})
        tags += sorted({f"view:{i.view}" for i in self.program.inputs if i.scalar is None})
        if ops & {"matmul", "attention", "linear"}:
            tags.append("contraction")
        if any(op in ("sum", "max", "min", "prod", "mean", "var", "any", "all", "argmax", "argmin", "logsumexp", "softmax", "log_softmax", "layer_norm", "rms_norm",
                      "cross_entropy", "attention") for op in ops):
            tags.append("reduction")
        if ops & {"for", "while"}:
            tags.append("loop")
        self.program.tags = tags + [f"style:{self.style}"] + [d for d in self.program.decorators]

    # ---- reductions, scans, composites -------------------------------------------------------

    def rule_reduce(self):
        v = self.value(lambda v: v.dims)
        rank = len(v.dims)
        axes = sorted(self.random.sample(range(rank), 1 if self.random.chance(80) else min(2, rank)))
        whole = self.random.chance(10)
        if whole:
            axes = list(range(rank))
        count = 1
        for axis in axes:
            count *= v.dims[axis].extent
        names = ["sum", "sum", "any", "all"] if v.dtype == "bool" else ["sum", "sum", "sum", "prod", "max", "max", "min", "any", "all", "argmax", "argmin", "mean", "var", "logsumexp"]
        op = self.random.pick(names)
        self.need(not (self.exact and op in ROUNDING_REDUCTIONS) and not (op in ROUNDING_REDUCTIONS and v.dtype not in FLOATS))
        self.need(count or op in ("sum", "prod", "any", "all"))
        dtype, low, high, exact, extra = v.dtype, v.low, v.high, v.exact, ""
        if op == "sum":
            dtype = "i64" if v.dtype == "bool" else v.dtype
            low, high = min(0, count * v.low), max(0, count * v.high)
            self.need(not self.exact or count * v.size <= SUMS[v.dtype])
            exact = exact and (self.exact or v.dtype not in FLOATS)
        elif op == "prod":
            self.need(v.size <= 1 or count * (v.size - 1) <= 3 and v.size**count <= 1000)
            low, high = -max(1, v.size**count), max(1, v.size**count)
            exact = exact and (self.exact or v.dtype not in FLOATS)
        elif op in ("any", "all"):
            self.need(v.exact)
            dtype, low, high = "bool", 0, 1
        elif op in ("argmax", "argmin"):
            self.need(v.exact and (len(axes) == 1))
            dtype, low, high = "i64", 0, max(count - 1, 0)
        elif op == "mean":
            exact = False
        elif op == "var":
            correction = self.random.pick((0, 1))
            self.need(count > correction)
            extra, exact = f", correction={correction}", False
            low, high = 0, 2 * count * v.size**2 / max(count - correction, 1)
        elif op == "logsumexp":
            self.need(v.size < 80)
            low, high, exact = v.low, v.high + 12, False
        keep = self.random.chance(25)
        self.reduces(count)
        if whole and op not in ("argmax", "argmin") and self.random.chance(50):
            text, dims = f"tsr.{op}({v.name})", ()
            self.need(op != "var")
        else:
            dim = str(axes[0]) if len(axes) == 1 else str(tuple(axes))
            if len(axes) == 1 and self.random.chance(30):
                dim = str(axes[0] - rank)
            text = f"tsr.{op}({v.name}, dim={dim}{', keepdim=True' if keep else ''}{extra})"
            dims = tuple(Dim("1", 1, "1") if i in axes else d for i, d in enumerate(v.dims) if keep or i not in axes)
        self.emit(text, dtype, dims, low, high, exact, [v], [op])

    def rule_scan(self):
        v = self.value(lambda v: v.dims and v.dtype != "bool")
        axis = self.random.below(len(v.dims))
        count = v.dims[axis].extent
        op = self.random.pick(("cumsum", "cumsum", "cumprod", "cummax"))
        low, high, exact = v.low, v.high, v.exact
        if op == "cumsum":
            low, high = min(v.low, count * v.low), max(v.high, count * v.high)
            self.need(not self.exact or count * v.size <= SUMS[v.dtype])
            exact = exact and (self.exact or v.dtype not in FLOATS)
        elif op == "cumprod":
            self.need(v.size <= 1 or count * (v.size - 1) <= 3 and v.size**count <= 1000)
            low, high = -max(1, v.size**count), max(1, v.size**count)
            exact = exact and (self.exact or v.dtype not in FLOATS)
        self.reduces(count)
        self.emit(f"tsr.{op}({v.name}, dim={axis})", v.dtype, v.dims, low, high, exact, [v], [op])

    def rule_softmax(self):
        self.need(not self.exact)
        v = self.float_value(lambda v: v.dims and v.size < 500)
        axis = self.random.below(len(v.dims))
        self.reduces(v.dims[axis].extent)
        if self.random.chance(70):
            self.emit(f"tsr.softmax({v.name}, dim={axis})", v.dtype, v.dims, 0, 1, False, [v], ["softmax"])
        else:
            self.need(v.dims[axis].extent)
            self.emit(f"tsr.log_softmax({v.name}, dim={axis})", v.dtype, v.dims, -2 * v.size - 12, 0, False, [v], ["log_softmax"])

    def rule_norm(self):
        self.need(not self.exact)
        v = self.float_value(lambda v: v.dims and v.dims[-1].extent > 1 and v.size < 100)
        n, rms = self.size(v.dims[-1]) if self.random.chance(50) else f"{v.name}.shape[-1]", self.random.chance(40)
        uses, parameters = [v], ""
        high = v.dims[-1].extent ** 0.5
        self.reduces(v.dims[-1].extent)
        if self.random.chance(60):
            w = self.want(v.dtype, v.dims[-1:], lambda u: u.size < 20)
            uses.append(w)
            parameters, high = f", {w.name}", high * max(w.size, 1)
            if not rms and self.random.chance(60):
                b = self.want(v.dtype, v.dims[-1:], lambda u: u.size < 20)
                uses.append(b)
                parameters, high = parameters + f", {b.name}", high + b.size
        eps = self.random.pick(("", ", eps=0.1", ", eps=1e-3"))
        name = "rms_norm" if rms else "layer_norm"
        self.emit(f"tsr.{name}({v.name}, ({n},){parameters}{eps})", v.dtype, v.dims, -high, high, False, uses, [name])

    def rule_cross_entropy(self):
        self.need(not self.exact)
        v = self.float_value(lambda v: len(v.dims) == 2 and v.dims[1].extent and v.size < 60)
        t = self.want_index("i64", v.dims[:1], v.dims[1].extent)
        if self.random.chance(60) or not v.dims[0].extent:
            self.emit(f'tsr.cross_entropy({v.name}, {t.name}, reduction="none")', v.dtype, v.dims[:1], -1, 2 * v.size + 12, False, [v, t], ["cross_entropy"])
        else:
            self.emit(f"tsr.cross_entropy({v.name}, {t.name})", v.dtype, (), -1, 2 * v.size + 12, False, [v, t], ["cross_entropy", "mean"])

    # ---- products ----------------------------------------------------------------------------

    def fits_product(self, a: Value, b: Value, k: int):
        self.reduces(k)
        bound = k * a.size * b.size
        self.need(not self.exact or bound <= SUMS[a.dtype])
        return bound

    def rule_matmul(self):
        a = self.value(lambda v: len(v.dims) >= 2 and v.dtype in FLOATS + ("i32",))
        k = a.dims[-1]
        choices = [d for d in self.dims_pool if d.key != k.key] + [Dim("3", 3, "3")]
        n = self.random.pick(choices)
        form = self.random.weighted({"@": 6, "T": 3, "left": 2, "vector": 1})
        work = 1
        for d in a.dims:
            work *= d.extent
        self.need(work * n.extent <= MAX_PRODUCTS)
        batch = a.dims[:-2] if self.random.chance(70) else ()
        if form == "vector":
            b = self.want(a.dtype, (k,))
            text, dims = f"{a.name} @ {b.name}", a.dims[:-1]
        elif form == "T":
            b = self.want(a.dtype, batch + (n, k))
            text, dims = f"{a.name} @ {b.name}.{'mT' if batch else 'T'}", a.dims[:-1] + (n,)
        elif form == "left" and len(a.dims) == 2:
            b = self.want(a.dtype, (n, a.dims[0]))
            k = a.dims[0]
            text, dims = f"tsr.matmul({b.name}, {a.name})", (n, a.dims[1])
        else:
            b = self.want(a.dtype, batch + (k, n))
            text, dims = f"{a.name} @ {b.name}", a.dims[:-1] + (n,)
        bound = self.fits_product(a, b, k.extent)
        exact = (self.exact or a.dtype not in FLOATS) and a.exact and b.exact
        self.emit(text, a.dtype, dims, -bound, bound, exact, [a, b], ["matmul"])

    def rule_linear(self):
        a = self.float_value(lambda v: len(v.dims) == 2)
        others = [d for d in self.dims_pool if d.key != a.dims[1].key]
        self.need(others)
        n = self.random.pick(others)
        self.need(a.dims[0].extent * a.dims[1].extent * n.extent <= MAX_PRODUCTS)
        w, b = self.want(a.dtype, (n, a.dims[1])), self.want(a.dtype, (n,))
        bound = self.fits_product(a, w, a.dims[1].extent) + b.size
        self.need(bound <= WHOLE[a.dtype] or not self.exact)
        self.emit(f"tsr.linear({a.name}, {w.name}, {b.name})", a.dtype, (a.dims[0], n), -bound, bound, self.exact, [a, w, b], ["linear"])

    def rule_attention(self):
        self.need(not self.exact)
        dtype = self.random.weighted({"fp32": 5, "fp16": 2, "bf16": 2})
        s, t = self.random.pick(self.dims_pool), self.random.pick(self.dims_pool)
        d = Dim(*self.random.pick((("16", 16, "16"), ("8", 8, "8"), ("5", 5, "5"), ("40", 40, "40"))))
        heads = self.random.weighted({"none": 3, "same": 2, "grouped": 2})
        q, k = {"none": ((), ()), "same": ((Dim("2", 2, "2"),),) * 2, "grouped": ((Dim("4", 4, "4"),), (Dim("2", 2, "2"),))}[heads]
        self.need(s.extent * t.extent * d.extent * 4 <= MAX_PRODUCTS)
        if heads != "none" and self.random.chance(30):
            q, k = (Dim("3", 3, "3"),) + q, (Dim("3", 3, "3"),) + k
        a, b, c = self.want(dtype, q + (s, d)), self.want(dtype, k + (t, d)), self.want(dtype, k + (t, d))
        self.need(a.size * b.size <= 64 and c.size < 1000)
        self.reduces(max(t.extent, d.extent))
        causal = ", causal=True" if self.random.chance(40) else ""
        scale = ", scale=0.25" if self.random.chance(20) else ""
        self.emit(f"tsr.attention({a.name}, {b.name}, {c.name}{causal}{scale})", dtype, q + (s, d), -c.size, c.size, False, [a, b, c], ["attention"])

    def rule_composed_attention(self):
        """The pattern that `deterministic` raises to attention."""
        self.need(not self.exact and not self.depth)
        dtype = self.random.weighted({"fp32": 5, "fp16": 2, "bf16": 2})
        s, t = self.random.sample(self.dims_pool, 2)
        d = Dim("16", 16, "16")
        self.need(s.extent * t.extent * 64 <= MAX_PRODUCTS)
        a, b, c = self.want(dtype, (s, d)), self.want(dtype, (t, d)), self.want(dtype, (t, d))
        self.need(a.size * b.size <= 64 and c.size < 1000)
        scores = self.emit(f"({a.name} @ {b.name}.T) * 0.25", dtype, (s, t), -4 * a.size * b.size, 4 * a.size * b.size, False, [a, b], ["matmul", "mul"])
        p = self.emit(f"tsr.softmax({scores.name}, dim=-1)", dtype, (s, t), 0, 1, False, [scores], ["softmax"])
        self.emit(f"{p.name} @ {c.name}", dtype, (s, d), -c.size, c.size, False, [p, c], ["matmul"])

    # ---- control flow ------------------------------------------------------------------------

    def condition(self):
        """(text, uses): decided by values no rounding has touched."""
        kind = self.random.weighted({"int": 4, "float": 1, "bool": 1, "dims": 2, "reduction": 3})
        if kind in ("int", "float", "bool"):
            name = self.scalar(kind)
            if kind == "bool":
                return (f"not {name}" if self.random.chance(30) else name), []
            return f"{name} {self.random.pick(('>', '<', '>=', '!='))} {self.random.pick((0, 1, 2)) if kind == 'int' else 0.75}", []
        if kind == "dims":
            dims = [d for d in self.dims_pool if d.key.isidentifier()]
            self.need(len(dims) >= 2)
            return f"{self.size(dims[0])} {self.random.pick(('<', '>=', '=='))} {self.size(dims[1])}", []
        v = self.value(lambda v: v.exact and v.dims and v.dtype != "bool" and all(d.extent for d in v.dims))
        middle = int((v.low + v.high) // 2)
        number = middle if v.dtype in INTS else float(middle) + (0.0 if self.exact else 0.5)
        return f"tsr.{self.random.pick(('max', 'min'))}({v.name}) {self.random.pick(('>', '<'))} {number}", [v]

    def block(self, count: int):
        """Lines of a nested block, from what is visible; returns (lines, values made)."""
        outer, self.lines = self.lines, []
        visible = len(self.values)
        self.depth += 1
        try:
            for _ in range(count):
                self.step(None, tries=5)
            return self.lines, self.values[visible:]
        finally:
            self.lines = outer
            self.depth -= 1

    def hide(self, visible: int) -> None:
        """What a block made is not seen after it; parameters it asked for stay."""
        self.values[:] = [v for i, v in enumerate(self.values) if i < visible or v.name.startswith("x")]

    def bring(self, target: str, like: Value, limit: float, made, line_uses):
        """Lines that leave a value of `like`'s type, within the limit, in `target`."""
        fits = [v for v in made if v.dtype == like.dtype and v.dims == like.dims] or [v for v in self.values if v.dtype == like.dtype and v.dims == like.dims]
        self.need(fits)
        value = fits[-1] if self.random.chance(60) else self.random.pick(fits)
        value.used += 1
        if value.size <= limit:
            return Line(f"{target} = {value.name}", (target,), (value.name,), ()), value
        number = (lambda x: str(int(x))) if like.dtype in INTS else (lambda x: f"{float(x)}")
        self.need(like.dtype != "bool")
        return Line(f"{target} = tsr.clamp({value.name}, {number(-limit)}, {number(limit)})", (target,), (value.name,), ("clamp",)), value

    def rule_branch(self):
        self.need(self.depth < 2)
        text, uses = self.condition()
        like = self.value(lambda v: v.dims)
        visible = len(self.values)
        target = self.fresh()
        names_before = {v.name for v in self.values}
        arms, sizes, exacts, used = [], [], [], [v.name for v in uses]
        for _ in range(2):
            lines, made = self.block(self.random.between(1, 3))
            mine = [v for v in made if v.dtype == like.dtype and v.dims == like.dims]
            chosen = mine[-1] if mine else self.random.pick([v for v in self.values[:visible] if v.dtype == like.dtype and v.dims == like.dims] or [like])
            chosen.used += 1
            lines.append(Line(f"{target} = {chosen.name}", (target,), (chosen.name,), ()))
            arms.append(lines)
            sizes.append((chosen.low, chosen.high))
            exacts.append(chosen.exact)
            used += [u for line in self.program.walk(lines) for u in line.uses if u in names_before]
            self.hide(visible)
        self.lines.append(Line(f"if {text}:", (target,), tuple(dict.fromkeys(used)), ("if",), arms[0], arms[1]))
        low, high = min(s[0] for s in sizes), max(s[1] for s in sizes)
        self.values.append(Value(target, like.dtype, like.dims, low, high, all(exacts)))
        self.known(self.values[-1])

    def loop(self, head: str, seen=(), before=(), first=(), after=(), test=lambda v: v.dims, ops=("for",)):
        """A loop that carries one or two values; each stays inside an interval chosen beforehand."""
        self.need(self.depth < 2)
        pick = self.random
        count = 1 if pick.chance(60) else 2
        starts = [self.value(lambda v: v.dtype != "bool" and test(v) and v.size <= 1e4) for _ in range(count)]
        visible = len(self.values)
        carried, bounds = [], []
        lines_before = list(before)
        for start in starts:
            name = self.fresh()
            bound = max(start.size, 8 if self.exact else 4)
            bound = float(int(bound) + 1)
            self.need(bound <= self.limit(start.dtype))
            start.used += 1
            lines_before.append(Line(f"{name} = {start.name}", (name,), (start.name,), ()))
            carried.append(Value(name, start.dtype, start.dims, -bound, bound, self.exact and start.exact or start.dtype not in FLOATS))
        names_before = {v.name for v in self.values}
        self.values += carried + list(seen)
        lines, made = self.block(pick.between(1, 3))
        lines[:0] = list(first)
        names = tuple(c.name for c in carried)
        for c in carried:
            others = [v for v in made if v.dtype == c.dtype and v.dims == c.dims] or [v for v in self.values if v.dtype == c.dtype and v.dims == c.dims and v is not c]
            other = others[-1] if others else c
            other.used += 1
            number = str(int(c.high)) if c.dtype in INTS else str(float(c.high))
            forms = ["clamp", "max", "add"] + ([] if self.exact or c.dtype not in FLOATS else ["mix", "mix"])
            form = pick.pick(forms)
            both = (c.name, other.name)
            if form == "max" and other.size <= c.high:
                lines.append(Line(f"{c.name} = tsr.maximum({c.name}, {other.name})", (c.name,), both, ("maximum",)))
            elif form == "mix" and other.size <= c.high:
                lines.append(Line(f"{c.name} = {c.name} * 0.5 + {other.name} * 0.25", (c.name,), both, ("mul", "mul", "add")))
            elif form == "add" and c.high + other.size <= self.limit(c.dtype):
                lines.append(Line(f"{c.name} = tsr.clamp({c.name} + {other.name}, -{number}, {number})", (c.name,), both, ("add", "clamp")))
            else:
                lines.append(Line(f"{c.name} = tsr.clamp({other.name}, -{number}, {number})", (c.name,), (other.name,), ("clamp",)))
            c.exact = c.exact and other.exact and (self.exact or c.dtype not in FLOATS)
        lines += list(after)
        used = [u for line in self.program.walk(lines) for u in line.uses if u in names_before]
        self.hide(visible)
        self.lines += lines_before
        self.lines.append(Line(head, names, tuple(dict.fromkeys(used)) + names, ops, lines))
        for c in carried:
            c.used = 0
            self.values.append(c)
            self.known(c)

    def rule_for_loop(self):
        n = self.scalar("int")
        counter = self.fresh("i")
        head = self.random.pick((f"for {counter} in range({n}):", f"for {counter} in range(1, {n} + 1):", f"for {counter} in range({n}, 0, -1):", f"for {counter} in range(0, {n}, 2):"))
        self.loop(head)

    def rule_while_loop(self):
        if self.random.chance(60):
            n, k = self.scalar("int"), self.fresh("k")
            before = [Line(f"{k} = 0", (k,), (), ())]
            self.loop(f"while {k} < {n}:", before=before, after=[Line(f"{k} += 1", (k,), (k,), ())], ops=("while",))
            # The counter belongs to the block: it is set before it.
            return
        # Halving is exact, so how many turns there are is decided.
        v = self.value(lambda v: v.exact and v.dtype in ("fp32", "fp64") and v.dims and all(d.extent for d in v.dims) and v.size <= 64)
        self.need(self.depth < 2)
        name = self.fresh()
        self.lines.append(Line(f"{name} = {v.name}", (name,), (v.name,), ()))
        body = [Line(f"{name} = {name} * 0.5", (name,), (name,), ("mul",))]
        self.lines.append(Line(f"while tsr.max(tsr.abs({name})) > 1.0:", (name,), (name, v.name), ("while", "max", "abs", "compare"), body))
        v.used += 1
        # Not a whole number any more.
        self.need(not self.exact)
        self.values.append(Value(name, v.dtype, v.dims, -1.0, 1.0, True))

    def rule_rows_loop(self):
        """Over the rows of a tensor, by index."""
        m = self.value(lambda v: len(v.dims) == 2 and v.dtype != "bool" and v.dims[0].extent <= 33 and v.size <= 1e4)
        counter = self.fresh("i")
        row = Value(f"{m.name}[{counter}]", m.dtype, m.dims[1:], m.low, m.high, m.exact, 1)
        m.used += 1
        r = self.fresh()
        line = Line(f"{r} = {row.name}", (r,), (m.name,), ("slice",))
        value = Value(r, row.dtype, row.dims, row.low, row.high, row.exact)
        self.want(m.dtype, m.dims[1:])
        self.loop(f"for {counter} in range({m.name}.shape[0]):", seen=[value], first=[line], test=lambda v: v.dims == m.dims[1:])

    def rule_call(self):
        """Of another function, with its own dims, or of a kernel."""
        v = self.float_value(lambda v: len(v.dims) == 2 and v.size < 100)
        index = len(self.program.prelude)
        if self.random.chance(50):
            name = f"g{index}"
            scale = "2.0" if self.exact else "0.5"
            self.program.prelude.append(f"@tsr.function\ndef {name}(a):\n    b = a * {scale}\n    return tsr.maximum(a, b) - b\n")
            self.emit(f"{name}({v.name})", v.dtype, v.dims, -4 * v.size, 4 * v.size, v.exact and self.exact, [v], ["mul", "maximum", "sub"])
        else:
            name = f"k{index}"
            self.need(not self.depth)
            block = self.random.pick((4, 7, 16)), self.random.pick((8, 16, 33))
            self.program.prelude.append(
                f'@tsr.kernel\ndef {name}(A: Tensor["P", "Q"], B: Out["P", "Q"]):\n    for p, q in tsr.grid(tsr.tile(P, {block[0]}), tsr.tile(Q, {block[1]})):\n'
                f"        a = A[p, q]\n        B[p, q] = tsr.maximum(a, -a) + a\n")
            self.emit(f"{name}({v.name})", v.dtype, v.dims, 0, 2 * v.size, v.exact and self.exact, [v], ["call_kernel", "neg", "maximum", "add"])


class _Identity:
    """Values by identity, in a dict."""

    def __init__(self, value):
        self.value, self.name = value, value.name

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        return self.name == other.name
