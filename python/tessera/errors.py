"""What can go wrong, as exceptions whose text is the whole message.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""


class TesseraError(Exception):
    """Any error of Tessera."""


class CompileError(TesseraError):
    """The program is not right; the text has file, line, caret and a fix."""


class ScheduleWarning(UserWarning):
    """A schedule asks for something this target does not do; the program is compiled without it."""


class CacheWarning(UserWarning):
    """The disk cache is not used, and why."""


class ArgumentError(TesseraError, TypeError):
    """The call does not fit the signature."""


class UnknownNameError(TesseraError, AttributeError):
    """There is no such name in tessera, or on a function or kernel."""


class UnknownImportError(TesseraError, ImportError):
    """`from tessera import x`, and there is no x."""


class FileError(TesseraError, OSError):
    """A program file cannot be read."""


class KnobError(TesseraError, ValueError):
    """A knob has no such value."""


class CheckError(TesseraError, AssertionError):
    """`fn.check` found a stage that is wrong; `report` is the table."""


class UndecidedError(CheckError):
    """`fn.check` found nothing wrong, but could not judge every element: the bound of one says nothing; `report` is the table."""


class RunError(TesseraError):
    """A stage could not be executed: a check of the program failed, or the interpreter met what it does not know."""


class DeviceError(TesseraError):
    """A GPU or its driver refused, or there is none; CUDA's name of the error is in the text."""


class InternalError(TesseraError):
    """A mistake of ours. Please report it with the text."""
