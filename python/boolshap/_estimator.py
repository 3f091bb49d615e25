"""Binary networks and their inputs as scikit-learn estimators.

`Binarizer` turns a table into bits, `BnnClassifier` learns a network on bits. Both keep to scikit-learn's rules (clone,
set_params, feature names, NotFittedError), so that pipelines, cross-validation and grid searches work. A network
answers with a class, without a probability or a margin; hence there is no predict_proba and no decision_function.
"""

from __future__ import annotations

import json
import math
import numbers
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ._functions import reporter
from ._native import Circuit, Model, bin_names, centres, cuts
from ._sources import compile, unique_names
from ._types import Bits, Floats
from .errors import InputError

__all__ = ["Binarizer", "BnnClassifier"]

Column: TypeAlias = npt.NDArray[Any]
#: The library's name for the bit of missing values.
_MISSING = "(missing)"
#: The most rows, each counted with its weight.
_MOST_ROWS = 10_000_000


@dataclass(frozen=True)
class ColumnRule:
    """How one column becomes bits."""

    name: str
    #: "bit": 0 and 1 in fit, separated at a half; "number": 1 strictly above the threshold; "bins": a bit for each interval
    #: between edges, upper ends included; "category": a bit for each value.
    kind: Literal["bit", "number", "bins", "category"]
    threshold: float = 0.0
    values: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()

    @property
    def features(self) -> list[str]:
        """The names of the bits."""
        if self.kind == "bins":
            return bin_names(self.name, list(self.edges))
        return [f"{self.name}={value}" for value in self.values] if self.kind == "category" else [self.name]

    def bits(self, column: Column) -> Bits:
        """The bits of a column, (rows, features)."""
        if self.kind == "category":
            texts = _texts(column)
            return np.stack([texts == value for value in self.values], axis=1).astype(np.uint8)
        numbers_ = _numbers(self.name, column)
        if self.kind == "bins":
            places = np.searchsorted(np.array(self.edges), numbers_, side="left")
            bins = places[:, None] == np.arange(len(self.edges) + 1)
            return np.asarray(bins & ~np.isnan(numbers_)[:, None], dtype=np.uint8)
        # NaN is above no threshold: a missing value becomes 0.
        return (numbers_ > self.threshold).astype(np.uint8).reshape(-1, 1)


class Binarizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns a table into bits: numbers by a threshold, truth values as they are, categories one-hot.

    A column of numbers becomes one bit, strictly above the threshold, or a bit for each of several bins. A column that
    holds only 0 and 1 (or False and True) when fitted is taken as it is; if another number comes later, as can happen
    when a fold of a table is fitted, it is 1 above a half. A column of texts, or of a categorical type, becomes one bit
    for each value seen, named `COLUMN=VALUE`, in sorted order; a value that was not seen is 0 in all of them. Missing
    numbers become 0, and missing texts a separate value, `COLUMN=(missing)`, as everywhere in boolshap.

    Parameters
    ----------
    threshold : "mean", "median", a number, "bins=K" or "supervised=K"
        Where columns of numbers are cut. "bins=K" makes K bins of about equally many values; "supervised=K" at most K
        bins by a decision tree on the column alone, which looks at y. A column for which no such cut is
        useful is cut at its mean.

    Attributes
    ----------
    rules_ : how each column becomes bits, in order.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Examples
    --------
    >>> import pandas
    >>> from boolshap import Binarizer
    >>> houses = pandas.DataFrame({"rooms": [2, 3, 7], "garden": [0, 1, 1], "place": ["sea", "town", "sea"]})
    >>> binarizer = Binarizer().fit(houses)
    >>> binarizer.get_feature_names_out().tolist()
    ['rooms', 'garden', 'place=sea', 'place=town']
    >>> binarizer.transform(houses).tolist()
    [[0, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 0]]
    """

    rules_: list[ColumnRule]
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]

    def __init__(self, threshold: float | str = "mean") -> None:
        self.threshold = threshold

    def fit(self, X: object, y: object = None) -> Binarizer:
        """Learns thresholds and categories; y only matters for "supervised=K"."""
        _check_threshold("threshold", self.threshold, ("mean", "median", "bins=K", "supervised=K"))
        table = _table(X)
        validate_data(self, table, skip_check_array=True)
        names, labels = _input_names(self), None
        if str(self.threshold).startswith("supervised="):
            if y is None:
                raise InputError(f"threshold={self.threshold!r} requires y to be passed, but the target y is None")
            target = cast(Column, column_or_1d(y))
            check_consistent_length(table, target)
            check_classification_targets(target)
            labels = np.unique(target, return_inverse=True)[1].astype(np.uint32)
        rules = [
            _rule(name, column, categorical, self.threshold, labels)
            for name, (column, categorical) in zip(names, _columns(table, names))
        ]
        unique_names("features", [feature for rule in rules for feature in rule.features])
        self.rules_ = rules
        return self

    def transform(self, X: object) -> Bits:
        """The bits of a table, (rows, bits), 0 and 1 as uint8."""
        check_is_fitted(self)
        table = _table(X)
        validate_data(self, table, reset=False, skip_check_array=True)
        columns = _columns(table, [rule.name for rule in self.rules_])
        return np.ascontiguousarray(
            np.hstack([rule.bits(column) for rule, (column, _) in zip(self.rules_, columns)]), dtype=np.uint8
        )

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> npt.NDArray[np.object_]:
        """The names of the bits. `input_features`, if given, must be the names seen in fit."""
        check_is_fitted(self)
        names = [rule.name for rule in self.rules_]
        if input_features is not None and list(input_features) != names:
            if hasattr(self, "feature_names_in_"):
                raise InputError("input_features is not equal to feature_names_in_")
            if len(input_features) != len(names):
                raise InputError(f"input_features should have length {len(names)}, but got {len(input_features)}")
            rules = [
                ColumnRule(str(name), rule.kind, rule.threshold, rule.values, rule.edges)
                for name, rule in zip(input_features, self.rules_)
            ]
        else:
            rules = self.rules_
        return np.array([feature for rule in rules for feature in rule.features], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = str(self.threshold).startswith("supervised=")
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class BnnClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A small neural network of integer weights and step activations, with circuits that explain it exactly.

    By default validation on the given rows chooses the network, among those whose circuits stay small enough. Given
    layers are trained by gradient descent through the rounding of weights, then by a discrete search around the best
    network. One seed gives one network, whatever the order of the rows and the number of cores.

    Parameters
    ----------
    hidden : "auto", the widths of the hidden layers, or one number for one layer; () is a single neuron per class.
    weights : "binary" (+1 and -1), "ternary" (0 too), "integer:K" (from -K to K) or None
        None is binary for given layers; with "auto" weights are chosen as well.
    class_weight : None, "balanced" for classes of very different sizes, or a dictionary with a weight for each
        label.
    random_state : a whole number, a numpy generator, or None for another network every time
        The source of the folds, initial weights, batches and the search. One number gives one network.
    epochs : the most passes over the rows, for layers that are given. What "auto" chooses is found without passes, unless its
        weights are to be binary.
    patience : the number of passes without improvement on a held-back tenth of the rows that ends the training.
    batch_size : rows in a batch.
    learning_rate : the step size at the start; it falls to zero along a cosine.
    n_jobs : threads; None and -1 are all of the machine's. The network does not depend on it.
    verbose : from 1 on, shows a bar after a second and prints what was chosen.
    binarize : "auto", a number or None
        How inputs become bits. "auto" takes inputs as they are if they were all 0 or 1 in fit, else a bit says
        whether the value is strictly above the mean of its column in fit. A number is the threshold of all columns.
        None takes 0 and 1 and nothing else. For texts and medians put a `Binarizer` in front. A missing number (NaN) is
        above no threshold, in fit, in predict and in explanations.

    Attributes
    ----------
    classes_ : the labels, sorted.
    model_ : the network, a `boolshap.Model`; `model_.save` writes a file for the command line.
    thresholds_ : where each column is cut; None if inputs are taken as they are.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy
    >>> from boolshap import BnnClassifier, Explainer
    >>> X = numpy.array([[i >> j & 1 for j in range(4)] for i in range(16)])
    >>> classifier = BnnClassifier(hidden=(3,)).fit(X, X[:, 0] & X[:, 1])
    >>> classifier.predict([[1, 1, 0, 0], [1, 0, 1, 1]]).tolist()
    [1, 0]
    >>> Explainer(classifier.circuit()).exact([[1, 1, 0, 0]]).values[0][0]
    Fraction(3, 8)
    """

    classes_: npt.NDArray[Any]
    model_: Model
    thresholds_: Floats | None
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]

    def __init__(
        self,
        hidden: Sequence[int] | int | str = "auto",
        weights: str | None = None,
        class_weight: str | dict[Any, float] | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = 7,
        epochs: int = 60,
        patience: int = 15,
        batch_size: int = 128,
        learning_rate: float = 0.02,
        binarize: float | str | None = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.hidden = hidden
        self.weights = weights
        self.class_weight = class_weight
        self.random_state = random_state
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.binarize = binarize
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: object, y: object, sample_weight: object = None) -> BnnClassifier:
        """Trains a network on rows X with the labels y of two or more classes. `sample_weight` gives the number of rows
        that each row counts as, in whole numbers; a row of weight 0 is left out."""
        hidden = _layers(self.hidden)
        seed, epochs = _seed(self.random_state), _whole("epochs", self.epochs, 1)
        threads, verbose = _threads(self.n_jobs), _whole("verbose", self.verbose, 0)
        patience, batch = _whole("patience", self.patience, 1), _whole("batch_size", self.batch_size, 1)
        rate = self.learning_rate
        if not isinstance(rate, numbers.Real) or not 0 < rate < math.inf:
            raise InputError(f"learning_rate is {rate!r}, not a number above 0")
        if self.binarize is not None:
            _check_threshold("binarize", self.binarize, ("auto",))

        X, y = validate_data(self, X, y, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        classes, labels = np.unique(cast(Column, y), return_inverse=True)
        if len(classes) < 2:
            raise InputError(f"a classifier needs two classes to tell apart, but y has one class: {classes[0]!r}")
        names = unique_names("features", _input_names(self))
        counts = _counts(sample_weight, cast(Column, X))
        if len(np.unique(labels[counts > 0])) < len(classes):
            raise InputError("sample_weight leaves a class without rows: fit without its rows")
        thresholds = self._thresholds_of(cast(Column, X)[counts > 0], counts[counts > 0])
        self.model_ = Model._train(
            _bits(cast(Column, X), thresholds, names),
            np.ascontiguousarray(labels, dtype=np.uint32),
            counts,
            names,
            [str(label) for label in classes.tolist()],
            None if thresholds is None else thresholds.tolist(),
            (hidden, self.weights, _class_weight(self.class_weight, classes), seed, epochs, patience, batch, float(rate)),
            threads,
            reporter(verbose > 0, "fit"),
        )
        self.classes_, self.thresholds_ = classes, thresholds
        if verbose:
            print(json.loads(self.model_.to_json())["provenance"].get("choice", f"trained: shape {self.model_.shape}"))
        return self

    def predict(self, X: object) -> npt.NDArray[Any]:
        """The label of every row."""
        bits = self.bits(X)
        return self.classes_[self.model_.predict(bits)]

    def bits(self, X: object) -> Bits:
        """The rows as the network sees them, 0 and 1 as uint8: what an `Explainer` of the circuit takes."""
        check_is_fitted(self)
        return _bits(cast(Column, validate_data(self, X, reset=False, ensure_all_finite="allow-nan")), self.thresholds_, _input_names(self))

    def circuit(
        self, *, max_nodes: int | None = None, timeout: float | None = None, verify: bool = False
    ) -> Circuit:
        """The network as a circuit, for `Explainer`: "the label is the second class", or with more than two classes one
        circuit for each. It takes the bits that `bits` gives; if columns were cut, it takes the raw columns as well,
        and an `Explainer` of bits needs `input="bits"`. Limits and `verify` are those of `boolshap.compile`."""
        check_is_fitted(self)
        return compile(self.model_, max_nodes=max_nodes, timeout=timeout, verify=verify)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _thresholds_of(self, X: Column, counts: npt.NDArray[np.uint64]) -> Floats | None:
        if self.binarize is None or (self.binarize == "auto" and bool(((X == 0) | (X == 1)).all())):
            return None
        if self.binarize == "auto":
            # One column at a time: repeated rows take memory.
            times = counts.astype(np.int64)
            columns = (np.repeat(X[:, [place]].astype(np.float64), times, axis=0) for place in range(X.shape[1]))
            found = np.concatenate([centres(column, median=False) for column in columns])
            if np.isnan(found).any():
                name = _input_names(self)[int(np.argmax(np.isnan(found)))]
                raise InputError(f"column {name!r} has no values to fit: all are missing (NaN)")
            return found
        return np.full(X.shape[1], float(self.binarize))


def _bits(X: Column, thresholds: Floats | None, names: list[str]) -> Bits:
    return _as_they_are(X, names) if thresholds is None else np.ascontiguousarray(X > thresholds, dtype=np.uint8)


def _as_they_are(X: Column, names: list[str]) -> Bits:
    """0 and 1 as bits; anything else is an error."""
    wrong = (X != 0) & (X != 1)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InputError(f"column {names[column]!r}, row {row}: {X[row, column]} is neither 0 nor 1")
    return np.ascontiguousarray(X, dtype=np.uint8)


def _layers(hidden: Sequence[int] | int | str) -> str:
    """The hidden layers as the library reads them: auto, 0 for none, or comma-separated widths."""
    if isinstance(hidden, str):
        return hidden
    widths = [hidden] if isinstance(hidden, numbers.Integral) else list(cast(Sequence[int], hidden))
    return ",".join(str(_whole("hidden", width, 1)) for width in widths) or "0"


def _seed(random_state: object) -> int:
    if random_state is None or isinstance(random_state, (np.random.RandomState, np.random.Generator)):
        generator = random_state or np.random.default_rng()
        draw = generator.integers if isinstance(generator, np.random.Generator) else generator.randint
        return int(draw(2**31))
    return _whole("random_state", random_state, 0, 2**64 - 1)


def _threads(n_jobs: int | None) -> int | None:
    return None if n_jobs is None or n_jobs == -1 else _whole("n_jobs", n_jobs, 1, 512)


def _counts(sample_weight: object, X: Column) -> npt.NDArray[np.uint64]:
    """How many rows each row counts as."""
    if sample_weight is None:
        return np.ones(len(X), dtype=np.uint64)
    weights: Floats = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if (weights != np.floor(weights)).any():
        wrong = float(weights[weights != np.floor(weights)][0])
        raise InputError(
            f"sample_weight {wrong!r} is not a whole number, and a row of weight 3 counts as three rows: multiply all of them by a number and round"
        )
    if not 0 < weights.sum() <= _MOST_ROWS:
        raise InputError(f"sample_weight adds up to {weights.sum():.10g}, which is not between 1 and {_MOST_ROWS} rows")
    return weights.astype(np.uint64)


def _class_weight(class_weight: object, classes: npt.NDArray[Any]) -> str | list[float]:
    """A rule by name, or the weight of a row of each class."""
    if class_weight is None:
        return "equal"
    if not isinstance(class_weight, dict):
        if class_weight != "balanced":
            raise InputError(f"class_weight is {class_weight!r}: None, 'balanced' or a dictionary is expected")
        return "balanced"
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        raise InputError(f"class_weight names {unknown[0]!r}, which is not among the labels {classes.tolist()}")
    weights = [class_weight.get(label, 1.0) for label in classes.tolist()]
    for label, weight in zip(classes.tolist(), weights):
        if not isinstance(weight, numbers.Real) or not 0 < float(weight) < math.inf:
            raise InputError(f"class_weight of {label!r} is {weight!r}, not a number above 0")
    return [float(weight) for weight in weights]


def _whole(name: str, value: object, least: int, most: int = 2**63 - 1) -> int:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} has the value {value!r}; it takes whole numbers from {least} on")
    if int(value) > most:
        raise InputError(f"{name} has the value {value!r}; it takes whole numbers up to {most}")
    return int(value)


