"""The page as a first-time reader sees it: the decision, its reasons and what would change it. Words and numbers are
compared with the command line, pandas and scikit-learn; outdated results are never shown as current; axe-core checks
accessibility."""

import os
import pathlib
import re
import sys

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect
from sklearn.metrics import confusion_matrix

from browsing import NAMES, REPORTS, Visit
from serving import Server, bits_of
from test_report import page_data, reported

AXE = pathlib.Path(os.environ.get("BOOLSHAP_AXE", pathlib.Path(sys.executable).parents[1] / "axe/package/axe.min.js"))
SCREENS = [(390, 844), (1280, 800)]


@pytest.fixture(scope="module")
def opened(circuits):
    """Servers started with default settings of the game."""
    running = {}

    def find(name):
        if name not in running:
            made = circuits(name)
            running[name] = Server(made.boolshap, made.circuit, *made.rows)
        return running[name]

    yield find
    for server in running.values():
        server.stop()


def said(made, question, row, *options):
    """The sentence of `boolshap ask` for a row."""
    return made.boolshap.json("ask", question, made.circuit, made.data, "--row", row, "--sentences", *options)["rows"][0]["sentence"]


# The first screen.


def test_the_base_value_is_the_mean_prediction_of_the_rows(browser, circuits, opened):
    made, server = circuits("blocks"), opened("blocks")
    made.boolshap("predict", made.circuit, "d.csv", "-o", "p.csv")
    mean = pd.read_csv(made.folder / "p.csv").prediction.mean()
    html = made.folder / "opened.html"
    made.boolshap("report", made.circuit, "d.csv", "-o", html.name)
    data = page_data(html.read_bytes())
    assert data["game"]["distribution"] == "background" and data["game"]["players"] == "columns"
    assert data["base_value"] == pytest.approx(mean, abs=1e-12) and "600 rows" in data["game"]["base"]
    for url in (server.url, html.as_uri()):
        with Visit(browser, url) as visit:
            base = visit.page.locator("#base-value").get_attribute("data-value")
            assert float(base) == pytest.approx(mean, abs=1e-12)
            assert "average prediction of 600 rows" in visit.page.locator("#base-words").inner_text()
    # API requests without settings still get the defaults of the command line.
    entity = bits_of(server.get("/api/rows?limit=1").json()["rows"][0]["bits"])
    _, (row,) = made.explain_bits([entity])
    assert server.explain([entity])["explanations"][0]["scores"] == [float(cell) for cell in row[2:]]


@pytest.mark.parametrize("width, height", SCREENS)
@pytest.mark.parametrize("live", [True, False])
def test_decision_reason_and_change_are_on_the_first_screen(browser, circuits, opened, live, width, height):
    made = circuits("blocks")
    change = said(made, "counterfactual", 1, "--players", "columns", "--limit", 1)
    made.boolshap("report", made.circuit, "d.csv", "-o", "first.html")
    url = opened("blocks").url if live else (made.folder / "first.html").as_uri()
    with Visit(browser, url, width=width, height=height) as visit:
        expect(visit.page.locator("#change")).to_have_text(change.replace("-", "\u2212") if "-0" in change else change)
        why = visit.page.locator("#why").inner_text()
        assert why.startswith("Mainly because ") and any(sign in why for sign in "+\u2212")
        for part in ("#title", "#prediction", "#why", "#change"):
            box = visit.page.locator(part).bounding_box()
            assert box and box["y"] >= 0 and box["y"] + box["height"] <= height, (part, box)


def test_the_sentence_names_the_largest_scores_of_its_direction(circuits):
    made = circuits("blocks")
    made.boolshap("explain", made.circuit, "d.csv", "-o", "e.csv", "--distribution", "background:d.csv", "--players", "columns")
    scores, server = pd.read_csv(made.folder / "e.csv"), None
    with Server(made.boolshap, made.circuit, "d.csv") as server:
        rows = server.get("/api/rows?limit=20").json()["rows"]
        body = {"entities": [bits_of(row["bits"]) for row in rows], "distribution": "background", "players": "columns"}
        words = server.client.post("/api/words", json=body).json()["words"]
    for at, word in enumerate(words):
        row = scores.iloc[at]
        towards = row[2:] if row.prediction else -row[2:]
        best = towards.astype(float).idxmax()
        assert word["why"].startswith(f"Mainly because {best} "), (word, best)
        assert f"{abs(row[best]):.2f}" in word["why"]


# Outdated results are not shown as current.


