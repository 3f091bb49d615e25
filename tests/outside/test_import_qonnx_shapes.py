"""Networks shaped like public QONNX files: an intrusion detector with hundreds of bipolar inputs, a jet tagger with
fixed-point numbers, and files that are refused with the name of the node."""

import numpy as np
import pytest
from test_import_onnx import QONNX, Chain
from test_import_qonnx import agrees, is_best, outputs, predictions, quant


@pytest.mark.slow
@pytest.mark.parametrize("annotated", [False, True])
def test_an_intrusion_detector(boolshap, annotated):
    """Two-bit weights and activations, batch normalisation, one bipolar output; inputs quantised, or declared as -1 and
    +1."""
    rng = np.random.default_rng(int(annotated))
    width = 600 if annotated else 593
    chain = Chain(1, width)
    if annotated:
        chain.then("Add", chain.constant([1.0])).then("Div", chain.constant([2.0]))
    else:
        chain.then("BipolarQuant", chain.constant(1), domain=QONNX)
    before = width
    for _ in range(3):
        weights = quant(chain, 2, 0.5, of=rng.normal(size=(32, before)) * 0.5, narrow=1)
        chain.matrix(chain.beside("Transpose", weights, perm=[1, 0]))
        if annotated:
            chain.then("Add", chain.constant(rng.normal(size=32)))
        chain.norm(rng, 32, epsilon=1e-5).then("Relu")
        quant(chain, 2, 0.7, signed=0)
        before = 32
    latent = rng.normal(size=(1, 32)) * 0.5
    chain.matrix(chain.beside("Transpose", quant(chain, 2, 0.5, of=latent, narrow=1), perm=[1, 0]))
    rows = rng.choice([-1, 1], (1000, width)).astype(np.float32)
    # The threshold is the median output, so that both labels occur.
    middle = float(np.median(outputs(chain.model(), rows[:200])))
    chain.then("Sub", chain.constant([np.float32(middle) + 0.01]))
    chain.then("BipolarQuant", chain.constant(1), domain=QONNX)
    model = chain.model()
    if annotated:
        note = model.graph.quantization_annotation.add(tensor_name="x")
        note.quant_parameter_tensor_names.add(key="finn_datatype", value="BIPOLAR")
    (boolshap.folder / "m.onnx").write_bytes(model.SerializeToString())
    found = predictions(boolshap, (rows > 0).astype(np.float32) if annotated else rows)
    is_best(found, outputs(model, rows))
    assert set(found.tolist()) == {0, 1}


def jet_tagger(rng, bits, widths=(16, 8), inputs=16):
    """Six-bit weights and biases, ReLU, activations rounded down, Softmax."""
    chain, before = Chain(1, inputs), inputs
    if bits:
        quant(chain, bits, 0.25)
    for width in widths:
        chain.matrix(quant(chain, 6, 2.0**-5, of=rng.normal(size=(before, width)) * 0.4))
        chain.then("Add", quant(chain, 6, 2.0**-5, of=rng.normal(size=width) * 0.2)).then("Relu")
        quant(chain, 6, 2.0**-3, signed=0, mode="FLOOR")
        before = width
    chain.matrix(quant(chain, 6, 2.0**-5, of=rng.normal(size=(before, 5)) * 0.4))
    return chain.then("Add", quant(chain, 6, 2.0**-5, of=rng.normal(size=5) * 0.2)).then("Softmax", axis=-1)


@pytest.mark.slow
def test_a_jet_tagger(boolshap):
    rng = np.random.default_rng(6)
    assert agrees(boolshap, jet_tagger(rng, 3), rng.normal(size=(1000, 16)).astype(np.float32)) > 2


@pytest.mark.slow
@pytest.mark.parametrize("bits, words", [
    (0, "MatMul1: the inputs reach this layer as real numbers"), (16, "node Quant0 (Quant): the inputs take more than 256 levels"),
    (8, "MatMul8: the gates up to here would have more than 16777216 weights"),
])  # fmt: skip
def test_what_would_be_too_many_levels_is_said(boolshap, bits, words):
    chain = jet_tagger(np.random.default_rng(6), bits, widths=(96, 32, 32))
    (boolshap.folder / "m.onnx").write_bytes(chain.model().SerializeToString())
    assert words in boolshap.fails("import", "m.onnx", "-o", "m.json")


def test_a_skip_connection_is_refused_by_name(boolshap):
    rng = np.random.default_rng(0)
    chain = Chain(1, 8)
    chain.then("BipolarQuant", chain.constant(1), domain=QONNX)
    first = chain.at
    chain.matrix(chain.quantised(rng.normal(size=(8, 8)))).then("BipolarQuant", chain.constant(1), domain=QONNX)
    chain.then("Add", first).matrix(chain.quantised(rng.normal(size=(8, 3))))
    (boolshap.folder / "m.onnx").write_bytes(chain.model().SerializeToString())
    said = boolshap.fails("import", "m.onnx", "-o", "m.json")
    assert f"node Add4 (Add): reads {first} a second time" in said
