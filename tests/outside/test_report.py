"""`boolshap report`: its page and figures, compared with `boolshap explain` and `predict` on the same rows, with pandas
and scikit-learn, and read by Pillow and the XML parser."""

import base64
import gzip
import io
import json
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.metrics import accuracy_score, confusion_matrix

from serving import HOSTILE_NAMES

FIGURES = ["importance", "beeswarm", "waterfall", "interactions", "circuit"]
SVG = "{http://www.w3.org/2000/svg}"


def report(made, *options, output="report.html", data=None):
    """The bytes of a report."""
    for option, value in (("--distribution", "uniform"), ("--players", "features")):
        if option not in options and "--regions" not in options:
            options = (option, value, *options)
    said = made.boolshap("report", made.circuit, data or made.data, "-o", output, *options)
    assert output in said.stdout
    return (made.folder / output).read_bytes()


def page_data(html):
    """The data of a report, with its compressed rows unpacked."""
    (found,) = re.findall(rb'<script type="application/json" id="page-data">(.*?)</script>', html, re.DOTALL)
    (rows,) = re.findall(rb'<script type="text/plain" id="page-rows">(.*?)</script>', html, re.DOTALL)
    return json.loads(found) | json.loads(gzip.decompress(base64.b64decode(rows, validate=True)))


def reported(made, *options, name="report.html"):
    """The URL and the data of a report."""
    return (made.folder / name).as_uri(), page_data(report(made, *options, output=name))


