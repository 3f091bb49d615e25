"""Files are complete or absent, however the program is killed, and runs are reproducible byte for byte."""

import json
import os
import random
import signal
import subprocess
import time

import numpy as np
import pytest

# `make soak` sets a larger number.
KILLS = int(os.environ.get("BOOLSHAP_KILLS", "10"))


def write_model(folder, inputs, hidden, seed):
    chance = random.Random(seed)

    def gate(width):
        return {"weights": "".join(chance.choice("+-") for _ in range(width)), "need": str(width // 2)}

    names = [f"x{i + 1}" for i in range(inputs)]
    network = {"format": "boolshap model", "version": 1, "features": names, "provenance": {}}
    network |= {"hidden": [[gate(inputs) for _ in range(hidden)]], "output": {"step": gate(hidden)}}
    (folder / "m.json").write_text(json.dumps(network))
    return names


def write_rows(folder, names, rows):
    bits = np.random.default_rng(5).integers(0, 2, (rows, len(names)))
    np.savetxt(folder / "e.csv", bits, fmt="%d", delimiter=",", header=",".join(names), comments="")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["compile", "explain"])
def test_a_killed_program_leaves_the_old_file_or_the_new_one(boolshap, command):
    names = write_model(boolshap.folder, 20, 20, 1)
    write_rows(boolshap.folder, names, 3000)
    boolshap("compile", "m.json", "-o", "c.bsc")
    arguments = {
        "compile": ["compile", "m.json", "-o", "out.bsc"],
        "explain": ["explain", "c.bsc", "e.csv", "-o", "out.csv"],
    }[command]
    target = boolshap.folder / arguments[-1]
    start = time.monotonic()
    boolshap(*arguments)
    whole = time.monotonic() - start
    new, old = target.read_bytes(), b"what was there before"
    seen = set()
    chance = random.Random(7)
    for _ in range(KILLS):
        target.write_bytes(old)
        process = boolshap.start(*arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, 1.1 * whole))
        process.send_signal(signal.SIGKILL)
        process.wait()
        left = target.read_bytes()
        assert left in (old, new)
        seen.add(left)
        # An unfinished file has no name. To replace a file, the complete one briefly has another name.
        others = {path.name for path in boolshap.folder.iterdir()} - {"m.json", "e.csv", "c.bsc", target.name}
        assert all(name.startswith(".boolshap-") for name in others)
        for name in others:
            assert (boolshap.folder / name).read_bytes() == new
            (boolshap.folder / name).unlink()
    assert old in seen, "some process was killed before it was done"


@pytest.mark.slow
def test_the_same_bytes_whatever_the_threads(boolshap):
    names = write_model(boolshap.folder, 16, 16, 2)
    write_rows(boolshap.folder, names, 60)
    made = {}
    for threads in (1, 2, 5):
        for run in range(2):
            boolshap("compile", "m.json", "-o", "c.bsc", "--threads", threads)
            files = [(boolshap.folder / "c.bsc").read_bytes()]
            for options in ([], ["--distribution", "background:e.csv"], ["--index", "banzhaf"]):
                boolshap("explain", "c.bsc", "e.csv", "-o", "s.csv", "--threads", threads, *options)
                files.append((boolshap.folder / "s.csv").read_bytes())
            made[threads, run] = files
    first, *others = made.values()
    assert all(files == first for files in others)
    text = first[0].lower()
    assert os.uname().nodename.lower().encode() not in text and str(boolshap.folder).lower().encode() not in text


def test_a_row_has_the_same_scores_alone_and_among_others(boolshap):
    names = write_model(boolshap.folder, 15, 15, 3)
    write_rows(boolshap.folder, names, 40)
    boolshap("compile", "m.json", "-o", "c.bsc")
    header, *rows = (boolshap.folder / "e.csv").read_text().splitlines()
    for options in ([], ["--distribution", "background:e.csv"], ["--players", "columns"]):
        boolshap("explain", "c.bsc", "e.csv", "-o", "s.csv", *options)
        together = (boolshap.folder / "s.csv").read_text().splitlines()[1:]
        for k in (0, 7, 39):
            (boolshap.folder / "one.csv").write_text(f"{header}\n{rows[k]}\n")
            boolshap("explain", "c.bsc", "one.csv", "-o", "t.csv", *options)
            assert (boolshap.folder / "t.csv").read_text().splitlines()[1:] == [together[k]]


@pytest.mark.parametrize("header", ["nnf 1000000000 1000000000 10\n", "nnf 3 2 1000000000\nL 1\n", "p cnf 10 1000000000\n1 0\n"])
def test_what_a_header_claims_is_not_believed(boolshap, header):
    name = "f.nnf" if header.startswith("nnf") else "f.cnf"
    (boolshap.folder / name).write_text(header)
    code, said, _, processor = boolshap.measured("compile", name, "-o", "c.bsc", mebibytes=8192)
    assert code == 1, said
    assert processor < 5 and not (boolshap.folder / "c.bsc").exists()
