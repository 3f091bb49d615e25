"""Every question of `boolshap ask` by brute force from its definition, and random cases that compare the program with
it.

A space is a table of decisions over the possible inputs, and players. All answers are read off that table, without
circuits, proofs or the program's searches. `claim_holds` decides the claim of a certificate in the same way."""

import itertools
import json
from fractions import Fraction

import games
from fuzzing import World, columns_of, random_clauses
from games import Formula, write_table


def subsets(things):
    things = list(things)
    return (set(some) for size in range(len(things) + 1) for some in itertools.combinations(things, size))


class Space:
    """`answers` maps each possible input (a tuple of bits) to its decision; `players` maps names to positions."""

    def __init__(self, features, players, answers):
        self.features, self.players, self.answers = features, players, answers
        self.inputs = list(answers)
        self._differing = {}

    def differs(self, one, other):
        """The players in which two inputs differ."""
        return {name for name, at in self.players.items() if any(one[i] != other[i] for i in at)}

    def completions(self, entity, known):
        """The inputs that agree with the entity on these players."""
        # The same entity is asked about for thousands of sets.
        if entity not in self._differing:
            self._differing[entity] = [frozenset(self.differs(entity, x)) for x in self.inputs]
        return [x for x, differing in zip(self.inputs, self._differing[entity]) if differing.isdisjoint(known)]

    def share(self, entity, known):
        kept = [self.answers[x] == self.answers[entity] for x in self.completions(entity, known)]
        return Fraction(sum(kept), len(kept))

    def suffices(self, entity, known, least=1):
        return self.share(entity, known) >= least

    def reasons(self, entity, without=(), least=1):
        """The minimal sets that suffice, by size."""
        return self._minimal(lambda known: self.suffices(entity, known, least), without)

    def contrasts(self, entity, without=(), least=1):
        """The minimal sets whose change can change the decision: all others together do not suffice."""
        others = lambda some: set(self.players) - some
        return self._minimal(lambda some: not self.suffices(entity, others(some), least), without)

    def _minimal(self, good, without):
        found = []
        # A set is minimal if it contains no smaller good set; with shares, supersets of good sets need not be good.
        for some in subsets(p for p in self.players if p not in without):
            if good(some) and not any(part < some for part in found):
                found.append(some)
        return found

    def cost(self, entity, other, costs):
        return sum((costs.get(name, Fraction(1)) for name in self.differs(entity, other)), Fraction())

    def nearest(self, entity, to=None, not_up=(), not_down=(), costs=None):
        """The least cost and the inputs at it; None if no input qualifies."""
        wished = lambda x: self.answers[x] == to if to is not None else self.answers[x] != self.answers[entity]
        rises = lambda x: any(x[i] > entity[i] for i in not_up)
        falls = lambda x: any(x[i] < entity[i] for i in not_down)
        found = [x for x in self.inputs if wished(x) and not rises(x) and not falls(x)]
        if not found:
            return None, []
        least = min(self.cost(entity, x, costs or {}) for x in found)
        return least, [x for x in found if self.cost(entity, x, costs or {}) == least]

    def within(self, entity, radius):
        """How many inputs with another decision differ in at most `radius` players."""
        return sum(self.answers[x] != self.answers[entity] and len(self.differs(entity, x)) <= radius for x in self.inputs)

    def biased(self, entity, protected):
        return any(self.answers[x] != self.answers[entity] and self.differs(entity, x) <= set(protected)
                   for x in self.inputs)

    def attribution(self, entity):
        """For each player the share of reasons that contain it, and its values in the game "this set suffices"."""
        found, names = self.reasons(entity), list(self.players)
        worth = lambda known: Fraction(int(self.suffices(entity, set(known))))
        shapley, banzhaf = games.shapley(worth, names), games.banzhaf(worth, names)
        share = lambda name: Fraction(sum(name in some for some in found), len(found))
        return {name: [share(name), shapley[name], banzhaf[name]] for name in names}

    def mean_radius(self):
        """The mean over all inputs; None if all inputs have the same decision."""
        radii = [self.nearest(x)[0] for x in self.inputs]
        return None if None in radii else Fraction(sum(radii), len(radii))

    def verdict(self, entity, contrastive, some):
        """Whether a set is the claimed kind of reason, and which single players can be left out."""
        good = (lambda some: not self.suffices(entity, set(self.players) - some)) if contrastive else (
            lambda some: self.suffices(entity, some))
        return good(some), {name for name in some if good(some) and good(some - {name})}

    def input_verdict(self, entity, other, to, not_up, not_down, costs):
        """Whether an input is an allowed change to a wanted class, its cost, whether it is minimal, and whether
        nearest."""
        wished = lambda x: x in self.answers and (
            self.answers[x] == to if to is not None else self.answers[x] != self.answers[entity])
        allowed = lambda x: not any(x[i] > entity[i] for i in not_up) and not any(x[i] < entity[i] for i in not_down)
        good = [x for x in self.inputs if wished(x) and allowed(x)]
        cost, changed = self.cost(entity, other, costs), self.differs(entity, other)
        valid = other in good
        minimal = valid and not any(self.differs(entity, x) < changed for x in good)
        nearest = valid and all(self.cost(entity, x, costs) >= cost for x in good)
        return valid, cost, minimal, nearest

    def changes_of(self, player):
        """Pairs of inputs that differ only in this player."""
        others = [i for name, at in self.players.items() if name != player for i in at]
        alike = {}
        for x in self.inputs:
            alike.setdefault(tuple(x[i] for i in others), []).append(x)
        return [(x, y) for group in alike.values() for x in group for y in group if self.differs(x, y)]

    def influence(self, player):
        changed = {x for x, y in self.changes_of(player) if self.answers[x] != self.answers[y]}
        return Fraction(len(changed), len(self.inputs))

    def mandatory(self, player):
        """The decisions whose inputs all have the same value of a player, with that value."""
        seen = {}
        for x in self.inputs:
            seen.setdefault(self.answers[x], set()).add(tuple(x[i] for i in self.players[player]))
        return {answer: next(iter(values)) for answer, values in seen.items() if len(values) == 1}

    def direction(self, player):
        """Whether some decision rises, and whether some falls, when a player of one feature goes from 0 to 1."""
        (at,) = self.players[player]
        up = [(self.answers[x], self.answers[y]) for x, y in self.changes_of(player) if x[at] < y[at]]
        return any(a < b for a, b in up), any(a > b for a, b in up)


