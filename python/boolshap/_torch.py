"""PyTorch modules as stacks of layers, without importing torch.

Layers are recognised by the names of their classes. The module runs once on some inputs while its parts report what goes
in and out, which shows the order of the calls and what `forward` does between them: a sign, nothing, or something that
is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ._layers import Dense, Function, norm_of, numbers, Sign, Stack, Step
from ._probing import (
    activation_steps, as_sign, checked_stack, ending_of, entering_as, is_sum, known_function, order, ORDERS, some_inputs,
)
from ._sklearn import class_names
from ._types import Floats
from .errors import InputError


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
    bits = some_inputs(features or int(linear.weight.shape[1]))
    inputs = inputs or "signs"
    entering = entering_as(bits, inputs)

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
    ending = None if np.array_equal(value, result) else ending_of(value, result)
    steps += [ending] if ending else _torch_link(value, result, before, "the result")
    return checked_stack(steps, inputs, bits, result)


def _torch_parts(module: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The parts that compute, by their paths; a container must not have its own parameters."""
    names = class_names(module)
    children = list(module.named_children())
    if not children or {"Linear", "BatchNorm1d"} & set(names):
        yield path or type(module).__name__, module
        return
    for name, _ in module.named_parameters(recurse=False):
        raise InputError(f"parameter {f'{path}.{name}'.lstrip('.')}: it does not belong to a known layer")
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
    """What `forward` does with a value between one part and the next."""
    if np.array_equal(before, after):
        return []
    sign = as_sign(f"the sign between {sender} and {receiver}", before, after)
    if sign is not None:
        return [sign]
    name, real = f"the function between {sender} and {receiver}", known_function(before, after)
    if real is None or receiver == "the result":
        raise InputError(f"between {sender} and {receiver} forward does something that is neither nothing nor a sign")
    return [Function(name, keeps_signs=real == "tanh", keeps_order=real in ("tanh", "sigmoid"), real=real)]


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
        norm = norm_of(where, after.shape[1], values)
        if not norm.gives(before, after):
            raise InputError(f"{where}: its output is not the batch normalisation that its parameters say")
        return [norm]
    for parameter, _ in part.named_parameters(recurse=False):
        raise InputError(f"{where}: not a known layer (parameter {parameter})")
    if np.array_equal(before, after) and {"Flatten", "Identity", "_DropoutNd", "Dropout"} & set(names):
        return []
    if kind.lower() in ORDERS:
        return [order(where, kind)]

    def function(values: Floats) -> Floats:
        try:
            return numbers(part(tensor(values)), where)
        except RuntimeError as error:
            raise InputError(f"{where}: not a known layer, nor a function of single numbers: {error}") from error

    return activation_steps(where, function, before, after)


def _torch_linear(
    where: str, part: Any, before: Floats, after: Floats, tensor: Callable[[Floats], Any]
) -> list[Step]:
    """The weights or their signs, applied to the inputs or their signs: whichever the layer computes."""
    latent = numbers(getattr(part.weight, "org", part.weight), f"{where}: weight", 2)
    bias = np.zeros(len(latent)) if part.bias is None else numbers(part.bias, f"{where}: bias", 1)
    quantised = type(part).__name__.startswith(("Binar", "Bin", "Quant"))
    signs = [np.where(latent == 0, at_zero, np.sign(latent)) for at_zero in (0.0, 1.0, -1.0)]
    for weights in signs if quantised else [latent, *signs]:
        if is_sum(after, weights, bias, before):
            return [Dense(where, weights, bias)]
        for at_zero in (0.0, 1.0, -1.0):
            if is_sum(after, weights, bias, np.where(before == 0, at_zero, np.sign(before))):
                return [_torch_input_sign(where, part, weights, bias, tensor), Dense(where, weights, bias)]
    raise InputError(
        f"{where}: its output is not weights times inputs plus bias, neither of the numbers as they are nor of signs"
    )


def _torch_input_sign(
    where: str, part: Any, weights: Floats, bias: Floats, tensor: Callable[[Floats], Any]
) -> Sign:
    """The sign that a layer takes of its inputs, tested at 0."""
    values = np.random.default_rng(7).integers(-1, 2, size=(64, weights.shape[1])).astype(np.float64)
    found = numbers(part(tensor(values)), f"{where}: output")
    fitting = [
        at_zero for at_zero in (1, 0, -1) if is_sum(found, weights, bias, np.where(values == 0, at_zero, values))
    ]
    return Sign(f"the sign of the inputs of {where}", fitting[0] if len(fitting) == 1 else None)
