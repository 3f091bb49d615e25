"""Scores on Spark, on a real cluster of two executors with their own processes.

BOOLSHAP_SPARK_ROWS is the number of rows to explain (100,000 by default).
"""

import os
import pathlib
import shutil
import signal
import sys
import threading
import time

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import boolshap

pytest.importorskip("pyspark", reason="pyspark is not installed")
if shutil.which("java") is None:
    pytest.skip("there is no Java for Spark", allow_module_level=True)

from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql.types import DoubleType, IntegerType, LongType

from boolshap import spark as boolshap_spark

ROWS = int(os.environ.get("BOOLSHAP_SPARK_ROWS", "100000"))
FEATURES = [f"bit.{number}" for number in range(16)]
CORES = 2


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """Two executors of one core each; they import boolshap from the same place as the tests."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    package = str(pathlib.Path(boolshap.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    session = (
        SparkSession.builder.master(f"local-cluster[{CORES},1,1024]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.task.maxFailures", "3")
        .config("spark.executorEnv.PYTHONPATH", path)
        .config("spark.local.dir", str(tmp_path_factory.mktemp("spark")))
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def circuit():
    """A random 16-12-1 network in which every feature matters."""
    chance = np.random.default_rng(5)
    hidden = chance.choice([-1.0, 1.0], size=(12, len(FEATURES)))
    output = chance.choice([-1.0, 1.0], size=(1, 12))
    return boolshap.compile([(hidden, np.zeros(12)), (output, np.zeros(1))], features=FEATURES)


@pytest.fixture(scope="module")
def bits():
    return np.random.default_rng(6).integers(0, 2, size=(ROWS, len(FEATURES)), dtype=np.uint8)


@pytest.fixture(scope="module")
def table(bits, tmp_path_factory):
    """The rows as a folder of 24 Parquet files: a number, the bits as booleans, 0/1 integers and floats, and a text."""
    folder = tmp_path_factory.mktemp("rows")
    types = [np.bool_, np.int32, np.float64, np.int64]
    columns = {"id": np.arange(len(bits))}
    columns |= {name: bits[:, place].astype(types[place % 4]) for place, name in enumerate(FEATURES)}
    columns["note"] = pyarrow.array([None if number % 3 == 0 else f"row {number}" for number in range(len(bits))])
    whole = pyarrow.table(columns)
    for part, start in enumerate(range(0, len(bits), -(-len(bits) // 24))):
        pyarrow.parquet.write_table(whole.slice(start, -(-len(bits) // 24)), folder / f"part-{part:02}.parquet")
    return folder


def read(session, folder):
    # One task per file, so that some tasks remain when a worker dies.
    session.conf.set("spark.sql.files.openCostInBytes", str(1 << 30))
    return session.read.parquet(str(folder))


def collected(folder):
    return pyarrow.parquet.read_table(folder).sort_by("id")


def matrix(table, prefix="shap_"):
    return np.column_stack([table[prefix + name].to_numpy() for name in FEATURES])


def assert_equal_to_one_machine(table, bits, explainer):
    """Checks that the numbers are bitwise equal and that every row occurs once."""
    assert np.array_equal(table["id"].to_numpy(), np.arange(len(bits))), "rows were lost or came twice"
    expected = explainer(bits)
    assert (matrix(table) == expected.values).all()
    assert (table["base_value"].to_numpy() == expected.base_values).all()
    assert (table["prediction"].to_numpy() == explainer.circuit.predict(bits)).all()


def test_many_rows_are_explained_as_on_one_machine(session, circuit, bits, table, tmp_path):
    rows = read(session, table)
    scores = boolshap_spark.explain(rows, circuit, keep=["id", "note"])
    assert scores.columns == ["id", "note", "prediction", "base_value", *(f"shap_{name}" for name in FEATURES)]
    kinds = [field.dataType for field in scores.schema]
    assert kinds[0] == LongType() and kinds[2] == IntegerType() and set(kinds[3:]) == {DoubleType()}
    # Executors and Python workers start with their first rows; only the rate after that is measured.
    boolshap_spark.explain(rows.limit(1000).repartition(4), circuit).collect()
    start = time.perf_counter()
    scores.write.parquet(str(tmp_path / "scores"))
    seconds = time.perf_counter() - start
    print(f"\n{len(bits)} rows in {seconds:.1f} s: {len(bits) / seconds / CORES:.0f} rows a second and core")
    found = collected(tmp_path / "scores")
    assert_equal_to_one_machine(found, bits, boolshap.Explainer(circuit))
    assert found["note"].to_pylist() == collected(table)["note"].to_pylist()


def descendants(pid):
    """The descendants of a process, as {pid: (parent, command)}."""
    known = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            known[int(folder.name)] = (parent, (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except (OSError, ValueError):
            continue  # the process has ended in the meantime
    below = {pid}
    while len(grown := below | {child for child, (parent, _) in known.items() if parent in below}) > len(below):
        below = grown
    return {child: known[child] for child in below if child in known and child != pid}


def python_workers():
    """Each executor has a daemon, whose children do the work."""
    found = {pid: parent for pid, (parent, command) in descendants(os.getpid()).items() if "pyspark.daemon" in command}
    return [pid for pid, parent in found.items() if parent in found]


def executors():
    found = descendants(os.getpid())
    return [pid for pid, (_, command) in found.items() if "CoarseGrainedExecutorBackend" in command]


@pytest.mark.skipif(not pathlib.Path("/proc/self/stat").exists(), reason="processes are found by /proc")
@pytest.mark.parametrize("victims", [python_workers, executors])
def test_a_killed_worker_loses_and_duplicates_nothing(session, circuit, bits, table, tmp_path, victims):
    scores = boolshap_spark.explain(read(session, table), circuit, keep=["id"])
    context, group, failures = session.sparkContext, victims.__name__, []

    def job():
        try:
            context.setJobGroup(group, "scores while a worker is killed")
            scores.write.parquet(str(tmp_path / "scores"))
        except Exception as error:
            failures.append(error)

    def stages():
        tracker = context.statusTracker()
        numbers = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        found = [tracker.getStageInfo(stage) for info in numbers if info for stage in info.stageIds]
        return [stage for stage in found if stage]

    thread = threading.Thread(target=job)
    thread.start()
    killed = []
    while thread.is_alive():
        done = sum(stage.numCompletedTasks for stage in stages())
        failed = sum(stage.numFailedTasks for stage in stages())
        if 2 <= done and not failed and len(killed) < 3 and victims():
            killed.append(victims()[0])
            os.kill(killed[-1], signal.SIGKILL)
            thread.join(3)
        thread.join(0.05)
    assert not failures, failures
    done, failed = (sum(getattr(stage, name) for stage in stages()) for name in ("numCompletedTasks", "numFailedTasks"))
    assert killed and failed >= 1, f"the job of {done} tasks was over before a kill of {killed} was felt"
    print(f"\nkilled {group} {killed}: {failed} of {done + failed} tasks failed and were run again")
    assert_equal_to_one_machine(collected(tmp_path / "scores"), bits, boolshap.Explainer(circuit))


def test_several_classes_have_columns_each(session):
    values = np.arange(8, dtype=np.uint8) % 3
    inputs = np.array([[i >> j & 1 for j in range(3)] for i in range(8)], dtype=np.uint8)
    circuit = boolshap.compile(lambda bits: values[bits @ [1, 2, 4]], features=["a", "b", "c"], classes=["x", "y", "z"])
    rows = session.createDataFrame([tuple(map(int, row)) for row in inputs], "a int, b int, c int")
    found = boolshap_spark.explain(rows, circuit).toPandas()
    assert found.columns[3:].tolist() == ["prediction"] + [
        name for k in "xyz" for name in (f"base_value_{k}", f"shap_{k}_a", f"shap_{k}_b", f"shap_{k}_c")
    ]
    given = found[["a", "b", "c"]].to_numpy()
    assert (found["prediction"] == values[given @ [1, 2, 4]]).all()
    expected = boolshap.Explainer(circuit).shap_values(given)
    for place, name in enumerate("xyz"):
        assert (found[[f"shap_{name}_{player}" for player in "abc"]].to_numpy() == expected[:, :, place]).all()
    one = boolshap_spark.explain(rows, circuit, class_="y", keep=[], prefix="").toPandas()
    assert one.columns.tolist() == ["prediction", "base_value", "a", "b", "c"]
    assert (one["prediction"].to_numpy() == values).all()


def test_raw_columns_players_and_probabilities(session):
    model = boolshap.Model.from_json("""{"format": "boolshap model", "version": 1,
        "features": ["rooms", "place=sea", "place=town"], "classes": null, "marginals": null, "hidden": [],
        "schema": [{"column": "rooms", "code": {"above": 3.75}},
                   {"column": "place", "code": {"categories": ["sea", "town"]}}],
        "output": {"step": {"weights": "++-", "need": "2"}}, "provenance": {}}""")
    circuit = boolshap.compile(model)
    rows = session.createDataFrame([(1.5, "sea"), (5.0, "sea"), (9.0, "town")], "rooms double, place string")
    settings = {"probabilities": {"rooms": 0.25, "place=sea": 0.5, "place=town": 0.5}, "players": "columns"}
    found = boolshap_spark.explain(rows, circuit, **settings).toPandas()
    assert found.columns.tolist() == ["rooms", "place", "prediction", "base_value", "shap_rooms", "shap_place"]
    expected = boolshap.Explainer(circuit, **settings)(found[["rooms", "place"]])
    assert (found[["shap_rooms", "shap_place"]].to_numpy() == expected.values).all()


def test_background_rows(session, circuit, bits, table):
    rows = read(session, table).where("id < 200")
    found = boolshap_spark.explain(rows, circuit, background=bits[-30:], keep=["id"]).toArrow().sort_by("id")
    assert_equal_to_one_machine(found, bits[:200], boolshap.Explainer(circuit, bits[-30:]))


def test_a_bad_row_is_named(session, circuit):
    good = [0] * len(FEATURES)
    bad = [*good[:3], 2, *good[4:]]
    schema = ", ".join(f"`{name}` int" for name in FEATURES)
    rows = session.createDataFrame([tuple(good), tuple(bad)], schema).coalesce(1)
    with pytest.raises(PythonException, match=r"column 'bit\.3', row 1: 2 is neither 0 nor 1"):
        boolshap_spark.explain(rows, circuit).collect()


def test_what_does_not_fit_is_an_error_beforehand(session, circuit, table):
    rows = read(session, table)
    with pytest.raises(ValueError, match=r"column 'bit\.7' is not there"):
        boolshap_spark.explain(rows.drop("`bit.7`").drop("bit.7"), circuit)
    with pytest.raises(ValueError, match=r"column 'bit\.7' is of the type string, but must hold 0 and 1"):
        boolshap_spark.explain(rows.withColumn("bit.7", rows["note"]), circuit)
    with pytest.raises(ValueError, match="two columns 'prediction'"):
        boolshap_spark.explain(rows.withColumnRenamed("note", "Prediction"), circuit)
    with pytest.raises(ValueError, match=r"two columns 'bit\.0'"):
        boolshap_spark.explain(rows, circuit, prefix="")
    with pytest.raises(ValueError, match="column 'nothing' is not there"):
        boolshap_spark.explain(rows, circuit, keep=["nothing"])
    with pytest.raises(ValueError, match="needs rows"):
        boolshap_spark.explain(rows, circuit, distribution="background")
    assert boolshap_spark.explain(rows.limit(0), circuit, keep=["id"]).count() == 0
