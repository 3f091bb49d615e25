//! The paper's figure for its circuit, from PySDD's own diagram of the paper's formula.
//!
//! PySDD makes the file: `SddManager.from_cnf_file(b"paper_bnn_2391.cnf", vtree_type=b"balanced")`, then `save` on the
//! node. BOOLSHAP_PYSDD names it; without it the test is skipped.

use boolshap::circuit::{Lowering, SddItem, check, lower, paper_form};
use boolshap::lit::{Lit, Watch};
use std::collections::HashMap;

#[test]
#[allow(clippy::print_stderr)]
fn algorithm_1_gives_the_papers_number_of_nodes() {
    let Ok(path) = std::env::var("BOOLSHAP_PYSDD") else {
        eprintln!("skipped: BOOLSHAP_PYSDD does not name PySDD's diagram of paper_bnn_2391.cnf");
        return;
    };
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let circuit = lower(13, items(&text), Lowering::Gates).unwrap();
    assert_eq!(circuit.model_count(), 4096u32.into());
    let paper = paper_form(&circuit).unwrap();
    let counts = paper.counts();
    assert_eq!(counts.tree_nodes, 18_671u32.into());
    assert!(counts.nodes <= 1_600, "{} nodes", counts.nodes);
    assert_eq!(counts.fan_in, 2);
    assert_eq!(paper.truth_table().unwrap(), circuit.truth_table().unwrap());
    assert_eq!(check::smoothness(&paper), Ok(()));
    assert_eq!(check::decomposability(&paper), Ok(()));
    let determinism = check::determinism(&paper, check::Effort::default(), &Watch::unlimited()).unwrap();
    assert_eq!(determinism.verdict(), Some(true));
    let decisions = lower(13, items(&text), Lowering::Decisions).unwrap();
    assert_eq!(decisions.truth_table().unwrap(), circuit.truth_table().unwrap());
    assert_eq!(paper_form(&decisions).unwrap().counts().tree_nodes, counts.tree_nodes);
}

/// The nodes of a well-formed `.sdd` file.
fn items(text: &str) -> Vec<SddItem> {
    let mut place = HashMap::new();
    let mut items = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let item = match words[0] {
            "T" => SddItem::Constant(true),
            "F" => SddItem::Constant(false),
            "L" => SddItem::Literal(Lit::from_dimacs(words[3].parse().unwrap()).unwrap()),
            "D" => SddItem::Elements(words[4..].chunks(2).map(|pair| (place[pair[0]], place[pair[1]])).collect()),
            _ => continue,
        };
        place.insert(words[1], items.len());
        items.push(item);
    }
    items
}
