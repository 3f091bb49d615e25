"""Models and circuits: thin faces of the compiled ones."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ._native import Circuit as NativeCircuit
from ._native import Model as NativeModel
from ._tables import Reading, read_bits, read_rows
from .errors import FileError

#: A path of a file.
PathLike: TypeAlias = "str | os.PathLike[str]"

_CIRCUIT_START = b"boolshap circuit\n"


class Model:
    """A binary network, its feature names, and how it came to be.

    Models come out of files, out of `BnnClassifier`, and out of other tools by way of `boolshap.compile`. They are
    equal when their files are.

    >>> model = Model.from_json('''{"format": "boolshap model", "version": 1, "features": ["rain", "wind"],
    ...     "classes": null, "schema": null, "marginals": null, "hidden": [],
    ...     "output": {"step": {"weights": "++", "need": "1"}}, "provenance": {}}''')
    >>> model
    Model(2 features, 2-1)
    >>> model.predict([[0, 0], [0, 1], [1, 1]]).tolist()
    [0, 1, 1]
    """

    __slots__ = ("_native",)
    _native: NativeModel

    def __init__(self) -> None:
        raise TypeError("a Model comes from Model.load, Model.from_json or BnnClassifier.model_")

    @classmethod
    def _of(cls, native: NativeModel) -> Model:
        model = cls.__new__(cls)
        model._native = native
        return model

    @classmethod
    def load(cls, path: PathLike) -> Model:
        """Reads a model file, as `boolshap train` and `Model.save` write it."""
        return cls._of(NativeModel.load(os.fspath(path)))

    @classmethod
    def import_file(
        cls,
        path: PathLike,
        *,
        features: list[str] | None = None,
        bn_epsilon: float | None = None,
        kernels: Literal["auto", "sign", "real"] = "auto",
        zero_weight: Literal[-1, 1] | None = None,
    ) -> Model:
        """Reads a network from another tool's file: HDF5 weights, safetensors, ONNX, .neuron or a folder of layers in CSV.

        `bn_epsilon` is the epsilon of batch normalisation, where the file does not hold it. `kernels` says whether
        kernels hold the weights (`"real"`) or numbers of which the sign counts (`"sign"`); `"auto"` takes what is usual
        for the kind of file. `zero_weight` is the sign of a latent weight of exactly 0, which is refused otherwise. What
        the importer had to decide is told as a warning.
        """
        native, notes = NativeModel.import_file(os.fspath(path), features, bn_epsilon, kernels, zero_weight)
        for note in notes:
            warnings.warn(f"{os.path.basename(path)}: {note}", stacklevel=2)
        return cls._of(native)

    def save(self, path: PathLike) -> None:
        """Writes a model file, whole or not at all."""
        write_whole(path, self.to_json().encode())

    @classmethod
    def from_json(cls, text: str) -> Model:
        """The model in the content of a file."""
        return cls._of(NativeModel.from_json(text))

    def to_json(self) -> str:
        """The content of the model's file."""
        return self._native.to_json()

    @property
    def features(self) -> list[str]:
        """The names of the inputs."""
        return self._native.features

    @property
    def classes(self) -> list[str]:
        """The names of the classes; their numbers, if they have no names."""
        return self._native.classes

    @property
    def shape(self) -> str:
        """The widths of the layers from the inputs on, such as `13-13-1`."""
        return self._native.shape

    def predict(self, X: object) -> npt.NDArray[np.uint32]:
        """The class of every row of bits: 0 or 1, or the index of the class."""
        return self._native.predict(read_bits(X, self.features))

    def __repr__(self) -> str:
        return f"Model({_count(len(self.features), 'feature')}, {self.shape})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and (self._native is other._native or self.to_json() == other.to_json())

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __reduce__(self) -> tuple[object, ...]:
        return Model.from_json, (self.to_json(),)


