//! Every reader of the library on arbitrary bytes: it returns a result or an error, and accepted inputs can be used,
//! written and read back. The fuzz targets and the tests of bad input share this file.

use boolshap::circuit::{Circuit, Lowering, NamedCircuit, check, lower_sdd, read_d4, read_nnf, write_d4, write_nnf};
use boolshap::data::{Dataset, Entities, Kinds, Preparation, Reading, Table};
use boolshap::diagram::{SddFile, SddManager, Vtree};
use boolshap::formula::{read_dimacs, write_dimacs};
use boolshap::lit::Watch;
use boolshap::model::{AnyImported, ImportOptions, InputValues, Kernels, Model, RealModel, import_any};
use std::path::Path;
use std::time::Duration;

/// Reads bytes and uses the result.
pub(crate) type Reader = fn(&[u8]);

/// The readers by name, in the order of the stages.
pub(crate) const READERS: [(&str, Reader); 14] = [
    ("table_csv", table_csv),
    ("table_parquet", table_parquet),
    ("model", model),
    ("hdf5", hdf5),
    ("safetensors", safetensors),
    ("onnx", onnx),
    ("neuron", neuron),
    ("layers", layers),
    ("dimacs", dimacs),
    ("vtree", vtree),
    ("sdd", sdd),
    ("circuit", circuit),
    ("nnf", nnf),
    ("d4", d4),
];

/// Larger circuits are only read: counting takes a number of this many bits for every node.
const MAX_COUNTED: usize = 2000;

pub(crate) fn table_csv(bytes: &[u8]) {
    in_a_file(bytes, use_table);
}

pub(crate) fn table_parquet(bytes: &[u8]) {
    // Anything else would be read as CSV.
    if bytes.starts_with(b"PAR1") {
        in_a_file(bytes, use_table);
    }
}

pub(crate) fn model(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(model) = Model::from_json(text) {
        assert_eq!(Model::from_json(&model.to_json()).as_ref(), Ok(&model));
        let zeros = vec![false; model.network.inputs()];
        assert!(model.network.classify(&zeros) < model.network.classes());
    }
}

pub(crate) fn hdf5(bytes: &[u8]) {
    in_a_file(bytes, use_import);
}

pub(crate) fn safetensors(bytes: &[u8]) {
    in_a_file(bytes, use_import);
}

pub(crate) fn onnx(bytes: &[u8]) {
    in_a_file(bytes, use_import);
}

pub(crate) fn neuron(bytes: &[u8]) {
    in_a_file(bytes, use_import);
}

/// A folder in one file: each of its files begins with a line `== NAME`.
pub(crate) fn layers(bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let mut parts: Vec<(&str, Vec<u8>)> = Vec::new();
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let name = line.strip_prefix(b"== ").and_then(|name| std::str::from_utf8(name).ok()).map(str::trim);
        match (name, parts.last_mut()) {
            (Some(name), _) => parts.push((name, Vec::new())),
            (None, Some((_, content))) => content.extend_from_slice(line),
            (None, None) => {}
        }
    }
    for (name, content) in parts {
        let plain = |part: &str| part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        let Some((block, file)) = name.split_once('/') else { continue };
        if [block, file].iter().any(|part| part.is_empty() || part.starts_with('.') || !plain(part)) {
            continue;
        }
        let block = folder.path().join(block);
        if std::fs::create_dir_all(&block).is_ok() {
            // A name too long for a file cannot occur in a folder.
            let _ = std::fs::write(block.join(file), content);
        }
    }
    use_import(folder.path());
}

pub(crate) fn dimacs(bytes: &[u8]) {
    if let Ok(cnf) = read_dimacs(bytes, "bytes") {
        let mut written = Vec::new();
        write_dimacs(&cnf, &mut written).unwrap();
        let again = read_dimacs(&written[..], "written").unwrap();
        assert!(again.variables() == cnf.variables() && again.clauses().eq(cnf.clauses()));
    }
}

pub(crate) fn vtree(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(vtree) = Vtree::parse(text) {
        let written = vtree.to_file_text().unwrap();
        assert_eq!(Vtree::parse(&written).unwrap().to_file_text().unwrap(), written);
    }
}

