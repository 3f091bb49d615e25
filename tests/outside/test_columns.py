"""The encoding of columns in real tables, recomputed in plain Python: missing values, categories, dates, cuts by a
decision tree (scikit-learn's), delimiters, encodings, compressed files, several files as one table, and errors."""

import csv
import datetime
import gzip
import io
import json
import random
import re
import subprocess

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest
from sklearn.tree import DecisionTreeClassifier

MARKERS = ["NA", "N/A", "NaN", "nan", "null", "NULL", "?"]
WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def write_rows(path, header, rows, **how):
    with open(path, "w", newline="") as file:
        csv.writer(file, **how).writerows([header, *rows])


def short(value):
    """A number with six significant digits, or more before the point."""
    if value != 0 and not 1e-4 <= abs(value) < 1e15:
        return None
    text = f"{value:.6g}" if abs(value) < 1e6 else f"{value:.0f}"
    return text


def is_missing(cell, markers=MARKERS):
    return cell.strip() == "" or cell.strip() in markers


def mean(numbers):
    from fractions import Fraction

    return float(sum(map(Fraction, numbers)) / len(numbers))


def bits_of(name, cells, kind, missing_bit=False):
    """Names and columns of bits of one column, by the rules of the documentation."""
    missing = [is_missing(cell) for cell in cells]
    some = any(missing)
    last = [(f"{name}=(missing)", [int(gone) for gone in missing])]
    if kind == "numeric":
        numbers = [None if gone else float(cell) for cell, gone in zip(cells, missing)]
        cut = mean([number for number in numbers if number is not None])
        above = [int(number is not None and number > cut) for number in numbers]
        if missing_bit and some:
            low = [int(number is not None and number <= cut) for number in numbers]
            return [(f"{name}<={short(cut)}", low), (f"{name}>{short(cut)}", above), *last]
        return [(f"{name}>{short(cut)}", above)]
    if kind == "boolean":
        truth = [not gone and cell.strip().lower() in ("1", "true") for cell, gone in zip(cells, missing)]
        one = (f"{name}=1", [int(value) for value in truth])
        if missing_bit and some:
            return [(f"{name}=0", [int(not value and not gone) for value, gone in zip(truth, missing)]), one, *last]
        return [one]
    kept = sorted({cell for cell, gone in zip(cells, missing) if not gone})
    others = []
    if kind.startswith("categorical:top="):
        counts = {text: cells.count(text) for text in kept}
        top = sorted(sorted(kept), key=lambda text: -counts[text])[: int(kind.partition("=")[2])]
        if len(top) < len(kept):
            others = [(f"{name}=(other)", [int(not gone and cell not in top) for cell, gone in zip(cells, missing)])]
        kept = sorted(top)
    each = [(f"{name}={text}", [int(cell == text) for cell in cells]) for text in kept]
    return [*each, *others, *(last if some else [])]


