# A host for kernels in CuTe DSL: its own compile and launch path, on the simulator.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run unmodified programs in CuTe DSL on CPU tensors in a process without a GPU:

    import tessera.sim.cute
    host = tessera.sim.cute.activate("sm_90a", check=True)  # before `import cutlass`
    compiled = cute.compile(function, *tensors)             # of torch, on the CPU
    compiled(*tensors)

CuTe DSL compiles as always; the PTX takes the place of the cubin in the host
code it generates, and libtessera_cute.so the place of its runtime library.
Errors found while a kernel runs are raised as SimulationError.
"""

import atexit
import ctypes
import itertools
import os
import re
import shutil
import sys
import tempfile

from ._native import library_path
from .device import SimError
from .host import SimulationError, TensorHost
from .tensor_map import encode_tiled

__all__ = ["CuteHost", "SimulationError", "activate"]

_P, _I, _U, _S = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t
_OUT = ctypes.POINTER(_P)
_SUCCESS, _NOT_FOUND, _FAILED = 0, 500, 719
_CUDA = 2  # kDLCUDA

# Compiled programs outlive a host: what they loaded, and their kernels.
_numbers = itertools.count(1)
_texts, _functions = {}, {}


class _Attribute(ctypes.Structure):
    _fields_ = [("id", _I), ("pad", _I), ("dims", _U * 16)]


class _Config(ctypes.Structure):
    """cudaLaunchConfig_t"""
    _fields_ = [("grid", _U * 3), ("block", _U * 3), ("shared", _S),
                ("stream", _P), ("attributes", ctypes.POINTER(_Attribute)),
                ("count", _U)]


class CuteHost(TensorHost):
    """What CuTe DSL's host code calls instead of CUDA."""

    def __init__(self, arch, **options):
        super().__init__(arch, **options)
        self.modules = {}  # by the number of their text: loaded here
        self.problem = None

    def answer(self, function):
        """Turns what a function raises into the error that CUDA would return."""
        def answered(*arguments):
            try:
                return function(*arguments) or _SUCCESS
            except Exception as error:
                self.problem = error
                return _FAILED
        return answered

    def load(self, out, text, *options):
        number = next(_numbers)
        _texts[number] = ctypes.string_at(text).decode()
        self.module(number)
        out[0] = number

    def module(self, number):
        if number not in self.modules:
            self.modules[number] = self.device.load(_texts[number])
        return self.modules[number]

    def unload(self, number):
        self.modules.pop(number, None)
        _texts.pop(number, None)

    def kernel(self, out, number, name):
        if name.decode() not in self.module(number).kernels():
            return _NOT_FOUND
        handle = next(_numbers)
        _functions[handle] = (name.decode(), number)
        out[0] = handle

    def device_attribute(self, value, attribute, device):
        value[0] = self.board.attributes(self.arch).get(attribute, 0)

    def function_attribute(self, value, *which):
        value[0] = 0

    def occupancy(self, value, *which):
        value[0] = 1

    def first(self, value):
        value[0] = 0

    def one(self, value):
        value[0] = 1

    def nothing(self, *arguments):
        pass

    def encode(self, out, type_, rank, base, dims, strides, box, steps,
               interleave, swizzle, promotion, fill):
        raw = encode_tiled(type_, base, dims[:rank], strides[:rank - 1],
                           box[:rank], steps[:rank], swizzle=swizzle,
                           fill=fill, interleave=interleave)
        ctypes.memmove(out, raw, len(raw))

    def launch(self, config, function, arguments):
        c, options = config[0], {}
        for attribute in c.attributes[:c.count]:
            if attribute.id == 2:
                options["cooperative"] = bool(attribute.dims[0])
            elif attribute.id == 4:
                options["cluster"] = tuple(attribute.dims[:3])
            elif attribute.id == 6:
                options["programmatic"] = bool(attribute.dims[0])
        self.start(function, tuple(c.grid), tuple(c.block), c.shared,
                   arguments, **options)

    def launch_plain(self, function, gx, gy, gz, bx, by, bz, stream, shared,
                     arguments):
        self.start(function, (gx, gy, gz), (bx, by, bz), shared, arguments)

    def start(self, function, grid, block, shared, arguments, **options):
        name, number = _functions[function]
        module = self.module(number)
        layout = module.parameters(name)
        params = bytearray(max([o + s for o, s in layout], default=0))
        for index, (offset, size) in enumerate(layout):
            params[offset:offset + size] = ctypes.string_at(arguments[index], size)
        if options.get("cluster") == (0, 0, 0):
            del options["cluster"]
        self.execute(name, module, _texts[number], bytes(params), grid=grid,
                     block=block, shared=shared, **options)

    def raise_problem(self):
        """What a callback could not raise through compiled code."""
        problem, self.problem = self.problem, None
        if problem is not None:
            raise problem


