//! Tables and how they become bits.

mod binarise;
mod bits;
mod dataset;
mod entities;
mod error;
mod profile;
mod schema;
mod seeded;
mod split;
mod table;
mod tally;
mod whole_file;

pub use binarise::{Binariser, Code, CodedColumn};
pub use bits::Bits;
pub use dataset::{Dataset, FitOn, Preparation};
pub use entities::{Entities, Reading};
pub use error::DataError;
pub use profile::MAX_CATEGORIES;
pub use schema::{Cut, Kind, Kinds};
pub use seeded::Seeded;
pub use split::split;
pub use table::{CHUNK_ROWS, Cells, Chunk, Chunks, Misfit, Table, quote_csv};
pub use tally::Tally;
pub use whole_file::{WholeFile, remove_unfinished_files};
