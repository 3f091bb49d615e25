//! The rows of a CSV text as columns of texts, one batch after another.
//!
//! csv-core splits the text into records. The cells of a batch are kept in one buffer, from which each wanted column is copied.
//! A row must have as many cells as the header. An empty cell is missing, in quotes or not.

use super::csv_source::READ_BYTES;
use super::csv_text::CsvText;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{ArrowError, SchemaRef};
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

/// A batch ends early once its cells hold this many bytes, and a longer cell is refused: an array's offsets have 31 bits.
const BATCH_BYTES: usize = 1 << 28;

/// The names in the header of a text that holds at least the header line; none if it is empty.
pub(super) fn header(start: &[u8], delimiter: u8) -> Result<Vec<String>, ArrowError> {
    let mut records = Records::new(delimiter, usize::MAX);
    let mut start = start;
    records.read(&mut start)?;
    (0..records.count).map(|place| Ok(records.cell(records.text()?, place)?.to_string())).collect()
}

/// Reads batches of rows.
pub(super) struct CsvRows<R> {
    text: BufReader<CsvText<R>>,
    records: Records,
    /// The wanted columns and their places in a row.
    schema: SchemaRef,
    wanted: Vec<usize>,
    rows: usize,
}

impl<R: Read> CsvRows<R> {
    /// The columns at the places `wanted` of a table with these columns, at most `rows` rows in a batch.
    pub(super) fn new(
        text: CsvText<R>,
        columns: &SchemaRef,
        delimiter: u8,
        wanted: &[usize],
        rows: usize,
    ) -> Result<Self, ArrowError> {
        let mut text = BufReader::with_capacity(READ_BYTES, text);
        let mut records = Records::new(delimiter, columns.fields().len());
        records.read(&mut text)?;
        Ok(CsvRows { text, records, schema: Arc::new(columns.project(wanted)?), wanted: wanted.to_vec(), rows })
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let records = &mut self.records;
        (records.length, records.count) = (0, 0);
        let mut rows = 0;
        while rows < self.rows && records.length < BATCH_BYTES && records.read(&mut self.text)? {
            rows += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        let text = records.text()?;
        let column = |&place: &usize| -> Result<ArrayRef, ArrowError> {
            let cell = |row| records.cell(text, row * records.expected + place);
            let cells = (0..rows).map(|row| Ok(Some(cell(row)?).filter(|cell| !cell.is_empty())));
            Ok(Arc::new(cells.collect::<Result<StringArray, ArrowError>>()?))
        };
        let columns = self.wanted.iter().map(column).collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map(Some)
    }
}

impl<R: Read> Iterator for CsvRows<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batch().transpose()
    }
}

/// The records of a batch.
struct Records {
    reader: Reader,
    /// The number of cells of every record.
    expected: usize,
    /// The cells without their quotes, one after another, and where each ends; both are longer than what is in use.
    cells: Vec<u8>,
    ends: Vec<usize>,
    length: usize,
    count: usize,
}

impl Records {
    fn new(delimiter: u8, expected: usize) -> Self {
        let reader = ReaderBuilder::new().delimiter(delimiter).build();
        Records { reader, expected, cells: vec![0; 1024], ends: vec![0; 64], length: 0, count: 0 }
    }

    /// Reads one more record; false at the end of the text.
    fn read(&mut self, text: &mut impl BufRead) -> Result<bool, ArrowError> {
        let line = self.next_line(text)?;
        let (start, first) = (self.length, self.count);
        loop {
            // Empty input tells the reader that the text has ended.
            let input = text.fill_buf()?;
            let (result, read, written, ended) =
                self.reader.read_record(input, &mut self.cells[self.length..], &mut self.ends[self.count..]);
            text.consume(read);
            self.length += written;
            self.count += ended;
            let (found, expected) = (self.count - first, self.expected);
            let problem = match result {
                ReadRecordResult::End => return Ok(false),
                ReadRecordResult::Record if expected == usize::MAX || found == expected => {
                    // The reader counts from the start of the record.
                    self.ends[first..self.count].iter_mut().for_each(|end| *end += start);
                    return Ok(true);
                }
                ReadRecordResult::Record if found == 1 => format!("has 1 cell, but the header has {expected}"),
                ReadRecordResult::Record => format!("has {found} cells, but the header has {expected}"),
                ReadRecordResult::OutputEndsFull if found > expected => {
                    format!("has more cells than the header, which has {expected}")
                }
                ReadRecordResult::OutputFull if self.length - start > BATCH_BYTES => {
                    "begins a row of more than 256 MiB".into()
                }
                ReadRecordResult::InputEmpty => continue,
                ReadRecordResult::OutputFull => {
                    self.cells.resize(2 * self.cells.len(), 0);
                    continue;
                }
                ReadRecordResult::OutputEndsFull => {
                    self.ends.resize(2 * self.ends.len(), 0);
                    continue;
                }
            };
            return Err(ArrowError::CsvError(format!("line {line} {problem}")));
        }
    }

