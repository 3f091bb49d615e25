"""Long tables through `explain`: order, kept columns, CSV and Parquet, errors, interruptions, memory."""

import csv
import os
import signal
import subprocess
import time
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from conftest import written_bytes

FEATURES = 14
# (x1 or x2) and (x3 or x4) and (not x5 or x6), and eight features that do not matter.
CNF = f"p cnf {FEATURES} 3\n1 2 0\n3 4 0\n-5 6 0\n"
NAMES = [f"x{i + 1}" for i in range(FEATURES)]


def holds(bits):
    return (bits[:, 0] | bits[:, 1]) & (bits[:, 2] | bits[:, 3]) & (1 - bits[:, 4] | bits[:, 5])


def random_bits(rows, features=FEATURES, seed=1):
    return np.random.default_rng(seed).integers(0, 2, (rows, features))


def write_bits(path, bits, names=NAMES, ids=None):
    columns = {} if ids is None else {"id": ids}
    table = pa.table(columns | {name: pa.array(column) for name, column in zip(names, bits.T)})
    pa.csv.write_csv(table, path, pa.csv.WriteOptions(quoting_style="needed"))


def read_scores(path):
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    return header, rows


@pytest.fixture
def circuit(boolshap):
    (boolshap.folder / "f.cnf").write_text(CNF)
    boolshap("compile", "f.cnf", "-o", "c.bsc")
    return "c.bsc"


def test_rows_come_out_in_the_order_of_the_input(boolshap, circuit):
    bits = random_bits(20_000)
    order = np.random.default_rng(2).permutation(len(bits))
    write_bits(boolshap.folder / "e.csv", bits, ids=np.arange(len(bits)))
    write_bits(boolshap.folder / "shuffled.csv", bits[order], ids=order)
    result = boolshap.json("explain", circuit, "e.csv", "-o", "s.csv", "--keep", "id")
    assert (result["rows"], result["distinct_rows"]) == (20_000, len(np.unique(bits, axis=0)))
    assert result["distinct_rows"] > 8192
    boolshap("explain", circuit, "shuffled.csv", "-o", "t.csv", "--keep", "id")
    header, rows = read_scores(boolshap.folder / "s.csv")
    assert header == ["id", "prediction", "base_value", *NAMES]
    scores = np.array(rows, dtype=float)
    shuffled = np.array(read_scores(boolshap.folder / "t.csv")[1], dtype=float)
    assert (scores[:, 0] == np.arange(len(bits))).all()
    assert (scores[:, 1] == holds(bits)).all()
    assert (scores[:, 2] == 27 / 64).all()
    np.testing.assert_allclose(scores[:, 2:].sum(axis=1), holds(bits), atol=1e-12)
    assert (scores[:, 9:] == 0).all() and (np.abs(scores[:, 3:9]) > 0).all()
    np.testing.assert_allclose(shuffled, scores[order], atol=1e-12)


@pytest.mark.slow
def test_parquet_is_csv_in_another_format(boolshap, circuit):
    bits = random_bits(10_000)
    ids = [f'a "{i}", b' if i % 3 else None for i in range(len(bits))]
    write_bits(boolshap.folder / "e.csv", bits, ids=pa.array(ids))
    typed = pa.table(
        {"id": pa.array(ids), "when": pa.array(range(len(bits)), pa.timestamp("s"))}
        | {name: pa.array(column, pa.int8()) for name, column in zip(NAMES, bits.T)}
    )
    pa.parquet.write_table(typed, boolshap.folder / "e.parquet")
    for exact in [[], ["--exact"]]:
        outputs = {}
        for source in ["e.csv", "e.parquet"]:
            for target in ["s.csv", "s.parquet"]:
                boolshap("explain", circuit, source, "-o", target, "--keep", "id", *exact)
                outputs[source, target] = (boolshap.folder / target).read_bytes()
        assert outputs["e.csv", "s.csv"] == outputs["e.parquet", "s.csv"]
        assert outputs["e.csv", "s.parquet"] == outputs["e.parquet", "s.parquet"]
        header, rows = read_scores(boolshap.folder / "s.csv")
        table = pa.parquet.read_table(boolshap.folder / "s.parquet")
        assert table.column_names == header
        number = pa.string() if exact else pa.float64()
        assert table.schema.types == [pa.string(), pa.int32(), *[number] * (FEATURES + 1)]
        read = Fraction if exact else float
        for name, column in zip(header[2:], list(zip(*rows))[2:]):
            assert [read(cell) for cell in table[name].to_pylist()] == [read(cell) for cell in column]
        assert table["prediction"].to_pylist() == [int(row[1]) for row in rows] == holds(bits).tolist()
        assert table["id"].to_pylist() == ids
        assert [row[0] or None for row in rows] == ids
    boolshap("explain", circuit, "e.parquet", "-o", "s.parquet", "--keep", "when,id")
    table = pa.parquet.read_table(boolshap.folder / "s.parquet")
    assert table.schema.types[:2] == [pa.timestamp("s"), pa.string()] or table.schema.types[0] == pa.timestamp("ms")
    assert table["when"].cast(pa.timestamp("s")) == typed["when"]


