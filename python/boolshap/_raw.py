"""Models that take raw columns, read by class name: trees, forests, boosting and linear models.

Their numbers (margins, probabilities, predictions) are sums of trees that ask "is it at most t?" and of slopes, which
the library explains column by column against background rows, without bits and without a circuit. What is read here is
compared with the model's own answers on the background before anything is explained, so that a new version of a library
cannot be misread silently.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._native import RawModel
from ._pipeline import Front
from ._sklearn import class_names, is_estimator, votes
from ._types import Floats, RawTree
from .errors import InputError

#: The allowed distance from a model's own numbers: scikit-learn and LightGBM add up in double precision, XGBoost in
#: single.
_DOUBLE, _SINGLE = 1e-9, 1e-4
#: How many rows are compared.
_COMPARED = 256


@dataclass(frozen=True)
class Raw:
    """A model of raw columns, with access to the original."""

    model: RawModel
    name: str
    #: Whether the original has names for its columns.
    has_names: bool
    #: The original's numbers for rows.
    own: Callable[[Floats], Any]
    tolerance: float
    #: The steps of a pipeline before it.
    front: Front | None = None

    def compare(self, rows: Floats) -> None:
        """An error if the original answers differently on some rows."""
        rows = rows[:_COMPARED]
        if not len(rows):
            return
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            theirs = np.asarray(self.own(rows), dtype=np.float64).reshape(len(rows), -1)
        ours = self.model.numbers(rows)
        if theirs.shape != ours.shape:
            raise InputError(f"{self.name} gives {theirs.shape[1]} numbers for a row, but {ours.shape[1]} were read from it")
        wrong = np.abs(theirs - ours) > self.tolerance * (1 + np.abs(theirs))
        if wrong.any():
            row, output = np.argwhere(wrong)[0]
            raise InputError(
                f"on row {row} of the background {self.name} itself gives {float(theirs[row, output])!r}, but what was read from "
                f"it {float(ours[row, output])!r}: this version or setting of it is not understood"
            )


def is_booster(source: object) -> bool:
    """Whether this is a model of XGBoost or LightGBM, which always take raw columns."""
    return _library(source) in ("xgboost", "lightgbm") and hasattr(source, "predict")


def _library(source: object) -> str:
    return next(
        (
            package
            for package in (base.__module__.partition(".")[0] for base in type(source).__mro__)
            if package in ("xgboost", "lightgbm")
        ),
        "",
    )


def why_raw(source: Any) -> str | None:
    """The evidence that a fitted estimator takes other values than 0 and 1, if there is any."""
    names = class_names(source)
    if is_booster(source):
        return "it is a booster of raw columns"
    for number, (columns, thresholds, is_random) in enumerate(_splits(source, names), 1):
        # For bits, a tree splits halfway between 0 and 1, unless it splits at random.
        wrong = (thresholds < 0) | (thresholds >= 1) if is_random else thresholds != 0.5
        if wrong.any():
            at = int(np.argmax(wrong))
            return f"tree {number} splits {_column_name(source, int(columns[at]))} at {thresholds[at]:g}"
    if "GaussianNB" in names and hasattr(source, "var_"):
        expected = source.theta_ * (1 - source.theta_) + source.epsilon_
        if not np.allclose(source.var_, expected, rtol=1e-6, atol=1e-9):
            return "its variances are not those of bits"
    for attribute in ("support_vectors_", "_fit_X"):
        rows = getattr(source, attribute, None)
        if isinstance(rows, np.ndarray) and not np.isin(rows, (0, 1)).all():
            return "it remembers rows of other values than 0 and 1"
    return None


def _column_name(source: Any, column: int) -> str:
    names = getattr(source, "feature_names_in_", None)
    return f"x{column + 1}" if names is None else str(names[column])


def _splits(source: Any, names: list[str]) -> Any:
    """For each tree the columns and thresholds of its splits, and whether thresholds were drawn at random."""
    if hasattr(source, "_predictors") and any("HistGradientBoosting" in name for name in names):
        for stage in source._predictors:
            for predictor in stage:
                nodes = predictor.nodes[predictor.nodes["is_leaf"] == 0]
                yield nodes["feature_idx"], nodes["num_threshold"], False
        return
    fitted = getattr(source, "estimators_", [source])
    for one in fitted.ravel() if isinstance(fitted, np.ndarray) else fitted:
        tree = getattr(one, "tree_", None)
        if tree is not None and hasattr(tree, "children_left"):
            inner = np.asarray(tree.children_left) >= 0
            yield np.asarray(tree.feature)[inner], np.asarray(tree.threshold)[inner], getattr(one, "splitter", "") == "random"


def read_raw(source: Any) -> Raw | None:
    """A fitted model as sums of trees and slopes; None for other models."""
    library = _library(source)
    if library == "xgboost" and (hasattr(source, "get_booster") or hasattr(source, "save_raw")):
        return _of_xgboost(source)
    if library == "lightgbm" and (hasattr(source, "booster_") or hasattr(source, "model_to_string")):
        return _of_lightgbm(source)
    if library or not is_estimator(source) or not hasattr(source, "n_features_in_"):
        return None
    names, name = class_names(source), type(source).__name__
    classes = getattr(source, "classes_", None)
    outputs = getattr(source, "n_outputs_", 1) or 1
    is_forest = any(one in ("BaseForest", "BaseDecisionTree") for one in names)
    if isinstance(classes, list) or (outputs > 1 and not (is_forest and classes is None)):
        return None
    labels = [] if classes is None else [str(label) for label in np.asarray(classes).tolist()]
    if any("HistGradientBoosting" in one for one in names) and hasattr(source, "_predictors"):
        return _of_histograms(source, name, labels)
    if any("GradientBoosting" in one for one in names) and hasattr(source, "_raw_predict_init"):
        return _of_boosting(source, name, labels)
    if is_forest:
        return _of_forest(source, name, labels, outputs)
    if hasattr(source, "coef_") and hasattr(source, "intercept_") and not hasattr(source, "coefs_"):
        return _of_linear(source, name, labels)
    return None


def _columns(source: Any) -> tuple[list[str], bool]:
    names = getattr(source, "feature_names_in_", None)
    if names is None:
        return [f"x{number}" for number in range(1, int(source.n_features_in_) + 1)], False
    return [str(name) for name in names], True


def _number_of(source: Any) -> Callable[[Floats], Any]:
    """What is explained of an estimator: `decision_function`, else `predict_proba`, else `predict`."""
    methods = (getattr(source, name, None) for name in ("decision_function", "predict_proba", "predict"))
    method: Callable[[Floats], Any] = next(method for method in methods if method is not None)
    return method


def _takes_missing(source: Any) -> bool:
    tags = getattr(source, "__sklearn_tags__", None)
    return bool(tags().input_tags.allow_nan) if tags is not None else False


def _tree(tree: Any, numbers: Floats, output: int | None) -> RawTree:
    """A tree of scikit-learn: `x <= threshold` goes left."""
    left, right = (np.ascontiguousarray(side, dtype=np.int64) for side in (tree.children_left, tree.children_right))
    columns = np.where(left >= 0, np.asarray(tree.feature, dtype=np.int64), -1)
    thresholds = np.ascontiguousarray(tree.threshold, dtype=np.float64)
    missing = np.ascontiguousarray(getattr(tree, "missing_go_to_left", np.zeros(len(left))), dtype=np.bool_)
    return columns, thresholds, left, right, missing, np.ascontiguousarray(numbers, dtype=np.float64), output


def _of_forest(source: Any, name: str, labels: list[str], outputs: int) -> Raw:
    fitted = getattr(source, "estimators_", [source])
    trees = []
    for one in fitted:
        values = np.asarray(one.tree_.value, dtype=np.float64)
        trees.append(_tree(one.tree_, votes(values[:, 0, :]) if labels else values[:, :, 0], None))
    columns, has_names = _columns(source)
    decision = "largest" if len(labels) > 1 else "number"
    if outputs > 1:
        labels = [str(output) for output in range(outputs)]
    constants = [0.0] * max(len(labels), 1)
    missing = _takes_missing(source)
    model = RawModel.of_parts(columns, labels, constants, [], trees, (1.0, len(trees)), True, missing, decision)
    return Raw(model, name, has_names, _number_of(source), _DOUBLE)


def _of_boosting(source: Any, name: str, labels: list[str]) -> Raw:
    columns, has_names = _columns(source)
    starts = [source._raw_predict_init(np.full((2, len(columns)), value, dtype=np.float32)) for value in (0, 1)]
    if not np.array_equal(*starts):
        raise InputError(f"{name} begins with an estimator of its own (init=...), which is no constant")
    stages = np.asarray(source.estimators_)
    outputs = stages.shape[1]
    constants = np.asarray(starts[0], dtype=np.float64)[0].reshape(outputs).tolist()
    trees = [
        _tree(tree.tree_, np.asarray(tree.tree_.value, dtype=np.float64)[:, 0, :], output)
        for stage in stages
        for output, tree in enumerate(stage)
    ]
    decision = ("largest" if outputs > 1 else "at least 0") if labels else "number"
    scale = (float(source.learning_rate), 1)
    model = RawModel.of_parts(columns, labels, constants, [], trees, scale, True, False, decision)
    return Raw(model, name, has_names, _number_of(source), _DOUBLE)


def _of_histograms(source: Any, name: str, labels: list[str]) -> Raw:
    if getattr(source, "is_categorical_", None) is not None and np.any(source.is_categorical_):
        raise InputError(f"{name} has categorical columns, which are not read: encode them as numbers before it")
    columns, has_names = _columns(source)
    constants = np.asarray(source._baseline_prediction, dtype=np.float64).ravel().tolist()
    trees: list[RawTree] = []
    for stage in source._predictors:
        for output, predictor in enumerate(stage):
            nodes = predictor.nodes
            leaf = nodes["is_leaf"] != 0
            trees.append((
                np.where(leaf, -1, nodes["feature_idx"]).astype(np.int64),
                np.where(leaf, 0.0, nodes["num_threshold"]).astype(np.float64),
                nodes["left"].astype(np.int64),
                nodes["right"].astype(np.int64),
                nodes["missing_go_to_left"].astype(np.bool_),
                np.ascontiguousarray(nodes["value"].astype(np.float64)[:, None]),
                output,
            ))
    decision = ("largest" if len(constants) > 1 else "above 0") if labels else "number"
    model = RawModel.of_parts(columns, labels, constants, [], trees, (1.0, 1), False, True, decision)
    own = source.decision_function if labels else _before_link(source)
    return Raw(model, name, has_names, own, _DOUBLE)


def _before_link(source: Any) -> Callable[[Floats], Any]:
    """A regressor's sum, before its loss turns it into a prediction."""
    return lambda rows: source._loss.link.link(np.asarray(source.predict(rows), dtype=np.float64))


