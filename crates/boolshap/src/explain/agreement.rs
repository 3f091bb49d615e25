//! All engines against each other, against the definition, and against the authors' own scores.

use super::{BruteForce, ExplainError, Explanation, Labels, OpenBox, Probabilities};
use crate::circuit::samples::{assignment, from_table, random_circuit, shaped, table_bit};
use crate::circuit::{Circuit, CircuitBuilder, check, fan_in_two, paper_form, smooth};
use crate::lit::{Var, Watch};
use crate::shared_data::shared_data;
use dashu_ratio::RBig;
use proptest::prelude::*;

fn fraction(numerator: i64, denominator: u64) -> RBig {
    RBig::from_parts(numerator.into(), denominator.into())
}

/// The definition, taken literally: a feature's mean contribution to the features before it, over all orders.
fn by_definition(features: usize, label: impl Fn(usize) -> bool, entity: &[bool], p: &[RBig]) -> Explanation<RBig> {
    let value = |known: usize| -> RBig {
        let mut expected = RBig::ZERO;
        for other in (0..1usize << features).filter(|&other| label(other)) {
            let mut chance = RBig::ONE;
            for v in 0..features {
                let bit = other >> v & 1 == 1;
                chance *= match (known >> v & 1 == 1, bit) {
                    (true, bit) if bit == entity[v] => RBig::ONE,
                    (true, _) => RBig::ZERO,
                    (false, true) => p[v].clone(),
                    (false, false) => RBig::ONE - &p[v],
                };
            }
            expected += chance;
        }
        expected
    };
    let values: Vec<RBig> = (0..1usize << features).map(value).collect();
    let mut scores = vec![RBig::ZERO; features];
    let orders = orders(features);
    for order in &orders {
        let mut known = 0;
        for &v in order {
            scores[v] += &values[known | 1 << v] - &values[known];
            known |= 1 << v;
        }
    }
    let number = (0..features).filter(|&v| entity[v]).map(|v| 1 << v).sum();
    let scores = scores.into_iter().map(|score| score / RBig::from(orders.len())).collect();
    Explanation { base_value: values[0].clone(), prediction: label(number), scores }
}

fn orders(features: usize) -> Vec<Vec<usize>> {
    (0..features).fold(vec![vec![]], |shorter, new| {
        let insert = |order: &Vec<usize>, place| {
            let mut order = order.clone();
            order.insert(place, new);
            order
        };
        shorter.iter().flat_map(|order| (0..=order.len()).map(move |place| insert(order, place))).collect()
    })
}

fn assert_close(floats: &Explanation<f64>, exact: &Explanation<RBig>) {
    let expected = exact.to_floats();
    assert_eq!(floats.prediction, expected.prediction);
    assert!((floats.base_value - expected.base_value).abs() < 1e-14);
    for (score, expected) in floats.scores.iter().zip(&expected.scores) {
        assert!((score - expected).abs() < 1e-14, "{score} is not {expected}");
    }
}

/// Checks fan-in 2, smoothing, model counts, and all engines on all entities against the truth table.
fn through_every_step(circuit: &Circuit, table: &[u64], distributions: &[Probabilities]) {
    let n = circuit.variables();
    let models: u32 = table.iter().map(|word| word.count_ones()).sum();
    let smooth_then_narrow = fan_in_two(&smooth(circuit).unwrap()).unwrap();
    let paper = paper_form(circuit).unwrap();
    for form in [circuit, &paper, &smooth_then_narrow] {
        assert_eq!(form.truth_table().unwrap(), table);
        assert_eq!(form.model_count(), models.into());
    }
    let determinism = check::determinism(&paper, check::Effort::default(), &Watch::unlimited()).unwrap();
    assert_eq!(determinism.verdict(), Some(true));

    let watch = &Watch::unlimited();
    let entities: Vec<Vec<bool>> = (0..1usize << n).map(|index| assignment(n, index)).collect();
    let labels = Labels::from_fn(n, |e| table_bit(table, (0..n).filter(|&v| e[v]).map(|v| 1 << v).sum())).unwrap();
    assert_eq!(labels, Labels::of_circuit(&paper).unwrap());
    for distribution in distributions {
        let expected: Vec<Explanation<RBig>> = entities
            .iter()
            .map(|entity| by_definition(n, |index| table_bit(table, index), entity, distribution.exact()))
            .collect();
        let black_box = BruteForce::new(&labels);
        assert_eq!(black_box.explain_exact(&entities, distribution, watch).unwrap(), expected);
        let floats = black_box.explain(&entities, distribution, watch).unwrap();
        floats.iter().zip(&expected).for_each(|(floats, exact)| assert_close(floats, exact));
        for form in [&paper, &smooth_then_narrow] {
            let open_box = OpenBox::new(form).unwrap();
            assert_eq!(open_box.explain_exact(&entities, distribution, watch).unwrap(), expected);
            let floats = open_box.explain(&entities, distribution, watch).unwrap();
            floats.iter().zip(&expected).for_each(|(floats, exact)| assert_close(floats, exact));
        }
    }
}

