"""The live page, the server under load and the report, in one run on one machine.

    cargo build --release --workspace --bins
    sudo apt-get install -y chromium wrk
    target/venv/bin/python benchmarks/serve.py --data ../shared/data --json target/serve.json

On the housing model of `boolshap train`: (a) 200 switches in Chromium, each from the click to the painted frame, as the
page itself measures them; (b) wrk with 64 connections on /api/health and on POST /api/explain with one entity; (c) SIGTERM
in the middle of such a load: how long it takes, and whether any answer was cut off; (d) the report of all 20,640 rows:
its size, and the time from opening the file in Chromium until the page is usable. The load runs on the same cores, so
only the ratios are meaningful. The run fails if an answer is wrong or missing, or if a time is far too long.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/outside"))
from browsing import launch  # noqa: E402

BINARY = os.environ.get("BOOLSHAP_BINARY", ROOT / "target/release/boolshap")
REPORT_RUNS = 5
CHECKED_CONNECTIONS = 8


def run(*arguments):
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Server:
    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [BINARY, "serve", *map(str, arguments), "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        said = self.process.stdout.readline()
        self.url = re.search(r"http://[^/ ]+", said)[0]
        self.port = int(self.url.rsplit(":", 1)[1])

    def stop(self):
        start = time.perf_counter()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(30)
        took = time.perf_counter() - start
        assert "panicked" not in self.process.stderr.read()
        return took, code


def quantile(times, share):
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def until(page, expression, arg=None, seconds=60):
    """Replaces Playwright's own waiting, which evaluates strings in the page; the page's policy forbids that."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression, arg):
        assert time.monotonic() < end, f"never: {expression}"
        page.wait_for_timeout(5)


