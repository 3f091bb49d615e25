"""Every distribution, choice of players, index and engine of `explain`, judged by the definitions themselves: fractions
summed over all sets of players. The program is asked only for what is tested; labels come from formulas and networks
that are evaluated here."""

import csv
import itertools
import json
import math
import os
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

# The definitions.
#
# A game v gives a value to every frozenset of players. Groups map a player to the positions of its features. A
# population is a list of rows (tuples of bits) with whole-number weights.


def subsets(players):
    return [frozenset(s) for size in range(len(players) + 1) for s in itertools.combinations(players, size)]


def shapley(v, players):
    n = len(players)
    weight = lambda s: Fraction(math.factorial(len(s)) * math.factorial(n - len(s) - 1), math.factorial(n))
    without = lambda i: subsets([j for j in players if j != i])
    return {i: sum((weight(s) * (v(s | {i}) - v(s)) for s in without(i)), Fraction()) for i in players}


def banzhaf(v, players):
    without = lambda i: subsets([j for j in players if j != i])
    return {i: sum((v(s | {i}) - v(s) for s in without(i)), Fraction()) / len(without(i)) for i in players}


def interaction(v, players):
    n = len(players)
    weight = lambda s: Fraction(math.factorial(len(s)) * math.factorial(n - len(s) - 2), math.factorial(n - 1))
    scores = {}
    for i, j in itertools.combinations(players, 2):
        sets = subsets([k for k in players if k not in (i, j)])
        terms = (weight(s) * (v(s | {i, j}) - v(s | {i}) - v(s | {j}) + v(s)) for s in sets)
        scores[f"{i}*{j}"] = sum(terms, Fraction())
    return scores


INDICES = {"shapley": shapley, "banzhaf": banzhaf, "interaction": interaction}
CHECKED = {"shapley": "sum", "banzhaf": "nothing", "interaction": "interactions"}


def interventional(f, population, groups, entity):
    """Players in S take the entity's bits, all other bits are those of a row of the population."""
    total = sum(weight for _, weight in population)

    @cache
    def v(s):
        fixed = {i for player in s for i in groups[player]}
        mixed = lambda row: tuple(entity[i] if i in fixed else bit for i, bit in enumerate(row))
        return Fraction(sum(weight * f(mixed(row)) for row, weight in population), total)

    return v


def conditional(f, population, groups, entity):
    """The mean label of the rows that agree with the entity on S; of all rows where none does."""

    @cache
    def v(s):
        if len(s) == len(groups):
            return Fraction(f(entity))
        fixed = [i for player in s for i in groups[player]]
        agreeing = [(row, weight) for row, weight in population if all(row[i] == entity[i] for i in fixed)]
        if not agreeing:
            return v(frozenset())
        return Fraction(sum(weight * f(row) for row, weight in agreeing), sum(weight for _, weight in agreeing))

    return v


def all_rows(n):
    return list(itertools.product((0, 1), repeat=n))


def sample(rows):
    return [(row, 1) for row in rows]


def bit(position, probability):
    """A block of one bit for `independent`."""
    return [position], [((0,), 1 - probability), ((1,), probability)]


def one_hot(positions, probabilities):
    """A block of bits of which one is 1, for `independent`."""
    unit = lambda value: tuple(int(i == value) for i in range(len(positions)))
    return positions, [(unit(value), probability) for value, probability in enumerate(probabilities)]


def independent(blocks):
    """The rows whose blocks (positions, [(bits, probability), ...]) are drawn independently of each other."""
    weighted = []
    for choice in itertools.product(*(options for _, options in blocks)):
        row = {}
        for (positions, _), (bits, _) in zip(blocks, choice):
            row.update(zip(positions, bits))
        weight = math.prod((probability for _, probability in choice), start=Fraction(1))
        weighted.append((tuple(row[i] for i in range(len(row))), weight))
    scale = math.lcm(*(weight.denominator for _, weight in weighted))
    return [(row, int(weight * scale)) for row, weight in weighted if weight]


# The same for more players than fractions reach: games as arrays, indexed by sets of players as bit masks.


def shapley_of_table(v):
    n = len(v).bit_length() - 1
    masks = np.arange(len(v))
    sizes = sum(masks >> i & 1 for i in range(n))
    weights = np.array([math.factorial(s) * math.factorial(n - s - 1) / math.factorial(n) for s in range(n)])
    scores = []
    for i in range(n):
        without = masks[masks >> i & 1 == 0]
        scores.append((weights[sizes[without]] * (v[without | 1 << i] - v[without])).sum())
    return np.array(scores)


