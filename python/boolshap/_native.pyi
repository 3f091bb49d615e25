"""The compiled part of the package: models and circuits, which are public, and what the modules beside it call.

Arrays of bits are C-contiguous uint8 of shape (rows, features) with values 0 and 1. Everything that takes long runs
without the GIL and stops at Ctrl-C. Errors are those of `boolshap.errors`."""

from collections.abc import Callable
from typing import Any, Final, Literal, final

import numpy as np
import numpy.typing as npt

from ._layers import Step
from ._sources import Options
from ._types import Bits, Floats, PathLike, RawTree, Reading, Tree

__all__ = [
    "Asker", "Circuit", "Explainer", "Model", "RawExplainer", "RawModel", "RealModel", "__version__", "bin_names", "bits_of", "centres",
    "check", "compile", "cuts", "import_network", "load", "names_of_network", "network_of_steps", "verify_table", "write_whole",
]
__version__: str

def load(path: PathLike) -> Model | RealModel | Circuit: ...
def check(paths: list[PathLike], model: Model, timeout: float | None) -> str: ...
def names_of_network(model: Model) -> Circuit | None: ...
def bits_of(array: npt.NDArray[Any]) -> Bits | None: ...
def write_whole(path: PathLike, content: bytes) -> None: ...
def cuts(numbers: Floats, how: str, labels: npt.NDArray[np.uint32] | None) -> list[float]: ...
def bin_names(column: str, edges: list[float]) -> list[str]: ...
def centres(numbers: Floats, median: bool) -> Floats: ...
def compile(
    source: Model
    | RealModel
    | PathLike
    | tuple[Bits | list[Tree], list[str], list[str]]
    | tuple[Floats, list[str], list[str], str]
    | tuple[Floats, Floats, list[str], list[str], str]
    | tuple[list[Tree], Floats, tuple[float, int], list[str], list[str], str],
    options: Options,
) -> Circuit: ...
def verify_table(circuit: Circuit, values: Bits) -> Circuit: ...
@final
class Model:
    def __new__(cls) -> Model: ...
    @classmethod
    def load(cls, path: PathLike) -> Model: ...
    @classmethod
    def from_json(cls, text: str) -> Model: ...
    @classmethod
    def import_file(
        cls,
        path: PathLike,
        *,
        features: list[str] | None = None,
        bn_epsilon: float | None = None,
        kernels: Literal["auto", "sign", "real"] = "auto",
        zero_weight: Literal[-1, 1] | None = None,
        inputs: str | None = None,
    ) -> Model: ...
    @staticmethod
    def _of_steps(
        steps: list[Step], inputs: str, features: list[str] | None, classes: list[str] | None
    ) -> Model: ...
    @staticmethod
    def _train(
        bits: Bits,
        labels: npt.NDArray[np.uint32],
        counts: npt.NDArray[np.uint64],
        features: list[str],
        classes: list[str],
        thresholds: list[float] | None,
        options: tuple[str, str | None, str | list[float], int, int, int, int, float],
        threads: int | None,
        report: Callable[[float, float | None], object] | None,
    ) -> Model: ...
    def _with_classes(self, names: list[str]) -> Model: ...
    def save(self, path: PathLike) -> None: ...
    def to_json(self) -> str: ...
    features: Final[list[str]]
    classes: Final[list[str]]
    shape: Final[str]
    grid: Final[tuple[int, int] | None]
    def with_grid(self, height: int, width: int) -> Model: ...
    def predict(self, X: object) -> npt.NDArray[np.uint32]: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class RealModel:
    def __new__(cls) -> RealModel: ...
    @classmethod
    def from_json(cls, text: str) -> RealModel: ...
    def _with_classes(self, names: list[str]) -> RealModel: ...
    def save(self, path: PathLike) -> None: ...
    def to_json(self) -> str: ...
    features: Final[list[str]]
    classes: Final[list[str]]
    shape: Final[str]
    def predict(self, X: object) -> npt.NDArray[np.uint32]: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def import_network(path: PathLike, inputs: str | None) -> Model | RealModel: ...
