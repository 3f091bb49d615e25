//! `boolshap import`: a network from another tool's file.

use crate::terminal::{note, output_path, print};
use boolshap::data::Grid;
use boolshap::model::{Activation, ImportOptions, InputValues, Kernels};
use boolshap::workflow::{Error, ImportedModel, describe_any, import, names_in_header, source_files};
use clap::Args;
use dashu_ratio::RBig;
use std::path::PathBuf;

/// Import a network from Keras/Larq HDF5 weights, safetensors, ONNX and QONNX, a .neuron file or a folder of layers in CSV
#[derive(Args)]
pub(crate) struct Import {
    /// The file or folder; its kind is recognised from the content
    source: PathBuf,
    /// Where to write the model
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,
    /// Take the names of the inputs from the header of this CSV or Parquet file (else x1, x2, ...)
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
    /// The features are the pixels of an image, row by row: kept in the model and its circuits, for --regions and pictures
    #[arg(long, value_name = "HEIGHTxWIDTH")]
    grid: Option<Grid>,
    /// The epsilon of batch normalisation, where the file does not hold it
    #[arg(long, value_name = "X", value_parser = epsilon)]
    bn_epsilon: Option<RBig>,
    /// Whether kernels hold the weights (real) or latent numbers of which only the sign counts (sign); auto means sign
    /// for Keras weights, and real elsewhere
    #[arg(long, value_name = "auto|sign|real", default_value = "auto")]
    kernels: Kernels,
    /// The sign of a latent weight of exactly 0, which is refused otherwise
    #[arg(long, value_name = "SIGN", value_parser = sign, allow_hyphen_values = true)]
    zero_weight: Option<bool>,
    /// Which values the inputs can have, if the file does not say: bits (0 and 1), signs (-1 and +1), UINT2, INT4,
    /// FIXED<6,2> and the like
    #[arg(long, value_name = "VALUES")]
    inputs: Option<InputValues>,
    /// The activation between the layers of safetensors, CSV, or HDF5 weights that are not signs: relu, tanh, sigmoid,
    /// leaky:SLOPE or clip:LOW:HIGH. Networks of real weights have up to 24 inputs
    #[arg(long, value_name = "FUNCTION")]
    activation: Option<Activation>,
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
        let files: Vec<PathBuf> = source_files(&self.source).into_iter().chain(self.features.clone()).collect();
        let output = output_path(&self.output, &files.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
        let (bn_epsilon, kernels) = (self.bn_epsilon.clone(), self.kernels);
        let (inputs, activation) = (self.inputs.clone(), self.activation.clone());
        let options = ImportOptions { bn_epsilon, kernels, zero_weight: self.zero_weight, inputs, activation };
        let names = self.features.as_deref().map(names_in_header).transpose()?;
        let ImportedModel { mut model, kind, notes } = import(&self.source, &options, names)?;
        if let Some(grid) = self.grid {
            model = model.with_grid(grid).map_err(|why| Error::setting("grid", format!("does not fit: {why}")))?;
        }
        notes.iter().for_each(|text| note(text));
        model.save(&output)?;
        print(&format!("{kind} from {}", self.source.display()))?;
        print(&describe_any(&model).text)?;
        print(&format!("model: {}", self.output.display()))?;
        Ok(())
    }
}
