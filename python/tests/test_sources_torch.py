"""Circuits of PyTorch modules agree with their forward pass on every input."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import all_inputs

import boolshap
from boolshap._functions import inputs_from
from boolshap.errors import InputError

torch = pytest.importorskip("torch", reason="PyTorch is not installed; test_sources.py looks for it elsewhere")
nn = torch.nn


class Binarize(nn.Module):  # type: ignore[misc, name-defined]
    """-1 below 0, +1 from 0 upwards."""

    def forward(self, x: Any) -> Any:
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))


class StrictSign(nn.Module):  # type: ignore[misc, name-defined]
    """-1 up to 0, +1 above."""

    def forward(self, x: Any) -> Any:
        return torch.where(x > 0, torch.ones_like(x), -torch.ones_like(x))


class ZeroSign(nn.Module):  # type: ignore[misc, name-defined]
    """torch's sign: 0 at 0."""

    def forward(self, x: Any) -> Any:
        return torch.sign(x)


class BinarizeLinear(nn.Linear):  # type: ignore[misc, name-defined]
    """As in the usual code of binary networks: inputs and weights are binarised in place, and latent weights are
    kept."""

    def forward(self, x: Any) -> Any:
        if x.size(1) != 8:
            x.data = x.data.sign()
        if not hasattr(self.weight, "org"):
            self.weight.org = self.weight.data.clone()
        self.weight.data = self.weight.org.sign()
        return nn.functional.linear(x, self.weight, self.bias)


class SignLinear(nn.Linear):  # type: ignore[misc, name-defined]
    """Binarises in forward without changing inputs and parameters; 0 counts as +1."""

    signs = Binarize()

    def forward(self, x: Any) -> Any:
        return nn.functional.linear(self.signs(x), self.signs(self.weight), self.bias)


class StrictLinear(SignLinear):
    """The same, but 0 counts as -1."""

    signs = StrictSign()


class ScaledLinear(nn.Linear):  # type: ignore[misc, name-defined]
    """Weights are signs times the mean absolute weight."""

    def forward(self, x: Any) -> Any:
        return nn.functional.linear(x, self.weight.sign() * self.weight.abs().mean(), self.bias)


class UsualNet(nn.Module):  # type: ignore[misc, name-defined]
    """The network of binary MNIST examples, smaller."""

    def __init__(self, inputs: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.fc1, self.bn1 = BinarizeLinear(inputs, hidden), nn.BatchNorm1d(hidden)
        self.htanh1, self.drop = nn.Hardtanh(), nn.Dropout(0.5)
        self.fc2, self.bn2 = BinarizeLinear(hidden, hidden), nn.BatchNorm1d(hidden)
        self.htanh2 = nn.Hardtanh(inplace=True)
        self.fc3, self.logsoftmax = nn.Linear(hidden, classes), nn.LogSoftmax(dim=1)

    def forward(self, x: Any) -> Any:
        x = self.drop(self.htanh1(self.bn1(self.fc1(x.view(-1, 8)))))
        x = self.htanh2(self.bn2(self.fc2(x)))
        return self.logsoftmax(self.fc3(torch.sign(x)))


class Functional(nn.Module):  # type: ignore[misc, name-defined]
    """Activations are only in forward, and layers are used in another order than declared."""

    def __init__(self, between: Any, ending: Any, outputs: int = 1) -> None:
        super().__init__()
        self.last, self.norm, self.first = nn.Linear(5, outputs), nn.BatchNorm1d(5), nn.Linear(6, 5)
        self.between, self.ending = [between], [ending]

    def forward(self, x: Any) -> Any:
        return self.ending[0](self.last(self.between[0](self.norm(self.first(x)))))


def settled(module: Any, seed: int = 0) -> Any:
    """Random statistics and coefficients of batch normalisation, as after training."""
    generator = torch.Generator().manual_seed(seed)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm1d):
            if part.track_running_stats:
                part.running_mean.copy_(torch.randn(part.num_features, generator=generator))
                part.running_var.copy_(torch.rand(part.num_features, generator=generator) + 0.5)
            if part.affine:
                part.weight.data.copy_(torch.randn(part.num_features, generator=generator))
                part.bias.data.copy_(torch.randn(part.num_features, generator=generator))
    return module


def binary(linear: Any) -> Any:
    """The same layer with weights +-1, and a bias that keeps integer sums away from 0."""
    linear.weight.data = linear.weight.data.sign()
    if linear.bias is not None:
        linear.bias.data = linear.bias.data.round() + 0.5
    return linear


