"""Scores of a model's scores, compared with the network in numpy, with convolutions of its gates' sums along the path,
and with the definition in fractions on small networks; and files of scores that were changed."""

import csv
import itertools
import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from circuit_files import CircuitFile

PIXELS = 784


def folder_network(folder):
    """The layers of a folder of CSV files: weights and thresholds of the gates, and the last layer."""

    def table(name):
        return np.loadtxt(folder / name, delimiter=",", ndmin=2)

    weights = np.where(table("blk1/lin_weight.csv") >= 0, 1.0, -1.0)
    bias, mean, var, gamma, beta = (
        table(f"blk1/{name}.csv").ravel() for name in ("lin_bias", "bn_mean", "bn_var", "bn_weight", "bn_bias")
    )
    last = np.where(table("out_blk/lin_weight.csv") >= 0, 1.0, -1.0)
    root = np.sqrt(var + 1e-5)

    def hidden(signs):
        return np.where(gamma * (signs @ weights.T + bias - mean) / root + beta >= 0, 1.0, -1.0)

    return weights, hidden, last, table("out_blk/lin_bias.csv").ravel()


def gate_scores(weights, need, entity, background):
    """The scores of [number of agreeing inputs >= need] against one row. The probability that a player decides, where
    each other player is present with probability t, is a convolution; the mean over t is by Gauss quadrature."""
    agree, agreed = entity * weights > 0, background * weights > 0
    plus, minus = int((agree & ~agreed).sum()), int((agreed & ~agree).sum())
    points, shares = np.polynomial.legendre.leggauss((plus + minus) // 2 + 1)

    def decides(ups, downs):
        total = 0.0
        for at, share in zip((points + 1) / 2, shares / 2):
            chances = np.ones(1)
            for _ in range(ups):
                chances = np.convolve(chances, [1 - at, at])
            # A player whose input stops agreeing subtracts 1 if present: start at -downs and add 1 if it is absent.
            for _ in range(downs):
                chances = np.convolve(chances, [at, 1 - at])
            place = need - 1 - int(agreed.sum()) + downs + (1 if downs < minus else 0)
            if 0 <= place < len(chances):
                total += share * chances[place]
        return total

    scores = np.zeros(len(entity))
    if plus:
        scores[agree & ~agreed] = decides(plus - 1, minus)
    if minus:
        scores[agreed & ~agree] = -decides(plus, minus - 1)
    return scores


@pytest.mark.slow
def test_images_against_numpy(boolshap, shared_data):
    folder = shared_data("bnn/mnist_bnn_1_blk_784_100_10")
    lines = shared_data("bnn/inputs/instance_0_784.txt").read_text().split("\n")
    images = np.array([line.split()[:PIXELS] for line in lines if len(line.split()) >= PIXELS], dtype=int)
    others = shared_data("bnn/inputs/instance_1_784.txt").read_text().split("\n")
    images = np.vstack([images, np.array([line.split()[:PIXELS] for line in others if len(line.split()) >= PIXELS], dtype=int)])
    assert len(images) >= 2
    header = ",".join(f"x{pixel + 1}" for pixel in range(PIXELS))
    for name, rows in (("e.csv", images[:1]), ("b.csv", images[1:4])):
        (boolshap.folder / name).write_text("\n".join([header, *(",".join(map(str, row)) for row in rows), ""]))
    boolshap("import", folder, "-o", "m.json")
    boolshap("compile", "m.json", "-o", "v.bsc", "--model-output", "score", "--verify")
    boolshap("explain", "v.bsc", "e.csv", "-o", "s.csv", "--distribution", "background:b.csv", "--class", "each")
    with open(boolshap.folder / "s.csv") as file:
        [row] = csv.DictReader(file)
    weights, hidden, last, bias = folder_network(folder)
    entity, background = 2.0 * images[0] - 1, 2.0 * images[1:4] - 1
    expected = last @ hidden(entity) + bias
    model = json.loads((boolshap.folder / "m.json").read_text())
    gates = model["hidden"][0]
    signs = np.array([[1.0 if sign == "+" else -1.0 for sign in gate["weights"]] for gate in gates])
    needs = [int(gate["need"]) for gate in gates]
    # The gates are those of the folder, so that both are the same network.
    agreeing = (signs * entity > 0).sum(axis=1)
    assert ((agreeing >= needs) == (hidden(entity) > 0)).all()
    of_gates = np.mean(
        [[gate_scores(w, need, entity, one) for w, need in zip(signs, needs)] for one in background], axis=0
    )
    for class_ in range(10):
        # Gates are -1 or +1, so a gate's score counts twice.
        scores = 2 * last[class_] @ of_gates
        printed = np.array([float(row[f"x{pixel + 1}:{class_}"]) for pixel in range(PIXELS)])
        assert np.abs(printed - scores).max() < 1e-9
        assert abs(float(row[f"prediction:{class_}"]) - expected[class_]) < 1e-9
        assert abs(float(row[f"base_value:{class_}"]) + printed.sum() - expected[class_]) < 1e-9
    assert int(row["class"]) == int(expected.argmax())


def definition(value, players, background, entity):
    """Shapley values against rows, from all sets of players."""
    count = len(players)

    def mean(chosen):
        total = Fraction(0)
        for row in background:
            mixed = list(row)
            for player in chosen:
                for feature in players[player]:
                    mixed[feature] = entity[feature]
            total += value(mixed)
        return total / len(background)

    scores = []
    for player in range(count):
        score = Fraction(0)
        rest = [other for other in range(count) if other != player]
        for size in range(count):
            weight = Fraction(math.factorial(size) * math.factorial(count - size - 1), math.factorial(count))
            for chosen in itertools.combinations(rest, size):
                score += weight * (mean((*chosen, player)) - mean(chosen))
        scores.append(score)
    return mean(()), scores


@pytest.mark.parametrize("seed", range(6))
def test_small_networks_in_fractions(boolshap, seed):
    chance = random.Random(seed)
    inputs, layers = 5, chance.choice([0, 1, 1, 2])
    widths = [inputs, *(3 for _ in range(layers))]

    def gate(width):
        weights = [chance.choice([-2, -1, 1, 3] if seed % 2 else [-1, 1]) for _ in range(width)]
        return {"weights": " ".join(map(str, weights)), "need": str(chance.randint(0, sum(map(abs, weights))))}

    hidden = [[gate(width) for _ in range(3)] for width in widths[:-1]]
    scores = [
        {"weights": " ".join(str(chance.randint(-3, 3)) for _ in range(widths[-1])), "bias": str(chance.randint(-2, 2))}
        for _ in range(3)
    ]
    names = [f"f{number}" for number in range(inputs)]
    model = {
        "format": "boolshap model", "version": 1, "features": names, "classes": None, "schema": None, "marginals": None,
        "hidden": hidden, "output": {"argmax": scores}, "provenance": {},
    }  # fmt: skip
    (boolshap.folder / "m.json").write_text(json.dumps(model))
    rows = [[chance.randint(0, 1) for _ in names] for _ in range(4)]
    for name, some in (("e.csv", rows[:2]), ("b.csv", rows[1:])):
        (boolshap.folder / name).write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in some), ""]))
    pairs = {name: f"p{place // 2}" for place, name in enumerate(names)}
    (boolshap.folder / "p.csv").write_text("\n".join(["feature,player", *(f"{a},{b}" for a, b in pairs.items()), ""]))

    def value(bits, class_):
        for layer in hidden:
            weights = [[int(weight) for weight in one["weights"].split()] for one in layer]
            agree = [sum(abs(w) for w, x in zip(row, bits) if (w > 0) == bool(x)) for row in weights]
            bits = [int(found >= int(one["need"])) for found, one in zip(agree, layer)]
        one = scores[class_]
        return Fraction(sum(int(w) * (2 * x - 1) for w, x in zip(one["weights"].split(), bits)) + int(one["bias"]))

    for players, groups in (("features", [[f] for f in range(inputs)]), ("p.csv", [[0, 1], [2, 3], [4]])):
        for class_ in range(3):
            boolshap(
                "explain", "m.json", "e.csv", "-o", "s.csv", "--model-output", "score", "--class", class_, "--exact",
                "--distribution", "background:b.csv", "--players", players,
            )  # fmt: skip
            with open(boolshap.folder / "s.csv") as file:
                _, *lines = csv.reader(file)
            for row, printed in zip(rows[:2], lines, strict=True):
                base, found = definition(lambda bits, k=class_: value(bits, k), groups, rows[1:], row)
                assert list(map(Fraction, printed)) == [value(row, class_), base, *found]


