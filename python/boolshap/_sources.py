"""Where circuits come from: models and circuits, files, arrays, other libraries' models, and functions.

`compile` recognises a source by what it is, reads it into one of three forms (a network, a truth table, trees), and has
the library compile that. Sources that cannot be taken exactly are refused, never approximated.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from . import _keras, _layers, _native, _sklearn, _torch
from ._core import Circuit, Model, load
from ._functions import MAX_FEATURES, Bits, Decide, Progress, deciding, inputs_from, truth_table
from .errors import FileError, InputError, LimitError

_VIAS = ("auto", "cnf", "truth-table", "partial-sums", "apply")
_FOREIGN = (".cnf", ".dimacs", ".sdd", ".nnf", ".ddnnf")
#: The most classes: tables hold a byte for each input.
MAX_CLASSES = 256
#: The most features that a full tree is made of, which takes more room than a table.
_MAX_TREE_FEATURES = 20


@dataclass(frozen=True)
class _Options:
    """What was asked for, beside the source."""

    features: list[str] | int | None
    classes: list[str] | None
    class_: int | str | None
    via: str
    max_nodes: int | None
    timeout: float | None
    verify: bool
    progress: Progress
    inputs: str | None

    def refuse(self, source: str, *names: str) -> None:
        """An error if one of these options was given, which mean nothing for this source."""
        for name in names:
            value = getattr(self, name)
            # Class 0 is a class, although 0 == False.
            if value is not None and value is not False and value != "auto":
                raise InputError(f"{name.rstrip('_')}={value!r} has no meaning for {source}")

    def names(self, count: int, own: list[str] | None = None) -> list[str]:
        """The names of so many features: those given, the source's own, or x1, x2, ..."""
        given = self.features
        if given is None or isinstance(given, int):
            if given is not None and given != count:
                raise InputError(f"features={given}, but the source has {count} features")
            return own or [f"x{number}" for number in range(1, count + 1)]
        if len(given) != count:
            raise InputError(f"there are {len(given)} names for {count} features")
        return given

    def class_names(self, count: int, own: list[str] | None = None) -> list[str]:
        """The names of so many classes: those given, the source's own, or 0, 1, ..."""
        names = self.classes or own or [str(number) for number in range(count)]
        if len(names) != count:
            raise InputError(f"there are {len(names)} names for {count} classes")
        return names

    def class_number(self, names: list[str]) -> int | None:
        """The class asked for, given by number or name."""
        if self.class_ is None:
            return None
        if isinstance(self.class_, str):
            if self.class_ not in names:
                raise InputError(f"there is no class {self.class_!r}; the classes are {', '.join(names)}")
            return names.index(self.class_)
        if not 0 <= self.class_ < len(names):
            raise InputError(f"class {self.class_} is not between 0 and {len(names) - 1}")
        return self.class_