def answers(module: Any, bits: npt.NDArray[np.uint8], inputs: str = "signs", threshold: float = 0) -> Any:
    """The module's own answers."""
    values = bits * 2.0 - 1.0 if inputs == "signs" else bits * 1.0
    training = module.training
    module.eval()
    with torch.no_grad():
        result = module(torch.tensor(values, dtype=next(module.parameters()).dtype)).numpy()
    module.train(training)
    result = result.reshape(len(bits), -1)
    return result.argmax(axis=1) if result.shape[1] > 1 else result[:, 0] >= threshold


def agree(module: Any, features: int, inputs: str | None = None, threshold: float = 0) -> None:
    circuit = boolshap.compile(module, inputs=inputs, features=features, verify=True)
    bits = all_inputs(features)
    expected = answers(module, bits, inputs or "signs", threshold)
    assert len(np.unique(expected)) > 1, "a network that says the same to all tests nothing"
    assert np.array_equal(circuit.predict(bits), expected)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(1)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_the_usual_network(classes: int) -> None:
    module = settled(UsualNet(8, 7, classes))
    module.train()
    module.fc2.eval()
    flags = [part.training for part in module.modules()]
    boolshap.compile(module)
    assert [part.training for part in module.modules()] == flags, "the module is left as it was"
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())
    agree(module, 8)


@pytest.mark.parametrize("kind", [nn.Linear, BinarizeLinear, SignLinear])
@pytest.mark.parametrize("affine", [True, False])
def test_sequences_of_all_kinds_of_layers(kind: Any, affine: bool) -> None:
    module = nn.Sequential(
        nn.Flatten(),
        kind(7, 6),
        nn.BatchNorm1d(6, affine=affine, eps=0.001),
        Binarize(),
        nn.Identity(),
        nn.Sequential(kind(6, 5, bias=False), nn.BatchNorm1d(5), nn.Tanh(), ZeroSign()),
        nn.Linear(5, 1),
        nn.Sigmoid(),
    )
    settled(module, 7).eval()
    scores = module[:-1](torch.tensor(all_inputs(7) * 2.0 - 1.0, dtype=torch.float32))
    module[-2].bias.data -= (scores.min() + scores.max()) / 2
    agree(module, 7, threshold=0.5)


def tied(module: Any) -> Any:
    """Integer weights without bias, so that sums are often 0, except in the last layer."""
    for layer in module[:-1]:
        if isinstance(layer, nn.Linear):
            layer.weight.data = layer.weight.data.sign()
            layer.bias.data.zero_()
    return module


@pytest.mark.parametrize("inputs", ["signs", "bits"])
@pytest.mark.parametrize("sign", [Binarize, StrictSign])
@pytest.mark.parametrize("hidden", [(8,), (8, 4), (6, 4, 4)])
def test_ties_of_hidden_units(inputs: str, sign: Any, hidden: tuple[int, ...]) -> None:
    widths = (6, *hidden)
    parts = [part for before, after in zip(widths, hidden) for part in (nn.Linear(before, after), sign())]
    agree(tied(nn.Sequential(*parts, nn.Linear(hidden[-1], 3))), 6, inputs)


@pytest.mark.parametrize("kind", [SignLinear, StrictLinear])
def test_ties_of_units_whose_sign_the_next_layer_takes(kind: Any) -> None:
    agree(tied(nn.Sequential(nn.Linear(6, 8), kind(8, 4), kind(4, 3))), 6)


@pytest.mark.parametrize("sign", [Binarize, StrictSign])
def test_ties_after_batch_normalisation(sign: Any) -> None:
    """Means are possible sums, and variances are squares: 2 (z - mean) / 2 + 2 is 0 at mean - 2."""
    module = tied(nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5, eps=0.25), sign(), nn.Linear(5, 3)))
    norm = module[1]
    norm.running_mean.copy_(torch.tensor([0.0, 2.0, -2.0, 0.0, 4.0]))
    norm.running_var.fill_(3.75)
    norm.weight.data = torch.tensor([2.0, -2.0, 2.0, -2.0, 2.0])
    norm.bias.data = torch.tensor([0.0, 0.0, 2.0, 2.0, 2.0])
    agree(module, 6)


@pytest.mark.parametrize("sign", [Binarize, StrictSign])
def test_ties_of_the_score(sign: Any) -> None:
    module = nn.Sequential(nn.Linear(6, 1, bias=False), sign())
    module[0].weight.data = torch.tensor([[1.0, -1.0, 2.0, 1.0, 1.0, -2.0]])
    agree(module, 6)


