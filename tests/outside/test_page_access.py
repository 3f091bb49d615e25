"""Accessibility of the page: keyboard only, narrow windows, dark mode, names that contain markup, many features or
none."""

import itertools
import pathlib
import re

import numpy as np
import pytest

from browsing import NAMES, REPORTS, Visit, shown, visit_scores
from serving import HOSTILE_NAMES, HOSTILE_VALUES, bits_of
from test_report import page_data, reported

SCREENSHOTS = pathlib.Path(__file__).resolve().parents[2] / "target/screenshots"


# Keyboard only, narrow windows, dark mode.


# Whether the focus is visible: an outline, or a stroke in a drawing.
SEEN = """(() => {
  const one = document.activeElement, style = getComputedStyle(one);
  const strokes = [one, one.querySelector('.hit')].some(part => part instanceof SVGElement && getComputedStyle(part).stroke !== 'none');
  return one === document.body || style.outlineStyle !== 'none' || style.boxShadow !== 'none' || strokes;
})()"""


def test_the_keyboard_alone_is_enough(browser, servers):
    server = servers("blocks")
    focused = "(() => { const one = document.activeElement; return one.dataset.feature !== undefined ? 'switch ' + one.dataset.feature : one.id || (one.closest('th') ? 'sort ' + one.closest('th').dataset.sort : one.closest('tr') ? 'row ' + one.closest('tr').dataset.row : one.tagName); })()"
    with Visit(browser, server.url) as visit:
        page, stops = visit.page, []
        for _ in range(140):
            page.keyboard.press("Tab")
            stops.append(page.evaluate(focused))
            outline = page.evaluate(SEEN)
            assert outline, f"the focus on {stops[-1]} cannot be seen"
        reached = set(stops)
        assert {f"switch {feature}" for feature in range(11)} <= reached
        assert {
            "choose-distribution",
            "choose-players",
            "search",
            "rows-next",
            "sort column:income",
            "sort row",
            "row 1",
            "row 50",
        } <= reached
        assert [stop for stop in stops if stop.startswith("switch")][:11] == [
            f"switch {feature}" for feature in range(11)
        ]

        def go(stop):
            page.evaluate("document.activeElement.blur(); getSelection().removeAllRanges(); window.scrollTo(0, 0)")
            for _ in range(200):
                if page.evaluate(focused) == stop:
                    return
                page.keyboard.press("Tab")
            raise AssertionError(f"{stop} was not reached")

        before = visit.bits()
        go("switch 2")
        visit.after(lambda: page.keyboard.press("Space"))
        assert visit.bits() == [bit ^ (i == 2) for i, bit in enumerate(before)] and page.evaluate(focused) == "switch 2"
        visit.after(lambda: page.keyboard.press("Enter"))
        assert visit.bits() == before
        go("sort column:income")
        page.keyboard.press("Enter")
        first = server.get("/api/rows?sort=income&limit=1").json()["rows"][0]
        page.wait_for_selector(f'#rows-table tbody tr:first-child[data-row="{first["row"]}"]')
        assert page.evaluate(focused) == "sort column:income"
        go(f"row {first['row']}")
        visit.after(lambda: page.keyboard.press("Enter"))
        assert visit.bits() == bits_of(first["bits"])
        go("search")
        page.keyboard.type("inland")
        visit.until("document.querySelector('#rows-status').textContent.includes('found')")
        go("choose-distribution")
        visit.after(lambda: page.keyboard.press("ArrowDown"))
        assert page.locator("#choose-distribution").input_value() != "uniform"
        visit.check_quiet(server.url)


