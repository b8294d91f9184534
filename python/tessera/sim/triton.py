# A Triton driver that runs kernels on the simulator.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run unmodified Triton kernels on CPU tensors in a process without a GPU:

    import tessera.sim.triton
    tessera.sim.triton.activate("sm_80")
    kernel[grid](x, y, n, BLOCK=1024)      # x, y: CPU torch tensors

Triton compiles as always, down to PTX; the PTX takes the place of the cubin.
Errors found while a kernel runs are raised as SimulationError.
"""

import itertools
import struct

try:
    import triton
except ImportError as error:
    raise ImportError("tessera.sim.triton needs the package triton (pip install triton==3.9.0) in the Python that "
                      "runs it") from error
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.backends.driver import (DriverBase, decompose_descriptor,
                                    expand_signature)
from triton.runtime import _allocation

from ._native import architectures
from .device import SimError
from .host import SimulationError, TensorHost
from .tensor_map import encode_im2col, encode_tiled

_FORMATS = {"i1": "b", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
            "u1": "B", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
            "fp16": "e", "fp32": "f", "f32": "f", "fp64": "d"}


class _Utils:
    """What Triton's CompiledKernel asks of `driver.active.utils`."""

    def __init__(self, driver):
        self.driver = driver
        self.functions = {}
        self.numbers = itertools.count(1)

    def get_device_properties(self, device):
        machine = architectures()[f"sm_{self.driver.arch}"]
        return {"max_shared_mem": machine["shared_per_block"],
                "max_num_regs": 65536, "multiprocessor_count": self.driver.board.multiprocessors,
                "warpSize": 32, "sm_clock_rate": 1, "mem_clock_rate": 1,
                "mem_bus_width": 1}

    def load_binary(self, name, image, shared, device):
        number = next(self.numbers)
        ptx = image.decode() if isinstance(image, bytes) else image
        module = self.driver.device.load(ptx)
        self.functions[number] = (name, module, ptx)
        return number, number, 0, 0, 1024

    def unload_module(self, number):
        self.functions.pop(number, None)

    def fill_tma_descriptor_tiled(self, base, swizzle, element_bytes, type_,
                                  block, shape, strides, padding):
        """The map of a descriptor that the host makes; sizes come outermost
        first, strides in elements."""
        return _TensorMap(encode_tiled(
            type_, base, list(shape)[::-1],
            [element_bytes * s for s in list(strides)[::-1][1:]],
            list(block)[::-1], swizzle=swizzle, fill=padding))

    def fill_tma_descriptor_im2col(self, base, swizzle, element_bytes, type_,
                                   block, shape, strides, padding, lower,
                                   upper, steps):
        """The same for pixels; corners come outermost first, too."""
        pixels, channels = block
        return _TensorMap(encode_im2col(
            type_, base, list(shape)[::-1],
            [element_bytes * s for s in list(strides)[::-1][1:]],
            list(lower)[::-1], list(upper)[::-1], channels, pixels,
            steps=list(steps)[::-1], swizzle=swizzle, fill=padding))


class _TensorMap:
    """A kernel parameter of 128 bytes, and the tensor it is about."""

    def __init__(self, raw):
        self.raw = raw
        self.base = None


def _flatten(types, values):
    for kind, value in zip(types, values):
        if isinstance(kind, tuple):
            yield from _flatten(kind, value)
        elif kind != "constexpr":
            yield kind, value


