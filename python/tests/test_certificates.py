"""Certificates through the package: questions write files that prove their answers with the model alone, the same files
as from the command line. Networks that are too large for a circuit are compared with the definition on the inputs that
matter."""

import hashlib
import itertools
import json
import pickle

import pytest
from test_one_door import BINARY, FEATURES, MODEL, ROWS, command
from test_one_door_ask import OTHER, write

import boolshap
from boolshap.errors import InputError

#: A network of 44 inputs; the last 38 have weight 0.
USED, WIDTH = 6, 44
LARGE = {
    "format": "boolshap model", "version": 1, "classes": None, "marginals": None, "provenance": {}, "schema": None,
    "features": [f"f{i}" for i in range(WIDTH)],
    "hidden": [[
        {"weights": " ".join(map(str, weights + [0] * (WIDTH - USED))), "need": need}
        for weights, need in (([1, 1, -1, 1, 0, 0], "3"), ([0, -1, 1, 1, 1, -1], "3"), ([1, 0, 1, -1, 1, 1], "3"))
    ]],
    "output": {"step": {"weights": "1 1 -1", "need": "2"}},
}  # fmt: skip


def fires(neuron, bits):
    """Whether the inputs that have their weight's sign weigh at least the neuron's `need`."""
    weights = map(int, neuron["weights"].split())
    return sum(abs(weight) for weight, bit in zip(weights, bits) if bit == (weight > 0)) >= int(neuron["need"])


def decided(bits):
    """The large network's decision from its first inputs."""
    return int(fires(LARGE["output"]["step"], [fires(neuron, bits) for neuron in LARGE["hidden"][0]]))


@pytest.fixture(scope="module")
def model():
    return boolshap.Model.from_json(json.dumps(MODEL))


@pytest.fixture(scope="module")
def large():
    return boolshap.Model.from_json(json.dumps(LARGE))


QUESTIONS = [
    ("reasons", {"all": True}), ("reasons", {"share": 0.75}), ("contrasts", {"minimum": True}), ("attribution", {}),
    ("counterfactuals", {"freeze": ["old"]}), ("robustness", {"radius": 2}), ("bias", {"protected": ["old"]}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "settings"), QUESTIONS, ids=[method for method, _ in QUESTIONS])
def test_every_answer_is_certified_and_checked(model, tmp_path, method, settings):
    circuit = boolshap.compile(model)
    answers = getattr(boolshap.Asker(circuit, model=model, certificates=tmp_path), method)(ROWS, **settings)
    names = [name for name in answers.certificates if name.split("-")[-1].removesuffix(".json").isdigit()]
    assert len(names) == len(ROWS)
    for name, digest in answers.certificates.items():
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == digest
    checked = boolshap.check(tmp_path, model)
    assert len(checked) == len(answers.certificates) and all(one.valid and one.reason is None for one in checked)
    other = boolshap.check(tmp_path, boolshap.Model.from_json(json.dumps(OTHER)))
    assert all(not one.valid and one.reason for one in other)
    changed = tmp_path / names[0]
    content = changed.read_text()
    label = int(content.split('"label": ')[1][0])
    changed.write_text(content.replace(f'"label": {label}', f'"label": {(label + 1) % 3}'))
    [refused] = boolshap.check(changed, model)
    assert not refused.valid


def test_a_model_is_certified_by_itself_and_two_are_compared(model, tmp_path):
    other = boolshap.Model.from_json(json.dumps(OTHER))
    asker = boolshap.Asker(model, certificates=tmp_path)
    assert asker.difference(other, ROWS).inputs > 0
    assert asker.properties()["old"].used
    assert sorted(path.name for path in tmp_path.iterdir()) == ["difference.json", "properties.json"]
    assert all(one.valid for one in boolshap.check([tmp_path / "difference.json", tmp_path / "properties.json"], model))
    with pytest.raises(InputError, match="there is no certificate in this folder"):
        empty = tmp_path / "empty"
        empty.mkdir()
        boolshap.check(empty, model)


@pytest.mark.skipif(BINARY is None, reason="BOOLSHAP_BINARY does not name the command line")
def test_the_command_line_writes_the_same_certificates(model, tmp_path):
    (tmp_path / "model.json").write_text(model.to_json())
    write(tmp_path / "rows.csv", FEATURES, ROWS)
    done = command(tmp_path, "ask", "reason", "model.json", "rows.csv", "--all", "--certificate", "theirs", "--json")
    assert done.returncode == 0, done.stderr
    said = {file["file"]: file["sha256"] for row in json.loads(done.stdout)["rows"] for file in row["certificates"]}
    answers = boolshap.Asker(model, certificates=tmp_path / "ours").reasons(ROWS, all=True)
    assert answers.certificates == said
    (tmp_path / "large.json").write_text(json.dumps(LARGE))
    write(tmp_path / "wide.csv", LARGE["features"], [[1, 0] * (WIDTH // 2)])
    done = command(tmp_path, "ask", "robustness", "large.json", "wide.csv", "--certificate", "wide", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    wide = boolshap.Asker(boolshap.load(tmp_path / "large.json"), certificates=tmp_path / "own")
    found = wide.robustness([[1, 0] * (WIDTH // 2)])
    assert found[0].radius == answer["rows"][0]["radius"] and found.overall["mean_radius"] == answer["mean_radius"]
    assert found.certificates == {file["file"]: file["sha256"] for file in answer["rows"][0]["certificates"]}


def test_a_network_without_a_circuit_is_asked_by_its_clauses(large, tmp_path):
    asker = boolshap.Asker(large, certificates=tmp_path)
    rows = list(itertools.product([0, 1], repeat=USED))[5::11]
    wide = [[*row, *([1] * (WIDTH - USED))] for row in rows]
    everything = list(itertools.product([0, 1], repeat=USED))
    radii, reasons = asker.robustness(wide), asker.reasons(wide, minimum=True)
    biased = asker.bias(wide, protected=["f1", "f40"])
    for row, radius, reason, bias in zip(rows, radii, reasons, biased):
        label = decided(row)
        far = [sum(a != b for a, b in zip(row, other)) for other in everything if decided(other) != label]
        assert (radius.prediction, radius.radius, radius.undecided) == (label, min(far), None)
        suffices = lambda those: all(
            decided(other) == label for other in everything if all(other[i] == row[i] for i in those)
        )
        least = next(
            size for size in range(USED + 1) if any(map(suffices, itertools.combinations(range(USED), size)))
        )
        [smallest] = reason.reasons
        assert len(smallest) == least and suffices([int(name[1:]) for name in smallest]) and reason.count is None
        flipped = [1 - bit if place == 1 else bit for place, bit in enumerate(row)]
        assert bias.biased == (decided(flipped) != label) and (bias.other is None) != bias.biased
    assert asker.bias(protected=["f40"]).overall["classifier_biased"] is False
    assert all(one.valid for one in boolshap.check(tmp_path, large))
    assert repr(pickle.loads(pickle.dumps(asker))) == repr(asker)
    with pytest.raises(InputError, match="asked without a circuit"):
        asker.circuit  # noqa: B018
    with pytest.raises(InputError, match="asked by SAT for one reason"):
        asker.reasons(wide, all=True)
