//! `boolshap predict`: the class of every row.

use crate::game_options::INPUTS;
use crate::terminal::{output_path, print, usage, with_progress};
use anyhow::{Context, bail};
use boolshap::data::{Entities, Reading, WholeFile, quote_csv};
use boolshap::workflow::{ModelOrCircuit, load_raw_model, numbered};
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// Give the class of every row
#[derive(Args)]
pub(crate) struct Predict {
    /// The model or circuit, or a booster of XGBoost (JSON) or LightGBM (text)
    pub(crate) model: PathBuf,
    /// The rows, CSV or Parquet: raw columns or bits, matched by name; - is standard input (CSV), and 'part-*.parquet'
    /// several files with the same columns
    pub(crate) data: PathBuf,
    /// Where to write the predictions as CSV: one column `prediction` with 0, 1 or the number of the class for each row
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// How to read the rows: auto (from the header), raw (values), or bits (0 and 1 for each feature)
    #[arg(long, value_parser = INPUTS, default_value = "auto")]
    input: String,
    /// Also write the name of each prediction, in a column `name`
    #[arg(long)]
    pub(crate) names: bool,
}

impl Predict {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        if self.output.extension().is_some_and(|ending| ending == "parquet") {
            return usage("predictions are written as CSV");
        }
        let reading: Reading = self.input.parse().map_err(anyhow::Error::msg)?;
        let output = output_path(&self.output, &[&self.model, &self.data])?;
        if let Some(model) = load_raw_model(&self.model)? {
            return self.run_raw(&model, &output);
        }
        let model = ModelOrCircuit::load(&self.model)?;
        let place = || output.display().to_string();
        let entities = Entities::open(&self.data, model.features(), model.binariser(), reading)?;
        let predictor = model.predictor()?;
        let mut file = WholeFile::create(&output).with_context(place)?;
        let names = model.prediction_names();
        let quoted = match (self.names, &names) {
            (false, _) => None,
            (true, Some(names)) => Some(names.iter().map(|name| quote_csv(name)).collect::<Vec<_>>()),
            (true, None) => bail!("{}: it does not say what its predictions are called", self.model.display()),
        };
        writeln!(file, "prediction{}", if self.names { ",name" } else { "" }).with_context(place)?;
        let rows = with_progress("predicting", |watch| {
            let mut rows = 0;
            for bits in entities {
                let bits = bits?;
                if let Some(numbers) = predictor.numbers(&bits, watch)? {
                    numbers.iter().try_for_each(|number| writeln!(file, "{number}")).with_context(place)?;
                    rows += numbers.len();
                    continue;
                }
                let classes = predictor.classes(&bits, watch)?;
                let write = |class: &u32| match &quoted {
                    None => writeln!(file, "{class}"),
                    Some(names) => writeln!(file, "{class},{}", names[*class as usize]),
                };
                classes.iter().try_for_each(write).with_context(place)?;
                rows += classes.len();
            }
            anyhow::Ok(rows)
        })?;
        file.finish().with_context(place)?;
        let meaning = names.map_or(String::new(), |names| format!(" ({})", numbered(&names)));
        print(&format!("{rows} predictions{meaning}: {}", self.output.display()))?;
        Ok(())
    }
}
