//! Files of scores, CSV or Parquet: kept columns of the input, then `prediction`, `base_value`, and a column for each
//! player.
//!
//! | | CSV | Parquet |
//! | --- | --- | --- |
//! | kept columns | their text, quoted where needed | their own type (text, if they come from CSV) |
//! | prediction | 0 or 1 | int8, 0 or 1 |
//! | base value and scores | shortest decimals that read back as the same float | float64 |
//! | the same, exact | fractions `a/b`, integers as `1` | text |
//!
//! The file is there whole or not at all. Learned rows are kept as the bytes of their lines for CSV, as numbers for
//! Parquet.

#[cfg(feature = "parquet")]
use super::score_parquet::ParquetScores;
use super::{DataError, KeptCells, ScoreRows, ScoreSink, WholeFile, quote_csv};
use arrow_array::{Array, StringArray, cast::AsArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, FieldRef};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The columns of a file of scores.
#[derive(Debug, Clone)]
pub struct ScoreColumns {
    /// The columns copied from the input, in front.
    pub kept: Vec<FieldRef>,
    /// The names of those who share the prediction, one column each.
    pub players: Vec<String>,
    /// Whether numbers are exact fractions.
    pub exact: bool,
}

impl ScoreColumns {
    /// The names of what is computed: `prediction`, `base_value`, then the players.
    pub fn results(&self) -> impl Iterator<Item = &str> {
        ["prediction", "base_value"].into_iter().chain(self.players.iter().map(String::as_str))
    }

    /// All names in order; an error if two columns would have the same.
    pub fn names(&self) -> Result<Vec<&str>, DataError> {
        let names: Vec<&str> = self.kept.iter().map(|field| field.name().as_str()).chain(self.results()).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(DataError::ResultColumn { column: pair[0].into() }),
            None => Ok(names),
        }
    }
}

/// A file of scores being written. Dropping it without [`ScoreFile::finish`] leaves no trace.
pub struct ScoreFile {
    path: PathBuf,
    format: Format,
}

enum Format {
    Csv(CsvScores),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetScores>),
}

impl ScoreFile {
    /// Starts a file: Parquet if its name ends in `.parquet`, else CSV.
    pub fn create(path: &Path, columns: &ScoreColumns) -> Result<Self, DataError> {
        let names = columns.names()?;
        let io = |source| DataError::Io { path: path.into(), source };
        let is_parquet = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"));
        let format = if is_parquet {
            parquet_file(path, columns)?
        } else {
            let mut file = WholeFile::create(path).map_err(io)?;
            let header: Vec<_> = names.into_iter().map(quote_csv).collect();
            writeln!(file, "{}", header.join(",")).map_err(io)?;
            Format::Csv(CsvScores { file, lines: Vec::new(), ends: Vec::new(), output: Vec::new() })
        };
        Ok(ScoreFile { path: path.into(), format })
    }

    /// Puts the complete file in its place.
    pub fn finish(self) -> Result<(), DataError> {
        let io = |source| DataError::Io { path: self.path.clone(), source };
        match self.format {
            Format::Csv(csv) => csv.file.finish().map_err(io),
            #[cfg(feature = "parquet")]
            Format::Parquet(parquet) => parquet.finish(&self.path),
        }
    }
}

impl ScoreSink for ScoreFile {
    fn learn(&mut self, rows: &ScoreRows) {
        match &mut self.format {
            Format::Csv(csv) => csv.learn(rows),
            #[cfg(feature = "parquet")]
            Format::Parquet(parquet) => parquet.learn(rows),
        }
    }

    fn write(&mut self, numbers: &[u32], kept: &[KeptCells]) -> Result<(), DataError> {
        match &mut self.format {
            Format::Csv(csv) => csv.write(&self.path, numbers, kept),
            #[cfg(feature = "parquet")]
            Format::Parquet(parquet) => parquet.write(&self.path, numbers, kept),
        }
    }

    fn learned_bytes(&self) -> usize {
        match &self.format {
            Format::Csv(csv) => csv.lines.len() + csv.ends.len() * size_of::<usize>(),
            #[cfg(feature = "parquet")]
            Format::Parquet(parquet) => parquet.learned_bytes(),
        }
    }

    fn forget(&mut self) {
        match &mut self.format {
            Format::Csv(csv) => {
                csv.lines.clear();
                csv.ends.clear();
            }
            #[cfg(feature = "parquet")]
            Format::Parquet(parquet) => parquet.forget(),
        }
    }
}

/// A CSV file, and the lines learned for it without their kept cells.
struct CsvScores {
    file: WholeFile,
    lines: Vec<u8>,
    /// Where each line ends.
    ends: Vec<usize>,
    output: Vec<u8>,
}

impl CsvScores {
    fn learn(&mut self, rows: &ScoreRows) {
        for row in 0..rows.len() {
            rows.write_line(row, &mut self.lines);
            self.lines.push(b'\n');
            self.ends.push(self.lines.len());
        }
    }

    fn write(&mut self, path: &Path, numbers: &[u32], kept: &[KeptCells]) -> Result<(), DataError> {
        let kept = kept_texts(path, kept)?;
        self.output.clear();
        for (row, &number) in numbers.iter().enumerate() {
            for column in &kept {
                let text = if column.is_valid(row) { column.value(row) } else { "" };
                self.output.extend_from_slice(quote_csv(text).as_bytes());
                self.output.push(b',');
            }
            let number = number as usize;
            let start = if number == 0 { 0 } else { self.ends[number - 1] };
            self.output.extend_from_slice(&self.lines[start..self.ends[number]]);
        }
        self.file.write_all(&self.output).map_err(|source| DataError::Io { path: path.into(), source })
    }
}

/// Kept cells as texts: a text as it is, numbers, times and the rest as Arrow shows them.
fn kept_texts(path: &Path, kept: &[KeptCells]) -> Result<Vec<StringArray>, DataError> {
    let options = FormatOptions::new();
    let texts = |column: &KeptCells| {
        if let DataType::Utf8 = column.data_type() {
            return Ok(column.as_string::<i32>().clone());
        }
        let formatter = ArrayFormatter::try_new(column.as_ref(), &options)?;
        let cell = |row| column.is_valid(row).then(|| formatter.value(row).try_to_string()).transpose();
        (0..column.len()).map(cell).collect::<Result<StringArray, ArrowError>>()
    };
    let wrong = |error: ArrowError| DataError::Format { path: path.into(), message: error.to_string() };
    kept.iter().map(texts).collect::<Result<_, _>>().map_err(wrong)
}

#[cfg(feature = "parquet")]
fn parquet_file(path: &Path, columns: &ScoreColumns) -> Result<Format, DataError> {
    Ok(Format::Parquet(Box::new(ParquetScores::create(path, columns)?)))
}

#[cfg(not(feature = "parquet"))]
fn parquet_file(path: &Path, _: &ScoreColumns) -> Result<Format, DataError> {
    let message = "Parquet, which this build cannot write (cargo feature `parquet` is off)".into();
    Err(DataError::Format { path: path.into(), message })
}
