//! Checks the activations in the configuration of a Keras model: between dense layers only signs can become gates, and
//! functions after the last layer must preserve the order of its scores. A layer without an activation is accepted:
//! Larq's layers quantise their own inputs.

use serde_json::Value;

/// Functions that preserve signs.
const KEEP_SIGNS: [&str; 5] = ["linear", "tanh", "hard_tanh", "hardtanh", "softsign"];
/// Functions that preserve the order of scores.
const KEEP_ORDER: [&str; 5] = ["linear", "tanh", "softmax", "log_softmax", "sigmoid"];
/// Layers that are themselves functions.
const FUNCTIONS: [&str; 7] = ["ReLU", "LeakyReLU", "PReLU", "ELU", "ThresholdedReLU", "Softmax", "Softplus"];

/// Fails if an activation is neither a sign nor, at the end, preserves the order of scores; the error names the layer.
pub(super) fn check(layers: &[Value]) -> Result<(), String> {
    let class = |layer: &Value| layer["class_name"].as_str().unwrap_or_default().to_string();
    let last = layers.iter().rposition(|layer| class(layer).contains("Dense")).unwrap_or(0);
    for (at, layer) in layers.iter().enumerate() {
        let class = class(layer);
        let function = match FUNCTIONS.contains(&class.as_str()) {
            true => Some(class.clone()),
            false => name(&layer["config"]["activation"]),
        };
        let Some(function) = function else { continue };
        let plain = function.to_lowercase();
        let is_sign = plain.contains("sign") || KEEP_SIGNS.contains(&plain.as_str());
        if is_sign || at >= last && KEEP_ORDER.contains(&plain.as_str()) {
            continue;
        }
        let layer = layer["config"]["name"].as_str().unwrap_or(&class);
        let wanted = if at >= last { "does not keep the order of scores" } else { "is not a sign" };
        return Err(format!("layer {layer}: its activation {function} {wanted}"));
    }
    Ok(())
}

/// The name of a function: a text, or an object registered under a name.
pub(super) fn name(activation: &Value) -> Option<String> {
    match activation {
        Value::String(name) => Some(name.clone()),
        Value::Object(object) => {
            let inner = object.get("config").and_then(|config| config.as_str().or(config["name"].as_str()));
            let own = object.get("registered_name").or(object.get("class_name")).and_then(Value::as_str);
            inner.or(own).map(String::from)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn activations_that_are_no_signs_are_named() {
        let dense = |name: &str, activation: Value| json!({"class_name": "Dense", "config": {"name": name, "activation": activation}});
        let relu = json!({"class_name": "ReLU", "config": {"name": "r"}});
        let sign = json!({"class_name": "SteSign", "config": {"name": "ste_sign"}});
        let good = [
            vec![dense("a", json!("ste_sign")), dense("b", json!("softmax"))],
            vec![dense("a", sign), dense("b", json!("linear"))],
            vec![dense("a", Value::Null), dense("b", json!("sigmoid"))],
            vec![dense("a", json!("hard_tanh")), dense("b", json!("sign"))],
        ];
        for layers in good {
            assert_eq!(check(&layers), Ok(()));
        }
        let bad = [
            (
                vec![dense("a", json!("relu")), dense("b", json!("linear"))],
                "layer a: its activation relu is not a sign",
            ),
            (
                vec![dense("a", json!("sigmoid")), dense("b", json!("linear"))],
                "layer a: its activation sigmoid is not a sign",
            ),
            (
                vec![dense("a", Value::Null), relu, dense("b", Value::Null)],
                "layer r: its activation ReLU is not a sign",
            ),
            (vec![dense("a", json!("relu"))], "layer a: its activation relu does not keep the order of scores"),
        ];
        for (layers, message) in bad {
            assert_eq!(check(&layers), Err(message.into()));
        }
    }
}
