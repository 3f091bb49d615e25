//! Imports networks of real weights in ONNX: a chain of matrices with ReLU, tanh, sigmoid and the like between them,
//! and no quantiser. They become steps (`steps`), whose numbers are exact.
//!
//! | operators | what becomes of them |
//! | --- | --- |
//! | `MatMul`, `Gemm` | sums |
//! | `Add`, `Sub`, `Mul`, `Div` by constants, `Neg`, `BatchNormalization` | a scale and a shift of each number |
//! | `Relu`, `LeakyRelu`, `Clip`, `Tanh`, `Sigmoid` | functions |
//! | `Flatten`, `Reshape`, `Squeeze`, `Unsqueeze`, `Identity`, `Dropout`, `Cast` to floats | nothing |
//! | `Softmax`, `LogSoftmax`, `ArgMax` | the end: the largest score wins |
//!
//! Any other operator, and any branch, is refused with the node's name.

use super::fold::{BatchNorm, DenseLayer};
use super::import::{exact_rows, exact_vector};
use super::number::exact;
use super::onnx_constants::{Constants, Refusal, cast_type};
use super::onnx_file::{Graph, Node, Tensor, ValueInfo, is_standard};
use super::onnx_quantisers::is_quantiser;
use super::real_network::Activation;
use super::steps::Step;
use super::{ModelError, Problem};
use dashu_ratio::RBig;

/// Whether a graph has several matrices and no quantiser.
pub(crate) fn is_real(nodes: &[Node<'_>]) -> bool {
    let matrices = nodes.iter().filter(|node| matches!(node.operator, "MatMul" | "Gemm")).count();
    matrices > 1 && !nodes.iter().any(|node| is_quantiser(node.operator) || node.operator == "Conv")
}

/// Converts a graph to steps.
pub(crate) fn read<'a>(
    graph: &Graph<'a>,
    nodes: &'a [Node<'a>],
    length: usize,
    wrong: impl Fn(String) -> ModelError,
) -> Result<Vec<Step>, ModelError> {
    let constants = Constants::new(graph, length).map_err(&wrong)?;
    let inputs = graph.inputs.iter().map(|input| ValueInfo::parse(input).map_err(&wrong));
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let inputs: Vec<&str> = inputs.iter().map(|input| input.name).filter(|name| !constants.contains(name)).collect();
    let &[at] = inputs.as_slice() else {
        return Err(wrong(format!("has {} inputs ({}) where one is expected", inputs.len(), inputs.join(", "))));
    };
    let mut reader = Reader { constants, chain: vec![at], steps: Vec::new(), width: None };
    for node in nodes {
        reader.take(node).map_err(|refusal| match refusal {
            Refusal::Node(message) => wrong(format!("{}: {message}", node.title())),
            Refusal::Model(error) => error,
        })?;
    }
    let outputs = graph.outputs.iter().map(|output| ValueInfo::parse(output).map(|output| output.name).map_err(&wrong));
    match outputs.collect::<Result<Vec<_>, _>>()?.as_slice() {
        [output] if *output == reader.at() => Ok(reader.steps),
        outputs => Err(wrong(format!("its outputs ({}) are not the end of the chain", outputs.join(", ")))),
    }
}

struct Reader<'a> {
    constants: Constants<'a>,
    /// The tensors that depend on the input, in order.
    chain: Vec<&'a str>,
    steps: Vec<Step>,
    /// How many values there are, known from the first matrix on.
    width: Option<usize>,
}

