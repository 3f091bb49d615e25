"""Ctrl-C during any long command: it ends within a second with exit code 130 and leaves no file behind.

On a busy machine less work fits into a second. So the tests measure the processor time from the signal to the end; only
`make soak`, which runs alone on the machine, measures wall-clock time."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest

from conftest import ROOT, processor_seconds, wait_for_handler, written_bytes

pytestmark = pytest.mark.slow
PROMISE = 1.0
# Extra wall-clock seconds for ending a process that holds gigabytes; set by `make soak`.
SLACK = os.environ.get("BOOLSHAP_SLACK")
# After this many seconds a program counts as hanging.
NEVER = 120
EARLY = 0.15
INPUTS = 26
NAMES = [f"x{i + 1}" for i in range(INPUTS)]


def write_model(path, *widths, seed=1):
    """A network of random signs; `widths` begin with the inputs."""
    rng = np.random.default_rng(seed)

    def layer(inputs, gates):
        signs = np.frombuffer(b"+-", dtype=np.uint8)[rng.integers(0, 2, (gates, inputs), dtype=np.uint8)]
        return [{"weights": gate.tobytes().decode(), "need": str(inputs // 2)} for gate in signs]

    layers = [layer(*pair) for pair in zip(widths, [*widths[1:], 1])]
    features = [f"x{i + 1}" for i in range(widths[0])]
    network = {"format": "boolshap model", "version": 1, "features": features, "provenance": {}}
    path.write_text(json.dumps(network | {"hidden": layers[:-1], "output": {"step": layers[-1][0]}}))


def write_rows(path, names, rows, seed=5, one_hot=False):
    """Random bits; with `one_hot` a single 1 in each of the two halves of a row."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (rows, len(names)), dtype=np.uint8)
    if one_hot:
        half = len(names) // 2
        bits = np.hstack([np.eye(half, dtype=np.uint8)[rng.integers(0, half, rows)] for _ in range(2)])
    cells = np.full((rows, 2 * len(names)), ord(","), dtype=np.uint8)
    cells[:, ::2] = ord("0") + bits
    cells[:, -1] = ord("\n")
    path.write_bytes((",".join(names) + "\n").encode() + cells.tobytes())


def write_formula(path, clauses):
    """Clauses of three literals over the variables 10 to 99, in cells of equal width so that numpy can write them."""
    rng = np.random.default_rng(3)
    cells = np.full((clauses, 14), ord(" "), dtype=np.uint8)
    for place in (0, 4, 8):
        variables = rng.integers(10, 100, clauses)
        cells[:, place] = np.where(rng.integers(0, 2, clauses), ord("-"), ord(" "))
        cells[:, place + 1], cells[:, place + 2] = ord("0") + variables // 10, ord("0") + variables % 10
    cells[:, 12], cells[:, 13] = ord("0"), ord("\n")
    path.write_bytes(f"p cnf 99 {clauses}\n".encode() + cells.tobytes())


def write_pairs(path, clauses):
    """Clauses of two variables; no two clauses share a variable."""
    lines = [f"{2 * i + 1} {2 * i + 2} 0" for i in range(clauses)]
    path.write_text("\n".join([f"p cnf {2 * clauses} {clauses}", *lines, ""]))


def random_levels(variables, width):
    """An ordered diagram: for each variable, the last one first, its nodes as pairs of different nodes one level below.
    Nodes are numbered from 0 in each level. The two nodes of the last level are literals; below it 0 is false and 1
    true."""
    rng = np.random.default_rng(1)
    yield variables, [0, 1], [1, 0]
    below = 2
    for variable in range(variables - 1, 0, -1):
        size = min(width, 1 << (variable - 1))
        lo = rng.integers(0, below, size)
        hi = (lo + rng.integers(1, below, size)) % below
        yield variable, lo.tolist(), hi.tolist()
        below = size


