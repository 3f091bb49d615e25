"""Scores against shap and against the definition in fractions, and refusals."""

from __future__ import annotations

import pathlib
import pickle
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas
import pytest
import shap
from conftest import RAW, RAW_BITS, RAW_FEATURES, Network, all_inputs, expectation, judge

from boolshap import Circuit, Explainer, Explanation
from boolshap.errors import BoolshapError, FileError, InputError

INDICES = ["shapley", "banzhaf", "interaction"]


def scores(explainer: Explainer, rows: Any, index: str) -> npt.NDArray[Any]:
    """The float scores of any index, with pairs in the order of the exact scores."""
    if index == "interaction":
        square = explainer.interactions(rows)
        assert (square == square.swapaxes(1, 2)).all() and not np.diagonal(square, axis1=1, axis2=2).any()
        first, second = np.triu_indices(square.shape[1], 1)
        return square[:, first, second]
    return explainer.banzhaf(rows) if index == "banzhaf" else explainer.shap_values(rows)


def check(explainer: Explainer, rows: npt.NDArray[Any], worth_of: Callable[[Any], Any], index: Any) -> None:
    """Compares an explainer's fractions and floats with `judge`."""
    exact = explainer.exact(rows, index=index)
    floats = scores(explainer, rows, index)
    players = len(explainer.players)
    for row, values, base, found in zip(rows, exact.values, exact.base_values, floats):
        expected, empty = judge(worth_of(row), players, index)
        assert values == expected and base == empty
        assert found == pytest.approx([float(score) for score in expected], abs=1e-12)
    assert exact.predictions == explainer.circuit.predict(rows).tolist()


@pytest.mark.parametrize("seed", range(4))
def test_within_1e_9_of_shaps_exact_explainer(seed: int) -> None:
    network = Network(9, [7], seed)
    random = np.random.default_rng(seed)
    background, rows = random.integers(0, 2, (20, 9)), random.integers(0, 2, (5, 9))
    theirs = shap.ExactExplainer(network.predict, shap.maskers.Independent(background, max_samples=20))(rows)
    ours = Explainer(network.circuit(), background)(rows)
    assert np.abs(ours.values - theirs.values).max() < 1e-9
    assert np.abs(ours.base_values - theirs.base_values).max() < 1e-9
    assert isinstance(ours, shap.Explanation)


@pytest.mark.parametrize("index", INDICES)
def test_background_by_definition(network: Network, circuit: Circuit, index: str) -> None:
    random = np.random.default_rng(5)
    background, rows = random.integers(0, 2, (7, 6)), random.integers(0, 2, (3, 6))
    weighted = [(other.tolist(), Fraction(1)) for other in background]
    check(Explainer(circuit, background), rows, lambda row: expectation(network.predict, row, weighted), index)


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("kind", ["uniform", "array", "dict"])
def test_independent_features_by_definition(network: Network, circuit: Circuit, index: str, kind: str) -> None:
    chances = [0.5] * 6 if kind == "uniform" else [0.25, 0.5, 0.125, 1.0, 0.0, 0.1]
    settings: dict[str, Any] = {
        "uniform": {},
        "array": {"probabilities": np.array(chances)},
        "dict": {"distribution": "product", "probabilities": dict(zip(circuit.features, chances))},
    }[kind]
    weighted = []
    for row in all_inputs(6).tolist():
        weight = Fraction(1)
        for bit, chance in zip(row, chances):
            weight *= Fraction(chance) if bit else 1 - Fraction(chance)
        weighted.append((row, weight))
    rows = np.random.default_rng(1).integers(0, 2, (3, 6))
    check(Explainer(circuit, **settings), rows, lambda row: expectation(network.predict, row, weighted), index)


def given_what_is_known(
    network: Network, row: Any, population: list[list[int]]
) -> Callable[[frozenset[int]], Fraction]:
    """The mean label of the rows that agree on the set, or of all rows if none agrees."""

    def worth(those: frozenset[int]) -> Fraction:
        agree = [other for other in population if all(other[i] == row[i] for i in those)] or population
        return Fraction(int(network.predict(agree).sum()), len(agree))

    return worth


def test_empirical_by_definition(network: Network, circuit: Circuit) -> None:
    random = np.random.default_rng(5)
    sample, rows = random.integers(0, 2, (30, 6)), random.integers(0, 2, (3, 6))
    explainer = Explainer(circuit, sample, distribution="empirical")
    check(explainer, rows, lambda row: given_what_is_known(network, row, sample.tolist()), "shapley")


