//! How a player's score depends on its value: each dot is rows with nearly the same raw value and score.

use super::axis::Axis;
use super::figure_text::{counted, finite, shorten, shown, signed, width_of};
use super::svg::{Anchor, Class, NARROW, Svg, WIDTH, sentence};
use super::{RawValue, SwarmValue, short_number};
use std::collections::BTreeMap;

/// Cells across and down; rows in one cell are one dot.
const CELLS: [f64; 2] = [120.0, 40.0];
/// The most texts on the axis.
const MOST_TEXTS: usize = 30;
const TOP: f64 = 20.0;
const HEIGHT: f64 = 260.0;

/// One row's value and score.
#[derive(Debug, Clone, PartialEq)]
pub struct DependencePoint {
    /// The raw value.
    pub value: RawValue,
    /// The player's value as bits show it.
    pub bits: SwarmValue,
    /// The score.
    pub score: f64,
    /// The number of rows with this value and score.
    pub count: u64,
    /// The row, or one of them, counted from 1.
    pub row: u64,
}

/// Draws the score of a player over its raw values: numbers on an axis, texts side by side in alphabetical order. Rows
/// without a value are left out and counted. `cuts` are the numbers at which bits change.
///
/// ```
/// use boolshap::report::{DependencePoint, RawValue, SwarmValue, dependence_figure};
/// let point = |value, score, bits| DependencePoint { value: RawValue::Number(value), bits, score, count: 2, row: 1 };
/// let points = [point(1.0, -0.25, SwarmValue::Zero), point(4.0, 0.5, SwarmValue::One)];
/// let svg = dependence_figure("income", &points, &[3.5], false);
/// assert!(svg.contains("income 4: score +0.5000, 2 rows") && svg.contains(">3.5<"));
/// ```
pub fn dependence_figure(name: &str, points: &[DependencePoint], cuts: &[f64], narrow: bool) -> String {
    let known: Vec<&DependencePoint> = points.iter().filter(|point| point.value != RawValue::Missing).collect();
    if known.is_empty() {
        return sentence("There are no values to show.");
    }
    let texts = texts_of(&known);
    if texts.len() > MOST_TEXTS {
        return sentence("There are too many different texts to show.");
    }
    let width = if narrow { NARROW } else { WIDTH };
    let [left, right, foot] = [64.0, width - 16.0, TOP + HEIGHT];
    let numbers = known.iter().filter_map(|point| number_of(point)).chain(cuts.iter().copied());
    let across = match texts.is_empty() {
        true => Axis::covering(numbers, [left + 8.0, right - 8.0]),
        false => Axis { low: -0.5, high: texts.len() as f64 - 0.5, left, right },
    };
    let scores = known.iter().map(|point| finite(point.score)).chain([0.0]);
    let up = Axis::covering(scores, [foot - 8.0, TOP + 8.0]);

    let mut svg = Svg::default();
    for (value, text) in up.ticks(6) {
        svg.line(Class::Grid, [left, up.at(value), right, up.at(value)], "");
        svg.text(Class::Muted, [left - 6.0, up.at(value) + 4.0, 12.0], Anchor::End, &text);
    }
    svg.line(Class::Line, [left, up.at(0.0), right, up.at(0.0)], "");
    let mut height = foot + 44.0;
    match texts.is_empty() {
        true => across.draw(&mut svg, foot, foot),
        false => height += draw_texts(&mut svg, &texts, &across, foot),
    }
    for cut in cuts.iter().filter(|_| texts.is_empty()) {
        let x = across.at(*cut);
        svg.line(Class::Line, [x, TOP, x, foot], "3 3");
        svg.text(Class::Muted, [x, TOP - 6.0, 12.0], Anchor::Middle, &short_number(*cut));
    }
    draw_dots(&mut svg, name, &known, &texts, [&across, &up]);
    svg.name(Class::Muted, [(left + right) / 2.0, height - 8.0, 13.0], Anchor::Middle, right - left, name);
    let missing: u64 = points.iter().filter(|point| point.value == RawValue::Missing).map(|point| point.count).sum();
    if missing > 0 {
        let text = counted(missing, "row without a value is left out", "rows without a value are left out");
        svg.text(Class::Muted, [(left + right) / 2.0, height + 10.0, 12.0], Anchor::Middle, &text);
        height += 20.0;
    }
    svg.finish(width, height, &format!("Score of {} over its values", shown(name)))
}

/// The distinct texts, sorted; empty if every value is a number.
fn texts_of(known: &[&DependencePoint]) -> Vec<String> {
    if known.iter().all(|point| number_of(point).is_some()) {
        return Vec::new();
    }
    let mut texts: Vec<String> = known.iter().filter_map(|point| point.value.text()).collect();
    texts.sort();
    texts.dedup();
    texts
}

fn number_of(point: &DependencePoint) -> Option<f64> {
    if let RawValue::Number(number) = point.value { Some(finite(number)) } else { None }
}

