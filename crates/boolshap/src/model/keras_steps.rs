//! Converts the layers in the configuration of a Keras model to steps, with the weights stored for them in the file.
//!
//! Keras 3 stores weights by number below `layers/KIND/vars`, whose attribute `name` is the layer's name in the
//! configuration: kernel and bias of a dense layer; gamma, beta, mean and variance of a batch normalisation, the first
//! two only if it scales and centres. Layers that do not change numbers (dropout, noise, flatten) have no step.
//! Branches and other kinds of layers are refused by name.

use super::ModelError;
use super::fold::{BatchNorm, DenseLayer};
use super::import::{exact_rows, exact_vector};
use super::number::exact;
use super::real_network::Activation;
use super::steps::Step;
use dashu_ratio::RBig;
use serde_json::Value;

/// Numbers with their shape.
pub(super) type Numbers = (Vec<u64>, Vec<f64>);

/// Layers that do not change their input, or only its shape.
const SILENT: [&str; 9] = [
    "InputLayer",
    "Dropout",
    "AlphaDropout",
    "GaussianNoise",
    "GaussianDropout",
    "Flatten",
    "Identity",
    "ActivityRegularization",
    "Reshape",
];

/// The class of a layer in the configuration.
pub(super) fn class(layer: &Value) -> &str {
    layer["class_name"].as_str().unwrap_or_default()
}

/// The name of a layer in the configuration.
pub(super) fn name(layer: &Value) -> &str {
    layer["config"]["name"].as_str().unwrap_or_else(|| class(layer))
}

/// Whether a model has several dense layers and neither signs nor quantisers, so that its weights are used as they are.
pub(super) fn is_real(layers: &[Value]) -> bool {
    let quantises = |layer: &Value| {
        let config = &layer["config"];
        class(layer).contains("Quant")
            || ["input_quantizer", "kernel_quantizer"].iter().any(|key| !config[key].is_null())
    };
    let sign = |layer: &Value| matches!(step_of(layer), Ok(Some(Step::Sign { .. }))) || class(layer).contains("Sign");
    layers.iter().filter(|layer| class(layer) == "Dense").count() > 1
        && !layers.iter().any(|layer| quantises(layer) || sign(layer))
}

/// The steps of a chain of layers; `weights` gives the weights of a layer by its name, in the order in which Keras
/// creates them.
pub(super) fn steps(
    layers: &[Value],
    weights: impl Fn(&str) -> Result<Vec<Numbers>, ModelError>,
    wrong: impl Fn(String) -> ModelError,
) -> Result<Vec<Step>, ModelError> {
    let mut steps = Vec::new();
    for layer in layers {
        let (class, name) = (class(layer), name(layer));
        if !is_in_a_chain(layer) {
            return Err(wrong(format!("layer {name} reads several layers: only a chain of layers is supported")));
        }
        match class {
            "Dense" => {
                let width = steps.iter().rev().find_map(width_of);
                steps.push(Step::Dense(dense(layer, weights(name)?, width).map_err(&wrong)?));
            }
            "BatchNormalization" => steps.push(Step::Norm(norm(layer, weights(name)?).map_err(&wrong)?)),
            _ if SILENT.contains(&class) => continue,
            _ => {}
        }
        match step_of(layer) {
            Ok(step) if step.is_some() || matches!(class, "Dense" | "BatchNormalization" | "Activation") => {
                steps.extend(step);
            }
            Ok(_) => return Err(wrong(format!("layer {name} is of the class {class}, which is not read"))),
            Err(why) => return Err(wrong(format!("layer {name}: {why}"))),
        }
    }
    Ok(steps)
}

fn width_of(step: &Step) -> Option<usize> {
    match step {
        Step::Dense(layer) => Some(layer.weights.len()),
        _ => None,
    }
}

/// Whether a layer reads exactly one other: a list of one call with one tensor, or nothing in a sequential model.
fn is_in_a_chain(layer: &Value) -> bool {
    match layer["inbound_nodes"].as_array() {
        None => true,
        Some(calls) => match calls.as_slice() {
            [] => true,
            // Keras 3 stores the arguments of a call, Keras 2 lists its tensors.
            [call] => match (call["args"].as_array(), call.as_array()) {
                (Some(arguments), _) => arguments.len() == 1 && !arguments[0].is_array(),
                (None, Some(tensors)) => tensors.len() <= 1 || tensors.first().is_some_and(Value::is_string),
                _ => false,
            },
            _ => false,
        },
    }
}

