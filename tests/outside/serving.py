"""Circuits of every kind with their rows, and `boolshap serve` as a fixture: a free port, an HTTP client, ended by
SIGTERM."""

import csv
import re
import signal
import subprocess
import tempfile
import threading
from dataclasses import dataclass

import httpx
import numpy as np
import pandas as pd

from games import Formula, compile_formula, write_table


class Server:
    """A running server. `client` sends requests; `stop` ends it and checks that it ended cleanly."""

    def __init__(self, boolshap, *arguments, listen="127.0.0.1:0"):
        self.errors = tempfile.NamedTemporaryFile("w+", prefix="boolshap-serve-")
        line = ["serve", *arguments, "--listen", listen]
        self.process = boolshap.start(*line, stdout=subprocess.PIPE, stderr=self.errors)
        # A server that never prints its address must not hang the tests.
        watchdog = threading.Timer(600, self.process.kill)
        watchdog.start()
        said = self.process.stdout.readline()
        watchdog.cancel()
        found = re.search(r"http://([^/ ]+)/", said)
        assert found, f"{said!r}, {self.stderr()}"
        self.url, self.port = found[0].rstrip("/"), int(found[1].rsplit(":", 1)[1])
        self.client = self.new_client()

    def new_client(self, **options):
        # Without loading CA certificates, which takes longer than a request.
        options = {"base_url": self.url, "trust_env": False, "verify": False, "timeout": 300} | options
        return httpx.Client(**options)

    def get(self, path, **options):
        return self.client.get(path, **options)

    def explain(self, entities, **options):
        """The answer to a valid request for explanations."""
        response = self.client.post("/api/explain", json={"entities": entities} | options)
        assert response.status_code == 200, response.text
        return response.json()

    def stderr(self):
        with open(self.errors.name) as file:
            return file.read()

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return 1024 * next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def is_alive(self):
        return self.process.poll() is None

    def stop(self, within=120):
        """Ends the server, and fails if it is still running after `within` seconds."""
        self.client.close()
        if self.is_alive():
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"not stopped after {within} s") from None
        assert code == 0, (code, self.stderr())
        assert "panicked" not in self.stderr()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
        elif self.is_alive():
            self.process.kill()
            self.process.wait()


@dataclass
class Made:
    """A circuit file, its rows if there are any, and the command in their folder."""

    boolshap: object
    circuit: str
    data: str | None
    target: str | None = None

    @property
    def rows(self):
        return [self.data] if self.data else []

    @property
    def folder(self):
        return self.boolshap.folder

    def frame(self):
        return pd.read_csv(self.folder / self.data, keep_default_na=False, na_values=[""])

    def explain(self, *options, data=None):
        """Header and rows of `boolshap explain`, as texts. With several classes the first cell is `explained_value` if
        a class was given, and otherwise the predicted class."""
        self.boolshap("explain", self.circuit, data or self.data, "-o", "explained.csv", *options)
        with open(self.folder / "explained.csv", newline="") as file:
            header, *rows = csv.reader(file)
        if "explained_value" in header:
            assert header[:2] == ["prediction", "explained_value"]
            first = 1 if "--class" in map(str, options) else 0
            assert first or all(row[1] == "1" for row in rows)
            header, rows = ["prediction", *header[2:]], [[row[first], *row[2:]] for row in rows]
        return header, rows

    def explain_bits(self, entities, *options):
        """The same for entities given as bits."""
        names = self.boolshap.json("info", self.circuit)["features"]
        write_table(self.folder / "entities.csv", names, entities)
        return self.explain("--input", "bits", *options, data="entities.csv")


def blocks(boolshap):
    """Housing-like: numbers, some of them missing, intervals, categories, a boolean; the target is a number."""
    rng = np.random.default_rng(11)
    n = 600
    rooms, income = rng.gamma(2, 1300, n).round(1), rng.gamma(3, 1.3, n).round(4)
    frame = pd.DataFrame(
        {
            "age": rng.integers(1, 52, n),
            "rooms": rooms,
            "bedrooms": np.where(rng.random(n) < 0.05, np.nan, (rooms / 5).round()),
            "income": income,
            "drift": rng.normal(size=n).round(3),
            "proximity": rng.choice(["<1H OCEAN", "INLAND", "NEAR BAY"], n),
            "new": rng.integers(0, 2, n),
        }
    )
    value = 40_000 * income + 40_000 * (frame.proximity == "NEAR BAY") + 800 * frame.age
    frame["value"] = (value - 20_000 * frame.drift * (2 * frame.new - 1) + rng.normal(0, 20_000, n)).round(1)
    return trained(
        boolshap, frame, "value", "--column", "drift=numeric:bins=3", "--column", "new=boolean", "--hidden", 7
    )