def scores_of(data):
    """The embedded scores, one row for each distinct row."""
    raw = base64.b64decode(data["kinds"]["scores"], validate=True)
    return np.frombuffer(raw, "<f8").reshape(len(data["kinds"]["bits"]), len(data["players"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["blocks", "irises", "hundred"])
def test_the_same_input_gives_the_same_bytes_whatever_the_threads(circuits, name):
    made = circuits(name)
    first = report(made)
    assert first == report(made, output="again.html") == report(made, "--threads", 1) == report(made, "--threads", 5)
    for figure in ("beeswarm", "interactions"):
        one = report(made, "--format", "svg", "--figure", figure, output="f.svg")
        assert one == report(made, "--format", "svg", "--figure", figure, "--threads", 1, output="f.svg")
    assert str(made.folder).encode() not in first


@pytest.mark.slow
@pytest.mark.parametrize("players", ["features", "columns"])
@pytest.mark.parametrize(
    "name, distribution, number",
    [
        ("blocks", "uniform", None),
        ("blocks", "product", None),
        ("blocks", "background:d.csv", None),
        ("blocks", "empirical:d.csv", None),
        ("irises", "uniform", 0),
        ("irises", "product", 2),
        ("hostile", "uniform", None),
        ("hundred", "uniform", None),
        ("one", "uniform", None),
        ("constant", "uniform", None),
    ],
)
def test_the_embedded_scores_are_those_of_explain_to_the_last_bit(circuits, name, distribution, number, players):
    made = circuits(name)
    options = ["--distribution", distribution, "--players", players] + ([] if number is None else ["--class", number])
    data = page_data(report(made, *options))
    header, rows = made.explain(*options)
    kinds = np.array(data["table"]["kind"])
    assert data["live"] is False and data["players"] == header[2:]
    assert data["game"]["class"] == number and data["choices"] == {"distributions": [], "players": [], "classes": []}
    expected = np.array([row[2:] for row in rows], dtype="<f8")
    assert scores_of(data)[kinds].tobytes() == expected.tobytes()
    assert data["base_value"] == float(rows[0][1])
    predictions = [int(row[0]) for row in rows]
    assert [data["kinds"]["prediction"][kind] for kind in kinds] == predictions
    assert np.bincount(kinds).tolist() == data["kinds"]["count"] and data["rows"] == len(rows)
    assert len(set(data["kinds"]["bits"])) == len(data["kinds"]["bits"])
    np.testing.assert_allclose(data["importance"], np.abs(expected).mean(axis=0), rtol=0, atol=1e-12)
    # The command gives the same scores for the embedded bits.
    bits = [[int(bit) for bit in data["kinds"]["bits"][kind]] for kind in kinds]
    assert made.explain_bits(bits, *options) == (header, rows)


@pytest.mark.slow
def test_the_table_is_the_file(circuits):
    for name in ("blocks", "hostile", "irises"):
        made = circuits(name)
        data, frame = page_data(report(made)), made.frame()
        table = data["table"]
        assert table["shown"] == len(frame) and {column["name"] for column in table["columns"]} == set(frame.columns)
        for column in table["columns"]:
            assert column["cells"] == json.loads(frame[column["name"]].to_json(orient="values", double_precision=15))
            assert column["numeric"] == pd.api.types.is_numeric_dtype(frame[column["name"]])


def test_the_accuracy_is_that_of_scikit_learn_on_the_same_rows(circuits):
    blocks = circuits("blocks")
    frame = blocks.frame()
    truth = (frame.value > frame.value.mean()).astype(int)
    data = page_data(report(blocks))
    blocks.boolshap("predict", blocks.circuit, "d.csv", "-o", "p.csv")
    predictions = pd.read_csv(blocks.folder / "p.csv").iloc[:, 0]
    expected = f"{100 * accuracy_score(truth, predictions):.1f} %"
    assert dict(data["facts"])["Accuracy"].startswith(expected) and "600" in dict(data["facts"])["Accuracy"]
    assert data["table"]["label"] == truth.tolist()
    irises = circuits("irises")
    for number, species in enumerate(["setosa", "versicolor", "virginica"]):
        data = page_data(report(irises, "--class", number))
        truth = (irises.frame().species == species).astype(int)
        assert data["table"]["label"] == truth.tolist() and species in data["title"]
        # Accuracy and confusion matrix are those of the model, whichever class is explained.
        known = irises.frame().species.map(data["classes"].index)
        predictions = [int(row[0]) for row in irises.explain()[1]]
        assert dict(data["facts"])["Accuracy"].startswith(f"{100 * accuracy_score(known, predictions):.1f} %")
        assert data["performance"]["confusion"] == confusion_matrix(known, predictions).tolist()
        assert data["performance"]["accuracy"] == pytest.approx(accuracy_score(known, predictions), abs=1e-15)


def test_rows_without_a_class_or_without_the_target_have_no_accuracy(circuits):
    made = circuits("blocks")
    made.frame().drop(columns=["value"]).to_csv(made.folder / "unlabelled.csv", index=False)
    data = page_data(report(made, data="unlabelled.csv"))
    assert "Accuracy" not in dict(data["facts"]) and data["table"]["label"] is None
    frame = made.frame()
    frame.loc[::2, "value"] = np.nan
    frame.to_csv(made.folder / "half.csv", index=False)
    data = page_data(report(made, data="half.csv"))
    assert data["table"]["label"][::2] == [None] * 300 and "300 rows" in dict(data["facts"])["Accuracy"]


def test_only_the_first_rows_are_shown_but_all_are_counted(circuits):
    made = circuits("blocks")
    whole, part = page_data(report(made)), page_data(report(made, "--rows", 50))
    assert part["table"]["shown"] == 50 == len(part["table"]["kind"]) == len(part["table"]["columns"][0]["cells"])
    for key in ("importance", "rows", "kinds", "figures", "base_value"):
        assert part[key] == whole[key]
    assert part["table"]["kind"] == whole["table"]["kind"][:50]


def test_parquet_rows_give_the_report_of_csv_rows(circuits):
    made = circuits("blocks")
    made.frame().to_parquet(made.folder / "d.parquet")
    assert page_data(report(made, data="d.parquet")) == page_data(report(made))


def test_the_page_stands_alone_and_forbids_itself_everything_else(circuits):
    html = report(circuits("hostile")).decode()
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    # WebAssembly may be compiled, and run in a worker of the page; no text may be made into a script.
    assert parts["script-src"].endswith(" 'wasm-unsafe-eval'") and parts["worker-src"] == "blob:"
    policy = policy.replace("'wasm-unsafe-eval'", "")
    assert parts["default-src"] == "'none'" and "unsafe" not in policy and "http" not in policy
    assert parts["script-src"].startswith("'sha256-") and parts["style-src"].startswith("'sha256-")
    outside = re.sub(r"<script.*?</script>|<style.*?</style>", "", html, flags=re.DOTALL)
    assert not re.search(r'(?:src|href)="(?!data:|#)', outside), "nothing is loaded from elsewhere"
    assert html.count("<script") == html.count("</script>") == 5, "no name opens or ends a script"


# Figures.


def figure(made, name, *options, format="svg"):
    return report(made, "--format", format, "--figure", name, *options, output=f"figure.{format}")


def check_svg(content):
    """Checks that an SVG is valid XML and has no active content."""
    root = ElementTree.fromstring(content)
    assert root.tag == f"{SVG}svg"
    harmless = {
        "svg",
        "g",
        "rect",
        "circle",
        "path",
        "line",
        "text",
        "tspan",
        "title",
        "desc",
        "style",
        "polyline",
        "polygon",
        "ellipse",
        "defs",
        "linearGradient",
        "stop",
        "clipPath",
        "use",
        "marker",
    }
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in harmless, element.tag
        assert not any(
            name.lower().startswith("on") or "href" in name and not value.startswith("#")
            for name, value in element.attrib.items()
        )
    return root


def size_of(root):
    """Width and height, from the view box."""
    return [float(number) for number in root.get("viewBox").split()][2:]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["blocks", "irises", "hostile", "hundred", "one", "constant"])
@pytest.mark.parametrize("which", FIGURES)
def test_every_figure_is_sound_svg_and_png(circuits, which, name):
    made = circuits(name)
    if which == "interactions" and name == "one":
        assert "interactions" in made.boolshap.fails(
            "report", made.circuit, made.data, "-o", "f.svg", "--format", "svg", "--figure", which
        )
        return
    if which == "circuit" and name in ("blocks", "hostile", "hundred"):
        assert "too large" in made.boolshap.fails(
            "report", made.circuit, made.data, "-o", "f.svg", "--format", "svg", "--figure", which
        )
        return
    root = check_svg(figure(made, which))
    width, height = size_of(root)
    for scale in (1, 2):
        png = figure(made, which, "--scale", scale, format="png")
        assert png.startswith(b"\x89PNG\r\n\x1a\n")
        image = Image.open(io.BytesIO(png))
        image.load()
        assert abs(image.width - scale * width) <= 1 and abs(image.height - scale * height) <= 1
        assert len(image.convert("RGB").resize((100, 100)).getcolors(10_000)) > 2, "something is drawn"


def texts_of(root):
    return ["".join(element.itertext()) for element in root.iter()]


def test_figures_say_the_names_and_numbers(circuits):
    made = circuits("blocks")
    header, rows = made.explain()
    scores = np.array([row[2:] for row in rows], dtype=float)
    said = " ".join(texts_of(check_svg(figure(made, "importance"))))
    for name, mean in zip(header[2:], np.abs(scores).mean(axis=0)):
        assert (name in said or name[:8] in said) and f"{mean:.4f}" in said, (name, mean)
    for row in (1, 7, 600):
        root = check_svg(figure(made, "waterfall", "--row", row))
        said = " ".join(texts_of(root)).replace("\u2212", "-")
        for score in scores[row - 1]:
            assert any(f"{score:+.{digits}f}" in said for digits in (3, 4)), score
    assert "601" in made.boolshap.fails(
        "report", made.circuit, "d.csv", "-o", "f.svg", "--format", "svg", "--figure", "waterfall", "--row", 601
    )


@pytest.mark.slow
def test_hostile_names_are_text_in_figures(circuits):
    made = circuits("hostile")
    for which in ("importance", "beeswarm", "waterfall", "interactions"):
        root = check_svg(figure(made, which))
        said = "\n".join(texts_of(root)) + "\n".join(
            value for element in root.iter() for value in element.attrib.values()
        )
        for name in HOSTILE_NAMES:
            # Long names are shortened, and characters that reverse the text direction are removed.
            plain = max(re.split(r"[^ -~]+", name), key=len)
            assert plain[:6] in said, (which, name)
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u0001]", said)
    data = page_data(report(made))
    for source in data["figures"].values():
        if source is not None:
            check_svg(source)


