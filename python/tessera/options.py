"""What decorators say about a function or kernel: precision, schedule, tuning.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses

from . import capture, dtypes, machines, source
from .dtypes import as_dtype
from .errors import CompileError
from .wording import a_kind

# Schedule keys that are not parameters of the kernel, and the targets that follow them.
SCHEDULE_KEYS = {
    "threads": ("cpu",),
    "vector": ("cpu",),
    "unroll": ("cpu",),
    "num_warps": ("gpu",),
    "num_stages": ("gpu",),
    "cluster": (),  # of Hopper and later: not yet
    "warp_specialize": (),
    "consumers": (),
    "persistent": ("gpu",),
    "group": ("cpu", "gpu"),  # of kernels: the order of programs
    "pack": ("cpu",),  # operands of products once for all programs, where several read the same; 0: never
    "stream": ("cpu",),  # large results past the caches; 0: never, 2: all
    "fuse": ("cpu", "gpu"),  # of functions; 0: each op is a kernel of its own
    "split_k": ("cpu",),  # of products of functions, in as many parts; 0: a long sum of few programs, 1: never. Kernels: kernels.gemm_split_k
    "swizzle": (),  # not yet: chosen by counting bank conflicts
    "max_registers": (),  # not yet
    "tile": ("cpu", "gpu"),
}
OF_FUNCTIONS = ("fuse", "split_k")
POLICIES = ("deterministic", "strict", "fast")
# The keys of the usage guide's tessera.autotuning, and what it and others call the ways to search.
ATTRIBUTES = ("tile_sizes", "thread_mappings", "memory_layouts", "pipeline_stages", "objectives", "search_strategy", "evaluation_budget", "parallel_evaluations")
STRATEGIES = {"auto": "auto", "exhaustive": "exhaustive", "grid_search": "exhaustive", "grid": "exhaustive", "random": "random", "random_search": "random",
              "tpe": "tpe", "bayesian_optimization": "tpe", "bayesian": "tpe"}
PRECISIONS = ("ieee", "tf32", "tf32x3", "bf16x3")
PRECISIONS_NOT_YET = ("tf32x3", "bf16x3")


@dataclasses.dataclass
class Schedule:
    target: str | None
    values: dict
    dtype: str | None = None  # of the first array


@dataclasses.dataclass
class Tuning:
    space: dict
    key: list
    cache: str
    budget: int = 100
    seconds: float = 60.0
    where: str | None = None
    numerics: str = "fixed"
    strategy: str = "auto"
    parallel: int = 1  # configurations that are compiled at once; they are measured one by one
    memory: int | None = None  # bytes of scratch that a program may take
    attributes: dict | None = None  # the usage guide's tessera.autotuning, as it was given
    axes: list = dataclasses.field(default_factory=list)  # of tessera.space; empty: one per name of `space`
    on_call: bool = True  # a call with a new key measures; what `fn.tune` leaves behind does not

    def first_point(self) -> dict:
        """What the names of the space are where nothing was chosen yet: to look at, and to compile without a call."""
        from .space import Space, TuningMistake

        try:
            return Space.of_dict(self.space, self.where).default if self.space else {}
        except TuningMistake:  # said at the first call
            return {}


@dataclasses.dataclass
class Options:
    policy: str | None = None
    accum: object = None
    precision: str | None = None
    schedules: list = dataclasses.field(default_factory=list)
    tuning: Tuning | None = None
    tuned: dict = dataclasses.field(default_factory=dict)  # set for one version
    opt_level: int | None = None  # LLVM's; None: the knob's

    def copy(self) -> "Options":
        return dataclasses.replace(self, schedules=list(self.schedules), tuned=dict(self.tuned))

    def tuning_for_compiler(self) -> dict:
        """The search space, which Schedule IR shows as `sched.autotune`."""
        if self.tuning is None:
            return {}
        space = {name: tuple(values) for name, values in self.tuning.space.items()}
        return {"tuning": (space, [str(name) for name in self.tuning.key], self.tuning.budget, self.tuning.numerics)}

    def merged(self, target: str, dtype: str | None = None) -> dict:
        """All schedule values for `target` and the dtype of the first array; the most specific target wins, and of one target the dtype's."""
        values: dict = {}
        target = machines.of(target).compiled_as  # the simulator runs the code of the machine it stands for
        for schedule in sorted(self.schedules, key=lambda s: (len(s.target or ""), s.dtype is not None)):
            if schedule.dtype not in (None, dtype):
                continue
            if schedule.target is None or target == schedule.target or target.startswith(schedule.target + ":"):
                values.update(schedule.values)
        values.update(self.tuned)
        return values

    def constants_for(self, target: str, dtype: str | None = None) -> dict:
        return {k: v for k, v in self.merged(target, dtype).items() if k not in SCHEDULE_KEYS and not k.startswith("tile.")}

    def schedule_for(self, target: str, dtype: str | None = None) -> dict:
        chosen = {k: int(v) if k in ("pack", "stream", "fuse") else v for k, v in self.merged(target, dtype).items() if k in SCHEDULE_KEYS}
        tile = chosen.pop("tile", None)
        for name, size in (tile or {}).items():
            chosen[f"tile.{name}"] = size
        chosen.update({k: v for k, v in self.tuned.items() if k.startswith("tile.")})  # as the tuner names them
        return chosen

    def ignored_by(self, target: str, dtype: str | None = None) -> list[str]:
        """Keys that this target has no use for."""
        family = machines.of(target).family
        return [key for key in self.merged(target, dtype) if family not in SCHEDULE_KEYS.get(key.partition(".")[0], (family,))]