def conditional_table(rows, labels, entity, groups, own_label):
    """`conditional` for equally heavy rows: counts by set of agreeing players, summed over supersets."""
    n = len(groups)
    agree = [(rows[:, positions] == entity[positions]).all(axis=1) for positions in groups.values()]
    masks = sum(column.astype(int) << player for player, column in enumerate(agree))
    ones, counts = np.bincount(masks, labels, 1 << n), np.bincount(masks, minlength=1 << n).astype(float)
    for player in range(n):
        for table in (ones, counts):
            halves = table.reshape(-1, 2, 1 << player)
            halves[:, 0] += halves[:, 1]
    v = np.where(counts > 0, ones / np.maximum(counts, 1), ones[0] / counts[0])
    v[-1] = own_label
    return v


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
    # v: nothing 0, a 2/3, b 0, both 0
    v = interventional(both, sample([(0, 1), (0, 1), (1, 0)]), features, (1, 0))
    assert shapley(v, ["a", "b"]) == {"a": Fraction(1, 3), "b": Fraction(-1, 3)}
    # v: nothing 1/2, a 1, b 0, both 0
    v = conditional(both, sample([(1, 1), (0, 0)]), features, (1, 0))
    assert shapley(v, ["a", "b"]) == {"a": Fraction(1, 4), "b": Fraction(-3, 4)}
    # No row has a = 1. v: nothing 1/2, a 1/2, b 1, both 1
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


# Formulas, files and runs.


class Formula:
    """A CNF over features given by position."""

    def __init__(self, variables, clauses):
        self.variables, self.clauses = variables, [list(map(int, clause)) for clause in clauses]

    def __call__(self, row):
        return int(all(any(row[abs(lit) - 1] == (lit > 0) for lit in clause) for clause in self.clauses))

    def labels(self, rows):
        holds = [np.any([rows[:, abs(lit) - 1] == (lit > 0) for lit in clause], axis=0) for clause in self.clauses]
        return np.all(holds, axis=0).astype(int)

    def write(self, path):
        lines = [" ".join(map(str, [*clause, 0])) for clause in self.clauses]
        path.write_text("\n".join([f"p cnf {self.variables} {len(lines)}", *lines, ""]))
        return path.name


def random_formula(rng, variables, mentioned, clauses, rows, low, high):
    """A formula that depends on each of the mentioned positions, and holds for a share of the rows within limits."""
    while True:
        sizes = rng.integers(2, 4, clauses).clip(max=len(mentioned))
        chosen = [rng.choice(mentioned, size, replace=False) for size in sizes]
        f = Formula(variables, [(positions + 1) * rng.choice([-1, 1], len(positions)) for positions in chosen])
        share = np.mean([f(row) for row in rows])
        flipped = lambda row, i: row[:i] + (1 - row[i],) + row[i + 1:]
        matters = lambda i: any(f(row) != f(flipped(row, i)) for row in all_rows(variables))
        if low <= share <= high and all(matters(i) for i in mentioned):
            return f


def column_groups(features):
    groups = {}
    for position, name in enumerate(features):
        groups.setdefault(name.split("=")[0], []).append(position)
    return groups


def one_hot_rows(features):
    groups = [positions for positions in column_groups(features).values() if "=" in features[positions[0]]]
    return [row for row in all_rows(len(features)) if all(sum(row[i] for i in g) == 1 for g in groups)]


