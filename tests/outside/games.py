"""The definitions of games and their indices in fractions, summed over all sets of players, and runs of the program for
comparison. Labels come from formulas that are evaluated here."""

import csv
import itertools
import math
import os
from fractions import Fraction
from functools import cache

import numpy as np

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
    """The mean label of the rows that agree with the entity on S, or of all rows if none agrees."""

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
    """A block of bits of which exactly one is 1, for `independent`."""
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


# The same for more players than fractions can handle: games as arrays, indexed by sets of players as bit masks.


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
    """`conditional` for rows of equal weight: counts by set of agreeing players, summed over supersets."""
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
    """A formula that depends on all mentioned positions and holds for a fraction of the rows between `low` and
    `high`."""
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
    """Header, rows as texts, and the command's JSON summary."""
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
    """The header and rows expected by the definition."""
    scores = [INDICES[index](v, players) for v in games]
    table = [[f(e), v(frozenset()), *s.values()] for e, v, s in zip(entities, games, scores)]
    return ["prediction", "base_value", *scores[0]], table


def agrees(boolshap, circuit, data, expected, exact, *options):
    """Checks that a run gives the expected header and rows: equal texts for fractions, within 1e-9 for floats."""
    header, rows, said = explain(boolshap, circuit, data, *options, *["--exact"][:exact])
    names, table = expected
    assert header == names
    assert [row[0] for row in rows] == [str(row[0]) for row in table]
    first = names.index("base_value") + 1
    means = [sum(map(abs, column)) / Fraction(len(table)) for column in list(zip(*table))[first:]]
    found = said["mean_absolute"]
    assert sorted(found) == sorted(names[first:])
    if exact:
        assert rows == [[str(cell) for cell in row] for row in table]
        assert found == {name: str(mean) for name, mean in zip(names[first:], means)}
    else:
        close(rows, table)
        close([found[name] for name in names[first:]], means)
    return said


def refused(boolshap, code, *arguments):
    """The error message of a run that fails; checks that it leaves no output file."""
    before = sorted(os.listdir(boolshap.folder))
    said = boolshap("explain", *arguments, "-o", "refused.csv", code=code)
    assert sorted(os.listdir(boolshap.folder)) == before and said.stdout == ""
    return said.stderr
