"""Networks that the tests explain, and an independent reference implementation of scores."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import boolshap
from boolshap import Circuit, Model
from boolshap._layers import Dense, Sign, Step

Row = Sequence[int]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spark tests take longest, so they start first: with several workers they run in parallel with all others."""
    items.sort(key=lambda item: item.path.name != "test_spark.py")


class Network:
    """A random binary network: its function in numpy, and its circuit."""

    def __init__(self, inputs: int, hidden: Sequence[int], seed: int, outputs: int = 1) -> None:
        random = np.random.default_rng(seed)
        widths = [inputs, *hidden, outputs]
        self.inputs = inputs
        self.layers = [
            (random.choice([-1.0, 1.0], size=(after, before)), random.integers(-2, 3, size=after) + 0.5)
            for before, after in zip(widths, widths[1:])
        ]

    def predict(self, bits: npt.ArrayLike) -> npt.NDArray[Any]:
        """The class of every row, by the definition."""
        signs = 2.0 * np.asarray(bits, dtype=np.float64) - 1.0
        for weights, bias in self.layers[:-1]:
            signs = np.where(signs @ weights.T + bias >= 0, 1.0, -1.0)
        weights, bias = self.layers[-1]
        scores = signs @ weights.T + bias
        return scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] >= 0).astype(np.int64)

    def model(self, features: list[str] | None = None, classes: list[str] | None = None) -> Model:
        steps: list[Step] = []
        for number, (weights, bias) in enumerate(self.layers, 1):
            steps += [Dense(f"layer {number}", weights, bias), Sign(f"sign {number}")]
        return Model._of_steps(steps[:-1], "signs", features, classes)

    def circuit(self, features: list[str] | None = None, classes: list[str] | None = None) -> Circuit:
        return boolshap.compile(self.model(features, classes))


def all_inputs(features: int) -> npt.NDArray[np.uint8]:
    return np.array(list(itertools.product((0, 1), repeat=features)), dtype=np.uint8)


def judge(
    worth: Callable[[frozenset[int]], Fraction], players: int, index: str = "shapley"
) -> tuple[list[Fraction], Fraction]:
    """The scores of a game by their definitions, over all sets of players, and the value of the empty set."""
    known = {
        frozenset(those): worth(frozenset(those))
        for size in range(players + 1)
        for those in itertools.combinations(range(players), size)
    }
    scores = []
    for own in itertools.combinations(range(players), 2 if index == "interaction" else 1):
        score = Fraction(0)
        for those in (those for those in known if not those & set(own)):
            others = players - len(own)
            weight = Fraction(1, math.comb(others, len(those)) * (others + 1))
            if index == "banzhaf":
                weight = Fraction(1, 2**others)
            for size in range(len(own) + 1):
                for part in itertools.combinations(own, size):
                    score += (-1) ** (len(own) - size) * weight * known[those | set(part)]
        scores.append(score)
    return scores, known[frozenset()]


def expectation(
    predict: Callable[[npt.NDArray[np.uint8]], npt.NDArray[Any]], row: Row, rows: Sequence[tuple[Row, Fraction]]
) -> Callable[[frozenset[int]], Fraction]:
    """The mean label over weighted rows whose features in the set are replaced by those of `row`."""
    total = sum((weight for _, weight in rows), Fraction(0))

    def worth(those: frozenset[int]) -> Fraction:
        mixed = [[row[i] if i in those else other[i] for i in range(len(row))] for other, _ in rows]
        labels = predict(np.array(mixed, dtype=np.uint8))
        return sum((weight * int(label) for (_, weight), label in zip(rows, labels)), Fraction(0)) / total

    return worth


#: Raw rows; `sea` is one-hot in the circuit below.
RAW = {
    "age": [20.0, 52.0, 41.0, 39.5],
    "sea": ["near", "far", "island", "far"],
    "open": [1, 0, 1, 1],
    "comment": ["no", "column", "of", "ours"],
}
RAW_FEATURES = ["age", "sea=far", "sea=island", "sea=near", "open"]
RAW_BITS = [[0, 0, 0, 1, 1], [1, 1, 0, 0, 0], [1, 0, 1, 0, 1], [0, 1, 0, 0, 1]]


@pytest.fixture(scope="session")
def raw_model() -> Model:
    """A model that stores the encoding of raw rows and its training marginals."""
    text = {
        "format": "boolshap model",
        "version": 1,
        "features": RAW_FEATURES,
        "classes": None,
        "schema": [
            {"column": "age", "code": {"above": 40.0}},
            {"column": "sea", "code": {"categories": ["far", "island", "near"]}},
            {"column": "open", "code": "boolean"},
        ],
        "marginals": {"rows": 8, "ones": [2, 4, 1, 3, 6]},
        "hidden": [],
        "output": {"step": {"weights": "3 -2 1 2 2", "need": "6"}},
        "provenance": {},
    }
    return Model.from_json(json.dumps(text))


@pytest.fixture(scope="session")
def raw_circuit(raw_model: Model) -> Circuit:
    return boolshap.compile(raw_model)


@pytest.fixture(scope="session")
def network() -> Network:
    return Network(6, [5], seed=3)


@pytest.fixture(scope="session")
def circuit(network: Network) -> Circuit:
    return network.circuit()
