//! The tape: a circuit prepared once for all sweeps, whatever weights and points come later.

use super::diagram_tape::DiagramTape;
use super::error_bound::SweepRoundings;
use super::fold::{Folded, Item, Term};
use super::gate_tape::GateTape;
use super::lanes::SlotId;
use crate::circuit::Circuit;
use crate::lit::Var;
use pulp::Simd;

/// A circuit in the form that suits it, and its variables.
pub(super) struct Tape {
    form: Form,
    /// The variables with an influence, in ascending order: player `i` of the sweeps is the variable at `i`.
    pub(super) players: Vec<Var>,
    /// Which of them are one-hot bits: the negation of such a bit weighs 1 whatever the bit weighs.
    pub(super) one_hot: Vec<bool>,
}

enum Form {
    Constant(bool),
    NarrowDiagram(DiagramTape<u16>),
    WideDiagram(DiagramTape<u32>),
    NarrowGates(GateTape<u16>),
    WideGates(GateTape<u32>),
}

impl Tape {
    /// The tape of a decomposable circuit; `one_hot` says which variables are one-hot bits. Every model of the circuit
    /// must have exactly one 1 in the group of such a bit.
    pub(super) fn new(circuit: &Circuit, one_hot: impl Fn(Var) -> bool) -> Self {
        let folded = Folded::new(circuit);
        let mut players: Vec<Var> = folded
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Decision { var, .. } => Some(*var),
                Item::Sum { .. } => None,
            })
            .collect();
        players.sort_unstable();
        players.dedup();
        let linear = folded.items.iter().all(|item| matches!(item, Item::Decision { .. }));
        let slots = folded.items.len() + 2 + if linear { 0 } else { 2 * players.len() };
        let one_hot = players.iter().map(|&var| one_hot(var)).collect();
        Self::in_form(&folded, players, one_hot, linear, slots <= <u16 as SlotId>::LIMIT)
    }

    fn in_form(folded: &Folded, players: Vec<Var>, one_hot: Vec<bool>, linear: bool, narrow: bool) -> Self {
        let form = match (folded.root <= Term::TRUE, linear, narrow) {
            (true, ..) => Form::Constant(folded.root == Term::TRUE),
            (_, true, true) => Form::NarrowDiagram(DiagramTape::new(folded, &players, &one_hot)),
            (_, true, false) => Form::WideDiagram(DiagramTape::new(folded, &players, &one_hot)),
            (_, false, true) => Form::NarrowGates(GateTape::new(folded, &players, &one_hot)),
            (_, false, false) => Form::WideGates(GateTape::new(folded, &players, &one_hot)),
        };
        Tape { form, players, one_hot }
    }

    /// The same circuit on every tape that can hold it.
    #[cfg(test)]
    pub(super) fn every_form(circuit: &Circuit, one_hot: impl Fn(Var) -> bool) -> Vec<Self> {
        let folded = Folded::new(circuit);
        let Tape { players, form, one_hot } = Self::new(circuit, one_hot);
        let linear = matches!(form, Form::Constant(_) | Form::NarrowDiagram(_) | Form::WideDiagram(_));
        let mut tapes = Vec::new();
        for as_diagram in [false, true].into_iter().filter(|&as_diagram| linear || !as_diagram) {
            let fits = folded.items.len() + 2 + 2 * players.len() <= <u16 as SlotId>::LIMIT;
            for narrow in [false, true].into_iter().filter(|&narrow| fits || !narrow) {
                tapes.push(Self::in_form(&folded, players.clone(), one_hot.clone(), as_diagram, narrow));
            }
        }
        tapes
    }

    /// The value, if it is constant.
    pub(super) fn constant(&self) -> Option<bool> {
        match self.form {
            Form::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The number of nodes swept.
    pub(super) fn nodes(&self) -> usize {
        match &self.form {
            Form::Constant(_) => 0,
            Form::NarrowDiagram(tape) => tape.nodes(),
            Form::WideDiagram(tape) => tape.nodes(),
            Form::NarrowGates(tape) => tape.nodes(),
            Form::WideGates(tape) => tape.nodes(),
        }
    }

    /// The rounding errors of a sweep's results.
    pub(super) fn roundings(&self) -> SweepRoundings {
        match &self.form {
            Form::Constant(_) => SweepRoundings::default(),
            Form::NarrowDiagram(tape) => tape.roundings(),
            Form::WideDiagram(tape) => tape.roundings(),
            Form::NarrowGates(tape) => tape.roundings(),
            Form::WideGates(tape) => tape.roundings(),
        }
    }

    /// The number of slots that a sweep needs.
    pub(super) fn slots(&self) -> usize {
        match &self.form {
            Form::Constant(_) => 0,
            Form::NarrowDiagram(tape) => <u16 as SlotId>::room(tape.used()),
            Form::WideDiagram(tape) => <u32 as SlotId>::room(tape.used()),
            Form::NarrowGates(tape) => 2 * <u16 as SlotId>::room(tape.used()),
            Form::WideGates(tape) => 2 * <u32 as SlotId>::room(tape.used()),
        }
    }

    /// One pair of sweeps in every lane. Takes the weight of each literal, that of player `i` at `2 i` and of its
    /// negation at `2 i + 1`; returns the value F of the circuit, and stores dF/dw of each player in `slopes`.
    #[inline(always)]
    pub(super) fn sweep<S: Simd, const R: usize>(
        &self,
        simd: S,
        weights: &[[S::f64s; R]],
        slots: &mut [[S::f64s; R]],
        slopes: &mut [[S::f64s; R]],
    ) -> [S::f64s; R] {
        match &self.form {
            Form::Constant(value) => [simd.splat_f64s(f64::from(u8::from(*value))); R],
            Form::NarrowDiagram(tape) => tape.sweep(simd, weights, slots, slopes),
            Form::WideDiagram(tape) => tape.sweep(simd, weights, slots, slopes),
            Form::NarrowGates(tape) => tape.sweep(simd, weights, slots, slopes),
            Form::WideGates(tape) => tape.sweep(simd, weights, slots, slopes),
        }
    }
}
