# What the hosts of other people's kernels share: tensors on the CPU, and launches that raise.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A host hands the kernels of another compiler to one simulated device. Its
tensors live on the CPU; a launch sees those it is given, and finds the ones
whose addresses reach it through memory."""

import gc

from . import boards
from .device import Device, parse_arch


_unwritten = None


class SimulationError(RuntimeError):
    """A kernel did something it must not; `report` has the details."""

    def __init__(self, name, report):
        self.report = report
        super().__init__(f"kernel {name}: " + report.text())


class TensorHost:
    """Options of launches, the tensors that they see, and their reports."""

    def __init__(self, arch="sm_80", check=False, count=False,
                 adversarial=False, seed=0, tensor="hw", threads=0,
                 ring=False, max_instructions=0, max_seconds=0,
                 elect_by_seed=False, board=None):
        self.arch = parse_arch(arch)
        self.board = boards.find(board, self.arch)
        self.options = dict(check=check, count=count, adversarial=adversarial,
                            seed=seed, tensor=tensor, threads=threads,
                            ring=ring, max_instructions=max_instructions,
                            max_seconds=max_seconds,
                            elect_by_seed=elect_by_seed)
        self.device = Device()
        self.device.set_resolver(self._resolve)
        self.unwritten = None
        self.reports = []
        self.last_report = None
        self._shown = {}  # address: which bytes are written, None for all

    def watch(self, keeps=()):
        """What torch.empty makes from now on counts as unwritten, with `check`;
        functions of torch called `keeps` are known to write no tensor."""
        global _unwritten
        if _unwritten is None and self.options["check"]:
            from .unwritten import Unwritten
            _unwritten = Unwritten()
            _unwritten.__enter__()  # for good: the modes above it are not ours
        if _unwritten is not None:
            _unwritten.restart(self.options["check"], keeps)
        self.unwritten = _unwritten if self.options["check"] else None

    def show(self, tensor, name):
        """Shows a tensor's storage to the kernel until the launch ends."""
        import torch
        with torch._C.DisableTorchFunction():  # looking is no writing
            storage = tensor.untyped_storage()
        address = storage.data_ptr()
        if storage.nbytes() and address not in self._shown:
            self.device.expose(address, storage.nbytes(), name)
            written = self.unwritten and self.unwritten.of(storage)
            if written is not None:
                self.device.set_written(address, written)
            self._shown[address] = written

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
                self.show(thing, "tensor")
                return True
        return False

    def execute(self, name, module, ptx, params, **launch):
        """Runs a kernel and keeps its report; raises what the report says."""
        try:
            report = module.launch(name, launch.pop("grid"),
                                   launch.pop("block"), params,
                                   arch=self.arch, **launch, **self.options)
        finally:
            # Freed tensors must not stay visible.
            for address, written in self._shown.items():
                if written is not None:
                    self.device.get_written(address, written)
                self.device.unexpose(address)
            self._shown = {}
        report.kernel, report.ptx = name, ptx
        self.last_report = report
        if self.options["count"] or not report.ok:
            self.reports.append(report)
        if report.output:
            print(report.output, end="")
        if not report.ok:
            raise SimulationError(name, report)
