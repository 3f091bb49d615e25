//! The classes of a classifier as ordered diagrams, for spaces with too many inputs to enumerate.
//!
//! A region is a set of inputs that can occur: those whose path in a diagram ends at one of its two leaves. Each class
//! has a region of its inputs and one of all others. If every input can occur and every player is a feature, a circuit
//! that is an ordered diagram is used unchanged, and its negation is the other leaf. Otherwise the circuits, the
//! constraint and "exactly one" for each column are combined in a variable order that keeps the features of a player
//! adjacent: a path then visits each player once, as a block.

use super::QueryError;
use super::space::Space;
use super::verify::{as_met, in_order, order_among};
use crate::circuit::{Circuit, Node, NodeId};
use crate::diagram::{Exported, Function, Functions};
use crate::lit::{Var, Watch};
use dashu_int::UBig;
use dashu_ratio::RBig;
use std::collections::HashMap;
use std::sync::Arc;

/// The most nodes of a diagram built here.
const MAX_NODES: usize = 20_000_000;

/// The nodes of a diagram over an order of features.
pub(super) struct Diagram {
    /// The feature that each level tests.
    pub(super) order: Vec<usize>,
    /// The player of each level.
    pub(super) player: Vec<usize>,
    /// Level and children of each node, children first; 0 and 1 are the leaves.
    pub(super) nodes: Vec<[u32; 3]>,
}

/// Inputs whose path ends at one leaf.
#[derive(Clone)]
pub(super) struct Region {
    pub(super) diagram: Arc<Diagram>,
    pub(super) root: u32,
    pub(super) leaf: u32,
}

/// The regions of all classes.
pub(super) struct Diagrams {
    /// For each class, its inputs and all others that can occur.
    pub(super) classes: Vec<[Region; 2]>,
    /// The number of features, if every input can occur.
    free: Option<usize>,
}

impl Diagrams {
    pub(super) fn new(labels: &[Arc<Circuit>], space: &Space, watch: &Watch<'_>) -> Result<Self, QueryError> {
        let direct = match space.is_plain() {
            true => labels.iter().map(|circuit| of_circuit(circuit, space)).collect::<Option<Vec<_>>>(),
            false => None,
        };
        let mut classes = match direct {
            Some(regions) => regions.into_iter().map(|is| [is.clone(), Region { leaf: 0, ..is }]).collect(),
            None => applied(labels, space, watch)?,
        };
        if let [[is, not]] = &classes[..] {
            classes.insert(0, [not.clone(), is.clone()]);
        }
        Ok(Diagrams { classes, free: space.is_free().then(|| space.features()) })
    }

    /// The classes of an input.
    pub(super) fn classes_of(&self, input: &[bool]) -> Vec<usize> {
        (0..self.classes.len()).filter(|&class| self.classes[class][0].has(input)).collect()
    }

    /// How many inputs can occur.
    pub(super) fn inputs(&self) -> UBig {
        match self.free {
            Some(features) => UBig::ONE << features,
            None => {
                let [one, other] = self.classes[0].each_ref().map(Region::count);
                one + other
            }
        }
    }
}

impl Diagrams {
    /// The number of inputs that can change their class when only these players change, and one such input: inputs of a
    /// class that some values of the players move out of it.
    pub(super) fn hanging_on(
        &self,
        players: &[usize],
        watch: &Watch<'_>,
    ) -> Result<(UBig, Option<Vec<bool>>), QueryError> {
        let (mut count, mut one) = (UBig::ZERO, None);
        for [is, not] in &self.classes {
            let mut functions = Functions::new(is.vars(), MAX_NODES);
            let (own, other) = (is.import(&mut functions, watch)?, not.import(&mut functions, watch)?);
            let diagram = &is.diagram;
            let free = (0..diagram.order.len()).filter(|&level| players.contains(&diagram.player[level]));
            let free: Vec<Var> = free.map(|level| Var::new(diagram.order[level])).collect();
            let reach = functions.exists(other, &free, watch)?;
            let hanging = functions.and(own, reach, watch)?;
            let region = is.exported(&functions, hanging);
            count += region.count();
            one = one.or(region.first());
        }
        Ok((count, one))
    }

