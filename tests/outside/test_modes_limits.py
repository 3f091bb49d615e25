"""Limits on players in each mode, comparisons with other libraries, the command's output, and refusals."""

import csv
import os
from fractions import Fraction

import numpy as np
import pytest

from games import (
    Formula, INDICES, all_rows, close, column_groups, compile_formula, conditional_table, exact_rows,
    explain, float_scores, random_formula, refused, shapley_of_table, write_table,
)

# Limits on players.


def chain(features):
    """A formula with a clause for each pair of neighbours among the first six features."""
    return Formula(features, [[1, 2], [-2, 3], [3, -4], [-5, 6]])


@pytest.mark.slow
def test_twenty_players_of_a_sample(boolshap):
    rng = np.random.default_rng(20)
    features = [f"x{i + 1}" for i in range(20)]
    f = chain(20)
    compile_formula(boolshap, f, features)
    entities, rows = rng.integers(0, 2, (2, 20)), rng.integers(0, 2, (40, 20))
    write_table(boolshap.folder / "e.csv", features, entities.tolist())
    write_table(boolshap.folder / "r.csv", features, rows.tolist())
    groups = {name: [i] for i, name in enumerate(features)}
    labels = f.labels(rows)
    tables = [conditional_table(rows, labels, e, groups, f(e)) for e in entities]
    found = float_scores(boolshap, "c.bsc", "e.csv", "--distribution", "empirical:r.csv")
    close(found, [[v[0], *shapley_of_table(v)] for v in tables])


@pytest.mark.parametrize("mode", ["empirical", "constraint"])
def test_the_limit_counts_columns_not_bits(boolshap, mode):
    rng = np.random.default_rng(22)
    features = [f"c{i}={value}" for i in range(11) for value in "ab"]
    groups = column_groups(features)
    f, k = Formula(22, [[1, 3], [-3, 6, 9], [-5, 12], [2, 15]]), Formula(22, [[1, 3, 5], [-7, 9], [17, -20]])
    compile_formula(boolshap, f, features)
    values = np.array(all_rows(11))
    rows = np.stack([values, 1 - values], axis=2).reshape(len(values), 22)
    if mode == "constraint":
        options = ["--constraint", k.write(boolshap.folder / "k.cnf")]
        rows = rows[k.labels(rows) == 1]
    else:
        rows = rows[rng.integers(0, len(rows), 60)]
        options = ["--distribution", f"empirical:{write_table(boolshap.folder / 'r.csv', features, rows.tolist())}"]
    entities = rows[rng.integers(0, len(rows), 3)]
    write_table(boolshap.folder / "e.csv", features, entities.tolist())
    labels = f.labels(rows)
    tables = [conditional_table(rows, labels, e, groups, f(e)) for e in entities]
    found = float_scores(boolshap, "c.bsc", "e.csv", "--players", "columns", *options)
    close(found, [[v[0], *shapley_of_table(v)] for v in tables])


@pytest.mark.parametrize("mode", ["empirical", "constraint"])
def test_more_than_twenty_players_are_refused_where_time_doubles_with_each(boolshap, mode):
    n = 21
    features = [f"x{i + 1}" for i in range(n)]
    compile_formula(boolshap, Formula(n, [[i, i + 1] for i in range(1, n)]), features)
    entity = [1] * n
    write_table(boolshap.folder / "e.csv", features, [entity])
    Formula(n, [[1, 2]]).write(boolshap.folder / "k.cnf")
    options = {"empirical": ["--distribution", "empirical:e.csv"], "constraint": ["--constraint", "k.cnf"]}[mode]
    for index in INDICES:
        said = refused(boolshap, 1, "c.bsc", "e.csv", *options, "--index", index)
        assert "20" in said and ("--players columns" in said or "background" in said)


