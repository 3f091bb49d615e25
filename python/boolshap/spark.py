"""Scores on Spark, when one machine is not enough.

A circuit is small and rows are independent of each other, so nothing has to be shuffled: the circuit is broadcast
once, every Python worker builds one engine and keeps it for all its tasks, and rows stream through it in Arrow record
batches. The result's schema is known before anything runs. Scores are the same bits as on one machine, whatever the
partitions, so a task that Spark runs a second time gives what the first one would have given.

The workers need boolshap and pyarrow; see docs/spark.md for sizing.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ._explainer import Explainer
from ._types import Distribution
from .errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["explain"]

#: The explainers of this process by the digest of what was broadcast, the newest last. Workers outlive tasks and jobs.
_explainers: dict[str, Explainer] = {}
#: The most explainers that are kept.
_KEPT_EXPLAINERS = 4

#: Spark's names of the types that a bit may have, and of the further types of raw values.
_BIT_TYPES = {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal"}
_TEXT_TYPES = {"string", "varchar", "char"}


def explain(
    df: DataFrame,
    circuit: object,
    *,
    background: object = None,
    distribution: Distribution | None = None,
    probabilities: object = None,
    constraint: object = None,
    players: str | Mapping[str, str] = "features",
    class_: int | str | None = None,
    prefix: str = "shap_",
    keep: Sequence[str] | None = None,
) -> DataFrame:
    """Adds exact scores to the rows of a Spark DataFrame.

    The result has the columns of `df` (or those that `keep` names), then `prediction` (int: 0 or 1, or with several
    classes the index of the class), `base_value` and one score for each player, named `prefix` and the player (double).
    If `circuit` has several classes and `class_` picks none, base values and scores come for each class:
    `base_value_CLASS` and `prefix`, the class, `_` and the player.

    `df` holds raw columns or bits, recognised by name as `Explainer` does it; other columns just pass through.
    `circuit` and the other settings are those of `Explainer`; `background` is a local table, not a Spark DataFrame.
    Like every transformation this one is lazy: a row that cannot be read fails the job that meets it, with column and
    value named. Settings and columns that do not fit are an error at once.

        from boolshap.spark import explain
        explain(rows, boolshap.load("circuit.bsc"), keep=["id"]).write.parquet("scores")
    """
    from pyspark.sql.functions import col
    from pyspark.sql.types import DoubleType, IntegerType, StructField, StructType

    if "connect" in type(df).__module__.split("."):
        raise InputError("a Spark Connect DataFrame is not taken, as it cannot broadcast: use a classic Spark session")
    explainer = Explainer(
        circuit,
        background,
        distribution=distribution,
        probabilities=probabilities,
        constraint=constraint,
        players=players,
        class_=class_,
        threads=1,
    )
    if explainer._front is not None:
        raise InputError("a Pipeline is not taken on Spark: give its last step, and the rows that the steps before make")
    kept = list(df.columns if keep is None else keep)
    for name in kept:
        _check_column(df, name)
    read = _columns_to_read(df, explainer)
    added = _score_columns(explainer, prefix)
    _refuse_clashes(df, kept, added)

    content = pickle.dumps(explainer)
    shared = df.sparkSession.sparkContext.broadcast(content)
    chosen = kept + [name for name in read if name not in kept]
    work = partial(_explain_batches, shared, hashlib.sha256(content).hexdigest(), chosen, kept, added)
    fields = [df.schema[df.columns.index(name)] for name in kept]
    fields += [StructField(name, IntegerType() if place == 0 else DoubleType()) for place, name in enumerate(added)]
    # Spark's mapInArrow stumbles over dots in column names, so the columns go there under other names.
    numbered = df.select(*(col(_quoted(name)).alias(f"c{place}") for place, name in enumerate(chosen)))
    return numbered.mapInArrow(work, StructType(fields))


def _columns_to_read(df: DataFrame, explainer: Explainer) -> list[str]:
    """The columns that the scores are computed from: bits or raw columns, according to the names in the table."""
    circuit = explainer.circuit

    def has_other(rows: int) -> bool:
        first = df.select(*map(_quoted, circuit.features)).limit(rows).collect()
        return any(value not in (0, 1) for row in first for value in row)

    raw = circuit._reads_raw(df.columns, "auto", has_other)
    # Read the batches in the same way as the whole table.
    explainer._input = "raw" if raw else "bits"
    if raw:
        names, types, wanted = circuit.raw_columns or [], _BIT_TYPES | _TEXT_TYPES, "numbers or texts"
    else:
        names, types, wanted = circuit.features, _BIT_TYPES, "0 and 1"
    for name in names:
        _check_column(df, name)
        kind = df.schema[df.columns.index(name)].dataType.simpleString()
        if kind.partition("(")[0] not in types:
            raise InputError(f"column {name!r} is of the type {kind}, but must hold {wanted}")
    return names


def _check_column(df: DataFrame, name: str) -> None:
    if df.columns.count(name) != 1:
        found = "is there more than once" if name in df.columns else f"is not there; the table has {df.columns}"
        raise InputError(f"column {name!r} {found}")


def _score_columns(explainer: Explainer, prefix: str) -> list[str]:
    """The names of the columns that are added, in order: the prediction, then for each class base value and scores."""
    names = ["prediction"]
    classes = explainer.output_names
    for base_value, start in (
        [("base_value", prefix)] if classes is None else [(f"base_value_{k}", f"{prefix}{k}_") for k in classes]
    ):
        names += [base_value, *(start + player for player in explainer.players)]
    return names


def _refuse_clashes(df: DataFrame, kept: list[str], added: list[str]) -> None:
    exact = str(df.sparkSession.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"
    seen: set[str] = set()
    for name in kept + added:
        key = name if exact else name.lower()
        if key in seen:
            raise InputError(f"the result would have two columns {name!r}: choose another prefix, or what to keep")
        seen.add(key)


def _quoted(name: str) -> str:
    """A column's name quoted for Spark, with any dots and spaces in it."""
    return "`" + name.replace("`", "``") + "`"


def _explainer(digest: str, shared: Any) -> Explainer:
    """The explainer of this process, built on first use."""
    if digest not in _explainers:
        while len(_explainers) >= _KEPT_EXPLAINERS:
            del _explainers[next(iter(_explainers))]
        _explainers[digest] = pickle.loads(shared.value)
    return _explainers[digest]


def _explain_batches(
    shared: Any, digest: str, columns: list[str], kept: list[str], added: list[str], batches: Iterator[Any]
) -> Iterator[Any]:
    """The work of a task: each record batch has these columns, of which the first are kept, and scores are added to
    them."""
    import pyarrow

    explainer = _explainer(digest, shared)
    for batch in batches:
        try:
            bits = explainer._read(pyarrow.RecordBatch.from_arrays(batch.columns, names=columns)).bits
            scores, base_values, predictions = explainer._native.explain(bits, "shapley", 1)
        except InputError as error:
            raise InputError(f"{error} (rows counted in a batch of {batch.num_rows})") from error
        arrays = [*batch.columns[: len(kept)], pyarrow.array(predictions.astype("int32"))]
        if explainer.output_names is None:
            scores, base_values = scores[:, :, None], base_values[:, None]
        for of_class, base in zip(scores.T.copy(), base_values.T.copy()):
            arrays += [pyarrow.array(base), *map(pyarrow.array, of_class)]
        yield pyarrow.RecordBatch.from_arrays(arrays, names=kept + added)
