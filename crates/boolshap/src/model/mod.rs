//! Networks: what they compute, how they are imported or trained, and their file format.

mod all_inputs;
mod error;
mod evaluate;
mod file;
mod fold;
mod fold_levels;
mod import;
mod import_blocks;
#[cfg(feature = "hdf5")]
mod import_hdf5;
mod import_lightgbm;
mod import_neuron;
mod import_onnx;
#[cfg(test)]
mod import_onnx_tests;
mod import_safetensors;
mod import_xgboost;
mod input_values;
#[cfg(feature = "hdf5")]
mod keras_activations;
#[cfg(feature = "hdf5")]
mod keras_steps;
mod label;
mod levels;
#[cfg(feature = "train")]
mod linear_equations;
#[cfg(feature = "train")]
mod logistic;
mod merge_trees;
mod network;
mod normalised_scores;
mod number;
mod onnx_constants;
mod onnx_file;
mod onnx_operators;
mod onnx_quantisers;
mod onnx_real;
mod onnx_windows;
mod outputs;
#[cfg(feature = "train")]
mod pairs;
#[cfg(feature = "train")]
mod polish;
mod project;
mod protobuf;
mod quantiser;
#[cfg(test)]
pub(crate) mod random;
mod raw_model;
mod real_exact;
mod real_file;
mod real_floats;
mod real_network;
mod real_table;
#[cfg(feature = "train")]
mod search;
mod slice_program;
mod steps;
#[cfg(feature = "train")]
mod straight_through;
#[cfg(feature = "train")]
mod train;
#[cfg(feature = "train")]
mod train_options;
mod tree;
#[cfg(feature = "train")]
mod validate;
#[cfg(feature = "train")]
mod whole_weights;
mod zero_sum;
#[cfg(feature = "hdf5")]
mod zip_file;

pub use all_inputs::{AllInputs, BlockScratch};
pub use error::{ModelError, Problem};
pub use evaluate::{LANES, NetworkEvaluator, count_classes};
pub(crate) use file::{GateText, parse_fraction};
pub use file::{Marginals, Model};
pub use fold::{BatchNorm, DenseLayer, fold_network};
pub use import::{AnyImported, ImportOptions, Imported, Kernels, import, import_any};
pub use import_lightgbm::import_lightgbm;
pub use import_xgboost::import_xgboost;
pub use input_values::InputValues;
pub use label::Label;
#[cfg(feature = "train")]
pub use logistic::{Regression, regress};
pub use network::{Gate, Network, Output, OutputScale, Score};
pub use number::parse_decimal;
pub use outputs::Outputs;
pub use project::Wire;
pub use raw_model::{Decision, RawModel, RawNode, RawTest, RawTree};
pub use real_file::{AnyModel, RealModel};
pub use real_network::{Activation, Ending, MAX_REAL_INPUTS, RealNetwork, RealStep};
pub use real_table::RealTable;
#[cfg(feature = "train")]
pub use search::{Afford, Choice};
pub use steps::{AnyNetwork, Step, fold_steps, take_steps};
#[cfg(feature = "train")]
pub use train::{Learned, correct, train};
#[cfg(feature = "train")]
pub use train_options::{ClassWeights, Hidden, TrainOptions, Weights};
pub use tree::{DecisionTree, Forest, TreeNode};
