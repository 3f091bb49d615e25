//! Binarised networks in ONNX, as other tools export them: a chain of operators from the only input to the only output.
//!
//! The input is a row of -1 and +1. A block is a matrix (`MatMul`, or `Gemm` with alpha = beta = 1), optionally an
//! `Add` of a constant, optionally `BatchNormalization`, and then `Sign` or QONNX's `BipolarQuant`; the last block may
//! end before its sign, and its scores may go through `Softmax`, `LogSoftmax` or `Sigmoid`, which keep their order, and
//! `ArgMax`. `Identity`, `Dropout`, `Flatten`, `Reshape` and `Cast` are skipped if they leave every row unchanged.
//! Constants are initializers or `Constant` nodes, optionally passed through `Sign`, `BipolarQuant`, `Transpose`,
//! `Identity` or `Cast`. Any other operator, a branch, and two matrices without a sign between them are rejected with
//! the node's name.
//!
//! Numbers are exact, as in real arithmetic. ONNX's `Sign` maps 0 to 0, while networks here only have -1 and +1; so a
//! note lists the layers in which a sum of exactly 0 may occur, which counts as +1. `BipolarQuant` is defined this way
//! itself.

use super::ModelError;
use super::fold::{BatchNorm, DenseLayer};
use super::import::{ImportOptions, Stack, exact_rows, exact_vector, weights_of_kernel};
use super::onnx_constants::{Constants, Refusal, cast_type};
pub(crate) use super::onnx_file::begins_like_onnx;
use super::onnx_file::{Graph, Node, Tensor, ValueInfo, is_standard, type_name};
use super::zero_sum::reaches_zero;
use dashu::rational::RBig;
use std::collections::HashSet;
use std::path::Path;

/// The first version in which operands broadcast as they do today.
const MIN_OPSET: u64 = 7;
/// The most sums of half of a neuron's weights that are tried to see whether all can be 0.
const MAX_SUMS: usize = 1 << 10;

pub(crate) fn read(path: &Path, options: &ImportOptions) -> Result<Stack, ModelError> {
    let bytes = std::fs::read(path).map_err(|source| ModelError::Io { path: path.into(), source })?;
    read_bytes(path, &bytes, options)
}

fn read_bytes(path: &Path, bytes: &[u8], options: &ImportOptions) -> Result<Stack, ModelError> {
    let wrong = |message: String| ModelError::Format { path: path.into(), message };
    let graph = Graph::of_model(bytes).map_err(wrong)?;
    let cut_off = || wrong("does not have the version of its operators: is it cut off?".into());
    let opset = graph.opset.ok_or_else(cut_off)?;
    if opset < MIN_OPSET {
        return Err(wrong(format!("uses version {opset} of the operators; {MIN_OPSET} or later is supported")));
    }
    let mut reader = Reader::start(&graph, bytes.len(), options).map_err(wrong)?;
    for (index, node) in graph.nodes.iter().enumerate() {
        let node = Node::parse(node, index + 1).map_err(wrong)?;
        reader.take(&node).map_err(|refusal| match refusal {
            Refusal::Node(message) => wrong(format!("{}: {message}", node.title())),
            Refusal::Model(error) => error,
        })?;
    }
    let mut outputs = graph.outputs.iter().map(|output| ValueInfo::parse(output).map_err(wrong));
    let (Some(output), None) = (outputs.next().transpose()?, outputs.next()) else {
        return Err(wrong(format!("has {} outputs where one is expected", graph.outputs.len())));
    };
    reader.finish(output.name).map_err(wrong)
}

/// What the current row contains.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    /// All -1 or +1.
    Signs,
    /// The sums of the last layer.
    Sums,
    /// Values in the same order as the last layer's sums.
    Ordered,
    /// The number of the class.
    Class,
}

struct Reader<'a> {
    options: &'a ImportOptions,
    constants: Constants<'a>,
    /// All tensor names on the chain.
    chain: HashSet<&'a str>,
    /// The last of them.
    at: &'a str,
    row: Row,
    /// The length of the row, if known.
    width: Option<usize>,
    /// The number of axes, including the batch, if known.
    rank: Option<usize>,
    stack: Stack,
}

