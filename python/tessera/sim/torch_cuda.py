# torch.cuda for programs that ask for a GPU: its tensors stay on the CPU.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`stand_in(host)` answers what such programs ask torch: that there is a GPU,
what it is, which stream is current. What they make on "cuda" is made on the
CPU, where the simulator's kernels see it, and every tensor says that it is on
a GPU."""

import torch
from torch.overrides import TorchFunctionMode


def _is_cuda(value):
    return isinstance(value, (str, torch.device)) and str(value).startswith("cuda")


class _OnCpu(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = {key: torch.device("cpu") if _is_cuda(value) else value
                  for key, value in (kwargs or {}).items()}
        name = getattr(function, "__name__", "")
        if name == "cuda":
            return args[0]
        if function == torch.Tensor.is_cuda.__get__:
            return True
        return function(*(torch.device("cpu") if _is_cuda(a) else a for a in args), **kwargs)


class _Stream:
    """The one stream: work is done when it is given."""
    cuda_stream = 0
    device = torch.device("cpu")

    def synchronize(self):
        pass

    wait_stream = wait_event = record_event = lambda self, *a: None


class _Properties:
    def __init__(self, host):
        self.name = host.board.name
        self.major, self.minor = divmod(host.arch, 10)
        self.multi_processor_count = host.board.multiprocessors
        self.total_memory = host.board.memory
        self.L2_cache_size = host.board.l2_bytes
        self.shared_memory_per_block_optin = host.board.attributes(host.arch)[97]
        self.warp_size = 32


_mode = None


def stand_in(host):
    """From now on, for the whole process; again with another host."""
    global _mode
    cuda, stream = torch.cuda, _Stream()
    for name, answer in {
            "is_available": True, "is_initialized": True, "current_device": 0, "device_count": 1, "current_stream": stream,
            "default_stream": stream, "synchronize": None, "set_device": None, "init": None,
            "get_device_capability": divmod(host.arch, 10), "get_device_name": host.board.name,
            "get_device_properties": _Properties(host), "is_current_stream_capturing": False}.items():
        setattr(cuda, name, lambda *a, _answer=answer, **k: _answer)
    if _mode is None:
        _mode = _OnCpu()
        _mode.__enter__()  # for good
