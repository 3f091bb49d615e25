"""The package passes on the library's results: proofs, classes, and errors worded with Python's argument names."""

from __future__ import annotations

import doctest
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Network, all_inputs
from test_sources import safetensors

import boolshap
from boolshap import Circuit, Explainer, Model, _native
from boolshap._functions import inputs_from
from boolshap.errors import BoolshapError, FileError, InputError, LimitError


@pytest.mark.parametrize("public", [Model, Circuit, boolshap.load], ids=lambda public: public.__name__)
def test_examples_of_compiled_classes(public: Any) -> None:
    tests = [test for test in doctest.DocTestFinder().find(public, public.__name__, globs={}) if test.examples]
    assert tests
    for test in tests:
        assert doctest.DocTestRunner().run(test).failed == 0


def facts(circuit: Circuit) -> dict[str, Any]:
    found = json.loads(circuit.provenance)
    assert isinstance(found, dict)
    return found


def test_a_circuit_says_how_it_was_made_and_proved(network: Network, tmp_path: Path) -> None:
    for via in ("truth-table", "partial-sums", "apply", "cnf"):
        plain, proved = (boolshap.compile(network.model(), via=via, verify=verify) for verify in (False, True))
        assert facts(plain)["route"] == via and plain.verified["standing"] == "no"
        assert (proved.verified["standing"], proved.verified["method"]) == ("proved", "exhaustive")
    of_function = boolshap.compile(lambda X: X[:, 0] > 0, features=3, verify=True)
    assert (facts(of_function)["route"], of_function.verified["of"]) == ("truth-table", "table")
    of_function.save(tmp_path / "c.bsc")
    assert facts(boolshap.load(tmp_path / "c.bsc")) == facts(of_function)  # type: ignore[arg-type]
    assert facts(boolshap.compile(network.model(), class_=0))["class"] == 0


def test_a_proof_by_all_inputs_finds_the_one_that_differs() -> None:
    inputs, names = inputs_from(0, 8, 3), ["no", "maybe", "yes"]
    values = (inputs.sum(axis=1) % 3).astype(np.uint8)
    for class_ in (None, 0, 2):
        circuit = boolshap.compile(lambda X: X.sum(axis=1) % 3, features=3, classes=names, class_=class_)
        assert _native.verify_table(circuit, values).verified["method"] == "exhaustive"
        for place in (0, 6):
            wrong = values.copy()
            wrong[place] = 2 - wrong[place]
            entity = "".join(map(str, inputs[place]))
            with pytest.raises(InputError, match=f"differs from its source on {entity}"):
                _native.verify_table(circuit, wrong)
        with pytest.raises(InputError, match="4 inputs have a class"):
            _native.verify_table(circuit, values[:4])


def test_an_imported_network_says_where_it_comes_from(tmp_path: Path) -> None:
    (tmp_path / "n.neuron").write_text("weights: 1 1 -1\nthreshold: 0\n")
    found = json.loads(Model.import_file(tmp_path / "n.neuron").to_json())["provenance"]
    assert (found["kind"], found["source"]) == ("neuron", "n.neuron")
    assert facts(boolshap.compile(tmp_path / "n.neuron"))["source"] == "n.neuron"


def test_each_class_or_the_predicted_one(tmp_path: Path) -> None:
    network = Network(6, [5], seed=2, outputs=3)
    circuit, rows = network.circuit(classes=["low", "middle", "high"]), all_inputs(6)
    each, predicted = Explainer(circuit, class_="each"), Explainer(circuit, class_="predicted")
    assert np.array_equal(each.shap_values(rows), Explainer(circuit).shap_values(rows))
    answers, places = network.predict(rows), np.arange(len(rows))
    explanation = predicted(rows)
    assert np.array_equal(explanation.values, each.shap_values(rows)[places, :, answers])
    assert np.array_equal(explanation.base_values, np.asarray(each.expected_value)[answers])
    assert explanation.values.sum(axis=1) + explanation.base_values == pytest.approx(1)
    assert predicted.output_names is None
    exact, own = predicted.exact(rows[:9]), [each.exact(rows[:9], class_=class_).values for class_ in range(3)]
    assert exact.predictions == answers[:9].tolist()
    assert exact.values == [own[answer][place] for place, answer in enumerate(answers[:9])]
    predicted.save(tmp_path / "predicted")
    assert np.array_equal(Explainer.load(tmp_path / "predicted").shap_values(rows), predicted.shap_values(rows))


