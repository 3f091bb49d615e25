"""The HTTP API of `boolshap serve`, judged by `boolshap explain` and `predict` on the same rows, by pandas, pyarrow and
prometheus_client; its errors, its door, its limits, and its end."""

import concurrent.futures
import io
import json
import math
import os
import signal
import socket
import threading
import time
from fractions import Fraction

import httpx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from serving import Server, bits_of, switched

ARROW = "application/vnd.apache.arrow.stream"
INDICES = ["shapley", "banzhaf", "interaction"]


def cli_options(distribution, players="features", index="shapley", class_=None):
    """What makes `boolshap explain` play the game that a request names."""
    file = distribution if distribution in ("uniform", "product") else f"{distribution}:d.csv"
    options = ["--distribution", file, "--players", players, "--index", index]
    return options if class_ is None else [*options, "--class", class_]


def agrees(answer, table, exact=True):
    """An answer of the API is a table of `boolshap explain`: to the last bit, or within 1e-12."""
    header, rows = table
    assert header[:2] == ["prediction", "base_value"] and answer["players"] == header[2:]
    assert len(answer["explanations"]) == len(rows) > 0
    assert [one["prediction"] for one in answer["explanations"]] == [int(row[0]) for row in rows]
    found = [[answer["base_value"], *one["scores"]] for one in answer["explanations"]]
    expected = [[float(cell) for cell in row[1:]] for row in rows]
    if exact:
        assert found == expected
    else:
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def records(made, count):
    """Raw rows as JSON objects, missing cells null."""
    frame = made.frame().drop(columns=[made.target]).head(count)
    return json.loads(frame.to_json(orient="records"))


def bit_rows(server, count):
    found = server.get("/api/rows", params={"limit": count}).json()
    return [bits_of(row["bits"]) for row in found["rows"]]


def first_rows(made, count):
    made.frame().head(count).to_csv(made.folder / "first.csv", index=False)
    return "first.csv"


# What is served.


def test_health_and_model_tell_what_the_circuit_is(servers, circuits):
    for name in ("blocks", "irises", "bare", "one"):
        made, server = circuits(name), servers(name)
        response = server.get("/api/health")
        assert (response.status_code, response.json()) == (200, {"status": "ok"})
        info, model = made.boolshap.json("info", made.circuit), server.get("/api/model").json()
        assert [feature["name"] for feature in model["features"]] == info["features"]
        assert sorted(i for column in model["columns"] for i in column["features"]) == list(
            range(len(info["features"]))
        )
        assert model["classes"] == [one["name"] for one in info.get("classes", [])]
        assert model["rows"] == (len(made.frame()) if made.data else 0)
        assert len(model["labels"]) == 2
        if name != "irises":
            assert (model["nodes"], model["edges"]) == (info["nodes"], info["edges"])
        known = (
            {"uniform"}
            | ({"product"} if info.get("marginals") else set())
            | ({"background", "empirical"} if made.data else set())
        )
        assert set(model["distributions"]) == known
        for column in model["columns"]:
            assert column["one_hot"] == (len(column["features"]) > 1)


def test_the_page_data_of_every_game_is_of_that_game(servers, circuits):
    for name in ("blocks", "irises"):
        made, server = circuits(name), servers(name)
        model = server.get("/api/model").json()
        for distribution in model["distributions"]:
            for players in model["players"]:
                for number in range(len(model["classes"])) or [None]:
                    query = {"distribution": distribution, "players": players} | (
                        {} if number is None else {"class": number}
                    )
                    response = server.get("/api/page", params=query)
                    assert response.status_code == 200, (name, query, response.text)
                    page = response.json()
                    assert page["live"] is True and page["kinds"] is None and page["table"] is None
                    assert page["game"] | {"words": 0} == {
                        "distribution": distribution,
                        "players": players,
                        "class": number,
                        "words": 0,
                    }
                    header, rows = made.explain(*cli_options(distribution, players, class_=number))
                    scores = np.array([row[2:] for row in rows], dtype=float)
                    assert page["players"] == header[2:]
                    assert page["base_value"] == pytest.approx(float(rows[0][1]), abs=1e-12)
                    np.testing.assert_allclose(page["importance"], np.abs(scores).mean(axis=0), rtol=0, atol=1e-12)
                    assert [page["players"][player].split("=")[0] for player in page["player_of"]] == [
                        feature["name"].split("=")[0] for feature in page["features"]
                    ]
                    assert all(
                        page["figures"][figure].startswith("<svg")
                        for figure in ("importance", "beeswarm", "interactions")
                    )


def test_the_page_and_its_parts_have_the_right_types(servers):
    server = servers("blocks")
    for path, kind in (
        ("/", "text/html"),
        ("/page.js", "text/javascript"),
        ("/page.css", "text/css"),
        ("/api/openapi.json", "application/json"),
    ):
        response = server.get(path)
        assert (
            response.status_code == 200
            and response.headers["content-type"].startswith(kind)
            and len(response.content) > 100
        )
        assert response.content.decode("utf-8")
    page = server.get("/").text
    start = page.index('id="page-data">') + len('id="page-data">')
    embedded = json.loads(page[start : page.index("</script>", start)])
    assert embedded == server.get("/api/page").json()
    document = server.get("/api/openapi.json").json()
    assert document["openapi"].startswith("3.1") and {"/api/explain", "/api/rows", "/api/page"} <= set(
        document["paths"]
    )


