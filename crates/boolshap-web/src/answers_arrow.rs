//! Explanations as an Arrow stream, written piece by piece.

use crate::answers::{Answer, PIECE};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use boolshap::workflow::Scope;
use std::sync::Arc;

impl Answer {
    /// Columns `prediction`, `base_value` and one per player; if each class is explained, a colon and the class follow
    /// the name.
    pub(crate) fn arrow(self) -> impl Iterator<Item = Result<Vec<u8>, ArrowError>> {
        let rows_at_once = (PIECE / self.scores.width()).clamp(64, 8192);
        let (mut writer, mut row) = (None, 0);
        std::iter::from_fn(move || {
            (row < self.scores.len()).then(|| {
                let last = self.scores.len().min(row + rows_at_once);
                let batch = self.batch(row..last)?;
                row = last;
                let mut writing = match writer.take() {
                    Some(writing) => writing,
                    None => StreamWriter::try_new(Vec::new(), &batch.schema())?,
                };
                writing.write(&batch)?;
                if row == self.scores.len() {
                    return writing.into_inner();
                }
                let written = std::mem::take(writing.get_mut());
                writer = Some(writing);
                Ok(written)
            })
        })
    }

    /// The explained score of a class, the sum of its base value and scores.
    fn value_array(&self, rows: std::ops::Range<usize>, class: usize) -> ArrayRef {
        match self.scores.value_floats(0) {
            Some(_) => {
                let float = |row| Some(self.scores.value_floats(row)?[class]);
                Arc::new(Float64Array::from_iter(rows.map(float)))
            }
            None => {
                let text = |row| Some(self.scores.value_fractions(row)?[class].to_string());
                Arc::new(StringArray::from_iter(rows.map(text)))
            }
        }
    }

    fn batch(&self, rows: std::ops::Range<usize>) -> Result<RecordBatch, ArrowError> {
        let predictions: UInt32Array = rows.clone().map(|row| Some(self.scores.prediction(row))).collect();
        let mut columns: Vec<(String, ArrayRef, bool)> = match (self.scores.has_values(), self.decides) {
            (false, _) => vec![("prediction".into(), Arc::new(predictions), false)],
            (true, true) => vec![("class".into(), Arc::new(predictions), false)],
            (true, false) => Vec::new(),
        };
        for place in 0..self.scores.width() {
            let (class, place_in_class) = (place / (self.players.len() + 1), place % (self.players.len() + 1));
            let name = if place_in_class == 0 { "base_value" } else { &self.players[place_in_class - 1] };
            let in_class =
                |name: &str| if self.scope == Scope::Each { format!("{name}:{class}") } else { name.to_string() };
            if let (0, Some(explained)) = (place_in_class, self.explained.get(class)) {
                let value = |row| Some(u32::from(explained.value(self.scores.prediction(row))));
                let values: UInt32Array = rows.clone().map(value).collect();
                columns.push((in_class("explained_value"), Arc::new(values), false));
            }
            if place_in_class == 0 && self.scores.has_values() {
                columns.push((in_class("prediction"), self.value_array(rows.clone(), class), false));
            }
            let name = in_class(name);
            let array: ArrayRef = match self.scores.floats(0) {
                Some(_) => {
                    let float = |row| Some(self.scores.floats(row)?[place]);
                    Arc::new(Float64Array::from_iter(rows.clone().map(float)))
                }
                None => {
                    let text = |row| Some(self.scores.fractions(row)?[place].to_string());
                    Arc::new(StringArray::from_iter(rows.clone().map(text)))
                }
            };
            columns.push((name, array, false));
        }
        RecordBatch::try_from_iter_with_nullable(columns)
    }
}
