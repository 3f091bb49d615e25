"""Two models side by side: over HTTP, on the live page and in a report, the second model's scores equal those of
`explain`."""

import pytest

from browsing import Visit
from serving import Server
from test_engine import awake
from test_report import report, reported


@pytest.fixture(scope="module")
def pair(circuits):
    """The blocks, and another network trained on the same rows, with different decisions for some of them."""
    made = circuits("blocks")
    made.boolshap("train", "d.csv", "--target", "value", "-o", "second.json", "--hidden", 3,
                  "--column", "drift=numeric:bins=3", "--column", "new=boolean")
    made.boolshap("compile", "second.json", "-o", "second.bsc")
    return made


@pytest.fixture(scope="module")
def server(pair):
    running = Server(pair.boolshap, pair.circuit, *pair.rows, "--beside", "second.bsc")
    yield running
    running.stop()


def of_second(pair, *options):
    """Prediction, base value and scores of every row by the command line."""
    header, rows = pair.__class__(pair.boolshap, "second.bsc", pair.data).explain(*options)
    return header[2:], [[float(cell) for cell in row] for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("players", ["features", "columns"])
@pytest.mark.parametrize("distribution", ["uniform", "background", "empirical"])
def test_the_second_model_answers_over_http_as_on_the_command_line(pair, server, distribution, players):
    given = distribution if distribution == "uniform" else f"{distribution}:d.csv"
    names, rows = of_second(pair, "--distribution", given, "--players", players)
    entities = [[int(bit) for bit in row["bits"]] for row in server.get("/api/rows?limit=20").json()["rows"]]
    asked = {"distribution": distribution, "players": players}
    found = server.client.post("/api/explain", json={"entities": entities, "model": "beside", **asked}).json()
    assert found["players"] == names
    for one, row in zip(found["explanations"], rows):
        assert [one["prediction"], found["base_value"], *one["scores"]] == pytest.approx(row, abs=1e-12)
    shown = server.client.post("/api/explain", json={"entities": entities, "model": "shown", **asked}).json()
    assert shown == server.client.post("/api/explain", json={"entities": entities, **asked}).json() != found


@pytest.mark.slow
def test_what_does_not_fit_is_refused(pair, server, servers):
    ask = lambda where, **fields: where.client.post("/api/explain", json={"entities": [[0] * 11], **fields})
    features = len(server.get("/api/model").json()["features"])
    refused = servers("blocks").client.post("/api/explain", json={"entities": [[0] * features], "model": "beside"})
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, "model")
    assert ask(server, model="third").json()["error"]["message"] == "model: 'third' is not one of shown, beside"
    words = server.client.post("/api/words", json={"entities": [[0] * features], "model": "beside"})
    assert words.status_code == 422
    (pair.folder / "x.cnf").write_text("p cnf 2 1\n1 2 0\n")
    pair.boolshap("compile", "x.cnf", "-o", "x.bsc")
    for command in (["report", "-o", "r.html"], ["serve", "--listen", "127.0.0.1:0"]):
        failed = pair.boolshap.fails(command[0], pair.circuit, "d.csv", *command[1:], "--beside", "x.bsc")
        assert "x.bsc: its features" in failed and "are not those of the model that it is put beside" in failed
    plain = pair.boolshap("report", pair.circuit, "d.csv", "-o", "f.svg", "--beside", "second.bsc", code=2).stderr
    assert "--beside" in plain


def compared(visit):
    """The page's comparison: the headings, and for each bar both scores and their difference."""
    head = visit.page.locator("#comparison-table thead th").all_inner_texts()
    cells = "all => all.map(row => [row.cells[0].querySelector('.name').textContent, ...[1, 2].map(at => (row.cells[at].querySelector('.amount') || row.cells[at]).textContent), row.cells[3].textContent])"
    number = lambda text: float(text.replace("\u2212", "-"))
    rows = visit.page.eval_on_selector_all("#comparison-table tbody tr", cells)
    return head, {name: tuple(map(number, numbers)) for name, *numbers in rows}


def check_page(visit, pair, options):
    """Three rows and a switch, each compared with the second model."""
    page = visit.page
    names, rows = of_second(pair, *options)
    assert page.locator("#comparison").is_hidden()
    page.locator("#beside").click()
    for number in range(3):
        if number:
            visit.after(page.locator("#row-next").click)
        prediction, base, *scores = rows[number]

        def check(base=base, scores=scores):
            head, shown = compared(visit)
            assert len(head) == 3 and head[0].startswith("second.bsc") and head[1].startswith("this model"), head
            assert shown["Average (base value)"][0] == pytest.approx(base, abs=6e-5)
            assert [shown[name][0] for name in names] == pytest.approx(scores, abs=6e-5)
            for own, other, difference in (shown[name] for name in names):
                assert difference == pytest.approx(other - own, abs=2e-4)

        visit.becomes(check)
    before = compared(visit)
    visit.after(visit.switch(0).click)
    visit.becomes(lambda: None if compared(visit) != before else pytest.fail("the same"))
    assert page.locator("#beside").get_attribute("aria-pressed") == "true"
    assert "Both decide alike in" in page.locator("#comparison-words").inner_text()
    page.locator("#unpin").click()
    assert page.locator("#comparison").is_hidden()
    assert page.locator("#beside").get_attribute("aria-pressed") == "false"


def test_two_models_on_the_live_page(browser, pair, server):
    with Visit(browser, server.url) as visit:
        check_page(visit, pair, ["--distribution", "background:d.csv", "--players", "columns"])
        visit.check_quiet(server.url)


def test_two_models_in_a_report_without_a_server(browser, pair):
    url, data = reported(pair, "--beside", "second.bsc", name="two.html")
    assert data["beside"]["name"] == "second.bsc"
    with Visit(browser, url) as visit:
        awake(visit)
        check_page(visit, pair, ["--distribution", "uniform", "--players", "features"])
        assert visit.messages == [] and visit.dialogs == []
    assert len(report(pair, output="one.html")) < (pair.folder / "two.html").stat().st_size
