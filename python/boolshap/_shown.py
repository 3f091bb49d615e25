"""Rows in the form that people know: raw values where they are known, and numbers instead of texts where a plot needs
them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ._native import Circuit
from ._native import Explainer as Engine
from ._tables import Rows
from ._types import Bits, Floats


def narrowed(shown: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Objects as numbers, if they are numbers."""
    try:
        return shown.astype(np.float64)
    except (TypeError, ValueError):
        return shown


def as_numbers(shown: npt.NDArray[Any]) -> Floats:
    """Columns of numbers as they are; texts as their positions among the different texts, which is enough for a
    colour."""
    numbers_ = np.empty(shown.shape, dtype=np.float64)
    for place, column in enumerate(shown.T):
        try:
            numbers_[:, place] = [np.nan if value is None else value for value in column]
        except (TypeError, ValueError):
            known = {text: number for number, text in enumerate(sorted({str(value) for value in column}))}
            numbers_[:, place] = [known[str(value)] for value in column]
    return numbers_



def shown_rows(
    rows: Rows, circuit: Circuit, engine: Engine, *, are_features: bool, from_pipeline: bool
) -> npt.NDArray[Any]:
    """The rows in the form that people know, a column for each player; `are_features` says that every feature is
    one."""
    names = engine.players
    if from_pipeline and all(player in rows.raw for player in names):
        return narrowed(np.column_stack([np.asarray(rows.raw[player], dtype=object) for player in names]))
    if are_features and not rows.raw:
        return rows.bits
    columns = [_shown_column(rows, circuit, *player) for player in zip(names, engine.members, engine.one_hot)]
    if all(column.dtype.kind in "buif" for column in columns):
        return np.column_stack(columns)
    shown = np.empty((len(rows.bits), len(columns)), dtype=object)
    for place, column in enumerate(columns):
        shown[:, place] = column
    return shown


def _shown_column(rows: Rows, circuit: Circuit, player: str, members: list[int], one_hot: bool) -> npt.NDArray[Any]:
    features = circuit.features
    if one_hot and player in rows.raw:
        return rows.raw[player]
    if len(members) == 1:
        column = circuit._only_bits()[members[0]] if rows.raw else None
        return rows.bits[:, members[0]] if column is None else rows.raw[column]
    bits = rows.bits[:, members]
    if one_hot:
        categories = np.array([features[member][len(player) :].removeprefix("=") for member in members], dtype=object)
        return cast("npt.NDArray[Any]", categories[bits.argmax(axis=1)])
    return cast("npt.NDArray[Any]", bits.sum(axis=1))


def as_images(
    values: Floats, bits: Bits, members: list[list[int]], pixels: list[int], grid: tuple[int, int]
) -> tuple[Floats, Floats]:
    """Scores and rows as images: the score of a player of several pixels is divided among them."""
    cells = grid[0] * grid[1]
    images, shown = np.zeros((len(bits), cells, *values.shape[2:])), np.zeros((len(bits), cells))
    for player, own_features in enumerate(members):
        own = sorted({pixels[member] for member in own_features})
        images[:, own] += values[:, player, None] / len(own)
    for feature, pixel in enumerate(pixels):
        shown[:, pixel] += bits[:, feature]
    shown /= np.bincount(pixels, minlength=cells)
    return images.reshape(len(bits), *grid, 1, *values.shape[2:]), shown.reshape(len(bits), *grid, 1)
