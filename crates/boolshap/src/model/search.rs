//! Chooses a network: the strength of regularisation, the pairs of bits to add, and the precision of the weights.
//!
//! The idea: start from the usual baseline, logistic regression of strength 1, and move away from it only if
//! cross-validation on the training rows gives clear evidence.
//! 1. Strength. A different one must lower the cross entropy by more than two standard errors, which better confidence
//!    alone can achieve, and raise the accuracy by more than one.
//! 2. Pairs of bits ([`super::pairs`]). More pairs make a larger network, so they must lower the cross entropy by more
//!    than a standard error and raise the accuracy by more than two; of the numbers of pairs that do, the smallest
//!    whose accuracy is within a standard error of the best is taken.
//! 3. Weights ([`super::whole_weights`]). The coarsest that agree with the regression on all but one in a thousand of
//!    the training rows. With fewer than a thousand rows, which cannot show this, and few bits: the finest.
//! 4. The circuit. The caller says whether the network is affordable; if not, weights get coarser, then pairs fewer.
//!
//! All differences are paired, row by row, so their standard errors are small ([`super::validate`]). Folds are learned
//! in parallel but independently, so the result does not depend on the number of threads. The work is bounded in
//! advance by its size, not by a clock: large tables get fewer folds and pairs, and the explanation says so.

use super::logistic::{Design, Logistic, PRECISE, ROUGH, Shares, fit};
use super::pairs::{Paired, grow};
use super::train_options::{TrainOptions, Weights};
use super::validate::{Folds, Judged, Mean};
use super::whole_weights::Whole;
use super::{ModelError, Network};
use crate::data::Tally;
use crate::lit::{Watch, thousands};
use rayon::prelude::*;

/// Strengths below the default, then those above it.
const STRENGTHS: [&[f64]; 2] = [&[0.3, 0.1, 0.03, 0.01], &[3.0, 10.0]];
/// Numbers of pairs to try.
const PAIRS: [usize; 5] = [1, 2, 4, 8, 16];
/// Largest weights to try.
const LARGEST: [u32; 12] = [2, 3, 5, 7, 10, 15, 22, 31, 45, 63, 127, 255];
/// The finest weights, for tables so small that every row counts: the most columns with which circuits stay small, and
/// the largest weight.
const FINEST: [(usize, u32); 2] = [(20, 10_000), (40, 1023)];
/// The share of training rows on which whole weights may disagree with real ones.
const FIDELITY: f64 = 0.001;
/// The most elementary steps of the validation, roughly a nanosecond each.
const MAX_WORK: f64 = 1e10;
/// Steps of Newton's method for all strengths together, and for each pair that is added.
const STEPS: (f64, f64) = (30.0, 5.0);

/// Gives the number of nodes of a network's circuit; `None` if it exceeds what the caller accepts.
pub type Afford<'a> = &'a (dyn Fn(&Network) -> Result<Option<u64>, ModelError> + Sync);

/// What was chosen, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The strength of the underlying regression, scikit-learn's C.
    pub strength: Option<f64>,
    /// The number of pairs of bits.
    pub pairs: usize,
    /// The folds of the cross-validation; 0 if there was none.
    pub folds: usize,
    /// The accuracy in cross-validation, and its standard error.
    pub accuracy: Option<[f64; 2]>,
    /// The nodes of the circuit; `None` if it is too large.
    pub nodes: Option<u64>,
    /// An explanation of the choice in a sentence or two.
    pub words: String,
}

/// The rows to learn from, and how the search proceeds.
pub(super) struct Search<'a> {
    tally: &'a Tally,
    design: Design,
    shares: Shares,
    class_weights: Vec<f64>,
    seed: u64,
    watch: &'a Watch<'a>,
}

/// A network, its weights, the nodes of its circuit if it is affordable, and its number of pairs.
struct Found {
    network: Network,
    weights: Weights,
    nodes: Option<u64>,
    pairs: usize,
}

/// How much of the search the number of rows allows.
struct Plan {
    folds: usize,
    pairs: Vec<usize>,
}

