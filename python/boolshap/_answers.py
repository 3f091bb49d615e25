"""Answers to questions: one small object for each row, and all of them together as a list that prints as a table.

Rows are counted from 0, as in the arrays and tables that were asked about; counts are whole numbers of any size, and
shares are fractions.
"""

from __future__ import annotations

import html
import importlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar, overload

#: A line of a table: cells by column.
Line = dict[str, Any]
#: How many lines are printed.
_SHOWN = 20


class _Shown:
    """A result that prints as a table."""

    def _lines(self) -> list[Line]:
        raise NotImplementedError

    def _title(self) -> str:
        raise NotImplementedError

    def to_frame(self) -> Any:
        """The lines as a pandas DataFrame."""
        return importlib.import_module("pandas").DataFrame(self._lines())

    def __repr__(self) -> str:
        lines = self._lines()
        shown = [", ".join(f"{column} {_text(cell)}" for column, cell in line.items()) for line in lines[:_SHOWN]]
        more = [f"({len(lines) - _SHOWN} more)"] if len(lines) > _SHOWN else []
        return "\n".join([self._title(), *(f"  {line}" for line in [*shown, *more])])

    def _repr_html_(self) -> str:
        lines = self._lines()
        head = f"<tr>{_cells('th', lines[0])}</tr>" if lines else ""
        body = "".join(f"<tr>{_cells('td', map(_text, line.values()))}</tr>" for line in lines[:_SHOWN])
        more = f"<p>{len(lines) - _SHOWN} more</p>" if len(lines) > _SHOWN else ""
        title = html.escape(self._title())
        return f"<table><caption>{title}</caption><thead>{head}</thead><tbody>{body}</tbody></table>{more}"


def _cells(tag: str, texts: Iterable[str]) -> str:
    return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts)


def _text(cell: object) -> str:
    if isinstance(cell, (list, tuple)):
        return ", ".join(map(_text, cell)) or "nothing"
    return "" if cell is None else str(cell)


@dataclass(frozen=True)
class RowAnswer:
    """What was found for one row."""

    #: the row, counted from 0
    row: int
    #: its class: 0 or 1, or the number of the class
    prediction: int

    def _lines(self) -> list[Line]:
        return [vars(self)]


Answer = TypeVar("Answer", bound=RowAnswer)


class Answers(_Shown, Sequence[Answer], Generic[Answer]):
    """The answers for all rows, in their order."""

    def __init__(self, question: str, rows: list[Answer], overall: dict[str, Any]) -> None:
        self.question = question
        self._rows = rows
        #: the files of certificates that were written, with the SHA-256 of each
        self.certificates: dict[str, str] = overall.pop("certificates", {})
        #: the results for all rows together, or for the classifier
        self.overall = overall

    @overload
    def __getitem__(self, key: int) -> Answer: ...
    @overload
    def __getitem__(self, key: slice) -> list[Answer]: ...
    def __getitem__(self, key: int | slice) -> Answer | list[Answer]:
        return self._rows[key]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self._rows)

    def _lines(self) -> list[Line]:
        return [line for answer in self._rows for line in answer._lines()]

    def _title(self) -> str:
        overall = "; ".join(f"{key} {_text(value)}" for key, value in self.overall.items())
        return f"{self.question} of {len(self)} row{'' if len(self) == 1 else 's'}{'; ' if overall else ''}{overall}"


@dataclass(frozen=True)
class Reasons(RowAnswer):
    """Sets of players that suffice for a decision, or whose change can change it."""

    #: the listed sets
    reasons: list[list[str]]
    #: how many sets there are; None if they were not counted
    count: int | None
    #: whether all are listed; None if that is unknown
    complete: bool | None
    #: why a solver did not decide, for a network that is too large for a circuit
    undecided: str | None = None

    def _lines(self) -> list[Line]:
        return [{"row": self.row, "prediction": self.prediction, "reason": reason} for reason in self.reasons]


@dataclass(frozen=True)
class PlayerPart:
    """One player's part in the sufficient reasons."""

    name: str
    #: whether it is in all of them
    necessary: bool
    #: whether it is in some
    relevant: bool
    #: the share of them that it is in
    share: Fraction
    #: its values in the game "this set suffices"
    shapley: Fraction
    banzhaf: Fraction


@dataclass(frozen=True)
class Attribution(RowAnswer):
    """Each player's part in the sufficient reasons of a decision."""

    players: list[PlayerPart]

    def _lines(self) -> list[Line]:
        return [{"row": self.row, "prediction": self.prediction, **vars(part)} for part in self.players]


@dataclass(frozen=True)
class Change:
    """One player that changes, in raw values where the circuit knows them."""

    player: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Counterfactual:
    """An input of another class."""

    #: what changes
    changes: list[Change]
    #: all features, in their order
    bits: list[int]
    #: what changes, in words
    words: str
    distance: float


