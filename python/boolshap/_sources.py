"""Where circuits come from: models and circuits, files, arrays, other libraries' models, and functions.

`compile` recognises a source by what it is, reads it into one of three forms (a network, a truth table, trees), and has
the library compile that. Sources that cannot be taken exactly are refused, never approximated.
"""

from __future__ import annotations

import inspect
import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from . import _keras, _layers, _native, _raw, _scores, _sklearn, _torch
from ._functions import MAX_FEATURES, Decide, Progress, deciding, reporter, truth_table
from ._game import players_of
from ._native import Circuit, Model, RealModel
from ._pipeline import Front, split_pipeline
from ._tables import holds_bits
from ._types import Bits, ModelOutput
from .errors import FileError, InputError

_FOREIGN = (".cnf", ".dimacs", ".sdd", ".nnf", ".ddnnf")
#: The default number of seconds after which compiling stops.
TIMEOUT = 3600.0
#: The most classes: tables hold a byte for each input.
MAX_CLASSES = 256
#: The most features of a full tree, which takes more memory than a table.
_MAX_TREE_FEATURES = 20


@dataclass(frozen=True)
class Options:
    """The options besides the source."""

    features: list[str] | int | None
    classes: list[str] | None
    class_: int | str | None
    via: str
    max_nodes: int | None
    timeout: float | None
    verify: bool
    progress: Progress
    inputs: str | None
    in_passing: bool = False
    #: Whether the background rows show that it takes bits.
    on_bits: bool = False
    free: list[str] | None = None
    at: list[int] | None = None
    model_output: str = "label"
    players: str | dict[str, str] | None = None
    #: The receiver of the library's progress.
    report: Callable[[float, float | None], object] | None = None

    def refuse(self, source: str, *names: str) -> None:
        """An error if one of these options was given: they mean nothing for this source."""
        for name in names:
            value = getattr(self, name)
            # Class 0 is a class, although 0 == False.
            if value is not None and value is not False and value != "auto":
                raise InputError(f"{name}={value!r} has no meaning for {source}")

    def names(self, count: int, own: list[str] | None = None) -> list[str]:
        """The names of the features: those given, the source's own, or x1, x2, ..."""
        if isinstance(self.features, int) and self.features != count:
            raise InputError(f"features is {self.features}, but the source has {count} features")
        if isinstance(self.features, list) and len(self.features) != count:
            raise InputError(f"features gives {len(self.features)} names for {count} features")
        given = self.features if isinstance(self.features, list) else own
        return given or [f"x{number}" for number in range(1, count + 1)]

    def class_names(self, own: list[str]) -> list[str]:
        """The names of the classes: those given, or the source's own."""
        if self.classes is not None and len(self.classes) != len(own):
            raise InputError(f"classes gives {len(self.classes)} names for {len(own)} classes")
        return self.classes or own

    def since(self, begin: float) -> Options:
        """The same with the remaining time."""
        left = None if self.timeout is None else max(self.timeout - (time.monotonic() - begin), 0.0)
        return replace(self, timeout=left)