# Timings and errors.


def test_timings_are_told(circuits):
    made = circuits("blocks")
    compiled = made.boolshap("compile", "m.json", "-o", "again.bsc", "--json").stdout
    (made.folder / "t.json").write_text(compiled)
    facts = dict(page_data(report(made, "--timings", "t.json"))["facts"])
    # The first number with a unit is the total time, to the precision shown.
    number, unit = re.match(r"([\d.]+) ?(s|ms|µs|us|ns)\b", facts["Compiled in"]).groups()
    printed = float(number) * {"s": 1, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "ns": 1e-9}[unit]
    assert printed == pytest.approx(json.loads(compiled)["seconds"], rel=0.06)
    assert facts.items() >= dict(page_data(report(made))["facts"]).items()
    for wrong in ("", "{}", "[1]", '{"seconds": "long"}'):
        (made.folder / "wrong.json").write_text(wrong)
        assert "wrong.json" in made.boolshap.fails(
            "report", made.circuit, "d.csv", "-o", "r2.html", "--timings", "wrong.json"
        )


@pytest.mark.parametrize(
    "arguments, named",
    [
        (["nowhere.bsc", "d.csv"], "nowhere.bsc"),
        (["d.csv", "d.csv"], "d.csv"),
        (["c.bsc", "nowhere.csv"], "nowhere.csv"),
        (["c.bsc", "c.bsc"], "c.bsc"),
        (["c.bsc", "other.csv"], "age"),
        (["c.bsc", "wrong.csv"], "row 2"),
        (["c.bsc", "d.csv", "--distribution", "background:nowhere.csv"], "nowhere.csv"),
        (["c.bsc", "d.csv", "--timings", "nowhere.json"], "nowhere.json"),
        (["c.bsc", "d.csv", "--keep", "nothing"], "nothing"),
    ],
)
def test_input_that_cannot_be_read_is_told_in_a_sentence(circuits, arguments, named):
    made = circuits("blocks")
    (made.folder / "other.csv").write_text("a,b\n1,2\n")
    frame = made.frame().head(3).astype({"income": object})
    frame.loc[1, "income"] = "much"
    frame.to_csv(made.folder / "wrong.csv", index=False)
    before = sorted(path.name for path in made.folder.iterdir())
    said = made.boolshap.fails("report", *arguments, "-o", "never.html")
    assert named in said and "panicked" not in said and len(said.strip().splitlines()) <= 2
    assert sorted(path.name for path in made.folder.iterdir()) == before


