# A Triton driver that runs kernels on the simulator.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run unmodified Triton kernels on CPU tensors in a process without a GPU:

    import tessera.sim.triton
    tessera.sim.triton.activate("sm_80")
    kernel[grid](x, y, n, BLOCK=1024)      # x, y: CPU torch tensors

Triton compiles as always, down to PTX; the PTX takes the place of the cubin.
Errors found while a kernel runs are raised as SimulationError.
"""

import gc
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
from .device import Device, SimError, parse_arch
from .tensor_map import encode_tiled

_FORMATS = {"i1": "b", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
            "u1": "B", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
            "fp16": "e", "fp32": "f", "f32": "f", "fp64": "d"}


class SimulationError(RuntimeError):
    """A kernel did something it must not; `report` has the details."""

    def __init__(self, name, report):
        self.report = report
        super().__init__(f"kernel {name}: " + report.text())


class _Utils:
    """What Triton's CompiledKernel asks of `driver.active.utils`."""

    def __init__(self, driver):
        self.driver = driver
        self.functions = {}
        self.numbers = itertools.count(1)

    def get_device_properties(self, device):
        machine = architectures()[f"sm_{self.driver.arch}"]
        return {"max_shared_mem": machine["shared_per_block"],
                "max_num_regs": 65536, "multiprocessor_count": 4,
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

    def fill_tma_descriptor_im2col(self, *arguments):
        raise SimError("im2col tensor descriptors are not modelled")


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


class SimDriver(DriverBase):
    """A `triton.runtime.driver` on top of one simulated device."""

    def __init__(self, arch="sm_80", check=False, count=False,
                 adversarial=False, seed=0, tensor="hw", threads=0,
                 ring=False, max_instructions=0, max_seconds=0,
                 elect_by_seed=False):
        self.arch = parse_arch(arch)
        self.options = dict(check=check, count=count, adversarial=adversarial,
                            seed=seed, tensor=tensor, threads=threads,
                            ring=ring, max_instructions=max_instructions,
                            max_seconds=max_seconds,
                            elect_by_seed=elect_by_seed)
        self.device = Device()
        self.device.set_resolver(self._resolve)
        self.unwritten = None
        self.utils = _Utils(self)
        self.launcher_cls = _Launcher
        self.number = next(_numbers)
        self.reports = []
        self.last_report = None

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
    def _expose(self, tensor, name):
        """Shows a tensor's storage to the kernel until the launch ends."""
        import torch
        with torch._C.DisableTorchFunction():  # looking is no writing
            storage = tensor.untyped_storage()
        address = storage.data_ptr()
        if storage.nbytes() and address not in self._exposed:
            self.device.expose(address, storage.nbytes(), name)
            written = self.unwritten and self.unwritten.of(storage)
            if written is not None:
                self.device.set_written(address, written)
            self._exposed[address] = written

    def _resolve(self, address):
        """Addresses that reach a kernel through memory: look for a tensor."""
        import torch
        for thing in gc.get_objects():
            try:
                if not issubclass(type(thing), torch.Tensor) or thing.device.type != "cpu":
                    continue
                with torch._C.DisableTorchFunction():
                    storage = thing.untyped_storage()
            except Exception:
                continue
            if 0 <= address - storage.data_ptr() < storage.nbytes():
                self._expose(thing, "tensor")
                return True
        return False

    def run(self, function, grid, cluster, threads, shared, values,
            cooperative, programmatic=False):
        name, module, ptx = self.utils.functions[function]
        layout = module.parameters(name)
        if len(layout) != len(values):
            raise SimError(f"kernel {name} takes {len(layout)} parameters, "
                           f"Triton passes {len(values)}")
        buffer = bytearray(max([o + s for o, s in layout], default=0))
        self._exposed = {}  # address: which bytes are written, None for all
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
                        self._expose(value, f"argument {index}")
                raw = struct.pack("<Q", pointer)
            elif kind == "nvTmaDesc":
                self._expose(value.base, f"argument {index}")
                raw = value.raw
            elif kind == "bf16":
                raw = _bfloat16(value)
            else:
                raw = struct.pack("<" + _FORMATS[kind], value)
            buffer[offset:offset + len(raw)] = raw
        try:
            report = module.launch(name, grid, (threads, 1, 1), bytes(buffer),
                                   arch=self.arch, shared=shared,
                                   cluster=cluster, cooperative=cooperative,
                                   programmatic=programmatic,
                                   **self.options)
        finally:
            # Freed tensors must not stay visible.
            for address, written in self._exposed.items():
                if written is not None:
                    self.device.get_written(address, written)
                self.device.unexpose(address)
        report.kernel, report.ptx = name, ptx
        self.last_report = report
        if self.options["count"] or not report.ok:
            self.reports.append(report)
        if report.output:
            print(report.output, end="")
        if not report.ok:
            raise SimulationError(name, report)


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
    elect_by_seed. Returns the driver; its `last_report` is the Report of the
    newest launch.
    """
    knobs.runtime.add_stages_inspection_hook = _ptx_is_the_binary
    driver = SimDriver(arch, **options)
    _watch(driver)
    triton.runtime.driver.set_active(driver)
    return driver


_unwritten = None


def _watch(driver):
    """What torch.empty makes from now on counts as unwritten, if `driver` checks."""
    global _unwritten
    if _unwritten is None and driver.options["check"]:
        from .unwritten import Unwritten
        _unwritten = Unwritten()
        _unwritten.__enter__()  # for good: the modes above it are not ours
    if _unwritten is not None:
        _unwritten.restart(driver.options["check"])
    driver.unwritten = _unwritten if driver.options["check"] else None
