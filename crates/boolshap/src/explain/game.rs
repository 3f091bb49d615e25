//! The game whose values are the scores: a circuit, players, and the values of absent players.
//!
//! A mode only builds a [`Game`]. Two evaluators, [`FloatGame`] in floating-point lanes and [`ExactGame`] in integers,
//! compute every index of every game without knowing where it came from. A game has one of three forms.
//!
//! - **Paths.** v(S) is a weighted sum, over starting points, of the circuit's expected value when the weights of the
//!   players in S have moved from the start to the entity. Along the diagonal, where all players are present with the
//!   same probability t, this is a polynomial in t, and Owen's integral gives all scores in polynomial time.
//!   Independent features and background rows have this form, and so have one-hot columns as players: "exactly one" is
//!   conjoined to the circuit for every column that it touches, the literal of a value has the value's weight, and its
//!   negation weight 1. No smoothing is needed: a bit missing from a satisfiable branch could be flipped, which
//!   "exactly one" forbids. Players of several independent features have this form if the circuit is, or can be made,
//!   an ordered diagram with their features adjacent: each gets a switch (`blocks`).
//! - **Vertices.** v(S) is a quotient of two circuits' expected values; or a player has several features, and a circuit
//!   with these adjacent would be too large. All sets are evaluated.
//! - **Empirical.** v(S) is the mean label of the sample's rows that agree with the entity on S. Numerator and
//!   denominator are sums over the rows whose set of agreements contains S: a superset-sum transform each.
//!
//! The last two forms take up to [`Game::MAX_PLAYERS`]: conditional expectations are hard (Van den Broeck, Lykov,
//! Schleich and Suciu, "On the Tractability of SHAP Explanations", 2022), and a circuit with variables identified can
//! be any formula.

use super::blocks::{Role, Switched};
use super::conjunctions::Conjunctions;
use super::cube::Cubes;
use super::starts::{Sample, Starts};
use super::ways::Weighted;
use super::{EntityProblem, ExplainError, Index, Players, Probabilities};
use crate::circuit::{Circuit, CircuitError, Node, NodeId, Together, check, conjoin, exactly_one, together};
use crate::data::Bits;
use crate::diagram::DiagramError;
use crate::formula::Cnf;
use crate::lit::{Lit, Remedy, Var, Watch};
use dashu_ratio::RBig;
use std::sync::Arc;

/// The values of absent features.
#[derive(Clone, Debug)]
pub enum Distribution {
    /// Independent of each other, with these probabilities.
    Product(Probabilities),
    /// Taken from these rows, whatever the present features are (interventional).
    Background(Bits),
    /// Taken from those of these rows that agree with the present features (conditional).
    Empirical(Bits),
    /// Independent, but restricted to the models of a formula over the features.
    Constrained(Probabilities, Cnf),
}

/// The limit on the circuit's nodes when "exactly one" or a constraint is joined to it.
const MAX_JOINED_NODES: usize = 1 << 24;

/// The limit where a player's features are made adjacent, if evaluating all sets of players is possible instead.
const MAX_NODES_IF_FEW: usize = 1 << 20;

/// A game on the label of an entity; clones share all large data.
///
/// ```
/// use boolshap::circuit::read_nnf;
/// use boolshap::explain::{ExactGame, Game, Index, Players, Distribution, Probabilities};
/// use boolshap::lit::Watch;
/// // x1 or (not x1 and x2), as the two values of one column: always true.
/// let circuit = read_nnf("nnf 5 4 2\nL 1\nL -1\nL 2\nA 2 1 2\nO 1 2 0 3\n".as_bytes())?;
/// let players = Players::columns(&["c=a".into(), "c=b".into()], None);
/// let uniform = Distribution::Product(Probabilities::uniform(2));
/// let game = Game::new(&circuit, players, uniform, &Watch::unlimited())?;
/// let rows = ExactGame::new(&game)?.explain(&[[true, false]], Index::Shapley, &Watch::unlimited())?;
/// assert_eq!((rows[0].base_value.to_string(), rows[0].scores[0].to_string()), ("1".into(), "0".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Game {
    /// For the predictions.
    pub(super) labels: Arc<Circuit>,
    pub(super) players: Players,
    pub(super) form: Form,
    constraint: Option<Cnf>,
    /// The nodes before and after, if the circuit was reordered for the players.
    reordered: Option<[usize; 2]>,
}