def _check_threshold(name: str, value: object, words: tuple[str, ...]) -> None:
    # At most 999,999 bins.
    if isinstance(value, str) and re.sub(r"=(?:[2-9]|[1-9][0-9]{1,5})$", "=K", value) in words:
        return
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
        raise InputError(f"{name} is {value!r}, none of {', '.join(map(repr, words))} and no finite number")


def _input_names(estimator: Any) -> list[str]:
    """The column names seen in fit, or scikit-learn's names for columns without one: x0, x1, ..."""
    if hasattr(estimator, "feature_names_in_"):
        return [str(name) for name in estimator.feature_names_in_]
    return [f"x{place}" for place in range(estimator.n_features_in_)]


def _table(X: Any) -> Any:
    """A data frame as it is, anything else as a two-dimensional array in which numbers and texts keep their types."""
    if hasattr(X, "iloc") or hasattr(X, "get_columns"):
        rows, columns = X.shape if len(X.shape) == 2 else (X.shape[0], 0)
        if rows < 1 or columns < 1:
            lacking = "0 sample(s)" if rows < 1 else "0 feature(s)"
            raise InputError(f"Found array with {lacking} (shape={X.shape}) while a minimum of 1 is required.")
        return X
    if isinstance(X, (list, tuple)):
        X = np.array(X, dtype=object)
    return check_array(X, dtype=None, ensure_all_finite=False)