def irises(boolshap):
    """Three classes by four numbers, a circuit for each class."""
    rng = np.random.default_rng(12)
    kind = rng.integers(0, 3, 240)
    frame = pd.DataFrame(
        rng.normal(kind[:, None] * [1.0, -0.8, 1.4, 0.6], 0.8).round(2),
        columns=["sepal length", "sepal width", "petal length", "petal width"],
    )
    frame["species"] = np.array(["setosa", "versicolor", "virginica"])[kind]
    columns = [word for name in frame.columns[:2] for word in ("--column", f"{name}=numeric:bins=3")]
    return trained(boolshap, frame, "species", *columns, "--hidden", 8, classes=True)


# Injection attempts through names in a file: in markup, scripts, styles, SVG and JSON.
HOSTILE_NAMES = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "\"double\" and 'single' & &lt;",
    "line\u2028and\u2029paragraph",
    "__proto__",
    "<svg/onload=alert(3)>",
    "long " + "name" * 100,
    "\u202eright to left\u202c 日本 🦔",
    "javascript:alert(4)",
    "{{7*7}}${7*7}`",
    "constructor",
]
HOSTILE_VALUES = [
    "</script><img src=x onerror=alert(5)>",
    "]]><svg onload=alert(6)>",
    "a\x01b\ttab",
    "' onfocus='alert(7)' autofocus='",
]


def hostile(boolshap):
    """Column names and categories that are markup."""
    rng = np.random.default_rng(13)
    n = 200
    frame = pd.DataFrame({name: rng.normal(size=n).round(2) for name in HOSTILE_NAMES})
    frame["<b>kind</b>"] = rng.choice(HOSTILE_VALUES, n)
    score = frame[HOSTILE_NAMES[:5]].sum(axis=1) + (frame["<b>kind</b>"] == HOSTILE_VALUES[0])
    frame["<i>target</i><script>alert(8)</script>"] = np.where(
        score > 0, "<u>yes</u>", "</title><script>alert(9)</script>"
    )
    return trained(boolshap, frame, frame.columns[-1], "--hidden", 5)


def trained(boolshap, frame, target, *options, classes=False):
    frame.to_csv(boolshap.folder / "d.csv", index=False)
    boolshap("train", "d.csv", "--target", target, "-o", "m.json", *options)
    boolshap("compile", "m.json", "-o", "c.bsc", "--verify", *(["--class", "all"] if classes else []))
    return Made(boolshap, "c.bsc", "d.csv", target)


def formula(boolshap, features, clauses, rows):
    compile_formula(boolshap, Formula(len(features), clauses), features)
    write_table(boolshap.folder / "d.csv", features, rows)
    return Made(boolshap, "c.bsc", "d.csv")


def hundred(boolshap):
    """A hundred bits, all of which matter."""
    rng = np.random.default_rng(14)
    features = [f"feature number {i + 1}" for i in range(100)]
    clauses = (
        [[i + 1, -(i + 2), i + 3] for i in range(0, 98, 7)] + [[i + 1, i + 2] for i in range(2, 98, 3)] + [[100, -1]]
    )
    mentioned = {abs(lit) for clause in clauses for lit in clause}
    clauses += [[i, 100] for i in range(1, 100) if i not in mentioned]
    good = np.ones((20, 100), int) ^ (rng.random((20, 100)) < 0.02)
    return formula(boolshap, features, clauses, [*rng.integers(0, 2, (20, 100)).tolist(), *good.tolist()])


def one(boolshap):
    """A single feature."""
    return formula(boolshap, ["only"], [[1]], [[0], [1], [1]])


def constant(boolshap):
    """Three features and a constant function."""
    return formula(boolshap, ["a", "b", "c"], [[1, -1]], [[0, 0, 1], [1, 0, 1]])


def bare(boolshap):
    """One-hot columns and bits of a formula, without rows."""
    made = formula(boolshap, ["op=A", "x", "op=B", "op=C", "y"], [[1, 2], [-3, 5], [4, -2, 5]], [])
    return Made(made.boolshap, made.circuit, None)


def make(name, boolshap):
    return {
        "blocks": blocks,
        "irises": irises,
        "hostile": hostile,
        "hundred": hundred,
        "one": one,
        "constant": constant,
        "bare": bare,
    }[name](boolshap)


def bits_of(text):
    return [int(bit) for bit in text]


def switched(entity, feature, columns):
    """The entity with one feature switched; switching a one-hot feature on switches its siblings off."""
    changed = list(entity)
    changed[feature] = 1 - changed[feature]
    column = next(column for column in columns if feature in column["features"])
    if changed[feature] and column["one_hot"]:
        for sibling in column["features"]:
            changed[sibling] = int(sibling == feature)
    return changed
