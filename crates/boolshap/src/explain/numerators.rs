//! The weights of a game's variables as whole numbers over known denominators, and the contributions from both sweeps.

use super::integer_sweeps::{IntegerSweeps, Sweep};
use super::polynomial::Integer;
use super::starts::Starts;
use super::ways::{Ways, Weighted};
use super::{ExplainError, Game};
use dashu_base::{BitTest, Gcd};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::collections::HashMap;

/// A circuit prepared for sweeps, and the paths of all its variables.
pub(super) struct Swept {
    pub(super) sweeps: IntegerSweeps,
    pub(super) ways: Ways,
}

impl Swept {
    pub(super) fn new(weighted: &Weighted, game: &Game) -> Result<Self, ExplainError> {
        let ways = Ways::new(weighted.roles.iter().copied(), &game.players);
        Ok(Swept { sweeps: IntegerSweeps::new(weighted)?, ways })
    }

    /// The places of the variables that the circuit mentions.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.sweeps.mentioned.iter().map(|var| var.index())
    }
}

/// For each variable with weight a / b at a start: the numerators at the start (a) and at the entity (b or 0), and b.
pub(super) struct Numerators {
    pub(super) from: Vec<IBig>,
    pub(super) to: Vec<IBig>,
    pub(super) units: Vec<IBig>,
    /// The product of the denominators of all variables and groups that the circuit mentions.
    pub(super) denominator: UBig,
    /// The bit length of the largest intermediate number, for t up to the number of players.
    pub(super) bits: usize,
}

impl Numerators {
    pub(super) fn new(swept: &Swept, starts: &Starts, start: usize, entity: &[bool]) -> Self {
        let Swept { sweeps, ways } = swept;
        let variables = sweeps.one_hot.len();
        let mut ends = vec![[RBig::ZERO, RBig::ZERO]; variables];
        let absent = |feature: usize| starts.exact(start, feature);
        swept.places().for_each(|var| ends[var] = ways.fractions(var, absent, |feature| entity[feature]));
        let mut units = vec![IBig::ONE; variables];
        let (mut denominator, mut bits) = (UBig::ONE, 2);
        let growth = (2 * sweeps.mentioned.len() + 1).bit_len();
        let mut groups: HashMap<usize, Vec<usize>> = HashMap::new();
        for var in swept.places() {
            // The bits of a column and their copies share one unit; any other variable is a group by itself.
            let player = ways.owner[var].filter(|_| sweeps.one_hot[var]);
            groups.entry(player.unwrap_or(ways.width() + var)).or_default().push(var);
        }
        for members in groups.values() {
            let common = members.iter().fold(UBig::ONE, |lcm, &var| least_common(&lcm, ends[var][0].denominator()));
            members.iter().for_each(|&var| units[var] = common.clone().into());
            let moves = members.iter().any(|&var| ends[var][0] != ends[var][1]);
            bits += common.bit_len() - 1 + if moves { growth + 1 } else { usize::from(common != UBig::ONE) };
            denominator *= common;
        }
        let numerator = |var: usize, end: usize| {
            let whole = &ends[var][end] * RBig::from(units[var].clone());
            whole.numerator().clone()
        };
        let [from, to] = [0, 1].map(|end| (0..variables).map(|var| numerator(var, end)).collect());
        Numerators { from, to, units, denominator, bits }
    }

    /// Fills in the weights for each variable that has moved `by` times its path.
    pub(super) fn fill<T: Integer>(&self, swept: &Swept, sweep: &mut Sweep<T>, by: impl Fn(usize) -> IBig) {
        for var in swept.places() {
            let x = match self.from[var] == self.to[var] {
                true => self.from[var].clone(),
                false => &self.from[var] + by(var) * (&self.to[var] - &self.from[var]),
            };
            let not_x = if swept.sweeps.one_hot[var] { IBig::ONE } else { &self.units[var] - &x };
            sweep.weights[var] = [T::from_big(&x), T::from_big(&not_x)];
        }
    }

    /// The change of F, times the denominator, as each player becomes present; call it after both sweeps.
    pub(super) fn contributions<T: Integer>(&self, swept: &Swept, sweep: &Sweep<T>) -> Vec<IBig> {
        let mut contributions = vec![IBig::ZERO; swept.ways.width()];
        for var in swept.places() {
            let Some(player) = swept.ways.player_of[var] else { continue };
            let [x, not_x] = &sweep.slopes[var];
            let slope = if swept.sweeps.one_hot[var] { x.to_big() } else { x.to_big() - not_x.to_big() };
            contributions[player] += slope * (&self.to[var] - &self.from[var]);
        }
        contributions
    }

    /// Runs both sweeps for variables that have moved `by` times their paths, and returns the contributions.
    pub(super) fn swept<T: Integer>(
        &self,
        swept: &Swept,
        sweep: &mut Sweep<T>,
        by: &dyn Fn(usize) -> IBig,
    ) -> Vec<IBig> {
        self.fill(swept, sweep, by);
        swept.sweeps.up(sweep);
        swept.sweeps.down(sweep);
        self.contributions(swept, sweep)
    }

    /// The players that move.
    pub(super) fn moving(&self, swept: &Swept) -> Vec<usize> {
        let moved = swept.places().filter(|&var| self.from[var] != self.to[var]);
        let mut players: Vec<usize> = moved.filter_map(|var| swept.ways.player_of[var]).collect();
        players.sort_unstable();
        players.dedup();
        players
    }
}

pub(super) fn least_common(one: &UBig, other: &UBig) -> UBig {
    one / one.gcd(other) * other
}
