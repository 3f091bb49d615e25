//! The difference between two classifiers: how many possible inputs they put into different classes, and an example.

use super::class_tables::ClassTables;
use super::classifier::Engine;
use super::diagrams;
use super::{Classifier, QueryError};
use crate::circuit::Circuit;
use crate::lit::Watch;
use dashu_int::UBig;
use dashu_ratio::RBig;
use std::sync::Arc;

/// The inputs on which two classifiers differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differences {
    /// The number of inputs that they put into different classes.
    pub inputs: UBig,
    /// Their share among the inputs that can occur.
    pub share: RBig,
    /// One such input.
    pub example: Option<Vec<bool>>,
}

/// Compares a classifier with another one's circuits, one for each class or the only label's, over the same features.
pub fn differences(
    classifier: &Classifier,
    others: &[Arc<Circuit>],
    watch: &Watch<'_>,
) -> Result<Differences, QueryError> {
    let space = classifier.space();
    if let Some(circuit) = others.iter().find(|circuit| circuit.variables() != space.features()) {
        let (one, other) = (space.features(), circuit.variables());
        return Err(QueryError::NotComparable(format!("one has {one} features, the other {other}")));
    }
    let (one, other) = (classifier.classes(), others.len().max(2));
    if one != other {
        return Err(QueryError::NotComparable(format!("one has {one} classes, the other {other}")));
    }
    let ours = match &classifier.engine {
        Engine::Tables(tables) => tables,
        Engine::Diagrams(_) => return on_diagrams(classifier, others, watch),
    };
    let theirs = ClassTables::with_codes(others, ours.codes.clone(), space, watch)?;
    let mut differ = ours.valid.clone();
    for (ours, theirs) in ours.classes.iter().zip(&theirs.classes) {
        differ.iter_mut().zip(ours).zip(theirs).for_each(|((word, ours), theirs)| *word &= !(ours & theirs));
    }
    let count: u64 = differ.iter().map(|word| u64::from(word.count_ones())).sum();
    let first = differ.iter().position(|&word| word != 0);
    let example = first.map(|at| ours.codes.input((at as u64) << 6 | u64::from(differ[at].trailing_zeros())));
    Ok(Differences { inputs: count.into(), share: RBig::from_parts(count.into(), ours.inputs().into()), example })
}

/// The same with diagrams: combines the circuits of both.
fn on_diagrams(classifier: &Classifier, others: &[Arc<Circuit>], watch: &Watch<'_>) -> Result<Differences, QueryError> {
    let [differ, valid] = diagrams::differing(&classifier.labels, others, classifier.space(), watch)?;
    let (count, inputs) = (differ.count(), valid.count());
    let share = RBig::from_parts(count.clone().into(), inputs);
    Ok(Differences { inputs: count, share, example: differ.first() })
}
