//! Writes the playground: the demo's report with an embedded module that reads other files.
//!
//!     cargo run -p boolshap-bench --example site -- MODULE.gz OUT.html

use boolshap::CompileRequest;
use boolshap::data::{Entities, Reading, Table, WholeFile};
use boolshap::lit::Watch;
use boolshap::report::{Page, Rows, Subject, Survey};
use boolshap::workflow::{Explainer, Request, Scope, compile};
use boolshap_bench::{embedded_model, embedded_rows, embedded_table};
use std::path::Path;
use std::sync::Arc;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, output] = &arguments[..] else {
        anyhow::bail!("the packed module and the page to write are expected")
    };
    let (model, watch) = (embedded_model()?, Watch::unlimited());
    let (training, testing) = embedded_rows(model.features.len())?;
    let circuit = compile(&model, &CompileRequest { verify: true, ..CompileRequest::default() })?.circuit;
    let table = embedded_table(&model, &training.merged(&testing))?;
    let table = Table::of_content(Path::new("housing.csv"), table.into_bytes())?;
    let entities = Entities::of_table(table, &circuit.features, circuit.binariser.as_ref(), Reading::Auto)?;
    let circuit = Arc::new(circuit);
    let subject = Subject::new(&circuit, None)?;
    let rows = Rows::read(entities, &subject, &[], 25_000, &watch)?;
    let request = Request::default().opening(&[], &circuit, [&rows.kinds, &rows.expanded()], &watch)?;
    let explainer = Explainer::prepare(circuit.clone(), &request, &watch)?;
    let survey = Survey::new(&explainer, Scope::Label, &rows, &watch)?;
    let survey = survey.with_interactions(&explainer, Scope::Label, &rows, &watch)?;
    let predicted = rows.predicted(&circuit, &watch)?;
    let page = Page {
        subject: &subject,
        explainer: &explainer,
        rows: &rows,
        class: None,
        survey: &survey,
        predicted: predicted.as_deref(),
        facts: Vec::new(),
        timing: None,
        choices: None,
        beside: None,
    };
    let content = page.playground(&std::fs::read(module)?);
    Ok(WholeFile::write(Path::new(output), content.as_bytes())?)
}