def _columns(table: Any, names: list[str]) -> list[tuple[Column, bool]]:
    """Every column as an array, and whether its type says that it holds categories."""
    if hasattr(table, "iloc"):
        series = [table.iloc[:, place] for place in range(len(names))]
        return [(np.asarray(column), str(column.dtype) == "category") for column in series]
    if hasattr(table, "get_columns"):
        series = table.get_columns()
        return [(column.to_numpy(), type(column.dtype).__name__ in ("Categorical", "Enum")) for column in series]
    return [(table[:, place], False) for place in range(table.shape[1])]


def _rule(
    name: str, column: Column, categorical: bool, threshold: float | str, labels: npt.NDArray[np.uint32] | None
) -> ColumnRule:
    if categorical or _holds_texts(name, column):
        return ColumnRule(name, "category", values=tuple(sorted(set(_texts(column).tolist()))))
    values = _numbers(name, column)
    if np.isnan(values).all():
        raise InputError(f"column {name!r} has no values to fit: all are missing (NaN)")
    if ((values == 0) | (values == 1) | np.isnan(values)).all():
        return ColumnRule(name, "bit", 0.5)
    if isinstance(threshold, str) and "=" in threshold:
        edges = cuts(values, threshold, labels)
        if len(edges) > 1:
            return ColumnRule(name, "bins", edges=tuple(edges))
        threshold = edges[0] if edges else "mean"
    if threshold in ("mean", "median"):
        cut = centres(values.reshape(-1, 1), median=threshold == "median")
        return ColumnRule(name, "number", float(cut[0]))
    return ColumnRule(name, "number", float(threshold))


