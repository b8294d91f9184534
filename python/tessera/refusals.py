"""What a function or kernel says of calls that do not fit: at the user's call, in its words.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap

from . import arguments, arrays, source
from .arguments import Parameter
from .dtypes import by_name, by_storage
from .errors import ArgumentError, CompileError, TesseraError
from .knobs import colour
from .wording import called_at


class Refusals:
    """The part of `Function` that makes errors of calls."""

    def _fail(self, message: str, parameter: str = "", fix: str = "", keyword: str = ""):
        """Raises an ArgumentError at the user's call: under this keyword, or what it gives for the parameter (the one that the message begins with,
        if none is said), with the parameter in a note. A fix of the definition is shown there, and so is what no call of the user's is known for."""
        names = [p.name for p in self.parameters]
        if not parameter and not keyword and (first := re.match(r"\w+", message)) and first[0] in (*names, "out"):
            parameter, keyword = (first[0], "") if first[0] in names else ("", first[0])
        is_of_library = self.__module__.startswith("tessera.")  # whose text is not what is wrong
        call = source.call_of_user()
        of_definition = re.search(rf"^@|\bdef |\b{parameter}:" if parameter else r"^@|\bdef ", fix)
        if call is None or of_definition and not keyword or not (is_of_library or self._is_called_by(call)):
            raise ArgumentError(self.program.render_error(message + called_at(), parameter if parameter in names else "", fix, colour())) from None
        places = [p.name for p in self.parameters if not p.keyword_only]
        name, place = (keyword, None) if keyword else (parameter, places.index(parameter) if parameter in places else None)
        given = call.argument(name, place) if name else None
        if given is not None and name == "out" and (one := re.match(r"out\[(\d+)\]", message)):
            given = call.element(given, int(one[1]))
        if given is None and any(p.name == name and p.kind == "out" for p in self.parameters):
            given = call.argument("out")  # the same array under the other name
        fix = self._in_words_of_call(call, fix, name, given)
        message, note = (f"{self.__name__}: {message}", "") if is_of_library else (message, self._defined(parameter))
        node = call.func if given is None or isinstance(fix, source.Whole) else given
        raise ArgumentError(call.render(node, message, fix, (note,), colour())) from None

    def _is_called_by(self, call: source.Call) -> bool:
        """Whether the arguments of the call are this function's, or those of one made of it."""
        owners = [call.owner, *(vars(call.owner).get(name) for name in ("function", "fn") if hasattr(call.owner, "__dict__"))]
        return any(isinstance(owner, Refusals) and (owner is self or owner._fn is self._fn is not None) for owner in owners)

    def _defined(self, parameter: str) -> str:
        """Where the definition has the parameter, or else the name, for a note."""
        shown = self.program.render_error("", parameter, "", False)
        found = re.match(r"(.+:\d+:\d+): error: .*\n *\d+ \| (.*)\n *\| ( *)(\^~*)", shown)
        if found is None:
            return ""
        place, row, before, carets = found.groups()
        return f"{place}: {row[len(before):][:len(carets)]}" if parameter else f"{place}: {self.kind} {self.__name__}"

    def _in_words_of_call(self, call: source.Call, fix: str, name: str, given) -> str:
        """The fix, which is of a parameter, for what the call gives for it; "" if the text of that is not known."""
        if not fix or isinstance(fix, source.Whole) or fix[0] == "@" or fix.startswith("out=("):
            return fix if fix != str(call) else ""
        for module, ours in (("numpy", "np"), ("torch", "torch")):
            fix = re.sub(rf"(?<![\w.]){ours}\.(?=\w)", source.module_of_user(module, ours) + ".", fix)
        is_keyword = isinstance(given, ast.keyword) and given.arg is not None
        known = is_keyword or given is not None and not isinstance(given, (ast.Starred, ast.keyword))
        value = given.value if is_keyword else given
        text, used = call.text(value) if known else "", rf"(?<![\w.\"'])({re.escape(name)})\b(?=(\.)?)(?!=[^=]|[\"'])"
        if name and re.search(used, fix) and not (text and len(text) < 200):
            return ""
        is_atom = isinstance(value, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.List, ast.Tuple))
        fix = re.sub(used, lambda at: f"({text})" if at[2] and not is_atom else text, fix).removesuffix(".T.T") if name else fix
        if given is None or is_keyword and re.match(r"\w+=(?!=)", fix):
            return fix
        is_fresh = any(p.is_written for p in self.parameters if p.name == name) or name == "out"
        if is_fresh and isinstance(value, ast.Name) and source.is_statement_of_user():  # whose lines below read what is written
            fix = f"({text} := {fix})"
        return f"{given.arg}={fix}" if is_keyword else fix

    def _call_text(self) -> str:
        """The user's call with what it lacks, and without what it has too much; "" if that is not known. Where there is none: a call with the
        parameters that must be given, "f(X, Y)"."""
        positional = [p for p in self.parameters if not p.keyword_only]
        needed = [p for p in self.parameters if not p.has_default and p.kind != "out"]
        call = source.call_of_user()
        if call is not None and not self._is_called_by(call):
            return ""
        if call is None:
            first = next((i for i, p in enumerate(positional) if p.kind in ("out", "const")), len(positional))
            given = [p.name if p in positional[:first] else f"{p.name}={64 if p.kind == 'const' else p.name}" for p in needed]
            return f"{self.__name__}({', '.join(given)})"
        own = call.own or ("out", "target", "stream")
        given = call.positional(len(positional))
        texts = [call.text(each) for each in (self._fitting(given, positional, call.keywords) if len(call.positional()) > len(positional) else given)]
        taken = [p.name for p in positional[:len(texts)]]
        known = {None, *own, *(p.name for p in self.parameters if p.name not in taken)}
        keywords = [each for each in call.keywords if each.arg in known]
        if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in keywords):
            return ""
        for p in needed:
            if p.name in (*taken, *(each.arg for each in keywords)):
                continue
            names = (p.name, p.name.lower(), p.name.upper())
            value = "64" if p.kind == "const" else source.variable_of_user(names, lambda found: self._would_do(p, found))
            if not value and p.kind in ("inout", "region"):
                value = self._started(p, call, positional)
            if not value and p.kind != "scalar":
                return ""
            value = value or "..."
            in_place = p in positional and len(texts) == positional.index(p)
            texts.append(value if in_place else f"{p.name}={value}")
        return call.written([*call.before(), *texts, *map(call.text, keywords)])

    @staticmethod
    def _fitting(given: list, positional: list, keywords: list) -> list:
        """The first arguments of a call: up to a parameter that a keyword gives, too, or that takes no array where one is given."""
        named = {each.arg for each in keywords}
        for at, (value, p) in enumerate(zip(given, positional)):
            is_again = p.is_written and any(ast.dump(value) == ast.dump(each) for each in given[:at])  # of an input
            if p.name in named or is_again or p.kind in ("scalar", "const") and arrays.is_array(source.value_of_user(value)):
                return given[:at]
        return given

    def _started(self, p: Parameter, call: source.Call, positional: list) -> str:
        """np.zeros((64,), np.float32) for an array that the caller gives; "" if its sizes are not known."""
        bound = {q.name: source.value_of_user(value) for q, value in zip(positional, call.positional(len(positional)))}
        bound.update({each.arg: source.value_of_user(each.value) for each in call.keywords if each.arg})
        shape = arguments.shape_of(p, arguments.sizes_known(self, bound))
        return f"np.zeros({shape}, {arguments.numpy_name(p.dtype or 'fp32')})" if shape is not None else ""

    @staticmethod
    def _would_do(p: Parameter, value) -> bool:
        if p.kind == "scalar":
            return isinstance(value, (int, float))
        return arrays.is_array(value) and (p.dims is None or len(p.dims) == len(getattr(value, "shape", ())))

    def _without_out(self) -> str:
        """The user's call without out=, whose result is allocated."""
        call = source.call_of_user()
        return call.written([call.text(each) for each in (*call.args, *call.keywords) if getattr(each, "arg", "") != "out"]) if call else ""

    def _out_with_others(self, wanted: list) -> str:
        """`out=(a, b)` for these results (storage, rank), where the call gives fewer: with the arrays that lines above make for them; else ""."""
        call = source.call_of_user()
        given = call.argument("out") if call and self._is_called_by(call) else None
        if not isinstance(given, ast.keyword) or given.arg is None:
            return ""
        said = [getattr(each, "id", "") for each in getattr(given.value, "elts", [given.value])]
        used = {node.id for node in ast.walk(ast.Tuple([*call.args, *call.keywords])) if isinstance(node, ast.Name)}.difference(said)
        names = [name for name in source.made_above_user() if name not in used]
        values = [source.value_of_user(ast.Name(name)) for name in names]
        if not set(said) <= set(names) or len(names) != len(wanted) or not all(map(arrays.is_array, values)):
            return ""
        found = [(array.dtype.storage, len(array.sizes)) for array in map(arguments.described, values)]
        return f"out=({', '.join(names)})" if found == list(wanted) else ""

    def _blamed_on_call(self, error: CompileError) -> TesseraError:
        """The error about a constant of the wrong kind, where the user's call gives it."""
        found = re.match(r"(.+:\d+:\d+): error: (.*), but (\w+) is the float (\S+)\n", source.without_colour(str(error)))
        call = source.call_of_user() if found else None
        given = call.argument(found[3]) if call and self._is_called_by(call) else None
        if given is None or given.arg is None or not any(p.name == found[3] and p.kind == "const" for p in self.parameters):
            return error
        place, wanted, name, value = found.groups()
        halves = isinstance(given.value, ast.BinOp) and isinstance(given.value.op, ast.Div)
        fix = f"{call.text(given.value.left)} // {call.text(given.value.right)}" if halves else \
            str(int(float(value))) if isinstance(given.value, ast.Constant) else f"int({call.text(given.value)})"
        notes = (self._defined(name), f"{place}: {wanted}")
        return ArgumentError(call.render(given, f"{name} is the float {value}, but {wanted}", f"{name}={fix}", notes, colour()))

    def _annotated_otherwise(self, error: CompileError, given: dict) -> CompileError:
        """The error about an index over another dim than the axis has, with the annotation as the fix if the array has that dim's size there."""
        text = str(error)
        found = re.search(r"covers dim (\w+), but axis (\d+) of (\w+) is (\w+)", source.without_colour(text))
        dim, axis, name, _ = found.groups() if found else ("", "0", "", "")
        changed = next((p for p in self.parameters if p.name == name and p.dims and name in given), None)
        sizes = {each: size for p in self.parameters if p.name in given and p is not changed for each, size in zip(p.dims or (), given[p.name].sizes)}
        if changed is None or sizes.get(dim) != given[name].sizes[int(axis)]:
            return error
        dims = ", ".join(f'"{dim if at == int(axis) else each}"' for at, each in enumerate(changed.dims))
        head, mark, _ = text.rpartition("fix:")
        return CompileError(f"{head}{mark}  {name}: Tensor[{dims}{f', {changed.dtype}' if changed.dtype else ''}]\n") if mark else error

    def _is_about_signature(self, text: str) -> bool:
        """Whether an error stands at the signature, so that the call is the other place involved."""
        place, text = self._source, source.without_colour(text)
        found = re.match(rf"{re.escape(place.file)}:(\d+):", text)
        if not found or "called" in text:
            return False
        try:
            tree = ast.parse(textwrap.dedent(place.text)).body[0]
        except SyntaxError:
            return False
        line = int(found[1]) - place.first_line + 1
        return tree.lineno <= line < max(tree.body[0].lineno, tree.lineno + 1)

    def _with_all_names(self, message: str, count: int) -> str:
        """The fix for `*xs` with as many names as the call gives arrays."""
        star = re.search(r"a '\*(\*?)' parameter, \*+(\w+), is not", source.without_colour(message))
        if star is None or self._fn is None:
            return message
        before = [p for p in inspect.signature(self._fn).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        head, _, fix = message.rpartition("fix:")
        is_used = re.search(rf"\b{star[2]}\b", self._source.text.partition("):")[2])
        if not is_used or count <= len(before) and any(p.default is not p.empty for p in before):
            return head + f"fix:  the signature without {star[1]}*{star[2]}\n"  # which gets nothing
        if star[1]:
            return message
        names = ", ".join(f"{star[2]}{i}" for i in range(max(count - len(before), 1)))
        return head + f"fix:  {names} in place of *{star[2]}, and {star[2]} = ({names},) as the first line\n"

    def _run_refused(self, text: str, fix: str = "", out: tuple = (), library: str = "numpy", given: dict | None = None):
        """What the runtime or `Version.run` says about the arguments; a result that is wrong was given as out=."""
        if place := re.match(r"(.+?):(\d+):(\d+): (.*)", text, re.DOTALL):  # a check of the body says where it stands
            file, line, column, message = place.groups()
            if index := re.match(r"index (-?)\d+, but axis (\d+) of (.+) \(.*", message):
                negative, axis, name = index.groups()
                fix = source.loop_until(file, int(line), int(column), f"{name}.shape[{axis}]") if not negative else ""
                fix = fix or f"{name}[{':, ' * int(axis)}{'0' if negative else '-1'}]"
            elif index := re.match(r"(index|target) (-?\d+) in (.+), but axis (\d+) of (.+?) \(.*", message):
                kind, value, index, axis, name = index.groups()
                size = f"{name}.shape[{axis}]"
                extent = re.search(r"has size (\d+)", message)
                far = extent is not None and -int(value) > int(extent[1])
                if kind == "target" and extent is not None and value[0] != "-":
                    message += f": labels run from 0 to {int(extent[1]) - 1}" if int(extent[1]) else ""
                fix = f"ignore_index={value}" * (value[0] == "-") if kind == "target" else f"tsr.clamp({index}, -{size}, {size} - 1)" if far else f"tsr.clamp({index}, 0, {size} - 1)" if value[0] != "-" else \
                    f"tsr.where({index} < 0, {index} + {size}, {index})"
            elif sizes := re.search(r"axis \d+ of (\w+) is (\d+), (?:axis (\d+) )?of (\w+) (?:is )?(\d+)", message):
                first, size, axis, second, _ = sizes.groups()
                fix = fix or f"{second} with {size} elements along axis {axis or 'of that number'}, as {first} has"
            elif zero := re.match(r"division by zero: (.+) is 0$", message):
                fix = f"max({zero[1]}, 1)"
            elif filled := re.search(r": (\d+) elements do not fill", message):
                fix = f"sizes whose product is {filled[1]}"
            raise ArgumentError(source.at_place(file, int(line), int(column) - 1, message + called_at(), fix)) from None
        parameter, keyword, copied = "", "", ".clone()" if library == "torch" else ".copy()"
        text = re.sub(r"^\w+, plan line \d+: ", "", text)
        text = re.sub(r"\b(\w+)_shape_(\d+)\b", r"\1.shape[\2]", text)  # axes without names that the body relates
        text = re.sub(r"(?<!the )\bresult\.?(\d+)\b", r"out[\1]", text)
        text = re.sub(r"(?<!the )\bresult\b", "out[0]" if len(out) > 1 else "out=", text)
        if strides := re.match(r"(\S+) has stride -?\d+ along axis \d+, but this version needs", text):
            call = source.call_of_user()  # the function itself compiles a version for these strides
            again = source.Whole(f"{self.__name__}{str(call).removeprefix(call.callee)}") if call else ""
            in_order = ".contiguous()" if library == "torch" else ".copy()"
            fix = strides[1] + in_order if any(p.name == strides[1] and not p.is_written for p in self.parameters) else again
        if constant := re.match(r"(\S+) is a constant, which is not written", text):
            fix = f"{constant[1].rstrip('=')}.clone()"
        if crooked := re.match(r"(\S+) is not aligned to its element type", text):
            text, fix = crooked[0], crooked[1] + copied
        overlap = re.search(r"(\w+=?|out\[\d+\])(?: \([^()]*\))? is written, but overlaps (\S+) in memory", text)
        if overlap:
            written, other = (name.rstrip("=").partition("[")[0] for name in overlap.groups())
            owner = arguments.described(out[0]) if written == "out" and len(out) == 1 else (given or {}).get(written)
            copied = copied if owner is None else ".clone()" if owner.library == "torch" else ".copy()"
            reads = other if any(p.name == other and not p.is_written for p in self.parameters) else ""
            text = text.replace("pass a copy of one of them", f"pass a copy of {other}, which is read" if reads else "give each an array of its own")
            parameter, fix = reads, reads + copied if reads else written + copied if other == "itself" else ""
        elif sizes := re.search(r"\b(out=|out\[(\d+)\]) \(([\d x]*)\).*; \1 must be ([\d x]*)$", text):
            at, shape = int(sizes[2] or 0), tuple(map(int, re.findall(r"\d+", sizes[4])))
            array = arguments.described(out[at]) if at < len(out) else None
            text = f"{sizes[1]} is {sizes[3] or 'a scalar'}, the result is {sizes[4] or 'a scalar'}"
            fix, keyword = arguments.empty_text("out", array.library, shape, array.dtype.name) if array else "", "out"
        elif ("disagree" in text or "must have rank" in text) and not fix:
            disagree = re.match(r"\S+ \(.*\) and (\S+) \(.*\) disagree on", text)
            parameter = disagree[1] if disagree and any(p.name == disagree[1] for p in self.parameters) else ""
            keyword = "out" if re.search(r"\bout[=[]", text) and not parameter else ""
        self._fail(text, parameter, fix, keyword)

    def _arrays_of_call(self, said: str) -> tuple[dict, tuple]:
        """The arrays that the user's call gives by name, and those of out=, as far as its text or what the runtime said tells."""
        call = source.call_of_user()
        if call is None or not self._is_called_by(call):
            return {}, ()
        positional = [p.name for p in self.parameters if not p.keyword_only]
        sizes_of = dict(re.findall(r"(\w+) \((\d+(?: x \d+)*)\)", said))
        spec = self.last_spec
        dtypes = {p.name: entry[1] for p, entry in zip(self.parameters, spec.arguments if spec else ()) if entry[0] == "tensor"}
        made = self._versions.get(spec.key) if spec else None
        dtypes.update({name: by_storage(storage).name for name, storage, _, mode, _ in made.tensors if mode == "result"} if made else {})

        def array_of(name: str, of: str):
            given = call.argument(name, positional.index(name) if name in positional else None)
            value = source.value_of_user(given.value if isinstance(given, ast.keyword) else given) if given is not None else None
            if arrays.is_array(value) or given is None or of not in sizes_of:
                return arrays.describe(value, True) if arrays.is_array(value) else None
            sizes = tuple(map(int, sizes_of[of].split(" x ")))
            dtype = by_name(dtypes.get(of) or next(iter(dtypes.values()), "fp32"))
            return arrays.Array(None, 0, sizes, sizes, dtype, self._library)

        found = {p.name: array_of(p.name, p.name) for p in self.parameters}
        out = array_of("out", next((p.name for p in self.parameters if p.kind == "out" and found[p.name] is None), "result"))
        return {name: array for name, array in found.items() if array is not None}, () if out is None else (out,)