def test_switches_and_alerts_say_what_they_are(browser, servers):
    server = servers("blocks")
    model = server.get("/api/model").json()
    with Visit(browser, server.url) as visit:
        for feature, words in enumerate(model["features"]):
            button = visit.switch(feature)
            assert button.get_attribute("aria-checked") in ("true", "false")
            assert visit.page.get_by_role("switch", name=words["name"].split("=", 1)[-1]).count() >= 1
        assert visit.page.locator("#error").get_attribute("role") == "alert"
        unnamed = visit.page.evaluate(
            """[...document.querySelectorAll('button, input, select')].filter(one => !one.hidden && !(one.textContent.trim()
            || one.getAttribute('aria-label') || one.getAttribute('aria-labelledby') || one.labels && one.labels.length)).length"""
        )
        assert unnamed == 0
        levels = visit.page.eval_on_selector_all("h1, h2, h3", "all => all.map(one => Number(one.tagName[1]))")
        assert levels[0] == 1 and levels.count(1) == 1 and all(b - a <= 1 for a, b in itertools.pairwise(levels))


def check_fits(visit, width):
    found = visit.page.evaluate("""[document.documentElement.scrollWidth, innerWidth,
        [...document.querySelectorAll('body *')].filter(one => !one.closest('.scroll, svg, #tip, .figure') && one.getBoundingClientRect().right > innerWidth + 1)
            .map(one => one.tagName + '#' + one.id + '.' + one.className).slice(0, 5)]""")
    assert found[0] <= found[1] == width and found[2] == [], found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_narrow_and_wide_light_and_dark(browser, servers, circuits, name, scheme):
    """Nothing scrolls sideways, and text has enough contrast; screenshots are kept for inspection."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    pages = {"live": servers(name).url}
    if name in REPORTS:
        pages["report"] = reported(circuits(name))[0]
    for (kind, url), (shape, width) in itertools.product(pages.items(), [("narrow", 360), ("wide", 1200)]):
        with Visit(browser, url, width=width, scheme=scheme) as visit:
            check_fits(visit, width)
            if shape == "narrow":
                visit.show_all()
                check_fits(visit, width)
            ground = visit.page.evaluate(
                "getComputedStyle(document.body).backgroundColor || getComputedStyle(document.documentElement).backgroundColor"
            )
            assert (luminance(ground) > 0.5) == (scheme == "light"), ground
            faint = visit.page.evaluate(CONTRASTS)
            assert all(contrast([front], back) >= 4.5 for front, back, _ in faint), [
                (front, back, text) for front, back, text in faint if contrast([front], back) < 4.5
            ]
            visit.page.screenshot(path=SCREENSHOTS / f"{name}-{kind}-{shape}-{scheme}.png", full_page=True)
            assert visit.messages == []


# The colours of visible text and of its background.
CONTRASTS = """(() => {
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (!/rgba\\(.*, 0\\)|transparent/.test(colour)) return colour;
    }
    return getComputedStyle(document.documentElement).colorScheme.includes('dark') && matchMedia('(prefers-color-scheme: dark)').matches ? 'rgb(18, 18, 18)' : 'rgb(255, 255, 255)';
  };
  return [...document.querySelectorAll('h1, h2, h3, p, td, th button, dt, dd, .name, .meaning, .flip, label, figcaption, #prediction, #base-value')]
    .filter(one => !one.closest('svg') && one.offsetParent && one.textContent.trim() && !one.closest('[aria-hidden=true]') && !one.closest(':disabled:not([role=switch])'))
    .map(one => [getComputedStyle(one).color, behind(one), one.textContent.trim().slice(0, 40)])
    .filter(([front, back]) => front.startsWith('rgb(') && back.startsWith('rgb('));
})()"""


def luminance(colour):
    channels = [int(float(number)) / 255 for number in re.findall(r"[\d.]+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(fronts, back):
    pairs = [sorted([luminance(front), luminance(back)]) for front in fronts]
    return min((high + 0.05) / (low + 0.05) for low, high in pairs)


# Names that contain markup.


@pytest.mark.parametrize("live", [True, False])
def test_names_from_a_hostile_file_stay_text(browser, servers, circuits, live):
    made, server = circuits("hostile"), servers("hostile")
    url = server.url if live else reported(made)[0]
    with Visit(browser, url) as visit:
        page = visit.page
        visit.show_all()
        if live:
            for feature in (0, 6, 12, 15):
                visit.after(visit.switch(feature).click)
        page.locator("#search").fill("onerror")
        page.locator("#rows-table th button").last.click()
        page.wait_for_timeout(500)
        for tip in page.locator("#importance [data-tip], #beeswarm [data-tip]").all()[:3]:
            tip.hover(force=True)
        assert visit.dialogs == [] and visit.messages == []
        assert (
            page.locator(
                "img, iframe, object, embed, base, form, b, i, u, foreignObject, svg script, body style"
            ).count()
            == 0
        )
        # A report also has scripts for its rows and for the library, which has two parts.
        assert page.locator("script").count() == (2 if live else 5)
        handlers = page.evaluate(
            "[...document.querySelectorAll('*')].flatMap(one => [...one.attributes].map(a => a.name)).filter(name => name.toLowerCase().startsWith('on') || name === 'autofocus')"
        )
        assert handlers == []
        links = page.evaluate(
            "[...document.querySelectorAll('a, use, image')].map(one => one.getAttribute('href') || one.getAttribute('xlink:href') || '')"
        )
        assert all(link.startswith("#") for link in links)
        names = page.eval_on_selector_all("#switches .name", "all => all.map(one => one.textContent)")
        # The name of a number's bit is its column and its test.
        assert [name.rsplit(">", 1)[0] for name in names[: len(HOSTILE_NAMES)]] == HOSTILE_NAMES
        assert sorted(names[len(HOSTILE_NAMES) :]) == sorted(HOSTILE_VALUES)
        heads = page.eval_on_selector_all("#rows-table th", "all => all.map(one => one.textContent)")
        assert set(HOSTILE_NAMES) | {"<b>kind</b>", made.target} <= set(heads)
        cells = page.eval_on_selector_all("#rows-table td", "all => all.map(one => one.textContent)")
        assert HOSTILE_VALUES[0] in cells
        title = server.get("/api/page").json()["title"]
        assert page.locator("#title").text_content() == title and page.title().split() == title.split()
        if live:
            visit.check_quiet(server.url)


# Many, one, none.


def test_beyond_twenty_players_the_smallest_are_summed(browser, servers, circuits):
    made, server = circuits("hundred"), servers("hundred")
    with Visit(browser, server.url) as visit:
        entity = visit.bits()
        scores = visit_scores(made, entity)
        order = sorted(range(100), key=lambda player: (-abs(scores[player]), player))
        bars = visit.bars()
        assert [player for player, _, _ in bars] == order[:20]
        rest = visit.page.locator("#waterfall svg g.rest")
        assert "80 other features" in rest.text_content()
        assert rest.locator(".score").text_content() == shown(float(rest.get_attribute("data-score")))
        assert abs(float(rest.get_attribute("data-score")) - sum(scores[player] for player in order[20:])) < 1e-12
        visit.show_all()
        assert [player for player, _, _ in visit.bars()] == order
        assert visit.page.locator("#waterfall svg g.rest").count() == 0


def test_the_housing_report_opens_and_shows_its_last_row(browser, boolshap, shared_data):
    housing = shared_data("housing/housing.csv")
    boolshap("train", housing, "--target", "median_house_value", "-o", "m.json", "--hidden", "13")
    boolshap("compile", "m.json", "-o", "c.bsc")
    boolshap("report", "c.bsc", housing, "-o", "r.html")
    html = boolshap.folder / "r.html"
    assert html.stat().st_size < 3_000_000
    data = page_data(html.read_bytes())
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with Visit(browser, f"{html.as_uri()}#row=20640") as visit:
        assert visit.bits() == bits_of(data["kinds"]["bits"][data["table"]["kind"][-1]])
        # benchmarks/serve.py measures the time; this limit only detects a page that hangs.
        assert visit.page.evaluate("performance.now()") < 300_000
        visit.page.locator("#search").fill("island")
        visit.until("document.querySelector('#rows-status').textContent.includes('found')")
        islands = pathlib.Path(housing).read_text().count("ISLAND")
        cells = [cell for column in data["table"]["columns"] for cell in column["cells"]]
        assert visit.page.locator("#rows-table tbody tr").count() == cells.count("ISLAND") == islands <= 50
        assert visit.messages == []
        visit.page.screenshot(path=SCREENSHOTS / "housing-report-wide-light.png")
