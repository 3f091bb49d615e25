//! The scores of rows, as every engine gives them and everything that shows or writes them takes them.
//!
//! Binarised tables repeat themselves, so equal rows share one set of numbers, and a sink takes each distinct row once and
//! then writes it by its number, as often as it comes: a number is turned into text once.

use super::{DataError, ExplainedClass, arrow_texts, write_number};
use arrow_array::{Array, ArrayRef};
use dashu_ratio::RBig;
use std::collections::HashMap;

/// For each row a prediction (a label or a class), a base value and a score for each player, in floats or in fractions.
/// With several classes side by side, base value and scores are repeated for each class.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    width: usize,
    /// For each row, the position of its prediction and numbers.
    kinds: Vec<u32>,
    predictions: Vec<u32>,
    pub(super) numbers: Numbers,
    /// Where numbers are explained and not labels: for each distinct row what its groups of base value and scores add up to.
    values: Option<Numbers>,
}

/// Base value and scores of each distinct row, one row after another.
#[derive(Debug, Clone, PartialEq)]
pub enum Numbers {
    /// Rounded.
    Floats(Vec<f64>),
    /// As they are.
    Exact(Vec<RBig>),
}

impl Numbers {
    fn len(&self) -> usize {
        match self {
            Numbers::Floats(numbers) => numbers.len(),
            Numbers::Exact(numbers) => numbers.len(),
        }
    }

    fn extend(&mut self, more: Numbers) {
        match (self, more) {
            (Numbers::Floats(numbers), Numbers::Floats(more)) => numbers.extend(more),
            (Numbers::Exact(numbers), Numbers::Exact(more)) => numbers.extend(more),
            _ => panic!("floats and fractions do not mix"),
        }
    }

    fn clear(&mut self) {
        match self {
            Numbers::Floats(numbers) => numbers.clear(),
            Numbers::Exact(numbers) => numbers.clear(),
        }
    }

    /// The memory they take, about.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Numbers::Floats(numbers) => size_of_val(numbers.as_slice()),
            Numbers::Exact(numbers) => numbers.iter().map(bytes_of).sum(),
        }
    }
}

fn bytes_of(number: &RBig) -> usize {
    use dashu_base::{BitTest, UnsignedAbs};
    let bits = number.numerator().unsigned_abs().bit_len() + number.denominator().bit_len();
    size_of::<RBig>() + bits / 8
}

impl Scores {
    /// Distinct rows with `width` numbers each, the base value first, and for each row the position of its own.
    ///
    /// # Panics
    /// If the lengths do not agree.
    pub fn new(width: usize, kinds: Vec<u32>, predictions: Vec<u32>, numbers: Numbers) -> Self {
        assert_eq!(numbers.len(), width * predictions.len(), "base value and scores of each distinct row");
        debug_assert!(kinds.iter().all(|&kind| (kind as usize) < predictions.len()));
        Scores { width, kinds, predictions, numbers, values: None }
    }

    /// Rows of numbers that are explained: `width` base values and scores each, in as many groups as there are values a row.
    ///
    /// # Panics
    /// If the lengths do not agree.
    pub fn of_values(width: usize, predictions: Vec<u32>, numbers: Numbers, values: Numbers) -> Self {
        let rows = predictions.len();
        assert_eq!(numbers.len(), width * rows, "base values and scores of each row");
        assert!(
            values.len() >= rows && (rows == 0 || values.len().is_multiple_of(rows)),
            "as many values for each row"
        );
        Scores { width, kinds: (0..rows as u32).collect(), predictions, numbers, values: Some(values) }
    }

    /// No rows yet, in fractions if `exact`.
    pub fn empty(players: usize, exact: bool) -> Self {
        let numbers = if exact { Numbers::Exact(Vec::new()) } else { Numbers::Floats(Vec::new()) };
        Scores { width: players + 1, kinds: Vec::new(), predictions: Vec::new(), numbers, values: None }
    }

    /// Adds a row of floats.
    ///
    /// # Panics
    /// If the rows before are exact, or have another number of scores.
    pub fn push(&mut self, prediction: impl Into<u32>, base_value: f64, scores: &[f64]) {
        assert_eq!(scores.len() + 1, self.width, "a score for each player");
        let Numbers::Floats(numbers) = &mut self.numbers else { panic!("these rows are exact") };
        numbers.push(base_value);
        numbers.extend_from_slice(scores);
        self.push_prediction(prediction.into());
    }

    /// Adds a row of fractions.
    ///
    /// # Panics
    /// If the rows before are floats, or have another number of scores.
    pub fn push_exact(&mut self, prediction: impl Into<u32>, base_value: RBig, scores: Vec<RBig>) {
        assert_eq!(scores.len() + 1, self.width, "a score for each player");
        let Numbers::Exact(numbers) = &mut self.numbers else { panic!("these rows are not exact") };
        numbers.push(base_value);
        numbers.extend(scores);
        self.push_prediction(prediction.into());
    }

    fn push_prediction(&mut self, prediction: u32) {
        self.kinds.push(self.predictions.len() as u32);
        self.predictions.push(prediction);
    }

