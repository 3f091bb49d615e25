"""`model_output="score"`: margins, probabilities and numbers of other libraries' models, against the definition."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import boolshap
from boolshap.errors import BoolshapError, InputError

CHANCE = np.random.default_rng(4)
FEATURES = 6
BITS = CHANCE.integers(0, 2, size=(200, FEATURES))
NUMBERS = BITS @ CHANCE.normal(size=FEATURES) + BITS[:, 0] * BITS[:, 1] - BITS[:, 2] * BITS[:, 3]
LABELS = (NUMBERS > np.median(NUMBERS)).astype(int)
KINDS = np.digitize(NUMBERS, np.quantile(NUMBERS, [0.3, 0.6]))
ROWS, BACKGROUND = BITS[:5], BITS[5:15]


def shapley(score: Any, row: Any, background: Any) -> Any:
    """Shapley values from all sets of features, each valued by the mean over the background."""
    count = len(row)
    means = {}
    for size in range(count + 1):
        for chosen in itertools.combinations(range(count), size):
            mixed = background.copy()
            mixed[:, list(chosen)] = row[list(chosen)]
            means[chosen] = np.mean(np.asarray(score(mixed), dtype=float), axis=0)
    scores = []
    for feature in range(count):
        total = 0.0
        for chosen, mean in means.items():
            if feature not in chosen:
                weight = math.factorial(len(chosen)) * math.factorial(count - len(chosen) - 1) / math.factorial(count)
                total = total + weight * (means[tuple(sorted((*chosen, feature)))] - mean)
        scores.append(total)
    return means[()], np.array(scores)


def judge(source: Any, score: Any, **settings: Any) -> boolshap.Explainer:
    explainer = boolshap.Explainer(source, BACKGROUND, model_output="score", **settings)
    found = explainer(ROWS)
    for place, row in enumerate(ROWS):
        base, scores = shapley(score, row, BACKGROUND)
        assert np.abs(found.values[place] - scores).max() < 1e-9
        assert np.abs(found.base_values[place] - base).max() < 1e-9
    values = np.asarray(score(ROWS), dtype=float)
    assert np.abs(found.base_values + found.values.sum(axis=1) - values).max() < 1e-9
    return explainer


def test_functions_that_return_numbers():
    def one(X: Any) -> Any:
        return np.exp(X @ np.arange(FEATURES)) / 100 - X[:, 0]

    def two(X: Any) -> Any:
        return np.column_stack([one(X), X.sum(axis=1) ** 2])

    judge(one, one)
    judge(boolshap.compile(one, features=FEATURES, model_output="score", verify=True), one)
    circuit = boolshap.compile(two, features=FEATURES, classes=["e", "square"], model_output="score")
    explainer = judge(circuit, two)
    assert explainer.output_names == ["e", "square"] and explainer.model_output == "score"
    judge(circuit, lambda X: two(X)[:, 0] - two(X)[:, 1], class_="e-square")
    again = boolshap.Circuit.from_bytes(circuit.to_bytes())
    assert again == circuit and again.model_output == "score"
    exact = explainer.exact(ROWS, class_="square")
    assert exact.predictions == [int(value) for value in ROWS.sum(axis=1) ** 2]
    assert [base + sum(row) for base, row in zip(exact.base_values, exact.values)] == exact.predictions
    with pytest.raises(InputError, match="not finite"):
        boolshap.compile(lambda X: np.full(len(X), np.nan), features=2, model_output="score")


def test_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.ensemble import (
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.naive_bayes import BernoulliNB
    from sklearn.neural_network import MLPRegressor
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeRegressor

    margin = [
        LogisticRegression().fit(BITS, LABELS),
        LogisticRegression().fit(BITS, KINDS),
        GradientBoostingClassifier(n_estimators=10).fit(BITS, LABELS),
        GradientBoostingClassifier(n_estimators=5).fit(BITS, KINDS),
        SVC().fit(BITS, LABELS),
    ]
    for model in margin:
        judge(model, model.decision_function)
    for model in (RandomForestClassifier(10).fit(BITS, KINDS), BernoulliNB().fit(BITS, LABELS)):
        judge(model, model.predict_proba)
    for model in (
        LinearRegression().fit(BITS, NUMBERS),
        RandomForestRegressor(10).fit(BITS, NUMBERS),
        DecisionTreeRegressor().fit(BITS, NUMBERS),
        GradientBoostingRegressor(n_estimators=10).fit(BITS, NUMBERS),
        MLPRegressor(hidden_layer_sizes=(5,), max_iter=50, random_state=1).fit(BITS, NUMBERS),
    ):
        explainer = judge(model, model.predict)
        assert np.abs(explainer.circuit.predict(ROWS) - model.predict(ROWS)).max() < 1e-9


def test_a_perceptron_is_explained_before_its_last_activation():
    pytest.importorskip("sklearn")
    from sklearn.neural_network import MLPClassifier

    model = MLPClassifier(hidden_layer_sizes=(4,), activation="tanh", max_iter=50, random_state=1).fit(BITS, LABELS)
    probabilities = lambda X: model.predict_proba(X)[:, 1]  # noqa: E731
    judge(model, lambda X: np.log(probabilities(X) / (1 - probabilities(X))))


def test_labels_of_perceptrons_are_exact_and_their_own():
    pytest.importorskip("sklearn")
    from sklearn.neural_network import MLPClassifier

    for labels, activation in ((LABELS, "relu"), (KINDS, "logistic"), (KINDS, "relu")):
        model = MLPClassifier(hidden_layer_sizes=(4, 3), activation=activation, max_iter=50, random_state=1).fit(BITS, labels)
        circuit = boolshap.compile(model, verify=True)
        every = np.arange(2 ** BITS.shape[1])[:, None] >> np.arange(BITS.shape[1]) & 1
        names = np.array(circuit.classes or ["0", "1"])
        expected = [str(label) for label in model.predict(every)]
        assert names[circuit.predict(every)].tolist() == expected


def test_many_features():
    pytest.importorskip("sklearn")
    from sklearn.ensemble import GradientBoostingRegressor

    bits = CHANCE.integers(0, 2, size=(300, 60))
    numbers = bits[:, :10].sum(axis=1) * 1.5 + bits[:, 20] * bits[:, 30]
    model = GradientBoostingRegressor(n_estimators=20).fit(bits, numbers)
    explainer = boolshap.Explainer(model, bits[:20], model_output="score")
    found = explainer(bits[:10])
    assert np.abs(found.base_values + found.values.sum(axis=1) - model.predict(bits[:10])).max() < 1e-9
    shap = pytest.importorskip("shap")
    theirs = shap.TreeExplainer(model, bits[:20].astype(float), feature_perturbation="interventional")
    assert np.abs(theirs.shap_values(bits[:10].astype(float)) - found.values).max() < 1e-4


def test_what_cannot_be_a_score_is_refused():
    with pytest.raises(BoolshapError, match="neither|not one of label, score"):
        boolshap.compile(lambda X: X[:, 0], features=2, model_output="margin")
    circuit = boolshap.compile(lambda X: X[:, 0] * 0.5, features=2, model_output="score")
    with pytest.raises(BoolshapError, match="the file holds scores"):
        boolshap.Explainer(circuit, model_output="label")
    with pytest.raises(BoolshapError, match="the file holds scores"):
        _ = circuit.models


def test_scores_given_what_is_known():
    """v(S) is the mean number of the rows that agree on S, or the base value if none agrees; with all features known,
    the row's own number."""
    random = np.random.default_rng(5)
    rows = random.integers(0, 2, (12, 4), dtype=np.uint8)

    def score(inputs: Any) -> Any:
        return inputs @ [0.5, -1.25, 2.0, 0.75] + 3.0 * inputs[:, 0] * inputs[:, 2]

    circuit = boolshap.compile(score, features=4, model_output="score")
    found = boolshap.Explainer(circuit, rows, distribution="empirical")(rows[:3])
    base = score(rows).mean()
    for row, scores in zip(rows[:3], found.values, strict=True):
        values = {}
        for known in itertools.product([False, True], repeat=4):
            agreeing = rows[(rows == row)[:, list(known)].all(axis=1)]
            values[known] = score(row[None])[0] if all(known) else score(agreeing).mean() if len(agreeing) else base
        for player in range(4):
            expected = 0.0
            for known, value in values.items():
                size = sum(known)
                weight = math.factorial(size - 1) * math.factorial(4 - size) / math.factorial(4) if known[player] else 0.0
                without = tuple(one and place != player for place, one in enumerate(known))
                expected += weight * (value - values[without])
            assert abs(expected - scores[player]) < 1e-12
