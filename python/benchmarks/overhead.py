"""What the Python layer costs: 100,000 distinct rows of a 20-feature network, by the facade and by the native call.

Both explain the same uint8 array with the same number of threads, in turns; the medians are compared. Run it as
`python benchmarks/overhead.py [--rows N] [--rounds N] [--threads N]`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

import boolshap
from boolshap import _native

FEATURES = 20


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()

    random = np.random.default_rng(7)
    layers = [
        (random.choice([-1.0, 1.0], size=(after, before)), random.integers(-2, 3, size=after) + 0.5)
        for before, after in [(FEATURES, FEATURES), (FEATURES, 1)]
    ]
    circuit = boolshap.compile(layers)
    numbers = random.permutation(1 << FEATURES)[: asked.rows]
    rows = ((numbers[:, None] >> np.arange(FEATURES)) & 1).astype(np.uint8)

    explainer = boolshap.Explainer(circuit, threads=asked.threads)
    engine = _native.Explainer(circuit, "uniform", None, None, None, "features", None, None, None, None)
    # The first call imports shap, which is not what is measured.
    kind = type(explainer(rows[:10]))
    facade, native = [], []
    for _ in range(asked.rounds):
        native.append(seconds(lambda: engine.explain(rows, "shapley", asked.threads)))
        facade.append(seconds(lambda: explainer(rows)))
    ratio = statistics.median(facade) / statistics.median(native)
    print(f"{circuit}, {len(rows)} distinct rows, {asked.threads} threads, explanations are {kind.__module__}")
    print(f"native {statistics.median(native):.4f} s, facade {statistics.median(facade):.4f} s, ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