#[derive(Clone)]
pub(super) enum Form {
    Paths { circuit: Weighted, starts: Arc<Starts> },
    Vertices { above: Weighted, below: Option<Weighted>, starts: Arc<Starts> },
    Empirical { sample: Arc<Sample>, labels: Arc<[bool]> },
}

impl Game {
    /// The most players of a game that evaluates all sets.
    pub const MAX_PLAYERS: usize = 20;

    /// The game of a circuit's label. Fails if the circuit is not decomposable; determinism is assumed.
    pub fn new(
        circuit: impl Into<Arc<Circuit>>,
        players: Players,
        distribution: Distribution,
        watch: &Watch<'_>,
    ) -> Result<Self, ExplainError> {
        let circuit = &circuit.into();
        check::decomposability(circuit).map_err(ExplainError::NotDecomposable)?;
        let features = circuit.variables();
        if players.feature_count() != features {
            return Err(ExplainError::PlayersLength { expected: features, found: players.feature_count() });
        }
        let (mut constraint, mut reordered) = (None, None);
        let form = match distribution {
            Distribution::Product(probabilities) => {
                probabilities.check(features)?;
                let starts = Arc::new(Starts::product(&probabilities, &players)?);
                unconditional(circuit, &players, starts, &mut reordered, watch)?
            }
            Distribution::Background(rows) => {
                check_width(&rows, features)?;
                players.check_rows(&rows)?;
                let starts = Arc::new(Starts::Rows(Sample::new(&rows, "background")?));
                unconditional(circuit, &players, starts, &mut reordered, watch)?
            }
            Distribution::Empirical(rows) => {
                check_width(&rows, features)?;
                players.check_rows(&rows)?;
                let why = "an expectation given what is known has no shorter way";
                check_players(players.len(), why, Remedy::FewerPlayersOrBackground)?;
                let sample = Sample::new(&rows, "empirical distribution")?;
                let label = |row| circuit.evaluate(&sample.rows.row(row));
                let labels = (0..sample.counts.len()).map(label).collect::<Result<_, _>>()?;
                Form::Empirical { sample: Arc::new(sample), labels }
            }
            Distribution::Constrained(probabilities, formula) => {
                probabilities.check(features)?;
                let starts = Starts::product(&probabilities, &players)?;
                constrained(circuit, &players, starts, constraint.insert(formula), watch)?
            }
        };
        Ok(Game { labels: circuit.clone(), players, form, constraint, reordered })
    }

    /// The circuit of the label.
    pub fn circuit(&self) -> &Circuit {
        &self.labels
    }

    /// The players.
    pub fn players(&self) -> &Players {
        &self.players
    }

    /// The number of nodes of the circuit, and that in the order that its players need, if it was reordered.
    pub fn reordered(&self) -> Option<[usize; 2]> {
        self.reordered
    }

    /// The same game by the values of all sets of players, on the circuit of the label.
    #[cfg(test)]
    pub(super) fn at_all_vertices(self) -> Self {
        let form = match self.form {
            Form::Paths { starts, .. } => {
                let one_hot = vec![false; self.labels.variables()];
                Form::Vertices { above: Weighted::of_features(self.labels.clone(), one_hot), below: None, starts }
            }
            other => other,
        };
        Game { form, ..self }
    }

    /// The cubes between entities and background rows, if the game uses background rows and the circuit has a table.
    pub(super) fn cubes(&self) -> Option<Cubes> {
        match &self.form {
            Form::Paths { starts, .. } | Form::Vertices { starts, below: None, .. } => match &**starts {
                Starts::Rows(sample) => Cubes::new(&self.labels, &self.players, sample),
                Starts::One(_) => None,
            },
            _ => None,
        }
    }

    /// The paths of the circuit with all background rows counted, if the game uses such rows and has few paths.
    pub(super) fn conjunctions(&self) -> Option<Conjunctions> {
        match &self.form {
            Form::Paths { starts, .. } | Form::Vertices { starts, below: None, .. } => match &**starts {
                Starts::Rows(sample) => Conjunctions::new(&self.labels, &self.players, sample),
                Starts::One(_) => None,
            },
            _ => None,
        }
    }