def _quoted(value) -> str:
    """A string as it stands in the source, for the caret; nothing for other values."""
    return value if isinstance(value, str) else ""


def check_policy(policy: str) -> str:
    if policy not in POLICIES:
        if callable(policy):
            raise CompileError(source.at_user(f"@tsr.policy takes the name of a policy: {', '.join(POLICIES)}", '@tsr.policy("deterministic")'))
        near = source.nearest(policy, POLICIES, {"precise": "strict", "exact": "strict", "ieee": "strict", "high": "strict", "relaxed": "fast",
                                                 "fastmath": "fast"}.get(str(policy), "deterministic"))
        raise CompileError(source.at_user(f"no policy is called {policy!r}; there are {', '.join(POLICIES)}", f'@tsr.policy("{near}")', _quoted(policy)))
    return policy


def numerics_mistake(given) -> tuple[str, str]:
    """What to say of numerics= that is neither."""
    same = ("fixed", "exact", "strict", "same", "bits", "bitwise", "deterministic", "default", "ieee")  # as a call without it; whatever else is said means the other
    meant = "fixed" if str(given).lower() in same or source.nearest(given, ("fixed", "open")) == "fixed" else "open"
    return f"numerics is 'fixed' (the bits of the default) or 'open' (any order of summation), not {given!r}", f'numerics="{meant}"'


def check_schedule_dtype(value) -> str:
    """The name of the dtype that a schedule is for."""
    found = as_dtype(value)
    if found is None:
        near = source.nearest(value, dtypes._all, "i8") if isinstance(value, str) else "i8"
        raise CompileError(source.at_user(f"dtype of a schedule is a dtype, that of the first array, not {value!r}", f"dtype={near}", _quoted(value) or "dtype"))
    return found.name


def check_accum(value):
    found = as_dtype(value)
    if found is None:
        given = getattr(value, "__name__", None) or repr(value)
        meant = {"half": "fp32", "float": "fp32", "double": "fp64", "int": "fp32"}.get(str(value), "")
        meant = meant or str(dtypes._foreign.get(str(value), "")) or source.nearest(value, ("fp32", "fp64"), "fp32")
        raise CompileError(source.at_user(f"@tsr.accum takes a dtype, not {given}", f"@tsr.accum({meant})", _quoted(value)))
    if found.name not in ("fp32", "fp64"):
        raise CompileError(source.at_user(f"not yet: sums in {found}", "@tsr.accum(fp32)", found.name))
    return found


# Whole numbers from and to, and what to write for others; the verifiers of Schedule IR hold edited stages to the same.
MOST = 2**16  # elements of a tile along an axis
_RANGES = {"threads": (0, MOST, 0), "vector": (0, MOST, 8), "unroll": (0, 64, 4), "num_stages": (1, 64, 2), "group": (1, MOST, 8), "pack": (0, 1, 1), "stream": (0, 2, 1),
           "fuse": (0, 1, 1), "split_k": (0, MOST, 0)}
_MEANINGS = {"split_k": "0 (where it pays), 1 (never) or a number of parts", "vector": "0 (a register) or a power of two", "pack": "0 or 1", "fuse": "0 or 1", "stream": "0, 1 or 2"}
_KINDS = {bool: ("persistent", "warp_specialize"), str: ("swizzle",), dict: ("tile",)}