def test_real_weights_are_real_weights() -> None:
    """Latent weights that no layer binarises are used as real weights, in double precision too."""
    for kind in (torch.float32, torch.float64):
        module = nn.Sequential(nn.Linear(8, 6), Binarize(), nn.Linear(6, 3)).to(kind)
        agree(module, 8)
        agree(module, 8, "bits")


@pytest.mark.parametrize(
    "ending, outputs, threshold",
    [
        (lambda x: x, 1, 0),
        (lambda x: x.squeeze(1), 1, 0),
        (torch.sigmoid, 1, 0.5),
        (torch.tanh, 1, 0),
        (torch.sign, 1, 0),
        (lambda x: torch.softmax(x, dim=1), 3, 0),
        (lambda x: torch.log_softmax(x, dim=1), 2, 0),
    ],
)
def test_what_forward_does_by_itself(ending: Any, outputs: int, threshold: float) -> None:
    agree(settled(Functional(torch.sign, ending, outputs), 5), 6, threshold=threshold)


def test_forward_may_make_signs_of_bits() -> None:
    class Encoding(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(6, 4), Binarize(), nn.Linear(4, 1))

        def forward(self, x: Any) -> Any:
            return self.layers(2 * x - 1)

    agree(Encoding(), 6, "bits")


def test_parametrized_weights() -> None:
    module = nn.Sequential(nn.Linear(6, 5), Binarize(), nn.Linear(5, 1))
    torch.nn.utils.parametrize.register_parametrization(module[0], "weight", ZeroSign())
    agree(module, 6)


def test_parts_that_are_used_twice() -> None:
    layer, sign = nn.Linear(6, 6), Binarize()
    block = nn.Sequential(layer, sign)
    agree(nn.Sequential(block, nn.Sequential(layer, sign), nn.Linear(6, 2)), 6)


def test_a_single_layer_and_names() -> None:
    circuit = boolshap.compile(nn.Linear(3, 3), features=["a", "b", "c"], classes=["x", "y", "z"])
    assert (circuit.features, circuit.classes) == (["a", "b", "c"], ["x", "y", "z"])


def test_many_inputs() -> None:
    """A wide first layer has too many inputs to try, so random rows are compared."""
    module = settled(nn.Sequential(BinarizeLinear(40, 4), nn.BatchNorm1d(4), Binarize(), nn.Linear(4, 1)))
    bits = np.random.default_rng(0).integers(0, 2, size=(4000, 40)).astype(np.uint8)
    assert np.array_equal(boolshap.compile(module).predict(bits), answers(module, bits))


def sequence(*parts: Any) -> Any:
    return settled(nn.Sequential(*parts))


