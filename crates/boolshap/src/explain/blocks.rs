//! Players of several features in polynomial time: each such player gets a switch.
//!
//! *Problem.* The features of a player become known together. Moving the weight of each feature along its own path to
//! the entity would give the sum of the features' scores instead. *Idea.* Let f be the circuit. In the circuit g, each
//! of a player's features is read from one of two sources: from x, the feature as it is while the player is absent, or
//! from a copy x', which always has the entity's value. A new variable z, the switch, selects the source. If z is true
//! with probability t, then g is true with the probability that f has when the player is present with probability t. So
//! a player's whole path is the weight of z, and all that holds for single features (quadrature, sweeps, error bounds)
//! holds for z. In an ordered diagram whose order keeps a player's features adjacent, g is built node by node: a path
//! that enters the block tests z and continues in one of two copies of the block until it leaves it.
//!
//! A group of players (Owen's unions) gets a switch in the same way, around those of its players: if the group is
//! present as a whole, all of its features are read from copies; otherwise each of its players comes in separately.
//! Groups therefore get their switches first, and players then in what is left of x.
//!
//! *Invariant.* The new circuit is an ordered diagram over the old variables, one switch per block and one copy per
//! feature in a block. *Cost.* At most three nodes for each node of a player's block, and one more in a group.

use super::Players;
use crate::circuit::{Circuit, CircuitBuilder, CircuitError, Node, NodeId};
use crate::lit::Var;

/// The role of a variable in a game's circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A feature without a switch: a whole player, or a value of a one-hot player.
    Feature(usize),
    /// A feature of a player with several, as it is while the player is absent.
    Outside(usize),
    /// The copy of a feature, which has the entity's value.
    Inside(usize),
    /// Whether a player of several features is present.
    Player(usize),
    /// Whether a whole group of players is present.
    Group(usize),
}

/// A circuit with switches, and the roles of its variables.
pub(super) struct Switched {
    pub(super) circuit: Circuit,
    pub(super) roles: Vec<Role>,
}

impl Switched {
    /// Adds switches to an ordered diagram in which the features of each player, and of each group, are adjacent.
    pub(super) fn new(circuit: &Circuit, players: &Players) -> Result<Self, CircuitError> {
        let mentioned = circuit.mentioned();
        let mut roles: Vec<Role> = (0..circuit.variables()).map(Role::Feature).collect();
        let several = players.switched_groups(&mentioned);
        let around = several.iter().map(|(group, members)| (Role::Group(*group), members.clone())).collect::<Vec<_>>();
        let grouped = switched(circuit, &around, &mut roles)?;
        let blocks = players.blocks(&mentioned);
        let each: Vec<(Role, Vec<Var>)> =
            blocks.into_iter().map(|(player, members)| (Role::Player(player), members)).collect();
        let circuit = switched(&grouped, &each, &mut roles)?;
        for var in each.iter().flat_map(|(_, members)| members) {
            roles[var.index()] = Role::Outside(var.index());
        }
        Ok(Switched { circuit, roles })
    }
}

/// A variable of a block: the index of the block, and the variable's copy.
#[derive(Clone, Copy)]
struct Copied {
    block: usize,
    copy: Var,
}

/// Adds a switch for each block, with the block's role, and a copy of each of the block's features.
fn switched(circuit: &Circuit, blocks: &[(Role, Vec<Var>)], roles: &mut Vec<Role>) -> Result<Circuit, CircuitError> {
    let mut copied: Vec<Option<Copied>> = vec![None; roles.len()];
    let mut switches = Vec::with_capacity(blocks.len());
    for (block, (role, members)) in blocks.iter().enumerate() {
        switches.push(Var::new(roles.len()));
        roles.push(*role);
        for var in members {
            copied[var.index()] = Some(Copied { block, copy: Var::new(roles.len()) });
            roles.push(Role::Inside(var.index()));
        }
    }
    let mut maker = Maker { builder: CircuitBuilder::new(roles.len())?, switches, made: Vec::new() };
    maker.made = vec![Made::default(); circuit.stored_nodes()];
    for id in circuit.reachable() {
        let (var, sides) = match circuit.node(id) {
            Node::Constant(value) => {
                maker.made[id.index()].entered = Some(maker.builder.constant(value)?);
                continue;
            }
            Node::Literal(lit) => (lit.var(), [lit.is_negative(), !lit.is_negative()].map(Side::Constant)),
            Node::Decision { var, lo, hi } => (var, [lo, hi].map(Side::Node)),
            Node::And(_) | Node::Or(_) => unreachable!("switches are for ordered diagrams"),
        };
        match copied[var.index()] {
            None => {
                let [lo, hi] = maker.enter_both(sides)?;
                maker.made[id.index()].entered = Some(maker.builder.decision(var, lo, hi)?);
            }
            Some(Copied { block, copy }) => {
                let inside = |made: &Made| (made.block == Some(block)).then_some(made.present);
                let [lo, hi] = [maker.within(sides[0], inside)?, maker.within(sides[1], inside)?];
                let present = maker.builder.decision(copy, lo, hi)?;
                let inside = |made: &Made| (made.block == Some(block)).then_some(made.absent);
                let [lo, hi] = [maker.within(sides[0], inside)?, maker.within(sides[1], inside)?];
                let absent = maker.builder.decision(var, lo, hi)?;
                maker.made[id.index()] = Made { block: Some(block), present, absent, entered: None };
            }
        }
    }
    let root = maker.enter(circuit.root())?;
    maker.builder.finish(root)?.compacted()
}

