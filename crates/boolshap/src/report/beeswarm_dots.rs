//! The dots of a beeswarm: which rows share a dot, the sizes of dots, and their positions around the line.

use super::axis::Axis;
use super::beeswarm_figure::{SwarmDot, SwarmRow, SwarmValue};
use super::figure_text::{counted, finite, shown, signed};
use super::svg::Class;
use std::collections::BTreeMap;
use std::f64::consts::PI;

/// The number of bins along a line; dots of one value in the same bin are drawn as one.
const BINS: f64 = 120.0;
/// How far dots reach above and below their line.
pub(super) const REACH: f64 = 16.0;
/// The smallest radius of the dot with the most rows.
pub(super) const SMALLEST: f64 = 3.0;

/// Dots with the same kind of value and the same bin.
pub(super) struct Group<'a> {
    /// The bin along the line.
    bin: usize,
    /// Their smallest score.
    low: f64,
    /// Their largest score.
    high: f64,
    /// The sum of the scores, each times its count.
    weighted: f64,
    /// The number of rows.
    pub(super) count: u64,
    /// The largest dot of the group, whose row represents it.
    pub(super) row: &'a SwarmDot,
    /// The values, as many as fit into a tooltip.
    values: Vec<&'a str>,
}

impl Group<'_> {
    pub(super) fn score(&self) -> f64 {
        if self.low == self.high { self.low } else { self.weighted / self.count.max(1) as f64 }
    }

    pub(super) fn class(&self) -> Class {
        match self.row.value {
            SwarmValue::One => Class::One,
            SwarmValue::Zero => Class::Zero,
            SwarmValue::Other(_) => Class::Muted,
        }
    }

    pub(super) fn tip(&self, name: &str) -> String {
        let (low, high) = (signed(self.low), signed(self.high));
        let scores = if low == high { format!("score {low}") } else { format!("scores {low} to {high}") };
        let more = if self.values.len() > 3 { ", \u{2026}" } else { "" };
        let values = self.values[..self.values.len().min(3)].join(", ");
        format!("{name} = {values}{more}: {scores}, {}", counted(self.count, "row", "rows"))
    }
}

/// Merges dots by bin and kind of value, so that many rows do not make a large figure.
pub(super) fn merged<'a>(row: &'a SwarmRow, axis: &Axis) -> Vec<Group<'a>> {
    let place = |dot: &SwarmDot| {
        let part = (axis.at(dot.score) - axis.left) / (axis.right - axis.left);
        let kind = match dot.value {
            SwarmValue::Zero => 0,
            SwarmValue::One => 1,
            SwarmValue::Other(_) => 2,
        };
        ((part * BINS).min(BINS - 1.0) as usize, kind)
    };
    let mut groups = BTreeMap::<(usize, i32), Group<'_>>::new();
    for dot in row.dots.iter().filter(|dot| dot.count > 0) {
        let score = finite(dot.score);
        let place = place(dot);
        let new =
            Group { bin: place.0, low: score, high: score, weighted: 0.0, count: 0, row: dot, values: Vec::new() };
        let group = groups.entry(place).or_insert(new);
        group.low = group.low.min(score);
        group.high = group.high.max(score);
        group.weighted += score * dot.count as f64;
        group.count = group.count.saturating_add(dot.count);
        if dot.count > group.row.count {
            group.row = dot;
        }
        let value = match &dot.value {
            SwarmValue::Zero => "0",
            SwarmValue::One => "1",
            SwarmValue::Other(text) => shown(text),
        };
        if group.values.len() < 4 && !group.values.contains(&value) {
            group.values.push(value);
        }
    }
    groups.into_values().collect()
}

