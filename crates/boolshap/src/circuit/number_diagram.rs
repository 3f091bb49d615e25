//! A decision diagram with numbers at its leaves: a tree, or the table of a numeric function.
//!
//! The numbers are floats from -1 to 1, each taken as the exact fraction that it represents. Larger numbers are divided
//! by a power of two, which becomes a factor of the part's weight. Children come before parents, and no path tests a
//! variable twice.

use super::CircuitError;
use crate::lit::Var;
use dashu_int::UBig;
use dashu_ratio::RBig;
use std::collections::HashMap;

/// The most words that the sets of variables below all nodes may take while a diagram is checked.
const MAX_WORDS: usize = 1 << 28;

/// A diagram with numbers at its leaves. A child less than the number of leaves is a leaf; higher ones are nodes, in
/// order.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberDiagram {
    leaves: Vec<f64>,
    nodes: Vec<NumberNode>,
    root: u32,
}

/// A node: a variable, and its children for the values 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NumberNode {
    /// The variable.
    pub var: Var,
    /// The child if the variable is 0.
    pub lo: u32,
    /// The child if the variable is 1.
    pub hi: u32,
}

impl NumberDiagram {
    /// A diagram of these parts; an error if they do not fit together.
    pub fn new(leaves: Vec<f64>, nodes: Vec<NumberNode>, root: u32, variables: usize) -> Result<Self, CircuitError> {
        let flaw = |problem: &str| Err(CircuitError::Damaged { problem: format!("a diagram of numbers: {problem}") });
        if leaves.iter().any(|leaf| !(-1.0..=1.0).contains(leaf)) {
            return flaw("a leaf is not a number from -1 to 1");
        }
        if root as usize >= leaves.len() + nodes.len() {
            return flaw("the root is unknown");
        }
        for (number, node) in nodes.iter().enumerate() {
            let before = (leaves.len() + number) as u64;
            if node.var.index() >= variables || u64::from(node.lo) >= before || u64::from(node.hi) >= before {
                return flaw("a node speaks of an unknown variable or child");
            }
        }
        let diagram = NumberDiagram { leaves, nodes, root };
        match diagram.asks_once(variables) {
            true => Ok(diagram),
            false => flaw("a path asks a variable twice, or there are too many nodes to tell"),
        }
    }

    /// Whether no path tests a variable twice.
    fn asks_once(&self, variables: usize) -> bool {
        let words = variables.div_ceil(64).max(1);
        if self.nodes.len().saturating_mul(words) > MAX_WORDS {
            return false;
        }
        let mut below = vec![0u64; self.nodes.len() * words];
        for (number, node) in self.nodes.iter().enumerate() {
            let (done, rest) = below.split_at_mut(number * words);
            let own = &mut rest[..words];
            for child in [node.lo, node.hi] {
                if let Some(child) = (child as usize).checked_sub(self.leaves.len()) {
                    own.iter_mut().zip(&done[child * words..]).for_each(|(own, below)| *own |= below);
                }
            }
            let bit = 1 << (node.var.index() % 64);
            let word = &mut own[node.var.index() / 64];
            if *word & bit != 0 {
                return false;
            }
            *word |= bit;
        }
        true
    }

