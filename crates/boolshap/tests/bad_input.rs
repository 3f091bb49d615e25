//! Bad input to every reader: inputs found by fuzzing, and thousands of small changes to valid files. A reader returns
//! a result or an error; a panic, a hang or excessive memory would end this test.
#![cfg(all(feature = "hdf5", feature = "parquet"))]

use crate::parsers;
use boolshap::data::{Entities, Reading, Seeded};
use boolshap::model::{ImportOptions, Kernels, import};
use std::path::Path;
use std::sync::Arc;

/// The number of changed files for each reader.
const CHANGES: usize = 2000;

#[test]
fn inputs_found_by_fuzzing_are_read_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions");
    let mut files = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let reader = entry.unwrap().path();
        let name = reader.file_name().unwrap().to_str().unwrap();
        let (_, read) = parsers::READERS.iter().find(|(known, _)| *known == name).expect("a folder for each reader");
        for file in std::fs::read_dir(&reader).unwrap() {
            read(&std::fs::read(file.unwrap().path()).unwrap());
            files += 1;
        }
    }
    assert!(files > 0);
}

#[test]
fn slow_changed_files_are_read_or_refused() {
    let mut random = Seeded::new(7, 1);
    for (name, read) in parsers::READERS {
        let good = good_files(name);
        good.iter().for_each(|file| read(file));
        for _ in 0..CHANGES {
            let mut file = good[random.below(good.len())].clone();
            for _ in 0..=random.below(4) {
                change(&mut file, &good, &mut random);
            }
            read(&file);
        }
    }
}

/// One small change: another byte, one removed, one added, a number far too large, a truncation, or a piece of another
/// file.
fn change(file: &mut Vec<u8>, good: &[Vec<u8>], random: &mut Seeded) {
    const PIECES: [&[u8]; 9] =
        [b"0", b"-1", b"4294967296", b"99999999999999999999", b"\n", b"\xff", b"\"", b" ", b"1e999"];
    let at = random.below(file.len() + 1);
    match random.below(6) {
        0 if at < file.len() => file[at] = random.below(256) as u8,
        1 if at < file.len() => drop(file.remove(at)),
        2 => drop(file.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied())),
        3 if at < file.len() => file[at] ^= 1 << random.below(8),
        4 => file.truncate(at),
        _ => {
            let other = &good[random.below(good.len())];
            let from = random.below(other.len() + 1);
            let to = from + random.below(other.len() + 1 - from).min(40);
            file.splice(at..at, other[from..to].iter().copied());
        }
    }
}

/// The valid binary files are complete, so that changes to them reach further than the first bytes.
#[test]
fn good_binary_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["hdf5", "onnx", "safetensors"] {
        let path = folder.path().join(name);
        std::fs::write(&path, &good_files(name)[0]).unwrap();
        let options = ImportOptions { kernels: Kernels::Real, ..ImportOptions::default() };
        let network = import(&path, &options).unwrap_or_else(|error| panic!("{error}")).network;
        assert_eq!((network.inputs(), network.hidden().len()), (3, 1), "{name}");
    }
    let path = folder.path().join("qonnx");
    std::fs::write(&path, qonnx_file()).unwrap();
    let network = import(&path, &ImportOptions::default()).unwrap_or_else(|error| panic!("{error}")).network;
    // Each pixel of two bits becomes three inputs here; the layers are those of the convolution and of the mean.
    assert_eq!((network.inputs(), network.hidden().len(), network.classes()), (18, 2, 3));
    let path = folder.path().join("table");
    std::fs::write(&path, &good_files("table_parquet")[0]).unwrap();
    let rows = Entities::open(&path, &["a".into(), "b".into()], None, Reading::Bits).unwrap();
    assert_eq!(rows.map(|bits| bits.unwrap().rows()).sum::<usize>(), 4);
}

