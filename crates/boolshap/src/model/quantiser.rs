//! Functions with few values: the quantisers of QONNX (Brevitas, QKeras, FINN, hls4ml) and the sign.
//!
//! A quantiser is a non-decreasing staircase: it starts at a level, and at each cut it rises to the next. A hidden unit
//! with such an activation becomes one gate per cut (theory of quantised networks: `l_0 + sum of steps`), so only the
//! cuts and levels of a quantiser are needed; both are exact rationals here. Rounding modes differ in whether a cut
//! itself belongs to the level above: `HALF_EVEN` sends 1/2 to 0 and 3/2 to 2.
//!
//! Stored weights and raw inputs are different: there, every program that executes such a file computes `x / scale +
//! zero` in float32 before it rounds, and so does [`Quantiser::level`]; the level itself is exact again.

use dashu_int::IBig;
use dashu_ratio::RBig;
use std::rc::Rc;

/// The most levels that a single value may take.
const MAX_LEVELS: usize = 1 << 12;

/// How a number is rounded to a whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    HalfEven,
    Ceil,
    Floor,
    /// Away from 0.
    Up,
    /// Towards 0.
    Down,
    /// Halves away from 0.
    HalfUp,
    /// Halves towards 0.
    HalfDown,
}

impl Rounding {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name.to_uppercase().as_str() {
            "ROUND" | "HALF_EVEN" => Rounding::HalfEven,
            "CEIL" => Rounding::Ceil,
            "FLOOR" => Rounding::Floor,
            "UP" => Rounding::Up,
            "DOWN" | "ROUND_TO_ZERO" => Rounding::Down,
            "HALF_UP" => Rounding::HalfUp,
            "HALF_DOWN" => Rounding::HalfDown,
            _ => return None,
        })
    }

    /// Rounds as float32 arithmetic does.
    fn round(self, x: f32) -> f32 {
        let away = |size: f32| if x < 0.0 { -size } else { size };
        match self {
            Rounding::HalfEven => x.round_ties_even(),
            Rounding::Ceil => x.ceil(),
            Rounding::Floor => x.floor(),
            Rounding::Up => away(x.abs().ceil()),
            Rounding::Down => x.trunc(),
            Rounding::HalfUp => away((x.abs() + 0.5).floor()),
            Rounding::HalfDown => away((x.abs() - 0.5).ceil()),
        }
    }

    /// Twice the threshold from which numbers round to `whole` or more, and whether the threshold itself does.
    fn doubled_cut(self, whole: i64) -> (i64, bool) {
        let positive = whole > 0;
        match self {
            Rounding::HalfEven => (2 * whole - 1, whole % 2 == 0),
            Rounding::Ceil => (2 * whole - 2, false),
            Rounding::Floor => (2 * whole, true),
            Rounding::Up => (if positive { 2 * whole - 2 } else { 2 * whole }, !positive),
            Rounding::Down => (if positive { 2 * whole } else { 2 * whole - 2 }, positive),
            Rounding::HalfUp => (2 * whole - 1, positive),
            Rounding::HalfDown => (2 * whole - 1, !positive),
        }
    }
}

/// A quantiser as a staircase.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Quantiser {
    /// `(round(x / scale + zero) - zero) * scale`, with the rounded number kept from `least` to `most`.
    Whole { scale: f64, zero: f64, least: i64, most: i64, rounding: Rounding },
    /// `(1 - zero) * scale` from `-zero * scale` on, `(-1 - zero) * scale` below.
    Bipolar { scale: f64, zero: f64 },
    /// -1, 0 and 1, as in ONNX.
    Sign,
    /// `scale * (the number of these ascending thresholds that are at most x) + bias`.
    Thresholds { cuts: Rc<[f64]>, scale: f64, bias: f64 },
    /// `to.scale * (round(even(x / scale + zero) / 2^shift) - to.zero)`, clamped as in `Whole`.
    Truncate { scale: f64, zero: f64, shift: u32, to: Truncated },
}

