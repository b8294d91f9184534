"""Indices, ranges and accumulators of kernels.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import re

from ..text import mistake
from .registry import around, around_uses, operator, pick


def _arrays(text) -> set:
    return {p.arg for p in text.parameters if re.match(r"Tensor|Out|InOut|Region", text.annotation(p))}


def _indexed(text, loads_only: bool = True, where=lambda n: True) -> list:
    """`X[m, n]` of parameters of a kernel."""
    names = _arrays(text) if text.is_kernel else set()
    return text.inside(ast.Subscript, where=lambda n: isinstance(n.value, ast.Name) and n.value.id in names and (isinstance(n.ctx, ast.Load) or not loads_only) and where(n))


def _index(text, node) -> list:
    return [text.get(e) for e in (node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])]


def _ranges(text) -> dict:
    """The dim that a range goes over, by its name."""
    found = {}
    for loop in text.inside(ast.For):
        names = [loop.target] if isinstance(loop.target, ast.Name) else getattr(loop.target, "elts", [])
        calls = loop.iter.args if "tsr.grid" in text.get(loop.iter) else [loop.iter]
        for name, call in zip(names, calls):
            if isinstance(call, ast.Call) and text.name_of(call) == "tile":
                found[name.id] = text.get(call.args[0])
    return found


@operator("indices swapped")
def of_swap(text, random):
    node = pick(random, _indexed(text, where=lambda n: len(_index(text, n)) == 2 and all(i in _ranges(text) or i == ":" for i in _index(text, n))
                                 and len({_ranges(text).get(i, i) for i in _index(text, n)}) == 2))
    return mistake(text, (node, f"{node.value.id}[{', '.join(_index(text, node)[::-1])}]")) if node else None


@operator("a range of another dim")
def of_other_range(text, random):
    ranges = _ranges(text)
    node = pick(random, _indexed(text, where=lambda n: any(i in ranges for i in _index(text, n)) and len(ranges) > 1))
    if node is None:
        return None
    index = _index(text, node)
    at = random.pick([i for i, each in enumerate(index) if each in ranges])
    other = pick(random, [r for r in ranges if ranges[r] != ranges[index[at]] and r not in index])
    if other is None or text.line_of(text.span(node)[0]) < min(n.lineno for n in text.uses(other)):
        return None
    loops = [ast.unparse(loop.target) for loop in text.loops_around(node)]
    if not any(re.search(rf"\b{other}\b", target) for target in loops):
        return None
    index[at] = other
    return mistake(text, (node, f"{node.value.id}[{', '.join(index)}]"))


@operator("an index too few")
def of_too_few(text, random):
    node = pick(random, _indexed(text, where=lambda n: len(_index(text, n)) >= 2))
    return mistake(text, (node, f"{node.value.id}[{', '.join(_index(text, node)[:-1])}]")) if node else None


@operator("an index too many")
def of_too_many(text, random):
    node = pick(random, _indexed(text, where=lambda n: len(_index(text, n)) == 1 and _index(text, n)[0] in _ranges(text)))
    return mistake(text, (node, f"{node.value.id}[{_index(text, node)[0]}, 0]")) if node else None


@operator("a slice for a range")
def of_slice(text, random):
    ranges = _ranges(text)
    node = pick(random, _indexed(text, where=lambda n: any(i in ranges for i in _index(text, n))))
    if node is None:
        return None
    index = _index(text, node)
    at = random.pick([i for i, each in enumerate(index) if each in ranges])
    index[at] = random.pick((f"{index[at]}.start:{index[at]}.stop", f"{index[at]}.start:{index[at]}.start + {index[at]}.size"))
    return mistake(text, (node, f"{node.value.id}[{', '.join(index)}]"))


@operator("a slice before the index")
def of_shifted(text, random):
    node = pick(random, _indexed(text, where=lambda n: len(_index(text, n)) == 1 and _index(text, n)[0] in _ranges(text)))
    return mistake(text, (node, f"{node.value.id}[0:][{_index(text, node)[0]}]")) if node else None


@operator("a slice with a step or an end of a whole axis", fix="any")
def of_stepped(text, random):
    node = pick(random, _indexed(text, where=lambda n: ":" in _index(text, n)))
    if node is None:
        return None
    index = _index(text, node)
    index[index.index(":")] = random.pick(("::2", ":-1", "1:", "::-1"))
    return mistake(text, (node, f"{node.value.id}[{', '.join(index)}]"), places=around)


@operator("an index at the size of the dim")
def of_past_the_end(text, random):
    node = pick(random, _indexed(text, where=lambda n: any(re.fullmatch(r"[A-Z]+ - 1", i) for i in _index(text, n))))
    return mistake(text, (node, text.get(node).replace(" - 1", "", 1))) if node else None


@operator("a range in arithmetic without .index")
def of_no_index(text, random):
    node = pick(random, text.inside(ast.Attribute, where=lambda n: n.attr == "index" and isinstance(n.value, ast.Name)))
    return mistake(text, (node, node.value.id), places=around_uses(text, node)) if node else None


@operator("the accumulator's start left out")
def of_no_start(text, random):
    starts = [n for n in text.inside(ast.Assign) if isinstance(n.targets[0], ast.Name) and isinstance(n.value, ast.Call) and text.name_of(n.value) in ("zeros", "full")
              and sum(isinstance(each.ctx, ast.Store) for each in text.uses(n.targets[0].id)) > 1]
    node = pick(random, starts)
    if node is None:
        return None
    name = node.targets[0].id
    return mistake(text, (text.line_span(node), ""), places=lambda wrong, spans: wrong.uses(name)) if len(text.uses(name)) > 1 else None


@operator("a number as the accumulator's start")
def of_number_start(text, random):
    call = pick(random, [c for c in text.calls_of("zeros", "full") if isinstance(text.parents[c], ast.Assign) and text.is_kernel])
    if call is None:
        return None
    name = text.get(text.parents[call].targets[0])
    number = "0.0" if text.name_of(call) == "zeros" else text.get(call.args[0])
    return mistake(text, (call, number), places=lambda wrong, spans: [*spans, *(wrong.span(wrong.statement(n)) for n in wrong.uses(name))])


@operator("the accumulator overwritten in the loop")
def of_overwritten(text, random):
    node = pick(random, text.inside(ast.AugAssign, where=lambda n: isinstance(n.target, ast.Name) and text.is_kernel))
    if node is None:
        return None
    return mistake(text, (node, f"{node.target.id} = {text.get(node.value)}"), places=lambda wrong, spans: [(spans[0])])


@operator("the accumulator has another axis", fix="any")
def of_other_axes(text, random):
    call = pick(random, [c for c in text.calls_of("zeros") if text.is_kernel and len(c.args) == 2])
    if call is None:
        return None
    name = text.get(text.parents[call].targets[0]) if isinstance(text.parents[call], ast.Assign) else ""
    return mistake(text, (call, f"tsr.zeros({text.get(call.args[0])})"), places=lambda wrong, spans: [*spans, *(wrong.span(wrong.statement(n)) for n in wrong.uses(name))])


@operator("the operands of a product swapped")
def of_operands(text, random):
    if text.is_generated and not text.is_kernel:
        return None
    node = pick(random, text.inside(ast.BinOp, where=lambda n: isinstance(n.op, ast.MatMult)))
    if node:
        return mistake(text, (node, f"{text.get(node.right)} @ {text.get(node.left)}"))
    call = pick(random, [c for c in text.calls_of("matmul") if "transpose" not in text.get(c)])
    return mistake(text, (call, f"tsr.matmul({text.get(call.args[1])}, {text.get(call.args[0])})")) if call else None


@operator("* for @", fix="any")
def of_times(text, random):
    node = pick(random, text.inside(ast.BinOp, where=lambda n: isinstance(n.op, ast.MatMult) and not text.is_generated))
    return mistake(text, (node, f"{text.get(node.left)} * {text.get(node.right)}"), places=around_uses(text, node)) if node else None


@operator("the transpose left out")
def of_no_transpose(text, random):
    if text.is_generated:
        return None
    node = pick(random, text.inside(ast.Attribute, where=lambda n: n.attr == "T"))
    if node:
        return mistake(text, (node, text.get(node.value)), places=around_uses(text, node))
    call = pick(random, text.inside(ast.Call, where=lambda c: isinstance(c.func, ast.Attribute) and c.func.attr == "transpose" and isinstance(text.parents[c], ast.Call)))
    return mistake(text, (call, text.get(call.func.value)), places=around_uses(text, call)) if call else None


@operator("a reduction along another axis")
def of_reduced_axis(text, random):
    ranges = _ranges(text)
    call = pick(random, [c for c in text.calls_of("sum", "max", "min", "mean") if text.is_kernel and len(c.args) == 2 and isinstance(c.args[0], ast.Subscript)])
    if call is None:
        return None
    index = _index(text, call.args[0])
    other = pick(random, [i for i in index if i in ranges and i != text.get(call.args[1])])
    return mistake(text, (call.args[1], other), places=around) if other else None


@operator("a reduction without its axis", fix="any", legal=True)
def of_no_axis(text, random):
    call = pick(random, [c for c in text.calls_of("sum", "max", "min") if text.is_kernel and len(c.args) == 2 and isinstance(c.args[0], ast.Subscript)])
    if call is None:
        return None
    begin, end = text.span(call)
    return mistake(text, (call, f"{text.get(call.func)}({text.get(call.args[0])})"), places=around)


@operator("a reduction left out", fix="any", legal=True)
def of_no_reduction(text, random):
    call = pick(random, [c for c in text.calls_of("sum", "max", "min", "mean") if text.is_kernel and len(c.args) == 2])
    return mistake(text, (call, text.get(call.args[0])), places=around_uses(text, call)) if call else None


@operator("keepdims in a kernel")
def of_keepdims(text, random):
    call = pick(random, [c for c in text.calls_of("sum", "max", "min", "mean") if text.is_kernel and len(c.args) == 2])
    word = random.pick(("keepdims", "keepdim", "keep_dims"))
    return mistake(text, (call, f"{text.get(call)[:-1]}, {word}=True)"), places=around) if call else None


@operator("a store that lacks an axis of the grid", fix="any")
def of_race(text, random):
    loop = text.grid()
    if loop is None or not isinstance(loop.target, ast.Name):
        return None
    inner = pick(random, [n for n in loop.body if isinstance(n, ast.For) and isinstance(n.target, ast.Name) and text.name_of(n.iter) == "tile" and not n.iter.keywords])
    # Without a use of it all programs along the axis store the same, which is no race.
    if inner is None or len(text.uses(inner.target.id)) < 2 or len(loop.iter.args) != 1:
        return None
    head = f"for {text.get(loop.target)}, {text.get(inner.target)} in tsr.grid({text.get(loop.iter.args[0])}, {text.get(inner.iter)}):"
    begin, end = text.span(loop.body[0])[0], text.span(inner)[0]
    body = "\n".join(line.removeprefix("    ") for line in text.source[text.span(inner.body[0])[0] : text.span(inner)[1]].split("\n"))
    return mistake(text, (text.header(loop), head), ((end, text.span(inner)[1]), body),
                   places=lambda wrong, spans: [wrong.header(wrong.grid()), *wrong.grid().body])


@operator("two grids", fix="any")
def of_two_grids(text, random):
    loop = text.grid()
    if loop is None:
        return None
    indent = text.indent(loop)
    again = f"\n{indent}{text.get(loop)}"
    return mistake(text, ((text.span(loop)[1],) * 2, again), places=lambda wrong, spans: [(spans[0][0] + 1, spans[0][1])])


@operator("a range over a dim written by hand", fix="any")
def of_range_at(text, random):
    call = pick(random, [c for c in text.calls_of("range_at") if len(c.args) == 3])
    if call is None:
        return None
    parts = [text.get(a) for a in call.args]
    return mistake(text, (call, f"tsr.range_at({', '.join(parts[1:])})"))


@operator("tile without its block, or without its dim", fix="any")
def of_tile(text, random):
    call = pick(random, [c for c in text.calls_of("tile") if len(c.args) == 2])
    return mistake(text, (call, f"tsr.tile({text.get(call.args[random.below(2)])})"), places=around) if call else None


@operator("a store through a call")
def of_store_form(text, random):
    node = pick(random, text.inside(ast.Assign, where=lambda n: isinstance(n.targets[0], ast.Subscript) and isinstance(n.targets[0].value, ast.Name) and n.targets[0].value.id in _arrays(text)
                                    and ":" not in text.get(n.targets[0])))
    if node is None or not text.is_kernel:
        return None
    name, index, value = node.targets[0].value.id, ", ".join(_index(text, node.targets[0])), text.get(node.value)
    forms = (f"tl.store({name}, ({index},), {value})", f"{name} = {value}", f"{name}[{index}].copy_({value})", f"tsr.store({name}, {value})")
    return mistake(text, (node, random.pick(forms)))


@operator("an Out that is read", fix="any")
def of_read_out(text, random):
    outs = {p.arg for p in text.parameters if text.annotation(p).startswith("Out")}
    node = pick(random, text.inside(ast.Assign, where=lambda n: isinstance(n.targets[0], ast.Subscript) and isinstance(n.targets[0].value, ast.Name) and n.targets[0].value.id in outs))
    if node is None:
        return None
    return mistake(text, (node, f"{text.get(node.targets[0])} = {text.get(node.targets[0])} + {text.get(node.value)}"),
                   places=lambda wrong, spans: [*spans, *wrong.parameters])


@operator("an assignment through an index of a tile")
def of_masked_store(text, random):
    call = pick(random, text.assigned_choices())
    if call is None:
        return None
    node = text.parents[call]
    name, value = node.targets[0].id, text.get(call.args[1])
    if name != value:
        return None
    return mistake(text, (node, f"{name}[~({text.get(call.args[0])})] = {text.get(call.args[2])}"))


@operator("the grid inside a loop, or a loop before it", fix="any")
def of_inner_grid(text, random):
    loop = text.grid()
    inner = pick(random, [n for n in loop.body if isinstance(n, ast.For)]) if loop else None
    return mistake(text, (inner.iter, f"tsr.grid({text.get(inner.iter)})"), places=around) if inner and text.name_of(inner.iter) == "tile" else None


@operator("the axes of an index in another order")
def of_order(text, random):
    """`X[n, m.index + 1]` for `X[m.index + 1, n]`, in a load or a store."""
    nodes = text.inside(ast.Subscript, where=lambda n: text.is_kernel and isinstance(n.slice, ast.Tuple) and len(n.slice.elts) == 2 and isinstance(n.value, ast.Name)
                        and all(re.fullmatch(r"[\w.* +-]+", text.get(e)) for e in n.slice.elts) and text.parameter(n.value.id) is not None)
    node = pick(random, [n for n in nodes if len(set(map(text.get, n.slice.elts))) == 2])
    if node is None:
        return None
    first, second = map(text.get, node.slice.elts)
    return mistake(text, (node, f"{node.value.id}[{second}, {first}]"), places=around)


@operator("the row's range for a vector along the columns")
def of_vector(text, random):
    loads = text.inside(ast.Subscript, where=lambda n: text.is_kernel and isinstance(n.ctx, ast.Load) and text.get(n).endswith("[:]"))
    node, grid = pick(random, loads), text.grid()
    if node is None or not isinstance(grid.target, ast.Name):
        return None
    return mistake(text, (node, f"{text.get(node.value)}[{grid.target.id}]"))


@operator("the grid counts blocks")
def of_blocks(text, random):
    grid = text.grid() if text.is_kernel else None
    tiles = [a for a in grid.iter.args if isinstance(a, ast.Call) and text.name_of(a) == "tile" and len(a.args) == 2] if grid else []
    if not tiles:
        return None
    form = random.pick(("tsr.cdiv({}, {})", "{} // {}"))
    return mistake(text, *((each, form.format(*map(text.get, each.args))) for each in tiles), places=lambda wrong, spans: around(wrong, spans))


@operator("another axis of a reduction")
def of_axis(text, random):
    calls = [(c, k) for c in text.calls_of("sum", "mean", "max", "var") for k in c.keywords if text.is_kernel and k.arg == "dim" and text.get(k.value) in ("1", "-1")]
    found = pick(random, calls)
    return mistake(text, (found[1].value, "0"), places=around) if found else None


@operator("integers in a product of floats")
def of_integers(text, random):
    calls = text.inside(ast.Call, where=lambda n: text.is_kernel and isinstance(n.func, ast.Attribute) and n.func.attr == "to" and isinstance(text.parents[text.parents[n]], ast.BinOp))
    node = pick(random, calls)
    return mistake(text, (node, text.get(node.func.value)), places=around) if node else None


@operator("sizes of tiles for their axes")
def of_sizes(text, random):
    """`tsr.zeros((BM, K))`, as Triton and NumPy have it."""
    grid = text.grid() if text.is_kernel else None
    ranges = {}
    for loop in text.inside(ast.For):
        names = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        calls = loop.iter.args if loop is grid else [loop.iter]
        ranges.update({text.get(n): text.get(c.args[1]) for n, c in zip(names, calls) if isinstance(c, ast.Call) and text.name_of(c) == "tile" and len(c.args) == 2})
    call = pick(random, [c for c in text.calls_of("zeros", "ones") if c.args and any(text.get(a) in ranges for a in c.args)])
    if call is None:
        return None
    sizes = ", ".join(ranges.get(text.get(a), text.get(a)) for a in call.args)
    listed = sizes + ("," if len(call.args) == 1 else "")
    return mistake(text, (call, f"tsr.{text.name_of(call)}({random.pick((sizes, f'({listed})', f'[{sizes}]'))})"))


@operator("the store goes into an input")
def of_input(text, random):
    stores = [n for n in text.assignments(ast.Subscript) if text.is_kernel and isinstance(n.targets[0].value, ast.Name)]
    out = {p.arg: [ast.unparse(d) for d in text.dims(p)] for p in text.parameters if text.annotation(p).startswith("Out[")}
    alike = [(n, p.arg) for n in stores for p in text.parameters if text.annotation(p).startswith("Tensor[") and out.get(n.targets[0].value.id) == [ast.unparse(d) for d in text.dims(p)]]
    found = pick(random, alike) if len(out) == 1 else None
    return mistake(text, (found[0].targets[0].value, found[1])) if found else None
