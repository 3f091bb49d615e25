//! The importance of each player over all rows, as bars.

use super::axis::Axis;
use super::figure_text::{finite, number, shown, width_of};
use super::svg::{Anchor, Class, NARROW, Svg, WIDTH, sentence};

/// The most bars; all further players are summed in one more bar.
const MOST: usize = 30;
const PITCH: f64 = 24.0;
const THICKNESS: f64 = 15.0;
const TOP: f64 = 14.0;
/// Room for the number after the longest bar.
const RIGHT: f64 = 74.0;

/// Draws the mean absolute score of each player as a bar, the largest on top; beyond 30 players the rest is one bar.
///
/// ```
/// use boolshap::report::importance_figure;
/// let svg = importance_figure(&[("rooms".into(), 0.125), ("income <k$>".into(), 0.375)]);
/// assert!(svg.starts_with("<svg") && svg.contains("income &lt;k$&gt;: mean absolute score 0.375000"));
/// assert!(svg.find("income").unwrap() < svg.find("rooms").unwrap());
/// ```
pub fn importance_figure(players: &[(String, f64)]) -> String {
    drawn(players, false)
}

/// The same for a phone: half as wide, with the names above the bars.
pub fn narrow_importance_figure(players: &[(String, f64)]) -> String {
    drawn(players, true)
}

fn drawn(players: &[(String, f64)], narrow: bool) -> String {
    if players.is_empty() {
        return sentence("There are no features to show.");
    }
    let mut sorted: Vec<(&str, f64)> = players.iter().map(|(name, mean)| (name.as_str(), finite(*mean))).collect();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
    let rest = sorted.split_off(MOST.min(sorted.len()));
    let sum: f64 = rest.iter().map(|(_, mean)| mean).sum();
    let others = match rest.len() {
        1 => "1 other feature".to_string(),
        count => format!("{count} other features"),
    };
    let names = sorted.iter().map(|(name, _)| shown(name)).chain((!rest.is_empty()).then_some(others.as_str()));
    let room = names.map(|name| 13.0 * width_of(name)).fold(40.0, f64::max).min(270.0);
    let (width, pitch) = if narrow { (NARROW, PITCH + 18.0) } else { (WIDTH, PITCH) };
    let (left, room) = if narrow { (4.0, width - 8.0) } else { (room + 24.0, room) };
    let largest = sorted.iter().map(|(_, mean)| *mean).fold(sum, f64::max);
    let high = if largest > 0.0 { largest } else { 1.0 };
    let axis = Axis { low: 0.0, high, left, right: width - RIGHT };
    let bars = sorted.len() + usize::from(!rest.is_empty());
    let foot = TOP + bars as f64 * pitch + 2.0;
    let mut svg = Svg::default();
    // No grid lines: they would cross the numbers after the bars.
    axis.draw(&mut svg, foot, foot);
    let bar = |svg: &mut Svg, index: usize, class: Class, mean: f64, tip: &str| {
        let y = TOP + (index as f64 + 1.0) * pitch - (PITCH + THICKNESS) / 2.0;
        let end = axis.at(mean.max(0.0));
        let opacity = if class == Class::Muted { 0.6 } else { 1.0 };
        svg.rect(class, [left, y, end - left, THICKNESS], opacity, Some(tip));
        svg.text(Class::Muted, [end + 6.0, y + 12.0, 12.0], Anchor::Start, &number(mean, 4));
        if narrow { [left, y - 6.0, 13.0] } else { [left - 8.0, y + 12.0, 13.0] }
    };
    let anchor = if narrow { Anchor::Start } else { Anchor::End };
    for (index, &(name, mean)) in sorted.iter().enumerate() {
        let tip = format!("{}: mean absolute score {}", shown(name), number(mean, 6));
        let place = bar(&mut svg, index, Class::Bar, mean, &tip);
        svg.name(Class::Ink, place, anchor, room, name);
    }
    if !rest.is_empty() {
        let tip = format!("{others}, each below those shown: their mean absolute scores sum to {}", number(sum, 6));
        let place = bar(&mut svg, sorted.len(), Class::Muted, sum, &tip);
        svg.text(Class::Muted, place, anchor, &others);
    }
    // The line at 0 is drawn over the bars' ends and the grid.
    svg.line(Class::Line, [left, TOP - 6.0, left, foot], "");
    svg.text(Class::Muted, [(left + axis.right) / 2.0, foot + 40.0, 13.0], Anchor::Middle, "mean absolute score");
    svg.finish(width, foot + 54.0, &format!("Mean absolute score of {} features, as bars", players.len()))
}

#[cfg(test)]
mod tests {
    use super::super::svg::parsed::{hostile_names, parsed, tips};
    use super::*;

    fn players(means: &[f64]) -> Vec<(String, f64)> {
        means.iter().enumerate().map(|(index, &mean)| (format!("x{}", index + 1), mean)).collect()
    }

    #[test]
    fn bars_are_sorted_and_their_lengths_are_the_means() {
        let svg = importance_figure(&players(&[0.1, 0.4, 0.1, 0.2]));
        let document = parsed(&svg);
        let bars: Vec<(String, f64)> = document
            .descendants()
            .filter(|node| node.attribute("class") == Some("bar"))
            .map(|bar| {
                (bar.attribute("data-tip").unwrap()[..2].to_string(), bar.attribute("width").unwrap().parse().unwrap())
            })
            .collect();
        let names: Vec<&str> = bars.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["x2", "x4", "x1", "x3"], "ties keep the given order");
        for (bar, part) in bars.iter().zip([1.0, 0.5, 0.25, 0.25]) {
            assert!((bar.1 - part * bars[0].1).abs() <= 0.2, "{bar:?}");
        }
    }

    #[test]
    fn the_rest_is_one_bar() {
        let svg = importance_figure(&players(&[vec![0.5; 30], vec![0.25, 0.125]].concat()));
        assert_eq!(tips(&svg).len(), 31);
        assert!(tips(&svg)[30].starts_with("2 other features") && tips(&svg)[30].ends_with("sum to 0.375000"));
        assert!(importance_figure(&players(&[0.5; 31])).contains(">1 other feature<"));
        assert!(!importance_figure(&players(&[0.5; 30])).contains("other feature"));
    }

    #[test]
    fn odd_input_is_drawn() {
        let hostile: Vec<(String, f64)> =
            hostile_names().into_iter().zip([f64::NAN, f64::INFINITY, -1.0, 1e300]).collect();
        let svg = importance_figure(&hostile);
        parsed(&svg);
        assert_eq!(svg, importance_figure(&hostile));
        parsed(&importance_figure(&players(&[0.0, 0.0])));
        assert!(importance_figure(&[]).contains("There are no features to show."));
    }
}
