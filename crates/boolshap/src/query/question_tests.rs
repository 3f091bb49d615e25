//! Tests every question against its definition on random classifiers of a few features, with columns, blocks,
//! constraints and several classes.

use super::definitions::AllInputs;
use super::*;
use crate::circuit::Circuit;
use crate::circuit::samples::shaped;
use crate::data::Seeded;
use crate::explain::Players;
use crate::formula::{Clause, Cnf};
use crate::lit::Watch;
use dashu_int::UBig;
use dashu_ratio::RBig;
use std::collections::HashMap;
use std::sync::Arc;

/// A random classifier, as circuits and as the table that defines them.
struct Case {
    space: Space,
    labels: Vec<Arc<Circuit>>,
    table: Vec<usize>,
}

fn number(input: &[bool]) -> usize {
    input.iter().enumerate().fold(0, |number, (bit, &value)| number | usize::from(value) << bit)
}

impl Case {
    fn random(chance: &mut Seeded) -> Self {
        loop {
            let features = 2 + chance.below(6);
            let players = random_players(features, chance);
            let constraint = (chance.below(3) == 0).then(|| random_constraint(features, chance));
            let space = Space::new(players, constraint).unwrap();
            let classes = if chance.below(3) == 0 { 3 + chance.below(2) } else { 2 };
            let rare = 1 + chance.below(4);
            let class = |chance: &mut Seeded| (0..rare).map(|_| chance.below(classes)).min().unwrap_or(0);
            let table: Vec<usize> = (0..1usize << features).map(|_| class(chance)).collect();
            let circuit = |class: usize, seed: usize| {
                let values: Vec<bool> = table.iter().map(|&known| known == class).collect();
                Arc::new(shaped(features, &values, seed as u64))
            };
            let labels = match classes {
                2 => vec![circuit(1, chance.below(1 << 30))],
                _ => (0..classes).map(|class| circuit(class, chance.below(1 << 30))).collect(),
            };
            let case = Case { space, labels, table };
            if !case.definitions().inputs.is_empty() {
                return case;
            }
        }
    }

    fn definitions(&self) -> AllInputs<'_> {
        AllInputs::new(&self.space, |input| self.table[number(input)])
    }

    fn classifiers(&self) -> Vec<Classifier> {
        let watch = Watch::unlimited();
        let tables = Classifier::new(&self.labels, self.space.clone(), &watch).unwrap();
        let diagrams = Classifier::of_diagrams(&self.labels, self.space.clone(), &watch).unwrap();
        vec![tables, diagrams]
    }
}

fn random_players(features: usize, chance: &mut Seeded) -> Players {
    let kind = chance.below(3);
    let names: Vec<String> = (0..features)
        .map(|feature| match (kind, chance.below(2)) {
            (1, 0) => format!("c={feature}"),
            (1, _) if chance.below(2) == 0 => format!("d={feature}"),
            _ => format!("x{feature}"),
        })
        .collect();
    match kind {
        0 => Players::features(&names),
        1 => Players::columns(&names, None),
        _ => {
            let of: HashMap<String, String> =
                names.iter().map(|name| (name.clone(), format!("p{}", chance.below(4)))).collect();
            Players::named(&names, &of).unwrap()
        }
    }
}

fn random_constraint(features: usize, chance: &mut Seeded) -> Cnf {
    let mut formula = Cnf::new(features);
    for _ in 0..1 + chance.below(3) {
        let literal =
            |chance: &mut Seeded| (1 + chance.below(features) as i32) * if chance.below(2) == 0 { 1 } else { -1 };
        let numbers: Vec<i32> = (0..1 + chance.below(3)).map(|_| literal(chance)).collect();
        Clause::from_dimacs(&numbers).into_iter().for_each(|clause| formula.push(clause));
    }
    formula
}

fn subset(of: usize, chance: &mut Seeded) -> Vec<usize> {
    (0..of).filter(|_| chance.below(4) == 0).collect()
}