def _check_value(key: str, value, dims, what: str) -> tuple | None:
    """What is wrong with the value of a schedule key, and a fix: its text, or a name and a value, and the name inside of the value that they are for."""
    wanted = next((kind for kind, keys in _KINDS.items() if key in keys), int)
    if wanted is dict and isinstance(value, dict):
        for name, size in value.items():
            free = [dim for dim in dims if dim not in value]
            # A dim of one parameter only is no dim that a product sums over.
            single = [dim for dim in free if dims[dim] == 1]
            if name not in dims:
                near = source.nearest(name, free, next((each[0] for each in (free, single) if len(each) == 1), ""))
                return f"the schedule has a tile size for {name}, but the named dims are {', '.join(dims)}", (near, size) if near else "", str(name)
            if not isinstance(size, int):
                return f"the tile size of {name} is an int, not {size!r}", (name, 64), str(name)
            if not 1 <= size <= MOST:
                return f"a tile has 1 to {MOST} elements along {name}, not {size}", (name, 64), str(name)
        return None
    if wanted is int and key == "cluster" and isinstance(value, (tuple, str)):
        return None
    if wanted is int and not isinstance(value, int) or not isinstance(value, (wanted, int, str) if wanted is str else (wanted, int)):
        if wanted is dict and isinstance(value, (tuple, list)) and len(dims) >= len(value) > 0:  # (128, 64): of the first dims and the last
            names = [*list(dims)[: len(value) - 1], list(dims)[-1]]
            return f"{key} of {what} is a dict, not {value!r}", f"{key}=dict({', '.join(f'{name}={size!r}' for name, size in zip(names, value))})"
        example = {int: "4", bool: "True", str: '"auto"', dict: "dict(M=128)"}[wanted]
        return f"{key} of {what} is {'an' if wanted is int else 'a'} {wanted.__name__}, not {value!r}", f"{key}={example}"
    if key == "num_warps" and value not in (1, 2, 4, 8, 16, 32):
        near = min((1, 2, 4, 8, 16, 32), key=lambda good: abs(good - value))
        return f"num_warps of {what} is 1, 2, 4, 8, 16 or 32, not {value}", f"num_warps={near}"
    if key in _RANGES and isinstance(value, int):
        least, most, instead = _RANGES[key]
        if not least <= value <= most or key == "vector" and value & (value - 1):
            near = 2 ** (value.bit_length() - 1) if key == "vector" and least < value <= most else instead
            return f"{key} of {what} is {_MEANINGS.get(key, f'{least} to {most}')}, not {value}", f"{key}={near}"
    return None


def _sizes_of_kernel(tile, parameters: list[str]) -> str:
    """"BN=64" for tile=dict(N=64) or tile=dict(BN=64)."""
    if not isinstance(tile, dict) or not tile or not parameters:
        return f"{parameters[0]}=64" if parameters else "tsr.tile(N, 64) in the kernel"
    chosen = {name: name if name in parameters else next((p for p in parameters if p.endswith(str(name))), parameters[0]) for name in tile}
    return ", ".join(f"{chosen[name]}={size!r}" for name, size in tile.items())


def _several_values(key: str, value, what: str) -> tuple:
    """What is wrong with a value of a constant, and the fix."""
    several = isinstance(value, (list, tuple)) and len(value) > 0 and all(map(capture.is_plain, value))
    instead = f"; values to try are for @tsr.{what.partition(' ')[0]}.autotune(space=dict({key}={list(value)!r}))" if several else ""
    return f"{key} of {what} is const: an int, float, bool, str or dtype, not {a_kind(value)}{instead}", f"{key}={value[0]!r}" if several else f"{key}=64"


def check_schedule(values: dict, parameters: list[str], what: str, place, dims=()) -> None:
    """An unknown key is an error with the nearest names, where the decorator has it: `place(key)`. `dims`: how many parameters have each."""
    known = [*parameters, *SCHEDULE_KEYS]
    for key in values:
        wrong = _check_value(key, values[key], dims, what) if key in SCHEDULE_KEYS and key not in parameters else None
        if key in parameters and as_dtype(values[key]) is None and not capture.is_plain(values[key]):
            wrong = _several_values(key, values[key], what)
        if key == "tile" and what.startswith("kernel"):
            wrong = f"tile= is for functions; {what} has the tile sizes that its text says" + (f": {', '.join(parameters)}" if parameters else ""), \
                _sizes_of_kernel(values[key], parameters)
        if wrong:
            message, fix, *part = wrong
            found = place(key, *part)
            if isinstance(fix, tuple):  # of a name inside of the value: there, or for the whole
                right = {fix[0] if name in part else name: fix[1] if name in part else size for name, size in values[key].items()}
                fix = f"{fix[0]}={fix[1]!r}" if found != place(key) else f"{key}=dict({', '.join(f'{name}={size!r}' for name, size in right.items())})"
            raise CompileError(source.render(*found, message, fix) if found else f"error: {message}\n" + (f" fix:  {fix}\n" if fix else ""))
        if key in known:
            continue
        near = [name for name in (source.nearest(key, known),) if name]
        own = f"its const parameters ({', '.join(parameters)})" if parameters else "const parameters (it has none)"
        message = f"{what} has no schedule key {key!r}; there are {own} and {', '.join(SCHEDULE_KEYS)}"
        if not near and len(parameters) == 1:
            near = list(parameters)
        fix = f"{near[0]}={values[key]!r}" if near else f"a parameter {key}: const = {values[key]!r}"
        found = place(key)
        if found is None:
            raise CompileError(f"error: {message}\n" + (f" fix:  {fix}\n" if fix else ""))
        file, line, begin, end, text = found
        raise CompileError(source.render(file, line, begin, end, text, message, fix))
