//! Trains networks: given layers by gradient descent and a discrete polish; otherwise the network is chosen by a
//! search.
//!
//! Given layers: real latent weights are kept beside their rounded values (signs or whole numbers), and
//! [`super::straight_through`] treats rounding as if it had a gradient, as Hubara et al. 2016 train binary networks.
//! AdamW updates the latent weights on mini-batches; after every epoch the rounded network is evaluated on rows held
//! back from the training part, and training stops when it has not improved for a while. Then [`super::polish`]
//! searches around the best network. One neuron with whole weights is a rounded regression instead, which needs no such
//! gradient.
//!
//! Without given layers, [`super::search`] chooses; for networks of weights +-1, [`choose_width`] does.
//!
//! All randomness comes from the seed, sums are taken in a fixed order and rows come as a [`Tally`], so neither the
//! order of rows in a file nor the number of cores matters: the same seed gives the same network.

use super::fold::{DenseLayer, fold_network};
use super::polish::polish;
use super::search::{Afford, Choice, Search};
use super::straight_through::StraightThrough;
use super::train_options::{Hidden, TrainOptions, Weights};
use super::validate::{Folds, Judged};
use super::{ModelError, Network, NetworkEvaluator};
use crate::data::{Bits, Seeded, Tally};
use crate::lit::Watch;
use dashu_ratio::RBig;
use rayon::prelude::*;

/// More weights than this are refused, before memory runs out.
const MAX_WEIGHTS: usize = 100_000_000;
/// The share of the training rows held back to evaluate the epochs.
const HELD_BACK: f64 = 0.1;

/// Class weights are rounded to multiples of one over this.
const WEIGHT_UNIT: f64 = 1000.0;

/// A trained network.
#[derive(Debug, Clone, PartialEq)]
pub struct Learned {
    /// The network.
    pub network: Network,
    /// The weights it may have.
    pub weights: Weights,
    /// What was chosen and why, if anything was.
    pub choice: Option<Choice>,
}

/// Trains a network on rows of two or more classes: a step output for two, argmax for more. If the network is chosen,
/// it is one whose circuit is affordable.
pub fn train(
    rows: &Tally,
    options: &TrainOptions,
    afford: Afford<'_>,
    watch: &Watch<'_>,
) -> Result<Learned, ModelError> {
    let classes = rows.counts().first().map_or(0, Vec::len);
    if rows.total() < 2 || classes < 2 || rows.rows().features() == 0 {
        return Err(ModelError::Training("there are too few rows, classes or features to learn from".into()));
    }
    if options.batch == 0 {
        return Err(ModelError::Training("the batch size must be at least 1".into()));
    }
    let chosen = |found: (Network, Weights, Choice)| {
        let (network, weights, choice) = found;
        Ok(Learned { network, weights, choice: Some(choice) })
    };
    match (&options.hidden, options.weights) {
        (Hidden::Auto, Some(Weights::Binary)) => choose_width(rows, options, afford, watch).and_then(chosen),
        (Hidden::Auto, weights) => Search::new(rows, options, watch).choose(weights, true, afford).and_then(chosen),
        (Hidden::Layers(widths), Some(weights)) if widths.is_empty() && weights != Weights::Binary => {
            Search::new(rows, options, watch).choose(Some(weights), false, afford).and_then(chosen)
        }
        (Hidden::Layers(widths), weights) => {
            let weights = weights.unwrap_or(Weights::Binary);
            let network = train_layers(rows, widths, weights, options, watch)?;
            Ok(Learned { network, weights, choice: None })
        }
    }
}

/// Trains hidden layers of these widths.
fn train_layers(
    rows: &Tally,
    hidden: &[usize],
    weights: Weights,
    options: &TrainOptions,
    watch: &Watch<'_>,
) -> Result<Network, ModelError> {
    if hidden.contains(&0) {
        return Err(ModelError::Training("every hidden layer must have at least 1 neuron".into()));
    }
    let start = descend(rows, &widths_of(rows, hidden)?, weights, options, watch)?;
    polish(&start, &class_weighted(rows, options), weights, options.seed, watch)
}