def test_thirty_blocks_of_two_features(boolshap):
    """Sixty features in pairs of non-adjacent ones: 30 players, compared with the definition for equal players."""
    features = [f"x{i + 1}" for i in range(60)]
    pair = lambda i: i // 6 * 3 + i % 3
    # At least one feature of each pair: the AND of 30 clauses over (i, i + 3).
    clauses = [[i + 1, i + 4] for i in range(60) if i % 6 < 3]
    compile_formula(boolshap, Formula(60, clauses), features)
    write_table(boolshap.folder / "e.csv", features, [[1] * 60])
    write_table(boolshap.folder / "p.csv", ["feature", "player"], [(f"x{i + 1}", f"p{pair(i)}") for i in range(60)])
    for exact in [False, True]:
        header, rows, said = explain(boolshap, "c.bsc", "e.csv", "--players", "p.csv", *["--exact"][:exact])
        assert header[2:] == [f"p{i}" for i in range(30)]
        # All players share the difference between (3/4)^30 and 1 equally.
        base = Fraction(3, 4) ** 30
        expected = [base, *[(1 - base) / 30] * 30]
        found = [Fraction(value) for value in rows[0][1:]]
        assert found == expected if exact else max(abs(a - b) for a, b in zip(found, expected)) < 1e-12


@pytest.mark.parametrize("distribution", ["uniform", "background:e.csv"])
def test_a_players_file_that_only_renames_has_no_limit(boolshap, distribution):
    rng = np.random.default_rng(25)
    features = [f"x{i + 1}" for i in range(25)]
    compile_formula(boolshap, chain(25), features)
    write_table(boolshap.folder / "e.csv", features, rng.integers(0, 2, (4, 25)).tolist())
    renaming = [(name, f"the {name}") for name in reversed(features)]
    write_table(boolshap.folder / "p.csv", ["feature", "player"], renaming)
    plain = exact_rows(boolshap, "c.bsc", "e.csv", "--distribution", distribution)
    renamed = exact_rows(boolshap, "c.bsc", "e.csv", "--distribution", distribution, "--players", "p.csv")
    assert list(renamed[0])[2:] == [f"the {name}" for name in features]
    assert [list(row.values()) for row in renamed] == [list(row.values()) for row in plain]
    # Without columns of several bits, the columns are the features.
    assert exact_rows(boolshap, "c.bsc", "e.csv", "--distribution", distribution, "--players", "columns") == plain


# Each mode with one index: for this number of features the definition takes seconds per entity.
@pytest.mark.slow
@pytest.mark.parametrize("options, index", [
    ([], "banzhaf"),
    (["--distribution", "background:r.csv"], "shapley"),
    (["--distribution", "empirical:r.csv"], "interaction"),
    (["--constraint", "k.cnf"], "shapley"),
    (["--players", "columns"], "interaction"),
    (["--players", "p.csv"], "shapley"),
])
def test_brute_force_takes_fourteen_features(boolshap, options, index):
    features = [f"x{i + 1}" for i in range(12)] + ["op=A", "op=B"]
    f = Formula(14, [*chain(14).clauses, [7, -8, 13], [9, 10, -11], [-12, 14]])
    compile_formula(boolshap, f, features)
    Formula(14, [[1, 2, 13], [-3, 14]]).write(boolshap.folder / "k.cnf")
    rows = np.random.default_rng(14).integers(0, 2, (40, 14))
    rows[:, 13] = 1 - rows[:, 12]
    rows[:2, [0, 2]] = 1, 0
    assert 0 < f.labels(rows).sum() < 40
    write_table(boolshap.folder / "e.csv", features, rows[:1].tolist())
    write_table(boolshap.folder / "r.csv", features, rows.tolist())
    players = [(name, name if i < 8 else f"p{i % 2}") for i, name in enumerate(features)]
    write_table(boolshap.folder / "p.csv", ["feature", "player"], players)
    default = float_scores(boolshap, "c.bsc", "e.csv", *options, "--index", index)
    dumb = float_scores(boolshap, "c.bsc", "e.csv", *options, "--index", index, "--engine", "brute-force")
    close(default, dumb)
    assert np.abs(default[:, 1:]).max() > 0.01


# Other libraries.


