"""Rows in every form give the same bits, and errors name the problem."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from conftest import RAW, RAW_BITS, RAW_FEATURES

import boolshap
from boolshap import Circuit
from boolshap._tables import read_rows
from boolshap.errors import InputError

FEATURES = ["a", "b", "c"]
BITS = [[0, 1, 1], [1, 0, 0], [1, 1, 0], [0, 0, 1]]


#: A circuit without raw columns.
PLAIN = boolshap.compile(lambda X: X[:, 0] > 0, features=FEATURES)


def bits(given: object) -> list[list[int]]:
    found = read_rows(given, PLAIN).bits
    assert found.dtype == np.uint8 and found.flags.c_contiguous
    return found.tolist()


def columns(names: list[str] = FEATURES, rows: list[list[int]] = BITS) -> dict[str, list[int]]:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


@pytest.mark.parametrize(
    "kind", ["bool", "uint8", "int8", "int32", "int64", "uint64", "float16", "float32", "float64", "object"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_kind(kind: str, order: Any) -> None:
    assert bits(np.array(BITS, dtype=kind, order=order)) == BITS
    assert bits(np.array(BITS, dtype=kind)[::-1]) == BITS[::-1]
    assert bits(np.array(BITS[0], dtype=kind)) == BITS[:1]


def test_bits_are_not_copied() -> None:
    for given in (np.array(BITS, dtype=np.uint8), np.array(BITS, dtype=bool)):
        assert np.shares_memory(read_rows(given, PLAIN).bits, given)


def test_lists_and_rows_alone() -> None:
    assert bits(BITS) == bits(tuple(map(tuple, BITS))) == BITS
    assert bits([[True, False, 1.0]]) == [[1, 0, 1]]
    assert bits([0, 1, 1]) == bits(pandas.Series({"c": 1, "b": 1, "a": 0, "d": 9})) == [[0, 1, 1]]
    assert bits([[decimal.Decimal(1), 0, None or False]]) == [[1, 0, 0]]
    assert bits(np.ma.masked_array(BITS)) == BITS


def named_tables() -> list[tuple[str, Callable[[dict[str, Any]], object]]]:
    return [
        ("dict", dict),
        ("pandas", pandas.DataFrame),
        ("pandas nullable", lambda given: pandas.DataFrame(given).convert_dtypes()),
        ("pandas arrow", lambda given: pandas.DataFrame(given).convert_dtypes(dtype_backend="pyarrow")),
        ("polars", polars.DataFrame),
        ("pyarrow", pyarrow.table),
        ("record batch", pyarrow.RecordBatch.from_pydict),
        ("reader", lambda given: pyarrow.table(given).to_reader()),
    ]


TABLES = pytest.mark.parametrize(
    "table", [table for _, table in named_tables()], ids=[name for name, _ in named_tables()]
)


@TABLES
def test_named_columns_in_any_order_beside_others(table: Callable[[dict[str, Any]], object]) -> None:
    given = {"z": ["x"] * 4, **dict(reversed(columns().items()))}
    assert bits(table(given)) == BITS
    assert bits(table({name: [bool(bit) for bit in column] for name, column in given.items() if name != "z"})) == BITS
    assert bits(table({name: [float(bit) for bit in column] for name, column in columns().items()})) == BITS


@TABLES
def test_what_is_wrong_with_a_named_table(table: Callable[[dict[str, Any]], object]) -> None:
    for value, shown in [(2, "2"), (None, "(nan|None|<NA>)"), (-1, "-1")]:
        given: dict[str, Any] = columns()
        given["b"] = [1, 0, value, 0]
        with pytest.raises(InputError, match=f"^column 'b', row 2: {shown}(.0)? is neither 0 nor 1$"):
            bits(table(given))
    given = columns()
    given["c"] = ["1", "0", "1", "1"]
    with pytest.raises(InputError, match="^column 'c', row 0: '1' is neither 0 nor 1$"):
        bits(table(given))
    given = {"a": [1], "B": [1], "c": [0]}
    with pytest.raises(InputError, match="^there is no column 'b'; the table has 'a', 'B', 'c'$"):
        bits(table(given))


def test_other_tables_with_names() -> None:
    record = np.array([tuple(row) for row in BITS], dtype=[("a", "u1"), ("b", "f8"), ("c", "?")])
    assert bits(record) == BITS
    assert bits(record[["c", "b", "a"]][1]) == BITS[1:2]
    chunked = pyarrow.concat_tables([pyarrow.table(columns(rows=BITS[:1])), pyarrow.table(columns(rows=BITS[1:]))])
    assert bits(chunked) == BITS
    categories = pandas.DataFrame(columns()).astype("category")
    assert bits(categories) == bits(pyarrow.Table.from_pandas(categories)) == BITS
    sparse = pandas.DataFrame(columns()).astype(pandas.SparseDtype("int64", 0))
    assert bits(sparse) == BITS


def test_a_column_that_is_there_twice_is_an_error() -> None:
    with pytest.raises(InputError, match="the column 'a' is there 2 times"):
        bits(pandas.DataFrame([[1, 1, 0, 1]], columns=["a", "b", "c", "a"]))
    with pytest.raises(InputError, match="the column 'a' is there 2 times"):
        bits(pyarrow.Table.from_arrays([[1], [1], [0], [1]], names=["a", "b", "c", "a"]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[0, 1, 2]], r"column 'c', row 0: 2 is neither"),
        (np.array([[0, 1, 1], [0, 7, 1]], dtype=np.uint8), r"column 'b', row 1: 7 is neither"),
        ([[0, 1, 1], [np.nan, 0, 1]], r"column 'a', row 1: nan is neither"),
        ([[0, 1, 1], [0, np.inf, 1]], r"column 'b', row 1: inf is neither"),
        ([[0, 0.5, 0], [3, 1, 1]], r"column 'b', row 0: 0.5 is neither"),
        ([[0, 1, "x"]], r"column 'c', row 0: 'x' is neither"),
        ([["0", "1", "1"]], r"column 'a', row 0: '0' is neither"),
        ([[0, 1, None]], r"column 'c', row 0: None is neither"),
        ([[0, 1, 1j]], r"column 'a', row 0: 0j is neither"),
        ([[0, 1, 2**70]], r"column 'c', row 0: 1180591620717411303424 is neither"),
        ([[datetime.date(2020, 1, 1), 1, 1]], r"column 'a', row 0: datetime.date\(2020, 1, 1\) is neither"),
        (np.array([["2020-01-01"] * 3], dtype="datetime64[D]"), r"column 'a', row 0: datetime.date\(2020, 1, 1\) is"),
        (np.ma.masked_array([[0, 1, 1]], mask=[[0, 0, 1]]), r"column 'c', row 0: None is neither"),
        ([[0, 1]], r"the rows have 2 columns, but the circuit has 3 features"),
        (np.zeros((4, 0)), r"the rows have 0 columns, but the circuit has 3 features"),
        ([], r"the rows have 0 columns, but the circuit has 3 features"),
        (np.zeros((2, 3, 4)), r"one or two dimensions, not of 3"),
        ([[0, 1, 1], [0, 1]], r"the rows are not a table"),
        (None, r"not None \(NoneType\)"),
        (7, r"not 7 \(int\)"),
        ("rows.csv", r"not 'rows.csv' \(str\)"),
        ({}, r"there is no column 'a'; the table has no columns"),
        ({"a": [1], "b": [1, 0], "c": [1]}, r"the column 'b' has the shape \(2,\), the first one \(1,\)"),
        (polars.LazyFrame({"a": [1]}), r"collect\(\) it first"),
    ],
)
def test_what_is_wrong_is_named(given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        bits(given)


def test_sparse_matrices() -> None:
    scipy_sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed")
    for kind in (scipy_sparse.csr_matrix, scipy_sparse.csc_array, scipy_sparse.coo_matrix):
        assert bits(kind(np.array(BITS))) == BITS


def test_no_rows_are_rows_too() -> None:
    assert read_rows(np.zeros((0, 3)), PLAIN).bits.shape == (0, 3)
    assert read_rows(pandas.DataFrame(columns=FEATURES), PLAIN).bits.shape == (0, 3)


@pytest.mark.parametrize(
    "table",
    [
        dict,
        pandas.DataFrame,
        lambda given: pandas.DataFrame(given).convert_dtypes(),
        lambda given: pandas.DataFrame(given).astype({"sea": "category"}),
        polars.DataFrame,
        lambda given: polars.DataFrame(given).with_columns(polars.col("sea").cast(polars.Categorical)),
        pyarrow.table,
        lambda given: pyarrow.table({**given, "sea": pyarrow.array(given["sea"]).dictionary_encode()}),
    ],
)
def test_raw_tables_become_bits(raw_circuit: Circuit, table: Callable[[dict[str, Any]], object]) -> None:
    rows = read_rows(table(RAW), raw_circuit)
    assert rows.bits.tolist() == RAW_BITS
    assert list(rows.raw) == ["age", "sea", "open"]
    assert rows.raw["sea"].tolist() == RAW["sea"] and rows.raw["age"].tolist() == RAW["age"]
    missing = {**RAW, "sea": ["near", None, "island", "far"], "age": [None, 52.0, 41.0, 39.5]}
    expected = [RAW_BITS[0], [1, 0, 0, 0, 0], *RAW_BITS[2:]]
    assert raw_circuit.binarise(table(missing)).tolist() == expected


def test_raw_or_bits_is_decided_from_the_names(raw_circuit: Circuit) -> None:
    as_bits = dict(zip(RAW_FEATURES, map(list, zip(*RAW_BITS))))
    assert raw_circuit.binarise(as_bits).tolist() == RAW_BITS
    # The names fit both: an age of 52 is not a bit, so the rows are raw; if bits could be ages, `input` is required.
    both = {**as_bits, **RAW}
    assert raw_circuit.binarise(both).tolist() == RAW_BITS
    young = {**as_bits, "sea": RAW["sea"]}
    with pytest.raises(InputError, match="could be raw values or bits.*: give input=\"raw\" or input=\"bits\"$"):
        raw_circuit.binarise(young)
    assert raw_circuit.binarise(young, input="raw")[:, 0].tolist() == [0, 0, 0, 0]
    assert raw_circuit.binarise(young, input="bits").tolist() == RAW_BITS
    assert raw_circuit.predict(RAW).tolist() == raw_circuit.predict(as_bits).tolist()
    with pytest.raises(InputError, match="there is no column 'sea'"):
        raw_circuit.binarise({"age": [1], "open": [1]})
    with pytest.raises(InputError, match="there is no column 'sea=far'"):
        raw_circuit.binarise(RAW, input="bits")
    with pytest.raises(InputError, match="input 'csv' is not one of auto, raw, bits"):
        raw_circuit.binarise(RAW, input="csv")  # type: ignore[arg-type]


def test_rows_without_names_are_as_many_columns_as_they_have(raw_circuit: Circuit) -> None:
    rows = [list(row) for row in zip(RAW["age"], RAW["sea"], RAW["open"])]
    assert raw_circuit.binarise(rows).tolist() == raw_circuit.binarise(rows, input="raw").tolist() == RAW_BITS
    assert raw_circuit.binarise(RAW_BITS).tolist() == RAW_BITS
    with pytest.raises(InputError, match="the rows have 5 columns, but there are 3 raw columns"):
        raw_circuit.binarise(RAW_BITS, input="raw")
    with pytest.raises(InputError, match="raw values cannot be read"):
        read_rows([[1, 0, 1]], PLAIN, "raw")


def test_what_is_wrong_with_raw_values_is_named(raw_circuit: Circuit) -> None:
    for column, value, message in [
        ("sea", "desert", "row 2, column 'sea': 'desert' is"),
        ("age", "old", "row 2, column 'age': 'old' is"),
        ("age", float("inf"), "row 2, column 'age': 'inf' is"),
        ("open", 2, "row 2, column 'open': '2' is"),
        ("sea", datetime.date(2020, 1, 1), "column 'sea', row 2: datetime.date"),
        ("age", 1j, "column 'age', row 0: .*neither a number nor a text"),
    ]:
        given: dict[str, Any] = {**RAW, column: [*RAW[column][:2], value, RAW[column][3]]}
        with pytest.raises(InputError, match=message):
            raw_circuit.binarise(given)


def test_arrays_of_numbers_are_raw_or_it_is_asked() -> None:
    """With as many bits as columns, an array without names is raw if its values show it, and otherwise ambiguous."""
    random = np.random.default_rng(1)
    X = random.integers(0, 5, size=(80, 4)).astype(float)
    classifier = boolshap.BnnClassifier(hidden=(2,), epochs=3).fit(X, X[:, 0] > 2)
    circuit = classifier.circuit()
    assert [name.partition(">")[0] for name in circuit.features] == circuit.raw_columns
    assert np.array_equal(circuit.predict(X), classifier.predict(X))
    raw = np.array([[0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    for door in (circuit.predict, boolshap.Explainer(circuit, X)):
        with pytest.raises(InputError, match='could be raw values or bits.*: give input="raw" or input="bits"$'):
            door(raw)
    assert np.array_equal(circuit.predict(raw, input="raw"), classifier.predict(raw))
    bits_ = classifier.bits(X)
    assert np.array_equal(circuit.predict(bits_, input="bits"), classifier.predict(X))
    # The names of a table decide, because the names of bits contain their test.
    names = circuit.raw_columns or []
    assert np.array_equal(circuit.predict(pandas.DataFrame(raw, columns=names)), classifier.predict(raw))
    assert np.array_equal(circuit.predict(pandas.DataFrame(bits_, columns=circuit.features)), classifier.predict(X))