def write_nnf(path, variables, width):
    lines = [f"L {sign * v}" for v in range(1, variables + 1) for sign in (1, -1)] + ["O 0 0", "A 0"]
    count, edges, children = len(lines), 0, lambda node: 2 * variables + node
    for v, lo, hi in random_levels(variables, width):
        low, high = 2 * v - 1, 2 * v - 2
        for node, (a, b) in enumerate(zip(lo, hi)):
            at = count + 3 * node
            lines.append(f"A 2 {low} {children(a)}\nA 2 {high} {children(b)}\nO {v} 2 {at} {at + 1}")
        children = lambda node, start=count: start + 3 * node + 2
        count, edges = count + 3 * len(lo), edges + 6 * len(lo)
    path.write_text(f"nnf {count} {edges} {variables}\n" + "\n".join(lines) + "\n")


def write_ddnnf(path, variables, width):
    levels = list(random_levels(variables, width))[::-1]
    lines, first = [], 1
    for v, lo, hi in levels:
        below = first + len(lo)
        lines += [
            f"o {first + node} 0\n{first + node} {below + a} -{v} 0\n{first + node} {below + b} {v} 0"
            for node, (a, b) in enumerate(zip(lo, hi))
        ]
        first = below
    path.write_text("\n".join(lines) + f"\nf {first} 0\nt {first + 1} 0\n")


def write_sdd(path, variables, width):
    """The diagram over a right-linear vtree, in which the leaf of variable v is 2 (v - 1) and its parent 2 v - 1."""
    leaves = [f"L {2 * v - 2} {v}" for v in range(1, variables + 1)]
    parents = [f"I {2 * v - 1} {2 * v - 2} {2 * v + (v < variables - 1)}" for v in range(variables - 1, 0, -1)]
    path.with_suffix(".vtree").write_text("\n".join([f"vtree {2 * variables - 1}", *leaves, *parents]) + "\n")
    lines = ["F 0", "T 1"]
    for v in range(1, variables + 1):
        lines += [f"L {2 * v} {2 * v - 2} {v}", f"L {2 * v + 1} {2 * v - 2} -{v}"]
    first, below = 2 * variables + 2, 2 * variables
    # The last variable's two nodes are its literals, which already exist.
    for v, lo, hi in list(random_levels(variables, width))[1:]:
        lines += [
            f"D {first + node} {2 * v - 1} 2 {2 * v + 1} {below + a} {2 * v} {below + b}"
            for node, (a, b) in enumerate(zip(lo, hi))
        ]
        first, below = first + len(lo), first
    path.write_text("\n".join([f"sdd {len(lines)}", *lines]) + "\n")


