"""`fn.certificate(*args)`: how wrong a function can be, as a formula in the dims; and how wrong it is, measured.

The formula is an a-priori analysis of Graph IR (compiler/Interpreter/Certificate.h): it knows the inputs only by their largest
magnitudes. The bound derived from concrete inputs (domain `bound`) is tighter; the measured error is that of the machine code
against the reference, which never rounds.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import math
import re

import numpy as np

from . import arguments, arrays, compiler, oracle
from .dtypes import by_storage

UNITS = {"u64": 2.0**-53, "u32": 2.0**-24, "u16": 2.0**-11, "ub16": 2.0**-8}
FIRST_ORDER = 1.01  # what products of roundoffs may add while n u < 0.01


def _gamma(u: float):
    return lambda n: n * u / (1 - n * u) if n * u < 1 else math.inf


class Certificate:
    """`errors`: a formula per result, "" where there is none; `steps`: what its names stand for."""

    def __init__(self, name: str, policy: str, steps, errors, missing: str):
        self.name, self.policy, self.steps, self.errors, self.missing = name, policy, list(steps), list(errors), missing
        self.dims: dict = {}
        self.samples = 0
        self.measured: list = []  # per result: the largest error of the machine code
        self.bounds: list = []  # per result: the largest bound derived from the inputs
        self.formulas: list = []  # per result: the formula's value, or None

    def evaluate(self, inputs: dict) -> list:
        """The formulas' values for these arrays or numbers by name; None where there is no formula, or it needs what inputs do not say."""
        largest = {n: float(np.abs(np.asarray(v, dtype=np.float64)).max(initial=0)) for n, v in inputs.items()}
        least = {n: float(np.abs(np.asarray(v, dtype=np.float64)).min(initial=np.inf)) for n, v in inputs.items()}
        error: dict = {}
        scope = {"gamma32": _gamma(UNITS["u32"]), "gamma64": _gamma(UNITS["u64"]), "exp": math.exp, "exp2": lambda x: 2.0**x, "log": lambda x: math.log(x) if x > 0 else -math.inf,
                 "log1p": math.log1p, "sqrt": math.sqrt, "ceil": math.ceil, "abs": abs, "max": max, "largest": largest, "least": least, "error": error,
                 "extent": lambda n, axis: np.shape(inputs[n])[axis], **UNITS, **self.dims, "__builtins__": {}}

        def value(text: str):
            code = re.sub(r"min\|(\w+)\|", r'least["\1"]', text)
            code = re.sub(r"\|(\w+)\|", r'largest["\1"]', code)
            code = re.sub(r"err\((\w+)\)", r'error["\1"]', code)
            code = re.sub(r"size\((\w+), (\d+)\)", r'extent("\1", \2)', code)
            return eval(code, scope)  # our own text, not the user's

        try:
            for name, formula in self.steps:
                into = error if name.startswith("err(") else largest
                into[re.sub(r"\W|^err", "", name)] = value(formula)
        except (KeyError, IndexError, OverflowError, ValueError, ZeroDivisionError):
            return [None] * len(self.errors)
        values = []
        for formula in self.errors:
            try:
                values.append(FIRST_ORDER * value(formula) if formula else None)
            except (KeyError, IndexError, OverflowError, ValueError, ZeroDivisionError):
                values.append(None)
        return values

    def __str__(self) -> str:
        rows = [f"certificate of {self.name}, policy {self.policy}"]
        text = " ".join(f"{n} {f}" for n, f in self.steps) + " ".join(self.errors)
        units = [f"{u} = 2^{int(math.log2(v))}" for u, v in UNITS.items() if re.search(rf"\b{u}\b", text)]
        units += [f"gamma{n}(n) = n u{n} / (1 - n u{n}), u{n} = 2^{int(math.log2(UNITS[f'u{n}']))}" for n in ("32", "64") if f"gamma{n}" in text]
        if units:
            rows.append("  " + "; ".join(units) + "; to first order in them")
        rows.append("  |x| is the largest magnitude in x" + ("; min|x| the smallest, which must not be 0" if "min|" in text else ""))
        rows += [f"  {name} <= {formula}" for name, formula in self.steps]
        for index, formula in enumerate(self.errors):
            which = "" if len(self.errors) == 1 else f" of result {index}"
            rows.append(f"  |error{which}| <= {formula}" if formula else f"  |error{which}|: no formula in the dims ({self.missing})")
        if not self.errors:
            rows.append(f"  no formula in the dims ({self.missing})")
        for index, (error, bound) in enumerate(zip(self.measured, self.bounds)):
            formula = self.formulas[index] if index < len(self.formulas) else None
            shown = "" if formula is None else f", formula {formula:.3g}"
            dims = ", ".join(f"{n} = {v}" for n, v in self.dims.items())
            rows.append(f"  measured{'' if len(self.measured) == 1 else f', result {index}'}: {error:.3g} at most on {self.samples} random inputs{f' ({dims})' if dims else ''}; "
                        f"bound derived from them {bound:.3g}{shown}")
        return "\n".join(rows)

    __repr__ = __str__


def certify(fn, args: tuple, kwargs: dict, samples: int = 3, seed: int = 0, **words) -> Certificate:
    """With arrays also measured, on random ones of their shapes and dtypes; without, the last call's or the signature's types."""
    policy = fn.options.policy or "deterministic"
    if not args and not kwargs:
        compilation = fn._with_key(lambda: fn._start(arguments.spec_from_words(fn, "cpu", words)))
        compilation.lower("graph")
        return Certificate(fn.__name__, policy, *compiler.certificate(compilation))
    program, given = oracle.prepare(fn, args, kwargs, "graph")
    made = Certificate(fn.__name__, policy, *compiler.certificate(program.compilation))
    for parameter in fn.parameters:
        if arrays.is_array(given.get(parameter.name)) and parameter.dims:
            made.dims.update({d: n for d, n in zip(parameter.dims, np.shape(given[parameter.name])) if d.isidentifier()})
    made.samples = samples
    rng = np.random.default_rng(seed)
    for _ in range(samples):
        inputs = {name: _random(rng, value) for name, value in given.items()}
        exact = program.run(inputs, "bound").results
        bound = arguments.bind(fn, args, kwargs)
        machine = oracle._compiled(fn, (), {**bound, **{n: v for n, v in inputs.items() if n in bound}}, "cpu")
        machine = machine if isinstance(machine, tuple) else (machine,)
        for index, (result, got) in enumerate(zip(exact, machine)):
            if result.values is None or not result.values.size:
                error, most = 0.0, 0.0
            else:
                off = np.abs(np.asarray(got).astype(np.float64) - result.values)
                error, most = float(np.nanmax(off, initial=0)), float(np.max(result.errors, initial=0))
            if index == len(made.measured):
                made.measured.append(error)
                made.bounds.append(most)
            made.measured[index], made.bounds[index] = max(made.measured[index], error), max(made.bounds[index], most)
        values = made.evaluate(inputs)
        made.formulas = [v if old is None else None if v is None else max(v, old) for v, old in zip(values, made.formulas or [0.0] * len(values))]
    return made


def _random(rng, value):
    """Another array like it: normal floats; integers and booleans as they are, because they may be indices."""
    if not arrays.is_array(value):
        return value
    described = arrays.describe(value)
    if by_storage(described.dtype.storage).name not in ("fp64", "fp32", "fp16", "bf16"):
        return value
    array = np.asarray(described.owner)
    return rng.standard_normal(array.shape).astype(array.dtype)