def compile(
    source: object,
    *,
    features: Iterable[str] | int | None = None,
    classes: Iterable[str] | None = None,
    class_: int | str | None = None,
    via: str = "auto",
    max_nodes: int | None = None,
    timeout: float | None = TIMEOUT,
    verify: bool = False,
    progress: Progress = None,
    inputs: str | None = None,
    free: Iterable[str] | None = None,
    at: object = None,
    model_output: ModelOutput = "label",
    players: str | os.PathLike[str] | Mapping[str, str] | None = None,
) -> Circuit:
    """Compiles a model into a circuit, for `Explainer`.

    The source is a `Model`; a `Circuit`, which is returned as it is; the path of a file of either, of another program's
    circuit or formula (.cnf, .sdd, .nnf, .ddnnf) or network (HDF5 weights, safetensors, ONNX, .neuron, a folder of
    layers in CSV); layers as arrays: a list of (weights, bias), weights of shape (outputs, inputs), or of dicts with
    the keys weights, bias, norm (gamma, beta, mean, variance, epsilon) and name, with the sign between layers, +1 at 0;
    a PyTorch module or a Keras or Larq model of dense layers, batch normalisations and signs; a fitted scikit-learn
    classifier on binary features (one on raw columns is refused: `Explainer` explains it as it is); or a function of at
    most 24 features that takes an int64 array of zeros and ones, a row for each input, and answers with a class for
    each row: True and False, 0 and 1, or numbers or names of `classes`.

    A network answers 1 if its single score is at least 0, or the first class of those with the largest score. Networks,
    and scikit-learn's linear models and naive Bayes with more than 24 features, are decided in the exact arithmetic of
    their parameters, where floats would round. What cannot be converted exactly is refused.

    Parameters
    ----------
    features : the names of the features, or their number for a function. By default the source's own, or x1, x2, ...
    classes : the names of the classes. By default the source's own, or 0, 1, ...
    class_ : compile "the answer is this class", a number or a name. By default class 1 of two, or each of several.
    via : how a network becomes a circuit: auto, cnf, truth-table, partial-sums or apply. For classifiers of
        scikit-learn, truth-table evaluates their `predict`; the others read their fitted attributes.
    max_nodes, timeout : stop with a `LimitError` at this number of nodes, or after this number of seconds (an hour by
        default); None is no limit. Compiling also stops before the machine's memory is used up.
    verify : prove that the circuit is the model before returning it.
    progress : a callable that receives how much is done and of how much (None if that is unknown); True and False show
        a bar on standard error or none. By default a bar appears on a terminal after one second; tqdm's, if that is
        installed.
    free, at : keep these features of a network, and fix all others to this row of bits: the circuit is over `free`.
    inputs : how a bit enters a network of arrays, PyTorch or Keras: "signs" (-1 and +1, the default) or "bits". For an
        estimator of scikit-learn, "bits" states that it was fitted on bits, if nothing in it shows that.
    model_output : "label", the decision, or "score", the number before the last step or argmax: of each class, or of the
        only output. The scores of a network with one hidden layer need no circuit, whatever its size. Of scikit-learn's
        estimators, regressors included, the score is `decision_function`, else `predict_proba`, else `predict`; of a function
        of at most 24 features the number or numbers that it returns.
    players : choose the order of the circuit for these players of `Explainer`, so that explaining them need not reorder
        it. If that makes the circuit larger, its `provenance` says so under `order`.

    >>> import boolshap
    >>> compile([([[1, 1, -1]], [0])]).predict([[1, 1, 0], [0, 0, 1]]).tolist()
    [1, 0]
    >>> compile(lambda X: X.sum(axis=1) >= 2, features=["rain", "wind", "snow"]).models
    4
    """
    names = features if features is None or isinstance(features, int) else unique_names("features", features)
    class_names = None if classes is None else unique_names("classes", classes)
    if inputs not in (None, "signs", "bits"):
        raise InputError(f"inputs is {inputs!r}, neither 'signs' nor 'bits'")
    given_players = None if players is None else players_of(players)
    return _circuit(
        source,
        Options(
            names, class_names, class_, via, max_nodes, timeout, verify, progress, inputs, False, False, *_free_inputs(free, at),
            model_output=model_output, players=given_players, report=reporter(progress, "compile"),
        ),
    )


def _free_inputs(free: Iterable[str] | None, at: object) -> tuple[list[str] | None, list[int] | None]:
    if (free is None) != (at is None):
        raise InputError("free and at go together: which features are left, and the row that the others are fixed to")
    if free is None:
        return None, None
    row = np.asarray(at)
    if not np.isin(row, (0, 1)).all():
        raise InputError("at is not a row of 0 and 1, one for each feature")
    return unique_names("free", free), [int(bit) for bit in row.reshape(-1)]


