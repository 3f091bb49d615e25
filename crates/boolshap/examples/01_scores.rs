//! Train, compile, explain, save: the front door of the library, on a small table.
#![allow(clippy::print_stdout)]

use boolshap::{CompileRequest, Explainer, Request, TrainRequest, compile, train};
use std::error::Error;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let [table, circuit, scores] = ["table.csv", "circuit.bsc", "scores.csv"].map(|name| folder.path().join(name));
    std::fs::write(&table, some_rows())?;

    let trained = train(&table, &TrainRequest::new("late"))?;
    let compiled = compile(&trained.model, &CompileRequest { verify: true, ..CompileRequest::default() })?;
    compiled.save(&circuit)?;
    let explainer = Explainer::new(&compiled.circuit, &Request::default())?;
    let explained = explainer.explain_file(&table, &scores)?;
    println!("{} rows: {}", explained.rows, explainer.describe());

    let row = explainer.explain_row(&[true, true, false])?;
    println!("{} + {:?} = {}", row.base_value(0), row.scores(0), row.prediction(0));
    assert_eq!(std::fs::read_to_string(&scores)?.lines().count(), 1 + explained.rows as usize);
    Ok(())
}

/// A train is late in rain and wind, unless it runs underground.
fn some_rows() -> String {
    let late = |rain: u32, wind: u32, tunnel: u32| rain & wind & (1 - tunnel);
    let row = |n: u32| {
        let [rain, wind, tunnel] = [n & 1, n >> 1 & 1, n >> 2 & 1];
        format!("{rain},{wind},{tunnel},{}\n", late(rain, wind, tunnel))
    };
    "rain,wind,tunnel,late\n".to_string() + &(0..64).map(row).collect::<String>()
}
