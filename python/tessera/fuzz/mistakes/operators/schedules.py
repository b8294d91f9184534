"""Words and numbers of schedules, spaces and targets.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from ..text import mistake
from .registry import operator


def _with(text, decorator: str):
    """The program with one more decorator above its main definition."""
    from ..text import Text

    begin = text.line_span(text.main.decorator_list[0])[0]
    return Text(text.source[:begin] + decorator + "\n" + text.source[begin:])


def _scheduled(text, right: str, wrong: str):
    """`right` and `wrong` are what stands in the parentheses of `schedule`."""
    kind = "kernel" if text.is_kernel else "function"
    known = _with(text, f"@tsr.{kind}.schedule({right})")
    first = known.main.decorator_list[0]
    begin = known.span(first)[1] - 1 - len(right)
    return mistake(known, ((begin, begin + len(right)), wrong))


@operator("a schedule number that no machine has", fix="any")
def of_number(text, random):
    words = ("vector=3", "num_warps=0", "num_warps=3", "num_stages=-1", "unroll=0", "threads=-2", "vector=-8", "num_warps=4.5", "num_stages='two'", "num_warps=4096", "split_k=0", "group=0", "max_registers=7")
    return _scheduled(text, "num_warps=4", random.pick(words))


@operator("a tile size that is none", fix="any")
def of_tile(text, random):
    if text.is_kernel:
        return None
    dims = [d.value for p in text.parameters for d in text.dims(p) if isinstance(d.value, str)]
    if not dims:
        return None
    dim = random.pick(dims)
    return _scheduled(text, "num_warps=4", f"tile=dict({dim}={random.pick(('0', '-4', '1.5', repr('big'), '2**40'))})")


@operator("a word of schedules, misspelt")
def of_word(text, random):
    return _scheduled(text, "num_warps=4", random.pick(("num_warp=4", "numwarps=4", "nwarps=4", "num_wraps=4", "warps=4")))


@operator("a const of the schedule, misspelt")
def of_const(text, random):
    from .misspelt import misspelt

    names = [p.arg for p in text.parameters if text.annotation(p) == "const" and p.arg in ("BM", "BN", "BK", "BLOCK", "BLOCK_M", "BLOCK_N")]
    if not names or not text.is_kernel:
        return None
    name = random.pick(names)
    wrong = random.pick((name.lower(), f"BLOCK_{name[1:]}" if len(name) == 2 else misspelt(name, random)))
    return _scheduled(text, f"{name}=8", f"{wrong}=8") if wrong not in names else None


@operator("a schedule without parentheses or without words", fix="any")
def of_form(text, random):
    kind = "kernel" if text.is_kernel else "function"
    known = _with(text, f"@tsr.{kind}.schedule(num_warps=4)")
    return mistake(known, (known.main.decorator_list[0], f"tsr.{kind}.schedule{random.pick(('', '(4)', '(dict(num_warps=4))'))}"),
                   places=lambda wrong, spans: [*spans, wrong.header(wrong.main)])


@operator("a target that is none", fix="any")
def of_target(text, random):
    call = text.call
    end = text.span(call)[1] - 1
    word = random.pick(("gpu", "cuda:0", "sm_9", "x86", "cpu:avx1024", "sim:sm_1", "tpu"))
    return mistake(text, ((end, end), f', target="{word}"'), places=lambda wrong, spans: [wrong.call])


@operator("a space that is no space", fix="any")
def of_space(text, random):
    kind = "kernel" if text.is_kernel else "function"
    known = _with(text, f"@tsr.{kind}.schedule(num_warps=4)")
    word = random.pick(("space=dict(num_warps=4)", "space=[4, 8]", "configs=[4, 8]", "space=dict(num_wraps=[4, 8])", "budget=-1", "space=dict(num_warps=[])"))
    return mistake(known, (known.main.decorator_list[0], f"tsr.{kind}.autotune({word})"), places=lambda wrong, spans: [*spans, wrong.header(wrong.main)])


@operator("a policy or precision that is none")
def of_policy(text, random):
    right, wrong = random.pick((('policy("strict")', 'policy("strikt")'), ('policy("fast")', 'policy("quick")'), ('precision("tf32")', 'precision("tf23")'), ("accum(fp32)", 'accum("fp33")')))
    if "accum" in right or wrong.startswith("policy(\"quick"):
        return None
    known = _with(text, f"@tsr.{right}")
    return mistake(known, (known.main.decorator_list[0], f"tsr.{wrong}"))
