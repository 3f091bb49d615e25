//! The options that define what a score means, parsed into a request.

use boolshap::workflow::ModelOutput;
use boolshap::{Error, Request};
use clap::Args;
use std::ffi::{OsStr, OsString};

#[derive(Args, Clone)]
pub(crate) struct GameOptions {
    /// What fills in absent features: uniform (the default; pages begin with their rows as background, unless that takes
    /// long); product (the marginals of training); product:FILE with columns
    /// feature,probability or with rows to take relative frequencies from; background:FILE (the rows of FILE, whatever
    /// the present features are); empirical:FILE (those rows of FILE that agree with the present features; if all are
    /// present, the entity's own label);
    /// reference:zeros, reference:ones, reference:FILE[:ROW] (one row as a background; the first is 1) or
    /// reference:blur[:RADIUS] (for images: a copy of each row in which every pixel is the median of those around it)
    #[arg(long)]
    distribution: Option<OsString>,
    /// Added to every count when probabilities are estimated from rows (Laplace's rule is 1)
    #[arg(long, value_name = "COUNT", default_value = "0")]
    smoothing: String,
    /// Only entities that satisfy this formula (DIMACS) over the features can occur; with uniform or product
    #[arg(long, value_name = "FILE.cnf")]
    constraint: Option<OsString>,
    /// The players: features (the default; pages begin with columns where possible); columns (a one-hot column is one
    /// player); a file with columns feature,player, whose features come and go together; or a PNG of the size of the
    /// grid, in which each colour is a player
    #[arg(long, value_name = "features|columns|FILE.csv|FILE.png")]
    players: Option<OsString>,
    /// HEIGHT rows of WIDTH rectangles of pixels as players, r0c0, r0c1, ...; sides that do not divide are split as
    /// evenly as possible. The file must hold the grid of its features (import --grid, train --grid)
    #[arg(long, value_name = "HEIGHTxWIDTH")]
    regions: Option<String>,
    /// Which output of a model to explain: its label, or its score (the number before the last step or argmax), which
    /// prediction then is. By default the output that a file holds; for a model its label
    #[arg(long, value_parser = ModelOutput::NAMES)]
    model_output: Option<String>,
    /// Which value of the game: the SHAP score (shapley), the mean contribution over all coalitions (banzhaf), the
    /// Shapley interaction index of every pair of players (interaction), Owen values of players in groups (owen:FILE
    /// with columns player,group), or the interactions of all sets of up to K players, from 1 to 3, which add up with
    /// the base value: Shapley-Taylor (taylor:K), k-SII (ksii:K)
    #[arg(long, value_name = "shapley|banzhaf|interaction|owen:FILE|taylor:K|ksii:K", default_value = "shapley")]
    index: OsString,
    /// How to read the rows, and those of --distribution if both ways fit: auto (from the header), raw (values), or
    /// bits (0 and 1 for each feature)
    #[arg(long, value_parser = INPUTS, default_value = "auto")]
    input: String,
}

/// How rows can be read.
pub(crate) const INPUTS: [&str; 3] = ["auto", "raw", "bits"];

impl GameOptions {
    /// The names of the game settings that were given.
    pub(crate) fn chosen(&self) -> Vec<&'static str> {
        let given = [
            ("distribution", self.distribution.is_some()),
            ("players", self.players.is_some()),
            ("regions", self.regions.is_some()),
        ];
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(setting, _)| setting).collect()
    }

    /// The request, with further settings if they are given.
    pub(crate) fn request(&self, more: &[(&str, Option<&str>)]) -> Result<Request, Error> {
        let own = [
            ("distribution", self.distribution.as_deref()),
            ("smoothing", Some(self.smoothing.as_ref())),
            ("constraint", self.constraint.as_deref()),
            ("players", self.players.as_deref()),
            ("regions", self.regions.as_ref().map(OsStr::new)),
            ("model_output", self.model_output.as_ref().map(OsStr::new)),
            ("index", Some(self.index.as_ref())),
            ("input", Some(self.input.as_ref())),
        ];
        let more = more.iter().map(|(setting, text)| (*setting, text.map(OsStr::new)));
        let mut request = Request::default();
        for (setting, text) in own.into_iter().chain(more) {
            text.map_or(Ok(()), |text| request.set(setting, text))?;
        }
        request.check()?;
        Ok(request)
    }
}
