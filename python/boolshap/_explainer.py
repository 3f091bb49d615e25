"""Explainers: a circuit, who plays, and what absent players are.

The scores explain the decision, 0 or 1, not a probability or a margin.
"""

from __future__ import annotations

import decimal
import importlib
import io
import json
import numbers
import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from ._core import Circuit, PathLike, file_error, write_whole
from ._explanation import ExactExplanation, Explanation
from ._native import Engine
from ._tables import Reading, Rows, read_rows
from ._types import Bits, Floats
from .errors import FileError, InputError

#: What fills in absent players.
Distribution = Literal["uniform", "product", "background", "empirical"]
#: Which value of the game.
Index = Literal["shapley", "banzhaf", "interaction"]

_FORMAT = "boolshap explainer 1"


@dataclass(frozen=True)
class _Game:
    """What makes a score mean what it means, ready for the engine."""

    kind: Distribution
    probabilities: Floats | None
    rows: Bits | None
    constraint: str | None
    players: Literal["features", "columns"] | dict[str, str]


class Explainer:
    """Gives exact scores for rows.

    `circuit` is a `Circuit`, or anything that `boolshap.compile` takes. The scores explain its decision, 0 or 1; for
    a circuit of several classes, "it is this class" for each of them.

    `distribution` says what fills in absent players:

    - `"uniform"`, the default: all values alike;
    - `"product"`: independent, with `probabilities` (an array in the order of the features, or a dict by name), or else
      with the marginals of training that the circuit keeps;
    - `"background"`, the default with a `background`: as in its rows, whatever the present values are. This is what the
      shap package calls interventional;
    - `"empirical"`: as in those rows of `background` that agree with the present values.

    `constraint` leaves only inputs that satisfy a formula: a DIMACS file, its text, or a list of clauses, which are
    lists of numbers (feature 1 is the first; negative: it is 0) or of feature names (with a leading `-`: it is 0). It
    goes with `"uniform"` and `"product"`.

    `players` are the `"features"`, the `"columns"` (a one-hot column is one player), or a dict that gives every feature
    the name of its player.

    `class_`, an index or a name, picks one class of several. `threads` is how many to use, all by default.
    `input` says how rows are to be read: `"raw"`, `"bits"`, or `"auto"` to decide from the column names.

    >>> import boolshap
    >>> circuit = boolshap.compile([([[1, 1, -1]], [0])], features=["rain", "wind", "roof"])
    >>> explainer = Explainer(circuit)
    >>> explanation = explainer([[1, 1, 0], [0, 1, 1]])
    >>> explanation.values.round(4).tolist()
    [[0.1667, 0.1667, 0.1667], [-0.3333, 0.1667, -0.3333]]
    >>> explanation.base_values.tolist(), explanation.feature_names
    ([0.5, 0.5], ['rain', 'wind', 'roof'])
    """

    def __init__(
        self,
        circuit: object,
        background: object = None,
        *,
        distribution: Distribution | None = None,
        probabilities: object = None,
        constraint: object = None,
        players: str | Mapping[str, str] = "features",
        class_: int | str | None = None,
        threads: int | None = None,
        input: Reading = "auto",
    ) -> None:
        self._circuit = _as_circuit(circuit)
        self._class = _class_index(class_, self._circuit.classes)
        self._threads = _thread_count(threads)
        self._input: Reading = input
        features = self._circuit.features
        kind = _kind(distribution, background, probabilities, constraint)
        self._game = _Game(
            kind=kind,
            probabilities=None if probabilities is None else _probabilities(probabilities, features),
            rows=None if background is None else _background(background, self._circuit, input),
            constraint=None if constraint is None else _constraint_text(constraint, features),
            players=_players(players, features),
        )
        self._prepare()

    def _prepare(self) -> None:
        """Builds an engine for each class that is explained."""
        several = bool(self._circuit.classes) and self._class is None
        classes: list[int | None] = [*range(len(self._circuit.classes))] if several else [self._class]
        game = self._game
        self._engines = [
            Engine(
                self._circuit._native, class_, game.kind, game.probabilities, game.rows, game.constraint, game.players
            )
            for class_ in classes
        ]
        self._several = several
        self._expected: float | Floats | None = None

    @property
    def circuit(self) -> Circuit:
        """The circuit whose decisions are explained."""
        return self._circuit

    @property
    def distribution(self) -> Distribution:
        """What fills in absent players."""
        return self._game.kind

    @property
    def players(self) -> list[str]:
        """The names of the players, in the order of their scores."""
        return self._engines[0].players

    @property
    def output_names(self) -> list[str] | None:
        """The names of the classes, if several are explained."""
        return self._circuit.classes if self._several else None

    def __call__(self, X: object) -> Explanation:
        """The Shapley values of rows: a `shap.Explanation` if shap is installed, else one of our own class.

        `data` holds the rows as a person knows them: raw values where the rows are raw and the player is one column,
        the category of a one-hot column, else the bit; for a player of several features, how many of them are 1.
        """
        rows = self._read(X)
        values, base_values = self._explain(rows.bits, "shapley")
        kind = _explanation_class()
        return kind(
            values,
            base_values=base_values,
            data=self._shown(rows),
            feature_names=self.players,
            output_names=self.output_names,
        )

    def shap_values(self, X: object) -> Floats:
        """The Shapley values alone: (rows, players), with several classes (rows, players, classes).

        >>> import boolshap
        >>> explainer = Explainer(boolshap.compile([([[1, 1, -1]], [0])]), [[0, 0, 0]])
        >>> explainer.shap_values([1, 1, 1]).round(4).tolist()
        [[0.6667, 0.6667, -0.3333]]
        """
        return self._explain(self._read(X).bits, "shapley")[0]

    def banzhaf(self, X: object) -> Floats:
        """The Banzhaf values: the mean contribution over all coalitions. They need not add up to anything.

        >>> import boolshap
        >>> Explainer(boolshap.compile([([[1, 1, -1]], [0])])).banzhaf([1, 1, 0]).tolist()
        [[0.1875, 0.1875, 0.1875]]
        """
        return self._explain(self._read(X).bits, "banzhaf")[0]

    def interactions(self, X: object) -> Floats:
        """The Shapley interaction index of every pair of players: (rows, players, players), with several classes a last
        axis for them.

        The array is symmetric, each half holds the whole index of the pair, and the diagonal is zero: a player does
        not interact with itself. (shap's TreeExplainer gives each half half of it, and main effects on the diagonal.)

        >>> import boolshap
        >>> both = boolshap.compile([([[1, 1]], [-1])], features=["left", "right"])
        >>> Explainer(both).interactions([1, 1]).tolist()
        [[[0.0, 0.25], [0.25, 0.0]]]
        """
        pairs, _ = self._explain(self._read(X).bits, "interaction")
        count = len(self.players)
        first, second = np.triu_indices(count, 1)
        square = np.zeros((len(pairs), count, count, *pairs.shape[2:]))
        square[:, first, second] = pairs
        square[:, second, first] = pairs
        return square

    def exact(self, X: object, *, index: Index = "shapley", class_: int | str | None = None) -> ExactExplanation:
        """The scores as fractions, without any rounding; with several classes `class_` must say of which.

        >>> import boolshap
        >>> exact = Explainer(boolshap.compile([([[1, 1, -1]], [0])])).exact([0, 1, 1])
        >>> exact.values
        [[Fraction(-1, 3), Fraction(1, 6), Fraction(-1, 3)]]
        >>> exact.base_values, exact.predictions
        ([Fraction(1, 2)], [0])
        """
        _check_index(index)
        if self._several:
            if class_ is None:
                raise InputError(f"exact scores are those of one class: give class_, one of {self.output_names}")
            engine = self._engines[cast(int, _class_index(class_, self._circuit.classes))]
        elif class_ is not None:
            raise InputError("class_ is given, but the explainer has only one output")
        else:
            engine = self._engines[0]
        values, base_values, predictions = engine.explain_exact(self._read(X).bits, index)
        players = engine.players
        pairs = [(one, other) for place, one in enumerate(players) for other in players[place + 1 :]]
        return ExactExplanation(
            names=pairs if index == "interaction" else players,
            values=[[Fraction(*score) for score in row] for row in values],
            base_values=[Fraction(*value) for value in base_values],
            predictions=list(predictions),
        )

    @property
    def expected_value(self) -> float | Floats:
        """The base value that all scores start from; with several classes one for each.

        >>> import boolshap
        >>> Explainer(boolshap.compile([([[1, 1]], [-1])])).expected_value
        0.25
        """
        if self._expected is None:
            if self._game.constraint is not None:
                raise InputError("under a constraint, the expected value is known once a row has been explained")
            self._explain(self._some_row(), "shapley")
        return cast("float | Floats", self._expected)

    def _some_row(self) -> Bits:
        """A row that can be explained."""
        if self._game.rows is not None:
            return self._game.rows[:1]
        row = np.zeros((1, len(self._circuit.features)), dtype=np.uint8)
        for name, members in zip(self.players, self._members()):
            if self._game.players == "columns" and self._circuit.features[members[0]] != name:
                row[0, members[0]] = 1
        return row

    def _read(self, X: object) -> Rows:
        return read_rows(X, self._circuit._native, self._input)

    def _explain(self, bits: Bits, index: Index) -> tuple[Floats, Floats]:
        """Scores and base values, of several classes along a last axis."""
        found = [engine.explain(bits, index, self._threads) for engine in self._engines]
        if self._several:
            values = np.stack([values for values, _, _ in found], axis=-1)
            base_values = np.stack([base_values for _, base_values, _ in found], axis=-1)
        else:
            values, base_values, _ = found[0]
        if self._expected is None and len(base_values):
            self._expected = base_values[0].copy() if self._several else float(base_values[0])
        return values, base_values

    def _members(self) -> list[list[int]]:
        """The features of each player."""
        features, players = self._circuit.features, self.players
        place = {name: position for position, name in enumerate(players)}
        members: list[list[int]] = [[] for _ in players]
        for position, feature in enumerate(features):
            if isinstance(self._game.players, dict):
                player = self._game.players[feature]
            elif feature in place:
                player = feature
            else:
                # A bit COLUMN=VALUE; VALUE may hold more equals signs, so the longest column that fits is it.
                starts = [feature[:end] for end, sign in enumerate(feature) if sign == "="]
                player = next(start for start in reversed(starts) if start in place)
            members[place[player]].append(position)
        return members

    def _shown(self, rows: Rows) -> npt.NDArray[Any]:
        """The rows as a person knows them, a column for each player."""
        if self._game.players == "features" and not rows.raw:
            return rows.bits
        columns = [self._shown_column(rows, name, of) for name, of in zip(self.players, self._members())]
        if all(column.dtype.kind in "buif" for column in columns):
            return np.column_stack(columns)
        shown = np.empty((len(rows.bits), len(columns)), dtype=object)
        for place, column in enumerate(columns):
            shown[:, place] = column
        return shown

    def _shown_column(self, rows: Rows, player: str, members: list[int]) -> npt.NDArray[Any]:
        features = self._circuit.features
        if self._game.players == "columns" and player in rows.raw:
            return rows.raw[player]
        if len(members) == 1:
            return rows.raw.get(features[members[0]], rows.bits[:, members[0]])
        bits = rows.bits[:, members]
        if self._game.players == "columns":
            categories = np.array([features[member][len(player) + 1 :] for member in members], dtype=object)
            return cast("npt.NDArray[Any]", categories[bits.argmax(axis=1)])
        return cast("npt.NDArray[Any]", bits.sum(axis=1))

    def __getstate__(self) -> dict[str, object]:
        return {
            "circuit": self._circuit,
            "game": self._game,
            "class": self._class,
            "threads": self._threads,
            "input": self._input,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._circuit, self._game = state["circuit"], state["game"]
        self._class, self._threads, self._input = state["class"], state["threads"], state["input"]
        self._prepare()

    def save(self, path: PathLike) -> None:
        """Writes the explainer to a file, whole or not at all. The circuit and the background go into it.

        >>> import boolshap, pathlib, tempfile
        >>> explainer = Explainer(boolshap.compile([([[1, 1, -1]], [0])]), [[0, 0, 0], [1, 0, 1]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     explainer.save(pathlib.Path(folder, "vote.explainer"))
        ...     loaded = Explainer.load(pathlib.Path(folder, "vote.explainer"))
        >>> bool((loaded.shap_values([1, 1, 0]) == explainer.shap_values([1, 1, 0])).all())
        True
        """
        game = self._game
        settings = {
            "format": _FORMAT,
            "distribution": game.kind,
            "constraint": game.constraint,
            "players": game.players,
            "class": self._class,
            "threads": self._threads,
            "input": self._input,
        }
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            # Entries carry a fixed date, so that equal explainers are equal files.
            _store(archive, "settings.json", json.dumps(settings, indent=1).encode())
            _store(archive, "circuit.bsc", self._circuit.to_bytes())
            for name, array in (("probabilities.npy", game.probabilities), ("rows.npy", game.rows)):
                if array is not None:
                    part = io.BytesIO()
                    np.save(part, array, allow_pickle=False)
                    _store(archive, name, part.getvalue())
        write_whole(path, content.getvalue())

    @classmethod
    def load(cls, path: PathLike) -> Explainer:
        """Reads an explainer that was saved. Nothing in the file is run, unlike with a pickle."""
        try:
            with zipfile.ZipFile(path) as archive:
                parts = {name: archive.read(name) for name in archive.namelist()}
            settings = json.loads(parts["settings.json"])
            if settings["format"] != _FORMAT:
                raise ValueError(f"the format {settings['format']!r} is not known")
            arrays = {
                name: np.load(io.BytesIO(parts[f"{name}.npy"]), allow_pickle=False) if f"{name}.npy" in parts else None
                for name in ("probabilities", "rows")
            }
            state = {
                "circuit": Circuit.from_bytes(parts["circuit.bsc"]),
                "game": _Game(
                    kind=settings["distribution"],
                    probabilities=arrays["probabilities"],
                    rows=arrays["rows"],
                    constraint=settings["constraint"],
                    players=settings["players"],
                ),
                **{name: settings[name] for name in ("class", "threads", "input")},
            }
            explainer = cls.__new__(cls)
            explainer.__setstate__(state)
        except (zipfile.BadZipFile, KeyError, TypeError, ValueError, EOFError, FileError) as error:
            raise FileError(f"{os.fspath(path)}: this is no explainer file, or it is damaged: {error}") from error
        except OSError as error:
            raise file_error(path, error) from error
        return explainer

    def __repr__(self) -> str:
        game = self._game
        rows = "" if game.rows is None else f" of {len(game.rows)} rows"
        constraint = "" if game.constraint is None else ", constrained"
        return f"Explainer({self._circuit!r}, {game.kind}{rows}{constraint}, {len(self.players)} players)"


def _store(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def _explanation_class() -> type[Explanation]:
    """shap's class where shap is installed; it has the same fields."""
    try:
        return cast("type[Explanation]", importlib.import_module("shap").Explanation)
    except ImportError:
        return Explanation


def _as_circuit(source: object) -> Circuit:
    if isinstance(source, Circuit):
        return source
    from ._sources import compile

    return compile(source)


def _class_index(class_: int | str | None, classes: list[str]) -> int | None:
    if class_ is None:
        return None
    if not classes:
        raise InputError(f"class_ is {class_!r}, but the circuit has only one output")
    if isinstance(class_, str):
        if class_ not in classes:
            raise InputError(f"there is no class {class_!r}; the classes are {classes}")
        return classes.index(class_)
    if isinstance(class_, (bool, np.bool_)) or not isinstance(class_, (int, np.integer)):
        raise InputError(f"class_ is {class_!r}, which is neither an index nor a name of a class")
    if not 0 <= class_ < len(classes):
        raise InputError(f"class_ is {class_}, but there are {len(classes)} classes, counted from 0")
    return int(class_)


def _thread_count(threads: int | None) -> int | None:
    if threads is None:
        return None
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise InputError(f"threads is {threads!r}, which is no number of threads")
    return int(threads)


def _check_index(index: str) -> None:
    if index not in ("shapley", "banzhaf", "interaction"):
        raise InputError(f"index {index!r} is none of 'shapley', 'banzhaf', 'interaction'")


def _kind(asked: Distribution | None, background: object, probabilities: object, constraint: object) -> Distribution:
    """The distribution, if what was given fits together."""
    kind = asked
    if kind is None:
        kind = "background" if background is not None else "uniform" if probabilities is None else "product"
    if kind not in ("uniform", "product", "background", "empirical"):
        raise InputError(f"distribution {kind!r} is none of 'uniform', 'product', 'background', 'empirical'")
    of_rows = kind in ("background", "empirical")
    if of_rows and background is None:
        raise InputError(f"distribution {kind!r} needs rows: give them as background")
    if not of_rows and background is not None:
        raise InputError(f"distribution {kind!r} takes no background")
    if kind != "product" and probabilities is not None:
        raise InputError(f"distribution {kind!r} takes no probabilities")
    if of_rows and constraint is not None:
        raise InputError(f"a constraint goes with 'uniform' or 'product', not with {kind!r}")
    return kind


def _background(given: object, circuit: Circuit, input: Reading) -> Bits:
    try:
        # A copy: what the caller does to his rows later must not change what is saved.
        return read_rows(given, circuit._native, input).bits.copy()
    except InputError as error:
        raise InputError(f"background: {error}") from error


def _probabilities(given: object, features: list[str]) -> Floats:
    if isinstance(given, Mapping) or hasattr(given, "to_dict"):
        named = dict(given if isinstance(given, Mapping) else cast(Any, given).to_dict())
        _check_features("probabilities", named, features)
        given = [named[feature] for feature in features]
    try:
        asked = np.asarray(given)
        values = np.array(asked, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"probabilities are no numbers: {error}") from error
    if values.shape != (len(features),):
        raise InputError(f"probabilities have the shape {values.shape}, but there are {len(features)} features")
    for feature, value, own in zip(features, values, asked.tolist()):
        if isinstance(own, (numbers.Rational, decimal.Decimal)) and own != Fraction(float(value)):
            raise InputError(f"the probability of {feature!r} is {own}, which no float is: say which float is meant")
        if not 0 <= value <= 1:
            raise InputError(f"the probability of {feature!r} is {value}, which is not between 0 and 1")
    return values


def _check_features(what: str, named: Mapping[Any, object], features: list[str]) -> None:
    """Whether exactly the features are named."""
    for name in named:
        if name not in features:
            raise InputError(f"{what}: the circuit has no feature {name!r}")
    for feature in features:
        if feature not in named:
            raise InputError(f"{what}: the feature {feature!r} is missing")


def _players(given: object, features: list[str]) -> Literal["features", "columns"] | dict[str, str]:
    if isinstance(given, Mapping):
        _check_features("players", given, features)
        for feature, player in given.items():
            if not isinstance(player, str) or not player:
                raise InputError(f"players: the player of {feature!r} is {player!r}, which is no name")
        return {str(feature): str(player) for feature, player in given.items()}
    if isinstance(given, str) and given == "features":
        return "features"
    if isinstance(given, str) and given == "columns":
        return "columns"
    raise InputError(f"players is {given!r}, which is none of 'features', 'columns', or a dict from feature to player")


def _constraint_text(given: object, features: list[str]) -> str:
    """The text of a DIMACS file."""
    if isinstance(given, str) and ("\n" in given or given.startswith(("p ", "c "))):
        return given
    if isinstance(given, (str, os.PathLike)):
        try:
            with open(given, encoding="utf-8") as file:
                return file.read()
        except OSError as error:
            raise file_error(given, error) from error
        except UnicodeDecodeError as error:
            raise FileError(f"{os.fspath(given)}: this is no DIMACS file: {error}") from error
    if not isinstance(given, Iterable):
        raise InputError(f"constraint is {given!r}, which is no file, no text and no list of clauses")
    clauses = []
    for number, clause in enumerate(given, 1):
        if isinstance(clause, str) or not isinstance(clause, Iterable):
            raise InputError(f"constraint, clause {number}: {clause!r} is no list of literals")
        literals = [_literal(number, literal, features) for literal in clause]
        clauses.append(" ".join(map(str, [*literals, 0])))
    return "\n".join([f"p cnf {len(features)} {len(clauses)}", *clauses, ""])


def _literal(clause: int, given: object, features: list[str]) -> int:
    if isinstance(given, str):
        if given in features:
            return features.index(given) + 1
        if given[:1] == "-" and given[1:] in features:
            return -features.index(given[1:]) - 1
        raise InputError(f"constraint, clause {clause}: {given!r} is no feature, nor one with a leading '-'")
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        literal = int(given)
        if 1 <= abs(literal) <= len(features):
            return literal
    raise InputError(f"constraint, clause {clause}: {given!r} is no literal of {len(features)} features")
