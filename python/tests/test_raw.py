"""Models on raw columns: scores equal the definition over all sets of columns, and shap's interventional
TreeExplainer."""

from __future__ import annotations

import itertools
import math
import pickle
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas
import pytest
import shap
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import boolshap
from boolshap.errors import InputError, LimitError

Floats = npt.NDArray[np.float64]

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)

#: No deeper than 3: on some trees of depth 4 and more the interventional scores of shap 0.51 are not those of the definition.
CLASSIFIERS = [
    DecisionTreeClassifier(max_depth=3, random_state=1),
    RandomForestClassifier(10, max_depth=3, random_state=1),
    ExtraTreesClassifier(10, max_depth=3, random_state=1),
    GradientBoostingClassifier(n_estimators=10, random_state=1),
    HistGradientBoostingClassifier(max_iter=10, max_depth=3, early_stopping=False),
]
REGRESSORS = [
    DecisionTreeRegressor(max_depth=3, random_state=1),
    RandomForestRegressor(10, max_depth=3, random_state=1),
    ExtraTreesRegressor(10, max_depth=3, random_state=1),
    GradientBoostingRegressor(n_estimators=10, random_state=1),
    HistGradientBoostingRegressor(max_iter=10, max_depth=3, early_stopping=False),
]
#: Fully grown trees, compared only with the definition.
DEEP = [DecisionTreeRegressor(random_state=1), RandomForestRegressor(5, random_state=1), ExtraTreesRegressor(5, random_state=1)]


def named(model: Any) -> str:
    return type(model).__name__


def own_number(model: Any, rows: Floats) -> Floats:
    """The explained output of a scikit-learn model, by its own methods: (rows, outputs)."""
    method = next(getattr(model, name) for name in ("decision_function", "predict_proba", "predict") if hasattr(model, name))
    return np.asarray(method(rows), dtype=np.float64).reshape(len(rows), -1)


def brute_force(number: Any, row: Floats, background: Floats, index: str = "shapley") -> tuple[Floats, Floats]:
    """Scores of all sets of columns by their definition: (sets, outputs), and the value of the empty set."""
    count = len(row)
    worth: dict[frozenset[int], Floats] = {}
    for size in range(count + 1):
        for those in itertools.combinations(range(count), size):
            mixed = background.copy()
            mixed[:, list(those)] = row[list(those)]
            worth[frozenset(those)] = number(mixed).mean(axis=0)
    scores = []
    for own in itertools.combinations(range(count), 2 if index == "interaction" else 1):
        others = count - len(own)
        score = np.zeros_like(worth[frozenset()])
        for those in (those for those in worth if not those & set(own)):
            weight = math.factorial(len(those)) * math.factorial(others - len(those)) / math.factorial(others + 1)
            weight = 1 / 2**others if index == "banzhaf" else weight
            for size in range(len(own) + 1):
                for part in itertools.combinations(own, size):
                    score = score + (-1) ** (len(own) - size) * weight * worth[those | set(part)]
        scores.append(score)
    return np.array(scores), worth[frozenset()]


def check_shap(model: Any, background: Floats, rows: Floats) -> None:
    """Compares with shap's interventional scores, if shap takes the model. shap multiplies by single-precision weights.
    It compares numbers in double precision where scikit-learn and XGBoost round them first, so they are rounded
    here."""
    background, rows = (part.astype(np.float32).astype(np.float64) for part in (background, rows))
    explainer = boolshap.Explainer(model, background)
    ours = explainer(rows)
    judge = shap.TreeExplainer(model, background, feature_perturbation="interventional", model_output="raw")
    theirs = np.asarray(judge.shap_values(rows, check_additivity=False))
    assert ours.values.shape == theirs.shape
    assert np.abs(ours.values - theirs).max() < 1e-6 * max(1.0, float(np.abs(theirs).max()))
    assert explainer.expected_value == pytest.approx(judge.expected_value, rel=1e-6, abs=1e-6)


# shap's scores of HistGradientBoostingClassifier do not add up to its predictions, so only the definition is compared.
@pytest.mark.parametrize(
    "model", [one for one in CLASSIFIERS if not isinstance(one, HistGradientBoostingClassifier)], ids=named
)
def test_classifiers_are_as_shap_has_them(model: Any) -> None:
    X, y = CANCER
    check_shap(model.fit(X, y), X[:40], X[100:130])


@pytest.mark.parametrize("model", REGRESSORS, ids=named)
def test_regressors_are_as_shap_has_them(model: Any) -> None:
    X, y = DIABETES
    check_shap(model.fit(X, y), X[:40], X[100:130])