_INTS = ctypes.POINTER(_I)
_U64S, _U32S = ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(_U)
_SIGNATURES = [  # name, what answers, types of its arguments
    ("_cudaLibraryLoadData", "load", [_OUT, _P, _P, _P, _U, _P, _P, _U]),
    ("_cudaLibraryUnload", "unload", [_P]),
    ("_cudaLibraryGetKernel", "kernel", [_OUT, _P, ctypes.c_char_p]),
    ("_cudaDeviceGetAttribute", "device_attribute", [_INTS, _I, _I]),
    ("_cuKernelGetAttribute", "function_attribute", [_INTS, _I, _P, _I]),
    ("_cudaKernelSetAttributeForDevice", "nothing", [_P, _I, _I, _I]),
    ("_cudaFuncSetAttribute", "nothing", [_P, _I, _I]),
    ("_cudaOccupancyMaxActiveBlocksPerMultiprocessor", "occupancy", [_INTS, _P, _I, _S]),
    ("_cudaGetDevice", "first", [_INTS]),
    ("_cudaGetDeviceCount", "one", [_INTS]),
    ("_cudaSetDevice", "nothing", [_I]),
    ("_cudaDeviceSynchronize", "nothing", []),
    ("_cudaStreamSynchronize", "nothing", [_P]),
    ("_cuTensorMapEncodeTiled", "encode", [_P, _U, _U, ctypes.c_uint64, _U64S, _U64S, _U32S, _U32S, *[_U] * 4]),
    ("_cudaLaunchKernelEx", "launch", [ctypes.POINTER(_Config), _P, _OUT]),
    ("_cudaLaunchKernel", "launch_plain", [_P, *[_U] * 6, _P, _S, _OUT]),
]

_active = None
_callbacks = []  # compiled code keeps their addresses
_dump = None


def _put_ptx(module, pipeline):
    """Puts the PTX of a lowered module where the cubin is."""
    from cutlass._mlir import ir
    prefix = re.search(r"dump-ptx-path='([^']*)'", pipeline)
    if not prefix:
        raise SimError("CuTe DSL kept no PTX; call tessera.sim.cute.activate before cutlass is imported")
    chip = re.search(r"cubin-chip=(\w+)", pipeline).group(1)
    with module.context, module.operation.location:
        for op in module.body.operations:
            if op.operation.name != "llvm.mlir.global" or "value" not in op.attributes:
                continue
            name = ir.StringAttr(op.attributes["sym_name"]).value
            if not name.endswith("_binary"):
                continue
            with open(f"{prefix.group(1)}.{chip}.ptx", "rb") as file:
                text = file.read().rstrip(b"\0") + b"\0"
            op.attributes["value"] = ir.StringAttr.get(text)
            op.attributes["global_type"] = ir.TypeAttr.get(
                ir.Type.parse(f"!llvm.array<{len(text)} x i8>"))


