//! Training: gradient descent through the signs, then a discrete polish.
//!
//! The idea: real latent weights are kept beside their signs. The forward pass uses the signs and hard activations; the
//! backward pass pretends that a sign is the identity between -1 and 1 (the straight-through estimator of Bengio, Leonard
//! and Courville 2013, as used for binary networks by Hubara et al. 2016). AdamW moves the latent weights over
//! mini-batches; after every epoch the network of signs is judged on rows held back from the training part, and training
//! stops when it has not improved for a while. Then [`super::polish`] searches around the best one.
//!
//! All chance comes from the seed, and rows come as a [`Tally`], so neither the order of rows in a file nor the number of
//! threads matters: one seed gives one network.

use super::fold::{DenseLayer, fold_network};
use super::polish::polish;
use super::{Evaluator, ModelError, Network};
use crate::data::{Bits, Seeded, Tally};
use crate::lit::Watch;
use candle_core::{D, DType, Device, Tensor, Var};
use candle_nn::loss::cross_entropy;
use candle_nn::{AdamW, Optimizer, ParamsAdamW};
use dashu::rational::RBig;

/// What to train and how long.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainOptions {
    /// The widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// Where initial weights, batches and the polish are drawn from.
    pub seed: u64,
    /// The most passes over the training rows.
    pub epochs: usize,
    /// How many passes without improvement end the training.
    pub patience: usize,
    /// Rows in a batch.
    pub batch: usize,
    /// The step size of AdamW at the start; it falls to zero along a cosine.
    pub learning_rate: f64,
}

impl Default for TrainOptions {
    fn default() -> Self {
        TrainOptions { hidden: vec![13], seed: 7, epochs: 60, patience: 15, batch: 128, learning_rate: 0.02 }
    }
}

/// More weights than this are refused before memory runs out.
const MAX_WEIGHTS: usize = 100_000_000;
/// The share of the training rows that judges the epochs.
const HELD_BACK: f64 = 0.1;

/// Trains a network of weights +-1 on rows of two or more classes: a step output for two, argmax for more.
pub fn train(rows: &Tally, options: &TrainOptions, watch: &Watch<'_>) -> Result<Network, ModelError> {
    let classes = rows.counts().first().map_or(0, Vec::len);
    if rows.total() < 2 || classes < 2 || rows.rows().features() == 0 {
        return Err(ModelError::Training("there are too few rows, classes or features to learn from".into()));
    }
    if options.batch == 0 || options.hidden.contains(&0) {
        return Err(ModelError::Training("the batch size and every hidden layer must be at least 1".into()));
    }
    let widths: Vec<usize> = [rows.rows().features()].into_iter().chain(options.hidden.iter().copied()).collect();
    let weights = widths.windows(2).try_fold(0usize, |sum, pair| sum.checked_add(pair[0].checked_mul(pair[1])?));
    if weights.is_none_or(|weights| weights > MAX_WEIGHTS) {
        return Err(ModelError::Training(format!("the hidden layers have more than {MAX_WEIGHTS} weights")));
    }
    // One thread: the matrices are small, and the result cannot depend on how many cores there are.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.map_err(|e| ModelError::Training(format!("no thread to train on: {e}")))?;
    let start = pool.install(|| descend(rows, classes, options, watch))?;
    polish(&start, rows, options.seed, watch)
}

/// How many of the rows the network labels right.
pub fn correct(network: &Network, rows: &Tally) -> u64 {
    let mut evaluator = Evaluator::new(network);
    let mut right = 0;
    for block in 0..rows.rows().blocks() {
        right += right_in_block(rows, block, evaluator.classes(&rows.rows().block(block)));
    }
    right
}

/// How many rows of a block of 64 distinct ones are of the class that their lane has.
pub(super) fn right_in_block(rows: &Tally, block: usize, classes: &[u64]) -> u64 {
    let counts = rows.counts()[block * 64..].iter().take(64).enumerate();
    let right = |(lane, counts): (usize, &Vec<u64>)| {
        counts.iter().zip(classes).map(|(count, word)| count * (word >> lane & 1)).sum::<u64>()
    };
    counts.map(right).sum()
}

