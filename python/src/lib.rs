//! The native module of the Python package: models, circuits and engines for the typed facade above it. Arrays come in
//! without copies where their memory fits, long work runs without the interpreter's lock, and Ctrl-C stops it.

mod arrays;
mod circuit;
mod engine;
mod errors;
mod model;
mod work;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::circuit::Circuit;
    #[pymodule_export]
    use super::engine::Engine;
    #[pymodule_export]
    use super::model::Model;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
