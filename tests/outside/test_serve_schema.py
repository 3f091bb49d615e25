"""schemathesis checks the API against its description in /api/openapi.json. Then thousands of malformed requests are
sent, after which the server must still work and use no more memory."""

import io
import json
import os
import pathlib
import random
import socket
import subprocess
import sys

import pyarrow as pa
import pytest

from serving import Server

pytestmark = pytest.mark.slow
# `BOOLSHAP_MALFORMED=10000` for a longer run.
MALFORMED = int(os.environ.get("BOOLSHAP_MALFORMED", "3000"))
EXAMPLES = 25
ARROW = "application/vnd.apache.arrow.stream"

# A well-formed entity for which the game has no answer is refused with 422.
SETTINGS = """
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "422"]
negative_data_rejection.expected-statuses = ["400", "404", "405", "413", "415", "422"]
"""


@pytest.mark.parametrize("name", ["blocks", "irises", "bare"])
def test_the_server_keeps_to_its_own_description(circuits, tmp_path, name):
    made = circuits(name)
    (tmp_path / "settings.toml").write_text(SETTINGS)
    st = pathlib.Path(sys.executable).with_name("st")
    with Server(made.boolshap, made.circuit, *made.rows) as server:
        line = [
            st,
            "--config-file",
            "settings.toml",
            "--no-color",
            "run",
            f"{server.url}/api/openapi.json",
            "--checks",
            "all",
            "--mode",
            "all",
        ]
        line += [
            "--max-examples",
            EXAMPLES,
            "--seed",
            7,
            "--phases",
            "examples,coverage,fuzzing",
            "--continue-on-failure",
            "--no-shrink",
            "--warnings",
            "off",
        ]
        done = subprocess.run(list(map(str, line)), cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
        posted = ("POST /api/explain", "POST /api/ask")
        for operation in ("GET /api/health", "GET /api/model", "GET /api/page", "GET /api/rows", *posted):
            asked = server.get("/metrics").text.count(f'route="{operation.split()[1]}",status="200"')
            assert asked, f"{operation} was never answered"
    assert "Server error" not in done.stdout


# Malformed requests.


def arrow_body(columns):
    sink = io.BytesIO()
    table = pa.table(columns)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def seeds(server):
    """Valid requests to start from: method, path, headers, body."""
    model = server.get("/api/model").json()
    rows = server.get("/api/rows?limit=3").json()
    names = [feature["name"] for feature in model["features"]]
    bits = [[int(bit) for bit in row["bits"]] for row in rows["rows"]]
    raw = [{column["name"]: cell for column, cell in zip(rows["columns"], row["cells"])} for row in rows["rows"]]
    json_type, arrow_type = {"Content-Type": "application/json"}, {"Content-Type": ARROW, "Accept": ARROW}
    post = lambda entities, **options: (
        "POST",
        "/api/explain",
        json_type,
        json.dumps({"entities": entities} | options).encode(),
    )
    found = [
        ("GET", path, {}, b"")
        for path in (
            "/",
            "/page.js",
            "/api/health",
            "/api/model",
            "/api/openapi.json",
            "/metrics",
            "/api/page?distribution=uniform&players=features",
        )
    ]
    found.append(
        (
            "GET",
            "/api/rows?offset=3&limit=20&search=a&sort=row&descending=true&distribution=uniform&players=features",
            {},
            b"",
        )
    )
    found += [
        post(bits, distribution="uniform", players="features", index="banzhaf"),
        post(bits[:1], exact=True, flips=True, index="interaction"),
    ]
    found += [post(raw, distribution="product"), post([dict(zip(names, row)) for row in bits])]
    asked = lambda question, **settings: (
        "POST",
        "/api/ask",
        json_type,
        json.dumps({"question": question, "entities": bits} | settings).encode(),
    )
    found += [
        asked("reason", all=True, players="columns", prefer=[names[0].split("=")[0]]),
        asked("contrast", limit=2, constraint=[[names[0], f"-{names[0]}"], [1, -1, 3]]),
        asked("counterfactual", costs={names[0]: 2.5}, freeze=names[1:3], limit=3, beyond=True),
        asked("judge", claims=[{"row": 1, "reason": names[:3]}, {"row": 2, "counterfactual": {names[0]: 1}}]),
        asked("codes", codes=[{"player": names[0], "code": "C", "text": "too low"}], against=bits, to=1),
        asked("bias", protected=names[:1]),
    ]
    columns = {name: [row[i] for row in bits] for i, name in enumerate(names)}
    found.append(("POST", "/api/explain?index=shapley&flips=true", arrow_type, arrow_body(columns)))
    found.append(
        ("POST", "/api/explain", arrow_type, arrow_body({name: [row[name] for row in raw] for name in raw[0]}))
    )
    mixed = pa.table(
        {name: pa.array([str(value) for value in values]).dictionary_encode() for name, values in columns.items()}
    )
    found.append(("POST", "/api/explain", arrow_type, arrow_body(mixed)))
    return found


SCRAPS = [
    b"\x00",
    b"\xff",
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b" ",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"-1",
    b"1e999",
    b"NaN",
    b"null",
    b"true",
    b"\\u0000",
    b"\\ud800",
    b"99999999999999999999",
    b"%00",
    b"%ff",
    b"&",
    b"=",
    b"../",
    b"<!--",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x00",
    b"\x80\x00\x00\x00",
    b"\xf0\x9f\xa6\x94",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Expect: 100-continue\r\n",
    b"A" * 5000,
]


def mutate(chance, data):
    """The data with some bytes changed, removed, doubled, swapped or replaced by fragments."""
    data = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
        at, length = chance.randrange(len(data) + 1), chance.choice([1, 1, 2, 4, 8, 40])
        kind = chance.randrange(7)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << chance.randrange(8)
        elif kind == 1 and data:
            data[at % len(data)] = chance.randrange(256)
        elif kind == 2:
            del data[at : at + length]
        elif kind == 3:
            data[at:at] = data[at : at + length] * chance.choice([1, 2, 50])
        elif kind == 4:
            data[at:at] = chance.choice(SCRAPS)
        elif kind == 5:
            data[at : at + length] = chance.choice(SCRAPS)
        else:
            del data[at:]
    return bytes(data)


JUNK = [
    None,
    True,
    -1,
    0.5,
    1e308,
    10**30,
    "",
    "x",
    "0",
    "\u0000",
    "\ud83e",
    [],
    {},
    [[]],
    [None],
    {"": None},
    "entities",
    "A" * 3000,
]


def mutate_value(chance, value):
    """A JSON value with some part of it replaced, removed, doubled or wrapped."""
    if isinstance(value, (dict, list)) and value and chance.random() < 0.85:
        value = value.copy()
        key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        kind = chance.randrange(8)
        if kind == 0:
            del value[key]
        elif kind == 1 and isinstance(value, list):
            value += value[: chance.choice([1, 5, 2000])]
        elif kind == 1:
            value[chance.choice(["", "x", "class", "__proto__", "index"])] = chance.choice(JUNK)
        else:
            value[key] = mutate_value(chance, value[key])
        return value
    return chance.choice(JUNK) if chance.random() < 0.8 else [value]


def framed(method, path, headers, body):
    headers = {"Host": "localhost", "Connection": "close"} | headers | ({"Content-Length": len(body)} if body else {})
    return (
        f"{method} {path} HTTP/1.1\r\n".encode()
        + b"".join(f"{name}: {value}\r\n".encode() for name, value in headers.items())
        + b"\r\n"
        + body
    )


def statuses(port, request, patience=300):
    """The statuses returned over a raw connection. After `patience` seconds the sending side is closed, so that reading
    ends."""
    with socket.create_connection(("127.0.0.1", port), timeout=300) as connection:
        got = b""
        try:
            connection.sendall(request)
            connection.settimeout(patience)
            try:
                while part := connection.recv(1 << 16):
                    got += part
            except TimeoutError:
                connection.settimeout(300)
                connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(1 << 16):
                    got += part
        except (ConnectionResetError, BrokenPipeError, OSError) as error:
            assert not isinstance(error, TimeoutError), f"no answer and no end to {request[:300]!r}"
    return [int(line[9:12]) for line in got.split(b"\r\n") if line.startswith(b"HTTP/1.1 ") and line[9:12].isdigit()]


@pytest.mark.parametrize("name", ["blocks", "irises"])
def test_malformed_requests_harm_nothing(circuits, name):
    made = circuits(name)
    chance = random.Random(f"{name} {MALFORMED}")
    seen, after_warm_up = {}, None
    with Server(made.boolshap, made.circuit, *made.rows) as server:
        good = seeds(server)
        assert all(statuses(server.port, framed(*one)) == [200] for one in good), "what is mutated is good"
        for number in range(MALFORMED // 2):
            method, path, headers, body = chance.choice(good)
            kind = chance.choice(["request", "body", "body", "value", "value", "head"])
            if kind == "request" or not body:
                kind, request = "request", mutate(chance, framed(method, path, headers, body))
            elif kind == "head":
                request = mutate(chance, framed(method, path, headers, b"")) + body
            elif kind == "value" and headers["Content-Type"] != ARROW:
                value = json.loads(body)
                for _ in range(chance.choice([1, 1, 2, 4])):
                    value = mutate_value(chance, value)
                request = framed(method, path, headers, json.dumps(value).encode())
            else:
                kind, request = "body", framed(method, path, headers, mutate(chance, body))
            found = statuses(server.port, request, 0.05 if kind in ("request", "head") else 300)
            assert all(status < 500 for status in found), (found, request)
            assert found or kind not in ("body", "value"), f"no answer to {request!r}"
            assert server.is_alive(), request
            for status in found:
                seen[kind, status] = seen.get((kind, status), 0) + 1
            if number == min(400, MALFORMED // 4):
                after_warm_up = server.resident_bytes()
        assert "panicked" not in server.stderr()
        grown = server.resident_bytes() - after_warm_up
        assert grown <= 50 << 20, f"{grown >> 20} MiB more than after the warm-up"
        assert all(statuses(server.port, framed(*one)) == [200] for one in good), "good requests are answered as before"
    # The mutations are effective: some requests are refused, some are still accepted.
    assert all(seen.get((kind, 400), 0) > 5 for kind in ("request", "body", "value"))
    assert sum(count for (_, status), count in seen.items() if status == 200) > MALFORMED // 200