def switches(browser, server, count):
    """Milliseconds from the click to the painted frame, for each of `count` switches."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.goto(server.url)
    until(page, "document.documentElement.dataset.ready === '1'")
    buttons = page.locator("#switches button[role=switch]")
    features = buttons.count()
    for number in range(-20, count):
        if number == 0:
            page.evaluate("performance.clearMeasures('switch')")
        known = page.evaluate("performance.getEntriesByName('switch').length")
        buttons.nth(7 * number % features).click()
        until(page, "known => performance.getEntriesByName('switch').length > known", known)
    times = page.evaluate("performance.getEntriesByName('switch').map(one => one.duration)")
    assert len(times) == count
    context.close()
    return times


def wrk(server, path, connections, seconds, body=None, folder=None):
    """A load in the background; `wrk_figures` reads wrk's output."""
    line = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", server.url + path]
    if body is not None:
        script = folder / "post.lua"
        script.write_text(
            f'wrk.method = "POST"\nwrk.body = {json.dumps(body)}\nwrk.headers["Content-Type"] = "application/json"\n'
        )
        line[1:1] = ["-s", str(script)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wrk_figures(load):
    text = load.communicate()[0]
    number = lambda pattern, default=None: float(found[1]) if (found := re.search(pattern, text)) else default
    unit = {"us": 1e-3, "ms": 1.0, "s": 1e3}
    latency = {
        share: float(value) * unit[word] for share, value, word in re.findall(r"(\d+)%\s+([\d.]+)(us|ms|s)\b", text)
    }
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    return {
        "requests_per_second": number(r"Requests/sec:\s+([\d.]+)"),
        "requests": int(number(r"(\d+) requests in", 0)),
        "p50_ms": latency.get("50"), "p99_ms": latency.get("99"),
        "failed": int(number(r"Non-2xx or 3xx responses: (\d+)", 0)),
        "socket_errors": sum(map(int, errors.groups())) if errors else 0,
    }


class Checked:
    """Connections that read every answer completely and count them: answered, cut off, or lost before or after the end."""

    def __init__(self, server, body):
        content = body.encode()
        head = f"POST /api/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        self.port, self.request = server.port, head.encode() + content
        self.answered = self.cut_off = self.wrong = self.unanswered = self.before_the_end = 0
        self.ending, self.lock = threading.Event(), threading.Lock()
        self.threads = [threading.Thread(target=self.ask) for _ in range(CHECKED_CONNECTIONS)]
        for thread in self.threads:
            thread.start()

    def count(self, what):
        with self.lock:
            setattr(self, what, getattr(self, what) + 1)

    def ask(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            while True:
                early = not self.ending.is_set()
                got, rest, length = b"", b"", None
                try:
                    connection.sendall(self.request)
                    while b"\r\n\r\n" not in got:
                        got += self.more(connection)
                    head, _, rest = got.partition(b"\r\n\r\n")
                    length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
                    while len(rest) < length:
                        rest += self.more(connection)
                except ConnectionError:
                    # Just after the signal a request may still count as early; a second later it may not.
                    early = early and not self.ending.wait(1)
                    return self.count("cut_off" if got else "before_the_end" if early else "unanswered")
                self.count("answered" if head.startswith(b"HTTP/1.1 200") and b'"explanations"' in rest else "wrong")

    @staticmethod
    def more(connection):
        part = connection.recv(1 << 16)
        if not part:
            raise ConnectionError
        return part

    def join(self):
        for thread in self.threads:
            thread.join()


def open_report(browser, path):
    """Seconds from requesting the file until the page is ready."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    start = time.perf_counter()
    page.goto(path.as_uri(), wait_until="commit")
    until(page, "document.documentElement.dataset.ready === '1'")
    took = time.perf_counter() - start
    context.close()
    return took


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--switches", type=int, default=200)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=30, help="of each load")
    parser.add_argument("--json", type=pathlib.Path, help="write all numbers here; - prints them")
    arguments = parser.parse_args()
    housing = arguments.data / "housing/housing.csv"
    results = {}

    def record(name, **numbers):
        results[name] = numbers
        words = ", ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in numbers.items()
        )
        print(f"{name:26} {words}", file=sys.stderr if arguments.json == pathlib.Path("-") else sys.stdout, flush=True)

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        folder = pathlib.Path(folder)
        run("train", housing, "--target", "median_house_value", "-o", folder / "m.json", "--hidden", 13)
        run("compile", folder / "m.json", "-o", folder / "c.bsc")
        browser = launch(playwright)

        server = Server(folder / "c.bsc", housing)
        times = switches(browser, server, arguments.switches)
        record("switches, ms", count=len(times), p50=quantile(times, 0.5), p95=quantile(times, 0.95), worst=max(times))
        assert quantile(times, 0.5) < 2000
        stopped, code = server.stop()
        record("stop when idle", seconds=stopped, code=code)

        start = time.perf_counter()
        run("report", folder / "c.bsc", housing, "-o", folder / "r.html")
        made = time.perf_counter() - start
        opened = [open_report(browser, folder / "r.html") for _ in range(REPORT_RUNS)]
        size = (folder / "r.html").stat().st_size
        record(
            "report of 20,640 rows",
            bytes=size,
            seconds_to_make=made,
            seconds_until_ready=statistics.median(opened),
            worst=max(opened),
        )
        assert size < 10_000_000 and statistics.median(opened) < 30
        browser.close()

        server = Server(folder / "c.bsc", housing)
        features = len(json.loads(run("info", folder / "c.bsc", "--json"))["features"])
        body = json.dumps({"entities": [[0, 1] * (features // 2) + [0] * (features % 2)]})
        health = wrk_figures(wrk(server, "/api/health", arguments.connections, arguments.seconds))
        record("wrk on /api/health", **health)
        explained = wrk_figures(wrk(server, "/api/explain", arguments.connections, arguments.seconds, body, folder))
        record("wrk on /api/explain", **explained)
        record("ratio", explain_to_health=explained["requests_per_second"] / health["requests_per_second"])
        assert health["failed"] == explained["failed"] == health["socket_errors"] == explained["socket_errors"] == 0

        load = wrk(server, "/api/explain", arguments.connections, 600, body, folder)
        checked = Checked(server, body)
        time.sleep(min(5, arguments.seconds))
        checked.ending.set()
        stopped, code = server.stop()
        load.send_signal(signal.SIGINT)
        checked.join()
        under_load = wrk_figures(load)
        record(
            "SIGTERM under load",
            seconds=stopped,
            code=code,
            failed=under_load["failed"] + checked.wrong + checked.before_the_end,
            cut_off=checked.cut_off,
            answered=under_load["requests"] + checked.answered,
            not_begun=checked.unanswered,
        )
        assert code == 0 and results["SIGTERM under load"]["failed"] == checked.cut_off == 0 and stopped < 10

    if arguments.json == pathlib.Path("-"):
        print(json.dumps(results))
    elif arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


main()