/// The result of a truncation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Truncated {
    pub(crate) scale: f64,
    pub(crate) zero: f64,
    pub(crate) least: i64,
    pub(crate) most: i64,
    pub(crate) rounding: Rounding,
}

/// A rise of a staircase: its position, whether the position itself belongs to the upper level, and that level.
#[derive(Debug, Clone)]
pub(crate) struct Rise {
    pub(crate) at: RBig,
    pub(crate) closed: bool,
    pub(crate) to: RBig,
}

/// The rational for a float known to be finite.
pub(crate) fn rational(value: f64) -> RBig {
    RBig::try_from(value).unwrap_or(RBig::ZERO)
}

impl Quantiser {
    /// The level of x, decided in float32.
    pub(crate) fn level(&self, x: f32) -> Result<RBig, String> {
        let whole = |x: f32| -> Result<RBig, String> {
            let wrong = || format!("quantises {x}, which is no number of reasonable size");
            if x.abs() < 9e15 { Ok(RBig::from(x as i64)) } else { Err(wrong()) }
        };
        if x.is_nan() {
            return Err("quantises what is not a number".into());
        }
        Ok(match self {
            Quantiser::Whole { scale, zero, least, most, rounding } => {
                let x = (x / *scale as f32 + *zero as f32).clamp(*least as f32, *most as f32);
                (whole(rounding.round(x))? - rational(*zero)) * rational(*scale)
            }
            Quantiser::Bipolar { scale, zero } => {
                let above = if *zero == 0.0 { x >= 0.0 } else { x / *scale as f32 + *zero as f32 >= 0.0 };
                (RBig::from(if above { 1 } else { -1 }) - rational(*zero)) * rational(*scale)
            }
            Quantiser::Sign => RBig::from(i32::from(x > 0.0) - i32::from(x < 0.0)),
            Quantiser::Thresholds { cuts, scale, bias } => {
                let count = cuts.partition_point(|cut| *cut as f32 <= x);
                RBig::from(count) * rational(*scale) + rational(*bias)
            }
            Quantiser::Truncate { scale, zero, shift, to } => {
                let x = (x / *scale as f32 + *zero as f32).round_ties_even();
                let x = (x / (1u64 << shift) as f32).clamp(to.least as f32, to.most as f32);
                (whole(to.rounding.round(x))? - rational(to.zero)) * rational(to.scale)
            }
        })
    }

