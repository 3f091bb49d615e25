"""Quantised networks in QONNX, imported and compared with an evaluator in numpy that implements every operator of the
dialect from its documentation, in float32."""

import csv
import functools
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from test_import_onnx import QONNX, BipolarQuant, Chain, classes
from test_regions import shapley

DATA = Path(__file__).parents[3] / "shared/data"
MODES = {
    "ROUND": np.round,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "UP": lambda x: np.sign(x) * np.ceil(np.abs(x)),
    "DOWN": np.fix,
    "HALF_UP": lambda x: np.sign(x) * np.floor(np.abs(x) + np.float32(0.5)),
    "HALF_DOWN": lambda x: np.sign(x) * np.ceil(np.abs(x) - np.float32(0.5)),
}


class Quant(OpRun):
    op_domain = QONNX

    def _run(self, x, scale, zero, bits, signed=1, narrow=1, rounding_mode="ROUND"):
        bits = int(bits)
        if signed and bits == 1:
            whole = np.where(x / scale + zero >= 0, 1, -1).astype(x.dtype)
        else:
            low = -(2 ** (bits - 1)) + narrow if signed else 0
            high = 2 ** (bits - 1) - 1 if signed else 2**bits - 1 - narrow
            whole = MODES[rounding_mode](np.clip(x / scale + zero, low, high))
        return ((whole - zero) * scale,)


class MultiThreshold(OpRun):
    op_domain = QONNX

    def _run(self, x, thresholds, out_scale=1.0, out_bias=0.0, out_dtype=None, data_layout=None):
        axis = 1 if not data_layout else data_layout.index("C")
        moved = np.moveaxis(x, axis, -1)[..., None] >= thresholds
        return (np.moveaxis(moved.sum(axis=-1), -1, axis).astype(x.dtype) * np.float32(out_scale) + np.float32(out_bias),)


class Trunc(OpRun):
    op_domain = QONNX

    def _run(self, x, scale, zero, before, after, rounding_mode="FLOOR"):
        whole = MODES[rounding_mode](np.round(x / scale + zero) / np.float32(2 ** (int(before) - int(after))))
        return ((whole - zero) * scale,)


class BatchNormalization(OpRun):
    """Replaces the evaluator's operator, which for the version of old files normalises by the statistics of the row."""

    op_domain = ""

    def _run(self, x, gamma, beta, mean, variance, epsilon=1e-5, momentum=None, **_):
        shape = [1, -1] + [1] * (x.ndim - 2)
        gamma, beta, mean, variance = (vector.reshape(shape) for vector in (gamma, beta, mean, variance))
        return (gamma * (x - mean) / np.sqrt(variance + np.float32(epsilon)) + beta,)


OPERATORS = [BipolarQuant, Quant, MultiThreshold, Trunc, BatchNormalization]


def quant(chain, bits, scale=1.0, zero=0.0, *, of=None, signed=1, narrow=0, mode="ROUND"):
    """A quantiser of the chain, or of a constant beside it."""
    operands = [chain.constant(scale), chain.constant(zero), chain.constant(bits)]
    options = {"domain": QONNX, "signed": signed, "narrow": narrow, "rounding_mode": mode}
    if of is None:
        return chain.then("Quant", *operands, **options)
    return chain.beside("Quant", chain.constant(of), *operands, **options)


def outputs(model, rows):
    """One row at a time, since files may fix the number of rows at 1."""
    evaluator = ReferenceEvaluator(model, new_ops=OPERATORS)
    name = model.graph.input[0].name
    shape = [1, *[axis.dim_value for axis in model.graph.input[0].type.tensor_type.shape.dim][1:]]
    return np.concatenate([evaluator.run(None, {name: row.reshape(shape)})[-1].reshape(1, -1) for row in rows])


