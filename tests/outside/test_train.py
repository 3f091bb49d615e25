"""Training and binarisation, compared with pyarrow, numpy and scikit-learn."""

import csv
import json
from fractions import Fraction

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression

SEEDS = [7, 8, 9]


def read_columns(path):
    table = pyarrow.csv.read_csv(path)
    return {name: table[name].to_pylist() for name in table.column_names}


def expected_bits(columns, target):
    """The paper's rule in plain Python: strictly above the mean of the present values; one bit per category. Names lack
    the threshold's digits."""
    names, bits = [], []
    for name, values in columns.items():
        if name == target:
            continue
        if isinstance(next(v for v in values if v is not None), str):
            for category in sorted(set(values)):
                names.append(f"{name}={category}")
                bits.append([int(value == category) for value in values])
        else:
            present = [value for value in values if value is not None]
            mean = sum(present) / len(present)
            names.append(f"{name}>")
            bits.append([int(value is not None and value > mean) for value in values])
    return names, np.array(bits).T


def read_tally(boolshap, features):
    """The bits of a tally's distinct rows, and the count of each class in training and in testing."""
    with open(boolshap.folder / "t.csv", newline="") as file:
        rows = np.array([[int(cell) for cell in row] for row in list(csv.reader(file))[1:]])
    counts = rows[:, features:]
    classes = counts.shape[1] // 2
    return rows[:, :features], counts[:, :classes], counts[:, classes:]


def regression(boolshap, features, **settings):
    """scikit-learn's logistic regression on the training rows of a tally, and its accuracy on the test rows."""
    bits, learned, tested = read_tally(boolshap, features)
    classes = learned.shape[1]
    x, y = np.tile(bits, (classes, 1)), np.repeat(np.arange(classes), len(bits))
    learned, tested = learned.T.ravel(), tested.T.ravel()
    seen = learned > 0
    model = LogisticRegression(**{"max_iter": 10_000, **settings}).fit(x[seen], y[seen], sample_weight=learned[seen])
    return model, model.score(x, y, sample_weight=tested)


def write_bundled(boolshap, load):
    """Writes a table bundled with scikit-learn, with labels as texts."""
    data = load(as_frame=True)
    data.data.assign(target=[f"class {label}" for label in data.target]).to_csv(boolshap.folder / "d.csv", index=False)


@pytest.mark.slow
def test_the_papers_setting_beside_logistic_regression(boolshap, shared_data):
    housing = shared_data("housing/housing.csv")
    accuracies = []
    for seed in SEEDS:
        paper = ["--hidden", 13, "--weights", "binary", "--seed", seed, "--tally", "t.csv"]
        result = boolshap.json("train", housing, "--target", "median_house_value", "-o", "m.json", *paper)
        assert (result["hidden"], result["weights"], "choice" in result) == ([13], "binary", False)
        _, rival = regression(boolshap, 13)
        print(f"seed {seed}: network {result['test_accuracy']:.4f}, logistic regression {rival:.4f}")
        assert result["test_accuracy"] >= rival - 0.005
        accuracies.append(result["test_accuracy"])
    assert np.mean(accuracies) >= 0.795


@pytest.mark.slow
@pytest.mark.parametrize("load, within", [(load_breast_cancer, 0.005), (load_wine, 0.02), (load_iris, 0.02)])
def test_the_chosen_network_beside_logistic_regression(boolshap, load, within):
    write_bundled(boolshap, load)
    ours, theirs = [], []
    for seed in SEEDS:
        result = boolshap.json("train", "d.csv", "--target", "target", "-o", "m.json", "--seed", seed, "--tally", "t.csv")
        features = len(result["features"])
        ours.append(result["test_accuracy"])
        theirs.append(regression(boolshap, features)[1])
        # The regression in `train`, compared with a precise solution by scikit-learn.
        model, accuracy = regression(boolshap, features, solver="newton-cg", tol=1e-12)
        np.testing.assert_allclose(result["logistic"]["weights"], model.coef_, atol=1e-6)
        np.testing.assert_allclose(result["logistic"]["biases"], model.intercept_, atol=1e-6)
        assert result["logistic_test_accuracy"] == pytest.approx(accuracy, abs=1e-12)
        assert result["weights"].startswith("integer:") and "validation" in result["choice"]["why"]
        assert result["choice"]["circuit_nodes"] > 0
    assert np.mean(ours) >= np.mean(theirs) - within


