//! The constants of an ONNX graph: initializers, `Constant` nodes, and values computed from constants alone.
//!
//! Nodes may share a constant, so a small file could ask for many copies of a large one. A budget in proportion to the
//! file's length prevents that; every read of a constant is charged to it.

use super::ModelError;
use super::onnx_file::{Graph, Node, Tensor, floats_of, type_name};
use std::collections::HashMap;

/// How many times the length of the file may be read as constants; a weight that goes through `Cast`, `BipolarQuant`
/// and `Transpose` is read five times.
const BUDGET: usize = 8;

/// Why a node is rejected: a reason to be prefixed with the node's name, or an error that names the layer itself.
pub(crate) enum Refusal {
    Node(String),
    Model(ModelError),
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Refusal::Node(message)
    }
}

impl From<&str> for Refusal {
    fn from(message: &str) -> Self {
        Refusal::Node(message.into())
    }
}

impl From<ModelError> for Refusal {
    fn from(error: ModelError) -> Self {
        Refusal::Model(error)
    }
}

pub(crate) struct Constants<'a> {
    by_name: HashMap<&'a str, Constant<'a>>,
    budget: usize,
}

enum Constant<'a> {
    /// In the file, not yet parsed: an unused constant may have any type.
    Stored(&'a [u8]),
    Made(Tensor),
}

impl<'a> Constants<'a> {
    /// The initializers of a graph in a file of this length.
    pub(crate) fn new(graph: &Graph<'a>, length: usize) -> Result<Self, String> {
        let mut by_name = HashMap::new();
        for &tensor in &graph.initializers {
            let name = Tensor::name(tensor)?;
            if by_name.insert(name, Constant::Stored(tensor)).is_some() {
                return Err(format!("initializer {name} comes twice"));
            }
        }
        Ok(Constants { by_name, budget: BUDGET.saturating_mul(length) })
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    pub(crate) fn get(&mut self, name: Option<&'a str>) -> Result<Tensor, Refusal> {
        let name = name.ok_or("an operand is left out")?;
        let size = match self.by_name.get(name) {
            Some(Constant::Stored(bytes)) => bytes.len(),
            Some(Constant::Made(tensor)) => tensor.values.len(),
            None => return Err(format!("reads {name}, which is not defined before it").into()),
        };
        self.spend(size)?;
        match &self.by_name[name] {
            Constant::Stored(bytes) => Tensor::parse(bytes).map_err(|e| format!("tensor {name} {e}").into()),
            Constant::Made(tensor) => Ok(tensor.clone()),
        }
    }

    pub(crate) fn spend(&mut self, amount: usize) -> Result<(), Refusal> {
        let left = self.budget.checked_sub(amount);
        self.budget = left.ok_or("the nodes make far more constants than the file holds")?;
        Ok(())
    }

    /// Evaluates a node that only reads constants and gives `output`.
    pub(crate) fn make(&mut self, node: &Node<'a>, output: &'a str) -> Result<(), Refusal> {
        let made = match node.operator {
            "Constant" => self.stored(node)?,
            "Identity" => self.get(node.input(0))?,
            "Sign" | "BipolarQuant" => self.signs(node)?,
            "Transpose" => transpose(node, self.get(node.input(0))?)?,
            "Cast" => cast(node, self.get(node.input(0))?)?,
            "MatMul" | "Gemm" | "Add" | "BatchNormalization" => return Err("does not read the chain".into()),
            _ => return Err("this operator is not read".into()),
        };
        self.by_name.insert(output, Constant::Made(made));
        Ok(())
    }

    /// The value of a `Constant` node.
    fn stored(&mut self, node: &Node<'a>) -> Result<Tensor, Refusal> {
        let [attribute] = node.attributes.as_slice() else { return Err("has no single value".into()) };
        let (shape, values) = match (attribute.name, attribute.kind) {
            ("value", 4) => {
                self.spend(attribute.tensor.len())?;
                return Tensor::parse(attribute.tensor).map_err(|e| format!("its value {e}").into());
            }
            ("value_float", 1) => (vec![], vec![attribute.float.into()]),
            ("value_int", 2) => (vec![], floats_of([attribute.int])?),
            ("value_floats", 6) => (vec![attribute.floats.len()], attribute.floats.clone()),
            ("value_ints", 7) => (vec![attribute.ints.len()], floats_of(attribute.ints.iter().map(|&v| v as i64))?),
            (name, _) => return Err(format!("its {name} is not supported").into()),
        };
        Ok(Tensor { shape, values })
    }

    fn signs(&mut self, node: &Node<'a>) -> Result<Tensor, Refusal> {
        let mut tensor = self.get(node.input(0))?;
        if let Some(value) = tensor.values.iter().find(|value| !value.is_finite()) {
            return Err(format!("takes the sign of {value}").into());
        }
        let mut zero = 0.0;
        if node.operator == "BipolarQuant" {
            self.check_scale(node)?;
            zero = 1.0;
        }
        tensor.values.iter_mut().for_each(|v| *v = if *v == 0.0 { zero } else { v.signum() });
        Ok(tensor)
    }

    /// Checks the scale of a `BipolarQuant`, whose results are plus or minus this scale.
    pub(crate) fn check_scale(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        let scale = self.get(node.input(1))?.values;
        let is_one = !scale.is_empty() && scale.iter().all(|&scale| scale == 1.0);
        if is_one { Ok(()) } else { Err("its scale is not 1".into()) }
    }
}

fn transpose(node: &Node<'_>, tensor: Tensor) -> Result<Tensor, Refusal> {
    let &[rows, columns] = tensor.shape.as_slice() else { return Err("is not applied to a matrix".into()) };
    match node.ints("perm")?.unwrap_or(vec![1, 0]).as_slice() {
        [0, 1] => Ok(tensor),
        [1, 0] => {
            let at = |index: usize| tensor.values[index % rows * columns + index / rows];
            let values = (0..tensor.values.len()).map(at).collect();
            Ok(Tensor { shape: vec![columns, rows], values })
        }
        _ => Err("perm is not a permutation of two axes".into()),
    }
}

fn cast(node: &Node<'_>, tensor: Tensor) -> Result<Tensor, Refusal> {
    let keeps = match cast_type(node)? {
        "double" => true,
        // NaN is rejected where it is used.
        "float" => tensor.values.iter().all(|&v| v.is_nan() || f64::from(v as f32) == v),
        _ => false,
    };
    if keeps { Ok(tensor) } else { Err("may change the numbers it reads".into()) }
}

/// The target type of a `Cast`.
pub(crate) fn cast_type(node: &Node<'_>) -> Result<&'static str, String> {
    Ok(type_name(node.int("to", 0)? as u64))
}
