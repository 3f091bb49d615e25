"""Rows in any form, as the bits that a circuit takes.

Tables with column names are matched by name, never by position: other columns are ignored, a missing one is an error.
They may hold raw columns, which the circuit turns into bits, or the bits themselves; the library decides which from the
names, and from the values where both fit. Arrays and lists have no names: with as many columns as there are features,
they hold the features in their order; with as many as there are raw columns, the raw ones. If both fit, other values
than 0 and 1 are raw, and a table without any is an error: `input="raw"` or `input="bits"` says what it is.

pandas, polars and pyarrow are recognised by the name of the module that an object's class comes from, so that none of
them needs to be imported. Arrays of bits that are uint8 or bool and C-contiguous are used as they are, without a copy.
"""

from __future__ import annotations

import decimal
import numbers
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from . import _native
from ._types import Bits, Floats, Reading
from .errors import InputError

if TYPE_CHECKING:
    from ._native import Circuit

Column = npt.NDArray[Any]


@dataclass(frozen=True)
class Rows:
    """Rows as bits, and the raw values that people know."""

    #: (rows, features), C-contiguous, 0 or 1
    bits: Bits
    #: numbers or texts by the names of raw columns; empty where bits were given
    raw: dict[str, Column]


@dataclass(frozen=True)
class RawTable:
    """Raw rows as numbers: (rows, columns), C-contiguous, NaN where a value is missing."""

    numbers: Floats
    #: the rows as they came, where steps before the model have changed them
    shown: Column | None = None


class _Table:
    """Columns by name, whatever library holds them."""

    def __init__(
        self,
        names: Sequence[Hashable],
        column: Callable[[int], Column],
        rows: int,
        whole: Callable[[], Column | None] = lambda: None,
    ) -> None:
        self._places: dict[Hashable, list[int]] = {}
        for place, name in enumerate(names):
            self._places.setdefault(name, []).append(place)
        self._column = column
        self._whole = whole
        self._width = len(names)
        self.rows = rows

    @property
    def names(self) -> list[str]:
        return [name for name in self._places if isinstance(name, str)]

    def column(self, name: str) -> Column:
        return self._column(self._place(name))

    def together(self, names: list[str]) -> Column | None:
        """These columns as one array of numbers, if they are most of the table and it is stored as one."""
        places = [self._place(name) for name in names]
        whole = self._whole() if 2 * len(places) >= self._width else None
        return whole if whole is None or places == list(range(self._width)) else whole[:, places]

    def _place(self, name: str) -> int:
        places = self._places.get(name, [])
        if not places:
            known = [repr(known) for known in self._places]
            shown = ", ".join(known[:8] + ["..."] * (len(known) > 8))
            raise InputError(f"there is no column {name!r}; the table has {shown or 'no columns'}")
        if len(places) > 1:
            raise InputError(f"the column {name!r} is there {len(places)} times")
        return places[0]


def read_rows(
    given: object, circuit: Circuit, reading: Reading = "auto", *, otherwise: Reading = "auto"
) -> Rows:
    """Reads rows in any form; `otherwise` decides where they could be raw values as well as bits."""
    table = _named_table(given)
    names = _names(given, table, circuit)
    open_ = False

    def look(rows: int) -> bool:
        nonlocal open_
        found = _has_other(given, table, circuit, rows)
        open_ = not found and otherwise != "auto"
        # The values do not decide, so the caller's choice does.
        return found or open_

    is_raw = circuit._reads_raw(names, reading, look)
    if not (circuit._reads_raw(names, otherwise, look) if open_ else is_raw):
        return Rows(_bits(given, table, circuit.features), {})
    raw_columns = cast("list[str]", circuit.raw_columns)
    table = table or _positional(_array(given), raw_columns)
    columns = {name: table.column(name) for name in raw_columns}
    cells = [_cells(name, column) for name, column in columns.items()]
    raw = {name: _shown(column, cell) for (name, column), cell in zip(columns.items(), cells)}
    return Rows(circuit._encode(cells), raw)


def _names(given: object, table: _Table | None, circuit: Circuit) -> list[str]:
    """The names of a table's columns; for an array, the names that fit its number of columns."""
    if table is not None:
        return table.names
    width = _array(given).shape[1]
    return [name for names in (circuit.features, circuit.raw_columns or []) if len(names) == width for name in names]


def _has_other(given: object, table: _Table | None, circuit: Circuit, rows: int) -> bool:
    """Whether one of the first rows holds another value than 0 and 1 where bits would be."""
    if table is None:
        return not _are_bits(_array(given)[:rows].reshape(-1)).all()
    return not all(_are_bits(table.column(feature)[:rows]).all() for feature in circuit.features)