/// The widths from the inputs to the outputs.
fn widths_of(rows: &Tally, hidden: &[usize]) -> Result<Vec<usize>, ModelError> {
    let classes = rows.counts()[0].len();
    let outputs = if classes == 2 { 1 } else { classes };
    let hidden = hidden.iter().copied();
    let widths: Vec<usize> = [rows.rows().features()].into_iter().chain(hidden).chain([outputs]).collect();
    let weights = widths.windows(2).try_fold(0usize, |sum, pair| sum.checked_add(pair[0].checked_mul(pair[1])?));
    if weights.is_none_or(|weights| weights > MAX_WEIGHTS) {
        return Err(ModelError::Training(format!("the layers have more than {MAX_WEIGHTS} weights")));
    }
    Ok(widths)
}

/// The number of rows of each class.
fn class_sizes(rows: &Tally) -> Vec<u64> {
    let of_class = |class: usize| rows.counts().iter().map(|counts| counts[class]).sum();
    (0..rows.counts()[0].len()).map(of_class).collect()
}

/// The rows with counts multiplied by the weights of their classes, as whole numbers; unchanged if all weights are
/// equal.
fn class_weighted(rows: &Tally, options: &TrainOptions) -> Tally {
    let weights = options.class_weights.of(&class_sizes(rows));
    if weights.iter().all(|&weight| weight == 1.0) {
        return rows.clone();
    }
    let scaled = |count: u64, weight: f64| count * (weight * WEIGHT_UNIT).round().max(1.0) as u64;
    let counted = rows.counts().iter().enumerate().map(|(row, counts)| {
        let counts = counts.iter().zip(&weights).map(|(&count, &weight)| scaled(count, weight)).collect();
        (rows.rows().row(row), counts)
    });
    Tally::from_counts(rows.rows().features(), counted)
}

/// How many rows the network labels correctly.
pub fn correct(network: &Network, rows: &Tally) -> u64 {
    let mut evaluator = NetworkEvaluator::new(network);
    let mut right = 0;
    for block in 0..rows.rows().blocks() {
        right += right_in_block(rows, block, evaluator.classes(&rows.rows().block(block)));
    }
    right
}

/// How many rows, in a block of 64 distinct ones, have the class predicted in their lane.
pub(super) fn right_in_block(rows: &Tally, block: usize, classes: &[u64]) -> u64 {
    let counts = rows.counts()[block * 64..].iter().take(64).enumerate();
    let right = |(lane, counts): (usize, &Vec<u64>)| {
        counts.iter().zip(classes).map(|(count, word)| count * (word >> lane & 1)).sum::<u64>()
    };
    counts.map(right).sum()
}

/// Hidden widths of binary networks to choose from.
const BINARY_WIDTHS: [&[usize]; 4] = [&[], &[3], &[7], &[13]];

/// A network of weights +-1 whose width is chosen: the smallest within a standard error of the best over three folds,
/// limited to what is affordable.
fn choose_width(
    rows: &Tally,
    options: &TrainOptions,
    afford: Afford<'_>,
    watch: &Watch<'_>,
) -> Result<(Network, Weights, Choice), ModelError> {
    const FOLDS: usize = 3;
    let folds = Folds::new(rows, &options.class_weights.of(&class_sizes(rows)), FOLDS, options.seed);
    let judged = BINARY_WIDTHS.par_iter().map(|hidden| {
        let widths = widths_of(rows, hidden)?;
        let of_fold = |fold: usize| -> Result<Judged, ModelError> {
            let network = descend(&folds.learned(rows, fold), &widths, Weights::Binary, options, &watch.silent())?;
            Ok(folds.judge_answers(fold, |row| network.classify(&rows.rows().row(row as usize))))
        };
        Ok(Judged::joined((0..FOLDS).map(of_fold).collect::<Result<Vec<_>, _>>()?))
    });
    let judged = judged.collect::<Result<Vec<_>, ModelError>>()?;
    let by_accuracy = |a: &&Judged, b: &&Judged| a.accuracy().mean.total_cmp(&b.accuracy().mean);
    let best = judged.iter().rev().max_by(by_accuracy).expect("there are widths");
    let chosen = judged.iter().position(|judged| !best.more_right(judged).is_clear()).expect("the best is there");
    let accuracy = judged[chosen].accuracy();
    for (place, hidden) in BINARY_WIDTHS[..=chosen].iter().enumerate().rev() {
        let network = train_layers(rows, hidden, Weights::Binary, options, watch)?;
        let nodes = afford(&network)?;
        if nodes.is_none() && place > 0 {
            continue;
        }
        let smaller = if place < chosen { "; wider layers are beyond the budget for the circuit" } else { "" };
        let words = format!(
            "chosen: shape {}, weights binary; {FOLDS}-fold validation inside the training rows gives {:.4} +- {:.4}, and no \
             larger network was better by a standard error{smaller}",
            network.shape(),
            accuracy.mean,
            accuracy.error
        );
        let accuracy = Some([accuracy.mean, accuracy.error]);
        let choice = Choice { strength: None, pairs: 0, folds: FOLDS, accuracy, nodes, words };
        return Ok((network, Weights::Binary, choice));
    }
    unreachable!("the smallest network is always taken")
}

