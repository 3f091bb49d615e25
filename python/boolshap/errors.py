"""What can go wrong: one tree of exceptions.

>>> import boolshap
>>> try:
...     boolshap.Circuit.load("no such file")
... except boolshap.errors.BoolshapError as error:
...     print(type(error).__name__)
FileError
"""

__all__ = ["BoolshapError", "FileError", "InputError", "LimitError"]


class BoolshapError(Exception):
    """Every error of this package."""


class InputError(BoolshapError, ValueError):
    """What was given is wrong; the message says what and where."""


class LimitError(BoolshapError):
    """A limit of nodes, memory or time was reached before the answer was known."""


class FileError(BoolshapError, OSError):
    """A file cannot be read, is damaged, or cannot be written."""
