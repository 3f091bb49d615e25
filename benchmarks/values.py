"""The scores of a 784-100-10 network's scores compared with shap:

    values.py BOOLSHAP MODEL.json [IMAGES.txt] [-o RESULTS.csv]

The model comes from `boolshap import`; without images, random ones are used. One run has this package
against 100 background images, and shap's PermutationExplainer on the same network in numpy with growing numbers of
evaluations, each with its distance from the exact scores."""

import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from recording import record, target_of

BACKGROUND, EXPLAINED = 100, 3
PACKAGES = ("numpy", "shap")


def network(model):
    """The network's scores on rows of bits, in numpy."""
    signs = [np.array([[1.0 if s == "+" else -1.0 for s in gate["weights"]] for gate in layer]) for layer in model["hidden"]]
    needs = [np.array([float(gate["need"]) for gate in layer]) for layer in model["hidden"]]
    last = np.array([[float(w) for w in one["weights"].split()] if " " in one["weights"] else [1.0 if s == "+" else -1.0 for s in one["weights"]] for one in model["output"]["argmax"]])
    scales = model.get("scales") or [{"unit": "1", "bias": one["bias"]} for one in model["output"]["argmax"]]
    unit, bias = (np.array([eval(scale[key]) for scale in scales], dtype=float) for key in ("unit", "bias"))

    def scores(bits):
        values = 2.0 * np.asarray(bits) - 1
        for weights, need in zip(signs, needs):
            agreeing = (values @ weights.T + weights.shape[1]) / 2
            values = np.where(agreeing >= need, 1.0, -1.0)
        return unit * (values @ last.T) + bias

    return scores


def main():
    target = target_of(sys.argv)
    binary, path = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    model = json.loads(path.read_text())
    features, chance = model["features"], np.random.default_rng(1)
    images = (chance.random((BACKGROUND + EXPLAINED, len(features))) < 0.19).astype(int)
    if len(sys.argv) > 3:
        lines = [line.split() for line in pathlib.Path(sys.argv[3]).read_text().split("\n") if line.strip()]
        own = np.array([line[: len(features)] for line in lines], dtype=int)
        images[: min(len(own), len(images))] = own[: len(images)]
    explained, background = images[:EXPLAINED], images[EXPLAINED:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file, rows in (("e.csv", explained), ("b.csv", background)):
            with open(folder / file, "w", newline="") as out:
                csv.writer(out).writerows([features, *rows.tolist()])
        line = [binary, "explain", str(path), "e.csv", "-o", "s.csv", "--model-output", "score", "--class", "each"]
        line += ["--distribution", "background:b.csv", "--threads", "1", "--json"]
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=True)
        seconds = json.loads(done.stdout)["seconds"]
        with open(folder / "s.csv") as file:
            rows = list(csv.DictReader(file))
    classes = len(model["output"]["argmax"])
    exact = np.array([[[float(row[f"{f}:{k}"]) for k in range(classes)] for f in features] for row in rows])
    print(f"boolshap, {EXPLAINED} images, reading and writing included: {1e3 * seconds / EXPLAINED:.1f} ms an image")
    import shap

    what = f"scores of 10 classes for every pixel, {len(features)} pixels against {BACKGROUND} background images, an image"
    results = [(what, "boolshap, CSV to CSV, 1 thread", f"{seconds / EXPLAINED:.4g}", "", "exact")]
    scores = network(model)
    assert np.abs(exact.sum(axis=1) + scores(background).mean(axis=0) - scores(explained)).max() < 1e-6
    masker = shap.maskers.Independent(background, max_samples=len(background))
    explainer = shap.explainers.Permutation(scores, masker, seed=1)
    for rounds in (1, 4, 16):
        evaluations = rounds * (2 * len(features) + 1)
        start = time.monotonic()
        found = explainer(explained[:1], max_evals=evaluations, silent=True).values
        took = time.monotonic() - start
        wrong = np.abs(found[0] - exact[0])
        ratio = f"{took / (seconds / EXPLAINED):.0f}"
        result = f"wrong by up to {wrong.max():.2g}, the largest score is {np.abs(exact[0]).max():.2g}"
        results.append((what, f"shap PermutationExplainer, {evaluations} evaluations", f"{took:.4g}", ratio, result))
        print(
            f"shap PermutationExplainer, {evaluations} evaluations of {BACKGROUND} rows each: {took:.1f} s an "
            f"image, wrong by up to {wrong.max():.2g} (the largest score is {np.abs(exact[0]).max():.2g})"
        )

    if target:
        record(target, binary, PACKAGES, results)


if __name__ == "__main__":
    main()
