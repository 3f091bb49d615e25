//! Boolean functions over one order of variables, for questions that combine finished circuits: and, or, negation,
//! exclusive or, conditioning and quantification on ordered diagrams.
//!
//! A thin layer above the store of `bdd`: every function returned stays alive until [`Functions::release`].

use super::DiagramError;
use super::bdd::{Bdd, BddStore};
use crate::lit::{Var, Watch};
use std::collections::HashMap;

/// The initial capacity in nodes.
const FIRST_ROOM: usize = 1 << 12;

/// Functions over one order of variables.
pub struct Functions {
    store: BddStore,
    order: Vec<Var>,
    level_of: Vec<u32>,
    kept: Vec<Bdd>,
}

/// A function of a [`Functions`] store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function(Bdd);

/// Diagrams as arrays: for each node its level and two children, children first; 0 and 1 are the constants, whose level is
/// the number of variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The nodes.
    pub nodes: Vec<[u32; 3]>,
    /// The functions.
    pub roots: Vec<u32>,
}

impl Functions {
    /// An empty store; `order` contains every variable once, the root's first.
    pub fn new(order: Vec<Var>, max_nodes: usize) -> Self {
        let mut level_of = vec![0; order.len()];
        order.iter().enumerate().for_each(|(level, var)| level_of[var.index()] = level as u32);
        Functions { store: BddStore::new(FIRST_ROOM, max_nodes), order, level_of, kept: Vec::new() }
    }

    /// A constant.
    pub fn constant(value: bool) -> Function {
        Function(if value { Bdd::TRUE } else { Bdd::FALSE })
    }

    /// How many functions are kept; see [`Functions::release`].
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// Releases all functions made since [`Functions::kept`] returned this number, except one.
    pub fn release(&mut self, kept: usize, except: Function) -> Function {
        self.kept.truncate(kept);
        self.keep(except.0)
    }

    fn keep(&mut self, bdd: Bdd) -> Function {
        self.kept.push(bdd);
        Function(bdd)
    }

    /// The function of a variable.
    pub fn variable(&mut self, var: Var) -> Result<Function, DiagramError> {
        let bdd = self.store.variable(self.level_of[var.index()], &[&self.kept])?;
        Ok(self.keep(bdd))
    }

    /// If the first then the second else the third.
    pub fn choose(&mut self, [test, yes, no]: [Function; 3], watch: &Watch<'_>) -> Result<Function, DiagramError> {
        let bdd = self.store.if_then_else(test.0, yes.0, no.0, &[&self.kept], watch)?;
        Ok(self.keep(bdd))
    }

    /// The conjunction.
    pub fn and(&mut self, one: Function, other: Function, watch: &Watch<'_>) -> Result<Function, DiagramError> {
        self.choose([one, other, Self::constant(false)], watch)
    }

    /// The disjunction.
    pub fn or(&mut self, one: Function, other: Function, watch: &Watch<'_>) -> Result<Function, DiagramError> {
        self.choose([one, Self::constant(true), other], watch)
    }

    /// The negation.
    pub fn not(&mut self, function: Function, watch: &Watch<'_>) -> Result<Function, DiagramError> {
        self.choose([function, Self::constant(false), Self::constant(true)], watch)
    }

    /// The function with some variables fixed to these values.
    pub fn fixed(
        &mut self,
        function: Function,
        values: &HashMap<Var, bool>,
        watch: &Watch<'_>,
    ) -> Result<Function, DiagramError> {
        let Exported { nodes, roots } = self.export(&[function]);
        let mark = self.kept.len();
        let mut made = vec![Self::constant(false), Self::constant(true)];
        for &[level, lo, hi] in &nodes[2..] {
            let (lo, hi) = (made[lo as usize], made[hi as usize]);
            let var = self.order[level as usize];
            made.push(match values.get(&var) {
                Some(true) => hi,
                Some(false) => lo,
                None => {
                    let test = self.variable(var)?;
                    self.choose([test, hi, lo], watch)?
                }
            });
        }
        Ok(self.release(mark, made[roots[0] as usize]))
    }

