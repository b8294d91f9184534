"""Rules for element-wise lines of functions and kernels alike.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .generate import Generator
from .program import FLOATS, INTS, Dim, Value

# name: (what it is applied to, so that its domain is kept; the result's interval for |x| <= s)
MATH = {
    "exp": ("-tsr.abs({x})", lambda s: (0, 1)),
    "exp2": ("tsr.clamp({x}, -9.0, 3.0)", lambda s: (0, 8)),
    "log": ("tsr.abs({x}) + 0.5", lambda s: (-1, 16)),
    "log2": ("tsr.abs({x}) + 0.5", lambda s: (-1, 24)),
    "log1p": ("tsr.abs({x})", lambda s: (0, 16)),
    "sqrt": ("tsr.abs({x}) + 0.25", lambda s: (0, s + 1)),
    "rsqrt": ("tsr.abs({x}) + 0.5", lambda s: (0, 2)),
    "sin": ("{x}", lambda s: (-1, 1)),
    "cos": ("{x}", lambda s: (-1, 1)),
    "tanh": ("{x}", lambda s: (-1, 1)),
    "erf": ("{x}", lambda s: (-1, 1)),
    "sigmoid": ("{x}", lambda s: (0, 1)),
    "gelu": ("{x}", lambda s: (-1, s + 1)),
    "silu": ("{x}", lambda s: (-1, s + 1)),
}
INNER = {"-tsr.abs({x})": ["abs", "neg"], "tsr.abs({x})": ["abs"], "tsr.clamp({x}, -9.0, 3.0)": ["clamp"], "{x}": []}


class Elementwise(Generator):
    def pair(self, test=lambda v: True):
        """Two values of one dtype that line up, and the dims of what they give; (a, b, dims)."""
        a = self.value(test)
        fits = [b for b in self.values if b.dtype == a.dtype and test(b) and self.lines_up(a.dims, b.dims) is not None]
        self.need(fits)
        b = self.random.pick(fits)
        return a, b, self.lines_up(a.dims, b.dims)

    @staticmethod
    def lines_up(a: tuple, b: tuple):
        """By position from the last; an axis of known size 1, or a missing one, is repeated."""
        one = Dim("1", 1, "1")
        rank = max(len(a), len(b))
        a, b = (one,) * (rank - len(a)) + tuple(a), (one,) * (rank - len(b)) + tuple(b)
        result = []
        for x, y in zip(a, b):
            if x.key == y.key or y.key == "1":
                result.append(x)
            elif x.key == "1":
                result.append(y)
            else:
                return None
        return tuple(result)

    def number(self, v: Value, values=None) -> tuple:
        """(text, value) of a number that is exact in v's dtype."""
        if v.dtype in INTS:
            x = self.random.pick(values or (1, 2, 3, 5, -2, -1))
            return str(x), x
        x = self.random.pick((1.0, 2.0, -1.0, 3.0, -2.0) if self.exact else (0.5, 0.75, -1.5, 2.0, 0.1, -0.3))
        # A whole number is one of the tensor's dtype, too.
        return (str(int(x)) if x == int(x) and self.random.chance(30) else str(x)), x

    def whole(self, v: Value) -> bool:
        return v.dtype not in FLOATS

    def keeps(self, *values: Value) -> bool:
        """Whether an op that rounds is exact on these."""
        return all(v.exact for v in values) and (self.exact or all(v.dtype not in FLOATS for v in values))

    def rule_unary(self):
        v = self.value(lambda v: v.dtype != "bool")
        op = self.random.pick(("neg", "abs", "relu", "floor", "ceil", "round"))
        if op in ("floor", "ceil", "round"):
            self.need(v.dtype in FLOATS and v.exact)
            self.emit(f"tsr.{op}({v.name})", v.dtype, v.dims, v.low - 1 if not self.exact else v.low, v.high + 1 if not self.exact else v.high, v.exact, [v], [op])
        elif op == "neg":
            self.emit(f"-{v.name}", v.dtype, v.dims, -v.high, -v.low, v.exact, [v], [op])
        elif op == "abs":
            self.emit(f"tsr.abs({v.name})", v.dtype, v.dims, 0, v.size, v.exact, [v], [op])
        else:
            self.emit(f"tsr.relu({v.name})", v.dtype, v.dims, 0, max(v.high, 0), v.exact, [v], [op])

    def rule_math(self):
        self.need(not self.exact)
        v = self.float_value(lambda v: v.size < 1000)
        op = self.random.pick(list(MATH))
        inside, interval = MATH[op]
        plain = v.name
        if inside != "{x}" and v.low >= 0.5 and op != "exp":
            text = plain
            ops = []
        else:
            text = inside.replace("{x}", plain)
            ops = INNER.get(inside, ["abs", "add"])
        low, high = interval(v.size)
        method = self.random.chance(15) and text == plain and op not in ("gelu",)
        if op == "gelu" and self.program.kind == "function" and self.random.chance(30):
            text += ', approximate="tanh"'
        self.emit(f"{text}.{op}()" if method else f"tsr.{op}({text})", v.dtype, v.dims, low, high, False, [v], ops + [op])

    def rule_binary(self):
        op = self.random.pick(("+", "+", "-", "*", "*", "/", "maximum", "minimum"))
        a, b, dims = self.pair(lambda v: v.dtype != "bool")
        if op in ("maximum", "minimum"):
            self.emit(f"tsr.{op}({a.name}, {b.name})", a.dtype, dims, min(a.low, b.low), max(a.high, b.high), a.exact and b.exact, [a, b], [op])
        elif op == "/":
            self.need(not self.exact and a.dtype in FLOATS and b.size < 1e4)
            self.emit(f"{a.name} / (tsr.abs({b.name}) + 0.5)", a.dtype, dims, -2 * a.size, 2 * a.size, False, [a, b], ["abs", "add", "div"])
        else:
            low, high = self.interval(op, a, b.low, b.high)
            self.emit(f"{a.name} {op} {b.name}", a.dtype, dims, low, high, self.keeps(a, b), [a, b], [{"+": "add", "-": "sub", "*": "mul"}[op]])

    def rule_number(self):
        v = self.value(lambda v: v.dtype != "bool")
        op = self.random.pick("+-*")
        if v.dtype in FLOATS and self.kind_of_scalar() and self.random.chance(25):
            text, x = self.scalar("float"), self.scalars["float"][1]
        else:
            text, x = self.number(v)
        low, high = self.interval(op, v, x, x)
        ops = [{"+": "add", "-": "sub", "*": "mul"}[op]]
        if self.random.chance(30):
            low, high = (low, high) if op != "-" else (-high, -low)
            text = f"{text} {op} {v.name}" if not text.startswith("-") else f"({text}) {op} {v.name}"
        else:
            text = f"{v.name} {op} {text}" if not text.startswith("-") else f"{v.name} {op} ({text})"
        self.emit(text, v.dtype, v.dims, low, high, self.keeps(v), [v], ops)

    def kind_of_scalar(self) -> bool:
        return hasattr(self, "scalar")

    def comparison(self):
        """(text, dims, uses) of a bool nobody can tip."""
        if self.random.chance(50):
            v = self.value(lambda v: v.exact and v.dtype != "bool")
            text, x = self.number(v)
            return f"{v.name} {self.random.pick(('<', '<=', '>', '>=', '==', '!='))} {text}", v.dims, [v]
        a, b, dims = self.pair(lambda v: v.exact)
        return f"{a.name} {self.random.pick(('<', '<=', '>', '>=', '==', '!='))} {b.name}", dims, [a, b]

    def rule_choose(self):
        condition, dims, uses = self.comparison()
        if self.random.chance(25):
            self.emit(condition, "bool", dims, 0, 1, True, uses, ["compare"])
            return
        a = self.value(lambda v: v.dtype != "bool" and self.lines_up(dims, v.dims) is not None)
        if self.random.chance(30):
            text, x = self.number(a)
            low, high, exact, both = min(a.low, x), max(a.high, x), a.exact and (self.exact or a.dtype not in FLOATS), [a]
            result = self.lines_up(dims, a.dims)
        else:
            b = self.value(lambda v: v.dtype == a.dtype and self.lines_up(dims, v.dims) is not None and self.lines_up(a.dims, v.dims) is not None)
            text, low, high, exact, both = b.name, min(a.low, b.low), max(a.high, b.high), a.exact and b.exact, [a, b]
            # The widest first, the others in order, as the front end has it for kernels.
            first, second, third = sorted((dims, a.dims, b.dims), key=lambda each: -len(each))
            result = self.lines_up(self.lines_up(first, second), third)
        self.need(result is not None)
        self.emit(f"tsr.where({condition}, {a.name}, {text})", a.dtype, result, low, high, exact, uses + both, ["compare", "where"])

    def rule_logic(self):
        op = self.random.pick("&|^")
        name = {"&": "and", "|": "or", "^": "xor"}[op]
        a, b, dims = self.pair(lambda v: v.dtype == "bool" or v.dtype in INTS)
        if a.dtype == "bool":
            text = f"~({a.name} {op} {b.name})" if self.random.chance(40) else f"{a.name} {op} {b.name}"
            self.emit(text, "bool", dims, 0, 1, True, [a, b], [name] + (["not"] if text[0] == "~" else []))
            return
        bound = 1
        while bound <= max(a.size, b.size):
            bound *= 2
        text = f"{a.name} {op} {b.name}" if self.random.chance(70) else f"~{a.name} {op} {b.name}"
        self.emit(text, a.dtype, dims, -bound, bound, True, [a, b], [name])

    def rule_cast(self):
        v = self.value()
        targets = [d for d in ("fp32", "fp32", "fp16", "bf16", "fp64", "i32", "i64", "bool") if d != v.dtype]
        target = self.random.pick(targets)
        if target == "bool":
            self.need(v.exact)
            self.emit(f"{v.name} != 0", "bool", v.dims, 0, 1, True, [v], ["compare"])
            return
        if target in INTS and v.dtype in FLOATS:
            self.need(v.exact)
        exact = v.exact
        if target in FLOATS and not self.exact and v.dtype in FLOATS:
            order = ("fp64", "fp32")
            exact = v.exact and target in order and (v.dtype != "fp64" or target == "fp64")
        elif target in FLOATS and not self.exact:
            exact = v.size <= 256
        self.emit(f"{v.name}.to({target})", target, v.dims, v.low, v.high, exact, [v], ["cast"])

    def rule_clamp(self):
        v = self.value(lambda v: v.dtype != "bool")
        low, high = self.random.pick(((-4, 4), (-1, 1), (0, 3), (-8, 8)))
        texts = (str(low), str(high)) if v.dtype in INTS else (f"{low}.0", f"{high}.0")
        self.emit(f"tsr.clamp({v.name}, {texts[0]}, {texts[1]})", v.dtype, v.dims, low, high, v.exact, [v], ["clamp"])

    def rule_fma(self):
        a, b, dims = self.pair(lambda v: v.dtype in FLOATS)
        c = self.value(lambda v: v.dtype == a.dtype and v.dims == dims)
        self.need(a.dims == dims and b.dims == dims)
        low, high = self.interval("*", a, b.low, b.high)
        self.emit(f"tsr.fma({a.name}, {b.name}, {c.name})", a.dtype, dims, low + c.low, high + c.high, self.keeps(a, b, c), [a, b, c], ["fma"])

    def rule_power(self):
        if self.exact:
            v = self.value(lambda v: v.dtype in INTS and v.size <= 30)
            n = self.random.pick((2, 3))
            self.emit(f"{v.name} ** {n}", v.dtype, v.dims, -(v.size**n), v.size**n, v.exact, [v], ["pow"])
            return
        v = self.float_value(lambda v: v.size <= 30)
        if self.random.chance(50):
            n = self.random.pick((2, 3, 0.5, 1.5))
            self.need(v.size**n < 1e3)
            self.emit(f"(tsr.abs({v.name}) + 0.5) ** {n}", v.dtype, v.dims, 0, (v.size + 1) ** n, False, [v], ["abs", "add", "pow"])
            return
        w = self.value(lambda u: u.dtype == v.dtype and u.dims == v.dims and u.size <= 3)
        self.need((v.size + 1) ** 3 < 1e3)
        self.emit(f"(tsr.abs({v.name}) + 0.5) ** {w.name}", v.dtype, v.dims, 0, (v.size + 1) ** 3, False, [v, w], ["abs", "add", "pow"])

    def rule_divide_ints(self):
        """Floor division and remainder, as in Python; of exact values, because they jump."""
        v = self.value(lambda v: v.exact and v.dtype != "bool" and (v.dtype in INTS or self.exact))
        if self.random.chance(60):
            n = self.random.pick((2, 3, 5, -3, 7))
            text = f"({n})" if n < 0 else str(n)
            text = text if v.dtype in INTS else f"{float(n)}" if n > 0 else f"({float(n)})"
            if self.random.chance(50):
                self.emit(f"{v.name} // {text}", v.dtype, v.dims, -v.size - 1, v.size + 1, True, [v], ["floordiv"])
            else:
                self.emit(f"{v.name} % {text}", v.dtype, v.dims, -abs(n), abs(n), True, [v], ["mod"])
            return
        w = self.value(lambda u: u.exact and u.dtype == v.dtype and u.dims == v.dims and (u.dtype in INTS or u.low > 0))
        op = self.random.pick(("//", "%"))
        size = v.size + 1 if op == "//" else w.size
        self.emit(f"{v.name} {op} {w.name}", v.dtype, v.dims, -size, size, True, [v, w], ["floordiv" if op == "//" else "mod"])

    def rule_shift(self):
        v = self.value(lambda v: v.dtype in INTS and v.size < 2**20)
        n = self.random.pick((1, 2, 3))
        if self.random.chance(50):
            self.emit(f"{v.name} << {n}", v.dtype, v.dims, -(v.size * 2**n), v.size * 2**n, v.exact, [v], ["shl"])
        else:
            self.emit(f"{v.name} >> {n}", v.dtype, v.dims, -v.size - 1, v.size, v.exact, [v], ["shr"])

    def rule_predicate(self):
        v = self.float_value()
        op = self.random.pick(("isnan", "isfinite"))
        self.emit(f"tsr.{op}({v.name})", "bool", v.dims, 0, 1, True, [v], [op])
