"""Circuit files changed by a forger who can compute checksums and digests: every wrong answer is prevented or
announced. Either the file is refused, or its scores equal those of an oracle that evaluates the file itself, and no
output calls it proved; and `verify` detects everything that differs from the model."""

import hashlib
import json
import os
import random
import subprocess

import pytest
from circuit_files import CircuitFile, scores
from serving import Server

# `make test` runs a fixed set.
FORGED = int(os.environ.get("BOOLSHAP_FORGED", "500"))
FEATURES = ["a", "b", "c", "d", "e"]
ROWS = [0b00000, 0b11111, 0b10110, 0b01001]


def gate(weights, need):
    return {"weights": weights, "need": str(need)}


ORIGIN = {"source": "t.csv", "rows": 40, "test_accuracy": 0.75, "target": {"column": "y", "code": {"above": 1.5}}}
STEP = {
    "format": "boolshap model",
    "version": 1,
    "features": FEATURES,
    "classes": ["low", "high"],
    "schema": [{"column": name, "code": {"above": 0.5 + place}} for place, name in enumerate(FEATURES)],
    "marginals": {"rows": 40, "ones": [3, 10, 20, 31, 40]},
    "hidden": [[gate("+-+-+", 3), gate("++--+", 3), gate("-++++", 4)]],
    "output": {"step": gate("++-", 2)},
    "provenance": ORIGIN,
}
CLASSES = STEP | {
    "classes": ["n", "y", "z"],
    "provenance": {"source": "t.csv", "rows": 40},
    "output": {"argmax": [{"weights": w, "bias": "0"} for w in ("++-", "+-+", "-++")]},
}


