//! Circuits in which the variables of each group are tested one after the other.
//!
//! *Problem.* A player of several bits is read only once on every path if its bits are neighbours in the order of an
//! ordered diagram. *Idea.* Groups are sorted by the mean position of their variables, and variables within a group
//! keep their order; the diagram is brought into this order by exchanging neighbours (`diagram/reorder`). A circuit
//! with gates is first compiled to an ordered diagram, gate by gate, in the order in which it mentions variables.
//! Groups may be nested. *Cost.* That of the exchanges; if the groups are already together, nothing is done.

use super::conjoin::{conjoin_in, order};
use super::{Circuit, CircuitError, Node, lower_obdd};
use crate::diagram::{DiagramError, Obdd, reorder};
use crate::formula::Cnf;
use crate::lit::{Var, Watch};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A circuit in which the variables of each group are neighbours.
pub(crate) struct Together {
    /// The circuit, an ordered diagram.
    pub(crate) circuit: Arc<Circuit>,
    /// If it was reordered or converted to an ordered diagram, its number of nodes before and after.
    pub(crate) reordered: Option<[usize; 2]>,
}

/// The conjunction of a circuit and a formula as an ordered diagram in which the variables of each group are
/// neighbours. Each of the `groupings` gives every variable the number of its group; the outermost comes first, and
/// each refines the one before.
pub(crate) fn together(
    circuit: &Arc<Circuit>,
    formula: &Cnf,
    groupings: &[Vec<usize>],
    max_nodes: usize,
    watch: &Watch<'_>,
) -> Result<Together, CircuitError> {
    let mentioned = circuit.mentioned();
    let joined = |circuit: &Arc<Circuit>, order: &[Var]| -> Result<Arc<Circuit>, CircuitError> {
        let [joined, _] = conjoin_in(circuit, formula, order, max_nodes, watch)?;
        Ok(Arc::new(joined))
    };
    let Some(diagram) = circuit.as_diagram() else {
        let groups: Vec<Vec<Var>> = members(groupings.first().map_or(&[], Vec::as_slice));
        let order = grouped(&order(circuit, &groups), &mentioned, groupings);
        let ordered = joined(circuit, &order)?;
        let reordered = Some([circuit, &ordered].map(|circuit| circuit.counts().nodes));
        return Ok(Together { circuit: ordered, reordered });
    };
    let order = grouped(diagram.order(), &mentioned, groupings);
    let (mut circuit, mut reordered) = (circuit.clone(), None);
    if let Some(moved) = diagram_together(&diagram, groupings, max_nodes, watch)? {
        reordered = Some([diagram.len(), moved.len()]);
        circuit = Arc::new(lower_obdd(&moved)?);
    } else if !keeps(diagram.order(), &mentioned, groupings) {
        // A redundant test separates a group in the circuit, but not in the reduced diagram.
        circuit = Arc::new(lower_obdd(&diagram)?);
    }
    let circuit = if formula.is_empty() { circuit } else { joined(&circuit, &order)? };
    Ok(Together { circuit, reordered })
}

/// A diagram with the variables of each group side by side; `None` if they already are.
pub(crate) fn diagram_together(
    diagram: &Obdd,
    groupings: &[Vec<usize>],
    max_nodes: usize,
    watch: &Watch<'_>,
) -> Result<Option<Obdd>, DiagramError> {
    let mut mentioned: Vec<Var> = diagram.levels().filter(|(_, nodes)| !nodes.is_empty()).map(|(var, _)| var).collect();
    mentioned.sort_unstable();
    if keeps(diagram.order(), &mentioned, groupings) {
        return Ok(None);
    }
    reorder(diagram, &grouped(diagram.order(), &mentioned, groupings), max_nodes, watch).map(Some)
}

/// The members of each group.
fn members(grouping: &[usize]) -> Vec<Vec<Var>> {
    let mut members: BTreeMap<usize, Vec<Var>> = BTreeMap::new();
    grouping.iter().enumerate().for_each(|(var, &group)| members.entry(group).or_default().push(Var::new(var)));
    members.into_values().collect()
}

/// Whether the mentioned variables of each group are consecutive in the order.
fn keeps(order: &[Var], mentioned: &[Var], groupings: &[Vec<usize>]) -> bool {
    let asked: Vec<Var> = order.iter().copied().filter(|var| mentioned.binary_search(var).is_ok()).collect();
    groupings.iter().all(|grouping| {
        let mut left = BTreeSet::new();
        asked.windows(2).all(|pair| {
            let [one, next] = [pair[0], pair[1]].map(|var| grouping[var.index()]);
            one == next || left.insert(one) && !left.contains(&next)
        })
    })
}