def compile_in_passing(
    source: object, model_output: str, background: object = None, features: list[str] | int | None = None
) -> Circuit:
    """The same without options, where compiling is only a means: a network that would take long is refused. A function
    has as many features as the background has columns."""
    if inspect.isroutine(source) and background is not None:
        columns = getattr(background, "columns", None)
        features = [str(name) for name in columns] if columns is not None else int(np.asarray(background).shape[-1])
    return _circuit(source, Options(
        features, None, None, "auto", None, None, False, None, None, in_passing=True, on_bits=background is not None,
        model_output=model_output,
    ))


def find_raw(source: Any, background: object, input: str) -> _raw.Raw | None:
    """A model that takes raw columns, prepared for explaining it on them; None for everything that takes bits.

    Boosters of XGBoost and LightGBM take raw columns. For scikit-learn's estimators this shows in what they have
    learned, or in background rows that hold other values than 0 and 1.
    """
    source, front = _of_search(source), None
    if not _raw.is_booster(source):
        if not _sklearn.is_estimator(source) or isinstance(getattr(source, "model_", None), Model) or input == "bits":
            return None
        parts = split_pipeline(source)
        if parts is not None:
            front, source = parts[0], _of_search(parts[1])
            background = None if background is None else front.transform(front.rows_of(background))
            if isinstance(getattr(source, "model_", None), Model):
                return None
    why = _raw.why_raw(source)
    if why is None and (background is None or holds_bits(background, _fitted_names(source))):
        return None
    name = type(source).__name__
    found = _raw.read_raw(source)
    if found is None:
        raise InputError(
            f"{name} takes raw columns ({why or 'the background holds other values than 0 and 1'}), and on these only trees, "
            "forests, boosting and linear models are explained: put a boolshap.Binarizer in front and fit it on the bits"
        )
    return replace(found, front=front)


def pipeline_parts(source: Any) -> tuple[Front, Any] | None:
    """The steps of a pipeline before its model, and the model; None if this is not a pipeline."""
    source = _of_search(source)
    parts = split_pipeline(source) if _sklearn.is_estimator(source) else None
    return None if parts is None else (parts[0], _of_search(parts[1]))


def _of_search(source: Any) -> Any:
    """The best estimator of a search; anything else as it is."""
    while hasattr(source, "best_estimator_"):
        source = source.best_estimator_
    return source


