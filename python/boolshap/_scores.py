"""The numbers that decide, or that a model returns: sources for `model_output="score"`.

* functions that return numbers, and every estimator of scikit-learn with at most 24 features: the numbers of all inputs;
* linear models of any size: `coef_` and `intercept_`, in their exact values;
* trees, forests and gradient boosting of any number of features: the leaves of their trees, added up in exact arithmetic.

What is explained of an estimator is `decision_function` if it has one, else `predict_proba`, else `predict`; of a
multi-layer perceptron the numbers before its last activation. Floats are taken as the exact numbers that they hold.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._functions import MAX_FEATURES, SMALL_BATCH, inputs_from, next_batch
from ._layers import Dense, Function, numbers, Sign, Step
from ._native import Circuit
from ._sklearn import bit_tests, class_names, votes
from ._types import Bits, Floats, Tree
from .errors import InputError, LimitError

if TYPE_CHECKING:
    from ._sources import Options

#: The numbers of every row of bits: (rows,) or (rows, outputs).
Score = Callable[[Bits], Any]


def of_function(score: Score, options: Options, own: list[str] | None = None, rule: str = "number") -> Circuit:
    """All numbers of a function of at most 24 features."""
    if options.features is None:
        raise InputError("a function does not say how many features it has: give features=, their names or number")
    count = options.features if isinstance(options.features, int) else len(options.features)
    if not 1 <= count <= MAX_FEATURES:
        raise InputError(f"a function can have 1 to {MAX_FEATURES} features, not {count}: all its inputs are tried")
    begin = time.monotonic()
    table = _table(score, count, options.timeout)
    outputs = table.shape[1]
    names = options.classes or own or [str(number) for number in range(outputs)]
    if outputs > 1 and len(names) != outputs:
        raise InputError(f"classes gives {len(names)} names for {outputs} numbers of an input")
    rule = rule if outputs > 1 else "number"
    source = (table, options.names(count), names if outputs > 1 else [], rule)
    return _native.compile(source, options.since(begin))


def _table(score: Score, features: int, timeout: float | None) -> Floats:
    begin, total, parts, start, size = time.monotonic(), 1 << features, [], 0, SMALL_BATCH
    while start < total:
        if timeout is not None and time.monotonic() - begin > timeout:
            raise LimitError(f"after {timeout:g} seconds {start} of {total} inputs were done")
        before = time.monotonic()
        bits = inputs_from(start, min(start + size, total), features)
        numbers = np.asarray(score(bits), dtype=np.float64)
        if numbers.ndim == 1:
            numbers = numbers[:, None]
        if numbers.ndim != 2 or len(numbers) != len(bits) or numbers.shape[1] < 1:
            raise InputError(f"the function gave an array of shape {numbers.shape} for {len(bits)} inputs")
        if not np.isfinite(numbers).all():
            row = int(np.argmin(np.isfinite(numbers).all(axis=1)))
            entity = "".join(map(str, bits[row].tolist()))
            raise InputError(f"the function gave {numbers[row].tolist()} for the input {entity}, not finite numbers")
        parts.append(numbers)
        start, size = start + len(bits), next_batch(size, time.monotonic() - before)
    if len({part.shape[1] for part in parts}) > 1:
        raise InputError("the function gave arrays of different widths")
    return np.ascontiguousarray(np.concatenate(parts))


def of_estimator(estimator: Any, options: Options) -> Circuit:
    """The scores of a fitted estimator of scikit-learn."""
    names, name = class_names(estimator), type(estimator).__name__
    if not hasattr(estimator, "n_features_in_"):
        raise InputError(f"{name} is not fitted: it has no n_features_in_")
    count, fitted = int(estimator.n_features_in_), getattr(estimator, "feature_names_in_", None)
    features = options.names(count, None if fitted is None else [str(feature) for feature in fitted])
    classes = getattr(estimator, "classes_", None)
    own = None if classes is None else options.class_names([str(label) for label in np.asarray(classes).tolist()])
    if any("GradientBoosting" in one for one in names) and hasattr(estimator, "_raw_predict_init"):
        return _of_boosting(estimator, name, features, own, options)
    if any(one in ("BaseForest", "BaseDecisionTree") for one in names):
        return _of_trees(estimator, name, features, own, options)
    if hasattr(estimator, "coef_") and hasattr(estimator, "intercept_") and not hasattr(estimator, "coefs_"):
        if np.ndim(estimator.coef_) <= 2 and np.shape(estimator.coef_)[-1] == count:
            return _of_linear(estimator, features, own, options)
    if count > MAX_FEATURES:
        raise InputError(f"{name} has {count} features; its scores are taken on all inputs, which ends at {MAX_FEATURES}")
    given = replace(options, features=features, classes=own)
    return of_function(_score_of(estimator), given, own, "largest" if own is not None else "number")


def of_perceptron(estimator: Any, options: Options) -> Circuit:
    """A multi-layer perceptron of scikit-learn: classes in exact arithmetic, or the numbers before its last activation."""
    name, count = type(estimator).__name__, int(estimator.n_features_in_)
    if count > MAX_FEATURES:
        raise InputError(f"{name} has {count} features; it is compiled by its truth table, which ends at {MAX_FEATURES}")
    functions = {"identity": None, "relu": "relu", "tanh": "tanh", "logistic": "sigmoid"}
    if estimator.activation not in functions:
        raise InputError(f"{name}: its activation {estimator.activation} is not known")
    outputs, is_number = int(estimator.n_outputs_), estimator.out_activation_ == "identity"
    if outputs > 1 and estimator.out_activation_ == "logistic":
        raise InputError(f"{name} predicts several outputs at once: fit one classifier for each")
    steps: list[Step] = []
    for layer, (weights, bias) in enumerate(zip(estimator.coefs_, estimator.intercepts_), 1):
        real = functions[estimator.activation]
        if steps and real is not None:
            steps.append(Function(f"{estimator.activation} before layer {layer}", False, False, real))
        where = f"layer {layer}"
        steps.append(Dense(where, numbers(np.asarray(weights).T, where, 2), numbers(bias, where, 1)))
    if outputs == 1 and not is_number:
        # predict answers 1 if the probability is above a half.
        steps.append(Sign("the decision", -1))
    fitted = getattr(estimator, "feature_names_in_", None)
    features = options.names(count, None if fitted is None else [str(feature) for feature in fitted])
    model = _native.network_of_steps(steps, "bits", is_number)
    if not is_number:
        classes = [str(label) for label in np.asarray(estimator.classes_).tolist()]
        model = model._with_classes(options.class_names(classes))
    return _native.compile(model, replace(options, features=features, classes=None))


def _score_of(estimator: Any) -> Score:
    """The method of an estimator that is explained."""
    methods = (getattr(estimator, name, None) for name in ("decision_function", "predict_proba", "predict"))
    method = next(found for found in methods if found is not None)

    def score(bits: Bits) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return method(bits.astype(np.float64))

    return score


def _of_linear(estimator: Any, features: list[str], own: list[str] | None, options: Options) -> Circuit:
    coefficients = estimator.coef_.toarray() if hasattr(estimator.coef_, "toarray") else estimator.coef_
    weights = np.ascontiguousarray(np.atleast_2d(np.asarray(coefficients, dtype=np.float64)))
    constants = np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64).ravel(), weights.shape[:1])
    return _native.compile((weights, np.ascontiguousarray(constants), features, *_outputs(len(weights), own)), options)


def _outputs(count: int, own: list[str] | None) -> tuple[list[str], str]:
    """The names of several numbers, and how they decide."""
    if count == 1:
        return [], "number"
    return own or [str(number) for number in range(count)], "largest" if own is not None else "number"


def _of_trees(estimator: Any, name: str, features: list[str], own: list[str] | None, options: Options) -> Circuit:
    fitted = getattr(estimator, "estimators_", [estimator])
    trees = [_tree(tree.tree_, own is not None, name, features, number) for number, tree in enumerate(fitted, 1)]
    outputs = trees[0][3].shape[1]
    constants = np.zeros(outputs)
    return _native.compile((trees, constants, (1.0, len(trees)), features, *_outputs(outputs, own)), options)


def _of_boosting(estimator: Any, name: str, features: list[str], own: list[str] | None, options: Options) -> Circuit:
    from_start = np.asarray(estimator._raw_predict_init(np.zeros((2, len(features)), dtype=np.float32)), dtype=np.float64)
    other = np.asarray(estimator._raw_predict_init(np.ones((2, len(features)), dtype=np.float32)), dtype=np.float64)
    if not np.array_equal(from_start, other):
        raise InputError(f"{name} begins with an estimator of its own (init=...), which is no constant")
    stages = np.asarray(estimator.estimators_)
    outputs = stages.shape[1]
    trees = []
    for stage, row in enumerate(stages, 1):
        for output, tree in enumerate(row):
            one = _tree(tree.tree_, False, name, features, stage)
            weights = np.zeros((len(one[0]), outputs))
            weights[:, output] = one[3][:, 0]
            trees.append((one[0], one[1], one[2], np.ascontiguousarray(weights)))
    constants = np.ascontiguousarray(from_start[0].reshape(outputs))
    factor = (float(estimator.learning_rate), 1)
    return _native.compile((trees, constants, factor, features, *_outputs(outputs, own if outputs > 1 else None)), options)


def _tree(tree: Any, is_vote: bool, name: str, features: list[str], number: int) -> Tree:
    asked, left, right = bit_tests(tree, name, features, number)
    values = np.asarray(tree.value, dtype=np.float64)
    return asked, left, right, votes(values[:, 0, :]) if is_vote else np.ascontiguousarray(values[:, :, 0])
