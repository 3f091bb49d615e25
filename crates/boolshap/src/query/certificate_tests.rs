//! Certificates of random claims against the definitions: true claims are certified and pass the check, by trying and
//! by proofs; false claims are neither certified nor accepted.

use super::certify::certify_by_proofs;
use super::*;
use crate::lit::Watch;
use crate::model::random::network_strategy;
use crate::model::{Model, Network};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A network with groups of features as players, one-hot columns and clauses.
#[derive(Debug)]
struct World {
    model: Model,
    class: Option<usize>,
    players: Vec<Vec<usize>>,
    one_hot: Vec<Vec<usize>>,
    constraint: Vec<Vec<i32>>,
}

impl World {
    fn inputs(&self) -> Vec<Vec<bool>> {
        let n = self.model.features.len();
        let all = (0..1usize << n).map(|number| (0..n).map(|j| number >> j & 1 == 1).collect::<Vec<bool>>());
        all.filter(|input| {
            let holds = |literal: &i32| input[literal.unsigned_abs() as usize - 1] == (*literal > 0);
            self.constraint.iter().all(|clause| clause.iter().any(holds))
                && self.one_hot.iter().all(|group| group.iter().filter(|f| input[**f]).count() == 1)
        })
        .collect()
    }

    fn decide(&self, input: &[bool]) -> usize {
        let answer = self.model.network.classify(input);
        self.class.map_or(answer, |class| usize::from(class == answer))
    }

    fn difference(&self, one: &[bool], other: &[bool]) -> usize {
        let differs = |player: &usize| self.players[*player].iter().any(|&f| one[f] != other[f]);
        (0..self.players.len()).filter(differs).map(|player| 1 << player).sum()
    }

    fn names(&self, set: usize) -> Vec<String> {
        (0..self.players.len()).filter(|p| set >> p & 1 == 1).map(|p| format!("p{p}")).collect()
    }

    /// All minimal sufficient and all minimal contrastive sets.
    fn sets(&self, entity: &[bool]) -> (Vec<usize>, Vec<usize>) {
        let label = self.decide(entity);
        let others: Vec<usize> = (self.inputs().iter().filter(|input| self.decide(input) != label))
            .map(|input| self.difference(entity, input))
            .collect();
        let all = (1usize << self.players.len()) - 1;
        let suffices = |set: usize| others.iter().all(|other| other & set != 0);
        let minimal = |good: &dyn Fn(usize) -> bool| {
            (0..=all).filter(|&set| good(set) && (0..set).all(|part| part & !set != 0 || !good(part))).collect()
        };
        (minimal(&suffices), minimal(&|set| !suffices(all & !set)))
    }

    fn certificate(&self, claim: Claim) -> Certificate {
        let mut certificate = Certificate::new(self.model.digest(), self.class, claim);
        let group =
            |(player, features): (usize, &Vec<usize>)| Group { name: format!("p{player}"), features: features.clone() };
        certificate.players = Some(self.players.iter().enumerate().map(group).collect());
        (certificate.one_hot, certificate.constraint) = (self.one_hot.clone(), self.constraint.clone());
        certificate
    }

    /// Whether the claim is certified; if so, asserts that the certificate passes the check, and only with this model.
    fn is_certified(&self, claim: Claim) -> bool {
        let certificate = self.certificate(claim);
        let watch = &Watch::unlimited();
        let (mut tried, mut proved) = (certificate.clone(), certificate);
        let found = certify(&mut tried, &Witness::Model(&self.model), watch);
        let by_proofs = certify_by_proofs(&mut proved, &self.model);
        assert_eq!(found.is_ok(), by_proofs.is_ok(), "{found:?} {by_proofs:?} {self:?}");
        if found.is_ok() {
            let mut other = self.model.clone();
            other.provenance.insert("x".into(), 1.into());
            for one in [tried, proved] {
                check_certificate(&one.to_json(), &self.model, watch).unwrap();
                let refused = check_certificate(&one.to_json(), &other, watch).unwrap_err().to_string();
                assert!(refused.contains("another network"), "{refused}");
            }
        }
        found.is_ok()
    }
}

fn text(input: &[bool]) -> String {
    input.iter().map(|&bit| if bit { '1' } else { '0' }).collect()
}

