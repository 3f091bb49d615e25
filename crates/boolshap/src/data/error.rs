//! Errors when reading and encoding data.

use crate::lit::{Remedy, Stopped};
use std::path::{Path, PathBuf};

/// Why a table could not be read, profiled or converted to bits. Rows are counted from 1 without the header.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// An operating system error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not a table, or is damaged.
    #[error("{}: {message}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
    /// Two columns have the same name.
    #[error("{}: the header has the column '{column}' twice", path.display())]
    DuplicateColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
    },
    /// A required column is missing.
    #[error("{}: there is no column '{column}' (there are: {})", path.display(), .present.join(", "))]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The missing column.
        column: String,
        /// The names in the header.
        present: Vec<String>,
    },
    /// A cell has the wrong type or value.
    #[error("{}, row {row}, column '{column}': '{value}' {problem}", path.display())]
    Cell {
        /// The file.
        path: PathBuf,
        /// The row.
        row: u64,
        /// The column.
        column: String,
        /// The cell's text.
        value: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A column does not fit its declared or recognised kind.
    #[error("{}: column '{column}' {problem}", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A text column with too many distinct values to get a bit for each by default.
    #[error("{}: column '{column}' holds more than {limit} different texts", path.display())]
    TooManyCategories {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// How many values get a bit each by default.
        limit: usize,
    },
    /// All problems with the columns of a table.
    #[error("{}", listed(path, problems))]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong with each column.
        problems: Vec<DataError>,
        /// Settings that would solve the problems.
        remedy: Option<Remedy>,
    },
    /// Raw values for a model that only takes bits.
    #[error("{}: raw values cannot be read: the model does not say how they become bits", path.display())]
    NoSchema {
        /// The file.
        path: PathBuf,
    },
    /// Rows that could be raw values or bits.
    #[error("{}: these rows could be raw values or bits: every value is 0 or 1, and the columns of both are there", path.display())]
    RawOrBits {
        /// The file.
        path: PathBuf,
    },
    /// Rows with class counts, where each line should be a single row.
    #[error("{}: column '{column}' counts rows: this is a tally of rows, not the rows themselves", path.display())]
    Tally {
        /// The file.
        path: PathBuf,
        /// The first column of counts.
        column: String,
    },
    /// An image that cannot be read.
    #[error("{}: {message}", path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A wrong value in a request, named by its place there.
    #[error("{field}: {problem}")]
    Field {
        /// Its place, as in `entities[3].age`.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A complete entity that is not of the requested kind, raw or bits.
    #[error("{field}: {problem}")]
    OtherReading {
        /// Its place, as in `entities[3]`.
        field: String,
        /// What it holds instead.
        problem: &'static str,
    },
    /// More rows than allowed at once.
    #[error("more than {most} rows at once")]
    TooManyRows {
        /// How many are allowed.
        most: usize,
    },
    /// Two columns of a result would have the same name.
    #[error("two columns of the result would be called '{column}'")]
    ResultColumn {
        /// The name.
        column: String,
    },
    /// An output is one of the inputs.
    #[error("{}: this is an input{}, and results are not written over what they are made from", path.display(), also(path, input))]
    OverInput {
        /// The output.
        path: PathBuf,
        /// The name of the same file among the inputs.
        input: PathBuf,
    },
    /// Two outputs are the same file.
    #[error("{}: two results cannot be written to one file", path.display())]
    SameOutput {
        /// The file.
        path: PathBuf,
    },
    /// Stopped before finishing.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl DataError {
    /// What the user can do about it.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            DataError::Table { remedy, .. } => remedy.clone(),
            DataError::RawOrBits { .. } => Some(Remedy::Input),
            _ => None,
        }
    }

    /// The same error with the file name that the user knows.
    pub(super) fn about_file(mut self, name: &Path) -> Self {
        if let DataError::Io { path, .. } | DataError::Format { path, .. } = &mut self {
            *path = name.into();
        }
        self
    }
}

/// The other name of a file, if it has one.
fn also(path: &Path, input: &Path) -> String {
    if path == input { String::new() } else { format!(" ({})", input.display()) }
}

/// A single problem as it is; several, one per line.
fn listed(path: &Path, problems: &[DataError]) -> String {
    if let [only] = problems {
        return only.to_string();
    }
    let place = path.display().to_string();
    let line = |problem: &DataError| {
        let text = problem.to_string();
        let text = text.strip_prefix(&place).unwrap_or(&text).trim_start_matches([':', ',', ' ']);
        format!("\n  {text}")
    };
    let lines: String = problems.iter().map(line).collect();
    format!("{place}: {} columns cannot be read as they are:{lines}", problems.len())
}