# Rows.


def listed(server, **query):
    response = server.get("/api/rows", params=query)
    assert response.status_code == 200, response.text
    return response.json()


def all_listed(server, **query):
    """All rows found, page by page."""
    rows, offset = [], 0
    while True:
        found = listed(server, offset=offset, limit=170, **query)
        assert found["offset"] == offset and len(found["rows"]) == min(170, max(0, found["total"] - offset))
        rows += found["rows"]
        offset += 170
        if offset >= found["total"]:
            return rows


@pytest.mark.parametrize("name", ["blocks", "irises"])
def test_rows_carry_the_cells_labels_and_predictions_of_the_file(servers, circuits, name):
    made, server = circuits(name), servers(name)
    frame, names = made.frame(), [column["name"] for column in listed(servers(name))["columns"]]
    rows = all_listed(server)
    assert [row["row"] for row in rows] == list(range(1, len(frame) + 1)) and set(names) == set(frame.columns)
    for column in listed(server)["columns"]:
        assert column["numeric"] == pd.api.types.is_numeric_dtype(frame[column["name"]])
    expected = json.loads(frame[names].to_json(orient="values", double_precision=15))
    assert [row["cells"] for row in rows] == expected
    # The bits are those by which the circuit gives the scores of the raw row.
    options = ["--class", "0"] if name == "irises" else []
    assert made.explain_bits([bits_of(row["bits"]) for row in rows], *options) == made.explain(*options)
    for number in range(3) if name == "irises" else [None]:
        query = {} if number is None else {"class": number}
        rows = all_listed(server, **query)
        if number is None:
            labels = (frame[made.target] > frame[made.target].mean()).astype(int)
            chosen = made.explain()[1]
        else:
            labels = (frame[made.target] == server.get("/api/model").json()["classes"][number]).astype(int)
            chosen = made.explain("--class", number)[1]
        assert [row["label"] for row in rows] == labels.tolist()
        assert [row["prediction"] for row in rows] == [int(row[0]) for row in chosen]


@pytest.mark.parametrize("descending", [False, True])
def test_rows_sort_as_pandas_sorts_them_missing_cells_last(servers, circuits, descending):
    made, server = circuits("blocks"), servers("blocks")
    frame = made.frame()
    for column in frame.columns:
        order = frame.sort_values(column, kind="stable", ascending=not descending, na_position="last").index + 1
        found = [row["row"] for row in all_listed(server, sort=column, descending=str(descending).lower())]
        assert found == order.tolist(), column
    rows = pd.DataFrame(all_listed(server))
    for column in ("row", "prediction", "label"):
        order = rows.sort_values(column, kind="stable", ascending=not descending).row
        found = [row["row"] for row in all_listed(server, sort=column, descending=str(descending).lower())]
        assert found == order.tolist(), column


@pytest.mark.parametrize(
    "search", ["inland", "NEAR", "<1h", "0.5", "-1.2", "17", " bay", "no such text", "INLAND ", "−0.4"]
)
def test_search_finds_the_rows_one_of_whose_cells_contains_the_text(servers, circuits, search):
    made, server = circuits("blocks"), servers("blocks")
    frame = made.frame()
    wanted = search.strip().lower().replace("−", "-")
    text = lambda cell: (
        ""
        if pd.isna(cell)
        else np.format_float_positional(cell, trim="-") if isinstance(cell, (int, float)) else cell.lower()
    )
    hits = frame.map(text).apply(lambda column: column.str.contains(wanted, regex=False)).any(axis=1)
    by_number = pd.Series(frame.index + 1).astype(str).str.contains(wanted, regex=False)
    found = {row["row"] for row in all_listed(server, search=search)}
    # Whether a row's own number counts is left open, but nothing else may be found.
    assert set(frame.index[hits] + 1) <= found <= set(frame.index[hits | by_number] + 1)
    sorted_rows = all_listed(server, search=search, sort="income", descending="true")
    incomes = [row["cells"][[c["name"] for c in listed(server)["columns"]].index("income")] for row in sorted_rows]
    assert {row["row"] for row in sorted_rows} == found and incomes == sorted(incomes, reverse=True)


def test_pages_beyond_the_end_are_empty(servers):
    for offset in (600, 10**6, 10**12):
        found = listed(servers("blocks"), offset=offset)
        assert (found["total"], found["rows"]) == (600, [])
    assert listed(servers("bare")) | {"columns": []} == {"total": 0, "offset": 0, "rows": [], "columns": []}


# Explanations.


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("players", ["features", "columns"])
@pytest.mark.parametrize("distribution", ["uniform", "product", "background", "empirical"])
def test_scores_are_those_of_the_command_for_every_game(servers, circuits, distribution, players, index):
    made, server = circuits("blocks"), servers("blocks")
    data, options = first_rows(made, 12), cli_options(distribution, players, index)
    asked = {"distribution": distribution, "players": players, "index": index}
    bits, raw = bit_rows(server, 12), records(made, 12)
    names = [feature["name"] for feature in server.get("/api/model").json()["features"]]
    exact = distribution in ("uniform", "product")
    table = made.explain(*options, data=data)
    for entities in (bits, raw, [dict(zip(names, row)) for row in bits], [[bool(bit) for bit in row] for row in bits]):
        agrees(server.explain(entities, **asked), table, exact)
    header, rows = made.explain(*options, "--exact", data=data)
    answer = server.explain(bits, exact=True, **asked)
    assert answer["players"] == header[2:]
    assert [[str(one["prediction"]), answer["base_value"], *one["scores"]] for one in answer["explanations"]] == rows
    if index == "shapley":
        for one in answer["explanations"]:
            assert Fraction(answer["base_value"]) + sum(map(Fraction, one["scores"])) == one["prediction"]