@pytest.fixture(scope="session")
def inputs(tmp_path_factory):
    """A folder of files that are created on demand: `inputs("t26.json")` is the path."""
    folder = tmp_path_factory.mktemp("interrupt")

    def command(*arguments):
        binary = os.environ.get("BOOLSHAP_BINARY", str(ROOT / "target/debug/boolshap"))
        subprocess.run([binary, *map(str, arguments)], cwd=folder, check=True, capture_output=True)

    def blocks(path):
        rng = np.random.default_rng(2)
        for name, shape in {"blk1": (1000, 3000), "out_blk": (2, 1000)}.items():
            (path / name).mkdir(parents=True)
            # Cells of equal width, so that numpy can write them: "+0.123," with other digits.
            cells = np.full((*shape, 7), ord("0"), dtype=np.uint8) + rng.integers(1, 10, (*shape, 7), dtype=np.uint8)
            cells[..., 0] = np.where(rng.integers(0, 2, shape), ord("-"), ord("1"))
            cells[..., 2], cells[..., 6] = ord("."), ord(",")
            cells[:, -1, 6] = ord("\n")
            (path / name / "lin_weight.csv").write_bytes(cells.tobytes())
            np.savetxt(path / name / "lin_bias.csv", np.zeros((1, shape[0])), delimiter=",", fmt="%.1f")
        for name in ("weight", "bias", "mean", "var"):
            np.savetxt(path / f"blk1/bn_{name}.csv", np.ones((1, 1000)), delimiter=",", fmt="%.1f")

    def table(path):
        rng = np.random.default_rng(4)
        cells = rng.integers(0, 10, (300_000, 40), dtype=np.uint8)
        text = np.full((len(cells), 80), ord(","), dtype=np.uint8)
        text[:, ::2], text[:, -1] = ord("0") + cells, ord("\n")
        path.write_bytes((",".join(f"f{i}" for i in range(39)) + ",y\n").encode() + text.tobytes())

    def one_hot_model(path):
        write_model(path, INPUTS, INPUTS)
        text = path.read_text()
        for i, name in enumerate(NAMES):
            text = text.replace(f'"{name}"', f'"{one_hot[i]}"')
        path.write_text(text)

    one_hot = [f"{'ab'[i // (INPUTS // 2)]}={i}" for i in range(INPUTS)]
    makers = {
        "t20.json": lambda path: write_model(path, 20, 20),
        "t26.json": lambda path: write_model(path, INPUTS, INPUTS),
        "t28.json": lambda path: write_model(path, 28, 28),
        "t29.json": lambda path: write_model(path, 29, 29),
        "s44.json": lambda path: write_model(path, 44, 10),
        "a40.json": lambda path: write_model(path, 40, 20, 20),
        "e20.json": lambda path: write_model(path, 19, 19),
        "e24.json": lambda path: write_model(path, 24, 13),
        "wide.json": lambda path: write_model(path, 9000, 9000),
        "hot.json": one_hot_model,
        "c20.bsc": lambda path: command("compile", inputs("t20.json"), "-o", path),
        "c26.bsc": lambda path: command("compile", inputs("t26.json"), "-o", path),
        "hot.bsc": lambda path: command("compile", inputs("hot.json"), "-o", path),
        "rows20.csv": lambda path: write_rows(path, NAMES[:20], 20_000),
        "rows26.csv": lambda path: write_rows(path, NAMES, 20_000),
        "million.csv": lambda path: write_rows(path, NAMES, 1_500_000),
        "background.csv": lambda path: write_rows(path, NAMES, 2_000, seed=9),
        "background20.csv": lambda path: write_rows(path, NAMES[:20], 500_000, seed=9),
        "hot.csv": lambda path: write_rows(path, one_hot, 20_000, one_hot=True),
        "constraint.cnf": lambda path: path.write_text("p cnf 20 1\n" + " ".join(map(str, range(1, 21))) + " 0\n"),
        "one.cnf": lambda path: path.write_text("p cnf 26 1\n" + " ".join(map(str, range(1, 27))) + " 0\n"),
        "clause.cnf": lambda path: path.write_text("p cnf 1500 1\n" + " ".join(map(str, range(1, 1501))) + " 0\n"),
        "many.cnf": lambda path: write_pairs(path, 20_000),
        "hard.cnf": lambda path: write_formula(path, 300),
        "long.cnf": lambda path: write_formula(path, 3_000_000),
        "large.nnf": lambda path: write_nnf(path, 50, 20_000),
        "large.ddnnf": lambda path: write_ddnnf(path, 50, 20_000),
        "large.sdd": lambda path: write_sdd(path, 50, 20_000),
        "net": blocks,
        "table.csv": table,
    }
    made = {}

    def inputs(name):
        if name not in made:
            made[name] = folder / name
            makers[name](made[name])
        return made[name]

    return inputs


