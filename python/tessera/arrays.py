"""NumPy arrays, torch tensors and DLPack objects as the compiler and runtime see them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import math

import numpy

from . import _runtime
from .dtypes import as_dtype, known_storage, to_numpy, to_torch
from .errors import ArgumentError


class Array:
    """Address, sizes, strides (in elements) and dtype of one array."""

    __slots__ = ("owner", "address", "sizes", "strides", "dtype", "library", "writable", "gpu")

    def __init__(self, owner, address, sizes, strides, dtype, library, writable=True, gpu=None):
        self.owner, self.address, self.sizes, self.strides = owner, address, sizes, strides
        self.dtype, self.library, self.writable = dtype, library, writable
        self.gpu = gpu  # a _runtime.CudaDevice; None: host memory

    @property
    def unit_axis(self) -> int:
        """The innermost axis with stride 1, or -1: part of the key, because it is loaded as vectors."""
        strides, sizes = self.strides, self.sizes
        rank = len(sizes)
        if rank == 0:
            return -1
        for axis in range(rank - 1, -1, -1):
            if strides[axis] == 1 and sizes[axis] != 1:
                return axis
        # Only axes of size 1 are left to choose from: their stride is never used, but it must be 1.
        return rank - 1 if strides[rank - 1] == 1 else -1

    def key_sizes(self, whole_axes, named=()) -> tuple:
        """Per axis its size where it belongs to the key, else -1.

        That is: axes that are whole in a tile, and "equals 1" for axes without a name.
        """
        return tuple(
            size if axis in whole_axes or (size == 1 and axis not in named) else -1
            for axis, size in enumerate(self.sizes)
        )

    def for_runtime(self):
        return (self.address, self.sizes, self.strides, _runtime.DTYPES[self.dtype.storage])


def _refuse(message: str, fix: str):
    """An error that goes on the name of an argument: "x" + message; `{x}` in the fix is that name."""
    error = ArgumentError(message)
    error.fix = fix
    raise error


_DLPACK_CUDA = 2
_DLPACK = {0: "i", 1: "u", 2: "f", 4: "bf", 5: "c", 6: "bool"}  # codes of element types, as our storage types begin


def is_on_gpu(value) -> bool:
    if isinstance(value, (numpy.ndarray, numpy.generic, type)):
        return False
    if getattr(value, "is_cuda", None) is True:  # torch
        return True
    if hasattr(value, "data_ptr"):
        return False
    if hasattr(value, "__cuda_array_interface__"):
        return True
    return hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] == _DLPACK_CUDA


def describe(value, gpu: bool = False) -> Array | None:
    """`value` as an Array, or None if it is no array; `gpu`: it may be in a GPU's memory."""
    if isinstance(value, type):
        return None
    if isinstance(value, numpy.ndarray):
        return _from_numpy(value)
    module = type(value).__module__.partition(".")[0]
    if module == "torch" or hasattr(value, "data_ptr"):
        return _from_torch(value, gpu)
    if is_on_gpu(value):
        return _from_gpu(value, gpu)
    if isinstance(value, numpy.generic):
        return None
    if hasattr(value, "__dlpack__"):
        return _from_numpy(numpy.from_dlpack(value), owner=value)
    return None


def is_array(value) -> bool:
    return isinstance(value, numpy.ndarray) or (not isinstance(value, (type, numpy.generic)) and (
        hasattr(value, "__dlpack__") or hasattr(value, "data_ptr") or hasattr(value, "__cuda_array_interface__")))


def _nearest_dtype(given) -> str:
    return {"i": "int64", "u": "int64"}.get(given.kind, "float32")


