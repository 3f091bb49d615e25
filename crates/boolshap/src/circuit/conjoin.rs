//! The conjunction of a circuit and a formula: the circuit of "f and k", and that of k alone.
//!
//! The conjunction of two arbitrary circuits is not decomposable, so both are compiled into one SDD over a right-linear
//! vtree, which is an ordered decision diagram (Darwiche, "SDD: A New Canonical Representation of Propositional
//! Knowledge Bases", IJCAI 2011): the circuit gate by gate bottom up, then the clauses one after another. The variables
//! are in the order in which the circuit's nodes mention them, from the root down, except that the variables of a group
//! are placed together at the position of the first of them. Cost: one apply per gate, each at most the product of two
//! sizes; linear if the circuit is an ordered diagram in this order.

use super::{Circuit, CircuitError, Lowering, Node, lower_sdd};
use crate::diagram::{Sdd, SddManager, Vtree};
use crate::formula::Cnf;
use crate::lit::{Lit, Var, Watch};

/// Circuits of `circuit and formula`, and of `formula` alone, with the variables of each group next to each other.
///
/// ```
/// use boolshap::circuit::{conjoin, read_nnf};
/// use boolshap::formula::{Clause, Cnf};
/// use boolshap::lit::Watch;
/// let either = read_nnf("nnf 5 4 2\nL 1\nL -1\nL 2\nA 2 1 2\nO 1 2 0 3\n".as_bytes())?;
/// let not_both = Cnf::from_clauses(2, Clause::from_dimacs(&[-1, -2]));
/// let [one, not_two] = conjoin(&either, &not_both, &[], usize::MAX, &Watch::unlimited())?;
/// assert_eq!((one.model_count(), not_two.model_count()), (2u8.into(), 3u8.into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn conjoin(
    circuit: &Circuit,
    formula: &Cnf,
    groups: &[Vec<Var>],
    max_nodes: usize,
    watch: &Watch<'_>,
) -> Result<[Circuit; 2], CircuitError> {
    conjoin_in(circuit, formula, &order(circuit, groups), max_nodes, watch)
}

/// The same with the variables in a given order, which must contain each once.
pub(super) fn conjoin_in(
    circuit: &Circuit,
    formula: &Cnf,
    order: &[Var],
    max_nodes: usize,
    watch: &Watch<'_>,
) -> Result<[Circuit; 2], CircuitError> {
    let mut manager = SddManager::new(Vtree::right_linear_over(order)?);
    manager.set_max_nodes(max_nodes);
    let function = import(&mut manager, circuit, watch)?;
    let mut clauses = Vec::with_capacity(formula.len());
    for clause in formula.clauses() {
        let mut either = Sdd::FALSE;
        for lit in clause.lits() {
            let lit = manager.literal(lit)?;
            either = manager.or(either, lit, watch)?;
        }
        clauses.push(either);
    }
    let condition = clauses.into_iter().try_fold(Sdd::TRUE, |all, clause| manager.and(all, clause, watch))?;
    let both = manager.and(function, condition, watch)?;
    Ok([lower_sdd(&manager, both, Lowering::Decisions)?, lower_sdd(&manager, condition, Lowering::Decisions)?])
}

/// The formula "exactly one of these variables is true" for each group.
pub fn exactly_one(variables: usize, groups: &[Vec<Var>]) -> Cnf {
    use crate::formula::Clause;
    let mut cnf = Cnf::new(variables);
    for group in groups {
        cnf.push(Clause::new(group.iter().map(|var| var.positive())).expect("variables, each once"));
        for (index, one) in group.iter().enumerate() {
            for other in &group[..index] {
                cnf.push(Clause::new([one.negative(), other.negative()]).expect("two variables"));
            }
        }
    }
    cnf
}