def _shown(column: Column, cells: Floats | list[str | None]) -> Column:
    """Numbers as they were given, so that integers stay integers; anything else as it was understood."""
    if column.dtype.kind in "buif":
        return column
    return cells if isinstance(cells, np.ndarray) else np.array(cells, dtype=object)


def read_bits(given: object, features: list[str]) -> Bits:
    """Reads rows in any form that hold the bits themselves."""
    return _bits(given, _named_table(given), features)


def read_numbers(given: object, columns: list[str]) -> RawTable:
    """Reads raw rows in any form that are numbers: named ones by name, others by position."""
    table = _named_table(given) or _positional(_array(given), columns, "columns")
    numbers = np.empty((table.rows, len(columns)), dtype=np.float64)
    for place, name in enumerate(columns):
        cells = _cells(name, table.column(name))
        if not isinstance(cells, np.ndarray):
            row = next(row for row, cell in enumerate(cells) if cell is not None)
            raise InputError(f"column {name!r}, row {row}: {cells[row]!r} is not a number")
        numbers[:, place] = cells
    return RawTable(numbers)


def holds_bits(given: object, columns: list[str] | None) -> bool:
    """Whether rows hold nothing but 0 and 1, in these columns if they have names."""
    table = _named_table(given)
    if table is None:
        return bool(_are_bits(_array(given).reshape(-1)).all())
    return all(bool(_are_bits(table.column(name)).all()) for name in columns or table.names)


def _libraries(given: object) -> set[str]:
    """The packages that define the object's class and those it derives from."""
    return {kind.__module__.partition(".")[0] for kind in type(given).__mro__}


def _named_table(given: object) -> _Table | None:
    """The table in an object whose columns have names; None for arrays and lists."""
    libraries, table = _libraries(given), cast(Any, given)
    if isinstance(given, Mapping):
        return _mapping(given)
    if isinstance(given, (np.ndarray, np.void)) and given.dtype.names is not None:
        rows, names = np.atleast_1d(np.asarray(given)), given.dtype.names
        return _Table(names, lambda place: rows[names[place]], len(rows))
    if "pandas" in libraries:
        if hasattr(table, "to_frame") and hasattr(table, "index") and not hasattr(table, "columns"):
            values = np.asarray(table, dtype=object)
            return _Table(list(table.index), lambda place: values[place : place + 1], 1)
        if hasattr(table, "columns"):
            column = lambda place: cast(Column, table.iloc[:, place].to_numpy())
            return _Table(list(table.columns), column, len(table), lambda: _of_pandas(table))
    if "polars" in libraries and hasattr(table, "collect"):
        raise InputError("a polars LazyFrame has no rows yet: collect() it first")
    if "polars" in libraries and hasattr(table, "columns"):
        return _Table(table.columns, lambda place: _of_polars(table.to_series(place)), table.height)
    if "pyarrow" in libraries and hasattr(table, "schema"):
        if hasattr(table, "read_all"):
            table = table.read_all()
        return _Table(table.schema.names, lambda place: _of_arrow(table.column(place)), table.num_rows)
    if hasattr(given, "__dataframe__") or (hasattr(given, "columns") and not isinstance(given, np.ndarray)):
        # As an array it would be read by position, not by name.
        kind = f"{type(given).__module__}.{type(given).__qualname__}"
        raise InputError(f"rows in a {kind} are not read: give them as pandas, polars or pyarrow have them")
    return None


def _mapping(given: Mapping[Any, Any]) -> _Table:
    columns = [np.atleast_1d(_array_of(values)) for values in given.values()]
    for name, column in zip(given, columns):
        if column.ndim != 1 or len(column) != len(columns[0]):
            raise InputError(f"the column {name!r} has the shape {column.shape}, the first one {columns[0].shape}")
    return _Table(list(given), lambda place: columns[place], len(columns[0]) if columns else 0)


def _of_pandas(frame: Any) -> Column | None:
    """The numbers of a frame, if they are of one type: pandas then holds them as an array, or as a few."""
    types = set(frame.dtypes)
    kind = types.pop() if len(types) == 1 else None
    return cast(Column, frame.to_numpy()) if isinstance(kind, np.dtype) and kind.kind in "uif" else None


def _of_polars(series: Any) -> Column:
    # Converted to floats directly, integers beyond 2**53 with nulls would be rounded; as objects they stay whole.
    if series.null_count() and not series.dtype.is_float():
        return np.array(series.to_list(), dtype=object)
    return cast(Column, series.to_numpy())


def _of_arrow(column: Any) -> Column:
    if hasattr(column.type, "value_type") and hasattr(column.type, "index_type"):
        # A dictionary's nulls would come out as its last value.
        column = column.cast(column.type.value_type)
    if column.null_count:
        return np.array(column.to_pylist(), dtype=object)
    # For a chunked array this cannot be chosen: it is always copied.
    chunked = hasattr(column, "chunks")
    return cast(Column, column.to_numpy() if chunked else column.to_numpy(zero_copy_only=False))


