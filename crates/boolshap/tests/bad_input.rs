//! Bad input to every reader: what fuzzing once found, and thousands of small changes to good files. A reader answers or
//! refuses; a panic, a hang or a wish for more memory than there is would end this test.

mod parsers;

use boolshap::data::Seeded;
use std::path::Path;

/// How many changed files each reader gets.
const CHANGES: usize = 2000;

#[test]
fn what_fuzzing_found_is_read_or_refused() {
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
fn changed_files_are_read_or_refused() {
    let mut random = Seeded::new(7, 1);
    for (name, read) in parsers::READERS {
        let good = good_files(name);
        good.iter().for_each(|file| read(file));
        for _ in 0..if good.is_empty() { 0 } else { CHANGES } {
            let mut file = good[random.below(good.len())].clone();
            for _ in 0..=random.below(4) {
                change(&mut file, &good, &mut random);
            }
            read(&file);
        }
    }
}

/// One small change: another byte, one less, one more, a number far too large, an end, or a piece of another file.
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

/// Some good files for each reader that has them as text.
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
        // Their files are binary and written by other programs: the regressions hold some.
        "hdf5" | "onnx" | "table_parquet" => &[],
        _ => unreachable!("every reader has its files"),
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

/// Two layers, as the format has them: the length of a header, the header, the numbers.
fn safetensors_file() -> Vec<u8> {
    let header = r#"{"0.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"1.weight":{"dtype":"F32","shape":[1,2],"data_offsets":[24,32]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.extend([1.0f32, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0].iter().flat_map(|number| number.to_le_bytes()));
    bytes
}
