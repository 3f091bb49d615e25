//! The operators of ONNX on the chain: how each changes the values (`import_onnx`).

use super::import::{exact_rows, exact_vector, weights_of_kernel};
use super::import_onnx::{Reader, Row};
use super::input_values::InputValues;
use super::levels::{Change, Cut, Source, Sum, Unit, Value};
use super::number::exact;
use super::onnx_constants::{Refusal, broadcast, cast_type, resolve};
use super::onnx_file::{Node, Tensor};
use super::onnx_quantisers::Quantisers;
use super::{ModelError, Problem};
use dashu_base::Signed;
use dashu_ratio::RBig;
use std::rc::Rc;

/// The most terms in all sums of a layer.
const MAX_TERMS: usize = 1 << 24;

impl<'a> Reader<'a> {
    /// Turns the values into the bits of a finished layer, over which later sums are taken.
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

    pub(super) fn dense(
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

    /// The weights as rows, one for each output. Weights that do not come from a quantiser are interpreted by the
    /// options.
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

    /// Replaces the values by new sums.
    pub(crate) fn set_sums(&mut self, node: &Node<'a>, shape: Vec<usize>, sums: Vec<Sum>) -> Result<(), Refusal> {
        let terms: usize = sums.iter().map(|sum| sum.terms.len()).sum();
        if terms > MAX_TERMS {
            return Err(format!("adds up {terms} products, more than {MAX_TERMS}").into());
        }
        self.values = sums.into_iter().map(|sum| Value::Sum(Rc::new(sum))).collect();
        (self.shape, self.layer) = (shape, node.label());
        Ok(())
    }

    pub(super) fn each(&mut self, change: impl Fn(usize) -> Change) -> Result<(), Refusal> {
        for (place, value) in self.values.iter_mut().enumerate() {
            let one = change(place);
            if let Some(pool) = &mut self.pool {
                if one != change(pool.first(place)) {
                    return Err(format!("differs within a channel, between {} and a quantiser", pool.label).into());
                }
                if one.falls() {
                    pool.turn(place);
                }
            }
            value.change(one)?;
        }
        Ok(())
    }

    /// Applies the same operation with a constant that is broadcast.
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

    pub(super) fn arithmetic(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
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

    /// A power with a small whole exponent, of values with few levels.
    pub(super) fn power(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
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

    /// Limits are inputs or, in old files, attributes.
    pub(super) fn clip(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
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

    /// Batch normalisation: exact after sums; elsewhere with the two constants that programs compute in float32.
    pub(super) fn normalise(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
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
            if spread <= RBig::ZERO {
                let problem = Problem::Variance { neuron: at + 1 };
                return Err(ModelError::Parameter { layer: name, problem }.into());
            }
            if let Some(pool) = self.pool.as_mut().filter(|_| gamma.0[at].is_negative()) {
                pool.turn(place);
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

    pub(super) fn quantise(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        let quantisers = Quantisers::of(node, &self.shape, &mut self.constants)?;
        if node.operator == "Sign" && self.values.iter().any(|value| matches!(value, Value::Raw(_))) {
            // If nothing is known about an input, its sign is taken as that of -1 and +1, which it leaves as they are.
            let inputs = self.inputs.clone().unwrap_or_else(InputValues::signs);
            for value in &mut self.values {
                if let Value::Raw(raw) = value {
                    *value = raw.of_domain(inputs.numbers(), inputs.are_two())?;
                }
            }
        }
        if let Some(pool) = &mut self.pool {
            for place in 0..self.values.len() {
                let quantiser = quantisers.at(place);
                if quantiser != quantisers.at(pool.first(place)) {
                    return Err(format!("differs within a channel, after {}", pool.label).into());
                }
                if quantiser.falls() {
                    pool.turn(place);
                }
            }
        }
        let layers = &self.layers;
        // Columns with the same operations have the same cuts.
        let mut last: Option<(Value, Vec<RBig>, Cut)> = None;
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
        match self.pool.take() {
            Some(pool) => self.pool_units(node, pool),
            None => Ok(()),
        }
    }

    pub(super) fn end(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
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
            // Before version 13 the default axis of Softmax was 1, which is the same axis for rows.
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

    pub(super) fn cast(&self, node: &Node<'a>) -> Result<(), Refusal> {
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

    pub(super) fn reshape(&mut self, node: &Node<'a>) -> Result<(), Refusal> {
        if self.row == Row::Class {
            return Ok(());
        }
        let mut target = self.constants.target(node, &self.shape)?;
        // Rows are read one by one here, but a file may be made for several at a time.
        if let (Some(batch), Some(first)) = (self.batch, target.first_mut())
            && batch > 1
            && *first == batch as i64
        {
            *first = 1;
        }
        let keeps_rows = |shape: &[usize]| shape.first() == Some(&1) || shape.len() == 1 && shape[0] == 1;
        let fits = resolve(&target, &self.shape).ok();
        // With -1 as the first side, that side is the number of rows.
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