impl<'a> Search<'a> {
    pub(super) fn new(tally: &'a Tally, options: &TrainOptions, watch: &'a Watch<'a>) -> Self {
        let classes = tally.counts()[0].len();
        let of_class = |class: usize| tally.counts().iter().map(|counts| counts[class]).sum::<u64>();
        let class_weights = options.class_weights.of(&(0..classes).map(of_class).collect::<Vec<_>>());
        let (design, shares) = (Design::new(tally.rows()), Shares::new(tally, &class_weights));
        Search { tally, design, shares, class_weights, seed: options.seed, watch }
    }

    /// The best network that the caller can afford, with or without pairs of bits.
    pub(super) fn choose(
        &self,
        weights: Option<Weights>,
        with_pairs: bool,
        afford: Afford<'_>,
    ) -> Result<(Network, Weights, Choice), ModelError> {
        let plan = self.plan(with_pairs);
        let folds = (plan.folds > 0).then(|| Folds::new(self.tally, &self.class_weights, plan.folds, self.seed));
        self.watch.step(0, 4)?;
        let (strength, judged) = match &folds {
            Some(folds) => self.choose_strength(folds)?,
            None => (1.0, None),
        };
        self.watch.step(1, 4)?;
        let plain = grow(&self.design, &self.shares, strength, &[], self.watch)?;
        let mut found =
            self.whole(&plain, strength, weights, afford)?.expect("a network without pairs is always taken");
        self.watch.step(2, 4)?;
        let (mut most, mut gain, mut judged) = (0, None, judged);
        // Pairs make the circuit larger, so they are useless if it is already too large without them.
        if let Some(folds) = folds.as_ref().filter(|_| !plan.pairs.is_empty() && found.nodes.is_some()) {
            let (chosen, better, with_pairs) = self.choose_pairs(folds, strength, &plan.pairs)?;
            self.watch.step(3, 4)?;
            let steps: Vec<usize> = PAIRS.into_iter().filter(|&step| step <= chosen).collect();
            let grown = grow(&self.design, &self.shares, strength, &steps, self.watch)?;
            most = grown.last().map_or(0, |paired| paired.pairs.len());
            if let Some(larger) = self.whole(&grown[1..], strength, weights, afford)? {
                (found, gain, judged) = (larger, better, with_pairs);
            }
        }
        let Found { network, weights, nodes, pairs } = found;
        let accuracy = judged.map(|judged| judged.accuracy()).map(|Mean { mean, error }| [mean, error]);
        let strength = Some(strength);
        let mut choice = Choice { strength, pairs, folds: plan.folds, accuracy, nodes, words: String::new() };
        choice.words = words(&choice, &network, weights, most, gain);
        Ok((network, weights, choice))
    }

    /// Ten folds for small tables; fewer folds, pairs and so on if that would take too long.
    fn plan(&self, with_pairs: bool) -> Plan {
        let outputs = if self.shares.classes == 2 { 1.0 } else { self.shares.classes as f64 };
        let step = self.design.step_cost(self.shares.classes);
        let look = self.design.pairs_of_ones() * outputs;
        let cost =
            |folds: usize, pairs: usize| folds as f64 * (STEPS.0 * step + pairs as f64 * (STEPS.1 * step + look));
        let best = if self.tally.total() <= 2000 { 10 } else { 5 };
        let pairs = if with_pairs { PAIRS.as_slice() } else { &[] };
        let (mut plan, mut taken) = (Plan { folds: best, pairs: pairs.to_vec() }, pairs.len());
        while cost(plan.folds, plan.pairs.last().copied().unwrap_or(0)) > MAX_WORK && plan.folds > 0 {
            if plan.folds > 3 {
                plan.folds = 3;
            } else if taken > 0 {
                taken -= 1;
                plan.pairs.truncate(taken);
            } else {
                plan.folds = 0;
            }
        }
        plan
    }

