"""The machine code of a version: from the disk cache, or compiled when a kernel is first launched.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import collections
import threading
import time

from . import _runtime, keys

# Versions that still have their Target IR in memory, for kernels not asked for yet; older ones have it packed.
live: collections.deque = collections.deque()
MAX_LIVE = 16


class Kernels:
    """A plan and its kernels. `start` compiles: it is called only for what is not on disk."""

    def __init__(self, plan: str, start, compiled=None, inputs: bytes | None = None, store=None, read_ms: float | None = None):
        self.plan = plan
        self._start, self._compiled, self._inputs, self._store = start, compiled, inputs, store
        self._lock = threading.RLock()
        self._code: dict = {}
        self._times = [] if read_ms is None else [("disk cache", read_ms)]
        if compiled is not None:
            self._keep()

    def _keep(self) -> None:
        live.append(self._compiled)
        if len(live) > MAX_LIVE:
            live.popleft().shrink()

    @property
    def compiled(self):
        """The compiler's own artifact."""
        with self._lock:
            if self._compiled is None:
                self._compiled = self._start().finish()
                self._keep()
            return self._compiled

    def lookup(self, name: str) -> int:
        """The address of a kernel; called by the runtime before its first launch."""
        with self._lock:
            code = self._code.get(name)
            if code is None:
                code = self._code[name] = self._load(name)
        return code if isinstance(code, int) else code.address(name)

    def _load(self, name: str):
        if self._store is None:
            data = self.compiled.emit(name)
        else:
            begin = time.perf_counter()
            known = self._compiled
            data = self._store.get(keys.kernel(self._inputs, self.plan, name), lambda: {"object": self.compiled.emit(name)}).get("object")
            if known is self._compiled:
                self._times.append((f"disk cache @{name}", (time.perf_counter() - begin) * 1e3))
        try:
            return _runtime.load_code(data)
        except (ValueError, TypeError):  # more than the small loader knows: LLVM's linker
            return self.compiled.lookup(name)

    def shrink(self) -> None:
        """Frees the compiler's memory; kernels can still be asked for."""
        self.compiled.shrink()

    @property
    def loaded(self) -> list[str]:
        """The kernels asked for so far."""
        return sorted(self._code)

    @property
    def object(self) -> bytes:
        """All kernels, as one object file."""
        return self.compiled.object

    @property
    def times(self) -> list:
        return self._times + (list(self._compiled.times) if self._compiled is not None else [])