def weights_of(text):
    signs = not set(text) - set("+-")
    return np.array([1 if sign == "+" else -1 for sign in text] if signs else [int(word) for word in text.split()])


def answers(model, bits):
    """The answers of a model file, by the definition: signs as inputs, weighted sums, steps, and the class at the
    end."""
    signs = 2 * bits - 1
    for layer in model["hidden"]:
        rows = [(weights_of(gate["weights"]), int(gate["need"])) for gate in layer]
        signs = np.stack([np.where(signs @ w >= 2 * need - abs(w).sum(), 1, -1) for w, need in rows], axis=1)
    if "step" in model["output"]:
        gate = model["output"]["step"]
        weights = weights_of(gate["weights"])
        return (signs @ weights >= 2 * int(gate["need"]) - abs(weights).sum()).astype(int)
    scores = [signs @ weights_of(score["weights"]) + int(score["bias"]) for score in model["output"]["argmax"]]
    return np.argmax(scores, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "load, options",
    [
        (load_breast_cancer, ["--weights", "integer:3"]),
        (load_breast_cancer, ["--hidden", "4", "--weights", "ternary"]),
        (load_wine, []),
        (load_wine, ["--hidden", "0", "--weights", "integer:2"]),
        (load_wine, ["--hidden", "5", "--weights", "integer:4", "--class-weights", "balanced"]),
    ],
)
def test_whole_weights_are_what_numpy_computes(boolshap, load, options):
    write_bundled(boolshap, load)
    result = boolshap.json("train", "d.csv", "--target", "target", "-o", "m.json", "--tally", "t.csv", *options)
    model = json.loads((boolshap.folder / "m.json").read_text())
    bits, learned, tested = read_tally(boolshap, len(result["features"]))
    found = answers(model, bits)
    for counts, key in ((learned, "train_accuracy"), (tested, "test_accuracy")):
        assert result[key] == pytest.approx(counts[np.arange(len(bits)), found].sum() / counts.sum(), abs=1e-12)
    assert result["test_accuracy"] > 0.75
    largest = int(result["weights"].split(":")[1]) if ":" in result["weights"] else 1
    last = model["output"].get("argmax") or [model["output"]["step"]]
    for layer in [*model["hidden"], last]:
        numbers = abs(np.concatenate([weights_of(row["weights"]) for row in layer])).astype(int)
        # The scores of classes share a scale, which makes their biases whole.
        assert numbers.max() <= largest * max(1, np.gcd.reduce(numbers))
    predicted = boolshap("predict", "m.json", "d.csv", "-o", "p.csv") and np.loadtxt(
        boolshap.folder / "p.csv", skiprows=1, dtype=int, delimiter=",", usecols=0
    )
    assert len(predicted) == result["rows"]


@pytest.mark.slow
def test_choosing_depends_neither_on_threads_nor_on_the_order_of_rows(boolshap):
    write_bundled(boolshap, load_breast_cancer)
    lines = (boolshap.folder / "d.csv").read_text().splitlines(keepends=True)
    models = []
    for order, threads in ((1, 1), (1, 3), (-1, 2)):
        (boolshap.folder / "d.csv").write_text("".join(lines[:1] + lines[1:][::order]))
        boolshap("train", "d.csv", "--target", "target", "-o", "m.json", "--test-fraction", 0, "--threads", threads)
        models.append((boolshap.folder / "m.json").read_bytes())
    assert models[0] == models[1] == models[2]


