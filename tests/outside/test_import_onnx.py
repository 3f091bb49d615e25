"""Networks written with the onnx package, imported and compared with its reference evaluator on every input."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from test_import import agree, all_inputs, sign

QONNX = "qonnx.custom_op.general"


class BipolarQuant(OpRun):
    """QONNX's definition: plus or minus the scale, plus for 0."""

    op_domain = QONNX

    def _run(self, x, scale):
        return ((np.where(x >= 0, 1, -1) * scale).astype(x.dtype),)


class Chain:
    """A graph that grows node by node; every node has the name of its output, `MatMul0`, `Sign1`, ..."""

    def __init__(self, *shape, dtype=np.float32):
        self.shape, self.dtype = list(shape), dtype
        self.nodes, self.tensors, self.at, self.kind = [], [], "x", helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def constant(self, values, dtype=None):
        name = f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.asarray(values, dtype=dtype or self.dtype), name))
        return name

    def beside(self, operator, *operands, domain="", **attributes):
        """A node that does not read the chain."""
        name = f"{operator}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(operands), [name], name=name, domain=domain, **attributes))
        return name

    def then(self, operator, *operands, **attributes):
        self.at = self.beside(operator, self.at, *operands, **attributes)
        return self

    def matrix(self, weights, **attributes):
        weights = weights if isinstance(weights, str) else self.constant(weights)
        return self.then("MatMul", weights, **attributes)

    def reshape(self, *shape):
        return self.then("Reshape", self.constant(shape, np.int64))

    def norm(self, rng, width, **attributes):
        gamma, beta, mean = rng.normal(size=(3, width)) * [[1], [0.3], [0.5]]
        vectors = [gamma, beta, mean, rng.uniform(0.5, 4, width)]
        return self.then("BatchNormalization", *map(self.constant, vectors), **attributes)

    def quantised(self, latent):
        return self.beside("BipolarQuant", self.constant(latent), self.constant(1), domain=QONNX)

    def model(self, opset=17, ir=8):
        inputs = [helper.make_tensor_value_info("x", self.kind, self.shape)]
        outputs = [helper.make_empty_tensor_value_info(self.at)]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.tensors)
        # The standard operator set comes last, so that a truncated file lacks it and is recognised.
        opsets = [helper.make_opsetid(QONNX, 1), helper.make_opsetid("", opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=ir)

    def save(self, boolshap, name="m.onnx", **options):
        (boolshap.folder / name).write_bytes(self.model(**options).SerializeToString())
        return self

    def scores(self, n, **options):
        """The reference evaluator's results for every row of -1 and +1."""
        rows = all_inputs(n).astype(self.dtype)
        rows = rows.reshape([len(rows), *self.shape[1:]])
        return ReferenceEvaluator(self.model(**options), new_ops=[BipolarQuant]).run(None, {"x": rows})[0]


def classes(scores, threshold=0):
    return scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] >= threshold).astype(int)


def imported(boolshap, chain, n, expected, number, *options):
    assert len(set(expected.tolist())) > 1
    chain.save(boolshap)
    done = boolshap("import", "m.onnx", "-o", "m.json", *options)
    assert done.stdout.startswith("ONNX from m.onnx")
    agree(boolshap, "m.json", n, expected, max(number, 2))
    return done


WEIGHTS = {
    "signs": lambda chain, latent: chain.constant(sign(latent)),
    "Sign": lambda chain, latent: chain.beside("Sign", chain.constant(latent)),
    "BipolarQuant": lambda chain, latent: chain.quantised(latent),
    "Constant": lambda chain, latent: chain.beside("Constant", value=numpy_helper.from_array(sign(latent))),
    "int8": lambda chain, latent: chain.beside("Cast", chain.constant(sign(latent), np.int8), to=chain.kind),
    "Transpose": lambda chain, latent: chain.beside("Transpose", chain.quantised(latent.T), perm=[1, 0]),
    "real": lambda chain, latent: chain.constant(latent),
}


