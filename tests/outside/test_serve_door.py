"""Access control of `boolshap serve`, security headers of the page, and metrics."""

import socket

import httpx
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from asking import GOOD, is_error
from serving import Server

# Access control.

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
    assert "nonsense" in made.boolshap("serve", made.circuit, "--listen", "nonsense", code=2).stderr
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


def test_a_page_of_another_origin_is_refused(servers):
    server = servers("blocks")
    post = lambda **headers: server.client.post("/api/explain", json={"entities": [GOOD]}, headers=headers)
    own = f"http://127.0.0.1:{server.port}"
    for headers in ({}, {"Origin": own}, {"Origin": own, "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        assert post(**headers).status_code == 200, headers
    for origin in ("http://evil.example", "null", f"http://localhost:{server.port}", f"http://127.0.0.1:{server.port + 1}"):
        is_error(post(Origin=origin), 403, None)
    for site in ("cross-site", "same-site", "anything"):
        is_error(post(**{"Sec-Fetch-Site": site}), 403, None)
        # Another page may link here, but its images must not trigger a search.
        for path, mode, status in (("/", "navigate", 200), ("/api/rows", "no-cors", 403), ("/api/page", "cors", 403)):
            answer = server.get(path, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode})
            assert answer.status_code == status, (path, site)


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
        assert answer.headers["x-frame-options"] == "DENY" and answer.headers["cache-control"] == "no-store"
        assert not any(
            name.startswith("access-control-") for name in answer.headers
        ), "no other site may read an answer"


# Metrics.


def metrics(server):
    response = server.get("/metrics")
    assert response.headers["content-type"].startswith("application/openmetrics-text")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


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
