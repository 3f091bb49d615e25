//! Interactions of pairs of players, as a heat map.

use super::figure_text::{counted, finite, number, shown, width_of};
use super::svg::{Anchor, Class, Svg, WIDTH, sentence};

/// The most players shown: with more, cells would be too small to read.
const MOST: usize = 20;
/// The most players for which cells show numbers.
const NUMBERED: usize = 12;
/// The width of slanted names beyond the last column.
const RIGHT: f64 = 84.0;
/// The strongest opacity, on which text is still readable in light and dark themes.
const FULL: f64 = 0.75;

/// Draws the mean absolute interaction of each pair, for the 20 players with the largest sums.
///
/// `values` is the symmetric matrix row by row; its diagonal is meaningless and hatched. `means` are the signed mean
/// interactions, which choose the colours: a pair that mostly pushes towards 1 together has that colour. `part` names
/// the rows that were used, if not all.
///
/// ```
/// use boolshap::report::heat_map_figure;
/// let svg = heat_map_figure(&["a".into(), "b & c".into()], &[0.0, 0.25, 0.25, 0.0], &[0.0, -0.125, -0.125, 0.0], None);
/// let tip = "a and b &amp; c: mean absolute interaction 0.250000, mean \u{2212}0.125000";
/// assert_eq!(svg.matches(tip).count(), 1);
/// assert!(svg.contains(">0.250<"));
/// ```
pub fn heat_map_figure(names: &[String], values: &[f64], means: &[f64], part: Option<&str>) -> String {
    let count = names.len();
    if count == 0 {
        return sentence("There are no features to show.");
    }
    let value = |row: usize, column: usize| finite(values.get(row * count + column).copied().unwrap_or(0.0)).abs();
    let left_out = count.saturating_sub(MOST);
    let players = strongest(count, value);
    let pairs = players.iter().flat_map(|&row| players.iter().map(move |&column| (row, column)));
    let largest = pairs.filter(|(a, b)| a != b).map(|(a, b)| value(a, b)).fold(0.0, f64::max);

    let width = |&player: &usize| 12.0 * width_of(shown(&names[player]));
    let widest = players.iter().map(width).fold(30.0, f64::max);
    let (room, climb) = (widest.min(190.0), widest.min(112.0));
    let cell = ((WIDTH - room - 24.0 - RIGHT) / players.len() as f64).min(52.0);
    let side = cell * players.len() as f64;
    // A small map is centred.
    let left = room + 24.0 + ((WIDTH - room - 24.0 - RIGHT - side) / 2.0).max(0.0);
    let top = 20.0 + climb * std::f64::consts::FRAC_1_SQRT_2;

    let mut svg = Svg::default();
    for (index, &player) in players.iter().enumerate() {
        let middle = (index as f64 + 0.5) * cell;
        svg.name(Class::Ink, [left - 8.0, top + middle + 4.0, 12.0], Anchor::End, room, &names[player]);
        svg.slanted_name(Class::Ink, [left + middle + 3.0, top - 6.0, 12.0], climb, &names[player]);
    }
    for (down, &row) in players.iter().enumerate() {
        for (across, &column) in players.iter().enumerate() {
            let corner = [left + across as f64 * cell, top + down as f64 * cell];
            if row == column {
                svg.path(Class::Grid, &hatching(inside(corner, cell)), "", None);
                continue;
            }
            let amount = value(row, column);
            let (first, second) = (shown(&names[row]), shown(&names[column]));
            let mean = finite(means.get(row * count + column).copied().unwrap_or(0.0));
            let class = if mean < 0.0 { Class::Towards0 } else { Class::Towards1 };
            let (amount_text, mean_text) = (number(amount, 6), number(mean, 6));
            let sign = if mean > 0.0 { "+" } else { "" };
            let tip = format!("{first} and {second}: mean absolute interaction {amount_text}, mean {sign}{mean_text}");
            svg.rect(class, inside(corner, cell), strength(amount, largest), Some(&tip));
            if players.len() <= NUMBERED {
                let place = [corner[0] + cell / 2.0, corner[1] + cell / 2.0 + 3.5, 10.5];
                svg.text(Class::Ink, place, Anchor::Middle, &cell_text(amount, largest));
            }
        }
    }
    svg.path(Class::Grid, &format!("M{left:.1} {top:.1}h{side:.1}v{side:.1}h-{side:.1}Z"), "", None);
    scale(&mut svg, largest, top + side + 22.0);
    let height = notes(&mut svg, top + side + 82.0, left_out, part);
    svg.finish(WIDTH, height, &format!("Mean absolute interactions of {} features", players.len()))
}

/// Draws notes below the map on what it does not show; returns the total height.
fn notes(svg: &mut Svg, mut height: f64, left_out: usize, part: Option<&str>) -> f64 {
    let one = "feature with smaller interactions is";
    let left_out = (left_out > 0).then(|| counted(left_out as u64, one, "features with smaller interactions are"));
    let lines = [left_out.map(|left_out| format!("{left_out} left out")), part.map(|part| format!("Of {part}"))];
    for line in lines.iter().flatten() {
        svg.text(Class::Muted, [WIDTH / 2.0, height + 4.0, 12.0], Anchor::Middle, line);
        height += 20.0;
    }
    height
}

/// The players with the largest sums of interactions, the largest first.
fn strongest(count: usize, value: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    let sum = |row: usize| (0..count).filter(|&column| column != row).map(|column| value(row, column)).sum::<f64>();
    let mut order: Vec<(usize, f64)> = (0..count).map(|row| (row, sum(row))).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    order.into_iter().take(MOST).map(|(row, _)| row).collect()
}

