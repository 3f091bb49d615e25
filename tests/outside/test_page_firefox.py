"""Live page and report in Firefox show the same decision, sentences and scores as `boolshap explain`."""

import pytest

from firefox import Firefox
from serving import bits_of, switched
from test_report import reported

TEXT = "document.querySelector(arguments[0]).textContent"
SCORES = """[...document.querySelectorAll('#waterfall g.bar')].map(one => [Number(one.dataset.player), Number(one.dataset.score)])"""


@pytest.fixture(scope="module")
def firefox():
    with Firefox() as browser:
        yield browser


def check_scores(firefox, made, entity, *options):
    _, (row,) = made.explain_bits([entity], *options)
    expected = [float(cell) for cell in row[2:]]

    def agree():
        shown = dict(map(tuple, firefox.run(SCORES)))
        return shown and all(abs(score - expected[player]) <= 1e-12 for player, score in shown.items())

    firefox.until(
        "JSON.stringify([...document.querySelectorAll('#switches [role=switch]')].sort((a, b) => a.dataset.feature - b.dataset.feature).map(one => Number(one.ariaChecked === 'true'))) === arguments[0]",
        str(entity).replace(" ", ""),
    )
    firefox.until("!document.querySelector('.stale')")
    assert agree()


@pytest.mark.parametrize("name", ["blocks", "irises", "hostile"])
def test_live_page_and_report(firefox, circuits, servers, name):
    made, server = circuits(name), servers(name)
    model = server.get("/api/model").json()
    options = ["--class", server.get("/api/page").json()["game"]["class"]] if name == "irises" else []
    firefox.open(server.url)
    entity = bits_of(server.get("/api/rows?limit=1").json()["rows"][0]["bits"])
    check_scores(firefox, made, entity, *options)
    assert firefox.run(TEXT, "#why").startswith("Mainly because")
    firefox.run("document.querySelector('#switches [data-feature=\"0\"]').click()")
    check_scores(firefox, made, switched(entity, 0, model["columns"]), *options)
    firefox.open(reported(made, *options)[0])
    check_scores(firefox, made, entity, *options)
    assert firefox.run("document.documentElement.scrollWidth <= innerWidth")
