//! One decision explained: how the scores lead from the base value to the prediction.

use super::axis::Axis;
use super::figure_text::{finite, number, shown, signed, width_of};
use super::svg::{Anchor, Class, Svg, WIDTH};

/// The most steps; the rest are summed in one.
const MOST: usize = 20;
const THICKNESS: f64 = 17.0;
/// The space next to the bars for their scores.
const SIDE: f64 = 58.0;

/// An entity's decision and each player's contribution to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Waterfall {
    /// The title above the figure.
    pub title: String,
    /// The expected prediction, where the scores start.
    pub base_value: f64,
    /// The decision, where the scores end.
    pub prediction: bool,
    /// The model's score, where the scores end, if it is explained instead of the decision.
    pub score: Option<f64>,
    /// The decision in words.
    pub label: String,
    /// The players, in any order.
    pub steps: Vec<WaterfallStep>,
}

impl Waterfall {
    /// Where the steps end: the decision, 0 or 1, or the score.
    pub fn end(&self) -> f64 {
        self.score.map_or(f64::from(u8::from(self.prediction)), finite)
    }
}

/// The contribution of one player.
#[derive(Debug, Clone, PartialEq)]
pub struct WaterfallStep {
    /// The player.
    pub name: String,
    /// Its value in words, such as "8.33, above 3.87"; may be empty.
    pub detail: String,
    /// Its score.
    pub score: f64,
}

/// Draws the steps from the base value at the top to the prediction at the bottom, the largest scores first, as the
/// page does; beyond 20 the smallest are summed in one step.
///
/// ```
/// use boolshap::report::{Waterfall, WaterfallStep, waterfall_figure};
/// let step = |name: &str, score| WaterfallStep { name: name.into(), detail: "1".into(), score };
/// let steps = vec![step("x1", -0.125), step("x2", 0.625)];
/// let waterfall = Waterfall { title: "Row 1".into(), base_value: 0.5, prediction: true, score: None, label: "yes".into(), steps };
/// let svg = waterfall_figure(&waterfall);
/// assert!(svg.contains(">+0.6250<") && svg.contains(">\u{2212}0.1250<") && svg.contains("prediction 1: yes"));
/// assert!(svg.find(">x2<").unwrap() < svg.find(">x1<").unwrap());
/// ```
pub fn waterfall_figure(waterfall: &Waterfall) -> String {
    let steps = summed(&waterfall.steps);
    let spans = spans(finite(waterfall.base_value), &steps);
    let room = steps.iter().map(|step| (13.0 * width_of(&step.name)).max(11.5 * width_of(&step.detail)));
    let room = room.fold(60.0, f64::max).min(260.0);
    let prediction = waterfall.end();
    let ends = spans.iter().flat_map(|&(from, to)| [from, to]).chain([finite(waterfall.base_value), prediction]);
    let [left, right] = [room + 24.0, WIDTH - 16.0];
    let axis = Axis::covering(ends, [left + SIDE, right - SIDE]);
    let pitch = if steps.iter().any(|step| !step.detail.is_empty()) { 36.0 } else { 26.0 };
    let top = if waterfall.title.trim().is_empty() { 42.0 } else { 76.0 };
    let foot = top + steps.len() as f64 * pitch + 10.0;

    let mut svg = Svg::default();
    if !waterfall.title.trim().is_empty() {
        svg.name(Class::Ink, [16.0, 26.0, 15.0], Anchor::Start, WIDTH - 32.0, &waterfall.title);
    }
    let middle = |index: usize| top + (index as f64 + 0.5) * pitch;
    for (index, step) in steps.iter().enumerate() {
        svg.line(Class::Grid, [left, middle(index), right, middle(index)], "1 4");
        step.draw_name(&mut svg, [left - 8.0, middle(index)], room);
    }
    for (index, (step, &(from, to))) in steps.iter().zip(&spans).enumerate() {
        step.draw_bar(&mut svg, &axis, [from, to], middle(index));
        // A dashed line from the end of a bar down to the start of the next.
        let below = if index + 1 == steps.len() { foot } else { middle(index + 1) - THICKNESS / 2.0 };
        svg.line(Class::Line, [axis.at(to), middle(index) + THICKNESS / 2.0, axis.at(to), below], "3 3");
    }

    let base = axis.at(waterfall.base_value);
    let highest = if steps.is_empty() { foot } else { middle(0) - THICKNESS / 2.0 };
    svg.line(Class::Line, [base, top - 6.0, base, highest], "3 3");
    axis.draw(&mut svg, foot, foot);
    mark(&mut svg, base, top - 6.0, "base value");
    let text = format!("base value {}", number(finite(waterfall.base_value), 4));
    let x = base.clamp(left + 60.0, right - 60.0);
    svg.text(Class::Ink, [x, top - 20.0, 13.0], Anchor::Middle, &text);

    let end = axis.at(prediction);
    mark(&mut svg, end, foot, "prediction");
    let label = if waterfall.label.trim().is_empty() || waterfall.score.is_some() {
        String::new()
    } else {
        format!(": {}", waterfall.label)
    };
    let text = match waterfall.score {
        Some(score) => format!("score {}", number(finite(score), 4)),
        None => format!("prediction {prediction}{label}"),
    };
    // Keeps the text inside the figure regardless of the prediction's position.
    let half = (6.5 * width_of(&text)).min((right - 16.0) / 2.0);
    let x = end.clamp(16.0 + half, right - half);
    svg.name(Class::Ink, [x, foot + 38.0, 13.0], Anchor::Middle, 2.0 * half, &text);
    svg.finish(WIDTH, foot + 52.0, &format!("{}: {text}", shown(&waterfall.title)))
}

