//! Tables and how they become bits.

mod binarise;
mod bits;
mod cells;
mod csv_text;
mod dataset;
mod entities;
mod error;
mod exact_mean;
mod number_text;
mod outputs;
mod packed;
#[cfg(feature = "parquet")]
mod parquet_pages;
mod profile;
mod quotes;
mod row_index;
mod schema;
mod score_file;
mod score_means;
#[cfg(feature = "parquet")]
mod score_parquet;
mod scores;
mod seeded;
mod split;
mod table;
mod tally;
#[cfg(feature = "parquet")]
mod thrift;
mod whole_file;

pub use binarise::{Binariser, Code, CodedColumn};
pub use bits::Bits;
pub use cells::{Cells, Misfit};
pub use dataset::{Dataset, FitOn, Preparation};
pub use entities::{Entities, EntityBatch, Reading, bits_of_columns, reads_raw};
pub use error::DataError;
pub use exact_mean::{ExactSum, mean, quantile};
pub use number_text::write_number;
pub use outputs::{check_outputs, is_standard_output};
pub use packed::PackedRows;
pub use profile::MAX_CATEGORIES;
pub use row_index::RowIndex;
pub use schema::{Cut, Kind, Kinds};
pub use score_file::{ScoreColumns, ScoreFile};
pub use score_means::{Means, ScoreMeans};
pub use scores::{KeptCells, Numbers, ScoreSink, Scores, kept_text};
pub use seeded::Seeded;
pub use split::split;
pub use table::{CHUNK_ROWS, Chunk, Chunks, Table, quote_csv};
pub use tally::Tally;
pub use whole_file::{SpareFolder, WholeFile, remove_unfinished_files};
