"""Questions through the package: answers against the definitions over all inputs, and how answers are displayed."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest
from conftest import RAW, Network, all_inputs

import boolshap
from boolshap.errors import InputError, LimitError

INPUTS = 5


@pytest.fixture(scope="module")
def network():
    return Network(INPUTS, [4], seed=5)


@pytest.fixture(scope="module")
def asker(network):
    return boolshap.Asker(network.circuit([f"f{i}" for i in range(INPUTS)]))


def minimal(sets):
    return [one for one in sets if not any(other < one for other in sets)]


def subsets():
    return [frozenset(s) for size in range(INPUTS + 1) for s in itertools.combinations(range(INPUTS), size)]


def test_reasons_are_those_of_the_definition(network, asker):
    inputs = all_inputs(INPUTS)
    labels = network.predict(inputs)
    assert 0 < labels.sum() < len(labels)
    sufficient, contrastive = asker.reasons(inputs, all=True), asker.contrasts(inputs, all=True)
    parts = asker.attribution(inputs)
    for row, (bits, label) in enumerate(zip(inputs, labels)):
        agrees = lambda those: (inputs[:, sorted(those)] == bits[sorted(those)]).all(axis=1)
        suffices = lambda those: bool((labels[agrees(those)] == label).all())
        reasons = minimal([those for those in subsets() if suffices(those)])
        contrasts = minimal([those for those in subsets() if not suffices(frozenset(range(INPUTS)) - those)])
        named = lambda sets: sorted([f"f{i}" for i in sorted(those)] for those in sets)
        assert (sufficient[row].row, sufficient[row].prediction) == (row, label)
        assert sorted(sufficient[row].reasons) == named(reasons) and sufficient[row].complete
        assert sorted(contrastive[row].reasons) == named(contrasts) and contrastive[row].count == len(contrasts)
        for feature, part in enumerate(parts[row].players):
            inside = sum(feature in those for those in reasons)
            assert part.share == Fraction(inside, len(reasons))
            assert (part.relevant, part.necessary) == (inside > 0, inside == len(reasons))


def test_the_nearest_are_those_of_the_definition(network, asker):
    inputs = all_inputs(INPUTS)
    labels = network.predict(inputs)
    found, safe = asker.counterfactuals(inputs), asker.robustness(inputs, radius=INPUTS)
    costs = np.array([1, 2, 0.5, 3, 1])
    priced = asker.counterfactuals(inputs, costs={f"f{i}": cost for i, cost in enumerate(costs)}, freeze="f0")
    for row, (bits, label) in enumerate(zip(inputs, labels)):
        others = inputs[labels != label]
        distances = (others != bits).sum(axis=1)
        assert found[row].distance == safe[row].radius == distances.min()
        nearest = {tuple(other) for other in others[distances == distances.min()].tolist()}
        assert {tuple(one.bits) for one in found[row].counterfactuals} == nearest
        assert found[row].count == len(nearest)
        counted = [int((distances == distance).sum()) for distance in range(INPUTS + 1)]
        assert safe[row].others == counted
        free = others[others[:, 0] == bits[0]]
        dearest = ((free != bits) * costs).sum(axis=1)
        assert priced[row].distance == (dearest.min() if len(free) else None)
    assert safe.overall["mean_radius_of_inputs"] == Fraction(sum(one.radius or 0 for one in safe), len(inputs))


def test_bias_is_that_of_the_definition(network, asker):
    inputs = all_inputs(INPUTS)
    labels = network.predict(inputs)
    answers = asker.bias(inputs, protected=["f1", "f3"])
    keys = [tuple(bits[[0, 2, 4]]) for bits in inputs]
    biased = [any(other != label for other, key in zip(labels, keys) if key == own) for own, label in zip(keys, labels)]
    assert [answer.biased for answer in answers] == biased
    assert answers.overall["inputs"] == answers.overall["biased_rows"] == sum(biased)
    one, two = np.array(answers.overall["witness"])
    assert (one[[0, 2, 4]] == two[[0, 2, 4]]).all() and len(set(network.predict([one, two]))) == 2


def test_rows_come_in_any_form_and_values_are_told_as_people_know_them(raw_circuit):
    import pandas

    asker = boolshap.Asker(raw_circuit, players="columns")
    frame = pandas.DataFrame(RAW)
    answers = asker.counterfactuals(frame, limit=1)
    assert answers.to_frame().to_dict() == asker.counterfactuals(RAW, limit=1).to_frame().to_dict()
    table = answers.to_frame()
    assert list(table.columns) == ["row", "prediction", "distance", "change"] and table["row"].tolist() == [0, 1, 2, 3]
    letters = asker.reason_codes(frame, {"age": ("A", "too <young>")}, against=frame, top=2)
    assert any(code.code == "A" for letter in letters for code in letter.codes)
    assert letters.overall["digests"]["circuit"]
    table = pandas.DataFrame({"player": ["age"], "code": ["A"], "text": ["too <young>"]})
    assert repr(asker.reason_codes(frame, table, against=frame, top=2)) == repr(letters)
    assert "too &lt;young&gt;" in letters._repr_html_() and "<young>" not in letters._repr_html_()


def test_answers_show_themselves(asker):
    answers = asker.reasons(all_inputs(INPUTS), all=True)
    assert len(answers) == 2**INPUTS and answers[-1].row == 2**INPUTS - 1 and len(answers[:3]) == 3
    assert repr(answers).startswith("reason of 32 rows\n  row 0, prediction") and "more)" in repr(answers)
    for answer in (answers, asker.properties(), asker.difference(asker.circuit), asker.robustness()):
        assert answer._repr_html_().count("<table>") == 1 and repr(answer)
    assert asker.properties()["f0"].name == "f0" and len(asker.properties().to_frame()) == INPUTS
    same = asker.difference(asker.circuit)
    assert (same.inputs, same.share, same.example, same.rows) == (0, 0, None, [])
    again = pickle.loads(pickle.dumps(boolshap.Asker(asker.circuit, players="columns", timeout=60)))
    assert repr(again) == repr(boolshap.Asker(asker.circuit, players="columns"))


def test_claims_are_judged(network, asker):
    row = all_inputs(INPUTS)[0]
    whole = [f"f{i}" for i in range(INPUTS)]
    nearest = asker.counterfactuals(row)[0].counterfactuals[0].bits
    claims = [{"row": 0, "reason": whole}, {"row": 0, "counterfactual": nearest}, {"row": 0, "counterfactual": row}]
    reason, good, bad = asker.judge(row, claims)[0].claims
    assert reason.valid and not reason.minimal and reason.repaired in asker.reasons(row, all=True)[0].reasons
    assert good.valid and good.nearest and not bad.valid


@pytest.mark.parametrize(
    ("method", "arguments", "words"),
    [
        ("reasons", {"limit": "many"}, "limit \"many\" is not a whole number"),
        ("reasons", {"share": Fraction(3, 2)}, "share '3/2' is not above 0 and at most 1"),
        ("reasons", {"prefer": [1]}, "prefer [1] is not a list of names"),
        ("counterfactuals", {"costs": 3}, "costs is 3, which is neither a dict nor a Series"),
        ("counterfactuals", {"costs": {"f0": float("nan")}}, "costs"),
        ("counterfactuals", {"to": True}, "to true is not the number or name of a class"),
        ("judge", {"claims": [{"row": -1, "reason": []}]}, "is not a whole number from 0 on"),
        ("reason_codes", {"codes": ["f0"]}, "codes are neither a dict nor a table"),
        ("reason_codes", {"codes": {}, "against": [[2] * INPUTS]}, "against: column 'f0', row 0: 2 is neither 0 nor 1"),
    ],
)
def test_wrong_arguments_are_refused(asker, method, arguments, words):
    with pytest.raises(InputError) as caught:
        getattr(asker, method)([[0] * INPUTS], **arguments)
    assert words in str(caught.value)


def test_rows_in_messages_are_counted_from_0():
    circuit = boolshap.compile([([[1, 1, -1]], [0])], features=["rain", "wind", "roof"])
    valid, invalid = [1, 0, 1], [0, 0, 1]
    with pytest.raises(InputError, match="^row 2 "):
        boolshap.Asker(circuit, constraint=[["rain", "wind"]]).reasons([valid, valid, invalid])
    with pytest.raises(InputError, match="^row 3 is not there, and a claim is about it: there are 2 rows"):
        boolshap.Asker(circuit).judge([valid, valid], claims=[{"row": 3, "reason": []}])


def test_limits_of_time_hold():
    circuit = boolshap.compile([([[1] * 24], [0])])
    with pytest.raises(LimitError):
        boolshap.Asker(circuit, timeout=1e-9).reasons([[0] * 24])
