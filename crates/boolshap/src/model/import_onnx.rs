//! Imports binarised and quantised networks in ONNX and QONNX, as exported by Brevitas, QKeras, FINN and others: a
//! chain of operators from the only input to the only output.
//!
//! | operators | what becomes of them |
//! | --- | --- |
//! | `MatMul`, `Gemm`, `Conv`, average pooling | weighted sums of the quantised values before |
//! | `Add`, `Sub`, `Mul`, `Div`, `Neg`, `BatchNormalization` | constants of the sums, exactly |
//! | `Relu`, `Clip`, `Max`, `Min`, `HardTanh` as `Clip` | limits of the sums |
//! | `Quant`, `BipolarQuant`, `Trunc`, `MultiThreshold`, `Sign` | gates, one for each level but the first |
//! | `MaxPool`, before or after a quantiser | a gate for each level |
//! | `Transpose`, `Reshape`, `Flatten`, `Squeeze`, `Unsqueeze` | the values in another order or shape |
//! | `Identity`, `Dropout`, `Cast` | nothing |
//! | `Softmax`, `LogSoftmax`, `Sigmoid`, `ArgMax`, `TopK` | the end: the largest score wins, a single one is compared with 0 |
//!
//! Weights and shapes are constants, or computed from constants and the shapes of values. Any other operator, a branch,
//! and two matrices without a quantiser between them are rejected with the node's name.
//!
//! Everything computed from the inputs is exact, in real arithmetic on the stored numbers. Programs that execute such
//! files add in float32; a note counts the sums so close to a threshold that the two may differ. Raw inputs and
//! constants are computed in float32, as in those programs (`levels`, `onnx_constants`).
//!
//! An input without a quantiser is taken as -1 and +1, unless the file or the caller says which numbers it can be. In a
//! network with numbers of several bits, one of them must say so.

use super::fold_levels::Layers;
use super::import::ImportOptions;
use super::input_values::InputValues;
use super::levels::{Change, Cut, Value};
use super::network::Network;
use super::onnx_constants::{Constants, Refusal, transposed};
pub(crate) use super::onnx_file::begins_like_onnx;
use super::onnx_file::{Graph, Node, Tensor, ValueInfo, is_standard, type_name};
use super::onnx_quantisers::is_quantiser;
use super::onnx_windows::Pool;
use super::steps::Step;
use super::{ModelError, onnx_real};
use std::collections::HashMap;
use std::path::Path;

/// The first opset version in which operands broadcast as they do today.
const MIN_OPSET: u64 = 7;
/// The most values in a layer.
const MAX_VALUES: usize = 1 << 20;

/// A network, and how the columns of a table become its bits.
pub(crate) struct OnnxNetwork {
    pub(crate) network: Network,
    pub(crate) columns: Vec<Cut>,
    pub(crate) notes: Vec<String>,
}

/// A network of gates, or the steps of a network of real weights.
pub(crate) enum OnnxFound {
    Gates(OnnxNetwork),
    Real(Vec<Step>),
}

pub(crate) fn read(path: &Path, options: &ImportOptions) -> Result<OnnxFound, ModelError> {
    let bytes = std::fs::read(path).map_err(|source| ModelError::Io { path: path.into(), source })?;
    read_bytes(path, &bytes, options)
}

pub(super) fn read_bytes(path: &Path, bytes: &[u8], options: &ImportOptions) -> Result<OnnxFound, ModelError> {
    let wrong = |message: String| ModelError::Format { path: path.into(), message };
    let graph = Graph::of_model(bytes).map_err(wrong)?;
    let cut_off = || wrong("does not have the version of its operators: is it cut off?".into());
    let opset = graph.opset.ok_or_else(cut_off)?;
    if opset < MIN_OPSET {
        return Err(wrong(format!("uses version {opset} of the operators; {MIN_OPSET} or later is supported")));
    }
    let nodes = graph.nodes.iter().enumerate().map(|(index, node)| Node::parse(node, index + 1).map_err(wrong));
    let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
    if onnx_real::is_real(&nodes) {
        return onnx_real::read(&graph, &nodes, bytes.len(), wrong).map(OnnxFound::Real);
    }
    let mut reader = Reader::start(&graph, &nodes, bytes.len(), options).map_err(wrong)?;
    for node in &nodes {
        reader.take(node).map_err(|refusal| match refusal {
            Refusal::Node(message) => wrong(format!("{}: {message}", node.title())),
            Refusal::Model(error) => error,
        })?;
    }
    let outputs = graph.outputs.iter().map(|output| ValueInfo::parse(output).map(|output| output.name).map_err(wrong));
    let outputs = outputs.collect::<Result<Vec<_>, _>>()?;
    reader.finish(&outputs).map(OnnxFound::Gates).map_err(|refusal| match refusal {
        Refusal::Node(message) => wrong(message),
        Refusal::Model(error) => error,
    })
}

