"""Between Python and the library's JSON: converts the settings of questions to JSON, and the results back."""

from __future__ import annotations

import decimal
import json
import numbers
from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np

from ._answers import Change, Verdict
from .errors import InputError

#: Names of players, features or columns; a single name needs no list.
Names = Iterable[str] | str


def moves(
    to: object, limit: int | None, only_up: Names, only_down: Names, range: object, costs: object
) -> dict[str, object]:
    """The settings of which changes are allowed, and of their costs."""
    if costs is not None and not isinstance(costs, Mapping):
        if not hasattr(costs, "to_dict"):
            raise InputError(f"costs is {costs!r}, which is neither a dict nor a Series")
        costs = cast(Any, costs).to_dict()
    return {"to": to, "limit": limit, "only_up": only_up, "only_down": only_down, "range": range, "costs": costs}


def setting_texts(settings: Mapping[str, object]) -> list[tuple[str, str]]:
    """The settings that were given, each as the library reads it from JSON."""
    texts = []
    for name, value in settings.items():
        is_empty = isinstance(value, (tuple, list)) and not value and name not in ("claims", "codes")
        if value is None or value is False or is_empty:
            continue
        try:
            texts.append((name, json.dumps(value, default=_plain)))
        except (TypeError, ValueError) as error:
            raise InputError(f"{name}: {error}") from error
    return texts


def _plain(value: Any) -> object:
    """Converts values that JSON cannot hold. Fractions keep their digits."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, numbers.Rational):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"{value!r} is no text, number or list")


def claim_of(given: Mapping[str, Any]) -> dict[str, Any]:
    claim = dict(given)
    row = claim.get("row")
    if isinstance(row, (bool, np.bool_)) or not isinstance(row, (int, np.integer)) or row < 0:
        raise InputError(f"claims: the row of {given!r} is not a whole number from 0 on")
    claim["row"] = int(row) + 1
    changed = claim.get("counterfactual")
    if changed is not None and not isinstance(changed, (str, Mapping)):
        claim["counterfactual"] = "".join(str(int(bit)) for bit in changed)
    return claim


def code_list(given: object) -> list[dict[str, str]]:
    if isinstance(given, Mapping):
        try:
            return [{"player": player, "code": str(code), "text": str(text)} for player, (code, text) in given.items()]
        except (TypeError, ValueError) as error:
            raise InputError(f"codes: every player has a code and a text: {error}") from error
    entries = cast(Any, given).to_dict("records") if hasattr(given, "to_dict") else given
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise InputError("codes are neither a dict nor a table of player, code and text")
    try:
        return [{key: str(entry[key]) for key in ("player", "code", "text")} for entry in entries]
    except KeyError as error:
        raise InputError(f"codes have no column {error}") from error


def verdict_of(found: dict[str, Any]) -> Verdict:
    kind = next(kind for kind in ("reason", "contrast", "counterfactual") if kind in found)
    is_input = kind == "counterfactual"
    repaired = found["repaired"]
    return Verdict(
        claim=bits_of(found[kind]) if is_input else found[kind],
        kind=kind,
        valid=found["valid"],
        minimal=found["minimal"],
        nearest=found.get("nearest"),
        example=maybe_bits(found.get("example")),
        problem=found.get("problem"),
        repaired=changes_of(repaired) if is_input and repaired is not None else repaired,
    )


def changes_of(found: list[dict[str, Any]]) -> list[Change]:
    return [Change(one["player"], one["from"], one["to"]) for one in found]


def bits_of(text: str) -> list[int]:
    return [int(bit) for bit in text]


def maybe_bits(text: str | None) -> list[int] | None:
    return None if text is None else bits_of(text)
