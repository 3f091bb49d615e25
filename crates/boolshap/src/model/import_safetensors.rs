//! Imports dense layers from safetensors files, as saved from PyTorch modules: `NAME.weight` of shape (outputs, inputs)
//! with `NAME.bias`, and batch normalisation as `NAME.weight`, `NAME.bias`, `NAME.running_mean`, `NAME.running_var`.
//!
//! The file does not keep the order of layers, so it is derived from names and widths: names that differ only in their
//! numbers are in numeric order (`fc2` before `fc10`); otherwise the widths must fit in exactly one order. A batch
//! normalisation belongs to the nearest dense layer before it in the same numbered sequence (`net.0`, `net.1`), to the
//! dense layer beside it in the same numbered block (`block.2.fc`, `block.2.bn`), or to the one with the same number
//! among plain names (`fc1`, `bn1`). If no rule applies, or the widths do not fit, the file is rejected.

use super::fold::{BatchNorm, DenseLayer};
use super::import::{ImportOptions, Stack, exact_rows, exact_vector, weights_of_kernel};
use super::number::half_to_f64;
use super::{ModelError, Problem};
use dashu_ratio::RBig;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) fn read(path: &Path, options: &ImportOptions) -> Result<Stack, ModelError> {
    let bytes = std::fs::read(path).map_err(|source| ModelError::Io { path: path.into(), source })?;
    let wrong = |message: String| ModelError::Format { path: path.into(), message };
    let tensors = SafeTensors::deserialize(&bytes).map_err(|e| wrong(format!("not readable as safetensors: {e}")))?;
    let modules = Modules::collect(&tensors).map_err(wrong)?;
    let order = modules.order().map_err(wrong)?;
    let owners = modules.owners(&order).map_err(wrong)?;
    let mut notes = Vec::new();
    let mut layers = Vec::new();
    for &name in &order {
        let norm = owners.iter().find(|(_, owner)| *owner == name).map(|&(norm, _)| norm);
        let norm = norm.map(|norm| modules.norm(norm, options)).transpose()?;
        let (shape, values) = &modules.0[name]["weight"];
        let (outputs, inputs) = (shape[0], shape[1]);
        let kernel = exact_rows(name, values, (outputs, inputs), |output, input| output * inputs + input)?;
        let weights = weights_of_kernel(name, kernel, false, options, &mut notes)?;
        let bias = match modules.0[name].get("bias") {
            Some((_, values)) => exact_vector(name, "the bias", values)?,
            None => vec![RBig::ZERO; outputs],
        };
        layers.push(DenseLayer { name: name.into(), weights, bias, norm });
    }
    Ok(Stack { layers, notes })
}

type Tensor = (Vec<usize>, Vec<f64>);

/// Tensors by module and by the last part of their name.
struct Modules(BTreeMap<String, BTreeMap<String, Tensor>>);

impl Modules {
    fn collect(tensors: &SafeTensors<'_>) -> Result<Self, String> {
        let mut modules: BTreeMap<String, BTreeMap<String, Tensor>> = BTreeMap::new();
        for (full, view) in tensors.tensors() {
            let (module, last) = full.rsplit_once('.').unwrap_or(("", &full));
            match last {
                "weight" | "bias" | "running_mean" | "running_var" => {}
                "num_batches_tracked" => continue,
                _ => return Err(format!("tensor {full} belongs to no dense layer or batch normalisation")),
            }
            let values = floats(&view).ok_or_else(|| format!("tensor {full} has type {:?}", view.dtype()))?;
            modules.entry(module.into()).or_default().insert(last.into(), (view.shape().to_vec(), values));
        }
        for (name, module) in &modules {
            let norm = module.contains_key("running_mean") && module.contains_key("running_var");
            let shape = module.get("weight").map(|(shape, _)| shape.as_slice());
            if !norm && shape.is_none_or(|shape| shape.len() != 2) {
                let shape = shape.map_or("no weight".into(), |shape| format!("a weight of shape {shape:?}"));
                return Err(format!("module {name} with {shape} is no dense layer"));
            }
        }
        if !modules.values().any(is_dense) {
            return Err("holds no dense layer".into());
        }
        Ok(Modules(modules))
    }