def test_constraints_by_definition_in_all_their_forms(
    network: Network, circuit: Circuit, tmp_path: pathlib.Path
) -> None:
    text = "c of three features\np cnf 6 2\n1 2 0\n-3 -1 0\n"
    (tmp_path / "rules.cnf").write_text(text)
    forms: list[object] = [
        text,
        tmp_path / "rules.cnf",
        str(tmp_path / "rules.cnf"),
        [[1, 2], [-3, -1]],
        [["x1", "x2"], ("-x3", -1)],
    ]
    possible = [row for row in all_inputs(6).tolist() if (row[0] or row[1]) and not (row[2] and row[0])]
    rows = np.array(possible[::9])
    for form in forms:
        explainer = Explainer(circuit, constraint=form)
        check(explainer, rows, lambda row: given_what_is_known(network, row, possible), "shapley")
    assert explainer.expected_value == pytest.approx(network.predict(possible).mean())
    with pytest.raises(InputError, match="row 1|constraint"):
        explainer([possible[0], [0] * 6])


def test_players_of_several_features(network: Network, circuit: Circuit) -> None:
    groups = {"x1": "left", "x2": "right", "x3": "left", "x4": "x4", "x5": "right", "x6": "x6"}
    explainer = Explainer(circuit, players=groups)
    assert explainer.players == ["left", "right", "x4", "x6"]
    members = [[0, 2], [1, 4], [3], [5]]
    weighted = [(row, Fraction(1)) for row in all_inputs(6).tolist()]
    rows = np.array([[1, 1, 1, 0, 1, 0], [0, 1, 1, 1, 0, 1]])

    def worth_of(row: Any) -> Callable[[frozenset[int]], Fraction]:
        of_features = expectation(network.predict, row, weighted)
        return lambda those: of_features(frozenset(feature for player in those for feature in members[player]))

    for index in INDICES:
        check(explainer, rows, worth_of, index)
    # A player of several features shows how many of them are 1.
    assert explainer(rows).data.tolist() == [[2, 2, 0, 0], [1, 1, 1, 1]]


def test_columns_as_players_show_their_values(raw_circuit: Circuit) -> None:
    explainer = Explainer(raw_circuit, distribution="product", players="columns")
    assert explainer.players == ["age", "sea", "open"]
    explanation = explainer(pandas.DataFrame(RAW))
    assert explanation.display_data.tolist() == [list(row) for row in zip(RAW["age"], RAW["sea"], RAW["open"])]
    assert explanation.data[:, 1].tolist() == [2.0, 0.0, 1.0, 0.0], "the places of far, island and near"
    assert explanation.base_values + explanation.values.sum(axis=1) == pytest.approx(raw_circuit.predict(RAW))
    of_bits = explainer(RAW_BITS)
    assert (of_bits.values == explanation.values).all()
    assert of_bits.display_data.tolist() == [[row[0], sea, row[4]] for row, sea in zip(RAW_BITS, RAW["sea"])]
    # By definition: the column takes its three values by their frequencies.
    population = []
    for age, place, opened in np.ndindex(2, 3, 2):
        weight = [Fraction(6, 8), Fraction(2, 8)][age] * [Fraction(4, 8), Fraction(1, 8), Fraction(3, 8)][place]
        sea = [int(place == number) for number in range(3)]
        population.append(([age, *sea, opened], weight * [Fraction(2, 8), Fraction(6, 8)][opened]))
    members = [[0], [1, 2, 3], [4]]

    def worth_of(row: Any) -> Callable[[frozenset[int]], Fraction]:
        of_features = expectation(raw_circuit.predict, row, population)
        return lambda those: of_features(frozenset(feature for player in those for feature in members[player]))

    check(explainer, np.array(RAW_BITS), worth_of, "shapley")
    with pytest.raises(InputError, match="'sea'"):
        explainer([[1, 1, 1, 0, 0]])
    assert explainer.expected_value == pytest.approx(explanation.base_values[0])


def test_raw_rows_show_raw_numbers_and_bits(raw_circuit: Circuit) -> None:
    explanation = Explainer(raw_circuit)(RAW)
    assert list(explanation.feature_names) == RAW_FEATURES
    assert explanation.data.dtype == np.float64
    assert explanation.data[:, 0].tolist() == RAW["age"]
    assert explanation.data[:, 1:].tolist() == [row[1:] for row in RAW_BITS]
    renamed = Explainer(raw_circuit, players={name: name.upper() for name in RAW_FEATURES})(RAW)
    assert (renamed.data == explanation.data).all()