    /// Adds all rows of another table of the same form.
    pub fn append(&mut self, other: Scores) {
        assert_eq!(other.width, self.width, "as many players");
        let first = self.predictions.len() as u32;
        if self.is_empty() {
            self.values = other.values;
        } else if let (Some(values), Some(more)) = (&mut self.values, other.values) {
            values.extend(more);
        }
        self.numbers.extend(other.numbers);
        self.kinds.extend(other.kinds.into_iter().map(|kind| first + kind));
        self.predictions.extend(other.predictions);
    }

    /// One row for each row of these tables of equal length: its numbers in all of them side by side.
    pub fn side_by_side(predictions: Vec<u32>, tables: &[Scores]) -> Self {
        let rows = predictions.len();
        assert!(tables.iter().all(|table| table.len() == rows), "as many rows");
        let mut joined = Scores {
            width: tables.iter().map(|table| table.width).sum(),
            kinds: (0..rows as u32).collect(),
            predictions,
            numbers: match tables.first().map(|table| &table.numbers) {
                Some(Numbers::Exact(_)) => Numbers::Exact(Vec::new()),
                _ => Numbers::Floats(Vec::new()),
            },
            values: None,
        };
        for row in 0..rows {
            for table in tables {
                match (&mut joined.numbers, &table.numbers) {
                    (Numbers::Floats(all), Numbers::Floats(own)) => all.extend_from_slice(&own[table.cells(row)]),
                    (Numbers::Exact(all), Numbers::Exact(own)) => all.extend_from_slice(&own[table.cells(row)]),
                    _ => panic!("floats and fractions do not mix"),
                }
            }
        }
        joined
    }

    /// The same numbers with one prediction for all rows.
    pub fn with_prediction(mut self, prediction: u32) -> Self {
        self.predictions.fill(prediction);
        self
    }

    /// The same numbers with these predictions, one for each row; rows that share numbers may have several.
    pub fn with_predictions(self, predictions: &[u32]) -> Self {
        assert_eq!(predictions.len(), self.kinds.len(), "a prediction for each row");
        let (mut kinds, mut sources, mut found) = (Vec::with_capacity(self.kinds.len()), Vec::new(), Vec::new());
        let mut known = HashMap::new();
        for (&kind, &prediction) in self.kinds.iter().zip(predictions) {
            kinds.push(*known.entry((kind, prediction)).or_insert_with(|| {
                sources.push(kind as usize * self.width);
                found.push(prediction);
                found.len() as u32 - 1
            }));
        }
        let width = self.width;
        let numbers = match &self.numbers {
            Numbers::Floats(all) => {
                Numbers::Floats(sources.iter().flat_map(|&at| &all[at..at + width]).copied().collect())
            }
            Numbers::Exact(all) => {
                Numbers::Exact(sources.iter().flat_map(|&at| &all[at..at + width]).cloned().collect())
            }
        };
        Scores { width, kinds, predictions: found, numbers, values: None }
    }

