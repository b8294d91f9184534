"""Rules for lines of functions that move data: views, slices, concatenation, lookups, filled tensors.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .generate import Generator
from .program import FLOATS, Dim, Value


class Movement(Generator):
    def move(self, text: str, v: Value, dims, op: str, uses=None) -> Value:
        return self.emit(text, v.dtype, dims, v.low, v.high, v.exact, uses or [v], [op])

    def rule_transpose(self):
        v = self.value(lambda v: len(v.dims) >= 2)
        if len(v.dims) == 2:
            text = self.random.pick((f"{v.name}.T", f"{v.name}.transpose(0, 1)", f"tsr.transpose({v.name}, -2, -1)"))
            self.move(text, v, v.dims[::-1], "transpose")
        else:
            i = self.random.below(len(v.dims) - 1)
            dims = list(v.dims)
            dims[i], dims[i + 1] = dims[i + 1], dims[i]
            self.move(f"{v.name}.transpose({i}, {i + 1})", v, dims, "transpose")

    def rule_permute(self):
        v = self.value(lambda v: len(v.dims) >= 3)
        order = self.random.sample(range(len(v.dims)), len(v.dims))
        self.move(f"{v.name}.permute({', '.join(map(str, order))})", v, [v.dims[i] for i in order], "transpose")

    def rule_reshape(self):
        """Two axes become one, or one of a constant extent becomes two."""
        v = self.value(lambda v: len(v.dims) >= 1)
        if len(v.dims) >= 2:
            i = self.random.below(len(v.dims) - 1)
            a, b = v.dims[i], v.dims[i + 1]
            text = str(a.extent * b.extent) if a.key.isdigit() and b.key.isdigit() else f"{self.size_text(a)} * {self.size_text(b)}"
            joined = Dim(text, a.extent * b.extent, text)
            dims = v.dims[:i] + (joined,) + v.dims[i + 2 :]
            sizes = [self.size(d) for d in dims]
            nonzero = all(d.extent for d in v.dims)
            if nonzero and self.random.chance(50):
                sizes[dims.index(joined)] = "-1"
            if len(v.dims) == 2 and self.random.chance(30):
                self.move(f"{v.name}.flatten()", v, dims, "reshape")
            else:
                self.move(f"{v.name}.reshape({', '.join(sizes)})", v, dims, "reshape")
            return
        d = v.dims[0]
        self.need(d.key.isdigit() and d.extent > 3 and d.extent % 2 == 0)
        half = str(d.extent // 2)
        self.move(f"{v.name}.reshape(2, {half})", v, (Dim("2", 2, "2"), Dim(half, d.extent // 2, half)), "reshape")

    @staticmethod
    def size_text(d: Dim) -> str:
        return d.text if d.text.isidentifier() or d.text.isdigit() else f"({d.text})"

    def rule_unsqueeze(self):
        v = self.value(lambda v: len(v.dims) <= 2)
        i = self.random.between(0, len(v.dims))
        dims = v.dims[:i] + (Dim("1", 1, "1"),) + v.dims[i:]
        text = f"{v.name}.unsqueeze({i})"
        if len(v.dims) == 1 and self.random.chance(60):
            text = f"{v.name}[None, :]" if i == 0 else f"{v.name}[:, None]"
        self.move(text, v, dims, "reshape")
        if self.random.chance(20) and "unsqueeze" in text:
            one = self.values[-1]
            self.move(f"{one.name}.squeeze({i})", one, v.dims, "reshape")

    def rule_expand(self):
        """A row for each of M, by an axis of size 1."""
        v = self.value(lambda v: any(d.key == "1" for d in v.dims))
        dims = tuple(self.random.pick(self.dims_pool) if d.key == "1" else d for d in v.dims)
        keys = [d.key for d in dims]
        self.need(len(set(keys)) == len(keys))
        self.move(f"{v.name}.expand({', '.join(self.size(d) for d in dims)})", v, dims, "broadcast")

    def rule_slice(self):
        v = self.value(lambda v: v.dims and max(v.shape) > 3)
        axis = self.random.pick([i for i, d in enumerate(v.dims) if d.extent > 3])
        d = v.dims[axis]
        start, stop, step = self.random.pick(((1, None, 1), (0, 3, 1), (None, None, 2), (1, -1, 1), (0, -2, 1), (1, None, 3), (2, 4, 1)))
        count = len(range(d.extent)[slice(start, stop, step)])
        constant = stop is not None and stop > 0
        key = str(count) if constant else f"{d.key}[{start}:{stop}:{step}]"
        self.need(not constant or d.extent >= stop)
        if constant and not d.key.isdigit():
            # min(M, 3) may be less: the language does not know, so it is an axis of its own.
            key = f"{d.key}[{start}:{stop}]"
        shown = ("" if start is None else str(start)) + ":" + ("" if stop is None else str(stop)) + (f":{step}" if step != 1 else "")
        text = ", ".join([":"] * axis + [shown]) if self.random.chance(60) or axis != len(v.dims) - 1 else f"..., {shown}"
        self.move(f"{v.name}[{text}]", v, v.dims[:axis] + (Dim(key, count, key),) + v.dims[axis + 1 :], "slice")

    def rule_index(self):
        v = self.value(lambda v: v.dims and min(v.shape) > 0)
        axis = self.random.below(len(v.dims))
        i = self.random.pick((0, -1, min(2, v.dims[axis].extent - 1)))
        text = ", ".join([":"] * axis + [str(i)]) if self.random.chance(70) or axis != len(v.dims) - 1 else f"..., {i}"
        self.move(f"{v.name}[{text}]", v, v.dims[:axis] + v.dims[axis + 1 :], "slice")

    def rule_cat(self):
        v = self.value(lambda v: v.dims)
        axis = self.random.below(len(v.dims))
        rest = v.dims[:axis] + v.dims[axis + 1 :]
        fits = [u for u in self.values if u.dtype == v.dtype and len(u.dims) == len(v.dims) and u.dims[:axis] + u.dims[axis + 1 :] == rest]
        parts = [v] + [self.random.pick(fits) for _ in range(self.random.between(1, 2))]
        key = " + ".join(self.size_text(p.dims[axis]) for p in parts)
        total = Dim(key, sum(p.dims[axis].extent for p in parts), key)
        if all(p.dims[axis].key.isdigit() for p in parts):
            total = Dim(str(total.extent), total.extent, str(total.extent))
        names = ", ".join(p.name for p in parts)
        text = f"tsr.cat([{names}], dim={axis})" if self.random.chance(60) else f"tsr.concat(({names}), dim={axis - len(v.dims)})"
        value = self.emit(text, v.dtype, v.dims[:axis] + (total,) + v.dims[axis + 1 :], min(p.low for p in parts), max(p.high for p in parts), all(p.exact for p in parts), parts, ["concat"])
        return value

    def rule_stack(self):
        v = self.value(lambda v: 1 <= len(v.dims) <= 2)
        other = self.value(lambda u: u.dtype == v.dtype and u.dims == v.dims)
        axis = self.random.between(0, len(v.dims))
        dims = v.dims[:axis] + (Dim("2", 2, "2"),) + v.dims[axis:]
        self.emit(f"tsr.stack([{v.name}, {other.name}], dim={axis})", v.dtype, dims, min(v.low, other.low), max(v.high, other.high), v.exact and other.exact, [v, other], ["concat"])

    def want_index(self, dtype: str, dims, extent: int) -> Value:
        """Whole numbers that are indices into `extent` elements."""
        fits = [v for v in self.values if v.dtype == dtype and v.dims == tuple(dims) and v.exact and v.low >= 0 and v.high < extent]
        if fits and self.random.chance(50):
            return self.random.pick(fits)
        self.need(extent > 0)
        value = self.parameter(dtype, dims, 0, extent - 1)
        self.values.insert(0, value)
        return value

    def rule_take(self):
        v = self.value(lambda v: v.dims and min(v.shape) > 0)
        axis = self.random.below(len(v.dims))
        dims = self.random.sample(self.dims_pool, 1 if self.random.chance(80) else 2)
        size = v.dims[axis].extent
        if axis == 0 and self.random.chance(20):  # some count from the end
            index = self.parameter(self.random.pick(("i64", "i32")), dims, -size, size - 1)
            self.values.insert(0, index)
            self.emit(f"{v.name}[{index.name}]", v.dtype, tuple(dims) + v.dims[1:], v.low, v.high, v.exact, [v, index], ["take"])
            return
        index = self.want_index(self.random.pick(("i64", "i32")), dims, size)
        if index not in self.values:
            self.values.insert(0, index)
        text = f"tsr.take({v.name}, {index.name}, {axis})"
        result = v.dims[:axis] + tuple(dims) + v.dims[axis + 1 :]
        if axis == 0 and len(v.dims) == 2 and self.random.chance(30):
            text = f"tsr.embedding({index.name}, {v.name})"
        elif len(dims) == 1 and self.random.chance(30):
            text = f"tsr.index_select({v.name}, {axis}, {index.name})"
        elif len(dims) != 1:
            self.need(axis == 0 and len(v.dims) == 2)
            text = f"tsr.embedding({index.name}, {v.name})"
        self.emit(text, v.dtype, result, min(v.low, 0), max(v.high, 0), v.exact, [v, index], ["take"])

    def rule_gather(self):
        v = self.value(lambda v: v.dims and min(v.shape) > 0 and len(v.dims) <= 2)
        axis = self.random.below(len(v.dims))
        d = self.random.pick(self.dims_pool + [Dim("4", 4, "4")])
        dims = v.dims[:axis] + (d,) + v.dims[axis + 1 :]
        index = self.want_index(self.random.pick(("i64", "i32")), dims, v.dims[axis].extent)
        self.emit(f"tsr.gather({v.name}, {axis}, {index.name})", v.dtype, dims, min(v.low, 0), max(v.high, 0), v.exact, [v, index], ["gather"])

    def rule_fill(self):
        if self.random.chance(50):
            v = self.value(lambda v: v.dtype != "bool")
            op = self.random.pick(("zeros_like", "ones_like", "full_like"))
            x = {"zeros_like": 0, "ones_like": 1, "full_like": 2}[op]
            self.emit(f"tsr.{op}({v.name}{', 2' if x == 2 else ''})", v.dtype, v.dims, x, x, True, [v], ["constant", "broadcast"])
            return
        dtype = self.random.pick(("fp32", "fp32", "fp16", "bf16", "i64"))
        dims = self.random.sample(self.dims_pool, self.random.between(1, 2))
        op = self.random.pick(("zeros", "ones", "full"))
        x = {"zeros": 0, "ones": 1, "full": 3}[op]
        sizes = ", ".join(self.size(d) for d in dims)
        extra = "" if dtype == "fp32" else f", dtype={dtype}"
        text = f"tsr.full(({sizes},), {x}{'.0' if dtype in FLOATS else ''}{extra})" if op == "full" else f"tsr.{op}({sizes}{extra})"
        self.emit(text, dtype, dims, x, x, True, [], ["constant", "broadcast"])

    def rule_arange(self):
        d = self.random.pick(self.dims_pool)
        self.emit(f"tsr.arange({self.size(d)})", "i64", (d,), 0, max(d.extent - 1, 0), True, [], ["arange"])
