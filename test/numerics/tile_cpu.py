# Compiles Tile IR text with tessera-emit-object and calls it through ctypes.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import ctypes
import hashlib
import os
import re
import shutil
import struct
import subprocess
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def find_tool():
    places = [os.environ.get("TESSERA_BIN"), os.path.join(ROOT, "build/dev/bin")]
    for place in places:
        if place and os.path.exists(os.path.join(place, "tessera-emit-object")):
            return os.path.join(place, "tessera-emit-object")
    return shutil.which("tessera-emit-object")


_cache = {}
_directory = tempfile.mkdtemp(prefix="tessera-tile-cpu-")
# AMX state needs the kernel's permission, once per process.
ctypes.CDLL(None).syscall(158, 0x1023, 18)


class Compiled:
    """The kernels of one module: call(name, arrays, scalars, grid)."""

    def __init__(self, text, target="cpu", flags=()):
        key = hashlib.sha1((text + target + " ".join(flags)).encode()).hexdigest()
        base = os.path.join(_directory, key)
        tool = find_tool()
        with open(base + ".mlir", "w") as f:
            f.write(text)
        common = [tool, base + ".mlir", "--target", target, *flags]
        mapped = subprocess.run(common + ["--stage", "tile"], capture_output=True, text=True)
        assert mapped.returncode == 0, mapped.stderr
        self.mapped = mapped.stdout
        self.scratch = {
            name: int(size)
            for name, size in re.findall(
                r"tile\.func @(\w+)\(.*scratch_bytes = (\d+)", self.mapped)
        }
        subprocess.run(common + ["-o", base + ".o"], check=True)
        subprocess.run(["clang-22", "-shared", "-o", base + ".so", base + ".o", "-lm"], check=True)
        self.library = ctypes.CDLL(base + ".so")

    def call(self, name, arrays, scalars=(), grid=1, parts=1):
        function = getattr(self.library, name)
        function.restype = ctypes.c_int32
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64,
                             ctypes.c_int64, ctypes.c_void_p]
        pointers = (ctypes.c_void_p * max(1, len(arrays)))(*[a.ctypes.data for a in arrays])
        integers = []
        for a in arrays:
            integers += list(a.shape) + [s // a.itemsize for s in a.strides]
        for s in scalars:
            if isinstance(s, float):
                integers.append(struct.unpack("<q", struct.pack("<d", s))[0])
            else:
                integers.append(int(s))
        numbers = (ctypes.c_int64 * max(1, len(integers)))(*integers)
        size = self.scratch.get(name, 0)
        # Canaries on both sides: a kernel must stay inside its scratch.
        guard = 4096
        raw = np.full(size + 2 * guard + 64, 0xA5, np.uint8)
        start = -raw.ctypes.data % 64 + guard
        step = max(1, -(-grid // parts))
        for begin in range(0, grid, step):
            raw[start:start + size] = 0xFF  # NaN: scratch has no content on entry
            code = function(pointers, numbers, begin, min(begin + step, grid),
                            raw.ctypes.data + start)
            if code:
                return code
        assert (raw[:start] == 0xA5).all(), "wrote before its scratch"
        assert (raw[start + size:] == 0xA5).all(), "wrote past its scratch"
        return 0


def compile_tile(text, target="cpu", flags=()):
    key = (text, target, tuple(flags))
    if key not in _cache:
        _cache[key] = Compiled(text, target, flags)
    return _cache[key]
