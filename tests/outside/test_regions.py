"""Networks that are too large to compile, explained against a reference; numpy evaluates every corner separately."""

import csv
import itertools
import math
import struct
import subprocess
import zlib

import numpy as np
import pytest

NETWORKS = {
    "mnist_bnn_2_blk_16_25_20_10": (4, "instance_0_16.txt", (2, 2)),
    "mnist_bnn_2_blk_36_15_10_10": (6, "instance_0_36.txt", (3, 3)),
    "mnist_bnn_1_blk_64_10_10": (8, "instance_1_64.txt", (4, 4)),
    "mnist_bnn_1_blk_100_50_10": (10, "instance_2_100.txt", (4, 4)),
    "mnist_bnn_1_blk_784_100_10": (28, "instance_3_784.txt", (4, 4)),
}


def read(path):
    return np.atleast_2d(np.loadtxt(path, delimiter=","))


class Blocks:
    """A network of blocks in CSV, evaluated in numpy floats."""

    def __init__(self, folder):
        self.blocks = []
        for block in sorted(folder.glob("blk*")):
            names = ("lin_weight", "lin_bias", "bn_weight", "bn_bias", "bn_mean", "bn_var")
            self.blocks.append([read(block / f"{name}.csv") for name in names])
        self.last = [read(folder / "out_blk" / f"{name}.csv") for name in ("lin_weight", "lin_bias")]

    def scores(self, bits):
        x = np.where(np.asarray(bits) > 0, 1.0, -1.0)
        for weight, bias, gamma, beta, mean, variance in self.blocks:
            z = (x @ weight.T + bias - mean) / np.sqrt(variance) * gamma + beta
            x = np.where(z >= 0, 1.0, -1.0)
        return x @ self.last[0].T + self.last[1]

    def classes(self, bits):
        return self.scores(bits).argmax(axis=1)


def region_of(side, regions):
    """The region of each pixel, row by row; regions have nearly equal size."""
    rows = np.arange(side) * regions[0] // side
    columns = np.arange(side) * regions[1] // side
    return (rows[:, None] * regions[1] + columns[None, :]).reshape(-1)


def shapley(values, players):
    """Shapley values from the value of every set of players, by the definition."""
    weight = [
        math.factorial(size) * math.factorial(players - size - 1) / math.factorial(players) for size in range(players)
    ]
    sizes = np.array([bin(mask).count("1") for mask in range(2**players)])
    masks = np.arange(2**players)
    result = []
    for player in range(players):
        without = masks[masks >> player & 1 == 0]
        gain = values[without | 1 << player] - values[without]
        result.append((np.array(weight)[sizes[without]] * gain).sum())
    return np.array(result)


def corners(entity, reference, of_pixel, players):
    """Every mixture of the two: in mixture number k, region i comes from the entity if bit i of k is 1."""
    masks = np.arange(2**players)[:, None] >> of_pixel[None, :] & 1
    return np.where(masks == 1, entity[None, :], reference[None, :])


