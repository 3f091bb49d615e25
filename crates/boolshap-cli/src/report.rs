//! `boolshap report`: a page of plots that opens anywhere, or one figure for a paper.

use crate::experiment::in_units;
use crate::game_options::GameOptions;
use crate::predict::Input;
use crate::terminal::{input_path, output_path, print, usage, with_row_progress};
use anyhow::{Context, bail};
use boolshap::circuit::NamedCircuit;
use boolshap::data::{Entities, WholeFile};
use boolshap::explain::{FloatGame, Game, Index};
use boolshap::report::{Page, Rows, Subject, Survey, beeswarm_figure, circuit_figure};
use boolshap::report::{heat_map_figure, importance_figure, png, thousands, waterfall_figure};
use clap::{Args, ValueEnum};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write a self-contained page of plots, or one figure as SVG or PNG
///
/// The page opens without a network: what the circuit is, how much each feature matters, the scores of all rows, those of
/// any row that is chosen, and which features act together. The same input gives the same bytes.
#[derive(Args)]
pub(crate) struct Report {
    /// The circuit
    circuit: PathBuf,
    /// The rows, CSV or Parquet: raw columns or bits, matched by name; - is standard input (CSV)
    data: PathBuf,
    /// Where to write it
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    #[command(flatten)]
    game: GameOptions,
    /// The page, or one figure alone (svg or png if OUT ends so, else html)
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Which figure (importance unless told)
    #[arg(long, value_enum)]
    figure: Option<Figure>,
    /// The row of the waterfall, counted from 1 (the first unless told)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    row: Option<u64>,
    /// How many pixels of a PNG make one of the figure's 720 units across (2 unless told)
    #[arg(long, value_name = "FACTOR")]
    scale: Option<f32>,
    /// Of a file of several classes, which one is explained (the first, 0, unless told)
    #[arg(long, value_name = "K")]
    class: Option<usize>,
    /// How to read the rows, and those of --distribution where both ways fit
    #[arg(long, value_enum, default_value = "auto")]
    input: Input,
    /// Show these columns of the input as well
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    keep: Vec<String>,
    /// How many rows can be chosen on the page, the first ones; its figures are of all rows unless they say otherwise
    #[arg(long, value_name = "N", default_value_t = 25_000)]
    rows: usize,
    /// Tell how long compiling took, from the output of compile --json
    #[arg(long, value_name = "FILE")]
    timings: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    /// One HTML file
    Html,
    /// One figure
    Svg,
    /// One figure, in pixels
    Png,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Figure {
    /// The mean absolute score of each player
    Importance,
    /// The scores of all rows
    Beeswarm,
    /// From the base value to the decision of one row
    Waterfall,
    /// The mean absolute interaction of each pair
    Interactions,
    /// The circuit itself, if it is small
    Circuit,
}

impl Report {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        if self.game.index.index() != Index::Shapley {
            return usage("a report shows Shapley values: --index is for explain");
        }
        let (format, figure) = self.what()?;
        let row = self.row.unwrap_or(1) as usize;
        let place = || self.circuit.display().to_string();
        let named = NamedCircuit::load(&self.circuit).with_context(place)?;
        let class = chosen_class(&named, self.class)?;
        let circuit = match class {
            Some(class) => named.class(class).with_context(place)?,
            None => named.circuit.clone(),
        };
        let subject = Subject::new(&named, class).with_context(place)?;
        let facts = self.timings.as_deref().map(timing_facts).transpose()?.unwrap_or_default();
        let players = self.game.players(&named)?;
        let population = self.game.population(&named, &players, self.input.reading())?;
        let data = input_path(&self.data);
        let entities = Entities::open(&data, &named.features, named.binariser.as_ref(), self.input.reading())?;
        let output = output_path(&self.output);
        let out_place = || output.display().to_string();
        let mut file = WholeFile::create(&output).with_context(out_place)?;
        let (rows, survey) = with_row_progress("reading and explaining", |watch| {
            let rows = Rows::read(entities, &subject, &self.keep, self.rows.max(row), watch)?;
            let watch = watch.silent();
            let game = Game::new(&circuit, players.clone(), population.clone(), &watch);
            let game = FloatGame::new(&game.map_err(|error| self.game.in_file(error))?);
            let in_data = |error: boolshap::explain::ExplainError| {
                anyhow::Error::new(error.in_file(&data, |kind| rows.first[kind]))
            };
            let mut survey = Survey::new(&game, &rows, &watch).map_err(in_data)?;
            if format == Format::Html || figure == Figure::Interactions {
                survey = survey.with_interactions(&game, &rows, &watch)?;
            }
            anyhow::Ok((rows, survey))
        })?;
        let page = Page {
            subject: &subject,
            circuit: &circuit,
            rows: &rows,
            players: &players,
            population: &population,
            distribution: &self.game.distribution_name(),
            class,
            survey: &survey,
            facts,
            timing: None,
            choices: None,
        };
        let bytes = match format {
            Format::Html => page.html().into_bytes(),
            Format::Svg => self.draw(&page, figure, row)?.into_bytes(),
            Format::Png => {
                png(&self.draw(&page, figure, row)?, self.scale.unwrap_or(2.0)).map_err(anyhow::Error::msg)?
            }
        };
        file.write_all(&bytes).and_then(|()| file.finish()).with_context(out_place)?;
        let what = if format == Format::Html { "report" } else { "figure" };
        print(&format!("{what} of {} rows: {}", thousands(rows.total()), self.output.display()))?;
        Ok(())
    }

