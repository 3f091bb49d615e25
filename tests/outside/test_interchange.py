"""Exchange of circuits and formulas with other programs: d4, dsharp, sharpSAT-TD, Ganak, python-nnf, ddnnife."""

import csv
import importlib.util
import pathlib
import random
import re
import subprocess

import ddnnife
import nnf.dsharp
import pyganak
import pytest

PACKAGES = pathlib.Path(importlib.util.find_spec("problog").origin).parents[1]
D4 = PACKAGES / "aspmc/external/d4/d4_static"
SHARPSAT = PACKAGES / "aspmc/external/sharpsat-td/bin/sharpSAT"
DSHARP = PACKAGES / "problog/bin/linux/dsharp"


def random_formula(seed):
    """Clauses of one to four literals over 6 to 14 variables, of which some may be unused."""
    chance = random.Random(seed)
    variables = chance.randrange(6, 15)
    width = chance.choice([2, 3, 3, 4])
    clauses = [
        [variable * chance.choice([1, -1]) for variable in chance.sample(range(1, variables + 1), chance.randrange(1, width + 1))]
        for _ in range(chance.randrange(1, int(2.5 * variables)))
    ]
    return variables, clauses


def write_formula(path, variables, clauses):
    lines = [f"p cnf {variables} {len(clauses)}", *(" ".join(map(str, [*clause, 0])) for clause in clauses)]
    path.write_text("\n".join(lines) + "\n")


def read_formula(path):
    """The header's variables and the clauses of a DIMACS file."""
    words = [line.split() for line in path.read_text().splitlines() if not line.startswith("c")]
    header = next(line for line in words if line and line[0] == "p")
    numbers = [int(word) for line in words if line and line[0] != "p" for word in line]
    clauses, clause = [], []
    for number in numbers:
        if number == 0:
            clauses.append(clause)
            clause = []
        else:
            clause.append(number)
    return int(header[2]), clauses


def ganak(variables, clauses):
    counter = pyganak.Counter()
    counter.new_vars(variables)
    counter.add_clauses(clauses)
    return counter.count()


def d4(formula, circuit):
    done = subprocess.run([D4, "-dDNNF", formula, f"-out={circuit}"], capture_output=True, text=True, check=True)
    return int(re.search(r"^s (\d+)$", done.stdout, re.M)[1])


def sharpsat(formula, folder):
    options = ["-decot", "1", "-decow", "100", "-tmpdir", folder, "-cs", "500"]
    done = subprocess.run([SHARPSAT, *options, formula], cwd=SHARPSAT.parent, capture_output=True, text=True)
    found = re.search(r"^c s exact arb int (\d+)$", done.stdout, re.M)
    return int(found[1]) if found else 0 if "s UNSATISFIABLE" in done.stdout else pytest.fail(done.stdout + done.stderr)


def dsharp(formula, circuit):
    subprocess.run([DSHARP, "-Fnnf", circuit, formula], capture_output=True, check=True)


def counted_by_nnf(path, variables):
    """The model count of a c2d file by python-nnf, corrected for unused variables, which it does not know."""
    with open(path) as file:
        sentence = nnf.dsharp.load(file)
    return sentence.model_count() * 2 ** (variables - len(sentence.vars()))


def check(boolshap, variables, clauses, with_scores):
    folder = boolshap.folder
    write_formula(folder / "f.cnf", variables, clauses)
    expected = ganak(variables, clauses)
    assert d4(folder / "f.cnf", folder / "d4.ddnnf") == expected
    assert sharpsat(folder / "f.cnf", folder) == expected
    dsharp(folder / "f.cnf", folder / "dsharp.nnf")
    sources = {"f.cnf": [], "d4.ddnnf": ["--variables", variables]}
    if expected:
        # dsharp writes no circuit for a contradiction.
        sources["dsharp.nnf"] = []
    scores = []
    for source, options in sources.items():
        boolshap("compile", source, "-o", "c.bsc", *options)
        info = boolshap.json("info", "c.bsc")
        assert (int(info["models"]), info["deterministic"], info["decomposable"]) == (expected, True, True), source
        if with_scores:
            boolshap("explain", "c.bsc", "e.csv", "-o", "s.csv", "--exact")
            scores.append((folder / "s.csv").read_text())
    assert len(set(scores)) <= 1, "the same scores whoever compiled it"
    # Another program counts the models of our files.
    boolshap("compile", "f.cnf", "-o", "c.bsc")
    # python-nnf is slow on large circuits.
    for shape in [[], ["--smooth", "--fan-in-2"]] if len(clauses) < 100 else [[]]:
        boolshap("convert", "c.bsc", "-o", "ours.nnf", *shape)
        assert counted_by_nnf(folder / "ours.nnf", variables) == expected
        boolshap("convert", "c.bsc", "-o", "ours.ddnnf", *shape)
        if expected:
            # ddnnife does not accept the circuit of a contradiction.
            assert int(ddnnife.Ddnnf.from_file(str(folder / "ours.ddnnf"), variables).rc()) == expected


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 50, 10))
def test_random_formulas_have_one_count_in_every_program(boolshap, start):
    for seed in range(start, start + 10):
        variables, clauses = random_formula(seed)
        chance = random.Random(seed)
        with open(boolshap.folder / "e.csv", "w", newline="") as file:
            rows = [[chance.randrange(2) for _ in range(variables)] for _ in range(3)]
            csv.writer(file).writerows([[f"x{i + 1}" for i in range(variables)], *rows])
        check(boolshap, variables, clauses, with_scores=seed % 5 == 0)


@pytest.mark.slow
def test_the_papers_formula_has_one_count_in_every_program(boolshap, shared_data):
    variables, clauses = read_formula(shared_data("paper/paper_bnn_2391.cnf"))
    assert ganak(variables, clauses) == 4096
    check(boolshap, variables, clauses, with_scores=False)


@pytest.mark.slow
def test_a_networks_formula_is_counted_by_others(boolshap, shared_data):
    boolshap("import", shared_data("paper/larq_bnn_13_13_1.h5"), "-o", "m.json")
    boolshap("encode", "m.json", "-o", "ours.cnf")
    variables, clauses = read_formula(boolshap.folder / "ours.cnf")
    assert ganak(variables, clauses) == 4096 == d4(boolshap.folder / "ours.cnf", boolshap.folder / "d4.ddnnf")


def test_lists_behind_the_literals_are_refused(boolshap):
    (boolshap.folder / "f.ddnnf").write_text("o 1 0\nt 2 0\n1 2 1 0 3 0\n")
    said = boolshap.fails("compile", "f.ddnnf", "-o", "c.bsc", "--variables", 3)
    assert "line 3" in said and "behind the literals" in said
