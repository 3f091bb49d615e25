"""Networks of real weights, written by other tools: labels are compared with fractions where the network is rational,
numbers with numpy, scores with the definition over all sets."""

import csv
import io
import itertools
import json
import math
import zipfile
from fractions import Fraction

import h5py
import numpy as np
import pytest
from safetensors.numpy import save_file
from test_import_onnx import Chain

FUNCTIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "leaky:0.25": lambda x: np.where(x < 0, 0.25 * x, x),
}


def all_bits(n):
    return np.arange(2**n)[:, None] >> np.arange(n) & 1


def write_rows(folder, rows, name="rows.csv"):
    with open(folder / name, "w", newline="") as file:
        csv.writer(file).writerows([[f"x{i + 1}" for i in range(rows.shape[1])], *rows.tolist()])


def forward(layers, function, values):
    for number, (weights, bias) in enumerate(layers):
        values = (function(values) if number else values) @ weights.astype(float).T + bias.astype(float)
    return values


def exact_relu(layers, row):
    """In fractions, layer by layer."""
    values = [Fraction(int(bit)) for bit in row]
    for number, (weights, bias) in enumerate(layers):
        values = [max(value, Fraction(0)) for value in values] if number else values
        sums = [[Fraction(float(w)) * v for w, v in zip(line, values)] for line in weights]
        values = [sum(line, Fraction(float(b))) for line, b in zip(sums, bias)]
    return values


def random_layers(rng, widths, step=None):
    layers = []
    for inputs, outputs in itertools.pairwise(widths):
        weights, bias = rng.normal(size=(outputs, inputs)), rng.normal(size=outputs)
        if step:
            weights, bias = np.round(weights / step) * step, np.round(bias / step) * step
        layers.append((weights.astype(np.float32), bias.astype(np.float32)))
    return layers


def save(path, layers):
    tensors = {}
    for number, (weights, bias) in enumerate(layers):
        tensors |= {f"net.{2 * number}.weight": weights, f"net.{2 * number}.bias": bias}
    save_file(tensors, path)


def shapley(values, n):
    """Shapley values of a table of numbers under the uniform distribution, for the input of all ones, set by set."""
    table = values.reshape([2] * n).transpose(range(n - 1, -1, -1))
    worth = {}
    for known in itertools.product([False, True], repeat=n):
        worth[known] = table[tuple(1 if is_known else slice(None) for is_known in known)].mean()
    scores = np.zeros(n)
    for known, player in itertools.product(worth, range(n)):
        if not known[player]:
            size = sum(known)
            weight = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
            with_player = known[:player] + (True,) + known[player + 1 :]
            scores[player] += weight * (worth[with_player] - worth[known])
    return scores


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_labels_and_scores_of_safetensors(boolshap, seed, outputs, name):
    rng, n = np.random.default_rng(seed), 6
    layers = random_layers(rng, [n, 5, 4, outputs])
    save(boolshap.folder / "m.safetensors", layers)
    message = boolshap.fails("import", "m.safetensors", "-o", "m.json", "--activation", name)
    assert "which numbers they can be" in message
    boolshap("import", "m.safetensors", "-o", "m.json", "--activation", name, "--inputs", "bits")
    scores = forward(layers, FUNCTIONS[name], all_bits(n).astype(float))
    expected = scores.argmax(axis=1) if outputs > 1 else (scores[:, 0] >= 0).astype(int)
    write_rows(boolshap.folder, all_bits(n))
    boolshap("predict", "m.json", "rows.csv", "-o", "p.csv")
    np.testing.assert_array_equal(np.loadtxt(boolshap.folder / "p.csv", skiprows=1, dtype=int), expected)
    boolshap("compile", "m.json", "-o", "c.bsc", "--class", "all" if outputs > 1 else 1, "--verify")
    assert boolshap.json("verify", "m.json", "c.bsc")["equal"]
    boolshap("predict", "c.bsc", "rows.csv", "-o", "p.csv")
    np.testing.assert_array_equal(np.loadtxt(boolshap.folder / "p.csv", skiprows=1, dtype=int), expected)
    # Scores of the values, for the input of all ones.
    boolshap("compile", "m.json", "-o", "v.bsc", "--model-output", "score", "--verify")
    assert boolshap.json("verify", "m.json", "v.bsc")["equal"]
    write_rows(boolshap.folder, np.ones((1, n), dtype=int), "ones.csv")
    each = ("--class", "each") if outputs > 1 else ()
    boolshap("explain", "v.bsc", "ones.csv", "-o", "s.csv", *each)
    with open(boolshap.folder / "s.csv") as file:
        [row] = csv.DictReader(file)
    for output in range(outputs):
        suffix = f":{output}" if outputs > 1 else ""
        found = np.array([float(row[f"x{feature + 1}{suffix}"]) for feature in range(n)])
        np.testing.assert_allclose(found, shapley(scores[:, output], n), atol=1e-12)


