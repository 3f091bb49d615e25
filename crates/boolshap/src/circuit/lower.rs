//! From a decision diagram to a circuit: step (c) of the paper.
//!
//! Decision points become or-gates and elements and-gates (Bertossi and León, section 3.3; the correspondence is
//! Darwiche's, "SDD: A New Canonical Representation of Propositional Knowledge Bases", 2011). The elements of a
//! decision exclude each other because its primes do, and prime and sub share no variable because the vtree separates
//! them: the result is deterministic and decomposable by construction, in time linear in the diagram.
//!
//! The input is a list of items, children first and the root last, so that any diagram package or file can be lowered.
//! Elements keep their order, prime before sub. An element with a false part is left out, and a true part is dropped,
//! as Algorithm 1 would do later.

use super::{Circuit, CircuitBuilder, CircuitError, Node, NodeId};
use crate::lit::{Lit, Var};

/// One node of a diagram; children are indices of earlier items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SddItem {
    /// True or false.
    Constant(bool),
    /// A literal.
    Literal(Lit),
    /// The elements of a decision, each a prime and a sub.
    Elements(Vec<(usize, usize)>),
    /// A decision on one variable, as in an OBDD: if `var` then `hi` else `lo`.
    Branch {
        /// The variable that decides.
        var: Var,
        /// The item when it is false.
        lo: usize,
        /// The item when it is true.
        hi: usize,
    },
}

/// How to write decisions with the primes `v` and `not v`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lowering {
    /// As gates, like all other decisions; the paper's way.
    #[default]
    Gates,
    /// As decision nodes, which are smaller and faster.
    Decisions,
}

/// The circuit of a diagram over this many variables, with items children first and root last.
///
/// ```
/// use boolshap::circuit::{Lowering, SddItem, lower};
/// use boolshap::lit::Var;
/// let (x, y) = (Var::new(0), Var::new(1));
/// let items = [
///     SddItem::Literal(x.positive()),
///     SddItem::Literal(x.negative()),
///     SddItem::Literal(y.positive()),
///     SddItem::Constant(true),
///     SddItem::Elements(vec![(0, 2), (1, 3)]),
/// ];
/// let implication = lower(2, items, Lowering::Gates)?;
/// assert_eq!(implication.truth_table()?, [0b1101]);
/// assert_eq!(implication.counts().nodes, 5);
/// # Ok::<(), boolshap::circuit::CircuitError>(())
/// ```
pub fn lower(
    variables: usize,
    items: impl IntoIterator<Item = SddItem>,
    lowering: Lowering,
) -> Result<Circuit, CircuitError> {
    let mut builder = CircuitBuilder::new(variables)?;
    let mut lowered: Vec<NodeId> = Vec::new();
    for (item, content) in items.into_iter().enumerate() {
        let find = |child: usize| lowered.get(child).copied().ok_or(CircuitError::ItemNotBefore { item, child });
        let id = match content {
            SddItem::Constant(value) => builder.constant(value)?,
            SddItem::Literal(lit) => builder.literal(lit)?,
            SddItem::Elements(elements) => {
                let mut pairs = Vec::with_capacity(elements.len());
                for (prime, sub) in elements {
                    pairs.push((find(prime)?, find(sub)?));
                }
                match as_decision(&builder, &pairs) {
                    Some((var, lo, hi)) if lowering == Lowering::Decisions => builder.decision(var, lo, hi)?,
                    _ => or_of_ands(&mut builder, &pairs)?,
                }
            }
            SddItem::Branch { var, lo, hi } => match (find(lo)?, find(hi)?) {
                (lo, hi) if lo == hi => lo,
                (lo, hi) => builder.decision(var, lo, hi)?,
            },
        };
        lowered.push(id);
    }
    let root = *lowered.last().ok_or(CircuitError::NoItems)?;
    builder.finish(root)?.compacted()
}

fn or_of_ands(builder: &mut CircuitBuilder, pairs: &[(NodeId, NodeId)]) -> Result<NodeId, CircuitError> {
    let mut elements = Vec::with_capacity(pairs.len());
    for &(prime, sub) in pairs {
        elements.push(builder.conjoin(&[prime, sub])?);
    }
    builder.disjoin(&elements)
}

/// If the primes of two elements are a variable and its negation: the variable, lo and hi.
fn as_decision(builder: &CircuitBuilder, pairs: &[(NodeId, NodeId)]) -> Option<(Var, NodeId, NodeId)> {
    let &[(one, one_sub), (other, other_sub)] = pairs else { return None };
    let (Node::Literal(one), Node::Literal(other)) = (builder.node(one), builder.node(other)) else { return None };
    match one == !other {
        true if one.is_negative() => Some((one.var(), one_sub, other_sub)),
        true => Some((one.var(), other_sub, one_sub)),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lits(variables: usize) -> Vec<SddItem> {
        let both = |v| [Var::new(v).positive(), Var::new(v).negative()];
        let constants = [SddItem::Constant(false), SddItem::Constant(true)];
        constants.into_iter().chain((0..variables).flat_map(both).map(SddItem::Literal)).collect()
    }

    #[test]
    fn every_pair_of_subs_under_one_variable() {
        // Items: 0 false, 1 true, 2 x, 3 not x, 4 y, 5 not y.
        let meaning = [0b0000, 0b1111, 0b1010, 0b0101, 0b1100, 0b0011u64];
        for hi in [0, 1, 4, 5] {
            for lo in [0, 1, 4, 5] {
                let expected = meaning[2] & meaning[hi] | meaning[3] & meaning[lo];
                for elements in [vec![(2, hi), (3, lo)], vec![(3, lo), (2, hi)]] {
                    for lowering in [Lowering::Gates, Lowering::Decisions] {
                        let items = lits(2).into_iter().chain([SddItem::Elements(elements.clone())]);
                        let circuit = lower(2, items, lowering).unwrap();
                        assert_eq!(circuit.truth_table().unwrap(), [expected]);
                        let decision = matches!(circuit.node(circuit.root()), Node::Decision { .. });
                        assert_eq!(decision, lowering == Lowering::Decisions);
                    }
                }
                let branch = SddItem::Branch { var: Var::new(0), lo, hi };
                let circuit = lower(2, lits(2).into_iter().chain([branch]), Lowering::Gates).unwrap();
                assert_eq!(circuit.truth_table().unwrap(), [expected]);
            }
        }
    }

    #[test]
    fn false_elements_and_true_parts_are_simplified() {
        // (x and y | true), (not x | false): only the first prime is left.
        let items = lits(2)
            .into_iter()
            .chain([SddItem::Elements(vec![(2, 4), (3, 0)]), SddItem::Elements(vec![(6, 1), (3, 0)])]);
        let circuit = lower(2, items, Lowering::Gates).unwrap();
        assert!(matches!(circuit.node(circuit.root()), Node::And(children) if children.len() == 2));
        assert_eq!(circuit.counts().nodes, 3);
    }

    #[test]
    fn invalid_items_are_refused() {
        let late = [SddItem::Constant(true), SddItem::Elements(vec![(0, 1)])];
        let error = lower(1, late, Lowering::Gates).unwrap_err();
        assert_eq!(error.to_string(), "item 1 of the diagram refers to item 1, which does not stand before it");
        assert!(matches!(lower(1, [], Lowering::Gates), Err(CircuitError::NoItems)));
        let unknown = [SddItem::Literal(Var::new(1).positive())];
        assert!(matches!(lower(1, unknown, Lowering::Gates), Err(CircuitError::UnknownVariable { .. })));
    }
}
