"""The command under test, the shared data, and what a test does when that data is not there."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def boolshap(tmp_path):
    """Runs the command in a fresh folder; `.json(...)` parses what it prints, `.fails(...)` expects exit code 1,
    `.start(...)` does not wait for the end."""

    class Command:
        folder = tmp_path

        def line(self, arguments):
            return [os.environ.get("BOOLSHAP_BINARY", str(ROOT / "target/debug/boolshap")), *map(str, arguments)]

        def __call__(self, *arguments, code=0):
            done = subprocess.run(self.line(arguments), cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == code, done.stderr
            return done

        def start(self, *arguments, **options):
            return subprocess.Popen(self.line(arguments), cwd=tmp_path, text=True, **options)

        def json(self, *arguments):
            return json.loads(self(*arguments, "--json").stdout)

        def fails(self, *arguments):
            return self(*arguments, code=1).stderr

    return Command()


@pytest.fixture
def shared_data(request):
    """The path of a shared file; without it the test is skipped and counted, or fails if BOOLSHAP_DATA is set."""

    def find(relative):
        folder = os.environ.get("BOOLSHAP_DATA")
        path = pathlib.Path(folder) if folder else ROOT.parent / "shared/data"
        path = path / relative
        if not path.exists():
            assert not folder, f"BOOLSHAP_DATA is set, but {path} is not there"
            if "BOOLSHAP_SKIPPED" in os.environ:
                with open(os.environ["BOOLSHAP_SKIPPED"], "a") as skipped:
                    skipped.write(f"{request.node.name}: {relative}\n")
            pytest.skip(f"for want of {relative}")
        return path

    return find