def test_ties_are_decided_by_fractions(boolshap):
    """Few distinct weights, so that for many inputs numpy's float sums are close to 0 or have the wrong sign."""
    ties = 0
    for seed in range(8):
        rng, n = np.random.default_rng(seed), 7
        layers = random_layers(rng, [n, 4, 3, 1], step=0.5)
        # Tenths are not exact as floats: sums that would be 0 in decimals are not.
        layers = [(w * np.float32(0.1), b * np.float32(0.1 ** (at + 1))) for at, (w, b) in enumerate(layers)]
        save(boolshap.folder / "m.safetensors", layers)
        boolshap("import", "m.safetensors", "-o", "m.json", "--activation", "relu", "--inputs", "bits")
        numbers = [exact_relu(layers, row)[0] for row in all_bits(n)]
        ties += sum(abs(number) < Fraction(1, 10**9) for number in numbers)
        write_rows(boolshap.folder, all_bits(n))
        boolshap("compile", "m.json", "-o", "c.bsc")
        boolshap("predict", "c.bsc", "rows.csv", "-o", "p.csv")
        found = np.loadtxt(boolshap.folder / "p.csv", skiprows=1, dtype=int)
        np.testing.assert_array_equal(found, [int(number >= 0) for number in numbers])
    assert ties > 20


@pytest.mark.parametrize("seed", range(3))
def test_onnx_chains(boolshap, seed):
    rng, n = np.random.default_rng(seed), 6
    chain = Chain(1, n)
    layers = random_layers(rng, [n, 5, 4, 3])
    chain.then("Flatten")
    chain.then("Gemm", chain.constant(layers[0][0]), chain.constant(layers[0][1]), transB=1).then("Relu")
    chain.matrix(layers[1][0].T).then("Add", chain.constant(layers[1][1])).then("Tanh")
    chain.then("Mul", chain.constant(0.5)).then("LeakyRelu", alpha=0.125)
    chain.matrix(layers[2][0].T).then("Add", chain.constant(layers[2][1])).then("Softmax")
    (boolshap.folder / "m.onnx").write_bytes(chain.model().SerializeToString())
    boolshap("import", "m.onnx", "-o", "m.json", "--inputs", "signs")
    x = 2.0 * all_bits(n) - 1
    x = np.maximum(x @ layers[0][0].astype(float).T + layers[0][1], 0)
    x = np.tanh(x @ layers[1][0].astype(float).T + layers[1][1]) * 0.5
    x = np.where(x < 0, 0.125 * x, x) @ layers[2][0].astype(float).T + layers[2][1]
    write_rows(boolshap.folder, all_bits(n))
    boolshap("predict", "m.json", "rows.csv", "-o", "p.csv")
    found = np.loadtxt(boolshap.folder / "p.csv", skiprows=1, dtype=int)
    np.testing.assert_array_equal(found, x.argmax(axis=1))
    chain.then("Erf")
    (boolshap.folder / "bad.onnx").write_bytes(chain.model().SerializeToString())
    assert "(Erf): this operator is not read" in boolshap.fails("import", "bad.onnx", "-o", "n.json")


def keras_layer(kind, name, **config):
    return {"class_name": kind, "config": {"name": name, **config}}


def keras_weights(file, layers):
    """Writes weights with the names and numbers of Keras 3."""
    for folder, (name, weights) in layers.items():
        variables = file.create_group(f"layers/{folder}/vars")
        variables.attrs["name"] = name
        for number, values in enumerate(weights):
            variables.create_dataset(str(number), data=values)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("deflate", [False, True])
