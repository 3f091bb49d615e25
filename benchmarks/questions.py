"""Reasons compared with PyXAI's, in one run on one machine, on a decision tree over bits.

    cargo build --release --workspace --bins
    python3 -m venv target/pyxai && target/pyxai/bin/pip install pyxai==2.0.1
    target/pyxai/bin/python benchmarks/questions.py -o benchmarks/results/questions.csv

Both are measured in processor time, so that a busy machine does not matter: PyXAI inside the process, from an instance
to its reasons; boolshap as a whole program in one thread: starting, reading circuit and rows, answering, writing JSON.
Answers are compared in the same run: minimum sizes and contrastive sets, and the verdicts of `ask judge` on PyXAI's
sufficient reasons. Verdicts and disagreements are checked on all inputs, and the script fails if boolshap is wrong.
"""

import argparse
import csv
import itertools
import json
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

# PyXAI reads the command line when it is imported.
ARGUMENTS, sys.argv = sys.argv, sys.argv[:1]
from pyxai import Builder, Explaining
from sklearn.tree import DecisionTreeClassifier

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = os.environ.get("BOOLSHAP_BINARY", ROOT / "target/release/boolshap")
FEATURES, ROWS, PEER_ROWS, ROUNDS = 16, 2000, 200, 5


def run(folder, *arguments):
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def processor_time_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def tree_of(rng):
    rows = rng.integers(0, 2, (4000, FEATURES))
    labels = (rows @ rng.integers(-3, 4, FEATURES) + rows[:, 0] * rows[:, 1] > 1).astype(int)
    return DecisionTreeClassifier(max_depth=9, random_state=0).fit(rows, labels).tree_


def as_nnf(tree):
    """The disjunction of the leaves of class 1, each an and-gate over its path; it is deterministic."""
    lines = [f"L {sign * (feature + 1)}" for feature in range(FEATURES) for sign in (1, -1)]
    edges, leaves = 0, []

    def walk(node, path):
        nonlocal edges
        if tree.children_left[node] < 0:
            if np.argmax(tree.value[node][0]) == 1:
                lines.append(f"A {len(path)} {' '.join(map(str, path))}".rstrip())
                leaves.append(len(lines) - 1)
                edges += len(path)
            return
        feature = tree.feature[node]
        walk(tree.children_left[node], path + [2 * feature + 1])
        walk(tree.children_right[node], path + [2 * feature])

    walk(0, [])
    lines.append(f"O 0 {len(leaves)} {' '.join(map(str, leaves))}")
    return f"nnf {len(lines)} {edges + len(leaves)} {FEATURES}\n" + "\n".join(lines) + "\n"


def as_pyxai(tree):
    def build(node):
        if tree.children_left[node] < 0:
            return int(np.argmax(tree.value[node][0]))
        left, right = build(tree.children_left[node]), build(tree.children_right[node])
        return Builder.DecisionNode(int(tree.feature[node]) + 1, left=left, right=right)

    return Builder.DecisionTree(FEATURES, build(0), force_features_equal_to_binaries=True)


def predict(tree, rows):
    at = np.zeros(len(rows), dtype=int)
    while (inner := tree.children_left[at] >= 0).any():
        ones = rows[np.arange(len(rows)), np.maximum(tree.feature[at], 0)] == 1
        at = np.where(inner, np.where(ones, tree.children_right[at], tree.children_left[at]), at)
    return tree.value[at][:, 0].argmax(axis=1)


def is_contrastive(tree, row, players):
    """By the definition: whether changing only these features can change the class."""
    changed = [row.copy() for _ in range(2 ** len(players))]
    for other, values in zip(changed, itertools.product((0, 1), repeat=len(players))):
        other[list(players)] = values
    return (predict(tree, np.array(changed)) != predict(tree, row[None])[0]).any()


def is_sufficient(tree, row, players):
    """By the definition: whether the class stays the same for all values of the other features."""
    return not is_contrastive(tree, row, [i for i in range(FEATURES) if i not in players])


