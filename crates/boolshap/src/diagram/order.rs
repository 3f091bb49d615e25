//! Variable orders worth trying, found before anything is compiled.
//!
//! No order is best for all networks, and finding the best is hard, so a few cheap ones are offered and the compilers
//! keep the smallest diagram:
//! - the natural order, in which neighbours in an image or a table stay together;
//! - by influence, ascending and descending: a variable's share in the label, where each gate passes its influence to
//!   its inputs in proportion to their weights;
//! - by shared gates, if gates have few inputs: a reversed breadth-first walk from a peripheral variable, so that
//!   variables of a common gate are close together. Cuthill and McKee, "Reducing the bandwidth of sparse symmetric
//!   matrices", ACM National Conference, 1969 (doi 10.1145/800195.805928);
//! - by similar columns: each variable is followed by the one whose first-layer weights are most nearly proportional to
//!   its own, with either sign, so that the partial sums have only a few more values after both than after one.
//!
//! Cost: linear in the number of weights, except for the last, which takes the sum of the squares of the gates' input
//! counts and is skipped if that is above [`MOST_PAIRS`].

use super::DiagramError;
use crate::lit::Var;
use crate::model::Label;

/// The most pairs of inputs that the order by similar columns may compare: about a second's work.
const MOST_PAIRS: usize = 500_000_000;

/// A few orders of the label's variables, root first: the natural one, then others, all different.
///
/// ```
/// use boolshap::diagram::candidate_orders;
/// use boolshap::lit::Var;
/// use boolshap::model::{Gate, Label, Network, Output};
/// let gate = Gate::new(vec![1, 3, 2], 3).unwrap();
/// let network = Network::new(3, vec![], Output::Step(gate)).unwrap();
/// let orders = candidate_orders(&Label::of_class(&network, 1).unwrap());
/// assert_eq!(orders[0], [0, 1, 2].map(Var::new));
/// assert!(orders.contains(&[1, 2, 0].map(Var::new).to_vec()));
/// ```
pub fn candidate_orders(label: &Label) -> Vec<Vec<Var>> {
    let first = FirstLayer::of(label);
    let variables = label.inputs();
    let mut falling: Vec<usize> = (0..variables).collect();
    falling.sort_by(|&a, &b| first.influence[b].total_cmp(&first.influence[a]));
    let mut rising: Vec<usize> = (0..variables).collect();
    rising.sort_by(|&a, &b| first.influence[a].total_cmp(&first.influence[b]));
    let found =
        [Some((0..variables).collect()), Some(falling), Some(rising), first.by_shared_gates(), first.by_columns()];
    let mut orders: Vec<Vec<Var>> = Vec::new();
    for order in found.into_iter().flatten() {
        let order = order.into_iter().map(Var::new).collect();
        if !orders.contains(&order) {
            orders.push(order);
        }
    }
    orders
}

/// Checks that an order contains each variable exactly once.
pub(super) fn check_order(order: &[Var], variables: usize) -> Result<(), DiagramError> {
    let mut seen = vec![false; variables];
    for var in order {
        match seen.get_mut(var.index()) {
            Some(seen) if !*seen => *seen = true,
            _ => return Err(DiagramError::NotAPermutation { variables, variable: var.index() + 1 }),
        }
    }
    match seen.iter().position(|seen| !seen) {
        Some(missing) => Err(DiagramError::NotAPermutation { variables, variable: missing + 1 }),
        None => Ok(()),
    }
}

/// The inputs of the first layer's gates, and how much each matters.
struct FirstLayer {
    /// Each gate's inputs.
    gates: Vec<Vec<usize>>,
    /// Each variable's gates, with its signed share in them, in proportion to the gate's influence.
    columns: Vec<Vec<(usize, f64)>>,
    influence: Vec<f64>,
}

impl FirstLayer {
    fn of(label: &Label) -> Self {
        let (first, later) = label.layers().split_first().expect("there is a layer");
        let widths = label.layers().last().map_or(0, Vec::len);
        let mut influence = vec![1.0; widths];
        for (gates, before) in later.iter().zip(label.layers()).rev() {
            let mut handed = vec![0.0; before.len()];
            for (gate, influence) in gates.iter().zip(&influence) {
                for (&weight, handed) in gate.weights().iter().zip(&mut handed) {
                    *handed += influence * weight.unsigned_abs() as f64 / gate.total().max(1) as f64;
                }
            }
            influence = handed;
        }
        let mut columns = vec![Vec::new(); label.inputs()];
        let mut gates = Vec::with_capacity(first.len());
        for (index, gate) in first.iter().enumerate() {
            let looks_at: Vec<usize> = (0..label.inputs()).filter(|&var| gate.weights()[var] != 0).collect();
            for &var in &looks_at {
                columns[var].push((index, influence[index] * gate.weights()[var] as f64 / gate.total() as f64));
            }
            gates.push(looks_at);
        }
        let sum = |column: &Vec<(usize, f64)>| column.iter().map(|(_, share)| share.abs()).sum();
        FirstLayer { gates, influence: columns.iter().map(sum).collect(), columns }
    }