def bits(text):
    return tuple(map(int, text))


def text(row):
    return "".join(map(str, row))


# The claims of certificates.


def claim_holds(certificate, features, answers):
    """Whether a certificate's claim is true for these answers (the class of every input)."""
    class_ = certificate["class"]
    decided = {x: answer if class_ is None else int(answer == class_) for x, answer in answers.items()}
    holds = Formula(len(features), certificate["constraint"])
    one_hot = lambda x: all(sum(x[i] for i in group) == 1 for group in certificate["one_hot"])
    decided = {x: answer for x, answer in decided.items() if holds(x) and one_hot(x)}
    players = {name: [i] for i, name in enumerate(features)}
    if certificate["players"] is not None:
        players = {group["name"]: group["features"] for group in certificate["players"]}
    space = Space(features, players, decided)
    # A group of rows may contain impossible inputs.
    space.everywhere = lambda x: answers[x] if class_ is None else int(answers[x] == class_)
    ((kind, claim),) = certificate["claim"].items()
    if kind == "difference":
        return _difference(space, claim, class_)
    return CLAIMS[kind](space, claim)


def _entity(space, claim):
    """The entity, or None if the claim about it is false."""
    entity = bits(claim["entity"])
    return entity if space.answers.get(entity) == claim["label"] else None


def _listed(found, claim):
    """Whether the listed sets are minimal ones, and the claimed extent allows the omitted sets."""
    listed = [set(names) for names in claim["sets"]]
    if not all(some in found for some in listed) or any(a == b for a, b in itertools.combinations(listed, 2)):
        return False
    left_out = [some for some in found if some not in listed]
    if claim["extent"] == "all":
        return not left_out
    if claim["extent"] == "smallest":
        return bool(listed) and all(len(some) >= max(map(len, listed)) for some in left_out)
    return True


def _without(space, claim):
    return set() if claim["among"] is None else set(space.players) - set(claim["among"])