    /// The strength, and its results in the folds.
    fn choose_strength(&self, folds: &Folds) -> Result<(f64, Option<Judged>), ModelError> {
        let of_fold = |fold: usize| -> Result<Vec<Judged>, ModelError> {
            let [learn, _] = &folds.shares[fold];
            let zero = Logistic::zero(self.design.columns, self.shares.classes);
            let first = fit(&self.design, learn, 1.0, zero, ROUGH, self.watch)?;
            let judge = |model: &Logistic| {
                folds.judge(fold, |row, scores| model.scores(&self.design.rows[row as usize], scores))
            };
            let mut judged = vec![judge(&first)];
            for side in STRENGTHS {
                let mut model = first.clone();
                for &c in side {
                    model = fit(&self.design, learn, c, model, ROUGH, self.watch)?;
                    judged.push(judge(&model));
                }
            }
            Ok(judged)
        };
        let judged = across_folds(folds, of_fold)?;
        let (start, others) = judged.split_first().expect("strength 1 is there");
        let mut best = (1.0, 0.0, start);
        for (&c, judged) in STRENGTHS.concat().iter().zip(others) {
            let (loss, right) = (judged.less_loss(start), judged.more_right(start));
            if loss.is_beyond_chance() && right.is_clear() && loss.mean > best.1 {
                best = (c, loss.mean, judged);
            }
        }
        Ok((best.0, Some(best.2.clone())))
    }

    /// The number of pairs, their gain in accuracy, and the results of the choice in the folds.
    fn choose_pairs(
        &self,
        folds: &Folds,
        strength: f64,
        steps: &[usize],
    ) -> Result<(usize, Option<Mean>, Option<Judged>), ModelError> {
        let of_fold = |fold: usize| -> Result<Vec<Judged>, ModelError> {
            let [learn, _] = &folds.shares[fold];
            let mut grown = grow(&self.design, learn, strength, steps, self.watch)?;
            // Once the candidates run out, further steps change nothing.
            let last = grown.last().expect("no pairs are there").clone();
            grown.resize(steps.len() + 1, last);
            Ok(grown.iter().map(|paired| self.judge_pairs(folds, fold, paired)).collect())
        };
        let judged = across_folds(folds, of_fold)?;
        let (start, others) = judged.split_first().expect("no pairs are there");
        let clear: Vec<usize> = (0..others.len())
            .filter(|&step| {
                others[step].more_right(start).is_beyond_chance() && others[step].less_loss(start).is_clear()
            })
            .collect();
        let by_accuracy = |&a: &usize, &b: &usize| {
            // The first one in a tie.
            others[a].accuracy().mean.total_cmp(&others[b].accuracy().mean).then(b.cmp(&a))
        };
        let Some(best) = clear.iter().copied().max_by(by_accuracy) else {
            return Ok((0, None, Some(start.clone())));
        };
        let near = |&step: &usize| !others[best].more_right(&others[step]).is_clear();
        let chosen = clear.into_iter().find(near).expect("the best is near itself");
        Ok((steps[chosen], Some(others[chosen].more_right(start)), Some(others[chosen].clone())))
    }

    fn judge_pairs(&self, folds: &Folds, fold: usize, paired: &Paired) -> Judged {
        let design = self.design.with_pairs(&paired.pairs);
        folds.judge(fold, |row, scores| paired.model.scores(&design.rows[row as usize], scores))
    }

    /// Whole weights for the regression with the most pairs that is affordable. One without pairs is accepted in any
    /// case.
    fn whole(
        &self,
        grown: &[Paired],
        strength: f64,
        weights: Option<Weights>,
        afford: Afford<'_>,
    ) -> Result<Option<Found>, ModelError> {
        let mut finest = None;
        for paired in grown.iter().rev() {
            let design = self.design.with_pairs(&paired.pairs);
            let model = fit(&design, &self.shares, strength, paired.model.clone(), PRECISE, self.watch)?;
            for (whole, weights) in self.rounded(&model, &design, weights)? {
                let network = whole.network(self.design.columns, &paired.pairs)?;
                let nodes = afford(&network)?;
                let found = Found { network, weights, nodes, pairs: paired.pairs.len() };
                if nodes.is_some() {
                    return Ok(Some(found));
                }
                if paired.pairs.is_empty() {
                    finest.get_or_insert(found);
                }
            }
        }
        Ok(finest)
    }

