//! Compares the circuit with the network along all paths at once, for ordered diagrams too wide for tables and solvers.
//!
//! The walk goes variable by variable in the diagram's order. The state of a path is its node in the diagram and, for
//! each gate of the first layer, how much the gate still needs, clipped to "satisfied" and "unreachable". Paths with
//! equal states have the same future and are merged. At the end the node is a constant and the gates of the first layer
//! are decided, so the deeper layers, evaluated by their definition, must give the same answer. Invariant: every
//! entity's path is represented. Cost: two steps for each distinct pair of node and needs; their number is limited,
//! lower for many gates. Memory: the pairs of two levels, and eight bytes for each earlier pair, to trace a difference
//! back to its entity.

use super::QueryError;
use super::verify::{Comparison, Counterexample, in_order};
use crate::circuit::{Circuit, Node, NodeId};
use crate::lit::{Pieces, Var, Watch};
use crate::model::{Network, Output};
use std::collections::HashSet;

/// The need of a gate that can no longer be satisfied.
const NEVER: i64 = i64::MAX;
/// The most bytes for the pairs of one level.
const MAX_LEVEL: usize = 1 << 30;

/// An entity on which circuit and network differ, if any exists.
pub(super) fn compare(question: &Comparison<'_>) -> Result<Option<Counterexample>, QueryError> {
    let &Comparison { network, class, circuit, options, watch } = question;
    let order = in_order(circuit);
    let mut place = vec![0; circuit.variables()];
    order.iter().enumerate().for_each(|(depth, var)| place[var.index()] = depth);
    check_ordered(circuit, &place)?;
    let first = FirstLayer::new(network)?;

    let mut remaining = first.totals.clone();
    let mut level = Level { states: vec![(Place::of(circuit, circuit.root()), first.needs.clone())], ways: Vec::new() };
    let mut ways = Vec::with_capacity(order.len());
    let mut pairs = 1;
    let pieces = Pieces::new(watch, order.len());
    for (depth, &var) in order.iter().enumerate() {
        watch.check()?;
        for (left, weights) in remaining.iter_mut().zip(&first.weights) {
            *left -= weights[var.index()].abs();
        }
        let most = first.most_of_level().min(options.max_pairs.saturating_sub(pairs));
        let next = pieces.next(|watch| level.next(circuit, var, &first, &remaining, most, watch))?;
        let Some(next) = next else {
            return Err(QueryError::TooManyPairs { pairs: pairs + most + 1, depth, variables: order.len() });
        };
        level = next;
        pairs += level.states.len();
        ways.push(std::mem::take(&mut level.ways));
    }
    for (index, (node, needs)) in level.states.iter().enumerate() {
        let Place::Constant(label) = *node else {
            return Err(QueryError::NotOrdered { problem: "a path ends before a constant".into() });
        };
        let hidden: Vec<bool> = needs.iter().map(|&need| need == 0).collect();
        let expected = first.answer(network, &hidden) == class;
        if label != expected {
            let entity = way_back(&order, &ways, index);
            return Ok(Some(Counterexample { entity, network: expected, circuit: label }));
        }
    }
    Ok(None)
}

/// A path's state: its place in the diagram, and what each gate of the first layer still needs.
type State = (Place, Vec<i64>);
/// How a state was reached: the state of the previous level, and the value.
type Way = (u32, bool);

/// The distinct states after some variables.
struct Level {
    states: Vec<State>,
    ways: Vec<Way>,
}

impl Level {
    /// The level after one more variable; `None` if it has more than `most` states.
    fn next(
        &self,
        circuit: &Circuit,
        var: Var,
        first: &FirstLayer,
        remaining: &[i64],
        most: usize,
        watch: &Watch<'_>,
    ) -> Result<Option<Self>, QueryError> {
        let mut known: HashSet<State> = HashSet::new();
        let mut next = Level { states: Vec::new(), ways: Vec::new() };
        for (index, (node, needs)) in self.states.iter().enumerate() {
            if index % 4096 == 0 {
                watch.count(next.states.len() as u64, "pairs")?;
            }
            for value in [false, true] {
                let state = (node.step(circuit, var, value), first.needs_after(needs, var, value, remaining));
                if known.insert(state.clone()) {
                    if next.states.len() == most {
                        return Ok(None);
                    }
                    next.states.push(state);
                    next.ways.push((index as u32, value));
                }
            }
        }
        Ok(Some(next))
    }
}

/// The entity whose path ends in this state of the last level.
fn way_back(order: &[Var], ways: &[Vec<Way>], last: usize) -> Vec<bool> {
    let mut entity = vec![false; order.len()];
    let mut at = last;
    for (var, ways) in order.iter().zip(ways).rev() {
        let (from, value) = ways[at];
        entity[var.index()] = value;
        at = from as usize;
    }
    entity
}

