"""Stacks of dense layers: what a network of another library becomes, and layers as arrays.

A network becomes a list of steps: dense layers, batch normalisations, signs, and functions that keep signs or the order
of scores. `fold` turns steps into what the library takes, or says which step has no exact counterpart.

The sign of 0. Larq says +1, `torch.sign` and `tf.sign` say 0. +1 is what the library takes; -1 is the sign with +1 of
the negated sum, negated. A sign that gives 0, or that was not seen at 0, is taken only if no choice of its layer's
inputs adds up to 0, which is a subset sum and decided exactly.

Parameters are taken as the exact numbers they are, and sums of them are exact, where floats would round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ._types import Bits, Floats, Layer
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
        """Whether this is what it makes of some numbers, up to rounding."""
        factor = self.gamma / np.sqrt(self.variance + self.epsilon)
        scale = np.abs(factor) * (np.abs(before) + np.abs(self.mean)) + np.abs(self.beta) + 1
        return close(after, factor * (before - self.mean) + self.beta, scale)


@dataclass(frozen=True)
class Sign:
    """+1 above 0 and -1 below; `at_zero` is 1, -1 or 0, or None if it was not seen."""

    name: str
    at_zero: int | None = 1


@dataclass(frozen=True)
class Squash:
    """A function that keeps signs, such as Hardtanh; `strict` if it also keeps what is larger, as tanh does."""

    name: str
    strict: bool


@dataclass(frozen=True)
class Order:
    """A function that keeps which score is largest, and for one score whether it is at least 0: softmax, sigmoid."""

    name: str


Step: TypeAlias = "Dense | Norm | Sign | Squash | Order"


@dataclass(frozen=True)
class Stack:
    """A network as layers, and some of its own answers."""

    layers: list[Layer]
    #: How a bit enters the first layer: "signs" or "bits".
    inputs: str
    #: Inputs and the classes that the network itself gives them; empty for arrays.
    seen: tuple[Bits, npt.NDArray[np.int64]] | None = None


#: Types whose numbers are floats of 64 bits, up to 2^53 in size if they are whole.
_EXACT = {"bool", "float32", "float64", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}


def numbers(value: Any, where: str, dimensions: int | None = None) -> Floats:
    """The numbers of an array or tensor as float64, unchanged."""
    if hasattr(value, "detach"):
        kind = str(value.dtype).removeprefix("torch.")
        # By way of a list, as torch may have been built for another version of numpy.
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
    """Equal up to the rounding of float32: what else there could be is far off."""
    return found.shape == expected.shape and bool((np.abs(found - expected) <= 1e-5 * scale + 1e-6).all())


def fold(steps: Sequence[Step], inputs: str) -> tuple[list[Layer], str]:
    """The layers of a network, and how bits enter the first of them."""
    blocks: list[tuple[Dense, Norm | None, list[Step]]] = []
    for step in steps:
        if isinstance(step, Dense):
            blocks.append((step, None, []))
        elif not blocks:
            inputs = _before_layers(step, inputs)
        elif isinstance(step, Norm):
            dense, norm, after = blocks[-1]
            if norm is not None or after:
                before = after[-1].name if after else norm.name if norm else ""
                raise InputError(f"{step.name}: a batch normalisation follows a dense layer, not {before}")
            blocks[-1] = (dense, step, after)
        else:
            blocks[-1][2].append(step)
    if not blocks:
        raise InputError("there is no dense layer")
    layers: list[Layer] = []
    negated = False
    for number, (dense, norm, after) in enumerate(blocks):
        if negated:
            dense = replace(dense, weights=-dense.weights)
        bits = inputs == "bits" and number == 0
        if number + 1 < len(blocks):
            sign = _sign_between(dense, after, blocks[number + 1][0])
            negated = _settle(sign, dense, norm, bits)
            layers.append(_layer(dense, norm, negated))
        else:
            layers.append(_output(dense, norm, after, bits))
    return layers, inputs


def _before_layers(step: Step, inputs: str) -> str:
    """Signs leave +1 and -1 as they are, and may turn bits into signs."""
    if isinstance(step, Sign) and (inputs == "signs" or step.at_zero == 0):
        return inputs
    if isinstance(step, Sign) and step.at_zero == -1:
        return "signs"
    if isinstance(step, Sign):
        makes = "makes +1 of both 0 and 1" if step.at_zero else "was not seen at 0"
        raise InputError(f"{step.name}: this sign of the inputs {makes}; should bits enter as inputs='signs'?")
    raise InputError(f"{step.name}: this is before the first dense layer, where only bits or signs can be")


def _sign_between(dense: Dense, after: list[Step], following: Dense) -> Sign:
    """The first sign after a layer; before it may come functions that keep signs, after it further signs."""
    sign: Sign | None = None
    for step in after:
        if sign is None and isinstance(step, Sign):
            sign = step
        elif not isinstance(step, Sign if sign else Squash):
            raise InputError(f"{step.name}: between {dense.name} and {following.name} there may be a sign only")
    if sign is None:
        found = f" but {after[0].name}" if after else ""
        raise InputError(f"between {dense.name} and {following.name} there is no sign{found}: no Boolean function")
    return sign


def _settle(sign: Sign, dense: Dense, norm: Norm | None, bits: bool) -> bool:
    """Whether the layer must be negated for its sign to give -1 at 0; an error if 0 has no place in the network."""
    if sign.at_zero == 1:
        return False
    if sign.at_zero == -1:
        return True
    for unit in range(len(dense.bias)):
        reached = reaches_zero(dense, norm, unit, bits)
        if reached is not False:
            gives = "gives 0 at 0" if sign.at_zero == 0 else "was not seen at 0"
            what = "may add up" if reached else "is too wide to tell whether it adds up"
            raise InputError(
                f"{sign.name}: this sign {gives}, and unit {unit + 1} of {dense.name} {what} to 0 exactly; "
                "a bit needs +1 or -1 there"
            )
    return False


def _layer(dense: Dense, norm: Norm | None, negated: bool) -> Layer:
    if norm is None:
        sign = -1.0 if negated else 1.0
        return dense.name, sign * dense.weights, sign * dense.bias, None
    gamma, beta = (-norm.gamma, -norm.beta) if negated else (norm.gamma, norm.beta)
    return dense.name, dense.weights, dense.bias, (gamma, beta, norm.mean, norm.variance, norm.epsilon)


def _output(dense: Dense, norm: Norm | None, after: list[Step], bits: bool) -> Layer:
    """The last layer: a score that is at least 0 or not, or the largest of several."""
    several = len(dense.bias) > 1
    for step in after:
        if several and (isinstance(step, Sign) or (isinstance(step, Squash) and not step.strict)):
            raise InputError(f"{step.name}: at the end of {len(dense.bias)} units this makes ties of different scores")
        if not several and isinstance(step, Order) and "softmax" in step.name.lower():
            raise InputError(f"{step.name}: of a single unit this is 1 whatever the score")
    for position, step in enumerate(after):
        if isinstance(step, Sign):
            if any(isinstance(before, Order) for before in after[:position]):
                raise InputError(f"{step.name}: the sign of what {after[position - 1].name} gives")
            if step.at_zero == -1 and norm is None:
                # The answer is 1 above 0 only: a tie with a score of 0 goes to the first.
                weights = np.concatenate([np.zeros_like(dense.weights), dense.weights])
                return dense.name, weights, np.concatenate([np.zeros(1), dense.bias]), None
            _settle(replace(step, at_zero=None) if step.at_zero == -1 else step, dense, norm, bits)
            break
    return _layer(dense, norm, False)


def reaches_zero(dense: Dense, norm: Norm | None, unit: int, bits: bool) -> bool | None:
    """Whether a unit is 0 for some choice of its inputs' signs (or bits); None if that is too much to try."""
    weights = [Fraction(weight) for weight in dense.weights[unit].tolist() if weight]
    target: Fraction | None = Fraction(0)
    if norm is not None:
        gamma, beta = Fraction(float(norm.gamma[unit])), Fraction(float(norm.beta[unit]))
        if not gamma:
            return not beta
        # gamma (z - mean) / sqrt(v) + beta is 0 at one z, which is rational only if beta is 0 or v is a square.
        root = _root(Fraction(float(norm.variance[unit])) + Fraction(norm.epsilon)) if beta else Fraction(0)
        target = None if root is None else Fraction(float(norm.mean[unit])) - beta * root / gamma
    if target is None:
        return False
    target -= Fraction(float(dense.bias[unit]))
    if bits:
        target = 2 * target - sum(weights)
    scale = math.lcm(target.denominator, *(weight.denominator for weight in weights))
    return _signed_sum([int(abs(weight) * scale) for weight in weights], int(target * scale))


