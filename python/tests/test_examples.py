"""The examples run unchanged."""

import os
import pathlib
import subprocess
import sys

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"


def test_quickstart(tmp_path):
    environment = os.environ | {"MPLBACKEND": "Agg"}
    command = [sys.executable, EXAMPLES / "quickstart.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test accuracy 0.9" in done.stdout and "mean radius" in done.stdout
    for picture in ("waterfall.png", "beeswarm.png"):
        assert (tmp_path / picture).stat().st_size > 10_000


def test_tour(tmp_path):
    environment = os.environ | {"MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, EXAMPLES / "tour.py"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("True") == 3 and "scores as images: (4, 8, 8, 1)" in done.stdout