def random_column(rng, rows, kind):
    gone = rng.choice([0, 0, 0.2])
    if kind == "numeric":
        values = [repr(round(rng.uniform(-50, 50), rng.choice([0, 2]))) for _ in range(rows)]
    elif kind == "boolean":
        values = [rng.choice(["0", "1", "true", "FALSE"]) for _ in range(rows)]
    else:
        values = [rng.choice(["red", "green", "blue, dark", 'a "b"', "x=y", "Ünder"]) for _ in range(rows)]
    return [rng.choice(["", " ", *MARKERS]) if rng.random() < gone else value for value in values]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_random_tables_become_the_bits_of_the_documentation(boolshap, seed):
    rng = random.Random(seed)
    rows, missing_bit = rng.randrange(30, 90), rng.random() < 0.5
    kinds = {f"c{place}": rng.choice(["numeric", "boolean", "categorical", "categorical:top=2"]) for place in range(4)}
    columns = {name: random_column(rng, rows, kind.partition(":")[0]) for name, kind in kinds.items()}
    target = [rng.choice("ab") for _ in range(rows)]
    write_rows(boolshap.folder / "t.csv", [*columns, "y"], zip(*columns.values(), target))
    options = [text for name, kind in kinds.items() for text in ("--column", f"{name}={kind}")]
    options += ["--missing", "bit" if missing_bit else "zero", "--tally", "tally.csv"]
    result = boolshap.json("train", "t.csv", "--target", "y", "-o", "m.json", "--hidden", "2", *options)
    expected = [bit for name, kind in kinds.items() for bit in bits_of(name, columns[name], kind, missing_bit)]
    assert result["features"] == [name for name, _ in expected]
    gone = {name: sum(map(is_missing, cells)) for name, cells in columns.items()}
    assert result["missing"] == {name: count for name, count in gone.items() if count}
    counted = {}
    for row, label in zip(zip(*(bits for _, bits in expected)), target):
        counted.setdefault(row, [0, 0])["ab".index(label)] += 1
    with open(boolshap.folder / "tally.csv", newline="") as file:
        _, *lines = csv.reader(file)
    width = len(expected)
    tally = {tuple(map(int, line[:width])): list(map(int, line[width:])) for line in lines}
    assert {row: [c[0] + c[2], c[1] + c[3]] for row, c in tally.items()} == counted
    # Raw rows and their bits have different names and give the same predictions.
    write_rows(boolshap.folder / "bits.csv", result["features"], zip(*(bits for _, bits in expected)))
    for name in ("t.csv", "bits.csv"):
        boolshap("predict", "m.json", name, "-o", name + ".out")
    assert (boolshap.folder / "t.csv.out").read_text() == (boolshap.folder / "bits.csv.out").read_text()
    # Columns stay players: exactly one bit of a one-hot column is 1, missing or not.
    boolshap("compile", "m.json", "-o", "c.bsc")
    boolshap("explain", "c.bsc", "t.csv", "--players", "columns", "--distribution", "background:bits.csv", "-o", "s.csv")
    with open(boolshap.folder / "s.csv", newline="") as file:
        assert next(csv.reader(file)) == ["prediction", "base_value", *columns]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("fit", ["all", "train"])
