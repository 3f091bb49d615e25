//! Tests of the ONNX import on small files written here.

use super::import::ImportOptions;
use super::import_onnx::{OnnxFound, OnnxNetwork, read_bytes};
use super::levels::Cut;
use super::onnx_file::begins_like_onnx;
use super::protobuf::write::{bytes, varint};
use super::{Kernels, Output};
use dashu_ratio::RBig;
use std::path::Path;

fn tensor(name: &str, shape: &[usize], values: &[f32]) -> Vec<u8> {
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let shape: Vec<u8> = shape.iter().flat_map(|&axis| varint(1, axis as u64)).collect();
    [shape, varint(2, 1), bytes(8, name.as_bytes()), bytes(9, &raw)].concat()
}

fn int(name: &str, value: i64) -> Vec<u8> {
    bytes(5, &[bytes(1, name.as_bytes()), varint(3, value as u64), varint(20, 2)].concat())
}

fn float(name: &str, value: f32) -> Vec<u8> {
    let value = [vec![2 << 3 | 5], value.to_le_bytes().to_vec()].concat();
    bytes(5, &[bytes(1, name.as_bytes()), value, varint(20, 1)].concat())
}

/// `operator inputs -> output`, named like its output.
fn node(text: &str, attributes: &[Vec<u8>]) -> Vec<u8> {
    let (left, output) = text.split_once(" -> ").unwrap();
    let mut words = left.split(' ');
    let operator = words.next().unwrap();
    let inputs: Vec<u8> = words.flat_map(|input| bytes(1, input.as_bytes())).collect();
    let custom = ["BipolarQuant", "Quant", "MultiThreshold", "Trunc"].contains(&operator);
    let domain = bytes(7, if custom { b"qonnx.custom_op.general" } else { b"" });
    let names = [bytes(2, output.as_bytes()), bytes(3, output.as_bytes()), bytes(4, operator.as_bytes())];
    [inputs, names.concat(), attributes.concat(), domain].concat()
}

fn model(nodes: &[Vec<u8>], tensors: &[Vec<u8>]) -> Vec<u8> {
    let mut graph: Vec<u8> = nodes.iter().flat_map(|node| bytes(1, node)).collect();
    graph.extend(tensors.iter().flat_map(|tensor| bytes(5, tensor)));
    let axes = [bytes(1, &bytes(2, b"N")), bytes(1, &varint(1, 3))].concat();
    let kind = bytes(2, &bytes(1, &[varint(1, 1), bytes(2, &axes)].concat()));
    graph.extend(bytes(11, &[bytes(1, b"x"), kind].concat()));
    graph.extend(bytes(12, &bytes(1, b"y")));
    [varint(1, 8), bytes(2, b"test"), bytes(7, &graph), bytes(8, &varint(2, 17))].concat()
}

/// Three inputs, two hidden neurons with normalisation, one output.
fn small() -> Vec<u8> {
    let nodes = [
        node("Sign latent -> w", &[]),
        node("MatMul x w -> a", &[]),
        node("Add bias a -> b", &[]),
        node("BatchNormalization b one bias zero one -> c", &[float("epsilon", 0.25)]),
        node("Sign c -> d", &[]),
        node("BipolarQuant latent2 scale -> w2", &[]),
        node("Gemm d w2 bias2 -> e", &[int("transB", 1)]),
        node("Sigmoid e -> y", &[]),
    ];
    let tensors = [
        tensor("latent", &[3, 2], &[0.5, -0.1, 0.2, 3.0, -7.0, 1.0]),
        tensor("bias", &[2], &[0.5, -1.5]),
        tensor("one", &[2], &[1.0, 1.0]),
        tensor("zero", &[2], &[0.0, 0.0]),
        tensor("latent2", &[1, 2], &[0.0, -0.5]),
        tensor("scale", &[], &[1.0]),
        tensor("bias2", &[1], &[-0.25]),
    ];
    model(&nodes, &tensors)
}

fn network(bytes: &[u8], options: &ImportOptions) -> Result<OnnxNetwork, String> {
    assert!(begins_like_onnx(bytes));
    match read_bytes(Path::new("f"), bytes, options).map_err(|e| e.to_string())? {
        OnnxFound::Gates(network) => Ok(network),
        OnnxFound::Real(_) => Err("real weights".into()),
    }
}

fn text(name: &str, value: &str) -> Vec<u8> {
    bytes(5, &[bytes(1, name.as_bytes()), bytes(4, value.as_bytes()), varint(20, 3)].concat())
}

