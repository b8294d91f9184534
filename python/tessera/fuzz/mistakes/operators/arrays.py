"""Arrays of the wrong kind: shape, dtype, rank, device, memory.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import re

from ..text import Text, mistake
from .registry import operator, pick


def _given(text) -> list:
    """(what the call gives, the parameter) for arrays that are only read."""
    found = []
    for index, node in enumerate(text.call.args):
        found.append((node, text.parameters[index]))
    for keyword in text.call.keywords:
        found.append((keyword.value, text.parameter(keyword.arg)))
    return [(n, p) for n, p in found if isinstance(n, ast.Name) and p is not None and re.match(r"Tensor\[|^$", text.annotation(p)) and n.id not in ("counted",) and not re.search(rf"^{n.id} = [-\d.TF]", text.source, re.MULTILINE)]


def _whole(wrong, spans) -> list:
    return [wrong.call]


def _replaced(text, random, forms, where=lambda text, node, parameter: True):
    """The call with another argument in place of one; programs that need torch import it."""
    if any("torch." in form for form in forms):
        text = Text("import torch\n" + text.source)
    found = pick(random, [(n, p) for n, p in _given(text) if where(text, n, p)])
    if found is None:
        return None
    return mistake(text, (found[0], random.pick(forms).replace("{x}", found[0].id)), places=_whole)


def _ranked(text, node, parameter) -> bool:
    return len(text.dims(parameter)) >= 1


@operator("a list for an array")
def of_list(text, random):
    return _replaced(text, random, ("{x}.tolist()",), lambda text, node, parameter: "fp32" in text.annotation(parameter))


@operator("an array of another rank", fix="any")
def of_rank(text, random):
    return _replaced(text, random, ("{x}[0]", "{x}[None]", "{x}.reshape(-1, 1, 1, 1)", "{x}[None, None]"), _ranked)


@operator("an array of another dtype")
def of_dtype(text, random):
    return _replaced(text, random, ("{x}.astype(np.float64)", "{x}.astype(np.int32)", "{x}.astype(np.int64)"), lambda text, node, parameter: ", fp32]" in text.annotation(parameter) and not text.is_generated)


@operator("an array of a dtype that no kernel computes with", fix="any")
def of_strange(text, random):
    return _replaced(text, random, ("{x}.astype(np.complex64)", "{x}.astype(str)", "{x}.astype(object)", "{x}.astype(np.uint16)", "{x}.astype(np.longdouble)", "{x}.astype('datetime64[s]')",
                                    "{x}.astype('>f4')"))


@operator("arrays that disagree on a dim", fix="any")
def of_disagree(text, random):
    def shared(text, node, parameter):
        mine = {d.value for d in text.dims(parameter)[:1]}
        others = [d.value for n, p in _given(text) if p is not parameter for d in text.dims(p)]
        return bool(mine & set(others)) and node.id
    return _replaced(text, random, ("{x}[:-1]", "{x}[1:]", "{x}[:0]"), shared)


@operator("a transposed array", fix="any")
def of_transposed(text, random):
    def joined(text, node, parameter):
        if text.is_generated:  # where sizes may be equal
            return False
        dims = [d.value for d in text.dims(parameter)]
        others = [d.value for n, p in _given(text) if p is not parameter for d in text.dims(p)]
        return len(dims) == 2 and dims[0] != dims[1] and any(d in others for d in dims)
    return _replaced(text, random, ("{x}.T",), joined)


@operator("None, a string, a number for an array", fix="any")
def of_nothing(text, random):
    return _replaced(text, random, ("None", "'{x}'", "3", "range(4)", "object()", "dict(a={x})"))


@operator("a tensor that needs a gradient")
def of_gradient(text, random):
    return _replaced(text, random, ('torch.from_numpy({x}.copy()).requires_grad_()',),
                     lambda text, node, parameter: "np.float32" in (text.source[text.source.index(f"\n{node.id} = "):].split("\n")[1] if f"\n{node.id} = " in text.source else ""))


@operator("another kind of tensor", fix="any")
def of_kind(text, random):
    return _replaced(text, random, ("torch.from_numpy({x}.copy()).to_sparse()", 'torch.empty(4, 4, device="meta")', "np.ma.masked_array({x}, {x} > 0)", "np.matrix({x}.reshape({x}.shape[0], -1))",
                                    "memoryview({x}).toreadonly()", "iter({x})"))


def _out(text):
    """The shape that `out=` or an Out has, if the result is one float array of the first input's shape."""
    if not text.is_kernel:
        return None
    outs = [p for p in text.parameters if text.annotation(p).startswith("Out[")]
    return outs[0] if len(outs) == 1 and text.call is text.tree.body[-1].value else None


def _with_out(text, random, forms):
    out = _out(text)
    if out is None:
        return None
    end = text.span(text.call)[1] - 1
    rank = len(text.dims(out))
    form = random.pick(forms).replace("{ones}", ", ".join(["1"] * rank)).replace("{sizes}", ", ".join(["3"] * rank) + ("," if rank == 1 else ""))
    return mistake(text, ((end, end), f", out={form}"), places=_whole)


@operator("an out= of another shape or rank")
def of_out_shape(text, random):
    return _with_out(text, random, ("np.empty(({sizes}), np.float32)", "np.empty((2, 2, 2, 2, 2), np.float32)", "np.empty(0, np.float32)"))


@operator("an out= that cannot be written")
def of_read_only(text, random):
    return _copy_of_result(text, random, ("np.broadcast_to(expected.dtype.type(0), expected.shape)", "frozen(expected)"))


def _copy_of_result(text, random, forms):
    """The right call once, then again into an array that will not do."""
    out = _out(text)
    if out is None:
        return None
    text = Text("import torch\n" + text.source)
    begin, _ = text.line_span(text.tree.body[-1])
    call = text.get(text.call)
    right = text.source[:begin] + f"expected = {call}\n" + text.source[begin:]
    helper = "def frozen(array):\n    array = np.array(array)\n    array.flags.writeable = False\n    return array\n\n\n"
    known = Text(right[:begin] + helper + right[begin:])
    end = known.span(known.call)[1] - 1
    return mistake(known, ((end, end), f", out={random.pick(forms)}"), places=_whole)


@operator("an out= whose elements share memory")
def of_expanded(text, random):
    return _copy_of_result(text, random, ('torch.from_numpy(np.zeros(1, expected.dtype)).expand(*expected.shape)', "np.lib.stride_tricks.as_strided(np.zeros(1, expected.dtype), expected.shape, (0,) * expected.ndim)"))


@operator("an out= that overlaps an input", fix="any")
def of_overlap(text, random):
    out = _out(text)
    given = _given(text)
    if out is None or not given or [d.value for d in text.dims(given[0][1])] != [d.value for d in text.dims(out)]:
        return None
    end = text.span(text.call)[1] - 1
    return mistake(text, ((end, end), f", out={given[0][0].id}"), places=_whole)


@operator("an out= of another dtype", fix="any")
def of_out_dtype(text, random):
    return _copy_of_result(text, random, ("np.empty(expected.shape, np.complex64)", "np.empty(expected.shape, '>f4')", "np.empty(expected.shape, object)"))


@operator("an array on another device", fix="any")
def of_device(text, random):
    return _replaced(text, random, ('torch.from_numpy({x}.copy()).to("meta")',))
