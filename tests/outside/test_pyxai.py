"""Reasons compared with PyXAI's on decision trees. If the two disagree, all inputs are tried to decide which is right
(`benchmarks/questions.py` fails if boolshap is wrong). PyXAI needs 300 MB of packages, so it has a separate
environment."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMED = os.environ.get("BOOLSHAP_PYXAI_PYTHON")
PYTHON = pathlib.Path(NAMED) if NAMED else ROOT / "target/pyxai/bin/python"


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON.exists(), reason="BOOLSHAP_PYXAI_PYTHON names no Python with pyxai, nor has target/pyxai one")
@pytest.mark.parametrize("seed", [7, 8, 9])
def test_every_disagreement_with_pyxai_is_decided_by_all_inputs(seed, boolshap):
    line = [PYTHON, ROOT / "benchmarks/questions.py", "--seed", str(seed)]
    environment = {**os.environ, "BOOLSHAP_BINARY": boolshap.line([])[0]}
    done = subprocess.run(line, capture_output=True, text=True, env=environment, cwd=boolshap.folder)
    assert done.returncode == 0, done.stderr
    rows, *_ = map(int, re.search(r"(\d+) rows, (\d+) of PyXAI's reasons not minimal, (\d+) other", done.stdout).groups())
    assert rows == 200