    /// Weights to try: the coarsest that are known to be faithful, then coarser ones; or those requested.
    fn rounded(
        &self,
        model: &Logistic,
        design: &Design,
        weights: Option<Weights>,
    ) -> Result<Vec<(Whole, Weights)>, ModelError> {
        if let Some(weights) = weights {
            return Ok(vec![(Whole::best(model, design, &self.shares, weights.largest(), self.watch)?, weights)]);
        }
        let mut tried = Vec::new();
        let finest = FINEST.iter().find(|(bits, _)| design.columns <= *bits).map(|&(_, largest)| largest);
        let finest = finest.filter(|_| FIDELITY * self.shares.total() < 1.0);
        for largest in LARGEST.into_iter().chain(finest) {
            self.watch.check()?;
            let (whole, differs) = Whole::faithful(model, design, &self.shares, largest);
            tried.push((whole, Weights::Integer(largest)));
            if finest.is_none() && differs <= FIDELITY {
                break;
            }
        }
        // The cost of several classes hardly depends on the weights, and takes long to find out.
        let most = if self.shares.classes == 2 { tried.len() } else { 2 };
        Ok(tried.into_iter().rev().take(most).collect())
    }
}

/// Evaluates every fold in parallel, and joins the results of each setting.
fn across_folds(
    folds: &Folds,
    of_fold: impl Fn(usize) -> Result<Vec<Judged>, ModelError> + Send + Sync,
) -> Result<Vec<Judged>, ModelError> {
    let each = (0..folds.shares.len()).into_par_iter().map(of_fold).collect::<Result<Vec<_>, _>>()?;
    let settings = each[0].len();
    Ok((0..settings).map(|setting| Judged::joined(each.iter().map(|fold| fold[setting].clone()))).collect())
}

/// An explanation of the choice.
fn words(choice: &Choice, network: &Network, weights: Weights, most: usize, gain: Option<Mean>) -> String {
    let Choice { strength, pairs, folds, accuracy, nodes, .. } = choice;
    let strength = strength.unwrap_or(1.0);
    let neurons = match network.classes() {
        2 => "one neuron".into(),
        classes => format!("one neuron for each of {classes} classes"),
    };
    let shape = match pairs {
        0 => format!("{neurons}, no hidden layer"),
        _ => format!("{neurons} behind a hidden layer of {} ({pairs} of it pairs of bits)", network.hidden()[0].len()),
    };
    let judged = match accuracy {
        Some([mean, error]) => {
            format!("{folds}-fold validation inside the training rows gives {mean:.4} +- {error:.4}")
        }
        None => "the table is too large for validation, so nothing was tried beside it".into(),
    };
    let compared = match gain {
        Some(Mean { mean, error }) => format!(", {mean:+.4} +- {error:.4} against no pairs"),
        None if accuracy.is_some() && nodes.is_some() && most == 0 => {
            ", and nothing larger was better beyond chance".into()
        }
        None => String::new(),
    };
    let dropped = match most > *pairs {
        true => format!("; {most} pairs would be better, but their circuit is beyond the budget"),
        false => String::new(),
    };
    let circuit = match nodes {
        Some(nodes) => format!("its circuit has {} nodes", thousands(*nodes)),
        None => "its circuit is beyond the budget: compiling or explaining it may take long".into(),
    };
    format!("chosen: {shape}, weights {weights}, C = {strength}; {judged}{compared}{dropped}; {circuit}")
}

#[cfg(test)]
mod tests {
    use super::super::logistic::tests::noisy_rows;
    use super::super::{Hidden, Learned, correct, train};
    use super::*;
    use crate::data::{Bits, Seeded};

    /// Random rows: class 1 if two of the bits differ, apart from one row in ten.
    fn odd_rows() -> Tally {
        let mut chance = Seeded::new(11, 0);
        let (mut bits, mut labels) = (Bits::new(9), Vec::new());
        for _ in 0..700 {
            let row: Vec<bool> = (0..9).map(|_| chance.below(2) == 1).collect();
            labels.push(u32::from((row[2] != row[5]) != (chance.below(10) == 0)));
            bits.push(&row);
        }
        Tally::new(&bits, &labels, 2, |_| true)
    }

