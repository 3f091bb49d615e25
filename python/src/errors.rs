//! The library's errors as the exceptions of `boolshap.errors`: what was given is wrong, a limit was met, or a file cannot
//! be read or written.

use boolshap::circuit::CircuitError;
use boolshap::data::DataError;
use boolshap::diagram::DiagramError;
use boolshap::explain::ExplainError;
use boolshap::formula::FormulaError;
use boolshap::lit::Stopped;
use boolshap::model::ModelError;
use boolshap::query::QueryError;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use std::fmt::Display;

/// Which exception tells it.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Input,
    Limit,
    File,
    Interrupted,
}

/// An error on its way to Python, which may be made without the interpreter at hand.
#[derive(Debug)]
pub(crate) struct Failure {
    name: Option<&'static str>,
    message: String,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Display) -> Self {
        let name = match kind {
            Kind::Input => Some("InputError"),
            Kind::Limit => Some("LimitError"),
            Kind::File => Some("FileError"),
            Kind::Interrupted => None,
        };
        Failure { name, message: message.to_string() }
    }

    pub(crate) fn input(message: impl Display) -> Self {
        Self::new(Kind::Input, message)
    }

    /// The same with where it happened in front.
    pub(crate) fn at(self, place: impl Display) -> Self {
        Failure { message: format!("{place}: {}", self.message), ..self }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        let Some(name) = failure.name else { return PyKeyboardInterrupt::new_err(()) };
        Python::attach(|py| {
            let class = py.import("boolshap.errors").and_then(|errors| errors.getattr(name));
            match class.and_then(|class| class.call1((&failure.message,))) {
                Ok(error) => PyErr::from_value(error),
                Err(_) => PyRuntimeError::new_err(failure.message),
            }
        })
    }
}

/// How an error of the library is told.
pub(crate) trait Told: Display {
    fn kind(&self) -> Kind;
}

impl<E: Told> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::new(error.kind(), error)
    }
}

impl Told for Stopped {
    fn kind(&self) -> Kind {
        match self {
            Stopped::OutOfTime { .. } | Stopped::OutOfMemory => Kind::Limit,
            Stopped::Interrupted => Kind::Interrupted,
        }
    }
}

impl Told for DataError {
    fn kind(&self) -> Kind {
        match self {
            DataError::Io { .. } | DataError::Format { .. } => Kind::File,
            DataError::Stopped(stopped) => stopped.kind(),
            _ => Kind::Input,
        }
    }
}

impl Told for ModelError {
    fn kind(&self) -> Kind {
        match self {
            ModelError::Io { .. } | ModelError::Format { .. } => Kind::File,
            ModelError::Stopped(stopped) => stopped.kind(),
            _ => Kind::Input,
        }
    }
}

impl Told for FormulaError {
    fn kind(&self) -> Kind {
        match self {
            FormulaError::Read { .. } => Kind::File,
            FormulaError::Dimacs { .. } => Kind::Input,
            FormulaError::Stopped { why, .. } => why.kind(),
            FormulaError::Shape { .. } => Kind::Input,
            _ => Kind::Limit,
        }
    }
}

impl Told for DiagramError {
    fn kind(&self) -> Kind {
        match self {
            DiagramError::Stopped(stopped) => stopped.kind(),
            DiagramError::VtreeFile { .. } | DiagramError::SddFile { .. } => Kind::File,
            DiagramError::Sums { cause, .. }
            | DiagramError::CompileGates { cause, .. }
            | DiagramError::Trees { cause, .. } => cause.kind(),
            DiagramError::TableLength { .. } | DiagramError::TooManyInputs { .. } => Kind::Input,
            _ => Kind::Limit,
        }
    }
}

impl Told for CircuitError {
    fn kind(&self) -> Kind {
        match self {
            CircuitError::Io(_) | CircuitError::Damaged { .. } | CircuitError::Syntax { .. } => Kind::File,
            CircuitError::Stopped(stopped) => stopped.kind(),
            CircuitError::Conjoin(error) | CircuitError::Trees(error) => error.kind(),
            CircuitError::TooLarge { .. }
            | CircuitError::TableTooLarge { .. }
            | CircuitError::NodeLimit { .. }
            | CircuitError::TooWide { .. } => Kind::Limit,
            _ => Kind::Input,
        }
    }
}

impl Told for ExplainError {
    fn kind(&self) -> Kind {
        match self {
            ExplainError::Stopped(stopped) => stopped.kind(),
            ExplainError::Circuit(error) => error.kind(),
            ExplainError::Data(error) => error.kind(),
            ExplainError::TooManyFeatures { .. } | ExplainError::TooManyPlayers { .. } => Kind::Limit,
            _ => Kind::Input,
        }
    }
}

impl Told for QueryError {
    fn kind(&self) -> Kind {
        match self {
            QueryError::Stopped(stopped) => stopped.kind(),
            QueryError::Circuit(error) => error.kind(),
            QueryError::Model(error) => error.kind(),
            QueryError::Inputs { .. } | QueryError::Unsound(_) | QueryError::NotDeterministic { .. } => Kind::Input,
            _ => Kind::Limit,
        }
    }
}
