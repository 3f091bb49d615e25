//! A binary network as a CNF over its inputs: step (a) of the paper.
//!
//! A gate fires if at least d of its n inputs are convenient, that is, have the sign of their weight; d is from
//! equation (4). Row k, column t of its matrix M^g is the CNF of "at least t of the first k inputs are convenient",
//! computed from two cells of the row above (see `cell`). Only the last cell, row n and column d, is needed, so of row
//! k only the columns max(1, d-(n-k)) up to min(d, k) are computed, and only the last row is kept.
//!
//! A weight of -1 needs the negation of a hidden gate. Not (at least d of n) is "at least n-d+1 of the n negated
//! inputs", which is again a matrix, so no CNF is ever negated. Which gates are needed with which sign is determined
//! from the output backwards. Gates of a layer, and cells of a row, are computed in parallel.
//!
//! The result has only the inputs as variables, and is made prime and irredundant at the end. The worst-case cost is
//! exponential, and this cannot be avoided: "at least n/2 of n" alone has about 2^n / sqrt(n) clauses.
//!
//! L. Bertossi, J. E. Leon, Efficient Computation of Shap Explanation Scores for Neural Network Classifiers via
//! Knowledge Compilation, 2023; the count d after N. Narodytska et al., Verifying Properties of Binarized Deep Neural
//! Networks, AAAI 2018.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::cell::{Halt, cell};
use super::clause::Clause;
use super::cnf::Cnf;
use super::error::{FormulaError, Place};
use super::simplify::simplify;
use crate::lit::{Var, Watch};

/// A gate of a binary network: it fires if at least `need` inputs have their sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateSpec {
    /// For each input, that is, each gate of the layer before: true for the weight +1, false for -1.
    pub signs: Vec<bool>,
    /// How many inputs must have their sign: 0 means always true, more than the number of inputs means never.
    pub need: usize,
}

impl GateSpec {
    /// The gate that fires if the signed sum of its inputs (+1 or -1 each) plus the bias is at least 0: equation (4).
    /// `None` if the bias is not a number.
    ///
    /// With k of n inputs convenient the sum is 2k - n, an integer, so the bias can be rounded first without loss.
    ///
    /// ```
    /// use boolshap::formula::GateSpec;
    /// let h1 = GateSpec::from_bias(vec![false, false, true], 0.16).unwrap();
    /// assert_eq!(h1.need, 2);
    /// ```
    pub fn from_bias(signs: Vec<bool>, bias: f64) -> Option<Self> {
        let inputs = signs.len() as i64;
        let sum = (!bias.is_nan()).then(|| (-bias).ceil().clamp(-(inputs as f64), inputs as f64 + 2.0) as i64)?;
        let need = (inputs + sum + 1).div_euclid(2);
        Some(GateSpec { signs, need: need as usize })
    }
}

/// The CNF, prime and irredundant, of the single gate in the last layer.
///
/// No cell may have more than `max_clauses` clauses. Progress counts rows of matrices, of which the last take longest.
pub fn encode(
    inputs: usize,
    layers: &[Vec<GateSpec>],
    max_clauses: usize,
    watch: &Watch<'_>,
) -> Result<Cnf, FormulaError> {
    check_shape(inputs, layers)?;
    let needed = needed_signs(layers);
    let work = Work { inputs, max_clauses, watch, done: AtomicU64::new(0) };

    let mut before: Vec<Signed> = (0..inputs)
        .map(|var| {
            [true, false].map(|sign| Some(Cnf::from_clauses(inputs, [Clause::unit(Var::new(var).literal(sign))])))
        })
        .collect();
    for (place, (gates, needed)) in layers.iter().zip(&needed).enumerate() {
        let wanted: Vec<(usize, bool)> = (0..gates.len())
            .flat_map(|gate| [(gate, true), (gate, false)])
            .filter(|&(gate, sign)| needed[gate][usize::from(!sign)])
            .collect();
        let made: Result<Vec<Cnf>, FormulaError> =
            wanted.par_iter().map(|&(gate, sign)| work.neuron(place, gate, &gates[gate], sign, &before)).collect();
        let mut layer: Vec<Signed> = vec![[None, None]; gates.len()];
        for ((gate, sign), cnf) in wanted.into_iter().zip(made?) {
            layer[gate][usize::from(!sign)] = Some(cnf);
        }
        before = layer;
    }
    let output = before[0][0].take().expect("the output is needed");
    simplify(&output, watch)
}