#[test]
fn layers_are_read_exactly() {
    let found = network(&small(), &ImportOptions::default()).unwrap();
    assert!(found.notes.is_empty() && found.columns == vec![Cut::Bit; 3], "{:?}", found.notes);
    // x >= -0.5 - 0.5 sqrt(1.25) means at least -1; x >= 1.5 + 1.5 sqrt(1.25) is more than three signs can add up to,
    // so the second unit is always -1 and has no gate.
    let [gate] = found.network.hidden()[0].as_slice() else { panic!("one gate") };
    assert_eq!((gate.weights(), gate.need()), (&[1, 1, -1][..], 1));
    let Output::Step(gate) = found.network.output() else { panic!("one output") };
    // BipolarQuant maps 0 to +1: s1 - s2 - 0.25 with s2 = -1.
    assert_eq!((gate.weights(), gate.need()), (&[1][..], 1));
}

#[test]
fn the_epsilon_of_the_file_counts() {
    let nodes = [node("MatMul x w -> a", &[]), node("BatchNormalization a v v v v -> y", &[])];
    let bytes = model(&nodes, &[tensor("w", &[3, 1], &[1.0; 3]), tensor("v", &[1], &[1.0])]);
    let options = ImportOptions { bn_epsilon: Some(RBig::ONE), ..ImportOptions::default() };
    let found = network(&bytes, &options).unwrap();
    assert_eq!(found.notes, ["y: the epsilon in the file counts, not the one that was given"]);
}

#[test]
fn zeros_under_sign_follow_the_options() {
    let nodes = [node("Sign w -> v", &[]), node("MatMul x v -> y", &[])];
    let bytes = model(&nodes, &[tensor("w", &[3, 1], &[0.5, 0.0, -2.0])]);
    let options = ImportOptions::default();
    assert!(network(&bytes, &options).err().unwrap().contains("y: the weight of neuron 1 for input 2 is 0"));
    let weights = |options: &ImportOptions| match network(&bytes, options).unwrap().network.output() {
        Output::Step(gate) => gate.weights().to_vec(),
        Output::Argmax(_) => panic!("one output"),
    };
    let options = ImportOptions { zero_weight: Some(false), ..options };
    assert_eq!(weights(&options), [1, -1, -1]);
    assert_eq!(weights(&ImportOptions { kernels: Kernels::Real, ..options }), [1, 0, -1]);
}

/// Two bits per column and two bits per unit; the zeros of ternary weights are intended.
#[test]
fn numbers_of_two_bits_become_gates() {
    let rounding = [int("signed", 1), int("narrow", 1), text("rounding_mode", "ROUND")];
    let quantised = [
        node("Quant x one zero two -> q", &rounding),
        node("Quant w half zero two -> v", &rounding),
        node("MatMul q v -> a", &[]),
        node("Quant a one zero two -> b", &rounding),
        node("MatMul b u -> y", &[]),
    ];
    let tensors = [
        tensor("one", &[], &[1.0]),
        tensor("half", &[], &[0.5]),
        tensor("zero", &[], &[0.0]),
        tensor("two", &[], &[2.0]),
        tensor("w", &[3, 1], &[0.6, 0.1, -9.0]),
        tensor("u", &[1, 1], &[1.0]),
    ];
    let found = network(&model(&quantised, &tensors), &ImportOptions::default()).unwrap();
    assert_eq!(found.columns.iter().map(Cut::bits).collect::<Vec<_>>(), [3, 3, 3]);
    // a = (q1 - q3) / 2; it rounds to 1 above 1/2, and to 0 from -1/2 on.
    let gates = &found.network.hidden()[0];
    assert_eq!(gates.len(), 2);
    for level in 0..9 {
        let levels = [level % 3, 0, level / 3];
        let bits: Vec<bool> = levels.iter().flat_map(|&level| (0..3).map(move |bit| bit == level)).collect();
        let a = (levels[0] as f64 - levels[2] as f64) / 2.0;
        assert_eq!(gates.iter().map(|gate| gate.evaluate(&bits)).collect::<Vec<_>>(), [a >= -0.5, a > 0.5]);
        assert_eq!(found.network.classify(&bits), usize::from(a.round_ties_even() >= 0.0));
    }
    // Without the quantiser of the inputs, nothing says which numbers they are.
    let bare: Vec<Vec<u8>> = [vec![node("Identity x -> q", &[])], quantised[1..].to_vec()].concat();
    let said = network(&model(&bare, &tensors), &ImportOptions::default()).err().unwrap();
    assert!(said.starts_with("a: the inputs reach this layer as real numbers"), "{said}");
    let options = ImportOptions { inputs: Some("UINT2".parse().unwrap()), ..ImportOptions::default() };
    assert_eq!(network(&model(&bare, &tensors), &options).unwrap().network.inputs(), 12);
}