def test_refusals() -> None:
    two = (nn.Linear(6, 4), nn.Linear(4, 1))
    shared = nn.Sequential(*two)
    shared.register_parameter("scale", nn.Parameter(torch.ones(1)))
    halves = nn.Sequential(nn.Linear(6, 4), Binarize(), nn.Linear(4, 1)).half()
    cases = [
        (sequence(two[0], nn.ReLU(), two[1]), "takes a bit as 0 and 1 or as -1"),
        (sequence(two[0], nn.ReLU6(), two[1]), r"1 \(ReLU6\): this is not a sign"),
        (sequence(two[0], nn.GELU(), two[1]), r"1 \(GELU\): this is not a sign"),
        (sequence(two[0], nn.Hardtanh(), two[1]), r"1 \(Hardtanh\): between layers of real weights"),
        (sequence(*two), "takes a bit as 0 and 1 or as -1"),
        (sequence(two[0], Binarize(), nn.BatchNorm1d(4), two[1]), r"2 \(BatchNorm1d\): a batch normalisation follows"),
        (sequence(nn.BatchNorm1d(6), two[0], Binarize(), two[1]), r"0 \(BatchNorm1d\): this is before the first"),
        (sequence(two[0], nn.Sigmoid(), Binarize(), two[1]), r"1 \(Sigmoid\): between"),
        (sequence(two[0], nn.LayerNorm(4), Binarize(), two[1]), r"1 \(LayerNorm\): not a known layer"),
        (sequence(two[0], nn.BatchNorm1d(4, track_running_stats=False), Binarize(), two[1]), "no running statistics"),
        (sequence(two[0], nn.Unflatten(1, (2, 2)), nn.Conv1d(2, 1, 1), nn.Flatten(), nn.Linear(2, 1)), "Unflatten"),
        (sequence(nn.Conv2d(1, 1, 3), nn.Flatten(), two[0]), "does not run on inputs of shape"),
        (sequence(ScaledLinear(6, 1)), r"0 \(ScaledLinear\): its output is not weights times inputs plus bias"),
        (sequence(nn.Linear(6, 3), nn.BatchNorm1d(3)), r"0 \(Linear\): batch normalisation after the scores"),
        (sequence(nn.Linear(6, 3), Binarize()), r"1 \(Binarize\): at the end of 3 units this makes ties"),
        (sequence(nn.Linear(6, 3), nn.Hardtanh()), r"1 \(Hardtanh\): at the end of 3 units this makes ties"),
        (sequence(nn.Linear(6, 1), nn.Softmax(dim=1)), r"1 \(Softmax\): of a single unit this is 1"),
        (sequence(nn.ReLU()), "there is no Linear layer"),
        (shared, "parameter scale: it does not belong to a known layer"),
        (halves, "parameter 0.weight: numbers of type float16, in which sums round"),
        (settled(Functional(torch.sign, torch.sigmoid)), r"does not run on inputs of shape \(32, 5\) \(features= says"),
    ]
    for module, message in cases:
        with pytest.raises(InputError, match=message):
            boolshap.compile(module)
    within = [
        (Functional(torch.relu, torch.sigmoid), "takes a bit as 0 and 1 or as -1"),
        (Functional(torch.sign, torch.relu), "between last and the result forward does something"),
        (Functional(lambda x: torch.sign(x).roll(1, 1), torch.sigmoid), "between norm and last forward does something"),
    ]
    for module, message in within:
        with pytest.raises(InputError, match=message):
            boolshap.compile(settled(module), features=6)
    module = sequence(two[0], Binarize(), two[1])
    module[0].weight.data[1, 2] = float("nan")
    with pytest.raises(InputError, match="parameter 0.weight: nan is not a finite number"):
        boolshap.compile(module)


def test_a_sign_of_0_that_is_0() -> None:
    """Accepted if no sum can be 0, refused otherwise."""
    module = nn.Sequential(binary(nn.Linear(6, 5)), ZeroSign(), binary(nn.Linear(5, 1)))
    agree(module, 6)
    module[0].bias.data[3] = 2
    with pytest.raises(InputError, match=r"1 \(ZeroSign\): this sign gives 0 at 0, and unit 4 of 0 \(Linear\) may add"):
        boolshap.compile(module)
    # No sum of six signs cancels an odd bias, but sums of six bits can.
    module[0].bias.data[3] = 3
    agree(module, 6)
    with pytest.raises(InputError, match="unit 4 of 0"):
        boolshap.compile(module, inputs="bits")


def test_weights_of_0_in_a_binary_layer() -> None:
    for kind in (BinarizeLinear, SignLinear):
        module = nn.Sequential(kind(8, 5), Binarize(), nn.Linear(5, 1))
        module[0].weight.data[2, 3] = 0
        agree(module, 8)


def test_rounding_is_not_hidden() -> None:
    """Sigmoids of 100 and of 200 are both 1 in floats, so the first wins; exactly computed, the second is larger."""
    module = nn.Sequential(nn.Linear(3, 2, bias=False), nn.Sigmoid())
    module[0].weight.data = torch.tensor([[100.0, 0.0, 0.0], [200.0, 0.0, 0.0]])
    with pytest.raises(InputError, match="on the input 100 the network itself answers 0, but 1 in exact arithmetic"):
        boolshap.compile(module)


@pytest.mark.parametrize("activation", [nn.ReLU(), nn.LeakyReLU(0.25), nn.Tanh(), nn.Sigmoid()], ids=str)
@pytest.mark.parametrize("inputs", ["bits", "signs"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_real_weights(activation: Any, inputs: str, outputs: int) -> None:
    module = settled(nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), activation, nn.Linear(5, outputs)))
    bits = inputs_from(0, 64, 6)
    values = torch.tensor((1.0 * bits if inputs == "bits" else 2.0 * bits - 1).tolist())
    scores = np.array(module.eval()(values).tolist())
    labels = scores.argmax(axis=1) if outputs > 1 else (scores[:, 0] >= 0).astype(int)
    circuit = boolshap.compile(module, inputs=inputs, verify=True)
    assert np.array_equal(circuit.predict(bits), labels)
    explainer = boolshap.Explainer(boolshap.compile(module, inputs=inputs, model_output="score"))
    found = explainer(bits)
    sums = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(sums.reshape(64, -1), scores, atol=1e-5)
