"""Boosters on raw columns through the command line, the server and this package: the same fractions, the same refusals."""

import csv
import json
import os
import subprocess
import urllib.error
import urllib.request
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

import boolshap
from boolshap.errors import BoolshapError

BINARY = os.environ.get("BOOLSHAP_BINARY")
pytestmark = pytest.mark.skipif(BINARY is None, reason="BOOLSHAP_BINARY does not name the command line")

COLUMNS = ["length", "width", "petal", "leaf"]
X, KINDS = load_iris(return_X_y=True)
#: Numbers that both libraries store without rounding.
X = X.astype(np.float32).astype(np.float64)
ROWS, BACKGROUND = X[::20], X[5::10]


def xgboost_model(folder: Any, classes: int) -> Any:
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    labels = KINDS if classes == 3 else KINDS == 1
    settings = {"objective": "multi:softprob", "num_class": 3} if classes == 3 else {"objective": "binary:logistic"}
    table = xgboost.DMatrix(X, labels, feature_names=COLUMNS)
    booster = xgboost.train({"max_depth": 2, **settings}, table, num_boost_round=3)
    booster.save_model(folder / "model.json")
    return booster, "model.json"


def lightgbm_model(folder: Any, classes: int) -> Any:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    settings = {"objective": "multiclass", "num_class": 3} if classes == 3 else {"objective": "binary"}
    table = lightgbm.Dataset(X, KINDS if classes == 3 else KINDS == 1, feature_name=COLUMNS)
    booster = lightgbm.train({"num_leaves": 4, "verbosity": -1, **settings}, table, num_boost_round=3)
    booster.save_model(folder / "model.txt")
    return booster, "model.txt"


class Doors:
    """A booster through command line, server and package."""

    def __init__(self, folder: Any, make: Any, classes: int) -> None:
        self.folder, self.classes = folder, classes
        self.booster, self.file = make(folder, classes)
        for name, rows in (("rows.csv", ROWS), ("background.csv", BACKGROUND)):
            lines = [",".join(COLUMNS), *(",".join(map(repr, row)) for row in rows.tolist()), ""]
            (folder / name).write_text("\n".join(lines))
        line = [str(BINARY), "serve", self.file, "background.csv", "--listen", "127.0.0.1:0"]
        self.server = subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, text=True)
        assert self.server.stdout is not None
        self.address = self.server.stdout.readline().split(" at ")[1].split("/ ")[0]

    def command(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        line = [str(BINARY), *map(str, arguments)]
        return subprocess.run(line, cwd=self.folder, capture_output=True, text=True, timeout=300)

    def printed(self, *options: object) -> list[list[Fraction]]:
        """The command line's output: for each row the prediction, the base value and the scores; several classes in one
        list."""
        given = ("--distribution", "background:background.csv", "--exact", "-o", "s.csv", *options)
        done = self.command("explain", self.file, "rows.csv", *given)
        assert done.returncode == 0, done.stderr
        with open(self.folder / "s.csv") as file:
            return [[Fraction(cell) for cell in row] for row in list(csv.reader(file))[1:]]

    def ask(self, path: str = "/api/explain", **fields: object) -> tuple[int, Any]:
        body = json.dumps({"entities": ROWS.tolist(), **fields}).encode() if path == "/api/explain" else None
        request = urllib.request.Request(self.address + path, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=300) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)["error"]


@pytest.fixture(scope="module", params=["xgboost", "lightgbm", "xgboost of 3", "lightgbm of 3"])
def doors(request, tmp_path_factory):
    name, _, classes = request.param.partition(" of ")
    make = {"xgboost": xgboost_model, "lightgbm": lightgbm_model}[name]
    made = Doors(tmp_path_factory.mktemp("raw"), make, int(classes or 2))
    yield made
    made.server.terminate()
    made.server.wait(300)


