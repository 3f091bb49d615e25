//! From a network of real weights to a circuit of its label or to a table of its numbers: every input is tried.

use super::compile::Work;
use super::verify::verify_table;
use super::{Error, ModelOutput, NumberForm, NumberSource, Via};
use crate::circuit::{NamedCircuit, Rule};
use crate::diagram::Route;
use crate::lit::{Instant, thousands};
use crate::model::{Ending, RealModel, RealNetwork};
use serde_json::json;

impl Work<'_> {
    /// A network of real weights: its label, or its numbers.
    pub(super) fn of_real(&mut self, model: &RealModel) -> Result<(&'static str, NamedCircuit), Error> {
        let request = self.request;
        if !matches!(request.via, Via::Auto | Via::Direct(Route::TruthTable)) {
            let why =
                format!("'{}' is for networks of gates: of real weights all inputs are tried", request.via.name());
            return Err(Error::setting("via", why));
        }
        if request.max_clauses.is_some() {
            return Err(Error::setting("max_clauses", "is for networks of gates by way of the CNF"));
        }
        if request.free.is_some() {
            return Err(Error::setting("free", "is for networks of gates: of real weights all inputs are tried"));
        }
        let inputs = model.network.inputs();
        if let Some(asked) = request.variables.filter(|&asked| asked != inputs) {
            return Err(Error::setting("variables", format!("is {asked}, but the network has {inputs} inputs")));
        }
        let features = match &request.features {
            None => model.features.clone(),
            Some(names) => super::compile::checked_names(names, inputs)?,
        };
        let (route, mut named) = match request.model_output {
            ModelOutput::Label => self.label_of_real(model, &features)?,
            ModelOutput::Score => self.scores_of_real(model, &features)?,
        };
        named.provenance.extend(model.provenance.clone());
        named.facts.model = (features == model.features).then(|| model.digest());
        Ok((route, named))
    }

    fn label_of_real(&mut self, model: &RealModel, features: &[String]) -> Result<(&'static str, NamedCircuit), Error> {
        if model.network.classes().is_none() {
            let why = "'label' is for networks that decide: this one gives numbers";
            return Err(Error::setting("model_output", why));
        }
        let begin = Instant::now();
        let table = model.network.classes_of_all(&self.watch.stage("all inputs"))?;
        self.stages.add("table", begin, json!({"inputs": table.entries.len(), "close": table.close}));
        self.note_close(table.close);
        let (route, mut named) = self.of_table(&table.entries, features, &model.class_names())?;
        if self.request.verify {
            verify_table(&mut named, &table.entries)?;
            self.proved = Some(("exhaustive".into(), model.digest()));
        }
        Ok((route, named))
    }

    fn scores_of_real(
        &mut self,
        model: &RealModel,
        features: &[String],
    ) -> Result<(&'static str, NamedCircuit), Error> {
        let begin = Instant::now();
        let table = model.network.numbers_of_all(&self.watch.stage("all inputs"))?;
        self.stages.add("table", begin, json!({"inputs": table.entries.len(), "close": table.close}));
        self.note_close(table.close);
        let outputs = if model.network.outputs() > 1 { model.class_names() } else { Vec::new() };
        let form = NumberForm::Table(&table.entries);
        let source = NumberSource { features, outputs: &outputs, form, rule: rule_of(&model.network) };
        let made = self.of_numbers(source)?;
        // The table that was compared is the network's own.
        self.proved = self.proved_table.take().map(|(method, _)| (method.to_string(), model.digest()));
        Ok(made)
    }

    fn note_close(&mut self, close: u64) {
        if close > 0 {
            let many = thousands(close);
            self.notes.push(format!("{many} inputs were too close for floats and were decided in exact numbers"));
        }
    }
}

/// How the numbers of a network decide.
pub(super) fn rule_of(network: &RealNetwork) -> Rule {
    match network.ending() {
        Ending::AtLeastZero => Rule::Sign,
        Ending::Largest => Rule::Largest,
        Ending::AboveZero | Ending::Number => Rule::Number,
    }
}
