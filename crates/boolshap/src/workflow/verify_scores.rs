//! Verifies that scores are those of a network. The parts are compared one by one: gates must be the network's own,
//! circuits are proved equal to the gates they are made from, weights and constants are those of the last layer. Both
//! are also evaluated on some inputs, the network by its definition.

use super::compile_scores::part_model;
use super::verify::{Difference, Verification};
use super::{Error, VerifyRequest};
use crate::circuit::{NamedCircuit, NodeId, Part, ValueEvaluator, Values};
use crate::data::{Bits, Seeded};
use crate::lit::{Pieces, Watch};
use crate::model::Model;
use crate::query::{self, Method, VerifyOptions};
use dashu_ratio::RBig;

/// How many inputs are tried.
const TRIED: usize = 256;

/// The methods that proved the scores to be those of the model; an error names the first difference.
pub(super) fn prove_scores(model: &Model, named: &NamedCircuit, watch: &Watch<'_>) -> Result<Vec<Method>, Error> {
    let request = VerifyRequest::default();
    let (methods, difference) = compare_scores(model, named, &request, watch)?;
    match difference {
        None => Ok(methods),
        Some(found) => Err(Error::input(format!("{}: please report this defect", found.words))),
    }
}

/// Fills in the result for a file of scores.
pub(super) fn verify_scores(
    model: &Model,
    named: &NamedCircuit,
    request: &VerifyRequest,
    found: &mut Verification,
    watch: &Watch<'_>,
) -> Result<(), Error> {
    if request.proof.is_some() {
        return Err(Error::setting("proof", "is for labels: scores are compared part by part"));
    }
    let (methods, difference) = compare_scores(model, named, request, watch)?;
    found.method = methods.first().copied().unwrap_or(Method::Gates);
    (found.methods, found.difference) = (methods, difference);
    found.classes = match (named.facts.class, named.classes.len()) {
        (Some(class), _) => vec![class],
        (None, 0) => vec![1],
        (None, classes) => (0..classes).collect(),
    };
    let names = model.class_names();
    found.class_names = found.classes.iter().filter_map(|&class| names.get(class).cloned()).collect();
    found.compared.push("weights");
    Ok(())
}

fn compare_scores(
    model: &Model,
    named: &NamedCircuit,
    request: &VerifyRequest,
    watch: &Watch<'_>,
) -> Result<(Vec<Method>, Option<Difference>), Error> {
    let own = named.values.as_deref().ok_or_else(|| Error::input("there are no scores to compare"))?;
    let difference = on_inputs(model, named, own, watch)?;
    if difference.is_some() {
        return Ok((vec![Method::Gates], difference));
    }
    // Use the number of each bit of the last layer in place of a part.
    let bits = model.network.hidden().last().map_or(model.network.inputs(), Vec::len);
    let numbered = (0..bits).map(|bit| Part::Circuit(NodeId::new(bit))).collect();
    let all = Values::of_last_layer(model, numbered);
    let expected = named.facts.class.map_or(all.clone(), |class| all.only(class));
    if own.sums() != expected.sums() || own.rule() != expected.rule() {
        return Err(Error::input("the weights of the scores are not those of the network's last layer"));
    }
    let mut methods = Vec::new();
    let pieces = Pieces::new(watch, own.parts().len());
    for (place, (part, bit)) in own.parts().iter().zip(expected.parts()).enumerate() {
        let Part::Circuit(bit) = bit else { continue };
        let (bit, other) = (bit.index(), |what: &str| Error::input(format!("part {}: {what}", place + 1)));
        let method = pieces.next(|watch| match (part, model.network.hidden()) {
            (Part::Feature(var), []) if var.index() == bit => Ok(Some(Method::Gates)),
            (Part::Gate(gate), [only]) if *gate == only[bit] => Ok(Some(Method::Gates)),
            (Part::Circuit(root), [before @ .., last]) => {
                let network = part_model(model, before, &last[bit])?.network;
                let circuit = named.circuit.with_root(*root)?.compacted()?;
                let options =
                    VerifyOptions { method: request.method, smooth: named.facts.smooth, ..VerifyOptions::default() };
                let verdict = query::verify(&network, 1, &circuit, &options, watch)?;
                Ok::<_, Error>(verdict.counterexample.is_none().then_some(verdict.method))
            }
            // A diagram of numbers never comes from a network.
            _ => Ok(None),
        })?;
        methods.push(method.ok_or_else(|| other("it is not what the network has there"))?);
    }
    if methods.is_empty() {
        // A constant has no parts: only the sums were compared.
        methods.push(Method::Gates);
    }
    methods.sort_by_key(|method| method.name());
    methods.dedup();
    Ok((methods, None))
}

/// An input, among some that are tried, on which file and network give different numbers.
fn on_inputs(
    model: &Model,
    named: &NamedCircuit,
    own: &Values,
    watch: &Watch<'_>,
) -> Result<Option<Difference>, Error> {
    let inputs = model.network.inputs();
    let mut random = Seeded::new(7, 0);
    let mut rows = Bits::new(inputs);
    for _ in 0..TRIED {
        rows.push(&(0..inputs).map(|_| random.below(2) == 1).collect::<Vec<_>>());
    }
    let Some(evaluator) = ValueEvaluator::new(named) else { return Ok(None) };
    let found = evaluator.rows(&rows, watch)?;
    let sums = model.network.values();
    let classes: Vec<usize> = match named.facts.class {
        Some(class) => vec![class],
        None => (0..sums.len()).collect(),
    };
    if classes.len() != own.sums().len() || classes.iter().any(|&class| class >= sums.len()) {
        return Err(Error::input(format!("there are {} scores, and the network has others", own.sums().len())));
    }
    for (row, found) in found.iter().enumerate() {
        let entity = rows.row(row);
        let mut bits = entity.clone();
        for gates in model.network.hidden() {
            bits = gates.iter().map(|gate| gate.evaluate(&bits)).collect();
        }
        for (place, &class) in classes.iter().enumerate() {
            let (constant, weights) = &sums[class];
            let true_bits = weights.iter().zip(&bits).filter(|(_, bit)| **bit);
            let value = true_bits.fold(constant.clone(), |sum, (weight, _)| sum + weight);
            if value != found[place] {
                return Ok(Some(difference(model, class, entity, &value, &found[place])));
            }
        }
    }
    Ok(None)
}

fn difference(model: &Model, class: usize, entity: Vec<bool>, network: &RBig, file: &RBig) -> Difference {
    let values: Vec<String> =
        model.features.iter().zip(&entity).map(|(name, bit)| format!("{name}={}", u8::from(*bit))).collect();
    let words =
        format!("for {} the network has the score {network} of class {class}, and the file {file}", values.join(", "));
    let entity = model.features.iter().cloned().zip(entity).collect();
    let scores = Some([network, file].map(|number| number.to_f64().value()));
    Difference { entity, class, network: *network >= RBig::ZERO, circuit: *file >= RBig::ZERO, scores, words }
}