    /// The rows at these positions, in this order.
    pub fn select(mut self, rows: &[u32]) -> Self {
        self.kinds = rows.iter().map(|&row| self.kinds[row as usize]).collect();
        self
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.kinds.clear();
        self.predictions.clear();
        self.numbers.clear();
        self.values.iter_mut().for_each(Numbers::clear);
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// How many rows have numbers of their own.
    pub fn distinct_rows(&self) -> usize {
        self.predictions.len()
    }

    /// How many numbers a row has: base values and scores.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The prediction of a row: 0 or 1, or a class.
    pub fn prediction(&self, row: usize) -> u32 {
        self.predictions[self.kinds[row] as usize]
    }

    /// Whether numbers are explained and not labels.
    pub fn has_values(&self) -> bool {
        self.values.is_some()
    }

    /// How many numbers of a row are explained; 0 for labels.
    pub fn values_of_a_row(&self) -> usize {
        self.values.as_ref().map_or(0, |values| values.len() / self.predictions.len().max(1))
    }

    /// What the groups of base value and scores of a row add up to in floats; nothing for labels and in fractions.
    pub fn value_floats(&self, row: usize) -> Option<&[f64]> {
        match self.values.as_ref()? {
            Numbers::Floats(values) => Some(&values[self.value_cells(row, values.len())]),
            Numbers::Exact(_) => None,
        }
    }

    /// The same in fractions.
    pub fn value_fractions(&self, row: usize) -> Option<&[RBig]> {
        match self.values.as_ref()? {
            Numbers::Floats(_) => None,
            Numbers::Exact(values) => Some(&values[self.value_cells(row, values.len())]),
        }
    }

    fn value_cells(&self, row: usize, values: usize) -> std::ops::Range<usize> {
        let groups = values / self.predictions.len();
        let start = self.kinds[row] as usize * groups;
        start..start + groups
    }

    /// The base value of a row, as a float.
    pub fn base_value(&self, row: usize) -> f64 {
        match &self.numbers {
            Numbers::Floats(numbers) => numbers[self.cells(row).start],
            Numbers::Exact(numbers) => numbers[self.cells(row).start].to_f64().value(),
        }
    }

    /// The scores of a row in floats.
    ///
    /// # Panics
    /// If the rows are exact.
    pub fn scores(&self, row: usize) -> &[f64] {
        let Numbers::Floats(numbers) = &self.numbers else { panic!("these rows are exact") };
        &numbers[self.cells(row)][1..]
    }

    /// Base value and scores of a row in floats; nothing if the rows are exact.
    pub fn floats(&self, row: usize) -> Option<&[f64]> {
        match &self.numbers {
            Numbers::Floats(numbers) => Some(&numbers[self.cells(row)]),
            Numbers::Exact(_) => None,
        }
    }

    /// Base value and scores of a row in fractions; nothing if the rows are floats.
    pub fn fractions(&self, row: usize) -> Option<&[RBig]> {
        match &self.numbers {
            Numbers::Floats(_) => None,
            Numbers::Exact(numbers) => Some(&numbers[self.cells(row)]),
        }
    }

    /// Where the numbers of a row are.
    pub(super) fn cells(&self, row: usize) -> std::ops::Range<usize> {
        let start = self.kinds[row] as usize * self.width;
        start..start + self.width
    }

    /// Calls for each distinct row with the first row that has its numbers.
    pub fn each_distinct<E>(&self, mut check: impl FnMut(usize) -> Result<(), E>) -> Result<(), E> {
        let mut seen = vec![false; self.predictions.len()];
        for (row, &kind) in self.kinds.iter().enumerate() {
            if !std::mem::replace(&mut seen[kind as usize], true) {
                check(row)?;
            }
        }
        Ok(())
    }

    /// A row as texts: the prediction, then its numbers.
    pub fn texts(&self, row: usize) -> Vec<String> {
        self.texts_of_classes(row, &[])
    }

    /// The same, with the numbers of each of these classes behind what they add up to.
    pub fn texts_of_classes(&self, row: usize, explained: &[ExplainedClass]) -> Vec<String> {
        let mut line = Vec::new();
        self.write_line(row, explained, &mut line);
        String::from_utf8_lossy(&line).split(',').map(String::from).collect()
    }

    /// Adds a row as texts with commas between them.
    pub(super) fn write_line(&self, row: usize, explained: &[ExplainedClass], line: &mut Vec<u8>) {
        if self.values.is_some() {
            return self.write_values(row, explained, line);
        }
        let (prediction, cells) = (self.prediction(row), self.cells(row));
        line.extend_from_slice(prediction.to_string().as_bytes());
        let of_class = self.width / explained.len().max(1);
        for (place, cell) in cells.enumerate() {
            let class = explained.get(place / of_class).filter(|_| place % of_class == 0);
            if let Some(class) = class {
                line.extend_from_slice(&[b',', b'0' + class.value(prediction)]);
            }
            line.push(b',');
            match &self.numbers {
                Numbers::Floats(numbers) => write_number(line, numbers[cell]),
                Numbers::Exact(numbers) => line.extend_from_slice(numbers[cell].to_string().as_bytes()),
            }
        }
    }
}

impl Scores {
    /// A row of explained numbers: first its class, where rows have one; then each number before its base value and scores.
    fn write_values(&self, row: usize, explained: &[ExplainedClass], line: &mut Vec<u8>) {
        if !explained.is_empty() {
            line.extend_from_slice(self.prediction(row).to_string().as_bytes());
            line.push(b',');
        }
        let cells = self.cells(row);
        let groups = self.values_of_a_row();
        let width = self.width / groups;
        for group in 0..groups {
            if group > 0 {
                line.push(b',');
            }
            match (self.value_floats(row), self.value_fractions(row)) {
                (Some(values), _) => write_number(line, values[group]),
                (_, Some(values)) => line.extend_from_slice(values[group].to_string().as_bytes()),
                _ => {}
            }
            for cell in cells.start + group * width..cells.start + (group + 1) * width {
                line.push(b',');
                match &self.numbers {
                    Numbers::Floats(numbers) => write_number(line, numbers[cell]),
                    Numbers::Exact(numbers) => line.extend_from_slice(numbers[cell].to_string().as_bytes()),
                }
            }
        }
    }
}

/// Cells of an input column that goes to the output as it is.
pub type KeptCells = ArrayRef;

/// The text of a kept cell; nothing if it is missing or has no text.
pub fn kept_text(cells: &KeptCells, row: usize) -> Option<String> {
    arrow_texts::text(cells, row).ok().filter(|_| cells.is_valid(row))
}

/// What takes a stream of results.
pub trait ScoreSink {
    /// Takes distinct rows, which get the next numbers, starting at 0.
    fn learn(&mut self, rows: &Scores);
    /// Writes learned rows by their numbers, beside the kept cells of the same rows.
    fn write(&mut self, numbers: &[u32], kept: &[KeptCells]) -> Result<(), DataError>;
    /// The memory that the learned rows take.
    fn learned_bytes(&self) -> usize;
    /// Forgets the learned rows: numbers start at 0 again.
    fn forget(&mut self);
}
