//! The black-box formula: SHAP scores from nothing but the labels of all entities.
//!
//! Formula (1) of Bertossi and León (after Lundberg and Lee, "A Unified Approach to Interpreting Model Predictions",
//! 2017): the score of feature i is the sum, over all sets S of other features, of |S|! (N-|S|-1)! / N! times
//! v(S with i) - v(S), where v(S) is the expected label of entities that agree with e on S.
//!
//! The features are independent, so v of all 2^N sets comes from the table of labels one feature at a time: in each pair
//! of entries that differ in feature i alone, the entry "i in S" becomes the one that agrees with e, and the entry "i not
//! in S" becomes the expectation of the two. Invariant: after feature i, the index bits up to i say which features are in
//! the set, those above i are still an entity's. Cost: O(N 2^N) time and 2^N numbers for all scores of one entity.
//!
//! The exact version runs on integers: with p = a/b, both new entries are multiplied by b, so all entries of the table
//! have the product of all b as their denominator.

use super::error_bound::{additions, block_sum, in_all};
use super::{ExplainError, Explanation, Labels, Probabilities};
use crate::lit::Watch;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// SHAP scores from a table of labels (engine `brute-force`).
///
/// ```
/// use boolshap::explain::{BruteForce, Probabilities, Labels};
/// use boolshap::lit::Watch;
/// let both = Labels::from_fn(2, |entity| entity[0] && entity[1])?;
/// let uniform = Probabilities::uniform(2);
/// let rows = BruteForce::new(&both).explain_exact(&[[true, false]], &uniform, &Watch::unlimited())?;
/// let scores: Vec<String> = rows[0].scores.iter().map(ToString::to_string).collect();
/// assert_eq!((rows[0].base_value.to_string(), scores), ("1/4".into(), vec!["1/8".into(), "-3/8".into()]));
/// # Ok::<(), boolshap::explain::ExplainError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BruteForce<'l> {
    labels: &'l Labels,
}

impl<'l> BruteForce<'l> {
    /// The most features that [`BruteForce::explain`] takes: 128 megabytes of expectations.
    pub const MAX_FEATURES: usize = 24;
    /// The most features that [`BruteForce::explain_exact`] takes: a million big numbers.
    pub const MAX_FEATURES_EXACT: usize = 20;

    /// The black box with these labels.
    pub fn new(labels: &'l Labels) -> Self {
        BruteForce { labels }
    }

    /// Bounds the error of base value and scores in floats: v of a set is a sum of positive terms with three roundings
    /// for each feature, and the factorials take as many.
    pub fn error_bound(&self) -> f64 {
        let features = self.labels.features();
        in_all((9 * features + 6 + additions(1 << features.saturating_sub(1))) as f64)
    }

    /// The scores of these entities in floats.
    pub fn explain<E: AsRef<[bool]>>(
        &self,
        entities: &[E],
        distribution: &Probabilities,
        watch: &Watch<'_>,
    ) -> Result<Vec<Explanation<f64>>, ExplainError> {
        self.check(distribution, "brute force", Self::MAX_FEATURES)?;
        let features = self.labels.features();
        let weights = subset_weights(features);
        let mut values = Vec::new();
        self.for_each(entities, watch, |index, entity| {
            values.clear();
            values.extend((0..1usize << features).map(|index| f64::from(u8::from(self.labels.label(index)))));
            let chances = distribution.floats().iter().zip(distribution.complements());
            for (feature, (&one, &zero)) in chances.enumerate() {
                expect(&mut values, feature, |lo, hi| {
                    let expected = zero * *lo + one * *hi;
                    *hi = if entity[feature] { *hi } else { *lo };
                    *lo = expected;
                });
            }
            let score = |feature: usize| -> f64 {
                let term = |number: usize| {
                    let set = set_without(feature, number);
                    weights[set.count_ones() as usize] * (values[set | 1 << feature] - values[set])
                };
                block_sum(1 << (features - 1), term)
            };
            let explanation = Explanation {
                base_value: values[0],
                prediction: self.labels.label(number_of(entity)),
                scores: (0..features).map(score).collect(),
            };
            explanation.check_sum(index)?;
            Ok(explanation)
        })
    }

