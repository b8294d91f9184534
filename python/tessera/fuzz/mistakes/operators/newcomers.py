"""What people who come from NumPy, PyTorch, Triton, CUDA, JAX and Numba type.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import re

from ..text import mistake
from .registry import around, operator, pick


def _loads(text) -> list:
    """`X[m, n]` that is read, of the parameters of a kernel; names and ranges alone."""
    names = {p.arg for p in text.parameters if re.match(r"Tensor|InOut", text.annotation(p))} if text.is_kernel else set()
    return text.inside(ast.Subscript, where=lambda n: isinstance(n.value, ast.Name) and n.value.id in names and isinstance(n.ctx, ast.Load)
                       and re.fullmatch(r"\w+\[\w+(, \w+)*\]", text.get(n)) is not None)


def _tensor(text, random):
    """A tensor of a function that is read as a name alone, and whose method can be called."""
    names = {p.arg for p in text.parameters if text.annotation(p).startswith("Tensor") or not text.annotation(p)} if not text.is_kernel and not text.is_generated else set()
    return pick(random, text.inside(ast.Name, where=lambda n: n.id in names and isinstance(n.ctx, ast.Load) and text.default_of(text.parameter(n.id)) is None
                                    and isinstance(text.parents[n], (ast.BinOp, ast.Call)) and n is not getattr(text.parents[n], "func", None)))


# ---- Triton and CUDA ----------------------------------------------------------------------------


@operator("Triton's pointers and offsets")
def of_offsets(text, random):
    node = pick(random, [n for n in _loads(text) if isinstance(n.slice, ast.Name)])
    if node is None:
        return None
    name, index = node.value.id, node.slice.id
    return mistake(text, (node, random.pick((f"tl.load({name} + {index}.index)", f"tsr.load({name} + {index})", f"tl.load({name} + {index}, mask={index}.index < 1000)", f"{name} + {index}"))), places=around)


@operator("mask= and other= of a load")
def of_mask(text, random):
    node = pick(random, _loads(text))
    if node is None:
        return None
    index = text.get(node.slice)
    first = index.split(",")[0]
    listed = index if "," in index else index + ","
    return mistake(text, (node, f"tsr.load({node.value.id}, ({listed}), {random.pick((f'mask={first}.index >= 0, other=0.0', 'other=0.0', f'mask={first}.index >= 0, padding=0.0', 'eviction_policy=' + repr('evict_last')))})"), places=around)


@operator("tl.constexpr, int and other annotations of constants")
def of_constexpr(text, random):
    parameter = pick(random, [p for p in text.parameters if text.annotation(p) == "const" and isinstance(text.default_of(p), ast.Constant) and type(text.default_of(p).value) is int])
    if parameter is None:
        return None
    return mistake(text, (parameter.annotation, random.pick(("tl.constexpr", "constexpr", "tsr.constexpr", "Const", "static"))),
                   places=lambda wrong, spans: [*spans, wrong.parameter(parameter.arg), *(wrong.span(wrong.statement(n)) for n in wrong.uses(parameter.arg))])


@operator("functions of CUDA C")
def of_cuda(text, random):
    words = {"maximum": ("fmaxf", "fmax"), "minimum": ("fminf", "fmin"), "exp": ("expf", "__expf"), "sqrt": ("sqrtf",), "rsqrt": ("rsqrtf",), "abs": ("fabsf", "fabs")}
    call = pick(random, text.calls_of(*words))
    return mistake(text, (call.func, random.pick(words[text.name_of(call)]))) if call else None


@operator("atomicAdd of CUDA")
def of_atomic(text, random):
    call = pick(random, text.calls_of("atomic_add"))
    if call is None:
        return None
    array, index, value = text.get(call.args[0]), text.get(call.args[1]).strip("()").rstrip(","), text.get(call.args[2])
    return mistake(text, (call, random.pick((f"atomicAdd({array}, {index}, {value})", f"tsr.atomic_add({array}[{index}], {value})", f"tl.atomic_add({array} + {index}, {value})",
                                             f"np.add.at({array}, {index}, {value})", f"tsr.atomicAdd({array}, ({index},), {value})"))))


@operator("a barrier, a fence, shared memory", fix="right")
def of_barrier(text, random):
    node = pick(random, text.assignments()) if text.is_kernel else None
    if node is None:
        return None
    form = random.pick(("__syncthreads()", "tl.debug_barrier()", "tsr.barrier()", "cuda.syncthreads()", "tsr.syncthreads()", "tl.multiple_of(BLOCK, 16)"))
    return mistake(text, (node, f"{form}\n{text.indent(node)}{text.get(node)}"), places=lambda wrong, spans: around(wrong, spans))


@operator("a thread's index of CUDA or Numba", fix="any")
def of_thread(text, random):
    node = pick(random, [n for n in _loads(text) if isinstance(n.slice, ast.Name)])
    if node is None:
        return None
    return mistake(text, (node.slice, random.pick(("threadIdx.x", "blockIdx.x * blockDim.x + threadIdx.x", "cuda.grid(1)", "tl.program_id(0) * 32 + tl.arange(0, 32)"))), places=around)


@operator("a loop of Python over the starts of tiles")
def of_starts(text, random):
    loop = pick(random, [n for n in text.inside(ast.For) if text.is_kernel and isinstance(n.iter, ast.Call) and text.name_of(n.iter) == "tile" and len(n.iter.args) == 2 and not n.iter.keywords])
    if loop is None:
        return None
    dim, size = (text.get(a) for a in loop.iter.args)
    form = random.pick((f"range(0, {dim}, {size})", f"range(tsr.cdiv({dim}, {size}))", f"range({dim} // {size})", f"tl.range(0, {dim}, {size})", f"prange(0, {dim}, {size})", f"tsr.range({dim}, {size})"))
    return mistake(text, (loop.iter, form), places=lambda wrong, spans: [*around(wrong, spans), *(wrong.span(wrong.statement(n)) for n in wrong.uses(text.get(loop.target)))])


# ---- torch --------------------------------------------------------------------------------------


@operator("torch.nn.functional, F and modules")
def of_functional(text, random):
    call = pick(random, text.calls_of("relu", "softmax", "sigmoid", "tanh", "embedding"))
    return mistake(text, (call.func, f"{random.pick(('F', 'torch.nn.functional', 'nn.functional', 'torch'))}.{text.name_of(call)}")) if call else None


@operator("a method that moves or copies a tensor")
def of_moves(text, random):
    node = _tensor(text, random)
    return mistake(text, (node, f"{node.id}.{random.pick(('cuda', 'cpu', 'detach', 'contiguous', 'clone', 'numpy', 'copy'))}()"), places=around) if node else None


@operator("torch.tensor, np.array, np.float32 of a number")
def of_number(text, random):
    node = pick(random, text.inside(ast.Constant, where=lambda n: isinstance(n.value, float) and isinstance(text.parents[n], ast.BinOp)))
    return mistake(text, (node, f"{random.pick(('torch.tensor', 'np.array', 'np.float32', 'torch.as_tensor', 'tsr.tensor', 'jnp.array'))}({text.get(node)})"), places=around) if node else None


@operator("zeros of sizes in another library's words in a function")
def of_zeros(text, random):
    call = pick(random, text.calls_of("zeros")) if not text.is_kernel else None
    if call is None or not isinstance(call.args[0], ast.Tuple) or len(call.args[0].elts) != 1:
        return None
    size = text.get(call.args[0].elts[0])
    return mistake(text, (call, random.pick((f"np.zeros({size})", f"torch.zeros({size})", f"np.zeros(({size},), dtype=np.float32)", f"torch.zeros({size}, dtype=torch.float32)", f"jnp.zeros({size})"))), places=around)


@operator("enumerate, zip, reversed in a loop", fix="any")
def of_enumerate(text, random):
    loop = pick(random, [n for n in text.inside(ast.For) if not text.is_kernel and isinstance(n.iter, ast.Call) and text.get(n.iter).startswith("range(") and isinstance(n.target, ast.Name)])
    row = pick(random, [p for p in text.parameters if len(text.dims(p)) == 2])
    if loop is None or row is None:
        return None
    form = random.pick((f"{loop.target.id}, row in enumerate({row.arg})", f"{loop.target.id} in reversed({text.get(loop.iter)})", f"{loop.target.id}, row in zip({text.get(loop.iter)}, {row.arg})"))
    return mistake(text, ((text.span(loop.target)[0], text.span(loop.iter)[1]), form), places=around)


@operator("a boolean mask as an index", fix="any")
def of_boolean(text, random):
    call = pick(random, [c for c in text.calls_of("where") if len(c.args) == 3 and isinstance(c.args[1], ast.Name)])
    return mistake(text, (call, f"{text.get(call.args[1])}[{text.get(call.args[0])}]"), places=around) if call else None


@operator("variance in the words of NumPy and torch")
def of_variance(text, random):
    call = pick(random, [c for c in text.calls_of("var") if c.keywords and isinstance(c.args[0], ast.Name)]) if not text.is_generated else None
    if call is None or {k.arg: text.get(k.value) for k in call.keywords}.get("correction") != "0":
        return None
    x, dim = text.get(call.args[0]), next(text.get(k.value) for k in call.keywords if k.arg in ("dim", "axis"))
    forms = (f"np.var({x}, axis={dim})", f"tsr.var({x}, dim={dim}, ddof=0)", f"{x}.var({dim}, ddof=0)", f"tsr.var({x}, axis={dim}, unbiased=False)", f"torch.var({x}, dim={dim}, unbiased=False)",
             f"{x}.var(dim={dim}, unbiased=False)", f"np.var({x}, {dim})", f"np.var({x}, axis={dim}, ddof=0)", f"tsr.variance({x}, dim={dim}, correction=0)",
             f"tsr.std({x}, dim={dim}, correction=0) ** 2", f"torch.var({x}, {dim}, correction=0)", f"jnp.var({x}, axis={dim})")
    return mistake(text, (call, random.pick(forms)), places=around)


@operator("a cast by a dtype's name")
def of_cast(text, random):
    call = pick(random, text.inside(ast.Call, where=lambda c: isinstance(c.func, ast.Attribute) and c.func.attr == "to" and len(c.args) == 1 and text.get(c.args[0]) == "fp32"))
    if call is None:
        return None
    value = text.get(call.func.value)
    return mistake(text, (call, random.pick((f"np.float32({value})", f"tl.cast({value}, tl.float32)", f"float({value})", f"{value}.to(torch.float)", f"{value}.to('float32')", f"{value}.to(np.float32, copy=False)",
                                             f"tsr.float32({value})", f"{value}.as_type(fp32)", f"{value}.convert(fp32)"))), places=around)


@operator("a reduction that keeps its axis, by slices")
def of_last(text, random):
    call = pick(random, [c for c in text.calls_of("sum", "max", "min", "mean") if text.is_kernel and len(c.args) == 2 and isinstance(text.parents[c], ast.BinOp)])
    return mistake(text, (call, f"{text.get(call)}{random.pick(('[:, None]', '.unsqueeze(1)', '.reshape(-1, 1)', '[:, np.newaxis]', '.expand_dims(1)'))}"), places=around) if call else None


@operator("a product in einsum")
def of_einsum(text, random):
    node = pick(random, text.inside(ast.BinOp, where=lambda n: isinstance(n.op, ast.MatMult))) or pick(random, [])
    if node is None or text.is_generated:
        return None
    left, right = text.get(node.left), text.get(node.right)
    return mistake(text, (node, random.pick((f"np.einsum('ik,kj->ij', {left}, {right})", f"tsr.einsum('ik,kj->ij', {left}, {right})", f"torch.einsum('ik,kj->ij', {left}, {right})", f"np.tensordot({left}, {right}, 1)",
                                             f"torch.bmm({left}, {right})", f"jnp.dot({left}, {right})", f"tl.dot({left}, {right}, allow_tf32=False)"))), places=around)


@operator("lax loops and .at of JAX", fix="any")
def of_jax(text, random):
    stores = text.assignments(ast.Subscript, lambda n: isinstance(n.targets[0].value, ast.Name) and ":" not in text.get(n.targets[0])) if text.is_kernel else []
    node = pick(random, stores)
    if node is None:
        return None
    target, value = text.get(node.targets[0]), text.get(node.value)
    array, index = text.get(node.targets[0].value), text.get(node.targets[0].slice).strip("()")
    return mistake(text, (node, random.pick((f"{array} = {array}.at[{index}].set({value})", f"{array}.at[{index}].set({value})", f"pl.store({array}, ({index},), {value})", f"{target} <- {value}".replace(" <- ", " == "),
                                             f"np.copyto({target}, {value})"))), places=around)


@operator("print in the words of C and Triton")
def of_print(text, random):
    node = pick(random, text.assignments(ast.Name))
    if node is None:
        return None
    name = node.targets[0].id
    form = random.pick((f'tl.device_print("{name}", {name})', f'printf("%f", {name})', f'tsr.print("{name}", {name})', f'print("{name} = %f" % {name})', f'print("{name} = {{}}".format({name}))', f'tl.static_print({name})', f'jax.debug.print("{{}}", {name})'))
    return mistake(text, (node, f"{text.get(node)}\n{text.indent(node)}{form}"), places=lambda wrong, spans: [(wrong.source.index(form, spans[0][0]), spans[0][1])])


@operator("a decorator of another library", fix="any")
def of_decorator(text, random):
    node = text.main.decorator_list[-1]
    if ast.unparse(node) not in ("tsr.kernel", "tsr.function"):
        return None
    kind = "kernel" if text.is_kernel else "function"
    dims = [d.value for p in text.parameters for d in text.dims(p) if isinstance(d.value, str) and d.value.isidentifier()]
    key = dims[0] if dims else "M"
    form = random.pick((f"tsr.{kind}(num_warps=4)", "tsr.jit", f"tsr.{kind}(target='cpu')", f"tsr.{kind}.autotune(configs=[dict(BM=16)], key=['{key}'])", f"tsr.{kind}.tune", f"tsr.{kind}.schedule", f"tsr.{kind}(autotune=True)"))
    return mistake(text, (node, form), places=lambda wrong, spans: [(spans[0][0] - 1, spans[0][1]), wrong.header(wrong.main)])


@operator("whole arrays in a kernel")
def of_whole_array(text, random):
    stores = text.assignments(ast.Subscript, lambda n: re.fullmatch(r"\w+\[\w+(, \w+)*\]", text.get(n.targets[0])) is not None) if text.is_kernel else []
    node = pick(random, stores)
    if node is None:
        return None
    array = text.get(node.targets[0].value)
    return mistake(text, (node.targets[0], random.pick((f"{array}[...]", f"{array}[:]", array))), places=around)