/// The new nodes for an old node.
#[derive(Clone, Copy)]
struct Made {
    block: Option<usize>,
    /// Inside a block: the versions that read the copies, and the variables themselves.
    present: NodeId,
    absent: NodeId,
    /// The entry from outside the block, once it has been built.
    entered: Option<NodeId>,
}

impl Default for Made {
    fn default() -> Self {
        Made { block: None, present: NodeId::new(0), absent: NodeId::new(0), entered: None }
    }
}

/// One side of a decision.
#[derive(Clone, Copy)]
enum Side {
    Constant(bool),
    Node(NodeId),
}

struct Maker {
    builder: CircuitBuilder,
    switches: Vec<Var>,
    made: Vec<Made>,
}

impl Maker {
    /// The entry to a node from another block.
    fn enter(&mut self, id: NodeId) -> Result<NodeId, CircuitError> {
        let Made { block, present, absent, entered } = self.made[id.index()];
        if let Some(entered) = entered {
            return Ok(entered);
        }
        let block = block.expect("a node outside of blocks is entered when it is made");
        let entered = self.builder.decision(self.switches[block], absent, present)?;
        self.made[id.index()].entered = Some(entered);
        Ok(entered)
    }

    fn enter_both(&mut self, sides: [Side; 2]) -> Result<[NodeId; 2], CircuitError> {
        let [lo, hi] = sides.map(|side| self.within(side, |_| None));
        Ok([lo?, hi?])
    }

    /// The node for a side: in the same copy if it is in the same block, otherwise its entry.
    fn within(&mut self, side: Side, inside: impl Fn(&Made) -> Option<NodeId>) -> Result<NodeId, CircuitError> {
        match side {
            Side::Constant(value) => self.builder.constant(value),
            Side::Node(id) => match inside(&self.made[id.index()]) {
                Some(same) => Ok(same),
                None => self.enter(id),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::samples::random_circuit;
    use crate::circuit::{check, together};
    use crate::formula::Cnf;
    use crate::lit::Watch;
    use proptest::prelude::*;
    use std::collections::HashMap;
    use std::sync::Arc;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// The new circuit equals the old one on the sources that the switches select, for random assignments.
        #[test]
        fn is_the_circuit_of_the_chosen_sources(
            (circuit, _) in random_circuit(7),
            player in proptest::collection::vec(0..4usize, 7),
            group in proptest::collection::vec(0..3usize, 4),
            chance in proptest::collection::vec(any::<bool>(), 64 * 40),
        ) {
            let n = circuit.variables();
            let names: Vec<String> = (0..n).map(|v| format!("x{v}")).collect();
            let of: HashMap<String, String> = (0..n).map(|v| (format!("x{v}"), format!("p{}", player[v]))).collect();
            let union: HashMap<String, String> = (0..4).map(|p| (format!("p{p}"), format!("g{}", group[p]))).collect();
            let players = Players::named(&names, &of).unwrap();
            let union = union.into_iter().filter(|(name, _)| players.names().contains(name)).collect();
            let players = players.in_groups(&union).unwrap();
            let near = together(&Arc::new(circuit.clone()), &Cnf::new(n), &players.groupings(), usize::MAX, &Watch::unlimited()).unwrap();
            let made = Switched::new(&near.circuit, &players).unwrap();
            prop_assert_eq!(check::decomposability(&made.circuit), Ok(()));
            prop_assert_eq!(made.circuit.variables(), made.roles.len());
            let switch = |role: Role| made.roles.iter().position(|&other| other == role);
            for input in chance.chunks_exact(40) {
                let read: Vec<bool> = (0..n).map(|v| {
                    let copies = made.roles.iter().enumerate().filter(|(_, role)| **role == Role::Inside(v));
                    let copies: Vec<usize> = copies.map(|(place, _)| place).collect();
                    let group = switch(Role::Group(players.group_of(players.of(v)).unwrap()));
                    let player = switch(Role::Player(players.of(v)));
                    // The copy of the group is made first.
                    match (group.map(|at| input[at]), player.map(|at| input[at])) {
                        (Some(true), _) if !copies.is_empty() => input[copies[0]],
                        (_, Some(true)) if !copies.is_empty() => input[*copies.last().unwrap()],
                        _ => input[v],
                    }
                }).collect();
                let expected = circuit.evaluate(&read).unwrap();
                prop_assert_eq!(made.circuit.evaluate(&input[..made.roles.len()]).unwrap(), expected);
            }
        }
    }
}