fn world(network: Network, seed: u64) -> World {
    let mut chance = crate::data::Seeded::new(seed, 0);
    let n = network.inputs();
    let class = (chance.below(2) == 0).then(|| chance.below(network.classes()));
    let mut players: Vec<Vec<usize>> = vec![Vec::new(); n];
    (0..n).for_each(|feature| players[if chance.below(3) == 0 { chance.below(n) } else { feature }].push(feature));
    players.retain(|player| !player.is_empty());
    let one_hot = players.iter().filter(|player| player.len() > 1 && chance.below(2) == 0).cloned().collect();
    let clause = |chance: &mut crate::data::Seeded| {
        (0..1 + chance.below(3))
            .map(|_| (1 + chance.below(n) as i32) * if chance.below(2) == 0 { 1 } else { -1 })
            .collect()
    };
    let constraint = (0..chance.below(3)).map(|_| clause(&mut chance)).collect();
    let model = Model::new(network, Model::default_features(n)).unwrap();
    World { model, class, players, one_hot, constraint }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn sets_are_certified_exactly_if_they_are_what_is_claimed(
        network in network_strategy(6), seed in any::<u64>(), which in any::<u32>(), drop in any::<bool>()
    ) {
        let world = world(network, seed);
        let inputs = world.inputs();
        prop_assume!(!inputs.is_empty());
        let entity = &inputs[which as usize % inputs.len()];
        let (reasons, contrasts) = world.sets(entity);
        for (mut sets, is_reasons) in [(reasons, true), (contrasts, false)] {
            sets.sort_by_key(|set| set.count_ones());
            let claim = |sets: &[usize], extent| {
                let claim = SetsClaim {
                    entity: text(entity),
                    label: world.decide(entity),
                    sets: sets.iter().map(|&set| world.names(set)).collect(),
                    among: None,
                    extent,
                };
                if is_reasons { Claim::Reasons(claim) } else { Claim::Contrasts(claim) }
            };
            prop_assert!(world.is_certified(claim(&sets, Extent::All)));
            prop_assert!(world.is_certified(claim(&sets, Extent::Some)));
            if let Some(last) = sets.last().copied() {
                prop_assert!(world.is_certified(claim(&sets[..1], Extent::Smallest)));
                // One set is left out.
                let rest = &sets[usize::from(drop)..sets.len() - usize::from(!drop)];
                prop_assert!(!world.is_certified(claim(rest, Extent::All)));
                // One set has one player more, or one fewer.
                let all = (1usize << world.players.len()) - 1;
                if last != all {
                    prop_assert!(!world.is_certified(claim(&[last | (last + 1)], Extent::Some)));
                }
                if last != 0 {
                    prop_assert!(!world.is_certified(claim(&[last & (last - 1)], Extent::Some)));
                }
                if last.count_ones() > sets[0].count_ones() {
                    prop_assert!(!world.is_certified(claim(&[last], Extent::Smallest)));
                }
            }
        }
    }

    #[test]
    fn distances_and_bias_are_certified_exactly_if_they_are_right(
        network in network_strategy(6), seed in any::<u64>(), which in any::<u32>()
    ) {
        let world = world(network, seed);
        let inputs = world.inputs();
        prop_assume!(!inputs.is_empty());
        let entity = &inputs[which as usize % inputs.len()];
        let label = world.decide(entity);
        let half = |player: usize| 1 + seed as usize % 3 + player % 2;
        let cost = |other: &Vec<bool>| -> usize {
            let set = world.difference(entity, other);
            (0..world.players.len()).filter(|p| set >> p & 1 == 1).map(half).sum()
        };
        let others: Vec<&Vec<bool>> = inputs.iter().filter(|input| world.decide(input) != label).collect();
        let nearest = others.iter().map(|other| cost(other)).min();
        let at: Vec<&&Vec<bool>> = others.iter().filter(|other| Some(cost(other)) == nearest).collect();
        let claim = |distance: Option<usize>, count: usize| {
            Claim::Nearest(NearestClaim {
                entity: text(entity),
                label,
                to: None,
                costs: (0..world.players.len()).map(|p| (format!("p{p}"), format!("{}/2", half(p)))).collect(),
                moves: Moves::default(),
                distance: distance.map(|halves| format!("{halves}/2")),
                inputs: at.iter().take(2).map(|other| text(other)).collect(),
                count: Some(count.to_string()),
                within: None,
            })
        };
        prop_assert!(world.is_certified(claim(nearest, at.len())));
        prop_assert!(!world.is_certified(claim(nearest, at.len() + 1)));
        prop_assert!(!world.is_certified(claim(nearest.map_or(Some(1), |near| Some(near + 1)), at.len())));
        let protected = which as usize % (1 << world.players.len());
        let is_biased = |input: &Vec<bool>| inputs.iter().any(|other| {
            world.difference(input, other) & !protected == 0 && world.decide(other) != world.decide(input)
        });
        let biased = inputs.iter().filter(|input| is_biased(input)).count();
        for claimed in [true, false] {
            let names = world.names(protected);
            let claim = BiasClaim { entity: text(entity), label, protected: names.clone(), biased: claimed };
            prop_assert_eq!(world.is_certified(Claim::DecisionBias(claim)), claimed == is_biased(entity));
            let count = Some(biased.to_string());
            let claim = ClassifierBiasClaim { protected: names, biased: claimed, inputs: count };
            prop_assert_eq!(world.is_certified(Claim::ClassifierBias(claim)), claimed == (biased > 0));
        }
    }

    #[test]
    fn properties_are_certified_exactly_if_they_are_right(network in network_strategy(6), seed in any::<u64>()) {
        let world = world(network, seed);
        let inputs = world.inputs();
        for (player, members) in world.players.iter().enumerate() {
            let pairs: Vec<(&Vec<bool>, &Vec<bool>)> = inputs.iter()
                .flat_map(|one| inputs.iter().map(move |other| (one, other)))
                .filter(|(one, other)| world.difference(one, other) == 1 << player)
                .collect();
            let differ = pairs.iter().filter(|(one, other)| world.decide(one) != world.decide(other));
            let changed: std::collections::BTreeSet<_> = differ.map(|(one, _)| one).collect();
            let up = |(one, other): &&(&Vec<bool>, &Vec<bool>)| !one[members[0]] && other[members[0]];
            let (rises, falls) = (
                pairs.iter().filter(up).any(|(one, other)| world.decide(one) < world.decide(other)),
                pairs.iter().filter(up).any(|(one, other)| world.decide(one) > world.decide(other)),
            );
            let labels: std::collections::BTreeSet<usize> = inputs.iter().map(|input| world.decide(input)).collect();
            let value = |input: &Vec<bool>| members.iter().map(|&at| if input[at] { '1' } else { '0' }).collect::<String>();
            let mut mandatory = Vec::new();
            for label in labels {
                let mut values: Vec<String> = inputs.iter().filter(|input| world.decide(input) == label).map(value).collect();
                values.dedup();
                if values.iter().all(|value| *value == values[0]) {
                    mandatory.push(MandatoryClaim { label, value: values[0].clone() });
                }
            }
            let false_one = MandatoryClaim { label: 99, value: "0".repeat(members.len()) };
            for wrong in 0..8 {
                let flip = |bit: usize, value: bool| value != (wrong == 1 << bit);
                let single = |value: bool| (members.len() == 1).then_some(value);
                let claim = PlayerClaim {
                    name: format!("p{player}"),
                    used: flip(0, !changed.is_empty()),
                    rises: single(flip(1, rises)),
                    falls: single(flip(2, falls)),
                    influence: (!inputs.is_empty()).then(|| format!("{}/{}", changed.len(), inputs.len())),
                    mandatory: Some(if wrong == 7 { [mandatory.clone(), vec![false_one.clone()]].concat() } else { mandatory.clone() }),
                };
                let is_right = !([1, 7].contains(&wrong) || members.len() == 1 && [2, 4].contains(&wrong));
                let claim = Claim::Properties(PropertiesClaim { players: vec![claim] });
                prop_assert_eq!(world.is_certified(claim), is_right);
            }
        }
    }
}

