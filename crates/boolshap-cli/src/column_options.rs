//! The options that say what the columns of a table are, for `train` and `inspect`.

use boolshap::Error;
use boolshap::data::MissingNumbers;
use boolshap::workflow::TrainRequest;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct ColumnOptions {
    /// A column's kind: NAME=numeric[:mean|:median|:bins=K|:supervised=K|:at=A,B,..], boolean, categorical[:top=K|:min=N],
    /// date:year,month,weekday, date:ordinal or ignored
    #[arg(long = "column", value_name = "NAME=KIND")]
    columns: Vec<String>,
    /// Kinds of columns as a JSON object, {"NAME": "KIND", ...}
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Columns to leave out
    #[arg(long, value_name = "COLUMN,...")]
    ignore: Vec<String>,
    /// How missing numbers are coded: zero, or an extra bit in columns that have some
    #[arg(long, value_name = "zero|bit", default_value = "zero")]
    missing: MissingNumbers,
    /// The texts that mean a missing value, besides blank ones and NaN among numbers
    #[arg(long, value_name = "TEXT,...", value_delimiter = ',', default_value = "NA,N/A,NaN,nan,null,NULL,?")]
    missing_values: Vec<String>,
}

impl ColumnOptions {
    pub(crate) fn fill(&self, request: &mut TrainRequest) -> Result<(), Error> {
        self.schema.iter().try_for_each(|path| request.read_schema(path))?;
        request.set_columns(&self.columns)?;
        request.ignore = self.ignore.clone();
        request.missing = self.missing;
        request.missing_values = self.missing_values.iter().filter(|text| !text.is_empty()).cloned().collect();
        Ok(())
    }
}