@dataclass(frozen=True)
class Counterfactuals(RowAnswer):
    """The nearest inputs of another class."""

    #: the distance of the nearest; None if no allowed change reaches one
    distance: float | None
    #: how many there are at that distance
    count: int
    #: those listed, the nearest first
    counterfactuals: list[Counterfactual]

    def _lines(self) -> list[Line]:
        begin = {"row": self.row, "prediction": self.prediction}
        return [{**begin, "distance": one.distance, "change": one.words} for one in self.counterfactuals]


@dataclass(frozen=True)
class Robustness(RowAnswer):
    """How safe a decision is."""

    #: how many players must change before the decision does; None if no change changes it
    radius: int | None
    #: inputs of other classes at each distance from 0 on, if they were asked for
    others: list[int] | None = None
    #: why a solver did not decide, for a network that is too large for a circuit
    undecided: str | None = None


@dataclass(frozen=True)
class Bias(RowAnswer):
    """Whether a decision depends on protected players."""

    #: None if a solver did not decide
    biased: bool | None
    #: an input that differs in protected players only and is of another class
    other: list[int] | None
    #: why a solver did not decide, for a network that is too large for a circuit
    undecided: str | None = None


@dataclass(frozen=True)
class Checked:
    """The result of checking a certificate."""

    #: the file
    file: str
    #: what it proves; None if it is refused
    claim: str | None
    #: why it is refused
    reason: str | None

    @property
    def valid(self) -> bool:
        """Whether it proves what it claims."""
        return self.claim is not None


@dataclass(frozen=True)
class Verdict:
    """Whether a claim made elsewhere is true."""

    #: the claim: a list of players, or the features of an input
    claim: list[str] | list[int]
    #: `reason`, `contrast` or `counterfactual`
    kind: str
    valid: bool
    minimal: bool | None
    #: for a counterfactual, whether none is nearer
    nearest: bool | None
    #: an input that shows why a set is not valid or not minimal; why a counterfactual is not valid
    example: list[int] | None
    problem: str | None
    #: a valid and minimal claim near it: players, or changes
    repaired: list[str] | list[Change] | None


@dataclass(frozen=True)
class Judgement(RowAnswer):
    """The verdicts on all claims about a row."""

    claims: list[Verdict]

    def _lines(self) -> list[Line]:
        return [{"row": self.row, "prediction": self.prediction, **vars(one)} for one in self.claims]


@dataclass(frozen=True)
class Code:
    """A main reason of an unfavourable decision."""

    player: str
    code: str | None
    text: str | None
    #: the applicant's value
    value: Any
    score: Fraction


@dataclass(frozen=True)
class Letter(RowAnswer):
    """The main reasons of an unfavourable decision, and the smallest change that helps."""

    codes: list[Code]
    change: list[Change] | None
    words: str | None

    def _lines(self) -> list[Line]:
        begin = {"row": self.row, "prediction": self.prediction}
        return [{**begin, **vars(code), "change": self.words} for code in self.codes]


@dataclass(frozen=True)
class Property:
    """What a classifier does with one player."""

    name: str
    used: bool
    #: `up`, `down`, `none` or `constant`; None where values have no order
    monotone: str | None
    #: the share of the inputs at which another value changes the class
    influence: Fraction
    #: the values without which an input is never of a class: (class, value)
    mandatory: list[tuple[int, Any]]


class Properties(_Shown, Sequence[Property]):
    """What a classifier does with each player."""

    def __init__(self, players: list[Property]) -> None:
        self._players = players

    @overload
    def __getitem__(self, key: int | str) -> Property: ...
    @overload
    def __getitem__(self, key: slice) -> list[Property]: ...
    def __getitem__(self, key: int | str | slice) -> Property | list[Property]:
        if isinstance(key, str):
            for player in self._players:
                if player.name == key:
                    return player
            raise KeyError(key)
        return self._players[key]

    def __len__(self) -> int:
        return len(self._players)

    def _lines(self) -> list[Line]:
        return [dict(vars(player)) for player in self._players]

    def _title(self) -> str:
        return f"properties of {len(self)} players"


@dataclass(frozen=True, repr=False)
class Difference(_Shown):
    """Where two classifiers differ."""

    #: on how many inputs
    inputs: int
    #: on which share of those that can occur
    share: Fraction
    #: one of those inputs
    example: list[int] | None
    #: on which of the rows that were given, counted from 0
    rows: list[int]

    def _lines(self) -> list[Line]:
        return [dict(vars(self))]

    def _title(self) -> str:
        return "the same on all inputs" if self.inputs == 0 else f"different on {self.inputs} inputs"
