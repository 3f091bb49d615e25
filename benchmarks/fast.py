"""The fast path compared with other tools, in one run on one machine: PySDD for the circuit; shap, numpy and
`authors.py` for the scores.

    cargo build --release --workspace --bins
    python3 -m venv target/peers && target/peers/bin/pip install -r benchmarks/requirements.txt
    target/peers/bin/python benchmarks/fast.py --data ../shared/data -o benchmarks/results/fast.csv

Everything except the stream runs in one thread. Figures are medians over rounds in which the tools take turns; the
column `runs` has their number. Times of circuits and scores are measured inside the process, from memory to memory.
boolshap is measured in wall-clock time, the Python tools in processor time: on a busy machine long
measurements suffer more than boolshap's short ones, which would improve its ratios. Results are compared in the same
run, and a difference stops it.
"""

import os

for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import argparse
import csv
import gc
import importlib.metadata
import json
import math
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import shap
from pysdd.sdd import SddManager, Vtree
from sklearn.tree import DecisionTreeRegressor

import authors

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = os.environ.get("BOOLSHAP_BINARY", ROOT / "target/release/boolshap")
ROUNDS = 9
# ExactExplainer takes most of a second per entity.
EXACT_ROUNDS = 3
TREE_ENTITIES = 128
NUMPY_ENTITIES = 256
NUMPY_BATCH = 32
BACKGROUND = 100
# How boolshap's time grows with the rows of the background.
BACKGROUNDS = (100, 200, 400, 800)
TOLERANCE = 1e-9


def run(*arguments):
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def boolshap(*arguments):
    return json.loads(run(*arguments, "--json"))


def timed(work):
    """Another tool's processor time, so that waiting on a busy machine does not count."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def close(one, other, what):
    worst = np.abs(np.asarray(one) - np.asarray(other)).max()
    assert worst <= TOLERANCE, f"{what}: scores differ by {worst}"


class Table:
    """A Boolean function of n features as the labels of all rows; feature i is bit i of a row's number."""

    def __init__(self, labels):
        self.labels = np.asarray(labels, dtype=float)
        self.features = len(labels).bit_length() - 1
        self.numbers = np.arange(len(labels))
        self.bits = self.numbers[:, None] >> np.arange(self.features) & 1
        self.weights = self.shapley_weights()
        self.halved_weights = self.weights * 0.5 ** self.bits.sum(axis=1)

    def shapley_weights(self):
        """One row per feature: its weight for the value of each coalition, given by the absent features."""
        n = self.features
        sizes = n - self.bits.sum(axis=1)
        weight = np.array([math.factorial(k) * math.factorial(n - k - 1) / math.factorial(n) for k in range(n)])
        gain, loss = weight[np.maximum(sizes - 1, 0)], weight[np.minimum(sizes, n - 1)]
        return np.where(self.bits == 0, gain[:, None], -loss[:, None]).T.copy()

    def scores(self, entities):
        """Uniform SHAP scores: values of all coalitions by one sum per axis; the factors 1/2 are in the weights."""
        values = self.labels[self.numbers[:, None] ^ entities]
        for feature in range(self.features):
            # First the entity's own value of the feature, then the sum over both values.
            pairs = values.reshape(-1, 2, 1 << feature, len(entities))
            pairs[:, 1] += pairs[:, 0]
        return (self.halved_weights @ values).T

    def background_scores(self, entity, background):
        """The definition, with absent features taken from each background row in turn."""
        out = self.numbers[:, None]
        return self.weights @ self.labels[entity & ~out | background & out].mean(axis=1)

    def all_scores(self):
        """Uniform SHAP scores of all rows at once: a Walsh coefficient is shared equally by its features."""

        def transform(values):
            for feature in range(self.features):
                pairs = values.reshape(-1, 2, (1 << feature) * values.shape[1])
                pairs[:, 0] += pairs[:, 1]
                pairs[:, 1] *= -2
                pairs[:, 1] += pairs[:, 0]
            return values

        coefficients = transform(self.labels[:, None].copy()) / len(self.labels)
        return transform(self.bits * (coefficients / np.maximum(self.bits.sum(axis=1), 1)[:, None]))


def threshold(manager, literals, need):
    """The SDD of "at least `need` of these hold", literal by literal, without counts that cannot matter."""
    at_least = {0: manager.true()}
    for done, literal in enumerate(literals, 1):
        low, high = max(0, need - (len(literals) - done)), min(need, done)
        following = {}
        for count in range(low, high + 1):
            if count == 0:
                following[0] = at_least[0]
                continue
            more = manager.conjoin(at_least[count - 1], literal)
            following[count] = manager.disjoin(at_least[count], more) if count in at_least else more
        at_least = following
    return at_least[need]


