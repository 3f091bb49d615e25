"""Stacks of dense layers out of arrays, PyTorch modules, and Keras and Larq models.

A network becomes a list of steps: dense layers, batch normalisations, signs, and functions that keep signs or the order
of scores. `fold` turns steps into what the library takes, or says which step has no exact counterpart.

Neither torch nor keras is imported. Layers are recognised by the names of their classes; what has no name of its own is
recognised by what it does. An activation is asked for its values on a few numbers. A PyTorch module runs once on some
inputs while its parts report what goes in and out, which also shows what `forward` does between them: a sign, nothing,
or something that is refused. A Keras model is run layer by layer, and the result must be the model's own. At the end
the answers of the network and of its conversion are compared on the same inputs.

The sign of 0. Larq says +1, `torch.sign` and `tf.sign` say 0. +1 is what the library takes; -1 is the sign with +1 of
the negated sum, negated. A sign that gives 0, or that was not seen at 0, is taken only if no choice of its layer's
inputs adds up to 0, which is a subset sum and decided exactly.

Parameters are taken as the exact numbers they are, and sums of them are exact, where floats would round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ._functions import Bits, inputs_from
from ._sklearn import class_names
from .errors import InputError

if TYPE_CHECKING:
    from ._types import Floats, Layer


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
        return _close(after, factor * (before - self.mean) + self.beta, scale)


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
            raise InputError(f"{where}: no array of numbers: {error}") from error
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
        raise InputError(f"{where}: {exact[~np.isfinite(exact)].flat[0]} is no finite number")
    return exact


# ---- From steps to layers --------------------------------------------------------------------------------------------


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
        _check_shapes(dense, norm, blocks[number - 1][0] if number else None)
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
        told = "makes +1 of both 0 and 1" if step.at_zero else "was not seen at 0"
        raise InputError(f"{step.name}: this sign of the inputs {told}; should bits enter as inputs='signs'?")
    raise InputError(f"{step.name}: this stands before the first dense layer, where only bits or signs can be")


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
    if several and norm is not None:
        raise InputError(
            f"{norm.name}: batch normalisation of scores whose largest is the answer has no exact counterpart; with at "
            "most 24 features compile the network's predict function: lambda X: network(...).argmax(axis=1)"
        )
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


def _check_shapes(dense: Dense, norm: Norm | None, before: Dense | None) -> None:
    outputs, inputs = dense.weights.shape
    if outputs == 0 or inputs == 0:
        raise InputError(f"{dense.name}: weights of shape {dense.weights.shape} are empty")
    if dense.bias.shape != (outputs,):
        raise InputError(f"{dense.name}: a bias of shape {dense.bias.shape} for {outputs} outputs")
    if before is not None and inputs != len(before.bias):
        raise InputError(f"{dense.name}: weights for {inputs} inputs, but {before.name} gives {len(before.bias)}")
    if norm is not None:
        for what in ("gamma", "beta", "mean", "variance"):
            if getattr(norm, what).shape != (outputs,):
                raise InputError(f"{norm.name}: {what} of shape {getattr(norm, what).shape} for {outputs} outputs")


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


# ---- Arrays ----------------------------------------------------------------------------------------------------------


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
        yield _norm(name, len(weights), values)


def _norm(name: str, units: int, values: Sequence[Any]) -> Norm:
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


# ---- What parts do ---------------------------------------------------------------------------------------------------

_PROBES = np.array([-100, -10, -2, -1.5, -1, -0.75, -0.5, -0.1, -0.001, 0.001, 0.1, 0.5, 0.75, 1, 1.5, 2, 10, 100])
_ORDERS = ("softmax", "logsoftmax", "log_softmax", "sigmoid")


def _activation(name: str, function: Callable[[Floats], Floats], before: Floats, after: Floats) -> list[Step]:
    """An activation as a step, by its values on some numbers and by what it made of the network's own."""
    probes = np.concatenate([_PROBES, [0.0]])
    values = function(probes[None, :])
    if values.size != probes.size:
        raise InputError(f"{name}: of {probes.size} numbers it makes {values.size}")
    values = values.reshape(-1)
    if np.array_equal(values.astype(np.float32), probes.astype(np.float32)) and np.array_equal(before, after):
        return []
    sign = _as_sign(name, probes, values)
    if sign is not None and _as_sign(name, before, after) is not None:
        return [sign]
    near = np.abs(_PROBES) <= 2
    keeps = all(np.array_equal(np.sign(old), np.sign(new)) for old, new in ((probes, values), (before, after)))
    if keeps and (np.diff(values[:-1]) >= 0).all():
        return [Squash(name, strict=bool((np.diff(values[:-1][near]) > 0).all()))]
    raise InputError(f"{name}: this is no sign: it makes {values[12]:g} of 0.75 and {values[5]:g} of -0.75")


