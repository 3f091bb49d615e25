//! The scores of all rows: one line of dots per player, where a dot is the rows with the same score and value.

use super::axis::Axis;
use super::beeswarm_dots::{Group, SMALLEST, crowded, largest_radius, merged, placed};
use super::figure_text::{counted, finite, shown, width_of};
use super::svg::{Anchor, Class, NARROW, Svg, WIDTH, sentence};

/// The most players shown.
const MOST: usize = 20;
const PITCH: f64 = 34.0;
const TOP: f64 = 46.0;

/// One player's scores.
#[derive(Debug, Clone, PartialEq)]
pub struct SwarmRow {
    /// The player.
    pub name: String,
    /// Its mean absolute score, by which players are sorted.
    pub importance: f64,
    /// Its scores, in any order.
    pub dots: Vec<SwarmDot>,
}

/// Rows with the same score and the same value.
#[derive(Debug, Clone, PartialEq)]
pub struct SwarmDot {
    /// Their score.
    pub score: f64,
    /// Their value.
    pub value: SwarmValue,
    /// The number of rows.
    pub count: u64,
    /// One of the rows, counted from 1.
    pub row: u64,
}

/// A player's value in a row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SwarmValue {
    /// A feature that is 0.
    Zero,
    /// A feature that is 1.
    One,
    /// The value of a player that is not a single feature.
    Other(String),
}

/// Draws the players' scores, the most important on top, at most 20; a dot's area is its number of rows.
///
/// ```
/// use boolshap::report::{SwarmDot, SwarmRow, SwarmValue, beeswarm_figure};
/// let dot = |score, value, count| SwarmDot { score, value, count, row: 1 };
/// let dots = vec![dot(0.1234, SwarmValue::One, 310), dot(-0.25, SwarmValue::Zero, 1)];
/// let svg = beeswarm_figure(&[SwarmRow { name: "x1".into(), importance: 0.1238, dots }]);
/// assert!(svg.contains("data-tip=\"x1 = 1: score +0.1234, 310 rows\""));
/// assert!(svg.contains("data-tip=\"x1 = 0: score \u{2212}0.2500, 1 row\""));
/// ```
pub fn beeswarm_figure(rows: &[SwarmRow]) -> String {
    drawn(rows, false)
}

/// The same for a phone: half as wide, with the names above the lines.
pub fn narrow_beeswarm_figure(rows: &[SwarmRow]) -> String {
    drawn(rows, true)
}

fn drawn(rows: &[SwarmRow], narrow: bool) -> String {
    if rows.is_empty() {
        return sentence("There are no features to show.");
    }
    let mut sorted: Vec<&SwarmRow> = rows.iter().collect();
    sorted.sort_by(|a, b| finite(b.importance).total_cmp(&finite(a.importance)));
    sorted.truncate(MOST);
    let left_out = rows.len() - sorted.len();

    let room = sorted.iter().map(|row| 13.0 * width_of(shown(&row.name))).fold(40.0, f64::max).min(250.0);
    let (width, pitch, top) = if narrow { (NARROW, PITCH + 18.0, TOP + 22.0) } else { (WIDTH, PITCH, TOP) };
    let [left, right] = if narrow { [4.0, width - 4.0] } else { [room + 24.0, width - 16.0] };
    let scores = || sorted.iter().flat_map(|row| &row.dots).map(|dot| dot.score);
    // Leaves room for half a dot at both ends.
    let axis = Axis::covering(scores().chain([0.0]), [left + 14.0, right - 14.0]);
    let swarms: Vec<Vec<Group<'_>>> = sorted.iter().map(|row| merged(row, &axis)).collect();
    let most = swarms.iter().flatten().map(|group| group.count).max().unwrap_or(1).max(1);
    let mut largest = largest_radius(&swarms, most);
    let mut lines: Vec<Vec<[f64; 3]>> = swarms.iter().map(|groups| placed(groups, &axis, most, largest)).collect();
    while largest > SMALLEST && lines.iter().any(|line| crowded(line)) {
        largest = (0.9 * largest).max(SMALLEST);
        lines = swarms.iter().map(|groups| placed(groups, &axis, most, largest)).collect();
    }

    let foot = top + sorted.len() as f64 * pitch + 4.0;
    let mut svg = Svg::default();
    legend(&mut svg, &swarms, [left, width], (most, largest));
    axis.draw(&mut svg, foot, top - 4.0);
    svg.line(Class::Line, [axis.at(0.0), top - 4.0, axis.at(0.0), foot], "");
    for (index, ((row, groups), line)) in sorted.iter().zip(&swarms).zip(&lines).enumerate() {
        let middle = top + (index as f64 + 1.0) * pitch - PITCH / 2.0;
        svg.line(Class::Grid, [left, middle, right, middle], "1 4");
        match narrow {
            true => svg.name(Class::Ink, [left, middle - 20.0, 13.0], Anchor::Start, width - 8.0, &row.name),
            false => svg.name(Class::Ink, [left - 8.0, middle + 4.5, 13.0], Anchor::End, room, &row.name),
        }
        for (group, &[x, offset, radius]) in groups.iter().zip(line) {
            let tip = group.tip(shown(&row.name));
            svg.circle(group.class(), [x, middle + offset, radius], Some(group.row.row), Some(&tip));
        }
    }
    let text = "score (left: towards 0, right: towards 1)";
    svg.text(Class::Muted, [(left + right) / 2.0, foot + 40.0, 13.0], Anchor::Middle, text);
    let mut height = foot + 54.0;
    if left_out > 0 {
        let left_out = counted(left_out as u64, "less important feature is", "less important features are");
        svg.text(
            Class::Muted,
            [(left + right) / 2.0, foot + 60.0, 12.0],
            Anchor::Middle,
            &format!("{left_out} left out"),
        );
        height += 20.0;
    }
    svg.finish(width, height, &format!("Scores of {} features over all rows, as dots", sorted.len()))
}