    /// Fails if an index needs groups and the players have none.
    pub(super) fn check_index(&self, index: Index) -> Result<(), ExplainError> {
        match index {
            Index::Owen if !self.players.has_groups() => Err(ExplainError::NoGroups),
            _ => Ok(()),
        }
    }

    /// The group of each of some players; a single one for all if there are no groups.
    pub(super) fn groups_of(&self, players: impl Iterator<Item = usize>) -> Vec<usize> {
        players.map(|player| self.players.group_of(player).unwrap_or(0)).collect()
    }

    /// Fails if an entity is not in the population.
    pub(super) fn check_entities(&self, entities: &Bits) -> Result<(), ExplainError> {
        check_width(entities, self.labels.variables())?;
        self.players.check_rows(entities)?;
        if let Some(constraint) = &self.constraint
            && let Some(entity) = (0..entities.rows()).find(|&row| !constraint.holds(&entities.row(row)))
        {
            return Err(ExplainError::Entity { entity, problem: EntityProblem::BreaksConstraint });
        }
        Ok(())
    }
}

/// v(S) as a sum over starts: by paths, or by its values at all vertices if the features of a player cannot be made
/// adjacent. `reordered` is set to the circuit's numbers of nodes if it was reordered.
fn unconditional(
    circuit: &Arc<Circuit>,
    players: &Players,
    starts: Arc<Starts>,
    reordered: &mut Option<[usize; 2]>,
    watch: &Watch<'_>,
) -> Result<Form, ExplainError> {
    let mentioned = circuit.mentioned();
    let groups = players.one_hot_groups(&mentioned);
    let is_switched = !players.blocks(&mentioned).is_empty() || !players.switched_groups(&mentioned).is_empty();
    let one_hot = flags(circuit.variables(), &groups);
    if groups.is_empty() && !is_switched {
        return Ok(Form::Paths { circuit: Weighted::of_features(circuit.clone(), one_hot), starts });
    }
    let playing = playing(players, &mentioned).len();
    // Without "exactly one", few players can use all vertices instead.
    let is_needed = !groups.is_empty() || playing > Game::MAX_PLAYERS;
    let limit = if is_needed { MAX_JOINED_NODES } else { MAX_NODES_IF_FEW };
    let formula = exactly_one(circuit.variables(), &groups);
    let near = match together(circuit, &formula, &players.groupings(), limit, watch) {
        Ok(near) => near,
        Err(CircuitError::Conjoin(DiagramError::TooManyNodes { .. })) if !is_needed => {
            let above = Weighted::of_features(circuit.clone(), one_hot);
            return Ok(Form::Vertices { above, below: None, starts });
        }
        Err(CircuitError::Conjoin(DiagramError::TooManyNodes { .. })) if is_switched => {
            let why = "with the features of each player side by side the circuit would be too large";
            let limit = Game::MAX_PLAYERS;
            return Err(ExplainError::TooManyPlayers { players: playing, why, limit, remedy: Remedy::FewerPlayers });
        }
        Err(error) => return Err(error.into()),
    };
    *reordered = near.reordered;
    Ok(Form::Paths { circuit: with_switches(near, players, one_hot, is_switched)?, starts })
}

fn with_switches(
    near: Together,
    players: &Players,
    mut one_hot: Vec<bool>,
    is_switched: bool,
) -> Result<Weighted, ExplainError> {
    if !is_switched {
        return Ok(Weighted::of_features(near.circuit, one_hot));
    }
    let Switched { circuit, roles } = Switched::new(&near.circuit, players)?;
    // The copies of a column's bits are one-hot like the bits themselves.
    one_hot.extend(
        roles[one_hot.len()..]
            .iter()
            .map(|role| matches!(role, Role::Inside(feature) if one_hot[*feature]))
            .collect::<Vec<_>>(),
    );
    Ok(Weighted { circuit: Arc::new(circuit), one_hot, roles: roles.into() })
}

