//! Deduplicates rows that agree in the features that matter: each distinct row is explained only once.

use crate::data::Bits;
use crate::lit::Var;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The first row of each kind, and the kind of each row.
pub(super) struct DistinctRows {
    pub(super) first: Vec<usize>,
    pub(super) kinds: Vec<u32>,
}

impl DistinctRows {
    /// Treats every row as distinct.
    pub(super) fn all(rows: usize) -> Self {
        DistinctRows { first: (0..rows).collect(), kinds: (0..rows as u32).collect() }
    }

    /// Rows that agree in these features are of one kind.
    pub(super) fn of(entities: &Bits, features: &[Var]) -> Self {
        if entities.rows() <= 1 {
            return Self::all(entities.rows());
        }
        if features.len() <= 64 {
            return Self::by_key(entities, features, |words| words.first().copied().unwrap_or(0));
        }
        Self::by_key(entities, features, <[u64]>::to_vec)
    }

    fn by_key<K: std::hash::Hash + Eq>(entities: &Bits, features: &[Var], key: impl Fn(&[u64]) -> K) -> Self {
        let mut distinct = DistinctRows { first: Vec::new(), kinds: Vec::with_capacity(entities.rows()) };
        let mut known: HashMap<K, u32> = HashMap::new();
        let stride = features.len().div_ceil(64);
        let mut keys = vec![0u64; 64 * stride];
        for block in 0..entities.blocks() {
            keys.fill(0);
            for (place, var) in features.iter().enumerate() {
                let mut ones = entities.feature(var.index())[block];
                while ones != 0 {
                    keys[ones.trailing_zeros() as usize * stride + place / 64] |= 1 << (place % 64);
                    ones &= ones - 1;
                }
            }
            for row in 64 * block..entities.rows().min(64 * (block + 1)) {
                let next = distinct.first.len() as u32;
                let kind = match known.entry(key(&keys[row % 64 * stride..][..stride])) {
                    Entry::Occupied(entry) => *entry.get(),
                    Entry::Vacant(entry) => {
                        distinct.first.push(row);
                        *entry.insert(next)
                    }
                };
                distinct.kinds.push(kind);
            }
        }
        distinct
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_of_one_kind_exactly_when_the_features_agree() {
        for (features, chosen) in [(3, vec![0, 2]), (3, vec![]), (70, vec![1, 2, 3]), (200, (0..150).collect())] {
            let mut table = Bits::new(features);
            let mut state = 1u64;
            for row in 0..300 {
                let bits: Vec<bool> = (0..features)
                    .map(|feature| {
                        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        // Few ones, so that some rows of many features are the same.
                        if features < 10 { state >> 40 & 1 == 1 } else { feature == row % 7 + 140 * (row % 2) }
                    })
                    .collect();
                table.push(&bits);
            }
            let vars: Vec<Var> = chosen.iter().map(|&feature: &usize| Var::new(feature)).collect();
            let distinct = DistinctRows::of(&table, &vars);
            let values = |row: usize| -> Vec<bool> { chosen.iter().map(|&feature| table.get(row, feature)).collect() };
            assert_eq!(distinct.kinds.len(), 300);
            for a in 0..300 {
                assert_eq!(values(distinct.first[distinct.kinds[a] as usize]), values(a));
                for b in 0..a {
                    assert_eq!(distinct.kinds[a] == distinct.kinds[b], values(a) == values(b), "rows {a} and {b}");
                }
            }
            assert!(distinct.first.is_sorted());
        }
    }
}
