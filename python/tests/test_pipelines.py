"""Pipelines end to end: scores of raw columns, compared with the definition on the pipeline itself."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier
from test_raw import brute_force

import boolshap
from boolshap.errors import InputError


def houses(rows: int = 120) -> tuple[pandas.DataFrame, Any]:
    random = np.random.default_rng(7)
    table = pandas.DataFrame({
        "rooms": random.integers(1, 9, rows),
        "age": random.normal(40, 15, rows).round(1),
        "place": random.choice(["sea", "town", "hill"], rows),
        "garden": random.integers(0, 2, rows),
    })
    score = table["rooms"] + 3 * (table["place"] == "sea") - 0.05 * table["age"] + table["garden"] + random.normal(size=rows)
    return table, (score > score.median()).astype(int)


def frames(mixed: Any, like: pandas.DataFrame) -> pandas.DataFrame:
    return pandas.DataFrame(mixed, columns=like.columns).astype(like.dtypes.to_dict())


def encoded() -> Any:
    return make_column_transformer(
        (KBinsDiscretizer(3, encode="onehot"), ["rooms"]),
        (OneHotEncoder(sparse_output=False), ["place"]),
        (Binarizer(threshold=40), ["age"]),
        remainder="passthrough",
    )


BIT_PIPELINES = {
    "a network behind a Binarizer": lambda: make_pipeline(boolshap.Binarizer("median"), boolshap.BnnClassifier(hidden=(3,), epochs=5)),
    "a tree behind encoders": lambda: make_pipeline(encoded(), DecisionTreeClassifier(max_depth=4, random_state=1)),
    "a regression behind encoders": lambda: make_pipeline(encoded(), LogisticRegression()),
    "a network behind encoders": lambda: make_pipeline(encoded(), boolshap.BnnClassifier(hidden=(2,), epochs=5)),
}


@pytest.mark.parametrize("name", BIT_PIPELINES)
def test_labels_behind_bits(name: str) -> None:
    X, y = houses()
    pipeline = BIT_PIPELINES[name]().fit(X, y)
    background, rows = X[:12], X[40:44]
    explainer = boolshap.Explainer(pipeline, background)
    assert set(explainer.players) == set(X.columns)
    found = explainer(rows)
    for place in range(len(rows)):
        number = lambda mixed: np.asarray(pipeline.predict(frames(mixed, X)), dtype=float)[:, None]  # noqa: E731
        scores, base = brute_force(number, rows.to_numpy(dtype=object)[place], background.to_numpy(dtype=object))
        order = [list(X.columns).index(player) for player in explainer.players]
        assert np.abs(found.values[place] - scores[order, 0]).max() < 1e-9
        assert abs(found.base_values[place] - base[0]) < 1e-9
    # Raw values are kept: texts for display, numbers for colours.
    assert found.data.dtype.kind == "f"
    place = explainer.players.index("place")
    assert found.display_data[:, place].tolist() == rows["place"].tolist()
    again = pickle.loads(pickle.dumps(explainer))
    assert (again(rows).values == found.values).all()


RAW_PIPELINES = {
    "scaled trees": lambda: make_pipeline(
        ColumnTransformer([("n", StandardScaler(), ["age", "rooms"]), ("c", OrdinalEncoder(), ["place"])], remainder="passthrough"),
        RandomForestClassifier(5, max_depth=4, random_state=1),
    ),
    "boosting behind one-hot": lambda: make_pipeline(
        ColumnTransformer([("c", OneHotEncoder(), ["place"]), ("n", make_pipeline(SimpleImputer(), MinMaxScaler()), ["age"])],
                          remainder="drop"),
        GradientBoostingClassifier(n_estimators=5, random_state=1),
    ),
    "a scaled regression": lambda: make_pipeline(
        make_column_transformer((StandardScaler(), ["age", "rooms"]), (OneHotEncoder(), ["place"])), LogisticRegression()
    ),
    "chosen columns": lambda: make_pipeline(
        make_column_transformer((FeatureUnion([("a", StandardScaler()), ("b", KBinsDiscretizer(3, encode="ordinal"))]), ["age", "rooms"])),
        SelectKBest(k=3),
        RandomForestClassifier(5, max_depth=3, random_state=1),
    ),
}


@pytest.mark.parametrize("name", RAW_PIPELINES)
def test_scores_behind_scaling(name: str) -> None:
    X, y = houses()
    pipeline = RAW_PIPELINES[name]().fit(X, y)
    background, rows = X[:12], X[40:43]
    explainer = boolshap.Explainer(pipeline, background)
    found = explainer(rows)
    method = pipeline.decision_function if hasattr(pipeline, "decision_function") else pipeline.predict_proba
    for place in range(len(rows)):
        number = lambda mixed: np.asarray(method(frames(mixed, X)), dtype=float).reshape(len(mixed), -1)  # noqa: E731
        scores, _ = brute_force(number, rows.to_numpy(dtype=object)[place], background.to_numpy(dtype=object))
        for player, name_ in enumerate(X.columns):
            own = found.values[place, explainer.players.index(name_)] if name_ in explainer.players else 0.0
            assert np.abs(own - scores[player].reshape(np.shape(own) or (-1,))).max() < 1e-9
    again = pickle.loads(pickle.dumps(explainer))
    assert (again(rows).values == found.values).all()


def test_arrays_without_names() -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=(80, 3))
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3, random_state=1)).fit(X, X[:, 0] > 0.2)
    explainer = boolshap.Explainer(pipeline, X[:10], model_output="label")
    assert explainer.players == ["x1", "x2", "x3"]
    found = explainer(X)
    assert np.abs(found.base_values + found.values.sum(axis=1) - pipeline.predict(X)).max() < 1e-12
    assert (found.data == X).all()


def test_what_is_refused(tmp_path: Path) -> None:
    X, y = houses()
    numbers = X[["age", "rooms", "garden"]]
    mixing = make_pipeline(PCA(2), DecisionTreeClassifier()).fit(numbers, y)
    with pytest.raises(InputError, match="PCA is not known to make every column of one column"):
        boolshap.Explainer(mixing, numbers[:10])
    pipeline = BIT_PIPELINES["a tree behind encoders"]().fit(X, y)
    with pytest.raises(InputError, match="background rows have to be given"):
        boolshap.Explainer(pipeline)
    with pytest.raises(InputError, match="pickle the explainer"):
        boolshap.Explainer(pipeline, X[:10]).save(tmp_path / "it")
    with pytest.raises(InputError, match=r"boolshap.Explainer\(pipeline, rows\)"):
        boolshap.compile(pipeline)


def test_a_step_that_is_not_what_it_says_is_found_out() -> None:
    X, y = houses()
    numbers = X[["age", "rooms"]].to_numpy(dtype=float)

    class StandardScaler(FunctionTransformer):  # type: ignore[misc]
        """Has the name of a step that keeps columns separate, but mixes them."""

    mixing = make_pipeline(StandardScaler(lambda X: X @ np.array([[1.0, 1.0], [0.0, 1.0]])), DecisionTreeClassifier())
    mixing.fit(numbers, y)
    with pytest.raises(InputError, match="a step mixes the column 'x1' with others"):
        boolshap.Explainer(mixing, numbers[:10])


def test_players_of_several_columns() -> None:
    X, y = houses()
    pipeline = BIT_PIPELINES["a tree behind encoders"]().fit(X, y)
    owners = {"rooms": "house", "age": "house", "garden": "house", "place": "place"}
    explainer = boolshap.Explainer(pipeline, X[:20], players=owners)
    assert sorted(explainer.players) == ["house", "place"]
    found = explainer(X)
    assert np.abs(found.base_values + found.values.sum(axis=1) - pipeline.predict(X)).max() < 1e-9