impl<'a> Reader<'a> {
    fn at(&self) -> &'a str {
        self.chain[self.chain.len() - 1]
    }

    fn take(&mut self, node: &'a Node<'a>) -> Result<(), Refusal> {
        if !is_standard(node.domain) {
            return Err(format!("operators of the domain {} are not read", node.domain).into());
        }
        let output = node.outputs.first().copied().filter(|name| !name.is_empty()).ok_or("gives nothing")?;
        if self.chain.contains(&output) || self.constants.contains(output) {
            return Err(format!("gives {output}, which already exists").into());
        }
        let on_chain = node.inputs.iter().filter(|name| self.chain.contains(name)).count();
        if node.operator == "Shape" && on_chain == 1 {
            let width = self.width.ok_or("asks for a shape that is not known here")?;
            self.constants.put(output, Tensor::new(vec![2], vec![1.0, width as f64]));
            return Ok(());
        }
        match (on_chain, node.inputs.contains(&self.at())) {
            (0, _) => return self.constants.make(node, output),
            (1, true) => {}
            _ => return Err("reads an earlier value a second time: only a chain of nodes is supported".into()),
        }
        self.step(node)?;
        self.chain.push(output);
        Ok(())
    }

    fn step(&mut self, node: &'a Node<'a>) -> Result<(), Refusal> {
        let first = node.inputs.first() == Some(&self.at());
        if !first && !matches!(node.operator, "Add" | "Sub" | "Mul") {
            return Err(format!("reads {} in a place other than the first", self.at()).into());
        }
        match node.operator {
            "MatMul" | "Gemm" => self.dense(node),
            "Add" | "Sub" | "Mul" | "Div" => self.arithmetic(node, first),
            "Neg" => self.affine(node, |_| (-RBig::ONE, RBig::ZERO)),
            "BatchNormalization" => self.normalise(node),
            "Relu" => self.function(Activation::Relu),
            "Tanh" => self.function(Activation::Tanh),
            "Sigmoid" => self.function(Activation::Sigmoid),
            "LeakyRelu" => {
                let slope = exact(node.float("alpha", 0.01)?.into(), &node.label(), "alpha", 0)?;
                self.function(Activation::Leaky(slope))
            }
            "Clip" => self.clip(node),
            "Identity" | "Dropout" | "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze" => Ok(()),
            "Cast" => match cast_type(node)? {
                "float" | "double" => Ok(()),
                kind => Err(format!("the type {kind} does not keep real numbers").into()),
            },
            "Softmax" | "LogSoftmax" | "ArgMax" => self.end(node),
            _ => Err("this operator is not read in a network of real weights".into()),
        }
    }

    fn function(&mut self, activation: Activation) -> Result<(), Refusal> {
        self.steps.push(Step::function_of(activation));
        Ok(())
    }

    fn dense(&mut self, node: &'a Node<'a>) -> Result<(), Refusal> {
        let name = node.label();
        let gemm = node.operator == "Gemm";
        if gemm && node.int("transA", 0)? != 0 {
            return Err("only transA = 0 is supported".into());
        }
        let weights = self.constants.get(node.input(1))?;
        let &[rows, columns] = weights.shape.as_slice() else {
            return Err(format!("its weights have the shape {:?}, which is not a matrix", weights.shape).into());
        };
        let outputs_first = gemm && node.int("transB", 0)? != 0;
        let (outputs, inputs) = if outputs_first { (rows, columns) } else { (columns, rows) };
        if weights.values.is_empty() {
            return Err(ModelError::Empty { layer: name }.into());
        }
        if let Some(expected) = self.width.filter(|width| *width != inputs) {
            return Err(ModelError::Width { layer: name, expected, found: inputs }.into());
        }
        let at = |output, input| if outputs_first { output * inputs + input } else { input * outputs + output };
        let mut rows = exact_rows(&name, &weights.values, (outputs, inputs), at)?;
        let mut bias = vec![RBig::ZERO; outputs];
        if gemm {
            let alpha = exact(node.float("alpha", 1.0)?.into(), &name, "alpha", 0)?;
            rows.iter_mut().flatten().for_each(|weight| *weight *= &alpha);
            if let Some(own) = node.input(2) {
                let beta = exact(node.float("beta", 1.0)?.into(), &name, "beta", 0)?;
                let own = self.constants.get(Some(own))?;
                bias = spread(&name, &own, outputs)?.into_iter().map(|bias| bias * &beta).collect();
            }
        }
        self.width = Some(outputs);
        self.steps.push(Step::Dense(DenseLayer { name, weights: rows, bias, norm: None }));
        Ok(())
    }

    fn arithmetic(&mut self, node: &'a Node<'a>, first: bool) -> Result<(), Refusal> {
        let other = self.constants.get(node.input(usize::from(first)))?;
        let width = self.width.ok_or("changes the inputs before the first matrix")?;
        let numbers = spread(&node.label(), &other, width)?;
        if node.operator == "Div" && numbers.iter().any(RBig::is_zero) {
            return Err("divides by 0".into());
        }
        self.affine(node, |at| {
            let number = numbers[at].clone();
            match (node.operator, first) {
                ("Add", _) => (RBig::ONE, number),
                ("Sub", true) => (RBig::ONE, -number),
                ("Sub", false) => (-RBig::ONE, number),
                ("Mul", _) => (number, RBig::ZERO),
                _ => (RBig::ONE / number, RBig::ZERO),
            }
        })
    }

    /// Scales and shifts each number: folded into the layer before, or as a separate step.
    fn affine(&mut self, node: &Node<'a>, of: impl Fn(usize) -> (RBig, RBig)) -> Result<(), Refusal> {
        let width = self.width.ok_or("changes the inputs before the first matrix")?;
        if let Some(Step::Dense(layer)) = self.steps.last_mut() {
            for (at, (row, bias)) in layer.weights.iter_mut().zip(&mut layer.bias).enumerate() {
                let (factor, shift) = of(at);
                row.iter_mut().for_each(|weight| *weight *= &factor);
                *bias = &*bias * factor + shift;
            }
            return Ok(());
        }
        let (gamma, beta) = (0..width).map(of).unzip();
        let (mean, variance, epsilon) = (vec![RBig::ZERO; width], vec![RBig::ONE; width], RBig::ZERO);
        self.steps.push(Step::Norm(BatchNorm { name: node.label(), gamma, beta, mean, variance, epsilon }));
        Ok(())
    }

    fn normalise(&mut self, node: &'a Node<'a>) -> Result<(), Refusal> {
        if node.int("training_mode", 0)? != 0 || node.outputs[1..].iter().any(|name| !name.is_empty()) {
            return Err("is in training mode".into());
        }
        let (name, width) = (node.label(), self.width.ok_or("changes the inputs before the first matrix")?);
        let mut vector = |index: usize, what: &'static str| {
            let numbers = exact_vector(&name, what, &self.constants.get(node.input(index))?.values)?;
            match numbers.len() == width {
                true => Ok::<_, Refusal>(numbers),
                false => {
                    let problem = Problem::Length { what, expected: width, found: numbers.len() };
                    Err(ModelError::Parameter { layer: name.clone(), problem }.into())
                }
            }
        };
        let [gamma, beta] = [vector(1, "gamma")?, vector(2, "beta")?];
        let [mean, variance] = [vector(3, "the mean")?, vector(4, "the variance")?];
        let epsilon = exact(node.float("epsilon", 1e-5)?.into(), &name, "epsilon", 0)?;
        self.steps.push(Step::Norm(BatchNorm { name, gamma, beta, mean, variance, epsilon }));
        Ok(())
    }

    /// Limits are inputs or, in old files, attributes; either may be missing.
    fn clip(&mut self, node: &'a Node<'a>) -> Result<(), Refusal> {
        let mut limit = |input: usize, attribute: &str, none: f32| -> Result<RBig, Refusal> {
            let number = match node.input(input) {
                None => node.float(attribute, none)?.into(),
                name => match self.constants.get(name)?.values.as_slice() {
                    &[number] => number,
                    _ => return Err("a limit is not a number".into()),
                },
            };
            Ok(exact(number, &node.label(), "a limit", 0)?)
        };
        let (low, high) = (limit(1, "min", f32::MIN)?, limit(2, "max", f32::MAX)?);
        if low > high {
            return Err("its limits are reversed".into());
        }
        self.function(Activation::Clip(low, high))
    }

    fn end(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        let is_pick = node.operator == "ArgMax";
        if !matches!(node.int("axis", if is_pick { 0 } else { -1 })?, 1 | -1) {
            return Err("its axis is not that of the scores".into());
        }
        if is_pick && node.int("select_last_index", 0)? != 0 {
            return Err("takes the last of equal scores; a network here takes the first".into());
        }
        let name = node.title();
        self.steps.push(Step::Function { name, keeps_signs: false, keeps_order: true, real: None });
        Ok(())
    }
}

/// A constant for each of `width` numbers, given as one for all or one for each.
fn spread(name: &str, tensor: &Tensor, width: usize) -> Result<Vec<RBig>, Refusal> {
    let numbers = exact_vector(name, "a constant", &tensor.values)?;
    let is_row = tensor.shape.last().copied().unwrap_or(1) == numbers.len();
    match numbers.len() {
        1 => Ok(vec![numbers[0].clone(); width]),
        length if length == width && is_row => Ok(numbers),
        _ => Err(format!("a constant of the shape {:?} does not fit {width} numbers", tensor.shape).into()),
    }
}
