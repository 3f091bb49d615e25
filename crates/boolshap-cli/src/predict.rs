//! `boolshap predict`: the class of every row.

use crate::terminal::{output_path, print, usage, with_progress};
use anyhow::Context;
use boolshap::circuit::{self, Circuit, NamedCircuit};
use boolshap::data::{Binariser, Entities, Reading, WholeFile};
use boolshap::model::{Evaluator, Model};
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Tell the class of every row
#[derive(Args)]
pub(crate) struct Predict {
    /// The model or circuit
    model: PathBuf,
    /// The rows, CSV or Parquet: raw columns or bits, matched by name
    data: PathBuf,
    /// Where to write one column `prediction` as CSV, a row for each row
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How to read the rows
    #[arg(long, value_enum, default_value = "auto")]
    input: Input,
}

/// How to read a file of rows.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Input {
    /// From the header
    Auto,
    /// Raw values
    Raw,
    /// 0 and 1 for each feature
    Bits,
}

impl Input {
    pub(crate) fn reading(self) -> Reading {
        match self {
            Input::Auto => Reading::Auto,
            Input::Raw => Reading::Raw,
            Input::Bits => Reading::Bits,
        }
    }
}

impl Predict {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        if self.output.extension().is_some_and(|ending| ending == "parquet") {
            return usage("predictions are written as CSV");
        }
        let predictor = Predictor::load(&self.model)?;
        let output = output_path(&self.output);
        let place = || output.display().to_string();
        let entities = Entities::open(&self.data, predictor.features(), predictor.binariser(), self.input.reading())?;
        let mut file = WholeFile::create(&output).with_context(place)?;
        writeln!(file, "prediction").with_context(place)?;
        let rows = with_progress("predicting", |watch| {
            let mut classes = predictor.evaluator();
            let mut rows = 0;
            for bits in entities {
                watch.check()?;
                let bits = bits?;
                for block in 0..bits.blocks() {
                    let words = classes(&bits.block(block))?;
                    for lane in 0..(bits.rows() - block * 64).min(64) {
                        let class = words.iter().position(|word| word >> lane & 1 == 1);
                        writeln!(file, "{}", class.context("some row has no class: the file is damaged")?)
                            .with_context(place)?;
                    }
                }
                rows += bits.rows();
            }
            anyhow::Ok(rows)
        })?;
        file.finish().with_context(place)?;
        print(&format!("{rows} predictions: {}", self.output.display()))?;
        Ok(())
    }
}

/// A model or a circuit.
enum Predictor {
    Model(Model),
    /// With the circuit of each class, if it holds several.
    Circuit(NamedCircuit, Vec<Circuit>),
}

/// Gives one word a class for 64 entities whose features come a word each.
type Classes<'a> = Box<dyn FnMut(&[u64]) -> anyhow::Result<Vec<u64>> + 'a>;

impl Predictor {
    fn load(path: &Path) -> anyhow::Result<Self> {
        let place = || path.display().to_string();
        if NamedCircuit::recognises(path).with_context(place)? {
            let named = NamedCircuit::load(path).with_context(place)?;
            let classes = (0..named.classes.len()).map(|class| named.class(class)).collect::<Result<_, _>>()?;
            return Ok(Predictor::Circuit(named, classes));
        }
        Ok(Predictor::Model(Model::load(path)?))
    }

    fn features(&self) -> &[String] {
        match self {
            Predictor::Model(model) => &model.features,
            Predictor::Circuit(named, _) => &named.features,
        }
    }

    fn binariser(&self) -> Option<&Binariser> {
        match self {
            Predictor::Model(model) => model.binariser.as_ref(),
            Predictor::Circuit(named, _) => named.binariser.as_ref(),
        }
    }

    fn evaluator(&self) -> Classes<'_> {
        match self {
            Predictor::Model(model) => {
                let mut evaluator = Evaluator::new(&model.network);
                Box::new(move |words| Ok(evaluator.classes(words).to_vec()))
            }
            Predictor::Circuit(named, classes) if classes.is_empty() => {
                let mut evaluator = circuit::Evaluator::new(&named.circuit);
                Box::new(move |words| evaluator.words(words).map(|label| vec![!label, label]).map_err(Into::into))
            }
            Predictor::Circuit(_, classes) => {
                let mut evaluators: Vec<_> = classes.iter().map(circuit::Evaluator::new).collect();
                Box::new(move |words| {
                    evaluators.iter_mut().map(|evaluator| evaluator.words(words).map_err(Into::into)).collect()
                })
            }
        }
    }
}
