//! Binarised and quantised networks in ONNX and QONNX, as Brevitas, QKeras, FINN and others export them: a chain of operators
//! from the only input to the only output.
//!
//! | operators | what becomes of them |
//! | --- | --- |
//! | `MatMul`, `Gemm`, `Conv`, average pooling | weighted sums of the quantised values before |
//! | `Add`, `Sub`, `Mul`, `Div`, `Neg`, `BatchNormalization` | constants of the sums, exactly |
//! | `Relu`, `Clip`, `Max`, `Min`, `HardTanh` as `Clip` | limits of the sums |
//! | `Quant`, `BipolarQuant`, `Trunc`, `MultiThreshold`, `Sign` | gates, one for each level but the first |
//! | `MaxPool` of quantised values | a gate for each level |
//! | `Transpose`, `Reshape`, `Flatten`, `Squeeze`, `Unsqueeze` | the values in another order or shape |
//! | `Identity`, `Dropout`, `Cast` | nothing |
//! | `Softmax`, `LogSoftmax`, `Sigmoid`, `ArgMax`, `TopK` | the end: the largest score wins, a single one is compared with 0 |
//!
//! Weights and shapes are constants, or computed from constants and the shapes of values. Any other operator, a branch, and
//! two matrices without a quantiser between them are rejected with the node's name.
//!
//! What depends on the inputs is exact, as in real arithmetic over the stored numbers. Programs that execute such files add
//! in float32; a sum so close to a threshold that the two may differ is counted and told of in a note. Raw inputs and
//! constants are computed with in float32, as programs do it (`levels`, `onnx_constants`).
//!
//! An input that no quantiser reads is taken as -1 and +1, unless the file or the caller says which numbers it can be; in a
//! network with numbers of several bits one of them must.

use super::fold_levels::Layers;
use super::import::{ImportOptions, exact_rows, exact_vector, weights_of_kernel};
use super::input_values::InputValues;
use super::levels::{Change, Cut, Source, Sum, Unit, Value};
use super::network::Network;
use super::number::exact;
use super::onnx_constants::{Constants, Refusal, broadcast, cast_type, resolve, transposed};
pub(crate) use super::onnx_file::begins_like_onnx;
use super::onnx_file::{Graph, Node, Tensor, ValueInfo, is_standard, type_name};
use super::onnx_quantisers::{Quantisers, is_quantiser};
use super::{ModelError, Problem};
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

/// The first version in which operands broadcast as they do today.
const MIN_OPSET: u64 = 7;
/// The most values in a layer.
const MAX_VALUES: usize = 1 << 20;
/// The most terms in all sums of a layer.
const MAX_TERMS: usize = 1 << 24;

/// A network, and how the columns of a table become its bits.
pub(crate) struct OnnxNetwork {
    pub(crate) network: Network,
    pub(crate) columns: Vec<Cut>,
    pub(crate) notes: Vec<String>,
}

pub(crate) fn read(path: &Path, options: &ImportOptions) -> Result<OnnxNetwork, ModelError> {
    let bytes = std::fs::read(path).map_err(|source| ModelError::Io { path: path.into(), source })?;
    read_bytes(path, &bytes, options)
}

fn read_bytes(path: &Path, bytes: &[u8], options: &ImportOptions) -> Result<OnnxNetwork, ModelError> {
    let wrong = |message: String| ModelError::Format { path: path.into(), message };
    let graph = Graph::of_model(bytes).map_err(wrong)?;
    let cut_off = || wrong("does not have the version of its operators: is it cut off?".into());
    let opset = graph.opset.ok_or_else(cut_off)?;
    if opset < MIN_OPSET {
        return Err(wrong(format!("uses version {opset} of the operators; {MIN_OPSET} or later is supported")));
    }
    let nodes = graph.nodes.iter().enumerate().map(|(index, node)| Node::parse(node, index + 1).map_err(wrong));
    let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
    let mut reader = Reader::start(&graph, &nodes, bytes.len(), options).map_err(wrong)?;
    for node in &nodes {
        reader.take(node).map_err(|refusal| match refusal {
            Refusal::Node(message) => wrong(format!("{}: {message}", node.title())),
            Refusal::Model(error) => error,
        })?;
    }
    let outputs = graph.outputs.iter().map(|output| ValueInfo::parse(output).map(|output| output.name).map_err(wrong));
    let outputs = outputs.collect::<Result<Vec<_>, _>>()?;
    reader.finish(&outputs).map_err(|refusal| match refusal {
        Refusal::Node(message) => wrong(message),
        Refusal::Model(error) => error,
    })
}

