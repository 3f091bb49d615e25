//! Verifies that a circuit equals a network: soundness first, then equality by the first method that succeeds.

use super::{QueryError, exhaustive, walk};
use crate::circuit::check::{self, Determinism, Effort};
use crate::circuit::{Circuit, Node, NodeId};
use crate::lit::{Var, Watch};
use crate::model::{ModelError, Network};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::path::PathBuf;

/// How equality was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Both evaluated on all inputs.
    Exhaustive,
    /// A SAT solver found no input on which they differ.
    Sat,
    /// A walk over all pairs of a node of the diagram and partial sums of the network.
    Walk,
    /// For scores, which are sums of gates: the gates of both are the same, one by one.
    Gates,
}

impl std::str::FromStr for Method {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = [Method::Exhaustive, Method::Sat, Method::Walk];
        let found = known.into_iter().find(|method| method.name() == name);
        found.ok_or_else(|| format!("'{name}' is not one of {}", known.map(Method::name).join(", ")))
    }
}

impl Method {
    /// Its name: `exhaustive`, `sat`, `walk` or `gates`.
    pub fn name(self) -> &'static str {
        match self {
            Method::Exhaustive => "exhaustive",
            Method::Sat => "sat",
            Method::Walk => "walk",
            Method::Gates => "gates",
        }
    }
}

/// "Is this circuit the label of this class?", the question for the three methods.
pub(super) struct Comparison<'a> {
    pub(super) network: &'a Network,
    pub(super) class: usize,
    pub(super) circuit: &'a Circuit,
    pub(super) options: &'a VerifyOptions,
    pub(super) watch: &'a Watch<'a>,
}

/// How to verify.
#[derive(Debug, Clone)]
pub struct VerifyOptions {
    /// The only method to use; without one, the first method that finds an answer.
    pub method: Option<Method>,
    /// The file for an LRAT proof; implies the SAT method. The refuted clauses are written beside it, to a file with
    /// `.cnf` appended to the name.
    pub proof: Option<PathBuf>,
    /// The most steps of the exhaustive method.
    pub max_steps: f64,
    /// The most clauses for the solver, at some 100 bytes each.
    pub max_clauses: usize,
    /// The most conflicts of the solver.
    pub max_conflicts: u64,
    /// The most pairs of the walk.
    pub max_pairs: usize,
    /// Whether the circuit must be smooth as well.
    pub smooth: bool,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        VerifyOptions {
            method: None,
            proof: None,
            max_steps: 1e12,
            max_clauses: 1 << 25,
            max_conflicts: 20_000_000,
            max_pairs: 1 << 24,
            smooth: false,
        }
    }
}

/// An entity on which network and circuit differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counterexample {
    /// The values of all features.
    pub entity: Vec<bool>,
    /// Whether the network's answer is the class.
    pub network: bool,
    /// The circuit's label.
    pub circuit: bool,
}

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The method that found the answer.
    pub method: Method,
    /// An entity on which they differ; `None` if they are equal.
    pub counterexample: Option<Counterexample>,
    /// The methods that found no answer within their limits, and why.
    pub passed_over: Vec<(Method, String)>,
}

/// Proves that a circuit is decomposable and deterministic and true on exactly the entities of this class of the network,
/// or finds an entity that shows otherwise.
///
/// ```
/// use boolshap::circuit::lower_obdd;
/// use boolshap::diagram::compile_table;
/// use boolshap::lit::{Var, Watch};
/// use boolshap::model::{Gate, Label, Network, Output};
/// use boolshap::query::{VerifyOptions, verify};
/// let majority = Network::new(3, vec![], Output::Step(Gate::new(vec![1, 1, 1], 2).unwrap()))?;
/// let label = Label::of_class(&majority, 1)?;
/// let watch = &Watch::unlimited();
/// let circuit = lower_obdd(&compile_table(&label, &[0, 1, 2].map(Var::new), usize::MAX, watch)?)?;
/// assert_eq!(verify(&majority, 1, &circuit, &VerifyOptions::default(), watch)?.counterexample, None);
/// // It is not the circuit of the other class.
/// let other = verify(&majority, 0, &circuit, &VerifyOptions::default(), watch)?.counterexample.unwrap();
/// assert_ne!(other.network, other.circuit);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify(
    network: &Network,
    class: usize,
    circuit: &Circuit,
    options: &VerifyOptions,
    watch: &Watch<'_>,
) -> Result<Verdict, QueryError> {
    if network.inputs() != circuit.variables() {
        return Err(QueryError::Inputs { network: network.inputs(), circuit: circuit.variables() });
    }
    if class >= network.classes() {
        return Err(ModelError::UnknownClass { class, classes: network.classes() }.into());
    }
    check::decomposability(circuit)?;
    if options.smooth {
        check::smoothness(circuit)?;
    }
    deterministic(circuit, options.max_clauses, watch)?;
    let question = Comparison { network, class, circuit, options, watch };
    let methods = match (options.method, &options.proof) {
        (_, Some(_)) => vec![Method::Sat],
        (Some(method), None) => vec![method],
        (None, None) => vec![Method::Exhaustive, Method::Walk, Method::Sat],
    };
    let mut passed_over = Vec::new();
    for method in methods {
        let found = match method {
            Method::Exhaustive => exhaustive::compare(&question),
            Method::Walk => walk::compare(&question),
            Method::Sat => by_solver(&question),
            Method::Gates => Err(QueryError::Undecided(vec!["the method gates is for scores".into()])),
        };
        match found {
            Ok(counterexample) => return Ok(Verdict { method, counterexample, passed_over }),
            Err(
                error @ (QueryError::TooManySteps { .. }
                | QueryError::TooManyPairs { .. }
                | QueryError::TooManyConflicts { .. }
                | QueryError::TooManyClauses { .. }
                | QueryError::TooManyInputs { .. }
                | QueryError::NotOrdered { .. }
                | QueryError::LargeWeights
                | QueryError::NoSolver),
            ) => passed_over.push((method, error.to_string())),
            Err(error) => return Err(error),
        }
    }
    let reasons = passed_over.into_iter().map(|(method, error)| format!("{}: {error}", method.name()));
    Err(QueryError::Undecided(reasons.collect()))
}

