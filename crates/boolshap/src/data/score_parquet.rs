//! Writes files of scores in Parquet.
//!
//! A row group ends when its columns hold about [`ROW_GROUP_BYTES`], however wide the table is, so memory is bounded.
//! Columns are compressed with Zstandard; repeated numbers take almost no space, because Parquet stores them in a
//! dictionary.

use super::{DataError, ExplainedClass, KeptCells, Numbers, ScoreColumns, Scores, WholeFile};
use arrow_array::{Float64Array, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// How much is buffered before it is written.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// A Parquet file, and the scores of the distinct rows so far.
pub(super) struct ParquetScores {
    writer: ArrowWriter<WholeFile>,
    schema: SchemaRef,
    explained: Vec<ExplainedClass>,
    learned: Scores,
}

impl ParquetScores {
    pub(super) fn create(path: &Path, columns: &ScoreColumns) -> Result<Self, DataError> {
        let number = if columns.exact { DataType::Utf8 } else { DataType::Float64 };
        let of_class = 1 + columns.numbers.len() / columns.explained.len().max(1);
        let is_class = columns.values > 0 && !columns.explained.is_empty();
        let computed = |(index, name): (usize, String)| {
            if columns.values > 0 {
                let kind = if is_class && index == 0 { DataType::Int32 } else { number.clone() };
                return FieldRef::new(Field::new(name, kind, false));
            }
            let is_value = !columns.explained.is_empty() && index > 0 && (index - 1) % of_class == 0;
            let kind = if index == 0 || is_value { DataType::Int32 } else { number.clone() };
            FieldRef::new(Field::new(name, kind, false))
        };
        let fields = columns.kept.iter().cloned().chain(columns.results().into_iter().enumerate().map(computed));
        let about: HashMap<String, String> =
            columns.about.iter().map(|(key, value)| (format!("boolshap.{key}"), value.clone())).collect();
        let schema: SchemaRef = Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), about));
        let file = WholeFile::create(path).map_err(|source| DataError::Io { path: path.into(), source })?;
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(zstd).build();
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(|e| wrong(path, e))?;
        let scores = columns.numbers.len() - 1;
        let explained = columns.explained.clone();
        Ok(ParquetScores { writer, schema, explained, learned: Scores::empty(scores, columns.exact) })
    }

    pub(super) fn learn(&mut self, rows: &Scores) {
        self.learned.append(rows.clone());
    }

    pub(super) fn write(&mut self, path: &Path, numbers: &[u32], kept: &[KeptCells]) -> Result<(), DataError> {
        let width = self.learned.width();
        let rows = || numbers.iter().map(|&number| number as usize);
        let prediction = rows().map(|row| self.learned.prediction(row) as i32);
        let mut columns = kept.to_vec();
        let groups = self.learned.values_of_a_row();
        if groups == 0 || !self.explained.is_empty() {
            columns.push(Arc::new(Int32Array::from_iter_values(prediction)));
        }
        let of_class = width / groups.max(self.explained.len()).max(1);
        for column in 0..width {
            if groups > 0 {
                if column % of_class == 0 {
                    columns.push(self.value_column(numbers, column / of_class));
                }
            } else if let Some(class) = self.explained.get(column / of_class).filter(|_| column % of_class == 0) {
                let value = rows().map(|row| i32::from(class.value(self.learned.prediction(row))));
                columns.push(Arc::new(Int32Array::from_iter_values(value)));
            }
            columns.push(match &self.learned.numbers {
                Numbers::Floats(floats) => {
                    // Adding 0 turns -0 into 0, so that zero scores have no sign.
                    let cells = rows().map(|row| floats[self.learned.cells(row).start + column] + 0.0);
                    Arc::new(Float64Array::from_iter_values(cells))
                }
                Numbers::Exact(numbers) => {
                    let cells = rows().map(|row| numbers[self.learned.cells(row).start + column].to_string());
                    Arc::new(StringArray::from_iter_values(cells))
                }
            });
        }
        let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(|e| wrong(path, e.into()))?;
        self.writer.write(&batch).map_err(|e| wrong(path, e))?;
        if self.writer.memory_size() > ROW_GROUP_BYTES {
            self.writer.flush().map_err(|e| wrong(path, e))?;
        }
        Ok(())
    }

    /// The sum of base value and scores of a group.
    fn value_column(&self, numbers: &[u32], group: usize) -> KeptCells {
        let rows = || numbers.iter().map(|&number| number as usize);
        match self.learned.value_floats(0) {
            Some(_) => {
                let cells = rows().filter_map(|row| Some(self.learned.value_floats(row)?[group] + 0.0));
                Arc::new(Float64Array::from_iter_values(cells))
            }
            None => {
                let cells = rows().filter_map(|row| Some(self.learned.value_fractions(row)?[group].to_string()));
                Arc::new(StringArray::from_iter_values(cells))
            }
        }
    }

    pub(super) fn learned_bytes(&self) -> usize {
        self.learned.numbers.bytes()
    }

    pub(super) fn forget(&mut self) {
        self.learned.clear();
    }

    pub(super) fn finish(self, path: &Path) -> Result<(), DataError> {
        let file = self.writer.into_inner().map_err(|e| wrong(path, e))?;
        file.finish().map_err(|source| DataError::Io { path: path.into(), source })
    }
}

fn wrong(path: &Path, error: ParquetError) -> DataError {
    let message = error.to_string();
    if let ParquetError::External(cause) = error
        && let Ok(source) = cause.downcast::<std::io::Error>()
    {
        return DataError::Io { path: path.into(), source: *source };
    }
    DataError::Format { path: path.into(), message }
}
