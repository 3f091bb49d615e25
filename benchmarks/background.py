"""Many rows against many background rows: boolshap, woodelf-explainer and shap's TreeExplainer on the same tree.

    python benchmarks/background.py BOOLSHAP [ROWS] [BACKGROUND] [-o RESULTS.csv]

scikit-learn learns a tree of depth 6 on 30 binary features, which is written as a circuit (c2d's NNF). boolshap is
timed as a command, including reading the rows from CSV and writing the scores, and in memory as its Python package
(from the wheel), including the preparation of the background. The others are timed in memory. All use one thread. shap
explains only a part of the rows, and its time is scaled up. All scores are compared.
"""

import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = "1"
import boolshap
import numpy as np
import pandas as pd
import shap
from recording import record, target_of
from sklearn.tree import DecisionTreeRegressor
from woodelf.explainer import WoodelfExplainer

FEATURES, DEPTH = 30, 6
PACKAGES = ("numpy", "scikit-learn", "shap", "woodelf-explainer")


def nnf(tree, features):
    """The tree's paths to 1 as decisions: (x and high) or (not x and low)."""
    lines, edges = [], 0

    def node(text, children=()):
        nonlocal edges
        edges += len(children)
        lines.append(text)
        return len(lines) - 1

    def build(place):
        if tree.children_left[place] < 0:
            return node("A 0" if tree.value[place].item() > 0.5 else "O 0 0")
        variable = tree.feature[place] + 1
        low, high = build(tree.children_left[place]), build(tree.children_right[place])
        sides = [node(f"L {-variable}"), low], [node(f"L {variable}"), high]
        gates = [node(f"A 2 {literal} {below}", (literal, below)) for literal, below in sides]
        return node(f"O {variable} 2 {gates[0]} {gates[1]}", gates)

    build(0)
    return "\n".join([f"nnf {len(lines)} {edges} {features}", *lines, ""])


def write(path, names, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([names, *rows.tolist()])


def measured(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main():
    target, program = target_of(sys.argv), os.path.abspath(sys.argv[1])
    rows, background = [int(text) for text in [*sys.argv[2:], *["100000", "1000"][len(sys.argv) - 2 :]]]
    rng = np.random.default_rng(7)
    X, B = rng.integers(0, 2, (rows, FEATURES)), rng.integers(0, 2, (background, FEATURES))
    # Few rows, so that the tree reaches its full depth and its leaves are pure or nearly pure.
    seen = rng.integers(0, 2, (400, FEATURES))
    tree = DecisionTreeRegressor(max_depth=DEPTH, random_state=0).fit(seen, (seen @ rng.normal(size=FEATURES)) > 0)
    tree.tree_.value[:] = tree.tree_.value > 0.5
    names = [f"x{i + 1}" for i in range(FEATURES)]
    frame, base = pd.DataFrame(X, columns=names), pd.DataFrame(B, columns=names)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "tree.nnf").write_text(nnf(tree.tree_, FEATURES))
        write(folder / "names.csv", names, X[:0])
        write(folder / "rows.csv", names, X)
        write(folder / "background.csv", names, B)
        run = lambda *line: subprocess.run([program, *line, "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        run("compile", "tree.nnf", "-o", "tree.bsc", "--features", "names.csv")
        start = time.perf_counter()
        run("explain", "tree.bsc", "rows.csv", "-o", "s.csv", "--distribution", "background:background.csv", "--threads", "1")
        ours = time.perf_counter() - start
        found = np.loadtxt(folder / "s.csv", delimiter=",", skiprows=1)[:, 2:]
        circuit = boolshap.load(folder / "tree.bsc")
    memory = min(measured(lambda: boolshap.Explainer(circuit, background=base)(frame)) for _ in range(3))
    in_memory = boolshap.Explainer(circuit, background=base)(frame).values
    theirs = np.asarray(WoodelfExplainer(tree, base).shap_values(frame, verbose=False))
    woodelf = min(measured(lambda: WoodelfExplainer(tree, base).shap_values(frame, verbose=False)) for _ in range(3))
    some = min(rows, 200)
    explainer = shap.TreeExplainer(tree, shap.maskers.Independent(base, max_samples=background))
    start = time.perf_counter()
    values = explainer.shap_values(frame[:some])
    trees = (time.perf_counter() - start) * rows / some
    print(f"{tree.tree_.node_count} nodes, {rows} rows, {background} background rows")
    print(f"boolshap, CSV to CSV   {ours:8.2f} s")
    print(f"boolshap in memory     {memory:8.3f} s")
    print(f"woodelf-explainer      {woodelf:8.3f} s, {woodelf / memory:.1f} times as long as boolshap in memory")
    print(f"shap TreeExplainer     {trees:8.2f} s, {trees / memory:.1f} times as long (from {some} rows)")
    wrong = [np.abs(found - other).max() for other in (theirs, in_memory)] + [np.abs(found[:some] - values).max()]
    print(f"differences: woodelf {wrong[0]:.1e}, in memory {wrong[1]:.1e}, shap {wrong[2]:.1e}")
    if target:
        what = f"{rows} rows against {background} background rows, a tree of {tree.tree_.node_count} nodes on {FEATURES} bits"
        record(target, program, PACKAGES, [
            (what, "boolshap, CSV to CSV, 1 thread", f"{ours:.4g}", "", ""),
            (what, "boolshap in memory", f"{memory:.4g}", "", f"differs by {wrong[1]:.1e}"),
            (what, "woodelf-explainer in memory", f"{woodelf:.4g}", f"{woodelf / memory:.2f}", f"differs by {wrong[0]:.1e}"),
            (what, f"shap TreeExplainer in memory, from {some} rows", f"{trees:.4g}", f"{trees / memory:.2f}", f"differs by {wrong[2]:.1e}"),
        ])  # fmt: skip


if __name__ == "__main__":
    main()
