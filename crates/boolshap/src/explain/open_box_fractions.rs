//! The open-box algorithm in fractions, computed with integers.
//!
//! With p = a/b for each variable, the vectors of a gate are integers over the product of its variables' b, which is
//! the same for all children of an or-gate because they mention the same variables. A coefficient sums at most 2^n
//! expectations, none above 1 in absolute value, and so does every partial sum on the way to it. So its bit length is
//! at most n plus that of the product of all b. Machine integers are used where they hold that many bits, otherwise big
//! ones.

use super::open_box::literal_slot;
use super::polynomial::Integer;
use super::{ExplainError, Explanation, OpenBox, Probabilities};
use crate::lit::{Lit, Var, Watch};
use dashu_base::BitTest;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

impl OpenBox {
    /// The scores of these entities as fractions.
    pub fn explain_exact<E: AsRef<[bool]>>(
        &self,
        entities: &[E],
        distribution: &Probabilities,
        watch: &Watch<'_>,
    ) -> Result<Vec<Explanation<RBig>>, ExplainError> {
        self.check(entities, distribution)?;
        let players = self.players.len();
        let factorials: Vec<UBig> = (0..=players)
            .scan(UBig::ONE, |product, k| {
                *product *= UBig::from(k.max(1));
                Some(product.clone())
            })
            .collect();
        let denominators = self.players.iter().map(|var| distribution.exact()[var.index()].denominator());
        let job = FractionJob {
            open_box: self,
            distribution,
            orders: (0..players).map(|k| (&factorials[k] * &factorials[players - k - 1]).into()).collect(),
            all_orders: factorials[players].clone(),
            denominator: denominators.fold(UBig::ONE, |product, denominator| product * denominator),
            watch,
        };
        match players + job.denominator.bit_len() {
            0..=62 => job.explain::<i64, E>(entities),
            63..=126 => job.explain::<i128, E>(entities),
            _ => job.explain::<IBig, E>(entities),
        }
    }
}

/// A run over entities in fractions.
struct FractionJob<'j> {
    open_box: &'j OpenBox,
    distribution: &'j Probabilities,
    /// k! (n-k-1)! for every k below n.
    orders: Vec<IBig>,
    /// n!
    all_orders: UBig,
    /// The product of the denominators of all probabilities.
    denominator: UBig,
    watch: &'j Watch<'j>,
}

impl FractionJob<'_> {
    fn explain<T: Integer, E: AsRef<[bool]>>(&self, entities: &[E]) -> Result<Vec<Explanation<RBig>>, ExplainError> {
        let OpenBox { circuit, root, players, .. } = self.open_box;
        let one = T::from_big(&IBig::ONE);
        let minus_one = T::from_big(&IBig::NEG_ONE);
        let mut slots = self.open_box.empty_slots(one.clone());
        let mut explanations = Vec::with_capacity(entities.len());
        for (index, entity) in entities.iter().map(AsRef::as_ref).enumerate() {
            let literal = |lit: Lit| self.literal(lit, entity).map(|number| T::from_big(&number));
            self.open_box.fill_literals(&mut slots, literal);
            self.open_box.sweep(&mut slots);
            let base_value = RBig::from_parts(slots[*root][0].to_big(), self.denominator.clone());
            let mut scores = vec![RBig::ZERO; circuit.variables()];
            for (player, &var) in players.iter().enumerate() {
                self.watch.step(index as u64, entities.len() as u64)?;
                slots[literal_slot(player, true)] = vec![one.clone()];
                slots[literal_slot(player, false)] = vec![minus_one.clone()];
                self.open_box.sweep(&mut slots);
                scores[var.index()] = self.score(var, entity, &slots[*root]);
                self.open_box.fill_literals_of(&mut slots, player, literal);
            }
            let explanation = Explanation { base_value, prediction: circuit.evaluate(entity)?, scores };
            explanation.check_sum(index)?;
            explanations.push(explanation);
        }
        Ok(explanations)
    }

    /// The literal's expectation when its variable is drawn, and when it is fixed, times the denominator.
    fn literal(&self, lit: Lit, entity: &[bool]) -> [IBig; 2] {
        let p = &self.distribution.exact()[lit.var().index()];
        let all = p.denominator().as_ibig();
        let random = if lit.is_negative() { all - p.numerator() } else { p.numerator().clone() };
        let fixed = if lit.holds(entity[lit.var().index()]) { all.clone() } else { IBig::ZERO };
        [random, fixed]
    }

    fn score<T: Integer>(&self, var: Var, entity: &[bool], differences: &[T]) -> RBig {
        let terms = self.orders.iter().zip(differences).map(|(orders, difference)| orders * difference.to_big());
        let sum = terms.fold(IBig::ZERO, |sum, term| sum + term);
        let [random, fixed] = self.literal(var.positive(), entity);
        RBig::from_parts((fixed - random) * sum, &self.all_orders * &self.denominator)
    }
}