def _array_of(given: object) -> Column:
    """A numpy array with these values; where numbers and texts are mixed, both keep their types."""
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        values = np.array(given.data, dtype=object)
        values[np.ma.getmaskarray(given)] = None
        return values
    if isinstance(given, np.ndarray):
        return given
    try:
        array = np.asarray(given)
        return np.array(given, dtype=object) if array.dtype.kind in "US" else array
    except (ValueError, TypeError) as error:
        raise InputError(f"the rows are not a table: {error}") from error


def _array(given: object) -> Column:
    """An array of rows without names; a single row is accepted too."""
    if hasattr(given, "toarray") and "scipy" in _libraries(given):
        given = cast(Any, given).toarray()
    array = np.asarray(_array_of(given))
    if array.ndim == 1:
        array = array.reshape(1, -1)
    if array.ndim != 2:
        what = f"of {array.ndim}" if array.ndim else f"{given!r} ({type(given).__name__})"
        raise InputError(f"rows are a table or an array of one or two dimensions, not {what}")
    return array


def _positional(array: Column, names: list[str], what: str = "raw columns") -> _Table:
    if array.shape[1] != len(names):
        raise InputError(f"the rows have {array.shape[1]} columns, but there are {len(names)} {what}")
    return _Table(names, lambda place: array[:, place], len(array))


def _bits(given: object, table: _Table | None, features: list[str]) -> Bits:
    if table is not None:
        whole = table.together(features)
        bits = None if whole is None else _bits_of(whole)
        return _filled(table.rows, features, [table.column(feature) for feature in features]) if bits is None else bits
    array = _array(given)
    if array.shape[1] != len(features):
        raise InputError(f"the rows have {array.shape[1]} columns, but the circuit has {len(features)} features")
    if array.dtype == np.bool_:
        return np.ascontiguousarray(array).view(np.uint8)
    # Checking the largest value is cheaper than an array of results.
    if array.dtype == np.uint8 and (not array.size or int(array.max()) <= 1):
        return np.ascontiguousarray(array)
    bits = _bits_of(array)
    return _filled(len(array), features, list(array.T)) if bits is None else bits


def _bits_of(array: Column) -> Bits | None:
    """Numbers as bits, if all are 0 or 1."""
    return _native.bits_of(array) if array.flags.aligned else None


def _filled(rows: int, features: list[str], columns: list[Column]) -> Bits:
    """Bits, one column at a time; of several errors, the one in the first row is raised."""
    bits = np.empty((rows, len(features)), dtype=np.uint8)
    wrong: list[tuple[int, int, object]] = []
    for place, values in enumerate(columns):
        fits = _are_bits(values)
        if fits.all():
            bits[:, place] = values.astype(np.uint8)
        else:
            row = int(np.argmin(fits))
            wrong.append((row, place, values[row]))
    if wrong:
        row, place, value = min(wrong, key=lambda found: found[:2])
        shown = repr(value.item() if isinstance(value, np.generic) else value)
        raise InputError(f"column {features[place]!r}, row {row}: {shown} is neither 0 nor 1")
    return bits


def _are_bits(values: Column) -> npt.NDArray[np.bool_]:
    if values.dtype.kind in "buif":
        return np.asarray((values == 0) | (values == 1), dtype=np.bool_)
    return np.fromiter((_is_number(value) and value in (0, 1) for value in values), dtype=np.bool_, count=len(values))


def _is_number(value: object) -> bool:
    return isinstance(value, (numbers.Real, decimal.Decimal, np.bool_))


def _cells(name: str, column: Column) -> Floats | list[str | None]:
    """A raw column as numbers if it holds nothing else, else as texts."""
    if column.dtype.kind in "buif":
        # The fields of a packed record are not aligned.
        return np.ascontiguousarray(column, dtype=np.float64)
    if column.dtype.kind not in "OUST":
        value = column[0] if len(column) else None
        raise InputError(f"column {name!r}, row 0: {value!r} ({column.dtype}) is neither a number nor a text")
    values = [_cell(name, row, value) for row, value in enumerate(column)]
    if all(value is None or not isinstance(value, str) for value in values):
        return np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
    return [value if value is None or isinstance(value, str) else _text(value) for value in values]


def _cell(name: str, row: int, value: Any) -> str | float | bool | None:
    """A text, a number, a truth value, or None where it is missing (None, NaN, and the like of pandas)."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if _is_number(value):
        return None if value != value else float(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    raise InputError(f"column {name!r}, row {row}: {value!r} is neither a number nor a text")


def _text(value: float | bool) -> str:
    """A cell as the library writes it: the shortest decimal, whole numbers without a point."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return np.format_float_positional(value, trim="-")
