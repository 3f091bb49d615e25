//! Tables and how they become bits.

#[cfg(feature = "arrow-stream")]
mod arrow_stream;
mod arrow_texts;
mod binarise;
mod bit_names;
mod bits;
mod blur;
mod cells;
mod csv_rows;
mod csv_source;
mod csv_text;
mod dataset;
mod dates;
mod delimiter;
mod encoding;
mod entities;
mod error;
mod exact_mean;
mod fit;
mod glob;
mod grid;
mod json_numbers;
mod json_rows;
mod missing;
mod number_text;
mod outputs;
mod packed;
#[cfg(feature = "parquet")]
mod parquet_pages;
mod plan;
mod profile;
mod quotes;
mod raw_rows;
mod row_index;
mod schema;
mod score_file;
mod score_means;
#[cfg(feature = "parquet")]
mod score_parquet;
mod scores;
mod seeded;
mod segments;
mod split;
mod supervised;
mod table;
mod tally;
#[cfg(feature = "parquet")]
mod thrift;
mod whole_file;

#[cfg(feature = "arrow-stream")]
pub use arrow_stream::bits_of_stream;
pub use binarise::{Binariser, Code, CodedColumn};
pub use bit_names::{OTHER, short_number};
pub use bits::Bits;
pub use blur::Blur;
pub use cells::{Cells, Misfit};
pub use dataset::{Dataset, FitOn, Preparation};
pub use dates::DatePart;
pub use entities::{Entities, EntityBatch, LOOKED_AT, Reading, bits_of_columns, reads_raw};
pub use error::DataError;
pub use exact_mean::{ExactSum, mean, quantile};
pub use fit::quantile_cuts;
pub use glob::matching_files;
pub use grid::{GRID, Grid};
pub use json_numbers::numbers_of_json;
pub use json_rows::{bits_of_json, each_in_json, short_text};
pub use missing::{MARKERS, MISSING, Missing, MissingNumbers};
pub use number_text::write_number;
pub use outputs::{check_outputs, is_standard_output};
pub use packed::PackedRows;
pub use plan::{ColumnPlan, Note, Plan};
pub use profile::MAX_CATEGORIES;
pub use raw_rows::RawRows;
pub use row_index::RowIndex;
pub use schema::{Cut, Keep, Kind, Kinds, named_kind};
pub use score_file::{ExplainedClass, ScoreColumns, ScoreFile};
pub use score_means::{Means, ScoreMeans};
pub use scores::{KeptCells, Numbers, ScoreSink, Scores, kept_text};
pub use seeded::Seeded;
pub use segments::read_segments;
pub use split::split;
pub use supervised::tree_cuts;
pub use table::{CHUNK_ROWS, Chunk, Chunks, Table, quote_csv};
pub use tally::Tally;
pub use whole_file::{SpareFolder, WholeFile, remove_unfinished_files};

use table::check_names;
