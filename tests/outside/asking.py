"""Requests to the HTTP API, and comparisons of its answers with the command line."""

import io
import json
import pathlib

import numpy as np
import pyarrow as pa

from serving import bits_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARROW = "application/vnd.apache.arrow.stream"
INDICES = ["shapley", "banzhaf", "interaction"]
# An entity of the circuit "blocks".
GOOD = [0] * 11


def cli_options(distribution, players="features", index="shapley", class_=None):
    """The options of `boolshap explain` for the game that a request names."""
    file = distribution if distribution in ("uniform", "product") else f"{distribution}:d.csv"
    options = ["--distribution", file, "--players", players, "--index", index]
    return options if class_ is None else [*options, "--class", class_]


def agrees(answer, table, exact=True):
    """Checks that an API answer equals a table of `boolshap explain`: to the last bit, or within 1e-12."""
    header, rows = table
    assert header[:2] == ["prediction", "base_value"] and answer["players"] == header[2:]
    assert len(answer["explanations"]) == len(rows) > 0
    labels = [one.get("explained_value", one["prediction"]) for one in answer["explanations"]]
    assert labels == [int(row[0]) for row in rows]
    found = [[answer["base_value"], *one["scores"]] for one in answer["explanations"]]
    expected = [[float(cell) for cell in row[1:]] for row in rows]
    if exact:
        assert found == expected
    else:
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def records(made, count):
    """Raw rows as JSON objects, with null for missing cells."""
    frame = made.frame().drop(columns=[made.target]).head(count)
    return json.loads(frame.to_json(orient="records"))


def bit_rows(server, count):
    found = server.get("/api/rows", params={"limit": count}).json()
    return [bits_of(row["bits"]) for row in found["rows"]]


def first_rows(made, count):
    made.frame().head(count).to_csv(made.folder / "first.csv", index=False)
    return "first.csv"


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


def is_error(response, status, field):
    """Checks an error's JSON: its message begins with the field and reveals nothing about the machine."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    said = response.json()
    assert set(said) == {"error"} and set(said["error"]) <= {"message", "field"}
    message = said["error"]["message"]
    assert isinstance(message, str) and 5 < len(message) < 2000 and "\n" not in message.strip()
    assert not any(word in message for word in ("panicked", ".rs:", "/home/", "/root", "/tmp/", str(ROOT), "unwrap"))
    if field is not None:
        assert said["error"].get("field") == field and message.startswith(field)
    return message


def arrow_bytes(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def arrow_table(response):
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == ARROW
    return pa.ipc.open_stream(response.content).read_all()