    /// Places variables of common gates close together; `None` if every gate has all variables.
    fn by_shared_gates(&self) -> Option<Vec<usize>> {
        let variables = self.columns.len();
        if self.gates.iter().all(|gate| gate.len() == variables) {
            return None;
        }
        let degree = |column: &Vec<(usize, f64)>| column.iter().map(|&(gate, _)| self.gates[gate].len()).sum();
        let degree: Vec<usize> = self.columns.iter().map(degree).collect();
        let mut by_degree: Vec<usize> = (0..variables).collect();
        by_degree.sort_by_key(|&var| degree[var]);
        let mut walker = Walker::new(self, &degree);
        let mut order = Vec::with_capacity(variables);
        let mut done = vec![false; variables];
        for &var in &by_degree {
            if !done[var] {
                // Go to the farthest variable twice: this gets nearly from one end to the other.
                let far = *walker.walk(var).last().expect("the walk begins somewhere");
                let end = *walker.walk(far).last().expect("the walk begins somewhere");
                let walk = walker.walk(end);
                walk.iter().for_each(|&var| done[var] = true);
                order.extend(walk);
            }
        }
        order.reverse();
        Some(order)
    }

    /// A chain of nearest neighbours, starting at the most influential variable; `None` if it would take too long.
    fn by_columns(&self) -> Option<Vec<usize>> {
        let pairs =
            self.gates.iter().try_fold(0usize, |sum, gate| sum.checked_add(gate.len().checked_mul(gate.len())?));
        if pairs.is_none_or(|pairs| pairs > MOST_PAIRS) {
            return None;
        }
        let variables = self.columns.len();
        let norm = |column: &Vec<(usize, f64)>| column.iter().map(|(_, share)| share * share).sum::<f64>().sqrt();
        let norms: Vec<f64> = self.columns.iter().map(norm).collect();
        let mut share = vec![vec![]; self.gates.len()];
        for column in &self.columns {
            column.iter().for_each(|&(gate, part)| share[gate].push(part));
        }
        let mut left: Vec<bool> = norms.iter().map(|&norm| norm > 0.0).collect();
        let mut order = Vec::with_capacity(variables);
        let mut by_influence: Vec<usize> = (0..variables).filter(|&var| left[var]).collect();
        by_influence.sort_by(|&a, &b| self.influence[a].total_cmp(&self.influence[b]).then(b.cmp(&a)));
        let mut product = vec![0.0; variables];
        let mut next = by_influence.pop();
        while let Some(var) = next {
            left[var] = false;
            order.push(var);
            let mut near: Vec<usize> = Vec::new();
            for &(gate, mine) in &self.columns[var] {
                for (&other, theirs) in self.gates[gate].iter().zip(&share[gate]) {
                    if left[other] {
                        near.push(other);
                        product[other] += mine * theirs;
                    }
                }
            }
            // The nearest among those that share a gate; the lower number breaks ties.
            let closeness = |other: usize| product[other].abs() / norms[other];
            next = near.iter().copied().max_by(|&a, &b| closeness(a).total_cmp(&closeness(b)).then(b.cmp(&a)));
            near.iter().for_each(|&other| product[other] = 0.0);
            while next.is_none() {
                match by_influence.pop() {
                    Some(var) if left[var] => next = Some(var),
                    Some(_) => {}
                    None => break,
                }
            }
        }
        order.extend((0..variables).filter(|&var| norms[var] == 0.0));
        Some(order)
    }
}

/// Breadth-first walks over the variables, from gate to gate.
struct Walker<'a> {
    layer: &'a FirstLayer,
    degree: &'a [usize],
    /// The number of the walk that last visited each gate and each variable, so that nothing has to be cleared.
    met_gate: Vec<u32>,
    met_var: Vec<u32>,
    walks: u32,
}

impl<'a> Walker<'a> {
    fn new(layer: &'a FirstLayer, degree: &'a [usize]) -> Self {
        let (met_gate, met_var) = (vec![0; layer.gates.len()], vec![0; layer.columns.len()]);
        Walker { layer, degree, met_gate, met_var, walks: 0 }
    }