@pytest.mark.parametrize("model", [*REGRESSORS, *DEEP], ids=named)
def test_regressors_are_the_definition(model: Any) -> None:
    X, y = DIABETES
    X = X[:, 1:9]
    model.fit(X, y)
    background, rows = X[:12], X[100:103]
    found = boolshap.Explainer(model, background).shap_values(rows)
    for place, row in enumerate(rows):
        scores, _ = brute_force(lambda mixed: own_number(model, mixed), row, background)
        assert np.abs(found[place] - scores[:, 0]).max() < 1e-9


def test_what_is_rounded_before_it_is_compared() -> None:
    """scikit-learn's trees compare in single precision: a number that rounds to the threshold goes left."""
    X = np.array([[1.0], [1.5]])
    tree = DecisionTreeRegressor().fit(X, [0.0, 1.0])
    near = np.array([[1.25 + 1e-9], [1.25], [1.25 + 1e-6], [1.25 - 1e-9], [1.2]])
    assert tree.predict(near).tolist() == [0, 0, 1, 0, 0]
    explanation = boolshap.Explainer(tree, X[:1])(near)
    assert (explanation.base_values + explanation.values[:, 0]).tolist() == tree.predict(near).tolist()


@pytest.mark.parametrize("index", ["shapley", "banzhaf", "interaction"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=named)
def test_three_classes_are_the_definition(model: Any, index: Any) -> None:
    """shap does not support gradient boosting of several classes."""
    X, y = IRIS
    model.fit(X, y)
    background, rows = X[::10], X[3::50]
    explainer = boolshap.Explainer(model, background)
    found = explainer.values(rows, index=index)
    for place, row in enumerate(rows):
        scores, base = brute_force(lambda mixed: own_number(model, mixed), row, background, index)
        assert np.abs(found[place] - scores).max() < 1e-9
        assert np.abs(explainer.expected_value - base).max() < 1e-9
    assert explainer.output_names == ["0", "1", "2"]


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=4, random_state=1),
        RandomForestClassifier(5, max_depth=3, random_state=1),
        HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=6, early_stopping=False),
        HistGradientBoostingRegressor(max_iter=4, max_leaf_nodes=6, early_stopping=False),
    ],
    ids=named,
)
def test_missing_values_go_where_the_tree_sends_them(model: Any) -> None:
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 4))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    X[random.random(X.shape) < 0.2] = np.nan
    model.fit(X, y)
    background, rows = X[:9], X[50:54]
    explainer = boolshap.Explainer(model, background)
    found = explainer.shap_values(rows).reshape(len(rows), 4, -1)
    for place, row in enumerate(rows):
        scores, _ = brute_force(lambda mixed: own_number(model, mixed), row, background)
        assert np.abs(found[place] - scores).max() < 1e-9


def test_missing_values_are_refused_where_the_model_refuses_them() -> None:
    X, y = IRIS
    explainer = boolshap.Explainer(GradientBoostingClassifier(n_estimators=3).fit(X, y), X[:20])
    with pytest.raises(InputError, match="is missing, and the model takes no missing values"):
        explainer([[5.0, np.nan, 1.0, 1.0]])


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_labels_of_forests_are_the_definition(depth: int) -> None:
    X, y = IRIS
    for model in (RandomForestClassifier(6, max_depth=depth, random_state=2), CLASSIFIERS[0]):
        model.fit(X, y)
        background, rows = X[::15], X[3::40]
        explainer = boolshap.Explainer(model, background, model_output="label")
        found = explainer(rows)
        for place, row in enumerate(rows):
            scores, base = brute_force(lambda mixed: np.eye(3)[model.predict(mixed)], row, background)
            assert np.abs(found.values[place] - scores).max() < 1e-12
        assert (found.base_values[0] + found.values.sum(axis=1)).round(9).tolist() == np.eye(3)[model.predict(rows)].tolist()


def test_labels_of_boosting_and_of_one_class() -> None:
    X, y = CANCER
    X = X[:, :6]
    model = GradientBoostingClassifier(n_estimators=12, max_depth=2, random_state=1).fit(X, y)
    found = boolshap.Explainer(model, X[:30], model_output="label")(X)
    assert np.abs(found.base_values + found.values.sum(axis=1) - model.predict(X)).max() < 1e-9
    iris = RandomForestClassifier(5, max_depth=2, random_state=1).fit(IRIS[0], np.array(["a", "b", "c"])[IRIS[1]])
    one = boolshap.Explainer(iris, IRIS[0][:30], model_output="label", class_="b")(IRIS[0])
    assert np.abs(one.base_values + one.values.sum(axis=1) - (iris.predict(IRIS[0]) == "b")).max() < 1e-9
    with pytest.raises(InputError, match="there is no class 'd'"):
        boolshap.Explainer(iris, IRIS[0][:30], class_="d")


