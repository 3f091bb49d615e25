"""Seeds for fuzzing: a few small files of every format, written by the program itself and by the tools the
formats come from. Usage: seeds.py FOLDER, with BOOLSHAP_BINARY naming the program."""

import itertools
import json
import os
import pathlib
import random
import subprocess
import sys

import h5py
import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet
import safetensors.numpy
from pysdd.sdd import SddManager, Vtree

chance = random.Random(7)
folder = pathlib.Path(sys.argv[1])


def seed(reader, name, content):
    path = folder / reader / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def boolshap(*arguments):
    subprocess.run([os.environ["BOOLSHAP_BINARY"], *map(str, arguments)], check=True, capture_output=True)


def gate(width, integers):
    if integers:
        weights = " ".join(str(chance.randint(-9, 9)) for _ in range(width))
        return {"weights": weights, "need": str(chance.randint(0, 2 * width))}
    return {"weights": "".join(chance.choice("+-") for _ in range(width)), "need": str(width // 2)}


for number, (inputs, hidden, integers) in enumerate([(3, 2, False), (5, 4, True), (6, 0, False)]):
    layers = [[gate(inputs, integers) for _ in range(hidden)]] if hidden else []
    names = [f"x{i + 1}" for i in range(inputs)]
    network = {"format": "boolshap model", "version": 1, "features": names, "provenance": {}}
    network |= {"hidden": layers, "output": {"step": gate(hidden or inputs, integers)}}
    model = seed("model", f"{number}.json", json.dumps(network))
    file = folder / "circuit" / f"{number}.bsc"
    file.parent.mkdir(exist_ok=True)
    boolshap("compile", model, "-o", file)
    for reader, ending in [("nnf", "nnf"), ("d4", "ddnnf")]:
        (folder / reader).mkdir(exist_ok=True)
        boolshap("convert", file, "-o", folder / reader / f"{number}.{ending}")
    if not integers:
        (folder / "dimacs").mkdir(exist_ok=True)
        boolshap("encode", model, "-o", folder / "dimacs" / f"{number}.cnf")

seed("nnf", "hand.nnf", "nnf 6 5 3\nL 1\nL -1\nL 2\nA 2 0 2\nA 1 1\nO 1 2 3 4\n")
seed("d4", "hand.ddnnf", "o 1 0\na 2 0\nt 3 0\nf 4 0\n1 2 1 0\n1 3 -1 2 0 0\n2 3 3 0\n")

for kind in ("right", "left", "balanced"):
    vtree = Vtree(var_count=4, vtree_type=kind)
    manager = SddManager.from_vtree(vtree)
    a, b, c, d = [manager.literal(i) for i in (1, 2, 3, 4)]
    paths = [str(folder / f"{kind}.{ending}").encode() for ending in ("vtree", "sdd")]
    vtree.save(paths[0])
    ((a & b) | (~a & c & ~d) | (b & d)).save(paths[1])
    texts = [pathlib.Path(path.decode()).read_text() for path in paths]
    seed("vtree", f"{kind}.vtree", texts[0])
    seed("sdd", f"{kind}.txt", texts[0] + texts[1])
    for path in paths:
        os.remove(path)

signs = np.random.default_rng(7).choice([-1.0, 1.0], (5, 3)).astype("f4")
norm = {"gamma": [1, 2, 3], "beta": [0, 1, -1], "moving_mean": [0.5, 0, 1], "moving_variance": [1, 2, 0.5]}
# How numbers are stored: plain, and in chunks with each of the usual filters, in old and in new structures.
stores = [{}, {"compression": "gzip"}, {"compression": "lzf", "shuffle": True}, {"fletcher32": True}]
for number, (version, store) in enumerate(itertools.product(("earliest", "latest"), stores)):
    dense_only = number % 4 == 0
    path = folder / "hdf5" / f"{number}.h5"
    path.parent.mkdir(exist_ok=True)
    with h5py.File(path, "w", libver=version) as file:
        layers = {"dense": {"kernel": signs, "bias": np.zeros(3, "f4")}}
        if not dense_only:
            layers["norm"] = {name: np.array(values, "f4") for name, values in norm.items()}
        layers["out"] = {"kernel": signs[:3, :1]}
        file.attrs["layer_names"] = [name.encode() for name in layers]
        for layer, tensors in layers.items():
            group = file.create_group(layer)
            group.attrs["weight_names"] = [f"{layer}/{name}:0".encode() for name in tensors]
            for name, values in tensors.items():
                growing = (None,) * values.ndim if "fletcher32" in store else None
                group.create_dataset(f"{layer}/{name}:0", data=values, maxshape=growing, **store)

tensors = {"0.weight": signs.T.copy(), "0.bias": np.zeros(3, "f4"), "2.weight": signs[:1, :3].copy()}
seed("safetensors", "0.safetensors", safetensors.numpy.save(tensors))
seed("safetensors", "1.safetensors", safetensors.numpy.save({"out.weight": signs.T.astype("f8").copy()}))

node = onnx.helper.make_node
for number, last in enumerate(("Identity", "ArgMax")):
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("BatchNormalization", ["a", "g", "b", "m", "v"], ["n"])]
    nodes += [node("Sign", ["n"], ["s"]), node("Gemm", ["s", "u", "c"], ["o"], transB=1), node(last, ["o"], ["y"])]
    constants = {"w": signs, "u": signs[:2, :3].copy(), "c": np.zeros(2, "f4")}
    constants |= {name: np.array(values, "f4") for name, values in zip("gbmv", norm.values())}
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None, 5])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    seed("onnx", f"{number}.onnx", onnx.helper.make_model(graph).SerializeToString())