class Circuit:
    """A compiled model: a deterministic and decomposable circuit, with all that is needed to explain rows.

    Circuits come from `boolshap.compile` and out of files. They are equal when their files are.

    >>> import boolshap
    >>> circuit = boolshap.compile([([[1, 1, -1]], [0])], features=["rain", "wind", "roof"])
    >>> circuit.features, circuit.models
    (['rain', 'wind', 'roof'], 4)
    >>> circuit.predict([[1, 1, 0], [0, 1, 1]]).tolist()
    [1, 0]
    >>> Circuit.from_bytes(circuit.to_bytes()) == circuit
    True
    """

    __slots__ = ("_native",)
    _native: NativeCircuit

    def __init__(self) -> None:
        raise TypeError("a Circuit comes from boolshap.compile, Circuit.load or Circuit.from_bytes")

    @classmethod
    def _of(cls, native: NativeCircuit) -> Circuit:
        circuit = cls.__new__(cls)
        circuit._native = native
        return circuit

    @classmethod
    def load(cls, path: PathLike) -> Circuit:
        """Reads a circuit file, as `boolshap compile` and `Circuit.save` write it."""
        return cls._of(NativeCircuit.load(os.fspath(path)))

    def save(self, path: PathLike) -> None:
        """Writes a circuit file, whole or not at all."""
        self._native.save(os.fspath(path))

    @classmethod
    def from_bytes(cls, content: bytes) -> Circuit:
        """The circuit in the content of a file."""
        return cls._of(NativeCircuit.from_bytes(content))

    def to_bytes(self) -> bytes:
        """The content of the circuit's file."""
        return self._native.to_bytes()

    @property
    def features(self) -> list[str]:
        """The names of the features, in order."""
        return self._native.features

    @property
    def classes(self) -> list[str]:
        """The names of the classes, if there is a circuit for each; empty for one circuit that says 0 or 1."""
        return self._native.classes

    @property
    def nodes(self) -> int:
        """The number of nodes: each literal and constant once, a decision node as one."""
        return self._native.nodes

    @property
    def edges(self) -> int:
        """The number of edges."""
        return self._native.edges

    @property
    def models(self) -> int:
        """How many of all inputs it says 1 to."""
        return self._native.models

    @property
    def raw_columns(self) -> list[str] | None:
        """The columns of raw rows, if the circuit knows how they become bits."""
        return self._native.raw_columns

    @property
    def marginals(self) -> list[float] | None:
        """How often each feature was 1 in training, as a fraction of the rows, if that is known."""
        return self._native.marginals

    @property
    def provenance(self) -> str:
        """Where the circuit comes from, as JSON."""
        return self._native.provenance

    def predict(self, X: object, *, input: Reading = "auto") -> npt.NDArray[np.uint32]:
        """The answer for every row: 0 or 1, or the index of the class. Rows are what `Explainer` takes."""
        return self._native.predict(read_rows(X, self._native, input).bits)

    def binarise(self, X: object, *, input: Reading = "auto") -> npt.NDArray[np.uint8]:
        """The rows as bits, a column for each feature."""
        return read_rows(X, self._native, input).bits

    def __repr__(self) -> str:
        classes = f", {_count(len(self.classes), 'class', 'classes')}" if self.classes else ""
        return f"Circuit({_count(len(self.features), 'feature')}{classes}, {_count(self.nodes, 'node')})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Circuit) and (self._native is other._native or self.to_bytes() == other.to_bytes())

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    def __reduce__(self) -> tuple[object, ...]:
        return Circuit.from_bytes, (self.to_bytes(),)


def load(path: PathLike) -> Model | Circuit:
    """Reads a model or circuit file; which of the two, its beginning tells.

    >>> import boolshap, pathlib, tempfile
    >>> circuit = boolshap.compile([([[1, 1, -1]], [0])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     circuit.save(pathlib.Path(folder, "vote.bsc"))
    ...     boolshap.load(pathlib.Path(folder, "vote.bsc")) == circuit
    True
    """
    try:
        with open(path, "rb") as file:
            start = file.read(len(_CIRCUIT_START))
    except OSError as error:
        raise file_error(path, error) from error
    return Circuit.load(path) if start == _CIRCUIT_START else Model.load(path)


def file_error(path: PathLike, error: OSError) -> FileError:
    """The same error in the words of this package."""
    return FileError(f"{os.fspath(path)}: {error.strerror or error}")


def write_whole(path: PathLike, content: bytes) -> None:
    """Writes a file whole or not at all: under another name first, which then takes the place of the old file.

    What is no regular file, such as a pipe, is written directly.
    """
    target = Path(os.path.realpath(path))
    begun = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(content)
            return
        try:
            with open(begun, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(begun, target)
        except BaseException:
            begun.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise file_error(path, error) from error


def _count(number: int, one: str, several: str | None = None) -> str:
    return f"{number} {one if number == 1 else several or one + 's'}"
