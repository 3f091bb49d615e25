//! What users do, from a request to its result: train, import, compile, explain, predict, verify.
//!
//! The main entry to the library. Command line, server and Python package parse nothing and decide nothing: they fill
//! in a request, call one of these functions and show the result. Requests are parsed from text and described in words
//! here, errors name their kind and a remedy, and long work takes a [`Watch`](crate::lit::Watch) if the caller has one.

mod ask;
mod ask_answers;
mod ask_claims;
mod ask_codes;
mod ask_json;
#[cfg(feature = "sat")]
mod ask_network;
mod ask_parts;
mod ask_request;
mod ask_text;
mod ask_words;
mod carried;
mod certificate_claims;
mod certificates;
mod check;
mod class_choice;
mod compile;
mod compile_numbers;
mod compile_real;
mod compile_request;
mod compile_scores;
mod describe;
mod differing;
#[cfg(feature = "sat")]
mod encode;
mod error;
mod explain_table;
mod explainer;
mod free;
mod import;
#[cfg(feature = "train")]
mod inspect;
#[cfg(feature = "train")]
mod learn;
mod load;
mod menu;
mod model_output;
mod opening;
mod outlook;
mod player_names;
mod predict;
mod raw_explainer;
mod raw_game;
mod raw_table;
mod read_source;
mod records;
mod request;
mod resolve;
mod scope;
mod sentences;
mod stages;
#[cfg(feature = "train")]
mod train;
mod value_words;
mod verify;
mod verify_real;
mod verify_scores;
mod wait;

#[cfg(test)]
mod score_tests;
#[cfg(test)]
mod tests;

pub use ask::Asker;
pub use ask_answers::{Found, RowAnswer, Summary};
pub use ask_claims::{Claim, Verdict};
pub use ask_codes::Letter;
#[cfg(feature = "sat")]
pub use ask_network::NetworkAsker;
pub use ask_request::{AskRequest, Question};
pub use carried::CarriedRequest;
#[cfg(feature = "page")]
pub(crate) use carried::bits_of_texts;
pub use certificates::{CertificateFile, Certificates};
pub use check::{CheckReport, CheckedFile, check};
pub use class_choice::ClassChoice;
pub use compile::{Compilation, MAX_CLAUSES, MAX_SMOOTH_NODES, compile, compile_watched, names_in_header};
pub use compile_numbers::{MAX_TABLE_FEATURES, NumberForm, NumberSource};
pub use compile_request::{CompileRequest, Shape, Source, Via};
pub use describe::{Description, describe_any, describe_model, numbered};
#[cfg(feature = "sat")]
pub use encode::{Encoding, SddFiles, compile_sdd, encode};
pub use error::{Error, ErrorKind};
pub use explain_table::Explained;
pub use explainer::Explainer;
pub use free::{FixedRow, FreeInputs};
pub use import::{ImportedModel, import};
#[cfg(feature = "train")]
pub use inspect::Inspection;
#[cfg(feature = "train")]
pub use learn::learn;
pub use load::{ReadyCircuit, load_circuit, read_circuit, ready_circuit, ready_content, ready_to_explain};
pub use menu::{Choice, Menu, Offer};
pub use model_output::ModelOutput;
pub use opening::opening_class;
pub use outlook::{Outlook, outlook, outlook_if_long};
pub use predict::{ModelOrCircuit, Predictor};
pub use raw_explainer::{MAX_MERGED_NODES, RawExplainer};
pub use raw_game::RawGame;
pub use raw_table::{RawTable, describe_raw, load_raw_model};
pub(crate) use read_source::is_network_file;
pub use read_source::source_files;
pub use records::{ClaimsFrom, RecordsFrom};
pub use request::{
    ConstraintFrom, DistributionFrom, EngineName, GroupsFrom, PlayersFrom, ReferenceFrom, Request, RowOfFile, RowsFrom,
};
pub use scope::{Ask, Scope};
pub use stages::Stages;
#[cfg(feature = "train")]
pub use train::{Spread, TrainRequest, Trained, train, train_watched};
pub use verify::{Difference, Verification, VerifyRequest, verify, verify_table, verify_watched};
pub use verify_real::{verify_any, verify_real};
pub use wait::Wait;
