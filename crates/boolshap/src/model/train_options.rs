//! Options of training: the widths of the layers, the weights allowed, and the weights of rows.

use std::fmt;
use std::str::FromStr;

/// The hidden layers of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hidden {
    /// Chosen by cross-validation on the training rows, as far as the circuit stays small enough.
    Auto,
    /// Layers of these widths; an empty list gives a single neuron, or one per class if there are several classes.
    Layers(Vec<usize>),
}

impl FromStr for Hidden {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let width = |part: &str| match part.trim().parse() {
            Ok(width @ 1..=1_000_000) => Ok(width),
            _ => Err(format!("'{text}' is neither auto, nor 0, nor widths from 1 to 1000000 with commas between")),
        };
        match text.trim() {
            "auto" => Ok(Hidden::Auto),
            "0" => Ok(Hidden::Layers(Vec::new())),
            widths => widths.split(',').map(width).collect::<Result<_, _>>().map(Hidden::Layers),
        }
    }
}

/// The weights a network may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weights {
    /// +1 and -1: every input counts, and all count the same.
    Binary,
    /// -1, 0 and +1.
    Ternary,
    /// Whole numbers from -K to K.
    Integer(u32),
}

impl Weights {
    /// The largest weight.
    pub fn largest(self) -> u32 {
        match self {
            Weights::Binary | Weights::Ternary => 1,
            Weights::Integer(largest) => largest,
        }
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Weights::Binary => f.write_str("binary"),
            Weights::Ternary => f.write_str("ternary"),
            Weights::Integer(largest) => write!(f, "integer:{largest}"),
        }
    }
}

impl FromStr for Weights {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "binary" => Ok(Weights::Binary),
            "ternary" => Ok(Weights::Ternary),
            other => match other.strip_prefix("integer:").map(str::parse) {
                Some(Ok(largest @ 1..=10_000)) => Ok(Weights::Integer(largest)),
                _ => Err(format!("'{text}' is not one of binary, ternary, integer:K with K from 1 to 10000")),
            },
        }
    }
}

/// How rows of each class are weighted.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ClassWeights {
    /// Every row has the same weight.
    #[default]
    Equal,
    /// Every class has the same total weight, so rows of a rare class count more.
    Balanced,
    /// The relative weight of a row of each class.
    Given(Vec<f64>),
}

impl ClassWeights {
    /// Its name: `equal`, `balanced` or `given`.
    pub fn name(&self) -> &'static str {
        match self {
            ClassWeights::Equal => "equal",
            ClassWeights::Balanced => "balanced",
            ClassWeights::Given(_) => "given",
        }
    }

    /// The weight of a row of each class, given the number of rows of each. Weights average 1 over all rows.
    pub fn of(&self, rows: &[u64]) -> Vec<f64> {
        let total: u64 = rows.iter().sum();
        let present = rows.iter().filter(|&&count| count > 0).count();
        match self {
            ClassWeights::Equal => vec![1.0; rows.len()],
            ClassWeights::Balanced => {
                let weight =
                    |&count: &u64| if count > 0 { total as f64 / (present as f64 * count as f64) } else { 1.0 };
                rows.iter().map(weight).collect()
            }
            ClassWeights::Given(weights) => {
                let sum: f64 = rows.iter().zip(weights).map(|(&count, weight)| count as f64 * weight).sum();
                weights.iter().map(|weight| if sum > 0.0 { weight * total as f64 / sum } else { 1.0 }).collect()
            }
        }
    }
}

impl FromStr for ClassWeights {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "equal" => Ok(ClassWeights::Equal),
            "balanced" => Ok(ClassWeights::Balanced),
            _ => Err(format!("'{text}' is not one of equal, balanced")),
        }
    }
}

/// What to train and how long.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainOptions {
    /// The hidden layers.
    pub hidden: Hidden,
    /// The weights; by default binary for given layers, and otherwise whatever suits the rows.
    pub weights: Option<Weights>,
    /// How rows of each class are weighted.
    pub class_weights: ClassWeights,
    /// The seed of folds, initial weights, batches and the polish.
    pub seed: u64,
    /// The maximum number of passes over the training rows.
    pub epochs: usize,
    /// After this many passes without improvement, training ends.
    pub patience: usize,
    /// The number of rows in a batch.
    pub batch: usize,
    /// The initial step size of AdamW; it decays to zero along a cosine.
    pub learning_rate: f64,
}

impl Default for TrainOptions {
    fn default() -> Self {
        TrainOptions {
            hidden: Hidden::Auto,
            weights: None,
            class_weights: ClassWeights::Equal,
            seed: 7,
            epochs: 60,
            patience: 15,
            batch: 128,
            learning_rate: 0.02,
        }
    }
}

impl TrainOptions {
    /// The defaults for a network of weights +-1 with hidden layers of these widths, such as the paper's 13.
    pub fn binary(hidden: &[usize]) -> Self {
        let hidden = Hidden::Layers(hidden.to_vec());
        TrainOptions { hidden, weights: Some(Weights::Binary), ..TrainOptions::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_written() {
        assert_eq!("auto".parse(), Ok(Hidden::Auto));
        assert_eq!("0".parse(), Ok(Hidden::Layers(vec![])));
        assert_eq!("13, 5".parse(), Ok(Hidden::Layers(vec![13, 5])));
        for wrong in ["", "13,0", "-1", "many", "0,3"] {
            assert!(wrong.parse::<Hidden>().is_err(), "{wrong}");
        }
        for text in ["binary", "ternary", "integer:7"] {
            assert_eq!(text.parse::<Weights>().unwrap().to_string(), text);
        }
        for wrong in ["", "integer", "integer:0", "integer:-3", "real"] {
            assert!(wrong.parse::<Weights>().is_err(), "{wrong}");
        }
        assert!("fair".parse::<ClassWeights>().is_err());
    }

    #[test]
    fn balanced_classes_weigh_the_same() {
        let rows = [90, 10, 0];
        let weights = ClassWeights::Balanced.of(&rows);
        assert_eq!(weights[0] * 90.0, weights[1] * 10.0);
        assert_eq!(weights[0] * 90.0 + weights[1] * 10.0, 100.0);
        assert_eq!(ClassWeights::Equal.of(&rows), [1.0; 3]);
        let given = ClassWeights::Given(vec![1.0, 3.0, 2.0]).of(&rows);
        assert_eq!((given[1] / given[0], given[0] * 90.0 + given[1] * 10.0), (3.0, 100.0));
    }
}
