"""What a tuner may choose from: axes of values, constraints on them, and where they come from.

A space is declared (`space=dict(BLOCK_M=[64, 128])`), or it is what the schedule leaves open (`sched.tile 0 by <128, [16, ...], default>`),
or it is the usage guide's `tessera.autotuning` dictionary. The first point is the default.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import itertools
import json
import math
import operator
import random
import re

from . import _runtime, dtypes, explain, machines, options, source
from .errors import CompileError
from .options import ATTRIBUTES, STRATEGIES
from .wording import remind

ENUMERABLE = 100_000  # points of a space that are looked at one by one

_operators = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Div: operator.truediv, ast.Pow: operator.pow,
}


class TuningMistake(CompileError):
    """Something of @tsr.kernel.autotune, found when it is used: the keyword, the message, the fix."""

    def __init__(self, keyword: str, message: str, fix: str, part: str = ""):
        super().__init__(f"error: {message}\n" + (f" fix:  {fix}\n" if fix else ""))
        self.keyword, self.message, self.fix = keyword, message, fix
        self.part = part or keyword  # of a call of `tune`, for the caret


def placed(fn, mistake: TuningMistake) -> CompileError:
    """The mistake at its keyword in the decorator, or at the call of `tune`."""
    named = re.match(r"(\w+)=(?!=)", mistake.fix)
    found = source.find_keyword(fn.source, "autotune", mistake.keyword, named[1] if named else "")
    if found is None:
        return mistake
    line, begin, end, row = found
    if mistake.part != mistake.keyword and not named and (at := row.find(mistake.part, begin)) >= 0:
        found = line, at, at + len(mistake.part), row
    return CompileError(source.render(fn.source.file, *found, mistake.message, mistake.fix))


_OF_C = {"&&": "and", "||": "or", "!": "not"}


def _parsed(where: str):
    """The expression; None if the text is none."""
    try:
        return ast.parse(where.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _in_words(where: str, tree) -> str:
    """`where="a < b and c < d"` where it has & and | between comparisons, as NumPy's masks have; else ""."""
    words = {ast.BitAnd: ast.And(), ast.BitOr: ast.Or()}

    class InWords(ast.NodeTransformer):
        def visit_BinOp(self, node):
            self.generic_visit(node)
            both = (node.left, node.right)
            is_mask = type(node.op) in words and all(isinstance(each, (ast.Compare, ast.BoolOp)) for each in both)
            return ast.BoolOp(words[type(node.op)], list(both)) if is_mask else node

    mended = ast.unparse(InWords().visit(tree))
    return f'where="{mended}"' if mended != ast.unparse(_parsed(where)) and '"' not in mended else ""


