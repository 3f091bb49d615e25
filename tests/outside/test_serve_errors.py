"""Error responses of `boolshap serve` to invalid requests."""

import json

import pyarrow as pa
import pytest

from asking import ARROW, GOOD, arrow_bytes, is_error
from serving import Server


def raw(**changes):
    good = {"age": 3, "rooms": 10, "bedrooms": 2, "income": 1.5, "drift": 0, "proximity": "INLAND", "new": 1}
    return {key: value for key, value in (good | changes).items() if value is not ...}


BODIES = [
    # A body, its status, the wrong field (None: no single field).
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
    ({"entities": [GOOD], "index": "owner"}, 400, "index"),
    # Each valid alone, but not together.
    ({"entities": [GOOD], "index": "owen"}, 422, "groups"),
    ({"entities": [GOOD], "groups": {"age": "a"}}, 422, "groups"),
    ({"entities": [GOOD], "index": 1}, 400, "index"),
    ({"entities": [GOOD], "exact": "yes"}, 400, "exact"),
    ({"entities": [GOOD], "exact": 1}, 400, "exact"),
    ({"entities": [GOOD], "flips": None}, 400, "flips"),
    ({"entities": [GOOD], "distribution": "normal"}, 400, "distribution"),
    ({"entities": [GOOD], "distribution": 5}, 400, "distribution"),
    ({"entities": [GOOD], "distribution": "background:/etc/passwd"}, 400, "distribution"),
    ({"entities": [GOOD], "players": "nobody"}, 400, "players"),
    ({"entities": [GOOD], "players": ["features"]}, 400, "players"),
    # If none of a column's intervals or categories holds, the column has no value as a player.
    ({"entities": [GOOD], "players": "columns"}, 422, None),
]


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
    for kind in (
        "text/plain",
        "application/xml",
        "",
        "application/jsonp",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
        "text/plain, application/json",
        "application/json; charset",
        "application/json; charset=utf-16",
    ):
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
        ("index=owner", "index"),
        ("entities=1", "entities"),
        ("class=x", "class"),
        ("players=x", "players"),
    ):
        is_error(client.post(f"/api/explain?{query}", content=table, headers=arrow), 400, field)
    is_error(client.post("/api/explain", content=arrow_bytes(pa.table({"age": [1]})), headers=arrow), 400, "entities")
    wrong = pa.table({name: ["much" if name == "income" else value] for name, value in raw().items()})
    is_error(client.post("/api/explain", content=arrow_bytes(wrong), headers=arrow), 400, "entities[0].income")
    # A duplicate name is refused, as in a file, even that of an ignored column.
    values = {name: pa.array([value]) for name, value in raw().items()}
    for name in ("age", "proximity", "other"):
        columns = [*values.items(), (name, pa.array([0])), *([("other", pa.array([1]))] if name == "other" else [])]
        twice = pa.table([column for _, column in columns], names=[name for name, _ in columns])
        assert f"'{name}'" in is_error(client.post("/api/explain", content=arrow_bytes(twice), headers=arrow), 400, "entities")
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
        # The limit also holds for bodies without a Content-Length.
        is_error(post(iter([good.ljust(limit), b" "])), 413, None)
        table = pa.table({name: [value] * 11 for name, value in raw().items()})
        is_error(post(arrow_bytes(table), **{"Content-Type": ARROW}), 413, "entities")
        assert server.get("/api/health").status_code == 200