    /// The reduced diagram of a table of numbers: in the input of entry k, variable j is bit j of k. Numbers must be
    /// finite; also returns the power of two by which they were divided.
    pub fn of_table(variables: usize, values: &[f64]) -> Result<(Self, RBig), CircuitError> {
        let (scale, exponent) = scale_of(values)?;
        let mut leaves = Vec::new();
        let mut known: HashMap<u64, u32> = HashMap::new();
        let mut level: Vec<u32> = Vec::with_capacity(values.len());
        for value in values {
            // Adding 0 turns -0 into 0.
            let value = value * scale + 0.0;
            level.push(*known.entry(value.to_bits()).or_insert_with(|| {
                leaves.push(value);
                leaves.len() as u32 - 1
            }));
        }
        let mut nodes: Vec<NumberNode> = Vec::new();
        for variable in 0..variables {
            let var = Var::new(variable);
            let mut pairs: HashMap<(u32, u32), u32> = HashMap::new();
            level = level
                .chunks_exact(2)
                .map(|pair| match pair[0] == pair[1] {
                    true => pair[0],
                    false => *pairs.entry((pair[0], pair[1])).or_insert_with(|| {
                        nodes.push(NumberNode { var, lo: pair[0], hi: pair[1] });
                        (leaves.len() + nodes.len() - 1) as u32
                    }),
                })
                .collect();
        }
        let root =
            level.first().copied().ok_or_else(|| CircuitError::Damaged { problem: "a table of nothing".into() })?;
        Ok((NumberDiagram { leaves, nodes, root }, exponent))
    }

    /// A tree given as nodes, parents before children: a variable with two later nodes, or a number.
    pub fn of_tree(variables: usize, tree: &[Result<(usize, [usize; 2]), f64>]) -> Result<(Self, RBig), CircuitError> {
        let wrong = |problem: &str| CircuitError::Damaged { problem: format!("a tree: {problem}") };
        let numbers: Vec<f64> = tree.iter().filter_map(|node| node.err()).collect();
        let (scale, exponent) = scale_of(&numbers)?;
        let leaves: Vec<f64> = numbers.iter().map(|number| number * scale + 0.0).collect();
        let (mut ids, mut nodes, mut leaf) = (vec![u32::MAX; tree.len()], Vec::new(), leaves.len() as u32);
        for (number, node) in tree.iter().enumerate().rev() {
            ids[number] = match node {
                Err(_) => {
                    leaf -= 1;
                    leaf
                }
                Ok((feature, children)) => {
                    let child = |child: usize| match child > number && child < tree.len() {
                        true => Ok(ids[child]),
                        false => Err(wrong("a child does not come after its parent")),
                    };
                    let (lo, hi) = (child(children[0])?, child(children[1])?);
                    if *feature >= variables {
                        return Err(wrong("a feature is unknown"));
                    }
                    nodes.push(NumberNode { var: Var::new(*feature), lo, hi });
                    (leaves.len() + nodes.len() - 1) as u32
                }
            };
        }
        let root = *ids.first().ok_or_else(|| wrong("it has no nodes"))?;
        Ok((Self::new(leaves, nodes, root, variables)?, exponent))
    }

    /// The numbers.
    pub fn leaves(&self) -> &[f64] {
        &self.leaves
    }

    /// The nodes, children before parents.
    pub fn nodes(&self) -> &[NumberNode] {
        &self.nodes
    }

    /// The root.
    pub fn root(&self) -> u32 {
        self.root
    }

    /// The number for an input, given by its bits.
    pub fn value(&self, bit: impl Fn(usize) -> bool) -> f64 {
        let mut at = self.root as usize;
        while let Some(node) = at.checked_sub(self.leaves.len()).map(|node| self.nodes[node]) {
            at = if bit(node.var.index()) { node.hi } else { node.lo } as usize;
        }
        self.leaves[at]
    }

    /// The variables that it tests, in ascending order.
    pub fn mentioned(&self) -> Vec<Var> {
        let mut all: Vec<Var> = self.nodes.iter().map(|node| node.var).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// A power of two that brings numbers to at most 1, and its inverse; an error if a number is not finite.
fn scale_of(values: &[f64]) -> Result<(f64, RBig), CircuitError> {
    let largest = values.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    if let Some(value) = values.iter().find(|value| !value.is_finite()) {
        return Err(CircuitError::Damaged { problem: format!("{value} is not a finite number") });
    }
    let mut exponent = 0;
    while largest * 2f64.powi(-exponent) > 1.0 {
        exponent += 1;
    }
    Ok((2f64.powi(-exponent), RBig::from(UBig::ONE << exponent as usize)))
}
