"""Destinations of results: standard output under any name, read-only files, inputs, and no leftovers after signals."""

import json
import os
import resource
import signal
import subprocess
import time

import pytest

from conftest import wait_for_handler, written_bytes

# A circuit of 14 features, and rows that give megabytes of scores.
FEATURES = 14
NAMES = [f"x{i + 1}" for i in range(FEATURES)]
MODEL = {
    "format": "boolshap model", "version": 1, "features": NAMES[:3], "provenance": {},
    "hidden": [], "output": {"step": {"weights": "+++", "need": "2"}},
}


@pytest.fixture
def files(boolshap):
    folder = boolshap.folder
    (folder / "f.cnf").write_text(f"p cnf {FEATURES} 3\n1 2 0\n3 4 0\n-5 6 0\n")
    (folder / "m.json").write_text(json.dumps(MODEL))
    (folder / "rows.csv").write_text(",".join(NAMES) + "\n" + "0,1,1,0,1,1,0,0,0,1,0,1,0,1\n" * 3)
    (folder / "table.csv").write_text("x1,x2,x3,y\n" + "0,0,1,0\n1,1,0,1\n0,1,1,1\n1,0,0,0\n" * 3)
    (folder / "players.csv").write_text("feature,player\n" + "".join(f"{name},{name}\n" for name in NAMES))
    (folder / "product.csv").write_text("feature,probability\n" + "".join(f"{name},0.5\n" for name in NAMES))
    (folder / "schema.json").write_text('{"x1": "boolean"}')
    boolshap("compile", "f.cnf", "-o", "c.bsc")
    boolshap("compile", "m.json", "-o", "m.bsc")
    boolshap("compile", "f.cnf", "-o", "f.sdd")
    (folder / "timings.json").write_text(boolshap("compile", "f.cnf", "-o", "c.bsc", "--json").stdout)
    for name in ("blk1", "out_blk"):
        (folder / "net" / name).mkdir(parents=True)
        (folder / "net" / name / "lin_weight.csv").write_text("1,-1\n-1,1\n")
        (folder / "net" / name / "lin_bias.csv").write_text("0,0.5\n")
    for name, value in {"weight": 1, "bias": 0, "mean": 0, "var": 1}.items():
        (folder / "net" / "blk1" / f"bn_{name}.csv").write_text(f"{value},{value}\n")
    return boolshap


