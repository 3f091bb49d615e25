"""Finds out what the parts of a network do by evaluating them, for libraries that are not imported.

An activation is evaluated on a few numbers; a sum, a sign and an ending that keeps the order of scores are recognised
by their results. At the end the answers of a network and of its conversion are compared on the same inputs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._functions import inputs_from
from ._layers import close, Function, Sign, Stack, Step
from ._types import Bits, Floats
from .errors import InputError

_PROBES = np.array([-100, -10, -2, -1.5, -1, -0.75, -0.5, -0.1, -0.001, 0.001, 0.1, 0.5, 0.75, 1, 1.5, 2, 10, 100])
ORDERS = ("softmax", "logsoftmax", "log_softmax", "sigmoid")


def order(name: str, kind: str = "") -> Function:
    """A function that keeps which score is largest, and for one score whether it is at least 0."""
    real = "sigmoid" if kind.lower() == "sigmoid" else None
    return Function(name, keeps_signs=False, keeps_order=True, real=real)


def activation_steps(name: str, function: Callable[[Floats], Floats], before: Floats, after: Floats) -> list[Step]:
    """An activation as a step, recognised by its results on some numbers and on the network's own."""
    probes = np.concatenate([_PROBES, [0.0]])
    values = function(probes[None, :])
    if values.size != probes.size:
        raise InputError(f"{name}: of {probes.size} numbers it makes {values.size}")
    values = values.reshape(-1)
    if np.array_equal(values.astype(np.float32), probes.astype(np.float32)) and np.array_equal(before, after):
        return []
    sign = as_sign(name, probes, values)
    if sign is not None and as_sign(name, before, after) is not None:
        return [sign]
    real = known_function(probes, values)
    if real is not None and known_function(before, after) is None:
        raise InputError(f"{name}: of the network's own numbers it makes something else than of others")
    near = np.abs(_PROBES) <= 2
    keeps = all(np.array_equal(np.sign(old), np.sign(new)) for old, new in ((probes, values), (before, after)))
    if keeps and (np.diff(values[:-1]) >= 0).all():
        return [Function(name, True, bool((np.diff(values[:-1][near]) > 0).all()), real)]
    if real is not None:
        return [Function(name, keeps_signs=False, keeps_order=real == "sigmoid", real=real)]
    raise InputError(f"{name}: this is not a sign: it makes {values[12]:g} of 0.75 and {values[5]:g} of -0.75")


def known_function(before: Floats, after: Floats) -> str | None:
    """The name of this function of single numbers, if networks of real weights may have it."""
    if before.shape != after.shape:
        return None
    with np.errstate(over="ignore"):
        known = {"relu": np.maximum(before, 0), "tanh": np.tanh(before), "sigmoid": 1 / (1 + np.exp(-before))}
    for name, values in known.items():
        if close(after, values, np.abs(values)):
            return name
    below = before < -0.01
    if not below.any():
        return None
    # The library's own slope, which is a 32-bit number in most libraries.
    at_one = -after[before == -1]
    slope = float(at_one[0]) if at_one.size else float(np.median(after[below] / before[below]))
    if 0 < slope < 0.999 and close(after, np.where(before < 0, slope * before, before), np.abs(before)):
        return "leaky {}/{}".format(*slope.as_integer_ratio())
    return None


def as_sign(name: str, before: Floats, after: Floats) -> Sign | None:
    """The step from some numbers to their signs, if this is one."""
    zero = before == 0
    if before.shape != after.shape or not np.array_equal(after[~zero], np.sign(before[~zero])):
        return None
    at_zero = np.unique(after[zero])
    if not np.isin(at_zero, (-1, 0, 1)).all():
        return None
    return Sign(name, int(at_zero[0]) if len(at_zero) == 1 else None)


def is_sum(found: Floats, weights: Floats, bias: Floats, values: Floats) -> bool:
    if values.ndim != 2 or values.shape[1] != weights.shape[1]:
        return False
    scale = np.abs(values) @ np.abs(weights.T) + np.abs(bias) + 1
    return close(found, values @ weights.T + bias, scale)


def ending_of(scores: Floats, result: Floats) -> Step | None:
    """The step from scores to the result, if that is a softmax, its logarithm, a sigmoid or a tanh."""
    if result.shape != scores.shape:
        return None
    with np.errstate(divide="ignore", over="ignore"):
        kinds: list[tuple[Step, Floats]] = [
            (Function("tanh", keeps_signs=True, keeps_order=True), np.tanh(scores)),
            (order("sigmoid"), 1 / (1 + np.exp(-scores))),
        ]
        if scores.shape[1] > 1:
            exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
            softmax = exponentials / exponentials.sum(axis=1, keepdims=True)
            kinds += [(order("softmax"), softmax), (order("log_softmax"), np.log(softmax))]
    return next((step for step, values in kinds if close(result, values, np.abs(values))), None)


def some_inputs(features: int) -> Bits:
    """All inputs of few features, else a fixed random thousand, all zeros and all ones."""
    if features <= 10:
        return inputs_from(0, 1 << features, features)
    random = np.random.default_rng(7).integers(0, 2, size=(1024, features), dtype=np.uint8)
    random[0], random[1] = 0, 1
    return random


def entering_as(bits: Bits, inputs: str) -> Floats:
    values = bits.astype(np.float64)
    return 2 * values - 1 if inputs == "signs" else values


def checked_stack(steps: list[Step], inputs: str, bits: Bits, result: Floats) -> Stack:
    if result.shape[1] > 1:
        labels = result.argmax(axis=1)
    else:
        # A sigmoid of 0 is a half.
        is_sigmoid = isinstance(steps[-1], Function) and not steps[-1].keeps_signs
        labels = (result[:, 0] >= (0.5 if is_sigmoid else 0)).astype(np.int64)
    return Stack(steps, inputs, (bits, labels))
