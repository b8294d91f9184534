# Which bytes of torch tensors nobody has written.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tensor of `torch.empty` holds whatever was there before. While `Unwritten`
is active, its bytes count as unwritten until a kernel or a torch function has
the tensor; a kernel that reads them is reported. A function of torch that gets
the tensor, and is not known to only look at its shape, counts as writing it:
what is reported was written by nobody."""

import weakref

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_iter

_MAKES = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}
# Views share the storage, so that writes through them are seen. Triton asks for
# data_ptr; who writes through it says so with `mark`.
_KEEPS = {"__get__", "__getitem__", "__len__", "alias", "as_strided", "chunk", "contiguous", "cpu", "data_ptr", "detach",
          "diagonal", "dim", "element_size", "expand", "expand_as", "flatten", "get_device", "is_complex", "is_contiguous",
          "is_floating_point", "movedim", "narrow", "ndimension", "nelement", "numel", "permute", "requires_grad_", "reshape",
          "reshape_as", "select", "size", "split", "squeeze", "storage_offset", "stride", "swapaxes", "t", "to", "transpose",
          "unbind", "unflatten", "unsqueeze", "view", "view_as"}


class Unwritten(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.restart(True)

    def restart(self, active, keeps=()):
        """Knows of no tensor made before; of none at all if not `active`."""
        self._active = active
        self._keeps = _KEEPS.union(keeps)
        self._masks = weakref.WeakKeyDictionary()  # of a storage: one byte per byte, 1 if it is written

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        if not self._active:
            return result
        name = getattr(function, "__name__", "")
        if name in _MAKES and kwargs.get("out") is None:
            if result.device.type == "cpu" and result.layout == torch.strided:
                with torch._C.DisableTorchFunction():
                    storage = result.untyped_storage()
                    self._masks[storage] = np.zeros(storage.nbytes(), np.uint8)
        elif name not in self._keeps and self._masks:
            for value in tree_iter((args, kwargs)):
                if isinstance(value, torch.Tensor):
                    self.mark(value)
        return result

    def mark(self, tensor):
        """Somebody may have written the tensor's elements."""
        with torch._C.DisableTorchFunction():
            if tensor.layout != torch.strided or tensor.device.type != "cpu":
                return
            mask = self._masks.get(tensor.untyped_storage())
            if mask is None:
                return
            if tensor.is_contiguous():
                start = tensor.storage_offset() * tensor.element_size()
                mask[start:start + tensor.numel() * tensor.element_size()] = 1
            else:
                mask[:] = 1

    def of(self, storage):
        """The bytes of a storage, or None if all of them count as written."""
        mask = self._masks.get(storage)
        return mask if mask is not None and mask.size == storage.nbytes() else None