    /// All variables reached from `start`, nearest first; among those found at the same gate, the ones with few
    /// neighbours first.
    fn walk(&mut self, start: usize) -> Vec<usize> {
        self.walks += 1;
        let walk = self.walks;
        self.met_var[start] = walk;
        let mut order = vec![start];
        let mut next = 0;
        while next < order.len() {
            let mut met = Vec::new();
            for &(gate, _) in &self.layer.columns[order[next]] {
                if std::mem::replace(&mut self.met_gate[gate], walk) != walk {
                    let new = |var: &usize| std::mem::replace(&mut self.met_var[*var], walk) != walk;
                    met.extend(self.layer.gates[gate].iter().copied().filter(new));
                }
            }
            met.sort_by_key(|&var| (self.degree[var], var));
            order.extend(met);
            next += 1;
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::network_strategy;
    use crate::model::{Gate, Network, Output};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_order_is_a_permutation_and_all_differ(network in network_strategy(7)) {
            for class in 0..network.classes() {
                let label = Label::of_class(&network, class).unwrap();
                let orders = candidate_orders(&label);
                prop_assert!(orders[0].iter().enumerate().all(|(index, var)| var.index() == index));
                for (index, order) in orders.iter().enumerate() {
                    prop_assert_eq!(check_order(order, network.inputs()), Ok(()));
                    prop_assert!(!orders[..index].contains(order));
                }
                prop_assert_eq!(candidate_orders(&label), orders);
            }
        }
    }

    fn first_layer(inputs: usize, rows: &[&[i128]]) -> FirstLayer {
        let gates: Vec<Gate> = rows.iter().map(|row| Gate::new(row.to_vec(), 1).unwrap()).collect();
        let output = Gate::new(vec![1; gates.len()], 1).unwrap();
        let network = Network::new(inputs, vec![gates], Output::Step(output)).unwrap();
        FirstLayer::of(&Label::of_class(&network, 1).unwrap())
    }

    #[test]
    fn influence_flows_back_through_the_layers() {
        let layer = first_layer(3, &[&[1, 1, 0], &[0, -1, 3]]);
        // Each gate carries half of the output, and divides it 1:1 and 1:3.
        assert_eq!(layer.influence, [0.25, 0.375, 0.375]);
    }

    #[test]
    fn a_shuffled_chain_is_found_again() {
        // Gates use 3 neighbours of a line whose points are numbered 7 j mod 30.
        let place: Vec<usize> = (0..30).map(|j| 7 * j % 30).collect();
        let rows: Vec<Vec<i128>> = (0..28)
            .map(|gate| {
                let mut row = vec![0; 30];
                (gate..gate + 3).for_each(|j| row[place[j]] = 1);
                row
            })
            .collect();
        let rows: Vec<&[i128]> = rows.iter().map(Vec::as_slice).collect();
        let order = first_layer(30, &rows).by_shared_gates().unwrap();
        let mut rank = vec![0; 30];
        order.iter().enumerate().for_each(|(index, &var)| rank[var] = index);
        for j in 1..30 {
            assert!(rank[place[j - 1]].abs_diff(rank[place[j]]) <= 2, "{order:?}");
        }
        assert!(first_layer(2, &[&[1, 1], &[1, -1]]).by_shared_gates().is_none());
    }

    #[test]
    fn equal_and_opposite_columns_are_neighbours() {
        // Variables 0 and 3 are equal, 1 and 4 opposite, 2 and 5 proportional; 6 is unused.
        let layer = first_layer(
            7,
            &[&[1, 2, 1, 1, -2, 2, 0], &[1, -2, 3, 1, 2, 6, 0], &[-1, 1, 1, -1, -1, 2, 0], &[1, 1, -1, 1, -1, -2, 0]],
        );
        let order = layer.by_columns().unwrap();
        let pairs: Vec<usize> = order.iter().map(|var| var % 3).collect();
        assert!(pairs[0] == pairs[1] && pairs[2] == pairs[3] && pairs[4] == pairs[5] && order[6] == 6, "{order:?}");
    }

    #[test]
    fn an_invalid_order_error_names_the_variable() {
        let order = |indices: &[usize]| indices.iter().map(|&index| Var::new(index)).collect::<Vec<_>>();
        let wrong = |variable| Err(DiagramError::NotAPermutation { variables: 3, variable });
        assert_eq!(check_order(&order(&[2, 0, 1]), 3), Ok(()));
        assert_eq!(check_order(&order(&[2, 0]), 3), wrong(2));
        assert_eq!(check_order(&order(&[2, 0, 2]), 3), wrong(3));
        assert_eq!(check_order(&order(&[2, 0, 3]), 3), wrong(4));
    }
}
