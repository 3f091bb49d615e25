//! Step (b) of the paper: from clauses to an SDD.
//!
//! Clauses are conjoined in the order of the vtree: each belongs to the lowest vtree node above all its variables, and
//! vtree nodes are processed children first, so that partial results stay within their own part of the vtree as long as
//! possible. When the live diagrams have grown much since the last search, a better vtree is searched for, and the
//! remaining clauses are sorted again. At the end vtree search and variable exchange alternate until neither improves
//! the size. If time runs out during that last phase, the diagram is returned as it is. Variables that no clause mentions
//! take no part in the search.
//!
//! Choi & Darwiche, "Dynamic Minimization of Sentential Decision Diagrams", AAAI 2013.

use super::apply::Op;
use super::error::{DiagramError, Halt};
use super::manager::{Sdd, SddManager};
use super::mentioned::Mentioned;
use super::minimise::MinimiseOptions;
use super::vtree::{Vtree, VtreeId};
use crate::lit::{Lit, Watch};

/// The initial vtree.
#[derive(Debug, Clone, Default)]
pub enum StartVtree {
    /// [`Vtree::balanced`].
    Balanced,
    /// [`Vtree::left_linear`].
    LeftLinear,
    /// [`Vtree::right_linear`].
    #[default]
    RightLinear,
    /// [`Vtree::random`] with this seed.
    Random(u64),
    /// This vtree; it must have exactly the formula's variables.
    Given(Vtree),
}

/// Options of [`compile_clauses`].
#[derive(Debug, Clone)]
pub struct CompileOptions {
    /// The initial vtree.
    pub vtree: StartVtree,
    /// Whether to search for better vtrees; otherwise the initial one is kept.
    pub minimise: bool,
    /// Variables are exchanged in pairs at the end, if the number of pairs times the size is at most this.
    pub exchange_work: usize,
    /// The most decision nodes to hold, dead ones included.
    pub max_nodes: usize,
}

impl Default for CompileOptions {
    fn default() -> Self {
        let max_nodes = SddManager::MOST_NODES;
        CompileOptions { vtree: StartVtree::default(), minimise: true, exchange_work: 1_000_000, max_nodes }
    }
}

/// A compiled formula.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The manager; it holds only this SDD.
    pub manager: SddManager,
    /// The formula's SDD, which the manager protects.
    pub root: Sdd,
}

/// Compiles the conjunction of the clauses over variables 0 .. `variables`.
///
/// ```
/// use boolshap::diagram::{CompileOptions, compile_clauses};
/// use boolshap::lit::{Var, Watch};
/// let [x, y, z] = [0, 1, 2].map(|i| Var::new(i).positive());
/// let clauses = [vec![x, !y], vec![y, z]];
/// let clauses = clauses.iter().map(Vec::as_slice);
/// let compiled = compile_clauses(4, clauses, &CompileOptions::default(), &Watch::unlimited())?;
/// assert_eq!(compiled.manager.model_count(compiled.root).to_string(), "8");
/// # Ok::<(), boolshap::diagram::DiagramError>(())
/// ```
pub fn compile_clauses<'c>(
    variables: usize,
    clauses: impl IntoIterator<Item = &'c [Lit]>,
    options: &CompileOptions,
    watch: &Watch<'_>,
) -> Result<Compiled, DiagramError> {
    let mut waiting = normalised(variables, clauses)?;
    let mut vtree = match &options.vtree {
        StartVtree::Balanced => Vtree::balanced(variables),
        StartVtree::LeftLinear => Vtree::left_linear(variables),
        StartVtree::RightLinear => Vtree::right_linear(variables),
        StartVtree::Random(seed) => Vtree::random(variables, *seed),
        StartVtree::Given(vtree) if vtree.variables() == variables => vtree.clone(),
        StartVtree::Given(vtree) => {
            let variable = variables.min(vtree.variables()) + 1;
            return Err(DiagramError::NotAPermutation { variables, variable });
        }
    };
    let mentioned = Mentioned::of(variables, &waiting);
    let is_narrowed = options.minimise && (1..variables).contains(&mentioned.len());
    if is_narrowed {
        mentioned.rank(&mut waiting);
        vtree = mentioned.restrict(&vtree);
    }
    let mut manager = SddManager::new(vtree);
    manager.set_max_nodes(options.max_nodes);
    let total = waiting.len();
    let mut compiler = Compiler { manager, partial: Vec::new(), waiting, size_when_searched: FIRST_SEARCH };
    match compiler.run(options, total, watch) {
        Ok(root) if is_narrowed => {
            let narrow = compiler.manager;
            let vtree = mentioned.widen(narrow.vtree(), variables);
            let (manager, root) = narrow.copied(root, vtree, |rank| mentioned.var(rank))?;
            Ok(Compiled { manager, root })
        }
        Ok(root) => Ok(Compiled { manager: compiler.manager, root }),
        Err(halt) => {
            let advice = match halt {
                Halt::Nodes(_) => "try a higher node limit, another initial vtree, or fewer clauses",
                Halt::Stopped(_) => "try more time, another initial vtree, or fewer clauses",
            };
            let (done, size) = (total - compiler.waiting.len(), compiler.manager.live_size());
            let cause = match halt {
                Halt::Nodes(_) => DiagramError::TooManyNodes { limit: options.max_nodes },
                Halt::Stopped(stopped) => DiagramError::Stopped(stopped),
            };
            Err(DiagramError::Compile { cause: Box::new(cause), done, clauses: total, size, advice })
        }
    }
}