def test_supervised_cuts_are_those_of_a_tree_on_training_rows(boolshap, seed, fit):
    rng = np.random.default_rng(seed)
    rows, leaves = 160, int(rng.integers(2, 7))
    x = rng.permutation(rows) * 3
    label = ((x // 120 % 2) ^ (rng.random(rows) < 0.2)).astype(int)
    names = [f"row{index:03}" for index in range(rows)]
    write_rows(boolshap.folder / "t.csv", ["x", "who", "y"], zip(x.tolist(), names, label.tolist()))
    options = ["--column", f"x=numeric:supervised={leaves}", "--column", "who=categorical", "--fit", fit]
    boolshap("train", "t.csv", "--target", "y", "-o", "m.json", "--hidden", "1", "--tally", "tally.csv", *options)
    code = json.loads((boolshap.folder / "m.json").read_text())["schema"][0]["code"]
    # Every row is distinct, so that the tally shows which rows are for training.
    with open(boolshap.folder / "tally.csv", newline="") as file:
        tally = list(csv.DictReader(file))
    counts = {name: int(row["train:0"]) + int(row["train:1"]) for row in tally for name in names if row[f"who={name}"] == "1"}
    training = np.array([counts[name] == 1 for name in names])
    assert training.sum() == rows // 2
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves).fit(x[training].reshape(-1, 1), label[training])
    cuts = sorted(tree.tree_.threshold[tree.tree_.feature == 0].tolist())
    assert ([code["above"]] if "above" in code else code["bins"]) == cuts


@pytest.mark.slow
def test_dates_are_taken_apart_as_datetime_does(boolshap):
    rng = random.Random(2)
    first = datetime.date(2019, 1, 1).toordinal()
    days = [datetime.date.fromordinal(first + rng.randrange(1500)) for _ in range(120)]
    cells = [day.isoformat() if index % 10 else "NA" for index, day in enumerate(days)]
    label = [index % 2 for index in range(120)]
    write_rows(boolshap.folder / "t.csv", ["when", "y"], zip(cells, label))
    options = ["--target", "y", "-o", "m.json", "--hidden", "1", "--tally", "tally.csv"]
    result = boolshap.json("train", "t.csv", *options, "--column", "when=date:year,month,weekday")
    present = [day for day, cell in zip(days, cells) if cell != "NA"]
    year = mean([day.year for day in present])
    names = [f"when.year>{short(year)}"]
    names += [f"when.month={month}" for month in range(1, 13)] + ["when.month=(missing)"]
    names += [f"when.weekday={day}" for day in WEEKDAYS] + ["when.weekday=(missing)"]
    assert result["features"] == names
    counted = {}
    for day, cell in zip(days, cells):
        gone = cell == "NA"
        row = [int(not gone and day.year > year)]
        row += [int(not gone and day.month == month) for month in range(1, 13)] + [int(gone)]
        row += [int(not gone and day.weekday() == weekday) for weekday in range(7)] + [int(gone)]
        counted[tuple(row)] = counted.get(tuple(row), 0) + 1
    with open(boolshap.folder / "tally.csv", newline="") as file:
        _, *lines = csv.reader(file)
    assert {tuple(map(int, line[:22])): sum(map(int, line[22:])) for line in lines} == counted
    result = boolshap.json("train", "t.csv", *options, "--column", "when=date:ordinal")
    code = json.loads((boolshap.folder / "m.json").read_text())["schema"][0]["code"]
    epoch = datetime.date(1970, 1, 1).toordinal()
    assert code["above"] == mean([day.toordinal() - epoch for day in present])
    assert re.fullmatch(r"when>20\d\d-\d\d-\d\d(T\d\d:\d\d)?", result["features"][0])
    # Parquet's date type gives the same; without an option, dates are ignored with a note.
    table = pyarrow.table({"when": [day if cell != "NA" else None for day, cell in zip(days, cells)], "y": label})
    pyarrow.parquet.write_table(table, boolshap.folder / "t.parquet")
    boolshap("train", "t.parquet", *options, "--column", "when=date:ordinal")
    assert json.loads((boolshap.folder / "m.json").read_text())["schema"][0]["code"] == code
    said = boolshap.fails("train", "t.csv", *options)
    assert "no column is left" in said
    plan = boolshap.json("inspect", "t.csv", "--target", "y")
    assert plan["columns"][0]["kind"] == "ignored" and "dates" in plan["columns"][0]["note"]


def messy(rng, rows=150):
    names = [f"{rng.choice('abcdefgh')}{rng.randrange(130)}" for _ in range(rows)]
    return {
        "id": list(range(1000, 1000 + rows)),
        "uuid": [f"u{index:05}" for index in range(rows)],
        "name": names,
        "when": [f"2024-{1 + index % 12:02}-{1 + index % 28:02}" for index in range(rows)],
        "age": [rng.randrange(18, 80) if index % 9 else "" for index in range(rows)],
        "income": ["none" if index % 50 == 7 else rng.randrange(1000, 9000) for index in range(rows)],
        "city": [rng.choice(["Rome", "Oslo", ""]) for _ in range(rows)],
        "empty": [""] * rows,
        "y": [rng.choice([0, 1, 2]) for _ in range(rows)],
    }


@pytest.mark.slow
def test_all_problems_come_in_one_message_with_a_line_to_paste(boolshap):
    columns = messy(random.Random(4))
    write_rows(boolshap.folder / "t.csv", list(columns), zip(*columns.values()))
    said = boolshap.fails("train", "t.csv", "--target", "y", "-o", "m.json")
    assert "2 columns cannot be read as they are" in said
    assert "column 'name' holds more than 100 different texts" in said
    assert "row 8, column 'income': 'none' is not a finite number (3 cells of the column are not)" in said
    ignore = re.search(r"--ignore (\S+)", said)[1]
    assert ignore == "name,income"
    result = boolshap.json("train", "t.csv", "--target", "y", "-o", "m.json", "--hidden", "2", "--ignore", ignore)
    assert [name.split(">")[0].split("=")[0] for name in result["features"]] == ["age", "city", "city", "city"]
    assert result["classes"] == ["0", "1", "2"]
    # The other suggested lines work too.
    column = re.search(r"(--column .*)", said)[1].replace("'", "").split()
    assert boolshap.json("train", "t.csv", "--target", "y", "-o", "m.json", "--hidden", "2", *column)["missing"]["age"] == 17
    markers = re.search(r"--missing-values '?([^'\n]*)", said)[1]
    result = boolshap.json(
        "train", "t.csv", "--target", "y", "-o", "m.json", "--hidden", "2", "--missing-values", markers, "--ignore", "name"
    )
    assert result["missing"]["income"] == 3
    done = boolshap("train", "t.csv", "--target", "y", "-o", "m.json", "--hidden", "2", "--ignore", ignore)
    for words in ["'id' holds another value in every row", "'uuid' holds another value", "'when' holds dates", "'empty' has no value"]:
        assert words in done.stderr
    assert "class 0 is '0', 1 is '1', 2 is '2'" in done.stderr and "--column y=numeric" in done.stderr
    assert "missing values: 17 in 'age' (read as 0)" in done.stderr


def test_inspect_shows_the_plan_without_training(boolshap):
    columns = messy(random.Random(4))
    write_rows(boolshap.folder / "t.csv", list(columns), zip(*columns.values()))
    plan = boolshap.json("inspect", "t.csv", "--target", "y")
    assert plan["rows"] == 150 and plan["problems"] == 2
    found = {column["column"]: column for column in plan["columns"]}
    assert list(found) == [name for name in columns if name != "y"]
    kinds = {name: column["kind"] for name, column in found.items()}
    ignored = dict.fromkeys(["id", "uuid", "when", "empty"], "ignored")
    assert {name: kinds[name] for name in [*ignored, "age", "city"]} == {**ignored, "age": "numeric", "city": "categorical"}
    assert found["city"]["features"] == ["city=Oslo", "city=Rome", "city=(missing)"]
    assert plan["target"]["classes"] == ["0", "1", "2"]
    assert plan["remedy"]["ignore"] == ["name", "income"]
    text = boolshap("inspect", "t.csv", "--target", "y").stdout
    assert "--ignore name,income" in text and "cannot be read as it is" in text
    # Training follows the plan.
    result = boolshap.json("train", "t.csv", "--target", "y", "-o", "m.json", "--hidden", "2", "--ignore", "name,income")
    plan = boolshap.json("inspect", "t.csv", "--target", "y", "--ignore", "name,income")
    assert [name for column in plan["columns"] for name in column["features"]] == result["features"]
    assert plan["problems"] == 0 and plan["remedy"] is None


@pytest.mark.slow
def test_a_target_of_few_whole_numbers_is_classes(boolshap):
    rows = [[index % 5, index % 3 + 3] for index in range(60)]
    write_rows(boolshap.folder / "t.csv", ["x", "grade"], rows)
    result = boolshap.json("train", "t.csv", "--target", "grade", "-o", "m.json", "--hidden", "2")
    assert result["classes"] == ["3", "4", "5"]
    boolshap("compile", "m.json", "-o", "c.bsc", "--class", "all")
    # 1 is the number of class '4' and not a name; 3 is the name of class 0 and not a number.
    for asked, number in {"1": "1", "3": "0", "index:1": "1", "name:5": "2"}.items():
        found = boolshap.json("explain", "c.bsc", "t.csv", "-o", "s.csv", "--class", asked)
        assert found["class"] == number and found["class_name"] == ["3", "4", "5"][int(number)]
        assert found["predictions"] == ["3", "4", "5"]
    result = boolshap.json("train", "t.csv", "--target", "grade", "-o", "n.json", "--hidden", "2", "--column", "grade=numeric")
    assert result["classes"] == ["at most 4", "above 4"]
    # German credit: class 1 is called 2.
    write_rows(boolshap.folder / "g.csv", ["x", "y"], [[index % 7, 1 + (index % 7 > 3), ] for index in range(70)])
    assert boolshap.json("train", "g.csv", "--target", "y", "-o", "g.json", "--hidden", "1")["classes"] == ["1", "2"]
    boolshap("compile", "g.json", "-o", "g.bsc", "--class", "all")
    said = boolshap("explain", "g.bsc", "g.csv", "--class", "1", code=2).stderr
    assert "say index:1 or name:1" in said
    assert "1 is '2'" in boolshap("predict", "g.json", "g.csv", "-o", "p.csv").stdout
    assert (boolshap.folder / "p.csv").read_text().splitlines()[:1] == ["prediction"]
    boolshap("predict", "g.json", "g.csv", "-o", "p.csv", "--names")
    rows = list(csv.DictReader((boolshap.folder / "p.csv").open()))
    assert all(row["name"] == {"0": "1", "1": "2"}[row["prediction"]] for row in rows)
    assert boolshap.json("info", "g.json")["classes"] == ["1", "2"] and "1 is '2'" in boolshap("info", "g.json").stdout


@pytest.mark.slow
def test_prediction_is_the_class_and_what_scores_add_up_to_is_beside_it(boolshap):
    rng = random.Random(6)
    rows = [[rng.randrange(2), rng.randrange(2), rng.randrange(2)] for _ in range(90)]
    write_rows(boolshap.folder / "t.csv", ["a", "b", "c", "y"], [[*row, "xyz"[sum(row) % 3]] for row in rows])
    boolshap("train", "t.csv", "--target", "y", "-o", "m.json", "--hidden", "4")
    boolshap("compile", "m.json", "-o", "c.bsc", "--class", "all")
    boolshap("predict", "m.json", "t.csv", "-o", "p.csv")
    expected = [int(line) for line in (boolshap.folder / "p.csv").read_text().split()[1:]]
    for ending in ("csv", "parquet"):
        for asked in ("predicted", "0", "y", "each"):
            boolshap("explain", "c.bsc", "t.csv", "-o", "s." + ending, "--class", asked)
            if ending == "csv":
                table = pyarrow.csv.read_csv(boolshap.folder / "s.csv")
            else:
                table = pyarrow.parquet.read_table(boolshap.folder / "s.parquet")
            assert table["prediction"].to_pylist() == expected
            groups = [":0", ":1", ":2"] if asked == "each" else [""]
            names = ["prediction"]
            for place, end in enumerate(groups):
                own = ["explained_value", "base_value", "a=1", "b=1", "c=1"]
                own = [name + end for name in own]
                names += own
                value = np.array(table[own[0]].to_pylist())
                number = {"0": 0, "y": 1, "each": place}.get(asked)
                assert value.tolist() == [int(asked == "predicted" or one == number) for one in expected]
                sums = sum(np.array(table[name].to_pylist()) for name in own[1:])
                np.testing.assert_allclose(sums, value, atol=1e-12)
            assert table.column_names == names
    # A single label keeps its columns.
    boolshap("compile", "m.json", "-o", "one.bsc", "--class", "y")
    boolshap("explain", "one.bsc", "t.csv", "-o", "s.csv")
    assert (boolshap.folder / "s.csv").read_text().splitlines()[0] == "prediction,base_value,a=1,b=1,c=1"


OLD = {
    "format": "boolshap model",
    "version": 1,
    "features": ["age", "sea=far", "sea=near"],
    "classes": None,
    "schema": [{"column": "age", "code": {"above": 40.0}}, {"column": "sea", "code": {"categories": ["far", "near"]}}],
    "marginals": None,
    "hidden": [],
    "output": {"step": {"weights": "2 -1 1", "need": "1"}},
    "provenance": {},
}


def test_files_of_the_last_version_keep_their_names_and_never_guess(boolshap):
    (boolshap.folder / "m.json").write_text(json.dumps(OLD))
    boolshap("compile", "m.json", "-o", "c.bsc")
    assert boolshap.json("info", "c.bsc")["features"] == OLD["features"]
    write_rows(boolshap.folder / "raw.csv", ["age", "sea"], [[20, "far"], [50, "near"]])
    write_rows(boolshap.folder / "bits.csv", OLD["features"], [[0, 1, 0], [1, 0, 1]])
    for name in ("raw.csv", "bits.csv"):
        boolshap("predict", "c.bsc", name, "-o", "p.csv")
        assert (boolshap.folder / "p.csv").read_text() == "prediction\n0\n1\n"
    only = {**OLD, "features": ["age", "fee"], "schema": [{"column": "age", "code": {"above": 40.0}}, {"column": "fee", "code": {"above": 7.0}}]}
    only["output"] = {"step": {"weights": "1 1", "need": "1"}}
    (boolshap.folder / "m.json").write_text(json.dumps(only))
    boolshap("compile", "m.json", "-o", "c.bsc")
    # Of 9,000 rows only the last is not 0 or 1: beyond the rows that are checked.
    for rows, reads in [([[1, 0], [0, 1]], None), ([[1, 0], [50, 1]], "raw"), ([[0, 1]] * 8999 + [[0, 9]], None)]:
        write_rows(boolshap.folder / "both.csv", ["age", "fee"], rows)
        for line in ("predict c.bsc both.csv -o p.csv", "explain c.bsc both.csv -o p.csv", "report c.bsc both.csv -o r.html"):
            if reads is None:
                assert "--input raw or --input bits" in boolshap.fails(*line.split())
            else:
                boolshap(*line.split())
        if reads is None and len(rows) < 9000:
            boolshap("predict", "c.bsc", "both.csv", "-o", "p.csv", "--input", "bits")
            assert (boolshap.folder / "p.csv").read_text() == "prediction\n1\n1\n"
            boolshap("predict", "c.bsc", "both.csv", "-o", "p.csv", "--input", "raw")
            assert (boolshap.folder / "p.csv").read_text() == "prediction\n0\n0\n"
    # Rows and background are recognised independently.
    write_rows(boolshap.folder / "raw.csv", ["age", "fee"], [[20, 3], [50, 9], [41, 1]])
    write_rows(boolshap.folder / "as_bits.csv", ["age", "fee"], [[0, 0], [1, 1], [1, 0]])
    boolshap("explain", "c.bsc", "raw.csv", "-o", "a.csv", "--distribution", "background:raw.csv")
    boolshap("explain", "c.bsc", "as_bits.csv", "--input", "bits", "-o", "b.csv", "--distribution", "background:raw.csv")
    boolshap("explain", "c.bsc", "as_bits.csv", "--input", "bits", "-o", "d.csv", "--distribution", "background:as_bits.csv")
    texts = [(boolshap.folder / name).read_text() for name in ("a.csv", "b.csv", "d.csv")]
    assert texts[0] == texts[1] == texts[2]


def test_a_tally_is_not_a_background(boolshap):
    rng = random.Random(7)
    write_rows(boolshap.folder / "t.csv", ["x", "y"], [[rng.randrange(9), rng.randrange(2)] for _ in range(60)])
    boolshap("train", "t.csv", "--target", "y", "-o", "m.json", "--hidden", "1", "--tally", "tally.csv")
    boolshap("compile", "m.json", "-o", "c.bsc")
    for kind in ("background", "empirical", "product"):
        said = boolshap.fails("explain", "c.bsc", "t.csv", "-o", "s.csv", "--distribution", f"{kind}:tally.csv")
        assert "counts rows" in said and "train:0" in said
    # Its rows can be explained, each distinct row once.
    boolshap("explain", "c.bsc", "tally.csv", "-o", "s.csv")


FORMS = {
    "comma.csv": lambda text: text.encode(),
    "semicolon.csv": lambda text: text.replace(",", ";").encode(),
    "tab.tsv": lambda text: text.replace(",", "\t").encode(),
    "mark.csv": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "latin.csv": lambda text: text.encode("latin-1"),
    "gzip.csv.gz": lambda text: gzip.compress(text.encode()),
    "two.csv.gz": lambda text: gzip.compress(text.encode()[:50]) + gzip.compress(text.encode()[50:]),
    "zstd.csv.zst": lambda text: pyarrow.compress(text.encode(), codec="zstd", asbytes=True),
    "latin.gz": lambda text: gzip.compress(text.replace(",", ";").encode("latin-1")),
    "dos.csv": lambda text: text.replace("\n", "\r\n").encode(),
}


def plain_text(rows=200):
    rng = random.Random(8)
    lines = [f"{rng.uniform(0, 9):.2f},{rng.choice(['Zürich', 'Genève', 'Rome'])},{rng.randrange(2)}" for _ in range(rows)]
    return "größe,ort,y\n" + "\n".join(lines) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_a_table_is_the_same_table(boolshap, name):
    text = plain_text()
    (boolshap.folder / "plain.csv").write_text(text)
    (boolshap.folder / name).write_bytes(FORMS[name](text))
    models, scores = [], []
    for source in ("plain.csv", name, "-"):
        stdin = open(boolshap.folder / name, "rb") if source == "-" else None
        # Through a pipe, which can be read only once.
        pipe = subprocess.Popen(["cat"], stdin=stdin, stdout=subprocess.PIPE).stdout if stdin else None
        run = boolshap.start("train", source, "--target", "y", "-o", "m.json", "--hidden", "2", stdin=pipe, stdout=-1, stderr=-1)
        said = run.communicate()[1]
        assert run.returncode == 0, said
        assert ("Latin-1" in said) == ("latin" in name and source != "plain.csv")
        model = json.loads((boolshap.folder / "m.json").read_text())
        model["provenance"].pop("source")
        models.append(model)
        boolshap("compile", "m.json", "-o", "c.bsc")
        for command in ("explain c.bsc {} -o s.csv --keep ort", "predict c.bsc {} -o s.csv", "report c.bsc {} -o r.html"):
            stdin = open(boolshap.folder / name, "rb") if source == "-" else None
            pipe = subprocess.Popen(["cat"], stdin=stdin, stdout=subprocess.PIPE).stdout if stdin else None
            run = boolshap.start(*command.format(source).split(), stdin=pipe, stdout=-1, stderr=-1)
            said = run.communicate()[1]
            assert run.returncode == 0, said
            if "s.csv" in command:
                scores.append((command, (boolshap.folder / "s.csv").read_text()))
    assert models[0] == models[1] == models[2]
    assert len({text for _, text in scores}) == 2


def test_what_is_neither_utf_8_nor_latin_1_is_an_error(boolshap):
    for content, line in [(b"x,y\n\xe9,1\n\xc3\xa9,0\n", 3), (b"x,y\n\xc3\xa9,1\n\xe9,0\n", 3), (b"x,y\n1,1\n\x80,0\n", 3)]:
        (boolshap.folder / "t.csv").write_bytes(content)
        assert f"line {line} is not UTF-8" in boolshap.fails("train", "t.csv", "--target", "y", "-o", "m.json")


@pytest.mark.slow
def test_a_pattern_stands_for_all_files_that_have_such_a_name(boolshap):
    text = plain_text(300)
    header, *lines = text.splitlines()
    table = pyarrow.csv.read_csv(io.BytesIO(text.encode()))
    (boolshap.folder / "all.csv").write_text(text)
    pyarrow.parquet.write_table(table, boolshap.folder / "all.parquet")
    (boolshap.folder / "parts").mkdir()
    for part in range(3):
        own = lines[100 * part : 100 * part + 100]
        (boolshap.folder / f"parts/p{part}.csv").write_text("\n".join([header, *own]) + "\n")
        pyarrow.parquet.write_table(table.slice(100 * part, 100), boolshap.folder / f"parts/p{part}.parquet")
    for ending in ("csv", "parquet"):
        models = []
        for source in (f"all.{ending}", f"parts/p*.{ending}", f"parts/p[0-2].{ending}", f"p*/p?.{ending}"):
            boolshap("train", source, "--target", "y", "-o", "m.json", "--hidden", "2")
            model = json.loads((boolshap.folder / "m.json").read_text())
            model["provenance"].pop("source")
            models.append(model)
        assert all(model == models[0] for model in models)
        boolshap("compile", "m.json", "-o", "c.bsc")
        found = []
        for source in (f"all.{ending}", f"parts/p*.{ending}"):
            boolshap("explain", "c.bsc", source, "-o", "s.csv", "--keep", "ort", "--distribution", f"background:{source}")
            found.append((boolshap.folder / "s.csv").read_text())
        assert found[0] == found[1]
        # None of the files is overwritten.
        said = boolshap.fails("explain", "c.bsc", f"parts/p*.{ending}", "-o", f"parts/p1.{ending}")
        assert "this is an input" in said
        said = boolshap.fails("train", f"parts/p*.{ending}", "--target", "y", "-o", f"parts/p1.{ending}")
        assert "this is an input" in said
    assert "no file has a name like this" in boolshap.fails("train", "parts/q*.csv", "--target", "y", "-o", "m.json")
    (boolshap.folder / "parts/p9.csv").write_text("other,y\n1,0\n")
    assert "p9.csv: has other columns" in boolshap.fails("train", "parts/p*.csv", "--target", "y", "-o", "m.json")
    assert "columns of other types" in boolshap.fails("train", "parts/p0.*", "--target", "y", "-o", "m.json")


def test_standard_input_as_a_background(boolshap):
    text = plain_text()
    (boolshap.folder / "t.csv").write_text(text)
    boolshap("train", "t.csv", "--target", "y", "-o", "m.json", "--hidden", "2")
    boolshap("compile", "m.json", "-o", "c.bsc")
    boolshap("explain", "c.bsc", "t.csv", "-o", "a.csv", "--distribution", "background:t.csv")
    pipe = subprocess.Popen(["cat", boolshap.folder / "t.csv"], stdout=subprocess.PIPE).stdout
    run = boolshap.start("explain", "c.bsc", "t.csv", "-o", "b.csv", "--distribution", "background:-", stdin=pipe, stdout=-1, stderr=-1)
    assert run.communicate() and run.returncode == 0
    assert (boolshap.folder / "a.csv").read_text() == (boolshap.folder / "b.csv").read_text()
