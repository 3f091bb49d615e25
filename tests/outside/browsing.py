"""Pages in Chromium, as Debian packages it: opening, watching and reading them."""

import itertools
import os
import time
from decimal import ROUND_HALF_UP, Decimal

CHROMIUM = os.environ.get("BOOLSHAP_CHROMIUM", "/usr/bin/chromium")
NAMES = ["blocks", "irises", "hostile", "hundred", "one", "constant", "bare"]
REPORTS = [name for name in NAMES if name != "bare"]


def launch(playwright):
    """A browser without background requests."""
    quiet = ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    return playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", *quiet])


class Visit:
    """A page in a separate browser context; records its console messages, requests and dialogs."""

    def __init__(self, browser, url, width=1200, height=900, scheme="light", init=None, motion="reduce"):
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion=motion
        )
        # Only a page that hangs takes this long.
        self.context.set_default_timeout(300_000)
        self.page = self.context.new_page()
        self.messages, self.requests, self.dialogs = [], [], []
        self.page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.messages.append(f"page error: {error}"))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        if init:
            self.page.add_init_script(init)
        self.page.goto(url)
        self.wait_ready()

    def until(self, expression, arg=None, seconds=300):
        """Polls an expression. Playwright's own waiting evaluates strings inside the page, which its policy forbids."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(expression, arg):
            assert time.monotonic() < end, f"never: {expression}"
            self.page.wait_for_timeout(15)

    def becomes(self, check, seconds=300):
        """Repeats a check until it passes; after the time limit raises its last error."""
        end = time.monotonic() + seconds
        while True:
            try:
                return check()
            except AssertionError:
                if time.monotonic() > end:
                    raise
            self.page.wait_for_timeout(15)

    def wait_ready(self):
        self.until("document.documentElement.dataset.ready === '1'")

    def updates(self):
        return int(self.page.evaluate("document.documentElement.dataset.updates || '0'"))

    def after(self, act):
        """Acts, and waits for the waterfall to be drawn again."""
        before = self.updates()
        act()
        self.until("before => Number(document.documentElement.dataset.updates) > before", before)

    def bits(self):
        shown = self.page.eval_on_selector_all(
            "#switches button[role=switch]",
            "all => all.map(one => [Number(one.dataset.feature), one.getAttribute('aria-checked')])",
        )
        return [int(checked == "true") for _, checked in sorted(shown)]

    def bars(self):
        """Player, full score and its displayed text, from top to bottom."""
        return [
            (int(player), float(score), text)
            for player, score, text in self.page.eval_on_selector_all(
                "#waterfall svg g.bar",
                """all => all.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
                         .map(one => [one.dataset.player, one.dataset.score, one.querySelector('.score').textContent])""",
            )
        ]

    def show_all(self):
        button = self.page.locator("#show-all", has_text="Show all")
        if button.is_visible():
            self.after(button.click)

    def switch(self, feature):
        return self.page.locator(f'#switches button[role=switch][data-feature="{feature}"]')

    def flips(self):
        return sorted(self.page.eval_on_selector_all("[data-flip]", "all => all.map(one => Number(one.dataset.flip))"))

    def check_quiet(self, origin):
        assert self.messages == [] and self.dialogs == []
        assert all(
            url == origin or url.startswith(f"{origin}/") or url.startswith("data:") for url in self.requests
        ), self.requests

    def close(self):
        self.context.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def shown(score):
    """A score as the page writes it: four decimals, the sign in front, halves away from zero."""
    digits = Decimal(abs(score)).quantize(Decimal("0.0001"), ROUND_HALF_UP)
    sign = "+" if score > 0 else "\u2212" if score < 0 else ""
    return f"{sign}{digits:f}"


def check_numbers(visit, table, prediction_words):
    """Checks that the page shows this table of `boolshap explain`, which has one row."""
    header, (row,) = table
    scores = [float(cell) for cell in row[2:]]
    visit.show_all()
    bars = visit.bars()
    assert sorted(player for player, _, _ in bars) == list(range(len(scores)))
    # If two scores differ only in the last digit, page and command line may order them differently.
    sizes = [abs(scores[player]) for player, _, _ in bars]
    assert all(above >= below - 1e-12 for above, below in itertools.pairwise(sizes))
    for player, score, text in bars:
        assert abs(score - scores[player]) <= 1e-12 and text == shown(score), (player, score, text)
    result = visit.page.locator("#prediction")
    assert result.get_attribute("data-prediction") == row[0]
    assert prediction_words[int(row[0])].replace("-", "\u2212") in result.inner_text().replace("-", "\u2212")
    base = visit.page.locator("#base-value")
    assert abs(float(base.get_attribute("data-value")) - float(row[1])) <= 1e-12
    assert shown(float(row[1])).lstrip("+") in base.inner_text()


def visit_scores(made, entity):
    _, (row,) = made.explain_bits([entity])
    return [float(cell) for cell in row[2:]]
