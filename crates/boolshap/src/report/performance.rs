//! How well a model predicts the rows whose class is known: the confusion matrix.

use super::{Rows, Subject};
use crate::lit::thousands;
use serde_json::{Value, json};

/// The rows with a known class, counted by known and predicted class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Performance {
    /// The names of the classes; for a single label, the meanings of 0 and 1.
    pub classes: Vec<String>,
    /// The number of rows by known class, then by predicted class.
    pub confusion: Vec<Vec<u64>>,
}

impl Performance {
    /// Counts rows, where `predicted` has the class of each kind; `None` if no row has a known class.
    pub fn new(subject: &Subject, rows: &Rows, predicted: &[u32]) -> Option<Self> {
        let count = subject.classes.len();
        let mut confusion = vec![vec![0; count]; count];
        for (&(kind, class), &rows) in &rows.classes {
            let (known, given) = (subject.known(class), predicted[kind as usize] as usize);
            *confusion.get_mut(known)?.get_mut(given)? += rows;
        }
        let performance = Performance { classes: subject.classes.clone(), confusion };
        (performance.rows() > 0).then_some(performance)
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.confusion.iter().flatten().sum()
    }

    /// The number of rows predicted as their own class.
    pub fn right(&self) -> u64 {
        self.confusion.iter().enumerate().map(|(class, given)| given[class]).sum()
    }

    /// The accuracy in words.
    pub fn words(&self) -> String {
        let percent = 100.0 * self.right() as f64 / self.rows() as f64;
        format!("{percent:.1} % of {} rows with a known class", thousands(self.rows()))
    }

    /// The data for a page, with the recall and the precision of each class.
    pub fn json(&self) -> Value {
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let class = |class: usize| {
            let of: u64 = self.confusion[class].iter().sum();
            let given: u64 = self.confusion.iter().map(|row| row[class]).sum();
            let right = self.confusion[class][class];
            json!({"name": self.classes[class], "rows": of, "predicted": given, "right": right,
                   "recall": share(right, of), "precision": share(right, given)})
        };
        json!({
            "rows": self.rows(),
            "right": self.right(),
            "accuracy": share(self.right(), self.rows()),
            "words": self.words(),
            "classes": (0..self.classes.len()).map(class).collect::<Vec<_>>(),
            "confusion": self.confusion,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::{CircuitBuilder, NamedCircuit};
    use crate::data::Tally;

    #[test]
    fn rows_are_counted_by_known_and_predicted_class() {
        let mut builder = CircuitBuilder::new(2).unwrap();
        let root = builder.constant(true).unwrap();
        let named = NamedCircuit::new(builder.finish(root).unwrap(), vec!["x".into(), "y".into()]).unwrap();
        let subject = Subject::new(&named, None).unwrap();
        let counted = [(vec![true, false], vec![1, 5]), (vec![false, false], vec![3, 1])];
        let rows = Rows::of_tally(&Tally::from_counts(2, counted.into_iter()), "rows");
        // The most frequent kind comes first: it is the one with six rows.
        let found = Performance::new(&subject, &rows, &[1, 0]).unwrap();
        assert_eq!(found.confusion, [[3, 1], [1, 5]]);
        assert_eq!(
            (found.right(), found.rows(), found.words().as_str()),
            (8, 10, "80.0 % of 10 rows with a known class")
        );
        let json = found.json();
        assert_eq!((json["accuracy"].as_f64(), json["classes"][1]["recall"].as_f64()), (Some(0.8), Some(5.0 / 6.0)));
        assert_eq!(Performance::new(&subject, &Rows::none(2), &[]), None);
    }
}
