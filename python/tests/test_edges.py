"""Past silent errors: classes, forests, searches, records, forks, and numbers too long for Python."""

from __future__ import annotations

import multiprocessing
import pickle
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Network, all_inputs
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import boolshap
from boolshap import BnnClassifier, Explainer, Model
from boolshap.errors import InputError


def test_class_0_is_a_class(tmp_path: Path) -> None:
    circuit = Network(4, [3], seed=1).circuit()
    circuit.save(tmp_path / "c.bsc")
    formula = tmp_path / "f.cnf"
    formula.write_text("p cnf 3 1\n1 2 0\n")
    for source in (circuit, tmp_path / "c.bsc", formula):
        with pytest.raises(InputError, match="class_=0 has no meaning|class_ is for networks: .*f.cnf is a formula"):
            boolshap.compile(source, class_=0)
    with pytest.raises(InputError, match="features is 5, but .*f.cnf has 3 variables"):
        boolshap.compile(formula, features=5)
    model = Network(4, [3], seed=1).model()
    opposite = boolshap.compile(model, class_=0)
    assert np.array_equal(opposite.predict(all_inputs(4)), 1 - circuit.predict(all_inputs(4)))


def test_a_forest_of_two_classes_is_all_its_trees() -> None:
    random = np.random.default_rng(3)
    rows = random.integers(0, 2, size=(300, 30), dtype=np.uint8)
    forest = RandomForestClassifier(9, max_depth=4, random_state=1).fit(rows, rows[:, :9].sum(axis=1) > 4)
    circuit = boolshap.compile(forest, class_=1)
    tried = random.integers(0, 2, size=(2000, 30), dtype=np.uint8)
    assert np.array_equal(circuit.predict(tried), forest.predict(tried))
    assert not np.array_equal(forest.predict(tried), forest.estimators_[0].predict(tried))
    opposite = boolshap.compile(forest, class_=0)
    assert np.array_equal(opposite.predict(tried), ~forest.predict(tried))


def test_a_search_stands_for_what_it_found() -> None:
    random = np.random.default_rng(4)
    rows = random.normal(50, 20, size=(200, 5))
    search = GridSearchCV(BnnClassifier(epochs=5), {"hidden": [(3,), (4,)]}, cv=2).fit(rows, rows[:, 0] > 50)
    best = search.best_estimator_
    assert best.thresholds_ is not None
    circuit = boolshap.compile(search)
    assert np.array_equal(circuit.predict(best.bits(rows), input="bits"), best.predict(rows))
    assert np.array_equal(circuit.predict(rows), best.predict(rows)), "other values than 0 and 1 are raw"


def test_many_classes_do_not_wrap_round() -> None:
    bits = np.array([[number >> bit & 1 for bit in range(9)] for number in range(300)])
    with pytest.raises(InputError, match="has 300 classes, more than 256"):
        boolshap.compile(LogisticRegression(max_iter=5).fit(bits, np.arange(300)))


def test_packed_records_are_read_field_by_field() -> None:
    random = np.random.default_rng(5)
    rows = np.column_stack([random.normal(50, 20, 200), random.normal(5, 2, 200)])
    classifier = BnnClassifier(hidden=(3,), epochs=5).fit(rows, rows[:, 0] > 50)
    circuit = boolshap.compile(classifier)
    names = circuit.raw_columns
    assert names is not None
    # The rows are packed, so the distance between numbers is not a multiple of eight bytes.
    record = np.zeros(len(rows), dtype=[("open", "?"), (names[0], "f8"), (names[1], "f4")])
    record[names[0]], record[names[1]] = rows[:, 0], rows[:, 1]
    plain = {names[0]: record[names[0]].copy(), names[1]: record[names[1]].astype("f8")}
    assert np.array_equal(circuit.binarise(record), circuit.binarise(plain))


def test_unknown_tables_are_not_read_by_position() -> None:
    class Frame:
        columns = ["b", "a"]

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.zeros((1, 2), dtype=dtype)

    explainer = Explainer(boolshap.compile(lambda X: X[:, 0] > 0, features=["a", "b"]))
    with pytest.raises(InputError, match="Frame are not read"):
        explainer(Frame())


def test_a_forked_process_has_threads_of_its_own() -> None:
    circuit = Network(10, [6], seed=2).circuit()
    explainer, rows = Explainer(circuit), all_inputs(10)
    expected = explainer.shap_values(rows)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found = pool.apply_async(explainer.shap_values, (rows,)).get(timeout=120)
    assert np.array_equal(found, expected)


def test_rows_that_change_later_change_nothing() -> None:
    circuit, rows = Network(6, [4], seed=3).circuit(), all_inputs(6)
    background, probabilities = rows[:10].copy(), np.full(6, 0.25)
    explainers = [Explainer(circuit, background), Explainer(circuit, probabilities=probabilities)]
    before = [explainer(rows).values for explainer in explainers]
    background[:], probabilities[:] = 1, 0.5
    for explainer, expected in zip(explainers, before):
        assert np.array_equal(pickle.loads(pickle.dumps(explainer))(rows).values, expected)


def test_long_fractions_and_counts_arrive() -> None:
    features = 320
    every_one = boolshap.compile([(np.ones((1, features)), [0.5 - features])])
    explainer = Explainer(every_one, probabilities=[0.1] * features)
    exact = explainer.exact(np.zeros((1, features), dtype=np.uint8))
    assert exact.base_values[0].denominator > 10**4300
    assert exact.base_values[0] + sum(exact.values[0]) == 0


@pytest.mark.parametrize("third", [Fraction(1, 3), Decimal("0.1")])
def test_probabilities_that_are_no_floats_are_refused(third: object) -> None:
    circuit = Network(3, [], seed=1).circuit()
    with pytest.raises(InputError, match="which no float is"):
        Explainer(circuit, probabilities=[third] * 3)
    half = Explainer(circuit, probabilities=[Fraction(1, 2)] * 3)
    assert half.exact([[0, 1, 0]]).base_values == Explainer(circuit).exact([[0, 1, 0]]).base_values


def test_the_sign_of_a_zero_weight_is_a_sign(tmp_path: Path) -> None:
    (tmp_path / "n.neuron").write_text("weights: 1 1 -1\nthreshold: 0\n")
    with pytest.raises(InputError, match="zero_weight is 0, not -1 or 1"):
        Model.import_file(tmp_path / "n.neuron", zero_weight=0)
