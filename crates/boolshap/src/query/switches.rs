//! Finds the single switches of an entity that change the decision.
//!
//! A switch flips one feature. The features of a one-hot column are the values of one variable, so switching one of
//! them on switches its siblings off. All switches of an entity are evaluated together, 64 to a word.

use crate::circuit::{Circuit, CircuitError, CircuitEvaluator};
use crate::explain::Players;

/// The features whose switch changes the circuit's value; one-hot columns are given by `columns`.
///
/// ```
/// use boolshap::circuit::read_nnf;
/// use boolshap::explain::Players;
/// use boolshap::query::deciding_switches;
/// // x1 or (not x1 and x2): with both on, no single switch matters; with x1 alone, that of x1 does.
/// let circuit = read_nnf("nnf 5 4 2\nL 1\nL -1\nL 2\nA 2 1 2\nO 1 2 0 3\n".as_bytes())?;
/// let columns = Players::features(&["x1".into(), "x2".into()]);
/// assert!(deciding_switches(&circuit, &[true, true], &columns)?.is_empty());
/// assert_eq!(deciding_switches(&circuit, &[true, false], &columns)?, [0]);
/// # Ok::<(), boolshap::circuit::CircuitError>(())
/// ```
pub fn deciding_switches(circuit: &Circuit, entity: &[bool], columns: &Players) -> Result<Vec<usize>, CircuitError> {
    let mut evaluator = CircuitEvaluator::new(circuit);
    switches_by(|words| evaluator.words(words), entity, columns)
}

/// Like [`deciding_switches`], for any label that is computed for 64 inputs at a time.
pub(crate) fn switches_by<E>(
    mut label: impl FnMut(&[u64]) -> Result<u64, E>,
    entity: &[bool],
    columns: &Players,
) -> Result<Vec<usize>, E> {
    let all: Vec<u64> = entity.iter().map(|&bit| u64::from(bit).wrapping_neg()).collect();
    let now = label(&all)? & 1 == 1;
    let mut found = Vec::new();
    for first in (0..entity.len()).step_by(64) {
        let last = entity.len().min(first + 64);
        let mut words = all.clone();
        for feature in first..last {
            let lane = 1 << (feature - first);
            words[feature] ^= lane;
            let column = columns.of(feature);
            if columns.is_one_hot(column) && !entity[feature] {
                columns
                    .members(column)
                    .filter(|&sibling| sibling != feature)
                    .for_each(|sibling| words[sibling] &= !lane);
            }
        }
        let values = label(&words)?;
        found.extend((first..last).filter(|feature| (values >> (feature - first) & 1 == 1) != now));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::CircuitBuilder;
    use crate::data::Seeded;
    use crate::lit::Var;

    /// The parity of some features, as a chain of decisions.
    fn parity(features: usize, of: &[usize]) -> Circuit {
        let mut builder = CircuitBuilder::new(features).unwrap();
        let (mut even, mut odd) = (builder.constant(false).unwrap(), builder.constant(true).unwrap());
        for &feature in of {
            let var = Var::new(feature);
            let next = builder.decision(var, even, odd).unwrap();
            odd = builder.decision(var, odd, even).unwrap();
            even = next;
        }
        builder.finish(even).unwrap()
    }

    #[test]
    fn switches_equal_evaluating_each_changed_entity() {
        let mut chance = Seeded::new(8, 0);
        // More features than a word has lanes, and two columns of five values, one of which crosses the word boundary.
        let column_of = |feature: usize| [0..5, 62..67].into_iter().find(|column| column.contains(&feature));
        let name = |feature: usize| match column_of(feature) {
            Some(column) => format!("c{}={feature}", column.start),
            None => format!("x{feature}"),
        };
        let columns = Players::columns(&(0..70).map(name).collect::<Vec<_>>(), None);
        for _ in 0..60 {
            let of: Vec<usize> = (0..70).filter(|_| chance.below(3) == 0).collect();
            let circuit = parity(70, &of);
            let mut entity: Vec<bool> = (0..70).map(|_| chance.below(2) == 0).collect();
            // No value, one value, or two by mistake.
            for column in [0..5, 62..67] {
                let ones = [chance.below(6), chance.below(10)].map(|place| column.start + place);
                column.for_each(|feature| entity[feature] = ones.contains(&feature));
            }
            let now = circuit.evaluate(&entity).unwrap();
            let changes = |feature: usize| {
                let mut other = entity.clone();
                if let Some(column) = column_of(feature).filter(|_| !entity[feature]) {
                    other[column].fill(false);
                }
                other[feature] = !entity[feature];
                circuit.evaluate(&other).unwrap() != now
            };
            let expected: Vec<usize> = (0..70).filter(|&feature| changes(feature)).collect();
            assert_eq!(deciding_switches(&circuit, &entity, &columns).unwrap(), expected);
        }
    }
}