    /// The mean over all inputs of the number of players that must change to change the class; `None` if only one class
    /// occurs.
    pub(super) fn mean_radius(&self, watch: &Watch<'_>) -> Result<Option<RBig>, QueryError> {
        let mut sum = UBig::ZERO;
        for [is, not] in &self.classes {
            if is.first().is_none() {
                continue;
            }
            if not.first().is_none() {
                return Ok(None);
            }
            let mut players: Vec<(usize, Vec<Var>)> = Vec::new();
            for (&feature, &player) in is.diagram.order.iter().zip(&is.diagram.player) {
                match players.last_mut().filter(|(last, _)| *last == player) {
                    Some((_, vars)) => vars.push(Var::new(feature)),
                    None => players.push((player, vec![Var::new(feature)])),
                }
            }
            let mut functions = Functions::new(is.vars(), MAX_NODES);
            let (own, mut reached) = (is.import(&mut functions, watch)?, not.import(&mut functions, watch)?);
            let mark = functions.kept();
            loop {
                let out = functions.not(reached, watch)?;
                let left = functions.and(own, out, watch)?;
                if left == Functions::constant(false) {
                    break;
                }
                sum += is.exported(&functions, left).count();
                let mut grown = reached;
                for (_, vars) in &players {
                    let changed = functions.exists(reached, vars, watch)?;
                    grown = functions.or(grown, changed, watch)?;
                }
                reached = functions.release(mark, grown);
            }
        }
        Ok(Some(RBig::from_parts(sum.into(), self.inputs())))
    }

    /// Whether raising a feature from 0 to 1 moves some input of the first region into the second.
    pub(super) fn rises([from, to]: [&Region; 2], feature: usize, watch: &Watch<'_>) -> Result<bool, QueryError> {
        let mut functions = Functions::new(from.vars(), MAX_NODES);
        let (from, to) = (from.import(&mut functions, watch)?, to.import(&mut functions, watch)?);
        let [before, after] = [(from, false), (to, true)];
        let fix = |functions: &mut Functions, (function, value): (Function, bool)| {
            functions.fixed(function, &HashMap::from([(Var::new(feature), value)]), watch)
        };
        let (before, after) = (fix(&mut functions, before)?, fix(&mut functions, after)?);
        Ok(functions.and(before, after, watch)? != Functions::constant(false))
    }
}

impl Region {
    fn vars(&self) -> Vec<Var> {
        self.diagram.order.iter().map(|&feature| Var::new(feature)).collect()
    }

    /// The region as a function over its diagram's variable order.
    fn import(&self, functions: &mut Functions, watch: &Watch<'_>) -> Result<Function, QueryError> {
        let mark = functions.kept();
        let mut made = vec![Functions::constant(self.leaf == 0), Functions::constant(self.leaf == 1)];
        for &[level, lo, hi] in &self.diagram.nodes[2..=(self.root as usize).max(1)] {
            let test = functions.variable(Var::new(self.diagram.order[level as usize]))?;
            made.push(functions.choose([test, made[hi as usize], made[lo as usize]], watch)?);
        }
        Ok(functions.release(mark, made[self.root as usize]))
    }

    /// A function with the same variable order as a region.
    fn exported(&self, functions: &Functions, function: Function) -> Region {
        let Exported { nodes, roots } = functions.export(&[function]);
        let Diagram { order, player, .. } = &*self.diagram;
        let diagram = Diagram { order: order.clone(), player: player.clone(), nodes };
        Region { diagram: Arc::new(diagram), root: roots[0], leaf: 1 }
    }

    /// An input of the region, if there is one; features that a path skips are 0.
    pub(super) fn first(&self) -> Option<Vec<bool>> {
        let mut leads = vec![false; self.diagram.nodes.len()];
        leads[self.leaf as usize] = true;
        for at in 2..=self.root as usize {
            let [_, lo, hi] = self.diagram.nodes[at];
            leads[at] = leads[lo as usize] || leads[hi as usize];
        }
        let mut at = leads[self.root as usize].then_some(self.root)?;
        let mut input = vec![false; self.diagram.order.len()];
        while at > 1 {
            let [level, lo, hi] = self.diagram.nodes[at as usize];
            let value = !leads[lo as usize];
            input[self.diagram.order[level as usize]] = value;
            at = if value { hi } else { lo };
        }
        Some(input)
    }

    /// Whether some input of the region has this value of a feature.
    pub(super) fn meets(&self, feature: usize, value: bool) -> bool {
        let mut leads = vec![false; self.root as usize + 2];
        leads[self.leaf as usize] = true;
        for at in 2..=self.root as usize {
            let [level, lo, hi] = self.diagram.nodes[at];
            let is_it = self.diagram.order[level as usize] == feature;
            leads[at] = (!is_it || !value) && leads[lo as usize] || (!is_it || value) && leads[hi as usize];
        }
        leads[self.root as usize]
    }

