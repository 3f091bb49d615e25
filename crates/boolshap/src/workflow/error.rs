//! What can go wrong between a request and its result: the errors of all stages in one type. Each has a kind, by which
//! a front end can choose an exit code, a status or an exception, and a remedy that the front end words itself.

use crate::circuit::CircuitError;
use crate::data::DataError;
use crate::diagram::DiagramError;
use crate::explain::{EntityProblem, ExplainError};
use crate::formula::FormulaError;
use crate::lit::{Remedy, Stopped};
use crate::model::{ModelError, Problem};
use crate::query::QueryError;
use std::fmt::Display;
use std::path::Path;

/// An error of the workflow.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting that cannot work, found before any work began. The message follows the setting's name.
    #[error("{setting} {message}")]
    Setting {
        /// The setting, as requests in JSON call it.
        setting: &'static str,
        /// What is wrong with it.
        message: String,
        /// What can be done.
        remedy: Option<Remedy>,
    },
    /// Something that was given is wrong.
    #[error("{message}")]
    Input {
        /// What is wrong.
        message: String,
        /// What can be done.
        remedy: Option<Remedy>,
    },
    /// A row that cannot be answered, or does not exist.
    #[error("row {row} {problem}")]
    Row {
        /// Its number, from 1.
        row: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// A class that does not exist.
    #[error("there is no class {class}: the classes are {}", .classes.join(", "))]
    UnknownClass {
        /// What was asked for.
        class: String,
        /// The classes, by number or name.
        classes: Vec<String>,
    },
    /// A result that is larger than allowed.
    #[error("{message}")]
    Limit {
        /// What was too large.
        message: String,
        /// What can be done.
        remedy: Option<Remedy>,
    },
    /// A file that could not be read or written.
    #[error("{place}: {source}")]
    File {
        /// The file.
        place: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// An error in a file or another named place.
    #[error("{place}: {source}")]
    At {
        /// The place.
        place: String,
        /// The error.
        source: Box<Error>,
    },
    /// An error of the data stage.
    #[error(transparent)]
    Data(#[from] DataError),
    /// An error of the model stage.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// An error of the formula stage.
    #[error(transparent)]
    Formula(#[from] FormulaError),
    /// An error of the diagram stage.
    #[error(transparent)]
    Diagram(#[from] DiagramError),
    /// An error of the circuit stage.
    #[error(transparent)]
    Circuit(#[from] CircuitError),
    /// An error of the explain stage.
    #[error(transparent)]
    Explain(#[from] ExplainError),
    /// An error of the query stage.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The work was stopped before it was done.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// The kind of an error: who can do something about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request contradicts itself or its source: wrong usage.
    Request,
    /// What was given is wrong.
    Input,
    /// A limit of time, memory or size was reached.
    Limit,
    /// A file cannot be read, is damaged, or cannot be written.
    File,
    /// The caller asked to stop.
    Interrupted,
}

impl Error {
    /// A setting that cannot work.
    pub fn setting(setting: &'static str, message: impl Display) -> Self {
        Error::Setting { setting, message: message.to_string(), remedy: None }
    }

    /// Something that was given is wrong.
    pub fn input(message: impl Display) -> Self {
        Error::Input { message: message.to_string(), remedy: None }
    }

    /// A row, counted from 1, that cannot be answered.
    pub fn row(row: u64, problem: impl Display) -> Self {
        Error::Row { row, problem: problem.to_string() }
    }

    /// The same with a remedy.
    pub fn with_remedy(self, remedy: Remedy) -> Self {
        match self {
            Error::Setting { setting, message, .. } => Error::Setting { setting, message, remedy: Some(remedy) },
            Error::Input { message, .. } => Error::Input { message, remedy: Some(remedy) },
            other => other,
        }
    }

    /// The same with its place in front, unless the message already begins with it.
    pub fn at(self, place: impl Display) -> Self {
        let place = place.to_string();
        match self.to_string().starts_with(&place) {
            true => self,
            false => Error::At { place, source: Box::new(self) },
        }
    }

    /// The same in a file.
    pub fn in_file(self, path: &Path) -> Self {
        self.at(path.display())
    }

    /// A file that the system refused.
    pub fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let place = path.display().to_string();
        move |source| Error::File { place, source }
    }

    /// Its kind.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Setting { .. } => ErrorKind::Request,
            Error::Input { .. } | Error::Row { .. } | Error::UnknownClass { .. } => ErrorKind::Input,
            Error::Limit { .. } => ErrorKind::Limit,
            Error::File { .. } => ErrorKind::File,
            Error::At { source, .. } => source.kind(),
            Error::Data(error) => of_data(error),
            Error::Model(error) => of_model(error),
            Error::Formula(error) => of_formula(error),
            Error::Diagram(error) => of_diagram(error),
            Error::Circuit(error) => of_circuit(error),
            Error::Explain(error) => of_explain(error),
            Error::Query(error) => of_query(error),
            Error::Stopped(stopped) => of_stopped(stopped),
        }
    }

    /// Why the work was stopped, if it was.
    pub fn stopped(&self) -> Option<Stopped> {
        fn of_circuit(error: &CircuitError) -> Option<Stopped> {
            match error {
                CircuitError::Stopped(stopped) => Some(*stopped),
                CircuitError::Conjoin(DiagramError::Stopped(stopped)) => Some(*stopped),
                _ => None,
            }
        }
        match self {
            Error::Stopped(stopped)
            | Error::Data(DataError::Stopped(stopped))
            | Error::Explain(ExplainError::Stopped(stopped) | ExplainError::Data(DataError::Stopped(stopped)))
            | Error::Query(QueryError::Stopped(stopped) | QueryError::Diagram(DiagramError::Stopped(stopped))) => {
                Some(*stopped)
            }
            Error::Circuit(error)
            | Error::Explain(ExplainError::Circuit(error))
            | Error::Query(QueryError::Circuit(error)) => of_circuit(error),
            Error::At { source, .. } => source.stopped(),
            _ => None,
        }
    }

    /// What can be done about it.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Error::Setting { remedy, .. } | Error::Input { remedy, .. } | Error::Limit { remedy, .. } => remedy.clone(),
            Error::At { source, .. } => source.remedy(),
            Error::Explain(ExplainError::TooManyPlayers { remedy, .. }) => Some(remedy.clone()),
            Error::Explain(ExplainError::TooManyInputs { .. }) => Some(Remedy::FewerPlayers),
            Error::Model(ModelError::Parameter { problem: Problem::ZeroWeight { .. }, .. }) => Some(Remedy::ZeroWeight),
            Error::Model(ModelError::Parameter { problem: Problem::EpsilonUnknown, .. }) => Some(Remedy::BnEpsilon),
            Error::Model(ModelError::Parameter { problem: Problem::InputsUnknown, .. }) => Some(Remedy::InputValues),
            Error::Circuit(CircuitError::SeveralClasses { .. }) => Some(Remedy::Class),
            Error::Circuit(CircuitError::NotCompiled { .. }) => Some(Remedy::CompileFirst),
            Error::Diagram(error) if of_diagram(error) == ErrorKind::Limit => of_routes(error),
            Error::Data(error) => error.remedy(),
            _ => None,
        }
    }
}

fn of_stopped(stopped: &Stopped) -> ErrorKind {
    match stopped {
        Stopped::OutOfTime { .. } | Stopped::OutOfMemory => ErrorKind::Limit,
        Stopped::Interrupted => ErrorKind::Interrupted,
    }
}

fn of_data(error: &DataError) -> ErrorKind {
    match error {
        DataError::Io { .. } | DataError::Format { .. } | DataError::Image { .. } => ErrorKind::File,
        DataError::Stopped(stopped) => of_stopped(stopped),
        DataError::TooManyRows { .. } => ErrorKind::Limit,
        _ => ErrorKind::Input,
    }
}

fn of_model(error: &ModelError) -> ErrorKind {
    match error {
        ModelError::Io { .. } | ModelError::Format { .. } => ErrorKind::File,
        ModelError::Stopped(stopped) => of_stopped(stopped),
        _ => ErrorKind::Input,
    }
}

fn of_formula(error: &FormulaError) -> ErrorKind {
    match error {
        FormulaError::Read { .. } => ErrorKind::File,
        FormulaError::Dimacs { .. } | FormulaError::Shape { .. } => ErrorKind::Input,
        FormulaError::Stopped { why, .. } => of_stopped(why),
        _ => ErrorKind::Limit,
    }
}

fn of_diagram(error: &DiagramError) -> ErrorKind {
    match error {
        DiagramError::Stopped(stopped) => of_stopped(stopped),
        DiagramError::VtreeFile { .. } | DiagramError::SddFile { .. } => ErrorKind::File,
        DiagramError::Sums { cause, .. }
        | DiagramError::CompileGates { cause, .. }
        | DiagramError::Trees { cause, .. } => of_diagram(cause),
        DiagramError::TableLength { .. } | DiagramError::TooManyInputs { .. } => ErrorKind::Input,
        _ => ErrorKind::Limit,
    }
}

/// What can be done if the routes from a network to a diagram reach a limit.
fn of_routes(error: &DiagramError) -> Option<Remedy> {
    match error {
        DiagramError::NoRoute { .. }
        | DiagramError::Sums { .. }
        | DiagramError::TooManyExpected { .. }
        | DiagramError::CompileGates { .. } => Some(Remedy::SmallerNetwork { neurons: None }),
        DiagramError::Reduce { .. } => Some(Remedy::Nodes),
        _ => None,
    }
}

fn of_circuit(error: &CircuitError) -> ErrorKind {
    match error {
        CircuitError::Io(_) | CircuitError::Damaged { .. } | CircuitError::Syntax { .. } => ErrorKind::File,
        CircuitError::Stopped(stopped) => of_stopped(stopped),
        CircuitError::Conjoin(error) | CircuitError::Trees(error) => of_diagram(error),
        CircuitError::TooLarge { .. }
        | CircuitError::TableTooLarge { .. }
        | CircuitError::NodeLimit { .. }
        | CircuitError::TooWide { .. }
        | CircuitError::NotCompiled { .. } => ErrorKind::Limit,
        _ => ErrorKind::Input,
    }
}

fn of_explain(error: &ExplainError) -> ErrorKind {
    match error {
        ExplainError::Stopped(stopped) => of_stopped(stopped),
        ExplainError::Circuit(error) => of_circuit(error),
        ExplainError::Data(error) => of_data(error),
        ExplainError::Model(error) => of_model(error),
        ExplainError::TooManyFeatures { .. }
        | ExplainError::LongPath { .. }
        | ExplainError::TooManyPlayers { .. }
        | ExplainError::TooManyInputs { .. }
        | ExplainError::Entity { problem: EntityProblem::TooManyDiffer { .. }, .. }
        | ExplainError::Row { problem: EntityProblem::TooManyDiffer { .. }, .. } => ErrorKind::Limit,
        _ => ErrorKind::Input,
    }
}

fn of_query(error: &QueryError) -> ErrorKind {
    match error {
        QueryError::Stopped(stopped) => of_stopped(stopped),
        QueryError::Circuit(error) => of_circuit(error),
        QueryError::Model(error) => of_model(error),
        QueryError::Diagram(error) => of_diagram(error),
        QueryError::Inputs { .. }
        | QueryError::Unsound(_)
        | QueryError::NotDeterministic { .. }
        | QueryError::Certificate { .. }
        | QueryError::ConstraintVariables { .. }
        | QueryError::Misplaced { .. }
        | QueryError::NoInputs
        | QueryError::WrongClasses { .. }
        | QueryError::LargeCosts
        | QueryError::LongShare
        | QueryError::NotComparable(_) => ErrorKind::Input,
        _ => ErrorKind::Limit,
    }
}
