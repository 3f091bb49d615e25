//! From a label to an ordered diagram by the most suitable direct route, with fallbacks.
//!
//! The truth table takes any network with few inputs, in time that depends on their number only. Partial sums take many
//! inputs if the first layer is narrow. Apply takes the rest, without any guarantee. The choice depends on the number
//! of inputs that the label uses and on a bound on the number of partial sums; when a route hits a limit, the next one
//! is tried. Where diagrams are cheap, several variable orders are compiled and the smallest result is kept.

use super::compile_apply::{ApplyOptions, compile_apply};
use super::estimate::expected_states;
use super::order::candidate_orders;
use super::{DiagramError, MAX_TABLE_INPUTS, Obdd, SumsLimits, compile_sums, compile_table};
use crate::lit::{Pieces, Var, Watch};
use crate::model::{Gate, Label};
use std::fmt;

/// Tables of up to this many inputs are compiled in several orders.
const CHEAP_INPUTS: usize = 20;
/// Up to this many inputs, the table is the best route for every network.
const FEW_INPUTS: usize = 24;
/// The node limit of apply in its first round.
const FIRST_NODES: usize = 1 << 20;
/// The limit on states in the first round of partial sums, and the factor by which each further round raises it.
const FIRST_STATES: usize = 1 << 12;
const MORE_STATES: usize = 16;

/// A direct route from a network to a diagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Evaluate all inputs, then reduce.
    TruthTable,
    /// Enumerate the states of the first layer's partial sums, level by level.
    PartialSums,
    /// Combine the gates' diagrams one by one.
    Apply,
}