def test_labels_that_do_not_fit_are_refused() -> None:
    X, y = CANCER
    forest = RandomForestClassifier(40, random_state=1).fit(X, y)
    with pytest.raises(LimitError, match="one tree of more than 1048576 nodes: explain the score"):
        boolshap.Explainer(forest, X[:20], model_output="label")
    with pytest.raises(InputError, match="gives numbers and no labels"):
        boolshap.Explainer(DecisionTreeRegressor().fit(X, y), X[:20], model_output="label")


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(), LogisticRegression(max_iter=5000)], ids=named)
def test_linear_models_are_as_shap_has_them(model: Any) -> None:
    X, y = IRIS
    model.fit(X, y)
    ours = boolshap.Explainer(model, X[:50])(X)
    theirs = shap.LinearExplainer(model, shap.maskers.Independent(X[:50], max_samples=50)).shap_values(X)
    assert np.abs(ours.values - theirs).max() < 1e-9
    with pytest.raises(InputError, match="'label'"):
        boolshap.Explainer(model, X[:50], model_output="label")


def test_fractions_are_what_floats_round() -> None:
    X, y = DIABETES
    model = GradientBoostingRegressor(n_estimators=5, random_state=1).fit(X, y)
    explainer = boolshap.Explainer(model, X[:10])
    exact, floats = explainer.exact(X[20:22]), explainer(X[20:22])
    assert isinstance(exact.values[0][0], Fraction)
    assert np.abs(np.array(exact.values, dtype=float) - floats.values).max() < 1e-12
    for row, end in zip(exact.values, exact.predictions):
        assert exact.base_values[0] + sum(row) == end
    assert np.abs(np.array(exact.predictions, dtype=float) - model.predict(X[20:22])).max() < 1e-9
    assert explainer.error_bound() < 1e-9


def test_interactions_in_both_conventions() -> None:
    X, y = IRIS
    explainer = boolshap.Explainer(RandomForestRegressor(5, random_state=1).fit(X, y), X[::10])
    whole, halves = explainer.interactions(X[:3]), explainer.shap_interaction_values(X[:3])
    assert (whole == whole.transpose(0, 2, 1)).all() and (whole[:, range(4), range(4)] == 0).all()
    assert np.abs(halves.sum(axis=2) - explainer.shap_values(X[:3])).max() < 1e-12
    off = ~np.eye(4, dtype=bool)
    assert np.abs(halves[:, off] - whole[:, off] / 2).max() < 1e-15


def test_columns_go_by_name() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(5, random_state=1).fit(X, y)
    explainer = boolshap.Explainer(model, X[:50])
    assert explainer.players == list(X.columns)
    expected = explainer(X).values
    assert (explainer(X[X.columns[::-1]].assign(other="text")).values == expected).all()
    assert (explainer(X.to_numpy()).values == expected).all()
    with pytest.raises(InputError, match="there is no column 'petal width \\(cm\\)'"):
        explainer(X.iloc[:, :3])
    with pytest.raises(InputError, match="'sepal length \\(cm\\)', row 0: 'long' is not a number"):
        explainer(X.assign(**{"sepal length (cm)": "long"}))
    unnamed = RandomForestClassifier(5, random_state=1).fit(X.to_numpy(), y)
    assert boolshap.Explainer(unnamed, X[:50]).players == list(X.columns)
    assert boolshap.Explainer(unnamed, X[:50].to_numpy()).players == ["x1", "x2", "x3", "x4"]
    assert boolshap.Explainer(unnamed, X[:50].to_numpy(), feature_names=list("abcd")).players == list("abcd")


