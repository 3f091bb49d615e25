"""Explanations over HTTP, as JSON and as Arrow, compared with `boolshap explain` on the same rows."""

import io
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from asking import ARROW, INDICES, agrees, arrow_bytes, arrow_table, bit_rows, cli_options, first_rows, records
from serving import switched


@pytest.mark.slow
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


@pytest.mark.slow
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
    # Without a class, the scores are those of the class predicted for each row, as on the command line.
    predicted = server.explain(bits, distribution=distribution)
    assert predicted == server.explain(bits, distribution=distribution, **{"class": "predicted"})
    header, rows = made.explain(*cli_options(distribution), data=data)
    for one, row in zip(predicted["explanations"], rows, strict=True):
        assert str(one["prediction"]) == row[0]
        assert np.allclose([one["base_value"], *one["scores"]], np.array(row[1:], dtype=float), rtol=0, atol=1e-12)
    every = server.explain(bits, distribution=distribution, **{"class": "each"})
    for one, other in zip(every["explanations"], predicted["explanations"], strict=True):
        assert one["prediction"] == other["prediction"] and other["explained_value"] == 1
        assert one["explained_value"] == [int(number == one["prediction"]) for number in range(3)]
    for number in range(3):
        own = server.explain(bits, distribution=distribution, **{"class": number})
        assert every["base_value"][number] == own["base_value"]
        for one, other in zip(every["explanations"], own["explanations"], strict=True):
            assert one["scores"][number] == other["scores"]
    ones = np.array(
        [
            [one["explained_value"] for one in server.explain(bits, **{"class": number})["explanations"]]
            for number in range(3)
        ]
    )
    assert (ones.sum(axis=0) == 1).all(), "one class and no other"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hundred", "one", "constant", "bare", "hostile"])
def test_circuits_at_the_edges_are_explained_as_the_command_explains_them(servers, circuits, name):
    made, server = circuits(name), servers(name)
    features = len(server.get("/api/model").json()["features"])
    entities = np.random.default_rng(3).integers(0, 2, (9, features)).tolist()
    for index in INDICES if features > 1 else INDICES[:2]:
        agrees(server.explain(entities, index=index), made.explain_bits(entities, "--index", index))


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
            label = "prediction" if number is None else "explained_value"
            labels = [other[label] for other in server.explain(others, **options)["explanations"]]
            assert one["flips"] == [feature for feature in range(features) if labels[feature] != one[label]]
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
