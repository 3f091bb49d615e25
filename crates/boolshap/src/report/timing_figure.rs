//! The paper's figure as SVG: time against the number of entities, with a logarithmic time axis and one line per
//! method.

use super::figure_text::escape;
use std::collections::BTreeSet;

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
    let scales = Scales::covering(series);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"13\" fill=\"#222\">\n<rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    scales.draw(series, &mut svg);
    // Legend entries are placed at the ends of their lines, moved apart where these are close.
    let end = |(index, s): (usize, &Series)| s.points.last().map(|&(_, seconds)| (scales.y(seconds), index));
    let mut ends: Vec<(f64, usize)> = series.iter().enumerate().filter_map(end).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut above = f64::NEG_INFINITY;
    for (at, index) in ends {
        above = (at + 4.0).max(above + 18.0);
        draw_line(&series[index], COLOURS[index % COLOURS.len()], &scales, above, &mut svg);
    }
    svg.push_str("</svg>\n");
    svg
}

/// The positions of entity counts and times in the figure.
struct Scales {
    most: f64,
    /// The powers of ten seconds at the bottom and at the top.
    low: f64,
    high: f64,
}

impl Scales {
    fn covering(series: &[Series]) -> Self {
        let points = || series.iter().flat_map(|s| &s.points);
        let most = points().map(|&(count, _)| count).max().unwrap_or(1).max(1) as f64;
        let low = points().map(|&(_, s)| decade(s)).fold(f64::INFINITY, f64::min).min(0.0).floor();
        let high = points().map(|&(_, s)| decade(s)).fold(f64::NEG_INFINITY, f64::max).max(low + 1.0).ceil();
        Scales { most, low, high }
    }

    fn x(&self, count: u64) -> f64 {
        LEFT + count as f64 / self.most * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, seconds: f64) -> f64 {
        self.y_of_decade(decade(seconds))
    }

    fn y_of_decade(&self, decade: f64) -> f64 {
        HEIGHT - BOTTOM - (decade - self.low) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)
    }

    /// Draws both axes with their numbers and names.
    fn draw(&self, series: &[Series], svg: &mut String) {
        for power in self.low as i32..=self.high as i32 {
            let at = self.y_of_decade(power.into());
            let (right, text, name) = (WIDTH - RIGHT, LEFT - 8.0, power_name(power));
            *svg += &format!(
                "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\" class=\"grid\" stroke=\"#ddd\"/>\
                 <text class=\"ink\" x=\"{text}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>\n",
                at + 4.0,
            );
        }
        let counts: BTreeSet<u64> = series.iter().flat_map(|s| &s.points).map(|&(count, _)| count).collect();
        for count in counts {
            let (at, below) = (self.x(count), HEIGHT - BOTTOM + 20.0);
            *svg += &format!("<text class=\"ink\" x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{count}</text>\n");
        }
        let (middle, foot) = ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 15.0);
        *svg += &format!(
            "<text class=\"ink\" x=\"{middle}\" y=\"{foot}\" text-anchor=\"middle\">entities explained</text>\n"
        );
        let centre = (TOP + HEIGHT - BOTTOM) / 2.0;
        *svg += &format!(
            "<text class=\"ink\" transform=\"translate(18 {centre}) rotate(-90)\" text-anchor=\"middle\">time</text>\n"
        );
    }
}

/// Draws a method's line with its points, and its name at this height.
fn draw_line(series: &Series, colour: &str, scales: &Scales, label: f64, svg: &mut String) {
    let places: Vec<_> = series.points.iter().map(|&(n, s)| (scales.x(n), scales.y(s))).collect();
    let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let path = path.join(" ");
    *svg += &format!("<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n");
    for (x, y) in places {
        *svg += &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>\n");
    }
    let (at, name) = (WIDTH - RIGHT + 12.0, escape(&series.name));
    *svg += &format!("<text x=\"{at}\" y=\"{label:.1}\" fill=\"{colour}\">{name}</text>\n");
}

fn decade(seconds: f64) -> f64 {
    seconds.max(1e-12).log10()
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