/// The variables in the order in which a walk from the root first mentions them, groups together.
pub(super) fn order(circuit: &Circuit, groups: &[Vec<Var>]) -> Vec<Var> {
    let mut group_of = vec![None; circuit.variables()];
    for (index, group) in groups.iter().enumerate() {
        group.iter().for_each(|var| group_of[var.index()] = Some(index));
    }
    let mut placed = vec![false; circuit.variables()];
    let mut order = Vec::with_capacity(circuit.variables());
    let mut place = |var: Var| {
        let together = match group_of[var.index()] {
            Some(group) => &groups[group][..],
            None => std::slice::from_ref(&var),
        };
        for &var in together {
            if !std::mem::replace(&mut placed[var.index()], true) {
                order.push(var);
            }
        }
    };
    let uses = circuit.uses();
    for (_, node) in circuit.nodes().rev().filter(|(id, _)| uses[id.index()] > 0) {
        match node {
            Node::Decision { var, .. } => place(var),
            Node::Literal(lit) => place(lit.var()),
            _ => {}
        }
    }
    (0..circuit.variables()).map(Var::new).for_each(place);
    order
}

fn import(manager: &mut SddManager, circuit: &Circuit, watch: &Watch<'_>) -> Result<Sdd, CircuitError> {
    let mut made = vec![Sdd::FALSE; circuit.stored_nodes()];
    for id in circuit.reachable() {
        let literal = |lit: Lit, manager: &SddManager| manager.literal(lit);
        made[id.index()] = match circuit.node(id) {
            Node::Constant(value) => manager.constant(value),
            Node::Literal(lit) => literal(lit, manager)?,
            Node::Decision { var, lo, hi } => {
                let (x, not_x) = (literal(var.positive(), manager)?, literal(var.negative(), manager)?);
                let with = manager.and(x, made[hi.index()], watch)?;
                let without = manager.and(not_x, made[lo.index()], watch)?;
                manager.or(with, without, watch)?
            }
            Node::And(children) => {
                children.iter().try_fold(Sdd::TRUE, |all, child| manager.and(all, made[child.index()], watch))?
            }
            Node::Or(children) => {
                children.iter().try_fold(Sdd::FALSE, |any, child| manager.or(any, made[child.index()], watch))?
            }
        };
    }
    Ok(made[circuit.root().index()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::samples::random_circuit;
    use crate::formula::Clause;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn agrees_with_the_conjunction_on_every_input((circuit, _) in random_circuit(6), clauses in proptest::collection::vec(
            proptest::collection::vec(1i32..=6, 1..4), 0..5), signs in any::<u32>()) {
            let n = circuit.variables();
            let mut formula = Cnf::new(n);
            for (index, clause) in clauses.iter().enumerate() {
                let sign = |(place, &number): (usize, &i32)| if signs >> (3 * index + place) & 1 == 1 { -number } else { number };
                let numbers: Vec<i32> = clause.iter().enumerate().map(sign).filter(|k| k.unsigned_abs() as usize <= n).collect();
                if let Some(clause) = Clause::from_dimacs(&numbers) {
                    formula.push(clause);
                }
            }
            let groups = [(0..n).step_by(2).map(Var::new).collect::<Vec<_>>()];
            let [both, alone] = conjoin(&circuit, &formula, &groups, usize::MAX, &Watch::unlimited()).unwrap();
            for number in 0..1usize << n {
                let entity: Vec<bool> = (0..n).map(|v| number >> v & 1 == 1).collect();
                let (f, k) = (circuit.evaluate(&entity).unwrap(), formula.holds(&entity));
                prop_assert_eq!((both.evaluate(&entity).unwrap(), alone.evaluate(&entity).unwrap()), (f && k, k));
            }
        }
    }

    #[test]
    fn exactly_one_has_a_model_for_each_variable() {
        let groups = [vec![Var::new(0), Var::new(2), Var::new(3)], vec![Var::new(1)]];
        let cnf = exactly_one(5, &groups);
        let models =
            (0..32usize).filter(|number| cnf.holds(&std::array::from_fn::<bool, 5, _>(|v| number >> v & 1 == 1)));
        // Three choices, one bit that must be 1, and one that is free.
        assert_eq!(models.count(), 6);
    }
}
