//! `boolshap report`: a page of plots that opens anywhere, or one figure for a paper.

use crate::game_options::GameOptions;
use crate::terminal::{
    input_path, note, output_path, print, ready_explained, second_model, usage, wait_text, with_progress,
};
use anyhow::Context;
use boolshap::NamedCircuit;
use boolshap::data::{Entities, Reading, WholeFile};
use boolshap::explain::Index;
use boolshap::lit::{Watch, thousands};
use boolshap::report::{Beside, Figure, Page, Rows, Subject, Survey, image_figure, picture, png};
use boolshap::workflow::{ClassChoice, Error, Explainer, Request, Scope, opening_class};
use boolshap_bench::in_units;
use clap::{Args, ValueEnum};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write a self-contained page of plots, or one figure as SVG or PNG
///
/// The page opens without a network connection. It shows what the circuit is, how much each feature matters, the scores
/// of all rows and of any chosen row, and which features act together. The same input gives the same bytes.
#[derive(Args)]
pub(crate) struct Report {
    /// The circuit, or a model, which is compiled first if that is quick
    #[arg(value_name = "SOURCE")]
    circuit: PathBuf,
    /// The rows, CSV or Parquet: raw columns or bits, matched by name; - is standard input (CSV)
    data: PathBuf,
    /// Where to write it
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    #[command(flatten)]
    game: GameOptions,
    /// The page, or one figure alone (by the ending of OUT: svg, png, else html)
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Which figure: importance, the mean absolute score of each player (the default); beeswarm, the scores of all rows;
    /// waterfall, from the base value to the decision of one row; interactions, the mean absolute interaction of each
    /// pair; circuit, if it is small; image, one row with its scores over the pixels or regions of a grid
    #[arg(long, value_name = "NAME")]
    figure: Option<Figure>,
    /// The row of the waterfall or image, counted from 1 (the first by default)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    row: Option<u64>,
    /// The pixels of a PNG for each of the figure's 720 units across (2 by default)
    #[arg(long, value_name = "FACTOR")]
    scale: Option<f32>,
    /// Which class to explain, if there are several (that of the first row by default)
    #[arg(long, value_name = "K")]
    class: Option<String>,
    /// Show these columns of the input as well
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    keep: Vec<String>,
    /// How many rows can be chosen on the page, from the first; its figures are of all rows unless they say otherwise
    #[arg(long, value_name = "N", default_value_t = 25_000)]
    rows: usize,
    /// A second circuit or model of the same features, to compare with on the page
    #[arg(long, value_name = "OTHER")]
    beside: Option<PathBuf>,
    /// Show how long compiling took, from the output of compile --json
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

impl Report {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let request = self.game.request(&[])?;
        if request.index != Index::Shapley {
            return usage("a report shows Shapley values: --index is for explain");
        }
        let (format, figure) = self.what()?;
        let row = self.row.unwrap_or(1) as usize;
        let class = self.class.as_deref().map(str::parse::<ClassChoice>).transpose()?;
        let own = [Some(&self.circuit), Some(&self.data), self.timings.as_ref(), self.beside.as_ref()];
        let own: Vec<&Path> = own.into_iter().flatten().map(PathBuf::as_path).collect();
        let output = output_path(&self.output, &[own, request.files()].concat())?;
        if figure == Figure::Image {
            return self.image(&request, row as u64, format, &output);
        }
        let circuit = ready_explained(&self.circuit, request.model_output.unwrap_or_default())?;
        let facts = self.timings.as_deref().map(timing_facts).transpose()?.unwrap_or_default();
        let out_place = || output.display().to_string();
        let mut file = WholeFile::create(&output).with_context(out_place)?;
        let rows = self.read_rows(&circuit, request.input, row)?;
        let request = with_progress("preparing", |watch| {
            request.opening(&self.game.chosen(), &circuit, [&rows.kinds, &rows.expanded()], watch)
        })?;
        let beside = self.read_beside(&circuit, &rows, &request)?;
        let explainer = with_progress("preparing", |watch| {
            Explainer::prepare(circuit, &Request { class: class.clone(), ..request }, watch)
        })?;
        let predicted = with_progress("predicting", |watch| rows.predicted(explainer.circuit(), watch))?;
        let class = opening_class(explainer.circuit(), class.as_ref(), rows.first_class(predicted.as_deref()))?;
        let subject = Subject::new(explainer.circuit(), class)?;
        if self.data.is_file() {
            let wait = with_progress("estimating", |watch| explainer.wait(&self.data, false, watch))?;
            wait.iter().filter(|wait| wait.is_long()).for_each(|wait| note(&wait_text(wait)));
        }
        let interactions = format == Format::Html || figure == Figure::Interactions;
        let survey = with_progress("explaining", |watch| self.survey(&explainer, class, &rows, interactions, watch))?;
        let page = Page {
            subject: &subject,
            explainer: &explainer,
            rows: &rows,
            class,
            survey: &survey,
            predicted: predicted.as_deref(),
            facts,
            timing: None,
            choices: None,
            beside: beside.as_ref(),
        };
        let drawn = if figure == Figure::Circuit { &self.circuit } else { &self.data };
        let draw = || page.figure(figure, row - 1).map_err(|error| error.in_file(drawn));
        let bytes = match format {
            Format::Html => page.html().into_bytes(),
            Format::Svg => draw()?.into_bytes(),
            Format::Png => png(&draw()?, self.scale.unwrap_or(2.0)).map_err(anyhow::Error::msg)?,
        };
        file.write_all(&bytes).and_then(|()| file.finish()).with_context(out_place)?;
        let what = if format == Format::Html { "report" } else { "figure" };
        let total = rows.total();
        let noun = if total == 1 { "row" } else { "rows" };
        print(&format!("{what} of {} {noun}: {}", thousands(total), self.output.display()))?;
        Ok(())
    }

