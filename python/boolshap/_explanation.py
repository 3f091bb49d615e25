"""The scores of rows, with the fields that shap's own class has.

An explainer returns a `shap.Explanation` if shap is installed, and this class if it is not.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from .errors import InputError

Array = npt.NDArray[Any]

#: The axes that each field has: rows (0), players (1) and classes (2).
_AXES = {"values": (0, 1, 2), "base_values": (0, 2), "data": (0, 1), "display_data": (0, 1), "feature_names": (1,), "output_names": (2,)}


class Explanation:
    """Scores, a row for each explained row, a column for each player, and with several classes a layer for each class.

    >>> explanation = Explanation(
    ...     [[0.25, -0.25], [0.5, 0.0]], base_values=[0.5, 0.5], data=[[1, 0], [1, 1]], feature_names=["rain", "roof"]
    ... )
    >>> explanation.shape, len(explanation)
    ((2, 2), 2)
    >>> explanation[0].values.tolist(), float(explanation[0].base_values)
    ([0.25, -0.25], 0.5)
    >>> explanation[:, "rain"].data.tolist()
    [1, 1]
    >>> explanation.abs.mean(0)
    Explanation of 2 players: rain 0.375, roof 0.125
    """

    def __init__(
        self,
        values: npt.ArrayLike,
        base_values: npt.ArrayLike | None = None,
        data: npt.ArrayLike | None = None,
        feature_names: list[str] | str | None = None,
        output_names: list[str] | str | None = None,
        display_data: npt.ArrayLike | None = None,
    ) -> None:
        #: the scores: (rows, players) or (rows, players, classes), without the axes that an index removed
        self.values: Array = np.asarray(values)
        #: the expectation that the scores of a row start from
        self.base_values: Array | None = None if base_values is None else np.asarray(base_values)
        #: the rows as numbers, aligned with the scores
        self.data: Array | None = None if data is None else np.asarray(data)
        #: the rows in the form that people know, if these are not all numbers
        self.display_data: Array | None = None if display_data is None else np.asarray(display_data)
        #: the players; a single name if one was chosen
        self.feature_names = feature_names
        #: the classes, if there are several; a single name if one was chosen
        self.output_names = output_names
        # What each axis of the scores is: rows (0), players (1) or classes (2).
        self._axes: tuple[int, ...] = tuple(range(self.values.ndim))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the scores."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, key: object) -> Explanation:
        """Chooses rows, players and classes; players and classes also by name."""
        keys = list(key) if isinstance(key, tuple) else [key]
        # Compare by identity: an array among the keys would compare element by element.
        for place in [place for place, one in enumerate(keys) if one is Ellipsis][:1]:
            keys[place : place + 1] = [slice(None)] * (len(self._axes) - len(keys) + 1)
        if len(keys) > len(self._axes):
            raise IndexError(f"{len(keys)} indices were given for scores of {len(self._axes)} dimensions")
        chosen = self
        # From the last axis to the first, so that a removed axis does not shift the remaining ones.
        for position in reversed(range(len(keys))):
            chosen = chosen._take(position, keys[position])
        return chosen

    def _take(self, position: int, key: Any) -> Explanation:
        """Chooses along one axis of the scores."""
        key = self._place(self._axes[position], key)
        part = self._along(position, lambda array, at: array[(slice(None),) * at + (key,)], list(_AXES))
        if isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_)):
            part._axes = self._axes[:position] + self._axes[position + 1 :]
        return part

    def _place(self, axis: int, key: Any) -> Any:
        if not isinstance(key, str):
            return key
        names = {1: self.feature_names, 2: self.output_names}.get(axis)
        if not isinstance(names, list) or key not in names:
            raise InputError(f"there is no {'class' if axis == 2 else 'player'} {key!r} to choose here")
        return names.index(key)

    def _along(self, position: int, change: Callable[[Array, int], Any], fields: Sequence[str]) -> Explanation:
        """A copy in which these fields are changed along one axis of the scores, if they have it."""
        part = copy.copy(self)
        for field in fields:
            axes = [axis for axis in self._axes if axis in _AXES[field]]
            value = getattr(self, field)
            if value is not None and self._axes[position] in axes:
                is_names = isinstance(value, list)
                array = np.asarray(value, dtype=object) if is_names else value
                changed = np.asarray(change(array, axes.index(self._axes[position])))
                setattr(part, field, changed.tolist() if is_names else changed)
        return part

    def _combined(self, combine: Any, axis: int | None) -> Explanation | float:
        if axis is None:
            return float(combine(self.values))
        if not -len(self._axes) <= axis < len(self._axes):
            raise IndexError(f"there is no axis {axis} in scores of {len(self._axes)} dimensions")
        position = axis % len(self._axes)
        part = self._along(position, lambda array, at: combine(array, axis=at), ["values", "base_values"])
        part.data = part.display_data = None
        if self._axes[position] == 1:
            part.feature_names = None
        if self._axes[position] == 2:
            part.output_names = None
        part._axes = self._axes[:position] + self._axes[position + 1 :]
        return part

    @property
    def abs(self) -> Explanation:
        """The same with absolute scores."""
        part = copy.copy(self)
        part.values = np.abs(self.values)
        return part

    def mean(self, axis: int | None = None) -> Explanation | float:
        """The mean scores along an axis (0: of the rows), or of all of them."""
        return self._combined(np.mean, axis)

    def sum(self, axis: int | None = None) -> Explanation | float:
        """The sums of scores along an axis, or of all of them."""
        return self._combined(np.sum, axis)

    def max(self, axis: int | None = None) -> Explanation | float:
        """The largest scores along an axis, or of all of them."""
        return self._combined(np.max, axis)

    def __repr__(self) -> str:
        if self._axes == (1,) and isinstance(self.feature_names, list):
            scores = ", ".join(f"{name} {score:.6g}" for name, score in zip(self.feature_names, self.values))
            return f"Explanation of {len(self.values)} players: {scores}"
        kinds = ("rows", "players", "classes")
        sizes = [f"{size} {kinds[axis]}" for size, axis in zip(self.shape, self._axes)]
        return f"Explanation of {' x '.join(sizes) or 'one score'}"


@dataclass(frozen=True)
class ExactExplanation:
    """Scores as fractions, without any rounding.

    `values` has a list for each row, with a score for each of `names`: players, or for interactions pairs of players.
    """

    #: what the scores belong to
    names: list[str] | list[tuple[str, ...]]
    values: list[list[Fraction]]
    base_values: list[Fraction]
    #: the answers that the scores explain: 0 or 1, or the class; the scores themselves for `model_output="score"`
    predictions: list[int | Fraction]


def explanation_class() -> type[Explanation]:
    """shap's class where shap is installed; it has the same fields."""
    try:
        return cast("type[Explanation]", importlib.import_module("shap").Explanation)
    except ImportError:
        return Explanation