@pytest.mark.slow
def test_background_rows_against_shap(boolshap, request, monkeypatch):
    # Compiling shap's loops takes longer than running them on so few rows.
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    try:
        import shap
    except ImportError as error:
        if "BOOLSHAP_SKIPPED" in os.environ:
            with open(os.environ["BOOLSHAP_SKIPPED"], "a") as skipped:
                skipped.write(f"{request.node.name}: the Python package shap\n")
        pytest.skip(f"shap cannot be imported: {error}")
    rng = np.random.default_rng(9)
    features = [f"x{i + 1}" for i in range(7)]
    f = random_formula(rng, 7, range(6), 5, all_rows(7), 0.3, 0.7)
    compile_formula(boolshap, f, features)
    entities, background = rng.integers(0, 2, (12, 7)), rng.integers(0, 2, (130, 7))
    background[:3] = entities[0]
    write_table(boolshap.folder / "e.csv", features, entities.tolist())
    write_table(boolshap.folder / "r.csv", features, background.tolist())
    masker = shap.maskers.Independent(background, max_samples=len(background))
    theirs = shap.ExactExplainer(lambda rows: f.labels(rows).astype(float), masker)(entities)
    ours = float_scores(boolshap, "c.bsc", "e.csv", "--distribution", "background:r.csv")
    close(ours[:, 0], theirs.base_values)
    close(ours[:, 1:], theirs.values)
    assert np.abs(ours[:, 1:6]).max() > 0.1 and (ours[:, 7] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["uniform", "background"])
def test_ocean_proximity_of_the_papers_network_as_one_player(boolshap, shared_data, distribution):
    cnf, data = shared_data("paper/paper_bnn_2391.cnf"), shared_data("paper/entities_100.csv")
    with open(data, newline="") as file:
        features, *rows = csv.reader(file)
    rows = np.array(rows, dtype=int)
    names = ["ocean_proximity" if name.startswith("op_") else name for name in features]
    groups = {name: [i for i in range(13) if names[i] == name] for name in dict.fromkeys(names)}
    assert len(groups) == 9
    boolshap("compile", cnf, "-o", "c.bsc", "--features", data)
    write_table(boolshap.folder / "p.csv", ["feature", "player"], zip(features, names))
    write_table(boolshap.folder / "e.csv", features, rows[:5].tolist())
    clauses = [line.split()[:-1] for line in cnf.read_text().splitlines() if line[:1] not in ("c", "p", "")]
    table = Formula(13, clauses).labels(np.arange(1 << 13)[:, None] >> np.arange(13) & 1)
    numbers = rows @ (1 << np.arange(13))
    population, option = np.arange(1 << 13), "uniform"
    if distribution == "background":
        population, option = numbers, f"background:{data}"
    expected = []
    for number in numbers[:5]:
        v = []
        for s in range(1 << len(groups)):
            fixed = sum(1 << i for player, g in enumerate(groups.values()) if s >> player & 1 for i in g)
            v.append(table[(number & fixed) | (population & ~fixed)].mean())
        expected.append([v[0], *shapley_of_table(np.array(v))])
    for engine in [[], ["--engine", "brute-force"]]:
        options = ["--players", "p.csv", "--distribution", option, *engine]
        assert explain(boolshap, "c.bsc", "e.csv", *options)[0][2:] == list(groups)
        close(float_scores(boolshap, "c.bsc", "e.csv", *options), expected)


# Output of the command.


@pytest.mark.parametrize("players", ["features", "columns"])
@pytest.mark.parametrize("distribution", ["uniform", "background:e.csv", "empirical:e.csv", "product:e.csv"])
def test_the_summary_names_the_mode(boolshap, players, distribution):
    features = ["op=A", "op=B", "x"]
    compile_formula(boolshap, Formula(3, [[1, 3]]), features)
    write_table(boolshap.folder / "e.csv", features, [(1, 0, 0), (0, 1, 0), (1, 0, 0)])
    for exact in [[], ["--exact"]]:
        said = explain(
            boolshap, "c.bsc", "e.csv", "--players", players, "--distribution", distribution, *exact
        )[2]
        keys = {"rows", "distinct_rows", "seconds", "distribution", "players", "index", "engine", "checked"}
        assert keys | {"mean_absolute"} <= said.keys()
        assert (said["rows"], said["distinct_rows"], said["seconds"] >= 0) == (3, 2, True)
        assert said["distribution"].startswith(distribution.split(":")[0])
        assert (said["players"], said["index"], said["checked"]) == (players, "shapley", "sum")
        assert said["engine"] in (["exact", "paper"] if exact else ["fast", "exact"])
        assert set(said["mean_absolute"]) == set(features if players == "features" else ["op", "x"])
        assert all(isinstance(value, str if exact else float) for value in said["mean_absolute"].values())
    if (players, distribution) == ("features", "uniform"):
        assert explain(boolshap, "c.bsc", "e.csv")[2]["engine"] == "fast"