    /// The staircase between two numbers: the level before the first rise, and the rises. Either may extend beyond the
    /// interval.
    pub(crate) fn rises(&self, low: f64, high: f64) -> Result<(RBig, Vec<Rise>), String> {
        let half = |doubled: i64| RBig::from_parts(IBig::from(doubled), 2u8.into());
        match self {
            Quantiser::Whole { scale, zero, least, most, rounding } => {
                let (first, last) = whole_range(low, high, *scale, *zero)?;
                let (first, last) = (first.clamp(*least, *most), last.clamp(*least, *most));
                let (scale, zero) = (rational(*scale), rational(*zero));
                let to = |whole: i64| (RBig::from(whole) - &zero) * &scale;
                check_levels(first, last)?;
                let rise = |whole: i64| {
                    let (doubled, closed) = rounding.doubled_cut(whole);
                    Rise { at: (half(doubled) - &zero) * &scale, closed, to: to(whole) }
                };
                Ok((to(first), (first + 1..=last).map(rise).collect()))
            }
            Quantiser::Bipolar { scale, zero } => {
                let (scale, zero) = (rational(*scale), rational(*zero));
                let at = -&zero * &scale;
                let [below, to] = [-1, 1].map(|sign| (RBig::from(sign) - &zero) * &scale);
                Ok((below, vec![Rise { at, closed: true, to }]))
            }
            Quantiser::Sign => {
                let rise = |closed, to| Rise { at: RBig::ZERO, closed, to };
                Ok((-RBig::ONE, vec![rise(true, RBig::ZERO), rise(false, RBig::ONE)]))
            }
            Quantiser::Thresholds { cuts, scale, bias } => {
                let to = |count: usize| RBig::from(count) * rational(*scale) + rational(*bias);
                let rise = |(below, cut): (usize, &f64)| Rise { at: rational(*cut), closed: true, to: to(below + 1) };
                check_levels(0, cuts.len() as i64)?;
                Ok((to(0), cuts.iter().enumerate().map(rise).collect()))
            }
            Quantiser::Truncate {
                scale,
                zero,
                shift,
                to: Truncated { scale: unit, zero: origin, least, most, rounding },
            } => {
                let size = (1u64 << shift) as f64;
                let (first, last) = whole_range(low / size, high / size, *scale, *zero / size)?;
                let (first, last) = (first.clamp(*least, *most), last.clamp(*least, *most));
                check_levels(first, last)?;
                let (scale, zero) = (rational(*scale), rational(*zero));
                let to = |whole: i64| (RBig::from(whole) - rational(*origin)) * rational(*unit);
                let rise = |whole: i64| {
                    // First the smallest whole number that is truncated to this one, then the threshold that rounds to
                    // it.
                    let (doubled, closed) = rounding.doubled_cut(whole);
                    let product = i128::from(doubled) << shift;
                    let inner = (product + if closed { 1 } else { 2 }).div_euclid(2) as i64;
                    let (doubled, closed) = Rounding::HalfEven.doubled_cut(inner);
                    Rise { at: (half(doubled) - &zero) * &scale, closed, to: to(whole) }
                };
                Ok((to(first), (first + 1..=last).map(rise).collect()))
            }
        }
    }

    /// The level of an exact number.
    pub(crate) fn exact_level(&self, x: &RBig) -> Result<RBig, String> {
        let near = x.to_f64().value();
        let (base, rises) = self.rises(near, near)?;
        let reached = rises.into_iter().rev().find(|rise| if rise.closed { *x >= rise.at } else { *x > rise.at });
        Ok(reached.map_or(base, |rise| rise.to))
    }

    /// Whether the quantiser is decreasing.
    pub(crate) fn falls(&self) -> bool {
        matches!(self, Quantiser::Thresholds { scale, .. } if *scale < 0.0)
    }

    /// Why this is not a valid quantiser, if it is not.
    pub(crate) fn flaw(&self) -> Option<String> {
        let finite = |numbers: &[f64]| numbers.iter().all(|number| number.is_finite() && number.abs() < 1e30);
        let (scale, numbers): (f64, &[f64]) = match self {
            Quantiser::Whole { scale, zero, least, most, .. } => {
                if least > most {
                    return Some(format!("keeps numbers from {least} to {most}"));
                }
                (*scale, &[*zero])
            }
            Quantiser::Bipolar { scale, zero } => (*scale, &[*zero]),
            Quantiser::Truncate { scale, zero, shift, to } => {
                if *shift > 40 || to.least > to.most || !finite(&[to.scale, to.zero]) {
                    return Some("its widths and scales do not fit each other".into());
                }
                (*scale, &[*zero])
            }
            Quantiser::Sign => return None,
            Quantiser::Thresholds { cuts, scale, bias } => {
                if !finite(&[*scale, *bias]) {
                    return Some("its scale and bias are not finite numbers".into());
                }
                (1.0, cuts)
            }
        };
        if !finite(numbers) {
            return Some("a zero point or threshold is not a finite number".into());
        }
        (!(1e-30..1e30).contains(&scale)).then(|| format!("its scale is {scale}, not a positive number"))
    }
}