/// What the current values are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    Numbers,
    /// Values in the same order as the last layer's sums.
    Ordered,
    /// The number of the class.
    Class,
}

pub(crate) struct Reader<'a> {
    options: &'a ImportOptions,
    pub(crate) constants: Constants<'a>,
    /// The shapes of all tensors on the chain; nothing if they are not known.
    chain: HashMap<&'a str, Option<Vec<usize>>>,
    /// The last of them.
    at: &'a str,
    row: Row,
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<Value>,
    pub(crate) layers: Layers,
    /// How many numbers a row of the table has.
    columns: usize,
    /// The number of rows that the file is made for.
    batch: Option<usize>,
    /// Nodes that wait for a matrix, which says how many columns there are.
    waiting: Vec<&'a Node<'a>>,
    /// What the inputs can be, if that is known.
    inputs: Option<InputValues>,
    /// Whether the file or the caller says so.
    is_stated: bool,
    /// The node with the last weights.
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
            && !holds_numbers(kind)
        {
            return Err(format!("input {name} of type {kind} cannot be a row of numbers"));
        }
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

    /// The inputs as raw numbers, or as what they are known to be.
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
        if !outputs.contains(&self.at) {
            let output = outputs.first().copied().unwrap_or_default();
            return Err(format!("the output {output} is not the end of the chain, which is {}", self.at).into());
        }
        // Beside its classes `TopK` gives their scores.
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
                let shape = (!self.values.is_empty()).then(|| self.shape.clone());
                node.outputs.iter().for_each(|name| drop(self.chain.insert(name, shape.clone())));
                self.at = output;
            }
            _ => return Err(format!("reads {} twice", self.at).into()),
        }
        Ok(())
    }

    /// A shape that is known is a constant; rows are read one by one.
    fn shape_of(&mut self, node: &Node<'a>, output: &'a str) -> Result<(), Refusal> {
        let shape = node.input(0).and_then(|name| self.chain.get(name)).and_then(Option::as_ref);
        let shape = shape.ok_or("asks for a shape that the file does not state")?;
        let values: Vec<f64> = shape.iter().map(|&side| side as f64).collect();
        self.constants.put(output, Tensor::new(vec![values.len()], values));
        Ok(())
    }

    /// Processes a node on the chain, or lets it wait until the number of columns is known.
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
        // Only the operands of arithmetic may be in any order.
        let symmetric = matches!(operator, "Add" | "Sub" | "Mul" | "Max" | "Min");
        if !symmetric && !self.waiting_or_first(node) {
            return Err(format!("reads {} in a place other than the first", self.at).into());
        }
        if self.row != Row::Numbers
            && !matches!(operator, "ArgMax" | "TopK" | "Cast" | "Identity" | "Reshape" | "Flatten" | "Squeeze")
        {
            return Err("follows the end of a network".into());
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

    /// Whether the chain is a node's first operand; a node that has waited reads an earlier part of it.
    fn waiting_or_first(&self, node: &Node<'a>) -> bool {
        node.inputs.first().is_some_and(|name| self.chain.contains_key(name))
    }

    /// The values become bits: from here on they are weighed.
    pub(crate) fn close(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        let real = self.values.iter().any(|value| matches!(value, Value::Raw(_)));
        if real {
            let unknown = || ModelError::Parameter { layer: node.label(), problem: Problem::InputsUnknown };
            let inputs = self.inputs.as_ref().ok_or_else(unknown)?;
            let (numbers, are_two) = (inputs.numbers().to_vec(), inputs.are_two());
            for value in &mut self.values {
                if let Value::Raw(raw) = value {
                    *value = raw.of_domain(&numbers, are_two)?;
                }
            }
        }
        if self.values.iter().any(|value| matches!(value, Value::Sum(_))) {
            return Err("follows another matrix without a sign between them".into());
        }
        Ok(self.layers.close(&node.label(), &self.values, self.columns)?)
    }

    fn dense(
        &mut self,
        node: &Node<'a>,
        outputs_first: bool,
        alpha: f64,
        bias: Option<(Tensor, f64)>,
    ) -> Result<(), Refusal> {
        let weights = self.constants.get(node.input(1))?;
        let name = node.label();
        let &[rows, columns] = weights.shape.as_slice() else {
            return Err(format!("its weights have the shape {:?}, which is not a matrix", weights.shape).into());
        };
        if weights.values.is_empty() {
            return Err(ModelError::Empty { layer: name }.into());
        }
        let (outputs, inputs) = if outputs_first { (rows, columns) } else { (columns, rows) };
        let found = self.shape.last().copied().unwrap_or(1);
        if found != inputs {
            return Err(ModelError::Width { layer: name, expected: found, found: inputs }.into());
        }
        if self.shape.len() > 2 && self.values.len() != inputs {
            return Err(format!("reads values of the shape {:?} where rows of a batch are expected", self.shape).into());
        }
        self.close(node)?;
        let at = |output, input| if outputs_first { output * inputs + input } else { input * outputs + output };
        let kernel = self.kernel(&name, &weights, (outputs, inputs), at)?;
        let mut values = Vec::with_capacity(outputs);
        for row in kernel {
            let terms = row.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
            let mut sum = Sum::of(terms.map(|(input, weight)| (input as u32, *weight)).collect());
            if alpha != 1.0 {
                sum.multiply(exact(alpha, &name, "alpha", 0)?);
            }
            values.push(Value::Sum(Rc::new(sum)));
        }
        let side = self.shape.len() - 1;
        self.shape[side] = outputs;
        (self.values, self.layer) = (values, name);
        let Some((bias, beta)) = bias else { return Ok(()) };
        let bias = Tensor { values: bias.values.iter().map(|value| value * beta).collect(), ..bias };
        self.change(node, &bias, "the bias", Change::Add)
    }

    /// The weights as rows, one for each output. Those that no quantiser gave go by the options.
    pub(crate) fn kernel(
        &mut self,
        name: &str,
        weights: &Tensor,
        shape: (usize, usize),
        at: impl Fn(usize, usize) -> usize,
    ) -> Result<Vec<Vec<f64>>, Refusal> {
        self.constants.spend(weights.values.len())?;
        let rows = exact_rows(name, &weights.values, shape, &at)?;
        if weights.is_levels {
            let row = |output| (0..shape.1).map(|input| weights.values[at(output, input)]).collect();
            return Ok((0..shape.0).map(row).collect());
        }
        let rows = weights_of_kernel(name, rows, false, self.options, &mut self.notes)?;
        Ok(rows.iter().map(|row| row.iter().map(|weight| weight.to_f64().value()).collect()).collect())
    }

    /// Places new sums in the place of the values.
    pub(crate) fn set_sums(&mut self, node: &Node<'a>, shape: Vec<usize>, sums: Vec<Sum>) -> Result<(), Refusal> {
        let terms: usize = sums.iter().map(|sum| sum.terms.len()).sum();
        if terms > MAX_TERMS {
            return Err(format!("adds up {terms} products, more than {MAX_TERMS}").into());
        }
        self.values = sums.into_iter().map(|sum| Value::Sum(Rc::new(sum))).collect();
        (self.shape, self.layer) = (shape, node.label());
        Ok(())
    }

    fn each(&mut self, change: impl Fn(usize) -> Change) -> Result<(), Refusal> {
        for (place, value) in self.values.iter_mut().enumerate() {
            value.change(change(place))?;
        }
        Ok(())
    }

    /// The same change with a constant that is repeated as needed.
    pub(crate) fn change(
        &mut self,
        node: &Node<'a>,
        tensor: &Tensor,
        what: &'static str,
        change: impl Fn(f64) -> Change,
    ) -> Result<(), Refusal> {
        exact_vector(&node.label(), what, &tensor.values)?;
        self.constants.spend(tensor.values.len())?;
        let places = broadcast(&tensor.shape, &self.shape)?;
        if tensor.values.is_empty() {
            return Err("has an empty constant".into());
        }
        self.each(|place| change(tensor.values[places.of(place)]))
    }

    fn arithmetic(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        if node.inputs.len() != 2 {
            return Err("has more than two operands".into());
        }
        let first = self.waiting_or_first(node);
        let tensor = self.constants.get(node.input(usize::from(first)))?;
        let change = match (node.operator, first) {
            ("Add", _) => Change::Add,
            ("Sub", true) => |number: f64| Change::Add(-number),
            ("Sub", false) => Change::SubtractFrom,
            ("Mul", _) => Change::Multiply,
            ("Div", _) => Change::Divide,
            ("Max", _) => Change::AtLeast,
            _ => Change::AtMost,
        };
        self.change(node, &tensor, "a constant", change)
    }

    /// A power with a small whole exponent of values that are one of few.
    fn power(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        let exponent = self.constants.get(node.input(1))?.values;
        match exponent.as_slice() {
            [1.0] => Ok(()),
            &[exponent] if exponent.fract() == 0.0 && (2.0..=8.0).contains(&exponent) => {
                for value in &mut self.values {
                    let Value::Unit(unit) = value else {
                        return Err("is only read after a quantiser".into());
                    };
                    unit.levels.iter_mut().for_each(|level| *level = level.pow(exponent as isize));
                }
                Ok(())
            }
            _ => Err(format!("the exponent {exponent:?} is not read").into()),
        }
    }

    /// Limits as inputs, or, in old files, as attributes.
    fn clip(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        let mut limit = |input: usize, attribute: &str| -> Result<f64, Refusal> {
            let none = if input == 1 { f32::MIN } else { f32::MAX };
            match node.input(input) {
                None => Ok(node.float(attribute, none)?.into()),
                name => match self.constants.get(name)?.values.as_slice() {
                    &[number] if !number.is_nan() => Ok(number),
                    _ => Err("a limit is not a number".into()),
                },
            }
        };
        let (low, high) = (limit(1, "min")?, limit(2, "max")?);
        if low > f64::from(f32::MIN) {
            self.each(|_| Change::AtLeast(low))?;
        }
        if high < f64::from(f32::MAX) {
            self.each(|_| Change::AtMost(high))?;
        }
        Ok(())
    }

    /// Exactly after sums; elsewhere with the two constants that programs compute in float32.
    fn normalise(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        if node.int("training_mode", 0)? != 0 || node.outputs[1..].iter().any(|name| !name.is_empty()) {
            return Err("is in training mode".into());
        }
        let name = node.label();
        let channels = self.shape.get(1).copied().unwrap_or(1);
        let mut vector = |index: usize, what: &'static str| {
            let tensor = self.constants.get(node.input(index))?;
            let numbers = exact_vector(&name, what, &tensor.values)?;
            if numbers.len() != channels {
                let problem = Problem::Length { what, expected: channels, found: numbers.len() };
                return Err(ModelError::Parameter { layer: name.clone(), problem }.into());
            }
            Ok::<_, Refusal>((numbers, tensor.values))
        };
        let [gamma, beta] = [vector(1, "gamma")?, vector(2, "beta")?];
        let [mean, variance] = [vector(3, "the mean")?, vector(4, "the variance")?];
        let small = node.float("epsilon", 1e-5)?;
        let epsilon = exact(small.into(), &name, "epsilon", 0)?;
        if self.options.bn_epsilon.as_ref().is_some_and(|other| *other != epsilon) {
            self.notes.push(format!("{name}: the epsilon in the file counts, not the one that was given"));
        }
        let inner: usize = self.shape.iter().skip(2).product();
        for (place, value) in self.values.iter_mut().enumerate() {
            let at = place / inner % channels;
            let spread = &variance.0[at] + &epsilon;
            if spread <= dashu::rational::RBig::ZERO {
                let problem = Problem::Variance { neuron: at + 1 };
                return Err(ModelError::Parameter { layer: name, problem }.into());
            }
            if let Value::Sum(sum) = value
                && Rc::make_mut(sum).normalise(&gamma.0[at], &beta.0[at], &mean.0[at], spread)
            {
                continue;
            }
            let number = |vector: &[f64]| vector[at] as f32;
            let factor = number(&gamma.1) / (number(&variance.1) + small).sqrt();
            let rest = number(&beta.1) - number(&mean.1) * factor;
            exact((factor + rest).into(), &name, "its scale", at)?;
            value.change(Change::Multiply(factor.into()))?;
            value.change(Change::Add(rest.into()))?;
        }
        Ok(())
    }

    fn quantise(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        let quantisers = Quantisers::of(node, &self.shape, &mut self.constants)?;
        if node.operator == "Sign" && self.values.iter().any(|value| matches!(value, Value::Raw(_))) {
            // The sign of an input that nothing is known of leaves -1 and +1 as they are.
            let inputs = self.inputs.clone().unwrap_or_else(InputValues::signs);
            for value in &mut self.values {
                if let Value::Raw(raw) = value {
                    *value = raw.of_domain(inputs.numbers(), inputs.are_two())?;
                }
            }
        }
        let layers = &self.layers;
        // Columns that are read alike are cut alike.
        let mut last: Option<(Value, Vec<dashu::rational::RBig>, Cut)> = None;
        for (place, value) in self.values.iter_mut().enumerate() {
            let before = value.clone();
            if let (Value::Raw(raw), Some((Value::Raw(other), levels, cut)), Quantisers::One(_)) =
                (&before, &last, &quantisers)
                && raw.is_like(other)
            {
                let source = Source::Column { column: raw.column, cut: cut.clone() };
                *value = Value::Unit(Unit { source, levels: levels.clone() });
                continue;
            }
            value.quantise(quantisers.at(place), |sum| layers.reach(sum))?;
            if let (Value::Raw(_), Value::Unit(Unit { source: Source::Column { cut, .. }, levels })) =
                (&before, &*value)
            {
                last = Some((before, levels.clone(), cut.clone()));
            }
        }
        Ok(())
    }

    fn end(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        let operator = node.operator;
        let picks = matches!(operator, "ArgMax" | "TopK");
        let follows_scores = !self.layer.is_empty() && (self.row == Row::Numbers || self.row == Row::Ordered && picks);
        if !follows_scores {
            return Err("does not follow the scores of a matrix".into());
        }
        if operator != "Sigmoid" {
            if self.values.len() == 1 {
                return Err("has only one score to compare".into());
            }
            // Before version 13 the default of Softmax was 1, which is the same axis of rows.
            let axis = node.int("axis", if operator == "ArgMax" { 0 } else { -1 })?;
            let last = self.shape.len() as i64 - 1;
            if axis != last && axis != -1 && !(operator.ends_with("oftmax") && axis == 1) {
                return Err(format!("axis {axis} is not that of the scores").into());
            }
        }
        self.row = Row::Ordered;
        if operator == "ArgMax" && node.int("select_last_index", 0)? != 0 {
            return Err("takes the last of equal scores; a network here takes the first".into());
        }
        if operator == "TopK" {
            let many =
                if node.input(1).is_some() { self.constants.whole(node.input(1))? } else { vec![node.int("k", 1)?] };
            if many != [1] || node.int("largest", 1)? != 1 {
                return Err("takes other than the largest score".into());
            }
        }
        if picks {
            self.row = Row::Class;
        }
        Ok(())
    }

    fn cast(&self, node: &Node<'a>) -> Result<(), Refusal> {
        let kind = cast_type(node)?;
        let is_whole = |value: &Value| match value {
            Value::Unit(unit) => {
                unit.levels.iter().all(|level| level.is_int() && *level <= 127.into() && *level >= (-127).into())
            }
            Value::Raw(_) => true,
            Value::Sum(_) => false,
        };
        let harmless = match (self.row, kind) {
            (_, "float" | "double") => true,
            (Row::Numbers, "int8" | "int16" | "int32" | "int64" | "float16" | "bfloat16") => {
                self.values.iter().all(is_whole)
            }
            (Row::Class, "int32" | "int64") => true,
            _ => false,
        };
        if harmless { Ok(()) } else { Err(format!("the type {kind} does not keep what the row holds").into()) }
    }

    fn reshape(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        if self.row == Row::Class {
            return Ok(());
        }
        let mut target = self.constants.target(node, &self.shape)?;
        // Rows are read one by one here; a file may be made for several at a time.
        if let (Some(batch), Some(first)) = (self.batch, target.first_mut())
            && batch > 1
            && *first == batch as i64
        {
            *first = 1;
        }
        let keeps_rows = |shape: &[usize]| shape.first() == Some(&1) || shape.len() == 1 && shape[0] == 1;
        let fits = resolve(&target, &self.shape).ok();
        // With all rows in front, the open side is their number.
        let shape = match (fits, target.as_slice()) {
            (Some(shape), _) if keeps_rows(&shape) => shape,
            (_, [-1, rest @ ..]) if !rest.contains(&-1) => {
                let target: Vec<i64> = [&[1], rest].concat();
                resolve(&target, &self.shape)?
            }
            _ => return Err(format!("the shape {target:?} does not keep the rows").into()),
        };
        self.shape = shape;
        Ok(())
    }
}