def compile(
    source: object,
    *,
    features: Iterable[str] | int | None = None,
    classes: Iterable[str] | None = None,
    class_: int | str | None = None,
    via: str = "auto",
    max_nodes: int | None = None,
    timeout: float | None = None,
    verify: bool = False,
    progress: Progress = None,
    inputs: str | None = None,
) -> Circuit:
    """Compiles a model into a circuit, for `Explainer`.

    The source is one of

    * a `Model`; a `Circuit`, which comes back as it is; or the path of a file of either;
    * the path of another program's file: a circuit or formula (.cnf, .sdd, .nnf, .ddnnf), or a network (Keras and Larq
      weights in HDF5, safetensors, ONNX, .neuron, a folder of layers in CSV);
    * layers as arrays: a list of (weights, bias), weights of shape (outputs, inputs), or of dicts with the keys
      weights, bias, norm (gamma, beta, mean, variance, epsilon) and name. Between layers stands the sign, +1 at 0;
    * a PyTorch module or a Keras or Larq model of dense layers, batch normalisations and signs;
    * a fitted scikit-learn classifier on binary features;
    * a function of at most 24 features that takes an int64 array of zeros and ones, a row for each input, and answers
      with a class for each row: True and False, 0 and 1, or numbers or names of `classes`. It is asked for all inputs.

    A network answers 1 if its single score is at least 0, else the first class of those with the largest score. It and
    scikit-learn's linear models and naive Bayes beyond 24 features are decided in the exact arithmetic of their
    parameters, where floats would round. What cannot be converted exactly is refused.

    Parameters
    ----------
    features : the names of the features, or for a function how many there are. Else the source's own, or x1, x2, ...
    classes : the names of the classes. Else the source's own, or 0, 1, ...
    class_ : compile "the answer is this class", a number or a name. Else class 1 of two, and each of several.
    via : how a network becomes a circuit: auto, cnf, truth-table, partial-sums or apply. For classifiers of
        scikit-learn, truth-table asks their `predict`; the others read their fitted attributes.
    max_nodes, timeout : end with a `LimitError` at so many nodes, after so many seconds.
    verify : prove that the circuit is the model before it is given.
    progress : a callable that is told how many inputs of a function are done, of how many; True and False show a bar on
        standard error or none. By default there is one on a terminal.
    inputs : how a bit enters a network of arrays, PyTorch or Keras: "signs" (-1 and +1, the default) or "bits" (0
        and 1).

    Examples
    --------
    >>> import boolshap
    >>> compile([([[1, 1, -1]], [0])]).predict([[1, 1, 0], [0, 0, 1]]).tolist()
    [1, 0]
    >>> majority = compile(lambda X: X.sum(axis=1) >= 2, features=["rain", "wind", "snow"])
    >>> majority.models
    4
    """
    options = _Options(
        features if features is None or isinstance(features, int) else _texts("features", features),
        None if classes is None else _texts("classes", classes),
        class_,
        via,
        max_nodes,
        timeout,
        verify,
        progress,
        inputs,
    )
    if via not in _VIAS:
        raise InputError(f"via is {via!r}, not one of {', '.join(_VIAS)}")
    if inputs not in (None, "signs", "bits"):
        raise InputError(f"inputs is {inputs!r}, neither 'signs' nor 'bits'")
    if isinstance(source, (str, os.PathLike)):
        return _of_path(Path(source), options)
    if isinstance(source, Circuit):
        options.refuse("a circuit", "features", "classes", "class_", "via", "verify", "inputs")
        return source
    if isinstance(source, Model):
        return _of_model(source, options)
    if isinstance(source, (list, tuple, Mapping)):
        return _of_stack(_layers.of_arrays(source, inputs), options)
    if _torch.is_torch(source):
        count = options.features if isinstance(options.features, (int, type(None))) else len(options.features)
        return _of_stack(_torch.of_torch(source, inputs, count), options)
    if _sklearn.is_estimator(source):
        # A search stands for what it found.
        while hasattr(source, "best_estimator_"):
            source = source.best_estimator_
        own = getattr(source, "model_", None)
        # A BnnClassifier: its network is at hand.
        return _of_model(own, options) if isinstance(own, Model) else _of_classifier(_sklearn.describe(source), options)
    if _keras.is_keras(source):
        return _of_stack(_keras.of_keras(source, inputs), options)
    if callable(source) and not isinstance(source, type):
        return _of_function(source, options)
    raise InputError(
        f"{type(source).__name__} is no source of a circuit: give a model, a circuit, a path, layers as arrays, a "
        "PyTorch, Keras or scikit-learn model, or a function"
    )


def _texts(what: str, names: Iterable[str]) -> list[str]:
    if isinstance(names, (str, bytes)):
        raise InputError(f"{what} is the text {names!r}, not a list of names")
    texts = list(names)
    for name in texts:
        if not isinstance(name, str):
            raise InputError(f"{what}: {name!r} is no name")
    repeated = next((name for name in texts if texts.count(name) > 1), None)
    if repeated is not None:
        raise InputError(f"{what}: {repeated!r} stands there twice")
    return texts