@pytest.mark.parametrize("distribution", ["uniform", "product", "background", "empirical"])
def test_every_class_of_several_has_its_own_scores(servers, circuits, distribution):
    made, server = circuits("irises"), servers("irises")
    data, bits, raw = first_rows(made, 10), bit_rows(server, 10), records(made, 10)
    for number in range(3):
        table = made.explain(*cli_options(distribution, class_=number), data=data)
        for entities in (bits, raw):
            agrees(
                server.explain(entities, distribution=distribution, **{"class": number}),
                table,
                distribution in ("uniform", "product"),
            )
    first = server.explain(bits, distribution=distribution)
    assert first == server.explain(bits, distribution=distribution, **{"class": 0})
    ones = np.array(
        [
            [one["prediction"] for one in server.explain(bits, **{"class": number})["explanations"]]
            for number in range(3)
        ]
    )
    assert (ones.sum(axis=0) == 1).all(), "one class and no other"


@pytest.mark.parametrize("name", ["hundred", "one", "constant", "bare", "hostile"])
def test_circuits_at_the_edges_are_explained_as_the_command_explains_them(servers, circuits, name):
    made, server = circuits(name), servers(name)
    features = len(server.get("/api/model").json()["features"])
    entities = np.random.default_rng(3).integers(0, 2, (9, features)).tolist()
    for index in INDICES if features > 1 else INDICES[:2]:
        agrees(server.explain(entities, index=index), made.explain_bits(entities, "--index", index))


def arrow_bytes(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def arrow_table(response):
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == ARROW
    return pa.ipc.open_stream(response.content).read_all()


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("kind", ["raw", "bits", "large", "dictionary"])
def test_arrow_streams_give_what_json_gives(servers, circuits, kind, index):
    made, server = circuits("blocks"), servers("blocks")
    query = {"distribution": "product", "players": "columns", "index": index}
    names = [feature["name"] for feature in server.get("/api/model").json()["features"]]
    bits = bit_rows(server, 30)
    raw = pa.Table.from_pandas(made.frame().drop(columns=["value"]).head(30), preserve_index=False)
    if kind == "bits":
        table = pa.table({name: pa.array([row[i] for row in bits], pa.int8()) for i, name in enumerate(names)})
    elif kind == "large":
        table = raw.cast(
            pa.schema([(f.name, pa.large_string() if f.name == "proximity" else f.type) for f in raw.schema])
        )
    elif kind == "dictionary":
        column = raw.schema.get_field_index("proximity")
        table = raw.set_column(
            column, "proximity", raw["proximity"].combine_chunks().cast(pa.string()).dictionary_encode()
        )
    else:
        table = raw
    expected = server.explain(bits, **query)
    send = lambda **headers: server.client.post(
        "/api/explain", params=query, content=arrow_bytes(table), headers={"Content-Type": ARROW} | headers
    )
    assert send().json() == expected
    found = arrow_table(send(Accept=ARROW))
    assert found.column_names == ["prediction", "base_value", *expected["players"]]
    rows = [[one["prediction"], expected["base_value"], *one["scores"]] for one in expected["explanations"]]
    assert [list(row.values()) for row in found.to_pylist()] == rows
    # JSON in, Arrow out.
    answer = server.client.post("/api/explain", json={"entities": bits} | query, headers={"Accept": ARROW})
    assert arrow_table(answer).equals(found)


def test_arrow_of_several_batches_and_of_fractions(servers, circuits):
    server = servers("blocks")
    names = [feature["name"] for feature in server.get("/api/model").json()["features"]]
    bits = bit_rows(server, 20)
    table = pa.table({name: pa.array([bool(row[i]) for row in bits]) for i, name in enumerate(names)})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=7):
            writer.write_batch(batch)
    response = server.client.post(
        "/api/explain",
        params={"exact": "true"},
        content=sink.getvalue(),
        headers={"Content-Type": ARROW, "Accept": ARROW},
    )
    expected = server.explain(bits, exact=True)
    rows = [[one["prediction"], expected["base_value"], *one["scores"]] for one in expected["explanations"]]
    assert [list(row.values()) for row in arrow_table(response).to_pylist()] == rows


