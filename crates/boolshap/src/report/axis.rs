//! The linear axis of a figure, with round numbers on it.

use super::figure_text::{finite, number};
use super::svg::{Anchor, Class, Svg};

/// A linear axis across the figure, from `left` to `right`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) left: f64,
    pub(super) right: f64,
}

impl Axis {
    /// The axis that covers these values; a single value gets a margin on both sides.
    pub(super) fn covering(values: impl IntoIterator<Item = f64>, [left, right]: [f64; 2]) -> Self {
        let (low, high) = values
            .into_iter()
            .map(finite)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = match low < high {
            true => (low, high),
            false if low.is_finite() => (low - 0.5, low + 0.5),
            false => (-0.5, 0.5),
        };
        Self { low, high, left, right }
    }

    /// The position of a value.
    pub(super) fn at(&self, value: f64) -> f64 {
        self.left + (finite(value) - self.low) / (self.high - self.low) * (self.right - self.left)
    }

    /// At most `most` round values on the axis, with their labels.
    pub(super) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let rough = (self.high - self.low) / most.max(1) as f64;
        if !(rough > 0.0 && rough.is_finite()) {
            return Vec::new();
        }
        let power = rough.log10().floor();
        let unit = 10f64.powf(power);
        let (step, power) = [(1.0, 0.0), (2.0, 0.0), (5.0, 0.0), (10.0, 1.0)]
            .into_iter()
            .find(|(times, _)| times * unit >= rough * (1.0 - 1e-9))
            .map_or((10.0 * unit, power + 1.0), |(times, more)| (times * unit, power + more));
        let decimals = (-power).max(0.0) as usize;
        let (first, last) = ((self.low / step - 1e-9).ceil(), (self.high / step + 1e-9).floor());
        let text = |value: f64| match decimals {
            _ if value == 0.0 => "0".to_string(),
            0..=5 => number(value, decimals),
            _ => format!("{value:.1e}").replace(".0e", "e").replace('-', "\u{2212}"),
        };
        // For a narrow range far from 0 the steps may be below the precision of f64.
        let count = (last - first).clamp(0.0, most as f64) as usize;
        (0..=count).map(|index| (first + index as f64) * step).map(|value| (value, text(value))).collect()
    }

    /// Draws the axis with its labels below `y`, and faint lines up to `top` if that is above `y`.
    pub(super) fn draw(&self, svg: &mut Svg, y: f64, top: f64) {
        for (value, text) in self.ticks(((self.right - self.left) / 65.0).clamp(2.0, 8.0) as usize) {
            let x = self.at(value);
            svg.line(Class::Grid, [x, if top < y { top } else { y }, x, y + 4.0], "");
            svg.text(Class::Muted, [x, y + 18.0, 12.0], Anchor::Middle, &text);
        }
        svg.line(Class::Grid, [self.left, y, self.right, y], "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(low: f64, high: f64, most: usize) -> Vec<String> {
        Axis { low, high, left: 0.0, right: 1.0 }.ticks(most).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(texts(-0.25, 0.41, 5), ["\u{2212}0.2", "0", "0.2", "0.4"]);
        assert_eq!(texts(0.0, 1.0, 5), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(0.0, 3e-8, 3), ["0", "1e\u{2212}8", "2e\u{2212}8", "3e\u{2212}8"]);
        assert_eq!(texts(0.0, 70.0, 4), ["0", "20", "40", "60"]);
        assert!(texts(1.0, 1.0, 5).is_empty() && texts(0.0, f64::INFINITY, 5).is_empty());
        assert!(texts(1e15, 1e15 + 0.25, 5).len() <= 6);
    }

    #[test]
    fn an_axis_covers_its_values() {
        let axis = Axis::covering([3.0, -1.0, f64::NAN], [100.0, 200.0]);
        assert_eq!([-1.0, 1.0, 3.0].map(|value| axis.at(value)), [100.0, 150.0, 200.0]);
        assert_eq!(Axis::covering([2.0], [0.0, 10.0]).at(2.0), 5.0);
        assert_eq!(Axis::covering([], [0.0, 10.0]).at(0.0), 5.0);
    }
}
