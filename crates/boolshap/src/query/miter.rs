//! Compares the circuit with the network by a SAT solver: the clauses for "they differ" must be contradictory.
//!
//! If a proof is requested, the clauses are written beside it, the solver logs its steps (LRAT), and [`check_lrat`]
//! verifies them. One then has to trust only the clauses and that small checker, not the solver.

use super::clauses::Clauses;
use super::verify::{Comparison, Counterexample};
use super::{QueryError, check_lrat};
use crate::circuit::Circuit;
use crate::lit::Watch;
use crate::model::Network;
use cadical_sys::{CaDiCal, Status};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The number of conflicts between two checks of the watch.
const SLICE: i32 = 200;

/// An entity on which circuit and network differ, if any exists; otherwise the given file, if any, holds a checked
/// proof.
pub(super) fn compare(question: &Comparison<'_>) -> Result<Option<Counterexample>, QueryError> {
    let &Comparison { network, class, circuit, options, watch } = question;
    let clauses = differ(network, class, circuit, options.max_clauses, watch)?;
    let mut solver = CaDiCal::new();
    match &options.proof {
        None => {
            for clause in &clauses {
                clause.iter().for_each(|&literal| solver.add(literal));
                solver.add(0);
            }
        }
        Some(path) => {
            let wrong = |problem: String| QueryError::ProofFile { path: path.clone(), problem };
            let formula = formula_beside(path);
            write_formula(&clauses, &formula).map_err(|error| wrong(error.to_string()))?;
            let names = [path, &formula].map(|path| path.to_str().ok_or_else(|| wrong("the name is not UTF-8".into())));
            let [proof, formula] = names;
            solver.set("lrat", 1);
            solver.set("binary", 0);
            if !solver.trace_proof2(proof?) {
                return Err(wrong("the proof cannot be written".into()));
            }
            // Only clauses read from a file have the numbers 1, 2, 3, ... in the proof.
            solver.read_dimacs2(formula?, &mut 0, 2).map_err(wrong)?;
        }
    }
    let mut conflicts = 0;
    loop {
        watch.count(conflicts, "conflicts")?;
        solver.limit("conflicts", SLICE);
        match solver.solve() {
            Status::SATISFIABLE => {
                let entity: Vec<bool> = (1..=network.inputs() as i32).map(|var| solver.val(var) > 0).collect();
                let network = network.classify(&entity) == class;
                let circuit = circuit.evaluate(&entity)?;
                return Ok(Some(Counterexample { entity, network, circuit }));
            }
            Status::UNSATISFIABLE => break,
            Status::UNKNOWN => {
                conflicts += SLICE as u64;
                if conflicts > options.max_conflicts {
                    return Err(QueryError::TooManyConflicts { conflicts: options.max_conflicts });
                }
            }
        }
    }
    if let Some(path) = &options.proof {
        solver.close_proof_trace(false);
        check_file(&clauses, path, watch)?;
    }
    Ok(None)
}

/// The file of the clauses that a proof refutes: the proof's name with `.cnf` appended.
fn formula_beside(proof: &Path) -> PathBuf {
    let mut name = proof.as_os_str().to_owned();
    name.push(".cnf");
    name.into()
}

pub(super) fn write_formula(clauses: &[Vec<i32>], path: &Path) -> std::io::Result<()> {
    let variables = clauses.iter().flatten().map(|literal| literal.unsigned_abs()).max().unwrap_or(0);
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "p cnf {variables} {}", clauses.len())?;
    for clause in clauses {
        clause.iter().try_for_each(|literal| write!(file, "{literal} "))?;
        writeln!(file, "0")?;
    }
    file.flush()
}

/// "The label of the network is not that of the circuit."
fn differ(
    network: &Network,
    class: usize,
    circuit: &Circuit,
    max_clauses: usize,
    watch: &Watch<'_>,
) -> Result<Vec<Vec<i32>>, QueryError> {
    let mut clauses = Clauses::new(network.inputs(), max_clauses, watch);
    let label = clauses.network(network, class)?;
    let root = clauses.circuit(circuit)?[&circuit.root()];
    clauses.add(&[label, root]);
    clauses.add(&[-label, -root]);
    Ok(clauses.list)
}

fn check_file(clauses: &[Vec<i32>], path: &Path, watch: &Watch<'_>) -> Result<(), QueryError> {
    let file =
        File::open(path).map_err(|error| QueryError::ProofFile { path: path.into(), problem: error.to_string() })?;
    let bytes = file.metadata().map_or(0, |file| file.len());
    check_lrat(
        clauses,
        BufReader::new(Watched { file, read: 0, bytes, watch: watch.stage("checking the proof") }),
        watch,
    )
}

/// A file that reports how much of it was read; checking a line takes time about proportional to its length.
struct Watched<'w> {
    file: File,
    read: u64,
    bytes: u64,
    watch: Watch<'w>,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        // What was read before has been checked; what is read now has not been checked yet.
        self.watch.report(self.read as f64, Some(self.bytes as f64), "");
        let read = self.file.read(buffer)?;
        self.read = (self.read + read as u64).min(self.bytes.saturating_sub(1));
        Ok(read)
    }
}

#[cfg(test)]
pub(super) fn clauses_of(network: &Network, class: usize, circuit: &Circuit) -> Vec<Vec<i32>> {
    differ(network, class, circuit, usize::MAX, &Watch::unlimited()).unwrap()
}
