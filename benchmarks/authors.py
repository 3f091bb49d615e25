"""The open-box algorithm of the paper in plain Python, for comparison with the engine `paper`.

Arenas, Barcelo, Bertossi and Monet (JMLR 2023, page 18) on the circuit that Bertossi and Leon use: a deterministic,
decomposable and smooth circuit of fan-in 2, expanded into a tree as their Algorithm 1 leaves it. Written from the two
papers for readability, with nothing but the standard library.

    python benchmarks/authors.py CIRCUIT.nnf ENTITIES.csv [--entities N] [--graph] [--scores OUT.csv]

CIRCUIT.nnf is a c2d NNF file that is smooth and has fan-in 2 (`boolshap convert --smooth --fan-in-2`). Prints one JSON
object: the number of nodes and the median seconds per entity for the scores of all features. `--graph` keeps shared nodes
shared, which is faster than the authors' tree.
"""

import argparse
import csv
import json
import math
import statistics
import sys
import time


class Node:
    """A gate or a leaf: kind 'literal', 'constant', 'and' or 'or'."""

    def __init__(self, kind, value=None, children=()):
        self.kind = kind
        self.value = value
        self.children = children
        if kind == "literal":
            self.variables = frozenset([abs(value)])
        else:
            self.variables = frozenset().union(*(child.variables for child in children))


def read_nnf(path, expand):
    """The root of an NNF file. With `expand`, a shared node is copied for every use."""
    with open(path) as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("c")]
    variables = int(lines[0][3])
    nodes = []

    def build(words):
        if words[0] == "L":
            return Node("literal", int(words[1]))
        kind, first = ("and", 2) if words[0] == "A" else ("or", 3)
        children = [int(word) for word in words[first:]]
        if not children:
            return Node("constant", kind == "and")
        assert len(children) <= 2, "the circuit has a gate of more than two children"
        children = tuple(copy(nodes[child]) if expand else nodes[child] for child in children)
        assert kind == "and" or all(c.variables == children[0].variables for c in children), "not smooth"
        return Node(kind, None, children)

    def copy(node):
        return Node(node.kind, node.value, tuple(copy(child) for child in node.children))

    for words in lines[1:]:
        nodes.append(build(words))
    return nodes[-1], variables


def count(node, seen):
    """The number of nodes at or below this one."""
    if id(node) in seen:
        return 0
    seen.add(id(node))
    return 1 + sum(count(child, seen) for child in node.children)


def vectors(node, feature, entity, p, memo):
    """The vectors gamma and delta of a node: for the feature set to 1, and to 0."""
    if id(node) in memo:
        return memo[id(node)]
    if node.kind == "constant":
        gamma = delta = [float(node.value)]
    elif node.kind == "literal":
        variable, positive = abs(node.value), node.value > 0
        if variable == feature:
            gamma, delta = [float(positive)], [float(not positive)]
        else:
            chance, value = p[variable - 1], float(entity[variable - 1])
            gamma = delta = [chance, value] if positive else [1 - chance, 1 - value]
    else:
        parts = [vectors(child, feature, entity, p, memo) for child in node.children]
        if len(parts) == 1:
            gamma, delta = parts[0]
        else:
            join = multiply if node.kind == "and" else add
            gamma = join(parts[0][0], parts[1][0])
            delta = join(parts[0][1], parts[1][1])
    memo[id(node)] = gamma, delta
    return gamma, delta


def add(one, other):
    return [a + b for a, b in zip(one, other)]


def multiply(one, other):
    product = [0.0] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            product[i + j] += a * b
    return product


def shap(root, feature, entity, p):
    """The SHAP score of one feature (numbered from 1) of one entity."""
    if feature not in root.variables:
        return 0.0
    n = len(root.variables)
    gamma, delta = vectors(root, feature, entity, p, {})
    total = 0.0
    for k in range(n):
        weight = math.factorial(k) * math.factorial(n - k - 1) / math.factorial(n)
        total += weight * (gamma[k] - delta[k])
    return (entity[feature - 1] - p[feature - 1]) * total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("circuit")
    parser.add_argument("entities")
    parser.add_argument("--entities", dest="limit", type=int, default=None, help="how many rows to explain")
    parser.add_argument("--graph", action="store_true", help="keep shared nodes shared")
    parser.add_argument("--scores", help="write the scores to this CSV file")
    arguments = parser.parse_args()
    sys.setrecursionlimit(100_000)

    root, variables = read_nnf(arguments.circuit, expand=not arguments.graph)
    with open(arguments.entities, newline="") as file:
        header, *rows = csv.reader(file)
    entities = [[int(value) for value in row] for row in rows[: arguments.limit]]
    p = [0.5] * variables

    scores, seconds = [], []
    for entity in entities:
        start = time.perf_counter()
        scores.append([shap(root, feature, entity, p) for feature in range(1, variables + 1)])
        seconds.append(time.perf_counter() - start)

    if arguments.scores:
        with open(arguments.scores, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(scores)
    nodes = count(root, set())
    result = {"nodes": nodes, "entities": len(entities), "seconds": sum(seconds)}
    print(json.dumps(result | {"seconds_per_entity": statistics.median(seconds)}))


if __name__ == "__main__":
    main()
