# Devices, modules and launches on NumPy arrays.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import ctypes
import json
import struct

from ._native import (LaunchOptions, PRINT, RESOLVER, architectures, library,
                      take_text)


class SimError(RuntimeError):
    """PTX that cannot be loaded, or a launch that cannot start."""


class Report:
    """What a launch did. `errors` lists findings, `counts` what was counted."""

    def __init__(self, data, output=""):
        self.data = data
        self.ok = data["ok"]
        self.errors = data["reports"]
        self.counts = data.get("counts")
        self.occupancy = data.get("occupancy")
        self.seconds = data["simulation_seconds"]
        self.output = output

    def __repr__(self):
        if self.ok:
            return f"<Report ok, {self.data['warp_instructions']} warp instructions>"
        return "<Report " + "; ".join(
            f"{e['kind']}: {e['message']}" for e in self.errors) + ">"

    def text(self):
        lines = [f"{'ok' if self.ok else 'FAILED'}: "
                 f"{self.data['warp_instructions']} warp instructions"]
        for e in self.errors:
            again = f" ({e['count']} times)" if e["count"] > 1 else ""
            lines.append(f"{e['kind']}: {e['message']}{again}")
        if self.occupancy:
            o = self.occupancy
            known = o["registers"] != "not measured"
            lines.append(
                f"occupancy: {'' if known else 'at most '}{o['blocks_per_sm']} "
                f"blocks, {o['warps_per_sm']} of {o['max_warps_per_sm']} warps "
                f"per multiprocessor, limited by {o['limited_by']}; registers: "
                f"{o['registers']}")
        if self.counts:
            c = self.counts
            lines.append("instructions by class: " + ", ".join(
                f"{k} {v}" for k, v in c["classes"].items()))
            if c["lane_slots"]:
                lines.append(
                    f"warp execution efficiency: "
                    f"{100 * c['thread_instructions'] / c['lane_slots']:.1f} %, "
                    f"divergent branches: {c['divergent_branches']}")
            lines.append(f"global sectors: {c['sectors']} (least possible "
                         f"{c['ideal_sectors']}), shared wavefronts: "
                         f"{c['wavefronts']}, bank conflicts: "
                         f"{c['bank_conflicts']}")
            a = c["async_depth"]
            lines.append(f"cp.async in flight at most: {a['groups']} groups "
                         f"of a thread, {a['bytes_per_block']} bytes of a "
                         "block")
            lines += _asynchronous(c)
            lines.append("time: not measured: this was a simulation")
        return "\n".join(lines)

    def json(self):
        return json.dumps(self.data, indent=1)

    def html(self, ptx=""):
        from .html import render
        return render(self, ptx)


def _asynchronous(c):
    """What was counted of asynchronous work, in the words of `tessera-sim run`
    (sim/report/AsyncCounts.cpp)."""
    lines = []
    for t in c["tma"]:
        place = t["from"] + (f" to {t['to']}" if t["to"] else "")
        lines.append(
            f"TMA {t['operation']}, {place}{', tensor' * t['tensor']}"
            f"{', multicast' * t['multicast']}: {t['requests']} requests, "
            f"{t['bytes']} bytes"
            + (f", {t['delivered']} delivered" if t["multicast"] else ""))
    if c["multicast_saved_bytes"]:
        lines.append(f"bytes saved by multicast: {c['multicast_saved_bytes']}")
    stores, waits = c["async_stores"], c["mbarrier_waits"]
    if stores["requests"]:
        lines.append(f"st.async and red.async: {stores['requests']}, "
                     f"{stores['bytes']} bytes")
    if waits["waits"]:
        lines.append(f"mbarrier waits: {waits['waits']}, of which "
                     f"{waits['had_to_wait']} had to wait")
    lines += [f"tensor instructions: {name}: {count}"
              for name, count in c["tensor_instructions"].items()]
    if c["tensor_memory_columns"]:
        lines.append("tensor memory of a block, at most: "
                     f"{c['tensor_memory_columns']} columns")
    depth = c["pipeline_depth"]
    if depth["copies"]:
        lines.append(
            f"pipeline of a block, at most: {depth['copies']} copies in "
            f"flight, {depth['bytes']} bytes, {depth['phases']} phases ahead, "
            f"{depth['groups']} bulk groups")
    return lines