/// The uniform distribution, and a product that includes the probabilities 0 and 1.
fn distributions(features: usize) -> [Probabilities; 2] {
    let odd = [fraction(1, 3), fraction(0, 1), fraction(9, 10), fraction(1, 1), fraction(2, 7)];
    let product = (0..features).map(|v| odd[v % odd.len()].clone()).collect();
    [Probabilities::uniform(features), Probabilities::product(product).unwrap()]
}

#[test]
fn all_functions_of_three_variables() {
    for table in 0..256u64 {
        through_every_step(&from_table(3, &[table]), &[table], &distributions(3));
        let values: Vec<bool> = (0..8).map(|index| table >> index & 1 == 1).collect();
        through_every_step(&shaped(3, &values, table), &[table], &distributions(3));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn some_functions_of_up_to_four_variables((circuit, table) in random_circuit(4)) {
        through_every_step(&circuit, &table, &distributions(circuit.variables()));
    }

    #[test]
    fn the_engines_agree_on_more_variables(
        (circuit, _) in random_circuit(9),
        seed in any::<u64>(),
        floats in proptest::collection::vec(0.0..=1.0f64, 9),
    ) {
        let n = circuit.variables();
        // Their denominators lead to integers of up to 19, 99 and about 480 bits, so every integer type is used.
        let thousandths = floats[..n].iter().map(|p| fraction((p * 1000.0) as i64, 1000)).collect();
        let distributions = [
            Probabilities::uniform(n),
            Probabilities::product(thousandths).unwrap(),
            Probabilities::from_floats(&floats[..n]).unwrap(),
        ];
        let entities: Vec<Vec<bool>> =
            (0..9).map(|row| assignment(n, (seed >> (7 * row)) as usize & ((1 << n) - 1))).collect();
        let (paper, watch) = (paper_form(&circuit).unwrap(), &Watch::unlimited());
        let labels = Labels::of_circuit(&circuit).unwrap();
        let (open_box, black_box) = (OpenBox::new(&paper).unwrap(), BruteForce::new(&labels));
        for distribution in &distributions {
            let exact = open_box.explain_exact(&entities, distribution, watch).unwrap();
            prop_assert_eq!(&exact, &black_box.explain_exact(&entities, distribution, watch).unwrap());
            let floats = open_box.explain(&entities, distribution, watch).unwrap();
            floats.iter().zip(&exact).for_each(|(floats, exact)| assert_close(floats, exact));
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let watch = &Watch::unlimited();
    let diagram = from_table(3, &[0b1110_1000]);
    assert!(matches!(OpenBox::new(&diagram), Err(ExplainError::DecisionNode(id)) if id < diagram.root()));
    assert!(matches!(OpenBox::new(&fan_in_two(&diagram).unwrap()), Err(ExplainError::NotPaperForm(_))));

    let paper = paper_form(&diagram).unwrap();
    let (open_box, labels) = (OpenBox::new(&paper).unwrap(), Labels::of_circuit(&paper).unwrap());
    let black_box = BruteForce::new(&labels);
    let (good, short) = (vec![true; 3], vec![true; 2]);
    let uniform = Probabilities::uniform(3);
    for error in [
        open_box.explain(&[&good, &short], &uniform, watch).unwrap_err(),
        open_box.explain_exact(&[&good, &short], &uniform, watch).unwrap_err(),
        black_box.explain(&[&good, &short], &uniform, watch).unwrap_err(),
        black_box.explain_exact(&[&good, &short], &uniform, watch).unwrap_err(),
    ] {
        assert_eq!(error.to_string(), "entity 1 has 2 values, but there are 3 features");
    }
    let four = Probabilities::uniform(4);
    assert!(matches!(open_box.explain(&[&good], &four, watch), Err(ExplainError::DistributionLength { .. })));
    assert!(matches!(black_box.explain(&[&good], &four, watch), Err(ExplainError::DistributionLength { .. })));
    let late = &Watch::unlimited().timeout(std::time::Duration::ZERO);
    assert!(matches!(open_box.explain(&[&good], &uniform, late), Err(ExplainError::Stopped(_))));
    assert!(matches!(black_box.explain(&[&good], &uniform, late), Err(ExplainError::Stopped(_))));

    assert!(matches!(Labels::from_fn(31, |_| true), Err(ExplainError::TooManyFeatures { .. })));
    assert!(matches!(Labels::from_words(7, vec![0]), Err(ExplainError::LabelsLength { expected: 2, .. })));
    let many = Labels::from_words(21, vec![0; 1 << 15]).unwrap();
    let error = BruteForce::new(&many).explain_exact::<Vec<bool>>(&[], &Probabilities::uniform(21), watch);
    assert_eq!(error.unwrap_err().to_string(), "21 features are too many for exact brute force: the limit is 20");
}

#[test]
fn a_circuit_that_is_not_deterministic_does_not_pass() {
    // x or y as an or-gate whose children are both true at (1, 1), made smooth.
    let mut builder = CircuitBuilder::new(2).unwrap();
    let [x, y] = [0, 1].map(|v| builder.literal(Var::new(v).positive()).unwrap());
    let root = builder.or(&[x, y]).unwrap();
    let broken = paper_form(&builder.finish(root).unwrap()).unwrap();
    let open_box = OpenBox::new(&broken).unwrap();
    let (uniform, watch) = (Probabilities::uniform(2), &Watch::unlimited());
    assert!(open_box.explain(&[[false, true]], &uniform, watch).is_ok());
    let error = open_box.explain(&[[false, true], [true, true]], &uniform, watch).unwrap_err();
    assert!(matches!(error, ExplainError::Entity { entity: 1, .. }));
    let error = open_box.explain_exact(&[[true, true]], &uniform, watch).unwrap_err();
    assert!(matches!(error, ExplainError::Entity { entity: 0, .. }));
}

/// A symmetric function of many variables, whose scores are known without any engine.
#[test]
fn hundreds_of_features() {
    let n = 400;
    let mut builder = CircuitBuilder::new(n + 1).unwrap();
    let literals: Vec<_> = (0..n).map(|v| builder.literal(Var::new(v).positive()).unwrap()).collect();
    let root = builder.and(&literals).unwrap();
    let all = fan_in_two(&builder.finish(root).unwrap()).unwrap();
    let open_box = OpenBox::new(&all).unwrap();
    assert!(open_box.live_vectors() < 2 * (n + 1) + 5);
    let p = 0.995;
    let distribution = Probabilities::from_floats(&vec![p; n + 1]).unwrap();
    let rows = open_box.explain(&[vec![true; n + 1]], &distribution, &Watch::unlimited()).unwrap();
    let base = p.powi(n as i32);
    assert!((rows[0].base_value - base).abs() < 1e-12);
    let expected = (1.0 - base) / n as f64;
    assert!(
        rows[0].scores[..n].iter().all(|score| (score - expected).abs() < 1e-13),
        "{expected} {:?}",
        rows[0].scores
    );
    assert_eq!(rows[0].scores[n], 0.0);
}

fn rows<T>(csv: &str, parse: impl Fn(&str) -> T) -> Vec<Vec<T>> {
    csv.lines().skip(1).map(|line| line.trim().split(',').map(&parse).collect()).collect()
}

#[test]
fn the_authors_scores_on_the_authors_network() {
    let names = ["paper_bnn_2391.cnf", "entities_100.csv", "authors_open_box_shap_100.csv"];
    let [Some(cnf), Some(entities), Some(scores)] = names.map(|name| shared_data(&format!("paper/{name}"))) else {
        return;
    };
    let [cnf, entities, scores] = [cnf, entities, scores].map(|path| std::fs::read_to_string(path).unwrap());
    let clauses: Vec<Vec<i32>> = cnf
        .lines()
        .filter(|line| !line.starts_with(['p', 'c']))
        .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).filter(|&lit| lit != 0).collect())
        .collect();
    let holds = |entity: &[bool], lit: i32| entity[lit.unsigned_abs() as usize - 1] == (lit > 0);
    let mut table = vec![0u64; (1 << 13) / 64];
    for index in 0..1usize << 13 {
        let entity = assignment(13, index);
        if clauses.iter().all(|clause| clause.iter().any(|&lit| holds(&entity, lit))) {
            table[index / 64] |= 1 << (index % 64);
        }
    }
    let circuit = paper_form(&from_table(13, &table)).unwrap();
    assert_eq!(circuit.model_count(), 4096u32.into());

    let entities = rows(&entities, |bit| bit == "1");
    let expected = rows(&scores, |score| score.parse::<f64>().unwrap());
    assert_eq!((entities.len(), expected.len()), (100, 100));
    let (uniform, watch) = (Probabilities::uniform(13), &Watch::unlimited());
    let (open_box, labels) = (OpenBox::new(&circuit).unwrap(), Labels::of_circuit(&circuit).unwrap());
    let black_box = BruteForce::new(&labels);
    let exact = open_box.explain_exact(&entities, &uniform, watch).unwrap();
    assert_eq!(exact[..5], black_box.explain_exact(&entities[..5], &uniform, watch).unwrap());
    let in_floats = exact.iter().map(Explanation::to_floats).collect();
    for engine in [
        open_box.explain(&entities, &uniform, watch).unwrap(),
        black_box.explain(&entities, &uniform, watch).unwrap(),
        in_floats,
    ] {
        for (explanation, expected) in engine.iter().zip(&expected) {
            for (score, expected) in explanation.scores.iter().zip(expected) {
                assert!((score - expected).abs() < 1e-12, "{score} is not {expected}");
            }
        }
    }
}