def write_rows(path, names, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(np.asarray(rows, dtype=int).tolist())


def attempt(boolshap, *arguments):
    return subprocess.run(boolshap.line(arguments), cwd=boolshap.folder, capture_output=True, text=True)


def read_scores(path):
    with open(path) as file:
        return list(csv.DictReader(file))


@pytest.fixture(params=NETWORKS)
def network(request, boolshap, shared_data):
    folder = shared_data(f"bnn/{request.param}")
    side, instance, regions = NETWORKS[request.param]
    entity = np.loadtxt(shared_data(f"bnn/inputs/{instance}"), dtype=int).reshape(-1)
    boolshap("import", folder, "-o", "m.json", "--grid", f"{side}x{side}")
    names = [f"x{number}" for number in range(1, side * side + 1)]
    write_rows(boolshap.folder / "row.csv", names, [entity])
    return boolshap, Blocks(folder), side, regions, names, entity


@pytest.mark.slow
def test_labels_of_every_class_are_those_of_all_corners(network):
    boolshap, blocks, side, regions, names, entity = network
    players = regions[0] * regions[1]
    of_pixel = region_of(side, regions)
    other = np.random.default_rng(3).integers(0, 2, side * side)
    write_rows(boolshap.folder / "other.csv", names, [np.zeros_like(entity), other])
    size = f"{regions[0]}x{regions[1]}"
    called = [f"r{row}c{column}" for row, column in itertools.product(range(regions[0]), range(regions[1]))]
    for distribution, references in [
        ("reference:zeros", [np.zeros_like(entity)]),
        ("reference:ones", [np.ones_like(entity)]),
        ("reference:other.csv:2", [other]),
        ("background:other.csv", [np.zeros_like(entity), other]),
    ]:
        boolshap(
            "explain", "m.json", "row.csv", "-o", "s.csv", "--input", "bits",
            "--distribution", distribution, "--regions", size, "--class", "each",
        )  # fmt: skip
        [row] = read_scores(boolshap.folder / "s.csv")
        found = [blocks.classes(corners(entity, reference, of_pixel, players)) for reference in references]
        assert int(row["prediction"]) == found[0][-1]
        for class_ in range(10):
            values = np.mean([table == class_ for table in found], axis=0)
            assert float(row[f"base_value:{class_}"]) == pytest.approx(values[0], abs=1e-12)
            expected = shapley(values, players)
            scores = np.array([float(row[f"{player}:{class_}"]) for player in called])
            np.testing.assert_allclose(scores, expected, atol=1e-12)


@pytest.mark.slow
def test_scores_are_those_of_all_corners(network):
    boolshap, blocks, side, regions, names, entity = network
    players = regions[0] * regions[1]
    of_pixel = region_of(side, regions)
    other = np.random.default_rng(3).integers(0, 2, side * side)
    write_rows(boolshap.folder / "other.csv", names, [np.zeros_like(entity), other])
    called = [f"r{row}c{column}" for row, column in itertools.product(range(regions[0]), range(regions[1]))]
    for distribution, references in [
        ("reference:zeros", [np.zeros_like(entity)]),
        ("background:other.csv", [np.zeros_like(entity), other]),
    ]:
        boolshap(
            "explain", "m.json", "row.csv", "-o", "s.csv", "--input", "bits", "--model-output", "score",
            "--distribution", distribution, "--regions", f"{regions[0]}x{regions[1]}", "--class", "each",
        )  # fmt: skip
        [row] = read_scores(boolshap.folder / "s.csv")
        found = np.mean([blocks.scores(corners(entity, reference, of_pixel, players)) for reference in references], axis=0)
        for class_ in range(10):
            assert float(row[f"base_value:{class_}"]) == pytest.approx(found[0, class_], abs=1e-9)
            scores = np.array([float(row[f"{player}:{class_}"]) for player in called])
            np.testing.assert_allclose(scores, shapley(found[:, class_], players), atol=1e-9)


@pytest.mark.slow
def test_players_of_a_file_and_of_an_image_are_the_regions(network):
    boolshap, _, side, regions, names, _ = network
    of_pixel = region_of(side, regions)
    with open(boolshap.folder / "players.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["feature", "player"])
        writer.writerows([name, f"p{region}"] for name, region in zip(names, of_pixel))
    write_png(boolshap.folder / "segments.png", side, of_pixel * 7)
    common = ("explain", "m.json", "row.csv", "--input", "bits", "--distribution", "reference:zeros", "--class", "predicted")
    size = f"{regions[0]}x{regions[1]}"
    tables = []
    for players in [("--regions", size), ("--players", "players.csv"), ("--players", "segments.png")]:
        boolshap(*common, *players, "-o", "s.csv")
        [row] = read_scores(boolshap.folder / "s.csv")
        tables.append(list(row.values()))
    assert tables[0] == tables[1] == tables[2]


def write_png(path, side, shades):
    """Writes a grey PNG without an image library."""
    lines = b"".join(b"\0" + bytes(int(shade) for shade in row) for row in np.reshape(shades, (side, side)))

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    )


def test_a_part_of_a_network_is_the_network_on_that_part(boolshap, shared_data):
    folder = shared_data("bnn/mnist_bnn_1_blk_784_100_10")
    entity = np.loadtxt(shared_data("bnn/inputs/instance_1_784.txt"), dtype=int).reshape(-1)
    boolshap("import", folder, "-o", "m.json")
    names = [f"x{number}" for number in range(1, 785)]
    write_rows(boolshap.folder / "rows.csv", names, [1 - entity, entity])
    free = [293, 320, 350, 377, 378, 405, 406, 433, 461, 490]
    listed = ",".join(names[feature] for feature in free)
    boolshap(
        "compile", "m.json", "-o", "c.bsc", "--free", listed, "--at", "rows.csv:2", "--class", "all", "--verify"
    )  # fmt: skip
    assert boolshap.json("info", "c.bsc")["features"] == [names[feature] for feature in free]
    inputs = np.tile(entity, (1024, 1))
    inputs[:, free] = np.arange(1024)[:, None] >> np.arange(10)[None, :] & 1
    write_rows(boolshap.folder / "all.csv", names, inputs)
    boolshap("predict", "c.bsc", "all.csv", "-o", "p.csv", "--input", "bits")
    found = np.loadtxt(boolshap.folder / "p.csv", skiprows=1, dtype=int)
    np.testing.assert_array_equal(found, Blocks(folder).classes(inputs))
    proved = boolshap.json("verify", "m.json", "c.bsc")
    assert proved["equal"] and "fixed inputs" in proved["compared"]


BAD = [
    (("import", "FOLDER", "-o", "x.json", "--grid", "5x5"), "a grid of 5x5 has 25 pixels, but there are 16 features"),
    (("import", "FOLDER", "-o", "x.json", "--grid", "4"), "is no height and width such as 28x28"),
    (("explain", "m.json", "row.csv", "--regions", "5x2"), "5x2 are more than the 4x4 pixels"),
    (("explain", "bare.json", "row.csv", "--regions", "2x2"), "need to know how the features are laid out"),
    (("explain", "m.json", "row.csv", "--players", "part.csv"), "the feature 'x16' has no player"),
    (("explain", "m.json", "row.csv", "--players", "twice.csv"), "the feature 'x1' is there twice"),
    (("explain", "m.json", "row.csv", "--players", "small.png"), "the image has 2x2 pixels, but the features are laid out as 4x4"),
    (("explain", "m.json", "row.csv", "--players", "broken.png"), "broken.png"),
    (("explain", "m.json", "row.csv", "--distribution", "reference:row.csv:7"), "there is no row 7"),
    (("compile", "m.json", "-o", "x.bsc", "--class", "1", "--free", "x1,nose", "--at", "row.csv"), "'nose' is not a feature"),
    (("report", "bare.json", "row.csv", "-o", "x.png", "--figure", "image"), "needs to know how the features are laid out"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD)
def test_a_wrong_layout_gets_a_sentence(boolshap, shared_data, arguments, words):
    folder = shared_data("bnn/mnist_bnn_2_blk_16_25_20_10")
    names = [f"x{number}" for number in range(1, 17)]
    write_rows(boolshap.folder / "row.csv", names, [np.arange(16) % 2])
    boolshap("import", folder, "-o", "m.json", "--grid", "4x4")
    boolshap("import", folder, "-o", "bare.json")
    for file, listed in [("part.csv", names[:15]), ("twice.csv", [*names, "x1"])]:
        (boolshap.folder / file).write_text("feature,player\n" + "".join(f"{name},p\n" for name in listed))
    write_png(boolshap.folder / "small.png", 2, np.arange(4))
    (boolshap.folder / "broken.png").write_bytes((boolshap.folder / "small.png").read_bytes()[:40])
    done = attempt(boolshap, *(str(folder) if part == "FOLDER" else part for part in arguments))
    assert done.returncode in (1, 2) and words in done.stderr, done.stderr
    assert not (boolshap.folder / "x.json").exists()


def test_too_many_that_differ_are_refused_with_regions_that_would_do(boolshap, shared_data):
    folder = shared_data("bnn/mnist_bnn_1_blk_784_100_10")
    entity = np.loadtxt(shared_data("bnn/inputs/instance_1_784.txt"), dtype=int).reshape(-1)
    names = [f"x{number}" for number in range(1, 785)]
    write_rows(boolshap.folder / "row.csv", names, [entity])
    boolshap("import", folder, "-o", "m.json", "--grid", "28x28")
    explain = ("explain", "m.json", "row.csv", "--input", "bits", "--distribution")
    done = attempt(boolshap, *explain, "reference:zeros")
    assert done.returncode == 1 and f"{entity.sum()} players differ" in done.stderr, done.stderr
    size = done.stderr.split("; of ")[1].split()[0]
    boolshap(*explain, "reference:zeros", "--regions", size, "-o", "s.csv")
    [row] = read_scores(boolshap.folder / "s.csv")
    assert sum(float(value) for name, value in row.items() if name[0] in "rb") == pytest.approx(1, abs=1e-9)
    # Without rows to mix with, only a circuit would work.
    done = attempt(boolshap, *explain, "uniform")
    assert done.returncode == 1 and "without a circuit it is explained against background rows" in done.stderr
