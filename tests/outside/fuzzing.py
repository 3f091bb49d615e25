"""Random cases for the whole program, and their expected results by the definitions, in fractions.

A world is a random source (formula, circuit of another program, network) with a table of its labels, compiled once. A
case is one run of `explain` on it: a distribution, a constraint, players, an index, a class, an engine, rows. The
definitions are independent of the program's methods: a game is a number for each set of players, summed over all
possible rows."""

import csv
import itertools
import json
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np

from games import Formula, write_table

# Scores of rare values have thousands of digits.
sys.set_int_max_str_digits(0)

INDICES = ["shapley", "banzhaf", "interaction"]
ORDERS = ["taylor:1", "taylor:2", "taylor:3", "ksii:1", "ksii:2", "ksii:3"]
# The error messages for cases that have no answer.
REFUSALS = {
    "constraint": "the constraint does not hold",
    "unsatisfiable": "no entity satisfies the constraint",
    "impossible": "the constraint has probability 0 under the distribution",
    "condition": "some of its values cannot occur together",
    "one-hot": "values that are 1, where exactly one must be",
    "no value": "has a probability above 0",
}


# Sources: a random source is written to a file; its table of labels has the answer for each row of bits.


def rows_of(n):
    return list(itertools.product((0, 1), repeat=n))


def random_clauses(rng, n, most):
    clauses = []
    for _ in range(rng.integers(0, most + 1)):
        positions = rng.choice(n, min(n, rng.integers(1, 4)), replace=False) + 1
        clauses.append([int(lit) for lit in positions * rng.choice([-1, 1], len(positions))])
    return clauses


class Nodes:
    """The lines of a d-DNNF, each with its value on every row."""

    def __init__(self, rng, n):
        self.rng, self.rows, self.lines, self.values = rng, rows_of(n), [], []

    def add(self, line, value):
        self.lines.append(line)
        self.values.append([int(value(at)) for at in range(len(self.rows))])
        return len(self.lines) - 1

    def literal(self, lit):
        return self.add(f"L {lit}", lambda at: self.rows[at][abs(lit) - 1] == (lit > 0))

    def gate(self, kind, children):
        of = {"A": all, "O": any}[kind]
        head = "A" if kind == "A" else "O 0"
        line = " ".join(map(str, [head, len(children), *children]))
        return self.add(line, lambda at: of(self.values[child][at] for child in children))

    def random(self, variables):
        """A random node over some of these variables (counted from 1)."""
        variables = list(variables)
        kind = self.rng.integers(8)
        if not variables or kind == 0:
            return self.gate("AO"[self.rng.integers(2)], [])
        if len(variables) == 1 or kind == 1:
            return self.literal(int(variables[0]) * int(self.rng.choice([-1, 1])))
        self.rng.shuffle(variables)
        if kind < 5:
            # One of two branches, chosen by a variable.
            first, rest = int(variables[0]), variables[1:]
            sides = [self.gate("A", [self.literal(lit), self.random(rest)]) for lit in (first, -first)]
            return self.gate("O", sides)
        cut = int(self.rng.integers(1, len(variables)))
        return self.gate("A", [self.random(variables[:cut]), self.random(variables[cut:])])


def write_ddnnf(lines, path):
    """c2d's lines in d4's format: ids from 1, the root first, literals on arcs."""
    last = len(lines)
    node_id = lambda line: last - line
    text = []
    for number, line in enumerate(lines):
        words = line.split()
        if words[0] == "L":
            text += [f"a {node_id(number)} 0", f"{node_id(number)} {last + 1} {words[1]} 0"]
        else:
            children = words[2:] if words[0] == "A" else words[3:]
            constant = {"A": "t", "O": "f"}[words[0]]
            text.append(f"{words[0].lower() if children else constant} {node_id(number)} 0")
            text += [f"{node_id(number)} {node_id(int(child))} 0" for child in children]
    path.write_text("\n".join([*text, f"t {last + 1} 0", ""]))


def gate_value(weights, inputs, need):
    return int(sum(abs(w) for w, value in zip(weights, inputs) if (w > 0) == value and w) >= need)