def test_raw_backgrounds(raw_circuit: Circuit) -> None:
    of_raw, of_bits = Explainer(raw_circuit, RAW), Explainer(raw_circuit, RAW_BITS)
    assert (of_raw.shap_values(RAW) == of_bits.shap_values(RAW_BITS)).all()


def test_several_classes(tmp_path: pathlib.Path) -> None:
    network = Network(6, [5], seed=2, outputs=3)
    circuit = network.circuit(classes=["low", "middle", "high"])
    rows, background = all_inputs(6)[::7], all_inputs(6)[::5]
    explainer = Explainer(circuit, background)
    explanation = explainer(rows)
    assert explanation.values.shape == (len(rows), 6, 3) and explanation.base_values.shape == (len(rows), 3)
    assert list(explanation.output_names) == ["low", "middle", "high"]
    labels = np.eye(3)[network.predict(rows)]
    assert explanation.values.sum(axis=1) + explanation.base_values == pytest.approx(labels)
    assert np.asarray(explainer.expected_value) == pytest.approx(explanation.base_values[0])
    assert explainer.interactions(rows).shape == (len(rows), 6, 6, 3)
    assert explanation[:, :, "high"].values.tolist() == explanation.values[:, :, 2].tolist()
    for class_ in (1, "middle", np.int64(1)):
        one = Explainer(circuit, background, class_=class_)
        assert (one(rows).values == explanation.values[:, :, 1]).all()
        assert one.output_names is None
        assert one.exact(rows).values == explainer.exact(rows, class_=class_).values
    theirs = shap.ExactExplainer(lambda X: np.eye(3)[network.predict(X)], shap.maskers.Independent(background))(rows)
    assert np.abs(explanation.values - theirs.values).max() < 1e-9
    for wrong, message in [("huge", "there is no class 'huge'"), (3, "there is no class 3"), (-1, "-1"), (1.0, "1.0"), (True, "True")]:
        with pytest.raises(InputError, match=message):
            Explainer(circuit, class_=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="class_ must name one class"):
        explainer.exact(rows)
    one.save(tmp_path / "one")
    assert (Explainer.load(tmp_path / "one").shap_values(rows) == one.shap_values(rows)).all()


def test_two_classes_are_one_output(network: Network) -> None:
    circuit = network.circuit()
    with pytest.raises(InputError, match="class_ is for circuits of several classes"):
        Explainer(circuit, class_=1)
    with pytest.raises(InputError, match="class_ is for circuits of several classes"):
        Explainer(circuit).exact([0] * 6, class_=1)


def settings_to_keep() -> list[dict[str, Any]]:
    return [
        {},
        {"background": all_inputs(6)[::5]},
        {"background": all_inputs(6)[::5], "distribution": "empirical", "threads": 1},
        {"probabilities": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "input": "bits"},
        {"constraint": [[1, 2]]},
        {"players": {f"x{number}": "odd" if number % 2 else "even" for number in range(1, 7)}},
    ]


