"""Properties that users of shap rely on, as checks that run over explainers of every kind.

The checks reimplement those of shap's own explainers: scores add up, batches do not matter, interactions add up, names
are kept, explanations can be sliced and plotted, saved files give the same scores. Checks that cannot pass are in
`LEFT_OUT`, with the reason.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas
import pytest
import shap
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import boolshap

matplotlib.use("Agg")
FLOWERS, KINDS = load_iris(return_X_y=True, as_frame=True)
BITS = (FLOWERS > FLOWERS.mean()).astype(int)
BACKGROUND, ROWS = slice(0, 40), slice(60, 80)

#: shap's checks that these explainers cannot pass.
LEFT_OUT = {
    "tree_path_dependent": "its scores depend on how many training rows went through each node, not on the function alone",
    "model_output='probability', 'log_loss'": "a sigmoid of a sum is no sum of trees: refused, see test_at_home",
    "text, image and partition maskers": "they define other games: refused, see test_at_home",
    "GPU": "the engines run on processors only",
}

Case = tuple[Callable[[], Any], Callable[[Any], Any], pandas.DataFrame]


def classifier(bits: bool = False, kinds: int = 3) -> Any:
    X = BITS if bits else FLOWERS
    return RandomForestClassifier(4, max_depth=3, random_state=1).fit(X, KINDS if kinds == 3 else KINDS == 1)


#: name: the model, the function that base values and scores add up to, the rows.
CASES: dict[str, Case] = {
    "label of bits": (
        lambda: GradientBoostingClassifier(n_estimators=4, random_state=1).fit(BITS, KINDS == 1),
        lambda model: model.predict(BITS[ROWS]),
        BITS,
    ),
    "labels of three classes": (
        lambda: classifier(bits=True),
        lambda model: np.eye(3)[model.predict(BITS[ROWS])],
        BITS,
    ),
    "a network of raw columns": (
        lambda: boolshap.BnnClassifier(hidden=(2,), epochs=5).fit(FLOWERS, KINDS == 1),
        lambda model: model.predict(FLOWERS[ROWS]),
        FLOWERS,
    ),
    "a forest on raw columns": (classifier, lambda model: model.predict_proba(FLOWERS[ROWS]), FLOWERS),
    "a regressor on raw columns": (
        lambda: RandomForestRegressor(4, random_state=1).fit(FLOWERS, KINDS),
        lambda model: model.predict(FLOWERS[ROWS]),
        FLOWERS,
    ),
    "a linear model on raw columns": (
        lambda: LogisticRegression(max_iter=1000).fit(FLOWERS, KINDS),
        lambda model: model.decision_function(FLOWERS[ROWS]),
        FLOWERS,
    ),
    "a pipeline": (
        lambda: make_pipeline(StandardScaler(), classifier(kinds=2)).fit(FLOWERS, KINDS == 1),
        lambda model: model.predict_proba(FLOWERS[ROWS]),
        FLOWERS,
    ),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Any, Any, pandas.DataFrame, Any]:
    make, expected, table = CASES[request.param]
    model = make()
    return boolshap.Explainer(model, table[BACKGROUND]), expected(model), table[ROWS], model


def test_scores_add_up(case: Any) -> None:
    explainer, expected, rows, _ = case
    explanation = explainer(rows)
    assert np.abs(explanation.base_values + explanation.values.sum(axis=1) - expected).max() < 1e-9
    assert np.abs(np.broadcast_to(explainer.expected_value, explanation.base_values.shape) - explanation.base_values).max() < 1e-12


def test_shap_values_are_those_of_the_explanation(case: Any) -> None:
    explainer, _, rows, _ = case
    assert (explainer.shap_values(rows, check_additivity=True, silent=True) == explainer(rows).values).all()


def test_batches_do_not_matter(case: Any) -> None:
    explainer, _, rows, _ = case
    whole = explainer(rows).values
    parts = np.concatenate([explainer(rows[start : start + 7]).values for start in range(0, len(rows), 7)])
    assert (whole == parts).all()
    assert explainer(rows[:0]).values.shape == (0, *whole.shape[1:])


def test_interactions_add_up(case: Any) -> None:
    explainer, _, rows, _ = case
    halves = explainer.shap_interaction_values(rows[:4])
    assert np.abs(halves.sum(axis=2) - explainer.shap_values(rows[:4])).max() < 1e-9
    assert (halves == np.swapaxes(halves, 1, 2)).all()


def test_names_are_kept(case: Any) -> None:
    explainer, _, rows, _ = case
    explanation = explainer(rows)
    assert [name.partition(">")[0] for name in explanation.feature_names] == list(rows.columns)
    assert explanation.data.shape == rows.shape
    if explanation.values.ndim == 3:
        assert len(explanation.output_names) == explanation.values.shape[2]


def test_explanations_are_sliced(case: Any) -> None:
    explanation = case[0](case[2])
    assert explanation[0].values.shape == explanation.values.shape[1:]
    assert explanation[:, 1].values.shape == (len(explanation), *explanation.values.shape[2:])
    assert explanation[2:5].data.shape == (3, 4)
    if explanation.values.ndim == 3:
        assert explanation[..., 1].values.shape == (len(explanation), 4)


def test_plots_take_them(case: Any) -> None:
    explanation = case[0](case[2])
    one = explanation[..., 1] if explanation.values.ndim == 3 else explanation
    for plot in (shap.plots.beeswarm, shap.plots.bar, shap.plots.violin, shap.plots.heatmap):
        plot(one, show=False)
        matplotlib.pyplot.close("all")
    shap.plots.waterfall(one[0], show=False)
    shap.plots.scatter(one[:, 0], show=False)
    matplotlib.pyplot.close("all")


def test_pickles_and_files_give_the_same(case: Any, tmp_path: Path) -> None:
    explainer, _, rows, model = case
    expected = explainer(rows).values
    assert (pickle.loads(pickle.dumps(explainer))(rows).values == expected).all()
    if not hasattr(model, "steps"):
        explainer.save(tmp_path / "it")
        assert (boolshap.Explainer.load(tmp_path / "it")(rows).values == expected).all()


def test_more_rows_than_one_chunk(case: Any) -> None:
    explainer, _, rows, _ = case
    many = pandas.concat([rows] * 300)
    values = explainer(many).values
    assert (values.reshape(300, len(rows), *values.shape[1:]) == explainer(rows).values).all()
