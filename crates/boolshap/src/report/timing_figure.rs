//! The paper's figure as SVG: time against the number of entities, with a logarithmic time axis and one line per
//! method.

use super::figure_text::escape;
use std::fmt::Write;

/// One method's times.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// (number of entities, seconds), in ascending order; seconds must be positive.
    pub points: Vec<(u64, f64)>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 60.0;
/// Distinguishable for colour-blind readers, and by their markers in print.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// Draws the figure; series without points are left out.
///
/// ```
/// use boolshap::report::{Series, timing_figure};
/// let series = Series { name: "open box <fast>".into(), points: vec![(20, 0.004), (100, 0.02)] };
/// let svg = timing_figure(&[series]);
/// assert!(svg.starts_with("<svg") && svg.contains("open box &lt;fast&gt;") && svg.contains(">10 ms<"));
/// ```
pub fn timing_figure(series: &[Series]) -> String {
    let points = || series.iter().flat_map(|s| &s.points);
    let most = points().map(|&(count, _)| count).max().unwrap_or(1).max(1) as f64;
    let decade = |seconds: f64| seconds.max(1e-12).log10();
    let low = points().map(|&(_, s)| decade(s)).fold(f64::INFINITY, f64::min).min(0.0).floor();
    let high = points().map(|&(_, s)| decade(s)).fold(f64::NEG_INFINITY, f64::max).max(low + 1.0).ceil();
    let x = |count: u64| LEFT + count as f64 / most * (WIDTH - LEFT - RIGHT);
    let y = |decade: f64| HEIGHT - BOTTOM - (decade - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"13\" fill=\"#222\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut put = |line: std::fmt::Arguments<'_>| {
        svg.write_fmt(line).expect("a text takes everything");
        svg.push('\n');
    };
    for power in low as i32..=high as i32 {
        let at = y(power.into());
        put(format_args!(
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0,
            power_name(power),
        ));
    }
    let mut counts: Vec<u64> = points().map(|&(count, _)| count).collect();
    counts.sort_unstable();
    counts.dedup();
    for count in counts {
        let (at, below) = (x(count), HEIGHT - BOTTOM + 20.0);
        put(format_args!("<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{count}</text>"));
    }
    let (middle, foot) = ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 15.0);
    put(format_args!("<text x=\"{middle}\" y=\"{foot}\" text-anchor=\"middle\">entities explained</text>"));
    let centre = (TOP + HEIGHT - BOTTOM) / 2.0;
    put(format_args!("<text transform=\"translate(18 {centre}) rotate(-90)\" text-anchor=\"middle\">time</text>"));
    // Legend entries are beside the ends of their lines, moved apart where those are close.
    let mut ends: Vec<(f64, usize)> = series
        .iter()
        .enumerate()
        .filter_map(|(index, s)| s.points.last().map(|&(_, seconds)| (y(decade(seconds)), index)))
        .collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut above = f64::NEG_INFINITY;
    for (at, index) in ends {
        let colour = COLOURS[index % COLOURS.len()];
        let points = &series[index].points;
        let path: Vec<String> = points.iter().map(|&(n, s)| format!("{:.1},{:.1}", x(n), y(decade(s)))).collect();
        put(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            path.join(" ")
        ));
        for &(count, seconds) in points {
            let (cx, cy) = (x(count), y(decade(seconds)));
            put(format_args!("<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"4\" fill=\"{colour}\"/>"));
        }
        let label = (at + 4.0).max(above + 18.0);
        above = label;
        let (at, name) = (WIDTH - RIGHT + 12.0, escape(&series[index].name));
        put(format_args!("<text x=\"{at}\" y=\"{label:.1}\" fill=\"{colour}\">{name}</text>"));
    }
    svg.push_str("</svg>\n");
    svg
}

/// The name of a power of ten seconds.
fn power_name(power: i32) -> String {
    let (unit, base) = match power {
        ..=-7 => ("ns", -9),
        -6..=-4 => ("\u{b5}s", -6),
        -3..=-1 => ("ms", -3),
        _ => ("s", 0),
    };
    format!("{} {unit}", 10f64.powi(power - base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_have_names() {
        let names: Vec<String> = [-8, -6, -4, -3, -1, 0, 2].map(power_name).to_vec();
        assert_eq!(names, ["10 ns", "1 \u{b5}s", "100 \u{b5}s", "1 ms", "100 ms", "1 s", "100 s"]);
    }

    #[test]
    fn longer_times_are_drawn_higher() {
        let line = |name: &str, seconds| Series { name: name.into(), points: vec![(10, seconds), (20, seconds * 2.0)] };
        let svg = timing_figure(&[line("slow", 1.0), line("quick", 0.001)]);
        let at = |name: &str| {
            let line = svg.lines().find(|line| line.contains(&format!(">{name}<"))).unwrap();
            line.split("y=\"").nth(1).unwrap().split('"').next().unwrap().parse::<f64>().unwrap()
        };
        assert!(at("slow") + 18.0 <= at("quick"));
        assert_eq!(svg.matches("<circle").count(), 4);
        assert!(timing_figure(&[]).ends_with("</svg>\n"));
    }
}