def network_of_steps(steps: list[Step], inputs: str, is_number: bool) -> Model | RealModel: ...
@final
class Circuit:
    def __new__(cls) -> Circuit: ...
    @classmethod
    def load(cls, path: PathLike) -> Circuit: ...
    @classmethod
    def from_bytes(cls, content: bytes) -> Circuit: ...
    def save(self, path: PathLike) -> None: ...
    def to_bytes(self) -> bytes: ...
    features: Final[list[str]]
    classes: Final[list[str]]
    grid: Final[tuple[int, int] | None]
    def _pixels(self) -> list[int] | None: ...
    model_output: Final[str]
    nodes: Final[int]
    edges: Final[int]
    models: Final[int | list[int]]
    raw_columns: Final[list[str] | None]
    marginals: Final[list[float] | None]
    provenance: Final[str]
    _network: Final[str | None]
    verified: Final[dict[str, str | None]]
    cautions: Final[list[str]]
    def verify(self, model: Model, *, timeout: float | None = None) -> Circuit: ...
    def predict(self, X: object, *, input: Reading = "auto") -> npt.NDArray[Any]: ...
    def binarise(self, X: object, *, input: Reading = "auto") -> Bits: ...
    def _reads_raw(self, columns: list[str], input: str, look: Callable[[int], bool]) -> bool: ...
    def _only_bits(self) -> list[str | None]: ...
    def _encode(self, columns: list[Floats | list[str | None]]) -> Bits: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Explainer:
    def __new__(
        cls,
        circuit: Circuit,
        distribution: str | None,
        probabilities: list[float] | None,
        rows: Bits | None,
        constraint: str | None,
        players: str | dict[str, str],
        groups: dict[str, str] | None,
        class_: object,
        model_output: str | None,
        engine: str | None,
    ) -> Explainer: ...
    distribution: Final[str]
    players: Final[list[str]]
    members: Final[list[list[int]]]
    one_hot: Final[list[bool]]
    scope: Final[str | None]
    notes: Final[list[str]]
    def sets(self, index: str) -> list[list[int]]: ...
    model_output: Final[str]
    def base_values(self) -> list[float]: ...
    def error_bound(self, index: str) -> float: ...
    def explain(
        self, bits: Bits, index: str, threads: int | None
    ) -> tuple[Floats, Floats, npt.NDArray[np.uint32]]: ...
    def explain_exact(
        self, bits: Bits, index: str, class_: object
    ) -> tuple[list[list[tuple[int, int]]], list[tuple[int, int]], list[tuple[int, int]]]: ...

@final
class RawModel:
    @staticmethod
    def of_parts(
        columns: list[str],
        outputs: list[str],
        constants: list[float],
        slopes: list[list[float]],
        trees: list[RawTree],
        scale: tuple[float, int],
        is_single: bool,
        takes_missing: bool,
        decision: str,
    ) -> RawModel: ...
    @staticmethod
    def of_xgboost(text: str, rounds: int | None) -> RawModel: ...
    @staticmethod
    def of_lightgbm(text: str) -> RawModel: ...
    @staticmethod
    def from_json(text: str) -> RawModel: ...
    def to_json(self) -> str: ...
    def renamed(self, columns: list[str], outputs: list[str]) -> RawModel: ...
    columns: Final[list[str]]
    outputs: Final[list[str]]
    width: Final[int]
    takes_missing: Final[bool]
    def numbers(self, rows: Floats) -> Floats: ...

@final
class RawExplainer:
    def __new__(
        cls,
        model: RawModel,
        background: Floats,
        owners: list[str] | None,
        model_output: str,
        class_: object,
        max_nodes: int | None,
        timeout: float | None,
    ) -> RawExplainer: ...
    players: Final[list[str]]
    outputs: Final[list[str]]
    model_output: Final[str]
    def base_values(self) -> list[float]: ...
    def error_bound(self) -> float: ...
    def explain(self, rows: Floats, index: str, threads: int | None) -> tuple[Floats, Floats]: ...
    def explain_exact(
        self, rows: Floats, index: str
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]: ...
    def sets(self, index: str) -> list[list[int]]: ...

@final
class Asker:
    def __new__(
        cls,
        circuit: Circuit,
        question: str,
        settings: list[tuple[str, str]],
        against: Bits | None,
        other: Circuit | None,
        model: Model | None,
        other_model: Model | None,
        network: bool,
        timeout: float | None,
    ) -> Asker: ...
    def ask(self, bits: Bits | None, certificates: PathLike | None, timeout: float | None) -> str: ...
