"""The live page and the report in a real browser: the displayed numbers equal those of `boolshap explain` and of the
API, and no data leaves the machine."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from browsing import NAMES, REPORTS, Visit, check_numbers, visit_scores
from serving import Server, bits_of, switched
from test_report import reported


# Opening.


@pytest.mark.parametrize("name", NAMES)
def test_the_live_page_opens_quietly_and_shows_the_first_row(browser, servers, circuits, name):
    made, server = circuits(name), servers(name)
    model = server.get("/api/model").json()
    with Visit(browser, server.url) as visit:
        visit.check_quiet(server.url)
        page = server.get("/api/page").json()
        assert visit.page.locator("#title").inner_text().split() == page["title"].split()
        # Without rows the page begins with a possible input: the first value of every one-hot column.
        firsts = {column["features"][0] for column in model["columns"] if column["one_hot"]}
        entity = (
            bits_of(server.get("/api/rows?limit=1").json()["rows"][0]["bits"])
            if model["rows"]
            else [int(feature in firsts) for feature in range(len(model["features"]))]
        )
        assert visit.bits() == entity
        check_numbers(visit, made.explain_bits([entity], *(["--class", page["game"]["class"]] if name == "irises" else [])), page["labels"])
        answer = server.explain([entity], flips=True, **({"class": page["game"]["class"]} if name == "irises" else {}))["explanations"][0]
        assert visit.flips() == answer["flips"]
        for figure in ("importance", "beeswarm", "interactions", "circuit", "timing"):
            assert visit.page.locator(f"#{figure} svg").count() == (page["figures"][figure] is not None), figure
        assert visit.page.locator("#rows-table tbody tr").count() == min(50, model["rows"])
        assert not visit.page.locator("#error").is_visible()
        assert visit.page.locator("#choose-class").count() == (name == "irises")


@pytest.mark.parametrize("name", REPORTS)
def test_the_report_opens_from_a_file_without_any_request(browser, circuits, name):
    made = circuits(name)
    url, data = reported(made)
    with Visit(browser, url) as visit:
        visit.until("document.documentElement.dataset.awake === '1'")
        assert [request for request in visit.requests if not request.startswith(("data:", "blob:"))] == [url]
        assert visit.messages == [] and visit.dialogs == []
        for row in {1, 2, min(30, data["rows"])}:
            if row > 1:
                visit.after(lambda: visit.page.locator(f'#rows-table tbody tr[data-row="{row}"] button').first.click())
            entity = bits_of(data["kinds"]["bits"][data["table"]["kind"][row - 1]])
            assert visit.bits() == entity
            check_numbers(
                visit, made.explain_bits([entity], *(["--class", data["game"]["class"]] if name == "irises" else [])), data["labels"]
            )
        # The library inside answers for every input and game.
        assert visit.page.locator("#switches button[role=switch][disabled]").count() == 0
        assert visit.page.locator("#choose-distribution").count() == 1
        assert [request for request in visit.requests if not request.startswith(("data:", "blob:"))] == [url]


def test_a_token_in_the_address_becomes_a_cookie_and_the_page_works(browser, circuits):
    made = circuits("blocks")
    with Server(made.boolshap, made.circuit, "d.csv", "--token", "open-sesame") as server:
        with Visit(browser, f"{server.url}/?token=open-sesame") as visit:
            assert visit.page.url.split("#")[0] == f"{server.url}/"
            visit.after(visit.switch(0).click)
            visit.check_quiet(server.url)
            assert "open-sesame" not in visit.page.content()


# Switching.


@pytest.mark.parametrize(
    "name, query, options",
    [
        ("blocks", "", []),
        ("blocks", "#distribution=product&players=columns", ["--distribution", "product", "--players", "columns"]),
        ("blocks", "#distribution=background", ["--distribution", "background:d.csv"]),
        ("irises", "#class=2", ["--class", 2]),
        ("bare", "", []),
        ("hundred", "", []),
        ("one", "", []),
    ],
)
def test_a_switch_shows_the_numbers_of_the_command(browser, servers, circuits, name, query, options):
    made, server = circuits(name), servers(name)
    model = server.get("/api/model").json()
    features, rng = len(model["features"]), np.random.default_rng(6)
    number = {"class": 2} if name == "irises" else {}
    distribution = re.search(r"distribution=(\w+)", query)
    asked = (
        number
        | ({"distribution": distribution[1]} if distribution else {})
        | ({"players": "columns"} if "columns" in query else {})
    )
    with Visit(browser, server.url + "/" + query) as visit:
        page = server.get("/api/page", params=asked).json()
        for feature in rng.permutation(features)[:7].tolist():
            entity = switched(visit.bits(), feature, model["columns"])
            if "columns" in asked.get("players", "") and any(
                sum(entity[i] for i in c["features"]) != 1 for c in model["columns"] if c["one_hot"]
            ):
                continue
            visit.after(visit.switch(feature).click)
            assert visit.bits() == entity
            check_numbers(
                visit,
                made.explain_bits([entity], *(options or (["--class", 0] if name == "irises" else []))),
                page["labels"],
            )
            assert visit.flips() == server.explain([entity], flips=True, **asked)["explanations"][0]["flips"]
        visit.check_quiet(server.url)


def test_many_quick_switches_end_with_the_numbers_of_the_last(browser, servers, circuits):
    made, server = circuits("blocks"), servers("blocks")
    model = server.get("/api/model").json()
    with Visit(browser, server.url) as visit:
        entity = visit.bits()
        for feature in [0, 1, 2, 3, 10, 8, 9, 8, 0, 5, 3] * 4:
            entity = switched(entity, feature, model["columns"])
        visit.page.evaluate(
            "for (const i of Array(4).fill([0, 1, 2, 3, 10, 8, 9, 8, 0, 5, 3]).flat()) document.querySelector(`[data-feature='${i}']`).click()"
        )
        expected = visit_scores(made, entity)
        visit.until(
            "expected => [...document.querySelectorAll('#waterfall g.bar')].every(bar => Math.abs(Number(bar.dataset.score) - expected[bar.dataset.player]) < 1e-12)",
            arg=expected,
        )
        # A switch is drawn with its answer, or slightly later if that takes long.
        table = made.explain_bits([entity])

        def all_is_drawn():
            assert visit.bits() == entity
            check_numbers(visit, table, model["labels"])

        visit.becomes(all_is_drawn)
        visit.check_quiet(server.url)


def test_one_hot_switches_go_like_radio_buttons(browser, servers):
    server = servers("blocks")
    column = next(column for column in server.get("/api/model").json()["columns"] if column["name"] == "proximity")
    with Visit(browser, server.url) as visit:
        for feature in column["features"]:
            if visit.bits()[feature] == 0:
                visit.after(visit.switch(feature).click)
            assert [visit.bits()[i] for i in column["features"]] == [int(i == feature) for i in column["features"]]
        visit.after(visit.switch(column["features"][-1]).click)
        assert sum(visit.bits()[i] for i in column["features"]) == 0


def test_choices_change_the_game_and_an_error_comes_and_goes(browser, servers, circuits):
    made, server = circuits("blocks"), servers("blocks")
    page = server.get("/api/page").json()
    drift = next(column for column in page["columns"] if column["name"] == "drift")["features"]
    with Visit(browser, server.url) as visit:
        entity = visit.bits()
        for distribution, players in (
            ("product", "features"),
            ("product", "columns"),
            ("empirical", "columns"),
            ("background", "features"),
        ):
            for field, value in (("distribution", distribution), ("players", players)):
                if visit.page.locator(f"#choose-{field}").input_value() != value:
                    visit.after(lambda: visit.page.locator(f"#choose-{field}").select_option(value))
            file = distribution if distribution == "product" else f"{distribution}:d.csv"
            table = made.explain_bits([entity], "--distribution", file, "--players", players)
            visit.becomes(lambda: check_numbers(visit, table, page["labels"]))
            words = server.get("/api/page", params={"distribution": distribution, "players": players}).json()["game"][
                "words"
            ]
            assert all(sentence in visit.page.locator("#words").inner_text() for sentence in words)
        visit.after(lambda: visit.page.locator("#choose-players").select_option("columns"))
        visit.switch(next(feature for feature in drift if entity[feature])).click()
        expect(visit.page.locator("#error")).to_be_visible(timeout=300_000)
        assert "drift" in visit.page.locator("#error").inner_text()
        visit.after(visit.switch(drift[0]).click)
        expect(visit.page.locator("#error")).to_be_hidden(timeout=300_000)
        # The browser itself logs an answer with status 422; the page logs nothing.
        assert all("422" in message for message in visit.messages) and visit.dialogs == []


def test_classes_can_be_chosen(browser, servers, circuits):
    made, server = circuits("irises"), servers("irises")
    with Visit(browser, server.url) as visit:
        entity = visit.bits()
        for number in (2, 1, 0):
            visit.after(lambda: visit.page.locator("#choose-class").select_option(str(number)))
            labels = server.get("/api/page", params={"class": number}).json()["labels"]
            table = made.explain_bits([entity], "--class", number)
            visit.becomes(lambda: check_numbers(visit, table, labels))
        visit.check_quiet(server.url)


def test_a_switch_is_measured_from_the_event_to_the_frame(browser, servers):
    server = servers("blocks")
    with Visit(browser, server.url) as visit:
        for feature in (0, 1, 2, 3):
            visit.after(visit.switch(feature).click)
        visit.until("performance.getEntriesByName('switch').length === 4")
        times = visit.page.evaluate("performance.getEntriesByName('switch').map(one => one.duration)")
        assert all(0 < time < 300_000 for time in times)


# Rows.


@pytest.mark.parametrize("live", [True, False])
def test_rows_are_searched_sorted_and_paged_as_the_api_does(browser, servers, circuits, live):
    made, server = circuits("blocks"), servers("blocks")
    url = server.url if live else reported(made)[0]
    rows_shown = lambda visit: [
        int(row)
        for row in visit.page.eval_on_selector_all("#rows-table tbody tr", "all => all.map(one => one.dataset.row)")
    ]
    asked = lambda **query: server.get("/api/rows", params={"limit": 50} | query).json()
    numbers = lambda found: [row["row"] for row in found["rows"]]

    def settle(visit, expected):
        visit.until(
            "expected => JSON.stringify([...document.querySelectorAll('#rows-table tbody tr')].map(one => Number(one.dataset.row))) === expected",
            arg=str(expected).replace(" ", ""),
        )
        assert rows_shown(visit) == expected

    with Visit(browser, url) as visit:
        page = visit.page
        settle(visit, numbers(asked()))
        page.locator("#rows-next").click()
        settle(visit, numbers(asked(offset=50)))
        page.locator("#rows-previous").click()
        settle(visit, numbers(asked()))
        page.locator("#search").fill("near bay")
        found = asked(search="near bay")
        settle(visit, numbers(found))
        assert f"{found['total']:,}" in page.locator("#rows-status").inner_text()
        page.locator("#rows-table th", has_text="bedrooms").locator("button").click()
        settle(visit, numbers(asked(search="near bay", sort="bedrooms")))
        page.locator("#rows-table th", has_text="bedrooms").locator("button").click()
        settle(visit, numbers(asked(search="near bay", sort="bedrooms", descending="true")))
        assert page.locator("#rows-table th", has_text="bedrooms").get_attribute("aria-sort") == "descending"
        chosen = asked(search="near bay", sort="bedrooms", descending="true")["rows"][3]
        visit.after(page.locator("#rows-table tbody tr").nth(3).locator("td").nth(4).click)
        assert visit.bits() == bits_of(chosen["bits"])
        page.locator("#search").fill("  ")
        settle(visit, numbers(asked(sort="bedrooms", descending="true")))
        page.locator("#search").fill("nothing like this")
        settle(visit, [])
        visit.page.wait_for_timeout(100)
        assert visit.messages == []


def test_the_raw_value_stands_beside_an_unchanged_switch(browser, servers, circuits):
    made, server = circuits("blocks"), servers("blocks")
    first = made.frame().iloc[0]
    with Visit(browser, server.url) as visit:
        text = visit.switch(3).inner_text()
        assert f"{first.income:g}" in text
        visit.after(visit.switch(3).click)
        assert f"{first.income:g}" not in visit.switch(3).inner_text()


# The address.


def test_the_address_restores_what_was_looked_at(browser, servers):
    server = servers("blocks")
    row = server.get("/api/rows?offset=11&limit=1").json()["rows"][0]
    model = server.get("/api/model").json()
    entity = switched(bits_of(row["bits"]), 0, model["columns"])
    bits = "".join(map(str, entity))
    with Visit(browser, f"{server.url}/#row=12&bits={bits}&distribution=product&players=columns") as visit:
        assert visit.bits() == entity
        assert visit.page.locator("#choose-distribution").input_value() == "product"
        assert visit.page.locator("#choose-players").input_value() == "columns"
        before = visit.bars()
        assert len(before) == len(model["columns"])
        opened = visit.page.url
        visit.after(visit.switch(1).click)
        visit.until("opened => location.href !== opened", opened)
        address, now, bars = visit.page.url, visit.bits(), visit.bars()
        assert address != f"{server.url}/"
        visit.page.reload()
        visit.wait_ready()
        assert (visit.bits(), visit.bars()) == (now, bars) != (entity, before)
        with Visit(browser, address) as other:
            assert (other.bits(), other.bars()) == (now, bars)
        visit.check_quiet(server.url)


def test_a_report_opens_at_the_row_of_its_address(browser, circuits):
    url, data = reported(circuits("blocks"))
    with Visit(browser, f"{url}#row=7") as visit:
        assert visit.bits() == bits_of(data["kinds"]["bits"][data["table"]["kind"][6]])
        visit.after(visit.page.locator("#row-next").click)
        assert visit.bits() == bits_of(data["kinds"]["bits"][data["table"]["kind"][7]])
        visit.until("location.hash.includes('row=8')")


@pytest.mark.parametrize(
    "fragment",
    [
        "#row=99999999",
        "#row=x",
        "#bits=01",
        "#bits=<img src=x onerror=alert(1)>",
        "#distribution=normal&class=9",
        "#%FF&&=&row",
        "#row=-1&players=__proto__",
    ],
)
def test_a_wrong_address_leaves_a_page_that_works(browser, servers, fragment):
    server = servers("blocks")
    with Visit(browser, f"{server.url}/{fragment}") as visit:
        visit.after(visit.switch(0).click)
        assert len(visit.bars()) == 11 and visit.dialogs == []
        assert not any(message.startswith("page error") for message in visit.messages)