def test_files_of_the_first_version_are_read(circuit: Circuit, tmp_path: Path) -> None:
    settings = {
        "format": "boolshap explainer 1", "distribution": "background", "constraint": None, "players": "features",
        "class": None, "threads": None, "input": "auto",
    }  # fmt: skip
    rows = io.BytesIO()
    np.save(rows, all_inputs(6)[::5])
    with zipfile.ZipFile(tmp_path / "old", "w") as archive:
        archive.writestr("settings.json", json.dumps(settings))
        archive.writestr("circuit.bsc", circuit.to_bytes())
        archive.writestr("rows.npy", rows.getvalue())
    expected = Explainer(circuit, all_inputs(6)[::5]).shap_values(all_inputs(6))
    assert np.array_equal(Explainer.load(tmp_path / "old").shap_values(all_inputs(6)), expected)


def test_the_expected_value_under_a_constraint_needs_no_row(network: Network, circuit: Circuit) -> None:
    possible = [row for row in all_inputs(6) if row[0] or row[1]]
    assert Explainer(circuit, constraint=[[1, 2]]).expected_value == pytest.approx(network.predict(possible).mean())


def test_probabilities_of_a_column_add_up_to_1(raw_circuit: Circuit) -> None:
    right = dict(zip(raw_circuit.features, [0.25, 0.5, 0.125, 0.375, 0.75]))
    Explainer(raw_circuit, probabilities=right, players="columns")
    with pytest.raises(InputError, match="the probabilities of the values of 'sea' add up to 3/2, not to 1"):
        Explainer(raw_circuit, probabilities={**right, "sea=far": 1.0}, players="columns")


def test_errors_speak_of_arguments_and_never_of_flags(circuit: Circuit, tmp_path: Path) -> None:
    d4 = tmp_path / "c.ddnnf"
    d4.write_text("o 1 0\nt 2 0\n1 2 1 -2 0\n")
    (tmp_path / "zero" / "out_blk").mkdir(parents=True)
    (tmp_path / "zero" / "out_blk" / "lin_weight.csv").write_text("0,1,1\n")
    (tmp_path / "zero" / "out_blk" / "lin_bias.csv").write_text("0\n")
    ones = np.ones(3, dtype=np.float32)
    normed = {"fc1.weight": np.ones((3, 2), dtype=np.float32), "fc1.bias": ones, "fc2.weight": ones.reshape(1, 3)}
    normed |= {f"bn1.{part}": ones for part in ("weight", "bias", "running_mean", "running_var")}
    (tmp_path / "norm.safetensors").write_bytes(safetensors({**normed, "fc2.bias": ones[:1]}))
    wide = boolshap.compile([(np.ones((1, 30)), [0.5])])
    cases: list[tuple[Any, str]] = [
        (lambda: boolshap.compile(d4), "give features="),
        (lambda: Model.import_file(tmp_path / "zero"), "takes zero_weight=1 or zero_weight=-1"),
        (lambda: Model.import_file(tmp_path / "norm.safetensors"), "takes bn_epsilon="),
        (lambda: Explainer(circuit, distribution="product"), "give probabilities="),
        (lambda: Explainer(wide, np.eye(30), distribution="empirical")(np.eye(30)), 'distribution="background"'),
        (lambda: Explainer(wide, constraint=[list(range(1, 31))])(np.eye(30)), 'players="columns"'),
        (lambda: Explainer(circuit, constraint=[[1]])([[1] * 6, [0] * 6]), "row 1: the constraint does not hold"),
        (lambda: boolshap.compile(Network(5, [3], 1, outputs=3).model(), class_=7), "there is no class 7"),
    ]
    for fails, words in cases:
        with pytest.raises(BoolshapError, match=re.escape(words)) as caught:
            fails()
        assert not re.search(r"(^|\s)--[a-z]", str(caught.value)), caught.value


def test_limits_of_nodes_count_for_files_of_other_programs(tmp_path: Path) -> None:
    (tmp_path / "f.vtree").write_text("vtree 3\nL 0 1\nL 2 2\nI 1 0 2\n")
    (tmp_path / "f.sdd").write_text("sdd 5\nL 1 0 1\nL 2 0 -1\nL 3 2 2\nL 4 2 -2\nD 0 1 2 1 3 2 4\n")
    assert boolshap.compile(tmp_path / "f.sdd", features=["a", "b"]).models == 2
    with pytest.raises(LimitError):
        boolshap.compile(tmp_path / "f.sdd", max_nodes=1)
    with pytest.raises(FileError):
        boolshap.compile(tmp_path / "missing.sdd")