COMMANDS = {
    "explain": "explain c.bsc rows.csv -o OUT.csv",
    "explain to parquet": "explain c.bsc rows.csv -o OUT.parquet",
    "predict": "predict c.bsc rows.csv -o OUT.csv",
    "compile": "compile f.cnf -o OUT.bsc",
    "compile to an SDD": "compile f.cnf -o OUT.sdd",
    "convert": "convert c.bsc -o OUT.nnf",
    "encode": "encode f.cnf -o OUT.cnf",
    "train": "train table.csv --target y -o OUT.json --hidden 2",
    "tally": "train table.csv --target y -o other.json --tally OUT.csv --hidden 2",
    "import": "import net -o OUT.json --bn-epsilon 0",
    "report": "report c.bsc rows.csv -o OUT.html",
    "figure": "report c.bsc rows.csv -o OUT.svg",
    "proof": "verify m.json m.bsc --proof OUT.lrat",
    "bench": "bench paper --figure OUT.svg",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", COMMANDS)
def test_a_read_only_file_is_not_replaced(files, what):
    line = COMMANDS[what].split()
    name = next(word for word in line if word.startswith("OUT"))
    path = files.folder / name
    path.write_text("to be kept")
    path.chmod(0o444)
    said = files(*line, code=1).stderr
    assert f"{name}: the file is read-only" in said
    assert path.read_text() == "to be kept"
    path.chmod(0o640)
    files(*line)
    assert path.stat().st_mode & 0o777 == 0o640 and path.read_bytes() != b"to be kept"
    assert not [name for name in os.listdir(files.folder) if name.startswith(".boolshap")]


# A command with an output, and each of its inputs that the output could replace.
INPUTS = {
    "explain c.bsc rows.csv -o {}": ["c.bsc", "rows.csv"],
    "explain c.bsc - -o {}": ["c.bsc", "rows.csv"],
    "explain c.bsc rows.csv --distribution product:product.csv -o {}": ["product.csv"],
    "explain c.bsc rows.csv --distribution background:other.csv -o {}": ["other.csv"],
    "explain c.bsc rows.csv --distribution empirical:other.csv -o {}": ["other.csv"],
    "explain c.bsc rows.csv --players players.csv -o {}": ["players.csv"],
    "explain c.bsc rows.csv --constraint f.cnf -o {}": ["f.cnf"],
    "predict c.bsc rows.csv -o {}": ["c.bsc", "rows.csv"],
    "predict m.json rows.csv -o {}": ["m.json"],
    "report c.bsc rows.csv --players players.csv --timings timings.json -o {}": [
        "c.bsc", "rows.csv", "players.csv", "timings.json",
    ],
    "report c.bsc rows.csv --format svg --distribution background:other.csv -o {}": ["other.csv"],
    "compile m.json --features names.csv -o {}": ["m.json", "names.csv"],
    "compile f.sdd -o {}": ["f.sdd", "f.vtree"],
    "convert c.bsc -o {}": ["c.nnf"],
    "encode f.cnf -o {}": ["f.cnf"],
    "train table.csv --target y --schema schema.json -o {}": ["table.csv", "schema.json"],
    "train table.csv --target y --schema schema.json -o new.json --tally {}": ["table.csv", "schema.json"],
    "import net --features names.csv -o {}": ["names.csv", "net/blk1/lin_weight.csv", "net/out_blk/lin_bias.csv"],
    "verify m.json m.bsc --proof {}": ["m.json", "m.bsc"],
}


@pytest.mark.parametrize("line", INPUTS)
def test_an_output_is_never_an_input(files, line):
    folder = files.folder
    (folder / "other.csv").write_bytes((folder / "rows.csv").read_bytes())
    (folder / "names.csv").write_text("a,b,c\n")
    os.link(folder / "c.bsc", folder / "c.nnf")
    (folder / "sub").mkdir()
    for name in INPUTS[line]:
        content = (folder / name).read_bytes()
        ending = os.path.splitext(name)[1]
        os.link(folder / name, folder / f"hard{ending}")
        os.symlink(folder / name, folder / f"soft{ending}")
        os.symlink(f"soft{ending}", folder / f"softer{ending}")
        spellings = [name, f"./{name}", f"sub/../{name}", folder / name, f"hard{ending}", f"soft{ending}", f"softer{ending}"]
        for spelling in spellings:
            words = [word.replace("{}", str(spelling)) for word in line.split()]
            with open(folder / "rows.csv") as rows:
                process = files.start(*words, stdin=rows, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                said = process.communicate()[1]
            assert process.returncode == 1 and "this is an input" in said, f"{spelling}: {said}"
            assert (folder / name).read_bytes() == content
        [(folder / f"{kind}{ending}").unlink() for kind in ("hard", "soft", "softer")]


def test_standard_output_is_never_an_input(files):
    """`explain c.bsc rows.csv -o - >> rows.csv` would read its own output forever."""
    content = (files.folder / "rows.csv").read_bytes()
    for spelling in ["-", "/dev/stdout", "/dev/fd/1"]:
        with open(files.folder / "rows.csv", "ab") as rows:
            process = files.start("explain", "c.bsc", "rows.csv", "-o", spelling, stdout=rows, stderr=subprocess.PIPE)
            said = process.communicate()[1]
        assert process.returncode == 1 and "this is an input" in said
    assert (files.folder / "rows.csv").read_bytes() == content


def test_two_results_do_not_share_a_file(files):
    for tally in ["new.json", "./new.json", "soft"]:
        if tally == "soft":
            (files.folder / "new.json").write_text("old")
            os.symlink("new.json", files.folder / "soft")
        said = files.fails("train", "table.csv", "--target", "y", "-o", "new.json", "--tally", tally)
        assert "two results cannot be written to one file" in said
    # The clauses of a proof are written beside it.
    os.link(files.folder / "m.bsc", files.folder / "p.cnf")
    assert "this is an input" in files.fails("verify", "m.json", "m.bsc", "--proof", "p")
    # An SDD comes with its vtree.
    (files.folder / "new.sdd").write_text("")
    os.link(files.folder / "f.cnf", files.folder / "new.vtree")
    assert "this is an input" in files.fails("compile", "f.cnf", "-o", "new.sdd")


def spellings(path):
    return ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1", "link", "./out", path]


@pytest.mark.parametrize("what", ["explain", "predict", "encode"])
@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_standard_output_in_a_file_holds_the_table_and_nothing_else(files, what, mode):
    line = COMMANDS[what].split()
    files(*line)
    name = next(word for word in line if word.startswith("OUT"))
    expected = (files.folder / name).read_bytes()
    os.symlink("/dev/stdout", files.folder / "link")
    for spelling in spellings(files.folder / "out"):
        for more in [[], ["--json"]] if what == "explain" else [[]]:
            (files.folder / "out").write_bytes(b"before\n")
            with open(files.folder / "out", mode) as out:
                words = [spelling if word == name else word for word in line]
                process = files.start(*words, *more, stdout=out, stderr=subprocess.PIPE)
                said = process.communicate()[1]
            assert process.returncode == 0, said
            before = b"before\n" if mode == "ab" else b""
            assert (files.folder / "out").read_bytes() == before + expected, spelling
            assert ("explained in" if what == "explain" and not more else "") in said and said
            if more:
                assert json.loads(said)["rows"] == 3


def test_standard_output_in_a_pipe_and_standard_error_in_a_file(files):
    files(*COMMANDS["explain"].split())
    expected = (files.folder / "OUT.csv").read_text()
    for spelling in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]:
        done = files("explain", "c.bsc", "rows.csv", "-o", spelling)
        assert done.stdout == expected and "explained in" in done.stderr
    # Messages and the table share standard error, one after the other.
    for spelling in ["/dev/stderr", "/dev/fd/2", "/proc/self/fd/2", "log"]:
        with open(files.folder / "log", "wb") as log:
            log.write(b"first\n")
            log.flush()
            process = files.start("explain", "c.bsc", "rows.csv", "-o", spelling, stdout=subprocess.PIPE, stderr=log)
            printed = process.communicate()[0]
        assert process.returncode == 0 and "explained in" in printed
        assert (files.folder / "log").read_text() == "first\n" + expected, spelling


def test_a_shell_finds_what_it_writes_behind_the_table(files):
    """The file position is shared with the shell that redirected the output."""
    binary = files.line([])[0]
    script = f"echo first; '{binary}' predict c.bsc rows.csv -o /dev/fd/1; echo last"
    done = subprocess.run(["sh", "-c", f"({script}) > out"], cwd=files.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (files.folder / "out").read_text() == "first\nprediction\n1\n1\n1\nlast\n"


def is_enough(written, enough):
    return written is not None and written >= enough


def default_signals():
    """Resets signal settings inherited from a background shell or `nohup`."""
    for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGXCPU"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


LONG = {
    "CSV": ["explain", "c.bsc", "-", "-o", "out.csv"],
    "Parquet": ["explain", "c.bsc", "-", "-o", "out.parquet"],
    "predictions": ["predict", "c.bsc", "/dev/stdin", "-o", "out.csv"],
}


@pytest.mark.slow
@pytest.mark.parametrize("what", LONG)
@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGXCPU", "SIGUSR1", "SIGKILL"])
def test_no_signal_leaves_a_file(files, what, name):
    """The rows never end, so the work never ends; its partial output must disappear."""
    number = getattr(signal, name)
    target = files.folder / next(word for word in LONG[what] if word.startswith("out."))
    target.write_text("what was there before")
    before = sorted(os.listdir(files.folder))
    end, start = os.pipe()
    feeder = subprocess.Popen(
        ["sh", "-c", f"echo {','.join(NAMES)}; exec yes 0,1,1,0,1,1,0,0,0,1,0,1,0,1"], stdout=start
    )
    os.close(start)
    process = files.start(
        *LONG[what], stdin=end, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=default_signals
    )
    os.close(end)
    try:
        # Parquet is written in groups of 64 MiB, so it is enough that the file exists.
        enough = 0 if what == "Parquet" else 1 << 20
        while process.poll() is None and not is_enough(written_bytes(process.pid), enough):
            time.sleep(0.01)
        assert process.poll() is None, process.stderr.read()
        process.send_signal(number)
        process.wait(timeout=120)
        caught = name not in ("SIGUSR1", "SIGKILL")
        assert process.returncode == (128 + number if caught else -number)
        assert sorted(os.listdir(files.folder)) == before
        assert target.read_text() == "what was there before"
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
        feeder.kill()
        feeder.wait()


def test_a_file_beyond_the_limit_of_its_size_is_an_error(files):
    def limit():
        default_signals()
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    (files.folder / "many.csv").write_text(",".join(NAMES) + "\n" + "0,1,1,0,1,1,0,0,0,1,0,1,0,1\n" * 1000)
    before = sorted(os.listdir(files.folder))
    for line in ["explain c.bsc many.csv -o out.csv", "explain c.bsc many.csv -o out.parquet", "report c.bsc rows.csv -o r.html"]:
        process = files.start(*line.split(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit)
        said = process.communicate()[1]
        assert process.returncode == 1 and "File too large" in said, said
        assert sorted(os.listdir(files.folder)) == before


def test_a_program_under_nohup_goes_on(files):
    process = files.start(
        "explain", "c.bsc", "-", "-o", "out.csv",
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    wait_for_handler(process)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    process.stdin.write(",".join(NAMES) + "\n0,1,1,0,1,1,0,0,0,1,0,1,0,1\n")
    assert process.communicate()[1].count("\n") <= 1 and process.returncode == 0
    assert len((files.folder / "out.csv").read_text().splitlines()) == 2


def test_many_variables_without_clauses_take_linear_time(boolshap):
    """16,000 variables once took 200 s. Each step takes less than a second, so a slow machine passes, too."""
    many = 100_000
    (boolshap.folder / "unit.cnf").write_text(f"p cnf {many} 1\n70000 0\n")
    (boolshap.folder / "none.cnf").write_text(f"p cnf {many} 0\n")
    (boolshap.folder / "few.cnf").write_text(f"p cnf {many} 3\n1 50000 0\n-50000 99999 0\n7 -1 0\n")
    spent = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    begin = spent()
    for name, models in {"unit": 1 << (many - 1), "none": 1 << many, "few": None}.items():
        found = boolshap.json("compile", f"{name}.cnf", "-o", "c.bsc")
        assert found["nodes"] <= 12
        info = boolshap.json("info", "c.bsc")
        if models is not None:
            # By default Python refuses to print numbers of this size.
            assert info["models"][-9:] == str(models % 10**9).zfill(9) and len(info["models"]) > 30_000
    assert spent() - begin < 60


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM", "SIGXCPU"])
def test_a_signal_removes_folders_for_temporary_files(boolshap, name):
    """The measurement keeps its tables in a temporary folder, under names."""
    spare = boolshap.folder / "spare"
    spare.mkdir()
    process = boolshap.start(
        "bench", "stream", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(spare)}, preexec_fn=default_signals,
    )
    try:
        while process.poll() is None and not os.listdir(spare):
            time.sleep(0.01)
        process.send_signal(getattr(signal, name))
        assert process.wait(timeout=120) == 128 + getattr(signal, name)
        assert os.listdir(spare) == []
    finally:
        process.kill()
        process.wait()