def test_changed_files_are_refused_or_found_out(boolshap):
    model = {
        "format": "boolshap model", "version": 1, "features": ["a", "b", "c"], "classes": None, "schema": None,
        "marginals": None, "hidden": [[{"weights": "++-", "need": "2"}, {"weights": "+-+", "need": "2"}]],
        "output": {"argmax": [{"weights": "+-", "bias": "0"}, {"weights": "++", "bias": "1"}]}, "provenance": {},
    }  # fmt: skip
    (boolshap.folder / "m.json").write_text(json.dumps(model))
    boolshap("compile", "m.json", "-o", "v.bsc", "--model-output", "score")
    content = (boolshap.folder / "v.bsc").read_bytes()
    assert boolshap.json("verify", "m.json", "v.bsc")["equal"]

    def changed(change):
        forged = CircuitFile(content)
        change(forged.header)
        (boolshap.folder / "f.bsc").write_bytes(forged.write())

    def part(header):
        header["values"]["parts"][0]["gate"]["need"] = "1"

    def weight(header):
        header["values"]["values"][1]["weights"][0] = "7"

    for change in (part, weight):
        changed(change)
        failed = boolshap.fails("verify", "m.json", "f.bsc")
        assert "not the network" in failed or "not what the network has" in failed or "not those of the network" in failed
    for change, words in (
        (lambda header: header["values"]["values"][0].update(constant="1/0"), "is not a fraction"),
        (lambda header: header["values"]["values"].pop(), "values for"),
        (lambda header: header["values"]["parts"].pop(), "not one weight for each part"),
        (lambda header: header["values"].update(rule="sign"), "cannot decide"),
        (lambda header: header["values"]["parts"].__setitem__(0, {"feature": 9}), "feature 9 is unknown"),
        (lambda header: header["values"]["parts"].__setitem__(0, {"circuit": 9}), "which there is not"),
        (lambda header: header["values"]["parts"][0]["gate"].update(weights="++"), "not one weight for each feature"),
        (lambda header: header.pop("values"), "version 3"),
    ):
        changed(change)
        assert words in boolshap.fails("info", "f.bsc")