def _as_sign(name: str, before: Floats, after: Floats) -> Sign | None:
    """The step from some numbers to their signs, if it is that."""
    zero = before == 0
    if before.shape != after.shape or not np.array_equal(after[~zero], np.sign(before[~zero])):
        return None
    at_zero = np.unique(after[zero])
    if not np.isin(at_zero, (-1, 0, 1)).all():
        return None
    return Sign(name, int(at_zero[0]) if len(at_zero) == 1 else None)


def _close(found: Floats, expected: Floats, scale: Floats | float) -> bool:
    """Equal up to the rounding of float32: what else there could be is far off."""
    return found.shape == expected.shape and bool((np.abs(found - expected) <= 1e-5 * scale + 1e-6).all())


def _is_sum(found: Floats, weights: Floats, bias: Floats, values: Floats) -> bool:
    if values.ndim != 2 or values.shape[1] != weights.shape[1]:
        return False
    scale = np.abs(values) @ np.abs(weights.T) + np.abs(bias) + 1
    return _close(found, values @ weights.T + bias, scale)


def _ending(scores: Floats, result: Floats) -> Step | None:
    """The step from scores to the result, if that is a softmax, its logarithm, a sigmoid or a tanh."""
    if result.shape != scores.shape:
        return None
    with np.errstate(divide="ignore", over="ignore"):
        kinds: list[tuple[Step, Floats]] = [
            (Squash("tanh", strict=True), np.tanh(scores)),
            (Order("sigmoid"), 1 / (1 + np.exp(-scores))),
        ]
        if scores.shape[1] > 1:
            exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
            softmax = exponentials / exponentials.sum(axis=1, keepdims=True)
            kinds += [(Order("softmax"), softmax), (Order("log_softmax"), np.log(softmax))]
    return next((step for step, values in kinds if _close(result, values, np.abs(values))), None)


def _some_inputs(features: int) -> Bits:
    """All inputs of few features, else a fixed random thousand, all zeros and all ones."""
    if features <= 10:
        return inputs_from(0, 1 << features, features)
    random = np.random.default_rng(7).integers(0, 2, size=(1024, features), dtype=np.uint8)
    random[0], random[1] = 0, 1
    return random


def _entering(bits: Bits, inputs: str) -> Floats:
    values = bits.astype(np.float64)
    return 2 * values - 1 if inputs == "signs" else values


def _stack(steps: Sequence[Step], inputs: str, bits: Bits, result: Floats) -> Stack:
    layers, inputs = fold(steps, inputs)
    if result.shape[1] > 1:
        labels = result.argmax(axis=1)
    else:
        # A sigmoid of 0 is a half.
        labels = (result[:, 0] >= (0.5 if isinstance(steps[-1], Order) else 0)).astype(np.int64)
    return Stack(layers, inputs, (bits, labels))


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


def is_torch(source: object) -> bool:
    """Whether this is a PyTorch module."""
    return "Module" in class_names(source) and hasattr(source, "named_children")


