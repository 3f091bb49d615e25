//! SHAP scores of Boolean classifiers: by fast engines, and by the paper's two methods.
//!
//! A [`Game`] is a circuit, its [`Players`] and the values of absent ones (a [`Distribution`]). [`FloatGame`] and
//! [`ExactGame`] compute each [`Index`] of it, and [`Definition`] computes it literally as defined. [`FastEngine`]
//! takes any deterministic and decomposable circuit and gives floats: all scores of an entity from a few sweeps
//! (`quadrature`, `path_integral`) over a tape made once (`fold`, `tape`, `diagram_tape`, `gate_tape`). [`BruteForce`]
//! is formula (1) of the paper over the labels of all entities, from any source: the black box. [`OpenBox`] is the
//! algorithm of Arenas, Barceló, Bertossi and Monet on a smooth circuit of fan-in 2. Both give floats and exact
//! fractions, for the uniform and for any product [`Probabilities`], and check for every [`Explanation`] that base
//! value and scores add up to the prediction.

mod blocks;
mod brute_force;
mod conditional;
mod conditional_values;
mod conjunctions;
mod corner_counts;
mod corner_sums;
mod cube;
mod definition;
mod diagram_tape;
mod distinct_rows;
mod engine;
mod error;
mod error_bound;
mod explanation;
mod factorials;
mod fast;
mod float_paths;
mod fold;
mod game;
mod game_floats;
mod game_fractions;
mod gate_chances;
mod gate_forms;
mod gate_sums;
mod gate_tape;
mod index;
mod integer_rule;
mod integer_sweeps;
mod labels;
mod lanes;
mod multiply_adds;
mod network_game;
mod numerators;
mod open_box;
mod open_box_floats;
mod open_box_fractions;
mod path_integral;
mod players;
mod polynomial;
mod probabilities;
mod quadrature;
mod reference;
mod score_table;
mod starts;
mod stream;
mod subsets;
mod tape;
mod tree_blocks;
mod tree_game;
#[cfg(test)]
mod tree_game_tests;
mod tree_walk;
mod value_diagrams;
mod value_game;
mod value_gates;
mod value_paths;
mod value_sweep;
mod vertices;
mod ways;
mod wide_float;

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod error_bound_tests;
#[cfg(test)]
mod fast_agreement;
#[cfg(test)]
mod game_agreement;
#[cfg(test)]
mod stream_tests;

pub use brute_force::BruteForce;
pub use definition::Definition;
pub use engine::Engine;
pub use error::{EntityProblem, ExplainError};
pub use error_bound::GUARANTEED;
pub use explanation::Explanation;
pub use fast::FastEngine;
pub use game::{Distribution, Game};
pub use game_floats::FloatGame;
pub use game_fractions::ExactGame;
pub use index::{Index, Order};
pub use labels::Labels;
#[doc(hidden)]
pub use multiply_adds::{USEFUL_OPERATIONS, multiply_add_rate};
pub use network_game::{ClassOfNetwork, MAX_DIFFERING, NetworkGame};
pub use open_box::OpenBox;
pub use players::Players;
pub use probabilities::Probabilities;
pub use reference::Reference;
pub use score_table::ScoreTable;
pub use stream::{Streamed, explain_stream};
pub use tree_game::TreeGame;
pub use value_game::{ValueGame, WantedSums};
