"""The library inside a report: opened from a file without a server, it gives the same answers as `boolshap serve` over
HTTP and the same numbers as `boolshap explain`. In Chromium and in Firefox."""

import subprocess
import sys

import pytest

from browsing import REPORTS, Visit, check_numbers
from conftest import ROOT
from firefox import Firefox
from serving import switched
from test_report import reported

PLAIN = ["--distribution", "uniform", "--players", "features"]
BUILD = [sys.executable, str(ROOT / "crates/boolshap-wasm/build.py")]


def awake(visit):
    visit.until("document.documentElement.dataset.awake === '1'")
    assert not visit.page.locator("#error").is_visible(), visit.page.locator("#error").inner_text()
    return visit


def answer(visit, path, body=None):
    """The answer that the page gets: the value, or the message of an error."""
    return visit.page.evaluate(
        "([path, body]) => ask(path, body === null ? undefined : body).then(value => ({ value }), error => ({ error: error.message }))",
        [path, body],
    )


def near(found, expected, place=""):
    """Checks that two answers are equal, floats to 1e-12."""
    if isinstance(expected, float) or isinstance(found, float):
        assert abs(found - expected) <= 1e-12, (place, found, expected)
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys(), place
        for key in expected:
            near(found[key], expected[key], f"{place}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            near(one, other, f"{place}[{number}]")
    else:
        assert found == expected, place


# Marked slow because rebuilding the module is slow: `make quick` may run before the module is rebuilt.
@pytest.mark.slow
def test_the_module_was_built_from_the_present_sources():
    done = subprocess.run([*BUILD, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def questions(name, model):
    """Valid and invalid paths and bodies."""
    features = len(model["features"])
    entity = [int(feature % 3 == 0) for feature in range(features)]
    for column in model["columns"]:
        if column["one_hot"]:
            for feature in column["features"]:
                entity[feature] = int(feature == column["features"][-1])
    chosen = {"class": 1} if name == "irises" else {}
    yield "api/model", None
    for query in ["", "?limit=3&offset=2&sort=prediction&descending=true", "?search=1", "?sort=nothing", "?limit=0"]:
        yield f"api/rows{query}", None
    for distribution in model["distributions"]:
        for players in model["players"]:
            game = {"distribution": distribution, "players": players}
            yield "api/explain", {"entities": [entity], **game, "flips": True, **chosen}
            yield "api/page?" + "&".join(f"{key}={value}" for key, value in (game | chosen).items()), None
    yield "api/explain", {"entities": [entity], "exact": True, **chosen}
    yield "api/explain", {"entities": [entity[1:]], **chosen}
    for question in ("counterfactual", "reason", "contrast", "robustness"):
        yield "api/ask", {"question": question, "entities": [entity]}
    yield "api/ask", {"question": "bias", "protected": [model["features"][0]["name"]]}
    yield "api/nothing", None


@pytest.mark.parametrize("name", ["blocks", "irises", "hostile", "one", "constant"])
def test_a_report_answers_as_the_server_does(browser, circuits, servers, name):
    made, server = circuits(name), servers(name)
    url, _ = reported(made, *PLAIN, name="alive.html")
    model = server.get("/api/model").json()
    good = 0
    with Visit(browser, url) as visit:
        awake(visit)
        for path, body in questions(name, model):
            sent = server.client.post(f"/{path}", json=body) if body else server.get(f"/{path}")
            expected, found = sent.json(), answer(visit, path, body)
            good += sent.status_code == 200
            if sent.status_code != 200 and "has passed" in expected["error"]["message"]:
                # The server's time limit, on a busy machine.
                continue
            if sent.status_code != 200:
                assert found == {"error": expected["error"]["message"]}, path
                continue
            assert "value" in found, (path, found)
            if path.startswith("api/page"):
                # Last digits in the text of figures can differ; the report's own page contains the data of its rows.
                for data in (expected, found["value"]):
                    for key in ("figures", "kinds", "table", "live", "facts", "playground"):
                        data.pop(key, None)
                    # A page has less time for interactions, and notes the number of rows that they cover.
                    data["notes"].pop("interactions", None)
            near(found["value"], expected, path)
        assert visit.messages == [] and visit.dialogs == []
        assert [one for one in visit.requests if not one.startswith(("data:", "blob:"))] == [url]
    assert good >= 8


@pytest.mark.parametrize("name", REPORTS)
def test_every_switch_of_a_report_shows_the_numbers_of_the_command(browser, circuits, name):
    made = circuits(name)
    options = PLAIN + (["--class", 0] if name == "irises" else [])
    url, data = reported(made, *options, name="alive.html")
    with Visit(browser, url) as visit:
        awake(visit)
        features = len(data["features"])
        assert visit.page.locator("#switches button[role=switch]:not([disabled])").count() == features
        for feature in range(min(features, 6)):
            entity = switched(visit.bits(), feature, data["columns"])
            visit.after(visit.switch(feature).click)
            visit.becomes(lambda entity=entity: check_numbers(visit, made.explain_bits([entity], *options), data["labels"]))
        assert visit.messages == [] and visit.dialogs == []


def test_an_address_with_a_game_and_bits_is_shown_as_it_says(browser, circuits):
    made = circuits("blocks")
    url, data = reported(made, *PLAIN, name="alive.html")
    bits = [0] * len(data["features"])
    for column in data["columns"]:
        if column["one_hot"]:
            bits[column["features"][1]] = 1
    with Visit(browser, f"{url}#bits={''.join(map(str, bits))}&distribution=product&players=columns") as visit:
        awake(visit)
        assert visit.bits() == bits
        check_numbers(
            visit, made.explain_bits([bits], "--distribution", "product", "--players", "columns"), data["labels"]
        )


@pytest.mark.parametrize(
    "options",
    [
        ["--distribution", "background:d.csv", "--players", "columns"],
        ["--distribution", "empirical:d.csv"],
        ["--distribution", "product:p.csv", "--players", "players.csv"],
        ["--constraint", "only.cnf"],
        ["--distribution", "reference:d.csv:3"],
        ["--distribution", "product", "--smoothing", 2],
    ],
)
def test_a_report_carries_what_its_files_held(browser, circuits, options):
    made = circuits("blocks")
    names = made.boolshap.json("info", made.circuit)["features"]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    # Every row has a value in each column, so not all bits are 0.
    (made.folder / "only.cnf").write_text(f"p cnf {len(names)} 1\n{' '.join(str(i + 1) for i in range(len(names)))} 0\n")
    lines = [f"{name},{('x', 'y', 'z')[i % 3]}" for i, name in enumerate(quoted)]
    (made.folder / "players.csv").write_text("feature,player\n" + "\n".join(lines) + "\n")
    (made.folder / "p.csv").write_text(
        "feature,probability\n" + "\n".join(f"{name},0.{1 + i % 8}" for i, name in enumerate(quoted)) + "\n"
    )
    if "product:p.csv" in options:
        # Probabilities of a column's values must add up to 1, so a file of rows is used instead.
        options = ["--distribution", "product:d.csv", "--players", "players.csv"]
    url, data = reported(made, *options, name="carried.html")
    with Visit(browser, url) as visit:
        awake(visit)
        for feature in (0, 3):
            entity = switched(visit.bits(), feature, data["columns"])
            visit.after(visit.switch(feature).click)
            expected = made.explain_bits([entity], *options)
            visit.becomes(lambda expected=expected: check_numbers(visit, expected, data["labels"]))


@pytest.fixture(scope="module")
def fox():
    with Firefox() as fox:
        yield fox


SHOWN = "Array.from(document.querySelectorAll('#switches button[role=switch]'), one => [Number(one.dataset.feature), one.getAttribute('aria-checked') === 'true'])"
BARS = "Array.from(document.querySelectorAll('#waterfall svg g.bar'), one => [Number(one.dataset.player), Number(one.dataset.score)])"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["blocks", "irises"])
def test_a_report_is_alive_in_firefox(fox, circuits, name):
    made = circuits(name)
    options = PLAIN + (["--class", 0] if name == "irises" else [])
    url, data = reported(made, *options, name="alive.html")
    fox.open(url)
    fox.until("document.documentElement.dataset.awake === '1'")
    for feature in range(4):
        entity = switched([int(on) for _, on in sorted(fox.run(SHOWN))], feature, data["columns"])
        updates = fox.run("Number(document.documentElement.dataset.updates || 0)")
        fox.run(f"document.querySelector('#switches button[data-feature=\"{feature}\"]').click()")
        fox.until(f"Number(document.documentElement.dataset.updates) > {updates}")
        _, (row,) = made.explain_bits([entity], *options)
        scores = [float(cell) for cell in row[2:]]
        bars = fox.run(BARS)
        assert bars
        for player, score in bars:
            assert abs(score - scores[player]) <= 1e-12
    assert fox.run("document.getElementById('error').hidden")
