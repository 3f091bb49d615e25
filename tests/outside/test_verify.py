"""Proofs that a circuit equals the network, and detection of wrong circuits."""

import json
import random

import pytest


def model(folder, inputs, hidden, seed, name="m.json"):
    """A dense network with weights +-1 and thresholds in the middle of their ranges."""
    chance = random.Random(seed)

    def gate(width):
        return {"weights": "".join(chance.choice("+-") for _ in range(width)), "need": str(width // 2 + chance.randrange(2))}

    network = {
        "format": "boolshap model",
        "version": 1,
        "features": [f"x{i + 1}" for i in range(inputs)],
        "hidden": [[gate(inputs) for _ in range(hidden)]],
        "output": {"step": gate(hidden)},
        "provenance": {},
    }
    path = folder / name
    path.write_text(json.dumps(network))
    return network


def label(network, entity):
    """The network's definition, in plain Python."""
    values = entity

    def gate(gate, values):
        convenient = sum((sign == "+") == bool(value) for sign, value in zip(gate["weights"], values, strict=True))
        return int(convenient >= int(gate["need"]))

    for layer in network["hidden"]:
        values = [gate(one, values) for one in layer]
    return gate(network["output"]["step"], values)


@pytest.mark.parametrize("method", ["exhaustive", "sat", "walk"])
def test_every_method_proves_the_right_circuit_and_refutes_another(boolshap, method):
    model(boolshap.folder, 10, 6, 1)
    other = model(boolshap.folder, 10, 6, 2, "other.json")
    compiled = boolshap.json("compile", "m.json", "-o", "c.bsc", "--verify")
    assert compiled["stages"]["verify"]["method"] == "exhaustive"
    found = boolshap.json("verify", "m.json", "c.bsc", "--method", method)
    assert (found["equal"], found["method"], found["counterexample"]) == (True, method, None)

    said = boolshap("verify", "other.json", "c.bsc", "--method", method, code=1)
    assert "is not the network: for x" in said.stderr
    found = json.loads(boolshap("verify", "other.json", "c.bsc", "--method", method, "--json", code=1).stdout)
    example = found["counterexample"]
    entity = [example["entity"][name] for name in other["features"]]
    assert not found["equal"] and example["network"] != example["circuit"]
    assert label(other, entity) == example["network"]
    (boolshap.folder / "e.csv").write_text(",".join(other["features"]) + "\n" + ",".join(map(str, entity)) + "\n")
    boolshap("predict", "c.bsc", "e.csv", "-o", "p.csv")
    assert (boolshap.folder / "p.csv").read_text().split()[1] == str(example["circuit"])


def lrat_ok(clauses, proof):
    """A second proof checker: every added clause must follow by unit propagation from the clauses it names."""
    known = dict(enumerate(map(frozenset, clauses), 1))
    for line in proof:
        number, *rest = line.split()
        if rest[0] == "d":
            for gone in rest[1:-1]:
                del known[int(gone)]
            continue
        numbers = list(map(int, rest))
        end = numbers.index(0)
        clause, hints = frozenset(numbers[:end]), numbers[end + 1 : -1]
        false = set(clause)
        conflict = False
        for hint in hints:
            if hint not in known:
                return False
            left = known[hint] - false
            if not left:
                conflict = True
                break
            if len(left) > 1:
                return False
            false.add(-next(iter(left)))
        if not conflict:
            return False
        if not clause:
            return True
        known[int(number)] = clause
    return False


def test_a_proof_convinces_another_checker_and_not_with_a_line_removed(boolshap):
    model(boolshap.folder, 9, 5, 3)
    boolshap("compile", "m.json", "-o", "c.bsc")
    found = boolshap.json("verify", "m.json", "c.bsc", "--proof", "p.lrat")
    assert found["equal"] and found["method"] == "sat"
    formula = (boolshap.folder / "p.lrat.cnf").read_text().splitlines()
    kind, _, _, count = formula[0].split()
    clauses = [[int(number) for number in line.split()[:-1]] for line in formula[1:]]
    assert kind == "p" and len(clauses) == int(count)
    proof = (boolshap.folder / "p.lrat").read_text().splitlines()
    assert lrat_ok(clauses, proof)
    added = [k for k, line in enumerate(proof) if line.split()[1] != "d"]
    used = {hint for k in added for hint in proof[k].split(" 0 ", 1)[-1].split()}
    gone = next(k for k in added if proof[k].split()[0] in used)
    assert not lrat_ok(clauses, proof[:gone] + proof[gone + 1 :])
    assert not lrat_ok(clauses, proof[:-1]) or len(proof) == added[-1] + 2


def test_the_proof_is_of_the_difference(boolshap):
    """The clauses say that network and circuit differ: with the other network they have a solution."""
    model(boolshap.folder, 8, 5, 4)
    model(boolshap.folder, 8, 5, 5, "other.json")
    boolshap("compile", "m.json", "-o", "c.bsc")
    before = sorted(boolshap.folder.iterdir())
    boolshap("verify", "other.json", "c.bsc", "--proof", "p.lrat", code=1)
    assert sorted(boolshap.folder.iterdir()) == before, "no proof of what is not so"


def test_wide_networks_are_proved_by_a_walk(boolshap):
    model(boolshap.folder, 50, 3, 6)
    compiled = boolshap.json("compile", "m.json", "-o", "c.bsc", "--verify")
    assert (compiled["route"], compiled["stages"]["verify"]["method"]) == ("partial-sums", "walk")
    said = boolshap("verify", "m.json", "c.bsc", "--method", "exhaustive", code=1)
    assert "nothing is proved: exhaustive: 50 inputs are more than the 30" in said.stderr


def test_classes_and_wrong_usage(boolshap):
    model(boolshap.folder, 6, 4, 7)
    boolshap("compile", "m.json", "-o", "zero.bsc", "--class", "0")
    assert boolshap.json("verify", "m.json", "zero.bsc")["equal"]
    boolshap("verify", "m.json", "zero.bsc", "--class", "1", code=1)
    boolshap("compile", "m.json", "-o", "all.bsc", "--class", "all", "--verify")
    assert "all 2 classes are sound and equal" in boolshap("verify", "m.json", "all.bsc").stdout
    assert "--proof is written by the method sat" in boolshap(
        "verify", "m.json", "zero.bsc", "--proof", "p", "--method", "walk", code=2
    ).stderr
    model(boolshap.folder, 7, 4, 7, "wide.json")
    assert "the features are not those of the model" in boolshap("verify", "wide.json", "zero.bsc", code=1).stderr


@pytest.mark.slow
@pytest.mark.parametrize("method, size, seconds, how_far", [("sat", 18, 3, " conflicts)"), ("walk", 24, 3, " pairs)")])
def test_a_limit_of_time_tells_how_far_it_got(boolshap, method, size, seconds, how_far):
    model(boolshap.folder, size, size, 5)
    boolshap("compile", "m.json", "-o", "c.bsc")
    said = boolshap("verify", "m.json", "c.bsc", "--method", method, "--timeout", seconds, code=1)
    assert f"the time limit of {seconds} seconds has passed (after " in said.stderr
    assert said.stderr.strip().endswith(how_far)
