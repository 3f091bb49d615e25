"""Silent errors in tables that must not happen: means that depend on the order of the rows, quotes that swallow rows,
blank lines that shift rows, names that are not UTF-8."""

import csv
import json
import os
import random
from fractions import Fraction

import pytest


def write_rows(path, header, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def threshold(boolshap, values, *more):
    """The threshold of `train` for a column of these values."""
    rows = [[repr(value), index % 2] for index, value in enumerate(values)]
    write_rows(boolshap.folder / "t.csv", ["x", "y"], rows)
    boolshap("train", "t.csv", "--target", "y", "-o", "m.json", "--hidden", "1", *more)
    model = json.loads((boolshap.folder / "m.json").read_text())
    return model["schema"][0]["code"]


@pytest.mark.slow
def test_no_row_of_a_constant_column_is_above_its_mean(boolshap):
    for value in [0.003, 0.1, 1e300, -7.7, 5e-324, 1.7e308, 1 / 3]:
        for rows in [7, 49, 1000]:
            assert threshold(boolshap, [value] * rows) == {"above": value}, rows


def columns():
    rng = random.Random(1)
    yield [rng.uniform(-1, 1) for _ in range(501)]
    yield [rng.randrange(1000) / 1000 for _ in range(500)]
    yield [rng.uniform(-1, 1) * 10.0 ** rng.randrange(-300, 300) for _ in range(400)]
    yield [rng.choice([-1, 1]) * rng.randrange(1, 9) * 5e-324 for _ in range(99)]
    yield [1.7e308, 1.6e308, -1.0, 1.7e308, 1.5e308]
    # Large values cancel, and a small sum remains.
    yield [1e16, 1.0, -1e16, 3.0] * 25


@pytest.mark.slow
def test_means_are_the_nearest_floats_in_any_order_of_rows(boolshap):
    for values in columns():
        expected = float(sum(map(Fraction, values)) / len(values))
        for order in range(3):
            assert threshold(boolshap, random.Random(order).sample(values, len(values))) == {"above": expected}


@pytest.mark.slow
def test_quantiles_are_the_nearest_floats_between_their_neighbours(boolshap):
    for values in columns():
        ordered = sorted(map(Fraction, values))

        def quantile(part, parts):
            place = Fraction(part * (len(ordered) - 1), parts)
            below = ordered[int(place)]
            above = ordered[min(int(place) + 1, len(ordered) - 1)]
            return float(below + (above - below) * (place - int(place)))

        assert threshold(boolshap, values, "--column", "x=numeric:median") == {"above": quantile(1, 2)}
        edges = dict.fromkeys(quantile(part, 10) for part in range(1, 10))
        found = threshold(boolshap, values, "--column", "x=numeric:bins=10")
        assert found == {"bins": [edge for edge in edges if edge < float(ordered[-1])]}


def test_mean_scores_do_not_depend_on_the_order_of_rows(boolshap):
    (boolshap.folder / "f.cnf").write_text("p cnf 7 3\n1 2 3 0\n-3 4 0\n5 6 7 0\n")
    boolshap("compile", "f.cnf", "-o", "c.bsc")
    rng = random.Random(3)
    names = [f"x{i + 1}" for i in range(7)]
    write_rows(boolshap.folder / "p.csv", ["feature", "probability"], [[name, rng.random()] for name in names])
    rows = [[rng.randrange(2) for _ in names] for _ in range(300)]
    found = []
    for _ in range(3):
        rng.shuffle(rows)
        write_rows(boolshap.folder / "r.csv", names, rows)
        options = ["--distribution", "product:p.csv", "-o", "s.csv"]
        found.append(boolshap.json("explain", "c.bsc", "r.csv", *options)["mean_absolute"])
        # Compared with the means of the written scores, in fractions.
        scores = list(csv.DictReader((boolshap.folder / "s.csv").open()))
        for name in names:
            exact = sum(abs(Fraction(float(row[name]))) for row in scores) / len(scores)
            assert found[-1][name] == float(exact)
    assert found[0] == found[1] == found[2]


QUOTED = 'id,x1,x2,note\n1,0,1,fine\n2,1,0,"so\nfar ""so"" good"\n3,1,1,5" pipe\n4,0,0,"open\n5,1,1,lost\n'
CLOSED = QUOTED.replace("lost", 'lost\n6,1,0,"closed"')
WHERE = "line 6: a quote opens a cell here and is not closed"


@pytest.fixture
def circuit(boolshap):
    (boolshap.folder / "f.cnf").write_text("p cnf 2 1\n1 2 0\n")
    (boolshap.folder / "one.cnf").write_text("p cnf 1 1\n1 0\n")
    (boolshap.folder / "good.csv").write_text("x1,x2\n0,1\n1,1\n")
    (boolshap.folder / "x.csv").write_text("x1\n0\n1\n")
    boolshap("compile", "f.cnf", "-o", "c.bsc")
    boolshap("compile", "one.cnf", "-o", "one.bsc")
    return "c.bsc"


READERS = {
    "train": "train {} --target x2 -o m.json --column note=ignored --column id=ignored",
    "explain": "explain c.bsc {} -o s.csv",
    "explain from a pipe": "explain c.bsc - -o s.csv",
    "predict": "predict c.bsc {} -o s.csv",
    "report": "report c.bsc {} -o r.html",
    "background": "explain c.bsc good.csv -o s.csv --distribution background:{}",
    "empirical": "explain c.bsc good.csv -o s.csv --distribution empirical:{}",
    "product of rows": "explain c.bsc good.csv -o s.csv --distribution product:{}",
}


@pytest.mark.parametrize("what", READERS)
def test_a_quote_that_is_not_closed_is_an_error_with_its_line(boolshap, circuit, what):
    before = set(os.listdir(boolshap.folder))
    for text in [QUOTED, CLOSED, QUOTED.replace("\n", "\r\n")]:
        path = boolshap.folder / "bad.csv"
        path.write_text(text, newline="")
        line = READERS[what].replace("{}", "bad.csv").split()
        with open(path if "-" in line else os.devnull) as stdin:
            process = boolshap.start(*line, stdin=stdin, stdout=-1, stderr=-1)
            said = process.communicate()[1]
        assert process.returncode == 1 and WHERE in said, said
        assert set(os.listdir(boolshap.folder)) == before | {"bad.csv"}
        # Closed where it should be, the same table is read.
        path.write_text(QUOTED.replace('"open', '"open"'))
        if what != "train":
            boolshap(*[word if word != "-" else "bad.csv" for word in line])
            [(boolshap.folder / name).unlink(missing_ok=True) for name in ("s.csv", "r.html")]


def test_files_of_pairs_are_read_with_the_same_care(boolshap, circuit):
    for option, content in {
        "--players": 'feature,player,note\nx1,a,"open\nx2,b,\n',
        "--distribution": 'feature,probability,note\nx1,0.5,"open\nx2,0.25,\n',
    }.items():
        (boolshap.folder / "pairs.csv").write_text(content)
        given = "pairs.csv" if option == "--players" else "product:pairs.csv"
        said = boolshap.fails("explain", circuit, "good.csv", "-o", "s.csv", option, given)
        assert "pairs.csv: line 2: a quote opens a cell" in said
        (boolshap.folder / "pairs.csv").write_text(content.replace('"open', '"closed"'))
        boolshap("explain", circuit, "good.csv", "-o", "s.csv", option, given)


def test_a_quote_in_a_header_is_closed_too(boolshap, circuit):
    (boolshap.folder / "bad.csv").write_text('x1,x2,"note\n' + "0,1,2\n" * 50_000)
    assert "bad.csv: line 1: a quote opens a cell" in boolshap.fails("explain", circuit, "bad.csv", "-o", "s.csv")
    # A quote inside a name is part of it, and the following lines are rows.
    (boolshap.folder / "good.csv").write_text('x1,x2,width 5"\n0,1,2\n')
    assert boolshap.json("explain", circuit, "good.csv", "--keep", 'width 5"', "-o", "s.csv")["rows"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_blank_line_in_a_table_of_one_column_is_an_error(boolshap, circuit, end):
    lines = {
        "explain": "explain one.bsc x.csv -o s.csv",
        "predict": "predict one.bsc x.csv -o s.csv",
        "report": "report one.bsc x.csv -o r.html",
        "background": "explain one.bsc one-row.csv -o s.csv --distribution background:x.csv",
        "product": "explain one.bsc one-row.csv -o s.csv --distribution product:x.csv",
    }
    (boolshap.folder / "one-row.csv").write_text("x1\n1\n")
    for line in lines.values():
        for rows, bad in [("0,,1", 3), ("0,1,", 4), (",0", 2), ("0,1,,,", 4)]:
            text = "".join(cell + end for cell in ["x1", *rows.split(",")])
            (boolshap.folder / "x.csv").write_text(text, newline="")
            said = boolshap.fails(*line.split())
            where = f"line {bad} is blank" if end != "\r" else "is blank"
            assert where in said and 'a missing value is written ""' in said
        # Blank lines before the header and a final newline are not rows.
        for text in ["\n\nx1\n0\n1", "x1\n0\n1\n", '"x1"\n0\n1\n', "\r\nx1\r\n0\r\n1\r\n"]:
            (boolshap.folder / "x.csv").write_text(text, newline="")
            boolshap(*line.split())


def test_a_missing_value_of_an_only_column_is_written_in_quotes(boolshap):
    write_rows(boolshap.folder / "t.csv", ["x", "y"], [[index, int(index > 4)] for index in range(10)])
    boolshap("train", "t.csv", "--target", "y", "-o", "m.json", "--hidden", "1")
    (boolshap.folder / "x.csv").write_text('x\n9\n""\n8\n')
    boolshap("predict", "m.json", "x.csv", "-o", "p.csv")
    assert (boolshap.folder / "p.csv").read_text() == "prediction\n1\n0\n1\n"
    (boolshap.folder / "x.csv").write_text("x\n9\n\n8\n")
    assert "line 3 is blank" in boolshap.fails("predict", "m.json", "x.csv", "-o", "p.csv")


def test_blank_lines_between_rows_of_several_columns_are_no_rows(boolshap, circuit):
    (boolshap.folder / "rows.csv").write_text("\nx1,x2\n\n0,1\n\n\n1,1\n\n")
    assert boolshap.json("explain", circuit, "rows.csv", "-o", "s.csv")["rows"] == 2
    boolshap("predict", circuit, "rows.csv", "-o", "p.csv")
    assert (boolshap.folder / "p.csv").read_text() == "prediction\n1\n1\n"
    (boolshap.folder / "pairs.csv").write_text("feature,player\n\nx1,a\n\nx2,a\n\n")
    boolshap("explain", circuit, "rows.csv", "-o", "s.csv", "--players", "pairs.csv")
    (boolshap.folder / "pairs.csv").write_text("feature,probability\n\nx1,0.5\n\nx2,0.5\n\n")
    boolshap("explain", circuit, "rows.csv", "-o", "s.csv", "--distribution", "product:pairs.csv")


def test_files_may_have_any_name(boolshap, circuit):
    folder = os.fsencode(boolshap.folder)
    odd = b"a:\xff\xe9.csv"

    def call(*arguments, code=0):
        line = [*boolshap.line([]), *(os.fsencode(argument) for argument in arguments)]
        import subprocess

        done = subprocess.run(line, cwd=boolshap.folder, capture_output=True)
        assert done.returncode == code, done.stderr
        return done

    def write(text):
        with open(os.path.join(folder, odd), "w") as file:
            file.write(text)

    files = {
        b"--distribution": {
            b"product:": "feature,probability\nx1,0.25\nx2,0.5\n",
            b"background:": "x1,x2\n0,1\n1,1\n",
            b"empirical:": "x1,x2\n0,1\n1,1\n",
        },
        b"--players": {b"": "feature,player\nx1,a\nx2,a\n"},
        b"--constraint": {b"": "p cnf 2 1\n1 2 0\n"},
    }
    for option, kinds in files.items():
        for kind, text in kinds.items():
            write(text)
            (boolshap.folder / "plain").write_text(text)
            call("explain", "c.bsc", "good.csv", "-o", "odd.csv", option, kind + odd)
            call("explain", "c.bsc", "good.csv", "-o", "plain.csv", option, kind + b"plain")
            assert (boolshap.folder / "odd.csv").read_text() == (boolshap.folder / "plain.csv").read_text()
    write("x1,x2\n0,1\n1,1\n")
    call("explain", "c.bsc", odd, "-o", b"\xff.csv")
    call("predict", "c.bsc", odd, "-o", b"\xfe.csv")
    call("compile", "f.cnf", "-o", b"\xfd.bsc", "--features", odd)
    assert b"is not one of" in call("explain", "c.bsc", odd, "--distribution", b"pro\xffduct:x", code=2).stderr