    /// Whether an input is in it.
    pub(super) fn has(&self, input: &[bool]) -> bool {
        let mut at = self.root;
        while at > 1 {
            let [level, lo, hi] = self.diagram.nodes[at as usize];
            at = if input[self.diagram.order[level as usize]] { hi } else { lo };
        }
        at == self.leaf
    }

    /// How many inputs are in it.
    pub(super) fn count(&self) -> UBig {
        let nodes = &self.diagram.nodes;
        let mut counts = vec![UBig::ZERO; self.root as usize + 1];
        let end = counts.len();
        for (leaf, count) in counts.iter_mut().enumerate().take(2) {
            *count = UBig::from(leaf as u32 == self.leaf);
        }
        for at in 2..end {
            let [level, lo, hi] = nodes[at];
            let below = |child: u32| &counts[child as usize] << (nodes[child as usize][0] - level - 1) as usize;
            counts[at] = below(lo) + below(hi);
        }
        &counts[self.root as usize] << nodes[self.root as usize][0] as usize
    }
}

impl Diagram {
    fn new(order: Vec<usize>, space: &Space, nodes: Vec<[u32; 3]>) -> Self {
        let player = order.iter().map(|&feature| space.players().of(feature)).collect();
        Diagram { order, player, nodes }
    }

    /// Whether a level is the first of a block.
    pub(super) fn begins(&self, level: usize) -> bool {
        level == 0 || level >= self.player.len() || self.player[level] != self.player[level - 1]
    }

    /// Whether two levels belong to the same block.
    pub(super) fn together(&self, one: u32, other: u32) -> bool {
        let player = |level: u32| self.player.get(level as usize);
        player(one).is_some() && player(one) == player(other)
    }
}

/// A circuit as a region, if it is an ordered diagram.
fn of_circuit(circuit: &Circuit, space: &Space) -> Option<Region> {
    let reachable = circuit.reachable();
    // Compilers store nodes level by level, which gives the order directly; otherwise derive it from which variable is
    // tested after which.
    of_ordered(circuit, &reachable, &as_met(circuit, &reachable), space)
        .or_else(|| of_ordered(circuit, &reachable, &order_among(circuit, &reachable), space))
}

/// A circuit as a region, if it is a diagram with this variable order.
fn of_ordered(circuit: &Circuit, reachable: &[NodeId], order: &[Var], space: &Space) -> Option<Region> {
    let order: Vec<usize> = order.iter().map(|var| var.index()).collect();
    let mut level_of = vec![0u32; order.len()];
    order.iter().enumerate().for_each(|(level, &feature)| level_of[feature] = level as u32);
    let mut nodes = vec![[order.len() as u32, 0, 0], [order.len() as u32, 1, 1]];
    let mut number = vec![0u32; circuit.stored_nodes()];
    nodes.reserve(reachable.len());
    for &id in reachable {
        let (var, lo, hi) = match circuit.node(id) {
            Node::Constant(value) => {
                number[id.index()] = u32::from(value);
                continue;
            }
            Node::Literal(lit) => (lit.var(), u32::from(lit.is_negative()), u32::from(!lit.is_negative())),
            Node::Decision { var, lo, hi } => (var, number[lo.index()], number[hi.index()]),
            Node::And(_) | Node::Or(_) => return None,
        };
        let level = level_of[var.index()];
        if [lo, hi].iter().any(|&child| nodes[child as usize][0] <= level) {
            return None;
        }
        number[id.index()] = nodes.len() as u32;
        nodes.push([level, lo, hi]);
    }
    let root = number[circuit.root().index()];
    Some(Region { diagram: Arc::new(Diagram::new(order, space, nodes)), root, leaf: 1 })
}

/// An order in which the features of a player are adjacent, otherwise in the circuit's order.
fn order_of(labels: &[Arc<Circuit>], space: &Space) -> Vec<usize> {
    let mut seen = vec![false; space.players().len()];
    let asked = labels.first().map(|circuit| in_order(circuit)).unwrap_or_default();
    let mut order = Vec::with_capacity(space.features());
    for var in asked {
        let player = space.players().of(var.index());
        if !std::mem::replace(&mut seen[player], true) {
            order.extend(space.members(player).iter().copied());
        }
    }
    order
}

