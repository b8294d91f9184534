# Names the pass that breaks a program; here a test hook broke the output of one. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from softmax import softmax, x
from tessera import bisect

print(bisect.bisect(softmax, (x,), {}, "cpu:avx2", plant=(16, 1)))
