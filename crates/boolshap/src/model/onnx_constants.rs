//! The constants of an ONNX graph: initializers, `Constant` nodes, and values computed from constants alone.
//!
//! Constants are computed in float32, as in every program that executes such a file. Only the outputs of quantisers are
//! kept exactly, as whole multiples of the scale, because they contain the network's integers.
//!
//! Nodes may share a constant, so a small file could demand many copies of a large one. A budget in proportion to the
//! file's length prevents this; every read of a constant is charged to it.

use super::ModelError;
use super::onnx_file::{Graph, Node, Tensor, floats_of, type_name};
use super::onnx_quantisers::Quantisers;
use dashu_base::Approximation;
use std::collections::HashMap;

/// The budget as a multiple of the file's length; a weight that passes through `Cast`, `BipolarQuant` and `Transpose`
/// is read five times.
const BUDGET: usize = 8;
/// An additional budget per node, for small constants.
const SMALL: usize = 64;

/// Why a node is rejected: a reason that the node's name is put in front of, or an error that already names the layer.
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
    /// In the file, unparsed: an unused constant may have any type.
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
        let budget = BUDGET.saturating_mul(length).saturating_add(SMALL.saturating_mul(graph.nodes.len()));
        Ok(Constants { by_name, budget })
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

    /// A list of whole numbers: a shape, axes, pads.
    pub(crate) fn whole(&mut self, name: Option<&'a str>) -> Result<Vec<i64>, Refusal> {
        let whole = |value: f64| (value.fract() == 0.0 && value.abs() < 1e15).then_some(value as i64);
        let numbers = self.get(name)?.values.into_iter().map(whole).collect::<Option<Vec<i64>>>();
        numbers.ok_or("reads a shape that does not consist of whole numbers".into())
    }

    pub(crate) fn spend(&mut self, amount: usize) -> Result<(), Refusal> {
        let left = self.budget.checked_sub(amount);
        self.budget = left.ok_or("the nodes make far more constants than the file holds")?;
        Ok(())
    }

    /// Adds a constant that was not computed from others.
    pub(crate) fn put(&mut self, name: &'a str, tensor: Tensor) {
        self.by_name.insert(name, Constant::Made(tensor));
    }

    /// Evaluates a node that only reads constants and gives `output`.
    pub(crate) fn make(&mut self, node: &Node<'a>, output: &'a str) -> Result<(), Refusal> {
        let made = match node.operator {
            "Constant" => self.stored(node)?,
            "Identity" => self.get(node.input(0))?,
            "Quant" | "IntQuant" | "Sign" | "BipolarQuant" => self.quantised(node)?,
            "Transpose" => transpose(node, self.get(node.input(0))?)?,
            "Cast" => cast(node, self.get(node.input(0))?)?,
            "Add" | "Sub" | "Mul" | "Div" | "Pow" => self.arithmetic(node)?,
            "Sqrt" | "Neg" | "Abs" | "Reciprocal" | "Floor" | "Ceil" => function(node, self.get(node.input(0))?),
            "Gather" => self.gather(node)?,
            "Concat" => self.concatenated(node)?,
            "Unsqueeze" | "Squeeze" | "Reshape" | "Flatten" => self.reshaped(node)?,
            "MatMul" | "Gemm" | "BatchNormalization" | "Conv" => return Err("does not read the chain".into()),
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
        Ok(Tensor::new(shape, values))
    }

    /// Quantises a constant. Levels are chosen in float32; they are kept exactly if a double can hold them, otherwise
    /// as float32.
    fn quantised(&mut self, node: &Node<'a>) -> Result<Tensor, Refusal> {
        let mut tensor = self.get(node.input(0))?;
        if let Some(value) = tensor.values.iter().find(|value| !value.is_finite()) {
            return Err(format!("quantises {value}").into());
        }
        let quantisers = Quantisers::of(node, &tensor.shape, self)?;
        for (place, value) in tensor.values.iter_mut().enumerate() {
            *value = match quantisers.at(place).level(*value as f32)?.to_f64() {
                Approximation::Exact(level) => level,
                Approximation::Inexact(level, _) => (level as f32).into(),
            };
        }
        tensor.is_levels |= node.operator != "Sign";
        Ok(tensor)
    }

    fn arithmetic(&mut self, node: &Node<'a>) -> Result<Tensor, Refusal> {
        let (one, other) = (self.get(node.input(0))?, self.get(node.input(1))?);
        let rank = one.shape.len().max(other.shape.len());
        let axis = |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis]);
        let shape: Vec<usize> = (0..rank)
            .map(|at| match (axis(&one.shape, at), axis(&other.shape, at)) {
                (1, length) | (length, _) => length,
            })
            .collect();
        let count = shape.iter().try_fold(1usize, |count, &axis| count.checked_mul(axis)).ok_or("is too large")?;
        self.spend(count)?;
        let (left, right) = (broadcast(&one.shape, &shape)?, broadcast(&other.shape, &shape)?);
        let is_float32 = |value: f64| f64::from(value as f32) == value;
        let compute = |place: usize| {
            let (a, b) = (one.values[left.of(place)], other.values[right.of(place)]);
            match is_float32(a) && is_float32(b) {
                true => f64::from(arithmetic_float32(node.operator, a as f32, b as f32)),
                false => arithmetic_double(node.operator, a, b),
            }
        };
        Ok(Tensor::new(shape, (0..count).map(compute).collect()))
    }

    fn gather(&mut self, node: &Node<'a>) -> Result<Tensor, Refusal> {
        let tensor = self.get(node.input(0))?;
        let places = self.get(node.input(1))?;
        if tensor.shape.len() != 1 || !matches!(node.int("axis", 0)?, 0 | -1) {
            return Err("is only read where it takes numbers from a list".into());
        }
        let length = tensor.values.len() as f64;
        let pick = |place: &f64| {
            let place = if *place < 0.0 { place + length } else { *place };
            (place >= 0.0 && place < length).then(|| tensor.values[place as usize])
        };
        let values = places.values.iter().map(pick).collect::<Option<_>>().ok_or("reads beyond a list")?;
        Ok(Tensor::new(places.shape, values))
    }

    fn concatenated(&mut self, node: &Node<'a>) -> Result<Tensor, Refusal> {
        let parts = node.inputs.iter().map(|name| self.get(Some(name))).collect::<Result<Vec<_>, _>>()?;
        if parts.iter().any(|part| part.shape.len() != 1) || !matches!(node.int("axis", 0)?, 0 | -1) {
            return Err("is only read where it joins lists".into());
        }
        let values: Vec<f64> = parts.into_iter().flat_map(|part| part.values).collect();
        Ok(Tensor::new(vec![values.len()], values))
    }

    /// The same numbers in another shape.
    fn reshaped(&mut self, node: &Node<'a>) -> Result<Tensor, Refusal> {
        let mut tensor = self.get(node.input(0))?;
        let target = self.target(node, &tensor.shape)?;
        tensor.shape = resolve(&target, &tensor.shape)?;
        Ok(tensor)
    }

    /// The shape that a node gives to a tensor; -1 is a side to be inferred.
    pub(crate) fn target(&mut self, node: &Node<'a>, shape: &[usize]) -> Result<Vec<i64>, Refusal> {
        let mut axes = || match node.input(1) {
            Some(name) => self.whole(Some(name)).map(Some),
            None => Ok(node.ints("axes")?.map(|axes| axes.iter().map(|&axis| axis as i64).collect())),
        };
        let sides: Vec<i64> = shape.iter().map(|&side| side as i64).collect();
        let place = |axis: i64, rank: usize| {
            let axis = if axis < 0 { axis + rank as i64 } else { axis };
            usize::try_from(axis).ok().filter(|&axis| axis <= rank).ok_or(format!("there is no axis {axis}"))
        };
        match node.operator {
            "Flatten" => {
                let axis = place(node.int("axis", 1)?, sides.len())?;
                Ok(vec![sides[..axis].iter().product(), sides[axis..].iter().product()])
            }
            "Unsqueeze" => {
                let axes = axes()?.ok_or("has no axes")?;
                let rank = sides.len() + axes.len();
                let axes = axes.into_iter().map(|axis| place(axis, rank)).collect::<Result<Vec<_>, _>>()?;
                let mut rest = sides.into_iter();
                let side = |at: usize| if axes.contains(&at) { Some(1) } else { rest.next() };
                (0..rank).map(side).collect::<Option<_>>().ok_or("its axes are not different ones".into())
            }
            "Squeeze" => {
                let Some(axes) = axes()? else { return Ok(sides.into_iter().filter(|side| *side != 1).collect()) };
                let rank = sides.len();
                let axes = axes.into_iter().map(|axis| place(axis, rank)).collect::<Result<Vec<_>, _>>()?;
                let kept = sides.into_iter().enumerate().filter(|(at, _)| !axes.contains(at));
                Ok(kept.map(|(_, side)| side).collect())
            }
            _ => {
                let keeps_zero = node.int("allowzero", 0)? != 0;
                let mut target = self.whole(node.input(1))?;
                for (at, side) in target.iter_mut().enumerate() {
                    if *side == 0 && !keeps_zero {
                        *side = *sides.get(at).ok_or("keeps an axis that is not there")?;
                    }
                }
                Ok(target)
            }
        }
    }
}

