"""The README's commands run one after another, and the command line has shell completions and a manual page."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import ROOT

BINARY = os.environ["BOOLSHAP_BINARY"]


def commands():
    """The README's `boolshap` commands, in order."""
    lines = (ROOT / "README.md").read_text().splitlines()
    found = [line.strip().split("  #")[0].strip() for line in lines if line.startswith("    boolshap ")]
    assert len(found) >= 12, found
    return found


@pytest.fixture
def shell(tmp_path):
    """Runs lines in a shell that has the program in its PATH."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "boolshap").symlink_to(pathlib.Path(BINARY).resolve())
    place = tmp_path / "work"
    place.mkdir()
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def run(line):
        done = subprocess.run(["bash", "-c", line], cwd=place, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        return done.stdout

    run.place = place
    return run


@pytest.mark.slow
def test_the_readmes_commands_run_one_after_another(shell):
    shell("boolshap demo")
    lines = [line for line in commands() if not line.startswith("boolshap serve")]
    for line in lines:
        shell(line)
    left = {path.name for path in shell.place.iterdir()}
    assert left >= {"model.json", "circuit.bsc", "predictions.csv", "scores.csv", "report.html", "w.png", "p.lrat"}


@pytest.mark.slow
def test_the_demos_table_has_the_bits_of_its_rows(shell, demo):
    """The demo's raw table, binarised by its model, equals the tally embedded in the program."""
    shutil.copytree(demo, shell.place / "boolshap-demo")
    rows = (shell.place / "boolshap-demo/housing.csv").read_text().splitlines()
    assert len(rows) == 20641
    train = "boolshap train boolshap-demo/housing.csv --target median_house_value --hidden 2 -o m.json --json"
    printed = json.loads(shell(train + " --tally tally.csv"))
    assert printed["rows"] == 20640
    embedded = (ROOT / "crates/boolshap-bench/assets/rows.csv").read_text().splitlines()[1:]
    fitted = (shell.place / "tally.csv").read_text().splitlines()[1:]
    assert [line.split(",")[:13] for line in fitted] == [line.split(",")[:13] for line in embedded]
    counts = lambda lines: [[int(a) + int(c), int(b) + int(d)] for a, b, c, d in (line.split(",")[13:] for line in lines)]
    assert counts(fitted) == counts(embedded)
    # The demo's circuit reads the same bits: it predicts what the model predicts, with the model's accuracy.
    shell("boolshap predict boolshap-demo/circuit.bsc boolshap-demo/housing.csv -o by_circuit.csv")
    shell("boolshap predict boolshap-demo/model.json boolshap-demo/housing.csv -o by_model.csv")
    predictions = (shell.place / "by_circuit.csv").read_text()
    assert predictions == (shell.place / "by_model.csv").read_text()
    correct = sum(
        prediction == str(int(float(row.rsplit(",", 1)[1]) > 206855.8))
        for prediction, row in zip(predictions.split()[1:], rows[1:])
    )
    model = json.loads((shell.place / "boolshap-demo/model.json").read_text())["provenance"]
    half = (model["train_accuracy"] + model["test_accuracy"]) / 2
    assert abs(correct / 20640 - half) < 1e-9


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completions_name_every_command(shell, name):
    text = shell(f"boolshap completions {name}")
    for command in ["demo", "train", "compile", "explain", "report", "serve", "completions", "man"]:
        assert command in text
    assert "estimate" in text and "quiet" in text
    if shutil.which(name):
        (shell.place / "completions").write_text(text)
        shell(f"{name} -n completions")


def test_the_manual_has_every_command_and_its_options(shell):
    page = shell("boolshap man")
    assert page.startswith(".ie") or ".TH" in page
    assert "explain" in page and "compile" in page
    assert "estimate" in shell("boolshap man compile")


@pytest.mark.slow
def test_quiet_leaves_results_and_errors_only(boolshap, demo):
    shutil.copytree(demo, boolshap.folder / "boolshap-demo")
    loud = boolshap("explain", "boolshap-demo/model.json", "boolshap-demo/entities.csv", "-o", "a.csv")
    assert "compiled in passing into a circuit of" in loud.stderr
    quiet = boolshap("--quiet", "explain", "boolshap-demo/model.json", "boolshap-demo/entities.csv", "-o", "b.csv")
    assert quiet.stderr == "" and "rows" in quiet.stdout
    assert (boolshap.folder / "a.csv").read_text() == (boolshap.folder / "b.csv").read_text()
    assert "nowhere.bsc" in boolshap.fails("explain", "-q", "nowhere.bsc", "boolshap-demo/entities.csv")


@pytest.mark.slow
def test_a_model_is_explained_as_its_circuit_is(boolshap, demo):
    shutil.copytree(demo, boolshap.folder / "boolshap-demo")
    boolshap("compile", "boolshap-demo/model.json", "-o", "c.bsc")
    for source, out in [("c.bsc", "c.csv"), ("boolshap-demo/model.json", "m.csv")]:
        boolshap("explain", source, "boolshap-demo/entities.csv", "-o", out)
        boolshap("report", source, "boolshap-demo/entities.csv", "-o", f"{out}.html")
    assert (boolshap.folder / "c.csv").read_text() == (boolshap.folder / "m.csv").read_text()


def wide(inputs, neurons, seed):
    """A dense network of weights +-1 that no route compiles quickly."""
    import random

    chance = random.Random(seed)
    gate = lambda width: {"weights": "".join(chance.choice("+-") for _ in range(width)), "need": str(width // 2)}
    return {
        "format": "boolshap model", "version": 1, "features": [f"x{i}" for i in range(inputs)], "classes": None,
        "schema": None, "marginals": None, "hidden": [[gate(inputs) for _ in range(neurons)]],
        "output": {"step": gate(neurons)}, "provenance": {},
    }


@pytest.mark.slow
def test_what_takes_long_is_said_and_refused_in_passing(boolshap):
    (boolshap.folder / "wide.json").write_text(json.dumps(wide(60, 13, 1)))
    (boolshap.folder / "rows.csv").write_text(",".join(f"x{i}" for i in range(60)) + "\n" + ",".join("0" * 60) + "\n")
    refused = boolshap.fails("explain", "wide.json", "rows.csv", "-o", "s.csv")
    assert not (boolshap.folder / "s.csv").exists()
    assert "too large to be compiled in passing (60 bits, 13 neurons, by partial-sums" in refused
    assert "boolshap compile MODEL -o CIRCUIT" in refused and "--hidden" in refused
    printed = boolshap.json("compile", "wide.json", "--estimate")
    assert printed["nodes"] is None and printed["nodes_are"] == "unknown" and printed["route"] == "partial-sums"
    assert printed["smaller"]["neurons"] < 13
    text = boolshap("compile", "wide.json", "--estimate").stdout
    assert "neurons would take " in text and "--hidden" in text
    (boolshap.folder / "table.json").write_text(json.dumps(wide(26, 13, 2)))
    printed = boolshap.json("compile", "table.json", "--estimate")
    real = boolshap.json("compile", "table.json", "-o", "table.bsc")
    assert printed["nodes_are"] == "about" and real["nodes"] / 2 < printed["nodes"] < real["nodes"] * 2
    boolshap("compile", "table.json", code=2)