def predictions(boolshap, rows, *options):
    boolshap("import", "m.onnx", "-o", "m.json", *options)
    header = ",".join(f"x{number + 1}" for number in range(rows.shape[1]))
    lines = [",".join(repr(float(value)) for value in row) for row in rows]
    (boolshap.folder / "rows.csv").write_text("\n".join([header, *lines]) + "\n")
    boolshap("predict", "m.json", "rows.csv", "-o", "out.csv")
    return np.array((boolshap.folder / "out.csv").read_text().split()[1:], dtype=int)


def agrees(boolshap, chain, rows, expected=None, *options):
    model = chain.model()
    (boolshap.folder / "m.onnx").write_bytes(model.SerializeToString())
    found = predictions(boolshap, rows, *options)
    if expected is not None:
        np.testing.assert_array_equal(found, expected)
    else:
        is_best(found, outputs(model, rows))
    return len(set(found.tolist()))


def is_best(found, scores):
    """Exactly equal scores go to the first class; float32 distinguishes them by their last digits."""
    if scores.shape[1] == 1:
        np.testing.assert_array_equal(found, classes(scores))
    else:
        best = scores.max(axis=1)
        close = scores >= (best - 1e-5 * (1 + np.abs(best)))[:, None]
        np.testing.assert_array_equal(found, np.where(close[np.arange(len(found)), found], found, scores.argmax(axis=1)))
        np.testing.assert_array_equal(found, close.argmax(axis=1))


