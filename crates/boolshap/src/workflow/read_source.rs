//! Reads the files that circuits are made from, by their ending, and proves properties of circuits from other programs.

use super::compile::Work;
use super::{Error, Via};
use crate::circuit::{Circuit, NamedCircuit, check, lower_sdd_file, read_d4, read_nnf};
use crate::diagram::{SddFile, SddManager, Vtree};
use crate::formula::{Cnf, read_dimacs};
use crate::lit::{Instant, Remedy};
use crate::model::{AnyModel, Model, RealModel};
use crate::query;
use serde_json::json;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// The most variables a file may announce: their names alone would take gigabytes.
const MAX_VARIABLES: usize = 10_000_000;

/// What a file holds.
pub(super) enum Loaded {
    Model(Box<Model>),
    Real(Box<RealModel>),
    Formula(Cnf),
    Circuit { format: &'static str, circuit: Circuit },
}

impl Loaded {
    pub(super) fn read(path: &Path, work: &mut Work<'_>) -> Result<Self, Error> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("cnf" | "dimacs") => {
                refuse(work, path, false)?;
                let begin = Instant::now();
                let cnf = read_formula(path)?;
                check_variables(work, cnf.variables(), path)?;
                work.stages.add("cnf", begin, json!({"clauses": cnf.len()}));
                Ok(Loaded::Formula(cnf))
            }
            Some(ending @ ("sdd" | "nnf" | "ddnnf")) => {
                refuse(work, path, true)?;
                let (format, circuit) = read_circuit(path, ending, work).map_err(|error| error.in_file(path))?;
                check_variables(work, circuit.variables(), path)?;
                Ok(Loaded::Circuit { format, circuit })
            }
            _ if NamedCircuit::recognises(path).map_err(Error::file(path))? => {
                Err(Error::input("this is a circuit already").in_file(path))
            }
            _ => Ok(match AnyModel::load(path)? {
                AnyModel::Gates(model) => Loaded::Model(model),
                AnyModel::Real(model) => Loaded::Real(model),
            }),
        }
    }
}

/// Whether a file is a model, by its ending and its beginning.
pub(crate) fn is_network_file(path: &Path) -> Result<bool, Error> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("cnf" | "dimacs" | "sdd" | "nnf" | "ddnnf") => Ok(false),
        _ => Ok(!NamedCircuit::recognises(path).map_err(Error::file(path))?),
    }
}

/// All files that are read for a source: the source itself, the vtree of an SDD, or the files in a folder's subfolders.
pub fn source_files(path: &Path) -> Vec<PathBuf> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    if path.is_dir() {
        return inside(path).iter().flat_map(|layer| inside(layer)).collect();
    }
    let vtree = path.extension().filter(|extension| *extension == "sdd").map(|_| path.with_extension("vtree"));
    std::iter::once(path.to_path_buf()).chain(vtree).collect()
}

/// Refuses settings that mean nothing for a formula or a finished circuit.
fn refuse(work: &Work<'_>, path: &Path, is_circuit: bool) -> Result<(), Error> {
    let (request, place) = (work.request, path.display());
    let what = if is_circuit { "a circuit already" } else { "a formula" };
    let given = [
        ("class", request.class.is_some(), "is for networks"),
        ("verify", request.verify, "compares with a network"),
        ("max_clauses", request.max_clauses.is_some(), "is for networks by way of the CNF"),
        ("via", matches!(request.via, Via::Direct(_)), "asks for a route of networks"),
        ("via", is_circuit && request.via != Via::Auto, "is for networks and formulas"),
    ];
    match given.into_iter().find(|(_, given, _)| *given) {
        Some((setting, _, why)) => Err(Error::setting(setting, format!("{why}: {place} is {what}"))),
        None => Ok(()),
    }
}

/// Checks the number of variables: within bounds, and equal to the announced number.
fn check_variables(work: &Work<'_>, found: usize, path: &Path) -> Result<(), Error> {
    let place = path.display();
    if found > MAX_VARIABLES {
        return Err(Error::input(format!("{place}: {found} variables are more than the limit of {MAX_VARIABLES}")));
    }
    if let Some(asked) = work.request.variables.filter(|&asked| asked != found) {
        return Err(Error::setting("variables", format!("is {asked}, but {place} has {found} variables")));
    }
    match work.request.features.as_ref().map(Vec::len).filter(|&names| names != found) {
        Some(names) => {
            Err(Error::setting("features", format!("gives {names} names, but {place} has {found} variables")))
        }
        None => Ok(()),
    }
}

/// A DIMACS file.
pub(super) fn read_formula(path: &Path) -> Result<Cnf, Error> {
    let file = File::open(path).map_err(Error::file(path))?;
    let cnf = read_dimacs(BufReader::new(file), &path.display().to_string())?;
    match cnf.variables() {
        0..=MAX_VARIABLES => Ok(cnf),
        many => Err(Error::input(format!("{many} variables are more than the limit of {MAX_VARIABLES}")).in_file(path)),
    }
}

fn read_circuit(path: &Path, ending: &str, work: &mut Work<'_>) -> Result<(&'static str, Circuit), Error> {
    let open = || File::open(path).map(BufReader::new).map_err(Error::file(path));
    let (format, circuit) = match ending {
        "sdd" => return Ok(("sdd", read_sdd(path, work)?)),
        "nnf" => ("nnf", read_nnf(open()?)?),
        _ => {
            let names = work.request.features.as_ref().map(Vec::len);
            let variables = work.request.variables.or(names).ok_or_else(|| {
                let why = "must be given: a .ddnnf file does not say how many there are";
                Error::setting("variables", why).with_remedy(Remedy::Variables)
            })?;
            check_variables(work, variables, path)?;
            ("ddnnf", read_d4(open()?, variables)?)
        }
    };
    check_variables(work, circuit.variables(), path)?;
    // Every count and score relies on both properties.
    check::decomposability(&circuit).map_err(Error::input)?;
    query::check_determinism(&circuit, work.watch)?;
    Ok((format, circuit))
}

/// Rebuilding the SDD of another program proves that its primes are a partition.
fn read_sdd(path: &Path, work: &mut Work<'_>) -> Result<Circuit, Error> {
    let begin = Instant::now();
    let text = |path: &Path| std::fs::read_to_string(path).map_err(Error::file(path));
    let vtree_path = path.with_extension("vtree");
    let vtree = Vtree::parse(&text(&vtree_path)?).map_err(|error| Error::from(error).in_file(&vtree_path))?;
    let file = SddFile::parse(&text(path)?, &vtree)?;
    let mut manager = SddManager::new(vtree.clone());
    work.request.max_nodes.into_iter().for_each(|limit| manager.set_max_nodes(limit));
    manager.load(&file, work.watch)?;
    work.stages.add("sdd", begin, json!({"size": file.size(), "decision_nodes": file.decision_nodes()}));
    Ok(lower_sdd_file(&file, vtree.variables(), work.request.shape.lowering())?)
}
