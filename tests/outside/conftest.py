"""Fixtures: the command under test, circuits and servers that several files share, and shared data (tests are skipped
without it)."""

import contextlib
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import time

import pytest

# Assertions in these modules get pytest's detailed messages, as in tests.
pytest.register_assert_rewrite("asking", "browsing", "serving", "games")

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pytest_collection_modifyitems(items):
    for item in items:
        if {"browser", "firefox"} & set(item.fixturenames):
            item.add_marker("browser")
    items.sort(key=lambda item: not any(item.get_closest_marker(name) for name in ("slow", "browser")))


SMALL_PARENT = """
import os, resource, subprocess, sys, threading
def limit():
    most = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
process = subprocess.Popen(sys.argv[3:], stdout=sys.stderr, preexec_fn=limit)
timer = threading.Timer(float(sys.argv[2]), process.kill)
timer.start()
_, status, usage = os.wait4(process.pid, 0)
timer.cancel()
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss, usage.ru_utime + usage.ru_stime)
"""


def processor_seconds(pid):
    """The processor time of a process. Unlike the clock, it does not depend on the load of the machine."""
    with open(f"/proc/{pid}/stat") as file:
        user, system = file.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def wait_for_handler(process):
    """Waits until the process handles SIGINT. Before that Ctrl-C kills it by default, and our handler is not tested."""
    caught = 1 << (signal.SIGINT - 1)
    end = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < end:
        with open(f"/proc/{process.pid}/status") as file:
            if any(int(line.split()[1], 16) & caught for line in file if line.startswith("SigCgt")):
                return
        time.sleep(0.002)
    raise AssertionError("it never was ready for a signal")


def written_bytes(pid):
    """The number of bytes that a process has written to files without a name; None if it has no such file."""
    sizes = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found = os.stat(f"/proc/{pid}/fd/{number}")
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
                sizes.append(found.st_size)
    return sum(sizes) if sizes else None


class Command:
    """Runs the command in a folder; `.json(...)` parses what it prints, `.fails(...)` expects exit code 1, `.start(...)`
    does not wait for the end."""

    def __init__(self, folder):
        self.folder = folder

    def line(self, arguments):
        return [os.environ.get("BOOLSHAP_BINARY", str(ROOT / "target/debug/boolshap")), *map(str, arguments)]

    def __call__(self, *arguments, code=0):
        done = subprocess.run(self.line(arguments), cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done

    def start(self, *arguments, **options):
        return subprocess.Popen(self.line(arguments), cwd=self.folder, text=True, **options)

    def measured(self, *arguments, mebibytes, seconds=600):
        """Runs with limited address space, and is killed after this time. Returns the exit code, the output, the peak
        memory in MiB, and the processor time. A process's peak includes its parent's memory at the fork, so a small
        parent process starts it instead of these tests."""
        line = [sys.executable, "-S", "-c", SMALL_PARENT, str(mebibytes << 20), str(seconds), *self.line(arguments)]
        with open(self.folder / "said", "w+") as said:
            done = subprocess.run(line, cwd=self.folder, stdout=subprocess.PIPE, stderr=said, text=True)
            said.seek(0)
            code, kibibytes, processor = done.stdout.split()
            return int(code), said.read(), int(kibibytes) / 1024, float(processor)

    def json(self, *arguments):
        return json.loads(self(*arguments, "--json").stdout)

    def fails(self, *arguments):
        return self(*arguments, code=1).stderr


@pytest.fixture
def boolshap(tmp_path):
    """The command, in a fresh folder."""
    return Command(tmp_path)


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The folder that `boolshap demo` writes, made once."""
    made = Command(tmp_path_factory.mktemp("demo"))
    made("demo")
    return made.folder / "boolshap-demo"


@pytest.fixture(scope="session")
def circuits(tmp_path_factory):
    """The circuits of `serving.py` by name, each made once."""
    import serving

    made = {}

    def find(name):
        if name not in made:
            made[name] = serving.make(name, Command(tmp_path_factory.mktemp(name)))
        return made[name]

    return find


@pytest.fixture(scope="session")
def servers(circuits):
    """A server for each of those circuits with its rows, started once; at the end each must shut down cleanly."""
    import serving

    running = {}

    def find(name):
        if name not in running:
            made = circuits(name)
            # The defaults of the API, so that page and API show the same.
            game = ("--distribution", "uniform", "--players", "features")
            running[name] = serving.Server(made.boolshap, made.circuit, *made.rows, *game)
        return running[name]

    yield find
    with contextlib.ExitStack() as ends:
        for server in running.values():
            ends.callback(server.stop)


def find_shared(relative, test):
    folder = os.environ.get("BOOLSHAP_DATA")
    path = pathlib.Path(folder) if folder else ROOT.parent / "shared/data"
    path = path / relative
    if not path.exists():
        assert not folder, f"BOOLSHAP_DATA is set, but {path} is not there"
        if "BOOLSHAP_SKIPPED" in os.environ:
            with open(os.environ["BOOLSHAP_SKIPPED"], "a") as skipped:
                skipped.write(f"{test}: {relative}\n")
        pytest.skip(f"for want of {relative}")
    return path


@pytest.fixture
def shared_data(request):
    """The path of a shared file; without it the test is skipped and counted, or fails if BOOLSHAP_DATA is set."""
    return lambda relative: find_shared(relative, request.node.name)


@pytest.fixture(scope="module")
def browser():
    import browsing
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = browsing.launch(playwright)
        yield browser
        browser.close()