fn descend(
    rows: &Tally,
    widths: &[usize],
    weights: Weights,
    options: &TrainOptions,
    watch: &Watch<'_>,
) -> Result<Network, ModelError> {
    let (mut learn, judge) = hold_back(rows, options.seed);
    let class_weights = options.class_weights.of(&class_sizes(rows));
    let judge = class_weighted(&judge, options);
    let mut latent = Latent::new(widths, weights, &class_weights, options.seed);
    let mut adam = AdamW::new(latent.parameters.len());
    let mut chance = Seeded::new(options.seed, 2);
    let mut best = (latent.network()?, 0);
    let mut since_best = 0;
    for epoch in 0..options.epochs {
        watch.step(epoch as u64, options.epochs as u64)?;
        let turn = std::f64::consts::PI * epoch as f64 / options.epochs as f64;
        let rate = options.learning_rate * 0.5 * (1.0 + turn.cos());
        chance.shuffle(&mut learn);
        for batch in learn.chunks(options.batch) {
            watch.check()?;
            latent.learn(rows.rows(), batch, &mut adam, rate);
        }
        let network = latent.network()?;
        let score = correct(&network, &judge);
        if score > best.1 {
            best = (network, score);
            since_best = 0;
        } else {
            since_best += 1;
            if since_best >= options.patience {
                break;
            }
        }
    }
    Ok(best.0)
}

/// The training rows one by one, as (index of the distinct row, class), and separately those held back for evaluation.
fn hold_back(rows: &Tally, seed: u64) -> (Vec<(u32, u32)>, Tally) {
    let mut all = Vec::new();
    for (row, counts) in rows.counts().iter().enumerate() {
        for (class, &count) in counts.iter().enumerate() {
            all.extend((0..count).map(|_| (row as u32, class as u32)));
        }
    }
    Seeded::new(seed, 1).shuffle(&mut all);
    let kept = all.len() - ((all.len() as f64 * HELD_BACK) as usize).max(1);
    let mut counts = vec![vec![0; rows.counts()[0].len()]; rows.counts().len()];
    all[kept..].iter().for_each(|&(row, class)| counts[row as usize][class as usize] += 1);
    all.truncate(kept);
    let counted = counts.into_iter().enumerate().map(|(row, counts)| (rows.rows().row(row), counts));
    (all, Tally::from_counts(rows.rows().features(), counted))
}

/// Latent weights and biases, and the passes that compute their gradient.
struct Latent {
    parameters: Vec<f32>,
    pass: StraightThrough,
}

impl Latent {
    fn new(widths: &[usize], weights: Weights, class_weights: &[f64], seed: u64) -> Self {
        let pass = StraightThrough::new(widths, weights, class_weights);
        let mut chance = Seeded::new(seed, 3);
        let mut parameters = Vec::new();
        // Ternary weights must not all round to 0 at first: there would be no way out.
        let width = if weights == Weights::Ternary { 2.0 } else { 1.0 };
        for layer in pass.layers() {
            parameters.extend(layer.weights().map(|_| (width * (chance.unit() - 0.5)) as f32));
            parameters.resize(layer.bias().end, 0.0);
        }
        Latent { parameters, pass }
    }

