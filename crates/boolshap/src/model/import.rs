//! Imports networks from other tools' files: the kind of file is recognised from its content, never from its name.
//!
//! | kind | recognised by | read in |
//! | --- | --- | --- |
//! | Keras/Larq weights | the HDF5 signature, or a zip archive (`.keras`) | `import_hdf5` |
//! | safetensors | an 8-byte header length, then `{` | `import_safetensors` |
//! | ONNX | a version number, then a graph, as fields of a protobuf message | `import_onnx` |
//! | folder of layers as CSV | a folder that holds `out_blk/` | `import_blocks` |
//! | one neuron as text | a line `weights:` | `import_neuron` |
//!
//! Every reader yields [`DenseLayer`]s in exact numbers, which are folded into gates in one place. Only ONNX, which has
//! many kinds of operators, is folded while it is read.

use super::fold::{DenseLayer, fold_network};
use super::import_onnx::OnnxFound;
use super::input_values::InputValues;
use super::levels::Cut;
use super::number::exact;
use super::real_network::{Activation, RealNetwork};
use super::steps::{Step, fold_steps, has_real_weights, take_bits};
use super::{ModelError, Network, Problem, import_blocks, import_neuron, import_onnx, import_safetensors};
use crate::data::Code;
use dashu_base::UnsignedAbs;
use dashu_int::UBig;
use dashu_ratio::RBig;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What a file may not state itself.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// The epsilon of batch normalisation, if the file does not contain it.
    pub bn_epsilon: Option<RBig>,
    /// Whether kernels hold the weights themselves, or latent numbers of which only the sign counts.
    pub kernels: Kernels,
    /// The sign of a latent weight of exactly 0; `None` refuses it as ambiguous.
    pub zero_weight: Option<bool>,
    /// Which numbers the inputs can be, if the file does not say; `None` means -1 and +1, where that is usual.
    pub inputs: Option<InputValues>,
    /// The function between the layers, if the file does not say; `None` means a sign.
    pub activation: Option<Activation>,
}

/// How to interpret the numbers in a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kernels {
    /// The usual choice for the kind of file. Keras weights: the sign, because Larq stores latent numbers. Others: the
    /// numbers as they are, except that a layer of only +1, -1 and 0 is refused, because a 0 is most likely a mistake
    /// there.
    #[default]
    Auto,
    /// The sign of every weight.
    Sign,
    /// Every weight as it is.
    Real,
}

impl std::str::FromStr for Kernels {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "auto" => Ok(Kernels::Auto),
            "sign" => Ok(Kernels::Sign),
            "real" => Ok(Kernels::Real),
            other => Err(format!("'{other}' is not one of auto, sign, real")),
        }
    }
}

/// An imported network, and what the reader had to decide.
#[derive(Debug)]
pub struct Imported {
    /// The network.
    pub network: Network,
    /// What kind of file it came from.
    pub kind: &'static str,
    /// Decisions that the user should know about, a sentence each.
    pub notes: Vec<String>,
    /// How the columns of a table become the network's bits, if the file says so; otherwise each input is a bit.
    pub columns: Option<Vec<Code>>,
}

/// A network of gates or of real weights.
#[derive(Debug)]
pub enum AnyImported {
    /// A network of gates.
    Gates(Imported),
    /// A network of real weights.
    Real {
        /// The network.
        network: RealNetwork,
        /// What kind of file it came from.
        kind: &'static str,
        /// Decisions that the user should know about, a sentence each.
        notes: Vec<String>,
    },
}

/// Reads a network of gates from a file or folder of any kind in the table above.
pub fn import(path: &Path, options: &ImportOptions) -> Result<Imported, ModelError> {
    match import_any(path, options)? {
        AnyImported::Gates(imported) => Ok(imported),
        AnyImported::Real { .. } => {
            let message = "a network of real weights, where one of gates is expected".into();
            Err(ModelError::Format { path: path.into(), message })
        }
    }
}

/// Reads a network of gates or of real weights.
pub fn import_any(path: &Path, options: &ImportOptions) -> Result<AnyImported, ModelError> {
    let (kind, stack) = match recognise(path, options)? {
        Found::Layers(kind, stack) => (kind, stack),
        Found::Onnx(found) => {
            let are_bits = found.columns.iter().all(|cut| *cut == Cut::Bit);
            let columns = (!are_bits).then(|| found.columns.iter().map(code).collect());
            let (network, notes) = (found.network, found.notes);
            return Ok(AnyImported::Gates(Imported { network, kind: "ONNX", notes, columns }));
        }
        Found::Steps(kind, steps, notes) => {
            if !has_real_weights(&steps) {
                let network = fold_steps(steps, options.inputs.as_ref() == Some(&InputValues::bits()))?;
                return Ok(AnyImported::Gates(Imported { network, kind, notes, columns: None }));
            }
            let network = real_network(path, kind, steps, options)?;
            return Ok(AnyImported::Real { network, kind, notes });
        }
    };
    match &options.activation {
        None => gates_of(path, kind, stack, options).map(AnyImported::Gates),
        Some(activation) => {
            let network = real_network(path, kind, steps_between(stack.layers, activation), options)?;
            Ok(AnyImported::Real { network, kind, notes: stack.notes })
        }
    }
}

