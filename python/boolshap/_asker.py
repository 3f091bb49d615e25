"""Questions about decisions, with exact answers: what suffices for one, what would change it, is it safe, is it fair."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, cast

from . import _native
from ._answers import (
    Answers,
    Attribution,
    Bias,
    Checked,
    Code,
    Counterfactual,
    Counterfactuals,
    Difference,
    Judgement,
    Letter,
    PlayerPart,
    Properties,
    Property,
    Reasons,
    Robustness,
)
from ._game import constraint_text, players_of
from ._native import Circuit, Model
from ._settings import Names, bits_of, changes_of, claim_of, code_list, maybe_bits, moves, setting_texts, verdict_of
from ._tables import read_rows
from ._types import Bits, PathLike, Reading
from .errors import InputError


class Asker:
    """Answers questions about a classifier and its decisions.

    `circuit` is a `Circuit`, or anything that `boolshap.compile` takes. `players` change as one: the `"features"`, the
    `"columns"` (a one-hot column is one player), or a dict that gives every feature the name of its player.
    `constraint` leaves only inputs that satisfy a formula, given as in `Explainer`. `class_` takes one class of several
    as a label; by default every class is a separate label. `input` says how to read the rows, as in `Explainer`, and
    `timeout` is the most seconds for an answer.

    A `Model` of more than 40 inputs is not compiled: a SAT solver answers for it (one reason or the smallest, radius
    and bias), or reports that it did not decide.

    With a folder as `certificates`, each answer writes a file to it that `boolshap.check` verifies with nothing but the
    model. Proofs in these files need the model: the one that is asked, or the `model` that the circuit was compiled
    from.

    Every answer prints as a table and becomes a DataFrame with `to_frame()`. Rows are counted from 0.

    >>> import boolshap
    >>> circuit = boolshap.compile([([[1, 1, -1]], [0])], features=["rain", "wind", "roof"])
    >>> asker = Asker(circuit)
    >>> asker.reasons([[1, 1, 1]])[0].reasons
    [['rain', 'wind']]
    >>> asker.counterfactuals([[1, 1, 1]])
    counterfactual of 1 row
      row 0, prediction 1, distance 1, change rain 0 instead of 1
      row 0, prediction 1, distance 1, change wind 0 instead of 1
    """

    def __init__(
        self,
        circuit: object,
        *,
        players: str | Mapping[str, str] = "features",
        constraint: object = None,
        class_: int | str | None = None,
        input: Reading = "auto",
        timeout: float | None = None,
        model: Model | None = None,
        certificates: PathLike | None = None,
    ) -> None:
        names = _native.names_of_network(circuit) if isinstance(circuit, Model) else None
        self._is_network = names is not None
        self._model = circuit if isinstance(circuit, Model) else model
        self._circuit = _circuit_of(circuit) if names is None else names
        self._input, self._timeout, self._certificates = input, timeout, certificates
        self._shared = {
            "players": players_of(players),
            "constraint": None if constraint is None else constraint_text(constraint, self._circuit.features),
            "class": class_,
        }
        # The last question stays ready for other rows.
        self._last: tuple[object, _native.Asker] | None = None
        for caution in self._circuit.cautions:
            warnings.warn(caution, stacklevel=2)

    @property
    def circuit(self) -> Circuit:
        """The circuit that is asked."""
        if self._is_network:
            raise InputError("the network is too large to be compiled: it is asked without a circuit")
        return self._circuit

    def reasons(
        self,
        X: object,
        *,
        minimum: bool = False,
        all: bool = False,
        limit: int | None = None,
        prefer: Names = (),
        exclude: Names = (),
        share: object = None,
    ) -> Answers[Reasons]:
        """Minimal sets of players that suffice for the decision, whatever the others are: sufficient or abductive
        explanations (AXp), PI-explanations, prime implicants.

        By default one set, from which players were dropped starting with the least preferred of `prefer` (`"score"`: by
        the absolute SHAP scores); the smallest with `minimum`, the smallest `limit`, or `all`. Players in `exclude` are
        not used. With a `share`, such as 0.9 or a Fraction, it is enough that this share of the inputs keeps the class.

        >>> import boolshap
        >>> asker = Asker(boolshap.compile([([[1, 1, -1]], [0])], features=["rain", "wind", "roof"]))
        >>> answer = asker.reasons([[1, 1, 0]], all=True)[0]
        >>> answer.count, answer.reasons
        (3, [['rain', 'wind'], ['rain', 'roof'], ['wind', 'roof']])
        """
        return self._reasons("reason", X, minimum, all, limit, prefer, exclude, share)

    def contrasts(
        self,
        X: object,
        *,
        minimum: bool = False,
        all: bool = False,
        limit: int | None = None,
        prefer: Names = (),
        exclude: Names = (),
        share: object = None,
    ) -> Answers[Reasons]:
        """Minimal sets of players whose change can change the decision: contrastive explanations (CXp). The arguments are
        those of `reasons`."""
        return self._reasons("contrast", X, minimum, all, limit, prefer, exclude, share)

    def attribution(self, X: object) -> Answers[Attribution]:
        """For each player whether it is in all, some or none of the sufficient reasons, in which share of them (formal
        feature attribution), and its Shapley and Banzhaf value in the game "this set suffices"."""
        rows, overall = self._ask("attribution", X)
        return Answers("attribution", [
            Attribution(row, prediction, [
                PlayerPart(
                    part["name"], part["necessary"], part["relevant"],
                    *(Fraction(part[key]) for key in ("share", "shapley", "banzhaf")),
                )
                for part in found["players"]
            ])
            for row, prediction, found in rows
        ], overall)  # fmt: skip

    def counterfactuals(
        self,
        X: object,
        *,
        to: int | str | None = None,
        limit: int | None = None,
        beyond: bool = False,
        freeze: Names = (),
        only_up: Names = (),
        only_down: Names = (),
        range: Mapping[str, tuple[float | None, float | None]] | None = None,
        costs: object = None,
    ) -> Answers[Counterfactuals]:
        """The nearest inputs of another class, or of the class `to`; DiCE's features to vary are those that are not in
        `freeze`.

        The distance is the number of players that change, or the sum of their `costs` (a dict or a Series; 1 for those
        not named). Players in `only_up` may only rise, those in `only_down` only fall, and `range` gives the bounds
        between which columns of numbers may move. All nearest inputs are listed, or `limit` of them; with `beyond` also
        farther ones, until there are `limit`.

        >>> import boolshap
        >>> asker = Asker(boolshap.compile([([[1, 1, -1]], [0])], features=["rain", "wind", "roof"]))
        >>> [nearest] = asker.counterfactuals([[1, 1, 1]], freeze=["rain"])[0].counterfactuals
        >>> nearest.bits, nearest.changes
        ([1, 0, 1], [Change(player='wind', before=1, after=0)])
        """
        settings = {"beyond": beyond, "freeze": freeze, **moves(to, limit, only_up, only_down, range, costs)}
        rows, overall = self._ask("counterfactual", X, settings)
        return Answers("counterfactual", [
            Counterfactuals(row, prediction, found["distance"], int(found["count"]), [
                Counterfactual(changes_of(changes), bits_of(bits), words, distance)
                for changes, bits, words, distance in zip(
                    found["counterfactuals"], found["inputs"], found["words"],
                    found.get("distances", [found["distance"]] * len(found["inputs"])),
                )
            ])
            for row, prediction, found in rows
        ], overall)  # fmt: skip

    def robustness(
        self, X: object = None, *, radius: int | None = None, mean: bool = False
    ) -> Answers[Robustness]:
        """How many players must change before each decision does; with `radius`, also the inputs of other classes at each
        distance up to it.

        `overall` has the `mean_radius` of the rows, a `histogram` of their radii, and `mean_radius_of_inputs`, that of
        all inputs, if that is quick or `mean` asks for it.
        """
        rows, overall = self._ask("robustness", X, {"radius": radius, "mean": mean})
        overall["histogram"] = {int(radius): count for radius, count in overall["histogram"].items()}
        if overall.get("mean_radius_of_inputs") is not None:
            overall["mean_radius_of_inputs"] = Fraction(overall["mean_radius_of_inputs"])
        return Answers("robustness", [
            Robustness(
                row, prediction, found["radius"],
                [int(count) for count in found["others_at"]] if "others_at" in found else None, found.get("undecided"),
            )
            for row, prediction, found in rows
        ], overall)  # fmt: skip

    def bias(
        self, X: object = None, *, protected: Names, distribution: str | Mapping[str, float] | None = None
    ) -> Answers[Bias]:
        """Whether each decision changes with `protected` players alone.

        `overall` says the same of the classifier: `classifier_biased`, on how many `inputs`, with two inputs as
        `witness`; how many rows of each group of protected values are of each class; and as `acceptance`, with a
        `distribution` (`"uniform"`, `"product"`, or a dict of probabilities), how likely each class is in each group.
        """
        rows, overall = self._ask("bias", X, {"protected": protected, "distribution": distribution})
        if "inputs" in overall:
            overall["inputs"] = int(overall["inputs"])
        overall["witness"] = None if overall["witness"] is None else [bits_of(bits) for bits in overall["witness"]]
        for group in [*overall.get("groups", []), *(overall.get("acceptance") or [])]:
            if "classes" in group:
                group["classes"] = {int(key): count for key, count in group["classes"].items()}
            if "probability" in group:
                group["probability"] = Fraction(group["probability"])
            group["shares"] = {int(key): Fraction(share) for key, share in group["shares"].items()}
        return Answers("bias", [
            Bias(row, prediction, found["biased"], maybe_bits(found["other"]), found.get("undecided"))
            for row, prediction, found in rows
        ], overall)  # fmt: skip

    def properties(self) -> Properties:
        """What the classifier does with each player: whether it uses it, is monotone in it, or cannot do without one of
        its values, and how much it matters.

        >>> import boolshap
        >>> found = Asker(boolshap.compile([([[1, 1, -1]], [0])], features=["rain", "wind", "roof"])).properties()
        >>> found["roof"].monotone, found["roof"].influence
        ('down', Fraction(1, 2))
        """
        _, overall = self._ask("properties", None)
        return Properties([
            Property(
                one["name"], one["used"], one["monotone"], Fraction(one["influence"]),
                [(value["class"], value["value"]) for value in one["mandatory"]],
            )
            for one in overall["features"]
        ])  # fmt: skip

    def difference(self, other: object, X: object = None) -> Difference:
        """On how many inputs, and on which rows, a second classifier of the same features differs.

        >>> import boolshap
        >>> one, two = (boolshap.compile([([weights], [0])]) for weights in ([1, 1, -1], [1, 1, 1]))
        >>> Asker(one).difference(two, [[1, 1, 0], [1, 0, 0]])
        different on 4 inputs
          inputs 4, share 1/2, example 0, 1, 0, rows 1
        """
        answer = self._answer("difference", X, {}, other=other)
        rows = [row - 1 for row in answer["rows"]]
        return Difference(int(answer["inputs"]), Fraction(answer["share"]), maybe_bits(answer["example"]), rows)

    def judge(
        self,
        X: object,
        claims: Iterable[Mapping[str, Any]],
        *,
        to: int | str | None = None,
        freeze: Names = (),
        only_up: Names = (),
        only_down: Names = (),
        range: Mapping[str, tuple[float | None, float | None]] | None = None,
        costs: object = None,
    ) -> Answers[Judgement]:
        """Whether reasons and counterfactuals that were made elsewhere are valid, minimal and nearest, and if not, what
        would be.

        A claim is a dict with a `row`, counted from 0, and one of `reason` and `contrast`, a list of players, or
        `counterfactual`: all features as 0 and 1, or a dict of those that change. The other arguments are those of
        `counterfactuals`.

        >>> import boolshap
        >>> asker = Asker(boolshap.compile([([[1, 1, -1]], [0])], features=["rain", "wind", "roof"]))
        >>> [verdict] = asker.judge([[1, 1, 1]], [{"row": 0, "reason": ["rain", "roof"]}])[0].claims
        >>> verdict.valid, verdict.example, verdict.repaired
        (False, [1, 0, 1], ['rain', 'wind'])
        """
        settings = {"claims": [claim_of(claim) for claim in claims], "freeze": freeze}
        rows, overall = self._ask("judge", X, settings | moves(to, None, only_up, only_down, range, costs))
        return Answers("judge", [
            Judgement(row, prediction, [verdict_of(one) for one in found["claims"]]) for row, prediction, found in rows
        ], overall)  # fmt: skip

    def reason_codes(
        self,
        X: object,
        codes: object,
        *,
        against: object = None,
        approved: bool = False,
        top: int | None = None,
        actionable: Names = (),
        to: int | str | None = None,
        only_up: Names = (),
        only_down: Names = (),
        range: Mapping[str, tuple[float | None, float | None]] | None = None,
        costs: object = None,
    ) -> Answers[Letter]:
        """For each unfavourable decision the `top` main reasons (4) by exact scores, compared with the rows `against`
        (with `approved`, those of them that are decided favourably), and the smallest change of `actionable` players
        that helps. Favourable is class 1 of two, or the class `to`.

        `codes` are the codes and sentences of players: a dict from players to pairs, or a table with columns `player`,
        `code` and `text`. `overall` has the digests of what the letters were made from.
        """
        rows_against = None if against is None else self._group(against)
        settings = {"codes": code_list(codes), "approved": approved, "top": top, "actionable": actionable}
        moved = moves(to, None, only_up, only_down, range, costs)
        rows, overall = self._ask("codes", X, {**settings, **moved}, rows_against)
        return Answers("codes", [
            Letter(
                row, prediction,
                [Code(**{**code, "score": Fraction(code["score"])}) for code in found["codes"]],
                None if found["change"] is None else changes_of(found["change"]), found["change_words"],
            )
            for row, prediction, found in rows
        ], overall)  # fmt: skip

    def _group(self, against: object) -> Bits:
        try:
            return read_rows(against, self._circuit, self._input).bits
        except InputError as error:
            raise InputError(f"against: {error}") from error

    def _reasons(
        self, question: str, X: object, minimum: bool, all: bool, limit: int | None, prefer: Names, exclude: Names,
        share: object,
    ) -> Answers[Reasons]:  # fmt: skip
        settings = {"minimum": minimum, "all": all, "limit": limit, "prefer": prefer, "exclude": exclude}
        rows, overall = self._ask(question, X, {**settings, "share": share})
        return Answers(question, [
            Reasons(
                row, prediction, found["reasons"] or [], None if found["count"] is None else int(found["count"]),
                found["complete"], found.get("undecided"),
            )
            for row, prediction, found in rows
        ], overall)  # fmt: skip

    def _ask(
        self,
        question: str,
        X: object,
        settings: Mapping[str, object] = MappingProxyType({}),
        against: Bits | None = None,
    ) -> tuple[list[tuple[int, int, dict[str, Any]]], dict[str, Any]]:
        """Row, prediction and findings for each row; and the results for all of them."""
        answer = self._answer(question, X, settings, against)
        rows = [(found["row"] - 1, found["prediction"], found) for found in answer.pop("rows")]
        del answer["question"]
        files = [file for found in [*(found for _, _, found in rows), answer] for file in found.pop("certificates", [])]
        if self._certificates is not None:
            answer["certificates"] = {file["file"]: file["sha256"] for file in files}
        return rows, answer

    def _answer(
        self,
        question: str,
        X: object,
        settings: Mapping[str, object],
        against: Bits | None = None,
        other: object = None,
    ) -> dict[str, Any]:
        texts = setting_texts({**self._shared, **settings})
        key = (question, texts)
        if self._last is not None and self._last[0] == key and against is None and other is None:
            asker = self._last[1]
        else:
            second = None if other is None else _circuit_of(other)
            second_model = other if isinstance(other, Model) else None
            asker = _native.Asker(
                self._circuit, question, texts, against, second, self._model, second_model, self._is_network, self._timeout
            )
            self._last = (key, asker) if against is None and other is None else None
        bits = None if X is None else read_rows(X, self._circuit, self._input).bits
        return cast("dict[str, Any]", json.loads(asker.ask(bits, self._certificates, self._timeout)))

    def __reduce__(self) -> tuple[object, ...]:
        asked = self._model if self._is_network else self._circuit
        return _restored, (asked, self._shared, self._input, self._timeout, self._model, self._certificates)

    def __repr__(self) -> str:
        asked, given = self._model if self._is_network else self._circuit, self._shared["players"]
        constraint = "" if self._shared["constraint"] is None else ", constrained"
        return f"Asker({asked!r}, players {given if isinstance(given, str) else 'named'}{constraint})"


def _restored(
    asked: object, shared: dict[str, Any], input: Reading, timeout: float | None, model: Model | None,
    certificates: PathLike | None,
) -> Asker:  # fmt: skip
    asker = Asker(asked, input=input, timeout=timeout, model=model, certificates=certificates)
    asker._shared = shared
    return asker


def check(certificates: PathLike | Iterable[PathLike], model: Model, *, timeout: float | None = None) -> list[Checked]:
    """Whether certificates, or all in a folder, prove what they claim of a model.

    Only the network is evaluated and the proofs are followed step by step; neither a circuit nor the search that found
    the answer is involved.

    >>> import boolshap, tempfile
    >>> model = boolshap.Model.from_json(
    ...     '{"format": "boolshap model", "version": 1, "features": ["rain", "wind", "roof"], "classes": null,'
    ...     ' "marginals": null, "schema": null, "provenance": {}, "hidden": [],'
    ...     ' "output": {"step": {"weights": "1 1 -1", "need": "2"}}}'
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     answers = Asker(model, certificates=folder).reasons([[1, 1, 1]])
    ...     [checked] = boolshap.check(folder, model)
    >>> checked.valid, list(answers.certificates)
    (True, ['reason-1.json'])
    """
    paths = [certificates] if isinstance(certificates, (str, os.PathLike)) else list(certificates)
    found = json.loads(_native.check(paths, model, timeout))
    return [Checked(one["file"], one["claim"], one["reason"]) for one in found["certificates"]]


def _circuit_of(given: object) -> Circuit:
    if isinstance(given, Circuit):
        return given
    from ._sources import compile

    return compile(given)
