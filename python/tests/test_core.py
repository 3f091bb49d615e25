"""Models and circuits: files, pickles, equality, predictions, errors."""

from __future__ import annotations

import copy
import json
import pathlib
import pickle

import numpy as np
import pytest
from conftest import RAW_FEATURES, Network, all_inputs

import boolshap
from boolshap import Circuit, Model
from boolshap.errors import BoolshapError, FileError, InputError, LimitError


@pytest.mark.parametrize("seed", range(5))
def test_a_circuit_is_its_network_on_every_input(seed: int) -> None:
    network = Network(7, [6, 4], seed)
    rows = all_inputs(7)
    assert network.model().predict(rows).tolist() == network.predict(rows).tolist()
    assert network.circuit().predict(rows).tolist() == network.predict(rows).tolist()
    assert network.circuit().models == network.predict(rows).sum()


def test_a_circuit_of_several_classes_names_the_class() -> None:
    network = Network(5, [4], seed=1, outputs=3)
    circuit = network.circuit(classes=["low", "middle", "high"])
    assert circuit.classes == ["low", "middle", "high"]
    assert circuit.predict(all_inputs(5)).tolist() == network.predict(all_inputs(5)).tolist()
    assert "5 features, 3 classes" in repr(circuit)


def test_models_and_circuits_survive_files_and_pickles(network: Network, tmp_path: pathlib.Path) -> None:
    model, circuit = network.model(), network.circuit()
    model.save(tmp_path / "model.json")
    circuit.save(str(tmp_path / "circuit.bsc"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["circuit.bsc", "model.json"]
    assert Model.load(tmp_path / "model.json") == model == boolshap.load(tmp_path / "model.json")
    assert Circuit.load(tmp_path / "circuit.bsc") == circuit == boolshap.load(str(tmp_path / "circuit.bsc"))
    for thing in (model, circuit):
        for twin in (pickle.loads(pickle.dumps(thing)), copy.copy(thing), copy.deepcopy(thing)):
            assert twin == thing and hash(twin) == hash(thing)
    assert model != circuit
    assert circuit != Network(6, [5], seed=4).circuit()


def test_what_a_model_and_a_circuit_tell(raw_model: Model, raw_circuit: Circuit) -> None:
    assert raw_model.features == raw_circuit.features == RAW_FEATURES
    assert raw_circuit.raw_columns == ["age", "sea", "open"]
    assert raw_circuit.marginals == [0.25, 0.5, 0.125, 0.375, 0.75]
    assert raw_circuit.classes == []
    assert raw_circuit.nodes > 0 and raw_circuit.edges > 0
    assert isinstance(json.loads(raw_circuit.provenance), dict)
    assert repr(raw_model).startswith("Model(5 features, ")
    assert repr(raw_circuit) == f"Circuit(5 features, {raw_circuit.nodes} nodes)"
    assert json.loads(raw_model.to_json())["features"] == RAW_FEATURES


def test_models_and_circuits_are_not_made_by_hand() -> None:
    for kind in (Model, Circuit):
        with pytest.raises(TypeError, match="comes from"):
            kind()


def test_files_that_are_none_are_refused(circuit: Circuit, tmp_path: pathlib.Path) -> None:
    damaged = tmp_path / "damaged.bsc"
    content = circuit.to_bytes()
    damaged.write_bytes(content[:-5])
    (tmp_path / "text").write_text("nothing of ours")
    for path in (tmp_path / "nowhere", tmp_path, damaged, tmp_path / "text"):
        for read in (boolshap.load, Model.load, Circuit.load):
            with pytest.raises(FileError) as caught:
                read(path)
            assert isinstance(caught.value, OSError) and isinstance(caught.value, BoolshapError)
    for wrong in (b"", content[:-5], b"PK"):
        with pytest.raises(BoolshapError):
            Circuit.from_bytes(wrong)
    with pytest.raises(BoolshapError):
        Model.from_json("{}")
    for save in (circuit.save, Network(3, [2], 0).model().save):
        with pytest.raises(FileError):
            save(tmp_path / "no folder" / "file")


def test_a_file_is_written_whole_or_not_at_all(tmp_path: pathlib.Path) -> None:
    model, target = Network(3, [2], 0).model(), tmp_path / "model.json"
    target.write_text("the old one")
    (tmp_path / "link").symlink_to(target)
    model.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and Model.load(target) == model
    assert len(list(tmp_path.iterdir())) == 2


def test_one_tree_of_errors() -> None:
    assert issubclass(InputError, ValueError) and issubclass(FileError, OSError)
    assert all(issubclass(kind, BoolshapError) for kind in (InputError, FileError, LimitError))


def test_the_estimators_are_found_where_they_are_needed() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        boolshap.Nothing
    assert not {"Binarizer", "BnnClassifier"} & set(boolshap.__all__)


def test_predictions_of_a_model_take_named_tables(raw_model: Model) -> None:
    table = {name: [1] for name in reversed(RAW_FEATURES)}
    assert raw_model.predict(table).tolist() == raw_model.predict(np.ones(5)).tolist() == [1]


def test_a_network_of_another_tool_is_imported(tmp_path: pathlib.Path) -> None:
    """A folder of layers in CSV, with batch normalisation in which epsilon changes the result."""
    for block, files in {
        "blk1": {"lin_weight": "1,-1,1\n1,1,1", "lin_bias": "0,0", "bn_weight": "1,1", "bn_bias": "1,-1"}
        | {"bn_mean": "0,0", "bn_var": "1,0.01"},
        "out_blk": {"lin_weight": "1,1", "lin_bias": "0"},
    }.items():
        (tmp_path / block).mkdir()
        for name, text in files.items():
            (tmp_path / block / f"{name}.csv").write_text(text + "\n")
    names = ["a", "b", "c"]
    found = {}
    for epsilon in (0.0, 9.0):
        model = Model.import_file(tmp_path, features=names, bn_epsilon=epsilon)
        inputs = 2 * all_inputs(3).astype(int) - 1
        first = inputs @ [1, -1, 1] / np.sqrt(1 + epsilon) + 1 >= 0
        second = inputs @ [1, 1, 1] / np.sqrt(0.01 + epsilon) - 1 >= 0
        expected = np.where(first, 1, -1) + np.where(second, 1, -1) >= 0
        found[epsilon] = model.predict(all_inputs(3)).tolist()
        assert found[epsilon] == expected.astype(int).tolist() and model.features == names
    assert found[0.0] != found[9.0]
    with pytest.raises(FileError, match="nowhere"):
        Model.import_file(tmp_path / "nowhere")