    /// The format and the figure; what would have no effect is refused.
    fn what(&self) -> anyhow::Result<(Format, Figure)> {
        let ending = self.output.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let by_name = match ending.to_ascii_lowercase().as_str() {
            "svg" => Format::Svg,
            "png" => Format::Png,
            _ => Format::Html,
        };
        let format = self.format.unwrap_or(by_name);
        let figure = self.figure.unwrap_or(Figure::Importance);
        if format == Format::Html && (self.figure.is_some() || self.row.is_some()) {
            return usage("--figure and --row are for a figure alone: --format svg or png");
        }
        if format != Format::Html && (self.timings.is_some() || !self.keep.is_empty()) {
            return usage("--timings and --keep are for the page: --format html");
        }
        if self.scale.is_some() && format != Format::Png {
            return usage("--scale is for --format png");
        }
        if self.row.is_some() && figure != Figure::Waterfall {
            return usage("--row is for --figure waterfall");
        }
        Ok((format, figure))
    }

    fn draw(&self, page: &Page<'_>, figure: Figure, row: usize) -> anyhow::Result<String> {
        let Page { subject, rows, players, survey, .. } = page;
        if rows.total() == 0 && figure != Figure::Circuit {
            bail!("{}: there are no rows to draw", self.data.display());
        }
        Ok(match figure {
            Figure::Importance => {
                let named = players.names().iter().cloned().zip(survey.importance.iter().copied());
                importance_figure(&named.collect::<Vec<_>>())
            }
            Figure::Beeswarm => beeswarm_figure(&survey.swarm(subject, players, rows)),
            Figure::Waterfall => {
                let Some(&kind) = rows.table.kinds.get(row - 1) else {
                    bail!("{}: there is no row {} ({} rows)", self.data.display(), row, thousands(rows.total()));
                };
                let title = format!("row {row}");
                waterfall_figure(&page.waterfall(kind as usize, Some(row - 1), title))
            }
            Figure::Interactions if survey.interactions.is_empty() => {
                bail!("there are no interactions of {} players to draw", players.len())
            }
            Figure::Interactions => {
                heat_map_figure(players.names(), &survey.interactions, page.interaction_part().as_deref())
            }
            Figure::Circuit => {
                let names: Vec<String> = subject.features.iter().map(|feature| feature.name.clone()).collect();
                circuit_figure(page.circuit, &names).context("the circuit is too large to be drawn")?
            }
        })
    }
}

/// Which class of a file of several is meant; the first unless told.
fn chosen_class(named: &NamedCircuit, given: Option<usize>) -> anyhow::Result<Option<usize>> {
    match (given, named.classes.len()) {
        (Some(_), 0) => usage("--class is for files of several classes (compile --class all)"),
        (None, 0) => Ok(None),
        (Some(class), classes) if class >= classes => usage(format!("--class {class}: there are {classes} classes")),
        (given, _) => Ok(Some(given.unwrap_or(0))),
    }
}

/// What `compile --json` told of its times.
fn timing_facts(path: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let place = || path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(place)?;
    let told: Value = serde_json::from_str(&text).with_context(place)?;
    let seconds = told["seconds"].as_f64().with_context(|| format!("{}: there is no number 'seconds'", place()))?;
    let mut words = in_units(seconds);
    if let Value::Object(stages) = &told["stages"] {
        let told =
            |(name, stage): (&String, &Value)| stage["seconds"].as_f64().map(|s| format!("{name} {}", in_units(s)));
        let stages: Vec<String> = stages.iter().filter_map(told).collect();
        if !stages.is_empty() {
            words = format!("{words} ({})", stages.join(", "));
        }
    }
    Ok(vec![("Compiled in".into(), words)])
}
