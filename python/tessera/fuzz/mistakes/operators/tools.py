"""Mistakes in `check`, `compile`, `inspect_ir`, `explain`, `tune`, `profile`, `resume`, `run` and `trace`.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast

from ..text import Text, mistake
from .registry import operator, pick


def _call(text, verb: str, more: str = "", without: int = 0) -> str:
    """`f.verb(x, y, more)` of the call of the last line."""
    parts = [text.get(a) for a in (*text.call.args[: len(text.call.args) - without], *text.call.keywords)]
    return f"{text.get(text.call.func)}.{verb}({', '.join([*parts, *([more] if more else [])])})"


def _line(text, right: str, wrong: str, places=None):
    """The program with one more line at its end, the right one and the wrong one; the caret belongs into what is not the same."""
    end = text.line_span(text.tree.body[-1])[1]
    source = text.source[:end] + right + "\n" + text.source[end:]
    return mistake(Text(source), ((end, end + len(right)), wrong), places=places)


def _one_result(text) -> bool:
    """One array comes back, new with each call."""
    outs = [p for p in text.parameters if text.annotation(p).startswith("Out")]
    last = text.main.body[-1]
    if not isinstance(text.tree.body[-1].value, ast.Call) or text.is_generated:
        return False
    return len(outs) == 1 if text.is_kernel else isinstance(last, ast.Return) and not isinstance(last.value, ast.Tuple)


def _reference(text, random, forms):
    if not _one_result(text):
        return None
    names = ", ".join(p.arg for p in text.parameters if text.annotation(p) != "const" and not text.annotation(p).startswith("Out") and text.default_of(p) is None)
    right = _call(text, "check", f"show=False, reference=lambda {names}: result")
    form = random.pick(forms)
    return _line(text, right, right.replace(": result)", f": {form})"))


@operator("a reference that is transposed or has one axis more")
def of_shape(text, random):
    if text.is_kernel and "1" in (text.annotation(p) for p in text.parameters):
        return None
    return _reference(text, random, ("result.T", "result[None]", "result[..., None]", "(result,) * 1 and result[None]"))


@operator("a reference of another shape or count", fix="any")
def of_count(text, random):
    return _reference(text, random, ("result[:1, ..., :1, None, None]", "(result, result)", "None", "result.sum()", "[]", "result.astype(object)", "result * 1j", "'text'", "result[:3]"))


@operator("words of check that it has not", fix="any")
def of_check(text, random):
    if text.is_generated or not isinstance(text.tree.body[-1].value, ast.Call):
        return None
    more = random.pick(("rtol=1e-3", "atol=1e-2", "tolerance=0.1", "expected=result", "ref=lambda *given: result", "golden=result", "verbose=True", "reference=result", "target='cuda'", "device='cpu'"))
    return _line(text, _call(text, "check", "show=False"), _call(text, "check", f"show=False, {more}"))


@operator("words of compile, inspect_ir and explain that they have not", fix="any")
def of_compile(text, random):
    name = text.get(text.call.func)
    wrong = random.pick((f"{name}.compile(target='cuda')", f"{name}.compile(target='gpu')", f"{name}.compile(backend='cpu')", f"{name}.inspect_ir()", f"{name}.inspect_ir('ttgir')", f"{name}.inspect_ir('llvm')",
                         f"{name}.inspect_ir(stage='tiles')", f"{name}.explain(verbose=True)", f"{name}.inspect_ir(3)", f"{name}.compile(target=3)", f"{name}.compile(targets='sm_80')",
                         f"{name}.inspect_ir('tile', target='sm_9000')", f"{name}.compile(q=fp16)", f"{name}.explain('graph')"))
    right = f"{name}.inspect_ir('graph')" if not text.is_generated else ""
    return _line(text, right, wrong) if right else None


@operator("words of tune, profile and performance_report that they have not", fix="any")
def of_tune(text, random):
    if text.is_generated or not isinstance(text.tree.body[-1].value, ast.Call):
        return None
    verb, more = random.pick((("tune", "trials=3"), ("tune", "seconds='1'"), ("tune", "budget=0"), ("tune", "n_trials=5"), ("tune", "configs=[1]"), ("tune", "time=2"),
                              ("performance_report", "target='cuda'"), ("performance_report", "arch='sm_80'"), ("tune", "numerics='loose'"), ("tune", "space=[1, 2]"), ("tune", "seconds=-1")))
    return _line(text, "", _call(text, verb, more)) if verb else None


@operator("words of run, trace, bisect and certificate that they have not", fix="any")
def of_run(text, random):
    if text.is_generated or not isinstance(text.tree.body[-1].value, ast.Call):
        return None
    verb, more = random.pick((("run", "stage='llvm'"), ("run", "domain='float64'"), ("trace", "stage='ptx'"), ("run", "level='tile'"), ("trace", "steps=3"), ("bisect", "stage='tile'"), ("certificate", "n=3"),
                              ("run", "stage=3"), ("trace", "domain='double'"), ("run", "interpret=True")))
    return _line(text, "", _call(text, verb, more))


@operator("resume of what is no text of a stage", fix="any")
def of_resume(text, random):
    name = text.get(text.call.func)
    wrong = random.pick((f"{name}.resume(3)", f"{name}.resume({name})", f"{name}.resume('module {{')", f"{name}.resume({name}.compile())", f"{name}.resume('')", f"{name}.resume()"))
    return _line(text, "", wrong) if not text.is_generated else None


# ---- kernels that functions call ----------------------------------------------------------------


def _inner(text, random):
    """The call of a kernel in a function."""
    kernels = {d.name: d for d in text.tree.body if isinstance(d, ast.FunctionDef) and d is not text.main and any("kernel" in ast.unparse(e) for e in d.decorator_list)}
    call = pick(random, text.inside(ast.Call, where=lambda c: isinstance(c.func, ast.Name) and c.func.id in kernels)) if not text.is_kernel else None
    return (call, kernels[call.func.id]) if call else (None, None)


@operator("a kernel in a function that is given where it writes")
def of_destination(text, random):
    call, kernel = _inner(text, random)
    if call is None:
        return None
    out = next((i for i, p in enumerate(kernel.args.args) if ast.unparse(p.annotation or ast.Constant(0)).startswith("Out")), None)
    if out is None or out != len(call.args):
        return None
    first = text.get(call.args[0])
    given = [text.get(a) for a in call.args]
    return mistake(text, (call, f"{call.func.id}({', '.join([*given, random.pick((f'tsr.zeros_like({first})', first))])})"))


@operator("a kernel in a function that lacks an argument", fix="any")
def of_lacking(text, random):
    call, _ = _inner(text, random)
    if call is None or len(call.args) < 2:
        return None
    return mistake(text, (call, f"{call.func.id}({', '.join(text.get(a) for a in call.args[:-1])})"))


@operator("a kernel in a function with an argument too many, or a grid", fix="any")
def of_more(text, random):
    call, _ = _inner(text, random)
    if call is None:
        return None
    given = ", ".join(text.get(a) for a in call.args)
    return mistake(text, (call, random.pick((f"{call.func.id}[(4,)]({given})", f"{call.func.id}({given}, {given}, {given}, {given}, {given})", f"{call.func.id}({given}, axis=1)", f"{call.func.id}({given}, num_warps=4)",
                                             f"{call.func.id}.run({given})"))))