def test_keras_archives(boolshap, dtype, deflate):
    rng, n = np.random.default_rng(4), 6
    kernels = [rng.normal(size=shape).astype(dtype) for shape in [(n, 5), (5, 4), (4, 2)]]
    biases = [rng.normal(size=width).astype(dtype) for width in (5, 4, 2)]
    beta, mean = rng.normal(size=(2, 5)).astype(dtype)
    variance = rng.uniform(0.5, 2, size=5).astype(dtype)
    config = {"class_name": "Sequential", "config": {"layers": [
        keras_layer("InputLayer", "in"),
        keras_layer("Dense", "one", activation="relu"),
        keras_layer("BatchNormalization", "norm", epsilon=0.001, scale=False, center=True),
        keras_layer("Dropout", "drop"),
        keras_layer("Dense", "two", activation="linear"),
        keras_layer("LeakyReLU", "leaky", negative_slope=0.25),
        keras_layer("Dense", "three", activation="softmax"),
    ]}}  # fmt: skip
    weights = {
        "dense": ("one", [kernels[0], biases[0]]), "batch_normalization": ("norm", [beta, mean, variance]),
        "dense_1": ("two", [kernels[1], biases[1]]), "dense_2": ("three", [kernels[2], biases[2]]), "dropout": ("drop", []),
    }  # fmt: skip
    stored = io.BytesIO()
    with h5py.File(stored, "w") as file:
        keras_weights(file, weights)
    with zipfile.ZipFile(boolshap.folder / "m.keras", "w", zipfile.ZIP_DEFLATED if deflate else zipfile.ZIP_STORED) as archive:
        archive.writestr("metadata.json", "{}")
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("model.weights.h5", stored.getvalue())
    boolshap("import", "m.keras", "-o", "m.json", "--inputs", "bits")
    x = np.maximum(all_bits(n) @ kernels[0].astype(float) + biases[0], 0)
    x = (x - mean) / np.sqrt(variance.astype(float) + 0.001) + beta
    x = x @ kernels[1].astype(float) + biases[1]
    x = np.where(x < 0, 0.25 * x, x) @ kernels[2].astype(float) + biases[2]
    write_rows(boolshap.folder, all_bits(n))
    boolshap("predict", "m.json", "rows.csv", "-o", "p.csv")
    found = np.loadtxt(boolshap.folder / "p.csv", skiprows=1, dtype=int)
    np.testing.assert_array_equal(found, x.argmax(axis=1))
    config["config"]["layers"].insert(4, keras_layer("Conv1D", "odd"))
    with zipfile.ZipFile(boolshap.folder / "odd.keras", "w") as archive:
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("model.weights.h5", stored.getvalue())
    message = boolshap.fails("import", "odd.keras", "-o", "n.json", "--inputs", "bits")
    assert "layer odd is of the class Conv1D, which is not read" in message
    (boolshap.folder / "cut.keras").write_bytes((boolshap.folder / "m.keras").read_bytes()[:-40])
    assert "the archive is damaged or cut off" in boolshap.fails("import", "cut.keras", "-o", "n.json")


def test_keras_weights_without_a_configuration(boolshap):
    """Signs between the layers and latent kernels, as in weights of Keras 2."""
    rng, n = np.random.default_rng(5), 7
    kernels = [rng.normal(size=shape).astype(np.float32) for shape in [(n, 5), (5, 1)]]
    gamma, beta, mean = rng.normal(size=(3, 5)).astype(np.float32)
    variance = rng.uniform(0.5, 2, size=5).astype(np.float32)
    with h5py.File(boolshap.folder / "m.weights.h5", "w") as file:
        norm = ("norm", [gamma, beta, mean, variance])
        keras_weights(file, {"dense": ("a", [kernels[0]]), "dense_1": ("b", [kernels[1]]), "batch_normalization": norm})
    boolshap("import", "m.weights.h5", "-o", "m.json", "--bn-epsilon", 0.001)
    x = (2 * all_bits(n) - 1) @ np.sign(kernels[0].astype(float))
    x = np.where(gamma * (x - mean) / np.sqrt(variance.astype(float) + 0.001) + beta >= 0, 1.0, -1.0)
    write_rows(boolshap.folder, all_bits(n))
    boolshap("predict", "m.json", "rows.csv", "-o", "p.csv")
    found = np.loadtxt(boolshap.folder / "p.csv", skiprows=1, dtype=int)
    np.testing.assert_array_equal(found, (x @ np.sign(kernels[1].astype(float)) >= 0)[:, 0].astype(int))
    with h5py.File(boolshap.folder / "odd.h5", "w") as file:
        keras_weights(file, {"dense": ("a", [kernels[0]]), "conv2d": ("b", [np.ones((2, 2, 1, 1))])})
    assert "nothing says their order" in boolshap.fails("import", "odd.h5", "-o", "n.json")


def test_what_a_network_of_real_weights_cannot_do_is_said(boolshap):
    save(boolshap.folder / "m.safetensors", random_layers(np.random.default_rng(0), [4, 3, 1]))
    boolshap("import", "m.safetensors", "-o", "m.json", "--activation", "tanh", "--inputs", "bits")
    assert boolshap.json("info", "m.json")["real_weights"]
    assert "real weights" in boolshap.fails("encode", "m.json", "-o", "x.cnf")
    assert "real weights" in boolshap.fails("ask", "properties", "m.json")
    boolshap("compile", "m.json", "-o", "c", "--via", "cnf", code=2)
    save(boolshap.folder / "wide.safetensors", random_layers(np.random.default_rng(0), [25, 3, 1]))
    message = boolshap.fails("import", "wide.safetensors", "-o", "w.json", "--activation", "relu", "--inputs", "bits")
    assert "25 inputs: all of them are tried, which ends at 24" in message
