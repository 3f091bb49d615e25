"""The same questions through the command line, the server and this package: answers and refusals are the same."""

import csv
import hashlib
import json
import re
import subprocess
import urllib.error
import urllib.request
from fractions import Fraction
from typing import Any

import pytest
from test_one_door import BINARY, FEATURES, MODEL, ROWS, command

import boolshap
from boolshap.errors import BoolshapError

pytestmark = pytest.mark.skipif(BINARY is None, reason="BOOLSHAP_BINARY does not name the command line")

#: A second network over the same features, and one with an encoding of raw values.
OTHER = {**MODEL, "output": {"argmax": [
    {"weights": "2 -1 1 0", "bias": "0"}, {"weights": "-1 2 0 1", "bias": "0"}, {"weights": "1 0 -1 2", "bias": "1"},
]}}  # fmt: skip
LOAN = {
    "format": "boolshap model", "version": 1, "classes": None, "marginals": None, "hidden": [], "provenance": {},
    "features": ["income", "job=full", "job=none", "job=part", "debt", "sex", "age=..30", "age=30..50", "age=50.."],
    "schema": [
        {"column": "income", "code": {"above": 2000.0}}, {"column": "job", "code": {"categories": ["full", "none", "part"]}},
        {"column": "debt", "code": "boolean"}, {"column": "sex", "code": "boolean"},
        {"column": "age", "code": {"bins": [30.0, 50.0]}},
    ],
    "output": {"step": {"weights": "3 2 -2 1 -2 1 -1 1 0", "need": "7"}},
}  # fmt: skip
PEOPLE = [
    {"income": 1500, "job": "part", "debt": 0, "sex": 0, "age": 41},
    {"income": 2500, "job": "full", "debt": 0, "sex": 1, "age": 33},
    {"income": 2500, "job": "none", "debt": 1, "sex": 0, "age": 60},
    {"income": 900, "job": "none", "debt": 1, "sex": 1, "age": 22},
    {"income": 3100.5, "job": "part", "debt": 1, "sex": 1, "age": 50},
]
CODES = [
    {"player": "income", "code": "I1", "text": "The income is too low"},
    {"player": "job", "code": "J1", "text": "No, or not a full job"},
    {"player": "age", "code": "A1", "text": "The age, \"as it is\""},
]
GROUPS = {feature: "person" if feature in ("sex", "debt") else feature.split("=")[0] for feature in LOAN["features"]}

#: question, settings as in JSON, for the network of three classes
OF_CLASSES: list[tuple[str, dict[str, Any]]] = [
    ("reason", {}),
    ("reason", {"all": True}),
    ("reason", {"all": True, "players": "columns"}),
    ("reason", {"minimum": True, "players": "columns", "class": "dear"}),
    ("reason", {"limit": 2, "prefer": ["large", "old"]}),
    ("reason", {"prefer": "score"}),
    ("reason", {"all": True, "exclude": ["old"]}),
    ("reason", {"all": True, "share": 0.75}),
    ("reason", {"all": True, "constraint": [["sea=near", "sea=far"], ["-sea=near", "-sea=far"]]}),
    ("contrast", {"all": True}),
    ("contrast", {"all": True, "players": "columns"}),
    ("contrast", {"limit": 1, "class": 0}),
    ("attribution", {}),
    ("attribution", {"players": "columns", "class": "fair"}),
    ("counterfactual", {}),
    ("counterfactual", {"players": "columns", "to": "dear"}),
    ("counterfactual", {"to": 0, "limit": 3, "beyond": True}),
    ("counterfactual", {"freeze": ["large"], "only_up": ["old"], "costs": {"sea=near": 0.5, "old": 3}}),
    ("robustness", {}),
    ("robustness", {"radius": 2, "mean": True, "players": "columns"}),
    ("bias", {"protected": ["old"]}),
    ("bias", {"protected": ["sea"], "players": "columns"}),
    ("bias", {"protected": ["old"], "distribution": "product"}),
    ("properties", {}),
    ("properties", {"players": "columns", "class": 1}),
    ("difference", {}),
    ("difference", {"players": "columns"}),
    ("judge", {"claims": [
        {"row": 1, "reason": ["large"]}, {"row": 2, "contrast": ["old", "large"]},
        {"row": 2, "counterfactual": "1001"}, {"row": 3, "counterfactual": {"large": 1}},
    ]}),
]  # fmt: skip
#: for the network with raw values, with columns as players unless the settings say otherwise
OF_LOANS: list[tuple[str, dict[str, Any]]] = [
    ("reason", {"all": True}),
    ("reason", {"all": True, "players": GROUPS}),
    ("contrast", {"all": True, "players": "features"}),
    ("counterfactual", {"freeze": ["sex", "age"]}),
    ("counterfactual", {"only_up": ["age"], "range": {"income": [None, 2200.5]}, "costs": {"job": 2.5}}),
    ("robustness", {"radius": 3}),
    ("bias", {"protected": ["sex"]}),
    ("bias", {"protected": ["sex", "age"]}),
    ("properties", {}),
    ("codes", {"codes": CODES, "against": [1, 4], "top": 3, "actionable": ["income", "job"]}),
    ("codes", {"codes": CODES}),
    ("codes", {"codes": CODES, "against": [0, 1, 2, 3, 4], "approved": True}),
    ("robustness", {"input": "raw"}),
]
METHODS = {
    "reason": "reasons", "contrast": "contrasts", "attribution": "attribution", "counterfactual": "counterfactuals",
    "robustness": "robustness", "bias": "bias", "properties": "properties", "difference": "difference",
    "judge": "judge", "codes": "reason_codes",
}  # fmt: skip