/// An order with the variables of each group together, and each group at the mean position of its mentioned variables.
fn grouped(order: &[Var], mentioned: &[Var], groupings: &[Vec<usize>]) -> Vec<Var> {
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, var)| place[var.index()] = at);
    // For each group, the sum and number of its variables' positions. If no variable of a group is mentioned, all of
    // them count.
    let means: Vec<HashMap<usize, (usize, usize)>> = groupings
        .iter()
        .map(|grouping| {
            let mut sums: HashMap<usize, (usize, usize)> = HashMap::new();
            let mut add = |var: &Var| {
                let sum = sums.entry(grouping[var.index()]).or_default();
                *sum = (sum.0 + place[var.index()], sum.1 + 1);
            };
            mentioned.iter().for_each(&mut add);
            let rest: Vec<&Var> = order.iter().filter(|var| !sums.contains_key(&grouping[var.index()])).collect();
            for var in rest {
                let sum = sums.entry(grouping[var.index()]).or_default();
                *sum = (sum.0 + place[var.index()], sum.1 + 1);
            }
            sums
        })
        .collect();
    let mut sorted = order.to_vec();
    let rank = |grouping: usize, var: Var| {
        let group = groupings[grouping][var.index()];
        let (sum, count) = means[grouping][&group];
        (sum, count, group)
    };
    sorted.sort_by(|&one, &other| {
        let by_group = (0..groupings.len()).map(|grouping| {
            let (one, other) = (rank(grouping, one), rank(grouping, other));
            // The smaller mean comes first, compared as fractions; ties are broken by group number.
            (one.0 * other.1).cmp(&(other.0 * one.1)).then(one.2.cmp(&other.2))
        });
        let first = by_group.into_iter().find(|ordering| ordering.is_ne());
        first.unwrap_or_else(|| place[one.index()].cmp(&place[other.index()]))
    });
    sorted
}

impl Circuit {
    /// The reduced ordered diagram over all variables, if the circuit is an ordered diagram.
    pub(crate) fn as_diagram(&self) -> Option<Obdd> {
        let order = self.asked_order()?;
        let mut level_of = vec![0; order.len()];
        order.iter().enumerate().for_each(|(level, var)| level_of[var.index()] = level);
        let mut by_level: Vec<Vec<_>> = vec![Vec::new(); order.len()];
        let mut number = vec![0u32; self.stored_nodes()];
        for id in self.reachable() {
            match self.node(id) {
                Node::Constant(value) => number[id.index()] = u32::from(value),
                Node::Literal(lit) => by_level[level_of[lit.var().index()]].push(id),
                Node::Decision { var, .. } => by_level[level_of[var.index()]].push(id),
                Node::And(_) | Node::Or(_) => return None,
            }
        }
        let mut next = 2u32;
        let mut levels = Vec::with_capacity(order.len());
        for ids in by_level.iter().rev() {
            let mut known: HashMap<[u32; 2], u32> = HashMap::with_capacity(ids.len());
            let mut level = Vec::with_capacity(ids.len());
            for id in ids {
                let pair = match self.node(*id) {
                    Node::Literal(lit) => [lit.is_negative(), !lit.is_negative()].map(u32::from),
                    Node::Decision { lo, hi, .. } => [lo, hi].map(|child| number[child.index()]),
                    _ => unreachable!("only what tests a variable is on a level"),
                };
                number[id.index()] = match pair[0] == pair[1] {
                    true => pair[0],
                    false => *known.entry(pair).or_insert_with(|| {
                        level.push(pair);
                        next += 1;
                        next - 1
                    }),
                };
            }
            levels.push(level);
        }
        Some(Obdd::from_levels(order, levels, number[self.root().index()]))
    }