def _bfloat16(value):
    """The two bytes of a float rounded to nearest even."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    if value != value:
        return struct.pack("<H", 0x7FFF)
    return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


class _Launcher:
    def __init__(self, source, metadata):
        self.metadata = metadata
        self.descriptors = getattr(metadata, "tensordesc_meta", None)
        self.signature = list(source.signature.values())
        self.types = expand_signature(self.signature, self.descriptors,
                                      "nvTmaDesc")

    def _values(self, args):
        descriptors = iter(self.descriptors or itertools.repeat(None))
        flat = []
        for kind, value in zip(self.signature, args):
            if isinstance(kind, str) and kind.startswith("tensordesc"):
                layout = next(descriptors)
                if layout is None:
                    flat += decompose_descriptor(value)
                    continue
                from triton.backends.nvidia.driver import make_tensordesc_arg
                parts = make_tensordesc_arg(value, layout, None)
                parts[0].base = value.base
                flat += parts
            else:
                flat.append(value)
        return list(_flatten(self.types, flat))

    def __call__(self, grid_x, grid_y, grid_z, stream, function, packed,
                 launch_metadata, enter, leave, *args):
        driver = triton.runtime.driver.active
        if enter is not None:
            enter(launch_metadata)
        warps, ctas, shared = packed[:3]
        md = self.metadata
        blocks = grid_x * grid_y * grid_z * ctas

        def scratch(size, align, allocator):
            if not size:
                return None
            return allocator.get()(blocks * size, align, stream)

        values = self._values(args)
        values.append(("*i8", scratch(md.global_scratch_size,
                                      md.global_scratch_align,
                                      _allocation._allocator)))
        values.append(("*i8", scratch(md.profile_scratch_size,
                                      md.profile_scratch_align,
                                      _allocation._profile_allocator)))
        if blocks:
            driver.run(function, (grid_x * ctas, grid_y, grid_z),
                       (ctas, 1, 1) if ctas > 1 else None, 32 * warps, shared, values,
                       bool(getattr(md, "launch_cooperative_grid", False)),
                       bool(getattr(md, "launch_pdl", False)))
        if leave is not None:
            leave(launch_metadata)


class _Event:
    """Enough of torch.cuda.Event for triton.testing.do_bench."""

    def __init__(self, enable_timing=True):
        self.time = 0.0

    def record(self, stream=None):
        import time
        self.time = time.perf_counter()

    def elapsed_time(self, other):
        return (other.time - self.time) * 1000


class _DeviceInterface:
    Event = _Event

    @staticmethod
    def synchronize(device=None):
        pass

    @staticmethod
    def current_device():
        return 0

    @staticmethod
    def set_device(device):
        pass


_numbers = itertools.count()


class SimDriver(DriverBase, TensorHost):
    """A `triton.runtime.driver` on top of one simulated device."""

    def __init__(self, arch="sm_80", **options):
        TensorHost.__init__(self, arch, **options)
        self.utils = _Utils(self)
        self.launcher_cls = _Launcher
        self.number = next(_numbers)

    # What Triton asks.
    @staticmethod
    def is_active():
        return True

    def map_python_to_cpp_type(self, kind):
        return kind

    def get_current_target(self):
        return GPUTarget("cuda", self.arch, 32)

    def get_active_torch_device(self):
        import torch
        return torch.device("cpu")

    def get_benchmarker(self):
        def benchmark(function, quantiles=None, **_):
            import time
            start = time.perf_counter()
            function()
            spent = (time.perf_counter() - start) * 1000
            return [spent] * len(quantiles) if quantiles else spent
        return benchmark

    def get_current_device(self):
        # Triton keeps compiled kernels per device number; two drivers may
        # stand for different architectures.
        return self.number

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device):
        return 0

    def get_device_capability(self, device=0):
        return divmod(self.arch, 10)

    def get_device_interface(self):
        return _DeviceInterface

    def get_empty_cache_for_benchmark(self):
        import torch
        return torch.empty(1, dtype=torch.int32)

    def clear_cache(self, cache):
        pass

    # What the simulator does.
    def run(self, function, grid, cluster, threads, shared, values,
            cooperative, programmatic=False):
        name, module, ptx = self.utils.functions[function]
        layout = module.parameters(name)
        if len(layout) != len(values):
            raise SimError(f"kernel {name} takes {len(layout)} parameters, "
                           f"Triton passes {len(values)}")
        buffer = bytearray(max([o + s for o, s in layout], default=0))
        for index, ((kind, value), (offset, size)) in enumerate(
                zip(values, layout)):
            if kind[0] == "*":
                if value is None:
                    pointer = 0
                elif isinstance(value, int):
                    pointer = value
                else:
                    pointer = value.data_ptr()
                    if hasattr(value, "untyped_storage"):
                        self.show(value, f"argument {index}")
                raw = struct.pack("<Q", pointer)
            elif kind == "nvTmaDesc":
                self.show(value.base, f"argument {index}")
                raw = value.raw
            elif kind == "bf16":
                raw = _bfloat16(value)
            else:
                raw = struct.pack("<" + _FORMATS[kind], value)
            buffer[offset:offset + len(raw)] = raw
        self.execute(name, module, ptx, bytes(buffer), grid=grid,
                     block=(threads, 1, 1), shared=shared, cluster=cluster,
                     cooperative=cooperative, programmatic=programmatic)


def _ptx_is_the_binary(*arguments):
    """Triton's stage hook: the last stage hands the PTX text through."""
    if not arguments:
        return "tessera-sim", "tessera-sim"
    _, stages, _, _, _ = arguments
    stages["cubin"] = lambda source, metadata: source.encode()


def activate(arch="sm_80", **options):
    """Makes the simulator Triton's active driver.

    Options: check (races, uninitialised reads ...), count, adversarial, seed,
    tensor ("hw" or "ieee"), threads, ring, max_instructions, max_seconds,
    elect_by_seed, board (the name of a graphics card: tessera.sim.boards).
    Returns the driver; its `last_report` is the Report of the
    newest launch.
    """
    knobs.runtime.add_stages_inspection_hook = _ptx_is_the_binary
    driver = SimDriver(arch, **options)
    driver.watch()
    triton.runtime.driver.set_active(driver)
    return driver
