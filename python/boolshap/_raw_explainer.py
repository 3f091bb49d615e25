"""Explainers of models that take raw columns: the columns are the players, and absent ones have the values of
background rows."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from . import _archive, _native
from ._explainer import Explainer
from ._explanation import ExactExplanation
from ._game import output_of, players_of, thread_count
from ._native import Circuit
from ._pipeline import Front
from ._raw import Raw
from ._shown import as_numbers, narrowed
from ._tables import RawTable, read_numbers
from ._types import Distribution, Floats, Index, ModelOutput
from .errors import InputError

_FORMAT = "boolshap raw explainer 1"


class RawExplainer(Explainer):
    """The `Explainer` of trees, forests, boosting and linear models that were fitted on raw columns.

    Every column is a player, however many thresholds it has, and absent columns have the values of the rows of
    `background`: the shap package calls this interventional. By default the score is explained: `decision_function`,
    else `predict_proba`, else `predict`, and the margin of boosters. The labels of a few trees can be explained too:
    the trees are merged into one.

    >>> import numpy
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> import boolshap
    >>> X = numpy.array([[1.5, 0.0], [2.5, 0.0], [3.5, 8.0]])
    >>> tree = DecisionTreeRegressor().fit(X, [0.0, 3.0, 3.0])
    >>> explanation = boolshap.Explainer(tree, X)(X[:1])
    >>> explanation.base_values.tolist(), explanation.values.tolist()
    ([2.0], [[-2.0, 0.0]])
    """

    def __init__(self, circuit: object, background: object = None, **settings: Any) -> None:
        # The settings of every explainer; some of them are for models of bits.
        asked = inspect.signature(Explainer.__init__).bind(self, circuit, background, **settings)
        asked.apply_defaults()
        said: dict[str, Any] = asked.arguments
        found: Raw = self.__dict__.pop("_found")
        for name in ("probabilities", "constraint", "groups", "regions", "engine"):
            if said[name] is not None:
                raise InputError(f"{name} is for models of bits, and {found.name} takes raw columns")
        players = players_of(said["players"])
        if players not in ("features", "columns") and (isinstance(players, str) or found.front is not None):
            what = "the raw columns" if found.front is not None else "its columns, or a dict of them"
            raise InputError(f"players of {found.name} are {what}")
        distribution, reference, class_ = said["distribution"], said["reference"], said["class_"]
        threads, model_output = thread_count(said["threads"]), said["model_output"]
        given = self._settled(background, said["masker"], said["data"], said["link"], said["output_names"])
        if reference is not None:
            if given is not None or isinstance(reference, str):
                raise InputError("reference is one row of raw values, and no other background beside it")
            given, distribution = reference, distribution or "reference"
        if distribution not in (None, "background", "reference"):
            raise InputError(f"distribution {distribution!r} is for models of bits: of raw columns there is 'background'")
        if given is None:
            raise InputError(
                f"{found.name} takes raw columns: what absent columns are has to be said by rows, background="
            )
        names = None if said["feature_names"] is None else [str(name) for name in said["feature_names"]]
        model = found.model
        self._front = found.front
        if found.front is not None:
            rows = np.ascontiguousarray(found.front.background(given), dtype=np.float64)
            model = model.renamed(found.front.made_names() or model.columns, model.outputs)
            found.compare(rows)
            made_of = found.front.owner_names()
            self._start(model, rows, str(distribution or "background"), class_, model_output, threads, made_of)
            self._named(names)
            return
        own = _names_of(given, len(model.columns))
        # LightGBM writes underscores instead of blanks.
        is_same = own is not None and [name.replace(" ", "_") for name in own] == model.columns
        columns = own if is_same or not found.has_names else None
        if columns is None and not found.has_names and names is not None and len(names) == len(model.columns):
            columns = names
        if columns is not None:
            model = model.renamed(columns, model.outputs)
        rows = read_numbers(given, model.columns).numbers
        found.compare(rows)
        owners = None if isinstance(players, str) else _owners(players, model.columns)
        self._start(model, rows, str(distribution or "background"), class_, model_output, threads, owners)
        self._named(names)

    def _named(self, names: list[str] | None) -> None:
        if names is not None and len(names) != len(self.players):
            raise InputError(f"feature_names gives {len(names)} names for {len(self.players)} columns")
        self._feature_names = names

    def _start(
        self,
        model: _native.RawModel,
        rows: Floats,
        distribution: str,
        class_: object,
        model_output: str | None,
        threads: int | None,
        owners: list[str] | None,
    ) -> None:
        self._model, self._rows, self._distribution, self._threads = model, rows.copy(), distribution, threads
        self._class, self._feature_names, self._owners = class_, None, owners
        self._raw = _native.RawExplainer(model, rows, owners, _output(model_output), class_, None, None)

    @property
    def circuit(self) -> Circuit:
        raise InputError("a model of raw columns is explained without a circuit")

    @property
    def distribution(self) -> Distribution:
        return cast(Distribution, self._distribution)

    @property
    def players(self) -> list[str]:
        return self._raw.players

    @property
    def model_output(self) -> ModelOutput:
        return cast(ModelOutput, self._raw.model_output)

    @property
    def output_names(self) -> list[str] | None:
        return self._output_names or self._raw.outputs or None

    def names(self, index: Index = "shapley") -> list[tuple[str, ...]]:
        players = self.players
        return [tuple(players[player] for player in those) for those in self._raw.sets(index)]

    def images(self, X: object) -> Any:
        raise InputError("images are of models of bits whose features have a grid")

    def exact(self, X: object, *, index: Index = "shapley", class_: int | str | None = None) -> ExactExplanation:
        if class_ is not None or len(self._raw.base_values()) > 1:
            raise InputError("exact scores are those of one output: give class_ to the Explainer")
        rows = self._read_any(X).numbers
        scores, base = self._raw.explain_exact(rows, index)
        fractions = [Fraction(*score) for score in scores]
        width = len(fractions) // max(len(rows), 1)
        values = [fractions[row * width : (row + 1) * width] for row in range(len(rows))]
        start = Fraction(*base[0])
        ends: list[int | Fraction] = []
        if index == "shapley":
            ends = [start + sum(row, Fraction(0)) for row in values]
        else:
            ends = [start + sum(row, Fraction(0)) for row in self.exact(X).values]
        names = self.players if index in ("shapley", "banzhaf") else self.names(index)
        return ExactExplanation(names=names, values=values, base_values=[start] * len(rows), predictions=ends)

    @property
    def expected_value(self) -> float | Floats:
        values = self._raw.base_values()
        return np.array(values) if len(values) > 1 else values[0]

    def error_bound(self, index: Index = "shapley") -> float:
        return self._raw.error_bound()

    def _read_any(self, X: object) -> RawTable:
        if self._front is None:
            return read_numbers(X, self._model.columns)
        rows = self._front.rows_of(X)
        made = np.ascontiguousarray(self._front.transform(rows), dtype=np.float64)
        return RawTable(made, narrowed(self._front.shown(rows)))

    def _explained(self, rows: Any, index: Index) -> tuple[Floats, Floats]:
        values, sums = self._raw.explain(rows.numbers, index, self._threads)
        base = np.broadcast_to(np.array(self._raw.base_values()), sums.shape).copy()
        if index == "shapley":
            off = np.abs(values.sum(axis=1) + base - sums)
            if off.size and off.max() > 1e-9 * max(1.0, float(np.abs(sums).max())) + self._raw.error_bound():
                raise AssertionError("base value and scores do not add up: this is a defect of boolshap")
        return (values, base) if values.shape[2] > 1 else (values[:, :, 0], base[:, 0])

    def _as_shown(self, rows: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
        if rows.shown is None:
            return self._of_players(rows.numbers), None
        places = [self._front.columns.index(player) for player in self.players] if self._front is not None else []
        shown = rows.shown[:, places]
        return (shown, None) if shown.dtype.kind in "buif" else (as_numbers(shown), shown)

    def _of_players(self, numbers: Floats) -> Floats:
        """A column for each player; for a player of several columns their mean, which is enough for a colour."""
        if self._owners is None or self._front is not None:
            return numbers
        owners = np.array(self._owners)
        return np.column_stack([numbers[:, owners == player].mean(axis=1) for player in self.players])

    def _content(self) -> bytes:
        settings = {
            "format": _FORMAT,
            "distribution": self._distribution,
            "class": self._class,
            "model_output": self.model_output,
            "threads": self._threads,
            "output_names": self._output_names,
            **({} if self._feature_names is None else {"feature_names": self._feature_names}),
            **({} if self._owners is None else {"players": self._owners}),
        }
        return _archive.packed({
            "settings.json": json.dumps(settings, indent=1).encode(),
            "model.json": self._model.to_json().encode(),
            "rows.npy": _archive.of_array(self._rows),
        })

    @classmethod
    def _of_parts(cls, parts: Mapping[str, bytes], front: Front | None = None) -> RawExplainer:
        """An explainer of the parts of its file."""
        settings = json.loads(parts["settings.json"])
        if settings["format"] != _FORMAT:
            raise ValueError(f"the format {settings['format']!r} is not known")
        explainer = cast(RawExplainer, cls.__new__(cls))
        explainer._output_names, explainer._front = settings["output_names"], front
        model = _native.RawModel.from_json(parts["model.json"].decode())
        rows, owners = _archive.array_of(parts["rows.npy"]), settings.get("players")
        class_, output, threads = settings["class"], settings["model_output"], settings["threads"]
        explainer._start(model, rows, settings["distribution"], class_, output, threads, owners)
        explainer._feature_names = settings.get("feature_names")
        return explainer

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled_raw, (self._content(), self._front)

    def __repr__(self) -> str:
        return (
            f"Explainer(a model of raw columns, {self._distribution} of {len(self._rows)} rows, {len(self.players)} players)"
        )


def _unpickled_raw(content: bytes, front: Front | None) -> RawExplainer:
    return RawExplainer._of_parts(_archive.unpacked(content), front)


def _owners(players: Mapping[str, str], columns: list[str]) -> list[str]:
    """The player of every column; a column that is not named is a player itself."""
    for name in players:
        if name not in columns:
            raise InputError(f"players names {name!r}, which is no column")
    return [players.get(column, column) for column in columns]


def _output(given: str | None) -> str:
    return "score" if given is None else output_of(given)


def _names_of(given: object, count: int) -> list[str] | None:
    """The names of a table's columns, if there are as many as the model has."""
    columns = list(given) if isinstance(given, Mapping) else getattr(given, "columns", None)
    if columns is None or len(columns) != count or not all(isinstance(name, str) for name in columns):
        return None
    return [str(name) for name in columns]
