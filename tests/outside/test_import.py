"""Networks written by other tools, imported and compared with numpy on every input."""

import csv
import json

import h5py
import numpy as np
import pytest
from safetensors.numpy import save_file


def all_inputs(n):
    """Every input as a row of -1 and +1; feature j is bit j of the row's number."""
    return np.array([[1.0 if number >> j & 1 else -1.0 for j in range(n)] for number in range(2**n)])


def sign(values):
    return np.where(values >= 0, 1.0, -1.0)


def counts(classes, number):
    return [int((classes == k).sum()) for k in range(number)]


def predictions(boolshap, model, n):
    """The command's own predictions on every input, through a file of bits."""
    names = json.loads((boolshap.folder / model).read_text())["features"]
    with open(boolshap.folder / "all.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows((all_inputs(n) > 0).astype(int).tolist())
    boolshap("predict", model, "all.csv", "-o", "p.csv")
    return np.loadtxt(boolshap.folder / "p.csv", skiprows=1, dtype=int)


def agree(boolshap, model, n, expected, classes):
    np.testing.assert_array_equal(predictions(boolshap, model, n), expected)
    assert boolshap.json("info", model)["class_counts"] == counts(expected, classes)


class Norm:
    """Batch normalisation with random parameters."""

    def __init__(self, rng, width, epsilon):
        self.gamma = rng.normal(size=width).astype(np.float32)
        self.beta = rng.normal(size=width).astype(np.float32)
        self.mean = rng.normal(size=width).astype(np.float32)
        self.variance = rng.uniform(0.5, 4, size=width).astype(np.float32)
        self.epsilon = epsilon

    def __call__(self, x):
        scale = np.sqrt(self.variance.astype(float) + self.epsilon)
        return self.gamma * (x - self.mean) / scale + self.beta


def keras_file(path, layers, config=None):
    """Writes weights in the layout of Keras 2; layers are (name, {weight: array})."""
    with h5py.File(path, "w") as file:
        root = file.create_group("model_weights") if config else file
        if config:
            file.attrs["model_config"] = json.dumps(config)
        root.attrs["layer_names"] = [name.encode() for name, _ in layers]
        root.attrs["backend"] = b"tensorflow"
        for name, weights in layers:
            group = root.create_group(name)
            names = [f"{name}/{weight}:0".encode() for weight in weights]
            group.attrs["weight_names"] = names if names else np.array([])
            for weight, values in weights.items():
                group.create_dataset(f"{name}/{weight}:0", data=values)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("outputs", [1, 3])
def test_larq_weights(boolshap, seed, outputs):
    rng = np.random.default_rng(seed)
    n, hidden, epsilon = 9, 6, 1e-3
    latent = [rng.uniform(-1, 1, (n, hidden)), rng.uniform(-1, 1, (hidden, outputs))]
    latent = [kernel.astype(np.float32) for kernel in latent]
    bias = rng.normal(size=outputs).astype(np.float32)
    norm = Norm(rng, hidden, epsilon)
    statistics = {"gamma": norm.gamma, "beta": norm.beta, "moving_mean": norm.mean, "moving_variance": norm.variance}
    layers = [
        ("input_1", {}),
        ("quant_dense", {"kernel": latent[0]}),
        ("batch_normalization", statistics),
        ("quant_dense_1", {"kernel": latent[1], "bias": bias}),
    ]
    keras_file(boolshap.folder / "w.h5", layers)
    assert "epsilon" in boolshap.fails("import", "w.h5", "-o", "m.json")
    boolshap("import", "w.h5", "-o", "m.json", "--bn-epsilon", epsilon)
    scores = sign(norm(all_inputs(n) @ sign(latent[0]))) @ sign(latent[1]) + bias.astype(float)
    expected = scores.argmax(axis=1) if outputs > 1 else (scores[:, 0] >= 0).astype(int)
    agree(boolshap, "m.json", n, expected, max(outputs, 2))
    # A whole saved model contains its epsilon.
    config = {"config": {"layers": [{"config": {"name": "batch_normalization", "epsilon": epsilon}}]}}
    keras_file(boolshap.folder / "whole.h5", layers, config)
    boolshap("import", "whole.h5", "-o", "whole.json")
    agree(boolshap, "whole.json", n, expected, max(outputs, 2))


def test_keras_zero_weights_and_missing_layers(boolshap):
    kernel = np.array([[0.5], [0.0], [-0.5]], dtype=np.float32)
    keras_file(boolshap.folder / "w.h5", [("quant_dense", {"kernel": kernel})])
    message = boolshap.fails("import", "w.h5", "-o", "m.json")
    assert "quant_dense: the weight of neuron 1 for input 2 is 0" in message
    boolshap("import", "w.h5", "-o", "m.json", "--zero-weight", "-1")
    expected = ((all_inputs(3) @ np.array([1, -1, -1])) >= 0).astype(int)
    agree(boolshap, "m.json", 3, expected, 2)
    boolshap("import", "w.h5", "-o", "m.json", "--kernels", "real")
    expected = ((all_inputs(3) @ kernel[:, 0]) >= 0).astype(int)
    agree(boolshap, "m.json", 3, expected, 2)
    kernel[1] = np.nan
    keras_file(boolshap.folder / "w.h5", [("quant_dense", {"kernel": kernel})])
    assert "quant_dense: a weight of neuron 1 is NaN, not a finite number" in boolshap.fails("import", "w.h5", "-o", "n.json")
    keras_file(boolshap.folder / "w.h5", [("conv", {"kernel": np.ones((3, 3, 1, 2), dtype=np.float32)})])
    assert "layer conv is not dense: its kernel has shape [3, 3, 1, 2]" in boolshap.fails("import", "w.h5", "-o", "n.json")
    keras_file(boolshap.folder / "w.h5", [("a", {"kernel": np.ones((3, 2))}), ("b", {"kernel": np.ones((3, 1))})])
    assert "b has weights for 3 inputs where 2 arrive" in boolshap.fails("import", "w.h5", "-o", "n.json")
    assert not (boolshap.folder / "n.json").exists()


def test_keras_models_inside_models_and_odd_layers(boolshap):
    rng = np.random.default_rng(6)
    first, second = dense(rng, 5, 7).T, dense(rng, 1, 5).T
    with h5py.File(boolshap.folder / "w.h5", "w") as file:
        file.attrs["layer_names"] = [b"seq"]
        group = file.create_group("seq")
        group.attrs["weight_names"] = [b"a/kernel:0", b"b/kernel:0"]
        group.create_dataset("a/kernel:0", data=first)
        group.create_dataset("b/kernel:0", data=second)
    boolshap("import", "w.h5", "-o", "m.json")
    agree(boolshap, "m.json", 7, (sign(all_inputs(7) @ first) @ second >= 0)[:, 0].astype(int), 2)
    with h5py.File(boolshap.folder / "w.h5", "a") as file:
        del file["seq"].attrs["weight_names"]
    assert "seq has no attribute weight_names" in boolshap.fails("import", "w.h5", "-o", "n.json")
    rnn = {"kernel": np.ones((3, 3)), "recurrent_kernel": np.ones((3, 3)), "bias": np.zeros(3)}
    keras_file(boolshap.folder / "w.h5", [("rnn", rnn)])
    message = boolshap.fails("import", "w.h5", "-o", "n.json")
    assert "layer rnn is neither dense nor batch normalisation (it has bias, kernel, recurrent_kernel)" in message


def test_a_truncated_h5_is_refused(boolshap, shared_data):
    content = shared_data("paper/larq_bnn_13_13_1.h5").read_bytes()
    for length in (len(content) // 10, len(content) // 2, len(content) - 200, len(content) - 1):
        (boolshap.folder / "cut.h5").write_bytes(content[:length])
        assert "cut.h5" in boolshap.fails("import", "cut.h5", "-o", "m.json")
    assert not (boolshap.folder / "m.json").exists()


def test_the_larq_network_against_h5py(boolshap, shared_data):
    path = shared_data("paper/larq_bnn_13_13_1.h5")
    values = all_inputs(13)
    with h5py.File(path) as file:
        for name in ("Dense_layer_1", "Output_layer"):
            kernel, bias = file[f"{name}/{name}/kernel:0"][:], file[f"{name}/{name}/bias:0"][:]
            values = sign(values @ sign(kernel.astype(float)) + bias.astype(float))
    expected = (values[:, 0] > 0).astype(int)
    assert expected.sum() == 4096
    boolshap("import", path, "-o", "m.json")
    agree(boolshap, "m.json", 13, expected, 2)


@pytest.mark.parametrize("names", [("fc1", "fc2", "bn1"), ("net.0", "net.3", "net.1"), ("hidden", "out", None)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_safetensors(boolshap, names, dtype):
    rng = np.random.default_rng(5)
    n, hidden, outputs, epsilon = 8, 5, 4, 1e-5
    kernels = [rng.normal(size=(hidden, n)).astype(dtype), sign(rng.normal(size=(outputs, hidden))).astype(dtype)]
    bias = [rng.normal(size=width).astype(dtype) for width in (hidden, outputs)]
    norm = Norm(rng, hidden, epsilon)
    tensors = {f"{names[0]}.weight": kernels[0], f"{names[0]}.bias": bias[0]}
    tensors |= {f"{names[1]}.weight": kernels[1], f"{names[1]}.bias": bias[1]}
    sums = all_inputs(n) @ kernels[0].T.astype(float) + bias[0].astype(float)
    if names[2]:
        statistics = {"weight": norm.gamma, "bias": norm.beta, "running_mean": norm.mean, "running_var": norm.variance}
        tensors |= {f"{names[2]}.{key}": value for key, value in statistics.items()}
        tensors[f"{names[2]}.num_batches_tracked"] = np.array(7)
        sums = norm(sums)
    save_file(tensors, boolshap.folder / "w.safetensors")
    boolshap("import", "w.safetensors", "-o", "m.json", "--bn-epsilon", "1e-5")
    scores = sign(sums) @ kernels[1].T.astype(float) + bias[1].astype(float)
    agree(boolshap, "m.json", n, scores.argmax(axis=1), outputs)


def dense(rng, outputs, inputs):
    return sign(rng.normal(size=(outputs, inputs)))


def test_safetensors_whose_order_nobody_can_know(boolshap):
    rng = np.random.default_rng(8)
    square = {"input.weight": dense(rng, 6, 6), "hidden.weight": dense(rng, 6, 6), "output.weight": dense(rng, 3, 6)}
    save_file(square, boolshap.folder / "w.safetensors")
    assert "fit each other in more than one order" in boolshap.fails("import", "w.safetensors", "-o", "m.json")
    # Only one order fits, though it is not the alphabetical order.
    weights = [dense(rng, 5, 7), dense(rng, 4, 5), dense(rng, 3, 4)]
    save_file(dict(zip(["start.weight", "middle.weight", "end.weight"], weights)), boolshap.folder / "w.safetensors")
    boolshap("import", "w.safetensors", "-o", "m.json")
    values = sign(sign(all_inputs(7) @ weights[0].T) @ weights[1].T) @ weights[2].T
    agree(boolshap, "m.json", 7, values.argmax(axis=1), 3)


@pytest.mark.parametrize(
    "names", [("fc.0", "fc.1", "head.1", "head.3"), ("b.0.fc", "b.0.bn", "b.1.fc", "b.2.fc"), ("l1", "n1", "l2", "l3")]
)
def test_safetensors_normalise_the_right_layer(boolshap, names):
    rng = np.random.default_rng(9)
    weights = [dense(rng, 6, 6), dense(rng, 6, 6), dense(rng, 3, 6)]
    norm = Norm(rng, 6, 0.0)
    tensors = {f"{names[i]}.weight": w for i, w in zip((0, 2, 3), weights)}
    # Without learned scale and shift, as with affine=False.
    tensors |= {f"{names[1]}.running_mean": norm.mean, f"{names[1]}.running_var": norm.variance}
    norm.gamma, norm.beta = np.ones(6), np.zeros(6)
    save_file(tensors, boolshap.folder / "w.safetensors")
    if names[0] == "fc.0":
        assert "more than one order" in boolshap.fails("import", "w.safetensors", "-o", "m.json", "--bn-epsilon", "0")
        return
    boolshap("import", "w.safetensors", "-o", "m.json", "--bn-epsilon", "0")
    values = sign(sign(norm(all_inputs(6) @ weights[0].T)) @ weights[1].T) @ weights[2].T
    agree(boolshap, "m.json", 6, values.argmax(axis=1), 3)


def test_safetensors_that_do_not_fit(boolshap):
    save_file({"a.weight": np.ones((2, 3)), "b.weight": np.ones((1, 5))}, boolshap.folder / "w.safetensors")
    message = boolshap.fails("import", "w.safetensors", "-o", "m.json")
    assert "the layers do not fit each other in any order: a 3->2, b 5->1" in message
    save_file({"c.weight": np.ones((2, 3, 3, 3))}, boolshap.folder / "w.safetensors")
    assert "module c with a weight of shape [2, 3, 3, 3] is no dense layer" in boolshap.fails(
        "import", "w.safetensors", "-o", "m.json"
    )


@pytest.mark.parametrize("seed", range(3))
def test_folders_of_layers(boolshap, seed):
    rng = np.random.default_rng(seed)
    widths = [7, 6, 5, 4]
    values = all_inputs(7)
    for index, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        last = index == len(widths) - 2
        block = boolshap.folder / "net" / ("out_blk" if last else f"blk{index + 1}")
        block.mkdir(parents=True)
        weights, bias = sign(rng.normal(size=(outputs, inputs))), rng.normal(size=outputs)
        np.savetxt(block / "lin_weight.csv", weights, delimiter=",", fmt="%.1f")
        np.savetxt(block / "lin_bias.csv", bias[None], delimiter=",", fmt="%.17g")
        values = values @ weights.T + bias
        if not last:
            norm = Norm(rng, outputs, 0.0)
            files = {"weight": norm.gamma, "bias": norm.beta, "mean": norm.mean, "var": norm.variance}
            for key, vector in files.items():
                np.savetxt(block / f"bn_{key}.csv", vector[None].astype(float), delimiter=",", fmt="%.17g")
            values = sign(norm(values))
    boolshap("import", "net", "-o", "m.json")
    agree(boolshap, "m.json", 7, values.argmax(axis=1), 4)
    (boolshap.folder / "net/blk1/bn_mean.csv").unlink()
    assert "bn_mean.csv: No such file" in boolshap.fails("import", "net", "-o", "n.json")


@pytest.mark.parametrize("seed", range(3))
def test_neurons(boolshap, seed):
    rng = np.random.default_rng(seed)
    weights, threshold = rng.integers(-50, 50, 8) / 8, rng.integers(-20, 20) / 8
    text = f"name: n\nsize: 8\nweights: {' '.join(map(str, weights))}\nthreshold: {threshold}\n"
    (boolshap.folder / "x.neuron").write_text(text)
    boolshap("import", "x.neuron", "-o", "m.json")
    expected = ((all_inputs(8) > 0) @ weights >= threshold).astype(int)
    agree(boolshap, "m.json", 8, expected, 2)
