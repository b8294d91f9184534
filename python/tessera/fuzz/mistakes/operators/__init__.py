"""The mistakes, by what they are about.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from . import arrays as arrays
from . import calls as calls
from . import forgotten as forgotten
from . import loops as loops
from . import misspelt as misspelt
from . import newcomers as newcomers
from . import numbers as numbers
from . import schedules as schedules
from . import signatures as signatures
from . import statements as statements
from . import tensors as tensors
from . import tiles as tiles
from . import tools as tools
from . import words as words
from .registry import OPERATORS as OPERATORS
from .registry import Operator as Operator