def test_while_another_game_is_computed_the_old_one_is_dimmed_and_named(browser, opened):
    with Visit(browser, opened("blocks").url) as visit:
        held = []
        visit.page.route("**/api/page*", lambda route: held.append(route))
        before = visit.page.locator("#base-value").inner_text()
        visit.page.locator("#choose-distribution").select_option("uniform")
        expect(visit.page.locator("#progress")).to_be_visible()
        text = visit.page.locator("#progress").inner_text()
        assert "Computing: compared with all combinations" in text and "Still shown, dimmed: compared with all rows" in text
        for part in ("#outcome", "#waterfall", "#importance"):
            assert "stale" in visit.page.locator(part).get_attribute("class"), part
            assert visit.page.locator(part).get_attribute("aria-busy") == "true"
        assert visit.page.locator("#base-value").inner_text() == before
        visit.after(lambda: held[0].continue_())
        expect(visit.page.locator("#progress")).to_be_hidden()
        assert visit.page.locator(".stale").count() == 0


def test_an_error_goes_when_the_server_is_back(browser, opened):
    with Visit(browser, opened("blocks").url) as visit:
        visit.page.route("**/api/**", lambda route: route.abort())
        visit.switch(0).click()
        expect(visit.page.locator("#error")).to_contain_text("does not answer")
        visit.page.unroute("**/api/**")
        expect(visit.page.locator("#error")).to_be_hidden(timeout=30_000)
        assert visit.page.locator(".stale").count() == 0


# In each frame, whether two rows of the waterfall are at the same place.
FRAMES = """window.frames_seen = window.frames_overlapping = 0;
const look = () => {
    const places = [...document.querySelectorAll("#waterfall g.row")].map((row) => new DOMMatrix(getComputedStyle(row).transform).m42).sort((a, b) => a - b);
    if (places.length > 2) window.frames_seen++;
    if (places.some((place, at) => at && place - places[at - 1] < 20)) window.frames_overlapping++;
    requestAnimationFrame(look);
};
requestAnimationFrame(look);"""


def test_the_first_picture_stands_still_while_the_library_wakes(browser, circuits):
    url, _ = reported(circuits("blocks"))
    with Visit(browser, url, init=FRAMES, motion="no-preference") as visit:
        visit.until("document.documentElement.dataset.awake === '1'")
        visit.page.wait_for_timeout(500)
        assert visit.page.evaluate("[window.frames_seen > 0, window.frames_overlapping]") == [True, 0]


# Several classes.


def test_the_predicted_class_is_shown_and_the_accuracy_is_that_of_the_model(browser, circuits, opened):
    made, server = circuits("irises"), opened("irises")
    frame = made.frame()
    made.boolshap("predict", made.circuit, "d.csv", "-o", "p.csv")
    predictions = pd.read_csv(made.folder / "p.csv").prediction
    with Visit(browser, server.url) as visit:
        names = server.get("/api/page").json()["classes"]
        for row in (1, 2, 3):
            if row > 1:
                visit.after(visit.page.locator("#row-next").click)
            predicted = names[predictions[row - 1]]
            assert visit.page.locator("#prediction span").first.inner_text() == predicted
            if visit.page.locator("#explain-predicted").is_visible():
                visit.after(visit.page.locator("#explain-predicted").click)
            assert visit.page.locator("#title").inner_text() == f"Is species {predicted}?" == visit.page.title()
        # Every class can be chosen, and is listed with the share of rows predicted for it.
        options = visit.page.eval_on_selector_all("#choose-class option", "all => all.map(one => one.textContent)")
        for number, (name, text) in enumerate(zip(names, options, strict=True)):
            own, share = re.fullmatch(r"(.*) \((.*) % of rows\)", text).groups()
            assert own == (f"{name}, predicted" if name == predicted else name)
            assert abs(float(share) - 100 * (predictions == number).mean()) <= 0.0501
        known = frame.species.map(names.index)
        table = visit.page.eval_on_selector_all("#confusion tbody tr", "all => all.map(one => [...one.querySelectorAll('.cell')].map(cell => Number(cell.textContent)))")
        assert table == confusion_matrix(known, predictions).tolist()
        share = 100 * (known == predictions).mean()
        assert f"{share:.1f} %" in visit.page.locator("#accuracy").inner_text()
        cells = visit.page.eval_on_selector_all("#rows-table tbody tr", "all => all.map(one => [one.cells[1].textContent, one.cells[2].textContent])")
        for (given, truth), prediction, species in zip(cells, predictions, frame.species):
            assert given.removesuffix(" ✗") == names[prediction] and truth == species and ("✗" in given) == (names[prediction] != species)


