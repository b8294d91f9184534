"""A fix uses the names under which the user's module has ours.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest
import tessera as tsr

BODY = '''
@{0}kernel
def counts(X: {0}Tensor["N", {0}i64], H: {0}Out["B", {0}fp32]):
    for n in {0}grid({0}tile(N, 16)):
        {0}atomic_add(H, (X[n],), 1.0)
'''
MODULES = {
    "alias": ("import tessera as ts", "ts.", 'H: ts.Region[ts.reduce_sum, ts.Tensor["B", ts.fp32]]'),
    "module": ("import tessera", "tessera.", 'H: tessera.Region[tessera.reduce_sum, tessera.Tensor["B", tessera.fp32]]'),
    "names": ("from tessera import Out, Tensor, atomic_add, fp32, grid, i64, kernel, tile", "",
              'H: Region[reduce_sum, Tensor["B", fp32]]  # from tessera import Region, reduce_sum'),
    "all": ("from tessera import *", "", 'H: Region[reduce_sum, Tensor["B", fp32]]'),
}


@pytest.mark.parametrize("imports, prefix, fix", MODULES.values(), ids=MODULES)
def test_fixes_need_no_import_that_they_do_not_name(imports, prefix, fix, tmp_path, monkeypatch):
    file = tmp_path / "prog.py"
    file.write_text(imports + "\n" + BODY.format(prefix))
    monkeypatch.setenv("NO_COLOR", "1")
    names: dict = {"__name__": "prog", "__file__": str(file)}
    exec(compile(file.read_text(), str(file), "exec"), names)
    with pytest.raises(tsr.CompileError) as caught:
        names["counts"](np.zeros(4, np.int64), np.zeros(3, np.float32))
    assert str(caught.value).endswith(f" fix:  {fix}\n")
    # ... and what it says is right
    said, _, more = fix.partition("  # ")
    wrong = BODY.format(prefix)
    start = wrong.index("H: ")
    right = wrong[:start] + said + wrong[wrong.index("):", start):]
    file.write_text(f"{imports}\n{more}\n{right}")
    names = {"__name__": "prog", "__file__": str(file)}
    exec(compile(file.read_text(), str(file), "exec"), names)
    counted = np.zeros(3, np.float32)
    names["counts"](np.array([0, 2, 2, 1]), counted)
    assert counted.tolist() == [1.0, 1.0, 2.0]