impl<'a> Reader<'a> {
    fn start(graph: &Graph<'a>, length: usize, options: &'a ImportOptions) -> Result<Self, String> {
        let constants = Constants::new(graph, length)?;
        // Old files list the initializers among the inputs.
        let mut inputs = Vec::new();
        for input in &graph.inputs {
            let input = ValueInfo::parse(input)?;
            if !constants.contains(input.name) {
                inputs.push(input);
            }
        }
        let [input] = inputs.as_slice() else {
            let names: Vec<&str> = inputs.iter().map(|input| input.name).collect();
            return Err(format!("has {} inputs ({}) where one is expected", names.len(), names.join(", ")));
        };
        let name = input.name;
        if name.is_empty() {
            return Err("its input has no name".into());
        }
        if let Some(kind) = input.kind.map(type_name)
            && !holds_signs(kind)
        {
            return Err(format!("input {name} of type {kind} cannot be a row of -1 and +1"));
        }
        let (mut width, mut rank) = (None, None);
        if let Some(shape) = &input.shape {
            if shape.len() < 2 {
                return Err(format!("input {name} has {} axes where rows of a batch are expected", shape.len()));
            }
            rank = Some(shape.len());
            width = shape[1..].iter().try_fold(1usize, |width, axis| width.checked_mul((*axis)?));
        }
        let chain = HashSet::from([name]);
        let stack = Stack { layers: Vec::new(), notes: Vec::new() };
        Ok(Reader { options, constants, chain, at: name, row: Row::Signs, width, rank, stack })
    }

    fn finish(self, output: &str) -> Result<Stack, String> {
        if output != self.at {
            return Err(format!("the output {output} is not the end of the chain, which is {}", self.at));
        }
        let Some(last) = self.stack.layers.last() else { return Err("holds no matrix".into()) };
        if self.row == Row::Signs && last.weights.len() > 1 {
            return Err(format!("gives {} signs where one, or scores, are expected", last.weights.len()));
        }
        Ok(self.stack)
    }

    /// Processes the next node, on the chain or among the constants.
    fn take(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        if !is_standard(node.domain) && node.operator != "BipolarQuant" {
            return Err(format!("operators of the domain {} are not read", node.domain).into());
        }
        let output = node.outputs.first().copied().filter(|name| !name.is_empty()).ok_or("gives nothing")?;
        if self.chain.contains(output) || self.constants.contains(output) {
            return Err(format!("gives {output}, which already exists").into());
        }
        if let Some(name) = node.inputs.iter().find(|&name| self.chain.contains(name) && *name != self.at) {
            return Err(format!("reads {name} a second time: only a chain of nodes is supported").into());
        }
        match node.inputs.iter().filter(|&&name| name == self.at).count() {
            0 => self.constants.make(node, output)?,
            1 => {
                self.step(node)?;
                self.chain.insert(output);
                self.at = output;
            }
            _ => return Err(format!("reads {} twice", self.at).into()),
        }
        Ok(())
    }

    /// Processes a node on the chain.
    fn step(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        // Only the operands of a sum may be in any order.
        if node.operator != "Add" && node.inputs.first() != Some(&self.at) {
            return Err(format!("reads {} in a place other than the first", self.at).into());
        }
        match node.operator {
            "MatMul" => {
                let weights = self.constants.get(node.input(1))?;
                self.dense(node, weights, false, None)
            }
            "Gemm" => {
                if node.float("alpha", 1.0)? != 1.0 || node.float("beta", 1.0)? != 1.0 || node.int("transA", 0)? != 0 {
                    return Err("only alpha = beta = 1 and transA = 0 are supported".into());
                }
                let weights = self.constants.get(node.input(1))?;
                let bias = node.input(2).map(|name| self.constants.get(Some(name))).transpose()?;
                self.dense(node, weights, node.int("transB", 0)? != 0, bias)
            }
            "Add" => self.add(node),
            "BatchNormalization" => self.normalise(node),
            "Sign" => self.sign(node, true),
            "BipolarQuant" => {
                self.constants.check_scale(node)?;
                self.sign(node, false)
            }
            "Softmax" | "LogSoftmax" | "Sigmoid" | "ArgMax" => self.end(node),
            "Identity" => Ok(()),
            "Dropout" if node.input(2).is_none() => Ok(()),
            "Dropout" => Err("the input training_mode is not supported".into()),
            "Cast" => self.cast(node),
            "Flatten" => {
                let axis = node.int("axis", 1)?;
                if axis != 1 && self.rank.is_none_or(|rank| axis != 1 - rank as i64) {
                    return Err(format!("axis {axis} mixes the rows").into());
                }
                self.rank = Some(2);
                Ok(())
            }
            "Reshape" => self.reshape(node),
            _ => Err("this operator is not read".into()),
        }
    }

