"""Every question of `boolshap ask` on random sources against the definitions, and every certificate of its answers. All
certificates are valid; changed ones are not, unless they were sealed again and their new claim is true. `make soak`
runs more cases."""

import copy
import hashlib
import json
import os
import random

import numpy as np
import pytest

import questions

SEED = 19
PARTS = 6
CASES = int(os.environ.get("BOOLSHAP_QUESTIONS", 600)) // PARTS
MUTATED = int(os.environ.get("BOOLSHAP_MUTATED", 120))


def certificates_in(boolshap):
    return sorted((boolshap.folder / "certificates").glob("*/*.json")) if (boolshap.folder / "certificates").exists() else []


def check(boolshap, files, code=0):
    """The result of `boolshap check` for each file."""
    names = [str(file.relative_to(boolshap.folder)) for file in files]
    done = boolshap("check", *names, "m.json", "--json", code=code)
    found = json.loads(done.stdout)
    assert [one["file"] for one in found["certificates"]] == names
    assert found["valid"] == (code == 0)
    return found["certificates"]


def sealed(certificate):
    """The certificate with a correct seal: the SHA-256 of everything else."""
    content = json.dumps({**certificate, "seal": ""}, separators=(",", ":"), ensure_ascii=False)
    return {**certificate, "seal": hashlib.sha256(content.encode()).hexdigest()}


def places(value, path=()):
    """The paths to everything inside a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed_value(chance, value):
    """Another value of the same kind, or None."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + chance.choice([-1, 1, 2])
    if isinstance(value, str) and value:
        at = chance.randrange(len(value))
        letters = {"0": "1", "1": "0"}.get(value[at]) or chance.choice("0123456789ab x/")
        return value[:at] + letters + value[at + 1:]
    if isinstance(value, list) and value:
        at = chance.randrange(len(value))
        kind = chance.randrange(3)
        return value[:at] + value[at + 1:] if kind == 0 else [*value, value[at]] if kind == 1 else value[::-1]
    if value is None:
        return chance.choice([0, "1", []])
    return None


def mutated(chance, certificate):
    """The certificate with one change."""
    while True:
        path = chance.choice(list(places(certificate)))
        if not path or path[0] in ("seal", "format", "version"):
            continue
        other = copy.deepcopy(certificate)
        inner = other
        for key in path[:-1]:
            inner = inner[key]
        value = changed_value(chance, inner[path[-1]])
        if value is None or value == inner[path[-1]]:
            continue
        inner[path[-1]] = value
        return other, path


def is_true(certificate, asked):
    try:
        return questions.claim_holds(certificate, asked.world.features, asked.all_answers())
    except (KeyError, IndexError, ValueError, TypeError, ZeroDivisionError, AttributeError):
        return False


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_random_questions(boolshap, part):
    cases, checked, refused, number = 0, 0, 0, 0
    chance = random.Random(part)
    while cases < CASES or checked < CASES // 4 or refused < MUTATED:
        folder = boolshap.folder / str(number)
        folder.mkdir()
        inside = type(boolshap)(folder)
        rng = np.random.default_rng([SEED, part, number])
        number += 1
        asked = questions.Asked(inside, rng)
        try:
            asked.ask_all()
        except AssertionError as error:
            where = f"part {part}, world {number - 1} in {folder}: compile {asked.world.options}"
            raise AssertionError(f"{where}, {asked.line}: {error}") from error
        cases += asked.cases
        files = certificates_in(inside)
        if not files:
            continue
        found = check(inside, files)
        assert all(one["valid"] and one["claim"] for one in found)
        certificates = [json.loads(file.read_text()) for file in files]
        assert all(questions.claim_holds(one, asked.world.features, asked.all_answers()) for one in certificates)
        checked += len(files)
        if refused < MUTATED:
            refused += refuse_mutated(inside, asked, chance, certificates)
    print(f"{cases} cases, {checked} certificates, {refused} changed ones refused")


def refuse_mutated(boolshap, asked, chance, certificates):
    """Changes certificates, with the old seal and with a new one. All with the old seal must be refused; returns their
    number."""
    changed = [mutated(chance, chance.choice(certificates)) for _ in range(30)]
    old, new = [], []
    for number, (certificate, _) in enumerate(changed):
        old.append(boolshap.folder / f"old{number}.json")
        old[-1].write_text(json.dumps(certificate))
        new.append(boolshap.folder / f"new{number}.json")
        new[-1].write_text(json.dumps(sealed(certificate)))
    assert not any(one["valid"] for one in check(boolshap, old, code=1))
    done = boolshap.start("check", *[file.name for file in new], "m.json", "--json", stdout=-1, stderr=-1)
    said, problems = done.communicate()
    assert done.returncode in (0, 1) and "panicked" not in problems, problems
    for one, (certificate, path) in zip(json.loads(said)["certificates"], changed):
        if one["valid"]:
            assert is_true(certificate, asked), (one, path, certificate)
        else:
            assert one["reason"] and one["claim"] is None
    return len(old)


def test_the_definitions_are_dual():
    """Sufficient and contrastive sets are each other's minimal hitting sets; the two definitions are independent
    code."""
    rng = np.random.default_rng(3)
    rows = [tuple(row) for row in np.ndindex(2, 2, 2, 2)]
    for _ in range(30):
        space = questions.Space(list("abcd"), {name: [i] for i, name in enumerate("abcd")},
                                {row: int(rng.integers(2)) for row in rows})
        for entity in rows[::5]:
            reasons, contrasts = space.reasons(entity), space.contrasts(entity)
            hits = [some for some in questions.subsets("abcd") if all(some & one for one in reasons)]
            assert [some for some in hits if not any(other < some for other in hits)] == contrasts
