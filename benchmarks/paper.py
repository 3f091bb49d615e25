"""The paper's path compared with other tools, in one run on one machine: PySDD (diagram) and `authors.py` (scores).

    cargo build --release --workspace --bins --examples
    target/venv/bin/python benchmarks/paper.py --data ../shared/data -o benchmarks/results/paper.csv

Every figure is the median of five runs, with the tools interleaved. On a shared machine only the ratios are meaningful.
"""

import argparse
import csv
import importlib.metadata
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

from pysdd.sdd import SddManager

ROOT = pathlib.Path(__file__).resolve().parents[1]
RUNS = 5


def boolshap(*arguments):
    done = subprocess.run([ROOT / "target/release/boolshap", *map(str, arguments), "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def pysdd(cnf, vtree):
    start = time.perf_counter()
    manager, root = SddManager.from_cnf_file(str(cnf).encode(), vtree_type=vtree)
    return time.perf_counter() - start, root.size()


def engine_seconds(nnf, entities, smooth):
    """Seconds per entity of each engine, from the example `time_engines`."""
    command = [ROOT / "target/release/examples/time_engines", nnf, entities, smooth]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    times = {}
    for line in done.stdout.splitlines():
        name, _, rest = line.partition(": ")
        if rest.endswith("s an entity"):
            times[name] = float(rest.split()[0]) * 1e-6
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    arguments = parser.parse_args()
    paper = arguments.data / "paper"
    rows = []

    def record(what, who, seconds, result, of=""):
        rows.append({"what": what, "who": who, "seconds": f"{seconds:.6g}", "result": result, "per": of})
        print(f"{what:34} {who:28} {seconds:12.6f} s  {result}", file=sys.stderr)

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run(
            [ROOT / "target/release/boolshap", "import", paper / "larq_bnn_13_13_1.h5", "-o", folder / "m.json"],
            check=True, capture_output=True,
        )
        for name, source in (("encode the Larq network", folder / "m.json"), ("simplify paper_bnn_9047", paper / "paper_bnn_9047.cnf")):
            runs = [boolshap("encode", source, "-o", folder / "f.cnf") for _ in range(RUNS)]
            seconds = statistics.median(run["seconds"] for run in runs)
            record(name, "boolshap", seconds, f"{runs[0]['clauses']} clauses")

        cnf = paper / "paper_bnn_2391.cnf"
        ours, right, balanced = [], [], []
        for _ in range(RUNS):
            ours.append(boolshap("compile", cnf, "-o", folder / "c.bsc")["stages"]["sdd"])
            right.append(pysdd(cnf, b"right"))
            balanced.append(pysdd(cnf, b"balanced"))
        record("SDD of paper_bnn_2391", "boolshap", statistics.median(run["seconds"] for run in ours), f"size {ours[0]['size']}")
        record("SDD of paper_bnn_2391", "PySDD right-linear", statistics.median(s for s, _ in right), f"size {right[0][1]}")
        record("SDD of paper_bnn_2391", "PySDD balanced", statistics.median(s for s, _ in balanced), f"size {balanced[0][1]}")

        manager, root = SddManager.from_cnf_file(str(cnf).encode(), vtree_type=b"balanced")
        root.save(str(folder / "p.sdd").encode())
        manager.vtree().save(str(folder / "p.vtree").encode())
        boolshap("compile", folder / "p.sdd", "-o", folder / "p.bsc", "--smooth", "--fan-in-2")
        info = boolshap("info", folder / "p.bsc")
        size = f"{info['nodes']} nodes, {info['tree_nodes']} as a tree"
        convert = [ROOT / "target/release/boolshap", "convert", folder / "p.bsc", "-o", folder / "p.nnf", "--smooth", "--fan-in-2"]
        subprocess.run(convert, check=True)
        entities = paper / "entities_100.csv"
        ours, theirs, graph = [], [], []
        for _ in range(RUNS):
            ours.append(engine_seconds(folder / "p.nnf", entities, folder / "s.nnf"))
            for kept, option in ((theirs, []), (graph, ["--graph"])):
                command = [sys.executable, ROOT / "benchmarks/authors.py", folder / "s.nnf", entities, "--entities", "3", *option]
                done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
                kept.append(json.loads(done.stdout)["seconds_per_entity"])
        for name in ours[0]:
            record("scores of an entity", f"boolshap {name}", statistics.median(run[name] for run in ours), size, "entity")
        record("scores of an entity", "authors.py", statistics.median(theirs), size, "entity")
        record("scores of an entity", "authors.py --graph", statistics.median(graph), size, "entity")

    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        versions = f"python {platform.python_version()}, PySDD {importlib.metadata.version('pysdd')}"
        with open(arguments.output, "w", newline="") as file:
            writer = csv.DictWriter(file, ["what", "who", "seconds", "result", "per", "versions"])
            writer.writeheader()
            writer.writerows({**row, "versions": versions} for row in rows)


main()