def is_minimal(tree, row, players):
    return is_sufficient(tree, row, players) and not any(is_sufficient(tree, row, players - {i}) for i in players)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args(ARGUMENTS[1:])
    rng = np.random.default_rng(options.seed)
    tree = tree_of(rng)
    rows = rng.integers(0, 2, (ROWS, FEATURES))
    names = [f"x{i + 1}" for i in range(FEATURES)]
    explainer = Explaining.initialize(as_pyxai(tree))
    results, disagreements = [], 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "tree.nnf").write_text(as_nnf(tree))
        with open(folder / "rows.csv", "w", newline="") as file:
            csv.writer(file).writerows([names, *rows.tolist()])
        run(folder, "compile", "tree.nnf", "-o", "c.bsc")
        asked = {
            "one sufficient reason": (["reason"], lambda: explainer.sufficient_reason(n=1)),
            "minimum sufficient reason": (["reason", "--minimum"], lambda: explainer.minimal_sufficient_reason(n=1)),
            "all contrastive reasons": (["contrast", "--all"], lambda: explainer.contrastive_reason(n=Explaining.ALL)),
        }
        claims = []
        for name, ((question, *flags), peer) in asked.items():
            ours, theirs = [], []
            for _ in range(ROUNDS):
                start = processor_time_of_children()
                answer = run(folder, "ask", question, "c.bsc", "rows.csv", *flags, "--json", "--threads", 1)
                ours.append((processor_time_of_children() - start) / ROWS)
            answers = json.loads(answer)["rows"]
            found = []
            for row in rows[:PEER_ROWS]:
                explainer.set_instance(tuple(row.tolist()))
                start = time.process_time()
                found.append(peer())
                theirs.append(time.process_time() - start)
            for number, reasons in enumerate(found):
                own = answers[number]["reasons"]
                as_set = lambda reason: frozenset(abs(literal) - 1 for literal in reason)
                if name.startswith("one"):
                    claims.append({"row": number + 1, "reason": [names[i] for i in sorted(as_set(reasons))]})
                elif name.startswith("minimum"):
                    mine = {names.index(player) for player in own[0]}
                    if len(reasons) != len(mine):
                        disagreements += 1
                        right = is_minimal(tree, rows[number], mine) and len(mine) < len(reasons)
                        assert right or not is_sufficient(tree, rows[number], set(as_set(reasons))), f"row {number + 1}"
                else:
                    peers = {as_set(reason) for reason in reasons}
                    mine = {frozenset(names.index(player) for player in reason) for reason in own}
                    for players in peers ^ mine:
                        disagreements += 1
                        minimal = is_contrastive(tree, rows[number], sorted(players)) and not any(
                            is_contrastive(tree, rows[number], sorted(players - {player})) for player in players
                        )
                        assert (players in mine) == minimal, f"boolshap is wrong on row {number + 1}: {players}"
            results.append((name, statistics.median(ours), statistics.median(theirs)))
        (folder / "claims.json").write_text(json.dumps(claims))
        judged = json.loads(run(folder, "ask", "judge", "c.bsc", "rows.csv", "--claims", "claims.json", "--json"))
        wrong = [row["row"] for row in judged["rows"] for claim in row["claims"] if not claim["minimal"]]
        for row in judged["rows"]:
            for claim in row["claims"]:
                players = {names.index(player) for player in claim["reason"]}
                assert claim["minimal"] == is_minimal(tree, rows[row["row"] - 1], players), f"row {row['row']}"
        print(f"{PEER_ROWS} rows, {len(wrong)} of PyXAI's reasons not minimal, {disagreements} other disagreements")
    lines = [["question", "boolshap_seconds", "pyxai_seconds", "ratio", "machine", "load"]]
    for name, ours, theirs in results:
        print(f"{name:<28} {1e6 * ours:9.1f} us {1e6 * theirs:9.1f} us {theirs / ours:8.0f} times")
        lines.append([name, f"{ours:.3e}", f"{theirs:.3e}", f"{theirs / ours:.1f}", platform.machine(), os.getloadavg()[0]])
    if options.output:
        with open(options.output, "w", newline="") as file:
            csv.writer(file).writerows(lines)


main()