class Network:
    def __init__(self, rng, n):
        self.classes = int(rng.choice([1, 1, 2, 3, 4]))
        weight = (lambda *shape: rng.choice([-1, 1], shape)) if rng.integers(2) else (
            lambda *shape: rng.integers(-3, 4, shape))
        sizes = [n, *rng.integers(1, 4, rng.integers(0, 3)).tolist()]
        self.binary = True
        self.hidden = []
        for inputs, outputs in zip(sizes, sizes[1:]):
            layer = [weight(inputs).tolist() for _ in range(outputs)]
            self.hidden.append([(w, self.need(rng, w)) for w in layer])
        last = [weight(sizes[-1]).tolist() for _ in range(self.classes)]
        self.output = [(w, int(rng.integers(-2, 3))) for w in last]
        if self.classes == 1:
            self.output = [(last[0], self.need(rng, last[0]))]
        everything = [w for layer in self.hidden for w, _ in layer] + last
        self.binary = all(abs(w) == 1 for weights in everything for w in weights)
        self.marginals = {"rows": 8, "ones": rng.choice([0, 1, 3, 4, 8], n).tolist()}

    @staticmethod
    def need(rng, weights):
        total = sum(map(abs, weights))
        return int(rng.integers(0, total + 2)) if rng.integers(4) == 0 else (total + 1) // 2

    def answer(self, row):
        """The label, or the class: the first with the greatest score."""
        for layer in self.hidden:
            row = [gate_value(w, row, need) for w, need in layer]
        if self.classes == 1:
            return gate_value(self.output[0][0], row, self.output[0][1])
        signed = [2 * value - 1 for value in row]
        scores = [sum(w * s for w, s in zip(weights, signed)) + bias for weights, bias in self.output]
        return scores.index(max(scores))

    def write(self, path, features):
        text = lambda weights: " ".join(map(str, weights)) or "+"
        gate = lambda w, need: {"weights": text(w), "need": str(need)}
        output = {"step": gate(*self.output[0])}
        if self.classes > 1:
            output = {"argmax": [{"weights": text(w), "bias": str(bias)} for w, bias in self.output]}
        path.write_text(json.dumps({
            "format": "boolshap model", "version": 1, "features": features, "classes": None, "schema": None,
            "marginals": self.marginals, "hidden": [[gate(*g) for g in layer] for layer in self.hidden],
            "output": output, "provenance": {},
        }))


def random_features(rng, most=7):
    """Names of 2 to `most` features in random order, some of them values of columns."""
    n = int(rng.integers(2, most + 1))
    names = []
    while len(names) < n:
        size = int(rng.choice([1, 1, 1, 2, 3]))
        if size == 1 or len(names) + size > n:
            names.append(f"x{len(names)}")
        else:
            column = f"c{len(names)}"
            names += [f"{column}={value}" for value in "abc"[:size]]
    return [names[i] for i in rng.permutation(n)]


class World:
    """A compiled source. `answers` gives the label or class of each row; `classes` is 1 for a label."""

    def __init__(self, boolshap, rng, most=7):
        self.boolshap, self.rng, self.folder = boolshap, rng, boolshap.folder
        self.features = random_features(rng, most)
        self.n = len(self.features)
        self.rows = rows_of(self.n)
        write_table(self.folder / "names.csv", self.features, [])
        # Draws again if the label is constant, but only a few times: some constant labels are wanted.
        for _ in range(int(rng.integers(1, 8))):
            self.draw_source()
            if len(set(self.answers.values())) > 1:
                break
        source, *options = self.options
        boolshap("compile", source, "-o", "c.bsc", *options)

    def draw_source(self):
        rng, n = self.rng, self.n
        self.marginals, self.classes, self.all_classes = None, 1, False
        options = []
        self.kind = str(rng.choice(["cnf", "nnf", "ddnnf", "network", "network"]))
        if self.kind == "cnf":
            formula = Formula(n, random_clauses(rng, n, 6))
            source = formula.write(self.folder / "f.cnf")
            answers = [formula(row) for row in self.rows]
        elif self.kind in ("nnf", "ddnnf"):
            nodes = Nodes(rng, n)
            root = nodes.random(range(1, n + 1))
            answers, source = nodes.values[root], f"f.{self.kind}"
            if self.kind == "nnf":
                edges = sum(len(line.split()) - 2 for line in nodes.lines if line[0] != "L")
                text = [f"nnf {len(nodes.lines)} {edges} {n}", *nodes.lines, ""]
                (self.folder / source).write_text("\n".join(text))
            else:
                write_ddnnf(nodes.lines, self.folder / source)
        else:
            network = Network(rng, n)
            network.write(self.folder / "m.json", self.features)
            source, self.marginals, self.classes = "m.json", network.marginals, network.classes
            answers = [network.answer(row) for row in self.rows]
            routes = ["auto", "truth-table", "partial-sums", "apply"] + ["cnf"] * network.binary
            options += ["--via", str(rng.choice(routes))]
            if self.classes > 1:
                options += self.class_of_network(answers)
                if not self.all_classes:
                    answers = [int(answer == self.compiled) for answer in answers]
        if self.kind != "network":
            options += ["--features", "names.csv"]
        options += [option for option in ("--smooth", "--fan-in-2") if rng.integers(5) == 0]
        self.answers = dict(zip(self.rows, answers))
        self.options = [source, *options]

    def class_of_network(self, answers):
        self.all_classes = bool(self.rng.integers(3))
        self.compiled = int(self.rng.integers(self.classes))
        if not self.all_classes:
            self.classes = 1
        return ["--class", "all" if self.all_classes else str(self.compiled)]