/// The range of whole numbers that `x / scale + zero` may become for x between two numbers.
fn whole_range(low: f64, high: f64, scale: f64, zero: f64) -> Result<(i64, i64), String> {
    let [low, high] = [low, high].map(|x| x / scale + zero);
    // Room for the rounding of these floats and of the rounding modes.
    let slack = 2.0 + 1e-6 * low.abs().max(high.abs());
    let (low, high) = ((low - slack).floor(), (high + slack).ceil());
    let fits = |x: f64| (-4e15..4e15).contains(&x);
    if fits(low) && fits(high) {
        Ok((low as i64, high as i64))
    } else {
        Ok((low.max(-4e15) as i64, high.min(4e15) as i64))
    }
}

fn check_levels(first: i64, last: i64) -> Result<(), String> {
    let levels = i128::from(last) - i128::from(first) + 1;
    let most = MAX_LEVELS as i128;
    if levels > most { Err(format!("takes {levels} levels where up to {most} are read")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MODES: [&str; 7] = ["ROUND", "CEIL", "FLOOR", "UP", "DOWN", "HALF_UP", "HALF_DOWN"];

    proptest! {
        /// For quarters and scales that are powers of two, float32 is exact, so both ways must agree, ties included.
        #[test]
        fn cuts_agree_with_rounding(
            mode in 0usize..7, quarter in -60i32..60, scale in prop::sample::select(vec![0.25, 0.5, 1.0, 4.0]),
            zero in -3i32..4, least in -9i64..1, width in 0i64..12, shift in 0u32..4, kind in 0usize..5,
        ) {
            let (rounding, zero) = (Rounding::named(MODES[mode]).unwrap(), f64::from(zero));
            let quantiser = match kind {
                0 => Quantiser::Bipolar { scale, zero },
                1 => Quantiser::Sign,
                2 => Quantiser::Thresholds { cuts: [-2.0, 0.25, 0.25, 3.0].into(), scale, bias: zero },
                3 => {
                    let to = Truncated { scale: 2.0 * scale, zero: 1.0, least: -9, most: 9, rounding };
                    Quantiser::Truncate { scale, zero, shift, to }
                }
                _ => Quantiser::Whole { scale, zero, least, most: least + width, rounding },
            };
            prop_assert_eq!(quantiser.flaw(), None);
            let x = quarter as f32 / 4.0;
            let exact = quantiser.exact_level(&RBig::try_from(x).unwrap()).unwrap();
            prop_assert_eq!(exact, quantiser.level(x).unwrap(), "{:?} at {}", quantiser, x);
        }
    }

    #[test]
    fn halves_go_where_the_mode_says() {
        let at = |mode: &str, x: f32| Rounding::named(mode).unwrap().round(x);
        let halves = |mode| [-1.5, -0.5, 0.5, 1.5].map(|x| at(mode, x));
        assert_eq!(halves("ROUND"), [-2.0, 0.0, 0.0, 2.0]);
        assert_eq!(halves("half_up"), [-2.0, -1.0, 1.0, 2.0]);
        assert_eq!(halves("HALF_DOWN"), [-1.0, 0.0, 0.0, 1.0]);
        assert_eq!([at("UP", 0.1), at("DOWN", -1.9), at("CEIL", -1.9), at("FLOOR", -0.1)], [1.0, -1.0, -1.0, -1.0]);
        assert!(Rounding::named("STOCHASTIC").is_none());
    }

    #[test]
    fn what_cannot_be_a_quantiser() {
        let whole = |scale, most| Quantiser::Whole { scale, zero: 0.0, least: 0, most, rounding: Rounding::Floor };
        assert!(whole(0.0, 3).flaw().unwrap().contains("its scale is 0"));
        assert!(whole(f64::NAN, 3).flaw().is_some() && whole(1.0, -1).flaw().is_some());
        assert!(whole(1.0, 1 << 40).rises(-1e9, 1e9).unwrap_err().contains("levels where up to 4096 are read"));
        // Only reachable levels count.
        assert!(whole(1.0, 1 << 40).rises(-5.0, 5.0).unwrap().1.len() < 12);
    }
}
