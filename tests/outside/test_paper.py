"""The paper's path, compared with the authors' own files, PySDD's diagrams and numpy."""

import csv
import json
from fractions import Fraction

import numpy as np
import pytest
from pysdd.sdd import SddManager, Vtree

TREE_NODES = 18_671


def read_rows(path):
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    return header, rows


def read_cnf(path):
    """Variables and clauses as lists of signed numbers."""
    tokens = []
    for line in open(path):
        if line.startswith("p"):
            variables = int(line.split()[2])
        elif not line.startswith("c"):
            tokens += map(int, line.split())
    clauses, clause = [], []
    for token in tokens:
        if token:
            clause.append(token)
        else:
            clauses.append(clause)
            clause = []
    return variables, clauses


def all_bits(n):
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)


def falsified(clause, bits):
    """The assignments that make a clause false."""
    return np.all([bits[:, abs(lit) - 1] != (lit > 0) for lit in clause], axis=0)


def table(variables, clauses):
    bits = all_bits(variables)
    value = np.ones(2**variables, dtype=bool)
    for clause in clauses:
        value &= ~falsified(clause, bits)
    return value


def assert_prime_and_irredundant(variables, clauses):
    bits = all_bits(variables)
    value = table(variables, clauses)
    covers = np.zeros(2**variables, dtype=int)
    masks = [falsified(clause, bits) for clause in clauses]
    for mask in masks:
        covers += mask
    for clause, mask in zip(clauses, masks):
        assert (covers[mask] == 1).any(), f"{clause} follows from the others"
        for lit in clause:
            shorter = [other for other in clause if other != lit]
            assert value[falsified(shorter, bits)].any(), f"{clause} holds without {lit}"


@pytest.mark.slow
def test_encode_the_larq_network(boolshap, shared_data):
    boolshap("import", shared_data("paper/larq_bnn_13_13_1.h5"), "-o", "m.json")
    result = boolshap.json("encode", "m.json", "-o", "f.cnf")
    variables, clauses = read_cnf(boolshap.folder / "f.cnf")
    assert result["clauses"] == len(clauses) <= 1600
    assert_prime_and_irredundant(variables, clauses)
    value = table(variables, clauses)
    assert value.sum() == 4096
    np.savetxt(
        boolshap.folder / "all.csv", all_bits(13), fmt="%d", delimiter=",",
        header=",".join(f"x{i + 1}" for i in range(13)), comments="",
    )
    boolshap("predict", "m.json", "all.csv", "-o", "p.csv")
    labels = np.loadtxt(boolshap.folder / "p.csv", skiprows=1, dtype=bool)
    np.testing.assert_array_equal(value, labels)
    # The complete path gives a sound circuit of the same function.
    compiled = boolshap.json("compile", "m.json", "-o", "c.bsc", "--via", "cnf", "--smooth", "--fan-in-2")
    assert compiled["route"] == "cnf" and compiled["stages"]["cnf"]["clauses"] == len(clauses)
    boolshap("predict", "c.bsc", "all.csv", "-o", "p.csv")
    np.testing.assert_array_equal(np.loadtxt(boolshap.folder / "p.csv", skiprows=1, dtype=bool), labels)
    info = boolshap.json("info", "c.bsc")
    assert info["models"] == "4096" and info["fan_in"] == 2
    assert info["deterministic"] and info["decomposable"] and info["smooth"]


@pytest.mark.slow
def test_simplify_the_authors_formula(boolshap, shared_data):
    before = shared_data("paper/paper_bnn_9047.cnf")
    result = boolshap.json("encode", before, "-o", "f.cnf")
    variables, clauses = read_cnf(boolshap.folder / "f.cnf")
    assert result["clauses"] == len(clauses) <= 1600
    assert_prime_and_irredundant(variables, clauses)
    np.testing.assert_array_equal(table(variables, clauses), table(*read_cnf(before)))