    /// One gradient step on a batch.
    fn learn(&mut self, bits: &Bits, batch: &[(u32, u32)], adam: &mut AdamW, rate: f64) {
        let mut rows = Vec::with_capacity(batch.len() * bits.features());
        for &(row, _) in batch {
            let value = |feature| if bits.get(row as usize, feature) { 1.0 } else { -1.0 };
            rows.extend((0..bits.features()).map(value));
        }
        let labels: Vec<u32> = batch.iter().map(|&(_, class)| class).collect();
        let gradient = self.pass.gradient(&self.parameters, &rows, &labels);
        adam.step(&mut self.parameters, gradient, rate);
        // Latent weights beyond +-1 would get no gradient and stay there.
        for layer in self.pass.layers() {
            self.parameters[layer.weights()].iter_mut().for_each(|weight| *weight = weight.clamp(-1.0, 1.0));
        }
    }

    /// The network of the rounded weights.
    fn network(&self) -> Result<Network, ModelError> {
        let mut layers = Vec::new();
        for (index, layer) in self.pass.layers().iter().enumerate() {
            let root = (layer.inputs as f64).sqrt() * f64::from(self.pass.unit());
            let whole = |&weight: &f32| RBig::from(self.pass.rounded(weight) as i64);
            let name = format!("layer {}", index + 1);
            let bias = self.parameters[layer.bias()].iter().enumerate();
            let bias = bias.map(|(n, &b)| super::number::exact(f64::from(b) * root, &name, "the bias", n));
            let weights = self.parameters[layer.weights()].chunks_exact(layer.inputs);
            layers.push(DenseLayer {
                bias: bias.collect::<Result<_, _>>()?,
                weights: weights.map(|row| row.iter().map(whole).collect()).collect(),
                name,
                norm: None,
            });
        }
        fold_network(&layers)
    }
}

/// Adam (Kingma and Ba 2015) with the weight decay of Loshchilov and Hutter 2019: a step is the running mean of the
/// gradient divided by the root of the running mean of its square, both corrected for their start at 0.
struct AdamW {
    steps: i32,
    means: Vec<f32>,
    squares: Vec<f32>,
}

impl AdamW {
    const BETA: (f32, f32) = (0.9, 0.999);
    const EPSILON: f32 = 1e-8;
    const DECAY: f64 = 1e-4;

    fn new(parameters: usize) -> Self {
        AdamW { steps: 0, means: vec![0.0; parameters], squares: vec![0.0; parameters] }
    }

