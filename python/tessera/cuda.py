"""GPUs without another library: the machine's devices, arrays in their memory, streams, events.

    x = tsr.cuda.array(numpy_array)             # on GPU 0
    y = softmax(x)                              # compiled for that GPU, runs there
    y.numpy()

The driver is libcuda.so.1, or what TESSERA_CUDA_DRIVER names: the simulator's libtessera_cuda.so poses as a GPU.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import functools
import math

import numpy

from . import _runtime
from .dtypes import as_dtype, to_numpy
from .errors import ArgumentError, DeviceError

# Beside these, the architecture has instructions that only its `a` target may use.
_SUFFIXED = 9


@functools.cache
def device(ordinal: int = 0) -> _runtime.CudaDevice:
    """A GPU of this machine; DeviceError says why there is none."""
    return _runtime.cuda_device(None, ordinal)


def count() -> int:
    """How many GPUs there are; 0 without a driver."""
    try:
        return _runtime.cuda_device_count(None)
    except DeviceError:
        return 0


def target_of(gpu: _runtime.CudaDevice) -> str:
    """What to compile for: "sm_80", "sm_120a"."""
    major, minor = gpu.capability
    return f"sm_{major}{minor}" + ("a" if major >= _SUFFIXED else "")


class DeviceArray:
    """An array in a GPU's memory, row-major contiguous; freed with the object."""

    def __init__(self, shape, dtype, gpu: _runtime.CudaDevice | None = None, stream: int = 0):
        self.gpu = gpu or device()
        known = as_dtype(numpy.dtype(dtype) if isinstance(dtype, str) else dtype)
        if known is None or not known.storage:
            raise ArgumentError(f"{dtype!r} is no element type")
        self.shape, self.dtype = tuple(int(n) for n in ((shape,) if isinstance(shape, int) else shape)), to_numpy(known.storage)
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize
        self.stream = stream
        self.address = self.gpu.allocate(max(self.nbytes, 1), stream)

    def __del__(self):
        if getattr(self, "address", None):
            self.gpu.deallocate(self.address, self.stream)
            self.address = None

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements."""
        return tuple(math.prod(max(n, 1) for n in self.shape[axis + 1:]) for axis in range(len(self.shape)))

    @property
    def __cuda_array_interface__(self) -> dict:
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3, "strides": None,
                "stream": self.stream or 1}

    def numpy(self) -> numpy.ndarray:
        """A copy on the host; waits for the stream."""
        result = numpy.empty(self.shape, self.dtype)
        if self.nbytes:
            self.gpu.copy(result.ctypes.data, self.address, self.nbytes, self.stream)
        self.gpu.synchronize(self.stream)
        return result

    def __repr__(self) -> str:
        return f"<{self.dtype} array of shape {self.shape} on {self.gpu.name}>"


def empty(shape, dtype, gpu: _runtime.CudaDevice | None = None, stream: int = 0) -> DeviceArray:
    return DeviceArray(shape, dtype, gpu, stream)


def array(values, gpu: _runtime.CudaDevice | None = None, stream: int = 0) -> DeviceArray:
    """A copy of an array in a GPU's memory."""
    values = numpy.ascontiguousarray(values).reshape(numpy.shape(values))
    made = DeviceArray(values.shape, values.dtype, gpu, stream)
    if made.nbytes:
        made.gpu.copy(made.address, values.ctypes.data, made.nbytes, stream)
        made.gpu.synchronize(stream)  # `values` may go away
    return made


class Stream:
    """Work in a stream is done in order; streams do not wait for each other."""

    def __init__(self, gpu: _runtime.CudaDevice | None = None):
        self.gpu = gpu or device()
        self.handle = self.gpu.create_stream()

    def synchronize(self) -> None:
        self.gpu.synchronize(self.handle)

    def __del__(self):
        if getattr(self, "handle", None):
            self.gpu.destroy_stream(self.handle)
            self.handle = None


class Timer:
    """`with Timer(gpu, stream) as t: ...`; then `t.milliseconds`, by the GPU's own clock."""

    def __init__(self, gpu: _runtime.CudaDevice, stream: int = 0):
        self.gpu, self.stream = gpu, stream
        self.start, self.end = gpu.create_event(), gpu.create_event()

    def __enter__(self):
        self.gpu.record(self.start, self.stream)
        return self

    def __exit__(self, *_):
        self.gpu.record(self.end, self.stream)

    @property
    def milliseconds(self) -> float:
        return self.gpu.elapsed(self.start, self.end)

    def __del__(self):
        for event in (getattr(self, "start", None), getattr(self, "end", None)):
            if event:
                self.gpu.destroy_event(event)


def stream_handle(stream, library: str, ordinal: int) -> int:
    """The CUstream a call goes to: the one given, else the library's current one."""
    if stream is None:
        if library == "torch":
            import torch

            return torch.cuda.current_stream(ordinal).cuda_stream
        return 0
    if isinstance(stream, int):
        return stream
    for name in ("cuda_stream", "handle", "ptr"):  # torch, ours, CuPy
        if isinstance(getattr(stream, name, None), int):
            return getattr(stream, name)
    raise ArgumentError(f"stream= is {type(stream).__name__}, not a CUDA stream")
