"""The direct routes and the default engine, compared with numpy."""

import json
from fractions import Fraction

import numpy as np
import pytest

ROUTES = ["truth-table", "partial-sums", "apply"]
# The folder's README lists how many of the 65,536 inputs fall into each class.
CLASS_COUNTS_16 = [0, 4140, 37536, 109, 90, 2719, 3872, 6, 4431, 12633]


def write_model(path, inputs, hidden, output):
    """A model file of dense layers; gates and output are pairs (weights, need)."""
    gate = lambda weights, need: {"weights": " ".join(map(str, weights)), "need": str(need)}
    model = {
        "format": "boolshap model", "version": 1,
        "features": [f"x{i + 1}" for i in range(inputs)],
        "classes": None, "schema": None, "marginals": None,
        "hidden": [[gate(*g) for g in layer] for layer in hidden],
        "output": {"step": gate(*output)},
        "provenance": {},
    }
    path.write_text(json.dumps(model))


def gate_values(inputs, gates):
    """inputs: rows of booleans; a gate is true if the inputs that have their weight's sign weigh at least `need`."""
    columns = []
    for weights, need in gates:
        weights = np.array(weights)
        columns.append(np.where((weights > 0) == inputs, np.abs(weights), 0).sum(axis=1) >= need)
    return np.array(columns).T


def labels(bits, hidden, output):
    values = bits
    for layer in hidden:
        values = gate_values(values, layer)
    return gate_values(values, [output])[:, 0]


def random_network(rng, inputs, widths, weights):
    width, hidden = inputs, []
    draw = lambda n: [int(w) for w in rng.choice(weights, n)]
    def gate(n):
        w = draw(n)
        return w, int(sum(map(abs, w)) // 2 + rng.integers(0, 2))
    for next_width in widths:
        hidden.append([gate(width) for _ in range(next_width)])
        width = next_width
    return hidden, gate(width)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("inputs, widths, weights", [
    (11, [9], [-1, 1]), (14, [6, 5], [-1, 1]), (12, [4], [-7, -2, 1, 3, 11]), (5, [], [-1, 2]), (1, [3], [-1, 1]),
])
def test_routes_against_numpy(boolshap, route, inputs, widths, weights):
    rng = np.random.default_rng(inputs)
    hidden, output = random_network(rng, inputs, widths, weights)
    write_model(boolshap.folder / "m.json", inputs, hidden, output)
    result = boolshap.json("compile", "m.json", "-o", "c.bsc", "--via", route)
    assert result["route"] == route
    bits = (np.arange(1 << inputs)[:, None] >> np.arange(inputs) & 1).astype(bool)
    header = ",".join(f"x{i + 1}" for i in range(inputs))
    np.savetxt(boolshap.folder / "all.csv", bits, fmt="%d", delimiter=",", header=header, comments="")
    boolshap("predict", "c.bsc", "all.csv", "-o", "p.csv")
    found = np.loadtxt(boolshap.folder / "p.csv", skiprows=1, dtype=bool, ndmin=1)
    expected = labels(bits, hidden, output)
    np.testing.assert_array_equal(found, expected)
    info = boolshap.json("info", "c.bsc")
    assert info["models"] == str(expected.sum()) and info["decomposable"] and info["deterministic"]


def test_class_counts_of_the_16_input_network(boolshap, shared_data):
    boolshap("import", shared_data("bnn/mnist_bnn_2_blk_16_25_20_10"), "-o", "m.json")
    counts = []
    for number in range(10):
        boolshap("compile", "m.json", "--class", number, "-o", "c.bsc")
        counts.append(int(boolshap.json("info", "c.bsc")["models"]))
    assert counts == CLASS_COUNTS_16
    # Ten classes, and no class given.
    assert "--class" in boolshap.fails("compile", "m.json", "-o", "c.bsc")


def test_the_route_is_told_and_left_at_a_limit(boolshap):
    rng = np.random.default_rng(3)
    write_model(boolshap.folder / "m.json", 40, *random_network(rng, 40, [3], [-1, 1]))
    done = boolshap("compile", "m.json", "-o", "c.bsc")
    assert "route partial-sums: 40 inputs, but only 3 first gates" in done.stderr
    # Only partial sums are possible, and 20 nodes are too few for any route.
    message = boolshap.fails("compile", "m.json", "-o", "small.bsc", "--max-nodes", 20)
    assert "partial-sums: the limit of 20 diagram nodes is reached" in message and "apply: " in message
    assert not (boolshap.folder / "small.bsc").exists()
    assert "up to 32 inputs" in boolshap.fails("compile", "m.json", "-o", "small.bsc", "--via", "truth-table")


def test_the_default_engine_against_the_authors_and_fractions(boolshap, shared_data):
    entities = shared_data("paper/entities_100.csv")
    boolshap("compile", shared_data("paper/paper_bnn_2391.cnf"), "-o", "c.bsc", "--features", entities)
    boolshap("explain", "c.bsc", entities, "-o", "fast.csv")
    boolshap("explain", "c.bsc", entities, "-o", "exact.csv", "--exact")
    read = lambda name: [line.split(",") for line in (boolshap.folder / name).read_text().splitlines()]
    (header, *fast), (_, *exact) = read("fast.csv"), read("exact.csv")
    fast = np.array(fast, dtype=float)
    exact = np.array([[float(Fraction(cell)) for cell in row] for row in exact])
    np.testing.assert_allclose(fast, exact, rtol=0, atol=1e-14)
    theirs = np.loadtxt(shared_data("paper/authors_open_box_shap_100.csv"), delimiter=",", skiprows=1)
    np.testing.assert_allclose(fast[:, 2:], theirs, rtol=0, atol=1e-12)
    assert header[:2] == ["prediction", "base_value"]
    done = boolshap("explain", "c.bsc", entities, "-o", "x.csv", "--exact", "--engine", "fast", code=2)
    assert "floats" in done.stderr and not (boolshap.folder / "x.csv").exists()


def test_benches_say_what_they_measure(boolshap):
    compiled = boolshap.json("bench", "compile", "--inputs", 8)
    assert [row["inputs"] for row in compiled["square"]] == [8]
    (row,) = compiled["square"]
    assert row["ratio"] == row["compile_seconds"] / row["evaluate_seconds"] and row["nodes"] > 2
    assert boolshap("bench", "compile", "--rows", 5, code=2).stderr.strip().endswith("--rows belongs to bench stream")