fn descend(rows: &Tally, classes: usize, options: &TrainOptions, watch: &Watch<'_>) -> Result<Network, ModelError> {
    let (learn, judge) = hold_back(rows, options.seed);
    let inputs = signs(rows.rows())?;
    let mut latent = Latent::new(rows.rows().features(), classes, options)?;
    let config = ParamsAdamW { lr: options.learning_rate, weight_decay: 1e-4, ..ParamsAdamW::default() };
    let mut optimizer = AdamW::new(latent.variables(), config)?;
    let mut order = learn;
    let mut chance = Seeded::new(options.seed, 2);
    let mut best = (latent.network()?, 0);
    let mut since_best = 0;
    for epoch in 0..options.epochs {
        watch.step(epoch as u64, options.epochs as u64)?;
        let turn = std::f64::consts::PI * epoch as f64 / options.epochs as f64;
        optimizer.set_learning_rate(options.learning_rate * 0.5 * (1.0 + turn.cos()));
        chance.shuffle(&mut order);
        for batch in order.chunks(options.batch) {
            watch.check()?;
            let (rows, labels): (Vec<u32>, Vec<u32>) = batch.iter().copied().unzip();
            let count = batch.len();
            let x = inputs.index_select(&Tensor::from_vec(rows, count, &Device::Cpu)?, 0)?;
            let loss = cross_entropy(&latent.logits(&x)?, &Tensor::from_vec(labels, count, &Device::Cpu)?)?;
            optimizer.backward_step(&loss)?;
            latent.clip()?;
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

/// The training rows one by one, as (index of the distinct row, class), without those held back for judging.
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

/// The rows as +1 and -1.
fn signs(bits: &Bits) -> Result<Tensor, ModelError> {
    let value = |row, feature| if bits.get(row, feature) { 1f32 } else { -1.0 };
    let values = (0..bits.rows()).flat_map(|row| (0..bits.features()).map(move |feature| value(row, feature)));
    Ok(Tensor::from_vec(values.collect::<Vec<_>>(), (bits.rows(), bits.features()), &Device::Cpu)?)
}

/// Latent weights and biases, layer by layer. A pre-activation is `(sign(w) . s) / sqrt(inputs) + bias`.
struct Latent {
    layers: Vec<(Var, Var)>,
}

impl Latent {
    fn new(inputs: usize, classes: usize, options: &TrainOptions) -> Result<Self, ModelError> {
        let mut chance = Seeded::new(options.seed, 3);
        let outputs = if classes == 2 { 1 } else { classes };
        let mut layers = Vec::new();
        let mut width = inputs;
        for &next in options.hidden.iter().chain([&outputs]) {
            let weights: Vec<f32> = (0..next * width).map(|_| (chance.unit() - 0.5) as f32).collect();
            let weights = Tensor::from_vec(weights, (next, width), &Device::Cpu)?;
            layers.push((Var::from_tensor(&weights)?, Var::zeros(next, DType::F32, &Device::Cpu)?));
            width = next;
        }
        Ok(Latent { layers })
    }

    fn variables(&self) -> Vec<Var> {
        self.layers.iter().flat_map(|(weights, bias)| [weights.clone(), bias.clone()]).collect()
    }

    fn logits(&self, x: &Tensor) -> Result<Tensor, ModelError> {
        let mut values = x.clone();
        for (index, (weights, bias)) in self.layers.iter().enumerate() {
            let scale = 1.0 / (weights.dim(1)? as f64).sqrt();
            let sums = (values.matmul(&straight_through_sign(weights.as_tensor())?.t()?)? * scale)?;
            values = sums.broadcast_add(bias.as_tensor())?;
            if index + 1 < self.layers.len() {
                values = straight_through_sign(&values)?;
            }
        }
        if values.dim(D::Minus1)? > 1 {
            return Ok(values);
        }
        // One output is the logit of class 1 against a constant 0.
        Ok(Tensor::cat(&[&values.zeros_like()?, &values], 1)?)
    }

    /// Latent weights beyond +-1 would get no gradient and never come back.
    fn clip(&mut self) -> Result<(), ModelError> {
        for (weights, _) in &self.layers {
            weights.set(&weights.as_tensor().clamp(-1f32, 1f32)?)?;
        }
        Ok(())
    }

    /// The network of the signs.
    fn network(&self) -> Result<Network, ModelError> {
        let mut layers = Vec::new();
        for (index, (weights, bias)) in self.layers.iter().enumerate() {
            let root = (weights.dim(1)? as f64).sqrt();
            let sign = |w: f32| if w >= 0.0 { RBig::ONE } else { -RBig::ONE };
            let rows = weights.as_tensor().to_vec2::<f32>()?;
            let bias = bias.as_tensor().to_vec1::<f32>()?;
            let name = format!("layer {}", index + 1);
            let bias =
                bias.iter().enumerate().map(|(n, &b)| super::number::exact(f64::from(b) * root, &name, "the bias", n));
            layers.push(DenseLayer {
                bias: bias.collect::<Result<_, _>>()?,
                weights: rows.iter().map(|row| row.iter().map(|&w| sign(w)).collect()).collect(),
                name,
                norm: None,
            });
        }
        fold_network(&layers)
    }
}

/// The sign going forward (0 counts as +1), the identity clipped to +-1 going back.
fn straight_through_sign(x: &Tensor) -> Result<Tensor, ModelError> {
    let clipped = x.clamp(-1f32, 1f32)?;
    let hard = ((x.ge(0f32)?.to_dtype(DType::F32)? * 2.0)? - 1.0)?;
    Ok((&clipped + (hard - &clipped)?.detach())?)
}

impl From<candle_core::Error> for ModelError {
    fn from(error: candle_core::Error) -> Self {
        ModelError::Training(format!("training failed: {error}"))
    }
}