@pytest.mark.slow
def test_several_seeds_are_summed_up_and_the_first_is_kept(boolshap):
    write_bundled(boolshap, load_wine)
    train = ["train", "d.csv", "--target", "target", "-o", "m.json"]
    single = [boolshap.json(*train, "--seed", seed) for seed in SEEDS]
    boolshap(*train, "--seed", SEEDS[0])
    model = (boolshap.folder / "m.json").read_bytes()
    result = boolshap.json(*train, "--seed", SEEDS[0], "--seeds", 3)
    assert (boolshap.folder / "m.json").read_bytes() == model
    assert result["test_accuracy"] == single[0]["test_accuracy"]
    accuracies = [one["test_accuracy"] for one in single]
    assert result["seeds"]["test_accuracies"] == accuracies
    assert result["seeds"]["mean"] == pytest.approx(np.mean(accuracies), abs=1e-12)
    assert result["seeds"]["deviation"] == pytest.approx(np.std(accuracies, ddof=1), abs=1e-12)
    assert "over 3 seeds: mean" in boolshap(*train, "--seeds", 3).stdout


def test_a_network_that_only_knows_the_largest_class_says_so(boolshap):
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2, (400, 4))
    rare = rng.random(400) < np.where(bits[:, 0] & bits[:, 1], 0.35, 0.02)
    rows = "".join(f"{','.join(map(str, row))},{'yes' if label else 'no'}\n" for row, label in zip(bits, rare))
    (boolshap.folder / "d.csv").write_text("a,b,c,d,y\n" + rows)
    train = ["train", "d.csv", "--target", "y", "-o", "m.json"]
    assert "no better on the test rows than answering their largest class always" in boolshap(*train).stderr
    boolshap(*train, "--class-weights", "balanced")
    model = json.loads((boolshap.folder / "m.json").read_text())
    assert answers(model, bits)[rare].mean() > 0.5


def test_housing_bits_follow_the_papers_rule(boolshap, shared_data):
    housing = shared_data("housing/housing.csv")
    columns = read_columns(housing)
    names, bits = expected_bits(columns, "median_house_value")
    value = np.array(columns["median_house_value"])
    labels = (value > value.mean()).astype(int)
    boolshap("train", housing, "--target", "median_house_value", "-o", "m.json", "--tally", "t.csv")
    model = json.loads((boolshap.folder / "m.json").read_text())
    assert [name if "=" in name else name.partition(">")[0] + ">" for name in model["features"]] == names
    assert "median_income>3.87067" in model["features"]
    with open(boolshap.folder / "t.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == model["features"] + ["train:0", "train:1", "test:0", "test:1"]
    tally = {tuple(map(int, row[:13])): [int(cell) for cell in row[13:]] for row in rows}
    counted = {}
    for row, label in zip(map(tuple, bits.tolist()), labels):
        counted.setdefault(row, [0, 0])[label] += 1
    assert {row: [c[0] + c[2], c[1] + c[3]] for row, c in tally.items()} == counted
    sums = np.array([row for row in tally.values()]).sum(axis=0)
    assert abs(int(sums[0]) - int(sums[2])) <= 1 and abs(int(sums[1]) - int(sums[3])) <= 1, "the split is stratified"


@pytest.mark.slow
def test_parquet_and_csv_give_one_model(boolshap, shared_data):
    housing = shared_data("housing/housing.csv")
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(housing).slice(0, 3000), boolshap.folder / "h.parquet")
    lines = housing.read_text().splitlines(keepends=True)[:3001]
    (boolshap.folder / "h.csv").write_text("".join(lines))
    models = []
    for name in ("h.csv", "h.parquet"):
        boolshap("train", name, "--target", "median_house_value", "-o", "m.json", "--hidden", "4")
        model = json.loads((boolshap.folder / "m.json").read_text())
        assert model["provenance"].pop("source") == name
        models.append(model)
        boolshap("predict", "m.json", name, "-o", name + ".out")
    assert models[0] == models[1]
    assert (boolshap.folder / "h.csv.out").read_text() == (boolshap.folder / "h.parquet.out").read_text()


