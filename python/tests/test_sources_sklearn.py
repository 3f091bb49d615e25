"""Circuits of scikit-learn's classifiers agree with `predict` on every input."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from conftest import all_inputs
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import boolshap
from boolshap.errors import InputError, LimitError

CLASSIFIERS = [
    DecisionTreeClassifier(random_state=1),
    DecisionTreeClassifier(max_depth=3, random_state=2),
    RandomForestClassifier(n_estimators=7, random_state=3),
    # Shallow trees have leaves of many different fractions, which the sum of floats must add up as scikit-learn does.
    RandomForestClassifier(n_estimators=11, max_depth=3, random_state=3),
    ExtraTreesClassifier(n_estimators=5, random_state=4),
    BernoulliNB(),
    Perceptron(random_state=5),
    LogisticRegression(),
    SGDClassifier(random_state=6),
    LinearSVC(random_state=7),
    MLPClassifier(hidden_layer_sizes=(5,), max_iter=50, random_state=8),
    GradientBoostingClassifier(n_estimators=5, random_state=9),
]
#: Classifiers that are read from their fitted attributes, each with a route.
READ = [*((number, "apply") for number in range(10)), (6, "partial-sums")]


def data(features: int, classes: int, rows: int = 200, seed: int = 0) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Random bits, and classes that depend on them with some noise."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, size=(rows, features))
    score = X @ random.normal(size=features) + X[:, 0] * X[:, 1] + random.normal(scale=0.5, size=rows)
    return X, np.digitize(score, np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]))


def named(classifier: Any) -> str:
    return type(classifier).__name__


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=named)
def test_every_input_is_answered_as_by_predict(classifier: Any, classes: int) -> None:
    classifier.fit(*data(8, classes, seed=classes))
    circuit = boolshap.compile(classifier, verify=True)
    assert circuit.features == [f"x{number}" for number in range(1, 9)]
    assert circuit.classes == ([] if classes == 2 else [str(number) for number in range(classes)])
    assert np.array_equal(circuit.predict(all_inputs(8)), classifier.predict(all_inputs(8)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("number, via", READ, ids=str)
def test_fitted_attributes_say_what_predict_does(number: int, via: str, classes: int) -> None:
    classifier = CLASSIFIERS[number].fit(*data(7, classes, seed=20 + classes))
    circuit = boolshap.compile(classifier, via=via, verify=True)
    assert np.array_equal(circuit.predict(all_inputs(7)), classifier.predict(all_inputs(7)))


@pytest.mark.parametrize(
    "classifier",
    [
        DecisionTreeClassifier(max_depth=8, random_state=1),
        RandomForestClassifier(n_estimators=3, max_depth=4, random_state=2),
        BernoulliNB(),
        Perceptron(random_state=3),
        LogisticRegression(),
        LogisticRegression(l1_ratio=1, C=0.1, solver="saga", max_iter=2000),
    ],
    ids=named,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_beyond_a_truth_table(classifier: Any, classes: int) -> None:
    """Compares on random rows, because there are too many inputs."""
    X, y = data(30, classes, rows=400)
    # Thirty different coefficients have a billion different sums; constant columns have coefficient 0 and leave
    # few sums.
    X[:, 9:] = 0
    classifier.fit(X, y)
    circuit = boolshap.compile(classifier)
    rows = np.random.default_rng(9).integers(0, 2, size=(5000, 30))
    assert np.array_equal(circuit.predict(rows), classifier.predict(rows))


def test_a_forest_that_looks_at_few_of_many_features() -> None:
    X, y = data(40, 3, rows=300)
    forest = RandomForestClassifier(n_estimators=30, random_state=1).fit(np.where(np.arange(40) % 5, 0, X), y)
    circuit = boolshap.compile(forest)
    assert len(circuit.features) == 40
    rows = np.random.default_rng(1).integers(0, 2, size=(5000, 40))
    assert np.array_equal(circuit.predict(rows), forest.predict(rows))


def test_one_class_of_several() -> None:
    X, y = data(6, 3)
    for classifier in (DecisionTreeClassifier(random_state=1), LogisticRegression(), BernoulliNB()):
        labels = classifier.fit(X, np.array(["low", "middle", "high"])[y]).predict(all_inputs(6))
        for number, name in enumerate(classifier.classes_):
            for class_ in (number, str(name)):
                circuit = boolshap.compile(classifier, class_=class_, verify=True)
                assert circuit.classes == []
                assert np.array_equal(circuit.predict(all_inputs(6)), labels == name)
    with pytest.raises(InputError, match=r"there is no class 'huge': the classes are 0 \(high\), 1 \(low\), 2 \(middle\)"):
        boolshap.compile(classifier, class_="huge")
    with pytest.raises(InputError, match="there is no class 3"):
        boolshap.compile(classifier, class_=3)


def test_one_class_of_a_forest() -> None:
    forest = RandomForestClassifier(n_estimators=3, max_depth=4, random_state=1).fit(*data(30, 3, rows=400))
    rows = np.random.default_rng(9).integers(0, 2, size=(5000, 30))
    for class_ in range(3):
        circuit = boolshap.compile(forest, class_=class_)
        assert circuit.classes == [] and np.array_equal(circuit.predict(rows), forest.predict(rows) == class_)


def test_ties_go_where_predict_lets_them() -> None:
    """A linear model with a score of exactly 0 predicts its first class."""
    X = all_inputs(4)
    model = LogisticRegression().fit(X, X[:, 0])
    model.coef_, model.intercept_ = np.array([[1.0, -1.0, 2.0, 0.0]]), np.array([-1.0])
    for via in ("auto", "apply"):
        circuit = boolshap.compile(model, via=via)
        assert np.array_equal(circuit.predict(X), model.predict(X))
    assert (model.decision_function(X) == 0).sum() == 4


def test_names_of_columns_and_classes() -> None:
    X, y = data(5, 3)
    frame = pd.DataFrame(X, columns=["rain", "wind", "snow", "fog", "sun"])
    classifier = LogisticRegression().fit(frame, np.array(["go", "stay", "wait"])[y])
    circuit = boolshap.compile(classifier)
    assert circuit.features == list(frame.columns)
    assert circuit.classes == ["go", "stay", "wait"]
    found = classifier.classes_[circuit.predict(frame[frame.columns[::-1]])]
    assert np.array_equal(found, classifier.predict(frame))
    other = boolshap.compile(classifier, features=list("abcde"), classes=["x", "y", "z"])
    assert (other.features, other.classes) == (list("abcde"), ["x", "y", "z"])
    with pytest.raises(InputError, match="features gives 4 names for 5 features"):
        boolshap.compile(classifier, features=list("abcd"))
    with pytest.raises(InputError, match="classes gives 2 names for 3 classes"):
        boolshap.compile(classifier, classes=["x", "y"])


def test_a_search_gives_its_best_estimator() -> None:
    X, y = data(5, 2)
    search = GridSearchCV(DecisionTreeClassifier(random_state=1), {"max_depth": [2, 4]}, cv=2).fit(X, y)
    assert np.array_equal(boolshap.compile(search).predict(all_inputs(5)), search.predict(all_inputs(5)))


X8, Y8 = data(8, 2)


@pytest.mark.parametrize(
    "estimator, message",
    [
        (DecisionTreeClassifier(), "DecisionTreeClassifier is not fitted"),
        (make_pipeline(Binarizer(), BernoulliNB()).fit(X8, Y8), r"compile its last step \(pipeline\[-1\]\)"),
        (LinearRegression().fit(X8, Y8), "LinearRegression predicts numbers and not classes"),
        (DecisionTreeClassifier().fit(X8 * 5, Y8), r"was fitted on raw columns \(tree 1 splits x\d at 2.5\), and a circuit takes bits"),
        (DecisionTreeClassifier().fit(X8, np.stack([Y8, Y8], 1)), "predicts several outputs at once"),
        (DecisionTreeClassifier().fit(X8, np.zeros(200)), r"knows the class (np.float64\()?0.0\)? only"),
        (Binarizer().fit(X8), "Binarizer has no predict"),
        (MLPClassifier(max_iter=1).fit(*data(25, 2)), "MLPClassifier has 25 features; it is compiled by its truth"),
        (BernoulliNB(binarize=3).fit(*data(25, 2)), "binarize=3 does not tell 0 from 1"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_refusals(estimator: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        boolshap.compile(estimator)


def test_options_that_mean_nothing() -> None:
    classifier = MLPClassifier(max_iter=5, random_state=1)
    with pytest.warns(UserWarning):
        classifier.fit(X8, Y8)
    with pytest.raises(InputError, match="via='cnf' has no meaning for MLPClassifier"):
        boolshap.compile(classifier, via="cnf")
    with pytest.raises(InputError, match="inputs='signs' has no meaning for a MLPClassifier"):
        boolshap.compile(classifier, inputs="signs")
    with pytest.raises(InputError, match="truth tables end at 24 features, not 25"):
        boolshap.compile(DecisionTreeClassifier().fit(*data(25, 2)), via="truth-table")
    with pytest.raises(InputError, match="verify compares all inputs of 24 features at most"):
        boolshap.compile(DecisionTreeClassifier(max_depth=2).fit(*data(25, 2)), verify=True)


def test_limits() -> None:
    forest = RandomForestClassifier(n_estimators=20, random_state=1).fit(*data(8, 2))
    with pytest.raises(LimitError, match="more than the limit of 3"):
        boolshap.compile(forest, max_nodes=3)
    with pytest.raises(LimitError):
        boolshap.compile(forest, max_nodes=3, via="apply")


@pytest.mark.parametrize("grouped", [False, True])
def test_trees_against_background_rows_are_the_fractions_on_blocks_of_rows(grouped: bool) -> None:
    """Rows of several machine words, with repetitions, and frames as well as arrays: floats are within their bound."""
    rng = np.random.default_rng(3)
    for features, depth in ((4, 3), (9, 4), (11, 6)):
        seen, labels = rng.integers(0, 2, (300, features)), rng.integers(0, 2, 300)
        circuit = boolshap.compile(DecisionTreeClassifier(max_depth=depth, random_state=0).fit(seen, labels))
        background, rows = rng.integers(0, 2, (70, features)), rng.integers(0, 2, (150, features))
        players = {name: f"p{i * i % 4}" for i, name in enumerate(circuit.features)} if grouped else "features"
        with warnings.catch_warnings():
            # A circuit may grow when it is reordered for its players.
            warnings.simplefilter("ignore")
            explainer = boolshap.Explainer(circuit, background, players=players)
        found = explainer.shap_values(rows)
        exact = np.array([[float(score) for score in row] for row in explainer.exact(rows).values])
        assert np.abs(found - exact).max() <= explainer.error_bound() + 1e-16
        for other in (rows.astype(float), np.asfortranarray(rows), pd.DataFrame(rows, columns=circuit.features)[circuit.features[::-1]]):
            assert (explainer.shap_values(other) == found).all()
