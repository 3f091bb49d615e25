//! The population that scores are taken over: independent features, each with its probability of being 1.

use super::ExplainError;
use dashu_ratio::RBig;

/// A product distribution over binary features; the uniform one has probability 1/2 throughout. Every probability is
/// kept as a fraction, for the exact engines, and as the floats nearest to it and to its complement. The latter is more
/// precise than 1 minus the float: for `1 - 1e-40` the floats are 1 and 1e-40.
///
/// ```
/// use boolshap::explain::Probabilities;
/// let distribution = Probabilities::from_floats(&[0.25, 0.1])?;
/// assert_eq!(distribution.exact()[0].to_string(), "1/4");
/// // A float means exactly the fraction that it is in binary.
/// assert_eq!(distribution.exact()[1].to_string(), "3602879701896397/36028797018963968");
/// assert!(Probabilities::from_floats(&[0.5, 1.5]).is_err());
/// # Ok::<(), boolshap::explain::ExplainError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Probabilities {
    exact: Vec<RBig>,
    floats: Vec<f64>,
    complements: Vec<f64>,
}

impl Probabilities {
    /// All entities over this many features are equally likely.
    pub fn uniform(features: usize) -> Self {
        let half = RBig::from_parts(1.into(), 2u8.into());
        let floats = vec![0.5; features];
        Probabilities { exact: vec![half; features], complements: floats.clone(), floats }
    }

    /// Independent features that are 1 with these probabilities.
    pub fn product(probabilities: Vec<RBig>) -> Result<Self, ExplainError> {
        for (feature, probability) in probabilities.iter().enumerate() {
            if *probability < RBig::ZERO || *probability > RBig::ONE {
                return Err(ExplainError::Probability { feature, value: probability.to_string() });
            }
        }
        Ok(Self::rounded(probabilities))
    }

    /// The same from floats, each taken as the exact fraction that it holds.
    pub fn from_floats(probabilities: &[f64]) -> Result<Self, ExplainError> {
        let refuse = |feature: usize| ExplainError::Probability { feature, value: probabilities[feature].to_string() };
        let exact = probabilities
            .iter()
            .enumerate()
            .map(|(feature, &probability)| RBig::try_from(probability).map_err(|_| refuse(feature)))
            .collect::<Result<Vec<RBig>, ExplainError>>()?;
        let out_of_range = |probability: &f64| !(0.0..=1.0).contains(probability);
        match probabilities.iter().position(out_of_range) {
            Some(feature) => Err(refuse(feature)),
            None => Ok(Self::rounded(exact)),
        }
    }

    fn rounded(exact: Vec<RBig>) -> Self {
        let floats = exact.iter().map(|probability| probability.to_f64().value()).collect();
        let complements = exact.iter().map(|probability| (RBig::ONE - probability).to_f64().value()).collect();
        Probabilities { exact, floats, complements }
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        self.exact.len()
    }

    /// The probabilities as fractions.
    pub fn exact(&self) -> &[RBig] {
        &self.exact
    }

    /// The probabilities as floats.
    pub fn floats(&self) -> &[f64] {
        &self.floats
    }

    /// The probabilities of being 0 as floats, each rounded separately.
    pub fn complements(&self) -> &[f64] {
        &self.complements
    }

    pub(super) fn check(&self, features: usize) -> Result<(), ExplainError> {
        match self.features() {
            found if found == features => Ok(()),
            found => Err(ExplainError::DistributionLength { expected: features, found }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_probability_is_refused() {
        for (value, shown) in [(-0.5, "-0.5"), (1.25, "1.25"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
            let error = Probabilities::from_floats(&[0.5, value]).unwrap_err();
            let expected = format!("the probability of feature 1 is {shown}, which is not between 0 and 1");
            assert_eq!(error.to_string(), expected);
        }
        let over = RBig::from_parts(4.into(), 3u8.into());
        assert!(Probabilities::product(vec![over]).unwrap_err().to_string().contains("is 4/3,"));
        let ends = Probabilities::from_floats(&[0.0, -0.0, 1.0]).unwrap();
        assert_eq!(ends, Probabilities::product(vec![RBig::ZERO, RBig::ZERO, RBig::ONE]).unwrap());
        assert_eq!(Probabilities::uniform(2), Probabilities::from_floats(&[0.5, 0.5]).unwrap());
    }
}
