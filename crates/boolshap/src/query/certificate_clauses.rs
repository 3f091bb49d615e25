//! Questions about a network as unsatisfiable clauses: what the proofs of certificates refute.
//!
//! The checker derives these clauses from the network again, so a proof of other clauses is useless. Features with
//! given values become constants, which shrinks the network before the solver sees it.

use super::QueryError;
use super::clauses::Clauses;
use crate::lit::Watch;
use crate::model::Network;

/// The limit on clauses of one question.
const MOST_CLAUSES: usize = 30_000_000;

/// A decision function that can be evaluated on an input or encoded as clauses.
pub(super) trait Decider {
    /// How many features an input has.
    fn inputs(&self) -> usize;
    /// The number of possible decisions.
    fn labels(&self) -> usize;
    /// The decision on an input.
    fn decide(&self, input: &[bool]) -> usize;
    /// For each of these labels, a literal that is true exactly if the input of these features has this decision.
    fn literals(&self, clauses: &mut Clauses<'_>, features: &[i32], labels: &[usize]) -> Result<Vec<i32>, QueryError>;
}

/// A network: the decision is the class of its answer, or whether the answer is the given class.
pub(super) struct NetworkDecider<'a> {
    pub(super) network: &'a Network,
    pub(super) class: Option<usize>,
}

impl Decider for NetworkDecider<'_> {
    fn inputs(&self) -> usize {
        self.network.inputs()
    }

    fn labels(&self) -> usize {
        if self.class.is_some() { 2 } else { self.network.classes() }
    }

    fn decide(&self, input: &[bool]) -> usize {
        let answer = self.network.classify(input);
        self.class.map_or(answer, |class| usize::from(answer == class))
    }

    fn literals(&self, clauses: &mut Clauses<'_>, features: &[i32], labels: &[usize]) -> Result<Vec<i32>, QueryError> {
        let values = clauses.last_hidden(self.network, features)?;
        let mut literal = |label: usize| match self.class {
            Some(class) => Ok(clauses.class_wins(self.network, &values, class)? * if label == 0 { -1 } else { 1 }),
            None => clauses.class_wins(self.network, &values, label),
        };
        labels.iter().map(|&label| literal(label)).collect()
    }
}

/// The decision function and the valid inputs.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) decider: &'a dyn Decider,
    /// Groups of features of which exactly one is 1.
    pub(super) one_hot: &'a [Vec<usize>],
    /// Clauses over the features, counted from 1.
    pub(super) constraint: &'a [Vec<i32>],
}

impl Subject<'_> {
    /// How many features an input has.
    pub(super) fn inputs(&self) -> usize {
        self.decider.inputs()
    }

    /// The decision on an input.
    pub(super) fn decide(&self, input: &[bool]) -> usize {
        self.decider.decide(input)
    }

    /// Whether an input satisfies the constraint and the one-hot columns.
    pub(super) fn is_valid(&self, input: &[bool]) -> bool {
        let holds = |&literal: &i32| input[literal.unsigned_abs() as usize - 1] == (literal > 0);
        self.constraint.iter().all(|clause| clause.iter().any(holds))
            && self.one_hot.iter().all(|group| group.iter().filter(|&&feature| input[feature]).count() == 1)
    }

    /// The literals of the features, with constants for given values.
    fn features(clauses: &Clauses<'_>, given: &[Option<bool>]) -> Vec<i32> {
        let literal = |(feature, value): (usize, &Option<bool>)| match value {
            Some(value) => clauses.constant(*value),
            None => feature as i32 + 1,
        };
        given.iter().enumerate().map(literal).collect()
    }

    /// Adds clauses that make these features a valid input.
    fn valid(&self, clauses: &mut Clauses<'_>, features: &[i32]) {
        let literal = |&number: &i32| features[number.unsigned_abs() as usize - 1] * number.signum();
        for clause in self.constraint {
            clauses.add(&clause.iter().map(literal).collect::<Vec<i32>>());
        }
        for group in self.one_hot {
            let group: Vec<i32> = group.iter().map(|&feature| features[feature]).collect();
            clauses.add(&group);
            for (place, &one) in group.iter().enumerate() {
                group[..place].iter().for_each(|&other| clauses.add(&[-one, -other]));
            }
        }
    }
}

/// "An input exists with these values, with this decision (or any other), at no more than this cost."
pub(super) struct Question<'a> {
    pub(super) subject: Subject<'a>,
    /// The given values.
    pub(super) given: Vec<Option<bool>>,
    /// The decision, and whether it is required or excluded.
    pub(super) label: usize,
    pub(super) is: bool,
    /// The costs of differences from an entity, and the most that may be spent.
    pub(super) budget: Option<Budget>,
}

/// A limit on the total cost of differences from an entity.
pub(super) struct Budget {
    /// The input that differences are counted from.
    pub(super) entity: Vec<bool>,
    /// The features of each player, and the cost of changing any of them.
    pub(super) costs: Vec<(Vec<usize>, u128)>,
    /// How much may be spent.
    pub(super) most: u128,
}

