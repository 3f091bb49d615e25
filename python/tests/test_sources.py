"""Circuits from arrays, functions, files and objects, and the steps from layers to networks."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import Network, all_inputs

import boolshap
from boolshap import Circuit, Model
from boolshap._functions import inputs_from
from boolshap._layers import Dense, Norm, Sign
from boolshap.errors import FileError, InputError, LimitError


def majority(X: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    return 2 * X.sum(axis=1) > X.shape[1]


# ---- Arrays ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [1, 2, 3])
@pytest.mark.parametrize("via", ["auto", "truth-table", "partial-sums", "apply", "cnf"])
def test_layers_as_arrays(outputs: int, via: str) -> None:
    network = Network(7, [6, 5], seed=outputs, outputs=outputs)
    circuit = boolshap.compile(network.layers, via=via, verify=True)
    assert np.array_equal(circuit.predict(all_inputs(7)), network.predict(all_inputs(7)))
    assert circuit.classes == (["0", "1", "2"] if outputs == 3 else [])


def test_forms_of_a_layer() -> None:
    (first, bias), (second, _) = Network(5, [4], seed=1).layers
    forms: list[Any] = [
        [(first, bias), (second, None)],
        [(first.astype(np.int8), bias.tolist()), (second.tolist(),)],
        ([first, bias.astype(np.float32)], [second]),
        [{"weights": first, "bias": bias}, {"weights": second, "name": "end"}],
        {"begin": {"weights": first, "bias": bias}, "end": (second,)},
    ]
    expected = [second @ np.where(first @ (2.0 * row - 1) + bias >= 0, 1, -1) >= 0 for row in all_inputs(5)]
    for form in forms:
        assert np.array_equal(boolshap.compile(form).predict(all_inputs(5)), np.array(expected)[:, 0])


def test_batch_normalisation() -> None:
    random = np.random.default_rng(5)
    gamma, beta, mean = random.normal(size=(3, 6))
    variance = random.uniform(0.5, 2, size=6)
    (first, bias), (second, offset) = Network(6, [6], seed=4).layers
    sums = (2.0 * all_inputs(6) - 1) @ first.T + bias
    signs = np.where(gamma * (sums - mean) / np.sqrt(variance + 0.25) + beta >= 0, 1, -1)
    expected = (signs @ second.T + offset)[:, 0] >= 0
    norm = {"gamma": gamma, "beta": beta, "mean": mean, "variance": variance, "epsilon": 0.25}
    for form in (norm, tuple(norm.values())):
        circuit = boolshap.compile([{"weights": first, "bias": bias, "norm": form}, (second, offset)])
        assert np.array_equal(circuit.predict(all_inputs(6)), expected)


def test_inputs_as_bits() -> None:
    weights, bias = np.array([[1.5, -2.0, 0.25, 1.0]]), np.array([-0.5])
    circuit = boolshap.compile([(weights, bias)], inputs="bits")
    assert np.array_equal(circuit.predict(all_inputs(4)), (all_inputs(4) @ weights.T + bias)[:, 0] >= 0)


EYE = np.eye(3)


@pytest.mark.parametrize(
    "source, message",
    [
        ([], "there is no dense layer"),
        ([EYE], "layer 1: a layer is .weights, bias. or a dict"),
        ((EYE, np.zeros(3)), "layer 1: a layer is .weights, bias. or a dict"),
        ([(EYE, np.zeros(2))], "layer 1: bias has 2 values where 3 are expected"),
        ([(EYE, None), (np.eye(2), None)], "layer 2 has weights for 2 inputs where 3 arrive"),
        ([(np.ones(3), None)], r"layer 1: weights: an array of 2 dimensions is needed, not one of shape \(3,\)"),
        ([([[1, 2], [3]], None)], "layer 1: weights: not an array of numbers"),
        ([(EYE.astype(np.float16), None)], "layer 1: weights: numbers of type float16, in which sums round"),
        ([(EYE.astype(complex), None)], "layer 1: weights: numbers of type complex128"),
        ([([["a"]], None)], "layer 1: weights: numbers of type <U1"),
        ([(EYE + np.inf, None)], "layer 1: weights: inf is not a finite number"),
        ([(np.array([[2**53 + 1]]), None)], "whole numbers beyond 2.53"),
        ([(np.zeros((0, 3)), None)], "layer 1 is empty"),
        ([{"weights": EYE, "biases": None}], "layer 1 has the unknown key 'biases'"),
        ([{"bias": EYE}], "layer 1 has no weights"),
        ([{"weights": EYE, "norm": (1, 2)}], "layer 1: a norm is gamma, beta, mean, variance and epsilon"),
        ([{"weights": EYE, "norm": {"mean": [0, 0, 0]}}], "layer 1: the batch normalisation has no variance"),
        ([(EYE[:1], None, (EYE[0], [0], [0], [1], 1))], "layer 1: gamma has 3 values where 1 are expected"),
        ({"fc.weight": EYE, "fc.bias": EYE[0]}, "does not say in which order they are used"),
    ],
    ids=str,
)
def test_refused_arrays(source: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        boolshap.compile(source)


def reaches_zero(dense: Dense, norm: Norm | None, bits: bool) -> bool | None:
    """The library's answer for a sign that gives 0 at 0: whether the unit can be 0, or None if that is too much to
    try."""
    steps = [dense, *([norm] if norm else []), Sign("sign", at_zero=0), Dense("end", np.ones((1, 1)), np.zeros(1))]
    try:
        Model._of_steps(steps, "bits" if bits else "signs", None, None)
    except InputError as error:
        assert "unit 1 of layer" in str(error)
        return None if "too wide to tell" in str(error) else True
    return False


def test_whether_a_unit_can_be_0() -> None:
    """Against all inputs in fractions; few distinct numbers make zeros frequent."""
    random = np.random.default_rng(11)
    reached = 0
    for case in range(600):
        inputs = int(random.integers(1, 6))
        weights = random.choice([-2.0, -1.5, -1.0, 0.0, 0.5, 1.0, 3.0], size=(1, inputs))
        bias = random.choice([-1.0, -0.5, 0.0, 0.25, 2.0], size=1)
        norm = None
        if case % 2:
            gamma, beta = random.choice([-1.0, 0.0, 2.0], size=1), random.choice([-1.0, 0.0, 1.5], size=1)
            mean, variance = random.choice([-1.0, 0.5], size=1), random.choice([0.25, 2.0, 3.75], size=1)
            norm = Norm("norm", gamma, beta, mean, variance, 0.25)
        for bits in (False, True):
            values = all_inputs(inputs) if bits else all_inputs(inputs) * 2.0 - 1.0
            sums = [Fraction(value) for value in (values @ weights[0] + bias[0]).tolist()]
            if norm is not None:
                # Roots of 1/2, 9/4 and 4: the first is irrational, so 0 is reached only without beta.
                root = {0.25: None, 2.0: Fraction(3, 2), 3.75: Fraction(2)}[float(norm.variance[0])]
                scale, shift = Fraction(float(norm.gamma[0])), Fraction(float(norm.beta[0]))
                moved = [scale * (sum_ - Fraction(float(norm.mean[0]))) for sum_ in sums]
                if root is None:
                    expected = any(sum_ == 0 for sum_ in moved) if shift == 0 else False
                else:
                    expected = any(sum_ + shift * root == 0 for sum_ in moved)
            else:
                expected = 0 in sums
            assert reaches_zero(Dense("layer", weights, bias), norm, bits) == expected
            reached += expected
    assert 100 < reached < 1100


def test_whether_a_wide_unit_can_be_0() -> None:
    ones, real = np.ones((1, 1000)), np.random.default_rng(1).normal(size=(1, 60))
    assert reaches_zero(Dense("layer", ones, np.array([4.0])), None, False) is True
    assert reaches_zero(Dense("layer", ones, np.array([3.0])), None, False) is False
    assert reaches_zero(Dense("layer", ones, np.array([1002.0])), None, False) is False
    assert reaches_zero(Dense("layer", real, np.array([1000.0])), None, False) is False
    # The sum of the numbers' last bits is odd, so the numbers cannot add up to 0.
    assert reaches_zero(Dense("layer", real, np.array([0.5])), None, False) is False
    rounded, signs = np.round(real * 2**40) / 2**40, np.where(np.arange(60) % 3, 1, -1)
    narrow, met = rounded[:, :30], rounded[:, :30] @ signs[:30]
    assert reaches_zero(Dense("layer", narrow, -met), None, False) is True
    assert reaches_zero(Dense("layer", narrow, 2**-39 - met), None, False) is False
    assert reaches_zero(Dense("layer", rounded, -rounded @ signs), None, False) is None


# ---- Functions -------------------------------------------------------------------------------------------------------


def test_a_function() -> None:
    circuit = boolshap.compile(majority, features=["rain", "wind", "snow"], verify=True)
    assert circuit.features == ["rain", "wind", "snow"]
    assert circuit.models == 4
    assert np.array_equal(circuit.predict(all_inputs(3)), majority(all_inputs(3).astype(np.int64)))


@pytest.mark.parametrize("features", range(1, 11))
def test_random_functions_of_every_width(features: int) -> None:
    table = np.random.default_rng(features).integers(0, 2, size=1 << features)
    circuit = boolshap.compile(lambda X: table[X @ (1 << np.arange(features))], features=features)
    assert circuit.features == [f"x{number}" for number in range(1, features + 1)]
    assert np.array_equal(circuit.predict(inputs_from(0, 1 << features, features)), table)


@pytest.mark.parametrize(
    "answer",
    [
        lambda X: X.sum(axis=1) % 3,
        lambda X: (X.sum(axis=1) % 3).astype(float),
        lambda X: np.array(["red", "green", "blue"])[X.sum(axis=1) % 3],
        lambda X: np.array(["red", "green", "blue"], dtype=object)[X.sum(axis=1) % 3],
        lambda X: (X.sum(axis=1) % 3).reshape(-1, 1).tolist(),
    ],
)
def test_functions_of_several_classes(answer: Any) -> None:
    names = ["red", "green", "blue"]
    circuit = boolshap.compile(answer, features=5, classes=names, verify=True)
    assert circuit.classes == names
    expected = all_inputs(5).sum(axis=1) % 3
    assert np.array_equal(circuit.predict(all_inputs(5)), expected)
    for class_ in (2, "blue"):
        one = boolshap.compile(answer, features=5, classes=names, class_=class_, verify=True)
        assert np.array_equal(one.predict(all_inputs(5)), expected == 2)


def test_progress(capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[int, int]] = []
    circuit = boolshap.compile(majority, features=18, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(set(seen)) and seen[-1] == (262144, 262144) and seen[0][0] == 4096
    rows = np.random.default_rng(0).integers(0, 2, size=(1000, 18))
    assert np.array_equal(circuit.predict(rows), majority(rows))
    assert capfd.readouterr() == ("", ""), "no bar where there is no terminal"
    boolshap.compile(majority, features=18, progress=True)
    assert capfd.readouterr() == ("", ""), "no bar within the first second"
    boolshap.compile(slow_majority, features=13, progress=True)
    bar = capfd.readouterr().err
    assert "truth table" in bar and "100%" in bar and bar.endswith("\r")
    boolshap.compile(slow_majority, features=13, progress=False)
    assert capfd.readouterr() == ("", "")


def slow_majority(X: Any) -> Any:
    time.sleep(1.1)
    return majority(X)


def test_a_bar_on_a_terminal() -> None:
    pty = pytest.importorskip("pty", reason="this system has no terminals of its own making")
    fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
    here, there = pty.openpty()
    # 24 lines of 80 characters: a terminal without a width shows no progress bar.
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    program = "import boolshap, time; boolshap.compile(lambda X: time.sleep(1.1) or X[:, 0] > 0, features=13)"
    done = subprocess.run([sys.executable, "-c", program], stderr=there, check=True)
    os.close(there)
    assert done.returncode == 0
    assert b"truth table" in os.read(here, 10_000)
    os.close(here)


@pytest.mark.parametrize(
    "function, options, message",
    [
        (majority, {}, "give features=, their names or number"),
        (majority, {"features": 25}, "a function can have 1 to 24 features, not 25"),
        (majority, {"features": 0}, "1 to 24 features, not 0"),
        (majority, {"features": "abc"}, "features is the text 'abc', not a list of names"),
        (majority, {"features": ["a", "b", "a"]}, "features: 'a' is there twice"),
        (majority, {"features": ["a", 2]}, "features: 2 is not a name"),
        (majority, {"features": 3, "classes": ["only"]}, "there are 1 classes, not 2 to 256"),
        (majority, {"features": 3, "via": "cnf"}, "via='cnf' has no meaning for a function"),
        (majority, {"features": 3, "via": "magic"}, "via='magic' has no meaning for a function"),
        (majority, {"features": 3, "inputs": "bits"}, "inputs='bits' has no meaning for a function"),
        (majority, {"features": 3, "inputs": "words"}, "inputs is 'words', neither"),
        (majority, {"features": 3, "class_": 2}, "there is no class 2: the classes are 0, 1"),
        (lambda X: X.mean(axis=1), {"features": 2}, r"gave .*0.5.* for the input 10, .* compare a score"),
        (lambda X: X.sum(axis=1), {"features": 2}, r"gave .*2.* for the input 11, which is neither 0 nor 1"),
        (lambda X: X[:, 0] * np.nan, {"features": 2}, "gave .*nan.* for the input 00"),
        (lambda X: -X[:, 0], {"features": 2}, "gave .*-1.* for the input 10"),
        (lambda X: X, {"features": 2}, r"gave an array of shape \(4, 2\) for 4 inputs; of scores take the largest"),
        (lambda X: 1, {"features": 2}, r"gave an array of shape \(\) for 4 inputs"),
        (lambda X: X[:3, 0], {"features": 2}, r"gave an array of shape \(3,\) for 4 inputs"),
        (lambda X: ["no", "yes"] * 2, {"features": 2}, "gave .*'no'.* for the input 00, which is neither 0 nor 1"),
        (lambda X: ["no", "maybe"], {"features": 1, "classes": ["no", "yes"]}, "gave .*'maybe'.* one of the 2 classes"),
    ],
)
def test_refused_functions(function: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        boolshap.compile(function, **options)


def test_limits_and_errors_of_functions() -> None:
    with pytest.raises(LimitError, match="after 0 seconds 0 of 262144 inputs were done"):
        boolshap.compile(majority, features=18, timeout=0)
    with pytest.raises(LimitError, match="more than the limit of 5"):
        boolshap.compile(majority, features=9, max_nodes=5)

    def broken(X: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        boolshap.compile(broken, features=3)


# ---- Objects and files -----------------------------------------------------------------------------------------------


def test_models_and_circuits(network: Network, circuit: Circuit, tmp_path: Path) -> None:
    model = network.model()
    assert boolshap.compile(circuit) is circuit
    assert np.array_equal(boolshap.compile(model).predict(all_inputs(6)), network.predict(all_inputs(6)))
    model.save(tmp_path / "model.json")
    circuit.save(tmp_path / "circuit.bsc")
    assert boolshap.compile(tmp_path / "model.json") == boolshap.compile(model)
    assert boolshap.compile(str(tmp_path / "circuit.bsc")) == circuit
    with pytest.raises(InputError, match="class_=1 has no meaning for a circuit"):
        boolshap.compile(tmp_path / "circuit.bsc", class_=1)
    with pytest.raises(InputError, match="inputs='bits' has no meaning for a model"):
        boolshap.compile(model, inputs="bits")
    with pytest.raises(LimitError):
        boolshap.compile(model, max_nodes=2, via="apply")


def test_other_names_for_a_model(raw_model: Model) -> None:
    assert boolshap.compile(raw_model).raw_columns == ["age", "sea", "open"]
    assert boolshap.compile(raw_model, features=5).features == raw_model.features
    renamed = boolshap.compile(raw_model, features=list("abcde"))
    assert (renamed.features, renamed.raw_columns) == (list("abcde"), None)
    assert np.array_equal(renamed.predict(all_inputs(5)), raw_model.predict(all_inputs(5)))
    model = Network(5, [4], seed=2, outputs=3).model()
    assert boolshap.compile(model, classes=["x", "y", "z"]).classes == ["x", "y", "z"]
    one = boolshap.compile(model, classes=["x", "y", "z"], class_="y")
    assert np.array_equal(one.predict(all_inputs(5)), model.predict(all_inputs(5)) == 1)


def test_formulas_and_circuits_of_other_programs(tmp_path: Path) -> None:
    formula = tmp_path / "or.cnf"
    formula.write_text("p cnf 3 2\n1 -2 0\n2 3 0\n")
    bits = all_inputs(3).astype(bool)
    expected = (bits[:, 0] | ~bits[:, 1]) & (bits[:, 1] | bits[:, 2])
    for features in (None, 3, ["a", "b", "c"]):
        circuit = boolshap.compile(formula, features=features)
        assert circuit.features == (features if isinstance(features, list) else ["x1", "x2", "x3"])
        assert np.array_equal(circuit.predict(all_inputs(3)), expected)
    decision = tmp_path / "and.nnf"
    decision.write_text("nnf 3 2 2\nL 1\nL -2\nA 2 0 1\n")
    assert boolshap.compile(decision, features=["a", "b"]).models == 1
    d4 = tmp_path / "and.ddnnf"
    d4.write_text("o 1 0\nt 2 0\n1 2 1 -2 0\n")
    assert boolshap.compile(d4, features=3).models == 2
    with pytest.raises(InputError, match="and.ddnnf: features must be given: .*give features=, their names or number"):
        boolshap.compile(d4)
    with pytest.raises(InputError, match="verify compares with a network: .*or.cnf is a formula"):
        boolshap.compile(formula, verify=True)


def safetensors(tensors: dict[str, npt.NDArray[np.float32]]) -> bytes:
    header, content = {}, b""
    for name, tensor in tensors.items():
        offsets = [len(content), len(content) + tensor.nbytes]
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": offsets}
        content += tensor.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content


def test_networks_of_other_programs(tmp_path: Path) -> None:
    network = Network(6, [5], seed=3)
    tensors = {}
    for number, (weights, bias) in enumerate(network.layers, 1):
        tensors[f"fc{number}.weight"] = weights.astype(np.float32)
        tensors[f"fc{number}.bias"] = bias.astype(np.float32)
    path = tmp_path / "net.safetensors"
    path.write_bytes(safetensors(tensors))
    circuit = boolshap.compile(path, features=list("abcdef"), verify=True)
    assert circuit.features == list("abcdef")
    assert np.array_equal(circuit.predict(all_inputs(6)), network.predict(all_inputs(6)))
    tensors["fc1.weight"] *= 0.75
    path.write_bytes(safetensors(tensors))
    with pytest.warns(UserWarning, match="net.safetensors: fc1: the weights are not .-1 and are taken as they are"):
        boolshap.compile(path)


def test_what_is_no_source(tmp_path: Path) -> None:
    for source in (None, 3, object(), Circuit, np.eye(2), {1, 2}):
        with pytest.raises(InputError, match="cannot be compiled: give a model"):
            boolshap.compile(source)
    with pytest.raises(FileError, match="nothing.json: No such file"):
        boolshap.compile(tmp_path / "nothing.json")
    (tmp_path / "text").write_text("hello")
    with pytest.raises((FileError, InputError), match="text"):
        boolshap.compile(tmp_path / "text")
    with pytest.raises((FileError, InputError), match="out_blk"):
        boolshap.compile(tmp_path)


# ---- Environments with other libraries -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "library, variable, default",
    [
        ("torch", "BOOLSHAP_TORCH_PYTHON", "/usr/bin/python3"),
        ("keras", "BOOLSHAP_KERAS_PYTHON", None),
        ("larq", "BOOLSHAP_LARQ_PYTHON", None),
    ],
)
def test_in_an_environment_of_its_own(library: str, variable: str, default: str | None, tmp_path: Path) -> None:
    """Runs the tests of libraries that do not fit into this environment, by the Python that has them."""
    python = os.environ.get(variable, default)
    if python is None:
        pytest.skip(f"{variable} names no Python with {library}")
    file = Path(__file__).with_name("test_sources_torch.py" if library == "torch" else "test_sources_keras.py")
    # Only the package, not other packages installed beside it.
    (tmp_path / "boolshap").symlink_to(Path(boolshap.__file__).parent)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    probe = subprocess.run([python, "-c", f"import pytest, numpy, {library}"], env=environment, capture_output=True)
    if probe.returncode and variable not in os.environ:
        pytest.skip(f"{python} has no {library} with pytest; {variable} may name another Python")
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    print(done.stdout.splitlines()[-1])