def some_rows(rng, count, width):
    """Real numbers, and numbers on which quantisers with scales that are powers of two have ties."""
    real = rng.uniform(-3, 3, (count // 2, width))
    return np.concatenate([real, rng.integers(-24, 25, (count - count // 2, width)) / 8]).astype(np.float32)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("signed, narrow", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_modes_widths_and_zero_points(boolshap, mode, signed, narrow):
    seed = list(MODES).index(mode) * 4 + 2 * signed + narrow
    rng = np.random.default_rng(seed)
    chain = Chain(1, 5)
    # Powers of two: every number is exact in float32, so only the mode decides ties.
    quant(chain, 2 + seed % 3, 0.5, seed % 2, signed=signed, narrow=narrow, mode=mode)
    chain.matrix(quant(chain, 3, 0.25, of=rng.normal(size=(5, 6)), narrow=narrow))
    chain.then("Add", chain.constant(rng.integers(-8, 8, 6) / 8))
    if not signed:
        chain.then("Relu")
    quant(chain, 2, [[0.25, 0.5, 1, 0.5, 0.25, 1]], seed % 3, signed=signed, narrow=narrow, mode=mode)
    chain.matrix(quant(chain, 2, 1.0, of=rng.normal(size=(6, 3)) * 2, signed=1, narrow=1))
    chain.then("Add", chain.constant([0.125, 0, -0.125]))
    agrees(boolshap, chain, some_rows(rng, 300, 5))


@pytest.mark.parametrize("seed", range(6))
def test_real_scales_normalisation_and_images(boolshap, seed):
    """In the style of Brevitas: scaled pixels, scales per channel that are not powers of two, batch normalisation."""
    rng = np.random.default_rng(seed)
    chain = Chain(1, 1, 3, 4)
    if seed % 2:
        # Exported graphs compute the shape like this.
        shape = chain.beside("Shape", "x")
        batch = chain.beside("Gather", shape, chain.constant(0, np.int64), axis=0)
        axes = chain.constant([0], np.int64)
        both = [chain.beside("Unsqueeze", batch, axes), chain.constant([-1], np.int64)]
        chain.then("Reshape", chain.beside("Concat", *both, axis=0))
    else:
        chain.then("Flatten")
    rows = rng.integers(0, 256, (400, 12)).astype(np.float32)
    chain.then("Div", chain.constant(255)).then("Sub", chain.constant([0.5])).then("Mul", chain.constant(2))
    quant(chain, 2, 0.77, narrow=1)
    latent = rng.normal(size=(7, 12))
    weights = quant(chain, 2 + seed % 3, rng.uniform(0.3, 0.9, (7, 1)), of=latent, narrow=1)
    chain.matrix(chain.beside("Transpose", weights, perm=[1, 0])).norm(rng, 7, epsilon=1e-5)
    if seed % 3 == 0:
        chain.then("BipolarQuant", chain.constant(0.3), domain=QONNX)
    else:
        chain.then("Relu")
        quant(chain, 3, rng.uniform(0.1, 0.5), signed=0)
    last = quant(chain, 4, 0.11, of=rng.normal(size=(4, 7)))
    chain.then("Gemm", last, chain.constant(rng.normal(size=4)), transB=1)
    # One number for all scores, as in FINN's last layer.
    root = chain.beside("Pow", chain.constant([318.2]), chain.constant(0.5))
    chain.then("Sub", chain.constant([0.4])).then("Div", root).then("Mul", chain.constant([0.7]))
    chain.then("Add", chain.constant([-1.1]))
    if seed == 4:
        chain.then("Softmax")
    assert agrees(boolshap, chain, rows) > 1


@pytest.mark.parametrize("ending", ["ArgMax", "TopK", "quantised", "one", "one bipolar", "one limited"])
def test_endings(boolshap, ending):
    rng = np.random.default_rng(len(ending))
    chain, width = Chain(1, 6), 1 if ending.startswith("one") else 4
    chain.then("BipolarQuant", chain.constant(1), domain=QONNX)
    chain.matrix(quant(chain, 2, 0.5, of=rng.normal(size=(6, 8)), narrow=1))
    chain.then("MultiThreshold", chain.constant(np.sort(rng.normal(size=(8, 3)))), domain=QONNX, out_bias=-1.0)
    chain.matrix(quant(chain, 3, 0.25, of=rng.normal(size=(8, width))))
    rows, expected = some_rows(rng, 300, 6), None
    if ending == "ArgMax":
        chain.then("ArgMax", axis=-1, keepdims=1)
        expected = outputs(chain.model(), rows)[:, 0]
    elif ending == "TopK":
        name = f"TopK{len(chain.nodes)}"
        operands = [chain.at, chain.constant([1], np.int64)]
        chain.nodes.append(helper.make_node("TopK", operands, ["largest", name], name=name))
        expected = outputs(chain.model(), rows)[:, 0] if setattr(chain, "at", name) is None else None
    elif ending == "quantised":
        quant(chain, 4, 0.5)
    elif ending == "one bipolar":
        chain.then("Sub", chain.constant(0.3)).then("BipolarQuant", chain.constant(1), domain=QONNX)
    elif ending == "one limited":
        chain.then("Clip", chain.constant(-1.0), chain.constant(1.0)).then("Mul", chain.constant(-2.0))
    assert agrees(boolshap, chain, rows, expected) > 1


@pytest.mark.parametrize("seed", range(3))
def test_inputs_that_are_stated(boolshap, seed):
    """Stated by the caller, or in the tensor's annotation as FINN does; without either, inputs of several bits are
    refused."""
    rng = np.random.default_rng(seed)
    name, numbers = [("BINARY", [0, 1]), ("BIPOLAR", [-1, 1]), ("UINT2", [0, 1, 2, 3])][seed]
    chain = Chain(1, 7)
    chain.then("Add", chain.constant(1)).then("Div", chain.constant(3))
    chain.matrix(quant(chain, 3, 0.3, of=rng.normal(size=(7, 5)))).then("Relu")
    quant(chain, 2, 0.37, signed=0).matrix(quant(chain, 2, 0.5, of=rng.normal(size=(5, 3))))
    rows = rng.choice(numbers, (300, 7)).astype(np.float32)
    model = chain.model()
    (boolshap.folder / "m.onnx").write_bytes(model.SerializeToString())
    said = boolshap.fails("import", "m.onnx", "-o", "m.json")
    assert "the inputs reach this layer as real numbers" in said and "--inputs bits" in said
    scores = outputs(model, rows)
    given = (rows > 0).astype(np.float32) if seed < 2 else rows
    is_best(predictions(boolshap, given, "--inputs", name), scores)
    annotation = model.graph.quantization_annotation.add(tensor_name="x")
    annotation.quant_parameter_tensor_names.add(key="finn_datatype", value=name)
    (boolshap.folder / "m.onnx").write_bytes(model.SerializeToString())
    is_best(predictions(boolshap, given), scores)


@pytest.mark.parametrize("seed", range(4))
def test_convolutions(boolshap, seed):
    """Small images: convolution, batch normalisation, quantiser, pooling, and a matrix at the end."""
    rng = np.random.default_rng(seed)
    chain = Chain(1, 1, 6, 6)
    if seed % 2:
        chain.then("BipolarQuant", chain.constant(1), domain=QONNX)
    else:
        quant(chain, 2, 1.0, narrow=1)
    kernel = {"kernel_shape": [3, 3], "strides": [1, 1]}
    weights = chain.quantised(rng.normal(size=(3, 1, 3, 3)))
    chain.then("Conv", weights, **kernel, pads=[1, 1, 1, 1] if seed < 2 else [0, 0, 0, 0]).norm(rng, 3)
    if seed % 2:
        chain.then("BipolarQuant", chain.constant(1), domain=QONNX)
    else:
        quant(chain, 2, 0.8, narrow=1)
    chain.then("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    if seed == 3:
        chain.then("AveragePool", kernel_shape=[2, 2], strides=[1, 1])
        chain.then("Trunc", *map(chain.constant, (0.25, 0, 4, 2)), domain=QONNX, rounding_mode="FLOOR")
    side = {0: 3, 1: 3, 2: 2, 3: 1}[seed]
    chain.then("Flatten").matrix(chain.quantised(rng.normal(size=(3 * side * side, 3))))
    chain.then("Add", chain.constant([0.1, 0, -0.1]))
    assert agrees(boolshap, chain, some_rows(rng, 150, 36)) > 1


@pytest.mark.parametrize("seed", range(6))
def test_pooling_before_the_quantiser(boolshap, seed):
    """Convolution, pooling, batch normalisation, quantiser, in Larq's order. Decreasing steps turn the maximum into a
    minimum."""
    rng = np.random.default_rng(40 + seed)
    chain = Chain(1, 1, 6, 6)
    if seed == 4:
        chain.then("MaxPool", kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
    chain.then("BipolarQuant", chain.constant(1), domain=QONNX)
    chain.then("Conv", chain.quantised(rng.normal(size=(3, 1, 3, 3))), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    pads = [1, 1, 1, 1] if seed == 3 else [0, 0, 0, 0]
    chain.then("MaxPool", kernel_shape=[2, 2], strides=[2, 2], pads=pads)
    if seed == 1:
        chain.then("Relu").then("Mul", chain.constant([[[-0.5]], [[0.5]], [[-1.0]]]))
    elif seed == 2:
        chain.then("Sub", chain.constant([[[2.0]], [[0.5]], [[1.0]]])).then("Neg")
    else:
        normals = [rng.choice([-1.0, 1.0], 3), rng.normal(size=3), rng.normal(size=3), rng.random(3) + 0.5]
        chain.then("BatchNormalization", *map(chain.constant, normals))
    if seed == 5:
        cuts = np.sort(rng.normal(size=(3, 2)), axis=1)
        chain.then("MultiThreshold", chain.constant(cuts), domain=QONNX, out_scale=-1.0, data_layout="NCHW")
    elif seed % 2:
        quant(chain, 2, 0.7, narrow=1)
    else:
        chain.then("BipolarQuant", chain.constant(1), domain=QONNX)
    side = 4 if seed == 3 else 3
    chain.then("Flatten").matrix(chain.quantised(rng.normal(size=(3 * side * side, 3))))
    chain.then("Add", chain.constant([0.1, 0, -0.1]))
    assert agrees(boolshap, chain, some_rows(rng, 200, 36)) > 1


def test_pooling_without_a_quantiser_is_refused(boolshap):
    rng = np.random.default_rng(5)
    for after, said in [
        (lambda chain: chain.then("Flatten"), "comes between MaxPool"),
        (lambda chain: chain, "no quantiser follows MaxPool"),
        (lambda chain: chain.then("Add", chain.constant(rng.normal(size=(1, 2, 4, 4)))), "differs within a channel"),
    ]:
        chain = Chain(1, 1, 4, 4)
        chain.then("BipolarQuant", chain.constant(1), domain=QONNX)
        chain.then("Conv", chain.quantised(rng.normal(size=(2, 1, 3, 3))), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        after(chain.then("MaxPool", kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1]))
        (boolshap.folder / "m.onnx").write_bytes(chain.model().SerializeToString())
        assert said in boolshap.fails("import", "m.onnx", "-o", "m.json")


def test_scores_with_a_root_for_each_class(boolshap):
    rng = np.random.default_rng(2)
    chain = Chain(1, 8)
    chain.then("BipolarQuant", chain.constant(1), domain=QONNX).matrix(chain.quantised(rng.normal(size=(8, 9))))
    chain.then("BipolarQuant", chain.constant(1), domain=QONNX).matrix(chain.quantised(rng.normal(size=(9, 4))))
    assert agrees(boolshap, chain.norm(rng, 4), some_rows(rng, 300, 8)) > 1


def test_a_pixel_of_two_bits_is_one_player(boolshap):
    """Columns as players: an absent column takes one of its levels. Compared with the mean over all orders of
    arrival."""
    rng = np.random.default_rng(9)
    chain = Chain(1, 4)
    quant(chain, 2, 1.0, narrow=1).matrix(quant(chain, 2, 0.5, of=rng.normal(size=(4, 5)), narrow=1))
    quant(chain, 2, 0.5, narrow=1).matrix(rng.normal(size=(5, 1)))
    model = chain.model()
    (boolshap.folder / "m.onnx").write_bytes(model.SerializeToString())
    levels = np.array(np.meshgrid(*[[-1, 0, 1]] * 4, indexing="ij"), dtype=np.float32).reshape(4, -1).T
    table = classes(outputs(model, levels)).reshape(3, 3, 3, 3)
    assert 0 < table.mean() < 1
    boolshap("import", "m.onnx", "-o", "m.json")
    boolshap("compile", "m.json", "-o", "c", "--verify")
    rows = rng.choice([-2, -1, 0.2, 0.7, 5], (6, 4))
    lines = ["x1,x2,x3,x4"] + [",".join(map(str, row)) for row in rows]
    (boolshap.folder / "rows.csv").write_text("\n".join(lines) + "\n")
    boolshap("explain", "c", "rows.csv", "-o", "scores.csv", "--players", "columns")
    lines = (boolshap.folder / "scores.csv").read_text().split()
    assert lines[0] == "prediction,base_value,x1,x2,x3,x4"
    for row, line in zip(rows, lines[1:]):
        entity = np.clip(np.round(row), -1, 1).astype(int) + 1
        value = lambda coming: table[tuple(entity[i] if i in coming else slice(None) for i in range(4))].mean()  # noqa: E731
        orders = np.array(np.meshgrid(*[range(4)] * 4)).reshape(4, -1).T
        orders = [order for order in orders if len(set(order)) == 4]
        scores = np.zeros(4)
        for order in orders:
            for place, player in enumerate(order):
                scores[player] += value(set(order[: place + 1])) - value(set(order[:place]))
        found = np.array(line.split(","), dtype=float)
        assert found[0] == table[tuple(entity)]
        np.testing.assert_allclose(found[2:], scores / len(orders), atol=1e-9)


def finn(path):
    """A file adapted to the evaluator."""
    model = onnx.load(path)
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in constants]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    for node in model.graph.node:
        node.domain = QONNX if node.domain else ""
    model.opset_import.append(helper.make_opsetid(QONNX, 1))
    return model


@pytest.mark.parametrize("which", ["1W1A", "1W2A"])
def test_finn(boolshap, which):
    """FINN's networks for digits, on digits and on 200 random images."""
    path = DATA / f"qonnx/TFC_{which}.onnx"
    if not path.exists():
        pytest.skip("the shared data is not there")
    rng = np.random.default_rng(1)
    digits = [np.loadtxt(DATA / f"bnn/inputs/instance_{digit}_784.txt", dtype=np.float32) for digit in range(4)]
    noisy = np.array([digits[i % 4] * rng.random() + rng.random(784) * 0.4 for i in range(100)])
    grid = rng.choice([0, 0.25, 0.5, 0.75, 1], (100, 784))
    rows = np.concatenate([digits, np.clip(noisy, 0, 1), grid]).astype(np.float32)
    model = finn(path)
    expected = outputs(model, rows).argmax(axis=1)
    assert expected[:4].tolist() == [0, 1, 2, 3]
    (boolshap.folder / "m.onnx").write_bytes(path.read_bytes())
    np.testing.assert_array_equal(predictions(boolshap, rows), expected)


@functools.cache
def corners_of_finn(which):
    """The outputs for every mixture of 16 regions of a digit and of the black image, by the reference evaluator of onnx."""
    model = finn(DATA / f"qonnx/TFC_{which}.onnx")
    digit = np.loadtxt(DATA / "bnn/inputs/instance_3_784.txt", dtype=np.float32)
    of_pixel = ((np.arange(28) * 4 // 28)[:, None] * 4 + np.arange(28) * 4 // 28).reshape(-1)
    evaluator = ReferenceEvaluator(model, new_ops=OPERATORS)
    numbers = []
    for first in range(0, 2**16, 2**12):
        masks = np.arange(first, first + 2**12)[:, None] >> of_pixel & 1
        images = np.where(masks == 1, digit, np.float32(0)).astype(np.float32).reshape(-1, 1, 28, 28)
        numbers.append(evaluator.run(None, {model.graph.input[0].name: images})[-1])
    return digit, np.concatenate(numbers)


@pytest.mark.slow
@pytest.mark.parametrize("output", ["label", "score"])
@pytest.mark.parametrize("which", ["1W1A", "1W2A"])
def test_regions_of_finn_against_the_black_image(boolshap, which, output):
    path = DATA / f"qonnx/TFC_{which}.onnx"
    if not path.exists():
        pytest.skip("the shared data is not there")
    digit, numbers = corners_of_finn(which)
    boolshap("import", path, "-o", "m.json", "--grid", "28x28")
    header = ",".join(f"x{number + 1}" for number in range(784))
    (boolshap.folder / "row.csv").write_text(header + "\n" + ",".join(str(float(value)) for value in digit) + "\n")
    boolshap(
        "explain", "m.json", "row.csv", "-o", "s.csv", "--model-output", output, "--class", "each",
        "--distribution", "reference:zeros", "--regions", "4x4",
    )  # fmt: skip
    with open(boolshap.folder / "s.csv") as file:
        [row] = csv.DictReader(file)
    labels = numbers.argmax(axis=1)
    assert int(row["prediction" if output == "label" else "class"]) == labels[-1] == 3
    for class_ in range(10):
        values = (labels == class_).astype(float) if output == "label" else numbers[:, class_].astype(float)
        scores = np.array([float(row[f"r{player // 4}c{player % 4}:{class_}"]) for player in range(16)])
        # The evaluator rounds its numbers to float32.
        error = 1e-9 if output == "label" else 1e-5
        assert float(row[f"base_value:{class_}"]) == pytest.approx(values[0], abs=error)
        np.testing.assert_allclose(scores, shapley(values, 16), atol=error)


def test_float16(boolshap):
    chain = Chain(1, 3)
    weights = chain.beside("Cast", chain.constant([[0.5, 1], [-0.25, 1], [1, -2]], np.float16), to=TensorProto.FLOAT)
    chain.then("BipolarQuant", chain.constant(1), domain=QONNX).matrix(weights)
    agrees(boolshap, chain, some_rows(np.random.default_rng(0), 50, 3))