    fn dense(
        &mut self,
        node: &Node<'a>,
        weights: Tensor,
        outputs_first: bool,
        bias: Option<Tensor>,
    ) -> Result<(), Refusal> {
        match self.row {
            Row::Signs => {}
            Row::Sums => return Err("follows another matrix without a sign between them".into()),
            Row::Ordered | Row::Class => return Err("follows the end of a network".into()),
        }
        if let Some(rank) = self.rank.filter(|&rank| rank != 2) {
            return Err(format!("reads {rank} axes where rows of a batch are expected").into());
        }
        let name = node.label();
        let &[rows, columns] = weights.shape.as_slice() else {
            return Err(format!("its weights have the shape {:?}, which is not a matrix", weights.shape).into());
        };
        if weights.values.is_empty() {
            return Err(ModelError::Empty { layer: name }.into());
        }
        let (outputs, inputs) = if outputs_first { (rows, columns) } else { (columns, rows) };
        if let Some(expected) = self.width.filter(|&width| width != inputs) {
            return Err(ModelError::Width { layer: name, expected, found: inputs }.into());
        }
        self.constants.spend(weights.values.len())?;
        let at = |output, input| if outputs_first { output * inputs + input } else { input * outputs + output };
        let kernel = exact_rows(&name, &weights.values, (outputs, inputs), at)?;
        let weights = weights_of_kernel(&name, kernel, false, self.options, &mut self.stack.notes)?;
        let bias = match bias {
            Some(bias) => exact_vector(&name, "the bias", &broadcast(bias, outputs)?)?,
            None => vec![RBig::ZERO; outputs],
        };
        self.stack.layers.push(DenseLayer { name, weights, bias, norm: None });
        (self.row, self.width, self.rank) = (Row::Sums, Some(outputs), Some(2));
        Ok(())
    }

    /// The layer whose sums the chain holds, if only constants were added to them.
    fn open_layer(&mut self) -> Result<&mut DenseLayer, Refusal> {
        let last = self.stack.layers.last_mut().filter(|layer| layer.norm.is_none());
        last.filter(|_| self.row == Row::Sums && self.rank == Some(2)).ok_or("does not follow a matrix".into())
    }

    fn add(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        let outputs = self.open_layer()?.weights.len();
        let other = usize::from(node.inputs.first() == Some(&self.at));
        let bias = broadcast(self.constants.get(node.input(other))?, outputs)?;
        self.constants.spend(outputs)?;
        let bias = exact_vector(&node.label(), "the bias", &bias)?;
        let layer = self.open_layer()?;
        layer.bias.iter_mut().zip(bias).for_each(|(sum, bias)| *sum += bias);
        Ok(())
    }

    fn normalise(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        self.open_layer()?;
        if node.int("training_mode", 0)? != 0 || node.outputs[1..].iter().any(|name| !name.is_empty()) {
            return Err("is in training mode".into());
        }
        let name = node.label();
        let mut vector = |index: usize, what| {
            let tensor = self.constants.get(node.input(index))?;
            Ok::<_, Refusal>(exact_vector(&name, what, &tensor.values)?)
        };
        let [gamma, beta] = [vector(1, "gamma")?, vector(2, "beta")?];
        let [mean, variance] = [vector(3, "the mean")?, vector(4, "the variance")?];
        let epsilon = exact_vector(&name, "epsilon", &[node.float("epsilon", 1e-5)?.into()])?.remove(0);
        if self.options.bn_epsilon.as_ref().is_some_and(|other| *other != epsilon) {
            self.stack.notes.push(format!("{name}: the epsilon in the file counts, not the one that was given"));
        }
        self.open_layer()?.norm = Some(BatchNorm { name, gamma, beta, mean, variance, epsilon });
        Ok(())
    }

    /// A sign as an activation; `gives_zero` if it maps 0 to 0.
    fn sign(&mut self, node: &Node<'a>, gives_zero: bool) -> Result<(), Refusal> {
        match self.row {
            Row::Signs => return Ok(()),
            Row::Sums => {}
            Row::Ordered | Row::Class => return Err("follows the end of a network".into()),
        }
        let layer = self.stack.layers.last().ok_or("does not follow a matrix")?;
        let may_be_zero = |neuron| reaches_zero(layer, neuron, MAX_SUMS) != Some(false);
        if gives_zero && (0..layer.weights.len()).any(may_be_zero) {
            let name = node.label();
            let note = format!("{name}: a sum of exactly 0 may occur, which counts as +1 here and as 0 in ONNX");
            self.stack.notes.push(note);
        }
        self.row = Row::Signs;
        Ok(())
    }