def pysdd_apply(model):
    """The network's SDD bottom-up, without a CNF. A balanced vtree is faster here than a right-linear one."""
    inputs = len(model["features"])
    manager = SddManager.from_vtree(Vtree(var_count=inputs, vtree_type="balanced"))

    def neuron(gate, values):
        signed = [value if sign == "+" else manager.negate(value) for sign, value in zip(gate["weights"], values, strict=True)]
        return threshold(manager, signed, int(gate["need"]))

    values = [manager.literal(variable) for variable in range(1, inputs + 1)]
    for layer in model["hidden"]:
        values = [neuron(gate, values) for gate in layer]
    return manager, neuron(model["output"]["step"], values)


class Record:
    """The table: printed as it grows, written at the end."""

    def __init__(self):
        self.rows = []

    def add(self, what, who, seconds, runs, result="", ratio=None, bar=""):
        seconds = f"{seconds:.6g}" if seconds is not None else ""
        ratio = f"{ratio:.4g}" if ratio is not None else ""
        self.rows.append({"what": what, "who": who, "seconds": seconds, "runs": runs, "ratio": ratio, "bar": bar, "result": result})
        print(f"{what:28} {who:34} {seconds:>12} s {ratio:>9} {bar:24} {result}", file=sys.stderr)

    def write(self, path):
        names = ("numpy", "pysdd", "scikit-learn", "shap")
        versions = [run("--version").strip(), f"python {platform.python_version()}"]
        versions += [f"{name} {importlib.metadata.version(name)}" for name in names]
        versions += [wide_registers() or "no AVX", f"load {os.getloadavg()[2]:.1f} on {os.cpu_count()} cores"]
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, [*self.rows[0], "versions"])
            writer.writeheader()
            writer.writerows({**row, "versions": ", ".join(versions)} for row in self.rows)


def wide_registers():
    """AVX-512, AVX2 or None, as reported by Linux."""
    try:
        flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return None
    return "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else None