# The command, with the names of its inputs in braces, and the time of the second interruption in seconds.
CASES = {
    # At that time the diagram is finished and is being converted to a circuit.
    "compile by truth table": ("compile {t29.json} -o out.bsc --via truth-table", 2.2),
    "compile by partial sums": ("compile {s44.json} -o out.bsc --via partial-sums", 0.5),
    "compile by apply": ("compile {a40.json} -o out.bsc --via apply", 0.5),
    "compile by way of the formula": ("compile {e20.json} -o out.bsc --via cnf", 0.5),
    "compile a wide network": ("compile {wide.json} -o out.bsc", 0.5),
    "compile and shape": ("compile {t26.json} -o out.bsc --smooth --fan-in-2", 1.2),
    "compile and smooth": ("compile {t26.json} -o out.bsc --smooth", 1.2),
    "compile and verify": ("compile {t26.json} -o out.bsc --verify", 1.2),
    "compile a hard formula": ("compile {hard.cnf} -o out.bsc", 0.5),
    "compile a long formula": ("compile {long.cnf} -o out.bsc", 0.5),
    "compile a formula of many variables": ("compile {many.cnf} -o out.bsc", 0.5),
    "compile a formula to an SDD file": ("compile {hard.cnf} -o out.sdd", 0.5),
    "compile an NNF file": ("compile {large.nnf} -o out.bsc", 0.5),
    "compile a d-DNNF file": ("compile {large.ddnnf} -o out.bsc --variables 50", 0.5),
    "compile an SDD file": ("compile {large.sdd} -o out.bsc", 0.5),
    "encode": ("encode {e20.json} -o out.cnf", 0.5),
    "encode a long formula": ("encode {long.cnf} -o out.cnf", 0.5),
    "verify exhaustively": ("verify {t26.json} {c26.bsc} --method exhaustive", 0.5),
    "verify by SAT": ("verify {t20.json} {c20.bsc} --method sat", 0.5),
    "verify a large circuit by SAT": ("verify {t26.json} {c26.bsc} --method sat", 0.5),
    "verify by a walk": ("verify {t26.json} {c26.bsc} --method walk", 0.5),
    "verify with a proof": ("verify {t20.json} {c20.bsc} --proof out.proof", 0.5),
    "explain": ("explain {c26.bsc} {rows26.csv} -o out.csv", 1.2),
    "explain to parquet": ("explain {c26.bsc} {rows26.csv} -o out.parquet", 0.5),
    "explain by the paper": ("explain {c20.bsc} {rows20.csv} -o out.csv --engine paper", 0.5),
    "explain a large circuit by the paper": ("explain {c26.bsc} {rows26.csv} -o out.csv --engine paper", 0.5),
    "explain by the paper in fractions": ("explain {c20.bsc} {rows20.csv} -o out.csv --engine paper --exact", 0.5),
    "explain by brute force": ("explain {c20.bsc} {rows20.csv} -o out.csv --engine brute-force", 0.5),
    "explain in fractions": ("explain {c26.bsc} {rows26.csv} -o out.csv --exact", 1.2),
    "explain before a background": (
        "explain {c26.bsc} {rows26.csv} -o out.csv --distribution background:{background.csv}",
        1.2,
    ),
    "explain before a large background": (
        "explain {c20.bsc} {rows20.csv} -o out.csv --distribution background:{background20.csv}",
        0.5,
    ),
    "explain by what rows agree": (
        "explain {c20.bsc} {rows20.csv} -o out.csv --distribution empirical:{background20.csv}",
        0.5,
    ),
    "explain given a constraint": ("explain {c20.bsc} {rows20.csv} -o out.csv --constraint {constraint.cnf}", 0.5),
    "explain interactions": ("explain {c26.bsc} {rows26.csv} -o out.csv --index interaction", 1.2),
    "explain columns": ("explain {hot.bsc} {hot.csv} -o out.csv --players columns", 0.5),
    "train": ("train {table.csv} --target y --column y=categorical -o out.json --tally out.csv --hidden 40", 1.2),
    "predict by a network": ("predict {t26.json} {million.csv} -o out.csv", 0.5),
    "predict by a large circuit": ("predict {c26.bsc} {rows26.csv} -o out.csv", 0.5),
    "ask for all reasons": ("ask reason {c26.bsc} {rows26.csv} --all -o out.json", 0.5),
    "convert to NNF": ("convert {c26.bsc} -o out.nnf", 0.5),
    "convert and smooth": ("convert {c26.bsc} -o out.ddnnf --smooth", 0.5),
    "convert to a drawing": ("convert {c26.bsc} -o out.dot", 0.5),
    "info of a circuit": ("info {c26.bsc}", 0.5),
    "info of a wide network": ("info {wide.json}", 0.5),
    "import": ("import {net} -o out.json --bn-epsilon 0", 0.5),
    "bench compile": ("bench compile", 0.5),
    "bench shap": ("bench shap", 0.5),
    "bench stream": ("bench stream", 0.5),
    # These two take half a second.
    "bench paper": ("bench paper", None),
    "bench modes": ("bench modes", None),
}