/// Whether a circuit has a model of a weight above 0.
fn can_be_met(circuit: &Circuit, one_hot: &[bool], starts: &Starts) -> bool {
    let can_be = |lit: Lit| match lit.is_negative() {
        false => starts.exact(0, lit.var().index()) > RBig::ZERO,
        true => one_hot[lit.var().index()] || starts.exact(0, lit.var().index()) < RBig::ONE,
    };
    let mut can = vec![false; circuit.stored_nodes()];
    for id in circuit.reachable() {
        let at = |child: &NodeId| can[child.index()];
        can[id.index()] = match circuit.node(id) {
            Node::Constant(value) => value,
            Node::Literal(lit) => can_be(lit),
            Node::Decision { var, lo, hi } => {
                (can_be(var.positive()) && at(&hi)) || (can_be(var.negative()) && at(&lo))
            }
            Node::And(children) => children.iter().all(at),
            Node::Or(children) => children.iter().any(at),
        };
    }
    can[circuit.root().index()]
}

/// v(S) as a quotient of two circuits' values, given a formula.
fn constrained(
    circuit: &Circuit,
    players: &Players,
    starts: Starts,
    formula: &Cnf,
    watch: &Watch<'_>,
) -> Result<Form, ExplainError> {
    let features = circuit.variables();
    if formula.variables() > features {
        return Err(ExplainError::ConstraintVariables { expected: features, found: formula.variables() });
    }
    let mentioned = [circuit.mentioned(), formula.mentioned()].concat();
    let why = "an expectation given a constraint has no shorter way";
    check_players(playing(players, &mentioned).len(), why, Remedy::FewerPlayers)?;
    let groups = players.one_hot_groups(&mentioned);
    let mut joined = exactly_one(features, &groups);
    formula.clauses().for_each(|clause| joined.push(clause.clone()));
    let [above, below] = conjoin(circuit, &joined, &groups, MAX_JOINED_NODES, watch)?;
    if below.model_count() == 0u8.into() {
        return Err(ExplainError::Unsatisfiable);
    }
    let one_hot = flags(features, &groups);
    if !can_be_met(&below, &one_hot, &starts) {
        return Err(ExplainError::ImpossibleConstraint);
    }
    let weighted = |circuit| Weighted::of_features(Arc::new(circuit), one_hot.clone());
    Ok(Form::Vertices { above: weighted(above), below: Some(weighted(below)), starts: Arc::new(starts) })
}

/// The players that have one of these features.
pub(super) fn playing(players: &Players, mentioned: &[Var]) -> Vec<usize> {
    let mut playing: Vec<usize> = mentioned.iter().map(|var| players.of(var.index())).collect();
    playing.sort_unstable();
    playing.dedup();
    playing
}

pub(super) fn check_players(players: usize, why: &'static str, remedy: Remedy) -> Result<(), ExplainError> {
    match players <= Game::MAX_PLAYERS {
        true => Ok(()),
        false => Err(ExplainError::TooManyPlayers { players, why, limit: Game::MAX_PLAYERS, remedy }),
    }
}

pub(super) fn check_width(rows: &Bits, expected: usize) -> Result<(), ExplainError> {
    match rows.features() {
        found if found == expected => Ok(()),
        found => Err(ExplainError::EntityLength { entity: 0, expected, found }),
    }
}

fn flags(features: usize, groups: &[Vec<Var>]) -> Vec<bool> {
    let mut flags = vec![false; features];
    groups.iter().flatten().for_each(|var| flags[var.index()] = true);
    flags
}

/// For a sample and an entity: for each set of players, the weight of the rows that agree on it, and the weight of
/// those among them with label 1.
pub(super) fn agreements(players: &Players, sample: &Sample, labels: &[bool], entity: &[bool]) -> [Vec<u64>; 2] {
    let count = players.len();
    let [mut agreeing, mut positive] = [vec![0u64; 1 << count], vec![0u64; 1 << count]];
    for (row, (&weight, &label)) in sample.counts.iter().zip(labels).enumerate() {
        let mut agrees = (1usize << count) - 1;
        for (feature, &value) in entity.iter().enumerate() {
            if sample.rows.get(row, feature) != value {
                agrees &= !(1 << players.of(feature));
            }
        }
        agreeing[agrees] += weight;
        positive[agrees] += weight * u64::from(label);
    }
    for table in [&mut agreeing, &mut positive] {
        for player in 0..count {
            for block in table.chunks_exact_mut(2 << player) {
                let (without, with) = block.split_at_mut(1 << player);
                without.iter_mut().zip(with).for_each(|(sum, more)| *sum += *more);
            }
        }
    }
    [agreeing, positive]
}