@pytest.mark.parametrize("index", ["shapley", "banzhaf", "interaction"])
def test_columns_of_one_player_come_and_go_together(index: Any, tmp_path: Path) -> None:
    X, y = DIABETES
    X = X[:, :6]
    model = RandomForestRegressor(4, max_depth=4, random_state=1).fit(X, y)
    players = {"x1": "who", "x2": "who", "x4": "blood", "x6": "blood"}
    explainer = boolshap.Explainer(model, X[:15], players=players)
    assert explainer.players == ["who", "x3", "blood", "x5"]
    members = [[0, 1], [2], [3, 5], [4]]
    found = explainer.values(X[50:53], index=index)
    for place, row in enumerate(X[50:53]):

        def number(absent: Floats, row: Floats = row) -> Floats:
            """The model's output averaged over the background; players marked 1 have the row's values."""
            numbers = []
            for marks in absent:
                mixed = X[:15].copy()
                for mark, own in zip(marks, members):
                    if mark:
                        mixed[:, own] = row[own]
                numbers.append([model.predict(mixed).mean()])
            return np.array(numbers)

        scores, _ = brute_force(number, np.ones(4), np.zeros((1, 4)), index)
        assert np.abs(found[place] - scores[:, 0]).max() < 1e-9
    explainer.save(tmp_path / "it")
    again = boolshap.Explainer.load(tmp_path / "it")
    assert again.players == explainer.players and (again.values(X[50:53], index=index) == found).all()
    assert explainer(X[:2]).data.shape == explainer(X[:2]).values.shape


@pytest.mark.parametrize("model", [DecisionTreeRegressor(max_depth=3), RandomForestRegressor(3, max_depth=3, random_state=1)], ids=named)
def test_regressors_of_several_numbers(model: Any) -> None:
    X, y = DIABETES
    X = X[:, 1:7]
    model.fit(X, np.column_stack([y, y**2, -y]))
    explanation = boolshap.Explainer(model, X[:10])(X[40:43])
    assert explanation.values.shape == (3, 6, 3) and list(explanation.output_names) == ["0", "1", "2"]
    for place, row in enumerate(X[40:43]):
        scores, base = brute_force(model.predict, row, X[:10])
        assert np.abs(explanation.values[place] - scores).max() < 1e-9 * 1e5
        assert explanation.base_values[place] == pytest.approx(base)


def test_names_are_kept_in_files(tmp_path: Path) -> None:
    X, y = IRIS
    bits = (X > X.mean(axis=0)).astype(int)
    explainers = [
        boolshap.Explainer(RandomForestClassifier(3, random_state=1).fit(rows, y), rows[:20], feature_names="abcd", output_names="pqr")
        for rows in (X, bits)
    ]
    for explainer, rows in zip(explainers, (X, bits)):
        explainer.save(tmp_path / "it")
        for again in (boolshap.Explainer.load(tmp_path / "it"), pickle.loads(pickle.dumps(explainer))):
            found = again(rows[:2])
            assert (list(found.feature_names), list(found.output_names)) == (list("abcd"), list("pqr"))


def test_an_explainer_is_saved_and_pickled(tmp_path: Path) -> None:
    X, y = IRIS
    explainer = boolshap.Explainer(HistGradientBoostingClassifier(max_iter=5).fit(X, y), X[:30], class_=1, threads=1)
    explainer.save(tmp_path / "iris.explainer")
    expected = explainer(X)
    for again in (boolshap.Explainer.load(tmp_path / "iris.explainer"), pickle.loads(pickle.dumps(explainer))):
        found = again(X)
        assert (found.values == expected.values).all() and (found.base_values == expected.base_values).all()
        assert isinstance(again, boolshap.Explainer) and repr(again) == repr(explainer)


def test_plots_and_data() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    explanation = boolshap.Explainer(GradientBoostingClassifier(n_estimators=3).fit(X, y == 1), X[:30])(X)
    assert explanation.data.dtype == np.float64 and (explanation.data == X.to_numpy()).all()
    shap.plots.beeswarm(explanation, show=False)
    shap.plots.waterfall(explanation[0], show=False)
    shap.plots.violin(explanation, show=False)


@pytest.mark.parametrize(
    "model",
    [DecisionTreeClassifier(), RandomForestClassifier(3), GradientBoostingClassifier(n_estimators=3),
     HistGradientBoostingClassifier(max_iter=3), GaussianNB(), KNeighborsClassifier(), SVC()],
    ids=named,
)
def test_models_of_raw_columns_are_never_compiled_in_silence(model: Any) -> None:
    X, y = IRIS
    model.fit(X, y)
    for output in ("label", "score"):
        with pytest.raises(InputError, match="was fitted on raw columns .*Explainer"):
            boolshap.compile(model, model_output=output)


def test_what_does_not_show_its_columns_is_compiled_with_a_warning() -> None:
    random = np.random.default_rng(1)
    bits = random.integers(0, 2, size=(100, 4))
    for model in (LogisticRegression(), MLPClassifier((3,), max_iter=20)):
        with pytest.warns(UserWarning, match="does not show what it was fitted on"):
            boolshap.compile(model.fit(bits, bits[:, 0]))
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            boolshap.compile(model, inputs="bits")
            boolshap.Explainer(model, bits[:10])
    raw = MLPClassifier((3,), max_iter=20).fit(IRIS[0], IRIS[1])
    with pytest.raises(InputError, match="MLPClassifier takes raw columns .*background holds other values"):
        boolshap.Explainer(raw, IRIS[0][:10])