def test_our_diagram_is_read_by_pysdd(boolshap, shared_data):
    result = boolshap.json("compile", shared_data("paper/paper_bnn_2391.cnf"), "-o", "p.sdd")
    manager = SddManager.from_vtree(Vtree.from_file(str(boolshap.folder / "p.vtree").encode()))
    root = manager.read_sdd_file(str(boolshap.folder / "p.sdd").encode())
    assert manager.global_model_count(root) == 4096
    sdd = result["stages"]["sdd"]
    assert (root.size(), root.count()) == (sdd["size"], sdd["decision_nodes"])
    assert sdd["size"] <= 1150


def test_pysdds_diagram_has_the_papers_tree(boolshap, shared_data):
    manager, root = SddManager.from_cnf_file(str(shared_data("paper/paper_bnn_2391.cnf")).encode(), b"balanced")
    root.save(str(boolshap.folder / "p.sdd").encode())
    manager.vtree().save(str(boolshap.folder / "p.vtree").encode())
    result = boolshap.json("compile", "p.sdd", "-o", "c.bsc", "--smooth", "--fan-in-2")
    info = boolshap.json("info", "c.bsc")
    assert result["stages"]["sdd"]["size"] == root.size()
    assert info["models"] == "4096" and info["smooth"] and info["deterministic"] and info["decomposable"]
    assert info["nodes"] <= 1600
    assert info["tree_nodes"] == TREE_NODES


@pytest.mark.parametrize("engine", ["fast", "paper", "brute-force"])
def test_scores_of_the_authors(boolshap, shared_data, engine):
    entities = shared_data("paper/entities_100.csv")
    boolshap("compile", shared_data("paper/paper_bnn_2391.cnf"), "-o", "c.bsc", "--features", entities)
    boolshap("explain", "c.bsc", entities, "-o", "s.csv", "--engine", engine)
    header, rows = read_rows(boolshap.folder / "s.csv")
    names, theirs = read_rows(shared_data("paper/authors_open_box_shap_100.csv"))
    assert header == ["prediction", "base_value", *names]
    ours = np.array(rows, dtype=float)
    assert len(ours) == 100
    np.testing.assert_allclose(ours[:, 2:], np.array(theirs, dtype=float), rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours[:, 1:].sum(axis=1), ours[:, 0], rtol=0, atol=1e-12)


@pytest.mark.slow
def test_exact_scores_add_up_and_agree(boolshap, shared_data):
    entities = shared_data("paper/entities_100.csv")
    head = "".join(open(entities).readlines()[:6])
    (boolshap.folder / "e.csv").write_text(head)
    boolshap("compile", shared_data("paper/paper_bnn_2391.cnf"), "-o", "c.bsc", "--features", entities)
    names, _ = read_rows(entities)
    probabilities = {name: Fraction(i + 1, 20) for i, name in enumerate(names)}
    lines = ["feature,probability"] + [f"{name},{float(p)}" for name, p in probabilities.items()]
    (boolshap.folder / "probabilities.csv").write_text("\n".join(lines) + "\n")
    for distribution in ("uniform", "product:probabilities.csv", f"product:{entities}"):
        results = []
        for engine in ("paper", "brute-force"):
            options = ["--engine", engine, "--distribution", distribution]
            boolshap("explain", "c.bsc", "e.csv", "-o", "exact.csv", "--exact", *options)
            boolshap("explain", "c.bsc", "e.csv", "-o", "float.csv", *options)
            exact = [[Fraction(cell) for cell in row] for row in read_rows(boolshap.folder / "exact.csv")[1]]
            for row in exact:
                assert sum(row[1:]) == row[0]
            floats = np.array(read_rows(boolshap.folder / "float.csv")[1], dtype=float)
            np.testing.assert_allclose(np.array(exact, dtype=float), floats, rtol=0, atol=1e-14)
            results.append(exact)
        assert results[0] == results[1]


