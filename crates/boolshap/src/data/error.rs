//! Errors of this stage.

use crate::lit::Stopped;
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
    /// A column of texts with too many different ones to become a bit each without asking.
    #[error("{}: column '{column}' holds more than {limit} different texts", path.display())]
    TooManyCategories {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// How many become bits without asking.
        limit: usize,
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
        /// The same file as it is called among the inputs.
        input: PathBuf,
    },
    /// Two outputs are one file.
    #[error("{}: two results cannot be written to one file", path.display())]
    SameOutput {
        /// The file.
        path: PathBuf,
    },
    /// Stopped before it finished.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// The other name of a file, if it has one.
fn also(path: &Path, input: &Path) -> String {
    if path == input { String::new() } else { format!(" ({})", input.display()) }
}
