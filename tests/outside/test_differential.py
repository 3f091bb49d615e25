"""The whole program against the definitions, on random sources and modes: every score is within the stated error bound,
the program never panics, and every refusal is one sentence. `make soak` runs many more of the same cases."""

import itertools
import json
import os
from fractions import Fraction

import numpy as np
import pytest

import fuzzing
import games

SEED = 17
PARTS = 8
CASES = int(os.environ.get("BOOLSHAP_CASES", 2400)) // PARTS


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_random_cases(boolshap, part):
    found = fuzzing.fuzz(boolshap, SEED, part * CASES, CASES)
    assert sum(count for count, *_ in found.values()) == CASES
    if "BOOLSHAP_FUZZ_REPORT" in os.environ:
        with open(os.environ["BOOLSHAP_FUZZ_REPORT"], "a") as report:
            for (engine, mode), (count, refused, worst, bound) in found.items():
                line = [engine, mode, count, refused, float(worst), float(bound)]
                report.write(json.dumps(line) + "\n")


def test_two_ways_to_write_the_definitions_agree():
    """Compares this oracle with that of the fixed cases, which uses sets of players instead of masks."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        features = fuzzing.random_features(rng)
        n = len(features)
        formula = games.Formula(n, fuzzing.random_clauses(rng, n, 4))
        allowed = games.Formula(n, [[1, 2]])
        columns = list(fuzzing.columns_of(features).values())
        plain = [[i] for i in range(n) if not any(i in column for column in columns)]
        players = plain + columns
        groups = {str(number): positions for number, positions in enumerate(players)}
        chances = [Fraction(int(p), 64) for p in rng.integers(1, 64, n)]
        units = fuzzing.units_of(chances, columns)
        population = games.independent([(unit.positions, unit.options) for unit in units])
        rows = [row for row, _ in population if allowed(row)]
        entity = rows[rng.integers(len(rows))]
        sample = [rows[i] for i in rng.integers(0, len(rows), 5)]
        constrained = [(row, weight) for row, weight in population if allowed(row)]
        pairs = [
            (fuzzing.independent_game(formula, units, players, entity, lambda row: True),
             games.interventional(formula, population, groups, entity)),
            (fuzzing.independent_game(formula, units, players, entity, allowed),
             games.conditional(formula, constrained, groups, entity)),
            (fuzzing.sample_game(formula, sample, players, entity, False),
             games.interventional(formula, games.sample(sample), groups, entity)),
            (fuzzing.sample_game(formula, sample, players, entity, True),
             games.conditional(formula, games.sample(sample), groups, entity)),
        ]
        for table, v in pairs:
            for index in fuzzing.INDICES:
                expected = list(games.INDICES[index](v, list(groups)).values())
                assert fuzzing.scores(table, len(players), index) == expected


def test_sources_are_what_they_are_written_as():
    """Recomputes the labels of a random circuit from its lines."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        nodes = fuzzing.Nodes(rng, 4)
        root = nodes.random(range(1, 5))
        for at, row in enumerate(itertools.product((0, 1), repeat=4)):
            values = []
            for line in nodes.lines:
                kind, *words = line.split()
                children = [values[int(child)] for child in words[1 if kind == "A" else 2:]]
                values.append({
                    "L": lambda: (row[abs(int(words[0])) - 1] == 1) == (int(words[0]) > 0),
                    "A": lambda: all(children), "O": lambda: sum(children) == 1,
                }[kind]())
            assert values[root] == nodes.values[root][at]
