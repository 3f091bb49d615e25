//! Imports Keras and Larq weights from HDF5, as Keras 2 and tf-keras write them (`save_weights`, or `save` of a whole
//! model).
//!
//! The group with the weights lists its layers in the attribute `layer_names`, and each layer lists its datasets in
//! `weight_names`. Dense layers have a `kernel` of shape (inputs, outputs) and optionally a `bias`; batch normalisation
//! has `gamma`, `beta`, `moving_mean`, `moving_variance`, the first two optional. In a saved model, `model_config` also
//! has each layer's epsilon and activation; for a weights file the caller must supply the epsilon. Keras 3 numbers the
//! weights (`.weights.h5`), and a `.keras` file is an archive of the configuration and such weights.

use super::fold::{BatchNorm, DenseLayer};
use super::import::{ImportOptions, Stack, exact_rows, exact_vector, weights_of_kernel};
use super::keras_steps::{self, Numbers};
use super::number::half_to_f64;
use super::steps::Step;
use super::zip_file::unpacked;
use super::{ModelError, Problem, keras_activations};
use dashu_ratio::RBig;
use hdf5_pure::{AttrValue, Datatype, DatatypeByteOrder, File, Group};
use std::collections::HashMap;
use std::path::Path;

/// The most numbers per byte of a file: compressed signs take a bit each, and equal numbers compress further.
const NUMBERS_A_BYTE: u64 = 64;
/// A chunk of up to this many numbers is accepted whatever the file's size, because a chunk may be larger than its
/// dataset.
const CHUNK_NUMBERS: u64 = 1 << 24;
/// The most bytes per number. Larger elements are texts, records or damage, and would be read in full before they are
/// rejected.
const WIDEST_NUMBER: u64 = 8;

/// The content of a file: layers with signs between them, or steps of any kind.
pub(crate) enum KerasFound {
    Layers(Stack),
    Steps(Vec<Step>),
}

pub(crate) fn read(path: &Path, options: &ImportOptions) -> Result<KerasFound, ModelError> {
    let length = std::fs::metadata(path).map_err(|source| ModelError::Io { path: path.into(), source })?.len();
    let reader = Reader { path, options, length };
    reader.check_length()?;
    let file = File::open(path).map_err(|e| reader.wrong(format!("not readable as HDF5: {e}")))?;
    reader.found(&file)
}

/// Reads a `.keras` archive: the configuration, and the weights in HDF5.
pub(crate) fn read_archive(path: &Path, options: &ImportOptions) -> Result<KerasFound, ModelError> {
    let archive = std::fs::read(path).map_err(|source| ModelError::Io { path: path.into(), source })?;
    let wrong = |message: String| ModelError::Format { path: path.into(), message };
    let part = |name: &str| {
        let missing = || wrong(format!("an archive without {name}, as a Keras model has it"));
        unpacked(&archive, name).map_err(wrong)?.ok_or_else(missing)
    };
    let config: serde_json::Value = serde_json::from_slice(&part("config.json")?)
        .map_err(|e| wrong(format!("its config.json is not JSON: {e}")))?;
    let weights = part("model.weights.h5")?;
    let reader = Reader { path, options, length: weights.len() as u64 };
    let file = File::from_bytes(weights).map_err(|e| wrong(format!("its weights are not readable as HDF5: {e}")))?;
    reader.numbered(&file, layers_of(&config))
}

struct Reader<'a> {
    path: &'a Path,
    options: &'a ImportOptions,
    /// The file's length in bytes.
    length: u64,
}

/// A layer's datasets by the last part of their names: `kernel`, `bias`, `gamma`, ...
struct Layer {
    name: String,
    path: String,
    tensors: HashMap<String, Numbers>,
}