def ends_in_time(process):
    """Sends Ctrl-C to a running program and waits for its end; returns how it ended, as text."""
    assert process.poll() is None, "it was done before the signal"
    before, start = processor_seconds(process.pid), time.monotonic()
    process.send_signal(signal.SIGINT)
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        assert time.monotonic() - start < NEVER, f"it was still running {NEVER} s after the signal"
        time.sleep(0.002)
    seconds, processor = time.monotonic() - start, processor_seconds(process.pid) - before
    process.wait()
    how = f"{processor:.2f} s of work, {seconds:.2f} s by the clock after the signal"
    assert processor < PROMISE * os.cpu_count() + 1, how
    assert SLACK is None or seconds < PROMISE + float(SLACK), how
    return how


def interrupt(boolshap, arguments, moment, stdin=subprocess.DEVNULL):
    """Starts a command and interrupts it; checks that it ends in time and leaves no new file."""
    # The solver and others write temporary files: their folder must be empty afterwards, too.
    spare = boolshap.folder / "spare"
    spare.mkdir(exist_ok=True)
    old = {}
    for name in [argument for argument in arguments if argument.startswith("out.")]:
        old[name] = b"what was there before"
        (boolshap.folder / name).write_bytes(old[name])
    before = sorted(os.listdir(boolshap.folder))
    process = boolshap.start(
        *arguments,
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(spare)},
    )
    try:
        wait_for_handler(process)
        time.sleep(moment)
        how = ends_in_time(process)
        said = process.stderr.read()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    assert process.returncode == 130, f"{said} ({how} at {moment} s)"
    assert sorted(os.listdir(boolshap.folder)) == before and os.listdir(spare) == []
    assert all((boolshap.folder / name).read_bytes() == content for name, content in old.items())


@pytest.mark.parametrize("what", CASES)
def test_an_interrupt_ends_it_within_a_second_and_leaves_no_trace(boolshap, inputs, what):
    line, middle = CASES[what]
    pieces = line.replace("{", "\0{").replace("}", "}\0").split("\0")
    text = "".join(str(inputs(piece[1:-1])) if piece.startswith("{") else piece for piece in pieces)
    for moment in [EARLY, middle] if middle else [EARLY]:
        interrupt(boolshap, text.split(" "), moment)


@pytest.mark.parametrize("sent", [0, 9_000])
def test_an_interrupt_ends_waiting_for_a_pipe(boolshap, inputs, sent):
    """The process that writes the rows has stalled, before the header or in the middle."""
    end, start = os.pipe()
    feeder = subprocess.Popen(["sh", "-c", f"head -n {sent} {inputs('rows20.csv')}; exec sleep 60"], stdout=start)
    os.close(start)
    try:
        interrupt(boolshap, ["explain", str(inputs("c20.bsc")), "-", "-o", "out.csv"], 0.8, stdin=end)
    finally:
        os.close(end)
        feeder.kill()
        feeder.wait()


def test_an_interrupt_while_the_result_is_written_leaves_the_old_file_or_the_new_one(boolshap, inputs):
    arguments = ["compile", str(inputs("t28.json")), "-o", "out.bsc"]
    target = boolshap.folder / "out.bsc"
    boolshap(*arguments)
    new, old = target.read_bytes(), b"what was there before"
    target.write_bytes(old)
    process = boolshap.start(*arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        # The unfinished file has no name.
        while process.poll() is None and not written_bytes(process.pid):
            time.sleep(0.01)
        if process.poll() is None:
            ends_in_time(process)
        assert process.returncode in (0, 130)
    finally:
        process.kill()
        process.wait()
    assert os.listdir(boolshap.folder) == ["out.bsc"]
    assert target.read_bytes() == (new if process.returncode == 0 else old)


def test_an_interrupt_of_the_demo_leaves_whole_files(boolshap):
    """The demo writes several files, one after another: each existing file is complete."""
    for moment in (EARLY, 0.8):
        process = boolshap.start("demo", "--retrain", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_handler(process)
        time.sleep(moment)
        how = ends_in_time(process)
        assert process.returncode == 130, how
        left = os.listdir(boolshap.folder / "boolshap-demo")
        assert set(left) <= {"model.json"}
        if left:
            json.loads((boolshap.folder / "boolshap-demo/model.json").read_text())
