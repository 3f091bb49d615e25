"""Trees on raw columns: boolshap beside shap's interventional TreeExplainer and woodelf-explainer, in one run and on one thread.

    python benchmarks/trees.py [ROWS] [BACKGROUND]

The same models, background and rows for all, margin against margin, after a call to warm up. woodelf-explainer is left out where it
is not installed. Prints what a row costs, how much more the others cost, and how far the scores are apart.
"""

import sys
import time

import numpy as np
import pandas
import shap
from sklearn.datasets import fetch_california_housing, make_regression
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

import boolshap

try:
    from woodelf.explainer import WoodelfExplainer
except ImportError:
    WoodelfExplainer = None


def seconds(run):
    """What the best of three runs took, and what it gave."""
    best, found = np.inf, None
    for _ in range(3):
        start = time.perf_counter()
        found = run()
        best = min(best, time.perf_counter() - start)
    return best, np.asarray(found)


def compare(name, model, background, X):
    few = X[: min(len(X), 200)]
    ours = boolshap.Explainer(model, background, threads=1)
    ours.shap_values(X[:10])
    theirs = shap.TreeExplainer(model, background, feature_perturbation="interventional")
    theirs.shap_values(few[:5], check_additivity=False)
    our_seconds, our_values = seconds(lambda: ours.shap_values(X))
    their_seconds, their_values = seconds(lambda: theirs.shap_values(few, check_additivity=False))
    us, them = our_seconds / len(X), their_seconds / len(few)
    apart = np.abs(our_values[: len(few)] - their_values).max()
    line = f"{name}: {us * 1e6:,.2f} us a row; shap {them * 1e6:,.1f} us, {them / us:,.0f} times, {apart:.1e} apart"
    if WoodelfExplainer is not None:
        names = [f"c{place}" for place in range(X.shape[1])]
        rival = WoodelfExplainer(model, pandas.DataFrame(background, columns=names))
        frame = pandas.DataFrame(X, columns=names)
        try:
            rival.shap_values(frame[:10], verbose=False)
            spent, values = seconds(lambda: rival.shap_values(frame, verbose=False))
            line += f"; woodelf {spent / len(X) * 1e6:,.1f} us, {spent / len(X) / us:,.1f} times, {np.abs(values - our_values).max():.1e} apart"
        except Exception as error:  # noqa: BLE001
            line += f"; woodelf: {type(error).__name__}"
    print(line, flush=True)


def main():
    rows, count = (int(sys.argv[1]) if len(sys.argv) > 1 else 2000), (int(sys.argv[2]) if len(sys.argv) > 2 else 100)
    try:
        X, y = fetch_california_housing(return_X_y=True)
    except OSError:
        X, y = make_regression(20_000, 10, noise=5, random_state=7)
    background, tested = X[:count], X[count : count + rows]
    compare("one tree of depth 6", DecisionTreeRegressor(max_depth=6, random_state=7).fit(X, y), background, tested)
    compare("one tree, fully grown", DecisionTreeRegressor(random_state=7).fit(X[:4000], y[:4000]), background, tested)
    boosted = GradientBoostingRegressor(n_estimators=50, max_depth=5, random_state=7).fit(X, y)
    compare("50 boosted trees of depth 5", boosted, background, tested)
    forest = RandomForestRegressor(50, max_depth=8, random_state=7).fit(X, y)
    compare("50 trees of depth 8", forest, background, tested)
    deep = RandomForestRegressor(10, random_state=7).fit(X[:4000], y[:4000])
    compare("10 trees, fully grown", deep, background, tested[:500])


if __name__ == "__main__":
    main()