/// The clauses with sorted literals, without repetitions and tautologies.
fn normalised<'c>(
    variables: usize,
    clauses: impl IntoIterator<Item = &'c [Lit]>,
) -> Result<Vec<Vec<Lit>>, DiagramError> {
    let mut kept = Vec::new();
    for (index, clause) in clauses.into_iter().enumerate() {
        if let Some(&literal) = clause.iter().find(|literal| literal.var().index() >= variables) {
            return Err(DiagramError::ClauseVariable { clause: index + 1, literal, variables });
        }
        let mut literals = clause.to_vec();
        literals.sort_unstable();
        literals.dedup();
        // After sorting, a literal and its negation are neighbours.
        if !literals.windows(2).any(|pair| pair[0] == !pair[1]) {
            kept.push(literals);
        }
    }
    Ok(kept)
}

/// The live size at which a better vtree is first searched for.
const FIRST_SEARCH: usize = 400;

/// Fewer dead nodes than this are not worth a collection.
const GARBAGE_TO_KEEP: usize = 250_000;

struct Compiler {
    manager: SddManager,
    /// Protected conjunctions of clauses, in the order of their vtree nodes; together they are the conjunction so far.
    partial: Vec<Sdd>,
    /// The remaining clauses; the next is last.
    waiting: Vec<Vec<Lit>>,
    size_when_searched: usize,
}

impl Compiler {
    fn run(&mut self, options: &CompileOptions, total: usize, watch: &Watch<'_>) -> Result<Sdd, Halt> {
        if self.waiting.iter().any(Vec::is_empty) {
            self.waiting.clear();
            return Ok(Sdd::FALSE);
        }
        self.put_in_order();
        while let Some(clause) = self.waiting.pop() {
            let outcome = watch.count((total - self.waiting.len()) as u64, "clauses").map_err(Halt::from);
            if let Err(halt) = outcome.and_then(|()| self.with_room(|this| this.conjoin_clause(&clause, watch))) {
                self.waiting.push(clause);
                return Err(halt);
            }
            if self.partial.last() == Some(&Sdd::FALSE) {
                self.waiting.clear();
                break;
            }
            if options.minimise && self.manager.live_size() > 2 * self.size_when_searched {
                let once = MinimiseOptions { max_passes: 1, ..MinimiseOptions::default() };
                self.search(&once, watch)?;
                self.put_in_order();
            }
        }
        let all = self.partial.clone();
        let mut root =
            self.with_room(|this| all.iter().try_fold(Sdd::TRUE, |a, &b| this.manager.apply(Op::And, a, b, watch)))?;
        self.manager.protect(root);
        for part in std::mem::take(&mut self.partial) {
            self.manager.release(part);
        }
        self.manager.collect_garbage();
        if options.minimise {
            self.search_to_the_end(&mut root, options.exchange_work, watch)?;
        }
        Ok(root)
    }

    /// Alternates vtree search and variable exchange until neither makes the diagram smaller.
    fn search_to_the_end(&mut self, root: &mut Sdd, work: usize, watch: &Watch<'_>) -> Result<(), Halt> {
        let variables = self.manager.variables();
        let pairs = variables * variables.saturating_sub(1) / 2;
        loop {
            self.search(&MinimiseOptions::default(), watch)?;
            let size = self.manager.live_size();
            if size == 0 || pairs.saturating_mul(size) > work {
                return Ok(());
            }
            match self.manager.exchange_sweep(root, watch) {
                Err(DiagramError::Stopped(stopped)) => return Err(Halt::Stopped(stopped)),
                _ if self.manager.live_size() == size => return Ok(()),
                _ => {}
            }
        }
    }

