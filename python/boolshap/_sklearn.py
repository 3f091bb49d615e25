"""Fitted scikit-learn classifiers on binary features, read by class name and fitted attributes.

Every classifier can be evaluated, so its truth table can be taken (`decide`). Two families can have more than 24
features, because their fitted attributes say what `predict` does:

* trees and forests: `x <= threshold` goes left. On bits this is a test of a bit if the threshold is at least 0 and
  below 1. Forests add up the trees' leaves as floats, one tree after the other; so do the circuits.
* linear models and naive Bayes: `predict` compares sums of fitted coefficients. The circuit compares the exact sums of
  the same coefficients, where floats would round.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._functions import Decide
from ._layers import Dense
from ._types import Bits, Tree
from .errors import InputError

_TREES = ("DecisionTreeClassifier", "ForestClassifier")
_LINEAR = ("Perceptron", "LogisticRegression", "SGDClassifier", "LinearSVC")


@dataclass(frozen=True)
class Classifier:
    """The facts about a fitted classifier."""

    #: The estimator itself; scikit-learn has no types.
    fitted: Any
    name: str
    inputs: int
    #: The names of the columns it was fitted on, if they had any.
    features: list[str] | None
    classes: list[str]
    decide: Decide
    #: A single tree, which never needs a truth table.
    is_tree: bool
    is_forest: bool
    is_linear: bool


def class_names(source: object) -> list[str]:
    """The names of the object's class and of all its bases."""
    return [base.__name__ for base in type(source).__mro__]


def is_estimator(source: object) -> bool:
    """Whether this is an estimator in the sense of scikit-learn."""
    return hasattr(source, "get_params") and (hasattr(source, "fit") or hasattr(source, "predict"))


def describe(estimator: Any) -> Classifier:
    """A fitted classifier, or an error that says why it cannot be taken."""
    names, name = class_names(estimator), type(estimator).__name__
    if "Pipeline" in names:
        raise InputError(
            "a Pipeline takes raw columns, and a circuit takes bits: boolshap.Explainer(pipeline, rows) explains it on its raw "
            "columns; or compile its last step (pipeline[-1]), which takes what the steps before make (pipeline[:-1].transform(X))"
        )
    if not hasattr(estimator, "predict"):
        raise InputError(f"{name} has no predict, so there is nothing to explain")
    if not hasattr(estimator, "n_features_in_"):
        raise InputError(f"{name} is not fitted: it has no n_features_in_")
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        raise InputError(f"{name} predicts numbers and not classes: it has no classes_")
    if isinstance(classes, list) or np.ndim(classes) != 1:
        raise InputError(f"{name} predicts several outputs at once: fit one classifier for each")
    if len(classes) < 2:
        raise InputError(f"{name} knows the class {classes[0]!r} only, so it decides nothing")
    features = getattr(estimator, "feature_names_in_", None)
    return Classifier(
        fitted=estimator,
        name=name,
        inputs=int(estimator.n_features_in_),
        features=None if features is None else [str(feature) for feature in features],
        classes=[str(label) for label in np.asarray(classes).tolist()],
        decide=_deciding(estimator, np.asarray(classes)),
        is_tree=_TREES[0] in names,
        is_forest=_TREES[1] in names,
        is_linear=bool({"BernoulliNB", *_LINEAR} & set(names)),
    )


def _deciding(estimator: Any, classes: npt.NDArray[Any]) -> Decide:
    def decide(bits: Bits) -> npt.NDArray[np.uint8]:
        with warnings.catch_warnings():
            # Columns are in the order of fit, whatever their names.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            labels = np.asarray(estimator.predict(bits.astype(np.float64)))
        numbers = np.searchsorted(classes, labels)
        if labels.shape != (len(bits),) or not np.array_equal(classes[np.minimum(numbers, len(classes) - 1)], labels):
            raise InputError(f"{type(estimator).__name__}.predict gave something else than one of its classes_ a row")
        return numbers.astype(np.uint8)

    return decide


def trees_of(classifier: Classifier) -> list[Tree]:
    """The trees of a tree or forest."""
    trees = [classifier.fitted] if classifier.is_tree else classifier.fitted.estimators_
    return [_tree(tree.tree_, classifier, number) for number, tree in enumerate(trees, 1)]


