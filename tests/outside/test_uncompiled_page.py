"""Pages of networks that are too large to compile: numbers in the file, over HTTP and on the page are compared with
numpy, which evaluates every corner."""

import types

import numpy as np
import pytest

from browsing import Visit
from conftest import Command, find_shared
from serving import Server
from test_regions import Blocks, corners, region_of, shapley, write_rows
from test_report import page_data, scores_of

SIDE, REGIONS = 10, (4, 4)
PLAYERS = REGIONS[0] * REGIONS[1]
GAME = ("--distribution", "reference:zeros", "--regions", "4x4", "--input", "bits")


@pytest.fixture(scope="module")
def digits(request, tmp_path_factory):
    """Three digits and the network 100-50-10."""
    boolshap = Command(tmp_path_factory.mktemp("uncompiled"))
    shared = lambda relative: find_shared(relative, request.node.name)
    folder = shared("bnn/mnist_bnn_1_blk_100_50_10")
    rows = [np.loadtxt(shared(f"bnn/inputs/instance_{number}_100.txt"), dtype=int).reshape(-1) for number in range(3)]
    names = [f"x{number}" for number in range(1, SIDE * SIDE + 1)]
    write_rows(boolshap.folder / "rows.csv", names, rows)
    boolshap("import", folder, "-o", "m.json", "--grid", f"{SIDE}x{SIDE}")
    return types.SimpleNamespace(boolshap=boolshap, folder=boolshap.folder, blocks=Blocks(folder), rows=np.array(rows))


def expected(digits, row, value):
    """The Shapley values of a row; `value` maps inputs to numbers."""
    mixes = corners(row, np.zeros_like(row), region_of(SIDE, REGIONS), PLAYERS)
    return shapley(value(mixes).astype(float), PLAYERS)


def test_a_report_has_the_scores_of_all_corners(digits):
    said = digits.boolshap("report", "m.json", "rows.csv", "-o", "r.html", *GAME)
    assert "explained without a circuit" in said.stderr
    data = page_data((digits.folder / "r.html").read_bytes())
    class_ = int(digits.blocks.classes(digits.rows[:1])[0])
    assert data["game"]["class"] == class_
    assert [int(data["kinds"]["class"][kind]) for kind in data["table"]["kind"]] == digits.blocks.classes(digits.rows).tolist()
    scores = scores_of(data)
    for row, kind in zip(digits.rows, data["table"]["kind"]):
        by_corners = expected(digits, row, lambda mixes: digits.blocks.classes(mixes) == class_)
        np.testing.assert_allclose(scores[kind], by_corners, atol=1e-12)
    facts = dict(data["facts"])
    assert facts["Circuit"].startswith("none, the network itself is explained") and "Verified" not in facts
    assert data["figures"]["circuit"] is None and data["figures"]["image"].startswith("<svg")


def test_a_report_of_values_has_those_of_all_corners(digits):
    digits.boolshap("report", "m.json", "rows.csv", "-o", "v.html", *GAME, "--model-output", "score", "--class", 3)
    data = page_data((digits.folder / "v.html").read_bytes())
    scores = scores_of(data)
    for row, kind in zip(digits.rows, data["table"]["kind"]):
        by_corners = expected(digits, row, lambda mixes: digits.blocks.scores(mixes)[:, 3])
        np.testing.assert_allclose(scores[kind], by_corners, atol=1e-9)


@pytest.fixture(scope="module")
def server(digits):
    with Server(digits.boolshap, "m.json", "rows.csv", *GAME) as running:
        yield running


def test_a_server_answers_with_those_of_all_corners(digits, server):
    about = server.get("/api/model").json()
    assert (about["nodes"], about["players"]) == (0, ["named"])
    found = server.explain(digits.rows.tolist(), **{"class": 7, "flips": True})
    for row, one in zip(digits.rows, found["explanations"]):
        by_corners = expected(digits, row, lambda mixes: digits.blocks.classes(mixes) == 7)
        np.testing.assert_allclose(one["scores"], by_corners, atol=1e-12)
        turned = np.abs(row[None, :] - np.eye(SIDE * SIDE, dtype=int))
        now = digits.blocks.classes(row[None, :])[0] == 7
        changed = (digits.blocks.classes(turned) == 7) != now
        assert one["flips"] == np.flatnonzero(changed).tolist()


def test_what_needs_a_circuit_is_refused_with_a_sentence(digits, server):
    entities = digits.rows[:1].tolist()
    for body, words in [
        ({"distribution": "uniform"}, "'uniform' is not one of reference:zeros"),
        ({"players": "features"}, "'features' is not one of named"),
    ]:
        refused = server.client.post("/api/explain", json={"entities": entities} | body)
        assert refused.status_code in (400, 422) and words in refused.json()["error"]["message"], refused.text
    failed = digits.boolshap.fails("report", "m.json", "rows.csv", "-o", "x.html", "--input", "bits")
    assert "without a circuit it is explained against background rows or a reference only" in failed
    assert not (digits.folder / "x.html").exists()
    failed = digits.boolshap.fails("report", "m.json", "rows.csv", "-o", "x.svg", "--figure", "circuit", *GAME)
    assert "m.json" in failed and "too large" in failed


@pytest.mark.browser
def test_both_pages_show_the_image_and_the_scores(digits, server, browser):
    digits.boolshap("report", "m.json", "rows.csv", "-o", "r.html", *GAME)
    for url in ((digits.folder / "r.html").as_uri(), server.url):
        visit = Visit(browser, url)
        visit.until("document.querySelectorAll('svg').length > 0")
        text = visit.page.inner_text("body")
        assert "r1c1" in text and "the network itself is explained" in text
        assert not [message for message in visit.messages if "error" in message.lower()], visit.messages
        visit.close()