/// Steps made of layers with the same function between them.
fn steps_between(layers: Vec<DenseLayer>, activation: &Activation) -> Vec<Step> {
    let mut steps = Vec::new();
    for mut layer in layers {
        if !steps.is_empty() {
            steps.push(Step::function_of(activation.clone()));
        }
        let norm = layer.norm.take();
        steps.push(Step::Dense(layer));
        steps.extend(norm.map(Step::Norm));
    }
    steps
}

/// A network of real weights; the caller must say whether its input bits are 0 and 1 or -1 and +1.
fn real_network(
    path: &Path,
    kind: &'static str,
    steps: Vec<Step>,
    options: &ImportOptions,
) -> Result<RealNetwork, ModelError> {
    let bits = match &options.inputs {
        // Most such networks were trained on 0 and 1, some on -1 and +1: a wrong guess would go unnoticed.
        None => {
            let layer = steps.first().map_or("the network", Step::name).to_string();
            return Err(ModelError::Parameter { layer, problem: Problem::InputsUnknown });
        }
        Some(inputs) if *inputs == InputValues::signs() => false,
        Some(inputs) if *inputs == InputValues::bits() => true,
        Some(_) => {
            let message = format!("inputs of a {kind} file of real weights are bits or signs");
            return Err(ModelError::Format { path: path.into(), message });
        }
    };
    RealNetwork::of_steps(steps, bits)
}

fn gates_of(
    path: &Path,
    kind: &'static str,
    mut stack: Stack,
    options: &ImportOptions,
) -> Result<Imported, ModelError> {
    match (&options.inputs, stack.layers.first_mut()) {
        (Some(inputs), Some(layer)) if *inputs == InputValues::bits() => take_bits(layer),
        (Some(inputs), _) if *inputs != InputValues::signs() => {
            let message = format!("inputs of a {kind} file are bits or signs");
            return Err(ModelError::Format { path: path.into(), message });
        }
        _ => {}
    }
    let network = fold_network(&stack.layers)?;
    Ok(Imported { network, kind, notes: stack.notes, columns: None })
}

/// The code of a column: one bit for two levels, otherwise one for each.
fn code(cut: &Cut) -> Code {
    match cut {
        Cut::Bit => Code::Boolean,
        Cut::Above(cuts) => match **cuts {
            [cut] => Code::Above(cut),
            _ => Code::Bins(cuts.to_vec()),
        },
    }
}

