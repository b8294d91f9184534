# Shows the running maximum and the row sum of the first row, turn by turn. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
from softmax import softmax, x

trace = softmax.trace(x)
sums = [value for value in trace.assigned("den") if "softmax.py:19:" in value.place]
for turn, (top, den) in enumerate(zip(trace.assigned("new"), sums)):
    print(f"turn {turn}: new {top.array[0]:.4f}, den {den.array[0]:.4f}")
print(f"den should be {np.exp(x[0] - x[0].max()).sum():.4f}")
