"""Boosters of XGBoost and LightGBM on the command line: scores compared with the libraries' own predictions on every
mixture of a row with the background."""

import csv
import itertools
import math
from fractions import Fraction

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost

NAMES = ["age", "income", "rate", "debt"]


def some_data(seed, rows=300):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 4)), columns=NAMES)
    frame.loc[::13, "rate"] = np.nan
    return rng, frame


def trained(kind, folder):
    """A booster in a file, and a function that returns its numbers before the last step."""
    rng, frame = some_data(3)
    target = frame.age - frame.income * frame.debt + frame.rate.fillna(2)
    classes = pd.qcut(target, 3, labels=False)
    if kind.startswith("xgboost"):
        settings = {"n_estimators": 8, "max_depth": 3, "base_score": 0.5}
        made = {
            "xgboost": lambda: xgboost.XGBRegressor(**settings).fit(frame, target),
            "xgboost two": lambda: xgboost.XGBClassifier(**settings).fit(frame, target > 0),
            "xgboost three": lambda: xgboost.XGBClassifier(**settings).fit(frame, classes),
        }[kind]()
        made.get_booster().save_model(folder / "m.json")
        return "m.json", lambda rows: made.predict(pd.DataFrame(rows, columns=NAMES), output_margin=True).reshape(len(rows), -1)
    settings = {"n_estimators": 8, "verbose": -1, "min_child_samples": 5}
    made = {
        "lightgbm": lambda: lightgbm.LGBMRegressor(**settings).fit(frame, target),
        "lightgbm three": lambda: lightgbm.LGBMClassifier(**settings).fit(frame, classes),
    }[kind]()
    made.booster_.save_model(folder / "m.txt")
    return "m.txt", lambda rows: made.booster_.predict(pd.DataFrame(rows, columns=NAMES), raw_score=True).reshape(len(rows), -1)


def values(numbers, row, background):
    """For every set of columns the mean number when they come from the row and the others from the background."""
    found = {}
    for size in range(5):
        for chosen in itertools.combinations(range(4), size):
            mixed = background.copy()
            mixed[:, chosen] = row[list(chosen)]
            found[chosen] = numbers(mixed).astype(float).mean(axis=0)
    return found


def shapley(found):
    scores = []
    for player in range(4):
        total = 0
        for chosen in (chosen for chosen in found if player not in chosen):
            weight = math.factorial(len(chosen)) * math.factorial(3 - len(chosen)) / math.factorial(4)
            total = total + weight * (found[tuple(sorted((*chosen, player)))] - found[chosen])
        scores.append(total)
    return np.array(scores)


@pytest.mark.parametrize("kind", ["xgboost", "xgboost two", "xgboost three", "lightgbm", "lightgbm three"])
def test_scores_are_those_of_all_mixtures(boolshap, kind):
    folder = boolshap.folder
    file, numbers = trained(kind, folder)
    _, frame = some_data(8, 40)
    frame.to_csv(folder / "rows.csv", index=False)
    frame[20:].to_csv(folder / "background.csv", index=False)
    boolshap("explain", file, "rows.csv", "--distribution", "background:background.csv", "-o", "s.csv")
    boolshap("predict", file, "rows.csv", "-o", "p.csv")
    rows, background = frame.to_numpy(), frame[20:].to_numpy()
    expected = numbers(rows)
    outputs = expected.shape[1]
    # XGBoost sums in single precision.
    error = 1e-5 if kind.startswith("xgboost") else 1e-9
    with open(folder / "s.csv") as lines:
        written = list(csv.DictReader(lines))
    for place in range(0, 40, 7):
        found = values(numbers, rows[place], background)
        scores = shapley(found)
        for output in range(outputs):
            end = f":{output}" if outputs > 1 else ""
            line = {name: float(written[place][name + end]) for name in ["prediction", "base_value", *NAMES]}
            assert line["prediction"] == pytest.approx(expected[place][output], abs=error)
            assert line["base_value"] == pytest.approx(found[()][output], abs=error)
            np.testing.assert_allclose([line[name] for name in NAMES], scores[:, output], atol=error)
    predicted = np.array((folder / "p.csv").read_text().split()[1:], dtype=float)
    if kind in ("xgboost", "lightgbm"):
        np.testing.assert_allclose(predicted, expected[:, 0], atol=error)
    else:
        np.testing.assert_array_equal(predicted, expected.argmax(axis=1) if outputs > 1 else expected[:, 0] > 0)


def test_fractions_labels_and_kept_columns(boolshap):
    folder = boolshap.folder
    file, numbers = trained("xgboost two", folder)
    _, frame = some_data(8, 30)
    frame.insert(0, "id", range(30))
    frame.to_csv(folder / "rows.csv", index=False)
    options = ["--distribution", "background:rows.csv", "--keep", "id"]
    boolshap("explain", file, "rows.csv", *options, "-o", "floats.csv")
    printed = boolshap.json("explain", file, "rows.csv", *options, "-o", "exact.csv", "--exact")
    assert (printed["rows"], printed["error_bound"]) == (30, 0)
    floats, exact = pd.read_csv(folder / "floats.csv"), pd.read_csv(folder / "exact.csv")
    assert list(floats) == list(exact) == ["id", "prediction", "base_value", *NAMES]
    for name in ["prediction", "base_value", *NAMES]:
        np.testing.assert_allclose(floats[name], [float(Fraction(text)) for text in exact[name].astype(str)], atol=1e-12)
    for _, line in exact.astype(str).iterrows():
        assert Fraction(line["prediction"]) == sum(Fraction(line[name]) for name in ["base_value", *NAMES])
    boolshap("explain", file, "rows.csv", *options, "-o", "labels.csv", "--model-output", "label")
    labels = pd.read_csv(folder / "labels.csv")
    np.testing.assert_array_equal(labels["prediction"], numbers(frame[NAMES].to_numpy())[:, 0] > 0)
    np.testing.assert_allclose(labels[["base_value", *NAMES]].sum(axis=1), labels["prediction"], atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["explain", "m.json", "rows.csv"], "--distribution of a model on raw columns is background:FILE"),
        (["explain", "m.json", "bad.csv", "--distribution", "background:rows.csv"], "bad.csv, row 2, column 'rate': 'low' is not a finite number"),
        (["explain", "m.json", "rows.csv", "--distribution", "background:bad.csv"], "bad.csv, row 2, column 'rate': 'low' is not a finite number"),
        (["explain", "m.json", "short.csv", "--distribution", "background:rows.csv"], "'debt'"),
        (["explain", "m.json", "rows.csv", "--distribution", "background:rows.csv", "--engine", "brute-force"], "--engine is for circuits"),
        (["predict", "m.json", "bad.csv", "-o", "p.csv"], "row 2, column 'rate'"),
        (["compile", "m.json", "-o", "c"], "XGBoost"),
    ],
)  # fmt: skip
def test_refusals_name_what_and_where(boolshap, arguments, words):
    folder = boolshap.folder
    trained("xgboost", folder)
    (folder / "rows.csv").write_text("age,income,rate,debt\n1,2,3,4\n")
    (folder / "bad.csv").write_text("age,income,rate,debt\n1,2,3,4\n1,2,low,4\n")
    (folder / "short.csv").write_text("age,income,rate\n1,2,3\n")
    assert words in boolshap(*arguments, code=2 if words.startswith("--") else 1).stderr
    assert not (folder / "p.csv").exists() and not (folder / "c").exists()