impl Reader<'_> {
    fn found(&self, file: &File) -> Result<KerasFound, ModelError> {
        let root = file.root();
        let attributes = self.attributes(&root, "/")?;
        let config = attributes.get("model_config").map(|config| self.config(config)).transpose()?;
        let is_real = config.as_deref().is_some_and(keras_steps::is_real);
        if let Some(layers) = config.as_ref().filter(|_| !is_real) {
            keras_activations::check(layers).map_err(|e| self.wrong(e))?;
        }
        let epsilons = config.as_deref().map(epsilons);
        let lists_layers = |attributes: &HashMap<String, AttrValue>| {
            attributes.contains_key("layer_names") || attributes.contains_key("layer_names0")
        };
        let (group, attributes) = if lists_layers(&attributes) {
            (root, attributes)
        } else if file.group("layers").is_ok() {
            return self.numbered(file, Vec::new());
        } else {
            let no_layers = "holds no Keras weights: neither it nor a group model_weights has layer_names";
            let group = file.group("model_weights").map_err(|_| self.wrong(no_layers.into()))?;
            let attributes = self.attributes(&group, "model_weights")?;
            (group, attributes)
        };
        if let Some(layers) = config.as_ref().filter(|_| is_real) {
            let weights = |name: &str| self.in_order(&group, name);
            return keras_steps::steps(layers, weights, |e| self.wrong(e)).map(KerasFound::Steps);
        }
        let mut stack = Stack { layers: Vec::new(), notes: Vec::new() };
        for name in self.names(&attributes, "layer_names", "/")? {
            for layer in self.layers(&group, &name)? {
                let mut held: Vec<&str> = layer.tensors.keys().map(String::as_str).collect();
                held.sort_unstable();
                let only = |known: &[&str]| held.iter().all(|name| known.contains(name));
                if held.contains(&"kernel") && only(&["bias", "kernel"]) {
                    stack.layers.push(self.dense(&layer, &mut stack.notes)?);
                } else if held.contains(&"moving_mean") && only(&["beta", "gamma", "moving_mean", "moving_variance"]) {
                    self.normalise(&mut stack.layers, &layer, epsilons.as_ref())?;
                } else {
                    let (name, held) = (&layer.name, held.join(", "));
                    let message = format!("layer {name} is neither dense nor batch normalisation (it has {held})");
                    return Err(self.wrong(message));
                }
            }
        }
        if stack.layers.is_empty() {
            return Err(self.wrong("holds no dense layer".into()));
        }
        Ok(KerasFound::Layers(stack))
    }

    /// The weights of a layer in the order of its group's list, which is the order of creation.
    fn in_order(&self, group: &Group, name: &str) -> Result<Vec<Numbers>, ModelError> {
        let folder = group.group(name).map_err(|e| self.wrong(format!("layer {name}: {e}")))?;
        let attributes = self.attributes(&folder, name)?;
        let names = self.names(&attributes, "weight_names", name)?;
        names.iter().map(|weight| self.numbers(&folder, weight, name)).collect()
    }

    /// Reads weights numbered as in Keras 3, guided by the configuration. Without one, takes the dense layers in order,
    /// each with the batch normalisation of the same number.
    fn numbered(&self, file: &File, layers: Vec<serde_json::Value>) -> Result<KerasFound, ModelError> {
        let no_layers = |_| self.wrong("holds no layers with weights".into());
        let group = file.group("layers").map_err(no_layers)?;
        let folders = group.groups().map_err(no_layers)?;
        let mut found: HashMap<String, Vec<Numbers>> = HashMap::new();
        for folder in &folders {
            let place = format!("layers/{folder}/vars");
            let Ok(vars) = file.group(&place) else { continue };
            let count = vars.datasets().map_err(|e| self.wrong(format!("{place}: {e}")))?.len();
            let numbers =
                (0..count).map(|at| self.numbers(&vars, &at.to_string(), &place)).collect::<Result<_, _>>()?;
            let attributes = self.attributes(&vars, &place)?;
            let own = attributes.get("name").and_then(AttrValue::as_str).filter(|_| !layers.is_empty());
            if found.insert(own.unwrap_or(folder).to_string(), numbers).is_some() {
                return Err(self.wrong(format!("{place}: a layer of this name comes twice")));
            }
        }
        if !layers.is_empty() {
            let weights = |name: &str| Ok(found.get(name).cloned().unwrap_or_default());
            return keras_steps::steps(&layers, weights, |e| self.wrong(e)).map(KerasFound::Steps);
        }
        let mut stack = Stack { layers: Vec::new(), notes: Vec::new() };
        let mut taken = 0;
        for number in 0.. {
            let of = |kind: &str| if number == 0 { kind.to_string() } else { format!("{kind}_{number}") };
            let Some(weights) = found.get(&of("dense")) else { break };
            let layer = self.named_weights(&of("dense"), weights, &["kernel", "bias"])?;
            stack.layers.push(self.dense(&layer, &mut stack.notes)?);
            taken += 1;
            if let Some(weights) = found.get(&of("batch_normalization")) {
                let all = ["gamma", "beta", "moving_mean", "moving_variance"];
                let names = if weights.len() == 2 { &all[2..] } else { &all[..] };
                let layer = self.named_weights(&of("batch_normalization"), weights, names)?;
                self.normalise(&mut stack.layers, &layer, None)?;
                taken += 1;
            }
        }
        let with_weights = found.values().filter(|weights| !weights.is_empty()).count();
        if stack.layers.is_empty() || taken != with_weights {
            let mut names: Vec<&str> = found.keys().map(String::as_str).collect();
            names.sort_unstable();
            let names = names.join(", ");
            return Err(self.wrong(format!(
                "the layers {names} are not dense layers with a batch normalisation each, and nothing says their order: \
                 save the whole model (.keras)"
            )));
        }
        Ok(KerasFound::Layers(stack))
    }

    /// Assigns names to numbered weights.
    fn named_weights(&self, name: &str, weights: &[Numbers], names: &[&str]) -> Result<Layer, ModelError> {
        if weights.is_empty() || weights.len() > names.len() || names.len() > 2 && weights.len() != names.len() {
            return Err(self.wrong(format!("layer {name} has {} weights, and nothing says which", weights.len())));
        }
        let tensors = names.iter().zip(weights).map(|(name, weights)| (name.to_string(), weights.clone())).collect();
        Ok(Layer { name: name.into(), path: name.into(), tensors })
    }

    /// The numbers of a dataset.
    fn numbers(&self, folder: &Group, weight: &str, of: &str) -> Result<Numbers, ModelError> {
        let wrong = |e: &dyn std::fmt::Display| self.wrong(format!("{of}/{weight}: {e}"));
        let dataset = folder.dataset(weight).map_err(|e| wrong(&e))?;
        let shape = dataset.shape().map_err(|e| wrong(&e))?;
        let chunk = dataset.chunk_shape().map_err(|e| wrong(&e))?;
        let width = dataset.element_size().map_err(|e| wrong(&e))?;
        self.check_layout(&shape, chunk.as_deref(), width).map_err(|e| wrong(&e))?;
        let values = match dataset.datatype().map_err(|e| wrong(&e))? {
            Datatype::FloatingPoint { size: 2, byte_order, .. } => {
                let bytes = dataset.read_raw().map_err(|e| wrong(&e))?;
                let half = |pair: &[u8]| match byte_order {
                    DatatypeByteOrder::BigEndian => u16::from_be_bytes([pair[0], pair[1]]),
                    _ => u16::from_le_bytes([pair[0], pair[1]]),
                };
                bytes.chunks_exact(2).map(|pair| half_to_f64(half(pair))).collect()
            }
            _ => dataset.read_f64().map_err(|e| wrong(&e))?,
        };
        if count(&shape) != Some(values.len() as u64) {
            let count = values.len();
            return Err(wrong(&format!("{count} numbers could be read for the shape {shape:?}")));
        }
        Ok((shape, values))
    }

    /// The layers below a name: none if it has no weights, several if it is a nested model.
    fn layers(&self, group: &Group, name: &str) -> Result<Vec<Layer>, ModelError> {
        let folder = group.group(name).map_err(|e| self.wrong(format!("layer {name}: {e}")))?;
        let attributes = self.attributes(&folder, name)?;
        let mut layers: Vec<Layer> = Vec::new();
        for weight in self.names(&attributes, "weight_names", name)? {
            let numbers = self.numbers(&folder, &weight, name)?;
            let (owner, last) = weight.rsplit_once('/').unwrap_or((name, &weight));
            let last = last.split(':').next().unwrap_or(last);
            if layers.last().is_none_or(|layer| layer.path != owner) {
                let inner = owner.rsplit('/').next().unwrap_or(owner);
                let name = if inner == name { name.to_string() } else { format!("{name}/{inner}") };
                layers.push(Layer { name, path: owner.to_string(), tensors: HashMap::new() });
            }
            let layer = layers.last_mut().expect("one was pushed");
            if layer.tensors.insert(last.to_string(), numbers).is_some() {
                return Err(self.wrong(format!("layer {name} has {last} twice")));
            }
        }
        Ok(layers)
    }

    /// Rejects shapes that a file of this length cannot hold, because memory for all of it would be allocated before
    /// reading.
    fn check_layout(&self, shape: &[u64], chunk: Option<&[u64]>, width: u64) -> Result<(), String> {
        let most = self.length.saturating_mul(NUMBERS_A_BYTE);
        if count(shape).is_none_or(|numbers| numbers > most) {
            return Err(format!("a file of this size cannot hold the shape {shape:?}"));
        }
        if let Some(chunk) = chunk {
            let chunks: Vec<u64> = shape.iter().zip(chunk).map(|(side, part)| side.div_ceil(*part.max(&1))).collect();
            let too_large = count(chunk).is_none_or(|numbers| numbers > most.max(CHUNK_NUMBERS));
            // Each chunk takes at least a byte.
            if too_large || count(&chunks).is_none_or(|chunks| chunks > self.length) {
                return Err(format!("a file of this size cannot hold the shape {shape:?} in chunks of {chunk:?}"));
            }
        }
        if width > WIDEST_NUMBER {
            return Err(format!("its elements of {width} bytes are not numbers"));
        }
        Ok(())
    }

    fn dense(&self, layer: &Layer, notes: &mut Vec<String>) -> Result<DenseLayer, ModelError> {
        let name = &layer.name;
        let (shape, values) = &layer.tensors["kernel"];
        let &[inputs, outputs] = shape.as_slice() else {
            return Err(self.wrong(format!("layer {name} is not dense: its kernel has shape {shape:?}")));
        };
        let (inputs, outputs) = (inputs as usize, outputs as usize);
        let kernel = exact_rows(name, values, (outputs, inputs), |output, input| input * outputs + output)?;
        let weights = weights_of_kernel(name, kernel, true, self.options, notes)?;
        let bias = match layer.tensors.get("bias") {
            Some((_, values)) => exact_vector(name, "the bias", values)?,
            None => vec![RBig::ZERO; outputs],
        };
        Ok(DenseLayer { name: name.clone(), weights, bias, norm: None })
    }

    fn normalise(
        &self,
        layers: &mut [DenseLayer],
        layer: &Layer,
        epsilons: Option<&HashMap<String, RBig>>,
    ) -> Result<(), ModelError> {
        let name = &layer.name;
        let Some(dense) = layers.last_mut().filter(|dense| dense.norm.is_none()) else {
            return Err(self.wrong(format!("batch normalisation {name} does not follow a dense layer")));
        };
        let in_file = epsilons.and_then(|epsilons| epsilons.get(name));
        let epsilon = self.options.bn_epsilon.as_ref().or(in_file);
        let unknown = || ModelError::Parameter { layer: name.clone(), problem: Problem::EpsilonUnknown };
        let outputs = dense.weights.len();
        let vector = |key: &str, what, default: Option<RBig>| match (layer.tensors.get(key), default) {
            (Some((_, values)), _) => exact_vector(name, what, values),
            (None, Some(default)) => Ok(vec![default; outputs]),
            (None, None) => Err(self.wrong(format!("batch normalisation {name} has no {key}"))),
        };
        dense.norm = Some(BatchNorm {
            name: name.clone(),
            gamma: vector("gamma", "gamma", Some(RBig::ONE))?,
            beta: vector("beta", "beta", Some(RBig::ZERO))?,
            mean: vector("moving_mean", "the mean", None)?,
            variance: vector("moving_variance", "the variance", None)?,
            epsilon: epsilon.cloned().ok_or_else(unknown)?,
        });
        Ok(())
    }

    /// Rejects a file shorter than its superblock says: the missing part may hold data that is read only at the end, or
    /// not at all.
    fn check_length(&self) -> Result<(), ModelError> {
        let io = |source| ModelError::Io { path: self.path.into(), source };
        let mut head = Vec::new();
        let mut file = std::fs::File::open(self.path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        std::io::Read::read_to_end(&mut std::io::Read::take(&mut file, 64), &mut head).map_err(io)?;
        // The width of addresses and the position of the end address depend on the superblock's version.
        let place = match (head.get(8), head.get(13), head.get(9)) {
            (Some(0), Some(8), _) => Some(24 + 16),
            (Some(1), Some(8), _) => Some(28 + 16),
            (Some(2 | 3), _, Some(8)) => Some(12 + 16),
            _ => None,
        };
        let Some(end) = place.and_then(|at| head.get(at..at + 8)) else { return Ok(()) };
        let end = u64::from_le_bytes(end.try_into().expect("eight bytes were taken"));
        if length < end {
            return Err(self.wrong(format!("the file is cut off: it has {length} of its {end} bytes")));
        }
        Ok(())
    }

    /// The layers in the configuration of a saved model.
    fn config(&self, config: &AttrValue) -> Result<Vec<serde_json::Value>, ModelError> {
        let text = config.as_str().ok_or_else(|| self.wrong("model_config is not a text".into()))?;
        let config: serde_json::Value =
            serde_json::from_str(text).map_err(|e| self.wrong(format!("model_config is not JSON: {e}")))?;
        Ok(layers_of(&config))
    }

    fn attributes(&self, group: &Group, name: &str) -> Result<HashMap<String, AttrValue>, ModelError> {
        group.attrs().map_err(|e| self.wrong(format!("attributes of {name}: {e}")))
    }

    /// A list of names. Keras writes an empty list as an empty array of floats, and splits a very long one into
    /// `layer_names0`, `layer_names1`, ...
    fn names(&self, attributes: &HashMap<String, AttrValue>, key: &str, of: &str) -> Result<Vec<String>, ModelError> {
        let list = |value: &AttrValue| match value {
            AttrValue::F32Array(values) if values.is_empty() => Some(Vec::new()),
            AttrValue::F64Array(values) if values.is_empty() => Some(Vec::new()),
            value => value.as_strings().map(<[String]>::to_vec).or_else(|| Some(vec![value.as_str()?.to_string()])),
        };
        let not_names = || self.wrong(format!("attribute {key} of {of} is not a list of names"));
        if let Some(value) = attributes.get(key) {
            return list(value).ok_or_else(not_names);
        }
        let mut names = Vec::new();
        for part in 0.. {
            let Some(value) = attributes.get(&format!("{key}{part}")) else { break };
            names.extend(list(value).ok_or_else(not_names)?);
        }
        // An empty list is written as an empty array; without any attribute the file is damaged.
        if !attributes.contains_key(&format!("{key}0")) {
            return Err(self.wrong(format!("{of} has no attribute {key}")));
        }
        Ok(names)
    }

    fn wrong(&self, message: String) -> ModelError {
        ModelError::Format { path: self.path.into(), message }
    }
}

