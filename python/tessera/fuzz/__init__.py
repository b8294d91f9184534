"""The oracle: random programs, run at every stage and compared. `python -m tessera.fuzz --help`.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from .generate import generate as generate
