"""Work that does not fit into memory ends with a message about the limit that was reached, and commands that promise
bounded memory keep within it."""

import os
import re

import pytest

# The fixture creates files on demand.
from test_interrupt import NAMES, inputs, write_rows  # noqa: F401


pytestmark = pytest.mark.slow


def words(inputs, line):
    pieces = re.split(r"(\{[^}]*\})", line)
    return "".join(str(inputs(piece[1:-1])) if piece.startswith("{") else piece for piece in pieces).split(" ")


# For each case the command and its limits as a user sets them, the largest peak memory in MiB, and the message. The
# address space is 3 GiB.
LIMITS = {
    "truth table": (
        "compile {t26.json} -o out.bsc --via truth-table --max-nodes 1000000",
        400,
        r"the limit of 1000000 diagram nodes is reached after \d+ of 26 levels",
    ),
    "partial sums": (
        "compile {s44.json} -o out.bsc --via partial-sums --timeout 3",
        1500,
        # The limit is reached between two levels, or during the evaluation of an order.
        r"time limit of 3 seconds has passed( with \d+ states listed, after \d+ of 44 levels|.*\(after [\d,]+ states\))",
    ),
    "apply": (
        "compile {a40.json} -o out.bsc --via apply --max-nodes 1000000",
        1500,
        r"the limit of 1000000 diagram nodes is reached after \d+ of \d+ gates of layer \d of 3",
    ),
    "formula by default": (
        "compile {e24.json} -o out.bsc --via cnf",
        1000,
        r"more than 1000000 clauses \(max-clauses\) while encoding layer 1, neuron \d+, at row \d+ of 24",
    ),
    "formula": (
        "encode {e24.json} -o out.cnf --max-clauses 100000",
        500,
        r"more than 100000 clauses \(max-clauses\) while encoding",
    ),
    "SDD": (
        "compile {hard.cnf} -o out.bsc --max-nodes 5000",
        200,
        r"limit of 5000 .*nodes.*after \d+ of \d+ clauses",
    ),
    "SDD in time": ("compile {hard.cnf} -o out.bsc --timeout 3", 1000, r"time limit of 3 seconds.*\d+ of \d+ clauses"),
    "smoothing": (
        "compile {clause.cnf} -o out.bsc --smooth --max-nodes 20000",
        400,
        r"smoothing met its limit of 20000 nodes after \d+ of \d+ nodes",
    ),
    "verify by SAT": (
        "verify {t20.json} {c20.bsc} --method sat --timeout 3",
        1000,
        r"time limit of 3 seconds has passed",
    ),
    "verify by a walk": (
        "verify {t26.json} {c26.bsc} --method walk --timeout 3",
        1500,
        r"time limit of 3 seconds has passed",
    ),
    "verify exhaustively": (
        "verify {t26.json} {c26.bsc} --method exhaustive --timeout 3",
        500,
        r"time limit of 3 seconds has passed",
    ),
    "constraint": (
        "explain {c26.bsc} {rows26.csv} -o out.csv --constraint {one.cnf}",
        500,
        r"2\^26 sets.*the limit is 20 players",
    ),
    "empirical": (
        "explain {c26.bsc} {rows26.csv} -o out.csv --distribution empirical:{background.csv}",
        500,
        r"2\^26 sets.*the limit is 20 players",
    ),
}


@pytest.mark.parametrize("what", LIMITS)
def test_a_limit_is_told_with_how_far_it_got(boolshap, inputs, what):
    line, most, expected = LIMITS[what]
    arguments = words(inputs, line)
    # Apply reserves its tables in advance.
    code, said, peak, processor = boolshap.measured(
        *arguments, "--threads", 2, mebibytes=6144 if what == "apply" else 3072
    )
    assert code == 1, said
    assert re.search(expected, said), said
    assert peak < most, "MiB"
    # Two threads for three seconds, plus the work between two checks of the clock.
    assert "--timeout" not in line or processor < 2 * 3 + 9
    assert not [name for name in os.listdir(boolshap.folder) if name.startswith(("out.", ".boolshap-"))]