/// A target shape with its open side (-1, at most one) filled in, so that it has the same size as another shape.
pub(crate) fn resolve(target: &[i64], shape: &[usize]) -> Result<Vec<usize>, String> {
    let wrong = || format!("the shape {target:?} does not fit {shape:?}");
    let count: usize = shape.iter().product();
    let known = target.iter().filter(|&&side| side != -1);
    let product = known.clone().try_fold(1usize, |product, &side| product.checked_mul(usize::try_from(side).ok()?));
    let product = product.ok_or_else(wrong)?;
    let open = target.len() - known.count();
    let rest = match open {
        0 => 1,
        1 if product > 0 && count.is_multiple_of(product) => count / product,
        _ => return Err(wrong()),
    };
    if target.len() > 8 || open == 0 && product != count {
        return Err(wrong());
    }
    Ok(target.iter().map(|&side| if side == -1 { rest } else { side as usize }).collect())
}

/// Maps indices of a larger shape to a smaller one that is repeated along its sides.
pub(crate) struct Broadcast {
    /// For each axis, its length and the stride in the smaller shape.
    axes: Vec<(usize, usize)>,
}

impl Broadcast {
    pub(crate) fn of(&self, place: usize) -> usize {
        let (mut rest, mut at) = (place, 0);
        for (length, step) in self.axes.iter().rev() {
            at += rest % length * step;
            rest /= length;
        }
        at
    }
}