/// A step as drawn: sorted by size, finite, named.
struct Step {
    name: String,
    detail: String,
    score: f64,
    summed: bool,
}

impl Step {
    /// The name, with the value below it, to the left of a point.
    fn draw_name(&self, svg: &mut Svg, [x, middle]: [f64; 2], room: f64) {
        // The player's name is grey, its value black.
        if self.detail.is_empty() {
            let class = if self.summed { Class::Muted } else { Class::Ink };
            svg.name(class, [x, middle + 4.5, 13.0], Anchor::End, room, &self.name);
        } else {
            svg.name(Class::Muted, [x, middle - 3.0, 12.0], Anchor::End, room, &self.name);
            svg.name(Class::Ink, [x, middle + 12.0, 13.0], Anchor::End, room, &self.detail);
        }
    }

    /// The bar from one value to the other, and the score at its end.
    fn draw_bar(&self, svg: &mut Svg, axis: &Axis, [from, to]: [f64; 2], middle: f64) {
        let detail = if self.detail.is_empty() { String::new() } else { format!(" ({})", self.detail) };
        let between = format!("from {} to {}", number(from, 6), number(to, 6));
        let tip = format!("{}{detail}: score {}, {between}", self.name, signed(self.score));
        let (class, x, anchor) = match self.score >= 0.0 {
            true => (Class::Towards1, axis.at(to) + 6.0, Anchor::Start),
            false => (Class::Towards0, axis.at(to) - 6.0, Anchor::End),
        };
        svg.path(class, &bar(axis.at(from), axis.at(to), middle), "", Some(&tip));
        svg.text(Class::Ink, [x, middle + 4.5, 12.0], anchor, &signed(self.score));
    }
}

/// The values before and after each step, the largest scores first.
fn spans(base_value: f64, steps: &[Step]) -> Vec<(f64, f64)> {
    let mut value = base_value;
    let mut spans = Vec::with_capacity(steps.len());
    for step in steps {
        spans.push((value, value + step.score));
        value += step.score;
    }
    spans
}

fn summed(steps: &[WaterfallStep]) -> Vec<Step> {
    let drawn = |step: &WaterfallStep| Step {
        name: shown(&step.name).to_string(),
        detail: step.detail.trim().to_string(),
        score: finite(step.score),
        summed: false,
    };
    let mut sorted: Vec<Step> = steps.iter().map(drawn).collect();
    sorted.sort_by(|a, b| b.score.abs().total_cmp(&a.score.abs()));
    // A sum of a single step would say less than the step itself.
    if sorted.len() > MOST + 1 {
        let rest = sorted.split_off(MOST);
        let name = format!("{} other features, summed", rest.len());
        let most = rest.iter().map(|step| step.score.abs()).fold(0.0, f64::max);
        let detail = format!("each at most {}", number(most, 4));
        sorted.push(Step { name, detail, score: rest.iter().map(|s| s.score).sum(), summed: true });
    }
    sorted
}

/// A bar; a score of 0 stays visible as a thin line.
fn bar(from: f64, to: f64, middle: f64) -> String {
    let [above, below] = [middle - THICKNESS / 2.0, middle + THICKNESS / 2.0];
    let from = if (to - from).abs() < 0.8 { to - 0.8 } else { from };
    format!("M{from:.1} {above:.1}L{to:.1} {above:.1}L{to:.1} {below:.1}L{from:.1} {below:.1}Z")
}

