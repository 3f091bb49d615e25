//! Parses stored parameters as exact rationals.

use super::{ModelError, Problem};
use dashu_ratio::RBig;

/// A decimal, read exactly: `0.1` is one tenth. `None` if it is not a finite number of reasonable size.
pub fn parse_decimal(text: &str) -> Option<RBig> {
    let text = text.trim();
    // Limiting the exponent to the range of f64 keeps a short text from demanding gigabytes of digits.
    let float: f64 = text.parse().ok()?;
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    let is_zero = !mantissa.bytes().any(|digit| (b'1'..=b'9').contains(&digit));
    if !float.is_finite() || (float == 0.0) != is_zero {
        return None;
    }
    if is_zero {
        return Some(RBig::ZERO);
    }
    // Valid for floats but not for RBig: a point at either end, and a plus sign in the exponent.
    let unsigned = text.trim_start_matches('+');
    let exponent = text[mantissa.len()..].replacen('+', "", 1);
    let mantissa = &unsigned[..unsigned.len() - (text.len() - mantissa.len())];
    let mantissa = mantissa.strip_suffix('.').unwrap_or(mantissa);
    let mantissa = match mantissa.strip_prefix('-') {
        Some(rest) if rest.starts_with('.') => format!("-0{rest}"),
        _ if mantissa.starts_with('.') => format!("0{mantissa}"),
        _ => mantissa.to_string(),
    };
    RBig::from_str_decimal(&format!("{mantissa}{exponent}")).ok()
}

/// The exact value of a binary float.
pub(crate) fn exact(value: f64, layer: &str, what: &'static str, neuron: usize) -> Result<RBig, ModelError> {
    RBig::try_from(value).map_err(|_| ModelError::Parameter {
        layer: layer.to_string(),
        problem: Problem::NotFinite { what, neuron: neuron + 1, value: value.to_string() },
    })
}

/// IEEE half precision: sign, 5 bits of exponent, 10 of fraction.
pub(crate) fn half_to_f64(half: u16) -> f64 {
    let fraction = f64::from(half & 0x3FF);
    let magnitude = match half >> 10 & 0x1F {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
    };
    if half >> 15 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_as_written() {
        let fraction = |a: i64, b: u64| Some(RBig::from_parts(a.into(), b.into()));
        let cases = [
            ("0.1", fraction(1, 10)),
            (" -1.0 ", fraction(-1, 1)),
            ("+2.5e+1", fraction(25, 1)),
            ("6.25E-2", fraction(1, 16)),
            ("5.", fraction(5, 1)),
            ("-.5", fraction(-1, 2)),
            (".5e1", fraction(5, 1)),
            ("0e999999999", fraction(0, 1)),
            ("-0.0", fraction(0, 1)),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_decimal(text), expected, "{text}");
        }
        for text in ["", "nan", "inf", "-infinity", "1e999", "1e-999999999", "1,5", "0x10", "1_000", "0.(3)", "--1"] {
            assert_eq!(parse_decimal(text), None, "{text}");
        }
    }
}