@pytest.mark.parametrize("name", ["blocks", "irises", "bare", "hundred", "one", "constant"])
def test_flips_are_the_single_switches_that_change_the_prediction(servers, name):
    server = servers(name)
    model = server.get("/api/model").json()
    features = len(model["features"])
    rng = np.random.default_rng(4)
    entities = (rng.random((6, features)) < rng.choice([0.2, 0.5, 0.97], (6, 1))).astype(int).tolist()
    if model["rows"]:
        entities += bit_rows(server, 5)
    seen = 0
    for number in range(len(model["classes"])) or [None]:
        options = {} if number is None else {"class": number}
        answer = server.explain(entities, flips=True, **options)["explanations"]
        for entity, one in zip(entities, answer):
            others = [switched(entity, feature, model["columns"]) for feature in range(features)]
            predictions = [other["prediction"] for other in server.explain(others, **options)["explanations"]]
            assert one["flips"] == [feature for feature in range(features) if predictions[feature] != one["prediction"]]
            seen += len(one["flips"])
    assert (seen > 0) == (name != "constant")
    assert "flips" not in server.explain(entities[:1])["explanations"][0]


def test_one_entity_has_the_same_scores_alone_and_among_others(servers):
    server = servers("blocks")
    bits = bit_rows(server, 300)
    for options in ({}, {"distribution": "background"}, {"players": "columns", "index": "banzhaf"}):
        together = server.explain(bits, **options)
        for k in (0, 17, 299):
            alone = server.explain([bits[k]], **options)
            assert (
                alone["explanations"] == [together["explanations"][k]] and alone["base_value"] == together["base_value"]
            )


# Errors.

GOOD = [0] * 11


def raw(**changes):
    good = {"age": 3, "rooms": 10, "bedrooms": 2, "income": 1.5, "drift": 0, "proximity": "INLAND", "new": 1}
    return {key: value for key, value in (good | changes).items() if value is not ...}


BODIES = [
    # A body, its status, the field that is wrong (None: no single one).
    (b"", 400, None),
    (b"{", 400, None),
    (b"\xff\xfe", 400, None),
    (b"[]", 400, None),
    (b"null", 400, None),
    (b"7", 400, None),
    (b'{"entities": [[0,', 400, None),
    (b"[" * 100_000, 400, None),
    (b'{"entities": NaN}', 400, None),
    ({}, 400, "entities"),
    ({"entities": 7}, 400, "entities"),
    ({"entities": None}, 400, "entities"),
    ({"entities": "0110"}, 400, "entities"),
    ({"entities": {}}, 400, "entities"),
    ({"entities": []}, 400, "entities"),
    ({"entities": [7]}, 400, "entities[0]"),
    ({"entities": ["01"]}, 400, "entities[0]"),
    ({"entities": [None]}, 400, "entities[0]"),
    ({"entities": [[]]}, 400, "entities[0]"),
    ({"entities": [GOOD, GOOD[1:]]}, 400, "entities[1]"),
    ({"entities": [GOOD + [0]]}, 400, "entities[0]"),
    ({"entities": [GOOD, GOOD, [0, 0, 7, *GOOD[3:]]]}, 400, "entities[2][2]"),
    ({"entities": [[0, None, *GOOD[2:]]]}, 400, "entities[0][1]"),
    ({"entities": [["1", *GOOD[1:]]]}, 400, "entities[0][0]"),
    ({"entities": [[0.5, *GOOD[1:]]]}, 400, "entities[0][0]"),
    ({"entities": [[-1, *GOOD[1:]]]}, 400, "entities[0][0]"),
    ({"entities": [[1e300, *GOOD[1:]]]}, 400, "entities[0][0]"),
    ({"entities": [[[0], *GOOD[1:]]]}, 400, "entities[0][0]"),
    ({"entities": [GOOD, raw()]}, 400, "entities[1]"),
    ({"entities": [raw(), GOOD]}, 400, "entities[1]"),
    ({"entities": [{}]}, 400, "entities"),
    ({"entities": [raw(income=...)]}, 400, "entities"),
    ({"entities": [raw(), raw(income=...)]}, 400, "entities[1].income"),
    ({"entities": [raw(income="much")]}, 400, "entities[0].income"),
    ({"entities": [raw(), raw(income=[1])]}, 400, "entities[1].income"),
    ({"entities": [raw(income={"a": 1})]}, 400, "entities[0].income"),
    ({"entities": [raw(new=3)]}, 400, "entities[0].new"),
    ({"entities": [GOOD], "foo": 1}, 400, "foo"),
    ({"entities": [GOOD], "Flips": True}, 400, "Flips"),
    ({"entities": [GOOD], "class": "x"}, 400, "class"),
    ({"entities": [GOOD], "class": -1}, 400, "class"),
    ({"entities": [GOOD], "class": 1}, 400, "class"),
    ({"entities": [GOOD], "class": 0.5}, 400, "class"),
    ({"entities": [GOOD], "class": 1e30}, 400, "class"),
    ({"entities": [GOOD], "class": None}, 400, "class"),
    ({"entities": [GOOD], "index": "owen"}, 400, "index"),
    ({"entities": [GOOD], "index": 1}, 400, "index"),
    ({"entities": [GOOD], "exact": "yes"}, 400, "exact"),
    ({"entities": [GOOD], "exact": 1}, 400, "exact"),
    ({"entities": [GOOD], "flips": None}, 400, "flips"),
    ({"entities": [GOOD], "distribution": "normal"}, 400, "distribution"),
    ({"entities": [GOOD], "distribution": 5}, 400, "distribution"),
    ({"entities": [GOOD], "distribution": "background:/etc/passwd"}, 400, "distribution"),
    ({"entities": [GOOD], "players": "nobody"}, 400, "players"),
    ({"entities": [GOOD], "players": ["features"]}, 400, "players"),
    # A column of intervals or categories none of which holds is no player's value.
    ({"entities": [GOOD], "players": "columns"}, 422, None),
]


