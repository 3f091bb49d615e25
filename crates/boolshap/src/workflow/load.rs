//! Reads circuit files, and proves them sound where that is not too hard; compiles models where that is quick.

use super::{CompileRequest, Error, ModelOutput, compile_watched, is_network_file};
use crate::circuit::NamedCircuit;
use crate::lit::{Watch, thousands};
use crate::model::{AnyModel, Model};
use crate::query::{QueryError, SolverLimits, decide_gates};
use std::io::Read;
use std::path::Path;

/// Reads a circuit file. A SAT solver decides, within limits, what structure and small tables do not; what stays
/// undecided is among the [facts](crate::circuit::Facts::undecided).
pub fn load_circuit(path: &Path) -> Result<NamedCircuit, Error> {
    let named = NamedCircuit::load(path).map_err(Error::from).and_then(decide);
    named.map_err(|error| error.in_file(path))
}

/// A circuit that is ready to be explained.
#[derive(Debug, Clone)]
pub struct ReadyCircuit {
    /// The circuit: one label, or a circuit for each of several classes.
    pub circuit: NamedCircuit,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// The network that it was just compiled from.
    pub model: Option<Box<Model>>,
}

impl From<NamedCircuit> for ReadyCircuit {
    fn from(circuit: NamedCircuit) -> Self {
        let notes = circuit.facts.notes();
        ReadyCircuit { circuit, notes, model: None }
    }
}

/// Reads a circuit file, or compiles a model file if that is quick. An estimate of the nodes decides whether it is; a
/// model that would take longer is an error. `output` selects the label or the scores of a model.
pub fn ready_circuit(path: &Path, output: ModelOutput, watch: &Watch<'_>) -> Result<ReadyCircuit, Error> {
    ready(path, output, false, watch)
}

/// The same for an explainer: a network that would take longer is explained without a circuit, if possible.
pub fn ready_to_explain(path: &Path, output: ModelOutput, watch: &Watch<'_>) -> Result<ReadyCircuit, Error> {
    ready(path, output, true, watch)
}

fn ready(path: &Path, output: ModelOutput, or_network: bool, watch: &Watch<'_>) -> Result<ReadyCircuit, Error> {
    if !is_network_file(path)? {
        return Ok(load_circuit(path)?.into());
    }
    ready_model(AnyModel::load(path)?, path, output, or_network, watch)
}

/// The same for the content of a file of this name.
pub fn ready_content(
    name: &Path,
    content: &[u8],
    output: ModelOutput,
    watch: &Watch<'_>,
) -> Result<ReadyCircuit, Error> {
    if NamedCircuit::begins(content) {
        return Ok(read_circuit(content).map_err(|error| error.in_file(name))?.into());
    }
    let text = std::str::from_utf8(content).map_err(|_| Error::input("this is neither a circuit nor a model"));
    let model = text.and_then(|text| AnyModel::from_json(text).map_err(Error::input));
    ready_model(model.map_err(|error| error.in_file(name))?, name, output, false, watch)
}

fn ready_model(
    model: AnyModel,
    path: &Path,
    output: ModelOutput,
    or_network: bool,
    watch: &Watch<'_>,
) -> Result<ReadyCircuit, Error> {
    let passing = CompileRequest { each_of_several: true, in_passing: true, or_network, ..CompileRequest::default() };
    let request = CompileRequest { model_output: output, ..passing };
    let compiled = compile_watched(&model, &request, watch).map_err(|error| error.in_file(path))?;
    let (place, circuit) = (path.display(), compiled.circuit);
    let note = match (&circuit.network, &circuit.values, &model) {
        (Some(_), _, _) => format!("{place} is a network and is explained without a circuit"),
        (None, Some(values), AnyModel::Gates(_)) => {
            let parts = thousands(values.parts().len() as u64);
            format!("{place} is a network: its scores are sums of {parts} parts")
        }
        (None, Some(_), AnyModel::Real(_)) => {
            format!("{place} is a network of real weights: its numbers were taken on all inputs")
        }
        (None, None, _) => {
            let (nodes, route) = (thousands(circuit.graph_size().0 as u64), compiled.route);
            format!("{place} is a network: compiled in passing into a circuit of {nodes} nodes by {route}")
        }
    };
    let model = match model {
        AnyModel::Gates(model) => Some(model),
        AnyModel::Real(_) => None,
    };
    Ok(ReadyCircuit { circuit, notes: vec![note], model })
}

/// The same for the content of a circuit file.
pub fn read_circuit(content: impl Read) -> Result<NamedCircuit, Error> {
    decide(NamedCircuit::read(content)?)
}

fn decide(mut named: NamedCircuit) -> Result<NamedCircuit, Error> {
    if named.facts.undecided.is_empty() {
        return Ok(named);
    }
    match decide_gates(&named.circuit, &named.facts.undecided, &SolverLimits::READING, &Watch::unlimited()) {
        Ok(gates) => named.facts.undecided = gates,
        // These claims stay undecided.
        Err(QueryError::NoSolver | QueryError::TooManyClauses { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(named)
}