def parse_arch(arch):
    """90 for "sm_90", "sm_90a", "90" or 90."""
    name = str(arch)
    known = architectures()
    entry = known.get(name if name.startswith("sm_") else f"sm_{name}")
    if entry is None:
        raise SimError(f"no architecture is called {name!r}; the simulator "
                       f"has {', '.join(known)}")
    return entry["number"]


def _dimensions(name, value):
    """Three sizes; what does not fit the C interface is refused, not cut."""
    value = (value,) if isinstance(value, int) else tuple(value)
    full = tuple(int(v) for v in value) + (1, 1, 1)[len(value):]
    if len(full) != 3 or not all(0 <= v < 1 << 32 for v in full):
        raise SimError(f"{name} of {value}; expected up to three sizes from 1 "
                       f"to {(1 << 31) - 1}")
    return (ctypes.c_uint32 * 3)(*full)


class Device:
    def __init__(self):
        self.handle = library.tessera_sim_create()
        self._output = []
        self._print = PRINT(
            lambda t: self._output.append(t.decode("utf-8", "replace")))
        library.tessera_sim_set_print(self.handle, self._print)
        self._resolver = None

    def expose(self, address, size, name):
        library.tessera_sim_expose(self.handle, address, size, name.encode())

    def unexpose(self, address):
        library.tessera_sim_unexpose(self.handle, address)

    def allocate(self, size, name="buffer"):
        """Device memory that counts as uninitialised; returns its address."""
        return library.tessera_sim_allocate(self.handle, size, name.encode())

    def free(self, address):
        return bool(library.tessera_sim_free(self.handle, address))

    def set_written(self, address, written):
        """Bytes of exposed memory (NumPy, uint8) that count as unwritten: 0."""
        library.tessera_sim_set_written(
            self.handle, address, written.ctypes.data, written.size)

    def get_written(self, address, written):
        """Fills the array; what kernels wrote is 1."""
        library.tessera_sim_get_written(
            self.handle, address, written.ctypes.data, written.size)

    def set_resolver(self, function):
        """`function(address)` may expose it and return True."""
        self._resolver = RESOLVER(lambda a: int(bool(function(a))))
        library.tessera_sim_set_resolver(self.handle, self._resolver)

    def load(self, *texts):
        return Module(self, texts)


class Module:
    def __init__(self, device, texts):
        self.device = device
        array = (ctypes.c_char_p * len(texts))(
            *[t.encode() if isinstance(t, str) else t for t in texts])
        error = ctypes.create_string_buffer(4096)
        self.handle = library.tessera_sim_load(
            device.handle, array, len(texts), error, len(error))
        if not self.handle:
            raise SimError(error.value.decode("utf-8", "replace"))

    def __del__(self):
        if getattr(self, "handle", None) and library:
            library.tessera_sim_unload(self.handle)
            self.handle = None

    def kernels(self):
        return take_text(library.tessera_sim_kernels(self.handle)).split()

    def parameters(self, kernel):
        """[(offset, size)] of the kernel's parameters."""
        offsets = (ctypes.c_uint32 * 512)()
        sizes = (ctypes.c_uint32 * 512)()
        n = library.tessera_sim_parameters(
            self.handle, kernel.encode(), offsets, sizes, 512)
        if n < 0:
            raise SimError(f"kernel {kernel!r} is not in the module; it has: "
                           + ", ".join(self.kernels()))
        return [(offsets[i], sizes[i]) for i in range(n)]

    def launch(self, kernel, grid, block, params, *, arch=80, shared=0,
               cluster=None, check=True, count=False, adversarial=False,
               cooperative=False, seed=0, threads=0, tensor="hw",
               max_instructions=0, max_seconds=0, registers=0, ring=False,
               elect_by_seed=False, programmatic=False):
        """Runs a kernel with packed parameters and returns a Report.

        A block that executes more than `max_instructions` warp instructions,
        or a launch that takes longer than `max_seconds`, is ended and
        reported; 0 is the default of docs/simulator.md.
        `cluster` is the size of a cluster in blocks; None leaves it to the
        kernel (.reqnctapercluster), which mostly has clusters of one.
        `registers` per thread, as the assembler reports them, make the
        occupancy exact; `ring` computes with elements of a ring instead of
        floats (see tessera.sim.ring). With `elect_by_seed`, elect.sync does
        not elect the lowest lane but the one that the seed picks. A
        `programmatic` launch may overlap with the launch before it, if that
        executes griddepcontrol: the checker reports what they share.
        """
        if tensor not in ("hw", "ieee"):
            raise SimError(f"tensor mode {tensor!r}; expected 'hw' or 'ieee'")
        o = LaunchOptions()
        for name, value in (("grid", grid), ("block", block)):
            setattr(o, name, _dimensions(name, value))
        if cluster is not None:
            o.cluster = _dimensions("cluster", cluster)
        if not 0 <= shared < 1 << 32:
            raise SimError(f"{shared} bytes of shared memory; no machine has "
                           "them")
        o.dynamic_shared, o.arch = shared, parse_arch(arch)
        o.check, o.count = int(check), int(count)
        o.adversarial, o.cooperative = int(adversarial), int(cooperative)
        o.seed, o.threads, o.ieee = seed, threads, int(tensor == "ieee")
        o.max_instructions, o.max_seconds = max_instructions, max_seconds
        o.registers, o.ring = registers, int(ring)
        o.elect_by_seed = int(elect_by_seed)
        o.programmatic = int(programmatic)
        self.device._output.clear()
        data = json.loads(take_text(library.tessera_sim_launch(
            self.handle, kernel.encode(), ctypes.byref(o), params,
            len(params))))
        if data["error"]:
            raise SimError(data["error"])
        return Report(data, "".join(self.device._output))