/// How one shape is broadcast to another.
pub(crate) fn broadcast(from: &[usize], to: &[usize]) -> Result<Broadcast, String> {
    let wrong = || format!("a constant of the shape {from:?} does not fit the shape {to:?}");
    let extra = from.len().saturating_sub(to.len());
    if from[..extra].iter().any(|&side| side != 1) {
        return Err(wrong());
    }
    let from = &from[extra..];
    let missing = to.len() - from.len();
    let mut axes = vec![(0, 0); to.len()];
    let mut step = 1;
    for (at, &length) in to.iter().enumerate().rev() {
        let side = if at < missing { 1 } else { from[at - missing] };
        if side != 1 && side != length {
            return Err(wrong());
        }
        axes[at] = (length, if side == 1 { 0 } else { step });
        step *= side;
    }
    Ok(Broadcast { axes })
}

fn arithmetic_float32(operator: &str, a: f32, b: f32) -> f32 {
    match operator {
        "Add" => a + b,
        "Sub" => a - b,
        "Mul" => a * b,
        "Div" => a / b,
        // A root is rounded once in all programs; for other exponents, programs differ.
        _ if b == 0.5 => a.sqrt(),
        _ if b == 2.0 => a * a,
        _ if b == 1.0 => a,
        _ => f32::NAN,
    }
}

fn arithmetic_double(operator: &str, a: f64, b: f64) -> f64 {
    match operator {
        "Add" => a + b,
        "Sub" => a - b,
        "Mul" => a * b,
        "Div" => a / b,
        _ if b == 0.5 => a.sqrt(),
        _ => f64::NAN,
    }
}

fn function(node: &Node<'_>, mut tensor: Tensor) -> Tensor {
    for value in &mut tensor.values {
        *value = match node.operator {
            "Sqrt" => f64::from((*value as f32).sqrt()),
            "Neg" => -*value,
            "Abs" => value.abs(),
            "Reciprocal" => f64::from(1.0 / *value as f32),
            "Floor" => value.floor(),
            _ => value.ceil(),
        };
    }
    tensor
}

/// The source indices of a tensor's numbers after its axes are permuted, and its new shape.
pub(crate) fn transposed(node: &Node<'_>, shape: &[usize]) -> Result<(Vec<usize>, Vec<usize>), Refusal> {
    let rank = shape.len();
    let order = match node.ints("perm")? {
        Some(order) => order.iter().map(|&axis| axis as usize).collect(),
        None => (0..rank).rev().collect::<Vec<_>>(),
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..rank) {
        return Err(format!("perm is not a permutation of {rank} axes").into());
    }
    let mut steps = vec![1; rank];
    for axis in (1..rank).rev() {
        steps[axis - 1] = steps[axis] * shape[axis];
    }
    let sides: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
    let place = |place: usize| {
        let (mut rest, mut at) = (place, 0);
        for (&axis, &side) in order.iter().zip(&sides).rev() {
            at += rest % side * steps[axis];
            rest /= side;
        }
        at
    };
    Ok(((0..shape.iter().product()).map(place).collect(), sides))
}

fn transpose(node: &Node<'_>, mut tensor: Tensor) -> Result<Tensor, Refusal> {
    let (places, shape) = transposed(node, &tensor.shape)?;
    tensor.values = places.iter().map(|&place| tensor.values[place]).collect();
    tensor.shape = shape;
    Ok(tensor)
}

fn cast(node: &Node<'_>, tensor: Tensor) -> Result<Tensor, Refusal> {
    let keeps = match cast_type(node)? {
        "double" => true,
        // NaN is rejected where it is used.
        "float" => tensor.values.iter().all(|&v| v.is_nan() || f64::from(v as f32) == v),
        "int64" | "int32" => tensor.values.iter().all(|&v| v.fract() == 0.0 && v.abs() < 2e9),
        _ => false,
    };
    if keeps { Ok(tensor) } else { Err("may change the numbers it reads".into()) }
}

/// The target type of a `Cast`.
pub(crate) fn cast_type(node: &Node<'_>) -> Result<&'static str, String> {
    Ok(type_name(node.int("to", 0)? as u64))
}
