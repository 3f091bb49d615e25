//! Finds the test data that is not in the repository.
//!
//! `BOOLSHAP_DATA` names the folder; by default it is `shared/data` beside the repository. If a file is missing, the
//! test passes after adding a line to the file named by `BOOLSHAP_SKIPPED`, which `make test` counts and shows; if
//! `BOOLSHAP_DATA` is set, a missing file is a failure.
#![allow(dead_code, clippy::print_stderr, reason = "each test file uses its part, and a skipped test says so")]

use std::io::Write;
use std::path::{Path, PathBuf};

/// The file or folder, or `None` after reporting that the test is skipped.
pub(crate) fn shared_data(relative: &str) -> Option<PathBuf> {
    let variable = std::env::var_os("BOOLSHAP_DATA");
    let folder = variable
        .clone()
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = folder.join(relative);
    if path.exists() {
        return Some(path);
    }
    assert!(variable.is_none(), "BOOLSHAP_DATA is set, but {} does not exist", path.display());
    eprintln!("skipped for want of {relative}");
    if let Some(list) = std::env::var_os("BOOLSHAP_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(list).unwrap();
        let test = std::thread::current().name().unwrap_or("a test").to_string();
        file.write_all(format!("{test}: {relative}\n").as_bytes()).unwrap();
    }
    None
}