# Rows.


def test_rows_are_stepped_through_in_the_order_of_the_list_and_wrong_ones_are_found(browser, opened):
    server = opened("blocks")
    asked = lambda **query: server.get("/api/rows", params={"limit": 50} | query).json()
    with Visit(browser, server.url) as visit:
        page = visit.page
        page.locator("#rows-table th", has_text="income").locator("button").click()
        order = asked(sort="column:income")["rows"]
        page.wait_for_selector(f'#rows-table tbody tr:first-child[data-row="{order[0]["row"]}"]')
        visit.after(page.locator("#rows-table tbody tr").first.locator("button").click)
        for row in order[1:3]:
            visit.after(page.locator("#row-next").click)
            assert visit.bits() == bits_of(row["bits"])
            assert page.locator("#source").inner_text() == f"Row {row['row']}"
        page.locator("#wrong").check()
        wrong = asked(wrong="true")
        assert all(row["class"] != row["known"] for row in wrong["rows"]) and 0 < wrong["total"] < 600
        visit.until("total => document.querySelector('#rows-status').textContent.includes(`of ${total} found`)", wrong["total"])
        page.locator("#wrong").uncheck()
        page.locator("#search").fill("NEAR BAY 41")
        found = asked(search="NEAR BAY 41")
        assert found["total"] > 0
        visit.until("total => document.querySelector('#rows-status').textContent.includes(`of ${total} found`)", found["total"])


def test_an_input_that_is_in_the_data_is_not_called_strange(browser, circuits, opened):
    server = opened("blocks")
    rows = server.get("/api/rows?limit=500").json()["rows"]
    all_bits = [row["bits"] for row in rows] + [row["bits"] for row in server.get("/api/rows?limit=500&offset=500").json()["rows"]]
    with Visit(browser, server.url) as visit:
        for feature in range(4):
            visit.after(visit.switch(feature).click)
            alike = all_bits.count("".join(map(str, visit.bits())))
            text = visit.page.locator("#truth").inner_text()
            if visit.page.locator("#undo").is_enabled():
                assert text == ("no row is like this" if not alike else f"{alike} {'row is' if alike == 1 else 'rows are'} like this")


# Questions.


def test_questions_are_answered_as_the_command_line_does(browser, circuits, opened):
    made, server = circuits("blocks"), opened("blocks")
    plain = lambda text: text.replace("\u2212", "-")
    with Visit(browser, server.url) as visit:
        page = visit.page
        answer = lambda name: page.locator(f"#ask-{name} .answer")
        for name, question, options in (
            ("reason", "reason", ["--minimum"]),
            ("radius", "robustness", []),
        ):
            page.locator(f"#ask-{name} summary").click()
            expected = said(made, question, 1, "--players", "columns", *options)
            visit.until("([id, text]) => document.querySelector(`#ask-${id} .answer`).textContent.replaceAll('\u2212', '-') === text", [name, plain(expected)])
        reason = made.boolshap.json("ask", "reason", made.circuit, "d.csv", "--row", 1, "--players", "columns", "--minimum")["rows"][0]["reasons"][0]
        marked = page.eval_on_selector_all("#waterfall g.needed", "all => all.map(one => Number(one.dataset.player))")
        players = server.get("/api/page").json()["players"]
        assert sorted(players[player] for player in marked) == sorted(reason)
        page.locator("#ask-change summary").click()
        first = said(made, "counterfactual", 1, "--players", "columns", "--limit", 5)
        visit.until("text => (document.querySelector('#ask-change .answer li') || document.body).textContent.replaceAll('\u2212', '-').startsWith(text)", plain(first))
        names = [column["name"] for column in server.get("/api/model").json()["columns"]]
        changed = made.boolshap.json("ask", "counterfactual", made.circuit, "d.csv", "--row", 1, "--players", "columns")["rows"][0]["counterfactuals"][0]
        locked = changed[0]["player"]
        page.locator(f"#lock-{names.index(locked)}").check()
        expected = said(made, "counterfactual", 1, "--players", "columns", "--limit", 5, "--freeze", locked)
        visit.until("text => (document.querySelector('#ask-change .answer li') || document.body).textContent.replaceAll('\u2212', '-').startsWith(text)", plain(expected))
        assert expected != first
        page.locator("#ask-fair summary").click()
        page.locator("#protect-0").check()
        found = made.boolshap.json("ask", "bias", made.circuit, "d.csv", "--row", 1, "--players", "columns", "--protected", names[0], "--sentences")
        visit.until("text => document.querySelector('#ask-fair .answer').textContent.replaceAll('\u2212', '-').startsWith(text)", plain(found["rows"][0]["sentence"]))
        assert plain(answer("fair").inner_text()).endswith(found["sentence"])
        # Applying a suggested change leads to another decision.
        before = page.locator("#prediction").get_attribute("data-prediction")
        visit.after(page.locator("#ask-change .answer button").first.click)
        visit.until("before => document.querySelector('#prediction').dataset.prediction !== before", before)
        visit.check_quiet(server.url)