    fn end(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        let operator = node.operator;
        if self.row != Row::Sums && !(self.row == Row::Ordered && operator == "ArgMax") {
            return Err("does not follow the scores of a matrix".into());
        }
        if operator != "Sigmoid" {
            if self.width == Some(1) {
                return Err("has only one score to compare".into());
            }
            // Before version 13 the default of Softmax was 1, which is the same axis.
            let axis = node.int("axis", if operator == "ArgMax" { 0 } else { -1 })?;
            if axis != 1 && axis != -1 {
                return Err(format!("axis {axis} is not that of the scores").into());
            }
        }
        self.row = Row::Ordered;
        if operator == "ArgMax" {
            if node.int("select_last_index", 0)? != 0 {
                return Err("takes the last of equal scores; a network here takes the first".into());
            }
            self.rank = Some(if node.int("keepdims", 1)? != 0 { 2 } else { 1 });
            (self.row, self.width) = (Row::Class, Some(1));
        }
        Ok(())
    }

    fn cast(&self, node: &Node<'a>) -> Result<(), Refusal> {
        let kind = cast_type(node)?;
        let harmless = match self.row {
            Row::Signs => holds_signs(kind),
            Row::Sums | Row::Ordered => matches!(kind, "float" | "double"),
            Row::Class => matches!(kind, "int32" | "int64" | "float" | "double"),
        };
        if harmless { Ok(()) } else { Err(format!("the type {kind} does not keep what the row holds").into()) }
    }

    fn reshape(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        let shape = self.constants.get(node.input(1))?.values;
        let is_width = |axis: f64| axis == -1.0 || self.width.is_none_or(|width| axis >= 1.0 && axis == width as f64);
        let keeps_zero = node.int("allowzero", 0)? != 0;
        match shape.as_slice() {
            [-1.0, -1.0] => return Err("leaves both axes open".into()),
            // Networks here read a batch of one.
            &[batch, width] if is_width(width) && (batch == 1.0 || batch == -1.0 || batch == 0.0 && !keeps_zero) => {
                self.rank = Some(2);
            }
            [-1.0] if self.width == Some(1) => self.rank = Some(1),
            _ => return Err(format!("the shape {shape:?} does not keep the rows").into()),
        }
        Ok(())
    }
}

/// Whether a number type can hold -1 and +1.
fn holds_signs(kind: &str) -> bool {
    matches!(kind, "float" | "double" | "float16" | "bfloat16" | "int8" | "int16" | "int32" | "int64")
}