def _patch():
    """The places of CuTe DSL where a GPU would come in."""
    from cutlass.base_dsl import compiler, jit_executor
    from cutlass.cutlass_dsl import cuda_jit_executor
    from cutlass.cute import runtime
    from cutlass.utils import HardwareInfo

    compile_ = compiler.Compiler.compile

    def compile_to_ptx(self, module, pipeline, *arguments, **options):
        result = compile_(self, module, pipeline, *arguments, **options)
        _put_ptx(result, pipeline)
        return result

    compiler.Compiler.compile = compile_to_ptx

    def raising(function):
        def call(self, *arguments, **options):
            try:
                return function(self, *arguments, **options)
            finally:
                _active.raise_problem()
        return call

    compiled = cuda_jit_executor.CudaDialectJitCompiledFunction
    for owner in (jit_executor.JitExecutor, jit_executor.JitCompiledFunction, compiled):
        if "run_compiled_program" in vars(owner):
            owner.run_compiled_program = raising(owner.run_compiled_program)
    compiled._load_cuda_library = raising(compiled._load_cuda_library)
    compiled.num_devices = 1
    cuda_jit_executor.CudaDialectJitModule.unload = _unload
    try:
        from cutlass.cutlass_dsl import tvm_ffi_provider
    except ImportError:  # without apache-tvm-ffi
        pass
    else:
        from cutlass.base_dsl.tvm_ffi_builder.tvm_ffi_builder import TVMFFIBuilder
        # Tensors of a call are torch's, and say that they are on the CPU.
        TVMFFIBuilder.load_dltensor_device_type = lambda self, tensor: self.i32(_CUDA)
        for name in ("TVMFFIJitCompiledFunction", "TVMFFIJitCompiledFunctionWithKwargs"):
            owner = getattr(tvm_ffi_provider, name)
            owner.__call__ = raising(owner.__call__)

    make_tensor = runtime._Tensor.__init__

    def make_on_gpu(self, tensor, *arguments, **options):
        make_tensor(self, _OnGpu(tensor) if _is_on_cpu(tensor) else tensor, *arguments, **options)

    runtime._Tensor.__init__ = make_on_gpu

    HardwareInfo.__init__ = lambda self, device_id=0: None
    HardwareInfo.get_max_active_clusters = lambda self, cluster_size, stream=None: _active.board.clusters(_active.arch, cluster_size)
    HardwareInfo.get_device_multiprocessor_count = lambda self: _active.board.multiprocessors
    HardwareInfo.get_l2_cache_size_in_bytes = lambda self: _active.board.l2_bytes


def _is_on_cpu(tensor):
    device = getattr(tensor, "__dlpack_device__", None)
    return device is not None and hasattr(tensor, "__dlpack__") and device()[0] != _CUDA


class _OnGpu:
    """What DLPack says of a tensor, but on the GPU: kernels get pointers to
    global memory then, which cp.async and TMA ask for."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return _CUDA, 0

    def __dlpack__(self, **_):
        capsule = self.tensor.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = _P, [ctypes.py_object, ctypes.c_char_p]
        # DLManagedTensor begins with a DLTensor: data, then the type of the device
        ctypes.c_int32.from_address(pointer(capsule, b"dltensor") + ctypes.sizeof(_P)).value = _CUDA
        return capsule


def _unload(module):
    for library in module.cuda_library:
        _active.unload(int(library))
    module.cuda_library.clear()
    module._unloaded = True


def activate(arch="sm_90a", **options):
    """Makes the simulator the GPU of CuTe DSL; to be called before `import cutlass`.

    Options: those of tessera.sim.triton.activate. Returns the host; its
    `last_report` is the Report of the newest launch.
    """
    global _active, _dump
    stub = library_path.with_name("libtessera_cute.so")
    if not stub.exists():
        raise ImportError(f"{stub} is not built")
    host = CuteHost(arch, **options)
    host.watch(keeps=("__dlpack__", "__dlpack_device__"))  # kernels get tensors by these
    if _active is None:
        if "cutlass" in sys.modules:
            raise SimError("call tessera.sim.cute.activate before cutlass is imported")
        _dump = tempfile.mkdtemp(prefix="tessera-cute-")
        atexit.register(shutil.rmtree, _dump, ignore_errors=True)
        os.environ.update(CUTE_DSL_ARCH=arch, CUTE_DSL_LIBS=str(stub), CUTE_DSL_KEEP="ptx",
                          CUTE_DSL_NO_CACHE="1", CUTE_DSL_DUMP_DIR=_dump,
                          TESSERA_SIM_ARCH=arch)  # the GPU that errors of CuTe DSL speak of
        # cuda-bindings asks for this name, and finds what is loaded.
        ctypes.CDLL(str(library_path.parent / "cuda" / "libcuda.so.1"), mode=ctypes.RTLD_GLOBAL)
    put = ctypes.CDLL(str(stub)).tessera_cute_set
    put.argtypes = [ctypes.c_char_p, _P]
    for name, method, types in _SIGNATURES:
        callback = ctypes.CFUNCTYPE(_I, *types)(host.answer(getattr(host, method)))
        _callbacks.append(callback)
        put(name.encode(), ctypes.cast(callback, _P))
    first, _active = _active is None, host
    if first:
        _patch()
    from cutlass.cutlass_dsl import CuTeDSL
    CuTeDSL._get_dsl().envar.arch = arch
    return host