def larq(record, network, folder):
    """The Larq network: from network to circuit, and all scores of an entity."""
    paths = {name: folder / name for name in ("m.json", "c.bsc", "bits.csv", "labels.csv", "scores.csv")}
    run("import", network, "-o", paths["m.json"])
    model = json.loads(paths["m.json"].read_text())
    features = len(model["features"])
    every = [[number >> bit & 1 for bit in range(features)] for number in range(1 << features)]
    with open(paths["bits.csv"], "w", newline="") as file:
        csv.writer(file).writerows([model["features"], *every])
    run("predict", paths["m.json"], paths["bits.csv"], "-o", paths["labels.csv"])
    table = Table(np.loadtxt(paths["labels.csv"], skiprows=1, dtype=int))
    bits = table.bits.astype(float)

    boolshap("compile", paths["m.json"], "-o", paths["c.bsc"], "--threads", 1)
    info = boolshap("info", paths["c.bsc"])
    run("explain", paths["c.bsc"], paths["bits.csv"], "-o", paths["scores.csv"], "--distribution", "uniform", "--threads", 1)
    scores = np.loadtxt(paths["scores.csv"], skiprows=1, delimiter=",")[:, 2:]
    root, tree_nodes = paper_circuit(paths["m.json"], folder)

    # First compute every tool's answer.
    manager, sdd = pysdd_apply(model)
    count = int(table.labels.sum())
    assert sdd.global_model_count() == count == int(info["models"]), "the model counts differ"
    ones = sorted(sum(value << variable - 1 for variable, value in found.items()) for found in sdd.models())
    assert ones == np.flatnonzero(table.labels).tolist(), "PySDD has another function"
    close(table.all_scores(), scores, "Walsh coefficients")
    tree = DecisionTreeRegressor(random_state=0).fit(bits, table.labels)
    assert (tree.predict(bits) == table.labels).all(), "the tree is not the network"
    tree_explainer = shap.TreeExplainer(tree, feature_perturbation="tree_path_dependent")
    chosen = np.random.default_rng(7).permutation(len(bits))
    background = chosen[-BACKGROUND:]
    predict = lambda rows: table.labels[rows.astype(int) @ (1 << np.arange(features))]
    for rows in BACKGROUNDS:
        with open(folder / f"background{rows}.csv", "w", newline="") as file:
            csv.writer(file).writerows([model["features"], *table.bits[chosen[-rows:]].tolist()])
    exact_explainer = shap.ExactExplainer(predict, shap.maskers.Independent(bits[background], max_samples=BACKGROUND))
    # Numba compiles at the first call.
    exact_explainer(bits[:1], silent=True)
    # Excludes these objects from later garbage collections.
    gc.collect()
    gc.freeze()

    times = {}
    keep = lambda name, seconds: times.setdefault(name, []).append(seconds)
    for round in range(ROUNDS):
        compiled = boolshap("compile", paths["m.json"], "-o", paths["c.bsc"], "--threads", 1)
        keep("compile", sum(stage["seconds"] for stage in compiled["stages"].values()))
        keep("compile command", compiled["seconds"])
        keep("PySDD", timed(lambda: pysdd_apply(model))[0])

        bench = boolshap("bench", "shap", "--circuit", paths["c.bsc"], "--threads", 1)
        assert bench["entities"] == len(bits)
        for name in ("fast_seconds", "fast_single_seconds", "paper_seconds", "brute_force_seconds", "machine_flops"):
            keep(name, bench[name])
        for size in bench["sizes"]:
            keep(("size", size["nodes"]), (size["seconds"], size["fraction"]))

        rows = chosen[:TREE_ENTITIES]
        seconds, found = timed(lambda: tree_explainer.shap_values(bits[rows], check_additivity=False))
        keep("TreeExplainer", seconds / len(rows))
        close(found, scores[rows], "TreeExplainer")
        rows = chosen[:NUMPY_ENTITIES]
        batches = rows.reshape(-1, NUMPY_BATCH)
        seconds, found = timed(lambda: np.concatenate([table.scores(batch) for batch in batches]))
        keep("numpy", seconds / len(rows))
        close(found, scores[rows], "numpy")
        keep("Walsh", timed(table.all_scores)[0] / len(bits))
        row = chosen[round]
        if round < EXACT_ROUNDS:
            seconds, found = timed(lambda: exact_explainer(bits[row : row + 1], silent=True))
            keep("ExactExplainer", seconds)
            close(found.values[0], table.background_scores(row, background), "ExactExplainer")
            for rows in BACKGROUNDS:
                options = ["--distribution", f"background:{folder / f'background{rows}.csv'}", "--threads", 1]
                result = boolshap("explain", paths["c.bsc"], paths["bits.csv"], "-o", folder / "b.csv", *options)
                keep(("background", rows), result["seconds"] / result["rows"])
                found = np.loadtxt(folder / "b.csv", skiprows=1, delimiter=",")[row, 2:]
                close(found, table.background_scores(row, chosen[-rows:]), f"background of {rows}")
        entity = table.bits[row].tolist()
        half = [0.5] * features
        seconds, found = timed(lambda: [authors.shap(root, feature, entity, half) for feature in range(1, features + 1)])
        keep("authors.py", seconds)
        close(found, scores[row], "authors.py")
    runs = {name: len(kept) for name, kept in times.items()}
    median = {name: statistics.median(kept) for name, kept in times.items() if not isinstance(name, tuple)}

    what = "Larq network to circuit"
    route = f"{compiled['route']}, {info['nodes']} nodes, {count} ones"
    record.add(what, "boolshap", median["compile"], runs["compile"], route)
    record.add(what, "boolshap, reading the model too", median["compile command"], runs["compile command"], route)
    ratio = median["PySDD"] / median["compile"]
    record.add(what, "PySDD apply, balanced", median["PySDD"], runs["PySDD"], f"size {sdd.size()}, {count} ones", ratio, ">= 20")
    what = "scores of an entity"
    fast = median["fast_seconds"]

    def rival(who, name, result="", bar=""):
        record.add(what, who, median[name], runs[name], result, median[name] / fast, bar)

    record.add(what, "boolshap fast", fast, runs["fast_seconds"], f"{len(bits)} distinct rows")
    rival("boolshap fast, one at a time", "fast_single_seconds")
    rival("boolshap paper", "paper_seconds")
    rival("boolshap brute-force", "brute_force_seconds")
    bar = {"AVX-512": ">= 200 (AVX-512)", "AVX2": ">= 120 (AVX2)"}.get(wide_registers(), "")
    rival("shap TreeExplainer", "TreeExplainer", f"{tree.tree_.node_count} nodes, {TREE_ENTITIES} rows", bar)
    rival("shap ExactExplainer", "ExactExplainer", f"background of {BACKGROUND} rows")
    rival("numpy, all coalitions", "numpy", f"{NUMPY_ENTITIES} rows by {NUMPY_BATCH}")
    rival("numpy, Walsh, all rows at once", "Walsh", "uniform only, all rows or none")
    rival("authors.py", "authors.py", f"{tree_nodes} nodes as a tree", ">= 70000")
    what = "background rows, all scores of an entity"
    for rows in BACKGROUNDS:
        kept = times.pop(("background", rows))
        seconds = statistics.median(kept)
        if rows == BACKGROUND:
            first = seconds
            record.add(what, f"boolshap, {rows} rows, with reading and writing", seconds, len(kept))
            ratio = median["ExactExplainer"] / seconds
            record.add(what, f"shap ExactExplainer, {rows} rows", median["ExactExplainer"], runs["ExactExplainer"], "", ratio, ">= 100")
        else:
            record.add(what, f"boolshap, {rows} rows", seconds, len(kept), "", seconds / first, f"{rows // BACKGROUND}: linear")
    what = "share of multiply-adds"
    record.add(what, "registers", None, runs["machine_flops"], f"{median['machine_flops'] / 1e9:.1f} GFLOP/s a thread")
    for (size, aim), name in zip(((1_000, "30 %"), (1_000_000, "10 %")), sorted(name for name in times if isinstance(name, tuple))):
        seconds, share = map(statistics.median, zip(*times[name]))
        record.add(what, f"boolshap fast, about {size}", seconds, runs[name], f"{name[1]} nodes", share, f"aim: {aim}")