impl Route {
    /// The route's name in messages and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Route::TruthTable => "truth-table",
            Route::PartialSums => "partial-sums",
            Route::Apply => "apply",
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Options of [`compile_direct`].
#[derive(Debug, Clone, Copy)]
pub struct DirectOptions {
    /// The route to take; by default all are tried, best first.
    pub route: Option<Route>,
    /// The most nodes in the diagram.
    pub max_nodes: usize,
    /// The most states in the partial-sums route.
    pub max_states: usize,
}

impl Default for DirectOptions {
    fn default() -> Self {
        DirectOptions { route: None, max_nodes: usize::MAX, max_states: SumsLimits::default().max_states }
    }
}

/// A diagram and how it was compiled.
#[derive(Debug, Clone)]
pub struct Direct {
    /// The diagram.
    pub diagram: Obdd,
    /// The route that succeeded.
    pub route: Route,
    /// Why this route was chosen.
    pub reason: String,
    /// How many variable orders were compiled completely.
    pub orders: usize,
    /// Routes that were tried before, and their errors.
    pub abandoned: Vec<(Route, DiagramError)>,
}

/// Compiles a label by the most suitable route.
///
/// ```
/// use boolshap::diagram::{DirectOptions, Route, compile_direct};
/// use boolshap::lit::Watch;
/// use boolshap::model::{Gate, Label, Network, Output};
/// let half = Network::new(50, vec![], Output::Step(Gate::new(vec![1; 50], 25).unwrap())).unwrap();
/// let label = Label::of_class(&half, 1).unwrap();
/// let direct = compile_direct(&label, &DirectOptions::default(), &Watch::unlimited()).unwrap();
/// assert_eq!((direct.route, direct.diagram.len()), (Route::PartialSums, 25 * 26));
/// ```
pub fn compile_direct(label: &Label, options: &DirectOptions, watch: &Watch<'_>) -> Result<Direct, DiagramError> {
    let used = label.used_inputs().len();
    let routes = match options.route {
        Some(route) => vec![(route, "it was asked for".to_string())],
        None => by_promise(label, used),
    };
    let mut abandoned = Vec::new();
    for (route, reason) in &routes {
        // If partial sums were expected to have too many states and every gate of the first layer uses all inputs,
        // apply has hardly any structure to exploit: it gets a second round only if the first one got far.
        let is_hopeless = matches!(abandoned[..], [.., (_, DiagramError::TooManyExpected { .. })]) && is_dense(label);
        match along(*route, label, options, is_hopeless, watch) {
            Ok((diagram, orders)) => {
                return Ok(Direct { diagram, route: *route, reason: reason.clone(), orders, abandoned });
            }
            // Running out of time or memory depends on the machine, so it ends the search and never selects another
            // route.
            Err(error) if error.stopped().is_some() => return Err(error),
            Err(error) => abandoned.push((*route, error)),
        }
    }
    match abandoned.len() {
        1 => Err(abandoned.remove(0).1),
        _ => Err(DiagramError::NoRoute { attempts: abandoned }),
    }
}

/// The routes, best first, each with the reason for its rank.
pub(super) fn by_promise(label: &Label, used: usize) -> Vec<(Route, String)> {
    let first = label.layers()[0].len();
    let states = log_states(label, used);
    let table = (Route::TruthTable, format!("{used} inputs: a table of 2^{used} labels is cheap"));
    let sums =
        (Route::PartialSums, format!("{used} inputs, but only {first} first gates: at most 2^{states:.0} states"));
    let apply = (Route::Apply, format!("{used} inputs and {first} first gates: too many for tables and sums"));
    let chain = if used <= FEW_INPUTS {
        vec![table, sums]
    } else if used <= MAX_TABLE_INPUTS {
        // A state costs about as much as a thousand table entries.
        if states + 10.0 < used as f64 { vec![sums, table] } else { vec![table, sums] }
    } else {
        vec![sums]
    };
    chain.into_iter().chain([apply]).collect()
}

/// The binary logarithm of the estimated number of states on the widest level: at most the number of assignments above
/// it, and at most the number of combinations of the gates' needs there. A gate with few inputs contributes its need
/// only while some of them are above the level and some below; once it is settled, it counts in the sums of the next
/// layer.
fn log_states(label: &Label, used: usize) -> f64 {
    let inputs: Vec<i32> =
        label.layers()[0].iter().map(|gate| gate.weights().iter().filter(|&&w| w != 0).count() as i32).collect();
    let bound = |level: usize| {
        let share = level as f64 / used.max(1) as f64;
        let seen = |total: f64| (total * share.min(1.0 - share) + 1.0).log2();
        let open = |inputs: i32| 1.0 - share.powi(inputs) - (1.0 - share).powi(inputs);
        let first = label.layers()[0].iter().zip(&inputs);
        let needs: f64 = first.map(|(gate, &inputs)| open(inputs) * seen(gate.total() as f64)).sum();
        let settled = |gate: &Gate| -> f64 {
            let early = gate.weights().iter().zip(&inputs).filter(|(_, inputs)| **inputs == 1);
            seen(early.map(|(weight, _)| weight.unsigned_abs() as f64).sum())
        };
        let sums: f64 = label.layers().get(1).map_or(0.0, |gates| gates.iter().map(settled).sum());
        (needs + sums).min(level as f64)
    };
    (0..=used).map(bound).fold(0.0, f64::max)
}

/// Whether every gate of the first layer uses all inputs that the label uses.
fn is_dense(label: &Label) -> bool {
    let used = label.used_inputs().len();
    label.layers()[0].iter().all(|gate| gate.weights().iter().filter(|weight| **weight != 0).count() == used)
}

fn along(
    route: Route,
    label: &Label,
    options: &DirectOptions,
    is_hopeless: bool,
    watch: &Watch<'_>,
) -> Result<(Obdd, usize), DiagramError> {
    match route {
        Route::TruthTable => {
            let mut orders = candidate_orders(label);
            if label.used_inputs().len() > CHEAP_INPUTS {
                orders.truncate(1);
            }
            let pieces = Pieces::new(watch, orders.len());
            smallest(&orders, |order| pieces.next(|watch| compile_table(label, order, options.max_nodes, watch)))
        }
        Route::PartialSums => sums(label, options, watch),
        Route::Apply => apply(label, options, is_hopeless, watch),
    }
}

/// Apply in two rounds: first all orders with a low node limit, then the order that got furthest with the full limit.
/// If `is_hopeless`, the second round takes place only if an order finished a gate of the second layer.
fn apply(
    label: &Label,
    options: &DirectOptions,
    is_hopeless: bool,
    watch: &Watch<'_>,
) -> Result<(Obdd, usize), DiagramError> {
    let room = ApplyOptions::default().max_nodes.min(options.max_nodes);
    let orders = candidate_orders(label);
    let pieces = Pieces::new(watch, orders.len() + 1);
    let first = ApplyOptions { max_nodes: room.min(FIRST_NODES) };
    let mut furthest: Option<((usize, usize), &Vec<Var>, DiagramError)> = None;
    for order in &orders {
        match pieces.next(|watch| compile_apply(label, order, &first, watch)) {
            Ok(diagram) => return Ok((diagram, 1)),
            Err(error) if error.stopped().is_some() => return Err(error),
            Err(error) => {
                let reached = match &error {
                    DiagramError::CompileGates { layer, done, .. } => (*layer, *done),
                    _ => (0, 0),
                };
                if furthest.as_ref().is_none_or(|(other, ..)| reached > *other) {
                    furthest = Some((reached, order, error));
                }
            }
        }
    }
    let (reached, order, error) = furthest.expect("there is an order");
    if first.max_nodes == room || is_hopeless && reached <= (2, 0) {
        return Err(error);
    }
    let all = ApplyOptions { max_nodes: room };
    pieces.next(|watch| compile_apply(label, order, &all, watch)).map(|diagram| (diagram, 1))
}

/// The smallest diagram over these orders; fails only if all orders fail.
fn smallest(
    orders: &[Vec<Var>],
    mut compile: impl FnMut(&[Var]) -> Result<Obdd, DiagramError>,
) -> Result<(Obdd, usize), DiagramError> {
    let mut best: Option<Obdd> = None;
    let (mut done, mut failed) = (0, None);
    for order in orders {
        match compile(order) {
            Ok(diagram) => {
                done += 1;
                if best.as_ref().is_none_or(|best| diagram.len() < best.len()) {
                    best = Some(diagram);
                }
            }
            Err(error @ (DiagramError::Stopped(_) | DiagramError::TooManyInputs { .. })) => return Err(error),
            Err(error) => failed = Some(error),
        }
    }
    best.map(|best| (best, done)).ok_or_else(|| failed.expect("there is an order"))
}

/// Partial sums in rounds: all orders with a low limit on states, then with higher ones. The first round in which an
/// order succeeds decides; orders that got further in one round go first in the next. Before a round that could fill
/// memory, orders that a sample shows to be hopeless are dropped; if none is left, the route fails.
fn sums(label: &Label, options: &DirectOptions, watch: &Watch<'_>) -> Result<(Obdd, usize), DiagramError> {
    let mut orders: Vec<(usize, Vec<Var>)> = candidate_orders(label).into_iter().map(|order| (0, order)).collect();
    let mut allowed = FIRST_STATES.min(options.max_states);
    let pieces = Pieces::new(watch, orders.len());
    loop {
        let limits = SumsLimits { max_nodes: options.max_nodes, max_states: allowed, max_expected: options.max_states };
        let mut best: Option<Obdd> = None;
        let (mut done, mut failed, mut more_states_help) = (0, None, false);
        for (reached, order) in &mut orders {
            match pieces.next(|watch| compile_sums(label, order, limits, watch)) {
                Ok(diagram) => {
                    done += 1;
                    if best.as_ref().is_none_or(|best| diagram.len() < best.len()) {
                        best = Some(diagram);
                    }
                }
                Err(error) => match (error.stopped(), &error) {
                    (Some(_), _) => return Err(error),
                    (None, DiagramError::Sums { level, .. }) => {
                        *reached = *level;
                        more_states_help = true;
                        failed = Some(error);
                    }
                    (None, _) => failed = Some(error),
                },
            }
            // In expensive rounds one result is enough.
            if done > 0 && allowed > FIRST_STATES * MORE_STATES {
                break;
            }
        }
        if let Some(best) = best {
            return Ok((best, done));
        }
        if allowed >= options.max_states || !more_states_help {
            return Err(failed.expect("there is an order"));
        }
        orders.sort_by_key(|(reached, _)| std::cmp::Reverse(*reached));
        // Rounds with many states try only the most promising orders.
        orders.truncate(orders.len().div_ceil(2));
        if allowed >= FIRST_STATES * MORE_STATES {
            leave_hopeless_out(label, &mut orders, options.max_states, watch)?;
        }
        allowed = allowed.saturating_mul(MORE_STATES).min(options.max_states);
    }
}

/// Drops orders for which a sample predicts many times more states than allowed; fails if none is left.
fn leave_hopeless_out(
    label: &Label,
    orders: &mut Vec<(usize, Vec<Var>)>,
    max_states: usize,
    watch: &Watch<'_>,
) -> Result<(), DiagramError> {
    /// A sample may be wrong by this factor, and orders that could be compiled must not be dropped.
    const DOUBT: f64 = 4.0;
    let mut least = f64::INFINITY;
    let mut kept = Vec::new();
    for (reached, order) in orders.drain(..) {
        let expected = expected_states(label, &order, watch)?;
        least = least.min(expected);
        if expected <= DOUBT * max_states as f64 {
            kept.push((reached, order));
        }
    }
    *orders = kept;
    match orders.is_empty() {
        true => Err(DiagramError::TooManyExpected { about: least as u64, limit: max_states }),
        false => Ok(()),
    }
}