def _plain(value: numpy.ndarray) -> numpy.ndarray:
    """As NumPy's own class sees it: a subclass may say anything of its shape, and mean anything by its elements."""
    if type(value) is numpy.ndarray:
        return value
    if isinstance(value, numpy.ma.MaskedArray):
        _refuse("is a masked array, and no kernel knows its mask", "{x}.filled(0)")
    if not isinstance(value, numpy.memmap):
        _refuse(f"is a {type(value).__module__}.{type(value).__name__}, which may mean something else by its elements than numpy.ndarray", "np.asarray({x})")
    return numpy.ndarray.view(value, numpy.ndarray)


def _from_numpy(value: numpy.ndarray, owner=None) -> Array:
    value = _plain(value)
    ours = as_dtype(value.dtype)
    if ours is None or not ours.storage:
        _refuse(f"is an array of {value.dtype}, which no kernel computes with",
                "{x}.real" if value.dtype.kind == "c" else f'{{x}}.astype("{_nearest_dtype(value.dtype)}")')
    if not value.dtype.isnative:
        _refuse(f"is an array of {value.dtype}, in foreign byte order", '{x}.astype({x}.dtype.newbyteorder("="))')
    size = value.itemsize
    strides = value.strides
    if any(stride % size for stride in strides):
        _refuse(f"has strides {strides}, no multiples of its item size {size}", "{x}.copy()")
    return Array(
        owner if owner is not None else value,
        value.__array_interface__["data"][0],
        value.shape,
        tuple(stride // size for stride in strides),
        ours,
        "numpy",
        value.flags.writeable,
    )


def _from_gpu(value, allowed: bool) -> Array:
    """What has `__cuda_array_interface__`: ours, CuPy's, Numba's."""
    from . import cuda

    if not allowed:
        _refuse("is an array on a GPU, but this version runs on the CPU", "{x}.numpy()" if isinstance(value, cuda.DeviceArray) else "{x}.get()")
    if isinstance(value, cuda.DeviceArray):
        return Array(value, value.address, value.shape, value.strides, as_dtype(value.dtype), "cuda", True, value.gpu)
    if not hasattr(value, "__cuda_array_interface__"):
        address, sizes, strides, code, bits, ordinal, owner = _runtime.dlpack_view(value)
        kind = _DLPACK.get(code, "?")
        ours = known_storage(kind if kind == "bool" else f"{kind}{bits}")
        if ours is None:
            _refuse(f"is an array of DLPack type {code} with {bits} bits, which no kernel computes with", "a float32 array")
        return Array((value, owner), address, sizes, strides, ours, "cuda", True, cuda.device(ordinal))
    known = value.__cuda_array_interface__
    element = numpy.dtype(known["typestr"])
    ours = as_dtype(element)
    if ours is None or not ours.storage or not element.isnative:
        _refuse(f"is an array of {known['typestr']}, which no kernel computes with", '{x}.astype("float32")')
    shape, (address, read_only), strides = tuple(known["shape"]), known["data"], known.get("strides")
    if strides is None:
        strides, step = [], element.itemsize
        for size in reversed(shape):
            strides.insert(0, step)
            step *= max(size, 1)
    if any(stride % element.itemsize for stride in strides):
        _refuse(f"has strides {tuple(strides)}, no multiples of its item size {element.itemsize}", "{x}.copy()")
    library = type(value).__module__.partition(".")[0]
    gpu = _runtime.cuda_device_of(address) if address else cuda.device()
    return Array(value, address, shape, tuple(stride // element.itemsize for stride in strides), ours, library if library == "cupy" else "cuda", not read_only, gpu)


def _from_torch(value, gpu: bool = False) -> Array | None:
    try:
        device = value.device
    except AttributeError:
        return None
    _refuse_other_tensors(value)
    on = None
    if device.type == "cuda" and gpu:
        from . import cuda

        on = cuda.device(device.index or 0)
    elif device.type == "meta":
        _refuse("is a meta tensor: it has a shape and no elements", "torch.zeros_like({x}, device=\"cpu\")")
    elif device.type != "cpu":
        _refuse(f"is a tensor on {device}, but this version runs on the CPU", "{x}.cpu()")
    ours = as_dtype(value.dtype)
    if ours is None or not ours.storage:
        _refuse(f"is a tensor of {value.dtype}, which no kernel computes with", "{x}.float()")
    is_lazy = value.is_conj() or value.is_neg()  # its memory does not hold what it stands for: a copy does, which nobody sees written
    if is_lazy:
        value = value.resolve_conj().resolve_neg()
    try:
        address = value.data_ptr()
    except RuntimeError:  # torch.func's: a batch or a gradient under way
        _refuse("is a tensor of torch.func (vmap, grad, ...), which has no memory of its own", "call it outside of the transformation")
    return Array(value, address, tuple(value.shape), value.stride(), ours, "torch", not is_lazy, on)


def _refuse_other_tensors(value) -> None:
    """An error for a tensor that is no plain memory with sizes and strides."""
    import torch

    if not isinstance(value, torch.Tensor):
        return
    kind = type(value)
    hooks = [getattr(hook, "__func__", hook) for hook in (kind.__torch_function__, kind.__torch_dispatch__)]
    if hooks[0] not in (torch.Tensor.__torch_function__.__func__, torch._C._disabled_torch_function_impl) or hooks[1] is not torch.Tensor.__torch_dispatch__:
        _refuse(f"is a {kind.__module__}.{kind.__name__}, which may mean something else by its elements than torch.Tensor", "{x}.as_subclass(torch.Tensor)")
    if value.is_quantized:
        _refuse("is a quantised tensor", "{x}.dequantize()")
    if value.is_nested:
        _refuse("is a nested tensor", "{x}.to_padded_tensor(0.0)")
    if value.layout is not torch.strided:
        _refuse(f"is a tensor of layout {value.layout}", "{x}.to_dense()")


def _memory_of(value):
    """The elements as a NumPy array of some dtype; None if they are elsewhere."""
    if isinstance(value, numpy.ndarray):
        return value
    if not hasattr(value, "detach") or is_on_gpu(value):
        return None
    import torch

    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[value.element_size()]
    return value.detach().resolve_neg().view(bits).numpy()


def _share(a, b) -> bool:
    try:
        return numpy.shares_memory(a, b, max_work=10**6)
    except numpy.exceptions.TooHardError:
        return numpy.may_share_memory(a, b)


def refuse_overlap(destinations: list, given: dict) -> None:
    """An error for arrays of out= that share memory with each other or an argument: the runtime sees the fresh memory that is then copied into them."""
    views = [view for view in map(_memory_of, destinations) if view is not None]
    for i, view in enumerate(views):
        if any(stride == 0 and size > 1 for stride, size in zip(view.strides, view.shape)):
            _refuse("out= is written, but overlaps itself in memory", "out=np.empty(...)")
        if any(_share(view, other) for other in views[:i]):
            _refuse("out= is written, but overlaps another out= in memory", "arrays of their own in out=")
        for name, value in given.items():
            other = _memory_of(value)
            if other is not None and _share(view, other):
                _refuse(f"out= is written, but overlaps {name} in memory; pass a copy of one of them", f"{name}.copy()")


def drops_gradient(value) -> bool:
    """Whether a result of this tensor would have to carry a gradient, which none of ours does."""
    if type(value).__module__.partition(".")[0] != "torch" and not hasattr(value, "data_ptr"):
        return False
    if getattr(value, "requires_grad", False) is not True:
        return False
    import torch

    return torch.is_grad_enabled()


_filled: contextvars.ContextVar = contextvars.ContextVar("_filled", default=False)


@contextlib.contextmanager
def filled():
    """New arrays in this block are full of NaN (integers: -1): an element that is never written shows, and does not happen to hold
    the result of an earlier run."""
    token = _filled.set(True)
    try:
        yield
    finally:
        _filled.reset(token)


_aligned: contextvars.ContextVar = contextvars.ContextVar("_aligned", default=False)


@contextlib.contextmanager
def aligned():
    """New NumPy arrays in this block lie as GPUs allocate, at multiples of 256 bytes: what is counted does not depend on the host's luck."""
    token = _aligned.set(True)
    try:
        yield
    finally:
        _aligned.reset(token)


def _at_256(shape: tuple, dtype) -> numpy.ndarray:
    size = numpy.dtype(dtype).itemsize * math.prod(shape)
    room = numpy.empty(size + 256, numpy.uint8)
    start = -room.__array_interface__["data"][0] % 256
    return room[start:start + size].view(dtype).reshape(shape)


def _fill(address: int, storage: str, size: int) -> None:
    if _filled.get():
        ctypes.memset(address, 1 if storage == "bool" else 255, size)


def allocate(library: str, storage: str, shape: tuple, gpu=None, stream: int = 0):
    """A new array, and its address."""
    if library == "torch":
        import torch

        found = _runtime.make_array(_runtime.DTYPES[storage], shape, torch.Tensor) if gpu is None else None
        made = found[0] if found else torch.empty(shape, dtype=to_torch(storage), device=None if gpu is None else f"cuda:{gpu.ordinal}")
        if gpu is None:
            _fill(made.data_ptr(), storage, made.nbytes)
        return made, made.data_ptr()
    if gpu is not None and library == "cupy":
        import cupy

        with cupy.cuda.Device(gpu.ordinal):
            made = cupy.empty(shape, dtype=to_numpy(storage))
        return made, made.data.ptr
    if gpu is not None:
        from . import cuda

        made = cuda.DeviceArray(shape, to_numpy(storage), gpu, stream)
        return made, made.address
    if _aligned.get():
        made = _at_256(shape, to_numpy(storage))
    else:
        made, _ = _runtime.make_array(_runtime.DTYPES[storage], shape, numpy.dtype(to_numpy(storage)))
    address = made.__array_interface__["data"][0]
    _fill(address, storage, made.nbytes)
    return made, address


def note_written(tensors: list) -> None:
    """Tells torch that these were written, as its own operations in place do: autograd then refuses what it had saved of them."""
    if tensors:
        from torch.autograd.graph import increment_version

        increment_version(tensors)


def copy_into(target, value, name: str) -> None:
    """Copies a result into an array of any strides."""
    if tuple(target.shape) != tuple(value.shape) or target.dtype != value.dtype:
        _refuse(f"{name} is {tuple(target.shape)} {target.dtype}, but the result is {tuple(value.shape)} {value.dtype}",
                f'out=np.empty({tuple(value.shape)}, "{value.dtype}")')
    target[...] = value


def constant(x):
    """A read-only copy of an array, for weights: what calls have to prepare of it, such as a packed operand, is kept as long as it lives.

    A NumPy array gives a read-only NumPy array, a torch tensor a torch tensor; torch does not know
    read-only memory, and writing to it ends the process. Pass it to a call or capture it like any array.
    """
    array = describe(x, gpu=True)
    if array is None:
        raise ArgumentError(f"tsr.constant takes an array, not {type(x).__name__}")
    if array.gpu is not None:
        raise ArgumentError("tsr.constant takes an array in the host's memory, not on a GPU: kernels there read weights as they are")
    if array.library != "torch":
        whole = numpy.ascontiguousarray(numpy.from_dlpack(x) if not isinstance(x, numpy.ndarray) else _plain(x))
        return _runtime.make_constant(whole.__array_interface__["data"][0], whole.nbytes).view(whole.dtype).reshape(array.sizes)
    if drops_gradient(x):
        raise ArgumentError("tsr.constant: the tensor requires a gradient, and a constant has none; tsr.constant(x.detach()) says that this is meant")
    import warnings

    import torch

    whole = x.detach().resolve_conj().resolve_neg().contiguous()
    kept = _runtime.make_constant(whole.data_ptr(), whole.numel() * whole.element_size())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it is read-only, which is meant
        return torch.from_numpy(kept).view(whole.dtype).view(whole.shape)