/// The radius of the dot with the most rows: as large as the fullest line allows.
pub(super) fn largest_radius(swarms: &[Vec<Group<'_>>], most: u64) -> f64 {
    let share = |group: &Group<'_>| group.count as f64 / most as f64;
    let by_area = swarms.iter().filter(|groups| !groups.is_empty()).map(|groups| {
        let room = groups.len() as f64 * 4.0 + 24.0;
        (0.5 * 2.0 * REACH * room / (PI * groups.iter().map(share).sum::<f64>())).sqrt()
    });
    // Dots of one bin are stacked.
    let by_height = swarms.iter().flat_map(|groups| groups.chunk_by(|a, b| a.bin == b.bin)).map(|stack| {
        let roots: f64 = stack.iter().map(|group| share(group).sqrt()).sum();
        (REACH - 0.5) / roots
    });
    by_area.chain(by_height).fold(10.0, f64::min).max(SMALLEST)
}

/// The dots of a line as (position, offset from the line, radius), where `largest` is the radius for `most` rows.
pub(super) fn placed(groups: &[Group<'_>], axis: &Axis, most: u64, largest: f64) -> Vec<[f64; 3]> {
    // Dots too small to be seen are drawn larger than their share.
    let radius = |group: &Group<'_>| (largest * (group.count as f64 / most as f64).sqrt()).max(1.3);
    let radii: Vec<f64> = groups.iter().map(radius).collect();
    let homes = homes(groups, &radii);
    let places = groups.iter().map(|group| axis.at(group.score()));
    let mut dots: Vec<[f64; 3]> = places.zip(homes).zip(radii).map(|((x, home), radius)| [x, home, radius]).collect();
    let offsets = spread(&dots);
    for (dot, offset) in dots.iter_mut().zip(offsets) {
        dot[1] = offset;
    }
    dots
}

/// Whether some dot hides a good part of another one.
pub(super) fn crowded(dots: &[[f64; 3]]) -> bool {
    let hides = |a: &[f64; 3], b: &[f64; 3]| a[2] + b[2] - (a[0] - b[0]).hypot(a[1] - b[1]) > 0.7 * a[2].min(b[2]);
    dots.iter().enumerate().any(|(index, dot)| dots[..index].iter().any(|other| hides(dot, other)))
}

/// Where dots would be without neighbours: on the line, or stacked around it if they share a bin.
fn homes(groups: &[Group<'_>], radii: &[f64]) -> Vec<f64> {
    let mut homes = Vec::with_capacity(groups.len());
    for stack in groups.chunk_by(|a, b| a.bin == b.bin) {
        let radii = &radii[homes.len()..][..stack.len()];
        let mut top = -radii.iter().sum::<f64>();
        for radius in radii {
            homes.push(top + radius);
            top += 2.0 * radius;
        }
    }
    homes
}

/// Offsets from the line at which dots, given as (position, home, radius), overlap as little as possible: the largest
/// stay at home, and the others go above and below in turn.
fn spread(dots: &[[f64; 3]]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..dots.len()).collect();
    order.sort_by(|&a, &b| dots[b][2].total_cmp(&dots[a][2]));
    let mut offsets = vec![0.0; dots.len()];
    let mut placed: Vec<usize> = Vec::with_capacity(dots.len());
    for (turn, &dot) in order.iter().enumerate() {
        let [x, home, radius] = dots[dot];
        let near: Vec<usize> =
            placed.iter().copied().filter(|&other| (dots[other][0] - x).abs() < radius + dots[other][2]).collect();
        let overlap = |offset: f64| {
            let depths = near.iter().map(|&other| {
                let apart = (dots[other][0] - x).hypot(offsets[other] - offset);
                (radius + dots[other][2] - apart).max(0.0)
            });
            depths.fold(0.0, f64::max)
        };
        let first = if turn % 2 == 0 { 0.5 } else { -0.5 };
        let reach = (REACH - radius).max(0.0);
        let tries = (0..=(4.0 * reach) as usize).flat_map(|step| [first, -first].map(|side| home + side * step as f64));
        let mut best = (f64::INFINITY, home);
        for offset in tries.filter(|offset| offset.abs() <= reach + 1e-9) {
            let depth = overlap(offset);
            if depth < best.0 {
                best = (depth, offset);
            }
            if depth <= 1e-6 {
                break;
            }
        }
        offsets[dot] = best.1;
        placed.push(dot);
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_of_one_bin_are_stacked() {
        let dot = |value| SwarmDot { score: 0.0, value, count: 5, row: 1 };
        let dots = vec![dot(SwarmValue::One), dot(SwarmValue::Zero), dot(SwarmValue::One)];
        let row = SwarmRow { name: "x1".into(), importance: 0.0, dots };
        let groups = merged(&row, &Axis::covering([0.0], [0.0, 100.0]));
        let counts: Vec<(Class, u64)> = groups.iter().map(|group| (group.class(), group.count)).collect();
        assert_eq!(counts, [(Class::Zero, 5), (Class::One, 10)]);
        assert_eq!(homes(&groups, &[2.0, 6.0]), [-6.0, 2.0]);
        let largest = largest_radius(&[groups], 10);
        assert!(largest * (1.0 + 0.5f64.sqrt()) <= REACH, "both have room");
    }

    #[test]
    fn neighbours_move_aside() {
        let offsets = spread(&[[0.0, 0.0, 5.0], [3.0, 0.0, 4.0], [50.0, 0.0, 1.0]]);
        assert_eq!((offsets[0], offsets[2]), (0.0, 0.0));
        assert!(3f64.hypot(offsets[1]) >= 9.0 && offsets[1].abs() + 4.0 <= REACH);
        // Without any room left, dots still stay within their band.
        let crowd = vec![[0.0, 0.0, 10.0]; 30];
        assert!(crowded(&crowd) && !crowded(&[[0.0, 0.0, 5.0], [9.0, 0.0, 5.0]]));
        assert!(spread(&crowd).iter().all(|offset| offset.abs() <= REACH - 10.0));
    }
}
