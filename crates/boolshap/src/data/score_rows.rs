//! Finished rows of a result, and where they go.
//!
//! Binarised tables repeat themselves, so what takes results takes each distinct row once and then writes it by its
//! number, as often as it comes: a number turned into text is turned into text once.

use super::{DataError, write_number};
use arrow_array::{Array, ArrayRef};
use arrow_cast::display::array_value_to_string;

/// Rows of a result: a prediction (a label or a class), a base value, and a score for each player, in floats or as texts
/// of fractions. Of several classes there can be all base values and scores, one class after another.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreRows {
    width: usize,
    predictions: Vec<u32>,
    pub(super) numbers: Numbers,
}

/// The base value and the scores of each row, row by row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Numbers {
    Floats(Vec<f64>),
    Texts(Vec<String>),
}

impl ScoreRows {
    /// No rows yet; their numbers are floats.
    pub fn of_floats(players: usize) -> Self {
        ScoreRows { width: players + 1, predictions: Vec::new(), numbers: Numbers::Floats(Vec::new()) }
    }

    /// No rows yet; their numbers are exact, as texts.
    pub fn of_texts(players: usize) -> Self {
        ScoreRows { width: players + 1, predictions: Vec::new(), numbers: Numbers::Texts(Vec::new()) }
    }

    /// Adds a row; exact rows cannot be added to floats, nor floats to exact rows.
    pub fn push(&mut self, prediction: impl Into<u32>, base_value: f64, scores: &[f64]) {
        assert_eq!(scores.len() + 1, self.width, "a score for each player");
        let Numbers::Floats(numbers) = &mut self.numbers else { panic!("these rows are exact") };
        numbers.push(base_value);
        numbers.extend_from_slice(scores);
        self.predictions.push(prediction.into());
    }

    /// Adds a row of texts.
    pub fn push_texts(
        &mut self,
        prediction: impl Into<u32>,
        base_value: String,
        scores: impl IntoIterator<Item = String>,
    ) {
        let Numbers::Texts(numbers) = &mut self.numbers else { panic!("these rows are not exact") };
        numbers.push(base_value);
        numbers.extend(scores);
        self.predictions.push(prediction.into());
        assert_eq!(numbers.len(), self.width * self.predictions.len(), "a score for each player");
    }

    /// Adds all rows of another table of the same kind.
    pub fn append(&mut self, other: ScoreRows) {
        assert_eq!(other.width, self.width, "as many players");
        match (&mut self.numbers, other.numbers) {
            (Numbers::Floats(numbers), Numbers::Floats(more)) => numbers.extend(more),
            (Numbers::Texts(numbers), Numbers::Texts(more)) => numbers.extend(more),
            _ => panic!("rows of floats and exact rows do not mix"),
        }
        self.predictions.extend(other.predictions);
    }

    /// One row for each row of these tables, which hold as many: its numbers in all of them side by side.
    pub fn side_by_side(predictions: Vec<u32>, tables: &[ScoreRows]) -> Self {
        fn interleave<T: Clone>(rows: usize, tables: &[(&[T], usize)]) -> Vec<T> {
            let cells = |row: usize| tables.iter().flat_map(move |(all, width)| &all[row * width..(row + 1) * width]);
            (0..rows).flat_map(cells).cloned().collect()
        }
        let rows = predictions.len();
        assert!(tables.iter().all(|table| table.len() == rows), "as many rows");
        let floats: Vec<(&[f64], usize)> = tables
            .iter()
            .filter_map(|table| match &table.numbers {
                Numbers::Floats(floats) => Some((floats.as_slice(), table.width)),
                Numbers::Texts(_) => None,
            })
            .collect();
        let texts: Vec<(&[String], usize)> = tables
            .iter()
            .filter_map(|table| match &table.numbers {
                Numbers::Floats(_) => None,
                Numbers::Texts(texts) => Some((texts.as_slice(), table.width)),
            })
            .collect();
        let numbers = match (floats.len(), texts.len()) {
            (_, 0) => Numbers::Floats(interleave(rows, &floats)),
            (0, _) => Numbers::Texts(interleave(rows, &texts)),
            _ => panic!("rows of floats and exact rows do not mix"),
        };
        ScoreRows { width: tables.iter().map(ScoreRows::width).sum(), predictions, numbers }
    }

    /// The same rows with other predictions.
    pub fn with_predictions(self, predictions: Vec<u32>) -> Self {
        assert_eq!(predictions.len(), self.len(), "a prediction for each row");
        ScoreRows { predictions, ..self }
    }

    /// The rows of these numbers, in this order.
    pub fn select(&self, numbers: &[u32]) -> Self {
        fn pick<T: Clone>(all: &[T], width: usize, numbers: &[u32]) -> Vec<T> {
            let row = |&number: &u32| &all[number as usize * width..(number as usize + 1) * width];
            numbers.iter().flat_map(row).cloned().collect()
        }
        let numbers_of_rows = match &self.numbers {
            Numbers::Floats(all) => Numbers::Floats(pick(all, self.width, numbers)),
            Numbers::Texts(all) => Numbers::Texts(pick(all, self.width, numbers)),
        };
        ScoreRows { width: self.width, predictions: pick(&self.predictions, 1, numbers), numbers: numbers_of_rows }
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.predictions.clear();
        match &mut self.numbers {
            Numbers::Floats(numbers) => numbers.clear(),
            Numbers::Texts(numbers) => numbers.clear(),
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.predictions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.predictions.is_empty()
    }

    /// How many numbers a row has: the base value and the scores.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The prediction of a row.
    pub fn prediction(&self, row: usize) -> u32 {
        self.predictions[row]
    }

    /// A row as texts: the prediction, the base value, the scores.
    pub fn texts(&self, row: usize) -> Vec<String> {
        let mut line = Vec::new();
        self.write_line(row, &mut line);
        String::from_utf8_lossy(&line).split(',').map(String::from).collect()
    }

    /// Adds a row as texts with commas between them.
    pub(super) fn write_line(&self, row: usize, line: &mut Vec<u8>) {
        line.extend_from_slice(self.predictions[row].to_string().as_bytes());
        let cells = row * self.width..(row + 1) * self.width;
        match &self.numbers {
            Numbers::Floats(numbers) => numbers[cells].iter().for_each(|&number| {
                line.push(b',');
                write_number(line, number);
            }),
            Numbers::Texts(texts) => texts[cells].iter().for_each(|text| {
                line.push(b',');
                line.extend_from_slice(text.as_bytes());
            }),
        }
    }
}

/// Cells of an input column that goes to the output as it is.
pub type KeptCells = ArrayRef;

/// The text of a kept cell, if it is not missing and has one.
pub fn kept_text(cells: &KeptCells, row: usize) -> Option<String> {
    array_value_to_string(cells, row).ok().filter(|_| cells.is_valid(row))
}

/// What takes a stream of results.
pub trait ScoreSink {
    /// Takes distinct rows, which get the next numbers, the first of them 0.
    fn learn(&mut self, rows: &ScoreRows);
    /// Writes learned rows by their numbers, the first of them beside the first of the kept cells and so on.
    fn write(&mut self, numbers: &[u32], kept: &[KeptCells]) -> Result<(), DataError>;
    /// How much memory the learned rows take.
    fn learned_bytes(&self) -> usize;
    /// Forgets the learned rows: numbers start at 0 again.
    fn forget(&mut self);
}