_SCALARS = {1: "b", 2: "h", 4: "i", 8: "q"}


def pack(module, kernel, args):
    """Packs arguments: arrays by address, numbers by the parameter's size."""
    layout = module.parameters(kernel)
    if len(layout) != len(args):
        raise SimError(f"kernel {kernel!r} takes {len(layout)} arguments, "
                       f"given {len(args)}")
    buffer = bytearray(max([o + s for o, s in layout], default=0))
    for index, ((offset, size), value) in enumerate(zip(layout, args)):
        if isinstance(value, (bytes, bytearray)):
            raw = bytes(value)
        elif hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0:
            raw = value.tobytes()
        elif hasattr(value, "ctypes"):
            raw = struct.pack("<Q", value.ctypes.data)
        elif hasattr(value, "data_ptr"):
            raw = struct.pack("<Q", value.data_ptr())
        elif isinstance(value, bool):
            raw = bytes([value])
        elif isinstance(value, int):
            code = _SCALARS.get(size)
            if code is None:
                raise SimError(f"argument {index}: a number cannot fill a "
                               f"parameter of {size} bytes; pass bytes")
            raw = struct.pack("<" + (code if value < 0 else code.upper()),
                              value)
        elif isinstance(value, float):
            if size not in (4, 8):
                raise SimError(f"argument {index}: a float needs 4 or 8 bytes,"
                               f" the parameter has {size}")
            raw = struct.pack("<f" if size == 4 else "<d", value)
        elif value is None:
            raw = bytes(size)
        else:
            raise SimError(f"argument {index}: {type(value).__name__} is not "
                           "supported; pass an array, a number or bytes")
        if len(raw) > size:
            raise SimError(f"argument {index} has {len(raw)} bytes, the "
                           f"parameter has {size}")
        buffer[offset:offset + len(raw)] = raw
    return bytes(buffer)


def launch(ptx, kernel, grid, block, args, arch="sm_80", check=True, **options):
    """Runs one kernel of a PTX text on NumPy arrays, in place.

    Arrays are visible to the kernel exactly as large as they are; an access
    outside of them is reported. Returns a Report.
    """
    device = Device()
    module = device.load(ptx)
    if kernel is None:
        names = module.kernels()
        if len(names) != 1:
            raise SimError("the module has several kernels, name one of: "
                           + ", ".join(names))
        kernel = names[0]
    for index, value in enumerate(args):
        if hasattr(value, "ctypes") and getattr(value, "ndim", 1) > 0:
            device.expose(value.ctypes.data, value.nbytes,
                          f"argument {index}")
        elif hasattr(value, "data_ptr"):
            storage = value.untyped_storage()
            device.expose(storage.data_ptr(), storage.nbytes(),
                          f"argument {index}")
    return module.launch(kernel, grid, block, pack(module, kernel, args),
                         arch=arch, check=check, **options)