# Wrong usage and bad input.

FEATURES = ["op=A", "op=B", "op=C", "x", "y"]


@pytest.fixture
def small(boolshap):
    """A circuit with files that fit it."""
    compile_formula(boolshap, Formula(5, [[1, 4], [2, -4, 5]]), FEATURES)
    rows = [(1, 0, 0, 1, 0), (0, 1, 0, 0, 1), (0, 0, 1, 1, 1)]
    for name in ["e.csv", "r.csv"]:
        write_table(boolshap.folder / name, FEATURES, rows)
    Formula(5, [[1, 2, 3]]).write(boolshap.folder / "k.cnf")
    write_table(boolshap.folder / "p.csv", ["feature", "player"], zip(FEATURES, "aabbc"))
    return "c.bsc"


@pytest.mark.parametrize("options", [
    ["--distribution", "background:r.csv"], ["--distribution", "empirical:r.csv"], ["--constraint", "k.cnf"],
    ["--players", "columns"], ["--players", "p.csv"], ["--index", "banzhaf"], ["--index", "interaction"],
])
def test_the_papers_algorithm_takes_independent_features_only(boolshap, small, options):
    for exact in [[], ["--exact"]]:
        assert "paper" in refused(boolshap, 2, small, "e.csv", "--engine", "paper", *options, *exact)


@pytest.mark.parametrize("options", [
    [], ["--distribution", "background:r.csv"], ["--distribution", "empirical:r.csv"], ["--constraint", "k.cnf"],
    ["--players", "columns"], ["--index", "interaction"],
])
def test_fractions_are_not_the_fast_engines(boolshap, small, options):
    assert "floats" in refused(boolshap, 2, small, "e.csv", "--engine", "fast", "--exact", *options)


def test_a_constraint_goes_with_independent_features(boolshap, small):
    for kind in ["background", "empirical"]:
        said = refused(boolshap, 2, small, "e.csv", "--constraint", "k.cnf", "--distribution", f"{kind}:r.csv")
        assert "--constraint" in said


@pytest.mark.parametrize("option, value", [
    ("--index", "owen"), ("--distribution", "gaussian"), ("--distribution", "backgrounds:r.csv"), ("--engine", "slow"),
])
def test_unknown_words_are_wrong_usage(boolshap, small, option, value):
    assert value in refused(boolshap, 2, small, "e.csv", option, value)


@pytest.mark.parametrize("players", ["features", "columns", "p.csv"])
def test_an_entity_that_breaks_the_constraint_is_named(boolshap, small, players):
    # The second row has x = 0 and is the first that breaks it.
    Formula(5, [[4]]).write(boolshap.folder / "k.cnf")
    options = ["--constraint", "k.cnf", "--players", players]
    for exact in [[], ["--exact"], ["--engine", "brute-force"]]:
        assert "row 2" in refused(boolshap, 1, small, "e.csv", *options, *exact)
    Formula(5, [[4], [-4]]).write(boolshap.folder / "k.cnf")
    refused(boolshap, 1, small, "e.csv", *options)


@pytest.mark.parametrize("row", [(0, 0, 0, 1, 1), (1, 0, 1, 1, 1), (1, 1, 1, 1, 1)])
def test_a_row_without_exactly_one_value_of_a_column_is_named(boolshap, small, row):
    write_table(boolshap.folder / "bad.csv", FEATURES, [(1, 0, 0, 0, 0), row, (0, 1, 0, 0, 0)])
    columns = ["--players", "columns"]
    for mode in [[], ["--constraint", "k.cnf"], ["--distribution", "background:r.csv"],
                 ["--distribution", "empirical:r.csv"], ["--index", "banzhaf"], ["--engine", "brute-force"]]:
        assert "row 2" in refused(boolshap, 1, small, "bad.csv", *columns, *mode)
    for kind in ["background", "empirical"]:
        said = refused(boolshap, 1, small, "e.csv", *columns, "--distribution", f"{kind}:bad.csv")
        assert "row 2" in said and "bad.csv" in said
        # As single features the bits may have any values.
        explain(boolshap, small, "bad.csv", "--distribution", f"{kind}:bad.csv")