def test_explainers_survive_files_and_pickles(circuit: Circuit, tmp_path: pathlib.Path) -> None:
    rows = all_inputs(6)[20:]
    for number, settings in enumerate(settings_to_keep()):
        explainer = Explainer(circuit, **settings)
        path = tmp_path / f"{number}.explainer"
        explainer.save(path)
        for twin in (pickle.loads(pickle.dumps(explainer)), Explainer.load(path), Explainer.load(str(path))):
            assert twin.circuit == circuit and repr(twin) == repr(explainer)
            assert twin(rows).values.tobytes() == explainer(rows).values.tobytes()
            assert twin.exact(rows[:2]) == explainer.exact(rows[:2])
        twin.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_files_that_are_no_explainers_are_refused(circuit: Circuit, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "explainer"
    Explainer(circuit, [[0] * 6]).save(path)
    content = path.read_bytes()
    for wrong in (b"", b"nothing", content[:100], content[:-30], content.replace(b"settings.json", b"sattings.json")):
        path.write_bytes(wrong)
        with pytest.raises(FileError, match="explainer"):
            Explainer.load(path)
    with pytest.raises(FileError):
        Explainer.load(tmp_path / "nowhere")
    with pytest.raises(FileError):
        Explainer(circuit).save(tmp_path / "no folder" / "file")


def test_anything_that_compiles_is_a_source(network: Network, tmp_path: pathlib.Path) -> None:
    rows = all_inputs(6)
    expected = Explainer(network.circuit()).shap_values(rows)
    network.circuit().save(tmp_path / "circuit.bsc")
    network.model().save(tmp_path / "model.json")
    for source in (network.model(), str(tmp_path / "circuit.bsc"), tmp_path / "model.json", network.layers):
        assert Explainer(source).shap_values(rows) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"distribution": "normal"}, "distribution 'normal' is not one of"),
        ({"distribution": "background"}, "'background' needs rows"),
        ({"distribution": "empirical"}, "'empirical' needs rows"),
        ({"distribution": "uniform", "background": [[0] * 6]}, "'uniform' takes no background"),
        ({"distribution": "product", "background": [[0] * 6]}, "'product' takes no background"),
        ({"distribution": "uniform", "probabilities": [0.5] * 6}, "'uniform' takes no probabilities"),
        ({"background": [[0] * 6], "probabilities": [0.5] * 6}, "'background' takes no probabilities"),
        ({"background": [[0] * 6], "constraint": [[1]]}, "constraint goes with the distributions uniform and product"),
        ({"distribution": "product"}, "marginals"),
        ({"background": np.zeros((0, 6))}, "no rows"),
        ({"background": [[0] * 5]}, "background: the rows have 5 columns"),
        ({"background": [[0, 0, 0, 0, 0, 2]]}, "background: column 'x6', row 0: 2 is"),
        ({"probabilities": [0.5] * 5}, r"shape \(5,\), but there are 6 features"),
        ({"probabilities": [0.5] * 5 + [1.5]}, "the probability of 'x6' is 1.5"),
        ({"probabilities": [0.5] * 5 + [np.nan]}, "the probability of 'x6' is nan"),
        ({"probabilities": ["half"] * 6}, "probabilities are not numbers"),
        ({"probabilities": {"x1": 0.5}}, "probabilities: the feature 'x2' is missing"),
        ({"probabilities": {"y": 0.5}}, "probabilities: the feature 'y' is unknown"),
        ({"players": "rows"}, "players 'rows' is not one of features, columns"),
        ({"players": {"x1": "one"}}, "the feature 'x2' has no player"),
        ({"players": {"y": "one"}}, "players names 'y', which is not a feature"),
        ({"players": {f"x{number}": "" for number in range(1, 7)}}, "the player of 'x1' is ''"),
        ({"constraint": [[7]]}, "clause 1: 7 is not a literal of the 6 features"),
        ({"constraint": [[1], [0]]}, "clause 2: 0 is not a literal"),
        ({"constraint": [["y"]]}, "clause 1: 'y' is not a literal"),
        ({"constraint": ["x1"]}, "clause 1: 'x1' is not a list of literals"),
        ({"constraint": 5}, "constraint is 5"),
        ({"constraint": [[1], [-1]]}, "satisf"),
        ({"constraint": "p cnf 6 1\n1 x 0\n"}, "x"),
        ({"constraint": "nowhere.cnf"}, "nowhere.cnf"),
        ({"threads": 0}, "threads is 0"),
        ({"threads": True}, "threads is True"),
        ({"input": "csv", "background": [[0] * 6]}, "input 'csv' is not one of"),
    ],
)
def test_settings_that_make_no_sense_are_named(circuit: Circuit, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BoolshapError, match=message):
        Explainer(circuit, **settings)


def test_rows_that_are_wrong_are_named(circuit: Circuit) -> None:
    explainer = Explainer(circuit)
    for method in (explainer, explainer.shap_values, explainer.banzhaf, explainer.interactions, explainer.exact):
        for rows, message in [
            (np.array([[0, 1, 0, 1, 2, 0]], dtype=np.uint8), "column 'x5', row 0: 2 is"),
            ([[0, 1, 0, 1, np.nan, 0]], "column 'x5', row 0: nan is"),
            ([["0"] * 6], "column 'x1', row 0: '0' is"),
            (np.zeros((3, 0)), "0 columns"),
            ([], "0 columns"),
            (pandas.DataFrame({"x1": [1]}), "no column 'x2'"),
        ]:
            with pytest.raises(ValueError, match=message):
                method(rows)
    with pytest.raises(InputError, match="index 'median' is not one of shapley, banzhaf, interaction"):
        explainer.exact([0] * 6, index="median")  # type: ignore[arg-type]


def test_no_rows_give_no_scores(circuit: Circuit) -> None:
    explainer, none = Explainer(circuit), np.zeros((0, 6), dtype=np.uint8)
    explanation = explainer(none)
    assert explanation.values.shape == (0, 6) and explanation.base_values.shape == (0,)
    assert explainer.banzhaf(none).shape == (0, 6) and explainer.interactions(none).shape == (0, 6, 6)
    assert explainer.exact(none).values == []
    assert explainer.expected_value == pytest.approx(circuit.models / 64)


