//! Steps (a) and (b) of the paper alone: a network as a formula, and a formula as an SDD.

use super::compile::{MAX_CLAUSES, chosen_class, compile_cnf};
use super::read_source::read_formula;
use super::stages::Stages;
use super::{ClassChoice, CompileRequest, Error, Via};
use crate::circuit::NamedCircuit;
use crate::diagram::Compiled;
use crate::formula::{Cnf, encode_network, simplify, tree_width_bound};
use crate::lit::{Instant, Watch};
use crate::model::Model;
use serde_json::json;
use std::path::Path;

/// A formula over a network's inputs.
#[derive(Debug, Clone)]
pub struct Encoding {
    /// The formula, prime and irredundant.
    pub cnf: Cnf,
    /// A bound on its tree-width, which says how hard it may be to compile.
    pub tree_width: usize,
}

/// Encodes a model file as a formula, or makes a `.cnf` file prime and irredundant.
pub fn encode(
    path: &Path,
    class: Option<&ClassChoice>,
    max_clauses: Option<usize>,
    watch: &Watch<'_>,
) -> Result<Encoding, Error> {
    let cnf = formula(path, class, max_clauses, true, watch)?;
    let tree_width = tree_width_bound(&cnf, watch)?;
    Ok(Encoding { cnf, tree_width })
}

fn formula(
    path: &Path,
    class: Option<&ClassChoice>,
    max_clauses: Option<usize>,
    simplified: bool,
    watch: &Watch<'_>,
) -> Result<Cnf, Error> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("cnf" | "dimacs") if class.is_some() => {
            Err(Error::setting("class", format!("is for networks: {} is a formula", path.display())))
        }
        Some("cnf" | "dimacs") => {
            let cnf = read_formula(path)?;
            Ok(if simplified { simplify(&cnf, watch)? } else { cnf })
        }
        Some("sdd" | "nnf" | "ddnnf") => {
            Err(Error::input("this is a circuit, not a network or a formula").in_file(path))
        }
        _ if NamedCircuit::recognises(path).map_err(Error::file(path))? => {
            Err(Error::input("this is a circuit, not a network or a formula").in_file(path))
        }
        _ => {
            let model = Model::load(path)?;
            let class = one_class(class, &model)?;
            Ok(encode_network(&model.network, class, max_clauses.unwrap_or(MAX_CLAUSES), watch)?)
        }
    }
}

/// An SDD with its vtree, as texts in libsdd's formats.
#[derive(Debug, Clone)]
pub struct SddFiles {
    /// The SDD.
    pub sdd: String,
    /// Its vtree.
    pub vtree: String,
    /// Its decision nodes.
    pub decision_nodes: usize,
    /// The elements of all of them.
    pub size: usize,
    /// What each stage did.
    pub stages: Stages,
}

/// Compiles a network or a formula into an SDD; settings of circuits are refused.
pub fn compile_sdd(path: &Path, request: &CompileRequest, watch: &Watch<'_>) -> Result<SddFiles, Error> {
    let refused = [
        ("smooth", request.shape.smooth),
        ("fan_in_2", request.shape.fan_in_2),
        ("features", request.features.is_some()),
        ("variables", request.variables.is_some()),
        ("verify", request.verify),
        ("via", matches!(request.via, Via::Direct(_))),
    ];
    if let Some((setting, _)) = refused.into_iter().find(|(_, given)| *given) {
        return Err(Error::setting(setting, "is for circuits: an SDD file has no place for it"));
    }
    if request.class == Some(ClassChoice::Each) {
        return Err(Error::setting("class", "must name one class: an SDD file has place for one"));
    }
    let mut stages = Stages::default();
    let begin = Instant::now();
    let cnf = formula(path, request.class.as_ref(), request.max_clauses, false, watch)?;
    stages.add("cnf", begin, json!({"clauses": cnf.len(), "literals": cnf.literals()}));
    let begin = Instant::now();
    let Compiled { manager, root } = compile_cnf(&cnf, request.max_nodes, watch)?;
    let (size, decision_nodes) = (manager.size(root), manager.decision_nodes(root));
    stages.add("sdd", begin, json!({"size": size, "decision_nodes": decision_nodes}));
    let vtree = manager.vtree().to_file_text()?;
    let sdd = manager.to_file(root).to_file_text(manager.vtree());
    Ok(SddFiles { sdd, vtree, decision_nodes, size, stages })
}

/// The chosen class of a network, where exactly one is needed.
fn one_class(asked: Option<&ClassChoice>, model: &Model) -> Result<usize, Error> {
    let classes = model.network.classes();
    chosen_class(asked, classes, &model.class_names())?
        .ok_or_else(|| Error::setting("class", format!("must name one class here: the network has {classes}")))
}