def write(path, header, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ask")
    for name, model in (("classes", MODEL), ("other", OTHER), ("loans", LOAN)):
        (folder / f"{name}.json").write_text(json.dumps(model))
        each = [] if model is LOAN else ["--class", "all"]
        done = command(folder, "compile", f"{name}.json", "-o", f"{name}.bsc", "--verify", *each)
        assert done.returncode == 0, done.stderr
    write(folder / "classes.csv", FEATURES, ROWS)
    write(folder / "loans.csv", list(PEOPLE[0]), [row.values() for row in PEOPLE])
    return folder


@pytest.fixture(scope="module")
def servers(folder):
    found = {}
    for name in ("classes", "loans"):
        line = [str(BINARY), "serve", f"{name}.bsc", f"{name}.csv", "--listen", "127.0.0.1:0"]
        server = subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        found[name] = server, server.stdout.readline().split(" at ")[1].split("/ ")[0]
    yield {name: address for name, (_, address) in found.items()}
    for server, _ in found.values():
        server.terminate()
        server.wait(300)


def rows_of(name):
    return ROWS if name == "classes" else PEOPLE


def by_command(folder, name, question, settings):
    """Asks through the command line, with files for settings that are more than a name or a number."""
    line: list[object] = ["ask", question, f"{name}.bsc"]
    line += ["other.json"] if question == "difference" else []
    line += [] if question == "properties" else [f"{name}.csv"]
    for setting, value in settings.items():
        option = "--" + setting.replace("_", "-")
        file = folder / f"{setting}.csv"
        if value is True:
            line.append(option)
        elif setting == "against":
            write(file, list(PEOPLE[0]), [PEOPLE[row].values() for row in value])
            line += [option, file]
        elif setting == "costs":
            write(file, ["player", "cost"], value.items())
            line += [option, file]
        elif setting == "codes":
            write(file, ["player", "code", "text"], [entry.values() for entry in value])
            line += [option, file]
        elif setting == "players" and isinstance(value, dict):
            write(file, ["feature", "player"], value.items())
            line += [option, file]
        elif setting == "claims":
            (folder / "claims.json").write_text(json.dumps(value))
            line += [option, "claims.json"]
        elif setting == "constraint":
            number = lambda name: -FEATURES.index(name[1:]) - 1 if name[0] == "-" else FEATURES.index(name) + 1
            clauses = [" ".join([*(str(number(literal)) for literal in clause), "0"]) for clause in value]
            (folder / "c.cnf").write_text("\n".join([f"p cnf {len(FEATURES)} {len(clauses)}", *clauses, ""]))
            line += [option, "c.cnf"]
        elif setting == "range":
            text = lambda end: "" if end is None else str(end)
            line += [word for column, (low, high) in value.items() for word in (option, f"{column}={text(low)}..{text(high)}")]
        else:
            line += [word for one in (value if isinstance(value, list) else [value]) for word in (option, one)]
    return command(folder, *line, "--json")


def by_http(servers, name, question, settings):
    fields = {"question": question, "entities": rows_of(name), **settings}
    if question == "properties":
        del fields["entities"]
    if question == "difference":
        fields["other"] = OTHER
    if "against" in settings:
        fields["against"] = [PEOPLE[row] for row in settings["against"]]
    body = json.dumps(fields).encode()
    request = urllib.request.Request(servers[name] + "/api/ask", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=300) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)["error"]