    /// The scores of these entities as fractions.
    pub fn explain_exact<E: AsRef<[bool]>>(
        &self,
        entities: &[E],
        distribution: &Probabilities,
        watch: &Watch<'_>,
    ) -> Result<Vec<Explanation<RBig>>, ExplainError> {
        self.check(distribution, "exact brute force", Self::MAX_FEATURES_EXACT)?;
        let features = self.labels.features();
        let factorials: Vec<UBig> = (0..=features)
            .scan(UBig::ONE, |product, k| {
                *product *= UBig::from(k.max(1));
                Some(product.clone())
            })
            .collect();
        let denominator = distribution.exact().iter().fold(UBig::ONE, |product, p| product * p.denominator());
        self.for_each(entities, watch, |index, entity| {
            let mut values: Vec<IBig> =
                (0..1usize << features).map(|index| u8::from(self.labels.label(index)).into()).collect();
            for (feature, probability) in distribution.exact().iter().enumerate() {
                let (one, all) = (probability.numerator(), probability.denominator().as_ibig());
                let zero = all - one;
                expect(&mut values, feature, |lo, hi| {
                    let expected = &zero * &*lo + one * &*hi;
                    *hi = if entity[feature] { all * &*hi } else { all * &*lo };
                    *lo = expected;
                });
            }
            let score = |feature: usize| {
                let sets = (0..1usize << (features - 1)).map(|number| set_without(feature, number));
                let sum = sets.fold(IBig::ZERO, |sum, set| {
                    let size = set.count_ones() as usize;
                    let orders = &factorials[size] * &factorials[features - size - 1];
                    sum + (&values[set | 1 << feature] - &values[set]) * IBig::from(orders)
                });
                RBig::from_parts(sum, &factorials[features] * &denominator)
            };
            let explanation = Explanation {
                base_value: RBig::from_parts(values[0].clone(), denominator.clone()),
                prediction: self.labels.label(number_of(entity)),
                scores: (0..features).map(score).collect(),
            };
            explanation.check_sum(index)?;
            Ok(explanation)
        })
    }

    fn check(&self, distribution: &Probabilities, engine: &'static str, limit: usize) -> Result<(), ExplainError> {
        let features = self.labels.features();
        if features > limit {
            return Err(ExplainError::TooManyFeatures { features, engine, limit });
        }
        distribution.check(features)
    }

    fn for_each<E: AsRef<[bool]>, T>(
        &self,
        entities: &[E],
        watch: &Watch<'_>,
        mut explain: impl FnMut(usize, &[bool]) -> Result<T, ExplainError>,
    ) -> Result<Vec<T>, ExplainError> {
        let mut explanations = Vec::with_capacity(entities.len());
        for (index, entity) in entities.iter().enumerate() {
            let (entity, expected) = (entity.as_ref(), self.labels.features());
            if entity.len() != expected {
                return Err(ExplainError::EntityLength { entity: index, expected, found: entity.len() });
            }
            watch.step(index as u64, entities.len() as u64)?;
            explanations.push(explain(index, entity)?);
        }
        Ok(explanations)
    }
}

/// Calls `change` on every pair of entries whose indices differ in this feature alone, the one without it first.
fn expect<T>(values: &mut [T], feature: usize, mut change: impl FnMut(&mut T, &mut T)) {
    for block in values.chunks_exact_mut(2 << feature) {
        let (without, with) = block.split_at_mut(1 << feature);
        without.iter_mut().zip(with).for_each(|(lo, hi)| change(lo, hi));
    }
}

/// The set with this number among the sets without a feature, as bits: inserts a zero at the feature's position.
fn set_without(feature: usize, number: usize) -> usize {
    let below = number & ((1 << feature) - 1);
    (number ^ below) << 1 | below
}

/// |S|! (N-|S|-1)! / N! for every size of S below N.
fn subset_weights(features: usize) -> Vec<f64> {
    let factorial = |k: usize| (1..=k).map(|factor| factor as f64).product::<f64>();
    (0..features).map(|size| factorial(size) * factorial(features - size - 1) / factorial(features)).collect()
}

fn number_of(entity: &[bool]) -> usize {
    entity.iter().enumerate().fold(0, |number, (v, &value)| number | usize::from(value) << v)
}
