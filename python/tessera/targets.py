"""Which targets there are.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import re

from . import architectures, machines, source
from .wording import a_kind
from .errors import CompileError

TARGETS = ("cpu", "cpu:avx2", "cpu:avx512")


# Targets of the language; what gpu.NAMES does not have of them, this version does not compile for.
_LATER = ("sm_", "cudatile:", "sim:", "gfx", "spirv")
_TARGET_NAMES = {"cuda": "sm_90a", "gpu": "sm_90a", "nvidia": "sm_90a", "nvptx": "sm_90a", "ptx": "sm_90a", "sm90": "sm_90a", "h100": "sm_90a", "h200": "sm_90a",
                 "t4": "sm_75", "a100": "sm_80", "a10": "sm_86", "l4": "sm_89", "l40": "sm_89", "rtx4090": "sm_89", "b100": "sm_100a", "b200": "sm_100a",
                 "ampere": "sm_80", "hopper": "sm_90a", "blackwell": "sm_100a",
                 "rocm": "gfx942", "hip": "gfx942", "amd": "gfx942", "amdgpu": "gfx942", "mi300": "gfx942", "opencl": "spirv", "vulkan": "spirv",
                 "xpu": "spirv", "avx2": "cpu:avx2", "avx512": "cpu:avx512", "x86": "cpu", "host": "cpu", "native": "cpu"}


def is_later(target: str) -> bool:
    """Whether the language has targets of this kind, so that one that we do not compile for is not a slip."""
    return target.startswith(_LATER)


_SPELT = re.compile(r"(sim:|cudatile:)?(?:sm|compute)[_ -]?(\w*)", re.IGNORECASE)


def _spelt(name: str) -> str:
    """"sim:sm_80" for "sim:SM80" or "sim:a100"; "" for what is no machine we compile for."""
    from . import gpu

    kind, _, arch = name.lower().rpartition(":")
    found = _SPELT.fullmatch(arch)
    right = f"{kind}:" * bool(kind) + (f"sm_{found[2]}" if found else _TARGET_NAMES.get(arch, "") if kind else "")
    return right if gpu.is_gpu(right) else ""


def meant_by(name: str) -> str:
    """"sm_80" for "a100" or "sm80", "cpu:avx2" for "avx2"; "" for what is no other name of a target we compile for."""
    meant = _TARGET_NAMES.get(name.lower(), "")
    is_ours = meant in TARGETS or bool(meant) and machines.of(meant).on_device and architectures.is_known(meant)
    return meant if is_ours else _spelt(name)


def gpu_named(name: str) -> str:
    """"sm_80" for "a100"; "" for what is no name of a GPU we compile for."""
    meant = meant_by(name)
    return meant if meant and machines.of(meant).on_device else ""


def check_target(target: str, keyword: str = "target", prefix: str = "") -> str:
    """The target, which the user gives by this keyword without the prefix; "": as one of a list."""

    def fixed(name: str) -> str:
        return f"{keyword}=" * bool(keyword) + f'"{name.removeprefix(prefix)}"'

    if isinstance(target, str) and target in TARGETS:
        return target
    if not isinstance(target, str):
        raise CompileError(source.at_user(f"a target is a string ({', '.join(TARGETS)}), not {a_kind(target)}", fixed("cpu"), repr(target)))
    from . import gpu

    if gpu.is_gpu(target):
        return target
    part = target.removeprefix(prefix)
    if right := _spelt(target):
        raise CompileError(source.at_user(f"no target is called {target!r}; it is spelt {right!r}", fixed(right), part))
    if unknown := _SPELT.fullmatch(target):
        kind, arch = (unknown[1] or "").lower(), f"sm_{unknown[2].lower()}"
        raise CompileError(source.at_user(_no_such_machine(kind, arch), fixed(kind + _nearest_machine(arch)), part))
    if is_later(target):
        raise CompileError(source.at_user(f"not yet: target {target!r}; this version compiles for {', '.join(TARGETS)}, sm_75 and newer", fixed("cpu"), part))
    from . import cuda

    meant = _TARGET_NAMES.get(target.lower().partition(":")[0], "")
    ours = bool(meant) and machines.of(meant).in_process or gpu.is_gpu(meant)
    note = f"; it would be {meant!r}, which this version does not compile for" if meant and not ours else ""
    near = meant if ours else source.nearest(target, TARGETS, "cpu")
    call = source.call_of_user()
    compiles = call is not None and call.tool in ("compile", "inspect_ir", "aot", "explain")
    if machines.of(near).on_device and not compiles and not cuda.count():
        near = "sim:" + near  # there is no GPU here: the simulator runs it
    raise CompileError(source.at_user(f"no target is called {target!r}; there are {', '.join(TARGETS)}, sm_75 ... sm_121, sim:sm_80, cudatile:sm_90{note}", fixed(near), part))


def _no_such_machine(kind: str, name: str) -> str:
    if kind == "cudatile:" and architectures.is_known(name):
        return f"no target is called '{kind}{name}': CUDA Tile IR is for sm_80 and newer"
    return f"no NVIDIA architecture is called {name!r}; there are {', '.join(architectures.names())}"


def _nearest_machine(name: str) -> str:
    """The newest one that is not newer, of those with the asked number."""
    number = re.match(r"sm_(\d+)", name)
    plain = [n for n in architectures.names() if n[-1].isdigit() and architectures.order(n) >= (7, 5)]
    older = [n for n in plain if number and int(n[3:]) <= int(number[1])]
    return older[-1] if older else plain[0]


def check_schedule_target(target: str) -> None:
    """A schedule may be for any target of the language, or a family of them."""
    right = _spelt(target) if isinstance(target, str) else ""
    if right in ("", target) and isinstance(target, str) and (target in TARGETS or target in ("sim", "cudatile", "gfx", "sm") or is_later(target)):
        return
    if isinstance(target, dict) and target and all(isinstance(key, str) and key.isidentifier() for key in target):
        call = source.call_of_user()
        fix = f"@{call.callee}({', '.join(f'{key}={value!r}' for key, value in target.items())})" if call else ""
        raise CompileError(source.at_user("a schedule takes its keys as keywords, not as a dict", fix, "schedule"))
    if type(target) is int:
        raise CompileError(source.at_user(f"a schedule takes its keys as keywords; nothing says which key {target} is for", "", str(target)))
    unknown = _SPELT.fullmatch(str(target))
    near = _TARGET_NAMES.get(str(target).lower(), right) or (_nearest_machine(f"sm_{unknown[2]}") if unknown else "") or source.nearest(target, (*TARGETS, "sm_90a", "gfx942", "spirv"), "cpu")
    raise CompileError(source.at_user(f"no target is called {target!r}; there are {', '.join(TARGETS)}, sm_75 ... sm_121, sim:sm_80, cudatile:sm_90",
                                      f'target="{near}"', target if isinstance(target, str) else "target"))