def is_error(response, status, field):
    """An error is JSON of one shape, its sentence begins with the field, and it tells nothing of the machine."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    said = response.json()
    assert set(said) == {"error"} and set(said["error"]) <= {"message", "field"}
    message = said["error"]["message"]
    assert isinstance(message, str) and 5 < len(message) < 2000 and "\n" not in message.strip()
    assert not any(word in message for word in ("panicked", ".rs:", "/work/", "/root", "/tmp/", "unwrap"))
    if field is not None:
        assert said["error"].get("field") == field and message.startswith(field)
    return message


@pytest.mark.parametrize("body, status, field", BODIES, ids=lambda value: repr(value)[:60])
def test_a_wrong_body_is_told_by_its_field(servers, body, status, field):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = servers("blocks").client.post(
        "/api/explain", content=content, headers={"Content-Type": "application/json"}
    )
    is_error(response, status, field)


@pytest.mark.parametrize(
    "method, path, status, field",
    [
        ("GET", "/api/rows?limit=0", 400, "limit"),
        ("GET", "/api/rows?limit=501", 400, "limit"),
        ("GET", "/api/rows?limit=x", 400, "limit"),
        ("GET", "/api/rows?limit=-1", 400, "limit"),
        ("GET", "/api/rows?limit=", 400, "limit"),
        ("GET", "/api/rows?offset=-1", 400, "offset"),
        ("GET", "/api/rows?offset=1e3", 400, "offset"),
        ("GET", "/api/rows?offset=99999999999999999999999", 400, "offset"),
        ("GET", "/api/rows?sort=nothing", 400, "sort"),
        ("GET", "/api/rows?descending=maybe", 400, "descending"),
        ("GET", "/api/rows?colour=red", 400, "colour"),
        ("GET", "/api/rows?class=9", 400, "class"),
        ("GET", "/api/rows?distribution=normal", 400, "distribution"),
        ("GET", "/api/rows?search=%FF%FE&limit=0", 400, None),
        ("GET", "/api/page?distribution=normal", 400, "distribution"),
        ("GET", "/api/page?players=nobody", 400, "players"),
        ("GET", "/api/page?class=-1", 400, "class"),
        ("GET", "/api/page?class=x", 400, "class"),
        ("GET", "/api/page?class=1", 400, "class"),
        ("GET", "/api/page?limit=5", 400, "limit"),
        ("GET", "/api/nothing", 404, None),
        ("GET", "/api", 404, None),
        ("GET", "/../../etc/passwd", 404, None),
        ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404, None),
        ("GET", "/page.html", 404, None),
        ("POST", "/api/health", 405, None),
        ("DELETE", "/api/rows", 405, None),
        ("GET", "/api/explain", 405, None),
        ("PUT", "/api/explain", 405, None),
        ("POST", "/", 405, None),
        ("OPTIONS", "/api/explain", 405, None),
    ],
)
def test_a_wrong_query_path_or_method_is_told(servers, method, path, status, field):
    response = servers("blocks").client.request(method, path)
    is_error(response, status, field)
    if status == 405:
        assert response.headers["allow"]


def test_a_wrong_content_is_told(servers):
    client = servers("blocks").client
    good = json.dumps({"entities": [GOOD]}).encode()
    for kind in ("text/plain", "application/xml", "", "application/jsonp", "multipart/form-data; boundary=x"):
        is_error(client.post("/api/explain", content=good, headers={"Content-Type": kind}), 415, "Content-Type")
    assert (
        client.post(
            "/api/explain", content=good, headers={"Content-Type": "Application/JSON; charset=utf-8"}
        ).status_code
        == 200
    )
    json_type = {"Content-Type": "application/json"}
    is_error(client.post("/api/explain?index=shapley", content=good, headers=json_type), 400, "index")
    arrow = {"Content-Type": ARROW}
    for wrong in (b"", b"ARROW1", good, b"\xff\xff\xff\xff" * 10, arrow_bytes(pa.table({"a": [1]}))[:-20]):
        is_error(client.post("/api/explain", content=wrong, headers=arrow), 400, None)
    table = arrow_bytes(pa.table({name: [value] for name, value in raw().items()}))
    assert client.post("/api/explain", content=table, headers=arrow).status_code == 200
    for query, field in (
        ("exact=maybe", "exact"),
        ("index=owen", "index"),
        ("entities=1", "entities"),
        ("class=x", "class"),
        ("players=x", "players"),
    ):
        is_error(client.post(f"/api/explain?{query}", content=table, headers=arrow), 400, field)
    is_error(client.post("/api/explain", content=arrow_bytes(pa.table({"age": [1]})), headers=arrow), 400, "entities")
    wrong = pa.table({name: ["much" if name == "income" else value] for name, value in raw().items()})
    is_error(client.post("/api/explain", content=arrow_bytes(wrong), headers=arrow), 400, "entities[0].income")
    nested = pa.table({name: [[1]] if name == "income" else [value] for name, value in raw().items()})
    is_error(client.post("/api/explain", content=arrow_bytes(nested), headers=arrow), 400, "entities[0].income")


def test_bodies_and_rows_beyond_the_limits_are_refused(circuits):
    made = circuits("blocks")
    with Server(made.boolshap, made.circuit, "--max-entities", 10, "--max-body", 1) as server:
        assert len(server.explain([GOOD] * 10)["explanations"]) == 10
        post = lambda content, **headers: server.client.post(
            "/api/explain", content=content, headers={"Content-Type": "application/json"} | headers
        )
        is_error(post(json.dumps({"entities": [GOOD] * 11}).encode()), 413, "entities")
        limit = 1 << 20
        good = json.dumps({"entities": [GOOD]}).encode()
        assert post(good.ljust(limit)).status_code == 200
        is_error(post(good.ljust(limit + 1)), 413, None)
        # Without a length in front as well.
        is_error(post(iter([good.ljust(limit), b" "])), 413, None)
        table = pa.table({name: [value] * 11 for name, value in raw().items()})
        is_error(post(arrow_bytes(table), **{"Content-Type": ARROW}), 413, "entities")
        assert server.get("/api/health").status_code == 200


# The door.

ROUTES = [
    "/",
    "/page.js",
    "/page.css",
    "/api/health",
    "/api/model",
    "/api/page",
    "/api/rows",
    "/api/openapi.json",
    "/metrics",
    "/api/explain",
    "/nothing",
]


def test_a_token_opens_every_route_and_nothing_else_does(circuits):
    made = circuits("one")
    (made.folder / "token.txt").write_text("s3cret.-_~\n")
    for options in (["--token", "s3cret.-_~"], ["--token-file", "token.txt"]):
        with Server(made.boolshap, made.circuit, "d.csv", *options) as server:
            ask = lambda path, **headers: server.new_client().get(path, headers=headers)
            for path in ROUTES:
                for headers in (
                    {},
                    {"Authorization": "Bearer wrong"},
                    {"Authorization": "Bearer s3cret.-_"},
                    {"Authorization": "Bearer s3cret.-_~~"},
                    {"Authorization": "Basic s3cret.-_~"},
                    {"Authorization": "s3cret.-_~"},
                    {"Authorization": "Bearer"},
                    {"Cookie": "boolshap_token=wrong"},
                    {"Cookie": "other=s3cret.-_~"},
                ):
                    response = ask(path, **headers)
                    is_error(response, 401, None)
                    assert response.headers["www-authenticate"].startswith("Bearer")
                expected = {"/api/explain": 405, "/nothing": 404}.get(path, 200)
                assert ask(path, Authorization="Bearer s3cret.-_~").status_code == expected, path
            is_error(ask("/?token=wrong"), 401, None)
            is_error(ask("/api/model?token=s3cret.-_~"), 401, None)
            browser = server.new_client()
            welcome = browser.get("/?token=s3cret.-_~")
            assert (welcome.status_code, welcome.headers["location"]) == (303, "/")
            cookie = welcome.headers["set-cookie"]
            assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "s3cret" not in welcome.text
            for path in ("/", "/page.js", "/api/model", "/metrics"):
                assert browser.get(path).status_code == 200
            answer = browser.post("/api/explain", json={"entities": [[1]]})
            assert answer.status_code == 200 and answer.json()["explanations"][0]["prediction"] == 1


def test_without_a_token_only_loopback_is_listened_on(circuits):
    made = circuits("one")
    for address in ("0.0.0.0:0", "[::]:0"):
        said = made.boolshap.fails("serve", made.circuit, "--listen", address)
        assert "token" in said and address.rsplit(":", 1)[0] in said and len(said.strip().splitlines()) == 1
    for token in ("", "a b", "a;b", "ä", "a\tb"):
        assert "token" in made.boolshap.fails("serve", made.circuit, "--token", token)
    (made.folder / "empty.txt").write_text("\n")
    assert "token" in made.boolshap.fails("serve", made.circuit, "--token-file", "empty.txt")
    assert "missing.txt" in made.boolshap.fails("serve", made.circuit, "--token-file", "missing.txt")
    assert "nowhere.bsc" in made.boolshap.fails("serve", "nowhere.bsc", "--listen", "127.0.0.1:0")
    assert "nowhere.csv" in made.boolshap.fails("serve", made.circuit, "nowhere.csv", "--listen", "127.0.0.1:0")
    assert "nonsense" in made.boolshap.fails("serve", made.circuit, "--listen", "nonsense")
    with Server(made.boolshap, made.circuit, "--token", "abc", listen="0.0.0.0:0") as server:
        url = f"http://127.0.0.1:{server.port}/api/health"
        assert httpx.get(url, trust_env=False).status_code == 401
        assert (
            httpx.get(url, headers={"Authorization": "Bearer abc", "Host": "box.example"}, trust_env=False).status_code
            == 200
        )
        with socket.create_server(("127.0.0.1", 0)) as taken:
            said = made.boolshap.fails("serve", made.circuit, "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
            assert "in use" in said


def test_a_foreign_host_is_refused_on_every_route(servers):
    server = servers("blocks")
    for host in (
        "evil.example",
        f"evil.example:{server.port}",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "10.0.0.1",
        "",
        "[::2]",
    ):
        for path in ROUTES:
            is_error(server.get(path, headers={"Host": host}), 403, None)
        is_error(server.client.post("/api/explain", json={"entities": [GOOD]}, headers={"Host": host}), 403, None)
    for host in ("localhost", f"LocalHost:{server.port}", f"127.0.0.1:{server.port}", "[::1]:80", "127.8.8.8"):
        assert server.get("/api/health", headers={"Host": host}).status_code == 200


def test_every_answer_carries_the_headers_that_protect_the_page(servers):
    server = servers("blocks")
    answers = [server.get(path) for path in ROUTES]
    answers += [
        server.get("/", headers={"Host": "evil.example"}),
        server.client.post("/api/explain", content=b"{", headers={"Content-Type": "application/json"}),
    ]
    answers += [
        server.client.post("/api/explain", json={"entities": [GOOD]}, headers={"Origin": "http://evil.example"})
    ]
    answers += [
        server.client.options(
            "/api/explain", headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
        )
    ]
    assert {answer.status_code for answer in answers} >= {200, 400, 403, 404, 405}
    for answer in answers:
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
        assert (
            policy["default-src"] == "'none'" and policy["script-src"] == "'self'" and policy["style-src"] == "'self'"
        )
        assert policy["connect-src"] == "'self'" and all(
            policy[name] == "'none'" for name in ("frame-ancestors", "base-uri", "form-action")
        )
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert (
            answer.headers["x-content-type-options"] == "nosniff" and answer.headers["referrer-policy"] == "no-referrer"
        )
        assert not any(
            name.startswith("access-control-") for name in answer.headers
        ), "no other site may read an answer"


# Metrics.


def metrics(server):
    response = server.get("/metrics")
    assert response.headers["content-type"].startswith("application/openmetrics-text")
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(response.text) for sample in family.samples}


def test_metrics_are_openmetrics_and_count_what_was_asked(circuits):
    made = circuits("one")
    with Server(made.boolshap, made.circuit, "d.csv") as server:
        before = metrics(server)
        for _ in range(3):
            server.get("/api/health")
        server.explain([[0], [1], [1]])
        server.explain([[1]])
        for path in ("/nothing", "/nowhere", "/api/rows?limit=0"):
            server.get(path)
        after = metrics(server)
    change = lambda name, **labels: after[name, tuple(sorted(labels.items()))] - before.get(
        (name, tuple(sorted(labels.items()))), 0
    )
    requests = lambda route, status: change("boolshap_requests_total", route=route, status=str(status))
    assert (
        requests("/api/health", 200),
        requests("/api/explain", 200),
        requests("other", 404),
        requests("/api/rows", 400),
    ) == (3, 2, 2, 1)
    assert change("boolshap_entities_total") == 4
    assert change("boolshap_explain_seconds_count") == 2 and change("boolshap_explain_seconds_sum") > 0
    assert after["boolshap_connections", ()] >= 1 and after["boolshap_computing", ()] == 0


# Limits on time, slow clients, and the end.


@pytest.fixture(scope="module")
def heavy(circuits):
    """A circuit, and requests for exact interactions of so many different entities of it."""
    made, rng = circuits("hostile"), np.random.default_rng(8)

    def body(rows):
        entities = rng.permutation(1 << 16)[:rows, None] >> np.arange(16) & 1
        return {"entities": entities.tolist(), "index": "interaction", "exact": True}

    return made, body


def seconds_for(server, body):
    start = time.monotonic()
    response = server.client.post("/api/explain", json=body)
    assert response.status_code == 200, response.text[:300]
    return time.monotonic() - start


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)


def computing(server):
    with server.new_client() as client:
        text = client.get("/metrics").text
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith("boolshap_computing "))


def test_heavy_work_does_not_hold_up_small_requests(heavy):
    made, body = heavy
    with Server(made.boolshap, made.circuit) as server:
        one = seconds_for(server, body(1))
        rows = max(2, math.ceil(3 / one))
        small = server.new_client()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            work = [pool.submit(lambda: server.new_client().post("/api/explain", json=body(rows))) for _ in range(4)]
            wait_until(lambda: computing(server) >= 1)
            waits = {"health": [], "explain": []}
            while not all(one.done() for one in work) and len(waits["health"]) < 300:
                for name, ask in (
                    ("health", lambda: small.get("/api/health")),
                    ("explain", lambda: small.post("/api/explain", json={"entities": [[1] * 16]})),
                ):
                    start = time.monotonic()
                    assert ask().status_code == 200
                    waits[name].append(time.monotonic() - start)
            assert len(waits["health"]) >= 20, "there was time to ask"
            # Half a millisecond alone; here all cores are at work and shared with other programs.
            for name, times in waits.items():
                assert np.median(times) < 0.1 and max(times) < 2, (name, np.median(times), max(times))
            assert all(one.result().status_code == 200 for one in work)


def test_requests_beyond_the_time_limit_and_beyond_the_queue_are_told_so(heavy):
    made, body = heavy
    with Server(made.boolshap, made.circuit, "--max-time", 1) as server:
        long = body(2000)
        start = time.monotonic()
        is_error(server.client.post("/api/explain", json=long), 504, None)
        assert time.monotonic() - start < 10
        many = 9 * os.cpu_count() + 6
        encoded = json.dumps(long).encode()
        with concurrent.futures.ThreadPoolExecutor(many) as pool:
            send = lambda _: server.new_client().post(
                "/api/explain", content=encoded, headers={"Content-Type": "application/json"}
            )
            answers = list(pool.map(send, range(many)))
        assert {answer.status_code for answer in answers} <= {503, 504} and any(
            answer.status_code == 503 for answer in answers
        )
        for answer in answers:
            is_error(answer, answer.status_code, None)
        wait_until(lambda: computing(server) == 0)
        assert server.explain([[1] * 16])["explanations"]


def test_one_entity_that_takes_too_long_is_given_up(circuits):
    made = circuits("hundred")
    with Server(made.boolshap, made.circuit, "--max-time", 1) as server:
        is_error(
            server.client.post("/api/explain", json={"entities": [[0] * 100], "index": "interaction", "exact": True}),
            504,
            None,
        )
        wait_until(lambda: computing(server) == 0, 3)
        before = processor_seconds(server)
        time.sleep(1)
        assert processor_seconds(server) - before < 0.5, "nobody waits for it, but it goes on"


def processor_seconds(server):
    with open(f"/proc/{server.process.pid}/stat") as file:
        user, system = file.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=30)


def test_slow_clients_do_not_hold_up_others(circuits):
    made = circuits("one")
    with Server(made.boolshap, made.circuit, "--max-time", 1) as server:
        head = b"POST /api/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
        slow = [connect(server) for _ in range(60)]
        for number, one in enumerate(slow):
            one.sendall([b"GET /api/hea", b"GET /api/health HTTP/1.1\r\nHost: loc", head + b'{"entit'][number % 3])
        start = time.monotonic()
        for _ in range(50):
            with server.new_client() as client:
                assert client.get("/api/health").status_code == 200
        assert time.monotonic() - start < 10
        # A body that does not come ends the request, not the server.
        assert slow[2].recv(1000).startswith(b"HTTP/1.1 408")
        # A head may come in pieces.
        slow[0].sendall(b"lth HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert slow[0].recv(1000).startswith(b"HTTP/1.1 200")
        for one in slow:
            one.close()
        assert server.stop() < 5


def test_a_half_request_does_not_hold_up_the_end(circuits):
    made = circuits("one")
    server = Server(made.boolshap, made.circuit)
    half, idle = connect(server), connect(server)
    half.sendall(b"GET /api/hea")
    idle.sendall(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert idle.recv(1000).startswith(b"HTTP/1.1 200")
    assert server.stop(within=8) < 6
    half.close(), idle.close()


def test_what_was_accepted_before_sigterm_is_answered(heavy):
    made, body = heavy
    server = Server(made.boolshap, made.circuit)
    rows = max(1, math.ceil(0.8 / seconds_for(server, body(1))))
    encoded = [json.dumps(body(rows)).encode() for _ in range(4)]
    stop = threading.Event()
    small = json.dumps({"entities": [[1] * 16]}).encode()
    head = (
        "POST /api/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
    )

    def send(content):
        with connect(server) as one:
            one.sendall(head.format(len(content)).encode() + content)
            return whole_answer(one)

    def keep_sending():
        """Small requests one after the other: each is answered whole, or not at all once the end has come."""
        count = 0
        with connect(server) as one:
            while True:
                ended = stop.is_set()
                try:
                    one.sendall(head.format(len(small)).encode() + small)
                    answer = whole_answer(one)
                except (ConnectionError, BrokenPipeError):
                    answer = None
                if answer is None:
                    # The signal may have come while the request was on its way.
                    assert ended or stop.wait(1), "a request was dropped before the end"
                    return count
                assert answer["explanations"]
                count += 1

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        load = [pool.submit(keep_sending) for _ in range(8)]
        work = [pool.submit(send, content) for content in encoded[:2]]
        wait_until(lambda: computing(server) >= 1)
        time.sleep(0.3)
        stop.set()
        server.process.send_signal(signal.SIGTERM)
        took = server.stop(within=10)
        assert all(len(one.result()["explanations"]) == rows for one in work)
        assert sum(one.result() for one in load) > 0
    assert took < 5


def whole_answer(connection):
    """The JSON of an answer with status 200, or nothing if none began."""
    got = b""
    while b"\r\n\r\n" not in got:
        part = connection.recv(1 << 16)
        if not part:
            assert not got, "an answer was cut off"
            return None
        got += part
    head, _, rest = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    while len(rest) < length:
        part = connection.recv(1 << 20)
        assert part, "an answer was cut off"
        rest += part
    return json.loads(rest)


def test_work_without_end_does_not_hold_up_the_end(heavy):
    made, body = heavy
    server = Server(made.boolshap, made.circuit)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        work = pool.submit(lambda: server.new_client().post("/api/explain", json=body(5000)))
        wait_until(lambda: computing(server) >= 1)
        assert server.stop(within=10) < 6
        try:
            assert work.result().status_code == 503
        except httpx.TransportError:
            pass


def test_ctrl_c_ends_the_server_as_well(circuits):
    made = circuits("one")
    server = Server(made.boolshap, made.circuit)
    assert server.get("/api/health").status_code == 200
    server.client.close()
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(8) in (0, 130, -signal.SIGINT)
    assert "panicked" not in server.stderr()