@pytest.mark.parametrize("seed", [4, 8, 10])  # All of these use every class.
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_matrix_normalisation_sign(boolshap, seed, outputs, weights):
    rng = np.random.default_rng(seed)
    n, hidden, constant = 8, [7, 5], WEIGHTS[weights]
    chain = Chain("N", n, dtype=np.float64 if weights == "Constant" else np.float32)
    for inputs, width in zip([n, *hidden], hidden):
        chain.matrix(constant(chain, rng.normal(size=(inputs, width))))
        # One layer with an epsilon that matters, one with the default.
        chain.norm(rng, width, **({"epsilon": 9.0} if width == 7 else {})).then("Sign")
    chain.matrix(constant(chain, rng.normal(size=(hidden[-1], outputs))))
    chain.then("Add", chain.constant(rng.normal(size=outputs) * 0.3))
    done = imported(boolshap, chain, n, classes(chain.scores(n)), outputs)
    assert ("taken as they are" in done.stderr) == (weights == "real")
    assert "exactly 0" not in done.stderr


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gemm(boolshap, seed, dtype):
    rng = np.random.default_rng(seed)
    n, hidden, outputs = 7, 6, 4
    chain = Chain("N", n, dtype=dtype)
    chain.then("Gemm", chain.quantised(rng.normal(size=(hidden, n))), chain.constant(rng.normal(size=hidden)), transB=1)
    chain.then("BipolarQuant", chain.constant([1]), domain=QONNX)
    # A bias as a row, or as one number for all neurons.
    bias = rng.normal(size=(1, hidden) if seed % 2 else 1)
    chain.then("Gemm", chain.constant(rng.normal(size=(hidden, hidden))), chain.constant(bias), alpha=1.0, beta=1.0)
    chain.then("Sign").then("Gemm", chain.constant(rng.normal(size=(outputs, hidden))), transB=1)
    imported(boolshap, chain, n, classes(chain.scores(n)), outputs)


@pytest.mark.parametrize("width", [5, 6])
def test_ties(boolshap, width):
    """Without a bias an even number of signs can sum to 0: BipolarQuant gives +1, Sign 0, and a single score of 0 gives
    1."""
    rng = np.random.default_rng(width)
    n, kernels = 6, [sign(rng.normal(size=shape)) for shape in ((6, width), (width, 1))]
    expected = classes(sign(all_inputs(n) @ kernels[0]) @ kernels[1])
    chain = Chain("N", n).matrix(kernels[0])
    chain.then("BipolarQuant", chain.constant(1), domain=QONNX).matrix(kernels[1])
    np.testing.assert_array_equal(classes(chain.scores(n)), expected)
    assert "exactly 0" not in imported(boolshap, chain, n, expected, 1).stderr
    chain = Chain("N", n).matrix(kernels[0]).then("Sign").matrix(kernels[1]).then("Sign")
    exact = classes(chain.scores(n))
    assert (exact != expected).any()
    imported(boolshap, chain, n, exact, 1)


@pytest.mark.parametrize(
    "ending", ["Softmax", "LogSoftmax", "Sigmoid", "ArgMax", "Softmax ArgMax", "Sigmoid one", "Sign one"]
)
def test_endings(boolshap, ending):
    rng = np.random.default_rng(3)
    n, outputs, operators = 6, 1 if ending.endswith("one") else 3, ending.removesuffix(" one").split()
    chain = Chain("N", n).matrix(rng.normal(size=(n, 5))).then("Sign").matrix(rng.normal(size=(5, outputs)))
    for operator in operators:
        chain.then(operator, **({"axis": 1, "keepdims": 0} if operator == "ArgMax" else {}))
    scores = chain.scores(n)
    expected = scores if operators[-1] == "ArgMax" else classes(scores, 0.5 if ending == "Sigmoid one" else 0)
    imported(boolshap, chain, n, expected, outputs)


