//! Reference answers for the tests: every question by its definition, over all inputs and all sets of players. This
//! shares no code with the real answers except the space's own test of which inputs can occur.

use super::Space;
use dashu_int::UBig;
use dashu_ratio::RBig;

/// A classifier as a list of all inputs that can occur, with their classes.
pub(super) struct AllInputs<'a> {
    pub(super) space: &'a Space,
    pub(super) inputs: Vec<(Vec<bool>, usize)>,
}

type Set = Vec<usize>;

impl<'a> AllInputs<'a> {
    pub(super) fn new(space: &'a Space, class: impl Fn(&[bool]) -> usize) -> Self {
        let features = space.features();
        let input = |number: usize| (0..features).map(|feature| number >> feature & 1 == 1).collect::<Vec<bool>>();
        let all = (0..1usize << features).map(input).filter(|input| space.flaw(input).is_none());
        let inputs = all.map(|input| (input.clone(), class(&input))).collect();
        AllInputs { space, inputs }
    }

    pub(super) fn players(&self) -> usize {
        self.space.players().len()
    }

    fn differ(&self, one: &[bool], other: &[bool]) -> Set {
        let mut set: Set = (0..one.len())
            .filter(|&feature| one[feature] != other[feature])
            .map(|feature| self.space.players().of(feature))
            .collect();
        set.sort_unstable();
        set.dedup();
        set
    }

    pub(super) fn class(&self, input: &[bool]) -> usize {
        self.inputs.iter().find(|(known, _)| known == input).expect("an input that can occur").1
    }

    fn all_sets(&self) -> Vec<Set> {
        let set = |number: usize| (0..self.players()).filter(|player| number >> player & 1 == 1).collect();
        let mut all: Vec<Set> = (0..1usize << self.players()).map(set).collect();
        all.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        all
    }

    /// Among the inputs that agree with an entity in a set, the share with its class.
    pub(super) fn share(&self, entity: &[bool], set: &[usize]) -> RBig {
        let class = self.class(entity);
        let agrees = |input: &[bool]| self.differ(entity, input).iter().all(|player| !set.contains(player));
        let agreeing: Vec<usize> =
            self.inputs.iter().filter(|(input, _)| agrees(input)).map(|(_, class)| *class).collect();
        let same = agreeing.iter().filter(|&&other| other == class).count();
        RBig::from_parts(same.into(), agreeing.len().into())
    }

    /// The sets with a property that no proper subset has, by size and then in order.
    fn minimal(&self, has: impl Fn(&[usize]) -> bool, exclude: &[usize]) -> Vec<Set> {
        let all: Vec<Set> = self.all_sets().into_iter().filter(|set| has(set)).collect();
        let inside = |small: &Set, large: &Set| small != large && small.iter().all(|player| large.contains(player));
        let minimal = |set: &&Set| !all.iter().any(|other| inside(other, set));
        let kept = all.iter().filter(minimal).filter(|set| !set.iter().any(|player| exclude.contains(player)));
        kept.cloned().collect()
    }

    pub(super) fn sufficient(&self, entity: &[bool], share: &RBig, exclude: &[usize]) -> Vec<Set> {
        self.minimal(|set| self.share(entity, set) >= *share, exclude)
    }

    pub(super) fn contrastive(&self, entity: &[bool], share: &RBig, exclude: &[usize]) -> Vec<Set> {
        let rest = |set: &[usize]| -> Set { (0..self.players()).filter(|player| !set.contains(player)).collect() };
        self.minimal(|set| self.share(entity, &rest(set)) < *share, exclude)
    }

    /// The Shapley and Banzhaf values of the game "this set suffices", summed over all sets.
    pub(super) fn game(&self, entity: &[bool], player: usize) -> [RBig; 2] {
        let n = self.players();
        let worth = |set: &[usize]| self.share(entity, set) == RBig::ONE;
        let factorial = |k: usize| (1..=k).fold(UBig::ONE, |product, factor| product * factor);
        let (mut shapley, mut banzhaf) = (RBig::ZERO, RBig::ZERO);
        for set in self.all_sets().into_iter().filter(|set| !set.contains(&player)) {
            let with: Set = set.iter().copied().chain([player]).collect();
            if worth(&with) && !worth(&set) {
                let orders = factorial(set.len()) * factorial(n - set.len() - 1);
                shapley += RBig::from_parts(orders.into(), factorial(n));
                banzhaf += RBig::from_parts(1.into(), UBig::ONE << (n - 1));
            }
        }
        [shapley, banzhaf]
    }

    /// The inputs of a class, or of any class but the entity's, with their distances, nearest first.
    pub(super) fn counterfactuals(
        &self,
        entity: &[bool],
        to: Option<usize>,
        may_change: impl Fn(usize, bool) -> bool,
        costs: &[RBig],
    ) -> Vec<(RBig, Vec<bool>)> {
        let class = self.class(entity);
        let wished = |found: usize| to.map_or(found != class, |to| found == to);
        let allowed = |input: &[bool]| {
            (0..input.len()).all(|feature| input[feature] == entity[feature] || may_change(feature, input[feature]))
        };
        let distance =
            |input: &[bool]| self.differ(entity, input).iter().fold(RBig::ZERO, |sum, &player| sum + &costs[player]);
        let found = self.inputs.iter().filter(|(input, class)| wished(*class) && allowed(input));
        let mut found: Vec<_> = found.map(|(input, _)| (distance(input), input.clone())).collect();
        found.sort();
        found
    }

    pub(super) fn distance(&self, one: &[bool], other: &[bool]) -> usize {
        self.differ(one, other).len()
    }

    /// Whether an input that differs in protected players only has another class.
    pub(super) fn is_biased(&self, entity: &[bool], protected: &[usize]) -> bool {
        let class = self.class(entity);
        let only = |input: &[bool]| self.differ(entity, input).iter().all(|player| protected.contains(player));
        self.inputs.iter().any(|(input, other)| *other != class && only(input))
    }

    /// The pairs of inputs that differ in one player only.
    pub(super) fn pairs(&self, player: usize) -> Vec<(&[bool], usize, &[bool], usize)> {
        let mut pairs = Vec::new();
        for (one, class) in &self.inputs {
            for (other, second) in &self.inputs {
                if self.differ(one, other) == [player] {
                    pairs.push((&one[..], *class, &other[..], *second));
                }
            }
        }
        pairs
    }
}
