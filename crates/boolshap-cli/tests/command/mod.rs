//! The command as a person types it, for the tests of the command line.
#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

pub(crate) fn boolshap(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_boolshap")).args(arguments).current_dir(folder).output().unwrap()
}

pub(crate) fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = boolshap(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that must fail, leave no new file and say one sentence, which is returned.
pub(crate) fn fails(folder: &Path, code: i32, arguments: &[&str]) -> String {
    let before = listing(folder);
    let output = boolshap(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    assert_eq!(listing(folder), before, "{arguments:?} left something behind");
    assert!(output.stdout.is_empty(), "{arguments:?} printed a result");
    String::from_utf8(output.stderr).unwrap().trim_end().to_string()
}

pub(crate) fn listing(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// A circuit of x1 or x2 among `features`, as c.bsc.
pub(crate) fn either(folder: &Path, features: usize) {
    fs::write(folder.join("f.cnf"), format!("p cnf {features} 1\n1 2 0\n")).unwrap();
    done(folder, &["compile", "f.cnf", "-o", "c.bsc"]);
}