seed("neuron", "0.neuron", "name: n\nsize: 4\nweights: 1 -2 3 0.5\nthreshold: 1.5\n")
seed("neuron", "1.neuron", "weights: 1 1 -1\nthreshold: 0\n")

blocks = ["== blk1/lin_weight.csv", "1,-1,1", "-1,-1,1", "== blk1/lin_bias.csv", "0.5", "-1e-3"]
for name, values in [("weight", "1,2"), ("bias", "0,0.25"), ("mean", "0.5,-1"), ("var", "1,2.5")]:
    blocks += [f"== blk1/bn_{name}.csv", values]
seed("layers", "0.txt", "\n".join([*blocks, "== out_blk/lin_weight.csv", "1,-1", "== out_blk/lin_bias.csv", "0", ""]))
seed("layers", "1.txt", "== out_blk/lin_weight.csv\n1,-1,1\n1,1,1\n")

seed("table_csv", "0.csv", "a,b,c,y\n1,red,0,yes\n2.5,blue,1,no\n-3e4,\"gr,een\",0,yes\n,red,1,no\n")
seed("table_csv", "1.csv", "x1,x2,y\n0,1,1\n1,1,0\n1,0,1\n")
rows = pa.table({"a": [1.5, 2.0, None], "b": ["x", "y", "x"], "n": [1, 2, 3], "t": [True, False, True], "y": [0, 1, 1]})
deltas = {"a": "BYTE_STREAM_SPLIT", "b": "DELTA_BYTE_ARRAY", "n": "DELTA_BINARY_PACKED"}
for number, codec in enumerate(["none", "snappy", "zstd", "gzip", "lz4", "brotli"]):
    ways = [{"use_dictionary": number % 2 == 0}, {"use_dictionary": True, "data_page_version": "2.0"}]
    ways.append({"use_dictionary": False, "column_encoding": deltas, "row_group_size": 2, "write_page_checksum": True})
    for way, options in enumerate(ways):
        sink = pa.BufferOutputStream()
        pyarrow.parquet.write_table(rows, sink, compression=codec, **options)
        seed("table_parquet", f"{number}-{way}.parquet", sink.getvalue().to_pybytes())
