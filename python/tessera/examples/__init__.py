"""The examples: `python -m tessera.examples`.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