def paper_circuit(model, folder):
    """The circuit of the authors' path (CNF, PySDD, Algorithm 1), expanded into a tree, and its number of nodes."""
    run("encode", model, "-o", folder / "p.cnf")
    manager, root = SddManager.from_cnf_file(str(folder / "p.cnf").encode(), vtree_type=b"balanced")
    root.save(str(folder / "p.sdd").encode())
    manager.vtree().save(str(folder / "p.vtree").encode())
    run("compile", folder / "p.sdd", "-o", folder / "p.bsc", "--smooth", "--fan-in-2")
    run("convert", folder / "p.bsc", "-o", folder / "p.nnf", "--smooth", "--fan-in-2")
    root, _ = authors.read_nnf(folder / "p.nnf", expand=True)
    return root, authors.count(root, set())


def growth(record):
    """Dense networks n-n-1 by the truth-table route, compared with evaluating all inputs and with apply."""
    bench = boolshap("bench", "compile", "--inputs", 30, "--threads", 1)
    assert bench["threads"] == 1
    for square in bench["square"]:
        n = square["inputs"]
        what, compiled = f"dense {n}-{n}-1 to circuit", square["compile_seconds"]
        bar = "<= 3 of evaluating" if n >= 24 else ""
        record.add(what, "boolshap truth-table", compiled, 3, f"{square['nodes']} nodes", square["ratio"], bar)
        record.add(what, "boolshap, evaluating all inputs", square["evaluate_seconds"], 3)
        if square["apply_seconds"] is not None:
            bar = ">= 20" if n == 20 else ""
            record.add(what, "boolshap apply", square["apply_seconds"], 3, "", square["apply_seconds"] / compiled, bar)
        if n == 30 and square["peak_memory_bytes"] is not None:
            memory = square["peak_memory_bytes"]
            record.add(what, "boolshap, memory", None, 3, f"{memory / 2**20:.0f} MiB", memory / 2**30, "<= 6 GiB")
    for wide in bench["wide"]:
        what = f"dense {wide['inputs']}-{wide['hidden']}-1 to circuit"
        if "limit" in wide:
            record.add(what, "boolshap", None, 1, f"ends: {wide['limit']}")
        else:
            result = f"{wide['nodes']} nodes, {wide['scores_per_second']:.3g} scores a second"
            record.add(what, f"boolshap {wide['route']}", wide["seconds"], 1, result)


def modes(record):
    """The cost of each mode compared with the default, on the housing network."""
    for mode in boolshap("bench", "modes")["modes"]:
        bar = "<= 3" if mode["mode"].startswith("columns, uniform") else ""
        record.add("housing, an entity", f"boolshap, {mode['mode']}", mode["seconds"], 9, "", mode["ratio"], bar)


def stream(record):
    """A million raw rows, CSV to CSV, with all threads."""
    bench = boolshap("bench", "stream")
    what, memory = f"stream of {bench['rows']} rows", bench["peak_memory_bytes"]
    record.add(what, "boolshap, read and write only", bench["read_seconds"] + bench["write_seconds"], 3)
    record.add(what, "boolshap explain", bench["explain_seconds"], 3, f"{bench['distinct_rows']} distinct", bench["ratio"], "<= 3")
    if memory is not None:
        record.add(what, "boolshap explain, memory", None, 3, f"{memory / 2**20:.0f} MiB", memory / 2**30, "< 1 GiB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    arguments = parser.parse_args()
    record = Record()
    with tempfile.TemporaryDirectory() as folder:
        larq(record, arguments.data / "paper/larq_bnn_13_13_1.h5", pathlib.Path(folder))
    modes(record)
    growth(record)
    stream(record)
    if arguments.output:
        record.write(arguments.output)


if __name__ == "__main__":
    main()