def of_torch(module: Any, inputs: str | None, features: int | None) -> Stack:
    """A PyTorch module of dense layers, run once on some inputs."""
    parts: dict[str, Any] = {}
    for name, part in _torch_parts(module, ""):
        # A part may have several names.
        if all(part is not other for other in parts.values()):
            parts[name] = part
    linear = next((part for part in parts.values() if "Linear" in class_names(part)), None)
    if linear is None:
        raise InputError(f"{type(module).__name__}: there is no Linear layer in it")
    for name, parameter in module.named_parameters():
        numbers(parameter, f"parameter {name}")
    bits = _some_inputs(features or int(linear.weight.shape[1]))
    inputs = inputs or "signs"
    entering = _entering(bits, inputs)

    def tensor(values: Floats) -> Any:
        return linear.weight.detach().new_tensor(values.tolist())

    calls, result = _torch_run(module, parts, tensor(entering))
    steps: list[Step] = []
    value, before = entering, "the inputs"
    for number, (name, entered, left) in enumerate(calls):
        if number == 0 and inputs == "bits" and np.array_equal(entered, 2 * value - 1):
            inputs = "signs"
        else:
            steps += _torch_link(value, entered, before, name)
        steps += _torch_steps(name, parts[name], entered, left, tensor)
        value, before = left, name
    if not any(isinstance(step, Dense) for step in steps):
        raise InputError(f"{type(module).__name__}: its forward uses none of its Linear layers")
    ending = None if np.array_equal(value, result) else _ending(value, result)
    steps += [ending] if ending else _torch_link(value, result, before, "the result")
    return _stack(steps, inputs, bits, result)


