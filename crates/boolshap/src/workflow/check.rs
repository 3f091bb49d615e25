//! Checks whether certificates prove what they claim about a model.

use super::Error;
use crate::lit::Watch;
use crate::model::Model;
use crate::query::{QueryError, check_certificate};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The results for all certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// In the order in which they were given; those of a folder by name.
    pub certificates: Vec<CheckedFile>,
}

/// The result for one certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedFile {
    /// The file.
    pub file: PathBuf,
    /// What it proves, or why it is refused.
    pub claim: Result<String, String>,
}

impl CheckReport {
    /// How many are refused.
    pub fn refused(&self) -> usize {
        self.certificates.iter().filter(|one| one.claim.is_err()).count()
    }

    /// The same as one JSON object. Beside the list, `valid` is about all of them, and `claim` is that of the only one.
    pub fn json(&self) -> Value {
        let one = |checked: &CheckedFile| {
            let (claim, reason) = (checked.claim.as_ref().ok(), checked.claim.as_ref().err());
            let file = checked.file.display().to_string();
            json!({"file": file, "valid": checked.claim.is_ok(), "claim": claim, "reason": reason})
        };
        let only = match &self.certificates[..] {
            [only] => only.claim.as_ref().ok(),
            _ => None,
        };
        let certificates: Vec<Value> = self.certificates.iter().map(one).collect();
        json!({"valid": self.refused() == 0, "claim": only, "certificates": certificates})
    }
}

/// Checks certificate files, or all of a folder (`*.json`), against a model.
pub fn check(paths: &[PathBuf], model: &Model, watch: &Watch<'_>) -> Result<CheckReport, Error> {
    let mut files = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => files.extend(files_in(path)?),
            false => files.push(path.clone()),
        }
    }
    let silent = watch.silent();
    let certificates = files.into_par_iter().map(|file| {
        let content = std::fs::read(&file).map_err(Error::file(&file))?;
        let text = String::from_utf8(content).map_err(|_| "the certificate is refused: it is not UTF-8".to_string());
        let claim = match text.map(|text| check_certificate(&text, model, &silent)) {
            Ok(Err(QueryError::Stopped(stopped))) => return Err(stopped.into()),
            Ok(Err(error)) => Err(error.to_string()),
            Ok(Ok(checked)) => Ok(checked.claim),
            Err(problem) => Err(problem),
        };
        Ok(CheckedFile { file, claim })
    });
    Ok(CheckReport { certificates: certificates.collect::<Result<_, Error>>()? })
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(folder).map_err(Error::file(folder))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(Error::file(folder))?.path();
        files.extend(Some(path).filter(|path| path.extension().is_some_and(|extension| extension == "json")));
    }
    files.sort();
    match files.is_empty() {
        true => Err(Error::input(format!("{}: there is no certificate in this folder", folder.display()))),
        false => Ok(files),
    }
}