    /// The second model, prepared for the first view of the page.
    fn read_beside(&self, circuit: &NamedCircuit, rows: &Rows, request: &Request) -> anyhow::Result<Option<Beside>> {
        let Some(path) = &self.beside else { return Ok(None) };
        let (name, other) = second_model(path, request)?;
        let made = with_progress("preparing", |watch| Beside::new(&name, circuit, other, rows, request, watch));
        Ok(Some(made.map_err(|error| error.in_file(path))?))
    }

    /// The rows of the data; the page offers the first ones, at least up to `row`.
    fn read_rows(&self, circuit: &NamedCircuit, reading: Reading, row: usize) -> anyhow::Result<Rows> {
        let subject = Subject::new(circuit, (!circuit.classes.is_empty()).then_some(0))?;
        let data = input_path(&self.data);
        let entities = Entities::open(&data, &circuit.features, circuit.binariser.as_ref(), reading)?;
        let most = self.rows.max(row);
        Ok(with_progress("reading", |watch| Rows::read(entities, &subject, &self.keep, most, watch))?)
    }

    /// Draws one row as an image; the network need not be compiled.
    fn image(&self, request: &Request, row: u64, format: Format, output: &Path) -> anyhow::Result<()> {
        if self.class.is_some() {
            return usage("--figure image shows every class: --class is for the other figures");
        }
        let circuit = ready_explained(&self.circuit, request.model_output.unwrap_or_default())?;
        let out_place = || output.display().to_string();
        let mut file = WholeFile::create(output).with_context(out_place)?;
        let svg = with_progress("explaining", |watch| {
            let explainer = Explainer::prepare(circuit, request, watch)?;
            let path = input_path(&self.data);
            let mut before = 0;
            for bits in explainer.open(&path)? {
                let bits = bits.map_err(Error::from)?;
                if row <= before + bits.rows() as u64 {
                    let entity = bits.row((row - before - 1) as usize);
                    let picture = picture(&explainer, &entity, format!("row {row}"), watch);
                    return Ok(image_figure(&picture.map_err(|error| in_row(error, &path, row))?));
                }
                before += bits.rows() as u64;
            }
            Err(Error::input(format!("there is no row {row} ({before} rows)")).in_file(&path))
        })?;
        let bytes = match format {
            Format::Png => png(&svg, self.scale.unwrap_or(2.0)).map_err(anyhow::Error::msg)?,
            Format::Html | Format::Svg => svg.into_bytes(),
        };
        file.write_all(&bytes).and_then(|()| file.finish()).with_context(out_place)?;
        Ok(print(&format!("figure of row {row}: {}", self.output.display()))?)
    }

    /// The scores of all distinct rows; an error names the row of the file.
    fn survey(
        &self,
        explainer: &Explainer,
        class: Option<usize>,
        rows: &Rows,
        interactions: bool,
        watch: &Watch<'_>,
    ) -> Result<Survey, Error> {
        let scope = class.map_or(Scope::Label, Scope::Class);
        let in_data = |error: Error| match error {
            Error::Explain(error) => error.in_file(&input_path(&self.data), |kind| rows.first[kind]).into(),
            other => other,
        };
        let survey = Survey::new(explainer, scope, rows, watch).map_err(in_data)?;
        if interactions { survey.with_interactions(explainer, scope, rows, watch) } else { Ok(survey) }
    }

    /// The format and the figure; options without effect are refused.
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
        if format != Format::Html && (self.timings.is_some() || self.beside.is_some() || !self.keep.is_empty()) {
            return usage("--timings, --beside and --keep are for the page: --format html");
        }
        if self.scale.is_some() && format != Format::Png {
            return usage("--scale is for --format png");
        }
        if self.row.is_some() && ![Figure::Waterfall, Figure::Image].contains(&figure) {
            return usage("--row is for --figure waterfall or image");
        }
        Ok((format, figure))
    }
}

/// The same error with the row of the file.
fn in_row(error: Error, path: &Path, row: u64) -> Error {
    match error {
        Error::Explain(error) => error.in_file(path, |_| row).into(),
        other => other,
    }
}

/// The times in the output of `compile --json`.
fn timing_facts(path: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let place = || path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(place)?;
    let summary: Value = serde_json::from_str(&text).with_context(place)?;
    let seconds = summary["seconds"].as_f64().with_context(|| format!("{}: there is no number 'seconds'", place()))?;
    let mut words = in_units(seconds);
    if let Value::Object(stages) = &summary["stages"] {
        let time =
            |(name, stage): (&String, &Value)| stage["seconds"].as_f64().map(|s| format!("{name} {}", in_units(s)));
        let stages: Vec<String> = stages.iter().filter_map(time).collect();
        if !stages.is_empty() {
            words = format!("{words} ({})", stages.join(", "));
        }
    }
    Ok(vec![("Compiled in".into(), words)])
}
