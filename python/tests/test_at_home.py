"""Arguments that shap's explainers take, and those refused with a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest
import shap
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestRegressor

import boolshap
from boolshap.errors import InputError

X, Y = load_iris(return_X_y=True, as_frame=True)
FOREST = RandomForestRegressor(4, random_state=1).fit(X, Y)
BITS = (X > X.mean()).astype(int)
VOTE = boolshap.compile(lambda rows: rows.sum(axis=1) >= 2, features=list(X.columns))


@pytest.mark.parametrize("model, rows", [(FOREST, X), (VOTE, BITS)], ids=["raw", "bits"])
def test_a_background_has_many_names(model: Any, rows: pandas.DataFrame) -> None:
    expected = boolshap.Explainer(model, rows[:30])(rows).values
    for given in (
        {"masker": rows[:30]},
        {"data": rows[:30]},
        {"masker": shap.maskers.Independent(rows[:30], max_samples=30)},
        {"data": shap.maskers.Independent(rows[:30].to_numpy(), max_samples=30)},
    ):
        assert (boolshap.Explainer(model, **given)(rows).values == expected).all()
    with pytest.raises(InputError, match="background and data are two names"):
        boolshap.Explainer(model, rows[:5], data=rows[:5])
    with pytest.raises(InputError, match="a Partition masker asks for another game"):
        boolshap.Explainer(model, masker=shap.maskers.Partition(rows[:30].to_numpy()))


@pytest.mark.parametrize("model, rows", [(FOREST, X), (VOTE, BITS)], ids=["raw", "bits"])
def test_a_summary_counts_by_its_weights(model: Any, rows: pandas.DataFrame) -> None:
    summary = shap.kmeans(rows, 5)
    found = boolshap.Explainer(model, summary)
    counts = np.rint(summary.weights * len(rows)).astype(int)
    by_hand = boolshap.Explainer(model, np.repeat(summary.data, counts, axis=0))
    assert np.abs(found(rows).values - by_hand(rows).values).max() < 1e-12
    assert found.expected_value == pytest.approx(by_hand.expected_value, abs=1e-12)


@pytest.mark.parametrize("model, rows", [(FOREST, X), (VOTE, BITS)], ids=["raw", "bits"])
def test_names_links_and_outputs(model: Any, rows: pandas.DataFrame) -> None:
    names = ["a", "b", "c", "d"]
    given = rows[:10].to_numpy() if model is FOREST else rows[:10]
    explainer = boolshap.Explainer(model, given, feature_names=names, link=shap.links.identity, output_names=["only"])
    assert explainer(rows.to_numpy()).feature_names == names
    boolshap.Explainer(model, rows[:10], link="identity")
    with pytest.raises(InputError, match="link can only be the identity"):
        boolshap.Explainer(model, rows[:10], link=shap.links.logit)
    with pytest.raises(InputError, match="feature_names gives 1 names"):
        boolshap.Explainer(model, rows[:10], feature_names=["a"])
    with pytest.raises(InputError, match="'probability' is not explained"):
        boolshap.Explainer(model, rows[:10], model_output="probability")


def test_raw_is_the_score() -> None:
    expected = boolshap.Explainer(FOREST, X[:10], model_output="score")(X).values
    assert (boolshap.Explainer(FOREST, X[:10], model_output="raw")(X).values == expected).all()


def test_texts_are_shown_and_numbers_are_data() -> None:
    model = boolshap.Model.from_json(
        '{"format": "boolshap model", "version": 1, "features": ["age", "sea=far", "sea=near"], "classes": null, "schema": '
        '[{"column": "age", "code": {"above": 40.0}}, {"column": "sea", "code": {"categories": ["far", "near"]}}], '
        '"hidden": [], "output": {"step": {"weights": "3 -2 1", "need": "3"}}, "provenance": {}}'
    )
    table = pandas.DataFrame({"age": [20.0, 52.0, 41.0], "sea": ["near", "far", "near"]})
    explanation = boolshap.Explainer(model, players="columns")(table)
    assert explanation.data.tolist() == [[20.0, 1.0], [52.0, 0.0], [41.0, 1.0]]
    assert explanation.display_data.tolist() == [[20.0, "near"], [52.0, "far"], [41.0, "near"]]
    shap.plots.violin(explanation, show=False)
    assert len(explanation.cohorts(2).cohorts) == 2


def test_everything_public_is_listed() -> None:
    listed = dir(boolshap)
    for name in ("Asker", "Binarizer", "BnnClassifier", "Circuit", "Explainer", "Explanation", "Model", "compile", "errors", "load"):
        assert name in listed and getattr(boolshap, name) is not None


def test_sparse_rows() -> None:
    sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed")
    explainer = boolshap.Explainer(VOTE, BITS[:10])
    assert (explainer(sparse.csr_matrix(BITS)).values == explainer(BITS).values).all()
    raw = boolshap.Explainer(FOREST, sparse.csr_matrix(X[:10]))
    assert np.abs(raw(sparse.csr_matrix(X)).values - boolshap.Explainer(FOREST, X[:10])(X).values).max() < 1e-15
