//! Progress is a share of the work: reports rise evenly with the work done, never go back, and are complete only at the
//! end.

use boolshap::circuit::NamedCircuit;
use boolshap::data::{Bits, Seeded};
use boolshap::lit::{Progress, Watch};
use boolshap::model::{Gate, Network, Output};
use boolshap::workflow::{ClassChoice, DistributionFrom, RowsFrom, Via, compile_watched, verify_watched};
use boolshap::{CompileRequest, Explainer, Model, Request, VerifyRequest};
use std::sync::Mutex;

/// What a piece of work reports.
fn reports(work: impl FnOnce(&Watch<'_>)) -> Vec<Progress> {
    let seen = Mutex::new(Vec::new());
    let report = |progress: Progress| seen.lock().unwrap().push(progress);
    work(&Watch::unlimited().progress(&report));
    seen.into_inner().unwrap()
}

/// In each stage, shares and counts never go back; only the last share is complete.
fn assert_rising(reports: &[Progress]) {
    assert!(!reports.is_empty());
    for pair in reports.windows(2) {
        let [before, after] = [pair[0], pair[1]];
        if (before.stage, before.unit, before.total) == (after.stage, after.unit, after.total) {
            assert!(before.done <= after.done, "{before:?} {after:?}");
        }
        assert!(before.share().is_none_or(|share| share < 1.0 || before.stage != after.stage), "{before:?} {after:?}");
    }
}

fn model(inputs: usize, hidden: usize, seed: u64) -> Model {
    let mut chance = Seeded::new(seed, 0);
    let mut gate = |width: usize| {
        let weights = (0..width).map(|_| if chance.below(2) == 1 { 1 } else { -1 }).collect();
        Gate::new(weights, width.div_ceil(2) as i128).unwrap()
    };
    let layer = (0..hidden).map(|_| gate(inputs)).collect();
    let network = Network::new(inputs, vec![layer], Output::Step(gate(hidden))).unwrap();
    Model::new(network, Model::default_features(inputs)).unwrap()
}

fn compiled(model: &Model, request: &CompileRequest) -> (NamedCircuit, Vec<Progress>) {
    let mut circuit = None;
    let seen = reports(|watch| circuit = Some(compile_watched(model, request, watch).unwrap().circuit));
    (circuit.unwrap(), seen)
}

#[test]
fn every_route_tells_the_truth() {
    for via in Via::NAMES {
        let via: Via = via.parse().unwrap();
        let request = CompileRequest { via, ..CompileRequest::default() };
        let (_, seen) = compiled(&model(10, 4, 1), &request);
        assert_rising(&seen);
        // The total number of states, steps or clauses is not known, so no share is given.
        let has_shares = seen.iter().all(|progress| progress.total.is_some());
        assert_eq!(has_shares, matches!(via.name(), "auto" | "truth-table"), "{via:?} {seen:?}");
    }
}

#[test]
fn several_orders_and_classes_are_one_piece_of_work() {
    // Tables of up to 20 inputs are compiled in several orders.
    let request = CompileRequest { class: Some(ClassChoice::Each), ..CompileRequest::default() };
    let (_, seen) = compiled(&model(18, 6, 2), &request);
    assert_rising(&seen);
    let shares: Vec<f64> = seen.iter().map(|progress| progress.share().unwrap()).collect();
    let gap = shares.windows(2).map(|pair| pair[1] - pair[0]).fold(shares[0], f64::max);
    assert!(gap < 0.2 && shares.last().unwrap() > &0.9, "{shares:?}");
}

#[test]
fn a_large_background_is_told_start_by_start() {
    let model = model(12, 5, 3);
    let (circuit, _) = compiled(&model, &CompileRequest::default());
    let mut chance = Seeded::new(9, 0);
    let mut rows = |count: usize| {
        let mut rows = Bits::new(12);
        (0..count).for_each(|_| rows.push(&(0..12).map(|_| chance.below(2) == 1).collect::<Vec<_>>()));
        rows
    };
    let (background, explained) = (rows(4000), rows(3));
    let distribution = DistributionFrom::Background(RowsFrom::Bits(background));
    let explainer = Explainer::new(&circuit, &Request { distribution, ..Request::default() }).unwrap();
    let seen = reports(|watch| drop(explainer.explain(&explained, watch).unwrap()));
    assert_rising(&seen);
    // The work is the same for each start, so the reported share equals the work done, up to a few lanes.
    let shares: Vec<f64> = seen.iter().map(|progress| progress.share().unwrap()).collect();
    let starts = explainer.visits(explainer.ask()).unwrap() as f64;
    assert!(starts > 0.0 && shares.len() > 300, "{}", shares.len());
    let even = (0..shares.len()).map(|at| (at + 1) as f64 / shares.len() as f64);
    let off = shares.iter().zip(even).map(|(share, even)| (share - even).abs()).fold(0.0, f64::max);
    assert!(off < 0.05, "{off}");
}

#[test]
fn proofs_tell_how_far_they_are() {
    let model = model(14, 4, 4);
    let (circuit, _) = compiled(&model, &CompileRequest::default());
    let folder = std::env::temp_dir().join(format!("boolshap-progress-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for proof in [None, Some(folder.join("p.lrat"))] {
        let request = VerifyRequest { proof: proof.clone(), ..VerifyRequest::default() };
        let seen = reports(|watch| drop(verify_watched(&model, &circuit, &request, watch).unwrap()));
        assert_rising(&seen);
        let checks = seen.iter().any(|progress| progress.stage == "checking the proof");
        assert_eq!(checks, proof.is_some(), "{seen:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
