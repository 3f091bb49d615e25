"""Stacks of dense layers: what a network of another library becomes, and layers as arrays.

A network becomes a list of steps: dense layers, batch normalisations, signs, and functions that keep signs or the order
of scores. The library folds them into gates, or says which step has no exact counterpart. Parameters are taken as the
exact numbers they are, and sums of them are exact, where floats would round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ._types import Bits, Floats
from .errors import InputError


@dataclass(frozen=True)
class Dense:
    """Sums: weights (outputs, inputs) and bias."""

    name: str
    weights: Floats
    bias: Floats


@dataclass(frozen=True)
class Norm:
    """Batch normalisation as it is after training."""

    name: str
    gamma: Floats
    beta: Floats
    mean: Floats
    variance: Floats
    epsilon: float

    def gives(self, before: Floats, after: Floats) -> bool:
        """Whether it turns `before` into `after`, up to rounding."""
        factor = self.gamma / np.sqrt(self.variance + self.epsilon)
        scale = np.abs(factor) * (np.abs(before) + np.abs(self.mean)) + np.abs(self.beta) + 1
        return close(after, factor * (before - self.mean) + self.beta, scale)


@dataclass(frozen=True)
class Sign:
    """+1 above 0 and -1 below; `at_zero` is 1, -1 or 0, or None if it was not seen."""

    name: str
    at_zero: int | None = 1


@dataclass(frozen=True)
class Function:
    """A function that keeps signs, such as Hardtanh, which score is largest, such as softmax, or both, such as tanh."""

    name: str
    keeps_signs: bool
    keeps_order: bool
    #: What it computes, if that is known: relu, tanh, sigmoid, "leaky SLOPE", "clip LOW HIGH".
    real: str | None = None


Step: TypeAlias = "Dense | Norm | Sign | Function"


@dataclass(frozen=True)
class Stack:
    """A network as steps, and some of its own answers."""

    steps: list[Step]
    #: How a bit enters the network: "signs" or "bits".
    inputs: str
    #: Inputs and the classes that the network itself gives them; empty for arrays.
    seen: tuple[Bits, npt.NDArray[np.int64]] | None = None


#: Types whose numbers 64-bit floats hold exactly; integers only up to 2^53 in size.
_EXACT = {"bool", "float32", "float64", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}


def numbers(value: Any, where: str, dimensions: int | None = None) -> Floats:
    """The numbers of an array or tensor as float64, unchanged."""
    if hasattr(value, "detach"):
        kind = str(value.dtype).removeprefix("torch.")
        # Through a list, because torch may have been built for another version of numpy.
        array = np.array(value.detach().cpu().tolist() if kind in _EXACT else None)
    else:
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise InputError(f"{where}: not an array of numbers: {error}") from error
        kind = str(array.dtype)
    if kind not in _EXACT:
        advice = ", in which sums round" if kind in ("float16", "bfloat16") else ""
        raise InputError(f"{where}: numbers of type {kind}{advice}: give float32 or float64")
    exact = np.asarray(array, dtype=np.float64, order="C")
    if array.dtype.kind in "iu" and not np.array_equal(exact.astype(array.dtype), array):
        raise InputError(f"{where}: whole numbers beyond 2^53 are not exact as floats")
    if dimensions is not None and exact.ndim != dimensions:
        raise InputError(f"{where}: an array of {dimensions} dimensions is needed, not one of shape {exact.shape}")
    if not np.isfinite(exact).all():
        raise InputError(f"{where}: {exact[~np.isfinite(exact)].flat[0]} is not a finite number")
    return exact


def close(found: Floats, expected: Floats, scale: Floats | float) -> bool:
    """Equal up to the rounding of float32: any other difference would be much larger."""
    return found.shape == expected.shape and bool((np.abs(found - expected) <= 1e-5 * scale + 1e-6).all())


def of_arrays(source: Sequence[Any] | Mapping[str, Any], inputs: str | None) -> Stack:
    """Layers as arrays: a list of (weights, bias) or (weights, bias, norm) or of dicts, or a dict of them by name."""
    named = list(source.items()) if isinstance(source, Mapping) else [(None, layer) for layer in source]
    if any(isinstance(name, str) and name.endswith((".weight", "_weight")) for name, _ in named):
        raise InputError(
            "a dict of parameters does not say in which order they are used: give the module itself, its file in "
            "safetensors, or a list of layers [(weights, bias), ...]"
        )
    steps: list[Step] = []
    for number, (name, layer) in enumerate(named, 1):
        if steps:
            # Between layers given as arrays there is always a sign.
            steps.append(Sign(f"sign after layer {number - 1}"))
        steps += _array_steps(str(name) if name is not None else f"layer {number}", layer)
    return Stack(steps, inputs or "signs")


def _array_steps(name: str, layer: Any) -> Iterator[Step]:
    if isinstance(layer, Mapping):
        unknown = sorted(set(layer) - {"name", "weights", "bias", "norm"})
        if unknown or "weights" not in layer:
            wrong = f"has the unknown key {unknown[0]!r}" if unknown else "has no weights"
            raise InputError(f"{name} {wrong}: a layer is a dict of weights, and perhaps bias, norm and name")
        name = str(layer.get("name", name))
        parts = (layer["weights"], layer.get("bias"), layer.get("norm"))
    elif isinstance(layer, (tuple, list)) and 1 <= len(layer) <= 3:
        parts = (*layer, None, None)[:3]
    else:
        raise InputError(f"{name}: a layer is (weights, bias) or a dict of arrays, in a list: [(weights, bias), ...]")
    weights, bias, norm = parts
    weights = numbers(weights, f"{name}: weights", 2)
    yield Dense(name, weights, np.zeros(len(weights)) if bias is None else numbers(bias, f"{name}: bias", 1))
    if norm is not None:
        keys = ("gamma", "beta", "mean", "variance", "epsilon")
        values = [norm.get(key) for key in keys] if isinstance(norm, Mapping) else list(norm)
        if len(values) != len(keys) or (isinstance(norm, Mapping) and not set(norm) <= set(keys)):
            raise InputError(f"{name}: a norm is gamma, beta, mean, variance and epsilon")
        yield norm_of(name, len(weights), values)


def norm_of(name: str, units: int, values: Sequence[Any]) -> Norm:
    """Gamma and beta may be missing; everything else is needed."""
    gamma, beta, mean, variance, epsilon = values
    for what, value in (("mean", mean), ("variance", variance), ("epsilon", epsilon)):
        if value is None:
            raise InputError(f"{name}: the batch normalisation has no {what}")
    return Norm(
        name,
        np.ones(units) if gamma is None else numbers(gamma, f"{name}: gamma", 1),
        np.zeros(units) if beta is None else numbers(beta, f"{name}: beta", 1),
        numbers(mean, f"{name}: mean", 1),
        numbers(variance, f"{name}: variance", 1),
        float(numbers(epsilon, f"{name}: epsilon", 0)),
    )
