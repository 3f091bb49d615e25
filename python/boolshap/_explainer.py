"""Explainers: a circuit, its players, and the values of absent players.

The scores explain the decision, 0 or 1, or the number that decides: `model_output` selects which.
"""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from . import _archive, _game, _native
from ._background import given_background
from ._explanation import ExactExplanation, Explanation, explanation_class
from ._game import Game, output_of
from ._native import Circuit
from ._pipeline import Front
from ._shown import as_images, as_numbers, shown_rows
from ._tables import Rows, read_rows
from ._types import Distribution, EngineName, Floats, Index, ModelOutput, PathLike, Reading
from .errors import FileError, InputError

_FORMAT = "boolshap explainer 1"


class Explainer:
    """Gives exact scores for rows.

    `circuit` is a `Circuit`, or anything that `boolshap.compile` takes. A network that would take long to compile is
    explained without a circuit against a background or a reference, where up to 25 players differ; otherwise it is
    refused and has to be compiled first.

    `model_output` selects what is explained: `"label"`, the decision, 0 or 1 (for a circuit of several classes, "it is
    this class"); or `"score"`, the number before the last step or argmax, a score for each class. By default it is what
    a circuit holds, and the label of a model.

    `distribution` says what fills in absent players:

    - `"uniform"`, the default: all values are equally likely;
    - `"product"`: independent, with `probabilities` (an array in the order of the features, or a dict by name), or else
      with the marginals of training that the circuit keeps;
    - `"background"`, the default with a `background`: as in its rows, whatever the present values are. This is what the
      shap package calls interventional;
    - `"empirical"`: as in those rows of `background` that agree with the present values. If all players are present,
      it is the row's own label, v(all) = f(row), so that scores add up to it even if the background holds no such row;
    - `"reference"`, the default with a `reference`: as in this one row, `"zeros"`, `"ones"` or a row; or, for images,
      `"blur"` or `"blur:2"`: as in a copy of each row in which every pixel is the median of those around it, within
      this radius.

    `constraint` leaves only inputs that satisfy a formula: a DIMACS file, its text, or a list of clauses, which are
    lists of numbers (feature 1 is the first; negative: it is 0) or of feature names (with a leading `-`: it is 0). It
    goes with `"uniform"` and `"product"`.

    `players` are the `"features"`, the `"columns"` (a one-hot column is one player), a dict that gives every feature
    the name of its player, or a PNG file, each colour of which is a player. `regions=(7, 7)` are seven rows of seven
    rectangles of pixels as players, where the features have a grid (`Model.with_grid`).

    `groups` is a dict that gives every player the name of its group, for the index `"owen"`.

    `class_` picks one class of several, by index or name. `"predicted"` means the class predicted for each row, the
    default of the command line; `"each"` or None all classes, along a last axis, because an array needs one shape; for
    scores also `"A-B"`, the score of class A minus that of class B.
    `threads` is the number of threads, all cores by default. `input` says how to read the rows: `"raw"`, `"bits"`, or
    `"auto"` to decide from the column names.

    `engine="table"` computes the scores of all inputs at once, for up to 22 features that the circuit mentions and the
    uniform distribution, and then looks rows up: for a million different rows of 20 bits. `"fast"`, the default,
    computes row by row; `"paper"` and `"brute-force"` are slower, to check the results.

    A tree, forest, boosting or linear model that was fitted on raw columns is explained without a circuit: every column is a
    player, and a background is needed. Then `model_output` is `"score"` by default.

    Users of shap can pass `masker=` or `data=` for the background, and give `shap.maskers.Independent` or what
    `shap.kmeans` returns; `link` can only be the identity, `model_output="raw"` is `"score"`, `feature_names` and
    `output_names` are the names in explanations.

    >>> import boolshap
    >>> circuit = boolshap.compile([([[1, 1, -1]], [0])], features=["rain", "wind", "roof"])
    >>> explainer = Explainer(circuit)
    >>> explanation = explainer([[1, 1, 0], [0, 1, 1]])
    >>> explanation.values.round(4).tolist()
    [[0.1667, 0.1667, 0.1667], [-0.3333, 0.1667, -0.3333]]
    >>> explanation.base_values.tolist(), explanation.feature_names
    ([0.5, 0.5], ['rain', 'wind', 'roof'])
    """

    _output_names: list[str] | None
    _feature_names: list[str] | None
    _front: Front | None

    def __new__(cls, circuit: object = None, background: object = None, **settings: Any) -> Explainer:
        if cls is Explainer and circuit is not None and not isinstance(circuit, Circuit):
            from ._raw_explainer import RawExplainer
            from ._sources import find_raw

            given = given_background(background, settings.get("masker"), settings.get("data"))
            found = find_raw(circuit, given, settings.get("input", "auto"))
            if found is not None:
                explainer = super().__new__(RawExplainer)
                explainer.__dict__["_found"] = found
                return explainer
        return super().__new__(cls)

    def __init__(
        self,
        circuit: object,
        background: object = None,
        *,
        distribution: Distribution | None = None,
        probabilities: object = None,
        constraint: object = None,
        players: str | os.PathLike[str] | Mapping[str, str] = "features",
        groups: Mapping[str, str] | None = None,
        regions: tuple[int, int] | str | None = None,
        reference: object = None,
        class_: int | str | None = None,
        model_output: ModelOutput | None = None,
        engine: EngineName | None = None,
        threads: int | None = None,
        input: Reading = "auto",
        masker: object = None,
        data: object = None,
        link: object = None,
        feature_names: Iterable[str] | None = None,
        output_names: Iterable[str] | None = None,
    ) -> None:
        background = self._settled(background, masker, data, link, output_names)
        if model_output is not None:
            model_output = output_of(model_output)
        if input not in ("auto", "raw", "bits"):
            raise InputError(f"input {input!r} is not one of auto, raw, bits")
        front = None
        if not isinstance(circuit, Circuit):
            from ._sources import compile_in_passing, pipeline_parts

            parts = pipeline_parts(circuit)
            if parts is not None:
                front, circuit = parts
                background = front.background(background)
            names = None if front is None else front.made_names()
            circuit = compile_in_passing(circuit, model_output or "label", background, names)
        if front is not None:
            input = "bits" if circuit.raw_columns is None else "raw"
            players = front.players(circuit.features, players)
        features, named = circuit.features, cast("str | None", distribution)
        if reference is not None:
            if background is not None or distribution not in (None, "reference"):
                raise InputError("reference is a background of one row: no other background or distribution beside it")
            if isinstance(reference, str) and reference.split(":")[0] == "blur":
                named = f"reference:{reference}"
            else:
                background, named = _game.reference_of(reference, features), "reference"
        game = Game(
            distribution=named,
            probabilities=None if probabilities is None else _game.probabilities_of(probabilities, features),
            rows=None if background is None else _game.background_of(background, circuit, input),
            constraint=None if constraint is None else _game.constraint_text(constraint, features),
            players=_game.players_of(players) if regions is None else _game.regions_of(regions, players),
            groups=None if groups is None else _game.groups_of(groups),
            engine=engine,
        )
        self._prepare(circuit, game, class_, _game.thread_count(threads), input, model_output)
        self._front = front
        if feature_names is not None:
            self._feature_names = [str(name) for name in feature_names]
            if len(self._feature_names) != len(self.players):
                raise InputError(f"feature_names gives {len(self._feature_names)} names for {len(self.players)} players")

    def _settled(
        self, background: object, masker: object, data: object, link: object, output_names: Iterable[str] | None
    ) -> object:
        """The background under any of its names, after checking shap's other arguments."""
        if link is not None and (link if isinstance(link, str) else getattr(link, "__name__", "")) != "identity":
            raise InputError("link can only be the identity: scores are those of the label, or of the model's own number")
        self._output_names = None if output_names is None else [str(name) for name in output_names]
        self._feature_names = None
        return given_background(background, masker, data)

    def _prepare(
        self,
        circuit: Circuit,
        game: Game,
        class_: object,
        threads: int | None,
        input: Reading,
        model_output: ModelOutput | None = None,
    ) -> None:
        self._circuit, self._game, self._threads, self._input = circuit, game, threads, input
        self.__dict__.setdefault("_feature_names", None)
        self.__dict__.setdefault("_output_names", None)
        self.__dict__.setdefault("_front", None)
        for caution in circuit.cautions:
            warnings.warn(caution, stacklevel=3)
        probabilities = None if game.probabilities is None else game.probabilities.tolist()
        self._native = _native.Explainer(
            circuit,
            game.distribution,
            probabilities,
            game.rows,
            game.constraint,
            game.players,
            game.groups,
            class_,
            model_output,
            game.engine,
        )
        for note in self._native.notes[len(circuit.cautions) :]:
            warnings.warn(note, stacklevel=3)
        if isinstance(game.players, str) and game.players.endswith(".png"):
            # The image may be gone when the explainer is loaded again.
            members = zip(self._native.players, self._native.members)
            named = {circuit.features[member]: player for player, own in members for member in own}
            self._game = replace(game, players=named)

    @property
    def circuit(self) -> Circuit:
        """The circuit whose decisions are explained."""
        return self._circuit

    @property
    def distribution(self) -> Distribution:
        """What fills in absent players."""
        return cast(Distribution, self._native.distribution)

    @property
    def players(self) -> list[str]:
        """The names of the players, in the order of their scores."""
        return self._native.players

    @property
    def model_output(self) -> ModelOutput:
        """What is explained: the label, or the score that decides it."""
        return cast(ModelOutput, self._native.model_output)

    @property
    def output_names(self) -> list[str] | None:
        """The names of the classes, if each of several is explained."""
        if self._native.scope != "each":
            return None
        return self._output_names or self._circuit.classes

    def __call__(self, X: object, *, check_additivity: bool = True, silent: bool = True) -> Explanation:
        """The Shapley values of rows: a `shap.Explanation` if shap is installed, else one of our own class.

        `data` holds the rows in the form that people know: raw values if the rows are raw and the player is one column,
        the category of a one-hot column, otherwise the bit; for a player of several features, how many of them are 1.
        If some of these are texts, `display_data` holds them, and `data` has numbers: the position of the text among
        those of its column.

        Base value and scores are always checked to add up, and nothing is printed: `check_additivity` and `silent` only
        exist for calls written for shap.
        """
        rows = self._read_any(X)
        values, base_values = self._explained(rows, "shapley")
        data, shown = self._as_shown(rows)
        return explanation_class()(
            values,
            base_values=base_values,
            data=data,
            display_data=shown,
            feature_names=self._feature_names or self.players,
            output_names=self.output_names,
        )

    def images(self, X: object) -> Explanation:
        """The Shapley values as images, for `shap.image_plot`: `values` is (rows, height, width, 1), or (rows, height,
        width, 1, classes) if each of several classes is explained, and `data` the images. The score of a player of
        several pixels is divided among them, so that sums stay the same. The features must have a grid
        (`Model.with_grid`).

        >>> import boolshap
        >>> layers = boolshap.compile([([[1, 1, -1, 1]], [0])])
        >>> Explainer(layers, [[0, 0, 0, 0]]).images([1, 1, 1, 1])
        Traceback (most recent call last):
            ...
        boolshap.errors.InputError: images need to know how the features are laid out: give the model a grid
        """
        grid, pixels = self._circuit.grid, self._circuit._pixels()
        if grid is None or pixels is None:
            raise InputError("images need to know how the features are laid out: give the model a grid")
        rows = self._read(X)
        values, base_values, _ = self._native.explain(rows.bits, "shapley", self._threads)
        images, shown = as_images(values, rows.bits, self._native.members, pixels, grid)
        return explanation_class()(images, base_values=base_values, data=shown, output_names=self.output_names)

    def shap_values(self, X: object, *, check_additivity: bool = True, silent: bool = True) -> Floats:
        """The Shapley values alone: (rows, players), or (rows, players, classes) if each of several classes is
        explained.

        >>> import boolshap
        >>> explainer = Explainer(boolshap.compile([([[1, 1, -1]], [0])]), [[0, 0, 0]])
        >>> explainer.shap_values([1, 1, 1]).round(4).tolist()
        [[0.6667, 0.6667, -0.3333]]
        """
        return self._values(X, "shapley")

    def banzhaf(self, X: object) -> Floats:
        """The Banzhaf values: the mean contribution over all coalitions. They need not add up to anything.

        >>> import boolshap
        >>> Explainer(boolshap.compile([([[1, 1, -1]], [0])])).banzhaf([1, 1, 0]).tolist()
        [[0.1875, 0.1875, 0.1875]]
        """
        return self._values(X, "banzhaf")

    def interactions(self, X: object) -> Floats:
        """The Shapley interaction index of every pair of players: (rows, players, players), with a last axis for the
        classes if each of several is explained.

        The array is symmetric, each half holds the whole index of the pair, and the diagonal is zero: a player does
        not interact with itself. (shap's TreeExplainer gives each half half of it, and main effects on the diagonal.)

        >>> import boolshap
        >>> both = boolshap.compile([([[1, 1]], [-1])], features=["left", "right"])
        >>> Explainer(both).interactions([1, 1]).tolist()
        [[[0.0, 0.25], [0.25, 0.0]]]
        """
        pairs, count = self._values(X, "interaction"), len(self.players)
        first, second = np.triu_indices(count, 1)
        square = np.zeros((len(pairs), count, count, *pairs.shape[2:]))
        square[:, first, second] = square[:, second, first] = pairs
        return square

    def shap_interaction_values(self, X: object) -> Floats:
        """The same in shap's convention: each of a pair's two cells holds half of its index, and the diagonal the rest
        of each player's Shapley value, so that every row of the array adds up to that value.

        >>> import boolshap
        >>> both = boolshap.compile([([[1, 1]], [-1])], features=["left", "right"])
        >>> Explainer(both).shap_interaction_values([1, 1]).tolist()
        [[[0.25, 0.125], [0.125, 0.25]]]
        """
        halves = self.interactions(X) / 2
        places = np.arange(len(self.players))
        halves[:, places, places] = self.shap_values(X) - halves.sum(axis=2)
        return halves

    def values(self, X: object, *, index: Index = "shapley") -> Floats:
        """The numbers of any index, a column for each of `names(index)`: (rows, numbers), with a last axis for the
        classes if each of several is explained.

        `"owen"` are the Owen values of players in `groups`. `"taylor:K"` (Shapley-Taylor) and `"ksii:K"` (k-SII), for K
        from 1 to 3, give a number to every set of up to K players. The base value and all these numbers add up to the
        prediction.

        >>> import boolshap
        >>> explainer = Explainer(boolshap.compile([([[1, 1]], [-1])], features=["left", "right"]))
        >>> explainer.values([1, 1], index="taylor:2").tolist(), explainer.names("taylor:2")
        ([[0.25, 0.25, 0.25]], [('left',), ('right',), ('left', 'right')])
        """
        return self._values(X, index)

    def names(self, index: Index = "shapley") -> list[tuple[str, ...]]:
        """The players of each number of an index."""
        players = self.players
        return [tuple(players[player] for player in players_of) for players_of in self._native.sets(index)]

    def exact(self, X: object, *, index: Index = "shapley", class_: int | str | None = None) -> ExactExplanation:
        """The scores as fractions, without any rounding; if each of several classes is explained, `class_` selects one.

        >>> import boolshap
        >>> exact = Explainer(boolshap.compile([([[1, 1, -1]], [0])])).exact([0, 1, 1])
        >>> exact.values
        [[Fraction(-1, 3), Fraction(1, 6), Fraction(-1, 3)]]
        >>> exact.base_values, exact.predictions
        ([Fraction(1, 2)], [0])
        """
        values, base_values, predictions = self._native.explain_exact(self._read(X).bits, index, class_)
        alone = index in ("shapley", "banzhaf", "owen")
        return ExactExplanation(
            names=self.players if alone else self.names(index),
            values=[[Fraction(*score) for score in row] for row in values],
            base_values=[Fraction(*value) for value in base_values],
            predictions=[Fraction(*one) if self.model_output == "score" else one[0] for one in predictions],
        )

    @property
    def expected_value(self) -> float | Floats:
        """The base value that all scores start from; one for each class if several are explained.

        >>> import boolshap
        >>> Explainer(boolshap.compile([([[1, 1]], [-1])])).expected_value
        0.25
        """
        values = self._native.base_values()
        return np.array(values) if self._native.scope in ("each", "predicted") else values[0]

    def error_bound(self, index: Index = "shapley") -> float:
        """A proved bound on the error of base values and scores in floats, whatever the row: at most 1e-9, and if
        `model_output` is `"score"` at most 1e-9 of the size of the score.

        >>> import boolshap
        >>> Explainer(boolshap.compile([([[1, 1, -1]], [0])])).error_bound() < 1e-13
        True
        """
        return self._native.error_bound(index)

    def _read(self, X: object) -> Rows:
        if self._front is None:
            return read_rows(X, self._circuit, self._input)
        rows = self._front.rows_of(X)
        bits = read_rows(self._front.transform(rows), self._circuit, self._input).bits
        shown = self._front.shown(rows)
        return Rows(bits, {name: shown[:, place] for place, name in enumerate(self._front.columns)})

    def _read_any(self, X: object) -> Any:
        """Rows in the form that `_explained` takes."""
        return self._read(X)

    def _explained(self, rows: Any, index: Index) -> tuple[Floats, Floats]:
        """Scores and base values."""
        return self._native.explain(rows.bits, index, self._threads)[:2]

    def _values(self, X: object, index: Index) -> Floats:
        return self._explained(self._read_any(X), index)[0]

    def _as_shown(self, rows: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
        """The rows as numbers, and in the form that people know if those are not all numbers."""
        are_features, from_pipeline = self._game.players == "features", self._front is not None
        shown = shown_rows(rows, self._circuit, self._native, are_features=are_features, from_pipeline=from_pipeline)
        return (shown, None) if shown.dtype.kind in "buif" else (as_numbers(shown), shown)

    def save(self, path: PathLike) -> None:
        """Writes the explainer to a file, completely or not at all. The file holds the circuit and the background.

        >>> import boolshap, pathlib, tempfile
        >>> explainer = Explainer(boolshap.compile([([[1, 1, -1]], [0])]), [[0, 0, 0], [1, 0, 1]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     explainer.save(pathlib.Path(folder, "vote.explainer"))
        ...     loaded = Explainer.load(pathlib.Path(folder, "vote.explainer"))
        >>> bool((loaded.shap_values([1, 1, 0]) == explainer.shap_values([1, 1, 0])).all())
        True
        """
        if self._front is not None:
            raise InputError("the steps of a Pipeline are code, which a file does not hold: pickle the explainer instead")
        _native.write_whole(path, self._content())

    @classmethod
    def load(cls, path: PathLike) -> Explainer:
        """Reads an explainer that was saved. Unlike with a pickle, nothing in the file is executed."""
        content = _archive.read_whole(path)
        try:
            return cls._of_content(content)
        except (zipfile.BadZipFile, KeyError, TypeError, ValueError, EOFError, FileError) as error:
            message = f"{os.fspath(path)}: this is not an explainer file, or it is damaged: {error}"
            raise FileError(message) from error

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, (self._content(), {"_front": self._front})

    def _content(self) -> bytes:
        """The content of a file."""
        game, scope = self._game, self._native.scope
        names = {"feature_names": self._feature_names, "output_names": self._output_names}
        settings = {
            "format": _FORMAT,
            "distribution": self.distribution,
            "constraint": game.constraint,
            "players": game.players,
            **({} if game.groups is None else {"groups": game.groups}),
            **({} if game.engine is None else {"engine": game.engine}),
            "class": None if scope == "each" else int(scope) if scope and scope.isdigit() else scope,
            "threads": self._threads,
            "input": self._input,
            **{name: given for name, given in names.items() if given is not None},
        }
        network = self._circuit._network
        if network is not None:
            settings["model_output"] = self.model_output
        parts = {
            "settings.json": json.dumps(settings, indent=1).encode(),
            **({"circuit.bsc": self._circuit.to_bytes()} if network is None else {"network.json": network.encode()}),
        }
        for name, array in (("probabilities.npy", game.probabilities), ("rows.npy", game.rows)):
            if array is not None:
                parts[name] = _archive.of_array(array)
        return _archive.packed(parts)

    @classmethod
    def _of_content(cls, content: bytes) -> Explainer:
        parts = _archive.unpacked(content)
        if "model.json" in parts:
            from ._raw_explainer import RawExplainer

            return RawExplainer._of_parts(parts)
        settings = json.loads(parts["settings.json"])
        if settings["format"] != _FORMAT:
            raise ValueError(f"the format {settings['format']!r} is not known")
        probabilities, rows = (
            _archive.array_of(parts[name]) if name in parts else None for name in ("probabilities.npy", "rows.npy")
        )
        constraint, players, groups = settings["constraint"], settings["players"], settings.get("groups")
        game = Game(settings["distribution"], probabilities, rows, constraint, players, groups, settings.get("engine"))
        if "network.json" in parts:
            from ._sources import compile_in_passing

            model = _native.Model.from_json(parts["network.json"].decode())
            circuit = compile_in_passing(model, settings["model_output"])
        else:
            circuit = Circuit.from_bytes(parts["circuit.bsc"])
        explainer = cls.__new__(cls)
        explainer._feature_names = settings.get("feature_names")
        explainer._output_names = settings.get("output_names")
        explainer._prepare(circuit, game, settings["class"], settings["threads"], settings["input"])
        return explainer

    def __repr__(self) -> str:
        rows = "" if self._game.rows is None else f" of {len(self._game.rows)} rows"
        constraint = "" if self._game.constraint is None else ", constrained"
        return f"Explainer({self._circuit!r}, {self.distribution}{rows}{constraint}, {len(self.players)} players)"


def _unpickled(content: bytes, rest: dict[str, Any]) -> Explainer:
    """An explainer from the content of its file, and from what a file does not hold."""
    explainer = Explainer._of_content(content)
    explainer.__dict__.update(rest)
    return explainer
