//! The direct routes from a network to an ordered diagram: evaluating all inputs, the whole truth table, partial sums,
//! and apply, on dense networks from a seeded generator.
#![allow(missing_docs, reason = "made by a macro")]

use boolshap::circuit::lower_obdd;
use boolshap::data::Seeded;
use boolshap::diagram::{ApplyOptions, SumsLimits, compile_apply, compile_sums, compile_table};
use boolshap::lit::{Var, Watch};
use boolshap::model::{AllInputs, Gate, Label, Network, Output};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn label(inputs: usize, hidden: usize) -> Label {
    let mut random = Seeded::new(7, (inputs << 16 | hidden) as u64);
    let mut gate = |width: usize| {
        let weights = (0..width).map(|_| if random.below(2) == 1 { 1 } else { -1 }).collect();
        Gate::new(weights, (width / 2 + random.below(2)) as i128).unwrap()
    };
    let neurons = (0..hidden).map(|_| gate(inputs)).collect();
    let output = Output::Step(gate(hidden));
    Label::of_class(&Network::new(inputs, vec![neurons], output).unwrap(), 1).unwrap()
}

fn compile(criterion: &mut Criterion) {
    let watch = Watch::unlimited();
    let mut group = criterion.benchmark_group("compile");
    group.sample_size(20);
    for n in [13, 20] {
        let label = label(n, n);
        let order: Vec<Var> = (0..n).map(Var::new).collect();
        group.throughput(Throughput::Elements(1 << n));
        group.bench_function(BenchmarkId::new("evaluate all inputs", n), |bencher| {
            bencher.iter(|| AllInputs::new(&label, &order).table(&watch).unwrap());
        });
        group.bench_function(BenchmarkId::new("truth table to circuit", n), |bencher| {
            bencher.iter(|| lower_obdd(&compile_table(&label, &order, usize::MAX, &watch).unwrap()).unwrap());
        });
    }
    let few = label(13, 13);
    let order: Vec<Var> = (0..13).map(Var::new).collect();
    group.throughput(Throughput::Elements(1 << 13));
    group.bench_function("apply 13-13-1", |bencher| {
        bencher.iter(|| compile_apply(&few, &order, &ApplyOptions::default(), &watch).unwrap());
    });
    for (inputs, hidden) in [(30, 5), (60, 3), (100, 2)] {
        let label = label(inputs, hidden);
        let order: Vec<Var> = (0..inputs).map(Var::new).collect();
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::new("partial sums", format!("{inputs}x{hidden}")), |bencher| {
            bencher.iter(|| compile_sums(&label, &order, SumsLimits::default(), &watch).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, compile);
criterion_main!(benches);