@pytest.mark.parametrize("index", ["shapley", "banzhaf", "interaction"])
def test_numbers_are_the_same(doors, index):
    for class_ in range(3) if doors.classes == 3 else [None]:
        printed = doors.printed("--index", index, *([] if class_ is None else ["--class", class_]))
        fields = {} if class_ is None else {"class": class_}
        status, answer = doors.ask(index=index, exact=True, **fields)
        assert status == 200, answer
        assert answer["error_bound"] == 0
        for row, one in zip(printed, answer["explanations"], strict=True):
            assert [Fraction(one["prediction"]), Fraction(answer["base_value"]), *map(Fraction, one["scores"])] == row
        explainer = boolshap.Explainer(doors.booster, {name: BACKGROUND[:, place] for place, name in enumerate(COLUMNS)}, class_=class_)
        exact = explainer.exact(ROWS, index=index)
        assert [[base, *scores] for base, scores in zip(exact.base_values, exact.values)] == [row[1:] for row in printed]
        floats = explainer.values(ROWS, index=index)
        assert np.abs(floats - np.array([row[2:] for row in printed], dtype=float)).max() < 1e-12
        status, answer = doors.ask(index=index, **fields)
        assert status == 200 and (np.array([one["scores"] for one in answer["explanations"]]) == floats).all()
        assert ["*".join(names) for names in explainer.names(index)] == answer["players"]
        assert answer["error_bound"] == explainer.error_bound()


def test_each_class_and_names_in_any_order(doors):
    expected = boolshap.Explainer(doors.booster, BACKGROUND)(ROWS)
    entities = [{name: row[place] for place, name in [*enumerate(COLUMNS)][::-1]} | {"id": 7} for row in ROWS.tolist()]
    status, answer = doors.ask(entities=entities, distribution="background", players="columns", input="raw", model_output="score")
    assert status == 200, answer
    values = np.array([one["scores"] for one in answer["explanations"]])
    assert (values == (expected.values if doors.classes == 2 else np.moveaxis(expected.values, 2, 1))).all()


def test_what_the_server_says_of_itself(doors):
    info = json.loads(doors.command("info", doors.file, "--json").stdout)
    status, model = doors.ask("/api/model")
    assert status == 200 and info.items() <= model.items()
    assert (model["players"], model["background_rows"], model["model_output"]) == (COLUMNS, len(BACKGROUND), "score")
    assert doors.ask("/api/health") == (200, {"status": "ok"})
    status, description = doors.ask("/api/openapi.json")
    assert status == 200 and set(description["paths"]) == {"/api/explain", "/api/model", "/api/health", "/metrics"}
    status, error = doors.ask("/")
    assert status == 404 and "/api/explain" in error["message"]


def test_refusals_are_the_same(doors):
    wrong = 7 if doors.classes == 3 else 0
    words = "there is no class 7" if doors.classes == 3 else "picks one of several outputs, and there is one"
    done = doors.command("explain", doors.file, "rows.csv", "--distribution", "background:background.csv", "--class", wrong)
    assert done.returncode in (1, 2) and words in done.stderr
    status, error = doors.ask(**{"class": wrong})
    assert (status, error["field"]) == (400, "class") and words in error["message"]
    with pytest.raises(BoolshapError, match=words):
        boolshap.Explainer(doors.booster, BACKGROUND, class_=wrong)
    done = doors.command("explain", doors.file, "rows.csv")
    assert done.returncode == 2 and "background:FILE" in done.stderr
    assert doors.ask(distribution="uniform")[1]["field"] == "distribution"
    assert doors.ask(players="pixels")[1]["field"] == "players"
    assert doors.ask(input="bits")[1]["field"] == "input"
    assert doors.ask(flips=True)[1]["field"] == "flips"
    assert doors.ask(model_output="label")[1]["field"] == "model_output"
    assert doors.ask(entities=[[1, 2, 3]])[1]["message"] == "entities[0]: 3 values, but there are 4 columns"
    assert doors.ask(entities=[[1, 2, 3, "x"]])[1]["field"] == "entities[0][3]"
    assert doors.ask(entities=[[1, 2, 3, 4], {"length": 1}])[1]["field"] == "entities[1].width"
    assert doors.ask(entities=[[1, 2, 3, 1e999]])[0] == 400
    for line in (["serve", doors.file], ["serve", doors.file, "rows.csv", "--distribution", "background:background.csv"]):
        done = doors.command(*line, "--listen", "127.0.0.1:0")
        assert done.returncode == 2 and "DATA" in done.stderr


def test_missing_numbers_go_where_the_trees_send_them(doors):
    missing = ROWS.copy()
    missing[::2, 2] = np.nan
    expected = boolshap.Explainer(doors.booster, BACKGROUND)(missing)
    entities = [[None if np.isnan(cell) else cell for cell in row] for row in missing.tolist()]
    status, answer = doors.ask(entities=entities)
    values = np.array([one["scores"] for one in answer["explanations"]])
    assert status == 200
    assert (values == (expected.values if doors.classes == 2 else np.moveaxis(expected.values, 2, 1))).all()