/// The meaning of the current values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    Numbers,
    /// Values in the same order of size as the last layer's sums.
    Ordered,
    /// The number of the class.
    Class,
}

pub(crate) struct Reader<'a> {
    pub(super) options: &'a ImportOptions,
    pub(crate) constants: Constants<'a>,
    /// The shapes of all tensors on the chain; `None` if unknown.
    pub(super) chain: HashMap<&'a str, Option<Vec<usize>>>,
    /// The last tensor of the chain.
    pub(super) at: &'a str,
    pub(super) row: Row,
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<Value>,
    /// A `MaxPool` whose quantiser is still to come; until then, shape and values are those before the pooling.
    pub(crate) pool: Option<Pool>,
    pub(crate) layers: Layers,
    /// The number of columns of the table.
    pub(super) columns: usize,
    /// The batch size the file was made for.
    pub(super) batch: Option<usize>,
    /// Nodes that wait for a matrix, which determines the number of columns.
    pub(super) waiting: Vec<&'a Node<'a>>,
    /// The numbers that the inputs can be, if known.
    pub(super) inputs: Option<InputValues>,
    /// Whether the file or the caller states them.
    pub(super) is_stated: bool,
    /// The name of the last node with weights.
    pub(crate) layer: String,
    pub(crate) notes: Vec<String>,
}