def test_product_scores_against_the_definition(boolshap):
    """A formula of four variables, scored by the definition in plain Python with fractions."""
    (boolshap.folder / "f.cnf").write_text("p cnf 4 3\n1 -2 0\n2 3 0\n-1 -3 0\n")
    (boolshap.folder / "p.csv").write_text("feature,probability\nx1,0.1\nx2,0.25\nx3,0.5\nx4,0.9\n")
    (boolshap.folder / "e.csv").write_text("x1,x2,x3,x4\n1,1,0,0\n0,0,1,1\n")
    boolshap("compile", "f.cnf", "-o", "c.bsc")
    boolshap("explain", "c.bsc", "e.csv", "-o", "s.csv", "--distribution", "product:p.csv", "--exact")
    rows = [[Fraction(cell) for cell in row] for row in read_rows(boolshap.folder / "s.csv")[1]]
    p = [Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)]
    f = lambda x: (x[0] or not x[1]) and (x[1] or x[2]) and (not x[0] or not x[2])

    def value(known, entity):
        total = Fraction(0)
        for number in range(16):
            x = [bool(number >> i & 1) for i in range(4)]
            if all(x[i] == entity[i] for i in known) and f(x):
                weight = Fraction(1)
                for i in set(range(4)) - set(known):
                    weight *= p[i] if x[i] else 1 - p[i]
                total += weight
        return total

    weight = {0: Fraction(1, 4), 1: Fraction(1, 12), 2: Fraction(1, 12), 3: Fraction(1, 4)}
    for row, entity in zip(rows, ([True, True, False, False], [False, False, True, True])):
        scores = []
        for i in range(4):
            others = [j for j in range(4) if j != i]
            subsets = [[j for k, j in enumerate(others) if number >> k & 1] for number in range(8)]
            scores.append(sum(weight[len(s)] * (value(s + [i], entity) - value(s, entity)) for s in subsets))
        assert row == [int(f(entity)), value([], entity), *scores]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nnf", "ddnnf"])
def test_converted_circuits_read_back(boolshap, name):
    rng = np.random.default_rng(3)
    for _ in range(10):
        n = int(rng.integers(1, 7))
        clauses = [
            [int(v) * int(rng.choice([1, -1])) for v in rng.choice(np.arange(1, n + 1), rng.integers(1, n + 1), False)]
            for _ in range(rng.integers(0, 6))
        ]
        text = "".join(" ".join(map(str, clause)) + " 0\n" for clause in clauses)
        (boolshap.folder / "f.cnf").write_text(f"p cnf {n} {len(clauses)}\n{text}")
        boolshap("compile", "f.cnf", "-o", "c.bsc")
        models = str(int(table(n, clauses).sum()))
        assert boolshap.json("info", "c.bsc")["models"] == models
        for options in ([], ["--smooth"], ["--fan-in-2"], ["--smooth", "--fan-in-2"]):
            boolshap("convert", "c.bsc", "-o", f"c.{name}", *options)
            boolshap("compile", f"c.{name}", "-o", "d.bsc", "--variables", n)
            assert boolshap.json("info", "d.bsc")["deterministic"]
            assert boolshap.json("info", "d.bsc")["models"] == models


def test_unsound_circuits_are_refused(boolshap):
    (boolshap.folder / "or.nnf").write_text("nnf 3 2 2\nL 1\nL 2\nO 0 2 0 1\n")
    assert "or-gate 2 is not deterministic" in boolshap.fails("compile", "or.nnf", "-o", "c.bsc")
    (boolshap.folder / "and.nnf").write_text("nnf 3 2 1\nL 1\nL -1\nA 2 0 1\n")
    assert "node 2 is not decomposable" in boolshap.fails("compile", "and.nnf", "-o", "c.bsc")
    (boolshap.folder / "wide.nnf").write_text("nnf 1 0 2000000000\nL 1\n")
    assert "2000000000 variables are more than" in boolshap.fails("compile", "wide.nnf", "-o", "c.bsc")
    (boolshap.folder / "f.cnf").write_text("p cnf 2 1\n1 2 0\n")
    (boolshap.folder / "x.ddnnf").write_text("t 1 0\n")
    (boolshap.folder / "x.nnf").write_text("nnf 1 0 2\nL 1\n")
    for wrong in (["f.cnf", "--class", "1"], ["f.cnf", "--variables", "9"], ["x.nnf", "--via", "cnf"], ["x.ddnnf"]):
        boolshap("compile", *wrong, "-o", "c.bsc", code=2)
    boolshap("compile", "f.cnf", "-o", "c.bsc")
    assert "is a circuit already" in boolshap.fails("compile", "c.bsc", "-o", "d.bsc")
    (boolshap.folder / "e.csv").write_text("x1,x2\n1,0\n0,0\n")
    summary = boolshap.json("explain", "c.bsc", "e.csv")
    assert (summary["rows"], summary["distinct_rows"], summary["engine"]) == (2, 2, "fast")