/// A constant that is added to rows of this length: one number for each position, or one for all.
fn broadcast(tensor: Tensor, width: usize) -> Result<Vec<f64>, String> {
    match tensor.shape.as_slice() {
        [length] | [1, length] if *length == width => Ok(tensor.values),
        [] | [1] | [1, 1] => Ok(vec![tensor.values[0]; width]),
        shape => Err(format!("adds a constant of the shape {shape:?} to rows of {width}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::protobuf::write::{bytes, varint};
    use crate::model::{Kernels, fold_network};

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
        let domain = bytes(7, if operator == "BipolarQuant" { b"qonnx.custom_op.general" } else { b"" });
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

    fn stack(bytes: &[u8], options: &ImportOptions) -> Result<Stack, String> {
        assert!(begins_like_onnx(bytes));
        read_bytes(Path::new("f"), bytes, options).map_err(|e| e.to_string())
    }

    fn numbers(text: &str) -> Vec<RBig> {
        text.split(' ').map(|number| RBig::from_str_decimal(number).unwrap()).collect()
    }

    #[test]
    fn layers_are_read_exactly() {
        let stack = stack(&small(), &ImportOptions::default()).unwrap();
        let [first, second] = stack.layers.as_slice() else { panic!("two layers") };
        assert_eq!((first.name.as_str(), second.name.as_str()), ("a", "e"));
        assert_eq!(first.weights, [numbers("1 1 -1"), numbers("-1 1 1")]);
        assert_eq!(first.bias, numbers("0.5 -1.5"));
        let norm = first.norm.as_ref().unwrap();
        assert_eq!((&norm.beta, &norm.mean), (&numbers("0.5 -1.5"), &numbers("0 0")));
        assert_eq!(norm.epsilon, RBig::from_parts(1.into(), 4u8.into()));
        // BipolarQuant maps 0 to +1.
        assert_eq!((&second.weights[0], &second.bias), (&numbers("1 -1"), &numbers("-0.25")));
        assert!(second.norm.is_none() && stack.notes.is_empty(), "{:?}", stack.notes);
        fold_network(&stack.layers).unwrap();
    }

    #[test]
    fn the_epsilon_of_the_file_counts() {
        let nodes = [node("MatMul x w -> a", &[]), node("BatchNormalization a v v v v -> y", &[])];
        let bytes = model(&nodes, &[tensor("w", &[3, 1], &[1.0; 3]), tensor("v", &[1], &[1.0])]);
        let options = ImportOptions { bn_epsilon: Some(RBig::ONE), ..ImportOptions::default() };
        let stack = stack(&bytes, &options).unwrap();
        // The standard's default, as the f32 that an attribute would hold.
        assert_eq!(stack.layers[0].norm.as_ref().unwrap().epsilon, RBig::try_from(1e-5f32).unwrap());
        assert_eq!(stack.notes, ["y: the epsilon in the file counts, not the one that was given"]);
    }

    #[test]
    fn zeros_under_sign_follow_the_options() {
        let nodes = [node("Sign w -> v", &[]), node("MatMul x v -> y", &[])];
        let bytes = model(&nodes, &[tensor("w", &[3, 1], &[0.5, 0.0, -2.0])]);
        let options = ImportOptions::default();
        assert!(stack(&bytes, &options).err().unwrap().contains("y: the weight of neuron 1 for input 2 is 0"));
        let options = ImportOptions { zero_weight: Some(false), ..options };
        assert_eq!(stack(&bytes, &options).unwrap().layers[0].weights[0], numbers("1 -1 -1"));
        let options = ImportOptions { kernels: Kernels::Real, ..options };
        assert_eq!(stack(&bytes, &options).unwrap().layers[0].weights[0], numbers("1 0 -1"));
    }

    #[test]
    fn refusals_name_the_node() {
        let tensors = [tensor("w", &[3, 3], &[1.0; 9]), tensor("v", &[3], &[1.0; 3]), tensor("s", &[1], &[2.0])];
        let norm = "BatchNormalization a v v v v -> b";
        type Nodes<'a> = &'a [(&'a str, &'a [Vec<u8>])];
        let cases: [(Nodes<'_>, &str); 20] = [
            (&[("MatMul x w -> a", &[]), ("Relu a -> y", &[])], "node y (Relu): this operator is not read"),
            (&[("MatMul x w -> a", &[]), ("MatMul a w -> y", &[])], "node y (MatMul): follows another matrix"),
            (&[("Gemm x w v -> y", &[float("alpha", 0.5)])], "node y (Gemm): only alpha"),
            (&[("Gemm x w v -> y", &[int("transA", 1)])], "node y (Gemm): only alpha"),
            (&[("Gemm x w v -> y", &[float("transB", 1.0)])], "node y (Gemm): attribute transB is not an integer"),
            (&[("Add x v -> y", &[])], "node y (Add): does not follow a matrix"),
            (&[("MatMul x w -> a", &[]), (norm, &[]), ("Add b v -> y", &[])], "node y (Add): does not follow a matrix"),
            (&[("MatMul x w -> a", &[]), ("Add a a -> y", &[])], "node y (Add): reads a twice"),
            (&[("MatMul x w -> a", &[]), ("Add a x -> y", &[])], "node y (Add): reads x a second time"),
            (&[("MatMul w x -> y", &[])], "node y (MatMul): reads x in a place other"),
            (&[("MatMul x v -> y", &[])], "node y (MatMul): its weights have the shape [3]"),
            (&[("MatMul x u -> y", &[])], "node y (MatMul): reads u, which is not defined before it"),
            (&[("BipolarQuant w s -> a", &[]), ("MatMul x a -> y", &[])], "node a (BipolarQuant): its scale is not 1"),
            (&[("MatMul x w -> a", &[]), ("Sign a -> y", &[])], "gives 3 signs"),
            (&[("MatMul x w -> a", &[]), ("ArgMax a -> y", &[])], "node y (ArgMax): axis 0"),
            (&[("Flatten x -> a", &[int("axis", i64::MAX)])], "node a (Flatten): axis"),
            (&[("Cast x -> a", &[int("to", 9)])], "node a (Cast): the type bool"),
            (&[("MatMul x w -> a", &[]), ("Identity w -> a", &[])], "node a (Identity): gives a, which"),
            (&[("MatMul x w -> a", &[])], "the output y is not the end of the chain"),
            (&[("Identity x -> y", &[])], "holds no matrix"),
        ];
        for (nodes, expected) in cases {
            let nodes: Vec<Vec<u8>> = nodes.iter().map(|(text, attributes)| node(text, attributes)).collect();
            let said = stack(&model(&nodes, &tensors), &ImportOptions::default()).err().unwrap();
            assert!(said.starts_with(&format!("f: {expected}")), "{said} / {expected}");
        }
    }

    #[test]
    fn damaged_files_are_refused_and_never_panic() {
        let bytes = small();
        let options = ImportOptions { zero_weight: Some(true), ..ImportOptions::default() };
        for length in 0..bytes.len() {
            assert!(read_bytes(Path::new("f"), &bytes[..length], &options).is_err(), "{length}");
        }
        // A flipped bit may give a valid file with another meaning.
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Ok(stack) = read_bytes(Path::new("f"), &flipped, &options) {
                let _ = fold_network(&stack.layers);
            }
        }
    }

    #[test]
    fn many_copies_of_a_constant_are_refused() {
        let copies: Vec<Vec<u8>> = (0..1000).map(|copy| node(&format!("Identity w -> c{copy}"), &[])).collect();
        let bytes = model(&copies, &[tensor("w", &[100, 1000], &[1.0; 100_000])]);
        let said = stack(&bytes, &ImportOptions::default()).err().unwrap();
        assert!(said.contains("far more constants than the file holds"), "{said}");
        // Numbers that a header announces but the file does not hold.
        let empty = tensor("w", &[1 << 40, 0], &[]);
        let said = stack(&model(&[node("MatMul x w -> y", &[])], &[empty]), &ImportOptions::default()).err().unwrap();
        assert_eq!(said, "y is empty");
        let claimed = tensor("w", &[3, 1 << 40], &[1.0]);
        let said = stack(&model(&[node("MatMul x w -> y", &[])], &[claimed]), &ImportOptions::default()).err().unwrap();
        assert!(said.contains("tensor w holds 1 numbers for the shape [3, 1099511627776]"), "{said}");
    }

    #[test]
    fn zero_sums_agree_with_enumeration() {
        let norm = |gamma: &str, beta: &str, mean: &str, variance: &str| BatchNorm {
            name: "n".into(),
            gamma: numbers(gamma),
            beta: numbers(beta),
            mean: numbers(mean),
            variance: numbers(variance),
            epsilon: RBig::ZERO,
        };
        let norms = [
            None,
            // s - 1 + 2 b = 0 with a rational root, and one with an irrational root.
            Some((norm("1", "-1", "1", "4"), 2.0, 1.0)),
            Some((norm("-2", "3", "0", "2.25"), 1.5, 0.0)),
            Some((norm("1", "1", "0", "2"), 2f64.sqrt(), 0.0)),
            Some((norm("1", "0", "1", "2"), 1.0, 1.0)),
            Some((norm("0", "0", "1", "2"), 1.0, 1.0)),
            Some((norm("0", "0.5", "1", "2"), 1.0, 1.0)),
        ];
        for weights in ["1 -1 1", "1 1", "0.5 0.5 -0.5", "1 -1 1 -1", "2 1 0", "1.5 -1 3 0.5"] {
            for bias in ["0", "1", "-2", "0.5", "-1.5", "9"] {
                for parameters in &norms {
                    let weights = numbers(weights);
                    let sums = (0..1 << weights.len()).map(|input: u32| {
                        let term = |(j, w): (usize, &RBig)| if input >> j & 1 == 1 { w.clone() } else { -w };
                        let sum = weights.iter().enumerate().map(term).fold(numbers(bias).remove(0), |a, b| a + b);
                        let sum = sum.to_f64().value();
                        parameters.as_ref().map_or(sum, |(norm, root, mean)| {
                            let part = |vector: &[RBig]| vector[0].to_f64().value();
                            part(&norm.gamma) * (sum - mean) / root + part(&norm.beta)
                        })
                    });
                    let expected = sums.map(|sum| sum.abs()).any(|sum| sum < 1e-9);
                    let (name, norm) = ("l".into(), parameters.as_ref().map(|(norm, ..)| norm.clone()));
                    let layer = DenseLayer { name, weights: vec![weights], bias: numbers(bias), norm };
                    assert_eq!(reaches_zero(&layer, 0, MAX_SUMS), Some(expected), "{layer:?}");
                }
            }
        }
    }
}
