//! Times the paper's engines on a circuit file: `time_engines CIRCUIT.nnf ENTITIES.csv [SMOOTH.nnf]`.
//!
//! The circuit goes through Algorithm 1 first; the result is written to SMOOTH.nnf if that is given, for
//! `benchmarks/authors.py` to be measured on the same circuit.
#![allow(clippy::print_stdout)]

use boolshap::circuit::{paper_form, read_nnf, write_nnf};
use boolshap::explain::{BruteForce, Distribution, Labels, OpenBox};
use boolshap::lit::Watch;
use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [circuit, entities, smooth_file @ ..] = &arguments[..] else {
        return Err("usage: time_engines CIRCUIT.nnf ENTITIES.csv [SMOOTH.nnf]".into());
    };
    let smooth = paper_form(&read_nnf(BufReader::new(File::open(circuit)?))?)?;
    if let Some(file) = smooth_file.first() {
        write_nnf(&smooth, BufWriter::new(File::create(file)?))?;
    }
    let text = std::fs::read_to_string(entities)?;
    let rows: Vec<Vec<bool>> =
        text.lines().skip(1).map(|line| line.split(',').map(|value| value.trim() == "1").collect()).collect();
    let uniform = Distribution::uniform(smooth.variables());
    let watch = Watch::unlimited();
    println!("{:?}", smooth.counts());

    let open_box = OpenBox::new(&smooth)?;
    time("open box", rows.len(), || open_box.explain(&rows, &uniform, &watch).map(drop))?;
    time("open box, one entity at a time", rows.len(), || {
        rows.iter().try_for_each(|row| open_box.explain(&[row], &uniform, &watch).map(drop))
    })?;
    time("open box, fractions", rows.len(), || open_box.explain_exact(&rows, &uniform, &watch).map(drop))?;
    let labels = Labels::of_circuit(&smooth)?;
    time("black box", rows.len(), || BruteForce::new(&labels).explain(&rows, &uniform, &watch).map(drop))?;
    println!("at most {} vectors alive", open_box.live_vectors());
    Ok(())
}

/// The median of seven runs.
fn time<E>(name: &str, entities: usize, run: impl Fn() -> Result<(), E>) -> Result<(), E> {
    let mut seconds = Vec::new();
    for _ in 0..7 {
        let start = Instant::now();
        run()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    println!("{name}: {:.3} microseconds an entity", seconds[3] / entities as f64 * 1e6);
    Ok(())
}
