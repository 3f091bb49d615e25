"""Circuits of Keras and Larq models agree with `model.predict` on every input."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import all_inputs

import boolshap
from boolshap.errors import InputError

# Keras 3 runs on several libraries; use the one that is installed.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow" if importlib.util.find_spec("tensorflow") else "jax")
keras = pytest.importorskip("keras", reason="Keras is not installed; test_sources.py looks for it elsewhere")
layers = keras.layers


def larq() -> Any:
    return pytest.importorskip("larq", reason="Larq is not installed")


def sign(x: Any) -> Any:
    """The sign of Keras 2 and 3: 0 at 0."""
    if hasattr(keras, "ops"):
        return keras.ops.sign(x)
    return keras.backend.sign(x)


def at_least_0(x: Any) -> Any:
    """+1 from 0 upwards."""
    return sign(sign(x) + 0.5)


def above_0(x: Any) -> Any:
    """+1 above 0 only."""
    return sign(sign(x) - 0.5)


def built(*parts: Any, features: int = 7, shape: tuple[int, ...] | None = None, seed: int = 0) -> Any:
    """A model with random numbers everywhere, as after training."""
    model = keras.Sequential([layers.InputLayer(shape or (features,)), *parts])
    return settled(model, seed)


def settled(model: Any, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    for layer in model.layers:
        weights = []
        for weight in layer.weights:
            values = random.normal(size=tuple(weight.shape))
            weights.append(np.abs(values) + 0.5 if "variance" in weight.name else values)
        layer.set_weights(weights)
    return model


def answers(model: Any, bits: Any, inputs: str, threshold: float) -> Any:
    shape = (len(bits), *model.input_shape[1:])
    result = model.predict((bits * 2.0 - 1.0 if inputs == "signs" else bits * 1.0).reshape(shape), verbose=0)
    return result.argmax(axis=1) if result.shape[1] > 1 else result[:, 0] >= threshold


def agree(model: Any, features: int = 7, inputs: str | None = None, threshold: float = 0) -> None:
    circuit = boolshap.compile(model, inputs=inputs, verify=True)
    bits = all_inputs(features)
    expected = answers(model, bits, inputs or "signs", threshold)
    assert len(np.unique(expected)) > 1, "a model that says the same to all tests nothing"
    assert np.array_equal(circuit.predict(bits), expected)


@pytest.mark.parametrize("inputs", ["signs", "bits"])
@pytest.mark.parametrize("activation", [at_least_0, above_0, sign])
def test_dense_layers(activation: Callable[[Any], Any], inputs: str) -> None:
    """With real weights no sum is 0, so every definition of the sign agrees."""
    agree(built(layers.Dense(5, activation=activation), layers.Dense(3), seed=1), inputs=inputs)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("ending, threshold", [("sigmoid", 0.5), ("linear", 0), ("tanh", 0)])
def test_batch_normalisation(scale: bool, ending: str, threshold: float) -> None:
    model = built(
        layers.Dense(6, use_bias=False),
        layers.BatchNormalization(scale=scale, center=scale, epsilon=0.01),
        layers.Activation("tanh"),
        layers.Dropout(0.3),
        layers.Activation(at_least_0),
        layers.Dense(1, activation=ending),
        seed=2,
    )
    agree(model, threshold=threshold)


@pytest.mark.parametrize("activation", [at_least_0, above_0])
def test_ties(activation: Callable[[Any], Any]) -> None:
    """With integer weights and no bias, sums are often 0."""
    model = built(
        layers.Dense(7, activation=activation, use_bias=False),
        layers.Dense(4, activation=activation, use_bias=False),
        layers.Dense(3, activation="softmax", use_bias=False),
        features=6,
        seed=4,
    )
    for layer in model.layers:
        layer.set_weights([np.sign(kernel) for kernel in layer.get_weights()])
    agree(model, 6)


def test_inputs_of_several_dimensions_and_models_within() -> None:
    inner = built(layers.Dense(4, activation=at_least_0), features=6, seed=5)
    agree(settled(keras.Sequential([layers.InputLayer((3, 2)), layers.Flatten(), inner, layers.Dense(2)]), 6), 6)


def test_a_functional_model_and_names() -> None:
    start = keras.Input((6,))
    end = layers.Dense(3, activation="softmax")(layers.Dense(4, activation=at_least_0)(start))
    model = settled(keras.Model(start, end), 7)
    agree(model, 6)
    circuit = boolshap.compile(model, features=list("abcdef"), classes=["x", "y", "z"])
    assert (circuit.features, circuit.classes) == (list("abcdef"), ["x", "y", "z"])


@pytest.mark.filterwarnings("ignore:You are using a softmax over axis -1")
def test_refusals() -> None:
    dense = layers.Dense
    start = keras.Input((6,))
    hidden = dense(6, activation=at_least_0)(start)
    around = settled(keras.Model(start, dense(1)(layers.Add()([hidden, start]))))
    cases = [
        (built(dense(4, activation="relu"), dense(1)), "takes a bit as 0 and 1 or as -1"),
        (built(dense(4), layers.ReLU(), dense(1)), "takes a bit as 0 and 1 or as -1"),
        (built(dense(4), dense(1)), "takes a bit as 0 and 1 or as -1"),
        (built(dense(4, activation="tanh"), dense(1)), "takes a bit as 0 and 1 or as -1"),
        (built(dense(4, activation="softmax"), dense(1)), "activation softmax: between layers of real weights"),
        (built(dense(4, activation=at_least_0), layers.BatchNormalization(), dense(1)), "normalisation follows"),
        (built(dense(3), layers.BatchNormalization()), "batch normalisation after the scores"),
        (built(dense(4), layers.LayerNormalization(), dense(1)), r"\(LayerNormalization\): not a known layer"),
        (built(layers.Conv1D(2, 2), layers.Flatten(), dense(1), shape=(4, 2)), r"\(Conv1D\): not a known layer"),
        (built(dense(1), shape=(4, 2)), r"\(Dense\): its inputs have 2 dimensions and not 1: put Flatten first"),
        (built(dense(1, activation="softmax")), "of a single unit this is 1"),
        (built(layers.ReLU()), "there is no Dense layer"),
        (keras.Sequential([dense(1)]), r"dense\w* \(Dense\): it is not built"),
        (built(dense(4, dtype="mixed_float16")), "numbers of type float16, in which sums round"),
        (around, r"does not run|\(Add\)|not that of its layers"),
    ]
    for model, message in cases:
        with pytest.raises(InputError, match=message):
            boolshap.compile(model)
    model = built(dense(5, activation=sign), dense(1))
    model.layers[0].set_weights([np.sign(model.layers[0].get_weights()[0]), np.full(5, 1.0)])
    with pytest.raises(InputError, match=r"activation sign: this sign gives 0 at 0, and unit 1 of .* may add up to 0"):
        boolshap.compile(model)
    model.layers[0].set_weights([np.sign(model.layers[0].get_weights()[0]), np.full(5, 2.0)])
    agree(model)


@pytest.mark.parametrize("classes", [1, 3, 10])
def test_larq_networks(classes: int) -> None:
    quant = larq().layers.QuantDense
    binary = {"kernel_quantizer": "ste_sign", "kernel_constraint": "weight_clip", "use_bias": False}
    model = built(
        quant(9, **binary),
        layers.BatchNormalization(scale=False),
        quant(8, input_quantizer="ste_sign", **binary),
        layers.BatchNormalization(),
        layers.Activation("ste_sign"),
        quant(classes, input_quantizer="ste_sign", **binary),
        layers.Activation("softmax" if classes > 1 else "sigmoid"),
        features=8,
        seed=8,
    )
    agree(model, 8, threshold=0.5)


def test_larq_ties_and_zeros() -> None:
    """Larq's sign of 0 is +1, in sums and in weights."""
    quant = larq().layers.QuantDense
    binary = {"input_quantizer": "ste_sign", "kernel_quantizer": "ste_sign", "use_bias": False}
    model = built(quant(8, **binary), quant(6, **binary), quant(2, **binary), features=8, seed=9)
    kernel = model.layers[0].get_weights()[0]
    kernel[::3, ::2] = 0
    model.layers[0].set_weights([kernel])
    agree(model, 8)


def test_larq_quantizers_that_are_no_signs() -> None:
    quant = larq().layers.QuantDense
    # Signs scaled by a magnitude per unit are treated as ordinary real weights.
    agree(built(quant(6, kernel_quantizer="magnitude_aware_sign"), layers.Activation("ste_sign"), quant(2), seed=3))
    for name in ("ste_tern", "ste_heaviside", "dorefa_quantizer"):
        model = built(quant(6, kernel_quantizer="ste_sign"), quant(1, input_quantizer=name))
        with pytest.raises(InputError, match=r"quant_dense\w* \(QuantDense\): input_quantizer \w+: this is not a sign"):
            boolshap.compile(model)