    /// An order of all variables in which every decision's variable comes before those of its children. `None` if there
    /// is no such order, or if there are gates. If several variables could come next, the lowest number does.
    fn asked_order(&self) -> Option<Vec<Var>> {
        let mut edges: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut last = None;
        for id in self.reachable() {
            let (var, lo, hi) = match self.node(id) {
                Node::Decision { var, lo, hi } => (var, lo, hi),
                Node::And(_) | Node::Or(_) => return None,
                _ => continue,
            };
            for child in [lo, hi] {
                let next = match self.node(child) {
                    Node::Decision { var, .. } => var,
                    Node::Literal(lit) => lit.var(),
                    _ => continue,
                };
                let edge = (var.index(), next.index());
                if last != Some(edge) {
                    edges.insert(edge);
                    last = Some(edge);
                }
            }
        }
        let mut before = vec![0; self.variables()];
        edges.iter().for_each(|&(_, second)| before[second] += 1);
        let mut free: BTreeSet<usize> = (0..self.variables()).filter(|&var| before[var] == 0).collect();
        let mut order = Vec::with_capacity(self.variables());
        while let Some(var) = free.pop_first() {
            order.push(Var::new(var));
            for &(_, next) in edges.range((var, 0)..(var + 1, 0)) {
                before[next] -= 1;
                if before[next] == 0 {
                    free.insert(next);
                }
            }
        }
        (order.len() == self.variables()).then_some(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::CircuitBuilder;
    use crate::circuit::samples::random_circuit;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]
        #[test]
        fn keeps_the_function_and_puts_groups_together(
            (circuit, table) in random_circuit(7),
            outer in proptest::collection::vec(0..3usize, 7),
            inner in proptest::collection::vec(0..2usize, 7),
        ) {
            let n = circuit.variables();
            let inner: Vec<usize> = (0..n).map(|v| 2 * outer[v] + inner[v]).collect();
            let groupings = [outer[..n].to_vec(), inner];
            let circuit = Arc::new(circuit);
            let found = together(&circuit, &Cnf::new(n), &groupings, usize::MAX, &Watch::unlimited()).unwrap();
            prop_assert_eq!(found.circuit.truth_table().unwrap(), table);
            let diagram = found.circuit.as_diagram().unwrap();
            prop_assert!(keeps(diagram.order(), &found.circuit.mentioned(), &groupings));
            // Variables that are already together stay as they are.
            let again = together(&found.circuit, &Cnf::new(n), &groupings, usize::MAX, &Watch::unlimited()).unwrap();
            prop_assert!(Arc::ptr_eq(&again.circuit, &found.circuit));
        }
    }

    #[test]
    fn a_variable_that_is_asked_in_vain_keeps_nothing_apart() {
        // The circuit tests x1, but is "x2 and not x0" for both values: 0 and 1 are a group, and 2 is tested between
        // them.
        let mut builder = CircuitBuilder::new(3).unwrap();
        let constants = [false, true].map(|value| builder.constant(value).unwrap());
        let literal = builder.literal(Var::new(0).negative()).unwrap();
        let one = builder.decision(Var::new(2), constants[0], literal).unwrap();
        let same = builder.decision(Var::new(0), constants[1], constants[0]).unwrap();
        let other = builder.decision(Var::new(2), constants[0], same).unwrap();
        let root = builder.decision(Var::new(1), one, other).unwrap();
        let circuit = Arc::new(builder.finish(root).unwrap());
        let groupings = [vec![0, 0, 1]];
        let found = together(&circuit, &Cnf::new(3), &groupings, usize::MAX, &Watch::unlimited()).unwrap();
        assert_eq!(found.circuit.truth_table().unwrap(), circuit.truth_table().unwrap());
        let order = found.circuit.as_diagram().unwrap().order().to_vec();
        assert!(keeps(&order, &found.circuit.mentioned(), &groupings));
    }

    #[test]
    fn a_group_goes_to_the_mean_of_its_places() {
        let vars = |numbers: &[usize]| numbers.iter().map(|&v| Var::new(v)).collect::<Vec<_>>();
        let grouping = vec![0, 1, 2, 0, 3, 3];
        // Nothing mentions variable 5, which goes along with its group.
        let order = grouped(&vars(&[5, 0, 1, 2, 3, 4]), &vars(&[0, 1, 2, 3, 4]), std::slice::from_ref(&grouping));
        assert_eq!(order, vars(&[1, 0, 3, 2, 5, 4]));
        assert!(!keeps(&vars(&[0, 1, 3, 2, 4, 5]), &vars(&[0, 1, 2, 3]), std::slice::from_ref(&grouping)));
        assert!(keeps(&vars(&[0, 1, 3, 2, 4, 5]), &vars(&[0, 2, 3]), &[grouping]));
    }
}