    fn step(&mut self, parameters: &mut [f32], gradient: &[f32], rate: f64) {
        self.steps = self.steps.saturating_add(1);
        let (b1, b2) = Self::BETA;
        let correction = |beta: f32| (1.0 / (1.0 - f64::from(beta).powi(self.steps))) as f32;
        let (c1, c2) = (correction(b1), correction(b2));
        let (keep, rate) = ((1.0 - rate * Self::DECAY) as f32, rate as f32);
        let moments = self.means.iter_mut().zip(&mut self.squares);
        for ((parameter, &slope), (mean, square)) in parameters.iter_mut().zip(gradient).zip(moments) {
            *mean = b1 * *mean + (1.0 - b1) * slope;
            *square = b2 * *square + (1.0 - b2) * slope * slope;
            *parameter = *parameter * keep - rate * (*mean * c1) / ((*square * c2).sqrt() + Self::EPSILON);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All assignments of some features, three times each, with the class that a function gives them.
    fn rows_of(features: usize, classes: usize, class: impl Fn(&[bool]) -> usize) -> Tally {
        let counted = (0..1usize << features).map(|number| {
            let row: Vec<bool> = (0..features).map(|feature| number >> feature & 1 == 1).collect();
            let mut counts = vec![0; classes];
            counts[class(&row)] = 3;
            (row, counts)
        });
        Tally::from_counts(features, counted)
    }

    fn ones(row: &[bool]) -> usize {
        row.iter().filter(|&&bit| bit).count()
    }

    fn train_with(rows: &Tally, hidden: &[usize]) -> Network {
        let options = TrainOptions { batch: 16, ..TrainOptions::binary(hidden) };
        train(rows, &options, &|_| Ok(Some(1)), &Watch::unlimited()).unwrap().network
    }

    #[test]
    fn slow_learns_functions_with_any_number_of_hidden_layers() {
        let majority = rows_of(7, 2, |row| usize::from(ones(row) > 3));
        let parity = rows_of(2, 2, |row| ones(row) % 2);
        let thirds = rows_of(6, 3, |row| (ones(row) > 2) as usize + (ones(row) > 3) as usize);
        for (rows, hidden) in [
            (&majority, &[][..]),
            (&majority, &[5]),
            (&majority, &[7, 5, 3]),
            (&parity, &[4]),
            (&parity, &[4, 3]),
            (&thirds, &[8]),
            (&thirds, &[8, 8]),
        ] {
            let network = train_with(rows, hidden);
            assert_eq!(correct(&network, rows), rows.total(), "{hidden:?}");
            let right = |row: usize| {
                let class = network.classify(&rows.rows().row(row));
                rows.counts()[row][class] > 0
            };
            assert!((0..rows.rows().rows()).all(right), "{hidden:?}: the definition agrees");
        }
    }

    #[test]
    fn descent_alone_learns() {
        for (classes, hidden) in [(2, &[][..]), (2, &[9]), (2, &[9, 5]), (4, &[20])] {
            let rows = rows_of(8, classes, |row| (ones(row) * classes / 9).min(classes - 1));
            let outputs = if classes == 2 { 1 } else { classes };
            let widths: Vec<usize> = [8].into_iter().chain(hidden.iter().copied()).chain([outputs]).collect();
            let options = TrainOptions { batch: 16, ..TrainOptions::default() };
            for weights in [Weights::Binary, Weights::Ternary, Weights::Integer(3)] {
                let network = descend(&rows, &widths, weights, &options, &Watch::unlimited()).unwrap();
                let share = correct(&network, &rows) as f64 / rows.total() as f64;
                assert!(share >= 0.9, "{classes} classes, {hidden:?}, {weights}: {share}");
            }
        }
    }

    #[test]
    fn slow_one_seed_gives_one_network() {
        let rows = rows_of(6, 2, |row| usize::from(ones(row) > 2 && row[0]));
        let first = train_with(&rows, &[5]);
        assert_eq!(first, train_with(&rows, &[5]));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(first, pool.install(|| train_with(&rows, &[5])));
    }

    #[test]
    fn steps_follow_the_published_formula() {
        let (rate, slopes) = (0.1, [0.3f64, -2.0, 0.5, 0.0, 1e-3]);
        let mut adam = AdamW::new(1);
        let mut parameter = [0.7f32];
        let mut expected = f64::from(parameter[0]);
        for (t, &slope) in slopes.iter().enumerate() {
            adam.step(&mut parameter, &[slope as f32], rate);
            // The running means, written out as sums.
            let running = |beta: f64, power: i32| {
                let past = slopes[..=t].iter().enumerate();
                let sum: f64 = past.map(|(k, g)| beta.powi((t - k) as i32) * g.powi(power)).sum();
                (1.0 - beta) * sum / (1.0 - beta.powi(t as i32 + 1))
            };
            expected -= rate * (1e-4 * expected + running(0.9, 1) / (running(0.999, 2).sqrt() + 1e-8));
            assert!((f64::from(parameter[0]) - expected).abs() < 1e-5, "step {t}: {parameter:?}, not {expected}");
        }
    }

    #[test]
    fn what_cannot_be_trained_is_refused() {
        let rows = rows_of(2, 2, |row| ones(row) % 2);
        let refusal =
            |rows: &Tally, options: TrainOptions| match train(rows, &options, &|_| Ok(Some(1)), &Watch::unlimited()) {
                Err(error) => error.to_string(),
                Ok(learned) => panic!("trained {learned:?}"),
            };
        let with = || TrainOptions::binary(&[13]);
        assert!(refusal(&rows_of(2, 1, |_| 0), with()).contains("too few"));
        assert!(refusal(&rows, TrainOptions { batch: 0, ..with() }).contains("at least 1"));
        assert!(refusal(&rows, TrainOptions::binary(&[3, 0])).contains("at least 1"));
        assert!(refusal(&rows, TrainOptions::binary(&[1 << 40, 1 << 40])).contains("weights"));
        assert!(refusal(&rows, TrainOptions { learning_rate: f64::INFINITY, ..with() }).contains("finite"));
    }
}
