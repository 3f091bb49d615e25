"""Our .sdd and .vtree files against libsdd, through PySDD: each reads the other's files.

The Rust side is the example `sdd_files`; the environment variable SDD_FILES_BIN names a built one, otherwise cargo builds
and runs it. The shared data comes through the fixture.
"""

import itertools
import os
import random
import subprocess
from pathlib import Path

import pysdd.sdd as pysdd
import pytest

ROOT = Path(__file__).resolve().parents[2]


def sdd_files(*arguments):
    """Runs the example and returns what it printed as a dictionary."""
    binary = os.environ.get("SDD_FILES_BIN")
    cargo = ["cargo", "run", "--quiet", "-p", "boolshap", "--example", "sdd_files", "--"]
    command = [binary] if binary else cargo
    done = subprocess.run([*command, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def random_cnf(seed):
    """Variables and clauses; some variables stay unused, some formulas are constant."""
    chance = random.Random(seed)
    variables = chance.randint(1, 8)
    literals = [sign * var for var in range(1, variables + 1) for sign in (1, -1)]
    clauses = [chance.choices(literals, k=chance.randint(1, 4)) for _ in range(chance.randint(0, 2 * variables))]
    return variables, clauses


def truth_table(variables, clauses):
    """One character per row, with the first variable changing fastest."""
    rows = (row[::-1] for row in itertools.product([False, True], repeat=variables))
    return "".join(
        "1" if all(any(row[abs(lit) - 1] == (lit > 0) for lit in clause) for clause in clauses) else "0" for row in rows
    )


def write_cnf(file, variables, clauses):
    lines = [f"p cnf {variables} {len(clauses)}", *(" ".join(map(str, [*clause, 0])) for clause in clauses)]
    file.write_text("\n".join(lines) + "\n")


def pysdd_table(manager, node, variables):
    """Evaluates by conditioning on one literal after the other."""
    table = ""
    for row in itertools.product([False, True], repeat=variables):
        rest = node
        for var, value in enumerate(row[::-1], start=1):
            rest = manager.condition(var if value else -var, rest)
        table += "1" if rest.is_true() else "0"
    return table


def read_with_pysdd(stem):
    vtree = pysdd.Vtree.from_file(f"{stem}.vtree".encode())
    manager = pysdd.SddManager.from_vtree(vtree)
    return manager, manager.read_sdd_file(f"{stem}.sdd".encode())


@pytest.mark.parametrize("shape", ["balanced", "left", "right", "random"])
@pytest.mark.parametrize("seed", range(10))
def test_pysdd_reads_ours(tmp_path, seed, shape):
    variables, clauses = random_cnf(seed)
    write_cnf(tmp_path / "in.cnf", variables, clauses)
    ours = sdd_files("compile", tmp_path / "in.cnf", tmp_path / "out", shape)
    manager, node = read_with_pysdd(tmp_path / "out")
    table = truth_table(variables, clauses)
    assert ours["truth_table"] == table
    assert pysdd_table(manager, node, variables) == table
    assert manager.global_model_count(node) == table.count("1") == int(ours["models"])
    assert (node.size(), node.count()) == (int(ours["size"]), int(ours["decision_nodes"]))


@pytest.mark.parametrize("shape", ["balanced", "left", "right"])
@pytest.mark.parametrize("seed", range(10))
def test_we_read_theirs(tmp_path, seed, shape):
    variables, clauses = random_cnf(100 + seed)
    vtree = pysdd.Vtree(var_count=variables, vtree_type=shape.encode())
    manager = pysdd.SddManager.from_vtree(vtree)
    node = manager.true()
    for clause in clauses:
        disjunction = manager.false()
        for literal in clause:
            disjunction = disjunction | manager.literal(literal)
        node = node & disjunction
    manager.vtree().save(str(tmp_path / "in.vtree").encode())
    node.save(str(tmp_path / "in.sdd").encode())
    ours = sdd_files("read", tmp_path / "in")
    table = truth_table(variables, clauses)
    assert ours["truth_table"] == table
    assert int(ours["models"]) == table.count("1")
    assert (int(ours["size"]), int(ours["decision_nodes"])) == (node.size(), node.count())


def test_the_default_sdd_of_the_papers_network(tmp_path, shared_data):
    cnf = shared_data("paper/paper_bnn_2391.cnf")
    manager, node = pysdd.SddManager.from_cnf_file(str(cnf).encode(), vtree_type=b"balanced")
    manager.vtree().save(str(tmp_path / "in.vtree").encode())
    node.save(str(tmp_path / "in.sdd").encode())
    ours = sdd_files("read", tmp_path / "in")
    assert (ours["size"], ours["decision_nodes"], ours["models"]) == ("1314", "452", "4096")


def test_our_sdd_of_the_papers_network(tmp_path, shared_data):
    cnf = shared_data("paper/paper_bnn_2391.cnf")
    ours = sdd_files("compile", cnf, tmp_path / "out")
    manager, node = read_with_pysdd(tmp_path / "out")
    assert manager.global_model_count(node) == 4096
    assert node.size() == int(ours["size"]) <= 1150
    read = sdd_files("read", tmp_path / "out")
    assert read == ours