/// The inputs that can occur and that two classifiers put into different classes, and all inputs that can occur.
pub(super) fn differing(
    ours: &[Arc<Circuit>],
    theirs: &[Arc<Circuit>],
    space: &Space,
    watch: &Watch<'_>,
) -> Result<[Region; 2], QueryError> {
    let order = order_of(ours, space);
    let mut functions = Functions::new(order.iter().map(|&feature| Var::new(feature)).collect(), MAX_NODES);
    let valid = valid(&mut functions, space, watch)?;
    let mut same = Functions::constant(false);
    for (one, other) in ours.iter().zip(theirs) {
        let (one, other) = (import(&mut functions, one, watch)?, import(&mut functions, other, watch)?);
        // With a single label, inputs with neither label are in the same class too.
        let neither = if ours.len() == 1 { functions.not(other, watch)? } else { Functions::constant(false) };
        let both = functions.choose([one, other, neither], watch)?;
        same = functions.or(same, both, watch)?;
    }
    let differ = functions.not(same, watch)?;
    let differ = functions.and(valid, differ, watch)?;
    let Exported { nodes, roots } = functions.export(&[differ, valid]);
    let diagram = Arc::new(Diagram::new(order, space, nodes));
    Ok([0, 1].map(|place| Region { diagram: diagram.clone(), root: roots[place], leaf: 1 }))
}

/// Combines circuits and validity in one variable order.
fn applied(labels: &[Arc<Circuit>], space: &Space, watch: &Watch<'_>) -> Result<Vec<[Region; 2]>, QueryError> {
    let order = order_of(labels, space);
    let mut functions = Functions::new(order.iter().map(|&feature| Var::new(feature)).collect(), MAX_NODES);
    let valid = valid(&mut functions, space, watch)?;
    let mut regions = Vec::with_capacity(2 * labels.len());
    for circuit in labels {
        let label = import(&mut functions, circuit, watch)?;
        let other = functions.not(label, watch)?;
        regions.push(functions.and(valid, label, watch)?);
        regions.push(functions.and(valid, other, watch)?);
    }
    let Exported { nodes, roots } = functions.export(&regions);
    let diagram = Arc::new(Diagram::new(order, space, nodes));
    let region = |&root: &u32| Region { diagram: diagram.clone(), root, leaf: 1 };
    Ok(roots.chunks_exact(2).map(|pair| [region(&pair[0]), region(&pair[1])]).collect())
}

/// The inputs that can occur.
pub(super) fn valid(functions: &mut Functions, space: &Space, watch: &Watch<'_>) -> Result<Function, QueryError> {
    let mut all = Functions::constant(true);
    for player in (0..space.players().len()).filter(|&player| space.players().is_one_hot(player)) {
        let (mut none, mut one) = (Functions::constant(true), Functions::constant(false));
        for &feature in space.members(player).iter().rev() {
            let bit = functions.variable(Var::new(feature))?;
            one = functions.choose([bit, none, one], watch)?;
            none = functions.choose([bit, Functions::constant(false), none], watch)?;
        }
        all = functions.and(all, one, watch)?;
    }
    for clause in space.constraint().iter().flat_map(|formula| formula.clauses()) {
        let mut any = Functions::constant(false);
        for lit in clause.lits() {
            let bit = functions.variable(lit.var())?;
            let bit = if lit.is_negative() { functions.not(bit, watch)? } else { bit };
            any = functions.or(any, bit, watch)?;
        }
        all = functions.and(all, any, watch)?;
    }
    Ok(all)
}

/// Builds the function of a circuit, gate by gate.
pub(super) fn import(functions: &mut Functions, circuit: &Circuit, watch: &Watch<'_>) -> Result<Function, QueryError> {
    let mark = functions.kept();
    let mut made = vec![Functions::constant(false); circuit.stored_nodes()];
    for id in circuit.reachable() {
        watch.check()?;
        made[id.index()] = match circuit.node(id) {
            Node::Constant(value) => Functions::constant(value),
            Node::Literal(lit) => {
                let bit = functions.variable(lit.var())?;
                if lit.is_negative() { functions.not(bit, watch)? } else { bit }
            }
            Node::Decision { var, lo, hi } => {
                let test = functions.variable(var)?;
                functions.choose([test, made[hi.index()], made[lo.index()]], watch)?
            }
            Node::And(children) => {
                let mut all = Functions::constant(true);
                for child in children {
                    all = functions.and(all, made[child.index()], watch)?;
                }
                all
            }
            Node::Or(children) => {
                let mut any = Functions::constant(false);
                for child in children {
                    any = functions.or(any, made[child.index()], watch)?;
                }
                any
            }
        };
    }
    Ok(functions.release(mark, made[circuit.root().index()]))
}