/// A triangle that points down at `y`.
fn mark(svg: &mut Svg, x: f64, y: f64, tip: &str) {
    let above = y - 8.0;
    svg.path(
        Class::Ink,
        &format!("M{x:.1} {y:.1}L{:.1} {above:.1}L{:.1} {above:.1}Z", x - 4.5, x + 4.5),
        "",
        Some(tip),
    );
}

#[cfg(test)]
mod tests {
    use super::super::svg::parsed::{hostile_names, parsed, tips};
    use super::*;

    fn waterfall(base_value: f64, prediction: bool, scores: &[f64]) -> Waterfall {
        let step = |(index, &score): (usize, &f64)| WaterfallStep {
            name: format!("x{}", index + 1),
            detail: if index % 2 == 0 { "1".into() } else { String::new() },
            score,
        };
        let steps = scores.iter().enumerate().map(step).collect();
        Waterfall { title: "Row 1".into(), base_value, prediction, score: None, label: "yes".into(), steps }
    }

    /// The bars as (class, start, end), from the top.
    fn bars(svg: &str) -> Vec<(String, f64, f64)> {
        let numbers = |d: &str| d.split(['M', 'L', 'Z', ' ']).filter_map(|n| n.parse().ok()).collect::<Vec<f64>>();
        let document = parsed(svg);
        let bars = document.descendants().filter(|n| n.attribute("class").is_some_and(|c| c.starts_with("towards")));
        bars.map(|bar| {
            let d = numbers(bar.attribute("d").unwrap());
            (bar.attribute("class").unwrap().to_string(), d[0], d[4])
        })
        .collect()
    }

    #[test]
    fn steps_lead_from_the_base_value_to_the_prediction() {
        let svg = waterfall_figure(&waterfall(0.25, true, &[0.125, -0.25, 0.875]));
        let order: Vec<String> = tips(&svg).into_iter().filter(|tip| tip.contains("score")).collect();
        assert_eq!(order[0], "x3 (1): score +0.8750, from 0.250000 to 1.125000");
        assert_eq!(order[1], "x2: score \u{2212}0.2500, from 1.125000 to 0.875000");
        assert_eq!(order[2], "x1 (1): score +0.1250, from 0.875000 to 1.000000");
        let bars = bars(&svg);
        let classes: Vec<&str> = bars.iter().map(|bar| bar.0.as_str()).collect();
        assert_eq!(classes, ["towards1", "towards0", "towards1"]);
        // Towards 1 is to the right, each bar starts where the one above ends, and a larger score reaches further.
        assert!(bars[0].2 > bars[0].1 && bars[1].2 < bars[1].1 && bars[2].2 > bars[2].1);
        assert!((bars[1].1 - bars[0].2).abs() < 0.11 && (bars[2].1 - bars[1].2).abs() < 0.11);
        let length = |bar: &(String, f64, f64)| (bar.2 - bar.1).abs();
        assert!((length(&bars[0]) - 3.5 * length(&bars[1])).abs() < 1.0);
        assert!(svg.contains(">base value 0.2500<") && svg.contains("prediction 1: yes"));
    }

    #[test]
    fn the_smallest_steps_are_summed_up() {
        let scores: Vec<f64> = (0..25).map(|index| if index < 20 { 0.03 } else { -0.02 }).collect();
        let svg = waterfall_figure(&waterfall(0.5, true, &scores));
        assert_eq!(bars(&svg).len(), 21);
        assert!(svg.contains("5 other features, summed (each at most 0.0200): score \u{2212}0.1000"));
        let svg = waterfall_figure(&waterfall(0.5, true, &scores[..21]));
        assert!(bars(&svg).len() == 21 && !svg.contains("other feature"));
    }

    #[test]
    fn odd_input_is_drawn() {
        let mut odd = waterfall(1.0, true, &[0.0, f64::NAN, f64::INFINITY, -1e300, 0.0, 0.0, 0.0, 0.0, 0.0]);
        for (step, name) in odd.steps.iter_mut().zip(hostile_names()) {
            (step.detail, odd.title, odd.label) = (name.clone(), name.clone(), name.clone());
            step.name = name;
            let svg = waterfall_figure(&Waterfall { steps: vec![step.clone()], ..odd_frame(&odd.title) });
            parsed(&svg);
        }
        parsed(&waterfall_figure(&odd));
        assert_eq!(waterfall_figure(&odd), waterfall_figure(&odd));
        parsed(&waterfall_figure(&waterfall(0.0, false, &[])));
        parsed(&waterfall_figure(&waterfall(1.0, true, &[0.0])));
    }

    fn odd_frame(text: &str) -> Waterfall {
        Waterfall {
            title: text.into(),
            base_value: f64::NAN,
            prediction: false,
            score: None,
            label: text.into(),
            steps: Vec::new(),
        }
    }
}