def _of_linear(source: Any, name: str, labels: list[str]) -> Raw | None:
    columns, has_names = _columns(source)
    coefficients = source.coef_.toarray() if hasattr(source.coef_, "toarray") else source.coef_
    if np.ndim(coefficients) > 2 or np.shape(coefficients)[-1] != len(columns):
        return None
    slopes = np.atleast_2d(np.asarray(coefficients, dtype=np.float64))
    constants = np.broadcast_to(np.asarray(source.intercept_, dtype=np.float64).ravel(), slopes.shape[:1])
    if not labels and len(slopes) > 1:
        labels = [str(output) for output in range(len(slopes))]
    decision = ("largest" if len(slopes) > 1 else "above 0") if labels and hasattr(source, "classes_") else "number"
    model = RawModel.of_parts(
        columns, labels, constants.tolist(), slopes.tolist(), [], (1.0, 1), False, False, decision
    )
    own = _number_of(source)
    if any(one in class_names(source) for one in ("PoissonRegressor", "GammaRegressor", "TweedieRegressor")):
        own = source._linear_predictor if hasattr(source, "_linear_predictor") else own
    return Raw(model, name, has_names, own, _DOUBLE)


def _labels_of(source: Any, outputs: int) -> list[str]:
    classes = getattr(source, "classes_", None)
    if classes is None or np.ndim(classes) != 1:
        return [str(output) for output in range(outputs)] if outputs > 1 else []
    return [str(label) for label in np.asarray(classes).tolist()]


