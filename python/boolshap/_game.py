"""The game of an explainer: converts players and the values of absent players from what users give to what the library
takes."""

from __future__ import annotations

import decimal
import numbers
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np

from ._native import Circuit
from ._tables import read_rows
from ._types import Bits, Floats, ModelOutput, Reading
from .errors import FileError, InputError


@dataclass(frozen=True)
class Game:
    """What the scores mean, in the form that a file keeps."""

    distribution: str | None
    probabilities: Floats | None
    rows: Bits | None
    constraint: str | None
    players: str | dict[str, str]
    groups: dict[str, str] | None = None
    engine: str | None = None


def output_of(given: str) -> ModelOutput:
    """What is explained, under this package's names or under shap's."""
    if given in ("probability", "log_loss"):
        raise InputError(f"model_output {given!r} is not explained: there are 'label', and 'score' (shap's 'raw')")
    return cast(ModelOutput, "score" if given == "raw" else given)


def thread_count(threads: int | None) -> int | None:
    if threads is None:
        return None
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise InputError(f"threads is {threads!r}, which is not a number of threads")
    return int(threads)


def background_of(given: object, circuit: Circuit, input: Reading) -> Bits:
    try:
        # A copy: later changes to the caller's rows must not change what is saved. Whether these rows are raw is found
        # from them alone; if both fit, they are read like the rows to explain.
        return read_rows(given, circuit, "auto", otherwise=input).bits.copy()
    except InputError as error:
        raise InputError(f"background: {error}") from error


def probabilities_of(given: object, features: list[str]) -> Floats:
    if isinstance(given, Mapping) or hasattr(given, "to_dict"):
        named = dict(given if isinstance(given, Mapping) else cast(Any, given).to_dict())
        if set(named) != set(features):
            wrong = next(name for name in [*named, *features] if (name in named) != (name in features))
            raise InputError(f"probabilities: the feature {wrong!r} is {'unknown' if wrong in named else 'missing'}")
        given = [named[feature] for feature in features]
    try:
        asked = np.asarray(given)
        values = np.array(asked, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"probabilities are not numbers: {error}") from error
    if values.shape != (len(features),):
        raise InputError(f"probabilities have the shape {values.shape}, but there are {len(features)} features")
    for feature, value, own in zip(features, values, asked.tolist()):
        if isinstance(own, (numbers.Rational, decimal.Decimal)) and own != Fraction(float(value)):
            raise InputError(f"the probability of {feature!r} is {own}, which no float is: say which float is meant")
        if not 0 <= value <= 1:
            raise InputError(f"the probability of {feature!r} is {value}, which is not between 0 and 1")
    return values


def reference_of(given: object, features: list[str]) -> object:
    """The row of a reference."""
    if isinstance(given, str):
        if given not in ("zeros", "ones"):
            raise InputError(f"reference is {given!r}, not 'zeros', 'ones', 'blur' or a row")
        return np.full((1, len(features)), int(given == "ones"), dtype=np.uint8)
    return given


def regions_of(given: tuple[int, int] | str, players: object) -> str:
    if players != "features":
        raise InputError("regions are players: no others can be chosen beside them")
    return "regions:" + (given if isinstance(given, str) else "x".join(str(int(side)) for side in given))


def players_of(given: object) -> str | dict[str, str]:
    """The players, in the form that the library takes."""
    if isinstance(given, os.PathLike):
        return str(Path(given))
    if not isinstance(given, Mapping):
        return str(given)
    for feature, player in given.items():
        if not isinstance(player, str) or not player:
            raise InputError(f"players: the player of {feature!r} is {player!r}, which is not a name")
    return {str(feature): player for feature, player in given.items()}


def groups_of(given: Mapping[str, str]) -> dict[str, str]:
    for player, group in given.items():
        if not isinstance(group, str) or not group:
            raise InputError(f"groups: the group of {player!r} is {group!r}, which is not a name")
    return {str(player): group for player, group in given.items()}


def constraint_text(given: object, features: list[str]) -> str:
    """The text of a DIMACS file."""
    if isinstance(given, str) and ("\n" in given or given.startswith(("p ", "c "))):
        return given
    if isinstance(given, (str, os.PathLike)):
        try:
            return Path(given).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"{os.fspath(given)}: {getattr(error, 'strerror', None) or error}") from error
    if not isinstance(given, Iterable):
        raise InputError(f"constraint is {given!r}, which is neither a file, a text nor a list of clauses")
    clauses = []
    for number, clause in enumerate(given, 1):
        if isinstance(clause, str) or not isinstance(clause, Iterable):
            raise InputError(f"constraint, clause {number}: {clause!r} is not a list of literals")
        literals = [_literal(number, literal, features) for literal in clause]
        clauses.append(" ".join(map(str, [*literals, 0])))
    return "\n".join([f"p cnf {len(features)} {len(clauses)}", *clauses, ""])


def _literal(clause: int, given: object, features: list[str]) -> int:
    """A literal as a number, given by number or by the name of its feature."""
    if isinstance(given, str):
        names = [*features, *(f"-{feature}" for feature in features)]
        place = names.index(given) if given in names else -1
        literal = place + 1 if place < len(features) else len(features) - place - 1
    else:
        literal = int(given) if isinstance(given, (int, np.integer)) and not isinstance(given, bool) else 0
    if not 1 <= abs(literal) <= len(features):
        raise InputError(f"constraint, clause {clause}: {given!r} is not a literal of the {len(features)} features")
    return literal
