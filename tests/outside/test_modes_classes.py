"""Scores of several classes, each compared with the definition."""

import itertools

import numpy as np
import pytest

from games import (
    INDICES, agrees, all_rows, close, column_groups, explain, interventional, one_hot_rows,
    sample, shapley, write_table,
)

# Several classes.

CLASS_FEATURES = ["op=A", "op=B", "op=C", "x", "y", "z"]


class Classes:
    """A network with weights +-1 for three classes; the answer is the first class with the greatest score. With
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
    numbers = [f"{name}:{k}" for k in range(3) for name in ["base_value", *names]]
    header = ["prediction", *(f"{name}:{k}" for k in range(3) for name in ["explained_value", "base_value", *names])]
    expected = []
    for entity, three in zip(classes.entities, games):
        cells = [[v(frozenset()), *shapley(v, names).values()] for v in three]
        assert [sum(column) for column in zip(*cells)] == [1] + [0] * len(names)
        answer = classes.answer(entity)
        cells = [[int(answer == k), *own] for k, own in enumerate(cells)]
        assert all(own[0] == sum(own[1:]) for own in cells)
        expected.append([answer, *itertools.chain(*cells)])
    found, rows, _ = explain(boolshap, "all.bsc", "e.csv", "--class", "each", "--exact", *options)
    assert found == header and rows == [[str(cell) for cell in row] for row in expected]
    found, rows, said = explain(boolshap, "all.bsc", "e.csv", "--class", "each", *options)
    assert found == header and [row[0] for row in rows] == [str(row[0]) for row in expected]
    close(rows, expected)
    sums = np.array(rows, dtype=float)[:, 1:].reshape(len(rows), 3, -1).sum(axis=1)
    np.testing.assert_allclose(sums, [[1, 1] + [0] * len(names)] * len(rows), rtol=0, atol=1e-12)
    means = dict(zip(header[1:], np.abs(np.array(expected, dtype=float)[:, 1:]).mean(axis=0)))
    scores = [name for name in numbers if not name.startswith("base_value")]
    assert sorted(said["mean_absolute"]) == sorted(scores)
    close([said["mean_absolute"][name] for name in scores], [means[name] for name in scores])


@pytest.mark.slow
@pytest.mark.parametrize("players", ["features", "columns"])
def test_the_predicted_class_and_a_class_by_number(boolshap, classes, players):
    options, names, games = classes.mode(players)
    answers = [classes.answer(e) for e in classes.entities]
    assert len(set(answers)) >= 2

    def table(labels, chosen, several=True):
        rows = [[label, v(frozenset()), *shapley(v, names).values()] for label, v in zip(labels, chosen)]
        if several:
            rows = [[answer, *row] for answer, row in zip(answers, rows)]
        return ["prediction", *["explained_value"][: int(several)], "base_value", *names], rows

    predicted = table([1] * len(answers), [three[answer] for answer, three in zip(answers, games)])
    for exact, chosen in itertools.product([False, True], [[], ["--class", "predicted"]]):
        agrees(boolshap, "all.bsc", "e.csv", predicted, exact, *options, *chosen)
    for k in range(3):
        labels = [int(answer == k) for answer in answers]
        of_several, single = (table(labels, [three[k] for three in games], several) for several in (True, False))
        boolshap("compile", "m.json", "-o", "one.bsc", "--class", k)
        for exact in [False, True]:
            agrees(boolshap, "all.bsc", "e.csv", of_several, exact, *options, "--class", k)
            agrees(boolshap, "one.bsc", "e.csv", single, exact, *options)


def test_classes_by_the_other_indices_and_engines(boolshap, classes):
    options, names, games = classes.mode("columns")
    answers = [classes.answer(e) for e in classes.entities]
    chosen = [three[answer] for answer, three in zip(answers, games)]
    for index in ["banzhaf", "interaction"]:
        scores = [INDICES[index](v, names) for v in chosen]
        rows = [[a, 1, v(frozenset()), *s.values()] for a, v, s in zip(answers, chosen, scores)]
        expected = ["prediction", "explained_value", "base_value", *scores[0]], rows
        for exact, engine in itertools.product([False, True], [[], ["--engine", "brute-force"]]):
            agrees(boolshap, "all.bsc", "e.csv", expected, exact, *options, "--index", index, *engine)