/// Runs a check on random classifiers and entities.
fn each(cases: usize, seed: u64, mut check: impl FnMut(&Classifier, &AllInputs<'_>, &Entity, &mut Seeded)) {
    let mut chance = Seeded::new(seed, 0);
    for _ in 0..cases {
        let case = Case::random(&mut chance);
        let all = case.definitions();
        let (input, class) = all.inputs[chance.below(all.inputs.len())].clone();
        for classifier in case.classifiers() {
            let entity = classifier.entity(&input, "the entity").unwrap();
            assert_eq!(entity.class, class);
            check(&classifier, &all, &entity, &mut chance);
        }
    }
}

#[test]
fn reasons_are_those_of_the_definition() {
    each(300, 1, |classifier, all, entity, chance| {
        let exclude = subset(all.players(), chance);
        let share = (chance.below(3) == 0).then(|| RBig::from_parts((1 + chance.below(9)).into(), 10u8.into()));
        let at_least = share.clone().unwrap_or(RBig::ONE);
        let wanted = ReasonsWanted { which: Which::All, exclude: exclude.clone(), prefer: Vec::new(), share };
        let watch = Watch::unlimited();
        // With a share, diagrams count only the sets that they searched for.
        let is_counted = wanted.share.is_none() || classifier.table_inputs().is_some();
        let ask = |wanted: &ReasonsWanted, is_sufficient: bool| match is_sufficient {
            true => sufficient(classifier, entity, wanted, &watch).unwrap(),
            false => contrastive(classifier, entity, wanted, &watch).unwrap(),
        };
        for is_sufficient in [true, false] {
            let expected = match is_sufficient {
                true => all.sufficient(&entity.bits, &at_least, &exclude),
                false => all.contrastive(&entity.bits, &at_least, &exclude),
            };
            let found = ask(&wanted, is_sufficient);
            assert_eq!(found.sets, expected);
            assert!(found.is_complete());
            let few = ask(&ReasonsWanted { which: Which::Smallest(2), ..wanted.clone() }, is_sufficient);
            assert_eq!(few.sets, expected[..expected.len().min(2)]);
            assert!(!is_counted && few.count.is_none() || few.count == Some(UBig::from(expected.len())));
            let prefer = subset(all.players(), chance);
            let one = ask(&ReasonsWanted { which: Which::One, prefer, ..wanted.clone() }, is_sufficient);
            assert_eq!(one.sets.len(), expected.len().min(1));
            assert!(one.sets.iter().all(|set| expected.contains(set)));
        }
    });
}

#[test]
fn of_all_reasons_the_one_without_the_least_preferred_is_taken() {
    each(150, 2, |classifier, all, entity, chance| {
        let prefer = subset(all.players(), chance);
        let order: Vec<usize> =
            prefer.iter().copied().chain((0..all.players()).filter(|player| !prefer.contains(player))).collect();
        let watch = Watch::unlimited();
        let wanted = ReasonsWanted { prefer, ..ReasonsWanted::default() };
        let found = [
            (sufficient(classifier, entity, &wanted, &watch), all.sufficient(&entity.bits, &RBig::ONE, &[])),
            (contrastive(classifier, entity, &wanted, &watch), all.contrastive(&entity.bits, &RBig::ONE, &[])),
        ];
        for (found, expected) in found {
            let has = |set: &&Vec<usize>| order.iter().rev().map(|player| set.contains(player)).collect::<Vec<_>>();
            let best: Vec<Vec<usize>> = expected.iter().min_by_key(has).into_iter().cloned().collect();
            assert_eq!(found.unwrap().sets, best);
        }
    });
}

#[test]
fn attributions_are_those_of_the_definition() {
    each(60, 3, |classifier, all, entity, _| {
        let reasons = all.sufficient(&entity.bits, &RBig::ONE, &[]);
        let found = attribution(classifier, entity, &Watch::unlimited()).unwrap();
        for (player, part) in found.iter().enumerate() {
            let with = reasons.iter().filter(|set| set.contains(&player)).count();
            assert_eq!((&part.reasons, &part.of), (&with.into(), &reasons.len().into()));
            assert_eq!([part.shapley.clone(), part.banzhaf.clone()], all.game(&entity.bits, player));
        }
    });
}

#[test]
fn counterfactuals_are_those_of_the_definition() {
    each(400, 4, |classifier, all, entity, chance| {
        let features = entity.bits.len();
        let costs = (chance.below(2) == 0).then(|| {
            (0..all.players()).map(|_| RBig::from_parts(chance.below(5).into(), (1 + chance.below(4)).into())).collect()
        });
        let class = (chance.below(2) == 0).then(|| chance.below(classifier.classes()));
        let (not_up, not_down) = (subset(features, chance), subset(features, chance));
        let wish = Wish { class, not_up, not_down, costs, limit: None, beyond: false };
        let found = counterfactuals(classifier, entity, &wish, &Watch::unlimited()).unwrap();
        let may = |feature: usize, to: bool| !if to { &wish.not_up } else { &wish.not_down }.contains(&feature);
        let costs = wish.costs.clone().unwrap_or(vec![RBig::ONE; all.players()]);
        let expected = all.counterfactuals(&entity.bits, class, may, &costs);
        let nearest: Vec<&Vec<bool>> =
            expected.iter().filter(|(distance, _)| *distance == expected[0].0).map(|(_, input)| input).collect();
        assert_eq!(found.distance, expected.first().map(|(distance, _)| distance.clone()));
        assert_eq!(found.count, UBig::from(nearest.len()));
        let mut inputs: Vec<&Vec<bool>> = found.listed.iter().map(|one| &one.input).collect();
        inputs.sort();
        assert_eq!(inputs, nearest);
        let limit = 1 + chance.below(6);
        let wish = Wish { limit: Some(limit), beyond: true, ..wish };
        let found = counterfactuals(classifier, entity, &wish, &Watch::unlimited()).unwrap();
        let distances: Vec<&RBig> = found.listed.iter().map(|one| &one.distance).collect();
        assert_eq!(distances, expected.iter().take(limit).map(|(distance, _)| distance).collect::<Vec<_>>());
        for one in &found.listed {
            assert!(expected.contains(&(one.distance.clone(), one.input.clone())));
            assert_eq!(one.changed.len(), all.distance(&entity.bits, &one.input));
        }
    });
}

#[test]
fn radii_are_those_of_the_definition() {
    each(200, 5, |classifier, all, entity, chance| {
        let others = |input: &[bool]| -> Vec<usize> {
            let class = all.class(input);
            let other = all.inputs.iter().filter(|(_, other)| *other != class);
            other.map(|(other, _)| all.distance(input, other)).collect()
        };
        let within = chance.below(4);
        let found = robustness(classifier, entity, Some(within), &Watch::unlimited()).unwrap();
        let distances = others(&entity.bits);
        assert_eq!(found.radius, distances.iter().min().copied());
        for distance in 0..=within {
            let expected = distances.iter().filter(|&&other| other == distance).count();
            assert_eq!(found.others.get(distance).cloned().unwrap_or(UBig::ZERO), UBig::from(expected));
        }
        let radii: Option<Vec<usize>> = all.inputs.iter().map(|(input, _)| others(input).into_iter().min()).collect();
        let mean = radii.map(|radii| RBig::from_parts(radii.iter().sum::<usize>().into(), radii.len().into()));
        assert_eq!(mean_over_inputs(classifier, &Watch::unlimited()).unwrap(), mean);
    });
}

#[test]
fn bias_is_that_of_the_definition() {
    each(200, 6, |classifier, all, entity, chance| {
        let protected = subset(all.players(), chance);
        let bias = Bias::new(classifier, &protected, &Watch::unlimited()).unwrap();
        let count = all.inputs.iter().filter(|(input, _)| all.is_biased(input, &protected)).count();
        assert_eq!(*bias.inputs(), UBig::from(count));
        let other = bias.other(classifier, entity, &Watch::unlimited()).unwrap();
        assert_eq!(other.is_some(), all.is_biased(&entity.bits, &protected));
        let pair = bias.witness(classifier, &Watch::unlimited()).unwrap();
        assert_eq!(pair.is_some(), count > 0);
        let own = other.map(|other| [entity.bits.clone(), other]);
        for [one, other] in pair.into_iter().chain(own) {
            assert_ne!(all.class(&one), all.class(&other));
            assert!(classifier.space().changed(&one, &other).iter().all(|player| protected.contains(player)));
        }
    });
}

#[test]
fn properties_are_those_of_the_definition() {
    each(100, 7, |classifier, all, _, _| {
        let space = classifier.space();
        let ordered: Vec<bool> = (0..all.players()).map(|player| space.players().is_one_hot(player)).collect();
        let found = properties(classifier, &ordered, &Watch::unlimited()).unwrap();
        for (player, property) in found.iter().enumerate() {
            let pairs = all.pairs(player);
            let changing = |input: &[bool]| pairs.iter().any(|(one, class, _, other)| *one == input && class != other);
            let count = all.inputs.iter().filter(|(input, _)| changing(input)).count();
            assert_eq!(property.influence, RBig::from_parts(count.into(), all.inputs.len().into()));
            let members = space.members(player);
            let value = |input: &[bool]| match ordered[player] {
                true => members.iter().position(|&feature| input[feature]).unwrap(),
                false => members.iter().rev().fold(0, |all, &feature| 2 * all + usize::from(input[feature])),
            };
            let rising = pairs.iter().filter(|(one, _, other, _)| value(one) < value(other));
            let steps: Vec<_> = rising.map(|(_, class, _, other)| other.cmp(class)).collect();
            let [up, down] = [std::cmp::Ordering::Greater, std::cmp::Ordering::Less].map(|step| steps.contains(&step));
            let expected = match (up, down) {
                (false, false) => Some(Monotone::Constant),
                _ if !ordered[player] && members.len() > 1 => None,
                (true, true) => Some(Monotone::Neither),
                (true, false) => Some(Monotone::Up),
                (false, true) => Some(Monotone::Down),
            };
            // Diagrams do not find it for columns and several classes.
            let is_known = classifier.table_inputs().is_some() || classifier.classes() == 2 && !ordered[player];
            assert_eq!(property.monotone, expected.filter(|&way| is_known || way == Monotone::Constant));
            for class in 0..classifier.classes() {
                let mut values: Vec<usize> =
                    all.inputs.iter().filter(|(_, other)| *other == class).map(|(input, _)| value(input)).collect();
                values.sort_unstable();
                values.dedup();
                let mandatory =
                    property.mandatory.iter().find(|(of, _)| *of == class).map(|(_, value)| *value as usize);
                let only = if let [only] = values[..] { Some(only) } else { None };
                // A column with a single value has no mandatory value.
                let is_moving = !(ordered[player] && members.len() == 1);
                assert_eq!(mandatory, only.filter(|_| is_moving));
            }
        }
    });
}

#[test]
fn differences_are_those_of_the_definition() {
    let mut chance = Seeded::new(8, 0);
    for _ in 0..100 {
        let case = Case::random(&mut chance);
        let all = case.definitions();
        let classes = case.labels.len().max(2);
        let mut other = case.table.clone();
        (0..chance.below(5)).for_each(|_| {
            let place = chance.below(other.len());
            other[place] = chance.below(classes);
        });
        let features = case.space.features();
        let circuit = |class: usize| {
            let values: Vec<bool> = other.iter().map(|&known| known == class).collect();
            Arc::new(shaped(features, &values, 7))
        };
        let labels: Vec<_> = if classes == 2 { vec![circuit(1)] } else { (0..classes).map(circuit).collect() };
        let differ = |(input, class): &&(Vec<bool>, usize)| other[number(input)] != *class;
        let expected = all.inputs.iter().filter(differ).count();
        for classifier in case.classifiers() {
            let found = differences(&classifier, &labels, &Watch::unlimited()).unwrap();
            assert_eq!(found.inputs, UBig::from(expected));
            assert_eq!(found.share, RBig::from_parts(expected.into(), all.inputs.len().into()));
            assert_eq!(found.example.is_some(), expected > 0);
            assert!(found.example.is_none_or(|input| other[number(&input)] != all.class(&input)));
        }
    }
}

#[test]
fn judgements_are_those_of_the_definition() {
    each(200, 9, |classifier, all, entity, chance| {
        let watch = Watch::unlimited();
        let set = subset(all.players(), chance);
        for claim in [SetClaim::Sufficient, SetClaim::Contrastive] {
            let (free, minimal) = match claim {
                SetClaim::Sufficient => {
                    let free: Vec<usize> = (0..all.players()).filter(|player| !set.contains(player)).collect();
                    (free, all.sufficient(&entity.bits, &RBig::ONE, &[]))
                }
                SetClaim::Contrastive => (set.clone(), all.contrastive(&entity.bits, &RBig::ONE, &[])),
            };
            let can_change = all.inputs.iter().any(|(input, class)| {
                *class != entity.class
                    && classifier.space().changed(&entity.bits, input).iter().all(|p| free.contains(p))
            });
            let verdict = judge_set(classifier, entity, claim, &set, &watch).unwrap();
            assert_eq!(verdict.is_valid, can_change == (claim == SetClaim::Contrastive));
            assert_eq!(verdict.is_minimal, minimal.contains(&set));
            assert_eq!(verdict.input.is_some(), can_change);
            if let Some(input) = &verdict.input {
                assert_ne!(all.class(input), entity.class);
                assert!(classifier.space().changed(&entity.bits, input).iter().all(|player| free.contains(player)));
            }
            assert_eq!(verdict.repaired.is_some(), !minimal.is_empty());
            assert!(verdict.repaired.is_none_or(|repaired| minimal.contains(&repaired)));
        }
        let (input, class) = all.inputs[chance.below(all.inputs.len())].clone();
        let verdict = judge_counterfactual(classifier, entity, &input, &Wish::default(), &watch).unwrap();
        let ones = vec![RBig::ONE; all.players()];
        let valid = all.counterfactuals(&entity.bits, None, |_, _| true, &ones);
        assert_eq!(verdict.is_valid, class != entity.class);
        let distance = RBig::from(all.distance(&entity.bits, &input));
        assert_eq!(verdict.is_nearest, verdict.is_valid && valid[0].0 == distance);
        let changed = |input: &[bool]| classifier.space().changed(&entity.bits, input);
        let own = changed(&input);
        let smaller = valid
            .iter()
            .map(|(_, other)| changed(other))
            .any(|other| other.len() < own.len() && other.iter().all(|player| own.contains(player)));
        assert_eq!(verdict.is_minimal, verdict.is_valid && !smaller);
    });
}

#[test]
fn acceptance_is_that_of_the_definition() {
    each(100, 10, |classifier, all, _, chance| {
        let space = classifier.space();
        let protected: Vec<usize> = subset(all.players(), chance).into_iter().take(3).collect();
        let probabilities: Vec<RBig> =
            (0..space.features()).map(|_| RBig::from_parts((1 + chance.below(8)).into(), 9u8.into())).collect();
        let weight = |input: &[bool]| {
            (0..input.len()).fold(RBig::ONE, |product, feature| {
                let is_one_hot = space.players().is_one_hot(space.players().of(feature));
                product
                    * match (input[feature], is_one_hot) {
                        (true, _) => probabilities[feature].clone(),
                        (false, true) => RBig::ONE,
                        (false, false) => RBig::ONE - &probabilities[feature],
                    }
            })
        };
        let sum = |of: &dyn Fn(&[bool], usize) -> bool| {
            let inside = all.inputs.iter().filter(|(input, class)| of(input, *class));
            inside.fold(RBig::ZERO, |sum, (input, _)| sum + weight(input))
        };
        let total = sum(&|_, _| true);
        let found = acceptance(classifier, &protected, &probabilities, &Watch::unlimited()).unwrap();
        let mut covered = RBig::ZERO;
        for group in found {
            let agrees = |input: &[bool]| {
                let features = protected.iter().flat_map(|&player| space.members(player));
                features.into_iter().all(|&feature| input[feature] == group.values[feature])
            };
            let own = sum(&|input, _| agrees(input));
            assert_eq!(group.probability, &own / &total);
            for (class, share) in group.classes.iter().enumerate() {
                assert_eq!(*share, sum(&|input, found| agrees(input) && found == class) / &own);
            }
            covered += group.probability;
        }
        assert_eq!(covered, RBig::ONE);
    });
}

#[test]
fn the_comparison_notices_a_single_wrong_input() {
    let mut chance = Seeded::new(11, 0);
    let (mut reasons, mut radii, mut biases) = (0, 0, 0);
    for _ in 0..100 {
        let case = Case::random(&mut chance);
        let mut wrong = Case { space: case.space.clone(), labels: Vec::new(), table: case.table.clone() };
        let all = case.definitions();
        let (input, class) = all.inputs[chance.below(all.inputs.len())].clone();
        wrong.table[number(&input)] = if class == 0 { 1 } else { 0 };
        let mistaken = wrong.definitions();
        let classifier = &case.classifiers()[0];
        let (entity, _) = all.inputs.iter().find(|(other, _)| *other != input).unwrap_or(&all.inputs[0]).clone();
        let asked = classifier.entity(&entity, "the entity").unwrap();
        let (wanted, watch) = (ReasonsWanted { which: Which::All, ..ReasonsWanted::default() }, Watch::unlimited());
        let found = sufficient(classifier, &asked, &wanted, &watch).unwrap().sets;
        reasons += usize::from(found != mistaken.sufficient(&entity, &RBig::ONE, &[]));
        let ones = vec![RBig::ONE; all.players()];
        let near = counterfactuals(classifier, &asked, &Wish::default(), &watch).unwrap().count;
        let expected = mistaken.counterfactuals(&entity, None, |_, _| true, &ones);
        let nearest = expected.iter().filter(|(distance, _)| *distance == expected[0].0).count();
        radii += usize::from(near != UBig::from(nearest));
        let bias = Bias::new(classifier, &[0], &watch).unwrap();
        let count = mistaken.inputs.iter().filter(|(input, _)| mistaken.is_biased(input, &[0])).count();
        biases += usize::from(*bias.inputs() != UBig::from(count));
    }
    assert!(reasons > 5 && radii > 5 && biases > 5, "{reasons} {radii} {biases}");
}