/// Explains the colours and areas.
fn legend(svg: &mut Svg, swarms: &[Vec<Group<'_>>], [left, width]: [f64; 2], (most, largest): (u64, f64)) {
    let has = |class: Class| swarms.iter().flatten().any(|group| group.class() == class);
    let kinds = [(Class::One, "value 1"), (Class::Zero, "value 0"), (Class::Muted, "other value")];
    let kinds: Vec<(Class, &str)> = kinds.into_iter().filter(|(class, _)| has(*class)).collect();
    let text = format!("area: number of rows, here {}", counted(most, "row", "rows"));
    // On two lines if there is little room.
    let low = if width < WIDTH { 24.0 } else { 0.0 };
    let start = width - 16.0 - 12.5 * width_of(&text) - largest;
    // The colours start where the plot does, unless long names leave too little room there.
    let needed: f64 = kinds.iter().map(|(_, text)| 12.5 * width_of(text) + 34.0).sum();
    let mut x = if low > 0.0 { left } else { left.min(start - largest - 10.0 - needed).max(16.0) };
    for (class, text) in kinds {
        svg.circle(class, [x + 6.0, 22.0, 5.0], None, None);
        svg.text(Class::Muted, [x + 16.0, 26.5, 12.5], Anchor::Start, text);
        x += 12.5 * width_of(text) + 34.0;
    }
    svg.text(Class::Muted, [width - 16.0, 26.5 + low, 12.5], Anchor::End, &text);
    svg.circle(Class::Muted, [start, 22.0 + low, largest], None, None);
}

#[cfg(test)]
mod tests {
    use super::super::beeswarm_dots::REACH;
    use super::super::svg::parsed::{hostile_names, parsed, tips};
    use super::*;

    fn dot(score: f64, value: SwarmValue, count: u64, row: u64) -> SwarmDot {
        SwarmDot { score, value, count, row }
    }

    fn row(name: &str, importance: f64, dots: Vec<SwarmDot>) -> SwarmRow {
        SwarmRow { name: name.into(), importance, dots }
    }

    /// The dots as (data-row, class, x, y, radius).
    fn dots(svg: &str) -> Vec<(u64, String, [f64; 3])> {
        let document = parsed(svg);
        let dots = document.descendants().filter(|node| node.has_attribute("data-row"));
        dots.map(|dot| {
            let number = |name| dot.attribute(name).unwrap().parse::<f64>().unwrap();
            let place = ["cx", "cy", "r"].map(number);
            (number("data-row") as u64, dot.attribute("class").unwrap().to_string(), place)
        })
        .collect()
    }

    #[test]
    fn dots_show_score_value_and_number_of_rows() {
        let swarm = vec![dot(-0.2, SwarmValue::Zero, 100, 7), dot(0.3, SwarmValue::One, 400, 8)];
        let other = vec![dot(0.1, SwarmValue::Other("red".into()), 500, 9)];
        let svg = beeswarm_figure(&[row("x1", 0.1, other), row("x2", 0.2, swarm)]);
        let dots = dots(&svg);
        let kinds: Vec<(u64, &str)> = dots.iter().map(|dot| (dot.0, dot.1.as_str())).collect();
        assert_eq!(kinds, [(7, "zero"), (8, "one"), (9, "muted")], "the most important comes first");
        let [zero, one, red] = [dots[0].2, dots[1].2, dots[2].2];
        assert!(zero[0] < red[0] && red[0] < one[0] && zero[1] < red[1]);
        assert!((one[2] / zero[2] - 2.0).abs() < 0.02, "4 times the rows have 4 times the area");
        let zero_line = (one[0] - zero[0]) * 0.4 + zero[0];
        assert!(svg.contains(&format!("class=\"line\" fill=\"none\" stroke=\"#222222\" x1=\"{zero_line:.1}\"")));
        assert!(svg.contains("x1 = red: score +0.1000, 500 rows"));
    }

    #[test]
    fn many_dots_are_merged_and_none_is_lost() {
        let value = |index: u64| if index.is_multiple_of(2) { SwarmValue::One } else { SwarmValue::Zero };
        let many = (0..100_000).map(|index| dot((index % 9973) as f64 / 9973.0 - 0.5, value(index), 1, index + 1));
        let svg = beeswarm_figure(&[row("x1", 0.25, many.collect())]);
        let counts = tips(&svg).into_iter().map(|tip| {
            let (_, count) = tip.rsplit_once("0, ").or_else(|| tip.rsplit_once(", ")).unwrap();
            count.trim_end_matches(" rows").replace(',', "").parse::<u64>().unwrap()
        });
        assert_eq!(counts.sum::<u64>(), 100_000);
        assert!(dots(&svg).len() <= 240 && svg.len() < 80_000);
        assert!(tips(&svg)[0].starts_with("x1 = 0: scores \u{2212}0.5000 to \u{2212}0.49"));
    }

    #[test]
    fn dots_stay_in_their_band_and_do_not_overlap() {
        let line = |player: u64| {
            let one = |index: u64| dot((index * player % 37) as f64 / 37.0, SwarmValue::One, 1 + index % 5, index);
            row("x", 1.0, (1..40).map(one).collect())
        };
        let svg = beeswarm_figure(&[line(5), line(11)]);
        let dots = dots(&svg);
        for (index, &(_, _, [x, y, radius])) in dots.iter().enumerate() {
            let middle = if index < dots.len() / 2 { TOP + PITCH / 2.0 } else { TOP + PITCH * 1.5 };
            assert!((y - middle).abs() + radius <= REACH + 0.2);
            for (_, _, [other_x, other_y, other]) in &dots[..index] {
                assert!((x - other_x).hypot(y - other_y) > radius + other - 0.5);
            }
        }
    }

    #[test]
    fn players_beyond_20_are_counted() {
        let rows = |count: u32| {
            (0..count).map(|index| row(&format!("x{index}"), f64::from(index), vec![dot(0.0, SwarmValue::One, 1, 1)]))
        };
        let svg = beeswarm_figure(&rows(23).collect::<Vec<_>>());
        assert!(
            svg.contains("3 less important features are left out") && svg.contains(">x22<") && !svg.contains(">x2<")
        );
        assert!(!beeswarm_figure(&rows(20).collect::<Vec<_>>()).contains("left out"));
    }

    #[test]
    fn odd_input_is_drawn() {
        let odd = |name: String| {
            let values = [SwarmValue::Other(name.clone()), SwarmValue::One, SwarmValue::Zero];
            let scores = [f64::NAN, f64::NEG_INFINITY, 1e300];
            row(
                &name,
                f64::NAN,
                values.into_iter().zip(scores).map(|(value, score)| dot(score, value, u64::MAX, 0)).collect(),
            )
        };
        let rows: Vec<SwarmRow> = hostile_names().into_iter().map(odd).chain([row("no dots", 0.0, vec![])]).collect();
        let svg = beeswarm_figure(&rows);
        parsed(&svg);
        assert_eq!(svg, beeswarm_figure(&rows));
        parsed(&narrow_beeswarm_figure(&rows));
        parsed(&beeswarm_figure(&[row("x1", 0.0, vec![dot(0.0, SwarmValue::One, 0, 1)])]));
        assert!(beeswarm_figure(&[]).contains("There are no features to show."));
    }
}
