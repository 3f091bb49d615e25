//! Converts SDDs to the items that [`lower`] takes.

use super::{Circuit, CircuitError, Lowering, SddItem, lower};
use crate::diagram::{FileNode, Sdd, SddFile, SddManager, SddNode};
use std::collections::HashMap;

/// The circuit of an SDD.
///
/// ```
/// use boolshap::circuit::{Lowering, lower_sdd};
/// use boolshap::diagram::{CompileOptions, compile_clauses};
/// use boolshap::lit::{Var, Watch};
/// let [x, y] = [0, 1].map(|i| Var::new(i).positive());
/// let compiled = compile_clauses(2, [[x, y].as_slice()], &CompileOptions::default(), &Watch::unlimited())?;
/// let circuit = lower_sdd(&compiled.manager, compiled.root, Lowering::Decisions)?;
/// assert_eq!(circuit.model_count().to_string(), "3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lower_sdd(manager: &SddManager, root: Sdd, how: Lowering) -> Result<Circuit, CircuitError> {
    let order = manager.topological_order(&[root]);
    let place: HashMap<Sdd, usize> = order.iter().enumerate().map(|(place, &sdd)| (sdd, place)).collect();
    let items = order.iter().map(|&sdd| match manager.node(sdd) {
        SddNode::Constant(value) => SddItem::Constant(value),
        SddNode::Literal(lit) => SddItem::Literal(lit),
        SddNode::Decision { elements, .. } => {
            SddItem::Elements(elements.iter().map(|element| (place[&element.prime], place[&element.sub])).collect())
        }
    });
    lower(manager.variables(), items, how)
}

/// The circuit of an SDD file, its elements in the file's own order.
pub fn lower_sdd_file(file: &SddFile, variables: usize, how: Lowering) -> Result<Circuit, CircuitError> {
    let items = file.nodes().iter().take(file.root() + 1).map(|node| match node {
        FileNode::Constant(value) => SddItem::Constant(*value),
        FileNode::Literal(lit) => SddItem::Literal(*lit),
        FileNode::Decision { elements, .. } => SddItem::Elements(elements.clone()),
    });
    lower(variables, items, how)
}
