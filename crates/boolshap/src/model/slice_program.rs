//! Layers of gates as a straight-line program over bit slices, 512 entities at a time.
//!
//! A gate adds up the weights of its conveniently instantiated inputs and compares the sum with its need. In each
//! column p of the binary addition, full adders turn three slices of weight 2^p into one of 2^p and one of 2^(p+1)
//! (carry-save addition), so k unit weights cost k full adders of five operations each, whatever the width of the sum;
//! a weight with several ones in binary enters several columns. `sum >= need` then takes one operation per column, from
//! the lowest up. The adders are laid out once for all blocks. Slots are reused once their value is no longer needed,
//! so the program works in a few cache lines.

use super::Gate;

/// The number of words in a slice; a power of two, so that a block of all inputs covers a whole number of variables.
pub(super) const WORDS: usize = 8;

/// One bit of 512 entities.
pub(super) type Slice = [u64; WORDS];

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Adds three bits; `sum` and `carry` may overwrite operands.
    Full {
        a: u32,
        b: u32,
        c: u32,
        sum: u32,
        carry: u32,
    },
    Half {
        a: u32,
        b: u32,
        sum: u32,
        carry: u32,
    },
    And {
        a: u32,
        b: u32,
        out: u32,
    },
    /// `b` and not `a`.
    AndNot {
        a: u32,
        b: u32,
        out: u32,
    },
    Or {
        a: u32,
        b: u32,
        out: u32,
    },
    Not {
        a: u32,
        out: u32,
    },
}

/// Conjunctions of the last layer's gates, computed from the first `inputs` slots.
#[derive(Clone, Debug)]
pub(super) struct SliceProgram {
    steps: Vec<Step>,
    slots: usize,
    results: Vec<u32>,
}

/// The comparison so far: whether the sum of the lower columns reaches the lower bits of the need.
#[derive(Clone, Copy)]
enum AtLeast {
    Always,
    Never,
    Slot(u32),
}

struct Builder {
    steps: Vec<Step>,
    slots: u32,
    free: Vec<u32>,
}

impl SliceProgram {
    /// The conjunction of all gates of the last layer. The gates must be neither always true nor always false; without
    /// any layer, the program is the conjunction of the inputs.
    pub(super) fn new(inputs: usize, layers: &[Vec<Gate>]) -> Self {
        let last = layers.last().map_or(inputs, Vec::len);
        Self::several(inputs, layers, &[(0..last).map(|gate| (gate, true)).collect()])
    }

    /// For each result, the gates of the last layer that must all have the given values; at least one gate.
    pub(super) fn several(inputs: usize, layers: &[Vec<Gate>], results: &[Vec<(usize, bool)>]) -> Self {
        let mut builder = Builder { steps: Vec::new(), slots: inputs as u32, free: Vec::new() };
        let mut values: Vec<u32> = (0..inputs as u32).collect();
        for (index, gates) in layers.iter().enumerate() {
            let mut negations = vec![None; values.len()];
            let next: Vec<u32> = gates.iter().map(|gate| builder.gate(gate, &values, &mut negations)).collect();
            builder.free.extend(negations.into_iter().flatten());
            // The inputs keep their slots, because the next block writes there.
            if index > 0 {
                builder.free.extend(values);
            }
            values = next;
        }
        let results = results.iter().map(|gates| builder.conjunction(&values, gates)).collect();
        SliceProgram { steps: builder.steps, slots: builder.slots as usize, results }
    }

    /// The number of slots that [`SliceProgram::run`] needs, inputs first.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// The slots of the results.
    pub(super) fn results(&self) -> &[u32] {
        &self.results
    }

    /// Computes the results of the entities whose input slices are in the first slots.
    #[inline(always)]
    pub(super) fn run(&self, slots: &mut [Slice]) {
        for &step in &self.steps {
            match step {
                Step::Full { a, b, c, sum, carry } => {
                    let (a, b, c) = (slots[a as usize], slots[b as usize], slots[c as usize]);
                    let either: Slice = std::array::from_fn(|k| a[k] ^ b[k]);
                    slots[sum as usize] = std::array::from_fn(|k| either[k] ^ c[k]);
                    slots[carry as usize] = std::array::from_fn(|k| a[k] & b[k] | either[k] & c[k]);
                }
                Step::Half { a, b, sum, carry } => {
                    let (a, b) = (slots[a as usize], slots[b as usize]);
                    slots[sum as usize] = std::array::from_fn(|k| a[k] ^ b[k]);
                    slots[carry as usize] = std::array::from_fn(|k| a[k] & b[k]);
                }
                Step::And { a, b, out } => {
                    let (a, b) = (slots[a as usize], slots[b as usize]);
                    slots[out as usize] = std::array::from_fn(|k| a[k] & b[k]);
                }
                Step::AndNot { a, b, out } => {
                    let (a, b) = (slots[a as usize], slots[b as usize]);
                    slots[out as usize] = std::array::from_fn(|k| b[k] & !a[k]);
                }
                Step::Or { a, b, out } => {
                    let (a, b) = (slots[a as usize], slots[b as usize]);
                    slots[out as usize] = std::array::from_fn(|k| a[k] | b[k]);
                }
                Step::Not { a, out } => {
                    let a = slots[a as usize];
                    slots[out as usize] = std::array::from_fn(|k| !a[k]);
                }
            }
        }
    }
}