def _sets(of):
    def holds(space, claim):
        entity = _entity(space, claim)
        return entity is not None and _listed(of(space, entity, _without(space, claim)), claim)

    return holds


def _probable(space, claim):
    entity = _entity(space, claim)
    if entity is None:
        return False
    least = Fraction(claim["share"])
    of = space.contrasts if claim["contrasts"] else space.reasons
    known = lambda names: set(space.players) - set(names) if claim["contrasts"] else set(names)
    shares = [space.share(entity, known(names)) for names in claim["sets"]]
    return shares == list(map(Fraction, claim["shares"])) and _listed(of(entity, _without(space, claim), least), claim)


def _nearest(space, claim):
    entity = _entity(space, claim)
    if entity is None:
        return False
    moves = {key: [space.features.index(name) for name in claim["moves"][key]] for key in ("not_up", "not_down")}
    costs = {name: Fraction(cost) for name, cost in claim["costs"].items()}
    distance, found = space.nearest(entity, claim["to"], costs=costs, **moves)
    right = distance == (None if claim["distance"] is None else Fraction(claim["distance"]))
    right = right and {bits(x) for x in claim["inputs"]} <= set(found)
    if claim["count"] is not None:
        right = right and int(claim["count"]) == len(found)
    if claim["within"] is not None:
        most = Fraction(claim["within"]["distance"])
        wished = lambda x: space.answers[x] == claim["to"] if claim["to"] is not None else space.answers[x] != claim["label"]
        allowed = lambda x: not any(x[i] > entity[i] for i in moves["not_up"]) and not any(
            x[i] < entity[i] for i in moves["not_down"])
        inside = [x for x in space.inputs if wished(x) and allowed(x) and space.cost(entity, x, costs) <= most]
        right = right and int(claim["within"]["others"]) == len(inside)
    return right


def _decision_bias(space, claim):
    entity = _entity(space, claim)
    return entity is not None and space.biased(entity, claim["protected"]) == claim["biased"]


def _classifier_bias(space, claim):
    biased = sum(space.biased(x, claim["protected"]) for x in space.inputs)
    return claim["biased"] == (biased > 0) and claim["inputs"] in (None, str(biased))


def _properties(space, claim):
    for one in claim["players"]:
        said = {entry["label"]: bits(entry["value"]) for entry in one.get("mandatory") or []}
        if "mandatory" in one and (said != space.mandatory(one["name"]) or len(said) != len(one["mandatory"])):
            return False
        influence = space.influence(one["name"])
        if one["used"] != (influence > 0):
            return False
        if one["influence"] is not None and Fraction(one["influence"]) != influence:
            return False
        for key, place in (("rises", 0), ("falls", 1)):
            if one[key] is not None and one[key] != space.direction(one["name"])[place]:
                return False
    return True


def _attribution(space, claim):
    entity = _entity(space, claim["reasons"])
    if entity is None or claim["reasons"]["extent"] != "all" or claim["reasons"]["among"] is not None:
        return False
    found = space.reasons(entity)
    if not _listed(found, claim["reasons"]) or {part["name"] for part in claim["players"]} != set(space.players):
        return False
    parts = space.attribution(entity)
    said = {part["name"]: [Fraction(part[key]) for key in ("share", "shapley", "banzhaf")] for part in claim["players"]}
    return said == parts and len(said) == len(claim["players"])


def _mean_radius(space, claim):
    return space.mean_radius() == (None if claim["mean"] is None else Fraction(claim["mean"]))


def _difference(space, claim, class_):
    if claim["other"]["features"] != space.features:
        return False
    answers = {x: network_class(claim["other"], x) for x in space.inputs}
    other = {x: answer if class_ is None else int(answer == class_) for x, answer in answers.items()}
    differ = {x for x in space.inputs if space.answers[x] != other[x]}
    right = claim["differ"] == bool(differ) and claim["inputs"] in (None, str(len(differ)))
    return right and {bits(x) for x in claim["examples"]} <= differ


def _set_verdict(space, claim):
    entity = _entity(space, claim)
    if entity is None or not set(claim["set"]) <= set(space.players):
        return False
    return space.verdict(entity, claim["contrastive"], set(claim["set"])) == (claim["valid"], set(claim["superfluous"]))


