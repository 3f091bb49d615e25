//! Sound circuits pass by every method, and every mutation of a gate that changes the function is caught.

use super::verify::Counterexample;
use super::{Method, QueryError, VerifyOptions, verify};
use crate::circuit::{Circuit, CircuitBuilder, Lowering, Node, NodeId, lower_obdd, lower_sdd, paper_form};
use crate::data::Seeded;
use crate::diagram::{CompileOptions, compile_clauses, compile_table};
use crate::lit::{Lit, Var, Watch};
use crate::model::random::network_strategy;
use crate::model::{Gate, Label, Network, Output};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn diagram(network: &Network, class: usize) -> Circuit {
    let label = Label::of_class(network, class).unwrap();
    let order: Vec<Var> = (0..network.inputs()).rev().map(Var::new).collect();
    lower_obdd(&compile_table(&label, &order, usize::MAX, &Watch::unlimited()).unwrap()).unwrap()
}

fn methods() -> Vec<Method> {
    let all = [Method::Exhaustive, Method::Walk, Method::Sat];
    all.into_iter().filter(|method| cfg!(feature = "sat") || *method != Method::Sat).collect()
}

/// The verdict of one method; `None` if it is undecided.
fn by(method: Method, network: &Network, class: usize, circuit: &Circuit) -> Option<Option<Counterexample>> {
    let options = VerifyOptions { method: Some(method), ..VerifyOptions::default() };
    match verify(network, class, circuit, &options, &Watch::unlimited()) {
        Ok(verdict) => Some(verdict.counterexample),
        Err(QueryError::Undecided(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

fn is_right(network: &Network, class: usize, circuit: &Circuit, found: &Counterexample) -> bool {
    let Counterexample { entity, network: expected, circuit: label } = found;
    (network.classify(entity) == class) == *expected && circuit.evaluate(entity).unwrap() == *label && expected != label
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn circuits_of_random_networks_pass_by_every_method(network in network_strategy(8)) {
        for class in 0..network.classes() {
            let circuit = diagram(&network, class);
            let has_layers = !network.hidden().is_empty() || matches!(network.output(), Output::Step(_));
            for (form, is_ordered) in [(&circuit, true), (&paper_form(&circuit).unwrap(), false)] {
                for method in methods() {
                    let found = by(method, &network, class, form);
                    let is_for_walk = is_ordered && has_layers;
                    let has_none = method == Method::Walk && !is_for_walk && found.is_none();
                    prop_assert!(has_none || found == Some(None), "{method:?}: {found:?}");
                }
            }
            // It does not pass as the circuit of another class, unless that is the same function.
            let other = (class + 1) % network.classes();
            let differs = (0..1usize << network.inputs()).any(|number| {
                let entity: Vec<bool> = (0..network.inputs()).map(|v| number >> v & 1 == 1).collect();
                (network.classify(&entity) == class) != (network.classify(&entity) == other)
            });
            for method in methods() {
                if let Some(found) = by(method, &network, other, &circuit) {
                    prop_assert_eq!(found.is_some(), differs);
                    if let Some(found) = found {
                        prop_assert!(is_right(&network, other, &circuit, &found));
                    }
                }
            }
        }
    }
}

/// The circuit with one gate changed: a literal flipped, children swapped, or an edge dropped or redirected.
fn mutated(circuit: &Circuit, random: &mut Seeded) -> Circuit {
    let target = random.below(circuit.stored_nodes());
    let mut builder = CircuitBuilder::new(circuit.variables()).unwrap();
    for (id, node) in circuit.nodes() {
        let before = |random: &mut Seeded| NodeId::new(random.below(id.index().max(1)));
        let children: Vec<NodeId> = node.children().collect();
        let node = match node {
            other if id.index() != target => other,
            Node::Constant(value) => Node::Constant(!value),
            Node::Literal(lit) => Node::Literal(!lit),
            Node::Decision { var, lo, hi } => match random.below(3) {
                0 => Node::Decision { var, lo: hi, hi: lo },
                1 => Node::Decision { var, lo, hi: before(random) },
                _ => Node::Decision { var, lo: before(random), hi },
            },
            Node::And(_) | Node::Or(_) if children.len() > 1 && random.below(2) == 0 => {
                let short = &children[1..];
                builder.push(if matches!(node, Node::And(_)) { Node::And(short) } else { Node::Or(short) }).unwrap();
                continue;
            }
            Node::And(_) => Node::Or(&children),
            Node::Or(_) => Node::And(&children),
        };
        builder.push(node).unwrap();
    }
    builder.finish(circuit.root()).unwrap()
}

#[test]
fn every_mutation_that_changes_the_function_is_caught() {
    let mut runner = TestRunner::deterministic();
    let mut random = Seeded::new(7, 6);
    let (mut changed, mut unsound) = (0, 0);
    while changed < 250 {
        let network = network_strategy(7).new_tree(&mut runner).unwrap().current();
        let circuit = diagram(&network, 1);
        for form in [circuit.clone(), paper_form(&circuit).unwrap()] {
            for _ in 0..6 {
                let mutant = mutated(&form, &mut random);
                let same = mutant.truth_table().unwrap() == circuit.truth_table().unwrap();
                for method in methods() {
                    let options = VerifyOptions { method: Some(method), ..VerifyOptions::default() };
                    match verify(&network, 1, &mutant, &options, &Watch::unlimited()) {
                        Ok(verdict) => {
                            assert_eq!(verdict.counterexample.is_none(), same, "{method:?}");
                            if let Some(found) = &verdict.counterexample {
                                assert!(is_right(&network, 1, &mutant, found));
                            }
                        }
                        Err(QueryError::Undecided(_)) => assert_eq!(method, Method::Walk),
                        // The mutant is not sound for computing scores: caught as well.
                        Err(QueryError::Unsound(_) | QueryError::NotDeterministic { .. }) => unsound += 1,
                        Err(error) => panic!("{error}"),
                    }
                }
                changed += usize::from(!same);
            }
        }
    }
    assert!(unsound > 0, "some mutants are not decomposable or not deterministic");
}

/// One of a quarter of a million entities is labelled differently, anywhere among the inputs.
#[test]
fn a_single_entity_is_found_among_all() {
    let n = 18;
    let mut random = Seeded::new(9, 6);
    for _ in 0..12 {
        let wanted: Vec<bool> = (0..n).map(|_| random.below(2) == 1).collect();
        let weights: Vec<i128> = wanted.iter().map(|&bit| if bit { 1 } else { -1 }).collect();
        // The gate holds on the entity alone, or nowhere.
        let gate = |need: i128| Output::Step(Gate::new(weights.clone(), need).unwrap());
        let network = |need: i128| Network::new(n, vec![], gate(need)).unwrap();
        let (only, never) = (network(n as i128), network(n as i128 + 1));
        let lit = |v: usize| if wanted[v] { Var::new(v).positive() } else { Var::new(v).negative() };
        let mut builder = CircuitBuilder::new(n).unwrap();
        let literals: Vec<NodeId> = (0..n).map(|v| builder.literal(lit(v)).unwrap()).collect();
        let cube = builder.and(&literals).unwrap();
        let gates = builder.finish(cube).unwrap();
        let mut builder = CircuitBuilder::new(n).unwrap();
        let no = builder.constant(false).unwrap();
        let mut at = builder.constant(true).unwrap();
        for (v, &bit) in wanted.iter().enumerate() {
            let (lo, hi) = if bit { (no, at) } else { (at, no) };
            at = builder.decision(Var::new(v), lo, hi).unwrap();
        }
        let decisions = builder.finish(at).unwrap();
        let mut builder = CircuitBuilder::new(n).unwrap();
        let no = builder.constant(false).unwrap();
        let nothing = builder.finish(no).unwrap();
        for method in methods() {
            for (network, circuit, differs) in [
                (&only, &gates, false),
                (&only, &decisions, false),
                (&only, &nothing, true),
                (&never, &gates, true),
                (&never, &decisions, true),
                (&never, &nothing, false),
            ] {
                let Some(found) = by(method, network, 1, circuit) else {
                    assert!(method == Method::Walk && std::ptr::eq(circuit, &gates));
                    continue;
                };
                assert_eq!(found.map(|found| found.entity), differs.then(|| wanted.clone()), "{method:?}");
            }
        }
    }
}

/// One child (a term) for each way to reach a majority: no method may examine every pair of them.
#[test]
fn slow_a_gate_of_many_children_passes_and_is_caught_without_one() {
    let n = 13;
    let network = Network::new(n, vec![], Output::Step(Gate::new(vec![1; n], 7).unwrap())).unwrap();
    let circuit = |left_out: usize| {
        let mut builder = CircuitBuilder::new(n).unwrap();
        let positive: Vec<NodeId> = (0..n).map(|v| builder.literal(Var::new(v).positive()).unwrap()).collect();
        let negative: Vec<NodeId> = (0..n).map(|v| builder.literal(Var::new(v).negative()).unwrap()).collect();
        let mut terms = Vec::new();
        for number in (0..1usize << n).filter(|number| number.count_ones() >= 7 && *number != left_out) {
            let literals: Vec<NodeId> =
                (0..n).map(|v| if number >> v & 1 == 1 { positive[v] } else { negative[v] }).collect();
            terms.push(builder.and(&literals).unwrap());
        }
        let root = builder.or(&terms).unwrap();
        builder.finish(root).unwrap()
    };
    for method in methods().into_iter().filter(|method| *method != Method::Walk) {
        assert_eq!(by(method, &network, 1, &circuit(0)), Some(None));
        let left_out = 0b1_0110_1101_1010;
        let found = by(method, &network, 1, &circuit(left_out)).unwrap().expect("one is missing");
        assert_eq!(found.entity, (0..n).map(|v| left_out >> v & 1 == 1).collect::<Vec<_>>());
    }
}

/// A variable that is tested above another on one path and below it on another path: "at least seven of eight", in two
/// orders at once.
#[test]
fn a_diagram_without_an_order_passes_and_is_caught() {
    let n = 8;
    let mut builder = CircuitBuilder::new(n).unwrap();
    let [no, yes] = [false, true].map(|value| builder.constant(value).unwrap());
    let mut chain = |order: Vec<usize>| {
        let (mut all, mut but_one) = (yes, yes);
        for v in order {
            let next = builder.decision(Var::new(v), all, but_one).unwrap();
            all = builder.decision(Var::new(v), no, all).unwrap();
            but_one = next;
        }
        (all, but_one)
    };
    let ((all, _), (_, but_one)) = (chain((1..n).rev().collect()), chain((1..n).collect()));
    let root = builder.decision(Var::new(0), all, but_one).unwrap();
    let circuit = builder.finish(root).unwrap();
    let network = |need| Network::new(n, vec![], Output::Step(Gate::new(vec![1; n], need).unwrap())).unwrap();
    for method in methods() {
        let found = by(method, &network(7), 1, &circuit);
        assert_eq!(found, (method != Method::Walk).then_some(None), "{method:?}");
        if let Some(found) = by(method, &network(6), 1, &circuit) {
            assert!(is_right(&network(6), 1, &circuit, &found.expect("they differ")));
        }
    }
}

/// Sums that the remaining weights cannot distinguish share one answer.
#[cfg(feature = "sat")]
#[test]
fn weights_of_about_one_size_make_few_clauses() {
    let n = 20;
    let weights: Vec<i128> = (1000..1000 + n as i128).collect();
    let need = weights.iter().sum::<i128>() / 2;
    let network = Network::new(n, vec![], Output::Step(Gate::new(weights, need).unwrap())).unwrap();
    let mut builder = CircuitBuilder::new(n).unwrap();
    let yes = builder.constant(true).unwrap();
    let clauses = super::miter::clauses_of(&network, 1, &builder.finish(yes).unwrap());
    assert!(clauses.len() < 6_000, "{}", clauses.len());
}

/// The order is found regardless of the order of the nodes in the file.
#[test]
fn the_walk_finds_the_order_of_a_diagram() {
    let mut builder = CircuitBuilder::new(3).unwrap();
    let [no, yes] = [false, true].map(|value| builder.constant(value).unwrap());
    let c = builder.decision(Var::new(2), no, yes).unwrap();
    let b = builder.decision(Var::new(1), c, yes).unwrap();
    let not_c = builder.decision(Var::new(2), yes, no).unwrap();
    let root = builder.decision(Var::new(0), not_c, b).unwrap();
    let circuit = builder.finish(root).unwrap();
    assert_eq!(super::verify::in_order(&circuit), [0, 1, 2].map(Var::new));
    // The circuit is not a threshold of its inputs, so the walk must find a difference.
    let network = Network::new(3, vec![], Output::Step(Gate::new(vec![1, 1, 1], 2).unwrap())).unwrap();
    let found = by(Method::Walk, &network, 1, &circuit).expect("it is ordered").expect("and something else");
    assert!(is_right(&network, 1, &circuit, &found));
}

#[test]
fn smoothness_is_proved_where_it_is_claimed() {
    let network = Network::new(3, vec![], Output::Step(Gate::new(vec![1, 1, 1], 2).unwrap())).unwrap();
    let circuit = diagram(&network, 1);
    let options = VerifyOptions { smooth: true, ..VerifyOptions::default() };
    let error = verify(&network, 1, &circuit, &options, &Watch::unlimited()).unwrap_err();
    assert!(error.to_string().contains("is not smooth"), "{error}");
    let smooth = paper_form(&circuit).unwrap();
    assert_eq!(verify(&network, 1, &smooth, &options, &Watch::unlimited()).unwrap().counterexample, None);
}

/// With unstructured weights no method finds an answer, and each gives up soon.
#[test]
fn limits_end_every_method() {
    let n = 40;
    let mut random = Seeded::new(3, 6);
    let weights: Vec<i128> = (0..n).map(|_| (1 << 40) + 2 * random.below(1 << 38) as i128 + 1).collect();
    let need = weights.iter().sum::<i128>() / 2;
    let network = Network::new(n, vec![], Output::Step(Gate::new(weights, need).unwrap())).unwrap();
    let mut builder = CircuitBuilder::new(n).unwrap();
    let yes = builder.constant(true).unwrap();
    let circuit = builder.finish(yes).unwrap();
    let options = VerifyOptions { max_clauses: 100_000, max_pairs: 10_000, ..VerifyOptions::default() };
    let error = verify(&network, 1, &circuit, &options, &Watch::unlimited()).unwrap_err().to_string();
    for part in ["40 inputs are more than the 30", "has met 10001 pairs", "more than 100000 clauses"] {
        assert!(error.contains(part) || part.contains("clauses") && cfg!(not(feature = "sat")), "{error}");
    }
    // Limits are exact.
    let layer = vec![Gate::new(vec![1, 1, 1], 1).unwrap(), Gate::new(vec![1, -1, 1], 2).unwrap()];
    let network = Network::new(3, vec![layer], Output::Step(Gate::new(vec![1, 1], 2).unwrap())).unwrap();
    let circuit = diagram(&network, 1);
    let passes = |options: VerifyOptions| verify(&network, 1, &circuit, &options, &Watch::unlimited()).is_ok();
    // Eight weights and a step for each variable.
    let steps =
        |max_steps| passes(VerifyOptions { method: Some(Method::Exhaustive), max_steps, ..VerifyOptions::default() });
    assert!(steps(11.0) && !steps(10.0));
}

#[test]
fn an_sdd_with_gates_passes_and_its_determinism_is_proved() {
    // At least two of twenty-four, clause by clause: too many variables for a truth table of an or-gate.
    let n = 24;
    let lits: Vec<Lit> = (0..n).map(|v| Var::new(v).positive()).collect();
    let clauses: Vec<Vec<Lit>> =
        (0..n).map(|out| lits.iter().enumerate().filter(|(v, _)| *v != out).map(|(_, lit)| *lit).collect()).collect();
    let options = CompileOptions::default();
    let compiled =
        compile_clauses(n, clauses.iter().map(|clause| clause.as_slice()), &options, &Watch::unlimited()).unwrap();
    let circuit = lower_sdd(&compiled.manager, compiled.root, Lowering::Gates).unwrap();
    let gate = Gate::new(vec![1; n], 2).unwrap();
    let network = Network::new(n, vec![], Output::Step(gate)).unwrap();
    for method in [Method::Exhaustive, Method::Sat].into_iter().filter(|method| methods().contains(method)) {
        assert_eq!(by(method, &network, 1, &circuit), Some(None), "{method:?}");
    }
}

#[cfg(feature = "sat")]
#[test]
fn or_gates_that_overlap_are_found_by_the_solver() {
    // x1 or x2, with enough other variables that no truth table is built.
    let n = 40;
    let mut builder = CircuitBuilder::new(n).unwrap();
    let others = |builder: &mut CircuitBuilder, skip: usize| {
        let literals: Vec<NodeId> =
            (2..n).map(|v| builder.literal(Var::new(v).positive()).unwrap()).skip(skip).collect();
        builder.or(&literals).unwrap()
    };
    let rest = others(&mut builder, 0);
    let fewer = others(&mut builder, 1);
    let x = builder.literal(Var::new(0).positive()).unwrap();
    let y = builder.literal(Var::new(1).positive()).unwrap();
    let (left, right) = (builder.and(&[x, rest]).unwrap(), builder.and(&[y, fewer]).unwrap());
    let root = builder.or(&[left, right]).unwrap();
    let circuit = builder.finish(root).unwrap();
    let limits = super::SolverLimits { clauses: usize::MAX, conflicts: u64::MAX, visits: u64::MAX };
    let gates: Vec<NodeId> =
        circuit.reachable().into_iter().filter(|id| matches!(circuit.node(*id), Node::Or(_))).collect();
    let error = super::at_most_one::check(&circuit, &gates, &limits, &Watch::unlimited()).unwrap_err();
    let QueryError::NotDeterministic { node, entity } = error else { panic!("{error}") };
    let bits: Vec<bool> = entity.chars().map(|bit| bit == '1').collect();
    let Node::Or(children) = circuit.node(NodeId::new(node)) else { panic!("an or-gate") };
    let mut values = Vec::new();
    for (_, node) in circuit.nodes() {
        values.push(match node {
            Node::Literal(lit) => lit.holds(bits[lit.var().index()]),
            Node::And(children) => children.iter().all(|child| values[child.index()]),
            Node::Or(children) => children.iter().any(|child| values[child.index()]),
            _ => unreachable!("literals and gates only"),
        });
    }
    assert!(children.iter().filter(|child| values[child.index()]).count() > 1);
}

#[cfg(feature = "sat")]
#[test]
fn a_proof_is_checked_and_refused_with_a_line_removed() {
    use super::check_lrat;
    let mut runner = TestRunner::deterministic();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.lrat");
    let mut refused = 0;
    for _ in 0..40 {
        let network = network_strategy(7).new_tree(&mut runner).unwrap().current();
        let circuit = diagram(&network, 1);
        let options = VerifyOptions { proof: Some(path.clone()), ..VerifyOptions::default() };
        let verdict = verify(&network, 1, &circuit, &options, &Watch::unlimited()).unwrap();
        assert_eq!((verdict.method, verdict.counterexample), (Method::Sat, None));
        let clauses = super::miter::clauses_of(&network, 1, &circuit);
        let proof = std::fs::read_to_string(&path).unwrap();
        check_lrat(&clauses, proof.as_bytes(), &Watch::unlimited()).unwrap();
        let lines: Vec<&str> = proof.lines().collect();
        // Remove the last addition, or a line that a later one uses.
        let adds: Vec<usize> = (0..lines.len()).filter(|&k| lines[k].split(' ').nth(1) != Some("d")).collect();
        let used = |id: &str| {
            lines.iter().any(|line| {
                line.split(' ').nth(1) != Some("d")
                    && line.split(" 0 ").nth(1).is_some_and(|hints| hints.split(' ').any(|hint| hint == id))
            })
        };
        for &gone in &adds {
            let id = lines[gone].split(' ').next().unwrap();
            if gone == *adds.last().unwrap() || used(id) {
                let cut: Vec<&str> = (0..lines.len()).filter(|&k| k != gone).map(|k| lines[k]).collect();
                let found = check_lrat(&clauses, cut.join("\n").as_bytes(), &Watch::unlimited());
                assert!(found.is_err(), "without line {}", gone + 1);
                refused += 1;
            }
        }
        // The proof fails for clauses that lack one that it uses.
        let found = check_lrat(&clauses[..1], proof.as_bytes(), &Watch::unlimited());
        assert!(found.is_err() || clauses.len() == 1);
    }
    assert!(refused > 100, "{refused} proofs were cut");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let gate = |n: usize| Gate::new(vec![1; n], 1).unwrap();
    let network = |n: usize| Network::new(n, vec![], Output::Step(gate(n))).unwrap();
    let circuit = diagram(&network(3), 1);
    let options = VerifyOptions::default();
    let error = verify(&network(4), 1, &circuit, &options, &Watch::unlimited()).unwrap_err();
    assert_eq!(error.to_string(), "the network has 4 inputs, the circuit 3 variables");
    assert!(verify(&network(3), 2, &circuit, &options, &Watch::unlimited()).is_err());
    let none = VerifyOptions { method: Some(Method::Exhaustive), max_steps: 1.0, ..options.clone() };
    let error = verify(&network(3), 1, &circuit, &none, &Watch::unlimited()).unwrap_err().to_string();
    assert!(error.starts_with("nothing is proved: exhaustive: comparing all 2^3 inputs would take"), "{error}");
    let sat = VerifyOptions { method: Some(Method::Sat), max_clauses: 1, ..options.clone() };
    let error = verify(&network(3), 1, &circuit, &sat, &Watch::unlimited()).unwrap_err().to_string();
    assert!(error.contains("more than 1 clauses, the limit") || cfg!(not(feature = "sat")), "{error}");
    let walk = VerifyOptions { method: Some(Method::Walk), max_pairs: 2, ..options };
    let error = verify(&network(3), 1, &circuit, &walk, &Watch::unlimited()).unwrap_err().to_string();
    assert!(error.contains("has met 3 pairs of a node and partial sums after"), "{error}");
}