# Probabilities from 0 to 1.

RARE = ["1e-300", "3e-300", "1e-299", "5e-324", "2e-308", "1e-200", "1e-40", "2e-16", "1e-16", "1e-12", "1e-5", "0.1"]
COMMON = ["0.5", "0.25", "0.35", "0.999", "0.3333333333333333333333", "0.6"]


def decimal(value):
    """A fraction whose denominator is a power of ten, written out."""
    digits = 0
    while (value * 10 ** digits).denominator > 1:
        digits += 1
    whole = str(value * 10 ** digits).rjust(digits + 1, "0")
    return f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole


def random_probability(rng):
    """A probability as text."""
    kind = rng.integers(10)
    if kind == 0:
        return str(rng.choice(["0", "1"]))
    if kind < 4:
        return str(rng.choice(RARE))
    if kind < 6:
        return decimal(1 - Fraction(str(rng.choice(RARE))))
    return str(rng.choice(COMMON))


def random_probabilities(rng, count):
    """Independent ones, or all close to 0 or 1 and of the same order of magnitude, so that every digit matters."""
    if rng.integers(2):
        return [random_probability(rng) for _ in range(count)]
    order = Fraction(str(rng.choice(RARE)))
    near = [order * int(factor) for factor in rng.integers(1, 4, count)]
    return [decimal(1 - p if rng.integers(2) else p) for p in near]


def random_shares(rng, count):
    """Probabilities of a column's values as texts; they add up to 1."""
    parts = [Fraction(random_probability(rng)) / 3 if rng.integers(2) else Fraction(str(rng.choice(RARE)))
             for _ in range(count - 1)]
    # Thirds have infinite decimals, so round; the program reads decimals down to 5e-324.
    parts = [Fraction(int(part * 10 ** 320), 10 ** 320) for part in parts]
    shares = [*parts, 1 - sum(parts)]
    return [decimal(shares[i]) for i in rng.permutation(count)]


# Games: v of every set of players (a bit mask); `None` where no row is possible.


class Unit:
    """Bits that are drawn together: their joint values, each with its probability."""

    def __init__(self, positions, options):
        self.positions, self.options = positions, options


def units_of(probabilities, columns):
    """One unit for each bit, or for each column of the players, whose probabilities are normalised to add up to 1."""
    grouped = {position for column in columns for position in column}
    units = [Unit([i], [((0,), 1 - p), ((1,), p)]) for i, p in enumerate(probabilities) if i not in grouped]
    for column in columns:
        total = sum(probabilities[i] for i in column)
        values = [tuple(int(j == i) for j in column) for i in column]
        units.append(Unit(column, [(value, probabilities[i] / total) for value, i in zip(values, column)]))
    return units


def independent_game(label, units, players, entity, allowed):
    """v(S): the expected label when the units of S have the entity's bits and the others are drawn, among allowed rows."""
    player_of = {i: number for number, positions in enumerate(players) for i in positions}
    # All probabilities of a unit as integers over a common denominator.
    scaled = []
    for unit in units:
        scale = math.lcm(*(p.denominator for _, p in unit.options))
        scaled.append([(bits, int(p * scale)) for bits, p in unit.options if p])

    def v(mask):
        partial = [(entity, 1)]
        for unit, options in zip(units, scaled):
            if mask >> player_of[unit.positions[0]] & 1:
                continue
            further = []
            for row, weight in partial:
                for bits, chance in options:
                    changed = list(row)
                    for position, bit in zip(unit.positions, bits):
                        changed[position] = bit
                    further.append((tuple(changed), weight * chance))
            partial = further
        partial = [(row, weight) for row, weight in partial if allowed(row)]
        total = sum(weight for _, weight in partial)
        return Fraction(sum(weight for row, weight in partial if label(row)), total) if total else None

    return [v(mask) for mask in range(1 << len(players))]


