"""The truth table of a function: its answer on every input, taken in batches.

Anything that answers with a class is a Boolean function of its binary features once every input has been tried. That
takes 2^n answers, so 24 features are the limit; it is exact, and needs no knowledge of how the answers are computed.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from ._types import Bits
from .errors import InputError, LimitError

#: The most features of a truth table: 16,777,216 inputs.
MAX_FEATURES = 24
#: The inputs of the first call, which may be slow.
SMALL_BATCH = 1 << 12
#: The most inputs of one call: enough to make calls cheap, few enough to stay in the cache.
BATCH = 1 << 16

#: The class, as its number, of every row of bits.
Decide: TypeAlias = Callable[[Bits], npt.NDArray[np.uint8]]
#: A callable that gets how many inputs are done, of how many; True and False show a bar or none.
Progress: TypeAlias = "Callable[[int, int], object] | bool | None"


def inputs_from(start: int, stop: int, features: int) -> Bits:
    """The inputs of these numbers: feature j is bit j of the number."""
    numbers = np.arange(start, stop, dtype=np.int64)
    return np.ascontiguousarray(numbers[:, None] >> np.arange(features) & 1, dtype=np.uint8)


def truth_table(decide: Decide, features: int, progress: Progress = None, timeout: float | None = None) -> Bits:
    """The class of every input, in the order of their numbers."""
    if features > MAX_FEATURES:
        raise InputError(f"a truth table has at most {MAX_FEATURES} features, and there are {features}")
    begin, total, start = time.monotonic(), 1 << features, 0
    report = reporter(progress, "truth table")
    values = np.empty(total, dtype=np.uint8)
    size = SMALL_BATCH
    while start < total:
        if timeout is not None and time.monotonic() - begin > timeout:
            raise LimitError(f"after {timeout:g} seconds {start} of {total} inputs were done")
        stop, before = min(start + size, total), time.monotonic()
        values[start:stop] = decide(inputs_from(start, stop, features))
        size = next_batch(size, time.monotonic() - before)
        report(stop, total)
        start = stop
    return values


def next_batch(size: int, seconds: float) -> int:
    """How many inputs the next call gets, so that none takes long: limits and Ctrl-C are checked between two calls."""
    if seconds > 0.2:
        return max(size // 4, 256)
    return min(2 * size, BATCH) if seconds < 0.05 else size


def deciding(predict: Callable[[npt.NDArray[np.int64]], Any], classes: Sequence[str] | None) -> Decide:
    """A user's function, with its answers checked.

    It gets whole numbers 0 and 1 of type int64, so that sums and differences of columns do not wrap around as they
    would in uint8. It answers with 0 and 1 or True and False, with the number of a class, or with the name of a class.
    """
    names = ["0", "1"] if classes is None else list(classes)
    number_of = {name: number for number, name in enumerate(names)}

    def decide(bits: Bits) -> npt.NDArray[np.uint8]:
        labels = np.asarray(predict(bits.astype(np.int64)))
        rows = len(bits)
        if labels.shape == (rows, 1):
            labels = labels[:, 0]
        if labels.shape != (rows,):
            advice = "; of scores take the largest: lambda X: f(X).argmax(axis=1)" if labels.ndim == 2 else ""
            raise InputError(f"the function gave an array of shape {labels.shape} for {rows} inputs{advice}")
        if labels.dtype == np.bool_:
            return labels.astype(np.uint8)
        if labels.dtype.kind in "iuf":
            right = (labels >= 0) & (labels < len(names)) & (labels == np.floor(labels))
            numbers = np.where(right, labels, 0).astype(np.uint8)
        else:
            found = [number_of.get(label) if isinstance(label, str) else None for label in labels.tolist()]
            right = np.array([number is not None for number in found], dtype=np.bool_)
            numbers = np.array([number or 0 for number in found], dtype=np.uint8)
        if not right.all():
            row = int(np.argmin(right))
            entity = "".join(map(str, bits[row].tolist()))
            raise InputError(
                f"the function gave {labels[row]!r} for the input {entity}, which is {_expected(classes)}"
            )
        return numbers

    return decide


def _expected(classes: Sequence[str] | None) -> str:
    if classes is None:
        return "neither 0 nor 1: compare a score (lambda X: f(X) >= 0.5), or name the classes (classes=[...])"
    return f"neither the number nor the name of one of the {len(classes)} classes"


def reporter(progress: Progress, what: str) -> Callable[[float, float | None], object]:
    """The receiver of progress reports: the given callable, a bar, or nothing."""
    if callable(progress):
        return cast("Callable[[float, float | None], object]", progress)
    shown = progress is True or (progress is None and sys.stderr.isatty())
    return Bar(what) if shown else lambda done, total: None


class Bar:
    """A bar on standard error that appears after one second and disappears at the end; tqdm's if that is installed."""

    def __init__(self, what: str) -> None:
        self._what, self._begin, self._width = what, time.monotonic(), 0
        self._tqdm: Any = None

    def __call__(self, done: float, total: float | None) -> None:
        if total is None or time.monotonic() - self._begin < 1:
            return
        share = min(done / total, 1.0) if total else 1.0
        try:
            tqdm = importlib.import_module("tqdm.auto").tqdm
        except ImportError:
            self._draw(share)
            return
        if self._tqdm is None:
            self._tqdm = tqdm(total=100, desc=self._what, leave=False, bar_format="{desc} {percentage:3.0f}% |{bar}| {remaining}")
        self._tqdm.update(100 * share - self._tqdm.n)
        if share >= 1:
            self.close()

    def _draw(self, share: float) -> None:
        filled = int(40 * share)
        bar = f"\r{self._what} [{'#' * filled}{'.' * (40 - filled)}] {int(100 * share):3d} %"
        self._width = len(bar) - 1
        sys.stderr.write(bar)
        sys.stderr.flush()
        if share >= 1:
            self.close()

    def close(self) -> None:
        """Removes the bar."""
        if self._tqdm is not None:
            self._tqdm.close()
            self._tqdm = None
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            self._width = 0
