//! `boolshap import`: a network from another tool's file.

use crate::info::describe;
use crate::terminal::{note, output_path, print};
use boolshap::model::{ImportOptions, Kernels};
use boolshap::workflow::{ImportedModel, import, names_in_header, source_files};
use clap::{Args, ValueEnum};
use dashu::rational::RBig;
use std::path::PathBuf;

/// Import a network from Keras/Larq HDF5 weights, safetensors, ONNX, a .neuron file or a folder of layers in CSV
#[derive(Args)]
pub(crate) struct Import {
    /// The file or folder; its kind is recognised from the content
    source: PathBuf,
    /// Where to write the model
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,
    /// Take the feature names from the header of this CSV or Parquet file (else x1, x2, ...)
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
    /// The epsilon of batch normalisation, where the file does not hold it
    #[arg(long, value_name = "X", value_parser = epsilon)]
    bn_epsilon: Option<RBig>,
    /// Whether kernels hold the weights or latent numbers of which the sign counts
    #[arg(long, value_enum, default_value = "auto")]
    kernels: KernelChoice,
    /// The sign of a latent weight of exactly 0, which is refused otherwise
    #[arg(long, value_name = "SIGN", value_parser = sign, allow_hyphen_values = true)]
    zero_weight: Option<bool>,
}

#[derive(Clone, Copy, ValueEnum)]
enum KernelChoice {
    /// Signs in Keras weights, elsewhere the numbers as they are
    Auto,
    /// The sign of every number
    Sign,
    /// Every number as it is
    Real,
}

fn epsilon(text: &str) -> Result<RBig, String> {
    let float: f64 = text.parse().map_err(|_| "a number is expected")?;
    if !(0.0..1e6).contains(&float) || (float > 0.0 && float < 1e-300) {
        return Err("a number from 0 on is expected".into());
    }
    RBig::from_str_decimal(text).map_err(|e| e.to_string())
}

fn sign(text: &str) -> Result<bool, String> {
    match text {
        "+1" | "1" | "+" => Ok(true),
        "-1" | "-" => Ok(false),
        _ => Err("+1 or -1 is expected".into()),
    }
}

impl Import {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let kernels = match self.kernels {
            KernelChoice::Auto => Kernels::Auto,
            KernelChoice::Sign => Kernels::Sign,
            KernelChoice::Real => Kernels::Real,
        };
        let inputs: Vec<PathBuf> = source_files(&self.source).into_iter().chain(self.features.clone()).collect();
        let output = output_path(&self.output, &inputs.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
        let options = ImportOptions { bn_epsilon: self.bn_epsilon.clone(), kernels, zero_weight: self.zero_weight };
        let names = self.features.as_deref().map(names_in_header).transpose()?;
        let ImportedModel { model, kind, notes } = import(&self.source, &options, names)?;
        notes.iter().for_each(|text| note(text));
        model.save(&output)?;
        print(&format!("{kind} from {}", self.source.display()))?;
        print(&describe(&model))?;
        print(&format!("model: {}", self.output.display()))?;
        Ok(())
    }
}
