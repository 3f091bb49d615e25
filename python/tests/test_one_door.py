"""The same cases through the command line, the server and this package: all use one library, so numbers, facts and
refusals are the same."""

import csv
import itertools
import json
import os
import pickle
import subprocess
import urllib.error
import urllib.request
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import boolshap
from boolshap.errors import BoolshapError

BINARY = os.environ.get("BOOLSHAP_BINARY")
pytestmark = pytest.mark.skipif(BINARY is None, reason="BOOLSHAP_BINARY does not name the command line")

FEATURES = ["sea=near", "sea=far", "old", "large"]
CLASSES = ["cheap", "fair", "dear"]
MODEL = {
    "format": "boolshap model", "version": 1, "features": FEATURES, "classes": CLASSES, "schema": None,
    "marginals": {"rows": 8, "ones": [4, 4, 3, 5]}, "hidden": [], "provenance": {},
    "output": {"argmax": [
        {"weights": "2 -1 1 0", "bias": "0"}, {"weights": "-1 2 0 1", "bias": "0"}, {"weights": "0 0 -1 2", "bias": "1"},
    ]},
}  # fmt: skip
ROWS = [[near, 1 - near, old, large] for near, old, large in itertools.product([0, 1], repeat=3)]


def command(folder: Any, *arguments: object) -> subprocess.CompletedProcess[str]:
    assert BINARY is not None
    return subprocess.run([BINARY, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("door")
    (folder / "m.json").write_text(json.dumps(MODEL))
    (folder / "rows.csv").write_text("\n".join([",".join(FEATURES), *(",".join(map(str, row)) for row in ROWS), ""]))
    done = command(folder, "compile", "m.json", "-o", "c.bsc", "--class", "all", "--verify")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def ask(folder):
    """A function that sends requests to a server with the circuit and its rows."""
    yield from server_of(folder, "c.bsc")


def server_of(folder: Any, file: str) -> Any:
    line = [str(BINARY), "serve", file, "rows.csv", "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = server.stdout.readline().split(" at ")[1].split("/ ")[0]

    def ask(**fields: object) -> tuple[int, Any]:
        body = json.dumps({"entities": ROWS, **fields}).encode()
        request = urllib.request.Request(address + "/api/explain", body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=300) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)["error"]

    yield ask
    server.terminate()
    server.wait(300)


def test_the_compiled_circuit_is_the_same_file(folder):
    circuit = boolshap.compile(folder / "m.json", class_="each", verify=True)
    assert circuit.to_bytes() == (folder / "c.bsc").read_bytes()
    facts = json.loads(circuit.provenance)
    assert facts["route"]
    info = json.loads(command(folder, "info", "c.bsc", "--json").stdout)
    assert info["provenance"] == facts and info["features"] == circuit.features
    # A proof made in this process becomes a claim in the file, with otherwise equal data.
    assert (circuit.verified["standing"], info["verified"]["standing"]) == ("proved", "claimed")
    assert boolshap.load(folder / "c.bsc").verified == info["verified"]
    assert {key: circuit.verified[key] for key in ("method", "of", "digest", "circuit")}.items() <= info["verified"].items()
    assert (info["nodes"], info["edges"]) == (circuit.nodes, circuit.edges)
    assert [one["models"] for one in info["classes"]] == [str(count) for count in circuit.models]


@pytest.mark.parametrize("class_", [0, "dear", "predicted"])
@pytest.mark.parametrize("index", ["shapley", "banzhaf"])
@pytest.mark.parametrize("players", ["features", "columns"])
@pytest.mark.parametrize("distribution", ["uniform", "product", "background", "empirical"])
def test_numbers_are_the_same(folder, ask, distribution, players, index, class_):
    of_rows = distribution in ("background", "empirical")
    given = f"{distribution}:rows.csv" if of_rows else distribution
    done = command(
        folder, "explain", "c.bsc", "rows.csv", "-o", "s.csv", "--exact",
        "--distribution", given, "--players", players, "--index", index, "--class", class_,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with open(folder / "s.csv") as file:
        header, *lines = csv.reader(file)
    printed = [[Fraction(cell) for name, cell in zip(header, row) if name != "explained_value"] for row in lines]
    status, answer = ask(distribution=distribution, players=players, index=index, exact=True, **{"class": class_})
    assert status == 200
    for row, one in zip(printed, answer["explanations"], strict=True):
        base = one.get("base_value", answer["base_value"])
        assert [one["prediction"], Fraction(base), *map(Fraction, one["scores"])] == row
    explainer = boolshap.Explainer(
        boolshap.load(folder / "c.bsc"),
        ROWS if of_rows else None,
        distribution=distribution,
        players=players,
        class_=class_,
    )
    exact = explainer.exact(ROWS, index=index)
    assert [[base, *scores] for base, scores in zip(exact.base_values, exact.values)] == [row[1:] for row in printed]
    floats = explainer.shap_values(ROWS) if index == "shapley" else explainer.banzhaf(ROWS)
    assert np.abs(floats - np.array([row[2:] for row in printed], dtype=float)).max() < 1e-12
    if (distribution, players) == ("uniform", "features"):
        table = boolshap.Explainer(boolshap.load(folder / "c.bsc"), class_=class_, engine="table")
        looked_up = table.shap_values(ROWS) if index == "shapley" else table.banzhaf(ROWS)
        assert np.abs(looked_up - np.array([row[2:] for row in printed], dtype=float)).max() < 1e-14
        again = pickle.loads(pickle.dumps(table))
        assert (again.values(ROWS, index=index) == looked_up).all()


@pytest.mark.parametrize("index", ["owen", "taylor:2", "taylor:3", "ksii:2", "ksii:3"])
@pytest.mark.parametrize("players", ["features", "columns", "p.csv"])
@pytest.mark.parametrize("distribution", ["uniform", "background", "empirical"])
def test_numbers_of_groups_and_sets_are_the_same(folder, ask, distribution, players, index):
    own = {"sea=near": "s", "sea=far": "s", "old": "o", "large": "s"}
    names = {"features": FEATURES, "columns": ["sea", "old", "large"], "p.csv": ["s", "o"]}[players]
    (folder / "p.csv").write_text("\n".join(["feature,player", *(f"{name},{player}" for name, player in own.items()), ""]))
    groups = {name: "g" if name in ("old", "o", "sea=far") else "h" for name in names}
    (folder / "g.csv").write_text("\n".join(["player,group", *(f"{name},{group}" for name, group in groups.items()), ""]))
    of_rows = distribution != "uniform"
    done = command(
        folder, "explain", "c.bsc", "rows.csv", "-o", "s.csv", "--exact", "--class", 0, "--players", players,
        "--distribution", f"{distribution}:rows.csv" if of_rows else distribution,
        "--index", "owen:g.csv" if index == "owen" else index,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with open(folder / "s.csv") as file:
        header, *lines = csv.reader(file)
    printed = [[Fraction(cell) for name, cell in zip(header, row) if name != "explained_value"] for row in lines]
    explainer = boolshap.Explainer(
        boolshap.load(folder / "c.bsc"),
        ROWS if of_rows else None,
        distribution=distribution,
        players=own if players == "p.csv" else players,
        groups=groups,
        class_=0,
    )
    exact = explainer.exact(ROWS, index=index)
    assert [[base, *scores] for base, scores in zip(exact.base_values, exact.values)] == [row[1:] for row in printed]
    assert np.abs(explainer.values(ROWS, index=index) - np.array([row[2:] for row in printed], dtype=float)).max() < 1e-12
    assert ["*".join(names) for names in explainer.names(index)] == header[-len(printed[0]) + 2 :]
    if players == "p.csv":
        return
    fields = {"groups": groups} if index == "owen" else {}
    status, answer = ask(distribution=distribution, players=players, index=index, exact=True, **fields, **{"class": 0})
    assert status == 200, answer
    for row, one in zip(printed, answer["explanations"], strict=True):
        assert [one["prediction"], Fraction(answer["base_value"]), *map(Fraction, one["scores"])] == row


def test_groups_are_refused_alike(folder, ask):
    circuit = boolshap.load(folder / "c.bsc")
    (folder / "few.csv").write_text("player,group\nold,g\n")
    done = command(folder, "explain", "c.bsc", "rows.csv", "--index", "owen:few.csv")
    assert done.returncode == 1 and "the player 'sea=near' has no group" in done.stderr
    status, error = ask(index="owen", groups={"old": "g"}, **{"class": 0})
    assert status in (400, 422) and "the player 'sea=near' has no group" in error["message"]
    with pytest.raises(BoolshapError, match="the player 'sea=near' has no group"):
        boolshap.Explainer(circuit, groups={"old": "g"})
    done = command(folder, "explain", "c.bsc", "rows.csv", "--index", "owen")
    assert done.returncode in (1, 2) and "'owen' needs the groups of the players" in done.stderr
    assert ask(index="owen")[1]["field"] == "groups"
    assert ask(index="owen:few.csv")[1]["field"] == "index"
    assert ask(groups={})[1]["field"] == "groups"
    with pytest.raises(BoolshapError, match="Owen values need groups"):
        boolshap.Explainer(circuit).values(ROWS, index="owen")


@pytest.mark.parametrize("index", ["shapley", "banzhaf", "interaction"])
def test_the_bound_of_errors_is_the_same(folder, ask, index):
    done = command(folder, "explain", "c.bsc", "rows.csv", "-o", "s.csv", "--json", "--index", index, "--class", 1)
    bound = json.loads(done.stdout)["error_bound"]
    assert 0 < bound < 1e-12
    assert ask(index=index, **{"class": 1})[1]["error_bound"] == bound
    assert ask(index=index, exact=True, **{"class": 1})[1]["error_bound"] == 0
    assert boolshap.Explainer(boolshap.load(folder / "c.bsc"), class_=1).error_bound(index) == bound


@pytest.fixture(scope="module")
def score_file(folder):
    done = command(folder, "compile", "m.json", "-o", "v.bsc", "--model-output", "score", "--verify")
    assert done.returncode == 0, done.stderr
    circuit = boolshap.compile(folder / "m.json", model_output="score", verify=True)
    assert circuit.to_bytes() == (folder / "v.bsc").read_bytes() and circuit.model_output == "score"
    return folder / "v.bsc"


@pytest.fixture(scope="module")
def ask_scores(folder, score_file):
    yield from server_of(folder, "v.bsc")


def score(row: list[int], class_: int) -> int:
    """The score of a class, by the definition."""
    one = MODEL["output"]["argmax"][class_]  # type: ignore[index]
    weights = map(int, one["weights"].split())
    return sum(weight * (2 * bit - 1) for weight, bit in zip(weights, row)) + int(one["bias"])


@pytest.mark.parametrize("class_", [0, "dear", "predicted", "0-dear"])
@pytest.mark.parametrize("index", ["shapley", "banzhaf"])
@pytest.mark.parametrize("players", ["features", "columns"])
@pytest.mark.parametrize("distribution", ["uniform", "product", "background"])
def test_scores_of_scores_are_the_same(folder, ask_scores, distribution, players, index, class_):
    of_rows = distribution == "background"
    given = f"{distribution}:rows.csv" if of_rows else distribution
    for source in ("v.bsc", "m.json"):
        done = command(
            folder, "explain", source, "rows.csv", "-o", "s.csv", "--exact", "--model-output", "score",
            "--distribution", given, "--players", players, "--index", index, "--class", class_,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        with open(folder / "s.csv") as file:
            header, *lines = csv.reader(file)
        printed = [[Fraction(cell) for name, cell in zip(header, row) if name != "class"] for row in lines]
        best = [max(range(3), key=lambda k: (score(row, k), -k)) for row in ROWS]
        of = {0: lambda row: score(row, 0), "dear": lambda row: score(row, 2)}
        of["predicted"] = lambda row: score(row, best[ROWS.index(row)])
        of["0-dear"] = lambda row: score(row, 0) - score(row, 2)
        assert [row[0] for row in printed] == [of[class_](row) for row in ROWS]
        assert ("class" in header) == (class_ == "predicted")
        if index == "shapley":
            assert all(row[0] == sum(row[1:]) for row in printed)
    status, answer = ask_scores(
        distribution=distribution, players=players, index=index, exact=True, model_output="score", **{"class": class_}
    )
    assert status == 200
    for row, one in zip(printed, answer["explanations"], strict=True):
        base = one.get("base_value", answer["base_value"])
        assert [Fraction(one["prediction"]), Fraction(base), *map(Fraction, one["scores"])] == row
    background = ROWS if of_rows else None
    settings = {"distribution": distribution, "players": players, "class_": class_, "model_output": "score"}
    for source in (boolshap.load(folder / "v.bsc"), folder / "m.json"):
        explainer = boolshap.Explainer(source, background, **settings)
        exact = explainer.exact(ROWS, index=index)
        assert [[*row] for row in zip(exact.predictions, exact.base_values)] == [row[:2] for row in printed]
        assert exact.values == [row[2:] for row in printed]
        floats = explainer.shap_values(ROWS) if index == "shapley" else explainer.banzhaf(ROWS)
        assert np.abs(floats - np.array([row[2:] for row in printed], dtype=float)).max() < 1e-12


def test_a_file_of_scores_says_what_it_is_everywhere(folder, score_file, ask_scores):
    info = json.loads(command(folder, "info", "v.bsc", "--json").stdout)
    assert (info["model_output"], info["scores"], info["rule"]) == ("score", 3, "largest")
    verified = json.loads(command(folder, "verify", "m.json", "v.bsc", "--json").stdout)
    assert verified["equal"] and verified["method"] == "gates"
    predicted = command(folder, "predict", "v.bsc", "rows.csv", "-o", "p.csv")
    assert predicted.returncode == 0
    best = [max(range(3), key=lambda k: (score(row, k), -k)) for row in ROWS]
    assert list(map(int, (folder / "p.csv").read_text().split()[1:])) == best
    assert boolshap.load(score_file).predict(ROWS).tolist() == best
    done = command(folder, "explain", "v.bsc", "rows.csv", "--model-output", "label")
    assert done.returncode == 2 and "the file holds scores" in done.stderr
    assert ask_scores(model_output="label")[0] == 400
    done = command(folder, "explain", "c.bsc", "rows.csv", "--model-output", "score")
    assert done.returncode == 2 and "the circuit holds labels only" in done.stderr
    with pytest.raises(BoolshapError, match="the circuit holds labels only"):
        boolshap.Explainer(boolshap.load(folder / "c.bsc"), model_output="score")


REFUSED = [
    ({"class": 7}, "there is no class 7"),
    ({"class": "huge"}, "there is no class 'huge'"),
    ({"index": "median"}, "'median' is not one of shapley, banzhaf, interaction"),
    ({"distribution": "normal"}, "'normal' is not one of "),
]


@pytest.mark.parametrize(("fields", "words"), REFUSED)
def test_refusals_are_the_same(folder, ask, fields, words):
    [(setting, value)] = fields.items()
    done = command(folder, "explain", "c.bsc", "rows.csv", "--" + setting, value)
    assert done.returncode in (1, 2) and words in done.stderr, done.stderr
    status, error = ask(**fields)
    assert status == 400 and error["field"] == setting and words in error["message"]
    with pytest.raises(BoolshapError) as caught:
        circuit = boolshap.load(folder / "c.bsc")
        if setting == "index":
            boolshap.Explainer(circuit, class_=0).exact(ROWS, index=value)
        else:
            boolshap.Explainer(circuit, **{"class_" if setting == "class" else setting: value})
    assert words in str(caught.value) and "--" not in str(caught.value)


def test_a_network_that_takes_long_is_not_compiled_in_passing():
    """The same rule as on the command line: an explainer compiles only what is cheap; else an error says what to do."""
    chance = np.random.default_rng(1)
    wide = [(chance.choice([-1, 1], size=(13, 60)), np.zeros(13)), (chance.choice([-1, 1], size=(1, 13)), np.zeros(1))]
    with pytest.raises(boolshap.errors.LimitError, match="too large to be compiled in passing .60 bits, 13 neurons"):
        boolshap.Explainer(wide)
    with pytest.raises(boolshap.errors.LimitError, match="call boolshap.compile"):
        boolshap.Explainer(wide)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """A network of 4x6 pixels whose features have an image layout."""
    folder = tmp_path_factory.mktemp("image")
    chance = np.random.default_rng(5)
    signs = ["".join(chance.choice(["+", "-"], 24)) for _ in range(5)]
    model = {
        "format": "boolshap model", "version": 1, "features": [f"x{number}" for number in range(1, 25)], "classes": None,
        "schema": None, "marginals": None, "hidden": [[{"weights": text, "need": "12"} for text in signs]],
        "output": {"argmax": [{"weights": "++--+", "bias": "0"}, {"weights": "+-+-+", "bias": "1"},
                              {"weights": "--++-", "bias": "0"}]}, "provenance": {},
    }  # fmt: skip
    (folder / "plain.json").write_text(json.dumps(model))
    boolshap.Model.load(folder / "plain.json").with_grid(4, 6).save(folder / "m.json")
    rows = chance.integers(0, 2, (3, 24))
    lines = [",".join(model["features"]), *(",".join(map(str, row)) for row in rows.tolist()), ""]
    (folder / "rows.csv").write_text("\n".join(lines))
    done = command(folder, "compile", "m.json", "-o", "c.bsc", "--class", "all")
    assert done.returncode == 0, done.stderr
    return folder, rows


def scores_of(folder, source, *options):
    done = command(folder, "explain", source, "rows.csv", "-o", "s.csv", "--exact", "--class", 1, *options)
    assert done.returncode == 0, done.stderr
    with open(folder / "s.csv") as file:
        header, *lines = csv.reader(file)
    return header, [[Fraction(cell) for cell in row] for row in lines]


@pytest.mark.parametrize("reference", ["zeros", "ones", "row"])
def test_regions_against_a_reference_are_the_same(image, reference):
    folder, rows = image
    text = "rows.csv:3" if reference == "row" else reference
    options = ("--distribution", f"reference:{text}", "--regions", "2x3")
    header, printed = scores_of(folder, "c.bsc", *options)
    assert header[-6:] == ["r0c0", "r0c1", "r0c2", "r1c0", "r1c1", "r1c2"]
    given = {"regions": (2, 3), "reference": rows[2] if reference == "row" else reference, "class_": 1}
    exact = boolshap.Explainer(boolshap.load(folder / "c.bsc"), **given).exact(rows)
    assert list(exact.values) == [row[-6:] for row in printed]
    line = [str(BINARY), "serve", "c.bsc", "rows.csv", "--listen", "127.0.0.1:0", *options]
    server = subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split(" at ")[1].split("/ ")[0]
        body = json.dumps({"entities": rows.tolist(), "class": 1, "exact": True}).encode()
        request = urllib.request.Request(address + "/api/explain", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as response:
            answer = json.load(response)
    finally:
        server.terminate()
        server.wait(300)
    assert [[Fraction(score) for score in one["scores"]] for one in answer["explanations"]] == [row[-6:] for row in printed]


def served(folder: Any, file: str, body: dict[str, Any], *options: object) -> Any:
    """The answer of a server started for one request."""
    line = [str(BINARY), "serve", file, "rows.csv", "--listen", "127.0.0.1:0", *map(str, options)]
    server = subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split(" at ")[1].split("/ ")[0]
        request = urllib.request.Request(
            address + "/api/explain", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=300) as response:
            return json.load(response)
    finally:
        server.terminate()
        server.wait(300)


def median_of(rows, radius):
    """Every pixel of 4x6 as the majority of those around it; unchanged in a tie."""
    blurred = rows.copy()
    for number, row in enumerate(rows.reshape(-1, 4, 6)):
        for y, x in itertools.product(range(4), range(6)):
            window = row[max(y - radius, 0) : y + radius + 1, max(x - radius, 0) : x + radius + 1]
            if 2 * window.sum() != window.size:
                blurred[number, 6 * y + x] = int(2 * window.sum() > window.size)
    return blurred


@pytest.mark.parametrize("output", ["label", "score"])
@pytest.mark.parametrize("radius", [1, 2])
def test_each_row_against_its_own_blurred_copy(image, radius, output):
    folder, rows = image
    done = command(folder, "compile", "m.json", "-o", "v.bsc", "--class", "all", "--model-output", output)
    assert done.returncode == 0, done.stderr
    text = "blur" if radius == 1 else f"blur:{radius}"
    options = ("--distribution", f"reference:{text}", "--regions", "2x3")
    header, printed = scores_of(folder, "v.bsc", *options)
    circuit = boolshap.load(folder / "v.bsc")
    blurred = median_of(rows, radius)
    assert (blurred != rows).any()
    first = header.index("base_value")
    for row, own, one in zip(rows, blurred, printed, strict=True):
        exact = boolshap.Explainer(circuit, regions=(2, 3), reference=own, class_=1).exact(row)
        assert [exact.base_values[0], *exact.values[0]] == one[first:]
    explainer = boolshap.Explainer(circuit, regions=(2, 3), reference=text, class_=1)
    exact = explainer.exact(rows)
    assert [[base, *scores] for base, scores in zip(exact.base_values, exact.values)] == [row[first:] for row in printed]
    again = explainer(rows)
    np.testing.assert_allclose(again.base_values, [float(row[first]) for row in printed], atol=1e-12)
    with pytest.raises(boolshap.errors.InputError, match="another reference for each row"):
        _ = explainer.expected_value
    answer = served(folder, "v.bsc", {"entities": rows.tolist(), "class": 1, "exact": True}, *options)
    assert answer["base_value"] is None
    found = [[Fraction(number) for number in [one["base_value"], *one["scores"]]] for one in answer["explanations"]]
    assert found == [row[first:] for row in printed]


def test_a_blurred_copy_needs_an_image(image):
    folder, rows = image
    plain = boolshap.compile(boolshap.Model.load(folder / "plain.json"))
    with pytest.raises(boolshap.errors.InputError, match="needs to know how the features are laid out"):
        boolshap.Explainer(plain, reference="blur")
    for text in ("blur:0", "blur:x", "blur:"):
        with pytest.raises(boolshap.errors.InputError, match="radius"):
            boolshap.Explainer(boolshap.load(folder / "c.bsc"), reference=text)
    done = command(folder, "report", "c.bsc", "rows.csv", "-o", "r.html", "--distribution", "reference:blur", "--class", 1)
    assert done.returncode != 0 and "another reference for each row" in done.stderr
    done = command(
        folder, "report", "c.bsc", "rows.csv", "-o", "r.svg", "--figure", "image", "--distribution", "reference:blur"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["features", "columns"])
@pytest.mark.parametrize("given", ["empirical", "constraint"])
def test_scores_given_what_is_known_are_the_same(folder, given, kind):
    done = command(folder, "compile", "m.json", "-o", "v.bsc", "--model-output", "score")
    assert done.returncode == 0, done.stderr
    formula = "p cnf 4 1\n3 4 0\n"
    (folder / "k.cnf").write_text(formula)
    rows = [row for row in ROWS if given == "empirical" or row[2] or row[3]]
    (folder / "some.csv").write_text("\n".join([",".join(FEATURES), *(",".join(map(str, row)) for row in rows), ""]))
    options = ("--distribution", "empirical:rows.csv") if given == "empirical" else ("--constraint", "k.cnf")
    options = (*options, "--players", kind)
    done = command(folder, "explain", "v.bsc", "some.csv", "-o", "s.csv", "--exact", "--class", 2, *options)
    assert done.returncode == 0, done.stderr
    with open(folder / "s.csv") as file:
        printed = [[Fraction(cell) for cell in row] for row in list(csv.reader(file))[1:]]
    circuit = boolshap.load(folder / "v.bsc")
    if given == "empirical":
        explainer = boolshap.Explainer(circuit, ROWS, distribution="empirical", players=kind, class_=2)
    else:
        explainer = boolshap.Explainer(circuit, constraint=formula, players=kind, class_=2)
    exact = explainer.exact(rows)
    found = [[*one] for one in zip(exact.predictions, exact.base_values)]
    assert [[*one, *scores] for one, scores in zip(found, exact.values)] == printed
    np.testing.assert_allclose(explainer.shap_values(rows), [[float(score) for score in row[2:]] for row in printed], atol=1e-12)
    taylor = explainer.exact(rows, index="taylor:2")
    assert [base + sum(numbers) for base, numbers in zip(taylor.base_values, taylor.values)] == [row[0] for row in printed]
    answer = served(folder, "v.bsc", {"entities": rows, "class": 2, "exact": True}, *options)
    for row, one in zip(printed, answer["explanations"], strict=True):
        assert [Fraction(one["prediction"]), Fraction(answer["base_value"]), *map(Fraction, one["scores"])] == row


def test_an_order_for_players_is_the_same_file(image):
    folder, rows = image
    players = {f"x{number}": f"p{number % 8}" for number in range(1, 25)}
    (folder / "p.csv").write_text("\n".join(["feature,player", *(f"{a},{b}" for a, b in players.items()), ""]))
    for given, text in ((players, "p.csv"), ("regions:2x3", "regions:2x3")):
        done = command(folder, "compile", "m.json", "-o", "o.bsc", "--class", 1, "--players", text, "--verify", "--json")
        assert done.returncode == 0, done.stderr
        circuit = boolshap.compile(folder / "m.json", class_=1, players=given, verify=True)
        facts = json.loads(circuit.provenance)
        assert "for the players" in facts["order"] and any("for the players" in note for note in json.loads(done.stdout)["notes"])
        if given == text:
            assert circuit.to_bytes() == (folder / "o.bsc").read_bytes()
        plain = boolshap.compile(folder / "m.json", class_=1)
        with pytest.warns(UserWarning, match="the circuit was reordered"):
            other = boolshap.Explainer(plain, reference="zeros", players=given)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            explainer = boolshap.Explainer(circuit, reference="zeros", players=given)
        assert explainer.exact(rows).values == other.exact(rows).values
    done = command(folder, "compile", "m.json", "-o", "o.bsc", "--class", 1, "--players", "p.csv", "--smooth")
    assert done.returncode != 0 and "choose an order" in done.stderr
    done = command(folder, "compile", "m.json", "-o", "o.bsc", "--class", 1, "--players", "p.csv", "--max-nodes", 3)
    assert done.returncode != 0


def test_images_are_what_shap_plots(image):
    folder, rows = image
    explainer = boolshap.Explainer(boolshap.load(folder / "c.bsc"), regions="2x3", reference="zeros")
    images = explainer.images(rows)
    assert images.values.shape == (3, 4, 6, 1, 3) and images.data.shape == (3, 4, 6, 1)
    assert (images.data.reshape(3, 24) == rows).all()
    whole = explainer.shap_values(rows)
    # The score of a region of 2x2 pixels is divided among them.
    np.testing.assert_allclose(images.values[:, 0, 0, 0] * 4, whole[:, 0], atol=1e-12)
    np.testing.assert_allclose(images.values.sum(axis=(1, 2, 3)), whole.sum(axis=1), atol=1e-12)
    shap = pytest.importorskip("shap")
    plots = pytest.importorskip("matplotlib.pyplot")
    shap.image_plot(list(np.moveaxis(images.values, -1, 0)), images.data, show=False)
    plots.close("all")


def test_a_network_without_a_circuit_is_explained_against_rows(tmp_path):
    chance = np.random.default_rng(1)
    wide = [(chance.choice([-1, 1], size=(13, 60)), np.zeros(13)), (chance.choice([-1, 1], size=(1, 13)), np.zeros(1))]
    players = {f"x{number}": f"p{number % 9}" for number in range(1, 61)}
    row = chance.integers(0, 2, 60)
    explainer = boolshap.Explainer(wide, reference="zeros", players=players)
    exact = explainer.exact(row)
    assert exact.base_values[0] + sum(exact.values[0]) == exact.predictions[0]
    # The explainer is saved as its model.
    explainer.save(tmp_path / "e.zip")
    for again in (boolshap.Explainer.load(tmp_path / "e.zip"), pickle.loads(pickle.dumps(explainer))):
        assert again.exact(row).values == exact.values and again.players == explainer.players
    # The expected scores, from all sets of players, with the network in numpy.
    of_feature = np.array([int(players[f"x{number}"][1:]) for number in range(1, 61)])
    masks = np.arange(512)[:, None] >> of_feature[None, :] & 1
    signs = np.where(masks * row[None, :] > 0, 1, -1)
    for weights, bias in wide:
        signs = np.where(signs @ np.asarray(weights).T + bias >= 0, 1, -1)
    labels = (signs[:, 0] > 0).astype(int)
    names = explainer.players
    for player in range(9):
        score = Fraction(0)
        for mask in (mask for mask in range(512) if not mask >> player & 1):
            size = mask.bit_count()
            weight = Fraction(1, 9 * [1, 8, 28, 56, 70, 56, 28, 8, 1][size])
            score += weight * int(labels[mask | 1 << player] - labels[mask])
        assert exact.values[0][names.index(f"p{player}")] == score


def test_a_part_of_a_network_is_the_same_file(image):
    folder, rows = image
    free = ["x3", "x10", "x17"]
    done = command(folder, "compile", "m.json", "-o", "part.bsc", "--class", 2, "--free", ",".join(free), "--at", "rows.csv:1")
    assert done.returncode == 0, done.stderr
    circuit = boolshap.compile(boolshap.Model.load(folder / "m.json"), class_=2, free=free, at=rows[0])
    assert circuit.to_bytes() == (folder / "part.bsc").read_bytes() and circuit.features == free
    assert circuit.verify(boolshap.Model.load(folder / "m.json")).verified["standing"] == "proved"


REAL = {
    "format": "boolshap model", "version": 2, "features": FEATURES, "classes": None, "ending": "at-least-zero", "provenance": {},
    "steps": [
        {"dense": {"weights": ["1 -1/2 1/3 2", "-1 1 1/7 -1"], "bias": "1/4 -1/8"}}, {"each": "relu"},
        {"dense": {"weights": ["1 -3/2"], "bias": "-9/10"}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("output", ["label", "score"])
def test_networks_of_real_weights_are_the_same(folder, output):
    (folder / "real.json").write_text(json.dumps(REAL))
    given = ("--model-output", output)
    done = command(folder, "compile", "real.json", "-o", "real.bsc", "--verify", *given)
    assert done.returncode == 0, done.stderr
    circuit = boolshap.compile(folder / "real.json", model_output=output, verify=True)
    assert circuit.to_bytes() == (folder / "real.bsc").read_bytes()
    done = command(folder, "explain", "real.json", "rows.csv", "-o", "real.csv", "--exact", *given)
    assert done.returncode == 0, done.stderr
    with open(folder / "real.csv") as file:
        printed = [[Fraction(cell) for cell in row] for row in list(csv.reader(file))[1:]]
    # For labels the model itself is served, compiled on the fly.
    server = server_of(folder, "real.json" if output == "label" else "real.bsc")
    status, answer = next(server)(exact=True)
    next(server, None)
    assert status == 200
    for row, one in zip(printed, answer["explanations"], strict=True):
        base = one.get("base_value", answer["base_value"])
        assert [Fraction(one["prediction"]), Fraction(base), *map(Fraction, one["scores"])] == row
    ours = boolshap.Explainer(circuit)(np.array(ROWS))
    np.testing.assert_allclose(ours.values, [[float(score) for score in row[2:]] for row in printed], atol=1e-12)
