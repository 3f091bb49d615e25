"""The compiled part of the package: what it takes and gives. Use the facade in `boolshap`, not this module.

Arrays of bits are C-contiguous uint8 of shape (rows, features) with values 0 and 1. Everything that takes long runs
without the GIL and stops at Ctrl-C. Errors are those of `boolshap.errors`."""

from typing import final

import numpy as np
import numpy.typing as npt

from ._types import Bits, Floats, Layer, Tree

__all__ = ["Circuit", "Engine", "Model", "__version__"]
__version__: str

@final
class Model:
    @staticmethod
    def load(path: str) -> Model: ...
    @staticmethod
    def from_json(text: str) -> Model: ...
    @staticmethod
    def import_file(
        path: str,
        features: list[str] | None,
        bn_epsilon: float | None,
        kernels: str,
        zero_weight: int | None,
    ) -> tuple[Model, list[str]]: ...
    @staticmethod
    def of_layers(
        layers: list[Layer], inputs: str, features: list[str] | None, classes: list[str] | None
    ) -> Model: ...
    @staticmethod
    def train(
        bits: Bits,
        labels: npt.NDArray[np.uint32],
        features: list[str],
        classes: list[str],
        hidden: list[int],
        seed: int,
        epochs: int,
        patience: int,
        batch: int,
        learning_rate: float,
    ) -> Model: ...
    @property
    def features(self) -> list[str]: ...
    @property
    def classes(self) -> list[str]: ...
    @property
    def shape(self) -> str: ...
    def to_json(self) -> str: ...
    def predict(self, bits: Bits) -> npt.NDArray[np.uint32]: ...
    def compile(
        self,
        via: str,
        class_: int | None,
        all_classes: bool,
        max_nodes: int | None,
        timeout: float | None,
        verify: bool,
    ) -> Circuit: ...

@final
class Circuit:
    @staticmethod
    def load(path: str) -> Circuit: ...
    @staticmethod
    def from_bytes(content: bytes) -> Circuit: ...
    @staticmethod
    def read_foreign(
        path: str,
        variables: int | None,
        features: list[str] | None,
        max_nodes: int | None,
        timeout: float | None,
    ) -> Circuit: ...
    @staticmethod
    def of_table(values: npt.NDArray[np.uint8], features: list[str], classes: list[str]) -> Circuit: ...
    @staticmethod
    def of_trees(
        trees: list[Tree],
        features: list[str],
        classes: list[str],
        max_nodes: int | None,
        timeout: float | None,
    ) -> Circuit: ...
    def save(self, path: str) -> None: ...
    def to_bytes(self) -> bytes: ...
    @property
    def features(self) -> list[str]: ...
    @property
    def classes(self) -> list[str]: ...
    @property
    def nodes(self) -> int: ...
    @property
    def edges(self) -> int: ...
    @property
    def models(self) -> int: ...
    @property
    def raw_columns(self) -> list[str] | None: ...
    @property
    def marginals(self) -> list[float] | None: ...
    @property
    def provenance(self) -> str: ...
    def predict(self, bits: Bits) -> npt.NDArray[np.uint32]: ...
    def binarise(self, columns: list[Floats | list[str | None]]) -> Bits: ...

@final
class Engine:
    def __new__(
        cls,
        circuit: Circuit,
        class_: int | None,
        kind: str,
        probabilities: Floats | None,
        rows: Bits | None,
        constraint: str | None,
        players: str | dict[str, str],
    ) -> Engine: ...
    @property
    def players(self) -> list[str]: ...
    def explain(
        self, bits: Bits, index: str, threads: int | None
    ) -> tuple[Floats, Floats, npt.NDArray[np.uint8]]: ...
    def explain_exact(
        self, bits: Bits, index: str
    ) -> tuple[list[list[tuple[int, int]]], list[tuple[int, int]], list[int]]: ...