    /// True where some values of the variables make the function true.
    pub fn exists(&mut self, function: Function, vars: &[Var], watch: &Watch<'_>) -> Result<Function, DiagramError> {
        let mark = self.kept.len();
        let mut some = function;
        for &var in vars {
            let with = self.fixed(some, &HashMap::from([(var, true)]), watch)?;
            let without = self.fixed(some, &HashMap::from([(var, false)]), watch)?;
            some = self.or(with, without, watch)?;
        }
        Ok(self.release(mark, some))
    }

    /// Functions as arrays.
    pub fn export(&self, functions: &[Function]) -> Exported {
        let levels = self.order.len() as u32;
        let mut found: Vec<(u32, Bdd)> = Vec::new();
        let mut number: HashMap<Bdd, u32> = HashMap::from([(Bdd::FALSE, 0), (Bdd::TRUE, 1)]);
        let mut waiting: Vec<Bdd> = functions.iter().map(|function| function.0).collect();
        while let Some(bdd) = waiting.pop() {
            if let std::collections::hash_map::Entry::Vacant(entry) = number.entry(bdd) {
                entry.insert(u32::MAX);
                let (level, lo, hi) = self.store.parts(bdd);
                found.push((level, bdd));
                waiting.extend([lo, hi]);
            }
        }
        found.sort_by_key(|&(level, bdd)| (std::cmp::Reverse(level), bdd));
        let mut nodes = vec![[levels, 0, 0], [levels, 1, 1]];
        for (level, bdd) in found {
            let (_, lo, hi) = self.store.parts(bdd);
            number.insert(bdd, nodes.len() as u32);
            nodes.push([level, number[&lo], number[&hi]]);
        }
        Exported { nodes, roots: functions.iter().map(|function| number[&function.0]).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Seeded;

    fn value(exported: &Exported, order: &[Var], root: u32, input: usize) -> bool {
        let mut at = root as usize;
        while at > 1 {
            let [level, lo, hi] = exported.nodes[at];
            at = if input >> order[level as usize].index() & 1 == 1 { hi } else { lo } as usize;
        }
        at == 1
    }

    #[test]
    fn operations_are_those_of_truth_tables() {
        let watch = Watch::unlimited();
        let order: Vec<Var> = [2, 0, 3, 1].map(Var::new).to_vec();
        let mut chance = Seeded::new(4, 0);
        for _ in 0..50 {
            let mut functions = Functions::new(order.clone(), 10_000);
            let tables = [0, 1].map(|_| chance.below(1 << 16));
            let made = tables.map(|table| {
                let mut all = Functions::constant(false);
                for input in (0..16).filter(|input| table >> input & 1 == 1) {
                    let mut one = Functions::constant(true);
                    for var in 0..4 {
                        let lit = functions.variable(Var::new(var)).unwrap();
                        let lit = if input >> var & 1 == 1 { lit } else { functions.not(lit, &watch).unwrap() };
                        one = functions.and(one, lit, &watch).unwrap();
                    }
                    all = functions.or(all, one, &watch).unwrap();
                }
                all
            });
            let both = functions.and(made[0], made[1], &watch).unwrap();
            let some = functions.exists(made[0], &[Var::new(0), Var::new(3)], &watch).unwrap();
            let fixed = functions.fixed(made[0], &HashMap::from([(Var::new(1), true)]), &watch).unwrap();
            let exported = functions.export(&[both, some, fixed]);
            let bit = |table: usize, input: usize| tables[table] >> input & 1 == 1;
            for input in 0..16 {
                let found = exported.roots.iter().map(|&root| value(&exported, &order, root, input));
                let any = [0, 1, 8, 9].iter().any(|change| bit(0, input & !9 | change));
                let expected = [bit(0, input) && bit(1, input), any, bit(0, input | 2)];
                assert_eq!(found.collect::<Vec<_>>(), expected);
            }
        }
    }
}