#: The most different sums of one half of a unit's weights.
_MAX_SUMS = 1 << 18


def _signed_sum(weights: list[int], target: int) -> bool | None:
    """Whether the weights, each with some sign, add up to the target."""
    total, step = sum(weights), math.gcd(*weights)
    if abs(target) > total or not weights:
        return target == 0
    if (target - total) % (2 * step):
        return False
    if set(weights) == {step}:
        return True
    halves: list[set[int]] = []
    for half in (weights[::2], weights[1::2]):
        sums = {0}
        for weight in half:
            sums = {sum_ + weight for sum_ in sums} | {sum_ - weight for sum_ in sums}
            if len(sums) > _MAX_SUMS:
                return None
        halves.append(sums)
    return any(target - sum_ in halves[1] for sum_ in halves[0])


def _root(square: Fraction) -> Fraction | None:
    if square < 0:
        return None
    above, below = math.isqrt(square.numerator), math.isqrt(square.denominator)
    exact = above * above == square.numerator and below * below == square.denominator
    return Fraction(above, below) if exact else None


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
            # The library's own sign.
            steps.append(Sign(f"sign after layer {number - 1}"))
        steps += _array_steps(str(name) if name is not None else f"layer {number}", layer)
    layers, inputs = fold(steps, inputs or "signs")
    return Stack(layers, inputs)


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
    """Gamma and beta may be missing; all else is needed."""
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