def _of_xgboost(source: Any) -> Raw:
    booster = source.get_booster() if hasattr(source, "get_booster") else source
    is_wrapped, rounds = booster is not source, None
    if is_wrapped:
        try:
            # After early stopping the wrapper answers with the best rounds only.
            rounds = int(source.best_iteration) + 1
        except AttributeError:
            rounds = None
    model = RawModel.of_xgboost(bytes(booster.save_raw(raw_format="json")).decode(), rounds)
    has_names = booster.feature_names is not None
    columns = model.columns if has_names else [f"x{number}" for number in range(1, len(model.columns) + 1)]
    model = model.renamed(columns, _labels_of(source, model.width))
    xgboost: Any = importlib.import_module("xgboost")

    def own(rows: Floats) -> Any:
        kinds = booster.feature_types
        matrix = xgboost.DMatrix(
            rows, feature_names=booster.feature_names, feature_types=kinds, enable_categorical="c" in (kinds or [])
        )
        return booster.predict(matrix, output_margin=True, iteration_range=(0, rounds or 0))

    return Raw(model, type(source).__name__, has_names, own, _SINGLE)


def _of_lightgbm(source: Any) -> Raw:
    booster = source.booster_ if hasattr(source, "booster_") else source
    if getattr(booster, "pandas_categorical", None):
        raise InputError("a LightGBM booster of pandas' categories is not read: encode them as numbers before it")
    text = booster.model_to_string()
    model, names = RawModel.of_lightgbm(text), booster.feature_name()
    # A forest's raw score is a sum; its prediction is the mean.
    rounds = booster.num_trees() // booster.num_model_per_iteration() if "\naverage_output" in text else 1
    has_names = names != [f"Column_{place}" for place in range(len(names))]
    columns = names if has_names else [f"x{number}" for number in range(1, len(names) + 1)]
    fitted = getattr(source, "feature_names_in_", None)
    if has_names and fitted is not None and len(fitted) == len(names):
        # LightGBM replaces blanks by other characters.
        columns = [str(name) for name in fitted]
    model = model.renamed(columns, _labels_of(source, model.width))

    def own(rows: Floats) -> Any:
        return booster.predict(rows, raw_score=True) / rounds

    return Raw(model, type(source).__name__, has_names, own, _DOUBLE)


def has_other_values(rows: npt.NDArray[Any]) -> bool:
    """Whether there are other values than 0 and 1."""
    return not bool(np.isin(rows, (0, 1)).all())