def _input_verdict(space, claim):
    entity = _entity(space, claim)
    if entity is None:
        return False
    moves = {key: [space.features.index(name) for name in claim["moves"][key]] for key in ("not_up", "not_down")}
    costs = {name: Fraction(cost) for name, cost in claim["costs"].items()}
    found = space.input_verdict(entity, bits(claim["input"]), claim["to"], moves["not_up"], moves["not_down"], costs)
    said = (claim["valid"], Fraction(claim["distance"]), claim["minimal"], claim["nearest"])
    return found == said


def _letter(space, claim):
    change, favourable = claim["change"], claim["favourable"]
    if change["to"] != favourable or change["label"] == favourable or not _nearest(space, change):
        return False
    reasons = claim["reasons"]
    if reasons is None:
        return True
    entity = bits(change["entity"])
    if reasons["against"] is None:
        wins = lambda x: Fraction(int(space.answers[x] == favourable))
        worth = lambda known: sum(map(wins, space.completions(entity, set(known)))) / len(
            space.completions(entity, set(known)))
    else:
        rows = [(bits(row["input"]), row["rows"]) for row in reasons["against"]]
        worth = games.interventional(lambda x: int(space.everywhere(x) == favourable), rows, space.players, entity)
    scores = games.shapley(worth, list(space.players))
    expected = sorted((score, number) for number, score in enumerate(scores.values()) if score < 0)[: reasons["top"]]
    names = list(space.players)
    said = [(Fraction(one["score"]), names.index(one["player"])) for one in reasons["scores"]]
    return said == expected


CLAIMS = {
    "attribution": _attribution, "mean_radius": _mean_radius, "set_verdict": _set_verdict,
    "input_verdict": _input_verdict, "letter": _letter,
    "reasons": _sets(lambda space, entity, without: space.reasons(entity, without)),
    "contrasts": _sets(lambda space, entity, without: space.contrasts(entity, without)),
    "probable": _probable, "nearest": _nearest, "decision_bias": _decision_bias,
    "classifier_bias": _classifier_bias, "properties": _properties,
}


# Random questions.