def _tree(tree: Any, classifier: Classifier, number: int) -> Tree:
    features, left, right = bit_tests(tree, classifier.name, classifier.features, number)
    return features, left, right, votes(np.asarray(tree.value, dtype=np.float64)[:, 0, :])


def bit_tests(tree: Any, name: str, names: list[str] | None, number: int) -> tuple[npt.NDArray[np.int64], ...]:
    """For each node of a tree the feature that it tests, -1 at a leaf, and the child nodes for 0 and 1."""
    left, right = (np.asarray(side, dtype=np.int64) for side in (tree.children_left, tree.children_right))
    split = left >= 0
    features = np.where(split, np.asarray(tree.feature, dtype=np.int64), -1)
    thresholds = np.asarray(tree.threshold, dtype=np.float64)
    outside = split & ~((thresholds >= 0) & (thresholds < 1))
    if outside.any():
        node = int(np.argmax(outside))
        column = names[features[node]] if names else f"x{features[node] + 1}"
        raise InputError(
            f"{name}: tree {number} splits {column} at {thresholds[node]:g}, which does not tell 0 from 1; "
            "fit it on binary features"
        )
    return features, left, right


def votes(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The shares of the classes at each node."""
    totals = weights.sum(axis=1, keepdims=True)
    if not np.allclose(totals, 1, rtol=0, atol=1e-6):
        # Before scikit-learn 1.3 the leaves held counts, which predict_proba divided by their sum.
        weights = weights / np.where(totals == 0, 1, totals)
    return np.ascontiguousarray(weights)


def used_features(trees: list[Tree]) -> list[int]:
    """The features that some tree tests."""
    return sorted({int(feature) for features, _, _, _ in trees for feature in np.unique(features) if feature >= 0})


def tree_of_table(values: Bits, used: list[int], classes: int) -> Tree:
    """The full tree of a truth table over some of the features: bit j of an entry's number is feature used[j]."""
    depth = len(used)
    leaves = 1 << depth
    levels: Iterator[npt.NDArray[np.int64]] = (
        np.full(1 << level, used[depth - 1 - level], dtype=np.int64) for level in range(depth)
    )
    features = np.concatenate([*levels, np.full(leaves, -1, dtype=np.int64)])
    numbers = np.arange(2 * leaves - 1, dtype=np.int64)
    weights = np.zeros((2 * leaves - 1, classes), dtype=np.float64)
    weights[leaves - 1 + np.arange(leaves), values] = 1
    return features, 2 * numbers + 1, 2 * numbers + 2, weights


def layer_of(classifier: Classifier) -> Dense:
    """The one layer, on bits, of a linear model or naive Bayes."""
    fitted, name = classifier.fitted, classifier.name
    if hasattr(fitted, "feature_log_prob_"):
        if fitted.binarize is not None and not 0 <= fitted.binarize < 1:
            raise InputError(f"{name}: binarize={fitted.binarize!r} does not tell 0 from 1")
        present = np.asarray(fitted.feature_log_prob_, dtype=np.float64)
        with np.errstate(divide="ignore"):
            absent = np.log(1 - np.exp(present))
        weights, bias = present - absent, np.asarray(fitted.class_log_prior_) + absent.sum(axis=1)
    else:
        weights = fitted.coef_.toarray() if hasattr(fitted.coef_, "toarray") else fitted.coef_
        weights = np.asarray(weights, dtype=np.float64)
        bias = np.broadcast_to(np.asarray(fitted.intercept_, dtype=np.float64), weights.shape[:1])
    for what, numbers in (("coefficient", weights), ("intercept", bias)):
        if not np.isfinite(numbers).all():
            raise InputError(f"{name}: some {what} is {numbers[~np.isfinite(numbers)][0]}, not a finite number")
    if len(weights) == 1:
        # Of two classes the second wins only if its score is above 0: a tie with a score of 0 goes to the first.
        weights = np.concatenate([np.zeros_like(weights), weights])
        bias = np.concatenate([np.zeros(1), bias])
    return Dense(name, weights, bias)