/// The result of a reader.
enum Found {
    Layers(&'static str, Stack),
    Onnx(import_onnx::OnnxNetwork),
    /// Steps of any kind.
    Steps(&'static str, Vec<Step>, Vec<String>),
}

impl Found {
    #[cfg(feature = "hdf5")]
    fn of_keras(found: super::import_hdf5::KerasFound) -> Self {
        match found {
            super::import_hdf5::KerasFound::Layers(stack) => Found::Layers("Keras weights", stack),
            super::import_hdf5::KerasFound::Steps(steps) => Found::Steps("Keras model", steps, Vec::new()),
        }
    }
}

fn recognise(path: &Path, options: &ImportOptions) -> Result<Found, ModelError> {
    if path.is_dir() {
        if path.join("out_blk").is_dir() {
            return Ok(Found::Layers("folder of layers", import_blocks::read(path, options)?));
        }
        let message = "this folder holds no out_blk, as a folder of layers in CSV does".into();
        return Err(ModelError::Format { path: path.into(), message });
    }
    let mut head = Vec::new();
    let io = |source| ModelError::Io { path: path.into(), source };
    File::open(path).map_err(io)?.take(4096).read_to_end(&mut head).map_err(io)?;
    if head.starts_with(b"\x89HDF\r\n\x1a\n") {
        #[cfg(feature = "hdf5")]
        return Ok(Found::of_keras(super::import_hdf5::read(path, options)?));
        #[cfg(not(feature = "hdf5"))]
        return Err(ModelError::Format {
            path: path.into(),
            message: "an HDF5 file, which this build cannot read (cargo feature `hdf5` is off)".into(),
        });
    }
    if head.starts_with(b"PK\x03\x04") {
        #[cfg(feature = "hdf5")]
        return Ok(Found::of_keras(super::import_hdf5::read_archive(path, options)?));
        #[cfg(not(feature = "hdf5"))]
        return Err(ModelError::Format {
            path: path.into(),
            message: "an archive with HDF5 files, which this build cannot read (cargo feature `hdf5` is off)".into(),
        });
    }
    // A header length below 2^56 ends in a zero byte, which does not occur in a text.
    if head.get(7..9) == Some(b"\0{") {
        return Ok(Found::Layers("safetensors", import_safetensors::read(path, options)?));
    }
    if import_onnx::begins_like_onnx(&head) {
        return Ok(match import_onnx::read(path, options)? {
            OnnxFound::Gates(network) => Found::Onnx(network),
            OnnxFound::Real(steps) => Found::Steps("ONNX", steps, Vec::new()),
        });
    }
    let text = String::from_utf8_lossy(&head);
    if text.lines().any(|line| line.trim_start().starts_with("weights:")) {
        return Ok(Found::Layers("neuron", import_neuron::read(path)?));
    }
    if text.contains(super::file::FORMAT) {
        let message = "this is a boolshap model already: nothing to import".into();
        return Err(ModelError::Format { path: path.into(), message });
    }
    let start: String = text.chars().take(12).flat_map(char::escape_default).collect();
    let message = format!(
        "neither HDF5 weights, safetensors, ONNX, a .neuron file nor a folder of layers: it {}",
        if head.is_empty() { "is empty".into() } else { format!("begins with \"{start}\"") }
    );
    Err(ModelError::Format { path: path.into(), message })
}

/// Dense layers from input to output, with notes on what their reader decided.
pub(crate) struct Stack {
    pub(crate) layers: Vec<DenseLayer>,
    pub(crate) notes: Vec<String>,
}

/// Converts a kernel to weights, according to the options and the usual choice for the kind of file.
pub(crate) fn weights_of_kernel(
    layer: &str,
    kernel: Vec<Vec<RBig>>,
    usually_latent: bool,
    options: &ImportOptions,
    notes: &mut Vec<String>,
) -> Result<Vec<Vec<RBig>>, ModelError> {
    let is_unit = |w: &RBig| w.denominator() == &UBig::ONE && w.numerator().unsigned_abs() == UBig::ONE;
    let numbers = || kernel.iter().flatten();
    if numbers().all(is_unit) {
        return Ok(kernel);
    }
    let binary_but_for_zeros = numbers().all(|w| w.is_zero() || is_unit(w)) && numbers().any(is_unit);
    let sign = match options.kernels {
        Kernels::Sign => true,
        Kernels::Real => false,
        Kernels::Auto => usually_latent || binary_but_for_zeros,
    };
    if !sign {
        notes.push(format!(
            "{layer}: the weights are not +-1 and are taken as they are; kernels can also be read by their signs"
        ));
        return Ok(kernel);
    }
    if !binary_but_for_zeros {
        notes.push(format!(
            "{layer}: the weights are latent numbers and count by their signs; kernels can also be taken as they are"
        ));
    }
    let mut signs = kernel;
    for (neuron, row) in signs.iter_mut().enumerate() {
        for (input, weight) in row.iter_mut().enumerate() {
            let positive = if weight.is_zero() { options.zero_weight } else { Some(*weight > RBig::ZERO) };
            let Some(positive) = positive else {
                let problem = Problem::ZeroWeight { neuron: neuron + 1, input: input + 1 };
                return Err(ModelError::Parameter { layer: layer.into(), problem });
            };
            *weight = if positive { RBig::ONE } else { -RBig::ONE };
        }
    }
    Ok(signs)
}

/// A matrix of binary floats as exact rows, one for each output; `at(output, input)` is its index in `values`.
pub(crate) fn exact_rows(
    layer: &str,
    values: &[f64],
    shape: (usize, usize),
    at: impl Fn(usize, usize) -> usize,
) -> Result<Vec<Vec<RBig>>, ModelError> {
    (0..shape.0)
        .map(|output| (0..shape.1).map(|input| exact(values[at(output, input)], layer, "a weight", output)).collect())
        .collect()
}

/// A vector of binary floats in exact numbers.
pub(crate) fn exact_vector(layer: &str, what: &'static str, values: &[f64]) -> Result<Vec<RBig>, ModelError> {
    values.iter().enumerate().map(|(neuron, &value)| exact(value, layer, what, neuron)).collect()
}