def holds(where: str | None, config: dict) -> bool:
    """Evaluates a constraint such as "BLOCK_M * BLOCK_N <= 32768"; only names, numbers and arithmetic."""
    if where is None:
        return True

    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, bool)):
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in config:
                raise TuningMistake("where", f"where={where!r} names {node.id}, which is not in the space: {', '.join(config)}",
                                    f'where="{where.replace(node.id, source.nearest(node.id, config, next(iter(config))))}"')
            return config[node.id]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and f"{node.value.id}.{node.attr}" in config:  # tile.M
            return config[f"{node.value.id}.{node.attr}"]
        if isinstance(node, ast.BinOp) and type(node.op) in _operators:
            return _operators[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return not value(node.operand)
        if isinstance(node, ast.BoolOp):
            results = (value(v) for v in node.values)
            return all(results) if isinstance(node.op, ast.And) else any(results)
        if isinstance(node, ast.Compare):
            left = value(node.left)
            for op, right in zip(node.ops, node.comparators):
                right = value(right)
                if type(op) not in _operators or not _operators[type(op)](left, right):
                    return False
                left = right
            return True
        raise TuningMistake("where", f"where={where!r} may use names, numbers, arithmetic and comparisons only", _in_words(where, tree))

    tree = _parsed(where)
    if tree is None:
        mended = re.sub(r"!(?!=) *", " not ", where.replace("&&", " and ").replace("||", " or "))
        mended = " ".join(mended.replace("( not", "(not").split())
        used = [f"{theirs} is {ours!r}" for theirs, ours in _OF_C.items() if re.search(rf"{re.escape(theirs)}(?!=)", where)]
        why = f"; in Python {', '.join(used)}" if used else ""
        raise TuningMistake("where", f"where={where!r} is no expression{why}", f'where="{mended}"' if _parsed(mended) is not None else "")
    try:
        return bool(value(tree))
    except ZeroDivisionError:
        return False


def name_of(config: dict) -> str:
    """A configuration as text: the key of what is known of it."""
    return json.dumps(config, sort_keys=True)


@dataclasses.dataclass(frozen=True)
class Axis:
    """Names that are chosen together, and the values they may have: one tuple per choice."""

    names: tuple
    values: tuple


class Space:
    """The points of some axes where `where` holds."""

    def __init__(self, axes: list, where: str | None = None):
        self.axes, self.where = list(axes), where
        self.size = math.prod(len(axis.values) for axis in self.axes)
        self.names = [name for axis in self.axes for name in axis.names]
        self._legal: list | None = None

    @classmethod
    def of_dict(cls, values: dict, where: str | None = None) -> "Space":
        return cls([Axis((name,), tuple((v,) for v in choices)) for name, choices in values.items()], where)

    def at(self, choices) -> dict:
        """The point with these numbers of values, one per axis."""
        return {name: value for axis, choice in zip(self.axes, choices) for name, value in zip(axis.names, axis.values[choice])}

    def choices_of(self, config: dict) -> tuple | None:
        """The inverse of `at`; None for a point of another space."""
        if set(config) != set(self.names):
            return None
        found = []
        for axis in self.axes:
            wanted = tuple(config[name] for name in axis.names)
            if wanted not in axis.values:
                return None
            found.append(axis.values.index(wanted))
        return tuple(found)

    def allows(self, config: dict) -> bool:
        return holds(self.where, config)

    def legal(self) -> list[dict]:
        """All points, or many of them if there are too many to list; the first is the default."""
        if self._legal is None:
            if self.size <= ENUMERABLE:
                every = itertools.product(*(range(len(axis.values)) for axis in self.axes))
            else:
                rng = random.Random(0)
                first = (0,) * len(self.axes)
                every = itertools.chain([first], ([rng.randrange(len(axis.values)) for axis in self.axes] for _ in range(ENUMERABLE)))
            seen: dict = {}
            for choices in every:
                config = self.at(choices)
                if self.allows(config):
                    seen.setdefault(name_of(config), config)
            if not seen:
                raise TuningMistake("where", f"where={self.where!r} leaves no point of the space", "a weaker where, or more values in space")
            self._legal = list(seen.values())
        return self._legal

    def without(self, values: dict) -> "Space":
        """Less some values: numbers of them by axis."""
        axes = [Axis(axis.names, tuple(v for k, v in enumerate(axis.values) if k not in values.get(number, ()))) for number, axis in enumerate(self.axes)]
        return Space(axes, self.where)

    @property
    def default(self) -> dict:
        return self.legal()[0]

    def values(self) -> dict:
        """Values by name, however they are chosen."""
        found: dict = {}
        for axis in self.axes:
            for column, name in enumerate(axis.names):
                found[name] = list(dict.fromkeys(choice[column] for choice in axis.values))
        return found


def _is_builtin(name: str) -> bool:
    """fp16, int, range: names that a function uses, but that no tuner sets."""
    return isinstance(getattr(dtypes, name, None), dtypes.dtype) or name in vars(builtins)


def _holding(fn, names: list, values: list) -> list:
    """Those of these parameters whose own value is of the kind of these, the sizes of tiles first."""
    default = {p.name: p.default for p in fn.parameters if p.has_default}
    alike = [name for name in names if type(default.get(name, values[0])) is type(values[0])] if values else names
    sizes = set(re.findall(r"\b(?:tile|range_at)\([^()]*,\s*(\w+)\s*[,)]", fn.source.text))
    return sorted(alike, key=lambda name: name not in sizes)


def check_names(fn, space: Space) -> None:
    """A name that nothing reads would win by chance: it is an error with the nearest name."""
    outside = fn.capture()[0]
    own = [p.name for p in fn.parameters if p.kind == "const"]
    own += [name for name in fn.free_names if name.isidentifier() and outside.get(name, ("const",))[0] == "const" and not _is_builtin(name)]
    tiles = [f"tile.{dim}" for p in fn.parameters for dim in p.dims or () if dim.isidentifier() and fn.kind == "function"]
    known = list(dict.fromkeys([*own, *tiles, *(key for key in options.SCHEDULE_KEYS if key != "tile")]))
    for axis in space.axes:
        for name in axis.names:
            if name in known or name in fn.free_names or name.partition(".")[0] in options.SCHEDULE_KEYS:
                continue
            near = source.nearest(name, known, next(iter(_holding(fn, own, space.values()[name])), "unroll"))
            whole = {near if key == name else key: values for key, values in space.values().items()}
            named = ", ".join(f"{key}={list(values)}" for key, values in whole.items())
            raise TuningMistake("space", f"space names {name!r}, which {fn.__name__} does not have; there are {', '.join(known)}",
                                f"space=dict({named})" if all(map(str.isidentifier, whole)) else f"space={whole}", name)


# ---- spaces of schedules ------------------------------------------------------------------------


def of_schedule(fn, spec, compilation) -> Space:
    """What the schedule of this version leaves open, its own choice first."""
    values: dict = {}

    def add(name: str, value, others) -> None:
        known = values.setdefault(name, [value])
        known.extend(v for v in others if v not in known)

    family = machines.of(spec.target).family
    for _, name, value, others, by in explain._constants(fn, spec):
        if by != "user":
            add(name, value, others)
    compilation.lower("sched")
    for _, what, value, others, by in compilation.decisions():
        name = explain.schedule_key(what)
        root = name.partition(".")[0]
        if by == "user" or family not in options.SCHEDULE_KEYS.get(root, ()) or (root == "tile" and not name[5:].isidentifier()):
            continue
        if name == "threads":
            others = [n for n in others if n <= _runtime.num_threads()]
        add(name, value, others)
    return Space.of_dict({name: found for name, found in values.items() if len(found) > 1})


# ---- the usage guide's tessera.autotuning dictionary --------------------------------------------

OBJECTIVES = ("minimize", "maximize", "constraint")
LAYOUTS = ("row_major", "column_major", "swizzled")
_SMALLER = ("latency", "time", "runtime")
_LARGER = ("throughput", "bandwidth", "occupancy")
_UNITS = {"": 1, "B": 1, "KB": 1024, "KIB": 1024, "MB": 1 << 20, "MIB": 1 << 20}


def _one_of(keyword: str, what: str, given, known) -> None:
    if given not in known:
        near = source.nearest(given, known, next(iter(known)))
        raise TuningMistake(keyword, f"no {what} is called {given!r}; there are {', '.join(known)}", f'"{near}"')


def _warps(mapping) -> int:
    """thread_config<[16, 16], 4> in Python: ([16, 16], 4), its text, or the number of warps."""
    if isinstance(mapping, str):
        found = re.search(r"thread_config<\[[\d, ]*\], *(\d+)>", mapping)
        if found:
            return int(found[1])
    elif isinstance(mapping, (list, tuple)) and len(mapping) == 2 and isinstance(mapping[1], int):
        return mapping[1]
    elif isinstance(mapping, int):
        return mapping
    raise TuningMistake("autotuning", f"a thread mapping is ([16, 16], 4) or a number of warps, not {mapping!r}", "thread_mappings=[([16, 16], 4)]")


def memory_limit(constraint: str) -> int:
    """Bytes that "memory < 48KB" allows."""
    found = re.fullmatch(r"\s*memory\s*(<=?)\s*([\d.]+)\s*(\w*)\s*", constraint)
    if not found or found[3].upper() not in _UNITS:
        raise TuningMistake("autotuning", f"a constraint is like \"memory < 48KB\", not {constraint!r}", 'constraint="memory < 48KB"')
    return int(float(found[2]) * _UNITS[found[3].upper()]) - (found[1] == "<")


def _tiles(fn, choices) -> Axis:
    """tile_sizes, one list per choice: of the consts that are sizes of tiles, in the order of the signature, or of the dims of a function."""
    if not isinstance(choices, (list, tuple)) or not choices or not all(isinstance(c, (list, tuple)) and c and all(isinstance(v, int) for v in c) for c in choices):
        raise TuningMistake("autotuning", f"tile_sizes is a list of lists of ints, not {choices!r}", "tile_sizes=[[64, 64], [128, 64]]")
    rank = len(choices[0])
    if fn.kind == "kernel":
        tiles = explain._tile_constants(fn)
        names = [p.name for p in fn.parameters if p.kind == "const" and p.name in tiles]
    else:
        names = list(dict.fromkeys(f"tile.{dim}" for p in fn.parameters for dim in p.dims or () if dim.isidentifier()))
    if rank > len(names) or any(len(choice) != rank for choice in choices):
        raise TuningMistake("autotuning", f"tile_sizes has {rank} sizes per choice, but {fn.__name__} has {len(names)}: {', '.join(names) or 'none'}",
                            f"tile_sizes=[{list((64,) * max(min(rank, len(names)), 1))}]")
    return Axis(tuple(names[:rank]), tuple(tuple(choice) for choice in choices))


def of_attributes(fn, given: dict, target: str) -> tuple[list, dict]:
    """Axes, and the rest as keywords of `options.Tuning`. An unknown key is an error with the nearest name."""
    if not isinstance(given, dict):
        raise TuningMistake("autotuning", f"autotuning is a dict, not {type(given).__name__}", "autotuning=dict(tile_sizes=[[64, 64], [128, 64]])")
    for name in given:
        _one_of("autotuning", "key of autotuning", name, ATTRIBUTES)
    on_gpu = not machines.of(target).in_process
    axes, more = [], {}
    if "tile_sizes" in given:
        axes.append(_tiles(fn, given["tile_sizes"]))
    if "thread_mappings" in given:
        warps = list(dict.fromkeys(_warps(mapping) for mapping in given["thread_mappings"]))
        name = "num_warps" if on_gpu else "threads"
        axes.append(Axis((name,), tuple((w,) for w in (warps if on_gpu else list(dict.fromkeys(min(w, _runtime.num_threads()) for w in warps))))))
    for layout in given.get("memory_layouts", ()):
        _one_of("autotuning", "memory layout", layout, LAYOUTS)
    if len(given.get("memory_layouts", ())) > 1:
        remind(f"{fn.kind} '{fn.__name__}': memory_layouts is not a choice of the tuner: arguments keep their strides, and layouts in shared memory or "
               "packed panels follow from the machine")
    if "pipeline_stages" in given:
        if on_gpu:
            axes.append(Axis(("num_stages",), tuple((s,) for s in given["pipeline_stages"])))
        else:
            remind(f"{fn.kind} '{fn.__name__}': target {target} does not use pipeline_stages")
    goals = given.get("objectives", {})
    for name in goals:
        _one_of("autotuning", "objective", name, OBJECTIVES)
    if "minimize" in goals:
        _one_of("autotuning", "quantity to minimize", goals["minimize"], _SMALLER)
    if "maximize" in goals:
        _one_of("autotuning", "quantity to maximize", goals["maximize"], _LARGER)
        if goals["maximize"] == "occupancy" and not on_gpu:
            remind(f"{fn.kind} '{fn.__name__}': target {target} has no occupancy to maximize")
    if "constraint" in goals:
        more["memory"] = memory_limit(goals["constraint"])
    if "search_strategy" in given:
        _one_of("autotuning", "search strategy", given["search_strategy"], tuple(STRATEGIES))
        more["strategy"] = STRATEGIES[given["search_strategy"]]
    for theirs, ours in (("evaluation_budget", "budget"), ("parallel_evaluations", "parallel")):
        if theirs in given:
            if not isinstance(given[theirs], int) or given[theirs] < 1:
                raise TuningMistake("autotuning", f"{theirs} is a positive int, not {given[theirs]!r}", f"{theirs}=4")
            more[ours] = given[theirs]
    return axes, more