def test_what_has_no_meaning_on_raw_columns_is_refused() -> None:
    X, y = IRIS
    model = RandomForestClassifier(3, random_state=1).fit(X, y)
    for settings, message in [
        ({}, "has to be said by rows"),
        ({"background": X[:5], "distribution": "empirical"}, "distribution 'empirical' is for models of bits"),
        ({"background": X[:5], "constraint": [[1]]}, "constraint is for models of bits"),
        ({"background": X[:5], "players": {"x9": "a"}}, "players names 'x9', which is no column"),
        ({"background": X[:5], "players": "segments.png"}, "are its columns, or a dict of them"),
        ({"background": X[:5], "feature_names": ["a"]}, "feature_names gives 1 names for 4 columns"),
        ({"background": X[:0]}, "no rows"),
    ]:
        with pytest.raises(InputError, match=message):
            boolshap.Explainer(model, **settings)
    explainer = boolshap.Explainer(model, X[:5])
    with pytest.raises(InputError, match="the index taylor:2 is for labels"):
        explainer.values(X[:1], index="taylor:2")
    with pytest.raises(InputError, match="without a circuit"):
        _ = explainer.circuit


def test_a_search_is_what_it_found() -> None:
    X, y = IRIS
    search = GridSearchCV(DecisionTreeClassifier(random_state=1), {"max_depth": [2, 3]}).fit(X, y)
    ours = boolshap.Explainer(search, X[:30])(X).values
    assert (ours == boolshap.Explainer(search.best_estimator_, X[:30])(X).values).all()


def test_a_model_that_is_misread_is_refused() -> None:
    X, y = IRIS
    model = DecisionTreeRegressor(random_state=1).fit(X, y)
    model.predict = lambda rows: np.full(len(rows), 7.0)
    with pytest.raises(InputError, match="itself gives 7.0, but what was read from it 0.0"):
        boolshap.Explainer(model, X[:5])


XGBOOST = {"n_estimators": 8, "max_depth": 4}


@pytest.mark.parametrize("data", [CANCER, DIABETES, IRIS], ids=["two classes", "numbers", "three classes"])
@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_xgboost(data: Any, booster: str) -> None:
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    X, y = data
    kind = xgboost.XGBRegressor if data is DIABETES else xgboost.XGBClassifier
    X = X.copy()
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    model = kind(**XGBOOST, booster=booster, rate_drop=0.3 if booster == "dart" else None).fit(X, y)
    if booster == "gbtree":
        check_shap(model, X[:40], X[60:80])
        check_shap(model.get_booster(), X[:40], X[60:80])
    found = boolshap.Explainer(model, X[:40])(X)
    margin = model.predict(X, output_margin=True)
    assert np.abs(found.base_values + found.values.sum(axis=1) - margin).max() < 1e-4


@pytest.mark.parametrize("data", [CANCER, DIABETES, IRIS], ids=["two classes", "numbers", "three classes"])
@pytest.mark.parametrize("boosting", ["gbdt", "rf"])
def test_lightgbm(data: Any, boosting: str) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    X, y = data
    kind = lightgbm.LGBMRegressor if data is DIABETES else lightgbm.LGBMClassifier
    X = X.copy()
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    bagging = {"subsample": 0.7, "subsample_freq": 1} if boosting == "rf" else {}
    model = kind(n_estimators=8, verbose=-1, boosting_type=boosting, **bagging).fit(X, y)
    if boosting == "gbdt":
        check_shap(model, X[:40], X[60:80])
    found = boolshap.Explainer(model.booster_, X[:40])(X)
    margin = model.booster_.predict(X, raw_score=True) / (8 if boosting == "rf" else 1)
    assert np.abs(found.base_values + found.values.sum(axis=1) - margin).max() < 1e-9


def test_boosters_of_categories() -> None:
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    random = np.random.default_rng(5)
    X = pandas.DataFrame({"kind": random.integers(0, 6, 400), "size": random.normal(size=400)})
    y = X["kind"].isin([1, 4]) * 2.0 + X["size"]
    frame = X.astype({"kind": pandas.CategoricalDtype(range(6))})
    model = xgboost.XGBRegressor(n_estimators=5, max_depth=3, enable_categorical=True).fit(frame, y)
    found = boolshap.Explainer(model, X[:30])(X)
    assert np.abs(found.base_values + found.values.sum(axis=1) - model.predict(frame)).max() < 1e-4
