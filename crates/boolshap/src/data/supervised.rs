//! Cuts of a numeric column chosen with the target: a small decision tree on that column alone.
//!
//! The tree grows leaf by leaf. Each step takes the cut that lowers the total Gini impurity most, until the requested
//! number of leaves is reached or no cut helps (Breiman, Friedman, Olshen, Stone, Classification and Regression Trees,
//! 1984; the same as scikit-learn's `DecisionTreeClassifier(max_leaf_nodes=K)` on one feature). A cut lies midway
//! between two neighbouring values. Pass training rows only: cuts that have seen the labels of test rows would flatter
//! the network.
//!
//! Cost: a sort, then one pass over a leaf for each new leaf.

/// A leaf: a range of the sorted rows, and its best cut.
struct Leaf {
    rows: std::ops::Range<usize>,
    best: Option<Split>,
}

#[derive(Clone, Copy)]
struct Split {
    /// The first row above the cut.
    at: usize,
    gain: f64,
}

/// The ascending cuts of these values, at most `leaves - 1` of them.
pub fn tree_cuts(mut rows: Vec<(f64, u32)>, leaves: usize) -> Vec<f64> {
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let classes = rows.iter().map(|(_, class)| *class as usize + 1).max().unwrap_or(0);
    let whole = 0..rows.len();
    let mut tree = vec![Leaf { best: best_split(&rows, whole.clone(), classes), rows: whole }];
    let mut cuts = Vec::new();
    while tree.len() < leaves {
        let gain = |leaf: &Leaf| leaf.best.map_or(0.0, |split| split.gain);
        let Some(chosen) = (0..tree.len()).max_by(|&a, &b| gain(&tree[a]).total_cmp(&gain(&tree[b])).then(b.cmp(&a)))
        else {
            break;
        };
        let Some(Split { at, .. }) = tree[chosen].best else { break };
        let (below, above) = (rows[at - 1].0, rows[at].0);
        // Halve first: the sum of the two numbers could overflow.
        let middle = below / 2.0 + above / 2.0;
        cuts.push(if middle < above { middle.max(below) } else { below });
        let Leaf { rows: whole, .. } = tree.swap_remove(chosen);
        for part in [whole.start..at, at..whole.end] {
            tree.push(Leaf { best: best_split(&rows, part.clone(), classes), rows: part });
        }
    }
    cuts.sort_by(f64::total_cmp);
    cuts
}

/// The cut with the largest gain, the lowest one in a tie; `None` if no cut helps.
fn best_split(rows: &[(f64, u32)], range: std::ops::Range<usize>, classes: usize) -> Option<Split> {
    let rows_here = &rows[range.clone()];
    let mut above = vec![0u64; classes];
    rows_here.iter().for_each(|(_, class)| above[*class as usize] += 1);
    let squares = |counts: &[u64]| counts.iter().map(|&count| (count as f64) * count as f64).sum::<f64>();
    let (all, total) = (rows_here.len() as f64, squares(&above));
    let mut below = vec![0u64; classes];
    // A sum of squares changes by 2n+1 with each row, so the cost per row does not depend on the number of classes.
    let (mut low, mut high, mut best) = (0.0, total, None::<Split>);
    for place in 1..rows_here.len() {
        let class = rows_here[place - 1].1 as usize;
        low += 2.0 * below[class] as f64 + 1.0;
        high -= 2.0 * above[class] as f64 - 1.0;
        below[class] += 1;
        above[class] -= 1;
        if rows_here[place - 1].0 < rows_here[place].0 {
            let gain = low / place as f64 + high / (all - place as f64) - total / all;
            // A gain within rounding error does not count.
            if gain > 1e-9 * all && best.is_none_or(|best| gain > best.gain) {
                best = Some(Split { at: range.start + place, gain });
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn impurity(rows: &[(f64, u32)], cuts: &[f64]) -> f64 {
        (0..=cuts.len())
            .map(|bin| {
                let inside = |value: f64| cuts.iter().filter(|cut| value > **cut).count() == bin;
                let labels: Vec<u32> =
                    rows.iter().filter(|(value, _)| inside(*value)).map(|(_, label)| *label).collect();
                let size = labels.len() as f64;
                let squares: f64 =
                    (0..3).map(|class| labels.iter().filter(|l| **l == class).count() as f64).map(|n| n * n).sum();
                if labels.is_empty() { 0.0 } else { size - squares / size }
            })
            .sum()
    }

    proptest! {
        #[test]
        fn each_cut_is_the_best_of_all(rows in prop::collection::vec((0..12i32, 0..3u32), 2..40)) {
            let rows: Vec<(f64, u32)> = rows.into_iter().map(|(value, label)| (f64::from(value), label)).collect();
            let found = tree_cuts(rows.clone(), 2);
            let every: Vec<f64> = (0..12).map(|value| f64::from(value) + 0.5).collect();
            let best = every.iter().map(|cut| impurity(&rows, &[*cut])).fold(f64::INFINITY, f64::min);
            prop_assert!((impurity(&rows, &found) - best).abs() < 1e-9 || found.is_empty());
            if found.is_empty() {
                prop_assert!(impurity(&rows, &[]) - best < 1e-6 * rows.len() as f64);
            }
            // More leaves never increase the impurity, and the second cut is the best one to add.
            let (three, two) = (tree_cuts(rows.clone(), 3), found);
            if three.len() == 2 && two.len() == 1 {
                let other: Vec<f64> = three.iter().copied().filter(|cut| *cut != two[0]).collect();
                prop_assert!(three.contains(&two[0]) && other.len() == 1);
                let best = every.iter().filter(|cut| **cut != two[0]).map(|cut| {
                    let mut both = vec![two[0], *cut];
                    both.sort_by(f64::total_cmp);
                    impurity(&rows, &both)
                }).fold(f64::INFINITY, f64::min);
                prop_assert!((impurity(&rows, &three) - best).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn cuts_lie_between_values() {
        let rows = vec![(1.0, 0), (2.0, 0), (3.0, 1), (10.0, 1), (11.0, 0)];
        assert_eq!(tree_cuts(rows.clone(), 3), [2.5, 10.5]);
        assert_eq!(tree_cuts(rows, 9), [2.5, 10.5]);
        assert!(tree_cuts(vec![(1.0, 0), (1.0, 1)], 4).is_empty());
        assert_eq!(tree_cuts(vec![(1.7e308, 0), (1.75e308, 1)], 2), [1.725e308]);
        let next = f64::from_bits(1.0f64.to_bits() + 1);
        assert_eq!(tree_cuts(vec![(1.0, 0), (next, 1)], 2), [1.0]);
    }
}
