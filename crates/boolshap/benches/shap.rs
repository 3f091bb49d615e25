//! The fast engine: a network like the paper's, one entity of it, and diagrams of a thousand and a million nodes.
//!
//! One thread, every row computed. Throughput counts useful floating-point operations; compare it with the machine's
//! own rate, which is measured first.
#![allow(missing_docs, clippy::print_stdout, reason = "made by a macro; a benchmark says what it compares with")]

use boolshap::circuit::{Circuit, CircuitBuilder, Node, NodeId};
use boolshap::data::{Bits, Seeded};
use boolshap::explain::{FastEngine, Probabilities, USEFUL_OPERATIONS, multiply_add_rate};
use boolshap::lit::{Var, Watch};
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use std::time::Duration;

/// The reduced diagram of a random network of n inputs, n hidden neurons and one output.
fn network(n: usize) -> Circuit {
    let mut random = Seeded::new(1, 0);
    let mut signs = || -> Vec<i32> { (0..n).map(|_| if random.below(2) == 0 { 1 } else { -1 }).collect() };
    let hidden: Vec<Vec<i32>> = (0..n).map(|_| signs()).collect();
    let output = signs();
    let fires = |weights: &[i32], bit: &dyn Fn(usize) -> bool| {
        weights.iter().enumerate().map(|(v, weight)| if bit(v) { *weight } else { -weight }).sum::<i32>() > 0
    };
    let mut builder = CircuitBuilder::new(n).unwrap();
    let mut level: Vec<NodeId> = (0..1usize << n)
        .map(|index| {
            let neurons: Vec<bool> = hidden.iter().map(|weights| fires(weights, &|v| index >> v & 1 == 1)).collect();
            builder.constant(fires(&output, &|neuron| neurons[neuron])).unwrap()
        })
        .collect();
    for v in 0..n {
        let mut decide =
            |lo: NodeId, hi: NodeId| if lo == hi { lo } else { builder.decision(Var::new(v), lo, hi).unwrap() };
        level = level.chunks(2).map(|pair| decide(pair[0], pair[1])).collect();
    }
    builder.finish(level[0]).unwrap()
}

/// A random ordered diagram of n levels, doubling from the root until they are `width` wide. Half of the edges reach
/// every node of the next level, the others lead to any deeper one.
fn diagram(n: usize, width: usize) -> Circuit {
    let mut random = Seeded::new(2, 0);
    let mut builder = CircuitBuilder::new(n).unwrap();
    let mut deeper = [false, true].map(|value| builder.constant(value).unwrap()).to_vec();
    let mut next = deeper.clone();
    for v in (0..n).rev() {
        let nodes = if v < 40 { width.min(1 << v) } else { width };
        let mut child = |place: usize| next.get(place).copied().unwrap_or_else(|| deeper[random.below(deeper.len())]);
        let pairs: Vec<[NodeId; 2]> = (0..nodes).map(|node| [child(2 * node), child(2 * node + 1)]).collect();
        next =
            pairs.iter().map(|&[lo, hi]| builder.push(Node::Decision { var: Var::new(v), lo, hi }).unwrap()).collect();
        deeper.extend(&next);
    }
    builder.finish(next[0]).unwrap()
}

fn entities(features: usize, rows: usize) -> Bits {
    let mut random = Seeded::new(3, 0);
    let mut bits = Bits::new(features);
    for _ in 0..rows {
        bits.push(&(0..features).map(|_| random.below(2) == 0).collect::<Vec<bool>>());
    }
    bits
}

fn shap(criterion: &mut Criterion) {
    // One thread for the whole process, so that the time to hand work to another thread is not measured.
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().unwrap();
    println!("multiply-adds in registers: {:.1} GFLOP/s", multiply_add_rate() / 1e9);
    let mut group = criterion.benchmark_group("shap");
    let network = network(13);
    for (name, circuit, rows) in [
        ("network 13-13-1, 448 entities", network.clone(), 448),
        ("network 13-13-1, one entity", network, 1),
        ("diagram of a thousand nodes, 64 entities", diagram(20, 75), 64),
        ("diagram of a million nodes, 16 entities", diagram(24, 160_000), 16),
    ] {
        let engine = FastEngine::new(&circuit).unwrap().merge_rows(false);
        let (bits, uniform) = (entities(circuit.variables(), rows), Probabilities::uniform(circuit.variables()));
        let operations = engine.nodes() as u64 * engine.points() as u64 * rows as u64 * USEFUL_OPERATIONS;
        group.throughput(Throughput::Elements(operations));
        if engine.nodes() > 100_000 {
            group.sampling_mode(SamplingMode::Flat).sample_size(10).measurement_time(Duration::from_secs(20));
        }
        group.bench_function(BenchmarkId::new(name, engine.nodes()), |bencher| {
            bencher.iter(|| engine.explain(&bits, &uniform, &Watch::unlimited()).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, shap);
criterion_main!(benches);
