//! Circuit files: read, and proved to be sound where that is not too hard.

use super::{CompileRequest, Error, ModelOrCircuit, compile_watched};
use crate::circuit::NamedCircuit;
use crate::lit::Watch;
use crate::query::{QueryError, SolverLimits, decide_gates};
use std::io::Read;
use std::path::Path;

/// Reads a circuit file. What its structure and small tables do not decide, a SAT solver does, within limits; what is left
/// is among the [facts](crate::circuit::Facts::undecided).
pub fn load_circuit(path: &Path) -> Result<NamedCircuit, Error> {
    let named = NamedCircuit::load(path).map_err(Error::from).and_then(decide);
    named.map_err(|error| error.in_file(path))
}

/// The circuit of a circuit file, or that of a model file, compiled now: each class of several.
pub fn load_or_compile(path: &Path, watch: &Watch<'_>) -> Result<NamedCircuit, Error> {
    match ModelOrCircuit::load(path)? {
        ModelOrCircuit::Circuit(circuit) => Ok(*circuit),
        ModelOrCircuit::Model(model) => {
            let request = CompileRequest { each_of_several: true, ..CompileRequest::default() };
            let compiled = compile_watched(&*model, &request, watch).map_err(|error| error.in_file(path))?;
            Ok(compiled.circuit)
        }
    }
}

/// The same of the content of a file.
pub fn read_circuit(content: impl Read) -> Result<NamedCircuit, Error> {
    decide(NamedCircuit::read(content)?)
}

fn decide(mut named: NamedCircuit) -> Result<NamedCircuit, Error> {
    if named.facts.undecided.is_empty() {
        return Ok(named);
    }
    match decide_gates(&named.circuit, &named.facts.undecided, &SolverLimits::READING, &Watch::unlimited()) {
        Ok(gates) => named.facts.undecided = gates,
        // They stay undecided.
        Err(QueryError::NoSolver | QueryError::TooManyClauses { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(named)
}
