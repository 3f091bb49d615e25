//! Imports a single neuron written as text (`.neuron`): `name:`, `size:`, `weights:` separated by spaces, `threshold:`.
//! It fires if `w . x >= threshold` with inputs 0 and 1; decimals are read exactly.
//!
//! With `x = (s + 1) / 2` the condition reads `w . s + (sum of w - 2 threshold) >= 0`, a dense layer of one output.

use super::ModelError;
use super::fold::DenseLayer;
use super::import::Stack;
use super::number::parse_decimal;
use dashu_ratio::RBig;
use std::path::Path;

pub(crate) fn read(path: &Path) -> Result<Stack, ModelError> {
    let text = std::fs::read_to_string(path).map_err(|source| ModelError::Io { path: path.into(), source })?;
    parse(&text).map_err(|message| ModelError::Format { path: path.into(), message })
}

fn parse(text: &str) -> Result<Stack, String> {
    let (mut name, mut size, mut weights, mut threshold) = (None, None, None, None);
    let mut notes = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at = |what: String| format!("line {}: {what}", index + 1);
        let (key, value) = line.split_once(':').ok_or_else(|| at(format!("'{}' is not `key: value`", line.trim())))?;
        let (key, value) = (key.trim(), value.trim());
        let number = |text: &str| parse_decimal(text).ok_or_else(|| at(format!("'{text}' is not a finite number")));
        let repeated = match key {
            "name" => name.replace(value.to_string()).is_some(),
            "size" => {
                size.replace(value.parse::<usize>().map_err(|_| at(format!("'{value}' is not a size")))?).is_some()
            }
            "weights" => {
                let row = value.split_whitespace().map(number).collect::<Result<Vec<_>, _>>()?;
                weights.replace(row).is_some()
            }
            "threshold" => threshold.replace(number(value)?).is_some(),
            _ => {
                notes.push(at(format!("`{key}` is unknown in a .neuron file and is ignored")));
                false
            }
        };
        if repeated {
            return Err(at(format!("{key} is given twice")));
        }
    }
    let weights = weights.ok_or("the line `weights:` is missing")?;
    let threshold = threshold.ok_or("the line `threshold:` is missing")?;
    if let Some(size) = size.filter(|&size| size != weights.len()) {
        return Err(format!("size is {size} but there are {} weights", weights.len()));
    }
    let sum = weights.iter().fold(RBig::ZERO, |sum, w| sum + w);
    let bias = vec![sum - threshold * RBig::from(2)];
    let name = name.map_or("the neuron".into(), |name| format!("neuron {name}"));
    Ok(Stack { layers: vec![DenseLayer { name, weights: vec![weights], bias, norm: None }], notes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fold::fold_network;

    #[test]
    fn fires_at_the_threshold() {
        let stack = parse("name: n\nsize: 3\nweights: 0.1 0.2 -0.5\nthreshold: 0.3\n").unwrap();
        let network = fold_network(&stack.layers).unwrap();
        let fired: Vec<u32> =
            (0..8u32).filter(|x| network.classify(&[x & 1 == 1, x >> 1 & 1 == 1, x >> 2 & 1 == 1]) == 1).collect();
        // 0.1 + 0.2 >= 0.3 as decimals; with the third input the sum falls short.
        assert_eq!(fired, [3]);
    }

    #[test]
    fn errors_name_the_mistake() {
        let cases = [
            ("size: 2\nweights: 1\nthreshold: 0", "size is 2 but there are 1 weights"),
            ("weights: 1 x\nthreshold: 0", "line 1: 'x' is not a finite number"),
            ("weights: 1\nweights: 1\nthreshold: 0", "line 2: weights is given twice"),
            ("weights: 1", "the line `threshold:` is missing"),
            ("hello", "line 1: 'hello' is not `key: value`"),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).err().as_deref(), Some(expected));
        }
    }
}