/// The rectangle of a cell, within the lines around it.
fn inside([x, y]: [f64; 2], cell: f64) -> [f64; 4] {
    [x + 0.5, y + 0.5, cell - 1.0, cell - 1.0]
}

/// A number short enough for a cell, with the same decimals in all cells; the tooltip has all digits.
fn cell_text(amount: f64, largest: f64) -> String {
    match largest {
        _ if amount == 0.0 => "0".to_string(),
        0.05.. => format!("{amount:.3}"),
        0.0005.. => format!("{amount:.4}"),
        _ => number(amount, 4),
    }
}

/// The opacity of a cell; even the smallest amount makes the cell visible.
fn strength(amount: f64, largest: f64) -> f64 {
    let part = if largest > 0.0 { amount / largest } else { 0.0 };
    0.04 + (FULL - 0.04) * part
}

/// Diagonal lines inside a cell; an SVG pattern would need a unique id in the page.
fn hatching([x, y, width, height]: [f64; 4]) -> String {
    let mut path = String::new();
    for part in [0.25, 0.5, 0.75, 1.0] {
        let (across, down) = (width * part, height * part);
        path += &format!("M{x:.1} {:.1}L{:.1} {y:.1}", y + down, x + across);
        if part < 1.0 {
            path += &format!("M{:.1} {:.1}L{:.1} {:.1}", x + across, y + height, x + width, y + down);
        }
    }
    path
}

/// The legend: the amount of each colour.
fn scale(svg: &mut Svg, largest: f64, y: f64) {
    const STEPS: usize = 10;
    if largest == 0.0 {
        svg.text(Class::Muted, [WIDTH / 2.0, y + 12.0, 13.0], Anchor::Middle, "There are no interactions.");
        return;
    }
    let (left, width) = (WIDTH / 2.0 - 150.0, 300.0);
    let part = width / (2 * STEPS) as f64;
    for step in 0..2 * STEPS {
        let amount = (step as f64 + 0.5 - STEPS as f64) / STEPS as f64;
        let class = if amount < 0.0 { Class::Towards0 } else { Class::Towards1 };
        svg.rect(class, [left + step as f64 * part, y, part, 10.0], strength(amount.abs(), 1.0), None);
    }
    for (at, amount) in [(0.0, largest), (0.5, 0.0), (1.0, largest)] {
        let text = if amount == 0.0 { "0".to_string() } else { number(amount, 4) };
        svg.text(Class::Muted, [left + at * width, y + 24.0, 12.0], Anchor::Middle, &text);
    }
    let text = "mean absolute interaction; left: together mostly towards 0, right: towards 1";
    svg.text(Class::Muted, [WIDTH / 2.0, y + 42.0, 13.0], Anchor::Middle, text);
}

#[cfg(test)]
mod tests {
    use super::super::svg::parsed::{hostile_names, parsed, tips};
    use super::*;

    fn named(count: usize) -> Vec<String> {
        (1..=count).map(|index| format!("x{index}")).collect()
    }

    #[test]
    fn a_stronger_pair_has_a_stronger_colour() {
        let svg = heat_map_figure(&named(3), &[9.0, 0.1, 0.3, 0.1, 9.0, 0.2, 0.3, 0.2, 9.0], &[], None);
        let document = parsed(&svg);
        let opacity = |pair: &str| {
            let cell =
                document.descendants().find(|e| e.attribute("data-tip").is_some_and(|tip| tip.starts_with(pair)));
            cell.unwrap().attribute("fill-opacity").unwrap().parse::<f64>().unwrap()
        };
        assert!(opacity("x1 and x3") > opacity("x2 and x3") && opacity("x2 and x3") > opacity("x1 and x2"));
        assert_eq!(opacity("x1 and x2"), opacity("x2 and x1"));
        // The diagonal has no colour and no effect on the scale and the order: x3 and x1 have the largest sums.
        assert!(!svg.contains("x1 and x1") && svg.contains(">0.3000<"));
        assert!(svg.find("x3 and x1").unwrap() < svg.find("x1 and x3").unwrap());
    }

    #[test]
    fn the_players_with_the_largest_sums_are_shown() {
        let values: Vec<f64> = (0..25 * 25).map(|cell| ((cell / 25) * (cell % 25)) as f64 / 1e4).collect();
        let svg = heat_map_figure(&named(25), &values, &values, None);
        let cells = tips(&svg).into_iter().filter(|tip| tip.contains(" and ")).count();
        assert_eq!(cells, 20 * 19);
        assert!(svg.contains("5 features with smaller interactions are left out"));
        assert!(svg.contains(">x25<") && svg.contains(">x6<") && !svg.contains(">x5<"));
        assert!(!svg.contains(">0.0576<"), "20 players leave no room for numbers");
    }

    #[test]
    fn odd_input_is_drawn() {
        let names = hostile_names();
        for (names, values) in [(&names[..], &[f64::NAN, 0.5][..]), (&names[..1], &[]), (&names[..2], &[0.0; 4])] {
            let svg = heat_map_figure(names, values, values, None);
            parsed(&svg);
            assert_eq!(svg, heat_map_figure(names, values, values, None));
        }
        assert!(heat_map_figure(&[], &[], &[], None).contains("There are no features to show."));
        assert!(heat_map_figure(&named(2), &[0.0; 4], &[], None).contains("There are no interactions."));
        let part = heat_map_figure(&named(2), &[0.0, 0.5, 0.5, 0.0], &[], Some("the 3 most frequent kinds of rows"));
        assert!(part.contains(">Of the 3 most frequent kinds of rows<"));
    }
}
