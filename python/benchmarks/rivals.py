"""Explainers of the shap package beside ours, in one run: the same model, the same background, the same rows.

    python benchmarks/rivals.py MODEL [ROWS]

MODEL is a network of binary features in any file that `boolshap.compile` takes. Prints how far the scores are apart and what a
row costs, for shap.ExactExplainer on the network, and for shap.TreeExplainer (interventional) on a fully grown
scikit-learn tree that has learned the network's answers.
"""

import sys
import time

import numpy as np
import shap
from sklearn.tree import DecisionTreeClassifier

import boolshap


def seconds(run):
    """What a run took, and what it gave."""
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def report(name, ours, theirs, rows, their_rows):
    (our_seconds, our_values), (their_seconds, their_values) = ours, theirs
    apart = np.abs(our_values[:their_rows] - their_values).max()
    us, them = our_seconds / rows, their_seconds / their_rows
    print(f"{name}: {us * 1e6:,.1f} us a row against {them * 1e6:,.1f}: {them / us:,.1f} times; {apart:.1e} apart")


def main():
    model, rows = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    circuit = boolshap.compile(model)
    width = len(circuit.features)
    rng = np.random.default_rng(7)
    background = rng.integers(0, 2, (100, width), dtype=np.uint8)
    X = rng.integers(0, 2, (rows, width), dtype=np.uint8)
    few = min(rows, 20)

    explainer = boolshap.Explainer(circuit, background)
    explainer.shap_values(X[:10])
    masker = shap.maskers.Independent(background.astype(float), max_samples=len(background))
    exact = shap.ExactExplainer(lambda bits: circuit.predict(bits.astype(np.uint8)).astype(float), masker)
    # The first call compiles what it needs.
    exact(X[:2].astype(float), silent=True)
    ours = seconds(lambda: explainer.shap_values(X))
    theirs = seconds(lambda: exact(X[:few].astype(float), silent=True).values)
    report("ExactExplainer, the network", ours, theirs, rows, few)

    # Pure leaves: every input that it learns from has one answer.
    learned = np.unique(rng.integers(0, 2, (3000, width), dtype=np.uint8), axis=0)
    tree = DecisionTreeClassifier(random_state=7).fit(learned, circuit.predict(learned))
    explainer = boolshap.Explainer(tree, background)
    explainer.shap_values(X[:10])
    masker = shap.maskers.Independent(background.astype(float), max_samples=len(background))
    rival = shap.TreeExplainer(tree, masker, feature_perturbation="interventional", model_output="raw")
    rival.shap_values(X[:10].astype(float))
    ours = seconds(lambda: explainer.shap_values(X))
    theirs = seconds(lambda: rival.shap_values(X.astype(float))[..., 1])
    report(f"TreeExplainer, a tree of {tree.tree_.node_count} nodes", ours, theirs, rows, rows)


if __name__ == "__main__":
    main()