    /// Passes over what is left of the last line end, and blank lines: the number of the line where the next record begins.
    fn next_line(&mut self, text: &mut impl BufRead) -> Result<u64, ArrowError> {
        loop {
            let input = text.fill_buf()?;
            let ends = input.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
            if ends == 0 {
                return Ok(self.reader.line());
            }
            // No record begins here, so nothing is written.
            self.reader.read_record(&input[..ends], &mut self.cells[self.length..], &mut self.ends[self.count..]);
            text.consume(ends);
        }
    }

    /// All cells, without what separates them.
    fn text(&self) -> Result<&str, ArrowError> {
        std::str::from_utf8(&self.cells[..self.length]).map_err(|_| not_utf8())
    }

    /// A cell of the batch, out of its text. Two halves of a character in neighbouring cells are no character.
    fn cell<'t>(&self, text: &'t str, place: usize) -> Result<&'t str, ArrowError> {
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        text.get(start..self.ends[place]).ok_or_else(not_utf8)
    }
}

fn not_utf8() -> ArrowError {
    ArrowError::CsvError("a cell is not UTF-8".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::csv_text::CsvText;
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_schema::{DataType, Field, Schema};
    use proptest::prelude::*;

    type Rows = Vec<Vec<Option<String>>>;

    /// All cells of some columns of a text, its first line being the header.
    fn rows_of(text: &str, wanted: &[usize], batch: usize) -> Result<Rows, String> {
        let names = header(text.as_bytes(), b',').map_err(|error| error.to_string())?;
        let fields: Vec<_> = names.iter().map(|name| Field::new(name, DataType::Utf8, true)).collect();
        let checked = CsvText::new(text.as_bytes(), names.len(), b",");
        let found = CsvRows::new(checked, &Arc::new(Schema::new(fields)), b',', wanted, batch);
        let mut rows = Vec::new();
        for found in found.map_err(|error| error.to_string())? {
            let found = found.map_err(|error| error.to_string())?;
            assert!(0 < found.num_rows() && found.num_rows() <= batch);
            let cell =
                |column: &ArrayRef, row| column.is_valid(row).then(|| column.as_string::<i32>().value(row).into());
            let row = |row| found.columns().iter().map(|column| cell(column, row)).collect();
            rows.extend((0..found.num_rows()).map(row));
        }
        Ok(rows)
    }

    fn quoted(cell: &str) -> String {
        format!("\"{}\"", cell.replace('"', "\"\""))
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            cells in prop::collection::vec(prop::collection::vec("[a,\"\n\ré ]{0,4}", 3), 0..9),
            (batch, line_end, first, second) in (1..5usize, prop::sample::select(vec!["\n", "\r\n"]), 0..3usize, 0..3usize),
        ) {
            let line = |row: &Vec<String>| row.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + line_end;
            let text = format!("x,\"y\",z{line_end}") + &cells.iter().map(line).collect::<String>();
            let kept = |cell: &String| Some(cell.clone()).filter(|cell| !cell.is_empty());
            let expected: Rows = cells.iter().map(|row| vec![kept(&row[first]), kept(&row[second])]).collect();
            prop_assert_eq!(rows_of(&text, &[first, second], batch), Ok(expected));
        }
    }

    #[test]
    fn a_row_with_other_cells_than_the_header_is_named_by_its_line() {
        for (text, problem) in [
            ("a,b\n1,2\n3\n", "line 3 has 1 cell, but the header has 2"),
            ("a,b\r\n1,2\r\n\r\n3,4,5", "line 4 has 3 cells, but the header has 2"),
            ("a,b\n\"1\n\n\",2\n3,4,5\n", "line 5 has 3 cells, but the header has 2"),
            ("\n\na,b\n1,2,3\n", "line 4 has 3 cells, but the header has 2"),
        ] {
            assert_eq!(rows_of(text, &[0], 9), Err(format!("Csv error: {problem}")), "{text:?}");
        }
        let wide = format!("a,b\n1,2\n{}\n", ",".repeat(100));
        assert!(rows_of(&wide, &[0], 9).unwrap_err().ends_with("line 3 has more cells than the header, which has 2"));
    }

    #[test]
    fn long_cells_wide_rows_and_rows_of_no_wanted_column_are_read() {
        let (cell, width) = ("é".repeat(100_000), 500);
        let text = format!(
            "{}\n{}{cell}\n",
            (0..width).map(|n| n.to_string()).collect::<Vec<_>>().join(","),
            ",".repeat(width - 1)
        );
        assert_eq!(rows_of(&text, &[499, 0], 9), Ok(vec![vec![Some(cell), None]]));
        assert_eq!(rows_of("a\n1\n2\n3", &[], 2), Ok(vec![vec![]; 3]));
        assert_eq!(header(b"", b',').unwrap(), Vec::<String>::new());
    }
}
