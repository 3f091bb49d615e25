//! What to compile, and what to make of it.

use super::{ClassChoice, Error, FreeInputs, MAX_SMOOTH_NODES, ModelOutput, NumberSource, PlayersFrom};
use crate::circuit::{Circuit, Lowering, fan_in_two, paper_form_within, smooth_within};
use crate::diagram::Route;
use crate::lit::Watch;
use crate::model::{AnyModel, Forest, Model, RealModel};
use std::path::Path;
use std::str::FromStr;

/// What to compile.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// A model file, a `.cnf`, a `.sdd` with its `.vtree` beside it, a `.nnf` or a `.ddnnf`.
    File(&'a Path),
    /// A network.
    Model(&'a Model),
    /// A network of real weights.
    Real(&'a RealModel),
    /// The class of every input: entry k is the input whose bit j is feature j.
    Table {
        /// The classes, 2^n of them.
        values: &'a [u8],
        /// The names of the n features.
        features: &'a [String],
        /// The names of the classes.
        classes: &'a [String],
    },
    /// Numbers, such as scores: a table, trees, or a linear model.
    Numbers(NumberSource<'a>),
    /// A tree or a forest.
    Forest {
        /// The trees.
        forest: &'a Forest,
        /// The names of the features.
        features: &'a [String],
        /// The names of the classes.
        classes: &'a [String],
    },
}

impl<'a> From<&'a Path> for Source<'a> {
    fn from(path: &'a Path) -> Self {
        Source::File(path)
    }
}

impl<'a> From<&'a str> for Source<'a> {
    fn from(path: &'a str) -> Self {
        Source::File(Path::new(path))
    }
}

impl<'a> From<&'a Model> for Source<'a> {
    fn from(model: &'a Model) -> Self {
        Source::Model(model)
    }
}

impl<'a> From<&'a RealModel> for Source<'a> {
    fn from(model: &'a RealModel) -> Self {
        Source::Real(model)
    }
}

impl<'a> From<&'a AnyModel> for Source<'a> {
    fn from(model: &'a AnyModel) -> Self {
        match model {
            AnyModel::Gates(model) => Source::Model(model),
            AnyModel::Real(model) => Source::Real(model),
        }
    }
}

/// How to get from a network to a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Via {
    /// The direct route that fits the network's shape, or the next one if that reaches a limit.
    #[default]
    Auto,
    /// The paper's path: CNF, SDD, circuit.
    Cnf,
    /// One direct route.
    Direct(Route),
}

impl Via {
    /// All of them by name.
    pub const NAMES: [&'static str; 5] = ["auto", "cnf", "truth-table", "partial-sums", "apply"];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Via::Auto => "auto",
            Via::Cnf => "cnf",
            Via::Direct(route) => route.name(),
        }
    }

    pub(super) fn route(self) -> Option<Route> {
        match self {
            Via::Direct(route) => Some(route),
            Via::Auto | Via::Cnf => None,
        }
    }
}

impl FromStr for Via {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let direct = [Route::TruthTable, Route::PartialSums, Route::Apply].map(Via::Direct);
        let known = [Via::Auto, Via::Cnf].into_iter().chain(direct);
        known
            .into_iter()
            .find(|via| via.name() == name)
            .ok_or_else(|| Error::setting("via", format!("'{name}' is not one of {}", Via::NAMES.join(", "))))
    }
}

/// The form of a circuit; both together are the paper's dDBCSFi(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    /// Every or-gate's children mention the same variables.
    pub smooth: bool,
    /// Every gate has two children at most.
    pub fan_in_2: bool,
}

impl Shape {
    /// The paper counts elements as gates, so a circuit that gets the paper's form is not lowered into decisions first.
    pub(super) fn lowering(self) -> Lowering {
        if self.smooth && self.fan_in_2 { Lowering::Gates } else { Lowering::Decisions }
    }

    /// The circuit in this form; smoothing stops at the limit on nodes.
    pub fn apply(self, circuit: &Circuit, max_nodes: Option<usize>, watch: &Watch<'_>) -> Result<Circuit, Error> {
        let max_nodes = max_nodes.unwrap_or(MAX_SMOOTH_NODES);
        Ok(match (self.smooth, self.fan_in_2) {
            (true, true) => paper_form_within(circuit, max_nodes, watch)?,
            (true, false) => smooth_within(circuit, max_nodes, watch)?,
            (false, true) => fan_in_two(circuit)?,
            (false, false) => circuit.compacted()?,
        })
    }
}

/// What to make of a source. By default the circuit of the second of two classes; with more classes, some must be
/// chosen.
#[derive(Debug, Clone, Default)]
pub struct CompileRequest {
    /// How to get from a network to a circuit.
    pub via: Via,
    /// Which output of a network: its label, or the numbers that decide.
    pub model_output: ModelOutput,
    /// "The answer is this class", or a circuit for each.
    pub class: Option<ClassChoice>,
    /// Whether each of several classes gets a circuit if none was chosen, instead of an error.
    pub each_of_several: bool,
    /// Whether a network that would take long is refused before any work, where a compilation is only a means.
    pub in_passing: bool,
    /// Whether such a network is returned as it is, to be explained without a circuit, instead of being refused.
    pub or_network: bool,
    /// Which inputs of a network stay free, and what the others are.
    pub free: Option<FreeInputs>,
    /// The players that the order of the circuit is chosen for: the features of each are side by side, so that
    /// explaining need not reorder it. By default the players are the columns, if that is quick and costs little.
    pub players: Option<PlayersFrom>,
    /// Names for the features, instead of the source's own or x1, x2, ...
    pub features: Option<Vec<String>>,
    /// The number of variables, if a file does not state it.
    pub variables: Option<usize>,
    /// The form of the circuit.
    pub shape: Shape,
    /// The limit on the clauses of a network's formula.
    pub max_clauses: Option<usize>,
    /// The limit on nodes.
    pub max_nodes: Option<usize>,
    /// Whether to prove that the circuit is sound and equal to the source.
    pub verify: bool,
}
