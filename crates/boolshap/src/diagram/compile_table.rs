//! The truth-table route: the label on all inputs, then the reduced diagram of the table.
//!
//! The table is filled by [`AllInputs`], 512 assignments at a time. Read from the deepest level up, it already is an
//! unreduced diagram: word `i` is the function of the last six variables below path `i`, words `2 i` and `2 i + 1` are
//! the children of a node seven levels from the end, and so on. All that is left is to number the distinct words, then
//! the distinct pairs of their numbers, level by level: no apply, no cache, no garbage.
//!
//! Cost: 2^n label evaluations and 2^(n-5) keys to compare, for every network. Memory: three times the table of 2^(n-3)
//! bytes while words are compared; 30 inputs take less than a gigabyte besides the diagram.

use super::order::check_order;
use super::reduce::Reducer;
use super::{DiagramError, Obdd};
use crate::lit::{Progress, Var, Watch};
use crate::model::{AllInputs, Label};

/// The most inputs of a truth table: 2^32 entries take half a gigabyte.
pub const MAX_TABLE_INPUTS: usize = 32;

/// The shares of the total time at which the table is filled, and at which all functions of six variables are numbered.
const FILLING: f64 = 0.3;
const HALVING: f64 = 0.7;

/// Compiles a label to a reduced diagram, with its inputs tested in the given order, root first.
///
/// ```
/// use boolshap::diagram::compile_table;
/// use boolshap::lit::{Var, Watch};
/// use boolshap::model::{Gate, Label, Network, Output};
/// let majority = Network::new(3, vec![], Output::Step(Gate::new(vec![1, 1, 1], 2).unwrap())).unwrap();
/// let label = Label::of_class(&majority, 1).unwrap();
/// let order = [0, 1, 2].map(Var::new);
/// let diagram = compile_table(&label, &order, usize::MAX, &Watch::unlimited()).unwrap();
/// assert_eq!(diagram.len(), 4);
/// assert!(diagram.evaluate(&[true, false, true]));
/// ```
pub fn compile_table(label: &Label, order: &[Var], max_nodes: usize, watch: &Watch<'_>) -> Result<Obdd, DiagramError> {
    check_order(order, label.inputs())?;
    let mut used = vec![false; label.inputs()];
    label.used_inputs().into_iter().for_each(|input| used[input] = true);
    // In the table, unused inputs go on top, where they cost nothing.
    let (below, above): (Vec<Var>, Vec<Var>) = order.iter().partition(|var| used[var.index()]);
    let variables = below.len();
    if variables > MAX_TABLE_INPUTS {
        return Err(DiagramError::TooManyInputs { route: "truth-table", inputs: variables, limit: MAX_TABLE_INPUTS });
    }
    let sorted: Vec<Var> = above.into_iter().chain(below).collect();
    let filling = |progress: Progress| {
        let share = progress.share().unwrap_or(0.0);
        watch.report(share * FILLING, Some(1.0), "");
    };
    let words = AllInputs::below(label, &sorted, variables).table(&watch.progress(&filling))?;
    watch.check()?;
    reduce(words, variables, order, |var| used[var.index()], max_nodes, watch)
}

/// The reduced diagram of a function given by its values: bit `i` is the value on the input in which variable `v` is
/// bit `v` of `i`. Variables that the function does not depend on have no node.
///
/// ```
/// use boolshap::diagram::reduce_table;
/// use boolshap::lit::Watch;
/// let exclusive_or = reduce_table(2, vec![0b0110], usize::MAX, &Watch::unlimited())?;
/// assert_eq!(exclusive_or.len(), 3);
/// assert!(exclusive_or.evaluate(&[true, false]) && !exclusive_or.evaluate(&[true, true]));
/// # Ok::<(), boolshap::diagram::DiagramError>(())
/// ```
pub fn reduce_table(
    variables: usize,
    words: Vec<u64>,
    max_nodes: usize,
    watch: &Watch<'_>,
) -> Result<Obdd, DiagramError> {
    if variables > MAX_TABLE_INPUTS {
        return Err(DiagramError::TooManyInputs { route: "truth-table", inputs: variables, limit: MAX_TABLE_INPUTS });
    }
    if words.len() != (1usize << variables).div_ceil(64) {
        return Err(DiagramError::TableLength { variables, words: words.len() });
    }
    // The lowest bit of an index is the deepest variable.
    let order: Vec<Var> = (0..variables).rev().map(Var::new).collect();
    reduce(words, variables, &order, |_| true, max_nodes, watch)
}

fn reduce(
    words: Vec<u64>,
    variables: usize,
    order: &[Var],
    used: impl Fn(Var) -> bool,
    max_nodes: usize,
    watch: &Watch<'_>,
) -> Result<Obdd, DiagramError> {
    let mut reducer = Reducer::new(variables, max_nodes);
    let mut row = reducer.words(&words, variables.min(6))?;
    drop(words);
    let functions = row.len() as f64;
    while row.len() > 1 {
        // Each level has half as many functions as the one below.
        watch.share(HALVING + (1.0 - HALVING) * (1.0 - row.len() as f64 / functions))?;
        reducer.halve(&mut row)?;
    }
    Ok(reducer.finish(order, used, row.into_nodes()[0]))
}