    fn search(&mut self, options: &MinimiseOptions, watch: &Watch<'_>) -> Result<(), Halt> {
        match self.manager.minimise(options, watch) {
            Err(DiagramError::Stopped(stopped)) => Err(Halt::Stopped(stopped)),
            _ => {
                self.manager.collect_garbage();
                self.size_when_searched = self.manager.live_size().max(FIRST_SEARCH);
                Ok(())
            }
        }
    }

    /// Runs `work`; if it fails for lack of room, collects garbage and tries once more.
    fn with_room<T>(&mut self, work: impl Fn(&mut Self) -> Result<T, Halt>) -> Result<T, Halt> {
        let manager = &mut self.manager;
        if manager.decision_count() > 4 * manager.live_decision_count() + GARBAGE_TO_KEEP {
            manager.collect_garbage();
        }
        match work(self) {
            Err(Halt::Nodes(_)) if self.manager.decision_count() > self.manager.live_decision_count() => {
                self.manager.collect_garbage();
                work(self)
            }
            outcome => outcome,
        }
    }

    /// Conjoins a clause with the partial results at or below its vtree node.
    fn conjoin_clause(&mut self, clause: &[Lit], watch: &Watch<'_>) -> Result<(), Halt> {
        let manager = &mut self.manager;
        let mut result = disjunction(manager, clause, watch)?;
        let below = |part: Sdd| match (manager.vtree_of(part), vtree_of_clause(manager.vtree(), clause)) {
            (Some(part), Some(own)) => manager.vtree().is_below(part, own),
            _ => true,
        };
        let kept = self.partial.iter().rposition(|&part| !below(part)).map_or(0, |last| last + 1);
        let mut sum = Sdd::TRUE;
        for &part in &self.partial[kept..] {
            sum = manager.apply(Op::And, sum, part, watch)?;
        }
        result = manager.apply(Op::And, sum, result, watch)?;
        manager.protect(result);
        for part in self.partial.drain(kept..) {
            manager.release(part);
        }
        self.partial.push(result);
        Ok(())
    }

    /// Sorts the remaining clauses by vtree node, children first.
    fn put_in_order(&mut self) {
        let vtree = self.manager.vtree();
        let mut rank = vec![0; vtree.node_count()];
        for (place, id) in vtree.post_order().into_iter().enumerate() {
            rank[id.index()] = place;
        }
        self.waiting.sort_by_cached_key(|clause| {
            let place = vtree_of_clause(vtree, clause).map_or(0, |id| rank[id.index()]);
            std::cmp::Reverse((place, clause.len()))
        });
        self.partial.sort_by_key(|&part| self.manager.vtree_of(part).map_or(0, |id| rank[id.index()]));
    }
}

/// The SDD of a clause without repetitions. Neighbours in the vtree are joined first, so that every step combines two
/// SDDs from different sides of a vtree node, in constant time.
fn disjunction(manager: &mut SddManager, clause: &[Lit], watch: &Watch<'_>) -> Result<Sdd, Halt> {
    let mut leaves: Vec<(VtreeId, Lit)> = clause.iter().map(|&l| (manager.vtree().leaf(l.var()), l)).collect();
    leaves.sort_unstable_by_key(|&(leaf, _)| manager.vtree().position(leaf));
    // Disjunctions waiting for their right neighbour, each with the vtree node where it meets its left one.
    let mut stack: Vec<(Sdd, Option<VtreeId>)> = Vec::new();
    let mut previous = None;
    for (leaf, literal) in leaves {
        let meeting = previous.map(|previous| manager.vtree().lowest_common_ancestor(previous, leaf));
        while let (Some(&(right, Some(inner))), Some(outer)) = (stack.last(), meeting)
            && manager.vtree().is_below(inner, outer)
        {
            stack.pop();
            if let Some((left, _)) = stack.last_mut() {
                *left = manager.apply(Op::Or, *left, right, watch)?;
            }
        }
        stack.push((Sdd(2 + literal.code() as u32), meeting));
        previous = Some(leaf);
    }
    let mut whole = Sdd::FALSE;
    for (part, _) in stack.into_iter().rev() {
        whole = manager.apply(Op::Or, part, whole, watch)?;
    }
    Ok(whole)
}

fn vtree_of_clause(vtree: &Vtree, clause: &[Lit]) -> Option<VtreeId> {
    let leaves = clause.iter().map(|literal| vtree.leaf(literal.var()));
    leaves.reduce(|one, other| vtree.lowest_common_ancestor(one, other))
}
