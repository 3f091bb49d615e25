"""Scores of a model's scores, conditional on the rows of a sample and on a formula: compared with the definitions in
fractions, over networks that are evaluated here."""

import json
from fractions import Fraction

import numpy as np
import pytest
from games import (
    INDICES, all_rows, bit, column_groups, conditional, conditional_table, explain, independent, one_hot, random_formula, sample,
    shapley_of_table, write_table,
)  # fmt: skip

FEATURES = ["a=1", "a=2", "a=3", "b", "c", "d=1", "d=2"]


def network(chance, inputs, layers, classes=2):
    """A model file, and a function that computes the score of a row from its gates."""
    widths = [inputs, *(4 for _ in range(layers))]

    def gate(width):
        weights = [int(weight) for weight in chance.integers(-3, 4, width)]
        return {"weights": " ".join(map(str, weights)), "need": str(int(chance.integers(0, sum(map(abs, weights)) + 1)))}

    hidden = [[gate(width) for _ in range(4)] for width in widths[:-1]]
    last = [
        {"weights": " ".join(map(str, chance.integers(-3, 4, widths[-1]))), "bias": str(chance.integers(-2, 3))}
        for _ in range(classes)
    ]

    def value(row, class_):
        bits = list(row)
        for layer in hidden:
            weights = [[int(weight) for weight in one["weights"].split()] for one in layer]
            agree = [sum(abs(w) for w, x in zip(own, bits) if (w > 0) == bool(x)) for own in weights]
            bits = [int(found >= int(one["need"])) for found, one in zip(agree, layer)]
        one = last[class_]
        return sum(int(w) * (2 * x - 1) for w, x in zip(one["weights"].split(), bits)) + int(one["bias"])

    return hidden, last, value


def write_model(folder, features, hidden, last):
    model = {
        "format": "boolshap model", "version": 1, "features": features, "classes": None, "schema": None, "marginals": None,
        "hidden": hidden, "output": {"argmax": last}, "provenance": {},
    }  # fmt: skip
    (folder / "m.json").write_text(json.dumps(model))


def holds_for(boolshap, value, games, rows, players, index, *options):
    """Checks that fractions are equal and floats within their bound, which is small."""
    for exact in (True, False):
        for class_ in (0, 1):
            header, printed, said = explain(
                boolshap, "m.json", "e.csv", "--model-output", "score", "--class", class_, "--index", index, *options,
                *["--exact"][:exact],
            )  # fmt: skip
            for row, one, game in zip(rows, printed, games[class_], strict=True):
                scores = INDICES[index](game, players)
                expected = [value(row, class_), game(frozenset()), *scores.values()]
                assert header == ["prediction", "base_value", *scores]
                if exact:
                    assert one == [str(number) for number in expected]
                else:
                    apart = np.abs(np.array(one, dtype=float) - np.array(expected, dtype=float)).max()
                    assert apart <= max(said["error_bound"], 1e-15) < 1e-11


def groups_of(kind, features):
    if kind == "features":
        return {name: [place] for place, name in enumerate(features)}
    if kind == "columns":
        return column_groups(features)
    return {"p": [0, 3, 6], "q": [1, 5], "r": [2, 4]}


def valid_rows(kind):
    if kind != "columns":
        return all_rows(len(FEATURES))
    return [row for row in all_rows(7) if sum(row[:3]) == 1 and sum(row[5:]) == 1]


@pytest.mark.parametrize("layers", [0, 1, 2])
@pytest.mark.parametrize("kind", ["features", "columns", "p.csv"])
def test_the_mean_score_of_rows_that_agree(boolshap, kind, layers):
    chance = np.random.default_rng(10 * layers + len(kind))
    hidden, last, value = network(chance, len(FEATURES), layers)
    write_model(boolshap.folder, FEATURES, hidden, last)
    groups, valid = groups_of(kind, FEATURES), valid_rows(kind)
    write_table(boolshap.folder / "p.csv", ["feature", "player"], [[FEATURES[f], p] for p, own in groups.items() for f in own])
    # Some rows twice, and entities that the sample does not contain.
    rows = [valid[place] for place in chance.integers(0, len(valid), 12)]
    seen = [*rows, *rows[:3]]
    entities = [rows[0], *(valid[place] for place in chance.integers(0, len(valid), 2))]
    write_table(boolshap.folder / "b.csv", FEATURES, seen)
    write_table(boolshap.folder / "e.csv", FEATURES, entities)
    games = [
        [conditional(lambda row, k=class_: value(row, k), sample(seen), groups, e) for e in entities] for class_ in (0, 1)
    ]
    for index in INDICES:
        holds_for(
            boolshap, value, games, entities, list(groups), index, "--distribution", "empirical:b.csv", "--players", kind
        )