fn layers_of(config: &serde_json::Value) -> Vec<serde_json::Value> {
    let layers = config["config"]["layers"].as_array().or(config["config"].as_array());
    layers.cloned().unwrap_or_default()
}

/// Each layer's epsilon, from the configuration in a saved model.
fn epsilons(layers: &[serde_json::Value]) -> HashMap<String, RBig> {
    let of = |layer: &serde_json::Value| {
        let name = layer["config"]["name"].as_str()?;
        Some((name.to_string(), RBig::try_from(layer["config"]["epsilon"].as_f64()?).ok()?))
    };
    layers.iter().filter_map(of).collect()
}

/// The number of elements of a shape; `None` on overflow.
fn count(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1u64, |product, &side| product.checked_mul(side))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_must_fit_the_file() {
        let reader = Reader { path: Path::new("w.h5"), options: &ImportOptions::default(), length: 1000 };
        for (shape, chunk, width) in [
            (&[5, 3][..], None, 4),
            (&[], None, 8),
            (&[0, 3], None, 4),
            (&[1000, 64], None, 2),
            (&[5, 3], Some(&[1000, 1000][..]), 4),
            (&[900], Some(&[1]), 1),
        ] {
            assert_eq!(reader.check_layout(shape, chunk, width), Ok(()), "{shape:?} {chunk:?} {width}");
        }
        for (shape, chunk, width, problem) in [
            (&[1000, 65][..], None, 4, "the shape [1000, 65]"),
            (&[1 << 40, 1 << 40], None, 4, "the shape"),
            (&[5, 3], Some(&[1 << 20, 1 << 20][..]), 4, "in chunks of [1048576, 1048576]"),
            (&[2000], Some(&[1]), 4, "in chunks of [1]"),
            (&[2000], Some(&[0]), 4, "in chunks of [0]"),
            (&[5, 3], None, 1 << 30, "elements of 1073741824 bytes"),
        ] {
            let message = reader.check_layout(shape, chunk, width).unwrap_err();
            assert!(message.contains(problem), "{message}");
        }
    }
}