def _torch_parts(module: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The parts that compute, by their paths; a container must not have parameters of its own."""
    names = class_names(module)
    children = list(module.named_children())
    if not children or {"Linear", "BatchNorm1d"} & set(names):
        yield path or type(module).__name__, module
        return
    for name, _ in module.named_parameters(recurse=False):
        raise InputError(f"parameter {f'{path}.{name}'.lstrip('.')}: it belongs to no layer that is known")
    for name, child in children:
        yield from _torch_parts(child, f"{path}.{name}".lstrip("."))


def _torch_run(
    module: Any, parts: Mapping[str, Any], entering: Any
) -> tuple[list[tuple[str, Floats, Floats]], Floats]:
    """What goes into and comes out of every part, in the order of the calls, and the result."""
    rows = len(entering)
    calls: list[tuple[str, Floats, Floats]] = []
    started: list[Floats] = []

    def flat(tensor: Any, where: str) -> Floats:
        if not hasattr(tensor, "detach"):
            raise InputError(f"{where}: {type(tensor).__name__} where a tensor was expected")
        values = numbers(tensor, where)
        if values.shape[:1] != (rows,):
            raise InputError(f"{where}: a tensor of shape {values.shape} for {rows} rows")
        return values.reshape(rows, -1)

    def hooks(name: str) -> tuple[Callable[..., None], Callable[..., None]]:
        # Values are copied before the call, as some layers binarise their inputs in place.
        def before(_part: Any, arguments: tuple[Any, ...]) -> None:
            started.append(flat(arguments[0] if len(arguments) == 1 else None, f"{name}: input"))

        def after(_part: Any, _arguments: tuple[Any, ...], output: Any) -> None:
            calls.append((name, started.pop(), flat(output, f"{name}: output")))

        return before, after

    handles: list[Any] = []
    training = [(part, part.training) for part in module.modules()]
    try:
        module.eval()
        for name, part in parts.items():
            before, after = hooks(name)
            handles += [part.register_forward_pre_hook(before), part.register_forward_hook(after)]
        try:
            result = flat(module(entering), "the result")
        except InputError:
            raise
        except Exception as error:
            shape = tuple(entering.shape)
            raise InputError(
                f"{type(module).__name__} does not run on inputs of shape {shape} (features= says how many): {error}"
            ) from error
    finally:
        for handle in handles:
            handle.remove()
        for part, flag in training:
            part.training = flag
    return calls, result


def _torch_link(before: Floats, after: Floats, sender: str, receiver: str) -> list[Step]:
    """What forward does with a value on its way from one part to the next."""
    if np.array_equal(before, after):
        return []
    sign = _as_sign(f"the sign between {sender} and {receiver}", before, after)
    if sign is None:
        raise InputError(f"between {sender} and {receiver} forward does something that is neither nothing nor a sign")
    return [sign]


def _torch_steps(
    name: str, part: Any, before: Floats, after: Floats, tensor: Callable[[Floats], Any]
) -> list[Step]:
    names, kind = class_names(part), type(part).__name__
    where = f"{name} ({kind})"
    if "Linear" in names:
        return _torch_linear(where, part, before, after, tensor)
    if "BatchNorm1d" in names:
        if part.running_mean is None:
            raise InputError(f"{where}: it keeps no running statistics, so its output depends on the batch")
        values = (part.weight, part.bias, part.running_mean, part.running_var, part.eps)
        norm = _norm(where, after.shape[1], values)
        if not norm.gives(before, after):
            raise InputError(f"{where}: its output is not the batch normalisation that its parameters say")
        return [norm]
    for parameter, _ in part.named_parameters(recurse=False):
        raise InputError(f"{where}: no layer that is known (parameter {parameter})")
    if np.array_equal(before, after) and {"Flatten", "Identity", "_DropoutNd", "Dropout"} & set(names):
        return []
    if kind.lower() in _ORDERS:
        return [Order(where)]

    def function(values: Floats) -> Floats:
        try:
            return numbers(part(tensor(values)), where)
        except RuntimeError as error:
            raise InputError(f"{where}: no layer that is known, nor a function of single numbers: {error}") from error

    return _activation(where, function, before, after)


def _torch_linear(
    where: str, part: Any, before: Floats, after: Floats, tensor: Callable[[Floats], Any]
) -> list[Step]:
    """The weights as they are or their signs, of the inputs as they are or their signs: whichever it computes."""
    latent = numbers(getattr(part.weight, "org", part.weight), f"{where}: weight", 2)
    bias = np.zeros(len(latent)) if part.bias is None else numbers(part.bias, f"{where}: bias", 1)
    quantised = type(part).__name__.startswith(("Binar", "Bin", "Quant"))
    signs = [np.where(latent == 0, at_zero, np.sign(latent)) for at_zero in (0.0, 1.0, -1.0)]
    for weights in signs if quantised else [latent, *signs]:
        if _is_sum(after, weights, bias, before):
            return [Dense(where, weights, bias)]
        for at_zero in (0.0, 1.0, -1.0):
            if _is_sum(after, weights, bias, np.where(before == 0, at_zero, np.sign(before))):
                return [_torch_input_sign(where, part, weights, bias, tensor), Dense(where, weights, bias)]
    raise InputError(
        f"{where}: its output is not weights times inputs plus bias, neither of the numbers as they are nor of signs"
    )


def _torch_input_sign(
    where: str, part: Any, weights: Floats, bias: Floats, tensor: Callable[[Floats], Any]
) -> Sign:
    """The sign that a layer takes of its inputs, tried at 0."""
    values = np.random.default_rng(7).integers(-1, 2, size=(64, weights.shape[1])).astype(np.float64)
    found = numbers(part(tensor(values)), f"{where}: output")
    fitting = [
        at_zero for at_zero in (1, 0, -1) if _is_sum(found, weights, bias, np.where(values == 0, at_zero, values))
    ]
    return Sign(f"the sign of the inputs of {where}", fitting[0] if len(fitting) == 1 else None)


# ---- Keras and Larq --------------------------------------------------------------------------------------------------

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
    bits = _some_inputs(math.prod(sizes))
    inputs = inputs or "signs"
    entering = _entering(bits, inputs).reshape(len(bits), *sizes)
    steps: list[Step] = []
    value = entering
    for layer in parts:
        left = _keras_call(f"{layer.name} ({type(layer).__name__})", layer, value)
        steps += _keras_steps(layer, value, left)
        value = left
    if not np.array_equal(value, _keras_call(name, model, entering)):
        raise InputError(f"{name}: its output is not that of its layers one after the other")
    return _stack(steps, inputs, bits, value)


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
        norm = _norm(where, after.shape[1], [*learnt, layer.epsilon])
        if not norm.gives(before, after):
            raise InputError(f"{where}: its output is not the batch normalisation that its parameters say")
        return [norm]
    if layer.weights:
        raise InputError(f"{where}: no layer that is known (parameter {layer.weights[0].name})")
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
    elif not _is_sum(after, weights, bias, before):
        raise InputError(f"{where}: its output is not kernel times inputs plus bias")
    return steps


def _keras_activation(where: str, function: Any, before: Floats, after: Floats) -> list[Step]:
    name = getattr(function, "__name__", type(function).__name__)
    if name.lower() in _ORDERS:
        return [Order(f"{where} {name}")]
    return _activation(f"{where} {name}", lambda values: _keras_call(where, function, values), before, after)
