//! Compiles a DIMACS file into libsdd's `.sdd` and `.vtree` files, or reads such files and describes them.
//!
//!     sdd_files compile FILE.cnf STEM [balanced|left|right|random]
//!     sdd_files read STEM
//!
//! Both print `size`, `decision_nodes`, `models` and, up to 16 variables, the truth table as a row of 0 and 1: the
//! first variable changes fastest.

// Examples print their results.
#![allow(clippy::print_stdout)]

use boolshap::diagram::{CompileOptions, Sdd, SddFile, SddManager, StartVtree, Vtree, compile_clauses};
use boolshap::formula::read_dimacs;
use boolshap::lit::{Lit, Watch};
use std::error::Error;
use std::fs::{self, File};
use std::io::BufReader;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["compile", cnf, stem] => compile(cnf, stem, "right"),
        ["compile", cnf, stem, vtree] => compile(cnf, stem, vtree),
        ["read", stem] => read(stem),
        _ => Err("usage: sdd_files compile FILE.cnf STEM [balanced|left|right|random] | sdd_files read STEM".into()),
    }
}

fn compile(cnf: &str, stem: &str, vtree: &str) -> Result<(), Box<dyn Error>> {
    let formula = read_dimacs(BufReader::new(File::open(cnf)?), cnf)?;
    let variables = formula.variables();
    let clauses: Vec<Vec<Lit>> = formula.clauses().map(|clause| clause.lits().collect()).collect();
    let vtree = match vtree {
        "balanced" => StartVtree::Balanced,
        "left" => StartVtree::LeftLinear,
        "right" => StartVtree::RightLinear,
        "random" => StartVtree::Random(1),
        other => return Err(format!("no vtree is called {other}").into()),
    };
    let options = CompileOptions { vtree, ..CompileOptions::default() };
    let compiled = compile_clauses(variables, clauses.iter().map(Vec::as_slice), &options, &Watch::unlimited())?;
    let (manager, root) = (compiled.manager, compiled.root);
    fs::write(format!("{stem}.vtree"), manager.vtree().to_file_text()?)?;
    fs::write(format!("{stem}.sdd"), manager.to_file(root).to_file_text(manager.vtree()))?;
    describe(&manager, root, manager.size(root), manager.decision_nodes(root))
}

fn read(stem: &str) -> Result<(), Box<dyn Error>> {
    let vtree = Vtree::parse(&fs::read_to_string(format!("{stem}.vtree"))?)?;
    let file = SddFile::parse(&fs::read_to_string(format!("{stem}.sdd"))?, &vtree)?;
    let mut manager = SddManager::new(vtree);
    let root = manager.load(&file, &Watch::unlimited())?;
    describe(&manager, root, file.size(), file.decision_nodes())
}

fn describe(manager: &SddManager, root: Sdd, size: usize, decision_nodes: usize) -> Result<(), Box<dyn Error>> {
    println!("size {size}\ndecision_nodes {decision_nodes}\nmodels {}", manager.model_count(root));
    let variables = manager.variables();
    if variables <= 16 {
        let mut table = String::new();
        for row in 0..1_u32 << variables {
            let assignment: Vec<bool> = (0..variables).map(|i| row >> i & 1 == 1).collect();
            table.push(if manager.evaluate(root, &assignment)? { '1' } else { '0' });
        }
        println!("truth_table {table}");
    }
    Ok(())
}
