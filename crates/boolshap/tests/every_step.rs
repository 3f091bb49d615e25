//! Takes functions and networks through every step of the paper's path: formula, diagram, circuit, scores.
#![cfg(feature = "sat")]

use boolshap::circuit::{Circuit, Lowering, check, lower_sdd, paper_form};
use boolshap::data::Seeded;
use boolshap::diagram::{CompileOptions, compile_clauses};
use boolshap::explain::{BruteForce, Labels, OpenBox, Probabilities};
use boolshap::formula::{Clause, Cnf, encode_network, simplify};
use boolshap::lit::{Lit, Var, Watch};
use boolshap::model::{Gate, Network, Output};
use dashu_ratio::RBig;

fn bits(number: usize, n: usize) -> Vec<bool> {
    (0..n).map(|v| number >> v & 1 == 1).collect()
}

/// Steps (b) and (c).
fn compile(cnf: &Cnf) -> Circuit {
    let clauses: Vec<Vec<Lit>> = cnf.clauses().map(|clause| clause.lits().collect()).collect();
    let slices = clauses.iter().map(Vec::as_slice);
    let compiled = compile_clauses(cnf.variables(), slices, &CompileOptions::default(), &Watch::unlimited()).unwrap();
    paper_form(&lower_sdd(&compiled.manager, compiled.root, Lowering::Gates).unwrap()).unwrap()
}

/// A function given by its table must keep its table and its scores through all steps.
fn judge(n: usize, table: u64) {
    let watch = Watch::unlimited();
    let mut cnf = Cnf::new(n);
    for row in (0..1 << n).filter(|row| table >> row & 1 == 0) {
        let forbidden = (0..n).map(|v| Var::new(v).literal(row >> v & 1 == 0));
        cnf.push(Clause::new(forbidden).unwrap());
    }
    let circuit = compile(&simplify(&cnf, &watch).unwrap());
    assert_eq!(circuit.truth_table().unwrap(), [table], "{n} variables, table {table:b}");
    assert_eq!(circuit.model_count(), table.count_ones().into());
    let determinism = check::determinism(&circuit, check::Effort::default(), &watch).unwrap();
    assert_eq!(determinism.verdict(), Some(true));
    assert_eq!((check::decomposability(&circuit), check::smoothness(&circuit)), (Ok(()), Ok(())));
    let labels = Labels::from_words(n, vec![table]).unwrap();
    let entities: Vec<Vec<bool>> = (0..1 << n).map(|number| bits(number, n)).collect();
    let skewed = (0..n).map(|v| RBig::from_parts((v as i64 + 1).into(), 7u8.into())).collect();
    for distribution in [Probabilities::uniform(n), Probabilities::product(skewed).unwrap()] {
        let open = OpenBox::new(&circuit).unwrap().explain_exact(&entities, &distribution, &watch).unwrap();
        assert_eq!(open, BruteForce::new(&labels).explain_exact(&entities, &distribution, &watch).unwrap());
    }
}

#[test]
fn all_functions_of_three_variables() {
    (0..1 << 8).for_each(|table| judge(3, table));
}

#[test]
fn a_sample_of_the_functions_of_four_variables() {
    let mut chance = Seeded::new(4, 0);
    (0..150).for_each(|_| judge(4, chance.below(1 << 16) as u64));
}

#[test]
fn random_networks_equal_their_circuits_on_every_input() {
    let watch = Watch::unlimited();
    for seed in 0..30 {
        let mut chance = Seeded::new(seed, 1);
        let inputs = 2 + chance.below(9);
        let mut gates = |count: usize, width: usize| -> Vec<Gate> {
            let weight = |chance: &mut Seeded| if chance.below(2) == 0 { 1 } else { -1 };
            let gate = |_| {
                let weights = (0..width).map(|_| weight(&mut chance)).collect();
                // Thresholds near the middle, where gates are rarely constant.
                Gate::new(weights, (width / 2 + chance.below(3)) as i128).unwrap()
            };
            (0..count).map(gate).collect()
        };
        let depth = 1 + seed as usize % 3;
        let mut width = inputs;
        let mut hidden = Vec::new();
        for layer in 0..depth {
            let next = 2 + (seed as usize * 3 + layer) % 5;
            hidden.push(gates(next, width));
            width = next;
        }
        let output = Output::Step(gates(1, width).remove(0));
        let network = Network::new(inputs, hidden, output).unwrap();
        let circuit = compile(&encode_network(&network, 1, 100_000, &watch).unwrap());
        for number in 0..1 << inputs {
            let entity = bits(number, inputs);
            let label = network.classify(&entity) == 1;
            assert_eq!(circuit.evaluate(&entity).unwrap(), label, "seed {seed}, entity {entity:?}");
        }
    }
}