@pytest.mark.slow
def test_raw_columns_can_be_kept(boolshap, shared_data, demo):
    housing = shared_data("housing/housing.csv")
    circuit = demo / "circuit.bsc"
    boolshap("explain", circuit, housing, "-o", "s.csv", "--keep", "ocean_proximity,median_house_value")
    header, rows = read_scores(boolshap.folder / "s.csv")
    assert header[:4] == ["ocean_proximity", "median_house_value", "prediction", "base_value"]
    with open(housing, newline="") as file:
        raw = list(csv.DictReader(file))
    assert [(row[0], row[1]) for row in rows] == [(row["ocean_proximity"], row["median_house_value"]) for row in raw]
    boolshap("predict", circuit, housing, "-o", "p.csv")
    assert [[row[2]] for row in rows] == read_scores(boolshap.folder / "p.csv")[1]
    boolshap("explain", circuit, housing, "-o", "k.csv", "--keep", "population")
    assert read_scores(boolshap.folder / "k.csv")[0][0] == "population"
    # A column as one player has the column's name.
    line = ["explain", circuit, housing, "-o", "t.csv", "--players", "columns", "--keep", "population"]
    assert boolshap.fails(*line) == "boolshap: --keep: the result has a column 'population' of its own\n"
    assert not (boolshap.folder / "t.csv").exists()


def test_columns_that_cannot_be_kept(boolshap, circuit):
    write_bits(boolshap.folder / "e.csv", random_bits(3), names=NAMES[:-1] + ["a,b"], ids=[1, 2, 3])
    said = boolshap.fails("explain", circuit, "e.csv", "-o", "s.csv")
    assert "there is no column 'x14'" in said
    write_bits(boolshap.folder / "e.csv", random_bits(3), ids=[1, 2, 3])
    said = boolshap.fails("explain", circuit, "e.csv", "-o", "s.csv", "--keep", "id,nothing")
    assert said.startswith("boolshap: e.csv: there is no column 'nothing' (there are: id, x1, ")
    said = boolshap.fails("explain", circuit, "e.csv", "-o", "s.csv", "--keep", "id", "--keep", "id")
    assert said == "boolshap: --keep: the column 'id' is there twice\n"
    said = boolshap.fails("explain", circuit, "e.csv", "-o", "s.csv", "--keep", "x3")
    assert said == "boolshap: --keep: the result has a column 'x3' of its own\n"
    assert sorted(os.listdir(boolshap.folder)) == ["c.bsc", "e.csv", "f.cnf"]
    # A name with a comma must be the only name.
    table = pa.csv.read_csv(boolshap.folder / "e.csv").rename_columns(["a,b", *NAMES])
    pa.csv.write_csv(table, boolshap.folder / "e.csv")
    boolshap("explain", circuit, "e.csv", "-o", "s.csv", "--keep", "a,b")
    assert read_scores(boolshap.folder / "s.csv")[0][:2] == ["a,b", "prediction"]


