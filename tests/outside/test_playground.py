"""The playground of `make site`: opened from a file, it takes a circuit or a model and a table dropped on it, and shows
the numbers of `boolshap explain`. Building it takes minutes, so these tests run only if `make site` built the current
page."""

import base64
import os
import re

import pytest

from browsing import Visit, check_numbers
from conftest import ROOT
from serving import switched
from test_engine import awake
from test_report import page_data

PAGE = ROOT / "crates/boolshap/src/report"
OPENING = ["--distribution", "background:d.csv", "--players", "columns"]
# Files cannot be dragged from the desktop here, so the script dispatches the same event with the same files.
DROP = """files => {
    const dropped = new DataTransfer();
    for (const [name, text] of files)
        dropped.items.add(new File([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))], name));
    dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, cancelable: true }));
}"""


@pytest.fixture(scope="module")
def site():
    path = ROOT / "target/site/index.html"
    parts = re.findall(r'include_str!\("(page/\w+\.js)"\)', (PAGE / "page_file.rs").read_text())
    script = "".join((PAGE / part).read_text() for part in parts)
    if not path.exists() or script not in path.read_text():
        why = "the playground of the present page, which make site builds with the target wasm32-unknown-unknown"
        if "BOOLSHAP_SKIPPED" in os.environ:
            with open(os.environ["BOOLSHAP_SKIPPED"], "a") as skipped:
                skipped.write(f"test_playground: {why}\n")
        pytest.skip(f"for want of {why}")
    return path


def drop(visit, folder, *names):
    files = [[name, base64.b64encode((folder / name).read_bytes()).decode()] for name in names]
    visit.page.evaluate(DROP, files)


@pytest.mark.parametrize("source", ["c.bsc", "m.json"])
def test_what_is_dropped_is_explained_as_by_the_command(browser, circuits, site, source):
    made = circuits("blocks")
    data = page_data(made_report(made))
    with Visit(browser, site.as_uri()) as visit:
        awake(visit)
        assert visit.page.locator("#playground").is_visible()
        drop(visit, made.folder, source, made.data)
        # A page cannot be queried during navigation.
        visit.page.wait_for_url(re.compile("^blob:"))
        visit.wait_ready()
        awake(visit)
        for feature in (None, 0, 3):
            entity = visit.bits()
            if feature is not None:
                entity = switched(entity, feature, data["columns"])
                visit.after(visit.switch(feature).click)
            expected = made.explain_bits([entity], *OPENING)
            visit.becomes(lambda expected=expected: check_numbers(visit, expected, data["labels"]))
        assert visit.page.locator("#rows-status").inner_text() == "1–50 of 600"
        assert visit.messages == [] and visit.dialogs == []
        assert all(url.startswith(("file:", "data:", "blob:")) for url in visit.requests)


def made_report(made):
    made.boolshap("report", made.circuit, made.data, "-o", "opening.html", *OPENING)
    return (made.folder / "opening.html").read_bytes()


def test_what_cannot_be_read_is_refused_in_words(browser, site, tmp_path):
    (tmp_path / "broken.bsc").write_bytes(b"no circuit")
    with Visit(browser, site.as_uri()) as visit:
        awake(visit)
        drop(visit, tmp_path, "broken.bsc")
        visit.until("!document.getElementById('error').hidden")
        assert "broken.bsc" in visit.page.locator("#error").inner_text()
        assert visit.page.url == site.as_uri()