def sample_game(label, rows, players, entity, conditional):
    """v(S) over rows: with the entity's bits inserted, or over the rows that agree with the entity (over all if none
    does)."""
    player_of = {i: number for number, positions in enumerate(players) for i in positions}
    everyone = (1 << len(players)) - 1

    def v(mask):
        known = lambda i: mask >> player_of[i] & 1
        if not conditional:
            mixed = [tuple(e if known(i) else r for i, (e, r) in enumerate(zip(entity, row))) for row in rows]
            return Fraction(sum(map(label, mixed)), len(rows))
        if mask == everyone:
            return Fraction(label(entity))
        agreeing = [row for row in rows if all(row[i] == entity[i] for i in range(len(row)) if known(i))] or rows
        return Fraction(sum(map(label, agreeing)), len(agreeing))

    return [v(mask) for mask in range(1 << len(players))]


def subsets(players):
    return [part for size in range(len(players) + 1) for part in itertools.combinations(players, size)]


def owen(v, n, groups):
    """Owen values: the mean contribution over all orders in which the players of each group come one after the other."""
    blocks = [[i for i in range(n) if groups[i] == group] for group in dict.fromkeys(groups)]
    totals, count = [Fraction()] * n, 0
    for order in itertools.permutations(blocks):
        for inner in itertools.product(*(itertools.permutations(block) for block in order)):
            count, mask = count + 1, 0
            for i in itertools.chain(*inner):
                totals[i] += v[mask | 1 << i] - v[mask]
                mask |= 1 << i
    return [total / count for total in totals]


def scores(v, n, index, groups=()):
    """The numbers of an index by its definition, in the order of players or of sets of them."""
    size = lambda mask: mask.bit_count()
    without = lambda *players: [mask for mask in range(1 << n) if not any(mask >> i & 1 for i in players)]
    mean = lambda terms, weight: sum((sum(group) * weight(k) for k, group in terms.items()), Fraction())

    def by_size(masks, gain):
        groups = {}
        for mask in masks:
            groups.setdefault(size(mask), []).append(gain(mask))
        return groups

    orders = lambda n: lambda k: Fraction(math.factorial(k) * math.factorial(n - k - 1), math.factorial(n))

    def gain_of(players):
        parts = [(sum(1 << i for i in part), (-1) ** (len(players) - len(part))) for part in subsets(players)]
        return lambda mask: sum(sign * v[mask | part] for part, sign in parts)

    interaction = lambda players: mean(by_size(without(*players), gain_of(players)), orders(n - len(players) + 1))
    name, _, order = index.partition(":")
    every = [players for size in range(1, int(order or 0) + 1) for players in itertools.combinations(range(n), size)]
    if name == "interaction":
        return [interaction(pair) for pair in itertools.combinations(range(n), 2)]
    if name == "taylor":
        # Small sets count at the empty coalition; the largest at the arrival of their first player, over all orders.
        weight = lambda k: Fraction(int(order), n) / math.comb(n - 1, k)
        of_all = lambda players: mean(by_size(without(*players), gain_of(players)), weight)
        return [of_all(players) if len(players) == int(order) else gain_of(players)(0) for players in every]
    if name == "ksii":
        bernoulli = [Fraction(1), Fraction(-1, 2), Fraction(1, 6)]
        indices = {players: interaction(players) for players in every}
        around = lambda players: [(other, value) for other, value in indices.items() if {*players} <= {*other}]
        return [sum(bernoulli[len(other) - len(one)] * value for other, value in around(one)) for one in every]
    if name == "owen":
        return owen(v, n, groups)
    gain = lambda i: lambda mask: v[mask | 1 << i] - v[mask]
    weight = orders(n) if index == "shapley" else lambda k: Fraction(1, 1 << n - 1)
    return [mean(by_size(without(i), gain(i)), weight) for i in range(n)]


# Cases.