def test_threads_do_not_change_a_bit(circuit: Circuit) -> None:
    rows = all_inputs(6)
    one, two = (Explainer(circuit, rows[::3], threads=threads).shap_values(rows) for threads in (1, 2))
    assert one.tobytes() == two.tobytes()


def test_without_shap_the_fields_are_the_same(circuit: Circuit, monkeypatch: pytest.MonkeyPatch) -> None:
    explainer, rows = Explainer(circuit), all_inputs(6)[::9]
    theirs = explainer(rows)
    monkeypatch.setitem(sys.modules, "shap", None)
    ours = explainer(rows)
    assert type(ours) is Explanation
    for key in [np.s_[0], np.s_[1:3], np.s_[:, 2], np.s_[1, 2], np.s_[:, "x3"], np.s_[[0, 2]], np.s_[..., 1:3]]:
        for field in ("values", "data"):
            assert np.array_equal(getattr(ours[key], field), getattr(theirs[key], field)), (key, field)
        assert ours[key].shape == theirs[key].shape
    assert ours[2].base_values == theirs[2].base_values and ours[:2].base_values.tolist() == [ours.base_values[0]] * 2
    assert ours[:, 1:3].feature_names == ["x2", "x3"] and ours[0].feature_names == circuit.features
    assert ours[:, "x3"].feature_names == "x3"
    assert ours.abs.mean(0).values.tolist() == theirs.abs.mean(0).values.tolist()
    assert ours.sum(1).values + ours.base_values == pytest.approx(circuit.predict(rows))
    assert ours.max() == theirs.values.max() and len(ours) == len(rows)
    assert repr(ours) == f"Explanation of {len(rows)} rows x 6 players"
    twin = pickle.loads(pickle.dumps(ours))
    assert (twin.values == ours.values).all() and twin.feature_names == ours.feature_names
    for wrong in (np.s_[0, 0, 0], np.s_[99]):
        with pytest.raises(IndexError):
            ours[wrong]
    with pytest.raises(InputError, match="no player 'y'"):
        ours[:, "y"]
    with pytest.raises(IndexError):
        ours.mean(2)


def test_our_own_explanations_of_several_classes() -> None:
    values = np.arange(24.0).reshape(2, 4, 3)
    ours = Explanation(values, np.zeros((2, 3)), np.ones((2, 4)), list("abcd"), ["low", "middle", "high"])
    high = ours[:, :, "high"]
    assert high.shape == (2, 4) and high.base_values is not None and high.base_values.shape == (2,)
    assert high.output_names == "high" and high.data is not None and high.data.shape == (2, 4)
    one = ours[1, "b"]
    assert one.values.tolist() == [15.0, 16.0, 17.0] and one.base_values is not None and one.base_values.shape == (3,)
    assert one.output_names == ["low", "middle", "high"] and one.feature_names == "b"
    assert ours[0].shape == (4, 3) and ours[0, :, 1].values.tolist() == [1.0, 4.0, 7.0, 10.0]
    mean = ours.mean(-1)
    assert isinstance(mean, Explanation) and mean.shape == (2, 4) and mean.output_names is None


def test_nothing_optional_is_imported() -> None:
    code = """
import sys, boolshap
circuit = boolshap.compile([([[1, 1, -1]], [0])])
explainer = boolshap.Explainer(circuit, [[0, 0, 1]])
explainer.shap_values([[1, 0, 1]])
loaded = {"pandas", "polars", "pyarrow", "shap", "sklearn", "torch", "keras", "onnx", "pyspark"} & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_longest_column_owns_a_bit() -> None:
    network = Network(4, [3], seed=0)
    explainer = Explainer(network.circuit(features=["a=1", "a=2=3", "b", "c=only"]), players="columns")
    assert explainer.players == ["a", "b", "c=only"]
    explanation = explainer([[1, 0, 1, 1], [0, 1, 0, 0]])
    assert explanation.display_data.tolist() == [["1", 1, 1], ["2=3", 0, 0]]


def test_the_repr_says_what_it_is(circuit: Circuit) -> None:
    explainer = Explainer(circuit, [[0] * 6, [1] * 6])
    assert repr(explainer) == f"Explainer({circuit!r}, background of 2 rows, 6 players)"
    assert explainer.distribution == "background" and explainer.circuit is circuit