/// The place of a path in the diagram.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Node(NodeId),
    Constant(bool),
}

impl Place {
    fn of(circuit: &Circuit, id: NodeId) -> Self {
        match circuit.node(id) {
            Node::Constant(value) => Place::Constant(value),
            _ => Place::Node(id),
        }
    }

    /// The place after a variable takes a value.
    fn step(self, circuit: &Circuit, var: Var, value: bool) -> Self {
        let Place::Node(id) = self else { return self };
        match circuit.node(id) {
            Node::Decision { var: asked, lo, hi } if asked == var => Place::of(circuit, if value { hi } else { lo }),
            Node::Literal(lit) if lit.var() == var => Place::Constant(lit.holds(value)),
            _ => self,
        }
    }
}

/// Fails unless every path tests variables in this order.
fn check_ordered(circuit: &Circuit, place: &[usize]) -> Result<(), QueryError> {
    let asked = |id: NodeId| match circuit.node(id) {
        Node::Decision { var, .. } => Ok(place[var.index()]),
        Node::Literal(lit) => Ok(place[lit.var().index()]),
        Node::Constant(_) => Ok(usize::MAX),
        _ => Err(QueryError::NotOrdered { problem: format!("node {id} is a gate") }),
    };
    for id in circuit.reachable() {
        let own = asked(id)?;
        for child in circuit.node(id).children() {
            if asked(child)? <= own {
                let problem = format!("node {child} asks a variable that stands before its parent's");
                return Err(QueryError::NotOrdered { problem });
            }
        }
    }
    Ok(())
}

/// The gates that read the features: the first hidden layer, or the output if no layer is hidden.
struct FirstLayer {
    weights: Vec<Vec<i64>>,
    needs: Vec<i64>,
    totals: Vec<i64>,
}

impl FirstLayer {
    fn new(network: &Network) -> Result<Self, QueryError> {
        let small = |number: i128| {
            i64::try_from(number).ok().filter(|n| n.unsigned_abs() < 1 << 60).ok_or(QueryError::LargeWeights)
        };
        let mut layer = FirstLayer { weights: Vec::new(), needs: Vec::new(), totals: Vec::new() };
        let mut add = |weights: &[i128], need: i128| -> Result<(), QueryError> {
            layer.weights.push(weights.iter().map(|&weight| small(weight)).collect::<Result<_, _>>()?);
            let total = small(weights.iter().map(|weight| weight.abs()).sum())?;
            let need = small(need.max(0))?;
            layer.totals.push(total);
            layer.needs.push(if need > total { NEVER } else { need });
            Ok(())
        };
        match (network.hidden().first(), network.output()) {
            (Some(gates), _) => gates.iter().try_for_each(|gate| add(gate.weights(), gate.need() as i128))?,
            (None, Output::Step(gate)) => add(gate.weights(), gate.need() as i128)?,
            (None, Output::Argmax(_)) => {
                return Err(QueryError::NotOrdered { problem: "the network answers by its inputs' scores".into() });
            }
        }
        Ok(layer)
    }

    /// The number of states that fit into a level's memory; each state is stored in a list and in a set.
    fn most_of_level(&self) -> usize {
        MAX_LEVEL / (2 * (size_of::<State>() + 8 * self.needs.len()))
    }

    /// What the gates still need after a variable takes a value; `remaining` is the most that later variables can
    /// contribute.
    fn needs_after(&self, needs: &[i64], var: Var, value: bool, remaining: &[i64]) -> Vec<i64> {
        let after = |((&need, weights), &left): ((&i64, &Vec<i64>), &i64)| {
            let weight = weights[var.index()];
            let need = match need {
                NEVER => return NEVER,
                need if (weight > 0) == value => (need - weight.abs()).max(0),
                need => need,
            };
            if need > left { NEVER } else { need }
        };
        needs.iter().zip(&self.weights).zip(remaining).map(after).collect()
    }

    /// The class if the first layer has these values.
    fn answer(&self, network: &Network, first: &[bool]) -> usize {
        let Some((_, deeper)) = network.hidden().split_first() else {
            return usize::from(first[0]);
        };
        let mut values = first.to_vec();
        for layer in deeper {
            values = layer.iter().map(|gate| gate.evaluate(&values)).collect();
        }
        match network.output() {
            Output::Step(gate) => usize::from(gate.evaluate(&values)),
            Output::Argmax(scores) => {
                let score = |class: usize| -> i128 {
                    let signs = values.iter().map(|&value| if value { 1 } else { -1 });
                    scores[class].weights().iter().zip(signs).map(|(weight, sign)| weight * sign).sum::<i128>()
                        + scores[class].bias()
                };
                // The first class with the largest score.
                (1..scores.len()).fold(0, |best, class| if score(class) > score(best) { class } else { best })
            }
        }
    }
}