def network_table(model, class_):
    """The network's definition, in plain Python: 1 where its answer is the class."""

    def reaches(one, values):
        convenient = sum((sign == "+") == bool(value) for sign, value in zip(one["weights"], values, strict=True))
        return int(convenient >= int(one["need"]))

    table = []
    for number in range(1 << len(FEATURES)):
        values = [number >> j & 1 for j in range(len(FEATURES))]
        for layer in model["hidden"]:
            values = [reaches(one, values) for one in layer]
        if "step" in model["output"]:
            answer = reaches(model["output"]["step"], values)
        else:
            signs = [2 * value - 1 for value in values]
            sums = [
                sum(sign if weight == "+" else -sign for sign, weight in zip(signs, one["weights"], strict=True))
                for one in model["output"]["argmax"]
            ]
            answer = sums.index(max(sums))
        table.append(int(answer == class_))
    return table


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Genuine files with their models: a diagram, gates, classes, a file of the previous version."""
    from conftest import Command

    boolshap = Command(tmp_path_factory.mktemp("originals"))
    (boolshap.folder / "step.json").write_text(json.dumps(STEP))
    (boolshap.folder / "classes.json").write_text(json.dumps(CLASSES))
    made = []
    for name, *options in [
        ("step", "--verify"),
        ("step", "--verify", "--class", "0", "--via", "cnf"),
        ("step", "--via", "cnf", "--smooth", "--fan-in-2"),
        ("classes", "--verify", "--class", "all"),
        ("classes", "--class", "2", "--via", "apply"),
    ]:
        boolshap("compile", f"{name}.json", "-o", "c.bsc", *options)
        made.append((name, CircuitFile((boolshap.folder / "c.bsc").read_bytes())))
    old = made[0][1].copy()
    del old.header["proof"]
    old.header["provenance"]["verified"] = "exhaustive"
    old.version = 1
    made.append(("step", old))
    for _, file in made:
        assert file.write() == CircuitFile(file.write()).write()
    return boolshap, made


# Changes of nodes.


def some_node(chance, file, tags):
    return next((node for node in chance.sample(file.nodes, len(file.nodes)) if node[0] in tags), None)


def some_child(chance, file, node):
    return chance.randrange(max(1, file.nodes.index(node)))


def swap_branches(chance, file):
    if node := some_node(chance, file, [3]):
        node[2], node[3] = node[3], node[2]


def other_variable(chance, file):
    if node := some_node(chance, file, [3]):
        node[1] = chance.randrange(7)


def other_literal(chance, file):
    if node := some_node(chance, file, [2]):
        node[1] = chance.choice([node[1] ^ 1, chance.randrange(12), 1 << 31])


def other_child(chance, file):
    if node := some_node(chance, file, [3, 4, 5]):
        node[chance.randrange(2, len(node))] = some_child(chance, file, node)


def later_child(chance, file):
    """A cycle, or a child that does not exist."""
    if node := some_node(chance, file, [3, 4, 5]):
        at = file.nodes.index(node)
        node[-1] = chance.choice([at, at + 1, len(file.nodes), (1 << 32) - 1])


def other_constant(chance, file):
    if node := some_node(chance, file, [0, 1]):
        node[0] ^= 1


def other_gate(chance, file):
    if node := some_node(chance, file, [4, 5]):
        node[0] ^= 1


def more_children(chance, file):
    if node := some_node(chance, file, [4, 5]):
        node[1] += 1
        node.append(chance.choice([node[-1], some_child(chance, file, node)]))


def fewer_children(chance, file):
    if node := some_node(chance, file, [4, 5]):
        node[1] -= 1
        node.pop()


def wrong_count(chance, file):
    if node := some_node(chance, file, [4, 5]):
        node[1] = chance.choice([0, 1, node[1] + 1, 1 << 20, (1 << 32) - 1])


def wrong_tag(chance, file):
    node = chance.choice(file.nodes)
    node[0] = chance.choice([0, 1, 2, 3, 4, 5, 6, 255])


def new_root(chance, file, node):
    """Adds a parent above the first root, which its words refer to as -1, and above another root, -2."""
    old, other = file.roots()[0], chance.randrange(len(file.nodes))
    root = file.add(*[{-1: old, -2: other}.get(word, word) for word in node])
    file.header["root"] = root
    if file.header.get("classes"):
        file.header["classes"][0][1] = root


def or_on_top(chance, file):
    new_root(chance, file, [5, 2, -1, -2])


def and_on_top(chance, file):
    new_root(chance, file, [4, 2, -1, -2])


def twice_on_top(chance, file):
    new_root(chance, file, [chance.choice([4, 5]), 2, -1, -1])


def decision_on_top(chance, file):
    new_root(chance, file, [3, chance.randrange(6), -1, -2])


def both_literals_on_top(chance, file):
    """x or not x is true; as an and-gate it is false, and not decomposable."""
    x = chance.randrange(5)
    file.add(2, 2 * x)
    file.add(2, 2 * x + 1)
    new_root(chance, file, [chance.choice([4, 5]), 2, len(file.nodes) - 2, len(file.nodes) - 1])


def no_children_on_top(chance, file):
    new_root(chance, file, [chance.choice([4, 5]), 0])


def hidden_overlap(chance, file):
    """(x and y) or (x and z): structure alone does not show the overlap."""
    x, y, z = chance.sample(range(5), 3)
    first = file.add(2, 2 * x)
    file.add(2, 2 * y)
    file.add(2, 2 * z)
    file.add(4, 2, first, first + 1)
    file.add(4, 2, first, first + 2)
    new_root(chance, file, [5, 2, first + 3, first + 4])


def same_variable_below(chance, file):
    x = chance.randrange(5)
    literal = file.add(2, 2 * x)
    file.add(3, (x + 1) % 5, literal, -2 % len(file.nodes))
    new_root(chance, file, [3, x, len(file.nodes) - 1, literal])


def other_root(chance, file):
    root = chance.choice([chance.randrange(len(file.nodes)), len(file.nodes), (1 << 32) - 1, -1])
    file.header["root"] = root
    if file.header.get("classes") and chance.random() < 0.7:
        file.header["classes"][0][1] = root


def unreachable_node(chance, file):
    """An invalid node that no root reaches changes nothing."""
    file.add(4, 2, 0, 0)


def shuffled(chance, file):
    chance.shuffle(file.nodes)


# Changes of the header.


def count_of_nodes(chance, file):
    file.header["nodes"] += chance.choice([-1, 1, 1000, 1 << 60, -(1 << 62)])


def wrong_type(chance, file):
    key = chance.choice(sorted(file.header))
    file.header[key] = chance.choice([None, 1.5, "x", [], {}, True, -1, [[]]])


def unknown_key(chance, file):
    file.header[chance.choice(["deterministic", "sound", "verified", "trusted"])] = True


def missing_key(chance, file):
    del file.header[chance.choice(sorted(file.header))]


def feature_names(chance, file):
    names = file.header["features"]
    one, other = chance.sample(range(5), 2)
    change = chance.choice(["swap", "twice", "rename", "more", "fewer"])
    if change == "swap":
        names[one], names[other] = names[other], names[one]
    elif change == "more":
        names.append("f")
    elif change == "fewer":
        names.pop()
    else:
        names[one] = names[other] if change == "twice" else "other"
    if file.header["schema"] and chance.random() < 0.5:
        for column, name in zip(file.header["schema"], names):
            column["column"] = name


def schema(chance, file):
    columns = file.header["schema"]
    change = chance.choice(["threshold", "none", "swap", "kind", "huge", "fewer"])
    if change == "threshold":
        chance.choice(columns)["code"]["above"] += chance.choice([-1, 0.25, 1e300])
    elif change == "none":
        file.header["schema"] = None
    elif change == "swap":
        columns[0], columns[1] = columns[1], columns[0]
    elif change == "fewer":
        columns.pop()
    else:
        column = chance.choice(columns)
        wrong = [{"categories": ["z", "a"]}, {"bins": [2, 1]}, {"above": None}, "boolean", {"above": 1, "bins": [1]}]
        column["code"] = {"above": 10**400} if change == "huge" else chance.choice(wrong)


def marginals(chance, file):
    found = file.header["marginals"]
    place = chance.randrange(5)
    change = chance.choice(["one", "rows", "above", "none", "negative", "fraction", "huge", "zero", "fewer", "nan"])
    if change == "one":
        found["ones"][place] = chance.randrange(41)
    elif change == "rows":
        found["rows"] = chance.randrange(40, 90)
    elif change == "above":
        found["ones"][place] = found["rows"] + 1
    elif change == "none":
        file.header["marginals"] = None
    elif change == "huge":
        found["rows"] = chance.choice([(1 << 64) - 1, 1 << 64])
    elif change == "zero":
        file.header["marginals"] = {"rows": 0, "ones": [0] * 5}
    elif change == "fewer":
        found["ones"].pop()
    else:
        found["ones"][place] = {"negative": -1, "fraction": 0.5, "nan": float("nan")}[change]


def class_of_label(chance, file):
    file.header["provenance"]["class"] = chance.choice([0, 1, 2, 7, -1, 1 << 40, "1", None, 0.5])


def class_names(chance, file):
    classes = file.header.get("classes")
    if not classes:
        file.header["classes"] = [["n", file.header["root"]], ["y", chance.randrange(len(file.nodes))]]
        return
    one, other = chance.sample(range(len(classes)), 2)
    change = chance.choice(["names", "roots", "both", "twice", "rename", "fewer", "more", "root"])
    if change in ("names", "both"):
        classes[one][0], classes[other][0] = classes[other][0], classes[one][0]
    if change in ("roots", "both"):
        classes[one][1], classes[other][1] = classes[other][1], classes[one][1]
        file.header["root"] = classes[0][1]
    if change == "twice":
        classes[one][0] = classes[other][0]
    if change == "rename":
        classes[one][0] = "other"
    if change == "fewer":
        classes.pop()
    if change == "more":
        classes.append(["more", chance.randrange(len(file.nodes))])
    if change == "root":
        classes[one][1] = chance.randrange(len(file.nodes) + 2)


def verified_claim(chance, file):
    file.header["provenance"]["verified"] = chance.choice(["exhaustive", "sat", "by hand", True, None])


def proof_claim(chance, file):
    digest = hashlib.sha256(chance.randbytes(8)).hexdigest()
    proof = {"method": "exhaustive", "of": "model", "digest": digest}
    change = chance.choice(["claim", "method", "of", "short", "capitals", "more", "digest"])
    if change == "method":
        proof["method"] = chance.choice(["oath", "", "sat+walk", "sat+", "exhaustive "])
    if change == "of":
        proof["of"] = chance.choice(["table", "god", None])
    if change == "short":
        proof["digest"] = digest[:-1]
    if change == "capitals":
        proof["digest"] = digest.upper() + "" if digest.upper() != digest else digest + "0"
    if change == "more":
        proof["by"] = "me"
    if change == "digest":
        file.digest = chance.randbytes(32)
    file.header["proof"] = proof


def no_proof(chance, file):
    file.header.pop("proof", None)


def smooth_claim(chance, file):
    file.header["provenance"]["smooth"] = chance.choice([True, True, False, 1])


def route_claim(chance, file):
    file.header["provenance"]["route"] = chance.choice(["nnf", "cnf", "magic", 5])


def origin(chance, file):
    key, value = chance.choice(
        [
            ("test_accuracy", 0.999),
            ("source", "truth.csv"),
            ("rows", 1_000_000),
            ("target", {"column": "y", "code": {"above": 7}}),
            ("more", "than there was"),
        ]
    )
    file.header["provenance"][key] = value


def other_version(chance, file):
    file.version = chance.choice([0, 1, 3, 1 << 31])


def something_behind(chance, file):
    file.tail = chance.randbytes(chance.randrange(1, 40))


def key_twice(chance, file):
    """Two programs may read such a header in two ways."""
    text = json.dumps(file.header, separators=(",", ":"))
    key = chance.choice(["features", "root", "nodes", "marginals", "schema"])
    file.header_text = text[:-1] + f',"{key}":' + json.dumps(file.header[key]) + "}"


NODES = [
    swap_branches, other_variable, other_literal, other_child, later_child, other_constant, other_gate, more_children,
    fewer_children, wrong_count, wrong_tag, or_on_top, and_on_top, twice_on_top, decision_on_top, both_literals_on_top,
    no_children_on_top, hidden_overlap, same_variable_below, other_root, unreachable_node, shuffled,
]
HEADER = [
    count_of_nodes, wrong_type, unknown_key, missing_key, feature_names, schema, marginals, class_of_label, class_names,
    verified_claim, proof_claim, no_proof, smooth_claim, route_claim, origin, other_version, something_behind, key_twice,
]


def forge(chance, file):
    """One or two changes; half of the time the digest from before the changes is kept."""
    file = file.copy()
    if "proof" in file.header and chance.random() < 0.5:
        content = file.write()
        file.digest = content[-36:-4]
    made = []
    for kind in chance.sample(NODES + HEADER, chance.choice([1, 1, 2])):
        try:
            kind(chance, file)
        except (TypeError, KeyError, IndexError, AttributeError):
            # After the first change the second is not possible.
            continue
        made.append(kind.__name__)
    try:
        return file, file.write(), made
    except (OverflowError, TypeError, ValueError):
        return None


# Expected results.


class Found:
    """The program's output for one file."""

    def __init__(self, boolshap):
        self.boolshap = boolshap

    def run(self, *arguments):
        done = subprocess.run(self.boolshap.line(arguments), cwd=self.boolshap.folder, capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr
        assert "panicked" not in done.stderr and (done.returncode == 0 or "boolshap: " in done.stderr), done.stderr
        return done


def expected_table(file, ask, table, entity):
    header = file.header
    product = header["marginals"] and header["marginals"]["rows"] > 0
    features = len(header["features"])
    ones, rows = (header["marginals"]["ones"], header["marginals"]["rows"]) if product else ([1] * features, 2)
    return scores(table, ones, rows, entity)


def check_scores(found, file, made):
    """Checks that the file is explained in fractions under its own marginals and binarisation, or refused."""
    header = file.header
    features = len(header["features"])
    entities = [[row >> j & 1 for j in range(features)] for row in ROWS]
    raw = header["schema"] is not None and all(list(column["code"]) == ["above"] for column in header["schema"])
    if raw:
        thresholds = [column["code"]["above"] for column in header["schema"]]
        cells = [[repr(t + (1 if bit else -1)) for t, bit in zip(thresholds, entity, strict=True)] for entity in entities]
        # Adding 1 to a huge threshold has no effect in floats.
        entities = [[int(float(c) > t) for c, t in zip(row, thresholds, strict=True)] for row in cells]
    else:
        cells = [[str(bit) for bit in entity] for entity in entities]
    lines = [",".join(header["features"]), *map(",".join, cells)]
    (found.boolshap.folder / "rows.csv").write_text("\n".join(lines) + "\n")
    product = header["marginals"] and header["marginals"]["rows"] > 0
    several = bool(header.get("classes"))
    done = found.run(
        "explain", "f.bsc", "rows.csv", "-o", "s.csv", "--exact", "--input", "raw" if raw else "bits",
        "--distribution", "product" if product else "uniform", *(["--class", "each"] if several else []),
    )
    tables = [file.table(root) for root in file.roots()]
    numbers = [sum(bit << j for j, bit in enumerate(entity)) for entity in entities]
    if several and any(sum(table[number] for table in tables) != 1 for number in numbers):
        assert done.returncode == 1 and "the circuit is wrong" in done.stderr, made
        return
    assert done.returncode == 0, (made, done.stderr)
    lines = (found.boolshap.folder / "s.csv").read_text().splitlines()[1:]
    for entity, number, line in zip(entities, numbers, lines, strict=True):
        label = [table[number] for table in tables].index(1) if several else tables[0][number]
        expected = [str(label)]
        for table in tables:
            base, values = expected_table(file, None, table, entity)
            # With several classes `explained_value` is an additional column.
            expected += [*([str(int(table[number]))] if several else []), str(base), *map(str, values)]
        assert line.split(",") == expected, made


def check_info(done, file, content, made):
    info = json.loads(done.stdout)
    header = file.header
    assert info["features"] == header["features"] and info["marginals"] == header["marginals"]
    counts = [str(sum(file.table(root))) for root in file.roots()]
    said = [one["models"] for one in info["classes"]] if header.get("classes") else [info["models"]]
    assert said == counts, made
    assert info["deterministic"] is True and info["decomposable"] is True
    fits = "proof" in header and hashlib.sha256(content[:-36]).digest() == content[-36:-4]
    bare = "verified" in header["provenance"]
    standing = "claimed" if fits else "refuted" if "proof" in header else "claimed without digest" if bare else "no"
    assert info["verified"]["standing"] == standing, made
    words = info["verified"]["words"]
    assert words.startswith("claimed by its file" if "claimed" in standing else "no: "), words


def is_the_models(file, model):
    """Whether everything that a file states is the model's; omitted entries do not count."""
    header, facts = file.header, dict(file.header["provenance"])
    route, class_ = facts.pop("route", None), facts.pop("class", 1)
    for key in ("smooth", "verified", "model"):
        facts.pop(key, None)
    if facts.pop("classes", model["classes"]) != model["classes"]:
        return False
    of_file = route in ("cnf", "sdd", "nnf", "ddnnf") and list(facts) == ["source"]
    roots = file.roots()
    if header.get("classes"):
        classes = list(range(len(roots)))
        if [name for name, _ in header["classes"]] != model["classes"]:
            return False
    else:
        classes = [class_]
    return (
        header["features"] == model["features"]
        and header["schema"] in (None, model["schema"])
        and header["marginals"] in (None, model["marginals"])
        and (of_file or all(model["provenance"].get(key) == value for key, value in facts.items()))
        and all(class_ < len(model["classes"]) for class_ in classes)
        and [file.table(root) for root in roots] == [network_table(model, class_) for class_ in classes]
    )


@pytest.mark.slow
def test_no_forged_file_has_a_wrong_answer(originals, boolshap):
    folder, made = originals
    models = {"step": STEP, "classes": CLASSES}
    for name in models:
        (boolshap.folder / f"{name}.json").write_bytes((folder.folder / f"{name}.json").read_bytes())
    chance, found = random.Random(17), Found(boolshap)
    seen = {kind.__name__: set() for kind in NODES + HEADER}
    done, fates = 0, {"refused": 0, "the model's": 0, "found out": 0}
    while done < FORGED:
        name, original = made[done % len(made)]
        forged = forge(chance, original)
        if forged is None or forged[1] == original.write():
            continue
        file, content, kinds = forged
        done += 1
        (boolshap.folder / "f.bsc").write_bytes(content)
        info, verified = found.run("info", "f.bsc", "--json"), found.run("verify", f"{name}.json", "f.bsc")
        if info.returncode == 1:
            # The other commands must refuse it too.
            assert verified.returncode == 1
            if done % 10 == 0:
                (boolshap.folder / "rows.csv").write_text(",".join(FEATURES) + "\n1,0,1,1,0\n")
                for line in (["explain", "f.bsc", "rows.csv"], ["report", "f.bsc", "rows.csv", "-o", "r.html"]):
                    assert found.run(*line).returncode == 1
            fate = "refused"
        else:
            # Omitted entries are unknown.
            file.header = {"schema": None, "marginals": None} | json.loads(json.dumps(file.header))
            check_info(info, file, content, kinds)
            check_scores(found, file, kinds)
            same = is_the_models(file, models[name])
            assert verified.returncode == (0 if same else 1), (kinds, verified.stderr)
            if done % 10 == 0:
                no_yes_in_a_report(found)
            fate = "the model's" if same else "found out"
        fates[fate] += 1
        for kind in kinds:
            seen[kind].add(fate)
    assert done < 500 or all(seen.values()), seen
    assert min(fates.values()) >= done // 20, fates


def no_yes_in_a_report(found):
    done = found.run("report", "f.bsc", "rows.csv", "-o", "r.html", "--input", "auto")
    if done.returncode == 0:
        page = (found.boolshap.folder / "r.html").read_text()
        said = page.split('["Verified","', 1)[1].split('"', 1)[0]
        assert said.startswith(("no: ", "claimed by its file")), said


def conjunctions(file, *lists):
    """An or-gate of and-gates of literals, as DIMACS numbers."""
    gates = []
    for literals in lists:
        first = [file.add(2, 2 * abs(lit) - 2 + (lit < 0)) for lit in literals]
        gates.append(file.add(4, len(first), *first))
    return file.add(5, len(gates), *gates)


def wide(original, features):
    """A file with features and without nodes that claims to be proved."""
    file = original.copy()
    names = [f"x{j + 1}" for j in range(features)]
    proof = {"method": "exhaustive", "of": "model", "digest": "0" * 64}
    file.nodes, file.digest = [], None
    file.header = {"features": names, "schema": None, "marginals": None, "provenance": {}, "nodes": 0, "root": 0, "proof": proof}
    return file


def overlap_over_26(file):
    return conjunctions(file, range(1, 14), range(14, 27))


def overlap_in_one_input_of_2_to_60(file):
    return conjunctions(file, range(1, 40), range(20, 61))


def overlap_behind_a_decision(file):
    return file.add(3, 63, file.add(0), conjunctions(file, range(1, 14), range(14, 27)))


def overlap_of_the_last_child(file):
    """Each child excludes the next child, but not the last one."""
    lists = [[*range(1, k), -k] for k in range(1, 40)] + [[40, 41, 42, -1]]
    return conjunctions(file, *lists)


def overlap_below_shared_nodes(file):
    inner = conjunctions(file, range(1, 14), range(14, 27))
    literal = file.add(2, 2 * 40)
    other = file.add(2, 2 * 40 + 1)
    return file.add(5, 2, file.add(4, 2, literal, inner), file.add(4, 2, other, inner))


def shared_variable_far_below(file):
    """An and-gate whose two long chains meet in one variable at their ends."""
    chains = []
    for variables in (range(0, 30), [*range(30, 60), 29]):
        below = file.add(1)
        for variable in reversed(variables):
            below = file.add(3, variable, file.add(0), below)
        chains.append(below)
    return file.add(4, 2, *chains)


def decision_asked_again_far_below(file):
    below = file.add(2, 0)
    for variable in range(1, 40):
        below = file.add(3, variable, below, file.add(1))
    return file.add(3, 0, below, file.add(1))


UNSOUND = [
    overlap_over_26, overlap_in_one_input_of_2_to_60, overlap_behind_a_decision, overlap_of_the_last_child,
    overlap_below_shared_nodes, shared_variable_far_below, decision_asked_again_far_below,
]


@pytest.mark.parametrize("make", UNSOUND, ids=lambda make: make.__name__)
def test_wide_circuits_that_are_not_sound_are_refused_at_every_door(originals, boolshap, make):
    file = wide(originals[1][0][1], 64)
    file.header["root"] = make(file)
    (boolshap.folder / "f.bsc").write_bytes(file.write())
    names = file.header["features"]
    (boolshap.folder / "rows.csv").write_text(",".join(names) + "\n" + ",".join("1" * 64) + "\n")
    for line in (
        ["info", "f.bsc"],
        ["explain", "f.bsc", "rows.csv"],
        ["report", "f.bsc", "rows.csv", "-o", "r.html"],
        ["predict", "f.bsc", "rows.csv", "-o", "p.csv"],
        ["convert", "f.bsc", "-o", "f.nnf"],
        ["serve", "f.bsc", "--listen", "127.0.0.1:0"],
    ):
        said = boolshap(*line, code=1).stderr
        assert "is not deterministic" in said or "is not decomposable" in said, said


def test_wide_circuits_that_are_sound_are_read(originals, boolshap):
    """The same shapes with the overlap taken away."""
    for lists, models in [
        (([*range(1, 14)], [-1, *range(14, 27)]), 2**51 + 2**50),
        (([*range(1, 40)], [-30, *range(40, 61)]), 2**25 + 2**42),
        (([*range(1, k), -k] for k in range(1, 65)), 2**64 - 1),
    ]:
        file = wide(originals[1][0][1], 64)
        file.header["root"] = conjunctions(file, *lists)
        (boolshap.folder / "f.bsc").write_bytes(file.write())
        info = boolshap.json("info", "f.bsc")
        assert (info["deterministic"], info["models"]) == (True, str(models))


def pigeons(file, holes):
    """Pigeonhole: "every pigeon has a hole" or "no hole has two pigeons". With one more pigeon than holes these are
    never true together, which is hard for every solver. Both parts are decomposable, by pigeons and by holes."""
    no, yes = file.add(0), file.add(1)
    sits = []
    for pigeon in range(holes + 1):
        below = no
        for hole in range(holes):
            below = file.add(3, pigeon * holes + hole, below, yes)
        sits.append(below)
    alone = []
    for hole in range(holes):
        nobody = at_most_one = yes
        for pigeon in range(holes + 1):
            variable = pigeon * holes + hole
            # Of the pigeons so far, none or at most one is in this hole.
            nobody, at_most_one = file.add(3, variable, nobody, no), file.add(3, variable, at_most_one, nobody)
        alone.append(at_most_one)
    return file.add(5, 2, file.add(4, len(sits), *sits), file.add(4, len(alone), *alone))


@pytest.mark.slow
def test_what_cannot_be_decided_is_announced_on_every_result(originals, boolshap):
    holes = 11
    file = wide(originals[1][0][1], holes * (holes + 1))
    file.header["root"] = pigeons(file, holes)
    (boolshap.folder / "f.bsc").write_bytes(file.write())
    announced = "it is not known whether 1 or-gate is deterministic"
    info = boolshap.json("info", "f.bsc")
    assert info["deterministic"] is None and announced in info["notes"][0]
    assert info["models"] == str((2**holes - 1) ** (holes + 1) + (holes + 2) ** holes)
    text = boolshap("info", "f.bsc")
    assert announced in text.stderr and "inputs, if it is deterministic" in text.stdout
    names = file.header["features"]
    (boolshap.folder / "rows.csv").write_text(",".join(names) + "\n" + ",".join("1" * len(names)) + "\n")
    assert announced in boolshap("explain", "f.bsc", "rows.csv", "-o", "s.csv").stderr
    assert announced in boolshap.json("explain", "f.bsc", "rows.csv", "-o", "s.csv")["caution"]
    boolshap("report", "f.bsc", "rows.csv", "-o", "r.html")
    assert '["Caution","' + announced in (boolshap.folder / "r.html").read_text()
    with Server(boolshap, "f.bsc") as server:
        assert announced in server.get("/api/model").json()["cautions"][0]
        assert announced in server.explain([[1] * len(names)])["cautions"][0]
    # Compiling refuses a file that it cannot decide.
    assert announced in boolshap("convert", "f.bsc", "-o", "f.nnf").stderr
    said = boolshap("compile", "f.nnf", "-o", "c.bsc", "--timeout", "1", code=1).stderr
    assert "the time limit of 1 seconds has passed" in said


@pytest.mark.parametrize("ending", ["nnf", "ddnnf"])
def test_an_overlap_over_many_variables_does_not_compile(boolshap, ending):
    """AND(x1..x13) OR AND(x14..x26), and the same without the overlap, in the formats of c2d and d4."""
    for second, models in [(range(14, 27), None), ([-1, *range(14, 27)], 2**13 + 2**12)]:
        gates = [list(range(1, 14)), list(second)]
        if ending == "nnf":
            lines, ids = [], []
            for gate in gates:
                first = len(lines)
                lines += [f"L {literal}" for literal in gate]
                lines.append(f"A {len(gate)} " + " ".join(str(first + k) for k in range(len(gate))))
                ids.append(len(lines) - 1)
            lines.append(f"O 0 2 {ids[0]} {ids[1]}")
            text = f"nnf {len(lines)} {sum(map(len, gates)) + 2} 26\n" + "\n".join(lines) + "\n"
        else:
            arcs = [f"1 2 {' '.join(map(str, gate))} 0" for gate in gates]
            text = "\n".join(["o 1 0", "t 2 0", *arcs]) + "\n"
        (boolshap.folder / f"f.{ending}").write_text(text)
        line = ["compile", f"f.{ending}", "-o", "c.bsc", "--variables", "26"]
        if models is None:
            said = boolshap(*line, code=1).stderr
            assert "is not deterministic" in said and not (boolshap.folder / "c.bsc").exists()
        else:
            boolshap(*line)
            assert boolshap.json("info", "c.bsc")["models"] == str(models)