def test_two_decisions_side_by_side(browser, opened):
    with Visit(browser, opened("blocks").url) as visit:
        page = visit.page
        pinned = {player: score for player, score, _ in visit.bars()}
        page.locator("#pin").click()
        visit.after(page.locator("#row-next").click)
        now = {player: score for player, score, _ in visit.bars()}
        shown = page.eval_on_selector_all("#comparison-table tbody tr", "all => all.map(one => [one.cells[0].querySelector('.name').textContent, one.cells[3].textContent])")
        players = opened("blocks").get("/api/page").json()["players"]
        differences = {players[player]: now[player] - pinned[player] for player in now}
        for name, text in shown[1:]:
            assert float(text.replace("\u2212", "-")) == pytest.approx(differences[name], abs=6e-5)
        assert "Row 1 (pinned)" in page.locator("#comparison-table thead").inner_text()
        page.locator("#unpin").click()
        assert page.locator("#comparison").is_hidden()


# Print, phones and accessibility.


def test_on_paper_nothing_runs_through_anything(browser, circuits):
    url, _ = reported(circuits("blocks"))
    with Visit(browser, url) as visit:
        visit.page.emulate_media(media="print")
        boxes = visit.page.evaluate("""[...document.querySelectorAll('main > section')].filter(one => one.offsetParent !== null || one.getClientRects().length)
            .map(one => { const inner = [...one.querySelectorAll('*')].filter(part => part.getClientRects().length && !part.closest('svg *') && getComputedStyle(part).position !== 'fixed').map(part => part.getBoundingClientRect().bottom);
              return [one.id, one.getBoundingClientRect().top, one.getBoundingClientRect().bottom, Math.max(...inner)]; })""")
        for (_, _, bottom, _), (name, top, _, _) in zip(boxes, boxes[1:]):
            assert top >= bottom - 1, name
        assert all(inner <= bottom + 1 for _, _, bottom, inner in boxes), boxes
        assert visit.page.locator("#rows-table tbody tr").nth(6).locator("td").first.inner_text() == "7"
        assert visit.page.pdf().startswith(b"%PDF")


def test_a_phone_shows_whole_figures_and_its_switches_early(browser, opened):
    with Visit(browser, opened("blocks").url, width=390, height=844) as visit:
        for name in ("importance", "beeswarm", "dependence", "heat"):
            visit.until("name => { const one = document.querySelector(`#${name} svg`); return one && one.classList.contains('narrow'); }", name)
            box = visit.page.locator(f"#{name} svg").bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= 390
        assert visit.page.locator("#switches").bounding_box()["y"] < 2 * 844
        radii = visit.page.eval_on_selector_all("#beeswarm [data-row]", "all => all.map(one => one.getBoundingClientRect().width / 2)")
        assert np.median(radii) >= 1.3


@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing_serious(browser, circuits, opened, name):
    assert AXE.exists(), "tests/prepare.sh fetches axe-core"
    axe = AXE.read_text()
    pages = [opened(name).url] + ([reported(circuits(name))[0]] if name in REPORTS else [])
    for url in pages:
        for scheme, width in (("light", 1280), ("dark", 390)):
            with Visit(browser, url, width=width, scheme=scheme) as visit:
                if url.startswith("file:"):
                    visit.until("document.documentElement.dataset.awake === '1'")
                visit.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
                visit.page.wait_for_timeout(200)
                # Outdated parts are dimmed until they are replaced.
                visit.until("!document.querySelector('.stale')")
                visit.page.evaluate(axe)
                found = visit.page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(all => all.violations.map(one => [one.id, one.impact, one.nodes.slice(0, 3).map(node => node.html.slice(0, 200) + ' ' + node.failureSummary)]))")
                serious = [one for one in found if one[1] in ("serious", "critical")]
                assert serious == [], (url, scheme, serious)
