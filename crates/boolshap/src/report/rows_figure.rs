//! All rows at once: a heat map with a row of the table at each horizontal place and a player on each line.
//!
//! Rows are sorted by decision and then by their scores, so that similar rows are adjacent. If there are more rows than
//! places, each place shows the row at its middle; rows are not averaged.

use super::figure_text::{counted, finite, shown, signed, width_of};
use super::svg::{Anchor, Class, NARROW, Svg, WIDTH, sentence};

/// The most players shown, and the places across.
const MOST: usize = 20;
const PITCH: f64 = 20.0;
const TOP: f64 = 34.0;
/// The number of shades of a colour.
const SHADES: f64 = 12.0;

/// Rows of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatRow {
    /// Their predicted label.
    pub prediction: bool,
    /// The score of each player.
    pub scores: Vec<f64>,
    /// The number of rows.
    pub count: u64,
    /// One of the rows, counted from 1.
    pub row: u64,
}

/// Draws the scores of all rows, players by their weights (the mean absolute scores), the largest on top.
///
/// ```
/// use boolshap::report::{HeatRow, rows_figure};
/// let row = |prediction, score, row| HeatRow { prediction, scores: vec![score], count: 2, row };
/// let svg = rows_figure(&["x1".into()], &[0.5], &[row(true, 0.5, 1), row(false, -0.5, 2)], false);
/// assert!(svg.contains("x1, row 2: score \u{2212}0.5000") && svg.contains("data-row=\"1\""));
/// ```
pub fn rows_figure(names: &[String], weights: &[f64], rows: &[HeatRow], narrow: bool) -> String {
    let total: u64 = rows.iter().map(|row| row.count).sum();
    if total == 0 || names.is_empty() {
        return sentence("There are no rows to show.");
    }
    let mut players: Vec<usize> = (0..names.len()).collect();
    let weight = |player: usize| finite(weights.get(player).copied().unwrap_or(0.0));
    players.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)));
    players.truncate(MOST);
    let order = side_by_side(rows, &players);
    let width = if narrow { NARROW } else { WIDTH };
    let room = players.iter().map(|&player| 12.0 * width_of(shown(&names[player]))).fold(60.0, f64::max);
    let room = room.min(if narrow { 110.0 } else { 220.0 });
    let [left, right] = [room + 14.0, width - 12.0];
    let places = shown_rows(rows, &order, total, (right - left) as usize);
    let largest = rows.iter().flat_map(|row| &row.scores).map(|score| finite(*score).abs()).fold(0.0, f64::max);

    let mut svg = Svg::default();
    svg.text(Class::Muted, [left - 8.0, TOP - 8.0, 12.0], Anchor::End, "prediction");
    for (from, to) in runs(&places, |row| i64::from(rows[row].prediction)) {
        let row = &rows[places[from]];
        let (class, label) = if row.prediction { (Class::Towards1, "1") } else { (Class::Towards0, "0") };
        let tip = format!("predicted {label}");
        svg.cell(class, [left + from as f64, TOP - 18.0, (to - from) as f64, 12.0], 1.0, None, &tip);
    }
    for (line, &player) in players.iter().enumerate() {
        let y = TOP + line as f64 * PITCH;
        svg.name(Class::Ink, [left - 8.0, y + 13.5, 12.0], Anchor::End, room, &names[player]);
        let score = |row: usize| finite(rows[row].scores.get(player).copied().unwrap_or(0.0));
        let shade = |row: usize| if largest > 0.0 { (SHADES * score(row) / largest).round() as i64 } else { 0 };
        for (from, to) in runs(&places, shade) {
            let row = places[from];
            let class = if score(row) < 0.0 { Class::Towards0 } else { Class::Towards1 };
            let strength = shade(row).unsigned_abs() as f64 / SHADES;
            if strength == 0.0 {
                continue;
            }
            let tip = format!("{}, row {}: score {}", shown(&names[player]), rows[row].row, signed(score(row)));
            let cell = [left + from as f64, y + 1.0, (to - from) as f64, PITCH - 2.0];
            svg.cell(class, cell, strength, Some(rows[row].row), &tip);
        }
    }
    let foot = TOP + players.len() as f64 * PITCH;
    svg.line(Class::Grid, [left, foot + 2.0, right, foot + 2.0], "");
    let text = format!("{}, side by side", counted(total, "row", "rows"));
    svg.text(Class::Muted, [(left + right) / 2.0, foot + 20.0, 12.5], Anchor::Middle, &text);
    svg.finish(width, foot + 32.0, &format!("Scores of {} players in all rows", players.len()))
}

/// The rows by decision, then by the scores of the players in turn, the largest first.
fn side_by_side(rows: &[HeatRow], players: &[usize]) -> Vec<usize> {
    let score = |row: usize, player: usize| finite(rows[row].scores.get(player).copied().unwrap_or(0.0));
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&a, &b| {
        let by_score = players.iter().map(|&player| score(b, player).total_cmp(&score(a, player)));
        let decided = rows[b].prediction.cmp(&rows[a].prediction);
        std::iter::once(decided).chain(by_score).find(|order| order.is_ne()).unwrap_or(a.cmp(&b))
    });
    order
}

/// The row at each horizontal place.
fn shown_rows(rows: &[HeatRow], order: &[usize], total: u64, places: usize) -> Vec<usize> {
    let mut shown = Vec::with_capacity(places);
    let (mut at, mut end) = (0, rows[order[0]].count);
    for place in 0..places {
        let middle = (u128::from(total) * (2 * place as u128 + 1) / (2 * places as u128)) as u64;
        while middle >= end && at + 1 < order.len() {
            at += 1;
            end += rows[order[at]].count;
        }
        shown.push(order[at]);
    }
    shown
}

/// Ranges of adjacent places that look the same.
fn runs(places: &[usize], look: impl Fn(usize) -> i64) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut from = 0;
    for to in 1..=places.len() {
        if to == places.len() || look(places[to]) != look(places[from]) {
            runs.push((from, to));
            from = to;
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::super::svg::parsed::{hostile_names, parsed};
    use super::*;

    #[test]
    fn rows_take_as_much_room_as_they_are_many() {
        let row = |prediction, score, count, row| HeatRow { prediction, scores: vec![score, 0.0], count, row };
        let rows = [row(false, -1.0, 1, 1), row(true, 1.0, 3, 2)];
        let svg = rows_figure(&["x".into(), "y".into()], &[1.0, 0.0], &rows, false);
        let document = parsed(&svg);
        let cells: Vec<(String, f64)> = document
            .descendants()
            .filter(|node| node.has_attribute("data-row"))
            .map(|node| (node.attribute("data-row").unwrap().into(), node.attribute("width").unwrap().parse().unwrap()))
            .collect();
        assert_eq!((cells.len(), cells[0].0.as_str(), cells[1].0.as_str()), (2, "2", "1"));
        assert!((cells[0].1 / cells[1].1 - 3.0).abs() < 0.1);
    }

    #[test]
    fn odd_input_is_drawn() {
        let names = hostile_names();
        let row = HeatRow { prediction: true, scores: vec![f64::NAN, f64::INFINITY], count: 1 << 40, row: 0 };
        parsed(&rows_figure(&names, &[], &[row], true));
        assert!(rows_figure(&names, &[], &[], false).contains("There are no rows to show."));
    }
}