@pytest.mark.parametrize("third", ["0.05", "0.25", "0.10000000000000000001", "0"])
def test_a_columns_probabilities_add_up_to_one(boolshap, small, third):
    rows = list(zip(FEATURES, ["0.6", "0.3", third, "0.3", "0.4"]))
    write_table(boolshap.folder / "w.csv", ["feature", "probability"], rows)
    for mode in [[], ["--exact"], ["--constraint", "k.cnf"]]:
        options = ["--players", "columns", "--distribution", "product:w.csv", *mode]
        assert "'op'" in refused(boolshap, 1, small, "e.csv", *options)
    explain(boolshap, small, "e.csv", "--distribution", "product:w.csv")
    rows[2] = (FEATURES[2], "0.1")
    write_table(boolshap.folder / "w.csv", ["feature", "probability"], rows)
    explain(boolshap, small, "e.csv", "--players", "columns", "--distribution", "product:w.csv")


@pytest.mark.parametrize("rows, named", [
    ([("op=A", "a"), ("op=B", "a"), ("op=C", "b"), ("y", "b")], "'x'"),
    ([("op=A", "a"), ("op=B", "a"), ("op=C", "b"), ("x", "b"), ("y", "b"), ("op=B", "b")], "'op=B'"),
    ([("op=A", "a"), ("op=B", "a"), ("op=C", "b"), ("x", "b"), ("y", "b"), ("weather", "b")], "'weather'"),
])
def test_a_players_file_has_every_feature_once(boolshap, small, rows, named):
    write_table(boolshap.folder / "w.csv", ["feature", "player"], rows)
    said = refused(boolshap, 1, small, "e.csv", "--players", "w.csv")
    assert named in said and "w.csv" in said


def test_files_that_are_not_there_or_not_what_they_should_be(boolshap, small):
    for options in [["--players", "none.csv"], ["--constraint", "none.cnf"], *(
        ["--distribution", f"{kind}:none.csv"] for kind in ["product", "background", "empirical"]
    )]:
        assert "none.c" in refused(boolshap, 1, small, "e.csv", *options)
    write_table(boolshap.folder / "w.csv", FEATURES[:4], [(1, 0, 0, 1)])
    write_table(boolshap.folder / "empty.csv", FEATURES, [])
    for kind in ["background", "empirical"]:
        assert "'y'" in refused(boolshap, 1, small, "e.csv", "--distribution", f"{kind}:w.csv")
        assert "empty.csv" in refused(boolshap, 1, small, "e.csv", "--distribution", f"{kind}:empty.csv")
    write_table(boolshap.folder / "w.csv", ["feature", "who"], zip(FEATURES, "aabbc"))
    assert "'player'" in refused(boolshap, 1, small, "e.csv", "--players", "w.csv")


@pytest.mark.parametrize("index, name", [("taylor", "STII"), ("ksii", "k-SII")])
@pytest.mark.parametrize("order", [2, 3])
def test_interactions_against_shapiq(boolshap, index, name, order):
    exact = pytest.importorskip("shapiq.game_theory.exact")
    rng = np.random.default_rng(5)
    features, f = [f"x{i + 1}" for i in range(6)], chain(6)
    compile_formula(boolshap, f, features)
    rows = rng.integers(0, 2, (8, 6))
    entity = np.array([1, 0, 1, 1, 0, 1])
    write_table(boolshap.folder / "e.csv", features, [entity.tolist()])
    write_table(boolshap.folder / "r.csv", features, rows.tolist())
    game = lambda sets: np.array([f.labels(np.where(known, entity, rows)).mean() for known in np.atleast_2d(sets)])
    expected = exact.ExactComputer(n_players=6, game=game)(index=name, order=order)
    options = ["--distribution", "background:r.csv", "--index", f"{index}:{order}"]
    header, found, _ = explain(boolshap, "c.bsc", "e.csv", *options)
    for column, value in zip(header[2:], found[0][2:], strict=True):
        assert abs(expected[tuple(features.index(name) for name in column.split("*"))] - float(value)) < 1e-9