/// Some valid files for each reader.
fn good_files(reader: &str) -> Vec<Vec<u8>> {
    let texts: &[&str] = match reader {
        "table_csv" => {
            &["a,b,y\n1,red,yes\n2.5,blue,no\n-3e4,\"gr,een\",yes\n,red,no\n", "x1,x2,y\n0,1,1\n1,1,0\n1,0,1\n"]
        }
        "model" => &[
            r#"{"format":"boolshap model","version":1,"features":["a","b"],"hidden":[[{"weights":"+-","need":"1"},{"weights":"3 -9","need":"2"}]],"output":{"step":{"weights":"++","need":"1"}},"provenance":{}}"#,
            r#"{"format":"boolshap model","version":1,"features":["a"],"classes":["n","y"],"hidden":[],"output":{"argmax":[{"weights":"+","bias":"1"},{"weights":"-","bias":"0"}]},"provenance":{"seed":7}}"#,
        ],
        "neuron" => &["name: n\nsize: 4\nweights: 1 -2 3 0.5\nthreshold: 1.5\n"],
        "layers" => &[
            "== blk1/lin_weight.csv\n1,-1,1\n-1,-1,1\n== blk1/lin_bias.csv\n0.5\n-1e-3\n== blk1/bn_weight.csv\n1,2\n== blk1/bn_bias.csv\n0,1\n== blk1/bn_mean.csv\n0,1\n== blk1/bn_var.csv\n1,2\n== out_blk/lin_weight.csv\n1,-1\n",
        ],
        "dimacs" => &["c text\np cnf 3 3\n1 -2 0\n3 0 -1 2\n-3 0\n%\n0\n"],
        "vtree" => &["c text\nvtree 5\nL 0 3\nL 2 1\nI 1 0 2\nL 4 2\nI 3 1 4\n"],
        "sdd" => &["vtree 3\nL 0 1\nL 2 2\nI 1 0 2\nsdd 5\nL 1 0 1\nL 4 2 2\nL 2 0 -1\nF 7\nD 3 1 2 1 4 2 7\n"],
        "nnf" => &["nnf 6 5 3\nL 1\nL -1\nL 2\nA 2 0 2\nA 1 1\nO 1 2 3 4\n", "nnf 1 0 2\nO 0 0\n"],
        "d4" => &["o 1 0\na 2 0\nt 3 0\nf 4 0\n1 2 1 0\n1 3 -1 2 0 0\n2 3 3 0\n"],
        "circuit" => return vec![circuit_file(false), circuit_file(true)],
        "safetensors" => return vec![safetensors_file()],
        "hdf5" => return vec![hdf5_file()],
        "onnx" => return vec![onnx_file(), qonnx_file()],
        "table_parquet" => return vec![parquet_file()],
        _ => unreachable!("every reader has files"),
    };
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn circuit_file(of_classes: bool) -> Vec<u8> {
    use boolshap::circuit::{NamedCircuit, read_nnf};
    let circuit = read_nnf(&b"nnf 6 5 3\nL 1\nL -1\nL 2\nA 2 0 2\nA 1 1\nO 1 2 3 4\n"[..]).unwrap();
    let text = good_files("model").remove(0);
    let model = boolshap::model::Model::from_json(std::str::from_utf8(&text).unwrap()).unwrap();
    let named = if of_classes {
        let both = read_nnf(&b"nnf 3 2 2\nL 1\nL -2\nA 2 0 1\n"[..]).unwrap();
        NamedCircuit::of_classes(&[both.clone(), both], &model).unwrap()
    } else {
        NamedCircuit::new(circuit, ["a", "b", "c"].map(String::from).to_vec()).unwrap()
    };
    let mut bytes = Vec::new();
    named.write(&mut bytes).unwrap();
    bytes
}

/// Two layers in the safetensors format: the length of the header, the header, the numbers.
fn safetensors_file() -> Vec<u8> {
    let header = r#"{"0.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"1.weight":{"dtype":"F32","shape":[1,2],"data_offsets":[24,32]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.extend([1.0f32, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0].iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

/// The weights of two layers, for formats that store them by columns.
const KERNELS: [(&str, [u64; 2], &[f32]); 2] =
    [("hidden", [3, 2], &[1.0, -1.0, 1.0, -1.0, -1.0, 1.0]), ("out", [2, 1], &[1.0, -1.0])];

/// The same in Keras's layout: groups with the names of their contents.
fn hdf5_file() -> Vec<u8> {
    use hdf5_pure::{AttrValue, FileBuilder};
    let mut file = FileBuilder::new();
    file.set_attr("layer_names", AttrValue::StringArray(KERNELS.map(|(name, ..)| name.into()).to_vec()));
    for (name, shape, numbers) in KERNELS {
        let mut layer = file.create_group(name);
        layer.set_attr("weight_names", AttrValue::StringArray(vec![format!("{name}/kernel:0")]));
        let mut inner = layer.create_group(name);
        inner.create_dataset("kernel:0").with_f32_data(numbers).with_shape(&shape);
        layer.add_group(inner.finish());
        file.add_group(layer.finish());
    }
    file.finish().unwrap()
}

/// The same as two matrix products with a sign function between them.
fn onnx_file() -> Vec<u8> {
    onnx_graph(&["x hidden -> a MatMul", "a -> s Sign", "s out -> y MatMul"], &[1, 3], &KERNELS)
}

/// An image of two by three, prepared and quantised, a convolution, normalisation, pooling, and a matrix.
fn qonnx_file() -> Vec<u8> {
    let nodes = [
        "x two -> a Div",
        "a one -> b Sub",
        "b one zero two -> c Quant",
        "kernel one zero two -> k Quant",
        "c k -> d Conv",
        "d pair pair pair pair -> e BatchNormalization",
        "e -> f Relu",
        "f one zero two -> g Quant",
        "g -> h GlobalAveragePool",
        "h levels -> i MultiThreshold",
        "i shape -> j Reshape",
        "j -> l Flatten",
        "l out -> m MatMul",
        "m one -> y Add",
    ];
    let numbers: [(&str, &[u64], &[f32]); 8] = [
        ("one", &[1], &[1.0]),
        ("two", &[], &[2.0]),
        ("zero", &[1], &[0.0]),
        ("kernel", &[2, 1, 2, 2], &[0.5, -1.0, 1.5, 1.0, -0.5, 1.0, -1.0, 2.0]),
        ("pair", &[2], &[1.0, 2.0]),
        ("levels", &[2, 2], &[0.25, 0.5, 0.0, 1.0]),
        ("shape", &[2], &[1.0, -1.0]),
        ("out", &[2, 3], &[1.0, -2.0, 3.0, 0.5, 1.0, -1.0]),
    ];
    onnx_graph(&nodes, &[1, 1, 2, 3], &numbers)
}

/// A graph in ONNX's protocol buffer fields; a node is `INPUTS -> OUTPUT OPERATOR`.
fn onnx_graph<S: AsRef<[u64]>>(nodes: &[&str], input: &[u8], tensors: &[(&str, S, &[f32])]) -> Vec<u8> {
    let bytes = |number: u8, content: &[u8]| {
        assert!(content.len() < 1 << 14, "two bytes of length");
        let (low, high) = (content.len() as u8 | 0x80, (content.len() >> 7) as u8);
        [&[number << 3 | 2, low, high], content].concat()
    };
    let number = |field: u8, value: u8| vec![field << 3, value];
    let value = |field: u8, name: &str, shape: &[u8]| {
        let dimensions: Vec<u8> = shape.iter().flat_map(|&size| bytes(1, &number(1, size))).collect();
        let tensor = [number(1, 1), bytes(2, &dimensions)].concat();
        bytes(field, &[bytes(1, name.as_bytes()), bytes(2, &bytes(1, &tensor))].concat())
    };
    let mut graph = Vec::new();
    for node in nodes {
        let (inputs, rest) = node.split_once(" -> ").unwrap();
        let (output, kind) = rest.split_once(' ').unwrap();
        let inputs: Vec<u8> = inputs.split(' ').flat_map(|input| bytes(1, input.as_bytes())).collect();
        graph.extend(bytes(1, &[inputs, bytes(2, output.as_bytes()), bytes(4, kind.as_bytes())].concat()));
    }
    for (name, shape, numbers) in tensors {
        let raw: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let shape: Vec<u8> = shape.as_ref().iter().flat_map(|&size| number(1, size as u8)).collect();
        graph.extend(bytes(5, &[shape, number(2, 1), bytes(8, name.as_bytes()), bytes(9, &raw)].concat()));
    }
    graph.extend([value(11, "x", input), value(12, "y", &[1, 1])].concat());
    [number(1, 8), bytes(8, &number(2, 13)), bytes(7, &graph)].concat()
}

fn parquet_file() -> Vec<u8> {
    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    let columns: [(&str, ArrayRef); 3] = [
        ("a", Arc::new(Int64Array::from(vec![0, 1, 1, 0]))),
        ("b", Arc::new(Int64Array::from(vec![1, 1, 0, 0]))),
        ("y", Arc::new(StringArray::from(vec!["no", "yes", "yes", "no"]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}
