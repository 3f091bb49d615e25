//! Times the engines on a circuit file: `time_engines CIRCUIT.nnf ENTITIES.csv [SMOOTH.nnf]`.
//!
//! The circuit goes through Algorithm 1 first; the result is written to SMOOTH.nnf if that is given, so that
//! `benchmarks/authors.py` can be measured on the same circuit.
#![allow(clippy::print_stdout)]

use boolshap::circuit::{paper_form, read_nnf, write_nnf};
use boolshap::data::Bits;
use boolshap::explain::{BruteForce, FastEngine, Labels, OpenBox, Probabilities, USEFUL_OPERATIONS, multiply_add_rate};
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
    let circuit = read_nnf(BufReader::new(File::open(circuit)?))?;
    let smooth = paper_form(&circuit)?;
    if let Some(file) = smooth_file.first() {
        write_nnf(&smooth, BufWriter::new(File::create(file)?))?;
    }
    let text = std::fs::read_to_string(entities)?;
    let rows: Vec<Vec<bool>> =
        text.lines().skip(1).map(|line| line.split(',').map(|value| value.trim() == "1").collect()).collect();
    let uniform = Probabilities::uniform(smooth.variables());
    let watch = Watch::unlimited();
    println!("{:?}", smooth.counts());

    // Every row is computed on one thread, including repeated ones.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let tables: Vec<Bits> = rows.chunks(1).chain([&rows[..]]).map(|rows| table(smooth.variables(), rows)).collect();
    let (all, each) = tables.split_last().ok_or("no tables")?;
    for (name, form) in [("fast", &circuit), ("fast, smooth circuit", &smooth)] {
        let engine = FastEngine::new(form)?.merge_rows(false);
        let seconds = time(name, rows.len(), || pool.install(|| engine.explain(all, &uniform, &watch).map(drop)))?;
        let operations = USEFUL_OPERATIONS as f64 * (engine.nodes() * engine.points() * rows.len()) as f64;
        let share = operations / seconds / multiply_add_rate();
        println!("  {} nodes, {:.1} % of the machine's multiply-adds", engine.nodes(), 100.0 * share);
        time("fast, one entity at a time", rows.len(), || {
            pool.install(|| each.iter().try_for_each(|row| engine.explain(row, &uniform, &watch).map(drop)))
        })?;
    }

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

fn table(features: usize, rows: &[Vec<bool>]) -> Bits {
    let mut bits = Bits::new(features);
    rows.iter().for_each(|row| bits.push(row));
    bits
}

/// The median of nine runs, in seconds.
fn time<E>(name: &str, entities: usize, run: impl Fn() -> Result<(), E>) -> Result<f64, E> {
    let mut seconds = Vec::new();
    for _ in 0..9 {
        let start = Instant::now();
        run()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    println!("{name}: {:.3} microseconds an entity", seconds[4] / entities as f64 * 1e6);
    Ok(seconds[4])
}