fn dense(layer: &Value, weights: Vec<Numbers>, width: Option<usize>) -> Result<DenseLayer, String> {
    let name = name(layer);
    let [(shape, kernel), rest @ ..] = weights.as_slice() else { return Err(format!("layer {name} has no kernel")) };
    let &[inputs, outputs] = shape.as_slice() else {
        return Err(format!("layer {name} is not dense: its kernel has shape {shape:?}"));
    };
    let (inputs, outputs) = (inputs as usize, outputs as usize);
    if let Some(expected) = width.filter(|width| *width != inputs) {
        return Err(format!("layer {name} has weights for {inputs} inputs where {expected} arrive"));
    }
    let text = |error: ModelError| error.to_string();
    let weights =
        exact_rows(name, kernel, (outputs, inputs), |output, input| input * outputs + output).map_err(text)?;
    let bias = match rest {
        [] => vec![RBig::ZERO; outputs],
        [(_, bias)] => exact_vector(name, "the bias", bias).map_err(text)?,
        _ => return Err(format!("layer {name} has more weights than a kernel and a bias")),
    };
    Ok(DenseLayer { name: name.into(), weights, bias, norm: None })
}

fn norm(layer: &Value, weights: Vec<Numbers>) -> Result<BatchNorm, String> {
    let (name, config) = (name(layer), &layer["config"]);
    let is_on = |key: &str| config[key].as_bool().unwrap_or(true);
    let vectors = weights.iter().map(|(_, numbers)| exact_vector(name, "a parameter", numbers));
    let mut vectors = vectors.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?.into_iter();
    let units = weights.first().map_or(0, |(_, numbers)| numbers.len());
    let mut next = |is_there: bool, default: Option<RBig>| match (is_there, default) {
        (false, Some(default)) => Ok(vec![default; units]),
        _ => vectors.next().ok_or_else(|| format!("batch normalisation {name} has too few weights")),
    };
    let gamma = next(is_on("scale"), Some(RBig::ONE))?;
    let beta = next(is_on("center"), Some(RBig::ZERO))?;
    let (mean, variance) = (next(true, None)?, next(true, None)?);
    if vectors.next().is_some() {
        return Err(format!("batch normalisation {name} has too many weights"));
    }
    let epsilon = config["epsilon"].as_f64().unwrap_or(0.001);
    let epsilon = exact(epsilon, name, "epsilon", 0).map_err(|error| error.to_string())?;
    Ok(BatchNorm { name: name.into(), gamma, beta, mean, variance, epsilon })
}

/// The function of a layer: its activation, or the layer itself if it is a function.
pub(super) fn step_of(layer: &Value) -> Result<Option<Step>, String> {
    let (class, config) = (class(layer), &layer["config"]);
    let function = match class {
        "ReLU" | "LeakyReLU" | "Softmax" => class.to_string(),
        _ => match super::keras_activations::name(&config["activation"]) {
            Some(function) => function,
            None => return Ok(None),
        },
    };
    let number = |key: &str, default: f64| config[key].as_f64().unwrap_or(default);
    let rational = |number: f64| RBig::try_from(number).map_err(|_| format!("{number} is not a finite number"));
    let known = match function.to_lowercase().as_str() {
        "linear" => return Ok(None),
        "sign" => return Ok(Some(Step::Sign { name: function, at_zero: Some(0) })),
        sign if sign.contains("sign") && sign != "softsign" => {
            return Ok(Some(Step::Sign { name: function, at_zero: Some(1) }));
        }
        "softmax" | "log_softmax" => {
            return Ok(Some(Step::Function { name: function, keeps_signs: false, keeps_order: true, real: None }));
        }
        "relu" => relu(config)?,
        "relu6" => Activation::Clip(RBig::ZERO, RBig::from(6)),
        "leakyrelu" => Activation::Leaky(rational(number("negative_slope", number("alpha", 0.3)))?),
        "leaky_relu" => Activation::Leaky(rational(0.2)?),
        "tanh" => Activation::Tanh,
        "sigmoid" => Activation::Sigmoid,
        "hard_tanh" | "hardtanh" => Activation::Clip(-RBig::ONE, RBig::ONE),
        _ => return Err(format!("its function {function} is not read")),
    };
    Ok(Some(Step::function_of(known)))
}

/// A ReLU may have a slope below 0, a limit above, or a threshold other than 0.
fn relu(config: &Value) -> Result<Activation, String> {
    let number = |key: &str| config[key].as_f64().filter(|number| *number != 0.0);
    let rational = |number: f64| RBig::try_from(number).map_err(|_| format!("{number} is not a finite number"));
    match (number("negative_slope"), number("max_value"), number("threshold")) {
        (None, None, None) => Ok(Activation::Relu),
        (Some(slope), None, None) => Ok(Activation::Leaky(rational(slope)?)),
        (None, Some(most), None) if most > 0.0 => Ok(Activation::Clip(RBig::ZERO, rational(most)?)),
        _ => Err("a ReLU with a threshold, or with both a slope and a limit, is not read".into()),
    }
}
