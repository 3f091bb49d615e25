//! What can be wrong with a table.

use crate::lit::Stopped;
use std::path::PathBuf;

/// Why a table could not be read, described or turned into bits. Rows are counted from 1, the header not included.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not a table, or is damaged.
    #[error("{}: {message}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong and where.
        message: String,
    },
    /// Two columns of one name.
    #[error("{}: the header has the column '{column}' twice", path.display())]
    DuplicateColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
    },
    /// A column that is needed and not there.
    #[error("{}: there is no column '{column}' (there are: {})", path.display(), .present.join(", "))]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The name that was looked for.
        column: String,
        /// The names in the header.
        present: Vec<String>,
    },
    /// A cell that cannot be what its column is.
    #[error("{}, row {row}, column '{column}': '{value}' {problem}", path.display())]
    Cell {
        /// The file.
        path: PathBuf,
        /// The row.
        row: u64,
        /// The column.
        column: String,
        /// What stands there.
        value: String,
        /// Why it does not fit.
        problem: String,
    },
    /// A column that cannot be what it was declared or guessed to be.
    #[error("{}: column '{column}' {problem}", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// Why not.
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
    /// A result in which two columns would have one name.
    #[error("two columns of the result would be called '{column}'")]
    ResultColumn {
        /// The name.
        column: String,
    },
    /// Stopped before it was done.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}
