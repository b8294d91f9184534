"""Words of NumPy, torch, Triton, JAX and Python that do not exist here, or are spelt otherwise.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast

from ..text import mistake
from .registry import operator, pick

SAME_IN_NUMPY = ("exp", "sqrt", "abs", "maximum", "minimum", "where", "sum", "mean", "max", "cumsum", "argmax", "sin", "cos", "floor", "ceil", "matmul")
SAME_IN_TORCH = ("exp", "sqrt", "rsqrt", "abs", "maximum", "minimum", "where", "sum", "mean", "relu", "sigmoid", "tanh", "clamp", "cumsum", "matmul", "softmax", "cat")
SAME_IN_TRITON = ("exp", "sqrt", "rsqrt", "abs", "maximum", "minimum", "where", "sum", "max", "cdiv", "cumsum", "sigmoid")
NAMES = {
    "maximum": ("fmax",), "abs": ("absolute", "fabs"), "exp": ("expf",), "mean": ("average", "reduce_mean"), "sum": ("reduce_sum",), "max": ("amax", "reduce_max"),
    "min": ("amin",), "clamp": ("clip",), "cat": ("concatenate",), "matmul": ("dot", "mm"), "cumsum": ("cumulative_sum",), "rsqrt": ("inv_sqrt",),
    "argmax": ("arg_max",), "full": ("fill",), "load": ("ld",), "relu": ("ReLU",), "softmax": ("soft_max",), "zeros": ("zeroes",)
}


def _module(text, random, module: str, names: tuple):
    call = pick(random, text.calls_of(*names))
    return mistake(text, (call.func, f"{module}.{text.name_of(call)}")) if call else None


@operator("np.exp for tsr.exp")
def numpy(text, random):
    return _module(text, random, "np", SAME_IN_NUMPY)


@operator("torch.exp for tsr.exp")
def torch(text, random):
    return _module(text, random, "torch", SAME_IN_TORCH)


@operator("tl.exp for tsr.exp")
def triton(text, random):
    return _module(text, random, "tl", SAME_IN_TRITON)


@operator("a function's name of another library")
def other_name(text, random):
    from tessera import language

    call = pick(random, [c for c in text.calls_of(*NAMES)])
    if call is None:
        return None
    word = random.pick(NAMES[text.name_of(call)])
    return None if word in language.__all__ or word == "fill" else mistake(text, (call.func, f"tsr.{word}"))


@operator("math.exp of a tile or tensor")
def of_math(text, random):
    call = pick(random, text.calls_of("exp", "sqrt", "sin", "cos", "tanh", "floor", "ceil"))
    return mistake(text, (call.func, f"math.{text.name_of(call)}")) if call else None


@operator("Python's max, min, sum of tiles or tensors")
def of_python(text, random):
    call = pick(random, [c for c in text.calls_of("maximum", "minimum") if len(c.args) == 2])
    return mistake(text, (call.func, text.name_of(call)[:3])) if call else None


@operator("astype, type, float for to")
def of_astype(text, random):
    call = pick(random, text.inside(ast.Call, where=lambda c: isinstance(c.func, ast.Attribute) and c.func.attr == "to" and len(c.args) == 1))
    if call is None:
        return None
    value, dtype = text.get(call.func.value), text.get(call.args[0])
    forms = [f"{value}.astype({dtype})", f"{value}.type({dtype})", f"{value}.cast({dtype})", f"tsr.cast({value}, {dtype})"]
    forms += {"fp32": [f"{value}.float()", f"{value}.astype(np.float32)", f"fp32({value})", f"{value}.to(tl.float32)", f"{value}.to(torch.float32)"], "i32": [f"{value}.int()"],
              "fp16": [f"{value}.half()"], "i64": [f"{value}.long()"], "fp64": [f"{value}.double()"]}.get(dtype, [])
    return mistake(text, (call, random.pick(forms)))


@operator("a product in another library's words")
def of_product(text, random):
    node = pick(random, text.inside(ast.BinOp, where=lambda n: isinstance(n.op, ast.MatMult)))
    if node is None:
        return None
    left, right = text.get(node.left), text.get(node.right)
    return mistake(text, (node, random.pick((f"tl.dot({left}, {right})", f"np.dot({left}, {right})", f"tsr.dot({left}, {right})", f"torch.mm({left}, {right})", f"{left}.dot({right})",
                                             f"{left}.mm({right})", f"np.matmul({left}, {right})"))))


@operator("Triton's load and store")
def of_triton_memory(text, random):
    node = pick(random, text.inside(ast.Assign, where=lambda n: isinstance(n.value, ast.Subscript) and isinstance(n.value.value, ast.Name) and isinstance(n.value.slice, (ast.Name, ast.Tuple))
                                    and text.parameter(n.value.value.id) is not None and ":" not in text.get(n.value))) if text.is_kernel else None
    if node is None:
        return None
    name, index = node.value.value.id, text.get(node.value.slice).strip("()")
    index = index if "," in index else index + ","
    forms = (f"tl.load({name}, ({index}))", f"tl.load({name} + {index.rstrip(',')})" if index.count(",") == 1 and index.endswith(",") else f"tl.load({name}, ({index}))", f"tsr.load({name}, ({index}), other=0.0)")
    return mistake(text, (node.value, random.pick(forms)))


@operator("a shape in another library's words")
def of_shape(text, random):
    node = pick(random, text.inside(ast.Subscript, where=lambda n: isinstance(n.value, ast.Attribute) and n.value.attr == "shape" and isinstance(n.slice, (ast.Constant, ast.UnaryOp))))
    if node is None:
        return None
    value, axis = text.get(node.value.value), text.get(node.slice)
    return mistake(text, (node, random.pick((f"{value}.size({axis})", f"np.shape({value})[{axis}]", f"{value}.dim({axis})"))))


@operator("a filled tile in another library's words")
def of_zeros(text, random):
    call = pick(random, text.calls_of("zeros", "ones")) if text.is_kernel else None
    if call is None or not all(isinstance(a, ast.Name) for a in call.args) or call.keywords:
        return None
    name, axes = text.name_of(call), [a.id for a in call.args]
    blocks = [_block_of(text, axis) for axis in axes]
    if not all(blocks):
        return None
    shape = f"({', '.join(blocks)}{',' if len(blocks) == 1 else ''})"
    return mistake(text, (call, random.pick((f"tl.{name}({shape}, dtype=tl.float32)", f"tsr.{name}({shape})", f"np.{name}({shape}, np.float32)", f"torch.{name}({', '.join(blocks)})"))))


def _block_of(text, axis: str) -> str:
    """The block size that a range was made with."""
    for loop in text.inside(ast.For):
        names = [loop.target] if isinstance(loop.target, ast.Name) else getattr(loop.target, "elts", [])
        calls = loop.iter.args if "tsr.grid" in text.get(loop.iter) else [loop.iter]
        for name, call in zip(names, calls):
            if name.id == axis and isinstance(call, ast.Call) and len(call.args) == 2:
                return text.get(call.args[1])
    return ""


@operator("a grid in another library's words")
def of_grid(text, random):
    loop = text.grid()
    if loop is None or len(loop.iter.args) != 1 or not isinstance(loop.target, ast.Name) or loop.iter.keywords or not isinstance(loop.iter.args[0], ast.Call):
        return None
    dim, block = (text.get(a) for a in loop.iter.args[0].args)
    forms = (f"range(0, {dim}, {block})", f"tsr.grid(tsr.cdiv({dim}, {block}))", f"tsr.grid({dim}, {block})", f"range(tsr.cdiv({dim}, {block}))", f"tsr.tile({dim}, {block})",
             f"tsr.grid(tl.cdiv({dim}, {block}))")
    return mistake(text, (loop.iter, random.pick(forms)), places=lambda wrong, spans: [_header_of(wrong, spans[0]), *wrong.uses(loop.target.id)])


def _header_of(text, span) -> tuple:
    return next((text.header(loop) for loop in text.inside(ast.For) if text.span(loop.iter)[0] == span[0]), span)


@operator("the grid's block and dim swapped")
def of_tile(text, random):
    call = pick(random, [c for c in text.calls_of("tile") if len(c.args) == 2 and all(isinstance(a, ast.Name) for a in c.args)])
    return mistake(text, (call.args[0], text.get(call.args[1])), (call.args[1], text.get(call.args[0])), places=lambda wrong, spans: [(spans[0][0] - 9, spans[1][1] + 1)]) if call else None


@operator("a constant of another library")
def of_constant(text, random):
    node = pick(random, text.inside(ast.Attribute, where=lambda n: ast.unparse(n) in ("tsr.inf", "math.pi")))
    return mistake(text, (node, random.pick(("torch.inf", 'float("infinity")', "tl.inf", "np.infty")))) if node and node.attr == "inf" else None
