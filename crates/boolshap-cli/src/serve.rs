//! `boolshap serve`: the live page and the HTTP API of a circuit.

use crate::game_options::GameOptions;
use crate::terminal::{input_path, note, print, ready_source, second_model, seconds, usage, with_progress};
use anyhow::{Context, bail};
use boolshap::data::Entities;
use boolshap::explain::Index;
use boolshap::lit::thousands;
use boolshap::model::RawModel;
use boolshap::report::{Beside, Rows, Subject};
use boolshap::workflow::{DistributionFrom, RawGame, RowsFrom, load_raw_model};
use boolshap::{Model, NamedCircuit, Request};
use boolshap_web::{Access, RawSite, Served, Server, ServerLimits, Site};
use clap::Args;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Serve a live page and an HTTP API
///
/// The page answers every switch with the exact scores. The API is described at /api/openapi.json, and counters for
/// Prometheus are at /metrics. The server listens on this machine alone by default; other addresses need a token.
/// SIGTERM shuts it down gracefully: accepted requests are still answered.
#[derive(Args)]
pub(crate) struct Serve {
    /// The circuit, or a model, which is compiled first if that is quick; or a booster of XGBoost (JSON) or LightGBM
    /// (text), which has the API and no page
    #[arg(value_name = "SOURCE")]
    circuit: PathBuf,
    /// Rows to choose from, CSV or Parquet: raw columns or bits, matched by name; for a booster, the rows to compare
    /// with
    data: Option<PathBuf>,
    /// The model that SOURCE was compiled from: certificates can then hold proofs
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// A second circuit or model of the same features, to compare with on the page
    #[arg(long, value_name = "OTHER")]
    beside: Option<PathBuf>,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,
    /// The token that requests must carry (Authorization: Bearer TOKEN); needed where other machines can reach the
    /// server
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    token: Option<String>,
    /// The same, from the first line of a file, which hides it from other users of this machine
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    game: GameOptions,
    /// Show these columns of the input as well
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    keep: Vec<String>,
    /// How many rows can be chosen on the page, from the first; its figures are of all rows unless they say otherwise
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    rows: usize,
    /// The most entities in one request
    #[arg(long, value_name = "N", default_value_t = ServerLimits::default().rows)]
    max_entities: usize,
    /// The largest size of one request, in MiB
    #[arg(long, value_name = "MIB", default_value_t = (ServerLimits::default().body_bytes >> 20) as u32)]
    max_body: u32,
    /// The longest time for one request, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    max_time: Duration,
}

impl Serve {
    pub(crate) fn run(&self, memory: Option<u64>) -> anyhow::Result<()> {
        let request = self.game.request(&[])?;
        if request.index != Index::Shapley {
            return usage("the page shows Shapley values; requests name their own index");
        }
        let server = Server::bind(self.address()?, self.access()?)?;
        if let Some(model) = load_raw_model(&self.circuit)? {
            return self.run_raw(model, request, server, self.limits(memory));
        }
        let source = ready_source(&self.circuit, request.model_output.unwrap_or_default())?;
        let model = match &self.model {
            Some(path) => Some(Model::load(path)?),
            None => source.model.map(|model| *model),
        };
        let circuit = Arc::new(source.circuit);
        let rows = self.read_rows(&circuit, &request)?;
        let second = self.beside.as_deref().map(|path| second_model(path, &request)).transpose()?;
        let limits = self.limits(memory);
        let total = rows.total();
        let site = with_progress("preparing", |watch| {
            let chosen = self.game.chosen();
            let opening = request.clone().opening(&chosen, &circuit, [&rows.kinds, &rows.expanded()], watch)?;
            let beside = second.map(|(name, other)| {
                let made = Beside::new(&name, &circuit, other, &rows, &request, watch);
                made.map_err(|error| error.in_file(self.beside.as_deref().unwrap_or(&self.circuit)))
            });
            let beside = beside.transpose()?;
            anyhow::Ok(
                Site::new(circuit, rows, &request, limits, watch)?.about(model)?.opening_with(&opening)?.beside(beside),
            )
        })?;
        let data = if total > 0 { format!(" with {} rows", thousands(total)) } else { String::new() };
        self.serve(server, site, &data)
    }

    fn serve(&self, server: Server, site: impl Served, data: &str) -> anyhow::Result<()> {
        let (place, address) = (self.circuit.display(), server.address());
        let token = if self.has_token() { "?token=TOKEN" } else { "" };
        print(&format!("serving {place}{data} at http://{address}/{token} (Ctrl-C stops it)"))?;
        match server.run(site)? {
            true => note("stopped: every request under way was answered"),
            false => note("stopped: some requests took too long and were cut off"),
        }
        Ok(())
    }

    /// Serves a model of raw columns. It has no page, so the data are its background.
    fn run_raw(
        &self,
        model: RawModel,
        mut request: Request,
        server: Server,
        limits: ServerLimits,
    ) -> anyhow::Result<()> {
        if self.model.is_some() || self.beside.is_some() || !self.keep.is_empty() {
            return usage("--model, --beside and --keep are for circuits, and this is a model of raw columns");
        }
        match (&self.data, self.game.chosen().contains(&"distribution")) {
            (Some(_), true) => {
                return usage("a model of raw columns has no page: give DATA or --distribution, not both");
            }
            (Some(data), false) => {
                request.distribution = DistributionFrom::Background(RowsFrom::File(input_path(data)))
            }
            (None, true) => {}
            (None, false) => return usage("a model of raw columns is explained against rows: give DATA as well"),
        }
        let game = with_progress("preparing", |watch| RawGame::of_request(model, &request, watch))?;
        let data = format!(" against {} rows", thousands(game.background_rows() as u64));
        self.serve(server, RawSite::new(game, limits), &data)
    }

    fn limits(&self, memory: Option<u64>) -> ServerLimits {
        ServerLimits {
            rows: self.max_entities,
            body_bytes: (self.max_body as usize) << 20,
            time: self.max_time,
            workers: rayon::current_num_threads(),
            memory,
            ..ServerLimits::default()
        }
    }

    fn has_token(&self) -> bool {
        self.token.is_some() || self.token_file.is_some()
    }

    fn address(&self) -> anyhow::Result<SocketAddr> {
        match self.listen.to_socket_addrs().map(|mut found| found.next()) {
            Ok(Some(address)) => Ok(address),
            Ok(None) => usage(format!("--listen '{}' is no address", self.listen)),
            Err(error) => usage(format!("--listen '{}': {error}", self.listen)),
        }
    }

    fn access(&self) -> anyhow::Result<Access> {
        let token = match (&self.token, &self.token_file) {
            (Some(token), _) => token.clone(),
            (None, Some(path)) => {
                let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
                text.lines().next().unwrap_or_default().trim().to_string()
            }
            (None, None) => return Ok(Access::Loopback),
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        if token.is_empty() || !token.chars().all(fits) {
            bail!("a token is made of letters, digits and -._~, and has at least one of them");
        }
        Ok(Access::Token(token))
    }

    fn read_rows(&self, circuit: &NamedCircuit, request: &Request) -> anyhow::Result<Rows> {
        let Some(data) = &self.data else { return Ok(Rows::none(circuit.features.len())) };
        let subject = Subject::new(circuit, (!circuit.classes.is_empty()).then_some(0))?;
        let data = input_path(data);
        let entities = Entities::open(&data, &circuit.features, circuit.binariser.as_ref(), request.input)?;
        Ok(with_progress("reading", |watch| Rows::read(entities, &subject, &self.keep, self.rows, watch))?)
    }
}
