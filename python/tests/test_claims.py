"""Statements of circuit files about themselves are reported as claims; circuits whose soundness cannot be decided."""

import hashlib
import json
import warnings
import zlib

import pytest

import boolshap

MODEL = {
    "format": "boolshap model",
    "version": 1,
    "features": ["a", "b", "c"],
    "hidden": [],
    "marginals": {"rows": 8, "ones": [1, 2, 3]},
    "output": {"step": {"weights": "++-", "need": "2"}},
    "provenance": {"seed": 7},
}


def model(**changes):
    return boolshap.Model.from_json(json.dumps(MODEL | changes))


def changed(content, change):
    """A file with another header and recomputed digest and checksum."""
    length = int.from_bytes(content[21:29], "little")
    header = json.loads(content[29 : 29 + length])
    end = -36 if "proof" in header else -4
    nodes = content[29 + length : end]
    change(header)
    text = json.dumps(header).encode()
    content = content[:21] + len(text).to_bytes(8, "little") + text + nodes
    if "proof" in header:
        content += hashlib.sha256(content).digest()
    return content + zlib.crc32(content).to_bytes(4, "little")


def test_a_proof_in_a_file_is_a_claim_until_it_is_proved_again():
    proved = boolshap.compile(model(), verify=True)
    assert proved.verified["standing"] == "proved" and proved.verified["words"].startswith("yes: ")
    assert proved.verified["digest"] == hashlib.sha256(model().to_json().encode()).hexdigest()
    read = boolshap.Circuit.from_bytes(proved.to_bytes())
    assert read == proved and read.verified["standing"] == "claimed"
    assert read.verified["words"].startswith("claimed by its file: ")
    assert read.verify(model()).verified == proved.verified


def test_a_forged_claim_is_found_out_by_the_model():
    content = boolshap.compile(model()).to_bytes()

    def forge(header):
        header["marginals"]["ones"][0] = 8
        header["proof"] = {"method": "exhaustive", "of": "model", "digest": "0" * 64}

    forged = boolshap.Circuit.from_bytes(changed(content, forge))
    assert forged.verified["standing"] == "claimed"
    with pytest.raises(boolshap.errors.InputError, match="the marginals are not those of the model"):
        forged.verify(model())
    with pytest.raises(boolshap.errors.InputError, match="it is not the network: for a="):
        boolshap.compile(model()).verify(model(output={"step": {"weights": "+++", "need": "2"}}))
    old = boolshap.Circuit.from_bytes(changed(content, lambda header: header["provenance"].update(verified="sat")))
    assert old.verified["standing"] == "claimed without digest" and old.verified["digest"] is None


def wide(nodes, features):
    """A file of these nodes; each is a tag and numbers, and the last one is the root."""
    names = [f"x{k}" for k in range(features)]
    header = {"features": names, "schema": None, "marginals": None, "provenance": {}, "nodes": len(nodes), "root": len(nodes) - 1}
    text = json.dumps(header).encode()
    content = b"boolshap circuit\n" + (2).to_bytes(4, "little") + len(text).to_bytes(8, "little") + text
    for tag, *numbers in nodes:
        content += bytes([tag]) + b"".join(number.to_bytes(4, "little") for number in numbers)
    return content + zlib.crc32(content).to_bytes(4, "little")


def test_an_overlap_over_many_variables_is_refused(tmp_path):
    ands = [[4, 13, *range(13)], [4, 13, *range(13, 26)]]
    content = wide([*([2, 2 * k] for k in range(26)), *ands, [5, 2, 26, 27]], 26)
    (tmp_path / "f.bsc").write_bytes(content)
    for read in (lambda: boolshap.Circuit.from_bytes(content), lambda: boolshap.load(tmp_path / "f.bsc")):
        with pytest.raises(boolshap.errors.BoolshapError, match="is not deterministic"):
            read()


def test_what_cannot_be_decided_is_warned_of():
    """Pigeonhole: "every pigeon has a hole" or "no hole has two pigeons" are never true together, but hard to prove
    so."""
    holes = 11
    nodes, parts = [[0], [1]], [[], []]

    def add(*node):
        nodes.append(list(node))
        return len(nodes) - 1

    for pigeon in range(holes + 1):
        below = 0
        for hole in range(holes):
            below = add(3, pigeon * holes + hole, below, 1)
        parts[0].append(below)
    for hole in range(holes):
        nobody = most_one = 1
        for pigeon in range(holes + 1):
            variable = pigeon * holes + hole
            nobody, most_one = add(3, variable, nobody, 0), add(3, variable, most_one, nobody)
        parts[1].append(most_one)
    add(5, 2, *[add(4, len(part), *part) for part in parts])
    circuit = boolshap.Circuit.from_bytes(wide(nodes, holes * (holes + 1)))
    assert circuit.cautions[0].startswith("it is not known whether 1 or-gate is deterministic")
    with pytest.warns(UserWarning, match="counts and scores are right only if"):
        boolshap.Explainer(circuit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        boolshap.Explainer(boolshap.compile(model()))