    fn names(&self, dense: bool) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.0.iter().filter(|(_, module)| is_dense(module) == dense).map(|(name, _)| name.as_str()).collect();
        names.sort_by_cached_key(|name| natural_key(name));
        names
    }

    fn order(&self) -> Result<Vec<&str>, String> {
        let names = self.names(true);
        let shape = |name: &str| {
            let shape = &self.0[name]["weight"].0;
            (shape[0], shape[1])
        };
        let fits = names.windows(2).all(|pair| shape(pair[0]).0 == shape(pair[1]).1);
        if fits && names.windows(2).all(|pair| without_numbers(pair[0]) == without_numbers(pair[1])) {
            return Ok(names);
        }
        // Depth-first search for an order that fits; a second one makes the order ambiguous.
        let mut found: Option<Vec<&str>> = None;
        let mut open = vec![Vec::new()];
        while let Some(chain) = open.pop() {
            if chain.len() == names.len() {
                if found.replace(chain).is_some() {
                    return Err(format!("the layers {names:?} fit each other in more than one order"));
                }
                continue;
            }
            for &next in names.iter().filter(|name| !chain.contains(*name)) {
                if chain.last().is_none_or(|&last: &&str| shape(last).0 == shape(next).1) {
                    open.push(chain.iter().copied().chain([next]).collect());
                }
            }
        }
        let widths: Vec<String> = names.iter().map(|&n| format!("{n} {}->{}", shape(n).1, shape(n).0)).collect();
        found.ok_or_else(|| format!("the layers do not fit each other in any order: {}", widths.join(", ")))
    }

    /// The dense layer of each batch normalisation.
    fn owners<'a>(&'a self, order: &[&'a str]) -> Result<Vec<(&'a str, &'a str)>, String> {
        let mut owners: Vec<(&str, &str)> = Vec::new();
        for norm in self.names(false) {
            let (prefix, number) = split_number(norm);
            let before =
                |name: &&str| number.is_some() && split_number(name).0 == prefix && split_number(name).1 < number;
            let (block, _) = norm.rsplit_once('.').unwrap_or(("", norm));
            let beside =
                |name: &&str| name.rsplit_once('.').is_some_and(|(other, _)| other == block && ends_in_number(block));
            let plain = |name: &&str| number.is_some() && !name.contains('.') && split_number(name).1 == number;
            let in_sequence = order.iter().copied().rfind(before);
            let owner = in_sequence
                .or_else(|| only(order.iter().copied().filter(beside)))
                .or_else(|| only(order.iter().copied().filter(plain)).filter(|_| !norm.contains('.')))
                .or_else(|| only(order.iter().copied()));
            let owner = owner.ok_or_else(|| {
                format!("batch normalisation {norm}: its name does not say which dense layer it follows")
            })?;
            if owners.iter().any(|&(_, taken)| taken == owner) {
                return Err(format!("dense layer {owner} would have two batch normalisations"));
            }
            owners.push((norm, owner));
        }
        Ok(owners)
    }

    fn norm(&self, name: &str, options: &ImportOptions) -> Result<BatchNorm, ModelError> {
        let unknown = || ModelError::Parameter { layer: name.into(), problem: Problem::EpsilonUnknown };
        let module = &self.0[name];
        let width = module["running_mean"].1.len();
        // Without a learned scale and shift (affine=False) they are 1 and 0.
        let vector = |key: &str, what, default| match module.get(key) {
            Some((_, values)) => exact_vector(name, what, values),
            None => Ok(vec![default; width]),
        };
        Ok(BatchNorm {
            name: name.into(),
            gamma: vector("weight", "gamma", RBig::ONE)?,
            beta: vector("bias", "beta", RBig::ZERO)?,
            mean: vector("running_mean", "the mean", RBig::ZERO)?,
            variance: vector("running_var", "the variance", RBig::ONE)?,
            epsilon: options.bn_epsilon.clone().ok_or_else(unknown)?,
        })
    }
}

/// The only item; `None` if there are none or several.
fn only<'a>(mut items: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    items.next().filter(|_| items.next().is_none())
}

fn is_dense(module: &BTreeMap<String, Tensor>) -> bool {
    !module.contains_key("running_mean")
}

/// The values as f64, which holds each of these types exactly.
fn floats(view: &TensorView<'_>) -> Option<Vec<f64>> {
    let bytes = view.data();
    fn each<const N: usize>(bytes: &[u8], value: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        bytes.as_chunks::<N>().0.iter().map(|&chunk| value(chunk)).collect()
    }
    Some(match view.dtype() {
        Dtype::F64 => each(bytes, f64::from_le_bytes),
        Dtype::F32 => each(bytes, |b| f32::from_le_bytes(b).into()),
        Dtype::BF16 => each(bytes, |b| f32::from_bits(u32::from(u16::from_le_bytes(b)) << 16).into()),
        Dtype::F16 => each(bytes, |b| half_to_f64(u16::from_le_bytes(b))),
        Dtype::I8 => each(bytes, |b| i8::from_le_bytes(b).into()),
        Dtype::U8 => each(bytes, |b| u8::from_le_bytes(b).into()),
        Dtype::I16 => each(bytes, |b| i16::from_le_bytes(b).into()),
        Dtype::I32 => each(bytes, |b| i32::from_le_bytes(b).into()),
        _ => return None,
    })
}

/// The name split into text and numbers, so that `fc10` comes after `fc2`.
fn natural_key(name: &str) -> Vec<(String, u64)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, tail) = rest.split_at(digits);
        let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        key.push((text.to_string(), tail[..end].parse().unwrap_or(0)));
        rest = &tail[end..];
    }
    key
}

fn without_numbers(name: &str) -> String {
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn ends_in_number(name: &str) -> bool {
    name.ends_with(|c: char| c.is_ascii_digit())
}

/// The part before the last number of a name, and that number.
fn split_number(name: &str) -> (&str, Option<u64>) {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (prefix, name[prefix.len()..].parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_their_numbers() {
        let mut names = ["fc10", "fc2", "fc1", "a.2.b", "a.10.b"];
        names.sort_by_cached_key(|name| natural_key(name));
        assert_eq!(names, ["a.2.b", "a.10.b", "fc1", "fc2", "fc10"]);
        assert_eq!(split_number("net.12"), ("net.", Some(12)));
        assert_eq!(split_number("out"), ("out", None));
        assert_eq!(without_numbers("a.10.b2"), "a..b");
    }

    #[test]
    fn half_precision_is_exact() {
        for (bits, value) in [(0x3C00, 1.0), (0xBC00, -1.0), (0x3555, 0.333251953125), (0x0001, 5.960464477539063e-8)] {
            assert_eq!(half_to_f64(bits), value);
        }
        assert!(half_to_f64(0x7E00).is_nan() && half_to_f64(0xFC00) == f64::NEG_INFINITY);
    }
}