@pytest.mark.parametrize("target", ["s.csv", "s.parquet"])
def test_a_bad_cell_far_down_leaves_no_file(boolshap, circuit, target):
    bits = random_bits(12_000)
    bits[9_999, 4] = 7
    write_bits(boolshap.folder / "e.csv", bits)
    before = sorted(os.listdir(boolshap.folder))
    said = boolshap.fails("explain", circuit, "e.csv", "-o", target)
    assert said == "boolshap: e.csv, row 10000, column 'x5': '7' is neither 0 nor 1\n"
    (boolshap.folder / target).write_text("old")
    boolshap.fails("explain", circuit, "e.csv", "-o", target)
    assert (boolshap.folder / target).read_text() == "old"
    assert sorted(os.listdir(boolshap.folder)) == sorted([*before, target])
    # A row in a later batch has one cell too few.
    bits[9_999, 4] = 1
    write_bits(boolshap.folder / "e.csv", bits)
    with open(boolshap.folder / "e.csv", "a") as file:
        file.write("1,0\n")
    said = boolshap.fails("explain", circuit, "e.csv", "-o", target)
    assert "line 12002" in said and (boolshap.folder / target).read_text() == "old"


def test_a_pipe_is_read_as_it_comes(boolshap, circuit):
    bits = random_bits(9_000)
    write_bits(boolshap.folder / "e.csv", bits)
    boolshap("explain", circuit, "e.csv", "-o", "s.csv")
    with open(boolshap.folder / "e.csv") as file:
        cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
    process = boolshap.start("explain", circuit, "-", "-o", "-", stdin=cat.stdout, stdout=subprocess.PIPE)
    scores = process.communicate()[0]
    assert process.returncode == 0
    assert scores == (boolshap.folder / "s.csv").read_text()
    cat.wait()


def test_parquet_is_read_from_a_pipe(boolshap, circuit):
    bits = random_bits(9_000)
    write_bits(boolshap.folder / "e.csv", bits)
    boolshap("explain", circuit, "e.csv", "-o", "s.csv")
    pa.parquet.write_table(pa.table(dict(zip(NAMES, bits.T))), boolshap.folder / "e.parquet")
    for content, problem in [(b"", None), (b"cut", "/dev/stdin")]:
        cat = subprocess.Popen(["cat", boolshap.folder / "e.parquet", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process = boolshap.start("explain", circuit, "-", "-o", "-", stdin=cat.stdout, stdout=-1, stderr=-1)
        cat.stdin.write(content)
        cat.stdin.close()
        scores, said = process.communicate()
        if problem is None:
            assert process.returncode == 0 and scores == (boolshap.folder / "s.csv").read_text(), said
        else:
            assert process.returncode == 1 and problem in said and "/proc" not in said


@pytest.mark.parametrize("target", ["s.csv", "s.parquet"])
def test_an_interruption_leaves_no_file(boolshap, circuit, target):
    write_bits(boolshap.folder / "e.csv", random_bits(20_000))
    before = sorted(os.listdir(boolshap.folder))
    # The pipe stays open, so the command is still waiting for rows when the signal comes.
    process = boolshap.start(
        "explain", circuit, "-", "-o", target, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdin.write((boolshap.folder / "e.csv").read_text())
    process.stdin.flush()
    deadline = time.monotonic() + 600
    while written_bytes(process.pid) is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert written_bytes(process.pid) is not None, "nothing was being written"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=600) == 130
    process.stdin.close()
    assert process.stderr.read() == ""
    assert sorted(os.listdir(boolshap.folder)) == before


@pytest.mark.slow
@pytest.mark.parametrize("features, rows, target", [(40, 300_000, "s.csv"), (784, 40_000, "s.parquet")])
def test_memory_is_bounded(boolshap, features, rows, target):
    """All rows are distinct, so that caching all of them would exceed the bound."""
    (boolshap.folder / "f.cnf").write_text(f"p cnf {features} 1\n1 2 0\n")
    boolshap("compile", "f.cnf", "-o", "c.bsc")
    cells = np.full((rows, 2 * features), ord(","), dtype=np.uint8)
    cells[:, ::2] = ord("0") + random_bits(rows, features)
    cells[:, -1] = ord("\n")
    header = ",".join(f"x{i + 1}" for i in range(features)) + "\n"
    (boolshap.folder / "e.csv").write_bytes(header.encode() + cells.tobytes())
    code, said, peak, _ = boolshap.measured("explain", "c.bsc", "e.csv", "-o", target, "--threads", 2, mebibytes=1024)
    assert code == 0, said
    assert peak < 350, "MiB"
    if target == "s.csv":
        with open(boolshap.folder / target) as file:
            assert sum(1 for _ in file) == rows + 1
    else:
        assert pa.parquet.ParquetFile(boolshap.folder / target).metadata.num_rows == rows
