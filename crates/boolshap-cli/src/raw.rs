//! Models of raw columns (XGBoost's JSON, LightGBM's text, boolshap's own) on the command line: they are not compiled, and
//! their rows are numbers.

use crate::explain::{Explain, Sink, kept_columns, mean_values};
use crate::predict::Predict;
use crate::terminal::{input_path, print, print_json, thousands, usage, with_progress};
use anyhow::Context;
use boolshap::Request;
use boolshap::data::{WholeFile, quote_csv};
use boolshap::model::{Decision, RawModel};
use boolshap::workflow::{Explained, RawExplainer, RawTable};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

impl Explain {
    /// Explains a model of raw columns.
    pub(crate) fn run_raw(&self, model: RawModel, request: &Request, output: Option<&Path>) -> anyhow::Result<()> {
        let start = Instant::now();
        if self.estimate {
            return usage("--estimate is for circuits and networks");
        }
        let mut table = RawTable::open(&input_path(&self.data), &model.columns)?;
        let keep = kept_columns(&self.keep, table.names());
        table.keep(&keep)?;
        let explainer = with_progress("preparing", |watch| RawExplainer::of_request(model, request, watch))?;
        let columns = explainer.columns(request, table.kept());
        let mut sink = Sink::open(output, &columns)?;
        let explained =
            with_progress("explaining", |watch| explainer.explain_table(&table, request, sink.as_dyn(), watch))?;
        let Explained { rows, means, .. } = explained;
        let about = &columns.about;
        match sink {
            Sink::File(file) => file.finish()?,
            Sink::Terminal(_) if self.json => {}
            Sink::Terminal(first) => first.print(self.exact, means.as_ref())?,
        }
        let seconds = start.elapsed().as_secs_f64();
        if self.json {
            let is_score = |(name, _): &(String, Value)| name.split(':').next() != Some("base_value");
            let means: Map<String, Value> =
                columns.numbers.iter().cloned().zip(mean_values(means)).filter(is_score).collect();
            let mut summary = json!({
                "rows": rows, "seconds": seconds, "mean_absolute": means, "outputs": explainer.outputs(),
                "error_bound": if self.exact { 0.0 } else { explainer.error_bound() },
            });
            about.iter().for_each(|(key, text)| summary[key] = text.as_str().into());
            print_json(&summary)?;
        } else if let Some(path) = &self.output {
            let [distribution, index, explained] = ["distribution", "index", "model_output"].map(|key| about.get(key));
            let words: Vec<&str> = [index, explained, distribution].into_iter().flatten().map(String::as_str).collect();
            let (rows, words, path) = (thousands(rows), words.join(", "), path.display());
            print(&format!("{rows} rows explained in {seconds:.2} s ({words}, players columns): {path}"))?;
        }
        Ok(())
    }
}

impl Predict {
    /// Writes the class of every row, or the predicted number.
    pub(crate) fn run_raw(&self, model: &RawModel, output: &Path) -> anyhow::Result<()> {
        let place = || output.display().to_string();
        let table = RawTable::open(&input_path(&self.data), &model.columns)?;
        let decides = model.decision != Decision::Number;
        if self.names && (!decides || model.outputs.is_empty()) {
            anyhow::bail!("{}: it does not say what its predictions are called", self.model.display());
        }
        let mut file = WholeFile::create(output).with_context(place)?;
        let header = match (decides, model.width()) {
            (true, _) if self.names => "prediction,name".into(),
            (true, _) | (false, 1) => "prediction".into(),
            (false, width) => (0..width).map(|output| format!("prediction:{output}")).collect::<Vec<_>>().join(","),
        };
        writeln!(file, "{header}").with_context(place)?;
        let rows = with_progress("predicting", |watch| {
            table.each(watch, |rows, _| {
                let numbers = model.numbers(&model.prepared("the rows", &rows)?);
                for row in numbers.chunks(model.width()) {
                    let line = match model.decide(row) {
                        Some(class) if self.names => format!("{class},{}", quote_csv(&model.outputs[class])),
                        Some(class) => class.to_string(),
                        None => row.iter().map(f64::to_string).collect::<Vec<_>>().join(","),
                    };
                    writeln!(file, "{line}").map_err(boolshap::Error::file(output))?;
                }
                Ok(())
            })
        })?;
        file.finish().with_context(place)?;
        print(&format!("{rows} predictions: {}", self.output.display()))?;
        Ok(())
    }
}
