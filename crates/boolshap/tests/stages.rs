//! Data moves one way: no stage may use a stage to its right, and every file starts by saying what it is for.

use std::fs;
use std::path::{Path, PathBuf};

const STAGES: [&str; 10] =
    ["lit", "data", "model", "formula", "diagram", "circuit", "explain", "query", "workflow", "report"];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The stages that code names as `crate::STAGE`, also inside braces, which may span lines.
fn stages_named(text: &str) -> Vec<&'static str> {
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or("")).collect();
    let code = code.join(" ");
    let mut named = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let words = match rest.strip_prefix('{') {
            Some(list) => list.split(';').next().unwrap_or(list).split(',').collect(),
            None => vec![rest],
        };
        for word in words {
            let word = word.trim().split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
            named.extend(STAGES.iter().filter(|stage| **stage == word));
        }
    }
    named
}

fn steps_to_the_right(stage: usize, text: &str) -> Vec<&'static str> {
    stages_named(text).into_iter().filter(|name| STAGES[stage + 1..].contains(name)).collect()
}

#[test]
fn no_stage_uses_a_stage_to_its_right() {
    let mut read = 0;
    for (index, stage) in STAGES.iter().enumerate() {
        let folder = source().join(stage);
        for file in if folder.is_dir() { files(&folder) } else { Vec::new() } {
            let wrong = steps_to_the_right(index, &fs::read_to_string(&file).unwrap());
            assert!(wrong.is_empty(), "{} uses stages to its right: {wrong:?}", file.display());
            read += 1;
        }
    }
    assert!(read > 10, "only {read} files were read");
}

#[test]
fn every_file_belongs_to_a_stage_and_opens_with_its_purpose() {
    for file in files(&source()) {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("//! "), "{} does not say what it is for", file.display());
        let inside = file.strip_prefix(source()).unwrap();
        let first = inside.iter().next().unwrap().to_str().unwrap();
        let known = STAGES.contains(&first) || ["lib.rs", "tutorial.rs"].contains(&first);
        assert!(known, "{} does not belong to a stage", inside.display());
    }
}

#[test]
fn the_check_itself_works() {
    assert_eq!(steps_to_the_right(1, "use crate::lit::Watch;\nuse crate::model::Network;").len(), 1);
    assert_eq!(steps_to_the_right(0, "use crate::{lit::Var, circuit::Node};").len(), 1);
    assert_eq!(steps_to_the_right(1, "use crate::{\n    lit::Var, // crate::report\n    model::Gate,\n};").len(), 1);
    assert_eq!(steps_to_the_right(2, "    let x = crate::explain::score();").len(), 1);
    assert_eq!(steps_to_the_right(2, "// crate::explain comes later\nuse crate::data::Bits;").len(), 0);
}

#[test]
fn the_clock_is_that_of_the_library() {
    // The system's own clock does not exist in WebAssembly.
    let systems = concat!("std::time::", "Instant");
    for file in files(&source()).iter().filter(|file| !file.ends_with("lit/clock.rs")) {
        let text = fs::read_to_string(file).unwrap();
        let is_used = text.contains(systems) || text.contains("std::time::{Duration, Instant}");
        assert!(!is_used, "{} uses the system's clock: take lit::Instant", file.display());
    }
}