/// Whether a type can hold small numbers.
fn holds_numbers(kind: &str) -> bool {
    !matches!(kind, "string" | "bool" | "complex64" | "complex128" | "an unknown type")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::protobuf::write::{bytes, varint};
    use crate::model::{Kernels, Output};
    use dashu::rational::RBig;

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
        read_bytes(Path::new("f"), bytes, options).map_err(|e| e.to_string())
    }

    fn text(name: &str, value: &str) -> Vec<u8> {
        bytes(5, &[bytes(1, name.as_bytes()), bytes(4, value.as_bytes()), varint(20, 3)].concat())
    }

    #[test]
    fn layers_are_read_exactly() {
        let found = network(&small(), &ImportOptions::default()).unwrap();
        assert!(found.notes.is_empty() && found.columns == vec![Cut::Bit; 3], "{:?}", found.notes);
        // x >= -0.5 - 0.5 sqrt(1.25) means at least -1; x >= 1.5 + 1.5 sqrt(1.25) is more than three signs add up to, so
        // the second unit is always -1 and has no gate.
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

    /// Two bits a column and two bits a unit; the zeros of ternary weights are meant.
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
        // a = (q1 - q3) / 2; it is rounded to 1 from above 1/2 on, and to 0 from -1/2 on.
        let gates = &found.network.hidden()[0];
        assert_eq!(gates.len(), 2);
        for level in 0..9 {
            let levels = [level % 3, 0, level / 3];
            let bits: Vec<bool> = levels.iter().flat_map(|&level| (0..3).map(move |bit| bit == level)).collect();
            let a = (levels[0] as f64 - levels[2] as f64) / 2.0;
            assert_eq!(gates.iter().map(|gate| gate.evaluate(&bits)).collect::<Vec<_>>(), [a >= -0.5, a > 0.5]);
            assert_eq!(found.network.classify(&bits), usize::from(a.round_ties_even() >= 0.0));
        }
        // Without the quantiser of the inputs nothing says what they are.
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
            (&[("MatMul x w -> a", &[]), ("MatMul a w -> y", &[])], "node y (MatMul): follows another matrix"),
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
        // A flipped bit may give a valid file with another meaning.
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
        // Numbers that a header announces but the file does not hold.
        let empty = tensor("w", &[1 << 40, 0], &[]);
        let said = network(&model(&[node("MatMul x w -> y", &[])], &[empty]), &ImportOptions::default()).err().unwrap();
        assert_eq!(said, "y is empty");
        let claimed = tensor("w", &[3, 1 << 40], &[1.0]);
        let said =
            network(&model(&[node("MatMul x w -> y", &[])], &[claimed]), &ImportOptions::default()).err().unwrap();
        assert!(said.contains("tensor w holds 1 numbers for the shape [3, 1099511627776]"), "{said}");
    }
}