def test_what_is_passed_over(boolshap):
    rng = np.random.default_rng(4)
    chain = Chain("N", 2, 4, dtype=np.int64)
    chain.dtype = np.float32
    chain.then("Cast", to=TensorProto.FLOAT).then("Identity").then("Flatten").then("Sign")
    chain.reshape(-1, 8).matrix(sign(rng.normal(size=(8, 5)))).then("Dropout")
    chain.then("Add", chain.constant(rng.normal(size=(1, 5)))).norm(rng, 5).then("Identity").then("Sign")
    chain.then("Cast", to=TensorProto.INT8).then("Cast", to=TensorProto.DOUBLE).reshape(0, -1)
    chain.dtype = np.float64
    chain.matrix(rng.normal(size=(5, 1))).then("Cast", to=TensorProto.FLOAT).reshape(-1)
    rows = all_inputs(8).astype(np.int64).reshape(-1, 2, 4)
    scores = ReferenceEvaluator(chain.model()).run(None, {"x": rows})[0]
    imported(boolshap, chain, 8, (scores >= 0).astype(int), 1)


def test_old_files_and_ways_to_store_numbers(boolshap):
    """Initializers among the inputs, and numbers in typed fields instead of raw bytes."""
    rng = np.random.default_rng(5)
    n, kernel, bias = 5, sign(rng.normal(size=(5, 3))), rng.normal(size=3).astype(np.float32)
    for kind, weights in [
        (TensorProto.FLOAT, kernel),
        (TensorProto.DOUBLE, kernel),
        (TensorProto.INT8, kernel.astype(int)),
        (TensorProto.INT32, kernel.astype(int)),
        (TensorProto.INT64, kernel.astype(int)),
    ]:
        chain = Chain("N", n)
        chain.tensors = [
            helper.make_tensor("w", kind, weights.shape, weights.ravel().tolist()),
            helper.make_tensor("b", TensorProto.FLOAT, bias.shape, bias.tolist()),
        ]
        chain.matrix(chain.beside("Cast", "w", to=TensorProto.FLOAT)).then("Add", "b")
        model = chain.model(opset=9, ir=3)
        model.graph.input.append(helper.make_tensor_value_info("w", kind, weights.shape))
        model.graph.input.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, bias.shape))
        (boolshap.folder / "m.onnx").write_bytes(model.SerializeToString())
        boolshap("import", "m.onnx", "-o", "m.json")
        agree(boolshap, "m.json", n, (all_inputs(n) @ kernel + bias.astype(float)).argmax(axis=1), 3)


def test_the_kind_is_seen_in_the_content(boolshap):
    """Neither the name nor a text from another format inside the file decides."""
    model = Chain("N", 3).matrix([[1], [1], [-1]]).model()
    model.producer_name = "\nweights: 1 2 3\n"
    (boolshap.folder / "x.neuron").write_bytes(model.SerializeToString())
    assert boolshap("import", "x.neuron", "-o", "m.json").stdout.startswith("ONNX from x.neuron")
    (boolshap.folder / "text.onnx").write_text(":\tweights 1 2 3\n")
    assert "neither HDF5 weights, safetensors, ONNX" in boolshap.fails("import", "text.onnx", "-o", "n.json")


def ones(*shape):
    return np.ones(shape, dtype=np.float32)


def branch(chain):
    chain.matrix(ones(3, 3))
    first = chain.at
    return chain.then("Sign").then("Add", first)


def second_input(model):
    model.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [1]))


def far_away(model):
    model.graph.initializer[0].data_location = TensorProto.EXTERNAL