def columns_of(features):
    """The positions of each column that has several values."""
    found = {}
    for position, name in enumerate(features):
        if "=" in name:
            found.setdefault(name.split("=")[0], []).append(position)
    return {name: positions for name, positions in found.items() if len(positions) > 1}


class Case:
    """One run of `explain`: its options, and for each row the expected numbers or the reason for refusal."""

    def __init__(self, world, rng):
        self.world, self.rng = world, rng
        self.options, self.refusals = [], set()
        self.index = str(rng.choice([*INDICES, "owen", *ORDERS], p=[0.4, 0.1, 0.1, 0.15, *[0.25 / len(ORDERS)] * len(ORDERS)]))
        self.exact = bool(rng.integers(4) == 0)
        self.draw_players()
        # All orders of six players, but not of more.
        if self.index == "owen" and len(self.names) > 6:
            self.index = "shapley"
        self.groups = [f"g{rng.integers(3)}" for _ in self.names]
        write_table(world.folder / "groups.csv", ["player", "group"], list(zip(self.names, self.groups)))
        self.draw_distribution()
        self.draw_rows()
        given = "owen:groups.csv" if self.index == "owen" else self.index
        self.options += ["--index", given] + ["--exact"] * self.exact
        self.class_ = None
        if world.all_classes:
            self.class_ = str(rng.choice(["each", "predicted", "predicted", *map(str, range(world.classes))]))
            self.options += ["--class", self.class_] if self.class_ != "predicted" or rng.integers(2) else []
        self.draw_engine()
        self.mode = f"{self.distribution}{' given' * bool(self.constraint)}, {self.kind_of_players}, {self.index}"

    def draw_players(self):
        features, rng = self.world.features, self.rng
        self.columns = []
        self.kind_of_players = str(rng.choice(["features", "columns", "file"], p=[0.4, 0.35, 0.25]))
        if self.kind_of_players == "file":
            of = [f"p{rng.integers(len(features))}" for _ in features]
            groups = {name: [i for i, other in enumerate(of) if other == name] for name in dict.fromkeys(of)}
            rows = [(features[i], of[i]) for i in rng.permutation(len(features))]
            write_table(self.world.folder / "players.csv", ["feature", "player"], rows)
            self.options += ["--players", "players.csv"]
        else:
            groups = {name: [i] for i, name in enumerate(features)}
            if self.kind_of_players == "columns":
                columns = columns_of(features)
                column_of = {i: name for name, positions in columns.items() for i in positions}
                names = dict.fromkeys(column_of.get(i, name) for i, name in enumerate(features))
                groups = {name: columns.get(name) or groups[name] for name in names}
                self.columns = list(columns.values())
            if self.kind_of_players == "columns" or rng.integers(2):
                self.options += ["--players", self.kind_of_players]
        self.names, self.players = list(groups), list(groups.values())

    def is_row(self, row):
        """Whether each column of the players has one value."""
        return all(sum(row[i] for i in column) == 1 for column in self.columns)

    def some_rows(self, count):
        valid = [row for row in self.world.rows if self.is_row(row)]
        return [valid[i] for i in self.rng.integers(0, len(valid), count)]

    def draw_distribution(self):
        world, rng = self.world, self.rng
        kinds = ["uniform", "probabilities", "probabilities", "probabilities", "rows", "background", "empirical"]
        self.distribution = str(rng.choice(kinds + ["marginals"] * bool(world.marginals)))
        self.constraint = None
        self.rows = None
        features = world.features
        if self.distribution in ("background", "empirical"):
            self.rows = self.some_rows(int(rng.integers(1, 9)))
            write_table(world.folder / "r.csv", features, self.rows)
            self.options += ["--distribution", f"{self.distribution}:r.csv"]
            return
        self.draw_probabilities()
        if rng.integers(3):
            clauses = random_clauses(rng, world.n, 3)
            # Half of the clauses can be met only by rare values.
            rare = lambda lit: abs(lit) if self.probabilities[abs(lit) - 1] < Fraction(1, 2) else -abs(lit)
            clauses = [list(map(rare, clause)) if rng.integers(2) else clause for clause in clauses]
            self.constraint = Formula(world.n, clauses)
            self.options += ["--constraint", self.constraint.write(world.folder / "k.cnf")]

    def draw_probabilities(self):
        world, rng = self.world, self.rng
        n, features = world.n, world.features
        smoothing = int(rng.choice([0, 0, 1, 3]))
        frequency = lambda ones, rows: Fraction(int(ones) + smoothing, int(rows) + 2 * smoothing)
        if self.distribution == "uniform":
            self.probabilities = [Fraction(1, 2)] * n
            return
        if self.distribution == "probabilities":
            texts = random_probabilities(rng, n)
            for column in self.columns:
                for i, text in zip(column, random_shares(rng, len(column))):
                    texts[i] = text
            table = [(features[i], texts[i]) for i in rng.permutation(n)]
            write_table(world.folder / "p.csv", ["feature", "probability"], table)
            self.options += ["--distribution", "product:p.csv"]
            self.probabilities = [Fraction(text) for text in texts]
            return
        if self.distribution == "rows":
            rows = self.some_rows(int(rng.integers(1, 9)))
            write_table(world.folder / "r.csv", features, rows)
            self.options += ["--distribution", "product:r.csv"]
            self.probabilities = [frequency(sum(column), len(rows)) for column in zip(*rows)]
        else:
            self.options += ["--distribution", "product"]
            self.probabilities = [frequency(ones, world.marginals["rows"]) for ones in world.marginals["ones"]]
        self.options += ["--smoothing", smoothing] if smoothing else []

    def draw_rows(self):
        world, rng = self.world, self.rng
        valid = [row for row in world.rows if self.is_row(row)]
        if self.constraint and rng.integers(12):
            valid = [row for row in valid if self.constraint(row)]
        if rng.integers(40) == 0 or not valid:
            valid = world.rows
        self.entities = [valid[i] for i in rng.integers(0, len(valid), int(rng.integers(1, 5)))]
        write_table(world.folder / "e.csv", world.features, self.entities)

    def draw_engine(self):
        is_simple = self.kind_of_players == "features" and self.index == "shapley" and not self.constraint
        engines = [None] * 6 + ["brute-force"]
        engines += ["paper"] * 2 if is_simple and self.rows is None else []
        engines += ["fast"] if not self.exact else []
        self.engine = self.rng.choice(np.array(engines, dtype=object))
        self.options += ["--engine", self.engine] if self.engine else []

    def game(self, entity, class_):
        """v of all sets for one class; None if it is not defined, with the reason noted."""
        world = self.world
        answers = world.answers
        label = (lambda row: answers[row] == class_) if world.all_classes else (lambda row: answers[row])
        if self.rows is not None:
            label_of = lambda row: int(label(row))
            return sample_game(label_of, self.rows, self.players, entity, self.distribution == "empirical")
        given = self.probabilities
        if any(not sum(given[i] for i in column) for column in self.columns):
            self.refusals.add("no value")
            return None
        allowed = self.constraint or (lambda row: True)
        v = independent_game(label, units_of(given, self.columns), self.players, entity, allowed)
        if None in v:
            self.refusals.add("impossible" if v[0] is None else "condition")
            return None
        return v

    def can_occur(self):
        """Whether the constraint has a probability above 0."""
        given = self.probabilities
        inside = {i for column in self.columns for i in column}
        can_be = lambda i, bit: given[i] > 0 if bit else i in inside or given[i] < 1
        possible = lambda row: self.is_row(row) and all(can_be(i, bit) for i, bit in enumerate(row))
        return any(self.constraint(row) and possible(row) for row in self.world.rows)

    def expected(self):
        """For each row: the prediction, the sum for each class shown (None for a label), and the numbers of each class,
        base value first."""
        world = self.world
        if self.constraint and not any(self.constraint(row) and self.is_row(row) for row in world.rows):
            self.refusals.add("unsatisfiable")
        elif self.constraint and self.rows is None and not self.can_occur():
            # Even if the rows are invalid too, this reason is also correct.
            self.refusals.add("impossible")
        table = []
        for entity in self.entities:
            if not self.is_row(entity):
                self.refusals.add("one-hot")
                continue
            if self.constraint and not self.constraint(entity):
                self.refusals.add("constraint")
            answer = world.answers[entity]
            prediction, classes = answer, [None]
            if self.class_ == "each":
                classes = range(world.classes)
            elif world.all_classes and self.class_ != "predicted":
                classes = [int(self.class_)]
            elif world.all_classes:
                classes = [answer]
            games = [self.game(entity, class_) for class_ in classes]
            if None not in games:
                n = len(self.players)
                values = [int(class_ == answer) for class_ in classes] if world.all_classes else None
                table.append((prediction, values, [[v[0], *scores(v, n, self.index, self.groups)] for v in games]))
        return table

    def header(self):
        names = self.names
        sizes = {"interaction": [2]}.get(self.index, range(1, int(self.index.partition(":")[2] or 1) + 1))
        names = ["*".join(players) for size in sizes for players in itertools.combinations(names, size)]
        names = ["base_value", *names]
        if self.class_ == "each":
            names = [f"{name}:{k}" for k in range(self.world.classes) for name in names]
        return ["prediction", *names]

    def run(self):
        """Runs the program and compares; returns the worst error and the stated bound, or None after a refusal."""
        command = self.world.boolshap
        output = command.folder / "s.csv"
        output.unlink(missing_ok=True)
        table = self.expected()
        line = command.line(["explain", "c.bsc", "e.csv", "-o", "s.csv", "--json", *self.options])
        done = subprocess.run(line, cwd=command.folder, capture_output=True, text=True)
        assert done.returncode in (0, 1) and "panicked" not in done.stderr, done.stderr
        if self.refusals:
            assert done.returncode == 1 and done.stdout == "" and not output.exists(), "was not refused"
            (sentence,) = done.stderr.splitlines()
            assert any(REFUSALS[why] in sentence for why in self.refusals), sentence
            return None
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        with open(output, newline="") as file:
            header, *rows = csv.reader(file)
        assert said["rows"] == len(rows) == len(table)
        header, rows, values = self.without_values(header, rows)
        assert header == self.header() and values == [own for _, own, _ in table]
        return self.compare(rows, [(prediction, numbers) for prediction, _, numbers in table], said)

    def without_values(self, header, rows):
        """Splits the `explained_value` columns from the file: the header and rows without them, and their values."""
        places = [place for place, name in enumerate(header) if name.partition(":")[0] == "explained_value"]
        if not self.world.all_classes:
            assert not places
            return header, rows, [None] * len(rows)
        assert all(header[place + 1].startswith("base_value") for place in places)
        strip = lambda row: [cell for place, cell in enumerate(row) if place not in places]
        return strip(header), [strip(row) for row in rows], [[int(row[place]) for place in places] for row in rows]

    def compare(self, rows, table, said):
        bound, worst = Fraction(said["error_bound"]), Fraction()
        assert 0 <= bound <= Fraction(1e-9) and (bound == 0) == self.exact
        sums = None
        for row, (prediction, numbers) in zip(rows, table):
            numbers = list(itertools.chain(*numbers))
            assert row[0] == str(prediction)
            if self.exact:
                assert row[1:] == [str(number) for number in numbers]
            else:
                apart = [abs(Fraction(cell) - number) for cell, number in zip(row[1:], numbers, strict=True)]
                worst = max([worst, *apart])
            sums = [a + abs(b) for a, b in zip(sums or itertools.repeat(0), numbers)]
        assert worst <= bound, f"off by {float(worst):.3g}, where {float(bound):.3g} is promised"
        for name, total in zip(self.header()[1:], sums):
            if not name.startswith("base_value"):
                mean, found = total / len(table), said["mean_absolute"][name]
                assert found == str(mean) if self.exact else abs(Fraction(found) - mean) <= bound + Fraction(1e-15)
        return worst, bound


def fuzz(boolshap, seed, first, cases):
    """Runs `cases` cases, ten in each world; returns for each mode the number of cases and refusals, the worst error
    and bound."""
    found = {}
    for number in range(first, first + cases):
        if number % 10 == 0 or number == first:
            rng = np.random.default_rng([seed, number // 10])
            world = World(boolshap, rng)
        case = Case(world, np.random.default_rng([seed, number // 10, 1 + number % 10]))
        try:
            result = case.run()
        except AssertionError as error:
            where = f"case {number} of seed {seed} in {boolshap.folder}: compile {world.options}, explain {case.options}"
            raise AssertionError(f"{where}: {error}") from error
        engine = case.engine or ("exact" if case.exact else "fast")
        count, refused, worst, bound = found.get((engine, case.mode), (0, 0, Fraction(), Fraction()))
        if result is None:
            refused += 1
        else:
            worst, bound = max(worst, result[0]), max(bound, result[1])
        found[engine, case.mode] = (count + 1, refused, worst, bound)
    return found