/// A vtree, followed by the diagram from a line `sdd N` on.
pub(crate) fn sdd(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Some(middle) = text.find("\nsdd ") else { return };
    let Ok(vtree) = Vtree::parse(&text[..middle]) else { return };
    let Ok(file) = SddFile::parse(&text[middle + 1..], &vtree) else { return };
    let mut manager = SddManager::new(vtree);
    let watch = Watch::unlimited().timeout(Duration::from_secs(2));
    if let Ok(root) = manager.load(&file, &watch) {
        let circuit = lower_sdd(&manager, root, Lowering::Gates).unwrap();
        assert_eq!(check::decomposability(&circuit), Ok(()));
        use_circuit(&circuit);
    }
}

/// Reads the bytes unchanged, and with a correct checksum, without which the rest would never be read.
pub(crate) fn circuit(bytes: &[u8]) {
    let mut summed = bytes[..bytes.len().saturating_sub(4)].to_vec();
    summed.extend(crc32fast::hash(&summed).to_le_bytes());
    for bytes in [bytes, &summed] {
        if let Ok(named) = NamedCircuit::read(bytes) {
            let mut written = Vec::new();
            named.write(&mut written).unwrap();
            let again = NamedCircuit::read(&written[..]).unwrap();
            assert_eq!(again.features, named.features);
            use_circuit(&again.circuit);
            named.labels().unwrap().iter().for_each(|circuit| use_circuit(circuit));
        }
    }
}

pub(crate) fn nnf(bytes: &[u8]) {
    if let Ok(circuit) = read_nnf(bytes) {
        use_circuit(&circuit);
    }
}

pub(crate) fn d4(bytes: &[u8]) {
    for variables in [0, 3, 40] {
        if let Ok(circuit) = read_d4(bytes, variables) {
            use_circuit(&circuit);
        }
    }
}

fn in_a_file(bytes: &[u8], use_file: impl Fn(&Path)) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    use_file(file.path());
}

/// Reads a table as bits, and prepares it for training on its last column; then converts its raw rows to bits.
fn use_table(path: &Path) {
    let Ok(table) = Table::open(path) else { return };
    let features = table.columns().to_vec();
    let Some(target) = features.last() else { return };
    if let Ok(entities) = Entities::open(path, &features, None, Reading::Bits) {
        entities.take_while(Result::is_ok).for_each(drop);
    }
    let kinds = Kinds::default();
    let how = Preparation::new(target, &kinds);
    if let Ok(dataset) = Dataset::prepare(&table, &how, &Watch::unlimited()) {
        let names = dataset.binariser.features();
        let rows = Entities::open(path, &names, Some(&dataset.binariser), Reading::Raw).unwrap();
        let rows: usize = rows.map(|bits| bits.unwrap().rows()).sum();
        assert_eq!(rows, dataset.labels.len());
    }
}

fn use_import(path: &Path) {
    let epsilon = boolshap::model::parse_decimal("0.001");
    for kernels in [Kernels::Auto, Kernels::Real] {
        let inputs = (kernels == Kernels::Real).then(InputValues::bits);
        let options = ImportOptions {
            bn_epsilon: epsilon.clone(),
            kernels,
            zero_weight: Some(true),
            inputs,
            ..Default::default()
        };
        match import_any(path, &options) {
            Ok(AnyImported::Gates(imported)) => {
                let inputs = imported.network.inputs();
                let model = Model::new(imported.network, Model::default_features(inputs)).unwrap();
                assert_eq!(Model::from_json(&model.to_json()), Ok(model));
            }
            Ok(AnyImported::Real { network, .. }) => {
                let inputs = network.inputs();
                let model = RealModel::new(network, Model::default_features(inputs), None).unwrap();
                assert_eq!(RealModel::from_json(&model.to_json()), Ok(model));
            }
            Err(_) => {}
        }
    }
}

/// Writes the circuit in both exchange formats and reads it back; compares model counts if it is small.
fn use_circuit(circuit: &Circuit) {
    let mut written = Vec::new();
    write_nnf(circuit, &mut written).unwrap();
    let nnf = read_nnf(&written[..]).unwrap();
    written.clear();
    write_d4(circuit, &mut written).unwrap();
    let d4 = read_d4(&written[..], circuit.variables()).unwrap();
    let sound = check::decomposability(circuit).is_ok();
    if sound && circuit.variables() <= MAX_COUNTED && circuit.stored_nodes() <= MAX_COUNTED {
        // NNF keeps the gates, so even the wrong count of a non-deterministic circuit stays the same; d4's format may
        // change them.
        assert_eq!(nnf.model_count(), circuit.model_count());
        let deterministic = check::determinism(circuit, check::Effort::default(), &Watch::unlimited());
        if deterministic.is_ok_and(|found| found == check::Determinism::Holds) {
            assert_eq!(d4.model_count(), circuit.model_count());
        }
    }
}
