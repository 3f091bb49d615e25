"""The limits of each method of explaining, network by network, compared with d4 and sharpSAT-TD.

    python benchmarks/reach.py BOOLSHAP PACKAGES NETWORK... [--limit SECONDS] [-o RESULTS.csv]

`boolshap bench reach` asks every question about every network and about random families. For comparison the label of
class 1 is written as a CNF in which every gate is defined by the states of its counter. It is given to two programs
from the PyPI package aspmc (installed in the folder PACKAGES): d4 compiles it, sharpSAT-TD counts its models. Model
counts are compared with those of boolshap's circuit where both exist.
"""

import csv
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recording import target_of

MEMORY = 8 << 30


class Formula:
    """A CNF whose gates are defined in both directions, so that every input has at most one model."""

    def __init__(self, inputs):
        self.variables, self.clauses = inputs, []

    def new(self):
        self.variables += 1
        return self.variables

    def choice(self, variable, high, low):
        """A variable for `variable ? high : low`, where both are variables or constants."""
        if high == low:
            return high
        made = self.new()
        for given, value in ((variable, high), (-variable, low)):
            if isinstance(value, bool):
                self.clauses.append([-given, made if value else -made])
            else:
                self.clauses += [[-given, -made, value], [-given, made, -value]]
        return made

    def threshold(self, weights, inputs, need):
        """Whether the absolute weights of the inputs that have their weight's sign add up to at least `need`."""
        pairs = []
        for weight, variable in zip(weights, inputs, strict=True):
            if isinstance(variable, bool):
                need -= abs(weight) if variable == (weight > 0) else 0
            elif weight:
                pairs.append((weight, variable))
        rest = [0]
        for weight, _ in reversed(pairs):
            rest.append(rest[-1] + abs(weight))
        rest.reverse()
        known = {}

        def node(place, need):
            if need <= 0 or need > rest[place]:
                return need <= 0
            if (place, need) not in known:
                weight, variable = pairs[place]
                literal = variable if weight > 0 else -variable
                known[place, need] = self.choice(literal, node(place + 1, need - abs(weight)), node(place + 1, need))
            return known[place, need]

        return node(0, need)


def numbers(text):
    return [1 if sign == "+" else -1 for sign in text] if set(text) <= set("+-") else [int(part) for part in text.split()]


def formula_of(model, label):
    """"The network answers this class" for argmax networks; equal scores go to the first class."""
    formula = Formula(len(model["features"]))
    values = list(range(1, formula.variables + 1))
    for layer in model["hidden"]:
        values = [formula.threshold(numbers(gate["weights"]), values, int(gate["need"])) for gate in layer]
    scores = [(numbers(score["weights"]), int(score["bias"])) for score in model["output"]["argmax"]]
    own, bias = scores[label]
    for other, (weights, less) in enumerate(scores):
        if other != label:
            # sum of d * s + bias - less > 0, or >= 0 for later classes, over signs s. The sum is twice the weight of
            # the inputs with their weight's sign, minus the sum of |d|.
            difference = [mine - theirs for mine, theirs in zip(own, weights, strict=True)]
            least = less - bias + (1 if other < label else 0) + sum(map(abs, difference))
            wins = formula.threshold(difference, values, -(-least // 2))
            if wins is False:
                return None
            if wins is not True:
                formula.clauses.append([wins])
    return formula


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def counted(command, limit, pattern, folder):
    """The model count that a program prints and its seconds, or the reason why it gave no count."""
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, timeout=limit, cwd=folder, preexec_fn=limited
        )
    except subprocess.TimeoutExpired:
        return None, time.perf_counter() - begin, f"not within {limit:g} seconds"
    found = re.search(pattern, done.stdout, re.M)
    seconds = time.perf_counter() - begin
    return (int(found[1]), seconds, f"{found[1]} inputs") if found else (None, seconds, "ended without an answer")


def beside(program, packages, network, limit):
    """The same label by the other programs."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        subprocess.run([program, "import", network, "-o", folder / "m.json"], check=True, capture_output=True)
        model = json.loads((folder / "m.json").read_text())
        formula = formula_of(model, 1)
        if formula is None:
            return
        lines = [f"p cnf {formula.variables} {len(formula.clauses)}"]
        lines += [" ".join(map(str, [*clause, 0])) for clause in formula.clauses]
        (folder / "f.cnf").write_text("\n".join(lines) + "\n")
        external = Path(packages).resolve() / "aspmc/external"
        sharpsat = external / "sharpsat-td/bin"
        decompose = ["-decot", "1", "-decow", "100", "-tmpdir", folder, "-cs", "3500"]
        runs = {
            "label of class 1 by d4": ([external / "d4/d4_static", "-dDNNF", folder / "f.cnf", f"-out={folder}/c"], r"^s (\d+)$", folder),
            "label of class 1 by sharpSAT-TD": ([sharpsat / "sharpSAT", *decompose, folder / "f.cnf"], r"^c s exact arb int (\d+)$", sharpsat),
        }
        models = {}
        for question, (command, pattern, place) in runs.items():
            models[question], seconds, words = counted(command, limit, pattern, place)
            yield [network.name, question, f"{seconds:.3f}", "", words]
        compiled = subprocess.run(
            [program, "compile", folder / "m.json", "--class", "1", "-o", folder / "c.bsc", "--timeout", str(limit)],
            capture_output=True,
        )
        if compiled.returncode == 0:
            info = json.loads(subprocess.run([program, "info", folder / "c.bsc", "--json"], capture_output=True, check=True).stdout)
            for question, count in models.items():
                if count not in (None, int(info["models"])):
                    raise SystemExit(f"{network.name}: {question} counts {count}, boolshap {info['models']}")


def main(arguments):
    target = target_of(arguments)
    limit = 30.0
    if "--limit" in arguments:
        at = arguments.index("--limit")
        arguments.pop(at)
        limit = float(arguments.pop(at))
    program, packages, *networks = arguments
    command = [program, "bench", "reach", "--json", "--limit", str(limit)]
    reached = []
    # A separate process for each, so that none inherits the memory of another.
    for of in [*([["--networks", network] for network in networks]), []]:
        reached += json.loads(subprocess.run([*command, *of], capture_output=True, text=True, check=True).stdout)["reached"]
    rows = [
        [one["network"], one["question"], f"{one['seconds']:.3f}", one["mebibytes"] or "", one["found"] or f"no: {one['limit']}"]
        for one in reached
    ]
    for network in networks:
        if Path(network).is_dir():
            rows += beside(program, packages, Path(network), limit)
    for row in rows:
        print(*row, sep="  ")
    if target:
        with open(target, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["network", "question", "seconds", "mebibytes", "found"])
            writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
