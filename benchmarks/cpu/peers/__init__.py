"""What a user could pick instead: each peer is a function that makes a call, or says why it is not measured.

Never jax and torch in one process with threads: jax.py talks to a process of its own.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""


class Missing(Exception):
    """A peer that cannot be measured here; its text is the reason."""
