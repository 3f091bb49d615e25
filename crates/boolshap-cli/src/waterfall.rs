//! The waterfall of one entity on a terminal: from the base value, player by player, to the decision.

use boolshap::report::Waterfall;

const BAR: usize = 36;
/// The longest name; longer ones are cut.
const NAME: usize = 40;

/// One line per player, the largest score first; each bar begins where the one above ended.
pub(crate) fn terminal_waterfall(waterfall: &Waterfall) -> String {
    let mut steps: Vec<_> = waterfall.steps.iter().filter(|step| step.score != 0.0).collect();
    steps.sort_by(|a, b| b.score.abs().total_cmp(&a.score.abs()));
    let names: Vec<String> = steps.iter().map(|step| cut(&format!("{} {}", step.name, step.detail))).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(14);
    let mut sums = vec![waterfall.base_value];
    steps.iter().for_each(|step| sums.push(sums[sums.len() - 1] + step.score));
    let low = sums.iter().copied().fold(0.0, f64::min);
    let high = sums.iter().copied().fold(1.0, f64::max);
    let place = |value: f64| ((value - low) / (high - low) * BAR as f64).round() as usize;
    let line = |name: &str, number: String, bar: String| {
        format!("  {name:<width$}  {number:>8}  {bar}").trim_end().to_string()
    };
    let point = |value: f64| format!("{}|", " ".repeat(place(value)));
    let mut lines = vec![line("base value", format!("{:.4}", waterfall.base_value), point(waterfall.base_value))];
    for ((step, name), pair) in steps.iter().zip(&names).zip(sums.windows(2)) {
        let (from, to) = (place(pair[0]), place(pair[1]));
        let (mark, first, last) = if step.score > 0.0 { ("\u{2588}", from, to) } else { ("\u{2591}", to, from) };
        // A bar of less than one character is drawn as one character.
        let bar = " ".repeat(first) + &mark.repeat((last - first).max(1));
        lines.push(line(name, format!("{:+.4}", step.score), bar));
    }
    let decision = waterfall.end();
    let label = match waterfall.score {
        Some(_) => "score".to_string(),
        None => format!("decision: {}", waterfall.label),
    };
    lines.push(line(&cut(&label), format!("{decision:.4}"), point(decision)));
    let idle = waterfall.steps.len() - steps.len();
    if idle > 0 {
        lines.push(format!("  ({idle} more with score 0)"));
    }
    lines.push("  \u{2588} towards 1   \u{2591} towards 0".into());
    lines.join("\n")
}

fn cut(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}\u{2026}", &name[..end]),
        None => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boolshap::report::WaterfallStep;

    #[test]
    fn bars_lead_from_the_base_value_to_the_decision() {
        let step = |name: &str, score| WaterfallStep { name: name.into(), detail: "1".into(), score };
        let steps = vec![step("small", -0.25), step("idle", 0.0), step("large", 0.75)];
        let waterfall = Waterfall {
            title: String::new(),
            base_value: 0.5,
            prediction: true,
            score: None,
            label: "yes".into(),
            steps,
        };
        let text = terminal_waterfall(&waterfall);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].trim_start().starts_with("large 1") && lines[2].contains("-0.2500"));
        let bar = |line: &str, mark: char| {
            let first = line.chars().position(|c| c == mark).unwrap();
            (first, first + line.chars().filter(|&c| c == mark).count())
        };
        let base = lines[0].chars().position(|c| c == '|').unwrap();
        let (from, top) = bar(lines[1], '\u{2588}');
        let (end, falls_from) = bar(lines[2], '\u{2591}');
        let decision = lines[3].chars().position(|c| c == '|').unwrap();
        assert_eq!((from, falls_from, end), (base, top, decision));
        assert!(lines[4].contains("1 more with score 0"));
    }
}