def _holds_texts(name: str, column: Column) -> bool:
    """Whether a column holds texts; one that holds both texts and numbers is an error."""
    if column.dtype.kind in "OT":
        # A missing value fits both.
        texts = np.fromiter((isinstance(value, str) or _is_missing(value) for value in column), dtype=np.bool_, count=len(column))
        some = any(isinstance(value, str) for value in column)
        if some and not texts.all():
            row = int(np.argmin(texts))
            raise InputError(f"column {name!r}, row {row}: {column[row]!r} is not a text as in other rows")
        return some
    return column.dtype.kind in "US"


def _numbers(name: str, column: Column) -> Floats:
    """A column of finite numbers, NaN where one is missing."""
    if column.dtype.kind not in "buif":
        for row, value in enumerate(column):
            if not _is_missing(value) and not isinstance(value, (numbers.Real, np.bool_)):
                kind = f"not {value!r} ({type(value).__name__})"
                raise TypeError(f"column {name!r}, row {row}: the argument must be a string or a number, {kind}")
        column = np.array([np.nan if _is_missing(value) else value for value in column], dtype=np.float64)
    values = column.astype(np.float64)
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise InputError(f"column {name!r}, row {row}: {values[row]} is not a finite number")
    return values


def _texts(column: Column) -> npt.NDArray[np.object_]:
    """A column of categories as texts; a missing value is a category."""
    return np.array([_MISSING if _is_missing(value) else str(value) for value in column.tolist()], dtype=object)


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and math.isnan(value)