def _of_path(path: Path, options: _Options) -> Circuit:
    options.refuse("a file", "inputs")
    if not path.exists():
        raise FileError(f"{path}: there is no such file or folder")
    if path.suffix in _FOREIGN:
        options.refuse(f"a {path.suffix} file", "classes", "class_", "via", "verify")
        count = options.features if isinstance(options.features, int) else None
        names = options.features if isinstance(options.features, list) else None
        variables = count if names is None else len(names)
        native = _native.Circuit.read_foreign(str(path), variables, names, options.max_nodes, options.timeout)
        options.names(len(native.features))
        return Circuit._of(native)
    if path.is_dir() or not _is_ours(path):
        return _of_model(Model.import_file(path), options)
    return compile(
        load(path),
        features=options.features,
        classes=options.classes,
        class_=options.class_,
        via=options.via,
        max_nodes=options.max_nodes,
        timeout=options.timeout,
        verify=options.verify,
    )


def _is_ours(path: Path) -> bool:
    """Whether this is a model or circuit file, which say so at their beginning."""
    try:
        with open(path, "rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from error
    return start.startswith(b"boolshap circuit\n") or b'"boolshap model"' in start


def _of_stack(stack: _layers.Stack, options: _Options) -> Circuit:
    inputs = stack.layers[0][1].shape[1]
    native = _native.Model.of_layers(stack.layers, stack.inputs, options.names(inputs), options.classes)
    if stack.seen is not None:
        bits, labels = stack.seen
        wrong = native.predict(bits) != labels
        if wrong.any():
            row = int(np.argmax(wrong))
            entity = "".join(map(str, bits[row].tolist()))
            raise InputError(
                f"on the input {entity} the network itself answers {labels[row]}, but {native.predict(bits)[row]} in "
                "exact arithmetic: its floats round; with at most 24 features compile its predict function"
            )
    return _of_model(Model._of(native), replace(options, features=None, classes=None, inputs=None))


def _of_model(model: Model, options: _Options) -> Circuit:
    options.refuse("a model", "inputs")
    if options.features is not None or options.classes is not None:
        model = _renamed(model, options)
    names = model.classes
    number = options.class_number(names)
    return Circuit._of(
        model._native.compile(
            options.via,
            number,
            number is None and len(names) > 2,
            options.max_nodes,
            options.timeout,
            options.verify,
        )
    )


def _renamed(model: Model, options: _Options) -> Model:
    """The model with other names; how raw columns become bits is lost with the features' names."""
    content = json.loads(model.to_json())
    names = options.names(len(model.features), model.features)
    if names != model.features:
        content["features"], content["schema"] = names, None
    content["classes"] = options.class_names(len(model.classes), model.classes)
    return Model.from_json(json.dumps(content))


def _of_function(predict: Callable[..., Any], options: _Options) -> Circuit:
    options.refuse("a function", "inputs")
    if options.features is None:
        raise InputError("a function does not say how many features it has: give features=, their names or number")
    count = options.features if isinstance(options.features, int) else len(options.features)
    if not 1 <= count <= MAX_FEATURES:
        raise InputError(f"a function can have 1 to {MAX_FEATURES} features, not {count}: all its inputs are tried")
    if options.classes is not None and not 2 <= len(options.classes) <= MAX_CLASSES:
        raise InputError(f"there are {len(options.classes)} classes, not 2 to {MAX_CLASSES}")
    names = options.class_names(2 if options.classes is None else len(options.classes))
    return _of_decisions(deciding(predict, options.classes), options.names(count), names, "a function", options)


def _of_decisions(decide: Decide, features: list[str], classes: list[str], what: str, options: _Options) -> Circuit:
    """A circuit by way of the truth table."""
    if options.via not in ("auto", "truth-table"):
        raise InputError(f"via={options.via!r} has no meaning for {what}, which is compiled by its truth table")
    values = truth_table(decide, len(features), options.progress, options.timeout)
    number = options.class_number(classes)
    if number is not None:
        values, classes = (values == number).astype(np.uint8), ["other", classes[number]]
    circuit = _native.Circuit.of_table(values, features, classes)
    if options.max_nodes is not None and circuit.nodes > options.max_nodes:
        raise LimitError(f"the circuit has {circuit.nodes} nodes, more than the limit of {options.max_nodes}")
    if options.verify:
        _compare(circuit, truth_table(lambda bits: circuit.predict(bits).astype(np.uint8), len(features)), values)
    return Circuit._of(circuit)


def _compare(circuit: _native.Circuit, found: Bits, expected: Bits) -> None:
    wrong = found != expected
    if wrong.any():
        number = int(np.argmax(wrong))
        entity = "".join(map(str, inputs_from(number, number + 1, len(circuit.features))[0].tolist()))
        raise InputError(f"the circuit and the model part on the entity {entity}")


def _of_classifier(classifier: _sklearn.Classifier, options: _Options) -> Circuit:
    options.refuse(f"a {classifier.name}", "inputs")
    features = options.names(classifier.inputs, classifier.features)
    classes = options.class_names(len(classifier.classes), classifier.classes)
    if len(classes) > MAX_CLASSES:
        raise InputError(f"{classifier.name} has {len(classes)} classes, more than {MAX_CLASSES}")
    few = classifier.inputs <= MAX_FEATURES
    if options.via == "truth-table" or (options.via == "auto" and few and not classifier.is_tree):
        if not few:
            raise InputError(f"{classifier.name}: truth tables end at {MAX_FEATURES} features, not {classifier.inputs}")
        return _of_decisions(classifier.decide, features, classes, classifier.name, options)
    if classifier.is_linear:
        native = _native.Model.of_layers(_sklearn.layers_of(classifier), "bits", features, classes)
        return _of_model(Model._of(native), replace(options, features=None, classes=None))
    if (classifier.is_tree or classifier.is_forest) and options.via in ("auto", "apply"):
        return _of_trees(classifier, features, classes, options)
    if few:
        raise InputError(f"via={options.via!r} has no meaning for {classifier.name}")
    raise InputError(
        f"{classifier.name} has {classifier.inputs} features; it is compiled by its truth table, which ends at "
        f"{MAX_FEATURES}"
    )


def _of_trees(
    classifier: _sklearn.Classifier, features: list[str], classes: list[str], options: _Options
) -> Circuit:
    begin = time.monotonic()
    trees = _sklearn.trees_of(classifier)
    used = _sklearn.used_features(trees)
    if options.via == "auto" and classifier.is_forest and len(used) <= _MAX_TREE_FEATURES:

        def decide(bits: Bits) -> Bits:
            rows = np.zeros((len(bits), classifier.inputs), dtype=np.uint8)
            rows[:, used] = bits
            return classifier.decide(rows)

        values = truth_table(decide, len(used), options.progress, options.timeout)
        trees = [_sklearn.tree_of_table(values, used, len(classes))]
    number = options.class_number(classes)
    if len(trees) > 1 and len(classes) == 2 and number == 1:
        # What is compiled of two classes anyway.
        number = None
    if number is not None and len(trees) > 1:
        other = "its circuit is that of the second class, of which the first is the opposite"
        choose = "all classes are compiled; choose one in Explainer(circuit, class_=...)"
        raise InputError(f"{classifier.name}: {choose if len(classes) > 2 else other}")
    if number is not None:
        tree_features, left, right, weights = trees[0]
        chosen = (weights.argmax(axis=1) == number).astype(np.float64)
        trees = [(tree_features, left, right, np.stack([1 - chosen, chosen], axis=1))]
        classes = ["other", classes[number]]
    left_time = None if options.timeout is None else max(options.timeout - (time.monotonic() - begin), 0.0)
    circuit = _native.Circuit.of_trees(trees, features, classes, options.max_nodes, left_time)
    if options.verify:
        if classifier.inputs > MAX_FEATURES:
            raise InputError(
                f"verify compares all inputs of {MAX_FEATURES} features at most, and {classifier.name} has "
                f"{classifier.inputs}"
            )
        count = classifier.inputs
        found = truth_table(lambda bits: circuit.predict(bits).astype(np.uint8), count)
        expected = truth_table(classifier.decide, count, options.progress, left_time)
        _compare(circuit, found, expected if number is None else (expected == number).astype(np.uint8))
    return Circuit._of(circuit)
