//! The library's errors as the exceptions of `boolshap.errors`, in the words of Python's arguments.

use boolshap::Error;
use boolshap::data::DataError;
use boolshap::explain::ExplainError;
use boolshap::lit::Remedy;
use boolshap::workflow::ErrorKind;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

/// An error to be raised in Python, which can be created without the interpreter's lock.
pub(crate) struct Failure(Error);

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure(error.into())
    }
}

impl From<Failure> for PyErr {
    fn from(Failure(error): Failure) -> PyErr {
        let name = match error.kind() {
            ErrorKind::Request | ErrorKind::Input => "InputError",
            ErrorKind::Limit => "LimitError",
            ErrorKind::File => "FileError",
            ErrorKind::Interrupted => return PyKeyboardInterrupt::new_err(()),
        };
        let remedy = error.remedy().as_ref().and_then(remedy_words);
        let message = words(&error) + &remedy.map_or(String::new(), |remedy| format!(": {remedy}"));
        Python::attach(|py| {
            let class = py.import("boolshap.errors").and_then(|errors| errors.getattr(name));
            match class.and_then(|class| class.call1((&message,))) {
                Ok(error) => PyErr::from_value(error),
                Err(_) => PyRuntimeError::new_err(message),
            }
        })
    }
}

/// The message, with settings under the names of arguments.
fn words(error: &Error) -> String {
    match error {
        Error::At { place, source } => format!("{place}: {}", words(source)),
        Error::Setting { setting, message, .. } => {
            let argument = match *setting {
                "class" => "class_",
                "variables" => "features",
                other => other,
            };
            format!("{argument} {message}")
        }
        // Rows are counted from 0, as everywhere in Python; the library counts those of files from 1.
        Error::Row { row, problem } => format!("row {} {problem}", row.saturating_sub(1)),
        Error::Explain(ExplainError::Entity { entity, problem }) => format!("row {entity}: {problem}"),
        Error::Data(DataError::Cell { path, row, column, value, problem })
        | Error::Explain(ExplainError::Data(DataError::Cell { path, row, column, value, problem })) => {
            let (path, column, value, problem) = (path.clone(), column.clone(), value.clone(), problem.clone());
            DataError::Cell { path, row: row.saturating_sub(1), column, value, problem }.to_string()
        }
        other => other.to_string(),
    }
}

/// What a Python user can do; nothing for remedies that Python does not have.
fn remedy_words(remedy: &Remedy) -> Option<&'static str> {
    Some(match remedy {
        Remedy::ZeroWeight => "Model.import_file takes zero_weight=1 or zero_weight=-1",
        Remedy::BnEpsilon => "Model.import_file takes bn_epsilon=",
        Remedy::InputValues => "Model.import_file takes inputs='bits', 'signs', 'UINT2' and the like",
        Remedy::Class => "give class_=",
        Remedy::Variables => "give features=, their names or number",
        Remedy::Nodes => "give a higher max_nodes=",
        Remedy::FewerPlayers => "take players=\"columns\", or a dict of fewer players",
        Remedy::FewerPlayersOrBackground => {
            "take players=\"columns\", a dict of fewer players, or distribution=\"background\""
        }
        Remedy::Probabilities => "give probabilities=",
        Remedy::SmallerNetwork { .. } => "train with fewer neurons (hidden=) or fewer columns",
        Remedy::CompileFirst => "call boolshap.compile and give its circuit, or train with fewer neurons (hidden=)",
        Remedy::Grid => "give grid=(height, width) where the model comes from",
        Remedy::SmallerBackground => "give fewer background rows, or take players=\"columns\"",
        Remedy::Input => "give input=\"raw\" or input=\"bits\"",
        _ => return None,
    })
}