#[cfg(feature = "sat")]
fn by_solver(question: &Comparison<'_>) -> Result<Option<Counterexample>, QueryError> {
    super::miter::compare(question)
}

#[cfg(not(feature = "sat"))]
fn by_solver(_: &Comparison<'_>) -> Result<Option<Counterexample>, QueryError> {
    Err(QueryError::NoSolver)
}

/// The limits on solver work for one circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SolverLimits {
    /// The most clauses.
    pub clauses: usize,
    /// The most conflicts.
    pub conflicts: u64,
    /// The most questions times the clauses that each may have to visit.
    pub visits: u64,
}

impl SolverLimits {
    /// The limits for each file that is read: a few seconds.
    pub const READING: SolverLimits = SolverLimits { clauses: 1 << 22, conflicts: 20_000, visits: 1 << 33 };
}

/// Proves that no two children of an or-gate are ever true together, or fails with an input that shows it.
pub fn check_determinism(circuit: &Circuit, watch: &Watch<'_>) -> Result<(), QueryError> {
    deterministic(circuit, VerifyOptions::default().max_clauses, watch)
}

/// Proves determinism by structure or small tables where that is enough, otherwise by the solver.
fn deterministic(circuit: &Circuit, max_clauses: usize, watch: &Watch<'_>) -> Result<(), QueryError> {
    let gates = match check::determinism(circuit, Effort::default(), watch)? {
        Determinism::Holds => return Ok(()),
        Determinism::Fails(violation) => return Err(violation.into()),
        Determinism::Undecided(gates) => gates,
    };
    let limits = SolverLimits { clauses: max_clauses, conflicts: u64::MAX, visits: u64::MAX };
    decide_gates(circuit, &gates, &limits, watch).map(drop)
}

/// The or-gates among these that remain undecided; fails with an input on which two children of one are true together.
#[cfg(feature = "sat")]
pub fn decide_gates(
    circuit: &Circuit,
    gates: &[NodeId],
    limits: &SolverLimits,
    watch: &Watch<'_>,
) -> Result<Vec<NodeId>, QueryError> {
    super::at_most_one::check(circuit, gates, limits, watch)
}

/// Without a solver nothing can be decided.
#[cfg(not(feature = "sat"))]
pub fn decide_gates(_: &Circuit, _: &[NodeId], _: &SolverLimits, _: &Watch<'_>) -> Result<Vec<NodeId>, QueryError> {
    Err(QueryError::NoSolver)
}

/// The variables in an order that every path follows, if one exists; otherwise roughly as met from the root downwards.
/// Variables that the circuit does not mention come last.
pub(super) fn in_order(circuit: &Circuit) -> Vec<Var> {
    order_among(circuit, &circuit.reachable())
}

/// Like [`in_order`], given the nodes that the root reaches.
pub(super) fn order_among(circuit: &Circuit, reachable: &[NodeId]) -> Vec<Var> {
    let met = as_met(circuit, reachable);
    let mut place = vec![0; met.len()];
    met.iter().enumerate().for_each(|(index, var)| place[var.index()] = index);
    // Collects which variable is tested directly after which, then sorts topologically, with ties in the order met.
    let mut after: HashSet<(usize, usize)> = HashSet::new();
    let mut last = vec![usize::MAX; met.len()];
    for &id in reachable {
        let Node::Decision { var, lo, hi } = circuit.node(id) else { continue };
        for child in [lo, hi] {
            let next = match circuit.node(child) {
                Node::Decision { var, .. } => place[var.index()],
                Node::Literal(lit) => place[lit.var().index()],
                _ => continue,
            };
            // Most pairs repeat the previous one.
            let first = place[var.index()];
            if std::mem::replace(&mut last[first], next) != next {
                after.insert((first, next));
            }
        }
    }
    let (mut before, mut behind) = (vec![0; met.len()], vec![Vec::new(); met.len()]);
    for (first, second) in after {
        before[second] += 1;
        behind[first].push(second);
    }
    let mut free: BinaryHeap<Reverse<usize>> = (0..met.len()).filter(|&at| before[at] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(met.len());
    while let Some(Reverse(at)) = free.pop() {
        order.push(met[at]);
        for &next in &behind[at] {
            before[next] -= 1;
            if before[next] == 0 {
                free.push(Reverse(next));
            }
        }
    }
    if order.len() == met.len() { order } else { met }
}

/// The variables in the order met: decisions from the root downwards, then literals, then the rest.
pub(super) fn as_met(circuit: &Circuit, reachable: &[NodeId]) -> Vec<Var> {
    let mut placed = vec![false; circuit.variables()];
    let mut order = Vec::with_capacity(circuit.variables());
    let mut place = |var: Var| {
        if !std::mem::replace(&mut placed[var.index()], true) {
            order.push(var);
        }
    };
    for &id in reachable.iter().rev() {
        if let Node::Decision { var, .. } = circuit.node(id) {
            place(var);
        }
    }
    for &id in reachable {
        if let Node::Literal(lit) = circuit.node(id) {
            place(lit.var());
        }
    }
    (0..circuit.variables()).map(Var::new).for_each(place);
    order
}