def _fitted_names(source: Any) -> list[str] | None:
    names = getattr(source, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _check_bits(source: Any, options: Options) -> None:
    """An error if an estimator was fitted on other values than 0 and 1; a warning if it does not show that."""
    if options.inputs == "bits":
        return
    name, why = type(source).__name__, _raw.why_raw(source)
    if why is not None:
        raise InputError(
            f"{name} was fitted on raw columns ({why}), and a circuit takes bits: boolshap.Explainer({name}, rows) explains it on "
            "its columns, without a circuit; or put a boolshap.Binarizer in front and fit it on the bits"
        )
    blind = hasattr(source, "coef_") or hasattr(source, "coefs_")
    if blind and not options.on_bits and "BernoulliNB" not in _sklearn.class_names(source):
        warnings.warn(
            f"{name} does not show what it was fitted on: it is compiled as a function of bits; inputs=\"bits\" says that it is one",
            stacklevel=4,
        )


def _circuit(source: object, options: Options) -> Circuit:
    """Recognises a source."""
    if isinstance(source, (str, os.PathLike)):
        return _of_path(Path(source), options)
    if isinstance(source, Circuit):
        options.refuse("a circuit", "features", "classes", "class_", "via", "verify", "inputs", "free", "players")
        if options.model_output == "score" and source.model_output != "score":
            raise InputError("model_output='score' has no meaning for a circuit of labels: compile its model")
        return source
    if isinstance(source, (Model, RealModel)):
        return _of_model(source, options)
    if isinstance(source, (list, tuple, Mapping)):
        return _of_stack(_layers.of_arrays(source, options.inputs), options)
    if _torch.is_torch(source):
        count = options.features if isinstance(options.features, (int, type(None))) else len(options.features)
        return _of_stack(_torch.of_torch(source, options.inputs, count), options)
    if _raw.is_booster(source):
        _check_bits(_of_search(source), options)
    if _sklearn.is_estimator(source):
        source = _of_search(source)
        own = getattr(source, "model_", None)
        if not isinstance(own, Model) and "Pipeline" not in _sklearn.class_names(source):
            _check_bits(source, options)
            options = replace(options, inputs=None) if options.inputs == "bits" else options
        if hasattr(source, "coefs_") and hasattr(source, "out_activation_") and options.via == "auto":
            options.refuse(f"a {type(source).__name__}", "inputs", "free")
            return _scores.of_perceptron(source, options)
        if options.model_output == "score" and not isinstance(own, Model):
            options.refuse(type(source).__name__, "inputs")
            return _scores.of_estimator(source, options)
        # A BnnClassifier holds its network.
        return _of_model(own, options) if isinstance(own, Model) else _of_classifier(_sklearn.describe(source), options)
    if _keras.is_keras(source):
        return _of_stack(_keras.of_keras(source, options.inputs), options)
    if callable(source) and not isinstance(source, type):
        return _of_function(source, options)
    raise InputError(
        f"{type(source).__name__} cannot be compiled: give a model, a circuit, a path, layers as arrays, a PyTorch, Keras "
        "or scikit-learn model, or a function"
    )


def unique_names(what: str, names: Iterable[str]) -> list[str]:
    """The names, if they are texts and all different."""
    if isinstance(names, (str, bytes)):
        raise InputError(f"{what} is the text {names!r}, not a list of names")
    texts = list(names)
    for name in texts:
        if not isinstance(name, str) or texts.count(name) > 1:
            wrong = "is there twice" if isinstance(name, str) else "is not a name"
            raise InputError(f"{what}: {name!r} {wrong}")
    return texts


def _of_path(path: Path, options: Options) -> Circuit:
    if path.suffix in _FOREIGN:
        options.refuse("a file", "inputs")
        options.refuse(f"a {path.suffix} file", "classes")
        return _native.compile(path, options)
    if path.is_dir() or not _is_ours(path):
        return _of_model(_native.import_network(path, options.inputs), replace(options, inputs=None))
    options.refuse("a file", "inputs")
    return _circuit(_native.load(path), options)


def _is_ours(path: Path) -> bool:
    """Whether this is a model or circuit file, which say so at their beginning."""
    try:
        with open(path, "rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from error
    return start.startswith(b"boolshap circuit\n") or b'"boolshap model"' in start


def _of_stack(stack: _layers.Stack, options: Options) -> Circuit:
    model = _native.network_of_steps(stack.steps, stack.inputs, False)
    if isinstance(model, RealModel) and options.inputs is None:
        raise InputError("a network of real weights takes a bit as 0 and 1 or as -1 and +1: give inputs='bits' or 'signs'")
    if stack.seen is not None:
        bits, labels = stack.seen
        answers = model.predict(bits)
        if (answers != labels).any():
            row = int(np.argmax(answers != labels))
            entity = "".join(map(str, bits[row].tolist()))
            raise InputError(
                f"on the input {entity} the network itself answers {labels[row]}, but {answers[row]} in exact "
                "arithmetic: its floats round; with at most 24 features compile its predict function"
            )
    return _of_model(model, replace(options, inputs=None))


def _of_model(model: Model | RealModel, options: Options) -> Circuit:
    options.refuse("a model", "inputs")
    if options.classes is not None:
        model = model._with_classes(options.classes)
    return _native.compile(model, options)


def _of_function(predict: Callable[..., Any], options: Options) -> Circuit:
    options.refuse("a function", "inputs", "free")
    if options.model_output == "score":
        return _scores.of_function(lambda bits: predict(bits.astype(np.int64)), options)
    if options.features is None:
        raise InputError("a function does not say how many features it has: give features=, their names or number")
    count = options.features if isinstance(options.features, int) else len(options.features)
    if not 1 <= count <= MAX_FEATURES:
        raise InputError(f"a function can have 1 to {MAX_FEATURES} features, not {count}: all its inputs are tried")
    if options.classes is not None and not 2 <= len(options.classes) <= MAX_CLASSES:
        raise InputError(f"there are {len(options.classes)} classes, not 2 to {MAX_CLASSES}")
    decide = deciding(predict, options.classes)
    return _of_decisions(decide, options.names(count), options.classes or ["0", "1"], "a function", options)


def _of_decisions(decide: Decide, features: list[str], classes: list[str], what: str, options: Options) -> Circuit:
    """A circuit from the truth table."""
    if options.via not in ("auto", "truth-table"):
        raise InputError(f"via={options.via!r} has no meaning for {what}, which is compiled by its truth table")
    begin = time.monotonic()
    values = truth_table(decide, len(features), options.progress, options.timeout)
    # Only the table was reported: the rest takes hardly any time.
    circuit = _native.compile((values, features, classes), replace(options.since(begin), report=None))
    return _native.verify_table(circuit, values) if options.verify else circuit


def _of_classifier(classifier: _sklearn.Classifier, options: Options) -> Circuit:
    options.refuse(f"a {classifier.name}", "inputs", "free")
    features = options.names(classifier.inputs, classifier.features)
    classes = options.class_names(classifier.classes)
    if len(classes) > MAX_CLASSES:
        raise InputError(f"{classifier.name} has {len(classes)} classes, more than {MAX_CLASSES}")
    few = classifier.inputs <= MAX_FEATURES
    if options.via == "truth-table" or (options.via == "auto" and few and not classifier.is_tree):
        if not few:
            raise InputError(f"{classifier.name}: truth tables end at {MAX_FEATURES} features, not {classifier.inputs}")
        return _of_decisions(classifier.decide, features, classes, classifier.name, options)
    if classifier.is_linear:
        model = Model._of_steps([_sklearn.layer_of(classifier)], "bits", features, classes)
        return _of_model(model, replace(options, features=None, classes=None))
    if (classifier.is_tree or classifier.is_forest) and options.via in ("auto", "apply"):
        return _of_trees(classifier, features, classes, options)
    if few:
        raise InputError(f"via={options.via!r} has no meaning for {classifier.name}")
    raise InputError(
        f"{classifier.name} has {classifier.inputs} features; it is compiled by its truth table, which ends at "
        f"{MAX_FEATURES}"
    )


def _of_trees(classifier: _sklearn.Classifier, features: list[str], classes: list[str], options: Options) -> Circuit:
    if options.verify and classifier.inputs > MAX_FEATURES:
        raise InputError(
            f"verify compares all inputs of {MAX_FEATURES} features at most, and {classifier.name} has "
            f"{classifier.inputs}"
        )
    begin, trees = time.monotonic(), _sklearn.trees_of(classifier)
    used = _sklearn.used_features(trees)
    if options.via == "auto" and classifier.is_forest and len(used) <= _MAX_TREE_FEATURES:

        def decide(bits: Bits) -> Bits:
            rows = np.zeros((len(bits), classifier.inputs), dtype=np.uint8)
            rows[:, used] = bits
            return classifier.decide(rows)

        values = truth_table(decide, len(used), options.progress, options.timeout)
        trees = [_sklearn.tree_of_table(values, used, len(classes))]
    circuit = _native.compile((trees, features, classes), options.since(begin))
    if not options.verify:
        return circuit
    expected = truth_table(classifier.decide, classifier.inputs, options.progress, options.since(begin).timeout)
    return _native.verify_table(circuit, expected)
