"""Keras and Larq models as stacks of layers, without importing either.

Layers are recognised by the names of their classes, and quantizers and activations by what they do. The model is run
layer by layer, and the result must equal the model's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._layers import Dense, norm_of, numbers, Stack, Step
from ._probing import activation_steps, entering_as, is_sum, order, ORDERS, some_inputs, checked_stack
from ._sklearn import class_names
from ._types import Floats
from .errors import InputError

_KERAS_SILENT = ("Dropout", "Flatten", "GaussianNoise", "GaussianDropout", "Identity", "ActivityRegularization")


def is_keras(source: object) -> bool:
    """Whether this is a model or layer of Keras."""
    return hasattr(source, "get_config") and bool({"Model", "Sequential", "Layer"} & set(class_names(source)))


def of_keras(model: Any, inputs: str | None) -> Stack:
    """A Keras model whose layers follow one another, run layer by layer on some inputs."""
    name = type(model).__name__
    parts = list(_keras_layers(model))
    dense = next((layer for layer in parts if "Dense" in class_names(layer)), None)
    if dense is None:
        raise InputError(f"{name}: there is no Dense layer in it")
    if getattr(dense, "kernel", None) is None:
        raise InputError(f"{dense.name} ({type(dense).__name__}): it is not built, so it has no weights yet")
    shape = getattr(model, "input_shape", None)
    if isinstance(shape, list) or (isinstance(shape, tuple) and any(isinstance(size, tuple) for size in shape)):
        raise InputError(f"{name}: it has several inputs")
    sizes = tuple(shape[1:]) if shape and None not in shape[1:] else (int(dense.kernel.shape[0]),)
    bits = some_inputs(math.prod(sizes))
    inputs = inputs or "signs"
    entering = entering_as(bits, inputs).reshape(len(bits), *sizes)
    steps: list[Step] = []
    value = entering
    for layer in parts:
        left = _keras_call(f"{layer.name} ({type(layer).__name__})", layer, value)
        steps += _keras_steps(layer, value, left)
        value = left
    if not np.array_equal(value, _keras_call(name, model, entering)):
        raise InputError(f"{name}: its output is not that of its layers one after the other")
    return checked_stack(steps, inputs, bits, value)


def _keras_layers(model: Any) -> Iterator[Any]:
    for layer in getattr(model, "layers", [model]):
        if hasattr(layer, "layers"):
            yield from _keras_layers(layer)
        elif "InputLayer" not in class_names(layer):
            yield layer


def _keras_call(where: str, function: Callable[[Any], Any], values: Floats) -> Floats:
    try:
        result = function(values.astype(np.float32))
    except Exception as error:
        raise InputError(f"{where} does not run on inputs of shape {values.shape}: {error}") from error
    return numbers(result, f"{where}: output")


def _keras_steps(layer: Any, before: Floats, after: Floats) -> list[Step]:
    names, kind = class_names(layer), type(layer).__name__
    where = f"{layer.name} ({kind})"
    if {"Dense", "BatchNormalization"} & set(names) and before.ndim != 2:
        raise InputError(f"{where}: its inputs have {before.ndim - 1} dimensions and not 1: put Flatten first")
    if "Dense" in names:
        return _keras_dense(where, layer, before, after)
    if "BatchNormalization" in names:
        learnt = (getattr(layer, what, None) for what in ("gamma", "beta", "moving_mean", "moving_variance"))
        norm = norm_of(where, after.shape[1], [*learnt, layer.epsilon])
        if not norm.gives(before, after):
            raise InputError(f"{where}: its output is not the batch normalisation that its parameters say")
        return [norm]
    if layer.weights:
        raise InputError(f"{where}: not a known layer (parameter {layer.weights[0].name})")
    if set(_KERAS_SILENT) & set(names) and np.array_equal(before.reshape(len(before), -1), after):
        return []
    return _keras_activation(where, getattr(layer, "activation", layer), before, after)


def _keras_dense(where: str, layer: Any, before: Floats, after: Floats) -> list[Step]:
    steps: list[Step] = []
    quantizer = getattr(layer, "input_quantizer", None)
    if quantizer is not None:
        signs = _keras_call(f"{where}: input_quantizer", quantizer, before)
        steps += _keras_activation(f"{where}: input_quantizer", quantizer, before, signs)
        before = signs
    kernel = numbers(layer.kernel, f"{where}: kernel", 2)
    quantizer = getattr(layer, "kernel_quantizer", None)
    if quantizer is not None:
        kernel = _keras_call(f"{where}: kernel_quantizer", quantizer, kernel)
    weights = np.ascontiguousarray(kernel.T)
    bias = np.zeros(len(weights)) if getattr(layer, "bias", None) is None else numbers(layer.bias, f"{where}: bias", 1)
    steps.append(Dense(where, weights, bias))
    if layer.activation is not None and getattr(layer.activation, "__name__", "") != "linear":
        sums = before @ weights.T + bias
        steps += _keras_activation(f"{where}: activation", layer.activation, sums, after)
    elif not is_sum(after, weights, bias, before):
        raise InputError(f"{where}: its output is not kernel times inputs plus bias")
    return steps


def _keras_activation(where: str, function: Any, before: Floats, after: Floats) -> list[Step]:
    name = getattr(function, "__name__", type(function).__name__)
    if name.lower() in ORDERS:
        return [order(f"{where} {name}", name)]
    return activation_steps(f"{where} {name}", lambda values: _keras_call(where, function, values), before, after)
