//! The result: a base value, a prediction, and a score for each feature; base value and scores add up to the
//! prediction.

use super::{EntityProblem, ExplainError};
use dashu_ratio::RBig;

/// The scores of one entity, in floats or in fractions.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation<T> {
    /// The expected label when nothing is known of the entity.
    pub base_value: T,
    /// The label of the entity.
    pub prediction: bool,
    /// The SHAP score of each feature.
    pub scores: Vec<T>,
}

impl Explanation<f64> {
    /// How far the sum of base value and scores may be from the prediction.
    pub const TOLERANCE: f64 = 1e-9;

    /// Fails unless base value and scores add up to the prediction (the efficiency axiom), up to the tolerance.
    pub fn check_sum(&self, entity: usize) -> Result<(), ExplainError> {
        Self::check_sum_of(entity, self.base_value, self.scores.iter().sum(), self.prediction)
    }

    /// The same for an explanation that is held elsewhere.
    pub(super) fn check_sum_of(entity: usize, base: f64, sum: f64, prediction: bool) -> Result<(), ExplainError> {
        let error = base + sum - f64::from(u8::from(prediction));
        // So that a NaN fails as well.
        if error.abs() <= Self::TOLERANCE {
            return Ok(());
        }
        Err(does_not_add_up(entity, &base, &sum, prediction))
    }
}

impl Explanation<RBig> {
    /// Fails unless base value and scores add up to exactly the prediction (the efficiency axiom).
    pub fn check_sum(&self, entity: usize) -> Result<(), ExplainError> {
        let sum = self.scores.iter().fold(RBig::ZERO, |sum, score| sum + score);
        if &self.base_value + &sum == RBig::from(u8::from(self.prediction)) {
            return Ok(());
        }
        Err(does_not_add_up(entity, &self.base_value, &sum, self.prediction))
    }

    /// Each number as the float nearest to it.
    pub fn to_floats(&self) -> Explanation<f64> {
        Explanation {
            base_value: self.base_value.to_f64().value(),
            prediction: self.prediction,
            scores: self.scores.iter().map(|score| score.to_f64().value()).collect(),
        }
    }
}

fn does_not_add_up(entity: usize, base: &impl ToString, sum: &impl ToString, prediction: bool) -> ExplainError {
    let (base, sum) = (base.to_string(), sum.to_string());
    let problem = EntityProblem::DoesNotAddUp { base, sum, prediction: u8::from(prediction).to_string() };
    ExplainError::Entity { entity, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_that_do_not_add_up_are_an_error() {
        let mut floats = Explanation { base_value: 0.5, prediction: true, scores: vec![0.75, -0.25 + 1e-10] };
        assert!(floats.check_sum(0).is_ok());
        floats.scores[1] += 2e-9;
        assert!(floats.check_sum(0).is_err());
        floats.scores[1] = f64::NAN;
        assert!(floats.check_sum(0).is_err());
        let half = RBig::from_parts(1.into(), 2u8.into());
        let mut exact = Explanation { base_value: half.clone(), prediction: false, scores: vec![-half.clone()] };
        assert!(exact.check_sum(3).is_ok());
        exact.prediction = true;
        assert_eq!(
            exact.check_sum(3).unwrap_err().to_string(),
            "entity 3: the base value 1/2 and the scores, -1/2 in all, do not add up to the prediction 1"
        );
    }
}