#[test]
fn refusals_name_the_node() {
    let tensors = [tensor("w", &[3, 3], &[1.0; 9]), tensor("v", &[3], &[1.0; 3]), tensor("z", &[1], &[0.0])];
    type Nodes<'a> = &'a [(&'a str, &'a [Vec<u8>])];
    let cases: [(Nodes<'_>, &str); 19] = [
        (&[("MatMul x w -> a", &[]), ("Tanh a -> y", &[])], "node y (Tanh): this operator is not read"),
        (&[("MatMul x w -> a", &[]), ("MatMul a w -> y", &[])], "real weights"),
        (&[("Gemm x w v -> y", &[int("transA", 1)])], "node y (Gemm): only transA"),
        (&[("Gemm x w v -> y", &[float("transB", 1.0)])], "node y (Gemm): attribute transB is not an integer"),
        (&[("MatMul x w -> a", &[]), ("Add a a -> y", &[])], "node y (Add): reads a twice"),
        (&[("MatMul x w -> a", &[]), ("Add a x -> y", &[])], "node y (Add): reads x a second time"),
        (&[("MatMul x w -> a", &[]), ("Div a z -> y", &[])], "node y (Div): divides by 0"),
        (&[("MatMul x w -> a", &[]), ("Div v a -> y", &[])], "node y (Div): reads a in a place other"),
        (&[("MatMul w x -> y", &[])], "node y (MatMul): reads x in a place other"),
        (&[("MatMul x v -> y", &[])], "node y (MatMul): its weights have the shape [3]"),
        (&[("MatMul x u -> y", &[])], "node y (MatMul): reads u, which is not defined before it"),
        (&[("BipolarQuant w z -> a", &[]), ("MatMul x a -> y", &[])], "node a (BipolarQuant): its scale is 0"),
        (&[("MatMul x w -> a", &[]), ("Sign a -> y", &[])], "gives 3 signs"),
        (&[("MatMul x w -> a", &[]), ("ArgMax a -> y", &[])], "node y (ArgMax): axis 0"),
        (&[("Flatten x -> a", &[int("axis", i64::MAX)])], "node a (Flatten): there is no axis"),
        (&[("Cast x -> a", &[int("to", 9)])], "node a (Cast): the type bool"),
        (&[("MatMul x w -> a", &[]), ("Identity w -> a", &[])], "node a (Identity): gives a, which"),
        (&[("MatMul x w -> a", &[])], "the output y is not the end of the chain"),
        (&[("Identity x -> y", &[])], "holds no matrix"),
    ];
    for (nodes, expected) in cases {
        let nodes: Vec<Vec<u8>> = nodes.iter().map(|(text, attributes)| node(text, attributes)).collect();
        let said = network(&model(&nodes, &tensors), &ImportOptions::default()).err().unwrap();
        let said = said.strip_prefix("f: ").unwrap_or(&said);
        assert!(said.starts_with(expected), "{said} / {expected}");
    }
}

#[test]
fn damaged_files_are_refused_and_never_panic() {
    let bytes = small();
    let options = ImportOptions { zero_weight: Some(true), ..ImportOptions::default() };
    for length in 0..bytes.len() {
        assert!(read_bytes(Path::new("f"), &bytes[..length], &options).is_err(), "{length}");
    }
    // A flipped bit may give a valid file with a different meaning.
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let _ = read_bytes(Path::new("f"), &flipped, &options);
    }
}

#[test]
fn many_copies_of_a_constant_are_refused() {
    let copies: Vec<Vec<u8>> = (0..1000).map(|copy| node(&format!("Identity w -> c{copy}"), &[])).collect();
    let bytes = model(&copies, &[tensor("w", &[100, 1000], &[1.0; 100_000])]);
    let said = network(&bytes, &ImportOptions::default()).err().unwrap();
    assert!(said.contains("far more constants than the file holds"), "{said}");
    // The header announces numbers that the file does not hold.
    let empty = tensor("w", &[1 << 40, 0], &[]);
    let said = network(&model(&[node("MatMul x w -> y", &[])], &[empty]), &ImportOptions::default()).err().unwrap();
    assert_eq!(said, "y is empty");
    let claimed = tensor("w", &[3, 1 << 40], &[1.0]);
    let said = network(&model(&[node("MatMul x w -> y", &[])], &[claimed]), &ImportOptions::default()).err().unwrap();
    assert!(said.contains("tensor w holds 1 numbers for the shape [3, 1099511627776]"), "{said}");
}