    fn chosen(tally: &Tally, options: &TrainOptions, afford: Afford<'_>) -> (Learned, Choice) {
        let learned = train(tally, options, afford, &Watch::unlimited()).unwrap();
        let choice = learned.choice.clone().expect("there was a choice");
        (learned, choice)
    }

    #[test]
    fn a_sum_needs_no_hidden_layer() {
        for classes in [2, 3] {
            let tally = noisy_rows(8, classes, 500, 5);
            let (Learned { network, weights, .. }, choice) = chosen(&tally, &TrainOptions::default(), &|_| Ok(Some(9)));
            assert_eq!((network.hidden().len(), choice.pairs, choice.nodes), (0, 0, Some(9)));
            assert!(matches!(weights, Weights::Integer(_)));
            // Rounding costs almost nothing compared with the regression itself.
            let plain = super::super::regress(&tally, &Watch::unlimited()).unwrap().unwrap();
            let lost = plain.correct(&tally) as i64 - correct(&network, &tally) as i64;
            assert!(choice.strength != Some(1.0) || lost.abs() <= 2, "{lost}");
        }
    }

    #[test]
    fn pairs_are_taken_where_they_help_and_can_be_afforded() {
        let tally = odd_rows();
        let (Learned { network, .. }, choice) = chosen(&tally, &TrainOptions::default(), &|_| Ok(Some(9)));
        assert!(choice.pairs > 0 && network.hidden().len() == 1, "{}", choice.words);
        // A tenth of the labels is noise, and without pairs about half of the answers are right.
        assert!(correct(&network, &tally) > 560, "{} right", correct(&network, &tally));
        let small = |network: &Network| Ok(network.hidden().is_empty().then_some(9));
        let (Learned { network, .. }, choice) = chosen(&tally, &TrainOptions::default(), &small);
        assert!(network.hidden().is_empty() && choice.words.contains("beyond the budget"), "{}", choice.words);
        let (Learned { network, .. }, choice) = chosen(&tally, &TrainOptions::default(), &|_| Ok(None));
        assert!(network.hidden().is_empty() && choice.nodes.is_none() && choice.words.contains("may take long"));
    }

    #[test]
    fn slow_weights_that_are_asked_for_are_kept() {
        let tally = odd_rows();
        for (hidden, weights) in [(Hidden::Auto, Weights::Integer(2)), (Hidden::Layers(vec![]), Weights::Ternary)] {
            let options = TrainOptions { hidden: hidden.clone(), weights: Some(weights), ..TrainOptions::default() };
            let (learned, choice) = chosen(&tally, &options, &|_| Ok(Some(9)));
            assert_eq!((learned.weights, choice.pairs > 0), (weights, hidden == Hidden::Auto));
        }
        let options = TrainOptions { weights: Some(Weights::Binary), epochs: 20, ..TrainOptions::default() };
        let (learned, choice) = chosen(&tally, &options, &|_| Ok(Some(9)));
        assert_eq!((learned.weights, choice.strength), (Weights::Binary, None));
    }

    #[test]
    fn threads_and_the_order_of_rows_do_not_matter() {
        let tally = odd_rows();
        let run = || chosen(&tally, &TrainOptions::default(), &|_| Ok(Some(9)));
        let first = run();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(first, pool.install(run));
    }

    #[test]
    fn large_tables_get_less_work() {
        let tally = noisy_rows(6, 2, 100, 1);
        let watch = Watch::unlimited();
        let mut search = Search::new(&tally, &TrainOptions::default(), &watch);
        let plan = search.plan(true);
        assert_eq!((plan.folds, plan.pairs.len()), (10, PAIRS.len()));
        search.design.rows = vec![(0..300).collect(); 2_000];
        let plan = search.plan(true);
        assert_eq!((plan.folds, plan.pairs.len()), (3, 3));
        search.design = Design { columns: 900, rows: vec![(0..300).collect(); 30_000] };
        let plan = search.plan(true);
        assert_eq!((plan.folds, plan.pairs.len()), (0, 0));
    }
}