REFUSED = {
    "Tanh": (lambda c: c.matrix(ones(3, 2)).then("Tanh"), "node Tanh1 (Tanh): this operator is not read"),
    "Conv": (lambda c: c.then("Conv", c.constant(ones(1, 1, 3))), "node Conv0 (Conv): reads values of the shape [1, 3]"),
    "FloatQuant": (
        lambda c: c.matrix(ones(3, 2)).then("FloatQuant", domain=QONNX),
        f"node FloatQuant1 (FloatQuant): operators of the domain {QONNX} are not read",
    ),
    "limited scores": (
        lambda c: c.matrix(ones(3, 2)).then("Relu"),
        "MatMul0: a limit on the scores makes ties of different scores",
    ),
    "two matrices": (
        lambda c: c.matrix(ones(3, 2)).matrix(ones(2, 1)),
        "MatMul0: the inputs reach this layer as real numbers",
    ),
    "branch": (branch, "node Add2 (Add): reads MatMul0 a second time"),
    "scale": (
        lambda c: c.matrix(ones(3, 1)).then("BipolarQuant", c.constant(0), domain=QONNX),
        "node BipolarQuant1 (BipolarQuant): its scale is 0",
    ),
    "bfloat": (
        lambda c: c.matrix(c.beside("Cast", c.constant(ones(3, 1)), to=TensorProto.BFLOAT16)),
        "node Cast0 (Cast): may change the numbers it reads",
    ),
    "width": (lambda c: c.matrix(ones(4, 1)), "MatMul0 has weights for 4 inputs where 3 arrive"),
    "nan": (lambda c: c.matrix([[1], [np.nan], [1]]), "MatMul0: a weight of neuron 1 is NaN"),
    "zero": (lambda c: c.matrix([[1], [0], [1]]), "MatMul0: the weight of neuron 1 for input 2 is 0"),
    "signs": (lambda c: c.matrix(ones(3, 2)).then("Sign"), "gives 2 signs where one, or scores, are expected"),
    "one class": (lambda c: c.matrix(ones(3, 1)).then("Softmax"), "node Softmax1 (Softmax): has only one score"),
    "wrong axis": (lambda c: c.matrix(ones(3, 2)).then("ArgMax", axis=0), "node ArgMax1 (ArgMax): axis 0"),
    "mixed rows": (lambda c: c.reshape(-1, 6), "node Reshape0 (Reshape): the shape [1, 6] does not fit [1, 3]"),
    "whole sums": (
        lambda c: c.matrix(ones(3, 1)).then("Cast", to=TensorProto.INT32),
        "node Cast1 (Cast): the type int32",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_the_node(boolshap, case):
    build, message = REFUSED[case]
    build(Chain("N", 3)).save(boolshap)
    assert message in boolshap.fails("import", "m.onnx", "-o", "m.json")
    assert not (boolshap.folder / "m.json").exists()


@pytest.mark.parametrize("change, message", [(second_input, "has 2 inputs (x, z)"), (far_away, "kept in another file")])
def test_refused_models(boolshap, change, message):
    model = Chain("N", 3).matrix(ones(3, 2)).model()
    change(model)
    (boolshap.folder / "m.onnx").write_bytes(model.SerializeToString())
    assert message in boolshap.fails("import", "m.onnx", "-o", "m.json")


def test_options(boolshap):
    chain = Chain("N", 3).matrix(np.array([[0.5], [0], [-2]])).save(boolshap)
    boolshap("import", "m.onnx", "-o", "m.json", "--kernels", "sign", "--zero-weight", "-1")
    agree(boolshap, "m.json", 3, classes(all_inputs(3) @ [[1], [-1], [-1]]), 2)
    chain.then("BatchNormalization", *[chain.constant([1])] * 4).save(boolshap)
    done = boolshap("import", "m.onnx", "-o", "m.json", "--bn-epsilon", "0.5")
    assert "BatchNormalization1: the epsilon in the file counts" in done.stderr


def small(rng):
    chain = Chain("N", 3)
    chain.matrix(chain.quantised(rng.normal(size=(3, 2)))).norm(rng, 2, epsilon=0.5).then("Sign")
    return chain.then("Gemm", chain.constant([[1, -1]]), chain.constant([0.5]), transB=1)


@pytest.mark.slow
def test_damaged_files(boolshap):
    """A file truncated anywhere is refused; with changed bytes it may have another meaning, but must not cause a
    crash."""
    rng = np.random.default_rng(7)
    content = small(rng).model().SerializeToString()
    path = boolshap.folder / "m.onnx"
    for length in range(len(content)):
        path.write_bytes(content[:length])
        assert "m.onnx" in boolshap.fails("import", "m.onnx", "-o", "m.json")
    assert not (boolshap.folder / "m.json").exists()
    refused = 0
    for _ in range(300):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), rng.integers(1, 4)):
            damaged[place] = rng.integers(0, 256)
        path.write_bytes(damaged)
        with boolshap.start("import", "m.onnx", "-o", "m.json", stdout=-3, stderr=-1) as done:
            said = done.communicate()[1]
        assert done.returncode in (0, 1) and "panicked" not in said, said
        refused += done.returncode
    assert refused > 100
