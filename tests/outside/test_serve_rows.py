"""Data of `boolshap serve` about its circuit and rows, compared with `boolshap explain`, `predict` and pandas."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from asking import all_listed, cli_options, listed
from serving import bits_of

# Circuit and page.


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


@pytest.mark.slow
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
                    assert page["game"] | {"words": 0, "base": 0} == {
                        "distribution": distribution,
                        "players": players,
                        "class": number,
                        "words": 0,
                        "base": 0,
                    }
                    header, rows = made.explain(*cli_options(distribution, players, class_=number))
                    scores = np.array([row[2:] for row in rows], dtype=float)
                    assert page["players"] == header[2:]
                    assert page["base_value"] == pytest.approx(float(rows[0][1]), abs=1e-12)
                    np.testing.assert_allclose(page["importance"], np.abs(scores).mean(axis=0), rtol=0, atol=1e-12)
                    assert [re.split("[=>]", page["players"][player])[0] for player in page["player_of"]] == [
                        re.split("[=>]", feature["name"])[0] for feature in page["features"]
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
    # The circuit gives these bits the same scores as the raw row.
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
    # The search may also match row numbers, but nothing else.
    assert set(frame.index[hits] + 1) <= found <= set(frame.index[hits | by_number] + 1)
    sorted_rows = all_listed(server, search=search, sort="income", descending="true")
    incomes = [row["cells"][[c["name"] for c in listed(server)["columns"]].index("income")] for row in sorted_rows]
    assert {row["row"] for row in sorted_rows} == found and incomes == sorted(incomes, reverse=True)


def test_pages_beyond_the_end_are_empty(servers):
    for offset in (600, 10**6, 10**12):
        found = listed(servers("blocks"), offset=offset)
        assert (found["total"], found["rows"]) == (600, [])
    assert listed(servers("bare")) | {"columns": []} == {"total": 0, "offset": 0, "rows": [], "columns": []}
