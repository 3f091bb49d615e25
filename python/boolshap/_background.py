"""Background rows in the forms that shap's explainers take: tables and arrays, maskers, and summaries with weights."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, cast

import numpy as np

from .errors import InputError

#: The most rows that weights may represent.
_MOST_ROWS = 1_000_000


def given_background(background: object, masker: object, data: object) -> object:
    """The rows, whichever of the three names they were given under."""
    given = [(name, one) for name, one in (("background", background), ("masker", masker), ("data", data)) if one is not None]
    if len(given) > 1:
        raise InputError(f"{given[0][0]} and {given[1][0]} are two names for the same rows: give one of them")
    return unwrapped(given[0][1]) if given else None


def unwrapped(given: object) -> object:
    """The rows of a masker or of a summary of shap; anything else as it is."""
    if type(given).__module__.partition(".")[0] != "shap":
        return given
    kind, one = type(given).__name__, cast(Any, given)
    if kind == "DenseData":
        # shap.kmeans and shap.sample give rows with weights.
        names = [str(name) for name in getattr(one, "group_names", [])]
        return _named(_repeated(np.asarray(one.data), np.asarray(one.weights)), names)
    if kind == "Independent":
        given_names = getattr(one, "feature_names", None)
        return _named(np.asarray(one.data), [] if given_names is None else [str(name) for name in given_names])
    raise InputError(f"a {kind} masker asks for another game: give rows, or shap.maskers.Independent")


def _named(rows: Any, names: list[str]) -> object:
    """Rows with names, unless these are only the numbers that shap makes up."""
    if len(names) != rows.shape[1] or names == [str(place) for place in range(len(names))]:
        return rows
    if len(set(names)) < len(names):
        return rows
    return {name: rows[:, place] for place, name in enumerate(names)}


def _repeated(rows: Any, weights: Any) -> Any:
    """Every row as often as its weight says: weights are shares of some number of rows."""
    shares = [Fraction(float(weight)).limit_denominator(_MOST_ROWS) for weight in weights]
    total = math.lcm(*(share.denominator for share in shares))
    close = all(abs(float(share) - float(weight)) <= 1e-12 for share, weight in zip(shares, weights))
    counts = [int(share * total) for share in shares]
    if not close or sum(counts) > _MOST_ROWS:
        raise InputError(f"the weights of the background are not shares of at most {_MOST_ROWS:,} rows")
    return np.repeat(rows, counts, axis=0)