def write_table(path, header, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path.name


def compile_formula(boolshap, f, features, name="c.bsc"):
    f.write(boolshap.folder / "f.cnf")
    write_table(boolshap.folder / "names.csv", features, [])
    boolshap("compile", "f.cnf", "-o", name, "--features", "names.csv")
    return name


def explain(boolshap, circuit, data, *options):
    """Header, rows as texts, and what the command says about them."""
    said = boolshap.json("explain", circuit, data, "-o", "s.csv", *options)
    with open(boolshap.folder / "s.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert said["rows"] == len(rows)
    return header, rows, said


def exact_rows(boolshap, circuit, data, *options):
    """Each row as a dictionary of texts, which are fractions."""
    header, rows, _ = explain(boolshap, circuit, data, "--exact", *options)
    return [dict(zip(header, row)) for row in rows]


def float_scores(boolshap, circuit, data, *options):
    """Base values and scores as an array."""
    return np.array(explain(boolshap, circuit, data, *options)[1], dtype=float)[:, 1:]


def close(found, expected):
    np.testing.assert_allclose(np.array(found, dtype=float), np.array(expected, dtype=float), rtol=0, atol=1e-9)


def expected_table(f, games, entities, players, index):
    """The header and rows that the definition gives."""
    scores = [INDICES[index](v, players) for v in games]
    table = [[f(e), v(frozenset()), *s.values()] for e, v, s in zip(entities, games, scores)]
    return ["prediction", "base_value", *scores[0]], table


def agrees(boolshap, circuit, data, expected, exact, *options):
    """A run gives the expected header and rows: equal texts for fractions, 1e-9 for floats."""
    header, rows, said = explain(boolshap, circuit, data, *options, *["--exact"][:exact])
    names, table = expected
    assert header == names
    assert [row[0] for row in rows] == [str(row[0]) for row in table]
    means = [sum(map(abs, column)) / Fraction(len(table)) for column in list(zip(*table))[2:]]
    found = said["mean_absolute"]
    assert sorted(found) == sorted(names[2:])
    if exact:
        assert rows == [[str(cell) for cell in row] for row in table]
        assert found == {name: str(mean) for name, mean in zip(names[2:], means)}
    else:
        close(rows, table)
        close([found[name] for name in names[2:]], means)
    return said


def refused(boolshap, code, *arguments):
    """The message of a run that fails and leaves nothing behind."""
    before = sorted(os.listdir(boolshap.folder))
    said = boolshap("explain", *arguments, "-o", "refused.csv", code=code)
    assert sorted(os.listdir(boolshap.folder)) == before and said.stdout == ""
    return said.stderr


# Every mode against the definition.

# Names of the features, and those that the formula depends on.
WORLDS = {
    "three features": (["op=A", "x", "op=B"], ["op=A", "x", "op=B"]),
    "columns alone": (["op=A", "op=B", "t=1", "t=2", "t=3"], ["op=A", "op=B", "t=1", "t=2", "t=3"]),
    "apart from each other": (["k=1", "u", "k=2", "w", "k=3", "v"], ["k=1", "u", "k=2", "w", "k=3", "v"]),
    # One bit of op is not mentioned, and no bit of size.
    "columns in part": (["op=A", "x", "op=B", "z", "op=C", "size=S", "size=L"], ["op=A", "x", "z", "op=C"]),
}
# Probabilities for plain bits and for columns of so many values; 0.6 + 0.3 + 0.1 is 1, though not in floats.
AWKWARD = ["0.1", "0.35", "0", "1", "0.75", "0.3333333333333333333333"]
AWKWARD_COLUMNS = {2: ["0", "1"], 3: ["0.6", "0.3", "0.1"]}
# Under a constraint every row needs some weight.
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
    """A random formula and, for a mode, random rows that it allows with the game of every entity."""

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
        # Two that differ, others, and the first again.
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
        """A file that mixes features into players; these stand in the order of their first feature, unlike the file."""
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
        for engine, exact in itertools.product(engines, [False, True]):
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
    # No row has a = 1. v: nothing, a, c, ab and ac 1/2, b and bc 0, all 1
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
    """Beside 26 more features, more players than the exponential modes take."""
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
        # The columns stand in another order, which turns some pairs round.
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


# Columns that a schema knows, raw rows and stored marginals.

SCHEMA = [
    {"column": "size", "code": {"above": 1.5}},
    {"column": "kind", "code": {"categories": ["A", "B", "C"]}},
    {"column": "age", "code": {"bins": [10.0, 20.0]}},
    # By its name alone this would be a value of a column 'flag'.
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
# The gate holds when the weight of the inputs that have their weight's sign reaches the need.
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


# How many players.


def chain(features):
    """A formula of a clause for every two neighbours of the first six features."""
    return Formula(features, [[1, 2], [-2, 3], [3, -4], [-5, 6]])


def test_twenty_players_of_a_sample(boolshap):
    rng = np.random.default_rng(20)
    features = [f"x{i + 1}" for i in range(20)]
    f = chain(20)
    compile_formula(boolshap, f, features)
    entities, rows = rng.integers(0, 2, (2, 20)), rng.integers(0, 2, (40, 20))
    write_table(boolshap.folder / "e.csv", features, entities.tolist())
    write_table(boolshap.folder / "r.csv", features, rows.tolist())
    groups = {name: [i] for i, name in enumerate(features)}
    labels = f.labels(rows)
    tables = [conditional_table(rows, labels, e, groups, f(e)) for e in entities]
    found = float_scores(boolshap, "c.bsc", "e.csv", "--distribution", "empirical:r.csv")
    close(found, [[v[0], *shapley_of_table(v)] for v in tables])


@pytest.mark.parametrize("mode", ["empirical", "constraint"])
def test_the_limit_counts_columns_not_bits(boolshap, mode):
    rng = np.random.default_rng(22)
    features = [f"c{i}={value}" for i in range(11) for value in "ab"]
    groups = column_groups(features)
    f, k = Formula(22, [[1, 3], [-3, 6, 9], [-5, 12], [2, 15]]), Formula(22, [[1, 3, 5], [-7, 9], [17, -20]])
    compile_formula(boolshap, f, features)
    values = np.array(all_rows(11))
    rows = np.stack([values, 1 - values], axis=2).reshape(len(values), 22)
    if mode == "constraint":
        options = ["--constraint", k.write(boolshap.folder / "k.cnf")]
        rows = rows[k.labels(rows) == 1]
    else:
        rows = rows[rng.integers(0, len(rows), 60)]
        options = ["--distribution", f"empirical:{write_table(boolshap.folder / 'r.csv', features, rows.tolist())}"]
    entities = rows[rng.integers(0, len(rows), 3)]
    write_table(boolshap.folder / "e.csv", features, entities.tolist())
    labels = f.labels(rows)
    tables = [conditional_table(rows, labels, e, groups, f(e)) for e in entities]
    found = float_scores(boolshap, "c.bsc", "e.csv", "--players", "columns", *options)
    close(found, [[v[0], *shapley_of_table(v)] for v in tables])


@pytest.mark.parametrize("mode", ["empirical", "constraint", "players"])
def test_more_than_twenty_players_are_refused_where_time_doubles_with_each(boolshap, mode):
    # A player of two features leaves 21 players of 22 features.
    n = 22 if mode == "players" else 21
    features = [f"x{i + 1}" for i in range(n)]
    compile_formula(boolshap, Formula(n, [[i, i + 1] for i in range(1, n)]), features)
    entity = [1] * n
    write_table(boolshap.folder / "e.csv", features, [entity])
    Formula(n, [[1, 2]]).write(boolshap.folder / "k.cnf")
    players = [(name, "x1" if name == "x2" else name) for name in features]
    write_table(boolshap.folder / "p.csv", ["feature", "player"], players)
    options = {
        "empirical": ["--distribution", "empirical:e.csv"],
        "constraint": ["--constraint", "k.cnf"],
        "players": ["--players", "p.csv"],
    }[mode]
    for index in INDICES:
        said = refused(boolshap, 1, "c.bsc", "e.csv", *options, "--index", index)
        assert "20" in said and ("--players columns" in said or "background" in said)


@pytest.mark.parametrize("distribution", ["uniform", "background:e.csv"])
def test_a_players_file_that_only_renames_has_no_limit(boolshap, distribution):
    rng = np.random.default_rng(25)
    features = [f"x{i + 1}" for i in range(25)]
    compile_formula(boolshap, chain(25), features)
    write_table(boolshap.folder / "e.csv", features, rng.integers(0, 2, (4, 25)).tolist())
    renaming = [(name, f"the {name}") for name in reversed(features)]
    write_table(boolshap.folder / "p.csv", ["feature", "player"], renaming)
    plain = exact_rows(boolshap, "c.bsc", "e.csv", "--distribution", distribution)
    renamed = exact_rows(boolshap, "c.bsc", "e.csv", "--distribution", distribution, "--players", "p.csv")
    assert list(renamed[0])[2:] == [f"the {name}" for name in features]
    assert [list(row.values()) for row in renamed] == [list(row.values()) for row in plain]
    # Without a column among the features, columns are features.
    assert exact_rows(boolshap, "c.bsc", "e.csv", "--distribution", distribution, "--players", "columns") == plain


# Each mode with one index: the definition takes seconds for an entity of so many features.
@pytest.mark.parametrize("options, index", [
    ([], "banzhaf"),
    (["--distribution", "background:r.csv"], "shapley"),
    (["--distribution", "empirical:r.csv"], "interaction"),
    (["--constraint", "k.cnf"], "shapley"),
    (["--players", "columns"], "interaction"),
    (["--players", "p.csv"], "shapley"),
])
def test_brute_force_takes_fourteen_features(boolshap, options, index):
    features = [f"x{i + 1}" for i in range(12)] + ["op=A", "op=B"]
    f = Formula(14, [*chain(14).clauses, [7, -8, 13], [9, 10, -11], [-12, 14]])
    compile_formula(boolshap, f, features)
    Formula(14, [[1, 2, 13], [-3, 14]]).write(boolshap.folder / "k.cnf")
    rows = np.random.default_rng(14).integers(0, 2, (40, 14))
    rows[:, 13] = 1 - rows[:, 12]
    rows[:2, [0, 2]] = 1, 0
    assert 0 < f.labels(rows).sum() < 40
    write_table(boolshap.folder / "e.csv", features, rows[:1].tolist())
    write_table(boolshap.folder / "r.csv", features, rows.tolist())
    players = [(name, name if i < 8 else f"p{i % 2}") for i, name in enumerate(features)]
    write_table(boolshap.folder / "p.csv", ["feature", "player"], players)
    default = float_scores(boolshap, "c.bsc", "e.csv", *options, "--index", index)
    dumb = float_scores(boolshap, "c.bsc", "e.csv", *options, "--index", index, "--engine", "brute-force")
    close(default, dumb)
    assert np.abs(default[:, 1:]).max() > 0.01


# Other judges.


def test_background_rows_against_shap(boolshap, request, monkeypatch):
    # Compiling shap's loops takes longer than running them on so few rows.
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    try:
        import shap
    except ImportError as error:
        if "BOOLSHAP_SKIPPED" in os.environ:
            with open(os.environ["BOOLSHAP_SKIPPED"], "a") as skipped:
                skipped.write(f"{request.node.name}: the Python package shap\n")
        pytest.skip(f"shap cannot be imported: {error}")
    rng = np.random.default_rng(9)
    features = [f"x{i + 1}" for i in range(7)]
    f = random_formula(rng, 7, range(6), 5, all_rows(7), 0.3, 0.7)
    compile_formula(boolshap, f, features)
    entities, background = rng.integers(0, 2, (12, 7)), rng.integers(0, 2, (130, 7))
    background[:3] = entities[0]
    write_table(boolshap.folder / "e.csv", features, entities.tolist())
    write_table(boolshap.folder / "r.csv", features, background.tolist())
    masker = shap.maskers.Independent(background, max_samples=len(background))
    theirs = shap.ExactExplainer(lambda rows: f.labels(rows).astype(float), masker)(entities)
    ours = float_scores(boolshap, "c.bsc", "e.csv", "--distribution", "background:r.csv")
    close(ours[:, 0], theirs.base_values)
    close(ours[:, 1:], theirs.values)
    assert np.abs(ours[:, 1:6]).max() > 0.1 and (ours[:, 7] == 0).all()


@pytest.mark.parametrize("distribution", ["uniform", "background"])
def test_ocean_proximity_of_the_papers_network_as_one_player(boolshap, shared_data, distribution):
    cnf, data = shared_data("paper/paper_bnn_2391.cnf"), shared_data("paper/entities_100.csv")
    with open(data, newline="") as file:
        features, *rows = csv.reader(file)
    rows = np.array(rows, dtype=int)
    names = ["ocean_proximity" if name.startswith("op_") else name for name in features]
    groups = {name: [i for i in range(13) if names[i] == name] for name in dict.fromkeys(names)}
    assert len(groups) == 9
    boolshap("compile", cnf, "-o", "c.bsc", "--features", data)
    write_table(boolshap.folder / "p.csv", ["feature", "player"], zip(features, names))
    write_table(boolshap.folder / "e.csv", features, rows[:5].tolist())
    clauses = [line.split()[:-1] for line in cnf.read_text().splitlines() if line[:1] not in ("c", "p", "")]
    table = Formula(13, clauses).labels(np.arange(1 << 13)[:, None] >> np.arange(13) & 1)
    numbers = rows @ (1 << np.arange(13))
    population, option = np.arange(1 << 13), "uniform"
    if distribution == "background":
        population, option = numbers, f"background:{data}"
    expected = []
    for number in numbers[:5]:
        v = []
        for s in range(1 << len(groups)):
            fixed = sum(1 << i for player, g in enumerate(groups.values()) if s >> player & 1 for i in g)
            v.append(table[(number & fixed) | (population & ~fixed)].mean())
        expected.append([v[0], *shapley_of_table(np.array(v))])
    for engine in [[], ["--engine", "brute-force"]]:
        options = ["--players", "p.csv", "--distribution", option, *engine]
        assert explain(boolshap, "c.bsc", "e.csv", *options)[0][2:] == list(groups)
        close(float_scores(boolshap, "c.bsc", "e.csv", *options), expected)


# What the command says.


@pytest.mark.parametrize("players", ["features", "columns"])
@pytest.mark.parametrize("distribution", ["uniform", "background:e.csv", "empirical:e.csv", "product:e.csv"])
def test_the_summary_names_the_mode(boolshap, players, distribution):
    features = ["op=A", "op=B", "x"]
    compile_formula(boolshap, Formula(3, [[1, 3]]), features)
    write_table(boolshap.folder / "e.csv", features, [(1, 0, 0), (0, 1, 0), (1, 0, 0)])
    for exact in [[], ["--exact"]]:
        said = explain(
            boolshap, "c.bsc", "e.csv", "--players", players, "--distribution", distribution, *exact
        )[2]
        keys = {"rows", "distinct_rows", "seconds", "distribution", "players", "index", "engine", "checked"}
        assert keys | {"mean_absolute"} <= said.keys()
        assert (said["rows"], said["distinct_rows"], said["seconds"] >= 0) == (3, 2, True)
        assert said["distribution"].startswith(distribution.split(":")[0])
        assert (said["players"], said["index"], said["checked"]) == (players, "shapley", "sum")
        assert said["engine"] in (["exact", "paper"] if exact else ["fast", "exact"])
        assert set(said["mean_absolute"]) == set(features if players == "features" else ["op", "x"])
        assert all(isinstance(value, str if exact else float) for value in said["mean_absolute"].values())
    if (players, distribution) == ("features", "uniform"):
        assert explain(boolshap, "c.bsc", "e.csv")[2]["engine"] == "fast"


# Wrong usage and bad input.

FEATURES = ["op=A", "op=B", "op=C", "x", "y"]


@pytest.fixture
def small(boolshap):
    """A circuit with files that fit it."""
    compile_formula(boolshap, Formula(5, [[1, 4], [2, -4, 5]]), FEATURES)
    rows = [(1, 0, 0, 1, 0), (0, 1, 0, 0, 1), (0, 0, 1, 1, 1)]
    for name in ["e.csv", "r.csv"]:
        write_table(boolshap.folder / name, FEATURES, rows)
    Formula(5, [[1, 2, 3]]).write(boolshap.folder / "k.cnf")
    write_table(boolshap.folder / "p.csv", ["feature", "player"], zip(FEATURES, "aabbc"))
    return "c.bsc"


@pytest.mark.parametrize("options", [
    ["--distribution", "background:r.csv"], ["--distribution", "empirical:r.csv"], ["--constraint", "k.cnf"],
    ["--players", "columns"], ["--players", "p.csv"], ["--index", "banzhaf"], ["--index", "interaction"],
])
def test_the_papers_algorithm_takes_independent_features_only(boolshap, small, options):
    for exact in [[], ["--exact"]]:
        assert "paper" in refused(boolshap, 2, small, "e.csv", "--engine", "paper", *options, *exact)


@pytest.mark.parametrize("options", [
    [], ["--distribution", "background:r.csv"], ["--distribution", "empirical:r.csv"], ["--constraint", "k.cnf"],
    ["--players", "columns"], ["--index", "interaction"],
])
def test_fractions_are_not_the_fast_engines(boolshap, small, options):
    assert "floats" in refused(boolshap, 2, small, "e.csv", "--engine", "fast", "--exact", *options)


def test_a_constraint_goes_with_independent_features(boolshap, small):
    for kind in ["background", "empirical"]:
        said = refused(boolshap, 2, small, "e.csv", "--constraint", "k.cnf", "--distribution", f"{kind}:r.csv")
        assert "--constraint" in said


@pytest.mark.parametrize("option, value", [
    ("--index", "owen"), ("--distribution", "gaussian"), ("--distribution", "backgrounds:r.csv"), ("--engine", "slow"),
])
def test_unknown_words_are_wrong_usage(boolshap, small, option, value):
    assert value in refused(boolshap, 2, small, "e.csv", option, value)


@pytest.mark.parametrize("players", ["features", "columns", "p.csv"])
def test_an_entity_that_breaks_the_constraint_is_named(boolshap, small, players):
    # The second row has x = 0 and is the first that breaks it.
    Formula(5, [[4]]).write(boolshap.folder / "k.cnf")
    options = ["--constraint", "k.cnf", "--players", players]
    for exact in [[], ["--exact"], ["--engine", "brute-force"]]:
        assert "row 2" in refused(boolshap, 1, small, "e.csv", *options, *exact)
    Formula(5, [[4], [-4]]).write(boolshap.folder / "k.cnf")
    refused(boolshap, 1, small, "e.csv", *options)


@pytest.mark.parametrize("row", [(0, 0, 0, 1, 1), (1, 0, 1, 1, 1), (1, 1, 1, 1, 1)])
def test_a_row_without_exactly_one_value_of_a_column_is_named(boolshap, small, row):
    write_table(boolshap.folder / "bad.csv", FEATURES, [(1, 0, 0, 0, 0), row, (0, 1, 0, 0, 0)])
    columns = ["--players", "columns"]
    for mode in [[], ["--constraint", "k.cnf"], ["--distribution", "background:r.csv"],
                 ["--distribution", "empirical:r.csv"], ["--index", "banzhaf"], ["--engine", "brute-force"]]:
        assert "row 2" in refused(boolshap, 1, small, "bad.csv", *columns, *mode)
    for kind in ["background", "empirical"]:
        said = refused(boolshap, 1, small, "e.csv", *columns, "--distribution", f"{kind}:bad.csv")
        assert "row 2" in said and "bad.csv" in said
        # Bits by themselves may be anything.
        explain(boolshap, small, "bad.csv", "--distribution", f"{kind}:bad.csv")


@pytest.mark.parametrize("third", ["0.05", "0.25", "0.10000000000000000001", "0"])
def test_a_columns_probabilities_add_up_to_one(boolshap, small, third):
    rows = list(zip(FEATURES, ["0.6", "0.3", third, "0.3", "0.4"]))
    write_table(boolshap.folder / "w.csv", ["feature", "probability"], rows)
    for mode in [[], ["--exact"], ["--constraint", "k.cnf"]]:
        options = ["--players", "columns", "--distribution", "product:w.csv", *mode]
        assert "'op'" in refused(boolshap, 1, small, "e.csv", *options)
    explain(boolshap, small, "e.csv", "--distribution", "product:w.csv")
    rows[2] = (FEATURES[2], "0.1")
    write_table(boolshap.folder / "w.csv", ["feature", "probability"], rows)
    explain(boolshap, small, "e.csv", "--players", "columns", "--distribution", "product:w.csv")


@pytest.mark.parametrize("rows, named", [
    ([("op=A", "a"), ("op=B", "a"), ("op=C", "b"), ("y", "b")], "'x'"),
    ([("op=A", "a"), ("op=B", "a"), ("op=C", "b"), ("x", "b"), ("y", "b"), ("op=B", "b")], "'op=B'"),
    ([("op=A", "a"), ("op=B", "a"), ("op=C", "b"), ("x", "b"), ("y", "b"), ("weather", "b")], "'weather'"),
])
def test_a_players_file_has_every_feature_once(boolshap, small, rows, named):
    write_table(boolshap.folder / "w.csv", ["feature", "player"], rows)
    said = refused(boolshap, 1, small, "e.csv", "--players", "w.csv")
    assert named in said and "w.csv" in said


def test_files_that_are_not_there_or_not_what_they_should_be(boolshap, small):
    for options in [["--players", "none.csv"], ["--constraint", "none.cnf"], *(
        ["--distribution", f"{kind}:none.csv"] for kind in ["product", "background", "empirical"]
    )]:
        assert "none.c" in refused(boolshap, 1, small, "e.csv", *options)
    write_table(boolshap.folder / "w.csv", FEATURES[:4], [(1, 0, 0, 1)])
    write_table(boolshap.folder / "empty.csv", FEATURES, [])
    for kind in ["background", "empirical"]:
        assert "'y'" in refused(boolshap, 1, small, "e.csv", "--distribution", f"{kind}:w.csv")
        assert "empty.csv" in refused(boolshap, 1, small, "e.csv", "--distribution", f"{kind}:empty.csv")
    write_table(boolshap.folder / "w.csv", ["feature", "who"], zip(FEATURES, "aabbc"))
    assert "'player'" in refused(boolshap, 1, small, "e.csv", "--players", "w.csv")


# Several classes.

CLASS_FEATURES = ["op=A", "op=B", "op=C", "x", "y", "z"]


class Classes:
    """A network with weights +-1 for three classes, of which the first with the greatest score is the answer. With
    `twin` the last class has the weights of the first, and so is never the answer."""

    def __init__(self, boolshap, twin):
        rng = np.random.default_rng(3)
        rows = np.array(one_hot_rows(CLASS_FEATURES))
        while True:
            self.hidden, self.output = rng.choice([-1, 1], (4, 6)), rng.choice([-1, 1], (3, 4))
            if twin:
                self.output[2] = self.output[0]
            counts = np.bincount(self.numbers(rows), minlength=3)
            scores = np.sort(self.scores(rows), axis=1)
            ties = (scores[:, 2] == scores[:, 1]).any()
            if ties and (counts[:2] >= 4).all() and (twin or counts[2] >= 4):
                break
        for name, weights in [("blk1", self.hidden), ("out_blk", self.output)]:
            block = boolshap.folder / "net" / name
            block.mkdir(parents=True)
            np.savetxt(block / "lin_weight.csv", weights, delimiter=",", fmt="%d")
            np.savetxt(block / "lin_bias.csv", np.zeros((1, len(weights))), delimiter=",", fmt="%d")
        write_table(boolshap.folder / "names.csv", CLASS_FEATURES, [])
        boolshap("import", "net", "-o", "m.json", "--features", "names.csv")
        boolshap("compile", "m.json", "-o", "all.bsc", "--class", "all")
        self.entities = [tuple(row) for row in rows.tolist()]
        write_table(boolshap.folder / "e.csv", CLASS_FEATURES, self.entities)
        self.background = [self.entities[i] for i in (0, 5, 5, 9, 14, 20, 23)]
        write_table(boolshap.folder / "r.csv", CLASS_FEATURES, self.background)

    def scores(self, rows):
        return np.where((2 * rows - 1) @ self.hidden.T >= 0, 1, -1) @ self.output.T

    def numbers(self, rows):
        return self.scores(rows).argmax(axis=1)

    def answer(self, row):
        return int(self.numbers(np.array([row]))[0])

    def mode(self, players):
        """Options, players, and for each entity the games of the three classes."""
        if players == "columns":
            options = ["--players", "columns", "--distribution", "background:r.csv"]
            groups, population = column_groups(CLASS_FEATURES), sample(self.background)
        else:
            options, groups = [], {name: [i] for i, name in enumerate(CLASS_FEATURES)}
            population = sample(all_rows(6))
        answers = {row: self.answer(row) for row in all_rows(6)}
        labels = [lambda row, k=k: int(answers[row] == k) for k in range(3)]
        games = [[interventional(f, population, groups, e) for f in labels] for e in self.entities]
        return options, list(groups), games


@pytest.fixture(params=[False, True], ids=["three classes", "a class that is never the answer"])
def classes(boolshap, request):
    return Classes(boolshap, request.param)


@pytest.mark.parametrize("players", ["features", "columns"])
def test_each_class_against_the_definition(boolshap, classes, players):
    options, names, games = classes.mode(players)
    header = ["prediction", *(f"{name}:{k}" for k in range(3) for name in ["base_value", *names])]
    expected = []
    for entity, three in zip(classes.entities, games):
        cells = [[v(frozenset()), *shapley(v, names).values()] for v in three]
        assert [sum(column) for column in zip(*cells)] == [1] + [0] * len(names)
        expected.append([classes.answer(entity), *itertools.chain(*cells)])
    found, rows, _ = explain(boolshap, "all.bsc", "e.csv", "--class", "each", "--exact", *options)
    assert found == header and rows == [[str(cell) for cell in row] for row in expected]
    found, rows, said = explain(boolshap, "all.bsc", "e.csv", "--class", "each", *options)
    assert found == header and [row[0] for row in rows] == [str(row[0]) for row in expected]
    close(rows, expected)
    sums = np.array(rows, dtype=float)[:, 1:].reshape(len(rows), 3, -1).sum(axis=1)
    np.testing.assert_allclose(sums, [[1] + [0] * len(names)] * len(rows), rtol=0, atol=1e-12)
    means = dict(zip(header[1:], np.abs(np.array(expected, dtype=float)[:, 1:]).mean(axis=0)))
    scores = [name for name in header[1:] if not name.startswith("base_value")]
    assert sorted(said["mean_absolute"]) == sorted(scores)
    close([said["mean_absolute"][name] for name in scores], [means[name] for name in scores])


@pytest.mark.parametrize("players", ["features", "columns"])
def test_the_predicted_class_and_a_class_by_number(boolshap, classes, players):
    options, names, games = classes.mode(players)
    answers = [classes.answer(e) for e in classes.entities]
    assert len(set(answers)) >= 2

    def table(predictions, chosen):
        rows = [[p, v(frozenset()), *shapley(v, names).values()] for p, v in zip(predictions, chosen)]
        return ["prediction", "base_value", *names], rows

    predicted = table(answers, [three[answer] for answer, three in zip(answers, games)])
    for exact, chosen in itertools.product([False, True], [[], ["--class", "predicted"]]):
        agrees(boolshap, "all.bsc", "e.csv", predicted, exact, *options, *chosen)
    for k in range(3):
        single = table([int(answer == k) for answer in answers], [three[k] for three in games])
        boolshap("compile", "m.json", "-o", "one.bsc", "--class", k)
        for exact in [False, True]:
            agrees(boolshap, "all.bsc", "e.csv", single, exact, *options, "--class", k)
            agrees(boolshap, "one.bsc", "e.csv", single, exact, *options)


def test_classes_by_the_other_indices_and_engines(boolshap, classes):
    options, names, games = classes.mode("columns")
    answers = [classes.answer(e) for e in classes.entities]
    chosen = [three[answer] for answer, three in zip(answers, games)]
    for index in ["banzhaf", "interaction"]:
        scores = [INDICES[index](v, names) for v in chosen]
        rows = [[a, v(frozenset()), *s.values()] for a, v, s in zip(answers, chosen, scores)]
        expected = ["prediction", "base_value", *scores[0]], rows
        for exact, engine in itertools.product([False, True], [[], ["--engine", "brute-force"]]):
            agrees(boolshap, "all.bsc", "e.csv", expected, exact, *options, "--index", index, *engine)
