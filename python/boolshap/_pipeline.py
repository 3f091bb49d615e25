"""Pipelines of scikit-learn: which raw column each column before the model comes from.

Most preprocessing makes every new column from one old column: scaling, cutting, encoding. Mixing raw columns of two
rows is then the same as mixing the groups of new columns made from them, so a model behind such steps is explained on
its raw columns: the new columns from one raw column are one player. Steps that combine columns are refused. The origin
of each column is read from the fitted steps, and tested on the background: a raw column must not change new columns of
other raw columns.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._sklearn import class_names
from .errors import InputError

#: Steps that make one new column from each column.
_ONE_TO_ONE = (
    "StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "PowerTransformer", "QuantileTransformer",
    "OrdinalEncoder", "TargetEncoder",
)
#: The most background rows that are used for the test.
_TRIED = 64


@dataclass(frozen=True)
class Front:
    """The steps before a model."""

    steps: Any
    #: the raw columns, and for each column that the steps make the raw column that it comes from
    columns: list[str]
    owners: list[int]

    def transform(self, rows: Any) -> npt.NDArray[Any]:
        """The input of the model."""
        if not len(rows):
            # Most steps refuse a table without rows.
            return np.zeros((0, len(self.owners)))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            made = self.steps.transform(rows)
        made = made.toarray() if hasattr(made, "toarray") else np.asarray(made)
        return np.ascontiguousarray(made)

    def background(self, given: Any) -> npt.NDArray[Any] | None:
        """The background rows after the steps, once the steps were tested on them."""
        if given is None:
            if len(set(self.owners)) < len(self.owners):
                raise InputError("some raw column becomes several columns, so background rows have to be given: background=")
            return None
        rows = self.rows_of(given)
        self.try_on(rows)
        return self.transform(rows)

    def made_names(self) -> list[str] | None:
        """The names of the columns that the steps make, if the steps know them."""
        try:
            names = [str(name) for name in self.steps.get_feature_names_out()]
        except (AttributeError, ValueError):
            return None
        return names if len(set(names)) == len(names) == len(self.owners) else None

    def players(self, features: list[str], given: Any) -> dict[str, str]:
        """The player of each feature: its raw column, or what is given for that column."""
        if len(features) != len(self.owners):
            raise InputError(f"the steps make {len(self.owners)} columns, but the model has {len(features)} features")
        names = self.owner_names()
        if isinstance(given, Mapping):
            unknown = next((name for name in names if name not in given), None)
            if unknown is not None:
                raise InputError(f"players: the column {unknown!r} has no player")
            names = [str(given[name]) for name in names]
        return dict(zip(features, names))

    def owner_names(self) -> list[str]:
        """The raw column of each column that the steps make."""
        return [self.columns[owner] for owner in self.owners]

    def rows_of(self, given: Any) -> Any:
        """Rows in the form that the steps were fitted on: a frame of the named columns, or an array."""
        if hasattr(self.steps, "feature_names_in_") and not hasattr(given, "iloc"):
            pandas: Any = importlib.import_module("pandas")
            table = given if isinstance(given, dict) else np.atleast_2d(np.asarray(given, dtype=object))
            if not isinstance(given, dict) and hasattr(given, "to_pandas"):
                return given.to_pandas()
            frame = pandas.DataFrame(table, columns=None if isinstance(given, dict) else self.columns)
            return frame.infer_objects()
        return given

    def shown(self, rows: Any) -> npt.NDArray[Any]:
        """The raw rows, a column for each player."""
        if hasattr(rows, "iloc"):
            return np.asarray(rows[self.columns], dtype=object)
        return np.asarray(rows)

    def try_on(self, background: Any) -> None:
        """Changes one raw column at a time, and checks which columns change."""
        rows: Any = background.iloc[:_TRIED] if hasattr(background, "iloc") else np.asarray(background)[:_TRIED]
        before = self.transform(rows)
        if before.shape[1] != len(self.owners):
            raise InputError(f"the steps make {before.shape[1]} columns, but {len(self.owners)} were expected of them")
        for place, column in enumerate(self.columns):
            changed = rows.copy()
            if hasattr(rows, "iloc"):
                changed[column] = np.roll(np.asarray(rows[column], dtype=object), 1)
                changed = changed.astype(rows.dtypes.to_dict())
            else:
                changed[:, place] = np.roll(rows[:, place], 1)
            others = [at for at, owner in enumerate(self.owners) if owner != place]
            after = self.transform(changed)
            if not _equal(before[:, others], after[:, others]):
                raise InputError(f"a step mixes the column {column!r} with others, so that columns cannot be the players")


def _equal(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    if one.dtype.kind == "f" and other.dtype.kind == "f":
        return bool(np.array_equal(one, other, equal_nan=True))
    return bool(np.array_equal(one, other))


def split_pipeline(source: Any) -> tuple[Front, Any] | None:
    """The steps of a pipeline before its model, and the model; None if this is not a pipeline."""
    if "Pipeline" not in class_names(source):
        return None
    model = source[-1]
    if not hasattr(model, "predict"):
        raise InputError("the last step of the Pipeline has no predict, so there is nothing to explain")
    if len(source.steps) == 1:
        return Front(source[:-1], [], []), model
    front = source[:-1]
    if not hasattr(source, "n_features_in_"):
        raise InputError("the Pipeline is not fitted: it has no n_features_in_")
    names = getattr(source, "feature_names_in_", None)
    count = int(source.n_features_in_)
    columns = [f"x{number}" for number in range(1, count + 1)] if names is None else [str(name) for name in names]
    owners = owners_after(front, columns, list(range(count)))
    return Front(front, columns, owners), model


def owners_after(step: Any, columns: list[str], owners: list[int]) -> list[int]:
    """For each column that a step makes, the raw column it comes from; `owners` are those of the columns it takes."""
    kinds = class_names(step)
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return owners
    if isinstance(step, str) and step == "drop":
        return []
    if "Pipeline" in kinds:
        for _, one in step.steps:
            owners = owners_after(one, columns, owners)
        return owners
    if "ColumnTransformer" in kinds:
        return _after_columns(step, columns, owners)
    if "FeatureUnion" in kinds:
        return [owner for _, one in step.transformer_list for owner in owners_after(one, columns, owners)]
    counts = _counts(step, kinds, len(owners))
    if counts is None:
        raise InputError(
            f"{type(step).__name__} is not known to make every column of one column, so the raw columns cannot be the players: "
            "explain the last step on what the steps before make of the rows"
        )
    return [owner for owner, count in zip(owners, counts) for _ in range(count)]


def _counts(step: Any, kinds: list[str], taken: int) -> list[int] | None:
    """How many columns a step makes of each that it takes."""
    if hasattr(step, "rules_"):
        return [len(rule.features) for rule in step.rules_]
    if "OneHotEncoder" in kinds:
        return [int(count) for count in step._n_features_outs]
    if "KBinsDiscretizer" in kinds:
        return [1] * taken if step.encode == "ordinal" else [int(bins) for bins in step.n_bins_]
    if hasattr(step, "get_support"):
        return [int(kept) for kept in step.get_support()]
    if "SimpleImputer" in kinds and not step.add_indicator:
        statistics = np.asarray(step.statistics_, dtype=object)
        if step.keep_empty_features:
            return [1] * taken
        return [0 if isinstance(value, float) and value != value else 1 for value in statistics]
    if "FunctionTransformer" in kinds and step.func is None:
        # The columns that a ColumnTransformer passes through.
        return [1] * taken
    if "Binarizer" in kinds or any(kind in kinds for kind in _ONE_TO_ONE):
        return [1] * taken
    return None


def _after_columns(step: Any, columns: list[str], owners: list[int]) -> list[int]:
    """The same for a ColumnTransformer, which sends columns to different steps."""
    fitted = getattr(step, "feature_names_in_", None)
    names = None if fitted is None else [str(name) for name in fitted]
    made: list[int | None] = [None] * max((part.stop for part in step.output_indices_.values()), default=0)
    for name, one, chosen in step.transformers_:
        places = _places(chosen, names, len(owners))
        part = owners_after(one, columns, [owners[place] for place in places])
        span = step.output_indices_[name]
        if span.stop - span.start != len(part):
            raise InputError(f"the step {name!r} makes {span.stop - span.start} columns, but {len(part)} were expected of it")
        made[span.start : span.stop] = part
    if any(owner is None for owner in made):
        raise InputError("the ColumnTransformer makes columns that belong to none of its steps")
    return [owner for owner in made if owner is not None]


def _places(chosen: Any, names: list[str] | None, count: int) -> list[int]:
    """The places of chosen columns, given by names, numbers, a mask or a slice."""
    if isinstance(chosen, slice):
        return list(range(count))[chosen]
    listed = [chosen] if isinstance(chosen, (str, int, np.integer)) else list(chosen)
    if listed and all(isinstance(one, (bool, np.bool_)) for one in listed):
        return [place for place, one in enumerate(listed) if one]
    return [names.index(one) if names is not None and isinstance(one, str) else int(one) for one in listed]
