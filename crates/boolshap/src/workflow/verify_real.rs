//! Verifies that a file is a network of real weights: tries all inputs again, and compares the file on every one of
//! them.

use super::compile_real::rule_of;
use super::verify::{Difference, Verification, verify_watched};
use super::{Error, VerifyRequest};
use crate::circuit::{NamedCircuit, ValueEvaluator};
use crate::data::Bits;
use crate::lit::{Instant, Watch};
use crate::model::{AnyModel, RealModel};
use crate::query::Method;

/// How many inputs are evaluated at a time.
const ROWS: usize = 1 << 12;

/// Proves that a file is a model of either kind, or finds an input on which they differ.
pub fn verify_any(
    model: &AnyModel,
    circuit: &NamedCircuit,
    request: &VerifyRequest,
    watch: &Watch<'_>,
) -> Result<Verification, Error> {
    match model {
        AnyModel::Gates(model) => verify_watched(model, circuit, request, watch),
        AnyModel::Real(model) => verify_real(model, circuit, request, watch),
    }
}

/// Compares a file with a network of real weights on every input.
pub fn verify_real(
    model: &RealModel,
    circuit: &NamedCircuit,
    request: &VerifyRequest,
    watch: &Watch<'_>,
) -> Result<Verification, Error> {
    let begin = Instant::now();
    if request.method.is_some_and(|method| method != Method::Exhaustive) {
        return Err(Error::setting("method", "is 'exhaustive' for networks of real weights: all inputs are tried"));
    }
    if request.proof.is_some() {
        return Err(Error::setting("proof", "is for networks of gates: of real weights all inputs are tried"));
    }
    if circuit.features != model.features {
        return Err(Error::input("the features are not those of the model, or in another order"));
    }
    let mut found = Verification {
        classes: Vec::new(),
        class_names: Vec::new(),
        method: Method::Exhaustive,
        methods: vec![Method::Exhaustive],
        compared: vec!["features"],
        difference: None,
        notes: Vec::new(),
        seconds: 0.0,
    };
    match circuit.values.is_some() {
        true => compare_numbers(model, circuit, &mut found, watch)?,
        false => compare_labels(model, circuit, request, &mut found, watch)?,
    }
    let names = model.class_names();
    found.class_names = found.classes.iter().filter_map(|&class| names.get(class).cloned()).collect();
    found.seconds = begin.elapsed().as_secs_f64();
    Ok(found)
}

fn compare_labels(
    model: &RealModel,
    circuit: &NamedCircuit,
    request: &VerifyRequest,
    found: &mut Verification,
    watch: &Watch<'_>,
) -> Result<(), Error> {
    let names = model.class_names();
    if !circuit.classes.is_empty() && !names.iter().eq(circuit.classes.iter().map(|(name, _)| name)) {
        return Err(Error::input("the classes are not those of the model, or in another order"));
    }
    let asked = request.class.as_ref().map(|class| class.number(names.len(), &names)).transpose()?;
    let expected = model.network.classes_of_all(watch)?.entries;
    for (number, label) in circuit.labels()?.iter().enumerate() {
        let own = asked.or(circuit.facts.class).unwrap_or(1);
        let class = if circuit.classes.is_empty() { own } else { number };
        found.classes.push(class);
        let words = label.truth_table()?;
        let says = |input: usize| words[input / 64] >> (input % 64) & 1 == 1;
        let differs = |&input: &usize| says(input) != (usize::from(expected[input]) == class);
        if let Some(input) = (0..expected.len()).find(differs) {
            let (network, circuit) = (!says(input), says(input));
            let words = format!(
                "for {} the network {} class {class}, and the circuit says otherwise",
                words_of(model, input),
                if network { "answers" } else { "does not answer" }
            );
            let entity = entity(model, input);
            found.difference = Some(Difference { entity, class, network, circuit, scores: None, words });
            return Ok(());
        }
    }
    Ok(())
}

fn compare_numbers(
    model: &RealModel,
    circuit: &NamedCircuit,
    found: &mut Verification,
    watch: &Watch<'_>,
) -> Result<(), Error> {
    let outputs = model.network.outputs();
    let chosen: Vec<usize> = circuit.facts.class.map_or_else(|| (0..outputs).collect(), |class| vec![class]);
    let own = circuit.values.as_ref().map_or(0, |values| values.sums().len());
    if chosen.len() != own || chosen.iter().any(|&output| output >= outputs) {
        return Err(Error::input(format!("there are {own} scores, and the network has others")));
    }
    let rule = circuit.values.as_ref().map(|values| values.rule());
    if own == outputs && rule != Some(rule_of(&model.network)) {
        return Err(Error::input("the scores decide otherwise than the network"));
    }
    found.classes = if outputs == 1 { vec![1] } else { chosen.clone() };
    let expected = model.network.numbers_of_all(watch)?.entries;
    let (features, inputs) = (model.features.len(), 1usize << model.features.len());
    let Some(evaluator) = ValueEvaluator::new(circuit) else { return Ok(()) };
    for first in (0..inputs).step_by(ROWS) {
        let mut rows = Bits::new(features);
        for input in first..inputs.min(first + ROWS) {
            rows.push(&(0..features).map(|bit| input >> bit & 1 == 1).collect::<Vec<_>>());
        }
        for (row, numbers) in evaluator.rows(&rows, watch)?.iter().enumerate() {
            for (place, &output) in chosen.iter().enumerate() {
                let (expected, number) = (expected[(first + row) * outputs + output], numbers[place].to_f64().value());
                if expected == number {
                    continue;
                }
                let words = words_of(model, first + row);
                let words = format!("for {words} the network has the score {expected}, and the file {number}");
                let (entity, scores) = (entity(model, first + row), Some([expected, number]));
                let (network, circuit) = (expected >= 0.0, number >= 0.0);
                found.difference = Some(Difference { entity, class: output, network, circuit, scores, words });
                return Ok(());
            }
        }
    }
    Ok(())
}

fn entity(model: &RealModel, input: usize) -> Vec<(String, bool)> {
    model.features.iter().cloned().enumerate().map(|(bit, name)| (name, input >> bit & 1 == 1)).collect()
}

fn words_of(model: &RealModel, input: usize) -> String {
    let values: Vec<String> =
        entity(model, input).iter().map(|(name, bit)| format!("{name}={}", u8::from(*bit))).collect();
    values.join(", ")
}