/// Draws the texts below the axis, on two alternating lines if they are long; returns the extra height beyond one line.
fn draw_texts(svg: &mut Svg, texts: &[String], across: &Axis, foot: f64) -> f64 {
    let step = across.at(1.0) - across.at(0.0);
    let longest = texts.iter().map(|text| 12.0 * width_of(shown(text))).fold(0.0, f64::max);
    let is_level = longest + 8.0 <= step;
    for (place, text) in texts.iter().enumerate() {
        let x = across.at(place as f64);
        match is_level {
            true => svg.name(Class::Ink, [x, foot + 18.0, 12.0], Anchor::Middle, step, text),
            // On two alternating lines, each text may be as wide as two places.
            false => {
                let room = 2.0 * step - 8.0;
                let text = shorten(text, room / 11.0);
                svg.name(Class::Ink, [x, foot + 16.0 + 15.0 * (place % 2) as f64, 11.0], Anchor::Middle, room, &text);
            }
        }
    }
    if is_level { 0.0 } else { 15.0 }
}

fn draw_dots(svg: &mut Svg, name: &str, known: &[&DependencePoint], texts: &[String], [across, up]: [&Axis; 2]) {
    let x_of = |point: &DependencePoint| match number_of(point).filter(|_| texts.is_empty()) {
        Some(number) => across.at(number),
        None => {
            let text = point.value.text().unwrap_or_default();
            across.at(texts.binary_search(&text).unwrap_or(0) as f64)
        }
    };
    let cell = |at: f64, axis: &Axis, cells: f64| ((at - axis.left) / (axis.right - axis.left) * cells) as i64;
    let mut dots = BTreeMap::<(i64, i64), (u64, &DependencePoint)>::new();
    for &point in known {
        let (x, y) = (x_of(point), up.at(point.score));
        let place = (cell(x, across, CELLS[0]), cell(y, up, CELLS[1]));
        let dot = dots.entry(place).or_insert((0, point));
        dot.0 = dot.0.saturating_add(point.count);
        if point.count > dot.1.count {
            dot.1 = point;
        }
    }
    let most = dots.values().map(|dot| dot.0).max().unwrap_or(1).max(1) as f64;
    for (count, point) in dots.values() {
        let class = match point.bits {
            SwarmValue::One => Class::One,
            SwarmValue::Zero => Class::Zero,
            SwarmValue::Other(_) => Class::Bar,
        };
        let value = point.value.text().unwrap_or_default();
        let about = if *count > point.count { "about " } else { "" };
        let rows = counted(*count, "row", "rows");
        let tip = format!("{} {about}{value}: score {}, {rows}", shown(name), signed(finite(point.score)));
        let radius = 2.0 + 5.0 * (*count as f64 / most).sqrt();
        svg.circle(class, [x_of(point), up.at(point.score), radius], Some(point.row), Some(&tip));
    }
}

#[cfg(test)]
mod tests {
    use super::super::svg::parsed::{hostile_names, parsed, tips};
    use super::*;

    fn point(value: RawValue, score: f64, count: u64) -> DependencePoint {
        DependencePoint { value, bits: SwarmValue::One, score, count, row: 1 }
    }

    #[test]
    fn every_row_is_in_a_dot_and_higher_scores_are_higher() {
        let points: Vec<DependencePoint> =
            (0..500).map(|at| point(RawValue::Number(f64::from(at)), f64::from(at % 7) / 7.0, 1)).collect();
        let svg = dependence_figure("x", &points, &[250.0], false);
        let rows =
            tips(&svg).into_iter().filter_map(|tip| tip.rsplit_once(", ")?.1.split(' ').next()?.parse::<u64>().ok());
        assert_eq!(rows.sum::<u64>(), 500);
        let text = |text: &str| RawValue::Text(text.into());
        let two = [point(text("b"), 0.5, 1), point(text("a"), -0.5, 3), point(RawValue::Missing, 9.0, 4)];
        let svg = dependence_figure("x", &two, &[], true);
        let document = parsed(&svg);
        let dots: Vec<[f64; 2]> = document
            .descendants()
            .filter(|node| node.has_attribute("data-row"))
            .map(|node| ["cx", "cy"].map(|name| node.attribute(name).unwrap().parse().unwrap()))
            .collect();
        assert!(dots.len() == 2 && dots[0][0] < dots[1][0] && dots[0][1] > dots[1][1]);
        assert!(svg.contains("4 rows without a value are left out"));
    }

    #[test]
    fn odd_input_is_drawn() {
        for name in hostile_names() {
            let points = [
                point(RawValue::Text(name.as_str().into()), f64::NAN, u64::MAX),
                point(RawValue::Number(1e300), 1e300, 0),
            ];
            parsed(&dependence_figure(&name, &points, &[f64::INFINITY], false));
        }
        assert!(dependence_figure("x", &[], &[], false).contains("There are no values to show."));
    }
}
