//! `boolshap check`: certificates of answers, checked with nothing but the model.

use crate::terminal::{print, print_json, seconds, with_timeout};
use anyhow::bail;
use boolshap::Model;
use boolshap::workflow::check;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Check what certificates claim of a model
///
/// A certificate is written by `boolshap ask --certificate DIR`. It is checked by evaluating the network and by going
/// through the proofs in it, step by step; neither a circuit nor the search that found the answer is involved.
#[derive(Args)]
pub(crate) struct Check {
    /// Certificates, or folders of them, and then the model
    #[arg(value_name = "CERTIFICATE... MODEL", required = true, num_args = 2..)]
    files: Vec<PathBuf>,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let (model, certificates) = self.files.split_last().expect("at least two are required");
        let model = Model::load(model)?;
        let found = with_timeout("checking", self.timeout, |watch| check(certificates, &model, watch))?;
        if self.json {
            print_json(&found.json())?;
        } else {
            for one in &found.certificates {
                let said = match &one.claim {
                    Ok(claim) => format!("valid: {claim}"),
                    Err(reason) => format!("not valid: {reason}"),
                };
                print(&format!("{}: {said}", one.file.display()))?;
            }
        }
        match (found.refused(), found.certificates.len()) {
            (0, _) => Ok(()),
            (refused, all) => bail!("{refused} of {all} certificates do not prove what they claim"),
        }
    }
}