def by_python(folder, name, question, settings):
    settings = dict(settings)
    shared = {key: settings.pop(key) for key in ("players", "constraint", "input") if key in settings}
    if "class" in settings:
        shared["class_"] = settings.pop("class")
    if "against" in settings:
        settings["against"] = columns([PEOPLE[row] for row in settings["against"]])
    if "claims" in settings:
        settings["claims"] = [{**claim, "row": claim["row"] - 1} for claim in settings["claims"]]
    asker = boolshap.Asker(boolshap.load(folder / f"{name}.bsc"), **shared)
    method = getattr(asker, METHODS[question])
    rows = ROWS if name == "classes" else columns(PEOPLE)
    if question == "properties":
        return method()
    if question == "difference":
        return method(folder / "other.json", rows)
    return method(rows, **settings)


def columns(rows):
    return {key: [row[key] for row in rows] for key in rows[0]}


def found_in(question, answer):
    """The content of a Python answer, with the names of the JSON."""
    changes = lambda all: None if all is None else [{"player": c.player, "from": c.before, "to": c.after} for c in all]
    text = lambda bits: None if bits is None else "".join(map(str, bits))
    if question == "properties":
        return [
            {**vars(one), "influence": str(one.influence), "mandatory": [{"class": c, "value": v} for c, v in one.mandatory]}
            for one in answer
        ]
    if question == "difference":
        return [answer.inputs, str(answer.share), text(answer.example), [row + 1 for row in answer.rows]]
    found = []
    for one in answer:
        fields = {**vars(one), "row": one.row + 1}
        assert fields.pop("undecided", None) is None
        if question == "attribution":
            part = lambda p: {**vars(p), **{key: str(getattr(p, key)) for key in ("share", "shapley", "banzhaf")}}
            fields["players"] = [part(player) for player in one.players]
        if question == "counterfactual":
            fields["counterfactuals"] = [changes(c.changes) for c in one.counterfactuals]
            fields["inputs"] = [text(c.bits) for c in one.counterfactuals]
            fields["words"] = [c.words for c in one.counterfactuals]
        if question == "robustness":
            fields["others_at"] = fields.pop("others")
        if question == "bias":
            fields["other"] = text(one.other)
        if question == "judge":
            fields["claims"] = [
                (c.kind, c.claim if c.kind != "counterfactual" else text(c.claim), c.valid, c.minimal, c.nearest,
                 text(c.example), c.problem, changes(c.repaired) if c.kind == "counterfactual" else c.repaired)
                for c in one.claims
            ]  # fmt: skip
        if question == "codes":
            fields["codes"] = [{**vars(code), "score": str(code.score)} for code in one.codes]
            fields["change"], fields["change_words"] = changes(one.change), fields.pop("words")
        found.append(fields)
    return found


def in_json(question, answer):
    if question == "properties":
        return answer["features"]
    if question == "difference":
        return [answer["inputs"], answer["share"], answer["example"], answer["rows"]]
    rows = [dict(row) for row in answer["rows"]]
    for row in rows:
        row.pop("distances", None)
        if question == "robustness":
            row.pop("others", None)
            row.setdefault("others_at", None)
        if question == "judge":
            kind = lambda c: next(kind for kind in ("reason", "contrast", "counterfactual") if kind in c)
            row["claims"] = [
                (kind(c), c[kind(c)], c["valid"], c["minimal"], c.get("nearest"), c.get("example"), c.get("problem"), c["repaired"])
                for c in row["claims"]
            ]  # fmt: skip
    return rows


TABLE = [
    *(("classes", question, settings) for question, settings in OF_CLASSES),
    *(("loans", question, {"players": "columns", **settings}) for question, settings in OF_LOANS),
]


@pytest.mark.parametrize(("name", "question", "settings"), TABLE)
def test_answers_are_the_same(folder, servers, name, question, settings):
    done = by_command(folder, name, question, settings)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    status, answer = by_http(servers, name, question, settings)
    assert status == 200, answer
    for digests in (one["digests"] for one in (printed, answer) if question == "codes"):
        # These come from files on the command line, whose bytes differ.
        digests.pop("codes"), digests.pop("against", None)
    assert answer == printed
    assert len(printed["rows"]) == len(rows_of(name)) or question in ("properties", "difference")
    mine = by_python(folder, name, question, settings)
    assert found_in(question, mine) == in_json(question, printed)
    if question == "robustness":
        assert mine.overall["mean_radius"] == printed["mean_radius"]
        assert {str(radius): count for radius, count in mine.overall["histogram"].items()} == printed["histogram"]
        assert mine.overall["mean_radius_of_inputs"] == Fraction(printed["mean_radius_of_inputs"])
    if question == "bias":
        assert mine.overall["classifier_biased"] == printed["classifier_biased"]
        given = lambda groups: [(one["group"], str(one["probability"]), {str(k): str(v) for k, v in one["shares"].items()}) for one in groups or []]
        assert given(mine.overall["acceptance"]) == given(printed["acceptance"])
        assert mine.overall["inputs"] == printed["inputs"] and mine.overall["biased_rows"] == printed["biased_rows"]
        assert ["".join(map(str, bits)) for bits in mine.overall["witness"] or []] == (printed["witness"] or [])
    if question == "codes":
        assert mine.overall["digests"]["circuit"] == printed["digests"]["circuit"]