def test_parquet_with_nulls_booleans_and_dictionaries(boolshap):
    rows = 64
    rng = np.random.default_rng(1)
    flag = rng.integers(0, 2, rows).astype(bool)
    x = [None if i % 7 == 0 else float(value) for i, value in enumerate(rng.normal(size=rows))]
    place = pyarrow.array([["a", "b", "c"][i % 3] for i in range(rows)]).dictionary_encode()
    table = pyarrow.table({"flag": flag, "x": x, "n": np.arange(rows, dtype=np.int16), "place": place, "y": flag})
    pyarrow.parquet.write_table(table, boolshap.folder / "t.parquet")
    result = boolshap.json("train", "t.parquet", "--target", "y", "-o", "m.json", "--hidden", "4")
    cuts = json.loads((boolshap.folder / "m.json").read_text())["schema"]
    x_cut = f"{cuts[1]['code']['above']:.6g}"
    assert result["features"] == ["flag=1", f"x>{x_cut}", "n>31.5", "place=a", "place=b", "place=c"]
    assert result["test_accuracy"] == 1.0
    present = [value for value in x if value is not None]
    schema = json.loads((boolshap.folder / "m.json").read_text())["schema"]
    assert schema[1]["code"]["above"] == pytest.approx(np.mean(present), abs=1e-15)
    boolshap("predict", "m.json", "t.parquet", "-o", "p.csv")
    np.testing.assert_array_equal(np.loadtxt(boolshap.folder / "p.csv", skiprows=1, dtype=int), flag.astype(int))


@pytest.mark.slow
def test_three_classes(boolshap):
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2, (600, 6))
    # Thresholds on the number of ones, which weights +-1 on every input represent exactly.
    label = np.array(["low", "low", "low", "middle", "top", "top", "top"])[x.sum(axis=1)]
    with open(boolshap.folder / "t.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "d", "e", "f", "y"])
        writer.writerows([*row, name] for row, name in zip(x.tolist(), label))
    result = boolshap.json("train", "t.csv", "--target", "y", "-o", "m.json", "--hidden", "8")
    assert result["classes"] == ["low", "middle", "top"]
    assert result["test_accuracy"] >= 0.95


@pytest.mark.slow
def test_missing_values_do_not_change_what_a_column_is(boolshap):
    rows = [(1, "NaN", " ", "a"), (0, "NaN", "1", "b"), (1, "NaN", "0", "a"), (0, "2.5", "1", " "), (1, "3.5", "1", "b")]
    with open(boolshap.folder / "t.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["y", "number", "flag", "name"])
        writer.writerows(rows * 4)
    result = boolshap.json("train", "t.csv", "--target", "y", "-o", "m.json", "--hidden", "2")
    assert result["features"] == ["number>3", "flag=1", "name=a", "name=b", "name=(missing)"]
    assert result["missing"] == {"number": 12, "flag": 4, "name": 4}
    schema = json.loads((boolshap.folder / "m.json").read_text())["schema"]
    assert [column["code"] for column in schema[:2]] == [{"above": 3.0}, "boolean"]
    huge = pyarrow.table({"x": [1e308, 1.5e308, 1.7e308, 1.7e308], "y": [0, 1, 0, 1]})
    pyarrow.parquet.write_table(huge, boolshap.folder / "h.parquet")
    boolshap("train", "h.parquet", "--target", "y", "-o", "n.json", "--hidden", "1")
    # The sum overflows a float, the mean does not.
    mean = float(sum(map(Fraction, huge["x"].to_pylist())) / 4)
    assert json.loads((boolshap.folder / "n.json").read_text())["schema"][0]["code"] == {"above": mean}
    nested = pyarrow.table({"s": [{"a": 1}, {"a": 2}] * 4, "x": [1, 0] * 4, "y": [0, 1] * 4})
    pyarrow.parquet.write_table(nested, boolshap.folder / "n.parquet")
    assert "column 's' cannot be read" in boolshap.fails("train", "n.parquet", "--target", "y", "-o", "n.json")
    boolshap("train", "n.parquet", "--target", "y", "-o", "n.json", "--column", "s=ignored", "--hidden", "2")


def test_standard_output_holds_the_model_alone(boolshap):
    (boolshap.folder / "t.csv").write_text("x,y\n" + "1,0\n5,1\n" * 6)
    done = boolshap("train", "t.csv", "--target", "y", "-o", "-", "--hidden", "2")
    assert json.loads(done.stdout)["features"] == ["x>3"]
    assert "accuracy" in done.stderr
