//! From a network to the numbers that decide: gates where they can be explained as they are, circuits elsewhere.

use super::compile::Work;
use super::outlook::check_in_passing;
use super::verify::method_names;
use super::verify_scores::prove_scores;
use super::{ClassChoice, Error, ErrorKind, Via};
use crate::circuit::{Circuit, NamedCircuit, Part, Rule, Values};
use crate::lit::{Instant, Pieces, Remedy, Var, Watch};
use crate::model::{Gate, Model, Network, Output};
use serde_json::json;

/// The largest product of a gate's weights and inputs at which its sums are followed one by one.
const MAX_SUMS: u128 = 1 << 24;
/// The most inputs at which each gate of a deeper network gets a circuit where a compilation is only a means: all
/// inputs can be tried in a moment. With more, a gate's circuit may be small and still take minutes.
const IN_PASSING_INPUTS: usize = 24;

impl Work<'_> {
    /// The scores of a network, all of them or that of the class asked for.
    pub(super) fn of_scores(&mut self, model: &Model) -> Result<(&'static str, NamedCircuit), Error> {
        let request = self.request;
        let class = score_class(request.class.as_ref(), model)?;
        let digest = model.digest();
        let renamed = self.renamed(model)?;
        let model = renamed.as_ref().unwrap_or(model);
        let begin = Instant::now();
        let mut named = self.parts_of(model)?;
        if let Some(class) = class
            && let Some(values) = &named.values
        {
            named.values = Some(values.only(class).into());
            named.classes.clear();
            named.facts.class = Some(class);
        }
        let [features, gates, circuits, _] = named.values.as_ref().map_or([0; 4], |values| values.kinds());
        self.stages.add("parts", begin, json!({"features": features, "gates": gates, "circuits": circuits}));
        named.facts.model = renamed.is_none().then_some(digest);
        if request.verify {
            let begin = Instant::now();
            let methods = prove_scores(model, &named, self.watch)?;
            self.stages.add("verify", begin, json!({"method": method_names(&methods)}));
            self.proved = Some((method_names(&methods), digest));
        }
        Ok(("parts", named))
    }

    fn parts_of(&mut self, model: &Model) -> Result<NamedCircuit, Error> {
        let network = &model.network;
        let names = if matches!(network.output(), Output::Step(_)) { Vec::new() } else { model.class_names() };
        let (mut circuits, mut parts) = (Vec::new(), Vec::new());
        match network.hidden() {
            [] => parts.extend((0..network.inputs()).map(|input| Some(Part::Feature(Var::new(input))))),
            [before @ .., last] => {
                let fits = |gate: &Gate| {
                    before.is_empty() && gate.total().saturating_mul(network.inputs() as u128) <= MAX_SUMS
                };
                let pieces = Pieces::new(self.watch, last.len());
                for gate in last {
                    match fits(gate) {
                        true => parts.push(Some(Part::Gate(gate.clone()))),
                        false => {
                            circuits.push(pieces.next(|watch| self.circuit_of(model, before, gate, watch))?);
                            parts.push(None);
                        }
                    }
                }
            }
        }
        let mut named = match circuits.is_empty() {
            true => NamedCircuit::of_values(
                Values::of_last_layer(model, parts.into_iter().flatten().collect()),
                model.features.clone(),
                names,
            )?,
            false => {
                let numbers = (0..circuits.len()).map(|number| number.to_string()).collect();
                let joined = NamedCircuit::unchecked_join(&circuits, model.features.clone(), numbers)?;
                let mut roots = joined.classes.iter().map(|(_, root)| Part::Circuit(*root));
                let parts =
                    parts.into_iter().map(|part| part.or_else(|| roots.next())).map(|part| part.expect("a root"));
                let values = Values::of_last_layer(model, parts.collect());
                joined.with_values(values, names)?
            }
        };
        named = named.with_model(model);
        Ok(named)
    }

    /// A gate of the last hidden layer as a circuit over the input.
    fn circuit_of(
        &mut self,
        model: &Model,
        before: &[Vec<Gate>],
        gate: &Gate,
        watch: &Watch<'_>,
    ) -> Result<Circuit, Error> {
        let part = part_model(model, before, gate)?;
        let request = self.request;
        if request.in_passing {
            let inputs = model.network.inputs();
            if inputs > IN_PASSING_INPUTS {
                let message =
                    format!("its scores need a circuit of {inputs} bits for each gate of the last hidden layer");
                return Err(Error::Limit { message, remedy: Some(Remedy::CompileFirst) });
            }
            check_in_passing(&part, request, watch)?;
        }
        match request.via {
            Via::Cnf => self.by_formula(&part, 1),
            via => self.directly(&part, 1, via, watch).map(|(_, circuit)| circuit),
        }
        .map_err(|error| match error.kind() {
            ErrorKind::Limit => error.at("a gate of the last hidden layer"),
            _ => error,
        })
    }
}

/// The network that says whether a gate of the last hidden layer is true.
pub(super) fn part_model(model: &Model, before: &[Vec<Gate>], gate: &Gate) -> Result<Model, Error> {
    let network = Network::new(model.network.inputs(), before.to_vec(), Output::Step(gate.clone()))?;
    Ok(Model::new(network, model.features.clone())?)
}

/// The class whose score was requested, if any.
pub(super) fn score_class(asked: Option<&ClassChoice>, model: &Model) -> Result<Option<usize>, Error> {
    let class = match asked {
        None | Some(ClassChoice::Each) => return Ok(None),
        Some(ClassChoice::Predicted) => {
            return Err(Error::setting("class", "'predicted' is for explaining, not for compiling"));
        }
        Some(one) => one.number(model.network.classes(), &model.class_names())?,
    };
    match (model.network.output(), class) {
        (Output::Step(_), 1) => Ok(None),
        (Output::Step(_), _) => {
            Err(Error::setting("class", "is for several scores: this network has one, that of class 1"))
        }
        _ => Ok(Some(class)),
    }
}

/// How the values of a file decide, in words.
pub(super) fn rule_words(rule: Rule) -> &'static str {
    match rule {
        Rule::Sign => "the label is 1 where the score is at least 0",
        Rule::Largest => "the class of the largest score is predicted, the first one in a tie",
        Rule::Number => "a number, which decides nothing",
    }
}