def test_a_place_that_cannot_be_written_is_told(circuits):
    made = circuits("blocks")
    said = made.boolshap.fails("report", made.circuit, "d.csv", "-o", "no/such/folder/r.html")
    assert "no/such/folder" in said and len(said.strip().splitlines()) <= 2


def test_data_without_rows_is_told_or_shown_empty(circuits):
    made = circuits("blocks")
    made.frame().head(0).to_csv(made.folder / "empty.csv", index=False)
    data = page_data(report(made, data="empty.csv"))
    assert data["rows"] == 0 and data["importance"] == []
    assert "no rows" in made.boolshap.fails("report", made.circuit, "empty.csv", "-o", "f.svg", "--format", "svg")


@pytest.mark.slow
def test_the_housing_report_is_below_ten_megabytes(boolshap, shared_data):
    housing = shared_data("housing/housing.csv")
    boolshap("train", housing, "--target", "median_house_value", "-o", "m.json", "--hidden", "13")
    boolshap("compile", "m.json", "-o", "c.bsc")
    boolshap("report", "c.bsc", housing, "-o", "r.html")
    html = (boolshap.folder / "r.html").read_bytes()
    data = page_data(html)
    assert data["rows"] == 20_640 == data["table"]["shown"] and len(html) < 10_000_000
    frame = pd.read_csv(housing)
    truth = (frame.median_house_value > frame.median_house_value.mean()).astype(int)
    predictions = np.array(data["kinds"]["prediction"])[data["table"]["kind"]]
    assert dict(data["facts"])["Accuracy"].startswith(f"{100 * accuracy_score(truth, predictions):.1f} %")
