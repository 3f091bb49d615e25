"""Every distribution, choice of players, index and engine of `explain`, compared with the definitions."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

from games import (
    CHECKED, Formula, INDICES, agrees, all_rows, banzhaf, bit, close, column_groups, compile_formula, conditional,
    conditional_table, exact_rows, expected_table, explain, float_scores, independent, interaction, interventional,
    one_hot, one_hot_rows, random_formula, refused, sample, shapley, shapley_of_table, write_table,
)


def test_the_definitions_on_games_worked_out_by_hand():
    features = {"a": [0], "b": [1]}
    both, either = (lambda row: row[0] & row[1]), (lambda row: row[0] | row[1])
    half = Fraction(1, 2)
    uniform = independent([bit(0, half), bit(1, half)])
    v = interventional(both, uniform, features, (1, 0))
    assert v(frozenset()) == Fraction(1, 4)
    assert shapley(v, ["a", "b"]) == {"a": Fraction(1, 8), "b": Fraction(-3, 8)} == banzhaf(v, ["a", "b"])
    assert interaction(v, ["a", "b"]) == {"a*b": Fraction(-1, 4)}
    # v(S) = 2^(|S| - 3)
    three = {"a": [0], "b": [1], "c": [2]}
    v = interventional(all, independent([bit(i, half) for i in range(3)]), three, (1, 1, 1))
    assert shapley(v, list(three)) == dict.fromkeys(three, Fraction(7, 24))
    assert banzhaf(v, list(three)) == dict.fromkeys(three, Fraction(9, 32))
    assert interaction(v, list(three)) == dict.fromkeys(["a*b", "a*c", "b*c"], Fraction(3, 16))
    # v: empty set 0, a 2/3, b 0, both 0
    v = interventional(both, sample([(0, 1), (0, 1), (1, 0)]), features, (1, 0))
    assert shapley(v, ["a", "b"]) == {"a": Fraction(1, 3), "b": Fraction(-1, 3)}
    # v: empty set 1/2, a 1, b 0, both 0
    v = conditional(both, sample([(1, 1), (0, 0)]), features, (1, 0))
    assert shapley(v, ["a", "b"]) == {"a": Fraction(1, 4), "b": Fraction(-3, 4)}
    # No row has a = 1. v: empty set 1/2, a 1/2, b 1, both 1
    rows = [(0, 1), (0, 0)]
    v = conditional(either, sample(rows), features, (1, 1))
    assert shapley(v, ["a", "b"]) == {"a": 0, "b": half}
    assert independent([one_hot([2, 0], [Fraction(1, 4), Fraction(3, 4)]), bit(1, Fraction(1))]) == [
        ((0, 1, 1), 1), ((1, 1, 0), 3),
    ]
    table = conditional_table(np.array(rows), [1, 0], np.array([1, 1]), features, 1)
    assert table.tolist() == [0.5, 0.5, 1, 1] and shapley_of_table(table).tolist() == [0, 0.5]
    v = interventional(either, uniform, features, (0, 1))
    scores = shapley_of_table(np.array([float(v(frozenset(s))) for s in ("", "a", "b", "ab")]))
    assert scores.tolist() == [float(score) for score in shapley(v, ["a", "b"]).values()]


# Every mode against the definition.

# Names of the features, and names of those that the formula depends on.
WORLDS = {
    "three features": (["op=A", "x", "op=B"], ["op=A", "x", "op=B"]),
    "columns alone": (["op=A", "op=B", "t=1", "t=2", "t=3"], ["op=A", "op=B", "t=1", "t=2", "t=3"]),
    "apart from each other": (["k=1", "u", "k=2", "w", "k=3", "v"], ["k=1", "u", "k=2", "w", "k=3", "v"]),
    # The formula mentions neither one of op's bits nor any bit of size.
    "columns in part": (["op=A", "x", "op=B", "z", "op=C", "size=S", "size=L"], ["op=A", "x", "z", "op=C"]),
}
# Probabilities for plain bits and for columns of several values; 0.6 + 0.3 + 0.1 is 1, though not in floats.
AWKWARD = ["0.1", "0.35", "0", "1", "0.75", "0.3333333333333333333333"]
AWKWARD_COLUMNS = {2: ["0", "1"], 3: ["0.6", "0.3", "0.1"]}
# Under a constraint every row needs a positive probability.
INSIDE = ["0.1", "0.35", "0.999", "0.6", "0.875", "0.3333333333333333333333"]
INSIDE_COLUMNS = {2: ["0.35", "0.65"], 3: ["0.6", "0.3", "0.1"]}

MODES = [
    (players, distribution, constrained)
    for players in ["features", "columns", "file"]
    for distribution in ["uniform", "probabilities", "rows", "background", "empirical"]
    for constrained in [False, True]
    if not (constrained and distribution in ["background", "empirical"])
]


class World:
    """A random formula and, for a mode, random allowed rows with the game of every entity."""

    def __init__(self, boolshap, name, seed):
        self.folder, self.rng = boolshap.folder, np.random.default_rng(seed)
        self.features, mentioned = WORLDS[name]
        n = len(self.features)
        mentioned = [self.features.index(feature) for feature in mentioned]
        valid = one_hot_rows(self.features)
        self.f = random_formula(self.rng, n, mentioned, 2 + n // 3, valid, 0.25, 0.75)
        self.k = random_formula(self.rng, n, sorted(self.rng.choice(n, 3, replace=False)), 2, valid, 0.5, 0.9)
        self.circuit = compile_formula(boolshap, self.f, self.features)

    def write(self, name, rows):
        return write_table(self.folder / name, self.features, rows)

    def draw(self, rows, count):
        return [rows[i] for i in self.rng.integers(0, len(rows), count)]

    def mode(self, players, distribution, constrained):
        """The command's options, the players and entities, and the entities' games."""
        options = []
        groups = {name: [i] for i, name in enumerate(self.features)}
        valid = all_rows(len(self.features))
        if players == "columns":
            options = ["--players", "columns"]
            groups, valid = column_groups(self.features), one_hot_rows(self.features)
        elif players == "file":
            options = ["--players", self.players_file()]
            groups = self.players
        allowed = [row for row in valid if self.k(row)] if constrained else valid
        # Two different rows, others, and the first again.
        first, second = self.rng.choice(len(allowed), 2, replace=False)
        entities = [allowed[first], allowed[second], *self.draw(allowed, 3), allowed[first]]
        if distribution in ["background", "empirical"]:
            others = [row for row in valid if row != entities[1]]
            rows = [entities[0], *self.draw(others, 4), entities[0], *self.draw(others, 1)]
            options += ["--distribution", f"{distribution}:{self.write('rows.csv', rows)}"]
            build, population = conditional if distribution == "empirical" else interventional, sample(rows)
        else:
            given, blocks = self.blocks(players, distribution, constrained, valid)
            options += given
            build, population = interventional, independent(blocks)
            if constrained:
                options += ["--constraint", self.k.write(self.folder / "k.cnf")]
                build, population = conditional, [(row, weight) for row, weight in population if self.k(row)]
        games = [build(self.f, population, groups, e) for e in entities]
        return options, list(groups), entities, games

    def players_file(self):
        """A file that mixes features into players. Players are ordered by their first feature, not as in the file."""
        n = len(self.features)
        names = self.rng.permutation([f"p{i % (n // 2 + 1)}" for i in range(n)]).tolist()
        self.players = {name: [i for i in range(n) if names[i] == name] for name in dict.fromkeys(names)}
        rows = [(self.features[i], names[i]) for i in self.rng.permutation(n)]
        return write_table(self.folder / "players.csv", ["feature", "player"], rows)

    def blocks(self, players, distribution, constrained, valid):
        """Options for a distribution, and its independent blocks: bits, or columns if they are the players."""
        options, columns, plain = [], {}, range(len(self.features))
        if players == "columns":
            columns = {name: g for name, g in column_groups(self.features).items() if "=" in self.features[g[0]]}
            plain = [i for i in plain if "=" not in self.features[i]]
        if distribution == "uniform":
            chance = lambda group, _: Fraction(1, max(len(group), 2))
        elif distribution == "probabilities":
            bits, values = (INSIDE, INSIDE_COLUMNS) if constrained else (AWKWARD, AWKWARD_COLUMNS)
            texts = {i: bits[number % len(bits)] for number, i in enumerate(plain)}
            texts |= {i: text for g in columns.values() for i, text in zip(g, values[len(g)])}
            rows = [(self.features[i], texts[i]) for i in self.rng.permutation(len(texts))]
            path = write_table(self.folder / "p.csv", ["feature", "probability"], rows)
            options = ["--distribution", f"product:{path}"]
            chance = lambda _, i: Fraction(texts[i])
        else:
            rows = self.draw(valid, 7)
            while not all(0 < sum(column) < len(rows) for column in zip(*rows)):
                rows = self.draw(valid, 7)
            options = ["--distribution", f"product:{self.write('p.csv', rows)}"]
            chance = lambda _, i: Fraction(sum(row[i] for row in rows), len(rows))
        blocks = [bit(i, chance([i], i)) for i in plain]
        blocks += [one_hot(g, [chance(g, i) for i in g]) for g in columns.values()]
        return options, blocks


@pytest.mark.parametrize("players, distribution, constrained", MODES)
@pytest.mark.parametrize("name", WORLDS)
def test_every_mode_against_the_definition(boolshap, name, players, distribution, constrained):
    world = World(boolshap, name, [len(name), MODES.index((players, distribution, constrained))])
    options, names, entities, games = world.mode(players, distribution, constrained)
    data = world.write("e.csv", entities)
    independent_bits = players == "features" and distribution in ["uniform", "probabilities", "rows"]
    for index in INDICES:
        expected = expected_table(world.f, games, entities, names, index)
        engines = [None, "brute-force"]
        if independent_bits and not constrained and index == "shapley":
            engines.append("paper")
        if players == "features" and distribution == "uniform" and not constrained and index in ("shapley", "banzhaf"):
            engines.append("table")
        for engine, exact in itertools.product(engines, [False, True]):
            if engine == "table" and exact:
                continue
            chosen = ["--engine", engine] if engine else []
            said = agrees(boolshap, world.circuit, data, expected, exact, *options, "--index", index, *chosen)
            assert said["distinct_rows"] == len(set(entities))
            assert (said["index"], said["checked"]) == (index, CHECKED[index])
            assert said["engine"] == engine or engine is None


def test_a_set_of_features_on_which_no_row_of_the_sample_agrees(boolshap):
    features, rows, entity = ["a", "b", "c"], [(0, 0, 1), (0, 1, 1)], (1, 0, 1)
    compile_formula(boolshap, Formula(3, [[1, 2]]), features)
    write_table(boolshap.folder / "e.csv", features, [entity])
    write_table(boolshap.folder / "r.csv", features, rows)
    # No row has a = 1. v: empty set, a, c, ab and ac 1/2, b and bc 0, all 1
    v = conditional(Formula(3, [[1, 2]]), sample(rows), {"a": [0], "b": [1], "c": [2]}, entity)
    by_hand = {"a": Fraction(5, 12), "b": Fraction(-1, 12), "c": Fraction(1, 6)}
    assert shapley(v, features) == by_hand
    (found,) = exact_rows(boolshap, "c.bsc", "e.csv", "--distribution", "empirical:r.csv")
    assert found == {"prediction": "1", "base_value": "1/2"} | {name: str(score) for name, score in by_hand.items()}


@pytest.mark.parametrize("options", [
    [], ["--distribution", "background:r.csv"], ["--distribution", "empirical:r.csv"], ["--constraint", "k.cnf"],
    ["--players", "columns"], ["--index", "banzhaf"], ["--index", "interaction"],
])
def test_the_fast_engine_is_the_default(boolshap, options):
    features = ["op=A", "op=B", "x"]
    compile_formula(boolshap, Formula(3, [[1, 3], [2, -3]]), features)
    Formula(3, [[1, 2]]).write(boolshap.folder / "k.cnf")
    write_table(boolshap.folder / "e.csv", features, [(1, 0, 1), (0, 1, 0)])
    write_table(boolshap.folder / "r.csv", features, [(1, 0, 0), (0, 1, 1), (1, 0, 1)])
    default = explain(boolshap, "c.bsc", "e.csv", *options)[:2]
    assert explain(boolshap, "c.bsc", "e.csv", *options, "--engine", "fast")[:2] == default


@pytest.mark.parametrize("distribution", ["uniform", "background:r.csv"])
def test_a_columns_score_is_not_the_sum_of_its_bits_scores(boolshap, distribution):
    features = ["op=A", "op=B", "op=C", "x"]
    compile_formula(boolshap, Formula(4, [[1, 4], [2, 3, -4]]), features)
    write_table(boolshap.folder / "e.csv", features, one_hot_rows(features))
    write_table(boolshap.folder / "r.csv", features, one_hot_rows(features)[1:])
    bits = exact_rows(boolshap, "c.bsc", "e.csv", "--distribution", distribution)
    columns = exact_rows(boolshap, "c.bsc", "e.csv", "--distribution", distribution, "--players", "columns")
    assert list(columns[0]) == ["prediction", "base_value", "op", "x"]
    sums = [sum(Fraction(row[name]) for name in features[:3]) for row in bits]
    assert any(total != Fraction(row["op"]) for total, row in zip(sums, columns))
    for row in columns:
        assert Fraction(row["base_value"]) + Fraction(row["op"]) + Fraction(row["x"]) == int(row["prediction"])


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("players", ["features", "columns"])
@pytest.mark.parametrize("distribution", ["uniform", "product:r.csv", "background:r.csv"])
def test_players_without_influence_change_nothing(boolshap, index, players, distribution):
    """With 26 additional features there are more players than the exponential modes allow."""
    rng = np.random.default_rng(5)
    features = ["op=A", "op=B", "op=C", "x", "y"]
    f = Formula(5, [[1, 4], [2, -4, 5], [-3, -5]])
    extra = [f"d{i}" for i in range(16)] + [f"g{i}={value}" for i in range(5) for value in "ab"]
    wide = rng.permutation(features + extra).tolist()
    moved = Formula(len(wide), [
        [int(math.copysign(wide.index(features[abs(lit) - 1]) + 1, lit)) for lit in clause] for clause in f.clauses
    ])
    compile_formula(boolshap, f, features, "narrow.bsc")
    compile_formula(boolshap, moved, wide, "wide.bsc")

    def draw(rows):
        drawn = []
        for row in rng.choice(one_hot_rows(features), rows).tolist():
            cells = dict(zip(features, row)) | {name: int(rng.integers(2)) for name in extra}
            cells |= {f"g{i}=b": 1 - cells[f"g{i}=a"] for i in range(5)}
            drawn.append([cells[name] for name in wide])
        return drawn

    write_table(boolshap.folder / "e.csv", wide, draw(4))
    write_table(boolshap.folder / "r.csv", wide, draw(9))
    options = ["--players", players, "--distribution", distribution, "--index", index]
    narrow, broad = (exact_rows(boolshap, f"{name}.bsc", "e.csv", *options) for name in ("narrow", "wide"))
    for few, many in zip(narrow, broad):
        # The columns are in another order, which swaps the names in some pairs.
        unordered = lambda name: frozenset(name.split("*"))
        few, many = ({unordered(name): cell for name, cell in row.items()} for row in (few, many))
        assert {name: many[name] for name in few} == few
        assert {many[name] for name in many.keys() - few.keys()} == {"0"}
    close(float_scores(boolshap, "wide.bsc", "e.csv", *options),
          [[float(Fraction(cell)) for cell in list(row.values())[1:]] for row in broad])


@pytest.mark.parametrize("clauses, label", [([], 1), ([[1], [-1]], 0)])
def test_constant_labels_score_nothing(boolshap, clauses, label):
    features = ["op=A", "op=B", "x"]
    compile_formula(boolshap, Formula(3, clauses), features)
    Formula(3, [[1, 3]]).write(boolshap.folder / "k.cnf")
    rows = [(1, 0, 0), (0, 1, 1)]
    for name in ["e.csv", "r.csv"]:
        write_table(boolshap.folder / name, features, rows)
    write_table(boolshap.folder / "p.csv", ["feature", "player"], zip(features, "aba"))
    kinds = [[], *(["--distribution", f"{kind}:r.csv"] for kind in ["product", "background", "empirical"])]
    for kind, players in itertools.product([*kinds, ["--constraint", "k.cnf"]], ["features", "columns", "p.csv"]):
        for row in exact_rows(boolshap, "c.bsc", "e.csv", *kind, "--players", players):
            assert list(row.values())[:2] == [str(label)] * 2 and set(list(row.values())[2:]) == {"0"}


def test_one_player_takes_it_all(boolshap):
    features = ["a", "b", "c"]
    f = Formula(3, [[1, 2], [-1, 3]])
    compile_formula(boolshap, f, features)
    write_table(boolshap.folder / "e.csv", features, all_rows(3))
    write_table(boolshap.folder / "p.csv", ["feature", "player"], [(name, "all") for name in features])
    for index in ["shapley", "banzhaf"]:
        rows = exact_rows(boolshap, "c.bsc", "e.csv", "--players", "p.csv", "--index", index)
        base = Fraction(sum(map(f, all_rows(3))), 8)
        assert rows == [
            {"prediction": str(f(e)), "base_value": str(base), "all": str(f(e) - base)} for e in all_rows(3)
        ]
    rows = exact_rows(boolshap, "c.bsc", "e.csv", "--players", "p.csv", "--index", "interaction")
    assert [list(row) for row in rows] == [["prediction", "base_value"]] * 8


# Columns in a schema, raw rows and stored marginals.

SCHEMA = [
    {"column": "size", "code": {"above": 1.5}},
    {"column": "kind", "code": {"categories": ["A", "B", "C"]}},
    {"column": "age", "code": {"bins": [10.0, 20.0]}},
    # Its name alone would suggest a value of a column 'flag'.
    {"column": "flag=on", "code": "boolean"},
]
SCHEMA_FEATURES = ["size", "kind=A", "kind=B", "kind=C", "age=..10", "age=10..20", "age=20..", "flag=on"]
SCHEMA_GROUPS = {"size": [0], "kind": [1, 2, 3], "age": [4, 5, 6], "flag=on": [7]}
SCHEMA_ROWS = [
    ((2, "A", 5, 1), (1, 1, 0, 0, 1, 0, 0, 1)),
    ((1, "C", 15, 0), (0, 0, 0, 1, 0, 1, 0, 0)),
    ((1, "B", 99, 1), (0, 0, 1, 0, 0, 0, 1, 1)),
    ((3, "B", 20, 0), (1, 0, 1, 0, 0, 1, 0, 0)),
]
SCHEMA_ONES, SCHEMA_TOTAL = [7, 4, 11, 5, 13, 6, 1, 20], 20
# The gate is true if the inputs that have their weight's sign weigh at least SCHEMA_NEED.
SCHEMA_WEIGHTS, SCHEMA_NEED = [3, -2, 1, 4, -1, 2, -3, 2], 10


def schema_label(row):
    return int(sum(abs(w) for w, value in zip(SCHEMA_WEIGHTS, row) if (w > 0) == value) >= SCHEMA_NEED)


@pytest.fixture
def schema_circuit(boolshap):
    model = {
        "format": "boolshap model", "version": 1, "features": SCHEMA_FEATURES, "classes": None, "schema": SCHEMA,
        "marginals": {"rows": SCHEMA_TOTAL, "ones": SCHEMA_ONES}, "hidden": [], "provenance": {},
        "output": {"step": {"weights": " ".join(map(str, SCHEMA_WEIGHTS)), "need": str(SCHEMA_NEED)}},
    }
    (boolshap.folder / "m.json").write_text(json.dumps(model))
    boolshap("compile", "m.json", "-o", "c.bsc")
    write_table(boolshap.folder / "raw.csv", [c["column"] for c in SCHEMA], [raw for raw, _ in SCHEMA_ROWS])
    return "c.bsc"


@pytest.mark.parametrize("players", ["features", "columns"])
@pytest.mark.parametrize("distribution", ["uniform", "product", "background", "empirical"])
def test_columns_of_a_schema(boolshap, schema_circuit, players, distribution):
    entities = [bits for _, bits in SCHEMA_ROWS]
    assert {schema_label(e) for e in entities} == {0, 1}
    groups = SCHEMA_GROUPS if players == "columns" else {name: [i] for i, name in enumerate(SCHEMA_FEATURES)}
    build, option = interventional, distribution
    if distribution in ["background", "empirical"]:
        rows = [SCHEMA_ROWS[i] for i in (0, 3, 3, 2)]
        write_table(boolshap.folder / "r.csv", [c["column"] for c in SCHEMA], [raw for raw, _ in rows])
        option, population = f"{distribution}:r.csv", sample([bits for _, bits in rows])
        build = conditional if distribution == "empirical" else interventional
    else:
        stored = lambda i, _: Fraction(SCHEMA_ONES[i], SCHEMA_TOTAL)
        equal = lambda _, values: Fraction(1, max(values, 2))
        chance = stored if distribution == "product" else equal
        block = lambda g: bit(g[0], chance(g[0], 1)) if len(g) == 1 else one_hot(g, [chance(i, len(g)) for i in g])
        population = independent([block(g) for g in groups.values()])
    games = [build(schema_label, population, groups, e) for e in entities]
    for index, exact in itertools.product(INDICES if players == "columns" else ["shapley"], [False, True]):
        expected = expected_table(schema_label, games, entities, list(groups), index)
        options = ["--players", players, "--distribution", option, "--index", index]
        agrees(boolshap, schema_circuit, "raw.csv", expected, exact, *options)


def test_a_missing_category_is_no_value_of_a_column(boolshap, schema_circuit):
    header = [c["column"] for c in SCHEMA]
    write_table(boolshap.folder / "hole.csv", header, [(2, "A", 5, 1), (2, "B", 5, 1), (2, "", 5, 1)])
    explain(boolshap, schema_circuit, "hole.csv")
    assert "row 3" in refused(boolshap, 1, schema_circuit, "hole.csv", "--players", "columns")
    assert "row 3" in refused(
        boolshap, 1, schema_circuit, "raw.csv", "--players", "columns", "--distribution", "background:hole.csv"
    )