# Commands that need more memory than their limit, in GiB: the limit ends them, not the system.
FULL = {
    "partial sums": ("compile {s44.json} -o out.bsc --via partial-sums", 0.2),
    "formula": ("encode {e24.json} -o out.cnf --max-clauses 100000000", 0.3),
    "smoothing": ("compile {t26.json} -o out.bsc --smooth --fan-in-2", 0.4),
    "verify by a walk": ("verify {t26.json} {c26.bsc} --method walk", 0.4),
}


@pytest.mark.parametrize("what", FULL)
def test_the_limit_of_memory_ends_the_work(boolshap, inputs, what):
    line, most = FULL[what]
    code, said, peak, _ = boolshap.measured(
        *words(inputs, line), "--max-memory", most, "--threads", 2, mebibytes=6144
    )
    assert code == 1, f"{code}, {peak} MiB: {said[:300]}"
    assert re.search(r"the memory limit is reached.*\(after [\d,.]+ (% of the work|[a-z ]+)\)", said), said
    assert peak < 1024 * most + 700, "MiB: what comes between two looks is on top"
    assert not [name for name in os.listdir(boolshap.folder) if name.startswith(("out.", ".boolshap-"))]


# Commands that work in little address space: the command, the address space and the largest peak memory, in MiB.
SMALL = {
    "stream": ("explain {small.bsc} {rows.csv} -o out.csv", 640, 300),
    "stream to parquet": ("explain {small.bsc} {rows.csv} -o out.parquet", 640, 300),
    "stream before a background": (
        "explain {small.bsc} {few.csv} -o out.csv --distribution background:{rows.csv}",
        640,
        300,
    ),
    "predict": ("predict {small.bsc} {million.csv} -o out.csv", 512, 200),
    "info": ("info {c26.bsc}", 512, 250),
    "compile 26 inputs": ("compile {t26.json} -o out.bsc", 640, 350),
}


@pytest.mark.parametrize("what", SMALL)
def test_what_is_small_passes_in_a_tight_space(boolshap, inputs, what):
    made = {"small.bsc": boolshap.folder / "small.bsc", "rows.csv": boolshap.folder / "rows.csv"}
    made |= {"few.csv": boolshap.folder / "few.csv"}
    line, room, most = SMALL[what]
    if "{small.bsc}" in line:
        # Most features do not matter, so that reading and writing rows dominates the time.
        (boolshap.folder / "f.cnf").write_text("p cnf 26 1\n1 2 0\n")
        boolshap("compile", "f.cnf", "-o", "small.bsc")
        write_rows(made["rows.csv"], NAMES, 300_000)
        write_rows(made["few.csv"], NAMES, 20)
    arguments = words(lambda name: made[name] if name in made else inputs(name), line)
    code, said, peak, _ = boolshap.measured(*arguments, "--threads", 2, mebibytes=room)
    assert code == 0, said
    assert peak < most, "MiB"


@pytest.mark.parametrize("room", [200, 350, 500, 650])
@pytest.mark.parametrize("line", ["compile {s44.json} -o out.bsc --via partial-sums", "info {c26.bsc}", "compile {t26.json} -o out.bsc --smooth"])
def test_too_little_address_space_is_an_error_and_never_an_abort(boolshap, inputs, line, room):
    code, said, _, _ = boolshap.measured(*words(inputs, line), "--threads", 2, mebibytes=room)
    assert code in (0, 1), f"{code}: {said}"
    assert code == 0 or re.search(r"no more memory \(\d+ MiB more were asked for\)|memory limit is reached", said), said
    assert "panicked" not in said and "backtrace" not in said
    assert code == 0 or not [name for name in os.listdir(boolshap.folder) if name.startswith(("out.", ".boolshap-"))]