def test_class_counts_through_the_formula(boolshap):
    """Three classes: each class's circuit is true on as many inputs as numpy counts."""
    rng = np.random.default_rng(11)
    n, hidden, classes = 7, 5, 3
    sign = lambda a: np.where(a >= 0, 1, -1)
    weights = [sign(rng.normal(size=(hidden, n))), sign(rng.normal(size=(classes, hidden)))]
    bias = [rng.normal(size=hidden).round(2), rng.normal(size=classes).round(2)]
    for name, w, b in zip(("blk1", "out_blk"), weights, bias):
        (boolshap.folder / "net" / name).mkdir(parents=True)
        np.savetxt(boolshap.folder / "net" / name / "lin_weight.csv", w, fmt="%d", delimiter=",")
        np.savetxt(boolshap.folder / "net" / name / "lin_bias.csv", b[None], fmt="%.2f", delimiter=",")
    boolshap("import", "net", "-o", "m.json")
    x = np.where(all_bits(n), 1, -1)
    expected = (sign(x @ weights[0].T + bias[0]) @ weights[1].T + bias[1]).argmax(axis=1)
    assert "say which one with --class" in boolshap.fails("compile", "m.json", "-o", "c.bsc")
    for k in range(classes):
        boolshap("compile", "m.json", "-o", "c.bsc", "--class", k)
        assert boolshap.json("info", "c.bsc")["models"] == str(int((expected == k).sum()))
    assert "there is no class 3" in boolshap.fails("compile", "m.json", "-o", "c.bsc", "--class", 3)


def test_limits_say_how_far_they_got(boolshap, shared_data):
    boolshap("import", shared_data("paper/larq_bnn_13_13_1.h5"), "-o", "m.json")
    message = boolshap.fails("encode", "m.json", "-o", "f.cnf", "--max-clauses", "50")
    assert "more than 50 clauses" in message and "layer" in message
    message = boolshap.fails("compile", "m.json", "-o", "c.bsc", "--max-nodes", "40", "--via", "cnf")
    assert "limit of 40" in message and "clauses" in message
    message = boolshap.fails("compile", "m.json", "-o", "c.bsc", "--timeout", "0.01", "--via", "cnf")
    assert "time limit of 0.01 seconds" in message
    assert not list(boolshap.folder.glob("*.bsc")) and not (boolshap.folder / "f.cnf").exists()


@pytest.mark.slow
def test_the_experiment(boolshap):
    result = boolshap.json("bench", "paper", "--figure", "t.svg")
    assert result["entities"] == [20, 40, 60, 80, 100]
    assert [len(method["seconds"]) for method in result["times"]] == [5, 5, 5]
    assert (boolshap.folder / "t.svg").read_text().startswith("<svg")
    boolshap("demo", "--out", "demo")
    header, rows = read_rows(boolshap.folder / "demo/scores.csv")
    model = json.loads((boolshap.folder / "demo/model.json").read_text())
    assert header == ["prediction", "base_value", *model["features"]]
    values = np.array(rows, dtype=float)
    np.testing.assert_allclose(values[:, 1:].sum(axis=1), values[:, 0], rtol=0, atol=1e-12)
    assert boolshap.json("info", "demo/circuit.bsc")["smooth"]