@pytest.mark.parametrize("layers", [0, 1, 2])
@pytest.mark.parametrize("kind", ["features", "columns", "p.csv"])
def test_the_expected_score_given_a_formula(boolshap, kind, layers):
    chance = np.random.default_rng(100 + 10 * layers + len(kind))
    hidden, last, value = network(chance, len(FEATURES), layers)
    write_model(boolshap.folder, FEATURES, hidden, last)
    groups, valid = groups_of(kind, FEATURES), valid_rows(kind)
    write_table(boolshap.folder / "p.csv", ["feature", "player"], [[FEATURES[f], p] for p, own in groups.items() for f in own])
    formula = random_formula(chance, 7, [1, 3, 4, 6], 2, valid, 0.3, 0.9)
    formula.write(boolshap.folder / "k.cnf")
    allowed = [row for row in valid if formula(row)]
    entities = [allowed[place] for place in chance.integers(0, len(allowed), 2)]
    write_table(boolshap.folder / "e.csv", FEATURES, entities)
    tenths = [Fraction(int(number), 10) for number in chance.integers(1, 10, 7)]
    if kind == "columns":
        given = "uniform"
        blocks = [
            one_hot([0, 1, 2], [Fraction(1, 3)] * 3), bit(3, Fraction(1, 2)), bit(4, Fraction(1, 2)),
            one_hot([5, 6], [Fraction(1, 2)] * 2),
        ]  # fmt: skip
    else:
        blocks = [bit(place, probability) for place, probability in enumerate(tenths)]
        write_table(
            boolshap.folder / "q.csv", ["feature", "probability"], [[n, float(p)] for n, p in zip(FEATURES, tenths)]
        )
        given = "product:q.csv"
    population = [(row, weight) for row, weight in independent(blocks) if formula(row)]
    games = [
        [conditional(lambda row, k=class_: value(row, k), population, groups, e) for e in entities] for class_ in (0, 1)
    ]
    for index in INDICES:
        holds_for(
            boolshap, value, games, entities, list(groups), index, "--distribution", given, "--constraint", "k.cnf",
            "--players", kind,
        )  # fmt: skip


def test_many_players_by_numpy(boolshap):
    """16 features are too many for fractions here, so the tables of all sets are in floats."""
    chance = np.random.default_rng(4)
    features = [f"f{number}" for number in range(16)]
    hidden, last, value = network(chance, 16, 1)
    write_model(boolshap.folder, features, hidden, last)
    rows = chance.integers(0, 2, (300, 16))
    write_table(boolshap.folder / "b.csv", features, rows.tolist())
    write_table(boolshap.folder / "e.csv", features, rows[:2].tolist())
    values = np.array([value(row, 0) for row in rows.tolist()], dtype=float)
    groups = {name: [place] for place, name in enumerate(features)}
    _, printed, _ = explain(
        boolshap, "m.json", "e.csv", "--model-output", "score", "--class", 0, "--distribution", "empirical:b.csv"
    )
    for row, one in zip(rows[:2], printed):
        scores = shapley_of_table(conditional_table(rows, values, row, groups, value(row.tolist(), 0)))
        np.testing.assert_allclose(np.array(one[2:], dtype=float), scores, rtol=0, atol=1e-9)


def test_what_cannot_be_known_is_said(boolshap):
    chance = np.random.default_rng(7)
    hidden, last, _ = network(chance, 24, 1)
    features = [f"f{number}" for number in range(24)]
    write_model(boolshap.folder, features, hidden, last)
    write_table(boolshap.folder / "e.csv", features, [[1] * 24])
    (boolshap.folder / "k.cnf").write_text("p cnf 24 1\n1 2 0\n")
    (boolshap.folder / "no.cnf").write_text("p cnf 24 2\n1 0\n-1 0\n")
    common = ("explain", "m.json", "e.csv", "--model-output", "score", "--class", 0)
    for options, words in (
        (("--distribution", "empirical:e.csv"), "24 players are too many here"),
        (("--constraint", "k.cnf"), "players are too many here"),
    ):
        assert words in boolshap.fails(*common, *options)
    pairs = [[name, f"p{place // 2}"] for place, name in enumerate(features)]
    write_table(boolshap.folder / "p.csv", ["feature", "player"], pairs)
    # 12 players of two bits have all inputs of 24 bits as joint values.
    said = boolshap.fails(*common, "--constraint", "k.cnf", "--players", "p.csv")
    assert "more than 4194304 values together" in said
    small = [name for name in features[:6]]
    hidden, last, _ = network(chance, 6, 1)
    write_model(boolshap.folder, small, hidden, last)
    write_table(boolshap.folder / "e.csv", small, [[0, 0, 1, 1, 1, 1]])
    (boolshap.folder / "k.cnf").write_text("p cnf 6 1\n1 2 0\n")
    (boolshap.folder / "no.cnf").write_text("p cnf 6 2\n1 0\n-1 0\n")
    assert "the constraint does not hold" in boolshap.fails(*common, "--constraint", "k.cnf")
    assert "no entity satisfies the constraint" in boolshap.fails(*common, "--constraint", "no.cnf")