def certificates_of(answer):
    rows = [row for row in answer["rows"] if isinstance(row, dict)]
    return [made for one in (*rows, answer) for made in one.get("certificates", [])]


@pytest.mark.parametrize(("name", "question", "settings"), TABLE)
def test_certificates_over_http_are_those_of_the_command_line(folder, servers, tmp_path, name, question, settings):
    settings = {**settings, "certificate": True}
    status, answer = by_http(servers, name, question, settings)
    assert status == 200, answer
    for made in certificates_of(answer):
        content = made.pop("content")
        assert hashlib.sha256(content.encode()).hexdigest() == made["sha256"]
        (tmp_path / made["file"]).write_text(content)
    written = certificates_of(answer)
    assert written
    done = by_command(folder, name, question, {**settings, "certificate": tmp_path / "theirs"})
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert written == certificates_of(printed) and answer.get("not_certified") == printed.get("not_certified")
    checked = boolshap.check(tmp_path, boolshap.load(folder / f"{name}.json"))
    assert len(checked) == len(written) and all(one.valid for one in checked)


def test_every_question_is_in_the_table():
    assert {question for _, question, _ in TABLE} == set(METHODS)


#: circuit, question, settings, the message of all three, and the status and field of the server
REFUSED = [
    ("classes", "reason", {"constraint": [["-large"]]}, "row 2 does not satisfy the constraint: clause -4 is violated", 422, None),
    ("classes", "reason", {"constraint": [["old"], ["-old"]]}, "no input satisfies the constraint", 422, None),
    ("classes", "reason", {"class": 7}, "there is no class 7: the classes are 0 (cheap), 1 (fair), 2 (dear)", 400, "class"),
    ("classes", "counterfactual", {"to": "huge"}, "there is no class 'huge'", 400, "to"),
    ("classes", "counterfactual", {"to": 3}, "there is no class 3", 400, "to"),
    ("classes", "bias", {"protected": ["sex"]}, "protected names 'sex', which is not a feature, column or player", 422, None),
    ("classes", "bias", {"protected": ["sea=near"], "players": "columns"}, "which is a part of 'sea'", 422, None),
    ("classes", "counterfactual", {"costs": {"old": -1}}, "the cost '-1' of 'old' is negative", 422, None),
    ("classes", "counterfactual", {"costs": {"new": 1}}, "there is no player 'new'", 422, None),
    ("classes", "reason", {"limit": 0}, "must be at least 1", 400, "limit"),
    ("classes", "reason", {"share": 1.5}, "'1.5' is not above 0 and at most 1", 400, "share"),
    ("classes", "reason", {"minimum": True, "all": True}, "and all exclude each other", 400, "minimum"),
    ("classes", "counterfactual", {"beyond": True}, "needs a limit", 400, "beyond"),
    ("classes", "judge", {"claims": [{"row": 9, "reason": []}]}, "is not there, and a claim is about it: there are 8 rows", 422, None),
    ("classes", "judge", {"claims": [{"row": 1, "because": []}]}, "claim 1 has none of reason, contrast and counterfactual", 422, None),
    ("classes", "counterfactual", {"only_up": ["sea"], "players": "columns"}, "'sea', whose values have no order", 422, None),
    ("classes", "codes", {"codes": []}, "must be given: which of the classes is favourable", 400, "to"),
    ("loans", "counterfactual", {"range": {"job": [1, 2]}}, "is for a column of numbers", 422, None),
    ("loans", "reason", {"class": 0}, "is for circuits of several classes", 400, "class"),
    ("loans", "codes", {"codes": [{"player": "shoe", "code": "S", "text": ""}]}, "there is no player 'shoe'", 422, None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "question", "settings", "words", "status", "field"), REFUSED)
def test_refusals_are_the_same(folder, servers, name, question, settings, words, status, field):
    done = by_command(folder, name, question, settings)
    assert done.returncode in (1, 2) and words in done.stderr, done.stderr
    code, error = by_http(servers, name, question, settings)
    assert (code, error.get("field")) == (status, field) and words in error["message"], (code, error)
    with pytest.raises(BoolshapError) as caught:
        by_python(folder, name, question, settings)
    # Rows of files are counted from 1, those of Python from 0.
    words = re.sub(r"^row (\d+)", lambda found: f"row {int(found[1]) - 1}", words)
    assert words in str(caught.value) and "--" not in str(caught.value)
    assert isinstance(caught.value, ValueError)