/// A gate's CNF and that of its negation, if needed.
type Signed = [Option<Cnf>; 2];

struct Work<'a> {
    inputs: usize,
    max_clauses: usize,
    watch: &'a Watch<'a>,
    done: AtomicU64,
}

impl Work<'_> {
    /// The last cell of the matrix of the gate or of its negation.
    fn neuron(
        &self,
        layer: usize,
        gate_index: usize,
        gate: &GateSpec,
        sign: bool,
        before: &[Signed],
    ) -> Result<Cnf, FormulaError> {
        let inputs = gate.signs.len();
        let need = if sign { gate.need } else { (inputs + 1).saturating_sub(gate.need) };
        if need == 0 {
            return Ok(Cnf::new(self.inputs));
        }
        if need > inputs {
            return Ok(Cnf::falsum(self.inputs));
        }
        let (verum, falsum) = (Cnf::new(self.inputs), Cnf::falsum(self.inputs));
        // Column t of the row above is `above[t - first]`.
        let (mut above, mut first): (Vec<Cnf>, usize) = (Vec::new(), 1);
        let mut largest = 0;
        for row in 1..=inputs {
            let place = Place::Matrix { layer: layer + 1, neuron: gate_index + 1, row, rows: inputs, clauses: largest };
            let stopped = |why| FormulaError::Stopped { why, place };
            self.watch.count(self.done.fetch_add(1, Ordering::Relaxed) + 1, "rows of matrices").map_err(stopped)?;
            let input_sign = gate.signs[row - 1] == sign;
            let input = before[row - 1][usize::from(!input_sign)].as_ref().expect("needed signs are made");
            let columns = need.saturating_sub(inputs - row).max(1)..=need.min(row);
            let get = |column: usize| match column {
                0 => &verum,
                _ if column > row - 1 => &falsum,
                _ => &above[column - first],
            };
            let cells: Result<Vec<Cnf>, Halt> = columns
                .clone()
                .into_par_iter()
                .map(|column| cell(input, get(column - 1), get(column), self.max_clauses, self.watch))
                .collect();
            above = cells.map_err(|halt| match halt {
                Halt::Stopped(why) => stopped(why),
                Halt::TooMany => FormulaError::TooManyClauses { limit: self.max_clauses, place },
            })?;
            first = *columns.start();
            largest = above.iter().map(Cnf::len).fold(largest, usize::max);
        }
        Ok(above.pop().expect("the last row has one cell"))
    }
}

fn check_shape(inputs: usize, layers: &[Vec<GateSpec>]) -> Result<(), FormulaError> {
    let wrong = |layer, gate, problem| Err(FormulaError::Shape { layer, gate, problem });
    let Some(last) = layers.last() else {
        return wrong(1, None, "the network has no layers".to_owned());
    };
    if last.len() != 1 {
        return wrong(layers.len(), None, format!("the last layer has {} gates, but must have one", last.len()));
    }
    let mut width = inputs;
    for (layer, gates) in (1..).zip(layers) {
        for (number, gate) in (1..).zip(gates) {
            if gate.signs.len() != width {
                let problem = format!("{} weights for {width} inputs", gate.signs.len());
                return wrong(layer, Some(number), problem);
            }
        }
        width = gates.len();
    }
    Ok(())
}

/// For each gate, whether the gate itself is needed, and whether its negation is.
fn needed_signs(layers: &[Vec<GateSpec>]) -> Vec<Vec<[bool; 2]>> {
    let mut needed: Vec<Vec<[bool; 2]>> = layers.iter().map(|layer| vec![[false; 2]; layer.len()]).collect();
    if let Some([output]) = needed.last_mut().map(Vec::as_mut_slice) {
        output[0] = true;
    }
    for layer in (1..layers.len()).rev() {
        let (before, here) = needed.split_at_mut(layer);
        for (gate, needed) in layers[layer].iter().zip(&here[0]) {
            // A constant gate does not need its inputs.
            if gate.need == 0 || gate.need > gate.signs.len() {
                continue;
            }
            for (input, &sign) in before[layer - 1].iter_mut().zip(&gate.signs) {
                input[usize::from(!sign)] |= needed[0];
                input[usize::from(sign)] |= needed[1];
            }
        }
    }
    needed
}
