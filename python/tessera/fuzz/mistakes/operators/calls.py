"""Calls that do not fit the signature.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast

from ..text import mistake
from .misspelt import misspelt
from .registry import operator, pick


def _whole(wrong, spans) -> list:
    return [wrong.call]


@operator("an argument missing", fix="any")
def of_missing(text, random):
    call = text.call
    if not call.args or len(call.args) + len(call.keywords) < 2:
        return None
    kept = [text.get(a) for a in (*call.args[:-1], *call.keywords)]
    return mistake(text, (call, f"{text.get(call.func)}({', '.join(kept)})"), places=_whole)


@operator("an argument too many", fix="any")
def of_extra(text, random):
    call = text.call
    if len(text.parameters) > 6 or not call.args:
        return None
    more = ", ".join([text.get(call.args[-1])] * (len(text.parameters) + 1 - len(call.args)))
    end = text.span(call.args[-1])[1]
    return mistake(text, ((end, end), f", {more}"), places=_whole)


@operator("a keyword that is no parameter")
def of_keyword(text, random):
    call = text.call
    end = text.span(call)[1] - 1
    dims = [d.value for p in text.parameters for d in text.dims(p) if isinstance(d.value, str) and d.value.isidentifier() and text.parameter(d.value) is None]
    words = ["axis=0", "num_warps=4", "grid=(1,)", 'device="cpu"', *(f"{d}=64" for d in dims[:1])]
    return mistake(text, ((end, end), f", {random.pick(words)}"), places=_whole)


@operator("dtype= at a call", fix="any")
def of_dtype(text, random):
    end = text.span(text.call)[1] - 1
    return mistake(text, ((end, end), f", dtype={random.pick(('np.float32', repr('float32'), 'tsr.fp16'))}"), places=_whole)


@operator("a keyword of the call, misspelt")
def of_misspelt(text, random):
    keyword = pick(random, [k for k in text.call.keywords if len(k.arg) > 3 and k.arg.isalpha()])
    return mistake(text, (keyword, f"{misspelt(keyword.arg, random)}={text.get(keyword.value)}"), places=_whole) if keyword else None


@operator("an argument twice")
def of_twice(text, random):
    call = text.call
    if not call.args:
        return None
    end = text.span(call)[1] - 1
    name = text.parameters[0].arg
    return mistake(text, ((end, end), f", {name}={text.get(call.args[0])}"), places=_whole)


@operator("a launch grid")
def of_grid(text, random):
    call = text.call
    grid = random.pick(("(4,)", "4", "(4, 2)", "lambda meta: (4,)"))
    return mistake(text, (call.func, f"{text.get(call.func)}[{grid}]"))


@operator("a float for a const")
def of_float(text, random):
    const = pick(random, [p for p in text.parameters if text.annotation(p) == "const" and isinstance(text.default_of(p), ast.Constant) and type(text.default_of(p).value) is int])
    if const is None or any(k.arg == const.arg for k in text.call.keywords):
        return None
    end = text.span(text.call)[1] - 1
    value = text.default_of(const).value
    return mistake(text, ((end, end), f", {const.arg}={value}.0"), places=_whole)


@operator("a string, a list or an array for a const", fix="any")
def of_const(text, random):
    const = pick(random, [p for p in text.parameters if text.annotation(p) == "const" and isinstance(text.default_of(p), ast.Constant) and type(text.default_of(p).value) is int])
    if const is None or any(k.arg == const.arg for k in text.call.keywords):
        return None
    end = text.span(text.call)[1] - 1
    return mistake(text, ((end, end), f", {const.arg}={random.pick(('[16, 32]', 'np.ones(3)', repr('16'), 'None', '0', '-8'))}"), places=lambda wrong, spans: [wrong.span(wrong.main), wrong.call])


@operator("a string or None for a number", fix="any")
def of_scalar(text, random):
    scalars = {p.arg for p in text.parameters if text.annotation(p) in ("fp32", "i64", "i32")}
    keyword = pick(random, [k for k in text.call.keywords if k.arg in scalars])
    if keyword is None:
        positional = [a for a, p in zip(text.call.args, text.parameters) if p.arg in scalars]
        node = pick(random, positional)
        return mistake(text, (node, random.pick(("'3'", "None", "[3.0]", "1e300"))), places=_whole) if node else None
    return mistake(text, (keyword.value, random.pick(("'3'", "None", "[3.0]", "np.ones(3)"))), places=lambda wrong, spans: [wrong.call, wrong.parameter(keyword.arg)])


@operator("a verb or attribute that a function has not", fix="any")
def of_attribute(text, random):
    name = text.get(text.call.func)
    word = random.pick(("warmup", "ptx", "asm", "forward", "apply", "jit", "lower_ir", "cost_analysis", "best_config"))
    return mistake(text, (text.call, f"{name}.{word}({', '.join(text.get(a) for a in (*text.call.args, *text.call.keywords))})"), places=lambda wrong, spans: spans)


@operator("a stage that is none", fix="any")
def of_stage(text, random):
    name = text.get(text.call.func)
    line = text.line_span(text.tree.body[-1])[1]
    word = random.pick(('"tiles"', '"ttir"', '"ptx"', '"schedule"', '"asm"', '"mlir"'))
    return mistake(text, ((line, line), f"{name}.inspect_ir({word})\n"))


@operator("target, stream, out that make no sense", fix="any")
def of_reserved(text, random):
    end = text.span(text.call)[1] - 1
    return mistake(text, ((end, end), f", {random.pick(('out=3', 'out=[1.0]', 'stream=3', 'target=3', 'target=None', 'stream=' + repr('main')))}"), places=_whole)