impl Question<'_> {
    /// The clauses; variable i + 1 is feature i.
    pub(super) fn clauses(&self, watch: &Watch<'_>) -> Result<Vec<Vec<i32>>, QueryError> {
        let subject = self.subject;
        let mut clauses = Clauses::new(subject.inputs(), MOST_CLAUSES, watch);
        let features = Subject::features(&clauses, &self.given);
        subject.valid(&mut clauses, &features);
        if let Some(budget) = &self.budget {
            let mut terms = Vec::new();
            for (group, cost) in &budget.costs {
                let differ = |&feature: &usize| features[feature] * if budget.entity[feature] { -1 } else { 1 };
                let differ: Vec<i32> = group.iter().map(differ).collect();
                terms.push((*cost, clauses.any(&differ)));
            }
            let terms: Vec<(u128, i32)> = terms.into_iter().filter(|(cost, _)| *cost > 0).collect();
            let over = clauses.reaches(&terms, budget.most as i128 + 1)?;
            clauses.add(&[-over]);
        }
        let decided = subject.decider.literals(&mut clauses, &features, &[self.label])?[0];
        clauses.add(&[if self.is { decided } else { -decided }]);
        Ok(clauses.list)
    }
}

/// "Two inputs exist with these values and different decisions that differ only in some features."
pub(super) struct PairQuestion<'a> {
    pub(super) subject: Subject<'a>,
    /// For each feature its values in the two inputs, if they are given.
    pub(super) given: Vec<Option<(bool, bool)>>,
    /// The features in which the inputs may differ.
    pub(super) differ: Vec<bool>,
    /// How the decisions differ.
    pub(super) apart: Apart,
}

/// How the decisions on two inputs differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Apart {
    Somehow,
    /// The second decision has the greater number.
    Rising,
    Falling,
}

impl Apart {
    pub(super) fn holds(self, first: usize, second: usize) -> bool {
        match self {
            Apart::Somehow => first != second,
            Apart::Rising => first < second,
            Apart::Falling => first > second,
        }
    }
}

impl PairQuestion<'_> {
    /// The clauses; variable i + 1 is feature i of the first input, and n + i + 1 of the second where it may differ.
    pub(super) fn clauses(&self, watch: &Watch<'_>) -> Result<Vec<Vec<i32>>, QueryError> {
        let subject = self.subject;
        let inputs = subject.inputs();
        let mut clauses = Clauses::new(2 * inputs, MOST_CLAUSES, watch);
        let first_given: Vec<Option<bool>> = self.given.iter().map(|given| given.map(|(first, _)| first)).collect();
        let first = Subject::features(&clauses, &first_given);
        let mut second = first.clone();
        for (feature, literal) in second.iter_mut().enumerate().filter(|(feature, _)| self.differ[*feature]) {
            *literal = match self.given[feature] {
                Some((_, value)) => clauses.constant(value),
                None => (inputs + feature) as i32 + 1,
            };
        }
        subject.valid(&mut clauses, &first);
        subject.valid(&mut clauses, &second);
        let labels: Vec<usize> = (1..subject.decider.labels()).collect();
        let one = subject.decider.literals(&mut clauses, &first, &labels)?;
        let other = subject.decider.literals(&mut clauses, &second, &labels)?;
        // For each label above 0: one decision has at least this label, and the other does not.
        let mut apart = Vec::new();
        for least in 0..labels.len() {
            let (one, other) = (clauses.any(&one[least..]), clauses.any(&other[least..]));
            if self.apart != Apart::Falling {
                apart.push(-clauses.either(one, -other));
            }
            if self.apart != Apart::Rising {
                apart.push(-clauses.either(-one, other));
            }
        }
        clauses.add(&apart);
        Ok(clauses.list)
    }
}

/// "An input exists on which another network decides differently."
pub(super) struct DifferQuestion<'a> {
    pub(super) subject: Subject<'a>,
    pub(super) other: &'a dyn Decider,
}

impl DifferQuestion<'_> {
    /// The clauses; variable i + 1 is feature i.
    pub(super) fn clauses(&self, watch: &Watch<'_>) -> Result<Vec<Vec<i32>>, QueryError> {
        let subject = self.subject;
        let mut clauses = Clauses::new(subject.inputs(), MOST_CLAUSES, watch);
        let features: Vec<i32> = (1..=subject.inputs() as i32).collect();
        subject.valid(&mut clauses, &features);
        // Each network gives exactly one label, so the two differ exactly if they differ in some label above 0.
        let labels: Vec<usize> = (1..subject.decider.labels()).collect();
        let one = subject.decider.literals(&mut clauses, &features, &labels)?;
        let other = self.other.literals(&mut clauses, &features, &labels)?;
        let mut apart = Vec::new();
        for (one, other) in one.into_iter().zip(other) {
            apart.extend([-clauses.either(-one, other), -clauses.either(one, -other)]);
        }
        clauses.add(&apart);
        Ok(clauses.list)
    }
}