class Asked:
    """A compiled source with rows, players and a constraint: `ask_all` asks every question of them."""

    def __init__(self, boolshap, rng):
        self.rng = rng
        self.world = World(boolshap, rng, most=8)
        self.boolshap = boolshap
        world = self.world
        self.options, self.model, self.cases, self.line = [], None, 0, []
        constraint = random_clauses(rng, world.n, 3) if rng.integers(3) == 0 else []
        kind = str(rng.choice(["features", "columns", "blocks"]))
        columns = columns_of(world.features)
        self.players = {name: [i] for i, name in enumerate(world.features)}
        one_hot = []
        if kind == "columns":
            of = {i: column for column, at in columns.items() for i in at}
            self.players = {}
            for i, name in enumerate(world.features):
                self.players.setdefault(of.get(i, name), []).append(i)
            one_hot = list(columns.values())
            self.options += ["--players", "columns"]
        elif kind == "blocks":
            names = [f"b{number}" for number in rng.integers(0, world.n, world.n)]
            write_table(boolshap.folder / "players.csv", ["feature", "player"], list(zip(world.features, names)))
            self.players = {}
            for i, name in enumerate(names):
                self.players.setdefault(name, []).append(i)
            self.options += ["--players", "players.csv"]
        holds = Formula(world.n, constraint)
        if constraint:
            holds.write(boolshap.folder / "k.cnf")
            self.options += ["--constraint", "k.cnf"]
        valid = [x for x in world.rows if holds(x) and all(sum(x[i] for i in group) == 1 for group in one_hot)]
        self.invalid = [x for x in world.rows if x not in valid]
        self.space = Space(world.features, self.players, {x: world.answers[x] for x in valid})
        self.labels = max(2, world.classes)
        if world.kind == "network":
            self.model = "m.json"
        # The network itself, if it has the same decisions as the circuit.
        self.source = "c.bsc"
        if self.model and (world.all_classes or self.is_step()) and rng.integers(3) == 0:
            self.source = self.model

    def is_step(self):
        return "step" in json.loads((self.boolshap.folder / "m.json").read_text())["output"]

    def some(self, most=2):
        """A few players."""
        names = list(self.players)
        return [str(name) for name in self.rng.permutation(names)[: int(self.rng.integers(0, most + 1))]]

    def ask(self, question, *options, rows=None, certificate=True, data=True):
        """The JSON answer; certificates are written to the folder `certificates`."""
        line = ["ask", question, self.source]
        if rows is not None:
            write_table(self.boolshap.folder / "rows.csv", self.world.features, rows)
            line += ["rows.csv"]
        if self.model and certificate:
            options = [*options, "--certificate", f"certificates/{question}{self.cases}"]
            (self.boolshap.folder / "certificates").mkdir(exist_ok=True)
        self.line = [*line, *self.options, *options]
        answer = self.boolshap.json(*self.line)
        self.cases += len(rows or [0])
        if rows is not None:
            assert [one["row"] for one in answer["rows"]] == list(range(1, len(rows) + 1)) or question == "difference"
            if question != "difference":
                predictions = [one["prediction"] for one in answer["rows"]]
                assert predictions == [self.world.answers[row] for row in rows]
        return answer

    def draw_rows(self, most=4):
        inputs = self.space.inputs
        return [inputs[i] for i in self.rng.integers(0, len(inputs), int(self.rng.integers(1, most + 1)))]

    def ask_all(self):
        if not self.space.inputs:
            self.refused()
            return
        for question in ("reason", "contrast"):
            for style in ("one", "minimum", "all", "limit", "share"):
                self.sets(question, style)
        self.counterfactual()
        self.counterfactual()
        self.robustness()
        self.bias()
        self.properties()
        self.difference()
        self.other_network()
        self.attribution()
        self.judge()
        self.codes()
        self.refused()

    def sets(self, question, style):
        rows, without, options, least, limit = self.draw_rows(), [], [], Fraction(1), None
        if self.rng.integers(3) == 0:
            without = self.some()
            options += [part for name in without for part in ("--exclude", name)]
        prefer = self.some(3)
        options += [part for name in prefer for part in ("--prefer", name)]
        if style in ("minimum", "all"):
            options.append(f"--{style}")
        if style == "limit":
            limit = int(self.rng.integers(1, 5))
            options += ["--limit", limit]
        if style == "share":
            least = Fraction(int(self.rng.integers(1, 11)), 10)
            style = str(self.rng.choice(["one", "minimum", "all"]))
            options += ["--share", str(float(least)), *([f"--{style}"] if style != "one" else [])]
        answer = self.ask(question, *options, rows=rows)
        of = self.space.reasons if question == "reason" else self.space.contrasts
        for row, one in zip(rows, answer["rows"]):
            found = of(row, without, least)
            listed = [set(names) for names in one["reasons"]]
            assert int(one["count"]) == len(found), (row, one, found)
            assert one["complete"] == (len(listed) == len(found)), (row, one, found)
            assert all(some in found for some in listed), (row, one, found)
            assert all(a != b for a, b in itertools.combinations(listed, 2)), (row, one)
            order = lambda names: [name for name in self.players if name in names]
            assert one["reasons"] == [order(names) for names in one["reasons"]], (row, one)
            count = {"one": 1, "minimum": 1, "all": len(found), "limit": limit}[style]
            assert len(listed) == min(count, len(found)), (row, one, found)
            if style != "one":
                assert sorted(map(len, listed)) == sorted(map(len, found))[: len(listed)], (row, one, found)
            elif least == 1 and found:
                assert listed == [self.preferred(question, row, without, prefer)], (row, one, prefer)

    def preferred(self, question, row, without, prefer):
        """The set that remains when players are dropped, the least preferred first, while it stays good."""
        ranked = [*prefer, *(name for name in self.players if name not in prefer)]
        good = (lambda some: self.space.suffices(row, some)) if question == "reason" else (
            lambda some: not self.space.suffices(row, set(self.players) - some))
        left = {name for name in ranked if name not in without}
        for name in reversed(ranked):
            if name in left and good(left - {name}):
                left -= {name}
        return left

    def counterfactual(self):
        rows, options, costs, to, limit = self.draw_rows(), [], {}, None, None
        not_up, not_down = [], []
        for name in self.some(2):
            at = self.players[name]
            single = len(at) == 1 or "players.csv" in self.options
            way = str(self.rng.choice(["--freeze", "--only-up", "--only-down"])) if single else "--freeze"
            options += [way, name]
            not_up += at if way != "--only-up" else []
            not_down += at if way != "--only-down" else []
        if self.rng.integers(3) == 0:
            costs = {name: Fraction(int(self.rng.integers(0, 7)), 4) for name in self.some(4)}
            table = [(name, float(cost)) for name, cost in costs.items()]
            write_table(self.boolshap.folder / "costs.csv", ["player", "cost"], table)
            options += ["--costs", "costs.csv"]
        if self.labels > 2 and self.rng.integers(2):
            to = int(self.rng.integers(self.labels))
            options += ["--to", to]
        if self.rng.integers(3) == 0:
            limit = int(self.rng.integers(1, 4))
            options += ["--limit", limit]
        answer = self.ask("counterfactual", *options, rows=rows)
        for row, one in zip(rows, answer["rows"]):
            distance, found = self.space.nearest(row, to, not_up, not_down, costs)
            assert one["distance"] == (None if distance is None else float(distance)), (row, one, distance)
            assert int(one["count"]) == len(found), (row, one, found)
            listed = one["counterfactuals"]
            assert len(listed) == min(len(found), limit or len(found)), (row, one)
            changed = [tuple(sorted(change["player"] for change in changes)) for changes in listed]
            expected = [tuple(sorted(self.space.differs(row, x))) for x in found]
            assert all(changed.count(some) <= expected.count(some) for some in changed), (row, one, expected)
            for changes in listed:
                assert all(change["from"] != change["to"] for change in changes), (row, one)

    def robustness(self):
        rows, radius = self.draw_rows(), int(self.rng.integers(0, 4))
        answer = self.ask("robustness", "--radius", radius, rows=rows)
        radii = []
        for row, one in zip(rows, answer["rows"]):
            least, _ = self.space.nearest(row)
            assert one["radius"] == least, (row, one, least)
            assert int(one["others"]) == self.space.within(row, radius), (row, one)
            radii += [] if least is None else [int(least)]
        mean = float(Fraction(sum(radii), len(radii))) if radii else None
        assert answer["mean_radius"] == mean, answer
        assert answer["histogram"] == {str(r): radii.count(r) for r in sorted(set(radii))}, answer
        everywhere = self.space.mean_radius()
        said = answer["mean_radius_of_inputs"]
        assert everywhere == (None if said is None else Fraction(said)), (answer, everywhere)

    def bias(self):
        rows, protected = self.draw_rows(), self.some(3) or [next(iter(self.players))]
        options = [part for name in protected for part in ("--protected", name)]
        answer = self.ask("bias", *options, rows=rows)
        assert [one["biased"] for one in answer["rows"]] == [self.space.biased(row, protected) for row in rows], answer
        count = sum(self.space.biased(x, protected) for x in self.space.inputs)
        assert int(answer["inputs"]) == count and answer["classifier_biased"] == (count > 0), (answer, count)
        if count == 0:
            assert answer["witness"] is None
        else:
            one, other = map(bits, answer["witness"])
            assert self.space.answers[one] != self.space.answers[other]
            assert self.space.differs(one, other) <= set(protected)

    def properties(self):
        answer = self.ask("properties")
        assert [one["name"] for one in answer["features"]] == list(self.players)
        for one in answer["features"]:
            influence = self.space.influence(one["name"])
            assert Fraction(one["influence"]) == influence and one["used"] == (influence > 0), (one, influence)
            mandatory = {entry["class"] for entry in one["mandatory"]}
            says = len(self.players[one["name"]]) > 1 or one["name"] not in columns_of(self.world.features)
            assert not says or mandatory == set(self.space.mandatory(one["name"])), (one, self.space.mandatory(one["name"]))
            if len(self.players[one["name"]]) == 1 and one["name"] not in columns_of(self.world.features):
                names = {(0, 0): "constant", (1, 0): "up", (0, 1): "down", (1, 1): "none"}
                assert one["monotone"] == names[self.space.direction(one["name"])], one

    def difference(self):
        """Against the source with another constraint, and against a formula over the same features."""
        if self.labels > 2 or self.source == self.model:
            return
        other = Formula(self.world.n, random_clauses(self.rng, self.world.n, 4))
        games.compile_formula(self.boolshap, other, self.world.features, "other.bsc")
        rows = self.draw_rows()
        write_table(self.boolshap.folder / "rows.csv", self.world.features, rows)
        self.line = ["ask", "difference", self.source, "other.bsc", "rows.csv", *self.options]
        answer = self.boolshap.json(*self.line)
        self.cases += 1
        differ = [x for x in self.space.inputs if self.space.answers[x] != other(x)]
        assert int(answer["inputs"]) == len(differ), (answer, differ)
        assert Fraction(answer["share"]) == Fraction(len(differ), len(self.space.inputs)), answer
        assert (answer["example"] is None) == (not differ) and (not differ or bits(answer["example"]) in differ), answer
        assert answer["rows"] == [number for number, row in enumerate(rows, 1) if row in differ], answer

    def other_network(self):
        """Against a slightly different network, with a certificate."""
        if not self.model or not (self.world.all_classes or self.is_step()):
            return
        model = json.loads((self.boolshap.folder / self.model).read_text())
        if "step" in model["output"]:
            gate = model["output"]["step"]
            gate["need"] = str(max(0, int(gate["need"]) - int(self.rng.integers(0, 3))))
        else:
            one = model["output"]["argmax"][0]
            one["bias"] = str(int(one["bias"]) + 2 * int(self.rng.integers(0, 3)))
        (self.boolshap.folder / "other.json").write_text(json.dumps(model))
        rows = self.draw_rows()
        write_table(self.boolshap.folder / "rows.csv", self.world.features, rows)
        folder = f"certificates/difference{self.cases}"
        (self.boolshap.folder / "certificates").mkdir(exist_ok=True)
        self.line = ["ask", "difference", self.source, "other.json", "rows.csv", *self.options, "--certificate", folder]
        answer = self.boolshap.json(*self.line)
        self.cases += 1
        differ = [x for x in self.space.inputs if self.space.answers[x] != network_class(model, x)]
        assert int(answer["inputs"]) == len(differ), (answer, differ)
        assert answer["rows"] == [number for number, row in enumerate(rows, 1) if row in differ], answer
        assert (self.boolshap.folder / folder / "difference.json").exists()

    def attribution(self):
        if len(self.players) > 6:
            return
        rows = self.draw_rows(2)
        answer = self.ask("attribution", rows=rows)
        for row, one in zip(rows, answer["rows"]):
            found = {part["name"]: [Fraction(part[key]) for key in ("share", "shapley", "banzhaf")] for part in one["players"]}
            expected = self.space.attribution(row)
            assert found == expected, (row, one, expected)
            for part in one["players"]:
                share = expected[part["name"]][0]
                assert (part["necessary"], part["relevant"]) == (share == 1, share > 0), (row, part)

    def judge(self):
        """Claims to judge: random sets, sets that are nearly reasons, inputs near and far."""
        rows, claims, expected = self.draw_rows(2), [], []
        frozen = self.some(1)
        fixed = [i for name in frozen for i in self.players[name]]
        for number, row in enumerate(rows, 1):
            for kind in ("reason", "contrast"):
                found = self.space.reasons(row) if kind == "reason" else self.space.contrasts(row)
                near = set(found[int(self.rng.integers(len(found)))]) if found else set()
                for some in (set(self.some(4)), near, near | set(self.some(1)), near - set(self.some(2))):
                    claims.append({"row": number, kind: [name for name in self.players if name in some]})
                    expected.append((number, kind, self.space.verdict(row, kind == "contrast", some)))
            inputs = [self.world.rows[i] for i in self.rng.integers(0, len(self.world.rows), 2)]
            for x in [*inputs, *self.space.nearest(row, None, fixed, fixed)[1][:1]]:
                claims.append({"row": number, "counterfactual": text(x)})
                expected.append((number, "input", self.space.input_verdict(row, x, None, fixed, fixed, {})))
        (self.boolshap.folder / "claims.json").write_text(json.dumps(claims))
        options = [part for name in frozen for part in ("--freeze", name)]
        answer = self.ask("judge", "--claims", "claims.json", *options, rows=rows)
        verdicts = [(one["row"], verdict) for one in answer["rows"] for verdict in one["claims"]]
        assert len(verdicts) == len(expected), (answer, expected)
        for (number, said), (row, kind, right) in zip(verdicts, expected):
            assert number == row
            if kind == "input":
                found = (said["valid"], Fraction(said["distance"]), said["minimal"], said["nearest"])
                assert found == right, (said, right)
            else:
                valid, superfluous = right
                assert (said["valid"], set(said["superfluous"])) == right, (said, right)
                assert said["minimal"] == (valid and not superfluous), (said, right)

    def codes(self):
        """Exact scores against a group of rows, the players that lower the favourable class's score, and a change."""
        if "--constraint" in self.options:
            return
        rows, against = self.draw_rows(), self.draw_rows(6)
        favourable = int(self.rng.integers(self.labels))
        names = list(self.players)
        table = [(name, f"C{number}", f"because of {number}") for number, name in enumerate(names)]
        write_table(self.boolshap.folder / "codes.csv", ["player", "code", "text"], table)
        write_table(self.boolshap.folder / "against.csv", self.world.features, against)
        top = int(self.rng.integers(1, 5))
        actionable = self.some(3)
        options = ["--codes", "codes.csv", "--against", "against.csv", "--top", top, "--to", favourable]
        approved = [row for row in against if self.world.answers[row] == favourable]
        if approved and self.rng.integers(2):
            options.append("--approved")
            against = approved
        options += [part for name in actionable for part in ("--actionable", name)]
        answer = self.ask("codes", *options, rows=rows)
        wins = lambda row: int(self.world.answers[row] == favourable)
        fixed = [i for name, at in self.players.items() if actionable and name not in actionable for i in at]
        for row, one in zip(rows, answer["rows"]):
            if wins(row):
                assert one["codes"] == [] and one["change"] is None, (row, one)
                continue
            game = games.interventional(wins, games.sample(against), self.players, row)
            scores = games.shapley(game, names)
            expected = sorted((score, number) for number, score in enumerate(scores.values()) if score < 0)[:top]
            assert [code["code"] for code in one["codes"]] == [f"C{number}" for _, number in expected], (row, one, scores)
            assert [Fraction(code["score"]) for code in one["codes"]] == [score for score, _ in expected], (row, one)
            _, found = self.space.nearest(row, favourable, fixed, fixed)
            changed = None if one["change"] is None else {change["player"] for change in one["change"]}
            sets = [self.space.differs(row, x) for x in found]
            assert changed in sets if found else changed is None, (row, one, found)

    def refused(self):
        """An impossible row is an error that names the row."""
        if not self.invalid:
            return
        write_table(self.boolshap.folder / "rows.csv", self.world.features, [self.invalid[0]])
        said = self.boolshap.fails("ask", "reason", self.source, "rows.csv", *self.options)
        assert "row 1" in said or "constraint" in said, said
        # A note that a network was compiled may precede the error.
        errors = [line for line in said.strip().splitlines() if not line.startswith("note: ")]
        assert "panicked" not in said and len(errors) == 1, said

    def all_answers(self):
        """The class of every input, by the model's own definition, for claims of certificates."""
        model = json.loads((self.boolshap.folder / "m.json").read_text())
        return {row: network_class(model, row) for row in self.world.rows}


def network_class(model, row):
    """The class that a model file gives an input."""
    numbers = lambda weights: [1 if c == "+" else -1 for c in weights] if set(weights) <= set("+-") else list(
        map(int, weights.split()))
    for layer in model["hidden"]:
        row = [_gate(numbers(gate["weights"]), int(gate["need"]), row) for gate in layer]
    if "step" in model["output"]:
        gate = model["output"]["step"]
        return _gate(numbers(gate["weights"]), int(gate["need"]), row)
    scores = [sum(w * (2 * x - 1) for w, x in zip(numbers(one["weights"]), row)) + int(one["bias"])
              for one in model["output"]["argmax"]]
    return scores.index(max(scores))


def _gate(weights, need, inputs):
    return int(sum(abs(w) for w, x in zip(weights, inputs) if (w > 0) == bool(x)) >= need)
