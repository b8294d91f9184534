# Statements and expressions of Python that the language has not: each is refused as itself.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import importlib.util
import re

import numpy as np
import pytest
import tessera as tsr

CASES = {
    "'try'": "try:\n        y = x\n    finally:\n        pass\n    return y",
    "'raise'": "raise ValueError('no')",
    "'with'": "with open('x') as y:\n        pass\n    return x",
    "'class'": "class A:\n        pass\n    return x",
    "'global'": "global g\n    return x",
    "'nonlocal'": "nonlocal g\n    return x",
    "'del'": "y = x\n    del y\n    return x",
    "'match'": "match n:\n        case 1:\n            return x\n    return x",
    "an import inside a function": "import math\n    return x",
    "a function inside a function or block": "def g(y):\n        return y\n    return g(x)",
    "'else' after a 'for' loop": "for i in range(3):\n        x = x\n    else:\n        x = x\n    return x",
    "'else' after a 'while' loop": "while n > 3:\n        x = x\n    else:\n        x = x\n    return x",
    "'yield'": "yield x",
    "'await'": "return await x",
    "'lambda'": "g = lambda y: y\n    return g(x)",
    "a list comprehension": "return sum([x for i in range(3)])",
    "a set comprehension": "return {i for i in (1, 2)}",
    "a dict comprehension": "return {i: i for i in (1, 2)}",
    "a generator expression": "return sum(x for i in range(3))",
    "':='": "return x if (y := n) else x",
    "a set": "return {1, 2}",
    "an f-string": "print(f'{n}')\n    return x",
    "a bytes literal": "y = b'1'\n    return x",
    "a complex number": "return x * 1j",
}


@pytest.mark.parametrize("subject", CASES)
def test_refused_as_itself(subject, tmp_path):
    path = tmp_path / "prog.py"
    define = "async def" if subject in ("'await'",) else "def"
    inner = f"    @tsr.function\n    {define} f(x, n=5):\n        " + CASES[subject].replace("\n", "\n    ") + "\n    return f\n"
    path.write_text("import tessera as tsr\n\ndef outer():\n    g = 1\n" + inner + "\nf = outer()\n")
    spec = importlib.util.spec_from_file_location(f"refused_{abs(hash(subject))}", path)
    module = importlib.util.module_from_spec(spec)
    with pytest.raises(tsr.CompileError) as refused:
        spec.loader.exec_module(module)
        module.f(np.ones(4, np.float32))
    text = str(refused.value)
    wanted = "'async'" if subject == "'await'" else subject
    assert re.search(rf"prog\.py:\d+:\d+: error: {re.escape(wanted)}(, .*,)? is not part of the Tessera language", text), text
    assert re.search(r"^ fix:  \S", text, re.MULTILINE) and "^" in text
    if subject == "'try'":
        assert "assert" not in text and "without the 'try', which belongs around the call" in text


@pytest.mark.parametrize("call", ("tsr.expand(x, 8, no=0)", "tsr.broadcast_to(x, (3, 8), no=1)", "x.expand(no=0)", "x.reshape(8, no=0)"))
def test_a_keyword_that_is_not_there_is_refused(call):
    fn = tsr.compile_source(f"import tessera as tsr\n\n@tsr.function\ndef f(x):\n    return {call}\n").f
    with pytest.raises(tsr.CompileError, match="has no argument 'no'"):
        fn(np.zeros(8, np.float32))