impl<'a> Reader<'a> {
    fn start(
        graph: &Graph<'a>,
        nodes: &'a [Node<'a>],
        length: usize,
        options: &'a ImportOptions,
    ) -> Result<Self, String> {
        let constants = Constants::new(graph, length)?;
        let input = only_input(graph, &constants)?;
        let name = input.name;
        let several_bits = |node: &Node<'_>| matches!(node.operator, "Quant" | "IntQuant" | "MultiThreshold" | "Trunc");
        let stated = graph.number_type(name).filter(|stated| *stated != "FLOAT32").map(str::parse).transpose()?;
        let inputs = options.inputs.clone().or(stated);
        let default = (!nodes.iter().any(several_bits)).then(InputValues::signs);
        let mut reader = Reader {
            options,
            constants,
            chain: HashMap::new(),
            at: name,
            row: Row::Numbers,
            shape: Vec::new(),
            values: Vec::new(),
            pool: None,
            layers: Layers::default(),
            columns: 0,
            batch: None,
            waiting: Vec::new(),
            is_stated: inputs.is_some(),
            inputs: inputs.or(default),
            layer: String::new(),
            notes: Vec::new(),
        };
        let mut shape = None;
        if let Some(axes) = &input.shape {
            if axes.len() < 2 {
                return Err(format!("input {name} has {} axes where rows of a batch are expected", axes.len()));
            }
            reader.batch = axes[0];
            shape = axes[1..].iter().copied().collect::<Option<Vec<usize>>>().map(|rest| [vec![1], rest].concat());
        }
        reader.chain.insert(name, shape.clone());
        if let Some(shape) = shape {
            reader.fill(shape)?;
        }
        Ok(reader)
    }

    /// Starts with the inputs: as raw numbers, or as the numbers they are known to be.
    fn fill(&mut self, shape: Vec<usize>) -> Result<(), String> {
        let columns = shape.iter().try_fold(1usize, |count, &side| count.checked_mul(side));
        let columns = columns.filter(|count| (1..=MAX_VALUES).contains(count));
        let columns = columns.ok_or_else(|| format!("inputs of the shape {shape:?} are not read"))?;
        (self.shape, self.columns) = (shape, columns);
        self.values = match self.inputs.as_ref().filter(|_| self.is_stated) {
            Some(inputs) => {
                (0..columns as u32).map(|at| Value::of_domain(at, inputs.numbers(), inputs.are_two())).collect()
            }
            None => (0..columns as u32).map(Value::raw).collect(),
        };
        Ok(())
    }

    fn finish(mut self, outputs: &[&str]) -> Result<OnnxNetwork, Refusal> {
        if !self.waiting.is_empty() || self.layer.is_empty() {
            return Err("holds no matrix".into());
        }
        if let Some(pool) = &self.pool {
            return Err(format!("no quantiser follows {}", pool.label).into());
        }
        if !outputs.contains(&self.at) {
            let output = outputs.first().copied().unwrap_or_default();
            return Err(format!("the output {output} is not the end of the chain, which is {}", self.at).into());
        }
        // Besides the classes, `TopK` outputs their scores.
        if let Some(other) = outputs.iter().find(|output| !self.chain.contains_key(*output)) {
            return Err(format!("the output {other} is not on the chain").into());
        }
        if outputs.len() > 1 && self.row != Row::Class {
            return Err(format!("has {} outputs where one is expected", outputs.len()).into());
        }
        let name = std::mem::take(&mut self.layer);
        let columns = self.layers.columns.clone();
        let near = self.layers.near;
        let network = self.layers.finish(&name, self.values)?;
        if near > 0 {
            self.notes.push(format!(
                "{near} thresholds are so close to a sum that float32 may decide otherwise; here exact numbers decide"
            ));
        }
        Ok(OnnxNetwork { network, columns, notes: self.notes })
    }

    /// Processes the next node, on the chain or among the constants.
    fn take(&mut self, node: &'a Node<'a>) -> Result<(), Refusal> {
        let is_custom = is_quantiser(node.operator) && node.operator != "Sign";
        if !is_standard(node.domain) && !is_custom {
            return Err(format!("operators of the domain {} are not read", node.domain).into());
        }
        let output = node.outputs.first().copied().filter(|name| !name.is_empty());
        let output = match (node.operator, node.outputs.get(1)) {
            ("TopK", Some(classes)) => Some(*classes),
            _ => output,
        };
        let output = output.ok_or("gives nothing")?;
        if node.outputs.iter().any(|name| self.chain.contains_key(name) || self.constants.contains(name)) {
            return Err(format!("gives {output}, which already exists").into());
        }
        if node.operator == "Shape" && node.inputs.iter().any(|name| self.chain.contains_key(name)) {
            return self.shape_of(node, output);
        }
        if let Some(name) = node.inputs.iter().find(|&name| self.chain.contains_key(name) && *name != self.at) {
            return Err(format!("reads {name} a second time: only a chain of nodes is supported").into());
        }
        match node.inputs.iter().filter(|&&name| name == self.at).count() {
            0 => self.constants.make(node, output)?,
            1 => {
                self.advance(node)?;
                let shape = self.pool.as_ref().map_or_else(|| self.shape.clone(), Pool::shape);
                let shape = (!self.values.is_empty()).then_some(shape);
                node.outputs.iter().for_each(|name| drop(self.chain.insert(name, shape.clone())));
                self.at = output;
            }
            _ => return Err(format!("reads {} twice", self.at).into()),
        }
        Ok(())
    }

    /// A known shape becomes a constant; rows are read one by one.
    fn shape_of(&mut self, node: &Node<'a>, output: &'a str) -> Result<(), Refusal> {
        let shape = node.input(0).and_then(|name| self.chain.get(name)).and_then(Option::as_ref);
        let shape = shape.ok_or("asks for a shape that the file does not state")?;
        let values: Vec<f64> = shape.iter().map(|&side| side as f64).collect();
        self.constants.put(output, Tensor::new(vec![values.len()], values));
        Ok(())
    }

    /// Processes a node on the chain, or delays it until the number of columns is known.
    fn advance(&mut self, node: &'a Node<'a>) -> Result<(), Refusal> {
        if self.values.is_empty() {
            if !matches!(node.operator, "MatMul" | "Gemm") {
                self.waiting.push(node);
                return Ok(());
            }
            let weights = self.constants.get(node.input(1))?;
            let &[rows, columns] = weights.shape.as_slice() else {
                return Err(format!("its weights have the shape {:?}, which is not a matrix", weights.shape).into());
            };
            let outputs_first = node.operator == "Gemm" && node.int("transB", 0)? != 0;
            self.fill(vec![1, if outputs_first { columns } else { rows }])?;
            for waiting in std::mem::take(&mut self.waiting) {
                self.step(waiting)?;
            }
        }
        self.step(node)
    }

    fn step(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        let operator = node.operator;
        // Only the operands of arithmetic may be in either order.
        let symmetric = matches!(operator, "Add" | "Sub" | "Mul" | "Max" | "Min");
        if !symmetric && !self.waiting_or_first(node) {
            return Err(format!("reads {} in a place other than the first", self.at).into());
        }
        if self.row != Row::Numbers
            && !matches!(operator, "ArgMax" | "TopK" | "Cast" | "Identity" | "Reshape" | "Flatten" | "Squeeze")
        {
            return Err("follows the end of a network".into());
        }
        if let Some(pool) = self.pool.as_ref().filter(|_| !Pool::lets_pass(operator)) {
            return Err(format!("comes between {} and a quantiser", pool.label).into());
        }
        match operator {
            "MatMul" => self.dense(node, false, 1.0, None),
            "Gemm" => {
                if node.int("transA", 0)? != 0 {
                    return Err("only transA = 0 is supported".into());
                }
                let bias = node.input(2).map(|name| self.constants.get(Some(name))).transpose()?;
                let (alpha, beta) = (node.float("alpha", 1.0)?, node.float("beta", 1.0)?);
                let bias = bias.map(|bias| (bias, beta.into()));
                self.dense(node, node.int("transB", 0)? != 0, alpha.into(), bias)
            }
            "Conv" => self.convolve(node),
            "AveragePool" | "GlobalAveragePool" => self.average(node),
            "MaxPool" => self.maximum(node),
            "Add" | "Sub" | "Mul" | "Div" | "Max" | "Min" => self.arithmetic(node),
            "Pow" => self.power(node),
            "Neg" => self.each(|_| Change::SubtractFrom(0.0)),
            "Relu" => self.each(|_| Change::AtLeast(0.0)),
            "Clip" => self.clip(node),
            "BatchNormalization" => self.normalise(node),
            _ if is_quantiser(operator) => self.quantise(node),
            "Softmax" | "LogSoftmax" | "Sigmoid" | "ArgMax" | "TopK" => self.end(node),
            "Identity" => Ok(()),
            "Dropout" if node.input(2).is_none() => Ok(()),
            "Dropout" => Err("the input training_mode is not supported".into()),
            "Cast" => self.cast(node),
            "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze" => self.reshape(node),
            "Transpose" => {
                let (places, shape) = transposed(node, &self.shape)?;
                self.values = places.into_iter().map(|place| self.values[place].clone()).collect();
                self.shape = shape;
                Ok(())
            }
            _ => Err("this operator is not read".into()),
        }
    }

    /// Whether a node's first operand is on the chain; a delayed node reads an earlier part of it.
    pub(super) fn waiting_or_first(&self, node: &Node<'a>) -> bool {
        node.inputs.first().is_some_and(|name| self.chain.contains_key(name))
    }
}

/// The only input, which must hold numbers.
fn only_input<'a>(graph: &Graph<'a>, constants: &Constants<'a>) -> Result<ValueInfo<'a>, String> {
    // Old files list the initializers among the inputs.
    let mut inputs = Vec::new();
    for input in &graph.inputs {
        let input = ValueInfo::parse(input)?;
        if !constants.contains(input.name) {
            inputs.push(input);
        }
    }
    if inputs.len() != 1 {
        let names: Vec<&str> = inputs.iter().map(|input| input.name).collect();
        return Err(format!("has {} inputs ({}) where one is expected", names.len(), names.join(", ")));
    }
    let input = inputs.swap_remove(0);
    if input.name.is_empty() {
        return Err("its input has no name".into());
    }
    match input.kind.map(type_name).filter(|kind| !holds_numbers(kind)) {
        Some(kind) => Err(format!("input {} of type {kind} cannot be a row of numbers", input.name)),
        None => Ok(input),
    }
}

/// Whether a type can hold small numbers.
fn holds_numbers(kind: &str) -> bool {
    !matches!(kind, "string" | "bool" | "complex64" | "complex128" | "an unknown type")
}