#[test]
fn a_changed_file_is_refused_with_the_reason() {
    let gate = crate::model::Gate::new(vec![1, 1, 1], 2).unwrap();
    let network = Network::new(3, vec![], crate::model::Output::Step(gate)).unwrap();
    let model = Model::new(network, Model::default_features(3)).unwrap();
    let claim = SetsClaim {
        entity: "110".into(),
        label: 1,
        sets: vec![vec!["x1".into(), "x2".into()]],
        among: None,
        extent: Extent::All,
    };
    let mut certificate = Certificate::new(model.digest(), None, Claim::Reasons(claim));
    let watch = &Watch::unlimited();
    certify(&mut certificate, &Witness::Model(&model), watch).unwrap();
    let good = certificate.to_json();
    let checked = check_certificate(&good, &model, watch).unwrap();
    assert_eq!(
        checked.claim,
        "{x1, x2} suffices for the decision 1 of 110, and no part of it; there is no other minimal sufficient set"
    );
    for (old, new, reason) in [
        ("\"110\"", "\"111\"", "it was changed after it was sealed"),
        ("\"version\": 1", "\"version\": 2", "version 2 of certificates is not known (known: 1)"),
        ("boolshap certificate", "boolshap model", "it is no certificate: its format is 'boolshap model'"),
        ("\"claim\"", "\"claims\"", "it is damaged: unknown field `claims`"),
    ] {
        assert!(good.contains(old));
        let error = check_certificate(&good.replacen(old, new, 1), &model, watch).unwrap_err().to_string();
        assert!(error.starts_with(&format!("the certificate is refused: {reason}")), "{error}");
    }
    // Sealed again, it is another claim, for which the evidence shows nothing.
    let Claim::Reasons(claim) = &mut certificate.claim else { panic!() };
    claim.entity = "111".into();
    let error = check_certificate(&certificate.to_json(), &model, watch).unwrap_err().to_string();
    assert!(error.contains("nothing shows that"), "{error}");
    let mut costs = NearestClaim {
        entity: "110".into(),
        label: 1,
        to: None,
        costs: BTreeMap::from([("x1".into(), "-1".into())]),
        moves: Moves::default(),
        distance: Some("1".into()),
        inputs: vec!["010".into()],
        count: None,
        within: None,
    };
    let refused = |claim: &NearestClaim| {
        let certificate = Certificate::new(model.digest(), None, Claim::Nearest(claim.clone()));
        check_certificate(&certificate.to_json(), &model, watch).unwrap_err().to_string()
    };
    assert!(refused(&costs).contains("'-1' is not a fraction"), "{}", refused(&costs));
    costs.costs.clear();
    costs.moves.not_down.push("x1".into());
    assert!(refused(&costs).contains("010 makes a change that is not allowed"), "{}", refused(&costs));
}