impl Builder {
    fn slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        })
    }

    /// Computes the gate's value into a new slot.
    fn gate(&mut self, gate: &Gate, values: &[u32], negations: &mut [Option<u32>]) -> u32 {
        // The slices of each column, and whether their slots may be reused.
        let mut columns: Vec<Vec<(u32, bool)>> = vec![Vec::new(); (u128::BITS - gate.total().leading_zeros()) as usize];
        for (input, &weight) in gate.weights().iter().enumerate().filter(|(_, weight)| **weight != 0) {
            let slice = match weight > 0 {
                true => values[input],
                false => *negations[input].get_or_insert_with(|| {
                    let out = self.slot();
                    self.steps.push(Step::Not { a: values[input], out });
                    out
                }),
            };
            let magnitude = weight.unsigned_abs();
            (0..columns.len()).filter(|p| magnitude >> p & 1 == 1).for_each(|p| columns[p].push((slice, false)));
        }
        let mut reached = AtLeast::Always;
        for p in 0..columns.len() {
            let plane = self.add_column(&mut columns, p);
            let needed = gate.need() >> p & 1 == 1;
            reached = match (reached, plane, needed) {
                (AtLeast::Always, _, false) | (AtLeast::Never, None, false) => reached,
                (AtLeast::Slot(_), None, false) => reached,
                (_, None, true) | (AtLeast::Never, _, true) => AtLeast::Never,
                (AtLeast::Always, Some((plane, _)), true) | (AtLeast::Never, Some((plane, _)), false) => {
                    AtLeast::Slot(self.owned_copy(plane))
                }
                (AtLeast::Slot(so_far), Some((plane, _)), true) => {
                    self.steps.push(Step::And { a: plane, b: so_far, out: so_far });
                    AtLeast::Slot(so_far)
                }
                (AtLeast::Slot(so_far), Some((plane, _)), false) => {
                    self.steps.push(Step::Or { a: plane, b: so_far, out: so_far });
                    AtLeast::Slot(so_far)
                }
            };
            if let Some((slot, true)) = plane {
                self.free.push(slot);
            }
        }
        match reached {
            AtLeast::Slot(slot) => slot,
            _ => unreachable!("a gate of a simplified label is not constant"),
        }
    }

    /// Adds up one column into at most one slice, and carries into the next column.
    fn add_column(&mut self, columns: &mut [Vec<(u32, bool)>], p: usize) -> Option<(u32, bool)> {
        let mut column = std::mem::take(&mut columns[p]);
        while column.len() >= 2 {
            let (a, a_ours) = column.remove(0);
            let (b, b_ours) = column.remove(0);
            let third = if column.is_empty() { None } else { Some(column.remove(0)) };
            let operands = [Some((a, a_ours)), Some((b, b_ours)), third];
            self.free.extend(operands.into_iter().flatten().filter(|(_, ours)| *ours).map(|(slot, _)| slot));
            let (sum, carry) = (self.slot(), self.slot());
            self.steps.push(match third {
                Some((c, _)) => Step::Full { a, b, c, sum, carry },
                None => Step::Half { a, b, sum, carry },
            });
            column.push((sum, true));
            match columns.get_mut(p + 1) {
                Some(next) => next.push((carry, true)),
                // The total fits into the columns, so this carry is always 0.
                None => self.free.push(carry),
            }
        }
        column.pop()
    }

    fn owned_copy(&mut self, slot: u32) -> u32 {
        let out = self.slot();
        self.steps.push(Step::And { a: slot, b: slot, out });
        out
    }

    fn conjunction(&mut self, values: &[u32], gates: &[(usize, bool)]) -> u32 {
        let (&(first, is_true), rest) = gates.split_first().expect("a result that is not constant has a gate");
        let first = values[first];
        if rest.is_empty() && is_true {
            return first;
        }
        let out = self.slot();
        self.steps.push(match is_true {
            true => Step::And { a: first, b: first, out },
            false => Step::Not { a: first, out },
        });
        for &(gate, is_true) in rest {
            let a = values[gate];
            self.steps.push(match is_true {
                true => Step::And { a, b: out, out },
                false => Step::AndNot { a, b: out, out },
            });
        }
        out
    }
}
